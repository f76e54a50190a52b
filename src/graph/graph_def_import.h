/*
 * What the steps of an import share: the nodes of a GraphDef with their ends, before and while they become nodes.
 */
#ifndef GRAPH_GRAPH_DEF_IMPORT_H
#define GRAPH_GRAPH_DEF_IMPORT_H

#include "graph/graph.h"
#include "proto/graph.pb-c.h"

/* Where an input comes from: output index of a node of the file, or of one that was there before. */
typedef struct weir_import_end {
    struct weir_import_node *from; /* NULL: replaced says it */
    weir_output replaced;
    int index;
    bool is_back_edge; /* of a loop: joined when all nodes are there */
} weir_import_end;

typedef struct weir_import_node {
    const Weir__NodeDef *def;
    const weir_op_def *op;
    const char *name; /* in the graph */
    weir_import_end *inputs;
    weir_import_end *controls;
    int num_inputs;
    int num_controls;
    weir_node *draft; /* NULL until it is made */
} weir_import_node;

/* A tensor of the file that is replaced. */
typedef struct weir_import_replacement {
    const char *key; /* "x:0" or "^x" */
    weir_output by;
    bool is_used;
} weir_import_replacement;

typedef struct weir_import {
    weir_graph *graph;
    const struct weir_scope_record *record;
    const char *prefix; /* before every name, with its "/" */
    const weir_import_options *options;
    const Weir__GraphDef *def;
    weir_arena *arena; /* for work */
    size_t count;
    weir_import_node *nodes;  /* [count], as in the file */
    weir_import_node **order; /* [count]: producers first */
    weir_map by_name;         /* name in the file -> weir_import_node */
    weir_map replacements;    /* key -> weir_import_replacement */
    WEIR_LIST(weir_import_replacement *) replaced;
} weir_import;

/* Finds ops and names, and what each input means. All unknown ops are reported at once. */
WEIR_WARN_UNUSED weir_status weir_import_read(weir_import *import);

/* Sets order, that of the file as far as possible; INVALID_ARGUMENT "2 nodes in a cycle: ..." */
WEIR_WARN_UNUSED weir_status weir_import_sort(weir_import *import);

#endif
