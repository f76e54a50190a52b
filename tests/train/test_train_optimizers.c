/*
 * Optimizers, moving averages, schedules, clipping and dropout: step by step the recorded values of TensorFlow.
 */
#include "train/train_test.h"

static const recorded *next_case(const char *family, int *at)
{
    const recorded_file *file = read_recorded();
    while (*at < file->count && strcmp(file->cases[*at].family, family) != 0)
        (*at)++;
    return *at < file->count ? &file->cases[(*at)++] : NULL;
}

static void assert_tensor(const recorded *run, const char *key, const weir_tensor *value)
{
    assert_recorded(run, key, value, number_of(run, "tol.rtol"), number_of(run, "tol.atol"));
}

/* ---- Optimizers ---- */

static weir_optimizer *optimizer_of(weir_scope s, const char *title)
{
    if (strncmp(title, "GradientDescentOptimizer(0.1)", 29) == 0)
        return weir_gradient_descent(s, .learning_rate = 0.1);
    if (strncmp(title, "MomentumOptimizer(0.1,0.9)", 26) == 0)
        return weir_momentum(s, .learning_rate = 0.1, .momentum = 0.9);
    if (strncmp(title, "MomentumOptimizer(0.1,0.9,use_nesterov=True)", 44) == 0)
        return weir_momentum(s, .learning_rate = 0.1, .momentum = 0.9, .nesterov = true);
    if (strncmp(title, "AdamOptimizer()", 15) == 0)
        return weir_adam(s);
    if (strncmp(title, "AdamOptimizer(0.01,epsilon=0.1)", 31) == 0)
        return weir_adam(s, .learning_rate = 0.01, .epsilon = 0.1);
    return NULL;
}

/* Gradients of rows: the rows are given one by one, some of them twice. */
static weir_gradient_value gradient_of_rows(weir_scope s, const recorded *run, weir_output values)
{
    const recorded_field *rows = find_field(run, "indices");
    int32_t indices[16];
    for (int i = 0; i < rows->count; i++)
        indices[i] = (int32_t)rows->values[i];
    weir_gradient_value gradient = {.values = values};
    gradient.indices = weir_const(s, WEIR_TENSOR_SHAPED(WEIR_INT32, WEIR_SHAPE(rows->count), indices));
    gradient.dense_shape = weir_const(s, WEIR_INT32S(4, 2));
    return gradient;
}

static void run_optimizer(const recorded *run)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    WEIR_AUTO(weir_tensor) *initial = tensor_of(run, "initial.0");
    weir_output v = weir_variable_from(s, weir_const_tensor(s, initial, "first"), .name = "v");
    weir_output fed = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 2), .name = "gradient");
    bool is_sparse = strstr(run->title, " sparse") != NULL;
    weir_output_set_shape(fed, is_sparse ? WEIR_SHAPE(3, 2) : WEIR_SHAPE(4, 2));
    weir_optimizer *optimizer = optimizer_of(s, run->title);
    weir_gradient_set *set = weir_compute_gradients(s, optimizer, weir_reduce_sum(s, v));
    weir_gradient_value gradient = {.values = fed};
    if (is_sparse)
        gradient = gradient_of_rows(s, run, fed);
    weir_node *train = weir_apply_gradients(s, optimizer, weir_gradient_set_with(s, set, &gradient, 1));
    WEIR_AUTO(weir_session) *session = start(g);
    /* "variables" stands in the order of their making: v, powers, slots. */
    weir_item items[8];
    int count = weir_collection_items(g, WEIR_VARIABLES, NULL, items, 8);
    for (int step = 0; find_field(run, "steps.%d.gradient", step) != NULL; step++) {
        WEIR_AUTO(weir_tensor) *value = tensor_of(run, "steps.%d.gradient", step);
        assert_ok(weir_run(session, .feeds = {{fed, value}}, .targets = {train}));
        for (int i = 0; i < count; i++) {
            char key[64];
            snprintf(key, sizeof key, "steps.%d.after.%d", step, i);
            WEIR_AUTO(weir_tensor) *after = fetch(session, items[i].output);
            assert_tensor(run, key, after);
        }
    }
}

static void test_optimizers(void **state)
{
    int at = 0, count = 0;
    for (const recorded *run; (run = next_case("optimizers", &at)) != NULL;) {
        bool moves_rows_alone = strstr(run->title, "Momentum") != NULL && strstr(run->title, "sparse") != NULL;
        WEIR_AUTO(weir_graph) *g = weir_graph_new();
        if (optimizer_of(weir_root(g), run->title) == NULL || moves_rows_alone)
            continue;
        run_optimizer(run);
        count++;
    }
    assert_int_equal(count, 8);
}

static void test_slots_have_names_and_are_found(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output v = weir_get_variable(s, "v", WEIR_SHAPE(2));
    weir_output loss = weir_l2_loss(s, v);
    weir_optimizer *adam = weir_adam(s);
    weir_optimizer *other = weir_adam(s);
    assert_null(weir_optimizer_slot(adam, v, "m").node);
    (void)weir_minimize(s, adam, loss);
    (void)weir_minimize(s, adam, loss); /* the same slots again */
    (void)weir_minimize(s, other, loss, .name = "again");
    assert_ok(weir_graph_error(g));
    assert_string_equal(weir_node_name(weir_variable_ref(weir_optimizer_slot(adam, v, "m")).node), "v/Adam");
    assert_string_equal(weir_node_name(weir_variable_ref(weir_optimizer_slot(adam, v, "v")).node), "v/Adam_1");
    assert_string_equal(weir_node_name(weir_variable_ref(weir_optimizer_slot(other, v, "m")).node), "v/Adam_2");
    assert_non_null(weir_graph_find(g, "Adam_1/update_v/ApplyAdam"));
    assert_non_null(weir_graph_find(g, "again/update_v/ApplyAdam"));
    assert_non_null(weir_graph_find(g, "beta1_power_1"));
    assert_int_equal(weir_collection_count(g, WEIR_TRAIN_OP, NULL), 3);
}

static void test_wrong_uses(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output one = weir_const(s, WEIR_FLOAT_OF(1));
    assert_null(weir_gradient_descent(s));
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "GradientDescent needs a .learning_rate");
    assert_null(weir_minimize(s, weir_adam(s), one));
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "No variables to optimize.");
    (void)weir_get_variable(s, "v", WEIR_SHAPE(2));
    assert_null(weir_minimize(s, weir_adam(s), one));
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "No gradients provided for any variable");
    assert_null(weir_minimize(s, weir_adam(s), weir_const(s, WEIR_INT32_OF(1))));
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "Invalid type int32");
    assert_null(weir_minimize(s, weir_adam(s), one, .variables = &one, .num_variables = 1));
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "'Const' is no variable");
    assert_null(weir_optimizer_named(s, "adamant", 1));
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "'adamant' is no optimizer");
    assert_null(weir_minimize(s, NULL, WEIR_NO_OUTPUT));
    assert_ok(weir_graph_error(g));
}

/* ---- Moving averages ---- */

static void run_moving_average(const recorded *run)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output updates = weir_placeholder(s, WEIR_FLOAT, WEIR_SCALAR);
    weir_output v = weir_variable_from(s, weir_const(s, WEIR_FLOATS(1, -2)), .name = "v");
    weir_output t = weir_multiply(s, v, weir_const(s, WEIR_FLOAT_OF(1)), .name = "t");
    bool counts = number_of(run, "params.num_updates") != 0;
    weir_moving_average *average =
        weir_exponential_moving_average(s, 0.99, .num_updates = counts ? updates : WEIR_NO_OUTPUT);
    weir_node *apply = weir_moving_average_apply(s, average, (const weir_output[]){v, t}, 2);
    weir_output fed = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2));
    weir_output assign = weir_assign(s, weir_variable_ref(v), fed);
    WEIR_AUTO(weir_session) *session = start(g);
    const weir_output variables[] = {v, weir_moving_average_of(average, v), weir_moving_average_of(average, t)};
    for (int step = -1; step < 5; step++) {
        WEIR_AUTO(weir_tensor) *number = NULL;
        if (step >= 0) {
            WEIR_AUTO(weir_tensor) *value = tensor_of(run, "steps.%d.v", step);
            float count = (float)find_field(run, "steps.%d.num_updates", step)->values[0];
            number = floats(WEIR_SCALAR, &count);
            assert_ok(weir_run(session, .feeds = {{fed, value}}, .targets = {assign.node}));
            assert_ok(weir_run(session, .feeds = {{updates, number}}, .targets = {apply}));
        }
        for (int i = 0; i < 3; i++) {
            char key[64];
            if (step < 0)
                snprintf(key, sizeof key, "initial.%d", i);
            else
                snprintf(key, sizeof key, "steps.%d.after.%d", step, i);
            WEIR_AUTO(weir_tensor) *after = fetch(session, variables[i]);
            assert_tensor(run, key, after);
        }
    }
}

static void test_moving_average(void **state)
{
    int at = 0, count = 0;
    for (const recorded *run; (run = next_case("moving_average", &at)) != NULL;) {
        if (number_of(run, "params.zero_debias") != 0)
            continue;
        run_moving_average(run);
        count++;
    }
    assert_int_equal(count, 2);
}

/* A shadow begins with what the variable holds when it is initialized, if that is anything. */
static void test_shadow_of_an_initialized_variable(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output v = weir_get_variable(s, "v", WEIR_SHAPE(2), .initializer = weir_constant_initializer(3));
    weir_moving_average *average = weir_exponential_moving_average(s, 0.9);
    (void)weir_moving_average_apply(s, average, &v, 1);
    weir_output shadow = weir_moving_average_of(average, v);
    assert_string_equal(weir_node_name(weir_variable_ref(shadow).node), "v/ExponentialMovingAverage");
    weir_output seven = weir_assign(s, weir_variable_ref(v), weir_const(s, WEIR_FLOATS(7, 7)));
    assert_int_equal(weir_collection_count(g, WEIR_MOVING_AVERAGE_VARIABLES, NULL), 1);
    WEIR_AUTO(weir_session) *session = new_session(g);
    assert_ok(weir_run(session, .targets = {weir_variable_initializer(shadow)}));
    WEIR_AUTO(weir_tensor) *first = fetch(session, shadow);
    assert_true(weir_tensor_floats(first)[0] == 3);
    assert_ok(weir_run(session, .targets = {seven.node}));
    assert_ok(weir_run(session, .targets = {weir_variable_initializer(shadow)}));
    WEIR_AUTO(weir_tensor) *second = fetch(session, shadow);
    assert_true(weir_tensor_floats(second)[1] == 7);
}

/* ---- Schedules ---- */

static void test_learning_rate(void **state)
{
    int at = 0, count = 0;
    for (const recorded *run; (run = next_case("learning_rate", &at)) != NULL;) {
        if (strncmp(run->title, "exponential_decay", 17) != 0)
            continue;
        count++;
        bool is_wide = strstr(run->title, "int64") != NULL;
        WEIR_AUTO(weir_graph) *g = weir_graph_new();
        weir_scope s = weir_root(g);
        weir_output step = weir_placeholder(s, is_wide ? WEIR_INT64 : WEIR_INT32, WEIR_SCALAR);
        weir_output rate = weir_exponential_decay(s, 0.001, step, 600, 0.99,
                                                  .staircase = strstr(run->title, "staircase=True") != NULL);
        WEIR_AUTO(weir_session) *session = new_session(g);
        const recorded_field *steps = find_field(run, "steps");
        for (int64_t i = 0; i < steps->count; i++) {
            WEIR_AUTO(weir_tensor) *number = NULL;
            WEIR_AUTO(weir_tensor) *value = NULL;
            int64_t wide = (int64_t)steps->values[i];
            int32_t narrow = (int32_t)wide;
            assert_ok(weir_tensor_from(is_wide ? WEIR_INT64 : WEIR_INT32, WEIR_SCALAR,
                                       is_wide ? (const void *)&wide : &narrow, &number));
            assert_ok(weir_run(session, .feeds = {{step, number}}, .fetches = {rate}, .results = {&value}));
            assert_near(run->title, weir_tensor_floats(value), find_field(run, "outputs.0")->values + i, 1,
                        number_of(run, "tol.rtol"), number_of(run, "tol.atol"));
        }
    }
    assert_int_equal(count, 4);
}

/* ---- Clipping and dropout: outputs and gradients ---- */

static void compare_with_gradient(const recorded *run, weir_scope s, weir_output x, weir_output y)
{
    WEIR_AUTO(weir_tensor) *input = tensor_of(run, "inputs.0");
    bool has_gradient = find_field(run, "dy.0") != NULL;
    weir_gradient_value gradient = {0};
    if (has_gradient) {
        WEIR_AUTO(weir_tensor) *dy = tensor_of(run, "dy.0");
        weir_output upstream = weir_const_tensor(s, dy, "dy");
        weir_gradients_options options = {.size = sizeof options, .grad_ys = &upstream};
        weir_gradients(s, &y, 1, &x, 1, &options, &gradient);
    }
    WEIR_AUTO(weir_session) *session = new_session(weir_scope_graph(s));
    WEIR_AUTO(weir_tensor) *value = NULL;
    WEIR_AUTO(weir_tensor) *dx = NULL;
    assert_ok(weir_run(session, .feeds = {{x, input}}, .fetches = {y}, .results = {&value}));
    assert_tensor(run, "outputs.0", value);
    if (!has_gradient)
        return;
    /* Recorded in a run of its own: dropout has drawn anew. */
    assert_ok(weir_run(session, .feeds = {{x, input}}, .fetches = {gradient.values}, .results = {&dx}));
    assert_recorded(run, "dx.0", dx, number_of(run, "dx_tol.rtol"), number_of(run, "dx_tol.atol"));
}

static weir_output input_of(weir_scope s, const recorded *run)
{
    WEIR_AUTO(weir_tensor) *input = tensor_of(run, "inputs.0");
    return weir_placeholder(s, WEIR_FLOAT, weir_tensor_shape(input));
}

static void test_dropout(void **state)
{
    int at = 0, count = 0;
    for (const recorded *run; (run = next_case("dropout", &at)) != NULL; count++) {
        WEIR_AUTO(weir_graph) *g = weir_graph_new();
        weir_scope s = weir_root(g);
        weir_output x = input_of(s, run);
        weir_output noise_shape = WEIR_NO_OUTPUT;
        if (find_field(run, "params.noise_shape") != NULL)
            noise_shape = weir_const(s, WEIR_INT32S(4, 1));
        weir_seed seed = WEIR_SEED((int64_t)number_of(run, "params.seed2"));
        compare_with_gradient(run, s, x,
                              weir_dropout(s, x, 1 - number_of(run, "params.rate"), .is_training = true, .seed = seed,
                                           .noise_shape = noise_shape));
    }
    assert_int_equal(count, 8);
}

static void test_clip_by_norm(void **state)
{
    int at = 0, count = 0;
    for (const recorded *run; (run = next_case("clip_by_norm", &at)) != NULL;) {
        if (find_field(run, "params.axes") != NULL)
            continue;
        WEIR_AUTO(weir_graph) *g = weir_graph_new();
        weir_scope s = weir_root(g);
        weir_output x = input_of(s, run);
        compare_with_gradient(run, s, x, weir_clip_by_norm(s, x, number_of(run, "params.clip_norm")));
        count++;
    }
    assert_int_equal(count, 2);
}

static void test_clip_by_value(void **state)
{
    int at = 0;
    const recorded *run = next_case("clip_by_value", &at);
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = input_of(s, run);
    compare_with_gradient(run, s, x,
                          weir_clip_by_value(s, x, number_of(run, "params.min"), number_of(run, "params.max")));
}

static void test_clip_by_global_norm(void **state)
{
    int at = 0, count = 0;
    for (const recorded *run; (run = next_case("clip_by_global_norm", &at)) != NULL; count++) {
        WEIR_AUTO(weir_graph) *g = weir_graph_new();
        weir_scope s = weir_root(g);
        weir_output xs[3] = {{0}}, clipped[3];
        for (int i = 0; i < 2; i++) {
            WEIR_AUTO(weir_tensor) *input = tensor_of(run, "inputs.%d", i);
            xs[2 * i] = weir_const_tensor(s, input, "x"); /* none in the middle */
        }
        weir_output norm = weir_clip_by_global_norm(s, xs, 3, number_of(run, "params.clip_norm"), clipped);
        assert_null(clipped[1].node);
        WEIR_AUTO(weir_session) *session = new_session(g);
        const weir_output outputs[] = {clipped[0], clipped[2], norm};
        for (int i = 0; i < 3; i++) {
            char key[32];
            snprintf(key, sizeof key, "outputs.%d", i);
            WEIR_AUTO(weir_tensor) *value = fetch(session, outputs[i]);
            assert_tensor(run, key, value);
        }
    }
    assert_int_equal(count, 3);
}

/* A set of gradients is clipped with its layers' updates and its holes kept. */
static void test_clipped_sets(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output v = weir_get_variable(s, "v", WEIR_SHAPE(2), .initializer = weir_constant_initializer(3));
    (void)weir_get_variable(s, "unused", WEIR_SHAPE(2));
    weir_optimizer *optimizer = weir_gradient_descent(s, .learning_rate = 1);
    weir_gradient_set *set = weir_compute_gradients(s, optimizer, weir_l2_loss(s, v)); /* gradient 3, 3 */
    const weir_gradient_set *clipped[] = {weir_clip_gradients_by_value(s, set, -1, 1),
                                          weir_clip_gradients_by_norm(s, set, 1),
                                          weir_clip_gradients_by_global_norm(s, set, 1)};
    const double expected[] = {1, sqrt(0.5), sqrt(0.5)};
    WEIR_AUTO(weir_session) *session = start(g);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(weir_gradient_set_count(clipped[i]), 2);
        assert_null(weir_gradient_set_value(clipped[i], 1).values.node);
        WEIR_AUTO(weir_tensor) *value = fetch(session, weir_gradient_set_value(clipped[i], 0).values);
        assert_near("clipped", weir_tensor_floats(value), &expected[i], 1, 1e-6, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_optimizers),
        cmocka_unit_test(test_slots_have_names_and_are_found),
        cmocka_unit_test(test_wrong_uses),
        cmocka_unit_test(test_moving_average),
        cmocka_unit_test(test_shadow_of_an_initialized_variable),
        cmocka_unit_test(test_learning_rate),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_clip_by_norm),
        cmocka_unit_test(test_clip_by_value),
        cmocka_unit_test(test_clip_by_global_norm),
        cmocka_unit_test(test_clipped_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
