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
    weir_device_function *function; /* NULL: none */
    void *context;
    bool is_stop;                   /* outer layers do not count */
} weir_device_layer;

/* Control inputs of a block, innermost first. */
typedef struct weir_control_block {
    const struct weir_control_block *outer;
    weir_node *const *nodes;
    int count;
} weir_control_block;

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
    weir_node *colocation; /* NULL: none */
    const weir_scope_binding *bindings;
} weir_scope_record;

/* The device a node built here requests, in canonical form; in the arena. */
WEIR_WARN_UNUSED weir_status weir_scope_device(const weir_scope_record *record, const char *op, const char *name,
                                               const char **device);

#endif
