/*
 * Reference-counted memory for tensor elements, from an allocator: host heap, a device's pool, or a caller's memory.
 */
#ifndef TENSOR_BUFFER_H
#define TENSOR_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Where memory comes from. Implemented by the host heap and by each device (pooled). Any thread. */
typedef struct weir_allocator {
    const char *name; /* as in TensorFlow's memory reports: "cpu", "gpu_bfc" */
    /* size bytes aligned to WEIR_ALIGNMENT, or RESOURCE_EXHAUSTED naming the size and the device. Not zeroed. */
    weir_status (*allocate)(struct weir_allocator *allocator, size_t size, void **out);
    /* Takes memory of allocate, with its size. */
    void (*release)(struct weir_allocator *allocator, void *memory, size_t size);
    bool is_host; /* the host may read and write the memory */
    /* Bytes that code which runs on the device itself adds to an address to reach the memory: a simulated accelerator's
     * addresses are beyond the host's reach. 0 elsewhere. */
    ptrdiff_t reach;
} weir_allocator;

typedef struct weir_buffer {
    atomic_int references;
    size_t size; /* bytes */
    void *data;  /* device memory when !allocator->is_host */
    weir_allocator *allocator;
    /* Called instead of the allocator's: somebody else's memory, or elements that own something. NULL only for plain
     * memory of the allocator, which may be taken over by whoever holds the last reference. */
    void (*release)(void *context, void *data);
    void *context;
} weir_buffer;

/* The heap. */
weir_allocator *weir_host_allocator(void);

WEIR_WARN_UNUSED weir_status weir_buffer_new(weir_allocator *allocator, size_t size, weir_buffer **out);

/* Over host memory that somebody else owns; release may be NULL: nothing to do. Not called on failure. */
WEIR_WARN_UNUSED weir_status weir_buffer_wrap(void *data, size_t size, void (*release)(void *, void *), void *context,
                                              weir_buffer **out);

weir_buffer *weir_buffer_ref(weir_buffer *buffer); /* accepts NULL */
void weir_buffer_unref(weir_buffer *buffer);       /* accepts NULL */

/* True when the caller holds the only reference (and so may take the memory over). */
static inline bool weir_buffer_is_sole(weir_buffer *buffer)
{
    return atomic_load_explicit(&buffer->references, memory_order_acquire) == 1 && buffer->release == NULL;
}

/* The memory of a buffer for code that runs on its device. */
static inline void *weir_buffer_reach(const weir_buffer *buffer)
{
    return (char *)buffer->data + (buffer->allocator != NULL ? buffer->allocator->reach : 0);
}

#endif
