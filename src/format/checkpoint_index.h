/*
 * The index of a checkpoint under construction: entries by key, and putting files in the place of an earlier checkpoint.
 */
#ifndef FORMAT_CHECKPOINT_INDEX_H
#define FORMAT_CHECKPOINT_INDEX_H

#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"
#include "format/file.h"
#include "proto/checkpoint.pb-c.h"

typedef struct weir_index_entry {
    const char *key;
    size_t length;
    Weir__BundleEntryProto *proto;
} weir_index_entry;

/* All zero: empty. Everything lives in the arena. */
typedef struct weir_checkpoint_index {
    weir_arena arena;
    weir_map keys; /* to weir_index_entry */
    weir_index_entry **entries;
    size_t count;
} weir_checkpoint_index;

/* The entry of a key, or NULL. */
weir_index_entry *weir_index_get(const weir_checkpoint_index *index, const char *key, size_t length);

/* A new, empty entry; the key, which is not there yet, is copied. */
WEIR_WARN_UNUSED weir_status weir_index_add(weir_checkpoint_index *index, const char *key, size_t length,
                                            weir_index_entry **entry);

/* The bytes of the index file, appended to file. Sorts the entries. */
WEIR_WARN_UNUSED weir_status weir_index_write(weir_checkpoint_index *index, const Weir__BundleHeaderProto *header,
                                              weir_text *file);

void weir_index_clear(weir_checkpoint_index *index);

/* Puts data files and index in place, so that a crash at any moment leaves the old checkpoint, none or the new one:
 * an old index is set aside, the data is placed by place(context), then the index, whose bytes are already on disk,
 * gets its name. When place fails, the old index comes back. */
WEIR_WARN_UNUSED weir_status weir_index_publish(weir_new_file *index, weir_status (*place)(void *context),
                                                void *context);

#endif
