/*
 * First step of an import: the names, ops and input texts of a GraphDef's nodes, checked and resolved.
 */
#include <stdio.h>
#include <string.h>

#include "graph/graph_def_import.h"
#include "graph/graph_def_library.h"
#include "graph/scope.h"

#define SHOWN 20 /* things an error names before it only counts */

/* ---- Names and ops ---- */

/* Names inside a runtime may begin with "_", too. */
static bool is_internal_name(const char *name)
{
    return weir_is_name(name) && (weir_is_name_start(name[0]) || name[0] == '_');
}

static weir_status read_name(weir_import *import, weir_import_node *node)
{
    const char *name = node->def->name;
    size_t length = strlen(name);
    if (!is_internal_name(name))
        return weir_fail(WEIR_INVALID_ARGUMENT, "Node '%s': Node name contains invalid characters", name);
    if (node->def->op[0] == '\0')
        return weir_fail(WEIR_INVALID_ARGUMENT, "Node '%s' does not specify an operation", name);
    if (weir_map_get(&import->by_name, name, length) != NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Node '%s' is not unique", name);
    WEIR_TRY(weir_map_put(&import->by_name, name, length, node));
    node->name = weir_arena_format(&import->graph->arena, "%s%s", import->prefix, name);
    if (node->name == NULL)
        return weir_fail_memory(length);
    if (weir_graph_find(import->graph, node->name) != NULL)
        return weir_fail(WEIR_ALREADY_EXISTS, "Node name '%s' already exists in the Graph", node->name);
    return WEIR_STATUS_OK;
}

static weir_status read_names(weir_import *import)
{
    for (size_t i = 0; i < import->count; i++) {
        import->nodes[i].def = import->def->node[i];
        WEIR_TRY(read_name(import, &import->nodes[i]));
    }
    return WEIR_STATUS_OK;
}

/* Nodes whose op is not there, put together by op. */
typedef struct missing {
    weir_map counts;                           /* op -> int */
    WEIR_LIST(const weir_import_node *) first; /* of each op */
} missing;

static weir_status note_missing(missing *missing, weir_arena *arena, const weir_import_node *node)
{
    const char *op = node->def->op;
    int *count = weir_map_get(&missing->counts, op, strlen(op));
    if (count != NULL) {
        ++*count;
        return WEIR_STATUS_OK;
    }
    count = weir_arena_take(arena, 1, sizeof *count);
    if (count == NULL)
        return weir_fail_memory(sizeof *count);
    *count = 1;
    WEIR_TRY(weir_map_put(&missing->counts, op, strlen(op), count));
    return weir_list_add(&missing->first, node);
}

static weir_status report(const missing *missing, weir_code code, const char *one, const char *several)
{
    weir_text text = {0};
    size_t count = missing->first.count;
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        const Weir__NodeDef *def = missing->first.items[i]->def;
        const int *uses = weir_map_get(&missing->counts, def->op, strlen(def->op));
        weir_text_append(&text, "%s'%s' (node '%s'", i == 0 ? "" : ", ", def->op, def->name);
        if (*uses > 1)
            weir_text_append(&text, " and %d more", *uses - 1);
        weir_text_append(&text, ")");
    }
    if (count > SHOWN)
        weir_text_append(&text, " and %zu more", count - SHOWN);
    weir_status status = weir_fail(code, "%s %s", count == 1 ? one : several, weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

static weir_status read_ops(weir_import *import, missing *unknown, missing *calls)
{
    for (size_t i = 0; i < import->count; i++) {
        weir_import_node *node = &import->nodes[i];
        node->op = weir_graph_op(import->graph, node->def->op);
        if (node->op != NULL)
            continue;
        bool is_call = weir_library_has(import->def->library, node->def->op);
        WEIR_TRY(note_missing(is_call ? calls : unknown, import->arena, node));
    }
    if (unknown->first.count > 0)
        return report(unknown, WEIR_NOT_FOUND, "Op type not registered", "Op types not registered:");
    if (calls->first.count > 0)
        return report(calls, WEIR_UNIMPLEMENTED, "Functions cannot be called yet:", "Functions cannot be called yet:");
    return WEIR_STATUS_OK;
}

static weir_status find_ops(weir_import *import)
{
    missing unknown = {0};
    missing calls = {0};
    weir_status status = read_ops(import, &unknown, &calls);
    weir_map_clear(&unknown.counts);
    weir_list_clear(&unknown.first);
    weir_map_clear(&calls.counts);
    weir_list_clear(&calls.first);
    return status;
}

/* ---- Replaced tensors ---- */

/* "x" means "x:0". */
static weir_status add_replacement(weir_import *import, weir_bytes name, weir_output by)
{
    if (by.node == NULL || by.node->graph != import->graph || by.index < 0 || by.index >= by.node->num_outputs) {
        return weir_fail(WEIR_INVALID_ARGUMENT, "The replacement of '%.*s' is no output of the graph", (int)name.size,
                         name.data);
    }
    weir_import_replacement *replacement = weir_arena_take(import->arena, 1, sizeof *replacement);
    char *text = weir_arena_text(import->arena, name.data, name.size);
    if (replacement == NULL || text == NULL)
        return weir_fail_memory(sizeof *replacement + name.size);
    int index = 0;
    size_t length = weir_split_output_name(text, &index);
    const char *key = text[0] == '^' ? text : weir_arena_format(import->arena, "%.*s:%d", (int)length, text, index);
    if (key == NULL)
        return weir_fail_memory(name.size);
    *replacement = (weir_import_replacement){.key = key, .by = by};
    WEIR_TRY(weir_map_put(&import->replacements, key, strlen(key), replacement));
    return weir_list_add(&import->replaced, replacement);
}

static weir_status read_replacements(weir_import *import)
{
    for (int i = 0; i < import->options->num_inputs; i++)
        WEIR_TRY(add_replacement(import, import->options->input_names[i], import->options->inputs[i]));
    return WEIR_STATUS_OK;
}

static weir_import_replacement *find_replacement(const weir_import *import, const char *key)
{
    weir_import_replacement *found = weir_map_get(&import->replacements, key, strlen(key));
    if (found != NULL)
        found->is_used = true;
    return found;
}

/* What is replaced must stand in the file, if only as a node that nothing uses. */
static weir_status check_replacements(const weir_import *import)
{
    weir_text unused = {0};
    for (size_t i = 0; i < import->replaced.count; i++) {
        const weir_import_replacement *replacement = import->replaced.items[i];
        int index = 0;
        const char *name = replacement->key + (replacement->key[0] == '^');
        size_t length = weir_split_output_name(name, &index);
        if (!replacement->is_used && weir_map_get(&import->by_name, name, length) == NULL)
            weir_text_append(&unused, "%s%s", unused.length == 0 ? "" : ", ", replacement->key);
    }
    weir_status status = WEIR_STATUS_OK;
    if (unused.length > 0)
        status = weir_fail(WEIR_INVALID_ARGUMENT, "Attempted to map inputs that were not found in graph_def: [%s]",
                           weir_text_get(&unused));
    weir_text_clear(&unused);
    return status;
}

/* ---- Inputs ---- */

static weir_status unknown_input(const weir_import_node *node, const char *input)
{
    return weir_fail(WEIR_INVALID_ARGUMENT, "Node '%s': Unknown input node '%s'", node->def->name, input);
}

/* A data input; length is that of the name in it. */
static weir_status read_data(const weir_import *import, weir_import_node *node, const char *input, size_t length,
                             int index)
{
    weir_import_end *end = &node->inputs[node->num_inputs++];
    if (import->replaced.count > 0) {
        const char *key = weir_arena_format(import->arena, "%.*s:%d", (int)length, input, index);
        if (key == NULL)
            return weir_fail_memory(length);
        const weir_import_replacement *replacement = find_replacement(import, key);
        if (replacement != NULL) {
            *end = (weir_import_end){.replaced = replacement->by};
            return WEIR_STATUS_OK;
        }
    }
    weir_import_node *from = weir_map_get(&import->by_name, input, length);
    if (from == NULL)
        return unknown_input(node, input);
    *end = (weir_import_end){.from = from, .index = index};
    return WEIR_STATUS_OK;
}

/* A control input, "^name"; one that is there already is left out later. */
static weir_status read_control(const weir_import *import, weir_import_node *node, const char *input)
{
    weir_import_end *end = &node->controls[node->num_controls++];
    const weir_import_replacement *replacement = import->replaced.count > 0 ? find_replacement(import, input) : NULL;
    if (replacement != NULL) {
        *end = (weir_import_end){.replaced = replacement->by};
        return WEIR_STATUS_OK;
    }
    weir_import_node *from = weir_map_get(&import->by_name, input + 1, strlen(input + 1));
    if (from == NULL)
        return unknown_input(node, input);
    *end = (weir_import_end){.from = from};
    return WEIR_STATUS_OK;
}

static bool is_merge(const weir_import_node *node)
{
    return strcmp(node->op->name, "Merge") == 0 || strcmp(node->op->name, "RefMerge") == 0;
}

static bool is_next_iteration(const weir_import_node *node)
{
    return strcmp(node->op->name, "NextIteration") == 0 || strcmp(node->op->name, "RefNextIteration") == 0;
}

static weir_status read_inputs(const weir_import *import, weir_import_node *node)
{
    size_t count = node->def->n_input;
    node->inputs = weir_arena_take(import->arena, count, sizeof *node->inputs);
    node->controls = weir_arena_take(import->arena, count, sizeof *node->controls);
    if (node->inputs == NULL || node->controls == NULL)
        return weir_fail_memory(count * sizeof *node->inputs);
    for (size_t i = 0; i < count; i++) {
        const char *input = node->def->input[i];
        int index = 0;
        size_t length = weir_split_output_name(input, &index);
        if (input[length] == '\0' && input[0] == '^') {
            WEIR_TRY(read_control(import, node, input));
            continue;
        }
        if (node->num_controls > 0) {
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Node '%s': Control dependencies must come after regular dependencies", node->def->name);
        }
        WEIR_TRY(read_data(import, node, input, length, index));
    }
    for (int i = 0; is_merge(node) && i < node->num_inputs; i++)
        node->inputs[i].is_back_edge = node->inputs[i].from != NULL && is_next_iteration(node->inputs[i].from);
    return WEIR_STATUS_OK;
}

weir_status weir_import_read(weir_import *import)
{
    import->count = import->def->n_node;
    import->nodes = weir_arena_take(import->arena, import->count, sizeof *import->nodes);
    if (import->nodes == NULL)
        return weir_fail_memory(import->count * sizeof *import->nodes);
    WEIR_TRY(read_names(import));
    WEIR_TRY(find_ops(import));
    WEIR_TRY(read_replacements(import));
    for (size_t i = 0; i < import->count; i++)
        WEIR_TRY(read_inputs(import, &import->nodes[i]));
    return check_replacements(import);
}
