/*
 * Sums and other reductions over axes, positions of extremes, running sums, sums by segment: schemas, shape rules and
 * builders. The gradients are in reduce_gradient.c, kernels are bound in reduce_kernels.c.
 */
#include "op/compose.h"
#include "op/kernels.h"
#include "op/reduce_gradient.h"
#include "tensor/tensor.h"

/* ---- Builders ---- */

/* The axes as tf.reduce_sum and its kin write them: all of them are "Const" beside the node, or a range where the rank
 * is not known (or 0, which Python takes for the same); given ones "<name>/reduction_indices". */
static weir_output reduce(weir_scope s, const char *op, weir_output x, const weir_reduce_options *options)
{
    const char *name = options != NULL && options->name != NULL ? options->name : op;
    bool keep_dims = options != NULL && options->keep_dims;
    int rank = weir_output_shape(x).rank;
    weir_output axes;
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    if (options != NULL && options->axes.is_set) {
        weir_axes given = options->axes;
        s = weir_in_scope(s, "%s", name);
        name = weir_scope_name(s);
        axes = given.count == 1 ? weir_build_number(s, WEIR_INT32, given.values[0], "reduction_indices")
                                : weir_build_int32s(s, given.values, given.count, "reduction_indices");
    } else if (rank > 0) {
        weir_axes all = {.count = rank};
        for (int i = 0; i < rank; i++)
            all.values[i] = i;
        axes = weir_build_int32s(s, all.values, all.count, "Const");
    } else {
        axes = weir_build_range(s, weir_build_rank(s, x));
    }
    weir_node *node =
        weir_op(s, op, WEIR_INPUTS(x, axes), WEIR_ATTRS(WEIR_ATTR_B("keep_dims", keep_dims)), .name = name);
    if (!keep_dims && (options == NULL || !options->axes.is_set)) /* whatever the rank is */
        weir_output_set_shape(weir_out(node, 0), weir_shape_scalar());
    return weir_out(node, 0);
}

#define REDUCE_BUILDERS(X)                                                                                             \
    X(sum, "Sum") X(mean, "Mean") X(prod, "Prod") X(max, "Max") X(min, "Min") X(all, "All") X(any, "Any")
#define DEFINE_BUILDER(builder, op)                                                                                    \
    weir_output(weir_reduce_##builder)(weir_scope s, weir_output x, const weir_reduce_options *options)                \
    {                                                                                                                  \
        return reduce(s, op, x, options);                                                                              \
    }
REDUCE_BUILDERS(DEFINE_BUILDER)

/* An op with an int32 scalar as its last input, a Const "<name>/<argument>". */
static weir_output with_axis(weir_scope s, const char *op, const char *argument, weir_output x, int axis,
                             const weir_name_options *options)
{
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "%s", weir_option_name(options, op));
    weir_output constant = weir_build_number(inner, WEIR_INT32, axis, argument);
    return weir_build_binary(inner, op, weir_scope_name(inner), x, constant);
}

weir_output(weir_argmax)(weir_scope s, weir_output x, int axis, const weir_name_options *options)
{
    return with_axis(s, "ArgMax", "dimension", x, axis, options);
}

weir_output(weir_argmin)(weir_scope s, weir_output x, int axis, const weir_name_options *options)
{
    return with_axis(s, "ArgMin", "dimension", x, axis, options);
}

weir_output(weir_cumsum)(weir_scope s, weir_output x, int axis, const weir_name_options *options)
{
    return with_axis(s, "Cumsum", "axis", x, axis, options);
}

weir_output(weir_l2_loss)(weir_scope s, weir_output x, const weir_name_options *options)
{
    return weir_build_unary(s, "L2Loss", weir_option_name(options, "L2Loss"), x);
}

/* ---- Shape rules ---- */

static weir_status mark_axes(const weir_tensor *axes, int rank, bool *reduced)
{
    for (int64_t i = 0; i < axes->elements; i++) {
        int64_t axis = weir_tensor_get_int(axes, i);
        if (axis < -rank || axis >= rank)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Invalid reduction dimension %lld for input with %d dimensions.",
                             (long long)axis, rank);
        reduced[axis < 0 ? axis + rank : axis] = true;
    }
    return WEIR_STATUS_OK;
}

static weir_status infer_reduce(weir_infer *infer)
{
    weir_shape x = weir_infer_input(infer, 0);
    weir_shape axes_shape = weir_infer_input(infer, 1);
    bool keep_dims = weir_node_bool(infer->node, "keep_dims", false);
    if (axes_shape.rank > 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be at most rank 1 but is rank %d", axes_shape.rank);
    if (x.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    const weir_tensor *axes = weir_infer_constant(infer, 1);
    bool reduced[WEIR_MAX_RANK] = {false};
    if (axes != NULL)
        WEIR_TRY(mark_axes(axes, x.rank, reduced));
    else if (!keep_dims)
        return WEIR_STATUS_OK;
    weir_shape out = {0};
    for (int i = 0; i < x.rank; i++) {
        if (axes == NULL)
            out.dims[out.rank++] = WEIR_UNKNOWN_DIM;
        else if (!reduced[i])
            out.dims[out.rank++] = x.dims[i];
        else if (keep_dims)
            out.dims[out.rank++] = 1;
    }
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_arg(weir_infer *infer)
{
    weir_shape x = weir_infer_input(infer, 0);
    weir_shape scalar;
    WEIR_TRY(weir_infer_rank(infer, 1, 0, &scalar));
    if (x.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    const weir_tensor *dimension = weir_infer_constant(infer, 1);
    int64_t axis = dimension != NULL ? weir_tensor_get_int(dimension, 0) : 0;
    weir_shape out = {0};
    if (x.rank > 1 && (axis < -x.rank || axis >= x.rank))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Dimension (%lld) must be in the range [%d, %d), where %d is the number of "
                         "dimensions in the input.",
                         (long long)axis, -x.rank, x.rank, x.rank);
    if (axis < 0)
        axis += x.rank;
    for (int i = 0; i < x.rank; i++) {
        if (dimension == NULL && i > 0)
            out.dims[out.rank++] = WEIR_UNKNOWN_DIM;
        else if (dimension != NULL && i != axis && x.rank > 1)
            out.dims[out.rank++] = x.dims[i];
    }
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_unsorted_segment(weir_infer *infer)
{
    weir_shape data = weir_infer_input(infer, 0);
    weir_shape ids = weir_infer_input(infer, 1);
    weir_shape scalar;
    WEIR_TRY(weir_infer_rank(infer, 2, 0, &scalar));
    const weir_tensor *number = weir_infer_constant(infer, 2);
    int64_t segments = number != NULL ? weir_tensor_get_int(number, 0) : WEIR_UNKNOWN_DIM;
    if (number != NULL && segments < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Dimension size, given by scalar input 2, must be non-negative but is %lld",
                         (long long)segments);
    if (data.rank == WEIR_UNKNOWN_RANK || ids.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    if (ids.rank > data.rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be at most rank %d but is rank %d", data.rank, ids.rank);
    if (data.rank - ids.rank == WEIR_MAX_RANK) /* one axis more than there can be */
        return WEIR_STATUS_OK;
    weir_shape out = {1, {segments}};
    for (int i = 0; i < data.rank; i++) {
        bool are_both_known = i < ids.rank && data.dims[i] != WEIR_UNKNOWN_DIM && ids.dims[i] != WEIR_UNKNOWN_DIM;
        if (are_both_known && data.dims[i] != ids.dims[i])
            return weir_fail(WEIR_INVALID_ARGUMENT, "Dimensions must be equal, but are %lld and %lld",
                             (long long)data.dims[i], (long long)ids.dims[i]);
        if (i >= ids.rank)
            out.dims[out.rank++] = data.dims[i];
    }
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

/* ---- Schemas ---- */

static const weir_dtype number_types[] = {
    WEIR_FLOAT,  WEIR_DOUBLE,     WEIR_INT32,  WEIR_UINT8,  WEIR_INT16,    WEIR_INT8,         WEIR_COMPLEX64,
    WEIR_INT64,  WEIR_QINT8,      WEIR_QUINT8, WEIR_QINT32, WEIR_BFLOAT16, WEIR_QINT16,       WEIR_QUINT16,
    WEIR_UINT16, WEIR_COMPLEX128, WEIR_HALF,   WEIR_UINT32, WEIR_UINT64,   WEIR_INVALID_DTYPE};
static const weir_dtype ordered_types[] = {WEIR_FLOAT,  WEIR_DOUBLE,  WEIR_INT32,        WEIR_UINT8,  WEIR_INT16,
                                           WEIR_INT8,   WEIR_INT64,   WEIR_BFLOAT16,     WEIR_UINT16, WEIR_HALF,
                                           WEIR_UINT32, WEIR_UINT64,  WEIR_QINT8,        WEIR_QUINT8, WEIR_QINT32,
                                           WEIR_QINT16, WEIR_QUINT16, WEIR_INVALID_DTYPE};
static const weir_dtype arg_types[] = {WEIR_FLOAT,  WEIR_DOUBLE,  WEIR_INT32,    WEIR_UINT8,        WEIR_INT16,
                                       WEIR_INT8,   WEIR_INT64,   WEIR_BFLOAT16, WEIR_UINT16,       WEIR_HALF,
                                       WEIR_UINT32, WEIR_UINT64,  WEIR_QINT8,    WEIR_QUINT8,       WEIR_QINT32,
                                       WEIR_QINT16, WEIR_QUINT16, WEIR_BOOL,     WEIR_INVALID_DTYPE};
static const weir_dtype float_types[] = {WEIR_HALF, WEIR_BFLOAT16, WEIR_FLOAT, WEIR_DOUBLE, WEIR_INVALID_DTYPE};
static const weir_dtype index_types[] = {WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};
static const weir_dtype short_index_types[] = {WEIR_INT16, WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};
static const weir_dtype arg_max_output_types[] = {WEIR_INT16, WEIR_UINT16, WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};

#define REDUCTION(op, types, function)                                                                                 \
    {                                                                                                                  \
        .name = (op), .inputs = WEIR_ARGS({"input", .type_attr = "T"}, {"reduction_indices", .type_attr = "Tidx"}),    \
        .outputs = WEIR_ARGS({"output", .type_attr = "T"}),                                                            \
        .attrs = WEIR_ATTR_DEFS(WEIR_A_BOOL("keep_dims", false), WEIR_A_TYPE("T", types),                              \
                                WEIR_A_TYPE_OR("Tidx", index_types, WEIR_INT32)),                                      \
        .infer = infer_reduce, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = (function)                         \
    }
#define LOGICAL(op)                                                                                                    \
    {                                                                                                                  \
        .name = (op), .inputs = WEIR_ARGS({"input", .type = WEIR_BOOL}, {"reduction_indices", .type_attr = "Tidx"}),   \
        .outputs = WEIR_ARGS({"output", .type = WEIR_BOOL}),                                                           \
        .attrs = WEIR_ATTR_DEFS(WEIR_A_BOOL("keep_dims", false), WEIR_A_TYPE_OR("Tidx", index_types, WEIR_INT32)),     \
        .infer = infer_reduce                                                                                          \
    }
#define POSITION(op, index_types, out_types)                                                                           \
    {                                                                                                                  \
        .name = (op), .inputs = WEIR_ARGS({"input", .type_attr = "T"}, {"dimension", .type_attr = "Tidx"}),            \
        .outputs = WEIR_ARGS({"output", .type_attr = "output_type"}),                                                  \
        .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", arg_types), WEIR_A_TYPE_OR("Tidx", index_types, WEIR_INT32),          \
                                WEIR_A_TYPE_OR("output_type", out_types, WEIR_INT64)),                                 \
        .infer = infer_arg, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = weir_arg_gradient                     \
    }
#define RUNNING(op, function)                                                                                          \
    {                                                                                                                  \
        .name = (op), .inputs = WEIR_ARGS({"x", .type_attr = "T"}, {"axis", .type_attr = "Tidx"}),                     \
        .outputs = WEIR_ARGS({"out", .type_attr = "T"}),                                                               \
        .attrs = WEIR_ATTR_DEFS(WEIR_A_BOOL("exclusive", false), WEIR_A_BOOL("reverse", false),                        \
                                WEIR_A_TYPE("T", number_types), WEIR_A_TYPE_OR("Tidx", index_types, WEIR_INT32)),      \
        .infer = weir_infer_same, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = (function)                      \
    }

static const weir_op_def ops[] = {
    REDUCTION("Sum", number_types, weir_sum_gradient),
    REDUCTION("Mean", number_types, weir_mean_gradient),
    REDUCTION("Prod", number_types, weir_prod_gradient),
    REDUCTION("Max", ordered_types, weir_extreme_gradient),
    REDUCTION("Min", ordered_types, weir_extreme_gradient),
    LOGICAL("All"),
    LOGICAL("Any"),
    {.name = "L2Loss",
     .inputs = WEIR_ARGS({"t", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", float_types)),
     .infer = weir_infer_scalar,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_l2_loss_gradient},
    POSITION("ArgMax", short_index_types, arg_max_output_types),
    POSITION("ArgMin", index_types, index_types),
    RUNNING("Cumsum", weir_cumsum_gradient),
    RUNNING("Cumprod", weir_cumprod_gradient),
    {.name = "UnsortedSegmentSum",
     .inputs = WEIR_ARGS({"data", .type_attr = "T"}, {"segment_ids", .type_attr = "Tindices"},
                         {"num_segments", .type_attr = "Tnumsegments"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", number_types), WEIR_A_TYPE("Tindices", short_index_types),
                             WEIR_A_TYPE_OR("Tnumsegments", index_types, WEIR_INT32)),
     .infer = infer_unsorted_segment,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_unsorted_segment_sum_gradient},
    {.name = NULL},
};

const weir_op_family weir_family_reduce = {.name = "reduce", .ops = ops, .kernels = weir_kernel_table_reduce};
