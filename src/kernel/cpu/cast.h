/*
 * Conversion between numeric types and bool, as TensorFlow's on x86-64: floats are cut to integers, NaN and what is out
 * of range give the smallest int32 or int64 (narrower types wrap that int32); bool is "not zero" (NaN is true); to half
 * and bfloat16 the nearest, ties to even, overflow to infinity, denormals kept. Complex to real drops the imaginary
 * part. Any thread; no failure; out must not overlap in unless both types have one size.
 */
#ifndef KERNEL_CPU_CAST_H
#define KERNEL_CPU_CAST_H

#include <weir/types.h>

#include "kernel/kernel.h"

typedef void weir_cast_function(weir_team *team, const void *in, void *out, int64_t n);

/* The conversion of from to to (the same type: a copy); NULL when there is none. */
weir_cast_function *weir_cast_find(weir_dtype from, weir_dtype to);

#endif
