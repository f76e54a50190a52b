/*
 * Saving and restoring: SaveV2, RestoreV2, ShardedFilename, MergeV2Checkpoints. The files are format/checkpoint's.
 */
#include <string.h>

#include "exec/kernel.h"
#include "format/checkpoint.h"
#include "op/state_support.h"

/* Inputs before the tensors: prefix, names, shapes and slices. */
#define FIXED_INPUTS 3

/* ---- Shapes ---- */

static int64_t vector_length(weir_shape shape)
{
    return shape.rank == 1 ? shape.dims[0] : WEIR_UNKNOWN_DIM;
}

/* A scalar prefix and two vectors, which have count elements if count is not unknown. */
static weir_status infer_names(weir_infer *infer, int64_t count)
{
    weir_shape prefix;
    WEIR_TRY(weir_infer_rank(infer, 0, 0, &prefix));
    for (int i = 1; i < FIXED_INPUTS; i++) {
        weir_shape names;
        WEIR_TRY(weir_infer_rank(infer, i, 1, &names));
        int64_t length = vector_length(names);
        if (count >= 0 && length >= 0 && length != count)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Dimension must be %lld but is %lld", (long long)count,
                             (long long)length);
    }
    return WEIR_STATUS_OK;
}

static weir_status infer_save(weir_infer *infer)
{
    return infer_names(infer, infer->node->num_inputs - FIXED_INPUTS);
}

static weir_status infer_restore(weir_infer *infer)
{
    WEIR_TRY(infer_names(infer, WEIR_UNKNOWN_DIM));
    weir_shape merged;
    WEIR_TRY(weir_infer_merge(weir_infer_input(infer, 1), weir_infer_input(infer, 2), &merged));
    const weir_tensor *specs = weir_infer_constant(infer, 2);
    if (specs == NULL)
        return WEIR_STATUS_OK;
    if (specs->elements != infer->node->num_outputs)
        return weir_fail(WEIR_INVALID_ARGUMENT, "The number of shape_and_slice doesn't match tensor outputs.");
    for (int i = 0; i < infer->node->num_outputs; i++) {
        const weir_string *spec = &weir_tensor_string_elements(specs)[i];
        weir_shape whole;
        weir_slice slice;
        if (spec->size > 0)
            WEIR_TRY(weir_slice_parse(spec->data, spec->size, &whole, &slice, &infer->outputs[i]));
    }
    return WEIR_STATUS_OK;
}

static weir_status infer_merge_checkpoints(weir_infer *infer)
{
    weir_shape shape;
    WEIR_TRY(weir_infer_rank(infer, 0, 1, &shape));
    return weir_infer_rank(infer, 1, 0, &shape);
}

/* ---- Checks ---- */

static const char *text_of(const weir_string *string)
{
    return string->data != NULL ? string->data : "";
}

static weir_status check_names(const weir_call *call, size_t count, const char *what)
{
    const weir_tensor *prefix = call->inputs[0];
    const weir_tensor *names = call->inputs[1];
    const weir_tensor *specs = call->inputs[2];
    if (prefix->elements != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Input prefix should have a single element, got %lld instead.",
                         (long long)prefix->elements);
    if (names->shape.rank != 1 || specs->shape.rank != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Input tensor_names and shape_and_slices should be an 1-D tensors, got %s and %s instead.",
                         WEIR_SHOWN(names->shape), WEIR_SHOWN(specs->shape));
    if (names->elements != specs->elements)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "tensor_names and shape_and_slices have different number of elements: %lld vs. %lld",
                         (long long)names->elements, (long long)specs->elements);
    if ((size_t)names->elements != count)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Got %lld tensor names but %zu %s.", (long long)names->elements, count,
                         what);
    return WEIR_STATUS_OK;
}

/* ---- Kernels ---- */

static weir_status execute_save(weir_call *call)
{
    size_t count = (size_t)call->node->num_inputs - FIXED_INPUTS;
    WEIR_TRY(check_names(call, count, "tensors"));
    return weir_checkpoint_save_all(text_of(weir_tensor_string_elements(call->inputs[0])), count,
                                    weir_tensor_string_elements(call->inputs[1]),
                                    weir_tensor_string_elements(call->inputs[2]), call->inputs + FIXED_INPUTS);
}

static weir_status execute_restore(weir_call *call)
{
    size_t count = (size_t)call->node->num_outputs;
    WEIR_TRY(check_names(call, count, "expected dtypes"));
    return weir_checkpoint_restore_all(
        text_of(weir_tensor_string_elements(call->inputs[0])), count, weir_tensor_string_elements(call->inputs[1]),
        weir_tensor_string_elements(call->inputs[2]), call->node->output_dtypes, call->outputs);
}

static weir_status execute_sharded_filename(weir_call *call)
{
    for (int i = 0; i < 3; i++) {
        if (call->inputs[i]->shape.rank != 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "%s must be a scalar, got shape %s", call->node->op->inputs[i].name,
                             WEIR_SHOWN(call->inputs[i]->shape));
    }
    const weir_string *base = weir_tensor_string_elements(call->inputs[0]);
    weir_text name = {0};
    weir_text_append_bytes(&name, text_of(base), base->size);
    weir_text_append(&name, "-%05d-of-%05d", *(const int32_t *)call->inputs[1]->data,
                     *(const int32_t *)call->inputs[2]->data);
    weir_status status = weir_tensor_string(weir_text_get(&name), name.length, &call->outputs[0]);
    weir_text_clear(&name);
    return status;
}

static weir_status execute_merge_checkpoints(weir_call *call)
{
    const weir_tensor *prefixes = call->inputs[0];
    const weir_tensor *destination = call->inputs[1];
    if (prefixes->shape.rank != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Input checkpoint_prefixes should be an 1-D tensor, got %s instead.",
                         WEIR_SHOWN(prefixes->shape));
    if (destination->shape.rank != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Input destination_prefix should be a scalar tensor, got %s instead.",
                         WEIR_SHOWN(destination->shape));
    size_t count = (size_t)prefixes->elements;
    const char **texts = NULL;
    WEIR_TRY(weir_new(&texts, count));
    for (size_t i = 0; i < count; i++)
        texts[i] = text_of(&weir_tensor_string_elements(prefixes)[i]);
    const weir_checkpoint_merge_options options = {
        .keep_folders = !weir_node_bool(call->node, "delete_old_dirs", true),
        .allow_missing_files = weir_node_bool(call->node, "allow_missing_files", false),
    };
    weir_status status =
        weir_checkpoint_merge(texts, count, text_of(weir_tensor_string_elements(destination)), &options);
    weir_release(texts);
    return status;
}

/* ---- Tables ---- */

#define STRING_INPUT(arg) {(arg), .type = WEIR_STRING}
#define TYPES_ATTR {.name = "dtypes", .kind = WEIR_ATTR_LIST + WEIR_ATTR_TYPE, .has_minimum = true, .minimum = 1}

static const weir_op_def ops[] = {
    {.name = "SaveV2",
     .inputs = WEIR_ARGS(STRING_INPUT("prefix"), STRING_INPUT("tensor_names"), STRING_INPUT("shape_and_slices"),
                         {"tensors", .type_list_attr = "dtypes"}),
     .attrs = WEIR_ATTR_DEFS(TYPES_ATTR),
     .infer = infer_save,
     .is_stateful = true},
    {.name = "RestoreV2",
     .inputs = WEIR_ARGS(STRING_INPUT("prefix"), STRING_INPUT("tensor_names"), STRING_INPUT("shape_and_slices")),
     .outputs = WEIR_ARGS({"tensors", .type_list_attr = "dtypes"}),
     .attrs = WEIR_ATTR_DEFS(TYPES_ATTR),
     .infer = infer_restore,
     .is_stateful = true},
    {.name = "ShardedFilename",
     .inputs = WEIR_ARGS(STRING_INPUT("basename"), {"shard", .type = WEIR_INT32}, {"num_shards", .type = WEIR_INT32}),
     .outputs = WEIR_ARGS({"filename", .type = WEIR_STRING}),
     .infer = weir_infer_scalar},
    {.name = "MergeV2Checkpoints",
     .inputs = WEIR_ARGS(STRING_INPUT("checkpoint_prefixes"), STRING_INPUT("destination_prefix")),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_BOOL("delete_old_dirs", true), WEIR_A_BOOL("allow_missing_files", false)),
     .infer = infer_merge_checkpoints,
     .is_stateful = true},
    {.name = NULL},
};

static const weir_kernel kernels[] = {
    {.op = "SaveV2", .execute = execute_save},
    {.op = "RestoreV2", .execute = execute_restore},
    {.op = "ShardedFilename", .execute = execute_sharded_filename},
    {.op = "MergeV2Checkpoints", .execute = execute_merge_checkpoints},
    {.op = NULL},
};

const weir_op_family weir_family_save = {.name = "save", .ops = ops, .kernels = kernels};
