/*
 * Writing a checkpoint: data as it comes into one temporary file, then the index, then both get their names.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "base/memory.h"
#include "format/checkpoint.h"
#include "format/checkpoint_data.h"
#include "format/checkpoint_index.h"
#include "format/message.h"
#include "format/tensor_proto.h"

struct weir_checkpoint_writer {
    char *prefix;
    weir_new_file data;
    weir_checkpoint_index index;
    bool failed; /* or committed: nothing more can be added */
};

/* ---- creating ------------------------------------------------------------------------------------------------------ */

/* The folder that the prefix lies in; its own parent must be there. */
static weir_status make_folder(const char *prefix)
{
    const char *slash = strrchr(prefix, '/');
    if (slash == NULL || slash == prefix)
        return WEIR_STATUS_OK;
    char *folder = weir_copy_text(prefix, (size_t)(slash - prefix));
    if (folder == NULL)
        return weir_fail_memory(strlen(prefix));
    weir_status status = WEIR_STATUS_OK;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        status = weir_fail_file(errno, "create the folder", folder);
    weir_release(folder);
    return status;
}

static weir_status open_data(weir_checkpoint_writer *writer, const char *prefix)
{
    weir_text path = {0};
    writer->prefix = weir_copy_text(prefix, strlen(prefix));
    if (writer->prefix == NULL)
        return weir_fail_memory(strlen(prefix));
    WEIR_TRY(make_folder(prefix));
    weir_checkpoint_data_name(&path, prefix, 0, 1);
    weir_status status =
        path.failed ? weir_fail_memory(path.length) : weir_new_file_open(&writer->data, weir_text_get(&path));
    weir_text_clear(&path);
    return status;
}

weir_status weir_checkpoint_create(const char *prefix, weir_checkpoint_writer **out)
{
    weir_checkpoint_writer *writer = NULL;
    if (*prefix == '\0' || prefix[strlen(prefix) - 1] == '/')
        return weir_fail(WEIR_INVALID_ARGUMENT, "'%s' cannot be the prefix of a checkpoint: it names no file", prefix);
    WEIR_TRY(weir_new(&writer, 1));
    weir_status status = open_data(writer, prefix);
    if (!weir_ok(status)) {
        weir_checkpoint_writer_free(writer);
        return status;
    }
    *out = writer;
    return WEIR_STATUS_OK;
}

void weir_checkpoint_writer_free(weir_checkpoint_writer *writer)
{
    if (writer == NULL)
        return;
    weir_new_file_clear(&writer->data);
    weir_index_clear(&writer->index);
    weir_release(writer->prefix);
    weir_release(writer);
}

/* ---- tensors ------------------------------------------------------------------------------------------------------- */

/* Elements as they are in memory. */
static weir_status append_plain(weir_checkpoint_writer *writer, const weir_tensor *tensor,
                                Weir__BundleEntryProto *proto)
{
    const size_t at_once = (size_t)1 << 20; /* so that write finds the bytes in the cache */
    uint32_t crc = 0;
    for (size_t at = 0; at < tensor->size_bytes; at += at_once) {
        size_t now = tensor->size_bytes - at < at_once ? tensor->size_bytes - at : at_once;
        const char *bytes = (const char *)tensor->data + at;
        crc = weir_crc32c_extend(crc, bytes, now);
        WEIR_TRY(weir_new_file_append(&writer->data, bytes, now));
    }
    proto->size = (int64_t)tensor->size_bytes;
    proto->crc32c = weir_crc32c_mask(crc);
    return WEIR_STATUS_OK;
}

static weir_status append_objects(weir_checkpoint_writer *writer, const weir_tensor *tensor,
                                  Weir__BundleEntryProto *proto)
{
    weir_text bytes = {0};
    uint32_t crc = 0;
    weir_checkpoint_encode(tensor, &bytes, &crc);
    weir_status status = bytes.failed ? weir_fail_memory(bytes.length)
                                      : weir_new_file_append(&writer->data, weir_text_get(&bytes), bytes.length);
    proto->size = (int64_t)bytes.length;
    proto->crc32c = weir_crc32c_mask(crc);
    weir_text_clear(&bytes);
    return status;
}

static weir_status append_entry(weir_checkpoint_writer *writer, const char *key, size_t length,
                                const weir_tensor *tensor)
{
    weir_index_entry *entry = NULL;
    if (weir_index_get(&writer->index, key, length) != NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Adding duplicate key: %.*s", (int)length, key);
    WEIR_TRY(weir_index_add(&writer->index, key, length, &entry));
    entry->proto->dtype = (Weir__DataType)tensor->dtype;
    entry->proto->offset = (int64_t)writer->data.size;
    WEIR_TRY(weir_shape_to_proto(&tensor->shape, &writer->index.arena, &entry->proto->shape));
    return weir_dtype_is_object(tensor->dtype) ? append_objects(writer, tensor, entry->proto)
                                               : append_plain(writer, tensor, entry->proto);
}

/* ---- pieces -------------------------------------------------------------------------------------------------------- */

static weir_status slice_to_proto(const weir_slice *slice, weir_arena *arena, Weir__TensorSliceProto **out)
{
    Weir__TensorSliceProto *proto = weir_message_new(arena, &weir__tensor_slice_proto__descriptor);
    bool made = proto != NULL;
    for (int i = 0; made && i < slice->rank; i++) {
        Weir__TensorSliceProto__Extent *extent = weir_message_new(arena, &weir__tensor_slice_proto__extent__descriptor);
        made = extent != NULL && weir_message_add(arena, proto->extent, proto->n_extent, extent);
        if (made && slice->length[i] != WEIR_FULL_EXTENT) {
            extent->start = slice->start[i];
            extent->length = slice->length[i];
            extent->has_length_hack_case = WEIR__TENSOR_SLICE_PROTO__EXTENT__HAS_LENGTH_HACK_LENGTH;
        }
    }
    if (!made)
        return weir_fail_memory(sizeof *proto);
    *out = proto;
    return WEIR_STATUS_OK;
}

/* The entry of the whole tensor, that lists the pieces. */
static weir_status entry_of_whole(weir_checkpoint_writer *writer, const weir_string *name, weir_dtype dtype,
                                  const weir_shape *shape, weir_index_entry **out)
{
    weir_shape other = weir_shape_scalar();
    weir_index_entry *entry = weir_index_get(&writer->index, name->data, name->size);
    if (entry == NULL) {
        WEIR_TRY(weir_index_add(&writer->index, name->data, name->size, &entry));
        entry->proto->dtype = (Weir__DataType)dtype;
        WEIR_TRY(weir_shape_to_proto(shape, &writer->index.arena, &entry->proto->shape));
    }
    if (entry->proto->n_slices == 0 && entry->proto->size > 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Adding duplicate key: %.*s", (int)name->size, name->data);
    WEIR_TRY(weir_shape_from_proto(entry->proto->shape, &other));
    if (entry->proto->dtype != (Weir__DataType)dtype || !weir_shape_equal(other, *shape))
        return weir_fail(WEIR_INVALID_ARGUMENT, "The pieces of %.*s are not of one tensor: types %s and %s",
                         (int)name->size, name->data, weir_dtype_name((weir_dtype)entry->proto->dtype),
                         weir_dtype_name(dtype));
    *out = entry;
    return WEIR_STATUS_OK;
}

static weir_status append_piece(weir_checkpoint_writer *writer, const weir_string *name, const weir_shape *shape,
                                const weir_slice *slice, const weir_tensor *tensor)
{
    weir_index_entry *whole = NULL;
    Weir__TensorSliceProto *proto = NULL;
    weir_text key = {0};
    WEIR_TRY(entry_of_whole(writer, name, tensor->dtype, shape, &whole));
    WEIR_TRY(slice_to_proto(slice, &writer->index.arena, &proto));
    if (!weir_message_add(&writer->index.arena, whole->proto->slices, whole->proto->n_slices, proto))
        return weir_fail_memory(sizeof *proto);
    weir_slice_append_key(&key, name->data, name->size, slice);
    weir_status status =
        key.failed ? weir_fail_memory(key.length) : append_entry(writer, weir_text_get(&key), key.length, tensor);
    weir_text_clear(&key);
    return status.code == WEIR_INVALID_ARGUMENT
               ? weir_fail(WEIR_INVALID_ARGUMENT, "Adding duplicate key: a piece of %.*s twice", (int)name->size,
                           name->data)
               : status;
}

static weir_status append_part(weir_checkpoint_writer *writer, const weir_string *name, const weir_string *spec,
                               const weir_tensor *tensor)
{
    weir_shape shape = weir_shape_scalar();
    weir_shape sliced = weir_shape_scalar();
    weir_slice slice = {.rank = 0};
    char asked[WEIR_SHAPE_TEXT_SIZE];
    WEIR_TRY(weir_slice_parse(spec->data, spec->size, &shape, &slice, &sliced));
    if (!weir_shape_equal(sliced, tensor->shape))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Slice in shape_and_slice specification does not match the shape of the tensor to  save: "
                         "%.*s, tensor: %s",
                         (int)spec->size, spec->data, weir_shape_text(tensor->shape, asked, sizeof asked));
    if (weir_shape_equal(sliced, shape))
        return append_entry(writer, name->data, name->size, tensor);
    if (weir_dtype_is_object(tensor->dtype))
        return weir_fail(WEIR_UNIMPLEMENTED,
                         "%.*s is a %s tensor; only tensors of numbers and bools can be saved in "
                         "pieces",
                         (int)name->size, name->data, weir_dtype_name(tensor->dtype));
    return append_piece(writer, name, &shape, &slice, tensor);
}

weir_status weir_checkpoint_save(weir_checkpoint_writer *writer, const weir_string *name, const weir_string *spec,
                                 const weir_tensor *tensor)
{
    if (writer->failed)
        return weir_fail(WEIR_FAILED_PRECONDITION, "Checkpoint %s cannot take %.*s any more", writer->prefix,
                         (int)name->size, name->data);
    weir_status status;
    if (name->size == 0)
        status = weir_fail(WEIR_INVALID_ARGUMENT, "A tensor in a checkpoint needs a name");
    else if (tensor->dtype == WEIR_RESOURCE)
        status = weir_fail(WEIR_UNIMPLEMENTED, "%.*s is a resource; save its value", (int)name->size, name->data);
    else
        status = spec->size == 0 ? append_entry(writer, name->data, name->size, tensor)
                                 : append_part(writer, name, spec, tensor);
    writer->failed = !weir_ok(status);
    return status;
}

weir_status weir_checkpoint_add(weir_checkpoint_writer *writer, const char *name, const weir_tensor *tensor)
{
    return weir_checkpoint_add_part(writer, name, "", tensor);
}

weir_status weir_checkpoint_add_part(weir_checkpoint_writer *writer, const char *name, const char *shape_and_slice,
                                     const weir_tensor *tensor)
{
    weir_string key = {.data = (char *)(uintptr_t)name, .size = strlen(name)};
    weir_string spec = {.data = (char *)(uintptr_t)shape_and_slice, .size = strlen(shape_and_slice)};
    return weir_checkpoint_save(writer, &key, &spec, tensor);
}

/* ---- committing ---------------------------------------------------------------------------------------------------- */

static weir_status make_index(weir_checkpoint_writer *writer, weir_text *bytes)
{
    Weir__VersionDef version = WEIR__VERSION_DEF__INIT;
    Weir__BundleHeaderProto header = WEIR__BUNDLE_HEADER_PROTO__INIT;
    version.producer = WEIR_CHECKPOINT_VERSION;
    header.num_shards = 1;
    header.endianness = WEIR_HOST_IS_LITTLE ? WEIR__BUNDLE_HEADER_PROTO__ENDIANNESS__LITTLE
                                            : WEIR__BUNDLE_HEADER_PROTO__ENDIANNESS__BIG;
    header.version = &version;
    return weir_index_write(&writer->index, &header, bytes);
}

static weir_status place_data(void *context)
{
    weir_checkpoint_writer *writer = context;
    return weir_new_file_publish(&writer->data);
}

static weir_status write_and_publish(weir_checkpoint_writer *writer, weir_new_file *index, const weir_text *bytes)
{
    WEIR_TRY(weir_new_file_append(index, weir_text_get(bytes), bytes->length));
    WEIR_TRY(weir_new_file_sync(index));
    return weir_index_publish(index, place_data, writer);
}

static weir_status commit(weir_checkpoint_writer *writer, const weir_text *bytes)
{
    weir_new_file index = {.file = -1};
    weir_text path = {0};
    weir_checkpoint_index_name(&path, writer->prefix);
    weir_status status = path.failed ? weir_fail_memory(path.length) : weir_new_file_open(&index, weir_text_get(&path));
    weir_text_clear(&path);
    WEIR_TRY(status);
    status = write_and_publish(writer, &index, bytes);
    weir_new_file_clear(&index);
    return status;
}

weir_status weir_checkpoint_commit(weir_checkpoint_writer *writer)
{
    weir_text bytes = {0};
    if (writer->failed)
        return weir_fail(WEIR_FAILED_PRECONDITION, "Checkpoint %s is not whole, or committed already", writer->prefix);
    writer->failed = true;
    WEIR_TRY(weir_new_file_sync(&writer->data));
    WEIR_TRY(make_index(writer, &bytes));
    weir_status status = commit(writer, &bytes);
    weir_text_clear(&bytes);
    return status;
}

static weir_status save_list(weir_checkpoint_writer *writer, size_t count, const weir_string *names,
                             const weir_string *specs, weir_tensor *const *tensors)
{
    for (size_t i = 0; i < count; i++)
        WEIR_TRY(weir_checkpoint_save(writer, &names[i], &specs[i], tensors[i]));
    return weir_checkpoint_commit(writer);
}

weir_status weir_checkpoint_save_all(const char *prefix, size_t count, const weir_string *names,
                                     const weir_string *specs, weir_tensor *const *tensors)
{
    weir_checkpoint_writer *writer = NULL;
    WEIR_TRY(weir_checkpoint_create(prefix, &writer));
    weir_status status = save_list(writer, count, names, specs, tensors);
    weir_checkpoint_writer_free(writer);
    return status;
}
