/*
 * Two-dimensional convolution (cross-correlation, as TensorFlow's Conv2D): images [batch, height, width, channels],
 * filter [height, width, in, out]; forward with bias and Relu, gradient of the input, gradient of the filter.
 *
 *     y[b, h, w, o] = sum over i, j, c of x[b, h * stride + i * dilation - pad, ..., c] * filter[i, j, c, o]
 *
 * Used in three steps as the matrix product: prepare at bind, scratch, run. float is fast; double is right, not fast.
 */
#ifndef KERNEL_CPU_CONVOLUTION_H
#define KERNEL_CPU_CONVOLUTION_H

#include <weir/types.h>

#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/matmul.h"
#include "kernel/kernel.h"

typedef enum weir_convolution_direction {
    WEIR_CONVOLUTION_FORWARD,         /* x, filter (, bias) -> y */
    WEIR_CONVOLUTION_INPUT_GRADIENT,  /* y's gradient, filter -> x's gradient */
    WEIR_CONVOLUTION_FILTER_GRADIENT, /* x, y's gradient -> filter's gradient */
} weir_convolution_direction;

/* What to compute; the sizes are those of the forward convolution in every direction. */
typedef struct weir_convolution_options {
    weir_dtype type; /* float or double, also half and bfloat16 with sums in float */
    weir_convolution_direction direction;
    int64_t batch;
    int64_t in_height, in_width, in_channels;
    int64_t filter_height, filter_width;
    int64_t out_height, out_width, out_channels;
    int64_t stride_height, stride_width;     /* 0 means 1 */
    int64_t dilation_height, dilation_width; /* 0 means 1 */
    int64_t pad_top, pad_left;               /* rows and columns of zeros before the image; behind it as out needs */
    bool bias;                               /* forward: bias[out_channels] is added */
    bool relu;                               /* forward: negative results become 0; NaN and -0 stay */
} weir_convolution_options;

/* One axis of a convolution that is done as a forward one: input index = out * step + tap * dilation + start. */
typedef struct weir_convolution_axis {
    int64_t in, out;     /* sizes */
    int64_t step, start; /* start may be negative: before the image lie zeros */
    int64_t taps, dilation;
    int64_t first, every; /* where results go: first + out * every */
} weir_convolution_axis;

/* A prepared convolution: plain data, may be copied; holds no pointer but to constant tables. What the fields mean:
 * convolution.c. */
typedef struct weir_convolution_plan {
    weir_convolution_options options; /* zeros replaced by what they mean */
    const weir_cpu_kernels *kernels;
    int route;                           /* which loops */
    int64_t phases_height, phases_width; /* the input gradient's, by stride */
    weir_convolution_axis height, width; /* of the only phase */
    int64_t in_channels, out_channels;   /* as the loops see them: swapped in the input gradient */
    int64_t filter_row;                  /* floats of a row of the filter as the loops see it */
    int64_t blocks;
    int64_t block_images;    /* images in a block */
    int64_t block_rows;      /* result rows in a block */
    int64_t block_channels;  /* filter gradient: input channels in a block, and */
    int64_t block_columns;   /* result channels */
    int64_t filter_bytes;    /* shared scratch: the repacked filter, or the blocks' partial results */
    int64_t lane_bytes;      /* scratch of one lane */
    int64_t shared_bytes;    /* scratch common to all lanes */
    weir_matmul_plan matmul; /* where the convolution is a plain matrix product */
} weir_convolution_plan;

/* Output size and padding before the image of one axis, by TensorFlow's rules. SAME: out = ceil(in / stride), VALID: the
 * windows that fit. Returns the output size, never below 0. */
int64_t weir_window_same(int64_t in, int64_t window, int64_t stride, int64_t dilation, int64_t *pad_before);
int64_t weir_window_valid(int64_t in, int64_t window, int64_t stride, int64_t dilation);

/* What a window covers, gaps included; INT64_MAX where no number says it. */
int64_t weir_window_reach(int64_t window, int64_t dilation);

/* Chooses loops and blocks. Sizes must not be negative. Any thread. */
void weir_convolution_prepare(const weir_cpu_kernels *kernels, const weir_convolution_options *options,
                              weir_convolution_plan *plan);

/* Bytes of scratch memory that run needs with a team of up to lanes; may be 0. */
size_t weir_convolution_scratch(const weir_convolution_plan *plan, int lanes);

/* Computes. first and second are the direction's inputs in the order of the enumeration, out its result; bias is read
 * only if asked for. scratch as in weir_matmul_run. Any thread; never allocates. */
void weir_convolution_run(const weir_convolution_plan *plan, weir_team *team, const void *first, const void *second,
                          const void *bias, void *out, void *scratch);

#endif
