/*
 * Elementwise kernels: one result per element, of one or two inputs (broadcast as NumPy does), a selection of two by a
 * third, a sum of many, and whole chains of such steps in one pass.
 *
 * Each family has a prepare function, which turns an operation, a type and shapes into a small plan (no memory is
 * taken), and a run function, which calls straight through a pointer in that plan. A plan may be used by many threads
 * at once. Results have the same bits with any team, and the same bits whether an element is computed alone, at the end
 * of a row or by a chain. float is computed by the processor's best tier, half and bfloat16 as float and rounded once.
 * An output may be the same memory as an input of the output's shape and type, and else must not overlap any.
 *
 * Any thread. Nothing here fails at run time except as weir_fault says.
 */
#ifndef KERNEL_CPU_ELEMENTWISE_H
#define KERNEL_CPU_ELEMENTWISE_H

#include <weir/types.h>

#include "kernel/kernel.h"

/* What elements can do wrong; the message is the op layer's. The output holds unspecified values then. */
typedef enum weir_fault {
    WEIR_FAULT_NONE = 0,
    WEIR_FAULT_DIVISION_BY_ZERO, /* integer Div, FloorDiv, FloorMod, Mod, TruncateDiv: "Integer division by zero" */
    WEIR_FAULT_NEGATIVE_POWER,   /* integer Pow: "Integers to negative integer powers are not allowed" */
} weir_fault;

/* ---- one input --------------------------------------------------------------------------------------------------- */

/* Name here, name of the node type. The output has the input's type, except IsNan, IsInf and IsFinite: bool. */
#define WEIR_UNARY_OPS(X)                                                                                              \
    X(NEG, "Neg")                                                                                                      \
    X(RECIPROCAL, "Reciprocal")                                                                                        \
    X(SQUARE, "Square")                                                                                                \
    X(SQRT, "Sqrt")                                                                                                    \
    X(RSQRT, "Rsqrt")                                                                                                  \
    X(EXP, "Exp")                                                                                                      \
    X(EXPM1, "Expm1")                                                                                                  \
    X(LOG, "Log")                                                                                                      \
    X(LOG1P, "Log1p")                                                                                                  \
    X(ABS, "Abs")                                                                                                      \
    X(SIGN, "Sign")                                                                                                    \
    X(FLOOR, "Floor")                                                                                                  \
    X(CEIL, "Ceil")                                                                                                    \
    X(ROUND, "Round")                                                                                                  \
    X(RINT, "Rint")                                                                                                    \
    X(RELU, "Relu")                                                                                                    \
    X(RELU6, "Relu6")                                                                                                  \
    X(ELU, "Elu")                                                                                                      \
    X(SELU, "Selu")                                                                                                    \
    X(SIGMOID, "Sigmoid")                                                                                              \
    X(TANH, "Tanh")                                                                                                    \
    X(SOFTPLUS, "Softplus")                                                                                            \
    X(SOFTSIGN, "Softsign")                                                                                            \
    X(SIN, "Sin")                                                                                                      \
    X(COS, "Cos")                                                                                                      \
    X(TAN, "Tan")                                                                                                      \
    X(ASIN, "Asin")                                                                                                    \
    X(ACOS, "Acos")                                                                                                    \
    X(ATAN, "Atan")                                                                                                    \
    X(SINH, "Sinh")                                                                                                    \
    X(COSH, "Cosh")                                                                                                    \
    X(ASINH, "Asinh")                                                                                                  \
    X(ACOSH, "Acosh")                                                                                                  \
    X(ATANH, "Atanh")                                                                                                  \
    X(ERF, "Erf")                                                                                                      \
    X(ERFC, "Erfc")                                                                                                    \
    X(LGAMMA, "Lgamma")                                                                                                \
    X(CONJ, "Conj")                                                                                                    \
    X(INVERT, "Invert")                                                                                                \
    X(LOGICAL_NOT, "LogicalNot")                                                                                       \
    X(IS_NAN, "IsNan")                                                                                                 \
    X(IS_INF, "IsInf")                                                                                                 \
    X(IS_FINITE, "IsFinite")                                                                                           \
    X(IDENTITY, "Identity")                                                                                            \
    X(ZEROS_LIKE, "ZerosLike")                                                                                         \
    X(ONES_LIKE, "OnesLike")

typedef enum weir_unary_op {
#define WEIR_UNARY_ENUM(name, text) WEIR_UNARY_##name,
    WEIR_UNARY_OPS(WEIR_UNARY_ENUM)
#undef WEIR_UNARY_ENUM
        WEIR_UNARY_COUNT
} weir_unary_op;

/* n elements one after another. */
typedef void weir_unary_loop(const void *x, void *out, int64_t n);

typedef struct weir_unary_plan weir_unary_plan;

struct weir_unary_plan {
    void (*run)(const weir_unary_plan *plan, weir_team *team, const void *x, void *out);
    weir_unary_loop *loop;
    int64_t elements;
    int64_t block; /* elements of a block */
    int32_t size;  /* bytes of an input element */
    int32_t out_size;
    weir_dtype type;
    unsigned char one[16]; /* OnesLike: the value */
};

/* The node type's operation, or -1. */
int weir_unary_named(const char *name);

/* True when the operation has the type. */
bool weir_unary_supports(weir_unary_op op, weir_dtype type);

/* Plans n elements; false when the operation has not the type. */
bool weir_unary_prepare(weir_unary_op op, weir_dtype type, int64_t n, weir_unary_plan *plan);

static inline void weir_unary_run(const weir_unary_plan *plan, weir_team *team, const void *x, void *out)
{
    plan->run(plan, team, x, out);
}

/* ---- two inputs -------------------------------------------------------------------------------------------------- */

/* Name here, name of the node type, kind of output: T the inputs' type, B bool. Gradients take (y or x, dy) as the node
 * does: SigmoidGrad, TanhGrad, SqrtGrad, RsqrtGrad, ReciprocalGrad (y, dy); ReluGrad, Relu6Grad, SoftplusGrad,
 * SoftsignGrad (dy, x); EluGrad, SeluGrad (dy, y). */
#define WEIR_BINARY_OPS(X)                                                                                             \
    X(ADD, "AddV2", T)                                                                                                 \
    X(SUB, "Sub", T)                                                                                                   \
    X(MUL, "Mul", T)                                                                                                   \
    X(REAL_DIV, "RealDiv", T)                                                                                          \
    X(DIV, "Div", T)                                                                                                   \
    X(TRUNCATE_DIV, "TruncateDiv", T)                                                                                  \
    X(FLOOR_DIV, "FloorDiv", T)                                                                                        \
    X(FLOOR_MOD, "FloorMod", T)                                                                                        \
    X(TRUNCATE_MOD, "Mod", T)                                                                                          \
    X(DIV_NO_NAN, "DivNoNan", T)                                                                                       \
    X(MUL_NO_NAN, "MulNoNan", T)                                                                                       \
    X(XDIVY, "Xdivy", T)                                                                                               \
    X(XLOGY, "Xlogy", T)                                                                                               \
    X(POW, "Pow", T)                                                                                                   \
    X(ATAN2, "Atan2", T)                                                                                               \
    X(MAXIMUM, "Maximum", T)                                                                                           \
    X(MINIMUM, "Minimum", T)                                                                                           \
    X(SQUARED_DIFFERENCE, "SquaredDifference", T)                                                                      \
    X(BITWISE_AND, "BitwiseAnd", T)                                                                                    \
    X(BITWISE_OR, "BitwiseOr", T)                                                                                      \
    X(BITWISE_XOR, "BitwiseXor", T)                                                                                    \
    X(LEFT_SHIFT, "LeftShift", T)                                                                                      \
    X(RIGHT_SHIFT, "RightShift", T)                                                                                    \
    X(EQUAL, "Equal", B)                                                                                               \
    X(NOT_EQUAL, "NotEqual", B)                                                                                        \
    X(GREATER, "Greater", B)                                                                                           \
    X(GREATER_EQUAL, "GreaterEqual", B)                                                                                \
    X(LESS, "Less", B)                                                                                                 \
    X(LESS_EQUAL, "LessEqual", B)                                                                                      \
    X(LOGICAL_AND, "LogicalAnd", B)                                                                                    \
    X(LOGICAL_OR, "LogicalOr", B)                                                                                      \
    X(RELU_GRAD, "ReluGrad", T)                                                                                        \
    X(RELU6_GRAD, "Relu6Grad", T)                                                                                      \
    X(ELU_GRAD, "EluGrad", T)                                                                                          \
    X(SELU_GRAD, "SeluGrad", T)                                                                                        \
    X(SIGMOID_GRAD, "SigmoidGrad", T)                                                                                  \
    X(TANH_GRAD, "TanhGrad", T)                                                                                        \
    X(SOFTPLUS_GRAD, "SoftplusGrad", T)                                                                                \
    X(SOFTSIGN_GRAD, "SoftsignGrad", T)                                                                                \
    X(SQRT_GRAD, "SqrtGrad", T)                                                                                        \
    X(RSQRT_GRAD, "RsqrtGrad", T)                                                                                      \
    X(RECIPROCAL_GRAD, "ReciprocalGrad", T)

typedef enum weir_binary_op {
#define WEIR_BINARY_ENUM(name, text, kind) WEIR_BINARY_##name,
    WEIR_BINARY_OPS(WEIR_BINARY_ENUM)
#undef WEIR_BINARY_ENUM
        WEIR_BINARY_COUNT
} weir_binary_op;

/* Which side of a loop is one value for all elements. */
typedef enum weir_sides {
    WEIR_SIDES_BOTH = 0, /* a[i], b[i] */
    WEIR_SIDES_LEFT = 1, /* a[i], b[0] */
    WEIR_SIDES_RIGHT = 2 /* a[0], b[i] */
} weir_sides;

/* n > 0 elements one after another; which input is one value is the loop's own. */
typedef weir_fault weir_binary_loop(const void *a, const void *b, void *out, int64_t n);

typedef struct weir_binary_plan weir_binary_plan;

struct weir_binary_plan {
    weir_fault (*run)(const weir_binary_plan *plan, weir_team *team, const void *a, const void *b, void *out);
    weir_binary_loop *loops[3]; /* by weir_sides; of float for half and bfloat16 */
    int64_t elements;           /* of the output */
    int64_t rows, columns;      /* the output as rows of the innermost axis */
    int64_t block;              /* elements (rank 0) or rows of a block */
    int32_t size, out_size;     /* bytes of an element */
    int32_t sides;              /* of a row: weir_sides */
    int32_t rank;               /* axes that rows run over, after merging; the last varies fastest */
    weir_dtype type;
    int64_t dims[WEIR_MAX_RANK];
    int64_t a_strides[WEIR_MAX_RANK]; /* elements; 0 along an axis that is broadcast */
    int64_t b_strides[WEIR_MAX_RANK];
};

/* The node type's operation ("Add" and "AddV2" are the same), or -1. */
int weir_binary_named(const char *name);

bool weir_binary_supports(weir_binary_op op, weir_dtype type);

/* The output's type: bool or type. */
weir_dtype weir_binary_out_type(weir_binary_op op, weir_dtype type);

/* The shape that a and b broadcast to; false if they do not. */
bool weir_broadcast_shape(const weir_shape *a, const weir_shape *b, weir_shape *out);

/* Plans fully known shapes; false when the operation has not the type or the shapes do not broadcast. */
bool weir_binary_prepare(weir_binary_op op, weir_dtype type, const weir_shape *a, const weir_shape *b,
                         weir_binary_plan *plan);

static inline weir_fault weir_binary_run(const weir_binary_plan *plan, weir_team *team, const void *a, const void *b,
                                         void *out)
{
    return plan->run(plan, team, a, b, out);
}

/* ---- selection --------------------------------------------------------------------------------------------------- */

typedef struct weir_select_plan weir_select_plan;

struct weir_select_plan {
    void (*run)(const weir_select_plan *plan, weir_team *team, const bool *condition, const void *a, const void *b,
                void *out);
    int64_t elements, rows, columns, block;
    int32_t size; /* bytes of an element: 1, 2, 4, 8 or 16 */
    int32_t rank;
    int64_t strides[3]; /* of condition, a, b along a row: 0 or 1 */
    int64_t dims[WEIR_MAX_RANK];
    int64_t row_strides[3][WEIR_MAX_RANK]; /* of condition, a, b along the other axes, in elements */
};

/* out = condition ? a : b, all three broadcast together (SelectV2). size: bytes of an element. False when the shapes do
 * not broadcast. */
bool weir_select_prepare(size_t size, const weir_shape *condition, const weir_shape *a, const weir_shape *b,
                         weir_select_plan *plan);

/* The condition's shape as SelectV2 wants it, for a Select node: same shape and scalar stay, a vector picks rows of
 * x. */
weir_shape weir_select_rows(const weir_shape *condition, const weir_shape *x);

static inline void weir_select_run(const weir_select_plan *plan, weir_team *team, const bool *condition, const void *a,
                                   const void *b, void *out)
{
    plan->run(plan, team, condition, a, b, out);
}

/* Which element each output element comes from, for elements that only the op layer can copy: calls take(context,
 * output index, from_a, index in a or b) in row-major order. */
typedef void weir_select_take(void *context, int64_t out, bool from_a, int64_t index);
void weir_select_walk(const weir_select_plan *plan, const bool *condition, weir_select_take *take, void *context);

/* ---- sum of many ------------------------------------------------------------------------------------------------- */

/* out[i] = inputs[0][i] + inputs[1][i] + ..., added in that order. out may be any of the inputs. NULL: no such type. */
typedef void weir_add_n_function(weir_team *team, int count, const void *const *inputs, void *out, int64_t n);
weir_add_n_function *weir_add_n_find(weir_dtype type);

/* ---- chains ------------------------------------------------------------------------------------------------------ */

#define WEIR_PROGRAM_STEPS 24
#define WEIR_PROGRAM_INPUTS 12
#define WEIR_PROGRAM_VALUES (WEIR_PROGRAM_INPUTS + WEIR_PROGRAM_STEPS)
#define WEIR_PROGRAM_BLOCK 512 /* elements computed through all steps before the next ones */

/* How an input stands to the n elements of the chain. */
typedef enum weir_program_input {
    WEIR_PROGRAM_FULL,  /* n elements */
    WEIR_PROGRAM_ROW,   /* columns elements, the same for every row of columns elements */
    WEIR_PROGRAM_SCALAR /* one element */
} weir_program_input;

typedef enum weir_program_kind { WEIR_PROGRAM_UNARY, WEIR_PROGRAM_BINARY, WEIR_PROGRAM_SELECT } weir_program_kind;

/* One step. Values are numbered: inputs first, then steps in order; a, b and condition are such numbers. */
typedef struct weir_program_step {
    uint8_t kind; /* weir_program_kind */
    uint8_t op;   /* weir_unary_op or weir_binary_op */
    uint8_t a, b;
    uint8_t condition; /* SELECT: condition ? a : b */
    bool output;       /* the value is stored: the outputs are these steps in order */
} weir_program_step;

typedef union weir_program_loop {
    weir_unary_loop *unary;
    weir_binary_loop *const *binary; /* by weir_sides */
} weir_program_loop;

/* A chain of float steps; comparisons, logical steps and conditions are bool, inputs may be either. To be filled in by
 * the caller up to steps, then checked and completed by prepare. */
typedef struct weir_elementwise_program {
    int inputs;
    uint8_t input_kinds[WEIR_PROGRAM_INPUTS]; /* weir_program_input */
    bool input_bool[WEIR_PROGRAM_INPUTS];
    int count;
    weir_program_step steps[WEIR_PROGRAM_STEPS];
    /* completed by prepare */
    int outputs;
    int buffers;
    bool scalar[WEIR_PROGRAM_VALUES];    /* the value is one element */
    bool boolean[WEIR_PROGRAM_VALUES];   /* bool, else float */
    uint8_t buffer[WEIR_PROGRAM_VALUES]; /* where a value lives within a block; 255: in no buffer */
    bool direct[WEIR_PROGRAM_STEPS];     /* an output that is computed where it belongs */
    weir_program_loop loops[WEIR_PROGRAM_STEPS];
} weir_elementwise_program;

/* Checks a program (operand numbers, types, operations that float has) and completes it; false when it cannot run. */
bool weir_program_prepare(weir_elementwise_program *program);

/* Computes n elements, rows of columns elements (columns only counts with ROW inputs). outputs: n elements each,
 * also of steps that depend on scalars only. The bits are those of the separate kernels. */
void weir_program_run(const weir_elementwise_program *program, weir_team *team, int64_t n, int64_t columns,
                      const void *const *inputs, void *const *outputs);

#endif
