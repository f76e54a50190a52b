/*
 * IDX files of images and labels: plain, compressed, mistaken for each other, damaged.
 *
 * test: timeout=300
 */
#include "format/format_test.h"

#include <time.h>
#include <zlib.h>

#include <weir/idx.h>

#include "base/memory.h"
#include "format/bytes.h"
#include "tensor/tensor.h"

static void put_big(uint8_t *bytes, uint32_t value)
{
    weir_put_u32(bytes, __builtin_bswap32(value));
}

/* Images (rows > 0) or labels; element i is i & 0xff. */
static bytes make_idx(uint32_t count, uint32_t rows, uint32_t columns)
{
    size_t header = rows > 0 ? 16 : 8;
    size_t elements = (size_t)count * (rows > 0 ? (size_t)rows * columns : 1);
    bytes file = {.data = malloc(header + elements + 1), .length = header + elements};
    put_big(file.data, rows > 0 ? 2051 : 2049);
    put_big(file.data + 4, count);
    if (rows > 0) {
        put_big(file.data + 8, rows);
        put_big(file.data + 12, columns);
    }
    for (size_t i = 0; i < elements; i++)
        file.data[header + i] = (uint8_t)i;
    return file;
}

static bytes compress_gzip(const void *data, size_t length)
{
    z_stream stream = {0};
    bytes file = {.data = malloc(length + length / 1000 + 1000)};
    assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (Bytef *)(uintptr_t)data;
    stream.avail_in = (uInt)length;
    stream.next_out = file.data;
    stream.avail_out = (uInt)(length + length / 1000 + 1000);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    file.length = stream.total_out;
    deflateEnd(&stream);
    return file;
}

static weir_status read_bytes(const void *data, size_t length, weir_idx_kind kind, weir_tensor **out)
{
    char folder[64];
    char path[128];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/some-idx", folder);
    write_whole(path, data, length);
    weir_status status = weir_idx_read(path, kind, out);
    remove_folder(folder);
    return status;
}

static void check_images(const void *data, size_t length)
{
    weir_tensor *images = NULL;
    ok(read_bytes(data, length, WEIR_IDX_IMAGES, &images));
    assert_int_equal(images->dtype, WEIR_UINT8);
    assert_true(weir_shape_equal(images->shape, WEIR_SHAPE(300, 28, 28)));
    for (int64_t i = 0; i < images->elements; i++)
        assert_int_equal(((uint8_t *)images->data)[i], i & 0xff);
    weir_tensor_free(images);
}

static void reads_plain_and_compressed(void **state)
{
    bytes plain = make_idx(300, 28, 28);
    bytes gzip = compress_gzip(plain.data, plain.length);
    check_images(plain.data, plain.length);
    check_images(gzip.data, gzip.length);
    /* two compressed members in one file */
    bytes first = compress_gzip(plain.data, 1000);
    bytes second = compress_gzip(plain.data + 1000, plain.length - 1000);
    first.data = realloc(first.data, first.length + second.length);
    memcpy(first.data + first.length, second.data, second.length);
    check_images(first.data, first.length + second.length);
    free(first.data);
    free(second.data);
    free(gzip.data);
    free(plain.data);
    bytes labels = make_idx(10, 0, 0);
    weir_tensor *tensor = NULL;
    ok(read_bytes(labels.data, labels.length, WEIR_IDX_LABELS, &tensor));
    assert_true(weir_shape_equal(tensor->shape, WEIR_SHAPE(10)));
    weir_tensor_free(tensor);
    free(labels.data);
    bytes none = make_idx(0, 28, 28);
    ok(read_bytes(none.data, none.length, WEIR_IDX_IMAGES, &tensor));
    assert_int_equal(tensor->elements, 0);
    weir_tensor_free(tensor);
    free(none.data);
}

/* The name is that of a plain file, and what is read is named by what it holds: F131 (a). */
static void F131_gzip_under_a_plain_name(void **state)
{
    bytes labels = make_idx(60000, 0, 0);
    bytes gzip = compress_gzip(labels.data, labels.length);
    char folder[64];
    char path[128];
    weir_tensor *tensor = NULL;
    make_folder(folder);
    snprintf(path, sizeof path, "%s/train-labels-idx1-ubyte", folder);
    write_whole(path, gzip.data, gzip.length);
    ok(weir_idx_read(path, WEIR_IDX_LABELS, &tensor));
    assert_int_equal(tensor->elements, 60000);
    weir_tensor_free(tensor);
    snprintf(path, sizeof path, "%s/train-labels-idx1-ubyte.gz", folder); /* and the other way round */
    write_whole(path, labels.data, labels.length);
    ok(weir_idx_read(path, WEIR_IDX_LABELS, &tensor));
    weir_tensor_free(tensor);
    remove_folder(folder);
    free(labels.data);
    free(gzip.data);
}

static void F131_images_and_labels_swapped(void **state)
{
    bytes labels = make_idx(10, 0, 0);
    bytes images = make_idx(10, 2, 2);
    weir_tensor *tensor = NULL;
    fails_with(read_bytes(labels.data, labels.length, WEIR_IDX_IMAGES, &tensor), WEIR_DATA_LOSS,
               "/some-idx: magic 2049, not 2051: this file holds labels");
    fails_with(read_bytes(images.data, images.length, WEIR_IDX_LABELS, &tensor), WEIR_DATA_LOSS,
               "/some-idx: magic 2051, not 2049: this file holds images");
    assert_null(tensor);
    free(labels.data);
    free(images.data);
}

static void F131_reversed_header(void **state)
{
    bytes images = make_idx(10, 2, 2);
    weir_tensor *tensor = NULL;
    for (size_t i = 0; i < 16; i += 4)
        weir_put_u32(images.data + i, __builtin_bswap32(weir_get_u32(images.data + i)));
    fails_with(read_bytes(images.data, images.length, WEIR_IDX_IMAGES, &tensor), WEIR_DATA_LOSS,
               "/some-idx: magic 50855936, not 2051: the bytes of its header are reversed");
    assert_null(tensor);
    free(images.data);
}

/* The true count, whose third byte is 0xea; then a byte less and a byte more: F131 (d), (e). */
static void F131_sizes(void **state)
{
    bytes images = make_idx(60000, 28, 28);
    weir_tensor *tensor = NULL;
    struct timespec before, after;
    ok(read_bytes(images.data, images.length, WEIR_IDX_IMAGES, &tensor));
    assert_int_equal(weir_tensor_dim(tensor, 0), 60000);
    weir_tensor_free(tensor);
    tensor = NULL;
    bytes gzip = compress_gzip(images.data, images.length - 1);
    clock_gettime(CLOCK_MONOTONIC, &before);
    fails_with(read_bytes(images.data, images.length - 1, WEIR_IDX_IMAGES, &tensor), WEIR_DATA_LOSS,
               "/some-idx has 47040015 bytes, but 47040016 by its header ([60000,28,28] and 16)");
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(after.tv_sec - before.tv_sec <= 1);
    images.data[images.length] = 7;
    fails_with(read_bytes(images.data, images.length + 1, WEIR_IDX_IMAGES, &tensor), WEIR_DATA_LOSS,
               "has 47040017 bytes, but 47040016 by its header");
    fails_with(read_bytes(gzip.data, gzip.length, WEIR_IDX_IMAGES, &tensor), WEIR_DATA_LOSS,
               "has 47040015 bytes, but 47040016 by its header");
    free(gzip.data);
    gzip = compress_gzip(images.data, images.length + 1);
    fails_with(read_bytes(gzip.data, gzip.length, WEIR_IDX_IMAGES, &tensor), WEIR_DATA_LOSS,
               "has 47040017 bytes, but 47040016 by its header");
    assert_null(tensor);
    free(gzip.data);
    free(images.data);
}

static void other_damage(void **state)
{
    static const struct {
        const char *hex;
        const char *words;
    } cases[] = {
        {"", "has 0 bytes, too few for the header of 16"},
        {"00", "has 1 bytes, too few for the header of 16"},
        {"000008", "has 3 bytes, too few"},
        {"00000803", "has 4 bytes, too few for the header of 16"},
        {"00000801", "magic 2049, not 2051: this file holds labels"},
        {"000008030000000100000001", "has 12 bytes, too few for the header of 16"},
        {"89504e470d0a1a0a", "magic 2303741511 (bytes 89 50 4e 47), not 2051: this is no IDX file of images"},
        {"00000803ffffffff0000000100000001", "impossible size 4294967295 of axis 0"},
        {"00000803000000010000000140000001", "impossible size 1073741825 of axis 2"},
        {"00000803400000004000000040000000", "impossible size 1073741824 of axis 1"},
        {"00000803000100000001000000000100", "has 16 bytes, but 1099511627792 by its header"},
        {"1f8b", "is cut short: its 2 bytes end within the compressed data"},
        {"1f8b0800", "is cut short: its 4 bytes end within the compressed data"},
        {"1f8b09000000000000ff0300", "the compressed data is damaged before byte "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_tensor *tensor = NULL;
        bytes file = from_hex(cases[i].hex);
        fails_with(read_bytes(file.data, file.length, WEIR_IDX_IMAGES, &tensor), WEIR_DATA_LOSS, cases[i].words);
        assert_null(tensor);
        free(file.data);
    }
}

static void damaged_compression(void **state)
{
    bytes plain = make_idx(20, 3, 3);
    bytes gzip = compress_gzip(plain.data, plain.length);
    weir_tensor *tensor = NULL;
    for (size_t length = 2; length < gzip.length; length++)
        fails_with(read_bytes(gzip.data, length, WEIR_IDX_IMAGES, &tensor), WEIR_DATA_LOSS,
                   "end within the compressed data");
    int padding = 0; /* bits behind the compressed data, before its checksum: nothing depends on them */
    for (size_t bit = 8 * 10; bit < 8 * gzip.length; bit++) { /* behind the header, of which little is checked */
        gzip.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        weir_status status = read_bytes(gzip.data, gzip.length, WEIR_IDX_IMAGES, &tensor);
        gzip.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (!weir_ok(status)) {
            assert_int_equal(status.code, WEIR_DATA_LOSS);
            continue;
        }
        padding++;
        assert_memory_equal(tensor->data, plain.data + 16, plain.length - 16);
        weir_tensor_free(tensor);
        tensor = NULL;
    }
    assert_in_range(padding, 0, 7);
    gzip.data[gzip.length] = 'x';
    fails_with(read_bytes(gzip.data, gzip.length + 1, WEIR_IDX_IMAGES, &tensor), WEIR_DATA_LOSS, "/some-idx");
    assert_null(tensor);
    free(plain.data);
    free(gzip.data);
}

/* A small file that promises much: refused without taking the memory, and without unpacking it all. */
static void promises_beyond_the_file(void **state)
{
    uint8_t header[16];
    weir_tensor *tensor = NULL;
    put_big(header, 2051);
    put_big(header + 4, 1 << 20);
    put_big(header + 8, 1 << 10);
    put_big(header + 12, 1 << 10);
    bytes gzip = compress_gzip(header, 16);
    fails_with(read_bytes(gzip.data, gzip.length, WEIR_IDX_IMAGES, &tensor), WEIR_DATA_LOSS,
               "bytes, but 1099511627792 by its header");
    free(gzip.data);
    /* and one that holds far more than it promises */
    size_t length = (size_t)160 << 20;
    uint8_t *zeros = calloc(length, 1);
    put_big(header + 4, 1);
    put_big(header + 8, 1);
    put_big(header + 12, 1);
    memcpy(zeros, header, 16);
    gzip = compress_gzip(zeros, length);
    fails_with(read_bytes(gzip.data, gzip.length, WEIR_IDX_IMAGES, &tensor), WEIR_DATA_LOSS, "has more than 6");
    assert_null(tensor);
    free(gzip.data);
    free(zeros);
}

static void missing_files(void **state)
{
    weir_tensor *tensor = NULL;
    fails_with(weir_idx_read("/no/such/file", WEIR_IDX_IMAGES, &tensor), WEIR_NOT_FOUND,
               "Cannot read /no/such/file: No such file or directory");
    fails_with(weir_idx_read("/tmp", WEIR_IDX_IMAGES, &tensor), WEIR_UNKNOWN, "Cannot read /tmp: Is a directory");
    assert_null(tensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_plain_and_compressed),
        cmocka_unit_test(F131_gzip_under_a_plain_name),
        cmocka_unit_test(F131_images_and_labels_swapped),
        cmocka_unit_test(F131_reversed_header),
        cmocka_unit_test(F131_sizes),
        cmocka_unit_test(other_damage),
        cmocka_unit_test(damaged_compression),
        cmocka_unit_test(promises_beyond_the_file),
        cmocka_unit_test(missing_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
