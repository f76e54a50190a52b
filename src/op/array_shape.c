/*
 * Shapes as values, and the same elements under another shape: Shape, ShapeN, Size, Rank, Reshape, ExpandDims, Squeeze,
 * BroadcastTo. Schemas, shape rules, gradients, builders; kernels: array_shape_kernels.c.
 */
#include <inttypes.h>

#include "op/array_kernels.h"
#include "op/array_pieces.h"

#include "graph/infer_value.h"

/* ---- Shape rules ---- */

static weir_shape vector_of_rank(weir_shape shape)
{
    return (weir_shape){1, {shape.rank == WEIR_UNKNOWN_RANK ? WEIR_UNKNOWN_DIM : shape.rank}};
}

static weir_status infer_shape(weir_infer *infer)
{
    for (int i = 0; i < infer->node->num_outputs; i++)
        infer->outputs[i] = vector_of_rank(weir_infer_input(infer, i));
    return WEIR_STATUS_OK;
}

/* The product of the known dimensions, how many are unknown, and the last of those. */
typedef struct extent {
    int64_t product;
    int unknown;
    int at;
} extent;

static weir_status measure(const weir_shape *shape, extent *out)
{
    *out = (extent){.product = 1};
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == WEIR_UNKNOWN_DIM) {
            out->unknown++;
            out->at = i;
            continue;
        }
        int64_t product;
        if (__builtin_mul_overflow(out->product, shape->dims[i], &product))
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Negative dimension size caused by overflow when multiplying %" PRId64 " and %" PRId64,
                             out->product, shape->dims[i]);
        out->product = product;
    }
    return WEIR_STATUS_OK;
}

static weir_status must_divide(int64_t whole, int64_t part)
{
    if (part <= 0 || whole % part == 0)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "Dimension size must be evenly divisible by %" PRId64 " but is %" PRId64,
                     part, whole);
}

/* Fills in the one unknown dimension of out where the input says it; checks what can be checked. */
static weir_status match_elements(const weir_shape *in, weir_shape *out)
{
    extent given, wanted;
    WEIR_TRY(measure(in, &given));
    WEIR_TRY(measure(out, &wanted));
    if (given.unknown > 1 || wanted.unknown > 1 || (given.unknown == 1 && wanted.unknown == 1))
        return WEIR_STATUS_OK;
    if (given.unknown == 1)
        return must_divide(wanted.product, given.product);
    if (wanted.unknown == 0 && given.product != wanted.product) {
        char text[WEIR_SHAPE_TEXT_SIZE];
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Cannot reshape a tensor with %" PRId64 " elements to shape %s (%" PRId64 " elements)",
                         given.product, weir_shape_text(*out, text, sizeof text), wanted.product);
    }
    if (wanted.unknown == 1 && wanted.product > 0) {
        WEIR_TRY(must_divide(given.product, wanted.product));
        out->dims[wanted.at] = given.product / wanted.product;
    }
    return WEIR_STATUS_OK;
}

static weir_status infer_reshape(weir_infer *infer)
{
    weir_shape out;
    WEIR_TRY(weir_infer_shape_input(infer, 1, &out));
    weir_shape in = weir_infer_input(infer, 0);
    if (in.rank != WEIR_UNKNOWN_RANK && out.rank != WEIR_UNKNOWN_RANK)
        WEIR_TRY(match_elements(&in, &out));
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_expand_dims(weir_infer *infer)
{
    int64_t axis = 0;
    int64_t count = 0;
    weir_shape in = weir_infer_input(infer, 0);
    if (!weir_infer_ints(infer, 1, &axis, 1, &count))
        return WEIR_STATUS_OK;
    if (count != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "'dim' input must be a tensor with a single value");
    if (in.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    if (axis < -in.rank - 1 || axis > in.rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "dim %" PRId64 " not in the interval [%d, %d].", axis, -in.rank - 1,
                         in.rank);
    axis = axis < 0 ? axis + in.rank + 1 : axis;
    weir_shape out = {0};
    for (int i = 0; i <= in.rank; i++)
        weir_infer_push(&out, i == axis ? 1 : in.dims[i < axis ? i : i - 1]);
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status find_squeezed(const weir_attr_value *dims, int rank, bool *is_squeezed)
{
    for (int64_t i = 0; i < dims->list.count; i++) {
        int64_t axis = dims->list.i[i];
        if (axis < -rank || axis >= rank)
            return weir_fail(WEIR_INVALID_ARGUMENT, "squeeze_dims[%" PRId64 "] not in [%d,%d).", i, -rank, rank);
        is_squeezed[axis < 0 ? axis + rank : axis] = true;
    }
    return WEIR_STATUS_OK;
}

static weir_status infer_squeeze(weir_infer *infer)
{
    const weir_attr_value *dims = weir_node_find_attr(infer->node, "squeeze_dims");
    weir_shape in = weir_infer_input(infer, 0);
    if (in.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    bool is_squeezed[WEIR_MAX_RANK] = {false};
    WEIR_TRY(find_squeezed(dims, in.rank, is_squeezed));
    weir_shape out = {0};
    for (int i = 0; i < in.rank; i++) {
        if (in.dims[i] == WEIR_UNKNOWN_DIM && dims->list.count == 0)
            return WEIR_STATUS_OK; /* it may be 1 */
        bool goes = dims->list.count == 0 ? in.dims[i] == 1 : is_squeezed[i];
        if (goes && in.dims[i] > 1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Can not squeeze dim[%d], expected a dimension of 1, got %" PRId64,
                             i, in.dims[i]);
        if (!goes)
            weir_infer_push(&out, in.dims[i]);
    }
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_broadcast_to(weir_infer *infer)
{
    weir_shape out;
    WEIR_TRY(weir_infer_shape_input(infer, 1, &out));
    weir_shape in = weir_infer_input(infer, 0);
    if (in.rank != WEIR_UNKNOWN_RANK && out.rank != WEIR_UNKNOWN_RANK) {
        WEIR_TRY(weir_infer_rank_at_most(in, out.rank));
        WEIR_TRY(weir_infer_broadcast(in, out, &out));
    }
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

/* ---- Gradients ---- */

static weir_status grad_to_input_shape(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output shape = weir_build_shape(s, weir_gradient_x(gradient, 0));
    weir_gradient_set(gradient, 0, weir_reshape_to(s, gradient->dy[0], shape));
    return WEIR_STATUS_OK;
}

/* With one unknown dimension, Reshape goes back to a constant shape with -1, which needs no Shape node. */
static weir_status grad_reshape(weir_gradient *gradient)
{
    weir_shape shape = weir_output_shape(weir_gradient_x(gradient, 0));
    int unknown = 0;
    bool is_empty = false;
    for (int i = 0; i < shape.rank; i++) {
        unknown += shape.dims[i] == WEIR_UNKNOWN_DIM;
        is_empty = is_empty || shape.dims[i] == 0;
    }
    if (unknown != 1 || is_empty)
        return grad_to_input_shape(gradient);
    weir_gradient_set(gradient, 0, weir_reshape(gradient->scope, gradient->dy[0], shape));
    return WEIR_STATUS_OK;
}

static weir_status grad_broadcast_to(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output target = weir_gradient_x(gradient, 1);
    weir_dtype dtype = weir_output_dtype(target);
    weir_output shape = weir_build_shape_as(s, weir_gradient_x(gradient, 0), dtype);
    weir_shape known = weir_static_shape_value(target);
    if (weir_shape_known(known))
        target = weir_build_ints(s, dtype, known.dims, known.rank, "Const");
    weir_node *axes = weir_op(s, "BroadcastGradientArgs", WEIR_INPUTS(target, shape));
    weir_node *sum =
        weir_op(s, "Sum", WEIR_INPUTS(gradient->dy[0], weir_out(axes, 1)), WEIR_ATTRS(WEIR_ATTR_B("keep_dims", true)));
    weir_gradient_set(gradient, 0, weir_reshape_to(s, weir_out(sum, 0), shape));
    return WEIR_STATUS_OK;
}

/* ---- Ops ---- */

#define OUT_TYPE WEIR_A_TYPE_OR("out_type", weir_types_index, WEIR_INT32)
#define INDEX_TYPE(name) WEIR_A_TYPE_OR(name, weir_types_index, WEIR_INT32)
#define ANY_T WEIR_A_TYPE("T", NULL)

static const weir_op_def ops[] = {
    {"Shape", .inputs = WEIR_ARGS({"input", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "out_type"}), .attrs = WEIR_ATTR_DEFS(ANY_T, OUT_TYPE),
     .infer = infer_shape, .gradient_kind = WEIR_GRADIENT_NONE},
    {"ShapeN", .inputs = WEIR_ARGS({"input", .type_attr = "T", .number_attr = "N"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "out_type", .number_attr = "N"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT_MIN("N", 1), ANY_T, OUT_TYPE), .infer = infer_shape,
     .gradient_kind = WEIR_GRADIENT_NONE},
    {"Size", .inputs = WEIR_ARGS({"input", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "out_type"}), .attrs = WEIR_ATTR_DEFS(ANY_T, OUT_TYPE),
     .infer = weir_infer_scalar, .gradient_kind = WEIR_GRADIENT_NONE},
    {"Rank", .inputs = WEIR_ARGS({"input", .type_attr = "T"}), .outputs = WEIR_ARGS({"output", .type = WEIR_INT32}),
     .attrs = WEIR_ATTR_DEFS(ANY_T), .infer = weir_infer_scalar, .gradient_kind = WEIR_GRADIENT_NONE},
    {"Reshape", .inputs = WEIR_ARGS({"tensor", .type_attr = "T"}, {"shape", .type_attr = "Tshape"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}), .attrs = WEIR_ATTR_DEFS(ANY_T, INDEX_TYPE("Tshape")),
     .infer = infer_reshape, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_reshape},
    {"ExpandDims", .inputs = WEIR_ARGS({"input", .type_attr = "T"}, {"dim", .type_attr = "Tdim"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}), .attrs = WEIR_ATTR_DEFS(ANY_T, INDEX_TYPE("Tdim")),
     .infer = infer_expand_dims, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_to_input_shape},
    {"Squeeze", .inputs = WEIR_ARGS({"input", .type_attr = "T"}), .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(ANY_T, {.name = "squeeze_dims",
                                     .kind = WEIR_ATTR_LIST + WEIR_ATTR_INT,
                                     .has_default = true,
                                     .value = {.kind = WEIR_ATTR_LIST + WEIR_ATTR_INT},
                                     .has_minimum = true}),
     .infer = infer_squeeze, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_to_input_shape},
    {"BroadcastTo", .inputs = WEIR_ARGS({"input", .type_attr = "T"}, {"shape", .type_attr = "Tidx"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}), .attrs = WEIR_ATTR_DEFS(ANY_T, INDEX_TYPE("Tidx")),
     .infer = infer_broadcast_to, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_broadcast_to},
    {.name = NULL},
};

const weir_op_family weir_family_array_shape = {"array_shape", ops, weir_array_shape_kernels};

/* ---- Builders ---- */

weir_output(weir_shape_op)(weir_scope s, weir_output x, const weir_name_options *options)
{
    return weir_build_unary(s, "Shape", weir_option_name(options, "Shape"), x);
}

weir_output(weir_size)(weir_scope s, weir_output x, const weir_name_options *options)
{
    return weir_build_unary(s, "Size", weir_option_name(options, "Size"), x);
}

weir_output(weir_rank)(weir_scope s, weir_output x, const weir_name_options *options)
{
    return weir_build_unary(s, "Rank", weir_option_name(options, "Rank"), x);
}

weir_output(weir_reshape_to)(weir_scope s, weir_output x, weir_output y, const weir_name_options *options)
{
    return weir_build_binary(s, "Reshape", weir_option_name(options, "Reshape"), x, y);
}

weir_output(weir_reshape)(weir_scope s, weir_output x, weir_shape shape, const weir_name_options *options)
{
    weir_scope inner = weir_in_scope(s, "%s", weir_option_name(options, "Reshape"));
    weir_output dims = weir_shape_const(inner, shape, "shape");
    return weir_build_binary(inner, "Reshape", weir_scope_name(inner), x, dims);
}

weir_output(weir_expand_dims)(weir_scope s, weir_output x, int axis, const weir_name_options *options)
{
    return weir_build_with_int(s, "ExpandDims", weir_option_name(options, "ExpandDims"), x, "dim", axis);
}

weir_output(weir_squeeze)(weir_scope s, weir_output x, weir_axes axes, const weir_name_options *options)
{
    int64_t dims[WEIR_MAX_RANK];
    int count = axes.is_set ? axes.count : 0;
    for (int i = 0; i < count; i++)
        dims[i] = axes.values[i];
    return weir_out(weir_op(s, "Squeeze", WEIR_INPUTS(x), WEIR_ATTRS(WEIR_ATTR_INTS("squeeze_dims", dims, count)),
                            .name = weir_option_name(options, "Squeeze")),
                    0);
}

weir_output(weir_broadcast_to)(weir_scope s, weir_output x, weir_output y, const weir_name_options *options)
{
    return weir_build_binary(s, "BroadcastTo", weir_option_name(options, "BroadcastTo"), x, y);
}
