/*
 * Picking by index: Gather, GatherV2, DynamicStitch, ListDiff, Where. Schemas, shape rules, builders; gradients of the
 * gathers: array_gather_gradient.c; kernels: array_gather_kernels.c.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "op/array_gather.h"
#include "op/array_kernels.h"
#include "op/array_pieces.h"
#include "tensor/tensor.h"

/* ---- Shape rules ---- */

static void push_axes(weir_shape *out, weir_shape from, int first, int last)
{
    for (int i = first; i < last; i++)
        weir_infer_push(out, from.dims[i]);
}

static weir_status infer_gather(weir_infer *infer)
{
    weir_shape params = weir_infer_input(infer, 0);
    weir_shape indices = weir_infer_input(infer, 1);
    WEIR_TRY(weir_infer_rank_at_least(params, 1));
    if (params.rank == WEIR_UNKNOWN_RANK || indices.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    weir_shape out = {0};
    push_axes(&out, indices, 0, indices.rank);
    push_axes(&out, params, 1, params.rank);
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

/* The rule where the axis is known: params[:axis], indices without their batch axes, params[axis + 1:]. */
static weir_status gather_along(weir_infer *infer, weir_shape params, weir_shape indices, int64_t axis)
{
    int64_t batch = weir_node_int(infer->node, "batch_dims", 0);
    if (axis < -WEIR_MAX_RANK || axis >= WEIR_MAX_RANK)
        return weir_fail(WEIR_INVALID_ARGUMENT, "axis is %" PRId64 ": no tensor has as many axes", axis);
    WEIR_TRY(weir_infer_rank_at_least(params, (int)(axis < 0 ? -axis : axis + 1)));
    WEIR_TRY(weir_infer_rank_at_least(indices, (int)llabs(batch)));
    if (params.rank == WEIR_UNKNOWN_RANK || indices.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    batch = batch < 0 ? batch + indices.rank : batch;
    WEIR_TRY(weir_infer_rank_at_least(params, (int)batch + 1));
    axis = axis < 0 ? axis + params.rank : axis;
    weir_shape out = {0};
    push_axes(&out, params, 0, (int)axis);
    push_axes(&out, indices, (int)batch, indices.rank);
    push_axes(&out, params, (int)axis + 1, params.rank);
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_gather_v2(weir_infer *infer)
{
    weir_shape params = weir_infer_input(infer, 0);
    weir_shape indices = weir_infer_input(infer, 1);
    weir_shape scalar;
    int64_t axis = 0;
    int64_t count = 0;
    int64_t batch = weir_node_int(infer->node, "batch_dims", 0);
    if (batch < -WEIR_MAX_RANK || batch > WEIR_MAX_RANK)
        return weir_fail(WEIR_INVALID_ARGUMENT, "batch_dims is %" PRId64 ": no tensor has as many axes", batch);
    WEIR_TRY(weir_infer_rank_at_least(params, 1));
    WEIR_TRY(weir_infer_rank(infer, 2, 0, &scalar));
    if (weir_infer_ints(infer, 2, &axis, 1, &count) && count == 1)
        return gather_along(infer, params, indices, axis);
    if (params.rank == WEIR_UNKNOWN_RANK || indices.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    if (batch < -indices.rank || batch > indices.rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "batch_dims is %" PRId64 ", but indices have rank %d", batch,
                         indices.rank);
    batch = batch < 0 ? batch + indices.rank : batch;
    infer->outputs[0] = weir_shape_of_rank(params.rank + indices.rank - 1 - batch);
    return WEIR_STATUS_OK;
}

/* data starts with the shape of its indices; what is left must be the same everywhere. */
static weir_status merge_rest(weir_shape indices, weir_shape data, weir_shape *rest)
{
    if (data.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    WEIR_TRY(weir_infer_rank_at_least(data, indices.rank));
    for (int i = 0; i < indices.rank; i++) {
        int64_t unused;
        WEIR_TRY(weir_infer_dim(data.dims[i], indices.dims[i], &unused));
    }
    return weir_infer_merge(*rest, weir_shape_of(data.rank - indices.rank, data.dims + indices.rank), rest);
}

static weir_status infer_dynamic_stitch(weir_infer *infer)
{
    int count = infer->node->num_inputs / 2;
    int64_t most = -1;
    bool is_known = true;
    weir_shape rest = weir_shape_unknown();
    for (int i = 0; i < count; i++) {
        weir_shape indices = weir_infer_input(infer, i);
        const weir_tensor *values = weir_infer_constant(infer, i);
        is_known = is_known && values != NULL;
        if (indices.rank != WEIR_UNKNOWN_RANK)
            WEIR_TRY(merge_rest(indices, weir_infer_input(infer, count + i), &rest));
        for (int64_t j = 0; values != NULL && j < values->elements; j++) {
            int64_t index = weir_tensor_get_int(values, j);
            most = index > most ? index : most;
        }
    }
    if (rest.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    weir_shape out = {1, {is_known ? most + 1 : WEIR_UNKNOWN_DIM}};
    push_axes(&out, rest, 0, rest.rank);
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_list_diff(weir_infer *infer)
{
    weir_shape unused;
    WEIR_TRY(weir_infer_rank(infer, 0, 1, &unused));
    WEIR_TRY(weir_infer_rank(infer, 1, 1, &unused));
    infer->outputs[0] = infer->outputs[1] = weir_shape_of_rank(1);
    return WEIR_STATUS_OK;
}

static weir_status infer_where(weir_infer *infer)
{
    weir_shape in = weir_infer_input(infer, 0);
    infer->outputs[0] = weir_shape_of_rank(2);
    infer->outputs[0].dims[1] = in.rank;
    return WEIR_STATUS_OK;
}

/* ---- Gradients ---- */

static weir_status grad_dynamic_stitch(weir_gradient *gradient)
{
    int count = gradient->node->num_inputs / 2;
    for (int i = 0; i < count; i++) {
        weir_output rows = weir_gather(gradient->scope, gradient->dy[0], weir_gradient_x(gradient, i), 0);
        weir_gradient_set(gradient, count + i, rows);
    }
    return WEIR_STATUS_OK;
}

/* ---- Ops ---- */

static const weir_dtype gather_index_types[] = {WEIR_INT16, WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};
static const weir_dtype where_types[] = {
    WEIR_FLOAT,  WEIR_DOUBLE,     WEIR_INT32,  WEIR_UINT8,  WEIR_INT16,    WEIR_INT8,   WEIR_COMPLEX64,
    WEIR_INT64,  WEIR_QINT8,      WEIR_QUINT8, WEIR_QINT32, WEIR_BFLOAT16, WEIR_QINT16, WEIR_QUINT16,
    WEIR_UINT16, WEIR_COMPLEX128, WEIR_HALF,   WEIR_UINT32, WEIR_UINT64,   WEIR_BOOL,   WEIR_INVALID_DTYPE};

static const weir_op_def ops[] = {
    {"Gather", .inputs = WEIR_ARGS({"params", .type_attr = "Tparams"}, {"indices", .type_attr = "Tindices"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "Tparams"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_BOOL("validate_indices", true), WEIR_A_TYPE("Tparams", NULL),
                             WEIR_A_TYPE("Tindices", weir_types_index)),
     .infer = infer_gather, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = weir_gather_gradient},
    {"GatherV2",
     .inputs = WEIR_ARGS({"params", .type_attr = "Tparams"}, {"indices", .type_attr = "Tindices"},
                         {"axis", .type_attr = "Taxis"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "Tparams"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT("batch_dims", 0), WEIR_A_TYPE("Tparams", NULL),
                             WEIR_A_TYPE("Tindices", gather_index_types), WEIR_A_TYPE("Taxis", weir_types_index)),
     .infer = infer_gather_v2, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = weir_gather_v2_gradient},
    {"DynamicStitch",
     .inputs =
         WEIR_ARGS({"indices", .type = WEIR_INT32, .number_attr = "N"}, {"data", .type_attr = "T", .number_attr = "N"}),
     .outputs = WEIR_ARGS({"merged", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT_MIN("N", 1), WEIR_A_TYPE("T", NULL)), .infer = infer_dynamic_stitch,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_dynamic_stitch},
    {"ListDiff", .inputs = WEIR_ARGS({"x", .type_attr = "T"}, {"y", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"out", .type_attr = "T"}, {"idx", .type_attr = "out_idx"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL), WEIR_A_TYPE_OR("out_idx", weir_types_index, WEIR_INT32)),
     .infer = infer_list_diff},
    {"Where", .inputs = WEIR_ARGS({"input", .type_attr = "T"}), .outputs = WEIR_ARGS({"index", .type = WEIR_INT64}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE_OR("T", where_types, WEIR_BOOL)), .infer = infer_where},
    {.name = NULL},
};

const weir_op_family weir_family_array_gather = {"array_gather", ops, weir_array_gather_kernels};

/* ---- Builders ---- */

weir_output(weir_gather)(weir_scope s, weir_output params, weir_output indices, int axis,
                         const weir_name_options *options)
{
    weir_scope inner = weir_in_scope(s, "%s", weir_option_name(options, "GatherV2"));
    weir_output along = weir_build_int(inner, WEIR_INT32, axis, "axis");
    return weir_out(weir_op(inner, "GatherV2", WEIR_INPUTS(params, indices, along), .name = weir_scope_name(inner)), 0);
}

weir_output(weir_gather_rows)(weir_scope s, weir_output x, weir_output y, const weir_name_options *options)
{
    return (weir_gather)(s, x, y, 0, options);
}

weir_output(weir_where)(weir_scope s, weir_output x, const weir_name_options *options)
{
    return weir_build_unary(s, "Where", weir_option_name(options, "Where"), x);
}
