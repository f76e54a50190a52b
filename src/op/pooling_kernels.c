/*
 * Kernels of pooling.c: from shapes and attributes to the pooling kernel of the processor.
 */
#include "kernel/cpu/pooling.h"

#include <inttypes.h>

#include "op/array_support.h"
#include "op/pooling_window.h"

typedef struct pool_state {
    const weir_cpu_kernels *kernels;
    weir_pooling_options options;
} pool_state;

/* ---- Checks ---- */

/* what: "MaxPoolingOp" and so on. */
static weir_status check_window(const weir_window *window, const char *what)
{
    const int64_t *size = window->size;
    if (window->is_nchw)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Default %s only supports NHWC on device type CPU", what);
    if (window->batch_size <= 0 || size[0] <= 0 || size[1] <= 0 || window->channel_size <= 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Sliding window ksize must be positive. The specified or inferred ksize is: %" PRId64
                         ",%" PRId64 ",%" PRId64 ",%" PRId64,
                         window->batch_size, size[0], size[1], window->channel_size);
    if (window->batch_stride <= 0 || window->channel_stride <= 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Sliding window stride must be positive. The specified or inferred stride is: %" PRId64
                         ",%" PRId64 ",%" PRId64 ",%" PRId64,
                         window->batch_stride, window->stride[0], window->stride[1], window->channel_stride);
    if (window->batch_size != 1 || window->batch_stride != 1)
        return weir_fail(WEIR_UNIMPLEMENTED, "Pooling is not yet supported on the batch dimension.");
    return WEIR_STATUS_OK;
}

static weir_status check_image(const weir_shape *shape)
{
    if (shape->rank == 4)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "tensor_in_shape must have 2 spatial dimensions. %d 0", shape->rank);
}

/* Each window must reach into the image. */
static weir_status check_explicit(const weir_window *window)
{
    static const char *const sides[2][2] = {{"Top", "Bottom"}, {"Left", "Right"}};
    for (int i = 0; i < 2; i++) {
        int64_t pads[2] = {window->before[i], window->after[i]};
        for (int side = 0; side < 2; side++) {
            if (pads[side] >= window->size[i])
                return weir_fail(WEIR_INVALID_ARGUMENT,
                                 "%s padding %" PRId64 " needs to be smaller than the window size %" PRId64,
                                 sides[i][side], pads[side], window->size[i]);
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status check_shape(const char *what, const weir_shape *expected, const weir_shape *shape)
{
    if (weir_shape_equal(*expected, *shape))
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "Expected %s shape to be %s, but got %s", what, WEIR_SHAPE_TEXT(*expected),
                     WEIR_SHAPE_TEXT(*shape));
}

static weir_status check_rank(const char *what, const weir_shape *shape)
{
    return shape->rank == 4 ? WEIR_STATUS_OK : weir_fail(WEIR_INVALID_ARGUMENT, "%s must be 4-dimensional", what);
}

/* ---- Options ---- */

/* Pooling of an image of shape in, rank 4; the result's shape. */
static void set_options(const weir_window *window, weir_dtype type, const weir_shape *in, weir_pooling_options *options,
                        weir_shape *out)
{
    *options = (weir_pooling_options){.type = type,
                                      .batch = in->dims[0],
                                      .in_height = in->dims[1],
                                      .in_width = in->dims[2],
                                      .channels = in->dims[3],
                                      .window_height = window->size[0],
                                      .window_width = window->size[1],
                                      .stride_height = window->stride[0],
                                      .stride_width = window->stride[1]};
    options->out_height = weir_window_fit(window, 0, in->dims[1], window->size[0], &options->pad_top);
    options->out_width = weir_window_fit(window, 1, in->dims[2], window->size[1], &options->pad_left);
    *out = (weir_shape){4, {in->dims[0], options->out_height, options->out_width, in->dims[3]}};
}

/* Pooling over channels is pooling of images of one row whose columns are the channels. */
static weir_status set_deep_options(const weir_window *window, weir_dtype type, const weir_shape *in,
                                    weir_pooling_options *options, weir_shape *out)
{
    int64_t depth = window->channel_size;
    if (window->size[0] != 1 || window->size[1] != 1)
        return weir_fail(WEIR_UNIMPLEMENTED,
                         "MaxPooling supports exactly one of pooling across depth or pooling across width/height.");
    if (in->dims[3] % depth != 0)
        return weir_fail(WEIR_UNIMPLEMENTED,
                         "Depthwise max pooling requires the depth window to evenly divide the input depth");
    if (depth != window->channel_stride)
        return weir_fail(WEIR_UNIMPLEMENTED,
                         "Depthwise max pooling requires the depth window to equal the depth stride");
    if (window->stride[0] != 1 || window->stride[1] != 1)
        return weir_fail(WEIR_UNIMPLEMENTED,
                         "Depthwise max pooling with strides along width or height is not implemented");
    *options = (weir_pooling_options){.type = type,
                                      .batch = in->dims[0] * in->dims[1] * in->dims[2],
                                      .in_height = 1,
                                      .in_width = in->dims[3],
                                      .channels = 1,
                                      .window_height = 1,
                                      .window_width = depth,
                                      .out_height = 1,
                                      .out_width = in->dims[3] / depth,
                                      .stride_height = 1,
                                      .stride_width = depth};
    *out = (weir_shape){4, {in->dims[0], in->dims[1], in->dims[2], in->dims[3] / depth}};
    return WEIR_STATUS_OK;
}

/* Nothing is left to do where the result has no elements. */
static weir_status take_state(weir_bind *bind, const weir_pooling_options *options, weir_run_function *run)
{
    WEIR_TRY(weir_check_output(bind, 0));
    if (weir_shape_elements(bind->outputs[0]) == 0)
        return WEIR_STATUS_OK;
    pool_state *state = NULL;
    WEIR_TRY(weir_bind_state(bind, &state));
    *state = (pool_state){weir_cpu_kernels_best(), *options};
    bind->run = run;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- MaxPool ---- */

static weir_status run_max(const void *state, void *const *arguments, weir_context *context)
{
    const pool_state *s = state;
    weir_max_pooling(s->kernels, &s->options, context->team, arguments[0], arguments[1]);
    return WEIR_STATUS_OK;
}

static weir_status bind_max(weir_bind *bind)
{
    weir_window window;
    weir_pooling_options options;
    const weir_shape *in = &bind->inputs[0].shape;
    weir_dtype type = bind->node->output_dtypes[0];
    WEIR_TRY(weir_window_of_pool(bind->node, &window));
    WEIR_TRY(check_window(&window, "MaxPoolingOp"));
    WEIR_TRY(check_image(in));
    if (window.channel_size > 1 || window.channel_stride > 1) {
        WEIR_TRY(set_deep_options(&window, type, in, &options, &bind->outputs[0]));
    } else {
        WEIR_TRY(check_explicit(&window));
        set_options(&window, type, in, &options, &bind->outputs[0]);
    }
    return take_state(bind, &options, run_max);
}

/* ---- MaxPoolGrad ---- */

static weir_status run_max_gradient(const void *state, void *const *arguments, weir_context *context)
{
    const pool_state *s = state;
    weir_max_pool_gradient(s->kernels, &s->options, context->team, arguments[0], arguments[1], arguments[2],
                           arguments[3]);
    return WEIR_STATUS_OK;
}

static weir_status bind_max_gradient(weir_bind *bind)
{
    weir_window window;
    weir_pooling_options options;
    weir_shape pooled;
    const weir_shape *x = &bind->inputs[0].shape;
    WEIR_TRY(weir_window_of_pool(bind->node, &window));
    WEIR_TRY(check_window(&window, "MaxPoolingGradOp"));
    if (window.channel_size != 1 || window.channel_stride != 1)
        return weir_fail(WEIR_UNIMPLEMENTED, "MaxPoolingGrad is not yet supported on the depth dimension.");
    WEIR_TRY(check_rank("tensor_in", x));
    WEIR_TRY(check_rank("tensor_out", &bind->inputs[1].shape));
    WEIR_TRY(check_rank("out_backprop", &bind->inputs[2].shape));
    WEIR_TRY(check_explicit(&window));
    set_options(&window, bind->node->output_dtypes[0], x, &options, &pooled);
    WEIR_TRY(check_shape("orig_output", &pooled, &bind->inputs[1].shape));
    WEIR_TRY(check_shape("grad", &pooled, &bind->inputs[2].shape));
    bind->outputs[0] = *x;
    return take_state(bind, &options, run_max_gradient);
}

/* ---- AvgPool ---- */

static weir_status run_average(const void *state, void *const *arguments, weir_context *context)
{
    const pool_state *s = state;
    weir_average_pool(s->kernels, &s->options, context->team, arguments[0], arguments[1]);
    return WEIR_STATUS_OK;
}

static weir_status check_flat(const weir_window *window)
{
    if (window->channel_size == 1 && window->channel_stride == 1)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_UNIMPLEMENTED, "Non-spatial pooling is not yet supported. Volunteers? :)");
}

static weir_status bind_average(weir_bind *bind)
{
    weir_window window;
    weir_pooling_options options;
    const weir_shape *in = &bind->inputs[0].shape;
    WEIR_TRY(weir_window_of_pool(bind->node, &window));
    WEIR_TRY(check_window(&window, "AvgPoolingOp"));
    WEIR_TRY(check_image(in));
    WEIR_TRY(check_flat(&window));
    set_options(&window, bind->node->output_dtypes[0], in, &options, &bind->outputs[0]);
    return take_state(bind, &options, run_average);
}

/* ---- AvgPoolGrad ---- */

static weir_status run_average_gradient(const void *state, void *const *arguments, weir_context *context)
{
    const pool_state *s = state;
    weir_average_pool_gradient(s->kernels, &s->options, context->team, arguments[1], arguments[2]);
    return WEIR_STATUS_OK;
}

static weir_status bind_average_gradient(weir_bind *bind)
{
    weir_window window;
    weir_pooling_options options;
    weir_shape pooled;
    WEIR_TRY(weir_window_of_pool(bind->node, &window));
    WEIR_TRY(check_window(&window, "AvgPoolingGradOp"));
    WEIR_TRY(check_flat(&window));
    if (bind->inputs[0].shape.rank != 1 || bind->inputs[0].shape.dims[0] != 4)
        return weir_fail(WEIR_INVALID_ARGUMENT, "out_backprop must be 1-dimensional and 4 elements");
    WEIR_TRY(check_rank("out_backprop", &bind->inputs[1].shape));
    WEIR_TRY(weir_bind_shape(bind, 0, &bind->outputs[0]));
    set_options(&window, bind->node->output_dtypes[0], &bind->outputs[0], &options, &pooled);
    WEIR_TRY(check_shape("grad", &pooled, &bind->inputs[1].shape));
    return take_state(bind, &options, run_average_gradient);
}

/* ---- Table ---- */

static const weir_dtype kernel_types[] = {WEIR_FLOAT, WEIR_DOUBLE, WEIR_HALF, WEIR_BFLOAT16, WEIR_INVALID_DTYPE};

#define TYPES .types = {{"T", kernel_types}}

const weir_kernel weir_pooling_op_kernels[] = {
    {.op = "MaxPool", TYPES, .bind = bind_max, .on_accelerators = true},
    {.op = "MaxPoolGrad", TYPES, .bind = bind_max_gradient, .on_accelerators = true},
    {.op = "AvgPool", TYPES, .bind = bind_average, .on_accelerators = true},
    {.op = "AvgPoolGrad",
     TYPES,
     .bind = bind_average_gradient,
     .shape_inputs = WEIR_INPUT(0),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(0)},
    {.op = NULL},
};
