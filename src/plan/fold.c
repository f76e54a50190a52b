/*
 * Pass "fold": nodes whose inputs are all constants are computed once, when the plan is made.
 */
#include "plan/passes.h"

/* TensorFlow's limit for folded constants. */
#define LARGEST_RESULT (10 << 20)

static bool may_fold(const weir_plan *plan, const weir_plan_node *node)
{
    if (node->kind != WEIR_KIND_CODE || !node->is_foldable || node->kernel->is_shape_function ||
        node->num_controls > 0 || node->num_inputs == 0)
        return false;
    for (int i = 0; i < node->num_inputs; i++) {
        if (!weir_plan_is_free_constant(plan, node->inputs[i].node))
            return false;
    }
    for (int i = 0; i < node->num_outputs; i++) {
        weir_shape shape = node->node->output_shapes[i];
        int64_t elements = weir_shape_elements(shape);
        size_t size = weir_dtype_stride(plan->values[node->first_value + i].dtype);
        if (elements > (int64_t)(LARGEST_RESULT / (size > 0 ? size : 1)))
            return false;
    }
    return true;
}

static weir_status keep_results(weir_plan *plan, int index, weir_tensor **outputs)
{
    weir_plan_node *node = &plan->nodes[index];
    weir_status status = WEIR_STATUS_OK;
    node->kind = WEIR_KIND_CONSTANT;
    node->num_inputs = 0;
    for (int i = 0; i < node->num_outputs; i++) {
        if (weir_ok(status))
            status = weir_plan_set_constant(plan, (weir_port){index, i}, outputs[i]);
        else
            weir_tensor_free(outputs[i]);
    }
    return status;
}

static weir_status fold(weir_plan *plan, int index)
{
    const weir_plan_node *node = &plan->nodes[index];
    weir_tensor **tensors = NULL; /* inputs, then outputs */
    WEIR_TRY(weir_new(&tensors, (size_t)(node->num_inputs + node->num_outputs)));
    weir_tensor **outputs = tensors + node->num_inputs;
    for (int i = 0; i < node->num_inputs; i++)
        tensors[i] = weir_plan_value_of(plan, node->inputs[i])->constant;
    weir_status status = WEIR_STATUS_OK;
    if (weir_ok(weir_evaluate(node->node, tensors, outputs))) /* else it will say so itself when it runs */
        status = keep_results(plan, index, outputs);
    weir_release(tensors);
    return status;
}

/* A constant that passes through an Identity is a constant there too. */
static void pass_on(weir_plan *plan, weir_plan_node *node)
{
    if (node->num_controls > 0 || node->num_inputs < node->num_outputs)
        return;
    for (int i = 0; i < node->num_outputs; i++) {
        if (!weir_plan_is_free_constant(plan, node->inputs[i].node))
            return;
    }
    for (int i = 0; i < node->num_outputs; i++) {
        weir_plan_value *value = &plan->values[node->first_value + i];
        value->place = WEIR_PLACE_CONSTANT;
        value->constant = weir_plan_value_of(plan, node->inputs[i])->constant;
    }
    node->kind = WEIR_KIND_CONSTANT;
    node->num_inputs = 0;
}

weir_status weir_pass_fold(weir_plan *plan)
{
    for (int n = 0; n < plan->num_nodes; n++) {
        weir_plan_node *node = &plan->nodes[n];
        if (node->kind == WEIR_KIND_PASS)
            pass_on(plan, node);
        if (may_fold(plan, node))
            WEIR_TRY(fold(plan, n));
    }
    return WEIR_STATUS_OK;
}
