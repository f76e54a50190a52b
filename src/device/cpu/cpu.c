/*
 * CPU devices. With several, each has its share of the cores.
 */
#include "device/cpu/cpu.h"

#include <string.h>

#include "base/memory.h"

/* What TensorFlow reports for a CPU, whatever the machine has. */
#define REPORTED_MEMORY 268435456

static int device_count(const weir_device_options *options)
{
    return options->cpu_devices > 0 ? options->cpu_devices : 1;
}

static weir_status count_cpus(const weir_device_options *options, int *count, char why[256])
{
    why[0] = '\0';
    if (options->cpu_devices < 0 || options->cpu_devices > 256)
        return weir_fail(WEIR_INVALID_ARGUMENT, "cpu_devices is %d: 0 to 256 are possible", options->cpu_devices);
    if (options->threads < 0 || options->threads > 1024)
        return weir_fail(WEIR_INVALID_ARGUMENT, "threads is %d: 0 to 1024 are possible", options->threads);
    *count = device_count(options);
    return WEIR_STATUS_OK;
}

static int team_size(const weir_device_options *options)
{
    if (options->threads > 0)
        return options->threads;
    int share = weir_cores() / device_count(options);
    return share > 0 ? share : 1;
}

static weir_status open_cpu(const weir_device_options *options, int index, weir_device **out)
{
    (void)index;
    weir_device *device = NULL;
    WEIR_TRY(weir_new(&device, 1));
    device->driver = &weir_cpu_driver;
    device->type = "CPU";
    device->memory_limit = REPORTED_MEMORY;
    device->incarnation = weir_random_incarnation();
    device->allocator = weir_host_allocator();
    device->is_host = true;
    weir_status status = weir_team_new(team_size(options), &device->team);
    if (weir_ok(status))
        *out = device;
    else
        weir_release(device);
    return status;
}

static void close_cpu(weir_device *device)
{
    weir_team_free(device->team);
    weir_release(device);
}

const weir_device_driver weir_cpu_driver = {
    .name = "cpu",
    .type = "CPU",
    .count = count_cpus,
    .open = open_cpu,
    .close = close_cpu,
};
