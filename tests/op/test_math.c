/*
 * Mathematical ops beyond their recorded values: the nodes that builders and gradients make (as TensorFlow 2.21 makes
 * them), shapes known in part, failures, strings, the state of random numbers, gradients of gradients by differences.
 */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weir/gradients.h>
#include <weir/ops.h>

#include "base/text.h"
#include "graph/graph.h"
#include "support/compute.h"
#include "tensor/tensor.h"

static void ok(weir_status status)
{
    if (!weir_ok(status))
        fail_msg("%s", weir_status_text(status));
}

static void fails(weir_status status, weir_code code, const char *text)
{
    assert_int_equal(status.code, code);
    if (strstr(weir_status_text(status), text) == NULL)
        fail_msg("'%s' does not hold '%s'", weir_status_text(status), text);
}

static weir_output input(weir_scope s, const char *name, weir_shape shape)
{
    return weir_placeholder(s, WEIR_FLOAT, shape, .name = name);
}

/* ---- What is built ---- */

/* The nodes from first on, one a line: "name Op(input,input:1,^control)". */
static void check_nodes(const weir_graph *graph, int first, const char *expected)
{
    weir_text text = {0};
    ok(weir_graph_error(graph));
    for (int i = first; i < weir_graph_num_nodes(graph); i++) {
        const weir_node *node = weir_graph_node(graph, i);
        weir_text_append(&text, "%s %s(", node->name, node->op->name);
        for (int j = 0; j < node->num_inputs; j++) {
            weir_text_append(&text, "%s%s", j > 0 ? "," : "", node->inputs[j].node->name);
            if (node->inputs[j].index > 0)
                weir_text_append(&text, ":%d", node->inputs[j].index);
        }
        for (int j = 0; j < node->num_controls; j++)
            weir_text_append(&text, "%s^%s", j + node->num_inputs > 0 ? "," : "", node->controls[j]->name);
        weir_text_append(&text, ")\n");
    }
    assert_string_equal(weir_text_get(&text), expected);
    weir_text_clear(&text);
}

/* Builds with x and y [2,3] in a new graph, and checks what came besides them. */
#define CHECK_BUILT(expected, ...)                                                                                     \
    do {                                                                                                               \
        weir_graph *graph = weir_graph_new();                                                                          \
        weir_scope s = weir_root(graph);                                                                               \
        weir_output x = input(s, "x", WEIR_SHAPE(2, 3));                                                               \
        weir_output y = input(s, "y", WEIR_SHAPE(2, 3));                                                               \
        (void)x, (void)y;                                                                                              \
        assert_non_null((__VA_ARGS__).node);                                                                           \
        check_nodes(graph, 2, expected);                                                                               \
        weir_graph_free(graph);                                                                                        \
    } while (0)

static weir_output divide_by_itself(weir_scope s, weir_output x)
{
    return weir_divide(s, x, x);
}

static void test_builders(void **state)
{
    CHECK_BUILT("Add AddV2(x,y)\n", weir_add(s, x, y));
    CHECK_BUILT("sum AddV2(x,y)\n", weir_add(s, x, y, .name = "sum"));
    CHECK_BUILT("truediv RealDiv(x,y)\n", weir_divide(s, x, y));
    CHECK_BUILT("floordiv FloorDiv(x,y)\n", weir_floor_div(s, x, y));
    CHECK_BUILT("Neg Neg(x)\n", weir_negative(s, x));
    CHECK_BUILT("", weir_cast(s, x, WEIR_FLOAT));
    CHECK_BUILT("", weir_add_n(s, &x, 1));
    CHECK_BUILT("AddN AddN(x,y)\n", weir_add_n(s, WEIR_OUTPUTS(x, y)));
    CHECK_BUILT("MatMul MatMul(x,y)\n", weir_matmul(s, x, y, .transpose_b = true));
    CHECK_BUILT("zeros_like Const()\n", weir_zeros_like(s, x));
    CHECK_BUILT("Cast Cast(x)\n"
                "truediv/Cast Cast(Cast)\n"
                "truediv/Cast_1 Cast(Cast)\n"
                "truediv RealDiv(truediv/Cast,truediv/Cast_1)\n",
                divide_by_itself(s, weir_cast(s, x, WEIR_INT32)));
}

static void test_composed_builders(void **state)
{
    CHECK_BUILT("clip_by_value/Minimum/y Const()\n"
                "clip_by_value/Minimum Minimum(x,clip_by_value/Minimum/y)\n"
                "clip_by_value/y Const()\n"
                "clip_by_value Maximum(clip_by_value/Minimum,clip_by_value/y)\n",
                weir_clip_by_value(s, x, 0, 1));
    CHECK_BUILT("Const Const()\n"
                "Sum Sum(x,Const)\n",
                weir_reduce_sum(s, x));
    CHECK_BUILT("m/reduction_indices Const()\n"
                "m Mean(x,m/reduction_indices)\n",
                weir_reduce_mean(s, x, .axes = WEIR_AXES(1), .name = "m"));
    CHECK_BUILT("ArgMax/dimension Const()\n"
                "ArgMax ArgMax(x,ArgMax/dimension)\n",
                weir_argmax(s, x, 1));
    CHECK_BUILT("Const Const()\n"
                "random_uniform/min Const()\n"
                "random_uniform/max Const()\n"
                "random_uniform/RandomUniform RandomUniform(Const)\n"
                "random_uniform/sub Sub(random_uniform/max,random_uniform/min)\n"
                "random_uniform/mul Mul(random_uniform/RandomUniform,random_uniform/sub)\n"
                "random_uniform AddV2(random_uniform/mul,random_uniform/min)\n",
                weir_random_uniform(s, weir_const(s, WEIR_INT32S(2, 3)), .minimum = -1, .maximum = 1));
    CHECK_BUILT("Const Const()\n"
                "random_uniform/RandomUniform RandomUniform(Const)\n",
                weir_random_uniform(s, weir_const(s, WEIR_INT32S(2, 3))));
}

/* Both gradients of an op of x and y, with g as what comes in. */
static void check_gradient_nodes(const char *op, weir_shape shape_x, weir_shape shape_y, const char *expected)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output x[2] = {input(s, "x", shape_x), input(s, "y", shape_y)};
    weir_output z = weir_out(weir_op(s, op, WEIR_INPUTS(x[0], x[1])), 0);
    weir_output g = input(s, "g", weir_output_shape(z));
    weir_gradient_value dx[2];
    int first = weir_graph_num_nodes(graph);
    weir_gradients(s, &z, 1, x, 2, &(weir_gradients_options){.size = sizeof(weir_gradients_options), .grad_ys = &g},
                   dx);
    weir_text seeded = {0};
    weir_text_append(&seeded, "gradients/grad_ys_0 Identity(g)\n%s", expected);
    check_nodes(graph, first, weir_text_get(&seeded));
    weir_text_clear(&seeded);
    weir_graph_free(graph);
}

static void test_gradient_nodes(void **state)
{
    check_gradient_nodes("Mul", WEIR_SHAPE(2, 3), WEIR_SHAPE(2, 3),
                         "gradients/Mul_grad/Mul Mul(gradients/grad_ys_0,y)\n"
                         "gradients/Mul_grad/Mul_1 Mul(gradients/grad_ys_0,x)\n");
    check_gradient_nodes(
        "AddV2", WEIR_SHAPE(2, 3), WEIR_SHAPE(3),
        "gradients/AddV2_grad/Shape Const()\n"
        "gradients/AddV2_grad/Shape_1 Const()\n"
        "gradients/AddV2_grad/Sum/reduction_indices Const()\n"
        "gradients/AddV2_grad/Sum Sum(gradients/grad_ys_0,gradients/AddV2_grad/Sum/reduction_indices)\n"
        "gradients/AddV2_grad/Reshape Reshape(gradients/AddV2_grad/Sum,gradients/AddV2_grad/Shape_1)\n");
    check_gradient_nodes(
        "Sub", WEIR_SHAPE(-1, 3), WEIR_SHAPE(-1, 3),
        "gradients/Sub_grad/Neg Neg(gradients/grad_ys_0)\n"
        "gradients/Sub_grad/Shape Shape(x)\n"
        "gradients/Sub_grad/Shape_1 Shape(y)\n"
        "gradients/Sub_grad/BroadcastGradientArgs BroadcastGradientArgs(gradients/Sub_grad/Shape,"
        "gradients/Sub_grad/Shape_1)\n"
        "gradients/Sub_grad/Sum Sum(gradients/grad_ys_0,gradients/Sub_grad/BroadcastGradientArgs)\n"
        "gradients/Sub_grad/Reshape Reshape(gradients/Sub_grad/Sum,gradients/Sub_grad/Shape)\n"
        "gradients/Sub_grad/Sum_1 Sum(gradients/Sub_grad/Neg,gradients/Sub_grad/BroadcastGradientArgs:1)\n"
        "gradients/Sub_grad/Reshape_1 Reshape(gradients/Sub_grad/Sum_1,gradients/Sub_grad/Shape_1)\n");
    check_gradient_nodes("MatMul", WEIR_SHAPE(-1, 3), WEIR_SHAPE(3, 4),
                         "gradients/MatMul_grad/MatMul MatMul(gradients/grad_ys_0,y)\n"
                         "gradients/MatMul_grad/MatMul_1 MatMul(x,gradients/grad_ys_0)\n");
    check_gradient_nodes("SquaredDifference", WEIR_SHAPE(2), WEIR_SHAPE(2),
                         "gradients/SquaredDifference_grad/scalar Const(^gradients/grad_ys_0)\n"
                         "gradients/SquaredDifference_grad/Mul Mul(gradients/SquaredDifference_grad/scalar,"
                         "gradients/grad_ys_0)\n"
                         "gradients/SquaredDifference_grad/sub Sub(x,y,^gradients/grad_ys_0)\n"
                         "gradients/SquaredDifference_grad/mul_1 Mul(gradients/SquaredDifference_grad/Mul,"
                         "gradients/SquaredDifference_grad/sub)\n"
                         "gradients/SquaredDifference_grad/Neg Neg(gradients/SquaredDifference_grad/mul_1)\n");
}

/* ---- Shapes known in part ---- */

static void check_shape(weir_output output, const char *expected)
{
    char text[WEIR_SHAPE_TEXT_SIZE];
    ok(weir_graph_error(weir_node_graph(output.node)));
    assert_string_equal(weir_shape_text(weir_output_shape(output), text, sizeof text), expected);
}

static void test_partial_shapes(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output rows = input(s, "rows", WEIR_SHAPE(-1, 3));
    weir_output any = input(s, "any", weir_shape_unknown());
    weir_output axes = weir_placeholder(s, WEIR_INT32, WEIR_SHAPE(-1));
    check_shape(weir_add(s, rows, input(s, "row", WEIR_SHAPE(3))), "[?,3]");
    check_shape(weir_add(s, rows, input(s, "column", WEIR_SHAPE(5, 1))), "[5,3]");
    check_shape(weir_add(s, rows, any), "<unknown>");
    check_shape(weir_reduce_sum(s, rows, .axes = WEIR_AXES(-1)), "[?]");
    check_shape(weir_reduce_sum(s, rows, .axes = WEIR_AXES(0), .keep_dims = true), "[1,3]");
    check_shape(weir_reduce_mean(s, any), "[]");
    check_shape(weir_out(weir_op(s, "Sum", WEIR_INPUTS(rows, axes)), 0), "<unknown>");
    check_shape(weir_out(weir_op(s, "Sum", WEIR_INPUTS(rows, axes), WEIR_ATTRS(WEIR_ATTR_B("keep_dims", true))), 0),
                "[?,?]");
    check_shape(weir_matmul(s, rows, input(s, "weights", WEIR_SHAPE(3, 7))), "[?,7]");
    check_shape(weir_matmul(s, input(s, "batch", WEIR_SHAPE(-1, 2, 3)), input(s, "more", WEIR_SHAPE(5, 3, 4))),
                "[5,2,4]");
    check_shape(weir_argmax(s, rows, 1), "[?]");
    weir_output labels = weir_placeholder(s, WEIR_INT64, WEIR_SHAPE(-1));
    check_shape(weir_sparse_softmax_cross_entropy(s, rows, labels), "[?]");
    check_shape(
        weir_softmax_cross_entropy(s, input(s, "cube", WEIR_SHAPE(2, -1, 3)), input(s, "cube", WEIR_SHAPE(2, -1, 3))),
        "[2,?]");
    weir_graph_free(graph);
}

/* ---- Failures ---- */

static void fails_to_build(weir_graph *graph, const char *text)
{
    fails(weir_graph_take_error(graph), WEIR_INVALID_ARGUMENT, text);
}

static void test_failures_while_building(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output x = input(s, "x", WEIR_SHAPE(2, 3));
    assert_null(weir_add(s, x, input(s, "y", WEIR_SHAPE(4))).node);
    fails_to_build(graph, "Dimensions must be equal, but are 3 and 4");
    assert_null(weir_reduce_sum(s, x, .axes = WEIR_AXES(2)).node);
    fails_to_build(graph, "Invalid reduction dimension 2 for input with 2 dimensions.");
    assert_null(weir_argmax(s, x, -3).node);
    fails_to_build(graph, "Dimension (-3) must be in the range [-2, 2)");
    assert_null(weir_matmul(s, x, x).node);
    fails_to_build(graph, "Dimensions must be equal, but are 3 and 2");
    assert_null(weir_bias_add(s, x, input(s, "bias", WEIR_SHAPE(2))).node);
    fails_to_build(graph, "Dimensions must be equal, but are 3 and 2");
    assert_null(weir_softmax(s, input(s, "scalar", WEIR_SCALAR)).node);
    fails_to_build(graph, "Shape must be at least rank 1 but is rank 0");
    assert_null(weir_sparse_softmax_cross_entropy(s, x, weir_const(s, WEIR_INT32_OF(1))).node);
    fails_to_build(graph, "`labels.shape.rank` must equal `logits.shape.rank - 1`");
    assert_null(weir_logical_not(s, x).node);
    fails_to_build(graph, "bool");
    weir_graph_free(graph);
}

/* What computing an output says. */
static weir_status computing(weir_output output)
{
    computation c;
    weir_tensor *value;
    computation_init(&c, weir_node_graph(output.node), NULL);
    weir_status status = computation_get(&c, output, &value);
    computation_clear(&c);
    return status;
}

static void test_failures_while_running(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output zero = weir_const(s, WEIR_INT32S(1, 0));
    weir_output bad = weir_const(s, WEIR_FLOATS(1, NAN));
    weir_output worse = weir_const(s, WEIR_FLOATS(INFINITY, NAN));
    weir_attr message = WEIR_ATTR_S("message", "loss");
    ok(weir_graph_error(graph));
    fails(computing(weir_floor_div(s, zero, zero)), WEIR_INVALID_ARGUMENT, "Integer division by zero");
    fails(computing(weir_pow(s, zero, weir_const(s, WEIR_INT32S(-1, -1)))), WEIR_INVALID_ARGUMENT,
          "Integers to negative integer powers are not allowed");
    fails(computing(weir_out(weir_op(s, "CheckNumerics", WEIR_INPUTS(bad), WEIR_ATTRS(message)), 0)),
          WEIR_INVALID_ARGUMENT, "loss : Tensor had NaN values");
    fails(computing(weir_out(weir_op(s, "CheckNumerics", WEIR_INPUTS(worse), WEIR_ATTRS(message)), 0)),
          WEIR_INVALID_ARGUMENT, "loss : Tensor had Inf and NaN values");
    ok(computing(
        weir_out(weir_op(s, "CheckNumerics", WEIR_INPUTS(weir_cast(s, zero, WEIR_FLOAT)), WEIR_ATTRS(message)), 0)));
    weir_output logits = weir_fill_const(s, WEIR_FLOAT, WEIR_SHAPE(2, 3), 0, "logits");
    fails(computing(weir_sparse_softmax_cross_entropy(s, logits, weir_const(s, WEIR_INT64S(1, 5)))),
          WEIR_INVALID_ARGUMENT,
          "Received a label value of 5 which is outside the valid range of [0, 3).  Label values: 1 5");
    weir_output twice = weir_out(weir_op(s, "Sum", WEIR_INPUTS(logits, weir_const(s, WEIR_INT32S(1, 1)))), 0);
    fails(computing(twice), WEIR_INVALID_ARGUMENT, "Axes contains duplicate dimension: 1");
    fails(computing(weir_random_uniform(s, weir_const(s, WEIR_INT32S(2)))), WEIR_FAILED_PRECONDITION, "");
    ok(weir_graph_error(graph));
    weir_graph_free(graph);
}

/* ---- Values ---- */

/* Computes one output; the caller frees the tensor. */
static weir_tensor *compute_with(weir_output output, test_session *session)
{
    computation c;
    weir_tensor *value = NULL;
    ok(weir_graph_error(weir_node_graph(output.node)));
    computation_init(&c, weir_node_graph(output.node), session);
    ok(computation_get(&c, output, &value));
    value = weir_tensor_ref(value);
    computation_clear(&c);
    return value;
}

static void check_bools(weir_output output, int count, const bool *expected)
{
    weir_tensor *value = compute_with(output, NULL);
    assert_int_equal(value->dtype, WEIR_BOOL);
    assert_int_equal(value->elements, count);
    assert_memory_equal(value->data, expected, (size_t)count);
    weir_tensor_free(value);
}

static void check_texts(weir_output output, int count, const char *const *expected)
{
    weir_tensor *value = compute_with(output, NULL);
    assert_int_equal(value->elements, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(weir_tensor_string_elements(value)[i].size, strlen(expected[i]));
        assert_memory_equal(weir_tensor_string_elements(value)[i].data, expected[i], strlen(expected[i]));
    }
    weir_tensor_free(value);
}

static weir_output texts(weir_scope s, int rows, int columns, const char *const *values)
{
    weir_const_value value = {.dtype = WEIR_STRING, .shape = {2, {rows, columns}}, .texts = values};
    return weir_const(s, value);
}

static void test_strings(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output row = texts(s, 1, 2, (const char *const[]){"a", "b"});
    weir_output column = texts(s, 2, 1, (const char *const[]){"a", "bc"});
    const bool truths[] = {true, false, false, true};
    weir_output condition = weir_const(s, WEIR_TENSOR_SHAPED(WEIR_BOOL, WEIR_SHAPE(2, 2), truths));
    check_bools(weir_equal(s, row, column), 4, (const bool[]){true, false, false, false});
    check_bools(weir_not_equal(s, row, weir_const(s, WEIR_STRING_OF("b"))), 2, (const bool[]){true, false});
    check_texts(weir_select(s, condition, row, column), 4, (const char *const[]){"a", "a", "bc", "b"});
    check_texts(weir_out(weir_op(s, "Add", WEIR_INPUTS(row, column)), 0), 4,
                (const char *const[]){"aa", "ba", "abc", "bbc"});
    weir_node *unequal =
        weir_op(s, "Equal", WEIR_INPUTS(weir_const(s, WEIR_INT32S(1, 2)), weir_const(s, WEIR_INT32S(1, 2, 3))),
                WEIR_ATTRS(WEIR_ATTR_B("incompatible_shape_error", false)));
    check_bools(weir_out(unequal, 0), 1, (const bool[]){false});
    weir_graph_free(graph);
}

/* Floats without a pattern that an error could hide in. */
static weir_output numbers(weir_scope s, weir_shape shape, float *elements)
{
    for (int64_t i = 0; i < weir_shape_elements(shape); i++)
        elements[i] = (float)((i * 37 + 11) % 23 - 11);
    return weir_const(s, WEIR_TENSOR_SHAPED(WEIR_FLOAT, shape, elements));
}

static void test_broadcast_products(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    float a[3 * 1 * 4 * 2 * 3], b[5 * 1 * 3 * 4];
    weir_output x = numbers(s, WEIR_SHAPE(3, 1, 4, 2, 3), a);
    weir_output y = numbers(s, WEIR_SHAPE(5, 1, 3, 4), b);
    weir_tensor *value = compute_with(weir_matmul(s, x, y), NULL); /* [3, 5, 4, 2, 4] */
    assert_true(weir_shape_equal(value->shape, WEIR_SHAPE(3, 5, 4, 2, 4)));
    for (int64_t i = 0; i < value->elements; i++) {
        int64_t n = i % 4, m = i / 4 % 2, inner = i / 8 % 4, middle = i / 32 % 5, outer = i / 160;
        float sum = 0;
        for (int64_t k = 0; k < 3; k++)
            sum += a[((outer * 4 + inner) * 2 + m) * 3 + k] * b[(middle * 3 + k) * 4 + n];
        assert_true(((const float *)value->data)[i] == sum);
    }
    weir_tensor_free(value);
    weir_graph_free(graph);
}

static void test_fused_product(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    float a[6], b[12], c[4];
    weir_output x = numbers(s, WEIR_SHAPE(2, 3), a);
    weir_output y = numbers(s, WEIR_SHAPE(3, 4), b);
    weir_output bias = numbers(s, WEIR_SHAPE(4), c);
    weir_output plain = weir_bias_add(s, weir_matmul(s, x, y), bias);
    const char *activations[] = {"Relu", "Tanh", NULL};
    weir_output expected[] = {weir_relu(s, plain), weir_tanh(s, plain), plain};
    for (int i = 0; i < 3; i++) {
        weir_bytes fused[] = {{"BiasAdd", 7}, {activations[i], 4}};
        weir_node *node = weir_op(s, "_FusedMatMul", WEIR_INPUTS(x, y, bias),
                                  WEIR_ATTRS(WEIR_ATTR_STRINGS("fused_ops", fused, i < 2 ? 2 : 1)));
        weir_tensor *value = compute_with(weir_out(node, 0), NULL);
        weir_tensor *wanted = compute_with(expected[i], NULL);
        for (int j = 0; j < 8; j++)
            assert_true(((float *)value->data)[j] == ((float *)wanted->data)[j]);
        weir_tensor_free(value);
        weir_tensor_free(wanted);
    }
    weir_graph_free(graph);
}

/* ---- Random numbers ---- */

static weir_tensor *draw(computation *c, weir_output output)
{
    weir_tensor *value;
    computation_restart(c);
    ok(computation_get(c, output, &value));
    return weir_tensor_ref(value);
}

static bool are_equal(weir_tensor *a, weir_tensor *b)
{
    bool is_equal = memcmp(a->data, b->data, a->size_bytes) == 0;
    weir_tensor_free(a);
    weir_tensor_free(b);
    return is_equal;
}

static void test_random_state(void **state)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output shape = weir_const(s, WEIR_INT32S(5, 3));
    weir_output seeded = weir_random_normal(s, shape, .seed = WEIR_SEED(7));
    weir_output same = weir_random_normal(s, shape, .seed = WEIR_SEED(7));
    weir_output free_one = weir_random_uniform(s, shape);
    weir_output free_two = weir_random_uniform(s, shape);
    test_session sessions[2];
    computation c[2];
    ok(weir_graph_error(graph));
    for (int i = 0; i < 2; i++) {
        test_session_init(&sessions[i]);
        computation_init(&c[i], graph, &sessions[i]);
    }
    weir_tensor *first = draw(&c[0], seeded);
    assert_false(are_equal(weir_tensor_ref(first), draw(&c[0], seeded))); /* the next run goes on */
    assert_true(are_equal(weir_tensor_ref(first), draw(&c[1], seeded)));  /* a new session begins again */
    assert_true(are_equal(first, draw(&c[0], same)));                     /* nodes are independent */
    assert_false(are_equal(draw(&c[0], free_one), draw(&c[1], free_one)));
    assert_false(are_equal(draw(&c[0], free_one), draw(&c[0], free_two)));
    for (int i = 0; i < 2; i++) {
        computation_clear(&c[i]);
        test_session_clear(&sessions[i]);
    }
    weir_graph_free(graph);
}

#define THREADS 4
#define DRAWS 200

typedef struct drawing {
    test_session *session;
    const weir_node *node;
    weir_tensor *shape;
    uint64_t drawn[DRAWS]; /* the bits of two floats */
} drawing;

static void *draw_many(void *argument)
{
    drawing *d = argument;
    weir_context context = {.session = &d->session->state};
    for (int i = 0; i < DRAWS; i++) {
        weir_tensor *value = NULL;
        if (!weir_ok(weir_evaluate_in(&context, d->node, &d->shape, NULL, &value)))
            return "failed";
        memcpy(&d->drawn[i], value->data, sizeof d->drawn[i]);
        weir_tensor_free(value);
    }
    return NULL;
}

static int compare_bits(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Runs at the same time take different parts of one sequence: no numbers come twice, none are left out. */
static void test_concurrent_draws(void **state)
{
    static drawing drawings[THREADS];
    static uint64_t all[2][THREADS * DRAWS];
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output output = weir_random_uniform(s, weir_const(s, WEIR_INT32S(2)), .seed = WEIR_SEED(3));
    test_session sessions[2];
    weir_tensor *shape;
    pthread_t threads[THREADS];
    ok(weir_graph_error(graph));
    ok(weir_tensor_from(WEIR_INT32, WEIR_SHAPE(1), (const int32_t[]){2}, &shape));
    for (int round = 0; round < 2; round++) {
        test_session_init(&sessions[round]);
        for (int i = 0; i < THREADS; i++) {
            drawings[i] = (drawing){&sessions[round], output.node, shape, {0}};
            if (round == 0)
                assert_int_equal(pthread_create(&threads[i], NULL, draw_many, &drawings[i]), 0);
            else
                assert_null(draw_many(&drawings[i]));
        }
        for (int i = 0; i < THREADS; i++) {
            void *result = NULL;
            if (round == 0)
                assert_int_equal(pthread_join(threads[i], &result), 0);
            assert_null(result);
            memcpy(all[round] + i * DRAWS, drawings[i].drawn, sizeof drawings[i].drawn);
        }
        qsort(all[round], THREADS * DRAWS, sizeof all[round][0], compare_bits);
        test_session_clear(&sessions[round]);
    }
    assert_memory_equal(all[0], all[1], sizeof all[0]);
    weir_tensor_free(shape);
    weir_graph_free(graph);
}

/* ---- Gradients of gradients ---- */

/* sum of op(a, b) * weights at the given values, and its gradients. */
static double weighted(const char *op, const double *a, const double *b, int n, double *da, double *db)
{
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    double weights[8];
    for (int i = 0; i < n; i++)
        weights[i] = 0.5 + i % 3;
    weir_output x[2] = {weir_const(s, WEIR_TENSOR_SHAPED(WEIR_DOUBLE, WEIR_SHAPE(n), a)),
                        weir_const(s, WEIR_TENSOR_SHAPED(WEIR_DOUBLE, WEIR_SHAPE(n), b))};
    weir_output g = weir_const(s, WEIR_TENSOR_SHAPED(WEIR_DOUBLE, WEIR_SHAPE(n), weights));
    weir_output y = weir_out(weir_op(s, op, WEIR_INPUTS(x[0], x[1])), 0);
    weir_tensor *value = compute_with(weir_reduce_sum(s, weir_multiply(s, y, g)), NULL);
    double sum = *(const double *)value->data;
    weir_tensor_free(value);
    if (da != NULL) {
        weir_gradient_value dx[2];
        double *to[2] = {da, db};
        weir_gradients(s, &y, 1, x, 2, &(weir_gradients_options){.size = sizeof(weir_gradients_options), .grad_ys = &g},
                       dx);
        for (int side = 0; side < 2; side++) {
            value = compute_with(dx[side].values, NULL);
            memcpy(to[side], value->data, (size_t)n * sizeof(double));
            weir_tensor_free(value);
        }
    }
    weir_graph_free(graph);
    return sum;
}

static void check_by_differences(const char *op)
{
    enum { N = 4 };
    const double step = 1e-5;
    double inputs[2][N] = {{0.3, 0.7, 1.2, 2.1}, {-0.8, 0.4, -1.5, 0.9}};
    double gradients[2][N];
    weighted(op, inputs[0], inputs[1], N, gradients[0], gradients[1]);
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < N; i++) {
            double kept = inputs[side][i];
            inputs[side][i] = kept + step;
            double above = weighted(op, inputs[0], inputs[1], N, NULL, NULL);
            inputs[side][i] = kept - step;
            double below = weighted(op, inputs[0], inputs[1], N, NULL, NULL);
            inputs[side][i] = kept;
            double slope = (above - below) / (2 * step);
            if (fabs(slope - gradients[side][i]) > 1e-7 * (1 + fabs(slope)))
                fail_msg("%s: gradient %d of input %d is %.10g, by differences %.10g", op, i, side, gradients[side][i],
                         slope);
        }
    }
}

static void test_gradients_of_gradients(void **state)
{
    const char *const ops[] = {"SqrtGrad", "RsqrtGrad",        "ReciprocalGrad", "SigmoidGrad",  "TanhGrad",
                               "ReluGrad", "Relu6Grad",        "EluGrad",        "SoftplusGrad", "DivNoNan",
                               "Pow",      "SquaredDifference"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        check_by_differences(ops[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builders),
        cmocka_unit_test(test_composed_builders),
        cmocka_unit_test(test_gradient_nodes),
        cmocka_unit_test(test_partial_shapes),
        cmocka_unit_test(test_failures_while_building),
        cmocka_unit_test(test_failures_while_running),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_broadcast_products),
        cmocka_unit_test(test_fused_product),
        cmocka_unit_test(test_random_state),
        cmocka_unit_test(test_concurrent_draws),
        cmocka_unit_test(test_gradients_of_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
