/*
 * Kernels of array_move_join.c. Joining and cutting apart along an axis is one pass over [outer, sum of lengths].
 */
#include <inttypes.h>
#include <stdio.h>

#include "op/array_support.h"

/* State of both directions. */
typedef struct join_state {
    weir_objects objects;
    weir_element element;
    int first;         /* argument of the first piece */
    int count;         /* pieces */
    int whole;         /* argument of the array that has them all */
    int64_t outer;     /* elements of the axes before */
    int64_t lengths[]; /* [count]: of each piece, the axes after included */
} join_state;

static weir_status run_join(const void *state, void *const *arguments, weir_context *context)
{
    const join_state *s = state;
    weir_concat_elements(s->element, context->team, s->count, (const void *const *)(arguments + s->first), s->lengths,
                         s->outer, arguments[s->whole]);
    return s->objects.status;
}

static weir_status run_split(const void *state, void *const *arguments, weir_context *context)
{
    const join_state *s = state;
    weir_split_elements(s->element, context->team, s->count, arguments[s->whole], s->lengths, s->outer,
                        arguments + s->first);
    return s->objects.status;
}

static weir_status take_join_state(weir_bind *bind, int count, weir_run_function *run, join_state **out)
{
    void *memory = NULL;
    WEIR_TRY(weir_bind_take(bind, sizeof(join_state) + (size_t)count * sizeof(int64_t), &memory));
    join_state *state = memory;
    bool joins = run == run_join;
    state->count = count;
    state->first = joins ? 0 : bind->node->num_inputs;
    state->element = weir_element_of(weir_dtype_base(bind->node->output_dtypes[0]), &state->objects);
    bind->run = run;
    bind->state = state;
    *out = state;
    return WEIR_STATUS_OK;
}

/* ---- ConcatV2 ---- */

static weir_status read_concat_axis(const weir_bind *bind, int count, int *axis)
{
    int rank = bind->inputs[0].shape.rank;
    int64_t value = 0;
    if (bind->inputs[count].constant == NULL)
        return weir_fail(WEIR_UNIMPLEMENTED, "ConcatOp : The axis must be known before the step runs");
    if (weir_bind_ints(bind, count, &value, 1) != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "axis tensor should be a scalar integer, but got shape %s",
                         WEIR_SHAPE_TEXT(bind->inputs[count].shape));
    if (rank == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "ConcatOp : Can't concatenate scalars (use tf.stack instead)");
    if (value < -rank || value >= rank)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "ConcatOp : Expected concatenating dimensions in the range [%d, %d), but got %" PRId64, -rank,
                         rank, value);
    *axis = (int)(value < 0 ? value + rank : value);
    return WEIR_STATUS_OK;
}

static weir_status check_joined(const weir_shape *first, const weir_shape *shape, int index, int axis)
{
    if (shape->rank != first->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "ConcatOp : Ranks of all input tensors should match: shape[0] = %s vs. shape[%d] = %s",
                         WEIR_SHAPE_TEXT(*first), index, WEIR_SHAPE_TEXT(*shape));
    for (int i = 0; i < shape->rank; i++) {
        if (i != axis && shape->dims[i] != first->dims[i])
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "ConcatOp : Dimension %d in both shapes must be equal: shape[0] = %s vs. shape[%d] = %s",
                             i, WEIR_SHAPE_TEXT(*first), index, WEIR_SHAPE_TEXT(*shape));
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_concat(weir_bind *bind)
{
    int count = bind->node->num_inputs - 1;
    const weir_shape *first = &bind->inputs[0].shape;
    int axis = 0;
    join_state *state = NULL;
    WEIR_TRY(read_concat_axis(bind, count, &axis));
    WEIR_TRY(take_join_state(bind, count, run_join, &state));
    int64_t inner = weir_shape_span(first, axis + 1, first->rank);
    weir_shape out = *first;
    out.dims[axis] = 0;
    for (int i = 0; i < count; i++) {
        const weir_shape *shape = &bind->inputs[i].shape;
        WEIR_TRY(check_joined(first, shape, i, axis));
        out.dims[axis] += shape->dims[axis];
        state->lengths[i] = shape->dims[axis] * inner;
    }
    state->whole = bind->node->num_inputs;
    state->outer = weir_shape_span(first, 0, axis);
    bind->outputs[0] = out;
    return weir_check_output(bind, 0);
}

/* ---- ConcatOffset ---- */

typedef struct offset_state {
    int count; /* shapes */
    int dims;  /* of each */
    weir_dtype dtype;
    int64_t sizes[]; /* [count]: elements of each shape input */
} offset_state;

static int64_t element_of(weir_dtype dtype, const void *elements, int index)
{
    return dtype == WEIR_INT32 ? ((const int32_t *)elements)[index] : ((const int64_t *)elements)[index];
}

/* "2 3 4" as TensorFlow prints a vector. */
static const char *vector_text(const offset_state *s, const void *elements, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < s->dims && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i == 0 ? "" : " ",
                                 element_of(s->dtype, elements, i));
    return text;
}

static weir_status shapes_differ(const offset_state *s, int axis, int index, const void *shape, const void *first)
{
    char text[WEIR_MAX_RANK * 22];
    char first_text[WEIR_MAX_RANK * 22];
    return weir_fail(
        WEIR_INVALID_ARGUMENT,
        "All dimensions except %d must match. Input %d has shape [%s] and doesn't match input 0 with shape [%s].", axis,
        index, vector_text(s, shape, text, sizeof text), vector_text(s, first, first_text, sizeof first_text));
}

static weir_status run_offset(const void *state, void *const *arguments, weir_context *context)
{
    (void)context;
    const offset_state *s = state;
    int32_t axis = *(const int32_t *)arguments[0];
    axis = axis < 0 ? axis + s->dims : axis;
    if (axis < 0 || axis >= s->dims)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Concat dim is out of range: %d vs. %d", axis, s->dims);
    int64_t offset = 0;
    for (int i = 0; i < s->count; i++) {
        const void *shape = arguments[1 + i];
        void *out = arguments[1 + s->count + i];
        if (s->sizes[i] != s->dims)
            return weir_fail(WEIR_INVALID_ARGUMENT, "input %d should contain %d elements, but got %" PRId64, i, s->dims,
                             s->sizes[i]);
        for (int j = 0; j < s->dims; j++) {
            int64_t dim = element_of(s->dtype, shape, j);
            if (j != axis && dim != element_of(s->dtype, arguments[1], j))
                return shapes_differ(s, axis, i, shape, arguments[1]);
            int64_t value = j == axis ? offset : 0;
            if (s->dtype == WEIR_INT32)
                ((int32_t *)out)[j] = (int32_t)value;
            else
                ((int64_t *)out)[j] = value;
        }
        offset += element_of(s->dtype, shape, axis);
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_offset(weir_bind *bind)
{
    int count = bind->node->num_inputs - 1;
    if (weir_shape_elements(bind->inputs[0].shape) != 1 || bind->inputs[0].shape.rank != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Concat dim tensor should be a scalar integer, but got shape %s",
                         WEIR_SHAPE_TEXT(bind->inputs[0].shape));
    void *memory = NULL;
    WEIR_TRY(weir_bind_take(bind, sizeof(offset_state) + (size_t)count * sizeof(int64_t), &memory));
    offset_state *state = memory;
    for (int i = 0; i < count; i++) {
        const weir_shape *shape = &bind->inputs[1 + i].shape;
        if (shape->rank != 1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "input %d should be a vector, but got shape %s", i + 1,
                             WEIR_SHAPE_TEXT(*shape));
        state->sizes[i] = shape->dims[0];
        bind->outputs[i] = *shape;
    }
    state->count = count;
    state->dims = (int)state->sizes[0];
    state->dtype = bind->node->output_dtypes[0];
    bind->run = run_offset;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- Split, SplitV ---- */

static weir_status check_split_axis(const weir_shape *in, int64_t value, int *axis)
{
    if (value < -in->rank || value >= in->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "-input rank(-%d) <= split_dim < input rank (%d), but got %" PRId64,
                         in->rank, in->rank, value);
    *axis = (int)(value < 0 ? value + in->rank : value);
    return WEIR_STATUS_OK;
}

static weir_status bind_split(weir_bind *bind)
{
    int parts = bind->node->num_outputs;
    const weir_shape *in = &bind->inputs[1].shape;
    int64_t value = 0;
    int axis = 0;
    if (bind->inputs[0].shape.rank != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "split_dim must be a scalar but has rank %d",
                         bind->inputs[0].shape.rank);
    (void)weir_bind_ints(bind, 0, &value, 1);
    WEIR_TRY(check_split_axis(in, value, &axis));
    if (in->dims[axis] % parts != 0)
        return weir_fail(
            WEIR_INVALID_ARGUMENT,
            "Number of ways to split should evenly divide the split dimension, but got split_dim %d (size = "
            "%" PRId64 ") and num_split %d",
            axis, in->dims[axis], parts);
    if (parts == 1) {
        bind->outputs[0] = *in;
        bind->same_memory[0] = 1;
        return WEIR_STATUS_OK;
    }
    join_state *state = NULL;
    WEIR_TRY(take_join_state(bind, parts, run_split, &state));
    state->whole = 1;
    state->outer = weir_shape_span(in, 0, axis);
    for (int i = 0; i < parts; i++) {
        bind->outputs[i] = *in;
        bind->outputs[i].dims[axis] = in->dims[axis] / parts;
        state->lengths[i] = weir_shape_span(&bind->outputs[i], axis, in->rank);
    }
    return WEIR_STATUS_OK;
}

/* The lengths of the pieces, the one that is -1 worked out. */
static weir_status read_lengths(const weir_tensor *sizes, int64_t whole, int64_t *lengths)
{
    int64_t total = 0;
    int64_t rest = -1;
    for (int64_t i = 0; i < sizes->elements; i++) {
        lengths[i] = weir_tensor_get_int(sizes, i);
        if (lengths[i] == -1 && rest >= 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "There can only be one -1 in the input.");
        if (lengths[i] < -1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Split size at index %" PRId64 " must be >= 0. Got: %" PRId64, i,
                             lengths[i]);
        if (lengths[i] == -1)
            rest = i;
        else if (__builtin_add_overflow(total, lengths[i], &total))
            total = INT64_MAX;
    }
    if (rest >= 0 ? total > whole : total != whole)
        return weir_fail(
            WEIR_INVALID_ARGUMENT,
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be less "
            "than the size of the input along split_dim if not fully specified.  Got: %" PRId64,
            total);
    if (rest >= 0)
        lengths[rest] = whole - total;
    return WEIR_STATUS_OK;
}

static weir_status bind_split_v(weir_bind *bind)
{
    int parts = bind->node->num_outputs;
    const weir_shape *in = &bind->inputs[0].shape;
    const weir_tensor *sizes = bind->inputs[1].constant;
    int64_t value = 0;
    int axis = 0;
    if (weir_bind_ints(bind, 2, &value, 1) != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "split_dim_tensor must have exactly one element.");
    WEIR_TRY(check_split_axis(in, value, &axis));
    if (sizes->shape.rank != 1 || sizes->elements != parts)
        return weir_fail(
            WEIR_INVALID_ARGUMENT,
            "size of the split_tensor must be 1-D and have the same elements as outputs got %d -D and %" PRId64
            " elements",
            sizes->shape.rank, sizes->elements);
    if (parts == 1 && weir_tensor_get_int(sizes, 0) != in->dims[axis])
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "If there is only one output, it must have the same size as the input. Input size: %" PRId64
                         " output size: %" PRId64,
                         in->dims[axis], weir_tensor_get_int(sizes, 0));
    join_state *state = NULL;
    WEIR_TRY(take_join_state(bind, parts, run_split, &state));
    WEIR_TRY(read_lengths(sizes, in->dims[axis], state->lengths));
    state->whole = 0;
    state->outer = weir_shape_span(in, 0, axis);
    for (int i = 0; i < parts; i++) {
        bind->outputs[i] = *in;
        bind->outputs[i].dims[axis] = state->lengths[i];
        state->lengths[i] = weir_shape_span(&bind->outputs[i], axis, in->rank);
    }
    return WEIR_STATUS_OK;
}

/* ---- Pack, Unpack ---- */

static weir_status read_pack_axis(const weir_bind *bind, int rank, int *axis)
{
    int64_t value = weir_node_int(bind->node, "axis", 0);
    if (value < -rank || value >= rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "axis = %" PRId64 " not in [%d, %d)", value, -rank, rank);
    *axis = (int)(value < 0 ? value + rank : value);
    return WEIR_STATUS_OK;
}

static weir_status bind_pack(weir_bind *bind)
{
    int count = bind->node->num_inputs;
    const weir_shape *in = &bind->inputs[0].shape;
    int axis = 0;
    WEIR_TRY(read_pack_axis(bind, in->rank + 1, &axis));
    weir_shape out = {0};
    for (int i = 0; i <= in->rank; i++)
        WEIR_TRY(weir_shape_push(&out, i == axis ? count : in->dims[i < axis ? i : i - 1]));
    for (int i = 1; i < count; i++) {
        if (!weir_shape_equal(*in, bind->inputs[i].shape))
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Shapes of all inputs must match: values[0].shape = %s != values[%d].shape = %s",
                             WEIR_SHAPE_TEXT(*in), i, WEIR_SHAPE_TEXT(bind->inputs[i].shape));
    }
    bind->outputs[0] = out;
    if (count == 1) {
        bind->same_memory[0] = 0;
        return WEIR_STATUS_OK;
    }
    join_state *state = NULL;
    WEIR_TRY(take_join_state(bind, count, run_join, &state));
    state->whole = count;
    state->outer = weir_shape_span(in, 0, axis);
    for (int i = 0; i < count; i++)
        state->lengths[i] = weir_shape_span(in, axis, in->rank);
    return weir_check_output(bind, 0);
}

static weir_status bind_unpack(weir_bind *bind)
{
    int count = bind->node->num_outputs;
    const weir_shape *in = &bind->inputs[0].shape;
    int axis = 0;
    WEIR_TRY(read_pack_axis(bind, in->rank, &axis));
    if (in->dims[axis] != count)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Input shape axis %d must equal %d, got shape %s", axis, count,
                         WEIR_SHAPE_TEXT(*in));
    if (count == 0)
        return WEIR_STATUS_OK;
    join_state *state = NULL;
    WEIR_TRY(take_join_state(bind, count, run_split, &state));
    state->whole = 0;
    state->outer = weir_shape_span(in, 0, axis);
    for (int o = 0; o < count; o++) {
        weir_shape *out = &bind->outputs[o];
        out->rank = 0;
        for (int i = 0; i < in->rank; i++) {
            if (i != axis)
                out->dims[out->rank++] = in->dims[i];
        }
        state->lengths[o] = weir_shape_span(in, axis + 1, in->rank);
    }
    if (count == 1) {
        bind->run = NULL;
        bind->same_memory[0] = 0;
    }
    return WEIR_STATUS_OK;
}

/* ---- Table ---- */

WEIR_EXECUTE_OF(bind_concat)
WEIR_EXECUTE_OF(bind_split)
WEIR_EXECUTE_OF(bind_split_v)
WEIR_EXECUTE_OF(bind_pack)
WEIR_EXECUTE_OF(bind_unpack)

#define OBJECTS(name, function) {.op = (name), .types = {{"T", weir_types_objects}}, .execute = execute_##function}
/* On accelerators int32 stays in host memory. */
#define ROWS(name, function, shape)                                                                                    \
    {.op = (name), .types = {{"T", weir_types_host}}, .bind = (function), .shape_inputs = (shape),                     \
     .on_accelerators = true, .host_inputs = WEIR_ALL_INPUTS, .host_outputs = WEIR_ALL_INPUTS},                        \
    {.op = (name), .bind = (function), .shape_inputs = (shape), .on_accelerators = true, .host_inputs = (shape)}

/* The axis of ConcatV2 comes after a number of inputs that no mask of bits can name: bind takes it where it is known. */
const weir_kernel weir_array_join_kernels[] = {
    OBJECTS("ConcatV2", bind_concat),
    OBJECTS("Split", bind_split),
    OBJECTS("SplitV", bind_split_v),
    OBJECTS("Pack", bind_pack),
    OBJECTS("Unpack", bind_unpack),
    ROWS("ConcatV2", bind_concat, 0),
    ROWS("Split", bind_split, WEIR_INPUT(0)),
    ROWS("SplitV", bind_split_v, WEIR_INPUT(1) | WEIR_INPUT(2)),
    ROWS("Pack", bind_pack, 0),
    ROWS("Unpack", bind_unpack, 0),
    {.op = "ConcatOffset",
     .bind = bind_offset,
     .on_accelerators = true,
     .host_inputs = WEIR_ALL_INPUTS,
     .host_outputs = WEIR_ALL_INPUTS},
    {.op = NULL},
};
