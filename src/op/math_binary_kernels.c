/*
 * Binds the ops of math_binary.c to the elementwise kernels; compares strings itself.
 */
#include <string.h>

#include "base/text.h"
#include "kernel/cpu/elementwise.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

static weir_status fail_type(const weir_node *node, weir_dtype dtype)
{
    return weir_fail(WEIR_UNIMPLEMENTED, "%s has no kernel for %s", weir_node_op(node), weir_dtype_name(dtype));
}

static weir_status fail_shapes(const weir_shape *a, const weir_shape *b)
{
    char text_a[WEIR_SHAPE_TEXT_SIZE];
    char text_b[WEIR_SHAPE_TEXT_SIZE];
    return weir_fail(WEIR_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s",
                     weir_shape_text(*a, text_a, sizeof text_a), weir_shape_text(*b, text_b, sizeof text_b));
}

/* ---- Two inputs ---- */

static weir_status run_binary(const void *state, void *const *arguments, weir_context *context)
{
    switch (weir_binary_run(state, context->team, arguments[0], arguments[1], arguments[2])) {
    case WEIR_FAULT_DIVISION_BY_ZERO:
        return weir_fail(WEIR_INVALID_ARGUMENT, "Integer division by zero");
    case WEIR_FAULT_NEGATIVE_POWER:
        return weir_fail(WEIR_INVALID_ARGUMENT, "Integers to negative integer powers are not allowed");
    default:
        return WEIR_STATUS_OK;
    }
}

static weir_status bind_binary(weir_bind *bind, weir_binary_op op)
{
    const weir_argument *a = &bind->inputs[0];
    const weir_argument *b = &bind->inputs[1];
    weir_dtype dtype = weir_dtype_base(a->dtype);
    weir_shape out;
    if (!weir_broadcast_shape(&a->shape, &b->shape, &out))
        return fail_shapes(&a->shape, &b->shape);
    weir_binary_plan *plan;
    WEIR_TRY(weir_bind_state(bind, &plan));
    if (!weir_binary_prepare(op, dtype, &a->shape, &b->shape, plan))
        return fail_type(bind->node, dtype);
    bind->outputs[0] = out;
    if (weir_dtype_size(weir_binary_out_type(op, dtype)) == weir_dtype_size(dtype)) {
        bind->may_overwrite[0] = (weir_shape_equal(a->shape, out) ? WEIR_INPUT(0) : 0) |
                                 (weir_shape_equal(b->shape, out) ? WEIR_INPUT(1) : 0);
    }
    bind->run = run_binary;
    bind->state = plan;
    return WEIR_STATUS_OK;
}

/* ---- Equal and NotEqual ---- */

static weir_status run_false(const void *state, void *const *arguments, weir_context *context)
{
    (void)state, (void)context;
    *(bool *)arguments[2] = false;
    return WEIR_STATUS_OK;
}

static weir_status run_true(const void *state, void *const *arguments, weir_context *context)
{
    (void)state, (void)context;
    *(bool *)arguments[2] = true;
    return WEIR_STATUS_OK;
}

/* Shapes that do not broadcast are unequal as a whole, where the node says so. */
static bool are_unequal_shapes(const weir_node *node, const weir_shape *a, const weir_shape *b)
{
    weir_shape out;
    return !weir_broadcast_shape(a, b, &out) && !weir_node_bool(node, "incompatible_shape_error", true);
}

static weir_status bind_equality(weir_bind *bind, weir_binary_op op)
{
    if (!are_unequal_shapes(bind->node, &bind->inputs[0].shape, &bind->inputs[1].shape))
        return bind_binary(bind, op);
    bind->outputs[0] = weir_shape_scalar();
    bind->run = op == WEIR_BINARY_EQUAL ? run_false : run_true;
    return WEIR_STATUS_OK;
}

static weir_status bind_Equal(weir_bind *bind)
{
    return bind_equality(bind, WEIR_BINARY_EQUAL);
}

static weir_status bind_NotEqual(weir_bind *bind)
{
    return bind_equality(bind, WEIR_BINARY_NOT_EQUAL);
}

/* Where an output element's input element lies: strides are 0 along broadcast axes. */
static int64_t source_index(const weir_shape *out, const weir_shape *in, int64_t index)
{
    int64_t source = 0;
    int64_t stride = 1;
    for (int i = 1; i <= in->rank; i++) {
        int64_t dim = out->dims[out->rank - i];
        if (in->dims[in->rank - i] != 1)
            source += index % dim * stride;
        stride *= in->dims[in->rank - i];
        index /= dim;
    }
    return source;
}

static weir_status compare_strings(weir_call *call, bool want_equal)
{
    const weir_tensor *a = call->inputs[0];
    const weir_tensor *b = call->inputs[1];
    weir_shape shape;
    bool is_unequal = are_unequal_shapes(call->node, &a->shape, &b->shape);
    if (is_unequal)
        shape = weir_shape_scalar();
    else if (!weir_broadcast_shape(&a->shape, &b->shape, &shape))
        return fail_shapes(&a->shape, &b->shape);
    WEIR_TRY(weir_tensor_new(WEIR_BOOL, shape, &call->outputs[0]));
    bool *out = call->outputs[0]->data;
    if (is_unequal) {
        *out = !want_equal;
        return WEIR_STATUS_OK;
    }
    for (int64_t i = 0; i < call->outputs[0]->elements; i++) {
        const weir_string *x = &weir_tensor_string_elements(a)[source_index(&shape, &a->shape, i)];
        const weir_string *y = &weir_tensor_string_elements(b)[source_index(&shape, &b->shape, i)];
        bool is_equal = x->size == y->size && (x->size == 0 || memcmp(x->data, y->data, x->size) == 0);
        out[i] = is_equal == want_equal;
    }
    return WEIR_STATUS_OK;
}

static weir_status execute_equal(weir_call *call)
{
    return compare_strings(call, true);
}

static weir_status execute_not_equal(weir_call *call)
{
    return compare_strings(call, false);
}

/* ---- Add of strings: one after the other ---- */

static weir_status execute_add_strings(weir_call *call)
{
    const weir_tensor *a = call->inputs[0];
    const weir_tensor *b = call->inputs[1];
    weir_shape shape;
    if (!weir_broadcast_shape(&a->shape, &b->shape, &shape))
        return fail_shapes(&a->shape, &b->shape);
    WEIR_TRY(weir_tensor_new(WEIR_STRING, shape, &call->outputs[0]));
    weir_string *out = weir_tensor_string_elements(call->outputs[0]);
    for (int64_t i = 0; i < call->outputs[0]->elements; i++) {
        const weir_string *x = &weir_tensor_string_elements(a)[source_index(&shape, &a->shape, i)];
        const weir_string *y = &weir_tensor_string_elements(b)[source_index(&shape, &b->shape, i)];
        weir_text text = {0};
        weir_text_append_bytes(&text, x->data, x->size);
        weir_text_append_bytes(&text, y->data, y->size);
        weir_status status = text.failed ? weir_fail_memory(x->size + y->size)
                                         : weir_string_set(&out[i], weir_text_get(&text), text.length);
        weir_text_clear(&text);
        WEIR_TRY(status);
    }
    return WEIR_STATUS_OK;
}

/* ---- AddN ---- */

typedef struct add_n_state {
    weir_add_n_function *function;
    int count;
    int64_t elements;
} add_n_state;

static weir_status run_add_n(const void *state, void *const *arguments, weir_context *context)
{
    const add_n_state *add = state;
    add->function(context->team, add->count, (const void *const *)arguments, arguments[add->count], add->elements);
    return WEIR_STATUS_OK;
}

static weir_status bind_add_n(weir_bind *bind)
{
    int count = bind->node->num_inputs;
    const weir_argument *first = &bind->inputs[0];
    for (int i = 1; i < count; i++) {
        if (!weir_shape_equal(first->shape, bind->inputs[i].shape)) {
            char text_0[WEIR_SHAPE_TEXT_SIZE];
            char text_i[WEIR_SHAPE_TEXT_SIZE];
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Inputs to operation %s of type %s must have the same size and shape.  "
                             "Input 0: %s != input %d: %s",
                             weir_node_name(bind->node), weir_node_op(bind->node),
                             weir_shape_text(first->shape, text_0, sizeof text_0), i,
                             weir_shape_text(bind->inputs[i].shape, text_i, sizeof text_i));
        }
    }
    bind->outputs[0] = first->shape;
    if (count == 1) {
        bind->same_memory[0] = 0;
        return WEIR_STATUS_OK;
    }
    add_n_state *add;
    WEIR_TRY(weir_bind_state(bind, &add));
    *add = (add_n_state){weir_add_n_find(weir_dtype_base(first->dtype)), count, weir_shape_elements(first->shape)};
    if (add->function == NULL)
        return fail_type(bind->node, first->dtype);
    bind->may_overwrite[0] = count >= 32 ? WEIR_ALL_INPUTS : WEIR_INPUT(count) - 1;
    bind->run = run_add_n;
    bind->state = add;
    return WEIR_STATUS_OK;
}

/* ---- Table ---- */

/* int32 on accelerators stays in host memory for these, as in TensorFlow. */
#define BINARY_IN_HOST_MEMORY(X)                                                                                       \
    X(ADD, Add)                                                                                                        \
    X(ADD, AddV2)                                                                                                      \
    X(SUB, Sub)                                                                                                        \
    X(MUL, Mul)                                                                                                        \
    X(DIV, Div)                                                                                                        \
    X(FLOOR_DIV, FloorDiv)                                                                                             \
    X(FLOOR_MOD, FloorMod)                                                                                             \
    X(MAXIMUM, Maximum)                                                                                                \
    X(MINIMUM, Minimum)                                                                                                \
    X(SQUARED_DIFFERENCE, SquaredDifference)                                                                           \
    X(GREATER, Greater)                                                                                                \
    X(GREATER_EQUAL, GreaterEqual)                                                                                     \
    X(LESS, Less)                                                                                                      \
    X(LESS_EQUAL, LessEqual)
#define BINARY(X)                                                                                                      \
    X(REAL_DIV, RealDiv)                                                                                               \
    X(DIV_NO_NAN, DivNoNan)                                                                                            \
    X(POW, Pow)                                                                                                        \
    X(LOGICAL_AND, LogicalAnd)                                                                                         \
    X(LOGICAL_OR, LogicalOr)

#define DEFINE_BIND(kernel, node)                                                                                      \
    static weir_status bind_##node(weir_bind *bind)                                                                    \
    {                                                                                                                  \
        return bind_binary(bind, WEIR_BINARY_##kernel);                                                                \
    }
BINARY_IN_HOST_MEMORY(DEFINE_BIND)
BINARY(DEFINE_BIND)

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

const weir_kernel weir_kernel_table_binary[] = {
    {.op = "Equal", .types = {{"T", WEIR_TYPES(WEIR_STRING)}}, .execute = execute_equal},
    {.op = "NotEqual", .types = {{"T", WEIR_TYPES(WEIR_STRING)}}, .execute = execute_not_equal},
    {.op = "Add", .types = {{"T", WEIR_TYPES(WEIR_STRING)}}, .execute = execute_add_strings},
    BINARY_IN_HOST_MEMORY(ROW_IN_HOST_MEMORY) BINARY(ROW) ROW_IN_HOST_MEMORY(EQUAL, Equal)
        ROW_IN_HOST_MEMORY(NOT_EQUAL, NotEqual){.op = "AddN",
                                                .types = {{"T", WEIR_TYPES(WEIR_INT32)}},
                                                .bind = bind_add_n,
                                                .on_accelerators = true,
                                                .host_inputs = WEIR_ALL_INPUTS,
                                                .host_outputs = WEIR_ALL_INPUTS,
                                                .is_cheap = true},
    {.op = "AddN", .bind = bind_add_n, .on_accelerators = true, .is_cheap = true},
    {.op = NULL},
};
