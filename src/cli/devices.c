/*
 * weir devices: what a session on this machine would have.
 */
#include <inttypes.h>
#include <stdio.h>

#include <weir/flags.h>
#include <weir/session.h>

#include "command.h"

#define MOST_DEVICES 128

static struct {
    int64_t cpu_devices;
    int64_t sim_gpus;
} flags;

weir_status command_devices(int argc, char **argv)
{
    static const weir_flag table[] = {
        WEIR_FLAG_HEADING("Lists the devices of this machine, and why a driver has none."),
        WEIR_FLAG_INTEGER_IN("cpu_devices", &flags.cpu_devices, 0, 256, "CPU devices to cut the cores into (0: one)"),
        WEIR_FLAG_INTEGER_IN("sim_gpus", &flags.sim_gpus, 0, 64,
                             "simulated GPUs (0: as WEIR_SIM_GPUS says, else none)"),
        WEIR_FLAGS_END,
    };
    bool help_asked = false;
    WEIR_TRY(weir_flags_parse(table, &argc, argv, stdout, &help_asked));
    if (help_asked)
        return WEIR_STATUS_OK;
    if (argc > 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "'%s' is one word too many", argv[1]);
    static weir_device_info devices[MOST_DEVICES];
    int count = 0;
    weir_session_options options = {.cpu_devices = (int)flags.cpu_devices, .sim_gpus = (int)flags.sim_gpus};
    WEIR_TRY(weir_list_devices(&options, devices, MOST_DEVICES, &count));
    for (int i = 0; i < count && i < MOST_DEVICES; i++) {
        printf("%s  memory %" PRId64 " bytes", devices[i].name, devices[i].memory_limit);
        if (devices[i].threads > 1)
            printf("  %d threads", devices[i].threads);
        if (devices[i].description[0] != '\0')
            printf("  %s", devices[i].description);
        printf("\n");
    }
    static weir_driver_info drivers[16];
    int num_drivers = 0;
    WEIR_TRY(weir_list_drivers(&options, drivers, 16, &num_drivers));
    for (int i = 0; i < num_drivers && i < 16; i++) {
        if (drivers[i].num_devices == 0)
            printf("driver %s (%s): no device: %s\n", drivers[i].name, drivers[i].type, drivers[i].why);
    }
    return WEIR_STATUS_OK;
}
