/*
 * The inside of a graph. Nodes are never changed or removed once built, but for the back edges of loops; they and all
 * they point to live in the graph's arena.
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <weir/graph.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "base/text.h"
#include "graph/op_def.h"

/* Items in order of their adding. */
typedef struct weir_collection {
    WEIR_LIST(weir_item) items;
} weir_collection;

struct weir_owned {
    void (*release)(void *object);
    void *object;
};

struct weir_node {
    weir_graph *graph;
    int id; /* index in graph->nodes */
    const char *name;
    const weir_op_def *op;
    const char *device;        /* requested; "" when not */
    weir_output *inputs;       /* [num_inputs] */
    weir_node **controls;      /* [num_controls] */
    weir_attr *attrs;          /* [num_attrs]: those of the op in its order, then those that begin with "_" */
    weir_dtype *output_dtypes; /* [num_outputs], reference types included */
    weir_shape *output_shapes; /* [num_outputs] */
    int num_inputs;
    int num_controls;
    int num_attrs;
    int num_outputs;
    const struct weir_control_block *block; /* innermost control block it was built in */
    const char *file;                       /* where the caller built it; NULL when imported */
    int line;
    unsigned mark;        /* scratch of whoever builds, see weir_graph_new_mark */
    weir_bytes full_type; /* serialized FullTypeDef of an imported node, kept for export; size 0: none */
};

struct weir_graph {
    weir_arena arena;
    WEIR_LIST(weir_node *) nodes;
    weir_map by_name;     /* full name -> weir_node */
    weir_map names;       /* lower-cased name -> how often asked for (see names.c) */
    weir_map ops;         /* op name -> weir_op_def */
    weir_map collections; /* key -> weir_collection, in the arena */
    weir_map values;      /* key -> what users of the API hang on the graph */
    const struct weir_scope_record *root;
    weir_error error; /* the sticky one */
    bool has_seed;
    int64_t seed;
    int64_t seed_counter; /* random ops without op seed so far */
    bool is_final;
    WEIR_LIST(weir_tensor *) tensors;   /* references held by attributes */
    WEIR_LIST(struct weir_owned) owned; /* freed with the graph: what belongs to its scopes */
    unsigned newest_mark;
    int producer; /* versions as in the GraphDef that was imported, or ours */
    int min_consumer;
    weir_bytes library; /* serialized FunctionDefLibrary of imported graphs, kept for export; size 0: none */
};

/* The version of graphs we know and write: TensorFlow 2.21's. */
#define WEIR_GRAPH_VERSION 2474

/* The attribute, or NULL. */
const weir_attr_value *weir_node_find_attr(const weir_node *node, const char *name);

/* Attributes whose kind the op's schema guarantees; the fallback is returned for names that the node lacks. */
int64_t weir_node_int(const weir_node *node, const char *name, int64_t fallback);
bool weir_node_bool(const weir_node *node, const char *name, bool fallback);
float weir_node_float(const weir_node *node, const char *name, float fallback);
weir_dtype weir_node_type(const weir_node *node, const char *name);
weir_bytes weir_node_string(const weir_node *node, const char *name);
bool weir_node_string_is(const weir_node *node, const char *name, const char *text);
weir_shape weir_node_shape(const weir_node *node, const char *name);

/* The index of the first flattened input (output) of the arg, and how many there are. */
int weir_node_arg_count(const weir_node *node, const weir_arg_def *arg);

/* A unique name that was found but not entered yet. */
typedef struct weir_name_claim {
    const char *name; /* in the arena */
    int *count;       /* of the name that was asked for; NULL: its first use */
    int next;         /* what the count becomes */
} weir_name_claim;

/* Finds a unique name for a node or scope by TensorFlow's rule, and enters it into the table. */
WEIR_WARN_UNUSED weir_status weir_name_find(weir_graph *graph, const char *name, weir_name_claim *claim);
WEIR_WARN_UNUSED weir_status weir_name_enter(weir_graph *graph, const weir_name_claim *claim);

/* Enters a name that was chosen otherwise, so that later ones differ from it. */
WEIR_WARN_UNUSED weir_status weir_name_note(weir_graph *graph, const char *name);

/* Both steps at once; NULL without memory. */
const char *weir_graph_unique_name(weir_graph *graph, const char *name);

/* Letters, digits and _.\-/> only, not empty. In ASCII, whatever the locale. */
bool weir_is_name(const char *name);

/* What a name of a client's may begin with at the top level: a letter, a digit or a dot. */
bool weir_is_name_start(char c);

/* Splits "name:12" as TensorFlow does: the digits after the last colon, if there are some and a name before it, are the
 * index (else 0). Returns the length of the name. */
size_t weir_split_output_name(const char *name, int *index);

/* A number that no node's mark has: nodes can be marked as seen without memory for it. Builder's thread. */
static inline unsigned weir_graph_new_mark(weir_graph *graph)
{
    return ++graph->newest_mark;
}

/* "{{node NAME}} = Op[attrs](inputs)" with file:line when known, for error texts. */
void weir_node_describe(const weir_node *node, weir_text *text);

/* Checks the node's inputs and the given attributes against the op's schema; sets attrs (copies, with defaults and what
 * follows from the inputs) and the outputs' types. keep_unknown: attributes the op does not have are kept (import) instead
 * of refused (builders). An input whose node is NULL is a back edge still to come. */
WEIR_WARN_UNUSED weir_status weir_node_resolve(weir_node *node, const weir_attr *given, int num_given,
                                               bool keep_unknown);

/* A node in the arena, not yet in the graph; inputs are copied. NULL without memory. */
weir_node *weir_node_draft(weir_graph *graph, const weir_op_def *op, const weir_output *inputs, int num_inputs);

/* Puts a finished draft into the graph under its name, which must be unique: ALREADY_EXISTS otherwise. */
WEIR_WARN_UNUSED weir_status weir_graph_add(weir_graph *graph, weir_node *node);

/* Takes the newest count nodes out again, which nobody has seen yet. */
void weir_graph_take_back(weir_graph *graph, size_t count);

/* Gives up the tensors that attributes kept since there were count of them: those of drafts that failed. */
void weir_graph_drop_tensors(weir_graph *graph, size_t count);

bool weir_node_is_merge(const weir_node *node);
bool weir_node_is_next_iteration(const weir_node *node);

/* weir_node_set_back_edge with a status instead of the sticky error; both may be drafts. */
WEIR_WARN_UNUSED weir_status weir_node_connect_back(weir_node *merge, int index, weir_output next_iteration);

/* The op of a name from the graph's index, or NULL. */
const weir_op_def *weir_graph_op(weir_graph *graph, const char *name);

/* Runs the shape rule of a node whose inputs are final. */
WEIR_WARN_UNUSED weir_status weir_node_infer(weir_node *node);

#endif
