/*
 * Tensors in host memory: element type, shape, and a reference-counted block of elements in row-major order.
 *
 * A tensor never changes its type or shape. Its elements may be written while only one owner knows it. Reference counts
 * may be changed from any thread.
 */
#ifndef WEIR_TENSOR_H
#define WEIR_TENSOR_H

#include <stdio.h>

#include <weir/status.h>
#include <weir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_tensor weir_tensor;

/* A tensor with zero elements (empty strings). INVALID_ARGUMENT for a shape not fully known, RESOURCE_EXHAUSTED naming
 * the size without memory. Returns owned. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_tensor_new(weir_dtype dtype, weir_shape shape, weir_tensor **out);

/* The same, with a copy of elements (not for strings). */
WEIR_API WEIR_WARN_UNUSED weir_status weir_tensor_from(weir_dtype dtype, weir_shape shape, const void *elements,
                                                       weir_tensor **out);

/* A tensor over the caller's memory, which must live as long as it (and runs fed with it); release, if not NULL, is
 * called with (context, elements) when the last reference goes. Memory aligned to 64 bytes is used in place. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_tensor_wrap(weir_dtype dtype, weir_shape shape, void *elements,
                                                       void (*release)(void *context, void *elements), void *context,
                                                       weir_tensor **out);

/* A scalar string tensor, or a vector of count strings (zero-terminated). */
WEIR_API WEIR_WARN_UNUSED weir_status weir_tensor_string(const char *bytes, size_t length, weir_tensor **out);
WEIR_API WEIR_WARN_UNUSED weir_status weir_tensor_strings(const char *const *texts, int64_t count, weir_tensor **out);

/* One more owner; returns tensor. Accepts NULL. */
WEIR_API weir_tensor *weir_tensor_ref(weir_tensor *tensor);

/* Gives up ownership; the last owner frees. Accepts NULL. */
WEIR_API void weir_tensor_free(weir_tensor *tensor);

WEIR_API weir_dtype weir_tensor_dtype(const weir_tensor *tensor);
WEIR_API weir_shape weir_tensor_shape(const weir_tensor *tensor);
WEIR_API int weir_tensor_rank(const weir_tensor *tensor);
WEIR_API int64_t weir_tensor_dim(const weir_tensor *tensor, int axis); /* -1 outside the rank */
WEIR_API int64_t weir_tensor_elements(const weir_tensor *tensor);
WEIR_API size_t weir_tensor_size_bytes(const weir_tensor *tensor); /* of elements; strings count their bytes */

/* The elements; NULL for strings, resources and variants. Borrowed. */
WEIR_API void *weir_tensor_data(weir_tensor *tensor);
WEIR_API const void *weir_tensor_data_const(const weir_tensor *tensor);

/* The elements as one C type; NULL if the tensor has another element type. Borrowed. */
WEIR_API float *weir_tensor_floats(weir_tensor *tensor);
WEIR_API double *weir_tensor_doubles(weir_tensor *tensor);
WEIR_API int32_t *weir_tensor_int32s(weir_tensor *tensor);
WEIR_API int64_t *weir_tensor_int64s(weir_tensor *tensor);
WEIR_API uint8_t *weir_tensor_bytes(weir_tensor *tensor); /* uint8 and bool */

/* String element index: bytes (with a zero after them) and length. NULL and 0 outside the tensor. Borrowed. */
WEIR_API const char *weir_tensor_get_string(const weir_tensor *tensor, int64_t index, size_t *length);
WEIR_API WEIR_WARN_UNUSED weir_status weir_tensor_set_string(weir_tensor *tensor, int64_t index, const char *bytes,
                                                             size_t length);

/* Writes the values as NumPy prints them ("[ 2.  4.  6.]") and a newline; long axes are shortened with "...". */
WEIR_API WEIR_WARN_UNUSED weir_status weir_tensor_print(const weir_tensor *tensor, FILE *stream);

static inline void weir_tensor_free_at(weir_tensor **tensor)
{
    weir_tensor_free(*tensor);
}

/* WEIR_AUTO(weir_tensor) *t = NULL: freed at the end of the block. */
#define WEIR_AUTO(type) WEIR_CLEANUP(type##_free_at) type

#ifdef __cplusplus
}
#endif

#endif
