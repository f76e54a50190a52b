/*
 * Nodes: drafts, their way into the graph, back edges, and what can be asked of a node. How a node is built in a scope
 * stands in build.c.
 */
#include <string.h>

#include "graph/graph.h"

static bool is_output(weir_output output)
{
    return output.node != NULL && output.index >= 0 && output.index < output.node->num_outputs;
}

const weir_op_def *weir_graph_op(weir_graph *graph, const char *name)
{
    const weir_op_def *op = weir_map_get(&graph->ops, name, strlen(name));
    if (op != NULL)
        return op;
    op = weir_op_find(name);
    if (op != NULL && !weir_ok(weir_map_put(&graph->ops, op->name, strlen(op->name), (void *)op)))
        return op; /* found all the same; only slower next time */
    return op;
}

weir_node *weir_node_draft(weir_graph *graph, const weir_op_def *op, const weir_output *inputs, int num_inputs)
{
    weir_node *node = weir_arena_take(&graph->arena, 1, sizeof *node);
    weir_output *kept = weir_arena_take(&graph->arena, (size_t)num_inputs, sizeof *kept);
    if (node == NULL || kept == NULL)
        return NULL;
    if (num_inputs > 0)
        memcpy(kept, inputs, (size_t)num_inputs * sizeof *kept);
    *node = (weir_node){.graph = graph, .op = op, .device = "", .name = "", .inputs = kept, .num_inputs = num_inputs};
    return node;
}

weir_status weir_graph_add(weir_graph *graph, weir_node *node)
{
    size_t length = strlen(node->name);
    if (weir_map_get(&graph->by_name, node->name, length) != NULL)
        return weir_fail(WEIR_ALREADY_EXISTS, "Node '%s' is not unique", node->name);
    node->id = (int)graph->nodes.count;
    WEIR_TRY(weir_list_add(&graph->nodes, node));
    weir_status status = weir_map_put(&graph->by_name, node->name, length, node);
    if (!weir_ok(status))
        graph->nodes.count--;
    return status;
}

void weir_graph_take_back(weir_graph *graph, size_t count)
{
    for (; count > 0; count--) {
        const weir_node *node = graph->nodes.items[--graph->nodes.count];
        weir_map_take(&graph->by_name, node->name, strlen(node->name));
    }
}

/* ---- Back edges of loops ---- */

bool weir_node_is_merge(const weir_node *node)
{
    return strcmp(node->op->name, "Merge") == 0 || strcmp(node->op->name, "RefMerge") == 0;
}

bool weir_node_is_next_iteration(const weir_node *node)
{
    return strcmp(node->op->name, "NextIteration") == 0 || strcmp(node->op->name, "RefNextIteration") == 0;
}

static weir_status check_back_edge(const weir_node *merge, int index, weir_output source)
{
    if (!weir_node_is_merge(merge)) {
        return weir_fail(WEIR_INVALID_ARGUMENT, "Node '%s' (op %s) is no Merge: it cannot get a back edge", merge->name,
                         merge->op->name);
    }
    if (index < 0 || index >= merge->num_inputs)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Merge '%s' has no input %d", merge->name, index);
    if (source.node->graph != merge->graph || !weir_node_is_next_iteration(source.node) || !is_output(source)) {
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "'%s:%d' (op %s) is no NextIteration of the graph of Merge '%s': it cannot be its back edge",
                         source.node->name, source.index, source.node->op->name, merge->name);
    }
    weir_dtype have = weir_output_dtype(source);
    if (weir_dtype_base(have) != weir_dtype_base(merge->output_dtypes[0])) {
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Input %d of node %s was passed %s from %s:%d incompatible with expected %s.", index,
                         merge->name, weir_dtype_name(have), source.node->name, source.index,
                         weir_dtype_name(merge->output_dtypes[0]));
    }
    return WEIR_STATUS_OK;
}

weir_status weir_node_connect_back(weir_node *merge, int index, weir_output next_iteration)
{
    WEIR_TRY(check_back_edge(merge, index, next_iteration));
    merge->inputs[index] = next_iteration;
    return WEIR_STATUS_OK;
}

void weir_node_set_back_edge(weir_node *merge, int index, weir_output next_iteration)
{
    if (merge == NULL || next_iteration.node == NULL)
        return;
    weir_status status = merge->graph->is_final
                             ? weir_fail(WEIR_FAILED_PRECONDITION, "Graph is finalized and cannot be modified.")
                             : weir_node_connect_back(merge, index, next_iteration);
    (void)weir_scope_fail(weir_root(merge->graph), status);
}

/* ---- Questions ---- */

const char *weir_node_name(const weir_node *node)
{
    return node != NULL ? node->name : "";
}

const char *weir_node_op(const weir_node *node)
{
    return node != NULL ? node->op->name : "";
}

const char *weir_node_device(const weir_node *node)
{
    return node != NULL ? node->device : "";
}

int weir_node_num_inputs(const weir_node *node)
{
    return node != NULL ? node->num_inputs : 0;
}

weir_output weir_node_input(const weir_node *node, int index)
{
    return node != NULL && index >= 0 && index < node->num_inputs ? node->inputs[index] : WEIR_NO_OUTPUT;
}

int weir_node_num_controls(const weir_node *node)
{
    return node != NULL ? node->num_controls : 0;
}

weir_node *weir_node_control(const weir_node *node, int index)
{
    return node != NULL && index >= 0 && index < node->num_controls ? node->controls[index] : NULL;
}

int weir_node_num_outputs(const weir_node *node)
{
    return node != NULL ? node->num_outputs : 0;
}

weir_output weir_node_output(weir_node *node, int index)
{
    return node != NULL && index >= 0 && index < node->num_outputs ? (weir_output){node, index} : WEIR_NO_OUTPUT;
}

weir_graph *weir_node_graph(const weir_node *node)
{
    return node != NULL ? node->graph : NULL;
}

weir_dtype weir_output_dtype(weir_output output)
{
    return is_output(output) ? output.node->output_dtypes[output.index] : WEIR_INVALID_DTYPE;
}

weir_shape weir_output_shape(weir_output output)
{
    return is_output(output) ? output.node->output_shapes[output.index] : weir_shape_unknown();
}

void weir_output_set_shape(weir_output output, weir_shape shape)
{
    if (!is_output(output))
        return;
    weir_shape merged;
    weir_status status = weir_infer_merge(output.node->output_shapes[output.index], shape, &merged);
    if (weir_ok(status))
        output.node->output_shapes[output.index] = merged;
    else
        (void)weir_scope_fail(weir_root(output.node->graph), weir_fail_in(status, "node '%s'", output.node->name));
}

void weir_node_describe(const weir_node *node, weir_text *text)
{
    weir_text_append(text, "{{node %s}} = %s(", node->name, node->op->name);
    for (int i = 0; i < node->num_inputs; i++) {
        weir_output input = node->inputs[i];
        weir_text_append(text, "%s%s", i > 0 ? ", " : "", weir_node_name(input.node));
        if (input.index > 0)
            weir_text_append(text, ":%d", input.index);
    }
    weir_text_append(text, ")");
    if (node->file != NULL) {
        const char *name = strrchr(node->file, '/');
        weir_text_append(text, " built at %s:%d", name != NULL ? name + 1 : node->file, node->line);
    }
}
