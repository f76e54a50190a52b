/*
 * The product for every type but float, in plain loops: right, not fast. Also float's, as a reference for tests.
 */
#ifndef KERNEL_CPU_MATMUL_GENERIC_H
#define KERNEL_CPU_MATMUL_GENERIC_H

#include "kernel/cpu/matmul.h"

/* Rows first_row .. last_row - 1 of one product of the plan's batch. */
void weir_matmul_generic(const weir_matmul_options *options, int64_t first_row, int64_t last_row, const void *a,
                         const void *b, const void *bias, void *c);

#endif
