/*
 * The device interface. A device has memory of its own and computes in one order, its stream's. The CPU's memory is the
 * host's, and its stream is whatever thread walks its part of a run; an accelerator's stream is asynchronous.
 *
 * Adding a device: one folder with a driver, one line in the table of device/registry.c.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/team.h"
#include "tensor/buffer.h"

struct weir_context;

/* What a session asks of its devices; zero means the default. */
typedef struct weir_device_options {
    int threads;
    int cpu_devices;
    int sim_gpus;
    int64_t sim_memory_bytes;
    int sim_delay_us;
    double memory_fraction;
    bool allow_growth;
    const char *visible_device_list;
} weir_device_options;

typedef struct weir_device {
    const struct weir_device_driver *driver;
    char name[192];            /* "/job:localhost/replica:0/task:0/device:CPU:0" */
    const char *type;          /* "CPU", "GPU" */
    int id;                    /* number among those of its type */
    int64_t memory_limit;      /* bytes */
    char description[256];     /* physical device; "" for a CPU */
    uint64_t incarnation;      /* random, not zero */
    weir_allocator *allocator; /* its memory */
    weir_team *team;           /* CPU: its threads; accelerators: NULL */
    bool is_host;              /* memory is the host's, and kernels run in the thread that walks */
} weir_device;

/* Commands of one run on one stream share a batch: after a failure the rest of the batch is skipped. */
typedef struct weir_batch {
    _Atomic bool has_failed;
    weir_error error; /* written by the stream's thread before has_failed is set */
} weir_batch;

/* One kernel call. arguments are addresses as exec/kernel.h says; those in host_arguments (bit i) are the host's, the
 * others are device memory. */
typedef struct weir_launch {
    weir_status (*run)(const void *state, void *const *arguments, struct weir_context *context);
    const void *state;
    void *const *arguments;
    int num_arguments;
    uint64_t host_arguments;
    struct weir_context *context; /* outlives the command */
    const char *name;             /* of the node, for messages; lives as long as the session's graph */
} weir_launch;

typedef enum weir_copy { WEIR_COPY_TO_DEVICE, WEIR_COPY_TO_HOST, WEIR_COPY_WITHIN } weir_copy;

/* All calls: any thread, unless said. Slots of stream commands are NULL for devices with is_host. */
typedef struct weir_device_driver {
    const char *name; /* "cpu", "sim": the folder */
    const char *type; /* "CPU", "GPU" */
    /* How many devices there are under these options; why (may be "") says why there are none. Does not allocate on
     * them. */
    weir_status (*count)(const weir_device_options *options, int *count, char why[256]);
    /* Opens device number index and fills in all but name and id. */
    weir_status (*open)(const weir_device_options *options, int index, weir_device **out);
    void (*close)(weir_device *device); /* no command is under way */
    /* Appends a kernel call to the stream; may block while the stream is full. The launch is copied. */
    weir_status (*launch)(weir_device *device, weir_batch *batch, const weir_launch *launch);
    /* Appends a copy. Host memory must stay valid until it is done. batch NULL: at once, returning when it is done. */
    weir_status (*copy)(weir_device *device, weir_batch *batch, weir_copy direction, void *destination,
                        const void *source, size_t size);
    /* Calls done(context) on the stream's thread when everything appended before is finished (also after failures). */
    weir_status (*notify)(weir_device *device, void (*done)(void *context), void *context);
} weir_device_driver;

/* The devices of a session: CPUs first, then other types, each in order of their numbers. */
typedef struct weir_device_set {
    weir_device **items;
    int count;
} weir_device_set;

/* Opens all devices under "/job:<job>/replica:0/task:<task>". */
WEIR_WARN_UNUSED weir_status weir_devices_open(const weir_device_options *options, const char *job, int task,
                                               weir_device_set *out);
void weir_devices_close(weir_device_set *devices);

extern const weir_device_driver *const weir_device_drivers[]; /* ends with NULL */

/* A random number that is not zero. */
uint64_t weir_random_incarnation(void);

/* Bytes of memory this process may use: physical memory, or the cgroup's limit. */
int64_t weir_host_memory_limit(void);

#endif
