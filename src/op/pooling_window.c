/*
 * The window of convolutions and pools; see pooling_window.h.
 */
#include "op/pooling_window.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/cpu/convolution.h"

const char *const weir_window_paddings[] = {"SAME", "VALID", "EXPLICIT", NULL};
const char *const weir_window_formats[] = {"NHWC", "NCHW", NULL};

/* ---- Attributes ---- */

/* A list of four numbers; what is missing (dilations of pools) is all ones. */
static weir_status read_four(const weir_node *node, const char *attr, const char *op, const char *what, int64_t out[4])
{
    const weir_attr_value *value = weir_node_find_attr(node, attr);
    for (int i = 0; i < 4; i++)
        out[i] = 1;
    if (value == NULL)
        return WEIR_STATUS_OK;
    if (value->list.count != 4)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s requires the %s attribute to contain 4 values, but got: %" PRId64,
                         op, what, value->list.count);
    memcpy(out, value->list.i, 4 * sizeof out[0]);
    return WEIR_STATUS_OK;
}

static weir_status read_explicit(const weir_node *node, weir_window *window)
{
    const weir_attr_value *value = weir_node_find_attr(node, "explicit_paddings");
    int64_t count = value != NULL ? value->list.count : 0;
    if (window->padding != WEIR_PAD_EXPLICIT && count > 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
    if (window->padding != WEIR_PAD_EXPLICIT)
        return WEIR_STATUS_OK;
    if (count != 8)
        return weir_fail(WEIR_INVALID_ARGUMENT, "explicit_paddings attribute must contain 8 values, but got: %" PRId64,
                         count);
    const int64_t *pads = value->list.i;
    for (int i = 0; i < 8; i++) {
        if (pads[i] < 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "All elements of explicit_paddings must be nonnegative");
    }
    const int64_t *channel = pads + (ptrdiff_t)2 * window->channel_axis;
    if (pads[0] != 0 || pads[1] != 0 || channel[0] != 0 || channel[1] != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Nonzero explicit padding in the batch or depth dimensions is not supported");
    for (int i = 0; i < 2; i++) {
        window->before[i] = pads[2 * (window->first_axis + i)];
        window->after[i] = pads[2 * (window->first_axis + i) + 1];
    }
    return WEIR_STATUS_OK;
}

static void read_layout(const weir_node *node, weir_window *window)
{
    window->is_nchw = weir_node_string_is(node, "data_format", "NCHW");
    window->first_axis = window->is_nchw ? 2 : 1;
    window->channel_axis = window->is_nchw ? 1 : 3;
    window->padding = weir_node_string_is(node, "padding", "SAME")    ? WEIR_PAD_SAME
                      : weir_node_string_is(node, "padding", "VALID") ? WEIR_PAD_VALID
                                                                      : WEIR_PAD_EXPLICIT;
}

static weir_status read_window(const weir_node *node, const char *op, const char *strides_op, weir_window *out)
{
    weir_window window = {0};
    int64_t sizes[4], strides[4], dilations[4];
    read_layout(node, &window);
    WEIR_TRY(read_four(node, "dilations", op, "dilation", dilations));
    WEIR_TRY(read_four(node, "ksize", op, "ksize", sizes));
    WEIR_TRY(read_four(node, "strides", strides_op, "stride", strides));
    WEIR_TRY(read_explicit(node, &window));
    for (int i = 0; i < 2; i++) {
        window.size[i] = sizes[window.first_axis + i];
        window.stride[i] = strides[window.first_axis + i];
        window.dilation[i] = dilations[window.first_axis + i];
        if (window.stride[i] <= 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Stride must be > 0, but got %" PRId64, window.stride[i]);
        if (window.dilation[i] < 1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Dilation rate must be >= 1, but got %" PRId64, window.dilation[i]);
    }
    window.batch_size = sizes[0];
    window.channel_size = sizes[window.channel_axis];
    window.batch_stride = strides[0];
    window.channel_stride = strides[window.channel_axis];
    window.batch_dilation = dilations[0];
    window.channel_dilation = dilations[window.channel_axis];
    *out = window;
    return WEIR_STATUS_OK;
}

weir_status weir_window_of_convolution(const weir_node *node, weir_window *out)
{
    bool is_nchw = weir_node_string_is(node, "data_format", "NCHW");
    return read_window(node, "Conv2D", is_nchw ? "Conv2D on data format NCHW" : "Conv2D on data format NHWC", out);
}

weir_status weir_window_of_pool(const weir_node *node, weir_window *out)
{
    const char *op = strncmp(node->op->name, "Max", 3) == 0 ? "MaxPool" : "AvgPool";
    return read_window(node, op, op, out);
}

/* ---- Sizes ---- */

static weir_status infer_valid(const weir_window *window, int direction, int64_t in, int64_t size, int64_t *out)
{
    if (in < 0 || size < 0)
        return WEIR_STATUS_OK;
    if (window->padding == WEIR_PAD_EXPLICIT)
        in += window->before[direction] + window->after[direction];
    int64_t extent = (size - 1) * window->dilation[direction] + 1;
    if (extent > in)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Negative dimension size caused by subtracting %" PRId64 " from %" PRId64, extent, in);
    *out = (in - extent) / window->stride[direction] + 1;
    return WEIR_STATUS_OK;
}

weir_status weir_window_infer(const weir_window *window, int direction, int64_t in, int64_t size, int64_t *out)
{
    int64_t stride = window->stride[direction];
    *out = WEIR_UNKNOWN_DIM;
    if (window->padding != WEIR_PAD_SAME)
        return infer_valid(window, direction, in, size, out);
    if (in >= 0)
        *out = in / stride + (in % stride != 0);
    return WEIR_STATUS_OK;
}

int64_t weir_window_fit(const weir_window *window, int direction, int64_t in, int64_t size, int64_t *pad_before)
{
    int64_t stride = window->stride[direction];
    int64_t dilation = window->dilation[direction];
    if (window->padding == WEIR_PAD_SAME)
        return weir_window_same(in, size, stride, dilation, pad_before);
    *pad_before = window->before[direction];
    return weir_window_valid(in + window->before[direction] + window->after[direction], size, stride, dilation);
}

weir_status weir_window_check_convolution(const weir_window *window)
{
    if (window->batch_stride != 1 || window->channel_stride != 1)
        return weir_fail(WEIR_UNIMPLEMENTED,
                         "Current implementation does not yet support strides in the batch and depth dimensions.");
    if (window->batch_dilation != 1 || window->channel_dilation != 1)
        return weir_fail(WEIR_UNIMPLEMENTED,
                         "Current implementation does not yet support dilations in the batch and depth dimensions.");
    return WEIR_STATUS_OK;
}
