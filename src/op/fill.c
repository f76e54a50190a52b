/*
 * Arrays made of a few numbers: Fill, Range, OneHot. Schemas, shape rules, gradients and builders; kernels:
 * fill_kernels.c.
 */
#include <inttypes.h>

#include "op/array_pieces.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

/* ---- Gradients and builders ---- */

/* All elements are the value: it gets their sum. */
static weir_status fill_gradient(weir_gradient *gradient)
{
    weir_gradient_set(gradient, 1, weir_reduce_sum(gradient->scope, gradient->dy[0]));
    return WEIR_STATUS_OK;
}

weir_output(weir_fill)(weir_scope s, weir_output x, weir_output y, const weir_name_options *options)
{
    return weir_build_binary(s, "Fill", weir_option_name(options, "Fill"), x, y);
}

weir_output(weir_range)(weir_scope s, weir_output start, weir_output limit, weir_output delta,
                        const weir_name_options *options)
{
    weir_node *node = weir_op(s, "Range", WEIR_INPUTS(start, limit, delta), .name = weir_option_name(options, "range"));
    return weir_out(node, 0);
}

weir_output(weir_one_hot)(weir_scope s, weir_output indices, int depth, const weir_one_hot_options *options)
{
    if (indices.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_one_hot_options given = options != NULL ? *options : (weir_one_hot_options){0};
    weir_dtype dtype = given.dtype != WEIR_INVALID_DTYPE ? given.dtype : WEIR_FLOAT;
    weir_scope inner = weir_in_scope(s, "%s", given.name != NULL ? given.name : "one_hot");
    weir_output on = weir_build_number(inner, dtype, 1, "on_value");
    weir_output off = weir_build_number(inner, dtype, 0, "off_value");
    weir_output classes = weir_build_number(inner, WEIR_INT32, depth, "depth");
    weir_node *node =
        weir_op(inner, "OneHot", WEIR_INPUTS(indices, classes, on, off),
                WEIR_ATTRS(WEIR_ATTR_I("axis", given.first_axis ? 0 : -1)), .name = weir_scope_name(inner));
    return weir_out(node, 0);
}

/* ---- Shape rules ---- */

static weir_status infer_fill(weir_infer *infer)
{
    weir_shape scalar;
    WEIR_TRY(weir_infer_rank(infer, 1, 0, &scalar));
    return weir_infer_shape_input(infer, 0, &infer->outputs[0]);
}

/* The length that three known numbers give; -1 for too many. */
static weir_status range_length(const weir_tensor *const *numbers, int64_t *length)
{
    double start = weir_tensor_get_double(numbers[0], 0);
    double limit = weir_tensor_get_double(numbers[1], 0);
    double delta = weir_tensor_get_double(numbers[2], 0);
    if (delta == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Requires delta != 0");
    if (delta > 0 ? start > limit : start < limit)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Requires start %s limit when delta %s 0: %g/%g",
                         delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", start, limit);
    double count = (limit - start) / delta;
    *length = count < 1e15 ? (int64_t)count : WEIR_UNKNOWN_DIM;
    if (*length >= 0 && (double)*length < count)
        ++*length;
    return WEIR_STATUS_OK;
}

static weir_status infer_range(weir_infer *infer)
{
    const weir_tensor *numbers[3];
    weir_shape scalar;
    bool are_known = true;
    infer->outputs[0] = (weir_shape){1, {WEIR_UNKNOWN_DIM}};
    for (int i = 0; i < 3; i++) {
        WEIR_TRY(weir_infer_rank(infer, i, 0, &scalar));
        numbers[i] = weir_infer_constant(infer, i);
        are_known &= numbers[i] != NULL;
    }
    return are_known ? range_length(numbers, &infer->outputs[0].dims[0]) : WEIR_STATUS_OK;
}

static weir_status infer_one_hot(weir_infer *infer)
{
    int64_t axis = weir_node_int(infer->node, "axis", -1);
    weir_shape indices = weir_infer_input(infer, 0);
    weir_shape out = {0};
    int64_t depth = WEIR_UNKNOWN_DIM;
    int64_t count;
    if (axis < -1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "axis must be >= -1");
    if (weir_infer_input(infer, 1).rank > 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Input must be scalar but has rank %d",
                         weir_infer_input(infer, 1).rank);
    for (int i = 2; i < 4; i++)
        WEIR_TRY(weir_infer_rank(infer, i, 0, &out));
    if (weir_infer_ints(infer, 1, &depth, 1, &count) && depth < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Dimension size, given by scalar input 1, must be non-negative but is %" PRId64, depth);
    if (indices.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    if (axis > indices.rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Expected axis to be -1 or between [0, %d].  But received: %" PRId64,
                         indices.rank + 1, axis);
    for (int i = 0; i <= indices.rank; i++) {
        if (i == (axis < 0 ? indices.rank : axis))
            weir_infer_push(&out, depth);
        if (i < indices.rank && out.rank != WEIR_UNKNOWN_RANK)
            weir_infer_push(&out, indices.dims[i]);
    }
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

/* ---- Schemas ---- */

static const weir_dtype range_types[] = {WEIR_BFLOAT16, WEIR_HALF,   WEIR_FLOAT,  WEIR_DOUBLE,
                                         WEIR_INT8,     WEIR_INT16,  WEIR_INT32,  WEIR_INT64,
                                         WEIR_UINT16,   WEIR_UINT32, WEIR_UINT64, WEIR_INVALID_DTYPE};
static const weir_dtype one_hot_types[] = {WEIR_UINT8, WEIR_INT8, WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};

static const weir_op_def ops[] = {
    {.name = "Fill",
     .inputs = WEIR_ARGS({"dims", .type_attr = "index_type"}, {"value", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL), WEIR_A_TYPE_OR("index_type", weir_types_index, WEIR_INT32)),
     .infer = infer_fill,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = fill_gradient},
    {.name = "Range",
     .inputs =
         WEIR_ARGS({"start", .type_attr = "Tidx"}, {"limit", .type_attr = "Tidx"}, {"delta", .type_attr = "Tidx"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "Tidx"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE_OR("Tidx", range_types, WEIR_INT32)),
     .infer = infer_range,
     .gradient_kind = WEIR_GRADIENT_NONE},
    {.name = "OneHot",
     .inputs = WEIR_ARGS({"indices", .type_attr = "TI"}, {"depth", .type = WEIR_INT32}, {"on_value", .type_attr = "T"},
                         {"off_value", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT("axis", -1), WEIR_A_TYPE("T", NULL),
                             WEIR_A_TYPE_OR("TI", one_hot_types, WEIR_INT64)),
     .infer = infer_one_hot,
     .gradient_kind = WEIR_GRADIENT_NONE},
    {.name = NULL},
};

const weir_op_family weir_family_fill = {.name = "fill", .ops = ops, .kernels = weir_kernel_table_fill};
