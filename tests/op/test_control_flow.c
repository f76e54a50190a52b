/*
 * Ops that order and route: liveness through Switch and Merge, loops as far as shapes go, the gradient of a conditional
 * node by node as TensorFlow 2.21 builds it, and that every one of them can be built.
 *
 * Ops: NoOp ControlTrigger Switch Merge RefSwitch RefMerge Enter Exit NextIteration LoopCond RefEnter RefExit
 * RefNextIteration RefIdentity _Arg _Retval _Send _Recv _HostSend _HostRecv Const Placeholder PlaceholderV2
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/gradients.h>
#include <weir/ops.h>

#include "exec/kernel.h"
#include "graph/graph.h"
#include "support/compute.h"
#include "tensor/tensor.h"

#include <cmocka.h>

static weir_role role_of(weir_node *node)
{
    const weir_kernel *kernel = NULL;
    assert_non_null(node);
    assert_true(weir_ok(weir_kernel_find(node, &kernel)));
    return kernel->role;
}

static char *shape_text(weir_output output)
{
    static char text[WEIR_SHAPE_TEXT_SIZE];
    return weir_shape_text(weir_output_shape(output), text, sizeof text);
}

static void test_roles(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2));
    weir_output p = weir_placeholder(s, WEIR_BOOL, WEIR_SCALAR);
    weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(2));
    weir_attr key[] = {WEIR_ATTR_S("tensor_name", "t"), WEIR_ATTR_S("send_device", "/cpu:0"),
                       WEIR_ATTR_I("send_device_incarnation", 1), WEIR_ATTR_S("recv_device", "/cpu:1"),
                       WEIR_ATTR_T("tensor_type", WEIR_FLOAT)};
    weir_attr frame = WEIR_ATTR_S("frame_name", "f");
    assert_int_equal(role_of(weir_op(s, "NoOp")), WEIR_ROLE_NOTHING);
    assert_int_equal(role_of(weir_op(s, "ControlTrigger")), WEIR_ROLE_TRIGGER);
    assert_int_equal(role_of(weir_op(s, "Switch", WEIR_INPUTS(x, p))), WEIR_ROLE_SWITCH);
    assert_int_equal(role_of(weir_op(s, "RefSwitch", WEIR_INPUTS(v, p))), WEIR_ROLE_SWITCH);
    assert_int_equal(role_of(weir_op(s, "Merge", WEIR_INPUTS(x, x))), WEIR_ROLE_MERGE);
    assert_int_equal(role_of(weir_op(s, "RefMerge", WEIR_INPUTS(v, v))), WEIR_ROLE_MERGE);
    assert_int_equal(role_of(weir_op(s, "Enter", WEIR_INPUTS(x), WEIR_ATTRS(frame))), WEIR_ROLE_ENTER);
    assert_int_equal(role_of(weir_op(s, "RefEnter", WEIR_INPUTS(v), WEIR_ATTRS(frame))), WEIR_ROLE_ENTER);
    assert_int_equal(role_of(weir_op(s, "Exit", WEIR_INPUTS(x))), WEIR_ROLE_EXIT);
    assert_int_equal(role_of(weir_op(s, "RefExit", WEIR_INPUTS(v))), WEIR_ROLE_EXIT);
    assert_int_equal(role_of(weir_op(s, "NextIteration", WEIR_INPUTS(x))), WEIR_ROLE_NEXT_ITERATION);
    assert_int_equal(role_of(weir_op(s, "RefNextIteration", WEIR_INPUTS(v))), WEIR_ROLE_NEXT_ITERATION);
    assert_int_equal(role_of(weir_op(s, "LoopCond", WEIR_INPUTS(p))), WEIR_ROLE_LOOP_CONDITION);
    assert_int_equal(role_of(weir_op(s, "RefIdentity", WEIR_INPUTS(v))), WEIR_ROLE_PASS);
    assert_int_equal(role_of(weir_op(s, "_Arg", WEIR_ATTRS(WEIR_ATTR_T("T", WEIR_FLOAT), WEIR_ATTR_I("index", 0)))),
                     WEIR_ROLE_ARGUMENT);
    assert_int_equal(role_of(weir_op(s, "_Retval", WEIR_INPUTS(x), WEIR_ATTRS(WEIR_ATTR_I("index", 0)))),
                     WEIR_ROLE_RESULT);
    assert_int_equal(role_of(weir_op(s, "_Send", WEIR_INPUTS(x), .attrs = key, .num_attrs = 4)), WEIR_ROLE_SEND);
    assert_int_equal(role_of(weir_op(s, "_HostSend", WEIR_INPUTS(x), .attrs = key, .num_attrs = 4)), WEIR_ROLE_SEND);
    assert_int_equal(role_of(weir_op(s, "_Recv", .attrs = key, .num_attrs = 5)), WEIR_ROLE_RECEIVE);
    assert_int_equal(role_of(weir_op(s, "_HostRecv", .attrs = key, .num_attrs = 5)), WEIR_ROLE_RECEIVE);
    assert_int_equal(role_of(x.node), WEIR_ROLE_PLACEHOLDER);
    assert_int_equal(role_of(weir_const(s, WEIR_FLOATS(1, 2)).node), WEIR_ROLE_CONSTANT);
    assert_int_equal(
        role_of(weir_op(s, "PlaceholderV2",
                        WEIR_ATTRS(WEIR_ATTR_T("dtype", WEIR_FLOAT), WEIR_ATTR_SH("shape", WEIR_SHAPE(-1, 2))))),
        WEIR_ROLE_PLACEHOLDER);
    assert_true(weir_ok(weir_graph_error(graph)));
    weir_graph_free(graph);
}

static void test_constants_and_placeholders(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    computation c;
    computation_init(&c, graph, NULL);
    weir_output x = weir_const(s, WEIR_FLOATS(1, 2));
    weir_output p = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 2), .name = "p");
    weir_tensor *value = NULL;
    assert_true(weir_ok(computation_get(&c, x, &value)));
    assert_true(weir_tensor_floats(value)[1] == 2);
    assert_false(weir_ok(computation_get(&c, p, &value))); /* it must be fed */
    assert_string_equal(shape_text(p), "[?,2]");
    computation_clear(&c);
    weir_graph_free(graph);
}

static void test_shape_rules(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output a = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2, 3));
    weir_output b = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2, 4));
    weir_output c = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2));
    weir_output p = weir_placeholder(s, WEIR_BOOL, WEIR_SCALAR);
    weir_attr frame = WEIR_ATTR_S("frame_name", "f");
    assert_string_equal(shape_text(weir_out(weir_op(s, "Switch", WEIR_INPUTS(a, p)), 1)), "[2,3]");
    weir_node *merge = weir_op(s, "Merge", WEIR_INPUTS(a, b));
    assert_string_equal(shape_text(weir_out(merge, 0)), "[2,?]");
    assert_string_equal(shape_text(weir_out(merge, 1)), "[]");
    assert_string_equal(shape_text(weir_out(weir_op(s, "Merge", WEIR_INPUTS(a, c)), 0)), "<unknown>");
    assert_string_equal(shape_text(weir_out(weir_op(s, "Enter", WEIR_INPUTS(a), WEIR_ATTRS(frame)), 0)), "<unknown>");
    weir_attr constant[] = {frame, WEIR_ATTR_B("is_constant", true)};
    assert_string_equal(shape_text(weir_out(weir_op(s, "Enter", WEIR_INPUTS(a), .attrs = constant, .num_attrs = 2), 0)),
                        "[2,3]");
    assert_string_equal(shape_text(weir_out(weir_op(s, "Exit", WEIR_INPUTS(a)), 0)), "[2,3]");
    assert_true(weir_ok(weir_graph_error(graph)));
    weir_output wide = weir_placeholder(s, WEIR_BOOL, WEIR_SHAPE(2));
    assert_null(weir_op(s, "Switch", WEIR_INPUTS(a, wide)));
    weir_status status = weir_graph_take_error(graph);
    assert_non_null(strstr(weir_status_text(status), "Shape must be rank 0 but is rank 1"));
    weir_graph_free(graph);
}

/* ---- Conditionals ---- */

/* tf.cond(p, lambda: x * 2, lambda: x * w) and tf.cond(p, lambda: w, lambda: x), as TensorFlow 1 builds them. */
typedef struct conditional {
    weir_graph *graph;
    weir_scope scope;
    weir_output x, w, p, y, z;
    computation computation;
} conditional;

static weir_output switched(weir_scope s, const char *name, weir_output data, weir_output predicate, int side)
{
    weir_scope colocated = weir_colocated_with(s, data.node);
    return weir_out(weir_op(colocated, "Switch", WEIR_INPUTS(data, predicate), .name = name), side);
}

static void build_conditional(conditional *c, weir_shape shape)
{
    c->graph = weir_graph_new();
    weir_scope s = c->scope = weir_root(c->graph);
    computation_init(&c->computation, c->graph, NULL);
    c->x = weir_placeholder(s, WEIR_FLOAT, shape, .name = "x");
    c->w = weir_placeholder(s, WEIR_FLOAT, shape, .name = "w");
    c->p = weir_placeholder(s, WEIR_BOOL, WEIR_SCALAR, .name = "p");
    weir_node *pivot = weir_op(s, "Switch", WEIR_INPUTS(c->p, c->p), .name = "cond/Switch");
    weir_output taken = weir_identity(s, weir_out(pivot, 1), .name = "cond/switch_t");
    weir_identity(s, weir_out(pivot, 0), .name = "cond/switch_f");
    weir_output predicate = weir_identity(s, c->p, .name = "cond/pred_id");
    weir_output two = weir_const(weir_after(s, taken.node), WEIR_FLOAT_OF(2), .name = "cond/mul/y");
    weir_output then = weir_multiply(s, switched(s, "cond/mul/Switch", c->x, predicate, 1), two, .name = "cond/mul");
    weir_output otherwise = weir_multiply(s, switched(s, "cond/mul_1/Switch", c->x, predicate, 0),
                                          switched(s, "cond/mul_1/Switch_1", c->w, predicate, 0), .name = "cond/mul_1");
    c->y = weir_out(weir_op(s, "Merge", WEIR_INPUTS(otherwise, then), .name = "cond/Merge"), 0);
    weir_op(s, "Switch", WEIR_INPUTS(c->p, c->p), .name = "cond_1/Switch");
    weir_output again = weir_identity(s, c->p, .name = "cond_1/pred_id");
    weir_output passed =
        weir_identity(s, switched(s, "cond_1/Identity/Switch", c->w, again, 1), .name = "cond_1/Identity");
    weir_output plain = switched(s, "cond_1/Switch_1", c->x, again, 0);
    c->z = weir_out(weir_op(s, "Merge", WEIR_INPUTS(plain, passed), .name = "cond_1/Merge"), 0);
    assert_true(weir_ok(weir_graph_error(c->graph)));
}

static void close_conditional(conditional *c)
{
    computation_clear(&c->computation);
    weir_graph_free(c->graph);
}

static void feed(conditional *c, bool predicate)
{
    weir_tensor *x = NULL;
    weir_tensor *w = NULL;
    weir_tensor *p = NULL;
    assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){1, 2}, &x)));
    assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){3, 4}, &w)));
    assert_true(weir_ok(weir_tensor_from(WEIR_BOOL, WEIR_SCALAR, &predicate, &p)));
    computation_restart(&c->computation);
    computation_feed(&c->computation, c->x, x);
    computation_feed(&c->computation, c->w, w);
    computation_feed(&c->computation, c->p, p);
    weir_tensor_free(x);
    weir_tensor_free(w);
    weir_tensor_free(p);
}

static void expect(conditional *c, weir_output output, float a, float b)
{
    weir_tensor *value = NULL;
    weir_status status = computation_get(&c->computation, output, &value);
    if (!weir_ok(status))
        print_error("%s\n", weir_status_text(status));
    assert_true(weir_ok(status));
    assert_non_null(value);
    assert_true(weir_tensor_floats(value)[0] == a);
    assert_true(weir_tensor_floats(value)[1] == b);
}

static void test_conditional_values(void **state)
{
    conditional c;
    build_conditional(&c, WEIR_SHAPE(2));
    feed(&c, true);
    expect(&c, c.y, 2, 4);
    expect(&c, c.z, 3, 4);
    weir_tensor *dead = NULL;
    assert_true(weir_ok(computation_get(&c.computation, weir_out(weir_graph_find(c.graph, "cond/mul_1"), 0), &dead)));
    assert_null(dead);
    weir_tensor *index = NULL;
    assert_true(weir_ok(computation_get(&c.computation, weir_out(c.y.node, 1), &index)));
    assert_int_equal(weir_tensor_int32s(index)[0], 1);
    feed(&c, false);
    expect(&c, c.y, 3, 8);
    expect(&c, c.z, 1, 2);
    close_conditional(&c);
}

/* Node names, types, inputs and controls of the gradients, as real TensorFlow 2.21 printed them for this graph. */
static const char *const expected_nodes[] = {
    "gradients/cond/Merge_grad/cond_grad Switch gradients/grad_ys_0:0 cond/pred_id:0",
    "gradients/cond_1/Merge_grad/cond_grad Switch gradients/grad_ys_1:0 cond_1/pred_id:0",
    "gradients/cond/mul_1_grad/Mul Mul gradients/cond/Merge_grad/cond_grad:0 cond/mul_1/Switch_1:0",
    "gradients/cond/mul_grad/Mul Mul gradients/cond/Merge_grad/cond_grad:1 cond/mul/y:0",
    "gradients/Switch Switch x:0 cond_1/pred_id:0",
    "gradients/Identity Identity gradients/Switch:1",
    "gradients/Shape_2 Shape gradients/Switch:1",
    "gradients/zeros/Const Const ^gradients/Identity",
    "gradients/zeros Fill gradients/Shape_2:0 gradients/zeros/Const:0",
    "gradients/cond_1/Switch_1_grad/cond_grad Merge gradients/cond_1/Merge_grad/cond_grad:0 gradients/zeros:0",
    "gradients/Switch_1 Switch x:0 cond/pred_id:0",
    "gradients/cond/mul_1/Switch_grad/cond_grad Merge gradients/cond/mul_1_grad/Mul:0 gradients/zeros_1:0",
    "gradients/Switch_2 Switch w:0 cond/pred_id:0",
    "gradients/cond/mul_1/Switch_1_grad/cond_grad Merge gradients/cond/mul_1_grad/Mul_1:0 gradients/zeros_2:0",
    "gradients/Switch_3 Switch x:0 cond/pred_id:0",
    "gradients/Identity_3 Identity gradients/Switch_3:0",
    "gradients/cond/mul/Switch_grad/cond_grad Merge gradients/zeros_3:0 gradients/cond/mul_grad/Mul:0",
    "gradients/Switch_4 Switch w:0 cond_1/pred_id:0",
    "gradients/cond_1/Identity/Switch_grad/cond_grad Merge gradients/zeros_4:0 gradients/cond_1/Merge_grad/cond_grad:1",
    ("gradients/AddN AddN gradients/cond_1/Switch_1_grad/cond_grad:0 gradients/cond/mul_1/Switch_grad/cond_grad:0 "
     "gradients/cond/mul/Switch_grad/cond_grad:0"),
    ("gradients/AddN_1 AddN gradients/cond/mul_1/Switch_1_grad/cond_grad:0 "
     "gradients/cond_1/Identity/Switch_grad/cond_grad:0"),
};

static void describe(const weir_node *node, weir_text *text)
{
    weir_text_append(text, "%s %s", weir_node_name(node), weir_node_op(node));
    for (int i = 0; i < weir_node_num_inputs(node); i++)
        weir_text_append(text, " %s:%d", weir_node_name(weir_node_input(node, i).node), weir_node_input(node, i).index);
    for (int i = 0; i < weir_node_num_controls(node); i++)
        weir_text_append(text, " ^%s", weir_node_name(weir_node_control(node, i)));
}

static void test_conditional_gradients(void **state)
{
    conditional c;
    build_conditional(&c, WEIR_SHAPE(2));
    weir_gradient_value gradients[2];
    weir_gradients(c.scope, (weir_output[]){c.y, c.z}, 2, (weir_output[]){c.x, c.w}, 2, NULL, gradients);
    weir_status status = weir_graph_error(c.graph);
    if (!weir_ok(status))
        print_error("%s\n", weir_status_text(status));
    assert_true(weir_ok(status));
    for (size_t i = 0; i < sizeof expected_nodes / sizeof expected_nodes[0]; i++) {
        char name[128];
        assert_int_equal(sscanf(expected_nodes[i], "%127s", name), 1);
        const weir_node *node = weir_graph_find(c.graph, name);
        if (node == NULL)
            print_error("no node %s\n", name);
        assert_non_null(node);
        weir_text text = {0};
        describe(node, &text);
        assert_string_equal(weir_text_get(&text), expected_nodes[i]);
        weir_text_clear(&text);
    }
    feed(&c, true);
    expect(&c, gradients[0].values, 2, 2);
    expect(&c, gradients[1].values, 1, 1);
    feed(&c, false);
    expect(&c, gradients[0].values, 4, 5);
    expect(&c, gradients[1].values, 1, 2);
    close_conditional(&c);
}

/* A Merge that ends no conditional: the index says which input gets the gradient. */
static void test_gradient_without_conditional(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2), .name = "x");
    weir_output p = weir_placeholder(s, WEIR_BOOL, WEIR_SCALAR, .name = "p");
    weir_node *routed = weir_op(s, "Switch", WEIR_INPUTS(x, p));
    weir_output a = weir_multiply(s, weir_out(routed, 0), weir_const(s, WEIR_FLOAT_OF(2)));
    weir_output b = weir_multiply(s, weir_out(routed, 1), weir_const(s, WEIR_FLOAT_OF(3)));
    weir_output merged = weir_out(weir_op(s, "Merge", WEIR_INPUTS(b, a)), 0); /* true first: no conditional does that */
    weir_gradient_value gradient;
    weir_gradients(s, &merged, 1, &x, 1, NULL, &gradient);
    assert_true(weir_ok(weir_graph_error(graph)));
    assert_non_null(weir_graph_find(graph, "gradients/Merge_grad/Equal_1"));
    assert_non_null(weir_graph_find(graph, "gradients/Switch_grad/Merge"));
    computation c;
    computation_init(&c, graph, NULL);
    for (int predicate = 0; predicate < 2; predicate++) {
        weir_tensor *xs = NULL;
        weir_tensor *ps = NULL;
        weir_tensor *value = NULL;
        bool truth = predicate != 0;
        assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){1, 2}, &xs)));
        assert_true(weir_ok(weir_tensor_from(WEIR_BOOL, WEIR_SCALAR, &truth, &ps)));
        computation_restart(&c);
        computation_feed(&c, x, xs);
        computation_feed(&c, p, ps);
        assert_true(weir_ok(computation_get(&c, gradient.values, &value)));
        assert_true(weir_tensor_floats(value)[0] == (predicate ? 3 : 2));
        weir_tensor_free(xs);
        weir_tensor_free(ps);
    }
    computation_clear(&c);
    weir_graph_free(graph);
}

/* A conditional inside a branch: the outer Merge finds the outer predicate. */
static void test_nested_conditionals(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2), .name = "x");
    weir_output p = weir_placeholder(s, WEIR_BOOL, WEIR_SCALAR, .name = "p");
    weir_output q = weir_placeholder(s, WEIR_BOOL, WEIR_SCALAR, .name = "q");
    weir_node *outer = weir_op(s, "Switch", WEIR_INPUTS(x, p), .name = "outer");
    weir_output inner_predicate = weir_out(weir_op(s, "Switch", WEIR_INPUTS(q, p), .name = "q_in"), 1);
    weir_node *inner = weir_op(s, "Switch", WEIR_INPUTS(weir_out(outer, 1), inner_predicate), .name = "inner");
    weir_output low = weir_negative(s, weir_out(inner, 0));
    weir_output high = weir_square(s, weir_out(inner, 1));
    weir_output joined = weir_out(weir_op(s, "Merge", WEIR_INPUTS(low, high), .name = "inner_merge"), 0);
    weir_output plain = weir_identity(s, weir_out(outer, 0));
    weir_output y = weir_out(weir_op(s, "Merge", WEIR_INPUTS(plain, joined), .name = "outer_merge"), 0);
    weir_gradient_value gradient;
    weir_gradients(s, &y, 1, &x, 1, NULL, &gradient);
    assert_true(weir_ok(weir_graph_error(graph)));
    weir_node *outer_grad = weir_graph_find(graph, "gradients/outer_merge_grad/cond_grad");
    weir_node *inner_grad = weir_graph_find(graph, "gradients/inner_merge_grad/cond_grad");
    assert_non_null(outer_grad);
    assert_non_null(inner_grad);
    assert_string_equal(weir_node_name(weir_node_input(outer_grad, 1).node), "p");
    assert_string_equal(weir_node_name(weir_node_input(inner_grad, 1).node), "q_in");
    weir_graph_free(graph);
}

/* ---- Loops ---- */

static void test_gradient_of_a_loop_says_so(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SCALAR, .name = "x");
    weir_output enter = weir_out(weir_op(s, "Enter", WEIR_INPUTS(x), WEIR_ATTRS(WEIR_ATTR_S("frame_name", "f"))), 0);
    weir_node *merge = weir_op(s, "Merge", WEIR_INPUTS(enter, enter));
    weir_output going = weir_less(s, weir_out(merge, 0), weir_const(s, WEIR_FLOAT_OF(10)));
    weir_output condition = weir_out(weir_op(s, "LoopCond", WEIR_INPUTS(going)), 0);
    weir_node *routed = weir_op(s, "Switch", WEIR_INPUTS(weir_out(merge, 0), condition));
    weir_output doubled = weir_add(s, weir_out(routed, 1), weir_out(routed, 1));
    weir_node_set_back_edge(merge, 1, weir_out(weir_op(s, "NextIteration", WEIR_INPUTS(doubled)), 0));
    weir_output y = weir_out(weir_op(s, "Exit", WEIR_INPUTS(weir_out(routed, 0))), 0);
    assert_true(weir_ok(weir_graph_error(graph)));
    weir_gradient_value gradient;
    weir_gradients(s, &y, 1, &x, 1, NULL, &gradient);
    weir_status status = weir_graph_take_error(graph);
    assert_int_equal(status.code, WEIR_UNIMPLEMENTED);
    assert_non_null(strstr(weir_status_text(status), "Exit"));
    assert_null(gradient.values.node);
    weir_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_constants_and_placeholders),
        cmocka_unit_test(test_shape_rules),
        cmocka_unit_test(test_conditional_values),
        cmocka_unit_test(test_conditional_gradients),
        cmocka_unit_test(test_gradient_without_conditional),
        cmocka_unit_test(test_nested_conditionals),
        cmocka_unit_test(test_gradient_of_a_loop_says_so),
    };
    return cmocka_run_group_tests_name("control flow", tests, NULL, NULL);
}
