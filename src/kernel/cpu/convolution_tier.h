/*
 * What a tier offers to convolution_images.c. Groups of 16 images lie side by side: a cell (pixel and channel) is 16
 * floats, one of each image, whatever the tier's vectors are; pixels and channels follow as in NHWC.
 */
#ifndef KERNEL_CPU_CONVOLUTION_TIER_H
#define KERNEL_CPU_CONVOLUTION_TIER_H

#include <stdbool.h>
#include <stdint.h>

#define WEIR_GROUP 16 /* images in a group */

/* Results of some pixels, all out channels. Strides count floats. */
typedef struct weir_group_forward {
    const float *in;     /* the cell of the first pixel's first tap and channel */
    int64_t in_column;   /* from a pixel's cell to the next pixel's */
    int64_t in_row;      /* to that of the pixel below */
    int64_t in_tap_row;  /* to the next filter row */
    const float *filter; /* [taps][depth][out channels], of the first tap row that is used */
    int64_t filter_row;  /* floats from an element of depth to the next */
    int64_t filter_tap_row;
    int64_t taps;  /* filter rows */
    int64_t depth; /* of a filter row: taps x in channels */
    float *out;    /* [pixels][channels][16] */
    int64_t out_column, out_row;
    int64_t channels;
    const float *bias; /* [channels] or NULL */
    bool relu;
} weir_group_forward;

/* Adds to the filter's gradient what a group of images gives: for rows of x's (joined) taps and channels. */
typedef struct weir_group_filter {
    const float *x; /* the cell of the first result pixel's first tap and channel */
    int64_t x_column, x_row;
    const float *dy; /* of the first result pixel */
    int64_t dy_column, dy_row;
    int64_t columns, rows; /* result pixels */
    int64_t taps;          /* cells of x from the first on, side by side */
    int64_t channels;      /* of dy */
    float *out;            /* [taps][channels], added to */
    int64_t out_row;
    const char *ahead; /* memory that is fetched into the cache meanwhile, for what comes next */
    int64_t ahead_bytes;
} weir_group_filter;

typedef struct weir_convolution_kernels {
    /* Result pixels high x wide (1 .. 2 each, or 1 .. 2 x 1 .. 4 for at most narrow_channels channels) at one place. */
    void (*forward)(const weir_group_forward *arguments, int64_t high, int64_t wide);
    int64_t tile_wide; /* pixels of a row that forward takes at once */
    int64_t tile_high;
    int64_t narrow_channels, narrow_wide;
    void (*filter)(const weir_group_filter *arguments);

    /* count floats of each of images rows (at most 16), row_stride apart, to count cells, zeros for missing images; and
     * back, for the images that there are. stream: past the caches, where alignment allows. */
    void (*to_group)(const float *in, int64_t row_stride, int64_t images, int64_t count, float *out);
    void (*from_group)(const float *in, int64_t count, int64_t images, float *out, int64_t row_stride, bool stream);
} weir_convolution_kernels;

#endif
