/*
 * Rows of softmax and cross-entropy, by type. Inside the kernels only.
 */
#ifndef KERNEL_CPU_SOFTMAX_ROWS_H
#define KERNEL_CPU_SOFTMAX_ROWS_H

#include "kernel/kernel.h"

typedef struct weir_softmax_kernels {
    /* x, out [rows, classes] */
    void (*softmax)(const void *x, int64_t rows, int64_t classes, void *out);
    void (*log_softmax)(const void *x, int64_t rows, int64_t classes, void *out);
    /* labels, backprop [rows, classes] (backprop NULL: not wanted), loss [rows] */
    void (*cross_entropy)(const void *x, const void *labels, int64_t rows, int64_t classes, void *loss, void *backprop);
    /* labels [rows], all in [0, classes) */
    void (*sparse)(const void *x, const int64_t *labels, int64_t rows, int64_t classes, void *loss, void *backprop);
} weir_softmax_kernels;

#endif
