/*
 * Convolutions with lanes along the batch: 16 images side by side make a group, and every vector is full however few
 * channels there are. A group is brought into this layout, with zeros around the image, and its results back, in
 * scratch memory; one group is the unit of work.
 *
 * Taps that would only see zeros for all pixels of a tile are left out: filter rows and columns by their bounds.
 */
#include <string.h>

#include "kernel/cpu/convolution_routes.h"
#include "kernel/cpu/convolution_tier.h"
#include "kernel/cpu/matmul_tile.h"

#define LINE 64
#define MOST_BYTES (1 << 20) /* of a group in scratch: it should stay in the second cache */
#define FILTER_BLOCKS 32     /* blocks of a filter gradient, each with partial sums of its own */
#define STREAM_BYTES (8 << 20) /* results larger than this would push everything else out of the caches */

/* Rows and columns of a group with its zeros: all that some tap of some result reads. */
typedef struct frame {
    int64_t top, left; /* zeros before the image; negative: rows or columns that nothing reads */
    int64_t rows, columns;
} frame;

static frame frame_of(const weir_convolution_plan *plan)
{
    const weir_convolution_axis *h = &plan->height, *w = &plan->width;
    return (frame){
        .top = weir_most(0, -h->start),
        .left = weir_most(0, -w->start),
        .rows = weir_most(0, -h->start) +
                weir_most(h->in, (h->out - 1) * h->step + (h->taps - 1) * h->dilation + h->start + 1),
        .columns = weir_most(0, -w->start) +
                   weir_most(w->in, (w->out - 1) * w->step + (w->taps - 1) * w->dilation + w->start + 1),
    };
}

static int64_t frame_bytes(const weir_convolution_plan *plan)
{
    const frame f = frame_of(plan);
    return f.rows * f.columns * plan->in_channels * WEIR_GROUP * 4;
}

/* Bytes of the results that are in the group's layout at one time: the rows of two tiles, or y's gradient in a filter
 * gradient. */
static int64_t result_bytes(const weir_convolution_plan *plan)
{
    const int64_t rows = plan->options.direction == WEIR_CONVOLUTION_FILTER_GRADIENT
                             ? plan->height.out
                             : 2 * plan->kernels->convolution->tile_high;
    return rows * plan->width.out * plan->out_channels * WEIR_GROUP * 4;
}

bool weir_convolution_images_better(const weir_convolution_plan *plan)
{
    const weir_convolution_options *o = &plan->options;
    if (plan->phases_height != 1 || plan->phases_width != 1 || o->dilation_width != 1)
        return false;
    if (frame_bytes(plan) + result_bytes(plan) > MOST_BYTES)
        return false;
    const int64_t lanes = plan->kernels->matmul->lanes;
    const double images = (double)o->batch / (double)weir_round_up(o->batch, WEIR_GROUP);
    const double channels = (double)plan->out_channels / (double)weir_round_up(plan->out_channels, lanes);
    return 0.8 * images > channels;
}

void weir_convolution_images_prepare(weir_convolution_plan *plan)
{
    const weir_convolution_options *o = &plan->options;
    const int64_t groups = weir_divide_up(o->batch, WEIR_GROUP);
    const int64_t filter = o->filter_height * o->filter_width * o->in_channels * o->out_channels * 4;
    plan->filter_row = plan->out_channels;
    plan->block_images = 1; /* groups */
    if (o->direction == WEIR_CONVOLUTION_FILTER_GRADIENT) {
        plan->block_images = weir_divide_up(groups, FILTER_BLOCKS);
        plan->filter_bytes = weir_round_up(filter, LINE);
    }
    plan->blocks = weir_divide_up(groups, plan->block_images);
    if (o->direction == WEIR_CONVOLUTION_FILTER_GRADIENT)
        plan->shared_bytes = plan->blocks * plan->filter_bytes;
    else if (o->direction == WEIR_CONVOLUTION_INPUT_GRADIENT)
        plan->shared_bytes = plan->filter_bytes = weir_round_up(filter, LINE);
    plan->lane_bytes = weir_round_up(frame_bytes(plan), LINE) + result_bytes(plan);
}

/* Brings images image .. image + 15, as far as there are, into a group with zeros around. */
static void fill_frame(const weir_convolution_context *run, int64_t image, float *group)
{
    const weir_convolution_plan *plan = run->plan;
    const frame f = frame_of(plan);
    const int64_t row = plan->width.in * plan->in_channels, size = plan->height.in * row;
    const int64_t cells = f.columns * plan->in_channels * WEIR_GROUP, left = f.left * plan->in_channels * WEIR_GROUP;
    const int64_t images = weir_least(WEIR_GROUP, plan->options.batch - image);
    const float *in = run->first + image * size;
    memset(group, 0, (size_t)(f.top * cells) * 4);
    group += f.top * cells;
    for (int64_t h = 0; h < plan->height.in; h++, group += cells) {
        memset(group, 0, (size_t)left * 4);
        plan->kernels->convolution->to_group(in + h * row, size, images, row, group + left);
        memset(group + left + row * WEIR_GROUP, 0, (size_t)(cells - left - row * WEIR_GROUP) * 4);
    }
    memset(group, 0, (size_t)((f.rows - f.top - plan->height.in) * cells) * 4);
}

/* Results on their way from the group's layout to the caller's array, a little after each tile, so that memory has time
 * to take them. */
typedef struct outflow {
    const float *from; /* [count][16] */
    float *to;         /* of the first image */
    int64_t count, done, row_stride, images;
    bool stream;
} outflow;

/* Moves results until part of parts are done. */
static void flow(const weir_convolution_kernels *kernels, outflow *f, int64_t part, int64_t parts)
{
    const int64_t end = part == parts ? f->count : f->count * part / parts / WEIR_GROUP * WEIR_GROUP;
    if (end > f->done)
        kernels->from_group(f->from + f->done * WEIR_GROUP, end - f->done, f->images, f->to + f->done, f->row_stride,
                            f->stream);
    f->done = end;
}

/* Fetches part of parts of the next group's images into the cache. */
static void look_ahead(const weir_convolution_context *run, int64_t image, int64_t part, int64_t parts)
{
    const weir_convolution_plan *plan = run->plan;
    const int64_t size = plan->height.in * plan->width.in * plan->in_channels;
    const int64_t images = weir_least(WEIR_GROUP, plan->options.batch - image);
    if (images <= 0)
        return;
    const char *start = (const char *)(run->first + image * size);
    const int64_t lines = images * size * 4 / LINE;
    for (int64_t line = lines * part / parts; line < lines * (part + 1) / parts; line++)
        __builtin_prefetch(start + line * LINE, 0, 2);
}

/* One group of images. */
static void forward_group(void *context, int64_t group, int lane)
{
    const weir_convolution_context *run = context;
    const weir_convolution_plan *plan = run->plan;
    const weir_convolution_kernels *kernels = plan->kernels->convolution;
    const weir_convolution_axis *height = &plan->height, *width = &plan->width;
    const frame f = frame_of(plan);
    float *in = (float *)(run->lanes + lane * weir_round_up(plan->lane_bytes, LINE));
    float *results = in + weir_round_up(frame_bytes(plan), LINE) / 4;
    const int64_t image = group * WEIR_GROUP, images = weir_least(WEIR_GROUP, plan->options.batch - image);
    const int64_t cell = plan->in_channels * WEIR_GROUP, row = f.columns * cell;
    const int64_t filter_column = plan->in_channels * plan->out_channels, filter_row = width->taps * filter_column;
    const int64_t out_row = width->out * plan->out_channels, out_size = height->out * out_row;
    const int64_t wide = plan->out_channels <= kernels->narrow_channels ? kernels->narrow_wide : kernels->tile_wide;
    const int64_t tiles = weir_divide_up(width->out, wide), lines = weir_divide_up(height->out, kernels->tile_high);
    fill_frame(run, image, in);
    weir_group_forward g = {
        .in_column = width->step * cell,
        .in_row = height->step * row,
        .in_tap_row = height->dilation * row,
        .filter_row = plan->out_channels,
        .filter_tap_row = filter_row,
        .out_column = plan->out_channels * WEIR_GROUP,
        .out_row = out_row * WEIR_GROUP,
        .channels = plan->out_channels,
        .bias = run->bias,
        .relu = plan->options.relu,
    };
    outflow leaving = {
        .row_stride = out_size, .images = images, .stream = plan->options.batch * out_size * 4 >= STREAM_BYTES};
    for (int64_t line = 0; line < lines; line++) {
        const int64_t h = line * kernels->tile_high, high = weir_least(kernels->tile_high, height->out - h);
        float *out = results + line % 2 * kernels->tile_high * g.out_row;
        int64_t first, last;
        weir_convolution_taps(height, h, h + high - 1, &first, &last);
        g.taps = last - first;
        for (int64_t tile = 0; tile < tiles; tile++) {
            const int64_t w = tile * wide, columns = weir_least(wide, width->out - w);
            int64_t left, right;
            weir_convolution_taps(width, w, w + columns - 1, &left, &right);
            g.depth = (right - left) * plan->in_channels;
            g.in = in + (h * height->step + first * height->dilation + height->start + f.top) * row +
                   (w * width->step + left + width->start + f.left) * cell;
            g.filter = run->filter + first * filter_row + left * filter_column;
            g.out = out + w * g.out_column;
            kernels->forward(&g, high, columns);
            flow(kernels, &leaving, tile + 1, tiles);
            look_ahead(run, image + WEIR_GROUP, line * tiles + tile, lines * tiles);
        }
        leaving.from = out;
        leaving.to = run->out + image * out_size + h * out_row;
        leaving.count = high * out_row;
        leaving.done = 0;
    }
    flow(kernels, &leaving, 1, 1);
}

/* Some groups of images: their part of the filter's gradient. */
static void filter_block(void *context, int64_t block, int lane)
{
    const weir_convolution_context *run = context;
    const weir_convolution_plan *plan = run->plan;
    const weir_convolution_options *o = &plan->options;
    const weir_convolution_axis *height = &plan->height, *width = &plan->width;
    const weir_convolution_kernels *kernels = plan->kernels->convolution;
    const frame f = frame_of(plan);
    float *x = (float *)(run->lanes + lane * weir_round_up(plan->lane_bytes, LINE));
    float *dy = x + weir_round_up(frame_bytes(plan), LINE) / 4;
    float *sums = run->filter + block * plan->filter_bytes / 4;
    const int64_t in = o->in_channels, out = o->out_channels, cell = in * WEIR_GROUP, row = f.columns * cell;
    const int64_t size = o->out_height * o->out_width * out;
    memset(sums, 0, (size_t)plan->filter_bytes);
    weir_group_filter g = {
        .x_column = width->step * cell,
        .x_row = height->step * row,
        .dy_column = out * WEIR_GROUP,
        .dy_row = o->out_width * out * WEIR_GROUP,
        .channels = out,
        .out_row = out,
    };
    const bool joined = in < 4; /* taps side by side fill a tile */
    const int64_t groups = weir_divide_up(o->batch, WEIR_GROUP), first = block * plan->block_images;
    for (int64_t group = first; group < weir_least(groups, first + plan->block_images); group++) {
        const int64_t image = group * WEIR_GROUP, images = weir_least(WEIR_GROUP, o->batch - image);
        fill_frame(run, image, x);
        kernels->to_group(run->second + image * size, size, images, size, dy);
        /* The next group's dy is fetched meanwhile. */
        const int64_t next = weir_most(0, weir_least(WEIR_GROUP, o->batch - image - WEIR_GROUP));
        const int64_t calls = o->filter_height * (joined ? 1 : o->filter_width);
        const char *ahead = (const char *)(run->second + (image + images) * size);
        g.ahead_bytes = next * size * 4 / calls;
        for (int64_t i = 0; i < o->filter_height; i++) {
            const int64_t shift = i * height->dilation + height->start;
            const int64_t top = shift < 0 ? weir_divide_up(-shift, height->step) : 0;
            const int64_t bottom = shift >= height->in ? 0 : (height->in - 1 - shift) / height->step + 1;
            g.rows = weir_least(bottom, height->out) - top;
            for (int64_t j = 0; g.rows > 0 && j < o->filter_width; j += joined ? o->filter_width : 1) {
                const int64_t move = j + width->start;
                const int64_t left = joined ? 0 : move < 0 ? weir_divide_up(-move, width->step) : 0;
                const int64_t right = joined              ? width->out
                                      : move >= width->in ? 0
                                                          : (width->in - 1 - move) / width->step + 1;
                g.columns = weir_most(0, weir_least(right, width->out) - left);
                g.taps = joined ? o->filter_width * in : in;
                g.x = x + (top * height->step + shift + f.top) * row + (left * width->step + move + f.left) * cell;
                g.dy = dy + top * g.dy_row + left * g.dy_column;
                g.out = sums + (i * o->filter_width + j) * in * out;
                g.ahead = ahead + (i * (joined ? 1 : o->filter_width) + (joined ? 0 : j)) * g.ahead_bytes;
                kernels->filter(&g);
            }
        }
    }
}

void weir_convolution_images_run(weir_convolution_context *run, weir_team *team, void *scratch)
{
    const weir_convolution_plan *plan = run->plan;
    run->filter = scratch;
    if (plan->options.direction == WEIR_CONVOLUTION_FILTER_GRADIENT) {
        weir_parallel_for(team, plan->blocks, filter_block, run);
        const int64_t count =
            plan->options.filter_height * plan->options.filter_width * plan->in_channels * plan->out_channels;
        for (int64_t i = 0; i < count; i++) {
            double sum = 0;
            for (int64_t block = 0; block < plan->blocks; block++)
                sum += (double)run->filter[block * plan->filter_bytes / 4 + i];
            run->out[i] = (float)sum;
        }
        return;
    }
    if (plan->options.direction == WEIR_CONVOLUTION_INPUT_GRADIENT)
        weir_convolution_turn_filter(run, team, 0, 0);
    else
        run->filter = (float *)run->second; /* only read */
    weir_parallel_for(team, plan->blocks, forward_group, run);
}
