/*
 * What users meet when they run: feeds and fetches that are wrong, values of variables, order of reads and writes, limits of
 * caches and memory, numbers that are none. Texts are TensorFlow's where it has one.
 */
#include "run_test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "run/session.h"

typedef struct fixture {
    weir_graph *graph;
    weir_scope s;
    weir_session *session;
} fixture;

static fixture open_graph(void)
{
    fixture f = {.graph = weir_graph_new()};
    f.s = weir_root(f.graph);
    return f;
}

static void open_session(fixture *f)
{
    check_ok(weir_session_new(f->graph, NULL, &f->session));
}

static void close_all(fixture *f)
{
    weir_session_free(f->session);
    weir_graph_free(f->graph);
}

static float fetch_float(weir_session *session, weir_output output, weir_node *target)
{
    WEIR_AUTO(weir_tensor) *value = NULL;
    check_ok(weir_run(session, .fetches = {output}, .results = {&value}, .targets = {target}, .timeout_ms = 20000));
    return *weir_tensor_floats(value);
}

/* ---- Feeds and fetches ---- */

static void wrong_feeds_are_told(void **state)
{
    fixture f = open_graph();
    weir_output x = weir_placeholder(f.s, WEIR_FLOAT, WEIR_SHAPE(-1, 2), .name = "x");
    weir_output y = weir_placeholder(f.s, WEIR_FLOAT, WEIR_SCALAR, .name = "y");
    weir_output twice = weir_add(f.s, x, x);
    weir_output other = weir_negative(f.s, y);
    open_session(&f);
    WEIR_AUTO(weir_tensor) *wrong_shape = make_floats(WEIR_SHAPE(3), (float[]){1, 2, 3});
    WEIR_AUTO(weir_tensor) *wrong_type = make_scalar(WEIR_INT32, &(int32_t){1});
    WEIR_AUTO(weir_tensor) *good = make_floats(WEIR_SHAPE(1, 2), (float[]){1, 2});
    WEIR_AUTO(weir_tensor) *result = NULL;
    check_fails(WEIR_INVALID_ARGUMENT, "Cannot feed value of shape [3] for Tensor 'x:0', which has shape [?,2]",
                weir_run(f.session, .feeds = {{x, wrong_shape}}, .fetches = {twice}, .results = {&result}));
    check_fails(WEIR_INVALID_ARGUMENT, "'y:0' is float: it cannot be fed a value of type int32",
                weir_run(f.session, .feeds = {{y, wrong_type}}, .fetches = {other}, .results = {&result}));
    check_fails(WEIR_INVALID_ARGUMENT, "No value is given for the feed 'x:0'",
                weir_run(f.session, .feeds = {{x, NULL}}, .fetches = {twice}, .results = {&result}));
    check_fails(WEIR_INVALID_ARGUMENT,
                "You must feed a value for placeholder tensor 'x' with dtype float and shape [?,2]",
                weir_run(f.session, .fetches = {twice}, .results = {&result}));
    check_fails(WEIR_INVALID_ARGUMENT, "You must feed a value for placeholder tensor 'y' with dtype float",
                weir_run(f.session, .fetches = {other}, .results = {&result}));
    check_fails(WEIR_INVALID_ARGUMENT, "'x:0' is fed more than once",
                weir_run(f.session, .feeds = {{x, good}, {x, good}}, .fetches = {twice}, .results = {&result}));
    assert_null(result);
    check_ok(weir_run(f.session, .feeds = {{x, good}}, .fetches = {twice}, .results = {&result})); /* still usable */
    check_floats(result, (float[]){2, 4}, 2);
    close_all(&f);
}

static void wrong_fetches_are_told(void **state)
{
    fixture f = open_graph();
    weir_output one = weir_const(f.s, WEIR_FLOAT_OF(1), .name = "one");
    WEIR_AUTO(weir_graph) *foreign = weir_graph_new();
    weir_output alien = weir_const(weir_root(foreign), WEIR_FLOAT_OF(2), .name = "alien");
    open_session(&f);
    WEIR_AUTO(weir_tensor) *a = NULL;
    WEIR_AUTO(weir_tensor) *b = NULL;
    check_fails(WEIR_INVALID_ARGUMENT, "'alien'", weir_run(f.session, .fetches = {alien}, .results = {&a}));
    check_fails(WEIR_INVALID_ARGUMENT, "another graph", weir_run(f.session, .targets = {alien.node}));
    check_fails(WEIR_INVALID_ARGUMENT, "node 'one' (op Const) has 1 outputs, not output 3",
                weir_run(f.session, .fetches = {{one.node, 3}}, .results = {&a}));
    check_fails(WEIR_INVALID_ARGUMENT, "2 fetches but 1 results",
                weir_run(f.session, .fetches = {one, one}, .results = {&a}));
    check_fails(WEIR_INVALID_ARGUMENT, "1 fetches but 2 results",
                weir_run(f.session, .fetches = {one}, .results = {&a, &b}));
    check_fails(WEIR_INVALID_ARGUMENT, "0 fetches but 1 results", weir_run(f.session, .results = {&a}));
    weir_output null_output = WEIR_NO_OUTPUT;
    weir_run_arrays call = {.size = sizeof call, .fetches = &null_output, .num_fetches = 1, .results = &a};
    check_fails(WEIR_INVALID_ARGUMENT, "Fetch 0 is a null output", weir_run_with_arrays(f.session, &call));
    weir_node *null_node = NULL;
    call = (weir_run_arrays){.size = sizeof call, .targets = &null_node, .num_targets = 1};
    check_fails(WEIR_INVALID_ARGUMENT, "Target 0 is NULL", weir_run_with_arrays(f.session, &call));
    assert_null(a);
    assert_null(b);
    check_ok(weir_run(f.session, .targets = {NULL})); /* nothing to do is no mistake */
    check_ok(weir_run_with_arrays(f.session, &(weir_run_arrays){.size = sizeof call}));
    /* A call that failed while building: its reason comes with the run that uses its null output. */
    weir_output bad = weir_matmul(f.s, one, one);
    assert_null(bad.node);
    check_fails(WEIR_INVALID_ARGUMENT, "MatMul", weir_run(f.session, .fetches = {bad}, .results = {&a}));
    close_all(&f);
}

/* Fetches of what is fed, of constants, twice the same, and feeds of what is no placeholder. */
static void all_that_has_a_value_is_fetched_and_fed(void **state)
{
    fixture f = open_graph();
    weir_output x = weir_placeholder(f.s, WEIR_FLOAT, WEIR_SHAPE(2), .name = "x");
    weir_output c = weir_const(f.s, WEIR_FLOATS(5, 6), .name = "c");
    weir_output sum = weir_add(f.s, x, c);
    weir_output product = weir_multiply(f.s, sum, c);
    open_session(&f);
    WEIR_AUTO(weir_tensor) *value = make_floats(WEIR_SHAPE(2), (float[]){1, 2});
    weir_tensor *r[5] = {NULL};
    check_ok(weir_run(f.session, .feeds = {{x, value}}, .fetches = {x, c, sum, sum, product},
                      .results = {&r[0], &r[1], &r[2], &r[3], &r[4]}));
    check_floats(r[0], (float[]){1, 2}, 2);
    check_floats(r[1], (float[]){5, 6}, 2);
    check_floats(r[2], (float[]){6, 8}, 2);
    check_floats(r[3], (float[]){6, 8}, 2);
    check_floats(r[4], (float[]){30, 48}, 2);
    weir_tensor_floats(r[0])[0] = 77; /* a result is the caller's own */
    assert_true(weir_tensor_floats(value)[0] == 1);
    weir_tensor_floats(r[1])[0] = 77;
    for (int i = 0; i < 5; i++)
        weir_tensor_free(r[i]);
    /* Feeding an inner value cuts what is before it: x is not needed. */
    WEIR_AUTO(weir_tensor) *inner = make_floats(WEIR_SHAPE(2), (float[]){10, 20});
    WEIR_AUTO(weir_tensor) *out = NULL;
    check_ok(weir_run(f.session, .feeds = {{sum, inner}}, .fetches = {product}, .results = {&out}));
    check_floats(out, (float[]){50, 120}, 2);
    WEIR_AUTO(weir_tensor) *constant = make_floats(WEIR_SHAPE(2), (float[]){1, 1});
    WEIR_AUTO(weir_tensor) *replaced = NULL;
    check_ok(weir_run(f.session, .feeds = {{c, constant}, {x, value}}, .fetches = {product}, .results = {&replaced}));
    check_floats(replaced, (float[]){2, 3}, 2);
    WEIR_AUTO(weir_tensor) *again = NULL;
    check_ok(weir_run(f.session, .fetches = {c}, .results = {&again}));
    check_floats(again, (float[]){5, 6}, 2);
    close_all(&f);
}

/* ---- Variables ---- */

static void uninitialized_variables_are_named(void **state)
{
    fixture f = open_graph();
    weir_output v = weir_variable_v2(f.s, WEIR_FLOAT, WEIR_SHAPE(2), .name = "weights");
    weir_output sum = weir_add(f.s, v, v, .name = "sum");
    weir_output add = weir_assign_add(f.s, v, weir_const(f.s, WEIR_FLOATS(1, 1)), .name = "step");
    open_session(&f);
    WEIR_AUTO(weir_tensor) *a = NULL;
    check_fails(WEIR_FAILED_PRECONDITION, "Attempting to use uninitialized value weights",
                weir_run(f.session, .fetches = {sum}, .results = {&a}));
    check_fails(WEIR_FAILED_PRECONDITION, "{{node sum}}", weir_run(f.session, .fetches = {sum}, .results = {&a}));
    check_fails(WEIR_FAILED_PRECONDITION, "test_session.c:", weir_run(f.session, .fetches = {sum}, .results = {&a}));
    check_fails(WEIR_FAILED_PRECONDITION, "Attempting to use uninitialized value weights",
                weir_run(f.session, .targets = {add.node}));
    check_fails(WEIR_FAILED_PRECONDITION, "Attempting to use uninitialized value weights",
                weir_run(f.session, .fetches = {v}, .results = {&a}));
    close_all(&f);
}

/* A fetched variable has the value after all writes of the run, on every device. */
static void fetched_variables_have_their_last_value(void **state)
{
    for (int device = 0; device < 2; device++) {
        fixture f = open_graph();
        weir_scope s = weir_on_device(f.s, device ? "/gpu:0" : "/cpu:0");
        weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SCALAR, .name = "v");
        weir_output init = weir_assign(s, v, weir_const(s, WEIR_FLOAT_OF(1)));
        weir_output add = weir_assign_add(s, v, weir_const(s, WEIR_FLOAT_OF(10)));
        weir_session_options options = {.size = sizeof options, .sim_gpus = 1, .sim_delay_us = 200};
        check_ok(weir_session_new(f.graph, &options, &f.session));
        check_ok(weir_run(f.session, .targets = {init.node}));
        for (int i = 1; i <= 5; i++) {
            float value = fetch_float(f.session, v, add.node);
            if (value != (float)(10 * i + 1))
                fail_msg("device %d, run %d: %g", device, i, (double)value);
        }
        close_all(&f);
    }
}

/* Reads by reference alias: what consumes them sees the value when it runs. */
static void reads_by_reference_alias(void **state)
{
    fixture f = open_graph();
    weir_output v = weir_variable_v2(f.s, WEIR_FLOAT, WEIR_SCALAR, .name = "v");
    weir_output read = weir_identity(f.s, v, .name = "read");
    weir_output init = weir_assign(f.s, v, weir_const(f.s, WEIR_FLOAT_OF(1)));
    weir_output add = weir_assign_add(f.s, v, weir_const(f.s, WEIR_FLOAT_OF(10)));
    weir_scope after = weir_after(f.s, add.node);
    weir_output zero = weir_const(f.s, WEIR_FLOAT_OF(0));
    weir_output sum = weir_add(after, read, zero);
    /* The token of SyncReplicas: only the constant waits for the increment. */
    weir_output shape = weir_const(after, WEIR_INT32S(3));
    weir_output token = weir_out(weir_op(f.s, "Fill", WEIR_INPUTS(shape, read)), 0);
    weir_output before = weir_multiply(f.s, read, weir_const(f.s, WEIR_FLOAT_OF(2)));
    open_session(&f);
    check_ok(weir_run(f.session, .targets = {init.node}));
    WEIR_AUTO(weir_tensor) *a = NULL;
    WEIR_AUTO(weir_tensor) *b = NULL;
    WEIR_AUTO(weir_tensor) *c = NULL;
    check_ok(weir_run(f.session, .fetches = {sum, token, before}, .results = {&a, &b, &c}));
    check_floats(a, (float[]){11}, 1);
    check_floats(b, (float[]){11, 11, 11}, 3);
    check_floats(c, (float[]){2}, 1); /* nothing makes it wait: reads come before writes */
    close_all(&f);
}

/* A queue gets what the variable is when the element is put, not when it was read. */
static void what_is_put_after_a_write_is_new(void **state)
{
    fixture f = open_graph();
    weir_output v = weir_variable_v2(f.s, WEIR_FLOAT, WEIR_SCALAR, .name = "v");
    weir_output read = weir_identity(f.s, v, .name = "read");
    weir_output init = weir_assign(f.s, v, weir_const(f.s, WEIR_FLOAT_OF(1)));
    weir_output add = weir_assign_add(f.s, v, weir_const(f.s, WEIR_FLOAT_OF(10)));
    weir_dtype types[] = {WEIR_FLOAT};
    weir_attr attrs[] = {WEIR_ATTR_TYPES("component_types", types, 1)};
    weir_output queue = weir_out(weir_op(f.s, "FIFOQueueV2", .attrs = attrs, .num_attrs = 1), 0);
    weir_node *put = weir_op(weir_after(f.s, add.node), "QueueEnqueueV2", WEIR_INPUTS(queue, read));
    weir_node *get = weir_op(f.s, "QueueDequeueV2", WEIR_INPUTS(queue), .attrs = attrs, .num_attrs = 1);
    open_session(&f);
    check_ok(weir_run(f.session, .targets = {init.node}));
    check_ok(weir_run(f.session, .targets = {put}, .timeout_ms = 20000));
    check_ok(weir_run(f.session, .targets = {add.node})); /* the element does not change with the variable */
    assert_true(fetch_float(f.session, weir_out(get, 0), NULL) == 11);
    close_all(&f);
}

/* ReadVariableOp takes the value when it runs, whatever comes later. */
static void reads_by_handle_are_snapshots(void **state)
{
    fixture f = open_graph();
    weir_attr attrs[] = {WEIR_ATTR_T("dtype", WEIR_FLOAT), WEIR_ATTR_SH("shape", WEIR_SCALAR)};
    weir_attr dtype[] = {WEIR_ATTR_T("dtype", WEIR_FLOAT)};
    weir_output handle = weir_out(weir_op(f.s, "VarHandleOp", .name = "v", .attrs = attrs, .num_attrs = 2), 0);
    weir_output one = weir_const(f.s, WEIR_FLOAT_OF(1));
    weir_node *init = weir_op(f.s, "AssignVariableOp", WEIR_INPUTS(handle, one), .attrs = dtype, .num_attrs = 1);
    weir_output read = weir_out(weir_op(f.s, "ReadVariableOp", WEIR_INPUTS(handle), .attrs = dtype, .num_attrs = 1), 0);
    weir_output ten = weir_const(f.s, WEIR_FLOAT_OF(10));
    weir_node *add = weir_op(weir_after(f.s, read.node), "AssignAddVariableOp", WEIR_INPUTS(handle, ten),
                             .attrs = dtype, .num_attrs = 1);
    weir_output late = weir_add(weir_after(f.s, add), read, weir_const(f.s, WEIR_FLOAT_OF(0)));
    weir_output fresh = weir_out(
        weir_op(weir_after(f.s, add), "ReadVariableOp", WEIR_INPUTS(handle), .attrs = dtype, .num_attrs = 1), 0);
    open_session(&f);
    WEIR_AUTO(weir_tensor) *unread = NULL;
    check_fails(WEIR_FAILED_PRECONDITION, "v", weir_run(f.session, .fetches = {read}, .results = {&unread}));
    check_ok(weir_run(f.session, .targets = {init}));
    for (int i = 0; i < 3; i++) {
        WEIR_AUTO(weir_tensor) *a = NULL;
        WEIR_AUTO(weir_tensor) *b = NULL;
        WEIR_AUTO(weir_tensor) *c = NULL;
        check_ok(weir_run(f.session, .fetches = {read, late, fresh}, .results = {&a, &b, &c}));
        check_floats(a, (float[]){(float)(10 * i + 1)}, 1);
        check_floats(b, (float[]){(float)(10 * i + 1)}, 1);
        check_floats(c, (float[]){(float)(10 * i + 11)}, 1);
    }
    close_all(&f);
}

/* A handle goes through Switch and Merge of a conditional, as tf.cond passes it. */
static void handles_go_through_conditionals(void **state)
{
    fixture f = open_graph();
    weir_attr attrs[] = {WEIR_ATTR_T("dtype", WEIR_FLOAT), WEIR_ATTR_SH("shape", WEIR_SCALAR)};
    weir_attr dtype[] = {WEIR_ATTR_T("dtype", WEIR_FLOAT)};
    weir_output p = weir_placeholder(f.s, WEIR_BOOL, WEIR_SCALAR);
    weir_output handle = weir_out(weir_op(f.s, "VarHandleOp", .name = "v", .attrs = attrs, .num_attrs = 2), 0);
    weir_output one = weir_const(f.s, WEIR_FLOAT_OF(1));
    weir_node *init = weir_op(f.s, "AssignVariableOp", WEIR_INPUTS(handle, one), .attrs = dtype, .num_attrs = 1);
    weir_node *side = weir_op(f.s, "Switch", WEIR_INPUTS(handle, p));
    weir_output ten =
        weir_const(weir_after(f.s, weir_identity(f.s, weir_out(weir_op(f.s, "Switch", WEIR_INPUTS(p, p)), 1)).node),
                   WEIR_FLOAT_OF(10));
    weir_node *add =
        weir_op(f.s, "AssignAddVariableOp", WEIR_INPUTS(weir_out(side, 1), ten), .attrs = dtype, .num_attrs = 1);
    weir_output read = weir_out(
        weir_op(weir_after(f.s, add), "ReadVariableOp", WEIR_INPUTS(weir_out(side, 1)), .attrs = dtype, .num_attrs = 1),
        0);
    weir_output other =
        weir_out(weir_op(f.s, "ReadVariableOp", WEIR_INPUTS(weir_out(side, 0)), .attrs = dtype, .num_attrs = 1), 0);
    weir_output merged = weir_out(weir_op(f.s, "Merge", WEIR_INPUTS(weir_negative(f.s, other), read)), 0);
    open_session(&f);
    check_ok(weir_run(f.session, .targets = {init}));
    float wanted[] = {11, -11, 21, -21};
    for (int i = 0; i < 4; i++) {
        WEIR_AUTO(weir_tensor) *condition = make_scalar(WEIR_BOOL, &(bool){i % 2 == 0});
        WEIR_AUTO(weir_tensor) *value = NULL;
        check_ok(weir_run(f.session, .feeds = {{p, condition}}, .fetches = {merged}, .results = {&value},
                          .timeout_ms = 20000));
        check_floats(value, &wanted[i], 1);
    }
    close_all(&f);
}

/* A value fed in the place of a variable cannot be written. */
static void what_is_fed_for_a_variable_is_not_written(void **state)
{
    fixture f = open_graph();
    weir_output v = weir_variable_v2(f.s, WEIR_FLOAT, WEIR_SCALAR, .name = "v");
    weir_output add = weir_assign_add(f.s, v, weir_const(f.s, WEIR_FLOAT_OF(10)), .name = "add");
    weir_output sum = weir_add(f.s, v, weir_const(f.s, WEIR_FLOAT_OF(1)));
    open_session(&f);
    WEIR_AUTO(weir_tensor) *value = make_scalar(WEIR_FLOAT, &(float){5});
    WEIR_AUTO(weir_tensor) *result = NULL;
    check_ok(weir_run(f.session, .feeds = {{v, value}}, .fetches = {sum}, .results = {&result}));
    check_floats(result, (float[]){6}, 1);
    check_fails(WEIR_INVALID_ARGUMENT, "'add'", weir_run(f.session, .feeds = {{v, value}}, .targets = {add.node}));
    close_all(&f);
}

/* Where the graph leaves it open, reads come before writes, even where a read has to wait for another variable's write. */
static void reads_come_before_writes(void **state)
{
    fixture f = open_graph();
    weir_output v = weir_variable_v2(f.s, WEIR_FLOAT, WEIR_SCALAR, .name = "v");
    weir_output u = weir_variable_v2(f.s, WEIR_FLOAT, WEIR_SCALAR, .name = "u");
    weir_output one = weir_const(f.s, WEIR_FLOAT_OF(1));
    weir_node *init[] = {weir_assign(f.s, v, one).node, weir_assign(f.s, u, one).node};
    weir_output write_v = weir_assign_add(f.s, v, one);
    weir_output write_u = weir_assign_add(f.s, u, one);
    weir_output read_v = weir_multiply(weir_after(f.s, write_u.node), v, one);
    weir_output second = weir_assign(f.s, v, weir_const(f.s, WEIR_FLOAT_OF(50))); /* writes in the order of nodes */
    open_session(&f);
    check_ok(weir_run(f.session, .targets = {init[0], init[1]}));
    WEIR_AUTO(weir_tensor) *value = NULL;
    WEIR_AUTO(weir_tensor) *last = NULL;
    check_ok(weir_run(f.session, .targets = {write_v.node, second.node}, .fetches = {read_v, v},
                      .results = {&value, &last}));
    check_floats(value, (float[]){1}, 1);
    check_floats(last, (float[]){50}, 1);
    close_all(&f);
}

/* A side that is not taken takes along nobody who only has to come before or after it. */
static void sides_not_taken_leave_other_writes_alone(void **state)
{
    fixture f = open_graph();
    weir_output p = weir_placeholder(f.s, WEIR_BOOL, WEIR_SCALAR);
    weir_output v = weir_variable_v2(f.s, WEIR_FLOAT, WEIR_SCALAR, .name = "v");
    weir_output one = weir_const(f.s, WEIR_FLOAT_OF(1));
    weir_output init = weir_assign(f.s, v, one);
    weir_node *side = weir_op(f.s, "Switch", WEIR_INPUTS(one, p));
    weir_output read = weir_multiply(f.s, v, weir_out(side, 1));
    weir_output lost = weir_assign_sub(f.s, v, weir_out(side, 0));
    weir_output write = weir_assign_add(f.s, v, weir_const(f.s, WEIR_FLOAT_OF(10)));
    open_session(&f);
    float value = 1;
    for (int i = 0; i < 4; i++) {
        bool taken = i % 2 == 1;
        check_ok(weir_run(f.session, .targets = {init.node}));
        WEIR_AUTO(weir_tensor) *condition = make_scalar(WEIR_BOOL, &taken);
        check_ok(weir_run(f.session, .feeds = {{p, condition}}, .targets = {read.node, lost.node, write.node},
                          .timeout_ms = 20000));
        value = fetch_float(f.session, v, NULL);
        assert_true(value == (taken ? 11 : 10));
    }
    close_all(&f);
}

/* ---- What is fetched from a side not taken ---- */

static void values_of_earlier_runs_are_gone(void **state)
{
    fixture f = open_graph();
    weir_output p = weir_placeholder(f.s, WEIR_BOOL, WEIR_SCALAR);
    weir_output x = weir_const(f.s, WEIR_FLOATS(1, 2));
    weir_node *side = weir_op(f.s, "Switch", WEIR_INPUTS(x, p));
    weir_output negative = weir_negative(f.s, weir_out(side, 1));
    weir_output direct = weir_out(side, 1);
    open_session(&f);
    WEIR_AUTO(weir_step) *step = NULL;
    check_ok(weir_prepare(f.session, &step, .feeds = {p}, .feed_shapes = {WEIR_SCALAR}, .fetches = {negative, direct}));
    for (int i = 0; i < 6; i++) {
        bool taken = i % 2 == 0;
        WEIR_AUTO(weir_tensor) *condition = make_scalar(WEIR_BOOL, &taken);
        WEIR_AUTO(weir_tensor) *a = NULL;
        WEIR_AUTO(weir_tensor) *b = NULL;
        weir_status status = weir_run(f.session, .feeds = {{p, condition}}, .fetches = {negative}, .results = {&a});
        assert_int_equal(status.code, taken ? WEIR_OK : WEIR_INVALID_ARGUMENT);
        status = weir_run(f.session, .feeds = {{p, condition}}, .fetches = {direct}, .results = {&b});
        assert_int_equal(status.code, taken ? WEIR_OK : WEIR_INVALID_ARGUMENT);
        *weir_tensor_bytes(weir_step_feed(step, 0)) = taken;
        status = weir_step_run(step);
        assert_int_equal(status.code, taken ? WEIR_OK : WEIR_INVALID_ARGUMENT);
        if (taken)
            check_floats(weir_step_result(step, 0), (float[]){-1, -2}, 2);
    }
    weir_step_free(step);
    step = NULL;
    close_all(&f);
}

/* ---- Graphs that grow, sessions that share a graph ---- */

static void graphs_grow_between_runs(void **state)
{
    fixture f = open_graph();
    weir_output sum = weir_const(f.s, WEIR_FLOAT_OF(0));
    weir_output one = weir_const(f.s, WEIR_FLOAT_OF(1));
    open_session(&f);
    weir_session *second = NULL;
    check_ok(weir_session_new(f.graph, NULL, &second));
    for (int i = 1; i <= 50; i++) {
        sum = weir_add(f.s, sum, one);
        assert_true(fetch_float(f.session, sum, NULL) == (float)i);
        assert_true(fetch_float(second, sum, NULL) == (float)i);
    }
    /* Variables belong to the session. */
    weir_output v = weir_variable_v2(f.s, WEIR_FLOAT, WEIR_SCALAR, .name = "v");
    weir_output init = weir_assign(f.s, v, one);
    WEIR_AUTO(weir_tensor) *a = NULL;
    check_ok(weir_run(f.session, .targets = {init.node}));
    check_ok(weir_run(f.session, .fetches = {v}, .results = {&a}));
    WEIR_AUTO(weir_tensor) *b = NULL;
    check_fails(WEIR_FAILED_PRECONDITION, "uninitialized", weir_run(second, .fetches = {v}, .results = {&b}));
    weir_session_free(second);
    close_all(&f);
}

/* ---- Bounds ---- */

static void plans_are_bounded(void **state)
{
    fixture f = open_graph();
    weir_output x = weir_placeholder(f.s, WEIR_FLOAT, WEIR_SHAPE(-1));
    weir_output y[20];
    for (int i = 0; i < 20; i++)
        y[i] = weir_add(f.s, i > 0 ? y[i - 1] : x, x);
    weir_session_options options = {.size = sizeof options, .max_plans = 4, .max_layouts = 3};
    check_ok(weir_session_new(f.graph, &options, &f.session));
    WEIR_AUTO(weir_tensor) *value = make_floats(WEIR_SHAPE(2), (float[]){1, 2});
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20; i++) {
            WEIR_AUTO(weir_tensor) *result = NULL;
            check_ok(weir_run(f.session, .feeds = {{x, value}}, .fetches = {y[i]}, .results = {&result}));
            check_floats(result, (float[]){(float)(i + 2), (float)(2 * (i + 2))}, 2);
            assert_true(f.session->num_plans <= 4);
        }
    }
    for (int size = 1; size < 40; size++) {
        WEIR_AUTO(weir_tensor) *sized = NULL;
        WEIR_AUTO(weir_tensor) *result = NULL;
        check_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(size), &sized));
        check_ok(weir_run(f.session, .feeds = {{x, sized}}, .fetches = {y[19]}, .results = {&result}));
        const weir_run_state *run = f.session->plans->idle;
        assert_non_null(run);
        for (int s = 0; s < run->plan->num_segments; s++)
            assert_true(run->layouts[s].count <= 3);
    }
    close_all(&f);
}

/* With room for one layout, one that cannot be made does not take the good one along. */
static void a_shape_that_fails_leaves_the_session_usable(void **state)
{
    fixture f = open_graph();
    weir_output x = weir_placeholder(f.s, WEIR_FLOAT, WEIR_SHAPE(-1, -1));
    weir_output w = weir_const(f.s, WEIR_FLOATS(1, 2));
    weir_output y = weir_matmul(f.s, x, weir_reshape(f.s, w, WEIR_SHAPE(2, 1)));
    weir_session_options options = {.size = sizeof options, .max_layouts = 1};
    check_ok(weir_session_new(f.graph, &options, &f.session));
    WEIR_AUTO(weir_tensor) *good = make_floats(WEIR_SHAPE(1, 2), (float[]){3, 4});
    WEIR_AUTO(weir_tensor) *bad = make_floats(WEIR_SHAPE(2, 1), (float[]){3, 4});
    for (int i = 0; i < 3; i++) {
        WEIR_AUTO(weir_tensor) *a = NULL;
        WEIR_AUTO(weir_tensor) *b = NULL;
        check_ok(weir_run(f.session, .feeds = {{x, good}}, .fetches = {y}, .results = {&a}));
        check_floats(a, (float[]){11}, 1);
        check_fails(WEIR_INVALID_ARGUMENT, "[2,1]",
                    weir_run(f.session, .feeds = {{x, bad}}, .fetches = {y}, .results = {&b}));
    }
    close_all(&f);
}

static void empty_batches_run(void **state)
{
    fixture f = open_graph();
    weir_output x = weir_placeholder(f.s, WEIR_FLOAT, WEIR_SHAPE(-1, 3));
    weir_output w = weir_const(f.s, WEIR_FLOATS(1, 2, 3, 4, 5, 6));
    weir_output product = weir_matmul(f.s, x, weir_reshape(f.s, w, WEIR_SHAPE(3, 2)));
    weir_output h = weir_relu(f.s, weir_bias_add(f.s, product, weir_const(f.s, WEIR_FLOATS(1, 1))));
    weir_output sum = weir_reduce_sum(f.s, h);
    weir_output mean = weir_reduce_mean(f.s, h);
    weir_gradient_value gradient;
    weir_gradients(f.s, &sum, 1, &w, 1, NULL, &gradient);
    open_session(&f);
    WEIR_AUTO(weir_tensor) *none = NULL;
    check_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(0, 3), &none));
    weir_tensor *r[4] = {NULL};
    check_ok(weir_run(f.session, .feeds = {{x, none}}, .fetches = {h, sum, mean, gradient.values},
                      .results = {&r[0], &r[1], &r[2], &r[3]}));
    assert_int_equal(weir_tensor_dim(r[0], 0), 0);
    assert_int_equal(weir_tensor_dim(r[0], 1), 2);
    check_floats(r[1], (float[]){0}, 1);
    assert_true(isnan(*weir_tensor_floats(r[2])));
    check_floats(r[3], (float[]){0, 0, 0, 0, 0, 0}, 6);
    for (int i = 0; i < 4; i++)
        weir_tensor_free(r[i]);
    close_all(&f);
}

static void a_batch_larger_than_memory_is_told(void **state)
{
    fixture f = open_graph();
    weir_output x = weir_placeholder(f.s, WEIR_FLOAT, WEIR_SHAPE(-1, 1));
    weir_output square = weir_matmul(f.s, x, weir_transpose(f.s, x, (weir_axes){0}), .name = "square");
    weir_output sum = weir_reduce_sum(f.s, square);
    open_session(&f);
    WEIR_AUTO(weir_tensor) *large = NULL;
    check_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(3000000, 1), &large));
    WEIR_AUTO(weir_tensor) *result = NULL;
    check_fails(WEIR_RESOURCE_EXHAUSTED, "36000000000000",
                weir_run(f.session, .feeds = {{x, large}}, .fetches = {square}, .results = {&result}));
    weir_status status = weir_run(f.session, .feeds = {{x, large}}, .fetches = {sum}, .results = {&result});
    assert_int_equal(status.code, WEIR_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(weir_status_text(status), "bytes"));
    WEIR_AUTO(weir_tensor) *small = make_floats(WEIR_SHAPE(2, 1), (float[]){1, 2});
    check_ok(weir_run(f.session, .feeds = {{x, small}}, .fetches = {sum}, .results = {&result}));
    check_floats(result, (float[]){9}, 1);
    close_all(&f);
}

/* A variable whose shape changes keeps no more than what runs may be reading. */
static void variables_of_changing_shape_keep_little(void **state)
{
    fixture f = open_graph();
    weir_output x = weir_placeholder(f.s, WEIR_FLOAT, weir_shape_unknown());
    weir_output v = weir_variable_v2(f.s, WEIR_FLOAT, weir_shape_unknown(), .name = "v");
    weir_attr any_shape[] = {WEIR_ATTR_B("validate_shape", false)};
    weir_node *assign = weir_op(f.s, "Assign", WEIR_INPUTS(v, x), .attrs = any_shape, .num_attrs = 1);
    weir_output sum = weir_reduce_sum(f.s, weir_add(f.s, v, v));
    open_session(&f);
    WEIR_AUTO(weir_step) *step = NULL;
    for (int i = 0; i < 50; i++) {
        WEIR_AUTO(weir_tensor) *value = NULL;
        WEIR_AUTO(weir_tensor) *result = NULL;
        check_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(1 + i % 3, 2), &value));
        for (int k = 0; k < 2 * (1 + i % 3); k++)
            weir_tensor_floats(value)[k] = 1;
        check_ok(weir_run(f.session, .feeds = {{x, value}}, .targets = {assign}));
        check_ok(weir_run(f.session, .fetches = {sum}, .results = {&result}));
        check_floats(result, (float[]){(float)(4 * (1 + i % 3))}, 1);
        if (step == NULL)
            check_ok(weir_prepare(f.session, &step, .fetches = {sum}));
        check_ok(weir_step_run(step));
        check_floats(weir_step_result(step, 0), (float[]){(float)(4 * (1 + i % 3))}, 1);
        const weir_plan *plan = f.session->plans->plan;
        assert_int_equal(plan->resources.count, 1);
        assert_true(((weir_variable *)plan->resources.items[0])->retired.count <= 1);
    }
    weir_step_free(step);
    step = NULL;
    close_all(&f);
}

/* ---- Values that are wrong ---- */

static void wrong_values_name_node_and_value(void **state)
{
    fixture f = open_graph();
    weir_output labels = weir_placeholder(f.s, WEIR_INT32, WEIR_SHAPE(-1), .name = "labels");
    weir_output logits = weir_const(f.s, WEIR_FLOATS(1, 2, 3, 4, 5, 6));
    weir_output loss =
        weir_sparse_softmax_cross_entropy(f.s, weir_reshape(f.s, logits, WEIR_SHAPE(2, 3)), labels, .name = "loss");
    weir_output divisor = weir_placeholder(f.s, WEIR_INT32, WEIR_SHAPE(2), .name = "divisor");
    weir_output quotient = weir_out(
        weir_op(f.s, "FloorDiv", WEIR_INPUTS(weir_const(f.s, WEIR_INT32S(7, 8)), divisor), .name = "quotient"), 0);
    open_session(&f);
    WEIR_AUTO(weir_tensor) *bad = NULL;
    check_ok(weir_tensor_from(WEIR_INT32, WEIR_SHAPE(2), (int32_t[]){1, 9}, &bad));
    WEIR_AUTO(weir_tensor) *zero = NULL;
    check_ok(weir_tensor_from(WEIR_INT32, WEIR_SHAPE(2), (int32_t[]){2, 0}, &zero));
    WEIR_AUTO(weir_tensor) *result = NULL;
    weir_status status = weir_run(f.session, .feeds = {{labels, bad}}, .fetches = {loss}, .results = {&result});
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    assert_non_null(strstr(weir_status_text(status), "9"));
    assert_non_null(strstr(weir_status_text(status), "{{node loss/"));
    status = weir_run(f.session, .feeds = {{divisor, zero}}, .fetches = {quotient}, .results = {&result});
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    assert_non_null(strstr(weir_status_text(status), "ivision by zero"));
    assert_non_null(strstr(weir_status_text(status), "{{node quotient}}"));
    assert_null(result);
    close_all(&f);
}

static void stop_at_nan_names_the_op(void **state)
{
    fixture f = open_graph();
    weir_output x = weir_placeholder(f.s, WEIR_FLOAT, WEIR_SHAPE(-1), .name = "x");
    weir_output log = weir_log(f.s, x, .name = "the_log");
    weir_output y = weir_exp(f.s, log);
    weir_session_options options = {.size = sizeof options, .stop_at_nan = true};
    check_ok(weir_session_new(f.graph, &options, &f.session));
    WEIR_AUTO(weir_tensor) *good = make_floats(WEIR_SHAPE(2), (float[]){1, 1});
    WEIR_AUTO(weir_tensor) *bad = make_floats(WEIR_SHAPE(2), (float[]){1, 0});
    WEIR_AUTO(weir_tensor) *result = NULL;
    weir_status status = weir_run(f.session, .feeds = {{x, bad}}, .fetches = {y}, .results = {&result});
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    assert_non_null(strstr(weir_status_text(status), "'the_log' (op Log)"));
    assert_non_null(strstr(weir_status_text(status), "element 1"));
    assert_non_null(strstr(weir_status_text(status), "weir_softmax_cross_entropy"));
    check_ok(weir_run(f.session, .feeds = {{x, good}}, .fetches = {y}, .results = {&result}));
    check_floats(result, (float[]){1, 1}, 2);
    close_all(&f);
}

/* ---- Options ---- */

static void options_are_checked(void **state)
{
    fixture f = open_graph();
    weir_session *session = NULL;
    weir_session_options options = {.size = sizeof options, .timeout_ms = -1};
    check_fails(WEIR_INVALID_ARGUMENT, "timeout_ms is -1", weir_session_new(f.graph, &options, &session));
    options = (weir_session_options){.size = sizeof options, .disabled_passes = "fold,fusee"};
    check_fails(WEIR_INVALID_ARGUMENT, "did you mean 'fuse'", weir_session_new(f.graph, &options, &session));
    options = (weir_session_options){.size = sizeof options, .per_process_gpu_memory_fraction = 1.5};
    check_fails(WEIR_INVALID_ARGUMENT, "per_process_gpu_memory_fraction is 1.5",
                weir_session_new(f.graph, &options, &session));
    check_fails(WEIR_INVALID_ARGUMENT, "needs a graph", weir_session_new(NULL, NULL, &session));
    assert_null(session);
    close_all(&f);
}

/* _Send and _Recv of one session meet, in every run anew. */
static void sends_and_receives_meet_in_every_run(void **state)
{
    fixture f = open_graph();
    const char *device = "/job:localhost/replica:0/task:0/device:CPU:0";
    weir_attr send[] = {WEIR_ATTR_S("tensor_name", "t"), WEIR_ATTR_S("send_device", device),
                        WEIR_ATTR_I("send_device_incarnation", 1), WEIR_ATTR_S("recv_device", device)};
    weir_attr receive[] = {WEIR_ATTR_S("tensor_name", "t"), WEIR_ATTR_S("send_device", device),
                           WEIR_ATTR_I("send_device_incarnation", 1), WEIR_ATTR_S("recv_device", device),
                           WEIR_ATTR_T("tensor_type", WEIR_FLOAT)};
    weir_output x = weir_placeholder(f.s, WEIR_FLOAT, WEIR_SCALAR);
    weir_node *sender = weir_op(f.s, "_Send", WEIR_INPUTS(weir_negative(f.s, x)), .attrs = send, .num_attrs = 4);
    weir_output received = weir_out(weir_op(f.s, "_Recv", .attrs = receive, .num_attrs = 5), 0);
    open_session(&f);
    for (int i = 0; i < 5; i++) {
        WEIR_AUTO(weir_tensor) *value = make_scalar(WEIR_FLOAT, &(float){(float)i});
        WEIR_AUTO(weir_tensor) *result = NULL;
        check_ok(weir_run(f.session, .feeds = {{x, value}}, .fetches = {received}, .targets = {sender},
                          .results = {&result}, .timeout_ms = 20000));
        check_floats(result, (float[]){(float)-i}, 1);
    }
    close_all(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_feeds_are_told),
        cmocka_unit_test(wrong_fetches_are_told),
        cmocka_unit_test(all_that_has_a_value_is_fetched_and_fed),
        cmocka_unit_test(uninitialized_variables_are_named),
        cmocka_unit_test(fetched_variables_have_their_last_value),
        cmocka_unit_test(reads_by_reference_alias),
        cmocka_unit_test(what_is_put_after_a_write_is_new),
        cmocka_unit_test(reads_by_handle_are_snapshots),
        cmocka_unit_test(handles_go_through_conditionals),
        cmocka_unit_test(what_is_fed_for_a_variable_is_not_written),
        cmocka_unit_test(reads_come_before_writes),
        cmocka_unit_test(sides_not_taken_leave_other_writes_alone),
        cmocka_unit_test(values_of_earlier_runs_are_gone),
        cmocka_unit_test(graphs_grow_between_runs),
        cmocka_unit_test(plans_are_bounded),
        cmocka_unit_test(a_shape_that_fails_leaves_the_session_usable),
        cmocka_unit_test(empty_batches_run),
        cmocka_unit_test(a_batch_larger_than_memory_is_told),
        cmocka_unit_test(variables_of_changing_shape_keep_little),
        cmocka_unit_test(wrong_values_name_node_and_value),
        cmocka_unit_test(stop_at_nan_names_the_op),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(sends_and_receives_meet_in_every_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
