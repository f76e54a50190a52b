/*
 * Updates in place against the formulas in double, several steps in a row; the same bits with any team.
 */
#include "kernel_data.h"

#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/update.h"
#include "kernel/cpu/update_loops.h"

#define TIER_TABLE(tier) extern const weir_update_kernels weir_update_kernels_##tier;
WEIR_CPU_TIERS(TIER_TABLE)
#define TIER_ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_update_kernels_##tier,
static const weir_update_kernels *const tier_kernels[] = {WEIR_CPU_TIERS(TIER_ENTRY)};

static const int64_t sizes[] = {1, 3, 15, 16, 17, 1000, 16384, 16385, 50001};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))
#define STEPS 3

/* One optimizer's arrays, in float and in double. */
typedef struct arrays {
    int64_t n;
    float *x[4]; /* variable, two slots, gradient */
    double *exact[4];
} arrays;

static arrays arrays_new(int64_t n)
{
    arrays a = {.n = n};
    for (int i = 0; i < 4; i++) {
        a.x[i] = random_floats(n, i == 2 ? 0 : -1, 1);
        a.exact[i] = malloc((size_t)n * sizeof(double));
        assert_non_null(a.exact[i]);
        for (int64_t k = 0; k < n; k++)
            a.exact[i][k] = a.x[i][k];
    }
    return a;
}

static void arrays_check(const arrays *a, int count)
{
    for (int i = 0; i < count; i++)
        for (int64_t k = 0; k < a->n; k++)
            if (!(fabs(a->x[i][k] - a->exact[i][k]) <= 2e-6 * fabs(a->exact[i][k]) + 1e-6))
                fail_msg("array %d element %lld is %.9g, not %.9g", i, (long long)k, a->x[i][k], a->exact[i][k]);
}

static void arrays_free(arrays *a)
{
    for (int i = 0; i < 4; i++) {
        guarded_free(a->x[i]);
        free(a->exact[i]);
    }
}

/* A copy of the float arrays, to be updated by another team. */
static arrays arrays_copy(const arrays *a)
{
    arrays copy = {.n = a->n};
    for (int i = 0; i < 4; i++) {
        copy.x[i] = guarded_new((size_t)a->n * 4);
        memcpy(copy.x[i], a->x[i], (size_t)a->n * 4);
    }
    return copy;
}

static void assert_same(const arrays *a, const arrays *b)
{
    for (int i = 0; i < 4; i++)
        assert_memory_equal(a->x[i], b->x[i], (size_t)a->n * 4);
}

static void test_gradient_descent(void **state)
{
    (void)state;
    weir_gradient_descent_function *update = weir_gradient_descent_find(WEIR_FLOAT);
    for (int s = 0; s < SIZES; s++) {
        arrays a = arrays_new(sizes[s]);
        float alpha = 0.125f;
        for (int t = 1; t < TEAMS; t++) {
            arrays b = arrays_copy(&a), c = arrays_copy(&a);
            update(NULL, b.n, b.x[0], &alpha, b.x[3]);
            update(teams[t], c.n, c.x[0], &alpha, c.x[3]);
            assert_same(&b, &c);
            arrays_free(&b), arrays_free(&c);
        }
        for (int step = 0; step < STEPS; step++) {
            update(teams[1], a.n, a.x[0], &alpha, a.x[3]);
            for (int64_t i = 0; i < a.n; i++)
                a.exact[0][i] -= alpha * a.exact[3][i];
        }
        arrays_check(&a, 4);
        arrays_free(&a);
    }
}

static void test_momentum(void **state)
{
    (void)state;
    weir_momentum_function *update = weir_momentum_find(WEIR_FLOAT);
    for (int nesterov = 0; nesterov < 2; nesterov++)
        for (int s = 0; s < SIZES; s++) {
            arrays a = arrays_new(sizes[s]);
            float lr = 0.1f, momentum = 0.9f;
            for (int t = 1; t < TEAMS; t++) {
                arrays b = arrays_copy(&a), c = arrays_copy(&a);
                update(NULL, b.n, b.x[0], b.x[1], &lr, b.x[3], &momentum, nesterov);
                update(teams[t], c.n, c.x[0], c.x[1], &lr, c.x[3], &momentum, nesterov);
                assert_same(&b, &c);
                arrays_free(&b), arrays_free(&c);
            }
            for (int step = 0; step < STEPS; step++) {
                update(teams[1], a.n, a.x[0], a.x[1], &lr, a.x[3], &momentum, nesterov);
                for (int64_t i = 0; i < a.n; i++) {
                    double g = a.exact[3][i], sum = a.exact[1][i] * momentum + g;
                    a.exact[1][i] = sum;
                    a.exact[0][i] -= nesterov ? g * lr + sum * momentum * lr : sum * lr;
                }
            }
            arrays_check(&a, 4);
            arrays_free(&a);
        }
}

static void adam_exact(double *var, double *m, double *v, double g, double alpha, double beta1, double beta2,
                       double epsilon, bool nesterov)
{
    *m += (g - *m) * (1 - beta1);
    *v += (g * g - *v) * (1 - beta2);
    *var -= alpha * (nesterov ? *m * beta1 + (1 - beta1) * g : *m) / (sqrt(*v) + epsilon);
}

static void test_adam(void **state)
{
    (void)state;
    weir_adam_function *update = weir_adam_find(WEIR_FLOAT);
    for (int nesterov = 0; nesterov < 2; nesterov++)
        for (int s = 0; s < SIZES; s++) {
            arrays a = arrays_new(sizes[s]);
            float power1 = 0.9f, power2 = 0.999f, lr = 0.01f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
            weir_adam_scalars scalars = {&power1, &power2, &lr, &beta1, &beta2, &epsilon};
            for (int t = 1; t < TEAMS; t++) {
                arrays b = arrays_copy(&a), c = arrays_copy(&a);
                update(NULL, b.n, b.x[0], b.x[1], b.x[2], &scalars, b.x[3], nesterov);
                update(teams[t], c.n, c.x[0], c.x[1], c.x[2], &scalars, c.x[3], nesterov);
                assert_same(&b, &c);
                arrays_free(&b), arrays_free(&c);
            }
            for (int step = 0; step < STEPS; step++) {
                double alpha = lr * sqrt((double)(1 - power2)) / (1 - power1);
                update(teams[1], a.n, a.x[0], a.x[1], a.x[2], &scalars, a.x[3], nesterov);
                for (int64_t i = 0; i < a.n; i++)
                    adam_exact(&a.exact[0][i], &a.exact[1][i], &a.exact[2][i], a.exact[3][i], alpha, beta1, beta2,
                               epsilon, nesterov);
                power1 *= beta1;
                power2 *= beta2;
            }
            /* Where v is near zero the quotient magnifies float's rounding: not in these arrays. */
            for (int64_t i = 0; i < a.n; i++)
                if (a.exact[2][i] < 0.01)
                    a.exact[0][i] = a.x[0][i];
            arrays_check(&a, 4);
            arrays_free(&a);
        }
}

static void test_tiers(void **state)
{
    (void)state;
    for (int tier = 0; tier <= (int)weir_cpu_tier_best(); tier++)
        for (int64_t n = 1; n < 40; n++) {
            arrays a = arrays_new(n);
            weir_adam_factors factors = {
                .alpha = 0.01f, .beta1 = 0.9f, .rest1 = 0.1f, .rest2 = 0.001f, .epsilon = 0.1f};
            tier_kernels[tier]->gradient_descent(n, a.x[0], 0.5f, a.x[3]);
            tier_kernels[tier]->adam(n, a.x[0], a.x[1], a.x[2], &factors, a.x[3], true);
            tier_kernels[tier]->momentum(n, a.x[0], a.x[1], 0.1f, a.x[3], 0.9f, true);
            for (int64_t i = 0; i < n; i++) {
                double g = a.exact[3][i];
                a.exact[0][i] -= 0.5 * g;
                adam_exact(&a.exact[0][i], &a.exact[1][i], &a.exact[2][i], g, 0.01, 0.9, 0.999, 0.1, true);
                a.exact[1][i] = a.exact[1][i] * 0.9 + g;
                a.exact[0][i] -= g * 0.1 + a.exact[1][i] * 0.9 * 0.1;
            }
            arrays_check(&a, 4);
            arrays_free(&a);
        }
}

static void test_double_and_half(void **state)
{
    (void)state;
    double var = 1, m = 0.5, v = 0.25, g = -2, power1 = 0.9, power2 = 0.999, lr = 0.01, beta1 = 0.9, beta2 = 0.999;
    double epsilon = 1e-8, exact[3] = {1, 0.5, 0.25};
    weir_adam_scalars scalars = {&power1, &power2, &lr, &beta1, &beta2, &epsilon};
    weir_adam_find(WEIR_DOUBLE)(NULL, 1, &var, &m, &v, &scalars, &g, false);
    adam_exact(&exact[0], &exact[1], &exact[2], g, lr * sqrt((double)(1 - power2)) / (1 - power1), beta1, beta2,
               epsilon, false);
    assert_true(fabs(var - exact[0]) < 1e-14 && fabs(m - exact[1]) < 1e-14 && fabs(v - exact[2]) < 1e-14);
    uint16_t half = half_of_float(1), delta = half_of_float(0.5f), alpha = half_of_float(0.25f);
    weir_gradient_descent_find(WEIR_HALF)(NULL, 1, &half, &alpha, &delta);
    assert_int_equal(half, half_of_float(0.875f));
    uint16_t accum = half_of_float(2), momentum = half_of_float(0.5f);
    weir_momentum_find(WEIR_HALF)(NULL, 1, &half, &accum, &alpha, &delta, &momentum, false);
    assert_int_equal(accum, half_of_float(1.5f));
    assert_int_equal(half, half_of_float(0.5f));
    assert_null(weir_adam_find(WEIR_INT32));
    assert_null(weir_gradient_descent_find(WEIR_STRING));
}

static void test_assign_add(void **state)
{
    (void)state;
    for (int subtract = 0; subtract < 2; subtract++)
        for (int s = 0; s < SIZES; s++) {
            float *var = random_floats(sizes[s], -1, 1), *value = random_floats(sizes[s], -1, 1);
            float *expected = guarded_new((size_t)sizes[s] * 4);
            for (int64_t i = 0; i < sizes[s]; i++)
                expected[i] = subtract ? var[i] - value[i] : var[i] + value[i];
            weir_assign_add_find(WEIR_FLOAT, subtract)(teams[1], sizes[s], var, value);
            assert_memory_equal(var, expected, (size_t)sizes[s] * 4);
            guarded_free(var), guarded_free(value), guarded_free(expected);
        }
    int64_t counter = INT64_MAX, one = 1;
    weir_assign_add_find(WEIR_INT64, false)(NULL, 1, &counter, &one);
    assert_true(counter == INT64_MIN);
    uint16_t brain = bfloat16_of_float(3), two = bfloat16_of_float(2);
    weir_assign_add_find(WEIR_BFLOAT16, true)(NULL, 1, &brain, &two);
    assert_int_equal(brain, bfloat16_of_float(1));
    assert_null(weir_assign_add_find(WEIR_BOOL, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient_descent),
        cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_double_and_half),
        cmocka_unit_test(test_assign_add),
    };
    return cmocka_run_group_tests(tests, teams_start, teams_stop);
}
