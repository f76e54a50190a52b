/*
 * Knows Const, Shape, Size and Rank, and what exported graphs compute from them: Identity, Cast, Pack, ConcatV2,
 * StridedSlice, products. Everything is a vector of at most WEIR_MAX_RANK integers, of which some may be unknown (-1).
 */
#include "graph/infer_value.h"

#include <string.h>

#include "tensor/tensor.h"

/* How far back constants are followed; graphs that need more simply stay unknown here. */
#define DEEPEST 16

typedef struct known {
    bool is_known;  /* the number of entries is */
    bool is_scalar;
    int count;
    int64_t values[WEIR_MAX_RANK]; /* -1: unknown */
} known;

static known find(weir_output output, int depth);

static bool is_op(const weir_node *node, const char *op)
{
    return strcmp(node->op->name, op) == 0;
}

static known from_tensor(const weir_tensor *tensor)
{
    known result = {0};
    bool is_integer = tensor->dtype == WEIR_INT32 || tensor->dtype == WEIR_INT64;
    if (!is_integer || tensor->shape.rank > 1 || tensor->elements > WEIR_MAX_RANK)
        return result;
    result = (known){.is_known = true, .is_scalar = tensor->shape.rank == 0, .count = (int)tensor->elements};
    for (int i = 0; i < result.count; i++)
        result.values[i] = weir_tensor_get_int(tensor, i);
    return result;
}

static known from_shape(weir_shape shape)
{
    known result = {.is_known = shape.rank != WEIR_UNKNOWN_RANK, .count = shape.rank};
    for (int i = 0; i < shape.rank; i++)
        result.values[i] = shape.dims[i];
    return result;
}

static known join(const weir_node *node, int count, int depth)
{
    known result = {.is_known = true};
    for (int i = 0; i < count; i++) {
        known part = find(node->inputs[i], depth);
        if (!part.is_known || result.count + part.count > WEIR_MAX_RANK)
            return (known){0};
        memcpy(result.values + result.count, part.values, (size_t)part.count * sizeof part.values[0]);
        result.count += part.count;
    }
    return result;
}

static known pick(const weir_node *node, int depth)
{
    known x = find(node->inputs[0], depth);
    known begin = find(node->inputs[1], depth);
    known end = find(node->inputs[2], depth);
    known stride = find(node->inputs[3], depth);
    bool is_simple = x.is_known && begin.is_known && end.is_known && stride.is_known && begin.count == 1 &&
                     stride.values[0] == 1 && weir_node_int(node, "ellipsis_mask", 0) == 0 &&
                     weir_node_int(node, "new_axis_mask", 0) == 0;
    if (!is_simple)
        return (known){0};
    bool shrinks = weir_node_int(node, "shrink_axis_mask", 0) & 1;
    int64_t first = weir_node_int(node, "begin_mask", 0) & 1 ? 0 : begin.values[0];
    int64_t last = weir_node_int(node, "end_mask", 0) & 1 ? x.count : end.values[0];
    first = first < 0 ? first + x.count : first;
    last = last < 0 ? last + x.count : last;
    last = shrinks ? first + 1 : last;
    last = last > x.count ? x.count : last;
    if (first < 0 || first > last)
        return (known){0};
    known result = {.is_known = true, .is_scalar = shrinks, .count = (int)(last - first)};
    memcpy(result.values, x.values + first, (size_t)result.count * sizeof x.values[0]);
    return result;
}

static known product(const weir_node *node, int depth)
{
    known x = find(node->inputs[0], depth);
    if (!x.is_known || weir_node_bool(node, "keep_dims", false))
        return (known){0};
    known result = {.is_known = true, .is_scalar = true, .count = 1, .values = {1}};
    for (int i = 0; i < x.count; i++)
        result.values[0] = x.values[i] < 0 || result.values[0] < 0 ? -1 : result.values[0] * x.values[i];
    return result;
}

static known total_size(weir_shape shape)
{
    int64_t elements = weir_shape_elements(shape);
    return (known){.is_known = true, .is_scalar = true, .count = 1, .values = {elements}};
}

static known find(weir_output output, int depth)
{
    const weir_node *node = output.node;
    if (node == NULL || depth > DEEPEST)
        return (known){0};
    if (is_op(node, "Const")) {
        const weir_attr_value *value = weir_node_find_attr(node, "value");
        return value != NULL && value->kind == WEIR_ATTR_TENSOR ? from_tensor(value->tensor) : (known){0};
    }
    if (is_op(node, "Shape"))
        return from_shape(weir_output_shape(node->inputs[0]));
    if (is_op(node, "ShapeN"))
        return from_shape(weir_output_shape(node->inputs[output.index]));
    if (is_op(node, "Size"))
        return total_size(weir_output_shape(node->inputs[0]));
    if (is_op(node, "Rank")) {
        weir_shape shape = weir_output_shape(node->inputs[0]);
        return (known){.is_known = shape.rank >= 0, .is_scalar = true, .count = 1, .values = {shape.rank}};
    }
    if (is_op(node, "Identity") || is_op(node, "StopGradient"))
        return find(node->inputs[0], depth + 1);
    if (is_op(node, "Cast") && (output.node->output_dtypes[0] == WEIR_INT32 || output.node->output_dtypes[0] == WEIR_INT64))
        return find(node->inputs[0], depth + 1);
    if (is_op(node, "Pack") && weir_node_int(node, "axis", 0) == 0)
        return join(node, node->num_inputs, depth + 1);
    if (is_op(node, "ConcatV2"))
        return join(node, node->num_inputs - 1, depth + 1);
    if (is_op(node, "StridedSlice"))
        return pick(node, depth + 1);
    if (is_op(node, "Prod"))
        return product(node, depth + 1);
    return (known){0};
}

static weir_tensor *to_tensor(const known *value, weir_dtype dtype)
{
    if (!value->is_known || (dtype != WEIR_INT32 && dtype != WEIR_INT64))
        return NULL;
    for (int i = 0; i < value->count; i++) {
        if (value->values[i] < 0)
            return NULL;
    }
    weir_shape shape = value->is_scalar ? weir_shape_scalar() : (weir_shape){.rank = 1, .dims = {value->count}};
    weir_tensor *tensor = NULL;
    if (!weir_ok(weir_tensor_new(dtype, shape, &tensor)))
        return NULL;
    for (int i = 0; i < value->count; i++) {
        if (dtype == WEIR_INT32)
            weir_tensor_int32s(tensor)[i] = (int32_t)value->values[i];
        else
            weir_tensor_int64s(tensor)[i] = value->values[i];
    }
    return tensor;
}

weir_tensor *weir_static_value(weir_output output)
{
    const weir_node *node = output.node;
    for (int depth = 0; node != NULL && depth < DEEPEST && is_op(node, "Identity"); depth++) {
        output = node->inputs[0];
        node = output.node;
    }
    if (node == NULL)
        return NULL;
    const weir_attr_value *value = is_op(node, "Const") ? weir_node_find_attr(node, "value") : NULL;
    if (value != NULL && value->kind == WEIR_ATTR_TENSOR)
        return weir_tensor_ref(value->tensor);
    known result = find(output, 0);
    return to_tensor(&result, weir_dtype_base(weir_output_dtype(output)));
}

weir_shape weir_static_shape_value(weir_output output)
{
    known value = find(output, 0);
    if (!value.is_known || value.is_scalar)
        return weir_shape_unknown();
    weir_shape shape = {.rank = value.count};
    for (int i = 0; i < value.count; i++)
        shape.dims[i] = value.values[i] < 0 ? WEIR_UNKNOWN_DIM : value.values[i];
    return shape;
}
