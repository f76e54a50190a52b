/*
 * Moving elements of one array: Transpose, InvertPermutation, Tile, Pad. Schemas, shape rules, gradients, builders;
 * kernels: array_move_kernels.c.
 */
#include <inttypes.h>

#include "op/array_kernels.h"
#include "op/array_pieces.h"

/* ---- Shape rules ---- */

/* Each axis of the result takes the dimension that the permutation names. */
static weir_status permute(const weir_infer *infer, int rank, weir_shape *out)
{
    int64_t permutation[WEIR_MAX_RANK];
    int64_t count = 0;
    weir_shape in = weir_infer_input(infer, 0);
    if (!weir_infer_ints(infer, 1, permutation, WEIR_MAX_RANK, &count) || count != rank)
        return WEIR_STATUS_OK;
    for (int i = 0; i < rank; i++) {
        int64_t axis = permutation[i];
        if (axis < -rank || axis >= rank)
            return weir_fail(WEIR_INVALID_ARGUMENT, "perm dim %" PRId64 " is out of range of input rank %d", axis,
                             rank);
        if (in.rank != WEIR_UNKNOWN_RANK)
            out->dims[i] = in.dims[axis < 0 ? axis + rank : axis];
    }
    return WEIR_STATUS_OK;
}

static weir_status infer_transpose(weir_infer *infer)
{
    weir_shape in = weir_infer_input(infer, 0);
    weir_shape permutation = weir_infer_input(infer, 1);
    int64_t rank = in.rank;
    if (permutation.rank != WEIR_UNKNOWN_RANK) {
        WEIR_TRY(weir_infer_rank(infer, 1, 1, &permutation));
        if (in.rank >= 0 && permutation.dims[0] >= 0 && permutation.dims[0] != in.rank)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Dimension must be %d but is %" PRId64, in.rank,
                             permutation.dims[0]);
        rank = in.rank >= 0 ? in.rank : permutation.dims[0];
    }
    weir_shape out = weir_shape_of_rank(rank);
    if (out.rank != WEIR_UNKNOWN_RANK)
        WEIR_TRY(permute(infer, out.rank, &out));
    if (out.rank == 1 && in.rank == 1)
        out = in;
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_invert_permutation(weir_infer *infer)
{
    return weir_infer_rank(infer, 0, 1, &infer->outputs[0]);
}

static weir_status infer_tile(weir_infer *infer)
{
    weir_shape multiples;
    WEIR_TRY(weir_infer_rank(infer, 1, 1, &multiples));
    weir_shape in = weir_infer_input(infer, 0);
    if (in.rank >= 0 && multiples.dims[0] >= 0 && multiples.dims[0] != in.rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be rank %d but is rank %" PRId64, in.rank,
                         multiples.dims[0]);
    weir_shape out = weir_shape_of_rank(in.rank >= 0 ? in.rank : multiples.dims[0]);
    int64_t counts[WEIR_MAX_RANK];
    int64_t count = 0;
    if (weir_infer_ints(infer, 1, counts, WEIR_MAX_RANK, &count) && count == out.rank && in.rank >= 0) {
        for (int i = 0; i < out.rank; i++) {
            if (counts[i] >= 0 && in.dims[i] >= 0 && __builtin_mul_overflow(counts[i], in.dims[i], &out.dims[i]))
                return weir_fail(WEIR_INVALID_ARGUMENT,
                                 "Negative dimension size caused by overflow when multiplying %" PRId64 " and %" PRId64,
                                 in.dims[i], counts[i]);
        }
    }
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status add_paddings(const weir_infer *infer, weir_shape in, weir_shape *out)
{
    int64_t paddings[2 * WEIR_MAX_RANK];
    int64_t count = 0;
    if (!weir_infer_ints(infer, 1, paddings, 2 * WEIR_MAX_RANK, &count) || count != 2 * (int64_t)out->rank)
        return WEIR_STATUS_OK;
    for (int i = 0; i < out->rank; i++) {
        int64_t before = paddings[2 * i];
        int64_t after = paddings[2 * i + 1];
        if (before < 0 || after < 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Paddings must be non-negative");
        if (in.rank < 0 || in.dims[i] < 0)
            continue;
        if (__builtin_add_overflow(in.dims[i], before, &before) || __builtin_add_overflow(before, after, &out->dims[i]))
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Dimension size overflow: %" PRId64 " with paddings %" PRId64 " and %" PRId64, in.dims[i],
                             paddings[2 * i], after);
    }
    return WEIR_STATUS_OK;
}

static weir_status infer_pad(weir_infer *infer)
{
    weir_shape paddings;
    WEIR_TRY(weir_infer_rank(infer, 1, 2, &paddings));
    if (paddings.dims[1] >= 0 && paddings.dims[1] != 2)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Dimension must be 2 but is %" PRId64, paddings.dims[1]);
    weir_shape in = weir_infer_input(infer, 0);
    if (in.rank >= 0 && paddings.dims[0] >= 0 && paddings.dims[0] != in.rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be rank %" PRId64 " but is rank %d", paddings.dims[0],
                         in.rank);
    weir_shape out = weir_shape_of_rank(in.rank >= 0 ? in.rank : paddings.dims[0]);
    if (out.rank != WEIR_UNKNOWN_RANK)
        WEIR_TRY(add_paddings(infer, in, &out));
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

/* ---- Gradients ---- */

static weir_status grad_transpose(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output inverse = weir_invert_permutation(s, weir_gradient_x(gradient, 1));
    weir_gradient_set(gradient, 0, weir_transpose_by(s, gradient->dy[0], inverse));
    return WEIR_STATUS_OK;
}

/* dy viewed as [multiple, size, multiple, size, ...] and summed over the multiples. */
static weir_status grad_tile(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output x = weir_gradient_x(gradient, 0);
    weir_output multiples = weir_gradient_x(gradient, 1);
    weir_output shape = weir_build_shape_as(s, x, weir_output_dtype(multiples));
    weir_output pairs = weir_build_binary(s, "Pack", "stack", multiples, shape);
    int64_t swap[] = {1, 0};
    pairs = weir_build_with_ints(s, "Transpose", "transpose", pairs, "perm", WEIR_INT32, swap, 2);
    weir_output split_shape = weir_build_flat(s, pairs);
    weir_output size = weir_build_size(s, split_shape);
    weir_scope range_scope = weir_in_scope(s, "range");
    weir_output start = weir_build_int(range_scope, WEIR_INT32, 0, "start");
    weir_output delta = weir_build_int(range_scope, WEIR_INT32, 2, "delta");
    weir_output axes = weir_range(range_scope, start, size, delta, .name = weir_scope_name(range_scope));
    weir_output split = weir_reshape_to(s, gradient->dy[0], split_shape);
    weir_output sum = weir_build_binary(s, "Sum", "Sum", split, axes);
    weir_output_set_shape(sum, weir_output_shape(x));
    weir_gradient_set(gradient, 0, sum);
    return WEIR_STATUS_OK;
}

/* The part of dy where x was: from the first column of the paddings on. */
static weir_status grad_pad(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output x = weir_gradient_x(gradient, 0);
    weir_output paddings = weir_gradient_x(gradient, 1);
    weir_output extent = weir_build_pair(s, "stack", weir_build_rank(s, x), 1);
    weir_scope slice_scope = weir_in_scope(s, "Slice");
    weir_output origin = weir_build_ints(slice_scope, WEIR_INT32, (int64_t[]){0, 0}, 2, "begin");
    weir_output before = weir_slice(slice_scope, paddings, origin, extent, .name = weir_scope_name(slice_scope));
    weir_output begin = weir_build_flat(s, before);
    weir_output sizes = weir_build_shape_as(s, x, weir_output_dtype(begin));
    weir_gradient_set(gradient, 0, weir_slice(s, gradient->dy[0], begin, sizes));
    return WEIR_STATUS_OK;
}

/* ---- Ops ---- */

#define INDEX_TYPE(name) WEIR_A_TYPE_OR(name, weir_types_index, WEIR_INT32)
#define ANY_T WEIR_A_TYPE("T", NULL)

static const weir_op_def ops[] = {
    {"Transpose", .inputs = WEIR_ARGS({"x", .type_attr = "T"}, {"perm", .type_attr = "Tperm"}),
     .outputs = WEIR_ARGS({"y", .type_attr = "T"}), .attrs = WEIR_ATTR_DEFS(ANY_T, INDEX_TYPE("Tperm")),
     .infer = infer_transpose, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_transpose},
    {"InvertPermutation", .inputs = WEIR_ARGS({"x", .type_attr = "T"}), .outputs = WEIR_ARGS({"y", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(INDEX_TYPE("T")), .infer = infer_invert_permutation, .gradient_kind = WEIR_GRADIENT_NONE},
    {"Tile", .inputs = WEIR_ARGS({"input", .type_attr = "T"}, {"multiples", .type_attr = "Tmultiples"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}), .attrs = WEIR_ATTR_DEFS(ANY_T, INDEX_TYPE("Tmultiples")),
     .infer = infer_tile, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_tile},
    {"Pad", .inputs = WEIR_ARGS({"input", .type_attr = "T"}, {"paddings", .type_attr = "Tpaddings"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}), .attrs = WEIR_ATTR_DEFS(ANY_T, INDEX_TYPE("Tpaddings")),
     .infer = infer_pad, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_pad},
    {.name = NULL},
};

const weir_op_family weir_family_array_move = {"array_move", ops, weir_array_move_kernels};

/* ---- Builders ---- */

weir_output(weir_transpose_by)(weir_scope s, weir_output x, weir_output y, const weir_name_options *options)
{
    return weir_build_binary(s, "Transpose", weir_option_name(options, "transpose"), x, y);
}

/* rank - 1, ..., 0 of an input whose rank is known when it runs. */
static weir_output reversed_axes(weir_scope s, weir_output x)
{
    weir_output last = weir_build_with_int(s, "Sub", "sub", weir_rank(s, x), "y", 1);
    weir_scope range_scope = weir_in_scope(s, "Range");
    weir_output limit = weir_build_int(range_scope, WEIR_INT32, -1, "limit");
    weir_output delta = weir_build_int(range_scope, WEIR_INT32, -1, "delta");
    return weir_range(range_scope, last, limit, delta, .name = weir_scope_name(range_scope));
}

weir_output(weir_transpose)(weir_scope s, weir_output x, weir_axes permutation, const weir_name_options *options)
{
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "%s", weir_option_name(options, "transpose"));
    int rank = permutation.is_set ? permutation.count : weir_output_shape(x).rank;
    int64_t axes[WEIR_MAX_RANK];
    for (int i = 0; i < rank; i++)
        axes[i] = permutation.is_set ? permutation.values[i] : rank - 1 - i;
    weir_output perm = rank >= 0 ? weir_build_ints(inner, WEIR_INT32, axes, rank, "perm") : reversed_axes(inner, x);
    return weir_build_binary(inner, "Transpose", weir_scope_name(inner), x, perm);
}

weir_output(weir_invert_permutation)(weir_scope s, weir_output x, const weir_name_options *options)
{
    return weir_build_unary(s, "InvertPermutation", weir_option_name(options, "InvertPermutation"), x);
}

weir_output(weir_tile)(weir_scope s, weir_output x, weir_output y, const weir_name_options *options)
{
    return weir_build_binary(s, "Tile", weir_option_name(options, "Tile"), x, y);
}

weir_output(weir_pad)(weir_scope s, weir_output x, weir_output y, const weir_name_options *options)
{
    return weir_build_binary(s, "Pad", weir_option_name(options, "Pad"), x, y);
}
