/*
 * FIFOQueueV2 and the ops on it. What a queue does stands in queue_resource.c.
 */
#include "op/queue.h"

#include <inttypes.h>
#include <string.h>

#include "op/state_support.h"

/* ---- Shapes ---- */

static weir_status infer_handle(weir_infer *infer)
{
    infer->outputs[0] = weir_shape_scalar();
    return WEIR_STATUS_OK;
}

static weir_status infer_on_handle(weir_infer *infer)
{
    weir_shape handle;
    WEIR_TRY(weir_infer_rank(infer, 0, 0, &handle));
    for (int i = 0; i < infer->node->num_outputs; i++)
        infer->outputs[i] = weir_shape_scalar();
    return WEIR_STATUS_OK;
}

/* The shapes of the elements as the queue's own node states them; NULL when that is not known. */
static const weir_shape *element_shapes(const weir_infer *infer)
{
    const weir_node *queue = weir_infer_handle_node(infer, 0);
    const weir_attr_value *shapes = queue != NULL ? weir_node_find_attr(queue, "shapes") : NULL;
    if (shapes == NULL || (int)shapes->kind != WEIR_ATTR_LIST + WEIR_ATTR_SHAPE ||
        shapes->list.count != infer->node->num_outputs)
        return NULL;
    return shapes->list.shape;
}

static weir_status infer_dequeue(weir_infer *infer)
{
    const weir_shape *shapes = element_shapes(infer);
    for (int i = 0; shapes != NULL && i < infer->node->num_outputs; i++)
        infer->outputs[i] = shapes[i];
    return WEIR_STATUS_OK;
}

static weir_status infer_dequeue_many(weir_infer *infer)
{
    const weir_shape *shapes = element_shapes(infer);
    const weir_tensor *n = weir_infer_constant(infer, 1);
    int64_t rows = n != NULL && n->elements == 1 ? weir_tensor_get_int(n, 0) : WEIR_UNKNOWN_DIM;
    if (n != NULL && rows < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Input 'n' must be >= 0, but is %" PRId64, rows);
    for (int i = 0; shapes != NULL && i < infer->node->num_outputs; i++) {
        if (shapes[i].rank < 0 || shapes[i].rank >= WEIR_MAX_RANK)
            continue;
        weir_shape *out = &infer->outputs[i];
        out->rank = shapes[i].rank + 1;
        out->dims[0] = rows;
        memcpy(out->dims + 1, shapes[i].dims, (size_t)shapes[i].rank * sizeof out->dims[0]);
    }
    return WEIR_STATUS_OK;
}

/* ---- The queue itself ---- */

static weir_status create_queue(void *context, weir_resource **out)
{
    return weir_queue_create(context, out);
}

static weir_status execute_queue(weir_call *call)
{
    weir_resource *resource = NULL;
    WEIR_TRY(weir_node_resource(call->context->session, call->node, &weir_queue_type, create_queue, (void *)call->node,
                                &resource));
    weir_status status = weir_queue_check((weir_queue *)resource, call->node);
    if (weir_ok(status))
        status = weir_handle_new(resource, &call->outputs[0]);
    weir_resource_unref(resource);
    return status;
}

static weir_status get_queue(const weir_call *call, weir_queue **out)
{
    weir_resource *resource = NULL;
    WEIR_TRY(weir_handle_get(call->inputs[0], &weir_queue_type, &resource));
    *out = (weir_queue *)resource;
    return WEIR_STATUS_OK;
}

/* ---- Checks ---- */

static void append_types(weir_text *text, const char *before, const weir_dtype *types, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        weir_text_append(text, "%s%s", i > 0 ? ", " : before, weir_dtype_name(types[i]));
}

/* The node's component types must be the queue's. */
static weir_status check_signature(const weir_queue *queue, const weir_node *node, const char *attr, bool is_enqueue)
{
    if (weir_node_int(node, "timeout_ms", -1) != -1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Timeout not supported yet.");
    const weir_attr_value *types = weir_node_find_attr(node, attr);
    if (types->list.count == queue->components &&
        memcmp(types->list.type, queue->types, (size_t)queue->components * sizeof *queue->types) == 0)
        return WEIR_STATUS_OK;
    weir_text text = {0};
    const char *before = is_enqueue ? ", " : "";
    weir_text_append(&text, "Signature mismatch, have: resource%s", is_enqueue ? "" : "->");
    append_types(&text, before, types->list.type, types->list.count);
    weir_text_append(&text, "%s expected: resource%s", is_enqueue ? "->" : "", is_enqueue ? "" : "->");
    append_types(&text, before, queue->types, queue->components);
    weir_text_append(&text, "%s", is_enqueue ? "->" : "");
    weir_status status = weir_fail(WEIR_INVALID_ARGUMENT, "%s", weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

static weir_status fail_shape(int component, weir_shape expected, weir_shape shape)
{
    return weir_fail(WEIR_INVALID_ARGUMENT, "Shape mismatch in tuple component %d. Expected %s, got %s", component,
                     WEIR_SHOWN(expected), WEIR_SHOWN(shape));
}

static weir_status check_tuple(const weir_queue *queue, weir_tensor *const *components)
{
    for (int i = 0; queue->shapes != NULL && i < queue->components; i++) {
        if (!weir_shape_compatible(queue->shapes[i], components[i]->shape))
            return fail_shape(i, queue->shapes[i], components[i]->shape);
    }
    return WEIR_STATUS_OK;
}

/* A batch: the same number of rows in all components, each row of the queue's shape. */
static weir_status check_batch(const weir_queue *queue, weir_tensor *const *components, int64_t *rows)
{
    bool has_rows = components[0]->shape.rank > 0;
    *rows = has_rows ? components[0]->shape.dims[0] : 0;
    for (int i = 0; i < queue->components; i++) {
        weir_shape shape = components[i]->shape;
        weir_shape expected = weir_shape_unknown();
        if (queue->shapes != NULL && queue->shapes[i].rank >= 0 && queue->shapes[i].rank < WEIR_MAX_RANK) {
            expected.rank = queue->shapes[i].rank + 1;
            expected.dims[0] = has_rows ? *rows : WEIR_UNKNOWN_DIM;
            memcpy(expected.dims + 1, queue->shapes[i].dims, (size_t)queue->shapes[i].rank * sizeof expected.dims[0]);
        }
        if (shape.rank == 0 || !weir_shape_compatible(expected, shape))
            return fail_shape(i, expected, shape);
        if (shape.dims[0] != *rows)
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "All input tensors must have the same size in the 0th dimension. Component %d has %" PRId64
                             ", and should have %" PRId64,
                             i, shape.dims[0], *rows);
    }
    return WEIR_STATUS_OK;
}

/* ---- Ops that may wait ---- */

static weir_status start_enqueue(weir_wait *wait)
{
    weir_queue *queue = NULL;
    WEIR_TRY(get_queue(&wait->call, &queue));
    WEIR_TRY(check_signature(queue, wait->call.node, "Tcomponents", true));
    WEIR_TRY(check_tuple(queue, wait->call.inputs + 1));
    return weir_queue_begin(queue, wait, WEIR_QUEUE_ENQUEUE, 1);
}

static weir_status start_enqueue_many(weir_wait *wait)
{
    weir_queue *queue = NULL;
    int64_t rows = 0;
    WEIR_TRY(get_queue(&wait->call, &queue));
    WEIR_TRY(check_signature(queue, wait->call.node, "Tcomponents", true));
    WEIR_TRY(check_batch(queue, wait->call.inputs + 1, &rows));
    if (rows == 0) {
        weir_wait_end(wait, WEIR_STATUS_OK);
        return WEIR_STATUS_OK;
    }
    return weir_queue_begin(queue, wait, WEIR_QUEUE_ENQUEUE_MANY, rows);
}

static weir_status start_dequeue(weir_wait *wait)
{
    weir_queue *queue = NULL;
    WEIR_TRY(get_queue(&wait->call, &queue));
    WEIR_TRY(check_signature(queue, wait->call.node, "component_types", false));
    return weir_queue_begin(queue, wait, WEIR_QUEUE_DEQUEUE, 1);
}

/* Batches of no rows. */
static weir_status dequeue_nothing(const weir_queue *queue, weir_wait *wait)
{
    for (int i = 0; i < queue->components; i++)
        WEIR_TRY(weir_queue_join(NULL, 0, 1, queue->types[i], &queue->shapes[i], &wait->call.outputs[i]));
    weir_wait_end(wait, WEIR_STATUS_OK);
    return WEIR_STATUS_OK;
}

static weir_status start_dequeue_many(weir_wait *wait)
{
    weir_queue *queue = NULL;
    WEIR_TRY(get_queue(&wait->call, &queue));
    WEIR_TRY(check_signature(queue, wait->call.node, "component_types", false));
    const weir_tensor *n = wait->call.inputs[1];
    if (n->elements != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "The number of elements to dequeue must be a scalar, not of shape %s",
                         WEIR_SHOWN(n->shape));
    int64_t rows = weir_tensor_get_int(n, 0);
    if (rows < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "DequeueManyOp requested %" PRId64 " < 0 elements", rows);
    if (queue->shapes == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "FIFOQueue's DequeueMany and DequeueUpTo require the components to "
                                                "have specified shapes.");
    if (rows == 0)
        return dequeue_nothing(queue, wait);
    return weir_queue_begin(queue, wait, WEIR_QUEUE_DEQUEUE_MANY, rows);
}

static weir_status start_close(weir_wait *wait)
{
    weir_queue *queue = NULL;
    WEIR_TRY(get_queue(&wait->call, &queue));
    if (!weir_node_bool(wait->call.node, "cancel_pending_enqueues", false))
        return weir_queue_begin(queue, wait, WEIR_QUEUE_CLOSE, 0);
    weir_queue_close_and_cancel(queue);
    weir_wait_end(wait, WEIR_STATUS_OK);
    return WEIR_STATUS_OK;
}

/* ---- Questions ---- */

static weir_status execute_size(weir_call *call)
{
    weir_queue *queue = NULL;
    WEIR_TRY(get_queue(call, &queue));
    int32_t size = (int32_t)weir_queue_size(queue);
    return weir_tensor_from(WEIR_INT32, WEIR_SCALAR, &size, &call->outputs[0]);
}

static weir_status execute_is_closed(weir_call *call)
{
    weir_queue *queue = NULL;
    WEIR_TRY(get_queue(call, &queue));
    bool is_closed = weir_queue_is_closed(queue);
    return weir_tensor_from(WEIR_BOOL, WEIR_SCALAR, &is_closed, &call->outputs[0]);
}

/* ---- Tables ---- */

#define HANDLE_INPUT {"handle", .type = WEIR_RESOURCE}
#define TYPES_ATTR(attr)                                                                                               \
    {.name = (attr), .kind = WEIR_ATTR_LIST + WEIR_ATTR_TYPE, .has_minimum = true, .minimum = 1}
#define ENQUEUE_ATTRS WEIR_ATTR_DEFS(TYPES_ATTR("Tcomponents"), WEIR_A_INT("timeout_ms", -1))
#define DEQUEUE_ATTRS WEIR_ATTR_DEFS(TYPES_ATTR("component_types"), WEIR_A_INT("timeout_ms", -1))
#define COMPONENTS_OUT WEIR_ARGS({"components", .type_list_attr = "component_types"})

static const weir_op_def ops[] = {
    {.name = "FIFOQueueV2",
     .outputs = WEIR_ARGS({"handle", .type = WEIR_RESOURCE}),
     .attrs =
         WEIR_ATTR_DEFS(TYPES_ATTR("component_types"),
                        {.name = "shapes",
                         .kind = WEIR_ATTR_LIST + WEIR_ATTR_SHAPE,
                         .has_default = true,
                         .value = {.kind = WEIR_ATTR_LIST + WEIR_ATTR_SHAPE},
                         .has_minimum = true},
                        WEIR_A_INT("capacity", -1), WEIR_A_STRING("container", ""), WEIR_A_STRING("shared_name", "")),
     .infer = infer_handle,
     .is_stateful = true},
    {.name = "QueueEnqueueV2",
     .inputs = WEIR_ARGS(HANDLE_INPUT, {"components", .type_list_attr = "Tcomponents"}),
     .attrs = ENQUEUE_ATTRS,
     .infer = infer_on_handle,
     .is_stateful = true},
    {.name = "QueueEnqueueManyV2",
     .inputs = WEIR_ARGS(HANDLE_INPUT, {"components", .type_list_attr = "Tcomponents"}),
     .attrs = ENQUEUE_ATTRS,
     .infer = infer_on_handle,
     .is_stateful = true},
    {.name = "QueueDequeueV2",
     .inputs = WEIR_ARGS(HANDLE_INPUT),
     .outputs = COMPONENTS_OUT,
     .attrs = DEQUEUE_ATTRS,
     .infer = infer_dequeue,
     .is_stateful = true},
    {.name = "QueueDequeueManyV2",
     .inputs = WEIR_ARGS(HANDLE_INPUT, {"n", .type = WEIR_INT32}),
     .outputs = COMPONENTS_OUT,
     .attrs = DEQUEUE_ATTRS,
     .infer = infer_dequeue_many,
     .is_stateful = true},
    {.name = "QueueCloseV2",
     .inputs = WEIR_ARGS(HANDLE_INPUT),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_BOOL("cancel_pending_enqueues", false)),
     .infer = infer_on_handle,
     .is_stateful = true},
    {.name = "QueueSizeV2",
     .inputs = WEIR_ARGS(HANDLE_INPUT),
     .outputs = WEIR_ARGS({"size", .type = WEIR_INT32}),
     .infer = infer_on_handle,
     .is_stateful = true},
    {.name = "QueueIsClosedV2",
     .inputs = WEIR_ARGS(HANDLE_INPUT),
     .outputs = WEIR_ARGS({"is_closed", .type = WEIR_BOOL}),
     .infer = infer_on_handle,
     .is_stateful = true},
    {.name = NULL},
};

static const weir_kernel kernels[] = {
    {.op = "FIFOQueueV2", .execute = execute_queue},
    {.op = "QueueEnqueueV2", .start = start_enqueue},
    {.op = "QueueEnqueueManyV2", .start = start_enqueue_many},
    {.op = "QueueDequeueV2", .start = start_dequeue},
    {.op = "QueueDequeueManyV2", .start = start_dequeue_many},
    {.op = "QueueCloseV2", .start = start_close},
    {.op = "QueueSizeV2", .execute = execute_size},
    {.op = "QueueIsClosedV2", .execute = execute_is_closed},
    {.op = NULL},
};

const weir_op_family weir_family_queue = {.name = "queue", .ops = ops, .kernels = kernels};
