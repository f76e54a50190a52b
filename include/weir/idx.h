/*
 * IDX files, in which MNIST and its relatives come: images and labels as unsigned bytes, plain or compressed by gzip.
 */
#ifndef WEIR_IDX_H
#define WEIR_IDX_H

#include <weir/status.h>
#include <weir/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weir_idx_kind {
    WEIR_IDX_IMAGES = 2051, /* [count, rows, columns] */
    WEIR_IDX_LABELS = 2049, /* [count] */
} weir_idx_kind;

/* Reads a file of this kind, whatever its name ends with: what is compressed is known by its first bytes. Returns owned,
 * of type uint8. NOT_FOUND; DATA_LOSS names the file and what is wrong (another kind, a reversed header, actual size and
 * size by header, damaged compression); nothing is half loaded. Any thread. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_idx_read(const char *path, weir_idx_kind kind, weir_tensor **out);

#ifdef __cplusplus
}
#endif

#endif
