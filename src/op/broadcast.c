/*
 * BroadcastGradientArgs: along which axes two broadcast shapes must be summed to become themselves again. Broadcasts of
 * shapes known while building are undone without it, see weir_build_unbroadcast in compose.c.
 */
#include <string.h>

#include "exec/kernel.h"
#include "tensor/tensor.h"

typedef struct axes_state {
    weir_dtype dtype;
    int counts[2];
    int axes[2][WEIR_MAX_RANK];
} axes_state;

/* Dimension i from the right of the shape that a vector holds; 1 beyond its end. */
static int64_t dim_from_right(const weir_tensor *dims, int64_t i)
{
    return i < dims->elements ? weir_tensor_get_int(dims, dims->elements - 1 - i) : 1;
}

static bool are_equal(const weir_tensor *a, const weir_tensor *b)
{
    return a->elements == b->elements && memcmp(a->data, b->data, a->size_bytes) == 0;
}

static weir_status fail_shapes(const weir_tensor *a, const weir_tensor *b)
{
    char text_a[WEIR_SHAPE_TEXT_SIZE];
    char text_b[WEIR_SHAPE_TEXT_SIZE];
    const weir_tensor *tensors[] = {a, b};
    char *texts[] = {text_a, text_b};
    for (int side = 0; side < 2; side++) {
        weir_shape shape = {.rank = (int)tensors[side]->elements};
        for (int i = 0; i < shape.rank; i++)
            shape.dims[i] = weir_tensor_get_int(tensors[side], i);
        weir_shape_text(shape, texts[side], WEIR_SHAPE_TEXT_SIZE);
    }
    return weir_fail(WEIR_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", text_a, text_b);
}

static weir_status find_axes(const weir_tensor *a, const weir_tensor *b, axes_state *state)
{
    int64_t rank = a->elements > b->elements ? a->elements : b->elements;
    if (rank > WEIR_MAX_RANK)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Shapes of rank %lld: at most %d", (long long)rank, WEIR_MAX_RANK);
    if (are_equal(a, b))
        return WEIR_STATUS_OK;
    for (int axis = 0; axis < rank; axis++) {
        int64_t dim_a = dim_from_right(a, rank - 1 - axis);
        int64_t dim_b = dim_from_right(b, rank - 1 - axis);
        if (dim_a != dim_b && dim_a != 1 && dim_b != 1)
            return fail_shapes(a, b);
        if (dim_a == 1)
            state->axes[0][state->counts[0]++] = axis;
        if (dim_b == 1)
            state->axes[1][state->counts[1]++] = axis;
    }
    return WEIR_STATUS_OK;
}

static weir_status run_axes(const void *pointer, void *const *arguments, weir_context *context)
{
    const axes_state *state = pointer;
    (void)context;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < state->counts[side]; i++) {
            if (state->dtype == WEIR_INT64)
                ((int64_t *)arguments[2 + side])[i] = state->axes[side][i];
            else
                ((int32_t *)arguments[2 + side])[i] = state->axes[side][i];
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_broadcast_gradient_args(weir_bind *bind)
{
    axes_state *state;
    for (int side = 0; side < 2; side++) {
        if (bind->inputs[side].shape.rank != 1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "In[%d] must be a vector: its rank is %d", side,
                             bind->inputs[side].shape.rank);
    }
    WEIR_TRY(weir_bind_state(bind, &state));
    state->dtype = weir_dtype_base(bind->inputs[0].dtype);
    WEIR_TRY(find_axes(bind->inputs[0].constant, bind->inputs[1].constant, state));
    for (int side = 0; side < 2; side++)
        bind->outputs[side] = (weir_shape){1, {state->counts[side]}};
    bind->run = run_axes;
    bind->state = state;
    return WEIR_STATUS_OK;
}

static weir_status infer_axes(weir_infer *infer)
{
    weir_shape shape;
    WEIR_TRY(weir_infer_rank(infer, 0, 1, &shape));
    WEIR_TRY(weir_infer_rank(infer, 1, 1, &shape));
    infer->outputs[0] = infer->outputs[1] = (weir_shape){1, {WEIR_UNKNOWN_DIM}};
    return WEIR_STATUS_OK;
}

static const weir_dtype index_types[] = {WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};

static const weir_op_def ops[] = {
    {.name = "BroadcastGradientArgs",
     .inputs = WEIR_ARGS({"s0", .type_attr = "T"}, {"s1", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"r0", .type_attr = "T"}, {"r1", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE_OR("T", index_types, WEIR_INT32)),
     .infer = infer_axes,
     .gradient_kind = WEIR_GRADIENT_NONE},
    {.name = NULL},
};

static const weir_kernel kernels[] = {
    {.op = "BroadcastGradientArgs",
     .bind = bind_broadcast_gradient_args,
     .shape_inputs = WEIR_INPUT(0) | WEIR_INPUT(1),
     .on_accelerators = true,
     .host_inputs = WEIR_ALL_INPUTS,
     .host_outputs = WEIR_ALL_INPUTS},
    {.op = NULL},
};

const weir_op_family weir_family_broadcast = {.name = "broadcast", .ops = ops, .kernels = kernels};
