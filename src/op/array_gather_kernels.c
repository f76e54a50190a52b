/*
 * Kernels of array_gather.c. What DynamicStitch, ListDiff and Where give out depends on values, so they execute.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "op/array_support.h"

/* ---- Gather, GatherV2 ---- */

typedef struct gather_state {
    weir_objects objects;
    weir_element element;
    int output; /* argument */
    int64_t batch, outer, size, inner, count;
    weir_dtype index_type;
    weir_shape indices;
} gather_state;

/* "indices[2,0] = 4 is not in [0, 4)" */
static weir_status bad_index(const gather_state *s, const void *indices, int64_t at)
{
    int64_t places[WEIR_MAX_RANK];
    int64_t left = at;
    for (int i = s->indices.rank - 1; i >= 0; i--) {
        places[i] = left % s->indices.dims[i];
        left /= s->indices.dims[i];
    }
    char text[WEIR_MAX_RANK * 22] = "";
    size_t used = 0;
    for (int i = 0; i < s->indices.rank && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId64, i == 0 ? "[" : ",", places[i]);
    int64_t value = s->index_type == WEIR_INT32   ? ((const int32_t *)indices)[at]
                    : s->index_type == WEIR_INT64 ? ((const int64_t *)indices)[at]
                                                  : ((const int16_t *)indices)[at];
    return weir_fail(WEIR_INVALID_ARGUMENT, "indices%s%s = %" PRId64 " is not in [0, %" PRId64 ")", text,
                     s->indices.rank > 0 ? "]" : "", value, s->size);
}

static weir_status run_gather(const void *state, void *const *arguments, weir_context *context)
{
    const gather_state *s = state;
    int64_t bad = weir_gather_elements(s->element, context->team, arguments[0], s->batch, s->outer, s->size, s->inner,
                                       s->index_type, arguments[1], s->count, arguments[s->output]);
    return bad >= 0 ? bad_index(s, arguments[1], bad) : s->objects.status;
}

/* Axis and batch axes are resolved and checked. */
static weir_status bind_gather_along(weir_bind *bind, int axis, int batch)
{
    const weir_shape *params = &bind->inputs[0].shape;
    const weir_shape *indices = &bind->inputs[1].shape;
    weir_shape out = {0};
    for (int i = 0; i < axis; i++)
        WEIR_TRY(weir_shape_push(&out, params->dims[i]));
    for (int i = batch; i < indices->rank; i++)
        WEIR_TRY(weir_shape_push(&out, indices->dims[i]));
    for (int i = axis + 1; i < params->rank; i++)
        WEIR_TRY(weir_shape_push(&out, params->dims[i]));
    bind->outputs[0] = out;
    WEIR_TRY(weir_check_output(bind, 0));
    gather_state *state = NULL;
    WEIR_TRY(weir_bind_state(bind, &state));
    state->element = weir_element_of(weir_dtype_base(bind->inputs[0].dtype), &state->objects);
    state->output = bind->node->num_inputs;
    state->batch = weir_shape_span(params, 0, batch);
    state->outer = weir_shape_span(params, batch, axis);
    state->size = params->dims[axis];
    state->inner = weir_shape_span(params, axis + 1, params->rank);
    state->count = weir_shape_span(indices, batch, indices->rank);
    state->index_type = weir_dtype_base(bind->inputs[1].dtype);
    state->indices = *indices;
    bind->run = run_gather;
    bind->state = state;
    return WEIR_STATUS_OK;
}

static weir_status check_params(const weir_shape *params)
{
    return params->rank >= 1 ? WEIR_STATUS_OK
                             : weir_fail(WEIR_INVALID_ARGUMENT, "params must be at least 1 dimensional");
}

static weir_status bind_gather(weir_bind *bind)
{
    WEIR_TRY(check_params(&bind->inputs[0].shape));
    return bind_gather_along(bind, 0, 0);
}

static weir_status check_batch(const weir_shape *params, const weir_shape *indices, int64_t *batch, int axis)
{
    int64_t given = *batch;
    if (given < -indices->rank || given > indices->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Expected batch_dims in the range [%d, %d], but got %" PRId64,
                         -indices->rank, indices->rank, given);
    *batch = given < 0 ? given + indices->rank : given;
    if (*batch >= params->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "batch_dims (%" PRId64 ") must be less than rank(params) (%d).", *batch,
                         params->rank);
    if (*batch > axis)
        return weir_fail(WEIR_INVALID_ARGUMENT, "batch_dims (%" PRId64 ") must be less than or equal to axis (%d).",
                         *batch, axis);
    for (int i = 0; i < *batch; i++) {
        if (params->dims[i] != indices->dims[i])
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "params.shape[%d]: %" PRId64 " should be equal to indices.shape[%d]: %" PRId64, i,
                             params->dims[i], i, indices->dims[i]);
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_gather_v2(weir_bind *bind)
{
    const weir_shape *params = &bind->inputs[0].shape;
    int64_t axis = 0;
    int64_t batch = weir_node_int(bind->node, "batch_dims", 0);
    WEIR_TRY(check_params(params));
    if (bind->inputs[2].shape.rank != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "axis must be scalar");
    (void)weir_bind_ints(bind, 2, &axis, 1);
    if (axis < -params->rank || axis >= params->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be at least rank %" PRId64 " but is rank %d",
                         axis < 0 ? -axis : axis + 1, params->rank);
    axis = axis < 0 ? axis + params->rank : axis;
    if (batch != 0)
        WEIR_TRY(check_batch(params, &bind->inputs[1].shape, &batch, (int)axis));
    return bind_gather_along(bind, (int)axis, (int)batch);
}

/* ---- DynamicStitch ---- */

static bool starts_with(const weir_shape *shape, const weir_shape *prefix)
{
    return shape->rank >= prefix->rank && weir_shape_equal(weir_shape_of(prefix->rank, shape->dims), *prefix);
}

/* Shape of a row of the result, of which every data input must have some. */
static weir_status stitch_rows(const weir_call *call, int count, weir_shape *row)
{
    const weir_shape *first_indices = &call->inputs[0]->shape;
    const weir_shape *first = &call->inputs[count]->shape;
    for (int i = 0; i < count; i++) {
        const weir_shape *indices = &call->inputs[i]->shape;
        const weir_shape *data = &call->inputs[count + i]->shape;
        if (!starts_with(data, indices))
            return weir_fail(WEIR_INVALID_ARGUMENT, "data[%d].shape = %s does not start with indices[%d].shape = %s", i,
                             WEIR_SHAPE_TEXT(*data), i, WEIR_SHAPE_TEXT(*indices));
        weir_shape rest = weir_shape_of(data->rank - indices->rank, data->dims + indices->rank);
        if (i == 0)
            *row = rest;
        else if (!weir_shape_equal(rest, *row))
            return weir_fail(
                WEIR_INVALID_ARGUMENT,
                "Need data[0].shape[%d:] = data[%d].shape[%d:], got data[0].shape = %s, data[%d].shape = %s, "
                "indices[0].shape = %s, indices[%d].shape = %s",
                first_indices->rank, i, indices->rank, WEIR_SHAPE_TEXT(*first), i, WEIR_SHAPE_TEXT(*data),
                WEIR_SHAPE_TEXT(*first_indices), i, WEIR_SHAPE_TEXT(*indices));
    }
    return WEIR_STATUS_OK;
}

static weir_status stitch(const weir_call *call, int count, const weir_shape *row, const int32_t **indices,
                          int64_t *counts, const void **data)
{
    for (int i = 0; i < count; i++) {
        indices[i] = call->inputs[i]->data;
        counts[i] = call->inputs[i]->elements;
        data[i] = call->inputs[count + i]->data;
    }
    weir_shape out = {1, {weir_stitch_rows(count, indices, counts)}};
    for (int i = 0; i < row->rank; i++)
        WEIR_TRY(weir_shape_push(&out, row->dims[i]));
    weir_tensor **result = &call->outputs[0];
    weir_dtype dtype = call->inputs[count]->dtype;
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), dtype, &out, result));
    if (!weir_dtype_is_object(dtype)) /* rows that no index names */
        memset((*result)->data, 0, (*result)->size_bytes);
    weir_objects objects = {0};
    weir_element element = weir_element_of(dtype, &objects);
    int64_t bad = weir_stitch_elements(element, count, indices, counts, data, weir_shape_elements(*row), out.dims[0],
                                       (*result)->data);
    if (bad >= 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "indices[%" PRId64 "] is out of range", bad);
    return objects.status;
}

static weir_status execute_dynamic_stitch(weir_call *call)
{
    int count = call->node->num_inputs / 2;
    weir_shape row = weir_shape_scalar();
    WEIR_TRY(stitch_rows(call, count, &row));
    weir_arena arena = {0};
    const int32_t **indices = weir_arena_take(&arena, (size_t)count, sizeof(const int32_t *));
    int64_t *counts = weir_arena_take(&arena, (size_t)count, sizeof *counts);
    const void **data = weir_arena_take(&arena, (size_t)count, sizeof(const void *));
    weir_status status = indices != NULL && counts != NULL && data != NULL
                             ? stitch(call, count, &row, indices, counts, data)
                             : weir_fail_memory((size_t)count * sizeof *counts);
    weir_arena_clear(&arena);
    if (!weir_ok(status)) {
        weir_tensor_free(call->outputs[0]);
        call->outputs[0] = NULL;
    }
    return status;
}

/* ---- ListDiff ---- */

/* The first count elements of a vector. */
static weir_status first_part(weir_tensor **vector, int64_t count)
{
    weir_tensor *part = NULL;
    weir_shape shape = {1, {count}};
    WEIR_TRY(weir_tensor_over((*vector)->buffer, (*vector)->data, (*vector)->dtype, &shape, &part));
    weir_tensor_free(*vector);
    *vector = part;
    return WEIR_STATUS_OK;
}

static weir_status diff_strings(const weir_tensor *x, const weir_tensor *y, weir_dtype index_type, weir_tensor *out,
                                void *out_index, int64_t *kept)
{
    weir_map known = {0};
    weir_status status = WEIR_STATUS_OK;
    for (int64_t i = 0; i < y->elements && weir_ok(status); i++) {
        const weir_string *string = weir_tensor_string_elements(y) + i;
        status = weir_map_put(&known, string->data != NULL ? string->data : "", string->size, (void *)y);
    }
    for (int64_t i = 0; i < x->elements && weir_ok(status); i++) {
        const weir_string *string = weir_tensor_string_elements(x) + i;
        if (weir_map_get(&known, string->data != NULL ? string->data : "", string->size) != NULL)
            continue;
        status = weir_string_set(weir_tensor_string_elements(out) + *kept, string->data, string->size);
        if (index_type == WEIR_INT32)
            ((int32_t *)out_index)[*kept] = (int32_t)i;
        else
            ((int64_t *)out_index)[*kept] = i;
        ++*kept;
    }
    weir_map_clear(&known);
    return status;
}

static weir_status diff_numbers(const weir_tensor *x, const weir_tensor *y, weir_dtype index_type, weir_tensor *out,
                                void *out_index, int64_t *kept)
{
    size_t size = weir_list_difference_scratch(y->elements);
    void *scratch = weir_allocate_aligned(size);
    if (scratch == NULL)
        return weir_fail_memory(size);
    *kept = weir_list_difference(x->dtype, x->data, x->elements, y->data, y->elements, index_type, scratch, out->data,
                                 out_index);
    weir_release(scratch);
    if (*kept < 0)
        return weir_fail(WEIR_UNIMPLEMENTED, "ListDiff has no kernel for %s", weir_dtype_name(x->dtype));
    return WEIR_STATUS_OK;
}

static weir_status list_diff(const weir_call *call)
{
    const weir_tensor *x = call->inputs[0];
    const weir_tensor *y = call->inputs[1];
    weir_dtype index_type = call->node->output_dtypes[1];
    if (x->shape.rank != 1 || y->shape.rank != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s should be a 1D vector.", x->shape.rank != 1 ? "x" : "y");
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), x->dtype, &x->shape, &call->outputs[0]));
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), index_type, &x->shape, &call->outputs[1]));
    int64_t kept = 0;
    if (x->dtype == WEIR_STRING)
        WEIR_TRY(diff_strings(x, y, index_type, call->outputs[0], call->outputs[1]->data, &kept));
    else
        WEIR_TRY(diff_numbers(x, y, index_type, call->outputs[0], call->outputs[1]->data, &kept));
    WEIR_TRY(first_part(&call->outputs[0], kept));
    return first_part(&call->outputs[1], kept);
}

static weir_status execute_list_diff(weir_call *call)
{
    weir_status status = list_diff(call);
    for (int i = 0; i < 2 && !weir_ok(status); i++) {
        weir_tensor_free(call->outputs[i]);
        call->outputs[i] = NULL;
    }
    return status;
}

/* ---- Where ---- */

static weir_status execute_where(weir_call *call)
{
    const weir_tensor *x = call->inputs[0];
    if (x->shape.rank == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "WhereOp : Unhandled input dimensions: 0");
    int64_t count = weir_where_count(x->dtype, x->data, x->elements);
    if (count < 0)
        return weir_fail(WEIR_UNIMPLEMENTED, "Where has no kernel for %s", weir_dtype_name(x->dtype));
    weir_shape shape = {2, {count, x->shape.rank}};
    WEIR_TRY(weir_tensor_allocate(weir_host_allocator(), WEIR_INT64, &shape, &call->outputs[0]));
    weir_where_indices(x->dtype, x->data, &x->shape, call->outputs[0]->data);
    return WEIR_STATUS_OK;
}

/* ---- Table ---- */

WEIR_EXECUTE_OF(bind_gather)
WEIR_EXECUTE_OF(bind_gather_v2)

#define ON_HOST .on_accelerators = true, .host_inputs = WEIR_ALL_INPUTS, .host_outputs = WEIR_ALL_INPUTS

const weir_kernel weir_array_gather_kernels[] = {
    {.op = "Gather", .types = {{"Tparams", weir_types_objects}}, .execute = execute_bind_gather},
    {.op = "GatherV2", .types = {{"Tparams", weir_types_objects}}, .execute = execute_bind_gather_v2},
    {.op = "Gather", .bind = bind_gather, .on_accelerators = true},
    {.op = "GatherV2",
     .bind = bind_gather_v2,
     .shape_inputs = WEIR_INPUT(2),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(2)},
    {.op = "DynamicStitch", .execute = execute_dynamic_stitch, ON_HOST},
    {.op = "ListDiff", .execute = execute_list_diff},
    {.op = "Where", .execute = execute_where, ON_HOST},
    {.op = NULL},
};
