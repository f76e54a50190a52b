/*
 * Reading files that may be compressed by gzip: which of them are is known by their first two bytes, not by their name.
 */
#ifndef FORMAT_GZIP_H
#define FORMAT_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* No byte of compressed data makes more than this many. */
#define WEIR_GZIP_MOST_EXPANSION 1032

typedef struct weir_gzip weir_gzip;

/* Opens a regular file. path is borrowed. Returns owned. Externally locked. */
WEIR_WARN_UNUSED weir_status weir_gzip_open(const char *path, weir_gzip **out);

void weir_gzip_close(weir_gzip *gzip); /* accepts NULL */

/* True for compressed files. */
bool weir_gzip_is_compressed(const weir_gzip *gzip);

/* Bytes of the file on disk. */
uint64_t weir_gzip_file_size(const weir_gzip *gzip);

/* Reads length bytes of the contents, fewer only at their end. DATA_LOSS names the file when compression is damaged or
 * cut short. */
WEIR_WARN_UNUSED weir_status weir_gzip_read(weir_gzip *gzip, void *bytes, size_t length, size_t *got);

#endif
