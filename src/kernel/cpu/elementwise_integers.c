/*
 * Elementwise loops of the integer types and bool. Arithmetic wraps, computed in an unsigned type of at least 32 bits.
 */
#include "kernel/cpu/elementwise_loops.h"

/* Name here and in the tables, type, unsigned type to compute in, signed type that holds a shifted value, bits. */
#define INTEGERS(X)                                                                                                    \
    X(int8, int8_t, uint32_t, 8)                                                                                       \
    X(int16, int16_t, uint32_t, 16)                                                                                    \
    X(int32, int32_t, uint32_t, 32)                                                                                    \
    X(int64, int64_t, uint64_t, 64)                                                                                    \
    X(uint8, uint8_t, uint32_t, 8)                                                                                     \
    X(uint16, uint16_t, uint32_t, 16)                                                                                  \
    X(uint32, uint32_t, uint32_t, 32)                                                                                  \
    X(uint64, uint64_t, uint64_t, 64)

#define UNARY(type, name, T, expression)                                                                               \
    static void type##_##name(const void *from, void *to, int64_t n)                                                   \
    {                                                                                                                  \
        const T *in = from;                                                                                            \
        T *out = to;                                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            T x = in[i];                                                                                               \
            out[i] = (T)(expression);                                                                                  \
        }                                                                                                              \
    }

#define BINARY_LOOP(name, T, R, left, right, expression)                                                               \
    static weir_fault name(const void *from_a, const void *from_b, void *to, int64_t n)                                \
    {                                                                                                                  \
        const T *in_a = from_a, *in_b = from_b;                                                                        \
        R *out = to;                                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            T a = in_a[left], b = in_b[right];                                                                         \
            out[i] = (R)(expression);                                                                                  \
        }                                                                                                              \
        return WEIR_FAULT_NONE;                                                                                        \
    }
#define BINARY(type, name, T, expression) BINARY_LOOP(type##_##name, T, T, i, i, expression)
#define BINARY_SIDES(type, name, T, R, expression)                                                                     \
    BINARY_LOOP(type##_##name, T, R, i, i, expression)                                                                 \
    BINARY_LOOP(type##_##name##_left, T, R, i, 0, expression)                                                          \
    BINARY_LOOP(type##_##name##_right, T, R, 0, i, expression)

/* Divisions: the whole loop runs, a fault is told at the end. The smallest number by -1 wraps to itself. */
#define DIVISION(type, name, T, U, expression)                                                                         \
    static weir_fault type##_##name(const void *from_a, const void *from_b, void *to, int64_t n)                       \
    {                                                                                                                  \
        const T *in_a = from_a, *in_b = from_b;                                                                        \
        T *out = to;                                                                                                   \
        weir_fault fault = WEIR_FAULT_NONE;                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            T a = in_a[i], b = in_b[i];                                                                                \
            if (b == 0) {                                                                                              \
                fault = WEIR_FAULT_DIVISION_BY_ZERO;                                                                   \
                out[i] = 0;                                                                                            \
            } else if ((T)-1 < 0 && b == (T)-1) {                                                                      \
                T quotient = (T)((U)0 - (U)a), rest = 0;                                                               \
                (void)quotient, (void)rest;                                                                            \
                out[i] = (T)(expression);                                                                              \
            } else {                                                                                                   \
                T quotient = (T)(a / b), rest = (T)(a % b);                                                            \
                (void)quotient, (void)rest;                                                                            \
                out[i] = (T)(expression);                                                                              \
            }                                                                                                          \
        }                                                                                                              \
        return fault;                                                                                                  \
    }

#define POWER(type, T, U)                                                                                              \
    static weir_fault type##_pow(const void *from_a, const void *from_b, void *to, int64_t n)                          \
    {                                                                                                                  \
        const T *in_a = from_a, *in_b = from_b;                                                                        \
        T *out = to;                                                                                                   \
        weir_fault fault = WEIR_FAULT_NONE;                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            U base = (U)in_a[i], power = 1;                                                                            \
            if (in_b[i] < 0)                                                                                           \
                fault = WEIR_FAULT_NEGATIVE_POWER;                                                                     \
            for (T left = in_b[i]; left > 0; left = (T)(left >> 1)) {                                                  \
                if (left & 1)                                                                                          \
                    power *= base;                                                                                     \
                base *= base;                                                                                          \
            }                                                                                                          \
            out[i] = (T)power;                                                                                         \
        }                                                                                                              \
        return fault;                                                                                                  \
    }

#define DEFINE(type, T, U, bits)                                                                                       \
    UNARY(type, neg, T, (U)0 - (U)x)                                                                                   \
    UNARY(type, square, T, (U)x *(U)x)                                                                                 \
    UNARY(type, abs, T, x < 0 ? (U)0 - (U)x : (U)x)                                                                    \
    UNARY(type, sign, T, (x > 0) - (x < 0))                                                                            \
    UNARY(type, relu, T, x > 0 ? x : 0)                                                                                \
    UNARY(type, relu6, T, x > 6 ? 6 : x > 0 ? x : 0)                                                                   \
    UNARY(type, invert, T, ~x)                                                                                         \
    BINARY_SIDES(type, add, T, T, (U)a + (U)b)                                                                         \
    BINARY_SIDES(type, sub, T, T, (U)a - (U)b)                                                                         \
    BINARY_SIDES(type, mul, T, T, (U)a *(U)b)                                                                          \
    BINARY_SIDES(type, maximum, T, T, a > b ? a : b)                                                                   \
    BINARY_SIDES(type, minimum, T, T, a < b ? a : b)                                                                   \
    BINARY_SIDES(type, equal, T, bool, a == b)                                                                         \
    BINARY_SIDES(type, not_equal, T, bool, a != b)                                                                     \
    BINARY_SIDES(type, greater, T, bool, a > b)                                                                        \
    BINARY_SIDES(type, greater_equal, T, bool, a >= b)                                                                 \
    BINARY_SIDES(type, less, T, bool, a < b)                                                                           \
    BINARY_SIDES(type, less_equal, T, bool, a <= b)                                                                    \
    BINARY(type, squared_difference, T, ((U)a - (U)b) * ((U)a - (U)b))                                                 \
    BINARY(type, bitwise_and, T, a &b)                                                                                 \
    BINARY(type, bitwise_or, T, a | b)                                                                                 \
    BINARY(type, bitwise_xor, T, a ^ b)                                                                                \
    BINARY(type, left_shift, T, (U)a << (b < 0 ? 0 : (uint64_t)b >= bits ? bits - 1 : (uint64_t)b))                    \
    BINARY(type, right_shift, T, a >> (b < 0 ? 0 : (uint64_t)b >= bits ? bits - 1 : (uint64_t)b))                      \
    BINARY(type, relu_grad, T, b > 0 ? a : 0)                                                                          \
    BINARY(type, relu6_grad, T, b > 0 && b < 6 ? a : 0)                                                                \
    DIVISION(type, truncate_div, T, U, quotient)                                                                       \
    DIVISION(type, truncate_mod, T, U, rest)                                                                           \
    DIVISION(type, floor_div, T, U, quotient - (rest != 0 && (rest < 0) != (b < 0)))                                   \
    DIVISION(type, floor_mod, T, U, rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0))                               \
    POWER(type, T, U)

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wtype-limits" /* b < 0 of unsigned types */
#endif
INTEGERS(DEFINE)

#define SIDES(type, name)                                                                                              \
    {                                                                                                                  \
        type##_##name, type##_##name##_left, type##_##name##_right                                                     \
    }
#define ONE(type, name)                                                                                                \
    {                                                                                                                  \
        type##_##name                                                                                                  \
    }
#define TABLE(type, T, U, bits)                                                                                        \
    const weir_elementwise_loops weir_elementwise_##type##_loops = {                                                   \
        .unary = {[WEIR_UNARY_NEG] = type##_neg,                                                                       \
                  [WEIR_UNARY_SQUARE] = type##_square,                                                                 \
                  [WEIR_UNARY_ABS] = type##_abs,                                                                       \
                  [WEIR_UNARY_SIGN] = type##_sign,                                                                     \
                  [WEIR_UNARY_RELU] = type##_relu,                                                                     \
                  [WEIR_UNARY_RELU6] = type##_relu6,                                                                   \
                  [WEIR_UNARY_INVERT] = type##_invert},                                                                \
        .binary = {[WEIR_BINARY_ADD] = SIDES(type, add),                                                               \
                   [WEIR_BINARY_SUB] = SIDES(type, sub),                                                               \
                   [WEIR_BINARY_MUL] = SIDES(type, mul),                                                               \
                   [WEIR_BINARY_MAXIMUM] = SIDES(type, maximum),                                                       \
                   [WEIR_BINARY_MINIMUM] = SIDES(type, minimum),                                                       \
                   [WEIR_BINARY_EQUAL] = SIDES(type, equal),                                                           \
                   [WEIR_BINARY_NOT_EQUAL] = SIDES(type, not_equal),                                                   \
                   [WEIR_BINARY_GREATER] = SIDES(type, greater),                                                       \
                   [WEIR_BINARY_GREATER_EQUAL] = SIDES(type, greater_equal),                                           \
                   [WEIR_BINARY_LESS] = SIDES(type, less),                                                             \
                   [WEIR_BINARY_LESS_EQUAL] = SIDES(type, less_equal),                                                 \
                   [WEIR_BINARY_SQUARED_DIFFERENCE] = ONE(type, squared_difference),                                   \
                   [WEIR_BINARY_BITWISE_AND] = ONE(type, bitwise_and),                                                 \
                   [WEIR_BINARY_BITWISE_OR] = ONE(type, bitwise_or),                                                   \
                   [WEIR_BINARY_BITWISE_XOR] = ONE(type, bitwise_xor),                                                 \
                   [WEIR_BINARY_LEFT_SHIFT] = ONE(type, left_shift),                                                   \
                   [WEIR_BINARY_RIGHT_SHIFT] = ONE(type, right_shift),                                                 \
                   [WEIR_BINARY_RELU_GRAD] = ONE(type, relu_grad),                                                     \
                   [WEIR_BINARY_RELU6_GRAD] = ONE(type, relu6_grad),                                                   \
                   [WEIR_BINARY_DIV] = ONE(type, truncate_div),                                                        \
                   [WEIR_BINARY_TRUNCATE_DIV] = ONE(type, truncate_div),                                               \
                   [WEIR_BINARY_TRUNCATE_MOD] = ONE(type, truncate_mod),                                               \
                   [WEIR_BINARY_FLOOR_DIV] = ONE(type, floor_div),                                                     \
                   [WEIR_BINARY_FLOOR_MOD] = ONE(type, floor_mod),                                                     \
                   [WEIR_BINARY_POW] = ONE(type, pow)},                                                                \
    };
INTEGERS(TABLE)

UNARY(bool, not, uint8_t, x == 0)
BINARY_SIDES(bool, and, uint8_t, uint8_t, (a != 0) & (b != 0))
BINARY_SIDES(bool, or, uint8_t, uint8_t, (a | b) != 0)
BINARY_SIDES(bool, equal, uint8_t, uint8_t, (a != 0) == (b != 0))
BINARY_SIDES(bool, not_equal, uint8_t, uint8_t, (a != 0) != (b != 0))

const weir_elementwise_loops weir_elementwise_bool_loops = {
    .unary = {[WEIR_UNARY_LOGICAL_NOT] = bool_not},
    .binary = {[WEIR_BINARY_LOGICAL_AND] = SIDES(bool, and),
               [WEIR_BINARY_LOGICAL_OR] = SIDES(bool, or),
               [WEIR_BINARY_EQUAL] = SIDES(bool, equal),
               [WEIR_BINARY_NOT_EQUAL] = SIDES(bool, not_equal)},
};
