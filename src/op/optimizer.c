/*
 * Updates of variables by optimizers: gradient descent, momentum, Adam, by reference and by handle. The formulas are the
 * kernels'; here are shapes, checks and locks. A variable and its slots are locked together for the time of the update.
 */
#include "kernel/cpu/update.h"
#include "op/state_support.h"

#define MOST_VARIABLES 3

/* What the three have in common: variables first, then scalars, and the gradient somewhere among them. */
typedef struct update {
    int variables;
    int gradient;     /* index of the input */
    weir_shape shape; /* of the gradient */
    int64_t elements;
    bool is_handle;
    bool nesterov;
    const weir_op_def *op; /* for names of arguments in messages */
    union {
        weir_gradient_descent_function *descend;
        weir_momentum_function *momentum;
        weir_adam_function *adam;
    };
} update;

/* ---- Shapes ---- */

/* Every input that is neither variable nor gradient is a scalar; variables and gradient have one shape. */
static weir_status infer_update(weir_infer *infer, int variables, int gradient)
{
    weir_dtype dtype = weir_node_type(infer->node, "T");
    weir_shape common;
    weir_shape scalar;
    WEIR_TRY(weir_infer_variable(infer, 0, dtype, &common));
    for (int i = 1; i < infer->node->num_inputs; i++) {
        weir_shape shape = weir_infer_input(infer, i);
        if (i < variables)
            WEIR_TRY(weir_infer_variable(infer, i, dtype, &shape));
        if (i < variables || i == gradient)
            WEIR_TRY(weir_infer_merge(common, shape, &common));
        else
            WEIR_TRY(weir_infer_rank(infer, i, 0, &scalar));
    }
    if (infer->node->num_outputs > 0)
        infer->outputs[0] = common;
    return WEIR_STATUS_OK;
}

static weir_status infer_gradient_descent(weir_infer *infer)
{
    return infer_update(infer, 1, 2);
}

static weir_status infer_momentum(weir_infer *infer)
{
    return infer_update(infer, 2, 3);
}

static weir_status infer_adam(weir_infer *infer)
{
    return infer_update(infer, 3, 9);
}

/* ---- Checks ---- */

static const char *argument_name(const update *u, int index)
{
    return u->op->inputs[index].name;
}

/* All initialized, all of the gradient's shape. The mutexes are held. */
static weir_status check_variables(const update *u, weir_variable *const *variables)
{
    for (int i = 0; i < u->variables; i++) {
        if (!weir_variable_is_initialized(variables[i]))
            return u->is_handle ? weir_fail_uninitialized_resource(variables[i]) : weir_variable_check(variables[i]);
    }
    for (int i = 1; i <= u->variables; i++) {
        bool is_gradient = i == u->variables;
        weir_shape shape = is_gradient ? u->shape : variables[i]->shape;
        if (!weir_shape_equal(variables[0]->shape, shape))
            return weir_fail(WEIR_INVALID_ARGUMENT, "var and %s do not have the same shape%s %s",
                             argument_name(u, is_gradient ? u->gradient : i), WEIR_SHOWN(variables[0]->shape),
                             WEIR_SHOWN(shape));
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_update(weir_bind *bind, int variables, int gradient, update **out)
{
    update *u = NULL;
    WEIR_TRY(weir_bind_state(bind, &u));
    u->variables = variables;
    u->gradient = gradient;
    u->shape = bind->inputs[gradient].shape;
    u->elements = weir_shape_elements(u->shape);
    u->is_handle = !bind->node->op->inputs[0].is_ref;
    u->nesterov = weir_node_bool(bind->node, "use_nesterov", false);
    u->op = bind->node->op;
    for (int i = variables; i < bind->node->num_inputs; i++) {
        if (i != gradient && bind->inputs[i].shape.rank != 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "%s is not a scalar: %s", argument_name(u, i),
                             WEIR_SHOWN(bind->inputs[i].shape));
    }
    if (bind->node->num_outputs > 0) {
        bind->outputs[0] = u->shape;
        bind->same_memory[0] = 0;
    }
    bind->state = u;
    *out = u;
    return WEIR_STATUS_OK;
}

static weir_status fail_type(const weir_bind *bind)
{
    return weir_fail(WEIR_UNIMPLEMENTED, "%s has no kernel for type %s", bind->node->op->name,
                     weir_dtype_name(weir_node_type(bind->node, "T")));
}

/* ---- The three ---- */

/* Locks the variables, checks them, and calls apply with their elements. */
static weir_status run_update(const update *u, void *const *arguments, weir_context *context,
                              void (*apply)(const update *u, void *const *data, void *const *arguments,
                                            weir_team *team))
{
    weir_variable *variables[MOST_VARIABLES];
    void *data[MOST_VARIABLES] = {NULL};
    for (int i = 0; i < u->variables; i++)
        variables[i] = arguments[i];
    weir_lock_variables(variables, u->variables);
    weir_status status = check_variables(u, variables);
    if (weir_ok(status)) {
        for (int i = 0; i < u->variables; i++)
            data[i] = weir_buffer_reach(variables[i]->buffer);
        apply(u, data, arguments, context->team);
    }
    weir_unlock_variables(variables, u->variables);
    return status;
}

static void apply_gradient_descent(const update *u, void *const *data, void *const *arguments, weir_team *team)
{
    u->descend(team, u->elements, data[0], arguments[1], arguments[2]);
}

static weir_status run_gradient_descent(const void *state, void *const *arguments, weir_context *context)
{
    return run_update(state, arguments, context, apply_gradient_descent);
}

static weir_status bind_gradient_descent(weir_bind *bind)
{
    update *u = NULL;
    WEIR_TRY(bind_update(bind, 1, 2, &u));
    u->descend = weir_gradient_descent_find(bind->inputs[2].dtype);
    bind->run = run_gradient_descent;
    return u->descend != NULL ? WEIR_STATUS_OK : fail_type(bind);
}

static void apply_momentum(const update *u, void *const *data, void *const *arguments, weir_team *team)
{
    u->momentum(team, u->elements, data[0], data[1], arguments[2], arguments[3], arguments[4], u->nesterov);
}

static weir_status run_momentum(const void *state, void *const *arguments, weir_context *context)
{
    return run_update(state, arguments, context, apply_momentum);
}

static weir_status bind_momentum(weir_bind *bind)
{
    update *u = NULL;
    WEIR_TRY(bind_update(bind, 2, 3, &u));
    u->momentum = weir_momentum_find(bind->inputs[3].dtype);
    bind->run = run_momentum;
    return u->momentum != NULL ? WEIR_STATUS_OK : fail_type(bind);
}

static void apply_adam(const update *u, void *const *data, void *const *arguments, weir_team *team)
{
    const weir_adam_scalars scalars = {.beta1_power = arguments[3],
                                       .beta2_power = arguments[4],
                                       .lr = arguments[5],
                                       .beta1 = arguments[6],
                                       .beta2 = arguments[7],
                                       .epsilon = arguments[8]};
    u->adam(team, u->elements, data[0], data[1], data[2], &scalars, arguments[9], u->nesterov);
}

static weir_status run_adam(const void *state, void *const *arguments, weir_context *context)
{
    return run_update(state, arguments, context, apply_adam);
}

static weir_status bind_adam(weir_bind *bind)
{
    update *u = NULL;
    WEIR_TRY(bind_update(bind, 3, 9, &u));
    u->adam = weir_adam_find(bind->inputs[9].dtype);
    bind->run = run_adam;
    return u->adam != NULL ? WEIR_STATUS_OK : fail_type(bind);
}

/* ---- Tables ---- */

#define T_INPUT(arg) {(arg), .type_attr = "T"}
#define REF_INPUT(arg) {(arg), .type_attr = "T", .is_ref = true}
#define HANDLE_INPUT(arg) {(arg), .type = WEIR_RESOURCE}
#define DESCENT_INPUTS(variable) WEIR_ARGS(variable("var"), T_INPUT("alpha"), T_INPUT("delta"))
#define MOMENTUM_INPUTS(variable)                                                                                      \
    WEIR_ARGS(variable("var"), variable("accum"), T_INPUT("lr"), T_INPUT("grad"), T_INPUT("momentum"))
#define ADAM_INPUTS(variable)                                                                                          \
    WEIR_ARGS(variable("var"), variable("m"), variable("v"), T_INPUT("beta1_power"), T_INPUT("beta2_power"),           \
              T_INPUT("lr"), T_INPUT("beta1"), T_INPUT("beta2"), T_INPUT("epsilon"), T_INPUT("grad"))
#define REF_OUTPUT WEIR_ARGS({"out", .type_attr = "T", .is_ref = true})
#define DESCENT_ATTRS WEIR_ATTR_DEFS(WEIR_A_TYPE("T", WEIR_NUMBER_TYPES), WEIR_A_BOOL("use_locking", false))
#define MOMENTUM_ATTRS                                                                                                 \
    WEIR_ATTR_DEFS(WEIR_A_TYPE("T", WEIR_NUMBER_TYPES), WEIR_A_BOOL("use_locking", false),                             \
                   WEIR_A_BOOL("use_nesterov", false))

static const weir_op_def ops[] = {
    {.name = "ApplyGradientDescent",
     .inputs = DESCENT_INPUTS(REF_INPUT),
     .outputs = REF_OUTPUT,
     .attrs = DESCENT_ATTRS,
     .infer = infer_gradient_descent},
    {.name = "ApplyMomentum",
     .inputs = MOMENTUM_INPUTS(REF_INPUT),
     .outputs = REF_OUTPUT,
     .attrs = MOMENTUM_ATTRS,
     .infer = infer_momentum},
    {.name = "ApplyAdam",
     .inputs = ADAM_INPUTS(REF_INPUT),
     .outputs = REF_OUTPUT,
     .attrs = MOMENTUM_ATTRS,
     .infer = infer_adam},
    {.name = "ResourceApplyGradientDescent",
     .inputs = DESCENT_INPUTS(HANDLE_INPUT),
     .attrs = DESCENT_ATTRS,
     .infer = infer_gradient_descent,
     .is_stateful = true},
    {.name = "ResourceApplyMomentum",
     .inputs = MOMENTUM_INPUTS(HANDLE_INPUT),
     .attrs = MOMENTUM_ATTRS,
     .infer = infer_momentum,
     .is_stateful = true},
    {.name = "ResourceApplyAdam",
     .inputs = ADAM_INPUTS(HANDLE_INPUT),
     .attrs = MOMENTUM_ATTRS,
     .infer = infer_adam,
     .is_stateful = true},
    {.name = NULL},
};

#define UPDATE_KERNEL(op_name, function, variable_bits)                                                                \
    {                                                                                                                  \
        .op = (op_name), .types = {{"T", WEIR_OPTIMIZED_TYPES}}, .bind = (function), .writes = (variable_bits),        \
        .on_accelerators = true                                                                                        \
    }
#define HANDLE_KERNEL(op_name, function, variable_bits)                                                                \
    {                                                                                                                  \
        .op = (op_name), .types = {{"T", WEIR_OPTIMIZED_TYPES}}, .bind = (function), .writes = (variable_bits),        \
        .on_accelerators = true, .host_inputs = (variable_bits)                                                        \
    }
#define FIRST WEIR_INPUT(0)
#define FIRST_TWO (WEIR_INPUT(0) | WEIR_INPUT(1))
#define FIRST_THREE (WEIR_INPUT(0) | WEIR_INPUT(1) | WEIR_INPUT(2))

static const weir_kernel kernels[] = {
    UPDATE_KERNEL("ApplyGradientDescent", bind_gradient_descent, FIRST),
    UPDATE_KERNEL("ApplyMomentum", bind_momentum, FIRST_TWO),
    UPDATE_KERNEL("ApplyAdam", bind_adam, FIRST_THREE),
    HANDLE_KERNEL("ResourceApplyGradientDescent", bind_gradient_descent, FIRST),
    HANDLE_KERNEL("ResourceApplyMomentum", bind_momentum, FIRST_TWO),
    HANDLE_KERNEL("ResourceApplyAdam", bind_adam, FIRST_THREE),
    {.op = NULL},
};

const weir_op_family weir_family_optimizer = {.name = "optimizer", .ops = ops, .kernels = kernels};
