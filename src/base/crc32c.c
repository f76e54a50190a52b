/*
 * ISA-L's iSCSI checksum is CRC-32C without the inversions at both ends, and takes lengths that fit an int.
 */
#include "base/crc32c.h"

#include <isa-l/crc.h>

#define MOST_AT_ONCE ((size_t)1 << 30)

uint32_t weir_crc32c_extend(uint32_t crc, const void *bytes, size_t length)
{
    unsigned char *at = (unsigned char *)(uintptr_t)bytes; /* ISA-L only reads, but takes no const */
    uint32_t inverted = ~crc;
    while (length > 0) {
        size_t now = length < MOST_AT_ONCE ? length : MOST_AT_ONCE;
        inverted = crc32_iscsi(at, (int)now, inverted);
        at += now;
        length -= now;
    }
    return ~inverted;
}
