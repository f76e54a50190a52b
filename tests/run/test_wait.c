/*
 * Runs that wait: continuations instead of threads, deadlines that name who waits for what, cancelling, closing, partial
 * runs.
 */
#include "run_test.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

typedef struct queue_graph {
    weir_graph *graph;
    weir_output value, size, taken;
    weir_node *put, *close;
    weir_session *session;
} queue_graph;

static void open_queue(queue_graph *q, int64_t capacity)
{
    weir_dtype type = WEIR_FLOAT;
    q->graph = weir_graph_new();
    weir_scope s = weir_root(q->graph);
    q->value = weir_placeholder(s, WEIR_FLOAT, WEIR_SCALAR, .name = "value");
    weir_output handle =
        weir_out(weir_op(s, "FIFOQueueV2",
                         WEIR_ATTRS(WEIR_ATTR_TYPES("component_types", &type, 1), WEIR_ATTR_I("capacity", capacity)),
                         .name = "q"),
                 0);
    q->put = weir_op(s, "QueueEnqueueV2", WEIR_INPUTS(handle, q->value), .name = "put");
    q->close = weir_op(s, "QueueCloseV2", WEIR_INPUTS(handle));
    q->size = weir_out(weir_op(s, "QueueSizeV2", WEIR_INPUTS(handle)), 0);
    weir_output got = weir_out(weir_op(s, "QueueDequeueV2", WEIR_INPUTS(handle), .name = "get",
                                       WEIR_ATTRS(WEIR_ATTR_TYPES("component_types", &type, 1))),
                               0);
    q->taken = weir_add(s, got, got);
    check_ok(weir_session_new(q->graph, NULL, &q->session));
}

static void close_queue(queue_graph *q)
{
    weir_session_free(q->session);
    weir_graph_free(q->graph);
}

static void put(queue_graph *q, float number)
{
    WEIR_AUTO(weir_tensor) *value = make_scalar(WEIR_FLOAT, &number);
    check_ok(weir_run(q->session, .feeds = {{q->value, value}}, .targets = {q->put}, .timeout_ms = 20000));
}

static int count_threads(void)
{
    DIR *directory = opendir("/proc/self/task");
    int count = 0;
    while (directory != NULL && readdir(directory) != NULL)
        count++;
    if (directory != NULL)
        closedir(directory);
    return count - 2;
}

#define MANY 1000

static void a_thousand_blocked_dequeues_hold_no_thread(void **state)
{
    (void)state;
    static weir_tensor *results[MANY];
    static weir_pending_run *runs[MANY];
    queue_graph q;
    open_queue(&q, -1);
    for (int i = 0; i < MANY; i++) {
        weir_run_arrays call = {.size = sizeof call, .fetches = &q.taken, .num_fetches = 1, .results = &results[i]};
        check_ok(weir_run_start(q.session, &call, NULL, NULL, &runs[i]));
    }
    usleep(20000);
    assert_true(count_threads() <= 4);
    for (int i = 0; i < MANY; i++)
        put(&q, (float)i);
    double sum = 0;
    for (int i = 0; i < MANY; i++) {
        check_ok(weir_run_wait(runs[i], 20000));
        sum += (double)*weir_tensor_floats(results[i]);
        weir_tensor_free(results[i]);
        weir_run_free(runs[i]);
    }
    assert_true(sum == (double)MANY * (MANY - 1));
    close_queue(&q);
}

static void a_deadline_names_who_waited_for_what(void **state)
{
    (void)state;
    queue_graph q;
    open_queue(&q, -1);
    WEIR_AUTO(weir_tensor) *result = NULL;
    weir_status status = weir_run(q.session, .fetches = {q.taken}, .results = {&result}, .timeout_ms = 100);
    assert_int_equal(status.code, WEIR_DEADLINE_EXCEEDED);
    assert_non_null(strstr(weir_status_text(status), "'get'"));
    assert_non_null(strstr(weir_status_text(status), "QueueDequeueV2"));
    assert_null(result);
    put(&q, 4); /* the wait that was given up does not take it */
    check_ok(weir_run(q.session, .fetches = {q.taken}, .results = {&result}, .timeout_ms = 20000));
    check_floats(result, (float[]){8}, 1);
    close_queue(&q);
}

static void a_cancelled_run_ends_and_takes_nothing(void **state)
{
    (void)state;
    queue_graph q;
    open_queue(&q, -1);
    weir_tensor *result = NULL;
    weir_pending_run *run = NULL;
    weir_run_arrays call = {.size = sizeof call, .fetches = &q.taken, .num_fetches = 1, .results = &result};
    check_ok(weir_run_start(q.session, &call, NULL, NULL, &run));
    check_fails(WEIR_DEADLINE_EXCEEDED, "has not ended within 50 ms", weir_run_wait(run, 50));
    weir_run_cancel(run);
    check_fails(WEIR_CANCELLED, "cancelled", weir_run_wait(run, 20000));
    weir_run_free(run);
    put(&q, 1);
    WEIR_AUTO(weir_tensor) *size = NULL;
    check_ok(weir_run(q.session, .fetches = {q.size}, .results = {&size}));
    assert_int_equal(*weir_tensor_int32s(size), 1);
    close_queue(&q);
}

typedef struct blocked {
    queue_graph *q;
    weir_status status;
    char text[256];
} blocked;

static void *take_one(void *context)
{
    blocked *b = context;
    WEIR_AUTO(weir_tensor) *result = NULL;
    b->status = weir_run(b->q->session, .fetches = {b->q->taken}, .results = {&result});
    snprintf(b->text, sizeof b->text, "%s", weir_status_text(b->status));
    return NULL;
}

static void closing_a_session_ends_its_runs(void **state)
{
    (void)state;
    queue_graph q;
    open_queue(&q, -1);
    blocked waiting[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        waiting[i].q = &q;
        assert_int_equal(pthread_create(&threads[i], NULL, take_one, &waiting[i]), 0);
    }
    usleep(50000);
    weir_session_close(q.session);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(waiting[i].status.code, WEIR_CANCELLED);
        assert_non_null(strstr(waiting[i].text, "closed"));
    }
    WEIR_AUTO(weir_tensor) *result = NULL;
    check_fails(WEIR_FAILED_PRECONDITION, "closed Session",
                weir_run(q.session, .fetches = {q.taken}, .results = {&result}));
    close_queue(&q);
}

static void a_closed_queue_says_so(void **state)
{
    (void)state;
    queue_graph q;
    open_queue(&q, -1);
    check_ok(weir_run(q.session, .targets = {q.close}));
    WEIR_AUTO(weir_tensor) *result = NULL;
    check_fails(WEIR_OUT_OF_RANGE, "is closed and has insufficient elements (requested 1, current size 0)",
                weir_run(q.session, .fetches = {q.taken}, .results = {&result}, .timeout_ms = 20000));
    close_queue(&q);
}

static void a_full_queue_makes_the_producer_wait(void **state)
{
    (void)state;
    queue_graph q;
    open_queue(&q, 2);
    put(&q, 1);
    put(&q, 2);
    WEIR_AUTO(weir_tensor) *value = make_scalar(WEIR_FLOAT, &(float){3});
    check_fails(WEIR_DEADLINE_EXCEEDED, "'put'",
                weir_run(q.session, .feeds = {{q.value, value}}, .targets = {q.put}, .timeout_ms = 100));
    for (int i = 1; i <= 2; i++) {
        WEIR_AUTO(weir_tensor) *result = NULL;
        check_ok(weir_run(q.session, .fetches = {q.taken}, .results = {&result}, .timeout_ms = 20000));
        check_floats(result, (float[]){(float)(2 * i)}, 1);
    }
    close_queue(&q);
}

static void note_done(void *context, weir_pending_run *run)
{
    (void)run;
    __atomic_add_fetch((int *)context, 1, __ATOMIC_SEQ_CST);
}

static void the_callback_is_called_once(void **state)
{
    (void)state;
    queue_graph q;
    open_queue(&q, -1);
    int calls = 0;
    for (int i = 0; i < 100; i++) {
        weir_tensor *result = NULL;
        weir_pending_run *run = NULL;
        weir_run_arrays call = {.size = sizeof call, .fetches = &q.taken, .num_fetches = 1, .results = &result};
        check_ok(weir_run_start(q.session, &call, note_done, &calls, &run));
        if (i % 2 == 0)
            put(&q, (float)i);
        else
            weir_run_cancel(run);
        weir_status status = weir_run_wait(run, 20000);
        assert_int_equal(status.code, i % 2 == 0 ? WEIR_OK : WEIR_CANCELLED);
        weir_tensor_free(result);
        weir_run_free(run);
    }
    assert_int_equal(calls, 100);
    close_queue(&q);
}

/* What a callback that runs something of its own was told. */
typedef struct callback_run {
    queue_graph *q;
    weir_code code;
    char text[200];
} callback_run;

static void run_in_the_callback(void *context, weir_pending_run *run)
{
    (void)run;
    callback_run *c = context;
    WEIR_AUTO(weir_tensor) *result = NULL;
    weir_status status = weir_run(c->q->session, .fetches = {c->q->size}, .results = {&result});
    c->code = status.code;
    snprintf(c->text, sizeof c->text, "%s", weir_status_text(status));
}

static void closing_waits_for_the_end_of_a_run_and_not_for_its_owner(void **state)
{
    (void)state;
    queue_graph q;
    open_queue(&q, -1);
    callback_run told = {.q = &q};
    weir_tensor *result = NULL;
    weir_pending_run *run = NULL;
    weir_run_arrays call = {.size = sizeof call, .fetches = &q.taken, .num_fetches = 1, .results = &result};
    check_ok(weir_run_start(q.session, &call, run_in_the_callback, &told, &run));
    usleep(20000);
    weir_session_close(q.session); /* the owner, this very thread, frees the run only afterwards */
    assert_int_equal(told.code, WEIR_FAILED_PRECONDITION);
    assert_non_null(strstr(told.text, "closed Session"));
    assert_int_equal(weir_run_wait(run, 0).code, WEIR_CANCELLED);
    weir_run_free(run);
    close_queue(&q);
}

static void close_in_the_callback(void *context, weir_pending_run *run)
{
    (void)run;
    weir_session_close(context);
}

static void a_callback_may_close_the_session(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        queue_graph q;
        open_queue(&q, -1);
        weir_tensor *size = NULL;
        weir_tensor *taken = NULL;
        weir_pending_run *quick = NULL;
        weir_pending_run *blocked_one = NULL;
        weir_run_arrays takes = {.size = sizeof takes, .fetches = &q.taken, .num_fetches = 1, .results = &taken};
        weir_run_arrays asks = {.size = sizeof asks, .fetches = &q.size, .num_fetches = 1, .results = &size};
        check_ok(weir_run_start(q.session, &takes, NULL, NULL, &blocked_one));
        check_ok(weir_run_start(q.session, &asks, close_in_the_callback, q.session, &quick));
        check_ok(weir_run_wait(quick, 20000));
        assert_int_equal(weir_run_wait(blocked_one, 20000).code, WEIR_CANCELLED);
        weir_tensor_free(size);
        weir_run_free(quick);
        weir_run_free(blocked_one);
        close_queue(&q);
    }
}

static void closing_does_not_wait_for_the_owner_of_a_partial_run(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        queue_graph q;
        open_queue(&q, -1);
        weir_partial_run *run = NULL;
        check_ok(weir_partial_run_new(q.session, NULL, 0, (weir_output[]){q.size, q.taken}, 2, NULL, 0, &run));
        weir_session_close(q.session);
        WEIR_AUTO(weir_tensor) *taken = NULL;
        check_fails(WEIR_CANCELLED, "Session was closed", weir_partial_run_go(run, NULL, 0, &q.taken, &taken, 1));
        weir_partial_run_free(run);
        close_queue(&q);
    }
}

static void a_failed_partial_run_says_why(void **state)
{
    (void)state;
    queue_graph q;
    open_queue(&q, -1);
    check_ok(weir_run(q.session, .targets = {q.close}));
    weir_partial_run *run = NULL;
    check_ok(weir_partial_run_new(q.session, &q.value, 1, &q.taken, 1, NULL, 0, &run));
    WEIR_AUTO(weir_tensor) *taken = NULL;
    check_fails(WEIR_OUT_OF_RANGE, "is closed and has insufficient elements",
                weir_partial_run_go(run, NULL, 0, &q.taken, &taken, 1));
    weir_partial_run_free(run);
    close_queue(&q);
}

static void partial_runs_go_on_as_feeds_come(void **state)
{
    (void)state;
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output a = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2), .name = "a");
    weir_output b = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2), .name = "b");
    weir_output twice = weir_add(s, a, a);
    weir_output product = weir_multiply(s, twice, b);
    WEIR_AUTO(weir_session) *session = NULL;
    check_ok(weir_session_new(g, NULL, &session));
    weir_partial_run *run = NULL;
    check_ok(
        weir_partial_run_new(session, (weir_output[]){a, b}, 2, (weir_output[]){twice, product}, 2, NULL, 0, &run));
    WEIR_AUTO(weir_tensor) *one = make_floats(WEIR_SHAPE(2), (float[]){1, 2});
    WEIR_AUTO(weir_tensor) *two = make_floats(WEIR_SHAPE(2), (float[]){10, 20});
    WEIR_AUTO(weir_tensor) *first = NULL;
    WEIR_AUTO(weir_tensor) *second = NULL;
    check_ok(weir_partial_run_go(run, &(weir_feed){a, one}, 1, &twice, &first, 1));
    check_floats(first, (float[]){2, 4}, 2);
    check_fails(WEIR_INVALID_ARGUMENT, "'b' has not been fed", weir_partial_run_go(run, NULL, 0, &product, &second, 1));
    check_fails(WEIR_INVALID_ARGUMENT, "fed already", weir_partial_run_go(run, &(weir_feed){a, one}, 1, NULL, NULL, 0));
    check_ok(weir_partial_run_go(run, &(weir_feed){b, two}, 1, &product, &second, 1));
    check_floats(second, (float[]){20, 80}, 2);
    check_fails(WEIR_INVALID_ARGUMENT, "fetched already", weir_partial_run_go(run, NULL, 0, &product, &second, 1));
    weir_partial_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_blocked_dequeues_hold_no_thread),
        cmocka_unit_test(a_deadline_names_who_waited_for_what),
        cmocka_unit_test(a_cancelled_run_ends_and_takes_nothing),
        cmocka_unit_test(closing_a_session_ends_its_runs),
        cmocka_unit_test(a_closed_queue_says_so),
        cmocka_unit_test(a_full_queue_makes_the_producer_wait),
        cmocka_unit_test(the_callback_is_called_once),
        cmocka_unit_test(closing_waits_for_the_end_of_a_run_and_not_for_its_owner),
        cmocka_unit_test(a_callback_may_close_the_session),
        cmocka_unit_test(closing_does_not_wait_for_the_owner_of_a_partial_run),
        cmocka_unit_test(a_failed_partial_run_says_why),
        cmocka_unit_test(partial_runs_go_on_as_feeds_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
