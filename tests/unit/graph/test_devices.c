/*
 * Device names, device scopes and colocation. Expected devices are those of TensorFlow 2.21.
 */
#include "graph_test.h"

#include "graph/device_name.h"

typedef struct parsed {
    const char *text;
    const char *canonical; /* NULL: malformed */
} parsed;

static const parsed names[] = {
    {"/cpu:0", "/device:CPU:0"},
    {"/gpu:1", "/device:GPU:1"},
    {"/GPU:*", "/device:GPU:*"},
    {"cpu:0", "/device:CPU:0"},
    {"//cpu:0", "/device:CPU:0"},
    {"GPU", "/device:GPU:*"},
    {"/job:ps/task:1/cpu:0", "/job:ps/task:1/device:CPU:0"},
    {"/task:1/job:ps/replica:0/device:CPU:0", "/job:ps/replica:0/task:1/device:CPU:0"},
    {"", ""},
    {"/", ""},
    {"/job:*/replica:*/task:*/device:*:*", ""},
    {"/job:ps/task:01", "/job:ps/task:1"},
    {"/device:XLA_CPU:0", "/device:XLA_CPU:0"},
    {"/device:FOO:3", "/device:FOO:3"},
    {"/device:gpu:0", "/device:GPU:0"},
    {"/device:CPU", "/device:CPU:*"}, /* as in TensorFlow's C++; Python wants the index */
    {"/job:worker/replica:0/task:12/device:GPU:0", "/job:worker/replica:0/task:12/device:GPU:0"},
    {"/foo:1", NULL},
    {"/job:a/task:x", NULL},
    {"/cpu:0/gpu:0", NULL},
    {"/job:a/job:b", NULL},
    {"/task:1/task:1", NULL},
    {"/job:my-job", NULL}, /* Python lets it pass; the runtime does not */
    {"/job:9x", NULL},
    {"/job:", NULL},
    {"/task:", NULL},
    {"/task:-1", NULL},
    {"/task:1234567890", NULL},
    {"/cpu:0x", NULL},
    {"/cpus:0", NULL},
    {"/job:abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnop", NULL},
};

static void names_are_parsed_and_printed(void **state)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        weir_device_name name;
        char text[WEIR_DEVICE_NAME_SIZE];
        weir_status status = weir_device_name_parse(names[i].text, &name);
        if (names[i].canonical == NULL) {
            status_fails(status, WEIR_INVALID_ARGUMENT, "Malformed device specification");
            status_fails(status, WEIR_INVALID_ARGUMENT, names[i].text);
            continue;
        }
        status_ok(status);
        assert_string_equal(weir_device_name_text(&name, text), names[i].canonical);
        status_ok(weir_device_name_parse(text, &name));
        assert_string_equal(weir_device_name_text(&name, text), names[i].canonical);
    }
}

static bool matches(const char *pattern, const char *text)
{
    weir_device_name a;
    weir_device_name b;
    status_ok(weir_device_name_parse(pattern, &a));
    status_ok(weir_device_name_parse(text, &b));
    return weir_device_name_matches(&a, &b);
}

static void patterns_match_what_they_set(void **state)
{
    const char *full = "/job:worker/replica:0/task:1/device:GPU:0";
    assert_true(matches("", full));
    assert_true(matches("/job:worker", full));
    assert_true(matches("/gpu:*", full));
    assert_true(matches("/task:1/gpu:0", full));
    assert_true(matches(full, full));
    assert_false(matches("/job:ps", full));
    assert_false(matches("/gpu:1", full));
    assert_false(matches("/cpu:0", full));
    assert_false(matches("/task:0", full));
    assert_false(matches("/replica:1", full));
    assert_false(matches(full, "/job:worker"));
}

typedef struct nested {
    const char *scopes[3];
    const char *device;
} nested;

static const nested scopes[] = {
    {{"/cpu:0"}, "/device:CPU:0"},
    {{""}, ""},
    {{"/"}, ""},
    {{"/job:a", "/task:2"}, "/job:a/task:2"},
    {{"/job:a/task:1/gpu:0", "/cpu:3"}, "/job:a/task:1/device:CPU:3"},
    {{"/job:a/task:1/gpu:0", "/job:b"}, "/job:b/task:1/device:GPU:0"},
    {{"/job:a/task:1/GPU:0", "/device:CPU:*"}, "/job:a/task:1/device:CPU:0"},
    {{"/job:ps", "/device:GPU:1"}, "/job:ps/device:GPU:1"},
    {{"/job:ps", "", "/gpu:0"}, "/job:ps/device:GPU:0"},
    {{"/job:a", "/task:1", "/cpu:0"}, "/job:a/task:1/device:CPU:0"},
};

static void scopes_merge(void **state)
{
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        weir_scope s = weir_root(*state);
        for (size_t j = 0; j < 3 && scopes[i].scopes[j] != NULL; j++)
            s = weir_on_device(s, "%s", scopes[i].scopes[j]);
        assert_string_equal(weir_node_device(constant(s, NULL).node), scopes[i].device);
    }
    graph_is_ok(*state);
}

static void none_stops_the_outer_scopes(void **state)
{
    weir_scope s = weir_on_any_device(weir_on_device(weir_root(*state), "/job:a"));
    assert_string_equal(weir_node_device(constant(s, NULL).node), "");
    assert_string_equal(weir_node_device(constant(weir_on_device(s, "/cpu:%d", 1), NULL).node), "/device:CPU:1");
}

static void a_malformed_scope_is_a_mistake_at_once(void **state)
{
    assert_null(weir_on_device(weir_root(*state), "/zork").record);
    graph_failed(*state, WEIR_INVALID_ARGUMENT, "Malformed device specification '/zork'");
    char device[600];
    memset(device, 'a', sizeof device - 1);
    device[sizeof device - 1] = '\0';
    assert_null(weir_on_device(weir_root(*state), "/job:%s", device).record);
    graph_failed(*state, WEIR_INVALID_ARGUMENT, "Malformed device specification '/job:aaa");
}

/* ---- Device functions ---- */

static const char *place_variables(void *context, const char *op, const char *name, const char *device)
{
    char *seen = context;
    snprintf(seen, 200, "%s %s %s", op, name, device);
    return strcmp(op, "VariableV2") == 0 ? "/job:ps/task:0" : "/job:worker/cpu:0";
}

static const char *clear_device(void *context, const char *op, const char *name, const char *device)
{
    return "";
}

static const char *no_device(void *context, const char *op, const char *name, const char *device)
{
    return NULL;
}

static void functions_replace_what_inner_scopes_chose(void **state)
{
    char seen[200] = "";
    weir_scope s = weir_on_device_from(weir_root(*state), place_variables, seen);
    assert_string_equal(weir_node_device(weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(2), .name = "v").node),
                        "/job:ps/task:0");
    assert_string_equal(seen, "VariableV2 v ");
    assert_string_equal(weir_node_device(constant(weir_on_device(s, "/gpu:1"), "c").node), "/job:worker/device:CPU:0");
    assert_string_equal(seen, "Const c /device:GPU:1");

    weir_scope outer = weir_on_device(weir_root(*state), "/job:a/cpu:0");
    weir_scope cleared = weir_on_device_from(outer, clear_device, NULL);
    assert_string_equal(weir_node_device(constant(weir_on_device(cleared, "/gpu:3"), NULL).node),
                        "/job:a/device:CPU:0");
    graph_is_ok(*state);
}

static void a_function_without_answer_changes_nothing(void **state)
{
    weir_scope s = weir_on_device_from(weir_root(*state), no_device, NULL);
    assert_null(constant(s, "c").node);
    graph_failed(*state, WEIR_INVALID_ARGUMENT, "The device function returned NULL for node 'c'");
    assert_int_equal(weir_graph_num_nodes(*state), 0);
    assert_string_equal(weir_node_name(constant(weir_root(*state), "c").node), "c");
}

/* ---- A node's own device ---- */

static void a_node_may_name_its_device(void **state)
{
    weir_scope s = weir_on_device(weir_root(*state), "/job:a");
    weir_node *node = weir_op(s, "NoOp", .device = "gpu:0");
    assert_string_equal(weir_node_device(node), "/device:GPU:0");
    assert_null(weir_op(s, "NoOp", .device = "/job:"));
    graph_failed(*state, WEIR_INVALID_ARGUMENT, "Malformed device specification '/job:'");
}

/* ---- Colocation ---- */

static void colocated_nodes_take_groups_and_device(void **state)
{
    weir_scope s = weir_root(*state);
    weir_node *a = constant(s, "a").node;
    weir_node *c = constant(weir_on_device(s, "/gpu:0"), "c").node;
    weir_scope outer = weir_on_device(s, "/cpu:3");
    weir_scope with_c = weir_colocated_with(outer, c);
    weir_node *d = constant(weir_on_device(with_c, "/cpu:1"), "d").node;
    weir_node *e = constant(weir_colocated_with(with_c, a), "e").node;
    weir_node *f = constant(weir_colocated_with(with_c, d), "f").node;
    weir_node *h = constant(weir_colocated_with(outer, a), "h").node;
    has_groups(d, "loc:@c");
    has_groups(e, "loc:@a,loc:@c");
    has_groups(f, "loc:@c");
    has_groups(h, "loc:@a");
    assert_string_equal(weir_node_device(d), "/device:GPU:0");
    assert_string_equal(weir_node_device(e), "/device:GPU:0");
    assert_string_equal(weir_node_device(f), "/device:GPU:0");
    assert_string_equal(weir_node_device(h), "");
    has_groups(a, "");
    graph_is_ok(*state);
}

/* As TensorFlow does: the device of an inner scope counts where the other node has none. */
static void a_device_inside_counts_where_the_other_has_none(void **state)
{
    weir_scope s = weir_root(*state);
    weir_node *a = constant(s, "a").node;
    weir_node *b = constant(weir_on_device(weir_colocated_with(s, a), "/cpu:1"), "b").node;
    assert_string_equal(weir_node_device(b), "/device:CPU:1");
    has_groups(b, "loc:@a");
}

static void nothing_to_be_placed_with_is_no_scope(void **state)
{
    weir_scope s = weir_colocated_with(weir_root(*state), NULL);
    assert_null(constant(s, NULL).node);
    assert_int_equal(weir_graph_num_nodes(*state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_parsed_and_printed),
        cmocka_unit_test(patterns_match_what_they_set),
        GRAPH_TEST(scopes_merge),
        GRAPH_TEST(none_stops_the_outer_scopes),
        GRAPH_TEST(a_malformed_scope_is_a_mistake_at_once),
        GRAPH_TEST(functions_replace_what_inner_scopes_chose),
        GRAPH_TEST(a_function_without_answer_changes_nothing),
        GRAPH_TEST(a_node_may_name_its_device),
        GRAPH_TEST(colocated_nodes_take_groups_and_device),
        GRAPH_TEST(a_device_inside_counts_where_the_other_has_none),
        GRAPH_TEST(nothing_to_be_placed_with_is_no_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
