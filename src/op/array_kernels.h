/*
 * The kernel tables of the array and network families, each in a file of its own (*_kernels.c) beside the family's
 * schemas.
 */
#ifndef OP_ARRAY_KERNELS_H
#define OP_ARRAY_KERNELS_H

#include "exec/kernel.h"

extern const weir_kernel weir_array_shape_kernels[];
extern const weir_kernel weir_array_move_kernels[];
extern const weir_kernel weir_array_join_kernels[];
extern const weir_kernel weir_array_slice_kernels[];
extern const weir_kernel weir_array_gather_kernels[];
extern const weir_kernel weir_convolution_op_kernels[];
extern const weir_kernel weir_pooling_op_kernels[];
extern const weir_kernel weir_batch_norm_op_kernels[];

#endif
