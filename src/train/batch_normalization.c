/*
 * Batch norm, in both forms: by the statistics of the batch, which also move the moving ones, or by the moving ones.
 */
#include "train/train_state.h"

/* Below this the kernels of accelerators do not go. */
#define LEAST_EPSILON 1.001e-5

static weir_output make_part(weir_scope s, const char *name, int64_t channels, double value, bool is_frozen)
{
    return weir_get_variable(s, name, WEIR_SHAPE(channels), .no_regularizer = true, .is_model = true,
                             .frozen = is_frozen,
                             .initializer = value == 0 ? weir_zeros_initializer() : weir_ones_initializer());
}

static weir_output filled(weir_scope s, int64_t channels, double value)
{
    return weir_fill_const(s, WEIR_FLOAT, WEIR_SHAPE(channels), value, "Const");
}

static weir_node *fused(weir_scope s, const weir_output inputs[5], double epsilon, bool is_training)
{
    return weir_op(s, "FusedBatchNormV3", WEIR_INPUTS(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]),
                   WEIR_ATTRS(WEIR_ATTR_F("epsilon", (float)(epsilon > LEAST_EPSILON ? epsilon : LEAST_EPSILON)),
                              WEIR_ATTR_B("is_training", is_training)));
}

/* moving -= (moving - value) * (1 - decay) */
static weir_node *move(weir_scope s, weir_output moving, weir_output value, double decay)
{
    weir_output ref = weir_variable_ref(moving);
    if (ref.node == NULL || value.node == NULL)
        return NULL;
    weir_scope inner = weir_in_scope(s, "AssignMovingAvg");
    weir_output rate = weir_train_number(inner, WEIR_FLOAT, 1 - decay, "decay");
    weir_output difference = weir_train_binary(inner, "Sub", moving, value, "sub");
    weir_output step = weir_train_binary(inner, "Mul", difference, rate, "mul");
    return weir_assign_sub(weir_colocated_with(inner, ref.node), ref, step, .name = weir_scope_name(inner)).node;
}

/* x [n, c] as [n, 1, 1, c], which is all that the kernels know. */
static weir_output as_images(weir_scope s, weir_output x)
{
    weir_shape shape = weir_output_shape(x);
    return shape.rank == 4 ? x : weir_reshape(s, x, WEIR_SHAPE(-1, 1, 1, shape.dims[shape.rank - 1]));
}

static weir_output as_before(weir_scope s, weir_output y, weir_output x)
{
    weir_shape shape = weir_output_shape(x);
    return shape.rank == 4 ? y : weir_reshape(s, y, WEIR_SHAPE(-1, shape.dims[1]));
}

static void move_statistics(weir_scope s, weir_train_layer *layer, const weir_normalizer *normalizer)
{
    double decay = normalizer->decay == 0 ? 0.999 : normalizer->decay;
    layer->updates[0] = move(s, layer->mean, weir_out(layer->normal, 1), decay);
    layer->updates[1] = move(s, layer->variance, weir_out(layer->normal, 2), decay);
}

/* With images, scale and offset in place of the layer's. */
static weir_output train_form(weir_scope s, weir_train_layer *layer, const weir_output inputs[3],
                              const weir_normalizer *normalizer)
{
    weir_output none = weir_fill_const(s, WEIR_FLOAT, WEIR_SHAPE(0), 0, "Const");
    weir_output none_either = weir_fill_const(s, WEIR_FLOAT, WEIR_SHAPE(0), 0, "Const");
    const weir_output all[] = {inputs[0], inputs[1], inputs[2], none, none_either};
    layer->normal = fused(s, all, layer->epsilon, true);
    if (layer->normal == NULL)
        return WEIR_NO_OUTPUT;
    weir_output y = weir_out(layer->normal, 0);
    if (weir_train_is_further_tower(s))
        return y;
    move_statistics(s, layer, normalizer);
    if (layer->updates[0] == NULL || layer->updates[1] == NULL)
        return WEIR_NO_OUTPUT;
    if (normalizer->update_in_place) {
        y = weir_identity(weir_after_nodes(s, layer->updates, 2), y, .name = "Identity");
        layer->updates[0] = layer->updates[1] = NULL;
        return y;
    }
    weir_graph *graph = weir_scope_graph(s);
    for (int i = 0; i < 2; i++)
        weir_collect_output(graph, WEIR_UPDATE_OPS, weir_out(layer->updates[i], 0));
    return y;
}

static weir_status check_input(weir_output x)
{
    weir_shape shape = weir_output_shape(x);
    char text[WEIR_SHAPE_TEXT_SIZE];
    bool is_fine = (shape.rank == 2 || shape.rank == 4) && shape.dims[shape.rank - 1] != WEIR_UNKNOWN_DIM;
    if (is_fine && weir_dtype_base(weir_output_dtype(x)) == WEIR_FLOAT)
        return WEIR_STATUS_OK;
    return weir_fail(
        WEIR_INVALID_ARGUMENT,
        "batch_norm of '%s': the input must be float of shape [n, c] or [n, h, w, c] with c known, not %s of "
        "shape %s",
        weir_node_name(x.node), weir_dtype_name(weir_output_dtype(x)), weir_shape_text(shape, text, sizeof text));
}

static weir_output activated(weir_scope s, weir_output y, const weir_normalize_options *options)
{
    weir_activation activation = options != NULL ? options->activation : WEIR_LINEAR;
    return weir_train_activate(s, y, activation);
}

weir_output(weir_normalize)(weir_scope s, weir_output x, weir_normalizer normalizer,
                            const weir_normalize_options *options)
{
    if (x.node == NULL || s.record == NULL || !weir_ok(weir_scope_fail(s, check_input(x))))
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_train_layer_scope(s, options != NULL ? options->scope : NULL, "BatchNorm");
    weir_shape shape = weir_output_shape(x);
    int64_t channels = shape.dims[shape.rank - 1];
    weir_output images = as_images(inner, x);
    weir_train_layer layer = {.kind = WEIR_LAYER_BATCH_NORM,
                              .is_training = weir_train_is_training(s, normalizer.is_training),
                              .is_frozen = normalizer.frozen,
                              .x = x,
                              .epsilon = normalizer.epsilon == 0 ? 0.001 : normalizer.epsilon};
    if (!normalizer.no_center)
        layer.offset = make_part(inner, "beta", channels, 0, normalizer.frozen);
    weir_output offset = normalizer.no_center ? filled(inner, channels, 0) : layer.offset;
    if (normalizer.scale)
        layer.scale = make_part(inner, "gamma", channels, 1, normalizer.frozen);
    weir_output scale = normalizer.scale ? layer.scale : filled(inner, channels, 1);
    layer.mean = make_part(inner, "moving_mean", channels, 0, true);
    layer.variance = make_part(inner, "moving_variance", channels, 1, true);
    const weir_output inputs[] = {images, scale, offset, layer.mean, layer.variance};
    weir_output y;
    if (layer.is_training) {
        y = train_form(inner, &layer, inputs, &normalizer);
    } else {
        layer.normal = fused(inner, inputs, layer.epsilon, false);
        y = weir_out(layer.normal, 0);
    }
    if (y.node == NULL)
        return WEIR_NO_OUTPUT;
    layer.y = as_before(inner, y, x);
    if (weir_train_add_layer(s, &layer) == NULL)
        return WEIR_NO_OUTPUT;
    return activated(inner, layer.y, options);
}

weir_output weir_train_build_inference(weir_scope s, weir_output x, const weir_train_layer *layer)
{
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_shape shape = weir_output_shape(x);
    int64_t channels = shape.dims[shape.rank - 1];
    weir_scope inner = weir_in_scope(s, "BatchNorm");
    weir_output scale = layer->scale.node != NULL ? layer->scale : filled(inner, channels, 1);
    weir_output offset = layer->offset.node != NULL ? layer->offset : filled(inner, channels, 0);
    const weir_output inputs[] = {as_images(inner, x), scale, offset, layer->mean, layer->variance};
    weir_node *node = fused(inner, inputs, layer->epsilon, false);
    return node != NULL ? as_before(inner, weir_out(node, 0), x) : WEIR_NO_OUTPUT;
}
