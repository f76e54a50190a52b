/*
 * Graphs that TensorFlow wrote go in and come out again as they were; graphs that Weir builds are written as TensorFlow
 * writes them. The files are described in tests/format/data/make_formats.py.
 */
#include "graph_test.h"

#include "format/message.h"
#include "format/tensor_proto.h"
#include "format/text_format.h"
#include "proto/graph.pb-c.h"
#include "tensor/tensor.h"

#define GRAPHS WEIR_TEST_SOURCE_DIR "/tests/format/data/graphs/"

typedef struct bytes {
    void *data;
    size_t size;
} bytes;

/* A file of the folder, zero-terminated; free data. */
static bytes read_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, GRAPHS "%s", name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s cannot be opened", path);
    bytes read = {.data = calloc(1, 1 << 20)};
    read.size = fread(read.data, 1, (1 << 20) - 1, file);
    fclose(file);
    return read;
}

static Weir__GraphDef *unpack(bytes packed, weir_arena *arena)
{
    ProtobufCMessage *message = NULL;
    status_ok(weir_message_unpack(&weir__graph_def__descriptor, packed.data, packed.size, arena, &message));
    return (Weir__GraphDef *)message;
}

/* The GraphDef of a file in bytes, from either form, without the summary that only writes logs where there is no such op. */
static bytes read_graph(const char *name)
{
    weir_arena arena = {0};
    bytes file = read_file(name);
    bytes packed = {0};
    ProtobufCMessage *message = NULL;
    if (strstr(name, ".pbtxt") != NULL)
        status_ok(weir_message_from_text(&weir__graph_def__descriptor, file.data, file.size, &arena, &message));
    else
        message = &unpack(file, &arena)->base;
    Weir__GraphDef *graph = (Weir__GraphDef *)message;
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_node; i++) {
        if (strcmp(graph->node[i]->op, "ScalarSummary") != 0 || weir_op_find("ScalarSummary") != NULL)
            graph->node[kept++] = graph->node[i];
    }
    graph->n_node = kept;
    status_ok(weir_message_pack(message, &packed.data, &packed.size));
    weir_arena_clear(&arena);
    free(file.data);
    return packed;
}

/* ---- Comparing messages by what they mean ---- */

static bool is_same_tensor(const Weir__TensorProto *a, const Weir__TensorProto *b)
{
    WEIR_AUTO(weir_tensor) *first = NULL;
    WEIR_AUTO(weir_tensor) *second = NULL;
    status_ok(weir_tensor_from_proto(a, &first));
    status_ok(weir_tensor_from_proto(b, &second));
    if (first->dtype != second->dtype || !weir_shape_equal(first->shape, second->shape))
        return false;
    for (int64_t i = 0; first->dtype == WEIR_STRING && i < first->elements; i++) {
        const weir_string *x = &weir_tensor_string_elements(first)[i];
        const weir_string *y = &weir_tensor_string_elements(second)[i];
        if (x->size != y->size || (x->size > 0 && memcmp(x->data, y->data, x->size) != 0))
            return false;
    }
    return first->dtype == WEIR_STRING || memcmp(first->data, second->data, first->size_bytes) == 0;
}

static bool is_same_message(const ProtobufCMessage *a, const ProtobufCMessage *b, weir_arena *arena)
{
    ProtobufCBinaryData first = {0};
    ProtobufCBinaryData second = {0};
    status_ok(weir_message_pack_in(a, arena, &first));
    status_ok(weir_message_pack_in(b, arena, &second));
    return first.len == second.len && memcmp(first.data, second.data, first.len) == 0;
}

static bool is_same_value(const Weir__AttrValue *a, const Weir__AttrValue *b, weir_arena *arena)
{
    if (a->value_case == WEIR__ATTR_VALUE__VALUE_TENSOR && b->value_case == WEIR__ATTR_VALUE__VALUE_TENSOR)
        return is_same_tensor(a->tensor, b->tensor);
    return is_same_message(&a->base, &b->base, arena);
}

static const Weir__AttrValue *find_attr(const Weir__NodeDef *node, const char *key)
{
    for (size_t i = 0; i < node->n_attr; i++) {
        if (strcmp(node->attr[i]->key, key) == 0)
            return node->attr[i]->value;
    }
    return NULL;
}

/* Every attribute of a is in b; noted shapes are used up by an import. */
static void attrs_are_kept(const Weir__NodeDef *a, const Weir__NodeDef *b, weir_arena *arena)
{
    for (size_t i = 0; i < a->n_attr; i++) {
        if (strcmp(a->attr[i]->key, "_output_shapes") == 0)
            continue;
        const Weir__AttrValue *value = find_attr(b, a->attr[i]->key);
        if (value == NULL || !is_same_value(a->attr[i]->value, value, arena))
            fail_msg("node %s: attribute %s changed", a->name, a->attr[i]->key);
    }
}

static void node_is_kept(const Weir__NodeDef *a, const Weir__NodeDef *b, weir_arena *arena)
{
    assert_string_equal(a->op, b->op);
    assert_string_equal(a->device, b->device);
    assert_int_equal(a->n_input, b->n_input);
    for (size_t i = 0; i < a->n_input; i++)
        assert_string_equal(a->input[i], b->input[i]);
    assert_int_equal(a->experimental_type != NULL, b->experimental_type != NULL);
    if (a->experimental_type != NULL)
        assert_true(is_same_message(&a->experimental_type->base, &b->experimental_type->base, arena));
    attrs_are_kept(a, b, arena);
}

static const Weir__NodeDef *find_node(const Weir__GraphDef *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        if (strcmp(graph->node[i]->name, name) == 0)
            return graph->node[i];
    }
    fail_msg("node %s is gone", name);
    return NULL;
}

/* is_whole: b has no attributes besides, and the order is the same. */
static void graph_is_kept(const Weir__GraphDef *a, const Weir__GraphDef *b, bool is_whole, weir_arena *arena)
{
    assert_int_equal(a->n_node, b->n_node);
    for (size_t i = 0; i < a->n_node; i++) {
        const Weir__NodeDef *other = is_whole ? b->node[i] : find_node(b, a->node[i]->name);
        assert_string_equal(a->node[i]->name, other->name);
        node_is_kept(a->node[i], other, arena);
        if (is_whole)
            node_is_kept(other, a->node[i], arena);
    }
    assert_true(is_same_message(&a->versions->base, &b->versions->base, arena));
}

/* ---- Files ---- */

static void goes_through(const char *file, bool is_whole)
{
    weir_arena arena = {0};
    weir_graph *graph = weir_graph_new();
    weir_graph *again = weir_graph_new();
    bytes original = read_graph(file);
    bytes binary = {0};
    bytes last = {0};
    char *text = NULL;
    status_ok(weir_graph_import(weir_root(graph), original.data, original.size, NULL));
    status_ok(weir_graph_export(graph, &binary.data, &binary.size));
    graph_is_kept(unpack(original, &arena), unpack(binary, &arena), is_whole, &arena);

    status_ok(weir_graph_export_text(graph, &text));
    weir_import_options options = {.size = sizeof options, .is_text = true};
    status_ok(weir_graph_import(weir_root(again), text, strlen(text), &options));
    status_ok(weir_graph_export(again, &last.data, &last.size));
    assert_int_equal(last.size, binary.size);
    assert_memory_equal(last.data, binary.data, binary.size);
    free(text);
    free(original.data);
    free(binary.data);
    free(last.data);
    weir_graph_free(graph);
    weir_graph_free(again);
    weir_arena_clear(&arena);
}

static void a_multilayer_perceptron_goes_through(void **state)
{
    goes_through("mlp.pb", true);
}

static void a_convolutional_network_goes_through(void **state)
{
    goes_through("cnn.pb", true);
}

static void a_frozen_graph_goes_through(void **state)
{
    goes_through("frozen.pb", true);
}

/* With loops, conditionals, queues, noted shapes, and without attributes that have their defaults. */
static void a_stripped_graph_goes_through(void **state)
{
    goes_through("mlp_stripped.pb", false);
}

static void text_and_bytes_mean_the_same(void **state)
{
    static const char *const names[][2] = {
        {"mlp.pb", "mlp.pbtxt"}, {"cnn.pb", "cnn.pbtxt"}, {"frozen.pb", "frozen.pbtxt"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bytes written[2] = {{0}};
        for (int form = 0; form < 2; form++) {
            bytes read = read_graph(names[i][form]);
            weir_graph *graph = weir_graph_new();
            status_ok(weir_graph_import(weir_root(graph), read.data, read.size, NULL));
            status_ok(weir_graph_export(graph, &written[form].data, &written[form].size));
            weir_graph_free(graph);
            free(read.data);
        }
        assert_int_equal(written[0].size, written[1].size);
        assert_memory_equal(written[0].data, written[1].data, written[0].size);
        free(written[0].data);
        free(written[1].data);
    }
}

static void text_goes_in_as_it_is(void **state)
{
    bytes text = read_file("frozen.pbtxt");
    weir_import_options options = {.size = sizeof options, .is_text = true};
    status_ok(weir_graph_import(weir_root(*state), text.data, text.size, &options));
    assert_int_equal(weir_graph_num_nodes(*state), 14);
    free(text.data);
}

static void static_shapes_of_an_import_are_known(void **state)
{
    bytes binary = read_file("frozen.pb");
    status_ok(weir_graph_import(weir_root(*state), binary.data, binary.size, NULL));
    for (int i = 0; i < weir_graph_num_nodes(*state); i++) {
        weir_shape shape = weir_output_shape(weir_out(weir_graph_node(*state, i), 0));
        assert_int_not_equal(shape.rank, WEIR_UNKNOWN_RANK);
    }
    free(binary.data);
}

static void functions_that_are_called_are_named(void **state)
{
    bytes binary = read_file("function.pb");
    status_fails(weir_graph_import(weir_root(*state), binary.data, binary.size, NULL), WEIR_UNIMPLEMENTED, "'Twice'");
    assert_int_equal(weir_graph_num_nodes(*state), 0);
    free(binary.data);
}

/* ---- What Weir writes ---- */

static char *text_of(weir_graph *graph)
{
    char *text = NULL;
    status_ok(weir_graph_export_text(graph, &text));
    return text;
}

static void writes(weir_graph *graph, const char *expected)
{
    char *text = text_of(graph);
    if (strstr(text, expected) == NULL)
        fail_msg("%s\nis not in\n%s", expected, text);
    free(text);
}

static void nodes_are_written_as_built(void **state)
{
    weir_scope s = weir_on_device(weir_root(*state), "/job:ps/task:0/cpu:0");
    weir_output x = weir_out(
        weir_op(weir_root(*state), "Placeholder", WEIR_ATTRS(WEIR_ATTR_T("dtype", WEIR_FLOAT)), .name = "x"), 0);
    weir_node *init = weir_op(weir_root(*state), "NoOp", .name = "init");
    weir_op(weir_after(s, init), "AddN", WEIR_INPUTS(x, x), .name = "y");
    char *text = text_of(*state);
    assert_string_equal(
        text,
        "node {\n  name: \"x\"\n  op: \"Placeholder\"\n"
        "  attr {\n    key: \"dtype\"\n    value {\n      type: DT_FLOAT\n    }\n  }\n"
        "  attr {\n    key: \"shape\"\n    value {\n      shape {\n        unknown_rank: true\n      }\n    }\n  }\n}\n"
        "node {\n  name: \"init\"\n  op: \"NoOp\"\n}\n"
        "node {\n  name: \"y\"\n  op: \"AddN\"\n  input: \"x\"\n  input: \"x\"\n  input: \"^init\"\n"
        "  device: \"/job:ps/task:0/device:CPU:0\"\n"
        "  attr {\n    key: \"N\"\n    value {\n      i: 2\n    }\n  }\n"
        "  attr {\n    key: \"T\"\n    value {\n      type: DT_FLOAT\n    }\n  }\n}\n"
        "versions {\n  producer: 2474\n}\n");
    free(text);
}

static void outputs_but_the_first_have_an_index(void **state)
{
    weir_scope s = weir_root(*state);
    weir_node *parts = weir_split(s, weir_const(s, WEIR_FLOATS(1, 2)), 2, 0);
    weir_identity(s, weir_out(parts, 0), .name = "a");
    weir_identity(s, weir_out(parts, 1), .name = "b");
    writes(*state, "op: \"Identity\"\n  input: \"split\"\n");
    writes(*state, "op: \"Identity\"\n  input: \"split:1\"\n");
}

/* One value for many, as TensorFlow's constant(0., shape=...) and zeros. */
static void equal_elements_are_written_once(void **state)
{
    weir_scope s = weir_root(*state);
    weir_const(s, WEIR_TENSOR_SHAPED(WEIR_FLOAT, WEIR_SHAPE(2, 3), ((float[]){1, 1, 1, 1, 1, 1})), .name = "ones");
    weir_const(s, WEIR_FLOATS(1, 2), .name = "counts");
    weir_const(s, WEIR_FLOATS(0.0F, -0.0F), .name = "signs");
    weir_const(s, WEIR_FLOAT_OF(3), .name = "scalar");
    weir_const(s, WEIR_INT32S(7, 7, 7), .name = "sevens");
    weir_const(s, WEIR_STRING_OF("hi"), .name = "text");
    weir_const(s, WEIR_TENSOR_SHAPED(WEIR_BOOL, WEIR_SHAPE(3), ((bool[]){true, true, true})), .name = "truths");
    weir_tensor *strings = NULL;
    status_ok(weir_tensor_strings((const char *const[]){"ab", "ab"}, 2, &strings));
    weir_const_tensor(s, strings, "strings");
    weir_tensor_free(strings);
    graph_is_ok(*state);
    writes(
        *state,
        "        tensor_shape {\n          dim {\n            size: 2\n          }\n          dim {\n            size: 3\n"
        "          }\n        }\n        float_val: 1.0\n      }\n");
    writes(*state, "tensor_content: \"\\000\\000\\200?\\000\\000\\000@\"\n");
    writes(*state, "tensor_content: \"\\000\\000\\000\\000\\000\\000\\000\\200\"\n");
    writes(*state, "        tensor_shape {\n        }\n        float_val: 3.0\n      }\n");
    writes(*state, "          dim {\n            size: 3\n          }\n        }\n        int_val: 7\n      }\n");
    writes(*state, "        tensor_shape {\n        }\n        string_val: \"hi\"\n      }\n");
    writes(*state, "          dim {\n            size: 3\n          }\n        }\n        bool_val: true\n      }\n");
    writes(*state,
           "          dim {\n            size: 2\n          }\n        }\n        string_val: \"ab\"\n      }\n");
}

static void every_kind_of_attribute_goes_through(void **state)
{
    weir_graph *graph = *state;
    weir_tensor *tensor = NULL;
    status_ok(weir_tensor_from(WEIR_INT32, WEIR_SHAPE(2), (int32_t[]){1, 2}, &tensor));
    weir_attr inner = WEIR_ATTR_I("n", 3);
    weir_function_attr function = {"F", 1, &inner};
    weir_function_attr functions[] = {function, {"G", 0, NULL}};
    weir_bytes strings[] = {{"a\0b", 3}, {"", 0}};
    bool truths[] = {true, false};
    float floats[] = {1.5F, -0.0F};
    weir_tensor *tensors[] = {tensor, tensor};
    weir_shape shapes[] = {WEIR_SCALAR, weir_shape_unknown(), WEIR_SHAPE(-1, 2)};
    weir_op(weir_root(graph), "NoOp",
            WEIR_ATTRS(
                {"_s", {.kind = WEIR_ATTR_STRING, .s = {"\xff\0x", 3}}}, WEIR_ATTR_I("_i", INT64_MIN),
                WEIR_ATTR_F("_f", 0.1F), WEIR_ATTR_B("_b", false), WEIR_ATTR_T("_type", WEIR_FLOAT + WEIR_REF_OFFSET),
                WEIR_ATTR_SH("_shape", WEIR_SHAPE(-1, 0)), WEIR_ATTR_TENSOR_OF("_tensor", tensor),
                {"_func", {.kind = WEIR_ATTR_FUNCTION, .function = &function}}, {"_none", {0}},
                WEIR_ATTR_STRINGS("_ls", strings, 2), WEIR_ATTR_INTS("_li", ((int64_t[]){-1, 5}), 2),
                {"_lf", {.kind = WEIR_ATTR_LIST + WEIR_ATTR_FLOAT, .list = {.count = 2, .f = floats}}},
                {"_lb", {.kind = WEIR_ATTR_LIST + WEIR_ATTR_BOOL, .list = {.count = 2, .b = truths}}},
                WEIR_ATTR_TYPES("_lt", ((weir_dtype[]){WEIR_FLOAT, WEIR_INT64}), 2),
                WEIR_ATTR_SHAPES("_lshape", shapes, 3),
                {"_ltensor", {.kind = WEIR_ATTR_LIST + WEIR_ATTR_TENSOR, .list = {.count = 2, .tensor = tensors}}},
                {"_lfunc", {.kind = WEIR_ATTR_LIST + WEIR_ATTR_FUNCTION, .list = {.count = 2, .any = functions}}},
                WEIR_ATTR_INTS("_empty", NULL, 0)),
            .name = "n");
    weir_tensor_free(tensor);
    graph_is_ok(graph);
    void *first = NULL;
    void *second = NULL;
    size_t size = 0;
    size_t second_size = 0;
    status_ok(weir_graph_export(graph, &first, &size));
    weir_graph *again = weir_graph_new();
    status_ok(weir_graph_import(weir_root(again), first, size, NULL));
    status_ok(weir_graph_export(again, &second, &second_size));
    assert_int_equal(size, second_size);
    assert_memory_equal(first, second, size);
    weir_attr_value value;
    weir_node *node = weir_graph_find(again, "n");
    assert_int_equal(weir_node_num_attrs(node), 18);
    assert_true(weir_node_attr(node, "_lfunc", &value));
    const weir_function_attr *read = value.list.any;
    assert_int_equal(value.list.count, 2);
    assert_string_equal(read[0].name, "F");
    assert_string_equal(read[0].attrs[0].name, "n");
    assert_int_equal(read[0].attrs[0].value.i, 3);
    assert_true(weir_node_attr(node, "_ltensor", &value));
    assert_int_equal(weir_tensor_int32s(value.list.tensor[1])[1], 2);
    assert_true(weir_node_attr(node, "_ls", &value));
    assert_memory_equal(value.list.s[0].data, "a\0b", 3);
    weir_graph_free(again);
    free(first);
    free(second);
}

static void a_graph_with_an_error_is_not_written(void **state)
{
    void *bytes = NULL;
    size_t size = 0;
    char *text = NULL;
    constant(weir_root(*state), "a b");
    status_fails(weir_graph_export(*state, &bytes, &size), WEIR_INVALID_ARGUMENT, "'a b' is not a valid node name");
    status_fails(weir_graph_export_text(*state, &text), WEIR_INVALID_ARGUMENT, "'a b' is not a valid node name");
    assert_null(bytes);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_multilayer_perceptron_goes_through),
        cmocka_unit_test(a_convolutional_network_goes_through),
        cmocka_unit_test(a_frozen_graph_goes_through),
        cmocka_unit_test(a_stripped_graph_goes_through),
        cmocka_unit_test(text_and_bytes_mean_the_same),
        GRAPH_TEST(text_goes_in_as_it_is),
        GRAPH_TEST(static_shapes_of_an_import_are_known),
        GRAPH_TEST(functions_that_are_called_are_named),
        GRAPH_TEST(nodes_are_written_as_built),
        GRAPH_TEST(outputs_but_the_first_have_an_index),
        GRAPH_TEST(equal_elements_are_written_once),
        GRAPH_TEST(every_kind_of_attribute_goes_through),
        GRAPH_TEST(a_graph_with_an_error_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
