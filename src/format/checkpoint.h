/*
 * The inside of checkpoints, for the ops that save and restore: names and specifications with their lengths, and what
 * SaveV2 and RestoreV2 do with lists of them.
 */
#ifndef FORMAT_CHECKPOINT_H
#define FORMAT_CHECKPOINT_H

#include <weir/checkpoint.h>

#include "base/text.h"
#include "format/slice.h"
#include "proto/checkpoint.pb-c.h"
#include "tensor/tensor.h"

#define WEIR_CHECKPOINT_VERSION 1

/* "<prefix>.index" and "<prefix>.data-00000-of-00001". */
void weir_checkpoint_index_name(weir_text *name, const char *prefix);
void weir_checkpoint_data_name(weir_text *name, const char *prefix, int shard, int shards);

/* Reads what spec ("" or "shape slice") asks for. Names and specifications may hold zero bytes. */
WEIR_WARN_UNUSED weir_status weir_checkpoint_restore(weir_checkpoint *checkpoint, const weir_string *name,
                                                     const weir_string *spec, weir_tensor **out);

/* RestoreV2: count tensors, whose types must be dtypes (WEIR_INVALID_DTYPE: any). INVALID_ARGUMENT tells all wrong
 * types, one per line. On success tensors are owned; on failure none is returned. */
WEIR_WARN_UNUSED weir_status weir_checkpoint_restore_all(const char *prefix, size_t count, const weir_string *names,
                                                         const weir_string *specs, const weir_dtype *dtypes,
                                                         weir_tensor **tensors);

/* Adds a tensor under what spec says of it. */
WEIR_WARN_UNUSED weir_status weir_checkpoint_save(weir_checkpoint_writer *writer, const weir_string *name,
                                                  const weir_string *spec, const weir_tensor *tensor);

/* SaveV2: count tensors in this order. */
WEIR_WARN_UNUSED weir_status weir_checkpoint_save_all(const char *prefix, size_t count, const weir_string *names,
                                                      const weir_string *specs, weir_tensor *const *tensors);

#endif
