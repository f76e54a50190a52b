/*
 * The memory of a simulated accelerator. Its addresses lie in a range that is mapped without any access: whoever reads or
 * writes through one on the host crashes. The bytes themselves lie elsewhere, at a fixed distance (the allocator's reach).
 */
#ifndef DEVICE_SIM_MEMORY_H
#define DEVICE_SIM_MEMORY_H

#include <pthread.h>

#include "base/list.h"
#include "tensor/buffer.h"

typedef struct weir_sim_gap {
    size_t offset, size;
} weir_sim_gap;

typedef struct weir_sim_memory {
    weir_allocator allocator; /* first */
    char *addresses;          /* what programs see; no access */
    char *bytes;              /* what the stream's thread works on */
    size_t size;              /* of the range */
    size_t limit;             /* bytes that may be in use at once */
    size_t used;
    char name[64]; /* for messages */
    pthread_mutex_t mutex;
    WEIR_LIST(weir_sim_gap) gaps; /* free, sorted by offset, none touching another */
} weir_sim_memory;

/* limit: bytes. */
WEIR_WARN_UNUSED weir_status weir_sim_memory_init(weir_sim_memory *memory, size_t limit, const char *name);
void weir_sim_memory_clear(weir_sim_memory *memory);

/* The bytes behind size bytes of device memory, or NULL when they are not all in the device's range. */
void *weir_sim_memory_reach(const weir_sim_memory *memory, const void *address, size_t size);

#endif
