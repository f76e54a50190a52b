/*
 * Dense layers, convolutions, pools and flatten: variables in a variable scope of the layer, nodes and names as those of
 * TensorFlow's slim layers. Batch norm: batch_normalization.c; dropout: dropout_layer.c.
 */
#include "train/train_state.h"

static const weir_layer_options no_layer_options = {0};
static const weir_pool_options no_pool_options = {0};

weir_output weir_train_activate(weir_scope s, weir_output x, weir_activation activation)
{
    static const char *const ops[] = {
        [WEIR_RELU] = "Relu", [WEIR_RELU6] = "Relu6",       [WEIR_ELU] = "Elu",         [WEIR_SIGMOID] = "Sigmoid",
        [WEIR_TANH] = "Tanh", [WEIR_SOFTPLUS] = "Softplus", [WEIR_SOFTMAX] = "Softmax",
    };
    if (activation == WEIR_LINEAR)
        return x;
    if ((size_t)activation >= sizeof ops / sizeof ops[0]) {
        (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "%d is no activation", (int)activation));
        return WEIR_NO_OUTPUT;
    }
    return weir_train_unary(s, ops[activation], x, NULL);
}

/* slim's layers regularize under the name scope of the layer, without colocation. Only what is new is regularized. */
static void regularize(weir_scope s, weir_output weights, const weir_regularizer *regularizer)
{
    if (weights.node == NULL || regularizer->build == NULL)
        return;
    weir_output loss = regularizer->build(weir_in_scope(s, "kernel/Regularizer"), weights, regularizer);
    weir_collect_output(weir_scope_graph(s), WEIR_REGULARIZATION_LOSSES, loss);
}

static weir_output make_weights(weir_scope s, weir_output x, weir_shape shape, const weir_layer_options *options)
{
    const weir_scope_rule *rule = weir_train_rule(s);
    const weir_train_state *state = weir_train_state_of(s);
    if (rule == NULL || state == NULL)
        return WEIR_NO_OUTPUT;
    int before = state->num_variables;
    weir_output weights = weir_get_variable(s, "weights", shape, .dtype = weir_dtype_base(weir_output_dtype(x)),
                                            .initializer = options->weights_initializer, .no_regularizer = true,
                                            .frozen = options->frozen, .is_model = true);
    if (state->num_variables > before)
        regularize(s, weights,
                   options->weights_regularizer.build != NULL ? &options->weights_regularizer : &rule->regularizer);
    return weights;
}

/* The bias, made between weights and linear part as TensorFlow does; null where there is none. */
static weir_output make_biases(weir_scope s, weir_output x, int outputs, const weir_layer_options *options)
{
    if (options->normalizer.is_set || options->no_bias)
        return WEIR_NO_OUTPUT;
    return weir_get_variable(s, "biases", WEIR_SHAPE(outputs), .dtype = weir_dtype_base(weir_output_dtype(x)),
                             .initializer = options->biases_initializer.build != NULL ? options->biases_initializer
                                                                                      : weir_zeros_initializer(),
                             .no_regularizer = true, .frozen = options->frozen, .is_model = true);
}

/* Normalizer or bias, then activation. */
static weir_output finish(weir_scope s, weir_output x, weir_output biases, const weir_layer_options *options)
{
    if (options->normalizer.is_set)
        x = weir_normalize(s, x, options->normalizer);
    else if (!options->no_bias)
        x = weir_bias_add(s, x, biases);
    return weir_train_activate(s, x, options->activation);
}

/* The size of an axis that has to be known, -1 with an error. */
static int64_t known_axis(weir_scope s, weir_output x, int rank, const char *layer)
{
    weir_shape shape = weir_output_shape(x);
    bool is_fine = rank > 0 ? shape.rank == rank : shape.rank >= 2;
    if (is_fine && shape.dims[shape.rank - 1] != WEIR_UNKNOWN_DIM)
        return shape.dims[shape.rank - 1];
    char text[WEIR_SHAPE_TEXT_SIZE];
    (void)weir_scope_fail(s,
                          weir_fail(WEIR_INVALID_ARGUMENT,
                                    "%s of '%s': the last dimension of the input has to be known and its rank %s, but "
                                    "its shape is %s",
                                    layer, weir_node_name(x.node), rank > 0 ? "4" : "2 or more",
                                    weir_shape_text(shape, text, sizeof text)));
    return -1;
}

static bool check_positive(weir_scope s, int number, const char *layer, const char *what)
{
    if (number > 0)
        return true;
    (void)weir_scope_fail(s,
                          weir_fail(WEIR_INVALID_ARGUMENT, "%s: %s must be at least 1, not %d", layer, what, number));
    return false;
}

/* The last axis of x by the weights: all others are rows. */
static weir_output multiply_last(weir_scope s, weir_output x, weir_output weights, int outputs)
{
    weir_shape shape = weir_output_shape(x);
    if (shape.rank == 2)
        return weir_matmul(s, x, weights);
    weir_scope inner = weir_in_scope(s, "Tensordot");
    weir_output rows = weir_reshape(inner, x, WEIR_SHAPE(-1, shape.dims[shape.rank - 1]));
    weir_output product = weir_matmul(inner, rows, weights);
    weir_output dims = weir_shape_op(inner, x, .name = "Shape");
    weir_output outer = weir_slice(inner, dims, weir_const(inner, WEIR_INT32S(0), .name = "begin"),
                                   weir_const(inner, WEIR_INT32S(shape.rank - 1), .name = "size"));
    weir_output last = weir_const(inner, WEIR_INT32S(outputs), .name = "Const_2");
    weir_output all = weir_concat(inner, WEIR_OUTPUTS(outer, last), 0);
    weir_output y = weir_reshape_to(inner, product, all, .name = weir_scope_name(inner));
    shape.dims[shape.rank - 1] = outputs;
    weir_output_set_shape(y, shape);
    return y;
}

weir_output(weir_dense)(weir_scope s, weir_output x, int outputs, const weir_layer_options *options)
{
    options = options != NULL ? options : &no_layer_options;
    if (x.node == NULL || s.record == NULL || !check_positive(s, outputs, "dense", "the number of outputs"))
        return WEIR_NO_OUTPUT;
    int64_t inputs = known_axis(s, x, 0, "dense");
    if (inputs < 0)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_train_layer_scope(s, options->scope, "fully_connected");
    weir_output weights = make_weights(inner, x, WEIR_SHAPE(inputs, outputs), options);
    weir_output biases = make_biases(inner, x, outputs, options);
    return finish(inner, multiply_last(inner, x, weights, outputs), biases, options);
}

weir_output(weir_conv2d)(weir_scope s, weir_output x, int filters, int height, int width,
                         const weir_layer_options *options)
{
    options = options != NULL ? options : &no_layer_options;
    if (x.node == NULL || s.record == NULL || !check_positive(s, filters, "conv2d", "the number of filters") ||
        !check_positive(s, height, "conv2d", "the filter's height") ||
        !check_positive(s, width, "conv2d", "the filter's width"))
        return WEIR_NO_OUTPUT;
    int64_t channels = known_axis(s, x, 4, "conv2d");
    if (channels < 0)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_train_layer_scope(s, options->scope, "Conv");
    weir_output weights = make_weights(inner, x, WEIR_SHAPE(height, width, channels, filters), options);
    weir_output biases = make_biases(inner, x, filters, options);
    weir_output y = weir_conv2d_op(inner, x, weights, .stride = options->stride, .stride_width = options->stride_width,
                                   .padding = options->padding);
    return finish(inner, y, biases, options);
}

/* ---- Without variables ---- */

static weir_window_options window_of(const weir_pool_options *options)
{
    return (weir_window_options){.size = sizeof(weir_window_options),
                                 .stride = options->stride > 0 ? options->stride : 2,
                                 .stride_width = options->stride_width,
                                 .padding = options->same_padding ? WEIR_SAME : WEIR_VALID};
}

static weir_scope named_scope(weir_scope s, const char *scope, const char *default_name)
{
    return weir_in_scope(s, "%s", scope != NULL ? scope : default_name);
}

weir_output(weir_max_pool2d)(weir_scope s, weir_output x, int height, int width, const weir_pool_options *options)
{
    options = options != NULL ? options : &no_pool_options;
    weir_window_options window = window_of(options);
    return (weir_max_pool)(named_scope(s, options->scope, "MaxPool2D"), x, height, width, &window);
}

weir_output(weir_avg_pool2d)(weir_scope s, weir_output x, int height, int width, const weir_pool_options *options)
{
    options = options != NULL ? options : &no_pool_options;
    weir_window_options window = window_of(options);
    return (weir_avg_pool)(named_scope(s, options->scope, "AvgPool2D"), x, height, width, &window);
}

weir_output(weir_flatten)(weir_scope s, weir_output x, const weir_scope_options *options)
{
    weir_scope inner = weir_in_scope(named_scope(s, options != NULL ? options->scope : NULL, "Flatten"), "flatten");
    weir_shape shape = weir_output_shape(x);
    int64_t rest = 1;
    for (int i = 1; i < shape.rank; i++)
        rest = shape.dims[i] == WEIR_UNKNOWN_DIM || rest < 0 ? -1 : rest * shape.dims[i];
    if (x.node == NULL || shape.rank < 1 || rest < 0) {
        char text[WEIR_SHAPE_TEXT_SIZE];
        if (x.node != NULL)
            (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT,
                                               "flatten of '%s': all dimensions but the first have to be known, not %s",
                                               weir_node_name(x.node), weir_shape_text(shape, text, sizeof text)));
        return WEIR_NO_OUTPUT;
    }
    const int32_t dims[] = {-1, (int32_t)rest};
    weir_output target = weir_const(inner, WEIR_TENSOR_SHAPED(WEIR_INT32, WEIR_SHAPE(2), dims), .name = "Const");
    return weir_reshape_to(inner, x, target, .name = "Reshape");
}

weir_output weir_rows(weir_scope s, weir_output x)
{
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "rows");
    weir_output dims = weir_shape_op(inner, x, .name = "Shape");
    weir_output begin = weir_const(inner, WEIR_INT32S(0), .name = "stack");
    weir_output end = weir_const(inner, WEIR_INT32S(1), .name = "stack_1");
    weir_output step = weir_const(inner, WEIR_INT32S(1), .name = "stack_2");
    return weir_strided_slice(inner, dims, begin, end, step, .shrink_axis_mask = 1);
}
