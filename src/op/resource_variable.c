/*
 * Variables by handle: VarHandleOp and the ops that read and write through it.
 */
#include "op/state_support.h"

/* ---- Shapes ---- */

static weir_status infer_handle(weir_infer *infer)
{
    infer->outputs[0] = weir_shape_scalar();
    return WEIR_STATUS_OK;
}

static weir_status infer_read(weir_infer *infer)
{
    return weir_infer_variable(infer, 0, weir_node_type(infer->node, "dtype"), &infer->outputs[0]);
}

static weir_status infer_write(weir_infer *infer)
{
    weir_shape held;
    weir_shape merged;
    WEIR_TRY(weir_infer_variable(infer, 0, weir_node_type(infer->node, "dtype"), &held));
    return weir_infer_merge(held, weir_infer_input(infer, 1), &merged);
}

static weir_status infer_shape(weir_infer *infer)
{
    weir_shape held;
    WEIR_TRY(weir_infer_variable(infer, 0, WEIR_INVALID_DTYPE, &held));
    infer->outputs[0] = WEIR_SHAPE(held.rank >= 0 ? held.rank : WEIR_UNKNOWN_DIM);
    return WEIR_STATUS_OK;
}

static weir_status infer_destroy(weir_infer *infer)
{
    weir_shape handle;
    return weir_infer_rank(infer, 0, 0, &handle);
}

static weir_status differentiate_read(weir_gradient *gradient)
{
    weir_gradient_set(gradient, 0, gradient->dy[0]);
    return WEIR_STATUS_OK;
}

/* ---- AssignVariableOp ---- */

/* The mutex is held. */
static weir_status assign(weir_variable *variable, const weir_assignment *assignment, const void *elements)
{
    if (assignment->dtype != variable->dtype)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Trying to assign variable with wrong dtype. Expected %s got %s",
                         weir_dtype_name(variable->dtype), weir_dtype_name(assignment->dtype));
    if (assignment->validate_shape && weir_variable_is_initialized(variable) &&
        !weir_shape_equal(variable->shape, assignment->shape))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Trying to assign to variable with tensor with wrong shape. Expected %s got %s",
                         WEIR_SHOWN(variable->shape), WEIR_SHOWN(assignment->shape));
    return weir_variable_assign_locked(variable, assignment->dtype, &assignment->shape, elements);
}

static weir_status run_assign(const void *state, void *const *arguments, weir_context *context)
{
    (void)context;
    weir_variable *variable = arguments[0];
    pthread_mutex_lock(&variable->mutex);
    weir_status status = assign(variable, state, arguments[1]);
    pthread_mutex_unlock(&variable->mutex);
    return status;
}

static weir_status bind_assign(weir_bind *bind)
{
    weir_assignment *assignment = NULL;
    WEIR_TRY(weir_bind_state(bind, &assignment));
    *assignment = (weir_assignment){.dtype = bind->inputs[1].dtype,
                                    .shape = bind->inputs[1].shape,
                                    .validate_shape = weir_node_bool(bind->node, "validate_shape", false)};
    bind->state = assignment;
    bind->run = run_assign;
    return WEIR_STATUS_OK;
}

/* Strings and handles. */
static weir_status execute_assign(weir_call *call)
{
    weir_variable *variable = NULL;
    WEIR_TRY(weir_call_variable(call, 0, &variable));
    const weir_tensor *value = call->inputs[1];
    weir_assignment assignment = {.dtype = value->dtype,
                                  .shape = value->shape,
                                  .validate_shape = weir_node_bool(call->node, "validate_shape", false)};
    void *arguments[] = {variable, value->data};
    return run_assign(&assignment, arguments, call->context);
}

/* ---- Questions ---- */

static weir_status run_is_initialized(const void *state, void *const *arguments, weir_context *context)
{
    (void)state;
    (void)context;
    *(bool *)arguments[1] = weir_variable_is_initialized(arguments[0]);
    return WEIR_STATUS_OK;
}

static weir_status bind_is_initialized(weir_bind *bind)
{
    bind->outputs[0] = weir_shape_scalar();
    bind->run = run_is_initialized;
    return WEIR_STATUS_OK;
}

static weir_status execute_shape(weir_call *call)
{
    weir_variable *variable = NULL;
    WEIR_TRY(weir_call_variable(call, 0, &variable));
    pthread_mutex_lock(&variable->mutex);
    bool is_initialized = weir_variable_is_initialized(variable);
    weir_shape shape = variable->shape;
    pthread_mutex_unlock(&variable->mutex);
    if (!is_initialized)
        return weir_fail_uninitialized_resource(variable);
    weir_dtype dtype = weir_node_type(call->node, "out_type");
    WEIR_TRY(weir_tensor_new(dtype, WEIR_SHAPE(shape.rank), &call->outputs[0]));
    for (int axis = 0; axis < shape.rank; axis++) {
        if (dtype == WEIR_INT32)
            weir_tensor_int32s(call->outputs[0])[axis] = (int32_t)shape.dims[axis];
        else
            weir_tensor_int64s(call->outputs[0])[axis] = shape.dims[axis];
    }
    return WEIR_STATUS_OK;
}

/* A variable loses its value but stays in its container: plans that hold its address go on with the same object. */
static weir_status execute_destroy(weir_call *call)
{
    const weir_tensor *handle = call->inputs[0];
    weir_resource *resource = NULL;
    bool was_there = false;
    if (call->variables != NULL && call->variables[0] != NULL)
        resource = &call->variables[0]->base;
    else if (handle != NULL && handle->dtype == WEIR_RESOURCE && handle->elements == 1)
        resource = ((const weir_handle *)handle->data)->resource;
    if (resource == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "DestroyResourceOp needs a scalar handle");
    if (resource->type == &weir_variable_type) {
        was_there = weir_variable_is_initialized((weir_variable *)resource);
        weir_variable_uninitialize((weir_variable *)resource);
    } else if (call->context->session != NULL) {
        was_there = weir_container_drop(call->context->session->devices, resource) ||
                    weir_container_drop(&call->context->session->own, resource);
    }
    if (was_there || weir_node_bool(call->node, "ignore_lookup_error", true))
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_NOT_FOUND, "Resource localhost/%s/%s does not exist.", resource->name, resource->type->name);
}

/* ---- Tables ---- */

#define HANDLE_INPUT {"resource", .type = WEIR_RESOURCE}

static const weir_op_def ops[] = {
    {.name = "VarHandleOp",
     .outputs = WEIR_ARGS({"resource", .type = WEIR_RESOURCE}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_STRING("container", ""), WEIR_A_STRING("shared_name", ""),
                             WEIR_A_STRING("debug_name", ""), WEIR_A_TYPE("dtype", NULL),
                             {.name = "shape", .kind = WEIR_ATTR_SHAPE},
                             {.name = "allowed_devices",
                              .kind = WEIR_ATTR_LIST + WEIR_ATTR_STRING,
                              .has_default = true,
                              .value = {.kind = WEIR_ATTR_LIST + WEIR_ATTR_STRING}}),
     .infer = infer_handle,
     .is_stateful = true},
    {.name = "AssignVariableOp",
     .inputs = WEIR_ARGS(HANDLE_INPUT, {"value", .type_attr = "dtype"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("dtype", NULL), WEIR_A_BOOL("validate_shape", false)),
     .infer = infer_write,
     .is_stateful = true},
    {.name = "AssignAddVariableOp",
     .inputs = WEIR_ARGS(HANDLE_INPUT, {"value", .type_attr = "dtype"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("dtype", NULL)),
     .infer = infer_write,
     .is_stateful = true},
    {.name = "AssignSubVariableOp",
     .inputs = WEIR_ARGS(HANDLE_INPUT, {"value", .type_attr = "dtype"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("dtype", NULL)),
     .infer = infer_write,
     .is_stateful = true},
    {.name = "ReadVariableOp",
     .inputs = WEIR_ARGS(HANDLE_INPUT),
     .outputs = WEIR_ARGS({"value", .type_attr = "dtype"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("dtype", NULL)),
     .infer = infer_read,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = differentiate_read,
     .is_stateful = true},
    {.name = "VarIsInitializedOp",
     .inputs = WEIR_ARGS(HANDLE_INPUT),
     .outputs = WEIR_ARGS({"is_initialized", .type = WEIR_BOOL}),
     .infer = weir_infer_scalar,
     .gradient_kind = WEIR_GRADIENT_NONE,
     .is_stateful = true},
    {.name = "VariableShape",
     .inputs = WEIR_ARGS({"input", .type = WEIR_RESOURCE}),
     .outputs = WEIR_ARGS({"output", .type_attr = "out_type"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE_OR("out_type", WEIR_TYPES(WEIR_INT32, WEIR_INT64), WEIR_INT32)),
     .infer = infer_shape,
     .gradient_kind = WEIR_GRADIENT_NONE,
     .is_stateful = true},
    {.name = "DestroyResourceOp",
     .inputs = WEIR_ARGS(HANDLE_INPUT),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_BOOL("ignore_lookup_error", true)),
     .infer = infer_destroy,
     .is_stateful = true},
    {.name = NULL},
};

static const weir_kernel kernels[] = {
    {.op = "VarHandleOp",
     .types = {{"dtype", WEIR_DEVICE_TYPES}},
     .role = WEIR_ROLE_HANDLE,
     .on_accelerators = true,
     .host_outputs = WEIR_INPUT(0)},
    {.op = "VarHandleOp", .role = WEIR_ROLE_HANDLE},
    {.op = "AssignVariableOp",
     .types = {{"dtype", WEIR_OBJECT_TYPES}},
     .execute = execute_assign,
     .writes = WEIR_INPUT(0)},
    {.op = "AssignVariableOp",
     .types = {{"dtype", WEIR_DEVICE_TYPES}},
     .bind = bind_assign,
     .writes = WEIR_INPUT(0),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(0)},
    {.op = "AssignVariableOp", .bind = bind_assign, .writes = WEIR_INPUT(0)},
    {.op = "AssignAddVariableOp",
     .types = {{"dtype", WEIR_DEVICE_TYPES}},
     .bind = weir_bind_assign_add,
     .writes = WEIR_INPUT(0),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(0)},
    {.op = "AssignAddVariableOp",
     .types = {{"dtype", WEIR_ADDED_TYPES}},
     .bind = weir_bind_assign_add,
     .writes = WEIR_INPUT(0)},
    {.op = "AssignSubVariableOp",
     .types = {{"dtype", WEIR_DEVICE_TYPES}},
     .bind = weir_bind_assign_sub,
     .writes = WEIR_INPUT(0),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(0)},
    {.op = "AssignSubVariableOp",
     .types = {{"dtype", WEIR_ADDED_TYPES}},
     .bind = weir_bind_assign_sub,
     .writes = WEIR_INPUT(0)},
    {.op = "ReadVariableOp", .role = WEIR_ROLE_READ, .on_accelerators = true, .host_inputs = WEIR_INPUT(0)},
    {.op = "VarIsInitializedOp",
     .bind = bind_is_initialized,
     .reads = WEIR_INPUT(0),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(0),
     .host_outputs = WEIR_INPUT(0)},
    {.op = "VariableShape",
     .execute = execute_shape,
     .reads = WEIR_INPUT(0),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(0),
     .host_outputs = WEIR_INPUT(0)},
    {.op = "DestroyResourceOp",
     .execute = execute_destroy,
     .writes = WEIR_INPUT(0),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(0)},
    {.op = NULL},
};

const weir_op_family weir_family_resource_variable = {.name = "resource variable", .ops = ops, .kernels = kernels};
