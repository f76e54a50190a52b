/*
 * A whole training of the small convolutional network, as its tutorial does it: 5 epochs of shuffled digits in batches of
 * 1024, the batch's accuracy with every step, all test digits and a checkpoint after each epoch. It needs MNIST.
 */
#include "bench.h"

#include <stdlib.h>

#include "folder.h"

enum { epochs = 5, rows = bench_most_rows };

typedef struct training {
    bench_cnn net;
    weir_evaluation *test;
    weir_saver *saver;
    weir_mnist *mnist;
    weir_tensor *images; // [rows, 784] and
    weir_tensor *labels; // [rows, 10]: of the test, one batch
    char folder[256];    // of checkpoints
} training;

static weir_status build(bench *bench, int variant)
{
    (void)variant;
    weir_scope s = weir_root(bench->graph);
    training *own = calloc(1, sizeof *own);
    bench->own = own;
    if (own == NULL)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "no memory for a training");
    WEIR_TRY(bench_find_mnist(1, &own->mnist));
    if (own->mnist == NULL)
        return weir_fail(WEIR_NOT_FOUND, "needs MNIST: in the folder WEIR_DATA_DIR or ../shared/data/mnist");
    own->net = bench_build_cnn(s, true);
    own->test = weir_evaluation_new(s, own->net.inference, own->net.y);
    own->saver = weir_saver_new(s);
    WEIR_TRY(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(rows, bench_pixels), &own->images));
    WEIR_TRY(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(rows, bench_classes), &own->labels));
    WEIR_TRY(bench_make_folder(own->folder, sizeof own->folder));
    WEIR_TRY(bench_start(bench, NULL, NULL));
    return weir_prepare(bench->session, &bench->step, .targets = {own->net.train}, .feeds = {own->net.x, own->net.y},
                        .fetches = {own->net.loss, own->net.accuracy},
                        .feed_shapes = {WEIR_SHAPE(rows, bench_pixels), WEIR_SHAPE(rows, bench_classes)});
}

static void clear(bench *bench)
{
    training *own = bench->own;
    if (own == NULL)
        return;
    bench_remove_folder(own->folder);
    weir_tensor_free(own->images);
    weir_tensor_free(own->labels);
    weir_mnist_free(own->mnist);
    free(own);
}

static weir_status test(bench *bench, const training *own)
{
    int64_t count = weir_mnist_count(own->mnist, WEIR_MNIST_TEST), hits = 0, seen = 0;
    for (int64_t first = 0; first < count; first += rows) {
        int64_t size = count - first < rows ? count - first : rows;
        WEIR_AUTO(weir_tensor) *images = NULL;
        WEIR_AUTO(weir_tensor) *labels = NULL;
        WEIR_TRY(weir_tensor_wrap(WEIR_FLOAT, WEIR_SHAPE(size, bench_pixels), weir_tensor_floats(own->images), NULL,
                                  NULL, &images));
        WEIR_TRY(weir_tensor_wrap(WEIR_FLOAT, WEIR_SHAPE(size, bench_classes), weir_tensor_floats(own->labels), NULL,
                                  NULL, &labels));
        WEIR_TRY(weir_mnist_get(own->mnist, WEIR_MNIST_TEST, first, images, labels));
        const weir_feed feeds[] = {{own->net.x, images}, {own->net.y, labels}};
        WEIR_TRY(weir_evaluation_run(bench->session, own->test, feeds, 2, &hits, &seen));
    }
    bench->result = seen > 0 ? (float)hits / (float)seen : 0;
    return WEIR_STATUS_OK;
}

static weir_status iterate(bench *bench)
{
    training *own = bench->own;
    int64_t steps = weir_mnist_count(own->mnist, WEIR_MNIST_TRAIN) / rows;
    WEIR_TRY(weir_run(bench->session, .targets = {own->net.init}));
    for (int epoch = 0; epoch < epochs; epoch++) {
        char path[300];
        for (int64_t i = 0; i < steps; i++) {
            WEIR_TRY(weir_mnist_next_batch(own->mnist, weir_step_feed(bench->step, 0), weir_step_feed(bench->step, 1)));
            WEIR_TRY(weir_step_run(bench->step));
        }
        WEIR_TRY(test(bench, own));
        snprintf(path, sizeof path, "%s/model.ckpt", own->folder);
        WEIR_TRY(weir_saver_save(own->saver, bench->session, path, .global_step = WEIR_STEP(epoch)));
    }
    return WEIR_STATUS_OK;
}

const bench_kind bench_epochs[] = {
    {.name = "cnn_5epochs",
     .build = build,
     .iterate = iterate,
     .clear = clear,
     .is_once = true,
     .result_name = "accuracy"},
    {.name = NULL},
};
