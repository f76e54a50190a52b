/*
 * The product against sums in double: every tier, route, transpose and tail, strides, batches, epilogues; the same bits
 * with any team; nothing written or read outside (inputs have their exact size, so the address sanitizer sees a step
 * too far).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/cpu/matmul.h"
#include "kernel/cpu/narrow_floats.h"
#include "unit/kernel/kernel_test.h"

/* Relative to the sum of |a * b|. */
static const double float_tolerance = 3e-6;

/* Elements that a matrix takes up to its last one. */
static int64_t extent(int64_t rows, int64_t columns, int64_t stride, int64_t batch, int64_t batch_stride)
{
    return rows == 0 || columns == 0 ? 0 : (batch - 1) * batch_stride + (rows - 1) * stride + columns;
}

static void *scratch_of(const weir_matmul_plan *plan, int lanes)
{
    return scratch_bytes(weir_matmul_scratch(plan, lanes));
}

static void check_values(const weir_matmul_options *o, const float *a, const float *b, const float *bias,
                         const float *before, const float *c)
{
    for (int64_t q = 0; q < (o->batch ? o->batch : 1); q++)
        for (int64_t i = 0; i < o->m; i++)
            for (int64_t j = 0; j < o->n; j++) {
                double sum = 0, size = 1e-3;
                for (int64_t p = 0; p < o->k; p++) {
                    const float *pa = a + q * o->a_batch_stride, *pb = b + q * o->b_batch_stride;
                    double x = pa[o->transpose_a ? p * o->a_row_stride + i : i * o->a_row_stride + p];
                    double y = pb[o->transpose_b ? j * o->b_row_stride + p : p * o->b_row_stride + j];
                    sum += x * y;
                    size += fabs(x * y);
                }
                const int64_t at = q * o->c_batch_stride + i * o->c_row_stride + j;
                if (o->accumulate)
                    sum += before[at];
                if (o->bias)
                    sum += bias[j];
                if (o->relu && sum < 0)
                    sum = 0;
                if (!(fabs(sum - c[at]) <= float_tolerance * (size + fabs(sum))))
                    fail_msg("m %d n %d k %d ta %d tb %d acc %d at (%d, %d, %d): %g, not %g", (int)o->m, (int)o->n,
                             (int)o->k, o->transpose_a, o->transpose_b, o->accumulate, (int)q, (int)i, (int)j, c[at],
                             sum);
            }
}

/* One product on every tier and team. Strides in o are set. */
static void check(const weir_matmul_options *o)
{
    const int64_t batch = o->batch ? o->batch : 1;
    const int64_t a_size =
        extent(o->transpose_a ? o->k : o->m, o->transpose_a ? o->m : o->k, o->a_row_stride, batch, o->a_batch_stride);
    const int64_t b_size =
        extent(o->transpose_b ? o->n : o->k, o->transpose_b ? o->k : o->n, o->b_row_stride, batch, o->b_batch_stride);
    const int64_t c_size = extent(o->m, o->n, o->c_row_stride, batch, o->c_batch_stride);
    float *a = random_floats(a_size), *b = random_floats(b_size), *bias = random_floats(o->n);
    float *before = random_floats(c_size + 2 * GUARD), *c = random_floats(c_size + 2 * GUARD);
    float *first = random_floats(c_size + 2 * GUARD);
    for (int64_t i = 0; i < GUARD; i++)
        before[i] = before[GUARD + c_size + i] = GUARD_VALUE;
    for (size_t t = 0; t < sizeof tiers / sizeof *tiers; t++) {
        const weir_cpu_kernels *kernels = weir_cpu_kernels_named(tiers[t]);
        if (kernels == NULL)
            continue;
        weir_matmul_plan plan;
        weir_matmul_prepare(kernels, o, &plan);
        for (int l = 0; l < 4; l++) {
            memcpy(c, before, (size_t)(c_size + 2 * GUARD) * sizeof *c);
            void *scratch = scratch_of(&plan, team_sizes[l]);
            weir_matmul_run(&plan, teams[l], a, b, bias, c + GUARD, scratch);
            weir_release(scratch);
            if (l == 0) {
                memcpy(first, c, (size_t)(c_size + 2 * GUARD) * sizeof *c);
                check_values(o, a, b, bias, before + GUARD, c + GUARD);
            } else if (memcmp(first, c, (size_t)(c_size + 2 * GUARD) * sizeof *c) != 0)
                fail_msg("other bits with %d lanes: m %d n %d k %d", team_sizes[l], (int)o->m, (int)o->n, (int)o->k);
        }
        /* What no row of C covers is as before. */
        for (int64_t q = 0; q < batch && o->n > 0; q++)
            for (int64_t i = 0; i < o->m; i++)
                for (int64_t j = 0; j < o->n; j++)
                    first[GUARD + q * o->c_batch_stride + i * o->c_row_stride + j] =
                        before[GUARD + q * o->c_batch_stride + i * o->c_row_stride + j];
        assert_memory_equal(first, before, (size_t)(c_size + 2 * GUARD) * sizeof *c);
    }
    free(a);
    free(b);
    free(bias);
    free(before);
    free(c);
    free(first);
}

static weir_matmul_options shape(int64_t m, int64_t n, int64_t k, int kind)
{
    weir_matmul_options o = {.type = WEIR_FLOAT, .m = m, .n = n, .k = k};
    o.transpose_a = kind & 1;
    o.transpose_b = (kind >> 1) & 1;
    o.accumulate = (kind >> 2) & 1;
    o.bias = (kind >> 3) & 1;
    o.relu = (kind >> 4) & 1;
    o.a_row_stride = o.transpose_a ? m : k;
    o.b_row_stride = o.transpose_b ? k : n;
    o.c_row_stride = n;
    return o;
}

static void test_small(void **unused)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 9, 10, 13, 16, 17, 31, 32, 33, 48, 50, 65};
    for (int round = 0; round < 600; round++) {
        weir_matmul_options o =
            shape(sizes[random_below(17)], sizes[random_below(17)], sizes[random_below(17)], (int)random_below(32));
        check(&o);
    }
    for (int m = 1; m <= 20; m++)
        for (int n = 1; n <= 70; n += m % 3 + 1) {
            weir_matmul_options o = shape(m, n, 1 + random_below(20), (int)random_below(32));
            check(&o);
        }
}

static void test_large(void **unused)
{
    static const int64_t sizes[][3] = {{100, 100, 784}, {784, 100, 100}, {100, 10, 784}, {784, 10, 100}, {100, 10, 100},
                                       {100, 100, 10},  {1, 100, 784},   {1, 700, 33},   {2, 300, 200},  {784, 100, 1},
                                       {300, 1, 700},   {700, 2, 65},    {33, 20, 5000}, {5, 33, 9000},  {64, 512, 512},
                                       {40, 70, 1024},  {130, 260, 129}, {12, 260, 700}, {257, 12, 300}, {60, 14, 270}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 4; kind++) {
            weir_matmul_options o = shape(sizes[s][0], sizes[s][1], sizes[s][2], kind | (int)(s % 8) << 2);
            check(&o);
        }
}

static void test_strides_and_batches(void **unused)
{
    for (int round = 0; round < 300; round++) {
        weir_matmul_options o =
            shape(1 + random_below(40), 1 + random_below(40), 1 + random_below(90), (int)random_below(32));
        o.a_row_stride += random_below(3) * 5;
        o.b_row_stride += random_below(3) * 7;
        o.c_row_stride += random_below(3) * 3;
        o.batch = random_below(6);
        o.a_batch_stride = random_below(4) == 0 ? 0 : o.a_row_stride * (o.transpose_a ? o.k : o.m) + random_below(3);
        o.b_batch_stride = random_below(4) == 0 ? 0 : o.b_row_stride * (o.transpose_b ? o.n : o.k) + random_below(3);
        o.c_batch_stride = o.c_row_stride * o.m + random_below(3);
        check(&o);
    }
    weir_matmul_options many = shape(4, 5, 3, 2);
    many.batch = 1000;
    many.a_batch_stride = 12;
    many.b_batch_stride = 15;
    many.c_batch_stride = 20;
    check(&many);
    weir_matmul_options split = shape(10, 20, 8192, 0);
    split.batch = 2;
    split.a_batch_stride = 10 * 8192;
    split.b_batch_stride = 20 * 8192;
    split.c_batch_stride = 200;
    check(&split);
}

static void test_empty(void **unused)
{
    for (int kind = 0; kind < 32; kind++) {
        weir_matmul_options o = shape(3, 5, 0, kind);
        o.a_row_stride = o.b_row_stride = 5;
        check(&o);
        weir_matmul_options none = shape(0, 5, 4, kind);
        none.a_row_stride = none.b_row_stride = 5;
        check(&none);
        weir_matmul_options no_columns = shape(3, 0, 4, kind);
        no_columns.a_row_stride = no_columns.b_row_stride = 5;
        check(&no_columns);
    }
}

/* NaN and infinity reach exactly the results that depend on them; Relu keeps NaN. */
static void test_not_a_number(void **unused)
{
    static const int64_t sizes[][3] = {{20, 40, 30}, {1, 50, 20}, {30, 10, 200}, {50, 9, 30}, {30, 1, 40}, {8, 70, 50}};
    for (size_t t = 0; t < sizeof tiers / sizeof *tiers; t++) {
        const weir_cpu_kernels *kernels = weir_cpu_kernels_named(tiers[t]);
        for (size_t s = 0; kernels != NULL && s < sizeof sizes / sizeof *sizes; s++)
            for (int kind = 0; kind < 4; kind++) {
                const int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2], row = m / 2, column = n - 1;
                weir_matmul_options o = shape(m, n, k, kind | 16);
                float *a = random_floats(m * k), *b = random_floats(k * n), *c = random_floats(m * n);
                for (int64_t i = 0; i < k * n; i++)
                    b[i] = 1 + fabsf(b[i]);
                a[o.transpose_a ? (k - 1) * m + row : row * k + k - 1] = NAN;
                b[o.transpose_b ? column * k : column] = INFINITY;
                for (int64_t i = 0; i < m; i++)
                    a[o.transpose_a ? i : i * k] = 1;
                weir_matmul_plan plan;
                weir_matmul_prepare(kernels, &o, &plan);
                void *scratch = scratch_of(&plan, 1);
                weir_matmul_run(&plan, NULL, a, b, NULL, c, scratch);
                for (int64_t i = 0; i < m; i++)
                    for (int64_t j = 0; j < n; j++) {
                        if (i == row)
                            assert_true(isnan(c[i * n + j]));
                        else if (j == column)
                            assert_true(isinf(c[i * n + j]));
                        else
                            assert_true(isfinite(c[i * n + j]));
                    }
                weir_release(scratch);
                free(a);
                free(b);
                free(c);
            }
    }
}

/* The other types, on numbers so small that every sum is exact. */
#define TYPE_TEST(name, dtype, element, parts, from_int, to_int)                                                       \
    static void test_##name(void **unused)                                                                             \
    {                                                                                                                  \
        for (int kind = 0; kind < 32; kind++) {                                                                        \
            const int64_t m = 1 + random_below(9), n = 1 + random_below(70), k = 1 + random_below(20);                 \
            weir_matmul_options o = shape(m, n, k, parts == 2 ? kind & 15 : kind);                                     \
            o.type = dtype;                                                                                            \
            o.conjugate_a = parts == 2 && (kind & 16) != 0;                                                            \
            o.conjugate_b = parts == 2 && (kind & 8) != 0;                                                             \
            element *a = malloc((size_t)(m * k * parts) * sizeof *a),                                                  \
                    *b = malloc((size_t)(k * n * parts) * sizeof *b);                                                  \
            element *c = malloc((size_t)(m * n * parts) * sizeof *c),                                                  \
                    *before = malloc((size_t)(m * n * parts) * sizeof *c);                                             \
            element *bias = malloc((size_t)(n * parts) * sizeof *bias);                                                \
            for (int64_t i = 0; i < m * k * parts; i++)                                                                \
                a[i] = from_int((int)random_below(5) - 2);                                                             \
            for (int64_t i = 0; i < k * n * parts; i++)                                                                \
                b[i] = from_int((int)random_below(5) - 2);                                                             \
            for (int64_t i = 0; i < m * n * parts; i++)                                                                \
                c[i] = before[i] = from_int((int)random_below(5) - 2);                                                 \
            for (int64_t i = 0; i < n * parts; i++)                                                                    \
                bias[i] = from_int((int)random_below(5) - 2);                                                          \
            weir_matmul_plan plan;                                                                                     \
            weir_matmul_prepare(weir_cpu_kernels_best(), &o, &plan);                                                   \
            void *scratch = scratch_of(&plan, 3);                                                                      \
            weir_matmul_run(&plan, teams[2], a, b, bias, c, scratch);                                                  \
            for (int64_t i = 0; i < m; i++)                                                                            \
                for (int64_t j = 0; j < n; j++) {                                                                      \
                    int64_t sum[2] = {0, 0};                                                                           \
                    for (int64_t p = 0; p < k; p++) {                                                                  \
                        const element *x = a + (o.transpose_a ? p * m + i : i * k + p) * parts;                        \
                        const element *y = b + (o.transpose_b ? j * k + p : p * n + j) * parts;                        \
                        int64_t xr = to_int(x[0]), xi = parts == 2 ? to_int(x[parts - 1]) : 0;                         \
                        int64_t yr = to_int(y[0]), yi = parts == 2 ? to_int(y[parts - 1]) : 0;                         \
                        xi = o.conjugate_a ? -xi : xi;                                                                 \
                        yi = o.conjugate_b ? -yi : yi;                                                                 \
                        sum[0] += xr * yr - xi * yi;                                                                   \
                        sum[1] += xr * yi + xi * yr;                                                                   \
                    }                                                                                                  \
                    for (int part = 0; part < parts; part++) {                                                         \
                        const int64_t at = (i * n + j) * parts + part;                                                 \
                        if (o.accumulate)                                                                              \
                            sum[part] += to_int(before[at]);                                                           \
                        if (o.bias)                                                                                    \
                            sum[part] += to_int(bias[j * parts + part]);                                               \
                        if (o.relu && sum[part] < 0)                                                                   \
                            sum[part] = 0;                                                                             \
                        assert_int_equal(to_int(c[at]), sum[part]);                                                    \
                    }                                                                                                  \
                }                                                                                                      \
            weir_release(scratch);                                                                                     \
            free(a);                                                                                                   \
            free(b);                                                                                                   \
            free(c);                                                                                                   \
            free(before);                                                                                              \
            free(bias);                                                                                                \
        }                                                                                                              \
    }

#define PLAIN(x) (x)
#define TO_INT(x) ((int64_t)(x))
#define HALF_FROM(x) half_of_float((float)(x))
#define HALF_TO(x) ((int64_t)float_of_half(x))
#define BFLOAT16_FROM(x) bfloat16_of_float((float)(x))
#define BFLOAT16_TO(x) ((int64_t)float_of_bfloat16(x))
TYPE_TEST(double, WEIR_DOUBLE, double, 1, PLAIN, TO_INT)
TYPE_TEST(int32, WEIR_INT32, int32_t, 1, PLAIN, TO_INT)
TYPE_TEST(int64, WEIR_INT64, int64_t, 1, PLAIN, TO_INT)
TYPE_TEST(half, WEIR_HALF, uint16_t, 1, HALF_FROM, HALF_TO)
TYPE_TEST(bfloat16, WEIR_BFLOAT16, uint16_t, 1, BFLOAT16_FROM, BFLOAT16_TO)
TYPE_TEST(complex64, WEIR_COMPLEX64, float, 2, PLAIN, TO_INT)
TYPE_TEST(complex128, WEIR_COMPLEX128, double, 2, PLAIN, TO_INT)

static void test_tiers(void **unused)
{
    const weir_cpu_kernels *best = weir_cpu_kernels_best();
    assert_non_null(best);
    assert_ptr_equal(weir_cpu_kernels_named(best->name), best);
    assert_null(weir_cpu_kernels_named("v9"));
    assert_true(weir_matmul_supports(WEIR_FLOAT));
    assert_false(weir_matmul_supports(WEIR_STRING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),     cmocka_unit_test(test_large),      cmocka_unit_test(test_strides_and_batches),
        cmocka_unit_test(test_empty),     cmocka_unit_test(test_double),     cmocka_unit_test(test_int32),
        cmocka_unit_test(test_int64),     cmocka_unit_test(test_half),       cmocka_unit_test(test_bfloat16),
        cmocka_unit_test(test_complex64), cmocka_unit_test(test_complex128), cmocka_unit_test(test_not_a_number),
        cmocka_unit_test(test_tiers),
    };
    return cmocka_run_group_tests(tests, make_teams, free_teams);
}
