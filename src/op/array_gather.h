/*
 * Gradients of Gather and GatherV2; see array_gather_gradient.c.
 */
#ifndef OP_ARRAY_GATHER_H
#define OP_ARRAY_GATHER_H

#include "graph/op_def.h"

weir_status weir_gather_gradient(weir_gradient *gradient);
weir_status weir_gather_v2_gradient(weir_gradient *gradient);

#endif
