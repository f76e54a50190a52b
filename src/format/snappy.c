/*
 * A varint of the length, then literals and copies of what is already there.
 */
#include "format/snappy.h"

#include <string.h>

#include "base/memory.h"
#include "format/bytes.h"

/* The best an element can do is 64 bytes from three, or 11 from two. */
#define MOST_EXPANSION 64

struct snappy {
    const uint8_t *at;
    const uint8_t *end;
    uint8_t *out;
    size_t used;
    size_t length;
};

static weir_status fail(const char *what)
{
    return weir_fail(WEIR_DATA_LOSS, "corrupted compressed block contents: %s", what);
}

/* count bytes of a little-endian number. */
static bool take_number(struct snappy *snappy, int count, size_t *number)
{
    if (snappy->end - snappy->at < count)
        return false;
    *number = 0;
    for (int i = 0; i < count; i++)
        *number |= (size_t)*snappy->at++ << (8 * i);
    return true;
}

static weir_status literal(struct snappy *snappy, unsigned tag)
{
    size_t length = tag >> 2;
    if (length >= 60 && !take_number(snappy, (int)length - 59, &length))
        return fail("cut literal length");
    length++;
    if (length > (size_t)(snappy->end - snappy->at) || length > snappy->length - snappy->used)
        return fail("literal too long");
    memcpy(snappy->out + snappy->used, snappy->at, length);
    snappy->at += length;
    snappy->used += length;
    return WEIR_STATUS_OK;
}

static weir_status copy(struct snappy *snappy, unsigned tag)
{
    size_t length = (tag >> 2) + 1;
    size_t offset = 0;
    unsigned kind = tag & 3;
    if (!take_number(snappy, kind == 1 ? 1 : kind == 2 ? 2 : 4, &offset))
        return fail("cut copy");
    if (kind == 1) {
        length = ((tag >> 2) & 7) + 4;
        offset |= (size_t)(tag >> 5) << 8;
    }
    if (offset == 0 || offset > snappy->used || length > snappy->length - snappy->used)
        return fail("copy out of range");
    for (size_t i = 0; i < length; i++, snappy->used++) /* may overlap itself */
        snappy->out[snappy->used] = snappy->out[snappy->used - offset];
    return WEIR_STATUS_OK;
}

static weir_status decompress(struct snappy *snappy)
{
    while (snappy->at < snappy->end) {
        unsigned tag = *snappy->at++;
        WEIR_TRY((tag & 3) == 0 ? literal(snappy, tag) : copy(snappy, tag));
    }
    return snappy->used == snappy->length ? WEIR_STATUS_OK : fail("too short");
}

weir_status weir_snappy_read(const uint8_t *block, size_t size, uint8_t **bytes, size_t *length)
{
    uint64_t promised = 0;
    size_t used = weir_get_varint(block, size, &promised);
    if (used == 0 || promised > UINT32_MAX)
        return fail("no length");
    if (promised / MOST_EXPANSION > size)
        return fail("length beyond what the block can hold");
    struct snappy snappy = {.at = block + used, .end = block + size, .length = (size_t)promised};
    snappy.out = weir_allocate((size_t)promised, 1);
    if (snappy.out == NULL)
        return weir_fail_memory((size_t)promised);
    weir_status status = decompress(&snappy);
    if (!weir_ok(status)) {
        weir_release(snappy.out);
        return status;
    }
    *bytes = snappy.out;
    *length = snappy.length;
    return WEIR_STATUS_OK;
}
