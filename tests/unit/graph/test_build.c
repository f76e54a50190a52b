/*
 * Building nodes: what an op's schema demands, errors that stick, and graphs that stay as they were.
 */
#include "graph_test.h"

/* The graph has a failure with these words, and as many nodes as before. */
static void refused(weir_graph *graph, weir_node *node, weir_code code, const char *words)
{
    assert_null(node);
    graph_failed(graph, code, words);
}

/* ---- Nodes as they should be ---- */

static void a_node_answers_what_it_was_built_with(void **state)
{
    weir_scope s = weir_on_device(weir_root(*state), "/cpu:0");
    weir_output a =
        weir_const(s, WEIR_TENSOR_SHAPED(WEIR_FLOAT, WEIR_SHAPE(2, 3), ((float[]){1, 2, 3, 4, 5, 6})), .name = "a");
    weir_output b = weir_const(s, WEIR_TENSOR_SHAPED(WEIR_FLOAT, WEIR_SHAPE(3, 1), ((float[]){1, 2, 3})), .name = "b");
    weir_node *node = weir_op(s, "MatMul", WEIR_INPUTS(a, b), .name = "m");
    graph_is_ok(*state);
    assert_string_equal(weir_node_name(node), "m");
    assert_string_equal(weir_node_op(node), "MatMul");
    assert_string_equal(weir_node_device(node), "/device:CPU:0");
    assert_int_equal(weir_node_num_inputs(node), 2);
    assert_ptr_equal(weir_node_input(node, 1).node, b.node);
    assert_null(weir_node_input(node, 2).node);
    assert_null(weir_node_input(node, -1).node);
    assert_int_equal(weir_node_num_outputs(node), 1);
    assert_null(weir_node_output(node, 1).node);
    assert_ptr_equal(weir_node_graph(node), *state);
    assert_int_equal(weir_output_dtype(weir_out(node, 0)), WEIR_FLOAT);
    has_shape(weir_out(node, 0), "[2,1]");
    weir_attr_value value;
    assert_true(weir_node_attr(node, "T", &value)); /* from the inputs */
    assert_int_equal(value.type, WEIR_FLOAT);
    assert_true(weir_node_attr(node, "transpose_a", &value)); /* default */
    assert_int_equal(value.kind, WEIR_ATTR_BOOL);
    assert_false(value.b);
    assert_false(weir_node_attr(node, "none", &value));
    assert_ptr_equal(weir_graph_find(*state, "m"), node);
    assert_ptr_equal(weir_graph_node(*state, 2), node);
    assert_null(weir_graph_node(*state, 3));
}

static void null_answers_nothing(void **state)
{
    weir_attr_value value;
    assert_string_equal(weir_node_name(NULL), "");
    assert_string_equal(weir_node_op(NULL), "");
    assert_string_equal(weir_node_device(NULL), "");
    assert_int_equal(weir_node_num_inputs(NULL) + weir_node_num_outputs(NULL) + weir_node_num_controls(NULL), 0);
    assert_null(weir_node_input(NULL, 0).node);
    assert_null(weir_node_output(NULL, 0).node);
    assert_null(weir_node_control(NULL, 0));
    assert_null(weir_node_graph(NULL));
    assert_int_equal(weir_output_dtype(WEIR_NO_OUTPUT), WEIR_INVALID_DTYPE);
    assert_int_equal(weir_output_shape(WEIR_NO_OUTPUT).rank, WEIR_UNKNOWN_RANK);
    assert_false(weir_node_attr(NULL, "T", &value));
    assert_int_equal(weir_node_num_attrs(NULL), 0);
    assert_null(weir_node_attr_at(NULL, 0));
    weir_node_set_attr(NULL, &WEIR_ATTR_I("_x", 1));
    weir_output_set_shape(WEIR_NO_OUTPUT, WEIR_SHAPE(1));
    weir_graph_free(NULL);
}

static void a_missing_graph_says_so_at_the_end(void **state)
{
    weir_scope s = weir_root(NULL);
    assert_null(constant(weir_after_nothing(weir_on_device(weir_in_scope(s, "a"), "/cpu:0")), "x").node);
    status_fails(weir_graph_take_error(NULL), WEIR_RESOURCE_EXHAUSTED, "There is no graph");
    assert_int_equal(weir_graph_num_nodes(NULL), 0);
    assert_null(weir_graph_find(NULL, "x"));
}

static void what_is_passed_is_copied(void **state)
{
    char text[] = "SAME";
    int64_t ksize[] = {1, 2, 2, 1};
    char name[] = "_note";
    weir_node *node =
        weir_op(weir_root(*state), "NoOp", WEIR_ATTRS(WEIR_ATTR_S("_text", text), WEIR_ATTR_INTS(name, ksize, 4)));
    text[0] = 'X';
    ksize[0] = 9;
    name[1] = 'X';
    weir_attr_value value;
    assert_true(weir_node_attr(node, "_text", &value));
    assert_memory_equal(value.s.data, "SAME", 4);
    assert_true(weir_node_attr(node, "_note", &value));
    assert_int_equal(value.list.i[0], 1);
}

static void lists_of_inputs_are_counted(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output a = constant(s, "a");
    weir_node *node = weir_op(s, "AddN", WEIR_INPUTS(a, a, a));
    weir_attr_value value;
    assert_true(weir_node_attr(node, "N", &value));
    assert_int_equal(value.i, 3);
    graph_is_ok(*state);
}

/* ---- Errors that stick ---- */

static void the_first_error_stays_with_its_place(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output a = weir_const(s, WEIR_FLOATS(1, 2, 3), .name = "a");
    weir_output b = weir_const(s, WEIR_FLOATS(1, 2), .name = "b");
    int line = __LINE__ + 1;
    weir_output sum = weir_add(weir_in_scope(s, "layer"), a, b, .name = "sum");
    weir_add(s, b, a);
    assert_null(sum.node);
    assert_null(weir_add(s, sum, a).node); /* does nothing */
    assert_null(weir_identity(weir_after(s, sum.node), a).node);
    assert_int_equal(weir_graph_num_nodes(*state), 2);
    char place[128];
    snprintf(place, sizeof place, "test_build.c:%d: AddV2 'layer/sum' of inputs a:0 float [3], b:0 float [2]: ", line);
    status_fails(weir_graph_error(*state), WEIR_INVALID_ARGUMENT, place);
    status_fails(weir_graph_take_error(*state), WEIR_INVALID_ARGUMENT, "3 and 2");
    graph_is_ok(*state);
    assert_non_null(weir_add(s, a, a).node);
    graph_is_ok(*state);
}

static void a_failed_node_leaves_no_trace(void **state)
{
    weir_graph *graph = *state;
    weir_scope s = weir_root(graph);
    weir_output a = constant(s, "a");
    size_t tensors = graph->tensors.count;
    weir_tensor *tensor = NULL;
    status_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(2), &tensor));
    assert_null(weir_op(s, "Const", WEIR_ATTRS(WEIR_ATTR_TENSOR_OF("value", tensor), WEIR_ATTR_T("dtype", WEIR_FLOAT)),
                        .name = "bad name"));
    assert_null(weir_op(s, "Identity", WEIR_INPUTS(a, a), .name = "x"));
    graph_failed(graph, WEIR_INVALID_ARGUMENT, "bad name");
    assert_int_equal(graph->tensors.count, tensors);
    weir_tensor_free(tensor);
    assert_int_equal(weir_graph_num_nodes(graph), 1);
    assert_string_equal(weir_node_name(weir_op(s, "Identity", WEIR_INPUTS(a), .name = "x")), "x");
}

static void errors_of_many_inputs_still_say_what_is_wrong(void **state)
{
    enum { COUNT = 3000 };
    weir_scope s = weir_root(*state);
    weir_output *inputs = calloc(COUNT, sizeof *inputs);
    for (int i = 0; i < COUNT; i++)
        inputs[i] = constant(s, "a_constant_with_a_long_name");
    inputs[COUNT - 1] = weir_const(s, WEIR_INT32_OF(1), .name = "odd");
    assert_null(weir_op(s, "AddN", .inputs = inputs, .num_inputs = COUNT));
    graph_failed(*state, WEIR_INVALID_ARGUMENT,
                 "and 2992 more: Input 2999 was passed int32 from odd:0 incompatible with expected float.");
    free(inputs);
}

static void a_final_graph_refuses_nodes(void **state)
{
    weir_scope s = weir_root(*state);
    constant(s, "a");
    weir_graph_finalize(*state);
    assert_null(constant(s, "b").node);
    graph_failed(*state, WEIR_FAILED_PRECONDITION, "Graph is finalized and cannot be modified.");
    status_fails(weir_graph_import(s, "", 0, NULL), WEIR_FAILED_PRECONDITION, "Graph is finalized");
    assert_int_equal(weir_graph_num_nodes(*state), 1);
}

/* ---- What the schema demands ---- */

static void unknown_ops_name_the_nearest(void **state)
{
    refused(*state, weir_op(weir_root(*state), "MatMull"), WEIR_NOT_FOUND,
            "MatMull 'MatMull': Op type not registered 'MatMull'; did you mean 'MatMul'?");
    refused(*state, weir_op(weir_root(*state), "Qwertyuiop"), WEIR_NOT_FOUND, "Op type not registered 'Qwertyuiop'");
}

static void inputs_are_checked(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output a = constant(s, "a");
    weir_output i = weir_const(s, WEIR_INT32_OF(1), .name = "i");
    refused(*state, weir_op(s, "AddV2", WEIR_INPUTS(a, i)), WEIR_INVALID_ARGUMENT,
            "Input 1 was passed int32 from i:0 incompatible with expected float.");
    refused(*state, weir_op(s, "Identity"), WEIR_INVALID_ARGUMENT,
            "NodeDef missing attr 'T' from Op<name=Identity; "
            "signature=input:T -> output:T; attr=T:type>");
    refused(*state, weir_op(s, "Identity", WEIR_INPUTS(a, a)), WEIR_INVALID_ARGUMENT,
            "NodeDef expected inputs 'float' do not match 2 inputs specified; Op<name=Identity;");
    refused(*state, weir_op(s, "AddV2", WEIR_INPUTS(a)), WEIR_INVALID_ARGUMENT,
            "NodeDef expected inputs 'float, float' do not match 1 inputs specified");
    refused(*state, weir_op(s, "AddN", WEIR_INPUTS(a, a), WEIR_ATTRS(WEIR_ATTR_I("N", 3))), WEIR_INVALID_ARGUMENT,
            "NodeDef expected inputs 'float, float, float' do not match 2 inputs specified");
    refused(*state, weir_op(s, "AddN", WEIR_INPUTS(a, a), WEIR_ATTRS(WEIR_ATTR_I("N", (INT64_C(1) << 32) + 2))),
            WEIR_INVALID_ARGUMENT, ", ...' do not match 2 inputs specified");
    refused(*state, weir_op(s, "Assign", WEIR_INPUTS(a, a)), WEIR_INVALID_ARGUMENT,
            "Input 0 was passed float from a:0 incompatible with expected float_ref.");
    assert_null(weir_op(s, "Identity", .inputs = &a, .num_inputs = -1));
    (void)weir_graph_take_error(*state).code;
}

static void a_reference_serves_as_a_value(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(2), .name = "v");
    assert_int_equal(weir_output_dtype(v), WEIR_FLOAT + WEIR_REF_OFFSET);
    weir_node *node = weir_op(s, "Identity", WEIR_INPUTS(v));
    assert_int_equal(weir_output_dtype(weir_out(node, 0)), WEIR_FLOAT);
    graph_is_ok(*state);
}

static void outputs_must_exist_and_belong_to_the_graph(void **state)
{
    weir_graph *other = weir_graph_new();
    weir_scope s = weir_root(*state);
    weir_output a = constant(s, "a");
    weir_output foreign = constant(weir_root(other), "foreign");
    refused(*state, weir_op(s, "Identity", WEIR_INPUTS(weir_out(a.node, 1))), WEIR_INVALID_ARGUMENT,
            "Connecting to invalid output 1 of source node a which has 1 outputs.");
    refused(*state, weir_op(s, "Identity", WEIR_INPUTS(weir_out(a.node, -1))), WEIR_INVALID_ARGUMENT,
            "invalid output -1");
    refused(*state, weir_op(s, "Identity", WEIR_INPUTS(foreign)), WEIR_INVALID_ARGUMENT,
            "Input 0, 'foreign:0', belongs to another graph");
    refused(*state, weir_op(s, "NoOp", .controls = &foreign.node, .num_controls = 1), WEIR_INVALID_ARGUMENT,
            "Control input 'foreign' belongs to another graph");
    refused(*state, weir_no_op(weir_after(s, foreign.node), NULL), WEIR_INVALID_ARGUMENT,
            "'foreign' belongs to another graph");
    refused(*state, constant(weir_colocated_with(s, foreign.node), NULL).node, WEIR_INVALID_ARGUMENT,
            "'foreign' belongs to another graph");
    graph_is_ok(other);
    weir_graph_free(other);
}

static void attributes_are_checked(void **state)
{
    weir_graph *graph = *state;
    weir_scope s = weir_root(graph);
    weir_output a = constant(s, "a");
    weir_output text = weir_const(s, WEIR_STRING_OF("t"), .name = "t");
    refused(
        graph, weir_op(s, "Placeholder"), WEIR_INVALID_ARGUMENT,
        "NodeDef missing attr 'dtype' from Op<name=Placeholder; signature= -> output:dtype; attr=dtype:type; attr=shape:shape,"
        "default=");
    refused(graph, weir_op(s, "Const"), WEIR_INVALID_ARGUMENT, "NodeDef missing attrs ");
    refused(graph, weir_op(s, "Identity", WEIR_INPUTS(a), WEIR_ATTRS(WEIR_ATTR_I("T", 1))), WEIR_INVALID_ARGUMENT,
            "AttrValue had value with type 'int' when 'type' expected for attr 'T'");
    refused(graph, weir_op(s, "Identity", WEIR_INPUTS(a), WEIR_ATTRS((weir_attr){.name = "T"})), WEIR_INVALID_ARGUMENT,
            "AttrValue missing value with expected type 'type' for attr 'T'");
    refused(graph, weir_op(s, "Identity", WEIR_INPUTS(a), WEIR_ATTRS(WEIR_ATTR_I("zz", 1))), WEIR_INVALID_ARGUMENT,
            "NodeDef mentions attr 'zz' not in Op<name=Identity;");
    refused(graph, weir_op(s, "Placeholder", WEIR_ATTRS(WEIR_ATTR_T("dtype", WEIR_FLOAT + WEIR_REF_OFFSET))),
            WEIR_INVALID_ARGUMENT, "AttrValue must not have reference type value of float_ref for attr 'dtype'");
    refused(graph, weir_op(s, "Placeholder", WEIR_ATTRS(WEIR_ATTR_T("dtype", WEIR_INVALID_DTYPE))),
            WEIR_INVALID_ARGUMENT, "AttrValue has invalid DataType for attr 'dtype'");
    refused(graph, weir_op(s, "Placeholder", WEIR_ATTRS(WEIR_ATTR_T("dtype", (weir_dtype)77))), WEIR_INVALID_ARGUMENT,
            "AttrValue has invalid DataType enum: 77 for attr 'dtype'");
    refused(graph, weir_op(s, "MatMul", WEIR_INPUTS(text, text)), WEIR_INVALID_ARGUMENT,
            "Value for attr 'T' of string is not in the list of allowed values: ");
    refused(graph, weir_op(s, "AddN", WEIR_ATTRS(WEIR_ATTR_T("T", WEIR_FLOAT), WEIR_ATTR_I("N", 0))),
            WEIR_INVALID_ARGUMENT, "Value for attr 'N' of 0 must be at least minimum 1");
    refused(graph,
            weir_op(s, "Const", WEIR_ATTRS(WEIR_ATTR_TENSOR_OF("value", NULL), WEIR_ATTR_T("dtype", WEIR_FLOAT))),
            WEIR_INVALID_ARGUMENT, "AttrValue missing value with expected type 'tensor' for attr 'value'");
    assert_int_equal(weir_graph_num_nodes(graph), 2);
}

static void absurd_numbers_of_outputs_are_refused(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output x = weir_const(s, WEIR_FLOATS(1, 2));
    weir_output axis = weir_const(s, WEIR_INT32_OF(0));
    refused(*state, weir_op(s, "Split", WEIR_INPUTS(axis, x), WEIR_ATTRS(WEIR_ATTR_I("num_split", 1000000000))),
            WEIR_INVALID_ARGUMENT, "Too many outputs: 1000000000 of 'output'");
    refused(*state,
            weir_op(s, "Split", WEIR_INPUTS(axis, x), WEIR_ATTRS(WEIR_ATTR_I("num_split", (INT64_C(1) << 32) + 1))),
            WEIR_INVALID_ARGUMENT, "Too many outputs: 4294967297 of 'output'");
}

static void only_internal_attributes_can_be_added(void **state)
{
    weir_node *node = constant(weir_root(*state), "a").node;
    weir_attr_value value;
    int before = weir_node_num_attrs(node);
    weir_node_set_attr(node, &WEIR_ATTR_I("_weir_note", 7));
    weir_node_set_attr(node, &WEIR_ATTR_I("_weir_note", 8));
    assert_int_equal(weir_node_num_attrs(node), before + 1);
    assert_true(weir_node_attr(node, "_weir_note", &value));
    assert_int_equal(value.i, 8);
    assert_string_equal(weir_node_attr_at(node, before)->name, "_weir_note");
    graph_is_ok(*state);
    weir_node_set_attr(node, &WEIR_ATTR_I("note", 7));
    graph_failed(*state, WEIR_INVALID_ARGUMENT,
                 "Attribute 'note' of node 'a' cannot be set: only names that begin with '_' can");
}

static void shapes_are_narrowed_not_changed(void **state)
{
    weir_output x = weir_placeholder(weir_root(*state), WEIR_FLOAT, WEIR_SHAPE(-1, 3), .name = "x");
    weir_output_set_shape(x, WEIR_SHAPE(5, -1));
    has_shape(x, "[5,3]");
    weir_output_set_shape(x, weir_shape_unknown());
    has_shape(x, "[5,3]");
    graph_is_ok(*state);
    weir_output_set_shape(x, WEIR_SHAPE(4, 3));
    graph_failed(*state, WEIR_INVALID_ARGUMENT,
                 "node 'x': Dimension 0 in both shapes must be equal, but are 5 and 4. Shapes are [5,3] and [4,3].");
    weir_output_set_shape(x, WEIR_SHAPE(5));
    graph_failed(*state, WEIR_INVALID_ARGUMENT, "Shapes must be equal rank, but are 2 and 1");
    has_shape(x, "[5,3]");
}

/* ---- Back edges ---- */

static void back_edges_join_next_iterations(void **state)
{
    weir_graph *graph = *state;
    weir_scope s = weir_root(graph);
    weir_output zero = constant(s, "zero");
    weir_output enter = weir_out(weir_op(s, "Enter", WEIR_INPUTS(zero), WEIR_ATTRS(WEIR_ATTR_S("frame_name", "f"))), 0);
    weir_node *merge = weir_op(s, "Merge", WEIR_INPUTS(enter, enter));
    weir_output next = weir_out(weir_op(s, "NextIteration", WEIR_INPUTS(weir_out(merge, 0))), 0);
    weir_output whole = weir_cast(s, weir_out(merge, 0), WEIR_INT32);
    weir_output other_type = weir_out(weir_op(s, "NextIteration", WEIR_INPUTS(whole)), 0);
    graph_is_ok(graph);
    weir_node_set_back_edge(merge, 1, next);
    graph_is_ok(graph);
    assert_ptr_equal(weir_node_input(merge, 1).node, next.node);
    weir_node_set_back_edge(merge, 1, zero);
    graph_failed(graph, WEIR_INVALID_ARGUMENT, "'zero:0' (op Const) is no NextIteration");
    weir_node_set_back_edge(merge, 2, next);
    graph_failed(graph, WEIR_INVALID_ARGUMENT, "Merge 'Merge' has no input 2");
    weir_node_set_back_edge(next.node, 0, next);
    graph_failed(graph, WEIR_INVALID_ARGUMENT, "is no Merge: it cannot get a back edge");
    weir_node_set_back_edge(merge, 1, other_type);
    graph_failed(graph, WEIR_INVALID_ARGUMENT,
                 "Input 1 of node Merge was passed int32 from NextIteration_1:0 incompatible with "
                 "expected float.");
    weir_node_set_back_edge(NULL, 1, next);
    weir_node_set_back_edge(merge, 1, WEIR_NO_OUTPUT);
    graph_is_ok(graph);
    assert_ptr_equal(weir_node_input(merge, 1).node, next.node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(a_node_answers_what_it_was_built_with),
        GRAPH_TEST(null_answers_nothing),
        GRAPH_TEST(a_missing_graph_says_so_at_the_end),
        GRAPH_TEST(what_is_passed_is_copied),
        GRAPH_TEST(lists_of_inputs_are_counted),
        GRAPH_TEST(the_first_error_stays_with_its_place),
        GRAPH_TEST(a_failed_node_leaves_no_trace),
        GRAPH_TEST(errors_of_many_inputs_still_say_what_is_wrong),
        GRAPH_TEST(a_final_graph_refuses_nodes),
        GRAPH_TEST(unknown_ops_name_the_nearest),
        GRAPH_TEST(inputs_are_checked),
        GRAPH_TEST(a_reference_serves_as_a_value),
        GRAPH_TEST(outputs_must_exist_and_belong_to_the_graph),
        GRAPH_TEST(attributes_are_checked),
        GRAPH_TEST(absurd_numbers_of_outputs_are_refused),
        GRAPH_TEST(only_internal_attributes_can_be_added),
        GRAPH_TEST(shapes_are_narrowed_not_changed),
        GRAPH_TEST(back_edges_join_next_iterations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
