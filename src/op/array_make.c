/*
 * Values that come from outside or pass unchanged: Const, placeholders, Identity and its kin; and the builders of
 * constants. None of them computes: the planner knows them by their role.
 */
#include <string.h>

#include "exec/kernel.h"
#include "kernel/cpu/cast.h"
#include "op/array_pieces.h"

/* ---- Shape rules ---- */

static weir_status infer_const(weir_infer *infer)
{
    const weir_attr_value *value = weir_node_find_attr(infer->node, "value");
    if (value != NULL && value->kind == WEIR_ATTR_TENSOR && value->tensor != NULL) {
        weir_dtype dtype = weir_node_type(infer->node, "dtype");
        if (value->tensor->dtype != dtype)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Attribute dtype is %s but the value is of type %s",
                             weir_dtype_name(dtype), weir_dtype_name(value->tensor->dtype));
        infer->outputs[0] = value->tensor->shape;
    }
    return WEIR_STATUS_OK;
}

/* Graphs of version 21 and older could not tell a scalar Placeholder from one of unknown shape. */
static weir_status infer_placeholder(weir_infer *infer)
{
    weir_shape shape = weir_node_shape(infer->node, "shape");
    bool is_old = infer->node->graph->producer <= 21;
    infer->outputs[0] = is_old && shape.rank == 0 ? weir_shape_unknown() : shape;
    return WEIR_STATUS_OK;
}

static weir_status infer_placeholder_v2(weir_infer *infer)
{
    infer->outputs[0] = weir_node_shape(infer->node, "shape");
    return WEIR_STATUS_OK;
}

static weir_status infer_placeholder_with_default(weir_infer *infer)
{
    weir_shape shape = weir_node_shape(infer->node, "shape");
    weir_shape merged;
    WEIR_TRY(weir_infer_merge(weir_infer_input(infer, 0), shape, &merged));
    infer->outputs[0] = shape;
    return WEIR_STATUS_OK;
}

static weir_status infer_each(weir_infer *infer)
{
    for (int i = 0; i < infer->node->num_outputs; i++)
        infer->outputs[i] = weir_infer_input(infer, i);
    return WEIR_STATUS_OK;
}

/* ---- Gradients ---- */

static weir_status grad_identity(weir_gradient *gradient)
{
    weir_gradient_set(gradient, 0, gradient->dy[0]);
    return WEIR_STATUS_OK;
}

static weir_status grad_identity_n(weir_gradient *gradient)
{
    for (int i = 0; i < gradient->node->num_outputs; i++) {
        if (weir_dtype_is_trainable(gradient->node->output_dtypes[i]))
            weir_gradient_set(gradient, i, weir_gradient_dy(gradient, i));
    }
    return WEIR_STATUS_OK;
}

static weir_status grad_prevent(weir_gradient *gradient)
{
    weir_bytes message = weir_node_string(gradient->node, "message");
    return weir_fail(WEIR_NOT_FOUND, "Gradient explicitly disabled. Reason: %.*s", (int)message.size, message.data);
}

/* ---- Ops ---- */

#define ONE_INPUT(name, type) .inputs = WEIR_ARGS({(name), .type_attr = (type)})
#define ONE_OUTPUT(type) .outputs = WEIR_ARGS({"output", .type_attr = (type)})
#define PASSES_T ONE_INPUT("input", "T"), ONE_OUTPUT("T"), .infer = weir_infer_same

static const weir_op_def ops[] = {
    {"Const", ONE_OUTPUT("dtype"),
     .attrs = WEIR_ATTR_DEFS({.name = "value", .kind = WEIR_ATTR_TENSOR}, WEIR_A_TYPE("dtype", NULL)),
     .infer = infer_const, .gradient_kind = WEIR_GRADIENT_NONE},
    {"Placeholder", ONE_OUTPUT("dtype"),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("dtype", NULL),
                             {.name = "shape",
                              .kind = WEIR_ATTR_SHAPE,
                              .has_default = true,
                              .value = {.kind = WEIR_ATTR_SHAPE, .shape = {.rank = WEIR_UNKNOWN_RANK}}}),
     .infer = infer_placeholder},
    {"PlaceholderV2", ONE_OUTPUT("dtype"),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("dtype", NULL), {.name = "shape", .kind = WEIR_ATTR_SHAPE}),
     .infer = infer_placeholder_v2},
    {"PlaceholderWithDefault", ONE_INPUT("input", "dtype"), ONE_OUTPUT("dtype"),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("dtype", NULL), {.name = "shape", .kind = WEIR_ATTR_SHAPE}),
     .infer = infer_placeholder_with_default, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_identity},
    {"Identity", PASSES_T, .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL)), .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = grad_identity},
    {"IdentityN", .inputs = WEIR_ARGS({"input", .type_list_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_list_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS({.name = "T", .kind = WEIR_ATTR_LIST + WEIR_ATTR_TYPE, .has_minimum = true, .minimum = 1}),
     .infer = infer_each, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_identity_n},
    {"StopGradient", PASSES_T, .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL)), .gradient_kind = WEIR_GRADIENT_NONE},
    {"PreventGradient", PASSES_T, .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL), WEIR_A_STRING("message", "")),
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_prevent},
    {"Snapshot", PASSES_T, .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL))},
    {.name = NULL},
};

static const weir_kernel kernels[] = {
    {.op = "Const", .role = WEIR_ROLE_CONSTANT, .on_accelerators = true},
    {.op = "Placeholder", .role = WEIR_ROLE_PLACEHOLDER, .on_accelerators = true},
    {.op = "PlaceholderV2", .role = WEIR_ROLE_PLACEHOLDER, .on_accelerators = true},
    {.op = "PlaceholderWithDefault", .role = WEIR_ROLE_PASS, .on_accelerators = true},
    {.op = "Identity", .role = WEIR_ROLE_PASS, .on_accelerators = true},
    {.op = "IdentityN", .role = WEIR_ROLE_PASS, .on_accelerators = true},
    {.op = "StopGradient", .role = WEIR_ROLE_PASS, .on_accelerators = true},
    {.op = "PreventGradient", .role = WEIR_ROLE_PASS, .on_accelerators = true},
    {.op = "Snapshot", .role = WEIR_ROLE_PASS, .on_accelerators = true},
    {.op = NULL},
};

const weir_op_family weir_family_array_make = {"array_make", ops, kernels};

/* ---- Builders ---- */

weir_output weir_const_tensor(weir_scope s, const weir_tensor *value, const char *name)
{
    if (value == NULL)
        return WEIR_NO_OUTPUT;
    weir_tensor *tensor = (weir_tensor *)value; /* the graph counts a reference, no more */
    return weir_out(weir_op(s, "Const",
                            WEIR_ATTRS(WEIR_ATTR_TENSOR_OF("value", tensor), WEIR_ATTR_T("dtype", value->dtype)),
                            .name = name),
                    0);
}

/* Takes tensor; a failure to make it becomes the graph's. */
static weir_output const_of(weir_scope s, weir_status status, weir_tensor *tensor, const char *name)
{
    if (!weir_ok(status)) {
        (void)weir_scope_fail(s, status);
        weir_tensor_free(tensor);
        return WEIR_NO_OUTPUT;
    }
    weir_output output = weir_const_tensor(s, tensor, name);
    weir_tensor_free(tensor);
    return output;
}

static weir_status make_strings(weir_shape shape, const char *const *texts, weir_tensor **out)
{
    WEIR_TRY(weir_tensor_new(WEIR_STRING, shape, out));
    for (int64_t i = 0; i < (*out)->elements; i++)
        WEIR_TRY(weir_tensor_set_string(*out, i, texts[i], strlen(texts[i])));
    return WEIR_STATUS_OK;
}

weir_output(weir_const)(weir_scope s, weir_const_value value, const weir_name_options *options)
{
    weir_tensor *tensor = NULL;
    weir_status status = value.dtype == WEIR_STRING
                             ? make_strings(value.shape, value.texts, &tensor)
                             : weir_tensor_from(value.dtype, value.shape, value.elements, &tensor);
    return const_of(s, status, tensor, weir_option_name(options, NULL));
}

/* The value in the type's own bits. */
static weir_status convert(weir_dtype dtype, double value, void *bits)
{
    weir_cast_function *cast = weir_cast_find(WEIR_DOUBLE, dtype);
    if (cast == NULL)
        return weir_fail(WEIR_UNIMPLEMENTED, "A constant of type %s cannot be made from the number %g",
                         weir_dtype_name(dtype), value);
    cast(NULL, &value, bits, 1);
    return WEIR_STATUS_OK;
}

weir_output weir_fill_const(weir_scope s, weir_dtype dtype, weir_shape shape, double value, const char *name)
{
    uint64_t bits[2] = {0};
    weir_tensor *tensor = NULL;
    weir_status status = convert(dtype, value, bits);
    if (weir_ok(status))
        status = weir_tensor_new(dtype, shape, &tensor);
    size_t size = weir_dtype_size(dtype);
    for (int64_t i = 0; weir_ok(status) && i < tensor->elements; i++)
        memcpy((char *)tensor->data + (size_t)i * size, bits, size);
    return const_of(s, status, tensor, name);
}

weir_output weir_shape_const(weir_scope s, weir_shape shape, const char *name)
{
    if (shape.rank == WEIR_UNKNOWN_RANK) {
        (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "A shape of unknown rank cannot be a constant"));
        return WEIR_NO_OUTPUT;
    }
    bool is_wide = false;
    for (int i = 0; i < shape.rank; i++)
        is_wide = is_wide || shape.dims[i] > INT32_MAX;
    return weir_build_ints(s, is_wide ? WEIR_INT64 : WEIR_INT32, shape.dims, shape.rank, name);
}

weir_output(weir_placeholder)(weir_scope s, weir_dtype dtype, weir_shape shape, const weir_name_options *options)
{
    return weir_out(weir_op(s, "Placeholder", WEIR_ATTRS(WEIR_ATTR_T("dtype", dtype), WEIR_ATTR_SH("shape", shape)),
                            .name = weir_option_name(options, NULL)),
                    0);
}

weir_output(weir_identity)(weir_scope s, weir_output x, const weir_name_options *options)
{
    return weir_out(weir_op(s, "Identity", WEIR_INPUTS(x), .name = weir_option_name(options, NULL)), 0);
}

weir_output(weir_stop_gradient)(weir_scope s, weir_output x, const weir_name_options *options)
{
    return weir_out(weir_op(s, "StopGradient", WEIR_INPUTS(x), .name = weir_option_name(options, NULL)), 0);
}
