/*
 * Array ops beyond their recorded values: strings, failures when a node runs and when it is built (TensorFlow's texts),
 * shapes known in part, sizes beyond memory, the builders of constants.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/gradients.h>
#include <weir/ops.h>

#include "base/text.h"
#include "exec/kernel.h"

#include <cmocka.h>

#define MOST 8 /* inputs */

/* ---- Values ---- */

static weir_tensor *kept[256]; /* until the end of a test */
static int num_kept;

static weir_tensor *keep(weir_status status, weir_tensor *tensor)
{
    if (!weir_ok(status))
        fail_msg("%s", weir_status_text(status));
    assert_true(num_kept < 256);
    kept[num_kept++] = tensor;
    return tensor;
}

static int drop_all(void **state)
{
    (void)state;
    while (num_kept > 0)
        weir_tensor_free(kept[--num_kept]);
    return 0;
}

/* Zeros of a shape. */
static weir_tensor *zeros(weir_dtype dtype, weir_shape shape)
{
    weir_tensor *tensor = NULL;
    weir_status status = weir_tensor_new(dtype, shape, &tensor);
    return keep(status, tensor);
}
#define F(...) zeros(WEIR_FLOAT, WEIR_SHAPE(__VA_ARGS__))
#define F0 zeros(WEIR_FLOAT, WEIR_SCALAR)

static weir_tensor *int32s(weir_shape shape, const int32_t *values)
{
    weir_tensor *tensor = NULL;
    weir_status status = weir_tensor_from(WEIR_INT32, shape, values, &tensor);
    return keep(status, tensor);
}
#define COUNT(...) ((int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define I(...) int32s(WEIR_SHAPE(COUNT(__VA_ARGS__)), (const int32_t[]){__VA_ARGS__})
#define I0(value) int32s(WEIR_SCALAR, (const int32_t[]){value})
#define I2(rows, columns, ...) int32s(WEIR_SHAPE(rows, columns), (const int32_t[]){__VA_ARGS__})
#define IEMPTY int32s(WEIR_SHAPE(0), NULL)

static weir_tensor *int64s(weir_shape shape, const int64_t *values)
{
    weir_tensor *tensor = NULL;
    weir_status status = weir_tensor_from(WEIR_INT64, shape, values, &tensor);
    return keep(status, tensor);
}
#define L(...) int64s(WEIR_SHAPE(COUNT(__VA_ARGS__)), (const int64_t[]){__VA_ARGS__})

/* One letter for each string. */
static weir_tensor *strings(weir_shape shape, const char *letters)
{
    weir_tensor *tensor = zeros(WEIR_STRING, shape);
    for (int64_t i = 0; i < weir_tensor_elements(tensor); i++) {
        weir_status status = weir_tensor_set_string(tensor, i, letters + i, 1);
        assert_true(weir_ok(status));
    }
    return tensor;
}
#define S(letters, ...) strings(WEIR_SHAPE(__VA_ARGS__), letters)

/* ---- One op ---- */

typedef struct call {
    const char *op;
    weir_tensor *inputs[MOST]; /* NULL ends */
    weir_attr attrs[MOST];     /* name NULL ends */
} call;

static weir_output input_of(weir_scope s, const weir_tensor *value, bool is_constant)
{
    weir_dtype dtype = weir_tensor_dtype(value);
    return is_constant ? weir_const_tensor(s, value, NULL) : weir_placeholder(s, dtype, weir_shape_unknown());
}

/* Builds the node from constants, or from placeholders of unknown shape. NULL when it is refused. */
static weir_node *build(weir_graph *graph, const call *c, bool is_constant)
{
    weir_scope s = weir_root(graph);
    weir_output inputs[MOST];
    int num_inputs = 0;
    int num_attrs = 0;
    while (num_inputs < MOST && c->inputs[num_inputs] != NULL) {
        inputs[num_inputs] = input_of(s, c->inputs[num_inputs], is_constant);
        num_inputs++;
    }
    while (num_attrs < MOST && c->attrs[num_attrs].name != NULL)
        num_attrs++;
    return weir_op(s, c->op, .inputs = inputs, .num_inputs = num_inputs, .attrs = c->attrs, .num_attrs = num_attrs);
}

/* ---- Failures ---- */

/* When the node runs, whatever was known when it was built. */
static void fails_running(call c, weir_code code, const char *text)
{
    weir_graph *graph = weir_graph_new();
    weir_tensor *outputs[MOST] = {NULL};
    weir_node *node = build(graph, &c, false);
    if (node == NULL)
        fail_msg("%s", weir_status_text(weir_graph_error(graph)));
    weir_status status = weir_evaluate(node, c.inputs, outputs);
    if (status.code != code || strcmp(weir_status_text(status), text) != 0)
        fail_msg("%s: '%s' instead of '%s'", c.op, weir_ok(status) ? "nothing" : weir_status_text(status), text);
    weir_graph_free(graph);
}

/* When it is built from constants. */
static void fails_building(call c, const char *text)
{
    weir_graph *graph = weir_graph_new();
    weir_node *node = build(graph, &c, true);
    weir_status status = weir_graph_error(graph);
    if (node != NULL || strstr(weir_status_text(status), text) == NULL)
        fail_msg("%s: '%s' instead of '%s'", c.op, weir_ok(status) ? "nothing" : weir_status_text(status), text);
    weir_graph_free(graph);
}

#define CALL(name, ...) ((call){.op = (name), .inputs = {__VA_ARGS__}})
#define BAD(text, name, ...) fails_running(CALL(name, __VA_ARGS__), WEIR_INVALID_ARGUMENT, text)
#define BAD_GRAPH(text, name, ...) fails_building(CALL(name, __VA_ARGS__), text)
#define WITH(name, attr, number, ...)                                                                                  \
    ((call){.op = (name), .inputs = {__VA_ARGS__}, .attrs = {WEIR_ATTR_I(attr, number)}})

static void test_shape_failures(void **state)
{
    (void)state;
    BAD("Input to reshape is a tensor with 12 values, but the requested shape has 10", "Reshape", F(3, 4), I(5, 2));
    BAD("Input to reshape is a tensor with 12 values, but the requested shape requires a multiple of 5", "Reshape",
        F(3, 4), I(5, -1));
    BAD("Only one input size may be -1, not both 0 and 1", "Reshape", F(3, 4), I(-1, -1));
    BAD("Size 1 must be non-negative, not -5", "Reshape", F(3, 4), I(2, -5, -1));
    BAD("sizes input must be 1-D, not [1,2]", "Reshape", F(3, 4), I2(1, 2, 3, 4));
    BAD("Shape [1099511627776, 1099511627776] has too many elements", "Reshape", F(3, 4), L(1L << 40, 1L << 40));
    BAD("Tried to expand dim index 3 for tensor with 2 dimensions.", "ExpandDims", F(3, 4), I0(3));
    BAD("'dim' must be a tensor with a single value", "ExpandDims", F(3, 4), I(1, 2));
    BAD("Incompatible shapes: [3] vs. [2,4]", "BroadcastTo", F(3), I(2, 4));
    BAD("Rank of input (2) must be no greater than rank of output shape (1).", "BroadcastTo", F(3, 4), I(4));
    BAD("Dimension -1 must be >= 0", "BroadcastTo", F(3), I(2, -1));
    BAD_GRAPH("Cannot reshape a tensor with 12 elements to shape [5,2] (10 elements)", "Reshape", F(3, 4), I(5, 2));
    BAD_GRAPH("Invalid value in tensor used for shape: -5", "Reshape", F(3, 4), I(2, -5, -1));
    BAD_GRAPH("Shape must be rank 1 but is rank 0", "Reshape", F(3, 4), I0(12));
    BAD_GRAPH("'dim' input must be a tensor with a single value", "ExpandDims", F(3, 4), I(1, 2));
    BAD_GRAPH("Shape must be at most rank 1 but is rank 2", "BroadcastTo", F(3, 4), I(4));
    int64_t axes[] = {2};
    call squeeze = {.op = "Squeeze", .inputs = {F(3, 1)}, .attrs = {WEIR_ATTR_INTS("squeeze_dims", axes, 1)}};
    fails_running(squeeze, WEIR_INVALID_ARGUMENT, "Tried to squeeze dim index 2 for tensor with 2 dimensions.");
    fails_building(squeeze, "squeeze_dims[0] not in [-2,2).");
}

static void test_move_failures(void **state)
{
    (void)state;
    BAD("1 is missing from {0,0}.", "Transpose", F(3, 4), I(0, 0));
    BAD("2 is out of range [0 .. 2)", "Transpose", F(3, 4), I(0, 2));
    BAD("transpose expects a vector of size 2. But input(1) is a vector of size 3", "Transpose", F(3, 4), I(0, 1, 2));
    BAD("perm must be rank 1, got shape [1,2]", "Transpose", F(3, 4), I2(1, 2, 1, 0));
    BAD_GRAPH("perm dim 2 is out of range of input rank 2", "Transpose", F(3, 4), I(0, 2));
    BAD_GRAPH("Dimension must be 2 but is 3", "Transpose", F(3, 4), I(0, 1, 2));
    BAD("3 is not between 0 and 3", "InvertPermutation", I(0, 3, 1));
    BAD("0 is duplicated in the input.", "InvertPermutation", I(0, 0, 1));
    BAD("invert_permutation expects a 1D vector.", "InvertPermutation", I2(1, 2, 0, 1));
    BAD("Expected multiples[1] >= 0, but got -1", "Tile", F(3, 4), I(1, -1));
    BAD("Expected multiples argument to be a vector of length 2 but got length 1", "Tile", F(3, 4), I(1));
    BAD("Paddings must be non-negative: -1 0", "Pad", F(3, 4), I2(2, 2, 1, 2, -1, 0));
    BAD("paddings must be a matrix with 2 columns: [2,3]", "Pad", F(3, 4), I2(2, 3, 1, 2, 3, 1, 0, 0));
    BAD("The first dimension of paddings must be the rank of inputs[1,2] [3,4]", "Pad", F(3, 4), I2(1, 2, 1, 2));
    BAD_GRAPH("Paddings must be non-negative", "Pad", F(3, 4), I2(2, 2, 1, 2, -1, 0));
    BAD_GRAPH("Shape must be rank 1 but is rank 2", "Pad", F(3, 4), I2(1, 2, 1, 2));
}

static void test_join_failures(void **state)
{
    (void)state;
    BAD("ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [3,4] vs. shape[1] = [2,3]", "ConcatV2",
        F(3, 4), F(2, 3), I0(0));
    BAD("ConcatOp : Ranks of all input tensors should match: shape[0] = [3,4] vs. shape[1] = [2,3,4]", "ConcatV2",
        F(3, 4), F(2, 3, 4), I0(0));
    BAD("ConcatOp : Expected concatenating dimensions in the range [-2, 2), but got 2", "ConcatV2", F(3, 4), F(2, 4),
        I0(2));
    BAD("ConcatOp : Can't concatenate scalars (use tf.stack instead)", "ConcatV2", F0, F0, I0(0));
    BAD("axis tensor should be a scalar integer, but got shape [2]", "ConcatV2", F(3, 4), F(2, 4), I(0, 1));
    BAD_GRAPH("Dimension 0 in both shapes must be equal, but are 4 and 3. Shapes are [4] and [3].", "ConcatV2", F(3, 4),
              F(2, 3), I0(0));
    BAD_GRAPH("Shape must be at least rank 3 but is rank 2", "ConcatV2", F(3, 4), F(2, 4), I0(2));
    BAD("All dimensions except 0 must match. Input 1 has shape [2 4] and doesn't match input 0 with shape [2 3].",
        "ConcatOffset", I0(0), I(2, 3), I(2, 4));
    BAD("Concat dim is out of range: 2 vs. 2", "ConcatOffset", I0(2), I(2, 3), I(2, 3));
    BAD("input 1 should contain 2 elements, but got 3", "ConcatOffset", I0(0), I(2, 3), I(2, 4, 5));
    call split = WITH("Split", "num_split", 3, I0(1), F(3, 4));
    fails_running(
        split, WEIR_INVALID_ARGUMENT,
        "Number of ways to split should evenly divide the split dimension, but got split_dim 1 (size = 4) and "
        "num_split 3");
    fails_building(split, "Dimension size must be evenly divisible by 3 but is 4");
    call beyond = WITH("Split", "num_split", 3, I0(2), F(3, 4));
    fails_running(beyond, WEIR_INVALID_ARGUMENT, "-input rank(-2) <= split_dim < input rank (2), but got 2");
    fails_building(beyond, "Dimension size, given by scalar input 2 must be in range [-2, 2)");
    fails_running(WITH("SplitV", "num_split", 2, F(3, 4), I(-1, -1), I0(1)), WEIR_INVALID_ARGUMENT,
                  "There can only be one -1 in the input.");
    fails_running(WITH("SplitV", "num_split", 2, F(3, 4), I(-2, 6), I0(1)), WEIR_INVALID_ARGUMENT,
                  "Split size at index 0 must be >= 0. Got: -2");
    fails_running(
        WITH("SplitV", "num_split", 2, F(3, 4), I(1, 2), I0(1)), WEIR_INVALID_ARGUMENT,
        "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than "
        "the size of the input along split_dim if not fully specified.  Got: 3");
    fails_running(WITH("SplitV", "num_split", 1, F(3, 4), I(3), I0(1)), WEIR_INVALID_ARGUMENT,
                  "If there is only one output, it must have the same size as the input. Input size: 4 output size: 3");
    fails_running(WITH("Pack", "axis", 2, F(3), F(3)), WEIR_INVALID_ARGUMENT, "axis = 2 not in [-2, 2)");
    fails_building(WITH("Pack", "axis", 2, F(3), F(3)), "Invalid axis: 2; must be in [-2,2)");
    BAD("Shapes of all inputs must match: values[0].shape = [3] != values[1].shape = [4]", "Pack", F(3), F(4));
    BAD_GRAPH("From merging shape 0 with other shapes.", "Pack", F(3), F(4));
    fails_running(WITH("Unpack", "num", 2, F(3, 4)), WEIR_INVALID_ARGUMENT,
                  "Input shape axis 0 must equal 2, got shape [3,4]");
    fails_building(WITH("Unpack", "num", 2, F(3, 4)), "Dimension must be 2 but is 3");
}

static void test_slice_failures(void **state)
{
    (void)state;
    BAD("Expected size[0] in [0, 2], but got 3", "Slice", F(3, 4), I(1, 0), I(3, 1));
    BAD("Expected begin[0] in [0, 3], but got 4", "Slice", F(3, 4), I(4, 0), I(-1, 1));
    BAD("Expected begin and size arguments to be 1-D tensors of size 2, but got shapes [1] and [1] instead.", "Slice",
        F(3, 4), I(0), I(1));
    BAD_GRAPH("Negative dimension size caused by subtracting 4 from 3", "Slice", F(3, 4), I(4, 0), I(-1, 1));
    call outside = WITH("StridedSlice", "shrink_axis_mask", 1, F(3, 4), I(-5), I(6), I(1));
    fails_running(outside, WEIR_INVALID_ARGUMENT, "slice index -2 of dimension 0 out of bounds.");
    fails_building(outside, "slice index -2 of dimension 0 out of bounds.");
    BAD("strides[0] must be non-zero", "StridedSlice", F(3, 4), I(0), I(6), I(0));
    BAD("Index out of range using input dim 2; input has only 2 dims", "StridedSlice", F(3, 4), I(0, 0, 0), I(1, 1, 1),
        I(1, 1, 1));
    fails_running(WITH("StridedSlice", "shrink_axis_mask", 1, F(3, 4), I(0), I(6), I(-1)), WEIR_INVALID_ARGUMENT,
                  "only stride 1 allowed on non-range indexing.");
    fails_running(WITH("StridedSlice", "ellipsis_mask", 3, F(3, 4), I(0, 0), I(1, 1), I(1, 1)), WEIR_INVALID_ARGUMENT,
                  "Multiple ellipses in slice spec not allowed");
    BAD("Expected begin, end, and strides to be 1D equal size tensors, but got shapes [2], [1], and [2] instead.",
        "StridedSlice", F(3, 4), I(0, 0), I(1), I(1, 1));
    BAD("Attempting to slice scalar input.", "StridedSlice", F0, I(0), I(1), I(1));
    BAD("shape of dy was [1,3] instead of [1,2]", "StridedSliceGrad", I(3, 4), I(0, 0), I(1, 2), I(1, 1), F(1, 3));
}

static void test_gather_failures(void **state)
{
    (void)state;
    BAD("indices[1] = 5 is not in [0, 3)", "Gather", F(3, 4), I(0, 5));
    BAD("indices[1,1] = 3 is not in [0, 3)", "GatherV2", F(3, 4), I2(2, 2, 0, 1, 2, 3), I0(0));
    BAD("indices = -1 is not in [0, 3)", "GatherV2", F(3, 4), I0(-1), I0(0));
    BAD("params must be at least 1 dimensional", "GatherV2", F0, I(0), I0(0));
    BAD("Shape must be at least rank 3 but is rank 2", "GatherV2", F(3, 4), I(0), I0(2));
    BAD("axis must be scalar", "GatherV2", F(3, 4), I(0), I(0));
    fails_running(WITH("GatherV2", "batch_dims", 1, F(3, 4), I2(3, 2, 0, 1, 2, 3, 4, 1), I0(1)), WEIR_INVALID_ARGUMENT,
                  "indices[2,0] = 4 is not in [0, 4)");
    fails_running(WITH("GatherV2", "batch_dims", 1, F(3, 4), I2(2, 2, 0, 1, 2, 3), I0(1)), WEIR_INVALID_ARGUMENT,
                  "params.shape[0]: 3 should be equal to indices.shape[0]: 2");
    fails_running(WITH("GatherV2", "batch_dims", 1, F(3, 4), I2(3, 2, 0, 1, 2, 3, 1, 1), I0(0)), WEIR_INVALID_ARGUMENT,
                  "batch_dims (1) must be less than or equal to axis (0).");
    fails_running(WITH("DynamicStitch", "N", 2, I(0, -2), I(1), F(2, 3), F(1, 3)), WEIR_INVALID_ARGUMENT,
                  "indices[1] is out of range");
    fails_running(WITH("DynamicStitch", "N", 2, I(0, 2), I(1), F(3, 3), F(1, 3)), WEIR_INVALID_ARGUMENT,
                  "data[0].shape = [3,3] does not start with indices[0].shape = [2]");
    fails_running(WITH("DynamicStitch", "N", 2, I(0, 2), I(1), F(2, 3), F(1, 4)), WEIR_INVALID_ARGUMENT,
                  "Need data[0].shape[1:] = data[1].shape[1:], got data[0].shape = [2,3], data[1].shape = [1,4], "
                  "indices[0].shape = [2], indices[1].shape = [1]");
    BAD("x should be a 1D vector.", "ListDiff", I2(1, 1, 1), I(1));
    BAD("WhereOp : Unhandled input dimensions: 0", "Where", zeros(WEIR_BOOL, WEIR_SCALAR));
}

/* Sizes that no memory has are named, before anything is taken. */
static void test_sizes_beyond_memory(void **state)
{
    (void)state;
    fails_running(
        CALL("BroadcastTo", F(1), L(1L << 40, 1L << 40)), WEIR_RESOURCE_EXHAUSTED,
        "A float tensor of shape [1099511627776,1099511627776], at 4 bytes an element, is larger than any memory");
    fails_running(CALL("Tile", F(3, 4), L(1L << 62, 1)), WEIR_RESOURCE_EXHAUSTED,
                  "Dimension 0 of 3 elements cannot be repeated 4611686018427387904 times");
    fails_running(
        CALL("Tile", F(3, 4), L(1L << 40, 1L << 30)), WEIR_RESOURCE_EXHAUSTED,
        "A float tensor of shape [3298534883328,4294967296], at 4 bytes an element, is larger than any memory");
    fails_running(
        CALL("StridedSliceGrad", L(1L << 40, 1L << 40), L(0, 0), L(1, 2), L(1, 1), F(1, 2)), WEIR_RESOURCE_EXHAUSTED,
        "A float tensor of shape [1099511627776,1099511627776], at 4 bytes an element, is larger than any memory");
    weir_tensor *deep = F(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    fails_running(CALL("ExpandDims", deep, I0(0)), WEIR_INVALID_ARGUMENT,
                  "The result would have more than 12 dimensions");
}

/* ---- Strings ---- */

/* Each output as "shape letters", in brackets. */
static void gives(call c, const char *expected)
{
    weir_graph *graph = weir_graph_new();
    weir_tensor *outputs[MOST] = {NULL};
    weir_text text = {0};
    weir_node *node = build(graph, &c, false);
    if (node == NULL)
        fail_msg("%s", weir_status_text(weir_graph_error(graph)));
    weir_status status = weir_evaluate(node, c.inputs, outputs);
    if (!weir_ok(status))
        fail_msg("%s: %s", c.op, weir_status_text(status));
    for (int i = 0; i < weir_node_num_outputs(node); i++) {
        char shape[WEIR_SHAPE_TEXT_SIZE];
        weir_text_append(&text, "%s%s", i > 0 ? " " : "",
                         weir_shape_text(weir_tensor_shape(outputs[i]), shape, sizeof shape));
        for (int64_t j = 0; j < weir_tensor_elements(outputs[i]); j++) {
            size_t length = 0;
            const char *string = weir_tensor_get_string(outputs[i], j, &length);
            weir_text_append(&text, "%s", string == NULL ? "#" : length == 0 ? "." : string);
        }
        weir_tensor_free(outputs[i]);
    }
    assert_string_equal(weir_text_get(&text), expected);
    weir_text_clear(&text);
    weir_graph_free(graph);
}

/* One copy each of every way in which strings are moved; their copies are the output's own. */
static void test_strings(void **state)
{
    (void)state;
    gives(CALL("Identity", S("ab", 2)), "[2]ab");
    gives(CALL("Reshape", S("abcdef", 2, 3), I(3, -1)), "[3,2]abcdef");
    gives(CALL("ExpandDims", S("ab", 2), I0(0)), "[1,2]ab");
    gives(CALL("Squeeze", S("ab", 2, 1)), "[2]ab");
    gives(CALL("BroadcastTo", S("ab", 2), I(2, 2)), "[2,2]abab");
    gives(CALL("Transpose", S("abcdef", 2, 3), I(1, 0)), "[3,2]adbecf");
    gives(CALL("Tile", S("ab", 2), I(3)), "[6]ababab");
    gives(CALL("Pad", S("ab", 2), I2(1, 2, 1, 2)), "[5].ab..");
    gives(CALL("ConcatV2", S("ab", 1, 2), S("c", 1, 1), I0(1)), "[1,3]abc");
    gives(WITH("Split", "num_split", 2, I0(1), S("abcd", 2, 2)), "[2,1]ac [2,1]bd");
    gives(WITH("SplitV", "num_split", 2, S("abc", 3), I(1, -1), I0(0)), "[1]a [2]bc");
    gives(WITH("Pack", "axis", 1, S("ab", 2), S("cd", 2)), "[2,2]acbd");
    gives(WITH("Unpack", "num", 2, S("abcd", 2, 2)), "[2]ab [2]cd");
    gives(CALL("Slice", S("abcd", 4), I(1), I(2)), "[2]bc");
    gives(CALL("StridedSlice", S("abcd", 4), I(3), I(0), I(-2)), "[2]db");
    gives(CALL("StridedSliceGrad", I(4), I(1), I(3), I(1), S("ab", 2)), "[4].ab.");
    gives(CALL("Gather", S("abc", 3), I(2, 0)), "[2]ca");
    gives(CALL("GatherV2", S("abcd", 2, 2), I(1, 1), I0(1)), "[2,2]bbdd");
    gives(WITH("DynamicStitch", "N", 2, I(0, 2), I(1), S("ac", 2), S("b", 1)), "[3]abc");
    gives(CALL("ListDiff", S("abcb", 4), S("b", 1)), "[2]ac [2]##");
}

/* ---- Shapes known in part ---- */

static weir_output unknown(weir_scope s, weir_dtype dtype, weir_shape shape)
{
    return weir_placeholder(s, dtype, shape);
}

static void check_shape(weir_output output, const char *expected)
{
    char text[WEIR_SHAPE_TEXT_SIZE];
    assert_non_null(output.node);
    assert_string_equal(weir_shape_text(weir_output_shape(output), text, sizeof text), expected);
}

static weir_output ints_of(weir_scope s, const weir_tensor *tensor)
{
    return weir_const_tensor(s, tensor, NULL);
}

/* As TensorFlow infers them. */
static void test_partial_shapes(void **state)
{
    (void)state;
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output u = unknown(s, WEIR_FLOAT, WEIR_SHAPE(-1, 4));
    weir_output v = unknown(s, WEIR_FLOAT, WEIR_SHAPE(2, -1));
    weir_output p = unknown(s, WEIR_FLOAT, weir_shape_unknown());
    weir_output i = unknown(s, WEIR_INT32, weir_shape_unknown());
    weir_output i2 = unknown(s, WEIR_INT32, WEIR_SHAPE(2));
    weir_output i3 = unknown(s, WEIR_INT32, WEIR_SHAPE(3));
    check_shape(weir_reshape(s, p, WEIR_SHAPE(2, -1)), "[2,?]");
    check_shape(weir_reshape(s, u, WEIR_SHAPE(-1, 2)), "[?,2]");
    check_shape(weir_reshape_to(s, u, i3), "[?,?,?]");
    check_shape(weir_expand_dims(s, p, 0), "<unknown>");
    check_shape(weir_squeeze(s, unknown(s, WEIR_FLOAT, WEIR_SHAPE(-1, 1, 1)), WEIR_AXES(0)), "[1,1]");
    check_shape(weir_squeeze(s, unknown(s, WEIR_FLOAT, WEIR_SHAPE(-1, 1, 1)), (weir_axes){0}), "<unknown>");
    check_shape(weir_broadcast_to(s, u, i3), "[?,?,4]");
    check_shape(weir_broadcast_to(s, u, ints_of(s, I(2, 3, 4))), "[2,3,4]");
    check_shape(weir_concat(s, WEIR_OUTPUTS(u, v), 0), "[?,4]");
    check_shape(weir_concat(s, WEIR_OUTPUTS(u, v), 1), "[2,?]");
    check_shape(weir_concat(s, WEIR_OUTPUTS(u, p), 1), "[?,?]");
    check_shape(weir_concat(s, WEIR_OUTPUTS(p, p), 0), "<unknown>");
    check_shape(weir_stack(s, WEIR_OUTPUTS(u, v), 0), "[2,2,4]");
    check_shape(weir_stack(s, WEIR_OUTPUTS(p, u), -1), "[?,4,2]");
    check_shape(weir_out(weir_split(s, u, 2, 1), 1), "[?,2]");
    check_shape(weir_out(weir_split(s, p, 2, 0), 0), "<unknown>");
    check_shape(weir_slice(s, u, ints_of(s, I(1, 1)), ints_of(s, I(-1, -1))), "[?,3]");
    check_shape(weir_slice(s, u, i2, ints_of(s, I(2, -1))), "[2,?]");
    check_shape(weir_slice(s, p, ints_of(s, I(0, 1)), ints_of(s, I(-1, 2))), "[?,2]");
    check_shape(weir_slice(s, p, i, i), "<unknown>");
    check_shape(weir_pad(s, u, ints_of(s, I2(2, 2, 1, 1, 2, 2))), "[?,8]");
    check_shape(weir_pad(s, p, ints_of(s, I2(2, 2, 1, 1, 2, 2))), "[?,?]");
    check_shape(weir_pad(s, u, i), "[?,?]");
    check_shape(weir_tile(s, u, ints_of(s, I(2, 2))), "[?,8]");
    check_shape(weir_tile(s, p, i3), "[?,?,?]");
    check_shape(weir_transpose_by(s, u, i), "[?,?]");
    check_shape(weir_transpose(s, unknown(s, WEIR_FLOAT, WEIR_SHAPE(-1, 3, 4)), WEIR_AXES(1, 0, 2)), "[3,?,4]");
    check_shape(weir_gather(s, u, unknown(s, WEIR_INT32, WEIR_SHAPE(2, -1)), 0), "[2,?,4]");
    check_shape(weir_gather(s, u, unknown(s, WEIR_INT32, WEIR_SHAPE(2, -1)), 1), "[?,2,?]");
    check_shape(weir_gather(s, p, i2, 0), "<unknown>");
    check_shape(weir_where(s, u), "[?,2]");
    check_shape(weir_where(s, p), "[?,?]");
    weir_graph_free(graph);
}

static weir_output strided(weir_scope s, weir_output x, weir_output begin, weir_output end, int begin_mask,
                           int end_mask, int shrink)
{
    return weir_strided_slice(s, x, begin, end, weir_const_tensor(s, I(1, 1), NULL), .begin_mask = begin_mask,
                              .end_mask = end_mask, .shrink_axis_mask = shrink);
}

static void test_partial_strided_slices(void **state)
{
    (void)state;
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output u = unknown(s, WEIR_FLOAT, WEIR_SHAPE(-1, 4));
    weir_output i2 = unknown(s, WEIR_INT32, WEIR_SHAPE(2));
    weir_output zeros_of = ints_of(s, I(0, 0));
    weir_output ones_of = ints_of(s, I(1, 1));
    check_shape(strided(s, u, zeros_of, ones_of, 0, 0, 0), "[?,1]");
    check_shape(strided(s, u, zeros_of, ones_of, 0, 3, 1), "[4]");
    check_shape(strided(s, u, i2, ones_of, 0, 0, 0), "[?,?]");
    check_shape(strided(s, u, i2, i2, 2, 2, 0), "[?,4]");
    check_shape(strided(s, u, i2, i2, 0, 0, 2), "[?]");
    check_shape(weir_strided_slice(s, u, i2, i2, i2), "<unknown>");
    check_shape(weir_strided_slice(s, u, zeros_of, i2, ones_of, .new_axis_mask = 1, .end_mask = 2, .begin_mask = 2),
                "[1,?,4]");
    weir_graph_free(graph);
}

/* ---- Constants ---- */

static weir_tensor *value_of(weir_output output)
{
    weir_tensor *value = NULL;
    weir_status status = weir_evaluate(output.node, NULL, &value);
    return keep(status, value);
}

static void test_constants(void **state)
{
    (void)state;
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_tensor *half = value_of(weir_fill_const(s, WEIR_HALF, WEIR_SHAPE(2), 1.5, NULL));
    assert_int_equal(((const uint16_t *)weir_tensor_data(half))[1], 0x3e00);
    weir_tensor *numbers = value_of(weir_fill_const(s, WEIR_COMPLEX64, WEIR_SHAPE(2), -2, "c"));
    assert_true(((const float *)weir_tensor_data(numbers))[2] == -2 &&
                ((const float *)weir_tensor_data(numbers))[3] == 0);
    assert_int_equal(weir_tensor_dtype(value_of(weir_shape_const(s, WEIR_SHAPE(2, -1), NULL))), WEIR_INT32);
    assert_int_equal(weir_tensor_dtype(value_of(weir_shape_const(s, WEIR_SHAPE(1L << 31), NULL))), WEIR_INT64);
    weir_tensor *text = value_of(weir_const(s, WEIR_STRING_OF("words")));
    assert_string_equal(weir_tensor_get_string(text, 0, NULL), "words");
    assert_null(weir_fill_const(s, WEIR_STRING, WEIR_SHAPE(2), 1, NULL).node);
    assert_int_equal(weir_graph_take_error(graph).code, WEIR_UNIMPLEMENTED);
    weir_graph_free(graph);
}

static void test_prevented_gradient(void **state)
{
    (void)state;
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(2));
    weir_output y =
        weir_out(weir_op(s, "PreventGradient", WEIR_INPUTS(x), WEIR_ATTRS(WEIR_ATTR_S("message", "no"))), 0);
    weir_gradient_value gradient;
    weir_gradients(s, &y, 1, &x, 1, NULL, &gradient);
    weir_status status = weir_graph_error(graph);
    assert_non_null(strstr(weir_status_text(status), "Gradient explicitly disabled. Reason: no"));
    weir_graph_free(graph);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, drop_all)
    const struct CMUnitTest tests[] = {
        TEST(test_shape_failures), TEST(test_move_failures),      TEST(test_join_failures),
        TEST(test_slice_failures), TEST(test_gather_failures),    TEST(test_sizes_beyond_memory),
        TEST(test_strings),        TEST(test_partial_shapes),     TEST(test_partial_strided_slices),
        TEST(test_constants),      TEST(test_prevented_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
