/*
 * The optimizers' formulas on float, by tier: each array is read and written once.
 */
#include "kernel/cpu/update_loops.h"

#include "kernel/cpu/elementwise_math.h"

static void gradient_descent(int64_t n, float *var, float alpha, const float *delta)
{
    int64_t i = 0;
    for (; i + WEIR_LANES <= n; i += WEIR_LANES)
        floats_store(var + i, floats_load(var + i) - floats_load(delta + i) * alpha);
    if (i < n)
        floats_store_part(var + i, floats_load_part(var + i, n - i) - floats_load_part(delta + i, n - i) * alpha,
                          n - i);
}

WEIR_INLINE void momentum_step(floats *var, floats *accum, float lr, floats grad, float momentum, bool nesterov)
{
    *accum = *accum * momentum + grad;
    if (nesterov)
        *var -= grad * lr + *accum * (momentum * lr);
    else
        *var -= *accum * lr;
}

static void momentum(int64_t n, float *var, float *accum, float lr, const float *grad, float momentum, bool nesterov)
{
    for (int64_t i = 0; i < n; i += WEIR_LANES) {
        int64_t count = n - i < WEIR_LANES ? n - i : WEIR_LANES;
        floats value = floats_load_part(var + i, count), sum = floats_load_part(accum + i, count);
        momentum_step(&value, &sum, lr, floats_load_part(grad + i, count), momentum, nesterov);
        floats_store_part(accum + i, sum, count);
        floats_store_part(var + i, value, count);
    }
}

WEIR_INLINE void adam_step(floats *var, floats *m, floats *v, const weir_adam_factors *factors, floats grad,
                           bool nesterov)
{
    *m += (grad - *m) * factors->rest1;
    *v += (grad * grad - *v) * factors->rest2;
    floats first = nesterov ? *m * factors->beta1 + grad * factors->rest1 : *m;
    *var -= first * factors->alpha / (floats_sqrt(*v) + factors->epsilon);
}

static void adam(int64_t n, float *var, float *m, float *v, const weir_adam_factors *given, const float *grad,
                 bool nesterov)
{
    const weir_adam_factors factors = *given;
    for (int64_t i = 0; i < n; i += WEIR_LANES) {
        int64_t count = n - i < WEIR_LANES ? n - i : WEIR_LANES;
        floats value = floats_load_part(var + i, count);
        floats first = floats_load_part(m + i, count), second = floats_load_part(v + i, count);
        adam_step(&value, &first, &second, &factors, floats_load_part(grad + i, count), nesterov);
        floats_store_part(m + i, first, count);
        floats_store_part(v + i, second, count);
        floats_store_part(var + i, value, count);
    }
}

extern const weir_update_kernels WEIR_TIER_NAME(weir_update_kernels);
const weir_update_kernels WEIR_TIER_NAME(weir_update_kernels) = {
    .gradient_descent = gradient_descent,
    .momentum = momentum,
    .adam = adam,
};
