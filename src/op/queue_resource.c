/*
 * What a queue does: lines of attempts, tried in turn whenever something changed. Attempts that have ended are collected
 * while the mutex is held and ended after it is released, because an end may begin anything, even on the same queue.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "op/queue.h"
#include "op/state_support.h"

typedef enum progress { NO_PROGRESS, SOME_PROGRESS, COMPLETE } progress;

/* ---- Lines ---- */

static void line_init(weir_queue_line *line)
{
    line->first = NULL;
    line->last = &line->first;
}

static void line_add(weir_queue_line *line, weir_queue_attempt *attempt)
{
    attempt->next = NULL;
    *line->last = attempt;
    line->last = &attempt->next;
}

static weir_queue_attempt *line_take(weir_queue_line *line)
{
    weir_queue_attempt *first = line->first;
    line->first = first->next;
    if (line->first == NULL)
        line->last = &line->first;
    return first;
}

/* Takes the attempt of a wait out, wherever it stands; NULL when it is not there. */
static weir_queue_attempt *line_remove(weir_queue_line *line, const weir_wait *wait)
{
    for (weir_queue_attempt **at = &line->first; *at != NULL; at = &(*at)->next) {
        weir_queue_attempt *attempt = *at;
        if (attempt->wait != wait)
            continue;
        *at = attempt->next;
        if (attempt->next == NULL)
            line->last = at;
        return attempt;
    }
    return NULL;
}

static bool is_in_line(const weir_queue_line *line, const weir_queue_attempt *attempt)
{
    const weir_queue_attempt *at = line->first;
    while (at != NULL && at != attempt)
        at = at->next;
    return at != NULL;
}

/* ---- Attempts; the mutex is held ---- */

static weir_status fail_closed(const weir_queue *queue)
{
    return weir_fail(WEIR_CANCELLED, "FIFOQueue '%s' is closed.", queue->base.name);
}

static weir_status make_tuple(const weir_queue *queue, const weir_queue_attempt *attempt, weir_tensor **tuple)
{
    weir_tensor *const *inputs = attempt->wait->call.inputs + 1;
    for (int i = 0; i < queue->components; i++) {
        weir_status status = attempt->call == WEIR_QUEUE_ENQUEUE ? weir_queue_keep(inputs[i], &tuple[i])
                                                                 : weir_queue_cut(inputs[i], attempt->done, &tuple[i]);
        if (!weir_ok(status)) {
            weir_queue_tuple_clear(tuple, i);
            return status;
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status put_one(weir_queue *queue, weir_queue_attempt *attempt)
{
    weir_tensor *few[8] = {NULL};
    weir_tensor **tuple = few;
    if (queue->components > (int)(sizeof few / sizeof few[0]))
        WEIR_TRY(weir_new(&tuple, (size_t)queue->components));
    weir_status status = make_tuple(queue, attempt, tuple);
    if (weir_ok(status))
        status = weir_queue_ring_push(&queue->ring, tuple);
    if (tuple != few)
        weir_release(tuple);
    return status;
}

static progress try_enqueue(weir_queue *queue, weir_queue_attempt *attempt)
{
    if (queue->is_closed) {
        weir_error_set(&attempt->error, fail_closed(queue));
        return COMPLETE;
    }
    progress made = NO_PROGRESS;
    while (attempt->requested > 0 && (int64_t)queue->ring.count < queue->capacity) {
        weir_status status = put_one(queue, attempt);
        weir_error_set(&attempt->error, status);
        if (!weir_ok(status))
            return COMPLETE;
        attempt->done++;
        attempt->requested--;
        made = SOME_PROGRESS;
    }
    return attempt->requested == 0 ? COMPLETE : made;
}

static progress try_close(weir_queue *queue, weir_queue_attempt *attempt)
{
    if (queue->is_closed)
        weir_error_set(&attempt->error, weir_fail(WEIR_CANCELLED, "Queue '%s' is already closed.", queue->base.name));
    queue->is_closed = true;
    return COMPLETE;
}

/* Gives back what a batch has taken so far. */
static void restore(weir_queue *queue, weir_queue_attempt *attempt)
{
    for (int64_t i = attempt->done - 1; i >= 0; i--)
        weir_queue_ring_push_front(&queue->ring, attempt->taken + i * queue->components);
    attempt->done = 0;
}

static progress fail_insufficient(weir_queue *queue, weir_queue_attempt *attempt)
{
    weir_error_set(&attempt->error,
                   weir_fail(WEIR_OUT_OF_RANGE,
                             "FIFOQueue '%s' is closed and has insufficient elements (requested %" PRId64
                             ", current size %zu)",
                             queue->base.name, attempt->requested, queue->ring.count));
    return COMPLETE;
}

static progress try_dequeue(weir_queue *queue, weir_queue_attempt *attempt)
{
    if (queue->is_closed && (int64_t)queue->ring.count < attempt->requested) {
        progress ended = fail_insufficient(queue, attempt);
        restore(queue, attempt);
        return ended;
    }
    progress made = NO_PROGRESS;
    while (attempt->requested > 0 && queue->ring.count > 0) {
        weir_tensor **tuple = attempt->call == WEIR_QUEUE_DEQUEUE ? attempt->wait->call.outputs
                                                                  : attempt->taken + attempt->done * queue->components;
        weir_queue_ring_pop(&queue->ring, tuple);
        attempt->done++;
        attempt->requested--;
        made = SOME_PROGRESS;
    }
    return attempt->requested == 0 ? COMPLETE : made;
}

static progress try_attempt(weir_queue *queue, weir_queue_attempt *attempt)
{
    switch (attempt->call) {
    case WEIR_QUEUE_ENQUEUE:
    case WEIR_QUEUE_ENQUEUE_MANY:
        return try_enqueue(queue, attempt);
    case WEIR_QUEUE_CLOSE:
        return try_close(queue, attempt);
    default:
        return try_dequeue(queue, attempt);
    }
}

/* Tries a line from its front as long as attempts complete; those go to ended. True if anything moved. */
static bool try_line(weir_queue *queue, weir_queue_line *line, weir_queue_line *ended)
{
    bool has_moved = false;
    while (line->first != NULL) {
        progress made = try_attempt(queue, line->first);
        has_moved = has_moved || made != NO_PROGRESS;
        if (made != COMPLETE)
            break;
        line_add(ended, line_take(line));
    }
    return has_moved;
}

static void try_all(weir_queue *queue, weir_queue_line *ended)
{
    bool has_moved = true;
    while (has_moved) {
        has_moved = try_line(queue, &queue->enqueues, ended);
        has_moved = try_line(queue, &queue->dequeues, ended) || has_moved;
    }
}

static void cancel_line(weir_queue *queue, weir_queue_line *line, const char *what, weir_queue_line *ended)
{
    while (line->first != NULL) {
        weir_queue_attempt *attempt = line_take(line);
        weir_error_set(&attempt->error, weir_fail(WEIR_CANCELLED, "%s operation was cancelled", what));
        if (attempt->call == WEIR_QUEUE_DEQUEUE_MANY)
            restore(queue, attempt);
        line_add(ended, attempt);
    }
}

/* ---- Ends; the mutex is not held ---- */

/* The outputs of a batch from the rows it took, which are freed. */
static weir_status join_taken(const weir_queue *queue, weir_queue_attempt *attempt)
{
    weir_status status = WEIR_STATUS_OK;
    for (int i = 0; i < queue->components && weir_ok(status); i++)
        status = weir_queue_join(attempt->taken + i, attempt->done, queue->components, queue->types[i],
                                 &queue->shapes[i], &attempt->wait->call.outputs[i]);
    weir_queue_tuple_clear(attempt->taken, attempt->done * queue->components);
    return status;
}

static void recycle(weir_queue *queue, weir_queue_attempt *attempt)
{
    weir_error_clear(&attempt->error);
    weir_release(attempt->taken);
    attempt->taken = NULL;
    pthread_mutex_lock(&queue->mutex);
    attempt->next = queue->spare;
    queue->spare = attempt;
    pthread_mutex_unlock(&queue->mutex);
}

/* Ends the waits in their order. The caller holds a reference to the queue: an end may drop the last other one. */
static void end_all(weir_queue *queue, weir_queue_line *ended)
{
    while (ended->first != NULL) {
        weir_queue_attempt *attempt = line_take(ended);
        weir_wait *wait = attempt->wait;
        if (attempt->call == WEIR_QUEUE_DEQUEUE_MANY && attempt->error.code == WEIR_OK)
            weir_error_set(&attempt->error, join_taken(queue, attempt));
        weir_error error = attempt->error;
        attempt->error = (weir_error){0};
        recycle(queue, attempt);
        weir_wait_end(wait, weir_error_status(&error));
        weir_error_clear(&error);
    }
}

/* ---- Calls ---- */

static void cancel_wait(weir_wait *wait)
{
    weir_queue *queue = wait->private_data; /* the handle among the wait's inputs holds it */
    weir_queue_line ended;
    line_init(&ended);
    weir_resource_ref(&queue->base);
    pthread_mutex_lock(&queue->mutex);
    weir_queue_line found;
    line_init(&found);
    weir_queue_attempt *attempt = line_remove(&queue->enqueues, wait);
    const char *what = attempt != NULL ? "Enqueue" : "Dequeue";
    if (attempt == NULL)
        attempt = line_remove(&queue->dequeues, wait);
    if (attempt != NULL) {
        line_add(&found, attempt);
        cancel_line(queue, &found, what, &ended);
        try_all(queue, &ended); /* it may have stood in others' way */
    }
    pthread_mutex_unlock(&queue->mutex);
    end_all(queue, &ended);
    weir_resource_unref(&queue->base);
}

/* Whom the wait waits for, in its message. */
static void describe(const weir_queue *queue, const weir_queue_attempt *attempt, weir_wait *wait)
{
    const char *name = queue->base.name;
    if (attempt->call == WEIR_QUEUE_CLOSE)
        snprintf(wait->what, sizeof wait->what, "queue '%.40s' to take what was enqueued before it closes", name);
    else if (attempt->call <= WEIR_QUEUE_ENQUEUE_MANY)
        snprintf(wait->what, sizeof wait->what, "queue '%.40s' to have room for %" PRId64 " more", name,
                 attempt->requested);
    else
        snprintf(wait->what, sizeof wait->what, "queue '%.40s' to get %" PRId64 " more element%s", name,
                 attempt->requested, attempt->requested == 1 ? "" : "s");
}

/* An attempt of the queue's spare ones or a new one. */
static weir_status new_attempt(weir_queue *queue, weir_wait *wait, weir_queue_call call, int64_t rows,
                               weir_queue_attempt **out)
{
    pthread_mutex_lock(&queue->mutex);
    weir_queue_attempt *attempt = queue->spare;
    if (attempt != NULL)
        queue->spare = attempt->next;
    pthread_mutex_unlock(&queue->mutex);
    if (attempt == NULL)
        WEIR_TRY(weir_new(&attempt, 1));
    *attempt = (weir_queue_attempt){.wait = wait, .call = call, .requested = rows};
    if (call == WEIR_QUEUE_DEQUEUE_MANY) {
        weir_status status = weir_new(&attempt->taken, (size_t)rows * (size_t)queue->components);
        if (!weir_ok(status)) {
            recycle(queue, attempt);
            return status;
        }
    }
    *out = attempt;
    return WEIR_STATUS_OK;
}

weir_status weir_queue_begin(weir_queue *queue, weir_wait *wait, weir_queue_call call, int64_t rows)
{
    weir_queue_attempt *attempt = NULL;
    WEIR_TRY(new_attempt(queue, wait, call, rows, &attempt));
    weir_queue_line ended;
    line_init(&ended);
    weir_resource_ref(&queue->base);
    wait->private_data = queue;
    wait->cancel = cancel_wait;
    pthread_mutex_lock(&queue->mutex);
    line_add(call <= WEIR_QUEUE_CLOSE ? &queue->enqueues : &queue->dequeues, attempt);
    try_all(queue, &ended);
    if (!is_in_line(&ended, attempt)) /* nobody else can end it as long as the mutex is held */
        describe(queue, attempt, wait);
    pthread_mutex_unlock(&queue->mutex);
    end_all(queue, &ended);
    weir_resource_unref(&queue->base);
    return WEIR_STATUS_OK;
}

void weir_queue_close_and_cancel(weir_queue *queue)
{
    weir_queue_line ended;
    line_init(&ended);
    weir_resource_ref(&queue->base);
    pthread_mutex_lock(&queue->mutex);
    queue->is_closed = true;
    cancel_line(queue, &queue->enqueues, "Enqueue", &ended);
    try_all(queue, &ended);
    pthread_mutex_unlock(&queue->mutex);
    end_all(queue, &ended);
    weir_resource_unref(&queue->base);
}

int64_t weir_queue_size(weir_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    int64_t size = (int64_t)queue->ring.count;
    pthread_mutex_unlock(&queue->mutex);
    return size;
}

bool weir_queue_is_closed(weir_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    bool is_closed = queue->is_closed;
    pthread_mutex_unlock(&queue->mutex);
    return is_closed;
}

/* ---- Life ---- */

/* The container is cleared: everybody who waits is told. */
static void abandon_queue(weir_resource *resource)
{
    weir_queue *queue = (weir_queue *)resource;
    weir_queue_line ended;
    line_init(&ended);
    weir_resource_ref(resource);
    pthread_mutex_lock(&queue->mutex);
    queue->is_closed = true;
    cancel_line(queue, &queue->enqueues, "Enqueue", &ended);
    cancel_line(queue, &queue->dequeues, "Dequeue", &ended);
    pthread_mutex_unlock(&queue->mutex);
    end_all(queue, &ended);
    weir_resource_unref(resource);
}

static void destroy_queue(weir_resource *resource)
{
    weir_queue *queue = (weir_queue *)resource;
    weir_queue_ring_clear(&queue->ring);
    while (queue->spare != NULL) {
        weir_queue_attempt *next = queue->spare->next;
        weir_release(queue->spare);
        queue->spare = next;
    }
    pthread_mutex_destroy(&queue->mutex);
    weir_release(queue->types);
    weir_release(queue->shapes);
    weir_release((char *)queue->base.name);
    weir_release(queue);
}

const weir_resource_type weir_queue_type = {.name = "queue", .destroy = destroy_queue, .abandon = abandon_queue};

static int64_t requested_capacity(const weir_node *node)
{
    int64_t capacity = weir_node_int(node, "capacity", -1);
    return capacity < 0 ? INT32_MAX : capacity;
}

static weir_status copy_signature(weir_queue *queue, const weir_node *node)
{
    const weir_attr_value *types = weir_node_find_attr(node, "component_types");
    const weir_attr_value *shapes = weir_node_find_attr(node, "shapes");
    queue->components = (int)types->list.count;
    WEIR_TRY(weir_new(&queue->types, (size_t)queue->components));
    memcpy(queue->types, types->list.type, (size_t)queue->components * sizeof *queue->types);
    if (shapes == NULL || shapes->list.count == 0)
        return WEIR_STATUS_OK;
    if (shapes->list.count != types->list.count)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Different number of component types.  Types: %" PRId64 ", Shapes: %" PRId64,
                         types->list.count, shapes->list.count);
    WEIR_TRY(weir_new(&queue->shapes, (size_t)queue->components));
    memcpy(queue->shapes, shapes->list.shape, (size_t)queue->components * sizeof *queue->shapes);
    return WEIR_STATUS_OK;
}

/* A queue that only its session sees is shown under TensorFlow's kind of made-up name. */
static char *shown_name(const weir_node *node)
{
    weir_text name = {0};
    weir_text_append(&name, "%s%s", weir_node_string(node, "shared_name").size > 0 ? "" : "_0_",
                     weir_node_resource_name(node));
    char *text = NULL;
    return weir_ok(weir_text_take(&name, &text)) ? text : NULL;
}

weir_status weir_queue_create(const weir_node *node, weir_resource **out)
{
    weir_queue *queue = NULL;
    WEIR_TRY(weir_new(&queue, 1));
    atomic_init(&queue->base.references, 1);
    queue->base.type = &weir_queue_type;
    queue->base.name = shown_name(node);
    queue->capacity = requested_capacity(node);
    line_init(&queue->enqueues);
    line_init(&queue->dequeues);
    pthread_mutex_init(&queue->mutex, NULL);
    weir_status status = queue->base.name != NULL ? copy_signature(queue, node) : weir_fail_memory(sizeof *queue);
    queue->ring.components = queue->components;
    if (!weir_ok(status)) {
        destroy_queue(&queue->base);
        return status;
    }
    *out = &queue->base;
    return WEIR_STATUS_OK;
}

static void append_types(weir_text *text, const weir_dtype *types, int count)
{
    for (int i = 0; i < count; i++)
        weir_text_append(text, "%s%s", i > 0 ? ", " : "", weir_dtype_name(types[i]));
}

static void append_shapes(weir_text *text, const weir_shape *shapes, int count)
{
    weir_text_append(text, "[");
    for (int i = 0; i < count; i++)
        weir_text_append(text, "%s%s", i > 0 ? ", " : "", WEIR_SHOWN(shapes[i]));
    weir_text_append(text, "]");
}

static bool same_shapes(const weir_queue *queue, const weir_attr_value *shapes)
{
    int64_t count = shapes != NULL ? shapes->list.count : 0;
    if (count != (queue->shapes != NULL ? queue->components : 0))
        return false;
    for (int64_t i = 0; i < count; i++) {
        if (!weir_shape_equal(queue->shapes[i], shapes->list.shape[i]))
            return false;
    }
    return true;
}

weir_status weir_queue_check(const weir_queue *queue, const weir_node *node)
{
    const char *name = queue->base.name;
    const weir_attr_value *types = weir_node_find_attr(node, "component_types");
    const weir_attr_value *shapes = weir_node_find_attr(node, "shapes");
    if (queue->capacity != requested_capacity(node))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Shared queue '%s' has capacity %" PRId64 " but requested capacity was %" PRId64, name,
                         queue->capacity, requested_capacity(node));
    weir_text text = {0};
    if (types->list.count != queue->components ||
        memcmp(types->list.type, queue->types, (size_t)queue->components * sizeof *queue->types) != 0) {
        weir_text_append(&text, "Shared queue '%s' has component types ", name);
        append_types(&text, queue->types, queue->components);
        weir_text_append(&text, " but requested component types were ");
        append_types(&text, types->list.type, (int)types->list.count);
    } else if (!same_shapes(queue, shapes)) {
        weir_text_append(&text, "Shared queue '%s' has component shapes ", name);
        append_shapes(&text, queue->shapes, queue->shapes != NULL ? queue->components : 0);
        weir_text_append(&text, " but requested component shapes were ");
        append_shapes(&text, shapes->list.shape, (int)shapes->list.count);
    }
    weir_status status = WEIR_STATUS_OK;
    if (text.length > 0)
        status = weir_fail(WEIR_INVALID_ARGUMENT, "%s", weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}
