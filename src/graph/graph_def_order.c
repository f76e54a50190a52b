/*
 * Second step of an import: an order in which producers come first. Of the nodes that are ready the first one of the file is
 * taken, so that a file in such an order keeps it.
 */
#include <string.h>

#include "graph/graph_def_import.h"

typedef struct sorting {
    const weir_import *import;
    size_t *waiting;        /* [count]: producers that are not taken yet, once for each edge */
    size_t *first_consumer; /* [count + 1]: where a node's consumers begin */
    size_t *consumers;      /* [edges] */
    size_t *ready;          /* [count]: a heap, the first node of the file on top */
    size_t num_ready;
} sorting;

static size_t index_of(const sorting *sorting, const weir_import_node *node)
{
    return (size_t)(node - sorting->import->nodes);
}

/* Calls visit for each edge that decides the order. */
static void each_edge(sorting *sorting, void (*visit)(struct sorting *sorting, size_t from, size_t to))
{
    for (size_t to = 0; to < sorting->import->count; to++) {
        const weir_import_node *node = &sorting->import->nodes[to];
        for (int i = 0; i < node->num_inputs; i++) {
            if (node->inputs[i].from != NULL && !node->inputs[i].is_back_edge)
                visit(sorting, index_of(sorting, node->inputs[i].from), to);
        }
        for (int i = 0; i < node->num_controls; i++) {
            if (node->controls[i].from != NULL)
                visit(sorting, index_of(sorting, node->controls[i].from), to);
        }
    }
}

static void count_edge(sorting *sorting, size_t from, size_t to)
{
    sorting->first_consumer[from + 1]++;
    sorting->waiting[to]++;
}

/* first_consumer[from] moves on with each consumer, and ends where the next node's begin. */
static void put_edge(sorting *sorting, size_t from, size_t to)
{
    sorting->consumers[sorting->first_consumer[from]++] = to;
}

static weir_status find_consumers(sorting *sorting)
{
    size_t count = sorting->import->count;
    weir_arena *arena = sorting->import->arena;
    sorting->waiting = weir_arena_take(arena, count, sizeof(size_t));
    sorting->first_consumer = weir_arena_take(arena, count + 1, sizeof(size_t));
    sorting->ready = weir_arena_take(arena, count, sizeof(size_t));
    if (sorting->waiting == NULL || sorting->first_consumer == NULL || sorting->ready == NULL)
        return weir_fail_memory(count * sizeof(size_t));
    each_edge(sorting, count_edge);
    for (size_t i = 0; i < count; i++)
        sorting->first_consumer[i + 1] += sorting->first_consumer[i];
    sorting->consumers = weir_arena_take(arena, sorting->first_consumer[count], sizeof(size_t));
    if (sorting->consumers == NULL)
        return weir_fail_memory(sorting->first_consumer[count] * sizeof(size_t));
    each_edge(sorting, put_edge);
    memmove(sorting->first_consumer + 1, sorting->first_consumer, count * sizeof(size_t));
    sorting->first_consumer[0] = 0;
    return WEIR_STATUS_OK;
}

static void push(sorting *sorting, size_t node)
{
    size_t *heap = sorting->ready;
    size_t at = sorting->num_ready++;
    for (; at > 0 && heap[(at - 1) / 2] > node; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = node;
}

static size_t pop(sorting *sorting)
{
    size_t *heap = sorting->ready;
    size_t top = heap[0];
    size_t last = heap[--sorting->num_ready];
    size_t at = 0;
    for (size_t child = 1; child < sorting->num_ready; child = 2 * at + 1) {
        if (child + 1 < sorting->num_ready && heap[child + 1] < heap[child])
            child++;
        if (heap[child] >= last)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* Takes all nodes that become ready; returns how many. */
static size_t take_all(sorting *sorting, weir_import_node **order)
{
    const weir_import *import = sorting->import;
    size_t taken = 0;
    for (size_t i = 0; i < import->count; i++) {
        if (sorting->waiting[i] == 0)
            push(sorting, i);
    }
    while (sorting->num_ready > 0) {
        size_t node = pop(sorting);
        order[taken++] = &import->nodes[node];
        for (size_t i = sorting->first_consumer[node]; i < sorting->first_consumer[node + 1]; i++) {
            if (--sorting->waiting[sorting->consumers[i]] == 0)
                push(sorting, sorting->consumers[i]);
        }
    }
    return taken;
}

static weir_status report_cycle(const sorting *sorting, size_t left)
{
    enum { SHOWN = 5 };
    weir_text names = {0};
    size_t shown = 0;
    for (size_t i = 0; i < sorting->import->count && shown < SHOWN; i++) {
        if (sorting->waiting[i] > 0)
            weir_text_append(&names, "%s'%s'", shown++ == 0 ? "" : ", ", sorting->import->nodes[i].def->name);
    }
    weir_status status = weir_fail(WEIR_INVALID_ARGUMENT, "%zu nodes in a cycle: %s%s", left, weir_text_get(&names),
                                   left > SHOWN ? ", ..." : "");
    weir_text_clear(&names);
    return status;
}

weir_status weir_import_sort(weir_import *import)
{
    sorting sorting = {.import = import};
    import->order = weir_arena_take(import->arena, import->count, sizeof(weir_import_node *));
    if (import->order == NULL)
        return weir_fail_memory(import->count * sizeof(weir_import_node *));
    WEIR_TRY(find_consumers(&sorting));
    size_t taken = take_all(&sorting, import->order);
    return taken == import->count ? WEIR_STATUS_OK : report_cycle(&sorting, import->count - taken);
}
