/*
 * A growing array of any element type, as three fields: items, count, capacity.
 *
 *     struct { weir_node **items; size_t count, capacity; } nodes = {0};
 *     WEIR_TRY(weir_list_add(&nodes, node));
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"

/* Declares a list type of the element. */
#define WEIR_LIST(element)                                                                                             \
    struct {                                                                                                           \
        element *items;                                                                                                \
        size_t count;                                                                                                  \
        size_t capacity;                                                                                               \
    }

/* Makes room for one more; used by weir_list_add. */
WEIR_WARN_UNUSED weir_status weir_list_grow(void **items, size_t count, size_t *capacity, size_t size);

/* Appends value (an lvalue-compatible expression); RESOURCE_EXHAUSTED leaves the list as it was. */
#define weir_list_add(list, ...)                                                                                       \
    ({                                                                                                                 \
        weir_status weir_list_status = WEIR_STATUS_OK;                                                                 \
        if ((list)->count == (list)->capacity)                                                                         \
            weir_list_status =                                                                                         \
                weir_list_grow((void **)&(list)->items, (list)->count, &(list)->capacity, sizeof *(list)->items);      \
        if (weir_ok(weir_list_status))                                                                                 \
            (list)->items[(list)->count++] = __VA_ARGS__;                                                              \
        weir_list_status;                                                                                              \
    })

/* Frees the array (not what its elements point to). */
#define weir_list_clear(list)                                                                                          \
    do {                                                                                                               \
        weir_release((list)->items);                                                                                   \
        (list)->items = NULL;                                                                                          \
        (list)->count = (list)->capacity = 0;                                                                          \
    } while (0)

#endif
