/*
 * Control inputs of scopes, values hung on scopes and graphs, seeds. Expected inputs and seeds are those of TensorFlow 2.21.
 */
#include "graph_test.h"

static weir_output identity(weir_scope s, weir_output x)
{
    return weir_identity(s, x);
}

/* ---- Control inputs ---- */

static void nodes_inside_wait_unless_an_input_does(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output a = constant(s, "a");
    weir_output b = constant(s, "b");
    weir_scope after_a = weir_after(s, a.node);
    weir_output c = identity(after_a, b);
    has_inputs(c.node, "b:0 ^a");
    weir_output d = identity(after_a, c);
    has_inputs(d.node, "Identity:0");
    has_inputs(identity(after_a, a).node, "a:0");
    weir_node *const both[] = {b.node, c.node};
    weir_scope after_all = weir_after_nodes(after_a, both, 2);
    has_inputs(weir_no_op(after_all, "n"), "^a ^b ^Identity");
    has_inputs(identity(after_all, d).node, "Identity_1:0 ^b ^Identity");
    graph_is_ok(*state);
}

static void outer_blocks_come_first(void **state)
{
    weir_scope s = weir_root(*state);
    weir_node *const outer[] = {constant(s, "z").node, constant(s, "k").node};
    weir_node *const inner[] = {constant(s, "m").node, constant(s, "a").node};
    weir_scope inside = weir_after_nodes(weir_after_nodes(s, outer, 2), inner, 2);
    has_inputs(weir_no_op(inside, "n"), "^z ^k ^m ^a");
}

/* An input made outside does not count, whatever scope uses it; one made in a scope derived from the block does. */
static void what_counts_is_where_an_input_was_made(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output a = constant(s, "a");
    weir_scope after_a = weir_after(s, a.node);
    weir_output inside = constant(weir_in_scope(weir_on_device(after_a, "/cpu:0"), "x"), "inside");
    weir_output outside = constant(s, "outside");
    has_inputs(inside.node, "^a");
    has_inputs(identity(weir_in_scope(after_a, "y"), inside).node, "x/inside:0");
    has_inputs(identity(after_a, outside).node, "outside:0 ^a");
    has_inputs(identity(weir_after(s, a.node), inside).node, "x/inside:0 ^a"); /* another block */
}

static void blocks_can_be_forgotten(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output a = constant(s, "a");
    weir_scope none = weir_after_nothing(weir_after(s, a.node));
    has_inputs(constant(none, "b").node, "");
    has_inputs(weir_no_op(weir_after_nodes(s, NULL, 0), "n"), "");
    graph_is_ok(*state);
}

static void control_inputs_are_never_repeated(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output a = constant(s, "a");
    weir_output b = constant(s, "b");
    weir_node *const twice[] = {a.node, b.node, a.node};
    weir_scope inside = weir_after_nodes(weir_after(s, b.node), twice, 3);
    weir_node *node = weir_op(inside, "NoOp", .controls = twice, .num_controls = 3, .name = "n");
    has_inputs(node, "^b ^a");
    weir_node *taken = weir_op(s, "Identity", WEIR_INPUTS(a), .controls = twice, .num_controls = 3, .name = "i");
    has_inputs(taken, "a:0 ^b");
}

static void many_control_inputs_take_linear_time(void **state)
{
    enum { COUNT = 20000 };
    weir_scope s = weir_root(*state);
    weir_node **nodes = calloc(COUNT, sizeof(weir_node *));
    for (int i = 0; i < COUNT; i++)
        nodes[i] = weir_op(s, "NoOp");
    for (int i = 0; i < 50; i++) /* quadratic, this would take minutes */
        assert_int_equal(weir_node_num_controls(weir_no_op(weir_after_nodes(s, nodes, COUNT), "all")), COUNT);
    free(nodes);
}

static void a_block_of_what_failed_is_no_scope(void **state)
{
    weir_scope s = weir_after(weir_root(*state), NULL);
    assert_null(weir_no_op(s, NULL));
    graph_is_ok(*state);
}

/* ---- Values ---- */

static void values_are_inherited(void **state)
{
    int outer = 0;
    int inner = 0;
    weir_scope s = weir_scope_with(weir_root(*state), "train/store", &outer);
    assert_ptr_equal(weir_scope_value(weir_in_scope(s, "a"), "train/store"), &outer);
    assert_null(weir_scope_value(s, "other"));
    assert_null(weir_scope_value(weir_root(*state), "train/store"));
    weir_scope t = weir_scope_with(s, "train/store", &inner);
    assert_ptr_equal(weir_scope_value(t, "train/store"), &inner);
    assert_ptr_equal(weir_scope_value(s, "train/store"), &outer);
    status_ok(weir_graph_set_value(*state, "key", &outer));
    assert_ptr_equal(weir_graph_value(*state, "key"), &outer);
    assert_null(weir_graph_value(*state, "other"));
}

static void release(void *object)
{
    ++*(int *)object;
}

static void owned_objects_go_with_the_graph(void **state)
{
    int released = 0;
    weir_graph *graph = weir_graph_new();
    status_ok(weir_graph_own(graph, &released, release));
    assert_int_equal(released, 0);
    weir_graph_free(graph);
    assert_int_equal(released, 1);
}

/* ---- Seeds ---- */

static void check_seeds(weir_graph *graph, weir_seed seed, int64_t expected1, int64_t expected2)
{
    int64_t seed1 = -1;
    int64_t seed2 = -1;
    weir_scope_seeds(weir_root(graph), seed, &seed1, &seed2);
    assert_int_equal(seed1, expected1);
    assert_int_equal(seed2, expected2);
}

#define NO_SEED ((weir_seed){0})

static void seeds_follow_tensorflow(void **state)
{
    weir_graph *graph = *state;
    check_seeds(graph, NO_SEED, 0, 0);
    check_seeds(graph, WEIR_SEED(42), 87654321, 42);
    check_seeds(graph, WEIR_SEED(2147483647), 87654321, 0);
    check_seeds(graph, WEIR_SEED(-1), 87654321, 2147483646);
    weir_graph_set_seed(graph, 5);
    check_seeds(graph, NO_SEED, 5, 0);
    check_seeds(graph, NO_SEED, 5, 1);
    check_seeds(graph, WEIR_SEED(77), 5, 77);
    check_seeds(graph, NO_SEED, 5, 2);
    weir_graph_set_seed(graph, 6); /* goes on counting */
    check_seeds(graph, NO_SEED, 6, 3);
    check_seeds(graph, NO_SEED, 6, 4);
    weir_graph_set_seed(graph, -1);
    check_seeds(graph, NO_SEED, 2147483646, 5);
}

static void a_pair_of_zeros_is_replaced(void **state)
{
    weir_graph_set_seed(*state, 0);
    check_seeds(*state, NO_SEED, 0, 2147483647);
    check_seeds(*state, NO_SEED, 0, 1);
    check_seeds(*state, WEIR_SEED(0), 0, 2147483647);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(nodes_inside_wait_unless_an_input_does),
        GRAPH_TEST(outer_blocks_come_first),
        GRAPH_TEST(what_counts_is_where_an_input_was_made),
        GRAPH_TEST(blocks_can_be_forgotten),
        GRAPH_TEST(control_inputs_are_never_repeated),
        GRAPH_TEST(many_control_inputs_take_linear_time),
        GRAPH_TEST(a_block_of_what_failed_is_no_scope),
        GRAPH_TEST(values_are_inherited),
        GRAPH_TEST(owned_objects_go_with_the_graph),
        GRAPH_TEST(seeds_follow_tensorflow),
        GRAPH_TEST(a_pair_of_zeros_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
