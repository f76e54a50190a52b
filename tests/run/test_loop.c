/*
 * Conditionals and loops as TensorFlow's graphs have them: Switch, Merge, Enter, Exit, NextIteration.
 */
#include "run_test.h"

/* while (i < n) { i += 1; x += x; }, as tf.while_loop builds it. What stands before the loop is built in before. */
static void build_doubling(weir_scope before, weir_scope s, weir_output n, weir_output x, const char *frame,
                           weir_output *count, weir_output *result)
{
    weir_attr name = {"frame_name", {.kind = WEIR_ATTR_STRING, .s = {frame, strlen(frame)}}};
    weir_attr constant[] = {name, WEIR_ATTR_B("is_constant", true)};
    weir_output limit = weir_out(weir_op(s, "Enter", WEIR_INPUTS(n), .attrs = constant, .num_attrs = 2), 0);
    weir_output zero = weir_const(before, WEIR_INT32_OF(0));
    weir_output enter_i = weir_out(weir_op(s, "Enter", WEIR_INPUTS(zero), .attrs = &name, .num_attrs = 1), 0);
    weir_output enter_x = weir_out(weir_op(s, "Enter", WEIR_INPUTS(x), .attrs = &name, .num_attrs = 1), 0);
    weir_node *merge_i = weir_op(s, "Merge", WEIR_INPUTS(enter_i, enter_i));
    weir_node *merge_x = weir_op(s, "Merge", WEIR_INPUTS(enter_x, enter_x));
    weir_output less = weir_less(s, weir_out(merge_i, 0), limit);
    weir_output again = weir_out(weir_op(s, "LoopCond", WEIR_INPUTS(less)), 0);
    weir_node *switch_i = weir_op(s, "Switch", WEIR_INPUTS(weir_out(merge_i, 0), again));
    weir_node *switch_x = weir_op(s, "Switch", WEIR_INPUTS(weir_out(merge_x, 0), again));
    weir_output body_i = weir_identity(s, weir_out(switch_i, 1));
    weir_output body_x = weir_identity(s, weir_out(switch_x, 1));
    weir_output one = weir_const(weir_after(s, body_i.node), WEIR_INT32_OF(1));
    weir_output next_i = weir_add(s, body_i, one);
    weir_output next_x = weir_add(s, body_x, body_x);
    weir_node_set_back_edge(merge_i, 1, weir_out(weir_op(s, "NextIteration", WEIR_INPUTS(next_i)), 0));
    weir_node_set_back_edge(merge_x, 1, weir_out(weir_op(s, "NextIteration", WEIR_INPUTS(next_x)), 0));
    *count = weir_out(weir_op(s, "Exit", WEIR_INPUTS(weir_out(switch_i, 0))), 0);
    *result = weir_out(weir_op(s, "Exit", WEIR_INPUTS(weir_out(switch_x, 0))), 0);
}

static void loops_run_as_often_as_asked(void **state)
{
    (void)state;
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output n = weir_placeholder(s, WEIR_INT32, WEIR_SCALAR, .name = "n");
    weir_output count = WEIR_NO_OUTPUT;
    weir_output result = WEIR_NO_OUTPUT;
    build_doubling(s, s, n, weir_const(s, WEIR_FLOATS(1, 3)), "loop", &count, &result);
    WEIR_AUTO(weir_session) *session = NULL;
    check_ok(weir_session_new(g, NULL, &session));
    for (int32_t times = 0; times < 21; times += 4) {
        WEIR_AUTO(weir_tensor) *limit = make_scalar(WEIR_INT32, &times);
        WEIR_AUTO(weir_tensor) *i = NULL;
        WEIR_AUTO(weir_tensor) *x = NULL;
        check_ok(weir_run(session, .feeds = {{n, limit}}, .fetches = {count, result}, .results = {&i, &x},
                          .timeout_ms = 20000));
        assert_int_equal(*weir_tensor_int32s(i), times);
        check_floats(x, (float[]){(float)(1 << times), (float)(3 << times)}, 2);
    }
}

/* A loop in a loop: the inner one's frame is another one in each iteration of the outer. */
static void loops_may_stand_in_loops(void **state)
{
    (void)state;
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output rounds = weir_placeholder(s, WEIR_INT32, WEIR_SCALAR);
    weir_attr name = WEIR_ATTR_S("frame_name", "outer");
    weir_attr constant[] = {name, WEIR_ATTR_B("is_constant", true)};
    weir_output limit = weir_out(weir_op(s, "Enter", WEIR_INPUTS(rounds), .attrs = constant, .num_attrs = 2), 0);
    weir_output start_i = weir_const(s, WEIR_INT32_OF(0));
    weir_output start_x = weir_const(s, WEIR_FLOATS(1));
    weir_output enter_i = weir_out(weir_op(s, "Enter", WEIR_INPUTS(start_i), .attrs = &name, .num_attrs = 1), 0);
    weir_output enter_x = weir_out(weir_op(s, "Enter", WEIR_INPUTS(start_x), .attrs = &name, .num_attrs = 1), 0);
    weir_node *merge_i = weir_op(s, "Merge", WEIR_INPUTS(enter_i, enter_i));
    weir_node *merge_x = weir_op(s, "Merge", WEIR_INPUTS(enter_x, enter_x));
    weir_output again = weir_out(weir_op(s, "LoopCond", WEIR_INPUTS(weir_less(s, weir_out(merge_i, 0), limit))), 0);
    weir_node *switch_i = weir_op(s, "Switch", WEIR_INPUTS(weir_out(merge_i, 0), again));
    weir_node *switch_x = weir_op(s, "Switch", WEIR_INPUTS(weir_out(merge_x, 0), again));
    weir_output body_i = weir_identity(s, weir_out(switch_i, 1));
    weir_output inner_count = WEIR_NO_OUTPUT;
    weir_output inner = WEIR_NO_OUTPUT;
    weir_scope body = weir_after(s, body_i.node);
    build_doubling(body, s, body_i, weir_identity(body, weir_out(switch_x, 1)), "inner", &inner_count, &inner);
    weir_output one = weir_const(body, WEIR_INT32_OF(1));
    weir_node_set_back_edge(merge_i, 1,
                            weir_out(weir_op(s, "NextIteration", WEIR_INPUTS(weir_add(s, body_i, one))), 0));
    weir_node_set_back_edge(merge_x, 1, weir_out(weir_op(s, "NextIteration", WEIR_INPUTS(inner)), 0));
    weir_output result = weir_out(weir_op(s, "Exit", WEIR_INPUTS(weir_out(switch_x, 0))), 0);
    WEIR_AUTO(weir_session) *session = NULL;
    check_ok(weir_session_new(g, NULL, &session));
    WEIR_AUTO(weir_tensor) *five = make_scalar(WEIR_INT32, &(int32_t){5});
    WEIR_AUTO(weir_tensor) *x = NULL;
    check_ok(weir_run(session, .feeds = {{rounds, five}}, .fetches = {result}, .results = {&x}, .timeout_ms = 20000));
    check_floats(x, (float[]){1024}, 1); /* 2^(0+1+2+3+4) */
}

/* A loop on the side of a conditional that is not taken does not run, and what follows is dead. */
static void loops_on_the_other_side_are_dead(void **state)
{
    (void)state;
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output p = weir_placeholder(s, WEIR_BOOL, WEIR_SCALAR);
    weir_output x = weir_const(s, WEIR_FLOATS(1, 1));
    weir_node *side = weir_op(s, "Switch", WEIR_INPUTS(x, p));
    weir_output n = weir_const(weir_after(s, weir_identity(s, weir_out(side, 1)).node), WEIR_INT32_OF(3));
    weir_output count = WEIR_NO_OUTPUT;
    weir_output doubled = WEIR_NO_OUTPUT;
    build_doubling(weir_after(s, n.node), s, n, weir_out(side, 1), "loop", &count, &doubled);
    weir_node *merged = weir_op(s, "Merge", WEIR_INPUTS(weir_negative(s, weir_out(side, 0)), doubled));
    WEIR_AUTO(weir_session) *session = NULL;
    check_ok(weir_session_new(g, NULL, &session));
    for (int taken = 0; taken < 2; taken++) {
        WEIR_AUTO(weir_tensor) *condition = make_scalar(WEIR_BOOL, &(bool){taken != 0});
        WEIR_AUTO(weir_tensor) *value = NULL;
        WEIR_AUTO(weir_tensor) *index = NULL;
        check_ok(weir_run(session, .feeds = {{p, condition}}, .fetches = {weir_out(merged, 0), weir_out(merged, 1)},
                          .results = {&value, &index}, .timeout_ms = 20000));
        check_floats(value, taken ? (float[]){8, 8} : (float[]){-1, -1}, 2);
        assert_int_equal(*weir_tensor_int32s(index), taken);
    }
}

static void the_side_not_taken_does_not_run(void **state)
{
    (void)state;
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_output p = weir_placeholder(s, WEIR_BOOL, WEIR_SCALAR);
    weir_output count = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(1), .name = "count");
    weir_output init = weir_assign(s, count, weir_const(s, WEIR_FLOATS(0)));
    weir_node *side = weir_op(s, "Switch", WEIR_INPUTS(p, p));
    weir_output one = weir_const(weir_after(s, weir_identity(s, weir_out(side, 1)).node), WEIR_FLOATS(1));
    weir_output counted = weir_assign_add(s, count, one);
    weir_output negative = weir_negative(s, one);
    WEIR_AUTO(weir_session) *session = NULL;
    check_ok(weir_session_new(g, NULL, &session));
    check_ok(weir_run(session, .targets = {init.node}));
    for (int taken = 0; taken < 2; taken++) {
        WEIR_AUTO(weir_tensor) *condition = make_scalar(WEIR_BOOL, &(bool){taken != 0});
        WEIR_AUTO(weir_tensor) *value = NULL;
        check_ok(weir_run(session, .feeds = {{p, condition}}, .targets = {counted.node}));
        check_ok(weir_run(session, .fetches = {count}, .results = {&value}));
        check_floats(value, (float[]){(float)taken}, 1);
        WEIR_AUTO(weir_tensor) *dead = NULL;
        if (!taken)
            check_fails(WEIR_INVALID_ARGUMENT, "side of a conditional that was not taken",
                        weir_run(session, .feeds = {{p, condition}}, .fetches = {negative}, .results = {&dead}));
    }
}

/* A variable's handle enters a loop, whose iterations write it; what comes after sees all of them. */
static void loops_may_write_variables(void **state)
{
    (void)state;
    WEIR_AUTO(weir_graph) *g = weir_graph_new();
    weir_scope s = weir_root(g);
    weir_attr dtype[] = {WEIR_ATTR_T("dtype", WEIR_FLOAT)};
    weir_attr variable[] = {WEIR_ATTR_T("dtype", WEIR_FLOAT), WEIR_ATTR_SH("shape", WEIR_SCALAR)};
    weir_attr name = WEIR_ATTR_S("frame_name", "loop");
    weir_attr constant[] = {name, WEIR_ATTR_B("is_constant", true)};
    weir_output handle = weir_out(weir_op(s, "VarHandleOp", .name = "v", .attrs = variable, .num_attrs = 2), 0);
    weir_output zero = weir_const(s, WEIR_INT32_OF(0));
    weir_output start = weir_const(s, WEIR_FLOAT_OF(100));
    weir_node *init = weir_op(s, "AssignVariableOp", WEIR_INPUTS(handle, start), .attrs = dtype, .num_attrs = 1);
    weir_output n = weir_placeholder(s, WEIR_INT32, WEIR_SCALAR);
    weir_output limit = weir_out(weir_op(s, "Enter", WEIR_INPUTS(n), .attrs = constant, .num_attrs = 2), 0);
    weir_output inside = weir_out(weir_op(s, "Enter", WEIR_INPUTS(handle), .attrs = constant, .num_attrs = 2), 0);
    weir_output enter = weir_out(weir_op(s, "Enter", WEIR_INPUTS(zero), .attrs = &name, .num_attrs = 1), 0);
    weir_node *merge = weir_op(s, "Merge", WEIR_INPUTS(enter, enter));
    weir_output again = weir_out(weir_op(s, "LoopCond", WEIR_INPUTS(weir_less(s, weir_out(merge, 0), limit))), 0);
    weir_node *side = weir_op(s, "Switch", WEIR_INPUTS(weir_out(merge, 0), again));
    weir_output i = weir_identity(s, weir_out(side, 1));
    weir_output amount = weir_cast(s, i, WEIR_FLOAT);
    weir_node *add = weir_op(s, "AssignAddVariableOp", WEIR_INPUTS(inside, amount), .attrs = dtype, .num_attrs = 1);
    weir_scope body = weir_after(s, add);
    weir_output next = weir_add(body, i, weir_const(weir_after(s, i.node), WEIR_INT32_OF(1)));
    weir_node_set_back_edge(merge, 1, weir_out(weir_op(s, "NextIteration", WEIR_INPUTS(next)), 0));
    weir_output count = weir_out(weir_op(s, "Exit", WEIR_INPUTS(weir_out(side, 0))), 0);
    weir_node *read =
        weir_op(weir_after(s, count.node), "ReadVariableOp", WEIR_INPUTS(handle), .attrs = dtype, .num_attrs = 1);
    WEIR_AUTO(weir_session) *session = NULL;
    check_ok(weir_session_new(g, NULL, &session));
    for (int32_t times = 0; times < 6; times++) {
        WEIR_AUTO(weir_tensor) *limits = make_scalar(WEIR_INT32, &times);
        WEIR_AUTO(weir_tensor) *value = NULL;
        check_ok(weir_run(session, .targets = {init}));
        check_ok(weir_run(session, .feeds = {{n, limits}}, .fetches = {weir_out(read, 0)}, .results = {&value},
                          .timeout_ms = 20000));
        int added = times * (times - 1) / 2;
        check_floats(value, (float[]){100 + (float)added}, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_run_as_often_as_asked),      cmocka_unit_test(loops_may_stand_in_loops),
        cmocka_unit_test(loops_on_the_other_side_are_dead), cmocka_unit_test(loops_may_write_variables),
        cmocka_unit_test(the_side_not_taken_does_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
