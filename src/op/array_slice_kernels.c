/*
 * Kernels of array_slice.c, and the shape of a strided slice.
 */
#include <inttypes.h>

#include "op/array_slice_spec.h"
#include "op/array_support.h"

/* ---- Resolving a strided slice ---- */

static weir_status slice_fault(weir_slice_fault fault, const weir_shape *in, const weir_strided_slice *slice)
{
    switch (fault) {
    case WEIR_SLICE_ZERO_STRIDE:
        return weir_fail(WEIR_INVALID_ARGUMENT, "strides[%d] must be non-zero", slice->at);
    case WEIR_SLICE_TOO_MANY:
        if (in->rank == 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Attempting to slice scalar input.");
        return weir_fail(WEIR_INVALID_ARGUMENT, "Index out of range using input dim %d; input has only %d dims",
                         slice->at, in->rank);
    case WEIR_SLICE_OUT_OF_BOUNDS:
        return weir_fail(WEIR_INVALID_ARGUMENT, "slice index %" PRId64 " of dimension %d out of bounds.", slice->value,
                         slice->at);
    case WEIR_SLICE_SHRINK_STRIDE:
        return weir_fail(WEIR_INVALID_ARGUMENT, "only stride 1 allowed on non-range indexing.");
    case WEIR_SLICE_TWO_ELLIPSES:
        return weir_fail(WEIR_INVALID_ARGUMENT, "Multiple ellipses in slice spec not allowed");
    case WEIR_SLICE_RANK:
        return weir_fail(WEIR_INVALID_ARGUMENT, "The result would have more than %d dimensions", WEIR_MAX_RANK);
    case WEIR_SLICE_OK:
        break;
    }
    return WEIR_STATUS_OK;
}

static weir_status resolve(const weir_node *node, const weir_shape *in, const weir_slice_values *values,
                           weir_strided_slice *out)
{
    const weir_slice_spec spec = {
        .count = values->count,
        .begin = values->begin,
        .end = values->end,
        .strides = values->strides,
        .begin_mask = (uint32_t)weir_node_int(node, "begin_mask", 0),
        .end_mask = (uint32_t)weir_node_int(node, "end_mask", 0),
        .ellipsis_mask = (uint32_t)weir_node_int(node, "ellipsis_mask", 0),
        .new_axis_mask = (uint32_t)weir_node_int(node, "new_axis_mask", 0),
        .shrink_axis_mask = (uint32_t)weir_node_int(node, "shrink_axis_mask", 0),
    };
    return slice_fault(weir_strided_slice_resolve(in, &spec, out), in, out);
}

static bool has_bit(int64_t mask, int bit)
{
    return (mask >> bit & 1) != 0;
}

/* The axis of the input that each entry is for; -1: none (a new axis, the ellipsis, or one too many). */
static void find_axes(const weir_node *node, int rank, int count, int *axes)
{
    int64_t ellipsis = weir_node_int(node, "ellipsis_mask", 0);
    int64_t new_axis = weir_node_int(node, "new_axis_mask", 0);
    int after = 0; /* entries for axes of the input that follow */
    for (int i = 0; i < count; i++)
        after += !has_bit(ellipsis, i) && !has_bit(new_axis, i);
    int axis = 0;
    for (int i = 0; i < count; i++) {
        axes[i] = -1;
        if (has_bit(ellipsis, i)) {
            axis = rank - after > axis ? rank - after : axis;
            continue;
        }
        if (has_bit(new_axis, i))
            continue;
        axes[i] = axis < rank ? axis : -1;
        axis++;
        after--;
    }
}

/* An axis whose begin or end is not known yet has an unknown extent, unless the masks say that all of it is taken. */
weir_status weir_slice_infer(const weir_node *node, weir_shape in, weir_slice_values *values, weir_shape *out)
{
    int axes[WEIR_SLICE_ENTRIES];
    int64_t begin_mask = weir_node_int(node, "begin_mask", 0);
    int64_t end_mask = weir_node_int(node, "end_mask", 0);
    find_axes(node, in.rank, values->count, axes);
    for (int i = 0; i < values->count; i++) {
        bool is_known = (values->has_begin || has_bit(begin_mask, i)) && (values->has_end || has_bit(end_mask, i));
        if (!is_known && axes[i] >= 0)
            in.dims[axes[i]] = WEIR_UNKNOWN_DIM;
    }
    weir_strided_slice slice;
    WEIR_TRY(resolve(node, &in, values, &slice));
    *out = slice.out;
    return WEIR_STATUS_OK;
}

/* ---- Slice ---- */

static weir_status slice_out_of_range(const char *what, int axis, int64_t most, int64_t value)
{
    return weir_fail(WEIR_INVALID_ARGUMENT, "Expected %s[%d] in [0, %" PRId64 "], but got %" PRId64, what, axis, most,
                     value);
}

static weir_status read_slice(const weir_bind *bind, const weir_shape *in, int64_t *begin, int64_t *size)
{
    const weir_shape *begins = &bind->inputs[1].shape;
    const weir_shape *sizes = &bind->inputs[2].shape;
    bool fits = begins->rank == 1 && sizes->rank == 1 && begins->dims[0] == in->rank && sizes->dims[0] == in->rank;
    if (!fits)
        return weir_fail(
            WEIR_INVALID_ARGUMENT,
            "Expected begin and size arguments to be 1-D tensors of size %d, but got shapes %s and %s instead.",
            in->rank, WEIR_SHAPE_TEXT(*begins), WEIR_SHAPE_TEXT(*sizes));
    (void)weir_bind_ints(bind, 1, begin, WEIR_MAX_RANK);
    (void)weir_bind_ints(bind, 2, size, WEIR_MAX_RANK);
    for (int i = 0; i < in->rank; i++) {
        int64_t dim = in->dims[i];
        if (size[i] == -1)
            size[i] = dim - begin[i];
        if (dim == 0 && (begin[i] != 0 || size[i] != 0))
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Expected begin[%d] == 0 (got %" PRId64 ") and size[%d] == 0 (got %" PRId64
                             ") when input.dim_size(%d) == 0",
                             i, begin[i], i, size[i], i);
        if (begin[i] < 0 || begin[i] > dim)
            return slice_out_of_range("begin", i, dim, begin[i]);
        if (size[i] < 0 || size[i] > dim - begin[i])
            return slice_out_of_range("size", i, dim - begin[i], size[i]);
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_slice(weir_bind *bind)
{
    int64_t begin[WEIR_MAX_RANK];
    int64_t size[WEIR_MAX_RANK];
    const weir_shape *in = &bind->inputs[0].shape;
    WEIR_TRY(read_slice(bind, in, begin, size));
    bind->outputs[0] = weir_shape_of(in->rank, size);
    if (weir_shape_equal(*in, bind->outputs[0])) {
        bind->same_memory[0] = 0;
        return WEIR_STATUS_OK;
    }
    weir_copy_state *state = NULL;
    WEIR_TRY(weir_copy_bind(bind, 0, 0, &state));
    weir_slice_prepare(state->element, in, begin, size, &state->plan);
    return WEIR_STATUS_OK;
}

/* ---- StridedSlice ---- */

/* The three vectors, from the input of begin on. */
static weir_status read_strided(const weir_bind *bind, int first, weir_slice_values *values)
{
    const weir_shape *begin = &bind->inputs[first].shape;
    const weir_shape *end = &bind->inputs[first + 1].shape;
    const weir_shape *strides = &bind->inputs[first + 2].shape;
    bool fits = begin->rank == 1 && weir_shape_equal(*begin, *end) && weir_shape_equal(*begin, *strides);
    if (!fits)
        return weir_fail(
            WEIR_INVALID_ARGUMENT,
            "Expected begin, end, and strides to be 1D equal size tensors, but got shapes %s, %s, and %s instead.",
            WEIR_SHAPE_TEXT(*begin), WEIR_SHAPE_TEXT(*end), WEIR_SHAPE_TEXT(*strides));
    if (begin->dims[0] > WEIR_SLICE_ENTRIES)
        return weir_fail(WEIR_INVALID_ARGUMENT, "A slice of %" PRId64 " entries has more than %d", begin->dims[0],
                         WEIR_SLICE_ENTRIES);
    values->count = (int)weir_bind_ints(bind, first, values->begin, WEIR_SLICE_ENTRIES);
    (void)weir_bind_ints(bind, first + 1, values->end, WEIR_SLICE_ENTRIES);
    (void)weir_bind_ints(bind, first + 2, values->strides, WEIR_SLICE_ENTRIES);
    return WEIR_STATUS_OK;
}

/* True when every element is taken, in order. */
static bool takes_all(const weir_shape *in, const weir_strided_slice *slice)
{
    for (int i = 0; i < in->rank; i++) {
        if (slice->counts[i] != in->dims[i] || (slice->strides[i] != 1 && in->dims[i] > 1))
            return false;
    }
    return true;
}

static weir_status bind_strided_slice(weir_bind *bind)
{
    const weir_shape *in = &bind->inputs[0].shape;
    weir_slice_values values;
    weir_strided_slice slice;
    WEIR_TRY(read_strided(bind, 1, &values));
    WEIR_TRY(resolve(bind->node, in, &values, &slice));
    bind->outputs[0] = slice.out;
    if (takes_all(in, &slice)) {
        bind->same_memory[0] = 0;
        return WEIR_STATUS_OK;
    }
    weir_copy_state *state = NULL;
    WEIR_TRY(weir_copy_bind(bind, 0, 0, &state));
    weir_strided_slice_prepare(state->element, in, &slice, &state->plan);
    return WEIR_STATUS_OK;
}

/* ---- StridedSliceGrad ---- */

typedef struct slice_grad_state {
    weir_objects objects;
    int64_t elements; /* of the output */
    weir_copy_plan plan;
} slice_grad_state;

/* Objects are zero, that is empty, where nothing was put. */
static weir_status run_slice_grad(const void *state, void *const *arguments, weir_context *context)
{
    const slice_grad_state *s = state;
    const uint64_t zero[2] = {0};
    if (s->plan.element.copy == NULL)
        weir_fill_elements(s->plan.element, context->team, zero, s->elements, arguments[5]);
    weir_copy_run(&s->plan, context->team, arguments[4], arguments[5]);
    return s->objects.status;
}

static weir_status bind_slice_grad(weir_bind *bind)
{
    weir_slice_values values;
    weir_strided_slice slice;
    weir_shape *out = &bind->outputs[0];
    const weir_shape *dy = &bind->inputs[4].shape;
    if (bind->inputs[0].shape.rank != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "shape must be 1-D, got shape.shape = %s",
                         WEIR_SHAPE_TEXT(bind->inputs[0].shape));
    WEIR_TRY(weir_bind_shape(bind, 0, out));
    WEIR_TRY(read_strided(bind, 1, &values));
    WEIR_TRY(resolve(bind->node, out, &values, &slice));
    if (!weir_shape_equal(*dy, slice.out))
        return weir_fail(WEIR_INVALID_ARGUMENT, "shape of dy was %s instead of %s", WEIR_SHAPE_TEXT(*dy),
                         WEIR_SHAPE_TEXT(slice.out));
    if (takes_all(out, &slice)) {
        bind->same_memory[0] = 4;
        return WEIR_STATUS_OK;
    }
    WEIR_TRY(weir_check_output(bind, 0));
    slice_grad_state *state = NULL;
    WEIR_TRY(weir_bind_state(bind, &state));
    weir_element element = weir_element_of(weir_dtype_base(bind->inputs[4].dtype), &state->objects);
    weir_strided_slice_grad_prepare(element, out, &slice, &state->plan);
    state->elements = weir_shape_elements(*out);
    bind->run = run_slice_grad;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- Table ---- */

WEIR_EXECUTE_OF(bind_slice)
WEIR_EXECUTE_OF(bind_strided_slice)
WEIR_EXECUTE_OF(bind_slice_grad)

#define OBJECTS(name, function) {.op = (name), .types = {{"T", weir_types_objects}}, .execute = execute_##function}
/* On accelerators int32 stays in host memory. */
#define ROWS(name, function, shape)                                                                                    \
    {.op = (name), .types = {{"T", weir_types_host}}, .bind = (function), .shape_inputs = (shape),                     \
     .on_accelerators = true, .host_inputs = WEIR_ALL_INPUTS, .host_outputs = WEIR_ALL_INPUTS},                        \
    {.op = (name), .bind = (function), .shape_inputs = (shape), .on_accelerators = true, .host_inputs = (shape)}

const weir_kernel weir_array_slice_kernels[] = {
    OBJECTS("Slice", bind_slice),
    OBJECTS("StridedSlice", bind_strided_slice),
    OBJECTS("StridedSliceGrad", bind_slice_grad),
    ROWS("Slice", bind_slice, WEIR_INPUT(1) | WEIR_INPUT(2)),
    ROWS("StridedSlice", bind_strided_slice, WEIR_INPUT(1) | WEIR_INPUT(2) | WEIR_INPUT(3)),
    ROWS("StridedSliceGrad", bind_slice_grad, WEIR_INPUT(0) | WEIR_INPUT(1) | WEIR_INPUT(2) | WEIR_INPUT(3)),
    {.op = NULL},
};
