/*
 * The macros behind which the builders of <weir/ops.h> take options. Include that header, not this one.
 *
 * weir_add(s, x, y, .name = "sum") calls (weir_add) with the caller's file and line in the scope and the options in a
 * struct. All macros are variadic and get a last, empty argument, so that leaving the options out is no empty variadic
 * part, which -pedantic reports. Parameters whose initializers hold commas go through macros that put parentheses
 * around them, such as WEIR_AXES(0, 1), WEIR_SHAPE(2, 3) and WEIR_OUTPUTS(a, b).
 */
#ifndef WEIR_OPS_MACROS_H
#define WEIR_OPS_MACROS_H

/* Outputs and how many there are, as two parameters: weir_concat(s, WEIR_OUTPUTS(a, b), 0). */
#define WEIR_OUTPUTS(...)                                                                                              \
    ((const weir_output[]){__VA_ARGS__}), ((int)(sizeof((const weir_output[]){__VA_ARGS__}) / sizeof(weir_output)))

/* The options; what follows type ends with a comma or is empty. */
#define WEIR_OPTIONS_(type, ...) &(const type){.size = sizeof(type), __VA_ARGS__}

/* Calls with a scope, then 0 to 4 parameters, then options. */
#define WEIR_CALL_0_(call, type, s, ...) call(WEIR_HERE(s), WEIR_OPTIONS_(type, __VA_ARGS__))
#define WEIR_CALL_1_(call, type, s, a, ...) call(WEIR_HERE(s), (a), WEIR_OPTIONS_(type, __VA_ARGS__))
#define WEIR_CALL_2_(call, type, s, a, b, ...) call(WEIR_HERE(s), (a), (b), WEIR_OPTIONS_(type, __VA_ARGS__))
#define WEIR_CALL_3_(call, type, s, a, b, c, ...) call(WEIR_HERE(s), (a), (b), (c), WEIR_OPTIONS_(type, __VA_ARGS__))
#define WEIR_CALL_4_(call, type, s, a, b, c, d, ...)                                                                   \
    call(WEIR_HERE(s), (a), (b), (c), (d), WEIR_OPTIONS_(type, __VA_ARGS__))

/* Constants and inputs */
#define weir_const(...) WEIR_CALL_1_((weir_const), weir_name_options, __VA_ARGS__, )
#define weir_placeholder(...) WEIR_CALL_2_((weir_placeholder), weir_name_options, __VA_ARGS__, )

/* One input */
#define weir_identity(...) WEIR_CALL_1_((weir_identity), weir_name_options, __VA_ARGS__, )
#define weir_stop_gradient(...) WEIR_CALL_1_((weir_stop_gradient), weir_name_options, __VA_ARGS__, )
#define weir_negative(...) WEIR_CALL_1_((weir_negative), weir_name_options, __VA_ARGS__, )
#define weir_reciprocal(...) WEIR_CALL_1_((weir_reciprocal), weir_name_options, __VA_ARGS__, )
#define weir_square(...) WEIR_CALL_1_((weir_square), weir_name_options, __VA_ARGS__, )
#define weir_sqrt(...) WEIR_CALL_1_((weir_sqrt), weir_name_options, __VA_ARGS__, )
#define weir_rsqrt(...) WEIR_CALL_1_((weir_rsqrt), weir_name_options, __VA_ARGS__, )
#define weir_exp(...) WEIR_CALL_1_((weir_exp), weir_name_options, __VA_ARGS__, )
#define weir_log(...) WEIR_CALL_1_((weir_log), weir_name_options, __VA_ARGS__, )
#define weir_abs(...) WEIR_CALL_1_((weir_abs), weir_name_options, __VA_ARGS__, )
#define weir_sign(...) WEIR_CALL_1_((weir_sign), weir_name_options, __VA_ARGS__, )
#define weir_floor(...) WEIR_CALL_1_((weir_floor), weir_name_options, __VA_ARGS__, )
#define weir_round(...) WEIR_CALL_1_((weir_round), weir_name_options, __VA_ARGS__, )
#define weir_relu(...) WEIR_CALL_1_((weir_relu), weir_name_options, __VA_ARGS__, )
#define weir_relu6(...) WEIR_CALL_1_((weir_relu6), weir_name_options, __VA_ARGS__, )
#define weir_elu(...) WEIR_CALL_1_((weir_elu), weir_name_options, __VA_ARGS__, )
#define weir_sigmoid(...) WEIR_CALL_1_((weir_sigmoid), weir_name_options, __VA_ARGS__, )
#define weir_tanh(...) WEIR_CALL_1_((weir_tanh), weir_name_options, __VA_ARGS__, )
#define weir_softplus(...) WEIR_CALL_1_((weir_softplus), weir_name_options, __VA_ARGS__, )
#define weir_softmax(...) WEIR_CALL_1_((weir_softmax), weir_name_options, __VA_ARGS__, )
#define weir_log_softmax(...) WEIR_CALL_1_((weir_log_softmax), weir_name_options, __VA_ARGS__, )
#define weir_l2_loss(...) WEIR_CALL_1_((weir_l2_loss), weir_name_options, __VA_ARGS__, )
#define weir_logical_not(...) WEIR_CALL_1_((weir_logical_not), weir_name_options, __VA_ARGS__, )
#define weir_zeros_like(...) WEIR_CALL_1_((weir_zeros_like), weir_name_options, __VA_ARGS__, )
#define weir_ones_like(...) WEIR_CALL_1_((weir_ones_like), weir_name_options, __VA_ARGS__, )
#define weir_shape_op(...) WEIR_CALL_1_((weir_shape_op), weir_name_options, __VA_ARGS__, )
#define weir_size(...) WEIR_CALL_1_((weir_size), weir_name_options, __VA_ARGS__, )
#define weir_rank(...) WEIR_CALL_1_((weir_rank), weir_name_options, __VA_ARGS__, )
#define weir_invert_permutation(...) WEIR_CALL_1_((weir_invert_permutation), weir_name_options, __VA_ARGS__, )
#define weir_where(...) WEIR_CALL_1_((weir_where), weir_name_options, __VA_ARGS__, )

/* Two inputs */
#define weir_add(...) WEIR_CALL_2_((weir_add), weir_name_options, __VA_ARGS__, )
#define weir_subtract(...) WEIR_CALL_2_((weir_subtract), weir_name_options, __VA_ARGS__, )
#define weir_multiply(...) WEIR_CALL_2_((weir_multiply), weir_name_options, __VA_ARGS__, )
#define weir_divide(...) WEIR_CALL_2_((weir_divide), weir_name_options, __VA_ARGS__, )
#define weir_floor_div(...) WEIR_CALL_2_((weir_floor_div), weir_name_options, __VA_ARGS__, )
#define weir_floor_mod(...) WEIR_CALL_2_((weir_floor_mod), weir_name_options, __VA_ARGS__, )
#define weir_pow(...) WEIR_CALL_2_((weir_pow), weir_name_options, __VA_ARGS__, )
#define weir_maximum(...) WEIR_CALL_2_((weir_maximum), weir_name_options, __VA_ARGS__, )
#define weir_minimum(...) WEIR_CALL_2_((weir_minimum), weir_name_options, __VA_ARGS__, )
#define weir_squared_difference(...) WEIR_CALL_2_((weir_squared_difference), weir_name_options, __VA_ARGS__, )
#define weir_equal(...) WEIR_CALL_2_((weir_equal), weir_name_options, __VA_ARGS__, )
#define weir_not_equal(...) WEIR_CALL_2_((weir_not_equal), weir_name_options, __VA_ARGS__, )
#define weir_greater(...) WEIR_CALL_2_((weir_greater), weir_name_options, __VA_ARGS__, )
#define weir_greater_equal(...) WEIR_CALL_2_((weir_greater_equal), weir_name_options, __VA_ARGS__, )
#define weir_less(...) WEIR_CALL_2_((weir_less), weir_name_options, __VA_ARGS__, )
#define weir_less_equal(...) WEIR_CALL_2_((weir_less_equal), weir_name_options, __VA_ARGS__, )
#define weir_logical_and(...) WEIR_CALL_2_((weir_logical_and), weir_name_options, __VA_ARGS__, )
#define weir_logical_or(...) WEIR_CALL_2_((weir_logical_or), weir_name_options, __VA_ARGS__, )
#define weir_bias_add(...) WEIR_CALL_2_((weir_bias_add), weir_name_options, __VA_ARGS__, )
#define weir_reshape_to(...) WEIR_CALL_2_((weir_reshape_to), weir_name_options, __VA_ARGS__, )
#define weir_fill(...) WEIR_CALL_2_((weir_fill), weir_name_options, __VA_ARGS__, )
#define weir_tile(...) WEIR_CALL_2_((weir_tile), weir_name_options, __VA_ARGS__, )
#define weir_broadcast_to(...) WEIR_CALL_2_((weir_broadcast_to), weir_name_options, __VA_ARGS__, )
#define weir_transpose_by(...) WEIR_CALL_2_((weir_transpose_by), weir_name_options, __VA_ARGS__, )
#define weir_pad(...) WEIR_CALL_2_((weir_pad), weir_name_options, __VA_ARGS__, )
#define weir_gather_rows(...) WEIR_CALL_2_((weir_gather_rows), weir_name_options, __VA_ARGS__, )

/* Mathematics */
#define weir_add_n(...) WEIR_CALL_2_((weir_add_n), weir_name_options, __VA_ARGS__, )
#define weir_select(...) WEIR_CALL_3_((weir_select), weir_name_options, __VA_ARGS__, )
#define weir_cast(...) WEIR_CALL_2_((weir_cast), weir_name_options, __VA_ARGS__, )
#define weir_matmul(...) WEIR_CALL_2_((weir_matmul), weir_matmul_options, __VA_ARGS__, )
#define weir_clip_by_value(...) WEIR_CALL_3_((weir_clip_by_value), weir_name_options, __VA_ARGS__, )
#define weir_argmax(...) WEIR_CALL_2_((weir_argmax), weir_name_options, __VA_ARGS__, )
#define weir_argmin(...) WEIR_CALL_2_((weir_argmin), weir_name_options, __VA_ARGS__, )
#define weir_in_top_k(...) WEIR_CALL_3_((weir_in_top_k), weir_name_options, __VA_ARGS__, )
#define weir_cumsum(...) WEIR_CALL_2_((weir_cumsum), weir_name_options, __VA_ARGS__, )
#define weir_reduce_sum(...) WEIR_CALL_1_((weir_reduce_sum), weir_reduce_options, __VA_ARGS__, )
#define weir_reduce_mean(...) WEIR_CALL_1_((weir_reduce_mean), weir_reduce_options, __VA_ARGS__, )
#define weir_reduce_prod(...) WEIR_CALL_1_((weir_reduce_prod), weir_reduce_options, __VA_ARGS__, )
#define weir_reduce_max(...) WEIR_CALL_1_((weir_reduce_max), weir_reduce_options, __VA_ARGS__, )
#define weir_reduce_min(...) WEIR_CALL_1_((weir_reduce_min), weir_reduce_options, __VA_ARGS__, )
#define weir_reduce_all(...) WEIR_CALL_1_((weir_reduce_all), weir_reduce_options, __VA_ARGS__, )
#define weir_reduce_any(...) WEIR_CALL_1_((weir_reduce_any), weir_reduce_options, __VA_ARGS__, )

/* Arrays */
#define weir_reshape(...) WEIR_CALL_2_((weir_reshape), weir_name_options, __VA_ARGS__, )
#define weir_expand_dims(...) WEIR_CALL_2_((weir_expand_dims), weir_name_options, __VA_ARGS__, )
#define weir_squeeze(...) WEIR_CALL_2_((weir_squeeze), weir_name_options, __VA_ARGS__, )
#define weir_transpose(...) WEIR_CALL_2_((weir_transpose), weir_name_options, __VA_ARGS__, )
#define weir_concat(...) WEIR_CALL_3_((weir_concat), weir_name_options, __VA_ARGS__, )
#define weir_stack(...) WEIR_CALL_3_((weir_stack), weir_name_options, __VA_ARGS__, )
#define weir_unstack(...) WEIR_CALL_3_((weir_unstack), weir_name_options, __VA_ARGS__, )
#define weir_split(...) WEIR_CALL_3_((weir_split), weir_name_options, __VA_ARGS__, )
#define weir_slice(...) WEIR_CALL_3_((weir_slice), weir_name_options, __VA_ARGS__, )
#define weir_strided_slice(...) WEIR_CALL_4_((weir_strided_slice), weir_slice_options, __VA_ARGS__, )
#define weir_gather(...) WEIR_CALL_3_((weir_gather), weir_name_options, __VA_ARGS__, )
#define weir_range(...) WEIR_CALL_3_((weir_range), weir_name_options, __VA_ARGS__, )
#define weir_one_hot(...) WEIR_CALL_2_((weir_one_hot), weir_one_hot_options, __VA_ARGS__, )

/* Networks */
#define weir_conv2d_op(...) WEIR_CALL_2_((weir_conv2d_op), weir_window_options, __VA_ARGS__, )
#define weir_max_pool(...) WEIR_CALL_3_((weir_max_pool), weir_window_options, __VA_ARGS__, )
#define weir_avg_pool(...) WEIR_CALL_3_((weir_avg_pool), weir_window_options, __VA_ARGS__, )
#define weir_softmax_cross_entropy(...) WEIR_CALL_2_((weir_softmax_cross_entropy), weir_name_options, __VA_ARGS__, )
#define weir_sparse_softmax_cross_entropy(...)                                                                         \
    WEIR_CALL_2_((weir_sparse_softmax_cross_entropy), weir_name_options, __VA_ARGS__, )

/* Random numbers */
#define weir_random_uniform(...) WEIR_CALL_1_((weir_random_uniform), weir_random_options, __VA_ARGS__, )
#define weir_random_normal(...) WEIR_CALL_1_((weir_random_normal), weir_random_options, __VA_ARGS__, )
#define weir_truncated_normal(...) WEIR_CALL_1_((weir_truncated_normal), weir_random_options, __VA_ARGS__, )
#define weir_random_shuffle(...) WEIR_CALL_1_((weir_random_shuffle), weir_random_options, __VA_ARGS__, )

/* State */
#define weir_assign(...) WEIR_CALL_2_((weir_assign), weir_name_options, __VA_ARGS__, )
#define weir_assign_add(...) WEIR_CALL_2_((weir_assign_add), weir_name_options, __VA_ARGS__, )
#define weir_assign_sub(...) WEIR_CALL_2_((weir_assign_sub), weir_name_options, __VA_ARGS__, )
#define weir_variable_v2(...) WEIR_CALL_2_((weir_variable_v2), weir_name_options, __VA_ARGS__, )
#define weir_is_variable_initialized(...) WEIR_CALL_1_((weir_is_variable_initialized), weir_name_options, __VA_ARGS__, )

#endif
