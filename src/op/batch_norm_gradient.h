/*
 * The gradient of FusedBatchNormGrad; see batch_norm_gradient.c.
 */
#ifndef OP_BATCH_NORM_GRADIENT_H
#define OP_BATCH_NORM_GRADIENT_H

#include "graph/op_def.h"

weir_status weir_batch_norm_second_gradient(weir_gradient *gradient);

#endif
