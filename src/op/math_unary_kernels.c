/*
 * Binds the ops of math_unary.c to the elementwise kernels.
 */
#include <math.h>

#include "kernel/cpu/elementwise.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

static weir_status fail_type(const weir_node *node, weir_dtype dtype)
{
    return weir_fail(WEIR_UNIMPLEMENTED, "%s has no kernel for %s", weir_node_op(node), weir_dtype_name(dtype));
}

/* ---- One input ---- */

static weir_status run_unary(const void *state, void *const *arguments, weir_context *context)
{
    weir_unary_run(state, context->team, arguments[0], arguments[1]);
    return WEIR_STATUS_OK;
}

static weir_status bind_unary(weir_bind *bind, weir_unary_op op)
{
    const weir_argument *x = &bind->inputs[0];
    weir_unary_plan *plan;
    WEIR_TRY(weir_bind_state(bind, &plan));
    if (!weir_unary_prepare(op, weir_dtype_base(x->dtype), weir_shape_elements(x->shape), plan))
        return fail_type(bind->node, x->dtype);
    bind->outputs[0] = x->shape;
    bind->may_overwrite[0] = plan->size == plan->out_size ? WEIR_INPUT(0) : 0;
    bind->run = run_unary;
    bind->state = plan;
    return WEIR_STATUS_OK;
}

/* ---- Two inputs of one shape ---- */

static weir_status run_binary(const void *state, void *const *arguments, weir_context *context)
{
    (void)weir_binary_run(state, context->team, arguments[0], arguments[1], arguments[2]); /* these have no fault */
    return WEIR_STATUS_OK;
}

static weir_status bind_gradient(weir_bind *bind, weir_binary_op op)
{
    const weir_argument *a = &bind->inputs[0];
    const weir_argument *b = &bind->inputs[1];
    if (!weir_shape_equal(a->shape, b->shape)) {
        char text_a[WEIR_SHAPE_TEXT_SIZE];
        char text_b[WEIR_SHAPE_TEXT_SIZE];
        return weir_fail(WEIR_INVALID_ARGUMENT, "Inputs must have the same shape: %s vs. %s",
                         weir_shape_text(a->shape, text_a, sizeof text_a),
                         weir_shape_text(b->shape, text_b, sizeof text_b));
    }
    weir_binary_plan *plan;
    WEIR_TRY(weir_bind_state(bind, &plan));
    if (!weir_binary_prepare(op, weir_dtype_base(a->dtype), &a->shape, &b->shape, plan))
        return fail_type(bind->node, a->dtype);
    bind->outputs[0] = a->shape;
    bind->may_overwrite[0] = WEIR_INPUT(0) | WEIR_INPUT(1);
    bind->run = run_binary;
    bind->state = plan;
    return WEIR_STATUS_OK;
}

/* ---- CheckNumerics: the output is the input's memory ---- */

typedef struct check_state {
    weir_dtype dtype;
    int64_t elements;
    weir_bytes message;
} check_state;

static double element_at(weir_dtype dtype, const void *elements, int64_t index)
{
    switch (dtype) {
    case WEIR_DOUBLE:
        return ((const double *)elements)[index];
    case WEIR_HALF:
        return (double)weir_half_to_float(((const uint16_t *)elements)[index]);
    case WEIR_BFLOAT16:
        return (double)weir_bfloat16_to_float(((const uint16_t *)elements)[index]);
    default:
        return (double)((const float *)elements)[index];
    }
}

static bool are_all_finite(const float *x, int64_t n)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * 0; /* NaN as soon as one is not finite */
    return sum == 0;
}

static weir_status run_check(const void *state, void *const *arguments, weir_context *context)
{
    const check_state *check = state;
    (void)context;
    if (check->dtype == WEIR_FLOAT && are_all_finite(arguments[0], check->elements))
        return WEIR_STATUS_OK;
    bool has_nan = false;
    bool has_infinity = false;
    for (int64_t i = 0; i < check->elements; i++) {
        double value = element_at(check->dtype, arguments[0], i);
        has_nan |= isnan(value);
        has_infinity |= isinf(value);
    }
    if (!has_nan && !has_infinity)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "%.*s : Tensor had %s values", (int)check->message.size,
                     check->message.data,
                     has_nan && has_infinity ? "Inf and NaN"
                     : has_nan               ? "NaN"
                                             : "Inf");
}

static weir_status bind_check_numerics(weir_bind *bind)
{
    check_state *check;
    WEIR_TRY(weir_bind_state(bind, &check));
    check->dtype = weir_dtype_base(bind->inputs[0].dtype);
    check->elements = weir_shape_elements(bind->inputs[0].shape);
    check->message = weir_node_string(bind->node, "message");
    bind->outputs[0] = bind->inputs[0].shape;
    bind->same_memory[0] = 0;
    bind->run = run_check;
    bind->state = check;
    return WEIR_STATUS_OK;
}

/* ---- ZerosLike of strings: empty ones ---- */

static weir_status execute_zeros_like(weir_call *call)
{
    return weir_tensor_new(call->inputs[0]->dtype, call->inputs[0]->shape, &call->outputs[0]);
}

/* ---- Table ---- */

/* int32 on accelerators stays in host memory for these, as in TensorFlow. */
#define UNARY_IN_HOST_MEMORY(X)                                                                                        \
    X(NEG, Neg) X(SQUARE, Square) X(ABS, Abs) X(SIGN, Sign) X(ZEROS_LIKE, ZerosLike) X(ONES_LIKE, OnesLike)
#define UNARY(X)                                                                                                       \
    X(RECIPROCAL, Reciprocal)                                                                                          \
    X(SQRT, Sqrt)                                                                                                      \
    X(RSQRT, Rsqrt)                                                                                                    \
    X(EXP, Exp)                                                                                                        \
    X(LOG, Log)                                                                                                        \
    X(FLOOR, Floor)                                                                                                    \
    X(ROUND, Round)                                                                                                    \
    X(RELU, Relu)                                                                                                      \
    X(RELU6, Relu6)                                                                                                    \
    X(ELU, Elu)                                                                                                        \
    X(SIGMOID, Sigmoid)                                                                                                \
    X(TANH, Tanh)                                                                                                      \
    X(SOFTPLUS, Softplus)                                                                                              \
    X(CONJ, Conj)                                                                                                      \
    X(LOGICAL_NOT, LogicalNot)
#define GRADIENTS(X)                                                                                                   \
    X(RECIPROCAL_GRAD, ReciprocalGrad)                                                                                 \
    X(SQRT_GRAD, SqrtGrad)                                                                                             \
    X(RSQRT_GRAD, RsqrtGrad)                                                                                           \
    X(SIGMOID_GRAD, SigmoidGrad)                                                                                       \
    X(TANH_GRAD, TanhGrad)                                                                                             \
    X(RELU_GRAD, ReluGrad)                                                                                             \
    X(RELU6_GRAD, Relu6Grad)                                                                                           \
    X(ELU_GRAD, EluGrad)                                                                                               \
    X(SOFTPLUS_GRAD, SoftplusGrad)

#define DEFINE_BIND(kernel, node)                                                                                      \
    static weir_status bind_##node(weir_bind *bind)                                                                    \
    {                                                                                                                  \
        return bind_unary(bind, WEIR_UNARY_##kernel);                                                                  \
    }
UNARY_IN_HOST_MEMORY(DEFINE_BIND)
UNARY(DEFINE_BIND)
#define DEFINE_BIND_GRADIENT(kernel, node)                                                                             \
    static weir_status bind_##node(weir_bind *bind)                                                                    \
    {                                                                                                                  \
        return bind_gradient(bind, WEIR_BINARY_##kernel);                                                              \
    }
GRADIENTS(DEFINE_BIND_GRADIENT)

#define ROW(kernel, node) {.op = #node, .bind = bind_##node, .on_accelerators = true, .is_cheap = true},
#define ROW_IN_HOST_MEMORY(kernel, node)                                                                               \
    {.op = #node,                                                                                                      \
     .types = {{"T", WEIR_TYPES(WEIR_INT32)}},                                                                         \
     .bind = bind_##node,                                                                                              \
     .on_accelerators = true,                                                                                          \
     .host_inputs = WEIR_ALL_INPUTS,                                                                                   \
     .host_outputs = WEIR_ALL_INPUTS,                                                                                  \
     .is_cheap = true},                                                                                                \
        ROW(kernel, node)

const weir_kernel weir_kernel_table_unary[] = {
    {.op = "ZerosLike", .types = {{"T", WEIR_TYPES(WEIR_STRING)}}, .execute = execute_zeros_like},
    UNARY_IN_HOST_MEMORY(ROW_IN_HOST_MEMORY) UNARY(ROW)
        GRADIENTS(ROW){.op = "CheckNumerics", .bind = bind_check_numerics, .on_accelerators = true},
    {.op = NULL},
};
