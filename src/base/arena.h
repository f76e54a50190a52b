/*
 * Memory that lives and dies together: allocated piece by piece, freed at once. Externally locked.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/error.h"

typedef struct weir_arena {
    struct weir_arena_chunk *newest;
} weir_arena;

/* Zeroed memory for count elements of size bytes, aligned to 16; NULL without memory. */
void *weir_arena_take(weir_arena *arena, size_t count, size_t size);

/* A copy of length bytes and a final zero; NULL without memory. */
char *weir_arena_text(weir_arena *arena, const char *text, size_t length);

/* Formatted text in the arena; NULL without memory. */
char *weir_arena_format(weir_arena *arena, const char *format, ...) WEIR_PRINTF(2, 3);

/* Bytes taken from the heap so far. */
size_t weir_arena_size(const weir_arena *arena);

/* Frees everything; the arena may be used again. */
void weir_arena_clear(weir_arena *arena);

#endif
