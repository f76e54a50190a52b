/*
 * Two-dimensional convolution: Conv2D, its gradients as ops, and _FusedConv2D, which a TensorFlow master sends. Schemas,
 * shape rules, gradients, builder; kernels: convolution_kernels.c.
 */
#include <inttypes.h>

#include "op/array_kernels.h"
#include "op/array_pieces.h"
#include "op/pooling_window.h"

/* ---- Shape rules ---- */

static weir_status check_depths(int64_t in, weir_shape filter)
{
    int64_t depth = filter.dims[2];
    if (in < 0 || depth < 0)
        return WEIR_STATUS_OK;
    if (depth == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Depth of filter must not be 0");
    if (in % depth != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Depth of input (%" PRId64 ") is not a multiple of input depth of filter (%" PRId64 ")", in,
                         depth);
    int64_t groups = in / depth;
    if (groups > 1 && filter.dims[3] >= 0 && filter.dims[3] % groups != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Depth of output (%" PRId64 ") is not a multiple of the number of groups (%" PRId64 ")",
                         filter.dims[3], groups);
    return WEIR_STATUS_OK;
}

static weir_status infer_conv2d(weir_infer *infer)
{
    weir_window window;
    weir_shape in, filter;
    WEIR_TRY(weir_window_of_convolution(infer->node, &window));
    WEIR_TRY(weir_infer_rank(infer, 0, 4, &in));
    WEIR_TRY(weir_infer_rank(infer, 1, 4, &filter));
    WEIR_TRY(check_depths(in.dims[window.channel_axis], filter));
    weir_shape out = {.rank = 4};
    out.dims[0] = in.dims[0];
    out.dims[window.channel_axis] = filter.dims[3];
    for (int i = 0; i < 2; i++) {
        int axis = window.first_axis + i;
        WEIR_TRY(weir_window_infer(&window, i, in.dims[axis], filter.dims[i], &out.dims[axis]));
    }
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_input_gradient(weir_infer *infer)
{
    weir_window window;
    weir_shape sizes, filter, dy;
    WEIR_TRY(weir_window_of_convolution(infer->node, &window));
    WEIR_TRY(weir_infer_rank(infer, 0, 1, &sizes));
    WEIR_TRY(weir_infer_rank(infer, 1, 4, &filter));
    WEIR_TRY(weir_infer_rank(infer, 2, 4, &dy));
    int64_t count = sizes.dims[0];
    if (count >= 0 && count != 4 && count != 2)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: %" PRId64,
                         count);
    weir_shape given;
    weir_shape out = weir_shape_of_rank(4);
    WEIR_TRY(weir_infer_shape_input(infer, 0, &given));
    for (int i = 0; i < 2 && given.rank == 2; i++)
        out.dims[window.first_axis + i] = given.dims[i];
    if (given.rank == 4)
        out = given;
    else if (given.rank == 2)
        out.dims[window.channel_axis] = filter.dims[2];
    int64_t unused;
    WEIR_TRY(weir_infer_dim(out.dims[0], dy.dims[0], &unused));
    out.dims[0] = dy.dims[0]; /* as TensorFlow has it, also when only the sizes are known */
    WEIR_TRY(weir_infer_dim(dy.dims[window.channel_axis], filter.dims[3], &unused));
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_filter_gradient(weir_infer *infer)
{
    weir_window window;
    weir_shape out;
    WEIR_TRY(weir_window_of_convolution(infer->node, &window));
    WEIR_TRY(weir_infer_shape_input(infer, 1, &out));
    if (out.rank != WEIR_UNKNOWN_RANK && out.rank != 4)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be rank 4 but is rank %d", out.rank);
    infer->outputs[0] = out.rank == 4 ? out : weir_shape_of_rank(4);
    return WEIR_STATUS_OK;
}

/* ---- Gradients ---- */

#define SHARED_ATTRS 6

/* The attributes that all three ops have, of a node. */
static void shared_attrs(const weir_node *node, weir_attr attrs[SHARED_ATTRS])
{
    static const char *const names[SHARED_ATTRS] = {"dilations",         "strides",          "padding",
                                                    "explicit_paddings", "use_cudnn_on_gpu", "data_format"};
    for (int i = 0; i < SHARED_ATTRS; i++)
        attrs[i] = (weir_attr){names[i], *weir_node_find_attr(node, names[i])};
}

/* One of the three ops with the forward node's attributes. */
static weir_output like(const weir_gradient *gradient, const char *op, weir_output a, weir_output b, weir_output c)
{
    weir_attr attrs[SHARED_ATTRS];
    const weir_output inputs[] = {a, b, c};
    shared_attrs(gradient->node, attrs);
    return weir_out(weir_op(gradient->scope, op, .inputs = inputs, .num_inputs = c.node != NULL ? 3 : 2, .attrs = attrs,
                            .num_attrs = SHARED_ATTRS),
                    0);
}

static weir_status grad_conv2d(weir_gradient *gradient)
{
    weir_output x = weir_gradient_x(gradient, 0);
    weir_output filter = weir_gradient_x(gradient, 1);
    weir_node *shapes = weir_op(gradient->scope, "ShapeN", WEIR_INPUTS(x, filter));
    if (shapes == NULL)
        return WEIR_STATUS_OK;
    weir_output dy = gradient->dy[0];
    weir_gradient_set(gradient, 0, like(gradient, "Conv2DBackpropInput", weir_out(shapes, 0), filter, dy));
    weir_gradient_set(gradient, 1, like(gradient, "Conv2DBackpropFilter", x, weir_out(shapes, 1), dy));
    return WEIR_STATUS_OK;
}

static weir_status grad_input_gradient(weir_gradient *gradient)
{
    weir_output filter = weir_gradient_x(gradient, 1);
    weir_output dy = gradient->dy[0];
    weir_output shape = weir_build_shape(gradient->scope, filter);
    weir_gradient_set(gradient, 1, like(gradient, "Conv2DBackpropFilter", dy, shape, weir_gradient_x(gradient, 2)));
    weir_gradient_set(gradient, 2, like(gradient, "Conv2D", dy, filter, WEIR_NO_OUTPUT));
    return WEIR_STATUS_OK;
}

static weir_status grad_filter_gradient(weir_gradient *gradient)
{
    weir_output x = weir_gradient_x(gradient, 0);
    weir_output dy = gradient->dy[0];
    weir_output shape = weir_build_shape(gradient->scope, x);
    weir_gradient_set(gradient, 0, like(gradient, "Conv2DBackpropInput", shape, dy, weir_gradient_x(gradient, 2)));
    weir_gradient_set(gradient, 2, like(gradient, "Conv2D", x, dy, WEIR_NO_OUTPUT));
    return WEIR_STATUS_OK;
}

/* ---- Ops ---- */

static const weir_dtype float_types[] = {WEIR_HALF, WEIR_BFLOAT16, WEIR_FLOAT, WEIR_DOUBLE, WEIR_INVALID_DTYPE};
static const weir_dtype float_and_int32[] = {WEIR_HALF,   WEIR_BFLOAT16, WEIR_FLOAT,
                                             WEIR_DOUBLE, WEIR_INT32,    WEIR_INVALID_DTYPE};
static const weir_dtype fused_types[] = {WEIR_HALF, WEIR_FLOAT, WEIR_DOUBLE, WEIR_INT8, WEIR_QINT8, WEIR_INVALID_DTYPE};
static const int64_t ones[] = {1, 1, 1, 1};

#define STRIDES {.name = "strides", .kind = WEIR_ATTR_LIST + WEIR_ATTR_INT}
#define CUDNN WEIR_A_BOOL("use_cudnn_on_gpu", true)
#define PADDING {.name = "padding", .kind = WEIR_ATTR_STRING, .allowed_texts = weir_window_paddings}
#define EXPLICIT                                                                                                       \
    {.name = "explicit_paddings", .kind = WEIR_ATTR_LIST + WEIR_ATTR_INT, .has_default = true,                         \
     .value = {.kind = WEIR_ATTR_LIST + WEIR_ATTR_INT}}
#define FORMAT WEIR_A_CHOICE("data_format", "NHWC", weir_window_formats)
#define DILATIONS                                                                                                      \
    {.name = "dilations", .kind = WEIR_ATTR_LIST + WEIR_ATTR_INT, .has_default = true,                                 \
     .value = {.kind = WEIR_ATTR_LIST + WEIR_ATTR_INT, .list = {.count = 4, .i = ones}}}
#define CONVOLUTION_ATTRS(types)                                                                                       \
    WEIR_ATTR_DEFS(WEIR_A_TYPE("T", types), STRIDES, CUDNN, PADDING, EXPLICIT, FORMAT, DILATIONS)
#define OUTPUT .outputs = WEIR_ARGS({"output", .type_attr = "T"})

static const weir_op_def ops[] = {
    {"Conv2D", .inputs = WEIR_ARGS({"input", .type_attr = "T"}, {"filter", .type_attr = "T"}), OUTPUT,
     .attrs = CONVOLUTION_ATTRS(float_and_int32), .infer = infer_conv2d, .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = grad_conv2d},
    {"Conv2DBackpropFilter",
     .inputs = WEIR_ARGS({"input", .type_attr = "T"}, {"filter_sizes", .type = WEIR_INT32},
                         {"out_backprop", .type_attr = "T"}),
     OUTPUT, .attrs = CONVOLUTION_ATTRS(float_types), .infer = infer_filter_gradient,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_filter_gradient},
    {"Conv2DBackpropInput",
     .inputs = WEIR_ARGS({"input_sizes", .type = WEIR_INT32}, {"filter", .type_attr = "T"},
                         {"out_backprop", .type_attr = "T"}),
     OUTPUT, .attrs = CONVOLUTION_ATTRS(float_and_int32), .infer = infer_input_gradient,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_input_gradient},
    {"_FusedConv2D",
     .inputs = WEIR_ARGS({"input", .type_attr = "T"}, {"filter", .type_attr = "T"}, {"args", .type_list_attr = "TArgs"},
                         {"host_args", .type = WEIR_FLOAT, .number_attr = "num_host_args"}),
     OUTPUT,
     .attrs = WEIR_ATTR_DEFS(
         WEIR_A_TYPE("T", fused_types),
         {.name = "TArgs", .kind = WEIR_ATTR_LIST + WEIR_ATTR_TYPE, .has_minimum = true, .minimum = 1},
         WEIR_A_INT_MIN("num_args", 0),
         {.name = "num_host_args",
          .kind = WEIR_ATTR_INT,
          .has_default = true,
          .value = {.kind = WEIR_ATTR_INT},
          .has_minimum = true},
         STRIDES, PADDING, EXPLICIT, WEIR_A_CHOICE("data_format", "NHWC", WEIR_TEXTS("NHWC", "NCHW", "NCHW_VECT_C")),
         WEIR_A_CHOICE("filter_format", "HWIO", WEIR_TEXTS("HWIO", "OIHW", "OIHW_VECT_I")), DILATIONS, CUDNN,
         {.name = "fused_ops",
          .kind = WEIR_ATTR_LIST + WEIR_ATTR_STRING,
          .has_default = true,
          .value = {.kind = WEIR_ATTR_LIST + WEIR_ATTR_STRING}},
         WEIR_A_FLOAT("epsilon", 0.0001f), WEIR_A_FLOAT("leakyrelu_alpha", 0.2f)),
     .infer = infer_conv2d},
    {.name = NULL},
};

const weir_op_family weir_family_convolution = {"convolution", ops, weir_convolution_op_kernels};

/* ---- Builder ---- */

weir_output(weir_conv2d_op)(weir_scope s, weir_output x, weir_output filter, const weir_window_options *options)
{
    int64_t strides[] = {1, options->stride != 0 ? options->stride : 1, 0, 1};
    strides[2] = options->stride_width != 0 ? options->stride_width : strides[1];
    const char *padding = options->padding == WEIR_VALID ? "VALID" : "SAME";
    return weir_out(weir_op(s, "Conv2D", WEIR_INPUTS(x, filter),
                            WEIR_ATTRS(WEIR_ATTR_INTS("strides", strides, 4), WEIR_ATTR_S("padding", padding)),
                            .name = options->name),
                    0);
}
