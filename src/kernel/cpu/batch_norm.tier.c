/*
 * The loops of batch normalisation and bias over periodic arrays for one CPU tier.
 */
#include "kernel/cpu/batch_norm_tier.h"

#include "kernel/cpu/tier.h"

#define STRIP 4 /* vectors of a period whose sums stay in registers */

/* Vector at of a period: count is how many of its lanes exist. */
WEIR_INLINE int64_t lanes_left(int64_t end, int64_t at)
{
    return end - at < WEIR_LANES ? end - at : WEIR_LANES;
}

/* Adds over the periods the value of an expression in x and i, the place of its first float, for vectors
 * from .. from + STRIP - 1 of a period, then for the vectors of the last, shorter period. */
#define SUM_PERIODS(term, target)                                                                                      \
    do {                                                                                                               \
        const int64_t whole = count / period * period;                                                                 \
        for (int64_t from = 0; from < period; from += STRIP * WEIR_LANES) {                                            \
            floats sum[STRIP];                                                                                         \
            WEIR_UNROLL for (int v = 0; v < STRIP; v++)                                                                \
                sum[v] = floats_zero();                                                                                \
            if (from + STRIP * WEIR_LANES <= period) {                                                                 \
                for (int64_t start = 0; start < whole; start += period)                                                \
                    WEIR_UNROLL for (int v = 0; v < STRIP; v++) {                                                      \
                        const int64_t at = from + v * WEIR_LANES, lanes = WEIR_LANES;                                  \
                        sum[v] += term(start + at, at, lanes);                                                         \
                    }                                                                                                  \
            } else {                                                                                                   \
                for (int64_t start = 0; start < whole; start += period)                                                \
                    WEIR_UNROLL for (int v = 0; v < STRIP; v++) {                                                      \
                        const int64_t at = from + v * WEIR_LANES;                                                      \
                        if (at < period) {                                                                             \
                            const int64_t lanes = lanes_left(period, at);                                              \
                            sum[v] += term(start + at, at, lanes);                                                     \
                        }                                                                                              \
                    }                                                                                                  \
            }                                                                                                          \
            WEIR_UNROLL for (int v = 0; v < STRIP; v++) {                                                              \
                const int64_t at = from + v * WEIR_LANES;                                                              \
                if (whole + at < count && at < period) {                                                               \
                    const int64_t end = count - whole < period ? count - whole : period;                               \
                    const int64_t lanes = lanes_left(end, at);                                                         \
                    sum[v] += term(whole + at, at, lanes);                                                             \
                }                                                                                                      \
                if (at < period)                                                                                       \
                    floats_store_part(target + at, sum[v], lanes_left(period, at));                                    \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

/* Calls body(i, at, lanes) for each vector of the array: i its place, at its place in the period. */
#define EACH_VECTOR(body)                                                                                              \
    do {                                                                                                               \
        int64_t start = 0;                                                                                             \
        for (; start < count; start += period) {                                                                       \
            const int64_t end = count - start < period ? count - start : period;                                       \
            int64_t at = 0;                                                                                            \
            for (; at + WEIR_LANES <= end; at += WEIR_LANES) {                                                         \
                const int64_t lanes = WEIR_LANES;                                                                      \
                body(start + at, at, lanes);                                                                           \
            }                                                                                                          \
            if (at < end) {                                                                                            \
                const int64_t lanes = end - at;                                                                        \
                body(start + at, at, lanes);                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

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

WEIR_INLINE floats square(floats value)
{
    return value * value;
}

static void sums(const float *x, int64_t count, int64_t period, float *to)
{
#define TERM(i, at, lanes) get(x + (i), lanes)
    SUM_PERIODS(TERM, to);
#undef TERM
}

static void squares(const float *x, int64_t count, int64_t period, const float *mean, float *to)
{
#define TERM(i, at, lanes) square(get(x + (i), lanes) - get(mean + (at), lanes))
    SUM_PERIODS(TERM, to);
#undef TERM
}

static void products(const float *dy, const float *x, int64_t count, int64_t period, const float *mean, float *to)
{
#define TERM(i, at, lanes) get(dy + (i), lanes) * (get(x + (i), lanes) - get(mean + (at), lanes))
    SUM_PERIODS(TERM, to);
#undef TERM
}

static void scale(const float *x, int64_t count, int64_t period, const float *mean, const float *factor,
                  const float *offset, bool relu, float *y)
{
#define SCALED(i, at, lanes)                                                                                           \
    floats_fma(get(x + (i), lanes) - get(mean + (at), lanes), get(factor + (at), lanes), get(offset + (at), lanes))
#define PLAIN(i, at, lanes) put(y + (i), SCALED(i, at, lanes), lanes)
#define WITH_RELU(i, at, lanes) put(y + (i), floats_max(floats_zero(), SCALED(i, at, lanes)), lanes)
    if (relu)
        EACH_VECTOR(WITH_RELU);
    else
        EACH_VECTOR(PLAIN);
#undef SCALED
#undef PLAIN
#undef WITH_RELU
}

static void gradient(const float *dy, const float *x, int64_t count, int64_t period, const float *mean,
                     const float *factor, const float *shift, const float *slope, float *dx)
{
#define BODY(i, at, lanes)                                                                                             \
    put(dx + (i),                                                                                                      \
        get(factor + (at), lanes) *                                                                                    \
            (get(dy + (i), lanes) - get(shift + (at), lanes) -                                                         \
             (get(x + (i), lanes) - get(mean + (at), lanes)) * get(slope + (at), lanes)),                              \
        lanes)
    EACH_VECTOR(BODY);
#undef BODY
}

static void bias_add(const float *x, int64_t count, int64_t period, const float *bias, bool relu, float *y)
{
#define SHIFTED(i, at, lanes) (get(x + (i), lanes) + get(bias + (at), lanes))
#define PLAIN(i, at, lanes) put(y + (i), SHIFTED(i, at, lanes), lanes)
#define WITH_RELU(i, at, lanes) put(y + (i), floats_max(floats_zero(), SHIFTED(i, at, lanes)), lanes)
    if (relu)
        EACH_VECTOR(WITH_RELU);
    else
        EACH_VECTOR(PLAIN);
#undef SHIFTED
#undef PLAIN
#undef WITH_RELU
}

static void relu_gradient(const float *dy, const float *y, int64_t count, float *dx)
{
    int64_t i = 0;
    for (; i + WEIR_LANES <= count; i += WEIR_LANES)
        floats_store(dx + i, floats_keep(floats_greater(floats_load(y + i), floats_zero()), floats_load(dy + i)));
    if (i < count) {
        const int64_t lanes = count - i;
        floats kept =
            floats_keep(floats_greater(floats_load_part(y + i, lanes), floats_zero()), floats_load_part(dy + i, lanes));
        floats_store_part(dx + i, kept, lanes);
    }
}

extern const weir_batch_norm_kernels WEIR_TIER_NAME(weir_batch_norm_kernels);
const weir_batch_norm_kernels WEIR_TIER_NAME(weir_batch_norm_kernels) = {
    .sums = sums,
    .squares = squares,
    .products = products,
    .scale = scale,
    .gradient = gradient,
    .bias = bias_add,
    .relu_gradient = relu_gradient,
};
