/*
 * Positions of the largest and smallest elements along an axis. The search starts from the type's lowest (highest)
 * number at position 0 and takes only what is strictly better, so ties give the lowest position and NaN never wins.
 */
#include <float.h>
#include <math.h>

#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/reduce.h"

#define BLOCK 16384 /* elements of a block */

typedef struct arg_call {
    const void *x;
    int64_t size, inner, outputs, group;
    void *out;
} arg_call;

typedef void find_function(const arg_call *call, int64_t begin, int64_t end, int64_t *found);

typedef struct arg_job {
    arg_call call;
    find_function *find;
    weir_dtype out_type;
} arg_job;

/* name, stored type, type to compare in, its lowest, its highest, element to number. */
#define SAME(x) (x)
#define TRUTH(x) ((x) != 0)
#define TYPES(X)                                                                                                       \
    X(FLOAT, float, float, -FLT_MAX, FLT_MAX, SAME)                                                                    \
    X(DOUBLE, double, double, -DBL_MAX, DBL_MAX, SAME)                                                                 \
    X(HALF, uint16_t, float, -65504.0f, 65504.0f, float_of_half)                                                       \
    X(BFLOAT16, uint16_t, float, -0x1.fep127f, 0x1.fep127f, float_of_bfloat16)                                         \
    X(BOOL, uint8_t, int, 0, 1, TRUTH)                                                                                 \
    X(INT8, int8_t, int8_t, INT8_MIN, INT8_MAX, SAME)                                                                  \
    X(INT16, int16_t, int16_t, INT16_MIN, INT16_MAX, SAME)                                                             \
    X(INT32, int32_t, int32_t, INT32_MIN, INT32_MAX, SAME)                                                             \
    X(INT64, int64_t, int64_t, INT64_MIN, INT64_MAX, SAME)                                                             \
    X(UINT8, uint8_t, uint8_t, 0, UINT8_MAX, SAME)                                                                     \
    X(UINT16, uint16_t, uint16_t, 0, UINT16_MAX, SAME)                                                                 \
    X(UINT32, uint32_t, uint32_t, 0, UINT32_MAX, SAME)                                                                 \
    X(UINT64, uint64_t, uint64_t, 0, UINT64_MAX, SAME)

#define FIND(name, T, E, start, comparison, get)                                                                       \
    static void name(const arg_call *call, int64_t begin, int64_t end, int64_t *found)                                 \
    {                                                                                                                  \
        for (int64_t output = begin; output < end; output++) {                                                         \
            const T *x = (const T *)call->x + output / call->inner * call->inner * call->size + output % call->inner;  \
            E best = start;                                                                                            \
            int64_t at = 0;                                                                                            \
            for (int64_t i = 0; i < call->size; i++) {                                                                 \
                E value = (E)get(x[i * call->inner]);                                                                  \
                if (value comparison best) {                                                                           \
                    best = value;                                                                                      \
                    at = i;                                                                                            \
                }                                                                                                      \
            }                                                                                                          \
            found[output - begin] = at;                                                                                \
        }                                                                                                              \
    }
#define FINDS(name, T, E, lowest, highest, get)                                                                        \
    FIND(max_##name, T, E, lowest, >, get)                                                                             \
    FIND(min_##name, T, E, highest, <, get)
TYPES(FINDS)

static void arg_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const arg_job *job = context;
    const arg_call *call = &job->call;
    int64_t found[64];
    int64_t end = (block + 1) * call->group < call->outputs ? (block + 1) * call->group : call->outputs;
    for (int64_t begin = block * call->group; begin < end; begin += 64) {
        int64_t n = end - begin < 64 ? end - begin : 64;
        job->find(call, begin, begin + n, found);
        for (int64_t i = 0; i < n; i++) {
            if (job->out_type == WEIR_INT64)
                ((int64_t *)call->out)[begin + i] = found[i];
            else if (job->out_type == WEIR_INT32)
                ((int32_t *)call->out)[begin + i] = (int32_t)found[i];
            else
                ((uint16_t *)call->out)[begin + i] = (uint16_t)found[i];
        }
    }
}

static void run(find_function *find, weir_dtype out_type, weir_team *team, const void *x, int64_t outer, int64_t size,
                int64_t inner, void *out)
{
    int64_t group = size > 0 && BLOCK / size > 0 ? BLOCK / size : 1;
    arg_job job = {{x, size, inner, outer * inner, group, out}, find, out_type};
    int64_t blocks = (job.call.outputs + group - 1) / group;
    if (blocks == 1)
        arg_block(&job, 0, 0);
    else if (blocks > 1)
        weir_parallel_for(team, blocks, arg_block, &job);
}

#define RUN(kind, name, out_type)                                                                                      \
    static void run_##kind##_##name##_##out_type(weir_team *team, const void *x, int64_t outer, int64_t size,          \
                                                 int64_t inner, void *out)                                             \
    {                                                                                                                  \
        run(kind##_##name, WEIR_##out_type, team, x, outer, size, inner, out);                                         \
    }
#define RUNS(name, T, E, lowest, highest, get)                                                                         \
    RUN(max, name, INT64)                                                                                              \
    RUN(max, name, INT32)                                                                                              \
    RUN(max, name, INT16)                                                                                              \
    RUN(min, name, INT64)                                                                                              \
    RUN(min, name, INT32)                                                                                              \
    RUN(min, name, INT16)
TYPES(RUNS)

weir_arg_function *weir_arg_find(bool largest, weir_dtype type, weir_dtype out_type)
{
    if (out_type != WEIR_INT64 && out_type != WEIR_INT32 && out_type != WEIR_INT16 && out_type != WEIR_UINT16)
        return NULL;
    int column = out_type == WEIR_INT64 ? 0 : out_type == WEIR_INT32 ? 1 : 2; /* int16 and uint16 wrap alike */
    switch (type) {
#define CASE(name, T, E, lowest, highest, get)                                                                         \
    case WEIR_##name: {                                                                                                \
        static weir_arg_function *const functions[2][3] = {                                                            \
            {run_min_##name##_INT64, run_min_##name##_INT32, run_min_##name##_INT16},                                  \
            {run_max_##name##_INT64, run_max_##name##_INT32, run_max_##name##_INT16}};                                 \
        return functions[largest][column];                                                                             \
    }
        TYPES(CASE)
#undef CASE
    default:
        return NULL;
    }
}
