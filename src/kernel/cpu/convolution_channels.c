/*
 * Convolutions with lanes along the channels of the result, on the register tiles of the matrix product.
 *
 * Forward: the pixels of a result row are the tile's rows. The taps of a filter row lie side by side in the image and in
 * the filter, so that a whole filter row is one loop of k; the filter's rows are the tile's runs. Image rows are copied
 * with their zeros at both ends; rows above and below the image are left out.
 *
 * Gradient of the filter: input channels are the tile's rows, pixels are k, rows and images the outer loops, so that one
 * call sums over many images in registers. With few input channels the taps of a filter row join them, which needs
 * image rows with their zeros; else each tap runs over the pixels that it really sees.
 */
#include <string.h>

#include "kernel/cpu/convolution_routes.h"
#include "kernel/cpu/matmul_tile.h"

#define LINE 64
#define ROW_BYTES (192 << 10)   /* of copied image rows in a block */
#define CHUNK_BYTES (256 << 10) /* of images that a filter gradient sums before it turns to the next tap */
#define WANTED_BLOCKS 32
#define ENOUGH_BLOCKS 10 /* of a filter gradient */

/* ---- forward ------------------------------------------------------------------------------------------------------ */

/* Columns that a row of results reads, with the zeros on both sides. */
static int64_t span_of(const weir_convolution_axis *width)
{
    return (width->out - 1) * width->step + (width->taps - 1) * width->dilation + 1;
}

/* Image rows behind out rows of results. */
static int64_t rows_behind(const weir_convolution_axis *height, int64_t out)
{
    return (out - 1) * height->step + (height->taps - 1) * height->dilation + 1;
}

/* Vectors in a tile's width: few loads of the filter (1 / rows) and few broadcasts (1 / vectors) per multiplication. */
static int64_t choose_vectors(const weir_matmul_kernels *kernels, int64_t columns, int64_t pixels)
{
    const int64_t all = weir_divide_up(columns, kernels->lanes);
    int64_t best = 1;
    double least = 1e9;
    for (int64_t vectors = 1; vectors <= kernels->vectors; vectors++) {
        const int64_t panels = weir_divide_up(all, vectors);
        const int64_t tiles = weir_divide_up(pixels, kernels->rows[vectors - 1]);
        const double cost = 0.5 * (double)panels / (double)all + 1.5 * (double)tiles / (double)pixels;
        if (cost < least) {
            least = cost;
            best = weir_divide_up(all, panels);
        }
    }
    return best;
}

static void prepare_forward(weir_convolution_plan *plan)
{
    const weir_convolution_options *o = &plan->options;
    const weir_matmul_kernels *kernels = plan->kernels->matmul;
    const bool backwards = o->direction == WEIR_CONVOLUTION_INPUT_GRADIENT;
    plan->filter_row =
        kernels->partial_vectors ? plan->out_channels : weir_round_up(plan->out_channels, kernels->lanes);
    if (backwards || plan->filter_row != plan->out_channels)
        plan->filter_bytes = o->filter_height * o->filter_width * plan->in_channels * plan->filter_row * 4;
    plan->shared_bytes = plan->filter_bytes;

    /* The widest phase's rows, and as many of them as fit. */
    int64_t span = 0, deepest = 0, rows = 0;
    for (int64_t phase = 0; phase < plan->phases_width; phase++) {
        const weir_convolution_axis width = weir_convolution_axis_of(plan, false, phase);
        span = weir_most(span, span_of(&width));
    }
    const int64_t row_bytes = weir_most(span, 1) * plan->in_channels * 4;
    for (int64_t phase = 0; phase < plan->phases_height; phase++) {
        const weir_convolution_axis height = weir_convolution_axis_of(plan, true, phase);
        rows = weir_most(rows, height.out);
    }
    plan->block_rows = weir_most(1, rows);
    if (o->batch < WANTED_BLOCKS)
        plan->block_rows =
            weir_most(weir_least(4, rows), weir_divide_up(rows, weir_divide_up(WANTED_BLOCKS, o->batch)));
    while (plan->block_rows > 1 && rows_behind(&plan->height, plan->block_rows) * row_bytes > ROW_BYTES)
        plan->block_rows = weir_divide_up(plan->block_rows, 2);
    for (int64_t phase = 0; phase < plan->phases_height; phase++) {
        const weir_convolution_axis height = weir_convolution_axis_of(plan, true, phase);
        deepest = weir_most(deepest, rows_behind(&height, weir_least(plan->block_rows, weir_most(1, height.out))));
    }
    plan->lane_bytes = (weir_most(deepest, 1) * row_bytes + 2 * LINE);
}

/* Image rows first .. last - 1 with the columns from the axis' start on, zeros where there is no image. */
static void copy_rows(const weir_convolution_context *run, const float *image, int64_t first, int64_t last, float *rows)
{
    const int64_t channels = run->plan->in_channels, span = span_of(&run->width), start = run->width.start;
    const int64_t before = weir_least(span, weir_most(0, -start));
    const int64_t inside = weir_most(0, weir_least(span, run->width.in - start) - before);
    for (int64_t row = first; row < last; row++, rows += span * channels) {
        memset(rows, 0, (size_t)(before * channels) * 4);
        if (inside > 0)
            memcpy(rows + before * channels, image + (row * run->width.in + start + before) * channels,
                   (size_t)(inside * channels) * 4);
        memset(rows + (before + inside) * channels, 0, (size_t)((span - before - inside) * channels) * 4);
    }
}

/* One row of results: every panel of channels, every tile of pixels. t: what all of them share; a at the first pixel. */
static void forward_row(const weir_convolution_context *run, weir_tile_arguments t, int64_t vectors, float *out)
{
    const weir_convolution_plan *plan = run->plan;
    const weir_matmul_kernels *kernels = plan->kernels->matmul;
    const float *a = t.a, *b = t.b;
    for (int64_t channel = 0; channel < plan->out_channels; channel += vectors * kernels->lanes) {
        t.columns = weir_least(vectors * kernels->lanes, plan->out_channels - channel);
        const int64_t used = weir_divide_up(t.columns, kernels->lanes), tall = kernels->rows[used - 1];
        const int64_t tiles = weir_divide_up(run->width.out, tall);
        t.b = b + channel;
        t.bias = run->bias != NULL ? run->bias + channel : NULL;
        for (int64_t tile = 0, pixel = 0; tile < tiles; tile++) {
            const int64_t pixels = weir_divide_up(run->width.out - pixel, tiles - tile);
            t.a = a + pixel * t.a_row;
            t.c = out + (run->width.first + pixel * run->width.every) * plan->out_channels + channel;
            kernels->tiles[used - 1][pixels - 1](&t);
            pixel += pixels;
        }
    }
}

/* Some rows of results of one image. */
static void forward_block(void *context, int64_t block, int lane)
{
    const weir_convolution_context *run = context;
    const weir_convolution_plan *plan = run->plan;
    const weir_convolution_options *o = &plan->options;
    const weir_convolution_axis *height = &run->height, *width = &run->width;
    const bool backwards = o->direction == WEIR_CONVOLUTION_INPUT_GRADIENT;
    const int64_t row_blocks = weir_divide_up(height->out, plan->block_rows);
    const int64_t image = block / row_blocks, from = block % row_blocks * plan->block_rows;
    const int64_t to = weir_least(height->out, from + plan->block_rows);
    const int64_t channels = plan->in_channels;
    const float *in = run->first + image * height->in * width->in * channels;
    float *out =
        run->out + image * (backwards ? o->in_height * o->in_width : o->out_height * o->out_width) * plan->out_channels;
    const int64_t out_width = backwards ? o->in_width : o->out_width;

    const int64_t span = span_of(width);
    const bool copy = width->taps > 0 && (width->start < 0 || width->start + span > width->in);
    const int64_t row_floats = (copy ? span : width->in) * channels;
    const int64_t top = weir_most(0, from * height->step + height->start);
    const float *rows = in + top * row_floats + width->start * channels;
    if (copy) {
        const int64_t end = (to - 1) * height->step + (height->taps - 1) * height->dilation + height->start + 1;
        float *copied = (float *)(run->lanes + lane * weir_round_up(plan->lane_bytes, LINE));
        copy_rows(run, in, top, weir_least(height->in, end), copied);
        rows = copied;
    }

    const int64_t tap = channels * plan->filter_row, filter_row = width->taps * tap;
    weir_tile_arguments t = {
        .a_row = width->step * channels,
        .a_step = 1,
        .b_row = plan->filter_row,
        .c_row = width->every * plan->out_channels,
        .relu = o->relu,
    };
    if (width->dilation == 1) {
        t.depth = width->taps * channels;
        t.outers = 1;
        t.a_run = height->dilation * row_floats;
        t.b_run = filter_row;
    } else {
        t.depth = channels;
        t.runs = width->taps;
        t.a_run = width->dilation * channels;
        t.b_run = tap;
        t.a_outer = height->dilation * row_floats;
        t.b_outer = filter_row;
    }
    const int64_t vectors = choose_vectors(plan->kernels->matmul, plan->out_channels, width->out);
    for (int64_t h = from; h < to; h++) {
        int64_t first, last;
        weir_convolution_taps(height, h, h, &first, &last);
        if (width->dilation == 1)
            t.runs = last - first;
        else
            t.outers = last - first;
        t.a = rows + (h * height->step + height->start + first * height->dilation - top) * row_floats;
        t.b = run->filter + first * filter_row;
        if (last == first) /* nothing is read */
            t.a = run->first;
        forward_row(run, t, vectors, out + (height->first + h * height->every) * out_width * plan->out_channels);
    }
}

/* Copies the filter into rows of whole vectors. */
static void widen_filter(const weir_convolution_context *run)
{
    const weir_convolution_plan *plan = run->plan;
    const int64_t rows = plan->options.filter_height * plan->options.filter_width * plan->in_channels;
    for (int64_t row = 0; row < rows; row++)
        memcpy(run->filter + row * plan->filter_row, run->second + row * plan->out_channels,
               (size_t)plan->out_channels * 4);
}

static void run_forward(weir_convolution_context *run, weir_team *team, void *scratch)
{
    const weir_convolution_plan *plan = run->plan;
    const bool backwards = plan->options.direction == WEIR_CONVOLUTION_INPUT_GRADIENT;
    run->filter = scratch;
    if (!backwards && plan->filter_bytes > 0)
        widen_filter(run);
    else if (!backwards)
        run->filter = (float *)run->second; /* only read */
    for (int64_t i = 0; i < plan->phases_height; i++)
        for (int64_t j = 0; j < plan->phases_width; j++) {
            run->height = weir_convolution_axis_of(plan, true, i);
            run->width = weir_convolution_axis_of(plan, false, j);
            if (run->height.out == 0 || run->width.out == 0)
                continue;
            if (run->height.taps == 0 || run->width.taps == 0) /* no tap reaches these cells: zeros */
                run->height.taps = run->width.taps = 0;
            if (backwards)
                weir_convolution_turn_filter(run, team, i, j);
            weir_parallel_for(team, plan->options.batch * weir_divide_up(run->height.out, plan->block_rows),
                              forward_block, run);
        }
}

/* ---- gradient of the filter --------------------------------------------------------------------------------------- */

/* Few input channels: the taps of a filter row are rows of the tile too. */
static bool joins_taps(const weir_convolution_options *o)
{
    return o->in_channels < 8 && o->dilation_width == 1;
}

static void prepare_filter_gradient(weir_convolution_plan *plan)
{
    const weir_convolution_options *o = &plan->options;
    const weir_matmul_kernels *kernels = plan->kernels->matmul;
    const int64_t image_bytes =
        4 * (o->in_height * o->in_width * o->in_channels + o->out_height * o->out_width * o->out_channels);
    plan->block_images = weir_least(o->batch, weir_most(1, CHUNK_BYTES / image_bytes));
    /* Blocks: rows of taps, panels of result channels one tile wide, and parts of the input channels if those are few. */
    const int64_t rows = joins_taps(o) ? o->filter_width * o->in_channels : o->in_channels;
    plan->block_columns = choose_vectors(kernels, o->out_channels, rows) * kernels->lanes;
    const int64_t blocks = o->filter_height * weir_divide_up(o->out_channels, plan->block_columns);
    plan->block_channels = o->in_channels;
    if (!joins_taps(o))
        plan->block_channels = weir_most(weir_least(11, o->in_channels),
                                         weir_divide_up(o->in_channels, weir_divide_up(ENOUGH_BLOCKS, blocks)));
    plan->blocks = blocks * weir_divide_up(o->in_channels, plan->block_channels);
    plan->filter_row = weir_round_up(o->out_channels, kernels->lanes);
    if (joins_taps(o)) /* rows of the images of a chunk with their zeros */
        plan->lane_bytes +=
            plan->block_images * o->out_height * weir_round_up(span_of(&plan->width) * o->in_channels, 16) * 4;
    if (!kernels->partial_vectors && o->out_channels % kernels->lanes != 0) /* y's gradient in whole vectors */
        plan->lane_bytes += plan->block_images * o->out_height * o->out_width * plan->filter_row * 4;
}

/* The part of the filter's gradient that one tap, or one joined row of taps, of some images adds. */
typedef struct tap_sum {
    const float *a, *b;
    int64_t a_step, a_run, a_outer; /* pixels, rows, images of x */
    int64_t b_row, b_run, b_outer;  /* of y's gradient */
    int64_t depth, runs, outers;
    int64_t rows; /* of the filter's gradient */
    float *out;
    bool accumulate;
} tap_sum;

static void add_tap(const weir_convolution_plan *plan, const tap_sum *s, int64_t columns)
{
    const weir_matmul_kernels *kernels = plan->kernels->matmul;
    const int64_t vectors = weir_divide_up(columns, kernels->lanes);
    const int64_t tiles = weir_divide_up(s->rows, kernels->rows[vectors - 1]);
    weir_tile_arguments t = {
        .a_row = 1,
        .a_step = s->a_step,
        .b = s->b,
        .b_row = s->b_row,
        .depth = s->depth,
        .runs = s->runs,
        .a_run = s->a_run,
        .b_run = s->b_run,
        .outers = s->outers,
        .a_outer = s->a_outer,
        .b_outer = s->b_outer,
        .c_row = plan->options.out_channels,
        .columns = columns,
        .accumulate = s->accumulate,
    };
    for (int64_t tile = 0, row = 0; tile < tiles; tile++) {
        const int64_t rows = weir_divide_up(s->rows - row, tiles - tile);
        t.a = s->a + row;
        t.c = s->out + row * t.c_row;
        kernels->tiles[vectors - 1][rows - 1](&t);
        row += rows;
    }
}

/* One row of taps for some input channels, over all images, a chunk of them at a time. */
static void filter_gradient_block(void *context, int64_t block, int lane)
{
    const weir_convolution_context *run = context;
    const weir_convolution_plan *plan = run->plan;
    const weir_convolution_options *o = &plan->options;
    const int64_t parts = weir_divide_up(o->in_channels, plan->block_channels);
    const int64_t panels = weir_divide_up(o->out_channels, plan->block_columns), taps = block / panels;
    const int64_t i = taps / parts, channel = taps % parts * plan->block_channels;
    const int64_t column = block % panels * plan->block_columns;
    const int64_t columns = weir_least(plan->block_columns, o->out_channels - column);
    const int64_t channels = weir_least(plan->block_channels, o->in_channels - channel);
    const int64_t in = o->in_channels, out = o->out_channels;
    const int64_t x_image = o->in_height * o->in_width * in, y_image = o->out_height * o->out_width * out;
    const bool joined = joins_taps(o);
    const bool widen = !plan->kernels->matmul->partial_vectors && out % plan->kernels->matmul->lanes != 0;

    /* Result rows whose tap row i lies in the image. */
    const int64_t offset = i * o->dilation_height - o->pad_top;
    const int64_t top = offset < 0 ? weir_divide_up(-offset, o->stride_height) : 0;
    const int64_t bottom = offset >= o->in_height ? 0 : (o->in_height - 1 - offset) / o->stride_height + 1;
    const int64_t rows = weir_most(0, weir_least(bottom, o->out_height) - top);

    float *copied = (float *)(run->lanes + lane * weir_round_up(plan->lane_bytes, LINE));
    const int64_t copied_row = weir_round_up(span_of(&run->width) * in, 16);
    float *wide = copied + (joined ? plan->block_images * o->out_height * copied_row : 0);
    for (int64_t image = 0; image < o->batch; image += plan->block_images) {
        const int64_t images = weir_least(plan->block_images, o->batch - image);
        const float *x = run->first + image * x_image + (top * o->stride_height + offset) * o->in_width * in;
        tap_sum s = {
            .b = run->second + image * y_image + top * o->out_width * out + column,
            .b_row = out,
            .b_run = o->out_width * out,
            .b_outer = y_image,
            .runs = rows,
            .outers = images,
            .a_step = o->stride_width * in,
            .accumulate = image > 0,
        };
        if (widen) {
            for (int64_t n = 0; n < images; n++)
                for (int64_t pixel = 0; pixel < rows * o->out_width; pixel++)
                    memcpy(wide + (n * rows * o->out_width + pixel) * plan->filter_row, s.b + n * y_image + pixel * out,
                           (size_t)columns * 4);
            s.b = wide;
            s.b_row = plan->filter_row;
            s.b_run = o->out_width * plan->filter_row;
            s.b_outer = rows * o->out_width * plan->filter_row;
        }
        if (joined) {
            for (int64_t n = 0; n < images; n++)
                for (int64_t row = 0; row < rows; row++)
                    copy_rows(run, x + n * x_image + row * o->stride_height * o->in_width * in, 0, 1,
                              copied + (n * rows + row) * copied_row);
            s.a = copied;
            s.a_run = copied_row;
            s.a_outer = rows * copied_row;
            s.depth = o->out_width;
            s.rows = o->filter_width * in;
            s.out = run->out + i * o->filter_width * in * out + column;
            add_tap(plan, &s, columns);
            continue;
        }
        for (int64_t j = 0; j < o->filter_width; j++) {
            const int64_t shift = j * o->dilation_width - o->pad_left;
            const int64_t left = shift < 0 ? weir_divide_up(-shift, o->stride_width) : 0;
            const int64_t right = shift >= o->in_width ? 0 : (o->in_width - 1 - shift) / o->stride_width + 1;
            tap_sum one = s;
            one.depth = weir_most(0, weir_least(right, o->out_width) - left);
            one.a = x + (left * o->stride_width + shift) * in + channel;
            one.b += left * s.b_row;
            one.a_run = o->stride_height * o->in_width * in;
            one.a_outer = x_image;
            one.rows = channels;
            one.out = run->out + ((i * o->filter_width + j) * in + channel) * out + column;
            add_tap(plan, &one, columns);
        }
    }
}

void weir_convolution_channels_prepare(weir_convolution_plan *plan)
{
    if (plan->options.direction == WEIR_CONVOLUTION_FILTER_GRADIENT)
        prepare_filter_gradient(plan);
    else
        prepare_forward(plan);
}

void weir_convolution_channels_run(weir_convolution_context *run, weir_team *team, void *scratch)
{
    if (run->plan->options.direction == WEIR_CONVOLUTION_FILTER_GRADIENT)
        weir_parallel_for(team, run->plan->blocks, filter_gradient_block, run);
    else
        run_forward(run, team, scratch);
}
