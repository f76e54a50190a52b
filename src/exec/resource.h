/*
 * Things that live longer than a run: variables, queues, accumulators. They are counted objects in a container, found by
 * (container, type, name); handles in resource tensors hold references.
 */
#ifndef EXEC_RESOURCE_H
#define EXEC_RESOURCE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "exec/kernel.h"
#include "tensor/tensor.h"

typedef struct weir_resource_type {
    const char *name;                                /* "variable", "queue", "accumulator": also in error texts */
    void (*destroy)(struct weir_resource *resource); /* frees all of it; called by the last unref */
    void (*abandon)(struct weir_resource *resource); /* the container is being cleared: end all waits; may be NULL */
} weir_resource_type;

typedef struct weir_resource {
    atomic_int references;
    const weir_resource_type *type;
    const char *name; /* owned */
} weir_resource;

weir_resource *weir_resource_ref(weir_resource *resource);
void weir_resource_unref(weir_resource *resource); /* accepts NULL */

/* Names to resources. Any thread. */
typedef struct weir_container {
    pthread_mutex_t mutex;
    weir_map resources; /* "<container>/<type>/<name>" -> weir_resource, one reference held */
} weir_container;

WEIR_WARN_UNUSED weir_status weir_container_init(weir_container *container);
void weir_container_clear(weir_container *container); /* abandons and drops all */
void weir_container_destroy(weir_container *container);

/* The resource of a name (a reference for the caller), made by create at first sight: create returns a resource with one
 * reference. create NULL: NOT_FOUND "Resource <container>/<name>/<type> does not exist." */
WEIR_WARN_UNUSED weir_status weir_container_get(weir_container *container, const char *container_name,
                                                const weir_resource_type *type, const char *name,
                                                weir_status (*create)(void *context, weir_resource **out),
                                                void *context, weir_resource **out);
WEIR_WARN_UNUSED weir_status weir_container_remove(weir_container *container, const char *container_name,
                                                   const weir_resource_type *type, const char *name);

/* Takes a resource out whatever its name; false when the container does not hold it. */
bool weir_container_drop(weir_container *container, const weir_resource *resource);

/* The name a stateful node's resource has: attribute shared_name, else the node's name. */
const char *weir_node_resource_name(const weir_node *node);

/* The resource of a stateful node in its container (attribute container), made by create at first sight. One without
 * shared_name belongs to the session alone, as in TensorFlow; variables do not (see weir_container_get). */
WEIR_WARN_UNUSED weir_status weir_node_resource(struct weir_session_state *session, const weir_node *node,
                                                const weir_resource_type *type,
                                                weir_status (*create)(void *context, weir_resource **out),
                                                void *context, weir_resource **out);

/* ---- Variables ---- */

/* A variable: a buffer with type and shape that lives on one device. Writers hold the mutex; so do readers that need
 * value and shape together. A buffer that is replaced (another shape) is retired, not freed: runs that read it go on. */
typedef struct weir_variable {
    weir_resource base;
    pthread_mutex_t mutex;
    weir_dtype dtype;
    weir_shape shape;    /* known once initialized */
    weir_shape declared; /* attribute shape of its node; unknown when not static */
    weir_allocator *allocator;
    weir_buffer *buffer;              /* NULL: not initialized */
    _Atomic(void *) data;             /* buffer->data; NULL: not initialized */
    WEIR_LIST(weir_buffer *) retired; /* freed when the session is idle */
} weir_variable;

extern const weir_resource_type weir_variable_type;

WEIR_WARN_UNUSED weir_status weir_variable_create(const char *name, weir_dtype dtype, const weir_shape *declared,
                                                  weir_allocator *allocator, weir_variable **out);

static inline bool weir_variable_is_initialized(weir_variable *variable)
{
    return atomic_load_explicit(&variable->data, memory_order_acquire) != NULL;
}

/* FAILED_PRECONDITION "Attempting to use uninitialized value NAME". */
WEIR_WARN_UNUSED weir_status weir_variable_check(weir_variable *variable);

/* Gives the variable a value in host memory: in place when shape and type stay, else with a new buffer. Locks. */
WEIR_WARN_UNUSED weir_status weir_variable_assign(weir_variable *variable, weir_dtype dtype, const weir_shape *shape,
                                                  const void *elements);

/* The same for a caller that holds the mutex, from elements in the variable's own kind of memory. */
WEIR_WARN_UNUSED weir_status weir_variable_assign_locked(weir_variable *variable, weir_dtype dtype,
                                                         const weir_shape *shape, const void *elements);

/* A copy of the value as a tensor in host memory, taken under the mutex. */
WEIR_WARN_UNUSED weir_status weir_variable_read(weir_variable *variable, weir_tensor **out);

/* Takes the value away: the variable is uninitialized again. Locks. */
void weir_variable_uninitialize(weir_variable *variable);

/* Frees retired buffers; no run may be reading the variable. Locks. */
void weir_variable_free_retired(weir_variable *variable);

/* The value under its buffer, without copy, for reading now; the caller holds the mutex or orders it otherwise. */
WEIR_WARN_UNUSED weir_status weir_variable_view(weir_variable *variable, weir_tensor **out);

/* The variable that a handle tensor holds; INVALID_ARGUMENT when it is no variable handle. Borrowed. */
WEIR_WARN_UNUSED weir_status weir_handle_variable(const weir_tensor *handle, weir_variable **out);

/* A scalar resource tensor that holds a reference. */
WEIR_WARN_UNUSED weir_status weir_handle_new(weir_resource *resource, weir_tensor **out);

/* The resource of a scalar handle, checked to be of the type. Borrowed. */
WEIR_WARN_UNUSED weir_status weir_handle_get(const weir_tensor *handle, const weir_resource_type *type,
                                             weir_resource **out);

/* The variable of a VariableV2 or VarHandleOp (a reference for the caller), made uninitialized at first sight. */
WEIR_WARN_UNUSED weir_status weir_node_variable(struct weir_session_state *session, const weir_node *node,
                                                weir_allocator *allocator, weir_variable **out);

/* What reading an uninitialized variable through its handle gives: FAILED_PRECONDITION "Could not find variable NAME...". */
WEIR_WARN_UNUSED weir_status weir_fail_uninitialized_resource(const weir_variable *variable);

/* ---- State of a session ---- */

typedef struct weir_session_state {
    weir_container *devices; /* variables, queues, accumulators, tables: the device's container */
    weir_container own;      /* resources without shared_name other than variables: seen by this session alone */
    pthread_mutex_t mutex;   /* of nodes */
    weir_map nodes;          /* node name -> state made by weir_node_state */
    weir_arena arena;        /* of that state */
} weir_session_state;

WEIR_WARN_UNUSED weir_status weir_session_state_init(weir_session_state *state, weir_container *devices);
void weir_session_state_clear(weir_session_state *state);

#endif
