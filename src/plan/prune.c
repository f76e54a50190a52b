/*
 * Pass "prune": a node that only computes, and whose results nobody reads, computes nothing; what waited for it (a control
 * edge, such as that of GATE_OP's groups) waits for what it waited for. The gradient of a network's input is such a node.
 */
#include "plan/passes.h"

static bool may_go(const weir_plan_node *node)
{
    bool computes = node->kind == WEIR_KIND_CODE || node->kind == WEIR_KIND_EXECUTE || node->kind == WEIR_KIND_PASS;
    return computes && !node->is_target && !node->is_writer && !node->node->op->is_stateful && node->kernel->reads == 0;
}

/* Order only: the producers of its inputs become control inputs. */
static weir_status make_empty(weir_plan *plan, weir_plan_node *node, int *reads)
{
    int *controls =
        weir_arena_take(&plan->arena, (size_t)node->num_inputs + (size_t)node->num_controls, sizeof *controls);
    if (controls == NULL)
        return weir_fail_memory(sizeof *controls);
    int count = 0;
    for (int i = 0; i < node->num_controls; i++)
        controls[count++] = node->controls[i];
    for (int i = 0; i < node->num_inputs; i++) {
        reads[node->inputs[i].node]--;
        weir_kind kind = plan->nodes[node->inputs[i].node].kind;
        if (kind != WEIR_KIND_VARIABLE && !weir_plan_is_free_constant(plan, node->inputs[i].node) &&
            kind != WEIR_KIND_FEED)
            controls[count++] = node->inputs[i].node;
    }
    node->kind = WEIR_KIND_NOTHING;
    node->num_inputs = 0;
    node->controls = controls;
    node->num_controls = count;
    return WEIR_STATUS_OK;
}

/* A control edge on a Switch says nothing of the side it is taken on: what hangs on one side must go on reading it. */
static bool hangs_on_a_side(const weir_plan *plan, const weir_plan_node *node)
{
    for (int i = 0; i < node->num_inputs; i++) {
        if (weir_kind_stands_alone(plan->nodes[node->inputs[i].node].kind))
            return true;
    }
    return false;
}

static weir_status prune(weir_plan *plan, int *reads)
{
    for (int n = 0; n < plan->num_nodes; n++) {
        for (int i = 0; i < plan->nodes[n].num_inputs; i++)
            reads[plan->nodes[n].inputs[i].node]++;
    }
    for (int i = 0; i < plan->num_fetches; i++)
        reads[plan->fetches[i].node]++;
    for (int n = plan->num_nodes - 1; n >= 0; n--) { /* consumers come after their producers */
        weir_plan_node *node = &plan->nodes[n];
        if (reads[n] == 0 && may_go(node) && !hangs_on_a_side(plan, node))
            WEIR_TRY(make_empty(plan, node, reads));
    }
    return WEIR_STATUS_OK;
}

weir_status weir_pass_prune(weir_plan *plan)
{
    int *reads = NULL; /* of each node's outputs, by inputs of others and fetches */
    WEIR_TRY(weir_new(&reads, (size_t)plan->num_nodes));
    weir_status status = prune(plan, reads);
    weir_release(reads);
    return status;
}
