/*
 * Sums (products, extremes) of rows by segment number. Columns are shared out in strips, each of which takes the rows
 * in order; half and bfloat16 are added in their own precision's neighbour float and rounded at each row, as TensorFlow
 * does.
 */
#include "kernel/cpu/segment.h"

#include <complex.h>
#include <math.h>

#include "kernel/cpu/narrow_floats.h"

#define BLOCK 16384 /* elements of a block */
#define STRIP 256   /* columns of a strip, at most */

typedef struct segment_call {
    const void *x;   /* [rows, columns] */
    const void *ids; /* [rows] */
    weir_dtype id_type;
    int64_t rows, columns, segments, strip;
    void *out; /* [segments, columns] */
} segment_call;

static int64_t id_at(const segment_call *call, int64_t row)
{
    switch (call->id_type) {
    case WEIR_INT16:
        return ((const int16_t *)call->ids)[row];
    case WEIR_INT32:
        return ((const int32_t *)call->ids)[row];
    default:
        return ((const int64_t *)call->ids)[row];
    }
}

/* name, stored type, type to compute in, element to number, number to stored, lowest, highest. */
#define SAME(x) (x)
#define REAL_TYPES(X)                                                                                                  \
    X(FLOAT, float, float, SAME, SAME, -__FLT_MAX__, __FLT_MAX__)                                                      \
    X(DOUBLE, double, double, SAME, SAME, -__DBL_MAX__, __DBL_MAX__)                                                   \
    X(HALF, uint16_t, float, float_of_half, half_of_float, -65504.0f, 65504.0f)                                        \
    X(BFLOAT16, uint16_t, float, float_of_bfloat16, bfloat16_of_float, -0x1.fep127f, 0x1.fep127f)                      \
    X(INT8, int8_t, int32_t, SAME, (int8_t), INT8_MIN, INT8_MAX)                                                       \
    X(INT16, int16_t, int32_t, SAME, (int16_t), INT16_MIN, INT16_MAX)                                                  \
    X(INT32, int32_t, int64_t, SAME, (int32_t), INT32_MIN, INT32_MAX)                                                  \
    X(INT64, int64_t, int64_t, SAME, SAME, INT64_MIN, INT64_MAX)                                                       \
    X(UINT8, uint8_t, uint32_t, SAME, (uint8_t), 0, UINT8_MAX)                                                         \
    X(UINT16, uint16_t, uint32_t, SAME, (uint16_t), 0, UINT16_MAX)                                                     \
    X(UINT32, uint32_t, uint32_t, SAME, SAME, 0, UINT32_MAX)                                                           \
    X(UINT64, uint64_t, uint64_t, SAME, SAME, 0, UINT64_MAX)
#define COMPLEX_TYPES(X)                                                                                               \
    X(COMPLEX64, float complex, float complex, SAME, SAME, 0, 0)                                                       \
    X(COMPLEX128, double complex, double complex, SAME, SAME, 0, 0)

/* expression in a (so far) and e (the row's element). */
#define SEGMENT(op, name, T, E, get, set, start, expression)                                                           \
    static void op##_##name##_strip(void *context, int64_t block, int lane)                                            \
    {                                                                                                                  \
        (void)lane;                                                                                                    \
        const segment_call *call = context;                                                                            \
        int64_t begin = block * call->strip;                                                                           \
        int64_t end = begin + call->strip < call->columns ? begin + call->strip : call->columns;                       \
        for (int64_t segment = 0; segment < call->segments; segment++)                                                 \
            for (int64_t i = begin; i < end; i++)                                                                      \
                ((T *)call->out)[segment * call->columns + i] = (T)set((E)start);                                      \
        for (int64_t row = 0; row < call->rows; row++) {                                                               \
            int64_t id = id_at(call, row);                                                                             \
            if (id < 0)                                                                                                \
                continue;                                                                                              \
            const T *x = (const T *)call->x + row * call->columns;                                                     \
            T *out = (T *)call->out + id * call->columns;                                                              \
            for (int64_t i = begin; i < end; i++) {                                                                    \
                E a = (E)get(out[i]), e = (E)get(x[i]);                                                                \
                out[i] = (T)set(expression);                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    RUN(op, name, INT16)                                                                                               \
    RUN(op, name, INT32)                                                                                               \
    RUN(op, name, INT64)

#define RUN(op, name, ids_of)                                                                                          \
    static int64_t op##_##name##_##ids_of(weir_team *team, const void *x, const void *ids, int64_t rows,               \
                                          int64_t columns, int64_t segments, void *out)                                \
    {                                                                                                                  \
        segment_call call = {x, ids, WEIR_##ids_of, rows, columns, segments, columns, out};                            \
        return run(&call, team, op##_##name##_strip);                                                                  \
    }

static int64_t run(segment_call *call, weir_team *team, weir_block_function *function)
{
    for (int64_t row = 0; row < call->rows; row++)
        if (id_at(call, row) >= call->segments)
            return row;
    if (call->columns == 0 || call->segments == 0)
        return -1;
    if (call->rows * call->columns > BLOCK && call->columns > STRIP)
        call->strip = STRIP;
    int64_t strips = (call->columns + call->strip - 1) / call->strip;
    if (strips == 1)
        function(call, 0, 0);
    else
        weir_parallel_for(team, strips, function, call);
    return -1;
}

/* Signed numbers wrap: computed in a wider or unsigned type. */
#define PLUS(a, e) _Generic((a), int64_t : (int64_t)((uint64_t)(a) + (uint64_t)(e)), default : (a) + (e))
#define TIMES(a, e) _Generic((a), int64_t : (int64_t)((uint64_t)(a) * (uint64_t)(e)), default : (a) * (e))

#define SUMS(name, T, E, get, set, lowest, highest)                                                                    \
    SEGMENT(sum, name, T, E, get, set, 0, PLUS(a, e))                                                                  \
    SEGMENT(prod, name, T, E, get, set, 1, TIMES(a, e))
#define EXTREMES(name, T, E, get, set, lowest, highest)                                                                \
    SEGMENT(max, name, T, E, get, set, lowest, e > a || e != e ? e : a)                                                \
    SEGMENT(min, name, T, E, get, set, highest, e < a || e != e ? e : a)
REAL_TYPES(SUMS)
COMPLEX_TYPES(SUMS)
REAL_TYPES(EXTREMES)

#define IDS(op, name)                                                                                                  \
    {                                                                                                                  \
        op##_##name##_INT16, op##_##name##_INT32, op##_##name##_INT64                                                  \
    }

weir_segment_function *weir_segment_find(weir_segment_op op, weir_dtype type, weir_dtype id_type)
{
    int ids = id_type == WEIR_INT16 ? 0 : id_type == WEIR_INT32 ? 1 : id_type == WEIR_INT64 ? 2 : -1;
    if (ids < 0)
        return NULL;
    switch (type) {
#define REAL(name, T, E, get, set, lowest, highest)                                                                    \
    case WEIR_##name: {                                                                                                \
        static weir_segment_function *const functions[WEIR_SEGMENT_COUNT][3] = {                                       \
            [WEIR_SEGMENT_SUM] = IDS(sum, name),                                                                       \
            [WEIR_SEGMENT_PROD] = IDS(prod, name),                                                                     \
            [WEIR_SEGMENT_MAX] = IDS(max, name),                                                                       \
            [WEIR_SEGMENT_MIN] = IDS(min, name),                                                                       \
        };                                                                                                             \
        return functions[op][ids];                                                                                     \
    }
        REAL_TYPES(REAL)
#undef REAL
#define COMPLEX(name, T, E, get, set, lowest, highest)                                                                 \
    case WEIR_##name: {                                                                                                \
        static weir_segment_function *const functions[WEIR_SEGMENT_COUNT][3] = {                                       \
            [WEIR_SEGMENT_SUM] = IDS(sum, name),                                                                       \
            [WEIR_SEGMENT_PROD] = IDS(prod, name),                                                                     \
        };                                                                                                             \
        return functions[op][ids];                                                                                     \
    }
        COMPLEX_TYPES(COMPLEX)
#undef COMPLEX
    default:
        return NULL;
    }
}
