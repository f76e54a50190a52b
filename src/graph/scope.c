/*
 * Scopes: each call copies the record and changes one thing.
 */
#include "graph/scope.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/device_name.h"

static weir_scope changed(weir_scope scope, const weir_scope_record *record)
{
    if (record == NULL)
        (void)weir_scope_fail(scope, weir_fail_memory(sizeof(weir_scope_record)));
    else
        scope.record = record;
    return scope;
}

static weir_scope_record *copy_record(weir_scope scope)
{
    weir_scope_record *copy = weir_arena_take(&scope.record->graph->arena, 1, sizeof *copy);
    if (copy != NULL)
        *copy = *scope.record;
    return copy;
}

/* The prefix of a new scope: unique, or as given when the name ends in "/". NULL without memory. */
static const char *scope_prefix(const weir_scope_record *record, const char *name)
{
    weir_graph *graph = record->graph;
    size_t length = strlen(name);
    if (length == 0)
        return "";
    if (name[length - 1] == '/')
        return weir_arena_text(&graph->arena, name, length);
    const char *full = weir_arena_format(&graph->arena, "%s%s", record->prefix, name);
    const char *unique = full != NULL ? weir_graph_unique_name(graph, full) : NULL;
    return unique != NULL ? weir_arena_format(&graph->arena, "%s/", unique) : NULL;
}

/* Checks a name that is not empty. */
static weir_status check_scope_name(const char *name, bool is_root)
{
    if (weir_is_name(name) && (!is_root || weir_is_name_start(name[0])))
        return WEIR_STATUS_OK;
    if (is_root) {
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "'%s' is not a valid root scope name. A root scope name has to match the following pattern: "
                         "^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$",
                         name);
    }
    return weir_fail(WEIR_INVALID_ARGUMENT,
                     "'%s' is not a valid scope name. A scope name has to match the following pattern: "
                     "^[A-Za-z0-9_.\\/>-]*$",
                     name);
}

static weir_scope enter(weir_scope scope, const char *name)
{
    weir_status status = name[0] == '\0' ? WEIR_STATUS_OK : check_scope_name(name, scope.record->prefix[0] == '\0');
    if (!weir_ok(status)) {
        (void)weir_scope_fail(scope, status);
        return (weir_scope){0};
    }
    weir_scope_record *record = copy_record(scope);
    const char *prefix = record != NULL ? scope_prefix(scope.record, name) : NULL;
    if (prefix == NULL)
        return changed(scope, NULL);
    record->prefix = prefix;
    return changed(scope, record);
}

weir_scope weir_in_scope(weir_scope scope, const char *format, ...)
{
    if (scope.record == NULL)
        return scope;
    weir_text name = {0};
    va_list arguments;
    va_start(arguments, format);
    weir_text_append_list(&name, format, arguments);
    va_end(arguments);
    weir_scope inner = name.failed ? changed(scope, NULL) : enter(scope, weir_text_get(&name));
    weir_text_clear(&name);
    return inner;
}

/* The device of a layer and all outside of it; NULL when that depends on the node. */
static weir_status merge_layers(weir_arena *arena, const weir_device_layer *layer, const char **merged)
{
    const weir_device_layer *outer = layer->outer;
    *merged = layer->is_stop ? "" : layer->device;
    if (layer->device == NULL || outer == NULL || (outer->merged != NULL && outer->merged[0] == '\0'))
        return WEIR_STATUS_OK;
    *merged = NULL;
    if (outer->merged == NULL)
        return WEIR_STATUS_OK;
    weir_device_name name;
    weir_device_name around;
    char text[WEIR_DEVICE_NAME_SIZE];
    WEIR_TRY(weir_device_name_parse(layer->device, &name));
    WEIR_TRY(weir_device_name_parse(outer->merged, &around));
    name = weir_device_name_merge(&around, &name);
    weir_device_name_text(&name, text);
    *merged = weir_arena_text(arena, text, strlen(text));
    return *merged != NULL ? WEIR_STATUS_OK : weir_fail_memory(strlen(text));
}

static weir_scope with_layer(weir_scope scope, weir_device_layer layer)
{
    weir_arena *arena = &scope.record->graph->arena;
    weir_scope_record *record = copy_record(scope);
    weir_device_layer *kept = weir_arena_take(arena, 1, sizeof *kept);
    layer.outer = scope.record->devices;
    weir_status status = merge_layers(arena, &layer, &layer.merged);
    if (record == NULL || kept == NULL || !weir_ok(status))
        return changed(scope, NULL);
    *kept = layer;
    record->devices = kept;
    return changed(scope, record);
}

weir_scope weir_on_device(weir_scope scope, const char *format, ...)
{
    if (scope.record == NULL)
        return scope;
    char text[WEIR_DEVICE_NAME_SIZE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    weir_device_name name;
    weir_status status =
        length >= 0 && length < WEIR_DEVICE_NAME_SIZE
            ? weir_device_name_parse(text, &name)
            : weir_fail(WEIR_INVALID_ARGUMENT, "Malformed device specification '%.60s...': too long", text);
    if (!weir_ok(status)) {
        (void)weir_scope_fail(scope, status);
        return (weir_scope){0};
    }
    weir_device_name_text(&name, text);
    if (text[0] == '\0')
        return scope;
    const char *kept = weir_arena_text(&scope.record->graph->arena, text, strlen(text));
    return kept != NULL ? with_layer(scope, (weir_device_layer){.device = kept}) : changed(scope, NULL);
}

weir_scope weir_on_device_from(weir_scope scope, weir_device_function *function, void *context)
{
    if (scope.record == NULL)
        return scope;
    return with_layer(scope, (weir_device_layer){.function = function, .context = context});
}

weir_scope weir_on_any_device(weir_scope scope)
{
    return scope.record == NULL ? scope : with_layer(scope, (weir_device_layer){.is_stop = true});
}

static weir_scope of_another_graph(weir_scope scope, const weir_node *node)
{
    (void)weir_scope_fail(scope, weir_fail(WEIR_INVALID_ARGUMENT, "Node '%s' belongs to another graph", node->name));
    return (weir_scope){0};
}

weir_scope weir_after_nodes(weir_scope scope, weir_node *const *nodes, int count)
{
    if (scope.record == NULL)
        return scope;
    for (int i = 0; i < count; i++) {
        if (nodes[i] == NULL)
            return (weir_scope){0}; /* made from something that failed */
        if (nodes[i]->graph != scope.record->graph)
            return of_another_graph(scope, nodes[i]);
    }
    weir_arena *arena = &scope.record->graph->arena;
    weir_scope_record *record = copy_record(scope);
    weir_control_block *block = weir_arena_take(arena, 1, sizeof *block);
    weir_node **kept = weir_arena_take(arena, (size_t)count, sizeof *kept);
    if (record == NULL || block == NULL || kept == NULL)
        return changed(scope, NULL);
    if (count > 0)
        memcpy(kept, nodes, (size_t)count * sizeof *kept);
    *block = (weir_control_block){.outer = scope.record->controls, .nodes = kept, .count = count};
    record->controls = block;
    return changed(scope, record);
}

weir_scope weir_after(weir_scope scope, weir_node *node)
{
    return weir_after_nodes(scope, &node, 1);
}

weir_scope weir_after_nothing(weir_scope scope)
{
    if (scope.record == NULL)
        return scope;
    weir_scope_record *record = copy_record(scope);
    if (record != NULL)
        record->controls = NULL;
    return changed(scope, record);
}

static weir_scope with_colocation(weir_scope scope, const weir_colocation *outer, weir_node *node)
{
    if (scope.record == NULL || node == NULL)
        return (weir_scope){0};
    if (node->graph != scope.record->graph)
        return of_another_graph(scope, node);
    weir_scope_record *record = copy_record(scope);
    weir_colocation *colocation = weir_arena_take(&scope.record->graph->arena, 1, sizeof *colocation);
    if (record == NULL || colocation == NULL)
        return changed(scope, NULL);
    *colocation = (weir_colocation){.outer = outer, .node = node};
    record->colocation = colocation;
    record->devices = NULL;
    return changed(scope, record);
}

weir_scope weir_colocated_with(weir_scope scope, weir_node *node)
{
    return with_colocation(scope, scope.record != NULL ? scope.record->colocation : NULL, node);
}

weir_scope weir_colocated_alone(weir_scope scope, weir_node *node)
{
    return with_colocation(scope, NULL, node);
}

weir_scope weir_placed_freely(weir_scope scope)
{
    if (scope.record == NULL || (scope.record->colocation == NULL && scope.record->devices == NULL))
        return scope;
    weir_scope_record *record = copy_record(scope);
    if (record != NULL) {
        record->colocation = NULL;
        record->devices = NULL;
    }
    return changed(scope, record);
}

weir_scope weir_scope_with(weir_scope scope, const char *key, void *value)
{
    if (scope.record == NULL)
        return scope;
    weir_arena *arena = &scope.record->graph->arena;
    weir_scope_record *record = copy_record(scope);
    weir_scope_binding *binding = weir_arena_take(arena, 1, sizeof *binding);
    const char *kept = weir_arena_text(arena, key, strlen(key));
    if (record == NULL || binding == NULL || kept == NULL)
        return changed(scope, NULL);
    *binding = (weir_scope_binding){.outer = scope.record->bindings, .key = kept, .value = value};
    record->bindings = binding;
    return changed(scope, record);
}

void *weir_scope_value(weir_scope scope, const char *key)
{
    const weir_scope_binding *binding = scope.record != NULL ? scope.record->bindings : NULL;
    for (; binding != NULL; binding = binding->outer) {
        if (strcmp(binding->key, key) == 0)
            return binding->value;
    }
    return NULL;
}

const char *weir_scope_name(weir_scope scope)
{
    return scope.record != NULL ? scope.record->prefix : "";
}

weir_graph *weir_scope_graph(weir_scope scope)
{
    return scope.record != NULL ? scope.record->graph : NULL;
}

/* Merges an outer layer's device into what inner ones chose. */
static weir_status merge_device(const char *outer, weir_device_name *merged)
{
    weir_device_name name;
    WEIR_TRY(weir_device_name_parse(outer, &name));
    *merged = weir_device_name_merge(&name, merged);
    return WEIR_STATUS_OK;
}

weir_status weir_scope_device(const weir_scope_record *record, const char *op, const char *name, const char *own,
                              const char **device)
{
    const weir_device_layer *layer = record->devices;
    *device = layer != NULL ? layer->merged : "";
    if (*device != NULL && own[0] == '\0')
        return WEIR_STATUS_OK;
    weir_device_name merged;
    char text[WEIR_DEVICE_NAME_SIZE];
    WEIR_TRY(weir_device_name_parse(own, &merged));
    for (; layer != NULL && !layer->is_stop; layer = layer->outer) {
        if (layer->device != NULL) {
            WEIR_TRY(merge_device(layer->device, &merged));
            continue;
        }
        const char *chosen = layer->function(layer->context, op, name, weir_device_name_text(&merged, text));
        if (chosen == NULL)
            return weir_fail(WEIR_INVALID_ARGUMENT, "The device function returned NULL for node '%s'", name);
        WEIR_TRY(weir_device_name_parse(chosen, &merged));
    }
    weir_device_name_text(&merged, text);
    *device = text[0] == '\0' ? "" : weir_arena_text(&record->graph->arena, text, strlen(text));
    return *device != NULL ? WEIR_STATUS_OK : weir_fail_memory(strlen(text));
}
