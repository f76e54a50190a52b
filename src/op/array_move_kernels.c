/*
 * Kernels of array_move.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "op/array_support.h"

/* ---- Transpose ---- */

/* "{0,0}", the permutation as it was given. */
static void permutation_text(const int64_t *permutation, int count, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "{");
    for (int i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i == 0 ? "" : ",", permutation[i]);
    if (used < size)
        snprintf(text + used, size - used, "}");
}

static weir_status read_permutation(const weir_bind *bind, int rank, int *axes)
{
    int64_t permutation[WEIR_MAX_RANK];
    bool is_used[WEIR_MAX_RANK] = {false};
    if (bind->inputs[1].shape.rank != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "perm must be rank 1, got shape %s",
                         WEIR_SHAPE_TEXT(bind->inputs[1].shape));
    int64_t count = weir_bind_ints(bind, 1, permutation, WEIR_MAX_RANK);
    if (count != rank)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "transpose expects a vector of size %d. But input(1) is a vector of size %" PRId64, rank,
                         count);
    for (int i = 0; i < rank; i++) {
        int64_t axis = permutation[i] < 0 ? permutation[i] + rank : permutation[i];
        if (axis < 0 || axis >= rank)
            return weir_fail(WEIR_INVALID_ARGUMENT, "%" PRId64 " is out of range [0 .. %d)", axis, rank);
        is_used[axis] = true;
        axes[i] = (int)axis;
    }
    for (int i = 0; i < rank; i++) {
        if (is_used[i])
            continue;
        char text[WEIR_MAX_RANK * 22];
        permutation_text(permutation, rank, text, sizeof text);
        return weir_fail(WEIR_INVALID_ARGUMENT, "%d is missing from %s.", i, text);
    }
    return WEIR_STATUS_OK;
}

/* True when the order of elements in memory stays: only axes of one element change places. */
static bool keeps_order(const weir_shape *in, const int *axes)
{
    int last = -1;
    for (int i = 0; i < in->rank; i++) {
        if (in->dims[axes[i]] == 1)
            continue;
        if (axes[i] < last)
            return false;
        last = axes[i];
    }
    return true;
}

static weir_status bind_transpose(weir_bind *bind)
{
    int axes[WEIR_MAX_RANK];
    const weir_shape *in = &bind->inputs[0].shape;
    WEIR_TRY(read_permutation(bind, in->rank, axes));
    bind->outputs[0].rank = in->rank;
    for (int i = 0; i < in->rank; i++)
        bind->outputs[0].dims[i] = in->dims[axes[i]];
    if (keeps_order(in, axes)) {
        bind->same_memory[0] = 0;
        return WEIR_STATUS_OK;
    }
    weir_copy_state *state = NULL;
    WEIR_TRY(weir_copy_bind(bind, 0, 0, &state));
    weir_transpose_prepare(state->element, in, axes, &state->plan);
    return WEIR_STATUS_OK;
}

/* ---- InvertPermutation ---- */

typedef struct invert_state {
    weir_dtype dtype;
    int64_t count;
} invert_state;

static weir_status run_invert(const void *state, void *const *arguments, weir_context *context)
{
    (void)context;
    const invert_state *s = state;
    int64_t value = 0;
    switch (weir_inverse_permutation(s->dtype, arguments[0], s->count, arguments[1], &value)) {
    case WEIR_PERMUTATION_RANGE:
        return weir_fail(WEIR_INVALID_ARGUMENT, "%" PRId64 " is not between 0 and %" PRId64, value, s->count);
    case WEIR_PERMUTATION_DUPLICATE:
        return weir_fail(WEIR_INVALID_ARGUMENT, "%" PRId64 " is duplicated in the input.", value);
    case WEIR_PERMUTATION_OK:
        break;
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_invert(weir_bind *bind)
{
    const weir_shape *in = &bind->inputs[0].shape;
    if (in->rank != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "invert_permutation expects a 1D vector.");
    invert_state *state = NULL;
    WEIR_TRY(weir_bind_state(bind, &state));
    *state = (invert_state){weir_dtype_base(bind->inputs[0].dtype), in->dims[0]};
    bind->outputs[0] = *in;
    bind->run = run_invert;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- Tile ---- */

static weir_status read_multiples(weir_bind *bind, const weir_shape *in, int64_t *multiples)
{
    const weir_shape *shape = &bind->inputs[1].shape;
    if (shape->rank != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Expected multiples to be 1-D, but got shape %s",
                         WEIR_SHAPE_TEXT(*shape));
    int64_t count = weir_bind_ints(bind, 1, multiples, WEIR_MAX_RANK);
    if (count != in->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Expected multiples argument to be a vector of length %d but got length %" PRId64, in->rank,
                         count);
    bind->outputs[0].rank = in->rank;
    for (int i = 0; i < in->rank; i++) {
        if (multiples[i] < 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Expected multiples[%d] >= 0, but got %" PRId64, i, multiples[i]);
        if (__builtin_mul_overflow(in->dims[i], multiples[i], &bind->outputs[0].dims[i]))
            return weir_fail(WEIR_RESOURCE_EXHAUSTED,
                             "Dimension %d of %" PRId64 " elements cannot be repeated %" PRId64 " times", i,
                             in->dims[i], multiples[i]);
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_tile(weir_bind *bind)
{
    int64_t multiples[WEIR_MAX_RANK];
    const weir_shape *in = &bind->inputs[0].shape;
    WEIR_TRY(read_multiples(bind, in, multiples));
    if (weir_shape_equal(*in, bind->outputs[0])) {
        bind->same_memory[0] = 0;
        return WEIR_STATUS_OK;
    }
    WEIR_TRY(weir_check_output(bind, 0));
    weir_copy_state *state = NULL;
    WEIR_TRY(weir_copy_bind(bind, 0, 0, &state));
    weir_tile_prepare(state->element, in, multiples, &state->plan);
    return WEIR_STATUS_OK;
}

/* ---- Pad ---- */

typedef struct pad_state {
    weir_objects objects;
    int64_t elements; /* of the output */
    weir_copy_plan plan;
} pad_state;

/* Objects are zero, that is empty, where nothing was put. */
static weir_status run_pad(const void *state, void *const *arguments, weir_context *context)
{
    const pad_state *s = state;
    const uint64_t zero[2] = {0};
    if (s->plan.element.copy == NULL)
        weir_fill_elements(s->plan.element, context->team, zero, s->elements, arguments[2]);
    weir_copy_run(&s->plan, context->team, arguments[0], arguments[2]);
    return s->objects.status;
}

static weir_status read_paddings(weir_bind *bind, const weir_shape *in, int64_t *before)
{
    int64_t paddings[2 * WEIR_MAX_RANK];
    const weir_shape *shape = &bind->inputs[1].shape;
    if (shape->rank != 2 || shape->dims[1] != 2)
        return weir_fail(WEIR_INVALID_ARGUMENT, "paddings must be a matrix with 2 columns: %s",
                         WEIR_SHAPE_TEXT(*shape));
    if (shape->dims[0] != in->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "The first dimension of paddings must be the rank of inputs%s %s",
                         WEIR_SHAPE_TEXT(*shape), WEIR_SHAPE_TEXT(*in));
    (void)weir_bind_ints(bind, 1, paddings, 2 * WEIR_MAX_RANK);
    bind->outputs[0].rank = in->rank;
    for (int i = 0; i < in->rank; i++) {
        int64_t after = paddings[2 * i + 1];
        before[i] = paddings[2 * i];
        if (before[i] < 0 || after < 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Paddings must be non-negative: %" PRId64 " %" PRId64, before[i],
                             after);
        int64_t *dim = &bind->outputs[0].dims[i];
        if (__builtin_add_overflow(in->dims[i], before[i], dim) || __builtin_add_overflow(*dim, after, dim))
            return weir_fail(WEIR_RESOURCE_EXHAUSTED,
                             "Dimension %d of %" PRId64 " elements is too large with paddings %" PRId64 " and %" PRId64,
                             i, in->dims[i], before[i], after);
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_pad(weir_bind *bind)
{
    int64_t before[WEIR_MAX_RANK];
    const weir_shape *in = &bind->inputs[0].shape;
    WEIR_TRY(read_paddings(bind, in, before));
    if (weir_shape_equal(*in, bind->outputs[0])) {
        bind->same_memory[0] = 0;
        return WEIR_STATUS_OK;
    }
    WEIR_TRY(weir_check_output(bind, 0));
    pad_state *state = NULL;
    WEIR_TRY(weir_bind_state(bind, &state));
    weir_element element = weir_element_of(weir_dtype_base(bind->inputs[0].dtype), &state->objects);
    weir_place_prepare(element, &bind->outputs[0], before, in->dims, &state->plan);
    state->elements = weir_shape_elements(bind->outputs[0]);
    bind->run = run_pad;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- Table ---- */

WEIR_EXECUTE_OF(bind_transpose)
WEIR_EXECUTE_OF(bind_tile)
WEIR_EXECUTE_OF(bind_pad)

#define OBJECTS(name, function) {.op = (name), .types = {{"T", weir_types_objects}}, .execute = execute_##function}

const weir_kernel weir_array_move_kernels[] = {
    OBJECTS("Transpose", bind_transpose),
    OBJECTS("Tile", bind_tile),
    OBJECTS("Pad", bind_pad),
    {.op = "Transpose",
     .bind = bind_transpose,
     .shape_inputs = WEIR_INPUT(1),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(1)},
    {.op = "InvertPermutation",
     .bind = bind_invert,
     .on_accelerators = true,
     .host_inputs = WEIR_ALL_INPUTS,
     .host_outputs = WEIR_ALL_INPUTS},
    {.op = "Tile",
     .bind = bind_tile,
     .shape_inputs = WEIR_INPUT(1),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(1)},
    {.op = "Pad",
     .types = {{"T", weir_types_host}},
     .bind = bind_pad,
     .shape_inputs = WEIR_INPUT(1),
     .on_accelerators = true,
     .host_inputs = WEIR_ALL_INPUTS,
     .host_outputs = WEIR_ALL_INPUTS},
    {.op = "Pad",
     .bind = bind_pad,
     .shape_inputs = WEIR_INPUT(1),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(1)},
    {.op = NULL},
};
