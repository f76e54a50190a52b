/*
 * Kernels that move elements and look at none of them, and those that make indices.
 *
 * Moving: nearly all of it is one strided copy, out[f(i)] = in[g(i)] over the elements of a box. A prepare function for
 * each operation fills a weir_copy_plan; weir_copy_run does the work. Elements are described by a weir_element: plain
 * bytes of 1, 2, 4, 8 or 16 (any size works), or objects (strings, resources) that a callback copies; objects are
 * copied in order by the calling thread alone. Shapes are fully known. in and out must not overlap. Any thread.
 */
#ifndef KERNEL_CPU_ARRAY_H
#define KERNEL_CPU_ARRAY_H

#include <weir/types.h>

#include "kernel/kernel.h"

/* Assigns count objects, in_step elements apart (0: one object many times) in in, out_step apart in out. A failure is
 * remembered in the context; the kernel goes on. */
typedef void weir_copy_objects(void *context, void *out, int64_t out_step, const void *in, int64_t in_step,
                               int64_t count);

typedef struct weir_element {
    size_t size;             /* bytes of one element */
    weir_copy_objects *copy; /* NULL: plain bytes */
    void *context;           /* for copy */
} weir_element;

/* ---- strided copies ---------------------------------------------------------------------------------------------- */

#define WEIR_COPY_RANK (2 * WEIR_MAX_RANK)

typedef struct weir_copy_plan {
    weir_element element;
    int64_t elements; /* of the box */
    int rank;         /* after merging; the innermost axis is last */
    int64_t dims[WEIR_COPY_RANK];
    int64_t in_strides[WEIR_COPY_RANK]; /* in elements; may be 0 or negative */
    int64_t out_strides[WEIR_COPY_RANK];
    int64_t in_offset, out_offset; /* of the box's first element */
    int64_t rows;                  /* of the innermost axis */
    int64_t block;                 /* rows of a block */
    int kind;                      /* how a row or pair of axes is moved */
} weir_copy_plan;

/* Any box: completes a plan whose element, rank, dims, strides and offsets the caller has set. */
void weir_copy_prepare(weir_copy_plan *plan);

void weir_copy_run(const weir_copy_plan *plan, weir_team *team, const void *in, void *out);

/* Calls visit(context, index in out, index in in) for every element of the box in the box's order. */
typedef void weir_copy_visit(void *context, int64_t out, int64_t in);
void weir_copy_walk(const weir_copy_plan *plan, weir_copy_visit *visit, void *context);

/* Transpose: out axis i is axis permutation[i] of x. */
void weir_transpose_prepare(weir_element element, const weir_shape *x, const int *permutation, weir_copy_plan *plan);

/* Slice: size[i] elements from begin[i] on along each axis (checked by the caller). */
void weir_slice_prepare(weir_element element, const weir_shape *x, const int64_t *begin, const int64_t *size,
                        weir_copy_plan *plan);

/* Where Slice's or SliceGrad's piece goes in a bigger array: the opposite copy, of a whole array of shape size into
 * out. Pad is weir_fill_elements and then this with begin = the paddings before. */
void weir_place_prepare(weir_element element, const weir_shape *out, const int64_t *begin, const int64_t *size,
                        weir_copy_plan *plan);

/* One piece of Split, SplitV or Unpack: length elements from offset on along axis of x; and one input of ConcatV2 or
 * Pack: a whole array into out at offset along axis. (Pack: out's shape with the new axis, length 1.) */
void weir_piece_prepare(weir_element element, const weir_shape *x, int axis, int64_t offset, int64_t length,
                        weir_copy_plan *plan);
void weir_join_prepare(weir_element element, const weir_shape *out, int axis, int64_t offset, int64_t length,
                       weir_copy_plan *plan);

/* ReverseV2: the axes for which reversed is true run backwards. */
void weir_reverse_prepare(weir_element element, const weir_shape *x, const bool *reversed, weir_copy_plan *plan);

/* BroadcastTo: x to the shape out, by NumPy's rule (checked by the caller: false if it does not). */
bool weir_broadcast_to_prepare(weir_element element, const weir_shape *x, const weir_shape *out, weir_copy_plan *plan);

/* Tile: axis i repeated multiples[i] times. */
void weir_tile_prepare(weir_element element, const weir_shape *x, const int64_t *multiples, weir_copy_plan *plan);

/* ---- strided slice ----------------------------------------------------------------------------------------------- */

typedef enum weir_slice_fault {
    WEIR_SLICE_OK = 0,
    WEIR_SLICE_ZERO_STRIDE,   /* strides[at] must be non-zero */
    WEIR_SLICE_TOO_MANY,      /* Index out of range using input dim at; input has only rank dims */
    WEIR_SLICE_OUT_OF_BOUNDS, /* slice index value of dimension at out of bounds */
    WEIR_SLICE_SHRINK_STRIDE, /* only stride 1 allowed on non-range indexing (at: the entry) */
    WEIR_SLICE_TWO_ELLIPSES,  /* Multiple ellipses in slice spec not allowed */
    WEIR_SLICE_RANK           /* the result's rank would be over WEIR_MAX_RANK */
} weir_slice_fault;

/* The attributes and inputs of a StridedSlice node. */
typedef struct weir_slice_spec {
    int count; /* of begin, end, strides; at most 32 */
    const int64_t *begin, *end, *strides;
    uint32_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
} weir_slice_spec;

/* A resolved one: which elements of x each axis takes, and the result's shape. */
typedef struct weir_strided_slice {
    int rank;                       /* of x */
    int64_t begin[WEIR_MAX_RANK];   /* first element along each axis of x */
    int64_t strides[WEIR_MAX_RANK]; /* may be negative */
    int64_t counts[WEIR_MAX_RANK];  /* elements taken; 0: none. -1: x's dimension is unknown */
    weir_shape out;                 /* with new axes and without shrunk ones */
    int at;                         /* where the fault is */
    int64_t value;                  /* the index at fault */
} weir_strided_slice;

/* Resolves all masks. x may have unknown dimensions (begin and end known): the result's are unknown then. */
weir_slice_fault weir_strided_slice_resolve(const weir_shape *x, const weir_slice_spec *spec, weir_strided_slice *out);

/* StridedSlice: x to out. Its gradient: weir_fill_elements with zero, then the opposite copy (dy to dx of shape x);
 * StridedSlice assignment is that copy alone. */
void weir_strided_slice_prepare(weir_element element, const weir_shape *x, const weir_strided_slice *slice,
                                weir_copy_plan *plan);
void weir_strided_slice_grad_prepare(weir_element element, const weir_shape *x, const weir_strided_slice *slice,
                                     weir_copy_plan *plan);

/* ---- fill, concatenate, gather ----------------------------------------------------------------------------------- */

/* n elements of one value. */
void weir_fill_elements(weir_element element, weir_team *team, const void *value, int64_t n, void *out);

/* ConcatV2 in one pass: out [outer, sum of lengths], input i [outer, lengths[i]] (elements, the inner axes
 * included). */
void weir_concat_elements(weir_element element, weir_team *team, int count, const void *const *inputs,
                          const int64_t *lengths, int64_t outer, void *out);

/* Split, SplitV, Unpack in one pass: the opposite. */
void weir_split_elements(weir_element element, weir_team *team, int count, const void *in, const int64_t *lengths,
                         int64_t outer, void *const *outputs);

/* GatherV2: params [batch, outer, size, inner], indices [batch, count] (int16, int32 or int64), out
 * [batch, outer, count, inner]. Returns the position in indices of the first one outside [0, size), out then being
 * unspecified, or -1. */
int64_t weir_gather_elements(weir_element element, weir_team *team, const void *params, int64_t batch, int64_t outer,
                             int64_t size, int64_t inner, weir_dtype index_type, const void *indices, int64_t count,
                             void *out);

/* OneHot: indices [prefix, suffix] (uint8, int8, int32 or int64), out [prefix, depth, suffix]: on where the position
 * along depth is the index, else off. */
void weir_one_hot_elements(weir_element element, weir_team *team, weir_dtype index_type, const void *indices,
                           int64_t prefix, int64_t depth, int64_t suffix, const void *on, const void *off, void *out);

/* DynamicStitch: row j of input i (row_elements elements) goes to row indices[i][j]; later ones win. rows: of out.
 * Returns the number of the first index outside [0, rows), counted through all inputs, or -1. Rows that no index names
 * are not written. */
int64_t weir_stitch_elements(weir_element element, int count, const int32_t *const *indices, const int64_t *counts,
                             const void *const *inputs, int64_t row_elements, int64_t rows, void *out);

/* The rows that DynamicStitch's output has: the largest index + 1. */
int64_t weir_stitch_rows(int count, const int32_t *const *indices, const int64_t *counts);

/* ---- numbers and indices ----------------------------------------------------------------------------------------- */

/* The number of elements of Range: int32, int64, float, double, half or bfloat16 scalars; -1: delta is 0 or has the
 * wrong sign, -2: too many. *bad_sign tells the two causes of -1 apart: start > limit with delta > 0, or the other
 * way round. */
int64_t weir_range_count(weir_dtype type, const void *start, const void *limit, const void *delta, bool *bad_sign);

/* out[0] = start, out[i] = out[i - 1] + delta. */
void weir_range_numbers(weir_dtype type, const void *start, const void *delta, int64_t n, void *out);

typedef enum weir_permutation_fault {
    WEIR_PERMUTATION_OK = 0,
    WEIR_PERMUTATION_RANGE,    /* "<value> is not between 0 and <n>" */
    WEIR_PERMUTATION_DUPLICATE /* "<value> is duplicated in the input." */
} weir_permutation_fault;

/* InvertPermutation of n int32 or int64: out[x[i]] = i. *value: the number at fault. */
weir_permutation_fault weir_inverse_permutation(weir_dtype type, const void *x, int64_t n, void *out, int64_t *value);

/* Where: how many of n elements are not zero (NaN is not); bool and all numeric types; -1: no such type. */
int64_t weir_where_count(weir_dtype type, const void *x, int64_t n);

/* Their indices, out [count, rank] in row-major order. */
void weir_where_indices(weir_dtype type, const void *x, const weir_shape *shape, int64_t *out);

/* ListDiff: the elements of x that y lacks, in order, and their places; both outputs have room for x's count.
 * Equality is that of the type (0.0 equals -0.0, NaN nothing). index_type: int32 or int64. Returns their number; -1:
 * no such type. scratch: weir_list_difference_scratch bytes, aligned to 8. */
size_t weir_list_difference_scratch(int64_t y_count);
int64_t weir_list_difference(weir_dtype type, const void *x, int64_t x_count, const void *y, int64_t y_count,
                             weir_dtype index_type, void *scratch, void *out, void *out_index);

#endif
