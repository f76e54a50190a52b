/*
 * Softmax and cross-entropy against formulas in double: all widths of rows, extreme logits, faulty labels, every type.
 */
#include "kernel_data.h"

#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/softmax.h"
#include "kernel/cpu/softmax_rows.h"

#define TIER_TABLE(tier) extern const weir_softmax_kernels weir_softmax_kernels_##tier;
WEIR_CPU_TIERS(TIER_TABLE)
#define TIER_ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_softmax_kernels_##tier,
static const weir_softmax_kernels *const tier_kernels[] = {WEIR_CPU_TIERS(TIER_ENTRY)};

/* A row's maximum and the logarithm of the sum of exp(x - maximum). */
static double log_sum(const float *x, int64_t n, double *maximum)
{
    double sum = 0;
    *maximum = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        *maximum = x[i] > *maximum ? x[i] : *maximum;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - *maximum);
    return log(sum);
}

static void assert_close(double value, double exact, double relative)
{
    if (!(fabs(value - exact) <= fabs(exact) * relative + 2e-7))
        fail_msg("%.9g, not %.9g", value, exact);
}

static void check_float(int64_t rows, int64_t classes, double range)
{
    int64_t n = rows * classes;
    float *x = random_floats(n, -range, range), *labels = random_floats(n, 0, 1);
    int32_t *numbers = guarded_new((size_t)rows * 4);
    int64_t *wide_numbers = guarded_new((size_t)rows * 8);
    for (int64_t i = 0; i < rows; i++)
        wide_numbers[i] = numbers[i] = (int32_t)random_whole(0, classes - 1);
    float *out[2], *loss[2];
    for (int i = 0; i < 2; i++) {
        out[i] = guarded_new((size_t)n * 4);
        loss[i] = guarded_new((size_t)rows * 4);
    }
    for (int t = 0; t < TEAMS; t++) {
        int to = t > 0;
        weir_softmax_find(WEIR_FLOAT, false)(teams[t], x, rows, classes, out[to]);
        double maximum = 0, sum = 0;
        for (int64_t i = 0; i < n && t == 0; i++) {
            if (i % classes == 0)
                sum = log_sum(x + i, classes, &maximum);
            assert_close(out[0][i], exp(x[i] - maximum - sum), 1e-6);
        }
        assert_memory_equal(out[0], out[to], (size_t)n * 4);
    }
    for (int t = 0; t < TEAMS; t++) {
        int to = t > 0;
        weir_softmax_find(WEIR_FLOAT, true)(teams[t], x, rows, classes, out[to]);
        double maximum = 0, sum = 0;
        for (int64_t i = 0; i < n && t == 0; i++) {
            if (i % classes == 0)
                sum = log_sum(x + i, classes, &maximum);
            assert_close(out[0][i], x[i] - maximum - sum, 1e-6);
        }
        assert_memory_equal(out[0], out[to], (size_t)n * 4);
    }
    for (int t = 0; t < TEAMS; t++) {
        int to = t > 0;
        weir_cross_entropy_find(WEIR_FLOAT)(teams[t], x, labels, rows, classes, loss[to], out[to]);
        for (int64_t row = 0; row < rows && t == 0; row++) {
            double maximum, exact = 0, sum = log_sum(x + row * classes, classes, &maximum);
            for (int64_t i = row * classes; i < (row + 1) * classes; i++) {
                exact += labels[i] * (sum - (x[i] - maximum));
                assert_true(fabs(out[0][i] - (exp(x[i] - maximum - sum) - labels[i])) < 1e-6);
            }
            assert_close(loss[0][row], exact, 1e-6);
        }
        assert_memory_equal(out[0], out[to], (size_t)n * 4);
        assert_memory_equal(loss[0], loss[to], (size_t)rows * 4);
    }
    for (int t = 0; t < TEAMS; t++) {
        int to = t > 0;
        const void *given = t % 2 ? (const void *)numbers : (const void *)wide_numbers;
        weir_dtype type = t % 2 ? WEIR_INT32 : WEIR_INT64;
        assert_int_equal(
            weir_sparse_cross_entropy_find(WEIR_FLOAT, type)(teams[t], x, given, rows, classes, loss[to], out[to]), -1);
        for (int64_t row = 0; row < rows && t == 0; row++) {
            double maximum, sum = log_sum(x + row * classes, classes, &maximum);
            for (int64_t i = 0; i < classes; i++)
                assert_true(fabs(out[0][row * classes + i] -
                                 (exp(x[row * classes + i] - maximum - sum) - (i == numbers[row]))) < 1e-6);
            assert_close(loss[0][row], sum - (x[row * classes + numbers[row]] - maximum), 1e-6);
        }
        assert_memory_equal(out[0], out[to], (size_t)n * 4);
        assert_memory_equal(loss[0], loss[to], (size_t)rows * 4);
    }
    /* In place, and without the second output. */
    float *again = guarded_new((size_t)rows * 4);
    weir_sparse_cross_entropy_find(WEIR_FLOAT, WEIR_INT32)(NULL, x, numbers, rows, classes, again, NULL);
    assert_memory_equal(again, loss[0], (size_t)rows * 4);
    weir_sparse_cross_entropy_find(WEIR_FLOAT, WEIR_INT32)(NULL, x, numbers, rows, classes, again, x);
    assert_memory_equal(again, loss[0], (size_t)rows * 4);
    assert_memory_equal(x, out[0], (size_t)n * 4);
    guarded_free(again), guarded_free(x), guarded_free(labels), guarded_free(numbers), guarded_free(wide_numbers);
    for (int i = 0; i < 2; i++)
        guarded_free(out[i]), guarded_free(loss[i]);
}

static void test_float(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 2, 3, 7, 8, 10, 15, 16, 17, 31, 32, 33, 100, 1000, 1023, 1025, 5000};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        check_float(1, widths[w], 5);
        check_float(37, widths[w], 20);
    }
    check_float(3000, 10, 10);
}

static void test_tiers(void **state)
{
    (void)state;
    enum { ROWS = 50 };
    for (int tier = 0; tier <= (int)weir_cpu_tier_best(); tier++)
        for (int64_t classes = 1; classes < 40; classes++) {
            float *x = random_floats(ROWS * classes, -30, 30), *out = guarded_new((size_t)(ROWS * classes) * 4);
            tier_kernels[tier]->softmax(x, ROWS, classes, out);
            for (int64_t i = 0; i < ROWS * classes; i++) {
                double maximum, sum = log_sum(x + i / classes * classes, classes, &maximum);
                assert_close(out[i], exp(x[i] - maximum - sum), 1e-6);
            }
            guarded_free(x);
            guarded_free(out);
        }
}

static void test_extremes(void **state)
{
    (void)state;
    float x[6] = {1000, 0, -1000, 1e4f, -1e4f, 1e4f}, labels[6] = {0, 1, 0, 0, 1, 0}, loss[2], out[6];
    weir_cross_entropy_find(WEIR_FLOAT)(NULL, x, labels, 2, 3, loss, out);
    assert_true(loss[0] == 1000 && out[0] == 1 && out[1] == -1 && out[2] == 0);
    assert_true(fabs(loss[1] - (20000 + log(2))) < 2e-3 && out[3] == 0.5f && out[4] == -1 && out[5] == 0.5f);
    int32_t numbers[2] = {1, 1};
    assert_int_equal(weir_sparse_cross_entropy_find(WEIR_FLOAT, WEIR_INT32)(NULL, x, numbers, 2, 3, loss, out), -1);
    assert_true(loss[0] == 1000 && out[0] == 1 && out[1] == -1 && out[2] == 0);
    float special[15] = {INFINITY, 1, 2, NAN, 1, 2, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 1, 2, 7, 7, 7};
    float result[15];
    for (int logarithm = 0; logarithm < 2; logarithm++) {
        weir_softmax_find(WEIR_FLOAT, logarithm)(NULL, special, 5, 3, result);
        for (int i = 0; i < 9; i++)
            assert_true(isnan(result[i]));
        assert_true(logarithm ? result[9] == -INFINITY : result[9] == 0);
        assert_true(fabs(result[12] - (logarithm ? log(1 / 3.0) : 1 / 3.0)) < 1e-6);
    }
    float long_row[40];
    for (int i = 0; i < 40; i++)
        long_row[i] = i == 33 ? NAN : 1;
    weir_softmax_find(WEIR_FLOAT, false)(NULL, long_row, 1, 40, long_row);
    for (int i = 0; i < 40; i++)
        assert_true(isnan(long_row[i]));
    weir_softmax_find(WEIR_FLOAT, false)(NULL, x, 0, 3, out);
    weir_softmax_find(WEIR_FLOAT, false)(NULL, x, 2, 0, out);
}

static void test_labels(void **state)
{
    (void)state;
    float x[9] = {0}, loss[3], out[9];
    int32_t numbers[3] = {1, 3, -1};
    weir_sparse_cross_entropy_function *narrow = weir_sparse_cross_entropy_find(WEIR_FLOAT, WEIR_INT32);
    assert_int_equal(narrow(NULL, x, numbers, 3, 3, loss, out), 1);
    numbers[1] = 2;
    assert_int_equal(narrow(NULL, x, numbers, 3, 3, loss, out), 2);
    numbers[2] = 0;
    assert_int_equal(narrow(NULL, x, numbers, 3, 3, loss, out), -1);
    assert_null(weir_sparse_cross_entropy_find(WEIR_FLOAT, WEIR_FLOAT));
    assert_null(weir_softmax_find(WEIR_INT32, false));
    assert_null(weir_cross_entropy_find(WEIR_INT32));
}

static void test_types(void **state)
{
    (void)state;
    enum { ROWS = 11, CLASSES = 13, COUNT = ROWS * CLASSES };
    double x[COUNT], labels[COUNT], out[COUNT], loss[ROWS];
    uint16_t half[COUNT], half_labels[COUNT], half_out[COUNT], half_loss[ROWS];
    float single[COUNT];
    int32_t numbers[ROWS];
    for (int i = 0; i < COUNT; i++) {
        half[i] = half_of_float((float)random_between(-4, 4));
        half_labels[i] = half_of_float((float)random_between(0, 1));
        x[i] = single[i] = float_of_half(half[i]);
        labels[i] = float_of_half(half_labels[i]);
        numbers[i % ROWS] = i % CLASSES;
    }
    weir_softmax_find(WEIR_DOUBLE, false)(teams[1], x, ROWS, CLASSES, out);
    weir_softmax_find(WEIR_HALF, false)(teams[1], half, ROWS, CLASSES, half_out);
    for (int i = 0; i < COUNT; i++) {
        double maximum, sum = log_sum(single + i / CLASSES * CLASSES, CLASSES, &maximum);
        assert_true(fabs(out[i] - exp(x[i] - maximum - sum)) < 1e-14);
        assert_true(fabs(float_of_half(half_out[i]) - out[i]) <= out[i] * 0x1p-11 * 1.01 + 0x1p-25);
    }
    weir_cross_entropy_find(WEIR_DOUBLE)(teams[1], x, labels, ROWS, CLASSES, loss, out);
    weir_cross_entropy_find(WEIR_HALF)(teams[1], half, half_labels, ROWS, CLASSES, half_loss, half_out);
    for (int row = 0; row < ROWS; row++) {
        double maximum, exact = 0, sum = log_sum(single + row * CLASSES, CLASSES, &maximum);
        for (int i = row * CLASSES; i < (row + 1) * CLASSES; i++) {
            exact += labels[i] * (sum - (x[i] - maximum));
            assert_true(fabs(out[i] - (exp(x[i] - maximum - sum) - labels[i])) < 1e-14);
        }
        assert_true(fabs(loss[row] - exact) < 1e-13);
        assert_true(fabs(float_of_half(half_loss[row]) - exact) <= exact * 0x1p-11 * 1.01);
    }
    weir_sparse_cross_entropy_find(WEIR_DOUBLE, WEIR_INT32)(NULL, x, numbers, ROWS, CLASSES, loss, out);
    for (int row = 0; row < ROWS; row++) {
        double maximum, sum = log_sum(single + row * CLASSES, CLASSES, &maximum);
        assert_true(fabs(loss[row] - (sum - (x[row * CLASSES + numbers[row]] - maximum))) < 1e-13);
    }
}

static void test_in_top_k(void **state)
{
    (void)state;
    float x[12] = {1, 2, 2, 0, 0.1f, 0.9f, NAN, 0.3f, INFINITY, 1, 2, 3};
    int32_t targets[3] = {0, 1, 0};
    bool out[3];
    weir_are_in_top_k(NULL, x, targets, WEIR_INT32, 2, 3, 4, out);
    assert_true(!out[0] && !out[1] && !out[2]);
    weir_are_in_top_k(NULL, x, targets, WEIR_INT32, 3, 3, 4, out);
    assert_true(out[0] && !out[1] && !out[2]);
    int64_t wide[1] = {2};
    weir_are_in_top_k(NULL, x, wide, WEIR_INT64, 1, 1, 4, out); /* ties at the border count */
    assert_true(out[0]);
    wide[0] = 4;
    weir_are_in_top_k(NULL, x, wide, WEIR_INT64, 4, 1, 4, out);
    assert_false(out[0]);
    wide[0] = -1;
    weir_are_in_top_k(NULL, x, wide, WEIR_INT64, 4, 1, 4, out);
    assert_false(out[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float),  cmocka_unit_test(test_tiers), cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_labels), cmocka_unit_test(test_types), cmocka_unit_test(test_in_top_k),
    };
    return cmocka_run_group_tests(tests, teams_start, teams_stop);
}
