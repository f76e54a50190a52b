/*
 * The reducers of every operation and type. Rows are taken through eight accumulators side by side, which are then
 * joined in a fixed order.
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/reduce_loops.h"

#define LANES 8
#define MAYBE_UNUSED __attribute__((unused)) /* float has better ones by tier */

#pragma GCC diagnostic ignored "-Wtype-limits" /* (T)-1 < 0 of unsigned types */

/* name, element type, accumulator, value of nothing, element to accumulator (of e), joining (of a and b),
 * accumulator to result (of a and count), result type. */
#define REDUCER(name, T, A, nothing, take, joined, result, R)                                                          \
    static void name##_start(void *accumulators, int64_t n)                                                            \
    {                                                                                                                  \
        A *into = accumulators;                                                                                        \
        for (int64_t i = 0; i < n; i++)                                                                                \
            into[i] = nothing;                                                                                         \
    }                                                                                                                  \
    static A name##_join_two(A a, A b)                                                                                 \
    {                                                                                                                  \
        return (A)(joined);                                                                                            \
    }                                                                                                                  \
    static A name##_take(T e)                                                                                          \
    {                                                                                                                  \
        return (A)(take);                                                                                              \
    }                                                                                                                  \
    static A name##_row(const T *x, int64_t n)                                                                         \
    {                                                                                                                  \
        A lanes[LANES];                                                                                                \
        int64_t i = 0;                                                                                                 \
        for (int lane = 0; lane < LANES; lane++)                                                                       \
            lanes[lane] = nothing;                                                                                     \
        for (; i + LANES <= n; i += LANES)                                                                             \
            for (int lane = 0; lane < LANES; lane++)                                                                   \
                lanes[lane] = name##_join_two(lanes[lane], name##_take(x[i + lane]));                                  \
        for (int lane = 0; i < n; i++, lane++)                                                                         \
            lanes[lane] = name##_join_two(lanes[lane], name##_take(x[i]));                                             \
        for (int half = LANES / 2; half > 0; half /= 2)                                                                \
            for (int lane = 0; lane < half; lane++)                                                                    \
                lanes[lane] = name##_join_two(lanes[lane], lanes[lane + half]);                                        \
        return lanes[0];                                                                                               \
    }                                                                                                                  \
    static MAYBE_UNUSED void name##_rows(const void *from, int64_t stride, int64_t rows, int64_t n,                    \
                                         void *accumulators)                                                           \
    {                                                                                                                  \
        A *into = accumulators;                                                                                        \
        for (int64_t row = 0; row < rows; row++)                                                                       \
            into[row] = name##_join_two(into[row], name##_row((const T *)from + row * stride, n));                     \
    }                                                                                                                  \
    static MAYBE_UNUSED void name##_columns(const void *from, int64_t stride, int64_t rows, int64_t n,                 \
                                            void *accumulators)                                                        \
    {                                                                                                                  \
        A *into = accumulators;                                                                                        \
        for (int64_t row = 0; row < rows; row++) {                                                                     \
            const T *x = (const T *)from + row * stride;                                                               \
            for (int64_t i = 0; i < n; i++)                                                                            \
                into[i] = name##_join_two(into[i], name##_take(x[i]));                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_join(const void *from, int64_t n, void *accumulators)                                           \
    {                                                                                                                  \
        const A *other = from;                                                                                         \
        A *into = accumulators;                                                                                        \
        for (int64_t i = 0; i < n; i++)                                                                                \
            into[i] = name##_join_two(into[i], other[i]);                                                              \
    }                                                                                                                  \
    static void name##_finish(const void *accumulators, int64_t n, int64_t count, void *to)                            \
    {                                                                                                                  \
        const A *from = accumulators;                                                                                  \
        R *out = to;                                                                                                   \
        (void)count;                                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            A a = from[i];                                                                                             \
            out[i] = (R)(result);                                                                                      \
        }                                                                                                              \
    }

#define LARGER(a, b) ((a) != (a) ? (a) : (a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) != (a) ? (a) : (a) < (b) ? (a) : (b))

/* ---- floats ------------------------------------------------------------------------------------------------------ */

/* name, stored type, type of extremes, element to number, number to stored. */
#define SAME(x) (x)
#define FLOATS(X)                                                                                                      \
    X(float, float, float, SAME, SAME)                                                                                 \
    OTHER_FLOATS(X)
#define OTHER_FLOATS(X)                                                                                                \
    X(double, double, double, SAME, SAME)                                                                              \
    X(half, uint16_t, float, float_of_half, half_of_float)                                                             \
    X(bfloat16, uint16_t, float, float_of_bfloat16, bfloat16_of_float)

#define FLOAT_REDUCERS(type, T, E, get, set)                                                                           \
    REDUCER(type##_sum, T, double, 0, get(e), a + b, set((E)a), T)                                                     \
    REDUCER(type##_mean, T, double, 0, get(e), a + b, set((E)(a / (double)count)), T)                                  \
    REDUCER(type##_prod, T, double, 1, get(e), a *b, set((E)a), T)                                                     \
    REDUCER(type##_max, T, E, -INFINITY, get(e), LARGER(a, b), set(a), T)                                              \
    REDUCER(type##_min, T, E, INFINITY, get(e), SMALLER(a, b), set(a), T)                                              \
    REDUCER(type##_l2, T, double, 0, (double)get(e) * get(e), a + b, set((E)(a / 2)), T)                               \
    REDUCER(type##_norm, T, double, 0, (double)get(e) * get(e), a + b, set((E)sqrt(a)), T)
FLOATS(FLOAT_REDUCERS)

/* ---- integers ---------------------------------------------------------------------------------------------------- */

/* name, type, lowest, highest. */
#define INTEGERS(X)                                                                                                    \
    X(int8, int8_t, INT8_MIN, INT8_MAX)                                                                                \
    X(int16, int16_t, INT16_MIN, INT16_MAX)                                                                            \
    X(int32, int32_t, INT32_MIN, INT32_MAX)                                                                            \
    X(int64, int64_t, INT64_MIN, INT64_MAX)                                                                            \
    X(uint8, uint8_t, 0, UINT8_MAX)                                                                                    \
    X(uint16, uint16_t, 0, UINT16_MAX)                                                                                 \
    X(uint32, uint32_t, 0, UINT32_MAX)                                                                                 \
    X(uint64, uint64_t, 0, UINT64_MAX)

/* The sum has the type, so has the count; a count that wraps to 0, or to -1 under the lowest sum, must not trap. */
#define INTEGER_MEAN(T) ((T)count == 0 ? (T)0 : (T)-1 < 0 && (T)count == (T)-1 ? (T)(0 - a) : (T)((T)a / (T)count))

#define INTEGER_REDUCERS(type, T, lowest, highest)                                                                     \
    REDUCER(type##_sum, T, uint64_t, 0, e, a + b, a, T)                                                                \
    REDUCER(type##_mean, T, uint64_t, 0, e, a + b, INTEGER_MEAN(T), T)                                                 \
    REDUCER(type##_prod, T, uint64_t, 1, e, a *b, a, T)                                                                \
    REDUCER(type##_max, T, T, lowest, e, a > b ? a : b, a, T)                                                          \
    REDUCER(type##_min, T, T, highest, e, a < b ? a : b, a, T)                                                         \
    REDUCER(type##_norm, T, uint64_t, 0, (uint64_t)e *(uint64_t)e, a + b, sqrt((double)(T)a), T)
INTEGERS(INTEGER_REDUCERS)

/* ---- complex and bool -------------------------------------------------------------------------------------------- */

#define COMPLEXES(X)                                                                                                   \
    X(complex64, float complex)                                                                                        \
    X(complex128, double complex)

#define COMPLEX_REDUCERS(type, T)                                                                                      \
    REDUCER(type##_sum, T, double complex, 0, e, a + b, a, T)                                                          \
    REDUCER(type##_mean, T, double complex, 0, e, a + b, a / (double)count, T)                                         \
    REDUCER(type##_prod, T, double complex, 1, e, a *b, a, T)                                                          \
    REDUCER(type##_norm, T, double, 0, creal(e) * creal(e) + cimag(e) * cimag(e), a + b, sqrt(a), T)
COMPLEXES(COMPLEX_REDUCERS)

REDUCER(bool_all, uint8_t, uint8_t, 1, e != 0, a &b, a, uint8_t)
REDUCER(bool_any, uint8_t, uint8_t, 0, e != 0, a | b, a, uint8_t)

/* ---- tables ------------------------------------------------------------------------------------------------------ */

#define ENTRY(name, accumulator)                                                                                       \
    {                                                                                                                  \
        accumulator, name##_start, name##_rows, name##_columns, name##_join, name##_finish                             \
    }
#define FLOAT_TABLE(type, T, E, get, set)                                                                              \
    static const weir_reducer type##_reducers[WEIR_REDUCE_COUNT] = {                                                   \
        [WEIR_REDUCE_SUM] = ENTRY(type##_sum, sizeof(double)),                                                         \
        [WEIR_REDUCE_MEAN] = ENTRY(type##_mean, sizeof(double)),                                                       \
        [WEIR_REDUCE_PROD] = ENTRY(type##_prod, sizeof(double)),                                                       \
        [WEIR_REDUCE_MAX] = ENTRY(type##_max, sizeof(E)),                                                              \
        [WEIR_REDUCE_MIN] = ENTRY(type##_min, sizeof(E)),                                                              \
        [WEIR_REDUCE_L2_LOSS] = ENTRY(type##_l2, sizeof(double)),                                                      \
        [WEIR_REDUCE_EUCLIDEAN_NORM] = ENTRY(type##_norm, sizeof(double)),                                             \
    };
#define INTEGER_TABLE(type, T, lowest, highest)                                                                        \
    static const weir_reducer type##_reducers[WEIR_REDUCE_COUNT] = {                                                   \
        [WEIR_REDUCE_SUM] = ENTRY(type##_sum, sizeof(uint64_t)),                                                       \
        [WEIR_REDUCE_MEAN] = ENTRY(type##_mean, sizeof(uint64_t)),                                                     \
        [WEIR_REDUCE_PROD] = ENTRY(type##_prod, sizeof(uint64_t)),                                                     \
        [WEIR_REDUCE_MAX] = ENTRY(type##_max, sizeof(T)),                                                              \
        [WEIR_REDUCE_MIN] = ENTRY(type##_min, sizeof(T)),                                                              \
        [WEIR_REDUCE_EUCLIDEAN_NORM] = ENTRY(type##_norm, sizeof(uint64_t)),                                           \
    };
#define COMPLEX_TABLE(type, T)                                                                                         \
    static const weir_reducer type##_reducers[WEIR_REDUCE_COUNT] = {                                                   \
        [WEIR_REDUCE_SUM] = ENTRY(type##_sum, sizeof(double complex)),                                                 \
        [WEIR_REDUCE_MEAN] = ENTRY(type##_mean, sizeof(double complex)),                                               \
        [WEIR_REDUCE_PROD] = ENTRY(type##_prod, sizeof(double complex)),                                               \
        [WEIR_REDUCE_EUCLIDEAN_NORM] = ENTRY(type##_norm, sizeof(double)),                                             \
    };
OTHER_FLOATS(FLOAT_TABLE)
INTEGERS(INTEGER_TABLE)
COMPLEXES(COMPLEX_TABLE)
static const weir_reducer bool_reducers[WEIR_REDUCE_COUNT] = {
    [WEIR_REDUCE_ALL] = ENTRY(bool_all, 1),
    [WEIR_REDUCE_ANY] = ENTRY(bool_any, 1),
};

/* float's hot ones, by tier. */
#define KERNEL_TABLE(tier) extern const weir_reduce_kernels weir_reduce_kernels_##tier;
WEIR_CPU_TIERS(KERNEL_TABLE)

#define TIER_ENTRY(tier, name, loops, accumulator)                                                                     \
    {                                                                                                                  \
        accumulator, float_##name##_start, tier##_##loops##_rows, tier##_##loops##_columns, float_##name##_join,       \
            float_##name##_finish                                                                                      \
    }
#define TIER_LOOPS(tier, loops)                                                                                        \
    static void tier##_##loops##_rows(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators)      \
    {                                                                                                                  \
        weir_reduce_kernels_##tier.loops##_rows(x, stride, rows, n, accumulators);                                     \
    }                                                                                                                  \
    static void tier##_##loops##_columns(const void *x, int64_t stride, int64_t rows, int64_t n, void *accumulators)   \
    {                                                                                                                  \
        weir_reduce_kernels_##tier.loops##_columns(x, stride, rows, n, accumulators);                                  \
    }
#define TIER_TABLE(tier)                                                                                               \
    TIER_LOOPS(tier, sum)                                                                                              \
    TIER_LOOPS(tier, square)                                                                                           \
    TIER_LOOPS(tier, max)                                                                                              \
    TIER_LOOPS(tier, min)                                                                                              \
    static const weir_reducer float_reducers_##tier[WEIR_REDUCE_COUNT] = {                                             \
        [WEIR_REDUCE_SUM] = TIER_ENTRY(tier, sum, sum, sizeof(double)),                                                \
        [WEIR_REDUCE_MEAN] = TIER_ENTRY(tier, mean, sum, sizeof(double)),                                              \
        [WEIR_REDUCE_PROD] = ENTRY(float_prod, sizeof(double)),                                                        \
        [WEIR_REDUCE_MAX] = TIER_ENTRY(tier, max, max, sizeof(float)),                                                 \
        [WEIR_REDUCE_MIN] = TIER_ENTRY(tier, min, min, sizeof(float)),                                                 \
        [WEIR_REDUCE_L2_LOSS] = TIER_ENTRY(tier, l2, square, sizeof(double)),                                          \
        [WEIR_REDUCE_EUCLIDEAN_NORM] = TIER_ENTRY(tier, norm, square, sizeof(double)),                                 \
    };
WEIR_CPU_TIERS(TIER_TABLE)
#define TIER_REDUCERS(tier) [WEIR_CPU_TIER_##tier] = float_reducers_##tier,
static const weir_reducer *const tier_reducers[] = {WEIR_CPU_TIERS(TIER_REDUCERS)};

static const weir_reducer *reducers_of(weir_dtype type)
{
    switch (type) {
    case WEIR_FLOAT:
        return tier_reducers[weir_cpu_tier_best()];
    case WEIR_DOUBLE:
        return double_reducers;
    case WEIR_HALF:
        return half_reducers;
    case WEIR_BFLOAT16:
        return bfloat16_reducers;
    case WEIR_COMPLEX64:
        return complex64_reducers;
    case WEIR_COMPLEX128:
        return complex128_reducers;
    case WEIR_BOOL:
        return bool_reducers;
    case WEIR_INT8:
        return int8_reducers;
    case WEIR_INT16:
        return int16_reducers;
    case WEIR_INT32:
        return int32_reducers;
    case WEIR_INT64:
        return int64_reducers;
    case WEIR_UINT8:
        return uint8_reducers;
    case WEIR_UINT16:
        return uint16_reducers;
    case WEIR_UINT32:
        return uint32_reducers;
    case WEIR_UINT64:
        return uint64_reducers;
    default:
        return NULL;
    }
}

const weir_reducer *weir_reducer_find(weir_reduce_op op, weir_dtype type)
{
    const weir_reducer *reducers = reducers_of(type);
    return reducers == NULL || reducers[op].size == 0 ? NULL : &reducers[op];
}
