/*
 * Ops of one input, element by element, and the gradients that activations name as ops of their own: schemas, gradients
 * and builders. Their kernels are bound in math_unary_kernels.c.
 */
#include "op/compose.h"
#include "op/kernels.h"

#include "base/text.h"

/* ---- Gradients ---- */

static weir_status neg_gradient(weir_gradient *gradient)
{
    weir_gradient_set(gradient, 0, weir_negative(gradient->scope, gradient->dy[0]));
    return WEIR_STATUS_OK;
}

/* Those whose gradient is one op of output and dy: "Tanh" to "TanhGrad". */
static weir_status by_output(weir_gradient *gradient, const char *op)
{
    weir_output dx = weir_build_binary(gradient->scope, op, op, weir_gradient_y0(gradient), gradient->dy[0]);
    weir_gradient_set(gradient, 0, dx);
    return WEIR_STATUS_OK;
}

static weir_status reciprocal_gradient(weir_gradient *gradient)
{
    return by_output(gradient, "ReciprocalGrad");
}

static weir_status sqrt_gradient(weir_gradient *gradient)
{
    return by_output(gradient, "SqrtGrad");
}

static weir_status rsqrt_gradient(weir_gradient *gradient)
{
    return by_output(gradient, "RsqrtGrad");
}

static weir_status sigmoid_gradient(weir_gradient *gradient)
{
    return by_output(gradient, "SigmoidGrad");
}

static weir_status tanh_gradient(weir_gradient *gradient)
{
    return by_output(gradient, "TanhGrad");
}

/* Those whose gradient is one op of dy and output: "Relu" to "ReluGrad". */
static weir_status by_activation(weir_gradient *gradient, const char *op)
{
    weir_output dx = weir_build_binary(gradient->scope, op, op, gradient->dy[0], weir_gradient_y0(gradient));
    weir_gradient_set(gradient, 0, dx);
    return WEIR_STATUS_OK;
}

static weir_status relu_gradient(weir_gradient *gradient)
{
    return by_activation(gradient, "ReluGrad");
}

static weir_status relu6_gradient(weir_gradient *gradient)
{
    return by_activation(gradient, "Relu6Grad");
}

static weir_status elu_gradient(weir_gradient *gradient)
{
    return by_activation(gradient, "EluGrad");
}

/* dy (2 x) */
static weir_status square_gradient(weir_gradient *gradient)
{
    weir_scope s = weir_gradient_after(gradient);
    weir_output x = weir_build_conjugate(s, weir_gradient_x0(gradient));
    weir_output two = weir_build_number(s, weir_output_dtype(x), 2, "Const");
    weir_output slope = weir_multiply(s, x, two);
    weir_gradient_set(gradient, 0, weir_multiply(s, gradient->dy[0], slope));
    return WEIR_STATUS_OK;
}

static weir_status exp_gradient(weir_gradient *gradient)
{
    weir_scope s = weir_gradient_after(gradient);
    weir_output y = weir_build_conjugate(s, weir_gradient_y0(gradient));
    weir_gradient_set(gradient, 0, weir_multiply(s, gradient->dy[0], y, .name = "mul"));
    return WEIR_STATUS_OK;
}

static weir_status log_gradient(weir_gradient *gradient)
{
    weir_scope s = weir_gradient_after(gradient);
    weir_output x = weir_build_conjugate(s, weir_gradient_x0(gradient));
    weir_output slope = weir_reciprocal(s, x);
    weir_gradient_set(gradient, 0, weir_multiply(s, gradient->dy[0], slope, .name = "mul"));
    return WEIR_STATUS_OK;
}

static weir_status abs_gradient(weir_gradient *gradient)
{
    weir_output slope = weir_sign(gradient->scope, weir_gradient_x0(gradient));
    weir_gradient_set(gradient, 0, weir_multiply(gradient->scope, gradient->dy[0], slope, .name = "mul"));
    return WEIR_STATUS_OK;
}

static weir_status sign_gradient(weir_gradient *gradient)
{
    weir_gradient_set(gradient, 0, weir_zeros_like(gradient->scope, weir_gradient_x0(gradient)));
    return WEIR_STATUS_OK;
}

static weir_status softplus_gradient(weir_gradient *gradient)
{
    weir_output slope = weir_sigmoid(gradient->scope, weir_gradient_x0(gradient));
    weir_gradient_set(gradient, 0, weir_multiply(gradient->scope, gradient->dy[0], slope, .name = "mul"));
    return WEIR_STATUS_OK;
}

static weir_status conj_gradient(weir_gradient *gradient)
{
    weir_gradient_set(gradient, 0, weir_build_unary(gradient->scope, "Conj", "Conj", gradient->dy[0]));
    return WEIR_STATUS_OK;
}

/* Floor and Round: steps have no slope that a step of training could use. */
static weir_status no_gradient(weir_gradient *gradient)
{
    (void)gradient;
    return WEIR_STATUS_OK;
}

/* The gradient is checked as the value was. The text is TensorFlow's, its message as Python shows bytes. */
static weir_status check_numerics_gradient(weir_gradient *gradient)
{
    weir_bytes message = weir_node_string(gradient->node, "message");
    weir_text text = {0};
    weir_text_append(&text, "Not a number (NaN) or infinity (Inf) values detected in gradient. b'%.*s'",
                     (int)message.size, message.data);
    weir_node *check = weir_op(gradient->scope, "CheckNumerics", WEIR_INPUTS(gradient->dy[0]),
                               WEIR_ATTRS(WEIR_ATTR_S("message", weir_text_get(&text))));
    weir_text_clear(&text);
    weir_gradient_set(gradient, 0, weir_out(check, 0));
    return WEIR_STATUS_OK;
}

/* ---- Gradients of gradients: input 0 is a, input 1 is b ---- */

static weir_output times(weir_scope s, weir_output x, weir_output y)
{
    return weir_multiply(s, x, y, .name = "mul");
}

/* d(b / (2 a)): -(g / a) output, (g / a) / 2 */
static weir_status sqrt_grad_gradient(weir_gradient *gradient)
{
    weir_scope s = weir_gradient_after(gradient);
    weir_output quotient = weir_divide(s, gradient->dy[0], weir_gradient_x0(gradient));
    weir_output negative = weir_negative(s, weir_build_conjugate(s, quotient));
    weir_gradient_set(gradient, 0, times(s, negative, weir_gradient_y0(gradient)));
    weir_gradient_set(gradient, 1, weir_build_number_with(s, "Mul", "mul", 0.5, quotient));
    return WEIR_STATUS_OK;
}

/* d(-b a^3 / 2): -1.5 g b a^2, -g a^3 / 2 */
static weir_status rsqrt_grad_gradient(weir_gradient *gradient)
{
    weir_scope s = weir_gradient_after(gradient);
    weir_output a = weir_build_conjugate(s, weir_gradient_x0(gradient));
    weir_output g = gradient->dy[0];
    weir_output product = weir_build_number_with(s, "Mul", "mul", -1.5, weir_build_conjugate(s, g));
    product = times(s, product, weir_gradient_x(gradient, 1));
    weir_output square = weir_square(s, a);
    weir_gradient_set(gradient, 0, times(s, product, square));
    weir_gradient_set(gradient, 1, weir_build_binary(s, "RsqrtGrad", "RsqrtGrad", a, g));
    return WEIR_STATUS_OK;
}

/* The gradients of 1/x and tanh are quadratic in a: a gets -2 g b a, and b the same op of g. */
static weir_status quadratic_gradient(weir_gradient *gradient, const char *op)
{
    weir_scope s = weir_gradient_after(gradient);
    weir_output a = weir_build_conjugate(s, weir_gradient_x0(gradient));
    weir_output b = weir_build_conjugate(s, weir_gradient_x(gradient, 1));
    weir_output g = gradient->dy[0];
    weir_output product = weir_build_with_number(s, "Mul", "mul", weir_build_conjugate(s, g), -2);
    product = times(s, times(s, product, b), a);
    weir_gradient_set(gradient, 0, product);
    weir_gradient_set(gradient, 1, weir_build_binary(s, op, op, a, g));
    return WEIR_STATUS_OK;
}

static weir_status reciprocal_grad_gradient(weir_gradient *gradient)
{
    return quadratic_gradient(gradient, "ReciprocalGrad");
}

static weir_status tanh_grad_gradient(weir_gradient *gradient)
{
    return quadratic_gradient(gradient, "TanhGrad");
}

/* d(b a (1 - a)): g b - 2 g b a, g a (1 - a) */
static weir_status sigmoid_grad_gradient(weir_gradient *gradient)
{
    weir_scope s = weir_gradient_after(gradient);
    weir_output a = weir_build_conjugate(s, weir_gradient_x0(gradient));
    weir_output b = weir_build_conjugate(s, weir_gradient_x(gradient, 1));
    weir_output product = times(s, gradient->dy[0], b);
    weir_output twice = weir_build_number_with(s, "Mul", "mul", 2, product);
    weir_output part = times(s, twice, a);
    weir_gradient_set(gradient, 0, weir_subtract(s, product, part, .name = "sub"));
    weir_gradient_set(gradient, 1, weir_build_binary(s, "SigmoidGrad", "SigmoidGrad", a, gradient->dy[0]));
    return WEIR_STATUS_OK;
}

/* Linear in a with a slope that b has nothing more to say about. */
static weir_status masked_gradient(weir_gradient *gradient, const char *op)
{
    weir_output b = weir_gradient_x(gradient, 1);
    weir_gradient_set(gradient, 0, weir_build_binary(gradient->scope, op, op, gradient->dy[0], b));
    weir_gradient_set(gradient, 1, weir_zeros_like(gradient->scope, b));
    return WEIR_STATUS_OK;
}

static weir_status relu_grad_gradient(weir_gradient *gradient)
{
    return masked_gradient(gradient, "ReluGrad");
}

static weir_status relu6_grad_gradient(weir_gradient *gradient)
{
    return masked_gradient(gradient, "Relu6Grad");
}

/* b is Elu's output: below 0 the slope of the slope is 1. */
static weir_status elu_grad_gradient(weir_gradient *gradient)
{
    weir_scope s = gradient->scope;
    weir_output b = weir_gradient_x(gradient, 1);
    weir_gradient_set(gradient, 0, weir_build_binary(s, "EluGrad", "EluGrad", gradient->dy[0], b));
    weir_output is_below = weir_build_with_number(s, "Less", "Less", b, 0);
    weir_output product = times(s, gradient->dy[0], weir_gradient_x0(gradient));
    weir_output zeros = weir_zeros_like(s, b);
    weir_gradient_set(gradient, 1, weir_out(weir_op(s, "Select", WEIR_INPUTS(is_below, product, zeros)), 0));
    return WEIR_STATUS_OK;
}

/* d(a sigmoid(b)): g sigmoid(b), g a / (exp(-b) + 2 + exp(b)) */
static weir_status softplus_grad_gradient(weir_gradient *gradient)
{
    weir_scope s = weir_gradient_after(gradient);
    weir_output b = weir_gradient_x(gradient, 1);
    weir_gradient_set(gradient, 0, weir_build_binary(s, "SoftplusGrad", "SoftplusGrad", gradient->dy[0], b));
    weir_output product = times(s, gradient->dy[0], weir_gradient_x0(gradient));
    weir_output falling = weir_exp(s, weir_negative(s, b));
    weir_output sum = weir_build_with_number(s, "AddV2", "add", falling, 2);
    sum = weir_add(s, sum, weir_exp(s, b), .name = "add");
    weir_gradient_set(gradient, 1, weir_divide(s, product, sum));
    return WEIR_STATUS_OK;
}

/* ---- Builders ---- */

#define UNARY_BUILDERS(X)                                                                                              \
    X(negative, "Neg")                                                                                                 \
    X(reciprocal, "Reciprocal")                                                                                        \
    X(square, "Square")                                                                                                \
    X(sqrt, "Sqrt")                                                                                                    \
    X(rsqrt, "Rsqrt")                                                                                                  \
    X(exp, "Exp")                                                                                                      \
    X(log, "Log")                                                                                                      \
    X(abs, "Abs")                                                                                                      \
    X(sign, "Sign")                                                                                                    \
    X(floor, "Floor")                                                                                                  \
    X(relu, "Relu")                                                                                                    \
    X(relu6, "Relu6")                                                                                                  \
    X(elu, "Elu")                                                                                                      \
    X(sigmoid, "Sigmoid")                                                                                              \
    X(tanh, "Tanh")                                                                                                    \
    X(softplus, "Softplus")                                                                                            \
    X(logical_not, "LogicalNot")

#define DEFINE_BUILDER(name, op)                                                                                       \
    weir_output(weir_##name)(weir_scope s, weir_output x, const weir_name_options *options)                            \
    {                                                                                                                  \
        return weir_build_unary(s, op, weir_option_name(options, op), x);                                              \
    }
UNARY_BUILDERS(DEFINE_BUILDER)

/* Integers are round already. */
weir_output(weir_round)(weir_scope s, weir_output x, const weir_name_options *options)
{
    if (weir_dtype_is_integer(weir_dtype_base(weir_output_dtype(x))))
        return x;
    return weir_build_unary(s, "Round", weir_option_name(options, "Round"), x);
}

/* ---- Schemas ---- */

static const weir_dtype signed_types[] = {WEIR_BFLOAT16,  WEIR_HALF,       WEIR_FLOAT,        WEIR_DOUBLE,
                                          WEIR_INT8,      WEIR_INT16,      WEIR_INT32,        WEIR_INT64,
                                          WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_INVALID_DTYPE};
static const weir_dtype square_types[] = {WEIR_BFLOAT16,  WEIR_HALF,       WEIR_FLOAT,        WEIR_DOUBLE,
                                          WEIR_INT8,      WEIR_INT16,      WEIR_INT32,        WEIR_INT64,
                                          WEIR_UINT8,     WEIR_UINT16,     WEIR_UINT32,       WEIR_UINT64,
                                          WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_INVALID_DTYPE};
static const weir_dtype analytic_types[] = {WEIR_BFLOAT16,  WEIR_HALF,       WEIR_FLOAT,        WEIR_DOUBLE,
                                            WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_INVALID_DTYPE};
static const weir_dtype abs_types[] = {WEIR_BFLOAT16, WEIR_HALF,  WEIR_FLOAT, WEIR_DOUBLE,       WEIR_INT8,
                                       WEIR_INT16,    WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};
static const weir_dtype floor_types[] = {WEIR_BFLOAT16, WEIR_HALF, WEIR_FLOAT, WEIR_DOUBLE, WEIR_INVALID_DTYPE};
static const weir_dtype float_types[] = {WEIR_HALF, WEIR_BFLOAT16, WEIR_FLOAT, WEIR_DOUBLE, WEIR_INVALID_DTYPE};
static const weir_dtype real_types[] = {WEIR_FLOAT,  WEIR_DOUBLE, WEIR_INT32,        WEIR_UINT8,  WEIR_INT16,
                                        WEIR_INT8,   WEIR_INT64,  WEIR_BFLOAT16,     WEIR_UINT16, WEIR_HALF,
                                        WEIR_UINT32, WEIR_UINT64, WEIR_INVALID_DTYPE};
static const weir_dtype relu_types[] = {WEIR_FLOAT,  WEIR_DOUBLE, WEIR_INT32,    WEIR_UINT8,        WEIR_INT16,
                                        WEIR_INT8,   WEIR_INT64,  WEIR_BFLOAT16, WEIR_UINT16,       WEIR_HALF,
                                        WEIR_UINT32, WEIR_UINT64, WEIR_QINT8,    WEIR_INVALID_DTYPE};
static const weir_dtype ones_types[] = {WEIR_BFLOAT16,  WEIR_HALF,       WEIR_FLOAT, WEIR_DOUBLE,
                                        WEIR_INT8,      WEIR_UINT8,      WEIR_INT16, WEIR_UINT16,
                                        WEIR_INT32,     WEIR_UINT32,     WEIR_INT64, WEIR_UINT64,
                                        WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_BOOL,  WEIR_INVALID_DTYPE};
static const weir_dtype conj_types[] = {WEIR_COMPLEX64, WEIR_COMPLEX128, WEIR_VARIANT, WEIR_INVALID_DTYPE};

static weir_status infer_merged(weir_infer *infer)
{
    return weir_infer_merge(weir_infer_input(infer, 0), weir_infer_input(infer, 1), &infer->outputs[0]);
}

#define UNARY(op, x, y, types, function)                                                                               \
    {                                                                                                                  \
        .name = (op), .inputs = WEIR_ARGS({(x), .type_attr = "T"}), .outputs = WEIR_ARGS({(y), .type_attr = "T"}),     \
        .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", types)), .infer = weir_infer_same,                                    \
        .gradient_kind = (function) != NULL ? WEIR_GRADIENT_FUNCTION : WEIR_GRADIENT_NONE, .gradient = (function)      \
    }
#define OF_TWO(op, x, y, z, types, function)                                                                           \
    {                                                                                                                  \
        .name = (op), .inputs = WEIR_ARGS({(x), .type_attr = "T"}, {(y), .type_attr = "T"}),                           \
        .outputs = WEIR_ARGS({(z), .type_attr = "T"}), .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", types)),               \
        .infer = infer_merged, .gradient_kind = WEIR_GRADIENT_FUNCTION, .gradient = (function)                         \
    }

static const weir_op_def ops[] = {
    UNARY("Neg", "x", "y", signed_types, neg_gradient),
    UNARY("Reciprocal", "x", "y", signed_types, reciprocal_gradient),
    UNARY("Square", "x", "y", square_types, square_gradient),
    UNARY("Sqrt", "x", "y", analytic_types, sqrt_gradient),
    UNARY("Rsqrt", "x", "y", analytic_types, rsqrt_gradient),
    UNARY("Exp", "x", "y", analytic_types, exp_gradient),
    UNARY("Log", "x", "y", analytic_types, log_gradient),
    UNARY("Abs", "x", "y", abs_types, abs_gradient),
    UNARY("Sign", "x", "y", signed_types, sign_gradient),
    UNARY("Floor", "x", "y", floor_types, no_gradient),
    UNARY("Round", "x", "y", signed_types, no_gradient),
    UNARY("Relu", "features", "activations", relu_types, relu_gradient),
    UNARY("Relu6", "features", "activations", real_types, relu6_gradient),
    UNARY("Elu", "features", "activations", float_types, elu_gradient),
    UNARY("Sigmoid", "x", "y", analytic_types, sigmoid_gradient),
    UNARY("Tanh", "x", "y", analytic_types, tanh_gradient),
    UNARY("Softplus", "features", "activations", float_types, softplus_gradient),
    UNARY("ZerosLike", "x", "y", NULL, NULL),
    UNARY("OnesLike", "x", "y", ones_types, NULL),
    {.name = "Conj",
     .inputs = WEIR_ARGS({"input", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE_OR("T", conj_types, WEIR_COMPLEX64)),
     .infer = weir_infer_same,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = conj_gradient},
    {.name = "LogicalNot",
     .inputs = WEIR_ARGS({"x", .type = WEIR_BOOL}),
     .outputs = WEIR_ARGS({"y", .type = WEIR_BOOL}),
     .infer = weir_infer_same,
     .gradient_kind = WEIR_GRADIENT_NONE},
    {.name = "CheckNumerics",
     .inputs = WEIR_ARGS({"tensor", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_TYPE("T", floor_types), {.name = "message", .kind = WEIR_ATTR_STRING}),
     .infer = weir_infer_same,
     .gradient_kind = WEIR_GRADIENT_FUNCTION,
     .gradient = check_numerics_gradient,
     .is_stateful = true},
    OF_TWO("ReciprocalGrad", "y", "dy", "z", analytic_types, reciprocal_grad_gradient),
    OF_TWO("SqrtGrad", "y", "dy", "z", analytic_types, sqrt_grad_gradient),
    OF_TWO("RsqrtGrad", "y", "dy", "z", analytic_types, rsqrt_grad_gradient),
    OF_TWO("SigmoidGrad", "y", "dy", "z", analytic_types, sigmoid_grad_gradient),
    OF_TWO("TanhGrad", "y", "dy", "z", analytic_types, tanh_grad_gradient),
    OF_TWO("ReluGrad", "gradients", "features", "backprops", real_types, relu_grad_gradient),
    OF_TWO("Relu6Grad", "gradients", "features", "backprops", real_types, relu6_grad_gradient),
    OF_TWO("EluGrad", "gradients", "outputs", "backprops", float_types, elu_grad_gradient),
    OF_TWO("SoftplusGrad", "gradients", "features", "backprops", float_types, softplus_grad_gradient),
    {.name = NULL},
};

const weir_op_family weir_family_math_unary = {.name = "math_unary", .ops = ops, .kernels = weir_kernel_table_unary};
