/*
 * What a tier offers to pooling.c: rows of results of one image, float.
 */
#ifndef KERNEL_CPU_POOLING_TIER_H
#define KERNEL_CPU_POOLING_TIER_H

#include "kernel/cpu/pooling.h"

typedef struct weir_pooling_kernels {
    /* y's rows first .. last - 1. x and y: of the image. */
    void (*max)(const weir_pooling_options *options, int64_t first, int64_t last, const float *x, float *y);
    void (*average)(const weir_pooling_options *options, int64_t first, int64_t last, const float *x, float *y);

    /* dx of the whole image. */
    void (*max_gradient)(const weir_pooling_options *options, const float *x, const float *y, const float *dy,
                         float *dx);
    void (*average_gradient)(const weir_pooling_options *options, const float *dy, float *dx);
} weir_pooling_kernels;

#endif
