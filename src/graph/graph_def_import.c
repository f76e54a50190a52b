/*
 * Import of a GraphDef. Everything is checked on drafts, which nobody sees; only then are they put into the graph, so that
 * nothing is added on failure.
 */
#include "graph/graph_def_import.h"

#include <string.h>

#include <weir/version.h>

#include "format/message.h"
#include "format/text_format.h"
#include "graph/attribute.h"
#include "graph/graph_def_attribute.h"
#include "graph/graph_def_library.h"
#include "graph/scope.h"

/* ---- Versions ---- */

static weir_status check_versions(const Weir__VersionDef *versions)
{
    if (versions == NULL)
        return WEIR_STATUS_OK;
    if (versions->producer < 0) {
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "GraphDef producer version %d below min producer 0 supported by Weir " WEIR_VERSION
                         ".  Please regenerate your graph.",
                         versions->producer);
    }
    if (versions->min_consumer > WEIR_GRAPH_VERSION) {
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "GraphDef min consumer version %d above current version %d for Weir " WEIR_VERSION
                         ".  Please upgrade Weir.",
                         versions->min_consumer, WEIR_GRAPH_VERSION);
    }
    for (size_t i = 0; i < versions->n_bad_consumers; i++) {
        if (versions->bad_consumers[i] == WEIR_GRAPH_VERSION) {
            return weir_fail(
                WEIR_INVALID_ARGUMENT,
                "GraphDef disallows consumer version %d.  Please upgrade Weir: this version is likely buggy.",
                WEIR_GRAPH_VERSION);
        }
    }
    return WEIR_STATUS_OK;
}

/* An empty graph takes the versions of the file; one with nodes is only as new as both. */
static void merge_versions(weir_graph *graph, const Weir__VersionDef *versions, bool is_empty)
{
    int producer = versions != NULL ? versions->producer : 0;
    int min_consumer = versions != NULL ? versions->min_consumer : 0;
    graph->producer = is_empty || producer < graph->producer ? producer : graph->producer;
    graph->min_consumer = is_empty || min_consumer > graph->min_consumer ? min_consumer : graph->min_consumer;
}

/* ---- Attributes ---- */

static bool is_named(const Weir__NodeDef__AttrEntry *entry, const char *name)
{
    return strcmp(entry->key, name) == 0;
}

/* The shapes an exporter noted for the outputs; NULL when it did not. */
static const Weir__AttrValue *find_output_shapes(const Weir__NodeDef *def)
{
    const Weir__AttrValue *found = NULL;
    for (size_t i = 0; i < def->n_attr; i++) {
        if (is_named(def->attr[i], "_output_shapes"))
            found = def->attr[i]->value;
    }
    return found;
}

/* "loc:@a" of the file means the node that a becomes. Part of a graph, as a worker gets it, may lack that node: then the
 * group still holds those together that name it. */
static weir_status prefix_groups(const weir_import *import, weir_attr_value *groups)
{
    static const char location[] = "loc:@";
    size_t skip = sizeof location - 1;
    if ((int)groups->kind != WEIR_ATTR_LIST + WEIR_ATTR_STRING || import->prefix[0] == '\0')
        return WEIR_STATUS_OK;
    weir_bytes *changed = weir_arena_take(import->arena, (size_t)groups->list.count, sizeof *changed);
    if (changed == NULL)
        return weir_fail_memory((size_t)groups->list.count * sizeof *changed);
    for (int64_t i = 0; i < groups->list.count; i++) {
        changed[i] = groups->list.s[i];
        if (changed[i].size <= skip || memcmp(changed[i].data, location, skip) != 0)
            continue;
        const char *text = weir_arena_format(import->arena, "%s%s%.*s", location, import->prefix,
                                             (int)(changed[i].size - skip), changed[i].data + skip);
        if (text == NULL)
            return weir_fail_memory(changed[i].size);
        changed[i] = (weir_bytes){text, strlen(text)};
    }
    groups->list.s = changed;
    return WEIR_STATUS_OK;
}

/* The attribute of a name that was read already, or a new place. */
static weir_attr *place_of(weir_attr *attrs, int *count, const char *name)
{
    for (int i = 0; i < *count; i++) {
        if (strcmp(attrs[i].name, name) == 0)
            return &attrs[i];
    }
    attrs[*count].name = name;
    return &attrs[(*count)++];
}

static weir_status read_attr(const weir_import *import, const weir_import_node *node,
                             const Weir__NodeDef__AttrEntry *entry, weir_attr_memory *memory, weir_attr_value *value)
{
    weir_status status = weir_attr_from_proto(entry->value, memory, value);
    if (weir_ok(status) && is_named(entry, "_class"))
        return prefix_groups(import, value);
    return weir_fail_in(status, "Node '%s', attr '%s'", node->def->name, entry->key);
}

/* All attributes but the noted shapes; of one that stands twice the last counts. */
static weir_status read_attrs(const weir_import *import, const weir_import_node *node, weir_attr_memory *memory,
                              weir_attr **out, int *count)
{
    const Weir__NodeDef *def = node->def;
    weir_attr *attrs = weir_arena_take(import->arena, def->n_attr, sizeof *attrs);
    if (attrs == NULL)
        return weir_fail_memory(def->n_attr * sizeof *attrs);
    *count = 0;
    for (size_t i = 0; i < def->n_attr; i++) {
        if (is_named(def->attr[i], "_output_shapes"))
            continue;
        weir_attr_value value;
        WEIR_TRY(read_attr(import, node, def->attr[i], memory, &value));
        place_of(attrs, count, def->attr[i]->key)->value = value;
    }
    *out = attrs;
    return WEIR_STATUS_OK;
}

/* ---- Drafts ---- */

static weir_output output_of(const weir_import_end *end)
{
    return end->from != NULL ? (weir_output){end->from->draft, end->index} : end->replaced;
}

static weir_status check_index(const weir_import_node *node, const weir_import_end *end)
{
    if (end->from == NULL || end->index < end->from->draft->num_outputs)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT,
                     "Node '%s': Connecting to invalid output %d of source node %s which has %d outputs.",
                     node->def->name, end->index, end->from->def->name, end->from->draft->num_outputs);
}

static weir_status start_draft(const weir_import *import, weir_import_node *node)
{
    weir_output *inputs = weir_arena_take(import->arena, (size_t)node->num_inputs, sizeof *inputs);
    if (inputs == NULL)
        return weir_fail_memory((size_t)node->num_inputs * sizeof *inputs);
    for (int i = 0; i < node->num_inputs; i++) {
        if (node->inputs[i].is_back_edge)
            continue;
        WEIR_TRY(check_index(node, &node->inputs[i]));
        inputs[i] = output_of(&node->inputs[i]);
    }
    node->draft = weir_node_draft(import->graph, node->op, inputs, node->num_inputs);
    if (node->draft == NULL)
        return weir_fail_memory(sizeof *node->draft);
    node->draft->name = node->name;
    return WEIR_STATUS_OK;
}

/* True when everything the node waits for was in the graph before. */
static bool is_first(const weir_import_node *node)
{
    for (int i = 0; i < node->num_inputs; i++) {
        if (node->inputs[i].from != NULL && !node->inputs[i].is_back_edge)
            return false;
    }
    for (int i = 0; i < node->num_controls; i++) {
        if (node->controls[i].from != NULL)
            return false;
    }
    return true;
}

static void add_control(weir_node *node, weir_node *control, unsigned mark)
{
    if (control->mark == mark)
        return;
    control->mark = mark;
    node->controls[node->num_controls++] = control;
}

/* Those of the file, each once; the first nodes wait for the scope's besides. */
static weir_status set_controls(const weir_import *import, const weir_import_node *node)
{
    weir_node *draft = node->draft;
    const weir_control_block *blocks = is_first(node) ? import->record->controls : NULL;
    size_t most = (size_t)node->num_controls;
    for (const weir_control_block *block = blocks; block != NULL; block = block->outer)
        most += (size_t)block->count;
    draft->block = import->record->controls;
    if (most == 0)
        return WEIR_STATUS_OK;
    draft->controls = weir_arena_take(&import->graph->arena, most, sizeof(weir_node *));
    if (draft->controls == NULL)
        return weir_fail_memory(most * sizeof(weir_node *));
    unsigned mark = weir_graph_new_mark(import->graph);
    for (int i = 0; i < node->num_controls; i++)
        add_control(draft, output_of(&node->controls[i]).node, mark);
    for (const weir_control_block *block = blocks; block != NULL; block = block->outer) {
        for (int i = 0; i < block->count; i++)
            add_control(draft, block->nodes[i], mark);
    }
    return WEIR_STATUS_OK;
}

/* What the file says, as it is; the scope's where it says nothing. */
static weir_status set_device(const weir_import *import, const weir_import_node *node)
{
    weir_node *draft = node->draft;
    const char *own = node->def->device;
    const char *merged = NULL;
    weir_status status = weir_scope_device(import->record, node->op->name, node->name, own, &merged);
    if (!weir_ok(status))
        return weir_fail_in(status, "Node '%s'", node->def->name);
    bool is_as_it_was = import->record->devices == NULL && own[0] != '\0';
    draft->device = is_as_it_was ? weir_arena_text(&import->graph->arena, own, strlen(own)) : merged;
    return draft->device != NULL ? WEIR_STATUS_OK : weir_fail_memory(strlen(own));
}

static weir_status keep_full_type(const weir_import *import, const weir_import_node *node)
{
    if (node->def->experimental_type == NULL)
        return WEIR_STATUS_OK;
    ProtobufCBinaryData packed = {0};
    WEIR_TRY(weir_message_pack_in(&node->def->experimental_type->base, &import->graph->arena, &packed));
    node->draft->full_type = (weir_bytes){(const char *)packed.data, packed.len};
    return WEIR_STATUS_OK;
}

/* Narrows the shapes to those that the exporter noted; both must go together. */
static weir_status apply_output_shapes(const weir_import_node *node, weir_attr_memory *memory)
{
    const Weir__AttrValue *noted = find_output_shapes(node->def);
    if (noted == NULL)
        return WEIR_STATUS_OK;
    weir_attr_value value;
    WEIR_TRY(weir_attr_from_proto(noted, memory, &value));
    if ((int)value.kind != WEIR_ATTR_LIST + WEIR_ATTR_SHAPE)
        return WEIR_STATUS_OK;
    weir_node *draft = node->draft;
    for (int i = 0; i < draft->num_outputs && i < value.list.count; i++) {
        weir_status status = weir_infer_merge(draft->output_shapes[i], value.list.shape[i], &draft->output_shapes[i]);
        if (!weir_ok(status)) {
            return weir_fail_in(
                status, "Node '%s' has an _output_shapes attribute inconsistent with the GraphDef for output #%d",
                node->def->name, i);
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status make_draft(const weir_import *import, weir_import_node *node, weir_attr_memory *memory)
{
    weir_attr *attrs = NULL;
    int num_attrs = 0;
    WEIR_TRY(start_draft(import, node));
    WEIR_TRY(set_controls(import, node));
    WEIR_TRY(set_device(import, node));
    WEIR_TRY(keep_full_type(import, node));
    WEIR_TRY(read_attrs(import, node, memory, &attrs, &num_attrs));
    weir_status status = weir_node_resolve(node->draft, attrs, num_attrs, true);
    if (weir_ok(status))
        status = weir_node_infer(node->draft);
    if (!weir_ok(status))
        return weir_fail_in(status, "Node '%s'", node->def->name);
    return apply_output_shapes(node, memory);
}

static weir_status join_back_edges(const weir_import_node *node)
{
    for (int i = 0; i < node->num_inputs; i++) {
        if (!node->inputs[i].is_back_edge)
            continue;
        WEIR_TRY(check_index(node, &node->inputs[i]));
        WEIR_TRY(weir_node_connect_back(node->draft, i, output_of(&node->inputs[i])));
    }
    return WEIR_STATUS_OK;
}

static weir_status make_drafts(const weir_import *import, weir_attr_memory *memory)
{
    for (size_t i = 0; i < import->count; i++)
        WEIR_TRY(make_draft(import, import->order[i], memory));
    for (size_t i = 0; i < import->count; i++)
        WEIR_TRY(join_back_edges(import->order[i]));
    return WEIR_STATUS_OK;
}

/* ---- Into the graph ---- */

/* Adds the prefix and the names of all nodes to those that are taken, and the nodes to the graph. */
static weir_status add_nodes(const weir_import *import)
{
    size_t length = strlen(import->prefix);
    if (length > strlen(import->record->prefix)) {
        char *name = weir_arena_text(import->arena, import->prefix, length - 1);
        if (name == NULL)
            return weir_fail_memory(length);
        WEIR_TRY(weir_name_note(import->graph, name));
    }
    for (size_t i = 0; i < import->count; i++) {
        weir_status status = weir_name_note(import->graph, import->order[i]->name);
        if (weir_ok(status))
            status = weir_graph_add(import->graph, import->order[i]->draft);
        if (!weir_ok(status)) {
            weir_graph_take_back(import->graph, i);
            return status;
        }
    }
    return WEIR_STATUS_OK;
}

/* ---- The whole ---- */

static weir_status unpack(const void *bytes, size_t size, bool is_text, weir_arena *arena, const Weir__GraphDef **out)
{
    ProtobufCMessage *message = NULL;
    if (is_text)
        WEIR_TRY(weir_message_from_text(&weir__graph_def__descriptor, bytes, size, arena, &message));
    else
        WEIR_TRY(weir_message_unpack(&weir__graph_def__descriptor, bytes, size, arena, &message));
    *out = (const Weir__GraphDef *)message;
    return WEIR_STATUS_OK;
}

/* The prefix of all names: the scope's and the caller's, which ends in one "/". */
static weir_status set_prefix(weir_import *import)
{
    const char *own = import->options->prefix != NULL ? import->options->prefix : "";
    const char *outer = import->record->prefix;
    size_t length = strlen(own);
    import->prefix = outer;
    if (length == 0)
        return WEIR_STATUS_OK;
    if (!weir_is_name(own) || (outer[0] == '\0' && !weir_is_name_start(own[0])) || strcmp(own, "/") == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Imported node name prefix '%s' would lead to invalid node names", own);
    import->prefix = weir_arena_format(import->arena, "%s%s%s", outer, own, own[length - 1] == '/' ? "" : "/");
    return import->prefix != NULL ? WEIR_STATUS_OK : weir_fail_memory(length);
}

static weir_status import_nodes(weir_import *import, weir_attr_memory *memory)
{
    weir_bytes library;
    WEIR_TRY(check_versions(import->def->versions));
    WEIR_TRY(set_prefix(import));
    WEIR_TRY(weir_import_read(import));
    WEIR_TRY(weir_import_sort(import));
    WEIR_TRY(make_drafts(import, memory));
    WEIR_TRY(weir_library_merge(import->graph, import->def->library, import->arena, &library));
    WEIR_TRY(add_nodes(import));
    import->graph->library = library;
    return WEIR_STATUS_OK;
}

static weir_status import_bytes(weir_import *import, const void *bytes, size_t size)
{
    weir_graph *graph = import->graph;
    WEIR_TRY(unpack(bytes, size, import->options->is_text, import->arena, &import->def));
    bool was_empty = graph->nodes.count == 0;
    size_t tensors = graph->tensors.count;
    weir_attr_memory memory = {.arena = import->arena};
    weir_status status = import_nodes(import, &memory);
    weir_attr_memory_clear(&memory);
    weir_map_clear(&import->by_name);
    weir_map_clear(&import->replacements);
    weir_list_clear(&import->replaced);
    if (weir_ok(status))
        merge_versions(graph, import->def->versions, was_empty);
    else
        weir_graph_drop_tensors(graph, tensors);
    return status;
}

weir_status weir_graph_import(weir_scope scope, const void *bytes, size_t size, const weir_import_options *options)
{
    static const weir_import_options defaults = {.size = sizeof defaults};
    if (scope.record == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "A graph cannot be imported into a scope that could not be made");
    weir_graph *graph = scope.record->graph;
    if (graph->is_final)
        return weir_fail(WEIR_FAILED_PRECONDITION, "Graph is finalized and cannot be modified.");
    weir_arena arena = {0};
    weir_import import = {
        .graph = graph, .record = scope.record, .options = options != NULL ? options : &defaults, .arena = &arena};
    weir_status status = import_bytes(&import, bytes, size);
    weir_arena_clear(&arena);
    return status;
}
