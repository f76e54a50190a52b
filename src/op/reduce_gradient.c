/*
 * Gradients of the reductions: what came in is spread over the axes that were reduced. Shapes known while building give
 * constants, others the nodes that work the shapes out.
 */
#include "op/reduce_gradient.h"

#include "graph/infer_value.h"
#include "op/compose.h"
#include "tensor/tensor.h"

/* True when the axes are known to be 0, 1 ... rank - 1 (a vector): everything is reduced. */
static bool reduces_all(weir_output axes, int rank)
{
    weir_tensor *constant = weir_static_value(axes);
    bool is_all = constant != NULL && constant->shape.rank == 1 && constant->elements == rank;
    for (int i = 0; is_all && i < rank; i++)
        is_all = weir_tensor_get_int(constant, i) == i;
    weir_tensor_free(constant);
    return is_all;
}

/* g, which has 1 where axes were reduced, repeated to the shape: Tile with "Tile/multiples". */
static weir_output tile(weir_scope s, weir_output g, const weir_shape *kept, const weir_shape *shape)
{
    if (g.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "Tile");
    weir_shape multiples = *shape;
    for (int i = 0; i < shape->rank; i++) {
        if (kept->dims[i] != 1)
            multiples.dims[i] = 1;
    }
    weir_output constant = weir_shape_const(inner, multiples, "multiples");
    return weir_tile(inner, g, constant, .name = weir_scope_name(inner));
}

/* What came in, of the input's shape. */
static weir_output spread(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output g = gradient->dy[0];
    weir_output x = weir_gradient_x(gradient, 0);
    weir_output axes = weir_gradient_x(gradient, 1);
    weir_shape shape = weir_output_shape(x);
    weir_shape kept;
    if (shape.rank != WEIR_UNKNOWN_RANK && reduces_all(axes, shape.rank)) {
        weir_shape ones = {.rank = shape.rank};
        for (int i = 0; i < ones.rank; i++)
            ones.dims[i] = 1;
        g = weir_reshape(s, g, ones);
        weir_output multiples = weir_shape_known(shape) ? weir_shape_const(s, shape, "Const") : weir_shape_op(s, x);
        return weir_tile(s, g, multiples);
    }
    if (weir_static_kept_shape(x, axes, &kept))
        return tile(s, weir_reshape(s, g, kept), &kept, &shape);
    weir_output dims = weir_build_shape(s, x);
    if (!weir_node_bool(gradient->node, "keep_dims", false)) {
        weir_output kept_dims = weir_build_kept_shape(weir_colocated_with(s, dims.node), dims, axes);
        g = weir_reshape_to(s, g, kept_dims, .name = "Reshape");
    }
    return weir_broadcast_to(s, g, dims);
}

weir_status weir_sum_gradient(weir_gradient *gradient)
{
    weir_gradient_set(gradient, 0, spread(gradient));
    return WEIR_STATUS_OK;
}

/* How many elements of x made one of y, in g's type. */
static weir_output mean_factor(weir_gradient *gradient, weir_dtype dtype)
{
    weir_scope s = gradient->scope;
    weir_output x = weir_gradient_x(gradient, 0);
    int64_t size_x = weir_shape_elements(weir_output_shape(x));
    int64_t size_y = weir_shape_elements(weir_output_shape(weir_gradient_y0(gradient)));
    if (size_x >= 0 && size_y >= 0) {
        int64_t factor = size_x / (size_y > 0 ? size_y : 1);
        return weir_build_number(s, dtype, (double)factor, "Const");
    }
    weir_output dims = weir_build_shape(s, x);
    weir_output rank = weir_build_size(s, dims);
    weir_output axes = weir_build_positive_axes(s, weir_gradient_x(gradient, 1), rank);
    weir_output lengths = weir_gather(s, dims, axes, 0);
    return weir_cast(s, weir_reduce_prod(s, lengths), dtype);
}

weir_status weir_mean_gradient(weir_gradient *gradient)
{
    weir_output sum = spread(gradient);
    weir_output factor = mean_factor(gradient, weir_output_dtype(sum));
    weir_gradient_set(gradient, 0, weir_divide(gradient->scope, sum, factor));
    return WEIR_STATUS_OK;
}

/* Gives an output the shape that reductions keep: constants where they are known. */
static weir_output reshape_kept(weir_scope s, weir_output x, const weir_shape *known, weir_output dims)
{
    return known != NULL ? weir_reshape(s, x, *known) : weir_reshape_to(s, x, dims, .name = "Reshape");
}

/* Max and Min: equal parts to all elements that have the extreme value. */
weir_status weir_extreme_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output g = gradient->dy[0];
    weir_output x = weir_gradient_x(gradient, 0);
    weir_output y = weir_gradient_y0(gradient);
    weir_output axes = weir_gradient_x(gradient, 1);
    weir_output dims = weir_build_shape(s, x);
    weir_shape kept;
    const weir_shape *known = NULL;
    if (weir_node_bool(gradient->node, "keep_dims", false)) {
        dims = weir_build_shape(s, y);
    } else {
        known = weir_static_kept_shape(x, axes, &kept) ? &kept : NULL;
        dims = known != NULL ? WEIR_NO_OUTPUT : weir_build_kept_shape(s, dims, axes);
        y = reshape_kept(s, y, known, dims);
        g = reshape_kept(s, g, known, dims);
    }
    weir_output is_extreme = weir_cast(s, weir_equal(s, y, x), weir_dtype_base(weir_output_dtype(g)));
    weir_output count = weir_build_binary(s, "Sum", "Sum", is_extreme, axes);
    count = reshape_kept(s, count, known, dims);
    weir_output part = weir_divide(s, is_extreme, count);
    weir_gradient_set(gradient, 0, weir_multiply(s, part, g, .name = "mul"));
    return WEIR_STATUS_OK;
}

weir_status weir_arg_gradient(weir_gradient *gradient)
{
    (void)gradient;
    return WEIR_STATUS_OK;
}

weir_status weir_l2_loss_gradient(weir_gradient *gradient)
{
    weir_output dx = weir_multiply(gradient->scope, weir_gradient_x0(gradient), gradient->dy[0], .name = "mul");
    weir_gradient_set(gradient, 0, dx);
    return WEIR_STATUS_OK;
}

/* ---- Prod ---- */

static weir_output running(weir_scope s, const char *op, weir_output x, weir_output axis, bool exclusive, bool reverse)
{
    weir_node *node = weir_op(s, op, WEIR_INPUTS(x, axis),
                              WEIR_ATTRS(WEIR_ATTR_B("exclusive", exclusive), WEIR_ATTR_B("reverse", reverse)));
    return weir_out(node, 0);
}

/* The product of all other elements of each column of x [count, columns]: those before times those after. */
static weir_output product_of_others(weir_scope s, weir_output x)
{
    weir_output products[2];
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    for (int reverse = 0; reverse < 2; reverse++) {
        weir_scope inner = weir_in_scope(s, "Cumprod");
        weir_output axis = weir_build_number(inner, WEIR_INT32, 0, "axis");
        weir_node *node = weir_op(inner, "Cumprod", WEIR_INPUTS(x, axis),
                                  WEIR_ATTRS(WEIR_ATTR_B("exclusive", true), WEIR_ATTR_B("reverse", reverse == 1)),
                                  .name = weir_scope_name(inner));
        products[reverse] = weir_build_conjugate(s, weir_out(node, 0));
    }
    return weir_multiply(s, products[0], products[1], .name = "mul");
}

/* The axes reduced, then the others; and how many elements each part has. */
typedef struct partition {
    weir_output permutation;
    weir_output reduced_size;
    weir_output other_size;
} partition;

static partition split_axes(weir_scope s, weir_output x, weir_output dims, weir_output axes)
{
    partition parts;
    weir_output rank = weir_build_rank(s, x);
    weir_output reduced = weir_build_positive_axes(s, axes, rank);
    weir_output all = weir_build_range(s, rank);
    weir_output others = weir_out(weir_op(s, "ListDiff", WEIR_INPUTS(all, reduced)), 0);
    parts.permutation = weir_concat(s, WEIR_OUTPUTS(reduced, others), 0);
    parts.reduced_size = weir_reduce_prod(s, weir_gather(s, dims, reduced, 0));
    parts.other_size = weir_reduce_prod(s, weir_gather(s, dims, others, 0));
    return parts;
}

/* Two scalars as a shape: "Reshape/shape". */
static weir_output reshape_to_matrix(weir_scope s, weir_output x, weir_output rows, weir_output columns)
{
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "Reshape");
    weir_output dims = weir_stack(inner, WEIR_OUTPUTS(rows, columns), 0, .name = "shape");
    return weir_reshape_to(inner, x, dims, .name = weir_scope_name(inner));
}

/* g times the product of the other elements, which is right also where elements are 0. */
weir_status weir_prod_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output g = gradient->dy[0];
    weir_output x = weir_gradient_x(gradient, 0);
    weir_output dims = weir_build_shape(s, x);
    weir_output axes = weir_reshape(s, weir_gradient_x(gradient, 1), WEIR_SHAPE(-1));
    if (!weir_node_bool(gradient->node, "keep_dims", false)) {
        weir_shape kept;
        bool is_known = weir_static_kept_shape(x, weir_gradient_x(gradient, 1), &kept);
        weir_output kept_dims =
            is_known ? WEIR_NO_OUTPUT : weir_build_kept_shape(s, dims, weir_gradient_x(gradient, 1));
        g = reshape_kept(s, g, is_known ? &kept : NULL, kept_dims);
    }
    g = weir_broadcast_to(s, g, dims);
    partition parts = split_axes(weir_on_device(s, "/cpu:0"), x, dims, axes);
    weir_output permuted = weir_transpose_by(s, x, parts.permutation, .name = "transpose");
    weir_output permuted_dims = weir_build_shape(s, permuted);
    weir_output matrix = reshape_to_matrix(s, permuted, parts.reduced_size, parts.other_size);
    weir_output others = product_of_others(s, matrix);
    others = weir_reshape_to(s, others, permuted_dims, .name = "Reshape");
    weir_output inverse = weir_invert_permutation(s, parts.permutation);
    others = weir_transpose_by(s, others, inverse, .name = "transpose");
    weir_output dx = weir_multiply(s, g, others, .name = "mul");
    weir_gradient_set(gradient, 0, weir_reshape_to(s, dx, dims, .name = "Reshape"));
    return WEIR_STATUS_OK;
}

/* ---- Running sums and products ---- */

weir_status weir_cumsum_gradient(weir_gradient *gradient)
{
    bool exclusive = weir_node_bool(gradient->node, "exclusive", false);
    bool reverse = weir_node_bool(gradient->node, "reverse", false);
    weir_output axis = weir_gradient_x(gradient, 1);
    weir_gradient_set(gradient, 0, running(gradient->scope, "Cumsum", gradient->dy[0], axis, exclusive, !reverse));
    return WEIR_STATUS_OK;
}

weir_status weir_cumprod_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    bool exclusive = weir_node_bool(gradient->node, "exclusive", false);
    bool reverse = weir_node_bool(gradient->node, "reverse", false);
    weir_output x = weir_gradient_x(gradient, 0);
    weir_output axis = weir_gradient_x(gradient, 1);
    weir_output product = running(s, "Cumprod", x, axis, exclusive, reverse);
    weir_output weighted = weir_multiply(s, product, gradient->dy[0], .name = "mul");
    weir_output sum = running(s, "Cumsum", weighted, axis, exclusive, !reverse);
    weir_gradient_set(gradient, 0, weir_build_binary(s, "DivNoNan", "div_no_nan", sum, x));
    return WEIR_STATUS_OK;
}

/* ---- Segments ---- */

/* True where the id of the row is not negative, of the shape of the gathered rows. */
static weir_output rows_that_count(weir_scope s, weir_output ids, weir_output gathered)
{
    weir_output is_positive = weir_build_with_number(s, "GreaterEqual", "GreaterEqual", ids, 0);
    if (is_positive.node == NULL || gathered.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_output dims = weir_build_shape(s, is_positive);
    weir_output rank = weir_build_rank(s, gathered);
    weir_output ids_rank = weir_build_rank(s, is_positive);
    weir_output missing = weir_subtract(s, rank, ids_rank, .name = "sub");
    weir_scope ones_scope = weir_in_scope(s, "ones");
    weir_output missing_shape = weir_stack(ones_scope, &missing, 1, 0, .name = "packed");
    weir_output one = weir_build_number(ones_scope, WEIR_INT32, 1, "Const");
    weir_output ones = weir_fill(ones_scope, missing_shape, one, .name = weir_scope_name(ones_scope));
    weir_output full = weir_concat(s, WEIR_OUTPUTS(dims, ones), 0);
    is_positive = weir_reshape_to(s, is_positive, full, .name = "Reshape");
    weir_scope like_scope = weir_in_scope(s, "ones_like");
    weir_shape shape = weir_output_shape(gathered);
    weir_output like_dims = weir_shape_known(shape) ? weir_shape_const(like_scope, shape, "Shape/shape_as_tensor")
                                                    : weir_shape_op(like_scope, gathered);
    weir_output truth = weir_build_number(like_scope, WEIR_BOOL, 1, "Const");
    weir_output like = weir_fill(like_scope, like_dims, truth, .name = weir_scope_name(like_scope));
    return weir_logical_and(s, is_positive, like, .name = "and");
}

/* Each row gets its segment's gradient; rows with negative ids get zeros. */
weir_status weir_unsorted_segment_sum_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output ids = weir_gradient_x(gradient, 1);
    weir_output zero_ids = weir_zeros_like(s, ids);
    weir_output clipped = weir_maximum(s, ids, zero_ids);
    weir_output gathered = weir_gather(s, gradient->dy[0], clipped, 0);
    weir_output counts = rows_that_count(s, ids, gathered);
    weir_output zeros = weir_zeros_like(s, gathered);
    weir_gradient_set(gradient, 0, weir_select(s, counts, gathered, zeros));
    return WEIR_STATUS_OK;
}
