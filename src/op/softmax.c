/*
 * Softmax, the losses made of it, and whether a class is among the k best: schemas, shape rules, gradients and
 * builders. Kernels are bound in softmax_kernels.c.
 */
#include "op/compose.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

/* ---- Gradients ---- */

static weir_output times(weir_scope s, weir_output x, weir_output y)
{
    return weir_multiply(s, x, y, .name = "mul");
}

/* y (g - sum of g y over classes) */
static weir_status softmax_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output y = weir_gradient_y0(gradient);
    weir_output sum = weir_reduce_sum(s, times(s, gradient->dy[0], y), .axes = WEIR_AXES(-1), .keep_dims = true);
    weir_output difference = weir_subtract(s, gradient->dy[0], sum, .name = "sub");
    weir_gradient_set(gradient, 0, times(s, difference, y));
    return WEIR_STATUS_OK;
}

/* g - exp(y) (sum of g over classes) */
static weir_status log_softmax_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output softmax = weir_exp(s, weir_gradient_y0(gradient));
    weir_output sum = weir_reduce_sum(s, gradient->dy[0], .axes = WEIR_AXES(-1), .keep_dims = true);
    weir_output part = times(s, sum, softmax);
    weir_gradient_set(gradient, 0, weir_subtract(s, gradient->dy[0], part, .name = "sub"));
    return WEIR_STATUS_OK;
}

/* Each row of the matrix times its element of the vector. */
static weir_output scale_rows(weir_scope s, weir_output vector, weir_output matrix)
{
    return times(s, weir_expand_dims(s, vector, -1), matrix);
}

/* What the second output's gradient gg adds: softmax (gg - sum of gg softmax over classes). */
static weir_output backprop_gradient(weir_scope s, weir_output gg, weir_output logits)
{
    weir_output softmax = weir_softmax(s, logits);
    weir_output row = weir_expand_dims(s, gg, 1);
    weir_output column = weir_expand_dims(s, softmax, 2);
    weir_output product = weir_squeeze(s, weir_matmul(s, row, column), WEIR_AXES(1));
    weir_output difference = weir_subtract(s, gg, product, .name = "sub");
    return times(s, difference, softmax);
}

/* The logits' gradient is the second output times g; g is null where only the second output is differentiated. */
static weir_status sparse_cross_entropy_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output g = weir_gradient_dy(gradient, 0);
    weir_output dx = scale_rows(s, g, weir_gradient_y(gradient, 1));
    if (gradient->dy[1].node != NULL)
        dx = weir_add(s, dx, backprop_gradient(s, gradient->dy[1], weir_gradient_x(gradient, 0)), .name = "add");
    weir_gradient_set(gradient, 0, dx);
    return WEIR_STATUS_OK;
}

/* The same, and -log softmax times g for the labels. */
static weir_status cross_entropy_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    WEIR_TRY(sparse_cross_entropy_gradient(gradient));
    weir_output negative = weir_negative(s, weir_log_softmax(s, weir_gradient_x(gradient, 0)));
    weir_gradient_set(gradient, 1, scale_rows(s, weir_gradient_dy(gradient, 0), negative));
    return WEIR_STATUS_OK;
}

/* ---- Builders ---- */

weir_output(weir_softmax)(weir_scope s, weir_output x, const weir_name_options *options)
{
    return weir_build_unary(s, "Softmax", weir_option_name(options, "Softmax"), x);
}

weir_output(weir_log_softmax)(weir_scope s, weir_output x, const weir_name_options *options)
{
    return weir_build_unary(s, "LogSoftmax", weir_option_name(options, "LogSoftmax"), x);
}

weir_output(weir_in_top_k)(weir_scope s, weir_output predictions, weir_output targets, int k,
                           const weir_name_options *options)
{
    const char *name = weir_option_name(options, NULL);
    if (predictions.node == NULL || targets.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope outer = weir_in_scope(s, "%s", name != NULL ? name : "in_top_k");
    weir_scope inner = weir_in_scope(outer, "%s", name != NULL ? name : "InTopKV2");
    weir_output number = weir_build_number(inner, weir_output_dtype(targets), k, "k");
    return weir_out(
        weir_op(inner, "InTopKV2", WEIR_INPUTS(predictions, targets, number), .name = weir_scope_name(inner)), 0);
}

/* Half and bfloat16 logits are taken as float. */
static weir_output precise(weir_scope s, weir_output logits)
{
    weir_dtype dtype = weir_dtype_base(weir_output_dtype(logits));
    return dtype == WEIR_HALF || dtype == WEIR_BFLOAT16 ? weir_cast(s, logits, WEIR_FLOAT) : logits;
}

/* One element of a shape, or the elements before it, by an index that a node holds: "Slice". */
static weir_output slice_shape(weir_scope s, weir_output dims, weir_output index, bool takes_those_before)
{
    if (dims.node == NULL || index.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "Slice");
    weir_output begin, extent;
    if (takes_those_before) {
        begin = weir_build_int32s(inner, &(int){0}, 1, "begin");
        extent = weir_stack(inner, &index, 1, 0, .name = "size");
    } else {
        begin = weir_stack(inner, &index, 1, 0, .name = "begin");
        extent = weir_build_int32s(inner, &(int){1}, 1, "size");
    }
    return weir_slice(inner, dims, begin, extent, .name = weir_scope_name(inner));
}

/* [..., classes] as [rows, classes] */
static weir_output flatten_outer_dims(weir_scope s, weir_output x)
{
    weir_output rank = weir_build_rank(s, x);
    weir_output dims = weir_build_shape(s, x);
    weir_output last = weir_build_with_number(s, "Sub", "Sub", rank, 1);
    weir_output classes = slice_shape(s, dims, last, false);
    if (classes.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "concat");
    weir_output any = weir_build_int32s(inner, &(int){-1}, 1, "values_0");
    weir_output matrix = weir_concat(inner, WEIR_OUTPUTS(any, classes), 0, .name = weir_scope_name(inner));
    weir_output out = weir_reshape_to(s, x, matrix, .name = "Reshape");
    weir_shape shape = weir_output_shape(x);
    if (shape.rank > 0) {
        weir_shape known = {2, {1, shape.dims[shape.rank - 1]}};
        for (int i = 0; i < shape.rank - 1 && known.dims[0] != WEIR_UNKNOWN_DIM; i++)
            known.dims[0] = shape.dims[i] == WEIR_UNKNOWN_DIM ? WEIR_UNKNOWN_DIM : known.dims[0] * shape.dims[i];
        weir_output_set_shape(out, known);
    }
    return out;
}

static void set_shape_without_classes(weir_output loss, weir_output logits)
{
    weir_shape shape = weir_output_shape(logits);
    if (shape.rank > 0) {
        shape.rank--;
        weir_output_set_shape(loss, shape);
    }
}

/* The loss in the type that the logits had. */
static weir_output as_before(weir_scope s, weir_output loss, weir_output logits)
{
    return weir_cast(s, loss, weir_dtype_base(weir_output_dtype(logits)));
}

weir_output(weir_softmax_cross_entropy)(weir_scope s, weir_output logits, weir_output labels,
                                        const weir_name_options *options)
{
    if (logits.node == NULL || labels.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "%s", weir_option_name(options, "softmax_cross_entropy_with_logits_sg"));
    labels = weir_stop_gradient(inner, labels, .name = "labels_stop_gradient");
    weir_output exact = precise(inner, logits);
    labels = weir_cast(inner, labels, weir_dtype_base(weir_output_dtype(exact)));
    weir_output rank = weir_build_rank(inner, exact);
    weir_output dims = weir_build_shape(inner, exact);
    weir_output flat = flatten_outer_dims(inner, exact);
    weir_output flat_labels = flatten_outer_dims(inner, labels);
    weir_node *node =
        weir_op(inner, "SoftmaxCrossEntropyWithLogits", WEIR_INPUTS(flat, flat_labels), .name = weir_scope_name(inner));
    weir_output last = weir_build_with_number(inner, "Sub", "Sub", rank, 1);
    weir_output rows = slice_shape(inner, dims, last, true);
    weir_output loss = weir_reshape_to(inner, weir_out(node, 0), rows, .name = "Reshape");
    set_shape_without_classes(loss, logits);
    return as_before(inner, loss, logits);
}

/* Logits of another rank than 2, flattened to [rows, classes]. */
static weir_output flatten_by_classes(weir_scope s, weir_output logits)
{
    weir_output dims = weir_build_shape(s, logits);
    weir_output rank = weir_build_rank(s, logits);
    weir_output last = weir_build_with_number(s, "Sub", "sub", rank, 1);
    weir_output end = weir_build_with_number(s, "AddV2", "add", last, 1);
    if (end.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope slice = weir_in_scope(s, "strided_slice");
    weir_output from = weir_stack(slice, &last, 1, 0, .name = "stack");
    weir_output to = weir_stack(slice, &end, 1, 0, .name = "stack_1");
    weir_output step = weir_build_int32s(slice, &(int){1}, 1, "stack_2");
    weir_output classes =
        weir_strided_slice(slice, dims, from, to, step, .name = weir_scope_name(slice), .shrink_axis_mask = 1);
    weir_scope reshape = weir_in_scope(s, "Reshape");
    weir_scope shape = weir_in_scope(reshape, "shape");
    weir_output any = weir_build_number(shape, WEIR_INT32, -1, "0");
    weir_output matrix = weir_stack(shape, WEIR_OUTPUTS(any, classes), 0, .name = weir_scope_name(shape));
    return weir_reshape_to(reshape, logits, matrix, .name = weir_scope_name(reshape));
}

static weir_status check_label_rank(weir_output logits, weir_output labels)
{
    weir_shape logits_shape = weir_output_shape(logits);
    weir_shape labels_shape = weir_output_shape(labels);
    if (logits_shape.rank == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "`logits` cannot be a scalar. Received logits=%s",
                         weir_node_name(logits.node));
    if (logits_shape.rank == WEIR_UNKNOWN_RANK || labels_shape.rank == WEIR_UNKNOWN_RANK ||
        labels_shape.rank == logits_shape.rank - 1)
        return WEIR_STATUS_OK;
    return weir_fail(
        WEIR_INVALID_ARGUMENT,
        "`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape=%s of rank %d and "
        "logits.shape=%s of rank %d",
        weir_shape_text(labels_shape, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE), labels_shape.rank,
        weir_shape_text(logits_shape, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE), logits_shape.rank);
}

weir_output(weir_sparse_softmax_cross_entropy)(weir_scope s, weir_output logits, weir_output labels,
                                               const weir_name_options *options)
{
    static const char op[] = "SparseSoftmaxCrossEntropyWithLogits";
    const char *name = weir_option_name(options, op);
    if (logits.node == NULL || labels.node == NULL)
        return WEIR_NO_OUTPUT;
    if (!weir_ok(weir_scope_fail(s, check_label_rank(logits, labels))))
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "%s", name);
    size_t length = __builtin_strlen(name);
    const char *node_name = length > 0 && name[length - 1] == '/' ? op : name;
    weir_output exact = precise(inner, logits);
    weir_output dims = weir_build_shape(inner, labels);
    bool is_matrix = weir_output_shape(logits).rank == 2;
    if (!is_matrix) {
        exact = flatten_by_classes(inner, exact);
        labels = weir_reshape(inner, labels, WEIR_SHAPE(-1));
    }
    weir_output loss = weir_out(weir_op(inner, op, WEIR_INPUTS(exact, labels), .name = node_name), 0);
    if (!is_matrix) {
        loss = weir_reshape_to(inner, loss, dims, .name = "Reshape");
        set_shape_without_classes(loss, logits);
    }
    return as_before(inner, loss, logits);
}

/* ---- Shape rules ---- */

static weir_status infer_softmax(weir_infer *infer)
{
    weir_shape x = weir_infer_input(infer, 0);
    if (x.rank == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be at least rank 1 but is rank 0");
    infer->outputs[0] = x;
    return WEIR_STATUS_OK;
}

static weir_status infer_cross_entropy(weir_infer *infer)
{
    weir_shape both;
    WEIR_TRY(weir_infer_broadcast(weir_infer_input(infer, 0), weir_infer_input(infer, 1), &both));
    if (both.rank == WEIR_UNKNOWN_RANK) {
        both = (weir_shape){2, {WEIR_UNKNOWN_DIM, WEIR_UNKNOWN_DIM}};
    } else if (both.rank != 2) {
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be rank 2 but is rank %d", both.rank);
    }
    infer->outputs[0] = (weir_shape){1, {both.dims[0]}};
    infer->outputs[1] = both;
    return WEIR_STATUS_OK;
}

/* A matrix and a vector with as many elements as it has rows. */
static weir_status infer_rows(const weir_infer *infer, weir_shape *matrix)
{
    weir_shape vector;
    WEIR_TRY(weir_infer_rank(infer, 0, 2, matrix));
    WEIR_TRY(weir_infer_rank(infer, 1, 1, &vector));
    if (matrix->dims[0] == WEIR_UNKNOWN_DIM)
        matrix->dims[0] = vector.dims[0];
    else if (vector.dims[0] != WEIR_UNKNOWN_DIM && vector.dims[0] != matrix->dims[0])
        return weir_fail(WEIR_INVALID_ARGUMENT, "Dimensions must be equal, but are %lld and %lld",
                         (long long)matrix->dims[0], (long long)vector.dims[0]);
    return WEIR_STATUS_OK;
}

static weir_status infer_sparse_cross_entropy(weir_infer *infer)
{
    weir_shape matrix;
    WEIR_TRY(infer_rows(infer, &matrix));
    infer->outputs[0] = (weir_shape){1, {matrix.dims[0]}};
    infer->outputs[1] = matrix;
    return WEIR_STATUS_OK;
}

static weir_status infer_in_top_k(weir_infer *infer)
{
    weir_shape matrix;
    WEIR_TRY(infer_rows(infer, &matrix));
    infer->outputs[0] = (weir_shape){1, {matrix.dims[0]}};
    return WEIR_STATUS_OK;
}

/* ---- Schemas ---- */

static const weir_dtype float_types[] = {WEIR_HALF, WEIR_BFLOAT16, WEIR_FLOAT, WEIR_DOUBLE, WEIR_INVALID_DTYPE};
static const weir_dtype index_types[] = {WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};

static const weir_op_def ops[] = {
    {.name = "Softmax",
     .inputs = WEIR_ARGS({"logits", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"softmax", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", float_types)),
     .infer = infer_softmax,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = softmax_gradient},
    {.name = "LogSoftmax",
     .inputs = WEIR_ARGS({"logits", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"logsoftmax", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", float_types)),
     .infer = infer_softmax,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = log_softmax_gradient},
    {.name = "SoftmaxCrossEntropyWithLogits",
     .inputs = WEIR_ARGS({"features", .type_attr = "T"}, {"labels", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"loss", .type_attr = "T"}, {"backprop", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", float_types)),
     .infer = infer_cross_entropy,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = cross_entropy_gradient},
    {.name = "SparseSoftmaxCrossEntropyWithLogits",
     .inputs = WEIR_ARGS({"features", .type_attr = "T"}, {"labels", .type_attr = "Tlabels"}),
     .outputs = WEIR_ARGS({"loss", .type_attr = "T"}, {"backprop", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", float_types), WEIR_A_TYPE_OR("Tlabels", index_types, WEIR_INT64)),
     .infer = infer_sparse_cross_entropy,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = sparse_cross_entropy_gradient},
    {.name = "InTopK",
     .inputs = WEIR_ARGS({"predictions", .type = WEIR_FLOAT}, {"targets", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"precision", .type = WEIR_BOOL}),
     .attrs = WEIR_ATTR_DEFS({.name = "k", .kind = WEIR_ATTR_INT}, WEIR_A_TYPE_OR("T", index_types, WEIR_INT32)),
     .infer = infer_in_top_k},
    {.name = "InTopKV2",
     .inputs = WEIR_ARGS({"predictions", .type = WEIR_FLOAT}, {"targets", .type_attr = "T"}, {"k", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"precision", .type = WEIR_BOOL}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE_OR("T", index_types, WEIR_INT32)),
     .infer = infer_in_top_k},
    {.name = NULL},
};

const weir_op_family weir_family_softmax = {.name = "softmax", .ops = ops, .kernels = weir_kernel_table_softmax};
