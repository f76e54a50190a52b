/*
 * Sorted string tables: keys to values in blocks, the form of a checkpoint's index.
 *
 * Reading checks blocks as they are needed, so that a fault in one block does not hide the others. Writing gives the
 * bytes TensorFlow's writer gives.
 */
#ifndef FORMAT_TABLE_H
#define FORMAT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

/* A key and its value; keys compare as unsigned bytes, the shorter first. */
typedef struct weir_table_entry {
    const uint8_t *key;
    size_t key_length;
    const uint8_t *value;
    size_t value_length;
} weir_table_entry;

int weir_table_compare(const void *a, size_t a_length, const void *b, size_t b_length);

/* ---- reading ------------------------------------------------------------------------------------------------------- */

typedef struct weir_table weir_table;

/* A table over bytes, which it borrows. DATA_LOSS for a damaged footer or index block. Returns owned. Externally
 * locked. */
WEIR_WARN_UNUSED weir_status weir_table_open(const void *bytes, size_t length, weir_table **out);

void weir_table_close(weir_table *table); /* accepts NULL */

size_t weir_table_blocks(const weir_table *table);

/* The entries of one block, in the order of the file; they live as long as the table. DATA_LOSS when it is damaged. */
WEIR_WARN_UNUSED weir_status weir_table_block(weir_table *table, size_t block, const weir_table_entry **entries,
                                              size_t *count);

/* The entry of a key; *entry is NULL when there is none. DATA_LOSS when the block it would stand in is damaged. */
WEIR_WARN_UNUSED weir_status weir_table_find(weir_table *table, const void *key, size_t length,
                                             const weir_table_entry **entry);

/* ---- writing ------------------------------------------------------------------------------------------------------- */

typedef struct weir_table_writer {
    weir_text file;     /* finished blocks */
    weir_text block;    /* entries of the open data block */
    weir_text index;    /* entries of the index block */
    weir_text starts;   /* restart offsets of the open data block, 4 bytes each */
    weir_text restarts; /* the same of the index block */
    weir_text last;     /* the newest key */
    weir_text handle;   /* of the newest finished block, whose index entry waits for the next key */
    size_t entries;     /* in the open data block */
} weir_table_writer;

/* Adds an entry; keys come in strictly increasing order. Running out of memory is reported by finish. */
void weir_table_add(weir_table_writer *writer, const weir_table_entry *entry);

/* Writes the rest; the bytes of the file are in writer->file. */
WEIR_WARN_UNUSED weir_status weir_table_finish(weir_table_writer *writer);

void weir_table_writer_clear(weir_table_writer *writer);

#endif
