/*
 * What the kernel tables of the array and network families share; see array_support.h.
 */
#include "op/array_support.h"

#include <inttypes.h>

#include "base/memory.h"

const weir_dtype weir_types_objects[] = {WEIR_STRING, WEIR_RESOURCE, WEIR_VARIANT, WEIR_INVALID_DTYPE};
const weir_dtype weir_types_host[] = {WEIR_INT32, WEIR_INVALID_DTYPE};

/* ---- Elements and copies ---- */

static void copy_objects(void *context, void *out, int64_t out_step, const void *in, int64_t in_step, int64_t count)
{
    weir_objects *objects = context;
    int64_t size = (int64_t)weir_dtype_stride(objects->dtype);
    for (int64_t i = 0; i < count && weir_ok(objects->status); i++) {
        objects->status = weir_elements_copy(objects->dtype, (char *)out + i * out_step * size,
                                             (const char *)in + i * in_step * size, 1);
    }
}

weir_element weir_element_of(weir_dtype dtype, weir_objects *objects)
{
    weir_element element = {.size = weir_dtype_stride(dtype)};
    objects->dtype = dtype;
    if (weir_dtype_is_object(dtype)) {
        element.copy = copy_objects;
        element.context = objects;
    }
    return element;
}

static weir_status run_copy(const void *state, void *const *arguments, weir_context *context)
{
    const weir_copy_state *copy = state;
    weir_copy_run(&copy->plan, context->team, arguments[copy->input], arguments[copy->output]);
    return copy->objects.status;
}

weir_status weir_copy_bind(weir_bind *bind, int input, int output, weir_copy_state **out)
{
    weir_copy_state *state = NULL;
    WEIR_TRY(weir_bind_state(bind, &state));
    state->element = weir_element_of(weir_dtype_base(bind->inputs[input].dtype), &state->objects);
    state->input = input;
    state->output = bind->node->num_inputs + output;
    bind->run = run_copy;
    bind->state = state;
    *out = state;
    return WEIR_STATUS_OK;
}

/* ---- Binding and running at once ---- */

/* The arrays that bind reads and fills, and the addresses that run gets. */
static weir_status take_arrays(weir_call *call, weir_bind *bind, void ***arguments)
{
    size_t inputs = (size_t)call->node->num_inputs;
    size_t outputs = (size_t)call->node->num_outputs;
    weir_argument *known = weir_arena_take(bind->arena, inputs, sizeof *known);
    bind->outputs = weir_arena_take(bind->arena, outputs, sizeof *bind->outputs);
    bind->same_memory = weir_arena_take(bind->arena, outputs, sizeof *bind->same_memory);
    bind->may_overwrite = weir_arena_take(bind->arena, outputs, sizeof *bind->may_overwrite);
    *arguments = weir_arena_take(bind->arena, inputs + outputs + 1, sizeof **arguments);
    bool has_memory = known && bind->outputs && bind->same_memory && bind->may_overwrite && *arguments;
    if (!has_memory)
        return weir_fail_memory((inputs + outputs) * sizeof *known);
    for (size_t i = 0; i < inputs; i++) {
        known[i] = (weir_argument){call->inputs[i]->dtype, call->inputs[i]->shape, call->inputs[i]};
        (*arguments)[i] = call->inputs[i]->data;
    }
    for (size_t i = 0; i < outputs; i++)
        bind->same_memory[i] = WEIR_OWN_MEMORY;
    bind->inputs = known;
    return WEIR_STATUS_OK;
}

static weir_status make_outputs(weir_call *call, const weir_bind *bind, void **arguments)
{
    for (int i = 0; i < call->node->num_outputs; i++) {
        int same = bind->same_memory[i];
        if (same != WEIR_OWN_MEMORY)
            WEIR_TRY(weir_tensor_reshaped(call->inputs[same], &bind->outputs[i], &call->outputs[i]));
        else
            WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), weir_dtype_base(call->node->output_dtypes[i]),
                                          &bind->outputs[i], &call->outputs[i]));
        arguments[call->node->num_inputs + i] = call->outputs[i]->data;
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_and_run(weir_call *call, weir_status (*function)(weir_bind *bind), weir_arena *arena)
{
    weir_bind bind = {.node = call->node, .arena = arena, .lanes = weir_team_size(call->context->team)};
    void **arguments = NULL;
    WEIR_TRY(take_arrays(call, &bind, &arguments));
    WEIR_TRY(function(&bind));
    WEIR_TRY(make_outputs(call, &bind, arguments));
    if (bind.run == NULL)
        return WEIR_STATUS_OK;
    void *scratch = weir_allocate_aligned(bind.scratch_size);
    if (scratch == NULL)
        return weir_fail_memory(bind.scratch_size);
    arguments[call->node->num_inputs + call->node->num_outputs] = scratch;
    weir_status status = bind.run(bind.state, arguments, call->context);
    weir_release(scratch);
    return status;
}

weir_status weir_execute_bound(weir_call *call, weir_status (*bind)(weir_bind *bind))
{
    weir_arena arena = {0};
    weir_status status = bind_and_run(call, bind, &arena);
    weir_arena_clear(&arena);
    if (weir_ok(status))
        return status;
    for (int i = 0; i < call->node->num_outputs; i++) {
        weir_tensor_free(call->outputs[i]);
        call->outputs[i] = NULL;
    }
    return status;
}

/* ---- Shapes of outputs ---- */

weir_status weir_check_output(const weir_bind *bind, int output)
{
    weir_dtype dtype = weir_dtype_base(bind->node->output_dtypes[output]);
    int64_t elements = weir_shape_elements(bind->outputs[output]);
    size_t size = 0;
    if (elements >= 0 && !__builtin_mul_overflow((size_t)elements, weir_dtype_stride(dtype), &size) &&
        size <= PTRDIFF_MAX)
        return WEIR_STATUS_OK;
    return weir_tensor_extent(dtype, &bind->outputs[output], &elements, &size);
}

weir_status weir_shape_push(weir_shape *shape, int64_t dim)
{
    if (shape->rank >= WEIR_MAX_RANK)
        return weir_fail(WEIR_INVALID_ARGUMENT, "The result would have more than %d dimensions", WEIR_MAX_RANK);
    shape->dims[shape->rank++] = dim;
    return WEIR_STATUS_OK;
}

int64_t weir_shape_span(const weir_shape *shape, int first, int last)
{
    int64_t product = 1;
    for (int i = first; i < last; i++)
        product *= shape->dims[i];
    return product;
}

/* ---- Values of inputs ---- */

int64_t weir_bind_ints(const weir_bind *bind, int input, int64_t *values, int limit)
{
    const weir_tensor *constant = bind->inputs[input].constant;
    for (int64_t i = 0; i < limit && i < constant->elements; i++)
        values[i] = weir_tensor_get_int(constant, i);
    return constant->elements;
}

weir_status weir_bind_shape(const weir_bind *bind, int input, weir_shape *out)
{
    int64_t dims[WEIR_MAX_RANK];
    int64_t count = weir_bind_ints(bind, input, dims, WEIR_MAX_RANK);
    if (count > WEIR_MAX_RANK)
        return weir_fail(WEIR_INVALID_ARGUMENT, "A shape of %" PRId64 " dimensions has more than %d", count,
                         WEIR_MAX_RANK);
    for (int i = 0; i < count; i++) {
        if (dims[i] < 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Dimension %" PRId64 " must be >= 0", dims[i]);
    }
    *out = weir_shape_of((int)count, dims);
    return WEIR_STATUS_OK;
}
