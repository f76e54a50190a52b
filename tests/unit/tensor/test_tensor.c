/*
 * Tensors: making, sharing, copying and freeing them, strings and handles in them, and all refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/tensor.h"
#include "unit/base/huge_sizes.h"

static weir_tensor *from(weir_dtype dtype, weir_shape shape, const void *elements)
{
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_from(dtype, shape, elements, &tensor)));
    return tensor;
}

static void check_fault(weir_status status, weir_code code, const char *a, const char *b)
{
    assert_int_equal(status.code, code);
    if (strstr(weir_status_text(status), a) == NULL || strstr(weir_status_text(status), b) == NULL)
        fail_msg("\"%s\" lacks \"%s\" or \"%s\"", weir_status_text(status), a, b);
}

static void new_tensor_is_zero(void **state)
{
    WEIR_AUTO(weir_tensor) *tensor = NULL;
    mallopt(M_PERTURB, 0x55); /* fresh memory is not zero by chance */
    assert_true(weir_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(3, 5), &tensor)));
    mallopt(M_PERTURB, 0);
    assert_int_equal(weir_tensor_dtype(tensor), WEIR_FLOAT);
    assert_true(weir_shape_equal(weir_tensor_shape(tensor), WEIR_SHAPE(3, 5)));
    assert_int_equal(weir_tensor_rank(tensor), 2);
    assert_int_equal(weir_tensor_dim(tensor, 1), 5);
    assert_int_equal(weir_tensor_dim(tensor, 2), -1);
    assert_int_equal(weir_tensor_dim(tensor, -1), -1);
    assert_int_equal(weir_tensor_elements(tensor), 15);
    assert_int_equal(weir_tensor_size_bytes(tensor), 60);
    assert_int_equal((uintptr_t)weir_tensor_data(tensor) % 64, 0);
    for (int i = 0; i < 15; i++)
        assert_true(weir_tensor_floats(tensor)[i] == 0);
    assert_null(weir_tensor_doubles(tensor));
    assert_null(weir_tensor_int32s(tensor));
    assert_null(weir_tensor_int64s(tensor));
    assert_null(weir_tensor_bytes(tensor));
}

static void empty_tensors(void **state)
{
    weir_tensor *tensor = from(WEIR_INT32, WEIR_SHAPE(3, 0), NULL);
    assert_int_equal(weir_tensor_elements(tensor), 0);
    assert_int_equal(weir_tensor_size_bytes(tensor), 0);
    assert_non_null(weir_tensor_int32s(tensor));
    weir_tensor_free(tensor);
    weir_tensor_free(NULL);
    assert_null(weir_tensor_ref(NULL));
    assert_true(weir_ok(weir_tensor_strings(NULL, 0, &tensor)));
    assert_int_equal(weir_tensor_elements(tensor), 0);
    weir_tensor_free(tensor);
}

static void elements_are_copied(void **state)
{
    double values[] = {1, 2, 3};
    weir_tensor *tensor = from(WEIR_DOUBLE, WEIR_SHAPE(3), values);
    values[1] = 7;
    assert_true(weir_tensor_doubles(tensor)[1] == 2);
    weir_tensor_free(tensor);
}

static void impossible_tensors_are_refused(void **state)
{
    weir_tensor *tensor = NULL;
    float value = 0;
    check_fault(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(2, -1), &tensor), WEIR_INVALID_ARGUMENT, "float", "[2,?]");
    check_fault(weir_tensor_new(WEIR_INT8, weir_shape_unknown(), &tensor), WEIR_INVALID_ARGUMENT, "int8", "<unknown>");
    check_fault(weir_tensor_new(WEIR_INVALID_DTYPE, WEIR_SHAPE(2), &tensor), WEIR_INVALID_ARGUMENT, "type 0", "[2]");
    check_fault(weir_tensor_new((weir_dtype)77, WEIR_SHAPE(2), &tensor), WEIR_INVALID_ARGUMENT, "77", "[2]");
    check_fault(weir_tensor_new((weir_dtype)101, WEIR_SHAPE(2), &tensor), WEIR_INVALID_ARGUMENT, "float_ref", "101");
    check_fault(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(2), NULL, &tensor), WEIR_INVALID_ARGUMENT, "float", "[2]");
    check_fault(weir_tensor_from(WEIR_STRING, WEIR_SHAPE(2), &value, &tensor), WEIR_INVALID_ARGUMENT, "string", "[2]");
    assert_null(tensor);
}

static void sizes_that_no_memory_has(void **state)
{
    weir_tensor *tensor = NULL;
    weir_shape countless = WEIR_SHAPE((int64_t)1 << 40, (int64_t)1 << 40);
    weir_shape large = WEIR_SHAPE((int64_t)1 << 61);
    weir_shape possible = WEIR_SHAPE((int64_t)1 << 50);
    check_fault(weir_tensor_new(WEIR_FLOAT, countless, &tensor), WEIR_RESOURCE_EXHAUSTED, "float",
                "[1099511627776,1099511627776]");
    check_fault(weir_tensor_new(WEIR_INT64, large, &tensor), WEIR_RESOURCE_EXHAUSTED, "int64", "[2305843009213693952]");
    check_fault(weir_tensor_new(WEIR_FLOAT, large, &tensor), WEIR_RESOURCE_EXHAUSTED, "4 bytes", "float");
    check_fault(weir_tensor_new(WEIR_FLOAT, possible, &tensor), WEIR_RESOURCE_EXHAUSTED, "4503599627370496 bytes",
                "shape[1125899906842624] and type float");
    check_fault(weir_tensor_new(WEIR_STRING, possible, &tensor), WEIR_RESOURCE_EXHAUSTED, "string", "allocator cpu");
    assert_null(tensor);
}

/* ---- the caller's memory ---- */

static void count_release(void *context, void *elements)
{
    assert_non_null(elements);
    ++*(int *)context;
}

static void wrapped_memory_is_used_in_place(void **state)
{
    _Alignas(64) int32_t values[4] = {1, 2, 3, 4};
    int released = 0;
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_wrap(WEIR_INT32, WEIR_SHAPE(4), values, count_release, &released, &tensor)));
    assert_ptr_equal(weir_tensor_data(tensor), values);
    assert_false(weir_buffer_is_sole(tensor->buffer));
    weir_tensor *again = weir_tensor_ref(tensor);
    weir_tensor_free(tensor);
    assert_int_equal(released, 0);
    assert_int_equal(weir_tensor_int32s(again)[3], 4);
    weir_tensor_free(again);
    assert_int_equal(released, 1);
}

static void memory_without_release_is_not_taken_over(void **state)
{
    float values[2] = {1, 2};
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_wrap(WEIR_FLOAT, WEIR_SHAPE(2), values, NULL, NULL, &tensor)));
    assert_false(weir_buffer_is_sole(tensor->buffer));
    weir_tensor_free(tensor);
    tensor = from(WEIR_FLOAT, WEIR_SHAPE(2), values);
    assert_true(weir_buffer_is_sole(tensor->buffer));
    weir_buffer *buffer = weir_buffer_ref(tensor->buffer);
    assert_false(weir_buffer_is_sole(buffer));
    weir_tensor_free(tensor);
    assert_true(weir_buffer_is_sole(buffer));
    weir_buffer_unref(buffer);
    weir_buffer_unref(NULL);
    assert_null(weir_buffer_ref(NULL));
}

static void unusable_memory_is_refused(void **state)
{
    _Alignas(8) char bytes[32] = {0};
    int released = 0;
    weir_tensor *tensor = NULL;
    check_fault(weir_tensor_wrap(WEIR_FLOAT, WEIR_SHAPE(2), bytes + 2, count_release, &released, &tensor),
                WEIR_INVALID_ARGUMENT, "float", "multiple of 4");
    check_fault(weir_tensor_wrap(WEIR_FLOAT, WEIR_SHAPE(2), NULL, count_release, &released, &tensor),
                WEIR_INVALID_ARGUMENT, "float", "NULL");
    check_fault(weir_tensor_wrap(WEIR_STRING, WEIR_SHAPE(2), bytes, count_release, &released, &tensor),
                WEIR_INVALID_ARGUMENT, "string", "[2]");
    assert_int_equal(released, 0);
    assert_null(tensor);
    assert_true(weir_ok(weir_tensor_wrap(WEIR_COMPLEX128, WEIR_SHAPE(1), bytes + 8, NULL, NULL, &tensor)));
    weir_tensor_free(tensor);
}

/* ---- sharing ---- */

static void reshaped_tensors_share_elements(void **state)
{
    weir_tensor *tensor = from(WEIR_INT32, WEIR_SHAPE(6), (int32_t[]){1, 2, 3, 4, 5, 6});
    weir_tensor *square = NULL;
    weir_shape shape = WEIR_SHAPE(2, 3);
    weir_shape other = WEIR_SHAPE(2, 2);
    weir_shape open = WEIR_SHAPE(2, -1);
    check_fault(weir_tensor_reshaped(tensor, &other, &square), WEIR_INVALID_ARGUMENT, "6 elements", "[2,2]");
    check_fault(weir_tensor_reshaped(tensor, &open, &square), WEIR_INVALID_ARGUMENT, "int32", "[2,?]");
    assert_true(weir_ok(weir_tensor_reshaped(tensor, &shape, &square)));
    assert_ptr_equal(weir_tensor_data(square), weir_tensor_data(tensor));
    weir_tensor_free(tensor);
    assert_int_equal(weir_tensor_int32s(square)[5], 6);
    assert_int_equal(weir_tensor_dim(square, 0), 2);
    weir_tensor_free(square);
}

static void tensors_over_parts_of_a_buffer(void **state)
{
    weir_buffer *buffer = NULL;
    assert_true(weir_ok(weir_buffer_new(weir_host_allocator(), 64, &buffer)));
    char *data = buffer->data;
    weir_tensor *tensor = NULL;
    weir_shape four = WEIR_SHAPE(4);
    weir_shape scalar = WEIR_SCALAR;
    assert_int_equal(weir_tensor_over(buffer, data + 52, WEIR_FLOAT, &four, &tensor).code, WEIR_INTERNAL);
    assert_int_equal(weir_tensor_over(buffer, data - 16, WEIR_FLOAT, &four, &tensor).code, WEIR_INTERNAL);
    assert_int_equal(weir_tensor_over(buffer, data + 68, WEIR_FLOAT, &scalar, &tensor).code, WEIR_INTERNAL);
    assert_true(weir_ok(weir_tensor_over(buffer, data + 48, WEIR_FLOAT, &four, &tensor)));
    weir_buffer_unref(buffer);
    weir_tensor_floats(tensor)[3] = 5;
    weir_tensor_free(tensor);
}

static void *share_and_free(void *context)
{
    for (int i = 0; i < 20000; i++) {
        weir_tensor *tensor = weir_tensor_ref(context);
        weir_shape shape = WEIR_SHAPE(1, 2);
        weir_tensor *shaped = NULL;
        if (weir_ok(weir_tensor_reshaped(tensor, &shape, &shaped)))
            weir_tensor_free(tensor);
        weir_tensor_free(shaped);
    }
    weir_tensor_free(context);
    return NULL;
}

static void references_are_counted_by_any_thread(void **state)
{
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_strings((const char *const[]){"a", "b"}, 2, &tensor)));
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, share_and_free, weir_tensor_ref(tensor)), 0);
    weir_tensor_free(tensor);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* ---- strings ---- */

static void strings(void **state)
{
    weir_tensor *tensor = NULL;
    size_t length = 9;
    assert_true(weir_ok(weir_tensor_strings((const char *const[]){"one", "", "three"}, 3, &tensor)));
    assert_string_equal(weir_tensor_get_string(tensor, 2, &length), "three");
    assert_int_equal(length, 5);
    assert_string_equal(weir_tensor_get_string(tensor, 1, &length), "");
    assert_int_equal(length, 0);
    assert_string_equal(weir_tensor_get_string(tensor, 0, NULL), "one");
    assert_null(weir_tensor_get_string(tensor, 3, &length));
    assert_null(weir_tensor_get_string(tensor, -1, &length));
    assert_null(weir_tensor_data(tensor));
    assert_null(weir_tensor_data_const(tensor));
    assert_int_equal(weir_tensor_size_bytes(tensor), 8);
    assert_true(weir_ok(weir_tensor_set_string(tensor, 0, "a\0b", 3)));
    assert_memory_equal(weir_tensor_get_string(tensor, 0, &length), "a\0b", 4);
    assert_int_equal(length, 3);
    assert_true(weir_ok(weir_tensor_set_string(tensor, 2, NULL, 0)));
    assert_int_equal(weir_tensor_size_bytes(tensor), 3);
    weir_tensor_free(tensor);
}

static void string_faults(void **state)
{
    weir_tensor *tensor = NULL;
    check_fault(weir_tensor_strings((const char *const[]){"a", NULL}, 2, &tensor), WEIR_INVALID_ARGUMENT, "String 1",
                "NULL");
    assert_int_equal(weir_tensor_strings(NULL, 2, &tensor).code, WEIR_INVALID_ARGUMENT);
    assert_int_equal(weir_tensor_strings(NULL, -2, &tensor).code, WEIR_INVALID_ARGUMENT);
    assert_int_equal(weir_tensor_string(NULL, 2, &tensor).code, WEIR_INVALID_ARGUMENT);
    assert_null(tensor);
    assert_true(weir_ok(weir_tensor_string("x", 1, &tensor)));
    assert_int_equal(weir_tensor_rank(tensor), 0);
    check_fault(weir_tensor_set_string(tensor, 1, "y", 1), WEIR_INVALID_ARGUMENT, "String 1", "1 elements");
    assert_int_equal(weir_tensor_set_string(tensor, 0, NULL, 1).code, WEIR_INVALID_ARGUMENT);
    check_fault(weir_tensor_set_string(tensor, 0, "y", (size_t)1 << 60), WEIR_RESOURCE_EXHAUSTED, "1152921504606846976",
                "memory");
    assert_string_equal(weir_tensor_get_string(tensor, 0, NULL), "x");
    weir_tensor_free(tensor);
    tensor = from(WEIR_FLOAT, WEIR_SCALAR, &(float){1});
    check_fault(weir_tensor_set_string(tensor, 0, "y", 1), WEIR_INVALID_ARGUMENT, "float", "strings");
    assert_null(weir_tensor_get_string(tensor, 0, NULL));
    weir_tensor_free(tensor);
}

/* ---- copies ---- */

static void copies_are_deep(void **state)
{
    weir_tensor *tensor = NULL;
    weir_tensor *copy = NULL;
    assert_true(weir_ok(weir_tensor_strings((const char *const[]){"one", "two"}, 2, &tensor)));
    assert_true(weir_ok(weir_tensor_copy(tensor, &copy)));
    assert_true(weir_ok(weir_tensor_set_string(tensor, 0, "changed", 7)));
    weir_tensor_free(tensor);
    assert_string_equal(weir_tensor_get_string(copy, 0, NULL), "one");
    assert_string_equal(weir_tensor_get_string(copy, 1, NULL), "two");
    weir_tensor_free(copy);
    tensor = from(WEIR_INT64, WEIR_SHAPE(2, 1), (int64_t[]){-1, 5});
    assert_true(weir_ok(weir_tensor_copy(tensor, &copy)));
    assert_memory_equal(weir_tensor_data(copy), weir_tensor_data(tensor), 16);
    assert_true(weir_shape_equal(weir_tensor_shape(copy), WEIR_SHAPE(2, 1)));
    weir_tensor_free(tensor);
    weir_tensor_free(copy);
}

struct weir_resource {
    int references;
};

static void ref_resource(struct weir_resource *resource)
{
    resource->references++;
}

static void unref_resource(struct weir_resource *resource)
{
    resource->references--;
}

static void handles_are_counted(void **state)
{
    struct weir_resource first = {1};
    struct weir_resource second = {1};
    weir_tensor *tensor = NULL;
    weir_tensor *copy = NULL;
    assert_true(weir_ok(weir_tensor_new(WEIR_RESOURCE, WEIR_SHAPE(2), &tensor)));
    weir_handle *handles = tensor->data;
    handles[0] = (weir_handle){.resource = &first, .unref = unref_resource, .ref = ref_resource};
    assert_true(weir_ok(weir_tensor_copy(tensor, &copy)));
    assert_int_equal(first.references, 2);
    assert_int_equal(weir_tensor_size_bytes(tensor), 0);
    handles[0].resource = NULL;
    handles[0] = (weir_handle){.resource = &second, .unref = unref_resource, .ref = ref_resource};
    assert_true(weir_ok(weir_elements_copy(WEIR_RESOURCE, copy->data, tensor->data, 2)));
    assert_int_equal(first.references, 1);
    assert_int_equal(second.references, 2);
    weir_tensor_free(copy);
    assert_int_equal(second.references, 1);
    weir_elements_clear(WEIR_RESOURCE, tensor->data, 2);
    assert_int_equal(second.references, 0);
    handles[1] = (weir_handle){.resource = &first, .unref = unref_resource};
    assert_int_equal(weir_tensor_copy(tensor, &copy).code, WEIR_INTERNAL);
    weir_tensor_free(tensor);
    assert_int_equal(first.references, 0);
}

/* ---- device memory ---- */

static weir_status refuse(weir_allocator *allocator, size_t size, void **out)
{
    return weir_fail(WEIR_RESOURCE_EXHAUSTED, "no %zu bytes on %s", size, allocator->name);
}

static weir_status give(weir_allocator *allocator, size_t size, void **out)
{
    *out = weir_allocate_aligned(size);
    return WEIR_STATUS_OK;
}

static void take_back(weir_allocator *allocator, void *memory, size_t size)
{
    weir_release(memory);
}

static void device_memory_stays_untouched(void **state)
{
    weir_allocator device = {.name = "gpu_bfc", .allocate = give, .release = take_back, .is_host = false};
    weir_allocator full = {.name = "gpu_bfc", .allocate = refuse, .release = take_back, .is_host = false};
    weir_shape shape = WEIR_SHAPE(3);
    weir_tensor *tensor = NULL;
    weir_tensor *copy = NULL;
    check_fault(weir_tensor_allocate(&full, WEIR_FLOAT, &shape, &tensor), WEIR_RESOURCE_EXHAUSTED, "shape[3]",
                "no 12 bytes on gpu_bfc");
    check_fault(weir_tensor_allocate(&device, WEIR_STRING, &shape, &tensor), WEIR_INTERNAL, "string", "gpu_bfc");
    assert_true(weir_ok(weir_tensor_allocate(&device, WEIR_FLOAT, &shape, &tensor)));
    check_fault(weir_tensor_copy(tensor, &copy), WEIR_INTERNAL, "gpu_bfc", "host");
    check_fault(weir_tensor_print(tensor, stdout), WEIR_FAILED_PRECONDITION, "gpu_bfc", "host");
    weir_tensor_free(tensor);
}

/* ---- numbers ---- */

static void check_number(weir_dtype dtype, const void *element, double number, int64_t whole)
{
    weir_tensor *tensor = from(dtype, WEIR_SCALAR, element);
    double found = weir_tensor_get_double(tensor, 0);
    assert_true(isnan(number) ? isnan(found) : found == number);
    assert_true(weir_tensor_get_int(tensor, 0) == whole);
    weir_tensor_free(tensor);
}

static void numbers_of_all_types(void **state)
{
    check_number(WEIR_FLOAT, &(float){-2.5f}, -2.5, -2);
    check_number(WEIR_FLOAT, &(float){INFINITY}, INFINITY, INT64_MAX);
    check_number(WEIR_DOUBLE, &(double){-1e300}, -1e300, INT64_MIN);
    check_number(WEIR_DOUBLE, &(double){NAN}, NAN, 0);
    check_number(WEIR_HALF, &(uint16_t){0x3e00}, 1.5, 1);
    check_number(WEIR_BFLOAT16, &(uint16_t){0xc040}, -3, -3);
    check_number(WEIR_COMPLEX64, (float[]){4, 5}, 4, 4);
    check_number(WEIR_COMPLEX128, (double[]){4, 5}, 4, 4);
    check_number(WEIR_BOOL, &(uint8_t){2}, 1, 1);
    check_number(WEIR_INT8, &(int8_t){-128}, -128, -128);
    check_number(WEIR_UINT8, &(uint8_t){255}, 255, 255);
    check_number(WEIR_QINT8, &(int8_t){-5}, -5, -5);
    check_number(WEIR_QUINT8, &(uint8_t){200}, 200, 200);
    check_number(WEIR_INT16, &(int16_t){-300}, -300, -300);
    check_number(WEIR_UINT16, &(uint16_t){65535}, 65535, 65535);
    check_number(WEIR_QINT16, &(int16_t){-300}, -300, -300);
    check_number(WEIR_QUINT16, &(uint16_t){65535}, 65535, 65535);
    check_number(WEIR_INT32, &(int32_t){INT32_MIN}, INT32_MIN, INT32_MIN);
    check_number(WEIR_QINT32, &(int32_t){7}, 7, 7);
    check_number(WEIR_UINT32, &(uint32_t){UINT32_MAX}, UINT32_MAX, UINT32_MAX);
    check_number(WEIR_INT64, &(int64_t){INT64_MAX}, 0x1p63, INT64_MAX);
    check_number(WEIR_UINT64, &(uint64_t){UINT64_MAX}, 0x1p64, INT64_MAX);
    check_number(WEIR_INT4, &(uint8_t){0xf}, -1, -1);
    check_number(WEIR_UINT4, &(uint8_t){0xf}, 15, 15);
    check_number(WEIR_INT2, &(uint8_t){2}, -2, -2);
    check_number(WEIR_UINT2, &(uint8_t){2}, 2, 2);
}

/* Largest numbers, smallest numbers and special patterns, from the definitions of the formats. */
static void numbers_of_eight_bits_and_less(void **state)
{
    check_number(WEIR_FLOAT8_E5M2, &(uint8_t){0x7b}, 57344, 57344);
    check_number(WEIR_FLOAT8_E5M2, &(uint8_t){0x01}, 0x1p-16, 0);
    check_number(WEIR_FLOAT8_E5M2, &(uint8_t){0xfc}, -INFINITY, INT64_MIN);
    check_number(WEIR_FLOAT8_E5M2, &(uint8_t){0x7d}, NAN, 0);
    check_number(WEIR_FLOAT8_E4M3FN, &(uint8_t){0x7e}, 448, 448);
    check_number(WEIR_FLOAT8_E4M3FN, &(uint8_t){0xff}, NAN, 0);
    check_number(WEIR_FLOAT8_E4M3FN, &(uint8_t){0x01}, 0x1p-9, 0);
    check_number(WEIR_FLOAT8_E4M3FNUZ, &(uint8_t){0x7f}, 240, 240);
    check_number(WEIR_FLOAT8_E4M3FNUZ, &(uint8_t){0x80}, NAN, 0);
    check_number(WEIR_FLOAT8_E4M3B11FNUZ, &(uint8_t){0x7f}, 30, 30);
    check_number(WEIR_FLOAT8_E5M2FNUZ, &(uint8_t){0x7f}, 57344, 57344);
    check_number(WEIR_FLOAT8_E5M2FNUZ, &(uint8_t){0x80}, NAN, 0);
    check_number(WEIR_FLOAT4_E2M1FN, &(uint8_t){0xf}, -6, -6);
    check_number(WEIR_FLOAT4_E2M1FN, &(uint8_t){0x1}, 0.5, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_tensor_is_zero),
        cmocka_unit_test(empty_tensors),
        cmocka_unit_test(elements_are_copied),
        cmocka_unit_test(impossible_tensors_are_refused),
        cmocka_unit_test(sizes_that_no_memory_has),
        cmocka_unit_test(wrapped_memory_is_used_in_place),
        cmocka_unit_test(memory_without_release_is_not_taken_over),
        cmocka_unit_test(unusable_memory_is_refused),
        cmocka_unit_test(reshaped_tensors_share_elements),
        cmocka_unit_test(tensors_over_parts_of_a_buffer),
        cmocka_unit_test(references_are_counted_by_any_thread),
        cmocka_unit_test(strings),
        cmocka_unit_test(string_faults),
        cmocka_unit_test(copies_are_deep),
        cmocka_unit_test(handles_are_counted),
        cmocka_unit_test(device_memory_stays_untouched),
        cmocka_unit_test(numbers_of_all_types),
        cmocka_unit_test(numbers_of_eight_bits_and_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
