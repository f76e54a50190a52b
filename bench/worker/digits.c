/*
 * The digits that training steps are fed: MNIST where it is found, else random ones. Random digits are dense, as no
 * pixel of theirs is zero; four of five pixels of MNIST are.
 */
#include "bench.h"

#include <stdlib.h>
#include <sys/stat.h>

static bool has_mnist(const char *folder)
{
    char path[4096];
    struct stat info;
    static const char *const endings[] = {".gz", ""};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/train-images-idx3-ubyte%s", folder, endings[i]);
        if (stat(path, &info) == 0)
            return true;
    }
    return false;
}

weir_status bench_find_mnist(uint64_t seed, weir_mnist **out)
{
    const char *folder = getenv("WEIR_DATA_DIR");
    if (folder == NULL)
        folder = "../shared/data/mnist";
    return has_mnist(folder) ? weir_mnist_open(folder, out, .seed = seed) : WEIR_STATUS_OK;
}

/* xorshift64*: the same digits on every machine. */
static uint32_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * 0x2545F4914F6CDD1D) >> 32);
}

static void fill_random(bench_digits *digits)
{
    uint64_t state = 20160201;
    for (int batch = 0; batch < bench_batches; batch++) {
        for (int64_t i = 0; i < digits->rows * bench_pixels; i++)
            digits->images[batch][i] = (float)(1 + next_random(&state) % 255) / 255;
        for (int64_t i = 0; i < digits->rows; i++)
            digits->labels[batch][i * bench_classes + next_random(&state) % bench_classes] = 1;
    }
}

static weir_status fill_from(bench_digits *digits, weir_mnist *mnist)
{
    for (int batch = 0; batch < bench_batches; batch++) {
        WEIR_AUTO(weir_tensor) *images = NULL;
        WEIR_AUTO(weir_tensor) *labels = NULL;
        WEIR_TRY(weir_tensor_wrap(WEIR_FLOAT, WEIR_SHAPE(digits->rows, bench_pixels), digits->images[batch], NULL, NULL,
                                  &images));
        WEIR_TRY(weir_tensor_wrap(WEIR_FLOAT, WEIR_SHAPE(digits->rows, bench_classes), digits->labels[batch], NULL,
                                  NULL, &labels));
        WEIR_TRY(weir_mnist_next_batch(mnist, images, labels));
    }
    return WEIR_STATUS_OK;
}

/* count floats, zero, aligned to 64 bytes; NULL without memory. */
static float *zeros(int64_t count)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, (size_t)count * sizeof(float)) != 0)
        return NULL;
    for (int64_t i = 0; i < count; i++)
        ((float *)memory)[i] = 0;
    return memory;
}

static weir_status allocate(int64_t rows, bench_digits **out)
{
    bench_digits *digits = calloc(1, sizeof *digits);
    bool is_complete = digits != NULL;
    for (int batch = 0; is_complete && batch < bench_batches; batch++) {
        digits->rows = rows;
        digits->images[batch] = zeros(rows * bench_pixels);
        digits->labels[batch] = zeros(rows * bench_classes);
        is_complete = digits->images[batch] != NULL && digits->labels[batch] != NULL;
    }
    if (!is_complete) {
        bench_digits_free(digits);
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "no memory for %d batches of %lld digits", bench_batches,
                         (long long)rows);
    }
    *out = digits;
    return WEIR_STATUS_OK;
}

weir_status bench_digits_new(int64_t rows, bool is_random, bench_digits **out)
{
    weir_mnist *mnist = NULL;
    bench_digits *digits = NULL;
    WEIR_TRY(allocate(rows, &digits));
    weir_status status = is_random ? WEIR_STATUS_OK : bench_find_mnist(1, &mnist);
    if (weir_ok(status) && mnist != NULL)
        status = fill_from(digits, mnist);
    else
        fill_random(digits);
    weir_mnist_free(mnist);
    if (!weir_ok(status)) {
        bench_digits_free(digits);
        return status;
    }
    *out = digits;
    return WEIR_STATUS_OK;
}

void bench_digits_free(bench_digits *digits)
{
    if (digits == NULL)
        return;
    for (int batch = 0; batch < bench_batches; batch++) {
        free(digits->images[batch]);
        free(digits->labels[batch]);
    }
    free(digits);
}
