/*
 * Elementwise loops of the complex types.
 */
#include <complex.h>
#include <math.h>

#include "kernel/cpu/elementwise_loops.h"

/* Products and quotients are those of C, with its care for infinities. Name here and in the tables, type, real type,
 * suffix. */
#define COMPLEXES(X)                                                                                                   \
    X(complex64, float complex, float, f)                                                                              \
    X(complex128, double complex, double, )

#define UNARY(type, name, T, expression)                                                                               \
    static void type##_##name(const void *from, void *to, int64_t n)                                                   \
    {                                                                                                                  \
        const T *in = from;                                                                                            \
        T *out = to;                                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            T x = in[i];                                                                                               \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
    }

#define BINARY(type, name, T, R, expression)                                                                           \
    static weir_fault type##_##name(const void *from_a, const void *from_b, void *to, int64_t n)                       \
    {                                                                                                                  \
        const T *in_a = from_a, *in_b = from_b;                                                                        \
        R *out = to;                                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            T a = in_a[i], b = in_b[i];                                                                                \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
        return WEIR_FAULT_NONE;                                                                                        \
    }

/* exp(x) - 1 and log(1 + x) without the loss near 0. */
static double complex expm1_of(double complex x)
{
    double half = sin(cimag(x) / 2);
    double e = expm1(creal(x));
    return __builtin_complex(e - 2 * half * half * (e + 1), (e + 1) * sin(cimag(x)));
}

static double complex log1p_of(double complex x)
{
    double re = creal(x), im = cimag(x);
    return __builtin_complex(0.5 * log1p(re * (2 + re) + im * im), atan2(im, 1 + re));
}

/* x / |x|, 0 for 0. */
static double complex sign_of(double complex x)
{
    double size = cabs(x);
    return size == 0 ? 0 : __builtin_complex(creal(x) / size, cimag(x) / size);
}

#define DEFINE(type, T, P, f)                                                                                          \
    UNARY(type, neg, T, -x)                                                                                            \
    UNARY(type, reciprocal, T, 1 / x)                                                                                  \
    UNARY(type, square, T, x *x)                                                                                       \
    UNARY(type, sqrt, T, csqrt##f(x))                                                                                  \
    UNARY(type, rsqrt, T, 1 / csqrt##f(x))                                                                             \
    UNARY(type, exp, T, cexp##f(x))                                                                                    \
    UNARY(type, expm1, T, (T)expm1_of(x))                                                                              \
    UNARY(type, log, T, clog##f(x))                                                                                    \
    UNARY(type, log1p, T, (T)log1p_of(x))                                                                              \
    UNARY(type, sign, T, (T)sign_of(x))                                                                                \
    UNARY(type, sigmoid, T, 1 / (1 + cexp##f(-x)))                                                                     \
    UNARY(type, tanh, T, ctanh##f(x))                                                                                  \
    UNARY(type, sin, T, csin##f(x))                                                                                    \
    UNARY(type, cos, T, ccos##f(x))                                                                                    \
    UNARY(type, tan, T, ctan##f(x))                                                                                    \
    UNARY(type, asin, T, casin##f(x))                                                                                  \
    UNARY(type, acos, T, cacos##f(x))                                                                                  \
    UNARY(type, atan, T, catan##f(x))                                                                                  \
    UNARY(type, sinh, T, csinh##f(x))                                                                                  \
    UNARY(type, cosh, T, ccosh##f(x))                                                                                  \
    UNARY(type, asinh, T, casinh##f(x))                                                                                \
    UNARY(type, acosh, T, cacosh##f(x))                                                                                \
    UNARY(type, atanh, T, catanh##f(x))                                                                                \
    UNARY(type, conj, T, conj##f(x))                                                                                   \
    BINARY(type, add, T, T, a + b)                                                                                     \
    BINARY(type, sub, T, T, a - b)                                                                                     \
    BINARY(type, mul, T, T, a *b)                                                                                      \
    BINARY(type, div, T, T, a / b)                                                                                     \
    BINARY(type, div_no_nan, T, T, b == 0 ? 0 : a / b)                                                                 \
    BINARY(type, mul_no_nan, T, T, b == 0 ? 0 : a * b)                                                                 \
    BINARY(type, xdivy, T, T, a == 0 ? 0 : a / b)                                                                      \
    BINARY(type, xlogy, T, T, a == 0 ? 0 : a * clog##f(b))                                                             \
    BINARY(type, pow, T, T, b == 0 ? 1 : cpow##f(a, b))                                                                \
    BINARY(type, squared_difference, T, T, (a - b) * conj##f(a - b))                                                   \
    BINARY(type, equal, T, bool, a == b)                                                                               \
    BINARY(type, not_equal, T, bool, a != b)                                                                           \
    BINARY(type, sigmoid_grad, T, T, b *conj##f(a *(1 - a)))                                                           \
    BINARY(type, tanh_grad, T, T, b *conj##f(1 - a * a))                                                               \
    BINARY(type, sqrt_grad, T, T, b *(P)0.5 / conj##f(a))                                                              \
    BINARY(type, rsqrt_grad, T, T, b *((P)-0.5 * conj##f(a)) * conj##f(a) * conj##f(a))                                \
    BINARY(type, reciprocal_grad, T, T, -b *conj##f(a) * conj##f(a))
COMPLEXES(DEFINE)

#define ONE(type, name)                                                                                                \
    {                                                                                                                  \
        type##_##name                                                                                                  \
    }
#define TABLE(type, T, P, f)                                                                                           \
    const weir_elementwise_loops weir_elementwise_##type##_loops = {                                                   \
        .unary = {[WEIR_UNARY_NEG] = type##_neg,         [WEIR_UNARY_RECIPROCAL] = type##_reciprocal,                  \
                  [WEIR_UNARY_SQUARE] = type##_square,   [WEIR_UNARY_SQRT] = type##_sqrt,                              \
                  [WEIR_UNARY_RSQRT] = type##_rsqrt,     [WEIR_UNARY_EXP] = type##_exp,                                \
                  [WEIR_UNARY_EXPM1] = type##_expm1,     [WEIR_UNARY_LOG] = type##_log,                                \
                  [WEIR_UNARY_LOG1P] = type##_log1p,     [WEIR_UNARY_SIGN] = type##_sign,                              \
                  [WEIR_UNARY_SIGMOID] = type##_sigmoid, [WEIR_UNARY_TANH] = type##_tanh,                              \
                  [WEIR_UNARY_SIN] = type##_sin,         [WEIR_UNARY_COS] = type##_cos,                                \
                  [WEIR_UNARY_TAN] = type##_tan,         [WEIR_UNARY_ASIN] = type##_asin,                              \
                  [WEIR_UNARY_ACOS] = type##_acos,       [WEIR_UNARY_ATAN] = type##_atan,                              \
                  [WEIR_UNARY_SINH] = type##_sinh,       [WEIR_UNARY_COSH] = type##_cosh,                              \
                  [WEIR_UNARY_ASINH] = type##_asinh,     [WEIR_UNARY_ACOSH] = type##_acosh,                            \
                  [WEIR_UNARY_ATANH] = type##_atanh,     [WEIR_UNARY_CONJ] = type##_conj},                             \
        .binary = {[WEIR_BINARY_ADD] = ONE(type, add),                                                                 \
                   [WEIR_BINARY_SUB] = ONE(type, sub),                                                                 \
                   [WEIR_BINARY_MUL] = ONE(type, mul),                                                                 \
                   [WEIR_BINARY_REAL_DIV] = ONE(type, div),                                                            \
                   [WEIR_BINARY_DIV] = ONE(type, div),                                                                 \
                   [WEIR_BINARY_DIV_NO_NAN] = ONE(type, div_no_nan),                                                   \
                   [WEIR_BINARY_MUL_NO_NAN] = ONE(type, mul_no_nan),                                                   \
                   [WEIR_BINARY_XDIVY] = ONE(type, xdivy),                                                             \
                   [WEIR_BINARY_XLOGY] = ONE(type, xlogy),                                                             \
                   [WEIR_BINARY_POW] = ONE(type, pow),                                                                 \
                   [WEIR_BINARY_SQUARED_DIFFERENCE] = ONE(type, squared_difference),                                   \
                   [WEIR_BINARY_EQUAL] = ONE(type, equal),                                                             \
                   [WEIR_BINARY_NOT_EQUAL] = ONE(type, not_equal),                                                     \
                   [WEIR_BINARY_SIGMOID_GRAD] = ONE(type, sigmoid_grad),                                               \
                   [WEIR_BINARY_TANH_GRAD] = ONE(type, tanh_grad),                                                     \
                   [WEIR_BINARY_SQRT_GRAD] = ONE(type, sqrt_grad),                                                     \
                   [WEIR_BINARY_RSQRT_GRAD] = ONE(type, rsqrt_grad),                                                   \
                   [WEIR_BINARY_RECIPROCAL_GRAD] = ONE(type, reciprocal_grad)},                                        \
    };
COMPLEXES(TABLE)
