/*
 * The table of device drivers, and opening the devices of a session.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/device.h"
#include "device/sim/sim.h"

const weir_device_driver *const weir_device_drivers[] = {&weir_cpu_driver, &weir_sim_driver, NULL};

uint64_t weir_random_incarnation(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        number = (uint64_t)time(NULL) * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid();
    return number != 0 ? number : 1;
}

/* The number in a one-line file, or -1 ("max" reads as none). */
static int64_t read_number(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    long long number = -1;
    if (fscanf(file, "%lld", &number) != 1)
        number = -1;
    fclose(file);
    return number;
}

int64_t weir_host_memory_limit(void)
{
    int64_t limit = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    static const char *const paths[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int64_t number = read_number(paths[i]);
        if (number > 0 && number < limit)
            limit = number;
    }
    return limit;
}

static weir_status open_driver(const weir_device_driver *driver, const weir_device_options *options, const char *job,
                               int task, weir_device_set *set, int first_id)
{
    int count = 0;
    char why[256] = "";
    WEIR_TRY(driver->count(options, &count, why));
    for (int i = 0; i < count; i++) {
        weir_device **grown = weir_reallocate(set->items, (size_t)set->count + 1, sizeof *grown);
        if (grown == NULL)
            return weir_fail_memory(sizeof *grown);
        set->items = grown;
        weir_device *device = NULL;
        WEIR_TRY(driver->open(options, i, &device));
        device->id = first_id + i;
        snprintf(device->name, sizeof device->name, "/job:%s/replica:0/task:%d/device:%s:%d", job, task, device->type,
                 device->id);
        set->items[set->count++] = device;
    }
    return WEIR_STATUS_OK;
}

static int count_type(const weir_device_set *set, const char *type)
{
    int count = 0;
    for (int i = 0; i < set->count; i++)
        count += strcmp(set->items[i]->type, type) == 0;
    return count;
}

weir_status weir_devices_open(const weir_device_options *options, const char *job, int task, weir_device_set *out)
{
    weir_device_set set = {0};
    for (const weir_device_driver *const *driver = weir_device_drivers; *driver != NULL; driver++) {
        weir_status status = open_driver(*driver, options, job, task, &set, count_type(&set, (*driver)->type));
        if (!weir_ok(status)) {
            weir_devices_close(&set);
            return status;
        }
    }
    *out = set;
    return WEIR_STATUS_OK;
}

void weir_devices_close(weir_device_set *devices)
{
    for (int i = 0; i < devices->count; i++)
        devices->items[i]->driver->close(devices->items[i]);
    weir_release(devices->items);
    *devices = (weir_device_set){0};
}
