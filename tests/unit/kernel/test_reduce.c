/*
 * Reductions against sums in double, one element at a time: every operation and type, any axes, sizes that leave rests,
 * nothing at all, NaN, few outputs of many elements; the same bits with any team.
 */
#include "kernel_data.h"

#include <complex.h>

#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/reduce.h"
#include "kernel/cpu/reduce_loops.h"

#define TIER_TABLE(tier) extern const weir_reduce_kernels weir_reduce_kernels_##tier;
WEIR_CPU_TIERS(TIER_TABLE)
#define TIER_ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_reduce_kernels_##tier,
static const weir_reduce_kernels *const tier_kernels[] = {WEIR_CPU_TIERS(TIER_ENTRY)};

/* ---- references -------------------------------------------------------------------------------------------------- */

static double start_of(weir_reduce_op op)
{
    return op == WEIR_REDUCE_PROD || op == WEIR_REDUCE_ALL ? 1
           : op == WEIR_REDUCE_MAX                         ? -INFINITY
           : op == WEIR_REDUCE_MIN                         ? INFINITY
                                                           : 0;
}

static double take(weir_reduce_op op, double sum, double x)
{
    switch (op) {
    case WEIR_REDUCE_SUM:
    case WEIR_REDUCE_MEAN:
        return sum + x;
    case WEIR_REDUCE_PROD:
        return sum * x;
    case WEIR_REDUCE_MAX:
        return isnan(x) || isnan(sum) ? NAN : x > sum ? x : sum;
    case WEIR_REDUCE_MIN:
        return isnan(x) || isnan(sum) ? NAN : x < sum ? x : sum;
    case WEIR_REDUCE_ALL:
        return sum != 0 && x != 0;
    case WEIR_REDUCE_ANY:
        return sum != 0 || x != 0;
    default:
        return sum + x * x;
    }
}

static double finish(weir_reduce_op op, double sum, double count)
{
    return op == WEIR_REDUCE_MEAN             ? sum / count
           : op == WEIR_REDUCE_L2_LOSS        ? sum / 2
           : op == WEIR_REDUCE_EUCLIDEAN_NORM ? sqrt(sum)
                                              : sum;
}

/* Which output an element goes to. */
static int64_t output_of(weir_shape x, const bool *reduced, int64_t index)
{
    int64_t output = 0, step = 1;
    for (int axis = x.rank - 1; axis >= 0; axis--) {
        if (!reduced[axis]) {
            output += index % x.dims[axis] * step;
            step *= x.dims[axis];
        }
        index /= x.dims[axis];
    }
    return output;
}

/* ---- float ------------------------------------------------------------------------------------------------------- */

static void check_float(weir_reduce_op op, weir_shape shape, const bool *reduced)
{
    int64_t n = elements_of(shape), outputs = 1, count = 1;
    for (int axis = 0; axis < shape.rank; axis++) {
        if (reduced[axis] || op == WEIR_REDUCE_L2_LOSS)
            count *= shape.dims[axis];
        else
            outputs *= shape.dims[axis];
    }
    float *x = random_floats(n, -1, 2);
    if (op == WEIR_REDUCE_PROD)
        for (int64_t i = 0; i < n; i++)
            x[i] = (float)random_between(0.99, 1.01) * (i % 3 ? 1 : -1);
    double *exact = malloc((size_t)(outputs + 1) * sizeof *exact), *size = calloc((size_t)outputs + 1, sizeof *size);
    for (int64_t i = 0; i < outputs; i++)
        exact[i] = start_of(op);
    for (int64_t i = 0; i < n; i++) {
        int64_t output = op == WEIR_REDUCE_L2_LOSS ? 0 : output_of(shape, reduced, i);
        exact[output] = take(op, exact[output], x[i]);
        size[output] += fabs((double)x[i]);
    }
    weir_reduce_plan plan;
    assert_true(weir_reduce_prepare(op, WEIR_FLOAT, &shape, reduced, &plan));
    void *scratch = guarded_new(weir_reduce_scratch(&plan));
    float *first = guarded_new((size_t)outputs * 4), *other = guarded_new((size_t)outputs * 4);
    weir_reduce_run(&plan, NULL, x, scratch, first);
    for (int64_t i = 0; i < outputs; i++) {
        double result = finish(op, exact[i], (double)count);
        bool adds = op == WEIR_REDUCE_SUM || op == WEIR_REDUCE_MEAN;
        double allowed = adds ? size[i] / (op == WEIR_REDUCE_MEAN ? (double)count : 1) * 3e-7 + fabs(result) * 1e-7
                              : fabs(result) * (op == WEIR_REDUCE_MAX || op == WEIR_REDUCE_MIN ? 0 : 3e-7);
        if (!(fabs(first[i] - result) <= allowed) && !(isnan(first[i]) && isnan(result)) && first[i] != result)
            fail_msg("op %d, output %lld of %lld, %lld each: %.9g, not %.9g", (int)op, (long long)i, (long long)outputs,
                     (long long)count, first[i], result);
    }
    for (int t = 1; t < TEAMS; t++) {
        weir_reduce_run(&plan, teams[t], x, scratch, other);
        assert_memory_equal(first, other, (size_t)outputs * 4);
    }
    guarded_free(x), guarded_free(scratch), guarded_free(first), guarded_free(other);
    free(exact), free(size);
}

static void check_all(weir_shape shape)
{
    for (int op = 0; op < WEIR_REDUCE_COUNT; op++) {
        if (!weir_reduce_supports((weir_reduce_op)op, WEIR_FLOAT))
            continue;
        for (int mask = 0; mask < 1 << shape.rank; mask++) {
            bool reduced[WEIR_MAX_RANK] = {false};
            for (int axis = 0; axis < shape.rank; axis++)
                reduced[axis] = mask >> axis & 1;
            check_float((weir_reduce_op)op, shape, reduced);
        }
    }
}

static void test_float(void **state)
{
    (void)state;
    check_all(SCALAR_SHAPE);
    check_all(SHAPE(1));
    check_all(SHAPE(1, 1));
    static const int64_t sizes[] = {2, 3, 15, 16, 17, 63, 64, 65, 1023, 1024, 1025, 5003, 40000, 300001};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_all(SHAPE(sizes[i]));
    check_all(SHAPE(3, 5));
    check_all(SHAPE(1000, 10));
    check_all(SHAPE(10, 1000));
    check_all(SHAPE(70, 784));
    check_all(SHAPE(20000, 6));
    check_all(SHAPE(4, 30001));
    check_all(SHAPE(2, 1, 3, 4));
    check_all(SHAPE(7, 300, 33));
    check_all(SHAPE(13, 9, 1, 21, 5));
    check_all(SHAPE(2, 3, 2, 3, 2, 3, 2));
    check_all(SHAPE(0, 3));
    check_all(SHAPE(3, 0));
    check_all(SHAPE(0));
}

/* Every tier's own loops, with more rows than are summed at a time and columns that leave rests. */
static void test_tiers(void **state)
{
    (void)state;
    enum { ROWS = 75, MOST = 300 };
    for (int tier = 0; tier <= (int)weir_cpu_tier_best(); tier++)
        for (int64_t n = 1; n < MOST; n += n < 40 ? 1 : 37) {
            const weir_reduce_kernels *kernels = tier_kernels[tier];
            int64_t stride = n + 3;
            float *x = random_floats(ROWS * stride, -1, 1);
            double sums[MOST] = {0}, squares[MOST] = {0}, row_sums[ROWS] = {0}, row_squares[ROWS] = {0};
            float largest[MOST], smallest[MOST], row_largest[ROWS], row_smallest[ROWS];
            for (int64_t i = 0; i < MOST; i++) {
                largest[i] = -INFINITY, smallest[i] = INFINITY;
                row_largest[i % ROWS] = -INFINITY, row_smallest[i % ROWS] = INFINITY;
            }
            kernels->sum_columns(x, stride, ROWS, n, sums);
            kernels->square_columns(x, stride, ROWS, n, squares);
            kernels->max_columns(x, stride, ROWS, n, largest);
            kernels->min_columns(x, stride, ROWS, n, smallest);
            kernels->sum_rows(x, stride, ROWS, n, row_sums);
            kernels->square_rows(x, stride, ROWS, n, row_squares);
            kernels->max_rows(x, stride, ROWS, n, row_largest);
            kernels->min_rows(x, stride, ROWS, n, row_smallest);
            for (int64_t i = 0; i < n; i++) {
                double sum = 0, square = 0, high = -INFINITY, low = INFINITY;
                for (int64_t row = 0; row < ROWS; row++) {
                    double e = x[row * stride + i];
                    sum += e, square += e * e, high = fmax(high, e), low = fmin(low, e);
                }
                assert_true(fabs(sums[i] - sum) < 5e-6 && fabs(squares[i] - square) < 5e-6);
                assert_true(largest[i] == high && smallest[i] == low);
            }
            for (int64_t row = 0; row < ROWS; row++) {
                double sum = 0, square = 0, high = -INFINITY, low = INFINITY;
                for (int64_t i = 0; i < n; i++) {
                    double e = x[row * stride + i];
                    sum += e, square += e * e, high = fmax(high, e), low = fmin(low, e);
                }
                assert_true(fabs(row_sums[row] - sum) < 1e-5 && fabs(row_squares[row] - square) < 1e-5);
                assert_true(row_largest[row] == high && row_smallest[row] == low);
            }
            guarded_free(x);
        }
}

static void test_bias_add_grad(void **state)
{
    (void)state;
    enum { OUTER = 20, CHANNELS = 5, INNER = 49 };
    float *x = random_floats(OUTER * CHANNELS * INNER, -1, 1), out[CHANNELS];
    weir_reduce_plan plan;
    assert_true(weir_bias_add_grad_prepare(WEIR_FLOAT, OUTER, CHANNELS, INNER, &plan));
    void *scratch = guarded_new(weir_reduce_scratch(&plan));
    weir_reduce_run(&plan, NULL, x, scratch, out);
    for (int c = 0; c < CHANNELS; c++) {
        double sum = 0;
        for (int i = 0; i < OUTER * INNER; i++)
            sum += x[(i / INNER * CHANNELS + c) * INNER + i % INNER];
        assert_true(fabs(out[c] - sum) < 1e-5);
    }
    guarded_free(scratch);
    guarded_free(x);
}

/* Many equal parts whose float sum would stop growing: 20 million times 0.1. */
static void test_accuracy(void **state)
{
    (void)state;
    enum { COUNT = 20000000 };
    float *x = malloc(COUNT * sizeof *x), out;
    assert_non_null(x);
    for (int i = 0; i < COUNT; i++)
        x[i] = 0.1f;
    weir_shape shape = SHAPE(COUNT);
    bool reduced[] = {true};
    weir_reduce_plan plan;
    assert_true(weir_reduce_prepare(WEIR_REDUCE_SUM, WEIR_FLOAT, &shape, reduced, &plan));
    void *scratch = guarded_new(weir_reduce_scratch(&plan));
    weir_reduce_run(&plan, teams[1], x, scratch, &out);
    assert_true(fabs(out - 0.1f * (double)COUNT) <= 0.5);
    assert_true(weir_reduce_prepare(WEIR_REDUCE_L2_LOSS, WEIR_FLOAT, &shape, reduced, &plan));
    weir_reduce_run(&plan, teams[1], x, scratch, &out);
    assert_true(fabs(out / (0.005 * COUNT) - 1) < 1e-6);
    guarded_free(scratch);
    free(x);
}

static void test_nan(void **state)
{
    (void)state;
    enum { ROWS = 50, COLUMNS = 37 };
    weir_shape shape = SHAPE(ROWS, COLUMNS);
    for (int op = WEIR_REDUCE_MAX; op <= WEIR_REDUCE_MIN; op++)
        for (int axis = 0; axis < 2; axis++)
            for (int at = 0; at < ROWS * COLUMNS; at += 31) {
                float *x = random_floats(ROWS * COLUMNS, -1, 1), out[ROWS];
                x[at] = NAN;
                bool reduced[2] = {axis == 0, axis == 1};
                weir_reduce_plan plan;
                assert_true(weir_reduce_prepare((weir_reduce_op)op, WEIR_FLOAT, &shape, reduced, &plan));
                weir_reduce_run(&plan, NULL, x, NULL, out);
                int marked = axis == 0 ? at % COLUMNS : at / COLUMNS;
                for (int i = 0; i < (axis == 0 ? COLUMNS : ROWS); i++)
                    assert_int_equal(isnan(out[i]) != 0, i == marked);
                guarded_free(x);
            }
}

/* ---- other types ------------------------------------------------------------------------------------------------- */

static void reduce_line(weir_reduce_op op, weir_dtype type, const void *x, int64_t n, void *out)
{
    weir_shape shape = SHAPE(n);
    bool reduced[] = {true};
    weir_reduce_plan plan;
    assert_true(weir_reduce_prepare(op, type, &shape, reduced, &plan));
    void *scratch = guarded_new(weir_reduce_scratch(&plan));
    weir_reduce_run(&plan, teams[2], x, scratch, out);
    guarded_free(scratch);
}

static void test_integers(void **state)
{
    (void)state;
    int32_t x[7] = {1, 2, 4, -1, -2, -4, INT32_MAX}, out;
    reduce_line(WEIR_REDUCE_MEAN, WEIR_INT32, x, 3, &out);
    assert_int_equal(out, 2);
    reduce_line(WEIR_REDUCE_MEAN, WEIR_INT32, x + 3, 3, &out);
    assert_int_equal(out, -2);
    reduce_line(WEIR_REDUCE_SUM, WEIR_INT32, x, 7, &out);
    assert_int_equal(out, INT32_MAX);
    reduce_line(WEIR_REDUCE_PROD, WEIR_INT32, x, 6, &out);
    assert_int_equal(out, -64);
    reduce_line(WEIR_REDUCE_MAX, WEIR_INT32, x, 0, &out);
    assert_int_equal(out, INT32_MIN);
    reduce_line(WEIR_REDUCE_MIN, WEIR_INT32, x, 0, &out);
    assert_int_equal(out, INT32_MAX);
    reduce_line(WEIR_REDUCE_MEAN, WEIR_INT32, x, 0, &out);
    uint8_t bytes[300], byte;
    memset(bytes, 200, sizeof bytes);
    reduce_line(WEIR_REDUCE_SUM, WEIR_UINT8, bytes, 300, &byte);
    assert_int_equal(byte, 300 * 200 % 256);
    reduce_line(WEIR_REDUCE_MEAN, WEIR_UINT8, bytes, 256, &byte); /* the count wraps to 0: no trap */
    int64_t *large = guarded_new(100000 * 8), sum, exact = 0;
    for (int i = 0; i < 100000; i++) {
        large[i] = (int64_t)random_bits() >> 8;
        exact = (int64_t)((uint64_t)exact + (uint64_t)large[i]);
    }
    reduce_line(WEIR_REDUCE_SUM, WEIR_INT64, large, 100000, &sum);
    assert_true(sum == exact);
    guarded_free(large);
    assert_false(weir_reduce_supports(WEIR_REDUCE_SUM, WEIR_BOOL));
    assert_false(weir_reduce_supports(WEIR_REDUCE_MAX, WEIR_COMPLEX64));
}

static void test_other_types(void **state)
{
    (void)state;
    enum { COUNT = 100003 };
    double *x = guarded_new(COUNT * 8), out, exact = 0, size = 0;
    uint16_t *half = guarded_new(COUNT * 2), half_out;
    for (int i = 0; i < COUNT; i++) {
        x[i] = random_between(-1, 1);
        exact += x[i];
        size += fabs(x[i]);
    }
    reduce_line(WEIR_REDUCE_SUM, WEIR_DOUBLE, x, COUNT, &out);
    assert_true(fabs(out - exact) < size * 1e-14);
    double sum = 0;
    for (int i = 0; i < 1000; i++) {
        half[i] = half_of_float((float)x[i]);
        sum += float_of_half(half[i]);
    }
    reduce_line(WEIR_REDUCE_SUM, WEIR_HALF, half, 1000, &half_out);
    assert_int_equal(half_out, half_of_float((float)sum));
    reduce_line(WEIR_REDUCE_MAX, WEIR_HALF, half, 0, &half_out);
    assert_int_equal(half_out, 0xfc00);
    float complex z[3] = {1 + I, 2, -3 * I}, z_out;
    reduce_line(WEIR_REDUCE_SUM, WEIR_COMPLEX64, z, 3, &z_out);
    assert_true(z_out == 3 - 2 * I);
    reduce_line(WEIR_REDUCE_PROD, WEIR_COMPLEX64, z, 3, &z_out);
    assert_true(z_out == 6 - 6 * I);
    bool truth[3] = {true, false, true}, all;
    reduce_line(WEIR_REDUCE_ALL, WEIR_BOOL, truth, 3, &all);
    assert_false(all);
    reduce_line(WEIR_REDUCE_ANY, WEIR_BOOL, truth, 3, &all);
    assert_true(all);
    reduce_line(WEIR_REDUCE_ALL, WEIR_BOOL, truth, 0, &all);
    assert_true(all);
    reduce_line(WEIR_REDUCE_ANY, WEIR_BOOL, truth, 0, &all);
    assert_false(all);
    reduce_line(WEIR_REDUCE_MEAN, WEIR_DOUBLE, x, 0, &out);
    assert_true(isnan(out));
    guarded_free(x);
    guarded_free(half);
}

/* ---- positions, running sums ------------------------------------------------------------------------------------- */

static void test_positions(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 10, 1}, {700, 10, 1}, {3, 50, 7}, {1, 1, 5}, {200, 3, 200}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        int64_t outer = shapes[s][0], size = shapes[s][1], inner = shapes[s][2];
        float *x = random_floats(outer * size * inner, -3, 3);
        int64_t *out = guarded_new((size_t)(outer * inner) * 8);
        int32_t *narrow = guarded_new((size_t)(outer * inner) * 4);
        for (int64_t i = 0; i < outer * size * inner; i++)
            x[i] = rintf(x[i]); /* many ties */
        for (int largest = 0; largest < 2; largest++) {
            weir_arg_find(largest, WEIR_FLOAT, WEIR_INT64)(teams[2], x, outer, size, inner, out);
            weir_arg_find(largest, WEIR_FLOAT, WEIR_INT32)(NULL, x, outer, size, inner, narrow);
            for (int64_t i = 0; i < outer * inner; i++) {
                const float *line = x + i / inner * inner * size + i % inner;
                int64_t best = 0;
                for (int64_t k = 1; k < size; k++)
                    if (largest ? line[k * inner] > line[best * inner] : line[k * inner] < line[best * inner])
                        best = k;
                assert_int_equal(out[i], best);
                assert_int_equal(narrow[i], best);
            }
        }
        guarded_free(x);
        guarded_free(out);
        guarded_free(narrow);
    }
    float special[4] = {NAN, -1, NAN, 3};
    int64_t at;
    weir_arg_find(true, WEIR_FLOAT, WEIR_INT64)(NULL, special, 1, 4, 1, &at);
    assert_int_equal(at, 3);
    weir_arg_find(false, WEIR_FLOAT, WEIR_INT64)(NULL, special, 1, 4, 1, &at);
    assert_int_equal(at, 1);
    weir_arg_find(true, WEIR_FLOAT, WEIR_INT64)(NULL, special, 1, 1, 1, &at);
    assert_int_equal(at, 0);
    assert_null(weir_arg_find(true, WEIR_STRING, WEIR_INT64));
    assert_null(weir_arg_find(true, WEIR_FLOAT, WEIR_FLOAT));
}

static void test_cumulate(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 10, 1}, {300, 100, 1}, {3, 50, 7}, {1, 1, 5}, {20, 0, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int mode = 0; mode < 8; mode++) {
            int64_t outer = shapes[s][0], size = shapes[s][1], inner = shapes[s][2], n = outer * size * inner;
            bool product = mode & 1, exclusive = mode & 2, reverse = mode & 4;
            float *x = random_floats(n, 0.8, 1.2), *out = guarded_new((size_t)n * 4);
            weir_cumulate_function *cumulate = weir_cumulate_find(product, WEIR_FLOAT);
            cumulate(teams[1], x, outer, size, inner, exclusive, reverse, out);
            for (int64_t line = 0; line < outer * inner; line++) {
                double running = product;
                for (int64_t i = 0; i < size; i++) {
                    int64_t k = reverse ? size - 1 - i : i;
                    int64_t at = (line / inner * size + k) * inner + line % inner;
                    double next = product ? running * x[at] : running + x[at];
                    assert_true(ulps(out[at], exclusive ? running : next) <= 1);
                    running = next;
                }
            }
            cumulate(NULL, x, outer, size, inner, exclusive, reverse, x);
            assert_memory_equal(x, out, (size_t)n * 4);
            guarded_free(x);
            guarded_free(out);
        }
    int32_t whole[4] = {1, 2, 3, 4};
    weir_cumulate_find(false, WEIR_INT32)(NULL, whole, 1, 4, 1, true, true, whole);
    assert_true(whole[0] == 9 && whole[1] == 7 && whole[2] == 4 && whole[3] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float),       cmocka_unit_test(test_tiers),     cmocka_unit_test(test_bias_add_grad),
        cmocka_unit_test(test_accuracy),    cmocka_unit_test(test_nan),       cmocka_unit_test(test_integers),
        cmocka_unit_test(test_other_types), cmocka_unit_test(test_positions), cmocka_unit_test(test_cumulate),
    };
    return cmocka_run_group_tests(tests, teams_start, teams_stop);
}
