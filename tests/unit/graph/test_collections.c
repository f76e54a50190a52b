/*
 * Collections: order, kinds of items, the filter on names.
 */
#include "graph_test.h"

static void items_come_in_order(void **state)
{
    weir_graph *graph = *state;
    weir_scope s = weir_root(graph);
    weir_output a = constant(s, "a");
    weir_node *n = weir_no_op(s, "n");
    assert_int_equal(weir_collection_count(graph, "none", NULL), 0);
    weir_collect_output(graph, WEIR_LOSSES, a);
    weir_collect_node(graph, WEIR_LOSSES, n);
    weir_collect_text(graph, WEIR_LOSSES, "text");
    weir_collect_output(graph, WEIR_LOSSES, a);
    assert_int_equal(weir_collection_count(graph, WEIR_LOSSES, NULL), 4);
    weir_item items[4];
    assert_int_equal(weir_collection_items(graph, WEIR_LOSSES, NULL, items, 4), 4);
    assert_ptr_equal(items[0].output.node, a.node);
    assert_int_equal(items[0].output.index, 0);
    assert_ptr_equal(items[1].output.node, n);
    assert_int_equal(items[1].output.index, -1);
    assert_null(items[2].output.node);
    assert_string_equal(items[2].text, "text");
    assert_ptr_equal(items[3].output.node, a.node);
    assert_int_equal(weir_collection_items(graph, WEIR_LOSSES, NULL, items, 2), 2);
    assert_int_equal(weir_collection_items(graph, WEIR_LOSSES, NULL, NULL, 0), 0);
    graph_is_ok(graph);
}

static void keys_are_copied(void **state)
{
    char key[] = "mine";
    char text[] = "text";
    weir_collect_text(*state, key, text);
    key[0] = 'X';
    text[0] = 'X';
    weir_item item;
    assert_int_equal(weir_collection_items(*state, "mine", NULL, &item, 1), 1);
    assert_string_equal(item.text, "text");
}

/* A regular expression matched at the start of names, as Python's re.match; items without name are dropped. */
static void scopes_filter_by_the_start_of_names(void **state)
{
    weir_graph *graph = *state;
    weir_scope s = weir_root(graph);
    static const char *const names[] = {"tower_0/w", "tower_1/w", "tower_0/b", "my/tower_0/w", "tower_00/w"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        weir_collect_output(graph, WEIR_VARIABLES, constant(s, names[i]));
    weir_collect_text(graph, WEIR_VARIABLES, "tower_0/text");
    assert_int_equal(weir_collection_count(graph, WEIR_VARIABLES, NULL), 6);
    assert_int_equal(weir_collection_count(graph, WEIR_VARIABLES, "tower_0/"), 2);
    assert_int_equal(weir_collection_count(graph, WEIR_VARIABLES, "tower_0"), 3);
    assert_int_equal(weir_collection_count(graph, WEIR_VARIABLES, "tower_[01]/w"), 2);
    assert_int_equal(weir_collection_count(graph, WEIR_VARIABLES, ".*/w$"), 4);
    assert_int_equal(weir_collection_count(graph, WEIR_VARIABLES, "w"), 0);
    assert_int_equal(weir_collection_count(graph, WEIR_VARIABLES, ""), 5);
    assert_int_equal(weir_collection_count(graph, WEIR_VARIABLES, "("), 0); /* no pattern */
    weir_item item;
    assert_int_equal(weir_collection_items(graph, WEIR_VARIABLES, "tower_1", &item, 1), 1);
    assert_string_equal(weir_node_name(item.output.node), "tower_1/w");
}

static void what_failed_is_not_collected(void **state)
{
    weir_collect_output(*state, WEIR_LOSSES, WEIR_NO_OUTPUT);
    weir_collect_node(*state, WEIR_LOSSES, NULL);
    weir_collect_text(NULL, WEIR_LOSSES, "text");
    assert_int_equal(weir_collection_count(*state, WEIR_LOSSES, NULL), 0);
    graph_is_ok(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(items_come_in_order),
        GRAPH_TEST(keys_are_copied),
        GRAPH_TEST(scopes_filter_by_the_start_of_names),
        GRAPH_TEST(what_failed_is_not_collected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
