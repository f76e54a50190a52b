/*
 * Protobuf messages in and out of bytes, on top of protobuf-c.
 *
 * Bytes from outside never reach protobuf-c's unpacker unseen: a scan of our own goes through them first, because the
 * unpacker recurses without limit, confuses members when a message field stands twice, and says nothing about what is
 * wrong and where. Messages live in an arena: nothing is freed one by one.
 *
 * What a reader may rely on after weir_message_unpack (and weir_text_read):
 * - strings are never NULL; sub-messages are NULL when absent; fields we do not know are skipped;
 * - an entry of a map always has its value message. Keys may stand twice: the last one counts;
 * - messages nest at most WEIR_MESSAGE_DEPTH deep, so a recursive walk is safe.
 */
#ifndef FORMAT_MESSAGE_H
#define FORMAT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"

/* How deep messages may nest, the outermost counting one. TensorFlow's own readers stop at 100. */
#define WEIR_MESSAGE_DEPTH 100

/* No message is longer, as in TensorFlow. */
#define WEIR_MESSAGE_BYTES INT32_MAX

/* Reads bytes as a message of the descriptor's type into the arena, which must outlive it. Memory used is bounded by a
 * multiple of length. DATA_LOSS names message, byte and field. */
WEIR_WARN_UNUSED weir_status weir_message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *bytes,
                                                 size_t length, weir_arena *arena, ProtobufCMessage **out);

/* The scan alone: DATA_LOSS unless bytes are safe to unpack. *merge: some message field stands more than once, and its
 * occurrences must be put together before unpacking (weir_message_unpack does). */
WEIR_WARN_UNUSED weir_status weir_message_scan(const ProtobufCMessageDescriptor *descriptor, const void *bytes,
                                               size_t length, bool *merge);

/* Writes the message; the bytes are owned (weir_release). INVALID_ARGUMENT when longer than WEIR_MESSAGE_BYTES. */
WEIR_WARN_UNUSED weir_status weir_message_pack(const ProtobufCMessage *message, void **bytes, size_t *length);

/* The same into an arena. */
WEIR_WARN_UNUSED weir_status weir_message_pack_in(const ProtobufCMessage *message, weir_arena *arena,
                                                  ProtobufCBinaryData *out);

/* ---- building messages in an arena -------------------------------------------------------------------------------- */

/* A message with nothing set; NULL without memory. */
void *weir_message_new(weir_arena *arena, const ProtobufCMessageDescriptor *descriptor);

/* A copy of bytes; data NULL without memory (and length above 0). */
ProtobufCBinaryData weir_message_bytes(weir_arena *arena, const void *bytes, size_t length);

/* Appends one element to the repeated field made of the members array and count:
 *     weir_message_add(arena, graph->node, graph->n_node, node)
 * False without memory. */
#define weir_message_add(arena, array, count, ...)                                                                     \
    ({                                                                                                                 \
        bool weir_message_room = weir_message_grow((arena), (void **)&(array), (count), sizeof *(array));              \
        if (weir_message_room)                                                                                         \
            (array)[(count)++] = __VA_ARGS__;                                                                          \
        weir_message_room;                                                                                             \
    })

/* Room for one more element after count; used by weir_message_add. Grows at 0 and powers of two. */
bool weir_message_grow(weir_arena *arena, void **array, size_t count, size_t size);

/* ---- looking at messages by their descriptors --------------------------------------------------------------------- */

/* True for a repeated field whose elements are the entries of a map. */
bool weir_field_is_map(const ProtobufCFieldDescriptor *field);

/* Bytes that one element takes in memory. */
size_t weir_field_size(const ProtobufCFieldDescriptor *field);

static inline void *weir_field_at(const ProtobufCMessage *message, unsigned offset)
{
    return (char *)(uintptr_t)message + offset;
}

/* True when the field is a member of a oneof. */
static inline bool weir_field_in_oneof(const ProtobufCFieldDescriptor *field)
{
    return (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
}

/* True when the field, a member of a oneof, is the one that is set. */
static inline bool weir_field_is_chosen(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    return *(uint32_t *)weir_field_at(message, field->quantifier_offset) == field->id;
}

#endif
