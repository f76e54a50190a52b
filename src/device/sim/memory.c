/*
 * First fit over the gaps of the range, in pieces of 256 bytes as GPU allocators have them.
 */
#include "device/sim/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PIECE 256

static size_t rounded(size_t size)
{
    return size == 0 ? PIECE : (size + PIECE - 1) / PIECE * PIECE;
}

static weir_status out_of_memory(const weir_sim_memory *memory, size_t size)
{
    return weir_fail(WEIR_RESOURCE_EXHAUSTED, "OOM when allocating %zu bytes on %s: %zu of %zu bytes are in use", size,
                     memory->name, memory->used, memory->limit);
}

static weir_status allocate_locked(weir_sim_memory *memory, size_t size, void **out)
{
    size_t wanted = rounded(size);
    if (size > memory->limit || wanted > memory->limit - memory->used)
        return out_of_memory(memory, size);
    for (size_t i = 0; i < memory->gaps.count; i++) {
        weir_sim_gap *gap = &memory->gaps.items[i];
        if (gap->size < wanted)
            continue;
        *out = memory->addresses + gap->offset;
        gap->offset += wanted;
        gap->size -= wanted;
        if (gap->size == 0) {
            memmove(gap, gap + 1, (memory->gaps.count - i - 1) * sizeof *gap);
            memory->gaps.count--;
        }
        memory->used += wanted;
        return WEIR_STATUS_OK;
    }
    return out_of_memory(memory, size);
}

static weir_status allocate(weir_allocator *allocator, size_t size, void **out)
{
    weir_sim_memory *memory = (weir_sim_memory *)allocator;
    pthread_mutex_lock(&memory->mutex);
    weir_status status = allocate_locked(memory, size, out);
    pthread_mutex_unlock(&memory->mutex);
    return status;
}

static void release_locked(weir_sim_memory *memory, size_t offset, size_t size)
{
    size_t at = 0;
    while (at < memory->gaps.count && memory->gaps.items[at].offset < offset)
        at++;
    memory->used -= size;
    weir_sim_gap *before = at > 0 ? &memory->gaps.items[at - 1] : NULL;
    weir_sim_gap *after = at < memory->gaps.count ? &memory->gaps.items[at] : NULL;
    bool joins_before = before != NULL && before->offset + before->size == offset;
    bool joins_after = after != NULL && offset + size == after->offset;
    if (joins_before && joins_after) {
        before->size += size + after->size;
        memmove(after, after + 1, (memory->gaps.count - at - 1) * sizeof *after);
        memory->gaps.count--;
    } else if (joins_before) {
        before->size += size;
    } else if (joins_after) {
        after->offset = offset;
        after->size += size;
    } else if (weir_ok(weir_list_add(&memory->gaps, (weir_sim_gap){0}))) {
        weir_sim_gap *gaps = memory->gaps.items;
        memmove(gaps + at + 1, gaps + at, (memory->gaps.count - 1 - at) * sizeof *gaps);
        gaps[at] = (weir_sim_gap){offset, size};
    } /* else the piece is lost until the device is closed */
}

static void release(weir_allocator *allocator, void *address, size_t size)
{
    weir_sim_memory *memory = (weir_sim_memory *)allocator;
    pthread_mutex_lock(&memory->mutex);
    release_locked(memory, (size_t)((char *)address - memory->addresses), rounded(size));
    pthread_mutex_unlock(&memory->mutex);
}

weir_status weir_sim_memory_init(weir_sim_memory *memory, size_t limit, const char *name)
{
    *memory = (weir_sim_memory){.allocator = {.name = "sim", .allocate = allocate, .release = release}, .limit = limit};
    memory->size = (limit + 4095) / 4096 * 4096 * 2; /* room for gaps between pieces */
    snprintf(memory->name, sizeof memory->name, "%s", name);
    pthread_mutex_init(&memory->mutex, NULL);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *addresses = mmap(NULL, memory->size, PROT_NONE, flags, -1, 0);
    void *bytes = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, flags, -1, 0);
    memory->addresses = addresses != MAP_FAILED ? addresses : NULL;
    memory->bytes = bytes != MAP_FAILED ? bytes : NULL;
    weir_status status = memory->addresses != NULL && memory->bytes != NULL
                             ? weir_list_add(&memory->gaps, (weir_sim_gap){0, memory->size})
                             : weir_fail_memory(memory->size);
    if (!weir_ok(status)) {
        weir_sim_memory_clear(memory);
        return status;
    }
    memory->allocator.reach = memory->bytes - memory->addresses;
    return WEIR_STATUS_OK;
}

void weir_sim_memory_clear(weir_sim_memory *memory)
{
    if (memory->addresses != NULL)
        munmap(memory->addresses, memory->size);
    if (memory->bytes != NULL)
        munmap(memory->bytes, memory->size);
    weir_list_clear(&memory->gaps);
    pthread_mutex_destroy(&memory->mutex);
}

void *weir_sim_memory_reach(const weir_sim_memory *memory, const void *address, size_t size)
{
    uintptr_t at = (uintptr_t)address;
    uintptr_t first = (uintptr_t)memory->addresses;
    if (at < first || at - first > memory->size || size > memory->size - (at - first))
        return NULL;
    return memory->bytes + (at - first);
}
