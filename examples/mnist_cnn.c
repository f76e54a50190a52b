/*
 * A convolutional network learns handwritten digits: about 98.8 % of the test images after 5 epochs.
 *
 *   mnist_cnn [--max_epoch=5] [--batch_size=1024] [--learning_rate=0.001] [--model_dir=DIR] [--restore]
 *
 * A checkpoint is saved after each epoch; --restore goes on from the newest one. Ctrl-C ends the program between two steps.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/weir.h>

static struct {
    weir_program program;
    int64_t max_epoch, batch_size;
    double learning_rate;
    const char *model_dir;
    bool restore;
} flags = {.max_epoch = 5, .batch_size = 1024, .learning_rate = 0.001, .model_dir = "models/mnist_cnn"};

static const weir_flag table[] = {
    WEIR_FLAG_HEADING("Learns handwritten digits with a convolutional network."),
    WEIR_FLAG_INTEGER_IN("max_epoch", &flags.max_epoch, 0, 1000000, "times that all training images are seen"),
    WEIR_FLAG_INTEGER_IN("batch_size", &flags.batch_size, 1, 55000, "images in each step"),
    WEIR_FLAG_FLOAT_IN("learning_rate", &flags.learning_rate, 0, 1000, "of Adam"),
    WEIR_FLAG_STRING("model_dir", &flags.model_dir, "folder of the checkpoints"),
    WEIR_FLAG_BOOLEAN("restore", &flags.restore, "go on from the newest checkpoint there"),
    WEIR_PROGRAM_FLAGS(&flags.program),
    WEIR_FLAGS_END,
};

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static void print_extracting(void *context, const char *path)
{
    (void)context;
    printf("Extracting %s\n", path);
}

/* ---- The network ---- */

typedef struct network {
    weir_output x, y;      // [n, 784], [n, 10]
    weir_output loss;      // mean over the batch
    weir_output accuracy;  // of the inference form
    weir_evaluation *test; // the same, counted over several batches
    weir_node *train;
    weir_node *init;
    weir_saver *saver;
} network;

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

static network build(weir_scope s)
{
    network net = {.x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 784), .name = "x"),
                   .y = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 10), .name = "y")};
    net.loss = weir_reduce_mean(s, weir_softmax_cross_entropy(s, conv_net(s, net.x, true), net.y));
    weir_output inference = conv_net(s, net.x, false);
    net.accuracy = weir_accuracy(s, inference, net.y);
    net.test = weir_evaluation_new(s, inference, net.y);
    net.train = weir_minimize(s, weir_adam(s, .learning_rate = flags.learning_rate), net.loss);
    net.init = weir_initialize_variables(s);
    net.saver = weir_saver_new(s);
    return net;
}

/* ---- Training ---- */

static weir_status restore(const network *net, weir_session *session)
{
    char *latest = NULL;
    if (!flags.restore) {
        printf("Model directory: %s\n", flags.model_dir);
        return WEIR_STATUS_OK;
    }
    WEIR_TRY(weir_checkpoint_latest(flags.model_dir, NULL, &latest));
    if (latest == NULL)
        return weir_fail(WEIR_NOT_FOUND, "No checkpoint to restore in '%s'", flags.model_dir);
    printf("Restoring pretrained model: %s\n", latest);
    weir_status status = weir_saver_restore(net->saver, session, latest);
    free(latest);
    return status;
}

/* The share of test images that are recognized, each counted once. */
static weir_status test(const network *net, weir_session *session, const weir_mnist *mnist, double *accuracy)
{
    int64_t count = weir_mnist_count(mnist, WEIR_MNIST_TEST), hits = 0, rows = 0;
    for (int64_t first = 0; first < count && !interrupted; first += flags.batch_size) {
        int64_t size = count - first < flags.batch_size ? count - first : flags.batch_size;
        WEIR_AUTO(weir_tensor) *images = NULL;
        WEIR_AUTO(weir_tensor) *labels = NULL;
        WEIR_TRY(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(size, 784), &images));
        WEIR_TRY(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(size, 10), &labels));
        WEIR_TRY(weir_mnist_get(mnist, WEIR_MNIST_TEST, first, images, labels));
        const weir_feed feeds[] = {{net->x, images}, {net->y, labels}};
        WEIR_TRY(weir_evaluation_run(session, net->test, feeds, 2, &hits, &rows));
    }
    *accuracy = rows > 0 ? (double)hits / (double)rows : 0;
    return WEIR_STATUS_OK;
}

/* The accuracy of the batch that the step was fed, after its update. */
static weir_status print_step(const network *net, weir_session *session, weir_step *step, int64_t epoch, int64_t number,
                              int64_t steps)
{
    WEIR_AUTO(weir_tensor) *accuracy = NULL;
    WEIR_TRY(weir_run(session, .feeds = {{net->x, weir_step_feed(step, 0)}, {net->y, weir_step_feed(step, 1)}},
                      .fetches = {net->accuracy}, .results = {&accuracy}));
    printf("Epoch:[%lld] [%lld / %lld ] loos:%.7g, acc:%.7g\n", (long long)epoch, (long long)number, (long long)steps,
           *weir_step_result_float(step, 0), *weir_tensor_floats(accuracy));
    fflush(stdout);
    return WEIR_STATUS_OK;
}

static weir_status train_epoch(const network *net, weir_session *session, weir_step *step, weir_mnist *mnist,
                               int64_t epoch, weir_progress *progress)
{
    int64_t steps = weir_mnist_count(mnist, WEIR_MNIST_TRAIN) / flags.batch_size;
    for (int64_t i = 1; i <= steps && !interrupted; i++) {
        WEIR_TRY(weir_mnist_next_batch(mnist, weir_step_feed(step, 0), weir_step_feed(step, 1)));
        WEIR_TRY(weir_step_run(step));
        WEIR_TRY(weir_check_loss(net->loss, i, *weir_step_result_float(step, 0)));
        weir_progress_step(progress, epoch * steps + i, *weir_step_result_float(step, 0));
        if (i % 10 == 0 || i == steps) {
            weir_progress_clear(progress);
            WEIR_TRY(print_step(net, session, step, epoch, i, steps));
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status train(const network *net, weir_session *session, weir_mnist *mnist)
{
    WEIR_AUTO(weir_step) *step = NULL;
    WEIR_TRY(weir_prepare(session, &step, .targets = {net->train}, .feeds = {net->x, net->y}, .fetches = {net->loss},
                          .feed_shapes = {WEIR_SHAPE(flags.batch_size, 784), WEIR_SHAPE(flags.batch_size, 10)}));
    int64_t steps = flags.max_epoch * (weir_mnist_count(mnist, WEIR_MNIST_TRAIN) / flags.batch_size);
    weir_progress progress = weir_progress_start(stderr, steps, flags.batch_size);
    for (int64_t epoch = 0; epoch < flags.max_epoch && !interrupted; epoch++) {
        double accuracy = 0;
        char path[4096];
        printf("############## Running train.##############\n");
        WEIR_TRY(train_epoch(net, session, step, mnist, epoch, &progress));
        weir_progress_clear(&progress);
        printf("############## test this epoch ##############\n");
        WEIR_TRY(test(net, session, mnist, &accuracy));
        if (interrupted)
            break;
        printf("Epoch-%lld, TestData Accuracy: %.7g\n", (long long)epoch, accuracy);
        snprintf(path, sizeof path, "%s/model.ckpt", flags.model_dir);
        WEIR_TRY(weir_saver_save(net->saver, session, path, .global_step = WEIR_STEP(epoch)));
    }
    return weir_program_trace(
        &flags.program, session,
        &(weir_run_options){.feeds = {{net->x, weir_step_feed(step, 0)}, {net->y, weir_step_feed(step, 1)}},
                            .targets = {net->train}});
}

static weir_status run(void)
{
    double begin = weir_seconds();
    WEIR_AUTO(weir_mnist) *mnist = NULL;
    WEIR_TRY(weir_mnist_open(flags.program.data_dir, &mnist, .seed = (uint64_t)flags.program.seed,
                             .extracting = print_extracting));
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    network net = build(weir_program_scope(g, &flags.program));
    WEIR_TRY(weir_program_export(&flags.program, g));
    WEIR_AUTO(weir_session) *session = NULL;
    weir_session_options options = weir_program_session(&flags.program);
    WEIR_TRY(weir_session_new(g, &options, &session));
    weir_session_measure(session, true);
    WEIR_TRY(weir_run(session, .targets = {net.init}));
    WEIR_TRY(restore(&net, session));
    WEIR_TRY(train(&net, session, mnist));
    double seconds = weir_seconds() - begin;
    if (interrupted) {
        printf("Interrupted after %.1f s; checkpoints of whole epochs are in %s\n", seconds, flags.model_dir);
        return WEIR_STATUS_OK;
    }
    printf("Cost Time: %.2f s\n", seconds);
    weir_print_time(stdout, weir_session_sums(session), seconds);
    printf("Done\n");
    return WEIR_STATUS_OK;
}

int main(int argc, char **argv)
{
    bool help = false;
    weir_status status = weir_flags_parse(table, &argc, argv, stdout, &help);
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    if (weir_ok(status) && !help)
        status = run();
    if (!weir_ok(status))
        fprintf(stderr, "%s\n", weir_status_text(status));
    return interrupted && weir_ok(status) ? 130 : weir_exit_status(status);
}
