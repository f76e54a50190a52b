/*
 * Conversions: special values of every pair of kinds by the rules of x86-64, all halves there and back, all tiers.
 */
#include "kernel_data.h"

#include <complex.h>

#include "kernel/cpu/cast.h"
#include "kernel/cpu/cast_half.h"
#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/narrow_floats.h"

#define HALF_TABLE(tier) extern const weir_half_kernels weir_half_kernels_##tier;
WEIR_CPU_TIERS(HALF_TABLE)
#define HALF_ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_half_kernels_##tier,
static const weir_half_kernels *const tier_kernels[] = {WEIR_CPU_TIERS(HALF_ENTRY)};

/* Two of float's names for numbers that no float is. */
#define INTO(to_type, T, from_type, S, from_value, to_value)                                                           \
    do {                                                                                                               \
        S from = (from_value);                                                                                         \
        T to, expected = (to_value);                                                                                   \
        weir_cast_find(WEIR_##from_type, WEIR_##to_type)(NULL, &from, &to, 1);                                         \
        assert_memory_equal(&to, &expected, sizeof to);                                                                \
    } while (0)

static void test_float_to_integers(void **state)
{
    (void)state;
    static const float values[] = {1.9f, -1.9f, 0, 300, -300, 70000, NAN, INFINITY, -INFINITY, 3e9f, -3e9f, 1e20f};
    static const int32_t narrow[] = {1,         -1,        0,         300,       -300,      70000,
                                     INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN};
    static const int64_t wide[] = {1,         -1,        0,         300,        -300,        70000,
                                   INT64_MIN, INT64_MIN, INT64_MIN, 3000000000, -3000000000, INT64_MIN};
    for (int i = 0; i < 12; i++) {
        INTO(INT32, int32_t, FLOAT, float, values[i], narrow[i]);
        INTO(INT64, int64_t, FLOAT, float, values[i], wide[i]);
        INTO(INT32, int32_t, DOUBLE, double, values[i], narrow[i]);
        INTO(INT64, int64_t, DOUBLE, double, values[i], wide[i]);
        INTO(INT8, int8_t, FLOAT, float, values[i], (int8_t)narrow[i]);
        INTO(UINT8, uint8_t, FLOAT, float, values[i], (uint8_t)narrow[i]);
        INTO(INT16, int16_t, FLOAT, float, values[i], (int16_t)narrow[i]);
        INTO(UINT16, uint16_t, DOUBLE, double, values[i], (uint16_t)narrow[i]);
        INTO(UINT32, uint32_t, FLOAT, float, values[i], (uint32_t)wide[i]);
    }
    INTO(INT32, int32_t, DOUBLE, double, -2147483648.5, INT32_MIN);
    INTO(INT32, int32_t, DOUBLE, double, 2147483647.5, INT32_MAX);
    INTO(UINT64, uint64_t, DOUBLE, double, 0x1p63, (uint64_t)1 << 63);
    INTO(UINT64, uint64_t, DOUBLE, double, 1.8e19, 18000000000000000000u);
}

static void test_others(void **state)
{
    (void)state;
    INTO(BOOL, uint8_t, FLOAT, float, NAN, 1);
    INTO(BOOL, uint8_t, FLOAT, float, -0.0f, 0);
    INTO(BOOL, uint8_t, HALF, uint16_t, 0x8000, 0);
    INTO(BOOL, uint8_t, INT32, int32_t, 256, 1);
    INTO(FLOAT, float, BOOL, uint8_t, 1, 1.0f);
    INTO(FLOAT, float, INT64, int64_t, INT64_MAX, 0x1p63f);
    INTO(INT8, int8_t, INT32, int32_t, 200, -56);
    INTO(UINT32, uint32_t, INT8, int8_t, -1, UINT32_MAX);
    INTO(INT64, int64_t, UINT32, uint32_t, UINT32_MAX, UINT32_MAX);
    INTO(HALF, uint16_t, FLOAT, float, 65519, 0x7bff);
    INTO(HALF, uint16_t, FLOAT, float, 65520, 0x7c00);
    INTO(HALF, uint16_t, FLOAT, float, 0x1p-24f, 1);
    INTO(HALF, uint16_t, FLOAT, float, 0x1p-25f, 0);
    INTO(HALF, uint16_t, INT32, int32_t, 2049, half_of_float(2048));
    INTO(BFLOAT16, uint16_t, FLOAT, float, 1.00390625f, 0x3f80); /* half way: to even */
    INTO(BFLOAT16, uint16_t, FLOAT, float, 1.01171875f, 0x3f82);
    INTO(BFLOAT16, uint16_t, FLOAT, float, 3.4e38f, 0x7f80);
    INTO(FLOAT, float, DOUBLE, double, 1e300, INFINITY);
    INTO(FLOAT, float, COMPLEX64, float complex, 3 + 4 * I, 3.0f);
    INTO(COMPLEX128, double complex, COMPLEX64, float complex, 3 + 4 * I, 3 + 4 * I);
    INTO(COMPLEX64, float complex, INT32, int32_t, 5, 5);
    INTO(BOOL, uint8_t, COMPLEX64, float complex, 4 * I, 1);
    assert_null(weir_cast_find(WEIR_STRING, WEIR_FLOAT));
    assert_null(weir_cast_find(WEIR_FLOAT, WEIR_RESOURCE));
    assert_null(weir_cast_find(WEIR_STRING, WEIR_STRING));
}

/* Every pair exists, keeps small numbers, and gives the same with any team. */
static void test_pairs(void **state)
{
    (void)state;
    static const weir_dtype types[] = {WEIR_FLOAT,  WEIR_DOUBLE, WEIR_HALF,      WEIR_BFLOAT16,  WEIR_INT8,
                                       WEIR_INT16,  WEIR_INT32,  WEIR_INT64,     WEIR_UINT8,     WEIR_UINT16,
                                       WEIR_UINT32, WEIR_UINT64, WEIR_COMPLEX64, WEIR_COMPLEX128};
    enum { TYPES = sizeof types / sizeof *types, COUNT = 40001 };
    int32_t *start = guarded_new(COUNT * 4), *back = guarded_new(COUNT * 4);
    char *a = guarded_new(COUNT * 16), *b = guarded_new(COUNT * 16), *c = guarded_new(COUNT * 16);
    for (int i = 0; i < COUNT; i++)
        start[i] = i % 127;
    for (int from = 0; from < TYPES; from++)
        for (int to = 0; to < TYPES; to++) {
            weir_cast_find(WEIR_INT32, types[from])(NULL, start, a, COUNT);
            weir_cast_function *cast = weir_cast_find(types[from], types[to]);
            assert_non_null(cast);
            memset(b, 0, COUNT * 16);
            cast(NULL, a, b, COUNT);
            for (int t = 1; t < TEAMS; t++) {
                memset(c, 0, COUNT * 16);
                cast(teams[t], a, c, COUNT);
                assert_memory_equal(b, c, COUNT * 16);
            }
            weir_cast_find(types[to], WEIR_INT32)(teams[1], b, back, COUNT);
            assert_memory_equal(start, back, COUNT * 4);
        }
    guarded_free(start), guarded_free(back), guarded_free(a), guarded_free(b), guarded_free(c);
}

static void test_halves(void **state)
{
    (void)state;
    uint16_t *all = guarded_new(65536 * 2), *again = guarded_new(65536 * 2);
    float *wide = guarded_new(65536 * 4);
    for (int i = 0; i < 65536; i++)
        all[i] = (uint16_t)i;
    for (int tier = 0; tier <= (int)weir_cpu_tier_best(); tier++) {
        tier_kernels[tier]->float_of_half(all, wide, 65536);
        tier_kernels[tier]->half_of_float(wide, again, 65536);
        for (int i = 0; i < 65536; i++) {
            if ((i & 0x7fff) > 0x7c00) {
                assert_true(isnan(wide[i]) && (again[i] & 0x7fff) > 0x7c00);
                continue;
            }
            assert_int_equal(again[i], i);
            double exact = (i & 0x7c00) == 0x7c00 ? INFINITY
                           : (i & 0x7c00) == 0    ? (i & 0x3ff) * 0x1p-24
                                                  : ldexp(1024 + (i & 0x3ff), (i >> 10 & 31) - 25);
            assert_true(wide[i] == (i & 0x8000 ? -exact : exact));
        }
        tier_kernels[tier]->float_of_bfloat16(all, wide, 65536);
        tier_kernels[tier]->bfloat16_of_float(wide, again, 65536);
        for (int i = 0; i < 65536; i++)
            assert_true(again[i] == i || isnan(wide[i]));
        /* Random floats: the nearest half by comparison with its neighbours. */
        for (int i = 0; i < 65536; i++)
            wide[i] = (float)ldexp(random_between(-1, 1), (int)random_whole(-28, 15));
        tier_kernels[tier]->half_of_float(wide, again, 65536);
        for (int i = 0; i < 65536; i++) {
            double chosen = fabs((double)float_of_half(again[i]) - wide[i]);
            assert_true(chosen <= fabs((double)float_of_half((uint16_t)(again[i] + 1)) - wide[i]));
            if ((again[i] & 0x7fff) > 0)
                assert_true(chosen <= fabs((double)float_of_half((uint16_t)(again[i] - 1)) - wide[i]));
        }
    }
    guarded_free(all), guarded_free(again), guarded_free(wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_to_integers),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_halves),
    };
    return cmocka_run_group_tests(tests, teams_start, teams_stop);
}
