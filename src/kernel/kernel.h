/*
 * What kernels have in common. A kernel is pure computation on arrays: no graph, no device, no allocation. It gets its
 * sizes as plain numbers, its scratch memory from the caller (asked for beforehand by the function named *_scratch), and a
 * team to share its blocks with. Blocks are cut from sizes alone, and partial sums are added in block order, so results
 * have the same bits with any team.
 */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/team.h"

#endif
