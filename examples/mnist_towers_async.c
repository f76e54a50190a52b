/*
 * A convolutional network learns handwritten digits on several devices at once, none of which waits for another: each
 * has the network (a tower) and a thread that feeds it batches of its own; all update the same variables on /cpu:0.
 *
 *   mnist_towers_async [--devices=/cpu:0,/cpu:1] [--max_epoch=5] [--batch_size=1024]
 *                      [--learning_rate=0.001] [--model_dir=DIR] [--restore]
 *
 * --batch_size is that of one tower. Results differ from run to run: updates meet in no fixed order. Ctrl-C ends the
 * program between two steps.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/weir.h>

static struct {
    weir_program program;
    int64_t max_epoch, batch_size;
    double learning_rate;
    const char *devices, *model_dir;
    bool restore;
} flags = {.max_epoch = 5,
           .batch_size = 1024,
           .learning_rate = 0.001,
           .devices = "/cpu:0,/cpu:1",
           .model_dir = "models/mnist_towers_async"};

static const weir_flag table[] = {
    WEIR_FLAG_HEADING("Learns handwritten digits with a convolutional network on several devices that do not wait."),
    WEIR_FLAG_STRING("devices", &flags.devices, "of the towers, separated by commas"),
    WEIR_FLAG_INTEGER_IN("max_epoch", &flags.max_epoch, 0, 1000000, "times that all training images are seen"),
    WEIR_FLAG_INTEGER_IN("batch_size", &flags.batch_size, 1, 55000, "images for each tower and step"),
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

/* ---- Devices ---- */

#define MOST_TOWERS 16

static struct {
    int count;
    char names[MOST_TOWERS][64];
    int cpus; // as many as the names need
} towers;

static weir_status read_devices(void)
{
    char list[1024];
    char *rest = list;
    if (snprintf(list, sizeof list, "%s", flags.devices) >= (int)sizeof list)
        return weir_fail(WEIR_INVALID_ARGUMENT, "--devices is too long");
    for (char *name = strsep(&rest, ","); name != NULL; name = strsep(&rest, ",")) {
        if (towers.count == MOST_TOWERS || strlen(name) >= sizeof towers.names[0] || name[0] == '\0')
            return weir_fail(WEIR_INVALID_ARGUMENT, "--devices=%s: at most %d devices such as /gpu:0", flags.devices,
                             MOST_TOWERS);
        int number = 0;
        if (sscanf(name, "/cpu:%d", &number) == 1 && number >= towers.cpus)
            towers.cpus = number + 1;
        snprintf(towers.names[towers.count++], sizeof towers.names[0], "%s", name);
    }
    return WEIR_STATUS_OK;
}

/* The session's options, once it is known that every tower's device is there. */
static weir_status choose_session(weir_session_options *options)
{
    weir_device_info devices[64];
    int count = 0, gpus = 0, wanted = 0;
    *options = weir_program_session(&flags.program);
    options->cpu_devices = towers.cpus;
    WEIR_TRY(weir_list_devices(options, devices, 64, &count));
    for (int i = 0; i < count && i < 64; i++)
        gpus += strcmp(devices[i].type, "GPU") == 0;
    printf("Available GPU Number: %d\n", gpus);
    for (int i = 0; i < towers.count; i++) {
        int number = 0;
        if (sscanf(towers.names[i], "/gpu:%d", &number) == 1 && number >= wanted)
            wanted = number + 1;
    }
    if (wanted > gpus)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "--devices=%s needs %d GPUs, and there are %d (WEIR_SIM_GPUS=%d simulates some)",
                         flags.devices, wanted, gpus, wanted);
    return WEIR_STATUS_OK;
}

/* ---- The network ---- */

typedef struct tower {
    weir_output x, y; // [n, 784], [n, 10]
    weir_output loss; // mean over the batch
    weir_node *train;
} tower;

typedef struct network {
    tower towers[MOST_TOWERS];
    weir_output x, y; // of the inference form
    weir_output accuracy;
    weir_evaluation *test; // the same, counted over several batches
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

static tower build_tower(weir_scope s, weir_optimizer *optimizer, int index)
{
    weir_scope t = weir_tower(s, index, WEIR_VARIABLES_ON("/cpu:0"), towers.names[index]);
    tower made = {.x = weir_placeholder(t, WEIR_FLOAT, WEIR_SHAPE(-1, 784), .name = "x"),
                  .y = weir_placeholder(t, WEIR_FLOAT, WEIR_SHAPE(-1, 10), .name = "y")};
    made.loss = weir_reduce_mean(t, weir_softmax_cross_entropy(t, conv_net(t, made.x, true), made.y));
    made.train = weir_apply_gradients(s, optimizer, weir_compute_gradients(t, optimizer, made.loss));
    return made;
}

static network build(weir_scope s)
{
    s = weir_on_device(s, "/cpu:0");
    weir_optimizer *optimizer = weir_adam(s, .learning_rate = flags.learning_rate);
    network net = {.x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 784), .name = "x"),
                   .y = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 10), .name = "y")};
    for (int i = 0; i < towers.count; i++)
        net.towers[i] = build_tower(s, optimizer, i);
    weir_output inference = conv_net(s, net.x, false);
    net.accuracy = weir_accuracy(s, inference, net.y);
    net.test = weir_evaluation_new(s, inference, net.y);
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

/* What the threads of the towers share in one epoch. */
typedef struct epoch {
    const network *net;
    weir_session *session;
    weir_mnist *mnist;
    int64_t number, steps;
    atomic_llong taken;     // steps that somebody does or did
    atomic_bool is_failed;  // somebody did not get through: no more steps
    weir_progress progress; // of the first tower
} epoch;

typedef struct worker {
    epoch *epoch;
    int index;
    pthread_t thread;
    char *error; // NULL: none
    weir_code code;
} worker;

/* The accuracy of the batch that the step was fed, with whatever the towers have made of the variables by now. */
static weir_status print_step(const epoch *e, weir_step *step, int64_t number)
{
    WEIR_AUTO(weir_tensor) *accuracy = NULL;
    WEIR_TRY(weir_run(e->session, .feeds = {{e->net->x, weir_step_feed(step, 0)}, {e->net->y, weir_step_feed(step, 1)}},
                      .fetches = {e->net->accuracy}, .results = {&accuracy}));
    printf("Epoch:[%lld] [%lld / %lld ] loos:%.7g, acc:%.7g\n", (long long)e->number, (long long)number,
           (long long)e->steps, *weir_step_result_float(step, 0), *weir_tensor_floats(accuracy));
    fflush(stdout);
    return WEIR_STATUS_OK;
}

/* Steps of one tower until the epoch has no more. */
static weir_status work(epoch *e, int index)
{
    const tower *own = &e->net->towers[index];
    WEIR_AUTO(weir_step) *step = NULL;
    WEIR_TRY(weir_prepare(e->session, &step, .targets = {own->train}, .feeds = {own->x, own->y}, .fetches = {own->loss},
                          .feed_shapes = {WEIR_SHAPE(flags.batch_size, 784), WEIR_SHAPE(flags.batch_size, 10)}));
    for (;;) {
        int64_t number = atomic_fetch_add(&e->taken, 1) + 1;
        if (number > e->steps || interrupted || atomic_load(&e->is_failed))
            return WEIR_STATUS_OK;
        WEIR_TRY(weir_mnist_next_batch(e->mnist, weir_step_feed(step, 0), weir_step_feed(step, 1)));
        WEIR_TRY(weir_step_run(step));
        WEIR_TRY(weir_check_loss(own->loss, number, *weir_step_result_float(step, 0)));
        if (index == 0)
            weir_progress_step(&e->progress, e->number * e->steps + number, *weir_step_result_float(step, 0));
        if (number % 10 == 0 || number == e->steps)
            WEIR_TRY(print_step(e, step, number));
    }
}

static void *start_work(void *context)
{
    worker *self = context;
    weir_status status = work(self->epoch, self->index);
    if (!weir_ok(status)) {
        self->code = status.code;
        self->error = weir_status_keep(status);
        atomic_store(&self->epoch->is_failed, true);
    }
    return NULL;
}

/* One thread for each tower; returns when all have ended. */
static weir_status train_epoch(epoch *e)
{
    worker workers[MOST_TOWERS] = {0};
    int started = 0;
    weir_status status = WEIR_STATUS_OK;
    for (; started < towers.count && weir_ok(status); started++) {
        workers[started] = (worker){.epoch = e, .index = started};
        if (pthread_create(&workers[started].thread, NULL, start_work, &workers[started]) != 0) {
            status = weir_fail(WEIR_RESOURCE_EXHAUSTED, "No thread for tower %d", started);
            break;
        }
    }
    for (int i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].error != NULL && weir_ok(status))
            status = weir_fail(workers[i].code, "tower %d: %s", i, workers[i].error);
        free(workers[i].error);
    }
    weir_progress_clear(&e->progress);
    return status;
}

static weir_status train(const network *net, weir_session *session, weir_mnist *mnist)
{
    epoch e = {.net = net,
               .session = session,
               .mnist = mnist,
               .steps = weir_mnist_count(mnist, WEIR_MNIST_TRAIN) / flags.batch_size};
    e.progress = weir_progress_start(stderr, flags.max_epoch * e.steps, flags.batch_size);
    for (e.number = 0; e.number < flags.max_epoch && !interrupted; e.number++) {
        double accuracy = 0;
        char path[4096];
        atomic_store(&e.taken, 0);
        printf("############## Running train.##############\n");
        WEIR_TRY(train_epoch(&e));
        printf("############## test this epoch ##############\n");
        WEIR_TRY(test(net, session, mnist, &accuracy));
        if (interrupted)
            break;
        printf("Epoch-%lld, TestData Accuracy: %.7g\n", (long long)e.number, accuracy);
        snprintf(path, sizeof path, "%s/model.ckpt", flags.model_dir);
        WEIR_TRY(weir_saver_save(net->saver, session, path, .global_step = WEIR_STEP(e.number)));
    }
    return WEIR_STATUS_OK;
}

/* One more step of the first tower, if a trace is wanted. */
static weir_status trace(const network *net, weir_session *session, weir_mnist *mnist)
{
    const tower *first = &net->towers[0];
    WEIR_AUTO(weir_tensor) *images = NULL;
    WEIR_AUTO(weir_tensor) *labels = NULL;
    WEIR_TRY(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(flags.batch_size, 784), &images));
    WEIR_TRY(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(flags.batch_size, 10), &labels));
    WEIR_TRY(weir_mnist_next_batch(mnist, images, labels));
    return weir_program_trace(
        &flags.program, session,
        &(weir_run_options){.feeds = {{first->x, images}, {first->y, labels}}, .targets = {first->train}});
}

static weir_status run(void)
{
    double begin = weir_seconds();
    weir_session_options options;
    WEIR_TRY(read_devices());
    WEIR_TRY(choose_session(&options));
    WEIR_AUTO(weir_mnist) *mnist = NULL;
    WEIR_TRY(weir_mnist_open(flags.program.data_dir, &mnist, .seed = (uint64_t)flags.program.seed,
                             .extracting = print_extracting));
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    network net = build(weir_program_scope(g, &flags.program));
    WEIR_TRY(weir_program_export(&flags.program, g));
    WEIR_AUTO(weir_session) *session = NULL;
    WEIR_TRY(weir_session_new(g, &options, &session));
    weir_session_measure(session, true);
    WEIR_TRY(weir_run(session, .targets = {net.init}));
    WEIR_TRY(restore(&net, session));
    WEIR_TRY(train(&net, session, mnist));
    WEIR_TRY(trace(&net, session, mnist));
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
