/*
 * What the graph knows of an op: its schema (TensorFlow's names, order and defaults), its shape rule and its gradient.
 * Definitions are constant tables, written in op/, one file per family.
 */
#ifndef GRAPH_OP_DEF_H
#define GRAPH_OP_DEF_H

#include <weir/gradients.h>
#include <weir/graph.h>

typedef struct weir_arg_def {
    const char *name;           /* NULL ends a list */
    weir_dtype type;            /* fixed type, or ... */
    const char *type_attr;      /* ... the attribute that holds it */
    const char *number_attr;    /* that many tensors of the type */
    const char *type_list_attr; /* one tensor per element of this list(type) attribute */
    bool is_ref;
} weir_arg_def;

typedef struct weir_attr_def {
    const char *name; /* NULL ends a list */
    weir_attr_kind kind;
    bool has_default;
    weir_attr_value value;            /* the default */
    const weir_dtype *allowed_types;  /* ends with WEIR_INVALID_DTYPE; NULL: all */
    const char *const *allowed_texts; /* ends with NULL; NULL: all */
    bool has_minimum;
    int64_t minimum; /* of an int, or of a list's length */
} weir_attr_def;

/* ---- Shape rule ---- */

/* Passed to a shape rule: reads inputs, sets outputs (all unknown at the start). */
typedef struct weir_infer {
    const weir_node *node;
    weir_shape *outputs;
    struct weir_infer_memory *memory; /* the graph's: what constants hands out lives there until the rule ends */
} weir_infer;

weir_shape weir_infer_input(const weir_infer *infer, int index); /* shape of an input */

/* The value of an input that is known while building (a Const, or whatever follows from constants and known shapes);
 * NULL when it is not. Borrowed until the rule ends. */
const weir_tensor *weir_infer_constant(const weir_infer *infer, int index);

/* An input that holds a shape (int32 or int64 vector), as far as its values are known; the unknown shape if nothing is. */
weir_shape weir_infer_shape_value(const weir_infer *infer, int index);

/* INVALID_ARGUMENT unless the rank is unknown or equal; out gets the shape with that rank. */
WEIR_WARN_UNUSED weir_status weir_infer_rank(const weir_infer *infer, int index, int rank, weir_shape *out);

/* The common shape of two compatible shapes; "Dimension 0 in both shapes must be equal, but are 2 and 3. ..." otherwise. */
WEIR_WARN_UNUSED weir_status weir_infer_merge(weir_shape a, weir_shape b, weir_shape *out);

/* NumPy broadcasting of two partly known shapes. */
WEIR_WARN_UNUSED weir_status weir_infer_broadcast(weir_shape a, weir_shape b, weir_shape *out);

typedef weir_status weir_infer_function(weir_infer *infer);

/* Rules that many ops share. */
weir_status weir_infer_same(weir_infer *infer);        /* every output as input 0 */
weir_status weir_infer_elementwise(weir_infer *infer); /* output 0: broadcast of inputs 0 and 1 */
weir_status weir_infer_scalar(weir_infer *infer);      /* every output a scalar */
weir_status weir_infer_unknown(weir_infer *infer);     /* known only when it runs */
weir_status weir_infer_none(weir_infer *infer);        /* no outputs */

/* ---- Gradient ---- */

/* Passed to the gradient of an op. dy is dense; an output without gradient has null there, and weir_gradient_dy gives
 * zeros for it. dx starts as none for every input. */
typedef struct weir_gradient {
    weir_scope scope; /* gradients/<name>_grad/ */
    weir_node *node;  /* the forward node */
    const weir_output *dy;
    weir_gradient_value *dx;
    weir_scope outer; /* gradients/: where zeros for missing dy stand */
} weir_gradient;

weir_output weir_gradient_dy(weir_gradient *gradient, int output);
static inline weir_output weir_gradient_x(const weir_gradient *gradient, int input) /* forward input */
{
    return weir_node_input(gradient->node, input);
}
static inline weir_output weir_gradient_y(const weir_gradient *gradient, int output) /* forward output */
{
    return weir_node_output(gradient->node, output);
}
static inline void weir_gradient_set(weir_gradient *gradient, int input, weir_output values)
{
    gradient->dx[input] = (weir_gradient_value){.values = values};
}

typedef weir_status weir_gradient_function(weir_gradient *gradient);

typedef enum weir_gradient_kind {
    WEIR_GRADIENT_UNREGISTERED = 0, /* asking for it is an error: LookupError in TensorFlow */
    WEIR_GRADIENT_NONE,             /* declared not differentiable: no gradient flows */
    WEIR_GRADIENT_FUNCTION
} weir_gradient_kind;

/* ---- Ops ---- */

typedef struct weir_op_def {
    const char *name;
    const weir_arg_def *inputs;  /* NULL: none */
    const weir_arg_def *outputs; /* NULL: none */
    const weir_attr_def *attrs;  /* NULL: none */
    weir_infer_function *infer;
    weir_gradient_kind gradient_kind;
    weir_gradient_function *gradient;
    bool is_stateful; /* never folded, merged or removed */
    bool is_commutative;
    bool is_aggregate;
    bool allows_uninitialized_input; /* a reference input may not be initialized yet */
} weir_op_def;

/* Lists for the tables: .inputs = WEIR_ARGS({"a", .type_attr = "T"}, {"b", .type_attr = "T"}) */
#define WEIR_ARGS(...) (const weir_arg_def[]){__VA_ARGS__, {.name = NULL}}
#define WEIR_ATTR_DEFS(...) (const weir_attr_def[]){__VA_ARGS__, {.name = NULL}}
#define WEIR_TYPES(...) (const weir_dtype[]){__VA_ARGS__, WEIR_INVALID_DTYPE}
#define WEIR_TEXTS(...) (const char *const[]){__VA_ARGS__, NULL}
/* Attribute rows: WEIR_A_TYPE("T", types or NULL), WEIR_A_BOOL("transpose_a", false) ... */
#define WEIR_A_DEFAULT_(k, ...) .kind = (k), .has_default = true, .value = {.kind = (k), __VA_ARGS__}
#define WEIR_A_TEXT_(d) WEIR_A_DEFAULT_(WEIR_ATTR_STRING, .s = {(d), sizeof(d) - 1})
#define WEIR_A_TYPE(n, types) {.name = (n), .kind = WEIR_ATTR_TYPE, .allowed_types = (types)}
#define WEIR_A_TYPE_OR(n, types, d)                                                                                    \
    {.name = (n), .allowed_types = (types), WEIR_A_DEFAULT_(WEIR_ATTR_TYPE, .type = (d))}
#define WEIR_A_BOOL(n, d) {.name = (n), WEIR_A_DEFAULT_(WEIR_ATTR_BOOL, .b = (d))}
#define WEIR_A_INT(n, d) {.name = (n), WEIR_A_DEFAULT_(WEIR_ATTR_INT, .i = (d))}
#define WEIR_A_INT_MIN(n, least) {.name = (n), .kind = WEIR_ATTR_INT, .has_minimum = true, .minimum = (least)}
#define WEIR_A_FLOAT(n, d) {.name = (n), WEIR_A_DEFAULT_(WEIR_ATTR_FLOAT, .f = (d))}
#define WEIR_A_STRING(n, d) {.name = (n), WEIR_A_TEXT_(d)}
#define WEIR_A_CHOICE(n, d, texts) {.name = (n), WEIR_A_TEXT_(d), .allowed_texts = (texts)}

/* ---- Registry: one constant table, defined in op/families.c, names every family ---- */

typedef struct weir_op_family {
    const char *name;
    const weir_op_def *ops;            /* ends with name NULL */
    const struct weir_kernel *kernels; /* ends with op NULL; see exec/kernel.h */
} weir_op_family;

extern const weir_op_family *const weir_op_families[]; /* ends with NULL */

/* The op of a name, or NULL. Any thread. Linear in the number of ops: graphs keep an index of their own. */
const weir_op_def *weir_op_find(const char *name);

#endif
