/*
 * Elementwise loops that the C library's functions do: all of double's, and those of float that have no vector form.
 */
#include <math.h>

#include "kernel/cpu/elementwise_loops.h"

/* ---- formulas ---------------------------------------------------------------------------------------------------- */

#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_SCALE_ALPHA 1.7580993408473768599402175208123

static inline double sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x;
}

static inline double relu(double x)
{
    return x <= 0 ? (x == 0 ? x : 0.0) : x; /* NaN and -0.0 stay */
}

static inline double relu6(double x)
{
    return x >= 6 ? 6.0 : relu(x);
}

static inline double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

static inline double softplus(double x)
{
    return (x > 0 ? x : x != x ? x : 0.0) + log1p(exp(-fabs(x)));
}

static inline double square(double x)
{
    return x * x;
}

static inline double maximum(double a, double b)
{
    return a != a ? a : a > b ? a : b;
}

static inline double minimum(double a, double b)
{
    return a != a ? a : a < b ? a : b;
}

static inline double lgamma_double(double x)
{
    int sign_of_gamma;
    return lgamma_r(x, &sign_of_gamma);
}

static inline float lgamma_float(float x)
{
    int sign_of_gamma;
    return lgammaf_r(x, &sign_of_gamma);
}

/* The remainder with the divisor's sign. */
static inline double floor_mod(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

static inline float floor_mod_float(float a, float b)
{
    float rest = fmodf(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

#define UNARY(name, T, R, expression)                                                                                  \
    static void unary_##name(const void *from, void *to, int64_t n)                                                    \
    {                                                                                                                  \
        const T *in = from;                                                                                            \
        R *out = to;                                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            T x = in[i];                                                                                               \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
    }

#define BINARY_LOOP(name, T, R, left, right, expression)                                                               \
    static weir_fault name(const void *from_a, const void *from_b, void *to, int64_t n)                                \
    {                                                                                                                  \
        const T *in_a = from_a, *in_b = from_b;                                                                        \
        R *out = to;                                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            T a = in_a[left], b = in_b[right];                                                                         \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
        return WEIR_FAULT_NONE;                                                                                        \
    }
#define BINARY(name, T, R, expression) BINARY_LOOP(binary_##name, T, R, i, i, expression)
#define BINARY_SIDES(name, T, R, expression)                                                                           \
    BINARY_LOOP(binary_##name, T, R, i, i, expression)                                                                 \
    BINARY_LOOP(binary_##name##_left, T, R, i, 0, expression)                                                          \
    BINARY_LOOP(binary_##name##_right, T, R, 0, i, expression)

/* float and double alike: table name, loop's name, float's expression, double's. */
#define UNARY_LIBM(X)                                                                                                  \
    X(SIN, sin, sinf(x), sin(x))                                                                                       \
    X(COS, cos, cosf(x), cos(x))                                                                                       \
    X(TAN, tan, tanf(x), tan(x))                                                                                       \
    X(ASIN, asin, asinf(x), asin(x))                                                                                   \
    X(ACOS, acos, acosf(x), acos(x))                                                                                   \
    X(ATAN, atan, atanf(x), atan(x))                                                                                   \
    X(SINH, sinh, sinhf(x), sinh(x))                                                                                   \
    X(COSH, cosh, coshf(x), cosh(x))                                                                                   \
    X(ASINH, asinh, asinhf(x), asinh(x))                                                                               \
    X(ACOSH, acosh, acoshf(x), acosh(x))                                                                               \
    X(ATANH, atanh, atanhf(x), atanh(x))                                                                               \
    X(ERF, erf, erff(x), erf(x))                                                                                       \
    X(ERFC, erfc, erfcf(x), erfc(x))                                                                                   \
    X(LGAMMA, lgamma, lgamma_float(x), lgamma_double(x))

#define BINARY_LIBM(X)                                                                                                 \
    X(POW, pow, powf(a, b), pow(a, b))                                                                                 \
    X(ATAN2, atan2, atan2f(a, b), atan2(a, b))                                                                         \
    X(FLOOR_MOD, floor_mod, floor_mod_float(a, b), floor_mod(a, b))                                                    \
    X(TRUNCATE_MOD, truncate_mod, fmodf(a, b), fmod(a, b))                                                             \
    X(TRUNCATE_DIV, truncate_div, truncf(a / b), trunc(a / b))                                                         \
    X(XDIVY, xdivy, a == 0 ? 0 : a / b, a == 0 ? 0 : a / b)                                                            \
    X(XLOGY, xlogy, a == 0 ? 0 : a * logf(b), a == 0 ? 0 : a * log(b))

/* double's own. */
#define UNARY_DOUBLE(X)                                                                                                \
    X(NEG, neg, double, -x)                                                                                            \
    X(RECIPROCAL, reciprocal, double, 1 / x)                                                                           \
    X(SQUARE, square, double, x *x)                                                                                    \
    X(SQRT, sqrt, double, sqrt(x))                                                                                     \
    X(RSQRT, rsqrt, double, 1 / sqrt(x))                                                                               \
    X(EXP, exp, double, exp(x))                                                                                        \
    X(EXPM1, expm1, double, expm1(x))                                                                                  \
    X(LOG, log, double, log(x))                                                                                        \
    X(LOG1P, log1p, double, log1p(x))                                                                                  \
    X(ABS, abs, double, fabs(x))                                                                                       \
    X(SIGN, sign, double, sign(x))                                                                                     \
    X(FLOOR, floor, double, floor(x))                                                                                  \
    X(CEIL, ceil, double, ceil(x))                                                                                     \
    X(ROUND, round, double, rint(x))                                                                                   \
    X(RINT, rint, double, rint(x))                                                                                     \
    X(RELU, relu, double, relu(x))                                                                                     \
    X(RELU6, relu6, double, relu6(x))                                                                                  \
    X(ELU, elu, double, x < 0 ? expm1(x) : x)                                                                          \
    X(SELU, selu, double, x < 0 ? SELU_SCALE_ALPHA * expm1(x) : SELU_SCALE * x)                                        \
    X(SIGMOID, sigmoid, double, sigmoid(x))                                                                            \
    X(TANH, tanh, double, tanh(x))                                                                                     \
    X(SOFTPLUS, softplus, double, softplus(x))                                                                         \
    X(SOFTSIGN, softsign, double, x / (1 + fabs(x)))                                                                   \
    X(IS_NAN, is_nan, bool, x != x)                                                                                    \
    X(IS_INF, is_inf, bool, fabs(x) == INFINITY)                                                                       \
    X(IS_FINITE, is_finite, bool, fabs(x) < INFINITY)

#define BINARY_DOUBLE_SIDES(X)                                                                                         \
    X(ADD, add, double, a + b)                                                                                         \
    X(SUB, sub, double, a - b)                                                                                         \
    X(MUL, mul, double, a *b)                                                                                          \
    X(REAL_DIV, real_div, double, a / b)                                                                               \
    X(DIV, div, double, a / b)                                                                                         \
    X(MAXIMUM, maximum, double, maximum(a, b))                                                                         \
    X(MINIMUM, minimum, double, minimum(a, b))                                                                         \
    X(SQUARED_DIFFERENCE, squared_difference, double, square(a - b))                                                   \
    X(EQUAL, equal, bool, a == b)                                                                                      \
    X(NOT_EQUAL, not_equal, bool, a != b)                                                                              \
    X(GREATER, greater, bool, a > b)                                                                                   \
    X(GREATER_EQUAL, greater_equal, bool, a >= b)                                                                      \
    X(LESS, less, bool, a < b)                                                                                         \
    X(LESS_EQUAL, less_equal, bool, a <= b)

#define BINARY_DOUBLE(X)                                                                                               \
    X(FLOOR_DIV, floor_div, double, floor(a / b))                                                                      \
    X(DIV_NO_NAN, div_no_nan, double, b == 0 ? 0 : a / b)                                                              \
    X(MUL_NO_NAN, mul_no_nan, double, b == 0 ? 0 : a * b)                                                              \
    X(RELU_GRAD, relu_grad, double, b > 0 ? a : 0)                                                                     \
    X(RELU6_GRAD, relu6_grad, double, b > 0 && b < 6 ? a : 0)                                                          \
    X(ELU_GRAD, elu_grad, double, b < 0 ? (b + 1) * a : a)                                                             \
    X(SELU_GRAD, selu_grad, double, b < 0 ? a * (b + SELU_SCALE_ALPHA) : a * SELU_SCALE)                               \
    X(SIGMOID_GRAD, sigmoid_grad, double, b *a *(1 - a))                                                               \
    X(TANH_GRAD, tanh_grad, double, b *(1 - a * a))                                                                    \
    X(SOFTPLUS_GRAD, softplus_grad, double, a / (exp(-b) + 1))                                                         \
    X(SOFTSIGN_GRAD, softsign_grad, double, a / square(1 + fabs(b)))                                                   \
    X(SQRT_GRAD, sqrt_grad, double, b * 0.5 / a)                                                                       \
    X(RSQRT_GRAD, rsqrt_grad, double, b *(-0.5 * a) * a * a)                                                           \
    X(RECIPROCAL_GRAD, reciprocal_grad, double, -b *a *a)

#define DEFINE_UNARY_LIBM(op, name, single, real)                                                                      \
    UNARY(name##_float, float, float, single)                                                                          \
    UNARY(name, double, double, real)
#define DEFINE_BINARY_LIBM(op, name, single, real)                                                                     \
    BINARY(name##_float, float, float, single)                                                                         \
    BINARY(name, double, double, real)
#define DEFINE_UNARY(op, name, R, expression) UNARY(name, double, R, expression)
#define DEFINE_BINARY(op, name, R, expression) BINARY(name, double, R, expression)
#define DEFINE_BINARY_SIDES(op, name, R, expression) BINARY_SIDES(name, double, R, expression)

UNARY_LIBM(DEFINE_UNARY_LIBM)
BINARY_LIBM(DEFINE_BINARY_LIBM)
UNARY_DOUBLE(DEFINE_UNARY)
BINARY_DOUBLE_SIDES(DEFINE_BINARY_SIDES)
BINARY_DOUBLE(DEFINE_BINARY)

#define ENTRY_UNARY_FLOAT(op, name, single, real) [WEIR_UNARY_##op] = unary_##name##_float,
#define ENTRY_UNARY(op, name, ...) [WEIR_UNARY_##op] = unary_##name,
#define ENTRY_BINARY_FLOAT(op, name, single, real) [WEIR_BINARY_##op] = {binary_##name##_float},
#define ENTRY_BINARY(op, name, ...) [WEIR_BINARY_##op] = {binary_##name},
#define ENTRY_BINARY_SIDES(op, name, R, expression)                                                                    \
    [WEIR_BINARY_##op] = {binary_##name, binary_##name##_left, binary_##name##_right},

const weir_elementwise_loops weir_elementwise_libm_loops = {
    .unary = {UNARY_LIBM(ENTRY_UNARY_FLOAT)},
    .binary = {BINARY_LIBM(ENTRY_BINARY_FLOAT)},
};

const weir_elementwise_loops weir_elementwise_double_loops = {
    .unary = {UNARY_LIBM(ENTRY_UNARY) UNARY_DOUBLE(ENTRY_UNARY)},
    .binary = {BINARY_LIBM(ENTRY_BINARY) BINARY_DOUBLE_SIDES(ENTRY_BINARY_SIDES) BINARY_DOUBLE(ENTRY_BINARY)},
};
