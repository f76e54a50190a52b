/*
 * The gradient of FusedBatchNormGrad in its three versions: its formula is written out in plain ops, on copies of its
 * inputs so that no other way between them counts, and differentiated.
 */
#include "op/batch_norm_gradient.h"

#include <weir/gradients.h>

#include "op/array_pieces.h"

/* The inputs of the op, channels last, in float. */
typedef struct formula {
    weir_scope scope;
    weir_output dy, x, scale, mean, variance;
    float epsilon;
    weir_axes axes; /* all but the channels */
} formula;

static weir_output mean_of(const formula *f, weir_output x)
{
    return weir_reduce_mean(f->scope, x, .axes = f->axes);
}

static weir_output sum_of(const formula *f, weir_output x)
{
    return weir_reduce_sum(f->scope, x, .axes = f->axes);
}

/* rsqrt(variance + epsilon) */
static weir_output inverse_deviation(const formula *f, weir_output variance)
{
    return weir_rsqrt(f->scope, weir_build_with_number(f->scope, "AddV2", "add", variance, f->epsilon));
}

/* outputs: of x, scale and offset. */
static void training(const formula *f, weir_output outputs[3])
{
    weir_scope s = f->scope;
    weir_output mean = mean_of(f, f->x);
    weir_output variance = mean_of(f, weir_squared_difference(s, f->x, weir_stop_gradient(s, mean)));
    weir_output inverse = inverse_deviation(f, variance);
    weir_output centered = weir_subtract(s, f->x, mean);
    weir_output product = weir_multiply(s, f->dy, centered);
    weir_output part = weir_multiply(s, weir_multiply(s, weir_square(s, inverse), mean_of(f, product)), centered);
    weir_output rest = weir_subtract(s, weir_subtract(s, f->dy, mean_of(f, f->dy)), part);
    outputs[0] = weir_multiply(s, weir_multiply(s, f->scale, inverse), rest);
    outputs[1] = weir_multiply(s, inverse, sum_of(f, product));
    outputs[2] = sum_of(f, f->dy);
}

static void inference(const formula *f, weir_output outputs[3])
{
    weir_scope s = f->scope;
    weir_output inverse = inverse_deviation(f, f->variance);
    weir_output centered = weir_multiply(s, weir_subtract(s, f->x, f->mean), inverse);
    outputs[0] = weir_multiply(s, f->dy, weir_multiply(s, f->scale, inverse));
    outputs[1] = sum_of(f, weir_multiply(s, f->dy, centered));
    outputs[2] = sum_of(f, f->dy);
}

/* An image as the formula takes it, and a result as the image was. */
typedef struct image_form {
    int rank;
    bool is_first; /* channels before height and width */
} image_form;

static image_form form_of(const weir_node *node)
{
    weir_bytes format = weir_node_string(node, "data_format");
    return (image_form){format.size == 5 ? 5 : 4, format.size >= 2 && format.data[1] == 'C'};
}

static weir_output plain_image(weir_scope s, weir_output x, image_form form)
{
    x = weir_cast(s, x, WEIR_FLOAT);
    if (!form.is_first)
        return x;
    return form.rank == 4 ? weir_transpose(s, x, WEIR_AXES(0, 2, 3, 1))
                          : weir_transpose(s, x, WEIR_AXES(0, 2, 3, 4, 1));
}

weir_status weir_batch_norm_second_gradient(weir_gradient *gradient)
{
    const weir_node *node = gradient->node;
    image_form form = form_of(node);
    weir_output copies[3];
    weir_output outputs[3];
    formula f = {.scope = gradient->scope, .epsilon = weir_node_float(node, "epsilon", 0)};
    for (int i = 0; i < 3; i++)
        copies[i] = weir_identity(f.scope, weir_gradient_x(gradient, i));
    f.dy = plain_image(f.scope, copies[0], form);
    f.x = plain_image(f.scope, copies[1], form);
    f.scale = copies[2];
    f.mean = weir_gradient_x(gradient, 3);
    f.variance = weir_gradient_x(gradient, 4);
    f.axes = (weir_axes){true, form.rank - 1, {0, 1, 2, 3}};
    if (weir_node_bool(node, "is_training", true))
        training(&f, outputs);
    else
        inference(&f, outputs);
    weir_output ys[3], dys[3];
    int count = 0;
    for (int i = 0; i < 3; i++) {
        if (gradient->dy[i].node == NULL)
            continue;
        ys[count] = outputs[i];
        dys[count++] = i == 0 ? plain_image(f.scope, gradient->dy[0], form) : gradient->dy[i];
    }
    weir_gradients(f.scope, ys, count, copies, 3,
                   &(weir_gradients_options){.size = sizeof(weir_gradients_options), .grad_ys = dys}, gradient->dx);
    return WEIR_STATUS_OK;
}
