/*
 * A prepared step in its steady state allocates nothing, looks nothing up and writes no text: Weir's own counters and an
 * interposed malloc both say so. And steps of changing shapes stay cheap and bounded.
 */
#include "run_test.h"

#include <stdlib.h>
#include <time.h>

#include "base/memory.h"

/* ---- malloc, counted ---- */

static long allocations;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_malloc(size);
}

void *counted_calloc(size_t count, size_t size) __asm__("calloc");
void *counted_realloc(void *memory, size_t size) __asm__("realloc");

void *counted_calloc(size_t count, size_t size)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_calloc(count, size);
}

void *counted_realloc(void *memory, size_t size)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __libc_memalign(alignment, size);
}
#endif

/* ---- A small network with a training step ---- */

typedef struct network {
    weir_graph *graph;
    weir_output x, y, loss;
    weir_node *init, *train;
} network;

#define INPUTS 20
#define HIDDEN 30
#define CLASSES 5

static weir_output add_variable(weir_scope s, weir_shape shape, double deviation, weir_node **init)
{
    weir_output v = weir_variable_v2(s, WEIR_FLOAT, shape, .name = "v");
    weir_output value = deviation > 0 ? weir_truncated_normal(s, weir_shape_const(s, shape, NULL), .stddev = deviation,
                                                              .seed = WEIR_SEED(3))
                                      : weir_fill_const(s, WEIR_FLOAT, shape, 0, NULL);
    *init = weir_assign(s, v, value).node;
    return v;
}

/* devices: NULL, or where the two layers live. */
static void build_network(network *net, const char *const devices[2])
{
    net->graph = weir_graph_new();
    weir_scope s = weir_root(net->graph);
    weir_scope first = devices != NULL ? weir_on_device(s, "%s", devices[0]) : s;
    weir_scope second = devices != NULL ? weir_on_device(s, "%s", devices[1]) : s;
    net->x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, INPUTS), .name = "x");
    net->y = weir_placeholder(s, WEIR_INT32, WEIR_SHAPE(-1), .name = "y");
    weir_node *init[4];
    weir_output v[4] = {add_variable(first, WEIR_SHAPE(INPUTS, HIDDEN), 0.2, &init[0]),
                        add_variable(first, WEIR_SHAPE(HIDDEN), 0, &init[1]),
                        add_variable(second, WEIR_SHAPE(HIDDEN, CLASSES), 0.2, &init[2]),
                        add_variable(second, WEIR_SHAPE(CLASSES), 0, &init[3])};
    weir_output h = weir_relu(first, weir_bias_add(first, weir_matmul(first, net->x, v[0]), v[1]));
    weir_output logits = weir_bias_add(second, weir_matmul(second, h, v[2]), v[3]);
    net->loss = weir_reduce_mean(second, weir_sparse_softmax_cross_entropy(second, logits, net->y));
    weir_gradient_value gradients[4];
    weir_gradients(s, &net->loss, 1, v, 4, &(weir_gradients_options){.colocate = true}, gradients);
    weir_output rate = weir_const(s, WEIR_FLOAT_OF(0.1f));
    weir_node *updates[4];
    for (int i = 0; i < 4; i++)
        updates[i] =
            weir_op(i < 2 ? first : second, "ApplyGradientDescent", WEIR_INPUTS(v[i], rate, gradients[i].values));
    net->train = weir_group(s, updates, 4, "train");
    net->init = weir_group(s, init, 4, "init");
    check_ok(weir_graph_error(net->graph));
}

static void fill(weir_step *step, int rows)
{
    float *x = weir_step_feed_float(step, 0);
    int32_t *y = weir_tensor_int32s(weir_step_feed(step, 1));
    for (int i = 0; i < rows * INPUTS; i++)
        x[i] = (float)(i * 7919 % 101) / 101.0f;
    for (int i = 0; i < rows; i++)
        y[i] = i % CLASSES;
}

/* 1,000 runs after a few to warm up; the loss must have fallen. */
static void run_steadily(const weir_session_options *options, const char *const devices[2], bool counts)
{
    network net;
    build_network(&net, devices);
    weir_session *session = NULL;
    weir_step *step = NULL;
    check_ok(weir_session_new(net.graph, options, &session));
    check_ok(weir_run(session, .targets = {net.init}));
    check_ok(weir_prepare(session, &step, .feeds = {net.x, net.y},
                          .feed_shapes = {WEIR_SHAPE(16, INPUTS), WEIR_SHAPE(16)}, .fetches = {net.loss},
                          .targets = {net.train}));
    fill(step, 16);
    float before = 0;
    for (int i = 0; i < 20; i++) {
        check_ok(weir_step_run(step));
        before = i == 0 ? *weir_step_result_float(step, 0) : before;
    }
    weir_counters start = weir_counters_read();
    long mallocs = allocations;
    for (int i = 0; i < 1000; i++)
        check_ok(weir_step_run(step));
    weir_counters end = weir_counters_read();
    mallocs = allocations - mallocs;
    assert_true(*weir_step_result_float(step, 0) < before / 2);
    if (counts) {
        assert_int_equal(end.allocations - start.allocations, 0);
        assert_int_equal(end.lookups - start.lookups, 0);
        assert_int_equal(end.texts - start.texts, 0);
        assert_int_equal(mallocs, 0);
    }
    weir_step_free(step);
    weir_session_free(session);
    weir_graph_free(net.graph);
}

static void a_step_on_one_device_allocates_nothing(void **state)
{
    (void)state;
    run_steadily(&(weir_session_options){.threads = 2}, NULL, true);
}

static void a_step_on_two_devices_allocates_nothing(void **state)
{
    (void)state;
    run_steadily(&(weir_session_options){.cpu_devices = 2}, (const char *[]){"/cpu:0", "/cpu:1"}, true);
}

static void a_step_on_an_accelerator_works(void **state)
{
    (void)state;
    run_steadily(&(weir_session_options){.sim_gpus = 2, .allow_soft_placement = true},
                 (const char *[]){"/gpu:0", "/gpu:1"}, false);
}

/* ---- The same bits ---- */

static void train_bits(const weir_session_options *options, const char *const devices[2], float losses[30])
{
    network net;
    build_network(&net, devices);
    weir_session *session = NULL;
    weir_step *step = NULL;
    check_ok(weir_session_new(net.graph, options, &session));
    check_ok(weir_run(session, .targets = {net.init}));
    check_ok(weir_prepare(session, &step, .feeds = {net.x, net.y},
                          .feed_shapes = {WEIR_SHAPE(300, INPUTS), WEIR_SHAPE(300)}, .fetches = {net.loss},
                          .targets = {net.train}));
    fill(step, 300);
    for (int i = 0; i < 30; i++) {
        check_ok(weir_step_run(step));
        losses[i] = *weir_step_result_float(step, 0);
    }
    weir_step_free(step);
    weir_session_free(session);
    weir_graph_free(net.graph);
}

static void any_number_of_threads_and_devices_gives_the_same_bits(void **state)
{
    (void)state;
    float wanted[30];
    float have[30];
    train_bits(&(weir_session_options){.threads = 1}, NULL, wanted);
    assert_true(wanted[29] < wanted[0]);
    const int teams[] = {1, 2, 3, 64};
    for (int i = 0; i < 4; i++) {
        train_bits(&(weir_session_options){.threads = teams[i]}, NULL, have);
        assert_memory_equal(have, wanted, sizeof wanted);
    }
    train_bits(&(weir_session_options){.threads = 2, .cpu_devices = 2}, (const char *[]){"/cpu:0", "/cpu:1"}, have);
    assert_memory_equal(have, wanted, sizeof wanted);
    train_bits(&(weir_session_options){.sim_gpus = 2, .sim_delay_us = 50}, (const char *[]){"/gpu:0", "/gpu:1"}, have);
    assert_memory_equal(have, wanted, sizeof wanted);
    train_bits(&(weir_session_options){.disabled_passes = "prune,fold,share,fuse"}, NULL, have);
    assert_memory_equal(have, wanted, sizeof wanted);
}

/* ---- Changing shapes ---- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static long resident_kb(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    long size = 0;
    long resident = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &size, &resident), 2);
    fclose(file);
    return resident * 4;
}

static double run_batch(weir_session *session, const network *net, int rows, float *x, int32_t *y)
{
    WEIR_AUTO(weir_tensor) *images = NULL;
    WEIR_AUTO(weir_tensor) *labels = NULL;
    WEIR_AUTO(weir_tensor) *loss = NULL;
    check_ok(weir_tensor_wrap(WEIR_FLOAT, WEIR_SHAPE(rows, INPUTS), x, NULL, NULL, &images));
    check_ok(weir_tensor_wrap(WEIR_INT32, WEIR_SHAPE(rows), y, NULL, NULL, &labels));
    double start = seconds();
    check_ok(weir_run(session, .feeds = {{net->x, images}, {net->y, labels}}, .fetches = {net->loss},
                      .results = {&loss}, .targets = {net->train}));
    return seconds() - start;
}

static void a_thousand_batch_sizes_stay_bounded(void **state)
{
    (void)state;
    network net;
    build_network(&net, NULL);
    weir_session *session = NULL;
    check_ok(weir_session_new(net.graph, NULL, &session));
    check_ok(weir_run(session, .targets = {net.init}));
    float *x = aligned_alloc(64, sizeof(float) * 1024 * INPUTS);
    int32_t *y = aligned_alloc(64, sizeof(int32_t) * 1024);
    for (int i = 0; i < 1024 * INPUTS; i++)
        x[i] = (float)(i % 97) / 97.0f;
    for (int i = 0; i < 1024; i++)
        y[i] = i % CLASSES;
    for (int i = 0; i < 200; i++)
        (void)run_batch(session, &net, 1 + i * 389 % 1000, x, y);
    long before = resident_kb();
    for (int i = 0; i < 1000; i++)
        (void)run_batch(session, &net, 1 + i * 389 % 1000, x, y);
#if !defined(__SANITIZE_ADDRESS__) /* which keeps what is freed for a while */
    assert_true(resident_kb() - before < 4096);
#else
    (void)before;
#endif
    free(x);
    free(y);
    weir_session_free(session);
    weir_graph_free(net.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_on_one_device_allocates_nothing),
        cmocka_unit_test(a_step_on_two_devices_allocates_nothing),
        cmocka_unit_test(a_step_on_an_accelerator_works),
        cmocka_unit_test(any_number_of_threads_and_devices_gives_the_same_bits),
        cmocka_unit_test(a_thousand_batch_sizes_stay_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
