/*
 * Texts and arithmetic of slices.
 */
#include "format/slice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

weir_slice weir_slice_full(int rank)
{
    weir_slice slice = {.rank = rank};
    for (int i = 0; i < rank; i++)
        slice.length[i] = WEIR_FULL_EXTENT;
    return slice;
}

/* ---- texts --------------------------------------------------------------------------------------------------------- */

/* A whole decimal number of up to 20 characters. */
static bool read_number(const char *text, size_t length, int64_t *number)
{
    char digits[24];
    char *end = NULL;
    if (length == 0 || length >= sizeof digits || text[0] == ' ' || text[0] == '+')
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    errno = 0;
    *number = strtoll(digits, &end, 10);
    return errno == 0 && *end == '\0' && end == digits + length;
}

/* Length of the word at text, up to the separator or the end. */
static size_t word_length(const char *text, size_t length, char separator)
{
    const char *found = length == 0 ? NULL : memchr(text, separator, length);
    return found == NULL ? length : (size_t)(found - text);
}

/* One item, "-" or "start,length", of the slice whole. */
static weir_status parse_extent(const char *item, size_t length, const char *whole, int whole_length, int64_t *start,
                                int64_t *extent)
{
    if (length == 1 && item[0] == '-') {
        *start = 0;
        *extent = WEIR_FULL_EXTENT;
        return WEIR_STATUS_OK;
    }
    size_t comma = word_length(item, length, ',');
    if (comma == length || !read_number(item, comma, start) ||
        !read_number(item + comma + 1, length - comma - 1, extent))
        return weir_fail(WEIR_INVALID_ARGUMENT, "Expected a pair of numbers or '-' but got '%.*s': string = %.*s",
                         (int)length, item, whole_length, whole);
    if (*start < 0 || *extent <= 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Expected non-negative start and positive length but got start = %" PRId64
                         ", length = %" PRId64 ": string = %.*s",
                         *start, *extent, whole_length, whole);
    return WEIR_STATUS_OK;
}

static weir_status parse_slice(const char *text, size_t length, weir_slice *slice)
{
    weir_slice parsed = {.rank = 0};
    for (size_t at = 0; at < length;) {
        size_t word = word_length(text + at, length - at, ':');
        if (parsed.rank == WEIR_MAX_RANK)
            return weir_fail(WEIR_UNIMPLEMENTED, "A slice of more than %d dimensions: %.*s", WEIR_MAX_RANK, (int)length,
                             text);
        WEIR_TRY(
            parse_extent(text + at, word, text, (int)length, &parsed.start[parsed.rank], &parsed.length[parsed.rank]));
        parsed.rank++;
        at += word + 1;
    }
    *slice = parsed;
    return WEIR_STATUS_OK;
}

static weir_status add_dimension(const char *text, size_t length, int64_t dim, bool number, weir_shape *shape)
{
    if (!number || dim < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Non numerical dimension in shape_and_slice: %.*s", (int)length, text);
    if (shape->rank == WEIR_MAX_RANK)
        return weir_fail(WEIR_UNIMPLEMENTED, "A shape of more than %d dimensions: %.*s", WEIR_MAX_RANK, (int)length,
                         text);
    shape->dims[shape->rank++] = dim;
    return WEIR_STATUS_OK;
}

weir_status weir_slice_parse(const char *text, size_t length, weir_shape *shape, weir_slice *slice, weir_shape *sliced)
{
    weir_shape parsed = weir_shape_scalar();
    weir_slice part = {.rank = 0};
    weir_shape part_shape = weir_shape_scalar();
    const char *last_blank = length == 0 ? NULL : memrchr(text, ' ', length);
    if (last_blank == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Need least two elements in shape_and_slice specification: %.*s",
                         (int)length, text);
    for (const char *at = text; at <= last_blank;) {
        size_t word = word_length(at, (size_t)(last_blank - at), ' ');
        int64_t dim = 0;
        bool number = read_number(at, word, &dim);
        WEIR_TRY(add_dimension(text, length, dim, number, &parsed));
        at += word + 1;
    }
    WEIR_TRY(parse_slice(last_blank + 1, length - (size_t)(last_blank + 1 - text), &part));
    WEIR_TRY(weir_slice_shape(&part, &parsed, &part_shape));
    *shape = parsed;
    *slice = part;
    *sliced = part_shape;
    return WEIR_STATUS_OK;
}

void weir_slice_append(weir_text *text, const weir_slice *slice)
{
    for (int i = 0; i < slice->rank; i++) {
        weir_text_append(text, "%s", i == 0 ? "" : ":");
        if (slice->length[i] == WEIR_FULL_EXTENT)
            weir_text_append(text, "-");
        else
            weir_text_append(text, "%" PRId64 ",%" PRId64, slice->start[i], slice->length[i]);
    }
}

static weir_status fail_fit(const char *what, const weir_slice *slice, const weir_shape *shape)
{
    char shown[WEIR_SHAPE_TEXT_SIZE];
    weir_text text = {0};
    weir_slice_append(&text, slice);
    weir_status status = weir_fail(WEIR_INTERNAL, "%s: shape = %s, slice = %s", what,
                                   weir_shape_text(*shape, shown, sizeof shown), weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

weir_status weir_slice_shape(const weir_slice *slice, const weir_shape *shape, weir_shape *sliced)
{
    if (slice->rank != shape->rank)
        return fail_fit("Mismatching ranks", slice, shape);
    weir_shape part = *shape;
    for (int i = 0; i < slice->rank; i++) {
        if (slice->length[i] == WEIR_FULL_EXTENT)
            continue;
        if (slice->start[i] < 0 || slice->length[i] < 0 || slice->start[i] > shape->dims[i] ||
            slice->length[i] > shape->dims[i] - slice->start[i]) {
            char what[64];
            snprintf(what, sizeof what, "Extent in dimension %d out of bounds", i);
            return fail_fit(what, slice, shape);
        }
        part.dims[i] = slice->length[i];
    }
    *sliced = part;
    return WEIR_STATUS_OK;
}

/* ---- keys ---------------------------------------------------------------------------------------------------------- */

/* Numbers so that the order of the bytes is that of the numbers. */
static void append_number(weir_text *key, uint64_t value)
{
    uint8_t bytes[9];
    size_t length = 0;
    while (length < 8 && (value >> (8 * length)) != 0)
        length++;
    bytes[0] = (uint8_t)length;
    for (size_t i = 0; i < length; i++)
        bytes[1 + i] = (uint8_t)(value >> (8 * (length - 1 - i)));
    weir_text_append_bytes(key, bytes, 1 + length);
}

static void append_signed(weir_text *key, int64_t value)
{
    static const uint8_t heads[11][2] = {{0, 0},    {0x80, 0}, {0xc0, 0}, {0xe0, 0},    {0xf0, 0},   {0xf8, 0},
                                         {0xfc, 0}, {0xfe, 0}, {0xff, 0}, {0xff, 0x80}, {0xff, 0xc0}};
    uint64_t size = value < 0 ? ~(uint64_t)value : (uint64_t)value;
    int bits = size == 0 ? 0 : 64 - __builtin_clzll(size);
    int length = bits / 7 + 1;
    uint8_t bytes[10] = {0};
    for (int i = 0; i < length; i++) {
        int shift = 8 * (length - 1 - i);
        bytes[i] = shift >= 64 ? (value < 0 ? 0xff : 0) : (uint8_t)((uint64_t)value >> shift);
    }
    bytes[0] ^= heads[length][0];
    if (length > 1)
        bytes[1] ^= heads[length][1];
    weir_text_append_bytes(key, bytes, (size_t)length);
}

static void append_name(weir_text *key, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        weir_text_append_bytes(key, name + i, 1);
        if (name[i] == '\0')
            weir_text_append_bytes(key, "\xff", 1);
        else if ((uint8_t)name[i] == 0xff)
            weir_text_append_bytes(key, "\0", 1);
    }
    weir_text_append_bytes(key, "\0\1", 2);
}

void weir_slice_append_key(weir_text *key, const char *name, size_t length, const weir_slice *slice)
{
    append_number(key, 0);
    append_name(key, name, length);
    append_number(key, (uint64_t)slice->rank);
    for (int i = 0; i < slice->rank; i++) {
        append_signed(key, slice->start[i]);
        append_signed(key, slice->length[i]);
    }
}

/* ---- arithmetic ---------------------------------------------------------------------------------------------------- */

weir_slice weir_slice_resolved(const weir_slice *slice, const weir_shape *shape)
{
    weir_slice resolved = *slice;
    for (int i = 0; i < slice->rank; i++) {
        if (slice->length[i] == WEIR_FULL_EXTENT) {
            resolved.start[i] = 0;
            resolved.length[i] = shape->dims[i];
        }
    }
    return resolved;
}

bool weir_slice_intersect(const weir_slice *a, const weir_slice *b, weir_slice *common)
{
    *common = (weir_slice){.rank = a->rank};
    for (int i = 0; i < a->rank; i++) {
        int64_t a_end = a->start[i] + a->length[i];
        int64_t b_end = b->start[i] + b->length[i];
        int64_t start = a->start[i] > b->start[i] ? a->start[i] : b->start[i];
        int64_t end = a_end < b_end ? a_end : b_end;
        if (start >= end)
            return false;
        common->start[i] = start;
        common->length[i] = end - start;
    }
    return true;
}

int64_t weir_slice_elements(const weir_slice *slice)
{
    int64_t elements = 1;
    for (int i = 0; i < slice->rank; i++)
        elements *= slice->length[i];
    return elements;
}

/* Offset, in elements, of the point in the array of a slice. */
static int64_t offset_of(const int64_t *point, const weir_slice *slice)
{
    int64_t offset = 0;
    for (int i = 0; i < slice->rank; i++)
        offset = offset * slice->length[i] + point[i] - slice->start[i];
    return offset;
}

/* The next row of part; false behind the last. */
static bool next_row(int64_t *point, const weir_slice *part)
{
    for (int i = part->rank - 2; i >= 0; i--) {
        if (++point[i] < part->start[i] + part->length[i])
            return true;
        point[i] = part->start[i];
    }
    return false;
}

void weir_slice_copy(const weir_slice *part, size_t element_size, void *to, const weir_slice *to_slice,
                     const void *from, const weir_slice *from_slice)
{
    int64_t point[WEIR_MAX_RANK];
    memcpy(point, part->start, sizeof point);
    size_t row = (part->rank == 0 ? 1 : (size_t)part->length[part->rank - 1]) * element_size;
    do {
        memcpy((char *)to + (size_t)offset_of(point, to_slice) * element_size,
               (const char *)from + (size_t)offset_of(point, from_slice) * element_size, row);
    } while (next_row(point, part));
}
