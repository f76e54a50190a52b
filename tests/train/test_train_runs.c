/*
 * Training runs recorded with TensorFlow, reproduced: the network of the replica program with two optimizers, the
 * convolutional network with batch norm and dropout, and towers against one batch. The digits are not part of the project: without
 * them these tests say so and pass.
 *
 * test: timeout=300
 */
#include "train/train_test.h"

static weir_mnist *digits;

/* Images and labels number*rows and on of the training images, in the order of the file. */
static void get_batch(int64_t number, int64_t rows, weir_tensor **images, weir_tensor **labels)
{
    assert_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(rows, 784), images));
    assert_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(rows, 10), labels));
    assert_ok(weir_mnist_get(digits, WEIR_MNIST_TRAIN, number * rows, *images, *labels));
}

/* Each case of a family of the recorded file. */
static void for_each_case(const char *family, void (*run)(const recorded *run))
{
    const recorded_file *file = read_recorded();
    int count = 0;
    if (digits == NULL) {
        skip();
        return;
    }
    for (int i = 0; i < file->count; i++) {
        if (strcmp(file->cases[i].family, family) == 0) {
            run(&file->cases[i]);
            count++;
        }
    }
    assert_true(count > 0);
}

static void check_final(const recorded *run, weir_session *session, const char *group, double atol)
{
    weir_graph *graph = weir_session_graph(session);
    size_t length = strlen(group);
    for (int i = 0; i < run->num_fields; i++) {
        const char *key = run->fields[i].key;
        size_t size = strlen(key);
        if (strncmp(key, group, length) != 0 || key[length] != '.' ||
            (size > 6 && strcmp(key + size - 6, ".shape") == 0))
            continue;
        char name[256];
        snprintf(name, sizeof name, "%s", key + length + 1);
        char *sum = strstr(name, ".sum");
        if (sum != NULL)
            *sum = '\0';
        WEIR_AUTO(weir_tensor) *value = fetch(session, named(graph, name));
        char full[300];
        snprintf(full, sizeof full, "%s.%s", group, name);
        assert_recorded(run, full, value, 0, atol);
    }
}

/* ---- The replica program's network ---- */

typedef struct mlp {
    weir_output w1, b1, w2, b2;
} mlp;

static mlp mlp_variables(weir_scope s)
{
    weir_output dims1 = weir_shape_const(s, WEIR_SHAPE(784, 100), "shape");
    weir_output dims2 = weir_shape_const(s, WEIR_SHAPE(100, 10), "shape");
    weir_output zeros1 = weir_fill_const(s, WEIR_FLOAT, WEIR_SHAPE(100), 0, "zeros");
    weir_output zeros2 = weir_fill_const(s, WEIR_FLOAT, WEIR_SHAPE(10), 0, "zeros");
    weir_output first = weir_truncated_normal(s, dims1, .stddev = 1.0 / 28, .seed = WEIR_SEED(1));
    weir_output second = weir_truncated_normal(s, dims2, .stddev = 0.1, .seed = WEIR_SEED(2));
    return (mlp){.w1 = weir_variable_from(s, first, .name = "hid_w"),
                 .b1 = weir_variable_from(s, zeros1, .name = "hid_b"),
                 .w2 = weir_variable_from(s, second, .name = "sm_w"),
                 .b2 = weir_variable_from(s, zeros2, .name = "sm_b")};
}

/* Log likelihood of each row: sum over classes of y * log(clip(softmax)). */
static weir_output mlp_terms(weir_scope s, mlp net, weir_output x, weir_output y)
{
    weir_output hidden = weir_relu(s, weir_bias_add(s, weir_matmul(s, x, net.w1), net.b1));
    weir_output guess = weir_softmax(s, weir_bias_add(s, weir_matmul(s, hidden, net.w2), net.b2));
    return weir_multiply(s, y, weir_log(s, weir_clip_by_value(s, guess, 1e-10, 1)));
}

static weir_optimizer *optimizer_of(weir_scope s, const recorded *run)
{
    if (strstr(run->title, "AdamOptimizer(0.01)") != NULL)
        return weir_adam(s, .learning_rate = 0.01);
    if (strstr(run->title, "AdamOptimizer(0.001)") != NULL)
        return weir_adam(s, .learning_rate = 0.001);
    if (strstr(run->title, "GradientDescentOptimizer(0.001)") != NULL)
        return weir_gradient_descent(s, .learning_rate = 0.001);
    assert_non_null(strstr(run->title, "GradientDescentOptimizer(0.1)"));
    return weir_gradient_descent(s, .learning_rate = 0.1);
}

/* Loss before each update. */
static void train_and_compare(const recorded *run, weir_session *session, const weir_output feeds[2], weir_output loss,
                              weir_node *train, int64_t rows)
{
    const recorded_field *losses = find_field(run, "losses");
    assert_non_null(losses);
    for (int64_t i = 0; i < losses->count; i++) {
        WEIR_AUTO(weir_tensor) *images = NULL;
        WEIR_AUTO(weir_tensor) *labels = NULL;
        WEIR_AUTO(weir_tensor) *value = NULL;
        get_batch(i, rows, &images, &labels);
        assert_ok(weir_run(session, .feeds = {{feeds[0], images}, {feeds[1], labels}}, .fetches = {loss},
                           .results = {&value}));
        assert_near("loss", weir_tensor_floats(value), losses->values + i, 1, number_of(run, "tol.losses_rtol"), 0);
        assert_ok(weir_run(session, .feeds = {{feeds[0], images}, {feeds[1], labels}}, .targets = {train}));
    }
}

static void run_mlp(const recorded *run)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output step = weir_variable_from(s, weir_const(s, WEIR_INT32_OF(0)), .name = "global_step", .frozen = true);
    mlp net = mlp_variables(s);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 784));
    weir_output y = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 10));
    weir_output loss = weir_negative(s, weir_reduce_sum(s, mlp_terms(s, net, x, y)));
    weir_node *train = weir_minimize(s, optimizer_of(s, run), loss, .global_step = step);
    WEIR_AUTO(weir_session) *session = start(g);
    check_final(run, session, "initial", 1e-6);
    train_and_compare(run, session, (const weir_output[]){x, y}, loss, train, 100);
    check_final(run, session, "final", number_of(run, "tol.final_atol"));
}

static void test_train_mlp(void **state)
{
    for_each_case("train_mlp", run_mlp);
}

/* ---- Towers ---- */

static weir_output mean_loss(weir_scope s, mlp net, weir_output x, weir_output y)
{
    weir_output rows = weir_reduce_sum(s, mlp_terms(s, net, x, y), .axes = WEIR_AXES(1));
    return weir_negative(s, weir_reduce_mean(s, rows));
}

static void run_towers(const recorded *run)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    mlp net = mlp_variables(s);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(64, 784));
    weir_output y = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(64, 10));
    weir_optimizer *optimizer = optimizer_of(s, run);
    weir_gradient_set *gradients[2];
    int count = strstr(run->title, "two towers") != NULL ? 2 : 1;
    for (int i = 0; i < count; i++) {
        weir_scope t = weir_tower(s, i, WEIR_VARIABLES_ON("/cpu:0"), "/cpu:0");
        gradients[i] = weir_compute_gradients(
            t, optimizer, mean_loss(t, net, weir_batch_part(t, x, i, count), weir_batch_part(t, y, i, count)));
    }
    weir_node *train = weir_apply_gradients(s, optimizer, weir_average_gradients(s, gradients, count));
    weir_output loss = mean_loss(s, net, x, y);
    WEIR_AUTO(weir_session) *session = start(g);
    train_and_compare(run, session, (const weir_output[]){x, y}, loss, train, 64);
    check_final(run, session, "final", number_of(run, "tol.final_atol"));
}

static void test_train_towers(void **state)
{
    for_each_case("train_towers", run_towers);
}

/* ---- The convolutional network ---- */

static weir_output conv_net(weir_scope s, weir_output x, bool is_training, bool has_dropout)
{
    weir_initializer seeded[4];
    for (int i = 0; i < 4; i++)
        seeded[i] = weir_truncated_normal_initializer(0, .01, .seed = WEIR_SEED(i + 1));
    s = weir_variable_scope(s, "ConvNet", .reuse = WEIR_AUTO_REUSE);
    weir_normalizer bn = weir_batch_norm(.is_training = is_training, .decay = 0.9, .update_in_place = true);
    weir_output net = weir_reshape(s, x, WEIR_SHAPE(-1, 28, 28, 1));
    net = weir_conv2d(s, net, 6, 5, 5, .scope = "conv_1", .normalizer = bn, .activation = WEIR_RELU,
                      .weights_initializer = seeded[0]);
    net = weir_max_pool2d(s, net, 2, 2);
    net = weir_conv2d(s, net, 12, 5, 5, .scope = "conv_2", .normalizer = bn, .activation = WEIR_RELU,
                      .weights_initializer = seeded[1]);
    net = weir_max_pool2d(s, net, 2, 2);
    net = weir_dense(s, weir_flatten(s, net), 100, .scope = "fc", .normalizer = bn, .activation = WEIR_RELU,
                     .weights_initializer = seeded[2]);
    if (has_dropout)
        net = weir_dropout(s, net, 0.5, .is_training = is_training, .seed = WEIR_SEED(5));
    return weir_dense(s, net, 10, .scope = "prob", .weights_initializer = seeded[3]);
}

static void check_first_gradients(const recorded *run, weir_session *session, const weir_gradient_set *set,
                                  const weir_output feeds[2])
{
    WEIR_AUTO(weir_tensor) *images = NULL;
    WEIR_AUTO(weir_tensor) *labels = NULL;
    get_batch(0, 64, &images, &labels);
    for (int i = 0; i < weir_gradient_set_count(set); i++) {
        char key[256];
        snprintf(key, sizeof key, "first_gradients.%s",
                 weir_node_name(weir_variable_ref(weir_gradient_set_variable(set, i)).node));
        if (find_field(run, "%s.shape", key) == NULL)
            continue; /* too large to be recorded */
        WEIR_AUTO(weir_tensor) *value = NULL;
        assert_ok(weir_run(session, .feeds = {{feeds[0], images}, {feeds[1], labels}},
                           .fetches = {weir_gradient_set_value(set, i).values}, .results = {&value}));
        assert_recorded(run, key, value, 0, number_of(run, "tol.first_gradients_atol"));
    }
}

static void check_logits(const recorded *run, weir_session *session, weir_output x, weir_output logits)
{
    WEIR_AUTO(weir_tensor) *images = NULL;
    WEIR_AUTO(weir_tensor) *value = NULL;
    assert_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(8, 784), &images));
    assert_ok(weir_mnist_get(digits, WEIR_MNIST_TRAIN, 0, images, NULL));
    assert_ok(weir_run(session, .feeds = {{x, images}}, .fetches = {logits}, .results = {&value}));
    assert_recorded(run, "logits", value, 0, number_of(run, "tol.logits_atol"));
}

static void run_cnn(const recorded *run)
{
    bool has_dropout = strstr(run->title, "none") == NULL;
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 784));
    weir_output y = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 10));
    weir_output loss = weir_reduce_mean(s, weir_softmax_cross_entropy(s, conv_net(s, x, true, has_dropout), y));
    weir_optimizer *optimizer = optimizer_of(s, run);
    weir_gradient_set *gradients = weir_compute_gradients(s, optimizer, loss);
    weir_node *train = weir_apply_gradients(s, optimizer, gradients);
    weir_output logits = conv_net(s, x, false, has_dropout);
    weir_output accuracy = weir_accuracy(s, logits, y);
    const weir_output feeds[] = {x, y};
    if (!has_dropout) {
        WEIR_AUTO(weir_session) *other = start(g);
        check_first_gradients(run, other, gradients, feeds);
    }
    WEIR_AUTO(weir_session) *session = start(g);
    const recorded_field *losses = find_field(run, "losses");
    const recorded_field *accuracies = find_field(run, "accuracies");
    for (int64_t i = 0; i < losses->count; i++) {
        WEIR_AUTO(weir_tensor) *images = NULL;
        WEIR_AUTO(weir_tensor) *labels = NULL;
        WEIR_AUTO(weir_tensor) *value = NULL;
        WEIR_AUTO(weir_tensor) *share = NULL;
        get_batch(i, 64, &images, &labels);
        assert_ok(weir_run(session, .feeds = {{x, images}, {y, labels}}, .fetches = {loss}, .results = {&value},
                           .targets = {train}));
        assert_near("loss", weir_tensor_floats(value), losses->values + i, 1, number_of(run, "tol.losses_rtol"), 0);
        assert_ok(weir_run(session, .feeds = {{x, images}, {y, labels}}, .fetches = {accuracy}, .results = {&share}));
        assert_near("accuracy", weir_tensor_floats(share), accuracies->values + i, 1, 0, 1e-6);
    }
    check_logits(run, session, x, logits);
    /* Without dropout, Adam's first steps magnify the last bit: the record says to compare the final values roughly. */
    check_final(run, session, "final", number_of(run, "tol.final_atol") * (has_dropout ? 1 : 5));
}

static void test_train_cnn(void **state)
{
    for_each_case("train_cnn", run_cnn);
}

static int open_all(void **state)
{
    digits = open_digits();
    return 0;
}

static int close_all(void **state)
{
    weir_mnist_free(digits);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_mlp),
        cmocka_unit_test(test_train_towers),
        cmocka_unit_test(test_train_cnn),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
