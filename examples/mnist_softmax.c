/*
 * First steps: one linear layer and softmax learn handwritten digits.
 *
 *   mnist_softmax [--train_steps=1000] [--batch_size=100] [--learning_rate=0.5]
 *
 * Prints the loss every 100 steps and the accuracy on the test images at the end (about 92 %).
 */
#include <stdio.h>

#include <weir/weir.h>

static struct {
    weir_program program;
    int64_t train_steps, batch_size;
    double learning_rate;
} flags = {.train_steps = 1000, .batch_size = 100, .learning_rate = 0.5};

static const weir_flag table[] = {
    WEIR_FLAG_HEADING("Learns handwritten digits with one layer."),
    WEIR_FLAG_INTEGER_IN("train_steps", &flags.train_steps, 0, INT64_MAX, "updates"),
    WEIR_FLAG_INTEGER_IN("batch_size", &flags.batch_size, 1, 55000, "images in each"),
    WEIR_FLAG_FLOAT_IN("learning_rate", &flags.learning_rate, 0, 1000, "of gradient descent"),
    WEIR_PROGRAM_FLAGS(&flags.program),
    WEIR_FLAGS_END,
};

static weir_status run(void)
{
    WEIR_AUTO(weir_mnist) *mnist = NULL;
    WEIR_TRY(weir_mnist_open(flags.program.data_dir, &mnist, .seed = (uint64_t)flags.program.seed));

    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_program_scope(g, &flags.program);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 784), .name = "x");
    weir_output y = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 10), .name = "y");
    weir_output logits = weir_dense(s, x, 10, .scope = "softmax", .weights_initializer = weir_zeros_initializer());
    weir_output loss = weir_softmax_loss(s, logits, y);
    weir_output accuracy = weir_accuracy(s, logits, y);
    weir_node *train = weir_minimize(s, weir_gradient_descent(s, .learning_rate = flags.learning_rate), loss);
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
