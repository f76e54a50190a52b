/*
 * One field: tag, then a value whose length its wire type tells.
 */
#include "format/wire.h"

#include "format/bytes.h"

#define LONGEST_TAG 5

static const char *read_tag(const uint8_t **at, const uint8_t *end, weir_wire_field *field)
{
    uint64_t tag = 0;
    size_t used = weir_get_varint(*at, (size_t)(end - *at), &tag);
    if (used == 0 || used > LONGEST_TAG || tag > UINT32_MAX)
        return "cut or overlong tag";
    field->start = *at;
    field->id = (uint32_t)(tag >> 3);
    field->type = tag & 7;
    *at += used;
    return field->id == 0 ? "impossible field number" : NULL;
}

static const char *read_length(const uint8_t **at, const uint8_t *end, weir_wire_field *field)
{
    size_t used = weir_get_varint(*at, (size_t)(end - *at), &field->length);
    if (used == 0)
        return "cut or overlong length";
    *at += used;
    return NULL;
}

const char *weir_wire_next(const uint8_t **at, const uint8_t *end, weir_wire_field *field)
{
    const char *fault = read_tag(at, end, field);
    if (fault != NULL)
        return fault;
    uint64_t ignored = 0;
    switch (field->type) {
    case WEIR_WIRE_VARINT:
        field->length = weir_get_varint(*at, (size_t)(end - *at), &ignored);
        if (field->length == 0)
            return "cut or overlong varint";
        break;
    case WEIR_WIRE_FIXED64:
        field->length = 8;
        break;
    case WEIR_WIRE_LENGTH:
        fault = read_length(at, end, field);
        if (fault != NULL)
            return fault;
        break;
    case WEIR_WIRE_FIXED32:
        field->length = 4;
        break;
    case 3:
    case 4:
        return "a group, which no message has";
    default:
        return "unknown wire type";
    }
    field->payload = *at;
    if (field->length > (uint64_t)(end - *at))
        return "value longer than what is left";
    *at += field->length;
    return NULL;
}
