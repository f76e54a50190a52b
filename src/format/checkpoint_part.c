/*
 * Tensors stored in pieces, parts of tensors, and what RestoreV2 makes of lists of them.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "format/checkpoint_reader.h"

/* More pieces than any cluster has machines; looking for overlaps takes the square of it. */
#define MOST_PIECES 16384

/* ---- pieces -------------------------------------------------------------------------------------------------------- */

static weir_status slice_of_piece(const weir_bundle_entry *entry, const Weir__TensorSliceProto *proto,
                                  weir_slice *slice)
{
    weir_shape ignored = weir_shape_scalar();
    weir_slice made = {.rank = (int)proto->n_extent};
    if (proto->n_extent != (size_t)entry->shape.rank)
        return weir_fail(WEIR_DATA_LOSS, "Entry for key %.*s: a piece of %zu dimensions of a tensor of %d",
                         (int)entry->key_length, entry->key, proto->n_extent, entry->shape.rank);
    for (int i = 0; i < made.rank; i++) {
        const Weir__TensorSliceProto__Extent *extent = proto->extent[i];
        bool full = extent->has_length_hack_case == WEIR__TENSOR_SLICE_PROTO__EXTENT__HAS_LENGTH_HACK__NOT_SET;
        made.start[i] = full ? 0 : extent->start;
        made.length[i] = full ? WEIR_FULL_EXTENT : extent->length;
        if (!full && (made.start[i] < 0 || made.length[i] < 0))
            return weir_fail(WEIR_DATA_LOSS, "Entry for key %.*s: a piece from %" PRId64 " of length %" PRId64,
                             (int)entry->key_length, entry->key, made.start[i], made.length[i]);
    }
    WEIR_TRY(weir_fail_in(weir_slice_shape(&made, &entry->shape, &ignored), "Entry for key %.*s",
                          (int)entry->key_length, entry->key));
    *slice = made;
    return WEIR_STATUS_OK;
}

static weir_status read_piece(weir_checkpoint *checkpoint, const weir_bundle_entry *entry, const weir_slice *slice,
                              weir_arena *scratch, weir_tensor **out)
{
    weir_text key = {0};
    weir_bundle_entry piece;
    weir_shape shape = weir_shape_scalar();
    weir_tensor *tensor = NULL;
    weir_slice_append_key(&key, entry->key, entry->key_length, slice);
    const char *copy = weir_arena_text(scratch, weir_text_get(&key), key.length);
    size_t length = key.length;
    bool failed = key.failed || copy == NULL;
    weir_text_clear(&key);
    if (failed)
        return weir_fail_memory(length);
    weir_status status = weir_bundle_find(checkpoint, copy, length, scratch, &piece);
    WEIR_TRY(weir_fail_in(status, "a piece of %.*s", (int)entry->key_length, entry->key));
    WEIR_TRY(weir_slice_shape(slice, &entry->shape, &shape));
    piece.key = entry->key; /* for errors: the key of a piece is no text */
    piece.key_length = entry->key_length;
    if (piece.pieces > 0 || piece.dtype != entry->dtype || !weir_shape_equal(piece.shape, shape))
        return weir_fail(WEIR_DATA_LOSS, "Entry for key %.*s: a piece of another type or shape", (int)entry->key_length,
                         entry->key);
    WEIR_TRY(weir_bundle_read(checkpoint, &piece, &tensor));
    *out = tensor;
    return WEIR_STATUS_OK;
}

/* ---- putting together ---------------------------------------------------------------------------------------------- */

static weir_status fail_cover(const weir_bundle_entry *entry, const weir_slice *asked)
{
    weir_text text = {0};
    weir_slice_append(&text, asked);
    weir_status status = weir_fail(WEIR_INVALID_ARGUMENT,
                                   "Does not have sufficient slices for partitioned tensor %.*s to restore in "
                                   "slice_spec: %s",
                                   (int)entry->key_length, entry->key, weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

/* The slices of the pieces, as their keys name them, and as numbers. */
struct pieces {
    weir_slice *listed;
    weir_slice *resolved;
};

/* Fills in the pieces; those within the request must cover it, and none may overlap. */
static weir_status check_cover(const weir_bundle_entry *entry, const weir_slice *asked, const struct pieces *pieces)
{
    weir_slice request = weir_slice_resolved(asked, &entry->shape);
    weir_slice common;
    int64_t missing = weir_slice_elements(&request);
    for (size_t i = 0; i < entry->pieces; i++) {
        WEIR_TRY(slice_of_piece(entry, entry->slices[i], &pieces->listed[i]));
        pieces->resolved[i] = weir_slice_resolved(&pieces->listed[i], &entry->shape);
        for (size_t j = 0; j < i; j++) {
            if (weir_slice_intersect(&pieces->resolved[i], &pieces->resolved[j], &common))
                return weir_fail(WEIR_DATA_LOSS, "Entry for key %.*s: pieces %zu and %zu overlap",
                                 (int)entry->key_length, entry->key, j, i);
        }
        if (weir_slice_intersect(&pieces->resolved[i], &request, &common))
            missing -= weir_slice_elements(&common);
    }
    return missing == 0 ? WEIR_STATUS_OK : fail_cover(entry, asked);
}

static weir_status copy_pieces(weir_checkpoint *checkpoint, const weir_bundle_entry *entry, const weir_slice *asked,
                               const struct pieces *pieces, weir_tensor *whole)
{
    weir_slice request = weir_slice_resolved(asked, &entry->shape);
    for (size_t i = 0; i < entry->pieces; i++) {
        weir_slice common;
        weir_tensor *piece = NULL;
        if (!weir_slice_intersect(&pieces->resolved[i], &request, &common))
            continue;
        weir_arena scratch = {0};
        weir_status status = read_piece(checkpoint, entry, &pieces->listed[i], &scratch, &piece);
        if (weir_ok(status))
            weir_slice_copy(&common, weir_dtype_size(entry->dtype), whole->data, &request, piece->data,
                            &pieces->resolved[i]);
        weir_tensor_free(piece);
        weir_arena_clear(&scratch);
        WEIR_TRY(status);
    }
    return WEIR_STATUS_OK;
}

static weir_status put_together(weir_checkpoint *checkpoint, const weir_bundle_entry *entry, const weir_slice *asked,
                                const struct pieces *pieces, weir_tensor **out)
{
    weir_shape shape = weir_shape_scalar();
    weir_tensor *whole = NULL;
    WEIR_TRY(weir_slice_shape(asked, &entry->shape, &shape));
    WEIR_TRY(check_cover(entry, asked, pieces));
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), entry->dtype, &shape, &whole));
    weir_status status = copy_pieces(checkpoint, entry, asked, pieces, whole);
    if (!weir_ok(status)) {
        weir_tensor_free(whole);
        return status;
    }
    *out = whole;
    return WEIR_STATUS_OK;
}

/* A part of a tensor that is stored whole. */
static weir_status cut_out(weir_checkpoint *checkpoint, const weir_bundle_entry *entry, const weir_slice *asked,
                           weir_tensor **out)
{
    weir_shape shape = weir_shape_scalar();
    weir_tensor *whole = NULL;
    weir_tensor *part = NULL;
    weir_slice all = weir_slice_full(entry->shape.rank);
    weir_slice request = weir_slice_resolved(asked, &entry->shape);
    WEIR_TRY(weir_slice_shape(asked, &entry->shape, &shape));
    WEIR_TRY(weir_bundle_read(checkpoint, entry, &whole));
    all = weir_slice_resolved(&all, &entry->shape);
    weir_status status = weir_tensor_allocate(weir_host_allocator(), entry->dtype, &shape, &part);
    if (weir_ok(status) && part->elements > 0)
        weir_slice_copy(&request, weir_dtype_size(entry->dtype), part->data, &request, whole->data, &all);
    weir_tensor_free(whole);
    WEIR_TRY(status);
    *out = part;
    return WEIR_STATUS_OK;
}

weir_status weir_bundle_read_part(weir_checkpoint *checkpoint, const weir_bundle_entry *entry, const weir_slice *slice,
                                  weir_tensor **out)
{
    weir_slice all = weir_slice_full(entry->shape.rank);
    const weir_slice *asked = slice != NULL ? slice : &all;
    if (weir_dtype_is_object(entry->dtype))
        return weir_fail(WEIR_UNIMPLEMENTED,
                         "A part of the %s tensor %.*s was asked for; only tensors of numbers and "
                         "bools have parts",
                         weir_dtype_name(entry->dtype), (int)entry->key_length, entry->key);
    if (entry->pieces == 0)
        return cut_out(checkpoint, entry, asked, out);
    if (entry->pieces > MOST_PIECES)
        return weir_fail(WEIR_UNIMPLEMENTED, "Tensor %.*s stands in %zu pieces, more than %d", (int)entry->key_length,
                         entry->key, entry->pieces, MOST_PIECES);
    weir_slice *slices = NULL;
    WEIR_TRY(weir_new(&slices, 2 * entry->pieces));
    struct pieces pieces = {.listed = slices, .resolved = slices + entry->pieces};
    weir_status status = put_together(checkpoint, entry, asked, &pieces, out);
    weir_release(slices);
    return status;
}

/* ---- requests ------------------------------------------------------------------------------------------------------ */

static weir_status restore_entry(weir_checkpoint *checkpoint, const weir_bundle_entry *entry, const weir_string *spec,
                                 weir_tensor **out)
{
    if (spec->size == 0)
        return entry->pieces == 0 ? weir_bundle_read(checkpoint, entry, out)
                                  : weir_bundle_read_part(checkpoint, entry, NULL, out);
    weir_shape shape = weir_shape_scalar();
    weir_shape ignored = weir_shape_scalar();
    weir_slice slice = {.rank = 0};
    WEIR_TRY(weir_slice_parse(spec->data, spec->size, &shape, &slice, &ignored));
    char asked[WEIR_SHAPE_TEXT_SIZE];
    char stored[WEIR_SHAPE_TEXT_SIZE];
    if (!weir_shape_equal(shape, entry->shape))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "tensor_name = %.*s; shape in shape_and_slice spec %s does not match the shape stored in "
                         "checkpoint: %s",
                         (int)entry->key_length, entry->key, weir_shape_text(shape, asked, sizeof asked),
                         weir_shape_text(entry->shape, stored, sizeof stored));
    return weir_bundle_read_part(checkpoint, entry, &slice, out);
}

weir_status weir_checkpoint_restore(weir_checkpoint *checkpoint, const weir_string *name, const weir_string *spec,
                                    weir_tensor **out)
{
    weir_arena scratch = {0};
    weir_bundle_entry entry;
    weir_status status = weir_bundle_find(checkpoint, name->data, name->size, &scratch, &entry);
    if (weir_ok(status))
        status = restore_entry(checkpoint, &entry, spec, out);
    weir_arena_clear(&scratch);
    return status;
}

weir_status weir_checkpoint_read(weir_checkpoint *checkpoint, const char *name, weir_tensor **out)
{
    return weir_checkpoint_read_part(checkpoint, name, "", out);
}

weir_status weir_checkpoint_read_part(weir_checkpoint *checkpoint, const char *name, const char *shape_and_slice,
                                      weir_tensor **out)
{
    weir_string key = {.data = (char *)(uintptr_t)name, .size = strlen(name)};
    weir_string spec = {.data = (char *)(uintptr_t)shape_and_slice, .size = strlen(shape_and_slice)};
    return weir_checkpoint_restore(checkpoint, &key, &spec, out);
}

static weir_status check_dtype(weir_checkpoint *checkpoint, const weir_string *name, weir_dtype dtype,
                               weir_text *mismatches)
{
    weir_arena scratch = {0};
    weir_bundle_entry entry = {.dtype = dtype};
    weir_status status = weir_bundle_find(checkpoint, name->data, name->size, &scratch, &entry);
    weir_arena_clear(&scratch);
    if (dtype != WEIR_INVALID_DTYPE && entry.dtype != dtype)
        weir_text_append(mismatches, "%stensor_name = %.*s; expected dtype %s does not equal original dtype %s",
                         mismatches->length == 0 ? "" : "\n", (int)name->size, name->data, weir_dtype_name(dtype),
                         weir_dtype_name(entry.dtype));
    return status;
}

static weir_status restore_list(weir_checkpoint *checkpoint, size_t count, const weir_string *names,
                                const weir_string *specs, const weir_dtype *dtypes, weir_tensor **tensors)
{
    weir_text mismatches = {0};
    weir_status status = WEIR_STATUS_OK;
    for (size_t i = 0; i < count && weir_ok(status); i++)
        status = check_dtype(checkpoint, &names[i], dtypes[i], &mismatches);
    if (weir_ok(status) && mismatches.length > 0)
        status = weir_fail(WEIR_INVALID_ARGUMENT, "%s", weir_text_get(&mismatches));
    weir_text_clear(&mismatches);
    for (size_t i = 0; i < count && weir_ok(status); i++)
        status = weir_checkpoint_restore(checkpoint, &names[i], &specs[i], &tensors[i]);
    return status;
}

weir_status weir_checkpoint_restore_all(const char *prefix, size_t count, const weir_string *names,
                                        const weir_string *specs, const weir_dtype *dtypes, weir_tensor **tensors)
{
    weir_checkpoint *checkpoint = NULL;
    weir_tensor **restored = NULL;
    WEIR_TRY(weir_checkpoint_open(prefix, &checkpoint));
    weir_status status = weir_new(&restored, count);
    if (weir_ok(status))
        status = restore_list(checkpoint, count, names, specs, dtypes, restored);
    for (size_t i = 0; i < count && restored != NULL; i++) {
        if (weir_ok(status))
            tensors[i] = restored[i];
        else
            weir_tensor_free(restored[i]);
    }
    weir_release(restored);
    weir_checkpoint_close(checkpoint);
    return status;
}
