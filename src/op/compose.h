/*
 * Blocks of graph that builders and gradients put together: nodes by op name, a number as an operand, and TensorFlow's
 * ways to write shapes, zeros and ones. Names and node types are those that TensorFlow's wrappers make, so that graphs
 * built here look like its graphs. All take null outputs and failed scopes, and then return the null output.
 */
#ifndef OP_COMPOSE_H
#define OP_COMPOSE_H

#include <weir/ops.h>

#include "graph/graph.h"

/* The caller's name, or otherwise. options may be NULL. */
static inline const char *weir_option_name(const weir_name_options *options, const char *otherwise)
{
    return options != NULL && options->name != NULL ? options->name : otherwise;
}

/* Output 0 of a node without attributes of its own. */
weir_output weir_build_unary(weir_scope s, const char *op, const char *name, weir_output x);
weir_output weir_build_binary(weir_scope s, const char *op, const char *name, weir_output x, weir_output y);

/* The same with a number on the right or left, a Const "<name>/y" or "<name>/x" of the other operand's type. */
weir_output weir_build_with_number(weir_scope s, const char *op, const char *name, weir_output x, double y);
weir_output weir_build_number_with(weir_scope s, const char *op, const char *name, double x, weir_output y);

/* A scalar of the type. */
weir_output weir_build_number(weir_scope s, weir_dtype dtype, double value, const char *name);

/* A vector of int32. */
weir_output weir_build_int32s(weir_scope s, const int *values, int count, const char *name);

/* tf.shape, tf.rank and tf.size: a Const where the shape is known enough. int32. */
weir_output weir_build_shape(weir_scope s, weir_output x);
weir_output weir_build_rank(weir_scope s, weir_output x);
weir_output weir_build_size(weir_scope s, weir_output x);

/* tf.zeros of a known shape: a Const, or Fill from 1000 elements on. */
weir_output weir_build_zeros(weir_scope s, weir_dtype dtype, weir_shape shape, const char *name);

/* A python slice of a vector: [begin:end], or [begin:] with end 0; "strided_slice". */
weir_output weir_build_part(weir_scope s, weir_output vector, int begin, int end);

/* The complex conjugate; x itself for real types. */
weir_output weir_build_conjugate(weir_scope s, weir_output x);

/* The gradient's own input and output 0, and the dense gradient of output 0. */
static inline weir_output weir_gradient_x0(const weir_gradient *gradient)
{
    return weir_gradient_x(gradient, 0);
}

static inline weir_output weir_gradient_y0(const weir_gradient *gradient)
{
    return weir_gradient_y(gradient, 0);
}

/* Where what is built waits for the gradient that came in, as TensorFlow does where something could start too early. */
static inline weir_scope weir_gradient_after(const weir_gradient *gradient)
{
    return weir_after(gradient->scope, gradient->dy[0].node);
}

/* Sums gx and gy over the axes along which x and y were broadcast, and gives them their shapes: Shape, Shape_1,
 * BroadcastGradientArgs, Sum, Reshape, Sum_1, Reshape_1, less what static shapes make superfluous. gy may be null. */
void weir_build_unbroadcast(weir_scope s, weir_output x, weir_output y, weir_output *gx, weir_output *gy);

/* The shape of x with the axes that an output holds set to 1; false unless both are known now. */
bool weir_static_kept_shape(weir_output x, weir_output axes, weir_shape *out);

/* The same worked out when it runs, from the node of the shape. */
weir_output weir_build_kept_shape(weir_scope s, weir_output shape, weir_output axes);

/* Axes as positive int32 numbers: (axes + rank) mod rank. */
weir_output weir_build_positive_axes(weir_scope s, weir_output axes, weir_output rank);

/* Range(0, limit, 1): "range". */
weir_output weir_build_range(weir_scope s, weir_output limit);

#endif
