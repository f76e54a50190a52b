/*
 * Checks and locks of ops on variables; addition to a variable, which references and handles share.
 */
#include "op/state_support.h"

#include <string.h>

#include "kernel/cpu/update.h"

#define MOST_LOCKED 4

weir_status weir_call_variable(const weir_call *call, int index, weir_variable **out)
{
    if (call->variables != NULL && call->variables[index] != NULL) {
        *out = call->variables[index];
        return WEIR_STATUS_OK;
    }
    return weir_handle_variable(call->inputs[index], out);
}

/* Distinct variables in order of their addresses; returns how many. */
static int sort_distinct(weir_variable *const *variables, int count, weir_variable *sorted[MOST_LOCKED])
{
    int distinct = 0;
    for (int i = 0; i < count; i++) {
        int at = 0;
        while (at < distinct && sorted[at] < variables[i])
            at++;
        if (at < distinct && sorted[at] == variables[i])
            continue;
        memmove(&sorted[at + 1], &sorted[at], (size_t)(distinct - at) * sizeof(weir_variable *));
        sorted[at] = variables[i];
        distinct++;
    }
    return distinct;
}

void weir_lock_variables(weir_variable *const *variables, int count)
{
    weir_variable *sorted[MOST_LOCKED];
    int distinct = sort_distinct(variables, count, sorted);
    for (int i = 0; i < distinct; i++)
        pthread_mutex_lock(&sorted[i]->mutex);
}

void weir_unlock_variables(weir_variable *const *variables, int count)
{
    weir_variable *sorted[MOST_LOCKED];
    int distinct = sort_distinct(variables, count, sorted);
    for (int i = distinct - 1; i >= 0; i--)
        pthread_mutex_unlock(&sorted[i]->mutex);
}

/* ---- Shapes ---- */

static bool passes_handles(const weir_node *node)
{
    static const char *const ops[] = {"Identity", "Switch", "Enter", "Exit", "StopGradient"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(node->op->name, ops[i]) == 0)
            return true;
    }
    return false;
}

const weir_node *weir_infer_handle_node(const weir_infer *infer, int index)
{
    const weir_node *node = infer->node->inputs[index].node;
    while (node != NULL && passes_handles(node))
        node = node->inputs[0].node;
    return node;
}

weir_status weir_infer_variable(const weir_infer *infer, int index, weir_dtype dtype, weir_shape *out)
{
    *out = weir_shape_unknown();
    if (weir_output_dtype(infer->node->inputs[index]) != WEIR_RESOURCE) {
        *out = weir_infer_input(infer, index);
        return WEIR_STATUS_OK;
    }
    weir_shape handle;
    WEIR_TRY(weir_infer_rank(infer, index, 0, &handle));
    const weir_node *variable = weir_infer_handle_node(infer, index);
    if (variable == NULL || strcmp(variable->op->name, "VarHandleOp") != 0)
        return WEIR_STATUS_OK;
    weir_dtype held = weir_node_type(variable, "dtype");
    if (dtype != WEIR_INVALID_DTYPE && held != dtype)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Trying to read variable with wrong dtype. Expected %s got %s",
                         weir_dtype_name(held), weir_dtype_name(dtype));
    *out = weir_node_shape(variable, "shape");
    return WEIR_STATUS_OK;
}

/* ---- Addition ---- */

typedef struct addition {
    weir_assign_add_function *add;
    weir_shape shape; /* of the value */
    int64_t elements;
    bool is_handle;
} addition;

static weir_status check_addition(const addition *a, weir_variable *variable)
{
    if (!weir_variable_is_initialized(variable))
        return a->is_handle ? weir_fail_uninitialized_resource(variable) : weir_variable_check(variable);
    if (weir_shape_equal(variable->shape, a->shape))
        return WEIR_STATUS_OK;
    if (a->is_handle)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Cannot update variable with shape %s using a Tensor with shape %s, shapes must be equal.",
                         WEIR_SHOWN(variable->shape), WEIR_SHOWN(a->shape));
    return weir_fail(WEIR_INVALID_ARGUMENT, "Parameters and update must be the same size, not %s and %s",
                     WEIR_SHOWN(variable->shape), WEIR_SHOWN(a->shape));
}

static weir_status run_addition(const void *state, void *const *arguments, weir_context *context)
{
    const addition *a = state;
    weir_variable *variable = arguments[0];
    pthread_mutex_lock(&variable->mutex);
    weir_status status = check_addition(a, variable);
    if (weir_ok(status))
        a->add(context->team, a->elements, weir_buffer_reach(variable->buffer), arguments[1]);
    pthread_mutex_unlock(&variable->mutex);
    return status;
}

static weir_status bind_addition(weir_bind *bind, bool subtract)
{
    addition *a = NULL;
    WEIR_TRY(weir_bind_state(bind, &a));
    weir_dtype dtype = bind->inputs[1].dtype;
    a->add = weir_assign_add_find(dtype, subtract);
    if (a->add == NULL)
        return weir_fail(WEIR_UNIMPLEMENTED, "A variable of type %s cannot be added to", weir_dtype_name(dtype));
    a->shape = bind->inputs[1].shape;
    a->elements = weir_shape_elements(a->shape);
    a->is_handle = !bind->node->op->inputs[0].is_ref;
    if (bind->node->num_outputs > 0) {
        bind->outputs[0] = a->shape;
        bind->same_memory[0] = 0;
    }
    bind->state = a;
    bind->run = run_addition;
    return WEIR_STATUS_OK;
}

weir_status weir_bind_assign_add(weir_bind *bind)
{
    return bind_addition(bind, false);
}

weir_status weir_bind_assign_sub(weir_bind *bind)
{
    return bind_addition(bind, true);
}
