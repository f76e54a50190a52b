/*
 * The fast routes of float convolutions, for convolution.c: what each can do, how it plans, how it runs.
 */
#ifndef KERNEL_CPU_CONVOLUTION_ROUTES_H
#define KERNEL_CPU_CONVOLUTION_ROUTES_H

#include "kernel/cpu/convolution.h"

enum { WEIR_CONVOLUTION_GENERIC, WEIR_CONVOLUTION_MATMUL, WEIR_CONVOLUTION_CHANNELS, WEIR_CONVOLUTION_IMAGES };

/* Everything a run needs. */
typedef struct weir_convolution_context {
    const weir_convolution_plan *plan;
    const float *first, *second, *bias;
    float *out;
    float
        *filter; /* what the loops read: the caller's filter or a repacked one; partial results in a filter gradient */
    char *lanes; /* scratch of lane 0 */
    weir_convolution_axis height, width; /* of this phase */
} weir_convolution_context;

/* Lanes along the channels: convolution_channels.c. */
void weir_convolution_channels_prepare(weir_convolution_plan *plan);
void weir_convolution_channels_run(weir_convolution_context *run, weir_team *team, void *scratch);

/* Lanes along the batch, 16 images: convolution_images.c. */
bool weir_convolution_images_better(const weir_convolution_plan *plan);
void weir_convolution_images_prepare(weir_convolution_plan *plan);
void weir_convolution_images_run(weir_convolution_context *run, weir_team *team, void *scratch);

/* The forward convolution's axis, or the input gradient's in one phase 0 .. stride - 1; taps may be 0 and out 0. */
weir_convolution_axis weir_convolution_axis_of(const weir_convolution_plan *plan, bool height, int64_t phase);

/* Fills run->filter with what the input gradient's forward form reads: [taps][taps][out channels][in channels], reversed
 * and transposed, rows filter_row floats long; for the context's phase. */
void weir_convolution_turn_filter(weir_convolution_context *run, weir_team *team, int64_t phase_height,
                                  int64_t phase_width);

/* Taps first .. last - 1 of an axis that reach into the image for some of the outputs from .. to. */
void weir_convolution_taps(const weir_convolution_axis *axis, int64_t from, int64_t to, int64_t *first, int64_t *last);

static inline int64_t weir_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t weir_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t weir_divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t weir_round_up(int64_t a, int64_t b)
{
    return weir_divide_up(a, b) * b;
}

#endif
