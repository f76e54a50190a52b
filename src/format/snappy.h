/*
 * Raw Snappy blocks, for reading old checkpoint indexes.
 */
#ifndef FORMAT_SNAPPY_H
#define FORMAT_SNAPPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Decompresses a block; the bytes are owned (weir_release). DATA_LOSS for anything but a whole, sound block, before
 * memory for an impossible length is taken. */
WEIR_WARN_UNUSED weir_status weir_snappy_read(const uint8_t *block, size_t size, uint8_t **bytes, size_t *length);

#endif
