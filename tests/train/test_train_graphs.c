/*
 * The nodes of small programs, line by line those that TensorFlow makes: names, ops, inputs, colocation, devices
 * (data/graph_*.txt, written by record/graphs.py).
 */
#include "train/train_test.h"

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void append(char *text, size_t size, const char *format, ...)
{
    size_t at = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + at, size - at, format, arguments);
    va_end(arguments);
}

static void write_inputs(const weir_node *node, char *text, size_t size)
{
    const char *controls[128];
    int count = weir_node_num_controls(node);
    assert_true(count <= 128);
    for (int i = 0; i < weir_node_num_inputs(node); i++) {
        weir_output input = weir_node_input(node, i);
        append(text, size, i > 0 ? " %s" : "%s", weir_node_name(input.node));
        if (input.index > 0)
            append(text, size, ":%d", input.index);
    }
    for (int i = 0; i < count; i++)
        controls[i] = weir_node_name(weir_node_control(node, i));
    qsort(controls, (size_t)count, sizeof *controls, compare_texts);
    for (int i = 0; i < count; i++)
        append(text, size, i > 0 || weir_node_num_inputs(node) > 0 ? " ^%s" : "^%s", controls[i]);
}

static void write_node(const weir_node *node, char *text, size_t size)
{
    weir_attr_value groups;
    snprintf(text, size, "%s %s (", weir_node_name(node), weir_node_op(node));
    write_inputs(node, text, size);
    append(text, size, ")");
    if (weir_node_attr(node, "_class", &groups)) {
        append(text, size, " {");
        for (int64_t i = 0; i < groups.list.count; i++)
            append(text, size, i > 0 ? ",%.*s" : "%.*s", (int)groups.list.s[i].size, groups.list.s[i].data);
        append(text, size, "}");
    }
    if (weir_node_device(node)[0] != '\0')
        append(text, size, " @%s", weir_node_device(node));
    append(text, size, "\n");
}

/* Zeros for outputs without a gradient, which TensorFlow makes whether the gradient function uses them or not. */
static bool is_left_over(const char *line)
{
    return strncmp(line, "gradients/zeros_like", 20) == 0;
}

/* In the order of their creation, too. */
static void compare_graph(weir_graph *graph, const char *file)
{
    static char node[65536];
    char path[512];
    char *line = NULL;
    size_t size = 0;
    int number = 0;
    assert_ok(weir_graph_error(graph));
    snprintf(path, sizeof path, DATA_DIR "%s", file);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    while (getline(&line, &size, stream) > 0) {
        if (is_left_over(line))
            continue;
        if (number >= weir_graph_num_nodes(graph))
            fail_msg("%s:%d: no node for %s", file, number + 1, line);
        write_node(weir_graph_node(graph, number), node, sizeof node);
        if (strcmp(node, line) != 0)
            fail_msg("%s:%d:\nTensorFlow: %shere:       %s", file, number + 1, line, node);
        number++;
    }
    if (number < weir_graph_num_nodes(graph)) {
        write_node(weir_graph_node(graph, number), node, sizeof node);
        fail_msg("%s: one node too many: %s", file, node);
    }
    free(line);
    fclose(stream);
}

static void test_variables_and_optimizers(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope root = weir_root(g);
    weir_scope s = weir_variable_scope(weir_on_device(root, "/cpu:0"), "s");
    weir_output v = weir_get_variable(s, "v", WEIR_SHAPE(3, 2),
                                      .initializer = weir_truncated_normal_initializer(0, .01, .seed = WEIR_SEED(1)));
    weir_output u = weir_get_variable(s, "u", WEIR_SHAPE(2), .initializer = weir_zeros_initializer());
    (void)weir_get_variable(s, "k", WEIR_SHAPE(2000), .initializer = weir_ones_initializer());
    (void)weir_get_variable(s, "c", WEIR_SHAPE(2, 2), .initializer = weir_constant_initializer(0.1));
    (void)weir_get_variable(s, "d", WEIR_SHAPE(2, 2));
    (void)weir_get_variable(s, "n", WEIR_SHAPE(2, 2), .initializer = weir_normal_initializer(1, 2));
    (void)weir_get_variable(s, "un", WEIR_SHAPE(2, 2), .initializer = weir_uniform_initializer(-1, 2));
    weir_output x = weir_placeholder(root, WEIR_FLOAT, WEIR_SHAPE(-1, 3), .name = "x");
    weir_output step = weir_global_step(root);
    weir_output sum = weir_add(root, weir_matmul(root, x, v), u, .name = "add");
    weir_output loss = weir_reduce_mean(root, weir_square(root, sum));
    weir_output rate = weir_exponential_decay(root, 0.1, step, 100, 0.9, .staircase = true);
    weir_node *train = weir_minimize(root, weir_adam(root, .learning_rate_from = rate), loss, .global_step = step,
                                     .variables = (const weir_output[]){v, u}, .num_variables = 2);
    assert_string_equal(weir_node_name(train), "Adam");
    (void)weir_minimize(root, weir_momentum(root, .learning_rate = 0.1), loss, .variables = &v, .num_variables = 1);
    (void)weir_minimize(root, weir_gradient_descent(root, .learning_rate = 0.1), loss, .variables = &v,
                        .num_variables = 1);
    (void)weir_initialize_variables(root);
    compare_graph(g, "graph_variables.txt");
}

static weir_output conv_net(weir_scope s, weir_output x, bool is_training)
{
    s = weir_variable_scope(s, "ConvNet", .reuse = WEIR_AUTO_REUSE,
                            .initializer = weir_truncated_normal_initializer(0, 0.01),
                            .regularizer = weir_l2_regularizer(0.0005));
    weir_normalizer bn = weir_batch_norm(.is_training = is_training, .decay = 0.9, .update_in_place = true);
    weir_output net = weir_reshape(s, x, WEIR_SHAPE(-1, 28, 28, 1));
    net = weir_conv2d(s, net, 6, 5, 5, .scope = "conv_1", .normalizer = bn, .activation = WEIR_RELU);
    net = weir_max_pool2d(s, net, 2, 2, .scope = "pool_1");
    net = weir_conv2d(s, net, 12, 5, 5, .scope = "conv_2", .normalizer = bn, .activation = WEIR_RELU);
    net = weir_max_pool2d(s, net, 2, 2, .scope = "pool_2");
    net = weir_flatten(s, net, .scope = "flatten");
    net = weir_dense(s, net, 100, .scope = "fc", .normalizer = bn, .activation = WEIR_RELU);
    net = weir_dropout(s, net, 0.5, .is_training = is_training);
    return weir_dense(s, net, 10, .scope = "prob");
}

static void check_collection(weir_graph *g, const char *key, const char *const *names, int count)
{
    weir_item items[64];
    assert_int_equal(weir_collection_items(g, key, NULL, items, 64), count);
    for (int i = 0; i < count; i++)
        assert_string_equal(weir_node_name(items[i].output.node), names[i]);
}

static void test_convolutional_network(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 784), .name = "x");
    weir_output y = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 10), .name = "y");
    weir_output loss = weir_reduce_mean(s, weir_softmax_cross_entropy(s, conv_net(s, x, true), y));
    (void)weir_accuracy(s, conv_net(s, x, false), y);
    catch_log();
    (void)weir_minimize(s, weir_adam(s, .learning_rate = 0.001), loss);
    weir_log_to(NULL, NULL);
    (void)weir_initialize_variables(s);
    assert_non_null(weir_saver_new(s));
    compare_graph(g, "graph_cnn.txt");
    static const char *const trainable[] = {"ConvNet/conv_1/weights", "ConvNet/conv_1/BatchNorm/beta",
                                            "ConvNet/conv_2/weights", "ConvNet/conv_2/BatchNorm/beta",
                                            "ConvNet/fc/weights",     "ConvNet/fc/BatchNorm/beta",
                                            "ConvNet/prob/weights",   "ConvNet/prob/biases"};
    check_collection(g, WEIR_TRAINABLE_VARIABLES, trainable, 8);
    static const char *const losses[] = {
        "ConvNet/conv_1/kernel/Regularizer/l2_regularizer", "ConvNet/conv_2/kernel/Regularizer/l2_regularizer",
        "ConvNet/fc/kernel/Regularizer/l2_regularizer", "ConvNet/prob/kernel/Regularizer/l2_regularizer"};
    check_collection(g, WEIR_REGULARIZATION_LOSSES, losses, 4);
    assert_int_equal(weir_collection_count(g, WEIR_VARIABLES, NULL), 32);
    assert_int_equal(weir_collection_count(g, WEIR_MODEL_VARIABLES, NULL), 14);
    assert_int_equal(weir_collection_count(g, WEIR_UPDATE_OPS, NULL), 0);
    /* Pitfall: regularization losses that were collected and not added. */
    assert_non_null(strstr(log_text, "4 regularization losses are no part of the loss 'Mean'"));
    assert_non_null(strstr(log_text, losses[3]));
}

static void test_layers(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 6), .name = "x");
    (void)weir_normalize(s, x, weir_batch_norm(.is_training = true, .decay = 0.9));
    (void)weir_normalize(s, x, weir_batch_norm(.is_training = true, .decay = 0.9, .scale = true, .no_center = true));
    weir_output h = weir_dense(s, x, 3, .activation = WEIR_RELU);
    (void)weir_dropout(s, h, 0.5);
    weir_output z = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 4, 4, 1), .name = "z");
    z = weir_conv2d(s, z, 2, 3, 3);
    z = weir_conv2d(s, z, 2, 3, 3, .padding = WEIR_VALID, .no_bias = true, .activation = WEIR_RELU);
    z = weir_max_pool2d(s, z, 2, 2, .same_padding = true);
    z = weir_avg_pool2d(s, z, 1, 1);
    (void)weir_flatten(s, z);
    assert_int_equal(weir_collection_count(g, WEIR_UPDATE_OPS, NULL), 4);
    compare_graph(g, "graph_layers.txt");
}

static void test_averages_and_clipping(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_scope inside = weir_in_scope(s, "step");
    weir_output zero = weir_const(inside, WEIR_INT32_OF(0), .name = "initial_value");
    weir_output step = weir_variable_from(s, zero, .name = "step/", .frozen = true);
    weir_scope fill = weir_in_scope(s, "Fill");
    weir_output dims = weir_const(fill, WEIR_INT32S(4), .name = "dims");
    weir_output one = weir_const(fill, WEIR_FLOAT_OF(1), .name = "value");
    weir_output filled = weir_fill(fill, dims, one, .name = weir_scope_name(fill));
    weir_output w = weir_variable_from(s, filled, .name = "w");
    weir_output m = weir_multiply(s, w, w, .name = "m");
    weir_moving_average *average = weir_exponential_moving_average(s, 0.9, .num_updates = step);
    (void)weir_moving_average_apply(s, average, &m, 1);
    weir_output clipped[2];
    (void)weir_clip_by_norm(s, w, 2);
    (void)weir_clip_by_global_norm(s, (const weir_output[]){w, m}, 2, 5, clipped);
    (void)weir_clip_by_value(s, w, -1, 1);
    compare_graph(g, "graph_averages.txt");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_and_optimizers),
        cmocka_unit_test(test_convolutional_network),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_averages_and_clipping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
