/*
 * Reading follows TensorFlow's: tensor_content when there is any, else the value field of the element type, of which
 * the last value is repeated. Every length is checked against the shape first.
 */
#include "format/tensor_proto.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "format/bytes.h"
#include "format/message.h"
#include "tensor/tensor.h"

#define CANNOT_PARSE "Cannot parse tensor from proto: "

/* ---- shapes ------------------------------------------------------------------------------------------------------- */

weir_status weir_shape_from_proto(const Weir__TensorShapeProto *proto, weir_shape *out)
{
    weir_shape shape = weir_shape_scalar();
    if (proto == NULL || proto->unknown_rank) {
        *out = proto == NULL ? shape : weir_shape_unknown();
        return WEIR_STATUS_OK;
    }
    if (proto->n_dim > WEIR_MAX_RANK)
        return weir_fail(WEIR_UNIMPLEMENTED, "A shape of %zu dimensions; Weir handles at most %d", proto->n_dim,
                         WEIR_MAX_RANK);
    for (size_t i = 0; i < proto->n_dim; i++) {
        if (proto->dim[i]->size < WEIR_UNKNOWN_DIM)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Dimension %zu of a shape is %" PRId64 "; it must be >= -1", i,
                             proto->dim[i]->size);
        shape.dims[shape.rank++] = proto->dim[i]->size;
    }
    *out = shape;
    return WEIR_STATUS_OK;
}

static bool add_dim(Weir__TensorShapeProto *proto, int64_t size, weir_arena *arena)
{
    Weir__TensorShapeProto__Dim *dim = weir_message_new(arena, &weir__tensor_shape_proto__dim__descriptor);
    if (dim == NULL)
        return false;
    dim->size = size;
    return weir_message_add(arena, proto->dim, proto->n_dim, dim);
}

weir_status weir_shape_to_proto(const weir_shape *shape, weir_arena *arena, Weir__TensorShapeProto **out)
{
    Weir__TensorShapeProto *proto = weir_message_new(arena, &weir__tensor_shape_proto__descriptor);
    bool made = proto != NULL;
    for (int i = 0; made && i < shape->rank; i++)
        made = add_dim(proto, shape->dims[i], arena);
    if (!made)
        return weir_fail_memory(sizeof *proto);
    proto->unknown_rank = shape->rank < 0;
    *out = proto;
    return WEIR_STATUS_OK;
}

/* ---- the value field of each type ---------------------------------------------------------------------------------- */

struct values {
    const void *data;
    size_t count; /* of elements */
    size_t width; /* bytes of one in the message's array */
};

#define VALUES(field, per_element)                                                                                     \
    (struct values)                                                                                                    \
    {                                                                                                                  \
        proto->field, proto->n_##field / (per_element), sizeof *proto->field *(per_element)                            \
    }

/* The values given for a plain type. */
static struct values plain_values(const Weir__TensorProto *proto)
{
    switch ((weir_dtype)proto->dtype) {
    case WEIR_FLOAT:
        return VALUES(float_val, 1);
    case WEIR_DOUBLE:
        return VALUES(double_val, 1);
    case WEIR_INT64:
        return VALUES(int64_val, 1);
    case WEIR_UINT32:
        return VALUES(uint32_val, 1);
    case WEIR_UINT64:
        return VALUES(uint64_val, 1);
    case WEIR_BOOL:
        return VALUES(bool_val, 1);
    case WEIR_HALF:
    case WEIR_BFLOAT16:
        return VALUES(half_val, 1);
    case WEIR_COMPLEX64:
        return VALUES(scomplex_val, 2);
    case WEIR_COMPLEX128:
        return VALUES(dcomplex_val, 2);
    case WEIR_FLOAT8_E5M2:
    case WEIR_FLOAT8_E4M3FN:
    case WEIR_FLOAT8_E4M3FNUZ:
    case WEIR_FLOAT8_E4M3B11FNUZ:
    case WEIR_FLOAT8_E5M2FNUZ:
    case WEIR_FLOAT4_E2M1FN:
        return (struct values){proto->float8_val.data, proto->float8_val.len, 1};
    default: /* the other integers */
        return VALUES(int_val, 1);
    }
}

/* ---- plain elements from messages ---------------------------------------------------------------------------------- */

static weir_status check_bools(const uint8_t *bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (bytes[i] > 1)
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             CANNOT_PARSE "element %" PRId64 " of a bool tensor is %d, not 0 or 1", i, bytes[i]);
    }
    return WEIR_STATUS_OK;
}

static weir_status plain_from_content(const ProtobufCBinaryData *content, weir_tensor *tensor)
{
    if (content->len != tensor->size_bytes) {
        char shape[WEIR_SHAPE_TEXT_SIZE];
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         CANNOT_PARSE "tensor_content has %zu bytes, but a %s tensor of shape %s has %zu", content->len,
                         weir_dtype_name(tensor->dtype), weir_shape_text(tensor->shape, shape, sizeof shape),
                         tensor->size_bytes);
    }
    if (tensor->dtype == WEIR_BOOL)
        WEIR_TRY(check_bools(content->data, tensor->elements));
    if (content->len > 0)
        memcpy(tensor->data, content->data, content->len);
    if (!WEIR_HOST_IS_LITTLE)
        weir_elements_swap(tensor->dtype, tensor->data, tensor->elements);
    return WEIR_STATUS_OK;
}

/* One element of one or two bytes from a 32-bit value: the upper bits are lost, as in TensorFlow. */
static void put_narrow(void *element, size_t size, const void *value)
{
    uint32_t bits = 0;
    memcpy(&bits, value, sizeof bits);
    uint16_t two = (uint16_t)bits;
    uint8_t one = (uint8_t)bits;
    memcpy(element, size == 2 ? (const void *)&two : &one, size);
}

static void plain_from_values(const struct values *values, weir_tensor *tensor)
{
    size_t size = weir_dtype_size(tensor->dtype);
    size_t elements = (size_t)tensor->elements;
    size_t given = values->count < elements ? values->count : elements;
    uint8_t *data = tensor->data;
    if (given == 0) {
        memset(data, 0, tensor->size_bytes);
        return;
    }
    if (size == values->width) {
        memcpy(data, values->data, given * size);
    } else {
        for (size_t i = 0; i < given; i++)
            put_narrow(data + i * size, size, (const uint8_t *)values->data + i * values->width);
    }
    for (size_t i = given; i < elements; i++)
        memcpy(data + i * size, data + (given - 1) * size, size);
}

/* ---- strings and variants ------------------------------------------------------------------------------------------ */

static weir_status fail_content_length(const weir_tensor *tensor)
{
    char shape[WEIR_SHAPE_TEXT_SIZE];
    return weir_fail(WEIR_INVALID_ARGUMENT,
                     CANNOT_PARSE "the lengths in tensor_content do not fit its size, for a %s tensor of shape %s",
                     weir_dtype_name(tensor->dtype), weir_shape_text(tensor->shape, shape, sizeof shape));
}

/* As many lengths as elements, then the bytes of all of them. */
static weir_status objects_from_content(const ProtobufCBinaryData *content, weir_tensor *tensor)
{
    uint64_t total = 0;
    size_t start = 0;
    for (int64_t i = 0; i < tensor->elements; i++) {
        uint64_t length = 0;
        size_t used = weir_get_varint(content->data + start, content->len - start, &length);
        if (used == 0 || __builtin_add_overflow(total, length, &total))
            return fail_content_length(tensor);
        start += used;
    }
    if (total != content->len - start)
        return fail_content_length(tensor);
    size_t at = 0;
    for (int64_t i = 0; i < tensor->elements; i++) {
        uint64_t length = 0;
        at += weir_get_varint(content->data + at, content->len - at, &length);
        WEIR_TRY(weir_string_set(&weir_tensor_string_elements(tensor)[i], content->data + start, (size_t)length));
        start += (size_t)length;
    }
    return WEIR_STATUS_OK;
}

static weir_status repeat_last(weir_tensor *tensor, int64_t given)
{
    weir_string *strings = weir_tensor_string_elements(tensor);
    for (int64_t i = given; given > 0 && i < tensor->elements; i++)
        WEIR_TRY(weir_string_set(&strings[i], strings[given - 1].data, strings[given - 1].size));
    return WEIR_STATUS_OK;
}

static weir_status strings_from_values(const Weir__TensorProto *proto, weir_tensor *tensor)
{
    int64_t given = (int64_t)proto->n_string_val < tensor->elements ? (int64_t)proto->n_string_val : tensor->elements;
    for (int64_t i = 0; i < given; i++)
        WEIR_TRY(weir_string_set(&weir_tensor_string_elements(tensor)[i], proto->string_val[i].data,
                                 proto->string_val[i].len));
    return repeat_last(tensor, given);
}

static weir_status variants_from_values(const Weir__TensorProto *proto, weir_tensor *tensor)
{
    int64_t given = (int64_t)proto->n_variant_val < tensor->elements ? (int64_t)proto->n_variant_val : tensor->elements;
    for (int64_t i = 0; i < given; i++) {
        void *bytes = NULL;
        size_t length = 0;
        WEIR_TRY(weir_message_pack(&proto->variant_val[i]->base, &bytes, &length));
        weir_status set = weir_string_set(&weir_tensor_string_elements(tensor)[i], bytes, length);
        weir_release(bytes);
        WEIR_TRY(set);
    }
    return repeat_last(tensor, given);
}

/* ---- tensors from messages ----------------------------------------------------------------------------------------- */

static weir_status fill(const Weir__TensorProto *proto, weir_tensor *tensor)
{
    bool object = weir_dtype_is_object(tensor->dtype);
    if (tensor->elements == 0)
        return WEIR_STATUS_OK;
    if (proto->tensor_content.len > 0)
        return object ? objects_from_content(&proto->tensor_content, tensor)
                      : plain_from_content(&proto->tensor_content, tensor);
    if (object)
        return tensor->dtype == WEIR_STRING ? strings_from_values(proto, tensor) : variants_from_values(proto, tensor);
    struct values values = plain_values(proto);
    plain_from_values(&values, tensor);
    return WEIR_STATUS_OK;
}

/* Each element of an object type in tensor_content has a length of a byte at least: refuses before memory is taken. */
static weir_status check_objects(const Weir__TensorProto *proto, const weir_shape *shape)
{
    size_t content = proto->tensor_content.len;
    int64_t elements = weir_shape_elements(*shape);
    char text[WEIR_SHAPE_TEXT_SIZE];
    if (content > 0 && elements > 0 && (uint64_t)elements > content)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         CANNOT_PARSE "tensor_content has %zu bytes, too few for a %s tensor of shape %s", content,
                         weir_dtype_name((weir_dtype)proto->dtype), weir_shape_text(*shape, text, sizeof text));
    return WEIR_STATUS_OK;
}

weir_status weir_tensor_from_proto(const Weir__TensorProto *proto, weir_tensor **out)
{
    weir_dtype dtype = (weir_dtype)proto->dtype;
    weir_shape shape = weir_shape_scalar();
    if (dtype == WEIR_RESOURCE)
        return weir_fail(WEIR_UNIMPLEMENTED, CANNOT_PARSE "resource handles cannot come from a file");
    if (proto->tensor_shape == NULL || !proto->tensor_shape->unknown_rank)
        WEIR_TRY(weir_fail_in(weir_shape_from_proto(proto->tensor_shape, &shape), "Cannot parse tensor from proto"));
    if (weir_dtype_is_object(dtype))
        WEIR_TRY(check_objects(proto, &shape));
    weir_tensor *tensor = NULL;
    WEIR_TRY(weir_fail_in(weir_tensor_allocate(weir_host_allocator(), dtype, &shape, &tensor),
                          "Cannot parse tensor from proto"));
    weir_status filled = fill(proto, tensor);
    if (!weir_ok(filled)) {
        weir_tensor_free(tensor);
        return filled;
    }
    *out = tensor;
    return WEIR_STATUS_OK;
}

/* ---- messages from tensors ----------------------------------------------------------------------------------------- */

static bool const_has_content(const weir_tensor *tensor)
{
    if (tensor->elements <= 1)
        return false;
    switch (tensor->dtype) {
    case WEIR_BOOL:
    case WEIR_UINT16:
    case WEIR_COMPLEX64:
    case WEIR_COMPLEX128:
    case WEIR_INT4:
    case WEIR_UINT4:
    case WEIR_INT2:
    case WEIR_UINT2:
        return false;
    default:
        return !weir_dtype_is_object(tensor->dtype);
    }
}

static weir_status content_of_plain(const weir_tensor *tensor, weir_arena *arena, ProtobufCBinaryData *out)
{
    ProtobufCBinaryData content = {.len = tensor->size_bytes, .data = tensor->data};
    if (!WEIR_HOST_IS_LITTLE) {
        content = weir_message_bytes(arena, tensor->data, tensor->size_bytes);
        if (content.data == NULL)
            return weir_fail_memory(tensor->size_bytes);
        weir_elements_swap(tensor->dtype, content.data, tensor->elements);
    }
    *out = content;
    return WEIR_STATUS_OK;
}

static weir_status content_of_objects(const weir_tensor *tensor, weir_arena *arena, ProtobufCBinaryData *out)
{
    const weir_string *strings = weir_tensor_string_elements(tensor);
    size_t most = 0;
    for (int64_t i = 0; i < tensor->elements; i++)
        most += WEIR_VARINT_MOST + strings[i].size;
    uint8_t *bytes = weir_arena_take(arena, most, 1);
    if (bytes == NULL)
        return weir_fail_memory(most);
    size_t at = 0;
    for (int64_t i = 0; i < tensor->elements; i++)
        at += weir_put_varint(bytes + at, strings[i].size);
    for (int64_t i = 0; i < tensor->elements; i++) {
        if (strings[i].size > 0)
            memcpy(bytes + at, strings[i].data, strings[i].size);
        at += strings[i].size;
    }
    *out = (ProtobufCBinaryData){.len = at, .data = bytes};
    return WEIR_STATUS_OK;
}

/* Elements of one or two bytes and bools as the 32-bit values of a message. */
static int32_t widened(weir_dtype dtype, const void *element)
{
    switch (dtype) {
    case WEIR_INT8:
    case WEIR_QINT8:
    case WEIR_INT4:
    case WEIR_INT2:
        return *(const int8_t *)element;
    case WEIR_INT16:
    case WEIR_QINT16:
        return *(const int16_t *)element;
    default:
        return weir_dtype_size(dtype) == 1 ? *(const uint8_t *)element : *(const uint16_t *)element;
    }
}

static weir_status widen(const weir_tensor *tensor, weir_arena *arena, int32_t **out)
{
    size_t size = weir_dtype_size(tensor->dtype);
    int32_t *values = weir_arena_take(arena, (size_t)tensor->elements, sizeof *values);
    if (values == NULL)
        return weir_fail_memory((size_t)tensor->elements * sizeof *values);
    for (int64_t i = 0; i < tensor->elements; i++)
        values[i] = widened(tensor->dtype, (const uint8_t *)tensor->data + (size_t)i * size);
    *out = values;
    return WEIR_STATUS_OK;
}

#define BORROW(field, per_element)                                                                                     \
    do {                                                                                                               \
        proto->field = tensor->data;                                                                                   \
        proto->n_##field = (size_t)tensor->elements * (per_element);                                                   \
        return WEIR_STATUS_OK;                                                                                         \
    } while (0)

#define WIDEN(field)                                                                                                   \
    do {                                                                                                               \
        proto->n_##field = (size_t)tensor->elements;                                                                   \
        return widen(tensor, arena, &proto->field);                                                                    \
    } while (0)

static weir_status plain_to_values(const weir_tensor *tensor, weir_arena *arena, Weir__TensorProto *proto)
{
    switch (tensor->dtype) {
    case WEIR_FLOAT:
        BORROW(float_val, 1);
    case WEIR_DOUBLE:
        BORROW(double_val, 1);
    case WEIR_INT64:
        BORROW(int64_val, 1);
    case WEIR_UINT32:
        BORROW(uint32_val, 1);
    case WEIR_UINT64:
        BORROW(uint64_val, 1);
    case WEIR_COMPLEX64:
        BORROW(scomplex_val, 2);
    case WEIR_COMPLEX128:
        BORROW(dcomplex_val, 2);
    case WEIR_INT32:
    case WEIR_QINT32:
        BORROW(int_val, 1);
    case WEIR_BOOL:
        WIDEN(bool_val);
    case WEIR_HALF:
    case WEIR_BFLOAT16:
        WIDEN(half_val);
    case WEIR_FLOAT8_E5M2:
    case WEIR_FLOAT8_E4M3FN:
    case WEIR_FLOAT8_E4M3FNUZ:
    case WEIR_FLOAT8_E4M3B11FNUZ:
    case WEIR_FLOAT8_E5M2FNUZ:
    case WEIR_FLOAT4_E2M1FN:
        proto->float8_val = (ProtobufCBinaryData){.len = tensor->size_bytes, .data = tensor->data};
        return WEIR_STATUS_OK;
    default:
        WIDEN(int_val);
    }
}

static weir_status strings_to_values(const weir_tensor *tensor, weir_arena *arena, Weir__TensorProto *proto)
{
    const weir_string *strings = weir_tensor_string_elements(tensor);
    for (int64_t i = 0; i < tensor->elements; i++) {
        ProtobufCBinaryData bytes = {.len = strings[i].size, .data = (uint8_t *)strings[i].data};
        if (!weir_message_add(arena, proto->string_val, proto->n_string_val, bytes))
            return weir_fail_memory((size_t)tensor->elements * sizeof bytes);
    }
    return WEIR_STATUS_OK;
}

static weir_status variants_to_values(const weir_tensor *tensor, weir_arena *arena, Weir__TensorProto *proto)
{
    const weir_variant *variants = tensor->data;
    for (int64_t i = 0; i < tensor->elements; i++) {
        ProtobufCMessage *data = NULL;
        WEIR_TRY(weir_message_unpack(&weir__variant_tensor_data_proto__descriptor, variants[i].data, variants[i].size,
                                     arena, &data));
        if (!weir_message_add(arena, proto->variant_val, proto->n_variant_val, (Weir__VariantTensorDataProto *)data))
            return weir_fail_memory((size_t)tensor->elements * sizeof data);
    }
    return WEIR_STATUS_OK;
}

static weir_status put_elements(const weir_tensor *tensor, weir_proto_form form, weir_arena *arena,
                                Weir__TensorProto *proto)
{
    bool object = weir_dtype_is_object(tensor->dtype);
    if (tensor->elements == 0)
        return WEIR_STATUS_OK;
    if (form == WEIR_PROTO_CONTENT || const_has_content(tensor))
        return object ? content_of_objects(tensor, arena, &proto->tensor_content)
                      : content_of_plain(tensor, arena, &proto->tensor_content);
    if (object)
        return tensor->dtype == WEIR_STRING ? strings_to_values(tensor, arena, proto)
                                            : variants_to_values(tensor, arena, proto);
    return plain_to_values(tensor, arena, proto);
}

weir_status weir_tensor_to_proto(const weir_tensor *tensor, weir_proto_form form, weir_arena *arena,
                                 Weir__TensorProto **out)
{
    if (tensor->dtype == WEIR_RESOURCE)
        return weir_fail(WEIR_UNIMPLEMENTED, "A resource tensor cannot be written to a file");
    Weir__TensorProto *proto = weir_message_new(arena, &weir__tensor_proto__descriptor);
    if (proto == NULL)
        return weir_fail_memory(sizeof *proto);
    proto->dtype = (Weir__DataType)tensor->dtype;
    WEIR_TRY(weir_shape_to_proto(&tensor->shape, arena, &proto->tensor_shape));
    WEIR_TRY(put_elements(tensor, form, arena, proto));
    *out = proto;
    return WEIR_STATUS_OK;
}

/* ---- byte order ---------------------------------------------------------------------------------------------------- */

void weir_elements_swap(weir_dtype dtype, void *elements, int64_t count)
{
    size_t size = weir_dtype_size(dtype);
    size_t numbers = (size_t)count;
    if (dtype == WEIR_COMPLEX64 || dtype == WEIR_COMPLEX128) {
        size /= 2;
        numbers *= 2;
    }
    uint8_t *bytes = elements;
    for (size_t i = 0; size > 1 && i < numbers; i++, bytes += size) {
        for (size_t j = 0; j < size / 2; j++) {
            uint8_t byte = bytes[j];
            bytes[j] = bytes[size - 1 - j];
            bytes[size - 1 - j] = byte;
        }
    }
}
