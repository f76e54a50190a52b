/*
 * Towers: scopes, parts of a batch, and means over towers, weighted where parts are uneven.
 */
#include <stdlib.h>

#include "train/optimizer.h"

#define TOWER_KEY "train/further_tower"

weir_scope weir_tower(weir_scope s, int index, weir_variables_on variables, const char *device)
{
    weir_scope inner = weir_train_sharing(weir_in_scope(s, "tower_%d", index));
    inner = weir_on_device_with(inner, variables, "%s", device);
    return index > 0 && inner.record != NULL ? weir_scope_with(inner, TOWER_KEY, weir_train_state_of(s)) : inner;
}

bool weir_train_is_further_tower(weir_scope s)
{
    return weir_scope_value(s, TOWER_KEY) != NULL;
}

/* rows * index / count */
static weir_output border(weir_scope s, weir_output rows, int index, int count)
{
    weir_output product = weir_multiply(s, rows, weir_const(s, WEIR_INT32_OF(index), .name = "index"));
    return weir_floor_div(s, product, weir_const(s, WEIR_INT32_OF(count), .name = "count"));
}

weir_output weir_batch_part(weir_scope s, weir_output x, int index, int count)
{
    if (x.node == NULL || s.record == NULL)
        return WEIR_NO_OUTPUT;
    weir_shape shape = weir_output_shape(x);
    if (count < 1 || index < 0 || index >= count || shape.rank < 1) {
        (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "Part %d of %d of '%s' (rank %d) does not exist",
                                           index, count, weir_node_name(x.node), shape.rank));
        return WEIR_NO_OUTPUT;
    }
    weir_scope inner = weir_in_scope(s, "batch_part");
    weir_output rows = weir_rows(inner, x);
    weir_output begin = border(inner, rows, index, count);
    weir_output end = border(inner, rows, index + 1, count);
    weir_output step = weir_const(inner, WEIR_INT32S(1), .name = "stack_2");
    weir_output from = weir_expand_dims(inner, begin, 0);
    weir_output to = weir_expand_dims(inner, end, 0);
    weir_output part = weir_strided_slice(inner, x, from, to, step);
    if (weir_shape_known(shape))
        shape.dims[0] = (shape.dims[0] * (index + 1)) / count - (shape.dims[0] * index) / count;
    else
        shape.dims[0] = WEIR_UNKNOWN_DIM;
    weir_output_set_shape(part, shape);
    return part;
}

/* ---- Means ---- */

/* Each tower's share of the whole: weights[i] / sum, and whether it has any. */
typedef struct shares {
    int count;
    weir_output *shares;  /* float scalars */
    weir_output *is_some; /* bool scalars; NULL: all have the same share */
    weir_output *terms;   /* room for count */
} shares;

static void free_shares(shares *parts)
{
    free(parts->shares);
    free(parts->is_some);
    free(parts->terms);
}

static bool make_shares(weir_scope s, const weir_output *weights, int count, shares *parts)
{
    *parts = (shares){.count = count,
                      .shares = calloc((size_t)count, sizeof(weir_output)),
                      .is_some = weights != NULL ? calloc((size_t)count, sizeof(weir_output)) : NULL,
                      .terms = calloc((size_t)count, sizeof(weir_output))};
    if (parts->shares == NULL || parts->terms == NULL || (weights != NULL && parts->is_some == NULL))
        return false;
    if (weights == NULL) {
        weir_output same = weir_train_number(s, WEIR_FLOAT, 1.0 / count, "share");
        for (int i = 0; i < count; i++)
            parts->shares[i] = same;
        return true;
    }
    for (int i = 0; i < count; i++)
        parts->terms[i] = weir_cast(s, weights[i], WEIR_FLOAT, .name = "weight");
    weir_output whole = weir_add_n(s, parts->terms, count, .name = "whole");
    weir_output zero = weir_train_number(s, WEIR_FLOAT, 0, "zero");
    for (int i = 0; i < count; i++) {
        parts->shares[i] = weir_divide(s, parts->terms[i], whole, .name = "share");
        parts->is_some[i] = weir_greater(s, parts->terms[i], zero, .name = "is_some");
    }
    return true;
}

/* x times its share; 0 where there is no share, even if x is not a number. */
static weir_output take_share(weir_scope s, const shares *parts, int index, weir_output x)
{
    weir_dtype dtype = weir_dtype_base(weir_output_dtype(x));
    weir_output part = weir_multiply(s, x, weir_cast(s, parts->shares[index], dtype), .name = "part");
    if (parts->is_some == NULL)
        return part;
    return weir_select(s, parts->is_some[index], part, weir_train_number(s, dtype, 0, "nothing"));
}

weir_output(weir_average_outputs)(weir_scope s, const weir_output *outputs, int count,
                                  const weir_average_options *options)
{
    if (s.record == NULL)
        return WEIR_NO_OUTPUT;
    if (count < 1) {
        (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "The mean of %d outputs", count));
        return WEIR_NO_OUTPUT;
    }
    weir_scope inner = weir_in_scope(s, "average");
    shares parts;
    weir_output mean = WEIR_NO_OUTPUT;
    if (make_shares(inner, options != NULL ? options->weights : NULL, count, &parts)) {
        for (int i = 0; i < count; i++)
            parts.terms[i] = outputs[i].node != NULL ? take_share(inner, &parts, i, outputs[i]) : WEIR_NO_OUTPUT;
        mean = weir_add_n(inner, parts.terms, count);
    }
    free_shares(&parts);
    return mean;
}

/* The gradient of a variable in a set, whole; null when there is none. */
static weir_output gradient_for(weir_scope s, const weir_gradient_set *set, weir_output variable)
{
    for (int i = 0; i < set->count; i++) {
        if (weir_train_same(set->variables[i], variable) && set->gradients[i].values.node != NULL)
            return weir_gradient_dense(s, set->gradients[i]);
    }
    return WEIR_NO_OUTPUT;
}

static weir_output average_one(weir_scope s, weir_gradient_set *const *towers, const shares *parts,
                               weir_output variable)
{
    int used = 0;
    for (int i = 0; i < parts->count; i++) {
        weir_output gradient = gradient_for(s, towers[i], variable);
        if (gradient.node != NULL)
            parts->terms[used++] = take_share(s, parts, i, gradient);
    }
    return used > 0 ? weir_add_n(s, parts->terms, used) : WEIR_NO_OUTPUT;
}

/* What the layers of all towers update; towers after the first have nothing. */
static bool join_updates(weir_scope s, weir_gradient_set *const *towers, int count, weir_gradient_set *mean)
{
    int most = 0;
    for (int i = 0; i < count; i++)
        most += towers[i]->num_updates;
    mean->updates = weir_train_take(s, (size_t)most * sizeof *mean->updates);
    if (mean->updates == NULL)
        return false;
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < towers[i]->num_updates; j++)
            mean->updates[mean->num_updates++] = towers[i]->updates[j];
    }
    return true;
}

weir_gradient_set *(weir_average_gradients)(weir_scope s, weir_gradient_set *const *towers, int count,
                                            const weir_average_options *options)
{
    for (int i = 0; i < count; i++) {
        if (towers[i] == NULL)
            return NULL; /* made from something that failed */
    }
    if (s.record == NULL)
        return NULL;
    if (count < 1) {
        (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "The mean of the gradients of %d towers", count));
        return NULL;
    }
    const weir_gradient_set *first = towers[0];
    weir_gradient_set *mean = weir_gradient_set_new(s, first->count, 0);
    if (mean == NULL || !join_updates(s, towers, count, mean))
        return NULL;
    mean->loss = first->loss;
    weir_scope inner = weir_in_scope(s, "average_gradients");
    shares parts;
    bool is_done = make_shares(inner, options != NULL ? options->weights : NULL, count, &parts);
    for (int i = 0; is_done && i < first->count; i++) {
        mean->variables[i] = first->variables[i];
        mean->gradients[i].values = average_one(inner, towers, &parts, first->variables[i]);
    }
    free_shares(&parts);
    return is_done ? mean : NULL;
}
