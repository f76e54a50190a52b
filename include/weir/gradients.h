/*
 * Reverse-mode differentiation: adds to the graph the nodes that compute d(sum of ys)/dx for each x, by TensorFlow's
 * rules (names, aggregation with AddN, what stops a gradient). Layers and optimizers call it; programs rarely do.
 */
#ifndef WEIR_GRADIENTS_H
#define WEIR_GRADIENTS_H

#include <weir/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The gradient of one tensor: none (values.node NULL), dense (values alone), or rows of it: values[i] belongs to row
 * indices[i] of a tensor of dense_shape (TensorFlow's IndexedSlices). */
typedef struct weir_gradient_value {
    weir_output values;
    weir_output indices;
    weir_output dense_shape;
} weir_gradient_value;

typedef struct weir_gradients_options {
    size_t size;
    const char *name;           /* scope of the new nodes; NULL: "gradients" */
    const weir_output *grad_ys; /* one for each y, null entries allowed; NULL: ones */
    weir_node *const *stops;    /* no gradient flows through these */
    int num_stops;
    bool colocate; /* each gradient node is placed with its forward node */
    bool gate;     /* nobody uses one gradient of a node before all of them are there (GATE_OP) */
} weir_gradients_options;

/* Writes the gradient for each x; none where ys do not depend on it. options may be NULL. An op on the way whose gradient
 * is not registered is NOT_FOUND "No gradient defined for operation '...' (op type: ...)", sticky in the graph as all
 * errors of builders; then every gradient is none. */
WEIR_API void weir_gradients(weir_scope s, const weir_output *ys, int num_ys, const weir_output *xs, int num_xs,
                             const weir_gradients_options *options, weir_gradient_value *gradients);

/* The dense form of a gradient: rows that occur several times are added up. */
WEIR_API weir_output weir_gradient_dense(weir_scope s, weir_gradient_value gradient);

#ifdef __cplusplus
}
#endif

#endif
