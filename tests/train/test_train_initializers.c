/*
 * Initializers: the recorded values of TensorFlow for a seed.
 */
#include "train/train_test.h"

static weir_initializer initializer_of(const char *family, weir_seed seed)
{
    const char *name = family + strlen("initializer_");
    if (strcmp(name, "glorot_normal") == 0)
        return weir_xavier_normal_initializer(.seed = seed);
    if (strcmp(name, "glorot_uniform") == 0)
        return weir_xavier_initializer(.seed = seed);
    if (strcmp(name, "he_normal") == 0)
        return weir_variance_scaling_initializer(.scale = 2, .seed = seed);
    if (strcmp(name, "lecun_normal") == 0)
        return weir_variance_scaling_initializer(.seed = seed);
    if (strcmp(name, "variance_scaling_fan_avg_uniform_2") == 0)
        return weir_variance_scaling_initializer(.scale = 2, .fan = WEIR_FAN_AVG, .distribution = WEIR_UNIFORM,
                                                 .seed = seed);
    if (strcmp(name, "random_normal_initializer") == 0)
        return weir_normal_initializer(0, 0.1, .seed = seed);
    if (strcmp(name, "random_uniform_initializer") == 0)
        return weir_uniform_initializer(-0.1, 0.1, .seed = seed);
    assert_string_equal(name, "truncated_normal_initializer");
    return weir_truncated_normal_initializer(0, 0.1, .seed = seed);
}

static void test_recorded_initializers(void **state)
{
    const recorded_file *file = read_recorded();
    int count = 0;
    for (int i = 0; i < file->count; i++) {
        const recorded *run = &file->cases[i];
        if (strncmp(run->family, "initializer_", 12) != 0)
            continue;
        WEIR_AUTO(weir_tensor) *expected = tensor_of(run, "outputs.0");
        WEIR_AUTO(weir_graph) *g = weir_graph_new();
        weir_seed seed = WEIR_SEED((int64_t)number_of(run, "params.op_seed"));
        weir_output v = weir_get_variable(weir_root(g), "v", weir_tensor_shape(expected),
                                          .initializer = initializer_of(run->family, seed));
        WEIR_AUTO(weir_session) *session = start(g);
        WEIR_AUTO(weir_tensor) *value = fetch(session, v);
        assert_recorded(run, "outputs.0", value, number_of(run, "tol.rtol"), number_of(run, "tol.atol"));
        count++;
    }
    assert_int_equal(count, 24);
}

static void test_constants(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output zeros = weir_get_variable(s, "zeros", WEIR_SHAPE(1500), .initializer = weir_zeros_initializer());
    weir_output ones = weir_get_variable(s, "ones", WEIR_SHAPE(3), .initializer = weir_ones_initializer());
    weir_output half = weir_get_variable(s, "half", WEIR_SCALAR, .initializer = weir_constant_initializer(0.5));
    weir_output count = weir_get_variable(s, "count", WEIR_SHAPE(2), .dtype = WEIR_INT32); /* zeros by default */
    WEIR_AUTO(weir_session) *session = start(g);
    WEIR_AUTO(weir_tensor) *a = fetch(session, zeros);
    WEIR_AUTO(weir_tensor) *b = fetch(session, ones);
    WEIR_AUTO(weir_tensor) *c = fetch(session, half);
    WEIR_AUTO(weir_tensor) *d = fetch(session, count);
    for (int i = 0; i < 1500; i++)
        assert_true(weir_tensor_floats(a)[i] == 0);
    assert_true(weir_tensor_floats(b)[2] == 1);
    assert_true(weir_tensor_floats(c)[0] == 0.5f);
    assert_int_equal(weir_tensor_int32s(d)[1], 0);
}

/* Run twice, an initializer gives new numbers; a new session begins anew. */
static void test_initialized_again(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_graph_set_seed(g, 7);
    weir_output v = weir_get_variable(weir_root(g), "v", WEIR_SHAPE(4));
    WEIR_AUTO(weir_session) *one = start(g);
    WEIR_AUTO(weir_session) *two = start(g);
    WEIR_AUTO(weir_tensor) *first = fetch(one, v);
    WEIR_AUTO(weir_tensor) *same = fetch(two, v);
    assert_ok(weir_run(one, .targets = {weir_variable_initializer(v)}));
    WEIR_AUTO(weir_tensor) *other = fetch(one, v);
    assert_memory_equal(weir_tensor_data(first), weir_tensor_data(same), 16);
    assert_memory_not_equal(weir_tensor_data(first), weir_tensor_data(other), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_initializers),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_initialized_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
