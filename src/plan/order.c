/*
 * The order in which nodes are walked: topological, by number where that leaves a choice, but writers of variables as
 * late as can be, so that reads (by their consumers) come before writes unless a dependency says otherwise.
 *
 * What is read by handle (ReadVariableOp) is the value at that moment: where a consumer had to be put after a writer, the
 * read becomes a copy.
 */
#include <string.h>

#include "plan/plan.h"

typedef struct ordering {
    weir_plan *plan;
    int *waiting;    /* [nodes]: producers not yet in the order */
    int *first_edge; /* [nodes + 1]: consumers of each node, in edges */
    int *edges;
    int *ready;   /* heap of ready nodes that write nothing */
    int *writers; /* heap of ready writers */
    int num_ready, num_writers, num_last;
    int *last;            /* heap of ready nodes that come after all writers */
    WEIR_LIST(int) reads; /* of each variable: nodes not yet in the order that read it */
    weir_map variables;   /* address of the variable (its bytes) -> index in reads, plus 1 */
    weir_arena arena;
} ordering;

static bool is_back_edge(const weir_plan *plan, const weir_plan_node *node, int input)
{
    return node->kind == WEIR_KIND_MERGE && plan->nodes[node->inputs[input].node].kind == WEIR_KIND_NEXT_ITERATION;
}

/* Values that are there before anything runs. */
static bool is_ordered(const weir_plan *plan, const weir_plan_node *node)
{
    if (node->kind == WEIR_KIND_VARIABLE)
        return false;
    if (node->kind == WEIR_KIND_FEED)
        return plan->is_partial;
    return node->kind != WEIR_KIND_CONSTANT || node->num_controls > 0;
}

/* ---- Heaps of node numbers, smallest first ---- */

static void sift_up(int *heap, int at, int node)
{
    for (; at > 0 && heap[(at - 1) / 2] > node; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = node;
}

static void push(int *heap, int *count, int node)
{
    sift_up(heap, (*count)++, node);
}

/* Takes the node at a place of the heap. */
static int take(int *heap, int *count, int at)
{
    int taken = heap[at];
    int moved = heap[--*count];
    if (at == *count)
        return taken;
    if (at > 0 && heap[(at - 1) / 2] > moved) {
        sift_up(heap, at, moved);
        return taken;
    }
    for (;;) {
        int child = 2 * at + 1;
        if (child >= *count)
            break;
        if (child + 1 < *count && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= moved)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
    return taken;
}

/* ---- Edges ---- */

static int producer_of(const weir_plan *plan, const weir_plan_node *node, int i)
{
    int producer = i < node->num_inputs ? node->inputs[i].node : node->controls[i - node->num_inputs];
    if (i < node->num_inputs && is_back_edge(plan, node, i))
        return -1;
    return is_ordered(plan, &plan->nodes[producer]) ? producer : -1;
}

static weir_status find_edges(ordering *o)
{
    weir_plan *plan = o->plan;
    size_t count = (size_t)plan->num_nodes;
    o->waiting = weir_allocate(count, sizeof *o->waiting);
    o->first_edge = weir_allocate(count + 1, sizeof *o->first_edge);
    o->ready = weir_allocate(count, sizeof *o->ready);
    o->writers = weir_allocate(count, sizeof *o->writers);
    o->last = weir_allocate(count, sizeof *o->last);
    if (o->waiting == NULL || o->first_edge == NULL || o->ready == NULL || o->writers == NULL || o->last == NULL)
        return weir_fail_memory(count * sizeof(int));
    for (int n = 0; n < plan->num_nodes; n++) {
        const weir_plan_node *node = &plan->nodes[n];
        for (int i = 0; is_ordered(plan, node) && i < node->num_inputs + node->num_controls; i++) {
            int producer = producer_of(plan, node, i);
            if (producer >= 0)
                o->first_edge[producer + 1]++;
        }
    }
    for (size_t n = 0; n < count; n++)
        o->first_edge[n + 1] += o->first_edge[n];
    o->edges = weir_allocate((size_t)o->first_edge[count], sizeof *o->edges);
    int *filled = weir_allocate(count, sizeof *filled);
    if (o->edges == NULL || filled == NULL) {
        weir_release(filled);
        return weir_fail_memory((size_t)o->first_edge[count] * sizeof(int));
    }
    for (int n = 0; n < plan->num_nodes; n++) {
        const weir_plan_node *node = &plan->nodes[n];
        for (int i = 0; is_ordered(plan, node) && i < node->num_inputs + node->num_controls; i++) {
            int producer = producer_of(plan, node, i);
            if (producer < 0)
                continue;
            o->edges[o->first_edge[producer] + filled[producer]++] = n;
            o->waiting[n]++;
        }
    }
    weir_release(filled);
    return WEIR_STATUS_OK;
}

static void make_ready(ordering *o, int node)
{
    if (o->plan->nodes[node].is_writer)
        push(o->writers, &o->num_writers, node);
    else if (o->plan->nodes[node].is_last)
        push(o->last, &o->num_last, node);
    else
        push(o->ready, &o->num_ready, node);
}

/* ---- Readers that have not been reached yet ---- */

/* The count of an input that is the memory of a variable and is not written by the node; NULL for others. */
static int *reads_of(const ordering *o, const weir_plan_node *node, int input)
{
    const weir_plan_value *value = weir_plan_value_of(o->plan, node->inputs[input]);
    bool is_write = node->kernel != NULL && input < 32 && (node->kernel->writes >> input & 1) != 0;
    if (value->place != WEIR_PLACE_VARIABLE || is_write || node->kind == WEIR_KIND_PASS || node->is_last)
        return NULL;
    intptr_t index = (intptr_t)weir_map_get(&o->variables, (const char *)&value->variable, sizeof value->variable);
    return index > 0 ? &o->reads.items[index - 1] : NULL;
}

static void note_reads(const ordering *o, int index, int change)
{
    const weir_plan_node *node = &o->plan->nodes[index];
    for (int i = 0; i < node->num_inputs; i++) {
        int *reads = reads_of(o, node, i);
        if (reads != NULL)
            *reads += change;
    }
}

/* Only variables that somebody writes have a count. */
static weir_status count_reads(ordering *o)
{
    const weir_plan *plan = o->plan;
    bool has_writers = false;
    for (int n = 0; n < plan->num_nodes; n++) {
        const weir_plan_node *node = &plan->nodes[n];
        for (int i = 0; node->is_writer && i < node->num_inputs && i < 32; i++) {
            const weir_plan_value *value = weir_plan_value_of(plan, node->inputs[i]);
            if ((node->kernel->writes >> i & 1) == 0 || value->variable == NULL ||
                weir_map_get(&o->variables, (const char *)&value->variable, sizeof value->variable) != NULL)
                continue;
            const weir_variable **key = weir_arena_take(&o->arena, 1, sizeof *key);
            if (key == NULL)
                return weir_fail_memory(sizeof *key);
            *key = value->variable;
            WEIR_TRY(weir_list_add(&o->reads, 0));
            WEIR_TRY(weir_map_put(&o->variables, (const char *)key, sizeof *key, (void *)(intptr_t)o->reads.count));
            has_writers = true;
        }
    }
    for (int n = 0; has_writers && n < plan->num_nodes; n++) {
        if (is_ordered(plan, &plan->nodes[n]))
            note_reads(o, n, 1);
    }
    return WEIR_STATUS_OK;
}

/* True if somebody else is still to read what the node writes. */
static bool is_awaited(const ordering *o, int index)
{
    const weir_plan_node *node = &o->plan->nodes[index];
    for (int i = 0; i < node->num_inputs && i < 32; i++) {
        const weir_plan_value *value = weir_plan_value_of(o->plan, node->inputs[i]);
        if ((node->kernel->writes >> i & 1) == 0 || value->variable == NULL)
            continue;
        intptr_t at = (intptr_t)weir_map_get(&o->variables, (const char *)&value->variable, sizeof value->variable);
        int own = 0; /* a writer that reads its variable as well */
        for (int j = 0; j < node->num_inputs; j++)
            own += reads_of(o, node, j) == &o->reads.items[at - 1];
        if (o->reads.items[at - 1] > own)
            return true;
    }
    return false;
}

/* Writers wait until all have read that can; of those that need not wait, or if all must, the first. */
static int take_writer(ordering *o)
{
    int best = is_awaited(o, o->writers[0]) ? -1 : 0;
    for (int i = 1; best != 0 && i < o->num_writers; i++) {
        if ((best < 0 || o->writers[i] < o->writers[best]) && !is_awaited(o, o->writers[i]))
            best = i;
    }
    return take(o->writers, &o->num_writers, best < 0 ? 0 : best);
}

static int take_next(ordering *o)
{
    int node = o->num_ready > 0     ? take(o->ready, &o->num_ready, 0)
               : o->num_writers > 0 ? take_writer(o)
                                    : take(o->last, &o->num_last, 0);
    if (o->reads.count > 0)
        note_reads(o, node, -1);
    return node;
}

static weir_status sort(ordering *o)
{
    weir_plan *plan = o->plan;
    int expected = 0;
    for (int n = 0; n < plan->num_nodes; n++) {
        if (!is_ordered(plan, &plan->nodes[n]))
            continue;
        expected++;
        if (o->waiting[n] == 0)
            make_ready(o, n);
    }
    plan->order = weir_arena_take(&plan->arena, (size_t)expected, sizeof *plan->order);
    if (plan->order == NULL)
        return weir_fail_memory((size_t)expected * sizeof *plan->order);
    WEIR_TRY(count_reads(o));
    while (o->num_ready + o->num_writers + o->num_last > 0) {
        int node = take_next(o);
        plan->nodes[node].position = plan->num_ordered;
        plan->order[plan->num_ordered++] = node;
        for (int i = o->first_edge[node]; i < o->first_edge[node + 1]; i++) {
            if (--o->waiting[o->edges[i]] == 0)
                make_ready(o, o->edges[i]);
        }
    }
    if (plan->num_ordered != expected)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%d nodes in a cycle", expected - plan->num_ordered);
    return WEIR_STATUS_OK;
}

/* ---- Reads that must be copies ---- */

static int last_use(const ordering *o, int node)
{
    int last = o->plan->nodes[node].position;
    for (int i = o->first_edge[node]; i < o->first_edge[node + 1]; i++) {
        int consumer = o->edges[i];
        int use =
            o->plan->nodes[consumer].kind == WEIR_KIND_PASS ? last_use(o, consumer) : o->plan->nodes[consumer].position;
        last = use > last ? use : last;
    }
    return last;
}

static bool is_written_between(const weir_plan *plan, const weir_variable *variable, int first, int last)
{
    for (int at = first + 1; at < last; at++) {
        const weir_plan_node *node = &plan->nodes[plan->order[at]];
        for (int i = 0; node->is_writer && i < node->num_inputs; i++) {
            if (node->kernel->writes >> i & 1 && weir_plan_value_of(plan, node->inputs[i])->variable == variable)
                return true;
        }
    }
    return false;
}

static bool is_fetched(const weir_plan *plan, int node)
{
    for (int i = 0; i < plan->num_fetches; i++) {
        if (plan->fetches[i].node == node)
            return true;
    }
    return false;
}

static bool has_writers(const weir_plan *plan)
{
    for (int n = 0; n < plan->num_nodes; n++) {
        if (plan->nodes[n].is_writer)
            return true;
    }
    return false;
}

static void copy_late_reads(ordering *o)
{
    weir_plan *plan = o->plan;
    if (!has_writers(plan))
        return;
    for (int n = 0; n < plan->num_nodes; n++) {
        weir_plan_node *node = &plan->nodes[n];
        if (node->kind != WEIR_KIND_READ)
            continue;
        weir_plan_value *value = &plan->values[node->first_value];
        int last = is_fetched(plan, n) ? plan->num_ordered : last_use(o, n);
        if (!is_written_between(plan, value->variable, node->position, last))
            continue;
        node->kind = WEIR_KIND_COPY;
        value->place = WEIR_PLACE_ARENA;
        value->variable = NULL;
    }
}

/* Passing nodes after a read that became a copy pass the copy on. */
static void refresh_passes(weir_plan *plan)
{
    for (int at = 0; at < plan->num_ordered; at++) {
        const weir_plan_node *node = &plan->nodes[plan->order[at]];
        if (node->kind != WEIR_KIND_PASS)
            continue;
        for (int i = 0; i < node->num_outputs && i < node->num_inputs; i++) {
            const weir_plan_value *input = weir_plan_value_of(plan, node->inputs[i]);
            weir_plan_value *value = &plan->values[node->first_value + i];
            value->root = input->root;
            if (value->place == WEIR_PLACE_VARIABLE || input->place != WEIR_PLACE_VARIABLE) {
                value->place = input->place;
                value->variable = input->variable;
                value->constant = input->constant;
            }
        }
    }
}

weir_status weir_plan_order(weir_plan *plan)
{
    ordering o = {.plan = plan};
    weir_status status = find_edges(&o);
    if (weir_ok(status))
        status = sort(&o);
    if (weir_ok(status)) {
        copy_late_reads(&o);
        refresh_passes(plan);
    }
    weir_release(o.waiting);
    weir_release(o.first_edge);
    weir_release(o.edges);
    weir_release(o.ready);
    weir_release(o.writers);
    weir_release(o.last);
    weir_list_clear(&o.reads);
    weir_map_clear(&o.variables);
    weir_arena_clear(&o.arena);
    return status;
}
