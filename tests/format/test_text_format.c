/*
 * The text form of messages: golden files both ways, the freedoms of reading, and faults with their places.
 */
#include "format/format_test.h"

#include <float.h>
#include <locale.h>
#include <math.h>

#include "base/memory.h"
#include "format/decimal.h"
#include "format/text_format.h"
#include "proto/checkpoint.pb-c.h"
#include "proto/graph.pb-c.h"

static char *text_of(const ProtobufCMessage *message)
{
    weir_text text = {0};
    char *taken = NULL;
    ok(weir_message_to_text(message, &text));
    ok(weir_text_take(&text, &taken));
    return taken;
}

static weir_status read_graph(const char *text, weir_arena *arena, Weir__GraphDef **out)
{
    ProtobufCMessage *message = NULL;
    WEIR_TRY(weir_message_from_text(&weir__graph_def__descriptor, text, strlen(text), arena, &message));
    *out = (Weir__GraphDef *)message;
    return WEIR_STATUS_OK;
}

/* The binary file, written as text, is TensorFlow's text; that text, read, says the same as the binary file. */
static void check_golden(const char *binary, const char *text)
{
    bytes pb = read_whole(binary);
    bytes pbtxt = read_whole(text);
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    Weir__GraphDef *graph = NULL;
    ok(weir_message_unpack(&weir__graph_def__descriptor, pb.data, pb.length, &arena, &message));
    char *written = text_of(message);
    assert_string_equal(written, (char *)pbtxt.data);
    ok(read_graph((char *)pbtxt.data, &arena, &graph));
    char *again = text_of(&graph->base);
    assert_string_equal(again, written);
    size_t size = protobuf_c_message_get_packed_size(message);
    assert_int_equal(protobuf_c_message_get_packed_size(&graph->base), size);
    weir_release(again);
    weir_release(written);
    weir_arena_clear(&arena);
    free(pbtxt.data);
    free(pb.data);
}

static void golden_files_both_ways(void **state)
{
    check_golden(DATA "graphs/attr_forms.pb", DATA "graphs/attr_forms.pbtxt");
    check_golden(DATA "graphs/function.pb", DATA "graphs/function.pbtxt");
    check_golden(DATA "graphs/frozen.pb", DATA "graphs/frozen.pbtxt");
    check_golden(DATA "graphs/mlp.pb", DATA "graphs/mlp.pbtxt");
    check_golden(DATA "graphs/cnn.pb", DATA "graphs/cnn.pbtxt");
}

static const Weir__AttrValue *attr_of(const Weir__NodeDef *node, const char *key)
{
    for (size_t i = 0; i < node->n_attr; i++) {
        if (strcmp(node->attr[i]->key, key) == 0)
            return node->attr[i]->value;
    }
    fail_msg("no attr %s", key);
    return NULL;
}

static void takes_every_freedom(void **state)
{
    bytes text = read_whole(DATA "graphs/attr_forms_loose.pbtxt");
    weir_arena arena = {0};
    Weir__GraphDef *graph = NULL;
    ok(read_graph((char *)text.data, &arena, &graph));
    const Weir__NodeDef *node = graph->node[0];
    assert_int_equal(graph->versions->producer, 24);
    assert_string_equal(node->name, "forms");
    assert_string_equal(node->op, "Forms");
    assert_int_equal(node->n_input, 3);
    assert_string_equal(node->input[2], "^c");
    assert_int_equal(node->n_attr, 9);
    assert_int_equal(attr_of(node, "i")->i, 16);
    assert_int_equal(attr_of(node, "o")->i, 8);
    assert_int_equal(attr_of(node, "t")->type, WEIR__DATA_TYPE__DT_FLOAT);
    assert_int_equal(attr_of(node, "b")->b, 1);
    assert_true(attr_of(node, "f")->f == 1500.0F);
    assert_true(attr_of(node, "g")->f == 2.0F);
    assert_true(isinf(attr_of(node, "h")->f) && attr_of(node, "h")->f < 0);
    assert_int_equal(attr_of(node, "l")->list->n_i, 4);
    assert_int_equal(attr_of(node, "l")->list->i[3], 4);
    assert_int_equal(attr_of(node, "s")->s.len, 6);
    assert_memory_equal(attr_of(node, "s")->s.data, "\x41\x41\x0a\xc3\xa9\x27", 6);
    weir_arena_clear(&arena);
    free(text.data);
}

static void more_freedoms(void **state)
{
    static const struct {
        const char *text;
        const char *canonical;
    } cases[] = {
        {"", ""},
        {" # nothing\n", ""},
        {"version:-0x10", "version: -16\n"},
        {"version: 2147483647;", "version: 2147483647\n"},
        {"version: -2147483648,", "version: -2147483648\n"},
        {"versions<bad_consumers:[]bad_consumers:[1,2],bad_consumers:3>",
         "versions {\n  bad_consumers: 1\n  bad_consumers: 2\n  bad_consumers: 3\n}\n"},
        {"node: [{name:'a'}, <name:\"b\">]", "node {\n  name: \"a\"\n}\nnode {\n  name: \"b\"\n}\n"},
        {"node {attr{key:'k'}}", "node {\n  attr {\n    key: \"k\"\n    value {\n    }\n  }\n}\n"},
        {"node {attr{value{b:0}}}", "node {\n  attr {\n    value {\n      b: false\n    }\n  }\n}\n"},
        {"node {attr{key:'b'value{type:77}}attr{key:'a'value{type:-1}}}",
         "node {\n  attr {\n    key: \"a\"\n    value {\n      type: -1\n    }\n  }\n"
         "  attr {\n    key: \"b\"\n    value {\n      type: 77\n    }\n  }\n}\n"},
        {"node{name:'\\U0001f600\\ud83d\\ude00\\xc3\\xa9\\377'}",
         "node {\n  name: \"\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xc3\xa9\\377\"\n}\n"},
        {"node{attr{key:'s'value{s:'\\0\\a\\?\\v\\u00e9'}}}",
         "node {\n  attr {\n    key: \"s\"\n    value {\n      s: \"\\000\\007?\\013\\303\\251\"\n    }\n  }\n}\n"},
        {"node{attr{key:'f'value{f:-Infinity}}attr{key:'g'value{f:-nan}}attr{key:'h'value{f:1e40}}"
         "attr{key:'i'value{f:.5F}}attr{key:'j'value{f:-0.}}}",
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_arena arena = {0};
        Weir__GraphDef *graph = NULL;
        ok(read_graph(cases[i].text, &arena, &graph));
        char *text = text_of(&graph->base);
        if (cases[i].canonical != NULL) {
            assert_string_equal(text, cases[i].canonical);
        } else {
            assert_non_null(strstr(text, "f: -inf\n"));
            assert_non_null(strstr(text, "f: nan\n"));
            assert_non_null(strstr(text, "f: inf\n"));
            assert_non_null(strstr(text, "f: 0.5\n"));
            assert_non_null(strstr(text, "f: -0.0\n"));
        }
        weir_release(text);
        weir_arena_clear(&arena);
    }
}

static void faults_are_named_with_their_places(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"node {\n  nme: \"a\"\n}",
         "Cannot parse GraphDef text: 2:3: NodeDef has no field 'nme'; did you mean 'name'?"},
        {"xyzzyxyzzy: 1", "1:1: GraphDef has no field 'xyzzyxyzzy'"},
        {"node {", "1:7: '}' is missing at the end of the text"},
        {"node { name: \"a\" >", "1:18: expected the name of a field of NodeDef, not '>'"},
        {"node { name: \"a }\n}", "1:14: string without closing quote: \"a }"},
        {"node { name: 'a\\", "string without closing quote"},
        {"node { name \"a\" }", "1:13: name: expected ':', not \"a\""},
        {"node { name: a }", "name: expected a string in quotes, not 'a'"},
        {"node { name: }", "name: expected a string in quotes, not '}'"},
        {"node { name: \"a\" name: \"b\" }", "1:18: name stands twice in one NodeDef"},
        {"node: \"a\"", "node: expected '{', not \"a\""},
        {"node: 5", "node: expected '{', not '5'"},
        {"versions { producer: 1.5 }", "1:22: producer: expected an integer, not '1.5'"},
        {"versions { producer: 08 }", "expected an integer, not '08'"},
        {"versions { producer: 5x }", "expected an integer, not '5x'"},
        {"versions { producer: - }", "expected an integer, not '}'"},
        {"versions { producer: 2147483648 }", "producer: 2147483648 is out of range"},
        {"versions { producer: -2147483649 }", "producer: -2147483649 is out of range"},
        {"versions { producer: 99999999999999999999999 }", "expected an integer, not '99999999999999999999999'"},
        {"versions { producer: [1] }", "producer takes one value, not a list"},
        {"versions { bad_consumers: [1, 2 }", "bad_consumers: expected ',' or ']', not '}'"},
        {"versions { bad_consumers: [1,] }", "bad_consumers: expected an integer, not ']'"},
        {"versions {} versions {}", "1:13: versions stands twice in one GraphDef"},
        {"node { attr { key: 'a' value { b: 2 } } }", "b: expected true or false, not '2'"},
        {"node { attr { key: 'a' value { b: yes } } }", "b: expected true or false, not 'yes'"},
        {"node { attr { key: 'a' value { b: true i: 1 } } }", "b and i exclude each other in one AttrValue"},
        {"node { attr { key: 'a' value { type: DT_FLOOT } } }", "1:38: type: 'DT_FLOOT' is no DataType"},
        {"node { attr { key: 'a' value { type: 4294967296 } } }", "type: 4294967296 is out of range"},
        {"node { attr { key: 'a' value { f: 1.2.3 } } }", "f: expected a number, not '1.2.3'"},
        {"node { attr { key: 'a' value { f: 0x10 } } }", "f: expected a number, not '0x10'"},
        {"node { attr { key: 'a' value { f: infinit } } }", "f: expected a number, not 'infinit'"},
        {"node { attr { key: 'a' value { s: '\\q' } } }", "1:35: impossible escape \\q in '\\q'"},
        {"node { attr { key: 'a' value { s: '\\x' } } }", "impossible escape \\x"},
        {"node { attr { key: 'a' value { s: '\\400' } } }", "impossible escape \\400"},
        {"node { attr { key: 'a' value { s: '\\u12' } } }", "impossible escape \\u12"},
        {"node { attr { key: 'a' value { s: '\\ud800' } } }", "impossible escape \\ud800"},
        {"node { attr { key: 'a' value { s: '\\U00110000' } } }", "impossible escape \\U00110000"},
        {"node { name: 'a\\0b' }", "name: zero byte in a string"},
        {"[type.googleapis.com/x] {}", "expected the name of a field of GraphDef, not '['"},
        {"\x01", "expected the name of a field of GraphDef"},
        {"# c\n\n   ?", "3:4: expected the name of a field of GraphDef, not '?'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_arena arena = {0};
        Weir__GraphDef *graph = NULL;
        fails_with(read_graph(cases[i].text, &arena, &graph), WEIR_INVALID_ARGUMENT, cases[i].words);
        assert_null(graph);
        weir_arena_clear(&arena);
    }
}

static void truncation_at_every_byte(void **state)
{
    bytes text = read_whole(DATA "graphs/attr_forms.pbtxt");
    for (size_t length = 0; length < text.length; length++) {
        char *cut = malloc(length + 1);
        memcpy(cut, text.data, length);
        weir_arena arena = {0};
        ProtobufCMessage *message = NULL;
        weir_status status = weir_message_from_text(&weir__graph_def__descriptor, cut, length, &arena, &message);
        assert_true(length == 0 || status.code == WEIR_INVALID_ARGUMENT || length > text.length - 30);
        weir_arena_clear(&arena);
        free(cut);
    }
    free(text.data);
}

static weir_status read_nested(size_t depth)
{
    weir_text text = {0};
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    for (size_t i = 1; i < depth; i++)
        weir_text_append(&text, "args{");
    for (size_t i = 1; i < depth; i++)
        weir_text_append(&text, "}");
    weir_status status =
        weir_message_from_text(&weir__full_type_def__descriptor, weir_text_get(&text), text.length, &arena, &message);
    weir_text again = {0};
    if (weir_ok(status))
        status = weir_message_to_text(message, &again);
    weir_text_clear(&again);
    weir_text_clear(&text);
    weir_arena_clear(&arena);
    return status;
}

static void nesting_is_bounded(void **state)
{
    ok(read_nested(100));
    fails_with(read_nested(101), WEIR_INVALID_ARGUMENT, "1:500: args: nested deeper than 100 messages");
    fails_with(read_nested(300000), WEIR_INVALID_ARGUMENT, "nested deeper than 100 messages");
}

/* ---- numbers ------------------------------------------------------------------------------------------------------- */

static void check_double(double value, const char *expected)
{
    weir_text text = {0};
    double again = 0;
    weir_decimal_append_double(&text, value);
    assert_string_equal(weir_text_get(&text), expected);
    if (isfinite(value)) {
        assert_true(weir_decimal_read(weir_text_get(&text), &again));
        assert_memory_equal(&again, &value, sizeof value);
    }
    weir_text_clear(&text);
}

static void check_numbers(void)
{
    check_double(0, "0.0");
    check_double(-0.0, "-0.0");
    check_double(3, "3.0");
    check_double(0.1, "0.1");
    check_double(1e-7, "1e-07");
    check_double(0.0001, "0.0001");
    check_double(0.00012345, "0.00012345");
    check_double(-123.456, "-123.456");
    check_double(1e10, "10000000000.0");
    check_double(1e15, "1000000000000000.0");
    check_double(1e16, "1e+16");
    check_double(1.5e300, "1.5e+300");
    check_double(5e-324, "5e-324");
    check_double(DBL_MAX, "1.7976931348623157e+308");
    check_double(0.1 + 0.2, "0.30000000000000004");
    check_double(INFINITY, "inf");
    check_double(-INFINITY, "-inf");
    check_double(NAN, "nan");
    weir_text text = {0};
    weir_decimal_append_float(&text, 0.1F);
    weir_text_append(&text, " ");
    weir_decimal_append_float(&text, FLT_MAX);
    weir_text_append(&text, " ");
    weir_decimal_append_float(&text, 16777217.0F);
    assert_string_equal(weir_text_get(&text), "0.1 3.4028235e+38 16777216.0");
    weir_text_clear(&text);
}

static void numbers_are_the_shortest(void **state)
{
    check_numbers();
}

static void numbers_ignore_the_locale(void **state)
{
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "fr_FR.UTF-8") == NULL)
        skip();
    check_numbers();
    setlocale(LC_ALL, "C");
}

static void no_numbers(void **state)
{
    static const char *const texts[] = {"", "-", "x", "1x", "0x10", "inf", "nan", " 1", "1 ", "1e", "--1", "1,5"};
    double value = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(weir_decimal_read(texts[i], &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_both_ways),
        cmocka_unit_test(takes_every_freedom),
        cmocka_unit_test(more_freedoms),
        cmocka_unit_test(faults_are_named_with_their_places),
        cmocka_unit_test(truncation_at_every_byte),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(numbers_are_the_shortest),
        cmocka_unit_test(numbers_ignore_the_locale),
        cmocka_unit_test(no_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
