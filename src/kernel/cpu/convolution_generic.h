/*
 * Convolutions in plain loops for every type and shape: right, not fast. Also float's, as a reference for tests.
 */
#ifndef KERNEL_CPU_CONVOLUTION_GENERIC_H
#define KERNEL_CPU_CONVOLUTION_GENERIC_H

#include "kernel/cpu/convolution.h"

/* Blocks that the direction's work falls into: image rows of the result, or rows of the filter (out channels long). */
int64_t weir_convolution_generic_blocks(const weir_convolution_options *options);

/* One of these blocks. */
void weir_convolution_generic(const weir_convolution_options *options, int64_t block, const void *first,
                              const void *second, const void *bias, void *out);

#endif
