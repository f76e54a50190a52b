/*
 * Places for temporaries in one block: taken and given back in the order of the instructions, first fit.
 */
#ifndef PLAN_MEMORY_H
#define PLAN_MEMORY_H

#include <stdbool.h>

#include "base/list.h"

typedef struct weir_memory_gap {
    size_t offset, size;
} weir_memory_gap;

typedef struct weir_memory_plan {
    WEIR_LIST(weir_memory_gap) gaps; /* sorted by offset; no two touch */
    size_t size;                     /* of the block so far */
} weir_memory_plan;

/* A place of size bytes (rounded up to WEIR_ALIGNMENT). */
WEIR_WARN_UNUSED weir_status weir_memory_take(weir_memory_plan *plan, size_t size, size_t *offset);

/* Gives it back, with the size it was taken with. */
WEIR_WARN_UNUSED weir_status weir_memory_give(weir_memory_plan *plan, size_t offset, size_t size);

void weir_memory_plan_clear(weir_memory_plan *plan);

#endif
