/*
 * Dropout, with the nodes of TensorFlow 2.21: what is dropped becomes exactly 0, whatever it was.
 */
#include "train/train_state.h"

static weir_output noise(weir_scope s, weir_output x, weir_output noise_shape, weir_seed seed)
{
    int64_t seed1, seed2;
    weir_shape shape = weir_output_shape(x);
    weir_output dims = noise_shape;
    if (dims.node == NULL)
        dims = weir_shape_known(shape) ? weir_shape_const(s, shape, "Shape") : weir_shape_op(s, x, .name = "Shape");
    if (dims.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "random_uniform");
    weir_scope_seeds(inner, seed, &seed1, &seed2);
    return weir_out(weir_op(inner, "RandomUniform", WEIR_INPUTS(dims),
                            WEIR_ATTRS(WEIR_ATTR_I("seed", seed1), WEIR_ATTR_I("seed2", seed2),
                                       WEIR_ATTR_T("dtype", weir_dtype_base(weir_output_dtype(x))))),
                    0);
}

static weir_output train_form(weir_scope s, weir_output x, double keep, const weir_dropout_options *options)
{
    weir_dtype dtype = weir_output_dtype(x);
    weir_scope inner = weir_in_scope(s, "dropout_1");
    double rate = 1 - keep;
    weir_output factor = weir_train_number(inner, dtype, 1 / (1 - rate), "Const");
    weir_output scaled = weir_train_binary(inner, "Mul", x, factor, "Mul");
    weir_output drawn = noise(inner, x, options->noise_shape, options->seed);
    weir_scope compare = weir_in_scope(inner, "GreaterEqual");
    weir_output least = weir_train_number(compare, dtype, rate, "y");
    weir_output is_kept = weir_train_binary(compare, "GreaterEqual", drawn, least, weir_scope_name(compare));
    weir_output zero = weir_train_number(inner, dtype, 0, "Const");
    return weir_out(weir_op(inner, "SelectV2", WEIR_INPUTS(is_kept, scaled, zero)), 0);
}

weir_output(weir_dropout)(weir_scope s, weir_output x, double keep, const weir_dropout_options *options)
{
    static const weir_dropout_options none = {0};
    options = options != NULL ? options : &none;
    if (x.node == NULL || s.record == NULL)
        return WEIR_NO_OUTPUT;
    if (!(keep > 0 && keep <= 1)) {
        (void)weir_scope_fail(s,
                              weir_fail(WEIR_INVALID_ARGUMENT,
                                        "dropout of '%s': keep must be above 0 and at most 1, not %g; it is the share "
                                        "that is kept",
                                        weir_node_name(x.node), keep));
        return WEIR_NO_OUTPUT;
    }
    weir_scope inner = weir_train_layer_scope(s, options->scope, "Dropout");
    bool is_training = weir_train_is_training(s, options->is_training);
    if (!is_training || keep == 1)
        return weir_identity(inner, x, .name = "Identity");
    weir_train_layer layer = {.kind = WEIR_LAYER_DROPOUT, .is_training = true, .x = x};
    layer.y = train_form(inner, x, keep, options);
    layer.normal = layer.y.node;
    if (layer.y.node == NULL || weir_train_add_layer(s, &layer) == NULL)
        return WEIR_NO_OUTPUT;
    return layer.y;
}
