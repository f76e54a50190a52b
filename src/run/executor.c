/*
 * The executor: segments become ready as their edges arrive, and are walked. Code is in code.c, waiting nodes and
 * transfers in wait.c, loops in loop.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "run/run.h"
#include "run/session.h"

int64_t weir_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Life ---- */

static int count_hosts(const weir_device_set *devices)
{
    int count = 0;
    while (count < devices->count && devices->items[count]->is_host)
        count++;
    return count;
}

static weir_status take_arrays(weir_run_state *run)
{
    const weir_plan *plan = run->plan;
    const weir_plan_frame *root = &plan->frames[0];
    run->num_queues = count_hosts(plan->devices);
    WEIR_TRY(weir_new(&run->root_iteration.slots, (size_t)root->num_slots));
    WEIR_TRY(weir_new(&run->root_iteration.segments, (size_t)root->num_segments));
    WEIR_TRY(weir_new(&run->queues, (size_t)run->num_queues));
    WEIR_TRY(weir_new(&run->layouts, (size_t)plan->num_segments));
    WEIR_TRY(weir_new(&run->scratch, (size_t)plan->devices->count));
    WEIR_TRY(weir_new(&run->batches, (size_t)plan->devices->count));
    int most_entries = 0;
    for (int s = 0; s < plan->num_segments; s++) {
        const weir_segment *segment = &plan->segments[s];
        most_entries = segment->num_entries > most_entries ? segment->num_entries : most_entries;
        if (segment->frame != 0)
            continue;
        weir_segment_run *state = &run->root_iteration.segments[segment->local];
        state->segment = segment;
        state->iteration = &run->root_iteration;
        state->run = run;
    }
    run->most_entries = most_entries;
    WEIR_TRY(weir_new(&run->feed_values, (size_t)plan->num_feeds));
    WEIR_TRY(weir_new(&run->fetched, (size_t)plan->num_fetches));
    return weir_new(&run->entries, (size_t)(most_entries * run->num_queues));
}

weir_status weir_run_create(weir_session *session, weir_plan *plan, weir_run_state **out)
{
    weir_run_state *run = NULL;
    WEIR_TRY(weir_new(&run, 1));
    run->session = session;
    run->plan = plan;
    pthread_mutex_init(&run->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&run->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    run->root_iteration.frame = &run->root;
    run->root.iterations = &run->root_iteration;
    weir_status status = weir_local_rendezvous_init(&run->local);
    run->rendezvous = &run->local.base;
    if (weir_ok(status))
        status = take_arrays(run);
    if (weir_ok(status))
        *out = run;
    else
        weir_run_destroy(run);
    return status;
}

static void free_layouts(weir_run_state *run)
{
    for (int s = 0; run->layouts != NULL && s < run->plan->num_segments; s++) {
        for (int i = 0; i < run->layouts[s].count; i++)
            weir_layout_free(run->layouts[s].items[i]);
        weir_release(run->layouts[s].items);
    }
    weir_release(run->layouts);
}

static void free_scratch(weir_run_state *run)
{
    for (int d = 0; run->scratch != NULL && d < run->plan->devices->count; d++) {
        weir_device *device = run->plan->devices->items[d];
        if (run->scratch[d].reserved > 0)
            munmap(run->scratch[d].memory, run->scratch[d].reserved);
        else if (run->scratch[d].memory != NULL)
            device->allocator->release(device->allocator, run->scratch[d].memory, run->scratch[d].size);
    }
    for (size_t i = 0; i < run->outgrown.count; i++) {
        const weir_outgrown *old = &run->outgrown.items[i];
        old->allocator->release(old->allocator, old->memory, old->size);
    }
    weir_list_clear(&run->outgrown);
    weir_release(run->scratch);
}

void weir_run_destroy(weir_run_state *run)
{
    if (run == NULL)
        return;
    weir_run_drop_frames(run);
    for (int i = 0; run->root_iteration.slots != NULL && i < run->plan->frames[0].num_slots; i++)
        weir_slot_clear(&run->root_iteration.slots[i]);
    for (int i = 0; run->root_iteration.segments != NULL && i < run->plan->frames[0].num_segments; i++)
        weir_waiting_free(run->root_iteration.segments[i].wait);
    free_layouts(run);
    free_scratch(run);
    for (int d = 0; run->batches != NULL && d < run->plan->devices->count; d++)
        weir_error_clear(&run->batches[d].error);
    weir_release(run->batches);
    weir_release(run->root_iteration.slots);
    weir_release(run->root_iteration.segments);
    weir_release(run->queues);
    weir_release(run->entries);
    weir_release(run->feed_values);
    weir_release(run->fetched);
    weir_local_rendezvous_clear(&run->local);
    weir_error_clear(&run->error);
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->mutex);
    weir_release(run);
}

/* ---- Slots ---- */

void weir_slot_clear(weir_slot *slot)
{
    if (!slot->is_borrowed)
        weir_tensor_free(slot->tensor);
    weir_tensor_free(slot->in_host);
    *slot = (weir_slot){0};
}

void weir_slot_set(weir_slot *slot, weir_tensor *tensor)
{
    weir_tensor_ref(tensor);
    weir_slot_clear(slot);
    slot->tensor = tensor;
}

/* ---- Begin and end ---- */

static void set_feed(weir_run_state *run, int feed, weir_tensor *tensor)
{
    int slot = run->plan->values[run->plan->feed_values[feed]].slot;
    if (slot < 0)
        return; /* nobody needs it */
    run->root_iteration.slots[slot].tensor = tensor;
    run->root_iteration.slots[slot].is_borrowed = true;
}

static bool starts_at_once(const weir_segment *segment)
{
    return segment->frame == 0 && segment->num_waits == 0 && segment->kind != WEIR_KIND_MERGE &&
           segment->kind != WEIR_KIND_FEED;
}

static void reset_segments(weir_run_state *run)
{
    for (int i = 0; i < run->plan->frames[0].num_segments; i++) {
        weir_segment_run *state = &run->root_iteration.segments[i];
        state->waiting = state->segment->num_waits;
        state->dead_inputs = 0;
        state->merged_input = -1;
        state->is_dead = false;
        state->is_activated = false;
        state->is_finished = false;
    }
}

/* Every segment of the root frame ends in a run that was not stopped, live or dead: that one has not means a fault in the
 * plan, and results that look whole would not be. */
static weir_status check_complete(const weir_run_state *run)
{
    for (int i = 0; i < run->plan->frames[0].num_segments; i++) {
        const weir_segment_run *state = &run->root_iteration.segments[i];
        if (!state->is_finished && state->segment->kind != WEIR_KIND_ENTER)
            return weir_fail(WEIR_INTERNAL, "Node '%s' has not run: its plan waits for itself",
                             run->plan->nodes[run->plan->order[state->segment->first]].node->name);
    }
    return WEIR_STATUS_OK;
}

static void set_done(weir_run_state *run)
{
    if (!run->is_stopped && !run->plan->is_partial && run->is_begun)
        weir_error_set(&run->error, check_complete(run));
    run->is_done = true;
    pthread_cond_broadcast(&run->changed);
}

void weir_run_begin(weir_run_state *run, weir_tensor *const *feeds)
{
    for (int i = 0; i < run->plan->num_feeds; i++) {
        if (feeds[i] != NULL)
            set_feed(run, i, feeds[i]);
    }
    if (run->is_direct)
        return; /* weir_run_join walks it */
    pthread_mutex_lock(&run->mutex);
    run->is_begun = true;
    reset_segments(run);
    run->root.outstanding = 1; /* until all that can start has started */
    run->root_iteration.outstanding = 1;
    if (run->plan->is_partial) {
        run->root.outstanding++; /* until the partial run is ended */
        run->root_iteration.outstanding++;
    }
    for (int s = 0; s < run->plan->num_segments; s++) {
        if (!run->is_stopped && starts_at_once(&run->plan->segments[s]))
            weir_segment_ready(run, &run->root_iteration.segments[run->plan->segments[s].local]);
    }
    weir_iteration_settle(run, &run->root_iteration);
    weir_run_unlock(run);
}

void weir_run_feed(weir_run_state *run, int feed, weir_tensor *tensor)
{
    pthread_mutex_lock(&run->mutex);
    set_feed(run, feed, tensor);
    for (int s = 0; s < run->plan->num_segments; s++) {
        const weir_segment *segment = &run->plan->segments[s];
        if (segment->kind != WEIR_KIND_FEED || run->plan->nodes[run->plan->order[segment->first]].feed != feed)
            continue;
        weir_segment_run *state = &run->root_iteration.segments[segment->local];
        run->root.outstanding++;
        run->root_iteration.outstanding++;
        weir_segment_done(run, state, false);
    }
    weir_run_unlock(run);
}

void weir_run_reset(weir_run_state *run)
{
    if (run->plan->num_frames > 1)
        weir_run_drop_frames(run);
    for (int i = 0; i < run->plan->frames[0].num_slots; i++) {
        const weir_slot *slot = &run->root_iteration.slots[i];
        if (!slot->is_kept && !slot->is_result)
            weir_slot_clear(&run->root_iteration.slots[i]);
    }
    bool has_met = weir_map_count(&run->local.items) > 0; /* keys say nothing of the run */
    if (run->error.code != WEIR_OK || run->is_stopped || has_met) {
        weir_error_clear(&run->error);
        for (int d = 0; d < run->plan->devices->count; d++) {
            weir_error_clear(&run->batches[d].error);
            run->batches[d].has_failed = false;
        }
        weir_local_rendezvous_clear(&run->local);
        (void)!weir_ok(weir_local_rendezvous_init(&run->local));
    }
    run->rendezvous = &run->local.base;
    run->is_stopped = false;
    run->is_done = false;
    run->is_calling = false;
    run->is_notified = false;
    run->is_abandoned = false;
    run->is_begun = false;
    run->deadline_ns = 0;
    run->done = NULL;
    run->metadata = NULL;
    run->is_collected = false;
}

/* Where a fetch has its tensor; NULL: nowhere. */
static weir_slot *result_slot(weir_run_state *run, int fetch)
{
    const weir_plan_value *value = weir_plan_value_of(run->plan, run->plan->fetches[fetch]);
    const weir_plan_value *root = weir_plan_value_of(run->plan, value->root);
    bool has_slot = value->place == WEIR_PLACE_SLOT && root->slot >= 0;
    return has_slot ? &run->root_iteration.slots[root->slot] : NULL;
}

void weir_run_rest(weir_run_state *run)
{
    if (run->is_direct && !run->is_stopped) {
        run->is_done = false;
        return;
    }
    for (int i = 0; i < run->plan->num_fetches; i++) { /* results live until the next run */
        weir_slot *slot = result_slot(run, i);
        if (slot != NULL && slot->tensor != NULL && !slot->is_borrowed)
            slot->is_result = true;
    }
    weir_run_reset(run);
}

void weir_run_drop_results(weir_run_state *run)
{
    for (int i = 0; i < run->plan->num_fetches; i++) {
        weir_slot *slot = result_slot(run, i);
        if (slot != NULL && slot->is_result && !slot->is_kept)
            weir_slot_clear(slot);
        else if (slot != NULL)
            slot->is_result = false;
    }
}

bool weir_run_is_live(const weir_run_state *run, weir_port port)
{
    weir_port root = weir_plan_value_of(run->plan, port)->root;
    int segment = run->plan->nodes[root.node].segment;
    if (run->is_direct || segment < 0 || run->plan->segments[segment].frame != 0)
        return true; /* or has no tensor */
    const weir_segment_run *state = &run->root_iteration.segments[run->plan->segments[segment].local];
    return state->is_finished && !state->is_dead;
}

void weir_run_end_partial(weir_run_state *run)
{
    pthread_mutex_lock(&run->mutex);
    weir_iteration_settle(run, &run->root_iteration);
    weir_run_unlock(run);
}

bool weir_partial_is_there(const weir_run_state *run, weir_port fetch)
{
    const weir_plan_value *value = weir_plan_value_of(run->plan, fetch);
    int segment = run->plan->nodes[fetch.node].segment;
    if (segment < 0)
        segment = run->plan->nodes[value->root.node].segment;
    if (segment >= 0 && run->plan->segments[segment].frame != 0) { /* a loop's exit */
        int slot = weir_plan_value_of(run->plan, value->root)->slot;
        return slot >= 0 && run->root_iteration.slots[slot].tensor != NULL;
    }
    return segment < 0 || run->root_iteration.segments[run->plan->segments[segment].local].is_finished;
}

/* ---- Failing ---- */

void weir_run_fail(weir_run_state *run, weir_status status)
{
    if (run->is_stopped)
        return;
    weir_error_set(&run->error, status);
    atomic_store(&run->is_stopped, true);
    for (weir_waiting *waiting = run->waits, *next = NULL; waiting != NULL; waiting = next) {
        next = waiting->next;
        if (!waiting->is_starting && !waiting->is_cancelled && waiting->wait.cancel != NULL) {
            waiting->is_cancelled = true;
            waiting->next_cancelled = run->to_cancel;
            run->to_cancel = waiting;
        }
    }
    for (weir_frame_run *frame = run->frames, *next = NULL; frame != NULL; frame = next) {
        next = frame->next;
        if (frame->outstanding == 0)
            weir_frame_settle(run, frame);
    }
    for (int q = 0; q < run->num_queues; q++) {
        if (run->queues[q].head != NULL)
            weir_session_post(run, q); /* so that what is queued is let go */
    }
    pthread_cond_broadcast(&run->changed);
}

/* Ends the waits that a failure left; without the mutex, since they may end at once. */
static weir_waiting *take_cancelled(weir_run_state *run)
{
    weir_waiting *first = run->to_cancel;
    run->to_cancel = NULL;
    return first;
}

void weir_run_unlock(weir_run_state *run)
{
    weir_waiting *cancelled = take_cancelled(run);
    if (cancelled != NULL) {
        run->root.outstanding++; /* the run must not end while they are being told */
        run->root_iteration.outstanding++;
        pthread_mutex_unlock(&run->mutex);
        for (weir_waiting *at = cancelled, *next = NULL; at != NULL; at = next) {
            next = at->next_cancelled;
            at->wait.cancel(&at->wait);
        }
        pthread_mutex_lock(&run->mutex);
        weir_iteration_settle(run, &run->root_iteration);
    }
    bool calls = run->is_done && run->done != NULL && !run->is_calling;
    if (calls) {
        run->is_calling = true;
        run->notifier = pthread_self();
    }
    void (*done)(void *, weir_pending_run *) = run->done;
    void *context = run->done_context;
    pthread_mutex_unlock(&run->mutex);
    if (!calls)
        return;
    done(context, run);
    pthread_mutex_lock(&run->mutex);
    run->is_notified = true;
    bool is_abandoned = run->is_abandoned;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->mutex);
    if (is_abandoned)
        weir_run_dispose(run);
}

void weir_run_stop(weir_run_state *run, weir_status status)
{
    pthread_mutex_lock(&run->mutex);
    if (run->is_direct || !run->is_begun) { /* whoever walks it, or begins it, will see */
        weir_error_set(&run->error, status);
        atomic_store(&run->is_stopped, true);
    } else if (!run->is_done) {
        weir_run_fail(run, status);
    }
    weir_run_unlock(run);
}

/* ---- Scheduling, with the mutex held ---- */

static int queue_of(const weir_run_state *run, const weir_segment *segment)
{
    return segment->device < run->num_queues ? segment->device : 0;
}

void weir_segment_ready(weir_run_state *run, weir_segment_run *segment)
{
    int index = queue_of(run, segment->segment);
    weir_queue *queue = &run->queues[index];
    segment->is_activated = true;
    segment->iteration->outstanding++;
    segment->iteration->frame->outstanding++;
    segment->next = NULL;
    if (queue->head == NULL)
        queue->head = segment;
    else
        queue->tail->next = segment;
    queue->tail = segment;
    if (queue->is_walked)
        return;
    if (run->waiters > 0)
        pthread_cond_signal(&run->changed);
    if (index > 0 || run->waiters == 0)
        weir_session_post(run, index);
}

static int data_edges(const weir_run_state *run, const weir_segment_run *merge)
{
    const weir_plan_node *node = &run->plan->nodes[run->plan->order[merge->segment->first]];
    int count = 0;
    for (int i = 0; i < node->num_inputs; i++) {
        bool is_back = run->plan->nodes[node->inputs[i].node].kind == WEIR_KIND_NEXT_ITERATION;
        count += is_back == (merge->iteration->number > 0);
    }
    return count;
}

static void arrive_at_merge(weir_run_state *run, weir_segment_run *to, const weir_successor *edge, bool is_dead)
{
    if (edge->input < 0)
        to->waiting--;
    else if (is_dead)
        to->dead_inputs++;
    else if (to->merged_input < 0)
        to->merged_input = edge->input;
    bool is_decided = to->merged_input >= 0 || to->dead_inputs == data_edges(run, to);
    if (!to->is_activated && to->waiting == 0 && is_decided) {
        to->is_dead = to->merged_input < 0;
        weir_segment_ready(run, to);
    }
}

void weir_segment_arrive(weir_run_state *run, weir_segment_run *to, const weir_successor *edge, bool is_dead)
{
    if (to->segment->kind == WEIR_KIND_MERGE) {
        arrive_at_merge(run, to, edge, is_dead);
        return;
    }
    to->is_dead = to->is_dead || is_dead;
    if (--to->waiting == 0)
        weir_segment_ready(run, to);
}

void weir_iteration_settle(weir_run_state *run, weir_iteration *iteration)
{
    weir_frame_run *frame = iteration->frame;
    iteration->outstanding--;
    if (--frame->outstanding > 0 && frame->parent == NULL) {
        if (run->plan->is_partial && frame->outstanding == 1)
            pthread_cond_broadcast(&run->changed); /* at rest until its owner goes on */
        return;
    }
    if (frame->parent != NULL)
        weir_frame_settle(run, frame);
    else
        set_done(run);
}

void weir_segment_done(weir_run_state *run, weir_segment_run *segment, bool is_dead)
{
    const weir_segment *plan_segment = segment->segment;
    segment->is_finished = true;
    segment->is_dead = is_dead;
    bool goes_on = !atomic_load_explicit(&run->is_stopped, memory_order_relaxed);
    bool passes = plan_segment->kind != WEIR_KIND_ENTER && plan_segment->kind != WEIR_KIND_EXIT &&
                  plan_segment->kind != WEIR_KIND_NEXT_ITERATION;
    for (int i = 0; goes_on && passes && i < plan_segment->num_successors; i++) {
        const weir_successor *edge = &plan_segment->successors[i];
        bool edge_is_dead = is_dead || (edge->branch >= 0 && edge->branch != segment->merged_input);
        edge_is_dead = edge_is_dead && !edge->is_order;
        weir_segment_arrive(run, &segment->iteration->segments[run->plan->segments[edge->segment].local], edge,
                            edge_is_dead);
    }
    if (run->plan->is_partial)
        pthread_cond_broadcast(&run->changed); /* somebody may want just this value */
    weir_iteration_settle(run, segment->iteration);
}

/* ---- Switch and Merge ---- */

static weir_status decide_switch(weir_run_state *run, weir_segment_run *segment)
{
    const weir_plan_node *node = &run->plan->nodes[run->plan->order[segment->segment->first]];
    weir_tensor *condition = NULL;
    weir_tensor *owned = NULL;
    weir_status status = weir_value_tensor(run, segment->iteration, node->inputs[1], &condition, &owned);
    if (!weir_ok(status))
        return status;
    if (condition == NULL || condition->dtype != WEIR_BOOL || condition->elements != 1)
        status = weir_fail(WEIR_INVALID_ARGUMENT, "The condition of '%s' must be a bool scalar", node->node->name);
    else
        segment->merged_input = *(const bool *)condition->data ? 1 : 0;
    weir_tensor_free(owned);
    if (!weir_ok(status))
        return status;
    const weir_plan_value *value = &run->plan->values[node->first_value + segment->merged_input];
    if (value->place == WEIR_PLACE_VARIABLE || value->slot < 0)
        return WEIR_STATUS_OK;
    weir_tensor *data = NULL;
    WEIR_TRY(weir_value_tensor(run, segment->iteration, node->inputs[0], &data, &owned));
    weir_slot_set(&segment->iteration->slots[value->slot], data);
    weir_tensor_free(owned);
    return WEIR_STATUS_OK;
}

static weir_status decide_merge(weir_run_state *run, weir_segment_run *segment)
{
    const weir_plan_node *node = &run->plan->nodes[run->plan->order[segment->segment->first]];
    const weir_plan_value *value = &run->plan->values[node->first_value];
    weir_tensor *data = NULL;
    weir_tensor *owned = NULL;
    if (value->slot >= 0) {
        WEIR_TRY(weir_value_tensor(run, segment->iteration, node->inputs[segment->merged_input], &data, &owned));
        weir_slot_set(&segment->iteration->slots[value->slot], data);
        weir_tensor_free(owned);
    }
    int slot = node->num_outputs > 1 ? value[1].slot : -1;
    if (slot < 0)
        return WEIR_STATUS_OK;
    weir_tensor *index = NULL;
    WEIR_TRY(weir_tensor_new(WEIR_INT32, weir_shape_scalar(), &index));
    *weir_tensor_int32s(index) = segment->merged_input;
    weir_slot_set(&segment->iteration->slots[slot], index);
    weir_tensor_free(index);
    return WEIR_STATUS_OK;
}

/* ---- Walking ---- */

static weir_status walk_control(weir_run_state *run, weir_segment_run *segment)
{
    weir_status status = WEIR_STATUS_OK;
    if (segment->segment->kind == WEIR_KIND_SWITCH && !segment->is_dead)
        status = decide_switch(run, segment);
    else if (segment->segment->kind == WEIR_KIND_MERGE && !segment->is_dead)
        status = decide_merge(run, segment);
    if (!weir_ok(status))
        weir_run_fail(run, status);
    weir_segment_done(run, segment, segment->is_dead && segment->segment->kind != WEIR_KIND_TRIGGER);
    return status;
}

/* Code, transfers and sends: what computes or copies, without the mutex. */
static void walk_work(weir_run_state *run, weir_segment_run *segment)
{
    bool is_done = true;
    weir_status status = WEIR_STATUS_OK;
    weir_kind kind = segment->segment->kind;
    pthread_mutex_unlock(&run->mutex);
    if (kind == WEIR_KIND_SEND)
        status = weir_run_send(run, segment);
    else if (kind == WEIR_KIND_TRANSFER && !segment->is_dead)
        status = weir_run_transfer(run, segment, &is_done);
    else if (kind == WEIR_KIND_CODE && !segment->is_dead)
        status = weir_run_code(run, segment, &is_done);
    pthread_mutex_lock(&run->mutex);
    if (!weir_ok(status))
        weir_run_fail(run, status);
    if (is_done)
        weir_segment_done(run, segment, segment->is_dead);
}

static void walk_segment(weir_run_state *run, weir_segment_run *segment)
{
    switch (segment->segment->kind) {
    case WEIR_KIND_SWITCH:
    case WEIR_KIND_MERGE:
    case WEIR_KIND_TRIGGER:
        (void)!weir_ok(walk_control(run, segment));
        break;
    case WEIR_KIND_ENTER:
        weir_run_enter(run, segment);
        break;
    case WEIR_KIND_EXIT:
        weir_run_exit(run, segment);
        break;
    case WEIR_KIND_NEXT_ITERATION:
        weir_run_next_iteration(run, segment);
        break;
    case WEIR_KIND_WAIT:
    case WEIR_KIND_RECEIVE:
        if (segment->is_dead) {
            weir_segment_done(run, segment, true);
            break;
        }
        pthread_mutex_unlock(&run->mutex);
        weir_run_wait_start(run, segment);
        pthread_mutex_lock(&run->mutex);
        break;
    default:
        walk_work(run, segment);
        break;
    }
}

void weir_run_walk(weir_run_state *run, int index)
{
    weir_queue *queue = &run->queues[index];
    if (queue->is_walked)
        return;
    queue->is_walked = true;
    while (queue->head != NULL) {
        weir_segment_run *segment = queue->head;
        queue->head = segment->next;
        if (run->is_stopped)
            weir_iteration_settle(run, segment->iteration);
        else
            walk_segment(run, segment);
    }
    queue->is_walked = false;
}

/* ---- Waiting for the end ---- */

bool weir_run_walk_any(weir_run_state *run)
{
    for (int q = 0; q < run->num_queues; q++) {
        if (run->queues[q].head != NULL && !run->queues[q].is_walked) {
            weir_run_walk(run, q);
            return true;
        }
    }
    return false;
}

static void sleep_until(weir_run_state *run, int64_t deadline_ns)
{
    if (deadline_ns == 0) {
        pthread_cond_wait(&run->changed, &run->mutex);
        return;
    }
    struct timespec until = {deadline_ns / 1000000000, deadline_ns % 1000000000};
    (void)pthread_cond_timedwait(&run->changed, &run->mutex, &until);
}

/* DEADLINE_EXCEEDED with what the run waits for. */
void weir_run_check_deadline(weir_run_state *run)
{
    if (run->deadline_ns == 0 || run->is_stopped || run->is_done || weir_now_ns() < run->deadline_ns)
        return;
    weir_text waits = {0};
    weir_run_describe_waits(run, &waits);
    weir_run_fail(run, weir_fail(WEIR_DEADLINE_EXCEEDED, "Timed out waiting for notification%s%s",
                                 waits.length > 0 ? ": " : "", weir_text_get(&waits)));
    weir_text_clear(&waits);
}

static bool join_direct(weir_run_state *run)
{
    bool is_done = true;
    weir_status status = WEIR_STATUS_OK;
    if (run->plan->num_segments > 0)
        status = weir_run_code(run, &run->root_iteration.segments[0], &is_done);
    if (!weir_ok(status)) {
        pthread_mutex_lock(&run->mutex);
        weir_error_set(&run->error, status);
        atomic_store(&run->is_stopped, true);
        pthread_mutex_unlock(&run->mutex);
    }
    run->is_done = true;
    return true;
}

bool weir_run_join(weir_run_state *run, int64_t wait_deadline_ns)
{
    if (run->is_direct)
        return run->is_done || join_direct(run);
    pthread_mutex_lock(&run->mutex);
    run->waiters++;
    bool is_late = false;
    while (!run->is_done && !is_late) {
        if (weir_run_walk_any(run))
            continue;
        if (run->to_cancel != NULL) {
            weir_run_unlock(run);
            pthread_mutex_lock(&run->mutex);
            continue;
        }
        int64_t until = run->is_stopped ? 0 : run->deadline_ns;
        if (wait_deadline_ns > 0 && (until == 0 || wait_deadline_ns < until))
            until = wait_deadline_ns;
        sleep_until(run, until);
        weir_run_check_deadline(run);
        is_late = wait_deadline_ns > 0 && weir_now_ns() >= wait_deadline_ns;
    }
    run->waiters--;
    for (int q = 0; q < run->num_queues && !run->is_done; q++) { /* what this thread was to walk */
        if (run->queues[q].head != NULL && !run->queues[q].is_walked)
            weir_session_post(run, q);
    }
    bool is_done = run->is_done;
    weir_run_unlock(run);
    return is_done;
}
