/*
 * Life of a graph, its sticky error, and look-ups. Nodes are built in node.c, scopes in scope.c.
 */
#include "graph/graph.h"

#include <string.h>

#include "base/text.h"
#include "graph/scope.h"

weir_graph *weir_graph_new(void)
{
    weir_graph *graph = weir_allocate(1, sizeof *graph);
    if (graph == NULL)
        return NULL;
    weir_scope_record *root = weir_arena_take(&graph->arena, 1, sizeof *root);
    if (root == NULL) {
        weir_graph_free(graph);
        return NULL;
    }
    *root = (weir_scope_record){.graph = graph, .prefix = ""};
    graph->root = root;
    graph->producer = WEIR_GRAPH_VERSION;
    return graph;
}

static void release_collection(void *context, const char *key, size_t length, void *value)
{
    (void)context;
    (void)key;
    (void)length;
    weir_collection *collection = value;
    weir_list_clear(&collection->items);
}

void weir_graph_free(weir_graph *graph)
{
    if (graph == NULL)
        return;
    for (size_t i = graph->owned.count; i > 0; i--)
        graph->owned.items[i - 1].release(graph->owned.items[i - 1].object);
    weir_list_clear(&graph->owned);
    weir_graph_drop_tensors(graph, 0);
    weir_list_clear(&graph->tensors);
    weir_map_each(&graph->collections, release_collection, NULL);
    weir_map_clear(&graph->collections);
    weir_map_clear(&graph->values);
    weir_map_clear(&graph->by_name);
    weir_map_clear(&graph->names);
    weir_map_clear(&graph->ops);
    weir_list_clear(&graph->nodes);
    weir_error_clear(&graph->error);
    weir_arena_clear(&graph->arena);
    weir_release(graph);
}

void weir_graph_drop_tensors(weir_graph *graph, size_t count)
{
    while (graph->tensors.count > count)
        weir_tensor_free(graph->tensors.items[--graph->tensors.count]);
}

weir_scope weir_root(weir_graph *graph)
{
    return (weir_scope){.record = graph != NULL ? graph->root : NULL};
}

weir_status weir_graph_error(const weir_graph *graph)
{
    if (graph == NULL) /* everything built on it did nothing: say so here at last */
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "There is no graph: it could not be allocated");
    return weir_error_status(&graph->error);
}

weir_status weir_graph_take_error(weir_graph *graph)
{
    weir_status status = weir_graph_error(graph);
    if (graph != NULL)
        weir_error_clear(&graph->error);
    return status;
}

weir_status weir_scope_fail(weir_scope scope, weir_status status)
{
    if (weir_ok(status) || scope.record == NULL)
        return status;
    weir_error *error = &scope.record->graph->error;
    if (error->code == WEIR_OK) {
        if (scope.file != NULL) {
            const char *name = strrchr(scope.file, '/');
            status = weir_fail_in(status, "%s:%d", name != NULL ? name + 1 : scope.file, scope.line);
        }
        weir_error_set(error, status);
    }
    return status;
}

void weir_graph_set_seed(weir_graph *graph, int64_t seed)
{
    if (graph == NULL)
        return;
    graph->has_seed = true;
    graph->seed = seed;
}

void weir_graph_finalize(weir_graph *graph)
{
    if (graph != NULL)
        graph->is_final = true;
}

int weir_graph_num_nodes(const weir_graph *graph)
{
    return graph != NULL ? (int)graph->nodes.count : 0;
}

weir_node *weir_graph_node(const weir_graph *graph, int index)
{
    return graph != NULL && index >= 0 && (size_t)index < graph->nodes.count ? graph->nodes.items[index] : NULL;
}

weir_node *weir_graph_find(const weir_graph *graph, const char *name)
{
    return graph != NULL && name != NULL ? weir_map_get(&graph->by_name, name, strlen(name)) : NULL;
}

static const char *nearest_name(const weir_graph *graph, const char *name)
{
    const char *nearest = NULL;
    int nearest_distance = (int)strlen(name) / 3 + 1;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        int distance = weir_text_distance(name, graph->nodes.items[i]->name);
        if (distance < nearest_distance) {
            nearest = graph->nodes.items[i]->name;
            nearest_distance = distance;
        }
    }
    return nearest;
}

size_t weir_split_output_name(const char *name, int *index)
{
    size_t length = strlen(name);
    size_t digits = length;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    *index = 0;
    if (digits == length || digits < 2 || name[digits - 1] != ':' || length - digits > 9)
        return length;
    for (size_t i = digits; i < length; i++)
        *index = *index * 10 + (name[i] - '0');
    return digits - 1;
}

weir_status weir_graph_find_output(const weir_graph *graph, const char *name, weir_output *out)
{
    if (graph == NULL || name == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "No graph or no name was given");
    int index = 0;
    size_t length = weir_split_output_name(name, &index);
    weir_node *node = weir_map_get(&graph->by_name, name, length);
    if (node == NULL) {
        const char *nearest = nearest_name(graph, name);
        return weir_fail(WEIR_NOT_FOUND, "The graph has no node '%.*s'%s%s%s", (int)length, name,
                         nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                         nearest != NULL ? "'?" : "");
    }
    if (index >= node->num_outputs) {
        return weir_fail(WEIR_INVALID_ARGUMENT, "'%s': node '%s' (op %s) has %d outputs", name, node->name,
                         node->op->name, node->num_outputs);
    }
    *out = (weir_output){node, index};
    return WEIR_STATUS_OK;
}

weir_status weir_graph_own(weir_graph *graph, void *object, void (*release)(void *object))
{
    weir_status status = weir_list_add(&graph->owned, (struct weir_owned){release, object});
    if (!weir_ok(status))
        release(object);
    return status;
}

void *weir_graph_value(const weir_graph *graph, const char *key)
{
    return weir_map_get(&graph->values, key, strlen(key));
}

weir_status weir_graph_set_value(weir_graph *graph, const char *key, void *value)
{
    return weir_map_put(&graph->values, key, strlen(key), value);
}

#define SEED_MODULUS 2147483647
#define DEFAULT_GRAPH_SEED 87654321

/* Python's modulo: never negative. */
static int64_t seed_modulo(int64_t seed)
{
    int64_t rest = seed % SEED_MODULUS;
    return rest < 0 ? rest + SEED_MODULUS : rest;
}

void weir_scope_seeds(weir_scope scope, weir_seed seed, int64_t *seed1, int64_t *seed2)
{
    *seed1 = 0;
    *seed2 = 0;
    if (scope.record == NULL)
        return;
    weir_graph *graph = scope.record->graph;
    if (!graph->has_seed && !seed.is_set)
        return;
    *seed1 = graph->has_seed ? seed_modulo(graph->seed) : DEFAULT_GRAPH_SEED;
    *seed2 = seed.is_set ? seed_modulo(seed.value) : graph->seed_counter++;
    if (*seed1 == 0 && *seed2 == 0)
        *seed2 = SEED_MODULUS;
}
