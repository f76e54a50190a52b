/*
 * Register tiles of the float product for one CPU tier: see matmul_tile.h. Which tile for which shape: matmul.c.
 */
#include "kernel/cpu/matmul_tile.h"

#include "kernel/cpu/tier.h"
#include "kernel/cpu/tier_transpose.h"

#if WEIR_LANES == 16
/* The first count lanes of a vector, as a mask made once per tile. */
typedef __mmask16 part_mask;
WEIR_INLINE part_mask part_of(int64_t count)
{
    return (__mmask16)((1u << count) - 1u);
}
WEIR_INLINE floats load_masked(const float *from, part_mask mask)
{
    return (floats)_mm512_maskz_loadu_ps(mask, from);
}
#define PARTIAL_VECTORS true
#else
typedef int part_mask;
WEIR_INLINE part_mask part_of(int64_t count)
{
    return (int)count;
}
WEIR_INLINE floats load_masked(const float *from, part_mask mask)
{
    (void)mask;
    return floats_load(from);
}
#define PARTIAL_VECTORS false
#endif

/* Adds what the epilogue asks for to one vector of a row of c and stores it. */
WEIR_INLINE void finish(const weir_tile_arguments *t, floats sum, int64_t row, int64_t first, int64_t count)
{
    float *c = t->c + row * t->c_row + first;
    if (t->accumulate)
        sum += floats_load_part(c, count);
    if (t->bias != NULL)
        sum += floats_load_part(t->bias + first, count);
    if (t->relu)
        sum = floats_max(floats_zero(), sum);
    if (count == WEIR_LANES)
        floats_store(c, sum);
    else
        floats_store_part(c, sum, count);
}

/* Rows of a are reached from three pointers with the four strides that an address can hold; the compiler would keep
 * one pointer for each row and spill them. */
#define GROUP 5
#define A_AT(i)                                                                                                        \
    (const float *)(group[(i) / GROUP] + ((i) % GROUP == 3   ? row_3                                                   \
                                          : (i) % GROUP == 4 ? 4 * row                                                 \
                                          : (i) % GROUP == 2 ? 2 * row                                                 \
                                          : (i) % GROUP == 1 ? row                                                     \
                                                             : 0))

/* The loops of one tile. rows and vectors are constants in every caller. */
WEIR_INLINE void tile(const weir_tile_arguments *t, const int rows, const int vectors)
{
    floats sum[WEIR_TILE_ROWS][WEIR_TILE_VECTORS];
    WEIR_UNROLL for (int i = 0; i < rows; i++) WEIR_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = floats_zero();
    const int64_t row = t->a_row * 4, row_3 = row * 3, step = t->a_step * 4, b_row = t->b_row;
    const int64_t last = t->columns - (vectors - 1) * WEIR_LANES;
    const part_mask mask = part_of(last);
    if (t->depth * t->runs * t->outers >= 24) /* c should be there when the sums are */
        WEIR_UNROLL for (int i = 0; i < rows; i++) WEIR_UNROLL for (int v = 0; v < vectors; v += 16 / WEIR_LANES)
            __builtin_prefetch(t->c + i * t->c_row + v * WEIR_LANES, 1);
    for (int64_t outer = 0; outer < t->outers; outer++) {
        for (int64_t run = 0; run < t->runs; run++) {
            const char *start = (const char *)(t->a + outer * t->a_outer + run * t->a_run);
            const float *b = t->b + outer * t->b_outer + run * t->b_run;
            const char *group[3] = {start, start + GROUP * row, start + 2 * GROUP * row};
            WEIR_ROLL for (int64_t p = t->depth; p > 0; p--)
            {
                floats x[WEIR_TILE_VECTORS];
                WEIR_UNROLL for (int v = 0; v < vectors - 1; v++) x[v] = floats_pin(floats_load(b + v * WEIR_LANES));
                x[vectors - 1] = floats_pin(load_masked(b + (vectors - 1) * WEIR_LANES, mask));
                WEIR_UNROLL for (int i = 0; i < rows; i++)
                {
                    floats y = floats_broadcast(A_AT(i));
                    if (vectors > 1)
                        y = floats_pin(y);
                    WEIR_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = floats_fma(x[v], y, sum[i][v]);
                }
                b += b_row;
                WEIR_UNROLL for (int g = 0; g < (rows + GROUP - 1) / GROUP; g++)
                {
                    group[g] += step;
                    __asm__("" : "+r"(group[g]));
                }
            }
        }
    }
    WEIR_UNROLL for (int i = 0; i < rows; i++)
    {
        WEIR_UNROLL for (int v = 0; v < vectors - 1; v++) finish(t, sum[i][v], i, v * WEIR_LANES, WEIR_LANES);
        finish(t, sum[i][vectors - 1], i, (vectors - 1) * WEIR_LANES, last);
    }
}

#define TILE(rows, vectors)                                                                                            \
    static void tile_##rows##x##vectors(const weir_tile_arguments *t)                                                  \
    {                                                                                                                  \
        tile(t, rows, vectors);                                                                                        \
    }

#if WEIR_REGISTERS == 32
#define TILES_1(X)                                                                                                     \
    X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) X(9, 1) X(10, 1) X(11, 1) X(12, 1) X(13, 1) X(14, 1)
#define TILES_2(X)                                                                                                     \
    X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2) X(7, 2) X(8, 2) X(9, 2) X(10, 2) X(11, 2) X(12, 2) X(13, 2) X(14, 2)
#define TILES_3(X) X(1, 3) X(2, 3) X(3, 3) X(4, 3) X(5, 3) X(6, 3) X(7, 3) X(8, 3) X(9, 3)
#define TILES_4(X) X(1, 4) X(2, 4) X(3, 4) X(4, 4) X(5, 4) X(6, 4)
#define TALLEST                                                                                                        \
    {                                                                                                                  \
        14, 14, 9, 6                                                                                                   \
    }
#define WIDEST 4
#define DOT_COLUMNS 5
#define DOT_ROWS 5
#define DOT_SUMS 32
#else
#define TILES_1(X) X(1, 1) X(2, 1) X(3, 1) X(4, 1) X(5, 1) X(6, 1) X(7, 1) X(8, 1) X(9, 1) X(10, 1) X(11, 1) X(12, 1)
#define TILES_2(X) X(1, 2) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2)
#define TILES_3(X) X(1, 3) X(2, 3) X(3, 3) X(4, 3)
#define TILES_4(X)
#define TALLEST                                                                                                        \
    {                                                                                                                  \
        12, 6, 4, 0                                                                                                    \
    }
#define WIDEST 3
#define DOT_COLUMNS 3
#define DOT_ROWS 3
#define DOT_SUMS 9
#endif
TILES_1(TILE)
TILES_2(TILE)
TILES_3(TILE)
TILES_4(TILE)

/* A tile of few rows over up to WIDE vectors: each vector of b is read once and used at once. */
#define WIDE 8
WEIR_INLINE void wide(const weir_tile_arguments *t, const int rows, const int vectors)
{
    floats sum[WEIR_WIDE_ROWS][WIDE];
    WEIR_UNROLL for (int i = 0; i < rows; i++) WEIR_UNROLL for (int v = 0; v < vectors; v++) sum[i][v] = floats_zero();
    const float *b = t->b;
    const char *a = (const char *)t->a;
    const int64_t row = t->a_row * 4, step = t->a_step * 4;
    const int64_t last = t->columns - (vectors - 1) * WEIR_LANES;
    WEIR_ROLL for (int64_t p = t->depth; p > 0; p--)
    {
        floats y[WEIR_WIDE_ROWS];
        WEIR_UNROLL for (int i = 0; i < rows; i++) y[i] = floats_pin(floats_broadcast((const float *)(a + i * row)));
        WEIR_UNROLL for (int v = 0; v < vectors - 1; v++)
        {
            floats x = floats_load(b + v * WEIR_LANES);
            if (rows > 1)
                x = floats_pin(x);
            WEIR_UNROLL for (int i = 0; i < rows; i++) sum[i][v] = floats_fma(x, y[i], sum[i][v]);
        }
        const float *end = b + (vectors - 1) * WEIR_LANES;
        floats x = last == WEIR_LANES ? floats_load(end) : floats_load_part(end, last);
        WEIR_UNROLL for (int i = 0; i < rows; i++) sum[i][vectors - 1] = floats_fma(x, y[i], sum[i][vectors - 1]);
        b += t->b_row;
        a += step;
    }
    WEIR_UNROLL for (int i = 0; i < rows; i++)
    {
        WEIR_UNROLL for (int v = 0; v < vectors - 1; v++) finish(t, sum[i][v], i, v * WEIR_LANES, WEIR_LANES);
        finish(t, sum[i][vectors - 1], i, (vectors - 1) * WEIR_LANES, last);
    }
}

#define WIDE_TILE(rows, most)                                                                                          \
    static void wide_##rows(const weir_tile_arguments *t)                                                              \
    {                                                                                                                  \
        switch ((t->columns + WEIR_LANES - 1) / WEIR_LANES) {                                                          \
        case 1:                                                                                                        \
            wide(t, rows, 1);                                                                                          \
            break;                                                                                                     \
        case 2:                                                                                                        \
            wide(t, rows, 2);                                                                                          \
            break;                                                                                                     \
        case 3:                                                                                                        \
            wide(t, rows, 3);                                                                                          \
            break;                                                                                                     \
        case 4:                                                                                                        \
            wide(t, rows, 4);                                                                                          \
            break;                                                                                                     \
        case 5:                                                                                                        \
            wide(t, rows, 5);                                                                                          \
            break;                                                                                                     \
        case 6:                                                                                                        \
            wide(t, rows, 6);                                                                                          \
            break;                                                                                                     \
        case 7:                                                                                                        \
            wide(t, rows, 7);                                                                                          \
            break;                                                                                                     \
        default:                                                                                                       \
            wide(t, rows, 8);                                                                                          \
            break;                                                                                                     \
        }                                                                                                              \
    }
WIDE_TILE(1, WIDE)
WIDE_TILE(2, WIDE)

/* Up to WEIR_OUTER_DEPTH products added to a row of c, from left to right: b's rows are read as long streams. depth is a
 * constant in every caller. */
WEIR_INLINE void outer_rows(const weir_tile_arguments *t, int64_t rows, const int depth)
{
    for (int64_t i = 0; i < rows; i++) {
        floats y[WEIR_OUTER_DEPTH];
        WEIR_UNROLL for (int p = 0; p < depth; p++) y[p] = floats_broadcast(t->a + i * t->a_row + p * t->a_step);
        for (int64_t j = 0; j < t->columns; j += WEIR_LANES) {
            const int64_t lanes = t->columns - j < WEIR_LANES ? t->columns - j : WEIR_LANES;
            floats sum = floats_zero();
            if (lanes == WEIR_LANES) {
                WEIR_UNROLL for (int p = 0; p < depth; p++) sum =
                    floats_fma(floats_load(t->b + p * t->b_row + j), y[p], sum);
            } else {
                WEIR_UNROLL for (int p = 0; p < depth; p++) sum =
                    floats_fma(floats_load_part(t->b + p * t->b_row + j, lanes), y[p], sum);
            }
            finish(t, sum, i, j, lanes);
        }
    }
}

static void outer(const weir_tile_arguments *t, int64_t rows)
{
    switch (t->depth) {
    case 1:
        outer_rows(t, rows, 1);
        break;
    case 2:
        outer_rows(t, rows, 2);
        break;
    case 3:
        outer_rows(t, rows, 3);
        break;
    case 4:
        outer_rows(t, rows, 4);
        break;
    case 5:
        outer_rows(t, rows, 5);
        break;
    case 6:
        outer_rows(t, rows, 6);
        break;
    case 7:
        outer_rows(t, rows, 7);
        break;
    default:
        outer_rows(t, rows, 8);
        break;
    }
}

/* rows x columns dot products at once; real_* of them are wanted, the others repeat the last. */
WEIR_INLINE void dot_tile(const weir_dot_arguments *t, int64_t i, int64_t j, int64_t real_rows, int64_t real_columns,
                          const int rows, const int columns)
{
    floats sum[DOT_ROWS * DOT_COLUMNS > 2 * DOT_COLUMNS ? DOT_ROWS * DOT_COLUMNS : 2 * DOT_COLUMNS];
    const float *a[DOT_ROWS], *b[2 * DOT_COLUMNS];
    WEIR_UNROLL for (int r = 0; r < rows; r++) a[r] = t->a + (i + (r < real_rows ? r : real_rows - 1)) * t->a_row;
    WEIR_UNROLL for (int s = 0; s < columns; s++) b[s] =
        t->b + (j + (s < real_columns ? s : real_columns - 1)) * t->b_row;
    WEIR_UNROLL for (int k = 0; k < rows * columns; k++) sum[k] = floats_zero();
    int64_t p = 0;
    WEIR_ROLL for (; p + WEIR_LANES <= t->depth; p += WEIR_LANES)
    {
        floats x[DOT_ROWS];
        WEIR_UNROLL for (int r = 0; r < rows; r++) x[r] = floats_pin(floats_load(a[r] + p));
        WEIR_UNROLL for (int s = 0; s < columns; s++)
        {
            floats y = floats_load(b[s] + p);
            if (rows > 1)
                y = floats_pin(y);
            WEIR_UNROLL for (int r = 0; r < rows; r++) sum[r * columns + s] = floats_fma(x[r], y, sum[r * columns + s]);
        }
    }
    if (p < t->depth) {
        const int64_t rest = t->depth - p;
        floats x[DOT_ROWS];
        WEIR_UNROLL for (int r = 0; r < rows; r++) x[r] = floats_load_part(a[r] + p, rest);
        WEIR_UNROLL for (int s = 0; s < columns; s++)
        {
            floats y = floats_load_part(b[s] + p, rest);
            WEIR_UNROLL for (int r = 0; r < rows; r++) sum[r * columns + s] = floats_fma(x[r], y, sum[r * columns + s]);
        }
    }
    float sums[DOT_SUMS];
    floats_sums(sum, rows * columns, sums);
    for (int64_t r = 0; r < real_rows; r++) {
        float *c = t->c + (i + r) * t->c_row + j;
        for (int64_t s = 0; s < real_columns; s++) {
            float value = sums[r * columns + s];
            if (t->accumulate)
                value += c[s];
            if (t->bias != NULL)
                value += t->bias[j + s];
            c[s] = t->relu && value < 0 ? 0 : value;
        }
    }
}

/* One row of tiles. wide: the columns that a full tile takes. */
#define DOT_LINE(name, rows, wide)                                                                                     \
    static void name(const weir_dot_arguments *t, int64_t i, int64_t real_rows)                                        \
    {                                                                                                                  \
        for (int64_t j = 0; j < t->columns; j += wide)                                                                 \
            dot_tile(t, i, j, real_rows, t->columns - j < wide ? t->columns - j : wide, rows, wide);                   \
    }
DOT_LINE(dot_1_row, 1, 2 * DOT_COLUMNS)
DOT_LINE(dot_2_rows, 2, DOT_COLUMNS)
DOT_LINE(dot_few_columns, DOT_ROWS, DOT_COLUMNS - 1)
DOT_LINE(dot_columns, DOT_ROWS, DOT_COLUMNS)

static void dot(const weir_dot_arguments *t)
{
    /* Tiles one column narrower where they waste less. */
    const int64_t wide = DOT_COLUMNS, less = DOT_COLUMNS - 1;
    const bool narrow = (t->columns + less - 1) / less * less < (t->columns + wide - 1) / wide * wide;
    for (int64_t i = 0; i < t->rows; i += DOT_ROWS) {
        const int64_t rest = t->rows - i;
        if (rest == 1)
            dot_1_row(t, i, 1);
        else if (rest == 2)
            dot_2_rows(t, i, 2);
        else if (narrow)
            dot_few_columns(t, i, rest < DOT_ROWS ? rest : DOT_ROWS);
        else
            dot_columns(t, i, rest < DOT_ROWS ? rest : DOT_ROWS);
    }
}

static void transpose(const float *in, int64_t in_row, int64_t rows, int64_t columns, float *out, int64_t out_row)
{
    floats_transpose_array(in, in_row, rows, columns, out, out_row);
}

static void copy(const float *in, int64_t in_row, int64_t rows, int64_t columns, float *out, int64_t out_row)
{
    const int64_t whole = columns / WEIR_LANES * WEIR_LANES, rest = columns - whole;
    for (int64_t i = 0; i < rows; i++, in += in_row, out += out_row) {
        for (int64_t j = 0; j < whole; j += WEIR_LANES)
            floats_store(out + j, floats_load(in + j));
        if (rest > 0)
            floats_store_part(out + whole, floats_load_part(in + whole, rest), rest);
    }
}

#define PACK_AHEAD 16 /* rows: they lie too far apart for the processor to foresee */

static void pack(const float *in, int64_t in_row, int64_t rows, int64_t columns, int64_t width, float *out)
{
    for (int64_t i = 0; i < rows; i++, in += in_row, out += width) {
        if (i + PACK_AHEAD < rows)
            for (int64_t j = 0; j < columns; j += 16)
                __builtin_prefetch(in + PACK_AHEAD * in_row + j);
        float *to = out;
        for (int64_t j = 0; j < columns; j += width, to += rows * width) {
            const int64_t end = columns - j < width ? columns : j + width;
            int64_t at = j;
            for (; at + WEIR_LANES <= end; at += WEIR_LANES)
                floats_store(to + at - j, floats_load(in + at));
            if (at < end)
                floats_store(to + at - j, floats_load_part(in + at, end - at));
        }
    }
}

#define ENTRY(rows, vectors) [vectors - 1][rows - 1] = tile_##rows##x##vectors,
extern const weir_matmul_kernels WEIR_TIER_NAME(weir_matmul_kernels);
const weir_matmul_kernels WEIR_TIER_NAME(weir_matmul_kernels) = {
    .lanes = WEIR_LANES,
    .vectors = WIDEST,
    .rows = TALLEST,
    .partial_vectors = PARTIAL_VECTORS,
    .tiles = {TILES_1(ENTRY) TILES_2(ENTRY) TILES_3(ENTRY) TILES_4(ENTRY)},
    .wide_vectors = WIDE,
    .wide = {wide_1, wide_2},
    .outer = outer,
    .dot = dot,
    .copy = copy,
    .pack = pack,
    .transpose = transpose,
};
