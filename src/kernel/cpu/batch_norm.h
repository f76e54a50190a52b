/*
 * Batch normalisation per channel, forward and gradient, over x[rows, channels] (an image tensor is rows = batch * height
 * * width). float. The formulas are those of TensorFlow's FusedBatchNorm on a CPU:
 *
 *     training:  mean = sum x / rows; variance = sum (x - mean)^2 / rows (biased)
 *                y = (x - mean) * rsqrt(variance + epsilon) * scale + offset
 *     gradient:  r = rsqrt(variance + epsilon); xc = x - mean; d_offset = sum dy; d_scale = sum(dy * xc) * r
 *                dx = scale * r * (dy - mean(dy) - xc * r^2 * mean(dy * xc))
 *     inference: the given mean and variance; its gradient: dx = dy * scale * r, d_scale and d_offset as above
 *
 * Sums are taken per block of rows, the blocks' in double, in block order.
 */
#ifndef KERNEL_CPU_BATCH_NORM_H
#define KERNEL_CPU_BATCH_NORM_H

#include "kernel/cpu/dispatch.h"
#include "kernel/kernel.h"

typedef struct weir_batch_norm_options {
    int64_t rows, channels;
    float epsilon;
    bool training; /* else inference: mean and variance are inputs */
    bool relu; /* forward: negative y become 0. The gradient does not know Relu: hand it dy through Relu's gradient */
} weir_batch_norm_options;

/* Bytes of scratch memory for forward or gradient with a team of up to lanes. */
size_t weir_batch_norm_scratch(const weir_batch_norm_options *options, int lanes);

/* Training: writes mean, variance (biased, for the gradient) and unbiased_variance (times rows / (rows - 1); 0 for one
 * row; NULL if not wanted), then y. No rows: NaN statistics. Inference: reads mean and variance and leaves
 * unbiased_variance alone. scratch at a multiple of 64. y may be x. Any thread; never allocates. */
void weir_batch_norm_forward(const weir_cpu_kernels *kernels, const weir_batch_norm_options *options, weir_team *team,
                             const float *x,           /* [rows, channels] */
                             const float *scale,       /* [channels]; NULL: all 1 */
                             const float *offset,      /* [channels]; NULL: all 0 */
                             float *mean,              /* [channels] */
                             float *variance,          /* [channels] */
                             float *unbiased_variance, /* [channels] or NULL */
                             float *y,                 /* [rows, channels] */
                             void *scratch);

/* mean and variance: what forward left (training) or was given (inference). d_scale and d_offset may be NULL; dx may be
 * dy, and NULL if not wanted. Any thread; never allocates. */
void weir_batch_norm_gradient(const weir_cpu_kernels *kernels, const weir_batch_norm_options *options, weir_team *team,
                              const float *dy,       /* [rows, channels] */
                              const float *x,        /* [rows, channels] */
                              const float *scale,    /* [channels]; NULL: all 1 */
                              const float *mean,     /* [channels] */
                              const float *variance, /* [channels], biased */
                              float *dx,             /* [rows, channels] */
                              float *d_scale,        /* [channels] */
                              float *d_offset,       /* [channels] */
                              void *scratch);

#endif
