/*
 * Gradients of conditionals. TensorFlow keeps a record of the conditional a node was built in; here it is found again in
 * the graph: the Switch that a branch hangs on, through data or through the pivots that hold its first nodes. So imported
 * graphs have gradients too.
 */
#include "op/control_flow.h"

#include <string.h>

#include "op/compose.h"

static bool is_op(const weir_node *node, const char *op)
{
    return strcmp(node->op->name, op) == 0;
}

static bool is_switch(const weir_node *node)
{
    return is_op(node, "Switch") || is_op(node, "RefSwitch");
}

static bool is_merge(const weir_node *node)
{
    return is_op(node, "Merge") || is_op(node, "RefMerge");
}

static bool is_next_iteration(const weir_node *node)
{
    return is_op(node, "NextIteration") || is_op(node, "RefNextIteration");
}

static bool is_of_loop(const weir_node *node)
{
    if (is_switch(node))
        return node->inputs[1].node != NULL && is_op(node->inputs[1].node, "LoopCond");
    for (int i = 0; i < node->num_inputs; i++) {
        if (node->inputs[i].node != NULL && is_next_iteration(node->inputs[i].node))
            return true;
    }
    return false;
}

weir_status weir_gradient_of_passing(weir_gradient *gradient)
{
    weir_gradient_set(gradient, 0, gradient->dy[0]);
    return WEIR_STATUS_OK;
}

weir_status weir_gradient_of_nothing(weir_gradient *gradient)
{
    (void)gradient;
    return WEIR_STATUS_OK;
}

weir_status weir_gradient_of_loop(weir_gradient *gradient)
{
    return weir_fail(WEIR_UNIMPLEMENTED,
                     "No gradient through the loop of node '%s' (op %s): gradients of loops are not "
                     "built by this version",
                     gradient->node->name, gradient->node->op->name);
}

/* ---- Finding the conditional of a branch ---- */

/* An output on the way back, and how many inner conditionals have been entered from behind. */
typedef struct step {
    weir_output output;
    int depth;
} step;

typedef struct search {
    WEIR_LIST(step) open;
    bool *seen; /* [nodes of the graph] */
} search;

static weir_status visit(search *search, weir_output output, int depth)
{
    if (output.node == NULL || search->seen[output.node->id])
        return WEIR_STATUS_OK;
    search->seen[output.node->id] = true;
    return weir_list_add(&search->open, (step){output, depth});
}

/* The side of the Switch behind a pivot: Identity nodes stand between it and those that wait for it. */
static weir_output behind_identities(weir_output output)
{
    while (output.node != NULL && is_op(output.node, "Identity"))
        output = output.node->inputs[0];
    return output;
}

/* Goes on from a node: through its inputs, and its control inputs that are pivots. */
static weir_status expand(search *search, step from)
{
    const weir_node *node = from.output.node;
    int depth = from.depth;
    int inputs = node->num_inputs;
    if (is_merge(node) && !is_of_loop(node))
        depth++;
    else if (is_merge(node)) /* of a loop: on to what enters it */
        inputs = 1;
    else if (is_switch(node) && is_of_loop(node))
        inputs = 1;
    else if (is_switch(node)) {
        depth--;
        inputs = 1;
    }
    for (int i = 0; i < inputs; i++)
        WEIR_TRY(visit(search, node->inputs[i], depth));
    for (int i = 0; i < node->num_controls; i++) {
        weir_node *control = node->controls[i];
        if (is_op(control, "Identity"))
            WEIR_TRY(visit(search, (weir_output){control, 0}, depth));
    }
    return WEIR_STATUS_OK;
}

/* The output of the Switch that the branch ending in output hangs on; null when it hangs on none. */
static weir_status search_branch(search *search, weir_output output, weir_output *found)
{
    WEIR_TRY(visit(search, output, 0));
    for (size_t next = 0; next < search->open.count; next++) {
        step at = search->open.items[next];
        if (at.depth == 0 && is_switch(at.output.node) && !is_of_loop(at.output.node)) {
            *found = at.output;
            return WEIR_STATUS_OK;
        }
        WEIR_TRY(expand(search, at));
    }
    return WEIR_STATUS_OK;
}

static weir_status find_branch(const weir_graph *graph, weir_output output, weir_output *found)
{
    *found = WEIR_NO_OUTPUT;
    search search = {0};
    WEIR_TRY(weir_new(&search.seen, graph->nodes.count));
    weir_status status = search_branch(&search, output, found);
    weir_list_clear(&search.open);
    weir_release(search.seen);
    return status;
}

/* The predicate of the conditional that a Merge ends; null when it ends none. */
static weir_status find_predicate(const weir_node *merge, weir_output *predicate)
{
    *predicate = WEIR_NO_OUTPUT;
    if (merge->num_inputs != 2)
        return WEIR_STATUS_OK;
    weir_output sides[2];
    for (int i = 0; i < 2; i++) {
        WEIR_TRY(find_branch(merge->graph, merge->inputs[i], &sides[i]));
        if (sides[i].node == NULL || sides[i].index != i)
            return WEIR_STATUS_OK;
    }
    weir_output first = sides[0].node->inputs[1];
    weir_output second = sides[1].node->inputs[1];
    weir_output a = behind_identities(first);
    weir_output b = behind_identities(second);
    if (a.node != b.node || a.index != b.index)
        return WEIR_STATUS_OK;
    /* "pred_id" rather than what it passes: TensorFlow's record of the conditional has that. */
    *predicate = first.node != a.node ? first : second;
    return WEIR_STATUS_OK;
}

/* ---- Merge ---- */

static weir_node *switch_on(weir_scope scope, weir_output value, weir_output predicate, const char *name)
{
    scope = weir_colocated_with(scope, value.node);
    return weir_op(scope, "Switch", WEIR_INPUTS(value, predicate), .name = name);
}

/* Without a conditional: each input gets the gradient if it was the one that was taken. */
static void merge_by_index(weir_gradient *gradient)
{
    weir_output taken = weir_gradient_y(gradient, 1);
    for (int i = 0; i < gradient->node->num_inputs; i++) {
        weir_output is_taken = weir_build_with_number(gradient->scope, "Equal", "Equal", taken, i);
        weir_gradient_set(gradient, i, weir_out(switch_on(gradient->scope, gradient->dy[0], is_taken, NULL), 1));
    }
}

weir_status weir_gradient_of_merge(weir_gradient *gradient)
{
    if (is_of_loop(gradient->node))
        return weir_gradient_of_loop(gradient);
    if (gradient->dy[0].node == NULL)
        return WEIR_STATUS_OK;
    weir_output predicate;
    WEIR_TRY(find_predicate(gradient->node, &predicate));
    if (predicate.node == NULL) {
        merge_by_index(gradient);
        return WEIR_STATUS_OK;
    }
    weir_node *routed = switch_on(gradient->scope, gradient->dy[0], predicate, "cond_grad");
    weir_gradient_set(gradient, 0, weir_out(routed, 0));
    weir_gradient_set(gradient, 1, weir_out(routed, 1));
    return WEIR_STATUS_OK;
}

/* ---- Switch ---- */

/* The scope around the gradient's own: TensorFlow makes the zeros there. */
static weir_scope outer_scope(const weir_gradient *gradient)
{
    const char *prefix = weir_scope_name(gradient->scope);
    size_t length = strlen(prefix);
    size_t own = strlen(gradient->node->name) + strlen("_grad/");
    if (length < own || strncmp(prefix + length - own, gradient->node->name, own - strlen("_grad/")) != 0)
        return gradient->scope;
    return weir_in_scope(gradient->scope, "%.*s", (int)(length - own), prefix);
}

/* Zeros like the data, alive when the side is. */
static weir_output zeros_of_side(const weir_gradient *gradient, int side)
{
    weir_scope scope = outer_scope(gradient);
    weir_output data = weir_gradient_x(gradient, 0);
    weir_node *again = weir_op(scope, "Switch", WEIR_INPUTS(data, weir_gradient_x(gradient, 1)));
    weir_output value = weir_out(again, side);
    weir_output pivot = weir_identity(scope, value);
    weir_output shape = weir_shape_op(scope, value);
    weir_scope named = weir_in_scope(scope, "zeros");
    weir_dtype dtype = weir_dtype_base(weir_output_dtype(value));
    weir_output zero = weir_fill_const(weir_after(named, pivot.node), dtype, weir_shape_scalar(), 0, "Const");
    return weir_fill(scope, shape, zero, .name = weir_scope_name(named));
}

weir_status weir_gradient_of_switch(weir_gradient *gradient)
{
    if (is_of_loop(gradient->node))
        return weir_gradient_of_loop(gradient);
    weir_output sides[2] = {gradient->dy[0], gradient->dy[1]};
    const char *name = "cond_grad";
    if (sides[0].node != NULL && sides[1].node != NULL) {
        weir_output predicate = weir_gradient_x(gradient, 1);
        for (int i = 0; i < 2; i++)
            sides[i] = weir_out(weir_op(gradient->scope, "Switch", WEIR_INPUTS(sides[i], predicate)), i);
        name = "Merge";
    } else {
        int missing = sides[0].node == NULL ? 0 : 1;
        sides[missing] = zeros_of_side(gradient, missing);
    }
    weir_node *merged = weir_op(gradient->scope, "Merge", WEIR_INPUTS(sides[0], sides[1]), .name = name);
    weir_gradient_set(gradient, 0, weir_out(merged, 0));
    return WEIR_STATUS_OK;
}
