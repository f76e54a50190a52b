/*
 * Clipping by norms, with TensorFlow's nodes: guarded against division by zero, and NaN in one tensor makes all NaN.
 */
#include <stdlib.h>

#include "train/train_state.h"

/* A number as an operand, in a scope of the node's own as Python's operators make it. */
static weir_output with_number(weir_scope s, const char *op, const char *name, weir_output x, double y)
{
    weir_scope inner = weir_in_scope(s, "%s", name);
    weir_output number = weir_train_number(inner, weir_output_dtype(x), y, "y");
    return weir_train_binary(inner, op, x, number, weir_scope_name(inner));
}

static weir_output number_with(weir_scope s, const char *op, const char *name, double x, weir_output y)
{
    weir_scope inner = weir_in_scope(s, "%s", name);
    weir_output number = weir_train_number(inner, weir_output_dtype(y), x, "x");
    return weir_train_binary(inner, op, number, y, weir_scope_name(inner));
}

static weir_output choose(weir_scope s, weir_output condition, weir_output x, weir_output y)
{
    return weir_out(weir_op(s, "Select", WEIR_INPUTS(condition, x, y)), 0);
}

weir_output weir_clip_by_norm(weir_scope s, weir_output x, double clip)
{
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "clip_by_norm");
    weir_output squares = weir_train_binary(inner, "Mul", x, x, "mul");
    weir_output sum = weir_reduce_sum(inner, squares, .keep_dims = true);
    weir_output is_positive = with_number(inner, "Greater", "Greater", sum, 0);
    weir_output safe = choose(inner, is_positive, sum, weir_ones_like(inner, sum));
    weir_output norm = choose(inner, is_positive, weir_sqrt(inner, safe), sum);
    weir_output scaled = with_number(inner, "Mul", "mul", x, clip);
    weir_output divisor = with_number(inner, "Maximum", "Maximum", norm, clip);
    weir_output clipped = weir_train_binary(inner, "RealDiv", scaled, divisor, "truediv");
    return weir_identity(inner, clipped, .name = weir_scope_name(inner));
}

weir_output weir_global_norm(weir_scope s, const weir_output *xs, int count)
{
    if (s.record == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "global_norm");
    weir_output *halves = calloc((size_t)count + 1, sizeof *halves);
    if (halves == NULL)
        return WEIR_NO_OUTPUT;
    int used = 0;
    for (int i = 0; i < count; i++) {
        if (xs[i].node != NULL)
            halves[used++] = weir_l2_loss(weir_colocated_with(inner, xs[i].node), xs[i]);
    }
    weir_output norm = WEIR_NO_OUTPUT;
    if (used > 0) {
        weir_output sum = weir_reduce_sum(inner, weir_stack(inner, halves, used, 0, .name = "stack"));
        weir_output two = weir_train_number(inner, weir_output_dtype(sum), 2, "Const");
        norm = weir_sqrt(inner, weir_train_binary(inner, "Mul", sum, two, "mul"), .name = "global_norm");
    }
    free(halves);
    return norm;
}

/* clip * min(1 / norm, 1 / clip) + (norm - norm): the last term is NaN where the norm is not finite. */
static weir_output common_factor(weir_scope s, weir_output norm, double clip)
{
    weir_output inverse = number_with(s, "RealDiv", "truediv", 1, norm);
    weir_output one = weir_train_number(s, weir_output_dtype(norm), 1, "Const");
    weir_output least =
        weir_train_binary(s, "Minimum", inverse, with_number(s, "RealDiv", "truediv", one, clip), "Minimum");
    weir_output scale = number_with(s, "Mul", "mul", clip, least);
    weir_output trap = weir_train_binary(s, "Sub", norm, norm, "sub");
    return weir_train_binary(s, "AddV2", scale, trap, "add");
}

weir_output weir_clip_by_global_norm(weir_scope s, const weir_output *xs, int count, double clip, weir_output *clipped)
{
    weir_output norm = weir_global_norm(s, xs, count);
    if (norm.node == NULL)
        return norm;
    weir_scope inner = weir_in_scope(s, "clip_by_global_norm");
    weir_output factor = common_factor(inner, norm, clip);
    for (int i = 0; i < count; i++) {
        if (xs[i].node == NULL) {
            clipped[i] = WEIR_NO_OUTPUT;
            continue;
        }
        weir_scope beside = weir_colocated_with(inner, xs[i].node);
        weir_output product = weir_train_binary(
            beside, "Mul", xs[i], weir_cast(beside, factor, weir_dtype_base(weir_output_dtype(xs[i]))), "mul");
        const char *name = weir_train_text(s, "%s%s_%d/", weir_scope_name(inner), weir_scope_name(inner), i);
        clipped[i] = name != NULL ? weir_identity(beside, product, .name = name) : WEIR_NO_OUTPUT;
    }
    return norm;
}
