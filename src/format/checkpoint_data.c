/*
 * Strings: their lengths as varints, a checksum of the lengths, then their bytes. Variants: each with its length before
 * and a running checksum behind it. Either way the checksum of the entry goes over the lengths as words, not as varints.
 */
#include "format/checkpoint_data.h"

#include <inttypes.h>

#include "base/crc32c.h"
#include "format/bytes.h"

/* ---- checksums of lengths ------------------------------------------------------------------------------------------ */

static uint32_t extend_u32(uint32_t crc, uint32_t word, bool swap)
{
    uint8_t bytes[4];
    weir_put_u32(bytes, swap ? __builtin_bswap32(word) : word);
    return weir_crc32c_extend(crc, bytes, sizeof bytes);
}

static uint32_t extend_u64(uint32_t crc, uint64_t word, bool swap)
{
    uint8_t bytes[8];
    weir_put_u64(bytes, swap ? __builtin_bswap64(word) : word);
    return weir_crc32c_extend(crc, bytes, sizeof bytes);
}

static uint32_t extend_length(uint32_t crc, uint64_t length, bool swap)
{
    return length <= UINT32_MAX ? extend_u32(crc, (uint32_t)length, swap) : extend_u64(crc, length, swap);
}

/* ---- writing ------------------------------------------------------------------------------------------------------- */

/* Appends a checksum, masked, and returns the checksum extended by its stored bytes. */
static uint32_t append_checksum(weir_text *text, uint32_t crc)
{
    uint8_t stored[4];
    weir_put_u32(stored, weir_crc32c_mask(crc));
    weir_text_append_bytes(text, stored, sizeof stored);
    return weir_crc32c_extend(crc, stored, sizeof stored);
}

static uint32_t encode_strings(const weir_tensor *tensor, weir_text *bytes)
{
    const weir_string *strings = weir_tensor_string_elements(tensor);
    uint32_t crc = 0;
    for (int64_t i = 0; i < tensor->elements; i++) {
        weir_append_varint(bytes, strings[i].size);
        crc = extend_length(crc, strings[i].size, false);
    }
    crc = append_checksum(bytes, crc);
    for (int64_t i = 0; i < tensor->elements; i++) {
        weir_text_append_bytes(bytes, strings[i].data, strings[i].size);
        crc = weir_crc32c_extend(crc, strings[i].data, strings[i].size);
    }
    return crc;
}

static uint32_t encode_variants(const weir_tensor *tensor, weir_text *bytes)
{
    const weir_variant *variants = tensor->data;
    uint32_t crc = 0;
    for (int64_t i = 0; i < tensor->elements; i++) {
        weir_append_varint(bytes, variants[i].size);
        weir_text_append_bytes(bytes, variants[i].data, variants[i].size);
        crc = extend_u64(crc, variants[i].size, false);
        crc = weir_crc32c_extend(crc, variants[i].data, variants[i].size);
        crc = append_checksum(bytes, crc);
    }
    return crc;
}

void weir_checkpoint_encode(const weir_tensor *tensor, weir_text *bytes, uint32_t *crc)
{
    *crc = tensor->dtype == WEIR_STRING ? encode_strings(tensor, bytes) : encode_variants(tensor, bytes);
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

struct decoder {
    const uint8_t *at;
    const uint8_t *end;
    bool swap;
    uint32_t crc;
};

static weir_status fail_short(const struct decoder *decoder, int64_t element)
{
    return weir_fail(WEIR_DATA_LOSS, "element %" PRId64 " of a string tensor does not fit the %zu bytes left of it",
                     element, (size_t)(decoder->end - decoder->at));
}

static weir_status take_length(struct decoder *decoder, int64_t element, uint64_t *length)
{
    size_t used = weir_get_varint(decoder->at, (size_t)(decoder->end - decoder->at), length);
    if (used == 0)
        return fail_short(decoder, element);
    decoder->at += used;
    return WEIR_STATUS_OK;
}

static weir_status take_bytes(struct decoder *decoder, int64_t element, uint64_t length, weir_string *string)
{
    if (length > (uint64_t)(decoder->end - decoder->at))
        return fail_short(decoder, element);
    WEIR_TRY(weir_string_set(string, decoder->at, (size_t)length));
    decoder->crc = weir_crc32c_extend(decoder->crc, decoder->at, (size_t)length);
    decoder->at += length;
    return WEIR_STATUS_OK;
}

/* A stored checksum of what was read so far. */
static weir_status take_checksum(struct decoder *decoder)
{
    if (decoder->end - decoder->at < 4)
        return fail_short(decoder, 0);
    uint32_t stored = weir_get_u32(decoder->at);
    uint32_t expected = weir_crc32c_unmask(decoder->swap ? __builtin_bswap32(stored) : stored);
    if (expected != decoder->crc)
        return weir_fail(WEIR_DATA_LOSS, "The length checksum does not match: expected %u but actual is %u", expected,
                         decoder->crc);
    decoder->crc = weir_crc32c_extend(decoder->crc, decoder->at, 4);
    decoder->at += 4;
    return WEIR_STATUS_OK;
}

static weir_status decode_strings(struct decoder *decoder, weir_tensor *tensor)
{
    const uint8_t *lengths = decoder->at;
    uint64_t length = 0;
    for (int64_t i = 0; i < tensor->elements; i++) {
        WEIR_TRY(take_length(decoder, i, &length));
        decoder->crc = extend_length(decoder->crc, length, decoder->swap);
    }
    WEIR_TRY(take_checksum(decoder));
    for (int64_t i = 0; i < tensor->elements; i++) {
        lengths += weir_get_varint(lengths, WEIR_VARINT_MOST, &length);
        WEIR_TRY(take_bytes(decoder, i, length, &weir_tensor_string_elements(tensor)[i]));
    }
    return WEIR_STATUS_OK;
}

static weir_status decode_variants(struct decoder *decoder, weir_tensor *tensor)
{
    weir_variant *variants = tensor->data;
    for (int64_t i = 0; i < tensor->elements; i++) {
        uint64_t length = 0;
        WEIR_TRY(take_length(decoder, i, &length));
        decoder->crc = extend_u64(decoder->crc, length, false);
        WEIR_TRY(take_bytes(decoder, i, length, &variants[i]));
        WEIR_TRY(take_checksum(decoder));
    }
    return WEIR_STATUS_OK;
}

weir_status weir_checkpoint_decode(const uint8_t *bytes, size_t length, bool swap, weir_tensor *tensor, uint32_t *crc)
{
    struct decoder decoder = {.at = bytes, .end = bytes + length, .swap = swap};
    if (length == 0 && tensor->elements == 0) { /* also accepted for no strings */
        *crc = 0;
        return WEIR_STATUS_OK;
    }
    WEIR_TRY(tensor->dtype == WEIR_STRING ? decode_strings(&decoder, tensor) : decode_variants(&decoder, tensor));
    if (decoder.at != decoder.end)
        return weir_fail(WEIR_DATA_LOSS, "%zu bytes are left behind the last element of a string tensor",
                         (size_t)(decoder.end - decoder.at));
    *crc = decoder.crc;
    return WEIR_STATUS_OK;
}
