/*
 * Tensors and shapes to and from their messages.
 *
 * Resource tensors are not handled here: a resource_handle_val means something only to whoever owns the resources.
 * A variant element is kept as the bytes of its VariantTensorDataProto.
 */
#ifndef FORMAT_TENSOR_PROTO_H
#define FORMAT_TENSOR_PROTO_H

#include <weir/tensor.h>

#include "base/arena.h"
#include "proto/tensor.pb-c.h"

/* The shape of a message; NULL is a scalar, as in TensorFlow. INVALID_ARGUMENT for a dimension below -1, UNIMPLEMENTED
 * for more than WEIR_MAX_RANK dimensions. */
WEIR_WARN_UNUSED weir_status weir_shape_from_proto(const Weir__TensorShapeProto *proto, weir_shape *out);

WEIR_WARN_UNUSED weir_status weir_shape_to_proto(const weir_shape *shape, weir_arena *arena,
                                                 Weir__TensorShapeProto **out);

/* The tensor of a message. INVALID_ARGUMENT "Cannot parse tensor from proto: ..." says what does not fit;
 * UNIMPLEMENTED for resources. Returns owned. */
WEIR_WARN_UNUSED weir_status weir_tensor_from_proto(const Weir__TensorProto *proto, weir_tensor **out);

/* How elements are written. */
typedef enum weir_proto_form {
    WEIR_PROTO_CONTENT, /* always as tensor_content, as in remote calls */
    WEIR_PROTO_CONST,   /* as TensorFlow's Python writes the value of a Const: see below */
} weir_proto_form;

/* The message of a tensor in the arena, which must outlive it; in the form WEIR_PROTO_CONTENT it borrows the elements
 * of plain types, so that the tensor must outlive it too.
 *
 * WEIR_PROTO_CONST: tensor_content for numbers (not bool, uint16, complex) with more than one element, else the value
 * field of the type. */
WEIR_WARN_UNUSED weir_status weir_tensor_to_proto(const weir_tensor *tensor, weir_proto_form form, weir_arena *arena,
                                                  Weir__TensorProto **out);

/* Reverses the bytes of every number in count elements of a plain type (complex: of each part). */
void weir_elements_swap(weir_dtype dtype, void *elements, int64_t count);

/* True where memory holds the least significant byte first, as files do. */
#define WEIR_HOST_IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

#endif
