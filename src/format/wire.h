/*
 * The fields of a serialized protobuf message, one after another, without copying and without trusting a length.
 */
#ifndef FORMAT_WIRE_H
#define FORMAT_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum { WEIR_WIRE_VARINT = 0, WEIR_WIRE_FIXED64 = 1, WEIR_WIRE_LENGTH = 2, WEIR_WIRE_FIXED32 = 5 };

typedef struct weir_wire_field {
    uint32_t id;
    unsigned type;          /* one of the above */
    const uint8_t *start;   /* the tag */
    const uint8_t *payload; /* the value, without its length */
    uint64_t length;        /* of the payload; may be beyond the end when weir_wire_next fails */
} weir_wire_field;

/* Reads the field at *at and moves *at behind it. Returns NULL, or what is wrong with it in a few words. *at < end. */
const char *weir_wire_next(const uint8_t **at, const uint8_t *end, weir_wire_field *field);

#endif
