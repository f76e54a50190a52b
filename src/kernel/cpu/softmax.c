/*
 * Softmax and cross-entropy: rows of the types other than float, and the sharing out of rows.
 */
#include "kernel/cpu/softmax.h"

#include <math.h>

#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/softmax_rows.h"

#define BLOCK 4096     /* elements of a block */
#define LABEL_CHUNK 64 /* labels widened at a time */

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The exponentials are taken twice, so that narrow types lose nothing on the way and out may be x. */
#define ROWS(name, T, E, get, set, exponential, logarithm)                                                             \
    static E name##_maximum(const T *x, int64_t classes)                                                               \
    {                                                                                                                  \
        E best = -INFINITY;                                                                                            \
        for (int64_t i = 0; i < classes; i++)                                                                          \
            best = (E)get(x[i]) > best ? (E)get(x[i]) : best;                                                          \
        return best;                                                                                                   \
    }                                                                                                                  \
    static E name##_sum(const T *x, int64_t classes, E maximum)                                                        \
    {                                                                                                                  \
        double sum = 0;                                                                                                \
        for (int64_t i = 0; i < classes; i++)                                                                          \
            sum += (double)exponential(get(x[i]) - maximum);                                                           \
        return (E)sum;                                                                                                 \
    }                                                                                                                  \
    static void name##_softmax(const void *from, int64_t rows, int64_t classes, void *to)                              \
    {                                                                                                                  \
        for (int64_t row = 0; row < rows; row++) {                                                                     \
            const T *x = (const T *)from + row * classes;                                                              \
            T *out = (T *)to + row * classes;                                                                          \
            E maximum = name##_maximum(x, classes), sum = name##_sum(x, classes, maximum);                             \
            for (int64_t i = 0; i < classes; i++)                                                                      \
                out[i] = set(exponential(get(x[i]) - maximum) / sum);                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_log_softmax(const void *from, int64_t rows, int64_t classes, void *to)                          \
    {                                                                                                                  \
        for (int64_t row = 0; row < rows; row++) {                                                                     \
            const T *x = (const T *)from + row * classes;                                                              \
            T *out = (T *)to + row * classes;                                                                          \
            E maximum = name##_maximum(x, classes), sum = logarithm(name##_sum(x, classes, maximum));                  \
            for (int64_t i = 0; i < classes; i++)                                                                      \
                out[i] = set((get(x[i]) - maximum) - sum);                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_cross_entropy(const void *from, const void *label_rows, int64_t rows, int64_t classes,          \
                                     void *losses, void *to)                                                           \
    {                                                                                                                  \
        for (int64_t row = 0; row < rows; row++) {                                                                     \
            const T *x = (const T *)from + row * classes, *labels = (const T *)label_rows + row * classes;             \
            T *out = to == NULL ? NULL : (T *)to + row * classes;                                                      \
            E maximum = name##_maximum(x, classes), sum = name##_sum(x, classes, maximum);                             \
            E log_sum = logarithm(sum);                                                                                \
            double loss = 0;                                                                                           \
            for (int64_t i = 0; i < classes; i++)                                                                      \
                loss += (double)(get(labels[i]) * (log_sum - (get(x[i]) - maximum)));                                  \
            ((T *)losses)[row] = set((E)loss);                                                                         \
            for (int64_t i = 0; out != NULL && i < classes; i++)                                                       \
                out[i] = set(exponential(get(x[i]) - maximum) / sum - get(labels[i]));                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_sparse(const void *from, const int64_t *labels, int64_t rows, int64_t classes, void *losses,    \
                              void *to)                                                                                \
    {                                                                                                                  \
        for (int64_t row = 0; row < rows; row++) {                                                                     \
            const T *x = (const T *)from + row * classes;                                                              \
            T *out = to == NULL ? NULL : (T *)to + row * classes;                                                      \
            E maximum = name##_maximum(x, classes), sum = name##_sum(x, classes, maximum);                             \
            ((T *)losses)[row] = set(logarithm(sum) - (get(x[labels[row]]) - maximum));                                \
            for (int64_t i = 0; out != NULL && i < classes; i++)                                                       \
                out[i] = set(exponential(get(x[i]) - maximum) / sum - (E)(i == labels[row]));                          \
        }                                                                                                              \
    }                                                                                                                  \
    static const weir_softmax_kernels name##_kernels = {name##_softmax, name##_log_softmax, name##_cross_entropy,      \
                                                        name##_sparse};

#define SAME(x) (x)
ROWS(double, double, double, SAME, SAME, exp, log)
ROWS(half, uint16_t, float, float_of_half, half_of_float, expf, logf)
ROWS(bfloat16, uint16_t, float, float_of_bfloat16, bfloat16_of_float, expf, logf)

#define TIER_TABLE(tier) extern const weir_softmax_kernels weir_softmax_kernels_##tier;
WEIR_CPU_TIERS(TIER_TABLE)
#define TIER_ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_softmax_kernels_##tier,
static const weir_softmax_kernels *const float_kernels[] = {WEIR_CPU_TIERS(TIER_ENTRY)};

/* ---- sharing out ------------------------------------------------------------------------------------------------- */

typedef struct softmax_call {
    const weir_softmax_kernels *kernels;
    size_t size; /* bytes of an element */
    const char *x;
    const char *labels; /* [rows, classes], or [rows] of class numbers */
    weir_dtype label_type;
    int64_t rows, classes, group; /* rows of a block */
    char *loss;
    char *out;
    bool logarithm;
} softmax_call;

static int64_t rows_of_block(const softmax_call *call, int64_t block, size_t *offset)
{
    int64_t begin = block * call->group;
    *offset = (size_t)(begin * call->classes) * call->size;
    return call->rows - begin < call->group ? call->rows - begin : call->group;
}

static void softmax_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const softmax_call *call = context;
    size_t offset;
    int64_t rows = rows_of_block(call, block, &offset);
    (call->logarithm ? call->kernels->log_softmax : call->kernels->softmax)(call->x + offset, rows, call->classes,
                                                                            call->out + offset);
}

static void cross_entropy_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const softmax_call *call = context;
    size_t offset;
    int64_t rows = rows_of_block(call, block, &offset);
    call->kernels->cross_entropy(call->x + offset, call->labels + offset, rows, call->classes,
                                 call->loss + (size_t)(block * call->group) * call->size,
                                 call->out == NULL ? NULL : call->out + offset);
}

static int64_t label_at(const softmax_call *call, int64_t row)
{
    return call->label_type == WEIR_INT32 ? ((const int32_t *)call->labels)[row] : ((const int64_t *)call->labels)[row];
}

static void sparse_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const softmax_call *call = context;
    int64_t end = (block + 1) * call->group < call->rows ? (block + 1) * call->group : call->rows;
    for (int64_t begin = block * call->group; begin < end; begin += LABEL_CHUNK) {
        int64_t labels[LABEL_CHUNK], rows = end - begin < LABEL_CHUNK ? end - begin : LABEL_CHUNK;
        for (int64_t i = 0; i < rows; i++)
            labels[i] = label_at(call, begin + i);
        size_t offset = (size_t)(begin * call->classes) * call->size;
        call->kernels->sparse(call->x + offset, labels, rows, call->classes, call->loss + (size_t)begin * call->size,
                              call->out == NULL ? NULL : call->out + offset);
    }
}

static void share_rows(softmax_call *call, weir_team *team, weir_block_function *function)
{
    call->group = call->classes > 0 && BLOCK / call->classes > 0 ? BLOCK / call->classes : 1;
    int64_t blocks = (call->rows + call->group - 1) / call->group;
    if (blocks == 1)
        function(call, 0, 0);
    else if (blocks > 1)
        weir_parallel_for(team, blocks, function, call);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* One set of functions per type. */
#define TYPES(X)                                                                                                       \
    X(FLOAT, 4, float_kernels[weir_cpu_tier_best()])                                                                   \
    X(DOUBLE, 8, &double_kernels)                                                                                      \
    X(HALF, 2, &half_kernels)                                                                                          \
    X(BFLOAT16, 2, &bfloat16_kernels)

#define FUNCTIONS(type, bytes, its_kernels)                                                                            \
    static void run_softmax_##type(weir_team *team, const void *x, int64_t rows, int64_t classes, void *out)           \
    {                                                                                                                  \
        softmax_call call = {                                                                                          \
            .kernels = its_kernels, .size = bytes, .x = x, .rows = rows, .classes = classes, .out = out};              \
        share_rows(&call, team, softmax_block);                                                                        \
    }                                                                                                                  \
    static void run_log_softmax_##type(weir_team *team, const void *x, int64_t rows, int64_t classes, void *out)       \
    {                                                                                                                  \
        softmax_call call = {.kernels = its_kernels,                                                                   \
                             .size = bytes,                                                                            \
                             .x = x,                                                                                   \
                             .rows = rows,                                                                             \
                             .classes = classes,                                                                       \
                             .out = out,                                                                               \
                             .logarithm = true};                                                                       \
        share_rows(&call, team, softmax_block);                                                                        \
    }                                                                                                                  \
    static void run_cross_entropy_##type(weir_team *team, const void *logits, const void *labels, int64_t rows,        \
                                         int64_t classes, void *loss, void *backprop)                                  \
    {                                                                                                                  \
        softmax_call call = {.kernels = its_kernels,                                                                   \
                             .size = bytes,                                                                            \
                             .x = logits,                                                                              \
                             .labels = labels,                                                                         \
                             .rows = rows,                                                                             \
                             .classes = classes,                                                                       \
                             .loss = loss,                                                                             \
                             .out = backprop};                                                                         \
        share_rows(&call, team, cross_entropy_block);                                                                  \
    }                                                                                                                  \
    static int64_t run_sparse_##type(weir_team *team, const void *logits, const void *labels, weir_dtype label_type,   \
                                     int64_t rows, int64_t classes, void *loss, void *backprop)                        \
    {                                                                                                                  \
        softmax_call call = {.kernels = its_kernels,                                                                   \
                             .size = bytes,                                                                            \
                             .x = logits,                                                                              \
                             .labels = labels,                                                                         \
                             .label_type = label_type,                                                                 \
                             .rows = rows,                                                                             \
                             .classes = classes,                                                                       \
                             .loss = loss,                                                                             \
                             .out = backprop};                                                                         \
        for (int64_t row = 0; row < rows; row++)                                                                       \
            if (label_at(&call, row) < 0 || label_at(&call, row) >= classes)                                           \
                return row;                                                                                            \
        share_rows(&call, team, sparse_block);                                                                         \
        return -1;                                                                                                     \
    }                                                                                                                  \
    static int64_t run_sparse_##type##_int32(weir_team * team, const void *logits, const void *labels, int64_t rows,   \
                                             int64_t classes, void *loss, void *backprop)                              \
    {                                                                                                                  \
        return run_sparse_##type(team, logits, labels, WEIR_INT32, rows, classes, loss, backprop);                     \
    }                                                                                                                  \
    static int64_t run_sparse_##type##_int64(weir_team * team, const void *logits, const void *labels, int64_t rows,   \
                                             int64_t classes, void *loss, void *backprop)                              \
    {                                                                                                                  \
        return run_sparse_##type(team, logits, labels, WEIR_INT64, rows, classes, loss, backprop);                     \
    }
TYPES(FUNCTIONS)

weir_softmax_function *weir_softmax_find(weir_dtype type, bool logarithm)
{
    switch (type) {
#define CASE(name, bytes, its_kernels)                                                                                 \
    case WEIR_##name:                                                                                                  \
        return logarithm ? run_log_softmax_##name : run_softmax_##name;
        TYPES(CASE)
#undef CASE
    default:
        return NULL;
    }
}

weir_cross_entropy_function *weir_cross_entropy_find(weir_dtype type)
{
    switch (type) {
#define CASE(name, bytes, its_kernels)                                                                                 \
    case WEIR_##name:                                                                                                  \
        return run_cross_entropy_##name;
        TYPES(CASE)
#undef CASE
    default:
        return NULL;
    }
}

weir_sparse_cross_entropy_function *weir_sparse_cross_entropy_find(weir_dtype type, weir_dtype label_type)
{
    if (label_type != WEIR_INT32 && label_type != WEIR_INT64)
        return NULL;
    switch (type) {
#define CASE(name, bytes, its_kernels)                                                                                 \
    case WEIR_##name:                                                                                                  \
        return label_type == WEIR_INT32 ? run_sparse_##name##_int32 : run_sparse_##name##_int64;
        TYPES(CASE)
#undef CASE
    default:
        return NULL;
    }
}

/* ---- in top k ---------------------------------------------------------------------------------------------------- */

typedef struct top_call {
    const float *predictions; /* [rows, classes] */
    const void *targets;
    weir_dtype target_type;
    int64_t k, rows, classes, group;
    bool *out;
} top_call;

static bool in_top(const float *x, int64_t classes, int64_t target, int64_t k)
{
    if (target < 0 || target >= classes)
        return false;
    int64_t greater = 0;
    for (int64_t i = 0; i < classes; i++) {
        if (!isfinite(x[i]))
            return false;
        greater += x[i] > x[target];
    }
    return greater < k;
}

static void top_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const top_call *call = context;
    int64_t end = (block + 1) * call->group < call->rows ? (block + 1) * call->group : call->rows;
    for (int64_t row = block * call->group; row < end; row++) {
        int64_t target = call->target_type == WEIR_INT32 ? ((const int32_t *)call->targets)[row]
                                                         : ((const int64_t *)call->targets)[row];
        call->out[row] = in_top(call->predictions + row * call->classes, call->classes, target, call->k);
    }
}

void weir_are_in_top_k(weir_team *team, const float *predictions, const void *targets, weir_dtype target_type,
                       int64_t k, int64_t rows, int64_t classes, bool *out)
{
    int64_t group = classes > 0 && BLOCK / classes > 0 ? BLOCK / classes : 1;
    top_call call = {predictions, targets, target_type, k, rows, classes, group, out};
    int64_t blocks = (rows + group - 1) / group;
    if (blocks == 1)
        top_block(&call, 0, 0);
    else if (blocks > 1)
        weir_parallel_for(team, blocks, top_block, &call);
}
