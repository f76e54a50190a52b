/*
 * Rings of tuples, and batches of them.
 */
#include "op/queue_element.h"

#include <string.h>

#include "base/memory.h"

static weir_tensor **tuple_at(const weir_queue_ring *ring, size_t index)
{
    return ring->tuples + (ring->head + index) % ring->capacity * (size_t)ring->components;
}

void weir_queue_tuple_clear(weir_tensor **tuple, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        weir_tensor_free(tuple[i]);
        tuple[i] = NULL;
    }
}

void weir_queue_ring_clear(weir_queue_ring *ring)
{
    for (size_t i = 0; i < ring->count; i++)
        weir_queue_tuple_clear(tuple_at(ring, i), ring->components);
    weir_release(ring->tuples);
    ring->tuples = NULL;
    ring->head = ring->count = ring->capacity = 0;
}

static weir_status grow(weir_queue_ring *ring)
{
    size_t capacity = ring->capacity * 2 + 4;
    size_t width = (size_t)ring->components;
    weir_tensor **tuples = NULL;
    WEIR_TRY(weir_new(&tuples, capacity * width));
    for (size_t i = 0; i < ring->count; i++)
        memcpy(tuples + i * width, tuple_at(ring, i), width * sizeof(weir_tensor *));
    weir_release(ring->tuples);
    ring->tuples = tuples;
    ring->head = 0;
    ring->capacity = capacity;
    return WEIR_STATUS_OK;
}

weir_status weir_queue_ring_push(weir_queue_ring *ring, weir_tensor **tuple)
{
    weir_status status = ring->count < ring->capacity ? WEIR_STATUS_OK : grow(ring);
    if (!weir_ok(status)) {
        weir_queue_tuple_clear(tuple, ring->components);
        return status;
    }
    memcpy(tuple_at(ring, ring->count), tuple, (size_t)ring->components * sizeof(weir_tensor *));
    ring->count++;
    return WEIR_STATUS_OK;
}

void weir_queue_ring_push_front(weir_queue_ring *ring, weir_tensor **tuple)
{
    ring->head = (ring->head + ring->capacity - 1) % ring->capacity;
    ring->count++;
    memcpy(tuple_at(ring, 0), tuple, (size_t)ring->components * sizeof(weir_tensor *));
}

void weir_queue_ring_pop(weir_queue_ring *ring, weir_tensor **tuple)
{
    memcpy(tuple, tuple_at(ring, 0), (size_t)ring->components * sizeof(weir_tensor *));
    ring->head = (ring->head + 1) % ring->capacity;
    ring->count--;
}

weir_status weir_queue_keep(weir_tensor *tensor, weir_tensor **out)
{
    bool is_sole = atomic_load_explicit(&tensor->references, memory_order_acquire) == 1 &&
                   atomic_load_explicit(&tensor->buffer->references, memory_order_acquire) == 1 &&
                   (tensor->buffer->release == NULL || weir_dtype_is_object(tensor->dtype));
    if (!is_sole)
        return weir_tensor_copy(tensor, out);
    *out = weir_tensor_ref(tensor);
    return WEIR_STATUS_OK;
}

weir_status weir_queue_cut(const weir_tensor *batch, int64_t index, weir_tensor **out)
{
    weir_shape shape = weir_shape_of(batch->shape.rank - 1, batch->shape.dims + 1);
    weir_tensor *row = NULL;
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), batch->dtype, &shape, &row));
    const char *source = (const char *)batch->data + (size_t)index * row->size_bytes;
    weir_status copied = weir_elements_copy(batch->dtype, row->data, source, row->elements);
    if (!weir_ok(copied)) {
        weir_tensor_free(row);
        return copied;
    }
    *out = row;
    return WEIR_STATUS_OK;
}

weir_status weir_queue_join(weir_tensor *const *rows, int64_t count, int stride, weir_dtype dtype,
                            const weir_shape *shape, weir_tensor **out)
{
    if (shape->rank >= WEIR_MAX_RANK)
        return weir_fail(WEIR_INVALID_ARGUMENT, "A batch of tensors of rank %d would have more than %d dimensions",
                         shape->rank, WEIR_MAX_RANK);
    weir_shape whole = {.rank = shape->rank + 1, .dims = {count}};
    memcpy(whole.dims + 1, shape->dims, (size_t)shape->rank * sizeof shape->dims[0]);
    weir_tensor *batch = NULL;
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), dtype, &whole, &batch));
    weir_status status = WEIR_STATUS_OK;
    for (int64_t i = 0; i < count && weir_ok(status); i++) {
        const weir_tensor *row = rows[i * stride];
        char *target = (char *)batch->data + (size_t)i * row->size_bytes;
        status = weir_elements_copy(dtype, target, row->data, row->elements);
    }
    if (!weir_ok(status)) {
        weir_tensor_free(batch);
        return status;
    }
    *out = batch;
    return WEIR_STATUS_OK;
}
