/*
 * A header of big-endian words (magic, then one size per axis), then the elements. The size by the header is compared
 * with what is there before memory is taken.
 */
#include <weir/idx.h>

#include <inttypes.h>

#include "format/bytes.h"
#include "format/gzip.h"
#include "tensor/tensor.h"

#define LARGEST_AXIS (1U << 30)
#define LARGEST_FILE ((uint64_t)1 << 40)
#define COUNT_AT_ONCE 65536
#define MOST_COUNTED ((uint64_t)1 << 26) /* of bytes too many */

struct idx {
    const char *path;
    weir_gzip *gzip;
    weir_idx_kind kind;
    weir_shape shape;
    uint64_t header_size;
    uint64_t size; /* of the file, by its header */
};

static int axes_of(weir_idx_kind kind)
{
    return kind == WEIR_IDX_IMAGES ? 3 : 1;
}

/* ---- header -------------------------------------------------------------------------------------------------------- */

static weir_status check_magic(const struct idx *idx, uint32_t magic)
{
    uint32_t wanted = (uint32_t)idx->kind;
    uint32_t reversed = __builtin_bswap32(magic);
    if (magic == wanted)
        return WEIR_STATUS_OK;
    if (magic == WEIR_IDX_LABELS || magic == WEIR_IDX_IMAGES)
        return weir_fail(WEIR_DATA_LOSS, "%s: magic %u, not %u: this file holds %s", idx->path, magic, wanted,
                         magic == WEIR_IDX_LABELS ? "labels" : "images");
    if (reversed == WEIR_IDX_LABELS || reversed == WEIR_IDX_IMAGES)
        return weir_fail(WEIR_DATA_LOSS,
                         "%s: magic %u, not %u: the bytes of its header are reversed (little-endian); IDX files are "
                         "big-endian",
                         idx->path, magic, wanted);
    return weir_fail(WEIR_DATA_LOSS, "%s: magic %u (bytes %02x %02x %02x %02x), not %u: this is no IDX file of %s",
                     idx->path, magic, magic >> 24, magic >> 16 & 0xff, magic >> 8 & 0xff, magic & 0xff, wanted,
                     idx->kind == WEIR_IDX_LABELS ? "labels" : "images");
}

static weir_status fail_size(const struct idx *idx, uint64_t actual, const char *how)
{
    char shape[WEIR_SHAPE_TEXT_SIZE];
    return weir_fail(WEIR_DATA_LOSS, "%s has %s%" PRIu64 " bytes, but %" PRIu64 " by its header (%s and %" PRIu64 ")",
                     idx->path, how, actual, idx->size, weir_shape_text(idx->shape, shape, sizeof shape),
                     idx->header_size);
}

static weir_status read_axes(struct idx *idx, const uint8_t *words)
{
    uint64_t elements = 1;
    idx->shape.rank = axes_of(idx->kind);
    for (int i = 0; i < idx->shape.rank; i++) {
        uint32_t axis = weir_get_u32_big(words + 4 * i);
        idx->shape.dims[i] = axis;
        if (axis > LARGEST_AXIS || __builtin_mul_overflow(elements, (uint64_t)axis, &elements) ||
            elements > LARGEST_FILE)
            return weir_fail(WEIR_DATA_LOSS, "%s: impossible size %u of axis %d in its header", idx->path, axis, i);
    }
    idx->size = idx->header_size + elements;
    return WEIR_STATUS_OK;
}

static weir_status read_header(struct idx *idx)
{
    uint8_t header[16] = {0};
    size_t got = 0;
    idx->header_size = 4 + 4 * (uint64_t)axes_of(idx->kind);
    WEIR_TRY(weir_gzip_read(idx->gzip, header, (size_t)idx->header_size, &got));
    if (got >= 4)
        WEIR_TRY(check_magic(idx, weir_get_u32_big(header)));
    if (got < idx->header_size)
        return weir_fail(WEIR_DATA_LOSS, "%s has %zu bytes, too few for the header of %" PRIu64, idx->path, got,
                         idx->header_size);
    return read_axes(idx, header + 4);
}

/* ---- elements ------------------------------------------------------------------------------------------------------ */

/* What the file could hold at most, before anything is allocated. */
static weir_status check_file_size(const struct idx *idx)
{
    uint64_t file_size = weir_gzip_file_size(idx->gzip);
    if (!weir_gzip_is_compressed(idx->gzip))
        return file_size == idx->size ? WEIR_STATUS_OK : fail_size(idx, file_size, "");
    if (idx->size / WEIR_GZIP_MOST_EXPANSION > file_size)
        return fail_size(idx, file_size, "compressed ");
    return WEIR_STATUS_OK;
}

/* The file must end here; says how much too long it is. */
static weir_status check_end(const struct idx *idx)
{
    uint8_t more[COUNT_AT_ONCE];
    uint64_t extra = 0;
    size_t got = 0;
    do {
        WEIR_TRY(weir_gzip_read(idx->gzip, more, sizeof more, &got));
        extra += got;
    } while (got == sizeof more && extra < MOST_COUNTED);
    if (extra == 0)
        return WEIR_STATUS_OK;
    return fail_size(idx, idx->size + extra, got == sizeof more ? "more than " : "");
}

static weir_status read_elements(const struct idx *idx, weir_tensor *tensor)
{
    size_t got = 0;
    WEIR_TRY(weir_gzip_read(idx->gzip, tensor->data, tensor->size_bytes, &got));
    if (got < tensor->size_bytes)
        return fail_size(idx, idx->header_size + got, "");
    return check_end(idx);
}

static weir_status read_file(struct idx *idx, weir_tensor **out)
{
    weir_tensor *tensor = NULL;
    WEIR_TRY(read_header(idx));
    WEIR_TRY(check_file_size(idx));
    WEIR_TRY(
        weir_fail_in(weir_tensor_allocate(weir_host_allocator(), WEIR_UINT8, &idx->shape, &tensor), "%s", idx->path));
    weir_status status = read_elements(idx, tensor);
    if (!weir_ok(status)) {
        weir_tensor_free(tensor);
        return status;
    }
    *out = tensor;
    return WEIR_STATUS_OK;
}

weir_status weir_idx_read(const char *path, weir_idx_kind kind, weir_tensor **out)
{
    struct idx idx = {.path = path, .kind = kind};
    WEIR_TRY(weir_gzip_open(path, &idx.gzip));
    weir_status status = read_file(&idx, out);
    weir_gzip_close(idx.gzip);
    return status;
}
