/*
 * Gradients of the reductions of reduce.c.
 */
#ifndef OP_REDUCE_GRADIENT_H
#define OP_REDUCE_GRADIENT_H

#include "graph/op_def.h"

weir_status weir_sum_gradient(weir_gradient *gradient);
weir_status weir_mean_gradient(weir_gradient *gradient);
weir_status weir_prod_gradient(weir_gradient *gradient);
weir_status weir_extreme_gradient(weir_gradient *gradient); /* Max and Min */
weir_status weir_arg_gradient(weir_gradient *gradient);     /* none flows */
weir_status weir_l2_loss_gradient(weir_gradient *gradient);
weir_status weir_cumsum_gradient(weir_gradient *gradient);
weir_status weir_cumprod_gradient(weir_gradient *gradient);
weir_status weir_unsorted_segment_sum_gradient(weir_gradient *gradient);

#endif
