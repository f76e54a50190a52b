/*
 * Gradients of the ops that route values; the ops themselves stand in control_flow.c.
 */
#ifndef OP_CONTROL_FLOW_H
#define OP_CONTROL_FLOW_H

#include "graph/op_def.h"

weir_status weir_gradient_of_passing(weir_gradient *gradient); /* dx = dy */
weir_status weir_gradient_of_nothing(weir_gradient *gradient); /* a function that gives none */
weir_status weir_gradient_of_switch(weir_gradient *gradient);
weir_status weir_gradient_of_merge(weir_gradient *gradient);
weir_status weir_gradient_of_loop(weir_gradient *gradient); /* of the ops that enter, repeat and leave a loop */

#endif
