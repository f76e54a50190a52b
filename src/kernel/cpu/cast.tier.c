/*
 * half and bfloat16 to float and back, by tier: with the processor's conversions where the tier has them. Both ways
 * give the same bits (NaN payloads aside).
 */
#include "kernel/cpu/cast_half.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/tier.h"

static void floats_of_halfs(const uint16_t *x, float *out, int64_t n)
{
    int64_t i = 0;
#if defined(__F16C__) && defined(__AVX2__)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
#endif
    for (; i < n; i++)
        out[i] = float_of_half(x[i]);
}

static void halfs_of_floats(const float *x, uint16_t *out, int64_t n)
{
    int64_t i = 0;
#if defined(__F16C__) && defined(__AVX2__)
    for (; i + 8 <= n; i += 8) {
        __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm_storeu_si128((__m128i *)(out + i), halves);
    }
#endif
    for (; i < n; i++)
        out[i] = half_of_float(x[i]);
}

static void floats_of_bfloat16s(const uint16_t *x, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = float_of_bfloat16(x[i]);
}

static void bfloat16s_of_floats(const float *x, uint16_t *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = bfloat16_of_float(x[i]);
}

extern const weir_half_kernels WEIR_TIER_NAME(weir_half_kernels);
const weir_half_kernels WEIR_TIER_NAME(weir_half_kernels) = {
    .float_of_half = floats_of_halfs,
    .half_of_float = halfs_of_floats,
    .float_of_bfloat16 = floats_of_bfloat16s,
    .bfloat16_of_float = bfloat16s_of_floats,
};
