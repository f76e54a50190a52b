/*
 * Ops of two inputs that broadcast against each other, element by element, and the sum of many: schemas, gradients and
 * builders. Their kernels are bound in math_binary_kernels.c.
 */
#include "op/compose.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

/* ---- Gradients: z of x and y, g is what came in ---- */

/* True where x, y and g have one shape, known now: then no side was broadcast. */
static bool have_one_shape(const weir_gradient *gradient)
{
    weir_shape x = weir_output_shape(weir_gradient_x(gradient, 0));
    weir_shape y = weir_output_shape(weir_gradient_x(gradient, 1));
    weir_shape g = weir_output_shape(gradient->dy[0]);
    return weir_shape_known(x) && weir_shape_equal(x, y) && weir_shape_equal(x, g);
}

/* Sets both gradients, each summed to its input's shape. */
static weir_status set_both(weir_gradient *gradient, weir_scope s, weir_output gx, weir_output gy)
{
    weir_build_unbroadcast(s, weir_gradient_x(gradient, 0), weir_gradient_x(gradient, 1), &gx, &gy);
    weir_gradient_set(gradient, 0, gx);
    weir_gradient_set(gradient, 1, gy);
    return WEIR_STATUS_OK;
}

static weir_output times(weir_scope s, weir_output x, weir_output y)
{
    return weir_multiply(s, x, y, .name = "mul");
}

static weir_status add_gradient(weir_gradient *gradient)
{
    return set_both(gradient, gradient->scope, gradient->dy[0], gradient->dy[0]);
}

static weir_status sub_gradient(weir_gradient *gradient)
{
    weir_output negative = weir_negative(gradient->scope, gradient->dy[0]);
    return set_both(gradient, gradient->scope, gradient->dy[0], negative);
}

static weir_status mul_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output g = gradient->dy[0];
    weir_output x = weir_build_conjugate(s, weir_gradient_x(gradient, 0));
    weir_output y = weir_build_conjugate(s, weir_gradient_x(gradient, 1));
    weir_output gx = weir_multiply(s, g, y);
    weir_output gy = have_one_shape(gradient) ? weir_multiply(s, g, x) : weir_multiply(s, x, g);
    return set_both(gradient, s, gx, gy);
}

/* g / y, g ((-x / y) / y); the name of the divisions differs between RealDiv and Div. */
static weir_status quotient_gradient(weir_gradient *gradient, const char *name)
{
    weir_scope s = gradient->scope;
    weir_output g = gradient->dy[0];
    weir_output x = weir_build_conjugate(s, weir_gradient_x(gradient, 0));
    weir_output y = weir_build_conjugate(s, weir_gradient_x(gradient, 1));
    weir_output gx = weir_build_binary(s, "RealDiv", name, g, y);
    weir_output slope = weir_build_binary(s, "RealDiv", name, weir_negative(s, x), y);
    slope = weir_build_binary(s, "RealDiv", name, slope, y);
    return set_both(gradient, s, gx, times(s, g, slope));
}

static weir_status real_div_gradient(weir_gradient *gradient)
{
    return quotient_gradient(gradient, "RealDiv");
}

static weir_status div_gradient(weir_gradient *gradient)
{
    return quotient_gradient(gradient, "truediv");
}

/* As RealDiv, with 0 where y is 0. */
static weir_status div_no_nan_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output g = gradient->dy[0];
    weir_output x = weir_build_conjugate(s, weir_gradient_x(gradient, 0));
    weir_output y = weir_build_conjugate(s, weir_gradient_x(gradient, 1));
    weir_output gx = weir_build_binary(s, "DivNoNan", "div_no_nan", g, y);
    weir_output slope = weir_build_binary(s, "DivNoNan", "div_no_nan", weir_negative(s, x), y);
    slope = weir_build_binary(s, "DivNoNan", "div_no_nan", slope, y);
    return set_both(gradient, s, gx, times(s, g, slope));
}

static weir_status no_gradient(weir_gradient *gradient)
{
    (void)gradient;
    return WEIR_STATUS_OK;
}

/* x mod y = x - y floor(x / y): g, -g floor(x / y) */
static weir_status floor_mod_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output quotient =
        weir_build_binary(s, "FloorDiv", "FloorDiv", weir_gradient_x(gradient, 0), weir_gradient_x(gradient, 1));
    weir_output gy = times(s, gradient->dy[0], weir_negative(s, quotient));
    return set_both(gradient, s, gradient->dy[0], gy);
}

/* log x where x > 0 (real) or not 0 (complex), else 0. */
static weir_output safe_log(weir_scope s, weir_output x)
{
    bool is_complex = weir_dtype_is_complex(weir_output_dtype(x));
    const char *comparison = is_complex ? "NotEqual" : "Greater";
    weir_output is_fit = weir_build_with_number(s, comparison, comparison, x, 0);
    weir_output ones = weir_ones_like(s, x);
    weir_output safe = weir_out(weir_op(s, "Select", WEIR_INPUTS(is_fit, x, ones)), 0);
    weir_output log = weir_log(s, safe);
    weir_output zeros = weir_zeros_like(s, x);
    return weir_out(weir_op(s, "Select", WEIR_INPUTS(is_fit, log, zeros)), 0);
}

/* g y x^(y - 1), g z log x */
static weir_status pow_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output g = gradient->dy[0];
    weir_output x = weir_build_conjugate(s, weir_gradient_x(gradient, 0));
    weir_output y = weir_build_conjugate(s, weir_gradient_x(gradient, 1));
    weir_output z = weir_build_conjugate(s, weir_gradient_y0(gradient));
    weir_output gx = times(s, g, y);
    weir_output exponent = weir_build_with_number(s, "Sub", "sub", y, 1);
    gx = times(s, gx, weir_pow(s, x, exponent));
    weir_output log = safe_log(s, x);
    weir_output gy = times(s, g, z);
    return set_both(gradient, s, gx, times(s, gy, log));
}

/* g where the comparison holds to x, the rest to y: at equal values all of it goes to x. */
static weir_status extreme_gradient(weir_gradient *gradient, const char *comparison)
{
    weir_scope s = gradient->scope;
    weir_output g = gradient->dy[0];
    weir_output zeros = weir_zeros_like(s, g);
    weir_output is_x =
        weir_build_binary(s, comparison, comparison, weir_gradient_x(gradient, 0), weir_gradient_x(gradient, 1));
    weir_output gx = weir_select(s, is_x, g, zeros);
    weir_output gy = weir_select(s, is_x, zeros, g);
    return set_both(gradient, s, gx, gy);
}

static weir_status maximum_gradient(weir_gradient *gradient)
{
    return extreme_gradient(gradient, "GreaterEqual");
}

static weir_status minimum_gradient(weir_gradient *gradient)
{
    return extreme_gradient(gradient, "LessEqual");
}

/* 2 g (x - y), the negative of it */
static weir_status squared_difference_gradient(weir_gradient *gradient)
{
    weir_scope s = weir_gradient_after(gradient);
    weir_output g = gradient->dy[0];
    weir_output two = weir_build_number(s, weir_output_dtype(g), 2, "scalar");
    weir_output twice = weir_multiply(s, two, g);
    weir_output difference =
        weir_subtract(s, weir_gradient_x(gradient, 0), weir_gradient_x(gradient, 1), .name = "sub");
    weir_output gx = times(s, twice, difference);
    return set_both(gradient, gradient->scope, gx, weir_negative(gradient->scope, gx));
}

static weir_status add_n_gradient(weir_gradient *gradient)
{
    for (int i = 0; i < gradient->node->num_inputs; i++)
        weir_gradient_set(gradient, i, gradient->dy[0]);
    return WEIR_STATUS_OK;
}

/* ---- Builders ---- */

#define BINARY_BUILDERS(X)                                                                                             \
    X(add, "AddV2", "Add")                                                                                             \
    X(subtract, "Sub", "Sub")                                                                                          \
    X(multiply, "Mul", "Mul")                                                                                          \
    X(floor_div, "FloorDiv", "floordiv")                                                                               \
    X(floor_mod, "FloorMod", "FloorMod")                                                                               \
    X(pow, "Pow", "Pow")                                                                                               \
    X(maximum, "Maximum", "Maximum")                                                                                   \
    X(minimum, "Minimum", "Minimum")                                                                                   \
    X(squared_difference, "SquaredDifference", "SquaredDifference")                                                    \
    X(equal, "Equal", "Equal")                                                                                         \
    X(not_equal, "NotEqual", "NotEqual")                                                                               \
    X(greater, "Greater", "Greater")                                                                                   \
    X(greater_equal, "GreaterEqual", "GreaterEqual")                                                                   \
    X(less, "Less", "Less")                                                                                            \
    X(less_equal, "LessEqual", "LessEqual")                                                                            \
    X(logical_and, "LogicalAnd", "LogicalAnd")                                                                         \
    X(logical_or, "LogicalOr", "LogicalOr")

#define DEFINE_BUILDER(builder, op, otherwise)                                                                         \
    weir_output(weir_##builder)(weir_scope s, weir_output x, weir_output y, const weir_name_options *options)          \
    {                                                                                                                  \
        return weir_build_binary(s, op, weir_option_name(options, otherwise), x, y);                                   \
    }
BINARY_BUILDERS(DEFINE_BUILDER)

/* The type in which integers of a type are divided: float where it holds them all. */
static weir_dtype quotient_type(weir_dtype dtype)
{
    if (!weir_dtype_is_integer(dtype))
        return dtype;
    return weir_dtype_size(dtype) <= 2 ? WEIR_FLOAT : WEIR_DOUBLE;
}

/* True division: integers are cast first. */
weir_output(weir_divide)(weir_scope s, weir_output x, weir_output y, const weir_name_options *options)
{
    const char *name = weir_option_name(options, "truediv");
    weir_dtype dtype = weir_dtype_base(weir_output_dtype(x));
    if (quotient_type(dtype) == dtype || x.node == NULL || y.node == NULL)
        return weir_build_binary(s, "RealDiv", name, x, y);
    weir_scope inner = weir_in_scope(s, "%s", name);
    x = weir_cast(inner, x, quotient_type(dtype));
    y = weir_cast(inner, y, quotient_type(dtype));
    return weir_build_binary(inner, "RealDiv", weir_scope_name(inner), x, y);
}

/* One input is itself, or Identity when a name is asked for. */
weir_output(weir_add_n)(weir_scope s, const weir_output *inputs, int count, const weir_name_options *options)
{
    const char *name = weir_option_name(options, NULL);
    if (count == 1 && name == NULL)
        return inputs[0];
    if (count == 1)
        return weir_identity(s, inputs[0], .name = name);
    weir_op_options op = {.size = sizeof op, .name = name, .inputs = inputs, .num_inputs = count};
    return weir_out(weir_op_build(s, "AddN", &op), 0);
}

weir_output(weir_clip_by_value)(weir_scope s, weir_output x, double low, double high, const weir_name_options *options)
{
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope inner = weir_in_scope(s, "%s", weir_option_name(options, "clip_by_value"));
    weir_output upper = weir_build_with_number(inner, "Minimum", "Minimum", x, high);
    weir_output floor = weir_build_number(inner, weir_output_dtype(x), low, "y");
    return weir_maximum(inner, upper, floor, .name = weir_scope_name(inner));
}

/* ---- Shape rules ---- */

/* Equal and NotEqual may be told to say "not equal" of shapes that do not go together. */
static weir_status infer_equal(weir_infer *infer)
{
    if (weir_node_bool(infer->node, "incompatible_shape_error", true))
        return weir_infer_elementwise(infer);
    weir_shape x = weir_infer_input(infer, 0);
    weir_shape y = weir_infer_input(infer, 1);
    if (weir_shape_known(x) && weir_shape_equal(x, y))
        infer->outputs[0] = x;
    return WEIR_STATUS_OK;
}

static weir_status infer_add_n(weir_infer *infer)
{
    weir_shape merged = weir_infer_input(infer, 0);
    for (int i = 1; i < infer->node->num_inputs; i++) {
        weir_status status = weir_infer_merge(merged, weir_infer_input(infer, i), &merged);
        if (!weir_ok(status))
            return weir_fail_in(status, "From merging shape %d with other shapes", i);
    }
    infer->outputs[0] = merged;
    return WEIR_STATUS_OK;
}

/* ---- Schemas ---- */

static const weir_dtype add_types[] = {WEIR_BFLOAT16,   WEIR_HALF,   WEIR_FLOAT,        WEIR_DOUBLE, WEIR_UINT8,
                                       WEIR_INT8,       WEIR_INT16,  WEIR_INT32,        WEIR_INT64,  WEIR_COMPLEX64,
                                       WEIR_COMPLEX128, WEIR_STRING, WEIR_INVALID_DTYPE};
static const weir_dtype add_v2_types[] = {
    WEIR_BFLOAT16, WEIR_HALF,  WEIR_FLOAT, WEIR_DOUBLE, WEIR_UINT8,     WEIR_UINT16,     WEIR_UINT32,       WEIR_UINT64,
    WEIR_INT8,     WEIR_INT16, WEIR_INT32, WEIR_INT64,  WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_INVALID_DTYPE};
static const weir_dtype sub_types[] = {WEIR_BFLOAT16,  WEIR_HALF,       WEIR_FLOAT,  WEIR_DOUBLE, WEIR_UINT8,
                                       WEIR_INT8,      WEIR_UINT16,     WEIR_INT16,  WEIR_INT32,  WEIR_INT64,
                                       WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_UINT32, WEIR_UINT64, WEIR_INVALID_DTYPE};
static const weir_dtype mul_types[] = {WEIR_BFLOAT16, WEIR_HALF,   WEIR_FLOAT,     WEIR_DOUBLE,     WEIR_UINT8,
                                       WEIR_INT8,     WEIR_UINT16, WEIR_INT16,     WEIR_INT32,      WEIR_UINT32,
                                       WEIR_UINT64,   WEIR_INT64,  WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_INVALID_DTYPE};
static const weir_dtype div_no_nan_types[] = {WEIR_HALF,      WEIR_FLOAT,      WEIR_BFLOAT16,     WEIR_DOUBLE,
                                              WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_INVALID_DTYPE};
static const weir_dtype floor_mod_types[] = {WEIR_INT8,   WEIR_INT16,  WEIR_INT32,        WEIR_INT64,    WEIR_UINT8,
                                             WEIR_UINT16, WEIR_UINT32, WEIR_UINT64,       WEIR_BFLOAT16, WEIR_HALF,
                                             WEIR_FLOAT,  WEIR_DOUBLE, WEIR_INVALID_DTYPE};
static const weir_dtype pow_types[] = {WEIR_BFLOAT16,  WEIR_FLOAT,      WEIR_HALF,         WEIR_DOUBLE,
                                       WEIR_INT8,      WEIR_INT16,      WEIR_INT32,        WEIR_INT64,
                                       WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_INVALID_DTYPE};
static const weir_dtype extreme_types[] = {WEIR_BFLOAT16, WEIR_HALF,   WEIR_FLOAT,        WEIR_DOUBLE, WEIR_INT8,
                                           WEIR_UINT8,    WEIR_INT16,  WEIR_UINT16,       WEIR_INT32,  WEIR_UINT32,
                                           WEIR_INT64,    WEIR_UINT64, WEIR_INVALID_DTYPE};
static const weir_dtype difference_types[] = {WEIR_BFLOAT16,  WEIR_HALF,       WEIR_FLOAT,
                                              WEIR_DOUBLE,    WEIR_INT32,      WEIR_INT64,
                                              WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_INVALID_DTYPE};
static const weir_dtype order_types[] = {WEIR_FLOAT,  WEIR_DOUBLE, WEIR_INT32,        WEIR_UINT8,  WEIR_INT16,
                                         WEIR_INT8,   WEIR_INT64,  WEIR_BFLOAT16,     WEIR_UINT16, WEIR_HALF,
                                         WEIR_UINT32, WEIR_UINT64, WEIR_INVALID_DTYPE};
static const weir_dtype add_n_types[] = {
    WEIR_FLOAT,  WEIR_DOUBLE,     WEIR_INT32,  WEIR_UINT8,  WEIR_INT16,    WEIR_INT8,    WEIR_COMPLEX64,
    WEIR_INT64,  WEIR_QINT8,      WEIR_QUINT8, WEIR_QINT32, WEIR_BFLOAT16, WEIR_QINT16,  WEIR_QUINT16,
    WEIR_UINT16, WEIR_COMPLEX128, WEIR_HALF,   WEIR_UINT32, WEIR_UINT64,   WEIR_VARIANT, WEIR_INVALID_DTYPE};

#define BINARY_WITH(op, types, function, ...)                                                                          \
    {                                                                                                                  \
        .name = (op), .inputs = WEIR_ARGS({"x", .type_attr = "T"}, {"y", .type_attr = "T"}),                           \
        .outputs = WEIR_ARGS({"z", .type_attr = "T"}), .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", types)),               \
        .infer = weir_infer_elementwise, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = (function), __VA_ARGS__  \
    }
#define BINARY(op, types, function) BINARY_WITH(op, types, function, .is_commutative = false)
#define COMPARISON(op, types, ...)                                                                                     \
    {                                                                                                                  \
        .name = (op), .inputs = WEIR_ARGS({"x", .type_attr = "T"}, {"y", .type_attr = "T"}),                           \
        .outputs = WEIR_ARGS({"z", .type = WEIR_BOOL}), .gradient_kind = WEIR_GRADIENT_NONE, __VA_ARGS__               \
    }
#define ORDER(op)                                                                                                      \
    COMPARISON(op, order_types, .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", order_types)), .infer = weir_infer_elementwise)
#define EQUALITY(op)                                                                                                   \
    COMPARISON(op, NULL,                                                                                               \
               .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", NULL), WEIR_A_BOOL("incompatible_shape_error", true)),         \
               .infer = infer_equal, .is_commutative = true)
#define LOGICAL(op)                                                                                                    \
    {                                                                                                                  \
        .name = (op), .inputs = WEIR_ARGS({"x", .type = WEIR_BOOL}, {"y", .type = WEIR_BOOL}),                         \
        .outputs = WEIR_ARGS({"z", .type = WEIR_BOOL}), .infer = weir_infer_elementwise,                               \
        .gradient_kind = WEIR_GRADIENT_NONE, .is_commutative = true                                                    \
    }

static const weir_op_def ops[] = {
    BINARY("Add", add_types, add_gradient),
    BINARY_WITH("AddV2", add_v2_types, add_gradient, .is_commutative = true, .is_aggregate = true),
    BINARY("Sub", sub_types, sub_gradient),
    BINARY_WITH("Mul", mul_types, mul_gradient, .is_commutative = true),
    BINARY("RealDiv", mul_types, real_div_gradient),
    BINARY("Div", mul_types, div_gradient),
    BINARY("DivNoNan", div_no_nan_types, div_no_nan_gradient),
    BINARY("FloorDiv", mul_types, no_gradient),
    BINARY("FloorMod", floor_mod_types, floor_mod_gradient),
    BINARY("Pow", pow_types, pow_gradient),
    BINARY("Maximum", extreme_types, maximum_gradient),
    BINARY("Minimum", extreme_types, minimum_gradient),
    BINARY_WITH("SquaredDifference", difference_types, squared_difference_gradient, .is_commutative = true),
    EQUALITY("Equal"),
    EQUALITY("NotEqual"),
    ORDER("Greater"),
    ORDER("GreaterEqual"),
    ORDER("Less"),
    ORDER("LessEqual"),
    LOGICAL("LogicalAnd"),
    LOGICAL("LogicalOr"),
    {.name = "AddN",
     .inputs = WEIR_ARGS({"inputs", .type_attr = "T", .number_attr = "N"}),
     .outputs = WEIR_ARGS({"sum", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT_MIN("N", 1), WEIR_A_TYPE("T", add_n_types)),
     .infer = infer_add_n,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = add_n_gradient,
     .is_commutative = true,
     .is_aggregate = true},
    {.name = NULL},
};

const weir_op_family weir_family_math_binary = {.name = "math_binary", .ops = ops, .kernels = weir_kernel_table_binary};
