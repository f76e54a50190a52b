/*
 * Loops as they are: Enter makes or finds the frame, NextIteration begins the next iteration, Exit leaves. A frame is done
 * when all its Enters have come and nothing is outstanding; exits through which nothing live went are dead then.
 */
#include <string.h>

#include "run/frame_id.h"
#include "run/run.h"
#include "run/session.h"

static const weir_plan_node *single_node(const weir_run_state *run, const weir_segment_run *segment)
{
    return &run->plan->nodes[run->plan->order[segment->segment->first]];
}

static int child_frame(const weir_run_state *run, const weir_plan_node *enter)
{
    weir_bytes name = weir_node_string(enter->node, "frame_name");
    for (int i = 1; i < run->plan->num_frames; i++) {
        const weir_plan_frame *frame = &run->plan->frames[i];
        if (frame->parent == enter->frame && strlen(frame->name) == name.size &&
            memcmp(frame->name, name.data, name.size) == 0)
            return i;
    }
    return 0;
}

/* ---- Frames and iterations ---- */

static void free_iteration(weir_run_state *run, weir_iteration *iteration)
{
    const weir_plan_frame *frame = &run->plan->frames[iteration->frame->frame];
    for (int i = 0; iteration->slots != NULL && i < frame->num_slots; i++)
        weir_slot_clear(&iteration->slots[i]);
    for (int i = 0; iteration->segments != NULL && i < frame->num_segments; i++)
        weir_waiting_free(iteration->segments[i].wait);
    weir_release(iteration->slots);
    weir_release(iteration->segments);
    weir_release(iteration);
}

static weir_status new_iteration(weir_run_state *run, weir_frame_run *frame, int64_t number, weir_iteration **out)
{
    const weir_plan_frame *plan_frame = &run->plan->frames[frame->frame];
    weir_iteration *iteration = NULL;
    WEIR_TRY(weir_new(&iteration, 1));
    iteration->frame = frame;
    iteration->number = number;
    weir_status status = weir_new(&iteration->slots, (size_t)plan_frame->num_slots);
    if (weir_ok(status))
        status = weir_new(&iteration->segments, (size_t)plan_frame->num_segments);
    if (!weir_ok(status)) {
        free_iteration(run, iteration);
        return status;
    }
    for (int s = 0; s < run->plan->num_segments; s++) {
        const weir_segment *segment = &run->plan->segments[s];
        if (segment->frame == frame->frame)
            iteration->segments[segment->local] = (weir_segment_run){.iteration = iteration,
                                                                     .segment = segment,
                                                                     .run = run,
                                                                     .waiting = segment->num_waits,
                                                                     .merged_input = -1};
    }
    iteration->next = frame->iterations;
    frame->iterations = iteration;
    *out = iteration;
    return WEIR_STATUS_OK;
}

static void free_frame(weir_run_state *run, weir_frame_run *frame)
{
    while (frame->iterations != NULL) {
        weir_iteration *next = frame->iterations->next;
        free_iteration(run, frame->iterations);
        frame->iterations = next;
    }
    for (size_t i = 0; i < frame->invariants.count; i++)
        weir_tensor_free(frame->invariants.items[i].tensor);
    weir_list_clear(&frame->invariants);
    weir_release(frame->exit_done);
    weir_release(frame);
}

void weir_run_drop_frames(weir_run_state *run)
{
    weir_frame_run **lists[] = {&run->frames, &run->ended_frames};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        while (*lists[i] != NULL) {
            weir_frame_run *next = (*lists[i])->next;
            free_frame(run, *lists[i]);
            *lists[i] = next;
        }
    }
}

static weir_status new_frame(weir_run_state *run, const weir_plan_node *enter, weir_iteration *parent,
                             weir_frame_run **out)
{
    weir_frame_run *frame = NULL;
    WEIR_TRY(weir_new(&frame, 1));
    frame->frame = child_frame(run, enter);
    frame->parent = parent;
    frame->id = weir_frame_id(parent->frame->id, (uint64_t)parent->number, run->plan->frames[frame->frame].name);
    frame->enters_left = run->plan->frames[frame->frame].num_enters;
    weir_iteration *first = NULL;
    weir_status status = weir_new(&frame->exit_done, (size_t)run->plan->frames[frame->frame].num_segments);
    if (weir_ok(status))
        status = new_iteration(run, frame, 0, &first);
    if (!weir_ok(status)) {
        free_frame(run, frame);
        return status;
    }
    frame->next = run->frames;
    run->frames = frame;
    parent->outstanding++; /* the loop, until it is done */
    parent->frame->outstanding++;
    *out = frame;
    return WEIR_STATUS_OK;
}

static weir_status find_frame(weir_run_state *run, const weir_plan_node *enter, weir_iteration *parent,
                              weir_frame_run **out)
{
    int wanted = child_frame(run, enter);
    for (weir_frame_run *frame = run->frames; frame != NULL; frame = frame->next) {
        if (frame->frame == wanted && frame->parent == parent) {
            *out = frame;
            return WEIR_STATUS_OK;
        }
    }
    return new_frame(run, enter, parent, out);
}

/* ---- Values into iterations ---- */

/* An output of a node that belongs to another iteration: the value, and all edges of the node there. */
static void deliver(weir_run_state *run, const weir_segment_run *from, weir_iteration *to, weir_tensor *tensor,
                    bool is_dead)
{
    const weir_plan_node *node = single_node(run, from);
    int slot = run->plan->values[node->first_value].slot;
    if (!is_dead && slot >= 0)
        weir_slot_set(&to->slots[slot], tensor);
    for (int i = 0; i < from->segment->num_successors; i++) {
        const weir_successor *edge = &from->segment->successors[i];
        weir_segment_arrive(run, &to->segments[run->plan->segments[edge->segment].local], edge,
                            is_dead && !edge->is_order);
    }
}

static weir_status input_of(weir_run_state *run, weir_segment_run *segment, weir_tensor **tensor, weir_tensor **owned)
{
    const weir_plan_node *node = single_node(run, segment);
    *tensor = *owned = NULL;
    if (segment->is_dead || run->plan->values[node->first_value].place == WEIR_PLACE_VARIABLE)
        return WEIR_STATUS_OK;
    return weir_value_tensor(run, segment->iteration, node->inputs[0], tensor, owned);
}

static weir_status enter(weir_run_state *run, weir_segment_run *segment)
{
    const weir_plan_node *node = single_node(run, segment);
    weir_frame_run *frame = NULL;
    weir_tensor *tensor = NULL;
    weir_tensor *owned = NULL;
    WEIR_TRY(input_of(run, segment, &tensor, &owned));
    weir_status status = find_frame(run, node, segment->iteration, &frame);
    if (weir_ok(status) && weir_node_bool(node->node, "is_constant", false)) {
        status = weir_list_add(&frame->invariants,
                               (typeof(*frame->invariants.items)){segment, weir_tensor_ref(tensor), segment->is_dead});
        for (weir_iteration *at = frame->iterations; weir_ok(status) && at != NULL; at = at->next)
            deliver(run, segment, at, tensor, segment->is_dead);
    } else if (weir_ok(status)) {
        weir_iteration *first = frame->iterations;
        while (first->number > 0 && first->next != NULL)
            first = first->next;
        deliver(run, segment, first, tensor, segment->is_dead);
    }
    weir_tensor_free(owned);
    if (!weir_ok(status))
        return status;
    frame->enters_left--;
    if (frame->outstanding == 0)
        weir_frame_settle(run, frame);
    return WEIR_STATUS_OK;
}

void weir_run_enter(weir_run_state *run, weir_segment_run *segment)
{
    weir_status status = enter(run, segment);
    if (!weir_ok(status))
        weir_run_fail(run, status);
    weir_iteration_settle(run, segment->iteration);
}

/* ---- Next iteration ---- */

/* Iterations whose work is over, and before which there is none, hold nothing that is needed. */
static void collect_iterations(weir_run_state *run, weir_frame_run *frame)
{
    if (run->is_stopped)
        return; /* waits that are being cancelled may still look at them */
    for (;;) {
        weir_iteration **at = &frame->iterations;
        while (*at != NULL && (*at)->next != NULL)
            at = &(*at)->next;
        weir_iteration *oldest = *at;
        bool may_go = oldest != NULL && oldest != frame->iterations && oldest->outstanding == 0 &&
                      (oldest->number > 0 || frame->enters_left == 0);
        if (!may_go)
            return;
        *at = NULL;
        free_iteration(run, oldest);
    }
}

static weir_status next_iteration(weir_run_state *run, weir_segment_run *segment)
{
    weir_frame_run *frame = segment->iteration->frame;
    weir_tensor *tensor = NULL;
    weir_tensor *owned = NULL;
    weir_iteration *next = frame->iterations;
    while (next != NULL && next->number != segment->iteration->number + 1)
        next = next->next;
    if (next == NULL) {
        WEIR_TRY(new_iteration(run, frame, segment->iteration->number + 1, &next));
        for (size_t i = 0; i < frame->invariants.count; i++)
            deliver(run, frame->invariants.items[i].enter, next, frame->invariants.items[i].tensor,
                    frame->invariants.items[i].is_dead);
    }
    WEIR_TRY(input_of(run, segment, &tensor, &owned));
    deliver(run, segment, next, tensor, false);
    weir_tensor_free(owned);
    return WEIR_STATUS_OK;
}

void weir_run_next_iteration(weir_run_state *run, weir_segment_run *segment)
{
    weir_frame_run *frame = segment->iteration->frame;
    weir_status status = segment->is_dead ? WEIR_STATUS_OK : next_iteration(run, segment);
    if (!weir_ok(status))
        weir_run_fail(run, status);
    collect_iterations(run, frame);
    weir_iteration_settle(run, segment->iteration);
}

/* ---- Exit ---- */

void weir_run_exit(weir_run_state *run, weir_segment_run *segment)
{
    weir_frame_run *frame = segment->iteration->frame;
    weir_tensor *tensor = NULL;
    weir_tensor *owned = NULL;
    if (!segment->is_dead && !run->is_stopped) {
        weir_status status = input_of(run, segment, &tensor, &owned);
        if (weir_ok(status) && frame->parent != NULL) {
            frame->exit_done[segment->segment->local] = 1;
            deliver(run, segment, frame->parent, tensor, false);
        }
        if (!weir_ok(status))
            weir_run_fail(run, status);
        weir_tensor_free(owned);
    }
    weir_iteration_settle(run, segment->iteration);
}

/* Dead exits of a loop that is over. */
static void leave_dead(weir_run_state *run, weir_frame_run *frame)
{
    for (int s = 0; s < run->plan->num_segments; s++) {
        const weir_segment *segment = &run->plan->segments[s];
        if (segment->frame != frame->frame || segment->kind != WEIR_KIND_EXIT || frame->exit_done[segment->local])
            continue;
        weir_segment_run exit = {.segment = segment, .run = run};
        deliver(run, &exit, frame->parent, NULL, true);
    }
}

void weir_frame_settle(weir_run_state *run, weir_frame_run *frame)
{
    bool is_over = frame->outstanding == 0 && (frame->enters_left == 0 || run->is_stopped) && !frame->has_ended;
    if (!is_over)
        return;
    frame->has_ended = true;
    if (!run->is_stopped)
        leave_dead(run, frame);
    weir_frame_run **at = &run->frames;
    while (*at != frame)
        at = &(*at)->next;
    *at = frame->next;
    weir_iteration *parent = frame->parent;
    frame->next = run->ended_frames;
    run->ended_frames = frame;
    if (!run->is_stopped) { /* else its waits may still be looked at */
        run->ended_frames = frame->next;
        free_frame(run, frame);
    }
    weir_iteration_settle(run, parent);
}
