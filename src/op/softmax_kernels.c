/*
 * Binds the ops of softmax.c to their kernels.
 */
#include <string.h>

#include "base/text.h"
#include "kernel/cpu/softmax.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

static weir_status fail_type(const weir_node *node, weir_dtype dtype)
{
    return weir_fail(WEIR_UNIMPLEMENTED, "%s has no kernel for %s", weir_node_op(node), weir_dtype_name(dtype));
}

#define SHAPE_TEXT(shape) weir_shape_text((shape), (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE)

/* What the ops here need to know; each uses its part. */
typedef struct softmax_state {
    weir_softmax_function *softmax;
    weir_cross_entropy_function *cross_entropy;
    weir_sparse_cross_entropy_function *sparse;
    weir_dtype label_dtype;
    int64_t rows, classes, k;
    int64_t element_size;
    int64_t strides[2][2]; /* of logits and labels along rows and classes, in elements: 0 where they are broadcast */
} softmax_state;

/* ---- Softmax and LogSoftmax ---- */

static weir_status run_softmax(const void *pointer, void *const *arguments, weir_context *context)
{
    const softmax_state *state = pointer;
    state->softmax(context->team, arguments[0], state->rows, state->classes, arguments[1]);
    return WEIR_STATUS_OK;
}

static weir_status bind_rows(weir_bind *bind, bool logarithm)
{
    const weir_shape *x = &bind->inputs[0].shape;
    weir_dtype dtype = weir_dtype_base(bind->inputs[0].dtype);
    if (x->rank < 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "logits must have >= 1 dimension, got %s", SHAPE_TEXT(*x));
    softmax_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    state->classes = x->dims[x->rank - 1];
    state->rows = 1;
    for (int i = 0; i < x->rank - 1; i++)
        state->rows *= x->dims[i];
    state->softmax = weir_softmax_find(dtype, logarithm);
    if (state->softmax == NULL)
        return fail_type(bind->node, dtype);
    bind->outputs[0] = *x;
    bind->may_overwrite[0] = WEIR_INPUT(0);
    bind->run = run_softmax;
    bind->state = state;
    return WEIR_STATUS_OK;
}

static weir_status bind_softmax(weir_bind *bind)
{
    return bind_rows(bind, false);
}

static weir_status bind_log_softmax(weir_bind *bind)
{
    return bind_rows(bind, true);
}

/* ---- Loss of label distributions ---- */

static weir_status run_cross_entropy(const void *pointer, void *const *arguments, weir_context *context)
{
    const softmax_state *state = pointer;
    state->cross_entropy(context->team, arguments[0], arguments[1], state->rows, state->classes, arguments[2],
                         arguments[3]);
    return WEIR_STATUS_OK;
}

/* A matrix with steps between its elements, written out. */
static void expand(const char *from, const int64_t *strides, const softmax_state *state, char *to)
{
    size_t size = (size_t)state->element_size;
    for (int64_t row = 0; row < state->rows; row++) {
        for (int64_t i = 0; i < state->classes; i++, to += size)
            memcpy(to, from + (row * strides[0] + i * strides[1]) * state->element_size, size);
    }
}

/* Broadcast logits or labels are written out to scratch memory first: rare, so this need not be fast. */
static weir_status run_broadcast(const void *pointer, void *const *arguments, weir_context *context)
{
    const softmax_state *state = pointer;
    char *logits = arguments[4];
    char *labels = logits + state->rows * state->classes * state->element_size;
    expand(arguments[0], state->strides[0], state, logits);
    expand(arguments[1], state->strides[1], state, labels);
    state->cross_entropy(context->team, logits, labels, state->rows, state->classes, arguments[2], arguments[3]);
    return WEIR_STATUS_OK;
}

/* Dimension of a matrix that lower ranks stand for. */
static int64_t matrix_dim(const weir_shape *shape, int axis)
{
    int at = axis - 2 + shape->rank;
    return at >= 0 ? shape->dims[at] : 1;
}

static weir_status broadcast_matrix(const weir_shape *logits, const weir_shape *labels, int64_t *dims)
{
    for (int axis = 0; axis < 2; axis++) {
        int64_t a = matrix_dim(logits, axis);
        int64_t b = matrix_dim(labels, axis);
        if (a != b && a != 1 && b != 1)
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "logits and labels must be broadcastable: logits_size=%s labels_size=%s",
                             SHAPE_TEXT(*logits), SHAPE_TEXT(*labels));
        dims[axis] = a == 1 ? b : a;
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_cross_entropy(weir_bind *bind)
{
    const weir_shape *logits = &bind->inputs[0].shape;
    const weir_shape *labels = &bind->inputs[1].shape;
    weir_dtype dtype = weir_dtype_base(bind->inputs[0].dtype);
    if (logits->rank > 2 || labels->rank > 2 || (logits->rank < 2 && labels->rank < 2))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional: "
                         "logits_size=%s labels_size=%s",
                         SHAPE_TEXT(*logits), SHAPE_TEXT(*labels));
    softmax_state *state;
    weir_shape out = {2, {0}};
    WEIR_TRY(weir_bind_state(bind, &state));
    WEIR_TRY(broadcast_matrix(logits, labels, out.dims));
    state->rows = out.dims[0];
    state->classes = out.dims[1];
    state->element_size = (int64_t)weir_dtype_size(dtype);
    state->cross_entropy = weir_cross_entropy_find(dtype);
    if (state->cross_entropy == NULL)
        return fail_type(bind->node, dtype);
    bind->outputs[0] = (weir_shape){1, {state->rows}};
    bind->outputs[1] = out;
    bind->state = state;
    if (weir_shape_equal(*logits, out) && weir_shape_equal(*labels, out)) {
        bind->may_overwrite[1] = WEIR_INPUT(0);
        bind->run = run_cross_entropy;
        return WEIR_STATUS_OK;
    }
    const weir_shape *inputs[2] = {logits, labels};
    for (int side = 0; side < 2; side++) {
        state->strides[side][0] = matrix_dim(inputs[side], 0) == 1 ? 0 : matrix_dim(inputs[side], 1);
        state->strides[side][1] = matrix_dim(inputs[side], 1) == 1 ? 0 : 1;
    }
    bind->scratch_size = (size_t)(2 * state->rows * state->classes * state->element_size) + 1;
    bind->run = run_broadcast;
    return WEIR_STATUS_OK;
}

/* ---- Loss of class numbers ---- */

static int64_t label_at(const softmax_state *state, const void *labels, int64_t index)
{
    return state->label_dtype == WEIR_INT64 ? ((const int64_t *)labels)[index] : ((const int32_t *)labels)[index];
}

static weir_status fail_label(const softmax_state *state, const void *labels, int64_t row)
{
    weir_text values = {0};
    for (int64_t i = 0; i < state->rows; i++)
        weir_text_append(&values, " %lld", (long long)label_at(state, labels, i));
    weir_status status =
        weir_fail(WEIR_INVALID_ARGUMENT,
                  "Received a label value of %lld which is outside the valid range of [0, %lld).  "
                  "Label values:%s",
                  (long long)label_at(state, labels, row), (long long)state->classes, weir_text_get(&values));
    weir_text_clear(&values);
    return status;
}

static weir_status run_sparse(const void *pointer, void *const *arguments, weir_context *context)
{
    const softmax_state *state = pointer;
    int64_t wrong = state->sparse(context->team, arguments[0], arguments[1], state->rows, state->classes, arguments[2],
                                  arguments[3]);
    return wrong < 0 ? WEIR_STATUS_OK : fail_label(state, arguments[1], wrong);
}

static weir_status bind_sparse_cross_entropy(weir_bind *bind)
{
    const weir_shape *logits = &bind->inputs[0].shape;
    const weir_shape *labels = &bind->inputs[1].shape;
    weir_dtype dtype = weir_dtype_base(bind->inputs[0].dtype);
    if (logits->rank != 2)
        return weir_fail(WEIR_INVALID_ARGUMENT, "logits must be 2-D, but got shape %s", SHAPE_TEXT(*logits));
    if (labels->rank != 1 || labels->dims[0] != logits->dims[0])
        return weir_fail(
            WEIR_INVALID_ARGUMENT,
            "logits and labels must have the same first dimension, got logits shape %s and labels shape %s",
            SHAPE_TEXT(*logits), SHAPE_TEXT(*labels));
    if (logits->dims[1] == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Must have at least one class, but got logits shape %s",
                         SHAPE_TEXT(*logits));
    softmax_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    state->rows = logits->dims[0];
    state->classes = logits->dims[1];
    state->label_dtype = weir_dtype_base(bind->inputs[1].dtype);
    state->sparse = weir_sparse_cross_entropy_find(dtype, state->label_dtype);
    if (state->sparse == NULL)
        return fail_type(bind->node, dtype);
    bind->outputs[0] = (weir_shape){1, {state->rows}};
    bind->outputs[1] = *logits;
    bind->may_overwrite[1] = WEIR_INPUT(0);
    bind->run = run_sparse;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- Among the k best ---- */

static weir_status run_in_top_k(const void *pointer, void *const *arguments, weir_context *context)
{
    const softmax_state *state = pointer;
    weir_are_in_top_k(context->team, arguments[0], arguments[1], state->label_dtype, state->k, state->rows,
                      state->classes, arguments[2]);
    return WEIR_STATUS_OK;
}

static weir_status run_in_top_k_v2(const void *pointer, void *const *arguments, weir_context *context)
{
    const softmax_state *state = pointer;
    weir_are_in_top_k(context->team, arguments[0], arguments[1], state->label_dtype, label_at(state, arguments[2], 0),
                      state->rows, state->classes, arguments[3]);
    return WEIR_STATUS_OK;
}

static weir_status bind_any_in_top_k(weir_bind *bind, weir_run_function *run)
{
    const weir_shape *predictions = &bind->inputs[0].shape;
    const weir_shape *targets = &bind->inputs[1].shape;
    if (predictions->rank != 2)
        return weir_fail(WEIR_INVALID_ARGUMENT, "predictions must be 2-dimensional, got %s", SHAPE_TEXT(*predictions));
    if (targets->rank != 1 || targets->dims[0] != predictions->dims[0])
        return weir_fail(WEIR_INVALID_ARGUMENT, "First dimension of predictions %s must match length of targets %s",
                         SHAPE_TEXT(*predictions), SHAPE_TEXT(*targets));
    softmax_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    state->rows = predictions->dims[0];
    state->classes = predictions->dims[1];
    state->label_dtype = weir_dtype_base(bind->inputs[1].dtype);
    state->k = weir_node_int(bind->node, "k", 0);
    bind->outputs[0] = *targets;
    bind->run = run;
    bind->state = state;
    return WEIR_STATUS_OK;
}

static weir_status bind_in_top_k(weir_bind *bind)
{
    return bind_any_in_top_k(bind, run_in_top_k);
}

static weir_status bind_in_top_k_v2(weir_bind *bind)
{
    if (bind->inputs[2].shape.rank != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "k must be 0-D, got shape %s", SHAPE_TEXT(bind->inputs[2].shape));
    return bind_any_in_top_k(bind, run_in_top_k_v2);
}

const weir_kernel weir_kernel_table_softmax[] = {
    {.op = "Softmax", .bind = bind_softmax, .on_accelerators = true},
    {.op = "LogSoftmax", .bind = bind_log_softmax, .on_accelerators = true},
    {.op = "SoftmaxCrossEntropyWithLogits", .bind = bind_cross_entropy, .on_accelerators = true},
    {.op = "SparseSoftmaxCrossEntropyWithLogits", .bind = bind_sparse_cross_entropy, .on_accelerators = true},
    {.op = "InTopK", .bind = bind_in_top_k},
    {.op = "InTopKV2", .bind = bind_in_top_k_v2},
    {.op = NULL},
};
