/*
 * GraphDef in: what is accepted and what is refused, with TensorFlow's texts. Round trips of whole graphs stand in
 * test_graph_files.c.
 */
#include "graph_test.h"

#include "format/message.h"
#include "proto/graph.pb-c.h"
#include "tensor/tensor.h"

/* ---- Parts of graphs in text form ---- */

#define ATTR(key, value) " attr { key: \"" key "\" value { " value " } }"
#define NODE(name, op, rest) "node { name: \"" name "\" op: \"" op "\" " rest " }\n"
#define IN(input) " input: \"" input "\""
#define FLOAT_T ATTR("T", "type: DT_FLOAT")
#define CONST(name, rest)                                                                                              \
    NODE(name, "Const",                                                                                                \
         ATTR("dtype", "type: DT_FLOAT")                                                                               \
             ATTR("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 }") rest)
#define IDENTITY(name, inputs, rest) NODE(name, "Identity", inputs FLOAT_T rest)
#define C CONST("c", "")

static weir_status import_into(weir_scope s, const char *text, const char *prefix)
{
    weir_import_options options = {.size = sizeof options, .is_text = true, .prefix = prefix};
    return weir_graph_import(s, text, strlen(text), &options);
}

static void imports(weir_graph *graph, const char *text)
{
    status_ok(import_into(weir_root(graph), text, NULL));
}

/* The import fails with these words, and the graph stays as it is. */
static void refuses(weir_graph *graph, const char *text, weir_code code, const char *words)
{
    int nodes = weir_graph_num_nodes(graph);
    size_t tensors = graph->tensors.count;
    status_fails(import_into(weir_root(graph), text, NULL), code, words);
    assert_int_equal(weir_graph_num_nodes(graph), nodes);
    assert_int_equal(weir_map_count(&graph->by_name), nodes);
    assert_int_equal(graph->tensors.count, tensors);
    graph_is_ok(graph);
}

static weir_node *node(weir_graph *graph, const char *name)
{
    weir_node *found = weir_graph_find(graph, name);
    if (found == NULL)
        fail_msg("no node '%s'", name);
    return found;
}

/* ---- Inputs ---- */

static void inputs_are_parsed_from_the_end(void **state)
{
    imports(*state, C IDENTITY("d", IN("c:0") IN("^c"), "") IDENTITY("e", IN("d"), "")
                        NODE("n", "NoOp", IN("^e") IN("^d") IN("^e")));
    has_inputs(node(*state, "d"), "c:0 ^c");
    has_inputs(node(*state, "e"), "d:0");
    has_inputs(node(*state, "n"), "^e ^d");
    assert_null(node(*state, "c")->file);
}

static void bad_inputs_are_refused(void **state)
{
    weir_graph *graph = *state;
    refuses(graph, C IDENTITY("i", IN("d"), ""), WEIR_INVALID_ARGUMENT, "Node 'i': Unknown input node 'd'");
    refuses(graph, C IDENTITY("i", IN("c") IN("^d"), ""), WEIR_INVALID_ARGUMENT, "Node 'i': Unknown input node '^d'");
    refuses(graph, C IDENTITY("i", IN("^c:0"), ""), WEIR_INVALID_ARGUMENT, "Node 'i': Unknown input node '^c:0'");
    refuses(graph, C IDENTITY("i", IN(""), ""), WEIR_INVALID_ARGUMENT, "Node 'i': Unknown input node ''");
    refuses(graph, C IDENTITY("i", IN("c:"), ""), WEIR_INVALID_ARGUMENT, "Node 'i': Unknown input node 'c:'");
    refuses(graph, C IDENTITY("i", IN("c:1"), ""), WEIR_INVALID_ARGUMENT,
            "Node 'i': Connecting to invalid output 1 of source node c which has 1 outputs.");
    refuses(graph, C IDENTITY("i", IN("^c") IN("c"), ""), WEIR_INVALID_ARGUMENT,
            "Node 'i': Control dependencies must come after regular dependencies");
    refuses(graph, C NODE("i", "Identity", IN("c") ATTR("T", "type: DT_INT32")), WEIR_INVALID_ARGUMENT,
            "Input 0 of node i was passed float from c:0 incompatible with expected int32.");
    refuses(
        graph, C IDENTITY("i", IN("c") IN("c"), ""), WEIR_INVALID_ARGUMENT,
        "NodeDef expected inputs 'float' do not match 2 inputs specified; Op<name=Identity; signature=input:T -> output:T; "
        "attr=T:type>; NodeDef: {{node i}}");
    refuses(graph, C IDENTITY("i", "", ""), WEIR_INVALID_ARGUMENT,
            "NodeDef expected inputs 'float' do not match 0 inputs specified");
}

/* ---- Order ---- */

static void any_order_goes_in_and_producers_come_first(void **state)
{
    imports(*state, IDENTITY("z", IN("y"), "") NODE("n", "NoOp", IN("^z")) IDENTITY("y", IN("c"), "") C CONST("a", ""));
    static const char *const expected[] = {"c", "y", "z", "n", "a"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(weir_node_name(weir_graph_node(*state, i)), expected[i]);
}

static void an_order_that_holds_is_kept(void **state)
{
    imports(*state, CONST("z", "") CONST("a", "") IDENTITY("q", IN("a"), "") IDENTITY("b", IN("z"), ""));
    static const char *const expected[] = {"z", "a", "q", "b"};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(weir_node_name(weir_graph_node(*state, i)), expected[i]);
        assert_int_equal(weir_graph_node(*state, i)->id, i);
    }
}

static void cycles_are_refused(void **state)
{
    refuses(*state, C IDENTITY("i", IN("j"), "") IDENTITY("j", IN("i"), ""), WEIR_INVALID_ARGUMENT,
            "2 nodes in a cycle: 'i', 'j'");
    refuses(*state, C IDENTITY("i", IN("j"), "") IDENTITY("j", IN("i"), "") IDENTITY("k", IN("j"), ""),
            WEIR_INVALID_ARGUMENT, "3 nodes in a cycle");
    refuses(*state, C IDENTITY("i", IN("c") IN("^i"), ""), WEIR_INVALID_ARGUMENT, "1 nodes in a cycle: 'i'");
    /* only from a NextIteration to a Merge */
    refuses(*state, NODE("m", "Merge", IN("c") IN("i") FLOAT_T ATTR("N", "i: 2")) C IDENTITY("i", IN("m"), ""),
            WEIR_INVALID_ARGUMENT, "2 nodes in a cycle");
    refuses(*state, NODE("i", "Identity", IN("n") FLOAT_T) NODE("n", "NextIteration", IN("i") FLOAT_T),
            WEIR_INVALID_ARGUMENT, "2 nodes in a cycle");
}

#define LOOP                                                                                                           \
    NODE("next", "NextIteration", IN("body") FLOAT_T)                                                                  \
    NODE("merge", "Merge", IN("enter") IN("next") FLOAT_T ATTR("N", "i: 2"))                                           \
    NODE("enter", "Enter", IN("c") FLOAT_T ATTR("frame_name", "s: \"f\"") ATTR("is_constant", "b: false")) C           \
    NODE("limit", "Less", IN("merge") IN("merge") FLOAT_T)                                                             \
    NODE("cond", "LoopCond", IN("limit"))                                                                              \
    NODE("switch", "Switch", IN("merge") IN("cond") FLOAT_T)                                                           \
    NODE("exit", "Exit", IN("switch") FLOAT_T) IDENTITY("body", IN("switch:1"), "")

static void loops_go_in(void **state)
{
    imports(*state, LOOP);
    has_inputs(node(*state, "merge"), "enter:0 next:0");
    has_inputs(node(*state, "next"), "body:0");
    assert_true(node(*state, "merge")->id < node(*state, "next")->id);
    assert_int_equal(weir_graph_num_nodes(*state), 9);
}

static void bad_back_edges_are_refused(void **state)
{
    refuses(*state,
            C NODE("enter", "Enter", IN("c") FLOAT_T ATTR("frame_name", "s: \"f\""))
                NODE("merge", "Merge", IN("enter") IN("next:1") FLOAT_T ATTR("N", "i: 2"))
                    NODE("next", "NextIteration", IN("merge") FLOAT_T),
            WEIR_INVALID_ARGUMENT,
            "Node 'merge': Connecting to invalid output 1 of source node next which has 1 outputs.");
    refuses(*state,
            C NODE("enter", "Enter", IN("c") FLOAT_T ATTR("frame_name", "s: \"f\""))
                NODE("merge", "Merge", IN("enter") IN("next") FLOAT_T ATTR("N", "i: 2"))
                    NODE("next", "NextIteration", IN("merge:1") ATTR("T", "type: DT_INT32")),
            WEIR_INVALID_ARGUMENT,
            "Input 1 of node merge was passed int32 from next:0 incompatible with expected float.");
}

/* ---- Names and ops ---- */

static void names_are_checked(void **state)
{
    weir_graph *graph = *state;
    refuses(graph, C C, WEIR_INVALID_ARGUMENT, "Node 'c' is not unique");
    refuses(graph, NODE("a b", "NoOp", ""), WEIR_INVALID_ARGUMENT, "Node 'a b': Node name contains invalid characters");
    refuses(graph, NODE("", "NoOp", ""), WEIR_INVALID_ARGUMENT, "Node '': Node name contains invalid characters");
    refuses(graph, NODE("a", "", ""), WEIR_INVALID_ARGUMENT, "Node 'a' does not specify an operation");
    imports(graph, NODE("_internal", "NoOp", ""));
    imports(graph, C);
    refuses(graph, CONST("d", "") C, WEIR_ALREADY_EXISTS, "Node name 'c' already exists in the Graph");
}

static void names_that_came_in_are_taken(void **state)
{
    imports(*state, CONST("Weights", ""));
    weir_scope s = weir_root(*state);
    assert_string_equal(weir_node_name(constant(s, "weights").node), "weights_1");
    assert_string_equal(weir_scope_name(weir_in_scope(s, "Weights")), "Weights_2/");
}

static void a_refused_import_takes_no_names(void **state)
{
    refuses(*state, CONST("a", "") IDENTITY("b", IN("a:7"), ""), WEIR_INVALID_ARGUMENT, "invalid output 7");
    assert_string_equal(weir_node_name(constant(weir_root(*state), "a").node), "a");
}

static void unknown_ops_are_reported_together(void **state)
{
    refuses(*state, C NODE("f", "Foo", ""), WEIR_NOT_FOUND, "Op type not registered 'Foo' (node 'f')");
    refuses(*state, NODE("f", "Foo", "") NODE("b", "Bar", IN("f")) NODE("f2", "Foo", "") NODE("f3", "Foo", ""),
            WEIR_NOT_FOUND, "Op types not registered: 'Foo' (node 'f' and 2 more), 'Bar' (node 'b')");
}

/* ---- Prefix, scope, replaced tensors ---- */

static void a_prefix_goes_before_everything(void **state)
{
    weir_scope s = weir_in_scope(weir_root(*state), "out");
    const char *text = C IDENTITY("i", IN("c") IN("^c"), ATTR("_class", "list { s: \"loc:@c\" s: \"zz\" }"));
    status_ok(import_into(s, text, "p"));
    has_inputs(node(*state, "out/p/i"), "out/p/c:0 ^out/p/c");
    has_groups(node(*state, "out/p/i"), "loc:@out/p/c,zz");
    status_ok(import_into(weir_root(*state), text, "q/"));
    has_inputs(node(*state, "q/i"), "q/c:0 ^q/c");
    assert_string_equal(weir_scope_name(weir_in_scope(weir_root(*state), "q")), "q_1/");
    status_fails(import_into(weir_root(*state), text, "a b"), WEIR_INVALID_ARGUMENT,
                 "prefix 'a b' would lead to invalid node names");
    status_fails(import_into(weir_root(*state), text, "_p"), WEIR_INVALID_ARGUMENT, "would lead to invalid node names");
    status_fails(import_into((weir_scope){0}, text, NULL), WEIR_INVALID_ARGUMENT, "scope");
}

/* As in the parts of a graph that workers get. */
static void groups_may_name_nodes_that_are_elsewhere(void **state)
{
    const char *text = C IDENTITY("i", IN("c"), ATTR("_class", "list { s: \"loc:@zz\" }"));
    imports(*state, text);
    has_groups(node(*state, "i"), "loc:@zz");
    status_ok(import_into(weir_root(*state), text, "p"));
    has_groups(node(*state, "p/i"), "loc:@p/zz");
}

static void the_scope_s_device_and_controls_count(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output z = constant(s, "z");
    weir_scope inside = weir_after(weir_on_device(s, "/job:ps/cpu:1"), z.node);
    status_ok(import_into(
        inside, NODE("a", "NoOp", "device: \"/gpu:0\"") NODE("b", "NoOp", "") NODE("d", "NoOp", IN("^a")), NULL));
    assert_string_equal(weir_node_device(node(*state, "a")), "/job:ps/device:GPU:0");
    assert_string_equal(weir_node_device(node(*state, "b")), "/job:ps/device:CPU:1");
    has_inputs(node(*state, "a"), "^z");
    has_inputs(node(*state, "b"), "^z");
    has_inputs(node(*state, "d"), "^a"); /* waits for z through a */
}

static void devices_are_kept_as_they_are(void **state)
{
    imports(*state,
            NODE("a", "NoOp", "device: \"/gpu:0\"") NODE("b", "NoOp", "device: \"/job:ps/replica:0/task:1/cpu:0\""));
    assert_string_equal(weir_node_device(node(*state, "a")), "/gpu:0");
    assert_string_equal(weir_node_device(node(*state, "b")), "/job:ps/replica:0/task:1/cpu:0");
    refuses(*state, NODE("c", "NoOp", "device: \"/job:my-job\""), WEIR_INVALID_ARGUMENT,
            "Node 'c': Malformed device specification '/job:my-job'");
}

#define TEXT(literal) ((weir_bytes){(literal), sizeof(literal) - 1})

static weir_status import_replaced(weir_graph *graph, const char *text, const weir_bytes *names, const weir_output *by,
                                   int count)
{
    weir_import_options options = {.size = sizeof options,
                                   .is_text = true,
                                   .prefix = "p",
                                   .input_names = names,
                                   .inputs = by,
                                   .num_inputs = count};
    return weir_graph_import(weir_root(graph), text, strlen(text), &options);
}

static void tensors_can_be_replaced(void **state)
{
    const char *text = C IDENTITY("i", IN("c"), "") IDENTITY("j", IN("c") IN("^c"), "");
    weir_output t = constant(weir_root(*state), "t");
    status_ok(import_replaced(*state, text, (const weir_bytes[]){TEXT("c")}, &t, 1));
    has_inputs(node(*state, "p/i"), "t:0");
    has_inputs(node(*state, "p/j"), "t:0 ^p/c");
    has_inputs(node(*state, "p/c"), "");
}

static void control_inputs_can_be_replaced(void **state)
{
    const char *text = C IDENTITY("j", IN("c") IN("^c"), "");
    weir_output t = constant(weir_root(*state), "t");
    status_ok(
        import_replaced(*state, text, (const weir_bytes[]){TEXT("c:0"), TEXT("^c")}, (const weir_output[]){t, t}, 2));
    has_inputs(node(*state, "p/j"), "t:0 ^t");
}

static void replacements_are_checked(void **state)
{
    const char *text = C IDENTITY("i", IN("c"), "");
    weir_output t = constant(weir_root(*state), "t");
    weir_output whole = weir_const(weir_root(*state), WEIR_INT32_OF(7), .name = "whole");
    weir_graph *other = weir_graph_new();
    weir_output foreign = constant(weir_root(other), "t");
    status_fails(import_replaced(*state, text, (const weir_bytes[]){TEXT("zz:0")}, &t, 1), WEIR_INVALID_ARGUMENT,
                 "Attempted to map inputs that were not found in graph_def: [zz:0]");
    status_fails(import_replaced(*state, text, (const weir_bytes[]){TEXT("c")}, &whole, 1), WEIR_INVALID_ARGUMENT,
                 "Input 0 of node p/i was passed int32 from whole:0 incompatible with expected float.");
    status_fails(import_replaced(*state, text, (const weir_bytes[]){TEXT("c")}, &foreign, 1), WEIR_INVALID_ARGUMENT,
                 "The replacement of 'c' is no output of the graph");
    status_fails(import_replaced(*state, text, (const weir_bytes[]){TEXT("c")}, &WEIR_NO_OUTPUT, 1),
                 WEIR_INVALID_ARGUMENT, "The replacement of 'c' is no output of the graph");
    assert_int_equal(weir_graph_num_nodes(*state), 2);
    weir_graph_free(other);
}

/* ---- Attributes ---- */

static void missing_attributes_get_their_defaults(void **state)
{
    imports(*state, NODE("p", "Placeholder", ATTR("dtype", "type: DT_FLOAT")));
    weir_attr_value value;
    assert_true(weir_node_attr(node(*state, "p"), "shape", &value));
    assert_int_equal(value.shape.rank, WEIR_UNKNOWN_RANK);
}

static void unknown_attributes_are_kept(void **state)
{
    imports(*state, NODE("p", "Placeholder",
                         ATTR("dtype", "type: DT_FLOAT") ATTR("zz", "i: 1") ATTR("_zz", "") ATTR("_l", "list { }")));
    weir_attr_value value;
    assert_true(weir_node_attr(node(*state, "p"), "zz", &value));
    assert_int_equal(value.i, 1);
    assert_true(weir_node_attr(node(*state, "p"), "_zz", &value));
    assert_int_equal(value.kind, WEIR_ATTR_NONE);
    assert_true(weir_node_attr(node(*state, "p"), "_l", &value));
    assert_int_equal(value.list.count, 0);
}

static void of_an_attribute_given_twice_the_last_counts(void **state)
{
    imports(*state, NODE("p", "Placeholder", ATTR("dtype", "type: DT_FLOAT") ATTR("dtype", "type: DT_INT32")));
    assert_int_equal(weir_output_dtype(weir_out(node(*state, "p"), 0)), WEIR_INT32);
}

static void bad_attributes_are_refused(void **state)
{
    weir_graph *graph = *state;
    refuses(graph, NODE("c", "Const", ""), WEIR_INVALID_ARGUMENT, "Node 'c': NodeDef missing attrs ");
    refuses(graph, NODE("c", "Placeholder", ""), WEIR_INVALID_ARGUMENT,
            "NodeDef missing attr 'dtype' from Op<name=Placeholder;");
    refuses(graph, NODE("c", "Placeholder", ATTR("dtype", "i: 1")), WEIR_INVALID_ARGUMENT,
            "Node 'c': AttrValue had value with type 'int' when 'type' expected for attr 'dtype'");
    refuses(graph, NODE("c", "Placeholder", ATTR("dtype", "")), WEIR_INVALID_ARGUMENT,
            "AttrValue missing value with expected type 'type' for attr 'dtype'");
    refuses(graph, NODE("c", "Placeholder", ATTR("dtype", "type: DT_FLOAT_REF")), WEIR_INVALID_ARGUMENT,
            "AttrValue must not have reference type value of float_ref");
    refuses(graph, NODE("c", "Placeholder", ATTR("dtype", "type: 77")), WEIR_INVALID_ARGUMENT,
            "invalid DataType enum: 77");
    refuses(graph, NODE("c", "Placeholder", ATTR("dtype", "type: DT_FLOAT") ATTR("yy", "placeholder: \"a\"")),
            WEIR_INVALID_ARGUMENT, "Node 'c', attr 'yy': AttrValue had value with unexpected type 'placeholder'");
    refuses(graph, NODE("m", "AddN", FLOAT_T ATTR("N", "i: 0")), WEIR_INVALID_ARGUMENT,
            "Value for attr 'N' of 0 must be at least minimum 1");
    refuses(graph,
            NODE("c", "Const",
                 ATTR("dtype", "type: DT_FLOAT") ATTR(
                     "value", "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: \"abc\" }")),
            WEIR_INVALID_ARGUMENT, "Node 'c', attr 'value': Cannot parse tensor from proto");
}

static void noted_shapes_narrow_and_are_checked(void **state)
{
    weir_graph *graph = *state;
#define NOTED(shapes) ATTR("_output_shapes", "list { " shapes " }")
    imports(graph, NODE("p", "Placeholder", ATTR("dtype", "type: DT_FLOAT") NOTED("shape { dim { size: 7 } }"))
                       IDENTITY("i", IN("p"), NOTED("shape { unknown_rank: true } shape { }")));
    has_shape(weir_out(node(graph, "p"), 0), "[7]");
    has_shape(weir_out(node(graph, "i"), 0), "[7]");
    weir_attr_value value;
    assert_false(weir_node_attr(node(graph, "p"), "_output_shapes", &value));
    refuses(
        graph, C IDENTITY("j", IN("c"), NOTED("shape { dim { size: 2 } }")), WEIR_INVALID_ARGUMENT,
        "Node 'j' has an _output_shapes attribute inconsistent with the GraphDef for output #0: Shapes must be equal rank, but "
        "are 0 and 1");
}

/* ---- Versions, functions, bytes ---- */

static void versions_are_checked(void **state)
{
    refuses(*state, "versions { producer: 1 min_consumer: 99999 }", WEIR_INVALID_ARGUMENT,
            "GraphDef min consumer version 99999 above current version 2474 for Weir ");
    refuses(*state, "versions { producer: 1 bad_consumers: [1, 2474] }", WEIR_INVALID_ARGUMENT,
            "GraphDef disallows consumer version 2474.  Please upgrade Weir: this version is likely buggy.");
    refuses(*state, "versions { producer: -1 }", WEIR_INVALID_ARGUMENT,
            "GraphDef producer version -1 below min producer 0 supported by Weir ");
    imports(*state, C); /* none at all */
    weir_graph *newer = weir_graph_new();
    imports(newer, "versions { producer: 9999 min_consumer: 12 }" C);
    assert_int_equal(newer->producer, 9999);
    assert_int_equal(newer->min_consumer, 12);
    imports(newer, "versions { producer: 134 }" CONST("d", ""));
    assert_int_equal(newer->producer, 134);
    assert_int_equal(newer->min_consumer, 12);
    weir_graph_free(newer);
}

#define FUNCTION(name, op) "function { signature { name: \"" name "\" } node_def { name: \"n\" op: \"" op "\" } }"
#define LIBRARY(functions) "library { " functions " }\n"

static Weir__GraphDef *exported(weir_graph *graph, weir_arena *arena)
{
    void *bytes = NULL;
    size_t size = 0;
    ProtobufCMessage *message = NULL;
    status_ok(weir_graph_export(graph, &bytes, &size));
    status_ok(weir_message_unpack(&weir__graph_def__descriptor, bytes, size, arena, &message));
    free(bytes);
    return (Weir__GraphDef *)message;
}

static void functions_are_kept_but_not_called(void **state)
{
    weir_graph *graph = *state;
    imports(graph, C LIBRARY(FUNCTION("F", "NoOp")));
    imports(graph, CONST("d", "") LIBRARY(FUNCTION("F", "NoOp") FUNCTION("G", "NoOp")));
    refuses(graph, LIBRARY(FUNCTION("F", "Const")), WEIR_INVALID_ARGUMENT,
            "Cannot add function 'F' because a different function with the same name already exists.");
    refuses(graph, NODE("call", "H", "") LIBRARY(FUNCTION("H", "NoOp")), WEIR_UNIMPLEMENTED,
            "Functions cannot be called yet: 'H' (node 'call')");
    weir_arena arena = {0};
    const Weir__GraphDef *def = exported(graph, &arena);
    assert_non_null(def->library);
    assert_int_equal(def->library->n_function, 2);
    assert_string_equal(def->library->function[0]->signature->name, "F");
    assert_string_equal(def->library->function[1]->signature->name, "G");
    assert_string_equal(def->library->function[1]->node_def[0]->op, "NoOp");
    weir_arena_clear(&arena);
}

static void damaged_bytes_are_refused(void **state)
{
    static const char cut[] = "\x0a\x05\x0a\x01";
    status_fails(weir_graph_import(weir_root(*state), cut, sizeof cut - 1, NULL), WEIR_DATA_LOSS,
                 "Cannot read GraphDef");
    status_fails(import_into(weir_root(*state), "node { nome: 1 }", NULL), WEIR_INVALID_ARGUMENT, "nome");
    status_ok(weir_graph_import(weir_root(*state), "", 0, NULL));
    assert_int_equal(weir_graph_num_nodes(*state), 0);
}

/* A chain against the order of the file, and a node on which all others wait. */
static void big_graphs_take_linear_time(void **state)
{
    enum { COUNT = 20000 };
    weir_text text = {0};
    for (int i = COUNT; i > 0; i--)
        weir_text_append(&text, "node { name: 'n%d' op: 'NoOp' input: '^n%d' input: '^n0' }\n", i, i - 1);
    weir_text_append(&text, "node { name: 'n0' op: 'NoOp' }\n");
    imports(*state, weir_text_get(&text));
    assert_int_equal(weir_graph_num_nodes(*state), COUNT + 1);
    assert_string_equal(weir_node_name(weir_graph_node(*state, COUNT)), "n20000");
    weir_text_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(inputs_are_parsed_from_the_end),
        GRAPH_TEST(bad_inputs_are_refused),
        GRAPH_TEST(any_order_goes_in_and_producers_come_first),
        GRAPH_TEST(an_order_that_holds_is_kept),
        GRAPH_TEST(cycles_are_refused),
        GRAPH_TEST(loops_go_in),
        GRAPH_TEST(bad_back_edges_are_refused),
        GRAPH_TEST(names_are_checked),
        GRAPH_TEST(names_that_came_in_are_taken),
        GRAPH_TEST(a_refused_import_takes_no_names),
        GRAPH_TEST(unknown_ops_are_reported_together),
        GRAPH_TEST(a_prefix_goes_before_everything),
        GRAPH_TEST(groups_may_name_nodes_that_are_elsewhere),
        GRAPH_TEST(the_scope_s_device_and_controls_count),
        GRAPH_TEST(devices_are_kept_as_they_are),
        GRAPH_TEST(tensors_can_be_replaced),
        GRAPH_TEST(control_inputs_can_be_replaced),
        GRAPH_TEST(replacements_are_checked),
        GRAPH_TEST(missing_attributes_get_their_defaults),
        GRAPH_TEST(unknown_attributes_are_kept),
        GRAPH_TEST(of_an_attribute_given_twice_the_last_counts),
        GRAPH_TEST(bad_attributes_are_refused),
        GRAPH_TEST(noted_shapes_narrow_and_are_checked),
        GRAPH_TEST(versions_are_checked),
        GRAPH_TEST(functions_are_kept_but_not_called),
        GRAPH_TEST(damaged_bytes_are_refused),
        GRAPH_TEST(big_graphs_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
