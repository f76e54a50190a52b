/*
 * Static shapes: running an op's shape rule when its node is built, and what rules share.
 */
#include <string.h>

#include "graph/graph.h"
#include "graph/infer_value.h"

/* Values that were worked out for the rule, freed when it ends. */
struct weir_infer_memory {
    WEIR_LIST(weir_tensor *) tensors;
};

weir_shape weir_infer_input(const weir_infer *infer, int index)
{
    return weir_output_shape(weir_node_input(infer->node, index));
}

const weir_tensor *weir_infer_constant(const weir_infer *infer, int index)
{
    weir_tensor *value = weir_static_value(weir_node_input(infer->node, index));
    if (value == NULL)
        return NULL;
    if (!weir_ok(weir_list_add(&infer->memory->tensors, value))) {
        weir_tensor_free(value);
        return NULL;
    }
    return value;
}

weir_shape weir_infer_shape_value(const weir_infer *infer, int index)
{
    return weir_static_shape_value(weir_node_input(infer->node, index));
}

weir_status weir_node_infer(weir_node *node)
{
    if (node->op->infer == NULL)
        return WEIR_STATUS_OK;
    struct weir_infer_memory memory = {0};
    weir_infer infer = {.node = node, .outputs = node->output_shapes, .memory = &memory};
    weir_status status = node->op->infer(&infer);
    for (size_t i = 0; i < memory.tensors.count; i++)
        weir_tensor_free(memory.tensors.items[i]);
    weir_list_clear(&memory.tensors);
    return status;
}

weir_status weir_infer_rank(const weir_infer *infer, int index, int rank, weir_shape *out)
{
    weir_shape shape = weir_infer_input(infer, index);
    if (shape.rank == rank) {
        *out = shape;
        return WEIR_STATUS_OK;
    }
    if (shape.rank != WEIR_UNKNOWN_RANK) {
        char text[WEIR_SHAPE_TEXT_SIZE];
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shape must be rank %d but is rank %d: input %d has shape %s", rank,
                         shape.rank, index, weir_shape_text(shape, text, sizeof text));
    }
    shape.rank = rank;
    for (int i = 0; i < rank; i++)
        shape.dims[i] = WEIR_UNKNOWN_DIM;
    *out = shape;
    return WEIR_STATUS_OK;
}

static weir_status shapes_differ(weir_shape a, weir_shape b, int axis)
{
    char text_a[WEIR_SHAPE_TEXT_SIZE];
    char text_b[WEIR_SHAPE_TEXT_SIZE];
    weir_shape_text(a, text_a, sizeof text_a);
    weir_shape_text(b, text_b, sizeof text_b);
    if (axis < 0) {
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shapes must be equal rank, but are %d and %d. Shapes are %s and %s.",
                         a.rank, b.rank, text_a, text_b);
    }
    return weir_fail(WEIR_INVALID_ARGUMENT,
                     "Dimension %d in both shapes must be equal, but are %lld and %lld. Shapes are %s and %s.", axis,
                     (long long)a.dims[axis], (long long)b.dims[axis], text_a, text_b);
}

weir_status weir_infer_merge(weir_shape a, weir_shape b, weir_shape *out)
{
    if (a.rank == WEIR_UNKNOWN_RANK || b.rank == WEIR_UNKNOWN_RANK) {
        *out = a.rank == WEIR_UNKNOWN_RANK ? b : a;
        return WEIR_STATUS_OK;
    }
    if (a.rank != b.rank)
        return shapes_differ(a, b, -1);
    weir_shape merged = a;
    for (int i = 0; i < a.rank; i++) {
        if (a.dims[i] == WEIR_UNKNOWN_DIM)
            merged.dims[i] = b.dims[i];
        else if (b.dims[i] != WEIR_UNKNOWN_DIM && b.dims[i] != a.dims[i])
            return shapes_differ(a, b, i);
    }
    *out = merged;
    return WEIR_STATUS_OK;
}

/* One dimension of a broadcast; false when the two do not go together. */
static bool broadcast_dim(int64_t a, int64_t b, int64_t *out)
{
    if (a == b || b == 1)
        *out = a;
    else if (a == 1)
        *out = b;
    else if (a == WEIR_UNKNOWN_DIM || b == WEIR_UNKNOWN_DIM)
        *out = a == WEIR_UNKNOWN_DIM ? b : a; /* the unknown one is 1 or equal */
    else
        return false;
    return true;
}

weir_status weir_infer_broadcast(weir_shape a, weir_shape b, weir_shape *out)
{
    if (a.rank == WEIR_UNKNOWN_RANK || b.rank == WEIR_UNKNOWN_RANK) {
        *out = weir_shape_unknown();
        return WEIR_STATUS_OK;
    }
    weir_shape shape = {.rank = a.rank > b.rank ? a.rank : b.rank};
    for (int i = 1; i <= shape.rank; i++) {
        int64_t dim_a = i <= a.rank ? a.dims[a.rank - i] : 1;
        int64_t dim_b = i <= b.rank ? b.dims[b.rank - i] : 1;
        if (!broadcast_dim(dim_a, dim_b, &shape.dims[shape.rank - i])) {
            char text_a[WEIR_SHAPE_TEXT_SIZE];
            char text_b[WEIR_SHAPE_TEXT_SIZE];
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Dimensions must be equal, but are %lld and %lld: incompatible shapes %s and %s",
                             (long long)dim_a, (long long)dim_b, weir_shape_text(a, text_a, sizeof text_a),
                             weir_shape_text(b, text_b, sizeof text_b));
        }
    }
    *out = shape;
    return WEIR_STATUS_OK;
}

weir_status weir_infer_same(weir_infer *infer)
{
    for (int i = 0; i < infer->node->num_outputs; i++)
        infer->outputs[i] = weir_infer_input(infer, 0);
    return WEIR_STATUS_OK;
}

weir_status weir_infer_elementwise(weir_infer *infer)
{
    return weir_infer_broadcast(weir_infer_input(infer, 0), weir_infer_input(infer, 1), &infer->outputs[0]);
}

weir_status weir_infer_scalar(weir_infer *infer)
{
    for (int i = 0; i < infer->node->num_outputs; i++)
        infer->outputs[i] = weir_shape_scalar();
    return WEIR_STATUS_OK;
}

weir_status weir_infer_unknown(weir_infer *infer)
{
    for (int i = 0; i < infer->node->num_outputs; i++)
        infer->outputs[i] = weir_shape_unknown();
    return WEIR_STATUS_OK;
}

weir_status weir_infer_none(weir_infer *infer)
{
    (void)infer;
    return WEIR_STATUS_OK;
}
