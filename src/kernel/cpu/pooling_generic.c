/*
 * Plain loops, one instance per type.
 */
#include "kernel/cpu/pooling_generic.h"

#include "kernel/cpu/narrow_floats.h"

#define SAME(x) (x)

/* Calls body for each output cell of an image with the rows top .. bottom - 1 and columns left .. right - 1 of its
 * window that lie inside the image; at is the cell's first channel in out-sized arrays. */
#define EACH_WINDOW(o)                                                                                                 \
    int64_t top, bottom, left, right;                                                                                  \
    for (int64_t h = 0; h < (o)->out_height; h++)                                                                      \
        for (int64_t w = 0; w < (o)->out_width; w++)                                                                   \
            for (int64_t once = 1, at = (h * (o)->out_width + w) * (o)->channels;                                      \
                 weir_window_inside(h, (o)->stride_height, (o)->pad_top, (o)->window_height, (o)->in_height, &top,     \
                                    &bottom),                                                                          \
                         weir_window_inside(w, (o)->stride_width, (o)->pad_left, (o)->window_width, (o)->in_width,     \
                                            &left, &right),                                                            \
                         once;                                                                                         \
                 once = 0)

#define CELL(o, row, column) (((row) * (o)->in_width + (column)) * (o)->channels)

#define POOLING(name, type, sum_type, from, to)                                                                        \
    static void max_##name(const weir_pooling_options *o, const type *x, type *y)                                      \
    {                                                                                                                  \
        EACH_WINDOW(o)                                                                                                 \
        for (int64_t c = 0; c < o->channels; c++) {                                                                    \
            type largest = x[CELL(o, top, left) + c];                                                                  \
            for (int64_t i = top; i < bottom; i++)                                                                     \
                for (int64_t j = left; j < right; j++) {                                                               \
                    const sum_type value = from(x[CELL(o, i, j) + c]), so_far = from(largest);                         \
                    if (value > so_far || (so_far != so_far && value == value))                                        \
                        largest = x[CELL(o, i, j) + c];                                                                \
                }                                                                                                      \
            y[at + c] = largest;                                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void max_gradient_##name(const weir_pooling_options *o, const type *x, const type *y, const type *dy,       \
                                    type *dx)                                                                          \
    {                                                                                                                  \
        EACH_WINDOW(o)                                                                                                 \
        for (int64_t c = 0; c < o->channels; c++) {                                                                    \
            const sum_type largest = from(y[at + c]);                                                                  \
            bool found = false;                                                                                        \
            for (int64_t i = top; i < bottom && !found; i++)                                                           \
                for (int64_t j = left; j < right && !found; j++) {                                                     \
                    const int64_t cell = CELL(o, i, j) + c;                                                            \
                    const sum_type value = from(x[cell]);                                                              \
                    found = value == largest || (value != value && largest != largest);                                \
                    if (found)                                                                                         \
                        dx[cell] = (type)to(from(dx[cell]) + from(dy[at + c]));                                        \
                }                                                                                                      \
            const int64_t first_cell = CELL(o, top, left) + c;                                                         \
            if (!found)                                                                                                \
                dx[first_cell] = (type)to(from(dx[first_cell]) + from(dy[at + c]));                                    \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void average_##name(const weir_pooling_options *o, const type *x, type *y)                                  \
    {                                                                                                                  \
        EACH_WINDOW(o)                                                                                                 \
        for (int64_t c = 0; c < o->channels; c++) {                                                                    \
            sum_type sum = 0;                                                                                          \
            for (int64_t i = top; i < bottom; i++)                                                                     \
                for (int64_t j = left; j < right; j++)                                                                 \
                    sum += from(x[CELL(o, i, j) + c]);                                                                 \
            y[at + c] = (type)to(sum / (sum_type)((bottom - top) * (right - left)));                                   \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void average_gradient_##name(const weir_pooling_options *o, const type *dy, type *dx)                       \
    {                                                                                                                  \
        EACH_WINDOW(o)                                                                                                 \
        for (int64_t i = top; i < bottom; i++)                                                                         \
            for (int64_t j = left; j < right; j++)                                                                     \
                for (int64_t c = 0; c < o->channels; c++) {                                                            \
                    type *cell = dx + CELL(o, i, j) + c;                                                               \
                    *cell = (type)to(from(*cell) + from(dy[at + c]) / (sum_type)((bottom - top) * (right - left)));    \
                }                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    static void image_##name(const weir_pooling_options *o, weir_pooling_work work, int64_t image, const type *x,      \
                             const type *y, const type *dy, type *out)                                                 \
    {                                                                                                                  \
        const int64_t in_size = o->in_height * o->in_width * o->channels;                                              \
        const int64_t out_size = o->out_height * o->out_width * o->channels;                                           \
        const bool gradient = work == WEIR_POOLING_MAX_GRADIENT || work == WEIR_POOLING_AVERAGE_GRADIENT;              \
        out += image * (gradient ? in_size : out_size);                                                                \
        for (int64_t i = 0; gradient && i < in_size; i++)                                                              \
            out[i] = 0;                                                                                                \
        if (work == WEIR_POOLING_MAX)                                                                                  \
            max_##name(o, x + image * in_size, out);                                                                   \
        else if (work == WEIR_POOLING_MAX_GRADIENT)                                                                    \
            max_gradient_##name(o, x + image * in_size, y + image * out_size, dy + image * out_size, out);             \
        else if (work == WEIR_POOLING_AVERAGE)                                                                         \
            average_##name(o, x + image * in_size, out);                                                               \
        else                                                                                                           \
            average_gradient_##name(o, dy + image * out_size, out);                                                    \
    }

POOLING(float, float, float, SAME, SAME)
POOLING(double, double, double, SAME, SAME)
POOLING(half, uint16_t, float, float_of_half, half_of_float)
POOLING(bfloat16, uint16_t, float, float_of_bfloat16, bfloat16_of_float)

void weir_pooling_generic(const weir_pooling_options *options, weir_pooling_work work, int64_t image, const void *x,
                          const void *y, const void *dy, void *out)
{
    switch ((int)options->type) {
    case WEIR_FLOAT:
        image_float(options, work, image, x, y, dy, out);
        break;
    case WEIR_DOUBLE:
        image_double(options, work, image, x, y, dy, out);
        break;
    case WEIR_HALF:
        image_half(options, work, image, x, y, dy, out);
        break;
    case WEIR_BFLOAT16:
        image_bfloat16(options, work, image, x, y, dy, out);
        break;
    default:
        break;
    }
}
