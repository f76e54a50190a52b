/*
 * The kernel tables of the mathematical families: each stands in a file of its own beside the family's schemas, because
 * the headers of kernels and of builders share names.
 */
#ifndef OP_KERNELS_H
#define OP_KERNELS_H

#include "exec/kernel.h"

extern const weir_kernel weir_kernel_table_unary[];
extern const weir_kernel weir_kernel_table_binary[];
extern const weir_kernel weir_kernel_table_select[];
extern const weir_kernel weir_kernel_table_reduce[];
extern const weir_kernel weir_kernel_table_matmul[];
extern const weir_kernel weir_kernel_table_softmax[];
extern const weir_kernel weir_kernel_table_random[];
extern const weir_kernel weir_kernel_table_fill[];

#endif
