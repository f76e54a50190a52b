/*
 * Reading of tables.
 */
#include "format/table.h"

#include <inttypes.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/list.h"
#include "base/memory.h"
#include "format/bytes.h"
#include "format/snappy.h"

#define FOOTER_SIZE 48
#define TRAILER_SIZE 5 /* type and checksum behind a block */
#define MAGIC 0xdb4775248b80fb57ULL

/* What the full keys of a block may take: damaged blocks could share a long key without end. */
#define KEY_BYTES_PER_BYTE 256
#define KEY_BYTES_BASE ((size_t)1 << 20)

typedef WEIR_LIST(weir_table_entry) entry_list;

struct block {
    const uint8_t *last_key; /* not below any key of the block */
    size_t last_length;
    uint64_t offset;
    uint64_t size;
    bool loaded;
    uint8_t *decompressed; /* owned; NULL when the block lies in the file as it is */
    entry_list entries;
};

struct weir_table {
    const uint8_t *bytes;
    size_t length;
    weir_arena keys;
    uint8_t *index; /* the decompressed index block, or NULL */
    WEIR_LIST(struct block) blocks;
};

int weir_table_compare(const void *a, size_t a_length, const void *b, size_t b_length)
{
    size_t common = a_length < b_length ? a_length : b_length;
    int order = common == 0 ? 0 : memcmp(a, b, common);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/* ---- blocks -------------------------------------------------------------------------------------------------------- */

/* Offset and size of a block from a handle. */
static bool read_handle(const uint8_t **at, const uint8_t *end, uint64_t *offset, uint64_t *size)
{
    size_t used = weir_get_varint(*at, (size_t)(end - *at), offset);
    *at += used;
    size_t used_too = used == 0 ? 0 : weir_get_varint(*at, (size_t)(end - *at), size);
    *at += used_too;
    return used_too != 0;
}

/* The contents of the block, checked; *decompressed is owned, or NULL. */
static weir_status load_contents(const weir_table *table, uint64_t offset, uint64_t size, const uint8_t **contents,
                                 size_t *length, uint8_t **decompressed)
{
    if (offset > table->length || size > table->length || size + TRAILER_SIZE > table->length - offset)
        return weir_fail(WEIR_OUT_OF_RANGE,
                         "Read less bytes than requested (block of %" PRIu64 " bytes at %" PRIu64 "; the file has %zu)",
                         size, offset, table->length);
    const uint8_t *block = table->bytes + offset;
    uint32_t stored = weir_crc32c_unmask(weir_get_u32(block + size + 1));
    if (weir_crc32c(block, (size_t)size + 1) != stored)
        return weir_fail(WEIR_DATA_LOSS, "block checksum mismatch (block of %" PRIu64 " bytes at %" PRIu64 ")", size,
                         offset);
    *contents = block;
    *length = (size_t)size;
    if (block[size] == 0)
        return WEIR_STATUS_OK;
    if (block[size] != 1)
        return weir_fail(WEIR_DATA_LOSS, "bad block type (%d, block at %" PRIu64 ")", block[size], offset);
    WEIR_TRY(weir_snappy_read(block, (size_t)size, decompressed, length));
    *contents = *decompressed;
    return WEIR_STATUS_OK;
}

/* Where the entries of a block end: before the restart offsets and their count. */
static bool find_end(const uint8_t *contents, size_t length, const uint8_t **end)
{
    if (length < 4)
        return false;
    uint32_t restarts = weir_get_u32(contents + length - 4);
    if (restarts > (length - 4) / 4)
        return false;
    *end = contents + (length - 4 - 4 * (size_t)restarts);
    return true;
}

struct block_reader {
    weir_arena *keys;
    const uint8_t *at;
    const uint8_t *end;
    size_t budget; /* bytes that keys may still take */
    weir_table_entry last;
};

static bool read_entry(struct block_reader *reader, bool *memory)
{
    uint64_t numbers[3]; /* shared, unshared, value */
    for (int i = 0; i < 3; i++) {
        size_t used = weir_get_varint(reader->at, (size_t)(reader->end - reader->at), &numbers[i]);
        if (used == 0)
            return false;
        reader->at += used;
    }
    size_t left = (size_t)(reader->end - reader->at);
    if (numbers[0] > reader->last.key_length || numbers[1] > left || numbers[2] > left - numbers[1])
        return false;
    size_t shared = (size_t)numbers[0];
    weir_table_entry entry = {.key = reader->at, .key_length = shared + (size_t)numbers[1]};
    if (shared > 0) {
        uint8_t *key = entry.key_length > reader->budget ? NULL : weir_arena_take(reader->keys, entry.key_length, 1);
        *memory = key == NULL;
        if (key == NULL)
            return false;
        reader->budget -= entry.key_length;
        memcpy(key, reader->last.key, shared);
        memcpy(key + shared, reader->at, (size_t)numbers[1]);
        entry.key = key;
    }
    entry.value = reader->at + numbers[1];
    entry.value_length = (size_t)numbers[2];
    reader->at = entry.value + entry.value_length;
    reader->last = entry;
    return true;
}

static weir_status read_entries(weir_arena *keys, const uint8_t *contents, size_t length, entry_list *entries)
{
    struct block_reader reader = {.keys = keys, .at = contents, .budget = KEY_BYTES_BASE + KEY_BYTES_PER_BYTE * length};
    bool memory = false;
    if (!find_end(contents, length, &reader.end))
        return weir_fail(WEIR_DATA_LOSS, "bad block contents");
    while (reader.at < reader.end) {
        if (!read_entry(&reader, &memory))
            return memory ? weir_fail(WEIR_RESOURCE_EXHAUSTED, "the keys of a block take too much memory")
                          : weir_fail(WEIR_DATA_LOSS, "bad entry in block");
        WEIR_TRY(weir_list_add(entries, reader.last));
    }
    return WEIR_STATUS_OK;
}

static weir_status load(weir_table *table, struct block *block)
{
    const uint8_t *contents = NULL;
    size_t length = 0;
    if (block->loaded)
        return WEIR_STATUS_OK;
    weir_release(block->decompressed); /* of an attempt that failed */
    block->decompressed = NULL;
    weir_list_clear(&block->entries);
    WEIR_TRY(load_contents(table, block->offset, block->size, &contents, &length, &block->decompressed));
    WEIR_TRY(read_entries(&table->keys, contents, length, &block->entries));
    block->loaded = true;
    return WEIR_STATUS_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------------------- */

static weir_status add_block(weir_table *table, const weir_table_entry *entry)
{
    struct block block = {.last_key = entry->key, .last_length = entry->key_length};
    const uint8_t *at = entry->value;
    if (!read_handle(&at, entry->value + entry->value_length, &block.offset, &block.size))
        return weir_fail(WEIR_DATA_LOSS, "bad block handle");
    return weir_list_add(&table->blocks, block);
}

static weir_status read_index(weir_table *table, uint64_t offset, uint64_t size)
{
    const uint8_t *contents = NULL;
    size_t length = 0;
    entry_list entries = {0};
    WEIR_TRY(load_contents(table, offset, size, &contents, &length, &table->index));
    weir_status status = read_entries(&table->keys, contents, length, &entries);
    for (size_t i = 0; i < entries.count && weir_ok(status); i++)
        status = add_block(table, &entries.items[i]);
    weir_list_clear(&entries);
    return status;
}

static weir_status read_footer(weir_table *table)
{
    if (table->length < FOOTER_SIZE)
        return weir_fail(WEIR_DATA_LOSS, "file is too short to be an sstable (%zu bytes)", table->length);
    const uint8_t *footer = table->bytes + table->length - FOOTER_SIZE;
    if (weir_get_u64(footer + FOOTER_SIZE - 8) != MAGIC)
        return weir_fail(WEIR_DATA_LOSS, "not an sstable (bad magic number)");
    uint64_t offset = 0;
    uint64_t size = 0;
    const uint8_t *at = footer;
    for (int i = 0; i < 2; i++) { /* the first is that of the metaindex block, which nobody reads */
        if (!read_handle(&at, footer + FOOTER_SIZE - 8, &offset, &size))
            return weir_fail(WEIR_DATA_LOSS, "bad block handle");
    }
    return read_index(table, offset, size);
}

weir_status weir_table_open(const void *bytes, size_t length, weir_table **out)
{
    weir_table *table = NULL;
    WEIR_TRY(weir_new(&table, 1));
    table->bytes = bytes;
    table->length = length;
    weir_status status = read_footer(table);
    if (!weir_ok(status)) {
        weir_table_close(table);
        return status;
    }
    *out = table;
    return WEIR_STATUS_OK;
}

void weir_table_close(weir_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->blocks.count; i++) {
        weir_release(table->blocks.items[i].decompressed);
        weir_list_clear(&table->blocks.items[i].entries);
    }
    weir_list_clear(&table->blocks);
    weir_release(table->index);
    weir_arena_clear(&table->keys);
    weir_release(table);
}

/* ---- looking up ---------------------------------------------------------------------------------------------------- */

size_t weir_table_blocks(const weir_table *table)
{
    return table->blocks.count;
}

weir_status weir_table_block(weir_table *table, size_t block, const weir_table_entry **entries, size_t *count)
{
    WEIR_TRY(load(table, &table->blocks.items[block]));
    *entries = table->blocks.items[block].entries.items;
    *count = table->blocks.items[block].entries.count;
    return WEIR_STATUS_OK;
}

/* The first block whose last key is not below the key; the count of blocks if there is none. */
static size_t find_block(const weir_table *table, const void *key, size_t length)
{
    size_t low = 0;
    size_t high = table->blocks.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct block *block = &table->blocks.items[middle];
        if (weir_table_compare(block->last_key, block->last_length, key, length) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

weir_status weir_table_find(weir_table *table, const void *key, size_t length, const weir_table_entry **entry)
{
    *entry = NULL;
    size_t found = find_block(table, key, length);
    if (found == table->blocks.count)
        return WEIR_STATUS_OK;
    struct block *block = &table->blocks.items[found];
    WEIR_TRY(load(table, block));
    size_t low = 0;
    size_t high = block->entries.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const weir_table_entry *here = &block->entries.items[middle];
        int order = weir_table_compare(here->key, here->key_length, key, length);
        if (order == 0)
            *entry = here;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return WEIR_STATUS_OK;
}
