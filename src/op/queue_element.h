/*
 * The elements of a queue: a ring of tuples of tensors; batches cut into them and put together from them. Externally
 * locked.
 */
#ifndef OP_QUEUE_ELEMENT_H
#define OP_QUEUE_ELEMENT_H

#include "tensor/tensor.h"

typedef struct weir_queue_ring {
    weir_tensor **tuples; /* [capacity][components]; owned */
    int components;
    size_t head;
    size_t count;
    size_t capacity;
} weir_queue_ring;

void weir_queue_ring_clear(weir_queue_ring *ring);

/* Takes the tensors of a tuple, on failure too. */
WEIR_WARN_UNUSED weir_status weir_queue_ring_push(weir_queue_ring *ring, weir_tensor **tuple);

/* The same at the front, for tuples that were just taken: there is room for them. */
void weir_queue_ring_push_front(weir_queue_ring *ring, weir_tensor **tuple);

/* Moves the first tuple out; count must not be 0. */
void weir_queue_ring_pop(weir_queue_ring *ring, weir_tensor **tuple);

void weir_queue_tuple_clear(weir_tensor **tuple, int64_t count);

/* A tensor that nobody else can change: the same one if nobody else knows it, else a copy. */
WEIR_WARN_UNUSED weir_status weir_queue_keep(weir_tensor *tensor, weir_tensor **out);

/* Row index of a batch, a copy. */
WEIR_WARN_UNUSED weir_status weir_queue_cut(const weir_tensor *batch, int64_t index, weir_tensor **out);

/* One tensor of count rows, each of the shape: row i is rows[i * stride]. */
WEIR_WARN_UNUSED weir_status weir_queue_join(weir_tensor *const *rows, int64_t count, int stride, weir_dtype dtype,
                                             const weir_shape *shape, weir_tensor **out);

#endif
