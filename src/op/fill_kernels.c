/*
 * Kernels of fill.c.
 */
#include <inttypes.h>

#include "op/array_support.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

/* ---- Fill ---- */

typedef struct fill_state {
    weir_objects objects;
    weir_element element;
    int64_t elements;
} fill_state;

static weir_status run_fill(const void *pointer, void *const *arguments, weir_context *context)
{
    const fill_state *state = pointer;
    weir_fill_elements(state->element, context->team, arguments[1], state->elements, arguments[2]);
    return state->objects.status;
}

static weir_status bind_fill(weir_bind *bind)
{
    fill_state *state;
    if (bind->inputs[0].shape.rank > 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "dims must represent a vector, got shape %s",
                         WEIR_SHAPE_TEXT(bind->inputs[0].shape));
    if (weir_shape_elements(bind->inputs[1].shape) != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "value must represent a scalar, got shape %s",
                         WEIR_SHAPE_TEXT(bind->inputs[1].shape));
    WEIR_TRY(weir_bind_shape(bind, 0, &bind->outputs[0]));
    WEIR_TRY(weir_check_output(bind, 0));
    WEIR_TRY(weir_bind_state(bind, &state));
    state->element = weir_element_of(weir_dtype_base(bind->inputs[1].dtype), &state->objects);
    state->elements = weir_shape_elements(bind->outputs[0]);
    bind->run = run_fill;
    bind->state = state;
    return WEIR_STATUS_OK;
}
WEIR_EXECUTE_OF(bind_fill)

/* ---- Range ---- */

typedef struct range_state {
    weir_dtype dtype;
    int64_t elements;
} range_state;

static weir_status run_range(const void *pointer, void *const *arguments, weir_context *context)
{
    const range_state *state = pointer;
    (void)context;
    weir_range_numbers(state->dtype, arguments[0], arguments[2], state->elements, arguments[3]);
    return WEIR_STATUS_OK;
}

static weir_status bind_range(weir_bind *bind)
{
    static const char *const names[] = {"start", "limit", "delta"};
    const weir_tensor *numbers[3];
    range_state *state;
    bool is_above = false;
    for (int i = 0; i < 3; i++) {
        numbers[i] = bind->inputs[i].constant;
        if (weir_shape_elements(bind->inputs[i].shape) != 1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "%s must be a scalar, not shape %s", names[i],
                             WEIR_SHAPE_TEXT(bind->inputs[i].shape));
    }
    WEIR_TRY(weir_bind_state(bind, &state));
    state->dtype = weir_dtype_base(bind->inputs[0].dtype);
    state->elements = weir_range_count(state->dtype, numbers[0]->data, numbers[1]->data, numbers[2]->data, &is_above);
    double start = weir_tensor_get_double(numbers[0], 0);
    double limit = weir_tensor_get_double(numbers[1], 0);
    double delta = weir_tensor_get_double(numbers[2], 0);
    if (state->elements == -1 && delta == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Requires delta != 0: %g", delta);
    if (state->elements == -1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Requires start %s limit when delta %s 0: %g/%g",
                         delta > 0 ? "<=" : ">=", delta > 0 ? ">" : "<", start, limit);
    if (state->elements < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Requires ((limit - start) / delta) <= %" PRId64, INT64_MAX);
    bind->outputs[0] = (weir_shape){1, {state->elements}};
    WEIR_TRY(weir_check_output(bind, 0));
    bind->run = run_range;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- OneHot ---- */

typedef struct one_hot_state {
    weir_objects objects;
    weir_element element;
    weir_dtype index_dtype;
    int64_t prefix, depth, suffix;
} one_hot_state;

static weir_status run_one_hot(const void *pointer, void *const *arguments, weir_context *context)
{
    const one_hot_state *state = pointer;
    weir_one_hot_elements(state->element, context->team, state->index_dtype, arguments[0], state->prefix, state->depth,
                          state->suffix, arguments[2], arguments[3], arguments[4]);
    return state->objects.status;
}

/* The new axis; checks what the inputs must be. */
static weir_status check_one_hot(const weir_bind *bind, int *axis, int64_t *depth)
{
    static const char *const names[] = {"indices", "depth", "on_value", "off_value"};
    const weir_shape *indices = &bind->inputs[0].shape;
    int64_t wanted = weir_node_int(bind->node, "axis", -1);
    if (wanted < -1 || wanted > indices->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Expected axis to be -1 or between [0, %d).  But received: %" PRId64,
                         indices->rank + 1, wanted);
    for (int i = 1; i < 4; i++) {
        if (bind->inputs[i].shape.rank != 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "%s must be a scalar, but got: %s", names[i],
                             WEIR_SHAPE_TEXT(bind->inputs[i].shape));
    }
    (void)weir_bind_ints(bind, 1, depth, 1);
    if (*depth < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "depth must be non-negative, got: %" PRId64, *depth);
    *axis = wanted < 0 ? indices->rank : (int)wanted;
    return WEIR_STATUS_OK;
}

static weir_status bind_one_hot(weir_bind *bind)
{
    const weir_shape *indices = &bind->inputs[0].shape;
    one_hot_state *state;
    int axis;
    WEIR_TRY(weir_bind_state(bind, &state));
    WEIR_TRY(check_one_hot(bind, &axis, &state->depth));
    bind->outputs[0] = (weir_shape){0};
    for (int i = 0; i <= indices->rank; i++) {
        if (i == axis)
            WEIR_TRY(weir_shape_push(&bind->outputs[0], state->depth));
        if (i < indices->rank)
            WEIR_TRY(weir_shape_push(&bind->outputs[0], indices->dims[i]));
    }
    WEIR_TRY(weir_check_output(bind, 0));
    state->prefix = weir_shape_span(indices, 0, axis);
    state->suffix = weir_shape_span(indices, axis, indices->rank);
    state->index_dtype = weir_dtype_base(bind->inputs[0].dtype);
    state->element = weir_element_of(weir_dtype_base(bind->inputs[2].dtype), &state->objects);
    bind->run = run_one_hot;
    bind->state = state;
    return WEIR_STATUS_OK;
}
WEIR_EXECUTE_OF(bind_one_hot)

/* ---- Table ---- */

#define OBJECTS .types = {{"T", weir_types_objects}}

const weir_kernel weir_kernel_table_fill[] = {
    {.op = "Fill", OBJECTS, .execute = execute_bind_fill},
    {.op = "Fill",
     .types = {{"T", weir_types_host}},
     .bind = bind_fill,
     .shape_inputs = WEIR_INPUT(0),
     .on_accelerators = true,
     .host_inputs = WEIR_ALL_INPUTS,
     .host_outputs = WEIR_ALL_INPUTS},
    {.op = "Fill",
     .bind = bind_fill,
     .shape_inputs = WEIR_INPUT(0),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(0)},
    {.op = "Range",
     .bind = bind_range,
     .shape_inputs = WEIR_INPUT(0) | WEIR_INPUT(1) | WEIR_INPUT(2),
     .on_accelerators = true,
     .host_inputs = WEIR_ALL_INPUTS,
     .host_outputs = WEIR_ALL_INPUTS},
    {.op = "OneHot", OBJECTS, .execute = execute_bind_one_hot},
    {.op = "OneHot",
     .bind = bind_one_hot,
     .shape_inputs = WEIR_INPUT(1),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(1)},
    {.op = NULL},
};
