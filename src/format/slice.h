/*
 * Parts of tensors in checkpoints: their texts ("10 4 0,5:-"), their keys, and copying between them.
 */
#ifndef FORMAT_SLICE_H
#define FORMAT_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/types.h>

#include "base/text.h"

#define WEIR_FULL_EXTENT (-1)

/* A part: start and length along each dimension; a length of WEIR_FULL_EXTENT (start 0) is all of it. */
typedef struct weir_slice {
    int rank;
    int64_t start[WEIR_MAX_RANK];
    int64_t length[WEIR_MAX_RANK];
} weir_slice;

/* All of a tensor of this rank. */
weir_slice weir_slice_full(int rank);

/* Reads "d0 d1 ... slice". INVALID_ARGUMENT with TensorFlow's texts; INTERNAL when slice and shape do not fit each
 * other. *sliced is the shape of the part. */
WEIR_WARN_UNUSED weir_status weir_slice_parse(const char *text, size_t length, weir_shape *shape, weir_slice *slice,
                                              weir_shape *sliced);

/* The shape of the part of a tensor of a known shape; INTERNAL with TensorFlow's text when it does not fit. */
WEIR_WARN_UNUSED weir_status weir_slice_shape(const weir_slice *slice, const weir_shape *shape, weir_shape *sliced);

/* "0,5:-". */
void weir_slice_append(weir_text *text, const weir_slice *slice);

/* The key of a piece of a tensor, appended. */
void weir_slice_append_key(weir_text *key, const char *name, size_t length, const weir_slice *slice);

/* Replaces full extents by numbers, for a shape the slice fits. */
weir_slice weir_slice_resolved(const weir_slice *slice, const weir_shape *shape);

/* The common part of two resolved slices; false if there is none. */
bool weir_slice_intersect(const weir_slice *a, const weir_slice *b, weir_slice *common);

/* Elements of a resolved slice. */
int64_t weir_slice_elements(const weir_slice *slice);

/* Copies the elements of part from one array to another. Each array holds, row-major, the elements of its own slice,
 * within which part lies; all slices are resolved and of one tensor. */
void weir_slice_copy(const weir_slice *part, size_t element_size, void *to, const weir_slice *to_slice,
                     const void *from, const weir_slice *from_slice);

#endif
