/*
 * The scan that every message passes before protobuf-c sees it: wire types, lengths, nesting, and values that a C
 * struct cannot hold (a zero byte inside a string).
 */
#include "format/message.h"

#include <string.h>

#include "base/text.h"
#include "format/bytes.h"
#include "format/wire.h"

struct scan {
    const ProtobufCMessageDescriptor *root;
    const uint8_t *start;
    const ProtobufCFieldDescriptor *path[WEIR_MESSAGE_DEPTH]; /* the message fields on the way down */
    int depth;
    bool merge;
};

static weir_status fail(const struct scan *scan, const uint8_t *place, const ProtobufCFieldDescriptor *field,
                        const char *what)
{
    weir_text path = {0};
    for (int i = 0; i < scan->depth; i++)
        weir_text_append(&path, "%s%s", i == 0 ? "" : ".", scan->path[i]->name);
    if (field != NULL)
        weir_text_append(&path, "%s%s", path.length == 0 ? "" : ".", field->name);
    weir_status status =
        weir_fail(WEIR_DATA_LOSS, "Cannot read %s: byte %zu%s%s: %s", scan->root->short_name,
                  (size_t)(place - scan->start), path.length == 0 ? "" : ", in ", weir_text_get(&path), what);
    weir_text_clear(&path);
    return status;
}

static unsigned wire_type_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return WEIR_WIRE_FIXED32;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return WEIR_WIRE_FIXED64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WEIR_WIRE_LENGTH;
    default:
        return WEIR_WIRE_VARINT;
    }
}

static weir_status scan_packed(const struct scan *scan, const ProtobufCFieldDescriptor *field,
                               const weir_wire_field *wire)
{
    switch (wire_type_of(field->type)) {
    case WEIR_WIRE_FIXED32:
        return wire->length % 4 == 0 ? WEIR_STATUS_OK : fail(scan, wire->start, field, "length is no multiple of 4");
    case WEIR_WIRE_FIXED64:
        return wire->length % 8 == 0 ? WEIR_STATUS_OK : fail(scan, wire->start, field, "length is no multiple of 8");
    default:
        break;
    }
    uint64_t ignored = 0;
    for (size_t at = 0, used = 0; at < wire->length; at += used) {
        used = weir_get_varint(wire->payload + at, (size_t)wire->length - at, &ignored);
        if (used == 0)
            return fail(scan, wire->payload + at, field, "cut or overlong varint");
    }
    return WEIR_STATUS_OK;
}

static weir_status scan_fields(struct scan *scan, const ProtobufCMessageDescriptor *descriptor, const uint8_t *at,
                               const uint8_t *end);

static weir_status scan_inside(struct scan *scan, const ProtobufCFieldDescriptor *field, const weir_wire_field *wire)
{
    if (scan->depth + 1 >= WEIR_MESSAGE_DEPTH)
        return fail(scan, wire->start, field, "nested deeper than 100 messages");
    scan->path[scan->depth++] = field;
    WEIR_TRY(scan_fields(scan, field->descriptor, wire->payload, wire->payload + wire->length));
    scan->depth--;
    return WEIR_STATUS_OK;
}

static weir_status scan_value(struct scan *scan, const ProtobufCFieldDescriptor *field, const weir_wire_field *wire)
{
    unsigned expected = wire_type_of(field->type);
    if (wire->type == WEIR_WIRE_LENGTH && expected != WEIR_WIRE_LENGTH && field->label == PROTOBUF_C_LABEL_REPEATED)
        return scan_packed(scan, field, wire);
    if (wire->type != expected)
        return fail(scan, wire->start, field, "wire type of another kind of field");
    if (field->type == PROTOBUF_C_TYPE_STRING && memchr(wire->payload, 0, (size_t)wire->length) != NULL)
        return fail(scan, wire->start, field, "zero byte in a string");
    return field->type == PROTOBUF_C_TYPE_MESSAGE ? scan_inside(scan, field, wire) : WEIR_STATUS_OK;
}

/* Singular message fields that were seen, by their place in the descriptor. No message of ours has more fields. */
#define MOST_FIELDS 64

static void notice(struct scan *scan, const ProtobufCMessageDescriptor *descriptor,
                   const ProtobufCFieldDescriptor *field, uint64_t *seen)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE || field->label == PROTOBUF_C_LABEL_REPEATED)
        return;
    uint64_t bit = 1ULL << ((field - descriptor->fields) % MOST_FIELDS);
    if (*seen & bit)
        scan->merge = true;
    *seen |= bit;
}

static weir_status scan_fields(struct scan *scan, const ProtobufCMessageDescriptor *descriptor, const uint8_t *at,
                               const uint8_t *end)
{
    uint64_t seen = 0;
    while (at < end) {
        weir_wire_field wire = {0};
        const uint8_t *place = at;
        const char *fault = weir_wire_next(&at, end, &wire);
        const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(descriptor, wire.id);
        if (fault != NULL)
            return fail(scan, place, field, fault);
        if (field == NULL)
            continue;
        WEIR_TRY(scan_value(scan, field, &wire));
        notice(scan, descriptor, field, &seen);
    }
    return WEIR_STATUS_OK;
}

weir_status weir_message_scan(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t length,
                              bool *merge)
{
    if (length > WEIR_MESSAGE_BYTES)
        return weir_fail(WEIR_DATA_LOSS, "Cannot read %s: %zu bytes; no message is longer than %d",
                         descriptor->short_name, length, WEIR_MESSAGE_BYTES);
    struct scan scan = {.root = descriptor, .start = bytes};
    const uint8_t *start = bytes;
    WEIR_TRY(scan_fields(&scan, descriptor, start, start + length));
    *merge = scan.merge;
    return WEIR_STATUS_OK;
}
