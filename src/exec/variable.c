/*
 * Variables: a named buffer that outlives runs. Writers of one variable hold its mutex; a run that reads uses the address
 * of the buffer, which therefore is kept until the session is idle when another shape takes its place.
 */
#include <string.h>

#include "exec/resource.h"

static void destroy_variable(weir_resource *resource)
{
    weir_variable *variable = (weir_variable *)resource;
    weir_buffer_unref(variable->buffer);
    for (size_t i = 0; i < variable->retired.count; i++)
        weir_buffer_unref(variable->retired.items[i]);
    weir_list_clear(&variable->retired);
    pthread_mutex_destroy(&variable->mutex);
    weir_release((char *)variable->base.name);
    weir_release(variable);
}

const weir_resource_type weir_variable_type = {.name = "variable", .destroy = destroy_variable};

weir_status weir_variable_create(const char *name, weir_dtype dtype, const weir_shape *declared,
                                 weir_allocator *allocator, weir_variable **out)
{
    weir_variable *variable = NULL;
    WEIR_TRY(weir_new(&variable, 1));
    variable->base.name = weir_copy_text(name, strlen(name));
    if (variable->base.name == NULL || pthread_mutex_init(&variable->mutex, NULL) != 0) {
        weir_release((char *)variable->base.name);
        weir_release(variable);
        return weir_fail_memory(sizeof *variable + strlen(name));
    }
    atomic_init(&variable->base.references, 1);
    variable->base.type = &weir_variable_type;
    variable->dtype = dtype;
    variable->shape = weir_shape_unknown();
    variable->declared = *declared;
    variable->allocator = allocator;
    atomic_init(&variable->data, NULL);
    *out = variable;
    return WEIR_STATUS_OK;
}

weir_status weir_variable_check(weir_variable *variable)
{
    if (weir_variable_is_initialized(variable))
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_FAILED_PRECONDITION, "Attempting to use uninitialized value %s", variable->base.name);
}

/* A new buffer with the elements; at least one byte, so that data is never NULL. */
static weir_status make_buffer(weir_variable *variable, weir_dtype dtype, const weir_shape *shape, const void *elements,
                               weir_buffer **out)
{
    int64_t count = 0;
    size_t size = 0;
    WEIR_TRY(weir_tensor_extent(dtype, shape, &count, &size));
    weir_buffer *buffer = NULL;
    WEIR_TRY(weir_dtype_is_object(dtype) ? weir_buffer_of_objects(variable->allocator, dtype, size, &buffer)
                                         : weir_buffer_new(variable->allocator, size > 0 ? size : 1, &buffer));
    weir_status copied = weir_elements_copy(dtype, weir_buffer_reach(buffer), elements, count);
    if (!weir_ok(copied)) {
        weir_buffer_unref(buffer);
        return copied;
    }
    *out = buffer;
    return WEIR_STATUS_OK;
}

/* Puts buffer (taken) in the place of the old one, which is retired. The mutex is held. */
static weir_status replace_buffer(weir_variable *variable, weir_buffer *buffer, const weir_shape *shape)
{
    if (variable->buffer != NULL) {
        weir_status retired = weir_list_add(&variable->retired, variable->buffer);
        if (!weir_ok(retired)) {
            weir_buffer_unref(buffer);
            return retired;
        }
    }
    variable->buffer = buffer;
    variable->shape = *shape;
    atomic_store_explicit(&variable->data, buffer->data, memory_order_release);
    return WEIR_STATUS_OK;
}

weir_status weir_variable_assign_locked(weir_variable *variable, weir_dtype dtype, const weir_shape *shape,
                                        const void *elements)
{
    if (dtype != variable->dtype)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Variable %s has type %s, its new value type %s", variable->base.name,
                         weir_dtype_name(variable->dtype), weir_dtype_name(dtype));
    bool is_initialized = weir_variable_is_initialized(variable);
    /* Strings are never written in place: a run may be reading them. */
    if (is_initialized && !weir_dtype_is_object(dtype) && weir_shape_equal(variable->shape, *shape)) {
        size_t size = (size_t)weir_shape_elements(*shape) * weir_dtype_size(dtype);
        if (size > 0)
            memmove(weir_buffer_reach(variable->buffer), elements, size); /* the value may be the variable itself */
        return WEIR_STATUS_OK;
    }
    weir_buffer *buffer = NULL;
    WEIR_TRY(make_buffer(variable, dtype, shape, elements, &buffer));
    return replace_buffer(variable, buffer, shape);
}

weir_status weir_variable_assign(weir_variable *variable, weir_dtype dtype, const weir_shape *shape,
                                 const void *elements)
{
    if (!variable->allocator->is_host)
        return weir_fail(WEIR_INTERNAL, "Variable %s lives in the memory of %s, which the host cannot write",
                         variable->base.name, variable->allocator->name);
    pthread_mutex_lock(&variable->mutex);
    weir_status status = weir_variable_assign_locked(variable, dtype, shape, elements);
    pthread_mutex_unlock(&variable->mutex);
    return status;
}

void weir_variable_uninitialize(weir_variable *variable)
{
    pthread_mutex_lock(&variable->mutex);
    atomic_store_explicit(&variable->data, NULL, memory_order_release);
    /* Without memory to remember it the buffer stays where it is, and the next value takes its place. */
    if (variable->buffer != NULL && weir_ok(weir_list_add(&variable->retired, variable->buffer)))
        variable->buffer = NULL;
    variable->shape = weir_shape_unknown();
    pthread_mutex_unlock(&variable->mutex);
}

void weir_variable_free_retired(weir_variable *variable)
{
    pthread_mutex_lock(&variable->mutex);
    for (size_t i = 0; i < variable->retired.count; i++)
        weir_buffer_unref(variable->retired.items[i]);
    variable->retired.count = 0;
    pthread_mutex_unlock(&variable->mutex);
}

weir_status weir_variable_view(weir_variable *variable, weir_tensor **out)
{
    WEIR_TRY(weir_variable_check(variable));
    return weir_tensor_over(variable->buffer, variable->buffer->data, variable->dtype, &variable->shape, out);
}

weir_status weir_variable_read(weir_variable *variable, weir_tensor **out)
{
    pthread_mutex_lock(&variable->mutex);
    weir_tensor *view = NULL;
    weir_status status = weir_variable_view(variable, &view);
    if (weir_ok(status))
        status = weir_tensor_copy(view, out);
    pthread_mutex_unlock(&variable->mutex);
    weir_tensor_free(view);
    return status;
}

weir_status weir_handle_variable(const weir_tensor *handle, weir_variable **out)
{
    weir_resource *resource = NULL;
    WEIR_TRY(weir_handle_get(handle, &weir_variable_type, &resource));
    *out = (weir_variable *)resource;
    return WEIR_STATUS_OK;
}

weir_status weir_fail_uninitialized_resource(const weir_variable *variable)
{
    const char *name = variable->base.name;
    return weir_fail(WEIR_FAILED_PRECONDITION,
                     "Could not find variable %s. This could mean that the variable has been deleted. In TF1, it can "
                     "also mean the variable is uninitialized. Debug info: container=localhost, status error "
                     "message=Resource localhost/%s/variable does not exist.",
                     name, name);
}

struct variable_request {
    const weir_node *node;
    weir_allocator *allocator;
};

static weir_status create_for_node(void *context, weir_resource **out)
{
    const struct variable_request *request = context;
    weir_shape declared = weir_node_shape(request->node, "shape");
    weir_variable *variable = NULL;
    WEIR_TRY(weir_variable_create(weir_node_resource_name(request->node), weir_node_type(request->node, "dtype"),
                                  &declared, request->allocator, &variable));
    *out = &variable->base;
    return WEIR_STATUS_OK;
}

weir_status weir_node_variable(weir_session_state *session, const weir_node *node, weir_allocator *allocator,
                               weir_variable **out)
{
    if (session == NULL)
        return weir_fail(WEIR_FAILED_PRECONDITION, "Variable '%s' needs a session", node->name);
    struct variable_request request = {node, allocator};
    weir_resource *resource = NULL;
    const char *name = weir_node_resource_name(node);
    WEIR_TRY(weir_container_get(session->devices, weir_node_string(node, "container").data, &weir_variable_type, name,
                                create_for_node, &request, &resource));
    weir_variable *variable = (weir_variable *)resource;
    if (variable->dtype != weir_node_type(node, "dtype")) {
        weir_status status =
            weir_fail(WEIR_INVALID_ARGUMENT, "Trying to read variable with wrong dtype. Expected %s got %s",
                      weir_dtype_name(weir_node_type(node, "dtype")), weir_dtype_name(variable->dtype));
        weir_resource_unref(resource);
        return status;
    }
    *out = variable;
    return WEIR_STATUS_OK;
}
