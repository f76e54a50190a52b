/*
 * The text form of protobuf messages (.pbtxt, the state file of checkpoints), driven by protobuf-c's descriptors.
 */
#ifndef FORMAT_TEXT_FORMAT_H
#define FORMAT_TEXT_FORMAT_H

#include "base/text.h"
#include "format/message.h"

/* Appends the message in the form TensorFlow's Python writes: two blanks per level, one element per line, entries of
 * maps sorted by key, bytes as octal escapes. INVALID_ARGUMENT when nested deeper than WEIR_MESSAGE_DEPTH. */
WEIR_WARN_UNUSED weir_status weir_message_to_text(const ProtobufCMessage *message, weir_text *out);

/* Reads text as a message of the descriptor's type into the arena, which must outlive it; it fulfils what message.h
 * promises of unpacked ones. INVALID_ARGUMENT "Cannot parse GraphDef text: 3:7: ..." names line, column (both from 1)
 * and the offending text. */
WEIR_WARN_UNUSED weir_status weir_message_from_text(const ProtobufCMessageDescriptor *descriptor, const char *text,
                                                    size_t length, weir_arena *arena, ProtobufCMessage **out);

#endif
