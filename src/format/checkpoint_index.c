/*
 * Collects entries in the order they come; sorts them once, at the end.
 */
#include "format/checkpoint_index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "format/message.h"
#include "format/table.h"

weir_index_entry *weir_index_get(const weir_checkpoint_index *index, const char *key, size_t length)
{
    return weir_map_get(&index->keys, key, length);
}

weir_status weir_index_add(weir_checkpoint_index *index, const char *key, size_t length, weir_index_entry **entry)
{
    weir_index_entry *made = weir_arena_take(&index->arena, 1, sizeof *made);
    char *copy = weir_arena_text(&index->arena, key, length);
    Weir__BundleEntryProto *proto = weir_message_new(&index->arena, &weir__bundle_entry_proto__descriptor);
    if (made == NULL || copy == NULL || proto == NULL)
        return weir_fail_memory(sizeof *proto + length);
    *made = (weir_index_entry){.key = copy, .length = length, .proto = proto};
    WEIR_TRY(weir_map_put(&index->keys, copy, length, made));
    if (!weir_message_add(&index->arena, index->entries, index->count, made))
        return weir_fail_memory(sizeof made);
    *entry = made;
    return WEIR_STATUS_OK;
}

static int compare(const void *a, const void *b)
{
    const weir_index_entry *left = *(weir_index_entry *const *)a;
    const weir_index_entry *right = *(weir_index_entry *const *)b;
    return weir_table_compare(left->key, left->length, right->key, right->length);
}

static weir_status add_message(weir_table_writer *writer, const char *key, size_t length,
                               const ProtobufCMessage *message)
{
    void *value = NULL;
    size_t value_length = 0;
    WEIR_TRY(weir_message_pack(message, &value, &value_length));
    weir_table_add(
        writer, &(weir_table_entry){
                    .key = (const uint8_t *)key, .key_length = length, .value = value, .value_length = value_length});
    weir_release(value);
    return WEIR_STATUS_OK;
}

static weir_status write_table(weir_checkpoint_index *index, const Weir__BundleHeaderProto *header,
                               weir_table_writer *writer)
{
    WEIR_TRY(add_message(writer, "", 0, &header->base));
    for (size_t i = 0; i < index->count; i++)
        WEIR_TRY(
            add_message(writer, index->entries[i]->key, index->entries[i]->length, &index->entries[i]->proto->base));
    return weir_table_finish(writer);
}

weir_status weir_index_write(weir_checkpoint_index *index, const Weir__BundleHeaderProto *header, weir_text *file)
{
    weir_table_writer writer = {.entries = 0};
    if (index->count > 0)
        qsort(index->entries, index->count, sizeof *index->entries, compare);
    weir_status status = write_table(index, header, &writer);
    if (weir_ok(status)) {
        *file = writer.file;
        writer.file = (weir_text){0};
    }
    weir_table_writer_clear(&writer);
    return status;
}

void weir_index_clear(weir_checkpoint_index *index)
{
    weir_map_clear(&index->keys);
    weir_arena_clear(&index->arena);
    *index = (weir_checkpoint_index){.count = 0};
}

/* ---- putting in place ---------------------------------------------------------------------------------------------- */

static weir_status publish(weir_new_file *index, const char *aside, weir_status (*place)(void *context), void *context)
{
    bool replaces = rename(index->path, aside) == 0;
    if (!replaces && errno != ENOENT)
        return weir_fail_file(errno, "replace", index->path);
    weir_status status = place(context);
    if (!weir_ok(status)) {
        if (replaces && rename(aside, index->path) != 0)
            status = weir_fail_in(status, "the old index is now %s", aside);
        return status;
    }
    WEIR_TRY(weir_new_file_publish(index));
    if (replaces)
        unlink(aside);
    return weir_sync_folder_of(index->path);
}

weir_status weir_index_publish(weir_new_file *index, weir_status (*place)(void *context), void *context)
{
    weir_text aside = {0};
    weir_text_append(&aside, "%s.old", index->temporary);
    weir_status status =
        aside.failed ? weir_fail_memory(aside.length) : publish(index, weir_text_get(&aside), place, context);
    weir_text_clear(&aside);
    return status;
}
