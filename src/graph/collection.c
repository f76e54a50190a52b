/*
 * Collections: named lists on the graph, with a filter on the names of what they hold.
 */
#include <regex.h>
#include <string.h>

#include "graph/graph.h"

static void collect(weir_graph *graph, const char *key, weir_item item)
{
    weir_scope root = weir_root(graph);
    size_t length = strlen(key);
    weir_collection *collection = weir_map_get(&graph->collections, key, length);
    weir_status status = WEIR_STATUS_OK;
    if (collection == NULL) {
        const char *kept = weir_arena_text(&graph->arena, key, length);
        collection = weir_arena_take(&graph->arena, 1, sizeof *collection);
        status = kept != NULL && collection != NULL ? weir_map_put(&graph->collections, kept, length, collection)
                                                    : weir_fail_memory(sizeof *collection);
    }
    if (weir_ok(status))
        status = weir_list_add(&collection->items, item);
    (void)weir_scope_fail(root, status);
}

void weir_collect_output(weir_graph *graph, const char *key, weir_output output)
{
    if (graph != NULL && output.node != NULL)
        collect(graph, key, (weir_item){.output = output});
}

void weir_collect_node(weir_graph *graph, const char *key, weir_node *node)
{
    if (graph != NULL && node != NULL)
        collect(graph, key, (weir_item){.output = {node, -1}});
}

void weir_collect_text(weir_graph *graph, const char *key, const char *text)
{
    if (graph == NULL)
        return;
    const char *kept = weir_arena_text(&graph->arena, text, strlen(text));
    if (kept != NULL)
        collect(graph, key, (weir_item){.text = kept});
    else
        (void)weir_scope_fail(weir_root(graph), weir_fail_memory(strlen(text)));
}

/* A scope that is no pattern of POSIX ("GPU_1/" is one) matches nothing. */
static bool matches_start(const regex_t *pattern, const char *name)
{
    regmatch_t match;
    return regexec(pattern, name, 1, &match, 0) == 0 && match.rm_so == 0;
}

int weir_collection_items(const weir_graph *graph, const char *key, const char *scope, weir_item *items, int capacity)
{
    const weir_collection *collection = weir_map_get(&graph->collections, key, strlen(key));
    if (collection == NULL)
        return 0;
    regex_t pattern;
    if (scope != NULL && regcomp(&pattern, scope, REG_EXTENDED) != 0)
        return 0;
    int count = 0;
    for (size_t i = 0; i < collection->items.count && count < capacity; i++) {
        const weir_item *item = &collection->items.items[i];
        if (scope != NULL && (item->output.node == NULL || !matches_start(&pattern, item->output.node->name)))
            continue;
        if (items != NULL)
            items[count] = *item;
        count++;
    }
    if (scope != NULL)
        regfree(&pattern);
    return count;
}

int weir_collection_count(const weir_graph *graph, const char *key, const char *scope)
{
    return weir_collection_items(graph, key, scope, NULL, INT32_MAX);
}
