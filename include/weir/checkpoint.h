/*
 * Checkpoints: named tensors in files, in the format of TensorFlow's V2 checkpoints ("tensor bundles").
 *
 * A checkpoint has a prefix such as "/train/model.ckpt-1000" and stands in the files <prefix>.index and
 * <prefix>.data-00000-of-00001 (or more of those, when it was written in shards). It exists when its index exists. Every
 * byte that is read is checked against the checksums in the index.
 *
 * Errors name file, tensor and values; their first words are TensorFlow's where it has some.
 */
#ifndef WEIR_CHECKPOINT_H
#define WEIR_CHECKPOINT_H

#include <weir/status.h>
#include <weir/tensor.h>
#include <weir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading ------------------------------------------------------------------------------------------------------- */

/* An open checkpoint. Externally locked; two of one prefix may be open in two threads. */
typedef struct weir_checkpoint weir_checkpoint;

/* One tensor of a checkpoint. */
typedef struct weir_checkpoint_entry {
    const char *name; /* borrowed from the checkpoint; ends with a zero (and may, in odd files, hold others) */
    size_t name_length;
    weir_dtype dtype;
    weir_shape shape;
    size_t pieces; /* 0: stored whole; else in so many pieces, that reading puts together */
} weir_checkpoint_entry;

/* Opens the checkpoint of a prefix: reads its index. NOT_FOUND when there is none, DATA_LOSS when the index is damaged,
 * INVALID_ARGUMENT when a newer version wrote it, UNIMPLEMENTED for the one-file format of before 2017 (V1). */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_open(const char *prefix, weir_checkpoint **out);

WEIR_API void weir_checkpoint_close(weir_checkpoint *checkpoint); /* accepts NULL */

/* All tensors, in the order of their names; the array is borrowed. DATA_LOSS when some part of the index is damaged. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_list(weir_checkpoint *checkpoint,
                                                           const weir_checkpoint_entry **entries, size_t *count);

/* One tensor; NOT_FOUND "Key <name> not found in checkpoint". */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_find(weir_checkpoint *checkpoint, const char *name,
                                                           weir_checkpoint_entry *entry);

/* Reads a tensor whole. Returns owned. NOT_FOUND, DATA_LOSS, OUT_OF_RANGE (a data file cut short), RESOURCE_EXHAUSTED. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_read(weir_checkpoint *checkpoint, const char *name,
                                                           weir_tensor **out);

/* Reads a part: "10 4 0,5:-" is the first five rows of a tensor of shape [10,4]. "" is the whole. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_read_part(weir_checkpoint *checkpoint, const char *name,
                                                                const char *shape_and_slice, weir_tensor **out);

/* True when the prefix has an index. Any thread. */
WEIR_API bool weir_checkpoint_exists(const char *prefix);

/* ---- writing ------------------------------------------------------------------------------------------------------- */

/* A checkpoint being written, in one shard. Externally locked. */
typedef struct weir_checkpoint_writer weir_checkpoint_writer;

/* Begins: creates the folder if only that is missing, and a temporary file in it. Nothing of an earlier checkpoint with
 * this prefix is touched before weir_checkpoint_commit. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_create(const char *prefix, weir_checkpoint_writer **out);

/* Writes a tensor. INVALID_ARGUMENT "Adding duplicate key: <name>"; RESOURCE_EXHAUSTED naming file and sizes when the
 * disk is full. After a failure the writer can only be freed. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_add(weir_checkpoint_writer *writer, const char *name,
                                                          const weir_tensor *tensor);

/* Writes a piece of a larger tensor, as weir_checkpoint_read_part names it; "" or the whole: as above. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_add_part(weir_checkpoint_writer *writer, const char *name,
                                                               const char *shape_and_slice, const weir_tensor *tensor);

/* Puts everything on disk and in place. A crash at any moment leaves the earlier checkpoint of this prefix, none, or the
 * new one, never a mixture. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_commit(weir_checkpoint_writer *writer);

/* Frees the writer; without a commit its temporary files go too. Accepts NULL. */
WEIR_API void weir_checkpoint_writer_free(weir_checkpoint_writer *writer);

typedef struct weir_checkpoint_merge_options {
    bool keep_folders;        /* false: folders of the prefixes that are empty afterwards are removed */
    bool allow_missing_files; /* false: a prefix without a checkpoint is INVALID_ARGUMENT */
} weir_checkpoint_merge_options;

/* Makes one checkpoint of several (the shards of one save): their data files are moved, their indexes removed. options
 * may be NULL. INVALID_ARGUMENT for a tensor that stands in two of them whole. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_merge(const char *const *prefixes, size_t count,
                                                            const char *destination,
                                                            const weir_checkpoint_merge_options *options);

/* Removes the files of a checkpoint, <prefix>.meta first, and says nothing of those that are not there. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_remove(const char *prefix);

/* ---- which checkpoints a folder has --------------------------------------------------------------------------------- */

/* What the state file (by default "checkpoint") of a folder says. Paths are as they can be opened: relative ones are
 * joined to the folder. */
typedef struct weir_checkpoint_state {
    char *latest;
    char **all; /* oldest first */
    size_t count;
    double *timestamps; /* of all, seconds since 1970; NULL when the file has none */
    double last_preserved_timestamp;
} weir_checkpoint_state;

/* Reads the state file. NOT_FOUND without one, INVALID_ARGUMENT with line and column for one that is no state file or
 * names no checkpoint. file_name NULL: "checkpoint". Returns owned. Any thread. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_state_read(const char *folder, const char *file_name,
                                                                 weir_checkpoint_state **out);

WEIR_API void weir_checkpoint_state_free(weir_checkpoint_state *state); /* accepts NULL */

typedef struct weir_checkpoint_state_options {
    const char *file_name;    /* NULL: "checkpoint" */
    bool relative_paths;      /* paths relative to the folder, so that it can be moved */
    const double *timestamps; /* of all, or NULL */
    double last_preserved_timestamp;
} weir_checkpoint_state_options;

/* Replaces the state file: latest, and all (oldest first; latest is appended if it is not the last). As TensorFlow,
 * stores relative paths relative to the folder, absolute ones as they are. options may be NULL. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_state_write(const char *folder, const char *latest,
                                                                  const char *const *all, size_t count,
                                                                  const weir_checkpoint_state_options *options);

/* The newest checkpoint of a folder; owned (free()). *path is NULL, with a warning in the log where there is a reason
 * for one, when there is no state file, none that can be read, or the checkpoint it names is gone. INVALID_ARGUMENT for
 * a state file that names no checkpoint at all. Any thread. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_checkpoint_latest(const char *folder, const char *file_name, char **path);

#ifdef __cplusplus
}
#endif

#endif
