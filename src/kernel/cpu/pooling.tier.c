/*
 * Pooling of float images for one CPU tier. Lanes lie along the channels.
 */
#include "kernel/cpu/pooling_tier.h"

#include <float.h>
#include <string.h>

#include "kernel/cpu/pooling_generic.h"
#include "kernel/cpu/tier.h"

#define AHEAD_ROWS 4

WEIR_INLINE int64_t lanes_of(const weir_pooling_options *o, int64_t channel)
{
    return o->channels - channel < WEIR_LANES ? o->channels - channel : WEIR_LANES;
}

WEIR_INLINE floats get(const float *from, int64_t lanes)
{
    return lanes == WEIR_LANES ? floats_load(from) : floats_load_part(from, lanes);
}

WEIR_INLINE void put(float *to, floats value, int64_t lanes)
{
    if (lanes == WEIR_LANES)
        floats_store(to, value);
    else
        floats_store_part(to, value, lanes);
}

/* The larger; largest if equal, or if value is NaN: as in TensorFlow, NaN never wins. */
WEIR_INLINE floats larger(floats largest, floats value)
{
    return floats_select(floats_greater(value, largest), value, largest);
}

/* Windows of 2x2 side by side: nothing overlaps and nothing lies in the padding. */
WEIR_INLINE bool is_quarter(const weir_pooling_options *o)
{
    return o->window_height == 2 && o->window_width == 2 && o->stride_height == 2 && o->stride_width == 2 &&
           o->pad_top == 0 && o->pad_left == 0 && 2 * o->out_height <= o->in_height && 2 * o->out_width <= o->in_width;
}

/* The processor does not foresee rows that are read in pairs. */
WEIR_INLINE void ahead(const float *at, int64_t row)
{
    const char *next = (const char *)((uintptr_t)at + (uintptr_t)(AHEAD_ROWS * row * 4));
    __builtin_prefetch(next);
    __builtin_prefetch((const char *)((uintptr_t)next + (uintptr_t)(row * 4)));
}

static void max_quarter(const weir_pooling_options *o, int64_t first, int64_t last, const float *x, float *y)
{
    const int64_t channels = o->channels, row = o->in_width * channels;
    y += first * o->out_width * channels;
    for (int64_t h = first; h < last; h++) {
        const float *cell = x + 2 * h * row;
        for (int64_t w = 0; w < o->out_width; w++, cell += 2 * channels, y += channels)
            for (int64_t c = 0; c < channels; c += WEIR_LANES) {
                const int64_t lanes = lanes_of(o, c);
                const float *at = cell + c;
                ahead(at, row);
                floats largest = larger(floats_set(-FLT_MAX), get(at, lanes));
                largest = larger(largest, get(at + channels, lanes));
                largest = larger(largest, get(at + row, lanes));
                put(y + c, larger(largest, get(at + row + channels, lanes)), lanes);
            }
    }
}

static void max(const weir_pooling_options *o, int64_t first, int64_t last, const float *x, float *y)
{
    if (is_quarter(o)) {
        max_quarter(o, first, last, x, y);
        return;
    }
    const int64_t channels = o->channels;
    for (int64_t h = first; h < last; h++)
        for (int64_t w = 0; w < o->out_width; w++) {
            int64_t top, bottom, left, right;
            weir_window_inside(h, o->stride_height, o->pad_top, o->window_height, o->in_height, &top, &bottom);
            weir_window_inside(w, o->stride_width, o->pad_left, o->window_width, o->in_width, &left, &right);
            for (int64_t c = 0; c < channels; c += WEIR_LANES) {
                const int64_t lanes = lanes_of(o, c);
                floats largest = floats_set(-FLT_MAX);
                for (int64_t i = top; i < bottom; i++)
                    for (int64_t j = left; j < right; j++)
                        largest = larger(largest, get(x + (i * o->in_width + j) * channels + c, lanes));
                put(y + (h * o->out_width + w) * channels + c, largest, lanes);
            }
        }
}

static void average(const weir_pooling_options *o, int64_t first, int64_t last, const float *x, float *y)
{
    const int64_t channels = o->channels;
    for (int64_t h = first; h < last; h++)
        for (int64_t w = 0; w < o->out_width; w++) {
            int64_t top, bottom, left, right;
            weir_window_inside(h, o->stride_height, o->pad_top, o->window_height, o->in_height, &top, &bottom);
            weir_window_inside(w, o->stride_width, o->pad_left, o->window_width, o->in_width, &left, &right);
            const floats cells = floats_set((float)((bottom - top) * (right - left)));
            for (int64_t c = 0; c < channels; c += WEIR_LANES) {
                const int64_t lanes = lanes_of(o, c);
                floats sum = floats_zero();
                for (int64_t i = top; i < bottom; i++)
                    for (int64_t j = left; j < right; j++)
                        sum += get(x + (i * o->in_width + j) * channels + c, lanes);
                put(y + (h * o->out_width + w) * channels + c, sum / cells, lanes);
            }
        }
}

static void max_gradient_quarter(const weir_pooling_options *o, const float *x, const float *y, const float *dy,
                                 float *dx)
{
    const int64_t channels = o->channels, row = o->in_width * channels;
    const int64_t rest = row - 2 * o->out_width * channels; /* of an odd width: no window covers it */
    for (int64_t h = 0; h < o->out_height; h++) {
        const float *cell = x + 2 * h * row;
        float *out = dx + 2 * h * row;
        for (int64_t w = 0; w < o->out_width; w++) {
            for (int64_t c = 0; c < channels; c += WEIR_LANES) {
                const int64_t lanes = lanes_of(o, c);
                const floats largest = get(y + c, lanes), gradient = get(dy + c, lanes);
                ahead(cell + c, row);
                ahead(out + c, row);
                const lanes_mask a = floats_equal(get(cell + c, lanes), largest);
                const lanes_mask b = floats_equal(get(cell + c + channels, lanes), largest) & ~a;
                const lanes_mask d = floats_equal(get(cell + c + row, lanes), largest) & ~(a | b);
                const lanes_mask e = floats_equal(get(cell + c + row + channels, lanes), largest) & ~(a | b | d);
                put(out + c, floats_keep(a | ~(a | b | d | e), gradient), lanes); /* the first, if none has won */
                put(out + c + channels, floats_keep(b, gradient), lanes);
                put(out + c + row, floats_keep(d, gradient), lanes);
                put(out + c + row + channels, floats_keep(e, gradient), lanes);
            }
            cell += 2 * channels;
            out += 2 * channels;
            y += channels;
            dy += channels;
        }
        memset(out, 0, (size_t)rest * sizeof *out);
        memset(out + row, 0, (size_t)rest * sizeof *out);
    }
    memset(dx + 2 * o->out_height * row, 0, (size_t)((o->in_height - 2 * o->out_height) * row) * sizeof *dx);
}

static void max_gradient(const weir_pooling_options *o, const float *x, const float *y, const float *dy, float *dx)
{
    if (is_quarter(o)) {
        max_gradient_quarter(o, x, y, dy, dx);
        return;
    }
    const int64_t channels = o->channels;
    memset(dx, 0, (size_t)(o->in_height * o->in_width * channels) * sizeof *dx);
    for (int64_t h = 0; h < o->out_height; h++)
        for (int64_t w = 0; w < o->out_width; w++) {
            int64_t top, bottom, left, right;
            weir_window_inside(h, o->stride_height, o->pad_top, o->window_height, o->in_height, &top, &bottom);
            weir_window_inside(w, o->stride_width, o->pad_left, o->window_width, o->in_width, &left, &right);
            const int64_t at = (h * o->out_width + w) * channels;
            for (int64_t c = 0; c < channels; c += WEIR_LANES) {
                const int64_t lanes = lanes_of(o, c);
                const floats largest = get(y + at + c, lanes);
                floats gradient = get(dy + at + c, lanes);
                for (int64_t i = top; i < bottom; i++)
                    for (int64_t j = left; j < right; j++) {
                        const int64_t cell = (i * o->in_width + j) * channels + c;
                        const lanes_mask here = floats_equal(get(x + cell, lanes), largest);
                        /* Lanes that found their place have no gradient left; adding 0 changes nothing. */
                        put(dx + cell, floats_select(here, get(dx + cell, lanes) + gradient, get(dx + cell, lanes)),
                            lanes);
                        gradient = floats_keep(~here, gradient);
                    }
                float *first_cell = dx + (top * o->in_width + left) * channels + c;
                put(first_cell, get(first_cell, lanes) + gradient, lanes); /* what none has won */
            }
        }
}

static void average_gradient(const weir_pooling_options *o, const float *dy, float *dx)
{
    const int64_t channels = o->channels;
    memset(dx, 0, (size_t)(o->in_height * o->in_width * channels) * sizeof *dx);
    for (int64_t h = 0; h < o->out_height; h++)
        for (int64_t w = 0; w < o->out_width; w++) {
            int64_t top, bottom, left, right;
            weir_window_inside(h, o->stride_height, o->pad_top, o->window_height, o->in_height, &top, &bottom);
            weir_window_inside(w, o->stride_width, o->pad_left, o->window_width, o->in_width, &left, &right);
            const floats cells = floats_set((float)((bottom - top) * (right - left)));
            for (int64_t c = 0; c < channels; c += WEIR_LANES) {
                const int64_t lanes = lanes_of(o, c);
                const floats share = get(dy + (h * o->out_width + w) * channels + c, lanes) / cells;
                for (int64_t i = top; i < bottom; i++)
                    for (int64_t j = left; j < right; j++) {
                        float *cell = dx + (i * o->in_width + j) * channels + c;
                        put(cell, get(cell, lanes) + share, lanes);
                    }
            }
        }
}

extern const weir_pooling_kernels WEIR_TIER_NAME(weir_pooling_kernels);
const weir_pooling_kernels WEIR_TIER_NAME(weir_pooling_kernels) = {
    .max = max,
    .average = average,
    .max_gradient = max_gradient,
    .average_gradient = average_gradient,
};
