/*
 * Binds Select and SelectV2 to the selection kernels; strings and other objects are copied one by one.
 */
#include "kernel/cpu/elementwise.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

static weir_status fail_shapes(const weir_shape *condition, const weir_shape *a, const weir_shape *b)
{
    char text_condition[WEIR_SHAPE_TEXT_SIZE];
    char text_a[WEIR_SHAPE_TEXT_SIZE];
    char text_b[WEIR_SHAPE_TEXT_SIZE];
    return weir_fail(WEIR_INVALID_ARGUMENT, "condition %s, then %s, and else %s must be broadcastable",
                     weir_shape_text(*condition, text_condition, sizeof text_condition),
                     weir_shape_text(*a, text_a, sizeof text_a), weir_shape_text(*b, text_b, sizeof text_b));
}

static weir_status fail_select(const char *what, const weir_shape *a, const weir_shape *b)
{
    char text_a[WEIR_SHAPE_TEXT_SIZE];
    char text_b[WEIR_SHAPE_TEXT_SIZE];
    return weir_fail(WEIR_INVALID_ARGUMENT, "%s %s vs. %s", what, weir_shape_text(*a, text_a, sizeof text_a),
                     weir_shape_text(*b, text_b, sizeof text_b));
}

/* The shape of the condition as it broadcasts for this node, and of the output. */
static weir_status find_shapes(bool is_v2, const weir_shape *condition, const weir_shape *a, const weir_shape *b,
                               weir_shape *broadcast, weir_shape *out)
{
    *broadcast = *condition;
    if (is_v2) {
        weir_shape both;
        if (!weir_broadcast_shape(a, b, &both) || !weir_broadcast_shape(condition, &both, out))
            return fail_shapes(condition, a, b);
        return WEIR_STATUS_OK;
    }
    if (!weir_shape_equal(*a, *b))
        return fail_select("'then' and 'else' must have the same size.  but received:", a, b);
    bool is_vector = condition->rank == 1 && a->rank > 1;
    if (is_vector ? condition->dims[0] != a->dims[0] : condition->rank != 0 && !weir_shape_equal(*condition, *a))
        return fail_select(
            "'cond' must be a scalar, have the shape of 'then', or be a vector of its first dimension:", condition, a);
    *broadcast = weir_select_rows(condition, a);
    *out = *a;
    return WEIR_STATUS_OK;
}

static weir_status run_select(const void *state, void *const *arguments, weir_context *context)
{
    weir_select_run(state, context->team, arguments[0], arguments[1], arguments[2], arguments[3]);
    return WEIR_STATUS_OK;
}

static weir_status bind_any(weir_bind *bind, bool is_v2)
{
    const weir_argument *x = bind->inputs;
    weir_shape condition;
    weir_shape out;
    WEIR_TRY(find_shapes(is_v2, &x[0].shape, &x[1].shape, &x[2].shape, &condition, &out));
    weir_select_plan *plan;
    WEIR_TRY(weir_bind_state(bind, &plan));
    size_t size = weir_dtype_size(weir_dtype_base(x[1].dtype));
    if (!weir_select_prepare(size, &condition, &x[1].shape, &x[2].shape, plan))
        return fail_shapes(&x[0].shape, &x[1].shape, &x[2].shape);
    bind->outputs[0] = out;
    bind->may_overwrite[0] = (weir_shape_equal(x[1].shape, out) ? WEIR_INPUT(1) : 0) |
                             (weir_shape_equal(x[2].shape, out) ? WEIR_INPUT(2) : 0);
    bind->run = run_select;
    bind->state = plan;
    return WEIR_STATUS_OK;
}

static weir_status bind_select(weir_bind *bind)
{
    return bind_any(bind, false);
}

static weir_status bind_select_v2(weir_bind *bind)
{
    return bind_any(bind, true);
}

/* ---- Objects ---- */

typedef struct object_copy {
    weir_call *call;
    size_t stride;
    weir_status status;
} object_copy;

static void take_object(void *context, int64_t out, bool from_a, int64_t index)
{
    object_copy *copy = context;
    const weir_tensor *from = copy->call->inputs[from_a ? 1 : 2];
    weir_tensor *to = copy->call->outputs[0];
    if (weir_ok(copy->status))
        copy->status = weir_elements_copy(to->dtype, (char *)to->data + (size_t)out * copy->stride,
                                          (const char *)from->data + (size_t)index * copy->stride, 1);
}

static weir_status execute_any(weir_call *call, bool is_v2)
{
    weir_tensor *const *x = call->inputs;
    weir_shape condition;
    weir_shape out;
    WEIR_TRY(find_shapes(is_v2, &x[0]->shape, &x[1]->shape, &x[2]->shape, &condition, &out));
    weir_select_plan plan;
    if (!weir_select_prepare(1, &condition, &x[1]->shape, &x[2]->shape, &plan))
        return fail_shapes(&x[0]->shape, &x[1]->shape, &x[2]->shape);
    WEIR_TRY(weir_tensor_new(x[1]->dtype, out, &call->outputs[0]));
    object_copy copy = {.call = call, .stride = weir_dtype_stride(x[1]->dtype)};
    weir_select_walk(&plan, x[0]->data, take_object, &copy);
    return copy.status;
}

static weir_status execute_select(weir_call *call)
{
    return execute_any(call, false);
}

static weir_status execute_select_v2(weir_call *call)
{
    return execute_any(call, true);
}

#define OBJECTS                                                                                                        \
    {                                                                                                                  \
        {                                                                                                              \
            "T", WEIR_TYPES(WEIR_STRING, WEIR_RESOURCE, WEIR_VARIANT)                                                  \
        }                                                                                                              \
    }

const weir_kernel weir_kernel_table_select[] = {
    {.op = "Select", .types = OBJECTS, .execute = execute_select},
    {.op = "SelectV2", .types = OBJECTS, .execute = execute_select_v2},
    {.op = "Select", .bind = bind_select, .on_accelerators = true, .is_cheap = true},
    {.op = "SelectV2", .bind = bind_select_v2, .on_accelerators = true, .is_cheap = true},
    {.op = NULL},
};
