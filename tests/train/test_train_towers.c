/*
 * Towers: parts of a batch, weighted means, and steps that equal those of one device with the whole batch.
 */
#include "train/train_test.h"

enum { FEATURES = 6, CLASSES = 3, STEPS = 6 };

static weir_output network(weir_scope s, weir_output x)
{
    s = weir_variable_scope(s, "net", .reuse = WEIR_AUTO_REUSE);
    weir_output h = weir_dense(s, x, 8, .scope = "hidden", .activation = WEIR_TANH,
                               .weights_initializer = weir_xavier_initializer(.seed = WEIR_SEED(1)));
    return weir_dense(s, h, CLASSES, .scope = "out",
                      .weights_initializer = weir_xavier_initializer(.seed = WEIR_SEED(2)));
}

typedef struct program {
    weir_graph *graph;
    weir_output x, y, loss;
    weir_node *train;
} program;

static program build(int towers)
{
    program p = {.graph = weir_graph_new()};
    weir_scope s = weir_root(p.graph);
    weir_gradient_set *gradients[8];
    weir_output loss[8], rows[8];
    p.x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, FEATURES));
    p.y = weir_placeholder(s, WEIR_INT32, WEIR_SHAPE(-1));
    weir_optimizer *optimizer = weir_adam(s, .learning_rate = 0.05);
    for (int i = 0; i < towers; i++) {
        char device[16];
        snprintf(device, sizeof device, "/cpu:%d", i % 2);
        weir_scope t = weir_tower(s, i, WEIR_VARIABLES_ON("/cpu:0"), device);
        weir_output x = weir_batch_part(t, p.x, i, towers);
        loss[i] = weir_softmax_loss(t, network(t, x), weir_batch_part(t, p.y, i, towers));
        gradients[i] = weir_compute_gradients(t, optimizer, loss[i]);
        rows[i] = weir_rows(t, x);
    }
    weir_gradient_set *mean = weir_average_gradients(s, gradients, towers, .weights = rows);
    p.train = weir_apply_gradients(s, optimizer, mean);
    p.loss = weir_average_outputs(s, loss, towers, .weights = rows);
    assert_ok(weir_graph_error(p.graph));
    return p;
}

static void make_batch(int step, int rows, weir_tensor **x, weir_tensor **y)
{
    assert_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(rows, FEATURES), x));
    assert_ok(weir_tensor_new(WEIR_INT32, WEIR_SHAPE(rows), y));
    for (int i = 0; i < rows * FEATURES; i++)
        weir_tensor_floats(*x)[i] = (float)sin(1.7 * i + 0.3 * step * i + step);
    for (int i = 0; i < rows; i++)
        weir_tensor_int32s(*y)[i] = (i * 7 + step) % CLASSES;
}

/* Losses of STEPS steps, and the sum of the first layer's weights. */
static void train(const program *p, const int *rows, double results[STEPS + 1])
{
    WEIR_AUTO(weir_session) *session = NULL;
    weir_node *init = weir_initialize_variables(weir_root(p->graph));
    assert_ok(weir_session_new(p->graph, &(weir_session_options){.cpu_devices = 2}, &session));
    assert_ok(weir_run(session, .targets = {init}));
    for (int i = 0; i < STEPS; i++) {
        WEIR_AUTO(weir_tensor) *x = NULL;
        WEIR_AUTO(weir_tensor) *y = NULL;
        WEIR_AUTO(weir_tensor) *loss = NULL;
        make_batch(i, rows[i], &x, &y);
        assert_ok(weir_run(session, .feeds = {{p->x, x}, {p->y, y}}, .fetches = {p->loss}, .results = {&loss}));
        assert_ok(weir_run(session, .feeds = {{p->x, x}, {p->y, y}}, .targets = {p->train}));
        results[i] = (double)weir_tensor_floats(loss)[0];
    }
    WEIR_AUTO(weir_tensor) *weights = fetch(session, named(p->graph, "net/hidden/weights"));
    results[STEPS] = 0;
    for (int64_t i = 0; i < weir_tensor_elements(weights); i++)
        results[STEPS] += (double)weir_tensor_floats(weights)[i] * (double)(i % 5);
}

static void compare_towers(const int rows[STEPS])
{
    double whole[STEPS + 1], parts[STEPS + 1];
    program one = build(1);
    train(&one, rows, whole);
    weir_graph_free(one.graph);
    for (int towers = 2; towers <= 5; towers++) {
        program p = build(towers);
        train(&p, rows, parts);
        for (int i = 0; i <= STEPS; i++) {
            if (!is_near(parts[i], whole[i], 1e-5, 1e-5))
                fail_msg("%d towers, step %d of %d rows: %.9g, not %.9g", towers, i, i < STEPS ? rows[i] : 0, parts[i],
                         whole[i]);
        }
        weir_graph_free(p.graph);
    }
}

static void test_towers_equal_one_device(void **state)
{
    compare_towers((const int[]){20, 20, 40, 60, 20, 20});
}

/* 7 rows for 5 towers; 2 rows leave three of them nothing. */
static void test_uneven_and_empty_parts(void **state)
{
    compare_towers((const int[]){7, 13, 2, 1, 3, 11});
}

static void test_variables_are_shared_and_on_their_device(void **state)
{
    program p = build(3);
    assert_int_equal(weir_collection_count(p.graph, WEIR_TRAINABLE_VARIABLES, NULL), 4);
    assert_string_equal(weir_node_device(weir_graph_find(p.graph, "net/out/weights")), "/device:CPU:0");
    assert_string_equal(weir_node_device(weir_graph_find(p.graph, "net/out/weights/Adam")), "/device:CPU:0");
    assert_string_equal(weir_node_device(weir_graph_find(p.graph, "tower_1/net/out/MatMul")), "/device:CPU:1");
    weir_graph_free(p.graph);
}

static void test_parts_of_a_batch(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 2));
    weir_output parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = weir_batch_part(s, x, i, 3);
    weir_output known = weir_batch_part(s, weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(7, 2)), 1, 3);
    assert_int_equal(weir_output_shape(known).dims[0], 2);
    assert_null(weir_batch_part(s, x, 3, 3).node);
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "Part 3 of 3");
    WEIR_AUTO(weir_session) *session = new_session(g);
    WEIR_AUTO(weir_tensor) *input = floats(WEIR_SHAPE(4, 2), (const float[]){0, 1, 2, 3, 4, 5, 6, 7});
    WEIR_AUTO(weir_tensor) *a = NULL;
    WEIR_AUTO(weir_tensor) *b = NULL;
    WEIR_AUTO(weir_tensor) *c = NULL;
    assert_ok(
        weir_run(session, .feeds = {{x, input}}, .fetches = {parts[0], parts[1], parts[2]}, .results = {&a, &b, &c}));
    assert_int_equal(weir_tensor_dim(a, 0), 1);
    assert_int_equal(weir_tensor_dim(b, 0), 1);
    assert_int_equal(weir_tensor_dim(c, 0), 2);
    assert_near("part", weir_tensor_floats(c), (const double[]){4, 5, 6, 7}, 4, 0, 0);
}

/* A tower that does not use a variable counts as 0 in the mean of its gradients. */
static void test_missing_gradients(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output v = weir_get_variable(s, "v", WEIR_SHAPE(2), .initializer = weir_constant_initializer(3));
    weir_output w = weir_get_variable(s, "w", WEIR_SHAPE(2), .initializer = weir_constant_initializer(5));
    (void)weir_get_variable(s, "unused", WEIR_SHAPE(2));
    weir_optimizer *optimizer = weir_gradient_descent(s, .learning_rate = 1);
    weir_gradient_set *sets[] = {weir_compute_gradients(s, optimizer, weir_l2_loss(s, v)),
                                 weir_compute_gradients(s, optimizer, weir_l2_loss(s, weir_add(s, v, w)))};
    weir_gradient_set *mean = weir_average_gradients(s, sets, 2);
    assert_null(weir_gradient_set_value(mean, 2).values.node);
    WEIR_AUTO(weir_session) *session = start(g);
    WEIR_AUTO(weir_tensor) *of_v = fetch(session, weir_gradient_set_value(mean, 0).values);
    assert_near("mean", weir_tensor_floats(of_v), (const double[]){5.5, 5.5}, 2, 1e-6, 0);
    WEIR_AUTO(weir_tensor) *of_w = fetch(session, weir_gradient_set_value(mean, 1).values);
    assert_near("mean", weir_tensor_floats(of_w), (const double[]){4, 4}, 2, 1e-6, 0);
    sets[1] = NULL; /* of something that failed */
    assert_null(weir_average_gradients(s, sets, 2));
    assert_true(weir_ok(weir_graph_error(g)));
    assert_null(weir_average_gradients(s, sets, 0));
    weir_status status = weir_graph_error(g);
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    assert_non_null(strstr(weir_status_text(status), "gradients of 0 towers"));
}

/* Moving statistics of batch norm: once per step, from the first tower, in both modes. */
static void test_statistics_move_once(void **state)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        WEIR_AUTO(weir_graph) *g = weir_graph_new();
        weir_scope s = weir_root(g);
        weir_gradient_set *gradients[2];
        weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 2));
        weir_optimizer *optimizer = weir_gradient_descent(s, .learning_rate = 0.1);
        for (int i = 0; i < 2; i++) {
            weir_scope t = weir_tower(s, i, WEIR_VARIABLES_ON("/cpu:0"), "/cpu:0");
            weir_normalizer bn = weir_batch_norm(.is_training = true, .decay = 0.5, .update_in_place = in_place != 0);
            weir_output y = weir_normalize(t, weir_batch_part(t, x, i, 2), bn, .scope = "bn");
            gradients[i] = weir_compute_gradients(t, optimizer, weir_reduce_mean(t, weir_square(t, y)));
        }
        weir_node *train = weir_apply_gradients(s, optimizer, weir_average_gradients(s, gradients, 2));
        WEIR_AUTO(weir_session) *session = start(g);
        WEIR_AUTO(weir_tensor) *input = floats(WEIR_SHAPE(4, 2), (const float[]){1, 2, 3, 4, 50, 60, 70, 80});
        assert_ok(weir_run(session, .feeds = {{x, input}}, .targets = {train}));
        WEIR_AUTO(weir_tensor) *mean = fetch(session, named(g, "bn/moving_mean"));
        assert_near("mean", weir_tensor_floats(mean), (const double[]){1, 1.5}, 2, 1e-6, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_towers_equal_one_device),
        cmocka_unit_test(test_uneven_and_empty_parts),
        cmocka_unit_test(test_variables_are_shared_and_on_their_device),
        cmocka_unit_test(test_parts_of_a_batch),
        cmocka_unit_test(test_missing_gradients),
        cmocka_unit_test(test_statistics_move_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
