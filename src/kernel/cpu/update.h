/*
 * Updates of variables in place, one pass: the optimizers' formulas and plain addition. n elements, all arrays of the
 * variable's type; scalars are pointed to, of that type too. Types: float (fast), double, half, bfloat16; addition also
 * integers and complex. NULL from a find function: no such type. Any thread; same bits with any team.
 */
#ifndef KERNEL_CPU_UPDATE_H
#define KERNEL_CPU_UPDATE_H

#include <weir/types.h>

#include "kernel/kernel.h"

/* var -= alpha * delta */
typedef void weir_gradient_descent_function(weir_team *team, int64_t n, void *var, const void *alpha,
                                            const void *delta);
weir_gradient_descent_function *weir_gradient_descent_find(weir_dtype type);

/* accum = accum * momentum + grad; var -= lr * accum, or with nesterov var -= grad * lr + accum * momentum * lr */
typedef void weir_momentum_function(weir_team *team, int64_t n, void *var, void *accum, const void *lr,
                                    const void *grad, const void *momentum, bool nesterov);
weir_momentum_function *weir_momentum_find(weir_dtype type);

typedef struct weir_adam_scalars {
    const void *beta1_power, *beta2_power, *lr, *beta1, *beta2, *epsilon;
} weir_adam_scalars;

/* alpha = lr * sqrt(1 - beta2_power) / (1 - beta1_power); m += (g - m) * (1 - beta1); v += (g^2 - v) * (1 - beta2);
 * var -= alpha * m / (sqrt(v) + epsilon), with nesterov m replaced by m * beta1 + (1 - beta1) * g there */
typedef void weir_adam_function(weir_team *team, int64_t n, void *var, void *m, void *v,
                                const weir_adam_scalars *scalars, const void *grad, bool nesterov);
weir_adam_function *weir_adam_find(weir_dtype type);

/* var += value, or var -= value */
typedef void weir_assign_add_function(weir_team *team, int64_t n, void *var, const void *value);
weir_assign_add_function *weir_assign_add_find(weir_dtype type, bool subtract);

#endif
