/*
 * Batch normalisation: FusedBatchNorm and its gradient in TensorFlow's three versions, and _FusedBatchNormEx, which a
 * TensorFlow master sends. Schemas, shape rules, gradients; kernels: batch_norm_kernels.c.
 */
#include "op/array_kernels.h"
#include "op/array_pieces.h"
#include "op/batch_norm_gradient.h"

/* ---- Shape rules ---- */

/* Rank of the images and their axis of channels. */
static void read_format(const weir_node *node, int *rank, int *channel_axis)
{
    weir_bytes format = weir_node_string(node, "data_format");
    *rank = format.size == 5 ? 5 : 4;
    *channel_axis = format.size >= 2 && format.data[1] == 'C' ? 1 : *rank - 1;
}

/* Inputs first .. last are vectors of channels. */
static weir_status merge_channels(const weir_infer *infer, int first, int last, int64_t *channels)
{
    for (int i = first; i <= last; i++) {
        weir_shape vector;
        WEIR_TRY(weir_infer_rank(infer, i, 1, &vector));
        WEIR_TRY(weir_infer_dim(*channels, vector.dims[0], channels));
    }
    return WEIR_STATUS_OK;
}

static weir_status infer_forward(weir_infer *infer)
{
    int rank, axis;
    weir_shape x;
    read_format(infer->node, &rank, &axis);
    WEIR_TRY(weir_infer_rank(infer, 0, rank, &x));
    bool uses_given = !weir_node_bool(infer->node, "is_training", true) ||
                      weir_node_float(infer->node, "exponential_avg_factor", 1) != 1;
    WEIR_TRY(merge_channels(infer, 1, uses_given ? 4 : 2, &x.dims[axis]));
    infer->outputs[0] = x;
    for (int i = 1; i < 5; i++)
        infer->outputs[i] = (weir_shape){1, {x.dims[axis]}};
    return WEIR_STATUS_OK;
}

static weir_status infer_backward(weir_infer *infer)
{
    int rank, axis;
    weir_shape dy, x;
    read_format(infer->node, &rank, &axis);
    WEIR_TRY(weir_infer_rank(infer, 0, rank, &dy));
    WEIR_TRY(weir_infer_rank(infer, 1, rank, &x));
    WEIR_TRY(weir_infer_dim(dy.dims[axis], x.dims[axis], &dy.dims[axis]));
    WEIR_TRY(merge_channels(infer, 2, 4, &dy.dims[axis]));
    infer->outputs[0] = dy;
    infer->outputs[1] = infer->outputs[2] = (weir_shape){1, {dy.dims[axis]}};
    infer->outputs[3] = infer->outputs[4] = (weir_shape){1, {0}};
    return WEIR_STATUS_OK;
}

/* ---- Gradient ---- */

/* Channels to the last axis and back. */
static weir_output to_channels_last(weir_scope s, weir_output x, int rank)
{
    return rank == 4 ? weir_transpose(s, x, WEIR_AXES(0, 2, 3, 1)) : weir_transpose(s, x, WEIR_AXES(0, 2, 3, 4, 1));
}

static weir_output from_channels_last(weir_scope s, weir_output x, int rank)
{
    return rank == 4 ? weir_transpose(s, x, WEIR_AXES(0, 3, 1, 2)) : weir_transpose(s, x, WEIR_AXES(0, 4, 1, 2, 3));
}

/* In inference the given mean and variance take the place of the batch's, and the channels come last. */
static weir_status grad_forward(weir_gradient *gradient, const char *op, int num_inputs)
{
    weir_scope s = gradient->scope;
    bool is_training = weir_node_bool(gradient->node, "is_training", true);
    int rank, axis;
    read_format(gradient->node, &rank, &axis);
    bool moves = !is_training && axis == 1;
    weir_output x = weir_gradient_x(gradient, 0);
    weir_output dy = weir_gradient_dy(gradient, 0);
    if (moves) {
        x = to_channels_last(s, x, rank);
        dy = to_channels_last(s, dy, rank);
    }
    const weir_output inputs[] = {dy,
                                  x,
                                  weir_gradient_x(gradient, 1),
                                  is_training ? weir_gradient_y(gradient, 3) : weir_gradient_x(gradient, 3),
                                  is_training ? weir_gradient_y(gradient, 4) : weir_gradient_x(gradient, 4),
                                  num_inputs == 6 ? weir_gradient_y(gradient, 5) : WEIR_NO_OUTPUT};
    weir_attr attrs[] = {WEIR_ATTR_F("epsilon", weir_node_float(gradient->node, "epsilon", 0)),
                         WEIR_ATTR_B("is_training", is_training),
                         {"data_format", *weir_node_find_attr(gradient->node, "data_format")}};
    if (moves)
        attrs[2] = rank == 4 ? WEIR_ATTR_S("data_format", "NHWC") : WEIR_ATTR_S("data_format", "NDHWC");
    weir_node *node = weir_op(s, op, .inputs = inputs, .num_inputs = num_inputs, .attrs = attrs, .num_attrs = 3);
    weir_output dx = weir_out(node, 0);
    weir_gradient_set(gradient, 0, moves ? from_channels_last(s, dx, rank) : dx);
    weir_gradient_set(gradient, 1, weir_out(node, 1));
    weir_gradient_set(gradient, 2, weir_out(node, 2));
    return WEIR_STATUS_OK;
}

static weir_status grad_v1(weir_gradient *gradient)
{
    return grad_forward(gradient, "FusedBatchNormGrad", 5);
}

static weir_status grad_v2(weir_gradient *gradient)
{
    return grad_forward(gradient, "FusedBatchNormGradV2", 5);
}

static weir_status grad_v3(weir_gradient *gradient)
{
    return grad_forward(gradient, "FusedBatchNormGradV3", 6);
}

/* ---- Ops ---- */

static const weir_dtype only_float[] = {WEIR_FLOAT, WEIR_INVALID_DTYPE};
static const weir_dtype image_types[] = {WEIR_HALF, WEIR_BFLOAT16, WEIR_FLOAT, WEIR_INVALID_DTYPE};
static const weir_dtype fused_types[] = {WEIR_HALF, WEIR_FLOAT, WEIR_BFLOAT16, WEIR_INVALID_DTYPE};
static const weir_dtype v3_vector_types[] = {WEIR_BFLOAT16, WEIR_FLOAT, WEIR_INVALID_DTYPE};

#define FORMATS_2D WEIR_A_CHOICE("data_format", "NHWC", WEIR_TEXTS("NHWC", "NCHW"))
#define FORMATS WEIR_A_CHOICE("data_format", "NHWC", WEIR_TEXTS("NHWC", "NCHW", "NDHWC", "NCDHW"))
#define EPSILON WEIR_A_FLOAT("epsilon", 0.0001f)
#define FACTOR WEIR_A_FLOAT("exponential_avg_factor", 1.0f)
#define TRAINING WEIR_A_BOOL("is_training", true)
#define TYPED(n, t) {(n), .type_attr = (t)}
#define FORWARD_INPUTS(u) TYPED("x", "T"), TYPED("scale", u), TYPED("offset", u), TYPED("mean", u), TYPED("variance", u)
#define FORWARD_OUTPUTS(u)                                                                                             \
    TYPED("y", "T"), TYPED("batch_mean", u), TYPED("batch_variance", u), TYPED("reserve_space_1", u),                  \
        TYPED("reserve_space_2", u)
#define GRADIENT_OUTPUTS(u, a, b)                                                                                      \
    TYPED("x_backprop", "T"), TYPED("scale_backprop", u), TYPED("offset_backprop", u), TYPED(a, u), TYPED(b, u)

static const weir_op_def ops[] = {
    {"FusedBatchNorm", .inputs = WEIR_ARGS(FORWARD_INPUTS("T")), .outputs = WEIR_ARGS(FORWARD_OUTPUTS("T")),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", only_float), EPSILON, FACTOR, FORMATS_2D, TRAINING),
     .infer = infer_forward, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_v1},
    {"FusedBatchNormV2", .inputs = WEIR_ARGS(FORWARD_INPUTS("U")), .outputs = WEIR_ARGS(FORWARD_OUTPUTS("U")),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", image_types), WEIR_A_TYPE("U", only_float), EPSILON, FACTOR, FORMATS_2D,
                             TRAINING),
     .infer = infer_forward, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_v2},
    {"FusedBatchNormV3", .inputs = WEIR_ARGS(FORWARD_INPUTS("U")),
     .outputs = WEIR_ARGS(FORWARD_OUTPUTS("U"), TYPED("reserve_space_3", "U")),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", image_types), WEIR_A_TYPE("U", v3_vector_types), EPSILON, FACTOR, FORMATS,
                             TRAINING),
     .infer = infer_forward, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = grad_v3},
    {"_FusedBatchNormEx",
     .inputs = WEIR_ARGS(FORWARD_INPUTS("U"), {"side_input", .type_attr = "T", .number_attr = "num_side_inputs"}),
     .outputs = WEIR_ARGS(FORWARD_OUTPUTS("U"), TYPED("reserve_space_3", "U")),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", fused_types), WEIR_A_TYPE("U", only_float), EPSILON, FACTOR,
                             {.name = "num_side_inputs",
                              .kind = WEIR_ATTR_INT,
                              .has_default = true,
                              .value = {.kind = WEIR_ATTR_INT},
                              .has_minimum = true},
                             WEIR_A_STRING("activation_mode", "Identity"), FORMATS_2D, TRAINING),
     .infer = infer_forward},
    {"FusedBatchNormGrad",
     .inputs = WEIR_ARGS(TYPED("y_backprop", "T"), TYPED("x", "T"), TYPED("scale", "T"), TYPED("reserve_space_1", "T"),
                         TYPED("reserve_space_2", "T")),
     .outputs = WEIR_ARGS(GRADIENT_OUTPUTS("T", "reserve_space_3", "reserve_space_4")),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", only_float), EPSILON, FORMATS_2D, TRAINING), .infer = infer_backward,
     .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = weir_batch_norm_second_gradient},
    {"FusedBatchNormGradV2",
     .inputs = WEIR_ARGS(TYPED("y_backprop", "T"), TYPED("x", "T"), {"scale", .type = WEIR_FLOAT},
                         TYPED("reserve_space_1", "U"), TYPED("reserve_space_2", "U")),
     .outputs = WEIR_ARGS(GRADIENT_OUTPUTS("U", "reserve_space_3", "reserve_space_4")),
     .attrs =
         WEIR_ATTR_DEFS(WEIR_A_TYPE("T", image_types), WEIR_A_TYPE("U", only_float), EPSILON, FORMATS_2D, TRAINING),
     .infer = infer_backward, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = weir_batch_norm_second_gradient},
    {"FusedBatchNormGradV3",
     .inputs = WEIR_ARGS(TYPED("y_backprop", "T"), TYPED("x", "T"), {"scale", .type = WEIR_FLOAT},
                         TYPED("reserve_space_1", "U"), TYPED("reserve_space_2", "U"), TYPED("reserve_space_3", "U")),
     .outputs = WEIR_ARGS(GRADIENT_OUTPUTS("U", "reserve_space_4", "reserve_space_5")),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", image_types), WEIR_A_TYPE("U", only_float), EPSILON, FORMATS, TRAINING),
     .infer = infer_backward, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = weir_batch_norm_second_gradient},
    {.name = NULL},
};

const weir_op_family weir_family_batch_norm = {"batch_norm", ops, weir_batch_norm_op_kernels};
