/*
 * A graph as a GraphDef: its nodes in the order of their creation, every attribute written, in the order of their names.
 */
#include <stdlib.h>
#include <string.h>

#include "format/message.h"
#include "format/text_format.h"
#include "graph/graph_def_attribute.h"

static char *input_text(weir_arena *arena, weir_output input)
{
    if (input.node == NULL)
        return NULL;
    return input.index == 0 ? (char *)input.node->name
                            : weir_arena_format(arena, "%s:%d", input.node->name, input.index);
}

static weir_status write_inputs(const weir_node *node, weir_arena *arena, Weir__NodeDef *def)
{
    size_t count = (size_t)node->num_inputs + (size_t)node->num_controls;
    def->input = weir_arena_take(arena, count, sizeof *def->input);
    if (def->input == NULL)
        return weir_fail_memory(count * sizeof *def->input);
    for (int i = 0; i < node->num_inputs; i++) {
        if (node->inputs[i].node == NULL)
            return weir_fail(WEIR_FAILED_PRECONDITION, "Input %d of node '%s' is a back edge that was not set", i,
                             node->name);
        def->input[def->n_input++] = input_text(arena, node->inputs[i]);
    }
    for (int i = 0; i < node->num_controls; i++)
        def->input[def->n_input++] = weir_arena_format(arena, "^%s", node->controls[i]->name);
    for (size_t i = 0; i < def->n_input; i++) {
        if (def->input[i] == NULL)
            return weir_fail_memory(count);
    }
    return WEIR_STATUS_OK;
}

static int compare_entries(const void *a, const void *b)
{
    const Weir__NodeDef__AttrEntry *const *first = a;
    const Weir__NodeDef__AttrEntry *const *second = b;
    return strcmp((*first)->key, (*second)->key);
}

static weir_status write_attrs(const weir_node *node, weir_arena *arena, Weir__NodeDef *def)
{
    def->attr = weir_arena_take(arena, (size_t)node->num_attrs, sizeof *def->attr);
    if (def->attr == NULL)
        return weir_fail_memory((size_t)node->num_attrs * sizeof *def->attr);
    for (int i = 0; i < node->num_attrs; i++) {
        Weir__NodeDef__AttrEntry *entry = weir_message_new(arena, &weir__node_def__attr_entry__descriptor);
        if (entry == NULL)
            return weir_fail_memory(sizeof *entry);
        entry->key = (char *)node->attrs[i].name;
        weir_status status = weir_attr_to_proto(&node->attrs[i].value, arena, &entry->value);
        if (!weir_ok(status))
            return weir_fail_in(status, "Attribute '%s' of node '%s'", node->attrs[i].name, node->name);
        def->attr[def->n_attr++] = entry;
    }
    qsort(def->attr, def->n_attr, sizeof *def->attr, compare_entries);
    return WEIR_STATUS_OK;
}

static weir_status write_node(const weir_node *node, weir_arena *arena, Weir__NodeDef **out)
{
    Weir__NodeDef *def = weir_message_new(arena, &weir__node_def__descriptor);
    if (def == NULL)
        return weir_fail_memory(sizeof *def);
    def->name = (char *)node->name;
    def->op = (char *)node->op->name;
    def->device = (char *)node->device;
    WEIR_TRY(write_inputs(node, arena, def));
    WEIR_TRY(write_attrs(node, arena, def));
    if (node->full_type.size > 0) {
        ProtobufCMessage *type = NULL;
        WEIR_TRY(weir_message_unpack(&weir__full_type_def__descriptor, node->full_type.data, node->full_type.size,
                                     arena, &type));
        def->experimental_type = (Weir__FullTypeDef *)type;
    }
    *out = def;
    return WEIR_STATUS_OK;
}

static weir_status write_graph(const weir_graph *graph, weir_arena *arena, Weir__GraphDef **out)
{
    size_t count = graph->nodes.count;
    Weir__GraphDef *def = weir_message_new(arena, &weir__graph_def__descriptor);
    Weir__NodeDef **nodes = weir_arena_take(arena, count, sizeof *nodes);
    Weir__VersionDef *versions = weir_message_new(arena, &weir__version_def__descriptor);
    if (def == NULL || nodes == NULL || versions == NULL)
        return weir_fail_memory(count * sizeof *nodes);
    for (size_t i = 0; i < count; i++)
        WEIR_TRY(write_node(graph->nodes.items[i], arena, &nodes[i]));
    versions->producer = graph->producer;
    versions->min_consumer = graph->min_consumer;
    def->node = nodes;
    def->n_node = count;
    def->versions = versions;
    if (graph->library.size > 0) {
        ProtobufCMessage *library = NULL;
        WEIR_TRY(weir_message_unpack(&weir__function_def_library__descriptor, graph->library.data, graph->library.size,
                                     arena, &library));
        def->library = (Weir__FunctionDefLibrary *)library;
    }
    *out = def;
    return WEIR_STATUS_OK;
}

weir_status weir_graph_export(const weir_graph *graph, void **bytes, size_t *size)
{
    WEIR_TRY(weir_graph_error(graph));
    weir_arena arena = {0};
    Weir__GraphDef *def = NULL;
    weir_status status = write_graph(graph, &arena, &def);
    if (weir_ok(status))
        status = weir_message_pack(&def->base, bytes, size);
    weir_arena_clear(&arena);
    return status;
}

weir_status weir_graph_export_text(const weir_graph *graph, char **text)
{
    WEIR_TRY(weir_graph_error(graph));
    weir_arena arena = {0};
    weir_text written = {0};
    Weir__GraphDef *def = NULL;
    weir_status status = write_graph(graph, &arena, &def);
    if (weir_ok(status))
        status = weir_message_to_text(&def->base, &written);
    if (weir_ok(status))
        status = weir_text_take(&written, text);
    weir_text_clear(&written);
    weir_arena_clear(&arena);
    return status;
}
