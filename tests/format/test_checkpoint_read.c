/*
 * Checkpoints that TensorFlow wrote: contents, parts, listing, and its answers to odd requests.
 */
#include "format/checkpoint_test.h"

#include "base/crc32c.h"
#include "format/data/checkpoint_vectors.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void checksums(void **state)
{
    for (size_t i = 0; i < COUNT(crc_vectors); i++) {
        bytes data = from_hex(crc_vectors[i].data);
        size_t half = data.length / 2;
        assert_int_equal(weir_crc32c(data.data, data.length), crc_vectors[i].crc);
        assert_int_equal(weir_crc32c_extend(weir_crc32c(data.data, half), data.data + half, data.length - half),
                         crc_vectors[i].crc);
        assert_int_equal(weir_crc32c_mask(crc_vectors[i].crc), crc_vectors[i].masked);
        assert_int_equal(weir_crc32c_unmask(crc_vectors[i].masked), crc_vectors[i].crc);
        free(data.data);
    }
}

static void keys_of_slices(void **state)
{
    for (size_t i = 0; i < COUNT(slice_key_vectors); i++) {
        weir_text key = {0};
        weir_slice slice = {.rank = 1, .start = {slice_key_vectors[i].start}, .length = {slice_key_vectors[i].length}};
        weir_slice_append_key(&key, "n", 1, &slice);
        char *hex = to_hex(key.data, key.length);
        assert_string_equal(hex, slice_key_vectors[i].key);
        free(hex);
        weir_text_clear(&key);
    }
}

/* Further numbers of the format's description, as the start of a slice; the negative ones are never written. */
static void numbers_in_keys(void **state)
{
    static const struct {
        int64_t value;
        const char *hex;
    } cases[] = {
        {0, "80"},
        {1, "81"},
        {63, "bf"},
        {64, "c040"},
        {-1, "7f"},
        {-64, "40"},
        {-65, "3fbf"},
        {5000, "d388"},
        {8191, "dfff"},
        {8192, "e02000"},
        {-2048, "3800"},
        {4342338, "f0424242"},
        {2147483648LL, "f880000000"},
        {INT64_MAX, "ffc07fffffffffffffff"},
        {INT64_MIN, "003f8000000000000000"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        weir_text key = {0};
        weir_slice slice = {.rank = 1, .start = {cases[i].value}, .length = {WEIR_FULL_EXTENT}};
        weir_slice_append_key(&key, "", 0, &slice);
        char *hex = to_hex(key.data, key.length);
        assert_memory_equal(hex + 10, cases[i].hex, strlen(cases[i].hex)); /* 00, 0001, 0101 before it */
        assert_string_equal(hex + 10 + strlen(cases[i].hex), "7f");
        free(hex);
        weir_text_clear(&key);
    }
}

static void contents(void **state)
{
    for (size_t i = 0; i < COUNT(checkpoint_vectors); i++) {
        char prefix[512];
        weir_checkpoint *checkpoint = NULL;
        weir_tensor *tensor = NULL;
        char shape[WEIR_SHAPE_TEXT_SIZE];
        bytes name = from_hex(checkpoint_vectors[i].name);
        snprintf(prefix, sizeof prefix, CHECKPOINTS "%s", checkpoint_vectors[i].prefix);
        ok(weir_checkpoint_open(prefix, &checkpoint));
        ok(weir_checkpoint_restore(checkpoint, &(weir_string){(char *)name.data, name.length}, &(weir_string){0},
                                   &tensor));
        char *value = shown(tensor);
        assert_string_equal(weir_dtype_name(tensor->dtype), checkpoint_vectors[i].dtype);
        assert_string_equal(weir_shape_text(tensor->shape, shape, sizeof shape), checkpoint_vectors[i].shape);
        assert_string_equal(value, checkpoint_vectors[i].value);
        free(value);
        free(name.data);
        weir_tensor_free(tensor);
        weir_checkpoint_close(checkpoint);
    }
}

static void large_offsets_in_keys(void **state)
{
    weir_tensor *far = NULL;
    ok(read_one(CHECKPOINTS "grid", "far", &far));
    assert_int_equal(far->elements, 70000);
    for (int64_t i = 0; i < far->elements; i++)
        assert_int_equal(((int8_t *)far->data)[i], i < 64 ? 0 : 1);
    weir_tensor_free(far);
}

static void many_blocks(void **state)
{
    weir_checkpoint *checkpoint = NULL;
    const weir_checkpoint_entry *entries = NULL;
    size_t count = 0;
    ok(weir_checkpoint_open(CHECKPOINTS "many", &checkpoint));
    assert_true(weir_table_blocks(checkpoint->table) > 1);
    ok(weir_checkpoint_list(checkpoint, &entries, &count));
    assert_int_equal(count, 300);
    for (size_t i = 0; i < count; i++) {
        weir_tensor *tensor = NULL;
        assert_int_equal(entries[i].name_length, 1004);
        assert_int_equal(atoi(entries[i].name), i);
        ok(weir_checkpoint_read(checkpoint, entries[i].name, &tensor));
        assert_true(weir_tensor_floats(tensor)[0] == (float)i);
        weir_tensor_free(tensor);
    }
    weir_tensor *none = NULL;
    fails_with(weir_checkpoint_read(checkpoint, "150", &none), WEIR_NOT_FOUND, "Key 150 not found in checkpoint");
    fails_with(weir_checkpoint_read(checkpoint, "zzz", &none), WEIR_NOT_FOUND, "Key zzz not found in checkpoint");
    fails_with(weir_checkpoint_read(checkpoint, "", &none), WEIR_NOT_FOUND, "Key  not found in checkpoint");
    weir_checkpoint_close(checkpoint);
}

static void listing(void **state)
{
    weir_checkpoint *checkpoint = NULL;
    const weir_checkpoint_entry *entries = NULL;
    weir_checkpoint_entry entry;
    size_t count = 0;
    ok(weir_checkpoint_open(CHECKPOINTS "grid", &checkpoint));
    ok(weir_checkpoint_list(checkpoint, &entries, &count));
    assert_int_equal(count, 5);
    assert_memory_equal(entries[0].name, "a\0b\xc3\xbf", 6);
    assert_int_equal(entries[0].name_length, 5);
    assert_string_equal(entries[3].name, "grid");
    assert_int_equal(entries[3].pieces, 4);
    assert_int_equal(entries[3].dtype, WEIR_FLOAT);
    assert_true(weir_shape_equal(entries[3].shape, WEIR_SHAPE(6, 8)));
    assert_string_equal(entries[2].name, "full");
    assert_int_equal(entries[2].pieces, 0);
    ok(weir_checkpoint_find(checkpoint, "far", &entry));
    assert_int_equal(entry.dtype, WEIR_INT8);
    assert_int_equal(entry.pieces, 2);
    fails_with(weir_checkpoint_find(checkpoint, "fa", &entry), WEIR_NOT_FOUND, "Key fa not found");
    weir_checkpoint_close(checkpoint);
}

static void parts(void **state)
{
    static const struct {
        const char *prefix;
        const char *name;
        const char *spec;
        const char *value;
    } cases[] = {
        {"small", "w", "2 1,1", "00000040"},
        {"gap", "g", "10 4 1,3:1,2", "96438b3d8fc275bd0ad723bd96430b3d1b2f5d3d508d97bd"},
        {"grid", "grid", "6 8 2,3:3,4",
         "000098410000a0410000a8410000b0410000d8410000e0410000e8410000f04100000c42000010420000144200001842"},
        {"grid", "full", "6 8 2,3:3,4",
         "000098410000a0410000a8410000b0410000d8410000e0410000e8410000f04100000c42000010420000144200001842"},
        {"grid", "rows", "6 8 2,2:7,1", "0000b8410000f841"},
        {"dtypes", "empty/two_by_zero", "2 0 3 1,1:-:-", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char prefix[512];
        weir_checkpoint *checkpoint = NULL;
        weir_tensor *tensor = NULL;
        snprintf(prefix, sizeof prefix, CHECKPOINTS "%s", cases[i].prefix);
        ok(weir_checkpoint_open(prefix, &checkpoint));
        ok(weir_checkpoint_read_part(checkpoint, cases[i].name, cases[i].spec, &tensor));
        char *value = shown(tensor);
        assert_string_equal(value, cases[i].value);
        free(value);
        weir_tensor_free(tensor);
        weir_checkpoint_close(checkpoint);
    }
}

static void requests_that_fail(void **state)
{
    static const struct {
        const char *prefix;
        const char *name;
        const char *spec;
        weir_code code;
        const char *words;
    } cases[] = {
        {"small", "nokey", "", WEIR_NOT_FOUND, "Key nokey not found in checkpoint"},
        {"small", "w", "3 0,1", WEIR_INVALID_ARGUMENT,
         "tensor_name = w; shape in shape_and_slice spec [3] does not match the shape stored in checkpoint: [2]"},
        {"gap", "g", "", WEIR_INVALID_ARGUMENT,
         "Does not have sufficient slices for partitioned tensor g to restore in slice_spec: -:-"},
        {"gap", "g", "10 4 3,4:-", WEIR_INVALID_ARGUMENT,
         "Does not have sufficient slices for partitioned tensor g to restore in slice_spec: 3,4:-"},
        {"small", "w", "2", WEIR_INVALID_ARGUMENT, "Need least two elements in shape_and_slice specification: 2"},
        {"small", "w", "x 0,1", WEIR_INVALID_ARGUMENT, "Non numerical dimension in shape_and_slice: x 0,1"},
        {"small", "w", "2 4", WEIR_INVALID_ARGUMENT, "Expected a pair of numbers or '-' but got '4': string = 4"},
        {"small", "w", "2 0,", WEIR_INVALID_ARGUMENT, "Expected a pair of numbers or '-' but got '0,': string = 0,"},
        {"small", "w", "2 -1,1", WEIR_INVALID_ARGUMENT,
         "Expected non-negative start and positive length but got start = -1, length = 1: string = -1,1"},
        {"small", "w", "2 0,0", WEIR_INVALID_ARGUMENT, "got start = 0, length = 0: string = 0,0"},
        {"small", "w", "2 1,2", WEIR_INTERNAL, "Extent in dimension 0 out of bounds: shape = [2], slice = 1,2"},
        {"small", "w", "2 1,9223372036854775807", WEIR_INTERNAL, "Extent in dimension 0 out of bounds"},
        {"small", "w", "2 0,1:0,1", WEIR_INTERNAL, "Mismatching ranks: shape = [2], slice = 0,1:0,1"},
        {"small", "s", "3 0,1", WEIR_UNIMPLEMENTED, "A part of the string tensor s"},
        {"no/such", "w", "", WEIR_NOT_FOUND,
         "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char prefix[512];
        weir_checkpoint *checkpoint = NULL;
        weir_tensor *tensor = NULL;
        snprintf(prefix, sizeof prefix, CHECKPOINTS "%s", cases[i].prefix);
        weir_status status = weir_checkpoint_open(prefix, &checkpoint);
        if (weir_ok(status))
            status = weir_checkpoint_read_part(checkpoint, cases[i].name, cases[i].spec, &tensor);
        fails_with(status, cases[i].code, cases[i].words);
        assert_null(tensor);
        weir_checkpoint_close(checkpoint);
    }
}

static void wrong_types_are_told_together(void **state)
{
    weir_string names[] = {string_of("w"), string_of("w/Adam"), string_of("s")};
    weir_string specs[3] = {{0}};
    weir_dtype wrong[] = {WEIR_INT32, WEIR_INT64, WEIR_STRING};
    weir_dtype right[] = {WEIR_FLOAT, WEIR_INVALID_DTYPE, WEIR_STRING};
    weir_tensor *tensors[3] = {NULL};
    fails_with(weir_checkpoint_restore_all(CHECKPOINTS "small", 3, names, specs, wrong, tensors), WEIR_INVALID_ARGUMENT,
               "tensor_name = w; expected dtype int32 does not equal original dtype float\n"
               "tensor_name = w/Adam; expected dtype int64 does not equal original dtype float");
    assert_null(tensors[0]);
    ok(weir_checkpoint_restore_all(CHECKPOINTS "small", 3, names, specs, right, tensors));
    assert_int_equal(tensors[2]->dtype, WEIR_STRING);
    for (int i = 0; i < 3; i++) {
        weir_tensor_free(tensors[i]);
        tensors[i] = NULL;
    }
    names[2] = string_of("gone");
    fails_with(weir_checkpoint_restore_all(CHECKPOINTS "small", 3, names, specs, right, tensors), WEIR_NOT_FOUND,
               "Key gone not found in checkpoint");
    assert_null(tensors[0]);
}

static void the_old_format_is_named(void **state)
{
    char folder[64];
    weir_checkpoint *checkpoint = NULL;
    make_folder(folder);
    char *prefix = path_in(folder, "v1");
    write_whole(prefix, "x", 1);
    fails_with(weir_checkpoint_open(prefix, &checkpoint), WEIR_UNIMPLEMENTED, "old format V1");
    assert_null(checkpoint);
    free(prefix);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums),
        cmocka_unit_test(keys_of_slices),
        cmocka_unit_test(numbers_in_keys),
        cmocka_unit_test(contents),
        cmocka_unit_test(large_offsets_in_keys),
        cmocka_unit_test(many_blocks),
        cmocka_unit_test(listing),
        cmocka_unit_test(parts),
        cmocka_unit_test(requests_that_fail),
        cmocka_unit_test(wrong_types_are_told_together),
        cmocka_unit_test(the_old_format_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
