/*
 * Variables by reference: VariableV2, Assign and its like, IsVariableInitialized, CountUpTo, with their builders; and the
 * builders that only order nodes (NoOp, group). Variables by handle: resource_variable.c; optimizers: optimizer.c.
 */
#include <stdlib.h>
#include <string.h>

#include <weir/ops.h>

#include "op/compose.h"
#include "op/state_support.h"

/* ---- Shapes ---- */

static weir_status infer_variable(weir_infer *infer)
{
    infer->outputs[0] = weir_node_shape(infer->node, "shape");
    return WEIR_STATUS_OK;
}

/* Old graphs write no dimensions both for a scalar and for an unknown shape. */
static weir_status infer_old_variable(weir_infer *infer)
{
    weir_shape shape = weir_node_shape(infer->node, "shape");
    if (shape.rank > 0)
        infer->outputs[0] = shape;
    return WEIR_STATUS_OK;
}

static weir_status infer_assign(weir_infer *infer)
{
    if (!weir_node_bool(infer->node, "validate_shape", true)) {
        infer->outputs[0] = weir_infer_input(infer, 1);
        return WEIR_STATUS_OK;
    }
    return weir_infer_merge(weir_infer_input(infer, 0), weir_infer_input(infer, 1), &infer->outputs[0]);
}

static weir_status infer_merged(weir_infer *infer)
{
    return weir_infer_merge(weir_infer_input(infer, 0), weir_infer_input(infer, 1), &infer->outputs[0]);
}

static weir_status infer_count(weir_infer *infer)
{
    return weir_infer_rank(infer, 0, 0, &infer->outputs[0]);
}

/* ---- Assign ---- */

/* The shape the variable has now, or must have: unknown when it may get any. The mutex is held. */
static weir_shape wanted_shape(weir_variable *variable)
{
    return weir_variable_is_initialized(variable) ? variable->shape : variable->declared;
}

static weir_status assign(weir_variable *variable, const weir_assignment *assignment, const void *elements)
{
    weir_shape wanted = wanted_shape(variable);
    if (assignment->validate_shape && !weir_shape_compatible(wanted, assignment->shape))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Assign requires shapes of both tensors to match. lhs shape= %s rhs shape= %s",
                         WEIR_SHOWN(wanted), WEIR_SHOWN(assignment->shape));
    return weir_variable_assign_locked(variable, assignment->dtype, &assignment->shape, elements);
}

static weir_status run_assign(const void *state, void *const *arguments, weir_context *context)
{
    (void)context;
    weir_variable *variable = arguments[0];
    pthread_mutex_lock(&variable->mutex);
    weir_status status = assign(variable, state, arguments[1]);
    pthread_mutex_unlock(&variable->mutex);
    return status;
}

static weir_status bind_assign(weir_bind *bind)
{
    weir_assignment *assignment = NULL;
    WEIR_TRY(weir_bind_state(bind, &assignment));
    *assignment = (weir_assignment){.dtype = bind->inputs[1].dtype,
                                    .shape = bind->inputs[1].shape,
                                    .validate_shape = weir_node_bool(bind->node, "validate_shape", true)};
    bind->outputs[0] = assignment->shape;
    bind->same_memory[0] = 0;
    bind->state = assignment;
    bind->run = run_assign;
    return WEIR_STATUS_OK;
}

/* Strings and handles. */
static weir_status execute_assign(weir_call *call)
{
    weir_variable *variable = NULL;
    WEIR_TRY(weir_call_variable(call, 0, &variable));
    const weir_tensor *value = call->inputs[1];
    weir_assignment assignment = {.dtype = value->dtype,
                                  .shape = value->shape,
                                  .validate_shape = weir_node_bool(call->node, "validate_shape", true)};
    void *arguments[] = {variable, value->data};
    return run_assign(&assignment, arguments, call->context);
}

/* ---- IsVariableInitialized ---- */

static weir_status run_is_initialized(const void *state, void *const *arguments, weir_context *context)
{
    (void)state;
    (void)context;
    *(bool *)arguments[1] = weir_variable_is_initialized(arguments[0]);
    return WEIR_STATUS_OK;
}

static weir_status bind_is_initialized(weir_bind *bind)
{
    bind->outputs[0] = weir_shape_scalar();
    bind->run = run_is_initialized;
    return WEIR_STATUS_OK;
}

/* ---- CountUpTo ---- */

typedef struct count_state {
    weir_dtype dtype;
    int64_t limit;
} count_state;

/* The mutex is held. */
static weir_status count(const count_state *state, weir_variable *variable, void *out)
{
    WEIR_TRY(weir_variable_check(variable));
    if (weir_shape_elements(variable->shape) != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "input is not a scalar: %s", WEIR_SHOWN(variable->shape));
    void *data = weir_buffer_reach(variable->buffer);
    int64_t value = state->dtype == WEIR_INT32 ? *(int32_t *)data : *(int64_t *)data;
    if (value >= state->limit)
        return weir_fail(WEIR_OUT_OF_RANGE, "Reached limit of %lld", (long long)state->limit);
    if (state->dtype == WEIR_INT32) {
        *(int32_t *)out = (int32_t)value;
        *(int32_t *)data = (int32_t)(value + 1);
    } else {
        *(int64_t *)out = value;
        *(int64_t *)data = value + 1;
    }
    return WEIR_STATUS_OK;
}

static weir_status run_count(const void *state, void *const *arguments, weir_context *context)
{
    (void)context;
    weir_variable *variable = arguments[0];
    pthread_mutex_lock(&variable->mutex);
    weir_status status = count(state, variable, arguments[1]);
    pthread_mutex_unlock(&variable->mutex);
    return status;
}

static weir_status bind_count(weir_bind *bind)
{
    count_state *state = NULL;
    WEIR_TRY(weir_bind_state(bind, &state));
    state->dtype = weir_node_type(bind->node, "T");
    state->limit = weir_node_int(bind->node, "limit", 0);
    bind->outputs[0] = weir_shape_scalar();
    bind->state = state;
    bind->run = run_count;
    return WEIR_STATUS_OK;
}

/* ---- Tables ---- */

#define REF_INPUT(attr) {"ref", .type_attr = (attr), .is_ref = true}
#define REF_OUTPUT WEIR_ARGS({"output_ref", .type_attr = "T", .is_ref = true})
#define VARIABLE_ATTRS                                                                                                 \
    WEIR_ATTR_DEFS({.name = "shape", .kind = WEIR_ATTR_SHAPE}, WEIR_A_TYPE("dtype", NULL),                             \
                   WEIR_A_STRING("container", ""), WEIR_A_STRING("shared_name", ""))

static const weir_op_def ops[] = {
    {.name = "VariableV2",
     .outputs = WEIR_ARGS({"ref", .type_attr = "dtype", .is_ref = true}),
     .attrs = VARIABLE_ATTRS,
     .infer = infer_variable,
     .is_stateful = true},
    {.name = "Variable",
     .outputs = WEIR_ARGS({"ref", .type_attr = "dtype", .is_ref = true}),
     .attrs = VARIABLE_ATTRS,
     .infer = infer_old_variable,
     .is_stateful = true},
    {.name = "Assign",
     .inputs = WEIR_ARGS(REF_INPUT("T"), {"value", .type_attr = "T"}),
     .outputs = REF_OUTPUT,
     .attrs =
         WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL), WEIR_A_BOOL("validate_shape", true), WEIR_A_BOOL("use_locking", true)),
     .infer = infer_assign,
     .gradient_kind = WEIR_GRADIENT_NONE,
     .allows_uninitialized_input = true},
    {.name = "AssignAdd",
     .inputs = WEIR_ARGS(REF_INPUT("T"), {"value", .type_attr = "T"}),
     .outputs = REF_OUTPUT,
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", WEIR_NUMBER_TYPES), WEIR_A_BOOL("use_locking", false)),
     .infer = infer_merged,
     .gradient_kind = WEIR_GRADIENT_NONE},
    {.name = "AssignSub",
     .inputs = WEIR_ARGS(REF_INPUT("T"), {"value", .type_attr = "T"}),
     .outputs = REF_OUTPUT,
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", WEIR_NUMBER_TYPES), WEIR_A_BOOL("use_locking", false)),
     .infer = infer_merged,
     .gradient_kind = WEIR_GRADIENT_NONE},
    {.name = "IsVariableInitialized",
     .inputs = WEIR_ARGS(REF_INPUT("dtype")),
     .outputs = WEIR_ARGS({"is_initialized", .type = WEIR_BOOL}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("dtype", NULL)),
     .infer = weir_infer_scalar,
     .allows_uninitialized_input = true},
    {.name = "CountUpTo",
     .inputs = WEIR_ARGS(REF_INPUT("T")),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs =
         WEIR_ATTR_DEFS({.name = "limit", .kind = WEIR_ATTR_INT}, WEIR_A_TYPE("T", WEIR_TYPES(WEIR_INT32, WEIR_INT64))),
     .infer = infer_count},
    {.name = NULL},
};

static const weir_kernel kernels[] = {
    {.op = "VariableV2", .types = {{"dtype", WEIR_DEVICE_TYPES}}, .role = WEIR_ROLE_VARIABLE, .on_accelerators = true},
    {.op = "VariableV2", .role = WEIR_ROLE_VARIABLE},
    {.op = "Variable", .types = {{"dtype", WEIR_DEVICE_TYPES}}, .role = WEIR_ROLE_VARIABLE, .on_accelerators = true},
    {.op = "Variable", .role = WEIR_ROLE_VARIABLE},
    {.op = "Assign", .types = {{"T", WEIR_OBJECT_TYPES}}, .execute = execute_assign, .writes = WEIR_INPUT(0)},
    {.op = "Assign",
     .types = {{"T", WEIR_DEVICE_TYPES}},
     .bind = bind_assign,
     .writes = WEIR_INPUT(0),
     .on_accelerators = true},
    {.op = "Assign", .bind = bind_assign, .writes = WEIR_INPUT(0)},
    {.op = "AssignAdd",
     .types = {{"T", WEIR_DEVICE_TYPES}},
     .bind = weir_bind_assign_add,
     .writes = WEIR_INPUT(0),
     .on_accelerators = true},
    {.op = "AssignAdd", .types = {{"T", WEIR_ADDED_TYPES}}, .bind = weir_bind_assign_add, .writes = WEIR_INPUT(0)},
    {.op = "AssignSub",
     .types = {{"T", WEIR_DEVICE_TYPES}},
     .bind = weir_bind_assign_sub,
     .writes = WEIR_INPUT(0),
     .on_accelerators = true},
    {.op = "AssignSub", .types = {{"T", WEIR_ADDED_TYPES}}, .bind = weir_bind_assign_sub, .writes = WEIR_INPUT(0)},
    {.op = "IsVariableInitialized",
     .bind = bind_is_initialized,
     .reads = WEIR_INPUT(0),
     .on_accelerators = true,
     .host_outputs = WEIR_INPUT(0)},
    {.op = "CountUpTo", .bind = bind_count, .writes = WEIR_INPUT(0)},
    {.op = NULL},
};

const weir_op_family weir_family_state = {.name = "state", .ops = ops, .kernels = kernels};

/* ---- Builders of state ---- */

weir_output(weir_assign)(weir_scope s, weir_output ref, weir_output value, const weir_name_options *options)
{
    return weir_build_binary(s, "Assign", weir_option_name(options, NULL), ref, value);
}

weir_output(weir_assign_add)(weir_scope s, weir_output ref, weir_output value, const weir_name_options *options)
{
    return weir_build_binary(s, "AssignAdd", weir_option_name(options, NULL), ref, value);
}

weir_output(weir_assign_sub)(weir_scope s, weir_output ref, weir_output value, const weir_name_options *options)
{
    return weir_build_binary(s, "AssignSub", weir_option_name(options, NULL), ref, value);
}

weir_output(weir_variable_v2)(weir_scope s, weir_dtype dtype, weir_shape shape, const weir_name_options *options)
{
    return weir_out(weir_op(s, "VariableV2", WEIR_ATTRS(WEIR_ATTR_SH("shape", shape), WEIR_ATTR_T("dtype", dtype)),
                            .name = weir_option_name(options, NULL)),
                    0);
}

weir_output(weir_is_variable_initialized)(weir_scope s, weir_output ref, const weir_name_options *options)
{
    const char *op = weir_output_dtype(ref) == WEIR_RESOURCE ? "VarIsInitializedOp" : "IsVariableInitialized";
    return weir_build_unary(s, op, weir_option_name(options, NULL), ref);
}

/* ---- Builders of order ---- */

weir_node *weir_no_op(weir_scope s, const char *name)
{
    return weir_op(s, "NoOp", .name = name);
}

static int compare_devices(const void *a, const void *b)
{
    return strcmp((*(weir_node *const *)a)->device, (*(weir_node *const *)b)->device);
}

/* Insertion keeps the order of nodes on one device; lists are short, or nearly sorted. */
static void sort_by_device(weir_node **nodes, int count)
{
    for (int i = 1; i < count; i++) {
        weir_node *moved = nodes[i];
        int at = i;
        for (; at > 0 && compare_devices(&nodes[at - 1], &moved) > 0; at--)
            nodes[at] = nodes[at - 1];
        nodes[at] = moved;
    }
}

/* The NoOp of the nodes of one device, placed there. */
static weir_node *group_device(weir_scope s, weir_node *const *nodes, int count, const char *name)
{
    weir_scope after = weir_after_nodes(s, nodes, count);
    return weir_no_op(nodes[0]->device[0] != '\0' ? weir_on_device(after, "%s", nodes[0]->device) : after, name);
}

/* One NoOp for each device in nodes, which are sorted by device; returns how many. */
static int group_devices(weir_scope s, weir_node *const *nodes, int count, weir_node **grouped)
{
    int groups = 0;
    for (int first = 0; first < count;) {
        int last = first + 1;
        while (last < count && strcmp(nodes[last]->device, nodes[first]->device) == 0)
            last++;
        grouped[groups++] = group_device(s, nodes + first, last - first, NULL);
        first = last;
    }
    return groups;
}

static weir_node *group_sorted(weir_scope s, weir_node **nodes, int count, weir_node **grouped)
{
    sort_by_device(nodes, count);
    const char *name = weir_scope_name(s);
    if (strcmp(nodes[0]->device, nodes[count - 1]->device) == 0)
        return group_device(s, nodes, count, name);
    int groups = group_devices(s, nodes, count, grouped);
    return weir_no_op(weir_after_nodes(s, grouped, groups), name);
}

weir_node *weir_group(weir_scope s, weir_node *const *nodes, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (nodes[i] == NULL)
            return NULL; /* made from something that failed */
    }
    weir_scope named = weir_in_scope(s, "%s", name != NULL ? name : "group_deps");
    if (count == 0 || named.record == NULL)
        return weir_no_op(named, weir_scope_name(named));
    weir_node **copies = NULL; /* the nodes in order of their devices, and behind them those of each device */
    weir_status status = weir_new(&copies, 2 * (size_t)count);
    if (!weir_ok(status)) {
        (void)weir_scope_fail(s, status);
        return NULL;
    }
    memcpy(copies, nodes, (size_t)count * sizeof(weir_node *));
    weir_node *group = group_sorted(named, copies, count, copies + count);
    weir_release(copies);
    return group;
}

weir_output weir_with_dependency(weir_scope s, weir_node *node, weir_output x, const char *name)
{
    if (node == NULL || x.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope named = weir_in_scope(s, "%s", name != NULL ? name : "control_dependency");
    weir_scope after = weir_after(weir_colocated_with(named, x.node), node);
    const char *op = weir_dtype_is_ref(weir_output_dtype(x)) ? "RefIdentity" : "Identity";
    return weir_build_unary(after, op, weir_scope_name(named), x);
}
