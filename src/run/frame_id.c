/*
 * MurmurHash2-64A and TensorFlow's way of combining hashes.
 */
#include "run/frame_id.h"

#include <string.h>

#define SEED 0xDECAFCAFFEu

uint64_t weir_hash64(const char *data, size_t size)
{
    const uint64_t m = 0xc6a4a7935bd1e995u;
    uint64_t hash = SEED ^ (size * m);
    for (; size >= 8; data += 8, size -= 8) {
        uint64_t word = 0;
        for (int i = 7; i >= 0; i--)
            word = word << 8 | (unsigned char)data[i];
        word *= m;
        word ^= word >> 47;
        word *= m;
        hash ^= word;
        hash *= m;
    }
    if (size > 0) {
        uint64_t word = 0;
        for (size_t i = size; i > 0; i--)
            word = word << 8 | (unsigned char)data[i - 1];
        hash ^= word;
        hash *= m;
    }
    hash ^= hash >> 47;
    hash *= m;
    hash ^= hash >> 47;
    return hash;
}

static uint64_t combine(uint64_t a, uint64_t b)
{
    return a ^ (b + 0x9e3779b97f4a7800u + (a << 10) + (a >> 4));
}

uint64_t weir_frame_id(uint64_t parent_id, uint64_t parent_iteration, const char *name)
{
    return combine(parent_id, combine(parent_iteration, weir_hash64(name, strlen(name))));
}
