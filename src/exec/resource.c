/*
 * Counted resources, the containers that name them, and the handles that hold them. Variables stand in variable.c.
 */
#include "exec/resource.h"

#include <string.h>

#include "base/list.h"
#include "base/text.h"

/* What an empty container attribute means, as TensorFlow's messages call it. */
#define DEFAULT_CONTAINER "localhost"

weir_resource *weir_resource_ref(weir_resource *resource)
{
    if (resource != NULL)
        atomic_fetch_add_explicit(&resource->references, 1, memory_order_relaxed);
    return resource;
}

void weir_resource_unref(weir_resource *resource)
{
    if (resource != NULL && atomic_fetch_sub_explicit(&resource->references, 1, memory_order_acq_rel) == 1)
        resource->type->destroy(resource);
}

/* ---- Containers ---- */

weir_status weir_container_init(weir_container *container)
{
    *container = (weir_container){0};
    if (pthread_mutex_init(&container->mutex, NULL) != 0)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "The system has no mutex left for a container");
    return WEIR_STATUS_OK;
}

static void drop_entry(void *context, const char *key, size_t length, void *value)
{
    (void)context;
    (void)length;
    weir_resource *resource = value;
    if (resource->type->abandon != NULL)
        resource->type->abandon(resource);
    weir_resource_unref(resource);
    weir_release((char *)key);
}

void weir_container_clear(weir_container *container)
{
    pthread_mutex_lock(&container->mutex);
    weir_map resources = container->resources;
    container->resources = (weir_map){0};
    pthread_mutex_unlock(&container->mutex);
    weir_map_each(&resources, drop_entry, NULL);
    weir_map_clear(&resources);
}

void weir_container_destroy(weir_container *container)
{
    weir_container_clear(container);
    pthread_mutex_destroy(&container->mutex);
}

static const char *shown_container(const char *name)
{
    return name[0] != '\0' ? name : DEFAULT_CONTAINER;
}

/* The key of a resource, owned. */
static weir_status make_key(const char *container_name, const weir_resource_type *type, const char *name, char **out)
{
    weir_text key = {0};
    weir_text_append(&key, "%s/%s/%s", shown_container(container_name), type->name, name);
    return weir_text_take(&key, out);
}

static weir_status fail_missing(const char *container_name, const weir_resource_type *type, const char *name)
{
    return weir_fail(WEIR_NOT_FOUND, "Resource %s/%s/%s does not exist.", shown_container(container_name), name,
                     type->name);
}

/* Makes the resource of a key that the container lacks; takes key. The mutex is held. */
static weir_status add_resource(weir_container *container, char *key,
                                weir_status (*create)(void *context, weir_resource **out), void *context,
                                weir_resource **out)
{
    weir_resource *made = NULL;
    weir_status status = create(context, &made);
    if (weir_ok(status))
        status = weir_map_put(&container->resources, key, strlen(key), made);
    if (!weir_ok(status)) {
        weir_resource_unref(made);
        weir_release(key);
        return status;
    }
    *out = made;
    return WEIR_STATUS_OK;
}

weir_status weir_container_get(weir_container *container, const char *container_name, const weir_resource_type *type,
                               const char *name, weir_status (*create)(void *context, weir_resource **out),
                               void *context, weir_resource **out)
{
    char *key = NULL;
    WEIR_TRY(make_key(container_name, type, name, &key));
    pthread_mutex_lock(&container->mutex);
    weir_resource *found = weir_map_get(&container->resources, key, strlen(key));
    weir_status status = WEIR_STATUS_OK;
    if (found != NULL || create == NULL) {
        weir_release(key);
        if (found == NULL)
            status = fail_missing(container_name, type, name);
    } else {
        status = add_resource(container, key, create, context, &found);
    }
    if (weir_ok(status))
        *out = weir_resource_ref(found);
    pthread_mutex_unlock(&container->mutex);
    return status;
}

/* Finds the entry of a resource by its identity. */
struct search {
    const weir_resource *resource;
    const char *key;
};

static void compare_entry(void *context, const char *key, size_t length, void *value)
{
    (void)length;
    struct search *search = context;
    if (value == search->resource)
        search->key = key;
}

bool weir_container_drop(weir_container *container, const weir_resource *resource)
{
    struct search search = {.resource = resource};
    weir_resource *taken = NULL;
    pthread_mutex_lock(&container->mutex);
    weir_map_each(&container->resources, compare_entry, &search);
    if (search.key != NULL)
        taken = weir_map_take(&container->resources, search.key, strlen(search.key));
    pthread_mutex_unlock(&container->mutex);
    if (taken == NULL)
        return false;
    drop_entry(NULL, search.key, 0, taken);
    return true;
}

weir_status weir_container_remove(weir_container *container, const char *container_name, const weir_resource_type *type,
                                  const char *name)
{
    weir_resource *resource = NULL;
    WEIR_TRY(weir_container_get(container, container_name, type, name, NULL, NULL, &resource));
    bool is_dropped = weir_container_drop(container, resource);
    weir_resource_unref(resource);
    return is_dropped ? WEIR_STATUS_OK : fail_missing(container_name, type, name);
}

/* ---- Resources of nodes ---- */

const char *weir_node_resource_name(const weir_node *node)
{
    weir_bytes shared = weir_node_string(node, "shared_name"); /* copies in the graph end with a zero */
    return shared.size > 0 ? shared.data : node->name;
}

weir_status weir_node_resource(weir_session_state *session, const weir_node *node, const weir_resource_type *type,
                               weir_status (*create)(void *context, weir_resource **out), void *context,
                               weir_resource **out)
{
    if (session == NULL)
        return weir_fail(WEIR_FAILED_PRECONDITION, "Op %s keeps state between runs and needs a session",
                         node->op->name);
    bool is_shared = weir_node_string(node, "shared_name").size > 0;
    return weir_container_get(is_shared ? session->devices : &session->own, weir_node_string(node, "container").data,
                              type, weir_node_resource_name(node), create, context, out);
}

/* ---- Handles ---- */

static void ref_handle(weir_resource *resource)
{
    weir_resource_ref(resource);
}

weir_status weir_handle_new(weir_resource *resource, weir_tensor **out)
{
    weir_tensor *tensor = NULL;
    WEIR_TRY(weir_tensor_new(WEIR_RESOURCE, WEIR_SCALAR, &tensor));
    *(weir_handle *)tensor->data =
        (weir_handle){.resource = weir_resource_ref(resource), .unref = weir_resource_unref, .ref = ref_handle};
    *out = tensor;
    return WEIR_STATUS_OK;
}

weir_status weir_handle_get(const weir_tensor *handle, const weir_resource_type *type, weir_resource **out)
{
    if (handle == NULL || handle->dtype != WEIR_RESOURCE || handle->elements != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Expected a scalar handle of a %s, got %s", type->name,
                         handle == NULL ? "nothing" : weir_dtype_name(handle->dtype));
    weir_resource *resource = ((const weir_handle *)handle->data)->resource;
    if (resource == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Expected a handle of a %s, got one that refers to nothing",
                         type->name);
    if (resource->type != type)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Trying to access a handle's resource using the wrong type. The handle points to a resource "
                         "(name '%s') of type '%s' but you are trying to access the resource as type '%s'",
                         resource->name, resource->type->name, type->name);
    *out = resource;
    return WEIR_STATUS_OK;
}
