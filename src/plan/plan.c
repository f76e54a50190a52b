/*
 * Making a plan: the passes in their order, and the lists that they share.
 */
#include "plan/plan.h"

#include <string.h>

#include <weir/session.h>

#include "base/text.h"
#include "plan/passes.h"

#define PASS(name) {#name, weir_pass_##name},
const weir_pass weir_passes[] = {WEIR_PASSES(PASS){NULL, NULL}};
#undef PASS

const char *weir_pass_names(void)
{
#define AND_PASS(name) "," #name
    static const char names[] = WEIR_PASSES(AND_PASS);
#undef AND_PASS
    return names + 1;
}

weir_status weir_passes_parse(const char *names, uint32_t *bits)
{
    const char *known[32] = {NULL};
    for (int i = 0; weir_passes[i].name != NULL; i++)
        known[i] = weir_passes[i].name;
    *bits = 0;
    for (const char *at = names; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ", ");
        int found = -1;
        for (int i = 0; known[i] != NULL; i++) {
            if (strlen(known[i]) == length && strncmp(known[i], at, length) == 0)
                found = i;
        }
        if (found < 0 && length > 0) {
            char word[64] = "";
            memcpy(word, at, length < sizeof word - 1 ? length : sizeof word - 1);
            const char *nearest = weir_text_nearest(word, known);
            return weir_fail(WEIR_INVALID_ARGUMENT, "disabled_passes: there is no pass '%s'%s%s%s", word,
                             nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                             nearest != NULL ? "'?" : "");
        }
        if (found >= 0)
            *bits |= 1u << found;
        at += length;
        at += *at != '\0';
    }
    return WEIR_STATUS_OK;
}

weir_status weir_plan_add(weir_plan *plan, const weir_plan_node *node, int *out)
{
    if (plan->num_nodes == plan->node_capacity) {
        int capacity = plan->node_capacity * 2 + 64;
        weir_plan_node *grown = weir_reallocate(plan->nodes, (size_t)capacity, sizeof *grown);
        if (grown == NULL)
            return weir_fail_memory((size_t)capacity * sizeof *grown);
        plan->nodes = grown;
        plan->node_capacity = capacity;
    }
    while (plan->num_values + node->num_outputs > plan->value_capacity) {
        int capacity = plan->value_capacity * 2 + 64;
        weir_plan_value *grown = weir_reallocate(plan->values, (size_t)capacity, sizeof *grown);
        if (grown == NULL)
            return weir_fail_memory((size_t)capacity * sizeof *grown);
        plan->values = grown;
        plan->value_capacity = capacity;
    }
    size_t inputs = (size_t)node->num_inputs * sizeof *node->inputs;
    size_t controls = (size_t)node->num_controls * sizeof *node->controls;
    char *links = weir_arena_take(&plan->arena, 1, inputs + controls);
    if (links == NULL)
        return weir_fail_memory(inputs + controls);
    weir_plan_node *added = &plan->nodes[plan->num_nodes];
    *added = *node;
    added->inputs = (weir_port *)links;
    added->controls = (int *)(links + inputs);
    if (inputs > 0)
        memcpy(added->inputs, node->inputs, inputs);
    if (controls > 0)
        memcpy(added->controls, node->controls, controls);
    added->first_value = plan->num_values;
    added->segment = -1;
    added->position = -1;
    for (int i = 0; i < node->num_outputs; i++) {
        weir_dtype dtype = node->node->output_dtypes[node->kind == WEIR_KIND_FEED || node->kind == WEIR_KIND_TRANSFER ||
                                                             node->kind == WEIR_KIND_COPY
                                                         ? 0
                                                         : i];
        plan->values[plan->num_values++] = (weir_plan_value){.dtype = weir_dtype_base(dtype),
                                                             .is_reference = weir_dtype_is_ref(dtype),
                                                             .root = {plan->num_nodes, i},
                                                             .slot = -1};
    }
    *out = plan->num_nodes++;
    return WEIR_STATUS_OK;
}

weir_status weir_plan_set_constant(weir_plan *plan, weir_port port, weir_tensor *tensor)
{
    weir_status status = weir_list_add(&plan->constants, tensor);
    if (!weir_ok(status)) {
        weir_tensor_free(tensor);
        return status;
    }
    weir_plan_value *value = weir_plan_value_of(plan, port);
    value->place = WEIR_PLACE_CONSTANT;
    value->constant = tensor;
    return WEIR_STATUS_OK;
}

static weir_status make(weir_plan *plan, const weir_plan_request *request)
{
    WEIR_TRY(weir_plan_build(plan, request));
    for (int i = 0; weir_passes[i].name != NULL; i++) {
        if ((request->disabled_passes & 1u << i) == 0)
            WEIR_TRY(weir_passes[i].run(plan));
    }
    WEIR_TRY(weir_plan_partition(plan));
    WEIR_TRY(weir_plan_order(plan));
    return weir_plan_segment(plan);
}

weir_status weir_plan_new(const weir_plan_request *request, weir_plan **out)
{
    weir_plan *plan = NULL;
    WEIR_TRY(weir_new(&plan, 1));
    plan->devices = request->devices;
    plan->session = request->session;
    plan->is_partial = request->is_partial;
    weir_status status = make(plan, request);
    if (weir_ok(status))
        *out = plan;
    else
        weir_plan_free(plan);
    return status;
}

void weir_plan_free(weir_plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->constants.count; i++)
        weir_tensor_free(plan->constants.items[i]);
    weir_list_clear(&plan->constants);
    for (size_t i = 0; i < plan->resources.count; i++)
        weir_resource_unref(plan->resources.items[i]);
    weir_list_clear(&plan->resources);
    weir_release(plan->nodes);
    weir_release(plan->values);
    weir_arena_clear(&plan->arena);
    weir_release(plan);
}
