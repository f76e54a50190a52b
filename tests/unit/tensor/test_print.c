/*
 * Printed tensors, against the texts of NumPy 1.13 (its own output, or that of later releases with legacy="1.13").
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/tensor.h>

/* Takes tensor. */
static void check_print(weir_tensor *tensor, const char *wanted)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    weir_status status = weir_tensor_print(tensor, stream);
    fclose(stream);
    weir_tensor_free(tensor);
    assert_true(weir_ok(status));
    assert_true(size > 0 && text[size - 1] == '\n');
    text[size - 1] = '\0';
    assert_string_equal(text, wanted);
    free(text);
}

static void check(weir_dtype dtype, weir_shape shape, const void *elements, const char *wanted)
{
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_from(dtype, shape, elements, &tensor)));
    check_print(tensor, wanted);
}

static weir_tensor *counting(weir_dtype dtype, weir_shape shape)
{
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_new(dtype, shape, &tensor)));
    for (int64_t i = 0; i < weir_tensor_elements(tensor); i++) {
        if (dtype == WEIR_FLOAT)
            weir_tensor_floats(tensor)[i] = (float)i;
        else
            weir_tensor_int32s(tensor)[i] = (int32_t)i;
    }
    return tensor;
}

static void float_arrays(void **state)
{
    check(WEIR_FLOAT, WEIR_SHAPE(3), (float[]){2, 4, 6}, "[ 2.  4.  6.]");
    check(WEIR_FLOAT, WEIR_SHAPE(1), (float[]){0}, "[ 0.]");
    check(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){0.1f, 0.5f}, "[ 0.1  0.5]");
    check(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){0.7f, -1.25f}, "[ 0.69999999 -1.25      ]");
    check(WEIR_FLOAT, WEIR_SHAPE(2, 2), (float[]){1, -2, 3.5f, 10}, "[[  1.   -2. ]\n [  3.5  10. ]]");
    check(WEIR_DOUBLE, WEIR_SHAPE(3), (double[]){1.0 / 3, 2, 100}, "[   0.33333333    2.          100.        ]");
    check(WEIR_HALF, WEIR_SHAPE(2), (uint16_t[]){0x3e00, 0xc000}, "[ 1.5 -2. ]");
    check(WEIR_BFLOAT16, WEIR_SHAPE(1), (uint16_t[]){0x3fc0}, "[ 1.5]");
    check(WEIR_FLOAT8_E4M3FN, WEIR_SHAPE(2), (uint8_t[]){0x38, 0x7e}, "[   1.  448.]");
}

static void exponents(void **state)
{
    check(WEIR_DOUBLE, WEIR_SHAPE(2), (double[]){1e-5, -1}, "[  1.00000000e-05  -1.00000000e+00]");
    check(WEIR_DOUBLE, WEIR_SHAPE(2), (double[]){1, 1001}, "[  1.00000000e+00   1.00100000e+03]");
    check(WEIR_DOUBLE, WEIR_SHAPE(2), (double[]){1, 1000}, "[    1.  1000.]");
    check(WEIR_DOUBLE, WEIR_SHAPE(2), (double[]){99999999, 99999999}, "[ 99999999.  99999999.]");
    check(WEIR_DOUBLE, WEIR_SHAPE(1), (double[]){1e8}, "[  1.00000000e+08]");
    check(WEIR_DOUBLE, WEIR_SHAPE(2), (double[]){1e-120, 1}, "[  1.00000000e-120   1.00000000e+000]");
    check(WEIR_DOUBLE, WEIR_SHAPE(2), (double[]){-1e200, 0}, "[ -1.00000000e+200   0.00000000e+000]");
    check(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){0.7f, 700}, "[   0.69999999  700.        ]");
    check(WEIR_DOUBLE, WEIR_SHAPE(2), (double[]){0.69999998807907104, 700}, "[  6.99999988e-01   7.00000000e+02]");
}

static void special_numbers(void **state)
{
    check(WEIR_FLOAT, WEIR_SHAPE(3), (float[]){1, NAN, -INFINITY}, "[  1.  nan -inf]");
    check(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){INFINITY, 1e10f}, "[             inf   1.00000000e+10]");
    check(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){NAN, -NAN}, "[ nan  nan]");
    check(WEIR_FLOAT, WEIR_SCALAR, (float[]){-NAN}, "nan");
    check(WEIR_FLOAT, WEIR_SCALAR, (float[]){-INFINITY}, "-inf");
    check(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){-0.0f, 2}, "[-0.  2.]");
}

static void scalars(void **state)
{
    check(WEIR_FLOAT, WEIR_SCALAR, (float[]){3}, "3.0");
    check(WEIR_FLOAT, WEIR_SCALAR, (float[]){-3}, "-3.0");
    check(WEIR_FLOAT, WEIR_SCALAR, (float[]){2.3025851f}, "2.30259");
    check(WEIR_FLOAT, WEIR_SCALAR, (float[]){1e-7f}, "1e-07");
    check(WEIR_DOUBLE, WEIR_SCALAR, (double[]){1.0 / 3}, "0.333333333333");
    check(WEIR_DOUBLE, WEIR_SCALAR, (double[]){1e300}, "1e+300");
    check(WEIR_HALF, WEIR_SCALAR, (uint16_t[]){0x3555}, "0.333252");
    check(WEIR_INT32, WEIR_SCALAR, (int32_t[]){-42}, "-42");
    check(WEIR_UINT64, WEIR_SCALAR, (uint64_t[]){UINT64_MAX}, "18446744073709551615");
    check(WEIR_BOOL, WEIR_SCALAR, (uint8_t[]){1}, "True");
    check(WEIR_BOOL, WEIR_SCALAR, (uint8_t[]){0}, "False");
    check(WEIR_COMPLEX64, WEIR_SCALAR, (float[]){1.5f, -2}, "(1.5-2j)");
    check(WEIR_COMPLEX128, WEIR_SCALAR, (double[]){0, 2}, "2j");
    check(WEIR_COMPLEX128, WEIR_SCALAR, (double[]){-0.0, NAN}, "(-0+nanj)");
}

static void whole_numbers(void **state)
{
    check(WEIR_INT32, WEIR_SHAPE(3), (int32_t[]){1, 2, 3}, "[1 2 3]");
    check(WEIR_INT64, WEIR_SHAPE(3), (int64_t[]){1, -20, 300}, "[  1 -20 300]");
    check(WEIR_INT8, WEIR_SHAPE(2), (int8_t[]){-128, 127}, "[-128  127]");
    check(WEIR_UINT64, WEIR_SHAPE(2), (uint64_t[]){UINT64_MAX, 1}, "[18446744073709551615                    1]");
    check(WEIR_BOOL, WEIR_SHAPE(2), (uint8_t[]){1, 0}, "[ True False]");
    check(WEIR_QINT8, WEIR_SHAPE(2), (int8_t[]){-1, 1}, "[-1  1]");
}

static void complex_numbers(void **state)
{
    check(WEIR_COMPLEX64, WEIR_SHAPE(2), (float[]){1, 2.5f, -3, 4}, "[ 1.+2.5j -3.+4.j ]");
    check(WEIR_COMPLEX128, WEIR_SHAPE(1), (double[]){1, 1e-5}, "[ 1. +1.00000000e-05j]");
}

static void nested_brackets(void **state)
{
    check(WEIR_INT32, WEIR_SHAPE(2, 1, 2), (int32_t[]){1, 2, 3, 4}, "[[[1 2]]\n\n [[3 4]]]");
    check(WEIR_INT32, WEIR_SHAPE(2, 2), (int32_t[]){1, 2, 3, 4}, "[[1 2]\n [3 4]]");
    check(WEIR_INT32, WEIR_SHAPE(2, 1, 1, 1), (int32_t[]){1, 2}, "[[[[1]]]\n\n\n [[[2]]]]");
    check(WEIR_FLOAT, WEIR_SHAPE(3, 0), NULL, "[]");
}

static void strings(void **state)
{
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_string("abc", 3, &tensor)));
    check_print(tensor, "b'abc'");
    assert_true(weir_ok(weir_tensor_strings((const char *const[]){"a", "", "it's", "\"q\"", "'\""}, 5, &tensor)));
    check_print(tensor, "[b'a' b'' b\"it's\" b'\"q\"' b'\\'\"']");
    assert_true(weir_ok(weir_tensor_string("\t\n\r\\\0\x7f\xff", 7, &tensor)));
    check_print(tensor, "b'\\t\\n\\r\\\\\\x00\\x7f\\xff'");
    assert_true(weir_ok(weir_tensor_new(WEIR_VARIANT, WEIR_SHAPE(2), &tensor)));
    check_print(tensor, "[<variant> <variant>]");
}

/* No line reaches 75 columns, blanks at its end not counted. */
static void long_rows_are_broken(void **state)
{
    check_print(counting(WEIR_FLOAT, WEIR_SHAPE(20)),
                "[  0.   1.   2.   3.   4.   5.   6.   7.   8.   9.  10.  11.  12.  13.  14.\n"
                "  15.  16.  17.  18.  19.]");
    check_print(counting(WEIR_INT32, WEIR_SHAPE(2, 30)),
                "[[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
                "  24 25 26 27 28 29]\n"
                " [30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53\n"
                "  54 55 56 57 58 59]]");
    char wide[101] = "";
    memset(wide, 'w', 100);
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_strings((const char *const[]){wide, "x"}, 2, &tensor)));
    char wanted[128];
    snprintf(wanted, sizeof wanted, "[b'%s'\n b'x']", wide);
    check_print(tensor, wanted);
}

static void large_tensors_are_shortened(void **state)
{
    check_print(counting(WEIR_INT32, WEIR_SHAPE(1001)), "[   0    1    2 ...,  998  999 1000]");
    check_print(counting(WEIR_INT32, WEIR_SHAPE(100, 100)), "[[   0    1    2 ...,   97   98   99]\n"
                                                            " [ 100  101  102 ...,  197  198  199]\n"
                                                            " [ 200  201  202 ...,  297  298  299]\n"
                                                            " ..., \n"
                                                            " [9700 9701 9702 ..., 9797 9798 9799]\n"
                                                            " [9800 9801 9802 ..., 9897 9898 9899]\n"
                                                            " [9900 9901 9902 ..., 9997 9998 9999]]");
    check_print(counting(WEIR_INT32, WEIR_SHAPE(8, 1, 200)), "[[[   0    1    2 ...,  197  198  199]]\n\n"
                                                             " [[ 200  201  202 ...,  397  398  399]]\n\n"
                                                             " [[ 400  401  402 ...,  597  598  599]]\n\n"
                                                             " ..., \n"
                                                             " [[1000 1001 1002 ..., 1197 1198 1199]]\n\n"
                                                             " [[1200 1201 1202 ..., 1397 1398 1399]]\n\n"
                                                             " [[1400 1401 1402 ..., 1597 1598 1599]]]");
    check_print(counting(WEIR_INT32, WEIR_SHAPE(6, 200)), "[[   0    1    2 ...,  197  198  199]\n"
                                                          " [ 200  201  202 ...,  397  398  399]\n"
                                                          " [ 400  401  402 ...,  597  598  599]\n"
                                                          " [ 600  601  602 ...,  797  798  799]\n"
                                                          " [ 800  801  802 ...,  997  998  999]\n"
                                                          " [1000 1001 1002 ..., 1197 1198 1199]]");
}

/* Only what is shown decides how it is written. */
static void hidden_numbers_do_not_matter(void **state)
{
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(2000), &tensor)));
    weir_tensor_floats(tensor)[1000] = 1e20f;
    check_print(tensor, "[ 0.  0.  0. ...,  0.  0.  0.]");
}

static void a_thousand_elements_are_shown(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    weir_tensor *tensor = counting(WEIR_INT32, WEIR_SHAPE(1000));
    weir_status status = weir_tensor_print(tensor, stream);
    fclose(stream);
    weir_tensor_free(tensor);
    assert_true(weir_ok(status));
    assert_null(strstr(text, "..."));
    assert_non_null(strstr(text, " 500 501 "));
    free(text);
}

static void full_disks_are_reported(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    if (full == NULL)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    weir_tensor *tensor = counting(WEIR_INT32, WEIR_SHAPE(10));
    weir_status status = weir_tensor_print(tensor, full);
    fclose(full);
    weir_tensor_free(tensor);
    assert_false(weir_ok(status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_arrays),
        cmocka_unit_test(exponents),
        cmocka_unit_test(special_numbers),
        cmocka_unit_test(scalars),
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(complex_numbers),
        cmocka_unit_test(nested_brackets),
        cmocka_unit_test(strings),
        cmocka_unit_test(long_rows_are_broken),
        cmocka_unit_test(large_tensors_are_shortened),
        cmocka_unit_test(hidden_numbers_do_not_matter),
        cmocka_unit_test(a_thousand_elements_are_shown),
        cmocka_unit_test(full_disks_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
