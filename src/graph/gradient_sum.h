/*
 * Sums of the gradients that arrive for one output.
 */
#ifndef GRAPH_GRADIENT_SUM_H
#define GRAPH_GRADIENT_SUM_H

#include "graph/graph.h"

/* Gradients of one output in order of arrival. */
typedef struct weir_gradient_list {
    weir_gradient_value *items;
    int count;
    int capacity;
} weir_gradient_list;

/* Appends one; the array lives in the arena. */
WEIR_WARN_UNUSED weir_status weir_gradient_list_add(weir_arena *arena, weir_gradient_list *list,
                                                    weir_gradient_value value);

/* All of them as one, made in the scope; none when there are none. Dense ones are added per requested device first and then
 * over the devices in order of their names; rows alone are put one after another; rows among dense ones become dense.
 * INVALID_ARGUMENT and the like stick to the graph. arena: for work. */
WEIR_WARN_UNUSED weir_status weir_gradient_list_sum(weir_scope scope, weir_arena *arena, const weir_gradient_list *list,
                                                    weir_gradient_value *sum);

/* True for types that gradients flow through (TensorFlow's "trainable" types). */
bool weir_dtype_has_gradient(weir_dtype dtype);

#endif
