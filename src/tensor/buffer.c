/*
 * Counted memory, and the allocator of the host heap.
 */
#include "tensor/buffer.h"

#include "base/memory.h"

static weir_status allocate_on_heap(weir_allocator *allocator, size_t size, void **out)
{
    void *memory = weir_allocate_aligned(size);
    if (memory == NULL)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: allocator %s could not allocate %zu bytes",
                         allocator->name, size);
    *out = memory;
    return WEIR_STATUS_OK;
}

static void release_to_heap(weir_allocator *allocator, void *memory, size_t size)
{
    (void)allocator;
    (void)size;
    weir_release(memory);
}

weir_allocator *weir_host_allocator(void)
{
    static const weir_allocator host = {
        .name = "cpu",
        .allocate = allocate_on_heap,
        .release = release_to_heap,
        .is_host = true,
    };
    return (weir_allocator *)&host; /* never written: allocators with a state of their own are those of devices */
}

static weir_status make_buffer(weir_buffer fields, weir_buffer **out)
{
    weir_buffer *buffer = NULL;
    WEIR_TRY(weir_new(&buffer, 1));
    *buffer = fields;
    atomic_init(&buffer->references, 1);
    *out = buffer;
    return WEIR_STATUS_OK;
}

weir_status weir_buffer_new(weir_allocator *allocator, size_t size, weir_buffer **out)
{
    void *data = NULL;
    WEIR_TRY(allocator->allocate(allocator, size, &data));
    weir_status made = make_buffer((weir_buffer){.size = size, .data = data, .allocator = allocator}, out);
    if (!weir_ok(made))
        allocator->release(allocator, data, size);
    return made;
}

/* Stands for "nothing to do": a buffer with a release function is known to be somebody else's memory. */
static void keep(void *context, void *data)
{
    (void)context;
    (void)data;
}

weir_status weir_buffer_wrap(void *data, size_t size, void (*release)(void *, void *), void *context, weir_buffer **out)
{
    return make_buffer((weir_buffer){.size = size,
                                     .data = data,
                                     .allocator = weir_host_allocator(),
                                     .release = release != NULL ? release : keep,
                                     .context = context},
                       out);
}

weir_buffer *weir_buffer_ref(weir_buffer *buffer)
{
    if (buffer != NULL)
        atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    return buffer;
}

void weir_buffer_unref(weir_buffer *buffer)
{
    if (buffer == NULL || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1)
        return;
    if (buffer->release != NULL)
        buffer->release(buffer->context, buffer->data);
    else
        buffer->allocator->release(buffer->allocator, buffer->data, buffer->size);
    weir_release(buffer);
}
