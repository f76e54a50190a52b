/*
 * Failures that people met in the field, by the numbers they are known by: F105 log(0) in the loss, F109 statistics of
 * batch norm that never move, F113 dropout left on in evaluation.
 *
 * test: timeout=300
 */
#include "train/train_test.h"

/* ---- F105 ---- */

typedef struct loss_and_gradient {
    float loss;
    float gradient[3];
} loss_and_gradient;

static loss_and_gradient compute(weir_session *session, weir_output x, const float logits[3], weir_output loss,
                                 weir_output gradient)
{
    WEIR_AUTO(weir_tensor) *input = floats(WEIR_SHAPE(1, 3), logits);
    WEIR_AUTO(weir_tensor) *a = NULL;
    WEIR_AUTO(weir_tensor) *b = NULL;
    loss_and_gradient result;
    assert_ok(weir_run(session, .feeds = {{x, input}}, .fetches = {loss, gradient}, .results = {&a, &b}));
    result.loss = weir_tensor_floats(a)[0];
    memcpy(result.gradient, weir_tensor_floats(b), sizeof result.gradient);
    return result;
}

static weir_output gradient_of(weir_scope s, weir_output y, weir_output x)
{
    weir_gradient_value gradient;
    weir_gradients(s, &y, 1, &x, 1, NULL, &gradient);
    return gradient.values;
}

static void test_F105_built_in_losses_stay_finite(void **state)
{
    static const float logits[][3] = {{1000, 0, -1000}, {-1000, 0, 1000}, {1e4f, -1e4f, 0}, {-1e4f, -1e4f, -1e4f}};
    static const double losses[] = {1000, 1000, 2e4, 1.0986122886681098};
    static const double gradients[][3] = {{1, -1, 0}, {0, -1, 1}, {1, -1, 0}, {1.0 / 3, -2.0 / 3, 1.0 / 3}};
    for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
        WEIR_AUTO(weir_graph) *g = weir_graph_new();
        weir_scope s = weir_root(g);
        weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 3));
        weir_output labels =
            is_sparse ? weir_const(s, WEIR_INT32S(1))
                      : weir_const(s, WEIR_TENSOR_SHAPED(WEIR_FLOAT, WEIR_SHAPE(1, 3), ((const float[]){0, 1, 0})));
        weir_output loss = weir_softmax_loss(s, x, labels);
        weir_output gradient = gradient_of(s, loss, x);
        WEIR_AUTO(weir_session) *session = new_session(g);
        for (int i = 0; i < 4; i++) {
            loss_and_gradient got = compute(session, x, logits[i], loss, gradient);
            assert_near("loss", &got.loss, &losses[i], 1, 1e-6, 0);
            assert_near("gradient", got.gradient, gradients[i], 3, 0, 1e-6);
        }
    }
}

/* Infinite and without a number where TensorFlow's is; clipped, it is finite and stuck: no gradient any more. */
static void test_F105_by_hand_as_TensorFlow(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 3));
    weir_output labels = weir_const(s, WEIR_TENSOR_SHAPED(WEIR_FLOAT, WEIR_SHAPE(1, 3), ((const float[]){0, 1, 0})));
    weir_output guess = weir_softmax(s, x);
    weir_output plain = weir_negative(s, weir_reduce_sum(s, weir_multiply(s, labels, weir_log(s, guess))));
    weir_output safe = weir_clip_by_value(s, guess, 1e-10, 1);
    weir_output clipped = weir_negative(s, weir_reduce_sum(s, weir_multiply(s, labels, weir_log(s, safe))));
    weir_output plain_gradient = gradient_of(s, plain, x);
    weir_output clipped_gradient = gradient_of(s, clipped, x);
    WEIR_AUTO(weir_session) *session = new_session(g);
    static const float logits[] = {1000, 0, -1000};
    loss_and_gradient got = compute(session, x, logits, plain, plain_gradient);
    assert_true(isnan(got.loss)); /* 0 * log(0) of the third class */
    for (int i = 0; i < 3; i++)
        assert_true(isnan(got.gradient[i]));
    got = compute(session, x, logits, clipped, clipped_gradient);
    assert_near("clipped", &got.loss, (const double[]){23.025850929940457}, 1, 1e-6, 0);
    assert_near("clipped gradient", got.gradient, (const double[]){0, 0, 0}, 3, 0, 0);
}

static void test_F105_first_non_finite_loss_names_its_node(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 3));
    weir_output loss = weir_reduce_sum(s, weir_log(s, weir_softmax(s, x), .name = "log_of_softmax"));
    WEIR_AUTO(weir_session) *session = NULL;
    WEIR_AUTO(weir_tensor) *value = NULL;
    assert_ok(weir_session_new(g, &(weir_session_options){.stop_at_nan = true}, &session));
    WEIR_AUTO(weir_tensor) *input = floats(WEIR_SHAPE(1, 3), (const float[]){1000, 0, -1000});
    weir_status status = weir_run(session, .feeds = {{x, input}}, .fetches = {loss}, .results = {&value});
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    assert_non_null(strstr(weir_status_text(status), "log_of_softmax"));
    assert_ok(weir_check_loss(loss, 7, 1e30));
    assert_fails(weir_check_loss(loss, 7, (double)NAN), WEIR_OUT_OF_RANGE, "step 7: the loss 'Sum' is nan");
    assert_fails(weir_check_loss(loss, 7, (double)INFINITY), WEIR_OUT_OF_RANGE, "weir_softmax_loss is finite");
}

/* ---- F109 ---- */

/* Numbers of mean 3 and deviation 2 whose class is told by their first feature. */
static void make_data(uint64_t *random, float *x, int32_t *y, int rows, int features)
{
    for (int i = 0; i < rows; i++) {
        y[i] = (int32_t)((*random >> 33) & 1);
        for (int j = 0; j < features; j++) {
            double sum = 0;
            for (int k = 0; k < 12; k++) {
                *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                sum += (double)(*random >> 11) / 9007199254740992.0;
            }
            x[i * features + j] = (float)(3 + 2 * (sum - 6));
        }
        y[i] = x[i * features] > 3;
        *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    }
}

typedef struct normalized {
    weir_output x, y, accuracy, inference_accuracy;
    weir_node *train;
} normalized;

static weir_output normalized_net(weir_scope s, weir_output x, bool is_training, bool in_place)
{
    s = weir_variable_scope(s, "net", .reuse = WEIR_AUTO_REUSE);
    weir_output h = weir_normalize(
        s, x, weir_batch_norm(.is_training = is_training, .decay = 0.9, .update_in_place = in_place), .scope = "bn");
    return weir_dense(s, h, 2, .scope = "out");
}

static normalized build_normalized(weir_scope s, bool in_place)
{
    normalized net = {.x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 4)),
                      .y = weir_placeholder(s, WEIR_INT32, WEIR_SHAPE(-1))};
    weir_output logits = normalized_net(s, net.x, true, in_place);
    net.accuracy = weir_accuracy(s, logits, net.y);
    net.inference_accuracy = weir_accuracy(s, normalized_net(s, net.x, false, in_place), net.y);
    net.train = weir_minimize(s, weir_adam(s, .learning_rate = 0.05), weir_softmax_loss(s, logits, net.y));
    return net;
}

static void train_normalized(bool in_place)
{
    enum { ROWS = 64, TEST_ROWS = 2000 };
    static float x[TEST_ROWS * 4];
    static int32_t y[TEST_ROWS];
    uint64_t random = 1;
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_graph_set_seed(g, 1);
    normalized net = build_normalized(weir_root(g), in_place);
    WEIR_AUTO(weir_session) *session = start(g);
    for (int step = 0; step < 200; step++) {
        make_data(&random, x, y, ROWS, 4);
        WEIR_AUTO(weir_tensor) *images = floats(WEIR_SHAPE(ROWS, 4), x);
        WEIR_AUTO(weir_tensor) *labels = NULL;
        assert_ok(weir_tensor_from(WEIR_INT32, WEIR_SHAPE(ROWS), y, &labels));
        assert_ok(weir_run(session, .feeds = {{net.x, images}, {net.y, labels}}, .targets = {net.train}));
    }
    WEIR_AUTO(weir_tensor) *mean = fetch(session, named(g, "net/bn/moving_mean"));
    WEIR_AUTO(weir_tensor) *variance = fetch(session, named(g, "net/bn/moving_variance"));
    double means = 0, variances = 0;
    for (int i = 0; i < 4; i++) {
        means += (double)weir_tensor_floats(mean)[i] / 4;
        variances += (double)weir_tensor_floats(variance)[i] / 4;
    }
    assert_true(is_near(means, 3, 0.05, 0));
    assert_true(is_near(variances, 4, 0.05, 0));
    make_data(&random, x, y, TEST_ROWS, 4);
    WEIR_AUTO(weir_tensor) *images = floats(WEIR_SHAPE(TEST_ROWS, 4), x);
    WEIR_AUTO(weir_tensor) *labels = NULL;
    WEIR_AUTO(weir_tensor) *trained = NULL;
    WEIR_AUTO(weir_tensor) *evaluated = NULL;
    assert_ok(weir_tensor_from(WEIR_INT32, WEIR_SHAPE(TEST_ROWS), y, &labels));
    assert_ok(weir_run(session, .feeds = {{net.x, images}, {net.y, labels}}, .fetches = {net.inference_accuracy},
                       .results = {&evaluated}));
    assert_ok(weir_run(session, .feeds = {{net.x, images}, {net.y, labels}}, .fetches = {net.accuracy},
                       .results = {&trained}));
    float a = weir_tensor_floats(trained)[0], b = weir_tensor_floats(evaluated)[0];
    if (a < 0.9f || fabsf(a - b) > 0.01f)
        fail_msg("accuracy %.4f in training form, %.4f in evaluation", (double)a, (double)b);
}

static void test_F109_train_op_moves_statistics(void **state)
{
    train_normalized(false);
}

static void test_F109_updates_in_place(void **state)
{
    train_normalized(true);
}

/* Only what the loss depends on is updated, once. */
static void test_F109_train_op_holds_the_updates_of_its_layers(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    normalized net = build_normalized(s, false);
    assert_int_equal(weir_collection_count(g, WEIR_UPDATE_OPS, NULL), 2);
    int found = 0;
    for (int i = 0; i < weir_node_num_controls(net.train); i++)
        found += strstr(weir_node_name(weir_node_control(net.train, i)), "AssignMovingAvg") != NULL;
    assert_int_equal(found, 2);
    /* An update that somebody else collected and no train op contains is told. */
    weir_output count = weir_get_variable(s, "count", WEIR_SCALAR, .frozen = true);
    weir_output one = weir_assign_add(s, weir_variable_ref(count), weir_const(s, WEIR_FLOAT_OF(1)), .name = "counted");
    weir_collect_output(g, WEIR_UPDATE_OPS, one);
    weir_output v = weir_get_variable(s, "v", WEIR_SHAPE(2));
    catch_log();
    (void)weir_minimize(s, weir_gradient_descent(s, .learning_rate = 1), weir_l2_loss(s, v), .variables = &v,
                        .num_variables = 1);
    weir_log_to(NULL, NULL);
    assert_non_null(
        strstr(log_text, "3 of the collected update ops are not reached by the train op 'GradientDescent'"));
    assert_non_null(strstr(log_text, "counted"));
}

static void test_F109_training_through_the_inference_form_is_told(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 4));
    weir_output labels = weir_placeholder(s, WEIR_INT32, WEIR_SHAPE(-1));
    weir_output loss = weir_softmax_loss(s, normalized_net(s, x, false, false), labels);
    catch_log();
    (void)weir_minimize(s, weir_adam(s), loss);
    weir_log_to(NULL, NULL);
    assert_non_null(strstr(log_text, "trains through batch norm 'net/bn/FusedBatchNormV3' in its inference form"));
}

/* ---- F113 ---- */

static weir_output dropping_net(weir_scope s, weir_output x)
{
    weir_normalizer bn = weir_batch_norm(.is_training = true, .decay = 0.5, .update_in_place = true);
    weir_output h = weir_dense(s, x, 32, .scope = "hidden", .normalizer = bn, .activation = WEIR_RELU);
    h = weir_dropout(s, h, 0.5, .is_training = true);
    h = weir_dense(s, h, 32, .scope = "second", .normalizer = bn, .activation = WEIR_RELU);
    h = weir_dropout(s, h, 0.5, .is_training = true);
    return weir_dense(s, h, 2, .scope = "out");
}

static void fetch_rows(weir_session *session, weir_output x, weir_output y, float *values, int count)
{
    static float rows[16 * 4];
    uint64_t random = 9;
    int32_t labels[16];
    make_data(&random, rows, labels, 16, 4);
    WEIR_AUTO(weir_tensor) *input = floats(WEIR_SHAPE(16, 4), rows);
    WEIR_AUTO(weir_tensor) *value = NULL;
    assert_ok(weir_run(session, .feeds = {{x, input}}, .fetches = {y}, .results = {&value}));
    memcpy(values, weir_tensor_floats(value), (size_t)count * sizeof *values);
}

/* The network is built once, in training form, and evaluated without a word about forms. */
static void test_F113_evaluation_is_the_inference_form(void **state)
{
    float first[32], second[32], third[32], trained[32], again[32];
    for (int process = 0; process < 2; process++) {
        WEIR_AUTO(weir_graph) *g = weir_graph_new();
        weir_scope s = weir_root(g);
        weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 4));
        weir_graph_set_seed(g, 3);
        weir_output logits = dropping_net(s, x);
        weir_output form = weir_evaluation_of(s, logits);
        assert_ok(weir_graph_error(g));
        assert_ptr_equal(weir_evaluation_of(s, logits).node, form.node);
        WEIR_AUTO(weir_session) *session = start(g);
        WEIR_AUTO(weir_tensor) *before = fetch(session, named(g, "hidden/BatchNorm/moving_mean"));
        fetch_rows(session, x, form, process == 0 ? first : third, 32);
        fetch_rows(session, x, form, second, 32);
        assert_memory_equal(first, second, sizeof first);
        WEIR_AUTO(weir_tensor) *after = fetch(session, named(g, "hidden/BatchNorm/moving_mean"));
        assert_memory_equal(weir_tensor_data(before), weir_tensor_data(after), 32 * sizeof(float));
        /* So that this can fail: training passes differ, and move the statistics. */
        fetch_rows(session, x, logits, trained, 32);
        fetch_rows(session, x, logits, again, 32);
        assert_memory_not_equal(trained, again, sizeof trained);
        WEIR_AUTO(weir_tensor) *moved = fetch(session, named(g, "hidden/BatchNorm/moving_mean"));
        assert_memory_not_equal(weir_tensor_data(before), weir_tensor_data(moved), 32 * sizeof(float));
    }
    assert_memory_equal(first, third, sizeof first);
}

/* The same numbers as a network that is built in its inference form. */
static void test_F113_equals_the_form_built_by_hand(void **state)
{
    float copied[32], built[32];
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_variable_scope(weir_root(g), "net", .reuse = WEIR_AUTO_REUSE);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 4));
    weir_output logits = dropping_net(s, x);
    weir_output form = weir_evaluation_of(s, logits);
    /* Every layer is told to train, and does not. */
    weir_output by_hand = dropping_net(weir_for_evaluation(weir_variable_scope_of(s, s)), x);
    WEIR_AUTO(weir_session) *session = start(g);
    for (int i = 0; i < 5; i++)
        fetch_rows(session, x, logits, built, 32); /* so that the statistics are not 0 and 1 */
    fetch_rows(session, x, form, copied, 32);
    fetch_rows(session, x, by_hand, built, 32);
    assert_memory_equal(copied, built, sizeof built);
    int drawn = 0;
    for (int i = 0; i < weir_graph_num_nodes(g); i++)
        drawn += strstr(weir_node_name(weir_graph_node(g, i)), "evaluation/") != NULL &&
                 strcmp(weir_node_op(weir_graph_node(g, i)), "RandomUniform") == 0;
    assert_int_equal(drawn, 0);
}

static void test_F113_evaluation_counts_rows(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 2));
    weir_output y = weir_placeholder(s, WEIR_INT64, WEIR_SHAPE(-1));
    weir_evaluation *evaluation = weir_evaluation_new(s, weir_dropout(s, x, 0.5, .is_training = true), y);
    WEIR_AUTO(weir_session) *session = new_session(g);
    int64_t hits = 0, rows = 0;
    static const int64_t labels[] = {0, 1, 1};
    for (int size = 1; size <= 3; size++) { /* batches of 1, 2 and 3 rows */
        WEIR_AUTO(weir_tensor) *logits = floats(WEIR_SHAPE(size, 2), (const float[]){2, 1, 1, 2, 2, 1});
        WEIR_AUTO(weir_tensor) *numbers = NULL;
        assert_ok(weir_tensor_from(WEIR_INT64, WEIR_SHAPE(size), labels, &numbers));
        const weir_feed feeds[] = {{x, logits}, {y, numbers}};
        assert_ok(weir_evaluation_run(session, evaluation, feeds, 2, &hits, &rows));
    }
    assert_int_equal(hits, 5);
    assert_int_equal(rows, 6);
    assert_fails(weir_evaluation_run(session, NULL, NULL, 0, &hits, &rows), WEIR_INVALID_ARGUMENT,
                 "There is no evaluation");
}

/* Dropout as an imported graph has it, in the newer and in the older form. */
static void test_F113_fixed_dropout_is_told(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(4));
    weir_scope newer = weir_in_scope(s, "newer");
    weir_output noise = weir_random_uniform(newer, weir_const(newer, WEIR_INT32S(4)));
    weir_output mask = weir_greater_equal(newer, noise, weir_const(newer, WEIR_FLOAT_OF(0.5)), .name = "mask");
    weir_output y = weir_select(newer, mask, x, weir_const(newer, WEIR_FLOAT_OF(0)));
    weir_scope older = weir_in_scope(s, "older");
    weir_output more = weir_random_uniform(older, weir_const(older, WEIR_INT32S(4)), .minimum = -1, .maximum = 1);
    weir_output kept = weir_floor(older, weir_add(older, weir_const(older, WEIR_FLOAT_OF(0.5)), more), .name = "kept");
    weir_output z = weir_multiply(older, y, kept);
    catch_log();
    assert_ptr_equal(weir_evaluation_of(s, z).node, z.node);
    weir_log_to(NULL, NULL);
    assert_non_null(strstr(log_text, "dropout 'newer/mask' is fixed in its training form"));
    assert_non_null(strstr(log_text, "dropout 'older/kept' is fixed in its training form"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_F105_built_in_losses_stay_finite),
        cmocka_unit_test(test_F105_by_hand_as_TensorFlow),
        cmocka_unit_test(test_F105_first_non_finite_loss_names_its_node),
        cmocka_unit_test(test_F109_train_op_moves_statistics),
        cmocka_unit_test(test_F109_updates_in_place),
        cmocka_unit_test(test_F109_train_op_holds_the_updates_of_its_layers),
        cmocka_unit_test(test_F109_training_through_the_inference_form_is_told),
        cmocka_unit_test(test_F113_evaluation_is_the_inference_form),
        cmocka_unit_test(test_F113_equals_the_form_built_by_hand),
        cmocka_unit_test(test_F113_evaluation_counts_rows),
        cmocka_unit_test(test_F113_fixed_dropout_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
