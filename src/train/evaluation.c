/*
 * Evaluation: a network's inference form, made by building once more what depends on a layer in training form; and the
 * count of rows that it gets right.
 */
#include <stdlib.h>

#include "train/train_state.h"

#define EVALUATION_KEY "train/evaluation"

weir_scope weir_for_evaluation(weir_scope s)
{
    return s.record != NULL ? weir_scope_with(s, EVALUATION_KEY, weir_train_state_of(s)) : s;
}

bool weir_train_is_training(weir_scope s, bool wished)
{
    return wished && weir_scope_value(s, EVALUATION_KEY) == NULL;
}

/* ---- Dropout of graphs that were built elsewhere ---- */

static bool is_op(const weir_node *node, const char *op)
{
    return strcmp(weir_node_op(node), op) == 0;
}

/* True if a uniform random number, scaled and moved perhaps, comes in. */
static bool draws_uniformly(const weir_node *node, int depth)
{
    if (node == NULL || depth == 0)
        return false;
    if (is_op(node, "RandomUniform"))
        return true;
    bool is_linear = is_op(node, "Add") || is_op(node, "AddV2") || is_op(node, "Mul") || is_op(node, "Sub");
    for (int i = 0; is_linear && i < weir_node_num_inputs(node); i++) {
        if (draws_uniformly(weir_node_input(node, i).node, depth - 1))
            return true;
    }
    return false;
}

/* The comparison in which dropout decides: noise >= rate, or floor(keep + noise) in older graphs. */
static bool decides_dropout(const weir_node *node)
{
    bool decides = is_op(node, "GreaterEqual") || is_op(node, "Floor");
    return decides && draws_uniformly(weir_node_input(node, 0).node, 5);
}

/* ---- Building once more ---- */

typedef struct copying {
    weir_scope scope;
    const weir_train_state *state;
    weir_node_map needed;   /* what the output depends on */
    weir_node_map copies;   /* node -> its copy; only of nodes that differ */
    weir_node_map replaced; /* node of a layer's output -> node of its inference form */
} copying;

/* The output in the new form. */
static weir_output mapped(const copying *copy, weir_output output)
{
    weir_node *replacement = weir_node_map_get(&copy->replaced, output.node);
    if (replacement != NULL)
        return weir_out(replacement, 0);
    weir_node *node = weir_node_map_get(&copy->copies, output.node);
    return node != NULL ? (weir_output){node, output.index} : output;
}

static bool differs(const copying *copy, const weir_node *node)
{
    for (int i = 0; i < weir_node_num_inputs(node); i++) {
        if (!weir_train_same(mapped(copy, weir_node_input(node, i)), weir_node_input(node, i)))
            return true;
    }
    return false;
}

/* Attributes that mean something in the copy: not where it is placed. */
static int copy_attributes(const weir_node *node, weir_attr *attrs)
{
    int count = 0;
    for (int i = 0; i < weir_node_num_attrs(node); i++) {
        const weir_attr *attr = weir_node_attr_at(node, i);
        if (attr->name[0] != '_')
            attrs[count++] = *attr;
    }
    return count;
}

static weir_node *copy_node(const copying *copy, const weir_node *node)
{
    int count = weir_node_num_inputs(node);
    weir_output *inputs = calloc((size_t)count + 1, sizeof *inputs);
    weir_attr *attrs = calloc((size_t)weir_node_num_attrs(node) + 1, sizeof *attrs);
    weir_node *made = NULL;
    if (inputs != NULL && attrs != NULL) {
        for (int i = 0; i < count; i++)
            inputs[i] = mapped(copy, weir_node_input(node, i));
        weir_op_options options = {.size = sizeof options,
                                   .name = weir_node_name(node),
                                   .inputs = inputs,
                                   .num_inputs = count,
                                   .attrs = attrs,
                                   .num_attrs = copy_attributes(node, attrs),
                                   .device = weir_node_device(node)};
        made = weir_op_build(copy->scope, weir_node_op(node), &options);
    }
    free(inputs);
    free(attrs);
    return made;
}

/* The inference form of a layer over what now goes into it. */
static weir_node *replace_layer(const copying *copy, const weir_train_layer *layer)
{
    weir_output x = mapped(copy, layer->x);
    if (layer->kind == WEIR_LAYER_DROPOUT)
        return weir_identity(weir_in_scope(copy->scope, "Dropout"), x, .name = "Identity").node;
    return weir_train_build_inference(copy->scope, x, layer).node;
}

static bool may_read_back(const weir_node *node)
{
    return is_op(node, "Merge") || is_op(node, "RefMerge");
}

static bool copy_one(copying *copy, weir_node *node)
{
    const weir_train_layer *layer = NULL;
    for (int i = 0; layer == NULL && i < weir_node_num_outputs(node); i++)
        layer = weir_train_find_layer(copy->state, weir_node_output(node, i));
    if (layer != NULL) {
        weir_node *form = replace_layer(copy, layer);
        return form != NULL && weir_node_map_put(&copy->replaced, node, form);
    }
    if (!differs(copy, node))
        return true;
    if (may_read_back(node)) {
        (void)weir_scope_fail(
            copy->scope, weir_fail(WEIR_UNIMPLEMENTED,
                                   "The inference form of layers in front of a loop or condition ('%s') cannot be made "
                                   "from their training form; build it in weir_for_evaluation(scope)",
                                   weir_node_name(node)));
        return false;
    }
    weir_node *made = copy_node(copy, node);
    return made != NULL && weir_node_map_put(&copy->copies, node, made);
}

static bool copy_all(copying *copy, int count)
{
    weir_graph *graph = weir_scope_graph(copy->scope);
    for (int i = 0; i < count; i++) {
        weir_node *node = weir_graph_node(graph, i);
        if (!weir_node_map_has(&copy->needed, node))
            continue;
        if (decides_dropout(node))
            weir_train_warn("evaluation: dropout '%s' is fixed in its training form; results change from run to run",
                            weir_node_name(node));
        if (!copy_one(copy, node))
            return false;
    }
    return true;
}

static weir_output remember(weir_scope s, weir_output output, weir_output form)
{
    weir_train_state *state = weir_train_state_of(s);
    size_t pair = 2 * sizeof(weir_output);
    if (form.node == NULL ||
        !weir_train_grow(s, &state->evaluated, state->num_evaluated, &state->room_for_evaluated, pair))
        return form;
    state->evaluated[2 * state->num_evaluated] = output;
    state->evaluated[2 * state->num_evaluated + 1] = form;
    state->num_evaluated++;
    return form;
}

weir_output weir_evaluation_of(weir_scope s, weir_output output)
{
    weir_train_state *state = weir_train_state_of(s);
    if (state == NULL || output.node == NULL)
        return WEIR_NO_OUTPUT;
    for (int i = 0; i < state->num_evaluated; i++) {
        if (weir_train_same(state->evaluated[2 * i], output))
            return state->evaluated[2 * i + 1];
    }
    int count = weir_graph_num_nodes(state->graph);
    copying copy = {.scope = weir_in_scope(weir_after_nothing(s), "evaluation"), .state = state};
    bool is_done = weir_train_ancestors(output.node, false, state, &copy.needed) && copy_all(&copy, count);
    weir_output form = is_done ? mapped(&copy, output) : WEIR_NO_OUTPUT;
    weir_node_map_clear(&copy.needed);
    weir_node_map_clear(&copy.copies);
    weir_node_map_clear(&copy.replaced);
    return remember(s, output, form);
}

/* ---- Counting ---- */

struct weir_evaluation {
    weir_output hits; /* float scalar */
    weir_output rows; /* int32 scalar */
};

weir_evaluation *weir_evaluation_new(weir_scope s, weir_output logits, weir_output labels)
{
    weir_output form = weir_evaluation_of(s, logits);
    if (form.node == NULL || labels.node == NULL)
        return NULL;
    weir_scope inner = weir_in_scope(s, "accuracy");
    weir_evaluation *evaluation = weir_train_take(s, sizeof *evaluation);
    weir_output correct = weir_train_build_correct(inner, form, labels);
    weir_output hits = weir_reduce_sum(inner, correct, .name = "hits");
    weir_output rows = weir_size(inner, correct, .name = "row_count");
    if (evaluation == NULL || hits.node == NULL || rows.node == NULL)
        return NULL;
    *evaluation = (weir_evaluation){hits, rows};
    return evaluation;
}

weir_status weir_evaluation_run(weir_session *session, const weir_evaluation *evaluation, const weir_feed *feeds,
                                int num_feeds, int64_t *hits, int64_t *rows)
{
    if (evaluation == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "There is no evaluation: building it failed");
    WEIR_AUTO(weir_tensor) *hits_value = NULL;
    WEIR_AUTO(weir_tensor) *rows_value = NULL;
    weir_output fetches[] = {evaluation->hits, evaluation->rows};
    weir_tensor *results[] = {NULL, NULL};
    weir_run_arrays run = {.size = sizeof run,
                           .feeds = feeds,
                           .num_feeds = num_feeds,
                           .fetches = fetches,
                           .results = results,
                           .num_fetches = 2};
    WEIR_TRY(weir_run_with_arrays(session, &run));
    hits_value = results[0];
    rows_value = results[1];
    *hits += (int64_t)weir_tensor_floats(hits_value)[0];
    *rows += weir_tensor_int32s(rows_value)[0];
    return WEIR_STATUS_OK;
}
