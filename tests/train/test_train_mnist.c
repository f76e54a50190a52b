/*
 * Digits: TensorFlow's rule of batches, the parts, types of tensors, and files that are something else (F131).
 */
#include <sys/stat.h>
#include <unistd.h>

#include "train/train_test.h"

enum { TRAIN = 23, TEST = 5, SIDE = 2 };

static char folder[256];

static void write_file(const char *name, uint32_t magic, int count, int side, int value_of(int item), long change)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    const uint32_t header[] = {magic, (uint32_t)count, (uint32_t)side, (uint32_t)side};
    int words = side > 0 ? 4 : 2;
    for (int i = 0; i < words; i++)
        for (int shift = 24; shift >= 0; shift -= 8)
            fputc((int)(header[i] >> shift & 255), file);
    long bytes = (long)count * (side > 0 ? side * side : 1) + change;
    for (long i = 0; i < bytes; i++)
        fputc(value_of((int)(side > 0 ? i / (side * side) : i)), file);
    fclose(file);
}

static int image_value(int item)
{
    return item;
}

static int label_value(int item)
{
    return item % 10;
}

static void write_all(void)
{
    write_file("train-images-idx3-ubyte", 2051, TRAIN, SIDE, image_value, 0);
    write_file("train-labels-idx1-ubyte", 2049, TRAIN, 0, label_value, 0);
    write_file("t10k-images-idx3-ubyte", 2051, TEST, SIDE, image_value, 0);
    write_file("t10k-labels-idx1-ubyte", 2049, TEST, 0, label_value, 0);
}

static weir_mnist *open_small(uint64_t seed)
{
    weir_mnist *mnist = NULL;
    write_all();
    assert_ok(weir_mnist_open(folder, &mnist, .validation_size = 3, .seed = seed));
    return mnist;
}

/* The next batch as the items' numbers, which the images hold. */
static void next_items(weir_mnist *mnist, int size, int *items)
{
    WEIR_AUTO(weir_tensor) *images = NULL;
    WEIR_AUTO(weir_tensor) *labels = NULL;
    assert_ok(weir_tensor_new(WEIR_UINT8, WEIR_SHAPE(size, SIDE, SIDE), &images));
    assert_ok(weir_tensor_new(WEIR_INT32, WEIR_SHAPE(size), &labels));
    assert_ok(weir_mnist_next_batch(mnist, images, labels));
    for (int i = 0; i < size; i++) {
        items[i] = weir_tensor_bytes(images)[i * SIDE * SIDE];
        assert_int_equal(weir_tensor_int32s(labels)[i], items[i] % 10);
    }
}

/* Each of the 20 training items (3 to 22) once. */
static void assert_all_once(const int *items)
{
    int seen[TRAIN] = {0};
    for (int i = 0; i < 20; i++)
        seen[items[i]]++;
    for (int i = 0; i < TRAIN; i++)
        assert_int_equal(seen[i], i >= 3);
}

static void test_batches_straddle_epochs(void **state)
{
    int items[60];
    weir_mnist *mnist = open_small(1);
    assert_int_equal(weir_mnist_count(mnist, WEIR_MNIST_TRAIN), 20);
    assert_int_equal(weir_mnist_count(mnist, WEIR_MNIST_VALIDATION), 3);
    assert_int_equal(weir_mnist_count(mnist, WEIR_MNIST_TEST), TEST);
    for (int at = 0; at < 56; at += 7)
        next_items(mnist, 7, items + at);
    assert_all_once(items);
    assert_all_once(items + 20);
    assert_int_equal(weir_mnist_epochs(mnist), 2);
    assert_memory_not_equal(items, items + 20, 20 * sizeof(int));
    for (int i = 1, sorted = 1; i < 20; i++) {
        sorted = sorted && items[i] > items[i - 1];
        assert_false(i == 19 && sorted); /* shuffled before the first batch */
    }
    weir_mnist_free(mnist);
}

static void test_an_epoch_ends_when_the_next_begins(void **state)
{
    int items[20];
    weir_mnist *mnist = open_small(1);
    next_items(mnist, 20, items);
    assert_int_equal(weir_mnist_epochs(mnist), 0);
    next_items(mnist, 1, items);
    assert_int_equal(weir_mnist_epochs(mnist), 1);
    weir_mnist_free(mnist);
}

static void test_seeds(void **state)
{
    int first[20], same[20], other[20];
    weir_mnist *mnist = open_small(7);
    next_items(mnist, 20, first);
    weir_mnist_free(mnist);
    mnist = open_small(7);
    next_items(mnist, 20, same);
    weir_mnist_free(mnist);
    mnist = open_small(8);
    next_items(mnist, 20, other);
    weir_mnist_free(mnist);
    assert_memory_equal(first, same, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
}

static void test_types(void **state)
{
    weir_mnist *mnist = open_small(1);
    WEIR_AUTO(weir_tensor) *images = NULL;
    WEIR_AUTO(weir_tensor) *labels = NULL;
    WEIR_AUTO(weir_tensor) *wide = NULL;
    WEIR_AUTO(weir_tensor) *wrong = NULL;
    assert_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(2, SIDE * SIDE), &images));
    assert_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(2, 10), &labels));
    assert_ok(weir_tensor_new(WEIR_INT64, WEIR_SHAPE(2), &wide));
    assert_ok(weir_tensor_new(WEIR_DOUBLE, WEIR_SHAPE(2, 3), &wrong));
    assert_ok(weir_mnist_get(mnist, WEIR_MNIST_TRAIN, 18, images, labels)); /* items 21 and 22 */
    assert_true(weir_tensor_floats(images)[4] == 22.0f * (1.0f / 255.0f));
    for (int i = 0; i < 10; i++)
        assert_true(weir_tensor_floats(labels)[10 + i] == (i == 2));
    assert_ok(weir_mnist_get(mnist, WEIR_MNIST_VALIDATION, 1, NULL, wide));
    assert_int_equal(weir_tensor_int64s(wide)[1], 2);
    assert_fails(weir_mnist_get(mnist, WEIR_MNIST_VALIDATION, 2, images, NULL), WEIR_OUT_OF_RANGE,
                 "2 items from number 2 on, but part 1 has 3");
    WEIR_AUTO(weir_tensor) *endless = NULL; /* rows times pixels is 0 in 64 bits, as are its elements */
    assert_int_equal(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(INT64_C(1) << 62, 0), &endless).code, WEIR_OK);
    assert_fails(weir_mnist_next_batch(mnist, endless, NULL), WEIR_INVALID_ARGUMENT, "elements a row");
    assert_fails(weir_mnist_get(mnist, WEIR_MNIST_TRAIN, 0, wrong, NULL), WEIR_INVALID_ARGUMENT,
                 "Images need a float or uint8");
    assert_fails(weir_mnist_get(mnist, WEIR_MNIST_TRAIN, 0, NULL, wrong), WEIR_INVALID_ARGUMENT,
                 "Labels need a tensor");
    assert_fails(weir_mnist_next_batch(mnist, NULL, NULL), WEIR_INVALID_ARGUMENT, "Neither images nor labels");
    weir_mnist_free(mnist);
}

static void count_files(void *context, const char *path)
{
    static const char *const order[] = {"train-images", "train-labels", "t10k-images", "t10k-labels"};
    int *count = context;
    assert_non_null(strstr(path, order[*count]));
    (*count)++;
}

static void test_files_are_told_in_order(void **state)
{
    int count = 0;
    weir_mnist *mnist = NULL;
    write_all();
    assert_ok(weir_mnist_open(folder, &mnist, .validation_size = -1, .extracting = count_files, .context = &count));
    assert_int_equal(count, 4);
    assert_int_equal(weir_mnist_count(mnist, WEIR_MNIST_TRAIN), TRAIN);
    weir_mnist_free(mnist);
    assert_fails(weir_mnist_open("/nowhere", &mnist), WEIR_NOT_FOUND,
                 "'/nowhere' has no file train-images-idx3-ubyte.gz");
    assert_fails(weir_mnist_open(folder, &mnist, .validation_size = 24), WEIR_INVALID_ARGUMENT,
                 "Validation size should be between 0 and 23. Received: 24.");
}

static int wrong_label(int item)
{
    return item == 4 ? 10 : 1;
}

static void test_F131_files_that_are_something_else(void **state)
{
    weir_mnist *mnist = NULL;
    char command[1024];
    write_all();
    /* (a) compressed bytes under the plain name */
    snprintf(command, sizeof command,
             "cd '%s' && gzip -f -k train-images-idx3-ubyte && mv train-images-idx3-ubyte.gz "
             "train-images-idx3-ubyte",
             folder);
    assert_int_equal(system(command), 0);
    assert_ok(weir_mnist_open(folder, &mnist, .validation_size = 3));
    weir_mnist_free(mnist);
    /* (b) labels where images should be */
    write_file("train-images-idx3-ubyte", 2049, TRAIN, 0, label_value, 0);
    assert_fails(weir_mnist_open(folder, &mnist), WEIR_DATA_LOSS, "magic 2049, not 2051: this file holds labels");
    /* (c) reversed bytes */
    write_file("train-images-idx3-ubyte", 0x03080000, TRAIN, SIDE, image_value, 0);
    assert_fails(weir_mnist_open(folder, &mnist), WEIR_DATA_LOSS, "revers");
    /* (d) a count with a byte above 0x7f */
    write_file("train-images-idx3-ubyte", 2051, 60000, SIDE, image_value, 0);
    write_file("train-labels-idx1-ubyte", 2049, 60000, 0, label_value, 0);
    assert_ok(weir_mnist_open(folder, &mnist));
    assert_int_equal(weir_mnist_count(mnist, WEIR_MNIST_TRAIN), 55000);
    weir_mnist_free(mnist);
    /* (e) a byte missing, a byte too many: actual size and size by header */
    for (int change = -1; change <= 1; change += 2) {
        char actual[32];
        write_file("train-images-idx3-ubyte", 2051, TRAIN, SIDE, image_value, change);
        snprintf(actual, sizeof actual, "%d", 16 + TRAIN * SIDE * SIDE + change);
        assert_fails(weir_mnist_open(folder, &mnist), WEIR_DATA_LOSS, actual);
        assert_fails(weir_mnist_open(folder, &mnist), WEIR_DATA_LOSS, "108"); /* by the header */
    }
    write_all();
    write_file("t10k-labels-idx1-ubyte", 2049, TEST, 0, wrong_label, 0);
    assert_fails(weir_mnist_open(folder, &mnist), WEIR_DATA_LOSS, "label 10 of item 4 is outside of [0, 10)");
    write_file("t10k-labels-idx1-ubyte", 2049, TEST + 1, 0, label_value, 0);
    assert_fails(weir_mnist_open(folder, &mnist), WEIR_DATA_LOSS, "5 images in t10k-images-idx3-ubyte, but 6 labels");
}

static int make_folder(void **state)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/weir_digits_XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_straddle_epochs),
        cmocka_unit_test(test_an_epoch_ends_when_the_next_begins),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_files_are_told_in_order),
        cmocka_unit_test(test_F131_files_that_are_something_else),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
