/*
 * Saver: round trips, names and steps, the state file, what is deleted, and what is said when a checkpoint does not fit.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "train/train_test.h"

static char folder[256];

static char *in_folder(char path[512], const char *name)
{
    snprintf(path, 512, "%s/%s", folder, name);
    return path;
}

typedef struct model {
    weir_graph *graph;
    weir_output v, count, fed, assign;
    weir_node *train;
    weir_saver *saver;
} model;

/* A variable with Adam's slots, and a step. */
static model build(const char *name, weir_shape shape, int max_to_keep)
{
    model m = {.graph = weir_graph_new()};
    weir_scope s = weir_root(m.graph);
    m.v = weir_get_variable(s, name, shape);
    m.count = weir_global_step(s);
    m.train = weir_minimize(s, weir_adam(s), weir_l2_loss(s, m.v), .global_step = m.count);
    m.saver = weir_saver_new(s, .max_to_keep = max_to_keep);
    assert_ok(weir_graph_error(m.graph));
    return m;
}

static void test_round_trip(void **state)
{
    char path[512], saved[512];
    model m = build("layer/v", WEIR_SHAPE(3, 2), 0);
    WEIR_AUTO(weir_session) *one = start(m.graph);
    WEIR_AUTO(weir_session) *two = start(m.graph);
    for (int i = 0; i < 3; i++)
        assert_ok(weir_run(one, .targets = {m.train}));
    /* Folders are made, several deep. */
    assert_ok(weir_saver_save(m.saver, one, in_folder(path, "a/b/model.ckpt"), .global_step = WEIR_STEP(3),
                              .path = saved, .path_size = sizeof saved));
    assert_string_equal(saved, in_folder(path, "a/b/model.ckpt-3"));
    assert_true(weir_checkpoint_exists(saved));
    WEIR_AUTO(weir_tensor) *before = fetch(one, m.v);
    assert_ok(weir_saver_restore(m.saver, two, saved));
    weir_item items[8];
    int count = weir_collection_items(m.graph, WEIR_VARIABLES, NULL, items, 8);
    assert_int_equal(count, 6);
    for (int i = 0; i < count; i++) {
        WEIR_AUTO(weir_tensor) *a = fetch(one, items[i].output);
        WEIR_AUTO(weir_tensor) *b = fetch(two, items[i].output);
        assert_int_equal(weir_tensor_size_bytes(a), weir_tensor_size_bytes(b));
        assert_memory_equal(weir_tensor_data(a), weir_tensor_data(b), weir_tensor_size_bytes(a));
    }
    /* The next step is the same in both. */
    assert_ok(weir_run(one, .targets = {m.train}));
    assert_ok(weir_run(two, .targets = {m.train}));
    WEIR_AUTO(weir_tensor) *a = fetch(one, m.v);
    WEIR_AUTO(weir_tensor) *b = fetch(two, m.v);
    assert_memory_equal(weir_tensor_data(a), weir_tensor_data(b), 24);
    assert_memory_not_equal(weir_tensor_data(a), weir_tensor_data(before), 24);
    weir_session_free(one), one = NULL;
    weir_session_free(two), two = NULL;
    weir_graph_free(m.graph);
}

static void test_names_and_types_in_the_checkpoint(void **state)
{
    static const char *const names[] = {"beta1_power", "beta2_power",  "global_step",
                                        "names/v",     "names/v/Adam", "names/v/Adam_1"};
    char path[512];
    model m = build("names/v", WEIR_SHAPE(2), 0);
    WEIR_AUTO(weir_session) *session = start(m.graph);
    assert_ok(weir_saver_save(m.saver, session, in_folder(path, "names")));
    weir_checkpoint *checkpoint = NULL;
    const weir_checkpoint_entry *entries = NULL;
    size_t count = 0;
    assert_ok(weir_checkpoint_open(path, &checkpoint));
    assert_ok(weir_checkpoint_list(checkpoint, &entries, &count));
    assert_int_equal(count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(entries[i].name, names[i]);
    assert_int_equal(entries[2].dtype, WEIR_INT64);
    weir_checkpoint_close(checkpoint);
    weir_session_free(session), session = NULL;
    weir_graph_free(m.graph);
}

static bool exists(const char *name, int step)
{
    char path[512], with_step[600];
    snprintf(with_step, sizeof with_step, "%s-%d", in_folder(path, name), step);
    return weir_checkpoint_exists(with_step);
}

static void test_only_the_newest_are_kept(void **state)
{
    char path[512];
    weir_checkpoint_state *kept = NULL;
    char *latest = NULL;
    model m = build("v", WEIR_SHAPE(2), 2);
    WEIR_AUTO(weir_session) *session = start(m.graph);
    for (int step = 1; step <= 4; step++)
        assert_ok(weir_saver_save(m.saver, session, in_folder(path, "kept/model"), .global_step = WEIR_STEP(step)));
    assert_ok(weir_saver_save(m.saver, session, path, .global_step = WEIR_STEP(3))); /* again: now the newest */
    assert_false(exists("kept/model", 1));
    assert_false(exists("kept/model", 2));
    assert_true(exists("kept/model", 3));
    assert_true(exists("kept/model", 4));
    assert_ok(weir_checkpoint_state_read(in_folder(path, "kept"), NULL, &kept));
    assert_int_equal(kept->count, 2);
    assert_non_null(strstr(kept->all[0], "model-4"));
    assert_non_null(strstr(kept->latest, "model-3"));
    weir_checkpoint_state_free(kept);
    assert_ok(weir_checkpoint_latest(path, NULL, &latest));
    assert_non_null(strstr(latest, "kept/model-3"));
    free(latest);
    weir_session_free(session), session = NULL;
    weir_graph_free(m.graph);
}

static void test_all_are_kept(void **state)
{
    char path[512];
    weir_checkpoint_state *kept = NULL;
    model m = build("v", WEIR_SHAPE(2), -1);
    WEIR_AUTO(weir_session) *session = start(m.graph);
    for (int step = 1; step <= 7; step++)
        assert_ok(weir_saver_save(m.saver, session, in_folder(path, "all/model"), .global_step = WEIR_STEP(step)));
    for (int step = 1; step <= 7; step++)
        assert_true(exists("all/model", step));
    assert_ok(weir_checkpoint_state_read(in_folder(path, "all"), NULL, &kept));
    assert_int_equal(kept->count, 1); /* as TensorFlow's, the state file names only the newest then */
    weir_checkpoint_state_free(kept);
    weir_session_free(session), session = NULL;
    weir_graph_free(m.graph);
}

/* Everything that is missing is told at once, and nothing has changed. */
static void test_restoring_what_does_not_fit(void **state)
{
    char path[512];
    model m = build("first", WEIR_SHAPE(2), 0);
    WEIR_AUTO(weir_session) *session = start(m.graph);
    assert_ok(weir_saver_save(m.saver, session, in_folder(path, "other")));
    model other = build("second", WEIR_SHAPE(2), 0);
    model larger = build("first", WEIR_SHAPE(3), 0);
    WEIR_AUTO(weir_session) *of_other = start(other.graph);
    WEIR_AUTO(weir_session) *of_larger = start(larger.graph);
    WEIR_AUTO(weir_tensor) *before = fetch(of_larger, larger.v);
    weir_status status = weir_saver_restore(other.saver, of_other, path);
    assert_fails(status, WEIR_NOT_FOUND, "3 of 6 variables not found in checkpoint");
    status = weir_saver_restore(other.saver, of_other, path);
    assert_fails(status, WEIR_NOT_FOUND, "second, second/Adam, second/Adam_1");
    status = weir_saver_restore(larger.saver, of_larger, path);
    assert_fails(status, WEIR_INVALID_ARGUMENT, "first is float [3], in the checkpoint float [2]");
    WEIR_AUTO(weir_tensor) *after = fetch(of_larger, larger.v);
    assert_memory_equal(weir_tensor_data(before), weir_tensor_data(after), 12);
    status = weir_saver_restore(other.saver, of_other, in_folder(path, "nothing"));
    assert_fails(status, WEIR_NOT_FOUND, "nothing");
    weir_session_free(session), session = NULL;
    weir_session_free(of_other), of_other = NULL;
    weir_session_free(of_larger), of_larger = NULL;
    weir_graph_free(m.graph);
    weir_graph_free(other.graph);
    weir_graph_free(larger.graph);
}

/* A failed save leaves the older checkpoints and the state file. */
static void test_failed_saves(void **state)
{
    char path[512], saved[512];
    char *latest = NULL;
    model m = build("v", WEIR_SHAPE(2), 1);
    WEIR_AUTO(weir_session) *session = start(m.graph);
    WEIR_AUTO(weir_session) *empty = new_session(m.graph);
    assert_ok(weir_saver_save(m.saver, session, in_folder(path, "failing/model"), .global_step = WEIR_STEP(1),
                              .path = saved, .path_size = sizeof saved));
    assert_fails(weir_saver_save(m.saver, empty, path, .global_step = WEIR_STEP(2)), WEIR_FAILED_PRECONDITION,
                 "Attempting to use uninitialized value");
    assert_true(exists("failing/model", 1));
    assert_false(exists("failing/model", 2));
    assert_ok(weir_checkpoint_latest(in_folder(path, "failing"), NULL, &latest));
    assert_string_equal(latest, saved);
    free(latest);
    assert_fails(weir_saver_save(m.saver, session, in_folder(path, "failing/model-1.index/x")),
                 WEIR_FAILED_PRECONDITION, "cannot be made");
    assert_fails(weir_saver_save(m.saver, session, path, .latest_filename = "a/b"), WEIR_INVALID_ARGUMENT,
                 "'latest_filename' collides");
    assert_fails(weir_saver_save(NULL, session, path), WEIR_INVALID_ARGUMENT, "There is no saver");
    weir_session_free(session), session = NULL;
    weir_session_free(empty), empty = NULL;
    weir_graph_free(m.graph);
}

static void test_savers_of_chosen_variables(void **state)
{
    char path[512];
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    assert_null(weir_saver_new(s));
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "No variables to save");
    weir_output a = weir_get_variable(s, "a", WEIR_SHAPE(2), .initializer = weir_constant_initializer(1));
    weir_output b = weir_get_variable(s, "b", WEIR_SHAPE(2), .initializer = weir_constant_initializer(2));
    const weir_output twice[] = {a, weir_variable_ref(a)};
    assert_null(weir_saver_new(s, .variables = twice, .num_variables = 2));
    assert_graph_fails(g, WEIR_INVALID_ARGUMENT, "At least two variables have the same name: a");
    weir_saver *saver = weir_saver_new(s, .variables = &b, .num_variables = 1, .name = "only_b");
    weir_node *clear = weir_assign(s, weir_variable_ref(b), weir_const(s, WEIR_FLOATS(0, 0))).node;
    assert_non_null(weir_graph_find(g, "only_b/restore_all"));
    WEIR_AUTO(weir_session) *session = start(g);
    assert_ok(weir_saver_save(saver, session, in_folder(path, "chosen")));
    assert_ok(weir_run(session, .targets = {clear}));
    assert_ok(weir_saver_restore(saver, session, path));
    WEIR_AUTO(weir_tensor) *value = fetch(session, b);
    assert_true(weir_tensor_floats(value)[0] == 2);
}

static int make_folder(void **state)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/weir_saver_XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_names_and_types_in_the_checkpoint),
        cmocka_unit_test(test_only_the_newest_are_kept),
        cmocka_unit_test(test_all_are_kept),
        cmocka_unit_test(test_restoring_what_does_not_fit),
        cmocka_unit_test(test_failed_saves),
        cmocka_unit_test(test_savers_of_chosen_variables),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
