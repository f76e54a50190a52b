/*
 * What the schema files of the array and network families share beyond op/compose.h: texts of shape rules, and pieces of
 * graph for gradients and builders under the names that TensorFlow's wrappers give them.
 */
#ifndef OP_ARRAY_PIECES_H
#define OP_ARRAY_PIECES_H

#include "op/compose.h"

extern const weir_dtype weir_types_index[]; /* int32, int64 */

/* ---- Shape rules ---- */

WEIR_WARN_UNUSED weir_status weir_infer_rank_at_least(weir_shape shape, int rank);
WEIR_WARN_UNUSED weir_status weir_infer_rank_at_most(weir_shape shape, int rank);

/* The common value of two dimensions. */
WEIR_WARN_UNUSED weir_status weir_infer_dim(int64_t a, int64_t b, int64_t *out);

/* rank unknown dimensions; the unknown shape for a rank that is none. */
weir_shape weir_shape_of_rank(int64_t rank);

/* Adds an axis at the end; the unknown shape where there are too many. */
void weir_infer_push(weir_shape *shape, int64_t dim);

/* The shape that an input (a vector) holds: known dimensions, unknown ones (-1 and what is not known yet), or nothing. */
WEIR_WARN_UNUSED weir_status weir_infer_shape_input(const weir_infer *infer, int index, weir_shape *out);

/* The elements of a constant integer input, at most limit; false when they are not known. */
bool weir_infer_ints(const weir_infer *infer, int index, int64_t *values, int limit, int64_t *count);

/* ---- Pieces of graph ---- */

/* Constants of type int32 or int64. */
weir_output weir_build_int(weir_scope s, weir_dtype dtype, int64_t value, const char *name);
weir_output weir_build_ints(weir_scope s, weir_dtype dtype, const int64_t *values, int count, const char *name);

/* tf.shape of type int32 or int64: a Const where the shape is known. */
weir_output weir_build_shape_as(weir_scope s, weir_output x, weir_dtype dtype);

/* The op "<name>" of x and a constant "<name>/<argument>". */
weir_output weir_build_with_int(weir_scope s, const char *op, const char *name, weir_output x, const char *argument,
                                int64_t value);
weir_output weir_build_with_ints(weir_scope s, const char *op, const char *name, weir_output x, const char *argument,
                                 weir_dtype dtype, const int64_t *values, int count);

/* tf.reshape(x, [-1]). */
weir_output weir_build_flat(weir_scope s, weir_output x);

/* vector[index], as a scalar. */
weir_output weir_build_element(weir_scope s, weir_output vector, int64_t index);

/* tf.stack([x, number]) of scalars: Const "stack/1" and Pack "stack". */
weir_output weir_build_pair(weir_scope s, const char *name, weir_output x, int64_t number);

/* tf.concat along an axis that a node holds: ConcatV2 "concat"; of one part: Identity "concat/concat". */
weir_output weir_build_concat(weir_scope s, const weir_output *parts, int count, weir_output axis);

/* True for types that gradients flow through. */
bool weir_dtype_is_trainable(weir_dtype dtype);

/* The value of an output that is one integer known while building; false when it is not. */
bool weir_static_int(weir_output output, int64_t *value);

#endif
