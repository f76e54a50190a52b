/*
 * Ops that only order, route or pass: NoOp, Switch and Merge, the frames of loops, Assert. What they do is known to the
 * executor by their roles; their gradients stand in control_flow_gradient.c.
 */
#include "op/control_flow.h"
#include "exec/kernel.h"
#include "op/control_flow_summary.h"

/* ---- Shapes ---- */

static weir_status infer_switch(weir_infer *infer)
{
    weir_shape predicate;
    WEIR_TRY(weir_infer_rank(infer, 1, 0, &predicate));
    infer->outputs[0] = infer->outputs[1] = weir_infer_input(infer, 0);
    return WEIR_STATUS_OK;
}

/* What all inputs have in common: their rank, and the dimensions that are equal. */
static weir_status infer_merge(weir_infer *infer)
{
    weir_shape common = weir_infer_input(infer, 0);
    for (int i = 1; i < infer->node->num_inputs && common.rank >= 0; i++) {
        weir_shape shape = weir_infer_input(infer, i);
        if (shape.rank != common.rank) {
            common = weir_shape_unknown();
            break;
        }
        for (int axis = 0; axis < common.rank; axis++) {
            if (shape.dims[axis] != common.dims[axis])
                common.dims[axis] = WEIR_UNKNOWN_DIM;
        }
    }
    infer->outputs[0] = common;
    infer->outputs[1] = weir_shape_scalar();
    return WEIR_STATUS_OK;
}

/* A loop variable may change its shape from one iteration to the next; whoever builds the loop knows better. */
static weir_status infer_enter(weir_infer *infer)
{
    if (weir_node_bool(infer->node, "is_constant", false))
        infer->outputs[0] = weir_infer_input(infer, 0);
    return WEIR_STATUS_OK;
}

static weir_status infer_scalar_same(weir_infer *infer)
{
    return weir_infer_rank(infer, 0, 0, &infer->outputs[0]);
}

static weir_status infer_assert(weir_infer *infer)
{
    weir_shape condition;
    return weir_infer_rank(infer, 0, 0, &condition);
}

/* ---- Assert ---- */

static weir_status execute_assert(weir_call *call)
{
    const weir_tensor *condition = call->inputs[0];
    if (condition->elements != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "In[0] should be a scalar: %s",
                         weir_shape_text(condition->shape, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
    if (*(const bool *)condition->data)
        return WEIR_STATUS_OK;
    weir_text text = {0};
    int64_t most = weir_node_int(call->node, "summarize", 3);
    for (int i = 1; i < call->node->num_inputs; i++) {
        weir_text_append(&text, "%s[", i > 1 ? " " : "");
        weir_tensor_summarize(call->inputs[i], most, &text);
        weir_text_append(&text, "]");
    }
    weir_status status = weir_fail(WEIR_INVALID_ARGUMENT, "assertion failed: %s", weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

/* ---- Tables ---- */

#define DATA_INPUT {"data", .type_attr = "T"}
#define DATA_REF {"data", .type_attr = "T", .is_ref = true}
#define OUTPUT {"output", .type_attr = "T"}
#define OUTPUT_REF {"output", .type_attr = "T", .is_ref = true}
#define FRAME_ATTRS                                                                                                    \
    WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL), {.name = "frame_name", .kind = WEIR_ATTR_STRING},                           \
                   WEIR_A_BOOL("is_constant", false), WEIR_A_INT("parallel_iterations", 10))

static const weir_op_def ops[] = {
    {.name = "NoOp", .infer = weir_infer_none},
    {.name = "ControlTrigger", .infer = weir_infer_none},
    {.name = "Switch",
     .inputs = WEIR_ARGS(DATA_INPUT, {"pred", .type = WEIR_BOOL}),
     .outputs = WEIR_ARGS({"output_false", .type_attr = "T"}, {"output_true", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL)),
     .infer = infer_switch,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_switch},
    {.name = "RefSwitch",
     .inputs = WEIR_ARGS(DATA_REF, {"pred", .type = WEIR_BOOL}),
     .outputs = WEIR_ARGS({"output_false", .type_attr = "T", .is_ref = true},
                          {"output_true", .type_attr = "T", .is_ref = true}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL)),
     .infer = infer_switch,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_switch,
     .allows_uninitialized_input = true},
    {.name = "Merge",
     .inputs = WEIR_ARGS({"inputs", .type_attr = "T", .number_attr = "N"}),
     .outputs = WEIR_ARGS(OUTPUT, {"value_index", .type = WEIR_INT32}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL), WEIR_A_INT_MIN("N", 1)),
     .infer = infer_merge,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_merge},
    {.name = "RefMerge",
     .inputs = WEIR_ARGS({"inputs", .type_attr = "T", .number_attr = "N", .is_ref = true}),
     .outputs = WEIR_ARGS(OUTPUT_REF, {"value_index", .type = WEIR_INT32}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL), WEIR_A_INT_MIN("N", 1)),
     .infer = infer_merge,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_merge},
    {.name = "Enter",
     .inputs = WEIR_ARGS(DATA_INPUT),
     .outputs = WEIR_ARGS(OUTPUT),
     .attrs = FRAME_ATTRS,
     .infer = infer_enter,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_loop},
    {.name = "RefEnter",
     .inputs = WEIR_ARGS(DATA_REF),
     .outputs = WEIR_ARGS(OUTPUT_REF),
     .attrs = FRAME_ATTRS,
     .infer = weir_infer_same,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_loop},
    {.name = "Exit",
     .inputs = WEIR_ARGS(DATA_INPUT),
     .outputs = WEIR_ARGS(OUTPUT),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL)),
     .infer = weir_infer_same,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_loop},
    {.name = "RefExit",
     .inputs = WEIR_ARGS(DATA_REF),
     .outputs = WEIR_ARGS(OUTPUT_REF),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL)),
     .infer = weir_infer_same,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_loop},
    {.name = "NextIteration",
     .inputs = WEIR_ARGS(DATA_INPUT),
     .outputs = WEIR_ARGS(OUTPUT),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL)),
     .infer = weir_infer_same,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_loop},
    {.name = "RefNextIteration",
     .inputs = WEIR_ARGS(DATA_REF),
     .outputs = WEIR_ARGS(OUTPUT_REF),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL)),
     .infer = weir_infer_same,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_loop},
    {.name = "LoopCond",
     .inputs = WEIR_ARGS({"input", .type = WEIR_BOOL}),
     .outputs = WEIR_ARGS({"output", .type = WEIR_BOOL}),
     .infer = infer_scalar_same,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_nothing},
    {.name = "RefIdentity",
     .inputs = WEIR_ARGS({"input", .type_attr = "T", .is_ref = true}),
     .outputs = WEIR_ARGS(OUTPUT_REF),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL)),
     .infer = weir_infer_same,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = weir_gradient_of_passing,
     .allows_uninitialized_input = true},
    {.name = "Assert",
     .inputs = WEIR_ARGS({"condition", .type = WEIR_BOOL}, {"data", .type_list_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS({.name = "T", .kind = WEIR_ATTR_LIST + WEIR_ATTR_TYPE, .has_minimum = true, .minimum = 1},
                             WEIR_A_INT("summarize", 3)),
     .infer = infer_assert,
     .gradient_kind = WEIR_GRADIENT_NONE,
     .is_stateful = true},
    {.name = "_Arg",
     .outputs = WEIR_ARGS(OUTPUT),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL), WEIR_A_INT_MIN("index", 0)),
     .infer = weir_infer_unknown,
     .is_stateful = true},
    {.name = "_Retval",
     .inputs = WEIR_ARGS({"input", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL), WEIR_A_INT_MIN("index", 0)),
     .infer = weir_infer_none,
     .is_stateful = true},
    {.name = NULL},
};

static const weir_kernel kernels[] = {
    {.op = "NoOp", .role = WEIR_ROLE_NOTHING, .on_accelerators = true},
    {.op = "ControlTrigger", .role = WEIR_ROLE_TRIGGER, .on_accelerators = true},
    {.op = "Switch", .role = WEIR_ROLE_SWITCH, .on_accelerators = true, .host_inputs = WEIR_INPUT(1)},
    {.op = "RefSwitch", .role = WEIR_ROLE_SWITCH, .on_accelerators = true, .host_inputs = WEIR_INPUT(1)},
    {.op = "Merge", .role = WEIR_ROLE_MERGE, .on_accelerators = true, .host_outputs = WEIR_INPUT(1)},
    {.op = "RefMerge", .role = WEIR_ROLE_MERGE, .on_accelerators = true, .host_outputs = WEIR_INPUT(1)},
    {.op = "Enter", .role = WEIR_ROLE_ENTER, .on_accelerators = true},
    {.op = "RefEnter", .role = WEIR_ROLE_ENTER, .on_accelerators = true},
    {.op = "Exit", .role = WEIR_ROLE_EXIT, .on_accelerators = true},
    {.op = "RefExit", .role = WEIR_ROLE_EXIT, .on_accelerators = true},
    {.op = "NextIteration", .role = WEIR_ROLE_NEXT_ITERATION, .on_accelerators = true},
    {.op = "RefNextIteration", .role = WEIR_ROLE_NEXT_ITERATION, .on_accelerators = true},
    {.op = "LoopCond",
     .role = WEIR_ROLE_LOOP_CONDITION,
     .on_accelerators = true,
     .host_inputs = WEIR_INPUT(0),
     .host_outputs = WEIR_INPUT(0)},
    {.op = "RefIdentity", .role = WEIR_ROLE_PASS, .on_accelerators = true},
    {.op = "Assert", .execute = execute_assert},
    {.op = "_Arg", .role = WEIR_ROLE_ARGUMENT, .on_accelerators = true},
    {.op = "_Retval", .role = WEIR_ROLE_RESULT, .on_accelerators = true},
    {.op = NULL},
};

const weir_op_family weir_family_control_flow = {.name = "control flow", .ops = ops, .kernels = kernels};
