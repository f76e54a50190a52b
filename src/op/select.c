/*
 * Choice of elements by a condition: Select (condition of the values' shape, of their first dimension, or scalar) and
 * SelectV2 (all three broadcast): schemas, gradients and the builder. Their kernels are bound in select_kernels.c.
 */
#include "op/compose.h"
#include "op/kernels.h"

/* ---- Gradients ---- */

/* g where the condition holds, the rest to the other. */
static weir_status select_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output condition = weir_gradient_x(gradient, 0);
    weir_output g = gradient->dy[0];
    weir_output zeros = weir_zeros_like(s, weir_gradient_x(gradient, 1));
    weir_gradient_set(gradient, 1, weir_out(weir_op(s, "Select", WEIR_INPUTS(condition, g, zeros)), 0));
    weir_gradient_set(gradient, 2, weir_out(weir_op(s, "Select", WEIR_INPUTS(condition, zeros, g)), 0));
    return WEIR_STATUS_OK;
}

static weir_status select_v2_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output condition = weir_gradient_x(gradient, 0);
    weir_output g = gradient->dy[0];
    weir_output output = weir_gradient_y0(gradient);
    weir_output zeros = weir_build_number(s, weir_output_dtype(g), 0, "zeros");
    weir_output then_part = weir_select(s, condition, g, zeros);
    weir_output else_part = weir_select(s, condition, zeros, g);
    weir_build_unbroadcast(s, weir_gradient_x(gradient, 1), output, &then_part, NULL);
    weir_build_unbroadcast(s, weir_gradient_x(gradient, 2), output, &else_part, NULL);
    weir_gradient_set(gradient, 1, then_part);
    weir_gradient_set(gradient, 2, else_part);
    return WEIR_STATUS_OK;
}

/* ---- Builder ---- */

weir_output(weir_select)(weir_scope s, weir_output condition, weir_output x, weir_output y,
                         const weir_name_options *options)
{
    return weir_out(weir_op(s, "SelectV2", WEIR_INPUTS(condition, x, y), .name = weir_option_name(options, NULL)), 0);
}

/* ---- Shape rules ---- */

static weir_status check_select_vector(weir_shape condition, weir_shape value)
{
    int64_t rows = condition.dims[0];
    if (value.rank < 1 || rows == WEIR_UNKNOWN_DIM || value.dims[0] == WEIR_UNKNOWN_DIM || rows == value.dims[0])
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "Dimensions must be equal, but are %lld and %lld", (long long)rows,
                     (long long)value.dims[0]);
}

static weir_status infer_select(weir_infer *infer)
{
    weir_shape condition = weir_infer_input(infer, 0);
    weir_shape value;
    WEIR_TRY(weir_infer_merge(weir_infer_input(infer, 1), weir_infer_input(infer, 2), &value));
    infer->outputs[0] = value;
    if (condition.rank == WEIR_UNKNOWN_RANK || condition.rank == 0 || value.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    if (condition.rank == 1 && value.rank > 1)
        return check_select_vector(condition, value);
    return weir_infer_merge(condition, value, &infer->outputs[0]);
}

static weir_status infer_select_v2(weir_infer *infer)
{
    weir_shape both;
    WEIR_TRY(weir_infer_broadcast(weir_infer_input(infer, 1), weir_infer_input(infer, 2), &both));
    return weir_infer_broadcast(weir_infer_input(infer, 0), both, &infer->outputs[0]);
}

/* ---- Schemas ---- */

#define SELECT(op, rule, function)                                                                                     \
    {                                                                                                                  \
        .name = (op),                                                                                                  \
        .inputs = WEIR_ARGS({"condition", .type = WEIR_BOOL}, {"t", .type_attr = "T"}, {"e", .type_attr = "T"}),       \
        .outputs = WEIR_ARGS({"output", .type_attr = "T"}), .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL)),           \
        .infer = (rule), .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = (function)                               \
    }

static const weir_op_def ops[] = {
    SELECT("Select", infer_select, select_gradient),
    SELECT("SelectV2", infer_select_v2, select_v2_gradient),
    {.name = NULL},
};

const weir_op_family weir_family_select = {.name = "select", .ops = ops, .kernels = weir_kernel_table_select};
