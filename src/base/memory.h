/*
 * Heap memory of Weir's own code. Every call is counted in a test build (WEIR_COUNTERS), so that a test can prove that
 * a steady step allocates nothing. Whoever takes memory here gives it back with weir_release.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Alignment of every buffer that holds tensor elements: a cache line and an AVX-512 vector. */
#define WEIR_ALIGNMENT 64

/* What Weir's own code did since the process started; all zero unless built with WEIR_COUNTERS. */
typedef struct weir_counters {
    uint64_t allocations;
    uint64_t lookups; /* hash look-ups */
    uint64_t texts;   /* strings formatted */
} weir_counters;

/* A reading of the counters, summed over all threads. Any thread. */
weir_counters weir_counters_read(void);

#ifdef WEIR_COUNTERS
void weir_count_lookup(void);
void weir_count_text(void);
#else
static inline void weir_count_lookup(void)
{
}
static inline void weir_count_text(void)
{
}
#endif

/* count * size zeroed bytes; NULL without memory or when the product overflows. Size 0 gives a valid pointer. */
void *weir_allocate(size_t count, size_t size);

/* Grows or shrinks memory of weir_allocate; on NULL the old memory is still there. New bytes are not zeroed. */
void *weir_reallocate(void *memory, size_t count, size_t size);

/* size bytes at a multiple of WEIR_ALIGNMENT, not zeroed; NULL without memory. Free it with weir_release. */
void *weir_allocate_aligned(size_t size);

/* A copy of length bytes of text and a final zero; NULL without memory. */
char *weir_copy_text(const char *text, size_t length);

/* Takes memory from any call above, or NULL. */
void weir_release(void *memory);

/* WEIR_TRY(weir_new(&pointer, count)): zeroed array of count elements, or RESOURCE_EXHAUSTED. */
#define weir_new(pointer_address, count)                                                                               \
    weir_new_array((void **)(pointer_address), (count), sizeof(**(pointer_address)))
WEIR_WARN_UNUSED weir_status weir_new_array(void **memory, size_t count, size_t size);

#endif
