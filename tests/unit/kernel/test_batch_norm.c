/*
 * Batch normalisation, bias and Relu's gradient against the formulas in double: many numbers of channels and rows, a
 * mean far from zero, the same bits with any team.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/cpu/batch_norm.h"
#include "kernel/cpu/bias.h"
#include "unit/kernel/kernel_test.h"

static const double tolerance = 2e-5;

static void near(const char *what, double got, double wanted, double size)
{
    if (!(fabs(got - wanted) <= tolerance * (1e-3 + size)))
        fail_msg("%s: %.9g, not %.9g", what, got, wanted);
}

/* Formulas of FusedBatchNorm. Arrays of channels: mean, variance, d_scale, d_offset. */
static void reference(const weir_batch_norm_options *o, const float *x, const float *dy, const float *scale,
                      const float *offset, double *mean, double *variance, double *y, double *dx, double *d_scale,
                      double *d_offset)
{
    const int64_t rows = o->rows, channels = o->channels;
    for (int64_t c = 0; c < channels; c++) {
        double sum = 0, squares = 0, dy_sum = 0, product = 0;
        for (int64_t r = 0; r < rows; r++)
            sum += (double)x[r * channels + c];
        if (o->training)
            mean[c] = sum / (double)rows;
        for (int64_t r = 0; r < rows; r++) {
            const double centred = (double)x[r * channels + c] - mean[c];
            squares += centred * centred;
            dy_sum += (double)dy[r * channels + c];
            product += (double)dy[r * channels + c] * centred;
        }
        if (o->training)
            variance[c] = squares / (double)rows;
        const double inverse = 1 / sqrt(variance[c] + (double)o->epsilon);
        const double factor = inverse * (scale != NULL ? (double)scale[c] : 1);
        d_scale[c] = product * inverse;
        d_offset[c] = dy_sum;
        for (int64_t r = 0; r < rows; r++) {
            const int64_t at = r * channels + c;
            const double centred = (double)x[at] - mean[c], n = (double)rows;
            y[at] = centred * factor + (offset != NULL ? (double)offset[c] : 0);
            if (o->relu && y[at] < 0)
                y[at] = 0;
            dx[at] = o->training ? factor * ((double)dy[at] - dy_sum / n - centred * inverse * inverse * product / n)
                                 : factor * (double)dy[at];
        }
    }
}

typedef struct results {
    float *mean, *variance, *unbiased, *y, *dx, *d_scale, *d_offset;
} results;

static results run(const weir_cpu_kernels *kernels, const weir_batch_norm_options *o, int team, const float *x,
                   const float *dy, const float *scale, const float *offset, const float *mean, const float *variance)
{
    const int64_t channels = o->channels, count = o->rows * channels;
    results r = {guarded(channels), guarded(channels), guarded(channels), guarded(count),
                 guarded(count),    guarded(channels), guarded(channels)};
    if (!o->training) {
        memcpy(r.mean, mean, (size_t)channels * sizeof(float));
        memcpy(r.variance, variance, (size_t)channels * sizeof(float));
        memset(r.unbiased, 0, (size_t)channels * sizeof(float));
    }
    void *scratch = scratch_bytes(weir_batch_norm_scratch(o, team_sizes[team]));
    weir_batch_norm_forward(kernels, o, teams[team], x, scale, offset, r.mean, r.variance, r.unbiased, r.y, scratch);
    weir_batch_norm_gradient(kernels, o, teams[team], dy, x, scale, r.mean, r.variance, r.dx, r.d_scale, r.d_offset,
                             scratch);
    weir_release(scratch);
    return r;
}

static void check(weir_batch_norm_options o, float shift, bool with_scale)
{
    const int64_t channels = o.channels, count = o.rows * channels;
    float *x = random_floats(count), *dy = random_floats(count);
    float *scale = random_floats(channels), *offset = random_floats(channels);
    float *mean = random_floats(channels), *variance = random_floats(channels);
    double *d[6];
    for (int i = 0; i < 6; i++)
        d[i] = malloc((size_t)(i == 2 || i == 3 ? count : channels) * sizeof(double) + 1);
    for (int64_t i = 0; i < count; i++)
        x[i] += shift;
    for (int64_t c = 0; c < channels; c++) {
        variance[c] = fabsf(variance[c]) + 0.1f;
        d[0][c] = (double)mean[c];
        d[1][c] = (double)variance[c];
    }
    reference(&o, x, dy, with_scale ? scale : NULL, with_scale ? offset : NULL, d[0], d[1], d[2], d[3], d[4], d[5]);
    for (int t = 0; t < TIERS; t++) {
        const weir_cpu_kernels *kernels = weir_cpu_kernels_named(tiers[t]);
        if (kernels == NULL)
            continue;
        results alone = {0};
        for (int l = 0; l < TEAMS; l++) {
            results r =
                run(kernels, &o, l, x, dy, with_scale ? scale : NULL, with_scale ? offset : NULL, mean, variance);
            if (l > 0) {
                assert_memory_equal(r.mean, alone.mean, (size_t)channels * sizeof(float));
                assert_memory_equal(r.variance, alone.variance, (size_t)channels * sizeof(float));
                assert_memory_equal(r.y, alone.y, (size_t)count * sizeof(float));
                assert_memory_equal(r.dx, alone.dx, (size_t)count * sizeof(float));
                assert_memory_equal(r.d_scale, alone.d_scale, (size_t)channels * sizeof(float));
                assert_memory_equal(r.d_offset, alone.d_offset, (size_t)channels * sizeof(float));
            } else {
                alone = r;
                for (int64_t c = 0; c < channels; c++) {
                    const double n = (double)o.rows;
                    near("mean", (double)r.mean[c], d[0][c], fabs(d[0][c]));
                    near("variance", (double)r.variance[c], d[1][c], d[1][c]);
                    if (o.training)
                        near("unbiased variance", (double)r.unbiased[c], o.rows > 1 ? d[1][c] * n / (n - 1) : 0,
                             d[1][c]);
                    near("scale's gradient", (double)r.d_scale[c], d[4][c],
                         1 + sqrt(n) + fabs((double)shift) * sqrt(n));
                    near("offset's gradient", (double)r.d_offset[c], d[5][c], 1 + sqrt(n));
                }
                for (int64_t i = 0; i < count; i++) {
                    const double size = 1 + fabs((double)shift) / sqrt(d[1][i % channels] + 1e-3);
                    near("y", (double)r.y[i], d[2][i], fabs(d[2][i]) + size);
                    near("x's gradient", (double)r.dx[i], d[3][i], fabs(d[3][i]) + 4 * size);
                }
                continue;
            }
            float *all[] = {r.mean, r.variance, r.unbiased, r.y, r.dx, r.d_scale, r.d_offset};
            for (int i = 0; i < 7; i++)
                check_guards(all[i], i == 3 || i == 4 ? count : channels);
        }
        float *all[] = {alone.mean, alone.variance, alone.unbiased, alone.y, alone.dx, alone.d_scale, alone.d_offset};
        for (int i = 0; i < 7; i++)
            check_guards(all[i], i == 3 || i == 4 ? count : channels);
    }
    for (int i = 0; i < 6; i++)
        free(d[i]);
    free(x);
    free(dy);
    free(scale);
    free(offset);
    free(mean);
    free(variance);
}

static void test_channels(void **unused)
{
    static const int64_t channels[] = {1, 2, 3, 5, 6, 7, 10, 12, 16, 17, 31, 48, 63, 64, 65, 100, 128, 130};
    static const int64_t rows[] = {1, 2, 3, 7, 16, 33, 100, 1000, 5000};
    for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            if (rows[r] * channels[c] > 150000)
                continue;
            weir_batch_norm_options o = {.rows = rows[r], .channels = channels[c], .epsilon = 1e-3f};
            o.training = (c + r) % 3 != 0;
            o.relu = (c + r) % 2 == 0;
            check(o, 0, r % 2 == 0);
        }
}

static void test_many_blocks(void **unused)
{
    check((weir_batch_norm_options){.rows = 40000, .channels = 6, .epsilon = 1e-3f, .training = true}, 0, true);
    check((weir_batch_norm_options){.rows = 20000, .channels = 12, .epsilon = 1e-3f, .training = true, .relu = true},
          100, false);
}

static void test_no_rows(void **unused)
{
    const weir_batch_norm_options o = {.channels = 5, .epsilon = 1e-3f, .training = true};
    float mean[5], variance[5], unbiased[5], d_scale[5], d_offset[5], none[1];
    void *scratch = scratch_bytes(weir_batch_norm_scratch(&o, 1));
    weir_batch_norm_forward(weir_cpu_kernels_best(), &o, NULL, none, NULL, NULL, mean, variance, unbiased, none,
                            scratch);
    weir_batch_norm_gradient(weir_cpu_kernels_best(), &o, NULL, none, none, NULL, mean, variance, none, d_scale,
                             d_offset, scratch);
    for (int c = 0; c < 5; c++) {
        assert_true(isnan(mean[c]) && isnan(variance[c]));
        assert_true(d_scale[c] == 0 && d_offset[c] == 0);
    }
    weir_release(scratch);
}

static void test_bias(void **unused)
{
    static const int64_t channels[] = {1, 3, 6, 10, 16, 33, 63, 64, 100, 130};
    static const int64_t rows[] = {0, 1, 2, 17, 100, 3000};
    for (int t = 0; t < TIERS; t++)
        for (size_t i = 0; i < 10 * 6; i++) {
            const weir_cpu_kernels *kernels = weir_cpu_kernels_named(tiers[t]);
            const int64_t c = channels[i % 10], r = rows[i / 10];
            if (kernels == NULL)
                continue;
            float *x = random_floats(r * c), *bias = random_floats(c), *y = guarded(r * c), *sums = guarded(c);
            float *masked = guarded(r * c), *again = guarded(c);
            const size_t size = weir_bias_gradient_scratch(WEIR_FLOAT, r, c);
            void *scratch = scratch_bytes(size);
            weir_add_bias(kernels, WEIR_FLOAT, r, c, i % 2 == 0, teams[2], x, bias, y);
            weir_bias_gradient(kernels, WEIR_FLOAT, r, c, NULL, x, sums, scratch);
            weir_bias_gradient(kernels, WEIR_FLOAT, r, c, teams[3], x, again, scratch);
            weir_relu_gradient(kernels, WEIR_FLOAT, r * c, teams[1], x, y, masked);
            assert_memory_equal(sums, again, (size_t)c * sizeof(float));
            for (int64_t k = 0; k < r * c; k++) {
                const float sum = x[k] + bias[k % c];
                assert_true(y[k] == (i % 2 == 0 && sum < 0 ? 0 : sum));
                assert_true(masked[k] == (y[k] > 0 ? x[k] : 0));
            }
            for (int64_t k = 0; k < c; k++) {
                double sum = 0;
                for (int64_t l = 0; l < r; l++)
                    sum += (double)x[l * c + k];
                near("bias gradient", (double)sums[k], sum, 1 + sqrt((double)r));
            }
            weir_release(scratch);
            check_guards(y, r * c);
            check_guards(sums, c);
            check_guards(again, c);
            check_guards(masked, r * c);
            free(x);
            free(bias);
        }
    const float nan[2] = {NAN, -0.0f}, zero[1] = {0};
    float y[2];
    weir_add_bias(weir_cpu_kernels_best(), WEIR_FLOAT, 1, 1, true, NULL, nan, zero, y);
    assert_true(isnan(y[0]));
}

/* The plain loops of the other types, on whole numbers. */
static void test_bias_types(void **unused)
{
    int32_t x[12], bias[3] = {1, -2, 3}, y[12], sums[3];
    double x_double[12], bias_double[3] = {1, -2, 3}, y_double[12], sums_double[3];
    for (int i = 0; i < 12; i++)
        x_double[i] = x[i] = (int32_t)random_below(9) - 4;
    const weir_cpu_kernels *kernels = weir_cpu_kernels_best();
    weir_add_bias(kernels, WEIR_INT32, 4, 3, true, teams[1], x, bias, y);
    weir_add_bias(kernels, WEIR_DOUBLE, 4, 3, true, teams[1], x_double, bias_double, y_double);
    weir_bias_gradient(kernels, WEIR_INT32, 4, 3, teams[1], x, sums, NULL);
    weir_bias_gradient(kernels, WEIR_DOUBLE, 4, 3, teams[1], x_double, sums_double, NULL);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(y[i], x[i] + bias[i % 3] > 0 ? x[i] + bias[i % 3] : 0);
        assert_true(y_double[i] == y[i]);
    }
    for (int c = 0; c < 3; c++) {
        assert_int_equal(sums[c], x[c] + x[3 + c] + x[6 + c] + x[9 + c]);
        assert_true(sums_double[c] == sums[c]);
    }
    weir_relu_gradient(kernels, WEIR_INT32, 12, teams[1], x, y, x);
    for (int i = 0; i < 12; i++)
        assert_int_equal(x[i], y[i] > 0 ? (int32_t)x_double[i] : 0);
    assert_true(weir_bias_supports(WEIR_BFLOAT16) && !weir_bias_supports(WEIR_STRING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channels), cmocka_unit_test(test_many_blocks), cmocka_unit_test(test_no_rows),
        cmocka_unit_test(test_bias),     cmocka_unit_test(test_bias_types),
    };
    return cmocka_run_group_tests(tests, make_teams, free_teams);
}
