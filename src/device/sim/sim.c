/*
 * A simulated accelerator: one thread that carries out the commands of its stream in order. Kernels are those of the CPU,
 * given the bytes behind the device's addresses; a kernel that is given host memory where it should not be fails.
 */
#include "device/sim/sim.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "device/sim/memory.h"

#define DEFAULT_MEMORY ((int64_t)1 << 30)
#define MOST_DEVICES 64
#define MOST_PENDING 1024 /* commands in a stream before launch waits */

typedef enum command_kind { COMMAND_LAUNCH, COMMAND_COPY, COMMAND_NOTIFY } command_kind;

typedef struct command {
    struct command *next;
    command_kind kind;
    weir_batch *batch; /* NULL: none */
    weir_launch launch;
    int capacity; /* arguments there is room for */
    weir_copy direction;
    void *destination;
    const void *source;
    size_t size;
    void (*done)(void *context);
    void *context;
    void *arguments[];
} command;

typedef struct sim_device {
    weir_device device; /* first */
    weir_sim_memory memory;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* something came, went, or the device closes */
    command *first, *last;
    command *spare; /* used commands, so that a steady stream allocates nothing */
    int pending;
    bool closes;
    unsigned delay_us; /* longest random delay before a command */
    unsigned random;
} sim_device;

/* ---- Carrying out ---- */

static void fail_batch(weir_batch *batch, weir_status status)
{
    if (weir_ok(status) || batch == NULL || atomic_load(&batch->has_failed))
        return;
    weir_error_set(&batch->error, status);
    atomic_store(&batch->has_failed, true);
}

static weir_status reach_arguments(const sim_device *sim, command *at)
{
    for (int i = 0; i < at->launch.num_arguments; i++) {
        bool in_host = i < 64 && (at->launch.host_arguments >> i & 1) != 0;
        void *reached = weir_sim_memory_reach(&sim->memory, at->arguments[i], 0);
        if (reached != NULL && !in_host)
            at->arguments[i] = reached;
        else if (reached != NULL)
            return weir_fail(WEIR_INTERNAL,
                             "Argument %d of a kernel on %s is device memory where host memory is expected", i,
                             sim->device.name);
        else if (!in_host && i < 64 && at->arguments[i] != NULL)
            return weir_fail(WEIR_INTERNAL, "Argument %d of a kernel on %s is host memory", i, sim->device.name);
    }
    return WEIR_STATUS_OK;
}

static weir_status launch_now(const sim_device *sim, command *at)
{
    weir_status status = reach_arguments(sim, at);
    if (weir_ok(status))
        status = at->launch.run(at->launch.state, at->arguments, at->launch.context);
    return weir_fail_in(status, "node '%s' on %s", at->launch.name, sim->device.name);
}

static weir_status copy_now(const sim_device *sim, weir_copy direction, void *destination, const void *source,
                            size_t size)
{
    bool to_device = direction != WEIR_COPY_TO_HOST;
    bool from_device = direction != WEIR_COPY_TO_DEVICE;
    void *to = to_device ? weir_sim_memory_reach(&sim->memory, destination, size) : destination;
    const void *from = from_device ? weir_sim_memory_reach(&sim->memory, source, size) : source;
    if (size == 0)
        return WEIR_STATUS_OK;
    if (to == NULL || from == NULL)
        return weir_fail(WEIR_INTERNAL, "A copy of %zu bytes leaves the memory of %s", size, sim->device.name);
    memmove(to, from, size);
    return WEIR_STATUS_OK;
}

static void carry_out(sim_device *sim, command *at)
{
    bool is_skipped = at->batch != NULL && atomic_load(&at->batch->has_failed);
    if (sim->delay_us > 0)
        usleep((unsigned)rand_r(&sim->random) % (sim->delay_us + 1));
    if (at->kind == COMMAND_NOTIFY)
        at->done(at->context);
    else if (!is_skipped && at->kind == COMMAND_LAUNCH)
        fail_batch(at->batch, launch_now(sim, at));
    else if (!is_skipped)
        fail_batch(at->batch, copy_now(sim, at->direction, at->destination, at->source, at->size));
}

static void *work(void *context)
{
    sim_device *sim = context;
    pthread_mutex_lock(&sim->mutex);
    for (;;) {
        while (sim->first == NULL && !sim->closes)
            pthread_cond_wait(&sim->changed, &sim->mutex);
        command *at = sim->first;
        if (at == NULL)
            break;
        pthread_mutex_unlock(&sim->mutex);
        carry_out(sim, at);
        pthread_mutex_lock(&sim->mutex);
        sim->first = at->next;
        if (sim->first == NULL)
            sim->last = NULL;
        at->next = sim->spare;
        sim->spare = at;
        sim->pending--;
        pthread_cond_broadcast(&sim->changed);
    }
    pthread_mutex_unlock(&sim->mutex);
    return NULL;
}

/* ---- Appending ---- */

/* A used command with room for the arguments, or a new one; with the mutex held. */
static command *take_command(sim_device *sim, int num_arguments)
{
    for (command **at = &sim->spare; *at != NULL; at = &(*at)->next) {
        if ((*at)->capacity < num_arguments)
            continue;
        command *taken = *at;
        *at = taken->next;
        return taken;
    }
    int capacity = num_arguments < 16 ? 16 : num_arguments;
    command *made = weir_allocate(1, sizeof *made + (size_t)capacity * sizeof(void *));
    if (made != NULL)
        made->capacity = capacity;
    return made;
}

static bool is_own_thread(const sim_device *sim)
{
    return pthread_equal(sim->thread, pthread_self()) != 0;
}

static weir_status append(sim_device *sim, const command *wanted)
{
    int num_arguments = wanted->kind == COMMAND_LAUNCH ? wanted->launch.num_arguments : 0;
    pthread_mutex_lock(&sim->mutex);
    while (sim->pending >= MOST_PENDING && !is_own_thread(sim))
        pthread_cond_wait(&sim->changed, &sim->mutex);
    command *made = take_command(sim, num_arguments);
    if (made != NULL) {
        int capacity = made->capacity;
        *made = *wanted;
        made->capacity = capacity;
        made->next = NULL;
        if (num_arguments > 0)
            memcpy(made->arguments, wanted->launch.arguments, (size_t)num_arguments * sizeof(void *));
        if (sim->last != NULL)
            sim->last->next = made;
        else
            sim->first = made;
        sim->last = made;
        sim->pending++;
        pthread_cond_broadcast(&sim->changed);
    }
    pthread_mutex_unlock(&sim->mutex);
    return made != NULL ? WEIR_STATUS_OK : weir_fail_memory(sizeof *made);
}

static weir_status launch(weir_device *device, weir_batch *batch, const weir_launch *call)
{
    return append((sim_device *)device, &(command){.kind = COMMAND_LAUNCH, .batch = batch, .launch = *call});
}

static weir_status copy(weir_device *device, weir_batch *batch, weir_copy direction, void *destination,
                        const void *source, size_t size)
{
    sim_device *sim = (sim_device *)device;
    if (batch == NULL)
        return copy_now(sim, direction, destination, source, size);
    return append(sim, &(command){.kind = COMMAND_COPY,
                                  .batch = batch,
                                  .direction = direction,
                                  .destination = destination,
                                  .source = source,
                                  .size = size});
}

static weir_status notify(weir_device *device, void (*done)(void *context), void *context)
{
    return append((sim_device *)device, &(command){.kind = COMMAND_NOTIFY, .done = done, .context = context});
}

/* ---- Devices ---- */

/* The devices that a list such as "1,0" or CUDA_VISIBLE_DEVICES leaves, as numbers of the sim_gpus there are. */
static weir_status visible(const weir_device_options *options, int numbers[MOST_DEVICES], int *count)
{
    const char *list =
        options->visible_device_list != NULL ? options->visible_device_list : getenv("CUDA_VISIBLE_DEVICES");
    *count = 0;
    if (list == NULL) {
        for (int i = 0; i < options->sim_gpus; i++)
            numbers[(*count)++] = i;
        return WEIR_STATUS_OK;
    }
    for (const char *at = list; *at != '\0';) {
        char *end = NULL;
        long number = strtol(at, &end, 10);
        bool is_number = end != at && (*end == ',' || *end == '\0');
        if (options->visible_device_list == NULL && (!is_number || number < 0 || number >= options->sim_gpus))
            return WEIR_STATUS_OK; /* as CUDA: the first bad entry ends the list */
        if (!is_number || number < 0 || number >= options->sim_gpus)
            return weir_fail(WEIR_INVALID_ARGUMENT, "visible_device_list '%s': '%s' is no device from 0 to %d", list,
                             at, options->sim_gpus - 1);
        for (int i = 0; i < *count; i++) {
            if (numbers[i] == (int)number)
                return weir_fail(WEIR_INVALID_ARGUMENT, "visible_device_list '%s' names device %ld twice", list,
                                 number);
        }
        numbers[(*count)++] = (int)number;
        at = *end == ',' ? end + 1 : end;
    }
    return WEIR_STATUS_OK;
}

static weir_status count_devices(const weir_device_options *options, int *count, char why[256])
{
    why[0] = '\0';
    if (options->sim_gpus < 0 || options->sim_gpus > MOST_DEVICES)
        return weir_fail(WEIR_INVALID_ARGUMENT, "sim_gpus is %d: 0 to %d are possible", options->sim_gpus,
                         MOST_DEVICES);
    int numbers[MOST_DEVICES];
    WEIR_TRY(visible(options, numbers, count));
    if (*count == 0)
        snprintf(why, 256, "%s",
                 options->sim_gpus == 0 ? "none is asked for (sim_gpus or WEIR_SIM_GPUS)"
                                        : "CUDA_VISIBLE_DEVICES hides them");
    return WEIR_STATUS_OK;
}

static int64_t memory_limit(const weir_device_options *options)
{
    int64_t bytes = options->sim_memory_bytes > 0 ? options->sim_memory_bytes : DEFAULT_MEMORY;
    if (options->memory_fraction > 0)
        bytes = (int64_t)((double)bytes * options->memory_fraction);
    return bytes;
}

static weir_status start_thread(sim_device *sim)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&sim->thread, NULL, work, sim);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure != 0)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "The thread of a simulated GPU cannot be started: %s",
                         strerror(failure));
    return WEIR_STATUS_OK;
}

static weir_status open_device(const weir_device_options *options, int index, weir_device **out)
{
    int numbers[MOST_DEVICES];
    int count = 0;
    WEIR_TRY(visible(options, numbers, &count));
    sim_device *sim = NULL;
    WEIR_TRY(weir_new(&sim, 1));
    sim->device.driver = &weir_sim_driver;
    sim->device.type = "GPU";
    sim->device.memory_limit = memory_limit(options);
    sim->device.incarnation = weir_random_incarnation();
    sim->device.allocator = &sim->memory.allocator;
    snprintf(sim->device.description, sizeof sim->device.description,
             "device: %d, name: Weir simulated accelerator, pci bus id: sim:%d", index, numbers[index]);
    sim->delay_us = (unsigned)(options->sim_delay_us > 0 ? options->sim_delay_us : 0);
    sim->random = (unsigned)sim->device.incarnation;
    pthread_mutex_init(&sim->mutex, NULL);
    pthread_cond_init(&sim->changed, NULL);
    char name[64];
    snprintf(name, sizeof name, "/device:GPU:%d", index);
    weir_status status = weir_sim_memory_init(&sim->memory, (size_t)sim->device.memory_limit, name);
    if (weir_ok(status)) {
        status = start_thread(sim);
        if (!weir_ok(status))
            weir_sim_memory_clear(&sim->memory);
    }
    if (weir_ok(status))
        *out = &sim->device;
    else
        weir_release(sim);
    return status;
}

static void close_device(weir_device *device)
{
    sim_device *sim = (sim_device *)device;
    pthread_mutex_lock(&sim->mutex);
    sim->closes = true;
    pthread_cond_broadcast(&sim->changed);
    pthread_mutex_unlock(&sim->mutex);
    pthread_join(sim->thread, NULL);
    while (sim->spare != NULL) {
        command *next = sim->spare->next;
        weir_release(sim->spare);
        sim->spare = next;
    }
    weir_sim_memory_clear(&sim->memory);
    pthread_cond_destroy(&sim->changed);
    pthread_mutex_destroy(&sim->mutex);
    weir_release(sim);
}

const weir_device_driver weir_sim_driver = {
    .name = "sim",
    .type = "GPU",
    .count = count_devices,
    .open = open_device,
    .close = close_device,
    .launch = launch,
    .copy = copy,
    .notify = notify,
};
