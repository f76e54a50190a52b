/*
 * Tensors: a type, a shape and counted memory. Element objects (strings, handles) stand in elements.c.
 */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"

weir_status weir_tensor_extent(weir_dtype dtype, const weir_shape *shape, int64_t *elements, size_t *size_bytes)
{
    char text[WEIR_SHAPE_TEXT_SIZE];
    weir_shape_text(*shape, text, sizeof text);
    size_t stride = weir_dtype_is_ref(dtype) ? 0 : weir_dtype_stride(dtype);
    if (stride == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "A tensor of shape %s cannot have type %d (%s): it is no element type",
                         text, (int)dtype, weir_dtype_name(dtype));
    if (!weir_shape_known(*shape))
        return weir_fail(WEIR_INVALID_ARGUMENT, "A %s tensor needs a fully known shape, not %s", weir_dtype_name(dtype),
                         text);
    int64_t count = weir_shape_elements(*shape);
    size_t bytes = 0;
    if (count < 0 || __builtin_mul_overflow((size_t)count, stride, &bytes) || bytes > PTRDIFF_MAX)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED,
                         "A %s tensor of shape %s, at %zu bytes an element, is larger than any memory",
                         weir_dtype_name(dtype), text, stride);
    *elements = count;
    *size_bytes = bytes;
    return WEIR_STATUS_OK;
}

/* Takes buffer, on failure too. */
static weir_status make_tensor(weir_buffer *buffer, void *data, weir_dtype dtype, const weir_shape *shape,
                               int64_t elements, size_t size_bytes, weir_tensor **out)
{
    weir_tensor *tensor = NULL;
    weir_status made = weir_new(&tensor, 1);
    if (!weir_ok(made)) {
        weir_buffer_unref(buffer);
        return made;
    }
    atomic_init(&tensor->references, 1);
    tensor->dtype = dtype;
    tensor->shape = weir_shape_of(shape->rank, shape->dims);
    tensor->elements = elements;
    tensor->size_bytes = size_bytes;
    tensor->data = data;
    tensor->buffer = buffer;
    *out = tensor;
    return WEIR_STATUS_OK;
}

weir_status weir_tensor_allocate(weir_allocator *allocator, weir_dtype dtype, const weir_shape *shape,
                                 weir_tensor **out)
{
    int64_t elements = 0;
    size_t size = 0;
    WEIR_TRY(weir_tensor_extent(dtype, shape, &elements, &size));
    weir_buffer *buffer = NULL;
    weir_status allocated = weir_dtype_is_object(dtype) ? weir_buffer_of_objects(allocator, dtype, size, &buffer)
                                                        : weir_buffer_new(allocator, size, &buffer);
    if (!weir_ok(allocated)) {
        char text[WEIR_SHAPE_TEXT_SIZE];
        return weir_fail_in(allocated, "OOM when allocating tensor with shape%s and type %s",
                            weir_shape_text(*shape, text, sizeof text), weir_dtype_name(dtype));
    }
    return make_tensor(buffer, buffer->data, dtype, shape, elements, size, out);
}

weir_status weir_tensor_over(weir_buffer *buffer, void *data, weir_dtype dtype, const weir_shape *shape,
                             weir_tensor **out)
{
    int64_t elements = 0;
    size_t size = 0;
    WEIR_TRY(weir_tensor_extent(dtype, shape, &elements, &size));
    uintptr_t offset = (uintptr_t)data - (uintptr_t)buffer->data; /* wraps to a huge number before the start */
    if (offset > buffer->size || size > buffer->size - offset)
        return weir_fail(WEIR_INTERNAL, "A tensor of %zu bytes does not fit into a buffer of %zu", size, buffer->size);
    return make_tensor(weir_buffer_ref(buffer), data, dtype, shape, elements, size, out);
}

weir_status weir_tensor_reshaped(weir_tensor *tensor, const weir_shape *shape, weir_tensor **out)
{
    int64_t elements = 0;
    size_t size = 0;
    WEIR_TRY(weir_tensor_extent(tensor->dtype, shape, &elements, &size));
    if (elements != tensor->elements) {
        char text[WEIR_SHAPE_TEXT_SIZE];
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "A tensor with %" PRId64 " elements cannot take shape %s, which has %" PRId64,
                         tensor->elements, weir_shape_text(*shape, text, sizeof text), elements);
    }
    return make_tensor(weir_buffer_ref(tensor->buffer), tensor->data, tensor->dtype, shape, elements, size, out);
}

weir_status weir_tensor_copy(const weir_tensor *tensor, weir_tensor **out)
{
    if (!tensor->buffer->allocator->is_host)
        return weir_fail(WEIR_INTERNAL, "A tensor in the memory of %s cannot be copied by the host",
                         tensor->buffer->allocator->name);
    weir_tensor *copy = NULL;
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), tensor->dtype, &tensor->shape, &copy));
    weir_status copied = weir_elements_copy(tensor->dtype, copy->data, tensor->data, tensor->elements);
    if (!weir_ok(copied)) {
        weir_tensor_free(copy);
        return copied;
    }
    *out = copy;
    return WEIR_STATUS_OK;
}

weir_status weir_tensor_new(weir_dtype dtype, weir_shape shape, weir_tensor **out)
{
    weir_tensor *tensor = NULL;
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), dtype, &shape, &tensor));
    memset(tensor->data, 0, tensor->size_bytes);
    *out = tensor;
    return WEIR_STATUS_OK;
}

/* Refuses what can be no array of the caller's. */
static weir_status check_elements(weir_dtype dtype, const weir_shape *shape, const void *elements, size_t size)
{
    char text[WEIR_SHAPE_TEXT_SIZE];
    weir_shape_text(*shape, text, sizeof text);
    if (weir_dtype_is_object(dtype))
        return weir_fail(WEIR_INVALID_ARGUMENT, "A %s tensor of shape %s cannot be made from an array of bytes",
                         weir_dtype_name(dtype), text);
    if (elements == NULL && size > 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "No elements (NULL) for a %s tensor of shape %s",
                         weir_dtype_name(dtype), text);
    return WEIR_STATUS_OK;
}

weir_status weir_tensor_from(weir_dtype dtype, weir_shape shape, const void *elements, weir_tensor **out)
{
    int64_t count = 0;
    size_t size = 0;
    WEIR_TRY(weir_tensor_extent(dtype, &shape, &count, &size));
    WEIR_TRY(check_elements(dtype, &shape, elements, size));
    weir_tensor *tensor = NULL;
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), dtype, &shape, &tensor));
    if (size > 0)
        memcpy(tensor->data, elements, size);
    *out = tensor;
    return WEIR_STATUS_OK;
}

weir_status weir_tensor_wrap(weir_dtype dtype, weir_shape shape, void *elements,
                             void (*release)(void *context, void *elements), void *context, weir_tensor **out)
{
    int64_t count = 0;
    size_t size = 0;
    WEIR_TRY(weir_tensor_extent(dtype, &shape, &count, &size));
    WEIR_TRY(check_elements(dtype, &shape, elements, size));
    size_t alignment = weir_dtype_is_complex(dtype) ? weir_dtype_size(dtype) / 2 : weir_dtype_size(dtype);
    if ((uintptr_t)elements % alignment != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Elements of type %s at address %p, which is no multiple of %zu",
                         weir_dtype_name(dtype), elements, alignment);
    weir_tensor *tensor = NULL; /* made first without the memory, so that a failure leaves that to the caller */
    weir_buffer *buffer = NULL;
    WEIR_TRY(weir_buffer_wrap(elements, size, NULL, NULL, &buffer));
    WEIR_TRY(make_tensor(buffer, elements, dtype, &shape, count, size, &tensor));
    if (release != NULL) {
        buffer->release = release;
        buffer->context = context;
    }
    *out = tensor;
    return WEIR_STATUS_OK;
}

weir_tensor *weir_tensor_ref(weir_tensor *tensor)
{
    if (tensor != NULL)
        atomic_fetch_add_explicit(&tensor->references, 1, memory_order_relaxed);
    return tensor;
}

void weir_tensor_free(weir_tensor *tensor)
{
    if (tensor == NULL || atomic_fetch_sub_explicit(&tensor->references, 1, memory_order_acq_rel) != 1)
        return;
    weir_buffer_unref(tensor->buffer);
    weir_release(tensor);
}

weir_dtype weir_tensor_dtype(const weir_tensor *tensor)
{
    return tensor->dtype;
}

weir_shape weir_tensor_shape(const weir_tensor *tensor)
{
    return tensor->shape;
}

int weir_tensor_rank(const weir_tensor *tensor)
{
    return tensor->shape.rank;
}

int64_t weir_tensor_dim(const weir_tensor *tensor, int axis)
{
    return axis >= 0 && axis < tensor->shape.rank ? tensor->shape.dims[axis] : -1;
}

int64_t weir_tensor_elements(const weir_tensor *tensor)
{
    return tensor->elements;
}

size_t weir_tensor_size_bytes(const weir_tensor *tensor)
{
    if (tensor->dtype == WEIR_RESOURCE)
        return 0;
    if (!weir_dtype_is_object(tensor->dtype))
        return tensor->size_bytes;
    size_t size = 0;
    for (int64_t i = 0; i < tensor->elements; i++)
        size += weir_tensor_string_elements(tensor)[i].size;
    return size;
}

void *weir_tensor_data(weir_tensor *tensor)
{
    return weir_dtype_is_object(tensor->dtype) ? NULL : tensor->data;
}

const void *weir_tensor_data_const(const weir_tensor *tensor)
{
    return weir_dtype_is_object(tensor->dtype) ? NULL : tensor->data;
}

float *weir_tensor_floats(weir_tensor *tensor)
{
    return tensor->dtype == WEIR_FLOAT ? tensor->data : NULL;
}

double *weir_tensor_doubles(weir_tensor *tensor)
{
    return tensor->dtype == WEIR_DOUBLE ? tensor->data : NULL;
}

int32_t *weir_tensor_int32s(weir_tensor *tensor)
{
    return tensor->dtype == WEIR_INT32 ? tensor->data : NULL;
}

int64_t *weir_tensor_int64s(weir_tensor *tensor)
{
    return tensor->dtype == WEIR_INT64 ? tensor->data : NULL;
}

uint8_t *weir_tensor_bytes(weir_tensor *tensor)
{
    return tensor->dtype == WEIR_UINT8 || tensor->dtype == WEIR_BOOL ? tensor->data : NULL;
}
