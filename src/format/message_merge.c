/*
 * The occurrences of a message field stand, put together, where the last of them stood: the order among the members of
 * a oneof stays right, as the last one wins. protobuf-c's own merging loses what is inside a oneof.
 *
 * Runs only on messages that the scan found in need of it, which nobody writes but by gluing messages together.
 */
#include "format/message_merge.h"

#include <assert.h>

#include "base/text.h"
#include "format/bytes.h"
#include "format/wire.h"

static bool is_singular_message(const ProtobufCFieldDescriptor *field)
{
    return field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE && field->label != PROTOBUF_C_LABEL_REPEATED;
}

/* Collects the contents of all occurrences of field within [at, end) into all. (The scan has seen the bytes: they end
 * where a field ends.) */
static void collect(const ProtobufCMessageDescriptor *descriptor, const ProtobufCFieldDescriptor *field,
                    const uint8_t *at, const uint8_t *end, weir_text *all)
{
    weir_wire_field wire = {0};
    while (at < end && weir_wire_next(&at, end, &wire) == NULL) {
        const ProtobufCFieldDescriptor *other = protobuf_c_message_descriptor_get_field(descriptor, wire.id);
        if (other == field)
            weir_text_append_bytes(all, wire.payload, (size_t)wire.length);
        else if (other != NULL && weir_field_in_oneof(field) && weir_field_in_oneof(other) &&
                 other->quantifier_offset == field->quantifier_offset)
            weir_text_clear(all);
    }
}

static void write_field(weir_text *out, uint32_t id, const void *bytes, size_t length)
{
    weir_append_varint(out, (uint64_t)id << 3 | WEIR_WIRE_LENGTH);
    weir_append_varint(out, length);
    weir_text_append_bytes(out, bytes, length);
}

/* No message of ours has more fields. */
#define MOST_FIELDS 64

/* Where each singular message field of one message stands last; NULL: nowhere. By place in the descriptor. */
typedef struct last_places {
    const uint8_t *tag[MOST_FIELDS];
} last_places;

static void find_last(const ProtobufCMessageDescriptor *descriptor, const uint8_t *at, const uint8_t *end,
                      last_places *last)
{
    weir_wire_field wire = {0};
    while (at < end && weir_wire_next(&at, end, &wire) == NULL) {
        const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(descriptor, wire.id);
        if (is_singular_message(field))
            last->tag[field - descriptor->fields] = wire.start;
    }
}

static void merge_fields(const ProtobufCMessageDescriptor *descriptor, const uint8_t *start, const uint8_t *end,
                         weir_text *out);

static void merge_inside(const ProtobufCFieldDescriptor *field, const uint8_t *start, const uint8_t *end,
                         weir_text *out)
{
    weir_text inside = {0};
    merge_fields(field->descriptor, start, end, &inside);
    out->failed |= inside.failed;
    write_field(out, field->id, weir_text_get(&inside), inside.length);
    weir_text_clear(&inside);
}

static void merge_fields(const ProtobufCMessageDescriptor *descriptor, const uint8_t *start, const uint8_t *end,
                         weir_text *out)
{
    assert(descriptor->n_fields <= MOST_FIELDS);
    last_places last = {{0}};
    find_last(descriptor, start, end, &last);
    weir_wire_field wire = {0};
    for (const uint8_t *at = start; at < end && weir_wire_next(&at, end, &wire) == NULL;) {
        const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(descriptor, wire.id);
        if (field == NULL || field->type != PROTOBUF_C_TYPE_MESSAGE) {
            weir_text_append_bytes(out, wire.start, (size_t)(at - wire.start));
        } else if (!is_singular_message(field)) {
            merge_inside(field, wire.payload, wire.payload + wire.length, out);
        } else if (last.tag[field - descriptor->fields] == wire.start) {
            weir_text all = {0};
            collect(descriptor, field, start, end, &all);
            const uint8_t *contents = (const uint8_t *)weir_text_get(&all);
            merge_inside(field, contents, contents + all.length, out);
            out->failed |= all.failed;
            weir_text_clear(&all);
        }
    }
}

weir_status weir_message_merge(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t length,
                               weir_arena *arena, ProtobufCBinaryData *out)
{
    weir_text merged = {0};
    const uint8_t *start = bytes;
    merge_fields(descriptor, start, start + length, &merged);
    *out = weir_message_bytes(arena, weir_text_get(&merged), merged.length);
    bool failed = merged.failed || out->data == NULL;
    weir_text_clear(&merged);
    return failed ? weir_fail_memory(length) : WEIR_STATUS_OK;
}
