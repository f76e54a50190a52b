/*
 * MNIST: its four files as bytes in memory, and batches by TensorFlow's next_batch rule.
 *
 * The order is shuffled by Fisher and Yates from the end, with numbers of SplitMix64 seeded by the caller: for i from
 * n - 1 down to 1, swap i with a number below i + 1 taken as the high half of (next * (i + 1)).
 */
#include <weir/mnist.h>

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLASSES 10
#define DEFAULT_VALIDATION 5000

typedef struct part {
    const uint8_t *images; /* [count, pixels] */
    const uint8_t *labels; /* [count] */
    int64_t count;
} part;

struct weir_mnist {
    char *folder;
    weir_tensor *tensors[4]; /* images and labels for training, images and labels for testing */
    int64_t pixels;          /* of an image */
    part parts[3];
    float scaled[256]; /* byte * (1/255), in float */
    /* The order of training images, under the mutex. */
    pthread_mutex_t mutex;
    uint64_t random;
    int64_t *order;
    int64_t at;
    int64_t epochs;
    bool is_shuffled;
};

static const char *const file_names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                                         "t10k-labels-idx1-ubyte"};

/* ---- Finding the files ---- */

/* The path of a file, compressed or not; false when neither is there. */
static bool find_file(const char *folder, const char *name, char *path, size_t size)
{
    static const char *const endings[] = {".gz", ""};
    for (int i = 0; i < 2; i++) {
        int length = snprintf(path, size, "%s/%s%s", folder, name, endings[i]);
        if (length > 0 && (size_t)length < size && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static bool holds_data(const char *folder)
{
    char path[PATH_MAX];
    return folder[0] != '\0' && find_file(folder, file_names[0], path, sizeof path);
}

/* "<base>/<rest>" if the data is there. */
static bool try_folder(const char *base, const char *rest, char *folder, size_t size)
{
    if (base == NULL || base[0] == '\0')
        return false;
    int length = snprintf(folder, size, "%s%s", base, rest);
    return length > 0 && (size_t)length < size && holds_data(folder);
}

static weir_status choose_folder(const char *given, char *folder, size_t size)
{
    const char *variable = getenv("WEIR_DATA_DIR");
    if (given != NULL) {
        snprintf(folder, size, "%s", given);
        return WEIR_STATUS_OK;
    }
    if (variable != NULL && variable[0] != '\0') { /* asked for: nothing else will do */
        if (try_folder(variable, "", folder, size) || try_folder(variable, "/mnist", folder, size))
            return WEIR_STATUS_OK;
        return weir_fail(WEIR_NOT_FOUND, "WEIR_DATA_DIR=%s: neither this folder nor its mnist has %s.gz", variable,
                         file_names[0]);
    }
    bool found = try_folder("MNIST_data", "", folder, size) || try_folder("../shared/data/mnist", "", folder, size) ||
                 try_folder(getenv("XDG_CACHE_HOME"), "/weir/mnist", folder, size) ||
                 try_folder(getenv("HOME"), "/.cache/weir/mnist", folder, size) ||
                 try_folder("/usr/share/datasets/fashion-mnist", "", folder, size) ||
                 try_folder("/usr/share/dataset-fashion-mnist", "", folder, size);
    if (found)
        return WEIR_STATUS_OK;
    return weir_fail(
        WEIR_NOT_FOUND,
        "No folder with %s.gz found: looked in ./MNIST_data, ../shared/data/mnist, ~/.cache/weir/mnist and "
        "Debian's dataset-fashion-mnist; `weir data mnist` fetches the files, WEIR_DATA_DIR names a folder",
        file_names[0]);
}

/* ---- Reading ---- */

static weir_status read_file(weir_mnist *mnist, int index, const weir_mnist_options *options)
{
    char path[PATH_MAX];
    if (!find_file(mnist->folder, file_names[index], path, sizeof path))
        return weir_fail(WEIR_NOT_FOUND, "'%s' has no file %s.gz (nor one without .gz)", mnist->folder,
                         file_names[index]);
    if (options->extracting != NULL)
        options->extracting(options->context, path);
    return weir_idx_read(path, index % 2 == 0 ? WEIR_IDX_IMAGES : WEIR_IDX_LABELS, &mnist->tensors[index]);
}

static weir_status check_labels(const char *folder, const char *name, const weir_tensor *labels)
{
    const uint8_t *values = weir_tensor_data_const(labels);
    for (int64_t i = 0; i < weir_tensor_elements(labels); i++) {
        if (values[i] >= CLASSES)
            return weir_fail(WEIR_DATA_LOSS, "%s/%s: label %d of item %lld is outside of [0, %d)", folder, name,
                             values[i], (long long)i, CLASSES);
    }
    return WEIR_STATUS_OK;
}

/* Images and labels of one pair of files. */
static weir_status pair_up(const weir_mnist *mnist, int first, part *whole)
{
    const weir_tensor *images = mnist->tensors[first];
    const weir_tensor *labels = mnist->tensors[first + 1];
    if (weir_tensor_dim(images, 0) != weir_tensor_dim(labels, 0))
        return weir_fail(WEIR_DATA_LOSS, "%s: %lld images in %s, but %lld labels in %s", mnist->folder,
                         (long long)weir_tensor_dim(images, 0), file_names[first],
                         (long long)weir_tensor_dim(labels, 0), file_names[first + 1]);
    *whole = (part){weir_tensor_data_const(images), weir_tensor_data_const(labels), weir_tensor_dim(labels, 0)};
    return check_labels(mnist->folder, file_names[first + 1], labels);
}

static weir_status divide(weir_mnist *mnist, int validation)
{
    part train, test;
    WEIR_TRY(pair_up(mnist, 0, &train));
    WEIR_TRY(pair_up(mnist, 2, &test));
    const weir_tensor *images = mnist->tensors[0];
    mnist->pixels = weir_tensor_dim(images, 1) * weir_tensor_dim(images, 2);
    int64_t test_pixels = weir_tensor_dim(mnist->tensors[2], 1) * weir_tensor_dim(mnist->tensors[2], 2);
    if (mnist->pixels != test_pixels || mnist->pixels == 0)
        return weir_fail(WEIR_DATA_LOSS, "%s: images of %lld pixels for training and %lld for testing", mnist->folder,
                         (long long)mnist->pixels, (long long)test_pixels);
    if (validation > train.count)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Validation size should be between 0 and %lld. Received: %d.",
                         (long long)train.count, validation);
    mnist->parts[WEIR_MNIST_VALIDATION] = (part){train.images, train.labels, validation};
    mnist->parts[WEIR_MNIST_TRAIN] =
        (part){train.images + validation * mnist->pixels, train.labels + validation, train.count - validation};
    mnist->parts[WEIR_MNIST_TEST] = test;
    return WEIR_STATUS_OK;
}

static weir_status fill(weir_mnist *mnist, const weir_mnist_options *options)
{
    for (int i = 0; i < 4; i++)
        WEIR_TRY(read_file(mnist, i, options));
    int validation = options->validation_size == 0 ? DEFAULT_VALIDATION : options->validation_size;
    WEIR_TRY(divide(mnist, validation > 0 ? validation : 0));
    int64_t count = mnist->parts[WEIR_MNIST_TRAIN].count;
    mnist->order = malloc(((size_t)count + 1) * sizeof *mnist->order);
    if (mnist->order == NULL)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: an order of %lld images", (long long)count);
    for (int64_t i = 0; i < count; i++)
        mnist->order[i] = i;
    for (int i = 0; i < 256; i++)
        mnist->scaled[i] = (float)i * (1.0f / 255.0f);
    mnist->random = options->seed;
    return WEIR_STATUS_OK;
}

weir_status(weir_mnist_open)(const char *folder, const weir_mnist_options *options, weir_mnist **out)
{
    static const weir_mnist_options none = {0};
    char chosen[PATH_MAX];
    WEIR_TRY(choose_folder(folder, chosen, sizeof chosen));
    weir_mnist *mnist = calloc(1, sizeof *mnist);
    if (mnist == NULL)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: %zu bytes", sizeof *mnist);
    pthread_mutex_init(&mnist->mutex, NULL);
    mnist->folder = strdup(chosen);
    weir_status status = mnist->folder != NULL ? fill(mnist, options != NULL ? options : &none)
                                               : weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: a path");
    if (weir_ok(status))
        *out = mnist;
    else
        weir_mnist_free(mnist);
    return status;
}

void weir_mnist_free(weir_mnist *mnist)
{
    if (mnist == NULL)
        return;
    for (int i = 0; i < 4; i++)
        weir_tensor_free(mnist->tensors[i]);
    pthread_mutex_destroy(&mnist->mutex);
    free(mnist->folder);
    free(mnist->order);
    free(mnist);
}

const char *weir_mnist_folder(const weir_mnist *mnist)
{
    return mnist->folder;
}

int64_t weir_mnist_count(const weir_mnist *mnist, weir_mnist_part part)
{
    return (unsigned)part < 3 ? mnist->parts[part].count : 0;
}

/* ---- Writing rows ---- */

/* Where rows go; rows as they are in the tensors. */
typedef struct batch {
    weir_tensor *images, *labels;
    int64_t rows;
} batch;

static weir_status check_images(const weir_mnist *mnist, const weir_tensor *images)
{
    char text[WEIR_SHAPE_TEXT_SIZE];
    weir_dtype dtype = weir_tensor_dtype(images);
    int64_t rows = weir_tensor_dim(images, 0);
    int64_t elements = 0;
    bool is_fine = (dtype == WEIR_FLOAT || dtype == WEIR_UINT8) && rows >= 0 &&
                   !__builtin_mul_overflow(rows, mnist->pixels, &elements) && weir_tensor_elements(images) == elements;
    if (is_fine)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "Images need a float or uint8 tensor of %lld elements a row, not %s %s",
                     (long long)mnist->pixels, weir_dtype_name(dtype),
                     weir_shape_text(weir_tensor_shape(images), text, sizeof text));
}

static weir_status check_label_tensor(const weir_tensor *labels)
{
    char text[WEIR_SHAPE_TEXT_SIZE];
    weir_dtype dtype = weir_tensor_dtype(labels);
    bool are_rows = dtype == WEIR_FLOAT && weir_tensor_rank(labels) == 2 && weir_tensor_dim(labels, 1) == CLASSES;
    bool are_numbers =
        (dtype == WEIR_INT32 || dtype == WEIR_INT64 || dtype == WEIR_UINT8) && weir_tensor_rank(labels) == 1;
    if (are_rows || are_numbers)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT,
                     "Labels need a tensor float [n,%d], or int32, int64 or uint8 [n], not %s %s", CLASSES,
                     weir_dtype_name(dtype), weir_shape_text(weir_tensor_shape(labels), text, sizeof text));
}

static weir_status check_batch(const weir_mnist *mnist, batch *out)
{
    if (out->images == NULL && out->labels == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Neither images nor labels are wanted");
    if (out->images != NULL)
        WEIR_TRY(check_images(mnist, out->images));
    if (out->labels != NULL)
        WEIR_TRY(check_label_tensor(out->labels));
    out->rows = weir_tensor_dim(out->images != NULL ? out->images : out->labels, 0);
    if (out->images != NULL && out->labels != NULL && weir_tensor_dim(out->labels, 0) != out->rows)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%lld rows of images, but %lld of labels", (long long)out->rows,
                         (long long)weir_tensor_dim(out->labels, 0));
    return WEIR_STATUS_OK;
}

static void write_label(const batch *out, int64_t row, uint8_t label)
{
    char *data = weir_tensor_data(out->labels);
    switch (weir_tensor_dtype(out->labels)) {
    case WEIR_FLOAT:
        memset((float *)data + row * CLASSES, 0, CLASSES * sizeof(float));
        ((float *)data)[row * CLASSES + label] = 1;
        break;
    case WEIR_INT32:
        ((int32_t *)data)[row] = label;
        break;
    case WEIR_INT64:
        ((int64_t *)data)[row] = label;
        break;
    default:
        data[row] = (char)label;
    }
}

static void write_image(const weir_mnist *mnist, const batch *out, int64_t row, const uint8_t *image)
{
    int64_t pixels = mnist->pixels;
    if (weir_tensor_dtype(out->images) == WEIR_UINT8) {
        memcpy((uint8_t *)weir_tensor_data(out->images) + row * pixels, image, (size_t)pixels);
        return;
    }
    float *scaled = (float *)weir_tensor_data(out->images) + row * pixels;
    for (int64_t i = 0; i < pixels; i++)
        scaled[i] = mnist->scaled[image[i]];
}

static void write_row(const weir_mnist *mnist, const part *from, const batch *out, int64_t row, int64_t item)
{
    if (out->images != NULL)
        write_image(mnist, out, row, from->images + item * mnist->pixels);
    if (out->labels != NULL)
        write_label(out, row, from->labels[item]);
}

weir_status weir_mnist_get(const weir_mnist *mnist, weir_mnist_part part, int64_t first, weir_tensor *images,
                           weir_tensor *labels)
{
    batch out = {images, labels, 0};
    if ((unsigned)part >= 3)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%d is no part of the data", (int)part);
    WEIR_TRY(check_batch(mnist, &out));
    int64_t count = mnist->parts[part].count;
    if (first < 0 || first > count - out.rows)
        return weir_fail(WEIR_OUT_OF_RANGE, "%s: %lld items from number %lld on, but part %d has %lld", mnist->folder,
                         (long long)out.rows, (long long)first, (int)part, (long long)count);
    for (int64_t row = 0; row < out.rows; row++)
        write_row(mnist, &mnist->parts[part], &out, row, first + row);
    return WEIR_STATUS_OK;
}

/* ---- Batches ---- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void shuffle(weir_mnist *mnist)
{
    for (int64_t i = mnist->parts[WEIR_MNIST_TRAIN].count - 1; i > 0; i--) {
        __extension__ typedef unsigned __int128 wide;
        int64_t j = (int64_t)(((wide)next_random(&mnist->random) * (uint64_t)(i + 1)) >> 64);
        int64_t kept = mnist->order[i];
        mnist->order[i] = mnist->order[j];
        mnist->order[j] = kept;
    }
}

/* The mutex is held. */
static void take(weir_mnist *mnist, const batch *out)
{
    const part *train = &mnist->parts[WEIR_MNIST_TRAIN];
    if (!mnist->is_shuffled) {
        shuffle(mnist);
        mnist->is_shuffled = true;
    }
    for (int64_t row = 0; row < out->rows; row++) {
        if (mnist->at == train->count) {
            shuffle(mnist);
            mnist->at = 0;
            mnist->epochs++;
        }
        write_row(mnist, train, out, row, mnist->order[mnist->at++]);
    }
}

weir_status weir_mnist_next_batch(weir_mnist *mnist, weir_tensor *images, weir_tensor *labels)
{
    batch out = {images, labels, 0};
    WEIR_TRY(check_batch(mnist, &out));
    if (mnist->parts[WEIR_MNIST_TRAIN].count == 0)
        return weir_fail(WEIR_OUT_OF_RANGE, "No training images are left beside %lld for validation",
                         (long long)mnist->parts[WEIR_MNIST_VALIDATION].count);
    pthread_mutex_lock(&mnist->mutex);
    take(mnist, &out);
    pthread_mutex_unlock(&mnist->mutex);
    return WEIR_STATUS_OK;
}

int64_t weir_mnist_epochs(const weir_mnist *mnist)
{
    pthread_mutex_lock((pthread_mutex_t *)&mnist->mutex);
    int64_t epochs = mnist->epochs;
    pthread_mutex_unlock((pthread_mutex_t *)&mnist->mutex);
    return epochs;
}
