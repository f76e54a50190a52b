/*
 * Many threads at one session: nothing is lost, nothing is mixed up, and everything ends, whenever it is cancelled or closed.
 *
 * test: timeout=300
 */
#include "run_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 10
#else
#define SLOWER 1
#endif

#define THREADS 4
#define ADDITIONS (100000 / THREADS / SLOWER)

typedef struct worker {
    weir_session *session;
    weir_output x, y;
    weir_node *target;
    int number;
    unsigned random;
    int failures;
    char text[256];
} worker;

static void note(worker *w, weir_status status)
{
    if (weir_ok(status))
        return;
    if (w->failures++ == 0)
        snprintf(w->text, sizeof w->text, "%s: %s", weir_code_name(status.code), weir_status_text(status));
}

static void run_workers(worker *workers, int count, void *(*function)(void *context))
{
    pthread_t threads[16];
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, function, &workers[i]), 0);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* ---- Writers exclude each other ---- */

static void *add_often(void *context)
{
    worker *w = context;
    for (int i = 0; i < ADDITIONS; i++)
        note(w, weir_run(w->session, .targets = {w->target}));
    return NULL;
}

static void no_addition_is_lost(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(3));
    weir_output init = weir_assign(s, v, weir_const(s, WEIR_FLOATS(0, 1, 2)));
    weir_output add = weir_assign_add(s, v, weir_const(s, WEIR_FLOATS(1, 1, 1)));
    WEIR_AUTO(weir_session) *session = NULL;
    check_ok(weir_session_new(g, NULL, &session));
    check_ok(weir_run(session, .targets = {init.node}));
    worker workers[THREADS] = {{0}};
    for (int i = 0; i < THREADS; i++)
        workers[i] = (worker){.session = session, .target = add.node};
    run_workers(workers, THREADS, add_often);
    for (int i = 0; i < THREADS; i++)
        assert_string_equal(workers[i].text, "");
    WEIR_AUTO(weir_tensor) *value = NULL;
    check_ok(weir_run(session, .fetches = {v}, .results = {&value}));
    const int additions = THREADS * ADDITIONS;
    const float all = (float)additions;
    check_floats(value, (float[]){all, all + 1, all + 2}, 3);
}

/* ---- Shapes of their own ---- */

static void *run_own_shapes(void *context)
{
    worker *w = context;
    for (int i = 0; i < 300 / SLOWER; i++) {
        int rows = 1 + (w->number * 7 + i) % 13;
        weir_tensor *x = NULL;
        weir_tensor *y = NULL;
        note(w, weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(rows, 4), &x));
        for (int k = 0; k < rows * 4; k++)
            weir_tensor_floats(x)[k] = (float)(w->number + k);
        weir_status status = weir_run(w->session, .feeds = {{w->x, x}}, .fetches = {w->y}, .results = {&y});
        note(w, status);
        for (int r = 0; weir_ok(status) && r < rows; r++) {
            float wanted = 0;
            for (int k = 0; k < 4; k++)
                wanted += 2 * (float)(w->number + r * 4 + k);
            if (weir_tensor_dim(y, 0) != rows || weir_tensor_floats(y)[r] != wanted)
                snprintf(w->text, sizeof w->text, "thread %d run %d row %d is wrong", w->number, i, r);
        }
        weir_tensor_free(x);
        weir_tensor_free(y);
    }
    return NULL;
}

static void eight_threads_run_eight_shapes(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 4));
    weir_output w = weir_reshape(s, weir_const(s, WEIR_FLOATS(2, 2, 2, 2)), WEIR_SHAPE(4, 1));
    weir_output y = weir_relu(s, weir_bias_add(s, weir_matmul(s, x, w), weir_const(s, WEIR_FLOATS(0))));
    WEIR_AUTO(weir_session) *session = NULL;
    check_ok(weir_session_new(g, NULL, &session));
    worker workers[8] = {{0}};
    for (int i = 0; i < 8; i++)
        workers[i] = (worker){.session = session, .x = x, .y = y, .number = i};
    run_workers(workers, 8, run_own_shapes);
    for (int i = 0; i < 8; i++)
        assert_string_equal(workers[i].text, "");
}

/* ---- Cancelled and closed at any moment ---- */

typedef struct load {
    weir_graph *graph;
    weir_output x, y, taken;
    weir_node *put, *train;
    weir_node *init;
} load;

/* Something that computes on two devices, and something that waits. */
static void build_load(load *l, bool has_gpu)
{
    l->graph = weir_graph_new();
    weir_scope s = weir_root(l->graph);
    weir_scope other = weir_on_device(s, has_gpu ? "/gpu:0" : "/cpu:1");
    weir_dtype types[] = {WEIR_FLOAT};
    weir_attr attrs[] = {WEIR_ATTR_TYPES("component_types", types, 1)};
    weir_output queue = weir_out(weir_op(s, "FIFOQueueV2", .attrs = attrs, .num_attrs = 1), 0);
    l->x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1));
    l->put = weir_op(s, "QueueEnqueueV2", WEIR_INPUTS(queue, l->x));
    weir_node *get = weir_op(s, "QueueDequeueV2", WEIR_INPUTS(queue), .attrs = attrs, .num_attrs = 1);
    l->taken = weir_exp(other, weir_add(s, weir_out(get, 0), weir_out(get, 0)));
    weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(8));
    l->init = weir_assign(s, v, weir_fill_const(s, WEIR_FLOAT, WEIR_SHAPE(8), 1, NULL)).node;
    weir_output h = weir_tanh(other, weir_multiply(other, v, weir_reduce_sum(other, l->x)));
    l->y = weir_reduce_sum(s, weir_multiply(s, h, v));
    l->train = weir_assign_sub(s, v, weir_multiply(s, h, weir_const(s, WEIR_FLOAT_OF(0.001f)))).node;
}

static bool is_end(weir_status status)
{
    return weir_ok(status) || status.code == WEIR_CANCELLED || status.code == WEIR_FAILED_PRECONDITION ||
           status.code == WEIR_DEADLINE_EXCEEDED || status.code == WEIR_ABORTED;
}

static load shared;

static void *run_until_closed(void *context)
{
    worker *w = context;
    for (int i = 0; i < 100000; i++) {
        weir_tensor *x = NULL;
        weir_tensor *result = NULL;
        weir_pending_run *pending = NULL;
        if (!weir_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(1 + rand_r(&w->random) % 5), &x)))
            break;
        int kind = rand_r(&w->random) % 4;
        weir_status status;
        weir_feed feed = {shared.x, x};
        weir_run_arrays call = {.size = sizeof call, .fetches = &shared.taken, .num_fetches = 1, .results = &result};
        if (kind == 0) {
            status = weir_run(w->session, .feeds = {feed}, .targets = {shared.train}, .timeout_ms = 20000);
        } else if (kind == 1) {
            status = weir_run(w->session, .feeds = {feed}, .fetches = {shared.y}, .results = {&result});
        } else if (kind == 2) {
            status = weir_run(w->session, .feeds = {feed}, .targets = {shared.put});
        } else {
            status = weir_run_start(w->session, &call, NULL, NULL, &pending);
            if (weir_ok(status)) {
                int wait_us = rand_r(&w->random) % 300;
                usleep((unsigned)wait_us);
                if (wait_us % 2 == 0)
                    weir_run_cancel(pending);
                else
                    status = weir_run_wait(pending, 1);
                weir_run_free(pending);
            }
        }
        weir_tensor_free(result);
        weir_tensor_free(x);
        if (!is_end(status))
            note(w, status);
        if (status.code == WEIR_FAILED_PRECONDITION)
            break;
    }
    return NULL;
}

static void sessions_close_at_any_moment(void **state)
{
    for (int round = 0; round < 30 / (SLOWER > 1 ? 3 : 1); round++) {
        bool has_gpu = round % 2 == 1;
        build_load(&shared, has_gpu);
        weir_session_options options = {
            .size = sizeof options, .cpu_devices = 2, .sim_gpus = has_gpu ? 1 : -1, .sim_delay_us = 30, .threads = 2};
        weir_session *session = NULL;
        check_ok(weir_session_new(shared.graph, &options, &session));
        check_ok(weir_run(session, .targets = {shared.init}));
        worker workers[THREADS] = {{0}};
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            workers[i] = (worker){.session = session, .random = (unsigned)(round * 100 + i)};
            assert_int_equal(pthread_create(&threads[i], NULL, run_until_closed, &workers[i]), 0);
        }
        usleep((unsigned)(round * 2000 % 25000) * (SLOWER > 1 ? 4 : 1));
        weir_session_close(session);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            assert_string_equal(workers[i].text, "");
        }
        weir_session_free(session);
        weir_graph_free(shared.graph);
    }
}

/* ---- Steps ---- */

static void *step_until_closed(void *context)
{
    worker *w = context;
    weir_step *step = NULL;
    weir_status status = weir_prepare(w->session, &step, .feeds = {shared.x}, .feed_shapes = {WEIR_SHAPE(3)},
                                      .fetches = {shared.y}, .targets = {shared.train});
    while (weir_ok(status)) {
        for (int k = 0; k < 3; k++)
            weir_step_feed_float(step, 0)[k] = 0.5f;
        status = weir_step_run(step);
    }
    if (!is_end(status))
        note(w, status);
    weir_step_free(step);
    return NULL;
}

static void steps_end_when_the_session_closes(void **state)
{
    for (int round = 0; round < 10; round++) {
        build_load(&shared, false);
        weir_session_options options = {.size = sizeof options, .cpu_devices = 2, .sim_gpus = -1};
        weir_session *session = NULL;
        check_ok(weir_session_new(shared.graph, &options, &session));
        check_ok(weir_run(session, .targets = {shared.init}));
        worker workers[2] = {{0}};
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) {
            workers[i] = (worker){.session = session};
            assert_int_equal(pthread_create(&threads[i], NULL, step_until_closed, &workers[i]), 0);
        }
        usleep((unsigned)round * 1000);
        weir_session_close(session);
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
            assert_string_equal(workers[i].text, "");
        }
        weir_session_free(session);
        weir_graph_free(shared.graph);
    }
}

/* ---- Callbacks ---- */

typedef struct chain {
    weir_session *session;
    weir_run_arrays call;
    weir_tensor *result;
    int left;
    int cancelled;
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool has_ended;
} chain;

static void go_on(void *context, weir_pending_run *run);

static void end_chain(chain *c)
{
    pthread_mutex_lock(&c->mutex);
    c->has_ended = true;
    pthread_cond_signal(&c->ended);
    pthread_mutex_unlock(&c->mutex);
}

/* A callback takes the results, frees its run and starts the next. */
static void go_on(void *context, weir_pending_run *run)
{
    chain *c = context;
    weir_status status = weir_run_wait(run, 0);
    c->cancelled += status.code == WEIR_CANCELLED;
    weir_run_free(run);
    weir_tensor_free(c->result);
    c->result = NULL;
    weir_pending_run *next = NULL;
    if (!weir_ok(status) || --c->left == 0 || !weir_ok(weir_run_start(c->session, &c->call, go_on, c, &next)))
        end_chain(c);
}

static void await_chain(chain *c)
{
    pthread_mutex_lock(&c->mutex);
    while (!c->has_ended)
        pthread_cond_wait(&c->ended, &c->mutex);
    pthread_mutex_unlock(&c->mutex);
}

static void callbacks_may_free_and_start_runs(void **state)
{
    for (int device = 0; device < 3; device++) {
        WEIR_AUTO(weir_graph) *g = weir_graph_new();
        weir_scope s = weir_on_device(weir_root(g), device == 2 ? "/gpu:0" : "/cpu:%d", device);
        weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SCALAR);
        weir_output init = weir_assign(s, v, weir_const(s, WEIR_FLOAT_OF(1)));
        weir_output y = weir_negative(s, weir_add(s, v, v));
        WEIR_AUTO(weir_session) *session = NULL;
        weir_session_options options = {.size = sizeof options, .cpu_devices = 2, .sim_gpus = 1};
        check_ok(weir_session_new(g, &options, &session));
        check_ok(weir_run(session, .targets = {init.node}));
        chain c = {.session = session,
                   .left = 500 / SLOWER,
                   .mutex = PTHREAD_MUTEX_INITIALIZER,
                   .ended = PTHREAD_COND_INITIALIZER};
        c.call = (weir_run_arrays){.size = sizeof c.call, .fetches = &y, .num_fetches = 1, .results = &c.result};
        weir_pending_run *run = NULL;
        check_ok(weir_run_start(session, &c.call, go_on, &c, &run));
        await_chain(&c);
        assert_int_equal(c.left, 0);
    }
}

/* A run that waits is closed: its callback, called while the session closes, may use the session. */
static void callbacks_may_run_while_the_session_closes(void **state)
{
    build_load(&shared, false);
    weir_session *session = NULL;
    weir_session_options options = {.size = sizeof options, .cpu_devices = 2, .sim_gpus = -1};
    check_ok(weir_session_new(shared.graph, &options, &session));
    chain c[20];
    for (int i = 0; i < 20; i++) {
        c[i] = (chain){
            .session = session, .left = 2, .mutex = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
        c[i].call = (weir_run_arrays){
            .size = sizeof c[i].call, .fetches = &shared.taken, .num_fetches = 1, .results = &c[i].result};
        weir_pending_run *run = NULL;
        check_ok(weir_run_start(session, &c[i].call, go_on, &c[i], &run));
    }
    weir_session_close(session);
    for (int i = 0; i < 20; i++) {
        await_chain(&c[i]);
        assert_int_equal(c[i].cancelled, 1);
    }
    weir_session_free(session);
    weir_graph_free(shared.graph);
}

/* Nobody waits for the run; its deadline ends it all the same. */
static void deadlines_come_without_a_waiter(void **state)
{
    build_load(&shared, false);
    weir_session *session = NULL;
    weir_session_options options = {.size = sizeof options, .cpu_devices = 2, .sim_gpus = -1};
    check_ok(weir_session_new(shared.graph, &options, &session));
    chain c[10];
    for (int i = 0; i < 10; i++) {
        c[i] = (chain){
            .session = session, .left = 2, .mutex = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
        c[i].call = (weir_run_arrays){.size = sizeof c[i].call,
                                      .fetches = &shared.taken,
                                      .num_fetches = 1,
                                      .results = &c[i].result,
                                      .timeout_ms = 100 - 9 * i};
        weir_pending_run *run = NULL;
        check_ok(weir_run_start(session, &c[i].call, go_on, &c[i], &run));
    }
    for (int i = 0; i < 10; i++)
        await_chain(&c[i]);
    weir_session_free(session);
    weir_graph_free(shared.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_addition_is_lost),
        cmocka_unit_test(eight_threads_run_eight_shapes),
        cmocka_unit_test(sessions_close_at_any_moment),
        cmocka_unit_test(steps_end_when_the_session_closes),
        cmocka_unit_test(callbacks_may_free_and_start_runs),
        cmocka_unit_test(callbacks_may_run_while_the_session_closes),
        cmocka_unit_test(deadlines_come_without_a_waiter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
