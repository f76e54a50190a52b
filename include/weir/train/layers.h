/*
 * Layers, losses and accuracy, with the names, variables and defaults of TensorFlow's slim layers: a layer opens a
 * variable scope (its `.scope`, or a default name made unique), makes "weights" and "biases" in it, then linear part ->
 * normalizer or bias -> activation.
 *
 * Layers differ in training and evaluation: give `.is_training` to batch norm and dropout, or build the network once,
 * in training form, and take its inference form with weir_evaluation_of (<weir/train/evaluation.h>).
 */
#ifndef WEIR_TRAIN_LAYERS_H
#define WEIR_TRAIN_LAYERS_H

#include <weir/train/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weir_activation {
    WEIR_LINEAR = 0,
    WEIR_RELU,
    WEIR_RELU6,
    WEIR_ELU,
    WEIR_SIGMOID,
    WEIR_TANH,
    WEIR_SOFTPLUS,
    WEIR_SOFTMAX
} weir_activation;

/* Batch norm, as a value: what weir_batch_norm(...) gives, for `.normalizer` or weir_normalize. */
typedef struct weir_normalizer {
    bool is_set;
    bool is_training;     /* statistics of the batch; false: the moving ones */
    double decay;         /* of the moving statistics; 0 means 0.999 */
    double epsilon;       /* 0 means 0.001 */
    bool no_center;       /* no "beta" */
    bool scale;           /* "gamma" */
    bool update_in_place; /* moving statistics are updated whenever the layer runs; else by the train op */
    bool frozen;          /* beta and gamma are not trained */
} weir_normalizer;
#ifndef __cplusplus
#define weir_batch_norm(...) ((weir_normalizer){.is_set = true, __VA_ARGS__})
#endif

typedef struct weir_layer_options { /* of dense and conv2d */
    size_t size;
    const char *scope; /* NULL: "fully_connected" or "Conv", made unique */
    weir_activation activation;
    weir_normalizer normalizer; /* instead of a bias */
    bool no_bias;
    weir_initializer weights_initializer; /* none: the variable scope's, else Xavier */
    weir_regularizer weights_regularizer; /* none: the variable scope's */
    weir_initializer biases_initializer;  /* none: zeros */
    bool frozen;
    int stride;       /* convolution: 0 means 1 */
    int stride_width; /* when it differs from stride */
    weir_padding padding;
} weir_layer_options;

/* x [n, ..., inputs] -> [n, ..., outputs]; weights [inputs, outputs]. */
WEIR_API weir_output(weir_dense)(weir_scope s, weir_output x, int outputs, const weir_layer_options *options);
/* x [n, h, w, c] -> [n, h', w', filters]; weights [height, width, c, filters]. */
WEIR_API weir_output(weir_conv2d)(weir_scope s, weir_output x, int filters, int height, int width,
                                  const weir_layer_options *options);

typedef struct weir_pool_options {
    size_t size;
    const char *scope; /* NULL: "MaxPool2D", "AvgPool2D" */
    int stride;        /* 0 means 2 */
    int stride_width;  /* when it differs from stride */
    bool same_padding; /* else only whole windows */
} weir_pool_options;
WEIR_API weir_output(weir_max_pool2d)(weir_scope s, weir_output x, int height, int width,
                                      const weir_pool_options *options);
WEIR_API weir_output(weir_avg_pool2d)(weir_scope s, weir_output x, int height, int width,
                                      const weir_pool_options *options);

typedef struct weir_normalize_options {
    size_t size;
    const char *scope; /* NULL: "BatchNorm" */
    weir_activation activation;
} weir_normalize_options;

/* Batch norm by itself: x [n, c] or [n, h, w, c]. Variables beta, gamma, moving_mean, moving_variance, all [c]. */
WEIR_API weir_output(weir_normalize)(weir_scope s, weir_output x, weir_normalizer normalizer,
                                     const weir_normalize_options *options);

typedef struct weir_dropout_options {
    size_t size;
    const char *scope; /* NULL: "Dropout" */
    bool is_training;  /* else x itself */
    weir_seed seed;
    weir_output noise_shape; /* int32 vector: one decision where it has a 1; null: the shape of x */
} weir_dropout_options;

/* Keeps each element with probability keep, 0 < keep <= 1, times 1 / keep; the others become exactly 0. */
WEIR_API weir_output(weir_dropout)(weir_scope s, weir_output x, double keep, const weir_dropout_options *options);

typedef struct weir_scope_options {
    size_t size;
    const char *scope;
} weir_scope_options;

/* [n, a, b, ...] -> [n, a * b * ...]; "Flatten". */
WEIR_API weir_output(weir_flatten)(weir_scope s, weir_output x, const weir_scope_options *options);

/* ---- Losses and accuracy ---- */

/* Mean over the rows of the softmax cross-entropy: finite for all finite logits. labels: rows of probabilities [n, classes],
 * or class numbers [n] (int32, int64). */
WEIR_API weir_output weir_softmax_loss(weir_scope s, weir_output logits, weir_output labels);

/* loss plus all regularization losses of the graph (loss itself when there are none). */
WEIR_API weir_output weir_total_loss(weir_scope s, weir_output loss);

/* Share of rows whose largest logit is at the label, a float. labels as above. No rows: NaN. */
WEIR_API weir_output weir_accuracy(weir_scope s, weir_output logits, weir_output labels);

/* int32 scalar: how many rows x has. */
WEIR_API weir_output weir_rows(weir_scope s, weir_output x);

#ifndef __cplusplus
#define weir_dense(...) WEIR_CALL_2_((weir_dense), weir_layer_options, __VA_ARGS__, )
#define weir_conv2d(...) WEIR_CALL_4_((weir_conv2d), weir_layer_options, __VA_ARGS__, )
#define weir_max_pool2d(...) WEIR_CALL_3_((weir_max_pool2d), weir_pool_options, __VA_ARGS__, )
#define weir_avg_pool2d(...) WEIR_CALL_3_((weir_avg_pool2d), weir_pool_options, __VA_ARGS__, )
#define weir_normalize(...) WEIR_CALL_2_((weir_normalize), weir_normalize_options, __VA_ARGS__, )
#define weir_dropout(...) WEIR_CALL_2_((weir_dropout), weir_dropout_options, __VA_ARGS__, )
#define weir_flatten(...) WEIR_CALL_1_((weir_flatten), weir_scope_options, __VA_ARGS__, )
#endif

#ifdef __cplusplus
}
#endif

#endif
