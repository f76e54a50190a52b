/*
 * Kernels of batch_norm.c. The processor's kernel takes floats with the channels last; images of another type or layout
 * go through scratch memory on their way in and out.
 */
#include "kernel/cpu/batch_norm.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/cpu/cast.h"
#include "op/array_support.h"

/* ---- Images on their way in and out ---- */

/* How a node's images lie in memory. */
typedef struct image_layout {
    weir_dtype type;
    int channel_axis;
    int64_t rows, channels, elements;
    bool is_first;         /* channels come before height and width */
    bool is_narrow;        /* half or bfloat16 */
    weir_copy_plan *moves; /* [2] where channels come first: to channels last, and back */
    weir_cast_function *widen, *narrow;
} image_layout;

static size_t aligned(size_t size)
{
    return (size + WEIR_ALIGNMENT - 1) / WEIR_ALIGNMENT * WEIR_ALIGNMENT;
}

static bool is_plain(const image_layout *layout)
{
    return !layout->is_first && !layout->is_narrow;
}

/* Scratch memory of an image as floats, and of one in its own type while it is moved. */
static size_t floats_size(const image_layout *layout)
{
    return aligned((size_t)layout->elements * sizeof(float));
}

static size_t moved_size(const image_layout *layout)
{
    return layout->is_first && layout->is_narrow ? aligned((size_t)layout->elements * weir_dtype_size(layout->type))
                                                 : 0;
}

static weir_status prepare_moves(weir_bind *bind, const weir_shape *x, image_layout *layout)
{
    void *moves = NULL;
    WEIR_TRY(weir_bind_take(bind, 2 * sizeof(weir_copy_plan), &moves));
    layout->moves = moves;
    weir_element element = {.size = weir_dtype_size(layout->type)};
    int64_t pixels = weir_shape_span(x, 2, x->rank);
    weir_shape first = {3, {x->dims[0], layout->channels, pixels}};
    weir_shape last = {3, {x->dims[0], pixels, layout->channels}};
    const int swap[] = {0, 2, 1};
    weir_transpose_prepare(element, &first, swap, &layout->moves[0]);
    weir_transpose_prepare(element, &last, swap, &layout->moves[1]);
    return WEIR_STATUS_OK;
}

static weir_status read_layout(weir_bind *bind, const weir_shape *x, image_layout *layout)
{
    weir_bytes format = weir_node_string(bind->node, "data_format");
    if (x->rank != 4 && x->rank != 5)
        return weir_fail(WEIR_INVALID_ARGUMENT, "input must be 4 or 5-dimensional%s", WEIR_SHAPE_TEXT(*x));
    layout->type = bind->node->output_dtypes[0];
    layout->is_first = format.size >= 2 && format.data[1] == 'C';
    layout->channel_axis = layout->is_first ? 1 : x->rank - 1;
    layout->is_narrow = layout->type != WEIR_FLOAT;
    layout->channels = x->dims[layout->channel_axis];
    layout->elements = weir_shape_elements(*x);
    layout->rows = layout->channels > 0 ? layout->elements / layout->channels : 0;
    if (layout->is_first)
        WEIR_TRY(prepare_moves(bind, x, layout));
    if (layout->is_narrow) {
        layout->widen = weir_cast_find(layout->type, WEIR_FLOAT);
        layout->narrow = weir_cast_find(WEIR_FLOAT, layout->type);
    }
    return WEIR_STATUS_OK;
}

/* The image as floats with the channels last: itself, or a copy in floats. */
static const float *take_image(const image_layout *layout, weir_team *team, const void *image, float *floats,
                               void *moved)
{
    if (is_plain(layout))
        return image;
    if (layout->is_first) {
        void *to = layout->is_narrow ? moved : (void *)floats;
        weir_copy_run(&layout->moves[0], team, image, to);
        image = to;
    }
    if (layout->is_narrow)
        layout->widen(team, image, floats, layout->elements);
    return floats;
}

/* Puts floats with the channels last into an image that is not plain. */
static void give_image(const image_layout *layout, weir_team *team, const float *floats, void *moved, void *image)
{
    const void *from = floats;
    if (layout->is_narrow) {
        void *to = layout->is_first ? moved : image;
        layout->narrow(team, floats, to, layout->elements);
        from = to;
    }
    if (layout->is_first)
        weir_copy_run(&layout->moves[1], team, from, image);
}

/* ---- Forward ---- */

typedef struct forward_state {
    const weir_cpu_kernels *kernels;
    weir_batch_norm_options options;
    image_layout layout;
    float factor; /* exponential_avg_factor */
    int outputs;  /* argument of the first output */
    bool has_third_reserve;
    size_t kernel_scratch;
} forward_state;

/* (1 - f) * given + f * batch */
static void average(const forward_state *s, const float *given, float *batch)
{
    for (int64_t i = 0; s->factor != 1 && i < s->options.channels; i++)
        batch[i] = (1 - s->factor) * given[i] + s->factor * batch[i];
}

static weir_status run_forward(const void *state, void *const *arguments, weir_context *context)
{
    const forward_state *s = state;
    const image_layout *layout = &s->layout;
    void *const *outputs = arguments + s->outputs;
    size_t vector = (size_t)s->options.channels * sizeof(float);
    float *batch_mean = outputs[1], *batch_variance = outputs[2], *mean = outputs[3], *variance = outputs[4];
    char *scratch = outputs[s->has_third_reserve ? 6 : 5];
    float *floats = (float *)(scratch + s->kernel_scratch);
    void *moved = scratch + s->kernel_scratch + floats_size(layout);
    if (!s->options.training) {
        memcpy(mean, arguments[3], vector);
        memcpy(variance, arguments[4], vector);
    }
    const float *x = take_image(layout, context->team, arguments[0], floats, moved);
    float *y = is_plain(layout) ? outputs[0] : floats;
    weir_batch_norm_forward(s->kernels, &s->options, context->team, x, arguments[1], arguments[2], mean, variance,
                            batch_variance, y, scratch);
    if (!is_plain(layout))
        give_image(layout, context->team, y, moved, outputs[0]);
    memcpy(batch_mean, mean, vector);
    if (s->options.training) {
        average(s, arguments[3], batch_mean);
        average(s, arguments[4], batch_variance);
    } else {
        memcpy(batch_variance, variance, vector);
    }
    if (s->has_third_reserve)
        *(float *)outputs[5] = 0;
    return WEIR_STATUS_OK;
}

static weir_status check_vector_rank(const weir_bind *bind, int input, const char *name)
{
    const weir_shape *shape = &bind->inputs[input].shape;
    if (shape->rank == 1)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "%s must be 1-dimensional%s", name, WEIR_SHAPE_TEXT(*shape));
}

static weir_status check_channels(const weir_bind *bind, int input, const char *name, int64_t channels)
{
    int64_t given = bind->inputs[input].shape.dims[0];
    if (given == channels)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT,
                     "%s must have the same number of elements as the channels of x, got %" PRId64 " and %" PRId64,
                     name, given, channels);
}

static weir_status check_forward(const weir_bind *bind, const forward_state *state)
{
    int64_t channels = state->layout.channels;
    WEIR_TRY(check_vector_rank(bind, 1, "scale"));
    WEIR_TRY(check_vector_rank(bind, 2, "offset"));
    WEIR_TRY(check_vector_rank(bind, 3, "estimated_mean"));
    WEIR_TRY(check_vector_rank(bind, 4, "estimated_variance"));
    WEIR_TRY(check_channels(bind, 1, "scale", channels));
    WEIR_TRY(check_channels(bind, 2, "offset", channels));
    if (!state->options.training) {
        WEIR_TRY(check_channels(bind, 3, "When is_training=false, mean", channels));
        return check_channels(bind, 4, "When is_training=false, variance", channels);
    }
    if (state->factor != 1) {
        WEIR_TRY(check_channels(bind, 3, "When exponential_avg_factor != 1, mean", channels));
        return check_channels(bind, 4, "When exponential_avg_factor != 1, variance", channels);
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_forward_with(weir_bind *bind, bool relu)
{
    const weir_shape *x = &bind->inputs[0].shape;
    forward_state *state = NULL;
    WEIR_TRY(weir_bind_state(bind, &state));
    WEIR_TRY(read_layout(bind, x, &state->layout));
    state->kernels = weir_cpu_kernels_best();
    state->factor = weir_node_float(bind->node, "exponential_avg_factor", 1);
    state->outputs = bind->node->num_inputs;
    state->has_third_reserve = bind->node->num_outputs == 6;
    state->options = (weir_batch_norm_options){.rows = state->layout.rows,
                                               .channels = state->layout.channels,
                                               .epsilon = weir_node_float(bind->node, "epsilon", 0),
                                               .training = weir_node_bool(bind->node, "is_training", true),
                                               .relu = relu};
    WEIR_TRY(check_forward(bind, state));
    state->kernel_scratch = aligned(weir_batch_norm_scratch(&state->options, bind->lanes));
    bind->scratch_size = state->kernel_scratch + 1; /* the scratch argument is always there */
    if (!is_plain(&state->layout))
        bind->scratch_size += floats_size(&state->layout) + moved_size(&state->layout);
    bind->outputs[0] = *x;
    for (int i = 1; i < 5; i++)
        bind->outputs[i] = (weir_shape){1, {state->layout.channels}};
    if (state->has_third_reserve)
        bind->outputs[5] = weir_shape_scalar();
    bind->run = run_forward;
    bind->state = state;
    return WEIR_STATUS_OK;
}

static weir_status bind_forward(weir_bind *bind)
{
    return bind_forward_with(bind, false);
}

static weir_status bind_forward_ex(weir_bind *bind)
{
    weir_bytes mode = weir_node_string(bind->node, "activation_mode");
    bool relu = weir_node_string_is(bind->node, "activation_mode", "Relu");
    if (!relu && !weir_node_string_is(bind->node, "activation_mode", "Identity"))
        return weir_fail(WEIR_UNIMPLEMENTED, "_FusedBatchNormEx has no activation mode '%.*s'", (int)mode.size,
                         mode.data);
    if (bind->node->num_inputs > 5)
        return weir_fail(WEIR_UNIMPLEMENTED, "_FusedBatchNormEx with %d side inputs is not implemented",
                         bind->node->num_inputs - 5);
    return bind_forward_with(bind, relu);
}

/* ---- Gradient ---- */

typedef struct backward_state {
    const weir_cpu_kernels *kernels;
    weir_batch_norm_options options;
    image_layout layout;
    int outputs; /* argument of the first output */
    size_t kernel_scratch;
} backward_state;

static weir_status run_backward(const void *state, void *const *arguments, weir_context *context)
{
    const backward_state *s = state;
    const image_layout *layout = &s->layout;
    void *const *outputs = arguments + s->outputs;
    char *scratch = outputs[5];
    float *dy_floats = (float *)(scratch + s->kernel_scratch);
    float *x_floats = (float *)(scratch + s->kernel_scratch + floats_size(layout));
    void *moved = scratch + s->kernel_scratch + 2 * floats_size(layout);
    const float *dy = take_image(layout, context->team, arguments[0], dy_floats, moved);
    const float *x = take_image(layout, context->team, arguments[1], x_floats, moved);
    float *dx = is_plain(layout) ? outputs[0] : dy_floats;
    weir_batch_norm_gradient(s->kernels, &s->options, context->team, dy, x, arguments[2], arguments[3], arguments[4],
                             dx, outputs[1], outputs[2], scratch);
    if (!is_plain(layout))
        give_image(layout, context->team, dx, moved, outputs[0]);
    return WEIR_STATUS_OK;
}

static weir_status check_backward(const weir_bind *bind, int64_t channels)
{
    const weir_shape *dy = &bind->inputs[0].shape;
    const weir_shape *x = &bind->inputs[1].shape;
    if (!weir_shape_equal(*dy, *x))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "x and y_backprop must have same shape, but x has shape %s and y_backprop has shape %s",
                         WEIR_SHAPE_TEXT(*x), WEIR_SHAPE_TEXT(*dy));
    static const char *const names[] = {"scale", "reserve_space_1", "reserve_space_2"};
    for (int i = 0; i < 3; i++)
        WEIR_TRY(check_vector_rank(bind, 2 + i, names[i]));
    for (int i = 0; i < 3; i++)
        WEIR_TRY(check_channels(bind, 2 + i, names[i], channels));
    return WEIR_STATUS_OK;
}

static weir_status bind_backward(weir_bind *bind)
{
    const weir_shape *x = &bind->inputs[1].shape;
    backward_state *state = NULL;
    WEIR_TRY(weir_bind_state(bind, &state));
    WEIR_TRY(read_layout(bind, x, &state->layout));
    WEIR_TRY(check_backward(bind, state->layout.channels));
    state->kernels = weir_cpu_kernels_best();
    state->outputs = bind->node->num_inputs;
    state->options = (weir_batch_norm_options){.rows = state->layout.rows,
                                               .channels = state->layout.channels,
                                               .epsilon = weir_node_float(bind->node, "epsilon", 0),
                                               .training = weir_node_bool(bind->node, "is_training", true)};
    state->kernel_scratch = aligned(weir_batch_norm_scratch(&state->options, bind->lanes));
    bind->scratch_size = state->kernel_scratch + 1; /* the scratch argument is always there */
    if (!is_plain(&state->layout))
        bind->scratch_size += 2 * floats_size(&state->layout) + moved_size(&state->layout);
    bind->outputs[0] = *x;
    bind->outputs[1] = bind->outputs[2] = (weir_shape){1, {state->layout.channels}};
    bind->outputs[3] = bind->outputs[4] = (weir_shape){1, {0}};
    if (is_plain(&state->layout))
        bind->may_overwrite[0] = WEIR_INPUT(0);
    bind->run = run_backward;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- Table ---- */

static const weir_dtype only_float[] = {WEIR_FLOAT, WEIR_INVALID_DTYPE};

#define WITH_U .types = {{"U", only_float}}

const weir_kernel weir_batch_norm_op_kernels[] = {
    {.op = "FusedBatchNorm", .bind = bind_forward, .on_accelerators = true},
    {.op = "FusedBatchNormV2", WITH_U, .bind = bind_forward, .on_accelerators = true},
    {.op = "FusedBatchNormV3", WITH_U, .bind = bind_forward, .on_accelerators = true},
    {.op = "_FusedBatchNormEx", WITH_U, .bind = bind_forward_ex, .on_accelerators = true},
    {.op = "FusedBatchNormGrad", .bind = bind_backward, .on_accelerators = true},
    {.op = "FusedBatchNormGradV2", WITH_U, .bind = bind_backward, .on_accelerators = true},
    {.op = "FusedBatchNormGradV3", WITH_U, .bind = bind_backward, .on_accelerators = true},
    {.op = NULL},
};
