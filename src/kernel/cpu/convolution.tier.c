/*
 * Convolutions of 16 images side by side for one CPU tier: see convolution_tier.h.
 *
 * A forward tile is a few pixels times a few channels of the result: vectors of the image, one for each pixel, times
 * broadcast elements of the filter. At least 20 accumulators and at most 0.6 loads for each multiplication keep the
 * multipliers busy. The taps of a filter row and their channels are one loop, because they lie side by side in both.
 */
#include "kernel/cpu/convolution_tier.h"

#include "kernel/cpu/tier.h"
#include "kernel/cpu/tier_transpose.h"

#define MOST_PIXELS 8
#define MOST_CHANNELS 6

#if WEIR_REGISTERS == 32
#define TILE_HIGH 2
#define TILE_WIDE 2
#define NARROW_WIDE 4
#define NARROW_CHANNELS 3
#define TAP_TILE 6
#define CHANNEL_TILE 4
#else
#define TILE_HIGH 2
#define TILE_WIDE 1
#define NARROW_WIDE 2
#define NARROW_CHANNELS 3
#define TAP_TILE 3
#define CHANNEL_TILE 3
#endif

/* ---- forward ------------------------------------------------------------------------------------------------------ */

/* high x wide pixels times channels, which are constants in every caller; offset: where the pixels' cells are. */
WEIR_INLINE void forward_tile(const weir_group_forward *f, int64_t channel, const int64_t *offset, const int64_t *to,
                              const int pixels, const int channels)
{
    for (int half = 0; half < WEIR_GROUP; half += WEIR_LANES) {
        floats sum[MOST_PIXELS][MOST_CHANNELS];
        WEIR_UNROLL for (int p = 0; p < pixels; p++) WEIR_UNROLL for (int c = 0; c < channels; c++) sum[p][c] =
            floats_zero();
        for (int64_t tap = 0; tap < f->taps; tap++) {
            const float *start = f->in + tap * f->in_tap_row + half;
            const float *in[MOST_PIXELS];
            WEIR_UNROLL for (int p = 0; p < pixels; p++) in[p] = start + offset[p];
            const float *filter = f->filter + tap * f->filter_tap_row + channel;
            WEIR_ROLL for (int64_t k = 0; k < f->depth * WEIR_GROUP; k += WEIR_GROUP)
            {
                floats x[MOST_PIXELS];
                WEIR_UNROLL for (int p = 0; p < pixels; p++) x[p] = floats_pin(floats_load(in[p] + k));
                WEIR_UNROLL for (int c = 0; c < channels; c++)
                {
                    floats y = floats_pin(floats_broadcast(filter + c));
                    WEIR_UNROLL for (int p = 0; p < pixels; p++) sum[p][c] = floats_fma(x[p], y, sum[p][c]);
                }
                filter += f->filter_row;
            }
        }
        WEIR_UNROLL for (int c = 0; c < channels; c++)
        {
            const floats bias = f->bias != NULL ? floats_broadcast(f->bias + channel + c) : floats_zero();
            WEIR_UNROLL for (int p = 0; p < pixels; p++)
            {
                floats value = f->bias != NULL ? sum[p][c] + bias : sum[p][c];
                if (f->relu)
                    value = floats_max(floats_zero(), value);
                floats_store(f->out + to[p] + (channel + c) * WEIR_GROUP + half, value);
            }
        }
    }
}

#define FORWARD_TILE(pixels, channels)                                                                                 \
    static void forward_##pixels##x##channels(const weir_group_forward *f, int64_t channel, const int64_t *offset,     \
                                              const int64_t *to)                                                       \
    {                                                                                                                  \
        forward_tile(f, channel, offset, to, pixels, channels);                                                        \
    }

typedef void forward_function(const weir_group_forward *f, int64_t channel, const int64_t *offset, const int64_t *to);

#if WEIR_REGISTERS == 32
FORWARD_TILE(4, 4)
FORWARD_TILE(4, 5)
FORWARD_TILE(4, 6)
FORWARD_TILE(8, 1)
FORWARD_TILE(8, 2)
FORWARD_TILE(8, 3)
static forward_function *const forward_tiles[] = {forward_8x1, forward_8x2, forward_8x3,
                                                  forward_4x4, forward_4x5, forward_4x6};
#else
FORWARD_TILE(2, 4)
FORWARD_TILE(2, 5)
FORWARD_TILE(2, 6)
FORWARD_TILE(4, 1)
FORWARD_TILE(4, 2)
FORWARD_TILE(4, 3)
static forward_function *const forward_tiles[] = {forward_4x1, forward_4x2, forward_4x3,
                                                  forward_2x4, forward_2x5, forward_2x6};
#endif

static void forward(const weir_group_forward *f, int64_t high, int64_t wide)
{
    const bool narrow = f->channels <= NARROW_CHANNELS;
    const int width = narrow ? NARROW_WIDE : TILE_WIDE;
    int64_t offset[MOST_PIXELS], to[MOST_PIXELS];
    for (int p = 0; p < TILE_HIGH * width; p++) { /* pixels that do not exist repeat the last one that does */
        const int64_t h = p / width < high ? p / width : high - 1, w = p % width < wide ? p % width : wide - 1;
        offset[p] = h * f->in_row + w * f->in_column;
        to[p] = h * f->out_row + w * f->out_column;
    }
    if (narrow) {
        forward_tiles[f->channels - 1](f, 0, offset, to);
        return;
    }
    /* As even as it goes, and never so few that the tile would be a narrow one. */
    const int64_t tiles = (f->channels + MOST_CHANNELS - 1) / MOST_CHANNELS;
    for (int64_t tile = 0, channel = 0; tile < tiles; tile++) {
        const int64_t channels = (f->channels - channel + tiles - tile - 1) / (tiles - tile);
        if (channels > NARROW_CHANNELS)
            forward_tiles[channels - 1](f, channel, offset, to);
        else /* 7 = 4 + 3: the last tile begins one channel earlier */
            forward_tiles[NARROW_CHANNELS](f, f->channels - NARROW_CHANNELS - 1, offset, to);
        channel += channels;
    }
}

/* ---- gradient of the filter --------------------------------------------------------------------------------------- */

/* taps cells of x times channels of dy over all pixels of the group; lanes are partial sums until the end. */
WEIR_INLINE void filter_tile(const weir_group_filter *g, int64_t tap, int64_t channel, const int taps,
                             const int channels)
{
    floats sum[TAP_TILE * CHANNEL_TILE];
    WEIR_UNROLL for (int i = 0; i < taps * channels; i++) sum[i] = floats_zero();
    for (int64_t row = 0; row < g->rows; row++) {
        const char *ahead = g->ahead + row * g->ahead_bytes;
        for (int64_t byte = 0; byte < g->ahead_bytes; byte += 64)
            __builtin_prefetch(ahead + byte, 0, 2);
        for (int half = 0; half < WEIR_GROUP; half += WEIR_LANES) {
            const float *x = g->x + row * g->x_row + tap * WEIR_GROUP + half;
            const float *dy = g->dy + row * g->dy_row + channel * WEIR_GROUP + half;
            WEIR_ROLL for (int64_t column = 0; column < g->columns; column++)
            {
                floats b[CHANNEL_TILE];
                WEIR_UNROLL for (int c = 0; c < channels; c++) b[c] = floats_pin(floats_load(dy + c * WEIR_GROUP));
                WEIR_UNROLL for (int t = 0; t < taps; t++)
                {
                    floats a = floats_pin(floats_load(x + t * WEIR_GROUP));
                    WEIR_UNROLL for (int c = 0; c < channels; c++) sum[t * channels + c] =
                        floats_fma(a, b[c], sum[t * channels + c]);
                }
                x += g->x_column;
                dy += g->dy_column;
            }
        }
    }
    float sums[(TAP_TILE * CHANNEL_TILE + 15) / 16 * 16];
    floats_sums(sum, taps * channels, sums);
    WEIR_UNROLL for (int t = 0; t < taps; t++) WEIR_UNROLL for (int c = 0; c < channels; c++)
        g->out[(tap + t) * g->out_row + channel + c] += sums[t * channels + c];
}

#define FILTER_TILE(taps, channels)                                                                                    \
    static void filter_##taps##x##channels(const weir_group_filter *g, int64_t tap, int64_t channel)                   \
    {                                                                                                                  \
        filter_tile(g, tap, channel, taps, channels);                                                                  \
    }
#define ENTRY(taps, channels) [taps - 1][channels - 1] = filter_##taps##x##channels,
#if WEIR_REGISTERS == 32
#define FILTER_TILES(X)                                                                                                \
    X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(2, 1) X(2, 2) X(2, 3) X(2, 4) X(3, 1) X(3, 2) X(3, 3) X(3, 4)                    \
    X(4, 1) X(4, 2) X(4, 3) X(4, 4) X(5, 1) X(5, 2) X(5, 3) X(5, 4) X(6, 1) X(6, 2) X(6, 3) X(6, 4)
#else
#define FILTER_TILES(X) X(1, 1) X(1, 2) X(1, 3) X(2, 1) X(2, 2) X(2, 3) X(3, 1) X(3, 2) X(3, 3)
#endif
FILTER_TILES(FILTER_TILE)
static void (*const filter_tiles[TAP_TILE][CHANNEL_TILE])(const weir_group_filter *, int64_t,
                                                          int64_t) = {FILTER_TILES(ENTRY)};

static void filter(const weir_group_filter *g)
{
    const int64_t tap_tiles = (g->taps + TAP_TILE - 1) / TAP_TILE;
    const int64_t channel_tiles = (g->channels + CHANNEL_TILE - 1) / CHANNEL_TILE;
    weir_group_filter part = *g;
    part.ahead_bytes = (g->ahead_bytes / (g->rows * tap_tiles * channel_tiles) + 63) / 64 * 64;
    for (int64_t i = 0, tap = 0; i < tap_tiles; i++) {
        const int64_t taps = (g->taps - tap + tap_tiles - i - 1) / (tap_tiles - i);
        for (int64_t j = 0, channel = 0; j < channel_tiles; j++) {
            const int64_t channels = (g->channels - channel + channel_tiles - j - 1) / (channel_tiles - j);
            filter_tiles[taps - 1][channels - 1](&part, tap, channel);
            part.ahead += part.rows * part.ahead_bytes;
            channel += channels;
        }
        tap += taps;
    }
}

/* ---- into groups and back ----------------------------------------------------------------------------------------- */

static void to_group(const float *in, int64_t row_stride, int64_t images, int64_t count, float *out)
{
    for (int64_t i = 0; i < WEIR_GROUP; i += WEIR_LANES) {
        const int64_t height = images - i;
        for (int64_t j = 0; j < count; j += WEIR_LANES) {
            const int64_t width = count - j < WEIR_LANES ? count - j : WEIR_LANES;
            const float *from = in + i * row_stride + j;
            float *to = out + j * WEIR_GROUP + i;
            floats block[WEIR_LANES];
            if (height >= WEIR_LANES && width == WEIR_LANES) {
                WEIR_UNROLL for (int k = 0; k < WEIR_LANES; k++) block[k] = floats_load(from + k * row_stride);
            } else {
                WEIR_UNROLL for (int k = 0; k < WEIR_LANES; k++) block[k] =
                    k < height ? floats_load_part(from + k * row_stride, width) : floats_zero();
            }
            floats_transpose(block);
            WEIR_UNROLL for (int k = 0; k < WEIR_LANES; k++) if (k < width) floats_store(to + k * WEIR_GROUP, block[k]);
        }
    }
}

static void from_group(const float *in, int64_t count, int64_t images, float *out, int64_t row_stride, bool stream)
{
#if WEIR_LANES == 16
    if (stream && images == WEIR_GROUP && count % WEIR_LANES == 0 && row_stride % WEIR_LANES == 0 &&
        (uintptr_t)out % 64 == 0) {
        for (int64_t i = 0; i < count; i += WEIR_LANES) {
            floats block[WEIR_LANES];
            WEIR_UNROLL for (int k = 0; k < WEIR_LANES; k++) block[k] = floats_load(in + (i + k) * WEIR_GROUP);
            floats_transpose(block);
            WEIR_UNROLL for (int k = 0; k < WEIR_LANES; k++)
                _mm512_stream_ps(out + i + k * row_stride, (__m512)block[k]);
        }
        _mm_sfence();
        return;
    }
#endif
    (void)stream;
    floats_transpose_array(in, WEIR_GROUP, count, images, out, row_stride);
}

extern const weir_convolution_kernels WEIR_TIER_NAME(weir_convolution_kernels);
const weir_convolution_kernels WEIR_TIER_NAME(weir_convolution_kernels) = {
    .forward = forward,
    .tile_high = TILE_HIGH,
    .tile_wide = TILE_WIDE,
    .narrow_channels = NARROW_CHANNELS,
    .narrow_wide = NARROW_WIDE,
    .filter = filter,
    .to_group = to_group,
    .from_group = from_group,
};
