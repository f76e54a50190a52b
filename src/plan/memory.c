/*
 * First fit over the gaps. The list of gaps is short: values die soon after they are made.
 */
#include "plan/memory.h"

#include <string.h>

static size_t rounded(size_t size)
{
    size_t least = size == 0 ? 1 : size;
    return (least + WEIR_ALIGNMENT - 1) / WEIR_ALIGNMENT * WEIR_ALIGNMENT;
}

static void remove_gap(weir_memory_plan *plan, size_t index)
{
    weir_memory_gap *gaps = plan->gaps.items;
    memmove(gaps + index, gaps + index + 1, (plan->gaps.count - index - 1) * sizeof *gaps);
    plan->gaps.count--;
}

weir_status weir_memory_take(weir_memory_plan *plan, size_t size, size_t *offset)
{
    size = rounded(size);
    for (size_t i = 0; i < plan->gaps.count; i++) {
        weir_memory_gap *gap = &plan->gaps.items[i];
        if (gap->size < size)
            continue;
        *offset = gap->offset;
        gap->offset += size;
        gap->size -= size;
        if (gap->size == 0)
            remove_gap(plan, i);
        return WEIR_STATUS_OK;
    }
    *offset = plan->size;
    if (__builtin_add_overflow(plan->size, size, &plan->size))
        return weir_fail_memory(size);
    return WEIR_STATUS_OK;
}

weir_status weir_memory_give(weir_memory_plan *plan, size_t offset, size_t size)
{
    size = rounded(size);
    size_t at = 0;
    while (at < plan->gaps.count && plan->gaps.items[at].offset < offset)
        at++;
    weir_memory_gap *before = at > 0 ? &plan->gaps.items[at - 1] : NULL;
    weir_memory_gap *after = at < plan->gaps.count ? &plan->gaps.items[at] : NULL;
    bool joins_before = before != NULL && before->offset + before->size == offset;
    bool joins_after = after != NULL && offset + size == after->offset;
    if (joins_before) {
        before->size += size + (joins_after ? after->size : 0);
        if (joins_after)
            remove_gap(plan, at);
        return WEIR_STATUS_OK;
    }
    if (joins_after) {
        after->offset = offset;
        after->size += size;
        return WEIR_STATUS_OK;
    }
    WEIR_TRY(weir_list_add(&plan->gaps, (weir_memory_gap){0}));
    weir_memory_gap *gaps = plan->gaps.items;
    memmove(gaps + at + 1, gaps + at, (plan->gaps.count - 1 - at) * sizeof *gaps);
    gaps[at] = (weir_memory_gap){offset, size};
    return WEIR_STATUS_OK;
}

void weir_memory_plan_clear(weir_memory_plan *plan)
{
    weir_list_clear(&plan->gaps);
}
