/*
 * uthash behind three calls. uthash would exit the process without memory; HASH_NONFATAL_OOM makes it report instead.
 */
#include "base/map.h"

#include <stdbool.h>

#include "base/memory.h"

static void note_out_of_memory(bool *failed)
{
    *failed = true;
}

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) note_out_of_memory(&(entry)->failed)
#define uthash_malloc(size) weir_allocate(1, size)
#define uthash_free(memory, size) weir_release(memory)
#include <uthash.h>

struct weir_map_entry {
    const char *key;
    size_t length;
    void *value;
    bool failed;
    UT_hash_handle hh;
};

static struct weir_map_entry *find(const weir_map *map, const char *key, size_t length)
{
    struct weir_map_entry *entry = NULL;
    weir_count_lookup();
    HASH_FIND(hh, map->entries, key, length, entry);
    return entry;
}

void *weir_map_get(const weir_map *map, const char *key, size_t length)
{
    const struct weir_map_entry *entry = find(map, key, length);
    return entry != NULL ? entry->value : NULL;
}

weir_status weir_map_put(weir_map *map, const char *key, size_t length, void *value)
{
    struct weir_map_entry *entry = find(map, key, length);
    if (entry != NULL) {
        entry->value = value;
        return WEIR_STATUS_OK;
    }
    WEIR_TRY(weir_new(&entry, 1));
    entry->key = key;
    entry->length = length;
    entry->value = value;
    HASH_ADD_KEYPTR(hh, map->entries, key, length, entry);
    if (entry->failed) {
        weir_release(entry);
        return weir_fail_memory(sizeof *entry);
    }
    return WEIR_STATUS_OK;
}

void *weir_map_take(weir_map *map, const char *key, size_t length)
{
    struct weir_map_entry *entry = find(map, key, length);
    if (entry == NULL)
        return NULL;
    void *value = entry->value;
    HASH_DELETE(hh, map->entries, entry);
    weir_release(entry);
    return value;
}

size_t weir_map_count(const weir_map *map)
{
    return HASH_COUNT(map->entries);
}

void weir_map_each(const weir_map *map, void (*visit)(void *, const char *, size_t, void *), void *context)
{
    for (struct weir_map_entry *entry = map->entries; entry != NULL; entry = entry->hh.next)
        visit(context, entry->key, entry->length, entry->value);
}

void weir_map_drain(weir_map *map, void (*release)(void *, const char *, size_t, void *), void *context)
{
    struct weir_map_entry *entry = NULL;
    struct weir_map_entry *next = NULL;
    HASH_ITER(hh, map->entries, entry, next) {
        struct weir_map_entry taken = *entry;
        HASH_DELETE(hh, map->entries, entry);
        weir_release(entry);
        release(context, taken.key, taken.length, taken.value);
    }
}

void weir_map_clear(weir_map *map)
{
    struct weir_map_entry *entry = NULL;
    struct weir_map_entry *next = NULL;
    HASH_ITER(hh, map->entries, entry, next) {
        HASH_DELETE(hh, map->entries, entry);
        weir_release(entry);
    }
}
