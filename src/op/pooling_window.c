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

/* The attributes of a window, found in one pass: binding reads them for every layout. NULL: the op has none of the name. */
typedef enum window_attr { SIZES, STRIDES, DILATIONS, PADDING, EXPLICIT, FORMAT, WINDOW_ATTRS } window_attr;

typedef struct window_attrs {
    const weir_attr_value *values[WINDOW_ATTRS];
} window_attrs;

static window_attrs find_attrs(const weir_node *node)
{
    static const char *const names[WINDOW_ATTRS] = {"ksize",   "strides",           "dilations",
                                                    "padding", "explicit_paddings", "data_format"};
    window_attrs found = {0};
    for (int i = 0; i < node->num_attrs; i++) {
        const char *name = node->attrs[i].name;
        for (int j = 0; j < WINDOW_ATTRS; j++) {
            if (name[0] == names[j][0] && strcmp(name, names[j]) == 0)
                found.values[j] = &node->attrs[i].value;
        }
    }
    return found;
}

static bool is_text(const weir_attr_value *value, const char *text)
{
    return value != NULL && value->s.size == strlen(text) && memcmp(value->s.data, text, value->s.size) == 0;
}

/* A list of four numbers; what is missing (dilations of pools) is all ones. */
static weir_status read_four(const weir_attr_value *value, const char *op, const char *what, int64_t out[4])
{
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

static weir_status read_explicit(const weir_attr_value *value, weir_window *window)
{
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

static void read_layout(const window_attrs *attrs, weir_window *window)
{
    window->is_nchw = is_text(attrs->values[FORMAT], "NCHW");
    window->first_axis = window->is_nchw ? 2 : 1;
    window->channel_axis = window->is_nchw ? 1 : 3;
    window->padding = is_text(attrs->values[PADDING], "SAME")    ? WEIR_PAD_SAME
                      : is_text(attrs->values[PADDING], "VALID") ? WEIR_PAD_VALID
                                                                 : WEIR_PAD_EXPLICIT;
}

/* Numbers of windows stay so small that their products with sizes can be told. */
static weir_status check_most(const char *op, const char *what, int64_t value)
{
    if (value <= INT32_MAX)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "%s: %s is %" PRId64 ", more than %d", op, what, value, INT32_MAX);
}

/* op: the name in messages; a convolution's names its layout where strides are concerned. */
static weir_status read_window(const weir_node *node, const char *op, bool is_pool, weir_window *out)
{
    weir_window window = {0};
    int64_t sizes[4], strides[4], dilations[4];
    window_attrs attrs = find_attrs(node);
    read_layout(&attrs, &window);
    const char *strides_op = is_pool          ? op
                             : window.is_nchw ? "Conv2D on data format NCHW"
                                              : "Conv2D on data format NHWC";
    WEIR_TRY(read_four(attrs.values[DILATIONS], op, "dilation", dilations));
    WEIR_TRY(read_four(attrs.values[SIZES], op, "ksize", sizes));
    WEIR_TRY(read_four(attrs.values[STRIDES], strides_op, "stride", strides));
    WEIR_TRY(read_explicit(attrs.values[EXPLICIT], &window));
    for (int i = 0; i < 2; i++) {
        window.size[i] = sizes[window.first_axis + i];
        window.stride[i] = strides[window.first_axis + i];
        window.dilation[i] = dilations[window.first_axis + i];
        if (window.stride[i] <= 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Stride must be > 0, but got %" PRId64, window.stride[i]);
        if (window.dilation[i] < 1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Dilation rate must be >= 1, but got %" PRId64, window.dilation[i]);
        WEIR_TRY(check_most(op, "ksize", window.size[i]));
        WEIR_TRY(check_most(op, "stride", window.stride[i]));
        WEIR_TRY(check_most(op, "dilation", window.dilation[i]));
        WEIR_TRY(check_most(op, "explicit padding", window.before[i]));
        WEIR_TRY(check_most(op, "explicit padding", window.after[i]));
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
    return read_window(node, "Conv2D", false, out);
}

weir_status weir_window_of_pool(const weir_node *node, weir_window *out)
{
    return read_window(node, strncmp(node->op->name, "Max", 3) == 0 ? "MaxPool" : "AvgPool", true, out);
}

/* ---- Sizes ---- */

/* An axis without elements in the others may be as long as a number can be. */
static int64_t with_pads(const weir_window *window, int direction, int64_t in)
{
    int64_t padded;
    return __builtin_add_overflow(in, window->before[direction] + window->after[direction], &padded) ? INT64_MAX
                                                                                                     : padded;
}

static weir_status infer_valid(const weir_window *window, int direction, int64_t in, int64_t size, int64_t *out)
{
    if (in < 0 || size < 0)
        return WEIR_STATUS_OK;
    if (window->padding == WEIR_PAD_EXPLICIT)
        in = with_pads(window, direction, in);
    int64_t extent = weir_window_reach(size, window->dilation[direction]);
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
    return weir_window_valid(with_pads(window, direction, in), size, stride, dilation);
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
