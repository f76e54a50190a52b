/*
 * Writing of tables by the rules of TensorFlow's writer, to the byte: block size, restarts, shortened index keys.
 */
#include <string.h>

#include "base/crc32c.h"
#include "format/bytes.h"
#include "format/table.h"

#define BLOCK_SIZE 262144
#define RESTART_INTERVAL 16
#define FOOTER_HANDLES 40
static const uint8_t magic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};

static void empty(weir_text *text)
{
    text->length = 0;
}

/* ---- blocks -------------------------------------------------------------------------------------------------------- */

static void append_entry(weir_text *block, size_t shared, const weir_table_entry *entry)
{
    weir_append_varint(block, shared);
    weir_append_varint(block, entry->key_length - shared);
    weir_append_varint(block, entry->value_length);
    weir_text_append_bytes(block, entry->key + shared, entry->key_length - shared);
    weir_text_append_bytes(block, entry->value, entry->value_length);
}

/* Appends a block with its restart offsets and trailer to the file, and its handle to handle. */
static void append_block(weir_table_writer *writer, const weir_text *entries, const weir_text *restarts,
                         weir_text *handle)
{
    weir_text *file = &writer->file;
    size_t start = file->length;
    weir_text_append_bytes(file, weir_text_get(entries), entries->length);
    if (restarts->length == 0)
        weir_append_u32(file, 0); /* an empty block has one restart too */
    weir_text_append_bytes(file, weir_text_get(restarts), restarts->length);
    weir_append_u32(file, restarts->length == 0 ? 1 : (uint32_t)(restarts->length / 4));
    size_t size = file->length - start;
    weir_text_append_bytes(file, "\0", 1); /* not compressed */
    weir_append_u32(file, file->failed ? 0 : weir_crc32c_mask(weir_crc32c(file->data + start, size + 1)));
    weir_append_varint(handle, start);
    weir_append_varint(handle, size);
    file->failed |= entries->failed | restarts->failed;
}

/* ---- index --------------------------------------------------------------------------------------------------------- */

/* How many bytes the newest key and the entry's begin with alike. */
static size_t common_prefix(const weir_text *last, const weir_table_entry *entry)
{
    const uint8_t *key = (const uint8_t *)weir_text_get(last);
    size_t common = 0;
    while (common < last->length && common < entry->key_length && key[common] == entry->key[common])
        common++;
    return common;
}

/* Length of the shortest key between last and next, which changes the last byte of last's beginning: 0 if it is last
 * itself. */
static size_t shortened(const weir_text *last, const weir_table_entry *next)
{
    const uint8_t *key = (const uint8_t *)weir_text_get(last);
    size_t common = common_prefix(last, next);
    if (common == last->length || common == next->key_length)
        return 0;
    return key[common] < 0xff && key[common] + 1 < next->key[common] ? common + 1 : 0;
}

/* The same for the last block of all: behind every key. */
static size_t shortened_last(const weir_text *last)
{
    const uint8_t *key = (const uint8_t *)weir_text_get(last);
    for (size_t i = 0; i < last->length; i++) {
        if (key[i] != 0xff)
            return i + 1;
    }
    return 0;
}

/* The index entry of the newest finished block, now that the next key (NULL: none) is known. Overwrites writer->last. */
static void add_index_entry(weir_table_writer *writer, const weir_table_entry *next)
{
    size_t cut = next != NULL ? shortened(&writer->last, next) : shortened_last(&writer->last);
    if (cut > 0 && !writer->last.failed) {
        writer->last.length = cut;
        writer->last.data[cut - 1] = (char)((uint8_t)writer->last.data[cut - 1] + 1);
    }
    weir_table_entry entry = {.key = (const uint8_t *)weir_text_get(&writer->last),
                              .key_length = writer->last.length,
                              .value = (const uint8_t *)weir_text_get(&writer->handle),
                              .value_length = writer->handle.length};
    weir_append_u32(&writer->restarts, (uint32_t)writer->index.length);
    append_entry(&writer->index, 0, &entry);
    empty(&writer->handle);
}

/* ---- entries ------------------------------------------------------------------------------------------------------- */

static void flush(weir_table_writer *writer)
{
    if (writer->entries == 0)
        return;
    append_block(writer, &writer->block, &writer->starts, &writer->handle);
    empty(&writer->block);
    empty(&writer->starts);
    writer->entries = 0;
}

void weir_table_add(weir_table_writer *writer, const weir_table_entry *entry)
{
    if (entry->key_length + entry->value_length >= 2 * (size_t)BLOCK_SIZE)
        flush(writer);
    if (writer->handle.length > 0)
        add_index_entry(writer, entry);
    bool restart = writer->entries % RESTART_INTERVAL == 0;
    if (restart)
        weir_append_u32(&writer->starts, (uint32_t)writer->block.length);
    append_entry(&writer->block, restart ? 0 : common_prefix(&writer->last, entry), entry);
    writer->entries++;
    empty(&writer->last);
    weir_text_append_bytes(&writer->last, entry->key, entry->key_length);
    if (writer->block.length + writer->starts.length + 4 >= BLOCK_SIZE)
        flush(writer);
}

weir_status weir_table_finish(weir_table_writer *writer)
{
    weir_text footer = {0};
    weir_text nothing = {0};
    flush(writer);
    if (writer->handle.length > 0)
        add_index_entry(writer, NULL);
    append_block(writer, &nothing, &nothing, &footer); /* the metaindex */
    append_block(writer, &writer->index, &writer->restarts, &footer);
    while (footer.length < FOOTER_HANDLES && !footer.failed)
        weir_text_append_bytes(&footer, "\0", 1);
    weir_text_append_bytes(&footer, magic, sizeof magic);
    weir_text_append_bytes(&writer->file, weir_text_get(&footer), footer.length);
    bool failed = writer->file.failed || writer->last.failed || writer->handle.failed || footer.failed;
    weir_text_clear(&footer);
    return failed ? weir_fail_memory(writer->file.length) : WEIR_STATUS_OK;
}

void weir_table_writer_clear(weir_table_writer *writer)
{
    weir_text_clear(&writer->file);
    weir_text_clear(&writer->block);
    weir_text_clear(&writer->index);
    weir_text_clear(&writer->starts);
    weir_text_clear(&writer->restarts);
    weir_text_clear(&writer->last);
    weir_text_clear(&writer->handle);
    *writer = (weir_table_writer){.entries = 0};
}
