/*
 * The loops behind reduce.h. A reduction goes through accumulators, which are wider than the elements where that helps:
 * double for sums of floats, 64 bits for integers. Inside the kernels only.
 */
#ifndef KERNEL_CPU_REDUCE_LOOPS_H
#define KERNEL_CPU_REDUCE_LOOPS_H

#include "kernel/cpu/reduce.h"

typedef struct weir_reducer {
    size_t size; /* bytes of an accumulator; 0: the type has not the operation */
    /* n accumulators of nothing. */
    void (*start)(void *accumulators, int64_t n);
    /* Takes the n elements of each row into that row's accumulator. x [rows, n], stride elements from row to row. */
    void (*rows)(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators);
    /* Takes each row's n elements into n accumulators. x as above. */
    void (*columns)(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators);
    /* Takes n accumulators into n others. */
    void (*join)(const void *from, int64_t n, void *accumulators);
    /* The results of n accumulators, each of count elements. */
    void (*finish)(const void *accumulators, int64_t n, int64_t count, void *out);
} weir_reducer;

/* The reducer of an operation and type; NULL: there is none. */
const weir_reducer *weir_reducer_find(weir_reduce_op op, weir_dtype type);

/* float's loops by tier: sums into double, extremes into float. */
typedef struct weir_reduce_kernels {
    void (*sum_rows)(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators);
    void (*sum_columns)(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators);
    void (*square_rows)(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators);
    void (*square_columns)(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators);
    void (*max_rows)(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators);
    void (*max_columns)(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators);
    void (*min_rows)(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators);
    void (*min_columns)(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators);
} weir_reduce_kernels;

#endif
