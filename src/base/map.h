/*
 * A hash table from texts to pointers, over uthash. Keys are not copied: they live as long as the entry. Externally
 * locked.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>

#include "base/error.h"

typedef struct weir_map {
    struct weir_map_entry *entries;
} weir_map;

/* The value of a key, or NULL. */
void *weir_map_get(const weir_map *map, const char *key, size_t length);

/* Sets the value of a key (NULL is no value to tell from absence). */
WEIR_WARN_UNUSED weir_status weir_map_put(weir_map *map, const char *key, size_t length, void *value);

/* Takes a key out; returns its value or NULL. */
void *weir_map_take(weir_map *map, const char *key, size_t length);

size_t weir_map_count(const weir_map *map);

/* Calls visit for each entry in order of their first put. */
void weir_map_each(const weir_map *map, void (*visit)(void *context, const char *key, size_t length, void *value),
                   void *context);

/* Calls release for each entry and leaves the table empty; keys may go with their values. */
void weir_map_drain(weir_map *map, void (*release)(void *context, const char *key, size_t length, void *value),
                    void *context);

/* Frees the table (not keys and values). */
void weir_map_clear(weir_map *map);

#endif
