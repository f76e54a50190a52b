/*
 * Sums (products, extremes) of rows by segment number. Any thread; same bits with any team: each column's rows are
 * taken in order.
 */
#ifndef KERNEL_CPU_SEGMENT_H
#define KERNEL_CPU_SEGMENT_H

#include <weir/types.h>

#include "kernel/kernel.h"

typedef enum weir_segment_op {
    WEIR_SEGMENT_SUM,
    WEIR_SEGMENT_PROD,
    WEIR_SEGMENT_MAX,
    WEIR_SEGMENT_MIN,
    WEIR_SEGMENT_COUNT
} weir_segment_op;

/* UnsortedSegmentSum and its kin: x [rows, columns], ids [rows] (int16, int32 or int64), out [segments, columns].
 * Rows with a negative id are dropped; a segment without rows is 0, 1, or the type's lowest or highest value.
 * Returns the row of the first id that is not below segments, or -1. */
typedef int64_t weir_segment_function(weir_team *team, const void *x, const void *ids, int64_t rows, int64_t columns,
                                      int64_t segments, void *out);

/* NULL: no such type (complex has no extremes). */
weir_segment_function *weir_segment_find(weir_segment_op op, weir_dtype type, weir_dtype id_type);

#endif
