/*
 * A first-in-first-out queue as a resource. Whoever cannot go on at once is remembered and goes on when another call makes
 * it possible, in the order of coming; no thread waits. The ops on it stand in queue.c.
 */
#ifndef OP_QUEUE_H
#define OP_QUEUE_H

#include "exec/resource.h"
#include "op/queue_element.h"

typedef enum weir_queue_call {
    WEIR_QUEUE_ENQUEUE,
    WEIR_QUEUE_ENQUEUE_MANY,
    WEIR_QUEUE_CLOSE, /* waits for the enqueues before it */
    WEIR_QUEUE_DEQUEUE,
    WEIR_QUEUE_DEQUEUE_MANY
} weir_queue_call;

typedef struct weir_queue_attempt {
    struct weir_queue_attempt *next;
    weir_wait *wait;
    weir_queue_call call;
    int64_t requested;   /* rows of a batch still to be put in or taken out */
    int64_t done;        /* rows put in or taken out so far */
    weir_tensor **taken; /* [done][components], of DEQUEUE_MANY */
    weir_error error;    /* how it ended */
} weir_queue_attempt;

typedef struct weir_queue_line {
    weir_queue_attempt *first;
    weir_queue_attempt **last; /* where the next one goes */
} weir_queue_line;

typedef struct weir_queue {
    weir_resource base;
    pthread_mutex_t mutex;
    int64_t capacity; /* -1 in the attribute: as much as fits */
    int components;
    weir_dtype *types;  /* [components] */
    weir_shape *shapes; /* [components]; NULL: any */
    weir_queue_ring ring;
    weir_queue_line enqueues; /* closes among them */
    weir_queue_line dequeues;
    weir_queue_attempt *spare; /* attempts to use again */
    bool is_closed;
} weir_queue;

extern const weir_resource_type weir_queue_type;

WEIR_WARN_UNUSED weir_status weir_queue_create(const weir_node *node, weir_resource **out);

/* INVALID_ARGUMENT unless node asks for a queue like this one. */
WEIR_WARN_UNUSED weir_status weir_queue_check(const weir_queue *queue, const weir_node *node);

/* Begins a call for a wait whose input 0 is the queue's handle. rows: of a batch. What it enqueues are the wait's other
 * inputs, checked before. */
WEIR_WARN_UNUSED weir_status weir_queue_begin(weir_queue *queue, weir_wait *wait, weir_queue_call call, int64_t rows);

/* Closes at once; enqueues that wait end with CANCELLED. */
void weir_queue_close_and_cancel(weir_queue *queue);

int64_t weir_queue_size(weir_queue *queue);
bool weir_queue_is_closed(weir_queue *queue);

#endif
