/*
 * Variable scopes: names, sharing, devices and TensorFlow's error texts.
 */
#include "train/train_test.h"

static void assert_name(weir_output variable, const char *name)
{
    assert_string_equal(weir_node_name(weir_variable_ref(variable).node), name);
}

static void test_new_variables_have_new_names(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_variable_scope(weir_root(g), "a");
    assert_name(weir_get_variable(s, "v", WEIR_SHAPE(2)), "a/v");
    assert_null(weir_get_variable(s, "v", WEIR_SHAPE(2)).node);
    assert_graph_fails(
        g, WEIR_INVALID_ARGUMENT,
        "Variable a/v already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in "
        "VarScope?");
    assert_null(weir_get_variable(s, "w", WEIR_SHAPE(2, -1)).node);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT,
                       "Shape of a new variable (a/w) must be fully defined, but instead was (2, ?).");
}

static void test_reuse(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope root = weir_root(g);
    weir_scope s = weir_variable_scope(root, "a");
    weir_output v = weir_get_variable(s, "v", WEIR_SHAPE(1));
    weir_scope again = weir_variable_scope(root, "a", .reuse = WEIR_REUSE);
    assert_ptr_equal(weir_get_variable(again, "v", WEIR_SHAPE(1)).node, v.node);
    assert_null(weir_get_variable(again, "w", WEIR_SHAPE(1)).node);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT,
                       "Variable a/w does not exist, or was not created with tf.get_variable(). Did you mean to set "
                       "reuse=tf.AUTO_REUSE in VarScope?");
    assert_null(weir_get_variable(again, "v", WEIR_SHAPE(3)).node);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT,
                       "Trying to share variable a/v, but specified shape (3,) and found shape (1,).");
    assert_null(weir_get_variable(again, "v", WEIR_SHAPE(1), .dtype = WEIR_INT32).node);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT,
                       "Trying to share variable a/v, but specified dtype int32 and found dtype float32_ref.");
    /* A child of a reusing scope reuses; scopes are values, so the one around is as it was. */
    assert_null(weir_get_variable(weir_variable_scope(again, "b"), "v", WEIR_SHAPE(1)).node);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "Variable a/b/v does not exist");
    assert_name(weir_get_variable(s, "w", WEIR_SHAPE(1)), "a/w");
    assert_ptr_equal(weir_get_variable(weir_reusing_variables(s), "v", WEIR_SHAPE(1)).node, v.node);
    /* What tf.Variable made is never shared. */
    (void)weir_variable_from(root, weir_const(root, WEIR_FLOATS(1)), .name = "free");
    assert_null(weir_get_variable(weir_reusing_variables(root), "free", WEIR_SHAPE(1)).node);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "Variable free does not exist");
}

static void test_auto_reuse(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope root = weir_root(g);
    weir_output made[2];
    for (int i = 0; i < 2; i++) {
        weir_scope s = weir_variable_scope(root, "a", .reuse = WEIR_AUTO_REUSE);
        made[i] = weir_get_variable(weir_variable_scope(s, "b"), "v", WEIR_SHAPE(1));
    }
    assert_name(made[0], "a/b/v");
    assert_ptr_equal(made[0].node, made[1].node);
    weir_scope strict =
        weir_variable_scope(weir_variable_scope(root, "a", .reuse = WEIR_AUTO_REUSE), "c", .reuse = WEIR_REUSE);
    assert_null(weir_get_variable(strict, "v", WEIR_SHAPE(1)).node);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "Variable a/c/v does not exist");
    weir_scope free_again = weir_variable_scope(weir_reusing_variables(root), "d", .reuse = WEIR_AUTO_REUSE);
    assert_name(weir_get_variable(free_again, "v", WEIR_SHAPE(1)), "d/v");
}

static void test_names_of_scopes(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope root = weir_root(g);
    weir_scope first = weir_variable_scope(root, "s");
    weir_scope second = weir_variable_scope(root, "s", .reuse = WEIR_AUTO_REUSE);
    assert_string_equal(weir_scope_name(first), "s/");
    assert_string_equal(weir_scope_name(second), "s_1/");
    assert_string_equal(weir_variable_scope_name(second), "s");
    /* Names of variables do not depend on name scopes. */
    assert_name(weir_get_variable(weir_in_scope(first, "tower"), "v", WEIR_SHAPE(1)), "s/v");
    /* Default names are made unique within one opening. */
    weir_scope d = weir_variable_scope(root, NULL, .default_name = "d");
    weir_scope d_1 = weir_variable_scope(root, NULL, .default_name = "d");
    assert_string_equal(weir_variable_scope_name(d), "d");
    assert_string_equal(weir_variable_scope_name(d_1), "d_1");
    assert_string_equal(weir_scope_name(weir_variable_scope(root, "d")), "d_2/");
    assert_null(weir_variable_scope(root, NULL, .default_name = "d", .reuse = WEIR_REUSE).record);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "reuse=True cannot be used without a name_or_scope");
    for (int i = 0; i < 2; i++) {
        weir_scope opened = weir_variable_scope(root, "net", .reuse = WEIR_AUTO_REUSE);
        assert_string_equal(weir_variable_scope_name(weir_variable_scope(opened, NULL, .default_name = "layer")),
                            "net/layer");
    }
    /* A scope opened inside another one keeps the names of its variables. */
    weir_scope outer = weir_variable_scope(root, "outer");
    weir_scope back = weir_variable_scope_of(outer, first, .reuse = WEIR_AUTO_REUSE);
    assert_name(weir_get_variable(back, "w", WEIR_SHAPE(1)), "s/w");
    assert_string_equal(weir_scope_name(back), "outer/s/");
}

static weir_output build_marker(weir_scope s, weir_output value, const weir_regularizer *regularizer)
{
    return weir_identity(s, value, .name = "marker");
}

static void test_defaults_of_scopes(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_variable_scope(weir_root(g), "s", .initializer = weir_constant_initializer(3),
                                       .dtype = WEIR_DOUBLE, .regularizer = {.build = build_marker});
    weir_scope inner = weir_variable_scope(s, "inner");
    weir_output v = weir_get_variable(inner, "v", WEIR_SHAPE(2));
    (void)weir_get_variable(inner, "free", WEIR_SHAPE(2), .no_regularizer = true);
    assert_int_equal(weir_output_dtype(v), WEIR_DOUBLE);
    weir_item loss;
    assert_int_equal(weir_collection_items(g, WEIR_REGULARIZATION_LOSSES, NULL, &loss, 1), 1);
    assert_int_equal(weir_collection_count(g, WEIR_REGULARIZATION_LOSSES, NULL), 1);
    assert_string_equal(weir_node_name(loss.output.node), "s/inner/v/Regularizer/marker");
    /* Shared variables are regularized once. */
    (void)weir_get_variable(weir_reusing_variables(inner), "v", WEIR_SHAPE(2));
    assert_int_equal(weir_collection_count(g, WEIR_REGULARIZATION_LOSSES, NULL), 1);
    WEIR_AUTO(weir_session) *session = start(g);
    WEIR_AUTO(weir_tensor) *value = fetch(session, v);
    assert_true(weir_tensor_doubles(value)[1] == 3);
}

static void test_regularizers(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output first = weir_const(s, WEIR_FLOATS(1, 2, 3), .name = "first");
    const weir_regularizer kinds[] = {weir_l2_regularizer(0.0001), weir_l1_regularizer(0.5)};
    const double expected[] = {0.0007, 3};
    WEIR_AUTO(weir_session) *session = new_session(g);
    for (int i = 0; i < 2; i++) {
        WEIR_AUTO(weir_tensor) *value = fetch(session, kinds[i].build(s, first, &kinds[i]));
        assert_near("regularizer", weir_tensor_floats(value), &expected[i], 1, 1e-6, 0);
    }
    assert_null((void *)(uintptr_t)weir_l2_regularizer(0).build);
    (void)weir_get_variable(s, "v", WEIR_SHAPE(2), .regularizer = weir_l2_regularizer(-1));
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "Setting a scale less than 0 on a regularizer: -1");
    weir_output loss = weir_const(s, WEIR_FLOAT_OF(2));
    assert_ptr_equal(weir_total_loss(s, loss).node, loss.node);
    (void)weir_get_variable(s, "w", WEIR_SHAPE(2), .initializer = weir_ones_initializer(),
                            .regularizer = weir_l2_regularizer(3));
    weir_output total = weir_total_loss(s, loss);
    WEIR_AUTO(weir_session) *other = start(g);
    WEIR_AUTO(weir_tensor) *value = fetch(other, total);
    assert_true(weir_tensor_floats(value)[0] == 5);
}

static void test_accessors(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output v = weir_get_variable(s, "v", WEIR_SHAPE(2), .frozen = true);
    assert_string_equal(weir_node_name(v.node), "v/read");
    assert_string_equal(weir_node_op(weir_variable_ref(v).node), "VariableV2");
    assert_ptr_equal(weir_variable_value(weir_variable_ref(v)).node, v.node);
    assert_string_equal(weir_node_name(weir_variable_initializer(v)), "v/Assign");
    assert_string_equal(weir_node_name(weir_variable_initial_value(v).node), "v/Initializer/random_uniform");
    assert_null(weir_variable_ref(weir_const(s, WEIR_FLOAT_OF(1))).node);
    assert_null(weir_variable_ref(WEIR_NO_OUTPUT).node);
    assert_int_equal(weir_collection_count(g, WEIR_VARIABLES, NULL), 1);
    assert_int_equal(weir_collection_count(g, WEIR_TRAINABLE_VARIABLES, NULL), 0);
    (void)weir_get_variable(s, "local", WEIR_SHAPE(2), .is_local = true);
    assert_int_equal(weir_collection_count(g, WEIR_VARIABLES, NULL), 1);
    assert_int_equal(weir_collection_count(g, WEIR_LOCAL_VARIABLES, NULL), 1);
    assert_string_equal(weir_node_name(weir_node_control(weir_initialize_local_variables(s), 0)), "local/Assign");
    /* Variables that were not made here are found by the names of their nodes. */
    weir_output foreign = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(3), .name = "foreign");
    weir_output read = weir_identity(s, foreign, .name = "foreign/read");
    assert_ptr_equal(weir_variable_value(foreign).node, read.node);
    assert_ptr_equal(weir_variable_ref(read).node, foreign.node);
}

static void test_global_step(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output step = weir_global_step(s);
    assert_ptr_equal(weir_global_step(weir_in_scope(s, "inner")).node, step.node);
    assert_int_equal(weir_output_dtype(step), WEIR_INT64);
    assert_int_equal(weir_collection_count(g, WEIR_TRAINABLE_VARIABLES, NULL), 0);
    WEIR_AUTO(weir_graph) *other = weir_graph_new();
    assert_name(weir_global_step(weir_variable_scope(weir_root(other), "y")), "y/global_step");
    WEIR_AUTO(weir_graph) *wrong = weir_graph_new();
    (void)weir_get_variable(weir_root(wrong), "global_step", WEIR_SCALAR);
    assert_null(weir_global_step(weir_root(wrong)).node);
    assert_graph_fails(wrong, WEIR_INVALID_ARGUMENT, "Existing \"global_step\" does not have integer type: float");
}

static void test_variables_on_a_device_of_their_own(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope root = weir_root(g);
    weir_scope s = weir_on_device_with(weir_on_device(root, "/job:worker"), WEIR_VARIABLES_ON("/cpu:0"), "/gpu:%d", 1);
    weir_output v = weir_get_variable(s, "v", WEIR_SHAPE(2));
    weir_output y = weir_add(s, v, v, .name = "y");
    weir_output inner = weir_add(weir_on_device(s, "/cpu:3"), v, v);
    assert_string_equal(weir_node_device(weir_variable_ref(v).node), "/job:worker/device:CPU:0");
    assert_string_equal(weir_node_device(v.node), "/job:worker/device:CPU:0");
    assert_string_equal(weir_node_device(y.node), "/job:worker/device:GPU:1");
    assert_string_equal(weir_node_device(inner.node), "/job:worker/device:CPU:3");
    assert_null(weir_on_device_with(root, WEIR_VARIABLES_ON("/cpu:0"), "/gpu:%s", "x").record);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "/gpu:x");
}

/* A failed call gives null, everything built on it too, and the first error is the one that is told. */
static void test_failures_travel(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, -1));
    weir_output y = weir_dense(s, x, 10);
    y = weir_dropout(s, weir_normalize(s, weir_flatten(s, y), weir_batch_norm(.is_training = true)), 0.5);
    weir_node *train = weir_minimize(s, weir_adam(s), weir_softmax_loss(s, y, x));
    assert_null(y.node);
    assert_null(train);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT,
                       "dense of 'Placeholder': the last dimension of the input has to be known");
    assert_null(weir_dense(s, weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 3)), 0).node);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "dense: the number of outputs must be at least 1, not 0");
    assert_null(weir_conv2d(s, weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 3)), 4, 3, 3).node);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "conv2d");
    assert_null(weir_dropout(s, weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(3)), 0, .is_training = true).node);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "keep must be above 0 and at most 1, not 0");
    assert_null(weir_dense((weir_scope){0}, x, 3).node);
    assert_ok(weir_graph_error(g));
}

/* Rows of any rank: the last axis is the one that weights take. */
static void test_dense_of_higher_rank(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 2, 3));
    weir_output y = weir_dense(s, x, 2, .weights_initializer = weir_ones_initializer(),
                               .biases_initializer = weir_constant_initializer(10));
    weir_shape shape = weir_output_shape(y);
    assert_int_equal(shape.rank, 3);
    assert_int_equal(shape.dims[2], 2);
    WEIR_AUTO(weir_session) *session = start(g);
    WEIR_AUTO(weir_tensor) *input = floats(WEIR_SHAPE(1, 2, 3), (const float[]){1, 2, 3, 4, 5, 6});
    WEIR_AUTO(weir_tensor) *value = NULL;
    assert_ok(weir_run(session, .feeds = {{x, input}}, .fetches = {y}, .results = {&value}));
    assert_near("dense", weir_tensor_floats(value), (const double[]){16, 16, 25, 25}, 4, 0, 0);
    assert_int_equal(weir_tensor_rank(value), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_variables_have_new_names),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_auto_reuse),
        cmocka_unit_test(test_names_of_scopes),
        cmocka_unit_test(test_defaults_of_scopes),
        cmocka_unit_test(test_regularizers),
        cmocka_unit_test(test_accessors),
        cmocka_unit_test(test_global_step),
        cmocka_unit_test(test_variables_on_a_device_of_their_own),
        cmocka_unit_test(test_failures_travel),
        cmocka_unit_test(test_dense_of_higher_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
