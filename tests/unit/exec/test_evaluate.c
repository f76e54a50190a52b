/*
 * Finding kernels, and computing one node by itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir/ops.h>

#include "exec/resource.h"
#include "support/compute.h"
#include "tensor/tensor.h"

#include <cmocka.h>

static weir_tensor *floats(const float *values, int64_t count)
{
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(count), values, &tensor)));
    return tensor;
}

static void test_kernel_of_types(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    const weir_kernel *plain = NULL;
    const weir_kernel *text = NULL;
    weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SCALAR);
    weir_output w = weir_variable_v2(s, WEIR_STRING, WEIR_SCALAR);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SCALAR);
    weir_output t = weir_placeholder(s, WEIR_STRING, WEIR_SCALAR);
    assert_true(weir_ok(weir_kernel_find(weir_assign(s, v, x).node, &plain)));
    assert_true(weir_ok(weir_kernel_find(weir_assign(s, w, t).node, &text)));
    assert_non_null(plain->bind);
    assert_null(plain->execute);
    assert_non_null(text->execute);
    weir_graph_free(graph);
}

static void test_no_kernel(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output v = weir_variable_v2(s, WEIR_QINT8, WEIR_SCALAR);
    weir_output x = weir_placeholder(s, WEIR_QINT8, WEIR_SCALAR);
    weir_output add = weir_assign_add(s, v, x, .name = "add");
    const weir_kernel *kernel = NULL;
    weir_status status = weir_kernel_find(add.node, &kernel);
    assert_int_equal(status.code, WEIR_UNIMPLEMENTED);
    const char *begin = "No OpKernel was registered to support Op 'AssignAdd' used by {{node add}} with these attrs: "
                        "[T=DT_QINT8]\nRegistered kernels:\n  device='CPU'; T in [DT_FLOAT";
    assert_memory_equal(weir_status_text(status), begin, strlen(begin));
    weir_tensor *output = NULL;
    assert_int_equal(weir_evaluate(add.node, (weir_tensor *[]){NULL, NULL}, &output).code, WEIR_UNIMPLEMENTED);
    weir_graph_free(graph);
}

/* A graph of 10,000 nodes is planned in a moment only if this is quick. */
static void test_finding_is_quick(void **state)
{
    enum { TIMES = 10000 };
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2));
    weir_node *nodes[] = {weir_add(s, x, x).node, weir_identity(s, x).node, weir_no_op(s, NULL),
                          weir_variable_v2(s, WEIR_FLOAT, WEIR_SCALAR).node};
    struct timespec begin;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < TIMES; i++) {
        const weir_kernel *kernel = NULL;
        assert_true(weir_ok(weir_kernel_find(nodes[i % 4], &kernel)));
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ms = (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
    print_message("%d kernels found in %.1f ms\n", TIMES, ms);
    assert_true(ms < 500);
    weir_graph_free(graph);
}

static void test_values(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1));
    weir_output y = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1));
    weir_node *add = weir_add(s, x, y).node;
    weir_node *same = weir_identity(s, x).node;
    weir_tensor *inputs[] = {floats((float[]){1, 2}, 2), floats((float[]){10, 20}, 2)};
    weir_tensor *output = NULL;
    assert_true(weir_ok(weir_evaluate(add, inputs, &output)));
    assert_true(weir_tensor_floats(output)[1] == 22);
    weir_tensor_free(output);
    assert_true(weir_ok(weir_evaluate(same, inputs, &output)));
    assert_ptr_equal(output, inputs[0]); /* passed, not copied */
    weir_tensor_free(output);
    /* The same memory under another shape. */
    weir_node *reshaped = weir_reshape(s, x, WEIR_SHAPE(1, 2)).node;
    weir_tensor *two[] = {inputs[0], NULL};
    weir_tensor *const *constant = &weir_node_find_attr(reshaped->inputs[1].node, "value")->tensor;
    two[1] = *constant;
    assert_true(weir_ok(weir_evaluate(reshaped, two, &output)));
    assert_int_equal(weir_tensor_rank(output), 2);
    assert_ptr_equal(output->data, inputs[0]->data);
    weir_tensor_free(output);
    for (int i = 0; i < 2; i++)
        weir_tensor_free(inputs[i]);
    weir_graph_free(graph);
}

static void test_what_cannot_be_evaluated(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    test_session session;
    test_session_init(&session);
    weir_context context = {.session = &session.state};
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1), .name = "x");
    weir_tensor *output = NULL;
    assert_int_equal(weir_evaluate(x.node, NULL, &output).code, WEIR_FAILED_PRECONDITION);
    weir_dtype type = WEIR_FLOAT;
    weir_node *queue = weir_op(
        s, "FIFOQueueV2", WEIR_ATTRS(WEIR_ATTR_TYPES("component_types", &type, 1), WEIR_ATTR_S("shared_name", "q")));
    weir_node *dequeue = weir_op(s, "QueueDequeueV2", WEIR_INPUTS(weir_out(queue, 0)),
                                 WEIR_ATTRS(WEIR_ATTR_TYPES("component_types", &type, 1)), .name = "take");
    weir_tensor *handle = NULL;
    assert_int_equal(weir_evaluate(queue, NULL, &handle).code, WEIR_FAILED_PRECONDITION); /* no session */
    assert_true(weir_ok(weir_evaluate_in(&context, queue, NULL, NULL, &handle)));
    assert_int_equal(weir_evaluate(dequeue, &handle, &output).code, WEIR_FAILED_PRECONDITION);
    weir_status status = weir_evaluate_in(&context, dequeue, &handle, NULL, &output);
    assert_int_equal(status.code, WEIR_FAILED_PRECONDITION);
    assert_string_equal(weir_status_text(status),
                        "Node 'take' (op QueueDequeueV2) would wait for queue 'q' to get 1 more element");
    weir_node *add = weir_add(s, x, x, .name = "sum").node;
    status = weir_evaluate(add, (weir_tensor *[]){NULL, NULL}, &output);
    assert_string_equal(weir_status_text(status), "Input 0 of node 'sum' (op AddV2) has no value");
    weir_tensor *integer = NULL;
    assert_true(weir_ok(weir_tensor_new(WEIR_INT32, WEIR_SHAPE(2), &integer)));
    status = weir_evaluate(add, (weir_tensor *[]){integer, integer}, &output);
    assert_string_equal(weir_status_text(status), "Input 0 of node 'sum' (op AddV2) must be float, not int32");
    weir_tensor_free(integer);
    weir_tensor_free(handle);
    test_session_clear(&session);
    weir_graph_free(graph);
}

/* A node that waits but finds what it needs is computed. */
static void test_waiting_node_that_need_not(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    test_session session;
    computation c;
    test_session_init(&session);
    computation_init(&c, graph, &session);
    weir_dtype type = WEIR_FLOAT;
    weir_attr types = WEIR_ATTR_TYPES("component_types", &type, 1);
    weir_output queue = weir_out(weir_op(s, "FIFOQueueV2", WEIR_ATTRS(types)), 0);
    weir_node *enqueue = weir_op(s, "QueueEnqueueV2", WEIR_INPUTS(queue, weir_const(s, WEIR_FLOATS(1, 2))));
    weir_node *dequeue = weir_op(s, "QueueDequeueV2", WEIR_INPUTS(queue), WEIR_ATTRS(types));
    weir_tensor *value = NULL;
    assert_true(weir_ok(computation_run(&c, enqueue)));
    assert_true(weir_ok(computation_get(&c, weir_out(dequeue, 0), &value)));
    assert_true(weir_tensor_floats(value)[1] == 2);
    computation_clear(&c);
    test_session_clear(&session);
    weir_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_of_types),          cmocka_unit_test(test_no_kernel),
        cmocka_unit_test(test_finding_is_quick),         cmocka_unit_test(test_values),
        cmocka_unit_test(test_what_cannot_be_evaluated), cmocka_unit_test(test_waiting_node_that_need_not),
    };
    return cmocka_run_group_tests_name("evaluate", tests, NULL, NULL);
}
