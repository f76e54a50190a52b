/*
 * Scopes: each call copies the record and changes one thing.
 */
#include "graph/scope.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/device_name.h"

#define NAME_SIZE 1024

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

/* Letters, digits and _.\-/> ; the first of a root name must be a letter, a digit or a dot. */
static bool is_scope_name(const char *name, bool is_root)
{
    if (is_root && !isalnum((unsigned char)name[0]) && name[0] != '.')
        return false;
    for (const char *c = name; *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && strchr("_.\\-/>", *c) == NULL)
            return false;
    }
    return true;
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

weir_scope weir_in_scope(weir_scope scope, const char *format, ...)
{
    if (scope.record == NULL)
        return scope;
    char name[NAME_SIZE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    bool is_root = scope.record->prefix[0] == '\0';
    if (length < 0 || length >= NAME_SIZE || (length > 0 && !is_scope_name(name, is_root))) {
        (void)weir_scope_fail(scope, weir_fail(WEIR_INVALID_ARGUMENT, "'%s' is not a valid%s scope name", name,
                                               is_root ? " root" : ""));
        return (weir_scope){0};
    }
    weir_scope_record *record = copy_record(scope);
    const char *prefix = record != NULL ? scope_prefix(scope.record, name) : NULL;
    if (prefix == NULL)
        return changed(scope, NULL);
    record->prefix = prefix;
    return changed(scope, record);
}

static weir_scope with_layer(weir_scope scope, weir_device_layer layer)
{
    weir_scope_record *record = copy_record(scope);
    weir_device_layer *kept = weir_arena_take(&scope.record->graph->arena, 1, sizeof *kept);
    if (record == NULL || kept == NULL)
        return changed(scope, NULL);
    layer.outer = scope.record->devices;
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
    weir_status status = length >= 0 && length < WEIR_DEVICE_NAME_SIZE
                             ? weir_device_name_parse(text, &name)
                             : weir_fail(WEIR_INVALID_ARGUMENT, "Device name too long: '%.60s...'", text);
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

weir_scope weir_after_nodes(weir_scope scope, weir_node *const *nodes, int count)
{
    if (scope.record == NULL)
        return scope;
    for (int i = 0; i < count; i++) {
        if (nodes[i] == NULL)
            return (weir_scope){0}; /* made from something that failed */
    }
    weir_arena *arena = &scope.record->graph->arena;
    weir_scope_record *record = copy_record(scope);
    weir_control_block *block = weir_arena_take(arena, 1, sizeof *block);
    weir_node **kept = weir_arena_take(arena, (size_t)count, sizeof *kept);
    if (record == NULL || block == NULL || kept == NULL)
        return changed(scope, NULL);
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

weir_scope weir_colocated_with(weir_scope scope, weir_node *node)
{
    if (scope.record == NULL || node == NULL)
        return (weir_scope){0};
    weir_scope_record *record = copy_record(scope);
    if (record != NULL) {
        record->colocation = node;
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

weir_status weir_scope_device(const weir_scope_record *record, const char *op, const char *name, const char **device)
{
    weir_device_name merged = WEIR_DEVICE_ANY;
    char text[WEIR_DEVICE_NAME_SIZE];
    const weir_device_layer *layer = record->devices;
    if (layer != NULL && layer->outer == NULL && layer->device != NULL) { /* the common case, nothing to merge */
        *device = layer->device;
        return WEIR_STATUS_OK;
    }
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
