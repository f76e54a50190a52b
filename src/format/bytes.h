/*
 * Numbers in bytes: little-endian words and varints, the only way by which numbers enter and leave files and messages
 * (besides protobuf-c).
 */
#ifndef FORMAT_BYTES_H
#define FORMAT_BYTES_H

#include "base/text.h"
#include <stddef.h>
#include <stdint.h>

#define WEIR_VARINT_MOST 10 /* bytes of the longest varint */

static inline uint32_t weir_get_u32(const void *bytes)
{
    const uint8_t *b = bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t weir_get_u64(const void *bytes)
{
    return weir_get_u32(bytes) | (uint64_t)weir_get_u32((const uint8_t *)bytes + 4) << 32;
}

static inline uint32_t weir_get_u32_big(const void *bytes)
{
    return __builtin_bswap32(weir_get_u32(bytes));
}

static inline void weir_put_u32(void *bytes, uint32_t value)
{
    uint8_t *b = bytes;
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t)(value >> (8 * i));
}

static inline void weir_put_u64(void *bytes, uint64_t value)
{
    weir_put_u32(bytes, (uint32_t)value);
    weir_put_u32((uint8_t *)bytes + 4, (uint32_t)(value >> 32));
}

/* Reads a varint from at most length bytes; bits above 64 are dropped. Returns the bytes it took, 0 when the varint is
 * cut short or longer than 10 bytes. */
static inline size_t weir_get_varint(const uint8_t *bytes, size_t length, uint64_t *value)
{
    uint64_t result = 0;
    size_t most = length < WEIR_VARINT_MOST ? length : WEIR_VARINT_MOST;
    for (size_t i = 0; i < most; i++) {
        result |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80) {
            *value = result;
            return i + 1;
        }
    }
    return 0;
}

/* Writes a varint of at most WEIR_VARINT_MOST bytes; returns how many. */
static inline size_t weir_put_varint(uint8_t *bytes, uint64_t value)
{
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (uint8_t)(value | 0x80);
    bytes[length++] = (uint8_t)value;
    return length;
}

static inline void weir_append_varint(weir_text *text, uint64_t value)
{
    uint8_t bytes[WEIR_VARINT_MOST];
    weir_text_append_bytes(text, bytes, weir_put_varint(bytes, value));
}

static inline void weir_append_u32(weir_text *text, uint32_t value)
{
    uint8_t bytes[4];
    weir_put_u32(bytes, value);
    weir_text_append_bytes(text, bytes, sizeof bytes);
}

#endif
