/*
 * What files named *.tier.c build on. Such a file is compiled once per CPU tier (v2, v3, v4 of x86-64; base elsewhere)
 * with WEIR_TIER naming the tier; it holds loops only and chooses nothing at run time. Its external names hold the tier:
 * WEIR_TIER_NAME(weir_relu) is weir_relu_v3. Who picks a tier: dispatch.h.
 *
 * floats is a vector of WEIR_LANES floats with the operators of C (GCC vector extensions); a * b + c contracts to one
 * fused instruction where the tier has it. The helpers are static inline, so they carry no prefix.
 */
#ifndef KERNEL_CPU_TIER_H
#define KERNEL_CPU_TIER_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef WEIR_TIER
#define WEIR_TIER base
#endif

#define WEIR_TIER_PASTE_2(name, tier) name##_##tier
#define WEIR_TIER_PASTE(name, tier) WEIR_TIER_PASTE_2(name, tier)
#define WEIR_TIER_NAME(name) WEIR_TIER_PASTE(name, WEIR_TIER)

/* Floats in a vector, and vector registers. */
#if defined(__AVX512F__)
#define WEIR_LANES 16
#define WEIR_REGISTERS 32
#elif defined(__AVX2__)
#define WEIR_LANES 8
#define WEIR_REGISTERS 16
#elif defined(__aarch64__)
#define WEIR_LANES 4
#define WEIR_REGISTERS 32
#else
#define WEIR_LANES 4
#define WEIR_REGISTERS 16
#endif

#define WEIR_INLINE static inline __attribute__((always_inline, unused))
#if defined(__clang__)
#define WEIR_UNROLL _Pragma("clang loop unroll(full)")
#define WEIR_ROLL _Pragma("clang loop unroll(disable)")
#else
#define WEIR_UNROLL _Pragma("GCC unroll 64") /* for loops with a small constant bound */
#define WEIR_ROLL _Pragma("GCC unroll 1")    /* for the loop around a register tile */
#endif

typedef float floats __attribute__((vector_size(4 * WEIR_LANES)));
typedef int32_t ints __attribute__((vector_size(4 * WEIR_LANES)));
typedef double doubles __attribute__((vector_size(4 * WEIR_LANES))); /* WEIR_LANES / 2 of them */
typedef floats floats_unaligned __attribute__((aligned(4), may_alias));
typedef ints ints_unaligned __attribute__((aligned(4), may_alias));
typedef doubles doubles_unaligned __attribute__((aligned(8), may_alias));

WEIR_INLINE floats floats_load(const float *from)
{
    return *(const floats_unaligned *)from;
}

WEIR_INLINE void floats_store(float *to, floats value)
{
    *(floats_unaligned *)to = value;
}

WEIR_INLINE ints ints_load(const int32_t *from)
{
    return *(const ints_unaligned *)from;
}

WEIR_INLINE void ints_store(int32_t *to, ints value)
{
    *(ints_unaligned *)to = value;
}

WEIR_INLINE doubles doubles_load(const double *from)
{
    return *(const doubles_unaligned *)from;
}

WEIR_INLINE void doubles_store(double *to, doubles value)
{
    *(doubles_unaligned *)to = value;
}

/* The same value in every lane. */
WEIR_INLINE floats floats_set(float value)
{
#if WEIR_LANES == 16
    return (floats)_mm512_set1_ps(value);
#elif WEIR_LANES == 8
    return (floats)_mm256_set1_ps(value);
#else
    return (floats){value, value, value, value};
#endif
}

WEIR_INLINE ints ints_set(int32_t value)
{
    return (ints){0} + value;
}

WEIR_INLINE floats floats_broadcast(const float *from)
{
    return floats_set(*from);
}

WEIR_INLINE floats floats_zero(void)
{
    return (floats){0};
}

/* a * b + c, fused where the tier can. */
WEIR_INLINE floats floats_fma(floats a, floats b, floats c)
{
    return a * b + c;
}

/* Keeps a loaded vector or a broadcast in its register: without it the compiler folds a vector that is used by k
 * multiplications into k memory operands. */
WEIR_INLINE floats floats_pin(floats value)
{
#if WEIR_LANES == 16
    __asm__("" : "+v"(value));
#elif defined(__x86_64__)
    __asm__("" : "+x"(value));
#elif defined(__aarch64__)
    __asm__("" : "+w"(value));
#endif
    return value;
}

/* The larger of both; b where either is NaN or both are zeros. So floats_max(zero, x) is TensorFlow's Relu: it passes
 * NaN and -0.0 on. */
WEIR_INLINE floats floats_max(floats a, floats b)
{
#if WEIR_LANES == 16
    return (floats)_mm512_max_ps((__m512)a, (__m512)b);
#elif WEIR_LANES == 8
    return (floats)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
    return (floats)_mm_max_ps((__m128)a, (__m128)b);
#else
    ints larger = a > b;
    return (floats)(((ints)a & larger) | ((ints)b & ~larger));
#endif
}

/* The smaller of both; b where either is NaN or both are zeros. */
WEIR_INLINE floats floats_min(floats a, floats b)
{
#if WEIR_LANES == 16
    return (floats)_mm512_min_ps((__m512)a, (__m512)b);
#elif WEIR_LANES == 8
    return (floats)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
    return (floats)_mm_min_ps((__m128)a, (__m128)b);
#else
    ints smaller = a < b;
    return (floats)(((ints)a & smaller) | ((ints)b & ~smaller));
#endif
}

/* One truth value per lane: a mask register with AVX-512, else all ones or all zeros in the lane. */
#if WEIR_LANES == 16
typedef __mmask16 lanes_mask;
#define FLOATS_COMPARE(name, operator, predicate)                                                                      \
    WEIR_INLINE lanes_mask floats_##name(floats a, floats b)                                                           \
    {                                                                                                                  \
        return _mm512_cmp_ps_mask((__m512)a, (__m512)b, predicate);                                                    \
    }
#else
typedef ints lanes_mask;
#define FLOATS_COMPARE(name, operator, predicate)                                                                      \
    WEIR_INLINE lanes_mask floats_##name(floats a, floats b)                                                           \
    {                                                                                                                  \
        return (lanes_mask)(a operator b);                                                                             \
    }
#endif
FLOATS_COMPARE(equal, ==, _CMP_EQ_OQ)
FLOATS_COMPARE(differ, !=, _CMP_NEQ_UQ) /* true where either is NaN; floats_differ(x, x) finds NaN */
FLOATS_COMPARE(greater, >, _CMP_GT_OQ)
FLOATS_COMPARE(greater_equal, >=, _CMP_GE_OQ)
FLOATS_COMPARE(less, <, _CMP_LT_OQ)
FLOATS_COMPARE(less_equal, <=, _CMP_LE_OQ)
#undef FLOATS_COMPARE

/* yes where the mask is true, else no. Masks combine by & | ~. */
WEIR_INLINE floats floats_select(lanes_mask mask, floats yes, floats no)
{
#if WEIR_LANES == 16
    return (floats)_mm512_mask_blend_ps(mask, (__m512)no, (__m512)yes);
#else
    return (floats)(((ints)yes & mask) | ((ints)no & ~mask));
#endif
}

/* value where the mask is true, else +0. */
WEIR_INLINE floats floats_keep(lanes_mask mask, floats value)
{
#if WEIR_LANES == 16
    return (floats)_mm512_maskz_mov_ps(mask, (__m512)value);
#else
    return (floats)((ints)value & mask);
#endif
}

#if WEIR_LANES == 8
/* All ones in the first count lanes. */
WEIR_INLINE ints lanes_below(int64_t count)
{
    const ints numbers = {0, 1, 2, 3, 4, 5, 6, 7};
    return (ints)(numbers < ints_set((int32_t)count));
}
#endif

/* The first count lanes, 0 <= count <= WEIR_LANES; the others are zero and their memory is not touched. */
WEIR_INLINE floats floats_load_part(const float *from, int64_t count)
{
#if WEIR_LANES == 16
    return (floats)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1u), from);
#elif WEIR_LANES == 8
    return (floats)_mm256_maskload_ps(from, (__m256i)lanes_below(count));
#else
    floats value = floats_zero();
    if (count > 0)
        memcpy(&value, from, (size_t)count * sizeof *from);
    return value;
#endif
}

/* Stores the first count lanes, 0 <= count <= WEIR_LANES; nothing else is touched. */
WEIR_INLINE void floats_store_part(float *to, floats value, int64_t count)
{
#if WEIR_LANES == 16
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1u), (__m512)value);
#elif WEIR_LANES == 8
    _mm256_maskstore_ps(to, (__m256i)lanes_below(count), (__m256)value);
#else
    if (count > 0)
        memcpy(to, &value, (size_t)count * sizeof *to);
#endif
}

/* Sum over the lanes, in a fixed order. */
WEIR_INLINE float floats_sum(floats value)
{
#if WEIR_LANES == 16
    __m256 half = _mm256_add_ps(_mm512_castps512_ps256((__m512)value),
                                _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd((__m512)value), 1)));
    __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
#elif WEIR_LANES == 8
    __m128 quarter = _mm_add_ps(_mm256_castps256_ps128((__m256)value), _mm256_extractf128_ps((__m256)value, 1));
    quarter = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
#else
    return (value[0] + value[2]) + (value[1] + value[3]);
#endif
}

#endif
