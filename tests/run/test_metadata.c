/*
 * What a run tells about itself: StepStats as TensorFlow has them, a trace that a browser reads, sums that add up.
 */
#include "run_test.h"

#include <stdlib.h>
#include <unistd.h>

#include "format/message.h"
#include "proto/step_stats.pb-c.h"

typedef struct fixture {
    weir_graph *graph;
    weir_session *session;
    weir_output x, y;
} fixture;

static fixture open_network(void)
{
    fixture f = {.graph = weir_graph_new()};
    weir_scope s = weir_root(f.graph);
    f.x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 2), .name = "x");
    weir_output w = weir_reshape(s, weir_const(s, WEIR_FLOATS(1, 2, 3, 4)), WEIR_SHAPE(2, 2));
    weir_output product = weir_matmul(s, f.x, w, .name = "product");
    weir_output h =
        weir_relu(s, weir_bias_add(s, product, weir_const(s, WEIR_FLOATS(0, 1)), .name = "bias"), .name = "relu");
    weir_output far = weir_exp(weir_on_device(s, "/cpu:1"), h, .name = "far");
    f.y = weir_reduce_sum(s, far, .name = "total");
    weir_session_options options = {.size = sizeof options, .cpu_devices = 2, .sim_gpus = -1};
    check_ok(weir_session_new(f.graph, &options, &f.session));
    return f;
}

static weir_run_metadata *run_once(fixture *f)
{
    WEIR_AUTO(weir_tensor) *x = make_floats(WEIR_SHAPE(1, 2), (float[]){0, 0});
    WEIR_AUTO(weir_tensor) *y = NULL;
    weir_run_metadata *metadata = NULL;
    check_ok(weir_run(f->session, .feeds = {{f->x, x}}, .fetches = {f->y}, .results = {&y}, .metadata = &metadata));
    assert_non_null(metadata);
    return metadata;
}

static void close_network(fixture *f)
{
    weir_session_free(f->session);
    weir_graph_free(f->graph);
}

static const Weir__NodeExecStats *find_node(const Weir__StepStats *stats, const char *name, const char *device)
{
    for (size_t d = 0; d < stats->n_dev_stats; d++) {
        for (size_t n = 0; n < stats->dev_stats[d]->n_node_stats; n++) {
            const Weir__NodeExecStats *at = stats->dev_stats[d]->node_stats[n];
            if (strcmp(at->node_name, name) == 0 && strstr(stats->dev_stats[d]->device, device) != NULL)
                return at;
        }
    }
    return NULL;
}

static void step_stats_name_every_node(void **state)
{
    fixture f = open_network();
    weir_run_metadata *metadata = run_once(&f);
    void *bytes = NULL;
    size_t size = 0;
    check_ok(weir_run_metadata_serialize(metadata, &bytes, &size));
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    check_ok(weir_message_unpack(&weir__run_metadata__descriptor, bytes, size, &arena, &message));
    const Weir__StepStats *stats = ((Weir__RunMetadata *)message)->step_stats;
    assert_non_null(stats);
    assert_int_equal(stats->n_dev_stats, 2);
    const char *const names[] = {"product", "bias", "relu", "total"}; /* also those that were fused */
    for (int i = 0; i < 4; i++) {
        const Weir__NodeExecStats *at = find_node(stats, names[i], "CPU:0");
        if (at == NULL) {
            fail_msg("no '%s'", names[i]);
            continue;
        }
        assert_true(at->all_start_micros > 1600000000000000); /* since 1970 */
        assert_true(at->all_end_rel_micros >= at->op_end_rel_micros);
        assert_non_null(strstr(at->timeline_label, names[i]));
    }
    assert_non_null(find_node(stats, "far", "CPU:1"));
    weir_arena_clear(&arena);
    free(bytes);
    weir_run_metadata_free(metadata);
    close_network(&f);
}

static void traces_are_json(void **state)
{
    fixture f = open_network();
    weir_run_metadata *metadata = run_once(&f);
    char path[] = "/tmp/weir_trace_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    check_ok(weir_run_metadata_write_trace(metadata, path));
    check_fails(WEIR_NOT_FOUND, "/nowhere/trace", weir_run_metadata_write_trace(metadata, "/nowhere/trace"));
    char command[512];
    snprintf(command, sizeof command,
             "python3 -c \"import json; t = json.load(open('%s'))['traceEvents']; "
             "assert all(e['ph'] in 'XM' for e in t); n = {e['args']['name'] for e in t if e['ph'] == 'X'}; "
             "assert {'far', 'total'} <= n, n; assert all(e['dur'] >= 0 for e in t if e['ph'] == 'X')\"",
             path);
    if (system("python3 -c pass 2>/dev/null") == 0)
        assert_int_equal(system(command), 0);
    unlink(path);
    weir_run_metadata_free(metadata);
    close_network(&f);
}

static void sums_add_up(void **state)
{
    fixture f = open_network();
    weir_session_measure(f.session, true);
    weir_time_sums all = {0};
    for (int i = 0; i < 5; i++) {
        weir_run_metadata *metadata = run_once(&f);
        weir_time_sums one = weir_run_metadata_sums(metadata);
        assert_true(one.total > 0 && one.compute > 0);
        assert_true(one.input >= 0 && one.transfer >= 0 && one.wait >= 0);
        all.compute += one.compute;
        all.total += one.total;
        weir_run_metadata_free(metadata);
    }
    weir_time_sums kept = weir_session_sums(f.session);
    assert_true(kept.compute > all.compute * 0.999999 && kept.compute < all.compute * 1.000001);
    assert_true(kept.total > all.total * 0.999999 && kept.total < all.total * 1.000001);
    weir_session_measure(f.session, false);
    weir_run_metadata *metadata = run_once(&f); /* asked for: it does not matter that nothing is measured */
    weir_run_metadata_free(metadata);
    close_network(&f);
}

/* Prepared steps and waits are measured, too. */
static void steps_and_waits_are_measured(void **state)
{
    fixture f = open_network();
    weir_session_measure(f.session, true);
    WEIR_AUTO(weir_step) *step = NULL;
    check_ok(weir_prepare(f.session, &step, .feeds = {f.x}, .feed_shapes = {WEIR_SHAPE(3, 2)}, .fetches = {f.y}));
    memset(weir_step_feed_float(step, 0), 0, 6 * sizeof(float));
    for (int i = 0; i < 3; i++)
        check_ok(weir_step_run(step));
    assert_true(weir_session_sums(f.session).compute > 0);
    weir_step_free(step);
    step = NULL;
    weir_scope s = weir_root(f.graph);
    weir_dtype types[] = {WEIR_FLOAT};
    weir_attr attrs[] = {WEIR_ATTR_TYPES("component_types", types, 1)};
    weir_output queue = weir_out(weir_op(s, "FIFOQueueV2", .attrs = attrs, .num_attrs = 1), 0);
    weir_node *get = weir_op(s, "QueueDequeueV2", WEIR_INPUTS(queue), .attrs = attrs, .num_attrs = 1);
    double before = weir_session_sums(f.session).wait;
    check_fails(WEIR_DEADLINE_EXCEEDED, "waits since", weir_run(f.session, .targets = {get}, .timeout_ms = 50));
    assert_true(weir_session_sums(f.session).wait >= before + 0.045);
    close_network(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_stats_name_every_node),
        cmocka_unit_test(traces_are_json),
        cmocka_unit_test(sums_add_up),
        cmocka_unit_test(steps_and_waits_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
