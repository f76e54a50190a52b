/*
 * Pooling in plain loops for every type and shape, one image at a time: right, not fast.
 */
#ifndef KERNEL_CPU_POOLING_GENERIC_H
#define KERNEL_CPU_POOLING_GENERIC_H

#include "kernel/cpu/pooling.h"

/* Rows (or columns) of the image that a window covers: *first .. *last - 1. */
static inline void weir_window_inside(int64_t out, int64_t stride, int64_t pad, int64_t window, int64_t in,
                                      int64_t *first, int64_t *last)
{
    const int64_t start = out * stride - pad;
    *first = start > 0 ? start : 0;
    *last = start + window < in ? start + window : in;
}

typedef enum weir_pooling_work {
    WEIR_POOLING_MAX,              /* x -> out */
    WEIR_POOLING_MAX_GRADIENT,     /* x, y, dy -> out */
    WEIR_POOLING_AVERAGE,          /* x -> out */
    WEIR_POOLING_AVERAGE_GRADIENT, /* dy -> out */
} weir_pooling_work;

/* One image of the batch. options: strides filled in. */
void weir_pooling_generic(const weir_pooling_options *options, weir_pooling_work work, int64_t image, const void *x,
                          const void *y, const void *dy, void *out);

#endif
