/*
 * Convolutions: which loops for which sizes. The gradient of the input is a forward convolution of y's gradient with the
 * filter reversed and transposed; with a stride it falls into stride x stride of them, one for each place that a cell
 * can have under the filter (a phase). Routes:
 *
 *     MATMUL    1x1 filters without stride and padding are a matrix product
 *     IMAGES    lanes along 16 images, for few channels
 *     CHANNELS  lanes along the channels, for many
 *     GENERIC   plain loops: other types, a stride together with a dilation in the input's gradient, empty sizes
 */
#include "kernel/cpu/convolution.h"

#include "kernel/cpu/convolution_generic.h"
#include "kernel/cpu/convolution_routes.h"
#include "kernel/cpu/matmul_tile.h"

#define LINE 64

int64_t weir_window_reach(int64_t window, int64_t dilation)
{
    int64_t reach;
    bool is_too_large =
        __builtin_mul_overflow(window - 1, dilation, &reach) || __builtin_add_overflow(reach, 1, &reach);
    return is_too_large ? INT64_MAX : reach;
}

int64_t weir_window_same(int64_t in, int64_t window, int64_t stride, int64_t dilation, int64_t *pad_before)
{
    const int64_t out = in / stride + (in % stride != 0);
    const int64_t pad = ((out - 1) * stride - in) + weir_window_reach(window, dilation);
    *pad_before = pad > 0 ? pad / 2 : 0;
    return out;
}

int64_t weir_window_valid(int64_t in, int64_t window, int64_t stride, int64_t dilation)
{
    const int64_t reach = weir_window_reach(window, dilation);
    return in < reach ? 0 : (in - reach) / stride + 1;
}

weir_convolution_axis weir_convolution_axis_of(const weir_convolution_plan *plan, bool height, int64_t phase)
{
    const weir_convolution_options *o = &plan->options;
    const int64_t in = height ? o->in_height : o->in_width, out = height ? o->out_height : o->out_width;
    const int64_t stride = height ? o->stride_height : o->stride_width, pad = height ? o->pad_top : o->pad_left;
    const int64_t dilation = height ? o->dilation_height : o->dilation_width;
    const int64_t taps = height ? o->filter_height : o->filter_width;
    if (o->direction != WEIR_CONVOLUTION_INPUT_GRADIENT)
        return (weir_convolution_axis){in, out, stride, -pad, taps, dilation, 0, 1};
    /* Cell y takes tap i from row (y + pad - i * dilation) / stride of y's gradient where that is whole. Cells with the
     * same remainder of y + pad share their taps: phase, phase + stride, ... in reverse. */
    const int64_t used = phase < taps ? weir_divide_up(taps - phase, stride) : 0;
    const int64_t first = ((phase - pad) % stride + stride) % stride;
    const int64_t cells = first < in ? weir_divide_up(in - first, stride) : 0;
    const int64_t start = (first + pad - phase) / stride - (used - 1) * dilation;
    return (weir_convolution_axis){out, cells, 1, start, used, dilation, first, stride};
}

void weir_convolution_taps(const weir_convolution_axis *axis, int64_t from, int64_t to, int64_t *first, int64_t *last)
{
    /* The last output reaches furthest forward, so it is the first to see tap 0 inside; the first reaches furthest back. */
    const int64_t low = to * axis->step + axis->start, high = from * axis->step + axis->start;
    *first = low < 0 ? weir_least(axis->taps, weir_divide_up(-low, axis->dilation)) : 0;
    *last = high >= axis->in ? 0 : weir_least(axis->taps, (axis->in - 1 - high) / axis->dilation + 1);
    *last = weir_most(*first, *last);
}

typedef struct turn_context {
    const weir_convolution_context *run;
    int64_t phase_height, phase_width;
} turn_context;

/* One tap: [in][out] of the filter to [out][in]. */
static void turn_tap(void *context, int64_t tap, int lane)
{
    (void)lane;
    const turn_context *turn = context;
    const weir_convolution_context *run = turn->run;
    const weir_convolution_options *o = &run->plan->options;
    const int64_t i = turn->phase_height + o->stride_height * (run->height.taps - 1 - tap / run->width.taps);
    const int64_t j = turn->phase_width + o->stride_width * (run->width.taps - 1 - tap % run->width.taps);
    run->plan->kernels->matmul->transpose(
        run->second + (i * o->filter_width + j) * o->in_channels * o->out_channels, o->out_channels, o->in_channels,
        o->out_channels, run->filter + tap * o->out_channels * run->plan->filter_row, run->plan->filter_row);
}

void weir_convolution_turn_filter(weir_convolution_context *run, weir_team *team, int64_t phase_height,
                                  int64_t phase_width)
{
    turn_context turn = {run, phase_height, phase_width};
    weir_parallel_for(team, run->height.taps * run->width.taps, turn_tap, &turn);
}

/* A 1x1 filter that looks at each pixel once: [pixels, in] times [in, out]. */
static bool is_product(const weir_convolution_options *o)
{
    return o->filter_height == 1 && o->filter_width == 1 && o->stride_height == 1 && o->stride_width == 1 &&
           o->pad_top == 0 && o->pad_left == 0 && o->out_height == o->in_height && o->out_width == o->in_width;
}

static void prepare_product(weir_convolution_plan *plan)
{
    const weir_convolution_options *o = &plan->options;
    const int64_t pixels = o->batch * o->in_height * o->in_width;
    weir_matmul_options product = {.type = o->type, .m = pixels, .n = o->out_channels, .k = o->in_channels};
    product.bias = o->bias;
    product.relu = o->relu;
    if (o->direction == WEIR_CONVOLUTION_INPUT_GRADIENT) {
        product.n = o->in_channels;
        product.k = o->out_channels;
        product.transpose_b = true;
    } else if (o->direction == WEIR_CONVOLUTION_FILTER_GRADIENT) {
        product.m = o->in_channels;
        product.k = pixels;
        product.transpose_a = true;
    }
    weir_matmul_prepare(plan->kernels, &product, &plan->matmul);
}

static bool any_is_zero(const weir_convolution_options *o)
{
    return o->batch == 0 || o->in_height == 0 || o->in_width == 0 || o->in_channels == 0 || o->filter_height == 0 ||
           o->filter_width == 0 || o->out_height == 0 || o->out_width == 0 || o->out_channels == 0;
}

static int choose_route(const weir_convolution_plan *plan)
{
    const weir_convolution_options *o = &plan->options;
    if (is_product(o) && o->type == WEIR_FLOAT)
        return WEIR_CONVOLUTION_MATMUL;
    if (o->type != WEIR_FLOAT || any_is_zero(o))
        return WEIR_CONVOLUTION_GENERIC;
    const bool strides = o->stride_height > 1 || o->stride_width > 1;
    const bool dilations = o->dilation_height > 1 || o->dilation_width > 1;
    if (o->direction == WEIR_CONVOLUTION_INPUT_GRADIENT && strides && dilations)
        return WEIR_CONVOLUTION_GENERIC;
    return weir_convolution_images_better(plan) ? WEIR_CONVOLUTION_IMAGES : WEIR_CONVOLUTION_CHANNELS;
}

void weir_convolution_prepare(const weir_cpu_kernels *kernels, const weir_convolution_options *options,
                              weir_convolution_plan *plan)
{
    *plan = (weir_convolution_plan){.options = *options, .kernels = kernels};
    weir_convolution_options *o = &plan->options;
    o->stride_height = o->stride_height ? o->stride_height : 1;
    o->stride_width = o->stride_width ? o->stride_width : 1;
    o->dilation_height = o->dilation_height ? o->dilation_height : 1;
    o->dilation_width = o->dilation_width ? o->dilation_width : 1;
    const bool backwards = o->direction == WEIR_CONVOLUTION_INPUT_GRADIENT;
    plan->in_channels = backwards ? o->out_channels : o->in_channels;
    plan->out_channels = backwards ? o->in_channels : o->out_channels;
    plan->phases_height = backwards ? o->stride_height : 1;
    plan->phases_width = backwards ? o->stride_width : 1;
    plan->height = weir_convolution_axis_of(plan, true, 0);
    plan->width = weir_convolution_axis_of(plan, false, 0);
    plan->route = choose_route(plan);
    switch (plan->route) {
    case WEIR_CONVOLUTION_MATMUL:
        prepare_product(plan);
        break;
    case WEIR_CONVOLUTION_CHANNELS:
        weir_convolution_channels_prepare(plan);
        break;
    case WEIR_CONVOLUTION_IMAGES:
        weir_convolution_images_prepare(plan);
        break;
    default:
        plan->blocks = weir_convolution_generic_blocks(o);
        break;
    }
}

size_t weir_convolution_scratch(const weir_convolution_plan *plan, int lanes)
{
    if (plan->route == WEIR_CONVOLUTION_MATMUL)
        return weir_matmul_scratch(&plan->matmul, lanes);
    return (size_t)(weir_round_up(plan->shared_bytes, LINE) + lanes * weir_round_up(plan->lane_bytes, LINE));
}

typedef struct generic_context {
    const weir_convolution_options *options;
    const void *first, *second, *bias;
    void *out;
} generic_context;

static void run_generic(void *context, int64_t block, int lane)
{
    (void)lane;
    const generic_context *run = context;
    weir_convolution_generic(run->options, block, run->first, run->second, run->bias, run->out);
}

void weir_convolution_run(const weir_convolution_plan *plan, weir_team *team, const void *first, const void *second,
                          const void *bias, void *out, void *scratch)
{
    if (plan->route == WEIR_CONVOLUTION_MATMUL) {
        weir_matmul_run(&plan->matmul, team, first, second, bias, out, scratch);
        return;
    }
    if (plan->route == WEIR_CONVOLUTION_GENERIC) {
        generic_context generic = {&plan->options, first, second, bias, out};
        weir_parallel_for(team, plan->blocks, run_generic, &generic);
        return;
    }
    weir_convolution_context run = {
        .plan = plan,
        .first = first,
        .second = second,
        .bias = plan->options.bias ? bias : NULL,
        .out = out,
        .lanes = (char *)scratch + weir_round_up(plan->shared_bytes, LINE),
        .height = plan->height,
        .width = plan->width,
    };
    if (plan->route == WEIR_CONVOLUTION_IMAGES)
        weir_convolution_images_run(&run, team, scratch);
    else
        weir_convolution_channels_run(&run, team, scratch);
}
