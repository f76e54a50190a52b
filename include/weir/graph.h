/*
 * The graph: nodes with TensorFlow's op names and attributes, scopes that nodes are built in, and GraphDef in and out.
 *
 * Building never needs an `if` per line. A builder that fails leaves the graph unchanged and returns a null output (or
 * NULL); its error sticks to the graph, and further calls on the null output do nothing. A session reports the first
 * error, or weir_graph_take_error returns and clears it. Everything passed is copied at the call.
 *
 * Threads: one thread builds a graph at a time (externally locked); sessions may run nodes added before while it grows.
 */
#ifndef WEIR_GRAPH_H
#define WEIR_GRAPH_H

#include <weir/status.h>
#include <weir/tensor.h>
#include <weir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_graph weir_graph;
typedef struct weir_node weir_node;

/* One output of a node; node NULL is the null output, which every accessor takes. A value: copy it freely. */
typedef struct weir_output {
    weir_node *node;
    int index;
} weir_output;

#define WEIR_NO_OUTPUT ((weir_output){NULL, 0})

/* Where nodes are built: name prefix, device, control inputs, variable-sharing rule; and the caller's file and line,
 * which errors name. A small value: nothing to pop or free, safe to keep and pass. */
typedef struct weir_scope {
    const struct weir_scope_record *record;
    const char *file; /* NULL until a call fills it in */
    int line;
} weir_scope;

/* The scope with the place of the call, unless the caller's is there already. */
static inline weir_scope weir_scope_here(weir_scope scope, const char *file, int line)
{
    if (scope.file == NULL) {
        scope.file = file;
        scope.line = line;
    }
    return scope;
}
#define WEIR_HERE(scope) weir_scope_here((scope), __FILE__, __LINE__)

/* ---- Graphs ---- */

/* An empty graph, or NULL without memory. Returns owned. */
WEIR_API weir_graph *weir_graph_new(void);

/* Frees the graph, its nodes and everything that belongs to its scopes. No session may use it any more. Accepts NULL. */
WEIR_API void weir_graph_free(weir_graph *graph);

static inline void weir_graph_free_at(weir_graph **graph)
{
    weir_graph_free(*graph);
}

/* The scope of the graph's top level. */
WEIR_API weir_scope weir_root(weir_graph *graph);

/* The first error since the last call, which is cleared; ok when there was none. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_graph_take_error(weir_graph *graph);

/* The same without clearing it. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_graph_error(const weir_graph *graph);

/* Makes status the graph's error unless it has one; for code that builds parts of graphs. Returns status. */
WEIR_API weir_status weir_scope_fail(weir_scope scope, weir_status status);

/* The graph's random seed (tf1's set_random_seed); affects nodes built afterwards. */
WEIR_API void weir_graph_set_seed(weir_graph *graph, int64_t seed);

/* No node may be added any more: builders fail with FAILED_PRECONDITION. */
WEIR_API void weir_graph_finalize(weir_graph *graph);

/* Nodes in creation order. */
WEIR_API int weir_graph_num_nodes(const weir_graph *graph);
WEIR_API weir_node *weir_graph_node(const weir_graph *graph, int index);

/* The node of a name, or NULL. */
WEIR_API weir_node *weir_graph_find(const weir_graph *graph, const char *name);

/* "name" or "name:1" to an output; NOT_FOUND names it and the nearest name. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_graph_find_output(const weir_graph *graph, const char *name,
                                                             weir_output *out);

/* ---- Nodes and outputs; null gives "", unknown or 0 ---- */

WEIR_API const char *weir_node_name(const weir_node *node);
WEIR_API const char *weir_node_op(const weir_node *node);
WEIR_API const char *weir_node_device(const weir_node *node); /* as requested; "" when not */
WEIR_API int weir_node_num_inputs(const weir_node *node);
WEIR_API weir_output weir_node_input(const weir_node *node, int index);
WEIR_API int weir_node_num_controls(const weir_node *node);
WEIR_API weir_node *weir_node_control(const weir_node *node, int index);
WEIR_API int weir_node_num_outputs(const weir_node *node);
WEIR_API weir_output weir_node_output(weir_node *node, int index);
WEIR_API weir_graph *weir_node_graph(const weir_node *node);
WEIR_API weir_dtype weir_output_dtype(weir_output output);
WEIR_API weir_shape weir_output_shape(weir_output output); /* as far as it is known while building */

/* Narrows the known shape of an output; INVALID_ARGUMENT (sticky) if the two contradict each other. */
WEIR_API void weir_output_set_shape(weir_output output, weir_shape shape);

/* ---- Scopes ---- */

/* A new name scope under this one, its name made unique as TensorFlow does. printf form. A name that ends in "/" is
 * entered again as it is; "" is the top level. */
WEIR_API weir_scope weir_in_scope(weir_scope scope, const char *format, ...) WEIR_PRINTF(2, 3);

/* Nodes built here get this device, as far as inner scopes leave its parts open. printf form; "" changes nothing. */
WEIR_API weir_scope weir_on_device(weir_scope scope, const char *format, ...) WEIR_PRINTF(2, 3);

/* A device function as TensorFlow's: gets the op type, the node's name and the device merged so far, and returns the
 * device that replaces it (copied; "" clears it). */
typedef const char *weir_device_function(void *context, const char *op, const char *name, const char *device);
WEIR_API weir_scope weir_on_device_from(weir_scope scope, weir_device_function *function, void *context);

/* Outer device scopes are ignored from here on (tf.device(None)). */
WEIR_API weir_scope weir_on_any_device(weir_scope scope);

/* Nodes built here run after these. An entry that a node's inputs were built after, inside this block, is left out as
 * in TensorFlow. */
WEIR_API weir_scope weir_after_nodes(weir_scope scope, weir_node *const *nodes, int count);
WEIR_API weir_scope weir_after(weir_scope scope, weir_node *node);

/* Forgets the control inputs of outer scopes. */
WEIR_API weir_scope weir_after_nothing(weir_scope scope);

/* Nodes built here are placed with node (attribute _class) and ignore device scopes. */
WEIR_API weir_scope weir_colocated_with(weir_scope scope, weir_node *node);

/* The name prefix: "" or "a/b/". Lives as long as the graph. */
WEIR_API const char *weir_scope_name(weir_scope scope);
WEIR_API weir_graph *weir_scope_graph(weir_scope scope);

/* Values that code built on this API hangs on scopes and graphs, under keys of its own ("train/variable_scope"). A scope
 * made from this one inherits them. The value is borrowed: let the graph own it. NULL: none. */
WEIR_API weir_scope weir_scope_with(weir_scope scope, const char *key, void *value);
WEIR_API void *weir_scope_value(weir_scope scope, const char *key);
WEIR_API void *weir_graph_value(const weir_graph *graph, const char *key);
WEIR_API WEIR_WARN_UNUSED weir_status weir_graph_set_value(weir_graph *graph, const char *key, void *value);

/* Frees object with release when the graph is freed (at once if that cannot be noted, which is a failure). */
WEIR_API WEIR_WARN_UNUSED weir_status weir_graph_own(weir_graph *graph, void *object, void (*release)(void *object));

/* A name for a scope made unique without entering it: what weir_in_scope would call it. Lives as long as the graph. */
WEIR_API const char *weir_unique_name(weir_scope scope, const char *name);

/* The seeds a random op built now gets, by TensorFlow's rule (a graph counter when only the graph has a seed). */
typedef struct weir_seed {
    bool is_set;
    int64_t value;
} weir_seed;
#define WEIR_SEED(number) ((weir_seed){true, (number)})
WEIR_API void weir_scope_seeds(weir_scope scope, weir_seed seed, int64_t *seed1, int64_t *seed2);

/* ---- Any op by name ---- */

typedef enum weir_attr_kind {
    WEIR_ATTR_NONE = 0,
    WEIR_ATTR_STRING,
    WEIR_ATTR_INT,
    WEIR_ATTR_FLOAT,
    WEIR_ATTR_BOOL,
    WEIR_ATTR_TYPE,
    WEIR_ATTR_SHAPE,
    WEIR_ATTR_TENSOR,
    WEIR_ATTR_FUNCTION,
    WEIR_ATTR_LIST = 16 /* added to one of the above: a list of it */
} weir_attr_kind;

typedef struct weir_bytes {
    const char *data;
    size_t size;
} weir_bytes;

/* The value of an attribute. Borrowed when passed in (copied at the call), borrowed from the node when read. */
typedef struct weir_attr_value {
    weir_attr_kind kind;
    union {
        weir_bytes s;
        int64_t i;
        float f;
        bool b;
        weir_dtype type;
        weir_shape shape;
        weir_tensor *tensor;
        struct weir_function_attr *function;
        struct {
            int64_t count;
            union {
                const void *any;
                const weir_bytes *s;
                const int64_t *i;
                const float *f;
                const bool *b;
                const weir_dtype *type;
                const weir_shape *shape;
                weir_tensor *const *tensor;
            };
        } list;
    };
} weir_attr_value;

/* A function attribute: its name and its own attributes. */
typedef struct weir_function_attr {
    const char *name;
    int num_attrs;
    const struct weir_attr *attrs;
} weir_function_attr;

typedef struct weir_attr {
    const char *name;
    weir_attr_value value;
} weir_attr;

#ifndef __cplusplus
#define WEIR_ATTR_S(name, text)                                                                                        \
    ((weir_attr){(name), {.kind = WEIR_ATTR_STRING, .s = {(text), __builtin_strlen(text)}}})
#define WEIR_ATTR_I(name, number) ((weir_attr){(name), {.kind = WEIR_ATTR_INT, .i = (number)}})
#define WEIR_ATTR_F(name, number) ((weir_attr){(name), {.kind = WEIR_ATTR_FLOAT, .f = (number)}})
#define WEIR_ATTR_B(name, truth) ((weir_attr){(name), {.kind = WEIR_ATTR_BOOL, .b = (truth)}})
#define WEIR_ATTR_T(name, dtype) ((weir_attr){(name), {.kind = WEIR_ATTR_TYPE, .type = (dtype)}})
#define WEIR_ATTR_SH(name, dims) ((weir_attr){(name), {.kind = WEIR_ATTR_SHAPE, .shape = (dims)}})
#define WEIR_ATTR_TENSOR_OF(name, value_) ((weir_attr){(name), {.kind = WEIR_ATTR_TENSOR, .tensor = (value_)}})
#define WEIR_ATTR_INTS(name, array, length)                                                                            \
    ((weir_attr){(name), {.kind = WEIR_ATTR_LIST + WEIR_ATTR_INT, .list = {.count = (length), .i = (array)}}})
#define WEIR_ATTR_TYPES(name, array, length)                                                                           \
    ((weir_attr){(name), {.kind = WEIR_ATTR_LIST + WEIR_ATTR_TYPE, .list = {.count = (length), .type = (array)}}})
#define WEIR_ATTR_SHAPES(name, array, length)                                                                          \
    ((weir_attr){(name), {.kind = WEIR_ATTR_LIST + WEIR_ATTR_SHAPE, .list = {.count = (length), .shape = (array)}}})
#define WEIR_ATTR_STRINGS(name, array, length)                                                                         \
    ((weir_attr){(name), {.kind = WEIR_ATTR_LIST + WEIR_ATTR_STRING, .list = {.count = (length), .s = (array)}}})
#endif

/* What weir_op_build gets. Type and number attributes that follow from the inputs need not be given; defaults are
 * filled in. name NULL: the op's own name (op type as it is). A name that ends in "/" is taken as it is, without the
 * scope's prefix. */
typedef struct weir_op_options {
    size_t size;
    const char *name;
    const weir_output *inputs; /* flattened in the op's order */
    int num_inputs;
    const weir_attr *attrs;
    int num_attrs;
    weir_node *const *controls; /* besides the scope's */
    int num_controls;
    const char *device; /* NULL: the scope's */
} weir_op_options;

/* Builds a node of any op of the registry. NULL (error in the graph) when it does not fit the op: unknown op (NOT_FOUND
 * with the nearest name), wrong number or type of inputs, missing or wrong attributes, shapes that do not go together. */
WEIR_API weir_node *weir_op_build(weir_scope scope, const char *op, const weir_op_options *options);

#ifndef __cplusplus
#define WEIR_INPUTS(...)                                                                                               \
    .inputs = (const weir_output[]){__VA_ARGS__},                                                                      \
    .num_inputs = sizeof((const weir_output[]){__VA_ARGS__}) / sizeof(weir_output)
#define WEIR_ATTRS(...)                                                                                                \
    .attrs = (const weir_attr[]){__VA_ARGS__}, .num_attrs = sizeof((const weir_attr[]){__VA_ARGS__}) / sizeof(weir_attr)
/* weir_op(s, "Cumsum", WEIR_INPUTS(x, axis), WEIR_ATTRS(WEIR_ATTR_B("reverse", true)), .name = "c") */
#define weir_op(scope, ...) weir_op_with_options(WEIR_HERE(scope), __VA_ARGS__)
#define weir_op_with_options(scope, type, ...)                                                                         \
    weir_op_build((scope), (type), &(const weir_op_options){.size = sizeof(weir_op_options), __VA_ARGS__})
#endif

/* Output index of the node; the null output for NULL. */
static inline weir_output weir_out(weir_node *node, int index)
{
    weir_output output = {node, node != 0 ? index : 0};
    return output;
}

/* Attributes of a node, defaults included; false when it has none of that name and kind. Strings are not terminated. */
WEIR_API bool weir_node_attr(const weir_node *node, const char *name, weir_attr_value *out);
WEIR_API int weir_node_num_attrs(const weir_node *node);
WEIR_API const weir_attr *weir_node_attr_at(const weir_node *node, int index);

/* Adds an attribute whose name begins with "_". */
WEIR_API void weir_node_set_attr(weir_node *node, const weir_attr *attr);

/* Replaces the back edge of a Merge: input index, whose producer must be a NextIteration of the same graph. */
WEIR_API void weir_node_set_back_edge(weir_node *merge, int index, weir_output next_iteration);

/* ---- Collections ---- */

/* What a collection holds: an output, a node (output.index -1) or text. */
typedef struct weir_item {
    weir_output output;
    const char *text;
} weir_item;

#define WEIR_VARIABLES "variables"
#define WEIR_TRAINABLE_VARIABLES "trainable_variables"
#define WEIR_LOCAL_VARIABLES "local_variables"
#define WEIR_MODEL_VARIABLES "model_variables"
#define WEIR_MOVING_AVERAGE_VARIABLES "moving_average_variables"
#define WEIR_REGULARIZATION_LOSSES "regularization_losses"
#define WEIR_LOSSES "losses"
#define WEIR_SUMMARIES "summaries"
#define WEIR_UPDATE_OPS "update_ops"
#define WEIR_GLOBAL_STEP "global_step"
#define WEIR_TRAIN_OP "train_op"
#define WEIR_INIT_OP "init_op"
#define WEIR_SAVERS "savers"
#define WEIR_QUEUE_RUNNERS "queue_runners"

WEIR_API void weir_collect_output(weir_graph *graph, const char *key, weir_output output);
WEIR_API void weir_collect_node(weir_graph *graph, const char *key, weir_node *node);
WEIR_API void weir_collect_text(weir_graph *graph, const char *key, const char *text);

/* Number of items of a collection whose name begins with what scope matches: a POSIX extended regular expression
 * matched at the start of the node's name; NULL: all. */
WEIR_API int weir_collection_count(const weir_graph *graph, const char *key, const char *scope);

/* The items in order of their adding, at most capacity of them; returns how many were written. Borrowed. */
WEIR_API int weir_collection_items(const weir_graph *graph, const char *key, const char *scope, weir_item *items,
                                   int capacity);

/* ---- GraphDef ---- */

/* The graph as a serialized GraphDef (release with free()). */
WEIR_API WEIR_WARN_UNUSED weir_status weir_graph_export(const weir_graph *graph, void **bytes, size_t *size);

/* The same in protobuf's text form, zero-terminated. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_graph_export_text(const weir_graph *graph, char **text);

typedef struct weir_import_options {
    size_t size;
    const char *prefix;            /* put before every name, with a "/"; NULL: none */
    const weir_bytes *input_names; /* tensors of the GraphDef ("x:0") that are replaced ... */
    const weir_output *inputs;     /* ... by these */
    int num_inputs;
    bool is_text; /* the bytes are in text form */
} weir_import_options;

/* Adds the nodes of a serialized GraphDef under the scope; options may be NULL. Nothing is added on failure: all unknown
 * ops are reported at once. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_graph_import(weir_scope scope, const void *bytes, size_t size,
                                                        const weir_import_options *options);

#ifdef __cplusplus
}
#endif

#endif
