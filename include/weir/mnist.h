/*
 * MNIST and its relatives (Fashion-MNIST): reading the four files and handing out batches by TensorFlow's rule.
 */
#ifndef WEIR_MNIST_H
#define WEIR_MNIST_H

#include <weir/idx.h>
#include <weir/status.h>
#include <weir/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_mnist weir_mnist;

typedef struct weir_mnist_options {
    size_t size;
    int validation_size; /* first so many training images are kept apart; 0 means 5000, -1 none */
    uint64_t seed;       /* of the order of training images; 0 is a seed like any other */
    void (*extracting)(void *context, const char *path); /* told each file before it is read; NULL: nobody */
    void *context;
} weir_mnist_options;

/* Reads train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz, t10k-labels-idx1-ubyte.gz (or
 * the same without .gz) from a folder. folder NULL: WEIR_DATA_DIR or its folder mnist, and nothing else; where that is
 * not set, ./MNIST_data and the folders where `weir data` and Debian put such files. NOT_FOUND names what was looked for. options may be NULL. Returns owned. */
WEIR_API WEIR_WARN_UNUSED weir_status(weir_mnist_open)(const char *folder, const weir_mnist_options *options,
                                                       weir_mnist **out);
WEIR_API void weir_mnist_free(weir_mnist *mnist); /* accepts NULL */

static inline void weir_mnist_free_at(weir_mnist **mnist)
{
    weir_mnist_free(*mnist);
}

/* The folder that was read. */
WEIR_API const char *weir_mnist_folder(const weir_mnist *mnist);

typedef enum weir_mnist_part { WEIR_MNIST_TRAIN = 0, WEIR_MNIST_VALIDATION, WEIR_MNIST_TEST } weir_mnist_part;

WEIR_API int64_t weir_mnist_count(const weir_mnist *mnist, weir_mnist_part part);

/* The next batch of training images, as many as images has rows: before the first batch, and whenever the images run out,
 * all are shuffled; a batch that meets the end takes what is left and goes on with the new order. Any thread.
 *
 * images: float [n, ...] of 784 elements a row, byte * (1/255) in float; or uint8, the bytes. labels: [n] int32, int64 or
 * uint8, class numbers; or float [n, 10], a 1 at the class. Either may be NULL. INVALID_ARGUMENT for other types, shapes or
 * unequal rows. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_mnist_next_batch(weir_mnist *mnist, weir_tensor *images,
                                                            weir_tensor *labels);

/* Times that the training images have been gone through. */
WEIR_API int64_t weir_mnist_epochs(const weir_mnist *mnist);

/* Images and labels of a part from number first on, in the order of the file. OUT_OF_RANGE past the end. Any thread. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_mnist_get(const weir_mnist *mnist, weir_mnist_part part, int64_t first,
                                                     weir_tensor *images, weir_tensor *labels);

#ifndef __cplusplus
#define weir_mnist_open(...) WEIR_MNIST_OPEN_(__VA_ARGS__, )
/* weir_mnist_open(folder, &mnist, .seed = 1) */
#define WEIR_MNIST_OPEN_(folder, out, ...)                                                                             \
    (weir_mnist_open)((folder), &(const weir_mnist_options){.size = sizeof(weir_mnist_options), __VA_ARGS__}, (out))
#endif

#ifdef __cplusplus
}
#endif

#endif
