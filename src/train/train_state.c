/*
 * The training library's memory on a graph, and small helpers that its files share.
 */
#include "train/train_state.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define STATE_KEY "train/state"
#define RULE_KEY "train/variable_scope"

static weir_status no_memory(size_t size)
{
    return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: %zu bytes for the training library", size);
}

void *weir_train_take(weir_scope s, size_t size)
{
    if (s.record == NULL)
        return NULL;
    void *memory = calloc(1, size > 0 ? size : 1);
    weir_status status = memory != NULL ? weir_graph_own(weir_scope_graph(s), memory, free) : no_memory(size);
    if (weir_ok(status))
        return memory;
    (void)weir_scope_fail(s, status);
    return NULL;
}

const char *weir_train_text(weir_scope s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length >= 0 ? weir_train_take(s, (size_t)length + 1) : NULL;
    if (text != NULL)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

static void free_state(void *memory)
{
    weir_train_state *state = memory;
    free(state->variables);
    free(state->layers);
    free(state->evaluated);
    free(state);
}

static weir_train_state *make_state(weir_scope s)
{
    weir_graph *graph = weir_scope_graph(s);
    weir_scope_rule *root = weir_train_take(s, sizeof *root);
    weir_train_state *state = root != NULL ? calloc(1, sizeof *state) : NULL;
    if (state == NULL)
        return NULL;
    root->name = "";
    *state = (weir_train_state){.graph = graph, .root = root};
    weir_status status = weir_graph_own(graph, state, free_state);
    if (weir_ok(status))
        status = weir_graph_set_value(graph, STATE_KEY, state);
    if (weir_ok(status))
        return state;
    (void)weir_scope_fail(s, status);
    return NULL;
}

weir_train_state *weir_train_state_of(weir_scope s)
{
    if (s.record == NULL)
        return NULL;
    weir_train_state *state = weir_graph_value(weir_scope_graph(s), STATE_KEY);
    return state != NULL ? state : make_state(s);
}

bool weir_train_grow(weir_scope s, void *list, int count, int *room, size_t size)
{
    if (count < *room)
        return true;
    int more = *room > 0 ? *room * 2 : 16;
    void **items = list;
    void *grown = realloc(*items, (size_t)more * size);
    if (grown == NULL) {
        (void)weir_scope_fail(s, no_memory((size_t)more * size));
        return false;
    }
    *items = grown;
    *room = more;
    return true;
}

weir_scope_rule *weir_train_rule(weir_scope s)
{
    weir_train_state *state = weir_train_state_of(s);
    weir_scope_rule *rule = weir_scope_value(s, RULE_KEY);
    return rule != NULL || state == NULL ? rule : state->root;
}

/* ---- Small blocks of graph ---- */

weir_output weir_train_number(weir_scope s, weir_dtype dtype, double value, const char *name)
{
    return weir_fill_const(s, weir_dtype_base(dtype), weir_shape_scalar(), value, name);
}

weir_output weir_train_binary(weir_scope s, const char *op, weir_output x, weir_output y, const char *name)
{
    return weir_out(weir_op(s, op, WEIR_INPUTS(x, y), .name = name), 0);
}

weir_output weir_train_unary(weir_scope s, const char *op, weir_output x, const char *name)
{
    return weir_out(weir_op(s, op, WEIR_INPUTS(x), .name = name), 0);
}

/* ---- Layers ---- */

weir_train_layer *weir_train_add_layer(weir_scope s, const weir_train_layer *layer)
{
    weir_train_state *state = weir_train_state_of(s);
    weir_train_layer *kept = state != NULL ? weir_train_take(s, sizeof *kept) : NULL;
    if (kept == NULL || !weir_train_grow(s, &state->layers, state->num_layers, &state->room_for_layers, sizeof kept))
        return NULL;
    *kept = *layer;
    state->layers[state->num_layers++] = kept;
    return kept;
}

weir_train_layer *weir_train_find_layer(const weir_train_state *state, weir_output y)
{
    for (int i = 0; i < state->num_layers; i++) {
        if (state->layers[i]->is_training && weir_train_same(state->layers[i]->y, y))
            return state->layers[i];
    }
    return NULL;
}

/* ---- Nodes by pointer ---- */

static size_t slot_of(const weir_node_map *map, const weir_node *key)
{
    size_t at = (size_t)((uintptr_t)key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (map->room - 1);
    while (map->pairs[at].key != NULL && map->pairs[at].key != key)
        at = (at + 1) & (map->room - 1);
    return at;
}

static bool enlarge(weir_node_map *map)
{
    weir_node_map larger = {.count = map->count, .room = map->room > 0 ? map->room * 2 : 64};
    larger.pairs = calloc(larger.room, sizeof *larger.pairs);
    if (larger.pairs == NULL)
        return false;
    for (size_t i = 0; i < map->room; i++) {
        if (map->pairs[i].key != NULL)
            larger.pairs[slot_of(&larger, map->pairs[i].key)] = map->pairs[i];
    }
    free(map->pairs);
    *map = larger;
    return true;
}

bool weir_node_map_put(weir_node_map *map, const weir_node *key, weir_node *value)
{
    if (map->count * 2 >= map->room && !enlarge(map))
        return false;
    struct weir_node_pair *pair = &map->pairs[slot_of(map, key)];
    map->count += pair->key == NULL;
    *pair = (struct weir_node_pair){key, value};
    return true;
}

bool weir_node_map_has(const weir_node_map *map, const weir_node *key)
{
    return map->room > 0 && map->pairs[slot_of(map, key)].key != NULL;
}

weir_node *weir_node_map_get(const weir_node_map *map, const weir_node *key)
{
    return map->room > 0 ? map->pairs[slot_of(map, key)].value : NULL;
}

void weir_node_map_clear(weir_node_map *map)
{
    free(map->pairs);
    *map = (weir_node_map){0};
}

/* Nodes yet to be looked at. */
typedef struct node_stack {
    weir_node **items;
    size_t count, room;
} node_stack;

static bool visit(node_stack *stack, weir_node_map *seen, weir_node *node)
{
    if (node == NULL || weir_node_map_has(seen, node))
        return true;
    if (stack->count == stack->room) {
        size_t room = stack->room > 0 ? stack->room * 2 : 64;
        weir_node **grown = realloc(stack->items, room * sizeof *grown);
        if (grown == NULL)
            return false;
        stack->items = grown;
        stack->room = room;
    }
    stack->items[stack->count++] = node;
    return weir_node_map_put(seen, node, node);
}

static const weir_train_layer *layer_of(const weir_train_state *layers, weir_node *node)
{
    const weir_train_layer *layer = NULL;
    for (int i = 0; layers != NULL && layer == NULL && i < weir_node_num_outputs(node); i++)
        layer = weir_train_find_layer(layers, weir_node_output(node, i));
    return layer;
}

bool weir_train_ancestors(weir_node *node, bool through_controls, const weir_train_state *layers,
                          weir_node_map *ancestors)
{
    node_stack stack = {0};
    bool is_done = visit(&stack, ancestors, node);
    while (is_done && stack.count > 0) {
        weir_node *next = stack.items[--stack.count];
        const weir_train_layer *layer = layer_of(layers, next);
        if (layer != NULL) {
            is_done = visit(&stack, ancestors, layer->x.node);
            continue;
        }
        for (int i = 0; is_done && i < weir_node_num_inputs(next); i++)
            is_done = visit(&stack, ancestors, weir_node_input(next, i).node);
        for (int i = 0; is_done && through_controls && i < weir_node_num_controls(next); i++)
            is_done = visit(&stack, ancestors, weir_node_control(next, i));
    }
    free(stack.items);
    return is_done;
}
