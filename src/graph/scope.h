/*
 * Scope records: immutable, in the graph's arena. Each is a copy of its parent with one thing changed.
 */
#ifndef GRAPH_SCOPE_H
#define GRAPH_SCOPE_H

#include "graph/graph.h"

/* Device scopes, innermost first. */
typedef struct weir_device_layer {
    const struct weir_device_layer *outer;
    const char *device;             /* canonical form; NULL for a function or a stop */
    const char *merged;             /* with all outer layers; NULL when a function has a word in it */
    weir_device_function *function; /* NULL: none */
    void *context;
    bool is_stop; /* outer layers do not count */
} weir_device_layer;

/* Control inputs of a block, innermost first. */
typedef struct weir_control_block {
    const struct weir_control_block *outer;
    weir_node *const *nodes;
    int count;
} weir_control_block;

/* Nodes to be placed with, innermost first. */
typedef struct weir_colocation {
    const struct weir_colocation *outer;
    const weir_node *node;
} weir_colocation;

typedef struct weir_scope_binding {
    const struct weir_scope_binding *outer;
    const char *key;
    void *value;
} weir_scope_binding;

typedef struct weir_scope_record {
    weir_graph *graph;
    const char *prefix; /* "" or "a/b/" */
    const weir_device_layer *devices;
    const weir_control_block *controls;
    const weir_colocation *colocation; /* NULL: none */
    const weir_scope_binding *bindings;
} weir_scope_record;

/* The device a node built here requests, in canonical form, in the arena. own: what the node itself says of it, which wins
 * over the scope; "" when nothing. */
WEIR_WARN_UNUSED weir_status weir_scope_device(const weir_scope_record *record, const char *op, const char *name,
                                               const char *own, const char **device);

/* As weir_colocated_with, but outer colocations are forgotten. */
weir_scope weir_colocated_alone(weir_scope scope, weir_node *node);

/* Without colocation and device. */
weir_scope weir_placed_freely(weir_scope scope);

#endif
