/*
 * Values that are known while a graph is built: constants, and the small integer arithmetic on shapes that graphs hold.
 */
#ifndef GRAPH_INFER_VALUE_H
#define GRAPH_INFER_VALUE_H

#include "graph/graph.h"

/* The value of an output as a tensor (owned), or NULL when it is not known now. */
weir_tensor *weir_static_value(weir_output output);

/* An output that holds a shape (an integer vector): the shape it holds, as far as known. */
weir_shape weir_static_shape_value(weir_output output);

#endif
