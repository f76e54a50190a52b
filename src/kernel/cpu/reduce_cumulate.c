/*
 * Running sums and products along an axis. Floats run in double and are rounded where they are stored.
 */
#include <complex.h>

#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/reduce.h"

#define BLOCK 16384 /* elements of a block */

typedef struct cumulate_call {
    const void *x;
    void *out;
    int64_t outer, size, inner;
    bool exclusive, reverse;
    int64_t group; /* lines of a block */
} cumulate_call;

/* name, stored type, running type, element to number, number to stored. */
#define SAME(x) (x)
#define HALF_OF(x) half_of_float((float)(x))
#define BFLOAT16_OF(x) bfloat16_of_float((float)(x))
#define TYPES(X)                                                                                                       \
    X(FLOAT, float, double, SAME, SAME)                                                                                \
    X(DOUBLE, double, double, SAME, SAME)                                                                              \
    X(HALF, uint16_t, double, float_of_half, HALF_OF)                                                                  \
    X(BFLOAT16, uint16_t, double, float_of_bfloat16, BFLOAT16_OF)                                                      \
    X(COMPLEX64, float complex, double complex, SAME, SAME)                                                            \
    X(COMPLEX128, double complex, double complex, SAME, SAME)                                                          \
    X(INT8, int8_t, uint64_t, SAME, SAME)                                                                              \
    X(INT16, int16_t, uint64_t, SAME, SAME)                                                                            \
    X(INT32, int32_t, uint64_t, SAME, SAME)                                                                            \
    X(INT64, int64_t, uint64_t, SAME, SAME)                                                                            \
    X(UINT8, uint8_t, uint64_t, SAME, SAME)                                                                            \
    X(UINT16, uint16_t, uint64_t, SAME, SAME)                                                                          \
    X(UINT32, uint32_t, uint64_t, SAME, SAME)                                                                          \
    X(UINT64, uint64_t, uint64_t, SAME, SAME)

#define CUMULATE(kind, name, T, A, get, set, first, operator)                                                          \
    static void kind##_##name##_block(void *context, int64_t block, int lane)                                          \
    {                                                                                                                  \
        (void)lane;                                                                                                    \
        const cumulate_call *call = context;                                                                           \
        int64_t lines = call->outer * call->inner;                                                                     \
        int64_t end = (block + 1) * call->group < lines ? (block + 1) * call->group : lines;                           \
        int64_t step = call->reverse ? -call->inner : call->inner;                                                     \
        for (int64_t line = block * call->group; line < end; line++) {                                                 \
            int64_t at = line / call->inner * call->inner * call->size + line % call->inner;                           \
            if (call->reverse)                                                                                         \
                at += (call->size - 1) * call->inner;                                                                  \
            const T *x = (const T *)call->x + at;                                                                      \
            T *out = (T *)call->out + at;                                                                              \
            A running = first;                                                                                         \
            for (int64_t i = 0; i < call->size; i++) {                                                                 \
                A next = running operator(A) get(x[i * step]);                                                         \
                out[i * step] = (T)set(call->exclusive ? running : next);                                              \
                running = next;                                                                                        \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void kind##_##name(weir_team *team, const void *x, int64_t outer, int64_t size, int64_t inner,              \
                              bool exclusive, bool reverse, void *out)                                                 \
    {                                                                                                                  \
        run(kind##_##name##_block, team, x, outer, size, inner, exclusive, reverse, out);                              \
    }

static void run(weir_block_function *function, weir_team *team, const void *x, int64_t outer, int64_t size,
                int64_t inner, bool exclusive, bool reverse, void *out)
{
    int64_t group = size > 0 && BLOCK / size > 0 ? BLOCK / size : 1;
    cumulate_call call = {x, out, outer, size, inner, exclusive, reverse, group};
    int64_t blocks = size == 0 ? 0 : (outer * inner + group - 1) / group;
    if (blocks == 1)
        function(&call, 0, 0);
    else if (blocks > 1)
        weir_parallel_for(team, blocks, function, &call);
}

#define BOTH(name, T, A, get, set)                                                                                     \
    CUMULATE(sum, name, T, A, get, set, 0, +)                                                                          \
    CUMULATE(product, name, T, A, get, set, 1, *)
TYPES(BOTH)

weir_cumulate_function *weir_cumulate_find(bool product, weir_dtype type)
{
    switch (type) {
#define CASE(name, T, A, get, set)                                                                                     \
    case WEIR_##name:                                                                                                  \
        return product ? product_##name : sum_##name;
        TYPES(CASE)
#undef CASE
    default:
        return NULL;
    }
}
