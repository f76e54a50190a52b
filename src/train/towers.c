/*
 * Towers: scopes, parts of a batch, and means over towers, weighted where parts are uneven.
 */
#include "train/train_state.h"

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
        (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "Part %d of %d of '%s' (rank %d) does not exist", index,
                                           count, weir_node_name(x.node), shape.rank));
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
