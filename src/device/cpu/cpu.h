/*
 * The CPU as a device: host memory, and a team of threads.
 */
#ifndef DEVICE_CPU_CPU_H
#define DEVICE_CPU_CPU_H

#include "device/device.h"

extern const weir_device_driver weir_cpu_driver;

#endif
