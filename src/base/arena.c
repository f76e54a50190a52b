/*
 * Chunks of growing size; a piece too big for a chunk gets one of its own.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define FIRST_CHUNK 4096
#define LARGEST_CHUNK (1 << 20)
#define PIECE_ALIGNMENT 16

struct weir_arena_chunk {
    struct weir_arena_chunk *older;
    size_t size; /* of data */
    size_t used;
    _Alignas(PIECE_ALIGNMENT) char data[];
};

static struct weir_arena_chunk *add_chunk(weir_arena *arena, size_t least)
{
    size_t size = arena->newest == NULL ? FIRST_CHUNK : arena->newest->size * 2;
    if (size > LARGEST_CHUNK)
        size = LARGEST_CHUNK;
    if (size < least)
        size = least;
    struct weir_arena_chunk *chunk = weir_allocate(1, sizeof *chunk + size);
    if (chunk == NULL)
        return NULL;
    chunk->size = size;
    chunk->older = arena->newest;
    arena->newest = chunk;
    return chunk;
}

void *weir_arena_take(weir_arena *arena, size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + PIECE_ALIGNMENT - 1) / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
    struct weir_arena_chunk *chunk = arena->newest;
    if (chunk == NULL || chunk->size - chunk->used < bytes) {
        chunk = add_chunk(arena, bytes);
        if (chunk == NULL)
            return NULL;
    }
    void *piece = chunk->data + chunk->used;
    chunk->used += bytes;
    return piece;
}

char *weir_arena_text(weir_arena *arena, const char *text, size_t length)
{
    char *copy = weir_arena_take(arena, length + 1, 1);
    if (copy != NULL && length > 0)
        memcpy(copy, text, length);
    return copy;
}

char *weir_arena_format(weir_arena *arena, const char *format, ...)
{
    weir_count_text();
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : weir_arena_take(arena, (size_t)length + 1, 1);
    if (text != NULL)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

size_t weir_arena_size(const weir_arena *arena)
{
    size_t size = 0;
    for (const struct weir_arena_chunk *chunk = arena->newest; chunk != NULL; chunk = chunk->older)
        size += chunk->size;
    return size;
}

void weir_arena_clear(weir_arena *arena)
{
    while (arena->newest != NULL) {
        struct weir_arena_chunk *older = arena->newest->older;
        weir_release(arena->newest);
        arena->newest = older;
    }
}
