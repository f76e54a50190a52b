/*
 * Messages to text.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "format/decimal.h"
#include "format/text_format.h"
#include "format/utf8.h"

static void append_escaped(weir_text *out, uint8_t byte)
{
    static const char escaped[] = "\n\t\r\"'\\";
    static const char letters[] = "ntr\"'\\";
    const char *found = byte == 0 ? NULL : strchr(escaped, byte);
    if (found != NULL)
        weir_text_append(out, "\\%c", letters[found - escaped]);
    else if (byte >= 0x20 && byte < 0x7f)
        weir_text_append_bytes(out, &byte, 1);
    else
        weir_text_append(out, "\\%03o", byte);
}

static void append_quoted(weir_text *out, const void *data, size_t length, bool utf8)
{
    const uint8_t *bytes = data;
    weir_text_append_bytes(out, "\"", 1);
    for (size_t i = 0; i < length;) {
        size_t character = utf8 && bytes[i] >= 0x80 ? weir_utf8_length(bytes + i, length - i) : 0;
        if (character > 0)
            weir_text_append_bytes(out, bytes + i, character);
        else
            append_escaped(out, bytes[i]);
        i += character > 0 ? character : 1;
    }
    weir_text_append_bytes(out, "\"", 1);
}

static void append_enum(weir_text *out, const ProtobufCEnumDescriptor *descriptor, int value)
{
    const ProtobufCEnumValue *named = protobuf_c_enum_descriptor_get_value(descriptor, value);
    if (named != NULL)
        weir_text_append(out, "%s", named->name);
    else
        weir_text_append(out, "%d", value);
}

static void append_value(weir_text *out, const ProtobufCFieldDescriptor *field, const void *value)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        weir_text_append(out, "%" PRId32, *(const int32_t *)value);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        weir_text_append(out, "%" PRId64, *(const int64_t *)value);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        weir_text_append(out, "%" PRIu32, *(const uint32_t *)value);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        weir_text_append(out, "%" PRIu64, *(const uint64_t *)value);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        weir_decimal_append_float(out, *(const float *)value);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        weir_decimal_append_double(out, *(const double *)value);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        weir_text_append(out, *(const protobuf_c_boolean *)value ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM:
        append_enum(out, field->descriptor, *(const int *)value);
        break;
    case PROTOBUF_C_TYPE_STRING: {
        const char *text = *(char *const *)value;
        append_quoted(out, text, text != NULL ? strlen(text) : 0, true);
        break;
    }
    case PROTOBUF_C_TYPE_BYTES: {
        const ProtobufCBinaryData *bytes = value;
        append_quoted(out, bytes->data, bytes->len, false);
        break;
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        break; /* write_element */
    }
}

static weir_status write_message(const ProtobufCMessage *message, int depth, weir_text *out);

static weir_status write_element(const ProtobufCFieldDescriptor *field, const void *value, int depth, weir_text *out)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        weir_text_append(out, "%*s%s: ", 2 * depth, "", field->name);
        append_value(out, field, value);
        weir_text_append_bytes(out, "\n", 1);
        return WEIR_STATUS_OK;
    }
    weir_text_append(out, "%*s%s {\n", 2 * depth, "", field->name);
    WEIR_TRY(write_message(*(ProtobufCMessage *const *)value, depth + 1, out));
    weir_text_append(out, "%*s}\n", 2 * depth, "");
    return WEIR_STATUS_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const ProtobufCMessage *left = *(ProtobufCMessage *const *)a;
    const ProtobufCMessage *right = *(ProtobufCMessage *const *)b;
    const ProtobufCFieldDescriptor *key = &left->descriptor->fields[0];
    const void *left_key = weir_field_at(left, key->offset);
    const void *right_key = weir_field_at(right, key->offset);
    if (key->type == PROTOBUF_C_TYPE_STRING)
        return strcmp(*(char *const *)left_key, *(char *const *)right_key);
    if (weir_field_size(key) == sizeof(int64_t)) /* no map of ours has unsigned keys above the signed range */
        return (*(const int64_t *)left_key > *(const int64_t *)right_key) -
               (*(const int64_t *)left_key < *(const int64_t *)right_key);
    return (*(const int32_t *)left_key > *(const int32_t *)right_key) -
           (*(const int32_t *)left_key < *(const int32_t *)right_key);
}

static weir_status write_map(const ProtobufCFieldDescriptor *field, ProtobufCMessage **entries, size_t count, int depth,
                             weir_text *out)
{
    ProtobufCMessage **sorted = NULL;
    WEIR_TRY(weir_new(&sorted, count));
    memcpy(sorted, entries, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_keys);
    weir_status status = WEIR_STATUS_OK;
    for (size_t i = 0; i < count && weir_ok(status); i++)
        status = write_element(field, &sorted[i], depth, out);
    weir_release(sorted);
    return status;
}

static weir_status write_repeated(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, int depth,
                                  weir_text *out)
{
    size_t count = *(size_t *)weir_field_at(message, field->quantifier_offset);
    char *items = *(char **)weir_field_at(message, field->offset);
    if (count > 1 && weir_field_is_map(field))
        return write_map(field, (ProtobufCMessage **)items, count, depth, out);
    for (size_t i = 0; i < count; i++)
        WEIR_TRY(write_element(field, items + i * weir_field_size(field), depth, out));
    return WEIR_STATUS_OK;
}

/* True for a field without presence that holds its default, which is not written. */
static bool is_default(const ProtobufCFieldDescriptor *field, const void *value)
{
    static const ProtobufCBinaryData zeros;
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return *(char *const *)value == NULL || **(char *const *)value == '\0';
    if (field->type == PROTOBUF_C_TYPE_BYTES)
        return ((const ProtobufCBinaryData *)value)->len == 0;
    return memcmp(value, &zeros, weir_field_size(field)) == 0;
}

static weir_status write_message(const ProtobufCMessage *message, int depth, weir_text *out)
{
    if (depth >= WEIR_MESSAGE_DEPTH)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Cannot write a %s nested deeper than %d messages as text",
                         message->descriptor->short_name, WEIR_MESSAGE_DEPTH);
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const void *value = weir_field_at(message, field->offset);
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            WEIR_TRY(write_repeated(message, field, depth, out));
            continue;
        }
        bool shown = weir_field_in_oneof(field) ? weir_field_is_chosen(message, field) : !is_default(field, value);
        if (field->type == PROTOBUF_C_TYPE_MESSAGE && shown)
            shown = *(ProtobufCMessage *const *)value != NULL;
        if (shown)
            WEIR_TRY(write_element(field, value, depth, out));
    }
    return WEIR_STATUS_OK;
}

weir_status weir_message_to_text(const ProtobufCMessage *message, weir_text *out)
{
    WEIR_TRY(write_message(message, 0, out));
    return out->failed ? weir_fail_memory(out->length) : WEIR_STATUS_OK;
}
