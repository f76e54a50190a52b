/*
 * Updates in place: what is shared out, and the types other than float.
 */
#include "kernel/cpu/update.h"

#include <math.h>

#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/elementwise_loops.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/update_loops.h"

#define BLOCK 16384 /* elements of a block */

#define TIER_TABLE(tier) extern const weir_update_kernels weir_update_kernels_##tier;
WEIR_CPU_TIERS(TIER_TABLE)
#define TIER_ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_update_kernels_##tier,
static const weir_update_kernels *const float_kernels[] = {WEIR_CPU_TIERS(TIER_ENTRY)};

/* The arrays of any of the updates; grad is delta, or the value to add. */
typedef struct update_call {
    int64_t n;
    size_t size; /* bytes of an element */
    char *var, *first, *second;
    const char *grad;
    const void *alpha, *momentum; /* scalars of the variable's type */
    const weir_adam_scalars *adam;
    bool nesterov;
    const weir_update_kernels *kernels;
    weir_binary_loop *add;
    weir_dtype type;
} update_call;

static int64_t bounds(const update_call *call, int64_t block, size_t *offset)
{
    int64_t begin = block * BLOCK;
    *offset = (size_t)begin * call->size;
    return call->n - begin < BLOCK ? call->n - begin : BLOCK;
}

static void share(update_call *call, weir_team *team, weir_block_function *function)
{
    int64_t blocks = (call->n + BLOCK - 1) / BLOCK;
    if (blocks == 1)
        function(call, 0, 0);
    else if (blocks > 1)
        weir_parallel_for(team, blocks, function, call);
}

/* ---- float ------------------------------------------------------------------------------------------------------- */

static float scalar(const void *pointer)
{
    return *(const float *)pointer;
}

static void gradient_descent_FLOAT_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const update_call *call = context;
    size_t offset;
    int64_t n = bounds(call, block, &offset);
    call->kernels->gradient_descent(n, (float *)(call->var + offset), scalar(call->alpha),
                                    (const float *)(call->grad + offset));
}

static void momentum_FLOAT_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const update_call *call = context;
    size_t offset;
    int64_t n = bounds(call, block, &offset);
    call->kernels->momentum(n, (float *)(call->var + offset), (float *)(call->first + offset), scalar(call->alpha),
                            (const float *)(call->grad + offset), scalar(call->momentum), call->nesterov);
}

static void adam_FLOAT_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const update_call *call = context;
    const weir_adam_scalars *given = call->adam;
    size_t offset;
    int64_t n = bounds(call, block, &offset);
    float beta1 = scalar(given->beta1);
    weir_adam_factors factors = {
        .alpha = scalar(given->lr) * sqrtf(1 - scalar(given->beta2_power)) / (1 - scalar(given->beta1_power)),
        .beta1 = beta1,
        .rest1 = 1 - beta1,
        .rest2 = 1 - scalar(given->beta2),
        .epsilon = scalar(given->epsilon),
    };
    call->kernels->adam(n, (float *)(call->var + offset), (float *)(call->first + offset),
                        (float *)(call->second + offset), &factors, (const float *)(call->grad + offset),
                        call->nesterov);
}

/* ---- other types ------------------------------------------------------------------------------------------------- */

/* dtype, stored type, type to compute in, stored to number, number to stored, square root. */
#define SAME(x) (x)
#define OTHER_TYPES(X)                                                                                                 \
    X(DOUBLE, double, double, SAME, SAME, sqrt)                                                                        \
    X(HALF, uint16_t, float, float_of_half, half_of_float, sqrtf)                                                      \
    X(BFLOAT16, uint16_t, float, float_of_bfloat16, bfloat16_of_float, sqrtf)

#define BLOCKS(name, T, E, get, set, root)                                                                             \
    static void gradient_descent_##name##_block(void *context, int64_t block, int lane)                                \
    {                                                                                                                  \
        (void)lane;                                                                                                    \
        const update_call *call = context;                                                                             \
        size_t offset;                                                                                                 \
        int64_t n = bounds(call, block, &offset);                                                                      \
        T *var = (T *)(call->var + offset);                                                                            \
        const T *delta = (const T *)(call->grad + offset);                                                             \
        E alpha = get(*(const T *)call->alpha);                                                                        \
        for (int64_t i = 0; i < n; i++)                                                                                \
            var[i] = set(get(var[i]) - alpha * get(delta[i]));                                                         \
    }                                                                                                                  \
    static void momentum_##name##_block(void *context, int64_t block, int lane)                                        \
    {                                                                                                                  \
        (void)lane;                                                                                                    \
        const update_call *call = context;                                                                             \
        size_t offset;                                                                                                 \
        int64_t n = bounds(call, block, &offset);                                                                      \
        T *var = (T *)(call->var + offset), *accum = (T *)(call->first + offset);                                      \
        const T *grad = (const T *)(call->grad + offset);                                                              \
        E lr = get(*(const T *)call->alpha), momentum = get(*(const T *)call->momentum);                               \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            E g = get(grad[i]), sum = get(accum[i]) * momentum + g;                                                    \
            accum[i] = set(sum);                                                                                       \
            var[i] = set(get(var[i]) - (call->nesterov ? g * lr + sum * momentum * lr : sum * lr));                    \
        }                                                                                                              \
    }                                                                                                                  \
    static void adam_##name##_block(void *context, int64_t block, int lane)                                            \
    {                                                                                                                  \
        (void)lane;                                                                                                    \
        const update_call *call = context;                                                                             \
        const weir_adam_scalars *given = call->adam;                                                                   \
        size_t offset;                                                                                                 \
        int64_t n = bounds(call, block, &offset);                                                                      \
        T *var = (T *)(call->var + offset), *m = (T *)(call->first + offset), *v = (T *)(call->second + offset);       \
        const T *grad = (const T *)(call->grad + offset);                                                              \
        E beta1 = get(*(const T *)given->beta1), rest2 = 1 - get(*(const T *)given->beta2);                            \
        E epsilon = get(*(const T *)given->epsilon);                                                                   \
        E alpha = get(*(const T *)given->lr) * root(1 - get(*(const T *)given->beta2_power)) /                         \
                  (1 - get(*(const T *)given->beta1_power));                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            E g = get(grad[i]);                                                                                        \
            E first = get(m[i]) + (g - get(m[i])) * (1 - beta1);                                                       \
            E second = get(v[i]) + (g * g - get(v[i])) * rest2;                                                        \
            m[i] = set(first);                                                                                         \
            v[i] = set(second);                                                                                        \
            if (call->nesterov)                                                                                        \
                first = first * beta1 + (1 - beta1) * g;                                                               \
            var[i] = set(get(var[i]) - first * alpha / (root(second) + epsilon));                                      \
        }                                                                                                              \
    }
OTHER_TYPES(BLOCKS)

/* ---- functions --------------------------------------------------------------------------------------------------- */

#define ALL_TYPES(X)                                                                                                   \
    X(FLOAT, float)                                                                                                    \
    X(DOUBLE, double)                                                                                                  \
    X(HALF, uint16_t)                                                                                                  \
    X(BFLOAT16, uint16_t)

#define FUNCTIONS(name, T)                                                                                             \
    static void gradient_descent_##name(weir_team *team, int64_t n, void *var, const void *alpha, const void *delta)   \
    {                                                                                                                  \
        update_call call = {.n = n,                                                                                    \
                            .size = sizeof(T),                                                                         \
                            .var = var,                                                                                \
                            .alpha = alpha,                                                                            \
                            .grad = delta,                                                                             \
                            .kernels = float_kernels[weir_cpu_tier_best()]};                                           \
        share(&call, team, gradient_descent_##name##_block);                                                           \
    }                                                                                                                  \
    static void momentum_##name(weir_team *team, int64_t n, void *var, void *accum, const void *lr, const void *grad,  \
                                const void *momentum, bool nesterov)                                                   \
    {                                                                                                                  \
        update_call call = {.n = n,                                                                                    \
                            .size = sizeof(T),                                                                         \
                            .var = var,                                                                                \
                            .first = accum,                                                                            \
                            .alpha = lr,                                                                               \
                            .grad = grad,                                                                              \
                            .momentum = momentum,                                                                      \
                            .nesterov = nesterov,                                                                      \
                            .kernels = float_kernels[weir_cpu_tier_best()]};                                           \
        share(&call, team, momentum_##name##_block);                                                                   \
    }                                                                                                                  \
    static void adam_##name(weir_team *team, int64_t n, void *var, void *m, void *v, const weir_adam_scalars *scalars, \
                            const void *grad, bool nesterov)                                                           \
    {                                                                                                                  \
        update_call call = {.n = n,                                                                                    \
                            .size = sizeof(T),                                                                         \
                            .var = var,                                                                                \
                            .first = m,                                                                                \
                            .second = v,                                                                               \
                            .adam = scalars,                                                                           \
                            .grad = grad,                                                                              \
                            .nesterov = nesterov,                                                                      \
                            .kernels = float_kernels[weir_cpu_tier_best()]};                                           \
        share(&call, team, adam_##name##_block);                                                                       \
    }
ALL_TYPES(FUNCTIONS)

#define FIND(result, finder, prefix)                                                                                   \
    result *finder(weir_dtype type)                                                                                    \
    {                                                                                                                  \
        switch (type) {                                                                                                \
        case WEIR_FLOAT:                                                                                               \
            return prefix##_FLOAT;                                                                                     \
        case WEIR_DOUBLE:                                                                                              \
            return prefix##_DOUBLE;                                                                                    \
        case WEIR_HALF:                                                                                                \
            return prefix##_HALF;                                                                                      \
        case WEIR_BFLOAT16:                                                                                            \
            return prefix##_BFLOAT16;                                                                                  \
        default:                                                                                                       \
            return NULL;                                                                                               \
        }                                                                                                              \
    }
FIND(weir_gradient_descent_function, weir_gradient_descent_find, gradient_descent)
FIND(weir_momentum_function, weir_momentum_find, momentum)
FIND(weir_adam_function, weir_adam_find, adam)

/* ---- addition ---------------------------------------------------------------------------------------------------- */

static void add_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const update_call *call = context;
    size_t offset;
    int64_t n = bounds(call, block, &offset);
    if (!weir_dtype_is_narrow(call->type)) {
        (void)call->add(call->var + offset, call->grad + offset, call->var + offset, n);
        return;
    }
    uint16_t *var = (uint16_t *)(call->var + offset);
    const uint16_t *value = (const uint16_t *)(call->grad + offset);
    bool half = call->type == WEIR_HALF;
    for (int64_t i = 0; i < n; i++) {
        float a = half ? float_of_half(var[i]) : float_of_bfloat16(var[i]);
        float b = half ? float_of_half(value[i]) : float_of_bfloat16(value[i]), sum;
        (void)call->add(&a, &b, &sum, 1);
        var[i] = half ? half_of_float(sum) : bfloat16_of_float(sum);
    }
}

static void assign_add(weir_dtype type, bool subtract, weir_team *team, int64_t n, void *var, const void *value)
{
    weir_binary_op op = subtract ? WEIR_BINARY_SUB : WEIR_BINARY_ADD;
    update_call call = {.n = n,
                        .size = weir_kernel_size(type),
                        .var = var,
                        .grad = value,
                        .type = type,
                        .add = weir_binary_loops_find(op, type)[WEIR_SIDES_BOTH]};
    share(&call, team, add_block);
}

#define ADDED_TYPES(X)                                                                                                 \
    X(FLOAT)                                                                                                           \
    X(DOUBLE)                                                                                                          \
    X(HALF)                                                                                                            \
    X(BFLOAT16)                                                                                                        \
    X(COMPLEX64)                                                                                                       \
    X(COMPLEX128)                                                                                                      \
    X(INT8)                                                                                                            \
    X(INT16)                                                                                                           \
    X(INT32)                                                                                                           \
    X(INT64)                                                                                                           \
    X(UINT8)                                                                                                           \
    X(UINT16)                                                                                                          \
    X(UINT32)                                                                                                          \
    X(UINT64)

#define ASSIGN_ADD(name)                                                                                               \
    static void assign_add_##name(weir_team *team, int64_t n, void *var, const void *value)                            \
    {                                                                                                                  \
        assign_add(WEIR_##name, false, team, n, var, value);                                                           \
    }                                                                                                                  \
    static void assign_sub_##name(weir_team *team, int64_t n, void *var, const void *value)                            \
    {                                                                                                                  \
        assign_add(WEIR_##name, true, team, n, var, value);                                                            \
    }
ADDED_TYPES(ASSIGN_ADD)

weir_assign_add_function *weir_assign_add_find(weir_dtype type, bool subtract)
{
    switch (type) {
#define CASE(name)                                                                                                     \
    case WEIR_##name:                                                                                                  \
        return subtract ? assign_sub_##name : assign_add_##name;
        ADDED_TYPES(CASE)
#undef CASE
    default:
        return NULL;
    }
}
