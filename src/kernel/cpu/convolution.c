/*
 * Convolutions: which loops for which sizes, and the cut into blocks.
 */
#include "kernel/cpu/convolution.h"

#include "kernel/cpu/convolution_generic.h"

int64_t weir_window_same(int64_t in, int64_t window, int64_t stride, int64_t dilation, int64_t *pad_before)
{
    const int64_t out = (in + stride - 1) / stride;
    const int64_t pad = (out - 1) * stride + (window - 1) * dilation + 1 - in;
    *pad_before = pad > 0 ? pad / 2 : 0;
    return out;
}

int64_t weir_window_valid(int64_t in, int64_t window, int64_t stride, int64_t dilation)
{
    const int64_t reach = (window - 1) * dilation + 1;
    return in < reach ? 0 : (in - reach) / stride + 1;
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
    plan->blocks = weir_convolution_generic_blocks(o);
}

size_t weir_convolution_scratch(const weir_convolution_plan *plan, int lanes)
{
    return (size_t)(plan->shared_bytes + lanes * plan->lane_bytes);
}

typedef struct run_context {
    const weir_convolution_plan *plan;
    const void *first, *second, *bias;
    void *out;
} run_context;

static void run_generic(void *context, int64_t block, int lane)
{
    (void)lane;
    const run_context *run = context;
    weir_convolution_generic(&run->plan->options, block, run->first, run->second, run->bias, run->out);
}

void weir_convolution_run(const weir_convolution_plan *plan, weir_team *team, const void *first, const void *second,
                          const void *bias, void *out, void *scratch)
{
    (void)scratch;
    run_context run = {.plan = plan, .first = first, .second = second, .bias = bias, .out = out};
    weir_parallel_for(team, plan->blocks, run_generic, &run);
}
