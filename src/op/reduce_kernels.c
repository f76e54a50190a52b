/*
 * Binds the reductions of reduce.c to their kernels.
 */
#include "kernel/cpu/reduce.h"
#include "kernel/cpu/segment.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

static weir_status fail_type(const weir_node *node, weir_dtype dtype)
{
    return weir_fail(WEIR_UNIMPLEMENTED, "%s has no kernel for %s", weir_node_op(node), weir_dtype_name(dtype));
}

/* ---- Reductions over axes ---- */

static weir_status mark_axes(const weir_tensor *axes, int rank, bool *reduced)
{
    for (int64_t i = 0; i < axes->elements; i++) {
        int64_t axis = weir_tensor_get_int(axes, i);
        if (axis < -rank || axis >= rank)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Invalid reduction dimension %lld for input with %d dimensions.",
                             (long long)axis, rank);
        if (axis < 0)
            axis += rank;
        if (reduced[axis])
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Invalid reduction arguments: Axes contains duplicate dimension: %lld", (long long)axis);
        reduced[axis] = true;
    }
    return WEIR_STATUS_OK;
}

/* scratch is argument 3 of two inputs and one output. */
static weir_status run_reduce(const void *state, void *const *arguments, weir_context *context)
{
    const weir_reduce_plan *plan = state;
    weir_reduce_run(plan, context->team, arguments[0], plan->scratch_bytes > 0 ? arguments[3] : NULL, arguments[2]);
    return WEIR_STATUS_OK;
}

static weir_status bind_reduce(weir_bind *bind, weir_reduce_op op)
{
    const weir_shape *x = &bind->inputs[0].shape;
    weir_dtype dtype = weir_dtype_base(bind->inputs[0].dtype);
    bool keep_dims = weir_node_bool(bind->node, "keep_dims", false);
    bool reduced[WEIR_MAX_RANK] = {false};
    WEIR_TRY(mark_axes(bind->inputs[1].constant, x->rank, reduced));
    weir_shape *out = &bind->outputs[0];
    *out = (weir_shape){0};
    int64_t count = 1;
    for (int i = 0; i < x->rank; i++) {
        if (reduced[i])
            count *= x->dims[i];
        if (!reduced[i] || keep_dims)
            out->dims[out->rank++] = reduced[i] ? 1 : x->dims[i];
    }
    if (count == 1) { /* one element makes one: nothing to compute */
        bind->same_memory[0] = 0;
        return WEIR_STATUS_OK;
    }
    weir_reduce_plan *plan;
    WEIR_TRY(weir_bind_state(bind, &plan));
    if (!weir_reduce_prepare(op, dtype, x, reduced, plan))
        return fail_type(bind->node, dtype);
    bind->scratch_size = weir_reduce_scratch(plan);
    bind->run = run_reduce;
    bind->state = plan;
    return WEIR_STATUS_OK;
}

/* scratch is argument 2 of one input and one output. */
static weir_status run_l2_loss(const void *state, void *const *arguments, weir_context *context)
{
    const weir_reduce_plan *plan = state;
    weir_reduce_run(plan, context->team, arguments[0], plan->scratch_bytes > 0 ? arguments[2] : NULL, arguments[1]);
    return WEIR_STATUS_OK;
}

static weir_status bind_l2_loss(weir_bind *bind)
{
    const weir_shape *x = &bind->inputs[0].shape;
    weir_dtype dtype = weir_dtype_base(bind->inputs[0].dtype);
    bool reduced[WEIR_MAX_RANK];
    for (int i = 0; i < x->rank; i++)
        reduced[i] = true;
    weir_reduce_plan *plan;
    WEIR_TRY(weir_bind_state(bind, &plan));
    if (!weir_reduce_prepare(WEIR_REDUCE_L2_LOSS, dtype, x, reduced, plan))
        return fail_type(bind->node, dtype);
    bind->outputs[0] = weir_shape_scalar();
    bind->scratch_size = weir_reduce_scratch(plan);
    bind->run = run_l2_loss;
    bind->state = plan;
    return WEIR_STATUS_OK;
}

/* ---- One axis: x as [outer, size, inner] ---- */

typedef struct axis_state {
    weir_arg_function *arg;
    weir_cumulate_function *cumulate;
    bool exclusive, reverse;
    int64_t outer, size, inner;
} axis_state;

static void split_at(const weir_shape *x, int axis, axis_state *state)
{
    state->outer = state->size = state->inner = 1;
    for (int i = 0; i < x->rank; i++) {
        if (i < axis)
            state->outer *= x->dims[i];
        else if (i == axis)
            state->size = x->dims[i];
        else
            state->inner *= x->dims[i];
    }
}

static weir_status run_arg(const void *pointer, void *const *arguments, weir_context *context)
{
    const axis_state *state = pointer;
    state->arg(context->team, arguments[0], state->outer, state->size, state->inner, arguments[2]);
    return WEIR_STATUS_OK;
}

static weir_status bind_arg(weir_bind *bind, bool largest)
{
    const weir_shape *x = &bind->inputs[0].shape;
    weir_dtype dtype = weir_dtype_base(bind->inputs[0].dtype);
    if (bind->inputs[1].shape.rank != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "dim must be a scalar, but received tensor of rank %d",
                         bind->inputs[1].shape.rank);
    int64_t axis = weir_tensor_get_int(bind->inputs[1].constant, 0);
    if (axis < -x->rank || axis >= x->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Expected dimension in the range [%d, %d), but got %lld", -x->rank,
                         x->rank, (long long)axis);
    axis += axis < 0 ? x->rank : 0;
    if (x->dims[axis] == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Reduction axis %lld is empty in shape %s", (long long)axis,
                         weir_shape_text(*x, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
    axis_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    split_at(x, (int)axis, state);
    state->arg = weir_arg_find(largest, dtype, weir_node_type(bind->node, "output_type"));
    if (state->arg == NULL)
        return fail_type(bind->node, dtype);
    bind->outputs[0] = (weir_shape){0};
    for (int i = 0; i < x->rank; i++) {
        if (i != axis)
            bind->outputs[0].dims[bind->outputs[0].rank++] = x->dims[i];
    }
    bind->run = run_arg;
    bind->state = state;
    return WEIR_STATUS_OK;
}

static weir_status bind_arg_max(weir_bind *bind)
{
    return bind_arg(bind, true);
}

static weir_status bind_arg_min(weir_bind *bind)
{
    return bind_arg(bind, false);
}

static weir_status run_cumulate(const void *pointer, void *const *arguments, weir_context *context)
{
    const axis_state *state = pointer;
    state->cumulate(context->team, arguments[0], state->outer, state->size, state->inner, state->exclusive,
                    state->reverse, arguments[2]);
    return WEIR_STATUS_OK;
}

static weir_status bind_cumulate(weir_bind *bind, bool product)
{
    const weir_shape *x = &bind->inputs[0].shape;
    weir_dtype dtype = weir_dtype_base(bind->inputs[0].dtype);
    if (weir_shape_elements(bind->inputs[1].shape) != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "ScanOp: axis must be a scalar, not %s",
                         weir_shape_text(bind->inputs[1].shape, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
    int64_t axis = weir_tensor_get_int(bind->inputs[1].constant, 0);
    if (axis < -x->rank || axis >= x->rank)
        return weir_fail(WEIR_INVALID_ARGUMENT, "ScanOp: Expected scan axis in the range [%d, %d), but got %lld",
                         -x->rank, x->rank, (long long)axis);
    axis_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    split_at(x, (int)(axis < 0 ? axis + x->rank : axis), state);
    state->exclusive = weir_node_bool(bind->node, "exclusive", false);
    state->reverse = weir_node_bool(bind->node, "reverse", false);
    state->cumulate = weir_cumulate_find(product, dtype);
    if (state->cumulate == NULL)
        return fail_type(bind->node, dtype);
    bind->outputs[0] = *x;
    bind->may_overwrite[0] = state->exclusive ? 0 : WEIR_INPUT(0);
    bind->run = run_cumulate;
    bind->state = state;
    return WEIR_STATUS_OK;
}

static weir_status bind_cumsum(weir_bind *bind)
{
    return bind_cumulate(bind, false);
}

static weir_status bind_cumprod(weir_bind *bind)
{
    return bind_cumulate(bind, true);
}

/* ---- Sums by segment ---- */

typedef struct segment_state {
    weir_segment_function *function;
    weir_dtype id_dtype;
    weir_shape ids;
    int64_t rows, columns, segments;
} segment_state;

static int64_t id_at(weir_dtype dtype, const void *ids, int64_t index)
{
    switch (dtype) {
    case WEIR_INT16:
        return ((const int16_t *)ids)[index];
    case WEIR_INT32:
        return ((const int32_t *)ids)[index];
    default:
        return ((const int64_t *)ids)[index];
    }
}

/* "[1]" or "[0,2]": where the element stands. */
static void index_text(const weir_shape *shape, int64_t index, char *text, size_t size)
{
    weir_shape at = *shape;
    for (int i = shape->rank - 1; i >= 0; i--) {
        at.dims[i] = index % shape->dims[i];
        index /= shape->dims[i];
    }
    weir_shape_text(at, text, size);
}

static weir_status run_segment(const void *pointer, void *const *arguments, weir_context *context)
{
    const segment_state *state = pointer;
    int64_t wrong = state->function(context->team, arguments[0], arguments[1], state->rows, state->columns,
                                    state->segments, arguments[3]);
    if (wrong < 0)
        return WEIR_STATUS_OK;
    char text[WEIR_SHAPE_TEXT_SIZE];
    index_text(&state->ids, wrong, text, sizeof text);
    return weir_fail(WEIR_INVALID_ARGUMENT, "segment_ids%s = %lld is out of range [0, %lld)", text,
                     (long long)id_at(state->id_dtype, arguments[1], wrong), (long long)state->segments);
}

static weir_status bind_unsorted_segment_sum(weir_bind *bind)
{
    const weir_shape *data = &bind->inputs[0].shape;
    const weir_shape *ids = &bind->inputs[1].shape;
    weir_dtype dtype = weir_dtype_base(bind->inputs[0].dtype);
    segment_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    state->id_dtype = weir_dtype_base(bind->inputs[1].dtype);
    state->ids = *ids;
    state->segments = weir_tensor_get_int(bind->inputs[2].constant, 0);
    if (state->segments < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Input num_segments == %lld must not be negative.",
                         (long long)state->segments);
    bool is_prefix = ids->rank <= data->rank;
    for (int i = 0; is_prefix && i < ids->rank; i++)
        is_prefix = ids->dims[i] == data->dims[i];
    if (!is_prefix)
        return weir_fail(WEIR_INVALID_ARGUMENT, "data.shape = %s does not start with segment_ids.shape = %s",
                         weir_shape_text(*data, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE),
                         weir_shape_text(*ids, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
    state->rows = weir_shape_elements(*ids);
    state->columns = 1;
    bind->outputs[0] = (weir_shape){1, {state->segments}};
    for (int i = ids->rank; i < data->rank; i++) {
        state->columns *= data->dims[i];
        bind->outputs[0].dims[bind->outputs[0].rank++] = data->dims[i];
    }
    state->function = weir_segment_find(WEIR_SEGMENT_SUM, dtype, state->id_dtype);
    if (state->function == NULL)
        return fail_type(bind->node, dtype);
    bind->run = run_segment;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- Table ---- */

#define REDUCTIONS(X) X(SUM, Sum) X(MEAN, Mean) X(PROD, Prod) X(MAX, Max) X(MIN, Min)
#define LOGICAL(X) X(ALL, All) X(ANY, Any)
#define DEFINE_BIND(kernel, node)                                                                                      \
    static weir_status bind_##node(weir_bind *bind)                                                                    \
    {                                                                                                                  \
        return bind_reduce(bind, WEIR_REDUCE_##kernel);                                                                \
    }
REDUCTIONS(DEFINE_BIND)
LOGICAL(DEFINE_BIND)

#define ROW(kernel, node)                                                                                              \
    {.op = #node,                                                                                                      \
     .bind = bind_##node,                                                                                              \
     .shape_inputs = WEIR_INPUT(1),                                                                                    \
     .on_accelerators = true,                                                                                          \
     .host_inputs = WEIR_INPUT(1)},
/* int32 on accelerators stays in host memory, as in TensorFlow. */
#define TYPED_ROWS(kernel, node)                                                                                       \
    {.op = #node,                                                                                                      \
     .types = {{"T", WEIR_TYPES(WEIR_INT32)}},                                                                         \
     .bind = bind_##node,                                                                                              \
     .shape_inputs = WEIR_INPUT(1),                                                                                    \
     .on_accelerators = true,                                                                                          \
     .host_inputs = WEIR_ALL_INPUTS,                                                                                   \
     .host_outputs = WEIR_ALL_INPUTS},                                                                                 \
        ROW(kernel, node)
#define AXIS_ROW(node, function)                                                                                       \
    {                                                                                                                  \
        .op = (node), .bind = (function), .shape_inputs = WEIR_INPUT(1), .on_accelerators = true,                      \
        .host_inputs = WEIR_INPUT(1)                                                                                   \
    }

const weir_kernel weir_kernel_table_reduce[] = {
    REDUCTIONS(TYPED_ROWS) LOGICAL(ROW){.op = "L2Loss", .bind = bind_l2_loss, .on_accelerators = true},
    AXIS_ROW("ArgMax", bind_arg_max),
    AXIS_ROW("ArgMin", bind_arg_min),
    AXIS_ROW("Cumsum", bind_cumsum),
    AXIS_ROW("Cumprod", bind_cumprod),
    {.op = "UnsortedSegmentSum",
     .types = {{"T", WEIR_TYPES(WEIR_INT32)}},
     .bind = bind_unsorted_segment_sum,
     .shape_inputs = WEIR_INPUT(2),
     .on_accelerators = true,
     .host_inputs = WEIR_ALL_INPUTS,
     .host_outputs = WEIR_ALL_INPUTS},
    {.op = "UnsortedSegmentSum",
     .bind = bind_unsorted_segment_sum,
     .shape_inputs = WEIR_INPUT(2),
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(2)},
    {.op = NULL},
};
