/*
 * Philox4x32-10 by tier: the counters of many steps side by side. A word stands in the low half of a 64-bit lane; what
 * is in the high half does not matter to the multiplication, so it is never cleared.
 */
#include "kernel/cpu/random_words.h"
#include "kernel/cpu/tier.h"

#define STEPS (WEIR_LANES / 2) /* in a vector */

typedef uint64_t words __attribute__((vector_size(4 * WEIR_LANES)));
typedef words words_unaligned __attribute__((aligned(8), may_alias));

/* The 64-bit product of the low halves. */
WEIR_INLINE words multiply(words a, uint32_t b)
{
#if WEIR_LANES == 16
    return (words)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64((long long)b));
#elif WEIR_LANES == 8
    return (words)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x((long long)b));
#elif defined(__x86_64__)
    return (words)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x((long long)b));
#else
    return (a & 0xffffffff) * (uint64_t)b;
#endif
}

/* STEPS steps from counter on; pairs [STEPS]: words 0 and 1, words 2 and 3 of each step. */
WEIR_INLINE void steps_of(const uint32_t counter[4], const uint32_t key[2], uint64_t *first, uint64_t *second)
{
    uint64_t low = counter[0] | (uint64_t)counter[1] << 32, high = counter[2] | (uint64_t)counter[3] << 32;
    words c0, c1, c2, c3;
    for (int step = 0; step < STEPS; step++) {
        uint64_t here = low + (uint64_t)step, above = high + (here < low);
        c0[step] = here;
        c1[step] = here >> 32;
        c2[step] = above;
        c3[step] = above >> 32;
    }
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        words p0 = multiply(c0, 0xD2511F53u), p1 = multiply(c2, 0xCD9E8D57u);
        c0 = (p1 >> 32) ^ c1 ^ (uint64_t)k0;
        c1 = p1;
        c2 = (p0 >> 32) ^ c3 ^ (uint64_t)k1;
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    *(words_unaligned *)first = (c0 & 0xffffffff) | c1 << 32;
    *(words_unaligned *)second = (c2 & 0xffffffff) | c3 << 32;
}

static void fill_words(const uint32_t counter[4], const uint32_t key[2], int64_t steps, uint32_t *out)
{
    uint32_t at[4] = {counter[0], counter[1], counter[2], counter[3]};
    while (steps > 0) {
        uint64_t first[STEPS], second[STEPS];
        int64_t count = steps < STEPS ? steps : STEPS;
        steps_of(at, key, first, second);
        for (int64_t step = 0; step < count; step++, out += 4) {
            memcpy(out, &first[step], 8);
            memcpy(out + 2, &second[step], 8);
        }
        steps -= count;
        uint64_t low = at[0] | (uint64_t)at[1] << 32, next = low + (uint64_t)count;
        uint64_t high = (at[2] | (uint64_t)at[3] << 32) + (next < low);
        at[0] = (uint32_t)next;
        at[1] = (uint32_t)(next >> 32);
        at[2] = (uint32_t)high;
        at[3] = (uint32_t)(high >> 32);
    }
}

/* Numbers in [0, 1) of n words, in place. */
static void floats_of_words(float *out, int64_t n)
{
    int64_t i = 0;
    for (; i + WEIR_LANES <= n; i += WEIR_LANES) {
        ints bits = (ints_load((const int32_t *)(const void *)(out + i)) & 0x7fffff) | 0x3f800000;
        floats_store(out + i, (floats)bits - 1.0f);
    }
    for (; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, out + i, sizeof bits);
        bits = (bits & 0x7fffff) | 0x3f800000;
        float number;
        memcpy(&number, &bits, sizeof number);
        out[i] = number - 1.0f;
    }
}

extern const weir_random_kernels WEIR_TIER_NAME(weir_random_kernels);
const weir_random_kernels WEIR_TIER_NAME(weir_random_kernels) = {
    .fill_words = fill_words,
    .floats_of_words = floats_of_words,
};
