/*
 * The inside of a tensor. Elements of strings, resources and variants are the structs below; they belong to the buffer,
 * so tensors that share one share them, and go with its last reference.
 */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include <stdatomic.h>

#include <weir/tensor.h>

#include "tensor/buffer.h"

/* One element of a string tensor. data ends with a zero beyond size; NULL when size is 0. */
typedef struct weir_string {
    char *data;
    size_t size;
} weir_string;

/* One element of a resource tensor: a counted object, see exec/resource.h. */
typedef struct weir_handle {
    struct weir_resource *resource; /* a reference is held; NULL: none */
    void (*unref)(struct weir_resource *resource);
    void (*ref)(struct weir_resource *resource); /* one more reference, for a copy of the element */
} weir_handle;

/* One element of a variant tensor: what a serialized VariantTensorDataProto holds. */
typedef weir_string weir_variant;

struct weir_tensor {
    atomic_int references;
    weir_dtype dtype; /* never a reference type */
    weir_shape shape; /* fully known */
    int64_t elements;
    size_t size_bytes; /* elements * element size in memory (weir_dtype_stride) */
    void *data;        /* into buffer */
    weir_buffer *buffer;
};

/* Bytes one element takes in memory, structs of strings and handles included. */
size_t weir_dtype_stride(weir_dtype dtype);

/* True for types whose elements own something (string, resource, variant). */
static inline bool weir_dtype_is_object(weir_dtype dtype)
{
    return dtype == WEIR_STRING || dtype == WEIR_RESOURCE || dtype == WEIR_VARIANT;
}

static inline bool weir_dtype_is_floating(weir_dtype dtype)
{
    return dtype == WEIR_FLOAT || dtype == WEIR_DOUBLE || dtype == WEIR_HALF || dtype == WEIR_BFLOAT16;
}

static inline bool weir_dtype_is_complex(weir_dtype dtype)
{
    return dtype == WEIR_COMPLEX64 || dtype == WEIR_COMPLEX128;
}

bool weir_dtype_is_integer(weir_dtype dtype); /* signed and unsigned, not bool, not quantized */

/* Elements and bytes of a known shape, checked: INVALID_ARGUMENT for an unknown shape or no type, RESOURCE_EXHAUSTED on
 * overflow. */
WEIR_WARN_UNUSED weir_status weir_tensor_extent(weir_dtype dtype, const weir_shape *shape, int64_t *elements,
                                                size_t *size_bytes);

/* Memory from the allocator, not zeroed (objects are). */
WEIR_WARN_UNUSED weir_status weir_tensor_allocate(weir_allocator *allocator, weir_dtype dtype, const weir_shape *shape,
                                                  weir_tensor **out);

/* A tensor over (a part of) a buffer; takes a reference of its own. For objects the buffer must be another tensor's. */
WEIR_WARN_UNUSED weir_status weir_tensor_over(weir_buffer *buffer, void *data, weir_dtype dtype,
                                              const weir_shape *shape, weir_tensor **out);

/* The same elements under another shape with as many elements. */
WEIR_WARN_UNUSED weir_status weir_tensor_reshaped(weir_tensor *tensor, const weir_shape *shape, weir_tensor **out);

/* A deep copy in host memory (strings and handles included). */
WEIR_WARN_UNUSED weir_status weir_tensor_copy(const weir_tensor *tensor, weir_tensor **out);

/* Copies count elements between arrays of one type in host memory; for objects destination must be valid (its old
 * elements are freed). */
WEIR_WARN_UNUSED weir_status weir_elements_copy(weir_dtype dtype, void *destination, const void *source, int64_t count);

/* Frees what count elements of an object type own and zeroes them; nothing for plain types. */
void weir_elements_clear(weir_dtype dtype, void *elements, int64_t count);

static inline weir_string *weir_tensor_string_elements(const weir_tensor *tensor)
{
    return tensor->data;
}

/* Zeroed memory for elements of an object type, which are freed with it; the allocator must be the host's. */
WEIR_WARN_UNUSED weir_status weir_buffer_of_objects(weir_allocator *allocator, weir_dtype dtype, size_t size,
                                                    weir_buffer **out);

/* Replaces the bytes of one element. */
WEIR_WARN_UNUSED weir_status weir_string_set(weir_string *string, const void *bytes, size_t size);

/* Bits of half and bfloat16 as floats, and back (nearest even; overflow to infinity). */
float weir_half_to_float(uint16_t bits);
uint16_t weir_half_from_float(float value);

static inline float weir_bfloat16_to_float(uint16_t bits)
{
    union {
        uint32_t bits;
        float value;
    } word = {.bits = (uint32_t)bits << 16};
    return word.value;
}

uint16_t weir_bfloat16_from_float(float value);

/* Element index of a numeric or bool host tensor as a double or an integer (for shape arguments and printing). Complex
 * numbers give their real part; a float becomes an integer toward zero, at most to the ends of the range (NaN: 0). */
double weir_tensor_get_double(const weir_tensor *tensor, int64_t index);
int64_t weir_tensor_get_int(const weir_tensor *tensor, int64_t index);

#endif
