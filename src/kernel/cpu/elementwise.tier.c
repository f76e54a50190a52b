/*
 * Elementwise loops of float, by tier.
 *
 * An element's bits must not depend on whether it is computed in the middle of an array or at its end. Formulas that
 * are single operations one after another cannot differ; those in which a multiplication meets an addition (which the
 * compiler may or may not fuse) are compiled once, as a function over whole vectors, and array ends go through it too.
 */
#include "kernel/cpu/elementwise_loops.h"
#include "kernel/cpu/elementwise_math.h"

#define NOINLINE __attribute__((noinline))

/* ---- one input --------------------------------------------------------------------------------------------------- */

/* expression in x. */
#define UNARY(name, expression)                                                                                        \
    static void unary_##name(const void *from, void *to, int64_t n)                                                    \
    {                                                                                                                  \
        const float *in = from;                                                                                        \
        float *out = to;                                                                                               \
        int64_t i = 0;                                                                                                 \
        for (; i + WEIR_LANES <= n; i += WEIR_LANES) {                                                                 \
            floats x = floats_load(in + i);                                                                            \
            floats_store(out + i, expression);                                                                         \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            floats x = floats_load_part(in + i, n - i);                                                                \
            floats_store_part(out + i, expression, n - i);                                                             \
        }                                                                                                              \
    }

#define UNARY_FUSED(name, expression)                                                                                  \
    static NOINLINE void vectors_##name(const float *in, float *out, int64_t n)                                        \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i += WEIR_LANES) {                                                                  \
            floats x = floats_load(in + i);                                                                            \
            floats_store(out + i, expression);                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static void unary_##name(const void *from, void *to, int64_t n)                                                    \
    {                                                                                                                  \
        const float *in = from;                                                                                        \
        float *out = to;                                                                                               \
        int64_t whole = n - n % WEIR_LANES;                                                                            \
        if (whole > 0)                                                                                                 \
            vectors_##name(in, out, whole);                                                                            \
        if (whole < n) {                                                                                               \
            float rest[WEIR_LANES];                                                                                    \
            floats_store(rest, floats_load_part(in + whole, n - whole));                                               \
            vectors_##name(rest, rest, WEIR_LANES);                                                                    \
            floats_store_part(out + whole, floats_load(rest), n - whole);                                              \
        }                                                                                                              \
    }

WEIR_INLINE floats floats_sign(floats x)
{
    floats zero = floats_zero();
    floats result = floats_keep(floats_greater(x, zero), floats_set(1.0f));
    result = floats_select(floats_less(x, zero), floats_set(-1.0f), result);
    return floats_select(floats_differ(x, x), x, result);
}

WEIR_INLINE floats floats_relu6(floats x)
{
    return floats_min(floats_set(6.0f), floats_max(floats_zero(), x));
}

WEIR_INLINE floats floats_elu(floats x)
{
    return floats_select(floats_less(x, floats_zero()), floats_expm1(x), x);
}

#define SELU_SCALE 1.0507009873554804934193349852946f
#define SELU_SCALE_ALPHA 1.7580993408473768599402175208123f

WEIR_INLINE floats floats_selu(floats x)
{
    return floats_select(floats_less(x, floats_zero()), floats_expm1(x) * SELU_SCALE_ALPHA, x * SELU_SCALE);
}

UNARY(neg, -x)
UNARY(reciprocal, 1.0f / x)
UNARY(square, x *x)
UNARY(sqrt, floats_sqrt(x))
UNARY(rsqrt, 1.0f / floats_sqrt(x))
UNARY(abs, floats_abs(x))
UNARY(sign, floats_sign(x))
UNARY(floor, floats_floor(x))
UNARY(ceil, floats_ceil(x))
UNARY(round, floats_round(x))
UNARY(relu, floats_max(floats_zero(), x))
UNARY(relu6, floats_relu6(x))
UNARY(softsign, x / (floats_abs(x) + 1.0f))
UNARY_FUSED(exp, floats_exp(x))
UNARY_FUSED(expm1, floats_expm1(x))
UNARY_FUSED(log, floats_log(x))
UNARY_FUSED(log1p, floats_log1p(x))
UNARY_FUSED(elu, floats_elu(x))
UNARY_FUSED(selu, floats_selu(x))
UNARY_FUSED(sigmoid, floats_sigmoid(x))
UNARY_FUSED(tanh, floats_tanh(x))
UNARY_FUSED(softplus, floats_softplus(x))

#define UNARY_TEST(name, expression)                                                                                   \
    static void unary_##name(const void *from, void *to, int64_t n)                                                    \
    {                                                                                                                  \
        const int32_t *in = from;                                                                                      \
        bool *out = to;                                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            int32_t x = in[i] & 0x7fffffff;                                                                            \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
    }
UNARY_TEST(is_nan, x > 0x7f800000)
UNARY_TEST(is_inf, x == 0x7f800000)
UNARY_TEST(is_finite, x < 0x7f800000)

/* ---- two inputs -------------------------------------------------------------------------------------------------- */

/* expression in a and b; left and right say how each is read at i. */
#define BINARY_LOOP(name, left, left_part, right, right_part, expression)                                              \
    static weir_fault name(const void *from_a, const void *from_b, void *to, int64_t n)                                \
    {                                                                                                                  \
        const float *in_a = from_a, *in_b = from_b;                                                                    \
        float *out = to;                                                                                               \
        int64_t i = 0;                                                                                                 \
        floats a = floats_set(*in_a), b = floats_set(*in_b);                                                           \
        for (; i + WEIR_LANES <= n; i += WEIR_LANES) {                                                                 \
            left;                                                                                                      \
            right;                                                                                                     \
            floats_store(out + i, expression);                                                                         \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            left_part;                                                                                                 \
            right_part;                                                                                                \
            floats_store_part(out + i, expression, n - i);                                                             \
        }                                                                                                              \
        return WEIR_FAULT_NONE;                                                                                        \
    }
#define A_MANY a = floats_load(in_a + i)
#define A_PART a = floats_load_part(in_a + i, n - i)
#define B_MANY b = floats_load(in_b + i)
#define B_PART b = floats_load_part(in_b + i, n - i)

#define BINARY_BOTH(name, expression) BINARY_LOOP(binary_##name, A_MANY, A_PART, B_MANY, B_PART, expression)
#define BINARY(name, expression)                                                                                       \
    BINARY_BOTH(name, expression)                                                                                      \
    BINARY_LOOP(binary_##name##_left, A_MANY, A_PART, (void)0, (void)0, expression)                                    \
    BINARY_LOOP(binary_##name##_right, (void)0, (void)0, B_MANY, B_PART, expression)

#define BINARY_FUSED(name, expression)                                                                                 \
    static NOINLINE void vectors_##name(const float *in_a, const float *in_b, float *out, int64_t n)                   \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i += WEIR_LANES) {                                                                  \
            floats a = floats_load(in_a + i), b = floats_load(in_b + i);                                               \
            floats_store(out + i, expression);                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static weir_fault binary_##name(const void *from_a, const void *from_b, void *to, int64_t n)                       \
    {                                                                                                                  \
        const float *in_a = from_a, *in_b = from_b;                                                                    \
        float *out = to;                                                                                               \
        int64_t whole = n - n % WEIR_LANES;                                                                            \
        if (whole > 0)                                                                                                 \
            vectors_##name(in_a, in_b, out, whole);                                                                    \
        if (whole < n) {                                                                                               \
            float rest_a[WEIR_LANES], rest_b[WEIR_LANES];                                                              \
            floats_store(rest_a, floats_load_part(in_a + whole, n - whole));                                           \
            floats_store(rest_b, floats_load_part(in_b + whole, n - whole));                                           \
            vectors_##name(rest_a, rest_b, rest_a, WEIR_LANES);                                                        \
            floats_store_part(out + whole, floats_load(rest_a), n - whole);                                            \
        }                                                                                                              \
        return WEIR_FAULT_NONE;                                                                                        \
    }

WEIR_INLINE floats floats_square(floats x)
{
    return x * x;
}

WEIR_INLINE floats floats_relu6_grad(floats dy, floats x)
{
    return floats_keep(floats_greater(x, floats_zero()) & floats_less(x, floats_set(6.0f)), dy);
}

WEIR_INLINE floats floats_divide_no_nan(floats a, floats b)
{
    return floats_keep(floats_differ(b, floats_zero()), a / b);
}

WEIR_INLINE floats floats_elu_grad(floats dy, floats y)
{
    return floats_select(floats_less(y, floats_zero()), (y + 1.0f) * dy, dy);
}

WEIR_INLINE floats floats_selu_grad(floats dy, floats y)
{
    return floats_select(floats_less(y, floats_zero()), (y + SELU_SCALE_ALPHA) * dy, dy * SELU_SCALE);
}

BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a *b)
BINARY(div, a / b)
BINARY(maximum, floats_maximum(a, b))
BINARY(minimum, floats_minimum(a, b))
BINARY(squared_difference, floats_square(a - b))
BINARY_BOTH(div_no_nan, floats_divide_no_nan(a, b))
BINARY_BOTH(mul_no_nan, floats_keep(floats_differ(b, floats_zero()), a *b))
BINARY_BOTH(floor_div, floats_floor(a / b))
BINARY_BOTH(relu_grad, floats_keep(floats_greater(b, floats_zero()), a))
BINARY_BOTH(relu6_grad, floats_relu6_grad(a, b))
BINARY_BOTH(elu_grad, floats_elu_grad(a, b))
BINARY_BOTH(selu_grad, floats_selu_grad(a, b))
BINARY_BOTH(sigmoid_grad, b *a *(1.0f - a))
BINARY_BOTH(softsign_grad, a / floats_square(floats_abs(b) + 1.0f))
BINARY_BOTH(sqrt_grad, b * 0.5f / a)
BINARY_BOTH(rsqrt_grad, b *(a * -0.5f) * floats_square(a))
BINARY_BOTH(reciprocal_grad, -b *floats_square(a))
BINARY_FUSED(tanh_grad, b *(1.0f - a * a))
BINARY_FUSED(softplus_grad, a / (floats_exp(-b) + 1.0f))

#define COMPARE_LOOP(name, left, right, operator)                                                                      \
    static weir_fault name(const void *from_a, const void *from_b, void *to, int64_t n)                                \
    {                                                                                                                  \
        const float *a = from_a, *b = from_b;                                                                          \
        bool *out = to;                                                                                                \
        for (int64_t i = 0; i < n; i++)                                                                                \
            out[i] = a[left] operator b[right];                                                                        \
        return WEIR_FAULT_NONE;                                                                                        \
    }
#define COMPARE(name, operator)                                                                                        \
    COMPARE_LOOP(binary_##name, i, i, operator)                                                                        \
    COMPARE_LOOP(binary_##name##_left, i, 0, operator)                                                                 \
    COMPARE_LOOP(binary_##name##_right, 0, i, operator)
COMPARE(equal, ==)
COMPARE(not_equal, !=)
COMPARE(greater, >)
COMPARE(greater_equal, >=)
COMPARE(less, <)
COMPARE(less_equal, <=)

/* ---- table ------------------------------------------------------------------------------------------------------- */

#define ALL_SIDES(name)                                                                                                \
    {                                                                                                                  \
        binary_##name, binary_##name##_left, binary_##name##_right                                                     \
    }
#define ONE_SIDE(name)                                                                                                 \
    {                                                                                                                  \
        binary_##name                                                                                                  \
    }

extern const weir_elementwise_loops WEIR_TIER_NAME(weir_elementwise_loops);
const weir_elementwise_loops WEIR_TIER_NAME(weir_elementwise_loops) = {
    .unary =
        {
            [WEIR_UNARY_NEG] = unary_neg,           [WEIR_UNARY_RECIPROCAL] = unary_reciprocal,
            [WEIR_UNARY_SQUARE] = unary_square,     [WEIR_UNARY_SQRT] = unary_sqrt,
            [WEIR_UNARY_RSQRT] = unary_rsqrt,       [WEIR_UNARY_EXP] = unary_exp,
            [WEIR_UNARY_EXPM1] = unary_expm1,       [WEIR_UNARY_LOG] = unary_log,
            [WEIR_UNARY_LOG1P] = unary_log1p,       [WEIR_UNARY_ABS] = unary_abs,
            [WEIR_UNARY_SIGN] = unary_sign,         [WEIR_UNARY_FLOOR] = unary_floor,
            [WEIR_UNARY_CEIL] = unary_ceil,         [WEIR_UNARY_ROUND] = unary_round,
            [WEIR_UNARY_RINT] = unary_round,        [WEIR_UNARY_RELU] = unary_relu,
            [WEIR_UNARY_RELU6] = unary_relu6,       [WEIR_UNARY_ELU] = unary_elu,
            [WEIR_UNARY_SELU] = unary_selu,         [WEIR_UNARY_SIGMOID] = unary_sigmoid,
            [WEIR_UNARY_TANH] = unary_tanh,         [WEIR_UNARY_SOFTPLUS] = unary_softplus,
            [WEIR_UNARY_SOFTSIGN] = unary_softsign, [WEIR_UNARY_IS_NAN] = unary_is_nan,
            [WEIR_UNARY_IS_INF] = unary_is_inf,     [WEIR_UNARY_IS_FINITE] = unary_is_finite,
        },
    .binary =
        {
            [WEIR_BINARY_ADD] = ALL_SIDES(add),
            [WEIR_BINARY_SUB] = ALL_SIDES(sub),
            [WEIR_BINARY_MUL] = ALL_SIDES(mul),
            [WEIR_BINARY_REAL_DIV] = ALL_SIDES(div),
            [WEIR_BINARY_DIV] = ALL_SIDES(div),
            [WEIR_BINARY_MAXIMUM] = ALL_SIDES(maximum),
            [WEIR_BINARY_MINIMUM] = ALL_SIDES(minimum),
            [WEIR_BINARY_SQUARED_DIFFERENCE] = ALL_SIDES(squared_difference),
            [WEIR_BINARY_EQUAL] = ALL_SIDES(equal),
            [WEIR_BINARY_NOT_EQUAL] = ALL_SIDES(not_equal),
            [WEIR_BINARY_GREATER] = ALL_SIDES(greater),
            [WEIR_BINARY_GREATER_EQUAL] = ALL_SIDES(greater_equal),
            [WEIR_BINARY_LESS] = ALL_SIDES(less),
            [WEIR_BINARY_LESS_EQUAL] = ALL_SIDES(less_equal),
            [WEIR_BINARY_DIV_NO_NAN] = ONE_SIDE(div_no_nan),
            [WEIR_BINARY_MUL_NO_NAN] = ONE_SIDE(mul_no_nan),
            [WEIR_BINARY_FLOOR_DIV] = ONE_SIDE(floor_div),
            [WEIR_BINARY_RELU_GRAD] = ONE_SIDE(relu_grad),
            [WEIR_BINARY_RELU6_GRAD] = ONE_SIDE(relu6_grad),
            [WEIR_BINARY_ELU_GRAD] = ONE_SIDE(elu_grad),
            [WEIR_BINARY_SELU_GRAD] = ONE_SIDE(selu_grad),
            [WEIR_BINARY_SIGMOID_GRAD] = ONE_SIDE(sigmoid_grad),
            [WEIR_BINARY_TANH_GRAD] = ONE_SIDE(tanh_grad),
            [WEIR_BINARY_SOFTPLUS_GRAD] = ONE_SIDE(softplus_grad),
            [WEIR_BINARY_SOFTSIGN_GRAD] = ONE_SIDE(softsign_grad),
            [WEIR_BINARY_SQRT_GRAD] = ONE_SIDE(sqrt_grad),
            [WEIR_BINARY_RSQRT_GRAD] = ONE_SIDE(rsqrt_grad),
            [WEIR_BINARY_RECIPROCAL_GRAD] = ONE_SIDE(reciprocal_grad),
        },
};
