/*
 * Builders of the common ops, with TensorFlow's meaning (its documentation of the op of the same name holds). Any op of
 * the registry, these included, can be built by name with weir_op.
 *
 * Each builder takes a scope and its inputs, then options as designated initializers, `.name = "x"` among them always:
 *
 *     weir_output sum = weir_reduce_sum(s, x, .axes = WEIR_AXES(0), .keep_dims = true);
 *
 * Scalars that TensorFlow's wrappers turn into Const inputs are such here too, under the names TensorFlow gives them.
 * Shapes of inputs stand behind the parameters. A failed builder returns a null output; see <weir/graph.h>.
 */
#ifndef WEIR_OPS_H
#define WEIR_OPS_H

#include <weir/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Options ---- */

typedef struct weir_name_options {
    size_t size;
    const char *name; /* NULL: the op's */
} weir_name_options;

/* Axes of a reduction: none given reduces all. */
typedef struct weir_axes {
    bool is_set;
    int count;
    int values[WEIR_MAX_RANK];
} weir_axes;
#ifndef __cplusplus
#define WEIR_AXES(...)                                                                                                 \
    ((weir_axes){true, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), {__VA_ARGS__}})
#endif

typedef struct weir_reduce_options {
    size_t size;
    const char *name;
    weir_axes axes;
    bool keep_dims;
} weir_reduce_options;

typedef struct weir_matmul_options {
    size_t size;
    const char *name;
    bool transpose_a;
    bool transpose_b;
} weir_matmul_options;

typedef enum weir_padding { WEIR_SAME = 0, WEIR_VALID = 1 } weir_padding;

typedef struct weir_window_options { /* of convolutions and pools; NHWC */
    size_t size;
    const char *name;
    int stride;       /* both directions; 0 means 1 for convolutions, the window for pools */
    int stride_width; /* when it differs from stride */
    weir_padding padding;
} weir_window_options;

typedef struct weir_random_options {
    size_t size;
    const char *name;
    weir_dtype dtype; /* 0: float */
    weir_seed seed;
    double mean;    /* normal and truncated normal */
    double stddev;  /* 0 means 1 */
    double minimum; /* uniform: [minimum, maximum); both 0 mean [0, 1) */
    double maximum;
} weir_random_options;

typedef struct weir_slice_options { /* strided_slice: masks as TensorFlow's, bit i for entry i */
    size_t size;
    const char *name;
    int begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
} weir_slice_options;

typedef struct weir_one_hot_options {
    size_t size;
    const char *name;
    weir_dtype dtype; /* 0: float */
    bool first_axis;  /* the new axis comes first instead of last */
} weir_one_hot_options;

/* ---- Declarations: W_OP(name, options, parameters, arguments) declares the function and its macro ---- */

/* Constants and inputs */
typedef struct weir_const_value {
    weir_dtype dtype;
    weir_shape shape;
    const void *elements;     /* of dtype, row-major */
    const char *const *texts; /* for strings */
} weir_const_value;
#ifndef __cplusplus
#define WEIR_COUNT_(type, ...) ((int64_t)(sizeof((const type[]){__VA_ARGS__}) / sizeof(type)))
#define WEIR_VECTOR_(dtype, type, ...)                                                                                 \
    ((weir_const_value){dtype, {1, {WEIR_COUNT_(type, __VA_ARGS__)}}, (const type[]){__VA_ARGS__}, NULL})
#define WEIR_FLOATS(...) WEIR_VECTOR_(WEIR_FLOAT, float, __VA_ARGS__)
#define WEIR_DOUBLES(...) WEIR_VECTOR_(WEIR_DOUBLE, double, __VA_ARGS__)
#define WEIR_INT32S(...) WEIR_VECTOR_(WEIR_INT32, int32_t, __VA_ARGS__)
#define WEIR_INT64S(...) WEIR_VECTOR_(WEIR_INT64, int64_t, __VA_ARGS__)
#define WEIR_SCALAR_(dtype, type, value) ((weir_const_value){dtype, {0, {0}}, (const type[]){value}, NULL})
#define WEIR_FLOAT_OF(value) WEIR_SCALAR_(WEIR_FLOAT, float, value)
#define WEIR_DOUBLE_OF(value) WEIR_SCALAR_(WEIR_DOUBLE, double, value)
#define WEIR_INT32_OF(value) WEIR_SCALAR_(WEIR_INT32, int32_t, value)
#define WEIR_INT64_OF(value) WEIR_SCALAR_(WEIR_INT64, int64_t, value)
#define WEIR_BOOL_OF(value) WEIR_SCALAR_(WEIR_BOOL, bool, value)
#define WEIR_STRING_OF(text) ((weir_const_value){WEIR_STRING, {0, {0}}, NULL, (const char *const[]){text}})
#define WEIR_TENSOR_SHAPED(dtype, shape, elements) ((weir_const_value){(dtype), (shape), (elements), NULL})
#endif
WEIR_API weir_output(weir_const)(weir_scope s, weir_const_value value, const weir_name_options *options);
WEIR_API weir_output weir_const_tensor(weir_scope s, const weir_tensor *value, const char *name);
WEIR_API weir_output(weir_placeholder)(weir_scope s, weir_dtype dtype, weir_shape shape,
                                       const weir_name_options *options);
/* A constant filled with one value: a Const that holds it once. */
WEIR_API weir_output weir_fill_const(weir_scope s, weir_dtype dtype, weir_shape shape, double value, const char *name);

/* One input */
#define WEIR_UNARY_OPS(X)                                                                                              \
    X(identity) X(stop_gradient) X(negative) X(reciprocal) X(square) X(sqrt) X(rsqrt) X(exp) X(log) X(abs) X(sign)     \
    X(floor) X(round) X(relu) X(relu6) X(elu) X(sigmoid) X(tanh) X(softplus) X(softmax) X(log_softmax) X(l2_loss)      \
    X(logical_not) X(zeros_like) X(ones_like) X(shape_op) X(size) X(rank) X(invert_permutation) X(where)
/* Two inputs (binary ones broadcast) */
#define WEIR_BINARY_OPS(X)                                                                                             \
    X(add) X(subtract) X(multiply) X(divide) X(floor_div) X(floor_mod) X(pow) X(maximum) X(minimum)                    \
    X(squared_difference) X(equal) X(not_equal) X(greater) X(greater_equal) X(less) X(less_equal) X(logical_and)       \
    X(logical_or) X(bias_add) X(reshape_to) X(fill) X(tile) X(broadcast_to) X(transpose_by) X(pad) X(gather_rows)
#define WEIR_DECLARE_UNARY(name)                                                                                       \
    WEIR_API weir_output(weir_##name)(weir_scope s, weir_output x, const weir_name_options *options);
#define WEIR_DECLARE_BINARY(name)                                                                                      \
    WEIR_API weir_output(weir_##name)(weir_scope s, weir_output x, weir_output y, const weir_name_options *options);
WEIR_UNARY_OPS(WEIR_DECLARE_UNARY)
WEIR_BINARY_OPS(WEIR_DECLARE_BINARY)

/* The rest, each with its own parameters */
WEIR_API weir_output(weir_add_n)(weir_scope s, const weir_output *inputs, int count, const weir_name_options *options);
WEIR_API weir_output(weir_select)(weir_scope s, weir_output condition, weir_output x, weir_output y,
                                  const weir_name_options *options); /* SelectV2 */
WEIR_API weir_output(weir_cast)(weir_scope s, weir_output x, weir_dtype dtype,
                                const weir_name_options *options); /* x itself when it has the type */
WEIR_API weir_output(weir_matmul)(weir_scope s, weir_output a, weir_output b,
                                  const weir_matmul_options *options); /* [m, k] [k, n] */
WEIR_API weir_output(weir_reshape)(weir_scope s, weir_output x, weir_shape shape,
                                   const weir_name_options *options); /* one -1 allowed */
WEIR_API weir_output(weir_expand_dims)(weir_scope s, weir_output x, int axis, const weir_name_options *options);
WEIR_API weir_output(weir_squeeze)(weir_scope s, weir_output x, weir_axes axes, const weir_name_options *options);
WEIR_API weir_output(weir_transpose)(weir_scope s, weir_output x, weir_axes permutation,
                                     const weir_name_options *options); /* not set: reversed */
WEIR_API weir_output(weir_concat)(weir_scope s, const weir_output *inputs, int count, int axis,
                                  const weir_name_options *options);
WEIR_API weir_output(weir_stack)(weir_scope s, const weir_output *inputs, int count, int axis,
                                 const weir_name_options *options); /* Pack */
WEIR_API weir_node *(weir_unstack)(weir_scope s, weir_output x, int count, int axis,
                                   const weir_name_options *options); /* Unpack: one output each */
WEIR_API weir_node *(weir_split)(weir_scope s, weir_output x, int parts, int axis,
                                 const weir_name_options *options); /* one output each */
WEIR_API weir_output(weir_slice)(weir_scope s, weir_output x, weir_output begin, weir_output extent,
                                 const weir_name_options *options);
WEIR_API weir_output(weir_strided_slice)(weir_scope s, weir_output x, weir_output begin, weir_output end,
                                         weir_output strides, const weir_slice_options *options);
WEIR_API weir_output(weir_gather)(weir_scope s, weir_output params, weir_output indices, int axis,
                                  const weir_name_options *options); /* GatherV2 */
WEIR_API weir_output(weir_range)(weir_scope s, weir_output start, weir_output limit, weir_output delta,
                                 const weir_name_options *options);
WEIR_API weir_output(weir_one_hot)(weir_scope s, weir_output indices, int depth, const weir_one_hot_options *options);
WEIR_API weir_output(weir_clip_by_value)(weir_scope s, weir_output x, double low, double high,
                                         const weir_name_options *options);
WEIR_API weir_output(weir_argmax)(weir_scope s, weir_output x, int axis, const weir_name_options *options); /* int64 */
WEIR_API weir_output(weir_argmin)(weir_scope s, weir_output x, int axis, const weir_name_options *options);
WEIR_API weir_output(weir_in_top_k)(weir_scope s, weir_output predictions, weir_output targets, int k,
                                    const weir_name_options *options); /* InTopKV2 */
WEIR_API weir_output(weir_cumsum)(weir_scope s, weir_output x, int axis, const weir_name_options *options);
#define WEIR_REDUCE_OPS(X) X(sum) X(mean) X(prod) X(max) X(min) X(all) X(any)
#define WEIR_DECLARE_REDUCE(name)                                                                                      \
    WEIR_API weir_output(weir_reduce_##name)(weir_scope s, weir_output x, const weir_reduce_options *options);
WEIR_REDUCE_OPS(WEIR_DECLARE_REDUCE)
WEIR_API weir_output(weir_conv2d_op)(weir_scope s, weir_output x, weir_output filter,
                                     const weir_window_options *options); /* [n,h,w,c] [kh,kw,c,o] */
WEIR_API weir_output(weir_max_pool)(weir_scope s, weir_output x, int height, int width,
                                    const weir_window_options *options);
WEIR_API weir_output(weir_avg_pool)(weir_scope s, weir_output x, int height, int width,
                                    const weir_window_options *options);
/* logits and labels [n, classes] -> [n]; no gradient to the labels, as TensorFlow's v1 form */
WEIR_API weir_output(weir_softmax_cross_entropy)(weir_scope s, weir_output logits, weir_output labels,
                                                 const weir_name_options *options);
/* logits [n, classes], labels [n] int32 or int64 -> [n] */
WEIR_API weir_output(weir_sparse_softmax_cross_entropy)(weir_scope s, weir_output logits, weir_output labels,
                                                        const weir_name_options *options);
WEIR_API weir_output(weir_random_uniform)(weir_scope s, weir_output shape, const weir_random_options *options);
WEIR_API weir_output(weir_random_normal)(weir_scope s, weir_output shape, const weir_random_options *options);
WEIR_API weir_output(weir_truncated_normal)(weir_scope s, weir_output shape, const weir_random_options *options);
WEIR_API weir_output(weir_random_shuffle)(weir_scope s, weir_output x, const weir_random_options *options);
WEIR_API weir_output weir_shape_const(weir_scope s, weir_shape shape,
                                      const char *name); /* int32 vector constant of a known shape (-1 allowed) */

/* Order */
WEIR_API weir_node *weir_no_op(weir_scope s, const char *name);
/* A NoOp after all of them ("group_deps"); on several devices one per device first, as tf.group. */
WEIR_API weir_node *weir_group(weir_scope s, weir_node *const *nodes, int count, const char *name);
/* x, available only after node has run: Identity with a control input. */
WEIR_API weir_output weir_with_dependency(weir_scope s, weir_node *node, weir_output x, const char *name);

/* State */
WEIR_API weir_output(weir_assign)(weir_scope s, weir_output ref, weir_output value, const weir_name_options *options);
WEIR_API weir_output(weir_assign_add)(weir_scope s, weir_output ref, weir_output value,
                                      const weir_name_options *options);
WEIR_API weir_output(weir_assign_sub)(weir_scope s, weir_output ref, weir_output value,
                                      const weir_name_options *options);
/* VariableV2 of a fully known shape: the reference. Layers use weir_get_variable of <weir/train.h>. */
WEIR_API weir_output(weir_variable_v2)(weir_scope s, weir_dtype dtype, weir_shape shape,
                                       const weir_name_options *options);
WEIR_API weir_output(weir_is_variable_initialized)(weir_scope s, weir_output ref, const weir_name_options *options);

/* The macros stand in a header of their own, so that this one can be read. */
#ifndef __cplusplus
#include <weir/ops_macros.h>
#endif

#ifdef __cplusplus
}
#endif

#endif
