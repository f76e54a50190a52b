/*
 * Plain loops, one instance per type.
 */
#include "kernel/cpu/convolution_generic.h"

#include "kernel/cpu/narrow_floats.h"

#define STRIP 64 /* channels whose sums are held at once */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The input row or column under a filter's tap. */
static int64_t tap_row(const weir_convolution_options *o, int64_t out, int64_t tap)
{
    return out * o->stride_height + tap * o->dilation_height - o->pad_top;
}

static int64_t tap_column(const weir_convolution_options *o, int64_t out, int64_t tap)
{
    return out * o->stride_width + tap * o->dilation_width - o->pad_left;
}

/* The output row (column) whose tap lies on input row (column) in; -1 if none does. */
static int64_t under_tap(int64_t in, int64_t pad, int64_t tap, int64_t dilation, int64_t stride, int64_t out_size)
{
    const int64_t start = in + pad - tap * dilation;
    return start < 0 || start % stride != 0 || start / stride >= out_size ? -1 : start / stride;
}

#define SAME(x) (x)

#define CONVOLUTION(name, type, sum_type, from, to)                                                                    \
    static void forward_##name(const weir_convolution_options *o, int64_t image, int64_t h, const type *x,             \
                               const type *filter, const type *bias, type *y)                                          \
    {                                                                                                                  \
        const int64_t in = o->in_channels, out = o->out_channels;                                                      \
        for (int64_t w = 0; w < o->out_width; w++)                                                                     \
            for (int64_t c = 0; c < out; c += STRIP) {                                                                 \
                const int64_t count = least(STRIP, out - c);                                                           \
                sum_type sum[STRIP] = {0};                                                                             \
                for (int64_t i = 0; i < o->filter_height; i++) {                                                       \
                    const int64_t row = tap_row(o, h, i);                                                              \
                    for (int64_t j = 0; row >= 0 && row < o->in_height && j < o->filter_width; j++) {                  \
                        const int64_t column = tap_column(o, w, j);                                                    \
                        if (column < 0 || column >= o->in_width)                                                       \
                            continue;                                                                                  \
                        const type *from_x = x + ((image * o->in_height + row) * o->in_width + column) * in;           \
                        const type *weights = filter + (i * o->filter_width + j) * in * out + c;                       \
                        for (int64_t k = 0; k < in; k++)                                                               \
                            for (int64_t l = 0; l < count; l++)                                                        \
                                sum[l] += (sum_type)from(from_x[k]) * (sum_type)from(weights[k * out + l]);            \
                    }                                                                                                  \
                }                                                                                                      \
                type *to_y = y + ((image * o->out_height + h) * o->out_width + w) * out + c;                           \
                for (int64_t l = 0; l < count; l++) {                                                                  \
                    if (o->bias)                                                                                       \
                        sum[l] += (sum_type)from(bias[c + l]);                                                         \
                    to_y[l] = (type)to(o->relu && sum[l] < 0 ? 0 : sum[l]);                                            \
                }                                                                                                      \
            }                                                                                                          \
    }                                                                                                                  \
                                                                                                                       \
    static void input_gradient_##name(const weir_convolution_options *o, int64_t image, int64_t h, const type *dy,     \
                                      const type *filter, type *dx)                                                    \
    {                                                                                                                  \
        const int64_t in = o->in_channels, out = o->out_channels;                                                      \
        for (int64_t w = 0; w < o->in_width; w++)                                                                      \
            for (int64_t c = 0; c < in; c++) {                                                                         \
                sum_type sum = 0;                                                                                      \
                for (int64_t i = 0; i < o->filter_height; i++) {                                                       \
                    const int64_t row = under_tap(h, o->pad_top, i, o->dilation_height, o->stride_height,              \
                                                  o->out_height);                                                      \
                    for (int64_t j = 0; row >= 0 && j < o->filter_width; j++) {                                        \
                        const int64_t column = under_tap(w, o->pad_left, j, o->dilation_width, o->stride_width,        \
                                                         o->out_width);                                                \
                        if (column < 0)                                                                                \
                            continue;                                                                                  \
                        const type *from_y = dy + ((image * o->out_height + row) * o->out_width + column) * out;       \
                        const type *weights = filter + ((i * o->filter_width + j) * in + c) * out;                     \
                        for (int64_t k = 0; k < out; k++)                                                              \
                            sum += (sum_type)from(from_y[k]) * (sum_type)from(weights[k]);                             \
                    }                                                                                                  \
                }                                                                                                      \
                dx[((image * o->in_height + h) * o->in_width + w) * in + c] = (type)to(sum);                           \
            }                                                                                                          \
    }                                                                                                                  \
                                                                                                                       \
    static void filter_gradient_##name(const weir_convolution_options *o, int64_t filter_row, const type *x,           \
                                       const type *dy, type *df)                                                       \
    {                                                                                                                  \
        const int64_t in = o->in_channels, out = o->out_channels;                                                      \
        const int64_t k = filter_row % in, tap = filter_row / in;                                                      \
        const int64_t i = tap / o->filter_width, j = tap % o->filter_width;                                            \
        for (int64_t c = 0; c < out; c += STRIP) {                                                                     \
            const int64_t count = least(STRIP, out - c);                                                               \
            sum_type sum[STRIP] = {0};                                                                                 \
            for (int64_t image = 0; image < o->batch; image++)                                                         \
                for (int64_t h = 0; h < o->out_height; h++) {                                                          \
                    const int64_t row = tap_row(o, h, i);                                                              \
                    for (int64_t w = 0; row >= 0 && row < o->in_height && w < o->out_width; w++) {                     \
                        const int64_t column = tap_column(o, w, j);                                                    \
                        if (column < 0 || column >= o->in_width)                                                       \
                            continue;                                                                                  \
                        const sum_type a =                                                                             \
                            (sum_type)from(x[((image * o->in_height + row) * o->in_width + column) * in + k]);         \
                        const type *b = dy + ((image * o->out_height + h) * o->out_width + w) * out + c;               \
                        for (int64_t l = 0; l < count; l++)                                                            \
                            sum[l] += a * (sum_type)from(b[l]);                                                        \
                    }                                                                                                  \
                }                                                                                                      \
            for (int64_t l = 0; l < count; l++)                                                                        \
                df[filter_row * out + c + l] = (type)to(sum[l]);                                                       \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void block_##name(const weir_convolution_options *o, int64_t block, const void *first, const void *second,  \
                             const void *bias, void *out)                                                              \
    {                                                                                                                  \
        if (o->direction == WEIR_CONVOLUTION_FORWARD)                                                                  \
            forward_##name(o, block / o->out_height, block % o->out_height, first, second, bias, out);                 \
        else if (o->direction == WEIR_CONVOLUTION_INPUT_GRADIENT)                                                      \
            input_gradient_##name(o, block / o->in_height, block % o->in_height, first, second, out);                  \
        else                                                                                                           \
            filter_gradient_##name(o, block, first, second, out);                                                      \
    }

CONVOLUTION(float, float, float, SAME, SAME)
CONVOLUTION(double, double, double, SAME, SAME)
CONVOLUTION(half, uint16_t, float, float_of_half, half_of_float)
CONVOLUTION(bfloat16, uint16_t, float, float_of_bfloat16, bfloat16_of_float)

int64_t weir_convolution_generic_blocks(const weir_convolution_options *options)
{
    switch (options->direction) {
    case WEIR_CONVOLUTION_FORWARD:
        return options->batch * options->out_height;
    case WEIR_CONVOLUTION_INPUT_GRADIENT:
        return options->batch * options->in_height;
    default:
        return options->filter_height * options->filter_width * options->in_channels;
    }
}

void weir_convolution_generic(const weir_convolution_options *options, int64_t block, const void *first,
                              const void *second, const void *bias, void *out)
{
    switch ((int)options->type) {
    case WEIR_FLOAT:
        block_float(options, block, first, second, bias, out);
        break;
    case WEIR_DOUBLE:
        block_double(options, block, first, second, bias, out);
        break;
    case WEIR_HALF:
        block_half(options, block, first, second, bias, out);
        break;
    case WEIR_BFLOAT16:
        block_bfloat16(options, block, first, second, bias, out);
        break;
    default:
        break;
    }
}
