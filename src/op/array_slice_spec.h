/*
 * A strided slice while its graph is built: which of its numbers are known, and what follows for the shape.
 */
#ifndef OP_ARRAY_SLICE_SPEC_H
#define OP_ARRAY_SLICE_SPEC_H

#include "graph/graph.h"

/* The masks have as many bits. */
#define WEIR_SLICE_ENTRIES 32

typedef struct weir_slice_values {
    int count;
    bool has_begin, has_end; /* the values are known; strides always are */
    int64_t begin[WEIR_SLICE_ENTRIES];
    int64_t end[WEIR_SLICE_ENTRIES];
    int64_t strides[WEIR_SLICE_ENTRIES];
} weir_slice_values;

/* The shape of a slice of an array of shape in, whose rank is known. node holds the masks. */
WEIR_WARN_UNUSED weir_status weir_slice_infer(const weir_node *node, weir_shape in, weir_slice_values *values,
                                              weir_shape *out);

#endif
