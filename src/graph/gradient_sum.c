/*
 * Sums of gradients: AddN by device, rows of a table (IndexedSlices) put together or spread out.
 */
#include "graph/gradient_sum.h"

#include <stdlib.h>
#include <string.h>

#include <weir/ops.h>

#include "graph/scope.h"
#include "tensor/tensor.h"

weir_status weir_gradient_list_add(weir_arena *arena, weir_gradient_list *list, weir_gradient_value value)
{
    if (list->count == list->capacity) {
        int capacity = list->capacity == 0 ? 1 : 2 * list->capacity;
        weir_gradient_value *items = weir_arena_take(arena, (size_t)capacity, sizeof *items);
        if (items == NULL)
            return weir_fail_memory((size_t)capacity * sizeof *items);
        if (list->count > 0)
            memcpy(items, list->items, (size_t)list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = value;
    return WEIR_STATUS_OK;
}

bool weir_dtype_has_gradient(weir_dtype dtype)
{
    dtype = weir_dtype_base(dtype);
    return weir_dtype_is_floating(dtype) || weir_dtype_is_complex(dtype) || dtype == WEIR_RESOURCE ||
           dtype == WEIR_VARIANT;
}

/* ---- Dense ---- */

/* One gradient of several, with its place in the order of arrival. */
typedef struct placed {
    weir_output output;
    int order;
} placed;

static int compare_places(const void *a, const void *b)
{
    const placed *first = a;
    const placed *second = b;
    int devices = strcmp(first->output.node->device, second->output.node->device);
    return devices != 0 ? devices : (first->order > second->order) - (first->order < second->order);
}

/* The sum of count gradients of one device, placed with the first of them. */
static weir_output add_on_device(weir_scope scope, const weir_output *values, int count)
{
    return count == 1 ? values[0] : weir_add_n(weir_colocated_alone(scope, values[0].node), values, count);
}

static weir_status add_dense(weir_scope scope, weir_arena *arena, const weir_gradient_list *list, weir_output *sum)
{
    size_t count = (size_t)list->count;
    placed *sorted = weir_arena_take(arena, count, sizeof *sorted);
    weir_output *values = weir_arena_take(arena, count, sizeof *values);
    weir_output *partial = weir_arena_take(arena, count, sizeof *partial);
    if (sorted == NULL || values == NULL || partial == NULL)
        return weir_fail_memory(count * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = (placed){list->items[i].values, (int)i};
    qsort(sorted, count, sizeof *sorted, compare_places);
    for (size_t i = 0; i < count; i++)
        values[i] = sorted[i].output;
    int partials = 0;
    for (size_t first = 0; first < count;) {
        size_t last = first + 1;
        while (last < count && strcmp(values[last].node->device, values[first].node->device) == 0)
            last++;
        partial[partials++] = add_on_device(scope, values + first, (int)(last - first));
        first = last;
    }
    *sum = partials == 1 ? partial[0] : weir_add_n(scope, partial, partials);
    return WEIR_STATUS_OK;
}

/* ---- Rows ---- */

/* UnsortedSegmentSum of the rows over the number of rows that there are. */
static weir_output spread(weir_scope scope, weir_gradient_value gradient, const char *name)
{
    weir_scope inner = weir_in_scope(scope, "strided_slice");
    weir_output first = weir_const(inner, WEIR_INT32S(0), .name = "stack");
    weir_output last = weir_const(inner, WEIR_INT32S(1), .name = "stack_1");
    weir_output step = weir_const(inner, WEIR_INT32S(1), .name = "stack_2");
    weir_output rows = weir_strided_slice(scope, gradient.dense_shape, first, last, step, .shrink_axis_mask = 1,
                                          .name = weir_scope_name(inner));
    return weir_out(
        weir_op(scope, "UnsortedSegmentSum", WEIR_INPUTS(gradient.values, gradient.indices, rows), .name = name), 0);
}

weir_output weir_gradient_dense(weir_scope s, weir_gradient_value gradient)
{
    return gradient.indices.node == NULL ? gradient.values : spread(WEIR_HERE(s), gradient, NULL);
}

/* Rows and dense ones: all of them dense, under one AddN. */
static weir_status add_mixed(weir_scope scope, weir_arena *arena, const weir_gradient_list *list, weir_output *sum)
{
    weir_output *values = weir_arena_take(arena, (size_t)list->count, sizeof *values);
    if (values == NULL)
        return weir_fail_memory((size_t)list->count * sizeof *values);
    weir_scope inner = weir_in_scope(scope, "AddN");
    for (int i = 0; i < list->count; i++) {
        char name[32];
        snprintf(name, sizeof name, "inputs_%d", i);
        weir_gradient_value value = list->items[i];
        values[i] = value.indices.node == NULL ? value.values : spread(inner, value, name);
    }
    *sum = weir_add_n(scope, values, list->count, .name = weir_scope_name(inner));
    return WEIR_STATUS_OK;
}

/* Indices of one type: int64 if any are. */
static void widen_indices(weir_scope scope, weir_output *indices, int count)
{
    bool is_mixed = false;
    for (int i = 1; i < count; i++)
        is_mixed = is_mixed || weir_output_dtype(indices[i]) != weir_output_dtype(indices[0]);
    for (int i = 0; is_mixed && i < count; i++)
        indices[i] = weir_cast(scope, indices[i], WEIR_INT64);
}

static weir_status put_together(weir_scope scope, weir_arena *arena, const weir_gradient_list *list,
                                weir_gradient_value *sum)
{
    size_t count = (size_t)list->count;
    weir_output *values = weir_arena_take(arena, count, sizeof *values);
    weir_output *indices = weir_arena_take(arena, count, sizeof *indices);
    if (values == NULL || indices == NULL)
        return weir_fail_memory(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[i] = list->items[i].values;
        indices[i] = list->items[i].indices;
    }
    widen_indices(scope, indices, list->count);
    sum->values = weir_concat(scope, values, list->count, 0);
    sum->indices = weir_concat(scope, indices, list->count, 0);
    sum->dense_shape = list->items[0].dense_shape;
    return WEIR_STATUS_OK;
}

/* ---- All ---- */

weir_status weir_gradient_list_sum(weir_scope scope, weir_arena *arena, const weir_gradient_list *list,
                                   weir_gradient_value *sum)
{
    *sum = (weir_gradient_value){0};
    int rows = 0;
    for (int i = 0; i < list->count; i++)
        rows += list->items[i].indices.node != NULL;
    if (list->count == 0)
        return WEIR_STATUS_OK;
    if (list->count == 1)
        *sum = list->items[0];
    else if (rows == 0)
        WEIR_TRY(add_dense(scope, arena, list, &sum->values));
    else if (rows == list->count)
        WEIR_TRY(put_together(scope, arena, list, sum));
    else
        WEIR_TRY(add_mixed(scope, arena, list, &sum->values));
    return weir_graph_error(weir_scope_graph(scope));
}
