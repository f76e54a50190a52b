/*
 * Ops on strings that savers and monitored sessions put into their graphs: StringJoin and full matches of patterns.
 */
#include <string.h>

#include "exec/kernel.h"
#include "op/misc_pattern.h"
#include "op/state_support.h"

/* ---- StringJoin ---- */

/* Scalars go with any shape; an unknown one may be a scalar. */
static weir_status infer_join(weir_infer *infer)
{
    weir_shape common = weir_shape_scalar();
    for (int i = 0; i < infer->node->num_inputs; i++) {
        weir_shape shape = weir_infer_input(infer, i);
        if (shape.rank == 0)
            continue;
        if (common.rank > 0 && shape.rank > 0)
            WEIR_TRY(weir_infer_merge(common, shape, &common));
        else if (common.rank <= 0)
            common = shape;
    }
    infer->outputs[0] = common;
    return WEIR_STATUS_OK;
}

/* The shape of the inputs that are no scalars. */
static weir_status joined_shape(const weir_call *call, weir_shape *out)
{
    *out = weir_shape_scalar();
    for (int i = 0; i < call->node->num_inputs; i++) {
        weir_shape shape = call->inputs[i]->shape;
        if (shape.rank == 0)
            continue;
        if (out->rank != 0 && !weir_shape_equal(*out, shape))
            return weir_fail(WEIR_INVALID_ARGUMENT, "Input shapes do not match: %s vs. %s", WEIR_SHOWN(*out),
                             WEIR_SHOWN(shape));
        *out = shape;
    }
    return WEIR_STATUS_OK;
}

static void append_joined(weir_text *text, const weir_call *call, int64_t index, weir_bytes separator)
{
    for (int i = 0; i < call->node->num_inputs; i++) {
        const weir_tensor *input = call->inputs[i];
        const weir_string *element = &weir_tensor_string_elements(input)[input->shape.rank == 0 ? 0 : index];
        if (i > 0)
            weir_text_append_bytes(text, separator.data, separator.size);
        weir_text_append_bytes(text, element->data, element->size);
    }
}

static weir_status execute_join(weir_call *call)
{
    weir_shape shape;
    WEIR_TRY(joined_shape(call, &shape));
    WEIR_TRY(weir_tensor_new(WEIR_STRING, shape, &call->outputs[0]));
    weir_bytes separator = weir_node_string(call->node, "separator");
    weir_text text = {0};
    weir_status status = WEIR_STATUS_OK;
    for (int64_t i = 0; i < call->outputs[0]->elements && weir_ok(status); i++) {
        text.length = 0;
        append_joined(&text, call, i, separator);
        status = text.failed ? weir_fail_memory(text.length)
                             : weir_tensor_set_string(call->outputs[0], i, weir_text_get(&text), text.length);
    }
    weir_text_clear(&text);
    return status;
}

/* ---- Patterns ---- */

static weir_status infer_static_match(weir_infer *infer)
{
    infer->outputs[0] = weir_infer_input(infer, 0);
    return WEIR_STATUS_OK;
}

static weir_status infer_match(weir_infer *infer)
{
    weir_shape pattern;
    WEIR_TRY(weir_infer_rank(infer, 1, 0, &pattern));
    return infer_static_match(infer);
}

static weir_status match_all(weir_call *call, const char *text, size_t length)
{
    const weir_tensor *input = call->inputs[0];
    weir_pattern pattern;
    WEIR_TRY(weir_pattern_init(&pattern, text, length));
    weir_status status = weir_tensor_new(WEIR_BOOL, input->shape, &call->outputs[0]);
    for (int64_t i = 0; weir_ok(status) && i < input->elements; i++) {
        const weir_string *element = &weir_tensor_string_elements(input)[i];
        ((bool *)call->outputs[0]->data)[i] =
            weir_pattern_matches(&pattern, element->data != NULL ? element->data : "", element->size);
    }
    weir_pattern_clear(&pattern);
    return status;
}

static weir_status execute_static_match(weir_call *call)
{
    weir_bytes pattern = weir_node_string(call->node, "pattern");
    return match_all(call, pattern.data, pattern.size);
}

static weir_status execute_match(weir_call *call)
{
    const weir_tensor *pattern = call->inputs[1];
    if (pattern->shape.rank != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Pattern must be scalar, but received %s", WEIR_SHOWN(pattern->shape));
    const weir_string *text = weir_tensor_string_elements(pattern);
    return match_all(call, text->data != NULL ? text->data : "", text->size);
}

/* ---- Tables ---- */

static const weir_op_def ops[] = {
    {.name = "StringJoin",
     .inputs = WEIR_ARGS({"inputs", .type = WEIR_STRING, .number_attr = "N"}),
     .outputs = WEIR_ARGS({"output", .type = WEIR_STRING}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT_MIN("N", 0), WEIR_A_STRING("separator", "")),
     .infer = infer_join,
     .gradient_kind = WEIR_GRADIENT_NONE},
    {.name = "StaticRegexFullMatch",
     .inputs = WEIR_ARGS({"input", .type = WEIR_STRING}),
     .outputs = WEIR_ARGS({"output", .type = WEIR_BOOL}),
     .attrs = WEIR_ATTR_DEFS({.name = "pattern", .kind = WEIR_ATTR_STRING}),
     .infer = infer_static_match},
    {.name = "RegexFullMatch",
     .inputs = WEIR_ARGS({"input", .type = WEIR_STRING}, {"pattern", .type = WEIR_STRING}),
     .outputs = WEIR_ARGS({"output", .type = WEIR_BOOL}),
     .infer = infer_match},
    {.name = NULL},
};

static const weir_kernel kernels[] = {
    {.op = "StringJoin", .execute = execute_join},
    {.op = "StaticRegexFullMatch", .execute = execute_static_match},
    {.op = "RegexFullMatch", .execute = execute_match},
    {.op = NULL},
};

const weir_op_family weir_family_misc = {.name = "strings", .ops = ops, .kernels = kernels};
