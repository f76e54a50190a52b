/*
 * exp, log and their kin on vectors of floats, for *.tier.c files: about one or two units in the last place, right at
 * zeros, infinities, NaN and denormals.
 *
 * Coefficients of the polynomials are those of the Cephes library (expf, logf), minimax on [-ln 2 / 2, ln 2 / 2] and
 * [sqrt(1/2) - 1, sqrt(2) - 1].
 */
#ifndef KERNEL_CPU_ELEMENTWISE_MATH_H
#define KERNEL_CPU_ELEMENTWISE_MATH_H

#include <math.h>

#include "kernel/cpu/tier.h"

typedef uint32_t uints __attribute__((vector_size(4 * WEIR_LANES))); /* ints that may wrap */

/* Applies a scalar function to every lane: only for tiers that lack the instruction. */
#define FLOATS_LANES(result, function, x)                                                                              \
    for (int lane = 0; lane < WEIR_LANES; lane++)                                                                      \
        (result)[lane] = function((x)[lane]);

WEIR_INLINE floats floats_sqrt(floats x)
{
#if WEIR_LANES == 16
    return (floats)_mm512_sqrt_ps((__m512)x);
#elif WEIR_LANES == 8
    return (floats)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
    return (floats)_mm_sqrt_ps((__m128)x);
#else
    floats result;
    FLOATS_LANES(result, sqrtf, x)
    return result;
#endif
}

/* To whole numbers: half to even, down, up. */
#if WEIR_LANES == 16
#define FLOATS_ROUNDING(name, mode, function)                                                                          \
    WEIR_INLINE floats floats_##name(floats x)                                                                         \
    {                                                                                                                  \
        return (floats)_mm512_roundscale_ps((__m512)x, (mode) | _MM_FROUND_NO_EXC);                                    \
    }
#elif WEIR_LANES == 8
#define FLOATS_ROUNDING(name, mode, function)                                                                          \
    WEIR_INLINE floats floats_##name(floats x)                                                                         \
    {                                                                                                                  \
        return (floats)_mm256_round_ps((__m256)x, (mode) | _MM_FROUND_NO_EXC);                                         \
    }
#elif defined(__SSE4_1__)
#define FLOATS_ROUNDING(name, mode, function)                                                                          \
    WEIR_INLINE floats floats_##name(floats x)                                                                         \
    {                                                                                                                  \
        return (floats)_mm_round_ps((__m128)x, (mode) | _MM_FROUND_NO_EXC);                                            \
    }
#else
#define FLOATS_ROUNDING(name, mode, function)                                                                          \
    WEIR_INLINE floats floats_##name(floats x)                                                                         \
    {                                                                                                                  \
        floats result;                                                                                                 \
        FLOATS_LANES(result, function, x)                                                                              \
        return result;                                                                                                 \
    }
#endif
FLOATS_ROUNDING(round, _MM_FROUND_TO_NEAREST_INT, rintf)
FLOATS_ROUNDING(floor, _MM_FROUND_TO_NEG_INF, floorf)
FLOATS_ROUNDING(ceil, _MM_FROUND_TO_POS_INF, ceilf)
#undef FLOATS_ROUNDING

WEIR_INLINE floats floats_abs(floats x)
{
    return (floats)((ints)x & 0x7fffffff);
}

#if WEIR_LANES != 16
/* The whole number n, as a float in [-252, 254], to 2^(n / 2) rounded down and 2^(the rest): the product of both scales
 * by 2^n without leaving the range of float half way. */
WEIR_INLINE void floats_powers(floats n, floats *first, floats *second)
{
    uints whole = (uints)(n + 0x1.8p23f) - 0x4b400000;
    uints half = (uints)((ints)whole >> 1);
    *first = (floats)((half + 127) << 23);
    *second = (floats)((whole - half + 127) << 23);
}
#endif

/* Splits x = n * ln 2 + rest. */
WEIR_INLINE floats floats_exp_reduce(floats x, floats *n)
{
    floats whole = x * 1.44269504088896341f + 0x1.8p23f;
    *n = whole - 0x1.8p23f;
    floats rest = x - *n * 0.693359375f;
    return rest + *n * 2.12194440e-4f;
}

/* e^r - 1 for |r| <= ln 2 / 2. */
WEIR_INLINE floats floats_expm1_near(floats r)
{
    floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return p * (r * r) + r;
}

WEIR_INLINE floats floats_exp(floats x)
{
    floats n;
    floats clipped = floats_max(floats_set(-104.0f), floats_min(floats_set(89.0f), x)); /* NaN stays */
    floats r = floats_exp_reduce(clipped, &n);
#if WEIR_LANES == 16
    return (floats)_mm512_scalef_ps((__m512)(floats_expm1_near(r) + 1.0f), (__m512)n);
#else
    floats first, second;
    floats_powers(n, &first, &second);
    return (floats_expm1_near(r) + 1.0f) * first * second;
#endif
}

WEIR_INLINE floats floats_expm1(floats x)
{
    floats n;
    floats clipped = floats_max(floats_set(-40.0f), floats_min(floats_set(89.0f), x));
    floats r = floats_exp_reduce(clipped, &n);
    floats p = floats_expm1_near(r);
    uints whole = (uints)(n + 0x1.8p23f) - 0x4b400000;
    floats half = (floats)((whole + 126) << 23); /* 2^(n - 1), in range for n = 128 too */
    floats result = (half * p + (half - 0.5f)) * 2.0f;
    return floats_select(floats_less(floats_abs(x), floats_set(1e-8f)), x, result);
}

WEIR_INLINE floats floats_log(floats x)
{
    lanes_mask tiny = floats_less(x, floats_set(0x1p-126f));
    floats scaled = floats_select(tiny, x * 0x1p23f, x);
    /* scaled = m * 2^e, m in [sqrt(1/2), sqrt(2)) */
    uints bits = (uints)scaled;
    ints exponent = (ints)(bits - 0x3f3504f3) >> 23;
    floats m = (floats)(bits - ((uints)exponent << 23)) - 1.0f;
    floats e = __builtin_convertvector(exponent, floats) - floats_keep(tiny, floats_set(23.0f));
    floats p = m * 7.0376836292e-2f - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    floats square = m * m;
    floats y = p * m * square - e * 2.12194440e-4f;
    y = y - square * 0.5f;
    floats result = (m + y) + e * 0.693359375f;
    result = floats_select(floats_equal(x, floats_set(INFINITY)), x, result);
    result = floats_select(floats_equal(x, floats_zero()), floats_set(-INFINITY), result);
    /* negative or NaN */
    return floats_select(floats_greater_equal(x, floats_zero()), result, floats_set(NAN));
}

/* log(1 + x): the rounding of 1 + x is made good by the factor x / ((1 + x) - 1). */
WEIR_INLINE floats floats_log1p(floats x)
{
    floats sum = x + 1.0f;
    floats exact = sum - 1.0f;
    floats result = floats_log(sum) * (x / exact);
    lanes_mask keep = floats_equal(exact, floats_zero()) | floats_equal(sum, floats_set(INFINITY));
    return floats_select(keep, x, result);
}

WEIR_INLINE floats floats_sigmoid(floats x)
{
    floats e = floats_exp((floats)((ints)x | (int32_t)0x80000000)); /* of -|x|: in [0, 1] */
    floats high = 1.0f / (e + 1.0f);
    return floats_select(floats_less(x, floats_zero()), e * high, high);
}

/* The larger or smaller of both; NaN where either is NaN. */
WEIR_INLINE floats floats_maximum(floats a, floats b)
{
    return floats_select(floats_differ(a, a), a, floats_max(a, b));
}

WEIR_INLINE floats floats_minimum(floats a, floats b)
{
    return floats_select(floats_differ(a, a), a, floats_min(a, b));
}

WEIR_INLINE floats floats_tanh(floats x)
{
    ints sign = (ints)x & (int32_t)0x80000000;
    floats e = floats_expm1(floats_abs(x) * -2.0f); /* in (-1, 0] */
    floats result = -e / (e + 2.0f);
    return (floats)((ints)result | sign);
}

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|) */
WEIR_INLINE floats floats_softplus(floats x)
{
    floats e = floats_exp((floats)((ints)x | (int32_t)0x80000000));
    return floats_max(floats_zero(), x) + floats_log1p(e);
}

#endif
