/*
 * Gradients of Gather and GatherV2. Along axis 0 they are rows (IndexedSlices). Along other axes dy is transposed so that
 * the gathered axis comes first after the batch axes, its rows are summed by index, and the result is transposed back; the
 * nodes are those of TensorFlow.
 */
#include <stdio.h>

#include "op/array_gather.h"
#include "op/array_pieces.h"

/* ---- Axis 0 ---- */

/* [size of indices], as a vector. */
static weir_output indices_size(weir_scope s, weir_output indices)
{
    return weir_expand_dims(s, weir_build_size(s, indices), 0);
}

/* The shape of params, placed with it: it may be large and far away. */
static weir_output params_shape_of(weir_gradient *gradient)
{
    weir_output params = weir_gradient_x(gradient, 0);
    return weir_build_shape(weir_colocated_with(gradient->scope, params.node), params);
}

static void set_rows(weir_gradient *gradient, weir_output shape, weir_output count)
{
    weir_scope s = gradient->scope;
    weir_output inner = weir_build_part(s, shape, 1, 0);
    weir_output values_shape = weir_concat(s, WEIR_OUTPUTS(count, inner), 0);
    weir_output values = weir_reshape_to(s, gradient->dy[0], values_shape);
    weir_output indices = weir_reshape_to(s, weir_gradient_x(gradient, 1), count);
    gradient->dx[0] = (weir_gradient_value){.values = values, .indices = indices, .dense_shape = shape};
}

weir_status weir_gather_gradient(weir_gradient *gradient)
{
    weir_output shape = params_shape_of(gradient);
    set_rows(gradient, shape, indices_size(gradient->scope, weir_gradient_x(gradient, 1)));
    return WEIR_STATUS_OK;
}

/* ---- Other axes ---- */

/* vector[:end] or vector[begin:] where the bound is a scalar node. */
static weir_output slice_to(weir_scope s, weir_output vector, weir_output bound, bool from_bound)
{
    weir_output zero = weir_build_int(s, WEIR_INT32, 0, "Const");
    weir_output one = weir_build_int(s, WEIR_INT32, 1, "Const");
    weir_scope inner = weir_in_scope(s, "strided_slice");
    weir_output begin = weir_build_unary(inner, "Pack", "stack", from_bound ? bound : zero);
    weir_output end = weir_build_unary(inner, "Pack", "stack_1", from_bound ? zero : bound);
    weir_output step = weir_build_unary(inner, "Pack", "stack_2", one);
    return weir_strided_slice(inner, vector, begin, end, step, .name = weir_scope_name(inner),
                              .begin_mask = !from_bound, .end_mask = from_bound);
}

/* vector[at] where at is a scalar node. */
static weir_output pick(weir_scope s, weir_output vector, weir_output at)
{
    weir_output next = weir_build_with_number(s, "AddV2", "add", at, 1);
    weir_scope inner = weir_in_scope(s, "strided_slice");
    weir_output begin = weir_build_unary(inner, "Pack", "stack", at);
    weir_output end = weir_build_unary(inner, "Pack", "stack_1", next);
    weir_output step = weir_build_ints(inner, WEIR_INT32, (int64_t[]){1}, 1, "stack_2");
    return weir_strided_slice(inner, vector, begin, end, step, .name = weir_scope_name(inner), .shrink_axis_mask = 1);
}

/* Concatenation of vectors, of which part at is a number, or a scalar node when parts[at] is one. */
static weir_output join(weir_scope s, weir_output *parts, int count, int at, int64_t number)
{
    char name[16];
    snprintf(name, sizeof name, "values_%d", at);
    weir_scope inner = weir_in_scope(s, "concat");
    parts[at] = parts[at].node != NULL ? weir_build_unary(inner, "Pack", name, parts[at])
                                       : weir_build_ints(inner, WEIR_INT32, &number, 1, name);
    weir_output inputs[5];
    for (int i = 0; i < count; i++)
        inputs[i] = parts[i];
    inputs[count] = weir_build_int(inner, WEIR_INT32, 0, "axis");
    return weir_out(
        weir_op(inner, "ConcatV2", .inputs = inputs, .num_inputs = count + 1, .name = weir_scope_name(inner)), 0);
}

/* Range whose bounds are nodes, or numbers where the node is null. */
static weir_output range(weir_scope s, weir_output start, int64_t start_number, weir_output limit, int64_t limit_number)
{
    weir_scope inner = weir_in_scope(s, "range");
    if (start.node == NULL)
        start = weir_build_int(inner, WEIR_INT32, start_number, "start");
    if (limit.node == NULL)
        limit = weir_build_int(inner, WEIR_INT32, limit_number, "limit");
    weir_output delta = weir_build_int(inner, WEIR_INT32, 1, "delta");
    return weir_range(inner, start, limit, delta, .name = weir_scope_name(inner));
}

/* Adds to each index where its batch begins in the flattened batch axes. */
static weir_output batch_indices(weir_scope s, weir_output shape, weir_output indices, int batch)
{
    weir_dtype dtype = weir_output_dtype(indices);
    weir_output result = indices;
    shape = weir_cast(s, shape, dtype);
    weir_output stride = weir_build_number(s, dtype, 1, "ones");
    for (int dim = batch; dim > 0; dim--) {
        weir_output size = weir_build_element(s, shape, dim - 1);
        stride = weir_build_binary(s, "Mul", "mul", stride, weir_build_element(s, shape, dim));
        weir_output zero = weir_build_number(s, dtype, 0, "zeros");
        weir_output one = weir_build_number(s, dtype, 1, "ones");
        weir_output begins =
            weir_build_binary(s, "Mul", "mul", weir_range(s, zero, size, one, .name = "range"), stride);
        weir_scope before_scope = weir_in_scope(s, "Tile");
        weir_output unit = weir_build_ints(before_scope, WEIR_INT32, (int64_t[]){1}, 1, "input");
        weir_output times = weir_build_ints(before_scope, WEIR_INT32, (int64_t[]){dim - 1}, 1, "multiples");
        weir_output before = weir_tile(before_scope, unit, times, .name = weir_scope_name(before_scope));
        weir_output left = weir_build_with_number(s, "Sub", "sub", weir_build_rank(s, indices), dim);
        weir_scope after_scope = weir_in_scope(s, "Tile");
        unit = weir_build_ints(after_scope, WEIR_INT32, (int64_t[]){1}, 1, "input");
        times = weir_build_unary(after_scope, "Pack", "multiples", left);
        weir_output after = weir_tile(after_scope, unit, times, .name = weir_scope_name(after_scope));
        weir_output parts[] = {before, weir_cast(s, size, WEIR_INT32), after};
        weir_output place = join(s, parts, 3, 1, 0);
        result = weir_build_binary(s, "AddV2", "add", result, weir_reshape_to(s, begins, place));
    }
    return result;
}

/* Sums rows of values by index: [batch..., count, inner...] to [batch..., size, inner...]. */
static weir_output sum_rows(weir_scope s, weir_output shape, weir_output values, weir_output indices, int batch,
                            weir_output size)
{
    weir_output count = indices_size(s, indices);
    weir_output outer = WEIR_NO_OUTPUT;
    weir_output flat = WEIR_NO_OUTPUT;
    if (batch > 0) {
        weir_output values_shape = weir_build_shape(s, values);
        outer = weir_build_part(s, values_shape, 0, batch);
        weir_output inner = weir_build_part(s, weir_build_part(s, values_shape, batch, 0), 1, 0);
        weir_output batches =
            weir_build_with_ints(s, "Prod", "Prod", outer, "reduction_indices", WEIR_INT32, (int64_t[]){0}, 1);
        weir_output parts[] = {WEIR_NO_OUTPUT, inner};
        flat = join(s, parts, 2, 0, -1);
        size = weir_build_binary(s, "Mul", "mul", size, batches);
        indices = batch_indices(s, shape, indices, batch);
        values = weir_reshape_to(s, values, flat);
    }
    indices = weir_reshape_to(s, indices, count);
    weir_output sum = weir_out(weir_op(s, "UnsortedSegmentSum", WEIR_INPUTS(values, indices, size)), 0);
    if (batch > 0)
        sum = weir_reshape_to(s, sum, weir_concat(s, WEIR_OUTPUTS(outer, flat), 0));
    return sum;
}

static weir_output gradient_along(weir_gradient *gradient, weir_output shape, int batch)
{
    weir_scope s = gradient->scope;
    const weir_output none = WEIR_NO_OUTPUT;
    weir_output axis = weir_cast(s, weir_gradient_x(gradient, 2), WEIR_INT32);
    weir_output outer = slice_to(s, shape, axis, false);
    weir_output inner = weir_build_part(s, slice_to(s, shape, axis, true), 1, 0);
    weir_output values_shape = join(s, (weir_output[]){outer, none, inner}, 3, 1, -1);
    weir_output values_dims = weir_build_size(s, values_shape);
    weir_output axis_dims = weir_build_size(s, outer);
    weir_output batch_axes = range(s, none, 0, none, batch);
    weir_output outer_axes = range(s, none, batch, axis_dims, 0);
    weir_output inner_axes = range(s, weir_build_with_number(s, "AddV2", "add", axis_dims, 1), 0, values_dims, 0);
    weir_output values = weir_reshape_to(s, gradient->dy[0], values_shape);
    weir_output forth = join(s, (weir_output[]){batch_axes, axis_dims, outer_axes, inner_axes}, 4, 1, 0);
    values = weir_transpose_by(s, values, forth);
    weir_output moved_shape = weir_gather(s, shape, forth, 0);
    weir_output size = pick(s, shape, axis);
    weir_output sum = sum_rows(s, moved_shape, values, weir_gradient_x(gradient, 1), batch, size);
    weir_output shifted = weir_build_with_number(s, "AddV2", "add", outer_axes, 1);
    weir_output back = join(s, (weir_output[]){batch_axes, shifted, none, inner_axes}, 4, 2, batch);
    return weir_transpose_by(s, sum, back);
}

weir_status weir_gather_v2_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output params = weir_gradient_x(gradient, 0);
    weir_output indices = weir_gradient_x(gradient, 1);
    weir_output shape = params_shape_of(gradient);
    weir_output count = indices_size(s, indices);
    int64_t axis = -1;
    int64_t batch = weir_node_int(gradient->node, "batch_dims", 0);
    if (weir_static_int(weir_gradient_x(gradient, 2), &axis) && axis == 0) {
        set_rows(gradient, shape, count);
        return WEIR_STATUS_OK;
    }
    if (batch < 0 && weir_output_shape(indices).rank == WEIR_UNKNOWN_RANK)
        return weir_fail(WEIR_UNIMPLEMENTED,
                         "The gradient of GatherV2 with batch_dims %lld needs indices of known rank", (long long)batch);
    batch = batch < 0 ? batch + weir_output_shape(indices).rank : batch;
    weir_output sum = gradient_along(gradient, shape, (int)batch);
    weir_gradient_set(gradient, 0, weir_reshape_to(s, sum, weir_build_shape(s, params)));
    return WEIR_STATUS_OK;
}
