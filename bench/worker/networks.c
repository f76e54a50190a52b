/*
 * Training steps of the tutorials' networks: one iteration feeds a batch, updates all variables and returns the loss.
 */
#include "bench.h"

/* A kind's variant: rows of a batch, and 1 for Adam. */
#define VARIANT(rows, is_adam) ((rows) * 2 + (is_adam))

static weir_output images_input(weir_scope s)
{
    return weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, bench_pixels), .name = "x");
}

static weir_output labels_input(weir_scope s)
{
    return weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, bench_classes), .name = "y");
}

static weir_output mean_cross_entropy(weir_scope s, weir_output logits, weir_output y)
{
    return weir_reduce_mean(s, weir_softmax_cross_entropy(s, logits, y));
}

/* Digits, session, initial values and the step that train and loss make. more is fetched besides, unless null. */
static weir_status finish(bench *bench, int64_t rows, bool is_random, weir_output x, weir_output y, weir_output loss,
                          weir_output more, weir_node *train)
{
    weir_node *init = weir_initialize_variables(weir_root(bench->graph));
    WEIR_TRY(bench_digits_new(rows, is_random, &bench->digits));
    WEIR_TRY(bench_start(bench, NULL, init));
    return weir_prepare(bench->session, &bench->step, .targets = {train}, .feeds = {x, y}, .fetches = {loss, more},
                        .feed_shapes = {WEIR_SHAPE(rows, bench_pixels), WEIR_SHAPE(rows, bench_classes)});
}

/* ---- One layer ---- */

static weir_status build_softmax(bench *bench, int variant)
{
    weir_scope s = weir_root(bench->graph);
    weir_output x = images_input(s), y = labels_input(s);
    weir_output logits = weir_dense(s, x, bench_classes, .weights_initializer = weir_zeros_initializer());
    weir_output loss = mean_cross_entropy(s, logits, y);
    weir_node *train = weir_minimize(s, weir_gradient_descent(s, .learning_rate = 0.5), loss);
    return finish(bench, variant / 2, false, x, y, loss, WEIR_NO_OUTPUT, train);
}

/* ---- Two layers, as the replica program has them ---- */

weir_status bench_build_mlp(bench *bench, bool is_adam, int64_t rows, bool has_random_digits)
{
    weir_scope s = weir_root(bench->graph);
    weir_output x = images_input(s), y = labels_input(s);
    weir_output hidden = weir_dense(s, x, 100, .activation = WEIR_RELU,
                                    .weights_initializer = weir_truncated_normal_initializer(0, 1.0 / 28));
    weir_output guess = weir_softmax(
        s, weir_dense(s, hidden, bench_classes, .weights_initializer = weir_truncated_normal_initializer(0, 0.1)));
    weir_output likelihood = weir_multiply(s, y, weir_log(s, weir_clip_by_value(s, guess, 1e-10, 1.0)));
    weir_output loss = weir_negative(s, weir_reduce_sum(s, likelihood));
    weir_optimizer *optimizer =
        is_adam ? weir_adam(s, .learning_rate = 0.01) : weir_gradient_descent(s, .learning_rate = 0.001 / (double)rows);
    return finish(bench, rows, has_random_digits, x, y, loss, WEIR_NO_OUTPUT, weir_minimize(s, optimizer, loss));
}

static weir_status build_mlp(bench *bench, int variant)
{
    return bench_build_mlp(bench, variant % 2 != 0, variant / 2, false);
}

/* ---- The small convolutional network ---- */

static weir_output conv_net(weir_scope s, weir_output x, bool is_training)
{
    s = weir_variable_scope(s, "ConvNet", .reuse = WEIR_AUTO_REUSE,
                            .initializer = weir_truncated_normal_initializer(0, 0.01));
    weir_normalizer bn = weir_batch_norm(.is_training = is_training, .decay = 0.9, .update_in_place = true);
    weir_output net = weir_reshape(s, x, WEIR_SHAPE(-1, 28, 28, 1));
    net = weir_conv2d(s, net, 6, 5, 5, .scope = "conv_1", .normalizer = bn, .activation = WEIR_RELU);
    net = weir_max_pool2d(s, net, 2, 2, .scope = "pool_1");
    net = weir_conv2d(s, net, 12, 5, 5, .scope = "conv_2", .normalizer = bn, .activation = WEIR_RELU);
    net = weir_max_pool2d(s, net, 2, 2, .scope = "pool_2");
    net = weir_flatten(s, net, .scope = "flatten");
    net = weir_dense(s, net, 100, .scope = "fc", .normalizer = bn, .activation = WEIR_RELU);
    net = weir_dropout(s, net, 0.5, .is_training = is_training);
    return weir_dense(s, net, bench_classes, .scope = "prob");
}

bench_cnn bench_build_cnn(weir_scope s, bool has_inference)
{
    bench_cnn net = {.x = images_input(s), .y = labels_input(s)};
    net.loss = mean_cross_entropy(s, conv_net(s, net.x, true), net.y);
    if (has_inference) {
        net.inference = conv_net(s, net.x, false);
        net.accuracy = weir_accuracy(s, net.inference, net.y);
    }
    net.train = weir_minimize(s, weir_adam(s, .learning_rate = 0.001), net.loss);
    net.init = weir_initialize_variables(s);
    return net;
}

static weir_status build_cnn(bench *bench, int variant)
{
    bench_cnn net = bench_build_cnn(weir_root(bench->graph), false);
    return finish(bench, variant / 2, false, net.x, net.y, net.loss, WEIR_NO_OUTPUT, net.train);
}

static weir_status build_cnn_tutorial(bench *bench, int variant)
{
    bench_cnn net = bench_build_cnn(weir_root(bench->graph), true);
    return finish(bench, variant / 2, false, net.x, net.y, net.loss, net.accuracy, net.train);
}

/* ---- The deep convolutional network ---- */

static weir_status build_deep(bench *bench, int variant)
{
    weir_scope s =
        weir_variable_scope(weir_root(bench->graph), "deep", .initializer = weir_truncated_normal_initializer(0, 0.1));
    weir_initializer biases = weir_constant_initializer(0.1);
    weir_output x = images_input(s), y = labels_input(s);
    weir_output net = weir_reshape(s, x, WEIR_SHAPE(-1, 28, 28, 1));
    net = weir_conv2d(s, net, 32, 5, 5, .activation = WEIR_RELU, .biases_initializer = biases);
    net = weir_max_pool2d(s, net, 2, 2);
    net = weir_conv2d(s, net, 64, 5, 5, .activation = WEIR_RELU, .biases_initializer = biases);
    net = weir_max_pool2d(s, net, 2, 2);
    net = weir_flatten(s, net);
    net = weir_dense(s, net, 1024, .activation = WEIR_RELU, .biases_initializer = biases);
    net = weir_dropout(s, net, 0.5, .is_training = true);
    net = weir_dense(s, net, bench_classes, .biases_initializer = biases);
    weir_output loss = mean_cross_entropy(s, net, y);
    weir_node *train = weir_minimize(s, weir_adam(s, .learning_rate = 1e-4), loss);
    return finish(bench, variant / 2, false, x, y, loss, WEIR_NO_OUTPUT, train);
}

/* ---- Three LSTM layers, unrolled over the rows of a digit ---- */

enum { lstm_layers = 3, lstm_units = 128, lstm_steps = 28, lstm_inputs = 28 };

typedef struct lstm_cell {
    weir_output kernel; // [inputs + units, 4 * units]
    weir_output bias;   // [4 * units]
    weir_output c, h;   // [rows, units]
} lstm_cell;

/* One step of one cell, node for node as TensorFlow's BasicLSTMCell: input, new input, forget and output gate. */
static weir_output lstm_step(weir_scope s, lstm_cell *cell, weir_output x)
{
    weir_output both = weir_concat(s, WEIR_OUTPUTS(x, cell->h), 1);
    weir_node *gates = weir_split(s, weir_bias_add(s, weir_matmul(s, both, cell->kernel), cell->bias), 4, 1);
    weir_output forget_bias = weir_const(s, WEIR_FLOAT_OF(1));
    weir_output forget = weir_sigmoid(s, weir_add(s, weir_out(gates, 2), forget_bias));
    weir_output input = weir_sigmoid(s, weir_out(gates, 0));
    weir_output fresh = weir_tanh(s, weir_out(gates, 1));
    cell->c = weir_add(s, weir_multiply(s, cell->c, forget), weir_multiply(s, input, fresh));
    cell->h = weir_multiply(s, weir_tanh(s, cell->c), weir_sigmoid(s, weir_out(gates, 3)));
    return cell->h;
}

static weir_status build_lstm(bench *bench, int variant)
{
    int64_t rows = variant / 2;
    weir_scope s = weir_root(bench->graph);
    weir_output x = images_input(s), y = labels_input(s);
    lstm_cell cells[lstm_layers];
    for (int i = 0; i < lstm_layers; i++) {
        weir_scope in = weir_variable_scope(s, NULL, .default_name = "cell");
        int64_t inputs = i == 0 ? lstm_inputs : lstm_units;
        cells[i].kernel = weir_get_variable(in, "kernel", WEIR_SHAPE(inputs + lstm_units, 4 * lstm_units));
        cells[i].bias =
            weir_get_variable(in, "bias", WEIR_SHAPE(4 * lstm_units), .initializer = weir_zeros_initializer());
        cells[i].c = cells[i].h = weir_fill_const(in, WEIR_FLOAT, WEIR_SHAPE(rows, lstm_units), 0, "zeros");
    }
    weir_node *lines = weir_unstack(s, weir_reshape(s, x, WEIR_SHAPE(-1, lstm_steps, lstm_inputs)), lstm_steps, 1);
    weir_output out = WEIR_NO_OUTPUT;
    for (int step = 0; step < lstm_steps; step++) {
        out = weir_out(lines, step);
        for (int i = 0; i < lstm_layers; i++)
            out = lstm_step(s, &cells[i], out);
    }
    weir_output loss = mean_cross_entropy(s, weir_dense(s, out, bench_classes), y);
    weir_node *train = weir_minimize(s, weir_gradient_descent(s, .learning_rate = 0.1), loss);
    return finish(bench, rows, false, x, y, loss, WEIR_NO_OUTPUT, train);
}

const bench_kind bench_networks[] = {
    {.name = "softmax_sgd_b100", .build = build_softmax, .variant = VARIANT(100, 0), .iterate = bench_train},
    {.name = "mlp_adam_b1", .build = build_mlp, .variant = VARIANT(1, 1), .iterate = bench_train},
    {.name = "mlp_adam_b100", .build = build_mlp, .variant = VARIANT(100, 1), .iterate = bench_train},
    {.name = "mlp_adam_b1024", .build = build_mlp, .variant = VARIANT(1024, 1), .iterate = bench_train},
    {.name = "mlp_sgd_b1", .build = build_mlp, .variant = VARIANT(1, 0), .iterate = bench_train},
    {.name = "mlp_sgd_b100", .build = build_mlp, .variant = VARIANT(100, 0), .iterate = bench_train},
    {.name = "mlp_sgd_b1024", .build = build_mlp, .variant = VARIANT(1024, 0), .iterate = bench_train},
    {.name = "cnn_adam_b1024", .build = build_cnn, .variant = VARIANT(1024, 1), .iterate = bench_train},
    {.name = "cnn_tutorial_b1024", .build = build_cnn_tutorial, .variant = VARIANT(1024, 1), .iterate = bench_train},
    {.name = "deep_adam_b100", .build = build_deep, .variant = VARIANT(100, 1), .iterate = bench_train},
    {.name = "lstm_sgd_b100", .build = build_lstm, .variant = VARIANT(100, 0), .iterate = bench_train},
    {.name = NULL},
};
