/*
 * Nodes that wait (they register and leave; nobody's thread is held), sends, and transfers between devices.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "run/frame_id.h"
#include "run/run.h"
#include "run/session.h"

/* ---- The waiting itself ---- */

void weir_waiting_free(weir_waiting *waiting)
{
    if (waiting == NULL)
        return;
    weir_release(waiting->tensors);
    weir_release(waiting->variables);
    weir_release(waiting);
}

/* Kept with its segment, so that a steady run allocates nothing. */
static weir_status prepare(weir_run_state *run, weir_segment_run *segment, weir_waiting **out)
{
    const weir_plan *plan = run->plan;
    int index = plan->order[segment->segment->first];
    const weir_plan_node *node = &plan->nodes[index];
    weir_waiting *waiting = segment->wait;
    if (waiting == NULL) {
        WEIR_TRY(weir_new(&waiting, 1));
        weir_status status = weir_new(&waiting->tensors, (size_t)(2 * node->num_inputs + node->num_outputs));
        if (weir_ok(status))
            status = weir_new(&waiting->variables, (size_t)node->num_inputs);
        if (!weir_ok(status)) {
            weir_waiting_free(waiting);
            return status;
        }
        segment->wait = waiting;
        waiting->run = run;
        waiting->segment = segment;
        waiting->node = index;
    }
    waiting->wait = (weir_wait){.call = {.node = node->node,
                                         .context = &segment->walker.base,
                                         .inputs = waiting->tensors,
                                         .variables = waiting->variables,
                                         .outputs = waiting->tensors + 2 * node->num_inputs}};
    memset(waiting->tensors, 0, (size_t)(2 * node->num_inputs + node->num_outputs) * sizeof *waiting->tensors);
    waiting->since_ns = weir_now_ns();
    waiting->is_cancelled = false;
    segment->walker = (weir_walker){
        .base = {.team = plan->devices->items[node->device]->team, .run = run, .session = &run->session->state},
        .iteration = segment->iteration};
    *out = waiting;
    return WEIR_STATUS_OK;
}

static void link_wait(weir_run_state *run, weir_waiting *waiting)
{
    waiting->is_active = true;
    waiting->is_starting = true;
    waiting->previous = NULL;
    waiting->next = run->waits;
    if (run->waits != NULL)
        run->waits->previous = waiting;
    run->waits = waiting;
}

static void unlink_wait(weir_run_state *run, weir_waiting *waiting)
{
    waiting->is_active = false;
    if (waiting->previous != NULL)
        waiting->previous->next = waiting->next;
    else
        run->waits = waiting->next;
    if (waiting->next != NULL)
        waiting->next->previous = waiting->previous;
    for (weir_waiting **at = &run->to_cancel; waiting->is_cancelled && *at != NULL; at = &(*at)->next_cancelled) {
        if (*at == waiting) { /* it ended before it was told */
            *at = waiting->next_cancelled;
            break;
        }
    }
}

static void free_inputs(weir_waiting *waiting, const weir_plan_node *node)
{
    for (int i = 0; i < node->num_inputs; i++)
        weir_tensor_free(waiting->tensors[node->num_inputs + i]); /* those that were made for it */
}

static void keep_outputs(weir_run_state *run, weir_waiting *waiting, const weir_plan_node *node, bool is_live)
{
    for (int i = 0; i < node->num_outputs; i++) {
        weir_tensor **output = &waiting->wait.call.outputs[i];
        int slot = run->plan->values[node->first_value + i].slot;
        if (is_live && slot >= 0 && *output != NULL)
            weir_slot_set(&waiting->segment->iteration->slots[slot], *output);
        weir_tensor_free(*output);
        *output = NULL;
    }
}

static weir_status describe_failure(const weir_plan_node *node, weir_status status)
{
    weir_text text = {0};
    weir_node_describe(node->node, &text);
    status = weir_fail(status.code, "%s\n\t [[%s]]", weir_status_text(status), weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

/* The end of a wait, from any thread. */
static void end_wait(weir_wait *wait, weir_status status, bool is_dead)
{
    weir_waiting *waiting = (weir_waiting *)wait;
    weir_run_state *run = waiting->run;
    const weir_plan_node *node = &run->plan->nodes[waiting->node];
    if (!weir_ok(status))
        status = describe_failure(node, status);
    pthread_mutex_lock(&run->mutex);
    unlink_wait(run, waiting);
    keep_outputs(run, waiting, node, weir_ok(status) && !is_dead);
    free_inputs(waiting, node);
    if (run->metadata != NULL)
        (void)!weir_ok(weir_run_note_time(run, waiting->node, node->device, waiting->since_ns));
    if (!weir_ok(status))
        weir_run_fail(run, status);
    weir_segment_done(run, waiting->segment, is_dead);
    weir_run_unlock(run);
}

/* ---- Receive ---- */

static weir_status make_key(const weir_node *node, const weir_iteration *iteration, char key[WEIR_RENDEZVOUS_KEY_SIZE])
{
    weir_bytes send = weir_node_string(node, "send_device");
    weir_bytes receive = weir_node_string(node, "recv_device");
    weir_bytes name = weir_node_string(node, "tensor_name");
    int length =
        snprintf(key, WEIR_RENDEZVOUS_KEY_SIZE, "%.*s;%016" PRIx64 ";%.*s;%.*s;%" PRIu64 ":%" PRId64, (int)send.size,
                 send.data, (uint64_t)weir_node_int(node, "send_device_incarnation", 0), (int)receive.size,
                 receive.data, (int)name.size, name.data, iteration->frame->id, iteration->number);
    if (length >= WEIR_RENDEZVOUS_KEY_SIZE)
        return weir_fail(WEIR_INVALID_ARGUMENT, "The rendezvous key of node '%s' is longer than %d bytes", node->name,
                         WEIR_RENDEZVOUS_KEY_SIZE - 1);
    return WEIR_STATUS_OK;
}

static void received(weir_receive *receive, weir_status status, weir_tensor *tensor, bool is_dead)
{
    weir_waiting *waiting = receive->context;
    const weir_node *node = waiting->wait.call.node;
    weir_dtype wanted = weir_dtype_base(node->output_dtypes[0]);
    if (weir_ok(status) && !is_dead && tensor->dtype != wanted) {
        status = weir_fail(WEIR_INVALID_ARGUMENT, "Received %s, not %s, for key %s", weir_dtype_name(tensor->dtype),
                           weir_dtype_name(wanted), receive->key);
    }
    if (weir_ok(status) && !is_dead)
        waiting->wait.call.outputs[0] = weir_tensor_ref(tensor);
    end_wait(&waiting->wait, status, is_dead);
}

static void cancel_receive(weir_wait *wait)
{
    weir_waiting *waiting = (weir_waiting *)wait;
    waiting->run->rendezvous->cancel(waiting->run->rendezvous, &waiting->receive);
}

static weir_status start_receive(weir_waiting *waiting)
{
    weir_run_state *run = waiting->run;
    WEIR_TRY(make_key(waiting->wait.call.node, waiting->segment->iteration, waiting->key));
    snprintf(waiting->wait.what, sizeof waiting->wait.what, "%.90s", waiting->key);
    waiting->wait.cancel = cancel_receive;
    waiting->receive = (weir_receive){.done = received, .context = waiting, .key = waiting->key};
    return run->rendezvous->receive(run->rendezvous, &waiting->receive);
}

/* ---- Start ---- */

static weir_status begin_wait(weir_run_state *run, weir_segment_run *segment, weir_waiting **out)
{
    weir_waiting *waiting = NULL;
    WEIR_TRY(prepare(run, segment, &waiting));
    const weir_plan_node *node = &run->plan->nodes[waiting->node];
    waiting->wait.end = end_wait;
    if (segment->segment->kind == WEIR_KIND_WAIT) {
        weir_status status = weir_gather_inputs(run, segment->iteration, waiting->node, waiting->tensors,
                                                waiting->variables, waiting->tensors + node->num_inputs);
        if (!weir_ok(status)) {
            free_inputs(waiting, node);
            return status;
        }
    }
    *out = waiting;
    return WEIR_STATUS_OK;
}

void weir_run_wait_start(weir_run_state *run, weir_segment_run *segment)
{
    weir_iteration *iteration = segment->iteration;
    weir_waiting *waiting = NULL;
    weir_status status = begin_wait(run, segment, &waiting);
    if (!weir_ok(status)) {
        pthread_mutex_lock(&run->mutex);
        weir_run_fail(run, status);
        weir_segment_done(run, segment, false);
        pthread_mutex_unlock(&run->mutex); /* the walker, who holds the run, sees to what follows */
        return;
    }
    const weir_plan_node *node = &run->plan->nodes[waiting->node];
    pthread_mutex_lock(&run->mutex);
    iteration->outstanding++; /* the wait may end, and the run with it, before start returns */
    iteration->frame->outstanding++;
    link_wait(run, waiting);
    pthread_mutex_unlock(&run->mutex);
    status = segment->segment->kind == WEIR_KIND_WAIT ? node->kernel->start(&waiting->wait) : start_receive(waiting);
    if (!weir_ok(status))
        end_wait(&waiting->wait, status, false);
    pthread_mutex_lock(&run->mutex);
    bool must_cancel = waiting->is_active && run->is_stopped && waiting->wait.cancel != NULL;
    waiting->is_starting = false;
    waiting->is_cancelled = must_cancel;
    pthread_mutex_unlock(&run->mutex);
    if (must_cancel)
        waiting->wait.cancel(&waiting->wait);
    pthread_mutex_lock(&run->mutex);
    weir_iteration_settle(run, iteration);
    pthread_mutex_unlock(&run->mutex);
}

void weir_run_describe_waits(weir_run_state *run, weir_text *text)
{
    int64_t now = weir_now_ns();
    int count = 0;
    for (const weir_waiting *at = run->waits; at != NULL; at = at->next) {
        if (++count > 8)
            continue;
        weir_text_append(text, "%snode '%s' (op %s) waits since %" PRId64 " ms for %s", count > 1 ? "; " : "",
                         at->wait.call.node->name, at->wait.call.node->op->name, (now - at->since_ns) / 1000000,
                         !at->is_starting && at->wait.what[0] != '\0' ? at->wait.what : "its turn");
    }
    if (count > 8)
        weir_text_append(text, "; and %d more", count - 8);
}

/* ---- Send ---- */

weir_status weir_run_send(weir_run_state *run, weir_segment_run *segment)
{
    const weir_plan_node *node = &run->plan->nodes[run->plan->order[segment->segment->first]];
    char key[WEIR_RENDEZVOUS_KEY_SIZE];
    weir_tensor *tensor = NULL;
    weir_tensor *owned = NULL;
    WEIR_TRY(make_key(node->node, segment->iteration, key));
    if (!segment->is_dead)
        WEIR_TRY(weir_value_tensor(run, segment->iteration, node->inputs[0], &tensor, &owned));
    weir_status status = run->rendezvous->send(run->rendezvous, key, tensor, segment->is_dead);
    weir_tensor_free(owned);
    return weir_ok(status) ? status : describe_failure(node, status);
}

/* ---- Transfers between devices of this process ---- */

static void transferred(void *context)
{
    weir_segment_run *segment = context;
    weir_run_state *run = segment->run;
    weir_batch *batch = &run->batches[segment->segment->device];
    pthread_mutex_lock(&run->mutex);
    if (atomic_load(&batch->has_failed))
        weir_run_fail(run, weir_error_status(&batch->error));
    weir_segment_done(run, segment, false);
    weir_run_unlock(run);
}

/* Copies one value into memory of the right kind; the host's memory is shared, not copied. */
static weir_status transfer_value(weir_run_state *run, weir_iteration *iteration, const weir_plan_node *node,
                                  bool *is_async)
{
    const weir_plan_value *value = &run->plan->values[node->first_value];
    weir_tensor *from = NULL;
    weir_tensor *owned = NULL;
    WEIR_TRY(weir_value_tensor(run, iteration, node->inputs[0], &from, &owned));
    weir_slot *slot = &iteration->slots[value->slot];
    weir_device *device = run->plan->devices->items[node->device];
    bool to_host = node->feed == 1;
    bool from_host = from->buffer->allocator == NULL || from->buffer->allocator->is_host;
    if (to_host && from_host) {
        weir_slot_set(slot, from);
        weir_tensor_free(owned);
        return WEIR_STATUS_OK;
    }
    weir_tensor *to = NULL;
    weir_status status =
        weir_tensor_allocate(to_host ? weir_host_allocator() : device->allocator, from->dtype, &from->shape, &to);
    if (weir_ok(status)) {
        weir_copy direction = to_host ? WEIR_COPY_TO_HOST : from_host ? WEIR_COPY_TO_DEVICE : WEIR_COPY_WITHIN;
        weir_slot_set(slot, to);
        status = device->driver->copy(device, &run->batches[node->device], direction, to->data, from->data,
                                      from->size_bytes);
        *is_async = true;
    }
    weir_tensor_free(to);
    weir_tensor_free(owned);
    return status;
}

weir_status weir_run_transfer(weir_run_state *run, weir_segment_run *segment, bool *is_done)
{
    bool is_async = false;
    const weir_segment *at = segment->segment;
    weir_device *device = run->plan->devices->items[at->device];
    int64_t start = run->metadata != NULL ? weir_now_ns() : 0;
    weir_status status = WEIR_STATUS_OK;
    for (int i = at->first; weir_ok(status) && i < at->first + at->count; i++) {
        const weir_plan_node *node = &run->plan->nodes[run->plan->order[i]];
        if (node->num_inputs > 0)
            status = transfer_value(run, segment->iteration, node, &is_async);
        if (weir_ok(status) && run->metadata != NULL)
            status = weir_run_note_time(run, run->plan->order[i], at->device, start);
    }
    if (!is_async)
        return status;
    if (!weir_ok(status)) { /* the copies that were appended go on */
        pthread_mutex_lock(&run->mutex);
        weir_run_fail(run, status);
        pthread_mutex_unlock(&run->mutex);
    }
    weir_status noted = device->driver->notify(device, transferred, segment);
    *is_done = !weir_ok(noted);
    return weir_ok(status) ? noted : status;
}
