/*
 * Messages in which a singular message field stands more than once.
 */
#ifndef FORMAT_MESSAGE_MERGE_H
#define FORMAT_MESSAGE_MERGE_H

#include "format/message.h"

/* Rewrites scanned bytes so that every singular message field stands once, its occurrences put together as protobuf
 * demands: the contents one after another, in a oneof only those since another member was set. In the arena. */
WEIR_WARN_UNUSED weir_status weir_message_merge(const ProtobufCMessageDescriptor *descriptor, const void *bytes,
                                                size_t length, weir_arena *arena, ProtobufCBinaryData *out);

#endif
