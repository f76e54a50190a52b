/*
 * Building a node in a scope: its name, control inputs and place. Its attributes and types are set in resolve.c.
 */
#include <string.h>

#include "graph/attribute.h"
#include "graph/device_name.h"
#include "graph/scope.h"

static const char *nearest_op(const char *name)
{
    const char *nearest = NULL;
    int nearest_distance = (int)strnlen(name, 63) / 3 + 1;
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
    return weir_fail(WEIR_NOT_FOUND, "Op type not registered '%s'%s%s%s", name,
                     nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "'?" : "");
}

/* ---- Name ---- */

/* Names that begin with "_" at the top level are kept for nodes of internal ops, whose names begin so too. */
static weir_status check_name(const weir_node *node, const char *name, bool is_root)
{
    bool is_internal = name[0] == '_' && node->op->name[0] == '_';
    if (weir_is_name(name) && strcmp(name, "/") != 0 && (!is_root || weir_is_name_start(name[0]) || is_internal))
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT,
                     "'%s' is not a valid node name. Accepted names conform to Regex ^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$",
                     name);
}

/* Finds the name; a claim without name means that it was given in full, and may be taken already. */
static weir_status set_name(weir_node *node, const weir_scope_record *record, const char *name, weir_name_claim *claim)
{
    weir_graph *graph = node->graph;
    size_t length = strlen(name);
    bool is_absolute = length > 1 && name[length - 1] == '/';
    *claim = (weir_name_claim){0};
    WEIR_TRY(check_name(node, name, is_absolute || record->prefix[0] == '\0'));
    if (is_absolute) {
        node->name = weir_arena_text(&graph->arena, name, length - 1);
        return node->name != NULL ? WEIR_STATUS_OK : weir_fail_memory(length);
    }
    const char *full =
        record->prefix[0] == '\0' ? name : weir_arena_format(&graph->arena, "%s%s", record->prefix, name);
    if (full == NULL)
        return weir_fail_memory(length);
    WEIR_TRY(weir_name_find(graph, full, claim));
    node->name = claim->name;
    return WEIR_STATUS_OK;
}

/* ---- Control inputs ---- */

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
        if (is_inside(node->inputs[i].node, block))
            return true;
    }
    return false;
}

/* Appends a control input unless the node depends on it already, which its mark tells. */
static void add_control(weir_node *node, weir_node *control, unsigned mark)
{
    if (control->mark == mark)
        return;
    control->mark = mark;
    node->controls[node->num_controls++] = control;
}

/* The control inputs of the scope's blocks, outermost first; blocks: room for depth of them. */
static void add_scope_controls(weir_node *node, const weir_control_block *innermost, unsigned mark,
                               const weir_control_block **blocks, size_t depth)
{
    const weir_control_block *block = innermost;
    for (size_t i = 0; i < depth; i++, block = block->outer)
        blocks[i] = block;
    for (size_t i = depth; i > 0; i--) {
        block = blocks[i - 1];
        for (int j = 0; !has_input_inside(node, block) && j < block->count; j++)
            add_control(node, block->nodes[j], mark);
    }
}

/* Control inputs of the scope, and then the caller's own. */
static weir_status set_controls(weir_node *node, const weir_scope_record *record, const weir_op_options *options)
{
    weir_arena *arena = &node->graph->arena;
    size_t most = (size_t)options->num_controls;
    size_t depth = 0;
    for (const weir_control_block *block = record->controls; block != NULL; block = block->outer, depth++)
        most += (size_t)block->count;
    node->block = record->controls;
    if (most == 0)
        return WEIR_STATUS_OK;
    const weir_control_block *few[16];
    const weir_control_block **blocks = depth <= 16 ? few : weir_arena_take(arena, depth, sizeof *blocks);
    node->controls = weir_arena_take(arena, most, sizeof(weir_node *));
    if (node->controls == NULL || blocks == NULL)
        return weir_fail_memory(most * sizeof(weir_node *));
    unsigned mark = weir_graph_new_mark(node->graph);
    for (int i = 0; i < node->num_inputs; i++)
        node->inputs[i].node->mark = mark;
    add_scope_controls(node, record->controls, mark, blocks, depth);
    for (int i = 0; i < options->num_controls; i++)
        add_control(node, options->controls[i], mark);
    return WEIR_STATUS_OK;
}

/* ---- Place ---- */

static int compare_bytes(weir_bytes a, weir_bytes b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common > 0 ? memcmp(a.data, b.data, common) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* Adds a group to a sorted list without repetition. */
static void add_group(weir_bytes *groups, int64_t *count, weir_bytes group)
{
    int64_t at = 0;
    while (at < *count && compare_bytes(groups[at], group) < 0)
        at++;
    if (at < *count && compare_bytes(groups[at], group) == 0)
        return;
    memmove(groups + at + 1, groups + at, (size_t)(*count - at) * sizeof *groups);
    groups[at] = group;
    (*count)++;
}

static const weir_attr_value *find_groups(const weir_node *node)
{
    const weir_attr_value *groups = weir_node_find_attr(node, "_class");
    bool is_list = groups != NULL && (int)groups->kind == WEIR_ATTR_LIST + WEIR_ATTR_STRING;
    return is_list && groups->list.count > 0 ? groups : NULL;
}

/* Adds the groups of a node: those it was placed with, or itself. */
static weir_status add_groups_of(weir_arena *arena, weir_bytes *groups, int64_t *count, const weir_node *with)
{
    const weir_attr_value *own = find_groups(with);
    for (int64_t i = 0; own != NULL && i < own->list.count; i++)
        add_group(groups, count, own->list.s[i]);
    if (own != NULL)
        return WEIR_STATUS_OK;
    const char *group = weir_arena_format(arena, "loc:@%s", with->name);
    if (group == NULL)
        return weir_fail_memory(strlen(with->name));
    add_group(groups, count, (weir_bytes){group, strlen(group)});
    return WEIR_STATUS_OK;
}

/* The groups of all nodes of the scope's colocations, and the device of the innermost that has one. */
static weir_status set_colocation(weir_node *node, const weir_colocation *innermost)
{
    weir_arena *arena = &node->graph->arena;
    size_t most = 0;
    for (const weir_colocation *at = innermost; at != NULL; at = at->outer) {
        const weir_attr_value *own = find_groups(at->node);
        most += own != NULL ? (size_t)own->list.count : 1;
    }
    weir_bytes *groups = weir_arena_take(arena, most, sizeof *groups);
    if (groups == NULL)
        return weir_fail_memory(most * sizeof *groups);
    int64_t count = 0;
    bool has_device = false;
    for (const weir_colocation *at = innermost; at != NULL; at = at->outer) {
        WEIR_TRY(add_groups_of(arena, groups, &count, at->node));
        if (!has_device && at->node->device[0] != '\0') {
            node->device = at->node->device;
            has_device = true;
        }
    }
    return weir_node_put_attr(node, &WEIR_ATTR_STRINGS("_class", groups, count));
}

static weir_status set_device(weir_node *node, const weir_scope_record *record, const weir_op_options *options)
{
    if (options->device == NULL) {
        WEIR_TRY(weir_scope_device(record, node->op->name, node->name, "", &node->device));
        return record->colocation != NULL ? set_colocation(node, record->colocation) : WEIR_STATUS_OK;
    }
    weir_device_name name;
    char text[WEIR_DEVICE_NAME_SIZE];
    WEIR_TRY(weir_device_name_parse(options->device, &name));
    weir_device_name_text(&name, text);
    node->device = text[0] == '\0' ? "" : weir_arena_text(&node->graph->arena, text, strlen(text));
    return node->device != NULL ? WEIR_STATUS_OK : weir_fail_memory(strlen(text));
}

/* ---- The whole ---- */

/* Refuses what is no output of this graph. */
static weir_status check_ends(const weir_graph *graph, const weir_op_options *options)
{
    for (int i = 0; i < options->num_inputs; i++) {
        weir_output input = options->inputs[i];
        if (input.node->graph != graph) {
            return weir_fail(WEIR_INVALID_ARGUMENT, "Input %d, '%s:%d', belongs to another graph", i, input.node->name,
                             input.index);
        }
        if (input.index < 0 || input.index >= input.node->num_outputs) {
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Connecting to invalid output %d of source node %s which has %d outputs.", input.index,
                             input.node->name, input.node->num_outputs);
        }
    }
    for (int i = 0; i < options->num_controls; i++) {
        if (options->controls[i]->graph != graph)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Control input '%s' belongs to another graph",
                             options->controls[i]->name);
    }
    return WEIR_STATUS_OK;
}

static weir_status finish(weir_node *node, const weir_scope_record *record, const weir_op_options *options)
{
    weir_name_claim claim;
    WEIR_TRY(weir_node_resolve(node, options->attrs, options->num_attrs, false));
    WEIR_TRY(weir_node_infer(node));
    WEIR_TRY(set_controls(node, record, options));
    WEIR_TRY(set_name(node, record, options->name != NULL ? options->name : node->op->name, &claim));
    WEIR_TRY(set_device(node, record, options));
    weir_status status = weir_graph_add(node->graph, node);
    if (status.code == WEIR_ALREADY_EXISTS)
        return weir_fail(WEIR_ALREADY_EXISTS, "Duplicate node name in graph: '%s'", node->name);
    WEIR_TRY(status);
    status = claim.name != NULL ? weir_name_enter(node->graph, &claim) : weir_name_note(node->graph, node->name);
    if (!weir_ok(status))
        weir_graph_take_back(node->graph, 1);
    return status;
}

static weir_status build(weir_scope scope, const char *op, const weir_op_options *options, weir_node **out)
{
    weir_graph *graph = scope.record->graph;
    if (graph->is_final)
        return weir_fail(WEIR_FAILED_PRECONDITION, "Graph is finalized and cannot be modified.");
    const weir_op_def *def = weir_graph_op(graph, op);
    if (def == NULL)
        return unknown_op(op);
    WEIR_TRY(check_ends(graph, options));
    weir_node *node = weir_node_draft(graph, def, options->inputs, options->num_inputs);
    if (node == NULL)
        return weir_fail_memory(sizeof *node + (size_t)options->num_inputs * sizeof *options->inputs);
    node->file = scope.file;
    node->line = scope.line;
    size_t tensors = graph->tensors.count;
    weir_status status = finish(node, scope.record, options);
    if (weir_ok(status))
        *out = node;
    else
        weir_graph_drop_tensors(graph, tensors);
    return status;
}

/* "MatMul 'name' of inputs a:0 float [2,3], b:0 float [4,5]", put before what went wrong. */
static void fail_building(weir_scope scope, const char *op, const weir_op_options *options, weir_status status)
{
    enum { SHOWN = 8 };
    weir_text inputs = {0};
    for (int i = 0; i < options->num_inputs && i < SHOWN; i++) {
        weir_output input = options->inputs[i];
        char shape[WEIR_SHAPE_TEXT_SIZE];
        weir_text_append(&inputs, "%s%s:%d %s %s", i == 0 ? " of inputs " : ", ", weir_node_name(input.node),
                         input.index, weir_dtype_name(weir_output_dtype(input)),
                         weir_shape_text(weir_output_shape(input), shape, sizeof shape));
    }
    if (options->num_inputs > SHOWN)
        weir_text_append(&inputs, " and %d more", options->num_inputs - SHOWN);
    const char *name = options->name != NULL ? options->name : op;
    size_t length = strlen(name);
    bool is_absolute = length > 1 && name[length - 1] == '/';
    status = weir_fail_in(status, "%s '%s%.*s'%s", op, is_absolute ? "" : weir_scope_name(scope),
                          (int)(is_absolute ? length - 1 : length), name, weir_text_get(&inputs));
    weir_text_clear(&inputs);
    (void)weir_scope_fail(scope, status);
}

weir_node *weir_op_build(weir_scope scope, const char *op, const weir_op_options *options)
{
    if (scope.record == NULL)
        return NULL;
    for (int i = 0; i < options->num_inputs; i++) {
        if (options->inputs[i].node == NULL)
            return NULL;
    }
    for (int i = 0; i < options->num_controls; i++) {
        if (options->controls[i] == NULL)
            return NULL;
    }
    weir_node *node = NULL;
    weir_status status = build(scope, op, options, &node);
    if (!weir_ok(status))
        fail_building(scope, op, options, status);
    return node;
}
