/*
 * Element types: names, sizes, shapes; and the 16-bit floats against arithmetic in doubles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

static void names_and_sizes(void **state)
{
    assert_string_equal(weir_dtype_name(WEIR_FLOAT), "float");
    assert_string_equal(weir_dtype_name(WEIR_HALF), "half");
    assert_string_equal(weir_dtype_name((weir_dtype)(WEIR_INT64 + WEIR_REF_OFFSET)), "int64_ref");
    assert_string_equal(weir_dtype_name(WEIR_INVALID_DTYPE), "invalid");
    assert_string_equal(weir_dtype_name((weir_dtype)34), "invalid");
    assert_string_equal(weir_dtype_name((weir_dtype)-1), "invalid");
    assert_string_equal(weir_dtype_name((weir_dtype)100), "invalid");
    assert_int_equal(weir_dtype_size(WEIR_FLOAT), 4);
    assert_int_equal(weir_dtype_size(WEIR_COMPLEX128), 16);
    assert_int_equal(weir_dtype_size((weir_dtype)(WEIR_DOUBLE + WEIR_REF_OFFSET)), 8);
    assert_int_equal(weir_dtype_size(WEIR_STRING), 0);
    assert_int_equal(weir_dtype_size(WEIR_INVALID_DTYPE), 0);
    assert_int_equal(weir_dtype_size((weir_dtype)34), 0);
    assert_int_equal(weir_dtype_stride(WEIR_STRING), sizeof(weir_string));
    assert_int_equal(weir_dtype_stride(WEIR_RESOURCE), sizeof(weir_handle));
    assert_int_equal(weir_dtype_stride(WEIR_INT16), 2);
}

static void every_name_is_found_again(void **state)
{
    for (int i = 1; i <= 33; i++) {
        weir_dtype dtype = (weir_dtype)i;
        weir_dtype ref = (weir_dtype)(i + WEIR_REF_OFFSET);
        assert_int_equal(weir_dtype_named(weir_dtype_name(dtype)), dtype);
        assert_int_equal(weir_dtype_named(weir_dtype_name(ref)), ref);
        assert_false(weir_dtype_is_ref(dtype));
        assert_true(weir_dtype_is_ref(ref));
        assert_int_equal(weir_dtype_base(ref), dtype);
    }
    assert_int_equal(weir_dtype_named("float32"), WEIR_FLOAT);
    assert_int_equal(weir_dtype_named("float64"), WEIR_DOUBLE);
    assert_int_equal(weir_dtype_named("float16"), WEIR_HALF);
    assert_int_equal(weir_dtype_named("Float"), WEIR_INVALID_DTYPE);
    assert_int_equal(weir_dtype_named("invalid"), WEIR_INVALID_DTYPE);
    assert_int_equal(weir_dtype_named(""), WEIR_INVALID_DTYPE);
    assert_int_equal(weir_dtype_named(NULL), WEIR_INVALID_DTYPE);
}

static void kinds(void **state)
{
    assert_true(weir_dtype_is_integer(WEIR_UINT64) && weir_dtype_is_integer(WEIR_INT8));
    assert_false(weir_dtype_is_integer(WEIR_BOOL) || weir_dtype_is_integer(WEIR_QINT8));
    assert_false(weir_dtype_is_integer(WEIR_FLOAT) || weir_dtype_is_integer(WEIR_STRING));
    assert_true(weir_dtype_is_floating(WEIR_BFLOAT16) && weir_dtype_is_complex(WEIR_COMPLEX64));
}

/* ---- shapes ---- */

static void shapes_known_and_not(void **state)
{
    assert_true(weir_shape_known(WEIR_SCALAR));
    assert_true(weir_shape_known(WEIR_SHAPE(2, 0)));
    assert_false(weir_shape_known(WEIR_SHAPE(2, -1)));
    assert_false(weir_shape_known(weir_shape_unknown()));
    int64_t dims[WEIR_MAX_RANK + 1] = {0};
    assert_int_equal(weir_shape_of(WEIR_MAX_RANK, dims).rank, WEIR_MAX_RANK);
    assert_int_equal(weir_shape_of(WEIR_MAX_RANK + 1, dims).rank, WEIR_UNKNOWN_RANK);
    assert_int_equal(weir_shape_of(-5, dims).rank, WEIR_UNKNOWN_RANK);
    assert_int_equal(weir_shape_of(0, NULL).rank, 0);
}

static void element_counts(void **state)
{
    assert_int_equal(weir_shape_elements(WEIR_SCALAR), 1);
    assert_int_equal(weir_shape_elements(WEIR_SHAPE(2, 3, 4)), 24);
    assert_int_equal(weir_shape_elements(WEIR_SHAPE(2, 0, 4)), 0);
    assert_int_equal(weir_shape_elements(WEIR_SHAPE(2, -1)), -1);
    assert_int_equal(weir_shape_elements(weir_shape_unknown()), -1);
    assert_true(weir_shape_elements(WEIR_SHAPE((int64_t)1 << 31, (int64_t)1 << 31)) == (int64_t)1 << 62);
    assert_int_equal(weir_shape_elements(WEIR_SHAPE((int64_t)1 << 32, (int64_t)1 << 31)), -1);
    assert_int_equal(weir_shape_elements(WEIR_SHAPE((int64_t)1 << 32, (int64_t)1 << 31, 0)), -1);
    assert_int_equal(weir_shape_elements(WEIR_SHAPE(0, (int64_t)1 << 32, (int64_t)1 << 31)), -1);
}

static void shapes_compared(void **state)
{
    assert_true(weir_shape_equal(WEIR_SHAPE(2, -1), WEIR_SHAPE(2, -1)));
    assert_false(weir_shape_equal(WEIR_SHAPE(2, -1), WEIR_SHAPE(2, 3)));
    assert_false(weir_shape_equal(WEIR_SHAPE(2), WEIR_SHAPE(2, 1)));
    assert_true(weir_shape_equal(weir_shape_unknown(), weir_shape_unknown()));
    assert_false(weir_shape_equal(weir_shape_unknown(), WEIR_SCALAR));
    assert_true(weir_shape_compatible(WEIR_SHAPE(2, -1), WEIR_SHAPE(-1, 3)));
    assert_true(weir_shape_compatible(weir_shape_unknown(), WEIR_SHAPE(-1, 3)));
    assert_true(weir_shape_compatible(WEIR_SHAPE(5), weir_shape_unknown()));
    assert_false(weir_shape_compatible(WEIR_SHAPE(2, 3), WEIR_SHAPE(2, 4)));
    assert_false(weir_shape_compatible(WEIR_SHAPE(2), WEIR_SHAPE(2, -1)));
    assert_true(weir_shape_compatible(WEIR_SCALAR, WEIR_SCALAR));
}

static void check_text(weir_shape shape, const char *wanted)
{
    char text[WEIR_SHAPE_TEXT_SIZE];
    assert_ptr_equal(weir_shape_text(shape, text, sizeof text), text);
    assert_string_equal(text, wanted);
}

static void shapes_as_text(void **state)
{
    check_text(WEIR_SHAPE(2, -1), "[2,?]");
    check_text(WEIR_SCALAR, "[]");
    check_text(WEIR_SHAPE(784), "[784]");
    check_text(weir_shape_unknown(), "<unknown>");
    int64_t dims[WEIR_MAX_RANK];
    for (int i = 0; i < WEIR_MAX_RANK; i++)
        dims[i] = INT64_MAX;
    char longest[WEIR_SHAPE_TEXT_SIZE];
    weir_shape_text(weir_shape_of(WEIR_MAX_RANK, dims), longest, sizeof longest);
    assert_int_equal(strlen(longest), 12 * 20 + 1);
    char small[4];
    assert_string_equal(weir_shape_text(WEIR_SHAPE(12, 3), small, sizeof small), "[12");
}

/* ---- 16-bit floats ---- */

static uint32_t bits_of(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A format of 16 bits, told by its exponent bits; the rest after the sign is fraction. */
typedef struct narrow {
    int exponent_bits;
    float (*widen)(uint16_t bits);
    uint16_t (*round)(float value);
} narrow;

static float widen_bfloat16(uint16_t bits)
{
    return weir_bfloat16_to_float(bits);
}

static const narrow half = {5, weir_half_to_float, weir_half_from_float};
static const narrow bfloat16 = {8, widen_bfloat16, weir_bfloat16_from_float};

/* The value of a pattern by the definition of IEEE 754. */
static double value_of(const narrow *format, unsigned bits)
{
    int fraction_bits = 15 - format->exponent_bits;
    int ones = (1 << format->exponent_bits) - 1;
    int bias = ones / 2;
    int exponent = (int)(bits >> fraction_bits) & ones;
    double fraction = (double)(bits & ((1U << fraction_bits) - 1)) / (1 << fraction_bits);
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == ones)
        return fraction == 0 ? sign * INFINITY : NAN;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias);
    return sign * ldexp(1 + fraction, exponent - bias);
}

/* The nearest pattern to a finite value that is not negative, found by search; ties to even, and beyond the largest
 * finite number by half a step: infinity. */
static unsigned nearest(const narrow *format, double value)
{
    unsigned infinity = ((1U << format->exponent_bits) - 1) << (15 - format->exponent_bits);
    unsigned low = 0;
    unsigned high = infinity;
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (value_of(format, middle) <= value)
            low = middle;
        else
            high = middle;
    }
    double below = value_of(format, low);
    double above = high < infinity ? value_of(format, high) : below + (below - value_of(format, low - 1));
    double to_below = value - below;
    double to_above = above - value;
    if (to_below == to_above)
        return low % 2 == 0 ? low : high;
    return to_below < to_above ? low : high;
}

static void check_all_patterns(const narrow *format)
{
    for (unsigned bits = 0; bits <= 0xffff; bits++) {
        double wanted = value_of(format, bits);
        float value = format->widen((uint16_t)bits);
        if (isnan(wanted)) {
            assert_true(isnan(value));
            assert_int_equal(bits_of(value) >> 31, bits >> 15);
            unsigned quiet = 1U << (14 - format->exponent_bits); /* rounding keeps the rest of a NaN's fraction */
            assert_int_equal(format->round(value), bits | quiet);
        } else {
            assert_true((double)value == wanted);
            assert_int_equal(signbit(value) != 0, bits >> 15);
            assert_int_equal(format->round(value), bits);
        }
    }
}

static void check_rounding(const narrow *format, float value)
{
    if (isnan(value) || isinf(value))
        return;
    unsigned wanted = nearest(format, fabs((double)value));
    assert_int_equal(format->round(fabsf(value)), wanted);
    assert_int_equal(format->round(-fabsf(value)), wanted | 0x8000);
}

/* Around every pattern and every middle of two neighbours: the float there, the one before and the one after. */
static void check_all_middles(const narrow *format)
{
    unsigned infinity = ((1U << format->exponent_bits) - 1) << (15 - format->exponent_bits);
    for (unsigned bits = 0; bits < infinity; bits++) {
        double here = value_of(format, bits);
        double next = bits + 1 < infinity ? value_of(format, bits + 1) : here + (here - value_of(format, bits - 1));
        float places[2] = {(float)here, (float)((here + next) / 2)};
        for (int i = 0; i < 2; i++) {
            check_rounding(format, places[i]);
            check_rounding(format, nextafterf(places[i], INFINITY));
            check_rounding(format, nextafterf(places[i], 0));
        }
    }
}

static void check_many_floats(const narrow *format)
{
    uint32_t bits = 1;
    for (int i = 0; i < 300000; i++) {
        bits = bits * 1664525U + 1013904223U;
        check_rounding(format, float_of(bits));
    }
    check_rounding(format, 0);
    check_rounding(format, float_of(1));
    check_rounding(format, float_of(0x7f7fffff));
    assert_true(isnan(format->widen(format->round(float_of(0x7f800001))))); /* the least NaN must not become infinity */
    assert_true(isnan(format->widen(format->round(float_of(0xffffffff)))));
    assert_true(format->widen(format->round(-INFINITY)) == -INFINITY);
}

static void half_patterns(void **state)
{
    check_all_patterns(&half);
    check_all_middles(&half);
    check_many_floats(&half);
    assert_int_equal(weir_half_from_float(65519.0f), 0x7bff);
    assert_int_equal(weir_half_from_float(65520.0f), 0x7c00);
}

static void bfloat16_patterns(void **state)
{
    check_all_patterns(&bfloat16);
    check_all_middles(&bfloat16);
    check_many_floats(&bfloat16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_sizes),
        cmocka_unit_test(every_name_is_found_again),
        cmocka_unit_test(kinds),
        cmocka_unit_test(shapes_known_and_not),
        cmocka_unit_test(element_counts),
        cmocka_unit_test(shapes_compared),
        cmocka_unit_test(shapes_as_text),
        cmocka_unit_test(half_patterns),
        cmocka_unit_test(bfloat16_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
