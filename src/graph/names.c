/*
 * Unique names by TensorFlow's rule: a table keeps, per lower-cased full name, how often it was asked for. The first use
 * is returned as it is; later ones get "_k" with k starting at the count so far, and are entered in the table too.
 *
 * Letters are those of ASCII: the rule must not change with the program's locale.
 */
#include <string.h>

#include "graph/graph.h"
#include "graph/scope.h"

#define SHORT_NAME 256

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool weir_is_name_start(char c)
{
    char lower = to_lower(c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '.';
}

bool weir_is_name(const char *name)
{
    for (const char *c = name; *c != '\0'; c++) {
        if (!weir_is_name_start(*c) && strchr("_\\-/>", *c) == NULL)
            return false;
    }
    return name[0] != '\0';
}

/* The key of a name, in the caller's memory when it is short, else in the arena; NULL without memory. */
static const char *make_key(weir_graph *graph, const char *name, size_t length, char space[SHORT_NAME])
{
    char *key = length < SHORT_NAME ? space : weir_arena_take(&graph->arena, length + 1, 1);
    for (size_t i = 0; key != NULL && i <= length; i++)
        key[i] = to_lower(name[i]);
    return key;
}

/* The count of a name; NULL when it was never asked for (or there is no memory to tell, which entering it will). */
static int *find_count(weir_graph *graph, const char *name)
{
    char space[SHORT_NAME];
    size_t length = strlen(name);
    const char *key = make_key(graph, name, length, space);
    return key != NULL ? weir_map_get(&graph->names, key, length) : NULL;
}

/* Enters a name that the table does not have. */
static weir_status add_count(weir_graph *graph, const char *name)
{
    size_t length = strlen(name);
    int *count = weir_arena_take(&graph->arena, 1, sizeof *count);
    char *key = weir_arena_text(&graph->arena, name, length);
    if (count == NULL || key == NULL)
        return weir_fail_memory(length + sizeof *count);
    for (size_t i = 0; i < length; i++)
        key[i] = to_lower(key[i]);
    *count = 1;
    return weir_map_put(&graph->names, key, length, count);
}

weir_status weir_name_find(weir_graph *graph, const char *name, weir_name_claim *claim)
{
    int *count = find_count(graph, name);
    if (count == NULL) {
        *claim = (weir_name_claim){.name = weir_arena_text(&graph->arena, name, strlen(name))};
        return claim->name != NULL ? WEIR_STATUS_OK : weir_fail_memory(strlen(name));
    }
    for (int next = *count;; next++) {
        const char *candidate = weir_arena_format(&graph->arena, "%s_%d", name, next);
        if (candidate == NULL)
            return weir_fail_memory(strlen(name));
        if (find_count(graph, candidate) == NULL) {
            *claim = (weir_name_claim){.name = candidate, .count = count, .next = next + 1};
            return WEIR_STATUS_OK;
        }
    }
}

weir_status weir_name_enter(weir_graph *graph, const weir_name_claim *claim)
{
    WEIR_TRY(add_count(graph, claim->name));
    if (claim->count != NULL)
        *claim->count = claim->next;
    return WEIR_STATUS_OK;
}

weir_status weir_name_note(weir_graph *graph, const char *name)
{
    return find_count(graph, name) != NULL ? WEIR_STATUS_OK : add_count(graph, name);
}

const char *weir_graph_unique_name(weir_graph *graph, const char *name)
{
    weir_name_claim claim;
    weir_status status = weir_name_find(graph, name, &claim);
    if (weir_ok(status))
        status = weir_name_enter(graph, &claim);
    return weir_ok(status) ? claim.name : NULL;
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
