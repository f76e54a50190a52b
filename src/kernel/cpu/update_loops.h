/*
 * The optimizers' loops on float, by tier. Inside the kernels only.
 */
#ifndef KERNEL_CPU_UPDATE_LOOPS_H
#define KERNEL_CPU_UPDATE_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

/* Adam's factors, worked out once for all elements. */
typedef struct weir_adam_factors {
    float alpha;               /* lr * sqrt(1 - beta2_power) / (1 - beta1_power) */
    float beta1, rest1, rest2; /* beta1, 1 - beta1, 1 - beta2 */
    float epsilon;
} weir_adam_factors;

typedef struct weir_update_kernels {
    void (*gradient_descent)(int64_t n, float *var, float alpha, const float *delta);
    void (*momentum)(int64_t n, float *var, float *accum, float lr, const float *grad, float momentum, bool nesterov);
    void (*adam)(int64_t n, float *var, float *m, float *v, const weir_adam_factors *factors, const float *grad,
                 bool nesterov);
} weir_update_kernels;

#endif
