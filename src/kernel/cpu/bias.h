/*
 * Bias over the last axis and its gradient, and the gradient of Relu. float is fast; double, int32, int64, half and
 * bfloat16 are right, not fast.
 */
#ifndef KERNEL_CPU_BIAS_H
#define KERNEL_CPU_BIAS_H

#include <weir/types.h>

#include "kernel/cpu/dispatch.h"
#include "kernel/kernel.h"

/* True for the types listed above. Any thread. */
bool weir_bias_supports(weir_dtype type);

/* y[r, c] = x[r, c] + bias[c], negative results 0 with relu (NaN and -0 stay). y may be x. Any thread. */
void weir_add_bias(const weir_cpu_kernels *kernels, weir_dtype type, int64_t rows, int64_t channels, bool relu,
                   weir_team *team, const void *x, const void *bias, void *y);

/* Bytes of scratch memory for weir_bias_gradient. */
size_t weir_bias_gradient_scratch(weir_dtype type, int64_t rows, int64_t channels);

/* sums[c] = sum over r of dy[r, c]; blocks of rows, added in block order. scratch at a multiple of 64. Any thread. */
void weir_bias_gradient(const weir_cpu_kernels *kernels, weir_dtype type, int64_t rows, int64_t channels,
                        weir_team *team, const void *dy, void *sums, void *scratch);

/* dx[i] = dy[i] where y[i] > 0, else 0; y is Relu's output or input. dx may be dy. Any thread. */
void weir_relu_gradient(const weir_cpu_kernels *kernels, weir_dtype type, int64_t count, weir_team *team,
                        const void *dy, const void *y, void *dx);

#endif
