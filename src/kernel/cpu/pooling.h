/*
 * Maximum and average over windows of images [batch, height, width, channels], and their gradients. float is fast;
 * double, half and bfloat16 are right, not fast. No scratch memory is needed.
 *
 * Cells of a window that lie in the padding do not count: they are never the maximum, and the average divides by the
 * cells inside the image. Every window must reach into the image (TensorFlow's SAME and VALID do).
 */
#ifndef KERNEL_CPU_POOLING_H
#define KERNEL_CPU_POOLING_H

#include <weir/types.h>

#include "kernel/cpu/dispatch.h"
#include "kernel/kernel.h"

typedef struct weir_pooling_options {
    weir_dtype type; /* float, double, half, bfloat16 */
    int64_t batch;
    int64_t in_height, in_width, channels;
    int64_t window_height, window_width;
    int64_t out_height, out_width;
    int64_t stride_height, stride_width; /* 0 means 1 */
    int64_t pad_top, pad_left;
} weir_pooling_options;

/* y = the largest cell of each window. As in TensorFlow NaN never wins; a float window without a number that can is
 * -FLT_MAX. Any thread. */
void weir_max_pooling(const weir_cpu_kernels *kernels, const weir_pooling_options *options, weir_team *team,
                      const void *x, /* [batch, in_height, in_width, channels] */
                      void *y);      /* [batch, out_height, out_width, channels] */

/* dx = each dy at the first cell, in rows then columns, that equals its window's maximum y (at the first cell of a window
 * in which none does), summed where windows overlap. Any thread. */
void weir_max_pool_gradient(const weir_cpu_kernels *kernels, const weir_pooling_options *options, weir_team *team,
                            const void *x,  /* the forward input */
                            const void *y,  /* the forward output */
                            const void *dy, /* the gradient of y */
                            void *dx);      /* the gradient of x */

/* y = the mean of each window's cells inside the image. Any thread. */
void weir_average_pool(const weir_cpu_kernels *kernels, const weir_pooling_options *options, weir_team *team,
                       const void *x, void *y);

/* dx = each dy divided by the cells of its window inside the image, summed where windows overlap. Any thread. */
void weir_average_pool_gradient(const weir_cpu_kernels *kernels, const weir_pooling_options *options, weir_team *team,
                                const void *dy, void *dx);

#endif
