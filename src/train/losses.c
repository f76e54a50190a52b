/*
 * Losses, regularizers and accuracy.
 */
#include "train/train_state.h"

/* ---- Regularizers ---- */

static weir_output scaled(weir_scope s, weir_output norm, const weir_output *scale)
{
    return weir_train_binary(s, "Mul", *scale, norm, weir_scope_name(s));
}

static weir_output build_l2(weir_scope s, weir_output value, const weir_regularizer *regularizer)
{
    weir_scope inner = weir_in_scope(s, "l2_regularizer");
    weir_output scale = weir_train_number(inner, weir_output_dtype(value), regularizer->scale, "scale");
    return scaled(inner, weir_l2_loss(inner, value), &scale);
}

static weir_output build_l1(weir_scope s, weir_output value, const weir_regularizer *regularizer)
{
    weir_scope inner = weir_in_scope(s, "l1_regularizer");
    weir_output scale = weir_train_number(inner, weir_output_dtype(value), regularizer->scale, "scale");
    return scaled(inner, weir_reduce_sum(inner, weir_abs(inner, value)), &scale);
}

/* A scale below 0 is kept, so that building fails with its value. */
static weir_output build_wrong(weir_scope s, weir_output value, const weir_regularizer *regularizer)
{
    (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT,
                                       "Setting a scale less than 0 on a regularizer: %g, of variable '%s'",
                                       regularizer->scale, weir_node_name(value.node)));
    return WEIR_NO_OUTPUT;
}

static weir_regularizer regularizer_of(weir_regularizer_function *build, double scale)
{
    if (scale == 0)
        return (weir_regularizer){0};
    return (weir_regularizer){.build = scale > 0 ? build : build_wrong, .scale = scale};
}

weir_regularizer weir_l2_regularizer(double scale)
{
    return regularizer_of(build_l2, scale);
}

weir_regularizer weir_l1_regularizer(double scale)
{
    return regularizer_of(build_l1, scale);
}

/* ---- Losses ---- */

/* Class numbers have one dimension less than logits. */
static bool are_class_numbers(weir_output logits, weir_output labels)
{
    weir_shape of_logits = weir_output_shape(logits);
    weir_shape of_labels = weir_output_shape(labels);
    if (of_labels.rank != WEIR_UNKNOWN_RANK && of_logits.rank != WEIR_UNKNOWN_RANK)
        return of_labels.rank < of_logits.rank;
    return !weir_train_is_float(weir_output_dtype(labels));
}

weir_output weir_softmax_loss(weir_scope s, weir_output logits, weir_output labels)
{
    weir_output losses = are_class_numbers(logits, labels) ? weir_sparse_softmax_cross_entropy(s, logits, labels)
                                                           : weir_softmax_cross_entropy(s, logits, labels);
    return weir_reduce_mean(s, losses);
}

weir_output weir_total_loss(weir_scope s, weir_output loss)
{
    weir_graph *graph = weir_scope_graph(s);
    if (graph == NULL || loss.node == NULL)
        return WEIR_NO_OUTPUT;
    int count = weir_collection_count(graph, WEIR_REGULARIZATION_LOSSES, NULL);
    weir_item *items = weir_train_take(s, (size_t)(count + 1) * sizeof *items);
    weir_output *terms = weir_train_take(s, (size_t)(count + 1) * sizeof *terms);
    if (count == 0 || items == NULL || terms == NULL)
        return loss;
    count = weir_collection_items(graph, WEIR_REGULARIZATION_LOSSES, NULL, items, count);
    for (int i = 0; i < count; i++)
        terms[i] = items[i].output;
    weir_output terms_of_loss[] = {loss, weir_add_n(s, terms, count, .name = "total_regularization_loss")};
    return weir_add_n(s, terms_of_loss, 2, .name = "total_loss");
}

/* ---- Accuracy ---- */

weir_output weir_train_build_correct(weir_scope s, weir_output logits, weir_output labels)
{
    weir_output guess = weir_argmax(s, logits, 1);
    weir_output truth =
        are_class_numbers(logits, labels) ? weir_cast(s, labels, WEIR_INT64) : weir_argmax(s, labels, 1);
    return weir_cast(s, weir_equal(s, guess, truth), WEIR_FLOAT);
}

weir_output weir_accuracy(weir_scope s, weir_output logits, weir_output labels)
{
    return weir_reduce_mean(s, weir_train_build_correct(s, logits, labels));
}
