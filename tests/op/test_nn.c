/*
 * Convolutions, pools and batch norm beyond their recorded values: layouts, narrow types, fused forms against the plain
 * ones, empty images, second derivatives (of TensorFlow), failures (TensorFlow's texts), partly known shapes.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/gradients.h>
#include <weir/ops.h>

#include "support/compute.h"

#include <cmocka.h>

/* ---- Graphs with values ---- */

typedef struct setting {
    weir_graph *graph;
    weir_scope s;
    computation computation;
} setting;

static setting begin(void)
{
    setting t = {.graph = weir_graph_new()};
    t.s = weir_root(t.graph);
    computation_init(&t.computation, t.graph, NULL);
    return t;
}

static void end(setting *t)
{
    computation_clear(&t->computation);
    weir_graph_free(t->graph);
}

/* Numbers between -2 and 2 that repeat late. */
static weir_output noise(setting *t, weir_shape shape, unsigned seed)
{
    weir_tensor *tensor = NULL;
    weir_status status = weir_tensor_new(WEIR_FLOAT, shape, &tensor);
    assert_true(weir_ok(status));
    for (int64_t i = 0; i < tensor->elements; i++) {
        seed = seed * 1664525u + 1013904223u;
        weir_tensor_floats(tensor)[i] = (float)(seed >> 8) / (float)(1 << 22) - 2;
    }
    weir_output output = weir_const_tensor(t->s, tensor, NULL);
    weir_tensor_free(tensor);
    return output;
}

static weir_output floats(setting *t, weir_shape shape, const float *values)
{
    return weir_const(t->s, WEIR_TENSOR_SHAPED(WEIR_FLOAT, shape, values));
}

/* Borrowed from the computation. */
static const weir_tensor *get(setting *t, weir_output output)
{
    weir_tensor *value = NULL;
    if (output.node == NULL)
        fail_msg("%s", weir_status_text(weir_graph_error(t->graph)));
    weir_status status = computation_get(&t->computation, output, &value);
    if (!weir_ok(status))
        fail_msg("%s: %s", weir_node_name(output.node), weir_status_text(status));
    return value;
}

static void close_to(setting *t, weir_output a, weir_output b, double tolerance)
{
    const weir_tensor *x = get(t, a);
    const weir_tensor *y = get(t, b);
    assert_true(weir_shape_equal(x->shape, y->shape));
    for (int64_t i = 0; i < x->elements; i++) {
        double left = weir_tensor_get_double(x, i);
        double right = weir_tensor_get_double(y, i);
        if (!(fabs(left - right) <= tolerance * (1 + fabs(right))))
            fail_msg("%s and %s: element %lld is %.9g and %.9g", a.node->name, b.node->name, (long long)i, left, right);
    }
}

static void equals(setting *t, weir_output a, const float *expected, double tolerance)
{
    close_to(t, a, floats(t, weir_tensor_shape(get(t, a)), expected), tolerance);
}

/* ---- Failures ---- */

static weir_output place(setting *t, weir_dtype dtype, weir_shape shape)
{
    (void)shape;
    return weir_placeholder(t->s, dtype, weir_shape_unknown());
}

/* Runs the node on zeros of the shapes; its inputs are placeholders of unknown shape. */
static void fails_running(weir_node *node, const weir_shape *shapes, weir_code code, const char *text)
{
    weir_tensor *inputs[8] = {NULL};
    weir_tensor *outputs[8] = {NULL};
    assert_non_null(node);
    for (int i = 0; i < node->num_inputs; i++) {
        weir_status made = weir_tensor_new(weir_output_dtype(node->inputs[i]), shapes[i], &inputs[i]);
        assert_true(weir_ok(made));
    }
    weir_status status = weir_evaluate(node, inputs, outputs);
    if (status.code != code || strcmp(weir_status_text(status), text) != 0)
        fail_msg("%s: '%s' instead of '%s'", node->op->name, weir_ok(status) ? "nothing" : weir_status_text(status),
                 text);
    for (int i = 0; i < node->num_inputs; i++)
        weir_tensor_free(inputs[i]);
}

static void fails_building(setting *t, weir_node *node, const char *text)
{
    weir_status status = weir_graph_take_error(t->graph);
    if (node != NULL || strstr(weir_status_text(status), text) == NULL)
        fail_msg("'%s' instead of '%s'", weir_ok(status) ? "nothing" : weir_status_text(status), text);
}

static const int64_t ones[] = {1, 1, 1, 1};
static const int64_t twos[] = {1, 2, 2, 1};

/* What differs from a plain convolution of stride 1. */
typedef struct convolution_attrs {
    const int64_t *strides, *dilations, *paddings; /* of 4, 4 and 8 numbers; NULL: ones, ones, none */
    const char *padding, *format;                  /* NULL: SAME, NHWC */
} convolution_attrs;

static weir_node *convolution(setting *t, const char *op, weir_output a, weir_output b, weir_output c,
                              convolution_attrs with)
{
    const weir_output inputs[] = {a, b, c};
    const weir_attr attrs[] = {
        WEIR_ATTR_INTS("strides", with.strides != NULL ? with.strides : ones, 4),
        WEIR_ATTR_INTS("dilations", with.dilations != NULL ? with.dilations : ones, 4),
        WEIR_ATTR_S("padding", with.padding != NULL ? with.padding : "SAME"),
        WEIR_ATTR_S("data_format", with.format != NULL ? with.format : "NHWC"),
        WEIR_ATTR_INTS("explicit_paddings", with.paddings, with.paddings != NULL ? 8 : 0),
    };
    return weir_op(t->s, op, .inputs = inputs, .num_inputs = c.node != NULL ? 3 : 2, .attrs = attrs, .num_attrs = 5);
}

static void conv_fails(setting *t, weir_shape x, weir_shape filter, convolution_attrs with, weir_code code,
                       const char *text)
{
    weir_output a = place(t, WEIR_FLOAT, x);
    weir_output b = place(t, WEIR_FLOAT, filter);
    weir_node *node = convolution(t, "Conv2D", a, b, WEIR_NO_OUTPUT, with);
    fails_running(node, (const weir_shape[]){x, filter}, code, text);
}

static void conv_is_refused(setting *t, weir_shape x, weir_shape filter, convolution_attrs with, const char *text)
{
    weir_output a = weir_placeholder(t->s, WEIR_FLOAT, x);
    weir_output b = weir_placeholder(t->s, WEIR_FLOAT, filter);
    fails_building(t, convolution(t, "Conv2D", a, b, WEIR_NO_OUTPUT, with), text);
}

static void test_convolution_failures(void **state)
{
    (void)state;
    setting t = begin();
    const weir_shape x = WEIR_SHAPE(1, 4, 4, 3);
    const weir_shape f = WEIR_SHAPE(2, 2, 3, 5);
    const convolution_attrs plain = {0};
    conv_fails(&t, WEIR_SHAPE(4, 4, 3), f, plain, WEIR_INVALID_ARGUMENT,
               "convolution input must be 4-dimensional: [4,4,3]");
    conv_fails(&t, x, WEIR_SHAPE(2, 3, 5), plain, WEIR_INVALID_ARGUMENT,
               "convolution filter must be 4-dimensional: [2,3,5]");
    conv_fails(&t, x, WEIR_SHAPE(2, 2, 2, 5), plain, WEIR_INVALID_ARGUMENT,
               "input depth must be evenly divisible by filter depth: 3 vs 2");
    conv_fails(&t, WEIR_SHAPE(1, 4, 4, 4), WEIR_SHAPE(2, 2, 2, 5), plain, WEIR_INVALID_ARGUMENT,
               "output depth must be evenly divisible by number of groups: 5 vs 2");
    conv_fails(&t, x, WEIR_SHAPE(0, 2, 3, 1), plain, WEIR_INVALID_ARGUMENT,
               "filter must not have zero elements (i.e. all dimensions must be non-zero)");
    conv_fails(
        &t, WEIR_SHAPE(1, 3, 4, 4), f, (convolution_attrs){.format = "NCHW"}, WEIR_UNIMPLEMENTED,
        "The Conv2D op currently only supports the NHWC tensor format on the CPU. The op was given the format: NCHW");
    const int64_t batch[] = {2, 1, 1, 1};
    const int64_t none[] = {1, 0, 1, 1};
    const int64_t endless[] = {1, 3689348814741910324, 3689348814741910324, 1}; /* five of them are 4 in 64 bits */
    conv_is_refused(&t, WEIR_SHAPE(1, 8, 8, 1), WEIR_SHAPE(6, 6, 1, 1),
                    (convolution_attrs){.dilations = endless, .padding = "VALID"},
                    "Conv2D: dilation is 3689348814741910324, more than 2147483647");
    const int64_t pads[] = {1, 0, 1, 1, 1, 1, 0, 0};
    const int64_t negative[] = {0, 0, -1, 1, 1, 1, 0, 0};
    conv_fails(&t, x, f, (convolution_attrs){.strides = batch}, WEIR_UNIMPLEMENTED,
               "Current implementation does not yet support strides in the batch and depth dimensions.");
    conv_fails(&t, x, f, (convolution_attrs){.dilations = batch}, WEIR_UNIMPLEMENTED,
               "Current implementation does not yet support dilations in the batch and depth dimensions.");
    conv_is_refused(&t, x, f, (convolution_attrs){.strides = none}, "Stride must be > 0, but got 0");
    conv_is_refused(&t, x, f, (convolution_attrs){.dilations = none}, "Dilation rate must be >= 1, but got 0");
    conv_is_refused(&t, x, f, (convolution_attrs){.padding = "EXPLICIT"},
                    "explicit_paddings attribute must contain 8 values, but got: 0");
    conv_is_refused(&t, x, f, (convolution_attrs){.paddings = pads},
                    "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
    conv_is_refused(&t, x, f, (convolution_attrs){.padding = "EXPLICIT", .paddings = pads},
                    "Nonzero explicit padding in the batch or depth dimensions is not supported");
    conv_is_refused(&t, x, f, (convolution_attrs){.padding = "EXPLICIT", .paddings = negative},
                    "All elements of explicit_paddings must be nonnegative");
    conv_is_refused(&t, x, WEIR_SHAPE(2, 2, 2, 5), plain,
                    "Depth of input (3) is not a multiple of input depth of filter (2)");
    conv_is_refused(&t, WEIR_SHAPE(1, 1, 4, 3), f, (convolution_attrs){.padding = "VALID"},
                    "Negative dimension size caused by subtracting 2 from 1");
    conv_is_refused(&t, WEIR_SHAPE(4, 4, 3), f, plain, "Shape must be rank 4 but is rank 3");
    end(&t);
}

/* A gradient op on what is zero but for the sizes, which are constants. */
static void gradient_fails(const char *op, const int32_t *sizes, weir_shape a, weir_shape dy, convolution_attrs with,
                           const char *text)
{
    setting t = begin();
    bool is_filter = strcmp(op, "Conv2DBackpropFilter") == 0;
    weir_output other = place(&t, WEIR_FLOAT, a);
    weir_output given = place(&t, WEIR_FLOAT, dy);
    weir_output shape = place(&t, WEIR_INT32, WEIR_SHAPE(4));
    weir_node *node = convolution(&t, op, is_filter ? other : shape, is_filter ? shape : other, given, with);
    weir_tensor *inputs[3] = {NULL};
    weir_tensor *output = NULL;
    assert_true(weir_ok(weir_tensor_new(WEIR_FLOAT, a, &inputs[is_filter ? 0 : 1])));
    assert_true(weir_ok(weir_tensor_from(WEIR_INT32, WEIR_SHAPE(4), sizes, &inputs[is_filter ? 1 : 0])));
    assert_true(weir_ok(weir_tensor_new(WEIR_FLOAT, dy, &inputs[2])));
    weir_status status = weir_evaluate(node, inputs, &output);
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    assert_string_equal(weir_status_text(status), text);
    for (int i = 0; i < 3; i++)
        weir_tensor_free(inputs[i]);
    end(&t);
}

static void test_convolution_gradient_failures(void **state)
{
    (void)state;
    const weir_shape f = WEIR_SHAPE(2, 2, 3, 5);
    const weir_shape x = WEIR_SHAPE(1, 4, 4, 3);
    const weir_shape dy = WEIR_SHAPE(1, 4, 4, 5);
    const convolution_attrs plain = {0};
    const convolution_attrs nchw = {.format = "NCHW"};
    gradient_fails("Conv2DBackpropInput", (const int32_t[]){2, 4, 4, 3}, f, dy, plain,
                   "Conv2DCustomBackpropInput: input and out_backprop must have the same batch size. Input batch: 2, "
                   "outbackprop batch: 1, batch_dim: 0");
    gradient_fails("Conv2DBackpropInput", (const int32_t[]){1, 5, 4, 3}, f, dy, plain,
                   "Conv2DCustomBackpropInput: Size of out_backprop doesn't match computed: actual = 4, computed = 5 "
                   "spatial_dim: 1 input: 5 filter: 2 output: 4 stride: 1 dilation: 1");
    gradient_fails("Conv2DBackpropInput", (const int32_t[]){1, 4, 4, 2}, f, dy, plain,
                   "Conv2DCustomBackpropInput: input depth must be evenly divisible by filter depth");
    gradient_fails("Conv2DBackpropInput", (const int32_t[]){-1, 4, 4, 3}, f, dy, plain, "Dimension -1 must be >= 0");
    gradient_fails("Conv2DBackpropInput", (const int32_t[]){1, 3, 4, 4}, f, WEIR_SHAPE(1, 5, 4, 4), nchw,
                   "Conv2DCustomBackpropInputOp only supports NHWC.");
    gradient_fails("Conv2DBackpropFilter", (const int32_t[]){2, 2, 3, 4}, x, dy, plain,
                   "Conv2DCustomBackpropFilter: filter and out_backprop must have the same out_depth");
    gradient_fails("Conv2DBackpropFilter", (const int32_t[]){2, 2, 3, 5}, WEIR_SHAPE(1, 3, 4, 4),
                   WEIR_SHAPE(1, 5, 4, 4), nchw, "Conv2DCustomBackpropFilterOp only supports NHWC.");
}

/* ---- Convolutions ---- */

/* No images: no result, and a filter gradient of zeros. */
static void test_no_images(void **state)
{
    (void)state;
    setting t = begin();
    weir_output x = noise(&t, WEIR_SHAPE(0, 4, 4, 3), 1);
    weir_output f = noise(&t, WEIR_SHAPE(2, 2, 3, 5), 2);
    weir_output y = weir_conv2d_op(t.s, x, f);
    weir_output xs[] = {x, f};
    weir_gradient_value dx[2];
    assert_int_equal(get(&t, y)->shape.dims[3], 5);
    weir_gradients(t.s, &y, 1, xs, 2, NULL, dx);
    assert_int_equal(get(&t, dx[0].values)->elements, 0);
    equals(&t, dx[1].values, (const float[60]){0}, 0);
    assert_int_equal(get(&t, weir_max_pool(t.s, x, 2, 2))->shape.dims[1], 2);
    assert_int_equal(get(&t, weir_avg_pool(t.s, x, 2, 2))->shape.dims[1], 2);
    end(&t);
}

static weir_output fused(setting *t, weir_output x, weir_output f, const weir_output *vectors, int count,
                         const char *first, const char *second)
{
    const weir_dtype types[] = {WEIR_FLOAT, WEIR_FLOAT, WEIR_FLOAT, WEIR_FLOAT};
    const weir_bytes names[] = {{first, strlen(first)}, {second, strlen(second)}};
    weir_output inputs[6] = {x, f};
    memcpy(inputs + 2, vectors, (size_t)count * sizeof *vectors);
    const weir_attr attrs[] = {WEIR_ATTR_TYPES("TArgs", types, count),
                               WEIR_ATTR_I("num_args", count),
                               WEIR_ATTR_INTS("strides", ones, 4),
                               WEIR_ATTR_S("padding", "SAME"),
                               WEIR_ATTR_STRINGS("fused_ops", names, second[0] != '\0' ? 2 : 1),
                               WEIR_ATTR_F("epsilon", 0.001f)};
    return weir_out(
        weir_op(t->s, "_FusedConv2D", .inputs = inputs, .num_inputs = 2 + count, .attrs = attrs, .num_attrs = 6), 0);
}

/* Against the plain ops. */
static void test_fused_convolutions(void **state)
{
    (void)state;
    setting t = begin();
    weir_output x = noise(&t, WEIR_SHAPE(2, 6, 5, 3), 1);
    weir_output f = noise(&t, WEIR_SHAPE(3, 3, 3, 4), 2);
    weir_output bias = noise(&t, WEIR_SHAPE(4), 3);
    weir_output sum = weir_bias_add(t.s, weir_conv2d_op(t.s, x, f), bias);
    close_to(&t, fused(&t, x, f, &bias, 1, "BiasAdd", ""), sum, 1e-5);
    close_to(&t, fused(&t, x, f, &bias, 1, "BiasAdd", "Relu"), weir_relu(t.s, sum), 1e-5);
    close_to(&t, fused(&t, x, f, &bias, 1, "BiasAdd", "Tanh"), weir_tanh(t.s, sum), 1e-5);
    close_to(&t, fused(&t, x, f, &bias, 1, "BiasAdd", "Sigmoid"), weir_sigmoid(t.s, sum), 1e-5);
    weir_output variance = weir_abs(t.s, noise(&t, WEIR_SHAPE(4), 5));
    const weir_output vectors[] = {bias, noise(&t, WEIR_SHAPE(4), 4), noise(&t, WEIR_SHAPE(4), 6), variance};
    weir_node *norm = weir_op(t.s, "FusedBatchNormV3",
                              WEIR_INPUTS(weir_conv2d_op(t.s, x, f), vectors[0], vectors[1], vectors[2], vectors[3]),
                              WEIR_ATTRS(WEIR_ATTR_B("is_training", false), WEIR_ATTR_F("epsilon", 0.001f)));
    close_to(&t, fused(&t, x, f, vectors, 4, "FusedBatchNorm", ""), weir_out(norm, 0), 1e-4);
    close_to(&t, fused(&t, x, f, vectors, 4, "FusedBatchNorm", "Relu"), weir_relu(t.s, weir_out(norm, 0)), 1e-4);
    weir_tensor *value = NULL;
    weir_status status = computation_get(&t.computation, fused(&t, x, f, &bias, 1, "BiasAdd", "LeakyRelu"), &value);
    assert_int_equal(status.code, WEIR_UNIMPLEMENTED);
    assert_non_null(strstr(weir_status_text(status), "Fusion is not implemented: [BiasAdd,LeakyRelu]"));
    end(&t);
}

/* ---- Pools ---- */

static weir_node *pool(setting *t, const char *op, const weir_output *inputs, int count, const int64_t *size,
                       const int64_t *strides, const char *format)
{
    return weir_op(t->s, op, .inputs = inputs, .num_inputs = count,
                   WEIR_ATTRS(WEIR_ATTR_INTS("ksize", size, 4), WEIR_ATTR_INTS("strides", strides, 4),
                              WEIR_ATTR_S("padding", "VALID"), WEIR_ATTR_S("data_format", format)));
}

static void pool_fails(const char *op, const weir_shape *shapes, int count, const int64_t *size, const int64_t *strides,
                       const char *format, weir_code code, const char *text)
{
    setting t = begin();
    weir_output inputs[3];
    for (int i = 0; i < count; i++)
        inputs[i] = place(&t, WEIR_FLOAT, shapes[i]);
    fails_running(pool(&t, op, inputs, count, size, strides, format), shapes, code, text);
    end(&t);
}

static void test_pool_failures(void **state)
{
    (void)state;
    const weir_shape x = WEIR_SHAPE(1, 4, 4, 3);
    const weir_shape y = WEIR_SHAPE(1, 2, 2, 3);
    const weir_shape flat = WEIR_SHAPE(4, 4, 3);
    const weir_shape gradient[] = {x, WEIR_SHAPE(1, 2, 3, 3), y};
    const weir_shape gradient_rank[] = {x, y, WEIR_SHAPE(2, 2, 3)};
    const int64_t batch[] = {2, 2, 2, 1};
    const int64_t depth[] = {1, 1, 1, 2};
    const int64_t none[] = {1, 0, 2, 1};
    pool_fails("MaxPool", &flat, 1, twos, twos, "NHWC", WEIR_INVALID_ARGUMENT,
               "tensor_in_shape must have 2 spatial dimensions. 3 0");
    pool_fails("MaxPool", &x, 1, twos, twos, "NCHW", WEIR_INVALID_ARGUMENT,
               "Default MaxPoolingOp only supports NHWC on device type CPU");
    pool_fails("MaxPool", &x, 1, batch, twos, "NHWC", WEIR_UNIMPLEMENTED,
               "Pooling is not yet supported on the batch dimension.");
    pool_fails("MaxPool", &x, 1, depth, depth, "NHWC", WEIR_UNIMPLEMENTED,
               "Depthwise max pooling requires the depth window to evenly divide the input depth");
    pool_fails("MaxPool", &x, 1, none, twos, "NHWC", WEIR_INVALID_ARGUMENT,
               "Sliding window ksize must be positive. The specified or inferred ksize is: 1,0,2,1");
    pool_fails("AvgPool", &x, 1, depth, depth, "NHWC", WEIR_UNIMPLEMENTED,
               "Non-spatial pooling is not yet supported. Volunteers? :)");
    pool_fails("MaxPoolGrad", gradient, 3, twos, twos, "NHWC", WEIR_INVALID_ARGUMENT,
               "Expected orig_output shape to be [1,2,2,3], but got [1,2,3,3]");
    pool_fails("MaxPoolGrad", gradient_rank, 3, twos, twos, "NHWC", WEIR_INVALID_ARGUMENT,
               "out_backprop must be 4-dimensional");
    setting t = begin();
    weir_output image = weir_placeholder(t.s, WEIR_FLOAT, x);
    fails_building(&t, pool(&t, "MaxPool", &image, 1, (const int64_t[]){1, 5, 2, 1}, twos, "NHWC"),
                   "Negative dimension size caused by subtracting 5 from 4");
    fails_building(&t, pool(&t, "MaxPool", &image, 1, twos, none, "NHWC"), "Stride must be > 0, but got 0");
    end(&t);
}

static void test_pool_over_channels(void **state)
{
    (void)state;
    setting t = begin();
    const float values[] = {1, -2, 3, 0.5f, -1, -3, 2, 7};
    const int64_t depth[] = {1, 1, 1, 2};
    weir_output x = floats(&t, WEIR_SHAPE(1, 1, 2, 4), values);
    weir_output y = weir_out(pool(&t, "MaxPool", &x, 1, depth, depth, "NHWC"), 0);
    equals(&t, y, (const float[]){1, 3, -1, 7}, 0);
    end(&t);
}

/* ---- Batch norm ---- */

/* Outputs 0 to 2 of the op and the gradients of x, scale and offset, for one layout and type. */
typedef struct normed {
    weir_output y, mean, variance, dx, d_scale, d_offset;
} normed;

static normed normalize(setting *t, weir_output x, weir_output dy, const weir_output *vectors, bool is_training,
                        const char *format)
{
    weir_output zero = weir_const(t->s, WEIR_TENSOR_SHAPED(WEIR_FLOAT, WEIR_SHAPE(0), NULL));
    weir_node *node = weir_op(
        t->s, "FusedBatchNormV3",
        WEIR_INPUTS(x, vectors[0], vectors[1], is_training ? zero : vectors[2], is_training ? zero : vectors[3]),
        WEIR_ATTRS(WEIR_ATTR_B("is_training", is_training), WEIR_ATTR_S("data_format", format)));
    weir_output y = weir_out(node, 0);
    const weir_output xs[] = {x, vectors[0], vectors[1]};
    weir_gradient_value g[3];
    weir_gradients(t->s, &y, 1, xs, 3,
                   &(weir_gradients_options){.size = sizeof(weir_gradients_options), .grad_ys = &dy}, g);
    return (normed){y, weir_out(node, 1), weir_out(node, 2), g[0].values, g[1].values, g[2].values};
}

static void same_norm(setting *t, normed a, normed b, double tolerance)
{
    close_to(t, a.mean, b.mean, tolerance);
    close_to(t, a.variance, b.variance, tolerance);
    close_to(t, a.d_scale, b.d_scale, tolerance);
    close_to(t, a.d_offset, b.d_offset, tolerance);
}

static void check_layouts(bool is_training)
{
    setting t = begin();
    const weir_output vectors[] = {noise(&t, WEIR_SHAPE(3), 3), noise(&t, WEIR_SHAPE(3), 4),
                                   noise(&t, WEIR_SHAPE(3), 5), weir_abs(t.s, noise(&t, WEIR_SHAPE(3), 6))};
    weir_output x = noise(&t, WEIR_SHAPE(2, 4, 5, 3), 1);
    weir_output dy = noise(&t, WEIR_SHAPE(2, 4, 5, 3), 2);
    normed plain = normalize(&t, x, dy, vectors, is_training, "NHWC");
    weir_output first_x = weir_transpose(t.s, x, WEIR_AXES(0, 3, 1, 2));
    weir_output first_dy = weir_transpose(t.s, dy, WEIR_AXES(0, 3, 1, 2));
    normed first = normalize(&t, first_x, first_dy, vectors, is_training, "NCHW");
    same_norm(&t, first, plain, 1e-5);
    close_to(&t, weir_transpose(t.s, first.y, WEIR_AXES(0, 2, 3, 1)), plain.y, 1e-5);
    close_to(&t, weir_transpose(t.s, first.dx, WEIR_AXES(0, 2, 3, 1)), plain.dx, 1e-5);
    weir_output deep_x = weir_reshape(t.s, x, WEIR_SHAPE(2, 2, 2, 5, 3));
    weir_output deep_dy = weir_reshape(t.s, dy, WEIR_SHAPE(2, 2, 2, 5, 3));
    normed deep = normalize(&t, deep_x, deep_dy, vectors, is_training, "NDHWC");
    same_norm(&t, deep, plain, 1e-6);
    close_to(&t, weir_reshape(t.s, deep.dx, WEIR_SHAPE(2, 4, 5, 3)), plain.dx, 1e-6);
    normed narrow =
        normalize(&t, weir_cast(t.s, x, WEIR_HALF), weir_cast(t.s, dy, WEIR_HALF), vectors, is_training, "NHWC");
    assert_int_equal(weir_output_dtype(narrow.y), WEIR_HALF);
    same_norm(&t, narrow, plain, 1e-2);
    close_to(&t, narrow.dx, plain.dx, 1e-2);
    normed both = normalize(&t, weir_cast(t.s, first_x, WEIR_BFLOAT16), weir_cast(t.s, first_dy, WEIR_BFLOAT16),
                            vectors, is_training, "NCHW");
    close_to(&t, weir_transpose(t.s, both.dx, WEIR_AXES(0, 2, 3, 1)), plain.dx, 5e-2);
    end(&t);
}

static void test_batch_norm_layouts(void **state)
{
    (void)state;
    check_layouts(true);
    check_layouts(false);
}

/* Recorded: x [2,2,2,3] of np.random.RandomState(0), given mean and variance 0.5. */
static void test_batch_norm_average(void **state)
{
    (void)state;
    const float values[] = {1.76405235f, 0.40015721f,  0.97873798f,  2.24089320f, 1.86755799f, -0.97727788f,
                            0.95008842f, -0.15135721f, -0.10321885f, 0.41059850f, 0.14404357f, 1.45427351f,
                            0.76103773f, 0.12167502f,  0.44386323f,  0.33367433f, 1.49407907f, -0.20515826f,
                            0.31306770f, -0.85409574f, -2.55298982f, 0.65361860f, 0.86443620f, -0.74216502f};
    const float given[] = {0.5f, 0.5f, 0.5f};
    setting t = begin();
    weir_output x = floats(&t, WEIR_SHAPE(2, 2, 2, 3), values);
    weir_output g = floats(&t, WEIR_SHAPE(3), given);
    weir_node *node = weir_op(t.s, "FusedBatchNormV3", WEIR_INPUTS(x, g, g, g, g),
                              WEIR_ATTRS(WEIR_ATTR_F("exponential_avg_factor", 0.25f)));
    equals(&t, weir_out(node, 1), (const float[]){0.60709476f, 0.49645302f, 0.32175204f}, 1e-6);
    equals(&t, weir_out(node, 2), (const float[]){0.50090677f, 0.57240200f, 0.76726115f}, 1e-6);
    equals(&t, weir_out(node, 3), (const float[]){0.92837894f, 0.48581204f, -0.21299186f}, 1e-6);
    equals(&t, weir_out(node, 4), (const float[]){0.44067368f, 0.69090706f, 1.37291396f}, 1e-6);
    assert_int_equal(get(&t, weir_out(node, 5))->shape.rank, 0);
    end(&t);
}

static void test_batch_norm_with_activation(void **state)
{
    (void)state;
    setting t = begin();
    weir_output x = noise(&t, WEIR_SHAPE(2, 3, 3, 4), 1);
    weir_output v[] = {noise(&t, WEIR_SHAPE(4), 2), noise(&t, WEIR_SHAPE(4), 3)};
    weir_node *plain = weir_op(t.s, "FusedBatchNormV3", WEIR_INPUTS(x, v[0], v[1], v[0], v[1]));
    weir_node *ex = weir_op(t.s, "_FusedBatchNormEx", WEIR_INPUTS(x, v[0], v[1], v[0], v[1]),
                            WEIR_ATTRS(WEIR_ATTR_S("activation_mode", "Relu"), WEIR_ATTR_I("num_side_inputs", 0)));
    close_to(&t, weir_out(ex, 0), weir_relu(t.s, weir_out(plain, 0)), 1e-6);
    close_to(&t, weir_out(ex, 2), weir_out(plain, 2), 1e-6);
    end(&t);
}

/* Against TensorFlow: derivatives of the three gradients, weighted. */
static void check_second(bool is_training, const float *ddy, const float *dx, const float *d_scale)
{
    static const float x_values[] = {1, -2, 0.5f, 3, -1, 0, 2, 1.5f};
    static const float dy_values[] = {0.5f, 1, -1, 2, 0, -0.5f, 1.5f, 1};
    static const float weights[] = {1, 2, -1, 0.5f, 0, 1, -2, 1};
    setting t = begin();
    weir_output x = floats(&t, WEIR_SHAPE(1, 2, 2, 2), x_values);
    weir_output dy = floats(&t, WEIR_SHAPE(1, 2, 2, 2), dy_values);
    weir_output scale = floats(&t, WEIR_SHAPE(2), (const float[]){1.5f, -0.5f});
    weir_output mean =
        floats(&t, WEIR_SHAPE(2), is_training ? (const float[]){0.625f, 0.625f} : (const float[]){0.25f, -0.5f});
    weir_output variance =
        floats(&t, WEIR_SHAPE(2), is_training ? (const float[]){1.171875f, 3.421875f} : (const float[]){0.5f, 2});
    weir_output none = weir_const(t.s, WEIR_TENSOR_SHAPED(WEIR_FLOAT, WEIR_SHAPE(0), NULL));
    weir_node *node = weir_op(t.s, "FusedBatchNormGradV3", WEIR_INPUTS(dy, x, scale, mean, variance, none),
                              WEIR_ATTRS(WEIR_ATTR_F("epsilon", 0.001f), WEIR_ATTR_B("is_training", is_training)));
    const weir_output ys[] = {weir_out(node, 0), weir_out(node, 1), weir_out(node, 2)};
    const weir_output dys[] = {floats(&t, WEIR_SHAPE(1, 2, 2, 2), weights),
                               floats(&t, WEIR_SHAPE(2), (const float[]){0.5f, -1}),
                               floats(&t, WEIR_SHAPE(2), (const float[]){1, 2})};
    const weir_output xs[] = {dy, x, scale};
    weir_gradient_value g[3];
    weir_gradients(t.s, ys, 3, xs, 3, &(weir_gradients_options){.size = sizeof(weir_gradients_options), .grad_ys = dys},
                   g);
    equals(&t, g[0].values, ddy, 1e-5);
    equals(&t, g[1].values, dx, 1e-5);
    equals(&t, g[2].values, d_scale, 1e-5);
    end(&t);
}

static void test_batch_norm_second_derivatives(void **state)
{
    (void)state;
    check_second(true,
                 (const float[]){3.4998024f, 3.3799112f, 0.16673255f, 0.70646638f, -0.13712811f, 2.4186356f,
                                 0.47059321f, 1.494987f},
                 (const float[]){-1.1254945f, -0.48374209f, -0.93843222f, -0.31380755f, 0.90730476f, 0.72803229f,
                                 1.1566219f, 0.069517255f},
                 (const float[]){0.12837376f, 0.26208848f});
    check_second(
        false,
        (const float[]){3.6490026f, 2.3534651f, -0.94260192f, -0.65098786f, 0.11699903f, 1.2930698f, -2.002203f,
                        0.23267475f},
        (const float[]){0.35320038f, -0.7069301f, -0.70640075f, -1.4138602f, 0, 0.35346505f, 1.0596011f, -0.7069301f},
        (const float[]){-2.1192021f, 2.4742553f});
}

static void norm_fails(bool is_training, weir_shape x, weir_shape scale, weir_shape given, const char *text)
{
    setting t = begin();
    const weir_shape shapes[] = {x, scale, WEIR_SHAPE(3), given, given};
    weir_output inputs[5];
    for (int i = 0; i < 5; i++)
        inputs[i] = place(&t, WEIR_FLOAT, shapes[i]);
    weir_node *node = weir_op(t.s, "FusedBatchNormV3", .inputs = inputs, .num_inputs = 5,
                              WEIR_ATTRS(WEIR_ATTR_B("is_training", is_training)));
    fails_running(node, shapes, WEIR_INVALID_ARGUMENT, text);
    end(&t);
}

static void test_batch_norm_failures(void **state)
{
    (void)state;
    norm_fails(true, WEIR_SHAPE(4, 3), WEIR_SHAPE(3), WEIR_SHAPE(0), "input must be 4 or 5-dimensional[4,3]");
    norm_fails(true, WEIR_SHAPE(1, 4, 4, 3), WEIR_SHAPE(1, 3), WEIR_SHAPE(0), "scale must be 1-dimensional[1,3]");
    norm_fails(true, WEIR_SHAPE(1, 4, 4, 3), WEIR_SHAPE(2), WEIR_SHAPE(0),
               "scale must have the same number of elements as the channels of x, got 2 and 3");
    norm_fails(false, WEIR_SHAPE(1, 4, 4, 3), WEIR_SHAPE(3), WEIR_SHAPE(0),
               "When is_training=false, mean must have the same number of elements as the channels of x, got 0 and 3");
    setting t = begin();
    weir_output x = weir_placeholder(t.s, WEIR_FLOAT, WEIR_SHAPE(1, 4, 4, 3));
    weir_output v = weir_placeholder(t.s, WEIR_FLOAT, WEIR_SHAPE(2));
    fails_building(&t, weir_op(t.s, "FusedBatchNormV3", WEIR_INPUTS(x, v, v, v, v)),
                   "Dimensions must be equal, but are 3 and 2");
    end(&t);
}

/* ---- Shapes known in part ---- */

static void check_shape(weir_output output, const char *expected)
{
    char text[WEIR_SHAPE_TEXT_SIZE];
    assert_non_null(output.node);
    assert_string_equal(weir_shape_text(weir_output_shape(output), text, sizeof text), expected);
}

static void test_partial_shapes(void **state)
{
    (void)state;
    setting t = begin();
    weir_output p = weir_placeholder(t.s, WEIR_FLOAT, weir_shape_unknown());
    weir_output i = weir_placeholder(t.s, WEIR_INT32, weir_shape_unknown());
    weir_output f = weir_placeholder(t.s, WEIR_FLOAT, WEIR_SHAPE(3, 3, -1, 8));
    weir_output x = weir_placeholder(t.s, WEIR_FLOAT, WEIR_SHAPE(-1, -1, 28, 1));
    check_shape(weir_conv2d_op(t.s, p, f, .stride = 2), "[?,?,?,8]");
    check_shape(weir_conv2d_op(t.s, x, p, .stride = 2), "[?,?,14,?]");
    check_shape(weir_conv2d_op(t.s, x, f, .stride = 2, .padding = WEIR_VALID), "[?,?,13,8]");
    check_shape(weir_max_pool(t.s, p, 2, 2), "[?,?,?,?]");
    check_shape(weir_max_pool(t.s, x, 3, 3, .stride = 2, .padding = WEIR_VALID), "[?,?,13,1]");
    check_shape(weir_out(convolution(&t, "Conv2DBackpropInput", i, p, p, (convolution_attrs){0}), 0), "[?,?,?,?]");
    check_shape(weir_out(convolution(&t, "Conv2DBackpropFilter", p, i, p, (convolution_attrs){0}), 0), "[?,?,?,?]");
    weir_node *norm = weir_op(t.s, "FusedBatchNormV3", WEIR_INPUTS(x, p, p, p, p));
    check_shape(weir_out(norm, 0), "[?,?,28,1]");
    check_shape(weir_out(norm, 4), "[1]");
    check_shape(weir_out(norm, 5), "<unknown>");
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolution_failures),
        cmocka_unit_test(test_convolution_gradient_failures),
        cmocka_unit_test(test_no_images),
        cmocka_unit_test(test_fused_convolutions),
        cmocka_unit_test(test_pool_failures),
        cmocka_unit_test(test_pool_over_channels),
        cmocka_unit_test(test_batch_norm_layouts),
        cmocka_unit_test(test_batch_norm_average),
        cmocka_unit_test(test_batch_norm_with_activation),
        cmocka_unit_test(test_batch_norm_second_derivatives),
        cmocka_unit_test(test_batch_norm_failures),
        cmocka_unit_test(test_partial_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
