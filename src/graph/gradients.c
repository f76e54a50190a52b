/*
 * Reverse-mode differentiation. Which nodes lie between xs and ys is found first; then nodes are taken in the order in
 * which the gradients of all their outputs are there, and each op's own gradient function adds its nodes.
 */
#include <weir/gradients.h>
#include <weir/ops.h>

#include <string.h>

#include "graph/graph.h"
#include "tensor/tensor.h"

/* A gradient that arrived for an output; the list of one output is in order of arrival. */
typedef struct arrival {
    weir_gradient_value value;
    struct arrival *next;
} arrival;

typedef struct backward {
    weir_scope scope; /* gradients/ */
    const weir_gradients_options *options;
    weir_graph *graph;
    weir_arena arena;
    int count;            /* nodes there were before */
    bool *is_between;     /* [count] */
    bool *is_stop;        /* [count] */
    int *pending;         /* [count]: uses of the node's outputs that have not given their gradient */
    arrival **first;      /* [outputs]: arrivals of each output, by first_output */
    int *first_output;    /* [count] */
    weir_node **queue;    /* [count] */
    int queue_head, queue_tail;
} backward;

/* ---- What lies between ---- */

static bool any_input(const weir_node *node, int count, const bool *set)
{
    for (int i = 0; i < node->num_inputs; i++) {
        const weir_node *producer = node->inputs[i].node;
        if (producer != NULL && producer->id < count && set[producer->id])
            return true;
    }
    return false;
}

/* Nodes that depend on an x. Ids are in topological order but for the back edges of loops. */
static void mark_reached(const backward *b, const weir_output *xs, int num_xs, bool *reached)
{
    for (int i = 0; i < num_xs; i++)
        reached[xs[i].node->id] = true;
    for (int id = 0; id < b->count; id++)
        reached[id] = reached[id] || any_input(b->graph->nodes.items[id], b->count, reached);
}

/* Of these, the nodes on which a y depends; counts how often each is used by another one. */
static void mark_between(backward *b, const weir_output *ys, int num_ys, const bool *reached)
{
    for (int i = 0; i < num_ys; i++)
        b->is_between[ys[i].node->id] = reached[ys[i].node->id];
    for (int id = b->count - 1; id >= 0; id--) {
        if (!b->is_between[id])
            continue;
        const weir_node *node = b->graph->nodes.items[id];
        for (int i = 0; i < node->num_inputs; i++) {
            int producer = node->inputs[i].node != NULL ? node->inputs[i].node->id : -1;
            if (producer < 0 || producer >= b->count || !reached[producer])
                continue;
            b->is_between[producer] = true;
            b->pending[producer]++;
        }
    }
}

static void mark_stops(backward *b, const weir_output *xs, int num_xs)
{
    for (int i = 0; i < num_xs; i++) {
        if (!any_input(xs[i].node, b->count, b->is_between))
            b->is_stop[xs[i].node->id] = true;
    }
    for (int i = 0; i < b->options->num_stops; i++)
        b->is_stop[b->options->stops[i]->id] = true;
}

/* ---- Gradients of outputs ---- */

static weir_status arrive(backward *b, weir_output output, weir_gradient_value value)
{
    arrival *fresh = weir_arena_take(&b->arena, 1, sizeof *fresh);
    if (fresh == NULL)
        return weir_fail_memory(sizeof *fresh);
    fresh->value = value;
    arrival **at = &b->first[b->first_output[output.node->id] + output.index];
    while (*at != NULL)
        at = &(*at)->next;
    *at = fresh;
    return WEIR_STATUS_OK;
}

/* Sums by requested device first, then over the devices in order of their names. */
static weir_output add_all(backward *b, const weir_node *forward, weir_output *values, int count)
{
    weir_output partial[count];
    int partials = 0;
    weir_scope scope = b->scope;
    if (b->options->colocate)
        scope = weir_colocated_with(scope, (weir_node *)forward);
    for (int first = 0; first < count;) {
        int last = first + 1;
        while (last < count && strcmp(values[last].node->device, values[first].node->device) == 0)
            last++;
        weir_scope with = last - first > 1 ? weir_colocated_with(b->scope, values[first].node) : scope;
        partial[partials++] = last - first == 1 ? values[first] : weir_add_n(with, values + first, last - first);
        first = last;
    }
    return partials == 1 ? partial[0] : weir_add_n(scope, partial, partials);
}

/* Insertion sort: stable, and the list is short. */
static void sort_by_device(weir_output *values, int count)
{
    for (int i = 1; i < count; i++) {
        weir_output moved = values[i];
        int at = i;
        for (; at > 0 && strcmp(values[at - 1].node->device, moved.node->device) > 0; at--)
            values[at] = values[at - 1];
        values[at] = moved;
    }
}

static weir_gradient_value concatenate(backward *b, const arrival *list, int count)
{
    weir_output values[count];
    weir_output indices[count];
    int i = 0;
    for (const arrival *at = list; at != NULL; at = at->next, i++) {
        values[i] = at->value.values;
        indices[i] = at->value.indices;
    }
    return (weir_gradient_value){.values = weir_concat(b->scope, values, count, 0),
                                 .indices = weir_concat(b->scope, indices, count, 0),
                                 .dense_shape = list->value.dense_shape};
}

/* All arrivals of one output as one gradient; none if there are none. */
static weir_gradient_value aggregate(backward *b, weir_output output)
{
    const arrival *list = b->first[b->first_output[output.node->id] + output.index];
    int count = 0;
    int slices = 0;
    for (const arrival *at = list; at != NULL; at = at->next) {
        count++;
        slices += at->value.indices.node != NULL;
    }
    if (count == 0)
        return (weir_gradient_value){0};
    if (count == 1)
        return list->value;
    if (slices == count)
        return concatenate(b, list, count);
    weir_output values[count];
    int i = 0;
    for (const arrival *at = list; at != NULL; at = at->next)
        values[i++] = weir_gradient_dense(b->scope, at->value);
    for (i = 0; i < count; i++) {
        if (values[i].node == NULL)
            return (weir_gradient_value){0};
    }
    sort_by_device(values, count);
    return (weir_gradient_value){.values = add_all(b, output.node, values, count)};
}

weir_output weir_gradient_dense(weir_scope s, weir_gradient_value gradient)
{
    if (gradient.indices.node == NULL)
        return gradient.values;
    weir_output zero = weir_const(s, WEIR_INT32S(0));
    weir_output one = weir_const(s, WEIR_INT32S(1));
    weir_output step = weir_const(s, WEIR_INT32S(1));
    weir_output rows = weir_strided_slice(s, gradient.dense_shape, zero, one, step, .shrink_axis_mask = 1);
    return weir_out(weir_op(s, "UnsortedSegmentSum", WEIR_INPUTS(gradient.values, gradient.indices, rows)), 0);
}

/* Zeros in the shape of an output for which no gradient arrived. */
weir_output weir_gradient_dy(weir_gradient *gradient, int output)
{
    if (gradient->dy[output].node != NULL)
        return gradient->dy[output];
    return weir_zeros_like(gradient->scope, weir_node_output(gradient->node, output));
}

/* ---- One node ---- */

static bool is_followed(weir_dtype dtype)
{
    dtype = weir_dtype_base(dtype);
    return weir_dtype_is_floating(dtype) || weir_dtype_is_complex(dtype) || dtype == WEIR_RESOURCE;
}

/* GATE_OP: each gradient passes through an Identity that waits for all of them. */
static void gate(weir_gradient *gradient)
{
    int count = gradient->node->num_inputs;
    weir_node *nodes[count];
    int used = 0;
    for (int i = 0; i < count; i++) {
        if (gradient->dx[i].values.node != NULL)
            nodes[used++] = gradient->dx[i].values.node;
    }
    if (used < 2)
        return;
    weir_scope tuple = weir_in_scope(gradient->scope, "tuple");
    weir_node *all = weir_group(tuple, nodes, used, "group_deps");
    for (int i = 0; i < count; i++) {
        weir_output *values = &gradient->dx[i].values;
        if (values->node == NULL)
            continue;
        weir_scope here = weir_colocated_with(weir_after(tuple, all), values->node);
        *values = weir_identity(here, *values, .name = "control_dependency");
    }
}

static weir_status no_gradient(const weir_node *node)
{
    return weir_fail(WEIR_NOT_FOUND, "No gradient defined for operation '%s' (op type: %s)", node->name, node->op->name);
}

static weir_status differentiate(backward *b, weir_node *node, const weir_output *dy, weir_gradient_value *dx)
{
    if (node->op->gradient_kind == WEIR_GRADIENT_NONE)
        return WEIR_STATUS_OK;
    if (node->op->gradient_kind == WEIR_GRADIENT_UNREGISTERED)
        return no_gradient(node);
    weir_scope scope = weir_in_scope(b->scope, "%s_grad", node->name);
    if (b->options->colocate)
        scope = weir_colocated_with(scope, node);
    weir_gradient gradient = {.scope = scope, .node = node, .dy = dy, .dx = dx};
    WEIR_TRY(node->op->gradient(&gradient));
    WEIR_TRY(weir_graph_error(b->graph));
    if (b->options->gate)
        gate(&gradient);
    return weir_graph_error(b->graph);
}

/* Takes one node whose outputs have all their gradients. */
static weir_status step(backward *b, weir_node *node)
{
    weir_output *dy = weir_arena_take(&b->arena, (size_t)node->num_outputs, sizeof *dy);
    weir_gradient_value *dx = weir_arena_take(&b->arena, (size_t)node->num_inputs, sizeof *dx);
    if (dy == NULL || dx == NULL)
        return weir_fail_memory((size_t)node->num_inputs * sizeof *dx);
    bool has_gradient = false;
    for (int i = 0; i < node->num_outputs; i++) {
        weir_gradient_value value = aggregate(b, (weir_output){node, i});
        if (value.values.node != NULL && is_followed(node->output_dtypes[i]))
            dy[i] = weir_gradient_dense(b->scope, value);
        has_gradient = has_gradient || dy[i].node != NULL;
    }
    if (has_gradient && !b->is_stop[node->id])
        WEIR_TRY(differentiate(b, node, dy, dx));
    for (int i = 0; i < node->num_inputs; i++) {
        weir_output input = node->inputs[i];
        if (input.node == NULL || input.node->id >= b->count || !b->is_between[input.node->id])
            continue;
        if (dx[i].values.node != NULL)
            WEIR_TRY(arrive(b, input, dx[i]));
        if (--b->pending[input.node->id] == 0)
            b->queue[b->queue_tail++] = input.node;
    }
    return WEIR_STATUS_OK;
}

/* ---- The whole ---- */

static weir_status prepare(backward *b)
{
    size_t count = (size_t)b->count;
    int outputs = 0;
    b->is_between = weir_arena_take(&b->arena, count, sizeof *b->is_between);
    b->is_stop = weir_arena_take(&b->arena, count, sizeof *b->is_stop);
    b->pending = weir_arena_take(&b->arena, count, sizeof *b->pending);
    b->first_output = weir_arena_take(&b->arena, count, sizeof *b->first_output);
    b->queue = weir_arena_take(&b->arena, count, sizeof *b->queue);
    for (size_t i = 0; b->first_output != NULL && i < count; i++) {
        b->first_output[i] = outputs;
        outputs += b->graph->nodes.items[i]->num_outputs;
    }
    b->first = weir_arena_take(&b->arena, (size_t)outputs, sizeof(arrival *));
    bool has_memory = b->is_between && b->is_stop && b->pending && b->first_output && b->queue && b->first;
    return has_memory ? WEIR_STATUS_OK : weir_fail_memory(count * sizeof *b->queue);
}

/* dy of y: what the caller gave, or ones. */
static weir_output seed(const backward *b, weir_output y, int index)
{
    if (b->options->grad_ys != NULL && b->options->grad_ys[index].node != NULL)
        return b->options->grad_ys[index];
    weir_shape shape = weir_output_shape(y);
    weir_output dims = weir_shape_known(shape) ? weir_shape_const(b->scope, shape, "Shape") : weir_shape_op(b->scope, y);
    weir_scope named = weir_in_scope(b->scope, "grad_ys_%d", index);
    weir_output one = weir_fill_const(named, weir_dtype_base(weir_output_dtype(y)), weir_shape_scalar(), 1, NULL);
    return weir_fill(b->scope, dims, one, .name = weir_scope_name(named));
}

static weir_status seed_all(backward *b, const weir_output *ys, int num_ys)
{
    for (int i = 0; i < num_ys; i++) {
        weir_output dy = seed(b, ys[i], i);
        if (dy.node == NULL)
            return weir_graph_error(b->graph);
        WEIR_TRY(arrive(b, ys[i], (weir_gradient_value){.values = dy}));
        int id = ys[i].node->id;
        bool is_queued = false;
        for (int j = 0; j < b->queue_tail; j++)
            is_queued = is_queued || b->queue[j]->id == id;
        if (b->is_between[id] && b->pending[id] == 0 && !is_queued)
            b->queue[b->queue_tail++] = ys[i].node;
    }
    return WEIR_STATUS_OK;
}

static weir_status run_backward(backward *b, const weir_output *ys, int num_ys, const weir_output *xs, int num_xs,
                                weir_gradient_value *gradients)
{
    WEIR_TRY(prepare(b));
    bool *reached = weir_arena_take(&b->arena, (size_t)b->count, sizeof *reached);
    if (reached == NULL)
        return weir_fail_memory((size_t)b->count);
    mark_reached(b, xs, num_xs, reached);
    mark_between(b, ys, num_ys, reached);
    mark_stops(b, xs, num_xs);
    WEIR_TRY(seed_all(b, ys, num_ys));
    while (b->queue_head < b->queue_tail)
        WEIR_TRY(step(b, b->queue[b->queue_head++]));
    for (int i = 0; i < num_xs; i++)
        gradients[i] = aggregate(b, xs[i]);
    return weir_graph_error(b->graph);
}

void weir_gradients(weir_scope s, const weir_output *ys, int num_ys, const weir_output *xs, int num_xs,
                    const weir_gradients_options *options, weir_gradient_value *gradients)
{
    static const weir_gradients_options defaults = {.size = sizeof defaults};
    memset(gradients, 0, (size_t)num_xs * sizeof *gradients);
    for (int i = 0; i < num_ys + num_xs; i++) {
        if ((i < num_ys ? ys[i] : xs[i - num_ys]).node == NULL)
            return;
    }
    weir_graph *graph = weir_scope_graph(s);
    if (graph == NULL || graph->error.code != WEIR_OK)
        return;
    options = options != NULL ? options : &defaults;
    backward b = {.graph = graph, .options = options, .count = (int)graph->nodes.count};
    b.scope = weir_in_scope(s, "%s", options->name != NULL ? options->name : "gradients");
    weir_status status = run_backward(&b, ys, num_ys, xs, num_xs, gradients);
    weir_arena_clear(&b.arena);
    if (weir_ok(status))
        return;
    (void)weir_scope_fail(s, status);
    memset(gradients, 0, (size_t)num_xs * sizeof *gradients);
}
