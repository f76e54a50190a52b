/*
 * Matrix products and bias: MatMul, products of batches, BiasAdd, and the product with bias and activation in one that
 * TensorFlow's graph rewriting makes. Schemas, shape rules, gradients and builders; kernels are bound in
 * matmul_kernels.c.
 */
#include "op/compose.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

/* ---- Products as tf.matmul makes them ---- */

typedef struct product_options {
    const char *name;
    bool transpose_a, transpose_b;
    bool is_adjoint;     /* transposed operands are conjugated too */
    bool is_matrix;      /* there are no batch dimensions, whatever is known */
    bool grad_a, grad_b; /* marks of gradients, for rewriting */
} product_options;

static bool may_have_batch(weir_output x)
{
    int rank = weir_output_shape(x).rank;
    return rank == WEIR_UNKNOWN_RANK || rank > 2;
}

/* BatchMatMulV2 where there may be batch dimensions, else MatMul. The first takes adjoints, the second transposes; so
 * the operands of one kind of transpose are conjugated beforehand. */
static weir_output build_product(weir_scope s, weir_output a, weir_output b, product_options options)
{
    bool is_batch = !options.is_matrix && (may_have_batch(a) || may_have_batch(b));
    if (options.transpose_a && options.is_adjoint != is_batch)
        a = weir_build_conjugate(s, a);
    if (options.transpose_b && options.is_adjoint != is_batch)
        b = weir_build_conjugate(s, b);
    weir_attr attrs[] = {
        WEIR_ATTR_B(is_batch ? "adj_x" : "transpose_a", options.transpose_a),
        WEIR_ATTR_B(is_batch ? "adj_y" : "transpose_b", options.transpose_b),
        WEIR_ATTR_B(is_batch ? "grad_x" : "grad_a", options.grad_a),
        WEIR_ATTR_B(is_batch ? "grad_y" : "grad_b", options.grad_b),
    };
    weir_node *node = weir_op(s, is_batch ? "BatchMatMulV2" : "MatMul", WEIR_INPUTS(a, b), .attrs = attrs,
                              .num_attrs = 4, .name = options.name);
    return weir_out(node, 0);
}

weir_output(weir_matmul)(weir_scope s, weir_output a, weir_output b, const weir_matmul_options *options)
{
    product_options product = {.name = "MatMul"};
    if (options != NULL) {
        product.name = options->name != NULL ? options->name : product.name;
        product.transpose_a = options->transpose_a;
        product.transpose_b = options->transpose_b;
    }
    return build_product(s, a, b, product);
}

/* ---- Gradients of products ---- */

/* The operands of the two gradients of op(a) op(b), by which of a and b are transposed. */
static void set_product_gradients(weir_gradient *gradient, bool t_a, bool t_b, bool is_batch)
{
    weir_scope s = gradient->scope;
    weir_output g = gradient->dy[0];
    weir_output a = weir_gradient_x(gradient, 0);
    weir_output b = weir_gradient_x(gradient, 1);
    if (!is_batch) { /* MatMul's transposes leave the conjugates to be taken */
        a = weir_build_conjugate(s, a);
        b = weir_build_conjugate(s, b);
    }
    product_options of_a = {.name = "MatMul", .grad_a = true, .is_adjoint = is_batch, .is_matrix = !is_batch};
    product_options of_b = {.name = "MatMul", .grad_b = true, .is_adjoint = is_batch, .is_matrix = !is_batch};
    of_a.transpose_a = t_a && t_b;
    of_a.transpose_b = t_a || !t_b;
    of_b.transpose_a = t_b || !t_a;
    of_b.transpose_b = t_a && t_b;
    weir_gradient_set(gradient, 0, t_a ? build_product(s, b, g, of_a) : build_product(s, g, b, of_a));
    weir_gradient_set(gradient, 1, t_b ? build_product(s, g, a, of_b) : build_product(s, a, g, of_b));
}

static weir_status matmul_gradient(weir_gradient *gradient)
{
    bool t_a = weir_node_bool(gradient->node, "transpose_a", false);
    bool t_b = weir_node_bool(gradient->node, "transpose_b", false);
    set_product_gradients(gradient, t_a, t_b, false);
    return WEIR_STATUS_OK;
}

static weir_status batch_matmul_gradient(weir_gradient *gradient)
{
    bool adj_x = weir_node_bool(gradient->node, "adj_x", false);
    bool adj_y = weir_node_bool(gradient->node, "adj_y", false);
    set_product_gradients(gradient, adj_x, adj_y, true);
    return WEIR_STATUS_OK;
}

/* True when both have the same, fully known batch dimensions. */
static bool have_equal_batches(weir_shape a, weir_shape b)
{
    if (a.rank < 2 || a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank - 2; i++) {
        if (a.dims[i] == WEIR_UNKNOWN_DIM || a.dims[i] != b.dims[i])
            return false;
    }
    return true;
}

static weir_output sum_batches(weir_scope s, weir_output g, weir_output axes, weir_output dims)
{
    return weir_reshape_to(s, weir_build_binary(s, "Sum", "Sum", g, axes), dims, .name = "Reshape");
}

static weir_status batch_matmul_v2_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output a = weir_gradient_x(gradient, 0);
    weir_output b = weir_gradient_x(gradient, 1);
    WEIR_TRY(batch_matmul_gradient(gradient));
    if ((!may_have_batch(a) && !may_have_batch(b)) || have_equal_batches(weir_output_shape(a), weir_output_shape(b)))
        return WEIR_STATUS_OK;
    weir_output dims_a = weir_build_shape(s, a);
    weir_output dims_b = weir_build_shape(s, b);
    weir_output batch_a = weir_build_part(s, dims_a, 0, -2);
    weir_output batch_b = weir_build_part(s, dims_b, 0, -2);
    weir_node *axes = weir_op(s, "BroadcastGradientArgs", WEIR_INPUTS(batch_a, batch_b));
    weir_gradient_set(gradient, 0, sum_batches(s, gradient->dx[0].values, weir_out(axes, 0), dims_a));
    weir_gradient_set(gradient, 1, sum_batches(s, gradient->dx[1].values, weir_out(axes, 1), dims_b));
    return WEIR_STATUS_OK;
}

/* ---- Bias ---- */

weir_output(weir_bias_add)(weir_scope s, weir_output x, weir_output bias, const weir_name_options *options)
{
    return weir_build_binary(s, "BiasAdd", weir_option_name(options, "BiasAdd"), x, bias);
}

static weir_status bias_add_gradient(weir_gradient *gradient)
{
    weir_attr format = {"data_format",
                        {.kind = WEIR_ATTR_STRING, .s = weir_node_string(gradient->node, "data_format")}};
    weir_node *sum = weir_op(gradient->scope, "BiasAddGrad", WEIR_INPUTS(gradient->dy[0]), WEIR_ATTRS(format));
    weir_gradient_set(gradient, 0, gradient->dy[0]);
    weir_gradient_set(gradient, 1, weir_out(sum, 0));
    return WEIR_STATUS_OK;
}

/* [before, 1, after] as a shape: how often the bias repeats. */
static weir_output concat_around_one(weir_scope s, weir_output before, weir_output after)
{
    if (before.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "concat");
    weir_output one = weir_build_int32s(inner, &(int){1}, 1, "values_1");
    weir_output parts[] = {before, one, after};
    return weir_concat(inner, parts, after.node != NULL ? 3 : 2, 0, .name = weir_scope_name(inner));
}

/* The bias gradient's gradient, repeated over everything but the channels. */
static weir_status bias_add_grad_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output g = gradient->dy[0];
    bool is_nchw = weir_node_string_is(gradient->node, "data_format", "NCHW");
    int before_end = is_nchw ? 1 : -1;
    weir_output dims = weir_build_shape(s, weir_gradient_x0(gradient));
    weir_output channels = weir_build_shape(s, g);
    weir_output parts[3] = {weir_ones_like(s, weir_build_part(s, dims, 0, before_end)), channels, WEIR_NO_OUTPUT};
    if (is_nchw)
        parts[2] = weir_ones_like(s, weir_build_part(s, dims, 2, 0));
    weir_output expanded = weir_concat(s, parts, is_nchw ? 3 : 2, 0);
    weir_output before = weir_build_part(s, dims, 0, before_end);
    weir_output after = is_nchw ? weir_build_part(s, dims, 2, 0) : WEIR_NO_OUTPUT;
    weir_output multiples = concat_around_one(s, before, after);
    weir_output row = weir_reshape_to(s, g, expanded, .name = "Reshape");
    weir_gradient_set(gradient, 0, weir_tile(s, row, multiples));
    return WEIR_STATUS_OK;
}

/* ---- Shape rules ---- */

static weir_status merge_dims(int64_t a, int64_t b, int64_t *out)
{
    if (a != WEIR_UNKNOWN_DIM && b != WEIR_UNKNOWN_DIM && a != b)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Dimensions must be equal, but are %lld and %lld", (long long)a,
                         (long long)b);
    *out = a != WEIR_UNKNOWN_DIM ? a : b;
    return WEIR_STATUS_OK;
}

static weir_status infer_matmul(weir_infer *infer)
{
    weir_shape a, b;
    int64_t inner;
    bool t_a = weir_node_bool(infer->node, "transpose_a", false);
    bool t_b = weir_node_bool(infer->node, "transpose_b", false);
    WEIR_TRY(weir_infer_rank(infer, 0, 2, &a));
    WEIR_TRY(weir_infer_rank(infer, 1, 2, &b));
    WEIR_TRY(merge_dims(a.dims[t_a ? 0 : 1], b.dims[t_b ? 1 : 0], &inner));
    infer->outputs[0] = (weir_shape){2, {a.dims[t_a ? 1 : 0], b.dims[t_b ? 0 : 1]}};
    return WEIR_STATUS_OK;
}

/* The batch dimensions of a shape. */
static weir_shape batch_of(weir_shape shape)
{
    if (shape.rank != WEIR_UNKNOWN_RANK)
        shape.rank -= 2;
    return shape;
}

static weir_status check_rank_at_least(weir_shape shape, int rank)
{
    if (shape.rank == WEIR_UNKNOWN_RANK || shape.rank >= rank)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be at least rank %d but is rank %d", rank, shape.rank);
}

static weir_status infer_batch_matmul(weir_infer *infer)
{
    weir_shape a = weir_infer_input(infer, 0);
    weir_shape b = weir_infer_input(infer, 1);
    WEIR_TRY(check_rank_at_least(a, 2));
    WEIR_TRY(check_rank_at_least(b, 2));
    if (a.rank == WEIR_UNKNOWN_RANK || b.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    int t_a = weir_node_bool(infer->node, "adj_x", false) ? 1 : 0;
    int t_b = weir_node_bool(infer->node, "adj_y", false) ? 1 : 0;
    int64_t inner;
    WEIR_TRY(merge_dims(a.dims[a.rank - 1 - t_a], b.dims[b.rank - 2 + t_b], &inner));
    weir_shape out;
    WEIR_TRY(weir_infer_broadcast(batch_of(a), batch_of(b), &out));
    out.dims[out.rank++] = a.dims[a.rank - 2 + t_a];
    out.dims[out.rank++] = b.dims[b.rank - 1 - t_b];
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

/* Where the channels are; least is how many dimensions there must be. */
static int channel_axis(const weir_node *node, weir_shape shape, int *least)
{
    bool is_nchw = weir_node_string_is(node, "data_format", "NCHW");
    *least = is_nchw ? 3 : 2;
    return is_nchw ? 1 : shape.rank - 1;
}

static weir_status infer_bias_add(weir_infer *infer)
{
    weir_shape x = weir_infer_input(infer, 0);
    weir_shape bias;
    int least;
    int axis = channel_axis(infer->node, x, &least);
    WEIR_TRY(check_rank_at_least(x, least));
    WEIR_TRY(weir_infer_rank(infer, 1, 1, &bias));
    if (x.rank != WEIR_UNKNOWN_RANK)
        WEIR_TRY(merge_dims(x.dims[axis], bias.dims[0], &x.dims[axis]));
    infer->outputs[0] = x;
    return WEIR_STATUS_OK;
}

static weir_status infer_bias_add_grad(weir_infer *infer)
{
    weir_shape x = weir_infer_input(infer, 0);
    int least;
    int axis = channel_axis(infer->node, x, &least);
    WEIR_TRY(check_rank_at_least(x, least));
    infer->outputs[0] = (weir_shape){1, {x.rank != WEIR_UNKNOWN_RANK ? x.dims[axis] : WEIR_UNKNOWN_DIM}};
    return WEIR_STATUS_OK;
}

/* ---- Schemas ---- */

static const weir_dtype matmul_types[] = {WEIR_BFLOAT16,  WEIR_HALF,       WEIR_FLOAT,        WEIR_DOUBLE, WEIR_INT32,
                                          WEIR_INT64,     WEIR_UINT8,      WEIR_UINT16,       WEIR_UINT32, WEIR_UINT64,
                                          WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_INVALID_DTYPE};
static const weir_dtype batch_types[] = {WEIR_BFLOAT16, WEIR_HALF,      WEIR_FLOAT,      WEIR_DOUBLE,       WEIR_INT32,
                                         WEIR_INT64,    WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_INVALID_DTYPE};
static const weir_dtype batch_v2_types[] = {
    WEIR_BFLOAT16, WEIR_HALF,   WEIR_FLOAT,  WEIR_DOUBLE, WEIR_INT16,     WEIR_INT32,      WEIR_INT64,
    WEIR_UINT8,    WEIR_UINT16, WEIR_UINT32, WEIR_UINT64, WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_INVALID_DTYPE};
static const weir_dtype bias_types[] = {WEIR_FLOAT,      WEIR_DOUBLE,    WEIR_INT32,  WEIR_UINT8,   WEIR_INT16,
                                        WEIR_INT8,       WEIR_COMPLEX64, WEIR_INT64,  WEIR_QINT8,   WEIR_QUINT8,
                                        WEIR_QINT32,     WEIR_BFLOAT16,  WEIR_QINT16, WEIR_QUINT16, WEIR_UINT16,
                                        WEIR_COMPLEX128, WEIR_HALF,      WEIR_UINT32, WEIR_UINT64,  WEIR_INVALID_DTYPE};
static const weir_dtype fused_types[] = {WEIR_BFLOAT16, WEIR_HALF, WEIR_FLOAT, WEIR_INVALID_DTYPE};
static const char *const formats[] = {"NHWC", "NCHW", NULL};

#define BATCH_MATMUL(op, types, function)                                                                              \
    {                                                                                                                  \
        .name = (op), .inputs = WEIR_ARGS({"x", .type_attr = "T"}, {"y", .type_attr = "T"}),                           \
        .outputs = WEIR_ARGS({"output", .type_attr = "T"}),                                                            \
        .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", types), WEIR_A_BOOL("adj_x", false), WEIR_A_BOOL("adj_y", false),     \
                                WEIR_A_BOOL("grad_x", false), WEIR_A_BOOL("grad_y", false)),                           \
        .infer = infer_batch_matmul, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = (function)                   \
    }

static const weir_op_def ops[] = {
    {.name = "MatMul",
     .inputs = WEIR_ARGS({"a", .type_attr = "T"}, {"b", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"product", .type_attr = "T"}),
     .attrs =
         WEIR_ATTR_DEFS(WEIR_A_BOOL("transpose_a", false), WEIR_A_BOOL("transpose_b", false),
                        WEIR_A_TYPE("T", matmul_types), WEIR_A_BOOL("grad_a", false), WEIR_A_BOOL("grad_b", false)),
     .infer = infer_matmul,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = matmul_gradient},
    BATCH_MATMUL("BatchMatMul", batch_types, batch_matmul_gradient),
    BATCH_MATMUL("BatchMatMulV2", batch_v2_types, batch_matmul_v2_gradient),
    {.name = "_FusedMatMul",
     .inputs = WEIR_ARGS({"a", .type_attr = "T"}, {"b", .type_attr = "T"},
                         {"args", .type_attr = "T", .number_attr = "num_args"}),
     .outputs = WEIR_ARGS({"product", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_BOOL("transpose_a", false), WEIR_A_BOOL("transpose_b", false),
                             WEIR_A_TYPE("T", fused_types), WEIR_A_INT_MIN("num_args", 0),
                             {.name = "fused_ops",
                              .kind = WEIR_ATTR_LIST + WEIR_ATTR_STRING,
                              .has_default = true,
                              .value = {.kind = WEIR_ATTR_LIST + WEIR_ATTR_STRING}},
                             WEIR_A_FLOAT("epsilon", 0.0001F), WEIR_A_FLOAT("leakyrelu_alpha", 0.2F)),
     .infer = infer_matmul},
    {.name = "BiasAdd",
     .inputs = WEIR_ARGS({"value", .type_attr = "T"}, {"bias", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", bias_types), WEIR_A_CHOICE("data_format", "NHWC", formats)),
     .infer = infer_bias_add,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = bias_add_gradient},
    {.name = "BiasAddGrad",
     .inputs = WEIR_ARGS({"out_backprop", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", bias_types), WEIR_A_CHOICE("data_format", "NHWC", formats)),
     .infer = infer_bias_add_grad,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = bias_add_grad_gradient},
    {.name = NULL},
};

const weir_op_family weir_family_matmul = {.name = "matmul", .ops = ops, .kernels = weir_kernel_table_matmul};
