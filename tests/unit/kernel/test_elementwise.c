/*
 * Elementwise kernels against plain formulas in double: every operation, every tier that runs here, all ways to
 * broadcast, special values, the same bits alone, in arrays, in chains and with any team.
 */
#include "kernel_data.h"

#include <complex.h>

#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/elementwise.h"
#include "kernel/cpu/elementwise_loops.h"
#include "kernel/cpu/narrow_floats.h"

#define TIER_TABLE(tier) extern const weir_elementwise_loops weir_elementwise_loops_##tier;
WEIR_CPU_TIERS(TIER_TABLE)
#define TIER_ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_elementwise_loops_##tier,
static const weir_elementwise_loops *const tier_loops[] = {WEIR_CPU_TIERS(TIER_ENTRY)};

static const int64_t sizes[] = {1, 2, 3, 7, 15, 16, 17, 31, 33, 100, 511, 513, 4099, 16384, 16385, 70001};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))

/* ---- references -------------------------------------------------------------------------------------------------- */

static double lgamma_of(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

static double unary_exact(weir_unary_op op, double x)
{
    switch (op) {
    case WEIR_UNARY_NEG:
        return -x;
    case WEIR_UNARY_RECIPROCAL:
        return 1 / x;
    case WEIR_UNARY_SQUARE:
        return x * x;
    case WEIR_UNARY_SQRT:
        return sqrt(x);
    case WEIR_UNARY_RSQRT:
        return 1 / sqrt(x);
    case WEIR_UNARY_EXP:
        return exp(x);
    case WEIR_UNARY_EXPM1:
        return expm1(x);
    case WEIR_UNARY_LOG:
        return log(x);
    case WEIR_UNARY_LOG1P:
        return log1p(x);
    case WEIR_UNARY_ABS:
        return fabs(x);
    case WEIR_UNARY_SIGN:
        return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
    case WEIR_UNARY_FLOOR:
        return floor(x);
    case WEIR_UNARY_CEIL:
        return ceil(x);
    case WEIR_UNARY_ROUND:
    case WEIR_UNARY_RINT:
        return rint(x);
    case WEIR_UNARY_RELU:
        return x < 0 ? 0 : x;
    case WEIR_UNARY_RELU6:
        return x < 0 ? 0 : x > 6 ? 6 : x;
    case WEIR_UNARY_ELU:
        return x < 0 ? expm1(x) : x;
    case WEIR_UNARY_SELU:
        return 1.0507009873554804934 * (x < 0 ? 1.6732632423543772848 * expm1(x) : x);
    case WEIR_UNARY_SIGMOID:
        return 1 / (1 + exp(-x));
    case WEIR_UNARY_TANH:
        return tanh(x);
    case WEIR_UNARY_SOFTPLUS:
        return x > 700 ? x : log1p(exp(x));
    case WEIR_UNARY_SOFTSIGN:
        return isinf(x) ? NAN : x / (1 + fabs(x));
    case WEIR_UNARY_SIN:
        return sin(x);
    case WEIR_UNARY_COS:
        return cos(x);
    case WEIR_UNARY_TAN:
        return tan(x);
    case WEIR_UNARY_ASIN:
        return asin(x);
    case WEIR_UNARY_ACOS:
        return acos(x);
    case WEIR_UNARY_ATAN:
        return atan(x);
    case WEIR_UNARY_SINH:
        return sinh(x);
    case WEIR_UNARY_COSH:
        return cosh(x);
    case WEIR_UNARY_ASINH:
        return asinh(x);
    case WEIR_UNARY_ACOSH:
        return acosh(x);
    case WEIR_UNARY_ATANH:
        return atanh(x);
    case WEIR_UNARY_ERF:
        return erf(x);
    case WEIR_UNARY_ERFC:
        return erfc(x);
    case WEIR_UNARY_LGAMMA:
        return lgamma_of(x);
    case WEIR_UNARY_IDENTITY:
        return x;
    case WEIR_UNARY_ZEROS_LIKE:
        return 0;
    case WEIR_UNARY_ONES_LIKE:
        return 1;
    default:
        return 12345;
    }
}

static bool is_test(weir_unary_op op)
{
    return op == WEIR_UNARY_IS_NAN || op == WEIR_UNARY_IS_INF || op == WEIR_UNARY_IS_FINITE;
}

/* Accurate to two units in the last place, libm's to four. */
static double unary_tolerance(weir_unary_op op)
{
    switch (op) {
    case WEIR_UNARY_TANH:
    case WEIR_UNARY_SOFTPLUS:
    case WEIR_UNARY_SIGMOID:
    case WEIR_UNARY_LOG1P:
    case WEIR_UNARY_SELU:
        return 3.5;
    case WEIR_UNARY_LGAMMA:
    case WEIR_UNARY_TAN:
    case WEIR_UNARY_SINH:
    case WEIR_UNARY_COSH:
    case WEIR_UNARY_ASINH:
    case WEIR_UNARY_ACOSH:
    case WEIR_UNARY_ERFC:
    case WEIR_UNARY_ATANH:
        return 5;
    default:
        return 2;
    }
}

static double square(double x)
{
    return x * x;
}

static double binary_exact(weir_binary_op op, double a, double b)
{
    switch (op) {
    case WEIR_BINARY_ADD:
        return a + b;
    case WEIR_BINARY_SUB:
        return a - b;
    case WEIR_BINARY_MUL:
        return a * b;
    case WEIR_BINARY_REAL_DIV:
    case WEIR_BINARY_DIV:
        return a / b;
    case WEIR_BINARY_TRUNCATE_DIV:
        return trunc(a / b);
    case WEIR_BINARY_FLOOR_DIV:
        return floor(a / b);
    case WEIR_BINARY_FLOOR_MOD:
        return fmod(a, b) != 0 && (fmod(a, b) < 0) != (b < 0) ? fmod(a, b) + b : fmod(a, b);
    case WEIR_BINARY_TRUNCATE_MOD:
        return fmod(a, b);
    case WEIR_BINARY_DIV_NO_NAN:
        return b == 0 ? 0 : a / b;
    case WEIR_BINARY_MUL_NO_NAN:
        return b == 0 ? 0 : a * b;
    case WEIR_BINARY_XDIVY:
        return a == 0 ? 0 : a / b;
    case WEIR_BINARY_XLOGY:
        return a == 0 ? 0 : a * log(b);
    case WEIR_BINARY_POW:
        return pow(a, b);
    case WEIR_BINARY_ATAN2:
        return atan2(a, b);
    case WEIR_BINARY_MAXIMUM:
        return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    case WEIR_BINARY_MINIMUM:
        return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    case WEIR_BINARY_SQUARED_DIFFERENCE:
        return square(a - b);
    case WEIR_BINARY_EQUAL:
        return a == b;
    case WEIR_BINARY_NOT_EQUAL:
        return a != b;
    case WEIR_BINARY_GREATER:
        return a > b;
    case WEIR_BINARY_GREATER_EQUAL:
        return a >= b;
    case WEIR_BINARY_LESS:
        return a < b;
    case WEIR_BINARY_LESS_EQUAL:
        return a <= b;
    case WEIR_BINARY_RELU_GRAD:
        return b > 0 ? a : 0;
    case WEIR_BINARY_RELU6_GRAD:
        return b > 0 && b < 6 ? a : 0;
    case WEIR_BINARY_ELU_GRAD:
        return b < 0 ? a * (b + 1) : a;
    case WEIR_BINARY_SELU_GRAD:
        return b < 0 ? a * (b + 1.7580993408473768599) : a * 1.0507009873554804934;
    case WEIR_BINARY_SIGMOID_GRAD:
        return b * a * (1 - a);
    case WEIR_BINARY_TANH_GRAD:
        return b * (1 - a * a);
    case WEIR_BINARY_SOFTPLUS_GRAD:
        return a / (1 + exp(-b));
    case WEIR_BINARY_SOFTSIGN_GRAD:
        return a / square(1 + fabs(b));
    case WEIR_BINARY_SQRT_GRAD:
        return b * 0.5 / a;
    case WEIR_BINARY_RSQRT_GRAD:
        return -0.5 * b * a * a * a;
    case WEIR_BINARY_RECIPROCAL_GRAD:
        return -b * a * a;
    default:
        return 12345;
    }
}

/* Arithmetic of whole numbers, wrapped by the caller. */
static int64_t binary_whole(weir_binary_op op, int64_t a, int64_t b)
{
    switch (op) {
    case WEIR_BINARY_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case WEIR_BINARY_SUB:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case WEIR_BINARY_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case WEIR_BINARY_SQUARED_DIFFERENCE:
        return (int64_t)(((uint64_t)a - (uint64_t)b) * ((uint64_t)a - (uint64_t)b));
    case WEIR_BINARY_DIV:
    case WEIR_BINARY_TRUNCATE_DIV:
        return a / b;
    case WEIR_BINARY_TRUNCATE_MOD:
        return a % b;
    case WEIR_BINARY_FLOOR_DIV:
        return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
    case WEIR_BINARY_FLOOR_MOD:
        return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
    case WEIR_BINARY_BITWISE_AND:
        return a & b;
    case WEIR_BINARY_BITWISE_OR:
        return a | b;
    case WEIR_BINARY_BITWISE_XOR:
        return a ^ b;
    case WEIR_BINARY_POW: {
        uint64_t power = 1;
        for (int64_t i = 0; i < b; i++)
            power *= (uint64_t)a;
        return (int64_t)power;
    }
    default:
        return (int64_t)binary_exact(op, (double)a, (double)b);
    }
}

/* ---- one input --------------------------------------------------------------------------------------------------- */

static double low_of(weir_unary_op op)
{
    switch (op) {
    case WEIR_UNARY_SQRT:
    case WEIR_UNARY_RSQRT:
    case WEIR_UNARY_LOG:
    case WEIR_UNARY_LGAMMA:
        return 0;
    case WEIR_UNARY_LOG1P:
    case WEIR_UNARY_ASIN:
    case WEIR_UNARY_ACOS:
    case WEIR_UNARY_ATANH:
        return -1;
    case WEIR_UNARY_ACOSH:
        return 1;
    default:
        return -90;
    }
}

static double high_of(weir_unary_op op)
{
    return op == WEIR_UNARY_ASIN || op == WEIR_UNARY_ACOS || op == WEIR_UNARY_ATANH ? 1 : 88;
}

static void test_unary_float(void **state)
{
    (void)state;
    for (int op = 0; op < WEIR_UNARY_COUNT; op++) {
        if (!weir_unary_supports((weir_unary_op)op, WEIR_FLOAT))
            continue;
        for (int s = 0; s < SIZES; s++) {
            int64_t n = sizes[s];
            float *x = random_floats(n, low_of((weir_unary_op)op), high_of((weir_unary_op)op));
            for (int64_t i = 0; i < n; i += 2) /* and near zero */
                x[i] = (float)(x[i] * exp(-random_between(0, 15)));
            if (op == WEIR_UNARY_ACOSH)
                for (int64_t i = 0; i < n; i++)
                    x[i] = 1 + fabsf(x[i]);
            weir_unary_plan plan;
            assert_true(weir_unary_prepare((weir_unary_op)op, WEIR_FLOAT, n, &plan));
            size_t bytes = (size_t)n * (is_test((weir_unary_op)op) ? 1 : 4);
            void *first = guarded_new(bytes);
            weir_unary_run(&plan, NULL, x, first);
            for (int64_t i = 0; i < n && !is_test((weir_unary_op)op); i++) {
                double distance = ulps(((float *)first)[i], unary_exact((weir_unary_op)op, x[i]));
                if (distance > unary_tolerance((weir_unary_op)op))
                    fail_msg("op %d of %.9g is %.9g, not %.9g: %g ulp", op, x[i], ((float *)first)[i],
                             unary_exact((weir_unary_op)op, x[i]), distance);
            }
            for (int t = 1; t < TEAMS; t++) {
                void *other = guarded_new(bytes);
                weir_unary_run(&plan, teams[t], x, other);
                assert_memory_equal(first, other, bytes);
                guarded_free(other);
            }
            if (!is_test((weir_unary_op)op)) {
                weir_unary_run(&plan, NULL, x, x); /* in place */
                assert_memory_equal(first, x, bytes);
            }
            guarded_free(first);
            guarded_free(x);
        }
    }
}

/* Every tier's own loops over the whole range of floats; and each element alone gives the bits it gives in the
 * array. */
static void test_unary_tiers(void **state)
{
    (void)state;
    enum { COUNT = 40003 };
    float *x = guarded_new(COUNT * sizeof *x), *out = guarded_new(COUNT * sizeof *out);
    for (int tier = 0; tier <= (int)weir_cpu_tier_best(); tier++)
        for (int op = 0; op < WEIR_UNARY_COUNT; op++) {
            weir_unary_loop *loop = tier_loops[tier]->unary[op];
            if (loop == NULL || is_test((weir_unary_op)op))
                continue;
            double worst = 0;
            for (int i = 0; i < COUNT; i++) {
                uint32_t bits = (uint32_t)random_bits();
                x[i] = i % 2 ? float_of_bits(bits) : (float)random_between(-100, 100);
            }
            loop(x, out, COUNT);
            for (int i = 0; i < COUNT; i++) {
                double exact = unary_exact((weir_unary_op)op, x[i]);
                if (isinf(x[i]) && (op == WEIR_UNARY_SOFTSIGN || op == WEIR_UNARY_SIGN))
                    continue;
                /* Results below the normal range may lose digits. */
                double distance = fabs(exact) < 0x1p-124 ? fabs(out[i] - exact) * 0x1p140 : ulps(out[i], exact);
                if (isnan(out[i]) && isnan(exact))
                    distance = 0;
                worst = distance > worst ? distance : worst;
                if (distance > unary_tolerance((weir_unary_op)op))
                    fail_msg("tier %d op %d of %.9g is %.9g, not %.9g", tier, op, x[i], out[i], exact);
            }
            if (getenv("SHOW") != NULL)
                print_message("tier %d op %d: %.2f ulp\n", tier, op, worst);
            for (int i = 0; i < COUNT; i += 37) {
                float alone;
                loop(x + i, &alone, 1);
                assert_memory_equal(&alone, out + i, sizeof alone);
            }
        }
    guarded_free(x);
    guarded_free(out);
}

static float unary_one(weir_unary_op op, float x)
{
    weir_unary_plan plan;
    float out;
    assert_true(weir_unary_prepare(op, WEIR_FLOAT, 1, &plan));
    weir_unary_run(&plan, NULL, &x, &out);
    return out;
}

static void test_unary_special(void **state)
{
    (void)state;
    const float inf = INFINITY;
    assert_true(signbit(unary_one(WEIR_UNARY_RELU, -0.0f)));
    assert_true(isnan(unary_one(WEIR_UNARY_RELU, NAN)) && isnan(unary_one(WEIR_UNARY_RELU6, NAN)));
    assert_true(unary_one(WEIR_UNARY_SIGN, -0.0f) == 0 && isnan(unary_one(WEIR_UNARY_SIGN, NAN)));
    assert_true(unary_one(WEIR_UNARY_ROUND, 0.5f) == 0 && unary_one(WEIR_UNARY_ROUND, 1.5f) == 2);
    assert_true(unary_one(WEIR_UNARY_ROUND, 2.5f) == 2 && unary_one(WEIR_UNARY_ROUND, -1.5f) == -2);
    assert_true(unary_one(WEIR_UNARY_LOG, 0) == -inf && unary_one(WEIR_UNARY_LOG, inf) == inf);
    assert_true(isnan(unary_one(WEIR_UNARY_LOG, -1)) && isnan(unary_one(WEIR_UNARY_LOG, NAN)));
    assert_true(unary_one(WEIR_UNARY_LOG, -0.0f) == -inf && unary_one(WEIR_UNARY_LOG, 1) == 0);
    assert_true(unary_one(WEIR_UNARY_EXP, inf) == inf && unary_one(WEIR_UNARY_EXP, -inf) == 0);
    assert_true(isnan(unary_one(WEIR_UNARY_EXP, NAN)) && unary_one(WEIR_UNARY_EXP, 0) == 1);
    assert_true(unary_one(WEIR_UNARY_EXP, 88.8f) == inf && isfinite(unary_one(WEIR_UNARY_EXP, 88.7f)));
    assert_true(unary_one(WEIR_UNARY_SIGMOID, inf) == 1 && unary_one(WEIR_UNARY_SIGMOID, -inf) == 0);
    assert_true(unary_one(WEIR_UNARY_TANH, inf) == 1 && unary_one(WEIR_UNARY_TANH, -inf) == -1);
    assert_true(isnan(unary_one(WEIR_UNARY_TANH, NAN)) && isnan(unary_one(WEIR_UNARY_SIGMOID, NAN)));
    assert_true(unary_one(WEIR_UNARY_SOFTPLUS, inf) == inf && unary_one(WEIR_UNARY_SOFTPLUS, -inf) == 0);
    assert_true(isnan(unary_one(WEIR_UNARY_SOFTPLUS, NAN)) && isnan(unary_one(WEIR_UNARY_ELU, NAN)));
    assert_true(unary_one(WEIR_UNARY_ELU, inf) == inf && unary_one(WEIR_UNARY_ELU, -inf) == -1);
    assert_true(unary_one(WEIR_UNARY_RSQRT, 0) == inf && isnan(unary_one(WEIR_UNARY_SQRT, -1)));
    assert_true(unary_one(WEIR_UNARY_LOG1P, -1) == -inf && unary_one(WEIR_UNARY_LOG1P, inf) == inf);
    assert_true(unary_one(WEIR_UNARY_LOG1P, 1e-30f) == 1e-30f && isnan(unary_one(WEIR_UNARY_LOG1P, -2)));
    assert_true(unary_one(WEIR_UNARY_ABS, -inf) == inf && unary_one(WEIR_UNARY_NEG, inf) == -inf);
}

static void test_unary_types(void **state)
{
    (void)state;
    weir_unary_plan plan;
    int32_t whole[5] = {-7, 0, 3, INT32_MIN, INT32_MAX}, whole_out[5];
    assert_true(weir_unary_prepare(WEIR_UNARY_SQUARE, WEIR_INT32, 5, &plan));
    weir_unary_run(&plan, NULL, whole, whole_out);
    assert_int_equal(whole_out[0], 49);
    assert_int_equal(whole_out[3], 0);
    assert_int_equal(whole_out[4], 1);
    assert_true(weir_unary_prepare(WEIR_UNARY_ROUND, WEIR_INT32, 5, &plan));
    weir_unary_run(&plan, NULL, whole, whole_out);
    assert_memory_equal(whole, whole_out, sizeof whole);
    assert_true(weir_unary_prepare(WEIR_UNARY_SIGN, WEIR_INT32, 5, &plan));
    weir_unary_run(&plan, NULL, whole, whole_out);
    assert_true(whole_out[0] == -1 && whole_out[1] == 0 && whole_out[2] == 1 && whole_out[3] == -1);
    assert_false(weir_unary_supports(WEIR_UNARY_EXP, WEIR_INT32));
    assert_false(weir_unary_supports(WEIR_UNARY_NEG, WEIR_BOOL));
    assert_false(weir_unary_supports(WEIR_UNARY_NEG, WEIR_STRING));
    bool truth[3] = {true, false, true};
    assert_true(weir_unary_prepare(WEIR_UNARY_LOGICAL_NOT, WEIR_BOOL, 3, &plan));
    weir_unary_run(&plan, NULL, truth, truth);
    assert_true(!truth[0] && truth[1] && !truth[2]);
    double complex z[2] = {1 + 2 * I, -3 + 0.5 * I}, z_out[2];
    assert_true(weir_unary_prepare(WEIR_UNARY_EXP, WEIR_COMPLEX128, 2, &plan));
    weir_unary_run(&plan, NULL, z, z_out);
    assert_true(cabs(z_out[0] - cexp(z[0])) < 1e-14 && cabs(z_out[1] - cexp(z[1])) < 1e-14);
    double ones[3];
    assert_true(weir_unary_prepare(WEIR_UNARY_ONES_LIKE, WEIR_DOUBLE, 3, &plan));
    weir_unary_run(&plan, NULL, ones, ones);
    assert_true(ones[0] == 1 && ones[2] == 1);
    assert_int_equal(weir_unary_named("Sigmoid"), WEIR_UNARY_SIGMOID);
    assert_int_equal(weir_unary_named("Nothing"), -1);
}

/* half and bfloat16: the float result, rounded. */
static void test_narrow(void **state)
{
    (void)state;
    enum { COUNT = 5001 };
    uint16_t *a = guarded_new(COUNT * 2), *b = guarded_new(COUNT * 2), *out = guarded_new(COUNT * 2);
    for (int half = 0; half < 2; half++) {
        weir_dtype type = half ? WEIR_HALF : WEIR_BFLOAT16;
        for (int i = 0; i < COUNT; i++) {
            float x = (float)random_between(-5, 5), y = (float)random_between(-5, 5);
            a[i] = half ? half_of_float(x) : bfloat16_of_float(x);
            b[i] = half ? half_of_float(y) : bfloat16_of_float(y);
        }
        weir_unary_plan plan;
        assert_true(weir_unary_prepare(WEIR_UNARY_TANH, type, COUNT, &plan));
        for (int t = 0; t < TEAMS; t++) {
            weir_unary_run(&plan, teams[t], a, out);
            for (int i = 0; i < COUNT; i++) {
                float x = half ? float_of_half(a[i]) : float_of_bfloat16(a[i]);
                float y = half ? float_of_half(out[i]) : float_of_bfloat16(out[i]);
                double exact = tanh((double)x);
                assert_true(fabs((double)y - exact) <= fabs(exact) * (half ? 0x1p-11 : 0x1p-8) * 1.01);
            }
        }
        weir_binary_plan binary;
        weir_shape shape = SHAPE(COUNT), one = SCALAR_SHAPE;
        assert_true(weir_binary_prepare(WEIR_BINARY_MUL, type, &shape, &shape, &binary));
        assert_int_equal(weir_binary_run(&binary, teams[1], a, b, out), WEIR_FAULT_NONE);
        for (int i = 0; i < COUNT; i++) {
            float x =
                half ? float_of_half(a[i]) * float_of_half(b[i]) : float_of_bfloat16(a[i]) * float_of_bfloat16(b[i]);
            assert_int_equal(out[i], half ? half_of_float(x) : bfloat16_of_float(x));
        }
        bool *flags = guarded_new(COUNT);
        assert_true(weir_binary_prepare(WEIR_BINARY_LESS, type, &shape, &one, &binary));
        assert_int_equal(weir_binary_run(&binary, NULL, a, b, flags), WEIR_FAULT_NONE);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(flags[i], half ? float_of_half(a[i]) < float_of_half(b[0])
                                            : float_of_bfloat16(a[i]) < float_of_bfloat16(b[0]));
        guarded_free(flags);
    }
    guarded_free(a);
    guarded_free(b);
    guarded_free(out);
}

/* ---- two inputs -------------------------------------------------------------------------------------------------- */

static void check_binary(weir_binary_op op, weir_shape a_shape, weir_shape b_shape)
{
    weir_shape out_shape;
    weir_binary_plan plan;
    assert_true(weir_broadcast_shape(&a_shape, &b_shape, &out_shape));
    assert_true(weir_binary_prepare(op, WEIR_FLOAT, &a_shape, &b_shape, &plan));
    int64_t n = elements_of(out_shape);
    float *a = random_floats(elements_of(a_shape), 0.1, 4), *b = random_floats(elements_of(b_shape), -3, 3);
    bool positive = op == WEIR_BINARY_POW || op == WEIR_BINARY_XLOGY;
    for (int64_t i = 0; i < elements_of(b_shape) && positive; i++)
        b[i] = fabsf(b[i]);
    bool to_bool = weir_binary_out_type(op, WEIR_FLOAT) == WEIR_BOOL;
    size_t bytes = (size_t)n * (to_bool ? 1 : 4);
    void *first = guarded_new(bytes);
    assert_int_equal(weir_binary_run(&plan, NULL, a, b, first), WEIR_FAULT_NONE);
    for (int64_t i = 0; i < n; i++) {
        float x = a[broadcast_index(a_shape, out_shape, i)], y = b[broadcast_index(b_shape, out_shape, i)];
        double exact = binary_exact(op, x, y);
        if (op == WEIR_BINARY_FLOOR_DIV || op == WEIR_BINARY_TRUNCATE_DIV)
            exact = op == WEIR_BINARY_FLOOR_DIV ? floorf(x / y) : truncf(x / y);
        if (to_bool)
            assert_int_equal(((bool *)first)[i], exact);
        else if (fabs(((float *)first)[i] - exact) >
                 fmax(fmax(fabs(exact), fabs((double)x) / 8), fabs((double)y) / 4) * 6e-7)
            fail_msg("op %d of %.9g and %.9g is %.9g, not %.9g", (int)op, x, y, ((float *)first)[i], exact);
    }
    for (int t = 1; t < TEAMS; t++) {
        void *other = guarded_new(bytes);
        assert_int_equal(weir_binary_run(&plan, teams[t], a, b, other), WEIR_FAULT_NONE);
        assert_memory_equal(first, other, bytes);
        guarded_free(other);
    }
    if (!to_bool && elements_of(a_shape) == n) {
        assert_int_equal(weir_binary_run(&plan, NULL, a, b, a), WEIR_FAULT_NONE);
        assert_memory_equal(first, a, bytes);
    }
    guarded_free(first);
    guarded_free(a);
    guarded_free(b);
}

static void test_binary_float(void **state)
{
    (void)state;
    for (int op = 0; op < WEIR_BINARY_COUNT; op++) {
        if (!weir_binary_supports((weir_binary_op)op, WEIR_FLOAT))
            continue;
        check_binary((weir_binary_op)op, SCALAR_SHAPE, SCALAR_SHAPE);
        for (int s = 0; s < SIZES; s++) {
            check_binary((weir_binary_op)op, SHAPE(sizes[s]), SHAPE(sizes[s]));
            check_binary((weir_binary_op)op, SHAPE(sizes[s]), SCALAR_SHAPE);
            check_binary((weir_binary_op)op, SHAPE(1), SHAPE(sizes[s]));
        }
        check_binary((weir_binary_op)op, SHAPE(700, 10), SHAPE(10));
        check_binary((weir_binary_op)op, SHAPE(10), SHAPE(700, 10));
        check_binary((weir_binary_op)op, SHAPE(300, 200), SHAPE(200));
        check_binary((weir_binary_op)op, SHAPE(300, 7), SHAPE(300, 1));
        check_binary((weir_binary_op)op, SHAPE(300, 1), SHAPE(7));
        check_binary((weir_binary_op)op, SHAPE(3, 1), SHAPE(1, 40000));
        check_binary((weir_binary_op)op, SHAPE(4, 1, 5, 1, 3), SHAPE(2, 1, 6, 1));
        check_binary((weir_binary_op)op, SHAPE(2, 3, 2, 2, 2, 1, 2, 2, 1, 2, 2, 3),
                     SHAPE(3, 1, 2, 2, 1, 2, 1, 2, 1, 2, 3));
        check_binary((weir_binary_op)op, SHAPE(0, 3), SHAPE(3));
        check_binary((weir_binary_op)op, SHAPE(1, 1, 1), SHAPE(1));
    }
    weir_shape a = SHAPE(3, 4), b = SHAPE(3), out;
    assert_false(weir_broadcast_shape(&a, &b, &out));
    weir_binary_plan plan;
    assert_false(weir_binary_prepare(WEIR_BINARY_ADD, WEIR_FLOAT, &a, &b, &plan));
}

/* The bits of an element do not depend on its place, nor on a scalar being spread. */
static void test_binary_tiers(void **state)
{
    (void)state;
    enum { COUNT = 1003 };
    float *a = random_floats(COUNT, -4, 4), *b = random_floats(COUNT, -4, 4), *out = guarded_new(COUNT * 4);
    for (int i = 0; i < COUNT; i++)
        b[i] = b[0];
    for (int tier = 0; tier <= (int)weir_cpu_tier_best(); tier++)
        for (int op = 0; op < WEIR_BINARY_COUNT; op++) {
            weir_binary_loop *const *loops = tier_loops[tier]->binary[op];
            if (loops[0] == NULL || weir_binary_out_type((weir_binary_op)op, WEIR_FLOAT) == WEIR_BOOL)
                continue;
            loops[0](a, b, out, COUNT);
            for (int i = 0; i < COUNT; i++) {
                float alone;
                loops[0](a + i, b + i, &alone, 1);
                assert_memory_equal(&alone, out + i, sizeof alone);
                double exact = binary_exact((weir_binary_op)op, a[i], b[i]);
                if (op == WEIR_BINARY_FLOOR_DIV)
                    exact = floorf(a[i] / b[i]);
                assert_true(fabs(alone - exact) <= fmax(fabs(exact), fabs((double)a[i]) + fabs((double)b[i])) * 2e-6);
            }
            float *other = guarded_new(COUNT * 4);
            if (loops[WEIR_SIDES_LEFT] != NULL) {
                loops[WEIR_SIDES_LEFT](a, b, other, COUNT);
                assert_memory_equal(other, out, COUNT * 4);
                loops[0](b, a, out, COUNT);
                loops[WEIR_SIDES_RIGHT](b, a, other, COUNT);
                assert_memory_equal(other, out, COUNT * 4);
            }
            guarded_free(other);
        }
    guarded_free(a);
    guarded_free(b);
    guarded_free(out);
}

static void check_whole(weir_binary_op op, weir_dtype type, int bits, bool is_signed)
{
    if (!weir_binary_supports(op, type))
        return;
    enum { ROWS = 40, COLUMNS = 9 };
    size_t size = (size_t)bits / 8;
    weir_shape a_shape = SHAPE(ROWS, COLUMNS), b_shape = SHAPE(COLUMNS);
    bool to_bool = weir_binary_out_type(op, type) == WEIR_BOOL;
    int64_t a[ROWS * COLUMNS], b[COLUMNS];
    char *a_bytes = guarded_new(sizeof a / 8 * size), *b_bytes = guarded_new(sizeof b / 8 * size);
    char *out = guarded_new(sizeof a / 8 * size);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        a[i] = random_whole(is_signed ? -100 : 0, 100);
    for (int i = 0; i < COLUMNS; i++)
        b[i] = op == WEIR_BINARY_POW ? random_whole(0, 9) : random_whole(1, 7) * (is_signed && i % 2 ? -1 : 1);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        memcpy(a_bytes + (size_t)i * size, &a[i], size);
    for (int i = 0; i < COLUMNS; i++)
        memcpy(b_bytes + (size_t)i * size, &b[i], size);
    weir_binary_plan plan;
    assert_true(weir_binary_prepare(op, type, &a_shape, &b_shape, &plan));
    assert_int_equal(weir_binary_run(&plan, NULL, a_bytes, b_bytes, out), WEIR_FAULT_NONE);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        int64_t exact = binary_whole(op, a[i], b[i % COLUMNS]);
        if (op == WEIR_BINARY_LEFT_SHIFT || op == WEIR_BINARY_RIGHT_SHIFT)
            continue;
        if (memcmp(out + (size_t)i * (to_bool ? 1 : size), &exact, to_bool ? 1 : size) != 0)
            fail_msg("op %d of type %d: %lld, %lld", (int)op, (int)type, (long long)a[i], (long long)b[i % COLUMNS]);
    }
    guarded_free(a_bytes);
    guarded_free(b_bytes);
    guarded_free(out);
}

static void test_binary_whole(void **state)
{
    (void)state;
    for (int op = 0; op < WEIR_BINARY_COUNT; op++) {
        check_whole((weir_binary_op)op, WEIR_INT8, 8, true);
        check_whole((weir_binary_op)op, WEIR_INT16, 16, true);
        check_whole((weir_binary_op)op, WEIR_INT32, 32, true);
        check_whole((weir_binary_op)op, WEIR_INT64, 64, true);
        check_whole((weir_binary_op)op, WEIR_UINT8, 8, false);
        check_whole((weir_binary_op)op, WEIR_UINT16, 16, false);
        check_whole((weir_binary_op)op, WEIR_UINT32, 32, false);
        check_whole((weir_binary_op)op, WEIR_UINT64, 64, false);
    }
    /* Faults: anywhere in the array, with any team; and what C leaves undefined. */
    enum { COUNT = 50000 };
    int32_t *a = guarded_new(COUNT * 4), *b = guarded_new(COUNT * 4), *out = guarded_new(COUNT * 4);
    for (int i = 0; i < COUNT; i++)
        a[i] = INT32_MIN, b[i] = -1;
    weir_shape shape = SHAPE(COUNT), one = SCALAR_SHAPE;
    weir_binary_plan plan;
    static const weir_binary_op divisions[] = {WEIR_BINARY_DIV, WEIR_BINARY_FLOOR_DIV, WEIR_BINARY_FLOOR_MOD,
                                               WEIR_BINARY_TRUNCATE_MOD};
    for (int d = 0; d < 4; d++) {
        assert_true(weir_binary_prepare(divisions[d], WEIR_INT32, &shape, &shape, &plan));
        assert_int_equal(weir_binary_run(&plan, teams[2], a, b, out), WEIR_FAULT_NONE);
        assert_int_equal(out[7], d < 2 ? INT32_MIN : 0);
        b[COUNT - 3] = 0;
        assert_int_equal(weir_binary_run(&plan, teams[2], a, b, out), WEIR_FAULT_DIVISION_BY_ZERO);
        assert_true(weir_binary_prepare(divisions[d], WEIR_INT32, &shape, &one, &plan));
        assert_int_equal(weir_binary_run(&plan, teams[1], a, b + COUNT - 3, out), WEIR_FAULT_DIVISION_BY_ZERO);
        b[COUNT - 3] = -1;
    }
    assert_true(weir_binary_prepare(WEIR_BINARY_POW, WEIR_INT32, &one, &one, &plan));
    assert_int_equal(weir_binary_run(&plan, NULL, a, b, out), WEIR_FAULT_NEGATIVE_POWER);
    guarded_free(a);
    guarded_free(b);
    guarded_free(out);
}

static void test_binary_special(void **state)
{
    (void)state;
    weir_shape shape = SHAPE(6);
    weir_binary_plan plan;
    float a[6] = {NAN, 1, -0.0f, INFINITY, -INFINITY, 5}, b[6] = {1, NAN, 0, 1, 2, -3}, out[6];
    bool flags[6];
    assert_true(weir_binary_prepare(WEIR_BINARY_MAXIMUM, WEIR_FLOAT, &shape, &shape, &plan));
    assert_int_equal(weir_binary_run(&plan, NULL, a, b, out), WEIR_FAULT_NONE);
    assert_true(isnan(out[0]) && isnan(out[1]) && out[2] == 0 && isinf(out[3]) && out[4] == 2 && out[5] == 5);
    assert_true(weir_binary_prepare(WEIR_BINARY_MINIMUM, WEIR_FLOAT, &shape, &shape, &plan));
    assert_int_equal(weir_binary_run(&plan, NULL, a, b, out), WEIR_FAULT_NONE);
    assert_true(isnan(out[0]) && isnan(out[1]) && out[3] == 1 && isinf(out[4]) && out[5] == -3);
    assert_true(weir_binary_prepare(WEIR_BINARY_NOT_EQUAL, WEIR_FLOAT, &shape, &shape, &plan));
    assert_int_equal(weir_binary_run(&plan, NULL, a, b, flags), WEIR_FAULT_NONE);
    assert_true(flags[0] && flags[1] && !flags[2] && flags[3]);
    assert_true(weir_binary_prepare(WEIR_BINARY_FLOOR_MOD, WEIR_FLOAT, &shape, &shape, &plan));
    assert_int_equal(weir_binary_run(&plan, NULL, a, b, out), WEIR_FAULT_NONE);
    assert_true(out[5] == -1 && isnan(out[3]));
    assert_int_equal(weir_binary_named("Add"), WEIR_BINARY_ADD);
    assert_int_equal(weir_binary_named("AddV2"), WEIR_BINARY_ADD);
    assert_int_equal(weir_binary_named("TanhGrad"), WEIR_BINARY_TANH_GRAD);
    assert_int_equal(weir_binary_named("Nothing"), -1);
    double complex x[6] = {1, I, 1 + I, -2, 3 - I, 0}, y[6] = {2, I, 1 - I, 4, 1, 1}, z[6];
    assert_true(weir_binary_prepare(WEIR_BINARY_MUL, WEIR_COMPLEX128, &shape, &shape, &plan));
    assert_int_equal(weir_binary_run(&plan, NULL, x, y, z), WEIR_FAULT_NONE);
    assert_true(z[1] == -1 && z[2] == 2 && z[4] == 3 - I);
}

/* ---- selection, sums --------------------------------------------------------------------------------------------- */

static void check_select(size_t size, weir_shape c_shape, weir_shape a_shape, weir_shape b_shape)
{
    weir_shape both, out_shape;
    weir_select_plan plan;
    assert_true(weir_broadcast_shape(&a_shape, &b_shape, &both));
    assert_true(weir_broadcast_shape(&c_shape, &both, &out_shape));
    assert_true(weir_select_prepare(size, &c_shape, &a_shape, &b_shape, &plan));
    int64_t n = elements_of(out_shape);
    bool *condition = guarded_new((size_t)elements_of(c_shape));
    char *a = guarded_new((size_t)elements_of(a_shape) * size), *b = guarded_new((size_t)elements_of(b_shape) * size);
    for (int64_t i = 0; i < elements_of(c_shape); i++)
        condition[i] = random_bits() & 1;
    for (int64_t i = 0; i < elements_of(a_shape) * (int64_t)size; i++)
        a[i] = (char)random_bits();
    for (int64_t i = 0; i < elements_of(b_shape) * (int64_t)size; i++)
        b[i] = (char)random_bits();
    for (int t = 0; t < TEAMS; t++) {
        char *out = guarded_new((size_t)n * size);
        weir_select_run(&plan, teams[t], condition, a, b, out);
        for (int64_t i = 0; i < n; i++) {
            const char *from = condition[broadcast_index(c_shape, out_shape, i)]
                                   ? a + broadcast_index(a_shape, out_shape, i) * (int64_t)size
                                   : b + broadcast_index(b_shape, out_shape, i) * (int64_t)size;
            assert_memory_equal(out + i * (int64_t)size, from, size);
        }
        guarded_free(out);
    }
    guarded_free(condition);
    guarded_free(a);
    guarded_free(b);
}

static void test_select(void **state)
{
    (void)state;
    static const size_t widths[] = {1, 2, 4, 8, 16, 24};
    for (int w = 0; w < 6; w++) {
        check_select(widths[w], SCALAR_SHAPE, SCALAR_SHAPE, SCALAR_SHAPE);
        check_select(widths[w], SHAPE(1000), SHAPE(1000), SHAPE(1000));
        check_select(widths[w], SHAPE(40000), SHAPE(40000), SCALAR_SHAPE);
        check_select(widths[w], SHAPE(77), SCALAR_SHAPE, SHAPE(77));
        check_select(widths[w], SHAPE(77), SCALAR_SHAPE, SHAPE(1));
        check_select(widths[w], SCALAR_SHAPE, SHAPE(33), SHAPE(1));
        check_select(widths[w], SHAPE(50, 1, 1), SHAPE(50, 3, 7), SHAPE(50, 3, 7));
        check_select(widths[w], SHAPE(3, 1, 4), SHAPE(2, 1, 1, 1), SHAPE(5, 1));
        check_select(widths[w], SHAPE(0, 4), SHAPE(4), SHAPE(1, 1));
    }
    weir_shape condition = SHAPE(5), x = SHAPE(5, 3, 2), rows = weir_select_rows(&condition, &x);
    assert_int_equal(rows.rank, 3);
    assert_int_equal(rows.dims[0], 5);
    assert_int_equal(rows.dims[1], 1);
    assert_int_equal(rows.dims[2], 1);
}

typedef struct taken {
    const int64_t *a, *b;
    int64_t *out;
} taken;

static void take(void *context, int64_t out, bool from_a, int64_t index)
{
    taken *taken = context;
    taken->out[out] = from_a ? taken->a[index] : taken->b[index];
}

static void test_select_walk(void **state)
{
    (void)state;
    weir_shape c_shape = SHAPE(3, 1), a_shape = SHAPE(3, 4), b_shape = SHAPE(4);
    bool condition[3] = {true, false, true};
    int64_t a[12], b[4], out[12], walked[12];
    for (int i = 0; i < 12; i++)
        a[i] = i, b[i % 4] = 100 + i % 4;
    weir_select_plan plan;
    assert_true(weir_select_prepare(8, &c_shape, &a_shape, &b_shape, &plan));
    weir_select_run(&plan, NULL, condition, a, b, out);
    taken taken = {a, b, walked};
    weir_select_walk(&plan, condition, take, &taken);
    assert_memory_equal(out, walked, sizeof out);
    assert_int_equal(out[5], 101);
}

static void test_add_n(void **state)
{
    (void)state;
    for (int s = 0; s < SIZES; s++) {
        int64_t n = sizes[s];
        enum { COUNT = 5 };
        float *x[COUNT], *out = guarded_new((size_t)n * 4), *expected = guarded_new((size_t)n * 4);
        for (int i = 0; i < COUNT; i++)
            x[i] = random_floats(n, -10, 10);
        for (int64_t i = 0; i < n; i++)
            expected[i] = (((x[0][i] + x[1][i]) + x[2][i]) + x[3][i]) + x[4][i];
        weir_add_n_function *add_n = weir_add_n_find(WEIR_FLOAT);
        for (int t = 0; t < TEAMS; t++) {
            add_n(teams[t], COUNT, (const void *const *)x, out, n);
            assert_memory_equal(out, expected, (size_t)n * 4);
        }
        add_n(NULL, 1, (const void *const *)x, out, n);
        assert_memory_equal(out, x[0], (size_t)n * 4);
        add_n(teams[1], COUNT, (const void *const *)x, x[3], n); /* in place */
        assert_memory_equal(x[3], expected, (size_t)n * 4);
        for (int i = 0; i < COUNT; i++)
            guarded_free(x[i]);
        guarded_free(out);
        guarded_free(expected);
    }
    assert_null(weir_add_n_find(WEIR_BOOL));
}

/* ---- chains ------------------------------------------------------------------------------------------------------ */

/* noise >= rate selects scale * (x + row) or 0, then tanh and a gradient: all kinds of inputs and steps. */
static weir_elementwise_program sample_program(bool many_outputs)
{
    enum { X, ROW, NOISE, RATE, SCALE, ZERO, SUM, SCALED, KEPT, MASK, DROPPED, SQUASHED, GRADIENT };
    weir_elementwise_program program = {.inputs = 6, .count = 7};
    program.input_kinds[ROW] = WEIR_PROGRAM_ROW;
    program.input_kinds[RATE] = program.input_kinds[SCALE] = program.input_kinds[ZERO] = WEIR_PROGRAM_SCALAR;
    program.steps[0] = (weir_program_step){WEIR_PROGRAM_BINARY, WEIR_BINARY_ADD, X, ROW, 0, many_outputs};
    program.steps[1] = (weir_program_step){WEIR_PROGRAM_BINARY, WEIR_BINARY_MUL, SCALE, SUM, 0, false};
    program.steps[2] = (weir_program_step){WEIR_PROGRAM_BINARY, WEIR_BINARY_ADD, RATE, ZERO, 0, false};
    program.steps[3] =
        (weir_program_step){WEIR_PROGRAM_BINARY, WEIR_BINARY_GREATER_EQUAL, NOISE, KEPT, 0, many_outputs};
    program.steps[4] = (weir_program_step){WEIR_PROGRAM_SELECT, 0, SCALED, ZERO, MASK, false};
    program.steps[5] = (weir_program_step){WEIR_PROGRAM_UNARY, WEIR_UNARY_TANH, DROPPED, 0, 0, many_outputs};
    program.steps[6] = (weir_program_step){WEIR_PROGRAM_BINARY, WEIR_BINARY_TANH_GRAD, SQUASHED, X, 0, true};
    return program;
}

static void test_program(void **state)
{
    (void)state;
    static const int64_t rows_of[] = {1, 3, 100, 3000};
    const int64_t columns = 7;
    for (int r = 0; r < 4; r++) {
        int64_t n = rows_of[r] * columns;
        weir_shape full = SHAPE(rows_of[r], columns), row_shape = SHAPE(columns), one = SCALAR_SHAPE;
        float *x = random_floats(n, -2, 2), *row = random_floats(columns, -1, 1), *noise = random_floats(n, 0, 1);
        float rate = 0.4f, scale = 1.0f / 0.6f, zero = 0;
        float *sum = guarded_new((size_t)n * 4), *squashed = guarded_new((size_t)n * 4);
        float *gradient = guarded_new((size_t)n * 4), *scaled = guarded_new((size_t)n * 4);
        bool *mask = guarded_new((size_t)n);
        weir_binary_plan plan;
        weir_unary_plan unary;
        weir_select_plan select;
        assert_true(weir_binary_prepare(WEIR_BINARY_ADD, WEIR_FLOAT, &full, &row_shape, &plan));
        (void)weir_binary_run(&plan, NULL, x, row, sum);
        assert_true(weir_binary_prepare(WEIR_BINARY_MUL, WEIR_FLOAT, &one, &full, &plan));
        (void)weir_binary_run(&plan, NULL, &scale, sum, scaled);
        assert_true(weir_binary_prepare(WEIR_BINARY_GREATER_EQUAL, WEIR_FLOAT, &full, &one, &plan));
        (void)weir_binary_run(&plan, NULL, noise, &rate, mask);
        assert_true(weir_select_prepare(4, &full, &full, &one, &select));
        weir_select_run(&select, NULL, mask, scaled, &zero, squashed);
        assert_true(weir_unary_prepare(WEIR_UNARY_TANH, WEIR_FLOAT, n, &unary));
        weir_unary_run(&unary, NULL, squashed, squashed);
        assert_true(weir_binary_prepare(WEIR_BINARY_TANH_GRAD, WEIR_FLOAT, &full, &full, &plan));
        (void)weir_binary_run(&plan, NULL, squashed, x, gradient);

        const void *inputs[] = {x, row, noise, &rate, &scale, &zero};
        weir_elementwise_program program = sample_program(true);
        assert_true(weir_program_prepare(&program));
        assert_int_equal(program.outputs, 4);
        for (int t = 0; t < TEAMS; t++) {
            float *out[3] = {guarded_new((size_t)n * 4), guarded_new((size_t)n * 4), guarded_new((size_t)n * 4)};
            bool *out_mask = guarded_new((size_t)n);
            void *outputs[] = {out[0], out_mask, out[1], out[2]};
            weir_program_run(&program, teams[t], n, columns, inputs, outputs);
            assert_memory_equal(out[0], sum, (size_t)n * 4);
            assert_memory_equal(out_mask, mask, (size_t)n);
            assert_memory_equal(out[1], squashed, (size_t)n * 4);
            assert_memory_equal(out[2], gradient, (size_t)n * 4);
            for (int i = 0; i < 3; i++)
                guarded_free(out[i]);
            guarded_free(out_mask);
        }
        /* Outputs in place of inputs that later steps still read. */
        program = sample_program(true);
        assert_true(weir_program_prepare(&program));
        void *outputs[] = {x, mask, noise, scaled};
        weir_program_run(&program, teams[1], n, columns, inputs, outputs);
        assert_memory_equal(x, sum, (size_t)n * 4);
        assert_memory_equal(noise, squashed, (size_t)n * 4);
        assert_memory_equal(scaled, gradient, (size_t)n * 4);
        guarded_free(x), guarded_free(row), guarded_free(noise), guarded_free(sum), guarded_free(squashed);
        guarded_free(gradient), guarded_free(scaled), guarded_free(mask);
    }
}

static void test_program_checks(void **state)
{
    (void)state;
    weir_elementwise_program program = sample_program(false);
    assert_true(weir_program_prepare(&program));
    assert_int_equal(program.outputs, 1);
    program = sample_program(false);
    program.steps[1].b = 7; /* its own value */
    assert_false(weir_program_prepare(&program));
    program = sample_program(false);
    program.steps[4].condition = 0; /* a float */
    assert_false(weir_program_prepare(&program));
    program = sample_program(false);
    program.steps[6].output = false;
    assert_false(weir_program_prepare(&program));
    program = sample_program(false);
    program.steps[0].op = WEIR_BINARY_LOGICAL_AND;
    assert_false(weir_program_prepare(&program));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary_float),    cmocka_unit_test(test_unary_tiers),
        cmocka_unit_test(test_unary_special),  cmocka_unit_test(test_unary_types),
        cmocka_unit_test(test_narrow),         cmocka_unit_test(test_binary_float),
        cmocka_unit_test(test_binary_tiers),   cmocka_unit_test(test_binary_whole),
        cmocka_unit_test(test_binary_special), cmocka_unit_test(test_select),
        cmocka_unit_test(test_select_walk),    cmocka_unit_test(test_add_n),
        cmocka_unit_test(test_program),        cmocka_unit_test(test_program_checks),
    };
    return cmocka_run_group_tests(tests, teams_start, teams_stop);
}
