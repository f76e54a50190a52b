/*
 * Messages: golden files there and back, and bytes that must not get past the scan.
 */
#include "format/format_test.h"

#include "base/memory.h"
#include "format/message.h"
#include "format/message_merge.h"
#include "proto/checkpoint.pb-c.h"
#include "proto/config.pb-c.h"
#include "proto/graph.pb-c.h"
#include "proto/meta_graph.pb-c.h"

static const ProtobufCMessageDescriptor *const graph_descriptor = &weir__graph_def__descriptor;

/* Reads and writes again: the same bytes, as TensorFlow writes fields in the order of their numbers too. */
static void check_same_bytes(const ProtobufCMessageDescriptor *descriptor, const char *path)
{
    bytes file = read_whole(path);
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    void *packed = NULL;
    size_t length = 0;
    ok(weir_message_unpack(descriptor, file.data, file.length, &arena, &message));
    ok(weir_message_pack(message, &packed, &length));
    assert_int_equal(length, file.length);
    assert_memory_equal(packed, file.data, length);
    weir_release(packed);
    weir_arena_clear(&arena);
    free(file.data);
}

static void golden_files_keep_their_bytes(void **state)
{
    check_same_bytes(graph_descriptor, DATA "graphs/attr_forms.pb");
    check_same_bytes(graph_descriptor, DATA "graphs/frozen.pb");
    check_same_bytes(graph_descriptor, DATA "graphs/mlp.pb");
    check_same_bytes(graph_descriptor, DATA "graphs/cnn.pb");
    check_same_bytes(&weir__meta_graph_def__descriptor, DATA "graphs/mlp.meta");
}

static void reads_what_the_file_says(void **state)
{
    bytes file = read_whole(DATA "graphs/function.pb");
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    ok(weir_message_unpack(graph_descriptor, file.data, file.length, &arena, &message));
    const Weir__GraphDef *graph = (const Weir__GraphDef *)message;
    assert_int_equal(graph->library->n_function, 1);
    assert_string_equal(graph->library->function[0]->signature->name, graph->node[graph->n_node - 1]->op);
    weir_arena_clear(&arena);
    free(file.data);
}

/* ---- bytes by hand ------------------------------------------------------------------------------------------------- */

static weir_status unpack_hex(const ProtobufCMessageDescriptor *descriptor, const char *hex, weir_arena *arena,
                              ProtobufCMessage **out)
{
    bytes message = from_hex(hex);
    weir_status status = weir_message_unpack(descriptor, message.data, message.length, arena, out);
    free(message.data);
    return status;
}

static void damaged_bytes_are_named(void **state)
{
    static const struct {
        const char *hex;
        const char *words;
    } cases[] = {
        {"0a", "byte 0, in node: cut or overlong length"},
        {"0a05", "byte 0, in node: value longer than what is left"},
        {"0a040a0a61", "byte 0, in node: value longer than what is left"},
        {"0a030a0a61", "byte 2, in node.name: value longer than what is left"},
        {"0affffffffffffffffff01", "in node: value longer than what is left"},
        {"0affffffffffffffffffff01", "in node: cut or overlong length"},
        {"0b0c", "byte 0, in node: a group, which no message has"},
        {"0c", "a group"},
        {"0e", "unknown wire type"},
        {"0f", "unknown wire type"},
        {"00", "impossible field number"},
        {"80", "cut or overlong tag"},
        {"808080808001", "cut or overlong tag"},
        {"f8ffffff7f00", "cut or overlong tag"},
        {"1880", "in version: cut or overlong varint"},
        {"18ffffffffffffffffffff01", "in version: cut or overlong varint"},
        {"0800", "in node: wire type of another kind of field"},
        {"1a0100", "in version: wire type of another kind of field"},
        {"0a030a0100", "byte 2, in node.name: zero byte in a string"},
        {"22031a0180", "in versions.bad_consumers: cut or overlong varint"},
        /* node.attr{value{list{f: 3 bytes}}} */
        {"0a0b2a0912070a052203000000", "in node.attr.value.list.f: length is no multiple of 4"},
        {"3d0000", "value longer than what is left"}, /* an unknown field of 4 bytes */
        {"3900000000000000", "value longer than what is left"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_arena arena = {0};
        ProtobufCMessage *message = NULL;
        fails_with(unpack_hex(graph_descriptor, cases[i].hex, &arena, &message), WEIR_DATA_LOSS, cases[i].words);
        assert_null(message);
        weir_arena_clear(&arena);
    }
}

static void accepts_the_freedoms_of_the_wire(void **state)
{
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    /* Unknown fields of every kind, a varint of ten bytes, packed and single elements mixed. */
    ok(unpack_hex(graph_descriptor,
                  "9a060161a8060bb506000000009906000000000000000018ffffffffffffffffff7f"
                  "2209"
                  "1a020102"
                  "18031a0104",
                  &arena, &message));
    const Weir__GraphDef *graph = (const Weir__GraphDef *)message;
    assert_int_equal(graph->version, -1);
    assert_int_equal(graph->versions->n_bad_consumers, 4);
    assert_int_equal(graph->versions->bad_consumers[3], 4);
    assert_int_equal(graph->n_node, 0);
    weir_arena_clear(&arena);
    /* No bytes at all are an empty message. */
    ok(weir_message_unpack(graph_descriptor, "", 0, &arena, &message));
    weir_arena_clear(&arena);
}

static void entries_of_maps_have_values(void **state)
{
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    /* attr{key "a"}, attr{value{b}}, and one inside a list of functions */
    ok(unpack_hex(graph_descriptor,
                  "0a19"
                  "2a030a0161"
                  "2a0412022801"
                  "2a0c120a0a084a061204"
                  "0a026162",
                  &arena, &message));
    const Weir__NodeDef *node = ((const Weir__GraphDef *)message)->node[0];
    assert_int_equal(node->n_attr, 3);
    assert_non_null(node->attr[0]->value);
    assert_int_equal(node->attr[0]->value->value_case, WEIR__ATTR_VALUE__VALUE__NOT_SET);
    assert_string_equal(node->attr[1]->key, "");
    assert_int_equal(node->attr[1]->value->b, 1);
    const Weir__NameAttrList *function = node->attr[2]->value->list->func[0];
    assert_string_equal(function->attr[0]->key, "ab");
    assert_non_null(function->attr[0]->value);
    weir_arena_clear(&arena);
}

static void repeated_message_fields_are_merged(void **state)
{
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    /* versions{producer 5}, versions{min_consumer 6, bad_consumers 7}, versions{bad_consumers 8} */
    ok(unpack_hex(graph_descriptor,
                  "22020805220410061807220218"
                  "08",
                  &arena, &message));
    const Weir__GraphDef *graph = (const Weir__GraphDef *)message;
    assert_int_equal(graph->versions->producer, 5);
    assert_int_equal(graph->versions->min_consumer, 6);
    assert_int_equal(graph->versions->n_bad_consumers, 2);
    weir_arena_clear(&arena);
    /* Two attribute values in one entry: both without a member set; list then list; list, then a string, then list. */
    ok(unpack_hex(graph_descriptor, "0a062a0412001200", &arena, &message));
    weir_arena_clear(&arena);
    ok(unpack_hex(graph_descriptor, "0a122a1012060a041a02010212060a041a020304", &arena, &message));
    const Weir__AttrValue *value = ((const Weir__GraphDef *)message)->node[0]->attr[0]->value;
    assert_int_equal(value->value_case, WEIR__ATTR_VALUE__VALUE_LIST);
    assert_int_equal(value->list->n_i, 4);
    assert_int_equal(value->list->i[3], 4);
    weir_arena_clear(&arena);
    ok(unpack_hex(graph_descriptor,
                  "0a172a1512060a041a0201021203120178"
                  "12060a041a020304",
                  &arena, &message));
    value = ((const Weir__GraphDef *)message)->node[0]->attr[0]->value;
    assert_int_equal(value->value_case, WEIR__ATTR_VALUE__VALUE_LIST);
    assert_int_equal(value->list->n_i, 2);
    assert_int_equal(value->list->i[0], 3);
    weir_arena_clear(&arena);
    /* The other member last. */
    ok(unpack_hex(graph_descriptor,
                  "0a172a1512060a041a02010212060a041a02030412"
                  "03120178",
                  &arena, &message));
    value = ((const Weir__GraphDef *)message)->node[0]->attr[0]->value;
    assert_int_equal(value->value_case, WEIR__ATTR_VALUE__VALUE_S);
    assert_int_equal(value->s.len, 1);
    weir_arena_clear(&arena);
}

/* ---- nesting, sizes ------------------------------------------------------------------------------------------------ */

/* FullTypeDef{args{args{...}}}, depth messages in all. */
static bytes nested(size_t depth)
{
    size_t size = 0;
    uint8_t *reversed = malloc(depth * 8 + 8);
    for (size_t i = 1; i < depth; i++) {
        size_t length = size;
        uint8_t head[12] = {0x12};
        size_t used = 1;
        for (; length >= 0x80; length >>= 7)
            head[used++] = (uint8_t)(length | 0x80);
        head[used++] = (uint8_t)length;
        while (used > 0)
            reversed[size++] = head[--used];
    }
    bytes message = {.data = calloc(size + 1, 1), .length = size};
    for (size_t i = 0; i < size; i++)
        message.data[i] = reversed[size - 1 - i];
    free(reversed);
    return message;
}

static weir_status unpack_nested(size_t depth)
{
    bytes message = nested(depth);
    weir_arena arena = {0};
    ProtobufCMessage *out = NULL;
    weir_status status =
        weir_message_unpack(&weir__full_type_def__descriptor, message.data, message.length, &arena, &out);
    weir_arena_clear(&arena);
    free(message.data);
    return status;
}

static void nesting_is_bounded(void **state)
{
    ok(unpack_nested(1));
    ok(unpack_nested(100));
    fails_with(unpack_nested(101), WEIR_DATA_LOSS, "nested deeper than 100 messages");
    fails_with(unpack_nested(1000000), WEIR_DATA_LOSS, "nested deeper than 100 messages");
}

static void memory_is_bounded(void **state)
{
    /* A million empty nodes, and a million unknown fields, in two bytes each. */
    size_t length = 2000000;
    uint8_t *message = calloc(length, 1);
    for (int kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < length; i += 2)
            message[i] = kind == 0 ? 0x0a : 0x7a;
        weir_arena arena = {0};
        ProtobufCMessage *out = NULL;
        weir_status status = weir_message_unpack(graph_descriptor, message, length, &arena, &out);
        if (!weir_ok(status))
            fails_with(status, WEIR_RESOURCE_EXHAUSTED, "Cannot read GraphDef: 2000000 bytes would take more than");
        assert_true(weir_arena_size(&arena) < 512UL * length);
        weir_arena_clear(&arena);
    }
    /* A quarter of a million times the same field: merging stays linear. */
    static const uint8_t versions[] = {0x22, 2, 0x18, 1};
    for (size_t i = 0; i < length; i++)
        message[i] = versions[i % 4];
    weir_arena arena = {0};
    ProtobufCMessage *out = NULL;
    ok(weir_message_unpack(graph_descriptor, message, length, &arena, &out));
    assert_int_equal(((Weir__GraphDef *)out)->versions->n_bad_consumers, length / 4);
    weir_arena_clear(&arena);
    free(message);
}

/* Every prefix of a file is refused or is a message; a cut inside the last node is noticed. */
static void truncation_at_every_byte(void **state)
{
    bytes file = read_whole(DATA "graphs/attr_forms.pb");
    int refused = 0;
    for (size_t length = 0; length < file.length; length++) {
        uint8_t *cut = malloc(length + 1); /* of its own, so that reading beyond is seen */
        memcpy(cut, file.data, length);
        weir_arena arena = {0};
        ProtobufCMessage *out = NULL;
        refused += !weir_ok(weir_message_unpack(graph_descriptor, cut, length, &arena, &out));
        weir_arena_clear(&arena);
        free(cut);
    }
    assert_true(refused > (int)file.length - 10);
    free(file.data);
}

static void sessions_options_bytes(void **state)
{
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    ok(unpack_hex(&weir__config_proto__descriptor, "22072f6a6f623a70733202200138010a070a034750551000", &arena,
                  &message));
    const Weir__ConfigProto *config = (const Weir__ConfigProto *)message;
    assert_true(config->allow_soft_placement);
    assert_true(config->gpu_options->allow_growth);
    assert_string_equal(config->device_filters[0], "/job:ps");
    assert_string_equal(config->device_count[0]->key, "GPU");
    weir_arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_keep_their_bytes),
        cmocka_unit_test(reads_what_the_file_says),
        cmocka_unit_test(damaged_bytes_are_named),
        cmocka_unit_test(accepts_the_freedoms_of_the_wire),
        cmocka_unit_test(entries_of_maps_have_values),
        cmocka_unit_test(repeated_message_fields_are_merged),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(truncation_at_every_byte),
        cmocka_unit_test(sessions_options_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
