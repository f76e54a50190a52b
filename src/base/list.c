/*
 * Growth of lists: by half, at least eight.
 */
#include "base/list.h"

weir_status weir_list_grow(void **items, size_t count, size_t *capacity, size_t size)
{
    size_t larger = count + count / 2 + 8;
    void *grown = weir_reallocate(*items, larger, size);
    if (grown == NULL)
        return weir_fail_memory(larger * size);
    *items = grown;
    *capacity = larger;
    return WEIR_STATUS_OK;
}
