/*
 * A short fuzzing run without libFuzzer: the same inputs every time, made from seeds by flips, cuts, insertions, copies
 * and numbers that are worth trying.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int fuzz_target(const uint8_t *data, size_t size);

/* xorshift64*: any fixed sequence does. */
static inline uint64_t fuzz_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dULL;
}

static inline size_t fuzz_below(uint64_t *state, size_t limit)
{
    return limit == 0 ? 0 : (size_t)(fuzz_random(state) % limit);
}

/* Changes data, of size bytes in a buffer of room, and returns the new size. */
static inline size_t fuzz_change(uint64_t *state, uint8_t *data, size_t size, size_t room)
{
    static const uint8_t numbers[] = {0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x22, '{', '}', '"', '\\'};
    size_t at = fuzz_below(state, size);
    size_t length = fuzz_below(state, size - at) % 64;
    switch (fuzz_below(state, 6)) {
    case 0:
        if (size > 0)
            data[at] ^= (uint8_t)(1 << fuzz_below(state, 8));
        return size;
    case 1:
        if (size > 0)
            data[at] = numbers[fuzz_below(state, sizeof numbers)];
        return size;
    case 2: /* cut out */
        memmove(data + at, data + at + length, size - at - length);
        return size - length;
    case 3: /* double */
        if (size + length > room)
            return size;
        memmove(data + at + length, data + at, size - at);
        return size + length;
    case 4: /* copy elsewhere */
        memmove(data + fuzz_below(state, size - length), data + at, length);
        return size;
    default: /* insert */
        if (size == room)
            return size;
        memmove(data + at + 1, data + at, size - at);
        data[at] = numbers[fuzz_below(state, sizeof numbers)];
        return size + 1;
    }
}

/* Calls the target with the seed, and rounds times with something made from it. Each input stands in memory of its own
 * size, so that reading beyond it is seen. */
static inline void fuzz_mutate(fuzz_target *target, const uint8_t *seed, size_t size, int rounds)
{
    uint64_t state = 0x9e3779b97f4a7c15ULL ^ size;
    size_t room = 2 * size + 64;
    uint8_t *work = malloc(room);
    target(seed, size);
    for (int round = 0; work != NULL && round < rounds; round++) {
        size_t length = size;
        memcpy(work, seed, size);
        for (size_t changes = 1 + fuzz_below(&state, 8); changes > 0; changes--)
            length = fuzz_change(&state, work, length, room);
        uint8_t *exact = malloc(length == 0 ? 1 : length);
        if (exact != NULL) {
            memcpy(exact, work, length);
            target(exact, length);
        }
        free(exact);
    }
    free(work);
}

#endif
