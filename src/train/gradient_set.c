/*
 * Gradients of a loss for a list of variables, and what else belongs to training the layers under that loss.
 */
#include <stdlib.h>

#include "train/optimizer.h"

static const weir_minimize_options no_options = {0};

weir_gradient_set *weir_gradient_set_new(weir_scope s, int count, int num_updates)
{
    weir_gradient_set *set = weir_train_take(s, sizeof *set);
    if (set == NULL)
        return NULL;
    set->count = count;
    set->variables = weir_train_take(s, (size_t)count * sizeof *set->variables);
    set->gradients = weir_train_take(s, (size_t)count * sizeof *set->gradients);
    set->updates = weir_train_take(s, (size_t)num_updates * sizeof *set->updates);
    set->loss = "";
    return set->variables != NULL && set->gradients != NULL && set->updates != NULL ? set : NULL;
}

int weir_gradient_set_count(const weir_gradient_set *set)
{
    return set != NULL ? set->count : 0;
}

weir_output weir_gradient_set_variable(const weir_gradient_set *set, int index)
{
    return set != NULL && index >= 0 && index < set->count ? set->variables[index] : WEIR_NO_OUTPUT;
}

weir_gradient_value weir_gradient_set_value(const weir_gradient_set *set, int index)
{
    return set != NULL && index >= 0 && index < set->count ? set->gradients[index] : (weir_gradient_value){0};
}

weir_gradient_set *weir_gradient_set_with(weir_scope s, const weir_gradient_set *set,
                                          const weir_gradient_value *gradients, int count)
{
    if (set == NULL || s.record == NULL)
        return NULL;
    if (count != set->count) {
        (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "%d gradients for %d variables", count, set->count));
        return NULL;
    }
    weir_gradient_set *changed = weir_gradient_set_new(s, count, 0);
    if (changed == NULL)
        return NULL;
    changed->updates = set->updates;
    changed->num_updates = set->num_updates;
    changed->loss = set->loss;
    for (int i = 0; i < count; i++) {
        changed->variables[i] = set->variables[i];
        changed->gradients[i] = gradients[i];
    }
    return changed;
}

/* ---- What a loss depends on ---- */

/* Updates of the layers in training form under the loss; true in tell[] for the first layer of each moving variable. */
static void find_updates(const weir_train_state *state, const weir_node_map *under, weir_gradient_set *set)
{
    for (int i = 0; i < state->num_layers; i++) {
        const weir_train_layer *layer = state->layers[i];
        if (!weir_node_map_has(under, layer->normal))
            continue;
        for (int j = 0; j < 2; j++) {
            if (layer->updates[j] != NULL)
                set->updates[set->num_updates++] = layer->updates[j];
        }
    }
}

/* Batch norm that a loss trains through, but by moving statistics, which then never move. */
static void warn_of_inference(const weir_train_state *state, const weir_node_map *under, const weir_node *loss)
{
    for (int i = 0; i < state->num_layers; i++) {
        const weir_train_layer *layer = state->layers[i];
        if (layer->kind == WEIR_LAYER_BATCH_NORM && !layer->is_training && !layer->is_frozen &&
            weir_node_map_has(under, layer->normal))
            weir_train_warn(
                "loss '%s' trains through batch norm '%s' in its inference form: its statistics will not move; "
                "give .is_training = true, or .frozen = true where that is meant",
                weir_node_name(loss), weir_node_name(layer->normal));
    }
}

/* Names of the items of a collection that are not among these nodes, for a warning. Returns how many there are. */
static int list_missing(weir_scope s, const char *key, const weir_node_map *among, char *names, size_t size)
{
    weir_graph *graph = weir_scope_graph(s);
    int count = weir_collection_count(graph, key, NULL);
    weir_item *items = calloc((size_t)count + 1, sizeof *items);
    int missing = 0;
    size_t at = 0;
    names[0] = '\0';
    count = items != NULL ? weir_collection_items(graph, key, NULL, items, count) : 0;
    for (int i = 0; i < count; i++) {
        const weir_node *node = items[i].output.node;
        if (node == NULL || weir_node_map_has(among, node))
            continue;
        if (at < size)
            at += (size_t)snprintf(names + at, size - at, "%s%s", missing > 0 ? ", " : "", weir_node_name(node));
        missing++;
    }
    free(items);
    return missing;
}

static void warn_of_regularization(weir_scope s, const weir_node_map *under, const weir_node *loss)
{
    char names[512];
    int missing = list_missing(s, WEIR_REGULARIZATION_LOSSES, under, names, sizeof names);
    if (missing > 0 && !weir_train_is_further_tower(s))
        weir_train_warn(
            "%d regularization losses are no part of the loss '%s' and have no effect: %s; weir_total_loss adds "
            "them",
            missing, weir_node_name(loss), names);
}

/* ---- Gradients ---- */

/* The variables to train: given, or all trainable ones. */
static weir_gradient_set *choose_variables(weir_scope s, const weir_minimize_options *options, int num_layers)
{
    weir_graph *graph = weir_scope_graph(s);
    bool is_given = options->variables != NULL;
    int count = is_given ? options->num_variables : weir_collection_count(graph, WEIR_TRAINABLE_VARIABLES, NULL);
    if (count == 0) {
        (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "No variables to optimize."));
        return NULL;
    }
    weir_gradient_set *set = weir_gradient_set_new(s, count, 2 * num_layers);
    weir_item *items = calloc((size_t)count, sizeof *items);
    if (set == NULL || items == NULL) {
        free(items);
        return NULL;
    }
    if (!is_given)
        weir_collection_items(graph, WEIR_TRAINABLE_VARIABLES, NULL, items, count);
    for (int i = 0; i < count && set != NULL; i++) {
        weir_output given = is_given ? options->variables[i] : items[i].output;
        set->variables[i] = weir_variable_value(given);
        if (set->variables[i].node == NULL) {
            if (given.node != NULL)
                (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "'%s' is no variable and cannot be trained",
                                                   weir_node_name(given.node)));
            set = NULL;
        }
    }
    free(items);
    return set;
}

static weir_status differentiate(weir_scope s, weir_output loss, weir_gradient_set *set,
                                 const weir_minimize_options *options)
{
    weir_output *refs = calloc((size_t)set->count, sizeof *refs);
    if (refs == NULL)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: %d variables", set->count);
    for (int i = 0; i < set->count; i++)
        refs[i] = weir_variable_ref(set->variables[i]);
    weir_gradients_options how = {.size = sizeof how, .colocate = options->colocate, .gate = !options->no_gate};
    weir_gradients(s, &loss, 1, refs, set->count, &how, set->gradients);
    free(refs);
    return WEIR_STATUS_OK;
}

weir_gradient_set *(weir_compute_gradients)(weir_scope s, weir_optimizer *optimizer, weir_output loss,
                                            const weir_minimize_options *options)
{
    options = options != NULL ? options : &no_options;
    weir_train_state *state = weir_train_state_of(s);
    if (state == NULL || optimizer == NULL || loss.node == NULL)
        return NULL;
    if (!weir_train_is_float(weir_output_dtype(loss))) {
        (void)weir_scope_fail(
            s, weir_fail(WEIR_INVALID_ARGUMENT, "Invalid type %s for %s:%d, expected: a floating point type.",
                         weir_dtype_name(weir_output_dtype(loss)), weir_node_name(loss.node), loss.index));
        return NULL;
    }
    weir_gradient_set *set = choose_variables(s, options, state->num_layers);
    if (set == NULL)
        return NULL;
    set->loss = weir_node_name(loss.node);
    weir_node_map under = {0};
    if (weir_train_ancestors(loss.node, false, NULL, &under)) {
        find_updates(state, &under, set);
        warn_of_inference(state, &under, loss.node);
        warn_of_regularization(s, &under, loss.node);
    }
    weir_node_map_clear(&under);
    return weir_ok(weir_scope_fail(s, differentiate(s, loss, set, options))) ? set : NULL;
}

/* Updates that somebody collected but no train op contains. */
void weir_train_warn_of_updates(weir_scope s, weir_node *train)
{
    char names[512];
    weir_node_map reached = {0};
    if (weir_train_ancestors(train, true, NULL, &reached)) {
        int missing = list_missing(s, WEIR_UPDATE_OPS, &reached, names, sizeof names);
        if (missing > 0)
            weir_train_warn("%d of the collected update ops are not reached by the train op '%s' and will not run: %s",
                            missing, weir_node_name(train), names);
    }
    weir_node_map_clear(&reached);
}

/* ---- Clipping ---- */

typedef weir_output clip_function(weir_scope s, weir_output gradient, const double *limits);

static weir_output clip_one_by_value(weir_scope s, weir_output gradient, const double *limits)
{
    return weir_clip_by_value(s, gradient, limits[0], limits[1]);
}

static weir_output clip_one_by_norm(weir_scope s, weir_output gradient, const double *limits)
{
    return weir_clip_by_norm(s, gradient, limits[0]);
}

static weir_gradient_set *clip_each(weir_scope s, const weir_gradient_set *set, clip_function *clip,
                                    const double *limits)
{
    weir_gradient_set *clipped = set != NULL ? weir_gradient_set_with(s, set, set->gradients, set->count) : NULL;
    for (int i = 0; clipped != NULL && i < clipped->count; i++) {
        weir_output *values = &clipped->gradients[i].values;
        if (values->node != NULL)
            *values = clip(s, *values, limits);
    }
    return clipped;
}

weir_gradient_set *weir_clip_gradients_by_value(weir_scope s, const weir_gradient_set *set, double low, double high)
{
    return clip_each(s, set, clip_one_by_value, (const double[]){low, high});
}

weir_gradient_set *weir_clip_gradients_by_norm(weir_scope s, const weir_gradient_set *set, double clip)
{
    return clip_each(s, set, clip_one_by_norm, &clip);
}

weir_gradient_set *weir_clip_gradients_by_global_norm(weir_scope s, const weir_gradient_set *set, double clip)
{
    weir_gradient_set *clipped = set != NULL ? weir_gradient_set_with(s, set, set->gradients, set->count) : NULL;
    weir_output *values = clipped != NULL ? calloc((size_t)clipped->count + 1, sizeof *values) : NULL;
    if (values == NULL)
        return NULL;
    for (int i = 0; i < clipped->count; i++)
        values[i] = clipped->gradients[i].values;
    (void)weir_clip_by_global_norm(s, values, clipped->count, clip, values);
    for (int i = 0; i < clipped->count; i++)
        clipped->gradients[i].values = values[i];
    free(values);
    return clipped;
}
