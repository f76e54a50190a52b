/*
 * Cast: conversion between element types.
 */
#include <math.h>

#include "exec/kernel.h"
#include "kernel/cpu/cast.h"
#include "op/compose.h"
#include "tensor/tensor.h"

/* x itself where it has the type already; references count as what they refer to. */
weir_output(weir_cast)(weir_scope s, weir_output x, weir_dtype dtype, const weir_name_options *options)
{
    if (weir_dtype_base(weir_output_dtype(x)) == dtype)
        return x;
    weir_node *node = weir_op(s, "Cast", WEIR_INPUTS(x), WEIR_ATTRS(WEIR_ATTR_T("DstT", dtype)),
                              .name = weir_option_name(options, NULL));
    return weir_out(node, 0);
}

static bool carries_gradients(weir_dtype dtype)
{
    return weir_dtype_is_floating(dtype) || weir_dtype_is_complex(dtype);
}

/* Back, between types that carry gradients. */
static weir_status cast_gradient(weir_gradient *gradient)
{
    weir_dtype from = weir_dtype_base(weir_output_dtype(weir_gradient_x0(gradient)));
    weir_dtype to = weir_dtype_base(weir_output_dtype(gradient->dy[0]));
    if (carries_gradients(from) && carries_gradients(to))
        weir_gradient_set(gradient, 0, weir_cast(gradient->scope, gradient->dy[0], from));
    return WEIR_STATUS_OK;
}

typedef struct cast_state {
    weir_cast_function *function;
    int64_t elements;
    bool is_double; /* from double, else from float; used by truncation only */
    uint64_t kept;  /* bits that truncation keeps */
} cast_state;

static weir_status run_cast(const void *pointer, void *const *arguments, weir_context *context)
{
    const cast_state *state = pointer;
    state->function(context->team, arguments[0], arguments[1], state->elements);
    return WEIR_STATUS_OK;
}

/* ---- Truncate: toward zero instead of to the nearest ---- */

static int mantissa_bits(weir_dtype dtype)
{
    switch (dtype) {
    case WEIR_DOUBLE:
        return 52;
    case WEIR_FLOAT:
        return 23;
    case WEIR_HALF:
        return 10;
    case WEIR_BFLOAT16:
        return 7;
    default:
        return 0;
    }
}

/* Bits that the new type has no place for are cut off in scratch memory, argument 2; then the conversion is exact. NaN
 * stays as it is, or it might become infinite. */
static weir_status run_truncate(const void *pointer, void *const *arguments, weir_context *context)
{
    const cast_state *state = pointer;
    for (int64_t i = 0; i < state->elements; i++) {
        if (state->is_double) {
            double value = ((const double *)arguments[0])[i];
            ((uint64_t *)arguments[2])[i] =
                ((const uint64_t *)arguments[0])[i] & (isnan(value) ? ~UINT64_C(0) : state->kept);
        } else {
            float value = ((const float *)arguments[0])[i];
            ((uint32_t *)arguments[2])[i] =
                ((const uint32_t *)arguments[0])[i] & (isnan(value) ? ~UINT32_C(0) : (uint32_t)state->kept);
        }
    }
    state->function(context->team, arguments[2], arguments[1], state->elements);
    return WEIR_STATUS_OK;
}

static void set_truncate(weir_bind *bind, weir_dtype from, weir_dtype to, cast_state *state)
{
    int cut = mantissa_bits(from) - mantissa_bits(to);
    if (cut <= 0 || mantissa_bits(to) == 0 || state->elements == 0)
        return;
    state->is_double = from == WEIR_DOUBLE;
    state->kept = ~((UINT64_C(1) << cut) - 1);
    bind->scratch_size = (size_t)state->elements * weir_dtype_size(from);
    bind->may_overwrite[0] = 0;
    bind->run = run_truncate;
}

static weir_status bind_cast(weir_bind *bind)
{
    weir_dtype from = weir_node_type(bind->node, "SrcT");
    weir_dtype to = weir_node_type(bind->node, "DstT");
    bind->outputs[0] = bind->inputs[0].shape;
    if (from == to) {
        bind->same_memory[0] = 0;
        return WEIR_STATUS_OK;
    }
    cast_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    state->elements = weir_shape_elements(bind->inputs[0].shape);
    state->function = weir_cast_find(from, to);
    if (state->function == NULL)
        return weir_fail(WEIR_UNIMPLEMENTED, "Cast %s to %s is not supported", weir_dtype_name(from),
                         weir_dtype_name(to));
    bind->may_overwrite[0] = weir_dtype_size(from) == weir_dtype_size(to) ? WEIR_INPUT(0) : 0;
    bind->run = run_cast;
    bind->state = state;
    if (weir_node_bool(bind->node, "Truncate", false))
        set_truncate(bind, from, to, state);
    return WEIR_STATUS_OK;
}

static const weir_op_def ops[] = {
    {.name = "Cast",
     .inputs = WEIR_ARGS({"x", .type_attr = "SrcT"}),
     .outputs = WEIR_ARGS({"y", .type_attr = "DstT"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("SrcT", NULL), WEIR_A_TYPE("DstT", NULL), WEIR_A_BOOL("Truncate", false)),
     .infer = weir_infer_same,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = cast_gradient},
    {.name = NULL},
};

static const weir_kernel kernels[] = {
    {.op = "Cast", .bind = bind_cast, .on_accelerators = true, .is_cheap = true},
    {.op = NULL},
};

const weir_op_family weir_family_cast = {.name = "cast", .ops = ops, .kernels = kernels};
