/*
 * Pooling of images: MaxPool, AvgPool and their gradients as ops. Schemas, shape rules, gradients, builders; kernels:
 * pooling_kernels.c.
 */
#include <inttypes.h>

#include "op/array_kernels.h"
#include "op/array_pieces.h"
#include "op/pooling_window.h"

/* ---- Shape rules ---- */

static weir_status infer_pool(weir_infer *infer)
{
    weir_window window;
    weir_shape out;
    WEIR_TRY(weir_window_of_pool(infer->node, &window));
    WEIR_TRY(weir_infer_rank(infer, 0, 4, &out));
    for (int i = 0; i < 2; i++) {
        int64_t *dim = &out.dims[window.first_axis + i];
        WEIR_TRY(weir_window_infer(&window, i, *dim, window.size[i], dim));
    }
    int64_t *channels = &out.dims[window.channel_axis];
    bool is_deep = window.channel_size > 1 || window.channel_stride > 1;
    if (is_deep && *channels >= window.channel_size && window.channel_stride > 0)
        *channels = (*channels - window.channel_size) / window.channel_stride + 1;
    infer->outputs[0] = out;
    return WEIR_STATUS_OK;
}

static weir_status infer_max_pool_grad(weir_infer *infer)
{
    weir_window window;
    WEIR_TRY(weir_window_of_pool(infer->node, &window));
    return weir_infer_rank(infer, 0, 4, &infer->outputs[0]);
}

static weir_status infer_avg_pool_grad(weir_infer *infer)
{
    weir_window window;
    weir_shape out;
    WEIR_TRY(weir_window_of_pool(infer->node, &window));
    WEIR_TRY(weir_infer_shape_input(infer, 0, &out));
    if (out.rank != WEIR_UNKNOWN_RANK && out.rank != 4)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be rank 4 but is rank %d", out.rank);
    infer->outputs[0] = out.rank == 4 ? out : weir_shape_of_rank(4);
    return WEIR_STATUS_OK;
}

/* ---- Gradients ---- */

/* A node with the forward node's window attributes. */
static weir_output like(const weir_gradient *gradient, const char *op, const weir_output *inputs, int num_inputs)
{
    static const char *const names[] = {"ksize", "strides", "padding", "data_format", "explicit_paddings"};
    weir_attr attrs[5];
    int count = 0;
    for (int i = 0; i < 5; i++) {
        const weir_attr_value *value = weir_node_find_attr(gradient->node, names[i]);
        if (value != NULL)
            attrs[count++] = (weir_attr){names[i], *value};
    }
    return weir_out(
        weir_op(gradient->scope, op, .inputs = inputs, .num_inputs = num_inputs, .attrs = attrs, .num_attrs = count),
        0);
}

static weir_status grad_max_pool(weir_gradient *gradient)
{
    const weir_output inputs[] = {weir_gradient_x(gradient, 0), weir_gradient_y(gradient, 0), gradient->dy[0]};
    weir_gradient_set(gradient, 0, like(gradient, "MaxPoolGrad", inputs, 3));
    return WEIR_STATUS_OK;
}

/* TensorFlow's has an op of its own, MaxPoolGradGrad, which the registry lacks. */
static weir_status grad_max_pool_grad(weir_gradient *gradient)
{
    return weir_fail(WEIR_UNIMPLEMENTED, "The gradient of MaxPoolGrad is not implemented (operation '%s')",
                     gradient->node->name);
}

static weir_status grad_avg_pool(weir_gradient *gradient)
{
    weir_output shape = weir_build_shape(gradient->scope, weir_gradient_x(gradient, 0));
    const weir_output inputs[] = {shape, gradient->dy[0]};
    weir_gradient_set(gradient, 0, like(gradient, "AvgPoolGrad", inputs, 2));
    return WEIR_STATUS_OK;
}

static weir_status grad_avg_pool_grad(weir_gradient *gradient)
{
    weir_gradient_set(gradient, 1, like(gradient, "AvgPool", gradient->dy, 1));
    return WEIR_STATUS_OK;
}

/* ---- Ops ---- */

static const weir_dtype max_pool_types[] = {WEIR_HALF,  WEIR_BFLOAT16, WEIR_FLOAT, WEIR_DOUBLE,
                                            WEIR_INT32, WEIR_INT64,    WEIR_UINT8, WEIR_INT16,
                                            WEIR_INT8,  WEIR_UINT16,   WEIR_QINT8, WEIR_INVALID_DTYPE};
static const weir_dtype max_pool_grad_types[] = {WEIR_FLOAT,  WEIR_DOUBLE, WEIR_INT32,        WEIR_UINT8,  WEIR_INT16,
                                                 WEIR_INT8,   WEIR_INT64,  WEIR_BFLOAT16,     WEIR_UINT16, WEIR_HALF,
                                                 WEIR_UINT32, WEIR_UINT64, WEIR_INVALID_DTYPE};
static const weir_dtype avg_pool_types[] = {WEIR_HALF, WEIR_BFLOAT16, WEIR_FLOAT, WEIR_DOUBLE, WEIR_INVALID_DTYPE};

#define FOUR(n) {.name = (n), .kind = WEIR_ATTR_LIST + WEIR_ATTR_INT, .has_minimum = true, .minimum = 4}
#define WINDOW FOUR("ksize"), FOUR("strides")
#define MAX_PADDING                                                                                                    \
    {.name = "padding", .kind = WEIR_ATTR_STRING, .allowed_texts = weir_window_paddings},                              \
    {                                                                                                                  \
        .name = "explicit_paddings", .kind = WEIR_ATTR_LIST + WEIR_ATTR_INT, .has_default = true,                      \
        .value = {.kind = WEIR_ATTR_LIST + WEIR_ATTR_INT}                                                              \
    }
#define AVG_PADDING {.name = "padding", .kind = WEIR_ATTR_STRING, .allowed_texts = WEIR_TEXTS("SAME", "VALID")}
#define FORMAT WEIR_A_CHOICE("data_format", "NHWC", weir_window_formats)
#define OUTPUT .outputs = WEIR_ARGS({"output", .type_attr = "T"})

static const weir_op_def ops[] = {
    {"MaxPool", .inputs = WEIR_ARGS({"input", .type_attr = "T"}), OUTPUT,
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE_OR("T", max_pool_types, WEIR_FLOAT), WINDOW, MAX_PADDING,
                             WEIR_A_CHOICE("data_format", "NHWC", WEIR_TEXTS("NHWC", "NCHW", "NCHW_VECT_C"))),
     .infer = infer_pool, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_max_pool},
    {"MaxPoolGrad",
     .inputs =
         WEIR_ARGS({"orig_input", .type_attr = "T"}, {"orig_output", .type_attr = "T"}, {"grad", .type_attr = "T"}),
     OUTPUT, .attrs = WEIR_ATTR_DEFS(WINDOW, MAX_PADDING, FORMAT, WEIR_A_TYPE_OR("T", max_pool_grad_types, WEIR_FLOAT)),
     .infer = infer_max_pool_grad, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_max_pool_grad},
    {"AvgPool", .inputs = WEIR_ARGS({"value", .type_attr = "T"}), OUTPUT,
     .attrs = WEIR_ATTR_DEFS(WINDOW, AVG_PADDING, FORMAT, WEIR_A_TYPE("T", avg_pool_types)), .infer = infer_pool,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_avg_pool},
    {"AvgPoolGrad", .inputs = WEIR_ARGS({"orig_input_shape", .type = WEIR_INT32}, {"grad", .type_attr = "T"}), OUTPUT,
     .attrs = WEIR_ATTR_DEFS(WINDOW, AVG_PADDING, FORMAT, WEIR_A_TYPE("T", avg_pool_types)),
     .infer = infer_avg_pool_grad, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_avg_pool_grad},
    {.name = NULL},
};

const weir_op_family weir_family_pooling = {"pooling", ops, weir_pooling_op_kernels};

/* ---- Builders ---- */

static weir_output build_pool(weir_scope s, const char *op, weir_output x, int height, int width,
                              const weir_window_options *options)
{
    int64_t size[] = {1, height, width, 1};
    int64_t strides[] = {1, height, width, 1};
    if (options->stride != 0)
        strides[1] = strides[2] = options->stride;
    if (options->stride_width != 0)
        strides[2] = options->stride_width;
    const char *padding = options->padding == WEIR_VALID ? "VALID" : "SAME";
    return weir_out(weir_op(s, op, WEIR_INPUTS(x),
                            WEIR_ATTRS(WEIR_ATTR_INTS("ksize", size, 4), WEIR_ATTR_INTS("strides", strides, 4),
                                       WEIR_ATTR_S("padding", padding)),
                            .name = options->name),
                    0);
}

weir_output(weir_max_pool)(weir_scope s, weir_output x, int height, int width, const weir_window_options *options)
{
    return build_pool(s, "MaxPool", x, height, width, options);
}

weir_output(weir_avg_pool)(weir_scope s, weir_output x, int height, int width, const weir_window_options *options)
{
    return build_pool(s, "AvgPool", x, height, width, options);
}
