/*
 * Names of nodes and scopes. Expected names are those of TensorFlow 2.21.
 */
#include "graph_test.h"

typedef struct asked {
    const char *name;
    const char *given;
} asked;

static void check_unique(const asked *names, size_t count)
{
    weir_graph *graph = weir_graph_new();
    for (size_t i = 0; i < count; i++)
        assert_string_equal(weir_unique_name(weir_root(graph), names[i].name), names[i].given);
    graph_is_ok(graph);
    weir_graph_free(graph);
}

#define CHECK_UNIQUE(...)                                                                                              \
    check_unique((const asked[]){__VA_ARGS__}, sizeof((const asked[]){__VA_ARGS__}) / sizeof(asked))

static void unique_names_are_tensorflow_s(void **state)
{
    CHECK_UNIQUE({"w", "w"}, {"W", "W_1"}, {"w", "w_2"}, {"W_1", "W_1_1"}, {"w_1", "w_1_2"});
    CHECK_UNIQUE({"a", "a"}, {"a", "a_1"}, {"a_1", "a_1_1"}, {"a", "a_2"}, {"a_2", "a_2_1"});
    CHECK_UNIQUE({"s/x", "s/x"}, {"s", "s"}, {"s/x", "s/x_1"}, {"S/x", "S/x_2"});
}

static void names_taken_by_others_are_skipped(void **state)
{
    CHECK_UNIQUE({"a_1", "a_1"}, {"a_2", "a_2"}, {"a", "a"}, {"a", "a_3"}, {"a", "a_4"}, {"A_3", "A_3_1"});
}

static void long_names_are_kept_whole(void **state)
{
    char name[3000];
    memset(name, 'N', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    weir_scope s = weir_root(*state);
    assert_string_equal(weir_node_name(constant(s, name).node), name);
    const char *second = weir_node_name(constant(s, name).node);
    assert_int_equal(strlen(second), sizeof name - 1 + 2);
    assert_string_equal(second + sizeof name - 1, "_1");
    assert_int_equal(strlen(weir_scope_name(weir_in_scope(s, "%s", name))), sizeof name - 1 + 3);
    graph_is_ok(*state);
}

/* Asked for one after another: x, x, x_1, X, x, scope x, scope X. */
static void nodes_and_scopes_share_names(void **state)
{
    weir_scope s = weir_root(*state);
    static const asked nodes[] = {{"x", "x"}, {"x", "x_1"}, {"x_1", "x_1_1"}, {"X", "X_2"}, {"x", "x_3"}};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        assert_string_equal(weir_node_name(constant(s, nodes[i].name).node), nodes[i].given);
    assert_string_equal(weir_scope_name(weir_in_scope(s, "x")), "x_4/");
    assert_string_equal(weir_scope_name(weir_in_scope(s, "X")), "X_5/");
    graph_is_ok(*state);
}

static void a_node_without_name_has_its_op_s(void **state)
{
    weir_scope s = weir_in_scope(weir_root(*state), "a");
    assert_string_equal(weir_node_name(constant(s, NULL).node), "a/Const");
    assert_string_equal(weir_node_name(constant(s, NULL).node), "a/Const_1");
}

static void absolute_names_take_no_prefix(void **state)
{
    weir_scope s = weir_in_scope(weir_root(*state), "a");
    weir_scope inner = weir_in_scope(s, "b");
    assert_string_equal(weir_node_name(constant(inner, weir_scope_name(inner)).node), "a/b");
    assert_string_equal(weir_node_name(constant(inner, "zz/").node), "zz");
    graph_is_ok(*state);
    assert_null(constant(inner, "zz/").node);
    graph_failed(*state, WEIR_ALREADY_EXISTS, "Duplicate node name in graph: 'zz'");
    assert_string_equal(weir_node_name(constant(weir_root(*state), "zz").node), "zz_1");
}

static void scopes_nest_and_are_entered_again(void **state)
{
    weir_scope root = weir_root(*state);
    weir_scope a = weir_in_scope(root, "a");
    assert_string_equal(weir_scope_name(root), "");
    assert_string_equal(weir_scope_name(a), "a/");
    assert_string_equal(weir_scope_name(weir_in_scope(a, "b%d", 7)), "a/b7/");
    assert_string_equal(weir_scope_name(weir_in_scope(root, "a")), "a_1/");
    assert_string_equal(weir_scope_name(weir_in_scope(a, "a/")), "a/");
    assert_string_equal(weir_scope_name(weir_in_scope(a, "%s", "")), "");
    assert_string_equal(weir_node_name(constant(weir_in_scope(root, "a/"), "x").node), "a/x");
}

static void valid_names_pass(void **state)
{
    static const char *const names[] = {"x", "9", ".x", "a//b", "a>b", "x\\y", "a-b.c_d"};
    weir_scope s = weir_root(*state);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(weir_node_name(constant(s, names[i]).node), names[i]);
    weir_scope inner = weir_in_scope(s, "sc");
    assert_string_equal(weir_node_name(constant(inner, "_x").node), "sc/_x");
    assert_string_equal(weir_node_name(constant(inner, "-x").node), "sc/-x");
    assert_string_equal(weir_node_name(constant(inner, "\\x").node), "sc/\\x");
    assert_string_equal(weir_scope_name(weir_in_scope(inner, "_x")), "sc/_x_1/");
    graph_is_ok(*state);
}

static void bad_names_are_refused(void **state)
{
    static const char *const names[] = {"_x", "-x", "a b", "", "/", "\xc3\xa9", "\\x", "_x/", "a:0"};
    weir_scope s = weir_root(*state);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_null(constant(s, names[i]).node);
        graph_failed(*state, WEIR_INVALID_ARGUMENT, "is not a valid node name. Accepted names conform to Regex");
    }
    assert_int_equal(weir_graph_num_nodes(*state), 0);
}

static void bad_scope_names_are_refused(void **state)
{
    static const char *const names[] = {"_x", "-x", "a b", "/", "\xc3\xa9", "\\x", "_x/"};
    weir_scope s = weir_root(*state);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_null(weir_in_scope(s, "%s", names[i]).record);
        graph_failed(*state, WEIR_INVALID_ARGUMENT,
                     "is not a valid root scope name. A root scope name has to match the following pattern: "
                     "^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$");
    }
    assert_null(weir_in_scope(weir_in_scope(s, "ok"), "a b").record);
    graph_failed(*state, WEIR_INVALID_ARGUMENT, "'a b' is not a valid scope name");
}

static void outputs_are_found_by_name(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output a = constant(s, "alpha");
    constant(s, "beta:") /* refused */;
    graph_failed(*state, WEIR_INVALID_ARGUMENT, "not a valid node name");
    weir_output found = WEIR_NO_OUTPUT;
    status_ok(weir_graph_find_output(*state, "alpha", &found));
    assert_ptr_equal(found.node, a.node);
    status_ok(weir_graph_find_output(*state, "alpha:0", &found));
    assert_int_equal(found.index, 0);
    status_fails(weir_graph_find_output(*state, "alpha:1", &found), WEIR_INVALID_ARGUMENT, "has 1 outputs");
    status_fails(weir_graph_find_output(*state, "alpah", &found), WEIR_NOT_FOUND, "did you mean 'alpha'?");
    status_fails(weir_graph_find_output(*state, "alpha:99999999999", &found), WEIR_NOT_FOUND, "has no node");
    status_fails(weir_graph_find_output(*state, ":0", &found), WEIR_NOT_FOUND, "has no node ':0'");
    assert_null(weir_graph_find(*state, "beta"));
    assert_null(weir_graph_find(*state, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unique_names_are_tensorflow_s),
        cmocka_unit_test(names_taken_by_others_are_skipped),
        GRAPH_TEST(long_names_are_kept_whole),
        GRAPH_TEST(nodes_and_scopes_share_names),
        GRAPH_TEST(a_node_without_name_has_its_op_s),
        GRAPH_TEST(absolute_names_take_no_prefix),
        GRAPH_TEST(scopes_nest_and_are_entered_again),
        GRAPH_TEST(valid_names_pass),
        GRAPH_TEST(bad_names_are_refused),
        GRAPH_TEST(bad_scope_names_are_refused),
        GRAPH_TEST(outputs_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
