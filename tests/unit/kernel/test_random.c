/*
 * Random numbers: known answers of the generator (Random123's public ones), and numbers that TensorFlow gives for given
 * seeds. Uniforms, integers and shuffles to the bit, normals to three units in the last place; the same with any team.
 */
#include "kernel_data.h"

#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/random.h"
#include "kernel/cpu/random_words.h"

#define TIER_TABLE(tier) extern const weir_random_kernels weir_random_kernels_##tier;
WEIR_CPU_TIERS(TIER_TABLE)
#define TIER_ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_random_kernels_##tier,
static const weir_random_kernels *const tier_kernels[] = {WEIR_CPU_TIERS(TIER_ENTRY)};

static void check_words(weir_philox generator, const uint32_t *expected, int calls)
{
    for (int call = 0; call < calls; call++) {
        uint32_t words[4];
        weir_philox_next(&generator, words);
        for (int i = 0; i < 4; i++)
            assert_int_equal(words[i], expected[4 * call + i]);
    }
}

static void test_generator(void **state)
{
    (void)state;
    static const uint32_t zeros[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    static const uint32_t ones[] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    static const uint32_t pi[] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    static const uint32_t seeds_1_2[] = {0xe73404cf, 0x8cedc5d3, 0x3f071736, 0x0a0afddd,
                                         0xb7b4c173, 0xdb04b052, 0x44541f91, 0x0e0b3cf3};
    static const uint32_t default_seed[] = {0xab1e98c7, 0xcdf5cfa7, 0xf1867731, 0x4c3f748e,
                                            0x00eaf265, 0xc4836362, 0xa50b474a, 0x8f3a73d9};
    static const uint32_t seeds_1234[] = {0x73554993, 0xe57bd613, 0x2471d96b, 0xdd0c15a2,
                                          0x6ca507eb, 0xf51b9363, 0x8603a84a, 0x3381b93f};
    check_words((weir_philox){{0}, {0}}, zeros, 1);
    check_words((weir_philox){{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}}, ones, 1);
    check_words((weir_philox){{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}}, pi, 1);
    check_words(weir_philox_seeded(1, 2), seeds_1_2, 2);
    check_words(weir_philox_seeded(87654321, 1), default_seed, 2);
    check_words(weir_philox_seeded(1234, 5678), seeds_1234, 2);
}

static void test_skip(void **state)
{
    (void)state;
    weir_philox stepped = {{0xfffffffe, 0xffffffff, 0xffffffff, 7}, {3, 4}}, skipped = stepped;
    uint32_t words[4];
    for (int i = 0; i < 5; i++)
        weir_philox_next(&stepped, words);
    weir_philox_skip(&skipped, 5);
    assert_memory_equal(&stepped, &skipped, sizeof stepped);
    assert_int_equal(stepped.counter[0], 3);
    assert_int_equal(stepped.counter[2], 0);
    assert_int_equal(stepped.counter[3], 8);
}

/* Every tier's words are the generator's, also where the counter carries. */
static void test_tiers(void **state)
{
    (void)state;
    enum { STEPS = 37 };
    for (int tier = 0; tier <= (int)weir_cpu_tier_best(); tier++)
        for (uint32_t low = 0xffffffe0; low != 0x10; low++) {
            weir_philox base = {{low, 0xffffffff, 0xffffffff, 5}, {low * 3, 77}}, generator = base;
            uint32_t *words = guarded_new(STEPS * 16), expected[4];
            tier_kernels[tier]->fill_words(base.counter, base.key, STEPS, words);
            for (int step = 0; step < STEPS; step++) {
                weir_philox_next(&generator, expected);
                assert_memory_equal(words + 4 * step, expected, sizeof expected);
            }
            float *numbers = guarded_new(STEPS * 16);
            memcpy(numbers, words, STEPS * 16);
            tier_kernels[tier]->floats_of_words(numbers, STEPS * 4);
            for (int i = 0; i < STEPS * 4; i++)
                assert_true(numbers[i] == weir_philox_float(words[i]));
            guarded_free(words), guarded_free(numbers);
        }
}

static weir_philox later(weir_philox base, int64_t n)
{
    weir_philox_skip(&base, weir_random_steps(n));
    return base;
}

static void assert_floats(const float *value, const double *expected, int n, double units)
{
    for (int i = 0; i < n; i++)
        if (!(ulps(value[i], (float)expected[i]) <= units))
            fail_msg("element %d is %.9g, not %.9g", i, value[i], expected[i]);
}

static void test_uniform(void **state)
{
    (void)state;
    static const uint32_t bits[] = {0x3f2a9326, 0x3f77ac26, 0x3f63b2d6, 0x3dc15a20, 0x3e941fac,
                                    0x3e5c9b18, 0x3cea1280, 0x3c5c9f80, 0x3ee5dd84, 0x3d359ca0};
    static const double second[] = {0.314010262,  0.811656117, 0.721270919,  0.536304116,  0.381785274,
                                    0.0626528263, 0.756008863, 0.0274841785, 0.0838439465, 0.266517758};
    static const double one[] = {0.239037395, 0.920399547, 0.0505124331, 0.495744467};
    static const double zero[] = {0.100862622, 0.970166802, 0.848764181, 0.048281312};
    static const double both[] = {0.4163028, 0.268581629, 0.479683161, 0.364571333};
    weir_philox base = weir_philox_seeded(1234, 5678), next = later(base, 10);
    weir_random_function *uniform = weir_random_uniform_find(WEIR_FLOAT);
    float out[10];
    uniform(NULL, &base, 10, out);
    assert_memory_equal(out, bits, sizeof bits);
    uniform(NULL, &next, 10, out);
    assert_floats(out, second, 10, 0);
    base = weir_philox_seeded(87654321, 1);
    uniform(NULL, &base, 4, out);
    assert_floats(out, one, 4, 0);
    base = weir_philox_seeded(87654321, 0);
    uniform(NULL, &base, 4, out);
    assert_floats(out, zero, 4, 0);
    base = weir_philox_seeded(42, 42);
    uniform(NULL, &base, 4, out);
    assert_floats(out, both, 4, 0);
    /* The keep mask of a dropout with rate 0.25, and a published one with rate 0.5. */
    static const int kept[] = {1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1};
    static const int published[] = {1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1};
    float noise[15];
    base = weir_philox_seeded(1234, 5678);
    uniform(NULL, &base, 12, noise);
    for (int i = 0; i < 12; i++)
        assert_int_equal(noise[i] >= 0.25f, kept[i]);
    base = weir_philox_seeded(0, 1);
    uniform(NULL, &base, 15, noise);
    for (int i = 0; i < 15; i++)
        assert_int_equal(noise[i] >= 0.5f, published[i]);
    double wide[2];
    base = weir_philox_seeded(1234, 5678);
    weir_random_uniform_find(WEIR_DOUBLE)(NULL, &base, 2, wide);
    assert_true(wide[0] == 0.33046331064304435 && wide[1] == 0.11558138224186409);
}

static void test_glorot(void **state)
{
    (void)state;
    /* Published: shape [4,4,3,8], limit sqrt(3/88), seeds (1, 0), elements 128 to 135. */
    static const double expected[] = {0.00131723, 0.14176141,  -0.04434952, 0.09197326,
                                      0.14984085, -0.03514394, -0.06847463, 0.05245192};
    weir_philox base = weir_philox_seeded(1, 0);
    float out[384];
    weir_random_uniform_find(WEIR_FLOAT)(NULL, &base, 384, out);
    float limit = sqrtf(3.0f / 88.0f);
    for (int i = 0; i < 8; i++)
        assert_true(fabs(out[128 + i] * (limit - -limit) - limit - expected[i]) < 1e-7);
}

static void test_normal(void **state)
{
    (void)state;
    static const double first[] = {-0.182898134, 0.882357836, 0.270593852, 0.401358217, 1.53798091,
                                   0.339364707,  0.225343287, 2.65702605,  0.348030388, 1.21677327};
    static const double one[] = {-0.81131822, 1.48459876, 0.06532937, -2.44270396};
    static const double five[] = {-1.3768897, -0.01258316, -0.169515, 1.0824056};
    weir_random_function *normal = weir_random_normal_find(WEIR_FLOAT);
    weir_philox base = weir_philox_seeded(1234, 5678);
    float out[10];
    normal(NULL, &base, 10, out);
    assert_floats(out, first, 10, 3);
    double wide[2];
    weir_random_normal_find(WEIR_DOUBLE)(NULL, &base, 2, wide);
    assert_true(fabs(wide[0] - 0.98818649053182639) < 1e-15 && fabs(wide[1] - 1.1126575101871254) < 1e-15);
    base = weir_philox_seeded(87654321, 1);
    normal(NULL, &base, 4, out);
    assert_floats(out, one, 4, 8); /* printed with eight digits after the point */
    base = weir_philox_seeded(5, 1);
    normal(NULL, &base, 4, out);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(out[i] - five[i]) < 1e-7);
}

static void test_truncated(void **state)
{
    (void)state;
    static const double first[] = {-0.182898134, 0.882357836, 0.270593852, 0.401358217,    0.278288394,
                                   0.510980904,  1.04628921,  1.43078148,  -0.00453859521, 0.402446836,
                                   0.537901103,  -1.25171494, -1.02664983, 0.302993685};
    static const double second[] = {-0.585913241, 1.51846826,   0.312093556,   0.38553682,   -0.0329208374,
                                    -0.583938122, 0.128533095,  -0.0370243937, -0.493453115, 0.995189667,
                                    -0.166160449, -0.618625641, -0.864464283,  -0.454446584};
    static const double empty_graph[] = {-0.138625219, -0.247892454, -0.221797451, 0.915651381};
    static const double forty_two[] = {-0.28077507,  -0.137752101,   -0.676329613, 0.0245804135,
                                       -0.468454719, -0.00246631843, -0.974591076, 0.663849175};
    static const double two[] = {-0.85811085, -0.19662298, 0.13895047, -1.22127688};
    weir_random_function *truncated = weir_random_truncated_normal_find(WEIR_FLOAT);
    weir_philox base = weir_philox_seeded(1234, 5678), next = later(base, 14);
    float out[14];
    truncated(NULL, &base, 14, out);
    assert_floats(out, first, 14, 3);
    truncated(NULL, &next, 14, out);
    assert_floats(out, second, 14, 3);
    base = weir_philox_seeded(1234, 3);
    truncated(NULL, &base, 4, out);
    assert_floats(out, empty_graph, 4, 3);
    base = weir_philox_seeded(87654321, 42);
    truncated(NULL, &base, 8, out);
    assert_floats(out, forty_two, 8, 3);
    base = weir_philox_seeded(87654321, 2);
    truncated(NULL, &base, 4, out);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(out[i] - two[i]) < 3e-7);
    float many[4096];
    double sum = 0, squares = 0, largest = 0;
    base = weir_philox_seeded(1, 1);
    truncated(teams[1], &base, 4096, many);
    for (int i = 0; i < 4096; i++) {
        sum += many[i];
        squares += (double)many[i] * many[i];
        largest = fmax(largest, fabs((double)many[i]));
    }
    assert_true(fabs(largest - 1.997492) < 1e-6 && fabs(sum / 4096 + 0.0087) < 1e-4);
    assert_true(fabs(squares / 4096 - sum * sum / 4096 / 4096 - 0.779) < 1e-3);
}

static void test_integers(void **state)
{
    (void)state;
    static const int32_t expected[] = {7, 2, 9, 3, 0, 3, 0, -2};
    static const int64_t wide[] = {835848599955, 768242927979, 418897332203, 250412464202};
    weir_philox base = weir_philox_seeded(1234, 5678);
    int32_t out[8];
    int64_t wide_out[4];
    weir_random_int32(NULL, &base, -5, 12, 8, out);
    assert_memory_equal(out, expected, sizeof expected);
    weir_random_int64(NULL, &base, 0, 1000000000000, 4, wide_out);
    assert_memory_equal(wide_out, wide, sizeof wide);
    weir_random_int32(NULL, &base, INT32_MIN, INT32_MAX, 8, out);
    weir_random_int64(NULL, &base, INT64_MIN, INT64_MAX, 4, wide_out);
}

static void test_shuffle(void **state)
{
    (void)state;
    static const int64_t expected[] = {5, 4, 0, 1, 9, 8, 2, 3, 7, 6};
    weir_philox base = weir_philox_seeded(1234, 5678);
    int64_t permutation[10];
    weir_random_permutation(&base, 10, permutation);
    assert_memory_equal(permutation, expected, sizeof expected);
    assert_int_equal(weir_random_shuffle_steps(0), 0);
    assert_int_equal(weir_random_shuffle_steps(1), 0);
    assert_int_equal(weir_random_shuffle_steps(2), 1);
    assert_int_equal(weir_random_shuffle_steps(5), 1);
    assert_int_equal(weir_random_shuffle_steps(6), 2);
    /* A queue of 0 .. 7 that is emptied at random. */
    static const int64_t dequeued[] = {3, 6, 5, 1, 7, 2, 0, 4};
    weir_philox_words stream = {.generator = base};
    int64_t queue[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int size = 8; size > 0; size--) {
        uint32_t at = weir_philox_word(&stream) % (uint32_t)size;
        assert_int_equal(queue[at], dequeued[8 - size]);
        queue[at] = queue[size - 1];
    }
}

/* Every length, every team: the same elements, and the last group cut. */
static void test_teams(void **state)
{
    (void)state;
    static const weir_dtype types[] = {WEIR_FLOAT, WEIR_DOUBLE, WEIR_HALF, WEIR_BFLOAT16};
    static const size_t widths[] = {4, 8, 2, 2};
    static const int64_t lengths[] = {0, 1, 2, 3, 5, 7, 4096, 4097, 20001};
    for (int type = 0; type < 4; type++) {
        weir_random_function *functions[] = {weir_random_uniform_find(types[type]),
                                             weir_random_normal_find(types[type]),
                                             weir_random_truncated_normal_find(types[type])};
        for (int f = 0; f < 3; f++) {
            weir_philox base = weir_philox_seeded(99, type);
            char *whole = guarded_new(20008 * widths[type]);
            functions[f](NULL, &base, 20008, whole);
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
                for (int t = 0; t < TEAMS; t++) {
                    char *out = guarded_new((size_t)lengths[l] * widths[type]);
                    functions[f](teams[t], &base, lengths[l], out);
                    assert_memory_equal(out, whole, (size_t)lengths[l] * widths[type]);
                    guarded_free(out);
                }
            guarded_free(whole);
        }
    }
    weir_philox base = weir_philox_seeded(3, 4);
    int32_t *first = guarded_new(30001 * 4), *other = guarded_new(30001 * 4);
    int64_t *wide = guarded_new(30001 * 8), *wide_other = guarded_new(30001 * 8);
    weir_random_int32(NULL, &base, 0, 1000, 30001, first);
    weir_random_int64(NULL, &base, 0, 1000, 30001, wide);
    for (int t = 1; t < TEAMS; t++) {
        weir_random_int32(teams[t], &base, 0, 1000, 30001, other);
        weir_random_int64(teams[t], &base, 0, 1000, 30001, wide_other);
        assert_memory_equal(first, other, 30001 * 4);
        assert_memory_equal(wide, wide_other, 30001 * 8);
    }
    guarded_free(first), guarded_free(other), guarded_free(wide), guarded_free(wide_other);
    assert_null(weir_random_uniform_find(WEIR_INT32));
}

static void test_narrow(void **state)
{
    (void)state;
    weir_philox base = weir_philox_seeded(1234, 5678), words_of = base;
    uint16_t half[4], brain[4];
    uint32_t words[4];
    weir_philox_next(&words_of, words);
    weir_random_uniform_find(WEIR_HALF)(NULL, &base, 4, half);
    weir_random_uniform_find(WEIR_BFLOAT16)(NULL, &base, 4, brain);
    for (int i = 0; i < 4; i++) {
        assert_true(float_of_half(half[i]) == (float)(words[i] & 0x3ff) / 1024);
        assert_true(float_of_bfloat16(brain[i]) == (float)(words[i] & 0x7f) / 128);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generator), cmocka_unit_test(test_skip),     cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_uniform),   cmocka_unit_test(test_glorot),   cmocka_unit_test(test_normal),
        cmocka_unit_test(test_truncated), cmocka_unit_test(test_integers), cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_teams),     cmocka_unit_test(test_narrow),
    };
    return cmocka_run_group_tests(tests, teams_start, teams_stop);
}
