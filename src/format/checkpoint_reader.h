/*
 * An open checkpoint, shared by the files that read it.
 */
#ifndef FORMAT_CHECKPOINT_READER_H
#define FORMAT_CHECKPOINT_READER_H

#include "base/arena.h"
#include "base/list.h"
#include "format/checkpoint.h"
#include "format/table.h"

struct data_file {
    int shard;
    int file;
    uint64_t size;
};

struct weir_checkpoint {
    char *prefix;
    char *index_name;
    char *index; /* the bytes of the index */
    weir_table *table;
    weir_arena arena; /* header and list */
    int shards;
    bool swap; /* written by a machine of the other byte order */
    Weir__BundleHeaderProto *header;
    WEIR_LIST(struct data_file) files; /* opened so far */
    bool listed;
    WEIR_LIST(weir_checkpoint_entry) entries;
};

/* What the index says of a tensor or piece, checked for what Weir can hold. */
typedef struct weir_bundle_entry {
    const char *key; /* for errors; may hold zero bytes */
    size_t key_length;
    weir_dtype dtype;
    weir_shape shape;
    int shard;
    int64_t offset;
    int64_t size;
    uint32_t crc; /* unmasked */
    size_t pieces;
    Weir__TensorSliceProto **slices;
} weir_bundle_entry;

/* Finds the entry of a key, which it borrows; slices are in the arena. NOT_FOUND, DATA_LOSS. */
WEIR_WARN_UNUSED weir_status weir_bundle_find(weir_checkpoint *checkpoint, const char *key, size_t length,
                                              weir_arena *arena, weir_bundle_entry *entry);

/* Reads the tensor or piece of an entry without pieces. */
WEIR_WARN_UNUSED weir_status weir_bundle_read(weir_checkpoint *checkpoint, const weir_bundle_entry *entry,
                                              weir_tensor **out);

/* Reads the part that slice names (NULL: all) of an entry with pieces, or cuts it out of one without. */
WEIR_WARN_UNUSED weir_status weir_bundle_read_part(weir_checkpoint *checkpoint, const weir_bundle_entry *entry,
                                                   const weir_slice *slice, weir_tensor **out);

#endif
