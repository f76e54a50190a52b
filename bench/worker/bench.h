/*
 * What the parts of the worker share: a bench that has been built, how one is declared, and the digits they are fed.
 */
#ifndef WEIR_BENCH_WORKER_BENCH_H
#define WEIR_BENCH_WORKER_BENCH_H

#include <weir/weir.h>

enum {
    bench_pixels = 784,
    bench_classes = 10,
    bench_batches = 8,      // as many different batches are fed in turn
    bench_most_rows = 1024, // of one batch
};

/* Images and labels of bench_batches batches, each aligned to 64 bytes. */
typedef struct bench_digits {
    int64_t rows;
    float *images[bench_batches]; // [rows, 784], 0..1
    float *labels[bench_batches]; // [rows, 10], a 1 at the class
} bench_digits;

/* Fills batches of rows digits: from MNIST where its folder is found, else (or with is_random) dense random ones. Returns
 * owned. */
weir_status bench_digits_new(int64_t rows, bool is_random, bench_digits **out);
void bench_digits_free(bench_digits *digits); // accepts NULL

/* MNIST from WEIR_DATA_DIR, without it from ../shared/data/mnist; *out stays NULL when there is none. */
weir_status bench_find_mnist(uint64_t seed, weir_mnist **out);

/* A bench that is ready to be run. iterate does one iteration, and returns what the bench is about to its caller. */
typedef struct bench {
    const struct bench_kind *kind;
    int threads;
    weir_graph *graph;
    weir_session *session;
    weir_step *step;
    bench_digits *digits;
    int64_t iterations;
    float result; // the last loss or value fetched; that it is used keeps the iteration honest
    void *own;    // of the kind
} bench;

/* A family of benches: build makes graph, session and step for what variant says. */
typedef struct bench_kind {
    const char *name;
    int variant;
    weir_status (*build)(bench *bench, int variant);
    weir_status (*iterate)(bench *bench);
    void (*clear)(bench *bench); // frees own; NULL: nothing to do
    bool is_once;                // one iteration is a measurement: no warming up, no repeating to fill the time
    const char *result_name;     // how the answer calls result; NULL: it is left out
} bench_kind;

extern const bench_kind bench_networks[];    // training steps
extern const bench_kind bench_epochs[];      // a whole training
extern const bench_kind bench_engine[];      // what a run and a node cost
extern const bench_kind bench_checkpoints[]; // saving and restoring
                                             // each list ends at an entry without a name

/* Builds the bench; on failure it can be cleared all the same. */
weir_status bench_build(bench *bench, const bench_kind *kind, int threads);
void bench_clear(bench *bench);

/* Makes the bench's session, with passes switched off (NULL: none is), and runs init (NULL: nothing). */
weir_status bench_start(bench *bench, const char *disabled_passes, weir_node *init);

/* One step fed with the next batch; its first fetch becomes the result. */
weir_status bench_train(bench *bench);

/* The network of 784-100-10 that first_step and the resident memory are measured with. */
weir_status bench_build_mlp(bench *bench, bool is_adam, int64_t rows, bool has_random_digits);

/* What the small convolutional network's own trainings need of its graph. */
typedef struct bench_cnn {
    weir_output x, y;      // [n, 784], [n, 10]
    weir_output loss;      // mean cross-entropy of the training form
    weir_output inference; // logits of the inference form; null when not asked for
    weir_output accuracy;  // its share of right rows
    weir_node *train;
    weir_node *init;
} bench_cnn;
bench_cnn bench_build_cnn(weir_scope s, bool has_inference);

#endif
