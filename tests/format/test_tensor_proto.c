/*
 * Tensors and shapes to and from messages, against what TensorFlow encodes and decodes.
 */
#include "format/format_test.h"

#include "base/text.h"
#include "format/data/tensor_vectors.h"
#include "format/message.h"
#include "format/tensor_proto.h"
#include "tensor/tensor.h"

static Weir__TensorProto *proto_of(const char *wire, weir_arena *arena)
{
    bytes message = from_hex(wire);
    ProtobufCMessage *proto = NULL;
    ok(weir_message_unpack(&weir__tensor_proto__descriptor, message.data, message.length, arena, &proto));
    free(message.data);
    return (Weir__TensorProto *)proto;
}

static void check_decoding(const tensor_vector *vector)
{
    weir_arena arena = {0};
    weir_tensor *tensor = NULL;
    char shape[WEIR_SHAPE_TEXT_SIZE];
    weir_status status = weir_tensor_from_proto(proto_of(vector->wire, &arena), &tensor);
    if (vector->dtype == NULL) {
        fails_with(status, WEIR_INVALID_ARGUMENT, "Cannot parse tensor from proto: ");
        assert_null(tensor);
    } else {
        ok(status);
        char *value = shown(tensor);
        assert_string_equal(weir_dtype_name(weir_tensor_dtype(tensor)), vector->dtype);
        assert_string_equal(weir_shape_text(weir_tensor_shape(tensor), shape, sizeof shape), vector->shape);
        assert_string_equal(value, vector->value);
        free(value);
    }
    weir_tensor_free(tensor);
    weir_arena_clear(&arena);
}

static void decodes_like_tensorflow(void **state)
{
    for (size_t i = 0; i < sizeof const_vectors / sizeof *const_vectors; i++)
        check_decoding(&const_vectors[i]);
    for (size_t i = 0; i < sizeof decoding_vectors / sizeof *decoding_vectors; i++)
        check_decoding(&decoding_vectors[i]);
}

static char *encoded(const weir_tensor *tensor, weir_proto_form form)
{
    weir_arena arena = {0};
    Weir__TensorProto *proto = NULL;
    void *packed = NULL;
    size_t length = 0;
    ok(weir_tensor_to_proto(tensor, form, &arena, &proto));
    ok(weir_message_pack(&proto->base, &packed, &length));
    char *hex = to_hex(packed, length);
    free(packed);
    weir_arena_clear(&arena);
    return hex;
}

/* Python writes fewer values than elements when it is given fewer; a tensor does not know. */
static int gives_fewer_values(const tensor_vector *vector)
{
    return strcmp(vector->label, "fill") == 0 || strcmp(vector->label, "partly given") == 0;
}

static void encodes_constants_like_python(void **state)
{
    for (size_t i = 0; i < sizeof const_vectors / sizeof *const_vectors; i++) {
        const tensor_vector *vector = &const_vectors[i];
        weir_arena arena = {0};
        weir_tensor *tensor = NULL;
        if (gives_fewer_values(vector))
            continue;
        int serialized = strncmp(vector->label, "serialize_tensor", 16) == 0 && strcmp(vector->dtype, "string") != 0;
        ok(weir_tensor_from_proto(proto_of(vector->wire, &arena), &tensor));
        char *hex = encoded(tensor, serialized ? WEIR_PROTO_CONTENT : WEIR_PROTO_CONST);
        if (strcmp(hex, vector->wire) != 0)
            fail_msg("%s: %s, not %s", vector->label, hex, vector->wire);
        free(hex);
        weir_tensor_free(tensor);
        weir_arena_clear(&arena);
    }
}

static void content_reads_back(void **state)
{
    for (size_t i = 0; i < sizeof const_vectors / sizeof *const_vectors; i++) {
        weir_arena arena = {0};
        weir_tensor *tensor = NULL;
        ok(weir_tensor_from_proto(proto_of(const_vectors[i].wire, &arena), &tensor));
        char *hex = encoded(tensor, WEIR_PROTO_CONTENT);
        tensor_vector again = const_vectors[i];
        again.wire = hex;
        check_decoding(&again);
        free(hex);
        weir_tensor_free(tensor);
        weir_arena_clear(&arena);
    }
}

static void content_bytes(void **state)
{
    const float one = 1;
    const char *const texts[] = {"ab", "c"};
    weir_tensor *tensor = NULL;
    ok(weir_tensor_from(WEIR_FLOAT, WEIR_SCALAR, &one, &tensor));
    char *hex = encoded(tensor, WEIR_PROTO_CONTENT);
    assert_string_equal(hex, "0801120022040000803f");
    free(hex);
    weir_tensor_free(tensor);
    ok(weir_tensor_strings(texts, 2, &tensor));
    hex = encoded(tensor, WEIR_PROTO_CONTENT);
    assert_string_equal(hex, "080712041202080222050201616263");
    free(hex);
    weir_tensor_free(tensor);
}

static void variants_keep_their_bytes(void **state)
{
    /* DT_VARIANT [2] with one variant_val {type_name "T", metadata "m"}: repeated. */
    weir_arena arena = {0};
    weir_tensor *tensor = NULL;
    ok(weir_tensor_from_proto(proto_of("0815120412020802"
                                       "7a060a01541201"
                                       "6d",
                                       &arena),
                              &tensor));
    assert_int_equal(weir_tensor_string_elements(tensor)[1].size, 6);
    assert_memory_equal(weir_tensor_string_elements(tensor)[1].data, "\x0a\x01T\x12\x01m", 6);
    char *hex = encoded(tensor, WEIR_PROTO_CONTENT);
    assert_string_equal(hex, "081512041202080222"
                             "0e06060a015412016d0a015412016d");
    free(hex);
    hex = encoded(tensor, WEIR_PROTO_CONST);
    assert_string_equal(hex, "0815120412020802"
                             "7a060a015412016d7a060a015412016d");
    free(hex);
    weir_tensor_free(tensor);
    weir_arena_clear(&arena);
}

static void refuses_what_does_not_fit(void **state)
{
    static const struct {
        const char *wire;
        weir_code code;
        const char *words;
    } cases[] = {
        {"0814", WEIR_UNIMPLEMENTED, "resource handles"},
        {"08651200", WEIR_INVALID_ARGUMENT, "no element type"},   /* a reference type */
        {"08e8071200", WEIR_INVALID_ARGUMENT, "no element type"}, /* type 1000 */
        {"08011204120208022203616263", WEIR_INVALID_ARGUMENT, "3 bytes, but a float tensor of shape [2] has 8"},
        {"0801120d120b08feffffffffffffffff01", WEIR_INVALID_ARGUMENT, "Dimension 0 of a shape is -2"},
        {"0807120812060880808080102201ff", WEIR_INVALID_ARGUMENT, "too few for a string tensor"},
        {"080712041202080222050280808080", WEIR_INVALID_ARGUMENT, "do not fit"},
        /* lengths whose sum overflows */
        {"0807120412020802221600ffffffffffffffffff01ffffffffffffffffff0161", WEIR_INVALID_ARGUMENT, "do not fit"},
        /* 2^62 floats, 2^62 doubles: the bytes overflow */
        {"0801120c120a08808080808080808040", WEIR_RESOURCE_EXHAUSTED, "larger than any memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes message = from_hex(cases[i].wire);
        weir_arena arena = {0};
        weir_tensor *tensor = NULL;
        ProtobufCMessage *proto = NULL;
        weir_status status =
            weir_message_unpack(&weir__tensor_proto__descriptor, message.data, message.length, &arena, &proto);
        if (weir_ok(status))
            status = weir_tensor_from_proto((Weir__TensorProto *)proto, &tensor);
        fails_with(status, cases[i].code, cases[i].words);
        assert_null(tensor);
        weir_arena_clear(&arena);
        free(message.data);
    }
}

static void shapes(void **state)
{
    weir_arena arena = {0};
    Weir__TensorShapeProto *proto = NULL;
    weir_shape shape = weir_shape_scalar();
    ok(weir_shape_to_proto(&(weir_shape){2, {-1, 10}}, &arena, &proto));
    ProtobufCBinaryData packed = {0};
    ok(weir_message_pack_in(&proto->base, &arena, &packed));
    char *hex = to_hex(packed.data, packed.len);
    assert_string_equal(hex, "120b08ffffffffffffffffff011202080a");
    free(hex);
    ok(weir_shape_from_proto(proto, &shape));
    assert_true(weir_shape_equal(shape, WEIR_SHAPE(-1, 10)));
    shape = weir_shape_unknown();
    ok(weir_shape_to_proto(&shape, &arena, &proto));
    shape = weir_shape_scalar();
    ok(weir_shape_from_proto(proto, &shape));
    assert_int_equal(shape.rank, WEIR_UNKNOWN_RANK);
    ok(weir_shape_from_proto(NULL, &shape));
    assert_int_equal(shape.rank, 0);
    Weir__TensorShapeProto__Dim dim = WEIR__TENSOR_SHAPE_PROTO__DIM__INIT;
    Weir__TensorShapeProto__Dim *dims[13] = {&dim, &dim, &dim, &dim, &dim, &dim, &dim,
                                             &dim, &dim, &dim, &dim, &dim, &dim};
    Weir__TensorShapeProto large = WEIR__TENSOR_SHAPE_PROTO__INIT;
    large.n_dim = 13;
    large.dim = dims;
    fails_with(weir_shape_from_proto(&large, &shape), WEIR_UNIMPLEMENTED, "13 dimensions");
    weir_arena_clear(&arena);
}

static void swaps_each_number(void **state)
{
    uint8_t word[] = {1, 2, 3, 4, 5, 6, 7, 8};
    weir_elements_swap(WEIR_COMPLEX64, word, 1);
    assert_memory_equal(word, "\4\3\2\1\10\7\6\5", 8);
    weir_elements_swap(WEIR_INT16, word, 4);
    assert_memory_equal(word, "\3\4\1\2\7\10\5\6", 8);
    weir_elements_swap(WEIR_BOOL, word, 8);
    assert_memory_equal(word, "\3\4\1\2\7\10\5\6", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_like_tensorflow),
        cmocka_unit_test(encodes_constants_like_python),
        cmocka_unit_test(content_reads_back),
        cmocka_unit_test(content_bytes),
        cmocka_unit_test(variants_keep_their_bytes),
        cmocka_unit_test(refuses_what_does_not_fit),
        cmocka_unit_test(shapes),
        cmocka_unit_test(swaps_each_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
