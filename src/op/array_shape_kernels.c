/*
 * Kernels of array_shape.c. Reshape, ExpandDims and Squeeze compute nothing: their output is their input's memory.
 */
#include <inttypes.h>
#include <string.h>

#include "op/array_support.h"

/* ---- Shape, ShapeN, Size, Rank ---- */

typedef struct shape_state {
    int first, outputs;  /* arguments */
    bool is_wide;        /* int64 */
    weir_shape shapes[]; /* [outputs]: what each output holds, as a vector */
} shape_state;

static weir_status run_shape(const void *state, void *const *arguments, weir_context *context)
{
    (void)context;
    const shape_state *s = state;
    for (int o = 0; o < s->outputs; o++) {
        const weir_shape *values = &s->shapes[o];
        if (s->is_wide)
            memcpy(arguments[s->first + o], values->dims, (size_t)values->rank * sizeof values->dims[0]);
        for (int i = 0; i < values->rank && !s->is_wide; i++)
            ((int32_t *)arguments[s->first + o])[i] = (int32_t)values->dims[i];
    }
    return WEIR_STATUS_OK;
}

static weir_status take_shape_state(weir_bind *bind, shape_state **out)
{
    int outputs = bind->node->num_outputs;
    void *memory = NULL;
    WEIR_TRY(weir_bind_take(bind, sizeof(shape_state) + (size_t)outputs * sizeof(weir_shape), &memory));
    shape_state *state = memory;
    state->first = bind->node->num_inputs;
    state->outputs = outputs;
    state->is_wide = bind->node->output_dtypes[0] == WEIR_INT64;
    bind->run = run_shape;
    bind->state = state;
    *out = state;
    return WEIR_STATUS_OK;
}

static weir_status bind_shape(weir_bind *bind)
{
    shape_state *state = NULL;
    WEIR_TRY(take_shape_state(bind, &state));
    for (int o = 0; o < state->outputs; o++) {
        const weir_shape *shape = &bind->inputs[o].shape;
        for (int i = 0; i < shape->rank && !state->is_wide; i++) {
            if (shape->dims[i] > INT32_MAX)
                return weir_fail(WEIR_INVALID_ARGUMENT, "Shape output type is 32-bit  but dim %d is %" PRId64, i,
                                 shape->dims[i]);
        }
        state->shapes[o] = *shape;
        bind->outputs[o] = (weir_shape){1, {shape->rank}};
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_scalar(weir_bind *bind, int64_t value)
{
    shape_state *state = NULL;
    WEIR_TRY(take_shape_state(bind, &state));
    if (value > INT32_MAX && !state->is_wide)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Number of elements was larger than representable by 32-bit output type");
    state->shapes[0] = (weir_shape){1, {value}};
    bind->outputs[0] = weir_shape_scalar();
    return WEIR_STATUS_OK;
}

static weir_status bind_size(weir_bind *bind)
{
    return bind_scalar(bind, weir_shape_elements(bind->inputs[0].shape));
}

static weir_status bind_rank(weir_bind *bind)
{
    return bind_scalar(bind, bind->inputs[0].shape.rank);
}

/* ---- Reshape ---- */

typedef struct wanted_shape {
    weir_shape shape; /* 1 where a dimension is to be worked out */
    int unknown;      /* that dimension; -1: none */
    int64_t product;  /* of the dimensions that are given and not 0 */
    bool has_zero;
} wanted_shape;

static weir_status too_many_elements(const int64_t *sizes, int count)
{
    char text[WEIR_MAX_RANK * 24] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId64, i == 0 ? "" : ", ", sizes[i]);
    return weir_fail(WEIR_INVALID_ARGUMENT, "Shape [%s] has too many elements", text);
}

static weir_status read_wanted(const int64_t *sizes, int count, wanted_shape *out)
{
    *out = (wanted_shape){.shape = {.rank = count}, .unknown = -1, .product = 1};
    for (int i = 0; i < count; i++) {
        int64_t size = sizes[i];
        if (size == -1 && out->unknown >= 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Only one input size may be -1, not both %d and %d", out->unknown,
                             i);
        if (size < -1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Size %d must be non-negative, not %" PRId64, i, size);
        if (size > 0 && __builtin_mul_overflow(out->product, size, &out->product))
            return too_many_elements(sizes, count);
        out->shape.dims[i] = size == -1 ? 1 : size;
        out->unknown = size == -1 ? i : out->unknown;
        out->has_zero = out->has_zero || size == 0;
    }
    return WEIR_STATUS_OK;
}

/* The dimension that was left open. Axes of 0 do not count when the wanted shape has one too. */
static weir_status find_unknown(const weir_shape *in, wanted_shape *wanted)
{
    int64_t elements = 1;
    bool left_out = false;
    for (int i = 0; i < in->rank; i++) {
        if (in->dims[i] > 0 || !wanted->has_zero)
            elements *= in->dims[i];
        else
            left_out = true;
    }
    int64_t missing = elements / wanted->product;
    if (!left_out && wanted->product * missing != elements)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Input to reshape is a tensor with %" PRId64
                         " values, but the requested shape requires a multiple of %" PRId64,
                         elements, wanted->product);
    wanted->shape.dims[wanted->unknown] = missing;
    return WEIR_STATUS_OK;
}

static weir_status bind_reshape(weir_bind *bind)
{
    if (bind->inputs[1].shape.rank > 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "sizes input must be 1-D, not %s",
                         WEIR_SHAPE_TEXT(bind->inputs[1].shape));
    int64_t sizes[WEIR_MAX_RANK];
    int64_t count = weir_bind_ints(bind, 1, sizes, WEIR_MAX_RANK);
    if (count > WEIR_MAX_RANK)
        return weir_fail(WEIR_INVALID_ARGUMENT, "A shape of %" PRId64 " dimensions has more than %d", count,
                         WEIR_MAX_RANK);
    wanted_shape wanted;
    WEIR_TRY(read_wanted(sizes, (int)count, &wanted));
    const weir_shape *in = &bind->inputs[0].shape;
    if (wanted.unknown >= 0)
        WEIR_TRY(find_unknown(in, &wanted));
    int64_t given = weir_shape_elements(*in);
    int64_t elements = weir_shape_elements(wanted.shape);
    if (elements != given)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Input to reshape is a tensor with %" PRId64 " values, but the requested shape has %" PRId64,
                         given, elements);
    bind->outputs[0] = wanted.shape;
    bind->same_memory[0] = 0;
    return WEIR_STATUS_OK;
}

/* ---- ExpandDims, Squeeze ---- */

static weir_status bind_expand_dims(weir_bind *bind)
{
    int64_t axis = 0;
    const weir_shape *in = &bind->inputs[0].shape;
    if (weir_bind_ints(bind, 1, &axis, 1) != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "'dim' must be a tensor with a single value");
    if (axis < -in->rank - 1 || axis > in->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Tried to expand dim index %" PRId64 " for tensor with %d dimensions.",
                         axis, in->rank);
    axis = axis < 0 ? axis + in->rank + 1 : axis;
    weir_shape out = {0};
    for (int i = 0; i <= in->rank; i++)
        WEIR_TRY(weir_shape_push(&out, i == axis ? 1 : in->dims[i < axis ? i : i - 1]));
    bind->outputs[0] = out;
    bind->same_memory[0] = 0;
    return WEIR_STATUS_OK;
}

static weir_status bind_squeeze(weir_bind *bind)
{
    const weir_attr_value *dims = weir_node_find_attr(bind->node, "squeeze_dims");
    const weir_shape *in = &bind->inputs[0].shape;
    bool is_squeezed[WEIR_MAX_RANK] = {false};
    for (int64_t i = 0; i < dims->list.count; i++) {
        int64_t axis = dims->list.i[i];
        if (axis < -in->rank || axis >= in->rank)
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Tried to squeeze dim index %" PRId64 " for tensor with %d dimensions.", axis, in->rank);
        is_squeezed[axis < 0 ? axis + in->rank : axis] = true;
    }
    weir_shape out = {0};
    for (int i = 0; i < in->rank; i++) {
        if (is_squeezed[i] && in->dims[i] != 1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Can not squeeze dim[%d], expected a dimension of 1, got %" PRId64,
                             i, in->dims[i]);
        if (!is_squeezed[i] && (in->dims[i] != 1 || dims->list.count > 0))
            out.dims[out.rank++] = in->dims[i];
    }
    bind->outputs[0] = out;
    bind->same_memory[0] = 0;
    return WEIR_STATUS_OK;
}

/* ---- BroadcastTo ---- */

static weir_status bind_broadcast_to(weir_bind *bind)
{
    const weir_shape *in = &bind->inputs[0].shape;
    if (bind->inputs[1].shape.rank != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "shape must be a vector of {int32,int64}, got shape %s",
                         WEIR_SHAPE_TEXT(bind->inputs[1].shape));
    WEIR_TRY(weir_bind_shape(bind, 1, &bind->outputs[0]));
    const weir_shape *out = &bind->outputs[0];
    if (weir_shape_equal(*in, *out)) {
        bind->same_memory[0] = 0;
        return WEIR_STATUS_OK;
    }
    if (in->rank > out->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Rank of input (%d) must be no greater than rank of output shape (%d).",
                         in->rank, out->rank);
    WEIR_TRY(weir_check_output(bind, 0));
    weir_copy_state *state = NULL;
    WEIR_TRY(weir_copy_bind(bind, 0, 0, &state));
    if (!weir_broadcast_to_prepare(state->element, in, out, &state->plan))
        return weir_fail(WEIR_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", WEIR_SHAPE_TEXT(*in),
                         WEIR_SHAPE_TEXT(*out));
    return WEIR_STATUS_OK;
}

/* ---- Table ---- */

WEIR_EXECUTE_OF(bind_shape)
WEIR_EXECUTE_OF(bind_size)
WEIR_EXECUTE_OF(bind_rank)
WEIR_EXECUTE_OF(bind_reshape)
WEIR_EXECUTE_OF(bind_expand_dims)
WEIR_EXECUTE_OF(bind_squeeze)
WEIR_EXECUTE_OF(bind_broadcast_to)

#define OBJECTS(name, function) {.op = (name), .types = {{"T", weir_types_objects}}, .execute = execute_##function}
#define SHAPE_FUNCTION(name, function)                                                                                 \
    {.op = (name), .bind = (function), .on_accelerators = true, .host_outputs = WEIR_ALL_INPUTS,                       \
     .is_shape_function = true}
/* On accelerators int32 stays in host memory. */
#define RESHAPING(name, function, shape)                                                                               \
    {.op = (name), .types = {{"T", weir_types_host}}, .bind = (function), .shape_inputs = (shape),                     \
     .on_accelerators = true, .host_inputs = WEIR_ALL_INPUTS, .host_outputs = WEIR_ALL_INPUTS},                        \
    {.op = (name), .bind = (function), .shape_inputs = (shape), .on_accelerators = true, .host_inputs = (shape)}

const weir_kernel weir_array_shape_kernels[] = {
    OBJECTS("Shape", bind_shape),
    OBJECTS("ShapeN", bind_shape),
    OBJECTS("Size", bind_size),
    OBJECTS("Rank", bind_rank),
    OBJECTS("Reshape", bind_reshape),
    OBJECTS("ExpandDims", bind_expand_dims),
    OBJECTS("Squeeze", bind_squeeze),
    OBJECTS("BroadcastTo", bind_broadcast_to),
    SHAPE_FUNCTION("Shape", bind_shape),
    SHAPE_FUNCTION("ShapeN", bind_shape),
    SHAPE_FUNCTION("Size", bind_size),
    SHAPE_FUNCTION("Rank", bind_rank),
    RESHAPING("Reshape", bind_reshape, WEIR_INPUT(1)),
    RESHAPING("ExpandDims", bind_expand_dims, WEIR_INPUT(1)),
    RESHAPING("Squeeze", bind_squeeze, 0),
    RESHAPING("BroadcastTo", bind_broadcast_to, WEIR_INPUT(1)),
    {.op = NULL},
};
