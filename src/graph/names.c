/*
 * Unique names by TensorFlow's rule: a table keeps, per lower-cased full name, how often it was asked for. The first use
 * is returned as it is; later ones get "_k" with k starting at the count so far, and are entered in the table too.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/scope.h"

/* A table entry points to its count. */
static int *find_count(weir_graph *graph, const char *name)
{
    char *lower = weir_arena_text(&graph->arena, name, strlen(name));
    if (lower == NULL)
        return NULL;
    for (char *c = lower; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    int *count = weir_map_get(&graph->names, lower, strlen(lower));
    if (count != NULL)
        return count;
    count = weir_arena_take(&graph->arena, 1, sizeof *count);
    if (count == NULL || !weir_ok(weir_map_put(&graph->names, lower, strlen(lower), count)))
        return NULL;
    return count;
}

const char *weir_graph_unique_name(weir_graph *graph, const char *name)
{
    int *count = find_count(graph, name);
    if (count == NULL)
        return NULL;
    if (*count == 0) {
        *count = 1;
        return weir_arena_text(&graph->arena, name, strlen(name));
    }
    for (;;) {
        const char *candidate = weir_arena_format(&graph->arena, "%s_%d", name, (*count)++);
        int *taken = candidate != NULL ? find_count(graph, candidate) : NULL;
        if (taken == NULL)
            return NULL;
        if (*taken == 0) {
            *taken = 1;
            return candidate;
        }
    }
}

const char *weir_unique_name(weir_scope scope, const char *name)
{
    if (scope.record == NULL)
        return "";
    weir_graph *graph = scope.record->graph;
    const char *full = weir_arena_format(&graph->arena, "%s%s", scope.record->prefix, name);
    const char *unique = full != NULL ? weir_graph_unique_name(graph, full) : NULL;
    if (unique == NULL)
        (void)weir_scope_fail(scope, weir_fail_memory(strlen(name)));
    return unique != NULL ? unique : "";
}
