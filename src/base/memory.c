/*
 * malloc with counters for the tests.
 */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef WEIR_COUNTERS
static atomic_uint_fast64_t allocations;
static atomic_uint_fast64_t lookups;
static atomic_uint_fast64_t texts;

static void count_allocation(void)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void weir_count_lookup(void)
{
    atomic_fetch_add_explicit(&lookups, 1, memory_order_relaxed);
}

void weir_count_text(void)
{
    atomic_fetch_add_explicit(&texts, 1, memory_order_relaxed);
}

weir_counters weir_counters_read(void)
{
    return (weir_counters){
        .allocations = atomic_load(&allocations),
        .lookups = atomic_load(&lookups),
        .texts = atomic_load(&texts),
    };
}
#else
static void count_allocation(void)
{
}

weir_counters weir_counters_read(void)
{
    return (weir_counters){0};
}
#endif

void *weir_allocate(size_t count, size_t size)
{
    count_allocation();
    if (count == 0 || size == 0)
        return calloc(1, 1);
    return calloc(count, size);
}

void *weir_reallocate(void *memory, size_t count, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    count_allocation();
    return realloc(memory, bytes == 0 ? 1 : bytes);
}

void *weir_allocate_aligned(size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    count_allocation();
    size_t rounded = (size + WEIR_ALIGNMENT - 1) / WEIR_ALIGNMENT * WEIR_ALIGNMENT;
    return aligned_alloc(WEIR_ALIGNMENT, rounded == 0 ? WEIR_ALIGNMENT : rounded);
}

char *weir_copy_text(const char *text, size_t length)
{
    char *copy = weir_allocate(length + 1, 1);
    if (copy != NULL && length > 0)
        memcpy(copy, text, length);
    return copy;
}

void weir_release(void *memory)
{
    free(memory);
}

weir_status weir_new_array(void **memory, size_t count, size_t size)
{
    void *fresh = weir_allocate(count, size);
    if (fresh == NULL) {
        size_t bytes = 0;
        return weir_fail_memory(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes);
    }
    *memory = fresh;
    return WEIR_STATUS_OK;
}
