/*
 * Devices: which there are, which node goes where, what is said when one goes nowhere, and what their memory stands.
 */
#include "run_test.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "run/session.h"

#define CPU "/job:localhost/replica:0/task:0/device:CPU:0"

static weir_session *open_with(weir_graph *graph, weir_session_options options)
{
    weir_session *session = NULL;
    options.size = sizeof options;
    check_ok(weir_session_new(graph, &options, &session));
    return session;
}

/* The device a node was placed on. */
static const char *device_of(const weir_session *session, weir_output output)
{
    return session->devices.items[session->placement.device.items[output.node->id]]->name + strlen(CPU) - 5;
}

/* ---- What there is ---- */

static void devices_are_listed(void **state)
{
    weir_device_info devices[8];
    int count = 0;
    weir_session_options options = {.size = sizeof options,
                                    .cpu_devices = 2,
                                    .sim_gpus = 2,
                                    .sim_memory_bytes = 1 << 20,
                                    .per_process_gpu_memory_fraction = 0.25};
    check_ok(weir_list_devices(&options, devices, 8, &count));
    assert_int_equal(count, 4);
    assert_string_equal(devices[0].name, CPU);
    assert_string_equal(devices[1].name, "/job:localhost/replica:0/task:0/device:CPU:1");
    assert_string_equal(devices[3].name, "/job:localhost/replica:0/task:0/device:GPU:1");
    assert_string_equal(devices[2].type, "GPU");
    assert_int_equal(devices[2].memory_limit, 1 << 18);
    assert_true(devices[0].incarnation != 0 && devices[0].incarnation != devices[1].incarnation);
    assert_string_equal(devices[0].description, "");
    assert_non_null(strstr(devices[2].description, "simulated"));
    int all = 0;
    check_ok(weir_list_devices(&options, devices, 1, &all));
    assert_int_equal(all, 4);
}

static void accelerators_are_hidden_as_cuda_hides_them(void **state)
{
    weir_device_info devices[8];
    int count = 0;
    weir_session_options options = {.size = sizeof options, .sim_gpus = 3};
    struct {
        const char *visible;
        int gpus;
        const char *first; /* pci bus id */
    } cases[] = {{"0,2", 2, "sim:0"}, {"2", 1, "sim:2"}, {"", 0, NULL}, {"-1", 0, NULL}, {"1,7,0", 1, "sim:1"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("CUDA_VISIBLE_DEVICES", cases[i].visible, 1);
        check_ok(weir_list_devices(&options, devices, 8, &count));
        assert_int_equal(count, 1 + cases[i].gpus);
        if (cases[i].first != NULL)
            assert_non_null(strstr(devices[1].description, cases[i].first));
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
    options.visible_device_list = "2,0";
    check_ok(weir_list_devices(&options, devices, 8, &count));
    assert_int_equal(count, 3);
    assert_non_null(strstr(devices[1].description, "sim:2"));
    assert_non_null(strstr(devices[2].description, "sim:0"));
    options.visible_device_list = "5";
    check_fails(WEIR_INVALID_ARGUMENT, "visible_device_list", weir_list_devices(&options, devices, 8, &count));
    options.visible_device_list = "1,1";
    check_fails(WEIR_INVALID_ARGUMENT, "twice", weir_list_devices(&options, devices, 8, &count));
}

/* ---- Who goes where ---- */

static void scopes_place_nodes(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output a = weir_const(weir_on_device(s, "/cpu:1"), WEIR_FLOATS(1, 2), .name = "a");
    weir_output b = weir_add(weir_on_device(s, "/gpu:1"), a, a, .name = "b");
    weir_output c = weir_negative(s, b, .name = "c"); /* asks for nothing: the first GPU */
    weir_output v = weir_variable_v2(weir_on_device(s, "/gpu:1"), WEIR_FLOAT, WEIR_SHAPE(2), .name = "v");
    weir_output init = weir_assign(s, v, a, .name = "init"); /* with its variable */
    weir_output near = weir_exp(weir_colocated_with(s, a.node), c, .name = "near");
    weir_output count = weir_variable_v2(s, WEIR_INT32, WEIR_SCALAR, .name = "count"); /* no GPU kernel for it */
    weir_session *session = open_with(g, (weir_session_options){.cpu_devices = 2, .sim_gpus = 2});
    WEIR_AUTO(weir_tensor) *value = NULL;
    check_ok(weir_run(session, .fetches = {near}, .targets = {init.node}, .results = {&value}));
    assert_string_equal(device_of(session, a), "CPU:1");
    assert_string_equal(device_of(session, b), "GPU:1");
    assert_string_equal(device_of(session, c), "GPU:0");
    assert_string_equal(device_of(session, v), "GPU:1");
    assert_string_equal(device_of(session, init), "GPU:1");
    assert_string_equal(device_of(session, near), "CPU:1");
    assert_string_equal(device_of(session, count), "CPU:0");
    weir_session_free(session);
}

static void all_that_cannot_be_placed_is_told_at_once(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output one = weir_const(s, WEIR_FLOATS(1, 2), .name = "one");
    weir_output far = weir_add(weir_on_device(s, "/gpu:3"), one, one, .name = "far");
    weir_output farther = weir_add(weir_on_device(s, "/job:ps/task:1"), one, one, .name = "farther");
    WEIR_AUTO(weir_tensor) *value = NULL;
    weir_session *session = open_with(g, (weir_session_options){.sim_gpus = -1});
    weir_status status = weir_run(session, .fetches = {one}, .results = {&value});
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    const char *text = weir_status_text(status);
    if (strstr(text,
               "Cannot assign a device for operation far: {{node far}} was explicitly assigned to /device:GPU:3 but "
               "available devices are [ " CPU
               " ]. Make sure the device specification refers to a valid device.") == NULL ||
        strstr(text, "Cannot assign a device for operation farther: {{node farther}} was explicitly assigned to ") ==
            NULL ||
        strstr(text, "appears to be a GPU") == NULL)
        fail_msg("%s", text);
    assert_ptr_not_equal(far.node, farther.node);
    weir_session_free(session);
    /* Soft placement helps the first, not the one of an unknown job. */
    session = open_with(g, (weir_session_options){.sim_gpus = -1, .allow_soft_placement = true});
    status = weir_run(session, .fetches = {one}, .results = {&value});
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    assert_null(strstr(weir_status_text(status), "{{node far}}"));
    assert_non_null(strstr(weir_status_text(status), "{{node farther}}"));
    weir_session_free(session);
}

static void ops_without_a_kernel_for_the_device_are_told(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_on_device(weir_root(g), "/gpu:0");
    weir_output count = weir_variable_v2(s, WEIR_INT32, WEIR_SCALAR, .name = "count");
    weir_output init = weir_assign(s, count, weir_const(s, WEIR_INT32_OF(1)));
    weir_session *session = open_with(g, (weir_session_options){.sim_gpus = 1});
    check_fails(WEIR_INVALID_ARGUMENT,
                "Could not satisfy explicit device specification '/device:GPU:0' because no supported kernel for GPU "
                "devices is available.",
                weir_run(session, .targets = {init.node}));
    weir_session_free(session);
    session = open_with(g, (weir_session_options){.sim_gpus = 1, .allow_soft_placement = true});
    WEIR_AUTO(weir_tensor) *value = NULL;
    check_ok(weir_run(session, .targets = {init.node}));
    check_ok(weir_run(session, .fetches = {count}, .results = {&value}));
    assert_int_equal(*weir_tensor_int32s(value), 1);
    assert_string_equal(device_of(session, count), "CPU:0");
    weir_session_free(session);
}

static void contradictions_of_colocation_are_told(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output a = weir_const(weir_on_device(s, "/cpu:0"), WEIR_FLOATS(1, 2), .name = "a");
    const char *group = "loc:@a";
    const weir_bytes groups[] = {{group, strlen(group)}};
    weir_attr attrs[] = {WEIR_ATTR_STRINGS("_class", groups, 1)};
    weir_op(weir_on_device(s, "/gpu:0"), "Neg", WEIR_INPUTS(a), .name = "b", .attrs = attrs, .num_attrs = 1);
    check_ok(weir_graph_error(g));
    weir_session *session = open_with(g, (weir_session_options){.sim_gpus = 1});
    WEIR_AUTO(weir_tensor) *value = NULL;
    check_fails(WEIR_INVALID_ARGUMENT, "Cannot colocate nodes", weir_run(session, .fetches = {a}, .results = {&value}));
    weir_session_free(session);
    session = open_with(g, (weir_session_options){.sim_gpus = 1, .allow_soft_placement = true});
    check_ok(weir_run(session, .fetches = {a}, .results = {&value}));
    weir_session_free(session);
}

/* Lines and their order as TensorFlow 1.15 prints them. */
static void placement_is_logged(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output a = weir_const(s, WEIR_FLOATS(1, 2), .name = "a");
    weir_output b = weir_const(s, WEIR_FLOATS(3, 4), .name = "b");
    weir_add(s, a, b, .name = "add");
    weir_output d = weir_const(s, WEIR_FLOATS(1, 2), .name = "d");
    weir_output e = weir_const(s, WEIR_FLOATS(3, 4), .name = "e");
    weir_output sum = weir_add(s, d, e, .name = "add");
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    weir_session *session =
        open_with(g, (weir_session_options){.log_device_placement = true, .placement_stream = stream, .sim_gpus = -1});
    WEIR_AUTO(weir_tensor) *value = NULL;
    WEIR_AUTO(weir_tensor) *again = NULL;
    check_ok(weir_run(session, .fetches = {sum}, .results = {&value}));
    check_ok(weir_run(session, .fetches = {sum}, .results = {&again}));
    const char *kind = weir_node_op(sum.node);
    char wanted[1024];
    snprintf(wanted, sizeof wanted,
             "Device mapping: no known devices.\n"
             "add: (%s): " CPU "\nadd_1: (%s): " CPU "\na: (Const): " CPU "\nb: (Const): " CPU "\nd: (Const): " CPU
             "\ne: (Const): " CPU "\n",
             kind, kind);
    fflush(stream);
    assert_string_equal(text, wanted);
    weir_output more = weir_negative(s, sum, .name = "more");
    WEIR_AUTO(weir_tensor) *last = NULL;
    check_ok(weir_run(session, .fetches = {more}, .results = {&last}));
    size_t length = strlen(wanted);
    snprintf(wanted + length, sizeof wanted - length, "more: (Neg): " CPU "\n");
    fflush(stream);
    assert_string_equal(text, wanted); /* each node once */
    weir_session_free(session);
    fclose(stream);
    free(text);
}

/* ---- At the same time ---- */

static void devices_work_at_the_same_time(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_output ends[2];
    for (int d = 0; d < 2; d++) {
        weir_scope s = weir_on_device(weir_root(g), "/cpu:%d", d);
        weir_output x = weir_fill_const(s, WEIR_FLOAT, WEIR_SHAPE(300, 300), 0.001, NULL);
        weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(300, 300));
        weir_output y = weir_assign(s, v, x);
        for (int i = 0; i < 30; i++)
            y = weir_matmul(s, y, v);
        ends[d] = weir_reduce_sum(s, y);
    }
    weir_session *session = open_with(g, (weir_session_options){.cpu_devices = 2, .threads = 1, .sim_gpus = -1});
    WEIR_AUTO(weir_tensor) *a = NULL;
    WEIR_AUTO(weir_tensor) *b = NULL;
    int64_t first[2] = {0, 0};
    int64_t last[2] = {0, 0};
    bool overlap = false;
    for (int i = 0; i < 20 && !overlap; i++) { /* a busy machine may let one wait */
        weir_run_metadata *metadata = NULL;
        weir_tensor_free(a);
        weir_tensor_free(b);
        a = b = NULL;
        check_ok(weir_run(session, .fetches = {ends[0], ends[1]}, .results = {&a, &b}, .metadata = &metadata));
        for (int d = 0; d < 2; d++) {
            first[d] = INT64_MAX;
            last[d] = 0;
        }
        for (size_t n = 0; n < metadata->nodes.count; n++) {
            const weir_node_time *at = &metadata->nodes.items[n];
            if (strcmp(at->graph_node->op->name, "MatMul") != 0)
                continue;
            first[at->device] = at->start_ns < first[at->device] ? at->start_ns : first[at->device];
            last[at->device] = at->end_ns > last[at->device] ? at->end_ns : last[at->device];
        }
        overlap = first[0] < last[1] && first[1] < last[0];
        weir_run_metadata_free(metadata);
    }
    assert_true(overlap);
    weir_session_free(session);
}

/* ---- Memory of accelerators ---- */

static void too_much_for_an_accelerator_is_told(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_on_device(weir_root(g), "/gpu:0");
    weir_output x = weir_placeholder(weir_root(g), WEIR_FLOAT, WEIR_SHAPE(-1));
    weir_output y = weir_reduce_sum(s, weir_exp(s, weir_negative(s, x)));
    weir_session *session =
        open_with(g, (weir_session_options){.sim_gpus = 1, .sim_memory_bytes = 1 << 20, .sim_delay_us = 100});
    WEIR_AUTO(weir_tensor) *large = NULL;
    WEIR_AUTO(weir_tensor) *small = make_floats(WEIR_SHAPE(2), (float[]){0, 0});
    check_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(300000), &large));
    for (int i = 0; i < 3; i++) {
        WEIR_AUTO(weir_tensor) *result = NULL;
        weir_status status = weir_run(session, .feeds = {{x, large}}, .fetches = {y}, .results = {&result});
        assert_int_equal(status.code, WEIR_RESOURCE_EXHAUSTED);
        if (strstr(weir_status_text(status), "GPU:0") == NULL || strstr(weir_status_text(status), "1200000") == NULL)
            fail_msg("%s", weir_status_text(status));
        check_ok(weir_run(session, .feeds = {{x, small}}, .fetches = {y}, .results = {&result}));
        check_floats(result, (float[]){2}, 1);
    }
    weir_session_free(session);
}

/* Failures in the middle of what an accelerator has been given: all of it ends before the run does. */
static void failures_on_accelerators_leave_nothing_behind(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_on_device(weir_root(g), "/gpu:0");
    weir_output x = weir_placeholder(weir_root(g), WEIR_FLOAT, WEIR_SHAPE(-1));
    weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SCALAR, .name = "v");
    weir_output y = weir_exp(s, weir_negative(s, x));
    weir_output z = weir_multiply(s, y, v);
    for (int i = 0; i < 10; i++) {
        weir_session *session = open_with(g, (weir_session_options){.sim_gpus = 1, .sim_delay_us = 2000});
        WEIR_AUTO(weir_tensor) *value = make_floats(WEIR_SHAPE(2), (float[]){0, 0});
        WEIR_AUTO(weir_tensor) *result = NULL;
        check_fails(WEIR_FAILED_PRECONDITION, "uninitialized value v",
                    weir_run(session, .feeds = {{x, value}}, .fetches = {z}, .results = {&result}));
        weir_session_free(session);
    }
}

static void the_host_cannot_read_an_accelerators_memory(void **state)
{
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_session *session = open_with(g, (weir_session_options){.sim_gpus = 1});
    weir_allocator *allocator = session->devices.items[1]->allocator;
    void *memory = NULL;
    check_ok(allocator->allocate(allocator, 64, &memory));
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], memory, 1), -1); /* the kernel says what a read here would be killed for */
    assert_int_equal(errno, EFAULT);
    close(ends[0]);
    close(ends[1]);
    allocator->release(allocator, memory, 64);
    weir_session_free(session);
}

int main(void)
{
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("WEIR_SIM_GPUS");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_listed),
        cmocka_unit_test(accelerators_are_hidden_as_cuda_hides_them),
        cmocka_unit_test(scopes_place_nodes),
        cmocka_unit_test(all_that_cannot_be_placed_is_told_at_once),
        cmocka_unit_test(ops_without_a_kernel_for_the_device_are_told),
        cmocka_unit_test(contradictions_of_colocation_are_told),
        cmocka_unit_test(placement_is_logged),
        cmocka_unit_test(devices_work_at_the_same_time),
        cmocka_unit_test(too_much_for_an_accelerator_is_told),
        cmocka_unit_test(failures_on_accelerators_leave_nothing_behind),
        cmocka_unit_test(the_host_cannot_read_an_accelerators_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
