/*
 * One node by itself, from values to values: constant folding and tests. What bind and run need from a planner (memory
 * for outputs and scratch, variables as arguments) is put together here for one call. Outputs that are references come
 * back as copies of the variable's value; outputs that are dead (the other side of a Switch) as NULL.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/resource.h"

typedef struct evaluation {
    weir_context *context;
    const weir_node *node;
    const weir_kernel *kernel;
    weir_tensor *const *inputs;      /* NULL: a reference, or dead */
    weir_variable *const *variables; /* NULL: no input is a reference */
    weir_tensor **outputs;
} evaluation;

/* ---- Inputs ---- */

static weir_variable *reference(const evaluation *e, int index)
{
    return e->variables != NULL ? e->variables[index] : NULL;
}

static bool is_given(const evaluation *e, int index)
{
    return e->inputs[index] != NULL || reference(e, index) != NULL;
}

static weir_status check_inputs(const evaluation *e)
{
    for (int i = 0; i < e->node->num_inputs; i++) {
        weir_dtype wanted = weir_output_dtype(e->node->inputs[i]);
        if (!is_given(e, i))
            return weir_fail(WEIR_INVALID_ARGUMENT, "Input %d of node '%s' (op %s) has no value", i, e->node->name,
                             e->node->op->name);
        if (e->inputs[i] != NULL && e->inputs[i]->dtype != weir_dtype_base(wanted))
            return weir_fail(WEIR_INVALID_ARGUMENT, "Input %d of node '%s' (op %s) must be %s, not %s", i,
                             e->node->name, e->node->op->name, weir_dtype_name(weir_dtype_base(wanted)),
                             weir_dtype_name(e->inputs[i]->dtype));
    }
    return WEIR_STATUS_OK;
}

/* The value of an input as a tensor of the caller's: the tensor itself, or a copy of the variable's value. */
static weir_status take_input(const evaluation *e, int index, weir_tensor **out)
{
    if (e->inputs[index] == NULL && reference(e, index) != NULL)
        return weir_variable_read(reference(e, index), out);
    *out = weir_tensor_ref(e->inputs[index]);
    return WEIR_STATUS_OK;
}

/* The variable of an input that the kernel changes or reads through its reference or handle; NULL for other inputs. */
static weir_status find_variable(const evaluation *e, int index, weir_variable **out)
{
    bool through = index < 32 && ((e->kernel->writes | e->kernel->reads) >> index & 1) != 0;
    *out = reference(e, index);
    if (*out != NULL || !through)
        return WEIR_STATUS_OK;
    return weir_handle_variable(e->inputs[index], out);
}

/* ---- bind and run ---- */

typedef struct binding {
    weir_arena arena;
    weir_bind bind;
    weir_argument *inputs;
    weir_variable **variables;
    void **arguments;
    void *scratch;
} binding;

static weir_status bind_inputs(const evaluation *e, binding *b)
{
    size_t count = (size_t)e->node->num_inputs;
    b->inputs = weir_arena_take(&b->arena, count, sizeof *b->inputs);
    b->variables = weir_arena_take(&b->arena, count, sizeof(weir_variable *));
    b->arguments = weir_arena_take(&b->arena, count + (size_t)e->node->num_outputs + 1, sizeof *b->arguments);
    if (b->inputs == NULL || b->variables == NULL || b->arguments == NULL)
        return weir_fail_memory(count * sizeof *b->inputs);
    for (size_t i = 0; i < count; i++) {
        WEIR_TRY(find_variable(e, (int)i, &b->variables[i]));
        weir_variable *variable = b->variables[i];
        b->inputs[i].dtype = weir_output_dtype(e->node->inputs[i]);
        if (variable != NULL) {
            pthread_mutex_lock(&variable->mutex);
            b->inputs[i].shape = weir_variable_is_initialized(variable) ? variable->shape : variable->declared;
            pthread_mutex_unlock(&variable->mutex);
            b->arguments[i] = variable;
        } else {
            b->inputs[i].shape = e->inputs[i]->shape;
            b->inputs[i].constant = e->inputs[i];
            b->arguments[i] = e->inputs[i]->data;
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_node(const evaluation *e, binding *b)
{
    size_t count = (size_t)e->node->num_outputs;
    WEIR_TRY(bind_inputs(e, b));
    b->bind = (weir_bind){
        .node = e->node,
        .inputs = b->inputs,
        .arena = &b->arena,
        .session = e->context->session,
        .lanes = weir_team_size(e->context->team),
        .outputs = weir_arena_take(&b->arena, count, sizeof(weir_shape)),
        .same_memory = weir_arena_take(&b->arena, count, sizeof(int)),
        .may_overwrite = weir_arena_take(&b->arena, count, sizeof(uint32_t)),
    };
    if (b->bind.outputs == NULL || b->bind.same_memory == NULL || b->bind.may_overwrite == NULL)
        return weir_fail_memory(count * sizeof(weir_shape));
    for (size_t i = 0; i < count; i++) {
        b->bind.outputs[i] = weir_shape_unknown();
        b->bind.same_memory[i] = WEIR_OWN_MEMORY;
    }
    return e->kernel->bind(&b->bind);
}

/* Memory of one output: its own, or an input's. A reference stays NULL until the node has run. */
static weir_status place_output(const evaluation *e, binding *b, int index)
{
    int input = b->bind.same_memory[index];
    weir_dtype dtype = e->node->output_dtypes[index];
    weir_shape *shape = &b->bind.outputs[index];
    if (weir_dtype_is_ref(dtype))
        return WEIR_STATUS_OK;
    if (!weir_shape_known(*shape))
        return weir_fail(WEIR_INTERNAL, "Op %s left the shape of output %d open when it was bound", e->node->op->name,
                         index);
    weir_tensor **out = &e->outputs[index];
    if (input == WEIR_OWN_MEMORY) {
        WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), dtype, shape, out));
    } else {
        weir_tensor *source = NULL;
        WEIR_TRY(take_input(e, input, &source));
        weir_status over = weir_tensor_over(source->buffer, source->data, dtype, shape, out);
        weir_tensor_free(source);
        WEIR_TRY(over);
    }
    b->arguments[e->node->num_inputs + index] = (*out)->data;
    return WEIR_STATUS_OK;
}

static weir_status run_bound(const evaluation *e, binding *b)
{
    for (int i = 0; i < e->node->num_outputs; i++)
        WEIR_TRY(place_output(e, b, i));
    if (b->bind.run == NULL)
        return WEIR_STATUS_OK;
    if (b->bind.scratch_size > 0) {
        b->scratch = weir_allocate_aligned(b->bind.scratch_size);
        if (b->scratch == NULL)
            return weir_fail_memory(b->bind.scratch_size);
        b->arguments[e->node->num_inputs + e->node->num_outputs] = b->scratch;
    }
    return b->bind.run(b->bind.state, b->arguments, e->context);
}

static weir_status evaluate_bound(const evaluation *e)
{
    binding b = {0};
    weir_status status = bind_node(e, &b);
    if (weir_ok(status))
        status = run_bound(e, &b);
    weir_release(b.scratch);
    weir_arena_clear(&b.arena);
    return status;
}

/* ---- start ---- */

/* A wait whose end the caller sleeps for. */
typedef struct blocking_wait {
    weir_wait wait; /* first: end gets its address */
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool has_ended;
    bool is_dead;
    weir_error error;
} blocking_wait;

static void end_wait(weir_wait *wait, weir_status status, bool is_dead)
{
    blocking_wait *blocking = (blocking_wait *)wait;
    pthread_mutex_lock(&blocking->mutex);
    weir_error_set(&blocking->error, status);
    blocking->is_dead = is_dead;
    blocking->has_ended = true;
    pthread_cond_signal(&blocking->ended);
    pthread_mutex_unlock(&blocking->mutex);
}

/* Sleeps until the wait has ended; the mutex is held. */
static void sleep_until_end(blocking_wait *blocking)
{
    while (!blocking->has_ended)
        pthread_cond_wait(&blocking->ended, &blocking->mutex);
}

/* A node that would wait has nobody to wait for here: it is cancelled. */
static weir_status evaluate_started(const evaluation *e, const weir_call *call)
{
    if (e->context->session == NULL)
        return weir_fail(WEIR_FAILED_PRECONDITION, "Node '%s' (op %s) waits and needs a session", e->node->name,
                         e->node->op->name);
    blocking_wait blocking = {.wait = {.call = *call, .end = end_wait}};
    pthread_mutex_init(&blocking.mutex, NULL);
    pthread_cond_init(&blocking.ended, NULL);
    weir_status status = e->kernel->start(&blocking.wait);
    pthread_mutex_lock(&blocking.mutex);
    bool waits = weir_ok(status) && !blocking.has_ended;
    pthread_mutex_unlock(&blocking.mutex);
    if (waits)
        blocking.wait.cancel(&blocking.wait);
    pthread_mutex_lock(&blocking.mutex);
    if (weir_ok(status))
        sleep_until_end(&blocking);
    pthread_mutex_unlock(&blocking.mutex);
    if (weir_ok(status)) {
        status = weir_error_status(&blocking.error);
        if (waits && status.code == WEIR_CANCELLED)
            status = weir_fail(WEIR_FAILED_PRECONDITION, "Node '%s' (op %s) would wait for %s", e->node->name,
                               e->node->op->name, blocking.wait.what);
    }
    weir_error_clear(&blocking.error);
    pthread_cond_destroy(&blocking.ended);
    pthread_mutex_destroy(&blocking.mutex);
    return status;
}

/* ---- Roles ---- */

static weir_status pass_inputs(const evaluation *e)
{
    for (int i = 0; i < e->node->num_outputs; i++)
        WEIR_TRY(take_input(e, i, &e->outputs[i]));
    return WEIR_STATUS_OK;
}

static weir_status evaluate_switch(const evaluation *e)
{
    const weir_tensor *predicate = e->inputs[1];
    if (predicate->elements != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "The second input must be a scalar, but it has %lld elements",
                         (long long)predicate->elements);
    return take_input(e, 0, &e->outputs[*(const bool *)predicate->data ? 1 : 0]);
}

static weir_status evaluate_merge(const evaluation *e)
{
    for (int i = 0; i < e->node->num_inputs; i++) {
        if (!is_given(e, i))
            continue;
        int32_t index = i;
        WEIR_TRY(take_input(e, i, &e->outputs[0]));
        return weir_tensor_from(WEIR_INT32, WEIR_SCALAR, &index, &e->outputs[1]);
    }
    return WEIR_STATUS_OK; /* dead */
}

static weir_status read_variable(const evaluation *e)
{
    weir_variable *variable = reference(e, 0);
    if (variable == NULL)
        WEIR_TRY(weir_handle_variable(e->inputs[0], &variable));
    if (!weir_variable_is_initialized(variable))
        return weir_fail_uninitialized_resource(variable);
    return weir_variable_read(variable, &e->outputs[0]);
}

static weir_status evaluate_handle(const evaluation *e)
{
    weir_variable *variable = NULL;
    WEIR_TRY(weir_node_variable(e->context->session, e->node, weir_host_allocator(), &variable));
    weir_status status = weir_handle_new(&variable->base, &e->outputs[0]);
    weir_resource_unref(&variable->base);
    return status;
}

static weir_status evaluate_constant(const evaluation *e)
{
    const weir_attr_value *value = weir_node_find_attr(e->node, "value");
    if (value == NULL || value->kind != WEIR_ATTR_TENSOR)
        return weir_fail(WEIR_INTERNAL, "Constant '%s' has no value", e->node->name);
    e->outputs[0] = weir_tensor_ref(value->tensor);
    return WEIR_STATUS_OK;
}

/* A reference that a writer hands out is that of its first input: the caller gets a copy of what it holds now. */
static weir_status read_references(const evaluation *e)
{
    for (int i = 0; i < e->node->num_outputs; i++) {
        if (!weir_dtype_is_ref(e->node->output_dtypes[i]) || e->outputs[i] != NULL || e->node->num_inputs == 0)
            continue;
        weir_variable *variable = reference(e, 0);
        if (variable != NULL && weir_variable_is_initialized(variable))
            WEIR_TRY(weir_variable_read(variable, &e->outputs[i]));
    }
    return WEIR_STATUS_OK;
}

static weir_status evaluate_compute(const evaluation *e)
{
    weir_call call = {
        .node = e->node, .context = e->context, .inputs = e->inputs, .variables = e->variables, .outputs = e->outputs};
    if (e->kernel->bind != NULL)
        WEIR_TRY(evaluate_bound(e));
    else if (e->kernel->start != NULL)
        WEIR_TRY(evaluate_started(e, &call));
    else
        WEIR_TRY(e->kernel->execute(&call));
    return read_references(e);
}

static weir_status evaluate_role(const evaluation *e)
{
    if (e->kernel->role == WEIR_ROLE_MERGE)
        return evaluate_merge(e);
    WEIR_TRY(check_inputs(e));
    switch (e->kernel->role) {
    case WEIR_ROLE_COMPUTE:
        return evaluate_compute(e);
    case WEIR_ROLE_NOTHING:
    case WEIR_ROLE_TRIGGER:
        return WEIR_STATUS_OK;
    case WEIR_ROLE_CONSTANT:
        return evaluate_constant(e);
    case WEIR_ROLE_PASS:
    case WEIR_ROLE_ENTER:
    case WEIR_ROLE_EXIT:
    case WEIR_ROLE_NEXT_ITERATION:
    case WEIR_ROLE_LOOP_CONDITION:
        return pass_inputs(e);
    case WEIR_ROLE_SWITCH:
        return evaluate_switch(e);
    case WEIR_ROLE_READ:
        return read_variable(e);
    case WEIR_ROLE_HANDLE:
        return evaluate_handle(e);
    default:
        return weir_fail(WEIR_FAILED_PRECONDITION, "Node '%s' (op %s) has no value outside a run", e->node->name,
                         e->node->op->name);
    }
}

weir_status weir_evaluate_in(weir_context *context, const weir_node *node, weir_tensor *const *inputs,
                             weir_variable *const *variables, weir_tensor **outputs)
{
    evaluation e = {.context = context, .node = node, .inputs = inputs, .variables = variables, .outputs = outputs};
    for (int i = 0; i < node->num_outputs; i++)
        outputs[i] = NULL;
    weir_status status = weir_kernel_find(node, &e.kernel);
    if (weir_ok(status))
        status = evaluate_role(&e);
    for (int i = 0; i < node->num_outputs && !weir_ok(status); i++) {
        weir_tensor_free(outputs[i]);
        outputs[i] = NULL;
    }
    return status;
}

weir_status weir_evaluate(const weir_node *node, weir_tensor *const *inputs, weir_tensor **outputs)
{
    weir_context context = {0};
    return weir_evaluate_in(&context, node, inputs, NULL, outputs);
}
