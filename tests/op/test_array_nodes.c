/*
 * The nodes that builders and gradients of arrays, convolutions, pools and batch norm make, against those that
 * TensorFlow makes (data/array_nodes.txt, written by record/make_array_nodes.py), with and without a known first
 * dimension.
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
#include "graph/graph.h"

#include <cmocka.h>

#define MOST 20 /* ys or xs of a case */

typedef struct built {
    weir_scope s;
    bool is_known; /* the first dimension of x and y */
    weir_output ys[MOST], xs[MOST];
    int num_ys, num_xs;
} built;

static weir_output place(built *b, const char *name, weir_shape shape, bool is_known)
{
    if (!is_known)
        shape.dims[0] = -1;
    weir_output x = weir_placeholder(b->s, WEIR_FLOAT, shape, .name = name);
    b->xs[b->num_xs++] = x;
    return x;
}

static weir_output x_of(built *b, weir_shape shape)
{
    return place(b, "x", shape, b->is_known);
}

static weir_output y_of(built *b, weir_shape shape)
{
    return place(b, "y", shape, b->is_known);
}

static void give(built *b, weir_output y)
{
    b->ys[b->num_ys++] = y;
}

static void give_all(built *b, weir_node *node)
{
    for (int i = 0; i < weir_node_num_outputs(node); i++)
        give(b, weir_out(node, i));
}

/* A node named as its op, whose constants are "<op>/<argument>" as TensorFlow's wrappers have them. */
static weir_scope named(built *b, const char *op)
{
    return weir_in_scope(b->s, "%s", op);
}

static weir_output ints(weir_scope s, const char *name, int count, const int32_t *values)
{
    return weir_const(s, WEIR_TENSOR_SHAPED(WEIR_INT32, WEIR_SHAPE(count), values), .name = name);
}
#define INTS(s, name, ...)                                                                                             \
    ints((s), (name), (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (const int32_t[]){__VA_ARGS__})

/* ---- Cases ---- */

static void reshape(built *b)
{
    give(b, weir_reshape(b->s, x_of(b, WEIR_SHAPE(2, 3)), WEIR_SHAPE(3, -1)));
}

static void expand_dims(built *b)
{
    give(b, weir_expand_dims(b->s, x_of(b, WEIR_SHAPE(2, 3)), 1));
}

static void squeeze(built *b)
{
    give(b, weir_squeeze(b->s, x_of(b, WEIR_SHAPE(2, 1, 3)), WEIR_AXES(1)));
}

static void broadcast_to(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_scope s = named(b, "BroadcastTo");
    give(b, weir_broadcast_to(s, x, INTS(s, "shape", 4, 2, 3), .name = weir_scope_name(s)));
}

static void transpose(built *b)
{
    give(b, weir_transpose(b->s, x_of(b, WEIR_SHAPE(2, 3, 4)), WEIR_AXES(1, 0, 2)));
}

static void transpose_all(built *b)
{
    give(b, weir_transpose(b->s, x_of(b, WEIR_SHAPE(2, 3, 4)), (weir_axes){.is_set = false}));
}

static void concat(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_output y = y_of(b, WEIR_SHAPE(2, 4));
    give(b, weir_concat(b->s, WEIR_OUTPUTS(x, y), 1));
}

static void concat_one(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    give(b, weir_concat(b->s, &x, 1, 0));
}

static void concat_many(built *b)
{
    for (int i = 0; i < 17; i++)
        (void)x_of(b, WEIR_SHAPE(2, 3));
    give(b, weir_concat(b->s, b->xs, 17, 0));
}

static void split(built *b)
{
    give_all(b, weir_split(b->s, x_of(b, WEIR_SHAPE(2, 3)), 3, 1));
}

static void split_v(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_output sizes = INTS(b->s, NULL, 1, 2);
    weir_scope s = named(b, "split");
    weir_output axis = weir_const(s, WEIR_INT32_OF(1), .name = "split_dim");
    give_all(b, weir_op(s, "SplitV", WEIR_INPUTS(x, sizes, axis), WEIR_ATTRS(WEIR_ATTR_I("num_split", 2)),
                        .name = weir_scope_name(s)));
}

static void stack(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_output y = y_of(b, WEIR_SHAPE(2, 3));
    give(b, weir_stack(b->s, WEIR_OUTPUTS(x, y), 1));
}

static void unstack(built *b)
{
    give_all(b, weir_unstack(b->s, x_of(b, WEIR_SHAPE(2, 3)), 3, 1));
}

static void tile(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_scope s = named(b, "Tile");
    give(b, weir_tile(s, x, INTS(s, "multiples", 2, 1), .name = weir_scope_name(s)));
}

static void pad(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_scope s = named(b, "Pad");
    const int32_t paddings[] = {1, 0, 0, 2};
    weir_output p = weir_const(s, WEIR_TENSOR_SHAPED(WEIR_INT32, WEIR_SHAPE(2, 2), paddings), .name = "paddings");
    give(b, weir_pad(s, x, p, .name = weir_scope_name(s)));
}

static void dynamic_stitch(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_output y = y_of(b, WEIR_SHAPE(1, 3));
    weir_scope s = named(b, "DynamicStitch");
    weir_output first = INTS(s, "indices_0", 0, 2);
    weir_output second = INTS(s, "indices_1", 1);
    give(b, weir_out(weir_op(s, "DynamicStitch", WEIR_INPUTS(first, second, x, y), WEIR_ATTRS(WEIR_ATTR_I("N", 2)),
                             .name = weir_scope_name(s)),
                     0));
}

/* The indices' constant comes before that of the axis, in the same scope. */
static void gather_along(built *b, int axis)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_scope s = named(b, "GatherV2");
    weir_output indices = INTS(s, "indices", 1, 0, 1);
    give(b, weir_gather(b->s, x, indices, axis, .name = weir_scope_name(s)));
}

static void gather(built *b)
{
    gather_along(b, 0);
}

static void gather_axis(built *b)
{
    gather_along(b, 1);
}

static void gather_batch(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_scope s = named(b, "GatherV2");
    const int32_t values[] = {1, 0, 1, 2};
    weir_output indices = weir_const(s, WEIR_TENSOR_SHAPED(WEIR_INT32, WEIR_SHAPE(2, 2), values), .name = "indices");
    weir_output axis = weir_const(s, WEIR_INT32_OF(1), .name = "axis");
    give(b, weir_out(weir_op(s, "GatherV2", WEIR_INPUTS(x, indices, axis), WEIR_ATTRS(WEIR_ATTR_I("batch_dims", 1)),
                             .name = weir_scope_name(s)),
                     0));
}

static void gather_v1(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_scope s = named(b, "Gather");
    give(b, weir_out(weir_op(s, "Gather", WEIR_INPUTS(x, INTS(s, "indices", 1, 0, 1)), .name = weir_scope_name(s)), 0));
}

static void slice(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_scope s = named(b, "Slice");
    weir_output begin = INTS(s, "begin", 0, 1);
    give(b, weir_slice(s, x, begin, INTS(s, "size", 1, 2), .name = weir_scope_name(s)));
}

static void slice_int64(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_scope s = named(b, "Slice");
    weir_output begin = weir_const(s, WEIR_INT64S(0, 1), .name = "begin");
    give(b, weir_slice(s, x, begin, weir_const(s, WEIR_INT64S(1, 2), .name = "size"), .name = weir_scope_name(s)));
}

static void strided_slice(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    weir_scope s = named(b, "strided_slice");
    weir_output begin = INTS(s, "stack", 0, 1);
    weir_output end = INTS(s, "stack_1", 1, 2);
    give(b, weir_strided_slice(s, x, begin, end, INTS(s, "stack_2", 1, 1), .name = weir_scope_name(s),
                               .shrink_axis_mask = 2));
}

static void strided_slice_grad(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(1));
    weir_scope s = named(b, "StridedSliceGrad");
    weir_output shape = INTS(s, "shape", 2, 3);
    weir_output begin = INTS(s, "begin", 0, 1);
    weir_output end = INTS(s, "end", 1, 2);
    weir_output strides = INTS(s, "strides", 1, 1);
    give(b, weir_out(weir_op(s, "StridedSliceGrad", WEIR_INPUTS(shape, begin, end, strides, x),
                             WEIR_ATTRS(WEIR_ATTR_I("shrink_axis_mask", 2)), .name = weir_scope_name(s)),
                     0));
}

static const int64_t one_strides[] = {1, 1, 1, 1};
static const int64_t two_strides[] = {1, 2, 2, 1};

static weir_output filter_of(built *b)
{
    return place(b, "f", WEIR_SHAPE(3, 3, 1, 2), true);
}

static void conv2d(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 5, 5, 1));
    give(b, weir_conv2d_op(b->s, x, filter_of(b)));
}

/* One of the two gradients of Conv2D, with its constant. */
static void conv2d_gradient(built *b, const char *op, weir_scope s, weir_output first, weir_output second,
                            weir_output third)
{
    give(b, weir_out(weir_op(s, op, WEIR_INPUTS(first, second, third),
                             WEIR_ATTRS(WEIR_ATTR_INTS("strides", one_strides, 4), WEIR_ATTR_S("padding", "SAME")),
                             .name = weir_scope_name(s)),
                     0));
}

static void conv2d_input(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 5, 5, 2));
    weir_output f = filter_of(b);
    weir_scope s = named(b, "Conv2DBackpropInput");
    conv2d_gradient(b, "Conv2DBackpropInput", s, INTS(s, "input_sizes", 2, 5, 5, 1), f, x);
}

static void conv2d_filter(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 5, 5, 1));
    weir_output y = y_of(b, WEIR_SHAPE(2, 5, 5, 2));
    weir_scope s = named(b, "Conv2DBackpropFilter");
    conv2d_gradient(b, "Conv2DBackpropFilter", s, x, INTS(s, "filter_sizes", 3, 3, 1, 2), y);
}

static void max_pool(built *b)
{
    give(b, weir_max_pool(b->s, x_of(b, WEIR_SHAPE(2, 4, 4, 1)), 2, 2, .padding = WEIR_VALID));
}

static void avg_pool(built *b)
{
    give(b, weir_avg_pool(b->s, x_of(b, WEIR_SHAPE(2, 4, 4, 1)), 2, 2, .padding = WEIR_VALID));
}

static void avg_pool_grad(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 2, 2, 1));
    weir_scope s = named(b, "AvgPoolGrad");
    weir_output shape = INTS(s, "orig_input_shape", 2, 4, 4, 1);
    give(b, weir_out(weir_op(s, "AvgPoolGrad", WEIR_INPUTS(shape, x),
                             WEIR_ATTRS(WEIR_ATTR_INTS("ksize", two_strides, 4),
                                        WEIR_ATTR_INTS("strides", two_strides, 4), WEIR_ATTR_S("padding", "VALID")),
                             .name = weir_scope_name(s)),
                     0));
}

static void batch_norm(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 4, 4, 3));
    weir_output s = place(b, "s", WEIR_SHAPE(3), true);
    weir_output o = place(b, "o", WEIR_SHAPE(3), true);
    weir_output mean = weir_const(b->s, WEIR_TENSOR_SHAPED(WEIR_FLOAT, WEIR_SHAPE(0), NULL));
    weir_output variance = weir_const(b->s, WEIR_TENSOR_SHAPED(WEIR_FLOAT, WEIR_SHAPE(0), NULL));
    give(b, weir_out(weir_op(b->s, "FusedBatchNormV3", WEIR_INPUTS(x, s, o, mean, variance)), 0));
}

static void batch_norm_inference(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 4, 4, 3));
    weir_output s = place(b, "s", WEIR_SHAPE(3), true);
    weir_output o = place(b, "o", WEIR_SHAPE(3), true);
    give(b, weir_out(weir_op(b->s, "FusedBatchNormV3", WEIR_INPUTS(x, s, o, s, o),
                             WEIR_ATTRS(WEIR_ATTR_B("is_training", false))),
                     0));
}

static void identity_n(built *b)
{
    weir_output x = x_of(b, WEIR_SHAPE(2, 3));
    const weir_dtype types[] = {WEIR_FLOAT, WEIR_FLOAT};
    give_all(b, weir_op(b->s, "IdentityN", WEIR_INPUTS(x, x), WEIR_ATTRS(WEIR_ATTR_TYPES("T", types, 2))));
}

#define CASES(X)                                                                                                       \
    X(reshape) X(expand_dims) X(squeeze) X(broadcast_to) X(transpose) X(transpose_all) X(concat) X(concat_one)         \
    X(concat_many) X(split) X(split_v) X(stack) X(unstack) X(tile) X(pad) X(dynamic_stitch) X(gather) X(gather_axis)   \
    X(gather_batch) X(gather_v1) X(slice) X(slice_int64) X(strided_slice) X(strided_slice_grad) X(conv2d)              \
    X(conv2d_input) X(conv2d_filter) X(max_pool) X(avg_pool) X(avg_pool_grad) X(batch_norm) X(batch_norm_inference)    \
    X(identity_n)

/* ---- Comparing ---- */

/* The lines of a case in the file, in an owned text. */
static char *recorded(const char *head)
{
    FILE *file = fopen(WEIR_TEST_SOURCE_DIR "/tests/op/data/array_nodes.txt", "r");
    weir_text text = {0};
    char line[8192];
    bool is_inside = false;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "== ", 3) == 0)
            is_inside = strncmp(line + 3, head, strlen(head)) == 0 && line[3 + strlen(head)] == '\n';
        else if (is_inside)
            weir_text_append(&text, "%s", line);
    }
    fclose(file);
    char *lines = NULL;
    assert_true(weir_ok(weir_text_take(&text, &lines)));
    return lines;
}

static void mark(const weir_node *node, bool *used)
{
    if (node == NULL || used[node->id])
        return;
    used[node->id] = true;
    for (int i = 0; i < node->num_inputs; i++)
        mark(node->inputs[i].node, used);
    for (int i = 0; i < node->num_controls; i++)
        mark(node->controls[i], used);
}

static void describe(const weir_graph *graph, const bool *used, weir_text *text)
{
    for (int i = 0; i < weir_graph_num_nodes(graph); i++) {
        const weir_node *node = weir_graph_node(graph, i);
        if (!used[i] || strcmp(node->op->name, "Placeholder") == 0)
            continue;
        weir_text_append(text, "%s %s(", node->name, node->op->name);
        for (int j = 0; j < node->num_inputs; j++) {
            weir_text_append(text, "%s%s", j > 0 ? "," : "", node->inputs[j].node->name);
            if (node->inputs[j].index > 0)
                weir_text_append(text, ":%d", node->inputs[j].index);
        }
        weir_text_append(text, ")\n");
    }
}

static void compare(const char *name, void (*build)(built *b), bool is_known)
{
    weir_graph *graph = weir_graph_new();
    built b = {.s = weir_root(graph), .is_known = is_known};
    weir_gradient_value gradients[MOST];
    build(&b);
    weir_gradients(b.s, b.ys, b.num_ys, b.xs, b.num_xs, NULL, gradients);
    weir_status status = weir_graph_error(graph);
    if (!weir_ok(status))
        fail_msg("%s: %s", name, weir_status_text(status));
    bool *used = calloc((size_t)weir_graph_num_nodes(graph), sizeof *used);
    for (int i = 0; i < b.num_ys; i++)
        mark(b.ys[i].node, used);
    for (int i = 0; i < b.num_xs; i++) {
        mark(gradients[i].values.node, used);
        mark(gradients[i].indices.node, used);
        mark(gradients[i].dense_shape.node, used);
    }
    char head[64];
    snprintf(head, sizeof head, "%s %s", name, is_known ? "known" : "unknown");
    char *expected = recorded(head);
    weir_text text = {0};
    describe(graph, used, &text);
    assert_string_not_equal(expected, "");
    assert_string_equal(weir_text_get(&text), expected);
    weir_text_clear(&text);
    weir_release(expected);
    free(used);
    weir_graph_free(graph);
}

#define TEST(name)                                                                                                     \
    static void test_##name(void **state)                                                                              \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        compare(#name, name, true);                                                                                    \
        compare(#name, name, false);                                                                                   \
    }
CASES(TEST)

int main(void)
{
#define ENTRY(name) cmocka_unit_test(test_##name),
    const struct CMUnitTest tests[] = {CASES(ENTRY)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
