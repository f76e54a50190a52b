/*
 * Parts of an array: Slice, StridedSlice, StridedSliceGrad. Schemas, shape rules, gradients, builders; kernels:
 * array_slice_kernels.c.
 */
#include <inttypes.h>

#include "graph/infer_value.h"
#include "op/array_kernels.h"
#include "op/array_pieces.h"
#include "op/array_slice_spec.h"
#include "tensor/tensor.h"

/* ---- Shape rules ---- */

/* The axes' extents: where begin and size are known; size -1 takes the rest. */
static weir_status slice_dims(const weir_infer *infer, weir_shape in, weir_shape *out)
{
    int64_t begin[WEIR_MAX_RANK];
    int64_t begins = 0;
    bool has_begin = weir_infer_ints(infer, 1, begin, WEIR_MAX_RANK, &begins) && begins == out->rank;
    weir_shape size;
    WEIR_TRY(weir_infer_shape_input(infer, 2, &size));
    const weir_tensor *sizes = weir_infer_constant(infer, 2);
    for (int i = 0; i < out->rank && size.rank == out->rank; i++) {
        out->dims[i] = size.dims[i];
        bool takes_rest = sizes != NULL && weir_tensor_get_int(sizes, i) == -1;
        if (!takes_rest || !has_begin || in.rank < 0 || in.dims[i] < 0)
            continue;
        out->dims[i] = in.dims[i] - begin[i];
        if (out->dims[i] < 0)
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Negative dimension size caused by subtracting %" PRId64 " from %" PRId64, begin[i],
                             in.dims[i]);
    }
    return WEIR_STATUS_OK;
}

static weir_status infer_slice(weir_infer *infer)
{
    weir_shape in = weir_infer_input(infer, 0);
    weir_shape begin, size, both;
    WEIR_TRY(weir_infer_rank(infer, 1, 1, &begin));
    WEIR_TRY(weir_infer_rank(infer, 2, 1, &size));
    WEIR_TRY(weir_infer_merge(begin, size, &both));
    if (in.rank >= 0 && both.dims[0] >= 0 && both.dims[0] != in.rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be rank %" PRId64 " but is rank %d", both.dims[0], in.rank);
    weir_shape out = weir_shape_of_rank(in.rank >= 0 ? in.rank : both.dims[0]);
    if (out.rank != WEIR_UNKNOWN_RANK)
        WEIR_TRY(slice_dims(infer, in, &out));
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

/* The three vectors of a strided slice as far as they are known: begin and end may be missing. */
static weir_status infer_strided_slice(weir_infer *infer)
{
    weir_shape in = weir_infer_input(infer, 0);
    weir_shape begin, end, strides, both;
    WEIR_TRY(weir_infer_rank(infer, 1, 1, &begin));
    WEIR_TRY(weir_infer_rank(infer, 2, 1, &end));
    WEIR_TRY(weir_infer_rank(infer, 3, 1, &strides));
    WEIR_TRY(weir_infer_merge(begin, end, &both));
    WEIR_TRY(weir_infer_merge(both, strides, &both));
    weir_slice_values values = {0};
    int64_t counts[3] = {0};
    values.has_begin = weir_infer_ints(infer, 1, values.begin, WEIR_SLICE_ENTRIES, &counts[0]);
    values.has_end = weir_infer_ints(infer, 2, values.end, WEIR_SLICE_ENTRIES, &counts[1]);
    bool has_strides = weir_infer_ints(infer, 3, values.strides, WEIR_SLICE_ENTRIES, &counts[2]);
    if (in.rank == WEIR_UNKNOWN_RANK || !has_strides || counts[2] > WEIR_SLICE_ENTRIES)
        return WEIR_STATUS_OK;
    values.count = (int)counts[2];
    return weir_slice_infer(infer->node, in, &values, &infer->outputs[0]);
}

static weir_status infer_strided_slice_grad(weir_infer *infer)
{
    return weir_infer_shape_input(infer, 0, &infer->outputs[0]);
}

/* ---- Gradients ---- */

/* dy padded with zeros: begin before it, and what the input has left after it. */
static weir_status grad_slice(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output x = weir_gradient_x(gradient, 0);
    weir_output begin = weir_gradient_x(gradient, 1);
    weir_dtype dtype = weir_output_dtype(begin);
    weir_output rank = weir_build_rank(s, x);
    weir_output size = weir_build_shape_as(s, weir_gradient_y(gradient, 0), dtype);
    weir_output column = weir_build_pair(s, "stack", rank, 1);
    weir_output before = weir_reshape_to(s, begin, column);
    weir_output shape = weir_build_shape_as(s, x, dtype);
    weir_output rest = weir_build_binary(s, "Sub", "sub", weir_build_binary(s, "Sub", "sub", shape, size), begin);
    weir_output after = weir_reshape_to(s, rest, column);
    weir_output paddings = weir_concat(s, WEIR_OUTPUTS(before, after), 1);
    weir_gradient_set(gradient, 0, weir_pad(s, gradient->dy[0], paddings));
    return WEIR_STATUS_OK;
}

/* A value known while building as a constant "<name>"; else the node itself. */
static weir_output as_constant(weir_scope s, weir_output x, const char *name)
{
    weir_tensor *value = weir_static_value(x);
    weir_output output = value != NULL ? weir_const_tensor(s, value, name) : x;
    weir_tensor_free(value);
    return output;
}

/* The masks of a strided slice, for its gradient and back. */
typedef struct masks {
    weir_attr attrs[5];
} masks;

static masks masks_of(const weir_node *node)
{
    static const char *const names[] = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"};
    masks m;
    for (int i = 0; i < 5; i++)
        m.attrs[i] = WEIR_ATTR_I(names[i], weir_node_int(node, names[i], 0));
    return m;
}

static weir_status grad_strided_slice(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    masks m = masks_of(gradient->node);
    weir_output shape =
        weir_build_shape_as(s, weir_gradient_x(gradient, 0), weir_output_dtype(weir_gradient_x(gradient, 1)));
    weir_scope inner = weir_in_scope(s, "StridedSliceGrad");
    const weir_output inputs[] = {as_constant(inner, shape, "shape"),
                                  as_constant(inner, weir_gradient_x(gradient, 1), "begin"),
                                  as_constant(inner, weir_gradient_x(gradient, 2), "end"),
                                  as_constant(inner, weir_gradient_x(gradient, 3), "strides"), gradient->dy[0]};
    weir_node *node = weir_op(inner, "StridedSliceGrad", .inputs = inputs, .num_inputs = 5, .attrs = m.attrs,
                              .num_attrs = 5, .name = weir_scope_name(inner));
    weir_gradient_set(gradient, 0, weir_out(node, 0));
    return WEIR_STATUS_OK;
}

static weir_status grad_strided_slice_grad(weir_gradient *gradient)
{
    masks m = masks_of(gradient->node);
    weir_node *node = weir_op(gradient->scope, "StridedSlice",
                              WEIR_INPUTS(gradient->dy[0], weir_gradient_x(gradient, 1), weir_gradient_x(gradient, 2),
                                          weir_gradient_x(gradient, 3)),
                              .attrs = m.attrs, .num_attrs = 5);
    weir_gradient_set(gradient, 4, weir_out(node, 0));
    return WEIR_STATUS_OK;
}

/* ---- Ops ---- */

#define ANY_T WEIR_A_TYPE("T", NULL)
#define MASKS                                                                                                          \
    WEIR_A_INT("begin_mask", 0), WEIR_A_INT("end_mask", 0), WEIR_A_INT("ellipsis_mask", 0),                            \
        WEIR_A_INT("new_axis_mask", 0), WEIR_A_INT("shrink_axis_mask", 0)

static const weir_dtype slice_index_types[] = {WEIR_INT16, WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};

static const weir_op_def ops[] = {
    {"Slice",
     .inputs = WEIR_ARGS({"input", .type_attr = "T"}, {"begin", .type_attr = "Index"}, {"size", .type_attr = "Index"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(ANY_T, WEIR_A_TYPE("Index", weir_types_index)), .infer = infer_slice,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_slice},
    {"StridedSlice",
     .inputs = WEIR_ARGS({"input", .type_attr = "T"}, {"begin", .type_attr = "Index"}, {"end", .type_attr = "Index"},
                         {"strides", .type_attr = "Index"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(ANY_T, WEIR_A_TYPE("Index", slice_index_types), MASKS), .infer = infer_strided_slice,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_strided_slice},
    {"StridedSliceGrad",
     .inputs = WEIR_ARGS({"shape", .type_attr = "Index"}, {"begin", .type_attr = "Index"},
                         {"end", .type_attr = "Index"}, {"strides", .type_attr = "Index"}, {"dy", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(ANY_T, WEIR_A_TYPE("Index", weir_types_index), MASKS), .infer = infer_strided_slice_grad,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_strided_slice_grad},
    {.name = NULL},
};

const weir_op_family weir_family_array_slice = {"array_slice", ops, weir_array_slice_kernels};

/* ---- Builders ---- */

weir_output(weir_slice)(weir_scope s, weir_output x, weir_output begin, weir_output extent,
                        const weir_name_options *options)
{
    return weir_out(weir_op(s, "Slice", WEIR_INPUTS(x, begin, extent), .name = weir_option_name(options, "Slice")), 0);
}

weir_output(weir_strided_slice)(weir_scope s, weir_output x, weir_output begin, weir_output end, weir_output strides,
                                const weir_slice_options *options)
{
    return weir_out(
        weir_op(s, "StridedSlice", WEIR_INPUTS(x, begin, end, strides),
                WEIR_ATTRS(WEIR_ATTR_I("begin_mask", options->begin_mask), WEIR_ATTR_I("end_mask", options->end_mask),
                           WEIR_ATTR_I("ellipsis_mask", options->ellipsis_mask),
                           WEIR_ATTR_I("new_axis_mask", options->new_axis_mask),
                           WEIR_ATTR_I("shrink_axis_mask", options->shrink_axis_mask)),
                .name = options->name),
        0);
}
