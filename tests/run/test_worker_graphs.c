/*
 * Every graph that a TensorFlow master sent to a worker (tests/run/record/register_graphs.py) is planned and run as a worker
 * runs it: all its nodes, received values from a rendezvous that this file plays. The values are made up from types and from
 * what the node that receives them wants, so a run may fail at a value, but cleanly; it may wait for other graphs, but not
 * longer than its deadline.
 *
 * test: timeout=300
 */
#include "run_test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "graph/graph.h"
#include "run/session.h"

#define FILE_NAME WEIR_TEST_SOURCE_DIR "/tests/run/data/register_graphs.bin.gz"
#define MOST_GRAPHS 256

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 10
#else
#define SLOWER 1
#endif

typedef struct recorded {
    char scenario[64];
    char task[64]; /* "ps0" */
    uint32_t answer;
    void *bytes;
    uint32_t size;
} recorded;

static recorded graphs[MOST_GRAPHS];
static int num_graphs;

/* ---- The file ---- */

static uint32_t read_number(gzFile file)
{
    uint8_t bytes[4];
    assert_int_equal(gzread(file, bytes, 4), 4);
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void *read_block(gzFile file, uint32_t *size)
{
    *size = read_number(file);
    assert_true(*size < 1 << 20);
    char *block = calloc(*size + 1, 1);
    assert_int_equal(gzread(file, block, *size), (int)*size);
    return block;
}

static int read_graphs(void **state)
{
    (void)state;
    gzFile file = gzopen(FILE_NAME, "rb");
    assert_non_null(file);
    char magic[4];
    assert_int_equal(gzread(file, magic, 4), 4);
    assert_memory_equal(magic, "WRG1", 4);
    num_graphs = (int)read_number(file);
    assert_true(num_graphs <= MOST_GRAPHS);
    for (int i = 0; i < num_graphs; i++) {
        uint32_t length = 0;
        char *name = read_block(file, &length); /* "scenario number caller>callee" */
        const char *callee = strchr(name, '>');
        assert_non_null(callee);
        snprintf(graphs[i].scenario, sizeof graphs[i].scenario, "%.*s", (int)strcspn(name, " "), name);
        snprintf(graphs[i].task, sizeof graphs[i].task, "%s", callee + 1);
        graphs[i].answer = read_number(file);
        graphs[i].bytes = read_block(file, &graphs[i].size);
        free(name);
    }
    gzclose(file);
    return 0;
}

static int free_graphs(void **state)
{
    (void)state;
    for (int i = 0; i < num_graphs; i++)
        free(graphs[i].bytes);
    return 0;
}

/* ---- Values that a node may want ---- */

static weir_shape variable_shape(weir_output reference)
{
    while (reference.node != NULL && reference.node->num_inputs > 0)
        reference = reference.node->inputs[0];
    return reference.node != NULL ? weir_node_shape(reference.node, "shape") : weir_shape_unknown();
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The shape that a consumer wants at an input; unknown rank: it does not say. */
static weir_shape wanted_at(const weir_node *node, int input)
{
    const char *op = node->op->name;
    bool is_update = starts_with(op, "Assign") || starts_with(op, "Apply") || starts_with(op, "ResourceApply");
    bool is_gradient = (strstr(op, "Adam") != NULL && input == 9) ||
                       (strstr(op, "GradientDescent") != NULL && input == 2) ||
                       (strstr(op, "Momentum") != NULL && input == 3);
    if (is_update && (is_gradient || starts_with(op, "Assign")))
        return variable_shape(node->inputs[0]);
    if (strcmp(op, "ResourceAccumulatorApplyGradient") == 0 && input == 2)
        return variable_shape(node->inputs[0]);
    if (strcmp(op, "StridedSlice") == 0 && input == 0)
        return WEIR_SHAPE(4);
    if (strcmp(op, "BatchMatMulV2") == 0)
        return WEIR_SHAPE(2, 2, 2);
    if (strcmp(op, "MatMul") == 0)
        return WEIR_SHAPE(2, 2);
    return weir_shape_unknown();
}

/* The same for whoever gets the value, also through nodes that pass it on. */
static weir_shape wanted_of(const weir_graph *graph, const weir_node *producer, int depth)
{
    for (size_t n = 0; n < graph->nodes.count && depth < 6; n++) {
        const weir_node *node = graph->nodes.items[n];
        for (int i = 0; i < node->num_inputs; i++) {
            if (node->inputs[i].node != producer)
                continue;
            weir_shape shape = wanted_at(node, i);
            bool passes = strcmp(node->op->name, "Identity") == 0 || strcmp(node->op->name, "Cast") == 0 ||
                          strcmp(node->op->name, "Switch") == 0;
            if (shape.rank == WEIR_UNKNOWN_RANK && passes)
                shape = wanted_of(graph, node, depth + 1);
            if (shape.rank != WEIR_UNKNOWN_RANK)
                return shape;
        }
    }
    return weir_shape_unknown();
}

static weir_tensor *make_value(const weir_graph *graph, const weir_node *node, int64_t iteration)
{
    weir_dtype dtype = weir_dtype_base(node->output_dtypes[0]);
    weir_shape shape = wanted_of(graph, node, 0);
    if (shape.rank == WEIR_UNKNOWN_RANK)
        shape = WEIR_SCALAR;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = shape.dims[i] < 0 ? 2 : shape.dims[i];
    weir_tensor *tensor = NULL;
    if (dtype == WEIR_RESOURCE || dtype == WEIR_VARIANT)
        return NULL;
    check_ok(weir_tensor_new(dtype, shape, &tensor));
    for (int64_t i = 0; i < weir_tensor_elements(tensor); i++) {
        if (dtype == WEIR_FLOAT)
            weir_tensor_floats(tensor)[i] = 0.5f;
        else if (dtype == WEIR_INT32)
            weir_tensor_int32s(tensor)[i] = 1;
        else if (dtype == WEIR_INT64)
            weir_tensor_int64s(tensor)[i] = 1;
        else if (dtype == WEIR_BOOL)
            weir_tensor_bytes(tensor)[i] = iteration < 3;
        else if (dtype == WEIR_STRING)
            check_ok(weir_tensor_set_string(tensor, i, "made_up", 7));
    }
    return tensor;
}

/* ---- The rendezvous ---- */

typedef enum manner { MANNER_AT_ONCE, MANNER_LATE, MANNER_DEAD, MANNER_NEVER, MANNER_FAILED, MANNERS } manner;

typedef struct fake {
    weir_rendezvous base;
    const weir_graph *graph;
    manner manner;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    weir_receive *waiting; /* LATE and NEVER */
    int num_waiting;
    int sent, received;
    unsigned random;
    bool ends;
} fake;

/* "send device;incarnation;receive device;name;frame:iteration" */
static const weir_node *find_receiver(const fake *f, const char *key, int64_t *iteration)
{
    const char *part[4];
    const char *at = key;
    for (int i = 0; i < 4; i++) {
        at = strchr(at, ';');
        assert_non_null(at);
        part[i] = ++at;
    }
    const char *colon = strrchr(key, ':');
    *iteration = strtoll(colon + 1, NULL, 10);
    size_t length = (size_t)(part[3] - part[2]) - 1;
    for (size_t n = 0; n < f->graph->nodes.count; n++) {
        const weir_node *node = f->graph->nodes.items[n];
        if (strcmp(node->op->name, "_Recv") != 0 && strcmp(node->op->name, "_HostRecv") != 0)
            continue;
        weir_bytes name = weir_node_string(node, "tensor_name");
        if (name.size == length && memcmp(name.data, part[2], length) == 0)
            return node;
    }
    return NULL;
}

static void answer(fake *f, weir_receive *receive)
{
    int64_t iteration = 0;
    const weir_node *node = find_receiver(f, receive->key, &iteration);
    weir_tensor *tensor = node != NULL && f->manner != MANNER_DEAD ? make_value(f->graph, node, iteration) : NULL;
    receive->done(receive, WEIR_STATUS_OK, tensor, tensor == NULL);
    weir_tensor_free(tensor);
}

static weir_status fake_send(weir_rendezvous *base, const char *key, weir_tensor *tensor, bool is_dead)
{
    fake *f = (fake *)base;
    if (strchr(key, ';') == NULL || (tensor == NULL) != is_dead)
        return weir_fail(WEIR_INTERNAL, "A send without key or value");
    pthread_mutex_lock(&f->mutex);
    f->sent++;
    pthread_mutex_unlock(&f->mutex);
    return WEIR_STATUS_OK;
}

static weir_status fake_receive(weir_rendezvous *base, weir_receive *receive)
{
    fake *f = (fake *)base;
    pthread_mutex_lock(&f->mutex);
    f->received++;
    bool is_now = f->manner == MANNER_AT_ONCE || f->manner == MANNER_DEAD;
    if (!is_now && f->manner != MANNER_FAILED) {
        receive->next = f->waiting;
        f->waiting = receive;
        f->num_waiting++;
        pthread_cond_signal(&f->changed);
    }
    pthread_mutex_unlock(&f->mutex);
    if (f->manner == MANNER_FAILED)
        return weir_fail(WEIR_UNAVAILABLE, "The sender is gone: %s", receive->key);
    if (is_now)
        answer(f, receive);
    return WEIR_STATUS_OK;
}

static void fake_cancel(weir_rendezvous *base, weir_receive *receive)
{
    fake *f = (fake *)base;
    bool is_found = false;
    pthread_mutex_lock(&f->mutex);
    for (weir_receive **at = &f->waiting; *at != NULL && !is_found; at = &(*at)->next) {
        if (*at != receive)
            continue;
        *at = receive->next;
        f->num_waiting--;
        is_found = true;
        break;
    }
    pthread_mutex_unlock(&f->mutex);
    if (is_found)
        receive->done(receive, weir_fail(WEIR_CANCELLED, "cancelled"), NULL, false);
}

/* Answers in any order, after a while. */
static void *deliver(void *context)
{
    fake *f = context;
    pthread_mutex_lock(&f->mutex);
    while (!f->ends) {
        if (f->waiting == NULL || f->manner == MANNER_NEVER) {
            pthread_cond_wait(&f->changed, &f->mutex);
            continue;
        }
        pthread_mutex_unlock(&f->mutex);
        usleep((unsigned)rand_r(&f->random) % 200);
        pthread_mutex_lock(&f->mutex);
        weir_receive **at = &f->waiting;
        for (int skip = f->num_waiting > 0 ? rand_r(&f->random) % f->num_waiting : 0; skip > 0; skip--)
            at = &(*at)->next;
        weir_receive *receive = *at;
        if (receive == NULL)
            continue;
        *at = receive->next;
        f->num_waiting--;
        pthread_mutex_unlock(&f->mutex);
        answer(f, receive);
        pthread_mutex_lock(&f->mutex);
    }
    pthread_mutex_unlock(&f->mutex);
    return NULL;
}

static void fake_open(fake *f, const weir_graph *graph, manner how)
{
    *f = (fake){
        .base = {.send = fake_send, .receive = fake_receive, .cancel = fake_cancel}, .graph = graph, .manner = how};
    pthread_mutex_init(&f->mutex, NULL);
    pthread_cond_init(&f->changed, NULL);
    assert_int_equal(pthread_create(&f->thread, NULL, deliver, f), 0);
}

static void fake_close(fake *f)
{
    pthread_mutex_lock(&f->mutex);
    f->ends = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->mutex);
    pthread_join(f->thread, NULL);
    assert_null(f->waiting); /* whoever waited was cancelled or answered */
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->mutex);
}

/* ---- One graph in its task ---- */

typedef struct task {
    weir_graph *graph;
    weir_session *session;
    weir_node **targets;
    int num_targets;
} task;

/* Job and task as the graph's devices have them. */
static void read_home(const weir_graph *graph, char *job, size_t size, int *number)
{
    for (size_t n = 0; n < graph->nodes.count; n++) {
        char name[64] = "";
        if (sscanf(graph->nodes.items[n]->device, "/job:%63[^/]/replica:0/task:%d", name, number) == 2) {
            snprintf(job, size, "%s", name);
            return;
        }
    }
    snprintf(job, size, "worker");
}

static void open_task(task *t, const recorded *r, weir_container *container)
{
    char job[64];
    int number = 0;
    t->graph = weir_graph_new();
    check_ok(weir_graph_import(weir_root(t->graph), r->bytes, r->size, NULL));
    read_home(t->graph, job, sizeof job, &number);
    weir_session_home home = {.job = job, .task = number, .container = container};
    weir_session_options options = {.size = sizeof options, .threads = 1, .sim_gpus = -1};
    check_ok(weir_session_new_in(t->graph, &options, &home, &t->session));
    t->num_targets = (int)t->graph->nodes.count;
    t->targets = t->graph->nodes.items;
}

static void close_task(task *t)
{
    weir_session_free(t->session);
    weir_graph_free(t->graph);
}

static weir_status start_all(const task *t, fake *f, int64_t timeout_ms, weir_pending_run **out)
{
    weir_run_arrays call = {
        .size = sizeof call, .targets = t->targets, .num_targets = t->num_targets, .timeout_ms = timeout_ms};
    return weir_run_start_at(t->session, &call, &f->base, NULL, NULL, out);
}

/* Runs all of the graph; the status is that of the run. */
static weir_status run_all(const task *t, fake *f, int64_t timeout_ms)
{
    weir_pending_run *run = NULL;
    WEIR_TRY(start_all(t, f, timeout_ms, &run));
    weir_status status = weir_run_wait(run, 60000);
    if (status.code == WEIR_DEADLINE_EXCEEDED && strstr(weir_status_text(status), "has not ended") != NULL)
        fail_msg("a run hangs: %s", weir_status_text(status));
    static _Thread_local char text[1024];
    snprintf(text, sizeof text, "%s", weir_status_text(status));
    weir_code code = status.code;
    weir_run_free(run);
    return code == WEIR_OK ? WEIR_STATUS_OK : weir_fail(code, "%s", text);
}

/* One container for each task of a scenario: graphs that initialize variables come before those that use them. */
typedef struct containers {
    struct {
        char key[160];
        weir_container container;
    } items[MOST_GRAPHS];
    int count;
} containers;

static weir_container *container_of(containers *all, const recorded *r)
{
    char key[160];
    snprintf(key, sizeof key, "%s %s", r->scenario, r->task);
    for (int i = 0; i < all->count; i++) {
        if (strcmp(all->items[i].key, key) == 0)
            return &all->items[i].container;
    }
    snprintf(all->items[all->count].key, sizeof all->items[0].key, "%s", key);
    check_ok(weir_container_init(&all->items[all->count].container));
    return &all->items[all->count++].container;
}

static void clear_containers(containers *all)
{
    for (int i = 0; i < all->count; i++)
        weir_container_destroy(&all->items[i].container);
    all->count = 0;
}

static bool is_clean(weir_status status, manner how)
{
    switch (status.code) {
    case WEIR_OK:
    case WEIR_INVALID_ARGUMENT:
    case WEIR_FAILED_PRECONDITION: /* a variable that another graph initializes */
    case WEIR_NOT_FOUND:
    case WEIR_OUT_OF_RANGE:
    case WEIR_DEADLINE_EXCEEDED:
        return true;
    case WEIR_UNAVAILABLE:
        return how == MANNER_FAILED;
    default:
        return false;
    }
}

static containers tasks;

static void graphs_run_with_what_they_receive(void **state)
{
    static const char *const names[] = {"at once", "late, in any order", "dead", "never", "with a failure"};
    for (int how = 0; how < MANNERS; how++) {
        int ok = 0;
        int waits = 0;
        int failed = 0;
        int run = 0;
        for (int i = 0; i < num_graphs; i++) {
            if (graphs[i].answer != 0)
                continue;
            task t;
            fake f;
            open_task(&t, &graphs[i], container_of(&tasks, &graphs[i]));
            fake_open(&f, t.graph, (manner)how);
            weir_status status = run_all(&t, &f, how == MANNER_NEVER ? 30 : 100);
            run++;
            ok += weir_ok(status);
            waits += status.code == WEIR_DEADLINE_EXCEEDED;
            failed += !weir_ok(status) && status.code != WEIR_DEADLINE_EXCEEDED;
            if (!weir_ok(status) && how == MANNER_AT_ONCE && getenv("WEIR_TEST_VERBOSE") != NULL)
                print_message("%s %s: %s\n", graphs[i].scenario, graphs[i].task, weir_status_text(status));
            if (!is_clean(status, (manner)how))
                fail_msg("%s %s: %s %s", graphs[i].scenario, graphs[i].task, weir_code_name(status.code),
                         weir_status_text(status));
            if (status.code == WEIR_DEADLINE_EXCEEDED && strstr(weir_status_text(status), "waits since") == NULL)
                fail_msg("%s %s: %s", graphs[i].scenario, graphs[i].task, weir_status_text(status));
            fake_close(&f);
            close_task(&t);
        }
        print_message("received %s: %d graphs, %d finished, %d waited, %d failed at a value\n", names[how], run, ok,
                      waits, failed);
        assert_int_equal(run, 161);
        if (how == MANNER_AT_ONCE || how == MANNER_LATE)
            assert_true(ok >= 100);
        clear_containers(&tasks);
    }
}

/* ---- Many at once, one very often ---- */

typedef struct repeated {
    task t;
    fake f;
    int failures;
    char text[512];
} repeated;

static void *repeat(void *context)
{
    repeated *r = context;
    for (int i = 0; i < 20; i++) {
        weir_status status = run_all(&r->t, &r->f, 2000);
        if (!weir_ok(status) && r->failures++ == 0)
            snprintf(r->text, sizeof r->text, "%s: %s", weir_code_name(status.code), weir_status_text(status));
    }
    return NULL;
}

/* A graph that receives much and finishes. */
static const recorded *busiest(void)
{
    const recorded *best = NULL;
    int most = 0;
    for (int i = 0; i < num_graphs; i++) {
        if (graphs[i].answer != 0 || strncmp(graphs[i].scenario, "b_", 2) != 0)
            continue;
        weir_graph *graph = weir_graph_new();
        check_ok(weir_graph_import(weir_root(graph), graphs[i].bytes, graphs[i].size, NULL));
        int count = 0;
        bool waits = false;
        for (size_t n = 0; n < graph->nodes.count; n++) {
            const char *op = graph->nodes.items[n]->op->name;
            count += strcmp(op, "_Recv") == 0;
            waits = waits || strstr(op, "Queue") != NULL || strstr(op, "Accumulator") != NULL;
        }
        if (!waits && count > most) {
            most = count;
            best = &graphs[i];
        }
        weir_graph_free(graph);
    }
    assert_non_null(best);
    return best;
}

/* Runs the graphs before it in its task: they initialize what it reads. */
static void run_those_before(const recorded *r)
{
    for (const recorded *at = graphs; at < r; at++) {
        if (at->answer != 0 || strcmp(at->scenario, r->scenario) != 0 || strcmp(at->task, r->task) != 0)
            continue;
        task t;
        fake f;
        open_task(&t, at, container_of(&tasks, r));
        fake_open(&f, t.graph, MANNER_AT_ONCE);
        (void)!weir_ok(run_all(&t, &f, 200));
        fake_close(&f);
        close_task(&t);
    }
}

static void sixteen_run_at_once(void **state)
{
    static repeated all[16];
    pthread_t threads[16];
    const recorded *r = busiest();
    run_those_before(r);
    for (int i = 0; i < 16; i++) {
        all[i] = (repeated){.failures = 0};
        open_task(&all[i].t, r, container_of(&tasks, r));
        fake_open(&all[i].f, all[i].t.graph, MANNER_LATE);
        all[i].f.random = (unsigned)i;
    }
    for (int i = 0; i < 16; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, repeat, &all[i]), 0);
    for (int i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 16; i++) {
        assert_string_equal(all[i].text, "");
        assert_true(all[i].f.received >= 20);
        fake_close(&all[i].f);
        close_task(&all[i].t);
    }
    clear_containers(&tasks);
}

/* Sixteen runs of one session, all at rest until their values come; one is cancelled. */
static void runs_at_rest_go_on(void **state)
{
    const recorded *r = busiest();
    task t;
    fake f[16];
    weir_pending_run *runs[16];
    run_those_before(r);
    open_task(&t, r, container_of(&tasks, r));
    for (int i = 0; i < 16; i++) {
        fake_open(&f[i], t.graph, MANNER_NEVER);
        check_ok(start_all(&t, &f[i], 0, &runs[i]));
    }
    for (int i = 0; i < 16; i++)
        check_fails(WEIR_DEADLINE_EXCEEDED, "has not ended", weir_run_wait(runs[i], 2));
    weir_run_cancel(runs[7]);
    check_fails(WEIR_CANCELLED, "cancelled", weir_run_wait(runs[7], 20000));
    for (int i = 15; i >= 0; i--) {
        pthread_mutex_lock(&f[i].mutex);
        f[i].manner = MANNER_LATE;
        pthread_cond_signal(&f[i].changed);
        pthread_mutex_unlock(&f[i].mutex);
    }
    for (int i = 0; i < 16; i++) {
        weir_status status = weir_run_wait(runs[i], 20000);
        if (i != 7)
            check_ok(status);
        else
            assert_int_equal(status.code, WEIR_CANCELLED);
        weir_run_free(runs[i]);
        fake_close(&f[i]);
    }
    close_task(&t);
    clear_containers(&tasks);
}

static void ten_thousand_runs_keep_memory_flat(void **state)
{
    const recorded *r = busiest();
    task t;
    fake f;
    run_those_before(r);
    open_task(&t, r, container_of(&tasks, r));
    fake_open(&f, t.graph, MANNER_AT_ONCE);
    int finished = 0;
    size_t before = 0;
    const int runs = 10000 / SLOWER;
    for (int i = 0; i < runs; i++) {
        finished += weir_ok(run_all(&t, &f, 2000));
        if (i == runs / 10)
            before = mallinfo2().uordblks;
    }
    size_t after = mallinfo2().uordblks;
    if (SLOWER == 1 && after > before + 65536)
        fail_msg("%zu bytes in use after %d runs, %zu after a tenth of them", after, runs, before);
    assert_int_equal(finished, runs);
    fake_close(&f);
    close_task(&t);
    clear_containers(&tasks);
}

int main(void)
{
    char folder[] = "/tmp/weir_register_graphs_XXXXXX"; /* files that graphs may name are made up beside nothing else */
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_run_with_what_they_receive),
        cmocka_unit_test(sixteen_run_at_once),
        cmocka_unit_test(runs_at_rest_go_on),
        cmocka_unit_test(ten_thousand_runs_keep_memory_flat),
    };
    int failures = cmocka_run_group_tests(tests, read_graphs, free_graphs);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failures != 0;
}
