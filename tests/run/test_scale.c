/*
 * Large graphs are planned in time, and steps of changing shapes cost little more than those of one shape. Times are scaled
 * by how fast the machine is now, measured beside them.
 *
 * test: alone, timeout=300
 */
#include "run_test.h"

#include <stdlib.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 20
#else
#define SLOWER 1
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* How many times slower than a quiet machine of 3 GHz: a chain of multiplications that takes 10 ms there. */
static double slowness(void)
{
    double best = 1e9;
    for (int round = 0; round < 3; round++) {
        double start = now();
        volatile uint64_t keep = 1;
        uint64_t x = 1;
        for (int i = 0; i < 7500000; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
        keep = x;
        (void)keep;
        double time = now() - start;
        best = time < best ? time : best;
    }
    return best > 0.010 ? best / 0.010 : 1;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, compare_doubles);
    return times[count / 2];
}

/* ---- 10,000 nodes ---- */

#define NODES 10000
#define TRIES 5

static void ten_thousand_nodes_run_at_once(void **state)
{
    double first[TRIES];
    double grown[TRIES];
    for (int try = 0; try < TRIES; try++) {
        WEIR_AUTO(weir_graph) *g = weir_graph_new();
        weir_scope s = weir_root(g);
        weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1));
        weir_output y = x;
        weir_output z = weir_negative(s, x);
        while (weir_graph_num_nodes(g) < NODES - 3) {
            y = weir_add(s, y, z);
            z = weir_multiply(s, z, y);
            z = weir_tanh(s, z);
        }
        weir_output sum = weir_add(s, y, z);
        check_ok(weir_graph_error(g));
        WEIR_AUTO(weir_session) *session = NULL;
        check_ok(weir_session_new(g, NULL, &session));
        WEIR_AUTO(weir_tensor) *value = make_floats(WEIR_SHAPE(2), (float[]){0.1f, 0.2f});
        WEIR_AUTO(weir_tensor) *result = NULL;
        WEIR_AUTO(weir_tensor) *again = NULL;
        double start = now();
        check_ok(weir_run(session, .feeds = {{x, value}}, .fetches = {sum}, .results = {&result}));
        first[try] = now() - start;
        weir_output small =
            weir_negative(s, weir_negative(s, x)); /* the graph grows by a node or two; the run needs few */
        start = now();
        check_ok(weir_run(session, .feeds = {{x, value}}, .fetches = {small}, .results = {&again}));
        grown[try] = now() - start;
    }
    double factor = slowness() * SLOWER;
    double first_time = median(first, TRIES);
    double grown_time = median(grown, TRIES);
    print_message("first run of %d nodes %.1f ms, after one more node %.2f ms, machine %.1f times slower\n", NODES,
                  first_time * 1e3, grown_time * 1e3, factor);
    assert_true(first_time < 0.100 * factor);
    assert_true(grown_time < 0.010 * factor);
}

/* A graph that grows by one node whose run needs all of it. */
static void growing_by_a_node_is_quick(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1));
    weir_output y = x;
    while (weir_graph_num_nodes(g) < NODES)
        y = weir_add(s, y, x);
    WEIR_AUTO(weir_session) *session = NULL;
    check_ok(weir_session_new(g, NULL, &session));
    WEIR_AUTO(weir_tensor) *value = make_floats(WEIR_SHAPE(2), (float[]){1, 2});
    double times[9];
    for (int i = 0; i < 9; i++) {
        y = weir_add(s, y, x);
        WEIR_AUTO(weir_tensor) *result = NULL;
        double start = now();
        check_ok(weir_run(session, .feeds = {{x, value}}, .fetches = {y}, .results = {&result}));
        times[i] = now() - start;
    }
    double factor = slowness() * SLOWER;
    double time = median(times, 9);
    print_message("a run of all %d nodes after one more: %.2f ms, machine %.1f times slower\n", NODES, time * 1e3,
                  factor);
    assert_true(time < 0.030 * factor); /* the plan is made anew */
}

/* ---- Changing shapes ---- */

#define FIXED 64

static void changing_batches_cost_little_more(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 784));
    weir_output labels = weir_placeholder(s, WEIR_INT32, WEIR_SHAPE(-1));
    const int sizes[] = {784, 100, 10};
    weir_output v[4];
    weir_node *init[4];
    weir_output h = x;
    for (int layer = 0; layer < 2; layer++) {
        weir_shape shape = WEIR_SHAPE(sizes[layer], sizes[layer + 1]);
        v[2 * layer] = weir_variable_v2(s, WEIR_FLOAT, shape);
        v[2 * layer + 1] = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(sizes[layer + 1]));
        init[2 * layer] = weir_assign(s, v[2 * layer], weir_fill_const(s, WEIR_FLOAT, shape, 0.01, NULL)).node;
        init[2 * layer + 1] =
            weir_assign(s, v[2 * layer + 1], weir_fill_const(s, WEIR_FLOAT, WEIR_SHAPE(sizes[layer + 1]), 0, NULL))
                .node;
        h = weir_bias_add(s, weir_matmul(s, h, v[2 * layer]), v[2 * layer + 1]);
        h = layer == 0 ? weir_relu(s, h) : h;
    }
    weir_output loss = weir_reduce_mean(s, weir_sparse_softmax_cross_entropy(s, h, labels));
    weir_gradient_value gradients[4];
    weir_gradients(s, &loss, 1, v, 4, NULL, gradients);
    weir_output rate = weir_const(s, WEIR_FLOAT_OF(0.01f));
    weir_node *updates[4];
    for (int i = 0; i < 4; i++)
        updates[i] = weir_op(s, "ApplyGradientDescent", WEIR_INPUTS(v[i], rate, gradients[i].values));
    WEIR_AUTO(weir_session) *session = NULL;
    weir_session_options options = {.size = sizeof options, .threads = 1, .sim_gpus = -1};
    check_ok(weir_session_new(g, &options, &session));
    check_ok(weir_run(session, .targets = {init[0], init[1], init[2], init[3]}));
    double ratios[5];
    for (int try = 0; try < 5; try++) {
        double time[2] = {0, 0};
        long examples[2] = {0, 0};
        unsigned random = 1 + (unsigned)try;
        for (int i = 0; i < 1000 / SLOWER; i++) {
            for (int changes = 0; changes < 2; changes++) { /* side by side, so that both meet the same noise */
                int rows = changes ? 1 + rand_r(&random) % 128 : FIXED;
                WEIR_AUTO(weir_tensor) *images = NULL;
                WEIR_AUTO(weir_tensor) *classes = NULL;
                WEIR_AUTO(weir_tensor) *result = NULL;
                check_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(rows, 784), &images));
                check_ok(weir_tensor_new(WEIR_INT32, WEIR_SHAPE(rows), &classes));
                double start = now();
                check_ok(weir_run(session, .feeds = {{x, images}, {labels, classes}}, .fetches = {loss},
                                  .results = {&result}, .targets = {updates[0], updates[1], updates[2], updates[3]}));
                time[changes] += now() - start;
                examples[changes] += rows;
            }
        }
        ratios[try] = time[1] / (double)examples[1] / (time[0] / (double)examples[0]);
    }
    double ratio = median(ratios, 5);
    print_message("time for an example in batches of changing sizes: %.2f of that in batches of %d\n", ratio, FIXED);
    if (SLOWER == 1)
        assert_true(ratio <= 1.3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_nodes_run_at_once),
        cmocka_unit_test(growing_by_a_node_is_quick),
        cmocka_unit_test(changing_batches_cost_little_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
