/*
 * Elements that own something: strings, variants (held as strings) and handles of resources; and copying of any.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/tensor.h"

weir_status weir_string_set(weir_string *string, const void *bytes, size_t size)
{
    char *copy = NULL;
    if (size > 0) {
        copy = weir_copy_text(bytes, size);
        if (copy == NULL)
            return weir_fail_memory(size);
    }
    weir_release(string->data);
    *string = (weir_string){.data = copy, .size = size};
    return WEIR_STATUS_OK;
}

static weir_status copy_handle(weir_handle *destination, const weir_handle *source)
{
    weir_handle copy = *source;
    if (copy.resource != NULL && copy.ref == NULL)
        return weir_fail(WEIR_INTERNAL, "A handle of a resource that cannot be counted cannot be copied");
    if (copy.resource != NULL)
        copy.ref(copy.resource);
    if (destination->resource != NULL && destination->unref != NULL)
        destination->unref(destination->resource);
    *destination = copy;
    return WEIR_STATUS_OK;
}

weir_status weir_elements_copy(weir_dtype dtype, void *destination, const void *source, int64_t count)
{
    if (!weir_dtype_is_object(dtype)) {
        if (count > 0)
            memcpy(destination, source, (size_t)count * weir_dtype_size(dtype));
        return WEIR_STATUS_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        if (dtype == WEIR_RESOURCE) {
            WEIR_TRY(copy_handle((weir_handle *)destination + i, (const weir_handle *)source + i));
        } else {
            const weir_string *string = (const weir_string *)source + i;
            WEIR_TRY(weir_string_set((weir_string *)destination + i, string->data, string->size));
        }
    }
    return WEIR_STATUS_OK;
}

static void clear_strings(weir_string *strings, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        weir_release(strings[i].data);
        strings[i] = (weir_string){0};
    }
}

static void clear_handles(weir_handle *handles, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (handles[i].resource != NULL && handles[i].unref != NULL)
            handles[i].unref(handles[i].resource);
        handles[i] = (weir_handle){0};
    }
}

void weir_elements_clear(weir_dtype dtype, void *elements, int64_t count)
{
    if (dtype == WEIR_RESOURCE)
        clear_handles(elements, count);
    else if (weir_dtype_is_object(dtype))
        clear_strings(elements, count);
}

static void release_strings(void *context, void *data)
{
    weir_buffer *buffer = context;
    clear_strings(data, (int64_t)(buffer->size / sizeof(weir_string)));
    buffer->allocator->release(buffer->allocator, data, buffer->size);
}

static void release_handles(void *context, void *data)
{
    weir_buffer *buffer = context;
    clear_handles(data, (int64_t)(buffer->size / sizeof(weir_handle)));
    buffer->allocator->release(buffer->allocator, data, buffer->size);
}

weir_status weir_buffer_of_objects(weir_allocator *allocator, weir_dtype dtype, size_t size, weir_buffer **out)
{
    if (!allocator->is_host)
        return weir_fail(WEIR_INTERNAL, "Elements of type %s cannot live in the memory of %s", weir_dtype_name(dtype),
                         allocator->name);
    weir_buffer *buffer = NULL;
    WEIR_TRY(weir_buffer_new(allocator, size, &buffer));
    memset(buffer->data, 0, size);
    buffer->release = dtype == WEIR_RESOURCE ? release_handles : release_strings;
    buffer->context = buffer;
    *out = buffer;
    return WEIR_STATUS_OK;
}

weir_status weir_tensor_string(const char *bytes, size_t length, weir_tensor **out)
{
    if (bytes == NULL && length > 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "No bytes (NULL) for a string of length %zu", length);
    weir_tensor *tensor = NULL;
    WEIR_TRY(weir_tensor_new(WEIR_STRING, WEIR_SCALAR, &tensor));
    weir_status set = weir_string_set(weir_tensor_string_elements(tensor), bytes, length);
    if (!weir_ok(set)) {
        weir_tensor_free(tensor);
        return set;
    }
    *out = tensor;
    return WEIR_STATUS_OK;
}

static weir_status fill_strings(weir_string *strings, const char *const *texts, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (texts[i] == NULL)
            return weir_fail(WEIR_INVALID_ARGUMENT, "String %" PRId64 " of %" PRId64 " is NULL", i, count);
        WEIR_TRY(weir_string_set(&strings[i], texts[i], strlen(texts[i])));
    }
    return WEIR_STATUS_OK;
}

weir_status weir_tensor_strings(const char *const *texts, int64_t count, weir_tensor **out)
{
    if (count < 0 || (texts == NULL && count > 0))
        return weir_fail(WEIR_INVALID_ARGUMENT, "%" PRId64 " strings at %p", count, (const void *)texts);
    weir_tensor *tensor = NULL;
    WEIR_TRY(weir_tensor_new(WEIR_STRING, WEIR_SHAPE(count), &tensor));
    weir_status filled = fill_strings(weir_tensor_string_elements(tensor), texts, count);
    if (!weir_ok(filled)) {
        weir_tensor_free(tensor);
        return filled;
    }
    *out = tensor;
    return WEIR_STATUS_OK;
}

const char *weir_tensor_get_string(const weir_tensor *tensor, int64_t index, size_t *length)
{
    size_t unused = 0;
    length = length != NULL ? length : &unused;
    *length = 0;
    if (tensor->dtype != WEIR_STRING || index < 0 || index >= tensor->elements)
        return NULL;
    const weir_string *string = &weir_tensor_string_elements(tensor)[index];
    *length = string->size;
    return string->data != NULL ? string->data : "";
}

weir_status weir_tensor_set_string(weir_tensor *tensor, int64_t index, const char *bytes, size_t length)
{
    if (tensor->dtype != WEIR_STRING)
        return weir_fail(WEIR_INVALID_ARGUMENT, "A tensor of type %s has no strings", weir_dtype_name(tensor->dtype));
    if (index < 0 || index >= tensor->elements)
        return weir_fail(WEIR_INVALID_ARGUMENT, "String %" PRId64 " of a tensor with %" PRId64 " elements", index,
                         tensor->elements);
    if (bytes == NULL && length > 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "No bytes (NULL) for a string of length %zu", length);
    return weir_string_set(&weir_tensor_string_elements(tensor)[index], bytes, length);
}
