/*
 * Blocks of graph for builders and gradients. What they build of other families (Const, Shape, Reshape ...) goes
 * through the public builders.
 */
#include "op/compose.h"

#include "graph/infer_value.h"
#include "tensor/tensor.h"

/* TensorFlow's wrappers write zeros of fewer elements as a Const. */
#define CONST_ELEMENTS 1000

weir_output weir_build_unary(weir_scope s, const char *op, const char *name, weir_output x)
{
    return weir_out(weir_op(s, op, WEIR_INPUTS(x), .name = name), 0);
}

weir_output weir_build_binary(weir_scope s, const char *op, const char *name, weir_output x, weir_output y)
{
    return weir_out(weir_op(s, op, WEIR_INPUTS(x, y), .name = name), 0);
}

weir_output weir_build_number(weir_scope s, weir_dtype dtype, double value, const char *name)
{
    return weir_fill_const(s, weir_dtype_base(dtype), weir_shape_scalar(), value, name);
}

weir_output weir_build_with_number(weir_scope s, const char *op, const char *name, weir_output x, double y)
{
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "%s", name);
    weir_output number = weir_build_number(inner, weir_output_dtype(x), y, "y");
    return weir_build_binary(inner, op, weir_scope_name(inner), x, number);
}

weir_output weir_build_number_with(weir_scope s, const char *op, const char *name, double x, weir_output y)
{
    if (y.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "%s", name);
    weir_output number = weir_build_number(inner, weir_output_dtype(y), x, "x");
    return weir_build_binary(inner, op, weir_scope_name(inner), number, y);
}

weir_output weir_build_int32s(weir_scope s, const int *values, int count, const char *name)
{
    weir_const_value value = {.dtype = WEIR_INT32, .shape = {1, {count}}, .elements = values};
    return weir_const(s, value, .name = name);
}

weir_output weir_build_shape(weir_scope s, weir_output x)
{
    weir_shape shape = weir_output_shape(x);
    if (x.node != NULL && weir_shape_known(shape))
        return weir_shape_const(s, shape, "Shape");
    return weir_shape_op(s, x, .name = "Shape");
}

weir_output weir_build_rank(weir_scope s, weir_output x)
{
    int rank = weir_output_shape(x).rank;
    if (x.node != NULL && rank != WEIR_UNKNOWN_RANK)
        return weir_build_number(s, WEIR_INT32, rank, "Rank");
    return weir_rank(s, x, .name = "Rank");
}

weir_output weir_build_size(weir_scope s, weir_output x)
{
    weir_shape shape = weir_output_shape(x);
    if (x.node != NULL && weir_shape_known(shape))
        return weir_build_number(s, WEIR_INT32, (double)weir_shape_elements(shape), "Size");
    return weir_size(s, x, .name = "Size");
}

weir_output weir_build_zeros(weir_scope s, weir_dtype dtype, weir_shape shape, const char *name)
{
    if (weir_shape_elements(shape) < CONST_ELEMENTS)
        return weir_fill_const(s, dtype, shape, 0, name);
    weir_scope inner = weir_in_scope(s, "%s", name);
    weir_output dims = weir_shape_const(inner, shape, "shape_as_tensor");
    weir_output zero = weir_build_number(inner, dtype, 0, "Const");
    return weir_fill(inner, dims, zero, .name = weir_scope_name(inner));
}

weir_output(weir_zeros_like)(weir_scope s, weir_output x, const weir_name_options *options)
{
    const char *name = weir_option_name(options, "zeros_like");
    weir_dtype dtype = weir_dtype_base(weir_output_dtype(x));
    if (x.node != NULL && weir_shape_known(weir_output_shape(x)) && weir_dtype_size(dtype) > 0)
        return weir_build_zeros(s, dtype, weir_output_shape(x), name);
    return weir_build_unary(s, "ZerosLike", name, x);
}

weir_output(weir_ones_like)(weir_scope s, weir_output x, const weir_name_options *options)
{
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "%s", weir_option_name(options, "ones_like"));
    weir_shape shape = weir_output_shape(x);
    weir_output dims = weir_shape_known(shape) ? weir_shape_const(inner, shape, "Shape/shape_as_tensor")
                                               : weir_shape_op(inner, x, .name = "Shape");
    weir_output one = weir_build_number(inner, weir_output_dtype(x), 1, "Const");
    return weir_fill(inner, dims, one, .name = weir_scope_name(inner));
}

weir_output weir_build_conjugate(weir_scope s, weir_output x)
{
    return weir_dtype_is_complex(weir_output_dtype(x)) ? weir_build_unary(s, "Conj", "Conj", x) : x;
}

weir_output weir_build_part(weir_scope s, weir_output vector, int begin, int end)
{
    if (vector.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "strided_slice");
    weir_output from = weir_build_int32s(inner, &begin, 1, "stack");
    weir_output to = weir_build_int32s(inner, &end, 1, "stack_1");
    weir_output step = weir_build_int32s(inner, &(int){1}, 1, "stack_2");
    return weir_strided_slice(inner, vector, from, to, step, .name = weir_scope_name(inner), .begin_mask = begin == 0,
                              .end_mask = end == 0);
}

/* ---- Undoing a broadcast ---- */

/* The axes of the broadcast shape along which one side is to be summed. */
typedef struct summed_axes {
    weir_axes axes;
    bool must_reduce;
} summed_axes;

static int64_t dim_from_right(const weir_shape *shape, int from_right)
{
    return from_right < shape->rank ? shape->dims[shape->rank - 1 - from_right] : 1;
}

static void add_axis(weir_axes *axes, int axis)
{
    axes->values[axes->count++] = axis;
}

/* False where it depends on dimensions that are not known. */
static bool find_summed_axes(const weir_shape *x, const weir_shape *y, summed_axes *of_x, summed_axes *of_y)
{
    if (x->rank == WEIR_UNKNOWN_RANK || y->rank == WEIR_UNKNOWN_RANK)
        return false;
    int rank = x->rank > y->rank ? x->rank : y->rank;
    *of_x = *of_y = (summed_axes){.axes = {.is_set = true}};
    for (int axis = 0; axis < rank; axis++) {
        int64_t dim_x = dim_from_right(x, rank - 1 - axis);
        int64_t dim_y = dim_from_right(y, rank - 1 - axis);
        if (dim_x == 1 && dim_y != 1)
            add_axis(&of_x->axes, axis);
        else if (dim_y == 1 && dim_x != 1)
            add_axis(&of_y->axes, axis);
        else if (dim_x == WEIR_UNKNOWN_DIM || dim_y == WEIR_UNKNOWN_DIM)
            return false;
    }
    of_x->must_reduce = of_x->axes.count > 0 || x->rank < rank;
    of_y->must_reduce = of_y->axes.count > 0 || y->rank < rank;
    return true;
}

/* Sum over axes known now (a Const) or held by an output. */
static weir_output sum_and_reshape(weir_scope s, weir_output g, const weir_axes *known, weir_output axes,
                                   weir_output shape)
{
    if (g.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "Sum");
    if (known != NULL)
        axes = weir_build_int32s(inner, known->values, known->count, "reduction_indices");
    weir_output sum = weir_out(weir_op(inner, "Sum", WEIR_INPUTS(g, axes), WEIR_ATTRS(WEIR_ATTR_B("keep_dims", true)),
                                       .name = weir_scope_name(inner)),
                               0);
    return weir_reshape_to(s, sum, shape, .name = "Reshape");
}

void weir_build_unbroadcast(weir_scope s, weir_output x, weir_output y, weir_output *gx, weir_output *gy)
{
    weir_shape shape_x = weir_output_shape(x);
    weir_shape shape_y = weir_output_shape(y);
    summed_axes of_x, of_y;
    bool is_known = find_summed_axes(&shape_x, &shape_y, &of_x, &of_y);
    if (is_known && !of_x.must_reduce && (gy == NULL || !of_y.must_reduce))
        return;
    weir_output dims_x = weir_build_shape(s, x);
    weir_output dims_y = weir_build_shape(s, y);
    if (is_known) {
        if (of_x.must_reduce)
            *gx = sum_and_reshape(s, *gx, &of_x.axes, WEIR_NO_OUTPUT, dims_x);
        if (gy != NULL && of_y.must_reduce)
            *gy = sum_and_reshape(s, *gy, &of_y.axes, WEIR_NO_OUTPUT, dims_y);
        return;
    }
    weir_node *axes = weir_op(s, "BroadcastGradientArgs", WEIR_INPUTS(dims_x, dims_y));
    *gx = sum_and_reshape(s, *gx, NULL, weir_out(axes, 0), dims_x);
    if (gy != NULL)
        *gy = sum_and_reshape(s, *gy, NULL, weir_out(axes, 1), dims_y);
}

/* ---- Shapes of reductions ---- */

/* Sets the axes that the constant holds to 1; false when one is out of range (the op itself will say so). */
static bool set_to_one(const weir_tensor *axes, weir_shape *shape)
{
    for (int64_t i = 0; i < weir_tensor_elements(axes); i++) {
        int64_t axis = weir_tensor_get_int(axes, i);
        if (axis < 0)
            axis += shape->rank;
        if (axis < 0 || axis >= shape->rank)
            return false;
        shape->dims[axis] = 1;
    }
    return true;
}

bool weir_static_kept_shape(weir_output x, weir_output axes, weir_shape *out)
{
    *out = weir_output_shape(x);
    if (!weir_shape_known(*out))
        return false;
    weir_tensor *constant = weir_static_value(axes);
    bool is_known = constant != NULL && set_to_one(constant, out);
    weir_tensor_free(constant);
    return is_known;
}

weir_output weir_build_positive_axes(weir_scope s, weir_output axes, weir_output rank)
{
    weir_output sum = weir_add(s, weir_cast(s, axes, WEIR_INT32), rank, .name = "add");
    return weir_floor_mod(s, sum, rank, .name = "mod");
}

weir_output weir_build_range(weir_scope s, weir_output limit)
{
    if (limit.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "range");
    weir_output start = weir_build_number(inner, WEIR_INT32, 0, "start");
    weir_output delta = weir_build_number(inner, WEIR_INT32, 1, "delta");
    return weir_range(inner, start, limit, delta, .name = weir_scope_name(inner));
}

weir_output weir_build_kept_shape(weir_scope s, weir_output shape, weir_output axes)
{
    weir_output rank = weir_build_size(s, shape);
    weir_output positive = weir_build_positive_axes(s, axes, rank);
    weir_output ones_shape = weir_build_shape(s, positive);
    weir_output all = weir_build_range(s, rank);
    if (all.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "ones");
    weir_output one = weir_build_number(inner, WEIR_INT32, 1, "Const");
    weir_output ones = weir_fill(inner, ones_shape, one, .name = weir_scope_name(inner));
    weir_node *stitch =
        weir_op(s, "DynamicStitch", WEIR_INPUTS(all, positive, shape, ones), WEIR_ATTRS(WEIR_ATTR_I("N", 2)));
    return weir_out(stitch, 0);
}
