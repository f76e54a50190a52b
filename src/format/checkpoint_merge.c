/*
 * One checkpoint out of the shards of a save; and removing a checkpoint.
 *
 * Indexes are read and checked in full before a file is touched. Shards are numbered in the order in which their entries
 * are first seen, as TensorFlow does, so that the merged index has its bytes.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "format/checkpoint_index.h"
#include "format/checkpoint_reader.h"
#include "format/message.h"

/* A data file of a source, and the shard it becomes. */
struct moved_file {
    char *from; /* in the index's arena */
};

struct merge {
    const char *destination;
    weir_checkpoint_index index;
    weir_map shards; /* path of a data file to the number of its shard, plus one */
    WEIR_LIST(struct moved_file) files;
    WEIR_LIST(const char *) sources; /* prefixes that were there */
    Weir__BundleHeaderProto header;  /* of the first source */
    Weir__VersionDef version;
    bool seen;
};

/* ---- reading the sources ------------------------------------------------------------------------------------------- */

static bool same_version(const Weir__VersionDef *a, const Weir__VersionDef *b)
{
    return a->producer == b->producer && a->min_consumer == b->min_consumer &&
           a->n_bad_consumers == b->n_bad_consumers &&
           (a->n_bad_consumers == 0 ||
            memcmp(a->bad_consumers, b->bad_consumers, a->n_bad_consumers * sizeof *a->bad_consumers) == 0);
}

static weir_status merge_version(struct merge *merge, const Weir__VersionDef *version)
{
    merge->version = *version;
    merge->version.bad_consumers = weir_arena_take(&merge->index.arena, version->n_bad_consumers, sizeof(int32_t));
    if (merge->version.bad_consumers == NULL)
        return weir_fail_memory(version->n_bad_consumers * sizeof(int32_t));
    if (version->n_bad_consumers > 0)
        memcpy(merge->version.bad_consumers, version->bad_consumers, version->n_bad_consumers * sizeof(int32_t));
    return WEIR_STATUS_OK;
}

static weir_status merge_header(struct merge *merge, const weir_checkpoint *source)
{
    static const Weir__VersionDef no_version = WEIR__VERSION_DEF__INIT;
    const Weir__VersionDef *version = source->header->version != NULL ? source->header->version : &no_version;
    if (!merge->seen) {
        merge->seen = true;
        merge->header = (Weir__BundleHeaderProto)WEIR__BUNDLE_HEADER_PROTO__INIT;
        merge->header.endianness = source->header->endianness;
        merge->header.version = &merge->version;
        return merge_version(merge, version);
    }
    if (merge->header.endianness != source->header->endianness)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Merging bundles with conflicting endianness; inputs corrupted? (%s)",
                         source->prefix);
    if (!same_version(&merge->version, version))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Merging bundles with different format versions: %s has producer %d, the others %d",
                         source->prefix, version->producer, merge->version.producer);
    return WEIR_STATUS_OK;
}

/* The number that the shard of a source gets. */
static weir_status shard_number(struct merge *merge, const weir_checkpoint *source, int shard, int *number)
{
    weir_text path = {0};
    weir_checkpoint_data_name(&path, source->prefix, shard, source->shards);
    size_t length = path.length;
    char *copy = path.failed ? NULL : weir_arena_text(&merge->index.arena, weir_text_get(&path), length);
    weir_text_clear(&path);
    if (copy == NULL)
        return weir_fail_memory(length);
    uintptr_t known = (uintptr_t)weir_map_get(&merge->shards, copy, length);
    if (known == 0) {
        if (!weir_file_exists(copy))
            return weir_fail(WEIR_NOT_FOUND, "%s; No such file or directory", copy);
        WEIR_TRY(weir_list_add(&merge->files, (struct moved_file){.from = copy}));
        known = merge->files.count;
        WEIR_TRY(weir_map_put(&merge->shards, copy, length, (void *)known));
    }
    *number = (int)known - 1;
    return WEIR_STATUS_OK;
}

/* A key that is there already: legal for entries that list pieces. */
static weir_status append_pieces(struct merge *merge, weir_index_entry *there, const Weir__BundleEntryProto *proto,
                                 const char *prefix)
{
    if (there->proto->n_slices == 0 || proto->n_slices == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Duplicate tensor keyed by %.*s encountered, when merging prefix: %s",
                         (int)there->length, there->key, prefix);
    /* Gathered anew: the array of an unpacked message has no room that grows. */
    size_t count = there->proto->n_slices + proto->n_slices;
    Weir__TensorSliceProto **slices = weir_arena_take(&merge->index.arena, count, sizeof *slices);
    if (slices == NULL)
        return weir_fail_memory(count * sizeof *slices);
    memcpy(slices, there->proto->slices, there->proto->n_slices * sizeof *slices);
    memcpy(slices + there->proto->n_slices, proto->slices, proto->n_slices * sizeof *slices);
    there->proto->slices = slices;
    there->proto->n_slices = count;
    return WEIR_STATUS_OK;
}

static weir_status merge_entry(struct merge *merge, const weir_checkpoint *source, const weir_table_entry *entry)
{
    ProtobufCMessage *message = NULL;
    weir_status status = weir_message_unpack(&weir__bundle_entry_proto__descriptor, entry->value, entry->value_length,
                                             &merge->index.arena, &message);
    if (!weir_ok(status))
        return weir_fail(WEIR_DATA_LOSS, "Entry for key %.*s not parseable. (%s)", (int)entry->key_length,
                         (const char *)entry->key, source->prefix);
    Weir__BundleEntryProto *proto = (Weir__BundleEntryProto *)message;
    int shard = 0;
    WEIR_TRY(shard_number(merge, source, proto->shard_id, &shard));
    proto->shard_id = shard;
    weir_index_entry *there = weir_index_get(&merge->index, (const char *)entry->key, entry->key_length);
    if (there != NULL)
        return append_pieces(merge, there, proto, source->prefix);
    WEIR_TRY(weir_index_add(&merge->index, (const char *)entry->key, entry->key_length, &there));
    there->proto = proto;
    return WEIR_STATUS_OK;
}

static weir_status merge_entries(struct merge *merge, weir_checkpoint *source)
{
    bool header = true;
    for (size_t block = 0; block < weir_table_blocks(source->table); block++) {
        const weir_table_entry *entries = NULL;
        size_t count = 0;
        WEIR_TRY(weir_fail_in(weir_table_block(source->table, block, &entries, &count), "%s", source->index_name));
        for (size_t i = 0; i < count; i++) {
            if (!header)
                WEIR_TRY(merge_entry(merge, source, &entries[i]));
            header = false;
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status merge_source(struct merge *merge, const char *prefix, bool may_miss)
{
    weir_checkpoint *source = NULL;
    if (!weir_checkpoint_exists(prefix)) {
        if (may_miss)
            return WEIR_STATUS_OK;
        return weir_fail(WEIR_INVALID_ARGUMENT, "allow_missing_files was set to false and %s did not exist.", prefix);
    }
    WEIR_TRY(weir_checkpoint_open(prefix, &source));
    weir_status status = merge_header(merge, source);
    if (weir_ok(status))
        status = merge_entries(merge, source);
    if (weir_ok(status))
        status = weir_list_add(&merge->sources, prefix);
    weir_checkpoint_close(source);
    return status;
}

/* ---- moving the files ---------------------------------------------------------------------------------------------- */

/* What is left of a source: its index, and data files that no entry needed. The folder may hold files of several
 * sources; it goes with the last. Failures do not matter: nothing needs what stays. */
static void remove_source(const struct merge *merge, const char *prefix, bool keep_folder)
{
    if (strcmp(prefix, merge->destination) == 0)
        return;
    weir_status ignored = weir_checkpoint_remove(prefix);
    (void)ignored;
    const char *slash = strrchr(prefix, '/');
    weir_text folder = {0};
    weir_text_append(&folder, "%.*s", slash == NULL ? 0 : (int)(slash - prefix), prefix);
    if (folder.length > 0 && !keep_folder)
        rmdir(weir_text_get(&folder));
    weir_text_clear(&folder);
}

static weir_status place_files(void *context)
{
    struct merge *merge = context;
    for (size_t i = 0; i < merge->files.count; i++) {
        weir_text to = {0};
        weir_status status = WEIR_STATUS_OK;
        weir_checkpoint_data_name(&to, merge->destination, (int)i, (int)merge->files.count);
        if (to.failed)
            status = weir_fail_memory(to.length);
        else if (rename(merge->files.items[i].from, weir_text_get(&to)) != 0)
            status =
                weir_fail_in(weir_fail_file(errno, "move", merge->files.items[i].from), "to %s", weir_text_get(&to));
        weir_text_clear(&to);
        WEIR_TRY(status);
    }
    return weir_sync_folder_of(merge->destination);
}

static weir_status write_index(struct merge *merge, weir_new_file *file)
{
    weir_text bytes = {0};
    merge->header.num_shards = merge->files.count == 0 ? 1 : (int)merge->files.count;
    WEIR_TRY(weir_index_write(&merge->index, &merge->header, &bytes));
    weir_status status = weir_new_file_append(file, weir_text_get(&bytes), bytes.length);
    weir_text_clear(&bytes);
    WEIR_TRY(status);
    WEIR_TRY(weir_new_file_sync(file));
    return weir_index_publish(file, place_files, merge);
}

static weir_status write_merged(struct merge *merge, bool keep_folders)
{
    weir_new_file file = {.file = -1};
    weir_text path = {0};
    weir_checkpoint_index_name(&path, merge->destination);
    weir_status status = path.failed ? weir_fail_memory(path.length) : weir_new_file_open(&file, weir_text_get(&path));
    weir_text_clear(&path);
    WEIR_TRY(status);
    status = write_index(merge, &file);
    weir_new_file_clear(&file);
    WEIR_TRY(status);
    for (size_t i = 0; i < merge->sources.count; i++)
        remove_source(merge, merge->sources.items[i], keep_folders);
    return WEIR_STATUS_OK;
}

weir_status weir_checkpoint_merge(const char *const *prefixes, size_t count, const char *destination,
                                  const weir_checkpoint_merge_options *options)
{
    weir_checkpoint_merge_options chosen = options != NULL ? *options : (weir_checkpoint_merge_options){0};
    struct merge merge = {.destination = destination};
    weir_status status = WEIR_STATUS_OK;
    for (size_t i = 0; i < count && weir_ok(status); i++)
        status = merge_source(&merge, prefixes[i], chosen.allow_missing_files);
    if (weir_ok(status) && !merge.seen)
        status = weir_fail(WEIR_INVALID_ARGUMENT, "Nothing to merge into %s: none of %zu prefixes is a checkpoint",
                           destination, count);
    if (weir_ok(status))
        status = write_merged(&merge, chosen.keep_folders);
    weir_list_clear(&merge.files);
    weir_list_clear(&merge.sources);
    weir_map_clear(&merge.shards);
    weir_index_clear(&merge.index);
    return status;
}

/* ---- removing ------------------------------------------------------------------------------------------------------ */

static weir_status remove_file(const char *path)
{
    return unlink(path) == 0 || errno == ENOENT ? WEIR_STATUS_OK : weir_fail_file(errno, "remove", path);
}

/* The prefix with what a glob takes for special escaped, then the pattern of data files. */
static void append_pattern(weir_text *pattern, const char *prefix)
{
    for (const char *c = prefix; *c != '\0'; c++)
        weir_text_append(pattern, strchr("*?[]\\", *c) != NULL ? "\\%c" : "%c", *c);
    weir_text_append(pattern, ".data-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]");
}

static weir_status remove_data(const char *prefix)
{
    weir_text pattern = {0};
    glob_t found = {0};
    append_pattern(&pattern, prefix);
    weir_status status = WEIR_STATUS_OK;
    if (!pattern.failed && glob(weir_text_get(&pattern), 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && weir_ok(status); i++)
            status = remove_file(found.gl_pathv[i]);
    }
    globfree(&found);
    weir_text_clear(&pattern);
    return status;
}

weir_status weir_checkpoint_remove(const char *prefix)
{
    static const char *const endings[] = {".meta", ".index"};
    for (size_t i = 0; i < 2; i++) {
        weir_text path = {0};
        weir_text_append(&path, "%s%s", prefix, endings[i]);
        weir_status status = path.failed ? weir_fail_memory(path.length) : remove_file(weir_text_get(&path));
        weir_text_clear(&path);
        WEIR_TRY(status);
    }
    return remove_data(prefix);
}
