/*
 * Kernels of convolution.c: from shapes and attributes to the convolution kernel of the processor.
 */
#include "kernel/cpu/convolution.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/cpu/batch_norm.h"
#include "kernel/cpu/elementwise.h"
#include "op/array_support.h"
#include "op/pooling_window.h"

typedef struct convolution_state {
    int first, second, bias, output, scratch; /* arguments; bias -1: none */
    weir_convolution_plan plan;
} convolution_state;

static weir_status run_convolution(const void *state, void *const *arguments, weir_context *context)
{
    const convolution_state *s = state;
    const void *bias = s->bias >= 0 ? arguments[s->bias] : NULL;
    void *scratch = s->scratch >= 0 ? arguments[s->scratch] : NULL;
    weir_convolution_run(&s->plan, context->team, arguments[s->first], arguments[s->second], bias, arguments[s->output],
                         scratch);
    return WEIR_STATUS_OK;
}

/* Prepares the kernel for what is in options; nothing is left to do where the result has no elements. */
static weir_status bind_plan(weir_bind *bind, const weir_convolution_options *options, int first, int second,
                             convolution_state **out)
{
    WEIR_TRY(weir_check_output(bind, 0));
    convolution_state *state = NULL;
    WEIR_TRY(weir_bind_state(bind, &state));
    *out = state;
    state->first = first;
    state->second = second;
    state->bias = -1;
    state->output = bind->node->num_inputs;
    state->scratch = -1;
    if (weir_shape_elements(bind->outputs[0]) == 0)
        return WEIR_STATUS_OK;
    weir_convolution_prepare(weir_cpu_kernels_best(), options, &state->plan);
    bind->scratch_size = weir_convolution_scratch(&state->plan, bind->lanes);
    if (bind->scratch_size > 0)
        state->scratch = state->output + 1;
    bind->run = run_convolution;
    bind->state = state;
    return WEIR_STATUS_OK;
}

static void set_window(const weir_window *window, weir_convolution_options *options)
{
    options->stride_height = window->stride[0];
    options->stride_width = window->stride[1];
    options->dilation_height = window->dilation[0];
    options->dilation_width = window->dilation[1];
}

static void set_input(const weir_shape *x, weir_convolution_options *options)
{
    options->batch = x->dims[0];
    options->in_height = x->dims[1];
    options->in_width = x->dims[2];
}

/* Of one group: the depths are those of the filter. */
static void set_filter(const weir_shape *filter, weir_convolution_options *options)
{
    options->filter_height = filter->dims[0];
    options->filter_width = filter->dims[1];
    options->in_channels = filter->dims[2];
    options->out_channels = filter->dims[3];
}

/* Output size and padding, from the input and filter that are set. */
static void fit_window(const weir_window *window, weir_convolution_options *options)
{
    options->out_height = weir_window_fit(window, 0, options->in_height, options->filter_height, &options->pad_top);
    options->out_width = weir_window_fit(window, 1, options->in_width, options->filter_width, &options->pad_left);
}

/* ---- Forward ---- */

static weir_status check_forward(const weir_node *node, const weir_window *window, const weir_shape *x,
                                 const weir_shape *filter)
{
    WEIR_TRY(weir_window_check_convolution(window));
    if (x->rank != 4)
        return weir_fail(WEIR_INVALID_ARGUMENT, "convolution input must be 4-dimensional: %s", WEIR_SHAPE_TEXT(*x));
    if (filter->rank != 4)
        return weir_fail(WEIR_INVALID_ARGUMENT, "convolution filter must be 4-dimensional: %s",
                         WEIR_SHAPE_TEXT(*filter));
    if (window->is_nchw)
        return weir_fail(
            WEIR_UNIMPLEMENTED,
            "The %s op currently only supports the NHWC tensor format on the CPU. The op was given the format: NCHW",
            node->op->name);
    int64_t in = x->dims[3];
    int64_t depth = filter->dims[2];
    if (depth <= 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "filter depth must be stricly positive, got %" PRId64, depth);
    if (in % depth != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "input depth must be evenly divisible by filter depth: %" PRId64 " vs %" PRId64, in, depth);
    int64_t groups = in / depth;
    if (groups <= 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "number of groups must be stricly positive, got %" PRId64, groups);
    if (filter->dims[3] % groups != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "output depth must be evenly divisible by number of groups: %" PRId64 " vs %" PRId64,
                         filter->dims[3], groups);
    return WEIR_STATUS_OK;
}

/* The options of the forward direction, and the output's shape. */
static weir_status forward_options(weir_bind *bind, weir_convolution_options *options)
{
    weir_window window;
    const weir_shape *x = &bind->inputs[0].shape;
    const weir_shape *filter = &bind->inputs[1].shape;
    WEIR_TRY(weir_window_of_convolution(bind->node, &window));
    WEIR_TRY(check_forward(bind->node, &window, x, filter));
    *options = (weir_convolution_options){.type = bind->node->output_dtypes[0], .direction = WEIR_CONVOLUTION_FORWARD};
    set_window(&window, options);
    set_input(x, options);
    set_filter(filter, options);
    fit_window(&window, options);
    bind->outputs[0] = (weir_shape){4, {x->dims[0], options->out_height, options->out_width, options->out_channels}};
    if (weir_shape_elements(bind->outputs[0]) > 0 && weir_shape_elements(*filter) == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "filter must not have zero elements (i.e. all dimensions must be non-zero)");
    return WEIR_STATUS_OK;
}

/* ---- Forward in groups ---- */

/* Each group takes its part of the input's channels to its part of the output's; pieces are copied to scratch memory. */
typedef struct grouped_state {
    convolution_state convolution;             /* of one group */
    int64_t groups, in_channels, out_channels; /* of one group */
    weir_copy_plan x, filter, y;  /* of the first group: out of the whole input and filter, into the whole output */
    size_t x_at, filter_at, y_at; /* in scratch memory, after that of the convolution */
} grouped_state;

static size_t aligned(int64_t elements, weir_dtype type)
{
    size_t size = (size_t)elements * weir_dtype_size(type);
    return (size + WEIR_ALIGNMENT - 1) / WEIR_ALIGNMENT * WEIR_ALIGNMENT;
}

static weir_status run_grouped(const void *state, void *const *arguments, weir_context *context)
{
    const grouped_state *s = state;
    char *scratch = arguments[3];
    weir_copy_plan x = s->x, filter = s->filter, y = s->y;
    for (int64_t group = 0; group < s->groups; group++) {
        weir_copy_run(&x, context->team, arguments[0], scratch + s->x_at);
        weir_copy_run(&filter, context->team, arguments[1], scratch + s->filter_at);
        weir_convolution_run(&s->convolution.plan, context->team, scratch + s->x_at, scratch + s->filter_at, NULL,
                             scratch + s->y_at, scratch);
        weir_copy_run(&y, context->team, scratch + s->y_at, arguments[2]);
        x.in_offset += s->in_channels;
        filter.in_offset += s->out_channels;
        y.out_offset += s->out_channels;
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_grouped(weir_bind *bind, weir_convolution_options *options, int64_t groups)
{
    const weir_shape *x = &bind->inputs[0].shape;
    const weir_shape *filter = &bind->inputs[1].shape;
    const weir_shape *y = &bind->outputs[0];
    convolution_state *one = NULL;
    options->out_channels /= groups;
    WEIR_TRY(bind_plan(bind, options, 0, 1, &one));
    if (bind->run == NULL)
        return WEIR_STATUS_OK;
    grouped_state *state = NULL;
    WEIR_TRY(weir_bind_state(bind, &state));
    state->convolution = *one;
    state->groups = groups;
    state->in_channels = options->in_channels;
    state->out_channels = options->out_channels;
    weir_element element = {.size = weir_dtype_size(options->type)};
    weir_piece_prepare(element, x, 3, 0, options->in_channels, &state->x);
    weir_piece_prepare(element, filter, 3, 0, options->out_channels, &state->filter);
    weir_join_prepare(element, y, 3, 0, options->out_channels, &state->y);
    state->x_at = aligned((int64_t)bind->scratch_size, WEIR_UINT8);
    state->filter_at = state->x_at + aligned(weir_shape_elements(*x) / groups, options->type);
    state->y_at = state->filter_at + aligned(weir_shape_elements(*filter) / groups, options->type);
    bind->scratch_size = state->y_at + aligned(weir_shape_elements(*y) / groups, options->type);
    bind->run = run_grouped;
    bind->state = state;
    return WEIR_STATUS_OK;
}

static weir_status bind_conv2d(weir_bind *bind)
{
    weir_convolution_options options;
    convolution_state *state = NULL;
    WEIR_TRY(forward_options(bind, &options));
    int64_t groups = bind->inputs[0].shape.dims[3] / options.in_channels;
    return groups > 1 ? bind_grouped(bind, &options, groups) : bind_plan(bind, &options, 0, 1, &state);
}

/* ---- Forward with what follows ---- */

/* What a fused convolution does besides: bias and Relu are the convolution kernel's, the rest goes over its result. */
typedef struct fused_state {
    convolution_state convolution;
    const weir_cpu_kernels *kernels;
    bool has_norm, has_activation;
    weir_batch_norm_options norm; /* of inference, perhaps with Relu */
    weir_unary_plan activation;
} fused_state;

static weir_status run_fused(const void *state, void *const *arguments, weir_context *context)
{
    const fused_state *s = state;
    float *y = arguments[s->convolution.output];
    WEIR_TRY(run_convolution(&s->convolution, arguments, context));
    if (s->has_norm)
        weir_batch_norm_forward(s->kernels, &s->norm, context->team, y, arguments[2], arguments[3], arguments[4],
                                arguments[5], NULL, y, arguments[s->convolution.output + 1]);
    if (s->has_activation)
        weir_unary_run(&s->activation, context->team, y, y);
    return WEIR_STATUS_OK;
}

/* "BiasAdd" or "FusedBatchNorm", and perhaps an activation. */
typedef struct fused_ops {
    bool norm, relu;
    int activation; /* enum weir_unary_op; -1: none, or Relu */
} fused_ops;

static bool names(weir_bytes text, const char *name)
{
    return text.size == strlen(name) && memcmp(text.data, name, text.size) == 0;
}

static weir_status not_fused(const weir_attr_value *fused)
{
    weir_text text = {0};
    for (int64_t i = 0; i < fused->list.count; i++)
        weir_text_append(&text, "%s%.*s", i == 0 ? "" : ",", (int)fused->list.s[i].size, fused->list.s[i].data);
    weir_status status = weir_fail(WEIR_UNIMPLEMENTED, "Fusion is not implemented: [%s]", weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

static weir_status read_fused(const weir_node *node, fused_ops *out)
{
    static const struct {
        const char *name;
        weir_unary_op op;
    } activations[] = {{"Relu6", WEIR_UNARY_RELU6},
                       {"Elu", WEIR_UNARY_ELU},
                       {"Tanh", WEIR_UNARY_TANH},
                       {"Sigmoid", WEIR_UNARY_SIGMOID}};
    const weir_attr_value *fused = weir_node_find_attr(node, "fused_ops");
    const weir_bytes *texts = fused->list.s;
    int64_t count = fused->list.count;
    *out = (fused_ops){.activation = -1};
    out->norm = count > 0 && names(texts[0], "FusedBatchNorm");
    bool has_first = out->norm || (count > 0 && names(texts[0], "BiasAdd"));
    out->relu = count == 2 && names(texts[1], "Relu");
    for (size_t i = 0; count == 2 && i < sizeof activations / sizeof activations[0]; i++) {
        if (names(texts[1], activations[i].name))
            out->activation = activations[i].op;
    }
    bool has_second = count == 2 && (out->relu || out->activation >= 0);
    return has_first && (count == 1 || has_second) ? WEIR_STATUS_OK : not_fused(fused);
}

static weir_status check_vector(const weir_bind *bind, int input, int64_t channels)
{
    const weir_shape *shape = &bind->inputs[input].shape;
    if (shape->rank == 1 && shape->dims[0] == channels)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "Input %d of %s must be a vector of %" PRId64 " elements, but has shape %s",
                     input, bind->node->op->name, channels, WEIR_SHAPE_TEXT(*shape));
}

static weir_status check_fused(const weir_bind *bind, const weir_convolution_options *options, const fused_ops *fused)
{
    int vectors = fused->norm ? 4 : 1;
    if (bind->inputs[0].shape.dims[3] != options->in_channels)
        return weir_fail(WEIR_UNIMPLEMENTED,
                         "%s with input depth %" PRId64 " and filter depth %" PRId64 " is not implemented",
                         bind->node->op->name, bind->inputs[0].shape.dims[3], options->in_channels);
    if (fused->norm && options->type != WEIR_FLOAT)
        return weir_fail(WEIR_UNIMPLEMENTED, "%s with batch norm is not implemented for %s", bind->node->op->name,
                         weir_dtype_name(options->type));
    if (bind->node->num_inputs < 2 + vectors)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s needs %d vectors but has %d", bind->node->op->name, vectors,
                         bind->node->num_inputs - 2);
    for (int i = 0; i < vectors; i++)
        WEIR_TRY(check_vector(bind, 2 + i, options->out_channels));
    return WEIR_STATUS_OK;
}

static void set_norm(weir_bind *bind, const weir_convolution_options *options, bool relu, fused_state *state)
{
    state->has_norm = true;
    state->norm = (weir_batch_norm_options){.rows = options->batch * options->out_height * options->out_width,
                                            .channels = options->out_channels,
                                            .epsilon = weir_node_float(bind->node, "epsilon", 0),
                                            .relu = relu};
    size_t size = weir_batch_norm_scratch(&state->norm, bind->lanes);
    bind->scratch_size = size > bind->scratch_size ? size : bind->scratch_size;
    bind->scratch_size += bind->scratch_size == 0; /* the scratch argument is always there */
}

static weir_status bind_fused(weir_bind *bind)
{
    fused_ops fused;
    weir_convolution_options options;
    convolution_state *plan = NULL;
    fused_state *state = NULL;
    WEIR_TRY(read_fused(bind->node, &fused));
    WEIR_TRY(forward_options(bind, &options));
    WEIR_TRY(check_fused(bind, &options, &fused));
    options.bias = !fused.norm;
    options.relu = !fused.norm && fused.relu;
    WEIR_TRY(bind_plan(bind, &options, 0, 1, &plan));
    if (bind->run == NULL)
        return WEIR_STATUS_OK;
    plan->bias = fused.norm ? -1 : 2;
    if (!fused.norm && fused.activation < 0)
        return WEIR_STATUS_OK;
    WEIR_TRY(weir_bind_state(bind, &state));
    state->convolution = *plan;
    state->kernels = weir_cpu_kernels_best();
    if (fused.norm)
        set_norm(bind, &options, fused.relu, state);
    state->has_activation = fused.activation >= 0;
    if (state->has_activation && !weir_unary_prepare((weir_unary_op)fused.activation, options.type,
                                                     weir_shape_elements(bind->outputs[0]), &state->activation))
        return not_fused(weir_node_find_attr(bind->node, "fused_ops"));
    bind->run = run_fused;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- Gradients ---- */

/* What is checked for both gradients, in TensorFlow's order; label is its name for the op. */
static weir_status check_gradient(const weir_window *window, const char *label, const weir_shape *x,
                                  const weir_shape *filter, const weir_shape *dy)
{
    if (window->is_nchw)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%sOp only supports NHWC.", label);
    WEIR_TRY(weir_window_check_convolution(window));
    if (x->rank != 4)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s: input must be 4-dimensional", label);
    if (filter->rank != 4)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s: filter must be 4-dimensional", label);
    if (dy->rank != 4)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s: out_backprop must be 4-dimensional", label);
    if (x->dims[0] != dy->dims[0])
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "%s: input and out_backprop must have the same batch size. Input batch: %" PRId64
                         ", outbackprop batch: %" PRId64 ", batch_dim: 0",
                         label, x->dims[0], dy->dims[0]);
    if (filter->dims[2] <= 0 || x->dims[3] % filter->dims[2] != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s: input depth must be evenly divisible by filter depth", label);
    if (filter->dims[3] != dy->dims[3])
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s: filter and out_backprop must have the same out_depth", label);
    if (x->dims[3] != filter->dims[2])
        return weir_fail(
            WEIR_UNIMPLEMENTED,
            "Gradients for grouped convolutions are not supported on CPU. Please file a feature request if you run "
            "into this issue. Computed input depth %" PRId64 " doesn't match filter input depth %" PRId64,
            x->dims[3], filter->dims[2]);
    return WEIR_STATUS_OK;
}

static weir_status check_spatial(const char *label, const weir_window *window, int direction, int64_t in,
                                 int64_t filter, int64_t actual, int64_t computed)
{
    if (actual == computed)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT,
                     "%s: Size of out_backprop doesn't match computed: actual = %" PRId64 ", computed = %" PRId64
                     " spatial_dim: %d input: %" PRId64 " filter: %" PRId64 " output: %" PRId64 " stride: %" PRId64
                     " dilation: %" PRId64,
                     label, actual, computed, window->first_axis + direction, in, filter, actual,
                     window->stride[direction], window->dilation[direction]);
}

/* The options of a gradient whose three shapes are given. */
static weir_status gradient_options(const weir_bind *bind, const char *label, const weir_shape *x,
                                    const weir_shape *filter, const weir_shape *dy, weir_convolution_options *options)
{
    weir_window window;
    WEIR_TRY(weir_window_of_convolution(bind->node, &window));
    WEIR_TRY(check_gradient(&window, label, x, filter, dy));
    *options = (weir_convolution_options){.type = bind->node->output_dtypes[0]};
    set_window(&window, options);
    set_input(x, options);
    set_filter(filter, options);
    fit_window(&window, options);
    WEIR_TRY(check_spatial(label, &window, 0, x->dims[1], filter->dims[0], dy->dims[1], options->out_height));
    return check_spatial(label, &window, 1, x->dims[2], filter->dims[1], dy->dims[2], options->out_width);
}

/* The shape of x from four numbers, or from height and width alone. */
static weir_status read_input_sizes(const weir_bind *bind, const weir_shape *filter, const weir_shape *dy,
                                    weir_shape *out)
{
    int64_t sizes[4];
    int64_t count = weir_bind_ints(bind, 0, sizes, 4);
    if (bind->inputs[0].shape.rank != 1 || (count != 4 && count != 2))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Conv2DBackpropInput requires input_sizes to contain 4 values or 2 values, but got: %" PRId64,
                         count);
    if (dy->rank != 4)
        return weir_fail(WEIR_INVALID_ARGUMENT, "input_sizes must be 4-dimensional, got: %d", dy->rank);
    if (count == 2 && filter->rank == 4) {
        *out = (weir_shape){4, {dy->dims[0], sizes[0], sizes[1], filter->dims[2]}};
        return WEIR_STATUS_OK;
    }
    return weir_bind_shape(bind, 0, out);
}

static weir_status bind_input_gradient(weir_bind *bind)
{
    const weir_shape *filter = &bind->inputs[1].shape;
    const weir_shape *dy = &bind->inputs[2].shape;
    weir_shape *x = &bind->outputs[0];
    weir_convolution_options options;
    convolution_state *state = NULL;
    WEIR_TRY(read_input_sizes(bind, filter, dy, x));
    WEIR_TRY(gradient_options(bind, "Conv2DCustomBackpropInput", x, filter, dy, &options));
    options.direction = WEIR_CONVOLUTION_INPUT_GRADIENT;
    return bind_plan(bind, &options, 2, 1, &state);
}

static weir_status bind_filter_gradient(weir_bind *bind)
{
    const weir_shape *x = &bind->inputs[0].shape;
    const weir_shape *dy = &bind->inputs[2].shape;
    weir_shape *filter = &bind->outputs[0];
    weir_convolution_options options;
    convolution_state *state = NULL;
    WEIR_TRY(weir_bind_shape(bind, 1, filter));
    WEIR_TRY(gradient_options(bind, "Conv2DCustomBackpropFilter", x, filter, dy, &options));
    options.direction = WEIR_CONVOLUTION_FILTER_GRADIENT;
    return bind_plan(bind, &options, 0, 2, &state);
}

/* ---- Table ---- */

static const weir_dtype kernel_types[] = {WEIR_FLOAT, WEIR_DOUBLE, WEIR_HALF, WEIR_BFLOAT16, WEIR_INVALID_DTYPE};

#define TYPES .types = {{"T", kernel_types}}

const weir_kernel weir_convolution_op_kernels[] = {
    {.op = "Conv2D", TYPES, .bind = bind_conv2d, .on_accelerators = true},
    {.op = "_FusedConv2D", TYPES, .bind = bind_fused, .on_accelerators = true},
    {.op = "Conv2DBackpropInput",
     TYPES,
     .bind = bind_input_gradient,
     .shape_inputs = WEIR_INPUT(0),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(0)},
    {.op = "Conv2DBackpropFilter",
     TYPES,
     .bind = bind_filter_gradient,
     .shape_inputs = WEIR_INPUT(1),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(1)},
    {.op = NULL},
};
