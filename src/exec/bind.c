/*
 * Memory for what bind leaves to run.
 */
#include "exec/kernel.h"

weir_status weir_bind_take(weir_bind *bind, size_t size, void **out)
{
    void *memory = weir_arena_take(bind->arena, 1, size);
    if (memory == NULL)
        return weir_fail_memory(size);
    *out = memory;
    return WEIR_STATUS_OK;
}
