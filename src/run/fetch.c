/*
 * Feeds checked, and fetches handed out.
 */
#include <string.h>

#include "run/session.h"

weir_status weir_check_feed(weir_output output, const weir_tensor *value)
{
    weir_dtype wanted = weir_dtype_base(weir_output_dtype(output));
    if (value == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "No value is given for the feed '%s:%d'", weir_node_name(output.node),
                         output.index);
    if (value->dtype != wanted)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Tensor '%s:%d' is %s: it cannot be fed a value of type %s",
                         output.node->name, output.index, weir_dtype_name(wanted), weir_dtype_name(value->dtype));
    weir_shape shape = weir_output_shape(output);
    if (weir_shape_compatible(shape, value->shape))
        return WEIR_STATUS_OK;
    char have[WEIR_SHAPE_TEXT_SIZE];
    char want[WEIR_SHAPE_TEXT_SIZE];
    return weir_fail(WEIR_INVALID_ARGUMENT, "Cannot feed value of shape %s for Tensor '%s:%d', which has shape %s",
                     weir_shape_text(value->shape, have, sizeof have), output.node->name, output.index,
                     weir_shape_text(shape, want, sizeof want));
}

weir_status weir_run_fetch(weir_run_state *run, weir_port fetch, weir_tensor **out)
{
    const weir_plan_value *value = weir_plan_value_of(run->plan, fetch);
    if (value->place == WEIR_PLACE_CONSTANT)
        return weir_tensor_copy(value->constant, out);
    if (value->place == WEIR_PLACE_VARIABLE) {
        WEIR_TRY(weir_variable_check(value->variable));
        return weir_variable_read(value->variable, out);
    }
    const weir_plan_value *root = weir_plan_value_of(run->plan, value->root);
    weir_slot *slot = root->slot >= 0 ? &run->root_iteration.slots[root->slot] : NULL;
    if (slot == NULL || slot->tensor == NULL || !weir_run_is_live(run, fetch))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Fetch '%s:%d' has no value: it is on the side of a conditional that was not taken",
                         run->plan->nodes[fetch.node].node->name, fetch.output);
    if (slot->is_borrowed)
        return weir_tensor_copy(slot->tensor, out);
    *out = weir_tensor_ref(slot->tensor);
    return WEIR_STATUS_OK;
}

weir_status weir_run_collect(weir_run_state *run, weir_tensor **results)
{
    weir_tensor **fetched = run->fetched;
    for (int i = 0; i < run->plan->num_fetches; i++) {
        weir_status status = weir_run_fetch(run, run->plan->fetches[i], &fetched[i]);
        if (weir_ok(status))
            continue;
        while (i > 0)
            weir_tensor_free(fetched[--i]);
        return status;
    }
    if (run->plan->num_fetches > 0)
        memcpy(results, fetched, (size_t)run->plan->num_fetches * sizeof *results);
    return WEIR_STATUS_OK;
}
