/*
 * Pooling: the blocks are images.
 */
#include "kernel/cpu/pooling.h"

#include "kernel/cpu/pooling_generic.h"

typedef struct pooling_context {
    weir_pooling_options options;
    weir_pooling_work work;
    const void *x, *y, *dy;
    void *out;
} pooling_context;

static void image(void *context, int64_t block, int lane)
{
    (void)lane;
    const pooling_context *p = context;
    weir_pooling_generic(&p->options, p->work, block, p->x, p->y, p->dy, p->out);
}

static void run(const weir_cpu_kernels *kernels, const weir_pooling_options *options, weir_team *team,
                weir_pooling_work work, const void *x, const void *y, const void *dy, void *out)
{
    (void)kernels;
    pooling_context context = {.options = *options, .work = work, .x = x, .y = y, .dy = dy, .out = out};
    if (context.options.stride_height == 0)
        context.options.stride_height = 1;
    if (context.options.stride_width == 0)
        context.options.stride_width = 1;
    weir_parallel_for(team, options->batch, image, &context);
}

void weir_max_pooling(const weir_cpu_kernels *kernels, const weir_pooling_options *options, weir_team *team, const void *x,
                   void *y)
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
