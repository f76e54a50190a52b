/*
 * Reductions of float, by tier. Sums are taken in float over at most 64 vectors (32 rows), whose total is then added in
 * double.
 */
#include <math.h>

#include "kernel/cpu/reduce_loops.h"
#include "kernel/cpu/tier.h"

#define RUN 64  /* vectors summed in float */
#define ROWS 32 /* rows summed in float */

/* ---- double ------------------------------------------------------------------------------------------------------ */

/* Both halves of a vector as double. */
WEIR_INLINE void floats_widen(floats x, doubles *low, doubles *high)
{
#if WEIR_LANES == 16
    *low = (doubles)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x));
    *high = (doubles)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1));
#elif WEIR_LANES == 8
    *low = (doubles)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x));
    *high = (doubles)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1));
#elif defined(__x86_64__)
    *low = (doubles)_mm_cvtps_pd((__m128)x);
    *high = (doubles)_mm_cvtps_pd(_mm_movehl_ps((__m128)x, (__m128)x));
#else
    for (int lane = 0; lane < WEIR_LANES / 2; lane++) {
        (*low)[lane] = x[lane];
        (*high)[lane] = x[lane + WEIR_LANES / 2];
    }
#endif
}

WEIR_INLINE double doubles_sum(doubles x)
{
    double lanes[WEIR_LANES / 2];
    doubles_store(lanes, x);
    for (int half = WEIR_LANES / 4; half > 0; half /= 2)
        for (int lane = 0; lane < half; lane++)
            lanes[lane] += lanes[lane + half];
    return lanes[0];
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

WEIR_INLINE floats plain(floats sum, floats x)
{
    return sum + x;
}

WEIR_INLINE floats squared(floats sum, floats x)
{
    return floats_fma(x, x, sum);
}

#define SUM_ROWS(name, add)                                                                                            \
    static double name##_row(const float *x, int64_t n)                                                                \
    {                                                                                                                  \
        doubles low = {0}, high = {0}, more_low, more_high;                                                            \
        int64_t i = 0;                                                                                                 \
        while (i + WEIR_LANES <= n) {                                                                                  \
            floats a = floats_zero(), b = a, c = a, d = a;                                                             \
            int64_t left = (n - i) / WEIR_LANES < RUN ? (n - i) / WEIR_LANES : RUN;                                    \
            for (; left >= 4; left -= 4, i += 4 * WEIR_LANES) {                                                        \
                a = add(a, floats_load(x + i));                                                                        \
                b = add(b, floats_load(x + i + WEIR_LANES));                                                           \
                c = add(c, floats_load(x + i + 2 * WEIR_LANES));                                                       \
                d = add(d, floats_load(x + i + 3 * WEIR_LANES));                                                       \
            }                                                                                                          \
            for (; left > 0; left--, i += WEIR_LANES)                                                                  \
                a = add(a, floats_load(x + i));                                                                        \
            floats_widen((a + b) + (c + d), &more_low, &more_high);                                                    \
            low += more_low;                                                                                           \
            high += more_high;                                                                                         \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            floats_widen(add(floats_zero(), floats_load_part(x + i, n - i)), &more_low, &more_high);                   \
            low += more_low;                                                                                           \
            high += more_high;                                                                                         \
        }                                                                                                              \
        return doubles_sum(low + high);                                                                                \
    }                                                                                                                  \
    static void name##_rows(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators)                \
    {                                                                                                                  \
        double *into = accumulators;                                                                                   \
        if (n <= WEIR_LANES) { /* one vector: its sum needs no double */                                               \
            for (int64_t row = 0; row < rows; row++) {                                                                 \
                floats one = floats_load_part((const float *)x + row * stride, n);                                     \
                into[row] += (double)floats_sum(add(floats_zero(), one));                                              \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t row = 0; row < rows; row++)                                                                       \
            into[row] += name##_row((const float *)x + row * stride, n);                                               \
    }

/* One vector of columns. Four rows are summed side by side. */
#define SUM_COLUMNS(name, add)                                                                                         \
    static void name##_vector(const float *x, int64_t stride, int64_t rows, int64_t count, double *into)               \
    {                                                                                                                  \
        doubles low = {0}, high = {0}, more_low, more_high;                                                            \
        double sums[WEIR_LANES];                                                                                       \
        for (int64_t begin = 0; begin < rows; begin += ROWS) {                                                         \
            int64_t row = begin, end = begin + ROWS < rows ? begin + ROWS : rows;                                      \
            floats a = floats_zero(), b = a, c = a, d = a;                                                             \
            for (; row + 4 <= end; row += 4) {                                                                         \
                a = add(a, floats_load_part(x + row * stride, count));                                                 \
                b = add(b, floats_load_part(x + (row + 1) * stride, count));                                           \
                c = add(c, floats_load_part(x + (row + 2) * stride, count));                                           \
                d = add(d, floats_load_part(x + (row + 3) * stride, count));                                           \
            }                                                                                                          \
            for (; row < end; row++)                                                                                   \
                a = add(a, floats_load_part(x + row * stride, count));                                                 \
            floats_widen((a + b) + (c + d), &more_low, &more_high);                                                    \
            low += more_low;                                                                                           \
            high += more_high;                                                                                         \
        }                                                                                                              \
        doubles_store(sums, low);                                                                                      \
        doubles_store(sums + WEIR_LANES / 2, high);                                                                    \
        for (int64_t lane = 0; lane < count; lane++)                                                                   \
            into[lane] += sums[lane];                                                                                  \
    }                                                                                                                  \
    static void name##_columns(const void *from, int64_t stride, int64_t rows, int64_t n, void *accumulators)          \
    {                                                                                                                  \
        const float *x = from;                                                                                         \
        double *into = accumulators;                                                                                   \
        int64_t i = 0;                                                                                                 \
        for (; i + WEIR_LANES <= n; i += WEIR_LANES)                                                                   \
            name##_vector(x + i, stride, rows, WEIR_LANES, into + i);                                                  \
        if (i < n)                                                                                                     \
            name##_vector(x + i, stride, rows, n - i, into + i);                                                       \
    }

SUM_ROWS(sum, plain)
SUM_ROWS(square, squared)
SUM_COLUMNS(sum, plain)
SUM_COLUMNS(square, squared)

/* ---- extremes ---------------------------------------------------------------------------------------------------- */

/* NaN, once met, stays: floats_max and floats_min give their second argument when either is NaN. */
WEIR_INLINE floats larger(floats best, floats x)
{
    return floats_select(floats_differ(best, best), best, floats_max(best, x));
}

WEIR_INLINE floats smaller(floats best, floats x)
{
    return floats_select(floats_differ(best, best), best, floats_min(best, x));
}

#define EXTREME(name, better, comparison, nothing)                                                                     \
    static float name##_of(float a, float b)                                                                           \
    {                                                                                                                  \
        return a != a ? a : a comparison b ? a : b;                                                                    \
    }                                                                                                                  \
    static float name##_row(const float *x, int64_t n)                                                                 \
    {                                                                                                                  \
        floats a = floats_set(nothing), b = a, c = a, d = a;                                                           \
        int64_t i = 0;                                                                                                 \
        for (; i + 4 * WEIR_LANES <= n; i += 4 * WEIR_LANES) {                                                         \
            a = better(a, floats_load(x + i));                                                                         \
            b = better(b, floats_load(x + i + WEIR_LANES));                                                            \
            c = better(c, floats_load(x + i + 2 * WEIR_LANES));                                                        \
            d = better(d, floats_load(x + i + 3 * WEIR_LANES));                                                        \
        }                                                                                                              \
        for (; i + WEIR_LANES <= n; i += WEIR_LANES)                                                                   \
            a = better(a, floats_load(x + i));                                                                         \
        float lanes[WEIR_LANES];                                                                                       \
        floats_store(lanes, better(better(a, b), better(c, d)));                                                       \
        float best = nothing;                                                                                          \
        for (int lane = 0; lane < WEIR_LANES; lane++)                                                                  \
            best = name##_of(best, lanes[lane]);                                                                       \
        for (; i < n; i++)                                                                                             \
            best = name##_of(best, x[i]);                                                                              \
        return best;                                                                                                   \
    }                                                                                                                  \
    static void name##_rows(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators)                \
    {                                                                                                                  \
        float *into = accumulators;                                                                                    \
        for (int64_t row = 0; row < rows; row++)                                                                       \
            into[row] = name##_of(into[row], name##_row((const float *)x + row * stride, n));                          \
    }                                                                                                                  \
    static void name##_columns(const void *from, int64_t stride, int64_t rows, int64_t n, void *accumulators)          \
    {                                                                                                                  \
        const float *x = from;                                                                                         \
        float *into = accumulators;                                                                                    \
        for (int64_t i = 0; i < n; i += WEIR_LANES) {                                                                  \
            int64_t count = n - i < WEIR_LANES ? n - i : WEIR_LANES, row = 0;                                          \
            floats a = floats_load_part(into + i, count), b = a, c = a, d = a;                                         \
            for (; row + 4 <= rows; row += 4) {                                                                        \
                a = better(a, floats_load_part(x + row * stride + i, count));                                          \
                b = better(b, floats_load_part(x + (row + 1) * stride + i, count));                                    \
                c = better(c, floats_load_part(x + (row + 2) * stride + i, count));                                    \
                d = better(d, floats_load_part(x + (row + 3) * stride + i, count));                                    \
            }                                                                                                          \
            for (; row < rows; row++)                                                                                  \
                a = better(a, floats_load_part(x + row * stride + i, count));                                          \
            floats_store_part(into + i, better(better(a, b), better(c, d)), count);                                    \
        }                                                                                                              \
    }

EXTREME(max, larger, >, -INFINITY)
EXTREME(min, smaller, <, INFINITY)

extern const weir_reduce_kernels WEIR_TIER_NAME(weir_reduce_kernels);
const weir_reduce_kernels WEIR_TIER_NAME(weir_reduce_kernels) = {
    .sum_rows = sum_rows,
    .sum_columns = sum_columns,
    .square_rows = square_rows,
    .square_columns = square_columns,
    .max_rows = max_rows,
    .max_columns = max_columns,
    .min_rows = min_rows,
    .min_columns = min_columns,
};
