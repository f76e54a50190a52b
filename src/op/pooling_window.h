/*
 * The window that convolutions and pools slide over images: what their attributes say, and the sizes that follow.
 */
#ifndef OP_POOLING_WINDOW_H
#define OP_POOLING_WINDOW_H

#include "graph/graph.h"

typedef enum weir_window_padding { WEIR_PAD_SAME, WEIR_PAD_VALID, WEIR_PAD_EXPLICIT } weir_window_padding;

/* Index 0 is the height, 1 the width. */
typedef struct weir_window {
    bool is_nchw;
    int first_axis;   /* of the height: 1, or 2 for NCHW */
    int channel_axis; /* 3, or 1 */
    weir_window_padding padding;
    int64_t size[2]; /* of a pool's window */
    int64_t stride[2];
    int64_t dilation[2];              /* 1 for pools */
    int64_t before[2], after[2];      /* explicit padding */
    int64_t batch_size, channel_size; /* the window along the other axes: 1 for convolutions */
    int64_t batch_stride, channel_stride;
    int64_t batch_dilation, channel_dilation;
} weir_window;

extern const char *const weir_window_paddings[]; /* allowed values: SAME, VALID, EXPLICIT */
extern const char *const weir_window_formats[];  /* NHWC, NCHW */

/* Reads the attributes and checks what TensorFlow's shape rules check of them. */
WEIR_WARN_UNUSED weir_status weir_window_of_convolution(const weir_node *node, weir_window *out);
WEIR_WARN_UNUSED weir_status weir_window_of_pool(const weir_node *node, weir_window *out);

/* Output size of a direction while building; sizes may be unknown (-1). */
WEIR_WARN_UNUSED weir_status weir_window_infer(const weir_window *window, int direction, int64_t in, int64_t size,
                                               int64_t *out);

/* Output size and padding before the image of a direction, sizes known. */
int64_t weir_window_fit(const weir_window *window, int direction, int64_t in, int64_t size, int64_t *pad_before);

/* UNIMPLEMENTED where strides or dilations go along images or channels. */
WEIR_WARN_UNUSED weir_status weir_window_check_convolution(const weir_window *window);

#endif
