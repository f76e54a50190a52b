/*
 * What is known of shapes while a graph is built: arithmetic on shapes, and the flattenings of exported graphs.
 */
#include "graph_test.h"

#include "graph/infer_value.h"
#include "tensor/tensor.h"

static weir_output ints(weir_scope s, int count, const int32_t *values)
{
    return weir_const(s, WEIR_TENSOR_SHAPED(WEIR_INT32, weir_shape_of(1, &(int64_t){count}), values));
}

#define INTS(...) ints(s, (int)(sizeof((const int32_t[]){__VA_ARGS__}) / 4), (const int32_t[]){__VA_ARGS__})

static weir_output number(weir_scope s, int32_t value)
{
    return weir_const(s, WEIR_INT32_OF(value));
}

/* An unknown batch of images: [?,28,28,3]. */
static weir_output images(weir_scope s)
{
    return weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 28, 28, 3));
}

/* "[2,?]": the shape that an output holds. */
static void holds_shape(weir_output output, const char *expected)
{
    char text[WEIR_SHAPE_TEXT_SIZE];
    assert_non_null(output.node);
    assert_string_equal(weir_shape_text(weir_static_shape_value(output), text, sizeof text), expected);
}

/* The known values of an output: "3 -1", "scalar 5", or "unknown". */
static void holds(weir_output output, const char *expected)
{
    assert_non_null(output.node);
    WEIR_AUTO(weir_tensor) *tensor = weir_static_value(output);
    weir_text text = {0};
    if (tensor == NULL)
        weir_text_append(&text, "unknown");
    else if (tensor->shape.rank == 0)
        weir_text_append(&text, "scalar");
    for (int64_t i = 0; tensor != NULL && i < tensor->elements; i++)
        weir_text_append(&text, "%s%lld", text.length == 0 ? "" : " ", (long long)weir_tensor_get_int(tensor, i));
    assert_string_equal(weir_text_get(&text), expected);
    weir_text_clear(&text);
}

static weir_output op(weir_scope s, const char *name, weir_output a, weir_output b)
{
    return weir_out(weir_op(s, name, WEIR_INPUTS(a, b)), 0);
}

/* x[begin:end:step] of a vector, with masks. */
static weir_output sliced(weir_scope s, weir_output x, int begin, int end, int step, int begin_mask, int end_mask)
{
    return weir_strided_slice(s, x, INTS(begin), INTS(end), INTS(step), .begin_mask = begin_mask, .end_mask = end_mask);
}

static weir_output entry(weir_scope s, weir_output x, int index)
{
    return weir_strided_slice(s, x, INTS(index), INTS(index + 1), INTS(1), .shrink_axis_mask = 1);
}

static void shapes_are_known_as_far_as_inputs_are(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output x = images(s);
    weir_output known = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2, 3));
    weir_output none = weir_placeholder(s, WEIR_FLOAT, weir_shape_unknown());
    holds_shape(weir_shape_op(s, x), "[?,28,28,3]");
    holds_shape(weir_shape_op(s, none), "<unknown>");
    holds(weir_shape_op(s, x), "unknown");
    holds(weir_shape_op(s, known), "2 3");
    holds(weir_size(s, known), "scalar 6");
    holds(weir_size(s, x), "unknown");
    holds(weir_rank(s, x), "scalar 4");
    holds(weir_rank(s, none), "unknown");
    holds(INTS(4, -5), "4 -5");
    holds(weir_identity(s, INTS(4, 5)), "4 5");
    graph_is_ok(*state);
}

static void vectors_are_cut_and_joined(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output x = weir_shape_op(s, images(s));
    weir_output v = INTS(10, 11, 12, 13);
    holds_shape(sliced(s, x, 0, 2, 1, 0, 0), "[?,28]");
    holds_shape(sliced(s, x, 1, 0, 1, 0, 1), "[28,28,3]");
    holds_shape(sliced(s, x, 0, -1, 1, 1, 0), "[?,28,28]");
    holds(sliced(s, v, -2, 4, 1, 0, 0), "12 13");
    holds(sliced(s, v, 0, 100, 2, 0, 0), "10 12");
    holds(sliced(s, v, 0, 0, -1, 1, 1), "13 12 11 10");
    holds(sliced(s, v, 2, 0, -1, 0, 0), "12 11");
    holds(sliced(s, v, 3, 1, 1, 0, 0), "");
    holds(entry(s, v, 1), "scalar 11");
    holds(entry(s, x, 3), "scalar 3");
    holds(entry(s, x, 0), "unknown");
    holds(weir_concat(s, WEIR_OUTPUTS(v, INTS(1)), 0), "10 11 12 13 1");
    holds(weir_stack(s, WEIR_OUTPUTS(number(s, 7), entry(s, v, 0)), 0), "7 10");
    holds(weir_slice(s, v, INTS(1), INTS(2)), "11 12");
    holds(weir_slice(s, v, INTS(1), INTS(-1)), "11 12 13");
    holds(weir_gather(s, v, INTS(3, 0), 0), "13 10");
    holds(weir_gather(s, v, number(s, 2), 0), "scalar 12");
    holds(weir_expand_dims(s, number(s, 5), 0), "5");
    holds(op(s, "Reshape", number(s, 5), INTS(1)), "5");
    holds(op(s, "Reshape", v, INTS(-1)), "10 11 12 13");
    graph_is_ok(*state);
}

/* Two vectors on top of each other are no vector, and a stack of scalars no stack of vectors. */
static void matrices_are_not_taken_for_vectors(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output v = INTS(1, 2);
    weir_output stacked = weir_stack(s, WEIR_OUTPUTS(v, v), 0);
    holds(stacked, "unknown");
    holds_shape(stacked, "<unknown>");
    holds(op(s, "Reshape", v, INTS(2, 1)), "unknown");
}

static void arithmetic_is_done(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output x = weir_shape_op(s, images(s));
    weir_output v = INTS(-7, 8);
    holds(weir_multiply(s, v, number(s, 2)), "-14 16");
    holds(weir_add(s, v, v), "-14 16");
    holds(weir_subtract(s, v, INTS(1)), "-8 7");
    holds(weir_floor_div(s, v, number(s, 2)), "-4 4");
    holds(weir_maximum(s, v, number(s, 0)), "0 8");
    holds(weir_minimum(s, v, number(s, 0)), "-7 0");
    holds(weir_floor_div(s, v, number(s, 0)), "unknown");
    holds(weir_reduce_prod(s, v, .axes = WEIR_AXES(0)), "scalar -56");
    holds(weir_reduce_sum(s, v, .axes = WEIR_AXES(0), .keep_dims = true), "1");
    holds_shape(weir_multiply(s, x, number(s, 2)), "[?,56,56,6]");
    holds(weir_reduce_prod(s, x, .axes = WEIR_AXES(0)), "unknown");
    holds(weir_reduce_prod(s, sliced(s, x, 1, 4, 1, 0, 0), .axes = WEIR_AXES(0)), "scalar 2352");
    graph_is_ok(*state);
}

static void what_overflows_is_unknown(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output big = weir_const(s, WEIR_INT64S(INT64_MAX, INT64_MIN));
    holds(weir_multiply(s, big, weir_const(s, WEIR_INT64_OF(2))), "unknown");
    holds(weir_add(s, big, weir_const(s, WEIR_INT64_OF(1))), "unknown");
    holds(weir_floor_div(s, weir_const(s, WEIR_INT64S(INT64_MIN)), weir_const(s, WEIR_INT64_OF(-1))), "unknown");
    holds(weir_reduce_prod(s, big, .axes = WEIR_AXES(0)), "unknown");
    holds(weir_cast(s, weir_const(s, WEIR_INT64S(5000000000)), WEIR_INT32), "unknown");
    holds(weir_cast(s, weir_const(s, WEIR_INT64S(50)), WEIR_INT32), "50");
    holds(weir_multiply(s, INTS(INT32_MAX), number(s, 2)), "unknown");
    graph_is_ok(*state);
}

/* An unknown entry used as an index must not be taken for -1, the last one. */
static void unknown_entries_are_no_numbers(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output batch = weir_stack(s, WEIR_OUTPUTS(entry(s, weir_shape_op(s, images(s)), 0)), 0);
    weir_output v = INTS(1, 2, 3);
    weir_output cut = weir_strided_slice(s, v, batch, INTS(3), INTS(1));
    holds(cut, "unknown");
    holds_shape(cut, "<unknown>");
    holds(weir_slice(s, v, INTS(0), batch), "unknown");
    holds(weir_maximum(s, batch, INTS(-5)), "unknown");
    graph_is_ok(*state);
}

/* ---- Flattenings as exported graphs have them ---- */

/* TensorFlow knows no more either: the layer says the rest. */
static void flatten_of_layers_leaves_the_rest_open(void **state)
{
    weir_scope s = weir_in_scope(weir_root(*state), "flatten");
    weir_output x = images(s);
    weir_output batch = entry(s, weir_shape_op(s, x), 0);
    weir_output shape = weir_stack(s, WEIR_OUTPUTS(batch, number(s, -1)), 0, .name = "Reshape/shape");
    weir_output flat = op(s, "Reshape", x, shape);
    has_shape(flat, "[?,?]");
    weir_output_set_shape(flat, WEIR_SHAPE(-1, 2352));
    has_shape(weir_relu(s, flat), "[?,2352]");
    graph_is_ok(*state);
}

static void flatten_of_slim_is_known(void **state)
{
    weir_scope s = weir_in_scope(weir_root(*state), "Flatten");
    weir_output x = images(s);
    weir_output shape = weir_shape_op(s, x);
    weir_output batch = weir_slice(s, shape, INTS(0), INTS(1));
    weir_output rest = weir_reduce_prod(s, weir_slice(s, shape, INTS(1), INTS(3)), .axes = WEIR_AXES(0));
    weir_output flat = weir_concat(s, WEIR_OUTPUTS(batch, weir_expand_dims(s, rest, 0)), 0);
    has_shape(op(s, "Reshape", x, flat), "[?,2352]");
    graph_is_ok(*state);
}

static void dense_on_three_axes_is_known(void **state)
{
    weir_scope s = weir_in_scope(weir_root(*state), "Tensordot");
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 7, 5));
    weir_output shape = weir_shape_op(s, x);
    weir_output free_dims = weir_gather(s, shape, INTS(0, 1), 0);
    weir_output rows = weir_reduce_prod(s, free_dims, .axes = WEIR_AXES(0));
    weir_output columns = weir_reduce_prod(s, weir_gather(s, shape, INTS(2), 0), .axes = WEIR_AXES(0));
    weir_output matrix = op(s, "Reshape", x, weir_stack(s, WEIR_OUTPUTS(rows, columns), 0));
    has_shape(matrix, "[?,5]");
    weir_output product = weir_matmul(s, matrix, weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(5, 4)));
    weir_output out = op(s, "Reshape", product, weir_concat(s, WEIR_OUTPUTS(free_dims, INTS(4)), 0));
    has_shape(out, "[?,7,4]");
    graph_is_ok(*state);
}

/* ---- Graphs that mean harm ---- */

/* Each level doubles the paths to the constant: following all of them would take 2^60 steps. */
static void doubled_paths_end(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output v = INTS(1);
    for (int i = 0; i < 60; i++)
        v = weir_minimum(s, v, v);
    holds(v, "unknown");
    for (int i = 0; i < 2000; i++)
        v = weir_identity(s, v);
    holds(v, "unknown");
    graph_is_ok(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(shapes_are_known_as_far_as_inputs_are),
        GRAPH_TEST(vectors_are_cut_and_joined),
        GRAPH_TEST(matrices_are_not_taken_for_vectors),
        GRAPH_TEST(arithmetic_is_done),
        GRAPH_TEST(what_overflows_is_unknown),
        GRAPH_TEST(unknown_entries_are_no_numbers),
        GRAPH_TEST(flatten_of_layers_leaves_the_rest_open),
        GRAPH_TEST(flatten_of_slim_is_known),
        GRAPH_TEST(dense_on_three_axes_is_known),
        GRAPH_TEST(doubled_paths_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
