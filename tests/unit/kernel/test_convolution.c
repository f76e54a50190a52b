/*
 * Convolution and its gradients against sums in double: every tier, route, stride, padding, dilation and tail; the same
 * bits with any team; nothing written or read outside.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/cpu/convolution.h"
#include "kernel/cpu/narrow_floats.h"
#include "unit/kernel/kernel_test.h"

/* Relative to the sum of the absolute products. */
static const double float_tolerance = 3e-6;
static const double double_tolerance = 1e-13;

typedef weir_convolution_options options;

static int64_t x_size(const options *o)
{
    return o->batch * o->in_height * o->in_width * o->in_channels;
}

static int64_t filter_size(const options *o)
{
    return o->filter_height * o->filter_width * o->in_channels * o->out_channels;
}

static int64_t y_size(const options *o)
{
    return o->batch * o->out_height * o->out_width * o->out_channels;
}

/* The sizes of the direction's two inputs and result. */
static void sizes_of(const options *o, int64_t sizes[3])
{
    const int64_t x = x_size(o), f = filter_size(o), y = y_size(o);
    sizes[0] = o->direction == WEIR_CONVOLUTION_INPUT_GRADIENT ? y : x;
    sizes[1] = o->direction == WEIR_CONVOLUTION_FILTER_GRADIENT ? y : f;
    sizes[2] = o->direction == WEIR_CONVOLUTION_FORWARD ? y : o->direction == WEIR_CONVOLUTION_INPUT_GRADIENT ? x : f;
}

/* All products of one direction, added in double; sums[i] and the sums of absolute values. */
static void reference(const options *o, const double *first, const double *second, double *sums, double *absolute)
{
    int64_t sizes[3];
    sizes_of(o, sizes);
    for (int64_t i = 0; i < sizes[2]; i++)
        sums[i] = absolute[i] = 0;
    const int64_t sh = o->stride_height ? o->stride_height : 1, sw = o->stride_width ? o->stride_width : 1;
    const int64_t dh = o->dilation_height ? o->dilation_height : 1, dw = o->dilation_width ? o->dilation_width : 1;
    const int64_t in = o->in_channels, out = o->out_channels;
    for (int64_t b = 0; b < o->batch; b++)
        for (int64_t h = 0; h < o->out_height; h++)
            for (int64_t w = 0; w < o->out_width; w++)
                for (int64_t i = 0; i < o->filter_height; i++)
                    for (int64_t j = 0; j < o->filter_width; j++) {
                        const int64_t row = h * sh + i * dh - o->pad_top, column = w * sw + j * dw - o->pad_left;
                        if (row < 0 || row >= o->in_height || column < 0 || column >= o->in_width)
                            continue;
                        const int64_t x = ((b * o->in_height + row) * o->in_width + column) * in;
                        const int64_t y = ((b * o->out_height + h) * o->out_width + w) * out;
                        const int64_t f = (i * o->filter_width + j) * in * out;
                        for (int64_t c = 0; c < in; c++)
                            for (int64_t k = 0; k < out; k++) {
                                const int64_t at[3] = {x + c, f + c * out + k, y + k}; /* x, filter, y */
                                const int p = o->direction == WEIR_CONVOLUTION_INPUT_GRADIENT ? 2 : 0;
                                const int q = o->direction == WEIR_CONVOLUTION_FILTER_GRADIENT ? 2 : 1;
                                const double product = first[at[p]] * second[at[q]];
                                sums[at[3 - p - q]] += product;
                                absolute[at[3 - p - q]] += fabs(product);
                            }
                    }
}

static double *as_doubles(const float *values, int64_t count)
{
    double *doubles = calloc((size_t)count + 1, sizeof *doubles);
    for (int64_t i = 0; i < count; i++)
        doubles[i] = (double)values[i];
    return doubles;
}

static void fail_at(const options *o, const char *tier, int64_t at, double got, double wanted)
{
    fail_msg(
        "%s direction %d x [%d %d %d %d] filter [%d %d] y [%d %d %d] stride %d %d dilation %d %d pad %d %d at %d: %g, "
        "not %g",
        tier, o->direction, (int)o->batch, (int)o->in_height, (int)o->in_width, (int)o->in_channels,
        (int)o->filter_height, (int)o->filter_width, (int)o->out_height, (int)o->out_width, (int)o->out_channels,
        (int)o->stride_height, (int)o->stride_width, (int)o->dilation_height, (int)o->dilation_width, (int)o->pad_top,
        (int)o->pad_left, (int)at, got, wanted);
}

static void check_direction(const options *o)
{
    int64_t sizes[3];
    sizes_of(o, sizes);
    float *first = random_floats(sizes[0]), *second = random_floats(sizes[1]), *bias = random_floats(o->out_channels);
    double *first_double = as_doubles(first, sizes[0]), *second_double = as_doubles(second, sizes[1]);
    double *sums = calloc((size_t)sizes[2] + 1, sizeof *sums), *absolute = calloc((size_t)sizes[2] + 1, sizeof *sums);
    reference(o, first_double, second_double, sums, absolute);
    for (int64_t i = 0; i < sizes[2]; i++) {
        if (o->bias)
            sums[i] += (double)bias[i % o->out_channels];
        if (o->relu && sums[i] < 0)
            sums[i] = 0;
    }
    for (int t = 0; t < TIERS; t++) {
        const weir_cpu_kernels *kernels = weir_cpu_kernels_named(tiers[t]);
        if (kernels == NULL)
            continue;
        weir_convolution_plan plan;
        weir_convolution_prepare(kernels, o, &plan);
        float *alone = NULL;
        for (int l = 0; l < TEAMS; l++) {
            float *out = guarded(sizes[2]);
            void *scratch = scratch_bytes(weir_convolution_scratch(&plan, team_sizes[l]));
            weir_convolution_run(&plan, teams[l], first, second, bias, out, scratch);
            weir_release(scratch);
            if (l == 0) {
                for (int64_t i = 0; i < sizes[2]; i++)
                    if (!(fabs((double)out[i] - sums[i]) <= float_tolerance * (1e-3 + absolute[i] + fabs(sums[i]))))
                        fail_at(o, tiers[t], i, (double)out[i], sums[i]);
                alone = out;
                continue;
            }
            if (sizes[2] > 0 && memcmp(out, alone, (size_t)sizes[2] * sizeof *out) != 0)
                fail_msg("other bits with %d lanes", team_sizes[l]);
            check_guards(out, sizes[2]);
        }
        check_guards(alone, sizes[2]);
    }
    free(first);
    free(second);
    free(bias);
    free(first_double);
    free(second_double);
    free(sums);
    free(absolute);
}

static void check(options o)
{
    for (int direction = 0; direction < 3; direction++) {
        options one = o;
        one.direction = (weir_convolution_direction)direction;
        one.bias = one.bias && direction == 0;
        one.relu = one.relu && direction == 0;
        check_direction(&one);
    }
}

static options same(int64_t batch, int64_t height, int64_t width, int64_t in, int64_t window, int64_t out)
{
    options o = {.type = WEIR_FLOAT,
                 .batch = batch,
                 .in_height = height,
                 .in_width = width,
                 .in_channels = in,
                 .filter_height = window,
                 .filter_width = window,
                 .out_channels = out};
    o.out_height = weir_window_same(height, window, 1, 1, &o.pad_top);
    o.out_width = weir_window_same(width, window, 1, 1, &o.pad_left);
    return o;
}

/* The shapes of the tutorials' networks, smaller where they may be. */
static void test_networks(void **unused)
{
    check(same(17, 28, 28, 1, 5, 6));
    check(same(33, 14, 14, 6, 5, 12));
    check(same(3, 28, 28, 1, 5, 32));
    check(same(2, 14, 14, 32, 5, 64));
    check(same(16, 7, 7, 12, 3, 10));
    check(same(3, 8, 8, 64, 1, 40));
}

static void test_random_shapes(void **unused)
{
    static const int64_t channels[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 17, 20, 32, 33, 48, 65};
    for (int round = 0; round < 250; round++) {
        options o = {.type = WEIR_FLOAT, .bias = random_below(2) == 1, .relu = random_below(2) == 1};
        const bool few = random_below(2) == 1;
        o.batch = few ? 1 + random_below(40) : 1 + random_below(4);
        o.in_channels = channels[random_below(few ? 9 : 17)];
        o.out_channels = channels[random_below(few ? 11 : 17)];
        o.in_height = 1 + random_below(12);
        o.in_width = 1 + random_below(20);
        o.filter_height = 1 + random_below(5);
        o.filter_width = 1 + random_below(5);
        const bool plain = random_below(2) == 1;
        o.stride_height = plain ? 0 : 1 + random_below(3);
        o.stride_width = plain ? 0 : 1 + random_below(3);
        o.dilation_height = plain || random_below(2) == 1 ? 0 : 1 + random_below(3);
        o.dilation_width = plain || random_below(2) == 1 ? 0 : 1 + random_below(3);
        const int64_t sh = o.stride_height ? o.stride_height : 1, sw = o.stride_width ? o.stride_width : 1;
        const int64_t dh = o.dilation_height ? o.dilation_height : 1, dw = o.dilation_width ? o.dilation_width : 1;
        switch (random_below(3)) {
        case 0:
            o.out_height = weir_window_same(o.in_height, o.filter_height, sh, dh, &o.pad_top);
            o.out_width = weir_window_same(o.in_width, o.filter_width, sw, dw, &o.pad_left);
            break;
        case 1:
            o.out_height = weir_window_valid(o.in_height, o.filter_height, sh, dh);
            o.out_width = weir_window_valid(o.in_width, o.filter_width, sw, dw);
            break;
        default: /* explicit: any padding before and behind */
            o.pad_top = random_below(4);
            o.pad_left = random_below(4);
            o.out_height = weir_window_valid(o.in_height + o.pad_top + random_below(4), o.filter_height, sh, dh);
            o.out_width = weir_window_valid(o.in_width + o.pad_left + random_below(4), o.filter_width, sw, dw);
            break;
        }
        check(o);
    }
}

static void test_empty(void **unused)
{
    check(same(0, 5, 5, 3, 3, 4));
    check(same(2, 5, 5, 0, 3, 4));
    check(same(2, 5, 5, 3, 3, 0));
    options none = {.type = WEIR_FLOAT,
                    .batch = 2,
                    .in_height = 2,
                    .in_width = 2,
                    .in_channels = 3,
                    .filter_height = 3,
                    .filter_width = 3,
                    .out_channels = 20};
    check(none); /* no window fits: no output, gradients are zero */
}

/* NaN reaches the windows over it and no others; Relu keeps it. */
static void test_not_a_number(void **unused)
{
    static const int64_t channels[][3] = {{20, 2, 5}, {3, 20, 40}, {2, 1, 33}};
    for (int t = 0; t < TIERS; t++)
        for (int s = 0; s < 3; s++) {
            const weir_cpu_kernels *kernels = weir_cpu_kernels_named(tiers[t]);
            if (kernels == NULL)
                continue;
            options o = same(channels[s][0], 9, 9, channels[s][1], 3, channels[s][2]);
            o.relu = true;
            float *x = random_floats(x_size(&o)), *filter = random_floats(filter_size(&o)), *y = guarded(y_size(&o));
            x[((1 * 9 + 4) * 9 + 4) * o.in_channels] = NAN;
            weir_convolution_plan plan;
            weir_convolution_prepare(kernels, &o, &plan);
            void *scratch = scratch_bytes(weir_convolution_scratch(&plan, 1));
            weir_convolution_run(&plan, NULL, x, filter, NULL, y, scratch);
            for (int64_t i = 0; i < y_size(&o); i++) {
                const int64_t pixel = i / o.out_channels, w = pixel % 9, h = pixel / 9 % 9, b = pixel / 81;
                assert_int_equal(isnan(y[i]) != 0, b == 1 && h >= 3 && h <= 5 && w >= 3 && w <= 5);
            }
            weir_release(scratch);
            check_guards(y, y_size(&o));
            free(x);
            free(filter);
        }
}

static void test_double(void **unused)
{
    for (int direction = 0; direction < 3; direction++) {
        options o = {.type = WEIR_DOUBLE,
                     .direction = (weir_convolution_direction)direction,
                     .batch = 2,
                     .in_height = 7,
                     .in_width = 6,
                     .in_channels = 3,
                     .filter_height = 3,
                     .filter_width = 2,
                     .out_channels = 5,
                     .stride_height = 2,
                     .dilation_width = 2};
        o.out_height = weir_window_same(7, 3, 2, 1, &o.pad_top);
        o.out_width = weir_window_same(6, 2, 1, 2, &o.pad_left);
        int64_t sizes[3];
        sizes_of(&o, sizes);
        double *memory[4];
        for (int i = 0; i < 4; i++) {
            const int64_t count = sizes[i < 3 ? i : 2];
            memory[i] = malloc((size_t)count * sizeof(double));
            for (int64_t k = 0; k < count; k++)
                memory[i][k] = (double)random_float() / 3;
        }
        double *absolute = malloc((size_t)sizes[2] * sizeof(double));
        reference(&o, memory[0], memory[1], memory[3], absolute);
        weir_convolution_plan plan;
        weir_convolution_prepare(weir_cpu_kernels_best(), &o, &plan);
        void *scratch = scratch_bytes(weir_convolution_scratch(&plan, 3));
        weir_convolution_run(&plan, teams[2], memory[0], memory[1], NULL, memory[2], scratch);
        for (int64_t i = 0; i < sizes[2]; i++)
            assert_true(fabs(memory[2][i] - memory[3][i]) <= double_tolerance * (1 + absolute[i]));
        weir_release(scratch);
        for (int i = 0; i < 4; i++)
            free(memory[i]);
        free(absolute);
    }
}

static void test_window(void **unused)
{
    int64_t pad = -1;
    assert_int_equal(weir_window_same(28, 5, 1, 1, &pad), 28);
    assert_int_equal(pad, 2);
    assert_int_equal(weir_window_same(7, 2, 2, 1, &pad), 4);
    assert_int_equal(pad, 0);
    assert_int_equal(weir_window_same(5, 1, 3, 1, &pad), 2);
    assert_int_equal(pad, 0);
    assert_int_equal(weir_window_same(10, 3, 1, 2, &pad), 10);
    assert_int_equal(pad, 2);
    assert_int_equal(weir_window_valid(28, 5, 1, 1), 24);
    assert_int_equal(weir_window_valid(7, 2, 2, 1), 3);
    assert_int_equal(weir_window_valid(2, 3, 1, 1), 0);
    assert_int_equal(weir_window_valid(10, 3, 1, 4), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window), cmocka_unit_test(test_networks), cmocka_unit_test(test_random_shapes),
        cmocka_unit_test(test_empty),  cmocka_unit_test(test_double),   cmocka_unit_test(test_not_a_number),
    };
    return cmocka_run_group_tests(tests, make_teams, free_teams);
}
