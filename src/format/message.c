/*
 * Unpacking into an arena with bounded memory, packing, and the helpers for building messages.
 */
#include "format/message.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "format/message_merge.h"

/* What a message may take in memory: bytes per byte of its length, and some to begin with. A message of two bytes costs
 * protobuf-c up to some hundred, an unknown field of two about ninety. */
#define MEMORY_PER_BYTE 256
#define MEMORY_BASE (1 << 20)

struct budget {
    weir_arena *arena;
    size_t left;
    bool exceeded;
};

static void *take(void *context, size_t size)
{
    struct budget *budget = context;
    if (size > budget->left) {
        budget->exceeded = true;
        return NULL;
    }
    budget->left -= size;
    return weir_arena_take(budget->arena, 1, size);
}

static void give_back(void *context, void *memory)
{
    (void)context;
    (void)memory;
}

/* ---- values of map entries ---------------------------------------------------------------------------------------- */

static bool complete(ProtobufCMessage *message, weir_arena *arena);

/* An entry {key, value}: gives it the value it may lack. */
static bool complete_entry(ProtobufCMessage *entry, weir_arena *arena)
{
    const ProtobufCFieldDescriptor *value = &entry->descriptor->fields[1];
    ProtobufCMessage **place = weir_field_at(entry, value->offset);
    if (value->type == PROTOBUF_C_TYPE_MESSAGE && *place == NULL)
        *place = weir_message_new(arena, value->descriptor);
    return value->type != PROTOBUF_C_TYPE_MESSAGE || *place != NULL;
}

static bool complete_field(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, weir_arena *arena)
{
    void *place = weir_field_at(message, field->offset);
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        ProtobufCMessage *inside = *(ProtobufCMessage **)place;
        bool absent = inside == NULL || (weir_field_in_oneof(field) && !weir_field_is_chosen(message, field));
        return absent || complete(inside, arena);
    }
    size_t count = *(size_t *)weir_field_at(message, field->quantifier_offset);
    ProtobufCMessage **items = *(ProtobufCMessage ***)place;
    bool map = weir_field_is_map(field);
    for (size_t i = 0; i < count; i++) {
        if ((map && !complete_entry(items[i], arena)) || !complete(items[i], arena))
            return false;
    }
    return true;
}

/* Walks the whole message; no deeper than the scan allowed. */
static bool complete(ProtobufCMessage *message, weir_arena *arena)
{
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        if (field->type == PROTOBUF_C_TYPE_MESSAGE && !complete_field(message, field, arena))
            return false;
    }
    return true;
}

/* ---- bytes to messages and back ----------------------------------------------------------------------------------- */

static weir_status unpack(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t length,
                          weir_arena *arena, ProtobufCMessage **out)
{
    size_t limit = MEMORY_BASE + MEMORY_PER_BYTE * length;
    struct budget budget = {.arena = arena, .left = limit};
    ProtobufCAllocator allocator = {take, give_back, &budget};
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &allocator, length, bytes);
    if (message == NULL && budget.exceeded)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Cannot read %s: %zu bytes would take more than %zu in memory",
                         descriptor->short_name, length, limit);
    if (message == NULL || !complete(message, arena))
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Cannot read %s of %zu bytes: out of memory", descriptor->short_name,
                         length);
    *out = message;
    return WEIR_STATUS_OK;
}

weir_status weir_message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t length,
                                weir_arena *arena, ProtobufCMessage **out)
{
    bool merge = false;
    WEIR_TRY(weir_message_scan(descriptor, bytes, length, &merge));
    if (!merge)
        return unpack(descriptor, bytes, length, arena, out);
    ProtobufCBinaryData merged = {0};
    WEIR_TRY(weir_message_merge(descriptor, bytes, length, arena, &merged));
    return unpack(descriptor, merged.data, merged.len, arena, out);
}

static weir_status packed_size(const ProtobufCMessage *message, size_t *size)
{
    *size = protobuf_c_message_get_packed_size(message);
    if (*size > WEIR_MESSAGE_BYTES)
        return weir_fail(WEIR_INVALID_ARGUMENT, "A %s of %zu bytes cannot be written: no message is longer than %d",
                         message->descriptor->short_name, *size, WEIR_MESSAGE_BYTES);
    return WEIR_STATUS_OK;
}

weir_status weir_message_pack(const ProtobufCMessage *message, void **bytes, size_t *length)
{
    size_t size = 0;
    WEIR_TRY(packed_size(message, &size));
    void *packed = weir_allocate(size, 1);
    if (packed == NULL)
        return weir_fail_memory(size);
    *length = protobuf_c_message_pack(message, packed);
    *bytes = packed;
    return WEIR_STATUS_OK;
}

weir_status weir_message_pack_in(const ProtobufCMessage *message, weir_arena *arena, ProtobufCBinaryData *out)
{
    size_t size = 0;
    WEIR_TRY(packed_size(message, &size));
    uint8_t *packed = weir_arena_take(arena, size, 1);
    if (packed == NULL)
        return weir_fail_memory(size);
    out->len = protobuf_c_message_pack(message, packed);
    out->data = packed;
    return WEIR_STATUS_OK;
}

/* ---- building ----------------------------------------------------------------------------------------------------- */

void *weir_message_new(weir_arena *arena, const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message = weir_arena_take(arena, 1, descriptor->sizeof_message);
    if (message != NULL)
        protobuf_c_message_init(descriptor, message);
    return message;
}

ProtobufCBinaryData weir_message_bytes(weir_arena *arena, const void *bytes, size_t length)
{
    uint8_t *copy = weir_arena_take(arena, length, 1);
    if (copy == NULL)
        return (ProtobufCBinaryData){0};
    if (length > 0)
        memcpy(copy, bytes, length);
    return (ProtobufCBinaryData){.len = length, .data = copy};
}

bool weir_message_grow(weir_arena *arena, void **array, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0)
        return true;
    void *grown = weir_arena_take(arena, count == 0 ? 1 : 2 * count, size);
    if (grown == NULL)
        return false;
    if (count > 0)
        memcpy(grown, *array, count * size);
    *array = grown;
    return true;
}

/* ---- descriptors -------------------------------------------------------------------------------------------------- */

bool weir_field_is_map(const ProtobufCFieldDescriptor *field)
{
    if (field->type != PROTOBUF_C_TYPE_MESSAGE || field->label != PROTOBUF_C_LABEL_REPEATED)
        return false;
    const ProtobufCMessageDescriptor *entry = field->descriptor;
    return entry->n_fields == 2 && entry->fields[0].id == 1 && entry->fields[1].id == 2 &&
           strcmp(entry->fields[0].name, "key") == 0 && strcmp(entry->fields[1].name, "value") == 0;
}

size_t weir_field_size(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}
