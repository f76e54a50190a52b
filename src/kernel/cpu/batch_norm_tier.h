/*
 * What a tier offers to batch_norm.c and bias.c. All arrays are flat parts of [rows, channels] that begin with channel 0;
 * tables hold a value for each float of a period (periodic.h).
 */
#ifndef KERNEL_CPU_BATCH_NORM_TIER_H
#define KERNEL_CPU_BATCH_NORM_TIER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct weir_batch_norm_kernels {
    /* sums[i] = sum over the periods of x[i]; i below period. */
    void (*sums)(const float *x, int64_t count, int64_t period, float *sums);
    /* sums[i] = sum over the periods of (x[i] - mean[i])^2. */
    void (*squares)(const float *x, int64_t count, int64_t period, const float *mean, float *sums);
    /* products[i] = sum over the periods of dy[i] * (x[i] - mean[i]). */
    void (*products)(const float *dy, const float *x, int64_t count, int64_t period, const float *mean,
                     float *products);
    /* y = (x - mean) * factor + offset, then Relu if asked. */
    void (*scale)(const float *x, int64_t count, int64_t period, const float *mean, const float *factor,
                  const float *offset, bool relu, float *y);
    /* dx = factor * (dy - shift - (x - mean) * slope). */
    void (*gradient)(const float *dy, const float *x, int64_t count, int64_t period, const float *mean,
                     const float *factor, const float *shift, const float *slope, float *dx);
    /* y = x + bias, then Relu if asked. */
    void (*bias)(const float *x, int64_t count, int64_t period, const float *bias, bool relu, float *y);
    /* dx = dy where y > 0, else 0. */
    void (*relu_gradient)(const float *dy, const float *y, int64_t count, float *dx);
} weir_batch_norm_kernels;

#endif
