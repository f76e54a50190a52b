/*
 * Building nodes: name, device, control inputs; and what can be asked of a node.
 */
#include <ctype.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/scope.h"

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

static const char *nearest_op(const char *name)
{
    const char *nearest = NULL;
    int nearest_distance = (int)strlen(name) / 3 + 1;
    for (const weir_op_family *const *family = weir_op_families; *family != NULL; family++) {
        for (const weir_op_def *op = (*family)->ops; op->name != NULL; op++) {
            int distance = weir_text_distance(name, op->name);
            if (distance < nearest_distance) {
                nearest = op->name;
                nearest_distance = distance;
            }
        }
    }
    return nearest;
}

static weir_status unknown_op(const char *name)
{
    const char *nearest = nearest_op(name);
    return weir_fail(WEIR_NOT_FOUND, "Op type not registered '%s'%s%s%s", name, nearest != NULL ? "; did you mean '" : "",
                     nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}

static bool is_node_name(const char *name, bool is_root)
{
    if (name[0] == '\0' || (is_root && !isalnum((unsigned char)name[0]) && name[0] != '.' && name[0] != '_'))
        return false;
    for (const char *c = name; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && strchr("_.\\-/>", *c) == NULL)
            return false;
    }
    return true;
}

static weir_status set_name(weir_node *node, const weir_scope_record *record, const char *name)
{
    weir_graph *graph = node->graph;
    size_t length = strlen(name);
    bool is_absolute = length > 1 && name[length - 1] == '/';
    if (!is_node_name(name, is_absolute || record->prefix[0] == '\0'))
        return weir_fail(WEIR_INVALID_ARGUMENT, "'%s' is not a valid node name", name);
    if (is_absolute) {
        node->name = weir_arena_text(&graph->arena, name, length - 1);
    } else {
        const char *full = record->prefix[0] == '\0' ? name : weir_arena_format(&graph->arena, "%s%s", record->prefix, name);
        node->name = full != NULL ? weir_graph_unique_name(graph, full) : NULL;
    }
    return node->name != NULL ? WEIR_STATUS_OK : weir_fail_memory(length);
}

static bool is_inside(const weir_node *node, const weir_control_block *block)
{
    for (const weir_control_block *at = node->block; at != NULL; at = at->outer) {
        if (at == block)
            return true;
    }
    return false;
}

static bool has_input_inside(const weir_node *node, const weir_control_block *block)
{
    for (int i = 0; i < node->num_inputs; i++) {
        if (node->inputs[i].node != NULL && is_inside(node->inputs[i].node, block))
            return true;
    }
    return false;
}

/* Appends a control input unless the node depends on it already. */
static void add_control(weir_node *node, weir_node *control)
{
    for (int i = 0; i < node->num_inputs; i++) {
        if (node->inputs[i].node == control)
            return;
    }
    for (int i = 0; i < node->num_controls; i++) {
        if (node->controls[i] == control)
            return;
    }
    node->controls[node->num_controls++] = control;
}

/* Control inputs of the scope's blocks, outermost first, and then the caller's own. */
static weir_status set_controls(weir_node *node, const weir_scope_record *record, const weir_op_options *options)
{
    int most = options->num_controls;
    for (const weir_control_block *block = record->controls; block != NULL; block = block->outer)
        most += block->count;
    node->block = record->controls;
    if (most == 0)
        return WEIR_STATUS_OK;
    node->controls = weir_arena_take(&node->graph->arena, (size_t)most, sizeof *node->controls);
    if (node->controls == NULL)
        return weir_fail_memory((size_t)most * sizeof *node->controls);
    for (const weir_control_block *block = record->controls; block != NULL; block = block->outer) {
        if (has_input_inside(node, block))
            continue;
        for (int i = 0; i < block->count; i++)
            add_control(node, block->nodes[i]);
    }
    for (int i = 0; i < options->num_controls; i++) {
        if (options->controls[i] == NULL)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Control input %d is NULL", i);
        add_control(node, options->controls[i]);
    }
    return WEIR_STATUS_OK;
}

/* Colocation: the group of the named node, or that node itself, and its device. */
static weir_status set_colocation(weir_node *node, const weir_node *with)
{
    const weir_attr_value *groups = weir_node_find_attr(with, "_class");
    node->device = with->device;
    if (groups != NULL) {
        weir_node_set_attr(node, &(weir_attr){"_class", *groups});
        return WEIR_STATUS_OK;
    }
    const char *group = weir_arena_format(&node->graph->arena, "loc:@%s", with->name);
    if (group == NULL)
        return weir_fail_memory(strlen(with->name));
    weir_bytes text = {group, strlen(group)};
    weir_node_set_attr(node, &WEIR_ATTR_STRINGS("_class", &text, 1));
    return WEIR_STATUS_OK;
}

static weir_status set_device(weir_node *node, const weir_scope_record *record, const weir_op_options *options)
{
    if (options->device != NULL) {
        node->device = weir_arena_text(&node->graph->arena, options->device, strlen(options->device));
        return node->device != NULL ? WEIR_STATUS_OK : weir_fail_memory(strlen(options->device));
    }
    if (record->colocation != NULL)
        return set_colocation(node, record->colocation);
    return weir_scope_device(record, node->op->name, node->name, &node->device);
}

static weir_status finish(weir_node *node, const weir_scope_record *record, const weir_op_options *options)
{
    WEIR_TRY(weir_node_resolve(node, options->attrs, options->num_attrs, false));
    WEIR_TRY(weir_node_infer(node));
    WEIR_TRY(set_controls(node, record, options));
    WEIR_TRY(set_name(node, record, options->name != NULL ? options->name : node->op->name));
    WEIR_TRY(set_device(node, record, options));
    return weir_graph_add(node->graph, node);
}

/* "MatMul 'name' of inputs a:0 float [2,3], b:0 float [4,5]", put before what went wrong. */
static weir_status fail_building(weir_scope scope, const char *op, const weir_op_options *options, weir_status status)
{
    weir_text inputs = {0};
    for (int i = 0; i < options->num_inputs; i++) {
        weir_output input = options->inputs[i];
        char shape[WEIR_SHAPE_TEXT_SIZE];
        weir_text_append(&inputs, "%s%s:%d %s %s", i == 0 ? " of inputs " : ", ", weir_node_name(input.node), input.index,
                         weir_dtype_name(weir_output_dtype(input)),
                         weir_shape_text(weir_output_shape(input), shape, sizeof shape));
    }
    status = weir_fail_in(status, "%s '%s%s'%s", op, weir_scope_name(scope), options->name != NULL ? options->name : op,
                          weir_text_get(&inputs));
    weir_text_clear(&inputs);
    return weir_scope_fail(scope, status);
}

weir_node *weir_op_build(weir_scope scope, const char *op, const weir_op_options *options)
{
    if (scope.record == NULL)
        return NULL;
    for (int i = 0; i < options->num_inputs; i++) {
        if (options->inputs[i].node == NULL)
            return NULL;
    }
    weir_graph *graph = scope.record->graph;
    const weir_op_def *def = weir_graph_op(graph, op);
    weir_status status = WEIR_STATUS_OK;
    weir_node *node = NULL;
    if (graph->is_final) {
        status = weir_fail(WEIR_FAILED_PRECONDITION, "Graph is finalized and cannot be modified.");
    } else if (def == NULL) {
        status = unknown_op(op);
    } else {
        node = weir_node_draft(graph, def, options->inputs, options->num_inputs);
        status = node != NULL ? WEIR_STATUS_OK : weir_fail_memory(sizeof *node);
    }
    if (weir_ok(status)) {
        node->file = scope.file;
        node->line = scope.line;
        status = finish(node, scope.record, options);
    }
    if (weir_ok(status))
        return node;
    (void)fail_building(scope, op, options, status);
    return NULL;
}

void weir_node_set_back_edge(weir_node *merge, int index, weir_output next_iteration)
{
    if (merge == NULL || next_iteration.node == NULL)
        return;
    weir_scope root = weir_root(merge->graph);
    if (strcmp(merge->op->name, "Merge") != 0 && strcmp(merge->op->name, "RefMerge") != 0) {
        (void)weir_scope_fail(root, weir_fail(WEIR_INVALID_ARGUMENT, "Node '%s' (op %s) is no Merge: it cannot get a back edge",
                                              merge->name, merge->op->name));
        return;
    }
    if (index < 0 || index >= merge->num_inputs) {
        (void)weir_scope_fail(root, weir_fail(WEIR_INVALID_ARGUMENT, "Merge '%s' has no input %d", merge->name, index));
        return;
    }
    merge->inputs[index] = next_iteration;
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

static bool is_output(weir_output output)
{
    return output.node != NULL && output.index >= 0 && output.index < output.node->num_outputs;
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
