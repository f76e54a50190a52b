/*
 * Softmax and what is made of it, row by row: x [rows, classes]. Every row is shifted by its maximum first, so finite
 * logits give finite results. Types float (fast), double, half and bfloat16; NULL from a find function: no such type.
 * Outputs may be the logits' own memory where they have its shape. Any thread; same bits with any team.
 */
#ifndef KERNEL_CPU_SOFTMAX_H
#define KERNEL_CPU_SOFTMAX_H

#include <weir/types.h>

#include "kernel/kernel.h"

/* out [rows, classes] = exp(x - max) / sum, or its logarithm. A row with NaN, +Inf or only -Inf is NaN. */
typedef void weir_softmax_function(weir_team *team, const void *x, int64_t rows, int64_t classes, void *out);
weir_softmax_function *weir_softmax_find(weir_dtype type, bool logarithm);

/* loss [rows] = sum_j labels_j * (log sum - (x_j - max)); backprop [rows, classes] = softmax - labels, NULL if it is
 * not wanted. labels [rows, classes] need not be one-hot or sum to one. */
typedef void weir_cross_entropy_function(weir_team *team, const void *logits, const void *labels, int64_t rows,
                                         int64_t classes, void *loss, void *backprop);
weir_cross_entropy_function *weir_cross_entropy_find(weir_dtype type);

/* The same for labels [rows] that are class numbers (int32 or int64). Returns the first row whose label is outside
 * [0, classes), outputs then being unspecified, or -1. */
typedef int64_t weir_sparse_cross_entropy_function(weir_team *team, const void *logits, const void *labels,
                                                   int64_t rows, int64_t classes, void *loss, void *backprop);
weir_sparse_cross_entropy_function *weir_sparse_cross_entropy_find(weir_dtype type, weir_dtype label_type);

/* out [rows]: fewer than k classes have a prediction greater than the target's; false if any prediction of the row is
 * not finite or the target is outside [0, classes). targets [rows] are int32 or int64. */
void weir_are_in_top_k(weir_team *team, const float *predictions, const void *targets, weir_dtype target_type,
                       int64_t k, int64_t rows, int64_t classes, bool *out);

#endif
