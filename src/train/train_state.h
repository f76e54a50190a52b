/*
 * What the training library keeps on a graph: its variables, its variable scopes and the layers that differ in training
 * and evaluation. All of it lives as long as the graph and is externally locked, as building is.
 */
#ifndef TRAIN_TRAIN_STATE_H
#define TRAIN_TRAIN_STATE_H

#include <string.h>

#include <weir/graph.h>
#include <weir/log.h>
#include <weir/train.h>

/* A variable made here, or met in an imported graph. */
typedef struct weir_train_variable {
    const char *name; /* of its node, which is its full name */
    weir_output ref;
    weir_output value;
    weir_output initial_value;
    weir_node *initializer;
    bool is_shared; /* made by weir_get_variable */
} weir_train_variable;

/* Names of scopes opened inside one variable scope, with how often. */
typedef struct weir_scope_child {
    struct weir_scope_child *next;
    const char *name;
    int count;
} weir_scope_child;

/* One opening of a variable scope. */
typedef struct weir_scope_rule {
    const char *name; /* full, "" at the top */
    weir_reuse reuse;
    weir_initializer initializer;
    weir_regularizer regularizer;
    weir_dtype dtype;
    weir_scope_child *children;
} weir_scope_rule;

typedef enum weir_layer_kind { WEIR_LAYER_DROPOUT, WEIR_LAYER_BATCH_NORM } weir_layer_kind;

/* A layer with two forms. y is what the rest of the network sees; the inference form can be built from the others. */
typedef struct weir_train_layer {
    weir_layer_kind kind;
    bool is_training;
    bool is_frozen;
    weir_output x, y;
    weir_output scale, offset, mean, variance; /* scale and offset null: 1 and 0 */
    double epsilon;
    weir_node *normal;     /* the node that makes the statistics */
    weir_node *updates[2]; /* of the moving statistics; NULL when y makes them, or another layer does */
} weir_train_layer;

typedef struct weir_train_state {
    weir_graph *graph;
    weir_scope_rule *root;
    weir_train_variable **variables;
    int num_variables, room_for_variables;
    weir_train_layer **layers;
    int num_layers, room_for_layers;
    weir_output *evaluated; /* pairs: an output and its inference form */
    int num_evaluated, room_for_evaluated;
} weir_train_state;

/* Zeroed memory that is freed with the graph; NULL without memory, which is then the graph's error. */
void *weir_train_take(weir_scope s, size_t size);

/* A text of the same kind. */
const char *weir_train_text(weir_scope s, const char *format, ...) WEIR_PRINTF(2, 3);

/* The state of the scope's graph, made at first; NULL for a null scope or without memory. */
weir_train_state *weir_train_state_of(weir_scope s);

/* Makes room for one more item of size bytes in a list; false without memory, which is then the graph's error. */
bool weir_train_grow(weir_scope s, void *list, int count, int *room, size_t size);

/* The rule of the scope's variables; NULL for a null scope. */
weir_scope_rule *weir_train_rule(weir_scope s);

/* The variable of an output, or NULL. Those of imported graphs are entered when they are asked for. */
weir_train_variable *weir_train_find_variable(weir_output variable);

/* The variable of a full name made by weir_get_variable, or NULL. */
weir_train_variable *weir_train_find_shared(const weir_train_state *state, const char *name);

/* Builds the nodes of a variable in the scope (whose name is the variable's, with "/") and enters it. */
typedef struct weir_train_new_variable {
    const char *name; /* with a "/" at its end */
    weir_dtype dtype;
    weir_shape shape;
    const weir_initializer *initializer; /* NULL: initial_value, or the number */
    weir_output initial_value;
    double number;
    bool is_number;
    bool is_placed; /* the scope places all of it, initial value included */
    bool is_shared;
    bool is_frozen;
    bool is_local;
    bool is_model;
} weir_train_new_variable;
weir_train_variable *weir_train_make_variable(weir_scope s, const weir_train_new_variable *wish);

/* A slot: a variable like primary beside it, named "<primary>/<name>" (made unique). Of a primary that is no variable: a
 * variable of its shape. */
weir_output weir_train_make_slot(weir_scope s, weir_output primary, const char *name,
                                 const weir_initializer *initializer);

/* Warns of collected updates that the train op does not contain. */
void weir_train_warn_of_updates(weir_scope s, weir_node *train);

/* Enters a layer; NULL without memory. */
weir_train_layer *weir_train_add_layer(weir_scope s, const weir_train_layer *layer);

/* A layer whose training form has this output, or NULL. */
weir_train_layer *weir_train_find_layer(const weir_train_state *state, weir_output y);

/* False where layers must not be in training form (weir_for_evaluation). */
bool weir_train_is_training(weir_scope s, bool wished);

/* True in towers after the first: what is common to all towers is left to that one. */
bool weir_train_is_further_tower(weir_scope s);

/* s, where the first to name a variable makes it, unless a rule says something else. */
weir_scope weir_train_sharing(weir_scope s);

/* Batch norm of x by given statistics. */
weir_output weir_train_build_inference(weir_scope s, weir_output x, const weir_train_layer *layer);

weir_output weir_train_activate(weir_scope s, weir_output x, weir_activation activation);

/* 1 where the largest logit is at the label, else 0: float [n]. */
weir_output weir_train_build_correct(weir_scope s, weir_output logits, weir_output labels);

/* Opens the variable scope of a layer, and a name scope for it. */
weir_scope weir_train_layer_scope(weir_scope s, const char *scope, const char *default_name);

/* A scalar Const of a floating point type. */
weir_output weir_train_number(weir_scope s, weir_dtype dtype, double value, const char *name);

/* Output 0 of a node of two inputs, and of one. */
weir_output weir_train_binary(weir_scope s, const char *op, weir_output x, weir_output y, const char *name);
weir_output weir_train_unary(weir_scope s, const char *op, weir_output x, const char *name);

/* Nodes of a graph, by number: a set, and a number for each. */
typedef struct weir_node_map {
    struct weir_node_pair {
        const weir_node *key; /* NULL: free */
        weir_node *value;
    } * pairs; /* [room] */
    size_t count, room;
} weir_node_map;
WEIR_WARN_UNUSED bool weir_node_map_put(weir_node_map *map, const weir_node *key, weir_node *value);
bool weir_node_map_has(const weir_node_map *map, const weir_node *key);
weir_node *weir_node_map_get(const weir_node_map *map, const weir_node *key);
void weir_node_map_clear(weir_node_map *map);

/* Enters all nodes on which a node depends, itself included; through control inputs too when asked to. With layers: of a
 * layer in training form only its output and what goes into it. False without memory. */
WEIR_WARN_UNUSED bool weir_train_ancestors(weir_node *node, bool through_controls, const weir_train_state *layers,
                                           weir_node_map *ancestors);

static inline bool weir_train_same(weir_output a, weir_output b)
{
    return a.node == b.node && a.index == b.index;
}

static inline bool weir_train_is_float(weir_dtype dtype)
{
    dtype = weir_dtype_base(dtype);
    return dtype == WEIR_FLOAT || dtype == WEIR_DOUBLE || dtype == WEIR_HALF || dtype == WEIR_BFLOAT16;
}

#define weir_train_warn(...) weir_log_at(WEIR_LOG_WARNING, __FILE__, __LINE__, __VA_ARGS__)

#endif
