/*
 * Pooling against plain loops written from TensorFlow's rules: ties, NaN, padding, overlapping windows; the same bits
 * with any team and tier.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/cpu/convolution.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/pooling.h"
#include "unit/kernel/kernel_test.h"

static const double tolerance = 1e-6;

typedef weir_pooling_options options;

static int64_t in_size(const options *o)
{
    return o->batch * o->in_height * o->in_width * o->channels;
}

static int64_t out_size(const options *o)
{
    return o->batch * o->out_height * o->out_width * o->channels;
}

/* All four results in double, by collecting each window's cells. */
static void reference(const options *o, const float *x, const float *dy, double *largest, double *mean,
                      double *d_largest, double *d_mean)
{
    const int64_t sh = o->stride_height ? o->stride_height : 1, sw = o->stride_width ? o->stride_width : 1;
    for (int64_t i = 0; i < in_size(o); i++)
        d_largest[i] = d_mean[i] = 0;
    for (int64_t at = 0; at < out_size(o); at++) {
        const int64_t c = at % o->channels, w = at / o->channels % o->out_width;
        const int64_t h = at / o->channels / o->out_width % o->out_height;
        const int64_t b = at / o->channels / o->out_width / o->out_height;
        int64_t cells[64] = {0}, count = 0, best = -1;
        for (int64_t i = 0; i < o->window_height; i++)
            for (int64_t j = 0; j < o->window_width; j++) {
                const int64_t row = h * sh + i - o->pad_top, column = w * sw + j - o->pad_left;
                if (row >= 0 && row < o->in_height && column >= 0 && column < o->in_width)
                    cells[count++] = ((b * o->in_height + row) * o->in_width + column) * o->channels + c;
            }
        double sum = 0;
        for (int64_t i = 0; i < count; i++) {
            sum += (double)x[cells[i]];
            if (x[cells[i]] >= -FLT_MAX && (best < 0 || x[cells[i]] > x[best]))
                best = cells[i];
        }
        largest[at] = best >= 0 ? (double)x[best] : (double)-FLT_MAX; /* NaN and -Inf never win */
        best = best >= 0 ? best : cells[0];
        mean[at] = sum / (double)count;
        d_largest[best] += (double)dy[at];
        for (int64_t i = 0; i < count; i++)
            d_mean[cells[i]] += (double)dy[at] / (double)count;
    }
}

static void compare(const char *what, const options *o, const float *got, const double *wanted, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= tolerance * (1 + fabs(wanted[i]))) &&
            !(isnan(got[i]) && isnan(wanted[i])) && (double)got[i] != wanted[i])
            fail_msg("%s of [%d %d %d %d] window %d %d stride %d %d pad %d %d at %d: %g, not %g", what, (int)o->batch,
                     (int)o->in_height, (int)o->in_width, (int)o->channels, (int)o->window_height, (int)o->window_width,
                     (int)o->stride_height, (int)o->stride_width, (int)o->pad_top, (int)o->pad_left, (int)i,
                     (double)got[i], wanted[i]);
}

/* values: 0 random, 1 few different ones (ties), 2 with NaN and infinities. */
static void check(options o, int values)
{
    o.type = WEIR_FLOAT;
    const int64_t in = in_size(&o), out = out_size(&o);
    float *x = random_floats(in), *dy = random_floats(out);
    for (int64_t i = 0; i < in && values > 0; i++) {
        x[i] = (float)random_below(3) - 1;
        if (values == 2 && random_below(9) == 0)
            x[i] = random_below(3) == 0 ? NAN : random_below(2) == 0 ? INFINITY : -INFINITY;
    }
    double *wanted[4];
    for (int i = 0; i < 4; i++)
        wanted[i] = malloc((size_t)(i < 2 ? out : in) * sizeof(double) + 1);
    reference(&o, x, dy, wanted[0], wanted[1], wanted[2], wanted[3]);
    for (int t = 0; t < TIERS; t++) {
        const weir_cpu_kernels *kernels = weir_cpu_kernels_named(tiers[t]);
        if (kernels == NULL)
            continue;
        float *alone[4] = {0};
        for (int l = 0; l < TEAMS; l++) {
            float *y = guarded(out), *mean = guarded(out), *dx = guarded(in), *d_mean = guarded(in);
            weir_max_pooling(kernels, &o, teams[l], x, y);
            weir_average_pool(kernels, &o, teams[l], x, mean);
            weir_max_pool_gradient(kernels, &o, teams[l], x, y, dy, dx);
            weir_average_pool_gradient(kernels, &o, teams[l], dy, d_mean);
            float *results[4] = {y, mean, dx, d_mean};
            for (int i = 0; i < 4; i++) {
                const int64_t count = i < 2 ? out : in;
                if (l == 0) {
                    static const char *const names[] = {"maximum", "average", "its gradient", "average's gradient"};
                    compare(names[i], &o, results[i], wanted[i], count);
                    alone[i] = results[i];
                } else {
                    assert_memory_equal(results[i], alone[i], (size_t)count * sizeof(float));
                    check_guards(results[i], count);
                }
            }
        }
        for (int i = 0; i < 4; i++)
            check_guards(alone[i], i < 2 ? out : in);
    }
    for (int i = 0; i < 4; i++)
        free(wanted[i]);
    free(x);
    free(dy);
}

static void test_tutorial(void **unused)
{
    for (int values = 0; values < 3; values++) {
        check((options){.batch = 3,
                        .in_height = 28,
                        .in_width = 28,
                        .channels = 6,
                        .window_height = 2,
                        .window_width = 2,
                        .out_height = 14,
                        .out_width = 14,
                        .stride_height = 2,
                        .stride_width = 2},
              values);
        check((options){.batch = 2,
                        .in_height = 7,
                        .in_width = 9,
                        .channels = 20,
                        .window_height = 2,
                        .window_width = 2,
                        .out_height = 3,
                        .out_width = 4,
                        .stride_height = 2,
                        .stride_width = 2},
              values);
    }
}

static void test_random_shapes(void **unused)
{
    for (int round = 0; round < 200; round++) {
        options o = {.batch = 1 + random_below(4),
                     .channels = 1 + random_below(40),
                     .in_height = 1 + random_below(9),
                     .in_width = 1 + random_below(9),
                     .window_height = 1 + random_below(4),
                     .window_width = 1 + random_below(4),
                     .stride_height = random_below(4),
                     .stride_width = random_below(4)};
        const int64_t sh = o.stride_height ? o.stride_height : 1, sw = o.stride_width ? o.stride_width : 1;
        if (random_below(2) == 0) {
            o.out_height = weir_window_same(o.in_height, o.window_height, sh, 1, &o.pad_top);
            o.out_width = weir_window_same(o.in_width, o.window_width, sw, 1, &o.pad_left);
        } else {
            o.out_height = weir_window_valid(o.in_height, o.window_height, sh, 1);
            o.out_width = weir_window_valid(o.in_width, o.window_width, sw, 1);
        }
        check(o, (int)random_below(3));
    }
}

/* double, half and bfloat16 give what float gives where nothing is rounded. */
static void test_other_types(void **unused)
{
    const options shape = {.batch = 2,
                           .in_height = 5,
                           .in_width = 6,
                           .channels = 3,
                           .window_height = 2,
                           .window_width = 2,
                           .out_height = 3,
                           .out_width = 3,
                           .stride_height = 2,
                           .stride_width = 2};
    const int64_t in = in_size(&shape), out = out_size(&shape);
    const weir_cpu_kernels *kernels = weir_cpu_kernels_best();
    for (int64_t round = 0; round < 10; round++) {
        float x[180], dy[54], y[54], mean[54], dx[180], d_mean[180];
        double x_double[180], dy_double[54], y_double[54], dx_double[180];
        uint16_t x_half[180], dy_half[54], y_half[54], dx_half[180], dy_bfloat[54], dx_bfloat[180];
        for (int64_t i = 0; i < in; i++) {
            x_double[i] = (double)(x[i] = (float)random_below(9) - 4);
            x_half[i] = half_of_float(x[i]);
        }
        for (int64_t i = 0; i < out; i++) {
            dy_double[i] = (double)(dy[i] = (float)(4 * random_below(9)));
            dy_half[i] = half_of_float(dy[i]);
            dy_bfloat[i] = bfloat16_of_float(dy[i]);
        }
        options o = shape;
        o.type = WEIR_FLOAT;
        weir_max_pooling(kernels, &o, teams[1], x, y);
        weir_average_pool(kernels, &o, teams[1], x, mean);
        weir_max_pool_gradient(kernels, &o, teams[1], x, y, dy, dx);
        weir_average_pool_gradient(kernels, &o, teams[1], dy, d_mean);
        o.type = WEIR_DOUBLE;
        weir_max_pooling(kernels, &o, teams[1], x_double, y_double);
        weir_max_pool_gradient(kernels, &o, teams[1], x_double, y_double, dy_double, dx_double);
        for (int64_t i = 0; i < in; i++)
            assert_true(dx_double[i] == (double)dx[i]);
        weir_average_pool(kernels, &o, teams[1], x_double, y_double);
        weir_average_pool_gradient(kernels, &o, teams[1], dy_double, dx_double);
        for (int64_t i = 0; i < in; i++)
            assert_true(dx_double[i] == (double)d_mean[i]);
        o.type = WEIR_HALF;
        weir_average_pool(kernels, &o, teams[1], x_half, y_half);
        for (int64_t i = 0; i < out; i++) {
            assert_true(y_double[i] == (double)mean[i]);
            assert_true(float_of_half(y_half[i]) == mean[i]);
        }
        weir_max_pooling(kernels, &o, teams[1], x_half, y_half);
        weir_max_pool_gradient(kernels, &o, teams[1], x_half, y_half, dy_half, dx_half);
        o.type = WEIR_BFLOAT16;
        weir_average_pool_gradient(kernels, &o, teams[1], dy_bfloat, dx_bfloat);
        for (int64_t i = 0; i < in; i++) {
            assert_true(float_of_half(dx_half[i]) == dx[i]);
            assert_true(float_of_bfloat16(dx_bfloat[i]) == d_mean[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tutorial),
        cmocka_unit_test(test_random_shapes),
        cmocka_unit_test(test_other_types),
    };
    return cmocka_run_group_tests(tests, make_teams, free_teams);
}
