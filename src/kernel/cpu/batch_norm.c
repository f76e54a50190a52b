/*
 * Batch normalisation. One block of rows after the other gives its mean and its sum of squares around that mean, while
 * it is in the cache; the blocks' statistics are joined in double, in block order, so the variance keeps its digits
 * whatever the mean.
 */
#include "kernel/cpu/batch_norm.h"

#include <math.h>

#include "kernel/cpu/batch_norm_tier.h"
#include "kernel/cpu/periodic.h"

#define BLOCK_FLOATS (1 << 14) /* of x in a block */
#define MOST_BLOCKS 512
#define LINE 64

/* How [rows, channels] is cut. */
typedef struct cut {
    int64_t blocks, block_rows, period;
} cut;

static cut cut_rows(const weir_batch_norm_options *o)
{
    cut c = {.period = weir_period(o->channels)};
    c.block_rows = BLOCK_FLOATS / (o->channels > 0 ? o->channels : 1);
    const int64_t fewest = (o->rows + MOST_BLOCKS - 1) / MOST_BLOCKS;
    if (c.block_rows < fewest)
        c.block_rows = fewest;
    const int64_t unit = 16; /* whole periods */
    c.block_rows = (c.block_rows + unit - 1) / unit * unit;
    c.blocks = (o->rows + c.block_rows - 1) / c.block_rows;
    return c;
}

static int64_t lines(int64_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

#define TABLES 4      /* shared tables of a period */
#define LANE_TABLES 2 /* of each lane */

/* Scratch: the shared tables, two doubles for each block and channel, the lanes' tables. */
size_t weir_batch_norm_scratch(const weir_batch_norm_options *options, int lanes)
{
    const cut c = cut_rows(options);
    return (size_t)((TABLES + LANE_TABLES * lanes) * lines(c.period * 4) +
                    lines(c.blocks * options->channels * 2 * (int64_t)sizeof(double)));
}

typedef struct norm_context {
    const weir_batch_norm_options *options;
    const weir_batch_norm_kernels *kernels;
    cut cut;
    const float *x, *dy;
    float *y;
    float *tables[TABLES];
    float *lanes;
    double *parts; /* [blocks, 2, channels] */
} norm_context;

static norm_context context_of(const weir_cpu_kernels *kernels, const weir_batch_norm_options *options, void *scratch)
{
    norm_context n = {.options = options, .kernels = kernels->batch_norm, .cut = cut_rows(options)};
    char *next = scratch;
    for (int i = 0; i < TABLES; i++, next += lines(n.cut.period * 4))
        n.tables[i] = (float *)next;
    n.parts = (double *)next;
    next += lines(n.cut.blocks * options->channels * 2 * (int64_t)sizeof(double));
    n.lanes = (float *)next;
    return n;
}

static float *lane_table(const norm_context *n, int lane, int table)
{
    return n->lanes + (lane * LANE_TABLES + table) * (lines(n->cut.period * 4) / 4);
}

static int64_t rows_of(const norm_context *n, int64_t block)
{
    const int64_t rest = n->options->rows - block * n->cut.block_rows;
    return rest < n->cut.block_rows ? rest : n->cut.block_rows;
}

/* sums[c] = the sum of the period's values of channel c. */
static void fold(const float *values, int64_t period, int64_t channels, double *sums)
{
    for (int64_t c = 0; c < channels; c++)
        sums[c] = 0;
    for (int64_t start = 0; start < period; start += channels)
        for (int64_t c = 0; c < channels; c++)
            sums[c] += (double)values[start + c];
}

/* A block's mean and sum of squares around it, per channel. */
static void block_moments(void *context, int64_t block, int lane)
{
    norm_context *n = context;
    const int64_t channels = n->options->channels, rows = rows_of(n, block), count = rows * channels;
    const float *x = n->x + block * n->cut.block_rows * channels;
    float *values = lane_table(n, lane, 0), *mean = lane_table(n, lane, 1);
    double *part = n->parts + block * 2 * channels;
    n->kernels->sums(x, count, n->cut.period, values);
    fold(values, n->cut.period, channels, part);
    for (int64_t c = 0; c < channels; c++) {
        part[c] /= (double)rows;
        values[c] = (float)part[c];
    }
    weir_period_fill(values, channels, mean);
    n->kernels->squares(x, count, n->cut.period, mean, values);
    fold(values, n->cut.period, channels, part + channels);
    for (int64_t c = 0; c < channels; c++) { /* the centre was rounded to float */
        const double distance = part[c] - (double)mean[c];
        part[channels + c] -= (double)rows * distance * distance;
    }
}

static void block_scale(void *context, int64_t block, int lane)
{
    (void)lane;
    norm_context *n = context;
    const int64_t start = block * n->cut.block_rows * n->options->channels;
    n->kernels->scale(n->x + start, rows_of(n, block) * n->options->channels, n->cut.period, n->tables[0], n->tables[1],
                      n->tables[2], n->options->relu, n->y + start);
}

/* The blocks' statistics joined. */
static void join(const norm_context *n, float *mean, float *variance, float *unbiased_variance)
{
    const int64_t channels = n->options->channels, rows = n->options->rows;
    for (int64_t c = 0; c < channels; c++) {
        double count = 0, centre = 0, squares = 0;
        for (int64_t block = 0; block < n->cut.blocks; block++) {
            const double *part = n->parts + block * 2 * channels;
            const double more = (double)rows_of(n, block), distance = part[c] - centre;
            squares += part[channels + c] + distance * distance * count * more / (count + more);
            centre += distance * more / (count + more);
            count += more;
        }
        mean[c] = rows > 0 ? (float)centre : NAN;
        variance[c] = rows > 0 ? (float)(squares / (double)rows) : NAN;
        if (unbiased_variance != NULL)
            unbiased_variance[c] = rows == 0 ? NAN : rows == 1 ? 0 : (float)(squares / (double)(rows - 1));
    }
}

/* table[i] = value of channel i % channels. */
#define FILL(n, table, expression)                                                                                     \
    do {                                                                                                               \
        const int64_t channels_ = (n)->options->channels;                                                              \
        for (int64_t c = 0; c < channels_; c++)                                                                        \
            (table)[c] = (expression);                                                                                 \
        for (int64_t i = channels_; i < (n)->cut.period; i++)                                                          \
            (table)[i] = (table)[i - channels_];                                                                       \
    } while (0)

static float inverse_deviation(const norm_context *n, float variance)
{
    return (float)(1 / sqrt((double)variance + (double)n->options->epsilon));
}

void weir_batch_norm_forward(const weir_cpu_kernels *kernels, const weir_batch_norm_options *options, weir_team *team,
                             const float *x, const float *scale, const float *offset, float *mean, float *variance,
                             float *unbiased_variance, float *y, void *scratch)
{
    norm_context n = context_of(kernels, options, scratch);
    n.x = x;
    n.y = y;
    if (options->training) {
        weir_parallel_for(team, n.cut.blocks, block_moments, &n);
        join(&n, mean, variance, unbiased_variance);
    }
    FILL(&n, n.tables[0], mean[c]);
    FILL(&n, n.tables[1], inverse_deviation(&n, variance[c]) * (scale != NULL ? scale[c] : 1));
    FILL(&n, n.tables[2], offset != NULL ? offset[c] : 0);
    weir_parallel_for(team, n.cut.blocks, block_scale, &n);
}

/* A block's sum of dy and of dy * (x - mean), per channel. */
static void block_sums(void *context, int64_t block, int lane)
{
    norm_context *n = context;
    const int64_t channels = n->options->channels, start = block * n->cut.block_rows * channels;
    const int64_t count = rows_of(n, block) * channels;
    float *values = lane_table(n, lane, 0);
    double *part = n->parts + block * 2 * channels;
    n->kernels->sums(n->dy + start, count, n->cut.period, values);
    fold(values, n->cut.period, channels, part);
    n->kernels->products(n->dy + start, n->x + start, count, n->cut.period, n->tables[0], values);
    fold(values, n->cut.period, channels, part + channels);
}

static void block_gradient(void *context, int64_t block, int lane)
{
    (void)lane;
    norm_context *n = context;
    const int64_t start = block * n->cut.block_rows * n->options->channels;
    n->kernels->gradient(n->dy + start, n->x + start, rows_of(n, block) * n->options->channels, n->cut.period,
                         n->tables[0], n->tables[1], n->tables[2], n->tables[3], n->y + start);
}

void weir_batch_norm_gradient(const weir_cpu_kernels *kernels, const weir_batch_norm_options *options, weir_team *team,
                              const float *dy, const float *x, const float *scale, const float *mean,
                              const float *variance, float *dx, float *d_scale, float *d_offset, void *scratch)
{
    norm_context n = context_of(kernels, options, scratch);
    const int64_t channels = options->channels;
    n.x = x;
    n.dy = dy;
    n.y = dx;
    FILL(&n, n.tables[0], mean[c]);
    double *sums = n.parts; /* of all blocks: added into the first block's place */
    const bool wanted = options->training || d_scale != NULL || d_offset != NULL;
    if (wanted)
        weir_parallel_for(team, n.cut.blocks, block_sums, &n);
    for (int64_t block = 1; wanted && block < n.cut.blocks; block++)
        for (int64_t c = 0; c < 2 * channels; c++)
            sums[c] += n.parts[block * 2 * channels + c];
    const double rows = (double)options->rows;
    const bool any = options->rows > 0;
    for (int64_t c = 0; c < channels; c++) {
        const float r = inverse_deviation(&n, variance[c]);
        if (d_offset != NULL)
            d_offset[c] = any ? (float)sums[c] : 0;
        if (d_scale != NULL)
            d_scale[c] = any ? (float)(sums[channels + c] * (double)r) : 0;
    }
    if (dx == NULL || !any)
        return;
    FILL(&n, n.tables[1], inverse_deviation(&n, variance[c]) * (scale != NULL ? scale[c] : 1));
    FILL(&n, n.tables[2], options->training ? (float)(sums[c] / rows) : 0);
    FILL(&n, n.tables[3],
         options->training ? (float)(sums[channels + c] / rows / ((double)variance[c] + (double)options->epsilon)) : 0);
    weir_parallel_for(team, n.cut.blocks, block_gradient, &n);
}
