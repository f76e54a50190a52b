/*
 * Transposition of blocks of WEIR_LANES x WEIR_LANES floats in registers, and sums over the lanes of many vectors, for
 * *.tier.c files.
 */
#ifndef KERNEL_CPU_TIER_TRANSPOSE_H
#define KERNEL_CPU_TIER_TRANSPOSE_H

#include "kernel/cpu/tier.h"

/* row[j] lane i = what was row[i] lane j. */
WEIR_INLINE void floats_transpose(floats row[WEIR_LANES])
{
#if WEIR_LANES == 16
    __m512 r[16], t[16];
    WEIR_UNROLL for (int i = 0; i < 16; i++) r[i] = (__m512)row[i];
    WEIR_UNROLL for (int i = 0; i < 8; i++)
    {
        t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
    WEIR_UNROLL for (int i = 0; i < 4; i++)
    {
        r[4 * i] = (__m512)_mm512_unpacklo_pd((__m512d)t[4 * i], (__m512d)t[4 * i + 2]);
        r[4 * i + 1] = (__m512)_mm512_unpackhi_pd((__m512d)t[4 * i], (__m512d)t[4 * i + 2]);
        r[4 * i + 2] = (__m512)_mm512_unpacklo_pd((__m512d)t[4 * i + 1], (__m512d)t[4 * i + 3]);
        r[4 * i + 3] = (__m512)_mm512_unpackhi_pd((__m512d)t[4 * i + 1], (__m512d)t[4 * i + 3]);
    }
    WEIR_UNROLL for (int j = 0; j < 4; j++)
    {
        t[j] = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x88);
        t[4 + j] = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xdd);
        t[8 + j] = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x88);
        t[12 + j] = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xdd);
    }
    WEIR_UNROLL for (int j = 0; j < 4; j++)
    {
        row[j] = (floats)_mm512_shuffle_f32x4(t[j], t[8 + j], 0x88);
        row[8 + j] = (floats)_mm512_shuffle_f32x4(t[j], t[8 + j], 0xdd);
        row[4 + j] = (floats)_mm512_shuffle_f32x4(t[4 + j], t[12 + j], 0x88);
        row[12 + j] = (floats)_mm512_shuffle_f32x4(t[4 + j], t[12 + j], 0xdd);
    }
#elif WEIR_LANES == 8
    __m256 t[8], r[8];
    WEIR_UNROLL for (int i = 0; i < 4; i++)
    {
        t[2 * i] = _mm256_unpacklo_ps((__m256)row[2 * i], (__m256)row[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps((__m256)row[2 * i], (__m256)row[2 * i + 1]);
    }
    WEIR_UNROLL for (int i = 0; i < 2; i++)
    {
        r[4 * i] = (__m256)_mm256_unpacklo_pd((__m256d)t[4 * i], (__m256d)t[4 * i + 2]);
        r[4 * i + 1] = (__m256)_mm256_unpackhi_pd((__m256d)t[4 * i], (__m256d)t[4 * i + 2]);
        r[4 * i + 2] = (__m256)_mm256_unpacklo_pd((__m256d)t[4 * i + 1], (__m256d)t[4 * i + 3]);
        r[4 * i + 3] = (__m256)_mm256_unpackhi_pd((__m256d)t[4 * i + 1], (__m256d)t[4 * i + 3]);
    }
    WEIR_UNROLL for (int j = 0; j < 4; j++)
    {
        row[j] = (floats)_mm256_permute2f128_ps(r[j], r[4 + j], 0x20);
        row[4 + j] = (floats)_mm256_permute2f128_ps(r[j], r[4 + j], 0x31);
    }
#else
    floats a = {row[0][0], row[1][0], row[2][0], row[3][0]};
    floats b = {row[0][1], row[1][1], row[2][1], row[3][1]};
    floats c = {row[0][2], row[1][2], row[2][2], row[3][2]};
    floats d = {row[0][3], row[1][3], row[2][3], row[3][3]};
    row[0] = a;
    row[1] = b;
    row[2] = c;
    row[3] = d;
#endif
}

/* out[j * out_row + i] = in[i * in_row + j] for i below rows, j below columns; nothing else is touched. */
WEIR_INLINE void floats_transpose_array(const float *in, int64_t in_row, int64_t rows, int64_t columns, float *out,
                                        int64_t out_row)
{
    for (int64_t i = 0; i < rows; i += WEIR_LANES) {
        const int64_t height = rows - i < WEIR_LANES ? rows - i : WEIR_LANES;
        for (int64_t j = 0; j < columns; j += WEIR_LANES) {
            const int64_t width = columns - j < WEIR_LANES ? columns - j : WEIR_LANES;
            const float *from = in + i * in_row + j;
            float *to = out + j * out_row + i;
            floats block[WEIR_LANES];
            if (height == WEIR_LANES && width == WEIR_LANES) {
                WEIR_UNROLL for (int k = 0; k < WEIR_LANES; k++) block[k] = floats_load(from + k * in_row);
                floats_transpose(block);
                WEIR_UNROLL for (int k = 0; k < WEIR_LANES; k++) floats_store(to + k * out_row, block[k]);
                continue;
            }
            WEIR_UNROLL for (int k = 0; k < WEIR_LANES; k++) block[k] =
                k < height ? floats_load_part(from + k * in_row, width) : floats_zero();
            floats_transpose(block);
            WEIR_UNROLL for (int k = 0; k < WEIR_LANES; k++) if (k < width)
                floats_store_part(to + k * out_row, block[k], height);
        }
    }
}

#if WEIR_LANES == 16
/* The lanes' sums of 16 vectors, in the lanes of one. */
WEIR_INLINE floats floats_sums_16(const floats *vector)
{
    floats low[8], pair[4], half[2];
    WEIR_UNROLL for (int i = 0; i < 8; i++)
    {
        __m512 a = (__m512)vector[2 * i], b = (__m512)vector[2 * i + 1];
        low[i] = (floats)_mm512_unpacklo_ps(a, b) + (floats)_mm512_unpackhi_ps(a, b);
    }
    WEIR_UNROLL for (int i = 0; i < 4; i++)
    {
        __m512d a = (__m512d)low[2 * i], b = (__m512d)low[2 * i + 1];
        pair[i] = (floats)_mm512_unpacklo_pd(a, b) + (floats)_mm512_unpackhi_pd(a, b);
    }
    WEIR_UNROLL for (int i = 0; i < 2; i++)
    {
        __m512 a = (__m512)pair[2 * i], b = (__m512)pair[2 * i + 1];
        half[i] = (floats)_mm512_shuffle_f32x4(a, b, 0x88) + (floats)_mm512_shuffle_f32x4(a, b, 0xdd);
    }
    __m512 a = (__m512)half[0], b = (__m512)half[1];
    return (floats)_mm512_shuffle_f32x4(a, b, 0x88) + (floats)_mm512_shuffle_f32x4(a, b, 0xdd);
}
#endif

/* sums[i] = the sum over the lanes of vector[i], for i < count, a constant up to 32; sums has room for the next multiple
 * of 16. */
WEIR_INLINE void floats_sums(const floats *vector, const int count, float *sums)
{
#if WEIR_LANES == 16
    floats padded[32];
    WEIR_UNROLL for (int i = 0; i < 32; i++) padded[i] = i < count ? vector[i] : floats_zero();
    floats_store(sums, floats_sums_16(padded));
    if (count > 16)
        floats_store(sums + 16, floats_sums_16(padded + 16));
#else
    WEIR_UNROLL for (int i = 0; i < count; i++) sums[i] = floats_sum(vector[i]);
#endif
}

#endif
