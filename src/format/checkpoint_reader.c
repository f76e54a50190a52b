/*
 * Opening a checkpoint, finding and listing what is in it, and reading whole tensors.
 */
#include "format/checkpoint_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weir/version.h>

#include "base/crc32c.h"
#include "base/memory.h"
#include "format/checkpoint_data.h"
#include "format/file.h"
#include "format/message.h"
#include "format/tensor_proto.h"

#define LARGEST_INDEX ((size_t)1 << 32)
#define READ_AT_ONCE ((size_t)1 << 20) /* so that the checksum finds the bytes in the cache */

#define UNABLE                                                                                                         \
    "Unable to read file (%s). Perhaps the file is corrupt or was produced by a newer version of TensorFlow with "     \
    "format changes "

void weir_checkpoint_index_name(weir_text *name, const char *prefix)
{
    weir_text_append(name, "%s.index", prefix);
}

void weir_checkpoint_data_name(weir_text *name, const char *prefix, int shard, int shards)
{
    weir_text_append(name, "%s.data-%05d-of-%05d", prefix, shard, shards);
}

/* ---- opening ------------------------------------------------------------------------------------------------------- */

static weir_status check_version(const Weir__VersionDef *version)
{
    if (version == NULL)
        return WEIR_STATUS_OK;
    if (version->producer < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Checkpoint producer version %d below min producer 0 supported by Weir %s.  Please regenerate "
                         "your checkpoint.",
                         version->producer, WEIR_VERSION);
    if (version->min_consumer > WEIR_CHECKPOINT_VERSION)
        return weir_fail(
            WEIR_INVALID_ARGUMENT,
            "Checkpoint min consumer version %d above current version %d for Weir %s.  Please upgrade Weir.",
            version->min_consumer, WEIR_CHECKPOINT_VERSION, WEIR_VERSION);
    for (size_t i = 0; i < version->n_bad_consumers; i++) {
        if (version->bad_consumers[i] == WEIR_CHECKPOINT_VERSION)
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Checkpoint disallows consumer version %d.  Please upgrade Weir: this version is likely "
                             "buggy.",
                             WEIR_CHECKPOINT_VERSION);
    }
    return WEIR_STATUS_OK;
}

/* The first entry is the header, whatever its key. */
static weir_status find_header(weir_checkpoint *checkpoint, const weir_table_entry **header)
{
    for (size_t block = 0; block < weir_table_blocks(checkpoint->table); block++) {
        size_t count = 0;
        WEIR_TRY(weir_fail_in(weir_table_block(checkpoint->table, block, header, &count),
                              UNABLE "(failed to seek to header entry)", checkpoint->index_name));
        if (count > 0)
            return WEIR_STATUS_OK;
    }
    return weir_fail(WEIR_INTERNAL, UNABLE "(failed to seek to header entry): it has no entries",
                     checkpoint->index_name);
}

static weir_status read_header(weir_checkpoint *checkpoint)
{
    const weir_table_entry *entry = NULL;
    ProtobufCMessage *message = NULL;
    WEIR_TRY(find_header(checkpoint, &entry));
    weir_status status = weir_message_unpack(&weir__bundle_header_proto__descriptor, entry->value, entry->value_length,
                                             &checkpoint->arena, &message);
    if (!weir_ok(status))
        return weir_fail(WEIR_DATA_LOSS, UNABLE "(unable to parse header): Entry for key %.*s not parseable.",
                         checkpoint->index_name, (int)entry->key_length, (const char *)entry->key);
    checkpoint->header = (Weir__BundleHeaderProto *)message;
    WEIR_TRY(weir_fail_in(check_version(checkpoint->header->version), "%s", checkpoint->index_name));
    checkpoint->shards = checkpoint->header->num_shards;
    bool little = checkpoint->header->endianness != WEIR__BUNDLE_HEADER_PROTO__ENDIANNESS__BIG;
    checkpoint->swap = little != WEIR_HOST_IS_LITTLE;
    return WEIR_STATUS_OK;
}

static weir_status fail_absent(const char *prefix)
{
    struct stat about;
    if (stat(prefix, &about) == 0 && S_ISREG(about.st_mode))
        return weir_fail(WEIR_UNIMPLEMENTED,
                         "%s has no .index: a checkpoint of the old format V1, which Weir does not read. Save it again "
                         "with a Saver of write_version V2",
                         prefix);
    return weir_fail(WEIR_NOT_FOUND,
                     "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for %s", prefix);
}

static weir_status open_index(weir_checkpoint *checkpoint, const char *prefix)
{
    weir_text name = {0};
    size_t length = 0;
    weir_checkpoint_index_name(&name, prefix);
    WEIR_TRY(weir_text_take(&name, &checkpoint->index_name));
    checkpoint->prefix = weir_copy_text(prefix, strlen(prefix));
    if (checkpoint->prefix == NULL)
        return weir_fail_memory(strlen(prefix));
    if (!weir_file_exists(checkpoint->index_name))
        return fail_absent(prefix);
    WEIR_TRY(weir_file_read(checkpoint->index_name, LARGEST_INDEX, &checkpoint->index, &length));
    WEIR_TRY(
        weir_fail_in(weir_table_open(checkpoint->index, length, &checkpoint->table), "%s", checkpoint->index_name));
    return read_header(checkpoint);
}

weir_status weir_checkpoint_open(const char *prefix, weir_checkpoint **out)
{
    weir_checkpoint *checkpoint = NULL;
    WEIR_TRY(weir_new(&checkpoint, 1));
    weir_status status = open_index(checkpoint, prefix);
    if (!weir_ok(status)) {
        weir_checkpoint_close(checkpoint);
        return status;
    }
    *out = checkpoint;
    return WEIR_STATUS_OK;
}

void weir_checkpoint_close(weir_checkpoint *checkpoint)
{
    if (checkpoint == NULL)
        return;
    for (size_t i = 0; i < checkpoint->files.count; i++)
        close(checkpoint->files.items[i].file);
    weir_list_clear(&checkpoint->files);
    weir_list_clear(&checkpoint->entries);
    weir_table_close(checkpoint->table);
    weir_arena_clear(&checkpoint->arena);
    weir_release(checkpoint->index);
    weir_release(checkpoint->index_name);
    weir_release(checkpoint->prefix);
    weir_release(checkpoint);
}

bool weir_checkpoint_exists(const char *prefix)
{
    weir_text name = {0};
    weir_checkpoint_index_name(&name, prefix);
    bool exists = weir_file_exists(weir_text_get(&name));
    weir_text_clear(&name);
    return exists;
}

/* ---- entries ------------------------------------------------------------------------------------------------------- */

static weir_status fail_entry(const char *key, size_t length)
{
    return weir_fail(WEIR_DATA_LOSS, "Entry for key %.*s not parseable.", (int)length, key);
}

static weir_status unpack_entry(const weir_table_entry *entry, weir_arena *arena, Weir__BundleEntryProto **proto)
{
    ProtobufCMessage *message = NULL;
    weir_status status =
        weir_message_unpack(&weir__bundle_entry_proto__descriptor, entry->value, entry->value_length, arena, &message);
    if (status.code == WEIR_DATA_LOSS)
        return fail_entry((const char *)entry->key, entry->key_length);
    WEIR_TRY(status);
    *proto = (Weir__BundleEntryProto *)message;
    return WEIR_STATUS_OK;
}

weir_status weir_bundle_find(weir_checkpoint *checkpoint, const char *key, size_t length, weir_arena *arena,
                             weir_bundle_entry *entry)
{
    const weir_table_entry *found = NULL;
    Weir__BundleEntryProto *proto = NULL;
    weir_bundle_entry made = {.key = key, .key_length = length};
    if (length > 0)
        WEIR_TRY(weir_fail_in(weir_table_find(checkpoint->table, key, length, &found), "%s", checkpoint->index_name));
    if (found == NULL)
        return weir_fail(WEIR_NOT_FOUND, "Key %.*s not found in checkpoint %s", (int)length, key, checkpoint->prefix);
    WEIR_TRY(unpack_entry(found, arena, &proto));
    WEIR_TRY(weir_fail_in(weir_shape_from_proto(proto->shape, &made.shape), "Entry for key %.*s", (int)length, key));
    made.dtype = (weir_dtype)proto->dtype;
    made.shard = proto->shard_id;
    made.offset = proto->offset;
    made.size = proto->size;
    made.crc = weir_crc32c_unmask(proto->crc32c);
    made.pieces = proto->n_slices;
    made.slices = proto->slices;
    if (weir_dtype_is_ref(made.dtype) || weir_dtype_stride(made.dtype) == 0 || weir_shape_elements(made.shape) < 0)
        return fail_entry(key, length);
    if (made.dtype == WEIR_RESOURCE)
        return weir_fail(WEIR_UNIMPLEMENTED, "Entry for key %.*s is a resource", (int)length, key);
    *entry = made;
    return WEIR_STATUS_OK;
}

static weir_status list_entry(weir_checkpoint *checkpoint, const weir_table_entry *entry, weir_arena *scratch)
{
    Weir__BundleEntryProto *proto = NULL;
    if (entry->key_length == 0 || entry->key[0] == '\0') /* the key of a piece */
        return WEIR_STATUS_OK;
    WEIR_TRY(unpack_entry(entry, scratch, &proto));
    char *name = weir_arena_text(&checkpoint->arena, (const char *)entry->key, entry->key_length);
    if (name == NULL)
        return weir_fail_memory(entry->key_length);
    weir_checkpoint_entry made = {.name = name,
                                  .name_length = entry->key_length,
                                  .dtype = (weir_dtype)proto->dtype,
                                  .shape = weir_shape_unknown(),
                                  .pieces = proto->n_slices};
    if (!weir_ok(weir_shape_from_proto(proto->shape, &made.shape)))
        made.shape = weir_shape_unknown(); /* listed all the same; reading it says why */
    return weir_list_add(&checkpoint->entries, made);
}

static weir_status list_block(weir_checkpoint *checkpoint, size_t block, bool *header)
{
    const weir_table_entry *entries = NULL;
    size_t count = 0;
    WEIR_TRY(weir_fail_in(weir_table_block(checkpoint->table, block, &entries, &count), "%s", checkpoint->index_name));
    for (size_t i = 0; i < count; i++) {
        weir_arena scratch = {0};
        weir_status status = *header ? WEIR_STATUS_OK : list_entry(checkpoint, &entries[i], &scratch);
        *header = false;
        weir_arena_clear(&scratch);
        WEIR_TRY(status);
    }
    return WEIR_STATUS_OK;
}

weir_status weir_checkpoint_list(weir_checkpoint *checkpoint, const weir_checkpoint_entry **entries, size_t *count)
{
    bool header = true;
    if (!checkpoint->listed)
        weir_list_clear(&checkpoint->entries);
    for (size_t block = 0; !checkpoint->listed && block < weir_table_blocks(checkpoint->table); block++)
        WEIR_TRY(list_block(checkpoint, block, &header));
    checkpoint->listed = true;
    *entries = checkpoint->entries.items;
    *count = checkpoint->entries.count;
    return WEIR_STATUS_OK;
}

weir_status weir_checkpoint_find(weir_checkpoint *checkpoint, const char *name, weir_checkpoint_entry *entry)
{
    weir_arena scratch = {0};
    weir_bundle_entry found;
    weir_status status = weir_bundle_find(checkpoint, name, strlen(name), &scratch, &found);
    if (weir_ok(status))
        *entry = (weir_checkpoint_entry){.name = name,
                                         .name_length = strlen(name),
                                         .dtype = found.dtype,
                                         .shape = found.shape,
                                         .pieces = found.pieces};
    weir_arena_clear(&scratch);
    return status;
}

/* ---- data files ---------------------------------------------------------------------------------------------------- */

static weir_status open_data(weir_checkpoint *checkpoint, int shard, const char *path, struct data_file *opened)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && errno == ENOENT)
        return weir_fail(WEIR_NOT_FOUND, "%s; No such file or directory", path);
    if (file < 0 || fstat(file, &about) != 0) {
        weir_status status = weir_fail_file(errno, "read", path);
        if (file >= 0)
            close(file);
        return status;
    }
    *opened = (struct data_file){.shard = shard, .file = file, .size = (uint64_t)about.st_size};
    weir_status status =
        S_ISREG(about.st_mode) ? weir_list_add(&checkpoint->files, *opened) : weir_fail_file(EISDIR, "read", path);
    if (!weir_ok(status))
        close(file);
    return status;
}

static weir_status data_file(weir_checkpoint *checkpoint, int shard, struct data_file *found)
{
    for (size_t i = 0; i < checkpoint->files.count; i++) {
        if (checkpoint->files.items[i].shard == shard) {
            *found = checkpoint->files.items[i];
            return WEIR_STATUS_OK;
        }
    }
    weir_text path = {0};
    weir_checkpoint_data_name(&path, checkpoint->prefix, shard, checkpoint->shards);
    weir_status status = open_data(checkpoint, shard, weir_text_get(&path), found);
    weir_text_clear(&path);
    return status;
}

static weir_status fail_short(const weir_checkpoint *checkpoint, const weir_bundle_entry *entry, uint64_t file_size)
{
    weir_text path = {0};
    weir_checkpoint_data_name(&path, checkpoint->prefix, entry->shard, checkpoint->shards);
    weir_status status =
        weir_fail(WEIR_OUT_OF_RANGE,
                  "Read less bytes than requested: %s has %" PRIu64 " bytes, but key %.*s has %" PRId64 " at %" PRId64,
                  weir_text_get(&path), file_size, (int)entry->key_length, entry->key, entry->size, entry->offset);
    weir_text_clear(&path);
    return status;
}

/* Finds the file of an entry and makes sure that all its bytes are there. */
static weir_status locate(weir_checkpoint *checkpoint, const weir_bundle_entry *entry, struct data_file *found)
{
    if (entry->offset < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Seeking to a negative position: %" PRId64 " (key %.*s)", entry->offset,
                         (int)entry->key_length, entry->key);
    WEIR_TRY(data_file(checkpoint, entry->shard, found));
    if ((uint64_t)entry->offset > found->size || (uint64_t)entry->size > found->size - (uint64_t)entry->offset)
        return fail_short(checkpoint, entry, found->size);
    return WEIR_STATUS_OK;
}

/* Reads the bytes of an entry and their checksum. */
static weir_status read_bytes(const weir_checkpoint *checkpoint, const weir_bundle_entry *entry,
                              const struct data_file *from, uint8_t *bytes, uint32_t *crc)
{
    size_t length = (size_t)entry->size;
    for (size_t at = 0; at < length;) {
        size_t now = length - at < READ_AT_ONCE ? length - at : READ_AT_ONCE;
        ssize_t got = pread(from->file, bytes + at, now, entry->offset + (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return weir_fail_file(errno, "read a data file of", checkpoint->prefix);
        if (got == 0)
            return fail_short(checkpoint, entry, (uint64_t)entry->offset + at);
        *crc = weir_crc32c_extend(*crc, bytes + at, (size_t)got);
        at += (size_t)got;
    }
    return WEIR_STATUS_OK;
}

/* ---- tensors ------------------------------------------------------------------------------------------------------- */

static weir_status fail_size(const weir_bundle_entry *entry, size_t expected)
{
    return weir_fail(WEIR_DATA_LOSS,
                     "Invalid size in bundle entry: key %.*s; stored size %" PRId64 "; expected size %zu",
                     (int)entry->key_length, entry->key, entry->size, expected);
}

static weir_status check_crc(const weir_checkpoint *checkpoint, const weir_bundle_entry *entry, uint32_t crc)
{
    if (crc == entry->crc)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_DATA_LOSS,
                     "TensorBundle at %s shard %d (%" PRId64
                     " bytes): Checksum does not match: stored %u vs. calculated on the restored bytes %u (key %.*s)",
                     checkpoint->prefix, entry->shard, entry->size, entry->crc, crc, (int)entry->key_length,
                     entry->key);
}

static weir_status read_plain(weir_checkpoint *checkpoint, const weir_bundle_entry *entry, weir_tensor **out)
{
    int64_t elements = 0;
    size_t expected = 0;
    struct data_file from = {.file = -1};
    weir_tensor *tensor = NULL;
    uint32_t crc = 0;
    WEIR_TRY(weir_tensor_extent(entry->dtype, &entry->shape, &elements, &expected));
    if (entry->size < 0 || (uint64_t)entry->size != expected)
        return fail_size(entry, expected);
    if (expected > 0)
        WEIR_TRY(locate(checkpoint, entry, &from));
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), entry->dtype, &entry->shape, &tensor));
    weir_status status = read_bytes(checkpoint, entry, &from, tensor->data, &crc);
    if (weir_ok(status))
        status = check_crc(checkpoint, entry, crc);
    if (!weir_ok(status)) {
        weir_tensor_free(tensor);
        return status;
    }
    if (checkpoint->swap)
        weir_elements_swap(entry->dtype, tensor->data, tensor->elements);
    *out = tensor;
    return WEIR_STATUS_OK;
}

/* bytes has entry->size bytes of room. */
static weir_status read_objects_into(weir_checkpoint *checkpoint, const weir_bundle_entry *entry,
                                     const struct data_file *from, uint8_t *bytes, weir_tensor **out)
{
    uint32_t ignored = 0;
    uint32_t crc = 0;
    weir_tensor *tensor = NULL;
    WEIR_TRY(read_bytes(checkpoint, entry, from, bytes, &ignored));
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), entry->dtype, &entry->shape, &tensor));
    weir_status status = weir_checkpoint_decode(bytes, (size_t)entry->size, checkpoint->swap, tensor, &crc);
    if (weir_ok(status))
        status = check_crc(checkpoint, entry, crc);
    else
        status = weir_fail_in(status, "key %.*s", (int)entry->key_length, entry->key);
    if (!weir_ok(status)) {
        weir_tensor_free(tensor);
        return status;
    }
    *out = tensor;
    return WEIR_STATUS_OK;
}

static weir_status read_objects(weir_checkpoint *checkpoint, const weir_bundle_entry *entry, weir_tensor **out)
{
    struct data_file from = {.file = -1};
    uint8_t *bytes = NULL;
    int64_t elements = weir_shape_elements(entry->shape);
    if (entry->dtype == WEIR_VARIANT && checkpoint->swap)
        return weir_fail(WEIR_UNIMPLEMENTED, "TensorBundle at %s: variant tensors of the other byte order (key %.*s)",
                         checkpoint->prefix, (int)entry->key_length, entry->key);
    if (entry->size < 0 || elements > entry->size) /* each element takes a byte at least */
        return fail_size(entry, (size_t)elements);
    if (entry->size > 0)
        WEIR_TRY(locate(checkpoint, entry, &from));
    WEIR_TRY(weir_new(&bytes, (size_t)entry->size));
    weir_status status = read_objects_into(checkpoint, entry, &from, bytes, out);
    weir_release(bytes);
    return status;
}

weir_status weir_bundle_read(weir_checkpoint *checkpoint, const weir_bundle_entry *entry, weir_tensor **out)
{
    return weir_dtype_is_object(entry->dtype) ? read_objects(checkpoint, entry, out)
                                              : read_plain(checkpoint, entry, out);
}
