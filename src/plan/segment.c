/*
 * Cuts the order into segments: stretches of one device in which nothing has to be waited for and nothing new becomes
 * known. Whatever waits, decides or moves data between devices is a segment of its own.
 *
 * A node's *sources* are the nodes after which something new is known on its way: waiting nodes, transfers, switches, and
 * nodes whose result decides shapes. Nodes with the same device, frame, sources and epoch form a segment. All of them
 * become ready together, are live or dead together, and no cycle of segments can arise: a source is never before itself.
 * The epoch grows along the order of reads and writes of a variable between segments, which keeps that free of cycles too.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

#define HASH_SIZE 4096

typedef struct source_set {
    int count;
    const int *items; /* sorted plan nodes */
    unsigned hash;
    struct source_set *next; /* with the same hash */
    int id;
} source_set;

typedef struct bucket {
    int device, frame, set, epoch, segment;
    struct bucket *next;
} bucket;

/* Segments that touched a variable before, for the order of reads and writes. */
typedef struct access {
    const weir_variable *variable;
    int segment;
    bool is_write;
    int next; /* of the same variable; -1 */
} access;

typedef struct edge {
    int from, to;
    int branch, input;
    bool is_order;
} edge;

typedef struct cutter {
    weir_plan *plan;
    weir_arena arena;
    source_set *sets[HASH_SIZE];
    source_set **by_id;
    int num_sets, set_capacity;
    bucket *buckets[HASH_SIZE];
    int *set_of;   /* [nodes] */
    int *epoch_of; /* [nodes] */
    WEIR_LIST(struct {
        weir_segment segment;
        int epoch;
        int set;
    })
    segments;
    WEIR_LIST(edge) edges;
    WEIR_LIST(access) accesses;
    weir_map variables; /* address of the variable (its bytes) -> index + 1 of its newest access */
} cutter;

/* ---- Sets of sources ---- */

static unsigned hash_items(const int *items, int count)
{
    unsigned hash = 2166136261u;
    for (int i = 0; i < count; i++)
        hash = (hash ^ (unsigned)items[i]) * 16777619u;
    return hash;
}

static weir_status intern(cutter *c, const int *items, int count, int *out)
{
    unsigned hash = hash_items(items, count);
    for (const source_set *set = c->sets[hash % HASH_SIZE]; set != NULL; set = set->next) {
        if (set->count == count && (count == 0 || memcmp(set->items, items, (size_t)count * sizeof *items) == 0)) {
            *out = set->id;
            return WEIR_STATUS_OK;
        }
    }
    source_set *made = weir_arena_take(&c->arena, 1, sizeof *made);
    int *kept = weir_arena_take(&c->arena, (size_t)count, sizeof *kept);
    if (c->num_sets == c->set_capacity) {
        int capacity = c->set_capacity * 2 + 16;
        source_set **grown = weir_reallocate(c->by_id, (size_t)capacity, sizeof *grown);
        if (grown == NULL)
            return weir_fail_memory((size_t)capacity * sizeof *grown);
        c->by_id = grown;
        c->set_capacity = capacity;
    }
    if (made == NULL || kept == NULL)
        return weir_fail_memory((size_t)count * sizeof *kept);
    if (count > 0)
        memcpy(kept, items, (size_t)count * sizeof *kept);
    *made =
        (source_set){.count = count, .items = kept, .hash = hash, .next = c->sets[hash % HASH_SIZE], .id = c->num_sets};
    c->sets[hash % HASH_SIZE] = made;
    c->by_id[c->num_sets] = made;
    *out = c->num_sets++;
    return WEIR_STATUS_OK;
}

static weir_status join(cutter *c, int a, int b, int *out)
{
    if (a == b || c->by_id[b]->count == 0) {
        *out = a;
        return WEIR_STATUS_OK;
    }
    if (c->by_id[a]->count == 0) {
        *out = b;
        return WEIR_STATUS_OK;
    }
    const source_set *x = c->by_id[a];
    const source_set *y = c->by_id[b];
    size_t most = (size_t)x->count + (size_t)y->count;
    int *items = weir_allocate(most, sizeof *items);
    if (items == NULL)
        return weir_fail_memory(most * sizeof *items);
    int count = 0;
    int i = 0;
    int j = 0;
    while (i < x->count || j < y->count) {
        int take = j == y->count || (i < x->count && x->items[i] <= y->items[j]) ? x->items[i] : y->items[j];
        i += i < x->count && x->items[i] == take;
        j += j < y->count && y->items[j] == take;
        items[count++] = take;
    }
    weir_status status = intern(c, items, count, out);
    weir_release(items);
    return status;
}

/* ---- What a producer adds to a consumer's sources ---- */

/* True if the consumer needs more of the producer's value than its memory: a shape or contents that are known only once it
 * has run. */
static bool learns_from(const weir_plan *plan, const weir_plan_node *consumer, int input, weir_port root)
{
    const weir_plan_node *producer = &plan->nodes[root.node];
    if (consumer->kind != WEIR_KIND_CODE && consumer->kind != WEIR_KIND_COPY)
        return false;
    if (producer->kind == WEIR_KIND_EXECUTE)
        return true;
    if (consumer->kernel == NULL || producer->is_foldable || producer->kind == WEIR_KIND_CONSTANT)
        return false;
    uint32_t shape_inputs = consumer->kernel->shape_inputs;
    return input < 32 ? (shape_inputs >> input & 1) != 0 : (shape_inputs >> 31 & 1) != 0;
}

static bool is_everywhere(const weir_plan_node *node)
{
    return node->position < 0; /* variables, constants and feeds are no part of the order */
}

/* A branch of a switch is a source of its own; encoded beside the nodes. */
static int branch_source(const weir_plan *plan, weir_port port)
{
    return plan->num_nodes + plan->nodes[port.node].first_value + port.output;
}

static weir_status sources_of(cutter *c, const weir_plan_node *consumer, int i, int *out)
{
    const weir_plan *plan = c->plan;
    bool is_data = i < consumer->num_inputs;
    weir_port port = is_data ? consumer->inputs[i] : (weir_port){consumer->controls[i - consumer->num_inputs], -1};
    const weir_plan_node *producer = &plan->nodes[port.node];
    if (weir_kind_stands_alone(producer->kind) || producer->kind == WEIR_KIND_FEED) {
        int source = producer->kind == WEIR_KIND_SWITCH && is_data ? branch_source(plan, port) : port.node;
        if (producer->kind == WEIR_KIND_TRANSFER)
            source = plan->num_nodes + plan->num_values + producer->segment; /* what arrives together */
        return intern(c, &source, 1, out);
    }
    *out = c->set_of[port.node];
    if (is_data && consumer->kind != WEIR_KIND_PASS) {
        weir_port root = weir_plan_value_of(plan, port)->root;
        if (learns_from(plan, consumer, i, root) && !is_everywhere(&plan->nodes[root.node])) {
            int late = 0;
            WEIR_TRY(intern(c, &root.node, 1, &late));
            return join(c, *out, late, out);
        }
    }
    return WEIR_STATUS_OK;
}

/* ---- Segments ---- */

static weir_status add_segment(cutter *c, weir_segment segment, int epoch, int set, int *out)
{
    *out = (int)c->segments.count;
    return weir_list_add(&c->segments, (typeof(*c->segments.items)){segment, epoch, set});
}

static weir_status find_segment(cutter *c, const weir_plan_node *node, int set, int epoch, int *out)
{
    unsigned hash =
        ((unsigned)set * 31u + (unsigned)epoch * 17u + (unsigned)node->device * 7u + (unsigned)node->frame) % HASH_SIZE;
    for (const bucket *at = c->buckets[hash]; at != NULL; at = at->next) {
        if (at->set == set && at->epoch == epoch && at->device == node->device && at->frame == node->frame) {
            *out = at->segment;
            return WEIR_STATUS_OK;
        }
    }
    bucket *made = weir_arena_take(&c->arena, 1, sizeof *made);
    if (made == NULL)
        return weir_fail_memory(sizeof *made);
    weir_segment segment = {.kind = WEIR_KIND_CODE, .device = node->device, .frame = node->frame};
    WEIR_TRY(add_segment(c, segment, epoch, set, out));
    *made = (bucket){node->device, node->frame, set, epoch, *out, c->buckets[hash]};
    c->buckets[hash] = made;
    return WEIR_STATUS_OK;
}

/* Transfers of one segment's values to one place arrive together. */
static weir_status find_transfer(cutter *c, const weir_plan_node *node, int producer_segment, int epoch, int *out)
{
    int set = -10 - (producer_segment + 1) * 2 - (node->feed != 0); /* beside the real sets */
    return find_segment(c, node, set, epoch, out);
}

/* ---- Order of reads and writes ---- */

static weir_status add_edge(cutter *c, edge made)
{
    return weir_list_add(&c->edges, made);
}

static int newest_access(const cutter *c, const weir_variable *variable)
{
    return (int)(intptr_t)weir_map_get(&c->variables, (const char *)&variable, sizeof variable) - 1;
}

static weir_status note_access(cutter *c, access made)
{
    const weir_variable **key = weir_arena_take(&c->arena, 1, sizeof(void *));
    if (key == NULL)
        return weir_fail_memory(sizeof(void *));
    *key = made.variable;
    WEIR_TRY(weir_list_add(&c->accesses, made));
    return weir_map_put(&c->variables, (const char *)key, sizeof(void *), (void *)(intptr_t)c->accesses.count);
}

/* Earlier accesses of the variable that this one must come after; raises the epoch past those of other segments. */
static int epoch_after(const cutter *c, const weir_plan_node *node, const weir_variable *variable, bool is_write,
                       int set, int epoch)
{
    for (int at = newest_access(c, variable); at >= 0; at = c->accesses.items[at].next) {
        const access *before = &c->accesses.items[at];
        typeof(&c->segments.items[0]) segment = &c->segments.items[before->segment];
        bool is_same = segment->set == set && segment->segment.device == node->device &&
                       segment->segment.frame == node->frame && segment->segment.kind == WEIR_KIND_CODE &&
                       !weir_kind_stands_alone(node->kind);
        if ((is_write || before->is_write) && segment->epoch + !is_same > epoch)
            epoch = segment->epoch + !is_same;
    }
    return epoch;
}

static bool touches(const weir_plan_node *node, int input, const weir_plan_value *value, bool *is_write)
{
    if (value->place != WEIR_PLACE_VARIABLE || value->variable == NULL || node->kind == WEIR_KIND_PASS ||
        node->kind == WEIR_KIND_READ)
        return false;
    *is_write = node->kernel != NULL && input < 32 && (node->kernel->writes >> input & 1) != 0;
    return true;
}

static weir_status note_accesses(cutter *c, const weir_plan_node *node, int segment)
{
    for (int i = 0; i < node->num_inputs; i++) {
        const weir_plan_value *value = weir_plan_value_of(c->plan, node->inputs[i]);
        bool is_write = false;
        if (!touches(node, i, value, &is_write))
            continue;
        int newest = newest_access(c, value->variable);
        for (int at = newest; at >= 0; at = c->accesses.items[at].next) {
            const access *before = &c->accesses.items[at];
            bool is_beside =
                c->segments.items[before->segment].segment.frame == node->frame; /* iterations have their own */
            if (before->segment != segment && is_beside && (is_write || before->is_write))
                WEIR_TRY(add_edge(c, (edge){before->segment, segment, -1, -1, true}));
        }
        WEIR_TRY(note_access(c, (access){value->variable, segment, is_write, newest}));
    }
    return WEIR_STATUS_OK;
}

/* ---- Nodes into segments ---- */

static weir_status place_node(cutter *c, int index)
{
    weir_plan *plan = c->plan;
    weir_plan_node *node = &plan->nodes[index];
    int set = 0;
    int epoch = 0;
    for (int i = 0; i < node->num_inputs + node->num_controls; i++) {
        int producer = i < node->num_inputs ? node->inputs[i].node : node->controls[i - node->num_inputs];
        if (is_everywhere(&plan->nodes[producer]) || plan->nodes[producer].position >= node->position)
            continue; /* the latter: a back edge */
        int more = 0;
        WEIR_TRY(sources_of(c, node, i, &more));
        WEIR_TRY(join(c, set, more, &set));
        epoch = c->epoch_of[producer] > epoch ? c->epoch_of[producer] : epoch;
    }
    for (int i = 0; i < node->num_inputs; i++) {
        const weir_plan_value *value = weir_plan_value_of(plan, node->inputs[i]);
        bool is_write = false;
        if (touches(node, i, value, &is_write))
            epoch = epoch_after(c, node, value->variable, is_write, set, epoch);
    }
    c->set_of[index] = set;
    c->epoch_of[index] = epoch;
    if (node->kind == WEIR_KIND_TRANSFER) {
        int producer = node->num_inputs > 0 ? node->inputs[0].node : node->controls[0];
        bool branches = plan->nodes[producer].kind == WEIR_KIND_SWITCH; /* its two sides must not travel together */
        int from = branches ? plan->num_nodes + index : plan->nodes[producer].segment;
        WEIR_TRY(find_transfer(c, node, from, epoch, &node->segment));
        c->segments.items[node->segment].segment.kind = WEIR_KIND_TRANSFER;
    } else if (weir_kind_stands_alone(node->kind) || node->kind == WEIR_KIND_FEED) {
        weir_segment segment = {.kind = node->kind, .device = node->device, .frame = node->frame};
        WEIR_TRY(add_segment(c, segment, epoch, -1, &node->segment));
    } else {
        WEIR_TRY(find_segment(c, node, set, epoch, &node->segment));
    }
    c->segments.items[node->segment].segment.count++;
    return note_accesses(c, node, node->segment);
}

/* ---- Edges ---- */

static weir_status add_edges_of(cutter *c, int index)
{
    const weir_plan *plan = c->plan;
    const weir_plan_node *node = &plan->nodes[index];
    for (int i = 0; i < node->num_inputs + node->num_controls; i++) {
        bool is_data = i < node->num_inputs;
        int producer = is_data ? node->inputs[i].node : node->controls[i - node->num_inputs];
        int from = plan->nodes[producer].segment;
        if (from < 0 || from == node->segment)
            continue;
        bool branches = plan->nodes[producer].kind == WEIR_KIND_SWITCH && is_data;
        edge made = {from, node->segment, branches ? node->inputs[i].output : -1,
                     node->kind == WEIR_KIND_MERGE && is_data ? i : -1, false};
        WEIR_TRY(add_edge(c, made));
        /* The memory may be further back than the node that passes it on. */
        int root = is_data ? plan->nodes[weir_plan_value_of(plan, node->inputs[i])->root.node].segment : -1;
        if (root >= 0 && root != from && root != node->segment && made.input < 0)
            WEIR_TRY(add_edge(c, (edge){root, node->segment, -1, -1, false}));
    }
    return WEIR_STATUS_OK;
}

static int compare_edges(const void *a, const void *b)
{
    const edge *x = a;
    const edge *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->branch != y->branch)
        return x->branch < y->branch ? -1 : 1;
    if (x->is_order != y->is_order)
        return x->is_order ? 1 : -1;
    return (x->input > y->input) - (x->input < y->input);
}

static weir_status keep_edges(cutter *c)
{
    weir_plan *plan = c->plan;
    if (c->edges.count > 0)
        qsort(c->edges.items, c->edges.count, sizeof(edge), compare_edges);
    weir_successor *kept = weir_arena_take(&plan->arena, c->edges.count, sizeof *kept);
    if (kept == NULL)
        return weir_fail_memory(c->edges.count * sizeof *kept);
    int count = 0;
    for (size_t i = 0; i < c->edges.count; i++) {
        const edge *at = &c->edges.items[i];
        if (i > 0 && compare_edges(at, at - 1) == 0)
            continue;
        weir_segment *from = &plan->segments[at->from];
        if (from->num_successors == 0)
            from->successors = kept + count;
        from->num_successors++;
        bool is_merged = plan->segments[at->to].kind == WEIR_KIND_MERGE && at->input >= 0;
        plan->segments[at->to].num_waits += !is_merged; /* a merge does not wait for all its data */
        kept[count++] = (weir_successor){at->to, at->branch, at->input, at->is_order};
    }
    return WEIR_STATUS_OK;
}

/* ---- Slots, entries and exits ---- */

static int frame_of_output(const weir_plan *plan, const weir_plan_node *node)
{
    if (node->kind == WEIR_KIND_ENTER) {
        weir_bytes name = weir_node_string(node->node, "frame_name");
        for (int i = 1; i < plan->num_frames; i++) {
            if (plan->frames[i].parent == node->frame && strlen(plan->frames[i].name) == name.size &&
                memcmp(plan->frames[i].name, name.data, name.size) == 0)
                return i;
        }
    }
    if (node->kind == WEIR_KIND_EXIT && node->frame > 0)
        return plan->frames[node->frame].parent;
    return node->frame;
}

static void give_slot(weir_plan *plan, weir_port root)
{
    weir_plan_value *value = weir_plan_value_of(plan, root);
    if (value->slot >= 0)
        return;
    weir_plan_frame *frame = &plan->frames[frame_of_output(plan, &plan->nodes[root.node])];
    value->slot = frame->num_slots++;
    if (value->place == WEIR_PLACE_ARENA)
        value->place = WEIR_PLACE_SLOT;
}

static bool takes_tensors(const weir_plan_node *node)
{
    return weir_kind_stands_alone(node->kind) || node->kind == WEIR_KIND_EXECUTE;
}

static void find_slots(weir_plan *plan)
{
    for (int n = 0; n < plan->num_nodes; n++) {
        const weir_plan_node *node = &plan->nodes[n];
        bool makes_tensors = takes_tensors(node) || node->kind == WEIR_KIND_FEED;
        for (int i = 0; i < node->num_outputs && makes_tensors; i++) {
            weir_port own = {n, i};
            if (!weir_plan_value_of(plan, own)->is_reference)
                give_slot(plan, own);
        }
        for (int i = 0; i < node->num_inputs && node->kind != WEIR_KIND_PASS; i++) {
            weir_plan_value *value = weir_plan_value_of(plan, node->inputs[i]);
            weir_plan_value *root = weir_plan_value_of(plan, value->root);
            root->uses++;
            if (root->place == WEIR_PLACE_VARIABLE || (root->place == WEIR_PLACE_CONSTANT && !takes_tensors(node)))
                continue;
            const weir_plan_node *producer = &plan->nodes[value->root.node];
            bool is_placed = producer->segment >= 0;
            if (takes_tensors(node) || (is_placed && producer->segment != node->segment))
                give_slot(plan, value->root);
        }
    }
    for (int i = 0; i < plan->num_fetches; i++) {
        weir_port root = weir_plan_value_of(plan, plan->fetches[i])->root;
        weir_plan_value *value = weir_plan_value_of(plan, root);
        value->uses++;
        if (value->place != WEIR_PLACE_VARIABLE)
            give_slot(plan, root);
    }
}

/* Contents decide shapes: asked for by a node, or reachable by folding from a value that is all shapes. */
static bool decides_shapes(const weir_plan_node *node, int input, const weir_plan_node *producer, weir_dtype dtype)
{
    if (node->kernel != NULL &&
        (input < 32 ? node->kernel->shape_inputs >> input & 1 : node->kernel->shape_inputs >> 31 & 1))
        return true;
    return producer->is_foldable && (dtype == WEIR_INT32 || dtype == WEIR_INT64);
}

/* Entries and exits of one segment of code. entry_of: [values], the segment that last saw the value. */
static weir_status find_entries(cutter *c, int index, int *entry_of, int *entry_at)
{
    weir_plan *plan = c->plan;
    weir_segment *segment = &plan->segments[index];
    int most_entries = 0;
    int most_exits = 0;
    for (int at = segment->first; at < segment->first + segment->count; at++) {
        most_entries += plan->nodes[plan->order[at]].num_inputs;
        most_exits += plan->nodes[plan->order[at]].num_outputs;
    }
    segment->entries = weir_arena_take(&plan->arena, (size_t)most_entries, sizeof *segment->entries);
    segment->exits = weir_arena_take(&plan->arena, (size_t)most_exits, sizeof *segment->exits);
    if (segment->entries == NULL || segment->exits == NULL)
        return weir_fail_memory((size_t)most_entries * sizeof *segment->entries);
    for (int at = segment->first; at < segment->first + segment->count; at++) {
        const weir_plan_node *node = &plan->nodes[plan->order[at]];
        for (int i = 0; i < node->num_inputs && node->kind != WEIR_KIND_PASS && node->kind != WEIR_KIND_NOTHING; i++) {
            weir_port root = weir_plan_value_of(plan, node->inputs[i])->root;
            int value = plan->nodes[root.node].first_value + root.output;
            if (plan->values[value].place != WEIR_PLACE_SLOT || plan->nodes[root.node].segment == index)
                continue;
            bool by_content = decides_shapes(node, i, &plan->nodes[root.node], plan->values[value].dtype);
            if (entry_of[value] == index) {
                segment->entries[entry_at[value]].by_content |= by_content;
                continue;
            }
            entry_of[value] = index;
            entry_at[value] = segment->num_entries;
            segment->entries[segment->num_entries++] = (weir_entry){value, plan->values[value].slot, by_content};
        }
        for (int i = 0; i < node->num_outputs; i++) {
            const weir_plan_value *value = &plan->values[node->first_value + i];
            if (value->slot >= 0 && value->root.node == plan->order[at])
                segment->exits[segment->num_exits++] = node->first_value + i;
        }
    }
    return WEIR_STATUS_OK;
}

/* Sorts the order by segment, keeping it inside each. */
static weir_status group(cutter *c)
{
    weir_plan *plan = c->plan;
    int *order = weir_arena_take(&plan->arena, (size_t)plan->num_ordered, sizeof *order);
    plan->segments = weir_arena_take(&plan->arena, c->segments.count, sizeof *plan->segments);
    if (order == NULL || plan->segments == NULL)
        return weir_fail_memory((size_t)plan->num_ordered * sizeof *order);
    plan->num_segments = (int)c->segments.count;
    int first = 0;
    for (int s = 0; s < plan->num_segments; s++) {
        plan->segments[s] = c->segments.items[s].segment;
        plan->segments[s].first = first;
        first += plan->segments[s].count;
        plan->segments[s].count = 0;
        plan->segments[s].local = plan->frames[plan->segments[s].frame].num_segments++;
    }
    for (int at = 0; at < plan->num_ordered; at++) {
        weir_segment *segment = &plan->segments[plan->nodes[plan->order[at]].segment];
        int place = segment->first + segment->count++;
        order[place] = plan->order[at];
    }
    plan->order = order;
    for (int at = 0; at < plan->num_ordered; at++)
        plan->nodes[order[at]].position = at;
    return WEIR_STATUS_OK;
}

static weir_status finish(cutter *c)
{
    weir_plan *plan = c->plan;
    for (int at = 0; at < plan->num_ordered; at++)
        WEIR_TRY(add_edges_of(c, plan->order[at]));
    WEIR_TRY(group(c));
    WEIR_TRY(keep_edges(c));
    find_slots(plan);
    int *entry_of = weir_arena_take(&c->arena, (size_t)plan->num_values, sizeof *entry_of);
    int *entry_at = weir_arena_take(&c->arena, (size_t)plan->num_values, sizeof *entry_at);
    if (entry_of == NULL || entry_at == NULL)
        return weir_fail_memory((size_t)plan->num_values * sizeof *entry_of);
    memset(entry_of, -1, (size_t)plan->num_values * sizeof *entry_of);
    for (int s = 0; s < plan->num_segments; s++) {
        if (plan->segments[s].kind == WEIR_KIND_CODE)
            WEIR_TRY(find_entries(c, s, entry_of, entry_at));
    }
    bool is_one = plan->num_segments == 1 && plan->segments[0].kind == WEIR_KIND_CODE;
    plan->is_simple = plan->num_segments == 0 || (is_one && plan->devices->items[plan->segments[0].device]->is_host);
    return WEIR_STATUS_OK;
}

static weir_status cut(cutter *c)
{
    weir_plan *plan = c->plan;
    size_t nodes = (size_t)plan->num_nodes;
    c->set_of = weir_arena_take(&c->arena, nodes, sizeof *c->set_of);
    c->epoch_of = weir_arena_take(&c->arena, nodes, sizeof *c->epoch_of);
    if (c->set_of == NULL || c->epoch_of == NULL)
        return weir_fail_memory(nodes * sizeof *c->set_of);
    int empty = 0;
    WEIR_TRY(intern(c, NULL, 0, &empty));
    for (int at = 0; at < plan->num_ordered; at++)
        WEIR_TRY(place_node(c, plan->order[at]));
    return finish(c);
}

weir_status weir_plan_segment(weir_plan *plan)
{
    cutter *c = NULL;
    WEIR_TRY(weir_new(&c, 1));
    c->plan = plan;
    weir_status status = cut(c);
    weir_release(c->by_id);
    weir_list_clear(&c->segments);
    weir_list_clear(&c->edges);
    weir_list_clear(&c->accesses);
    weir_map_clear(&c->variables);
    weir_arena_clear(&c->arena);
    weir_release(c);
    return status;
}
