/*
 * Variables by reference and by handle: initialization, assignment, counting, shapes, failures; and the builders of order.
 * Values and texts are TensorFlow 2.21's.
 *
 * Ops: VariableV2 Variable IsVariableInitialized CountUpTo VarHandleOp ReadVariableOp VarIsInitializedOp VariableShape
 * DestroyResourceOp, besides those with recorded cases.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/gradients.h>
#include <weir/ops.h>

#include "graph/graph.h"
#include "support/compute.h"
#include "tensor/tensor.h"

#include <cmocka.h>

typedef struct fixture {
    weir_graph *graph;
    weir_scope scope;
    test_session session;
    computation computation;
} fixture;

static void open_fixture(fixture *f)
{
    f->graph = weir_graph_new();
    f->scope = weir_root(f->graph);
    test_session_init(&f->session);
    computation_init(&f->computation, f->graph, &f->session);
}

static void close_fixture(fixture *f)
{
    computation_clear(&f->computation);
    test_session_clear(&f->session);
    weir_graph_free(f->graph);
}

static void expect_text(weir_status status, weir_code code, const char *text)
{
    assert_string_equal(weir_status_text(status), text);
    assert_int_equal(status.code, code);
}

/* Computes an output anew. */
static weir_status compute(fixture *f, weir_output output, weir_tensor **out)
{
    assert_true(weir_ok(weir_graph_error(f->graph)));
    computation_restart(&f->computation);
    return computation_get(&f->computation, output, out);
}

static weir_status run(fixture *f, weir_node *node)
{
    assert_true(weir_ok(weir_graph_error(f->graph)));
    computation_restart(&f->computation);
    return computation_run(&f->computation, node);
}

static void expect_run(fixture *f, weir_node *node)
{
    weir_status status = run(f, node);
    if (!weir_ok(status))
        print_error("%s\n", weir_status_text(status));
    assert_true(weir_ok(status));
}

static void expect_floats(fixture *f, weir_output output, const float *expected, int64_t count)
{
    weir_tensor *value = NULL;
    weir_status status = compute(f, output, &value);
    if (!weir_ok(status))
        print_error("%s\n", weir_status_text(status));
    assert_true(weir_ok(status));
    assert_int_equal(weir_tensor_elements(value), count);
    for (int64_t i = 0; i < count; i++)
        assert_true(weir_tensor_floats(value)[i] == expected[i]);
}

static bool computed_bool(fixture *f, weir_output output)
{
    weir_tensor *value = NULL;
    assert_true(weir_ok(compute(f, output, &value)));
    return weir_tensor_bytes(value)[0] != 0;
}

#define FLOATS(...) (const float[]){__VA_ARGS__}, (int64_t)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float))

/* ---- By reference ---- */

static void test_assign_and_read(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output v = weir_variable_v2(f.scope, WEIR_FLOAT, WEIR_SHAPE(2), .name = "v");
    weir_output read = weir_identity(f.scope, v);
    weir_output assign = weir_assign(f.scope, v, weir_const(f.scope, WEIR_FLOATS(1, 2)));
    weir_output add = weir_assign_add(f.scope, v, weir_const(f.scope, WEIR_FLOATS(10, 20)));
    weir_output subtract = weir_assign_sub(f.scope, v, weir_const(f.scope, WEIR_FLOATS(1, 1)));
    weir_output initialized = weir_is_variable_initialized(f.scope, v);
    assert_string_equal(weir_node_name(assign.node), "Assign");
    assert_string_equal(weir_node_op(initialized.node), "IsVariableInitialized");
    assert_false(computed_bool(&f, initialized));
    weir_tensor *value = NULL;
    expect_text(compute(&f, read, &value), WEIR_FAILED_PRECONDITION, "Attempting to use uninitialized value v");
    expect_text(compute(&f, add, &value), WEIR_FAILED_PRECONDITION, "Attempting to use uninitialized value v");
    expect_floats(&f, assign, FLOATS(1, 2));
    assert_true(computed_bool(&f, initialized));
    expect_floats(&f, add, FLOATS(11, 22));
    expect_floats(&f, subtract, FLOATS(10, 21));
    expect_floats(&f, read, FLOATS(10, 21));
    expect_floats(&f, v, FLOATS(10, 21));
    close_fixture(&f);
}

/* Assigning in place keeps the address; another shape gets a new buffer, and the old one stays for who reads it. */
static void test_buffers(void **state)
{
    weir_variable *variable = NULL;
    weir_shape declared = weir_shape_unknown();
    assert_true(weir_ok(weir_variable_create("v", WEIR_FLOAT, &declared, weir_host_allocator(), &variable)));
    assert_false(weir_variable_is_initialized(variable));
    weir_shape two = WEIR_SHAPE(2);
    weir_shape three = WEIR_SHAPE(3);
    assert_true(weir_ok(weir_variable_assign(variable, WEIR_FLOAT, &two, (float[]){1, 2})));
    const float *first = variable->data;
    assert_true(weir_ok(weir_variable_assign(variable, WEIR_FLOAT, &two, (float[]){3, 4})));
    assert_ptr_equal(variable->data, first);
    assert_true(weir_ok(weir_variable_assign(variable, WEIR_FLOAT, &three, (float[]){5, 6, 7})));
    assert_ptr_not_equal(variable->data, first);
    assert_true(first[0] == 3); /* retired, not freed */
    assert_int_equal(variable->retired.count, 1);
    weir_variable_free_retired(variable);
    assert_int_equal(variable->retired.count, 0);
    weir_variable_uninitialize(variable);
    assert_false(weir_variable_is_initialized(variable));
    weir_shape none = WEIR_SHAPE(0);
    assert_true(weir_ok(weir_variable_assign(variable, WEIR_FLOAT, &none, NULL)));
    assert_true(weir_variable_is_initialized(variable)); /* also without elements */
    expect_text(weir_variable_assign(variable, WEIR_INT32, &none, NULL), WEIR_INVALID_ARGUMENT,
                "Variable v has type float, its new value type int32");
    weir_resource_unref(&variable->base);
}

static void test_shape_validation(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output v = weir_variable_v2(f.scope, WEIR_FLOAT, WEIR_SHAPE(2), .name = "v");
    weir_output x = weir_placeholder(f.scope, WEIR_FLOAT, weir_shape_unknown());
    weir_output assign = weir_assign(f.scope, v, x);
    weir_output any =
        weir_out(weir_op(f.scope, "Assign", WEIR_INPUTS(v, x), WEIR_ATTRS(WEIR_ATTR_B("validate_shape", false))), 0);
    weir_output add = weir_assign_add(f.scope, v, x);
    weir_tensor *three = NULL;
    assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(3), (float[]){1, 2, 3}, &three)));
    weir_tensor *value = NULL;
    computation_feed(&f.computation, x, three);
    expect_text(computation_get(&f.computation, assign, &value), WEIR_INVALID_ARGUMENT,
                "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]");
    assert_true(weir_ok(computation_get(&f.computation, any, &value)));
    assert_int_equal(weir_tensor_elements(value), 3);
    weir_tensor *two = NULL;
    assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){1, 2}, &two)));
    computation_restart(&f.computation);
    computation_feed(&f.computation, x, two);
    expect_text(computation_get(&f.computation, assign, &value), WEIR_INVALID_ARGUMENT,
                "Assign requires shapes of both tensors to match. lhs shape= [3] rhs shape= [2]");
    weir_status status = computation_get(&f.computation, add, &value);
    assert_non_null(strstr(weir_status_text(status), "Parameters and update must be the same size"));
    weir_tensor_free(two);
    weir_tensor_free(three);
    assert_null(weir_assign(f.scope, v, weir_const(f.scope, WEIR_FLOATS(1, 2, 3))).node);
    status = weir_graph_take_error(f.graph);
    assert_non_null(strstr(weir_status_text(status),
                           "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are "
                           "[2] and [3]."));
    close_fixture(&f);
}

static void test_strings(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output v = weir_variable_v2(f.scope, WEIR_STRING, WEIR_SCALAR, .name = "v");
    weir_output assign = weir_assign(f.scope, v, weir_const(f.scope, WEIR_STRING_OF("hello")));
    weir_output again = weir_assign(f.scope, v, weir_const(f.scope, WEIR_STRING_OF("good bye")));
    weir_tensor *value = NULL;
    assert_true(weir_ok(compute(&f, assign, &value)));
    assert_string_equal(weir_tensor_get_string(value, 0, NULL), "hello");
    assert_true(weir_ok(compute(&f, again, &value)));
    assert_string_equal(weir_tensor_get_string(value, 0, NULL), "good bye");
    close_fixture(&f);
}

static void test_old_variable_shapes(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_attr attrs[] = {WEIR_ATTR_T("dtype", WEIR_FLOAT), WEIR_ATTR_SH("shape", WEIR_SCALAR)};
    weir_attr vector[] = {WEIR_ATTR_T("dtype", WEIR_FLOAT), WEIR_ATTR_SH("shape", WEIR_SHAPE(3))};
    weir_node *scalar = weir_op(f.scope, "Variable", .attrs = attrs, .num_attrs = 2);
    weir_node *shaped = weir_op(f.scope, "Variable", .attrs = vector, .num_attrs = 2);
    weir_node *newer = weir_op(f.scope, "VariableV2", .attrs = attrs, .num_attrs = 2);
    assert_int_equal(weir_output_shape(weir_out(scalar, 0)).rank, WEIR_UNKNOWN_RANK); /* or a scalar: nobody knows */
    assert_int_equal(weir_output_shape(weir_out(shaped, 0)).dims[0], 3);
    assert_int_equal(weir_output_shape(weir_out(newer, 0)).rank, 0);
    assert_true(weir_dtype_is_ref(weir_output_dtype(weir_out(newer, 0))));
    close_fixture(&f);
}

static void test_count_up_to(void **state)
{
    for (int wide = 0; wide < 2; wide++) {
        fixture f;
        open_fixture(&f);
        weir_dtype dtype = wide ? WEIR_INT64 : WEIR_INT32;
        weir_output v = weir_variable_v2(f.scope, dtype, WEIR_SCALAR, .name = "c");
        weir_const_value one = wide ? WEIR_INT64_OF(1) : WEIR_INT32_OF(1);
        weir_output assign = weir_assign(f.scope, v, weir_const(f.scope, one));
        weir_node *count = weir_op(f.scope, "CountUpTo", WEIR_INPUTS(v), WEIR_ATTRS(WEIR_ATTR_I("limit", 3)));
        weir_tensor *value = NULL;
        expect_text(compute(&f, weir_out(count, 0), &value), WEIR_FAILED_PRECONDITION,
                    "Attempting to use uninitialized value c");
        expect_run(&f, assign.node);
        for (int expected = 1; expected <= 2; expected++) {
            assert_true(weir_ok(compute(&f, weir_out(count, 0), &value)));
            assert_int_equal(weir_tensor_get_int(value, 0), expected);
        }
        expect_text(compute(&f, weir_out(count, 0), &value), WEIR_OUT_OF_RANGE, "Reached limit of 3");
        close_fixture(&f);
    }
}

/* ---- By handle ---- */

static weir_output make_handle(weir_scope s, weir_shape shape, const char *name)
{
    return weir_out(weir_op(s, "VarHandleOp",
                            WEIR_ATTRS(WEIR_ATTR_T("dtype", WEIR_FLOAT), WEIR_ATTR_SH("shape", shape)), .name = name),
                    0);
}

static weir_output make_read(weir_scope s, weir_output handle)
{
    return weir_out(weir_op(s, "ReadVariableOp", WEIR_INPUTS(handle), WEIR_ATTRS(WEIR_ATTR_T("dtype", WEIR_FLOAT))), 0);
}

static void test_handles(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output v = make_handle(f.scope, WEIR_SHAPE(2), "v");
    weir_output read = make_read(f.scope, v);
    weir_output value = weir_const(f.scope, WEIR_FLOATS(1, 2));
    weir_node *assign = weir_op(f.scope, "AssignVariableOp", WEIR_INPUTS(v, value));
    weir_node *add = weir_op(f.scope, "AssignAddVariableOp", WEIR_INPUTS(v, value));
    weir_node *subtract = weir_op(f.scope, "AssignSubVariableOp", WEIR_INPUTS(v, value));
    weir_output initialized = weir_is_variable_initialized(f.scope, v);
    assert_string_equal(weir_node_op(initialized.node), "VarIsInitializedOp");
    weir_node *shape = weir_op(f.scope, "VariableShape", WEIR_INPUTS(v));
    weir_tensor *result = NULL;
    const char *missing =
        "Could not find variable v. This could mean that the variable has been deleted. In TF1, it can "
        "also mean the variable is uninitialized.";
    assert_false(computed_bool(&f, initialized));
    weir_status status = compute(&f, read, &result);
    assert_int_equal(status.code, WEIR_FAILED_PRECONDITION);
    assert_memory_equal(weir_status_text(status), missing, strlen(missing));
    assert_int_equal(run(&f, add).code, WEIR_FAILED_PRECONDITION);
    assert_int_equal(run(&f, shape).code, WEIR_FAILED_PRECONDITION);
    expect_run(&f, assign);
    assert_true(computed_bool(&f, initialized));
    expect_floats(&f, read, FLOATS(1, 2));
    expect_run(&f, add);
    expect_floats(&f, read, FLOATS(2, 4));
    expect_run(&f, subtract);
    expect_floats(&f, read, FLOATS(1, 2));
    assert_true(weir_ok(compute(&f, weir_out(shape, 0), &result)));
    assert_int_equal(weir_tensor_elements(result), 1);
    assert_int_equal(weir_tensor_int32s(result)[0], 2);
    close_fixture(&f);
}

/* A handle that is only known as a tensor works as well. */
static void test_handle_as_tensor(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output v = make_handle(f.scope, WEIR_SHAPE(2), "v");
    weir_output fed = weir_placeholder(f.scope, WEIR_RESOURCE, WEIR_SCALAR);
    weir_node *assign = weir_op(f.scope, "AssignVariableOp", WEIR_INPUTS(fed, weir_const(f.scope, WEIR_FLOATS(5, 6))));
    weir_tensor *handle = NULL;
    assert_true(weir_ok(compute(&f, v, &handle)));
    weir_tensor_ref(handle);
    weir_tensor *inputs[] = {handle, NULL};
    assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){5, 6}, &inputs[1])));
    assert_true(weir_ok(weir_evaluate_in(&f.computation.context, assign, inputs, NULL, NULL)));
    expect_floats(&f, make_read(f.scope, v), FLOATS(5, 6));
    weir_tensor_free(inputs[1]);
    weir_tensor_free(handle);
    close_fixture(&f);
}

static void test_handle_checks(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output v = make_handle(f.scope, WEIR_SHAPE(2), "v");
    weir_output x = weir_placeholder(f.scope, WEIR_FLOAT, weir_shape_unknown());
    weir_node *strict =
        weir_op(f.scope, "AssignVariableOp", WEIR_INPUTS(v, x), WEIR_ATTRS(WEIR_ATTR_B("validate_shape", true)));
    weir_node *any = weir_op(f.scope, "AssignVariableOp", WEIR_INPUTS(v, x));
    weir_node *add = weir_op(f.scope, "AssignAddVariableOp", WEIR_INPUTS(v, x));
    weir_tensor *two = NULL;
    weir_tensor *three = NULL;
    assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(2), (float[]){1, 2}, &two)));
    assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(3), (float[]){1, 2, 3}, &three)));
    computation_feed(&f.computation, x, two);
    assert_true(weir_ok(computation_run(&f.computation, strict)));
    computation_restart(&f.computation);
    computation_feed(&f.computation, x, three);
    expect_text(computation_run(&f.computation, strict), WEIR_INVALID_ARGUMENT,
                "Trying to assign to variable with tensor with wrong shape. Expected [2] got [3]");
    expect_text(computation_run(&f.computation, add), WEIR_INVALID_ARGUMENT,
                "Cannot update variable with shape [2] using a Tensor with shape [3], shapes must be equal.");
    assert_true(weir_ok(computation_run(&f.computation, any)));
    weir_tensor_free(two);
    weir_tensor_free(three);
    assert_int_equal(weir_output_shape(make_read(f.scope, v)).dims[0], 2);
    assert_null(weir_op(f.scope, "ReadVariableOp", WEIR_INPUTS(v), WEIR_ATTRS(WEIR_ATTR_T("dtype", WEIR_INT32))));
    weir_status status = weir_graph_take_error(f.graph);
    assert_non_null(
        strstr(weir_status_text(status), "Trying to read variable with wrong dtype. Expected float got int32"));
    close_fixture(&f);
}

static void test_destroy(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output v = make_handle(f.scope, WEIR_SHAPE(2), "v");
    weir_node *assign = weir_op(f.scope, "AssignVariableOp", WEIR_INPUTS(v, weir_const(f.scope, WEIR_FLOATS(1, 2))));
    weir_node *destroy = weir_op(f.scope, "DestroyResourceOp", WEIR_INPUTS(v));
    weir_node *strict =
        weir_op(f.scope, "DestroyResourceOp", WEIR_INPUTS(v), WEIR_ATTRS(WEIR_ATTR_B("ignore_lookup_error", false)));
    weir_output initialized = weir_is_variable_initialized(f.scope, v);
    expect_run(&f, destroy);
    assert_int_equal(run(&f, strict).code, WEIR_NOT_FOUND);
    expect_run(&f, assign);
    expect_run(&f, strict);
    assert_false(computed_bool(&f, initialized));
    expect_run(&f, assign);
    expect_floats(&f, make_read(f.scope, v), FLOATS(1, 2));
    close_fixture(&f);
}

/* Two nodes with one shared_name are one variable; a shared variable outlives a session. */
static void test_sharing(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_attr attrs[] = {WEIR_ATTR_T("dtype", WEIR_FLOAT), WEIR_ATTR_SH("shape", WEIR_SHAPE(2)),
                         WEIR_ATTR_S("shared_name", "w")};
    weir_output first = weir_out(weir_op(f.scope, "VarHandleOp", .attrs = attrs, .num_attrs = 3, .name = "a"), 0);
    weir_output second = weir_out(weir_op(f.scope, "VarHandleOp", .attrs = attrs, .num_attrs = 3, .name = "b"), 0);
    weir_node *assign =
        weir_op(f.scope, "AssignVariableOp", WEIR_INPUTS(first, weir_const(f.scope, WEIR_FLOATS(1, 2))));
    expect_run(&f, assign);
    expect_floats(&f, make_read(f.scope, second), FLOATS(1, 2));
    weir_session_state other;
    assert_true(weir_ok(weir_session_state_init(&other, &f.session.devices)));
    weir_variable *variable = NULL;
    assert_true(weir_ok(weir_node_variable(&other, first.node, weir_host_allocator(), &variable)));
    assert_true(weir_variable_is_initialized(variable));
    weir_resource_unref(&variable->base);
    weir_session_state_clear(&other);
    weir_attr wrong[] = {WEIR_ATTR_T("dtype", WEIR_INT32), WEIR_ATTR_SH("shape", WEIR_SHAPE(2)),
                         WEIR_ATTR_S("shared_name", "w")};
    weir_node *typed = weir_op(f.scope, "VarHandleOp", .attrs = wrong, .num_attrs = 3);
    expect_text(weir_node_variable(&f.session.state, typed, weir_host_allocator(), &variable), WEIR_INVALID_ARGUMENT,
                "Trying to read variable with wrong dtype. Expected int32 got float");
    close_fixture(&f);
}

/* d(v * x)/dv through ReadVariableOp arrives at the handle. */
static void test_gradient_of_read(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output v = make_handle(f.scope, WEIR_SHAPE(2), "v");
    weir_output x = weir_const(f.scope, WEIR_FLOATS(3, 4));
    weir_output y = weir_multiply(f.scope, make_read(f.scope, v), x);
    weir_gradient_value gradient;
    weir_gradients(f.scope, &y, 1, &v, 1, NULL, &gradient);
    assert_true(weir_ok(weir_graph_error(f.graph)));
    expect_run(&f, weir_op(f.scope, "AssignVariableOp", WEIR_INPUTS(v, x)));
    expect_floats(&f, gradient.values, FLOATS(3, 4));
    close_fixture(&f);
}

/* ---- Updates ---- */

static weir_output new_variable(fixture *f, const char *name, weir_const_value value)
{
    weir_output v = weir_variable_v2(f->scope, WEIR_FLOAT, value.shape, .name = name);
    expect_run(f, weir_assign(f->scope, v, weir_const(f->scope, value)).node);
    return v;
}

static void test_update_checks(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output v = new_variable(&f, "v", WEIR_FLOATS(1, 2));
    weir_output uninitialized = weir_variable_v2(f.scope, WEIR_FLOAT, WEIR_SHAPE(2), .name = "m");
    weir_output x = weir_placeholder(f.scope, WEIR_FLOAT, weir_shape_unknown());
    weir_output rate = weir_const(f.scope, WEIR_FLOAT_OF(1));
    weir_node *descend = weir_op(f.scope, "ApplyGradientDescent", WEIR_INPUTS(v, rate, x));
    weir_node *scalar =
        weir_op(f.scope, "ApplyGradientDescent", WEIR_INPUTS(v, x, weir_const(f.scope, WEIR_FLOATS(1, 2))));
    weir_node *momentum = weir_op(f.scope, "ApplyMomentum", WEIR_INPUTS(v, uninitialized, rate, x, rate));
    weir_tensor *three = NULL;
    assert_true(weir_ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(3), (float[]){1, 2, 3}, &three)));
    computation_restart(&f.computation);
    computation_feed(&f.computation, x, three);
    expect_text(computation_run(&f.computation, descend), WEIR_INVALID_ARGUMENT,
                "var and delta do not have the same shape[2] [3]");
    expect_text(computation_run(&f.computation, scalar), WEIR_INVALID_ARGUMENT, "alpha is not a scalar: [3]");
    expect_text(computation_run(&f.computation, momentum), WEIR_FAILED_PRECONDITION,
                "Attempting to use uninitialized value m");
    weir_tensor_free(three);
    assert_null(weir_op(f.scope, "ApplyGradientDescent", WEIR_INPUTS(v, weir_const(f.scope, WEIR_FLOATS(1)), rate)));
    weir_status status = weir_graph_take_error(f.graph);
    assert_non_null(strstr(weir_status_text(status), "Shape must be rank 0 but is rank 1"));
    close_fixture(&f);
}

/* One variable in two roles is locked once. */
static void test_variable_twice(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output v = new_variable(&f, "v", WEIR_FLOATS(1, 2));
    weir_output half = weir_const(f.scope, WEIR_FLOAT_OF(0.5f));
    weir_node *momentum =
        weir_op(f.scope, "ApplyMomentum", WEIR_INPUTS(v, v, half, weir_const(f.scope, WEIR_FLOATS(1, 1)), half));
    expect_run(&f, momentum);
    close_fixture(&f);
}

/* ---- Builders of order ---- */

static void expect_controls(const weir_node *node, const char *names)
{
    weir_text text = {0};
    for (int i = 0; i < weir_node_num_controls(node); i++)
        weir_text_append(&text, "%s%s", i > 0 ? " " : "", weir_node_name(weir_node_control(node, i)));
    assert_string_equal(weir_text_get(&text), names);
    weir_text_clear(&text);
}

static void test_group(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_node *a = weir_no_op(f.scope, "a");
    weir_node *b = weir_no_op(weir_on_device(f.scope, "/gpu:0"), "b");
    weir_node *d = weir_no_op(weir_on_device(f.scope, "/cpu:0"), "d");
    weir_node *one = weir_group(f.scope, &a, 1, NULL);
    assert_string_equal(weir_node_name(one), "group_deps");
    expect_controls(one, "a");
    weir_node *all[] = {a, b, d};
    weir_node *group = weir_group(f.scope, all, 3, NULL);
    assert_string_equal(weir_node_name(group), "group_deps_1");
    expect_controls(group, "group_deps_1/NoOp group_deps_1/NoOp_1 group_deps_1/NoOp_2");
    weir_node *second = weir_graph_find(f.graph, "group_deps_1/NoOp_1");
    assert_string_equal(weir_node_device(second), "/device:CPU:0");
    expect_controls(second, "d");
    assert_string_equal(weir_node_device(weir_graph_find(f.graph, "group_deps_1/NoOp_2")), "/device:GPU:0");
    assert_string_equal(weir_node_name(weir_group(f.scope, NULL, 0, NULL)), "group_deps_2");
    weir_node *named = weir_group(f.scope, &b, 1, "one");
    assert_string_equal(weir_node_name(named), "one");
    assert_string_equal(weir_node_device(named), "/device:GPU:0");
    close_fixture(&f);
}

static void test_with_dependency(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_node *a = weir_no_op(f.scope, "a");
    weir_output x = weir_const(weir_on_device(f.scope, "/cpu:0"), WEIR_FLOATS(1, 2), .name = "x");
    weir_output v = weir_variable_v2(f.scope, WEIR_FLOAT, WEIR_SHAPE(2), .name = "v");
    weir_output after = weir_with_dependency(f.scope, a, x, NULL);
    assert_string_equal(weir_node_name(after.node), "control_dependency");
    assert_string_equal(weir_node_op(after.node), "Identity");
    assert_string_equal(weir_node_device(after.node), "/device:CPU:0");
    expect_controls(after.node, "a");
    weir_attr_value group;
    assert_true(weir_node_attr(after.node, "_class", &group));
    assert_string_equal(group.list.s[0].data, "loc:@x");
    weir_output ref = weir_with_dependency(f.scope, a, v, "k");
    assert_string_equal(weir_node_name(ref.node), "k");
    assert_string_equal(weir_node_op(ref.node), "RefIdentity");
    assert_true(weir_dtype_is_ref(weir_output_dtype(ref)));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assign_and_read),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_shape_validation),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_old_variable_shapes),
        cmocka_unit_test(test_count_up_to),
        cmocka_unit_test(test_handles),
        cmocka_unit_test(test_handle_as_tensor),
        cmocka_unit_test(test_handle_checks),
        cmocka_unit_test(test_destroy),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_gradient_of_read),
        cmocka_unit_test(test_update_checks),
        cmocka_unit_test(test_variable_twice),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_with_dependency),
    };
    return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
