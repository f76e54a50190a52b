/*
 * The bytes of one tensor in a data file of a checkpoint, and their checksum.
 */
#ifndef FORMAT_CHECKPOINT_DATA_H
#define FORMAT_CHECKPOINT_DATA_H

#include "base/text.h"
#include "tensor/tensor.h"

/* The stored form of a string or variant tensor, appended; *crc is the (unmasked) checksum of its index entry. */
void weir_checkpoint_encode(const weir_tensor *tensor, weir_text *bytes, uint32_t *crc);

/* Fills a tensor of strings or variants from its stored form. swap: a machine of the other byte order wrote it.
 * DATA_LOSS with TensorFlow's text; *crc as above. */
WEIR_WARN_UNUSED weir_status weir_checkpoint_decode(const uint8_t *bytes, size_t length, bool swap, weir_tensor *tensor,
                                                    uint32_t *crc);

#endif
