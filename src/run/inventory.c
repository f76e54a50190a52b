/*
 * What this build and this machine have: drivers and libraries.
 */
#include <stdio.h>
#include <zlib.h>

#include "run/session.h"

weir_status weir_list_drivers(const weir_session_options *options, weir_driver_info *drivers, int capacity, int *count)
{
    static const weir_session_options defaults = {.size = sizeof defaults};
    weir_device_options wanted;
    WEIR_TRY(weir_session_device_options(options != NULL ? options : &defaults, &wanted));
    *count = 0;
    for (const weir_device_driver *const *driver = weir_device_drivers; *driver != NULL; driver++) {
        weir_driver_info info = {0};
        snprintf(info.name, sizeof info.name, "%s", (*driver)->name);
        snprintf(info.type, sizeof info.type, "%s", (*driver)->type);
        WEIR_TRY((*driver)->count(&wanted, &info.num_devices, info.why));
        if (*count < capacity)
            drivers[*count] = info;
        ++*count;
    }
    return WEIR_STATUS_OK;
}

int weir_list_libraries(weir_library_info *libraries, int capacity)
{
    weir_library_info known[] = {
        {.name = "zlib", .is_present = true},
        {.name = "ISA-L", .is_present = true, .note = "CRC-32C of checkpoints"},
        {.name = "protobuf-c", .is_present = true, .note = "graphs, checkpoints, run metadata"},
    };
    snprintf(known[0].note, sizeof known[0].note, "%s, compressed data sets", zlibVersion());
    int count = (int)(sizeof known / sizeof known[0]);
    for (int i = 0; i < count && i < capacity; i++)
        libraries[i] = known[i];
    return count;
}
