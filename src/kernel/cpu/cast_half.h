/*
 * Arrays of half and bfloat16 to float and back, by the processor's tier. One number at a time: narrow_floats.h.
 */
#ifndef KERNEL_CPU_CAST_HALF_H
#define KERNEL_CPU_CAST_HALF_H

#include <stdint.h>

/* Arrays of n; out must not overlap x. */
typedef struct weir_half_kernels {
    void (*float_of_half)(const uint16_t *x, float *out, int64_t n);
    void (*half_of_float)(const float *x, uint16_t *out, int64_t n);
    void (*float_of_bfloat16)(const uint16_t *x, float *out, int64_t n);
    void (*bfloat16_of_float)(const float *x, uint16_t *out, int64_t n);
} weir_half_kernels;

/* The processor's tier. */
const weir_half_kernels *weir_half_kernels_best(void);

#endif
