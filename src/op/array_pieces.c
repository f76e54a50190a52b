/*
 * Texts of shape rules and pieces of graph; see array_pieces.h.
 */
#include "op/array_pieces.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "graph/infer_value.h"
#include "tensor/tensor.h"

const weir_dtype weir_types_index[] = {WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};

/* ---- Shape rules ---- */

weir_status weir_infer_rank_at_least(weir_shape shape, int rank)
{
    if (shape.rank == WEIR_UNKNOWN_RANK || shape.rank >= rank)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be at least rank %d but is rank %d", rank, shape.rank);
}

weir_status weir_infer_rank_at_most(weir_shape shape, int rank)
{
    if (shape.rank <= rank)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be at most rank %d but is rank %d", rank, shape.rank);
}

weir_status weir_infer_dim(int64_t a, int64_t b, int64_t *out)
{
    if (a >= 0 && b >= 0 && a != b)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Dimensions must be equal, but are %" PRId64 " and %" PRId64, a, b);
    *out = a >= 0 ? a : b;
    return WEIR_STATUS_OK;
}

weir_shape weir_shape_of_rank(int64_t rank)
{
    weir_shape shape = {.rank = rank >= 0 && rank <= WEIR_MAX_RANK ? (int)rank : WEIR_UNKNOWN_RANK};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = WEIR_UNKNOWN_DIM;
    return shape;
}

void weir_infer_push(weir_shape *shape, int64_t dim)
{
    if (shape->rank == WEIR_MAX_RANK)
        *shape = weir_shape_unknown();
    if (shape->rank != WEIR_UNKNOWN_RANK)
        shape->dims[shape->rank++] = dim;
}

weir_status weir_infer_shape_input(const weir_infer *infer, int index, weir_shape *out)
{
    weir_shape vector;
    WEIR_TRY(weir_infer_rank(infer, index, 1, &vector));
    const weir_tensor *constant = weir_infer_constant(infer, index);
    for (int64_t i = 0; constant != NULL && i < constant->elements; i++) {
        int64_t value = weir_tensor_get_int(constant, i);
        if (value < -1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Invalid value in tensor used for shape: %" PRId64, value);
    }
    weir_shape shape = weir_infer_shape_value(infer, index);
    *out = shape.rank != WEIR_UNKNOWN_RANK ? shape : weir_shape_of_rank(vector.dims[0]);
    return WEIR_STATUS_OK;
}

bool weir_infer_ints(const weir_infer *infer, int index, int64_t *values, int limit, int64_t *count)
{
    const weir_tensor *constant = weir_infer_constant(infer, index);
    if (constant == NULL)
        return false;
    for (int64_t i = 0; i < limit && i < constant->elements; i++)
        values[i] = weir_tensor_get_int(constant, i);
    *count = constant->elements;
    return true;
}

/* ---- Pieces of graph ---- */

static weir_output const_of(weir_scope s, weir_dtype dtype, weir_shape shape, const int64_t *values, int count,
                            const char *name)
{
    int32_t narrow[2 * WEIR_MAX_RANK];
    for (int i = 0; i < count; i++)
        narrow[i] = (int32_t)values[i];
    const void *elements = dtype == WEIR_INT32 ? (const void *)narrow : (const void *)values;
    return weir_const(s, WEIR_TENSOR_SHAPED(dtype, shape, elements), .name = name);
}

weir_output weir_build_int(weir_scope s, weir_dtype dtype, int64_t value, const char *name)
{
    return const_of(s, dtype, WEIR_SCALAR, &value, 1, name);
}

weir_output weir_build_ints(weir_scope s, weir_dtype dtype, const int64_t *values, int count, const char *name)
{
    return const_of(s, dtype, WEIR_SHAPE(count), values, count, name);
}

weir_output weir_build_shape_as(weir_scope s, weir_output x, weir_dtype dtype)
{
    weir_shape shape = weir_output_shape(x);
    if (x.node != NULL && weir_shape_known(shape))
        return weir_build_ints(s, dtype, shape.dims, shape.rank, "Shape");
    return weir_out(weir_op(s, "Shape", WEIR_INPUTS(x), WEIR_ATTRS(WEIR_ATTR_T("out_type", dtype))), 0);
}

weir_output weir_build_with_int(weir_scope s, const char *op, const char *name, weir_output x, const char *argument,
                                int64_t value)
{
    weir_scope inner = weir_in_scope(s, "%s", name);
    weir_output number = weir_build_int(inner, WEIR_INT32, value, argument);
    return weir_build_binary(inner, op, weir_scope_name(inner), x, number);
}

weir_output weir_build_with_ints(weir_scope s, const char *op, const char *name, weir_output x, const char *argument,
                                 weir_dtype dtype, const int64_t *values, int count)
{
    weir_scope inner = weir_in_scope(s, "%s", name);
    weir_output numbers = weir_build_ints(inner, dtype, values, count, argument);
    return weir_build_binary(inner, op, weir_scope_name(inner), x, numbers);
}

weir_output weir_build_flat(weir_scope s, weir_output x)
{
    int64_t all = -1;
    return weir_build_with_ints(s, "Reshape", "Reshape", x, "shape", WEIR_INT32, &all, 1);
}

weir_output weir_build_element(weir_scope s, weir_output vector, int64_t index)
{
    weir_scope inner = weir_in_scope(s, "strided_slice");
    weir_output begin = weir_build_ints(inner, WEIR_INT32, &index, 1, "stack");
    weir_output end = weir_build_ints(inner, WEIR_INT32, &(int64_t){index + 1}, 1, "stack_1");
    weir_output step = weir_build_ints(inner, WEIR_INT32, &(int64_t){1}, 1, "stack_2");
    return weir_strided_slice(inner, vector, begin, end, step, .name = weir_scope_name(inner), .shrink_axis_mask = 1);
}

weir_output weir_build_pair(weir_scope s, const char *name, weir_output x, int64_t number)
{
    weir_scope inner = weir_in_scope(s, "%s", name);
    weir_output second = weir_build_int(inner, WEIR_INT32, number, "1");
    return weir_build_binary(inner, "Pack", weir_scope_name(inner), x, second);
}

weir_output weir_build_concat(weir_scope s, const weir_output *parts, int count, weir_output axis)
{
    if (count == 1)
        return weir_identity(weir_in_scope(s, "concat"), parts[0], .name = "concat");
    weir_output *inputs = weir_allocate((size_t)count + 1, sizeof *inputs);
    if (inputs == NULL) {
        (void)weir_scope_fail(s, weir_fail_memory(((size_t)count + 1) * sizeof *inputs));
        return WEIR_NO_OUTPUT;
    }
    memcpy(inputs, parts, (size_t)count * sizeof *inputs);
    inputs[count] = axis;
    weir_node *node = weir_op(s, "ConcatV2", .inputs = inputs, .num_inputs = count + 1, .name = "concat");
    weir_release(inputs);
    return weir_out(node, 0);
}

bool weir_dtype_is_trainable(weir_dtype dtype)
{
    dtype = weir_dtype_base(dtype);
    return weir_dtype_is_floating(dtype) || weir_dtype_is_complex(dtype);
}

bool weir_static_int(weir_output output, int64_t *value)
{
    weir_tensor *tensor = weir_static_value(output);
    bool is_known = tensor != NULL && tensor->elements == 1 && !weir_dtype_is_object(tensor->dtype);
    if (is_known)
        *value = weir_tensor_get_int(tensor, 0);
    weir_tensor_free(tensor);
    return is_known;
}
