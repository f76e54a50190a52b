/*
 * Towers: the same network on several devices, each with a part of the batch, gradients averaged.
 *
 * Parts may be uneven or even empty: give the rows of each as weights, and a step equals one device with the whole batch.
 */
#ifndef WEIR_TRAIN_TOWERS_H
#define WEIR_TRAIN_TOWERS_H

#include <weir/train/optimizers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The scope of tower number index: name scope "tower_<index>", nodes on device, variables on the other, made by whichever
 * tower comes first. Moving statistics of batch norm are updated by tower 0 alone, once per step. */
WEIR_API weir_scope weir_tower(weir_scope s, int index, weir_variables_on variables, const char *device);

/* Rows [rows * index / count, rows * (index + 1) / count) of x. */
WEIR_API weir_output weir_batch_part(weir_scope s, weir_output x, int index, int count);

typedef struct weir_average_options {
    size_t size;
    const weir_output
        *weights; /* [count] scalars of any number type; NULL: all alike. Of weight 0 nothing is taken, not
                                   even a NaN. */
} weir_average_options;

/* The mean of the gradients of each variable. A tower without a gradient for it counts as 0, as
 * its part of the batch would on one device. No towers: the graph keeps INVALID_ARGUMENT. */
WEIR_API weir_gradient_set *(weir_average_gradients)(weir_scope s, weir_gradient_set *const *towers, int count,
                                                     const weir_average_options *options);

/* The mean of outputs of one shape, such as the towers' losses. */
WEIR_API weir_output(weir_average_outputs)(weir_scope s, const weir_output *outputs, int count,
                                           const weir_average_options *options);

#ifndef __cplusplus
#define weir_average_gradients(...) WEIR_CALL_2_((weir_average_gradients), weir_average_options, __VA_ARGS__, )
#define weir_average_outputs(...) WEIR_CALL_2_((weir_average_outputs), weir_average_options, __VA_ARGS__, )
#endif

#ifdef __cplusplus
}
#endif

#endif
