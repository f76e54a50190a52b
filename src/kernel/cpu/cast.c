/*
 * Conversions between all numeric types and bool: one loop for each pair. What C leaves undefined (floats out of an
 * integer's range) is tested first and given x86-64's results.
 */
#include "kernel/cpu/cast.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "kernel/cpu/elementwise_loops.h"
#include "kernel/cpu/narrow_floats.h"

#define BLOCK 16384 /* elements of a block */

/* ---- floats to integers ------------------------------------------------------------------------------------------ */

static inline int32_t int32_of(double x)
{
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}

static inline int64_t int64_of(double x)
{
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

/* Through 64 bits, wrapped. */
static inline uint32_t uint32_of(double x)
{
    return (uint32_t)int64_of(x);
}

/* From 2^63 on: less 2^63, with the top bit turned; beyond the range that gives 0. */
static inline uint64_t uint64_of(double x)
{
    return x >= 0x1p63 ? (uint64_t)int64_of(x - 0x1p63) ^ (uint64_t)1 << 63 : (uint64_t)int64_of(x);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

/* dtype, stored type, of an integer v, of a float or double v; what follows is handed on. */
#define DESTINATIONS(X, ...)                                                                                           \
    X(FLOAT, float, (float)v, (float)v, __VA_ARGS__)                                                                   \
    X(DOUBLE, double, (double)v, (double)v, __VA_ARGS__)                                                               \
    X(HALF, uint16_t, half_of_float((float)v), half_of_float((float)v), __VA_ARGS__)                                   \
    X(BFLOAT16, uint16_t, bfloat16_of_float((float)v), bfloat16_of_float((float)v), __VA_ARGS__)                       \
    X(COMPLEX64, float complex, (float)v, (float)v, __VA_ARGS__)                                                       \
    X(COMPLEX128, double complex, (double)v, (double)v, __VA_ARGS__)                                                   \
    X(BOOL, bool, v != 0, v != 0, __VA_ARGS__)                                                                         \
    X(INT8, int8_t, (int8_t)v, (int8_t)int32_of(v), __VA_ARGS__)                                                       \
    X(INT16, int16_t, (int16_t)v, (int16_t)int32_of(v), __VA_ARGS__)                                                   \
    X(INT32, int32_t, (int32_t)v, int32_of(v), __VA_ARGS__)                                                            \
    X(INT64, int64_t, (int64_t)v, int64_of(v), __VA_ARGS__)                                                            \
    X(UINT8, uint8_t, (uint8_t)v, (uint8_t)int32_of(v), __VA_ARGS__)                                                   \
    X(UINT16, uint16_t, (uint16_t)v, (uint16_t)int32_of(v), __VA_ARGS__)                                               \
    X(UINT32, uint32_t, (uint32_t)v, uint32_of(v), __VA_ARGS__)                                                        \
    X(UINT64, uint64_t, (uint64_t)v, uint64_of(v), __VA_ARGS__)

/* dtype, stored type, type of v, stored to v, which of the two. */
#define SAME(x) (x)
#define TRUTH(x) ((x) > 0 ? 1 : 0)
#define SOURCES(X)                                                                                                     \
    X(FLOAT, float, float, SAME, REAL)                                                                                 \
    X(DOUBLE, double, double, SAME, REAL)                                                                              \
    X(HALF, uint16_t, float, float_of_half, REAL)                                                                      \
    X(BFLOAT16, uint16_t, float, float_of_bfloat16, REAL)                                                              \
    X(COMPLEX64, float complex, float, crealf, REAL)                                                                   \
    X(COMPLEX128, double complex, double, creal, REAL)                                                                 \
    X(BOOL, uint8_t, uint8_t, TRUTH, WHOLE)                                                                            \
    X(INT8, int8_t, int8_t, SAME, WHOLE)                                                                               \
    X(INT16, int16_t, int16_t, SAME, WHOLE)                                                                            \
    X(INT32, int32_t, int32_t, SAME, WHOLE)                                                                            \
    X(INT64, int64_t, int64_t, SAME, WHOLE)                                                                            \
    X(UINT8, uint8_t, uint8_t, SAME, WHOLE)                                                                            \
    X(UINT16, uint16_t, uint16_t, SAME, WHOLE)                                                                         \
    X(UINT32, uint32_t, uint32_t, SAME, WHOLE)                                                                         \
    X(UINT64, uint64_t, uint64_t, SAME, WHOLE)

typedef void cast_loop(const void *in, void *out, int64_t n);

typedef struct cast_call {
    cast_loop *loop;
    const char *in;
    char *out;
    size_t in_size, out_size;
    int64_t n;
} cast_call;

static void cast_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const cast_call *call = context;
    size_t begin = (size_t)block * BLOCK;
    int64_t n = call->n - (int64_t)begin < BLOCK ? call->n - (int64_t)begin : BLOCK;
    call->loop(call->in + begin * call->in_size, call->out + begin * call->out_size, n);
}

static void cast(cast_loop *loop, size_t in_size, size_t out_size, weir_team *team, const void *in, void *out,
                 int64_t n)
{
    if (n <= BLOCK) {
        if (n > 0)
            loop(in, out, n);
        return;
    }
    cast_call call = {loop, in, out, in_size, out_size, n};
    weir_parallel_for(team, (n + BLOCK - 1) / BLOCK, cast_block, &call);
}

#define CHOOSE_REAL(whole, real) real
#define CHOOSE_WHOLE(whole, real) whole

#define PAIR(to, D, whole, real, from, S, V, get, kind)                                                                \
    static void loop_##from##_##to(const void *in, void *out, int64_t n)                                               \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            V v = (V)get(((const S *)in)[i]);                                                                          \
            ((D *)out)[i] = CHOOSE_##kind(whole, real);                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void cast_##from##_##to(weir_team *team, const void *in, void *out, int64_t n)                              \
    {                                                                                                                  \
        cast(loop_##from##_##to, sizeof(S), sizeof(D), team, in, out, n);                                              \
    }
#define PAIRS(from, S, V, get, kind) DESTINATIONS(PAIR, from, S, V, get, kind)
SOURCES(PAIRS)

/* Complex to complex and to bool look at both parts. */
#define COMPLEX_PAIR(name, S, D, expression)                                                                           \
    static void loop_##name(const void *in, void *out, int64_t n)                                                      \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            S v = ((const S *)in)[i];                                                                                  \
            ((D *)out)[i] = expression;                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void cast_##name(weir_team *team, const void *in, void *out, int64_t n)                                     \
    {                                                                                                                  \
        cast(loop_##name, sizeof(S), sizeof(D), team, in, out, n);                                                     \
    }
COMPLEX_PAIR(narrow_complex, double complex, float complex, (float complex)v)
COMPLEX_PAIR(wide_complex, float complex, double complex, v)
COMPLEX_PAIR(complex64_truth, float complex, bool, v != 0)
COMPLEX_PAIR(complex128_truth, double complex, bool, v != 0)

/* The same type: bytes. */
#define COPY(bytes)                                                                                                    \
    static void loop_copy_##bytes(const void *in, void *out, int64_t n)                                                \
    {                                                                                                                  \
        memcpy(out, in, (size_t)n *(bytes));                                                                           \
    }                                                                                                                  \
    static void copy_##bytes(weir_team *team, const void *in, void *out, int64_t n)                                    \
    {                                                                                                                  \
        if (in != out)                                                                                                 \
            cast(loop_copy_##bytes, bytes, bytes, team, in, out, n);                                                   \
    }
COPY(1)
COPY(2)
COPY(4)
COPY(8)
COPY(16)

/* ---- find -------------------------------------------------------------------------------------------------------- */

static weir_cast_function *copy_of(size_t size)
{
    switch (size) {
    case 1:
        return copy_1;
    case 2:
        return copy_2;
    case 4:
        return copy_4;
    case 8:
        return copy_8;
    case 16:
        return copy_16;
    default:
        return NULL;
    }
}

static weir_cast_function *find_pair(weir_dtype from, weir_dtype to)
{
    switch (from) {
#define FIND_TO(to, D, whole, real, from, ...)                                                                         \
    case WEIR_##to:                                                                                                    \
        return cast_##from##_##to;
#define FIND_FROM(from, ...)                                                                                           \
    case WEIR_##from:                                                                                                  \
        switch (to) {                                                                                                  \
            DESTINATIONS(FIND_TO, from, )                                                                              \
        default:                                                                                                       \
            return NULL;                                                                                               \
        }
        SOURCES(FIND_FROM)
    default:
        return NULL;
    }
}

weir_cast_function *weir_cast_find(weir_dtype from, weir_dtype to)
{
    if (from == to)
        return copy_of(weir_kernel_size(from));
    if (from == WEIR_COMPLEX128 && to == WEIR_COMPLEX64)
        return cast_narrow_complex;
    if (from == WEIR_COMPLEX64 && to == WEIR_COMPLEX128)
        return cast_wide_complex;
    if (from == WEIR_COMPLEX64 && to == WEIR_BOOL)
        return cast_complex64_truth;
    if (from == WEIR_COMPLEX128 && to == WEIR_BOOL)
        return cast_complex128_truth;
    return find_pair(from, to);
}
