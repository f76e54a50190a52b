/*
 * A network with one hidden layer learns handwritten digits, written out by hand: variables, products, clipped logarithm.
 *
 *   mnist_mlp [--train_steps=1000] [--batch_size=100] [--hidden_units=100] [--learning_rate=0.01] [--optimizer=adam]
 *
 * The loss is the sum over the batch, so that a learning rate belongs to a batch size; weir_softmax_loss is the loss to
 * use where no program of old has to be followed: it is finite for all logits.
 */
#include <math.h>
#include <stdio.h>

#include <weir/weir.h>

static struct {
    weir_program program;
    int64_t train_steps, batch_size, hidden_units;
    double learning_rate;
    const char *optimizer;
} flags = {.train_steps = 1000, .batch_size = 100, .hidden_units = 100, .learning_rate = 0.01, .optimizer = "adam"};

static const weir_flag table[] = {
    WEIR_FLAG_HEADING("Learns handwritten digits with one hidden layer."),
    WEIR_FLAG_INTEGER_IN("train_steps", &flags.train_steps, 0, INT64_MAX, "updates"),
    WEIR_FLAG_INTEGER_IN("batch_size", &flags.batch_size, 1, 55000, "images in each"),
    WEIR_FLAG_INTEGER_IN("hidden_units", &flags.hidden_units, 1, 100000, "in the hidden layer"),
    WEIR_FLAG_FLOAT_IN("learning_rate", &flags.learning_rate, 0, 1000, "of the optimizer"),
    WEIR_FLAG_STRING("optimizer", &flags.optimizer, "adam, momentum or sgd"),
    WEIR_PROGRAM_FLAGS(&flags.program),
    WEIR_FLAGS_END,
};

static weir_output weights(weir_scope s, const char *name, int64_t rows, int64_t columns, double stddev)
{
    weir_output dims = weir_shape_const(s, WEIR_SHAPE(rows, columns), "dims");
    return weir_variable_from(s, weir_truncated_normal(s, dims, .stddev = stddev), .name = name);
}

static weir_output biases(weir_scope s, const char *name, int64_t count)
{
    return weir_variable_from(s, weir_fill_const(s, WEIR_FLOAT, WEIR_SHAPE(count), 0, "zeros"), .name = name);
}

static weir_output layer(weir_scope s, weir_output x, weir_output w, weir_output b)
{
    return weir_bias_add(s, weir_matmul(s, x, w), b);
}

static weir_status run(void)
{
    WEIR_AUTO(weir_mnist) *mnist = NULL;
    WEIR_TRY(weir_mnist_open(flags.program.data_dir, &mnist, .seed = (uint64_t)flags.program.seed));

    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_program_scope(g, &flags.program);
    weir_output step_count = weir_global_step(s);
    weir_output hidden_weights = weights(s, "hid_w", 784, flags.hidden_units, 1.0 / 28);
    weir_output hidden_biases = biases(s, "hid_b", flags.hidden_units);
    weir_output softmax_weights = weights(s, "sm_w", flags.hidden_units, 10, 1 / sqrt((double)flags.hidden_units));
    weir_output softmax_biases = biases(s, "sm_b", 10);

    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 784), .name = "x");
    weir_output y = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 10), .name = "y");
    weir_output hidden = weir_relu(s, layer(s, x, hidden_weights, hidden_biases));
    weir_output guess = weir_softmax(s, layer(s, hidden, softmax_weights, softmax_biases));
    weir_output likelihood = weir_multiply(s, y, weir_log(s, weir_clip_by_value(s, guess, 1e-10, 1.0)));
    weir_output loss = weir_negative(s, weir_reduce_sum(s, likelihood));
    weir_output accuracy = weir_accuracy(s, guess, y);
    weir_optimizer *optimizer = weir_optimizer_named(s, flags.optimizer, flags.learning_rate);
    weir_node *train = weir_minimize(s, optimizer, loss, .global_step = step_count);
    weir_node *init = weir_initialize_variables(s);
    WEIR_TRY(weir_program_export(&flags.program, g));

    WEIR_AUTO(weir_session) *session = NULL;
    WEIR_AUTO(weir_step) *step = NULL;
    weir_session_options options = weir_program_session(&flags.program);
    WEIR_TRY(weir_session_new(g, &options, &session));
    WEIR_TRY(weir_run(session, .targets = {init}));
    WEIR_TRY(weir_prepare(session, &step, .targets = {train}, .feeds = {x, y}, .fetches = {loss},
                          .feed_shapes = {WEIR_SHAPE(flags.batch_size, 784), WEIR_SHAPE(flags.batch_size, 10)}));
    for (int64_t i = 1; i <= flags.train_steps; i++) {
        WEIR_TRY(weir_mnist_next_batch(mnist, weir_step_feed(step, 0), weir_step_feed(step, 1)));
        WEIR_TRY(weir_step_run(step));
        WEIR_TRY(weir_check_loss(loss, i, *weir_step_result_float(step, 0)));
        if (i % 100 == 0 || i == flags.train_steps)
            printf("step %lld: loss %.7g\n", (long long)i, *weir_step_result_float(step, 0));
    }

    WEIR_AUTO(weir_tensor) *images = NULL;
    WEIR_AUTO(weir_tensor) *labels = NULL;
    WEIR_AUTO(weir_tensor) *right = NULL;
    int64_t count = weir_mnist_count(mnist, WEIR_MNIST_TEST);
    WEIR_TRY(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(count, 784), &images));
    WEIR_TRY(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(count, 10), &labels));
    WEIR_TRY(weir_mnist_get(mnist, WEIR_MNIST_TEST, 0, images, labels));
    WEIR_TRY(weir_run(session, .feeds = {{x, images}, {y, labels}}, .fetches = {accuracy}, .results = {&right}));
    printf("test accuracy: %.4f\n", *weir_tensor_floats(right));
    return weir_program_trace(&flags.program, session,
                              &(weir_run_options){.feeds = {{x, images}, {y, labels}}, .targets = {train}});
}

int main(int argc, char **argv)
{
    bool help = false;
    weir_status status = weir_flags_parse(table, &argc, argv, stdout, &help);
    if (weir_ok(status) && !help)
        status = run();
    if (!weir_ok(status))
        fprintf(stderr, "%s\n", weir_status_text(status));
    return weir_exit_status(status);
}
