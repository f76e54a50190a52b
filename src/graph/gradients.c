/*
 * Reverse-mode differentiation. Which nodes lie between xs and ys is found first; then nodes are taken in the order in
 * which the gradients of all their outputs are there, and each op's own gradient function adds its nodes. How gradients
 * of one output are added up stands in gradient_sum.c.
 */
#include <weir/gradients.h>
#include <weir/ops.h>

#include <stdlib.h>
#include <string.h>

#include "graph/gradient_sum.h"
#include "graph/scope.h"
#include "tensor/tensor.h"

typedef struct backward {
    weir_scope scope; /* gradients/ */
    const weir_gradients_options *options;
    weir_graph *graph;
    weir_arena arena;
    int count;                   /* nodes there were before */
    bool *is_reached;            /* [count]: depends on an x through types that have gradients */
    bool *is_between;            /* [count]: and a y depends on it */
    bool *is_stop;               /* [count] */
    int *pending;                /* [count]: uses of the node's outputs that have not given their gradient */
    int *first_output;           /* [count]: where the node's outputs begin in arrived */
    weir_gradient_list *arrived; /* [outputs]; one element once it is added up */
    weir_node **queue;           /* [count] */
    int queue_head, queue_tail;
} backward;

static const weir_node *producer_of(const backward *b, const weir_node *node, int input)
{
    const weir_node *producer = node->inputs[input].node;
    return producer != NULL && producer->id < b->count ? producer : NULL;
}

/* ---- What lies between ---- */

static bool reaches(const backward *b, const weir_node *node)
{
    for (int i = 0; i < node->num_inputs; i++) {
        const weir_node *producer = producer_of(b, node, i);
        if (producer != NULL && b->is_reached[producer->id] &&
            weir_dtype_has_gradient(weir_output_dtype(node->inputs[i])))
            return true;
    }
    return false;
}

/* Nodes that depend on an x. Producers come first but for the back edges of loops, which need further rounds. */
static void mark_reached(backward *b, const weir_output *xs, int num_xs)
{
    for (int i = 0; i < num_xs; i++)
        b->is_reached[xs[i].node->id] = true;
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        for (int id = 0; id < b->count; id++) {
            if (!b->is_reached[id] && reaches(b, b->graph->nodes.items[id]))
                b->is_reached[id] = is_changed = true;
        }
    }
}

/* Puts a node on the queue, used as a stack here, unless it was there before. */
static void visit(backward *b, const weir_node *node)
{
    if (!b->is_reached[node->id] || b->is_between[node->id])
        return;
    b->is_between[node->id] = true;
    b->queue[b->queue_tail++] = b->graph->nodes.items[node->id];
}

/* Of the nodes reached, those on which a y depends; counts how often each is used by another one. */
static void mark_between(backward *b, const weir_output *ys, int num_ys)
{
    for (int i = 0; i < num_ys; i++)
        visit(b, ys[i].node);
    for (int next = 0; next < b->queue_tail; next++) {
        const weir_node *node = b->queue[next];
        for (int i = 0; i < node->num_inputs; i++) {
            const weir_node *producer = producer_of(b, node, i);
            if (producer == NULL)
                continue;
            visit(b, producer);
            b->pending[producer->id] += b->is_between[producer->id];
        }
    }
    b->queue_tail = 0;
}

/* An x whose inputs are of no interest ends the way back. */
static void mark_stops(backward *b, const weir_output *xs, int num_xs)
{
    for (int i = 0; i < num_xs; i++) {
        bool has_between = false;
        for (int j = 0; j < xs[i].node->num_inputs; j++) {
            const weir_node *producer = producer_of(b, xs[i].node, j);
            has_between = has_between || (producer != NULL && b->pending[producer->id] > 0);
        }
        if (!has_between)
            b->is_stop[xs[i].node->id] = true;
    }
    for (int i = 0; i < b->options->num_stops; i++)
        b->is_stop[b->options->stops[i]->id] = true;
}

/* ---- Gradients of outputs ---- */

static weir_gradient_list *list_of(const backward *b, weir_output output)
{
    return &b->arrived[b->first_output[output.node->id] + output.index];
}

/* All arrivals of one output as one gradient, once. */
static weir_status aggregate(backward *b, weir_output output, weir_gradient_value *value)
{
    weir_gradient_list *list = list_of(b, output);
    weir_scope scope = b->options->colocate ? weir_colocated_with(b->scope, output.node) : b->scope;
    WEIR_TRY(weir_gradient_list_sum(scope, &b->arena, list, value));
    if (list->count > 0) {
        list->items[0] = *value;
        list->count = 1;
    }
    return WEIR_STATUS_OK;
}

/* Zeros in the shape of an output for which no gradient arrived. */
weir_output weir_gradient_dy(weir_gradient *gradient, int output)
{
    if (gradient->dy[output].node != NULL)
        return gradient->dy[output];
    weir_output y = weir_node_output(gradient->node, output);
    return weir_out(weir_op(gradient->outer, "ZerosLike", WEIR_INPUTS(y), .name = "zeros_like"), 0);
}

/* ---- One node ---- */

static int compare_nodes(const void *a, const void *b)
{
    const weir_node *const *first = a;
    const weir_node *const *second = b;
    return ((*first)->id > (*second)->id) - ((*first)->id < (*second)->id);
}

/* GATE_OP: each gradient passes through an Identity that waits for all of them, wherever they are placed. */
static weir_status gate(backward *b, weir_gradient *gradient)
{
    int count = gradient->node->num_inputs;
    weir_node **nodes = weir_arena_take(&b->arena, (size_t)count, sizeof *nodes);
    if (nodes == NULL)
        return weir_fail_memory((size_t)count * sizeof *nodes);
    int used = 0;
    for (int i = 0; i < count; i++) {
        if (gradient->dx[i].values.node != NULL)
            nodes[used++] = gradient->dx[i].values.node;
    }
    if (used < 2)
        return WEIR_STATUS_OK;
    qsort(nodes, (size_t)used, sizeof *nodes, compare_nodes);
    int distinct = 0;
    for (int i = 0; i < used; i++) {
        if (distinct == 0 || nodes[distinct - 1] != nodes[i])
            nodes[distinct++] = nodes[i];
    }
    weir_scope tuple = weir_in_scope(weir_placed_freely(gradient->scope), "tuple");
    weir_node *all = weir_group(tuple, nodes, distinct, "group_deps");
    for (int i = 0; i < count; i++) {
        weir_output *values = &gradient->dx[i].values;
        if (values->node == NULL)
            continue;
        weir_scope here = weir_colocated_alone(weir_after(tuple, all), values->node);
        *values = weir_identity(here, *values, .name = "control_dependency");
    }
    return WEIR_STATUS_OK;
}

/* A gradient has the shape of what it belongs to. */
static weir_status set_shapes(const weir_gradient *gradient)
{
    for (int i = 0; i < gradient->node->num_inputs; i++) {
        weir_output input = gradient->node->inputs[i];
        const weir_gradient_value *value = &gradient->dx[i];
        if (value->values.node == NULL || value->indices.node != NULL ||
            weir_dtype_base(weir_output_dtype(input)) == WEIR_RESOURCE)
            continue;
        weir_shape *shape = &value->values.node->output_shapes[value->values.index];
        char have[WEIR_SHAPE_TEXT_SIZE];
        char want[WEIR_SHAPE_TEXT_SIZE];
        if (!weir_ok(weir_infer_merge(*shape, weir_output_shape(input), shape))) {
            return weir_fail(
                WEIR_INVALID_ARGUMENT,
                "Incompatible shapes between op input and calculated input gradient. Forward operation: %s. Input "
                "index: %d. Original input shape: %s. Calculated input gradient shape: %s",
                gradient->node->name, i, weir_shape_text(weir_output_shape(input), want, sizeof want),
                weir_shape_text(*shape, have, sizeof have));
        }
    }
    return WEIR_STATUS_OK;
}

/* arrived: the sum for each output. */
static weir_status differentiate(backward *b, weir_node *node, const weir_gradient_value *arrived,
                                 weir_gradient_value *dx)
{
    if (node->op->gradient_kind == WEIR_GRADIENT_NONE)
        return WEIR_STATUS_OK;
    if (node->op->gradient_kind == WEIR_GRADIENT_UNREGISTERED || node->op->gradient == NULL) {
        return weir_fail(WEIR_NOT_FOUND, "No gradient defined for operation '%s' (op type: %s)", node->name,
                         node->op->name);
    }
    weir_output *dy = weir_arena_take(&b->arena, (size_t)node->num_outputs, sizeof *dy);
    if (dy == NULL)
        return weir_fail_memory((size_t)node->num_outputs * sizeof *dy);
    weir_scope outer = b->options->colocate ? weir_colocated_with(b->scope, node) : b->scope;
    weir_scope scope = weir_in_scope(outer, "%s_grad", node->name);
    for (int i = 0; i < node->num_outputs; i++) {
        if (weir_dtype_has_gradient(node->output_dtypes[i]))
            dy[i] = weir_gradient_dense(scope, arrived[i]);
    }
    weir_gradient gradient = {.scope = scope, .node = node, .dy = dy, .dx = dx, .outer = outer};
    WEIR_TRY(weir_graph_error(b->graph));
    WEIR_TRY(node->op->gradient(&gradient));
    WEIR_TRY(weir_graph_error(b->graph));
    if (b->options->gate)
        WEIR_TRY(gate(b, &gradient));
    WEIR_TRY(weir_graph_error(b->graph));
    return set_shapes(&gradient);
}

/* Takes one node whose outputs have all their gradients. */
static weir_status step(backward *b, weir_node *node)
{
    weir_gradient_value *arrived = weir_arena_take(&b->arena, (size_t)node->num_outputs, sizeof *arrived);
    weir_gradient_value *dx = weir_arena_take(&b->arena, (size_t)node->num_inputs, sizeof *dx);
    if (arrived == NULL || dx == NULL)
        return weir_fail_memory((size_t)node->num_inputs * sizeof *dx);
    bool has_gradient = false;
    for (int i = 0; i < node->num_outputs; i++) {
        WEIR_TRY(aggregate(b, (weir_output){node, i}, &arrived[i]));
        has_gradient = has_gradient || arrived[i].values.node != NULL;
    }
    if (has_gradient && !b->is_stop[node->id])
        WEIR_TRY(differentiate(b, node, arrived, dx));
    for (int i = 0; i < node->num_inputs; i++) {
        const weir_node *producer = producer_of(b, node, i);
        if (producer == NULL || !b->is_between[producer->id])
            continue;
        if (dx[i].values.node != NULL)
            WEIR_TRY(weir_gradient_list_add(&b->arena, list_of(b, node->inputs[i]), dx[i]));
        if (--b->pending[producer->id] == 0)
            b->queue[b->queue_tail++] = node->inputs[i].node;
    }
    return WEIR_STATUS_OK;
}

/* ---- The gradients of ys ---- */

/* dy of y: what the caller gave, or ones. */
static weir_status seed(const backward *b, weir_output y, int index, weir_output *dy)
{
    weir_scope scope = b->options->colocate ? weir_colocated_with(b->scope, y.node) : b->scope;
    weir_dtype dtype = weir_dtype_base(weir_output_dtype(y));
    weir_output given = b->options->grad_ys != NULL ? b->options->grad_ys[index] : WEIR_NO_OUTPUT;
    if (given.node != NULL) {
        if (weir_dtype_base(weir_output_dtype(given)) != dtype) {
            return weir_fail(WEIR_INVALID_ARGUMENT, "Gradient type %s given for '%s:%d', which has type %s",
                             weir_dtype_name(weir_output_dtype(given)), y.node->name, y.index, weir_dtype_name(dtype));
        }
        char name[32];
        snprintf(name, sizeof name, "grad_ys_%d", index);
        *dy = weir_identity(scope, given, .name = name);
        return WEIR_STATUS_OK;
    }
    if (weir_dtype_is_complex(dtype)) {
        return weir_fail(WEIR_INVALID_ARGUMENT, "Gradients of complex tensors must set grad_ys ('%s:%d' has type %s)",
                         y.node->name, y.index, weir_dtype_name(dtype));
    }
    weir_shape shape = weir_output_shape(y);
    weir_output dims = weir_shape_known(shape) ? weir_shape_const(scope, shape, "Shape") : weir_shape_op(scope, y);
    weir_scope named = weir_in_scope(scope, "grad_ys_%d", index);
    weir_output one = weir_fill_const(named, dtype, weir_shape_scalar(), 1, NULL);
    *dy = weir_fill(scope, dims, one, .name = weir_scope_name(named));
    return WEIR_STATUS_OK;
}

static weir_status seed_all(backward *b, const weir_output *ys, int num_ys)
{
    for (int i = 0; i < num_ys; i++) {
        weir_output dy = WEIR_NO_OUTPUT;
        WEIR_TRY(seed(b, ys[i], i, &dy));
        WEIR_TRY(weir_graph_error(b->graph));
        WEIR_TRY(weir_gradient_list_add(&b->arena, list_of(b, ys[i]), (weir_gradient_value){.values = dy}));
    }
    unsigned mark = weir_graph_new_mark(b->graph);
    for (int i = 0; i < num_ys; i++) {
        weir_node *node = ys[i].node;
        if (!b->is_between[node->id] || b->pending[node->id] != 0 || node->mark == mark)
            continue;
        node->mark = mark;
        b->queue[b->queue_tail++] = node;
    }
    return WEIR_STATUS_OK;
}

/* ---- The whole ---- */

static weir_status prepare(backward *b)
{
    size_t count = (size_t)b->count;
    int outputs = 0;
    b->is_reached = weir_arena_take(&b->arena, count, sizeof *b->is_reached);
    b->is_between = weir_arena_take(&b->arena, count, sizeof *b->is_between);
    b->is_stop = weir_arena_take(&b->arena, count, sizeof *b->is_stop);
    b->pending = weir_arena_take(&b->arena, count, sizeof *b->pending);
    b->first_output = weir_arena_take(&b->arena, count, sizeof *b->first_output);
    b->queue = weir_arena_take(&b->arena, count, sizeof(weir_node *));
    for (size_t i = 0; b->first_output != NULL && i < count; i++) {
        b->first_output[i] = outputs;
        outputs += b->graph->nodes.items[i]->num_outputs;
    }
    b->arrived = weir_arena_take(&b->arena, (size_t)outputs, sizeof *b->arrived);
    bool has_memory =
        b->is_reached && b->is_between && b->is_stop && b->pending && b->first_output && b->queue && b->arrived;
    return has_memory ? WEIR_STATUS_OK : weir_fail_memory(count * sizeof *b->arrived);
}

static weir_status run_backward(backward *b, const weir_output *ys, int num_ys, const weir_output *xs, int num_xs,
                                weir_gradient_value *gradients)
{
    WEIR_TRY(prepare(b));
    mark_reached(b, xs, num_xs);
    mark_between(b, ys, num_ys);
    mark_stops(b, xs, num_xs);
    WEIR_TRY(seed_all(b, ys, num_ys));
    while (b->queue_head < b->queue_tail)
        WEIR_TRY(step(b, b->queue[b->queue_head++]));
    for (int i = 0; i < num_xs; i++)
        WEIR_TRY(aggregate(b, xs[i], &gradients[i]));
    return WEIR_STATUS_OK;
}

/* Refuses what is no output of this graph: ids would mean something else. */
static weir_status check_outputs(const weir_graph *graph, const char *what, const weir_output *outputs, int count)
{
    for (int i = 0; i < count; i++) {
        if (outputs[i].node->graph != graph)
            return weir_fail(WEIR_INVALID_ARGUMENT, "%s %d, '%s', belongs to another graph", what, i,
                             outputs[i].node->name);
        if (outputs[i].index < 0 || outputs[i].index >= outputs[i].node->num_outputs) {
            return weir_fail(WEIR_INVALID_ARGUMENT, "%s %d is output %d of node '%s', which has %d outputs", what, i,
                             outputs[i].index, outputs[i].node->name, outputs[i].node->num_outputs);
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status check(const weir_graph *graph, const weir_output *ys, int num_ys, const weir_output *xs, int num_xs,
                         const weir_gradients_options *options)
{
    WEIR_TRY(check_outputs(graph, "y", ys, num_ys));
    WEIR_TRY(check_outputs(graph, "x", xs, num_xs));
    for (int i = 0; i < options->num_stops; i++) {
        const weir_node *stop = options->stops[i];
        if (stop == NULL || stop->graph != graph)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Stop %d, '%s', is no node of this graph", i, weir_node_name(stop));
    }
    return WEIR_STATUS_OK;
}

static bool has_null(const weir_output *outputs, int count)
{
    for (int i = 0; i < count; i++) {
        if (outputs[i].node == NULL)
            return true;
    }
    return false;
}

void weir_gradients(weir_scope s, const weir_output *ys, int num_ys, const weir_output *xs, int num_xs,
                    const weir_gradients_options *options, weir_gradient_value *gradients)
{
    static const weir_gradients_options defaults = {.size = sizeof defaults};
    for (int i = 0; i < num_xs; i++)
        gradients[i] = (weir_gradient_value){0};
    weir_graph *graph = weir_scope_graph(s);
    if (graph == NULL || graph->error.code != WEIR_OK || has_null(ys, num_ys) || has_null(xs, num_xs))
        return;
    options = options != NULL ? options : &defaults;
    backward b = {.graph = graph, .options = options, .count = (int)graph->nodes.count};
    weir_status status = check(graph, ys, num_ys, xs, num_xs, options);
    if (weir_ok(status)) {
        b.scope = weir_in_scope(s, "%s", options->name != NULL ? options->name : "gradients");
        status = run_backward(&b, ys, num_ys, xs, num_xs, gradients);
    }
    weir_arena_clear(&b.arena);
    if (weir_ok(status))
        return;
    (void)weir_scope_fail(s, status);
    for (int i = 0; i < num_xs; i++)
        gradients[i] = (weir_gradient_value){0};
}
