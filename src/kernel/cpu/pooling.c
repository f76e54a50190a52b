/*
 * Pooling: the blocks are images, or rows of results where there are few images. A gradient's block is an image, because
 * windows may overlap.
 */
#include "kernel/cpu/pooling.h"

#include "kernel/cpu/pooling_generic.h"
#include "kernel/cpu/pooling_tier.h"

#define ENOUGH_BLOCKS 32
#define BLOCK_FLOATS (1 << 13) /* of results, at least, in a block of rows */

typedef struct pooling_context {
    weir_pooling_options options;
    weir_pooling_work work;
    const weir_pooling_kernels *kernels;
    int64_t block_rows, row_blocks; /* of an image */
    const void *x, *y, *dy;
    void *out;
} pooling_context;

static void generic_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const pooling_context *p = context;
    weir_pooling_generic(&p->options, p->work, block, p->x, p->y, p->dy, p->out);
}

static void float_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const pooling_context *p = context;
    const weir_pooling_options *o = &p->options;
    const int64_t image = block / p->row_blocks, first = block % p->row_blocks * p->block_rows;
    const int64_t last = first + p->block_rows < o->out_height ? first + p->block_rows : o->out_height;
    const int64_t in = image * o->in_height * o->in_width * o->channels;
    const int64_t out = image * o->out_height * o->out_width * o->channels;
    const float *x = p->x, *y = p->y, *dy = p->dy;
    float *result = p->out;
    switch (p->work) {
    case WEIR_POOLING_MAX:
        p->kernels->max(o, first, last, x + in, result + out);
        break;
    case WEIR_POOLING_AVERAGE:
        p->kernels->average(o, first, last, x + in, result + out);
        break;
    case WEIR_POOLING_MAX_GRADIENT:
        p->kernels->max_gradient(o, x + in, y + out, dy + out, result + in);
        break;
    case WEIR_POOLING_AVERAGE_GRADIENT:
        p->kernels->average_gradient(o, dy + out, result + in);
        break;
    }
}

static void run(const weir_cpu_kernels *kernels, const weir_pooling_options *options, weir_team *team,
                weir_pooling_work work, const void *x, const void *y, const void *dy, void *out)
{
    pooling_context p = {.options = *options, .work = work, .kernels = kernels->pooling};
    weir_pooling_options *o = &p.options;
    p.x = x;
    p.y = y;
    p.dy = dy;
    p.out = out;
    if (o->stride_height == 0)
        o->stride_height = 1;
    if (o->stride_width == 0)
        o->stride_width = 1;
    if (o->type != WEIR_FLOAT) {
        weir_parallel_for(team, o->batch, generic_block, &p);
        return;
    }
    p.row_blocks = 1;
    p.block_rows = o->out_height;
    const int64_t row = o->out_width * o->channels;
    if ((work == WEIR_POOLING_MAX || work == WEIR_POOLING_AVERAGE) && o->batch < ENOUGH_BLOCKS && row > 0) {
        p.block_rows = BLOCK_FLOATS / row + 1;
        p.row_blocks = (o->out_height + p.block_rows - 1) / p.block_rows;
    }
    weir_parallel_for(team, o->batch * p.row_blocks, float_block, &p);
}

void weir_max_pooling(const weir_cpu_kernels *kernels, const weir_pooling_options *options, weir_team *team,
                      const void *x, void *y)
{
    run(kernels, options, team, WEIR_POOLING_MAX, x, NULL, NULL, y);
}

void weir_max_pool_gradient(const weir_cpu_kernels *kernels, const weir_pooling_options *options, weir_team *team,
                            const void *x, const void *y, const void *dy, void *dx)
{
    run(kernels, options, team, WEIR_POOLING_MAX_GRADIENT, x, y, dy, dx);
}

void weir_average_pool(const weir_cpu_kernels *kernels, const weir_pooling_options *options, weir_team *team,
                       const void *x, void *y)
{
    run(kernels, options, team, WEIR_POOLING_AVERAGE, x, NULL, NULL, y);
}

void weir_average_pool_gradient(const weir_cpu_kernels *kernels, const weir_pooling_options *options, weir_team *team,
                                const void *dy, void *dx)
{
    run(kernels, options, team, WEIR_POOLING_AVERAGE_GRADIENT, NULL, NULL, dy, dx);
}
