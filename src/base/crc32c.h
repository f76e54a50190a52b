/*
 * CRC-32C (Castagnoli), as record files and checkpoints use it, at memory speed through ISA-L. Any thread.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what crc is the checksum of, followed by length bytes. crc of nothing is 0. */
uint32_t weir_crc32c_extend(uint32_t crc, const void *bytes, size_t length);

static inline uint32_t weir_crc32c(const void *bytes, size_t length)
{
    return weir_crc32c_extend(0, bytes, length);
}

/* Files hold checksums masked, so that the checksum of bytes that hold a checksum is not a trivial one. */
static inline uint32_t weir_crc32c_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

static inline uint32_t weir_crc32c_unmask(uint32_t masked)
{
    uint32_t rotated = masked - 0xa282ead8U;
    return (rotated >> 17) | (rotated << 15);
}

#endif
