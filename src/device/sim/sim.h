/*
 * Simulated accelerators: "/gpu:0" ... on the CPU, with memory of their own that the host cannot touch, a limit on it, and
 * asynchronous streams. They keep the device interface honest in every test run, and let people write programs for several
 * GPUs on a laptop.
 */
#ifndef DEVICE_SIM_SIM_H
#define DEVICE_SIM_SIM_H

#include "device/device.h"

extern const weir_device_driver weir_sim_driver;

#endif
