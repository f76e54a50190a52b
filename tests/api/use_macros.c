/*
 * Uses the macro of every builder of <weir/ops.h>, with and without options. It is compiled, never run: test_macros.sh
 * wants it to be free of warnings, and every builder to be here.
 */
#include <weir/ops.h>

weir_output use_inputs(weir_scope s);
weir_output use_unary(weir_scope s, weir_output x);
weir_output use_binary(weir_scope s, weir_output x, weir_output y);
weir_output use_mathematics(weir_scope s, weir_output x, weir_output y);
weir_output use_arrays(weir_scope s, weir_output x, weir_output y);
weir_output use_networks(weir_scope s, weir_output x, weir_output y);
weir_output use_state(weir_scope s, weir_output x);

weir_output use_inputs(weir_scope s)
{
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 784));
    x = weir_placeholder(s, WEIR_FLOAT, WEIR_SCALAR, .name = "x");
    x = weir_const(s, WEIR_FLOATS(1, 2, 3));
    x = weir_const(s, WEIR_DOUBLE_OF(0.5), .name = "half");
    x = weir_const(s, WEIR_STRING_OF("text"));
    x = weir_const(s, WEIR_TENSOR_SHAPED(WEIR_INT32, WEIR_SHAPE(1, 2), ((const int32_t[]){3, 4})), .name = "c");
    return x;
}

weir_output use_unary(weir_scope s, weir_output x)
{
    x = weir_identity(s, x);
    x = weir_identity(s, x, .name = "n");
    x = weir_stop_gradient(s, x);
    x = weir_stop_gradient(s, x, .name = "n");
    x = weir_negative(s, x);
    x = weir_negative(s, x, .name = "n");
    x = weir_reciprocal(s, x);
    x = weir_reciprocal(s, x, .name = "n");
    x = weir_square(s, x);
    x = weir_square(s, x, .name = "n");
    x = weir_sqrt(s, x);
    x = weir_sqrt(s, x, .name = "n");
    x = weir_rsqrt(s, x);
    x = weir_rsqrt(s, x, .name = "n");
    x = weir_exp(s, x);
    x = weir_exp(s, x, .name = "n");
    x = weir_log(s, x);
    x = weir_log(s, x, .name = "n");
    x = weir_abs(s, x);
    x = weir_abs(s, x, .name = "n");
    x = weir_sign(s, x);
    x = weir_sign(s, x, .name = "n");
    x = weir_floor(s, x);
    x = weir_floor(s, x, .name = "n");
    x = weir_round(s, x);
    x = weir_round(s, x, .name = "n");
    x = weir_relu(s, x);
    x = weir_relu(s, x, .name = "n");
    x = weir_relu6(s, x);
    x = weir_relu6(s, x, .name = "n");
    x = weir_elu(s, x);
    x = weir_elu(s, x, .name = "n");
    x = weir_sigmoid(s, x);
    x = weir_sigmoid(s, x, .name = "n");
    x = weir_tanh(s, x);
    x = weir_tanh(s, x, .name = "n");
    x = weir_softplus(s, x);
    x = weir_softplus(s, x, .name = "n");
    x = weir_softmax(s, x);
    x = weir_softmax(s, x, .name = "n");
    x = weir_log_softmax(s, x);
    x = weir_log_softmax(s, x, .name = "n");
    x = weir_l2_loss(s, x);
    x = weir_l2_loss(s, x, .name = "n");
    x = weir_logical_not(s, x);
    x = weir_logical_not(s, x, .name = "n");
    x = weir_zeros_like(s, x);
    x = weir_zeros_like(s, x, .name = "n");
    x = weir_ones_like(s, x);
    x = weir_ones_like(s, x, .name = "n");
    x = weir_shape_op(s, x);
    x = weir_shape_op(s, x, .name = "n");
    x = weir_size(s, x);
    x = weir_size(s, x, .name = "n");
    x = weir_rank(s, x);
    x = weir_rank(s, x, .name = "n");
    x = weir_invert_permutation(s, x);
    x = weir_invert_permutation(s, x, .name = "n");
    x = weir_where(s, x);
    x = weir_where(s, x, .name = "n");
    return x;
}

weir_output use_binary(weir_scope s, weir_output x, weir_output y)
{
    x = weir_add(s, x, y);
    x = weir_add(s, x, y, .name = "n");
    x = weir_subtract(s, x, y);
    x = weir_subtract(s, x, y, .name = "n");
    x = weir_multiply(s, x, y);
    x = weir_multiply(s, x, y, .name = "n");
    x = weir_divide(s, x, y);
    x = weir_divide(s, x, y, .name = "n");
    x = weir_floor_div(s, x, y);
    x = weir_floor_div(s, x, y, .name = "n");
    x = weir_floor_mod(s, x, y);
    x = weir_floor_mod(s, x, y, .name = "n");
    x = weir_pow(s, x, y);
    x = weir_pow(s, x, y, .name = "n");
    x = weir_maximum(s, x, y);
    x = weir_maximum(s, x, y, .name = "n");
    x = weir_minimum(s, x, y);
    x = weir_minimum(s, x, y, .name = "n");
    x = weir_squared_difference(s, x, y);
    x = weir_squared_difference(s, x, y, .name = "n");
    x = weir_equal(s, x, y);
    x = weir_equal(s, x, y, .name = "n");
    x = weir_not_equal(s, x, y);
    x = weir_not_equal(s, x, y, .name = "n");
    x = weir_greater(s, x, y);
    x = weir_greater(s, x, y, .name = "n");
    x = weir_greater_equal(s, x, y);
    x = weir_greater_equal(s, x, y, .name = "n");
    x = weir_less(s, x, y);
    x = weir_less(s, x, y, .name = "n");
    x = weir_less_equal(s, x, y);
    x = weir_less_equal(s, x, y, .name = "n");
    x = weir_logical_and(s, x, y);
    x = weir_logical_and(s, x, y, .name = "n");
    x = weir_logical_or(s, x, y);
    x = weir_logical_or(s, x, y, .name = "n");
    x = weir_bias_add(s, x, y);
    x = weir_bias_add(s, x, y, .name = "n");
    x = weir_reshape_to(s, x, y);
    x = weir_reshape_to(s, x, y, .name = "n");
    x = weir_fill(s, x, y);
    x = weir_fill(s, x, y, .name = "n");
    x = weir_tile(s, x, y);
    x = weir_tile(s, x, y, .name = "n");
    x = weir_broadcast_to(s, x, y);
    x = weir_broadcast_to(s, x, y, .name = "n");
    x = weir_transpose_by(s, x, y);
    x = weir_transpose_by(s, x, y, .name = "n");
    x = weir_pad(s, x, y);
    x = weir_pad(s, x, y, .name = "n");
    x = weir_gather_rows(s, x, y);
    x = weir_gather_rows(s, x, y, .name = "n");
    return x;
}

weir_output use_mathematics(weir_scope s, weir_output x, weir_output y)
{
    x = weir_add_n(s, WEIR_OUTPUTS(x, y));
    x = weir_add_n(s, WEIR_OUTPUTS(x, y), .name = "n");
    const weir_output list[] = {x, y};
    x = weir_add_n(s, list, 2);
    x = weir_select(s, x, y, x);
    x = weir_select(s, x, y, x, .name = "n");
    x = weir_cast(s, x, WEIR_INT32);
    x = weir_cast(s, x, WEIR_INT32, .name = "n");
    x = weir_matmul(s, x, y);
    x = weir_matmul(s, x, y, .transpose_a = true, .transpose_b = true, .name = "n");
    x = weir_clip_by_value(s, x, 0, 1);
    x = weir_clip_by_value(s, x, 0, 1, .name = "n");
    x = weir_argmax(s, x, 1);
    x = weir_argmax(s, x, 1, .name = "n");
    x = weir_argmin(s, x, -1);
    x = weir_argmin(s, x, -1, .name = "n");
    x = weir_in_top_k(s, x, y, 5);
    x = weir_in_top_k(s, x, y, 5, .name = "n");
    x = weir_cumsum(s, x, 0);
    x = weir_cumsum(s, x, 0, .name = "n");
    x = weir_reduce_sum(s, x);
    x = weir_reduce_sum(s, x, .axes = WEIR_AXES(0, 1), .keep_dims = true);
    x = weir_reduce_mean(s, x);
    x = weir_reduce_mean(s, x, .axes = WEIR_AXES(0, 1), .keep_dims = true);
    x = weir_reduce_prod(s, x);
    x = weir_reduce_prod(s, x, .axes = WEIR_AXES(0, 1), .keep_dims = true);
    x = weir_reduce_max(s, x);
    x = weir_reduce_max(s, x, .axes = WEIR_AXES(0, 1), .keep_dims = true);
    x = weir_reduce_min(s, x);
    x = weir_reduce_min(s, x, .axes = WEIR_AXES(0, 1), .keep_dims = true);
    x = weir_reduce_all(s, x);
    x = weir_reduce_all(s, x, .axes = WEIR_AXES(0, 1), .keep_dims = true);
    x = weir_reduce_any(s, x);
    x = weir_reduce_any(s, x, .axes = WEIR_AXES(0, 1), .keep_dims = true);
    /* calls as parameters, of the same macro too, and the macro's name as a function */
    x = weir_add(s, weir_add(s, x, y), weir_multiply(s, weir_add(s, x, y, .name = "inner"), y), .name = "outer");
    weir_output (*add)(weir_scope, weir_output, weir_output, const weir_name_options *) = weir_add;
    x = add(s, x, y, NULL);
    x = (weir_add)(s, x, y, NULL);
    return x;
}

weir_output use_arrays(weir_scope s, weir_output x, weir_output y)
{
    x = weir_reshape(s, x, WEIR_SHAPE(-1, 28, 28, 1));
    x = weir_reshape(s, x, WEIR_SHAPE(-1, 28, 28, 1), .name = "n");
    x = weir_expand_dims(s, x, 0);
    x = weir_expand_dims(s, x, 0, .name = "n");
    x = weir_squeeze(s, x, WEIR_AXES(0, 1));
    x = weir_squeeze(s, x, WEIR_AXES(0, 1), .name = "n");
    x = weir_transpose(s, x, WEIR_AXES(1, 0));
    x = weir_transpose(s, x, WEIR_AXES(1, 0), .name = "n");
    x = weir_transpose(s, x, (weir_axes){0});
    x = weir_concat(s, WEIR_OUTPUTS(x, y), 0);
    x = weir_concat(s, WEIR_OUTPUTS(x, y), 0, .name = "n");
    x = weir_stack(s, WEIR_OUTPUTS(x, y), 0);
    x = weir_stack(s, WEIR_OUTPUTS(x, y), 0, .name = "n");
    x = weir_out(weir_unstack(s, x, 2, 0), 1);
    x = weir_out(weir_unstack(s, x, 2, 0, .name = "n"), 1);
    x = weir_out(weir_split(s, x, 2, 0), 1);
    x = weir_out(weir_split(s, x, 2, 0, .name = "n"), 1);
    x = weir_slice(s, x, y, y);
    x = weir_slice(s, x, y, y, .name = "n");
    x = weir_strided_slice(s, x, y, y, y);
    x = weir_strided_slice(s, x, y, y, y, .begin_mask = 1, .shrink_axis_mask = 2);
    x = weir_gather(s, x, y, 0);
    x = weir_gather(s, x, y, 0, .name = "n");
    x = weir_range(s, x, y, y);
    x = weir_range(s, x, y, y, .name = "n");
    x = weir_one_hot(s, x, 10);
    x = weir_one_hot(s, x, 10, .dtype = WEIR_INT32, .first_axis = true);
    return x;
}

weir_output use_networks(weir_scope s, weir_output x, weir_output y)
{
    x = weir_conv2d_op(s, x, y);
    x = weir_conv2d_op(s, x, y, .stride = 2, .padding = WEIR_VALID);
    x = weir_max_pool(s, x, 2, 2);
    x = weir_max_pool(s, x, 2, 2, .stride = 1);
    x = weir_avg_pool(s, x, 2, 2);
    x = weir_avg_pool(s, x, 2, 2, .padding = WEIR_VALID);
    x = weir_softmax_cross_entropy(s, x, y);
    x = weir_softmax_cross_entropy(s, x, y, .name = "n");
    x = weir_sparse_softmax_cross_entropy(s, x, y);
    x = weir_sparse_softmax_cross_entropy(s, x, y, .name = "n");
    x = weir_random_uniform(s, y);
    x = weir_random_uniform(s, y, .minimum = -1, .maximum = 1, .seed = WEIR_SEED(7));
    x = weir_random_normal(s, y);
    x = weir_random_normal(s, y, .mean = 1, .stddev = 2);
    x = weir_truncated_normal(s, y);
    x = weir_truncated_normal(s, y, .dtype = WEIR_DOUBLE);
    x = weir_random_shuffle(s, x);
    x = weir_random_shuffle(s, x, .seed = WEIR_SEED(0));
    return x;
}

weir_output use_state(weir_scope s, weir_output x)
{
    weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(2, 3));
    v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SCALAR, .name = "v");
    x = weir_assign(s, v, x);
    x = weir_assign(s, v, x, .name = "n");
    x = weir_assign_add(s, v, x);
    x = weir_assign_add(s, v, x, .name = "n");
    x = weir_assign_sub(s, v, x);
    x = weir_assign_sub(s, v, x, .name = "n");
    x = weir_is_variable_initialized(s, v);
    x = weir_is_variable_initialized(s, v, .name = "n");
    return x;
}
