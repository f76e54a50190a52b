/*
 * Joining arrays and taking them apart: ConcatV2, ConcatOffset, Split, SplitV, Pack, Unpack. Schemas, shape rules,
 * gradients, builders; kernels: array_move_join_kernels.c.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "op/array_kernels.h"
#include "op/array_pieces.h"

/* More inputs than this are cut apart by one SplitV instead of a Slice each, as in TensorFlow. */
#define MOST_SLICES 16

/* ---- Shape rules ---- */

/* The axes first .. last - 1. */
static weir_shape part_of(weir_shape shape, int first, int last)
{
    return weir_shape_of(last - first, shape.dims + first);
}

/* The rank that all inputs of known rank have. */
static weir_status common_rank(const weir_infer *infer, int count, int *rank)
{
    *rank = WEIR_UNKNOWN_RANK;
    for (int i = 0; i < count && *rank == WEIR_UNKNOWN_RANK; i++)
        *rank = weir_infer_input(infer, i).rank;
    if (*rank == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Can't concatenate scalars (use tf.stack instead)");
    for (int i = 0; i<count && * rank> 0; i++) {
        weir_shape shape;
        WEIR_TRY(weir_infer_rank(infer, i, *rank, &shape));
    }
    return WEIR_STATUS_OK;
}

/* Puts one more input in front of what is joined already. */
static weir_status join_shape(weir_shape in, int axis, weir_shape *out)
{
    weir_shape before, after;
    WEIR_TRY(weir_infer_merge(part_of(in, 0, axis), part_of(*out, 0, axis), &before));
    WEIR_TRY(weir_infer_merge(part_of(in, axis + 1, in.rank), part_of(*out, axis + 1, in.rank), &after));
    bool is_known = in.dims[axis] >= 0 && out->dims[axis] >= 0;
    int64_t length = WEIR_UNKNOWN_DIM;
    if (is_known && __builtin_add_overflow(in.dims[axis], out->dims[axis], &length))
        return weir_fail(WEIR_INVALID_ARGUMENT, "Dimension size overflow caused by adding %" PRId64 " and %" PRId64,
                         in.dims[axis], out->dims[axis]);
    for (int i = 0; i < in.rank; i++)
        out->dims[i] = i < axis ? before.dims[i] : i == axis ? length : after.dims[i - axis - 1];
    return WEIR_STATUS_OK;
}

static weir_status infer_concat(weir_infer *infer)
{
    int count = infer->node->num_inputs - 1;
    int rank = 0;
    weir_shape scalar;
    WEIR_TRY(weir_infer_rank(infer, count, 0, &scalar));
    WEIR_TRY(common_rank(infer, count, &rank));
    if (rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    int64_t axis = 0;
    int64_t values = 0;
    infer->outputs[0] = weir_shape_of_rank(rank);
    if (!weir_infer_ints(infer, count, &axis, 1, &values))
        return WEIR_STATUS_OK;
    if (axis < -rank || axis >= rank) {
        uint64_t least = axis < 0 ? -(uint64_t)axis : (uint64_t)axis + 1; /* no axis is too large to be named */
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be at least rank %" PRIu64 " but is rank %d", least, rank);
    }
    axis = axis < 0 ? axis + rank : axis;
    weir_shape out;
    WEIR_TRY(weir_infer_rank(infer, count - 1, rank, &out));
    for (int i = count - 2; i >= 0; i--) {
        weir_shape in;
        WEIR_TRY(weir_infer_rank(infer, i, rank, &in));
        WEIR_TRY(join_shape(in, (int)axis, &out));
    }
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_concat_offset(weir_infer *infer)
{
    for (int i = 0; i < infer->node->num_outputs; i++)
        infer->outputs[i] = weir_infer_input(infer, i + 1);
    return WEIR_STATUS_OK;
}

/* The axis that a scalar input names; -1 when it is not known. */
static weir_status split_axis(const weir_infer *infer, int index, int rank, int *axis)
{
    weir_shape shape = weir_infer_input(infer, index);
    int64_t value = 0;
    int64_t count = 0;
    *axis = -1;
    if (shape.rank > 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Input must be scalar but has rank %d", shape.rank);
    if (rank == WEIR_UNKNOWN_RANK || !weir_infer_ints(infer, index, &value, 1, &count))
        return WEIR_STATUS_OK;
    if (value < -rank || value >= rank)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Dimension size, given by scalar input %" PRId64 " must be in range [-%d, %d)", value, rank,
                         rank);
    *axis = (int)(value < 0 ? value + rank : value);
    return WEIR_STATUS_OK;
}

static weir_status infer_split(weir_infer *infer)
{
    int parts = infer->node->num_outputs;
    weir_shape shape = weir_infer_input(infer, 1);
    int axis = 0;
    WEIR_TRY(split_axis(infer, 0, shape.rank, &axis));
    if (axis < 0)
        shape = weir_shape_of_rank(shape.rank);
    else if (shape.dims[axis] >= 0 && shape.dims[axis] % parts != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Dimension size must be evenly divisible by %d but is %" PRId64, parts,
                         shape.dims[axis]);
    else if (shape.dims[axis] >= 0)
        shape.dims[axis] /= parts;
    for (int i = 0; i < parts; i++)
        infer->outputs[i] = shape;
    return WEIR_STATUS_OK;
}

static weir_status cannot_split(int64_t whole, const weir_tensor *sizes)
{
    weir_text text = {0};
    for (int64_t i = 0; i < sizes->elements; i++)
        weir_text_append(&text, "%s%" PRId64, i == 0 ? "" : ",", weir_tensor_get_int(sizes, i));
    weir_status status =
        weir_fail(WEIR_INVALID_ARGUMENT, "can't split axis of size %" PRId64 " into pieces of size [%s]", whole,
                  weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

/* Lengths of the pieces along the axis; whole is -1 when it is not known. */
static weir_status set_pieces(weir_infer *infer, const weir_tensor *sizes, int axis, int64_t whole)
{
    int64_t total = 0;
    bool has_rest = false;
    if (sizes->elements != infer->node->num_outputs)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Length of size_splits should be equal to num_outputs");
    for (int64_t i = 0; i < sizes->elements; i++) {
        int64_t size = weir_tensor_get_int(sizes, i);
        if (size == -1 && has_rest)
            return weir_fail(WEIR_INVALID_ARGUMENT, "size_splits can only have one -1");
        has_rest = has_rest || size == -1;
        if (size < -1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Split size at index %" PRId64 " must be >= 0. Got: %" PRId64, i,
                             size);
        if (size > 0 && __builtin_add_overflow(total, size, &total))
            return cannot_split(whole, sizes);
    }
    for (int64_t i = 0; i < sizes->elements; i++) {
        int64_t size = weir_tensor_get_int(sizes, i);
        if (size == -1 && whole >= 0)
            size = whole - total;
        if (size < -1 || (size == -1 && whole >= 0))
            return weir_fail(WEIR_INVALID_ARGUMENT, "Split size at index %" PRId64 " must be >= 0. Got: %" PRId64, i,
                             size);
        infer->outputs[i].dims[axis] = size;
    }
    bool fits = whole < 0 || (has_rest ? total <= whole : total == whole);
    return fits ? WEIR_STATUS_OK : cannot_split(whole, sizes);
}

static weir_status infer_split_v(weir_infer *infer)
{
    weir_shape shape = weir_infer_input(infer, 0);
    if (shape.rank == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Can't split scalars");
    int axis = 0;
    WEIR_TRY(split_axis(infer, 2, shape.rank, &axis));
    if (shape.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    const weir_tensor *sizes = weir_infer_constant(infer, 1);
    int64_t whole = axis < 0 ? WEIR_UNKNOWN_DIM : shape.dims[axis];
    if (axis < 0)
        shape = weir_shape_of_rank(shape.rank);
    else
        shape.dims[axis] = WEIR_UNKNOWN_DIM;
    for (int i = 0; i < infer->node->num_outputs; i++)
        infer->outputs[i] = shape;
    return axis >= 0 && sizes != NULL ? set_pieces(infer, sizes, axis, whole) : WEIR_STATUS_OK;
}

/* The axis of Pack's result or Unpack's input, which has rank axes. */
static weir_status pack_axis(const weir_infer *infer, int rank, int *axis)
{
    int64_t value = weir_node_int(infer->node, "axis", 0);
    if (value < -rank || value >= rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Invalid axis: %" PRId64 "; must be in [%d,%d)", value, -rank, rank);
    *axis = (int)(value < 0 ? value + rank : value);
    return WEIR_STATUS_OK;
}

static weir_status infer_pack(weir_infer *infer)
{
    int count = infer->node->num_inputs;
    weir_shape in = weir_infer_input(infer, count - 1);
    for (int i = count - 2; i >= 0; i--) {
        weir_status status = weir_infer_merge(weir_infer_input(infer, i), in, &in);
        if (!weir_ok(status))
            return weir_fail(status.code, "%s\n\tFrom merging shape %d with other shapes.", weir_status_text(status),
                             i);
    }
    if (in.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    int axis = 0;
    WEIR_TRY(pack_axis(infer, in.rank + 1, &axis));
    weir_shape out = {0};
    for (int i = 0; i <= in.rank; i++)
        weir_infer_push(&out, i == axis ? count : in.dims[i < axis ? i : i - 1]);
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_unpack(weir_infer *infer)
{
    int count = infer->node->num_outputs;
    weir_shape in = weir_infer_input(infer, 0);
    if (in.rank == WEIR_UNKNOWN_RANK)
        return WEIR_STATUS_OK;
    int axis = 0;
    WEIR_TRY(pack_axis(infer, in.rank, &axis));
    if (in.dims[axis] >= 0 && in.dims[axis] != count)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Dimension must be %d but is %" PRId64, count, in.dims[axis]);
    weir_shape out = {0};
    for (int i = 0; i < in.rank; i++) {
        if (i != axis)
            weir_infer_push(&out, in.dims[i]);
    }
    for (int i = 0; i < count; i++)
        infer->outputs[i] = out;
    return WEIR_STATUS_OK;
}

/* ---- Gradients ---- */

/* The shapes of a concatenation's inputs: constants where all are known, else one ShapeN. */
static weir_status input_shapes(weir_gradient *gradient, int count, weir_output *shapes)
{
    bool is_known = true;
    for (int i = 0; i < count; i++)
        is_known = is_known && weir_shape_known(weir_output_shape(weir_gradient_x(gradient, i)));
    weir_node *all = NULL;
    if (!is_known)
        all = weir_op(gradient->scope, "ShapeN", .inputs = gradient->node->inputs, .num_inputs = count);
    for (int i = 0; i < count; i++)
        shapes[i] = is_known ? weir_build_shape(gradient->scope, weir_gradient_x(gradient, i)) : weir_out(all, i);
    return weir_graph_error(gradient->node->graph);
}

static void slice_apart(weir_gradient *gradient, int count, weir_output axis, const weir_output *shapes,
                        weir_output *inputs)
{
    weir_scope s = gradient->scope;
    inputs[0] = axis;
    memcpy(inputs + 1, shapes, (size_t)count * sizeof *shapes);
    weir_node *offsets = weir_op(s, "ConcatOffset", .inputs = inputs, .num_inputs = count + 1);
    for (int i = 0; i < count; i++)
        weir_gradient_set(gradient, i, weir_slice(s, gradient->dy[0], weir_out(offsets, i), shapes[i]));
}

/* One SplitV along the axis; its lengths are row axis of the stacked shapes. */
static void split_apart(weir_gradient *gradient, int count, weir_output axis, const weir_output *shapes)
{
    weir_scope s = gradient->scope;
    weir_output table = weir_stack(s, shapes, count, 1);
    weir_scope slice_scope = weir_in_scope(s, "Slice");
    weir_output begin = weir_build_pair(slice_scope, "begin", axis, 0);
    weir_output extent = weir_build_ints(slice_scope, WEIR_INT32, (int64_t[]){1, -1}, 2, "size");
    weir_output row = weir_slice(slice_scope, table, begin, extent, .name = weir_scope_name(slice_scope));
    weir_output lengths = weir_squeeze(s, row, (weir_axes){.is_set = false});
    weir_node *parts = weir_op(s, "SplitV", WEIR_INPUTS(gradient->dy[0], lengths, axis),
                               WEIR_ATTRS(WEIR_ATTR_I("num_split", count)), .name = "split");
    for (int i = 0; i < count; i++)
        weir_gradient_set(gradient, i, weir_out(parts, i));
}

static weir_status grad_concat(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    int count = gradient->node->num_inputs - 1;
    weir_output axis = weir_cast(s, weir_gradient_x(gradient, count), WEIR_INT32);
    weir_output rank = weir_build_rank(s, weir_gradient_x(gradient, 0));
    axis = weir_build_binary(s, "FloorMod", "mod", axis, rank);
    weir_output *shapes = weir_allocate(2 * (size_t)count + 1, sizeof *shapes);
    if (shapes == NULL)
        return weir_fail_memory(2 * (size_t)count * sizeof *shapes);
    weir_status status = input_shapes(gradient, count, shapes);
    if (weir_ok(status) && count > MOST_SLICES)
        split_apart(gradient, count, axis, shapes);
    else if (weir_ok(status))
        slice_apart(gradient, count, axis, shapes, shapes + count);
    weir_release(shapes);
    return status;
}

/* All dy of the node, zeros where none arrived. */
static weir_status all_dy(weir_gradient *gradient, weir_output **out)
{
    int count = gradient->node->num_outputs;
    *out = weir_allocate((size_t)count, sizeof **out);
    if (*out == NULL)
        return weir_fail_memory((size_t)count * sizeof **out);
    for (int i = 0; i < count; i++)
        (*out)[i] = weir_gradient_dy(gradient, i);
    return WEIR_STATUS_OK;
}

static weir_status join_dy(weir_gradient *gradient, int x, int axis)
{
    weir_output *parts = NULL;
    WEIR_TRY(all_dy(gradient, &parts));
    weir_output joined =
        weir_build_concat(gradient->scope, parts, gradient->node->num_outputs, weir_gradient_x(gradient, axis));
    weir_gradient_set(gradient, x, joined);
    weir_release(parts);
    return WEIR_STATUS_OK;
}

static weir_status grad_split(weir_gradient *gradient)
{
    return join_dy(gradient, 1, 0);
}

static weir_status grad_split_v(weir_gradient *gradient)
{
    return join_dy(gradient, 0, 2);
}

static weir_status grad_pack(weir_gradient *gradient)
{
    int count = gradient->node->num_inputs;
    int axis = (int)weir_node_int(gradient->node, "axis", 0);
    weir_node *parts = weir_unstack(gradient->scope, gradient->dy[0], count, axis);
    for (int i = 0; i < count; i++)
        weir_gradient_set(gradient, i, weir_out(parts, i));
    return WEIR_STATUS_OK;
}

static weir_status grad_unpack(weir_gradient *gradient)
{
    weir_output *parts = NULL;
    int axis = (int)weir_node_int(gradient->node, "axis", 0);
    WEIR_TRY(all_dy(gradient, &parts));
    weir_gradient_set(gradient, 0, weir_stack(gradient->scope, parts, gradient->node->num_outputs, axis));
    weir_release(parts);
    return WEIR_STATUS_OK;
}

/* ---- Ops ---- */

#define INDEX_TYPE(name) WEIR_A_TYPE_OR(name, weir_types_index, WEIR_INT32)
#define ANY_T WEIR_A_TYPE("T", NULL)

static const weir_dtype length_types[] = {WEIR_INT8, WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};

static const weir_op_def ops[] = {
    {"ConcatV2", .inputs = WEIR_ARGS({"values", .type_attr = "T", .number_attr = "N"}, {"axis", .type_attr = "Tidx"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT_MIN("N", 2), ANY_T, INDEX_TYPE("Tidx")), .infer = infer_concat,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_concat},
    {"ConcatOffset",
     .inputs = WEIR_ARGS({"concat_dim", .type = WEIR_INT32}, {"shape", .type_attr = "shape_type", .number_attr = "N"}),
     .outputs = WEIR_ARGS({"offset", .type_attr = "shape_type", .number_attr = "N"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT_MIN("N", 2), INDEX_TYPE("shape_type")), .infer = infer_concat_offset,
     .gradient_kind = WEIR_GRADIENT_NONE},
    {"Split", .inputs = WEIR_ARGS({"split_dim", .type = WEIR_INT32}, {"value", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T", .number_attr = "num_split"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT_MIN("num_split", 1), ANY_T), .infer = infer_split,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_split},
    {"SplitV",
     .inputs = WEIR_ARGS({"value", .type_attr = "T"}, {"size_splits", .type_attr = "Tlen"},
                         {"split_dim", .type = WEIR_INT32}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T", .number_attr = "num_split"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT_MIN("num_split", 1), ANY_T, WEIR_A_TYPE_OR("Tlen", length_types, WEIR_INT64)),
     .infer = infer_split_v, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_split_v},
    {"Pack", .inputs = WEIR_ARGS({"values", .type_attr = "T", .number_attr = "N"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT_MIN("N", 1), ANY_T, WEIR_A_INT("axis", 0)), .infer = infer_pack,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_pack},
    {"Unpack", .inputs = WEIR_ARGS({"value", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T", .number_attr = "num"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT_MIN("num", 0), ANY_T, WEIR_A_INT("axis", 0)), .infer = infer_unpack,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_unpack},
    {.name = NULL},
};

const weir_op_family weir_family_array_join = {"array_join", ops, weir_array_join_kernels};

/* ---- Builders ---- */

static weir_output concat_one(weir_scope s, weir_output x, int axis)
{
    (void)weir_build_int(s, WEIR_INT32, axis, "concat_dim");
    return weir_identity(s, x, .name = "concat");
}

weir_output(weir_concat)(weir_scope s, const weir_output *inputs, int count, int axis, const weir_name_options *options)
{
    weir_scope inner = weir_in_scope(s, "%s", weir_option_name(options, "concat"));
    if (count == 1)
        return concat_one(inner, inputs[0], axis);
    weir_output *all = weir_allocate((size_t)count + 1, sizeof *all);
    if (all == NULL) {
        (void)weir_scope_fail(s, weir_fail_memory(((size_t)count + 1) * sizeof *all));
        return WEIR_NO_OUTPUT;
    }
    memcpy(all, inputs, (size_t)count * sizeof *all);
    all[count] = weir_build_int(inner, WEIR_INT32, axis, "axis");
    weir_node *node =
        weir_op(inner, "ConcatV2", .inputs = all, .num_inputs = count + 1, .name = weir_scope_name(inner));
    weir_release(all);
    return weir_out(node, 0);
}

weir_output(weir_stack)(weir_scope s, const weir_output *inputs, int count, int axis, const weir_name_options *options)
{
    return weir_out(weir_op(s, "Pack", .inputs = inputs, .num_inputs = count, WEIR_ATTRS(WEIR_ATTR_I("axis", axis)),
                            .name = weir_option_name(options, "stack")),
                    0);
}

weir_node *(weir_unstack)(weir_scope s, weir_output x, int count, int axis, const weir_name_options *options)
{
    return weir_op(s, "Unpack", WEIR_INPUTS(x), WEIR_ATTRS(WEIR_ATTR_I("num", count), WEIR_ATTR_I("axis", axis)),
                   .name = weir_option_name(options, "unstack"));
}

weir_node *(weir_split)(weir_scope s, weir_output x, int parts, int axis, const weir_name_options *options)
{
    weir_scope inner = weir_in_scope(s, "%s", weir_option_name(options, "split"));
    weir_output dim = weir_build_int(inner, WEIR_INT32, axis, "split_dim");
    return weir_op(inner, "Split", WEIR_INPUTS(dim, x), WEIR_ATTRS(WEIR_ATTR_I("num_split", parts)),
                   .name = weir_scope_name(inner));
}
