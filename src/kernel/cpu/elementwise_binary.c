/*
 * Elementwise operations with two inputs, broadcast as NumPy does.
 *
 * Axes of size 1 are dropped and neighbouring axes merged where both inputs allow it. What is left is a line (one
 * loop), or rows: the innermost axis as one loop, repeated over the other axes. Short rows are taken many at a time,
 * with the inputs spread out into short arrays where they do not lie one row after another already.
 */
#include <string.h>

#include "kernel/cpu/cast_half.h"
#include "kernel/cpu/elementwise.h"
#include "kernel/cpu/elementwise_loops.h"

#define CHUNK 512         /* elements of the short arrays */
#define BLOCK 16384       /* elements of a block */
#define SHORT_COLUMNS 128 /* rows shorter than this are taken together */

static const struct {
    const char *name;
    bool to_bool;
} operations[] = {
#define T false
#define B true
#define OPERATION(op, text, kind) [WEIR_BINARY_##op] = {text, kind},
    WEIR_BINARY_OPS(OPERATION)
#undef T
#undef B
};

int weir_binary_named(const char *name)
{
    static const struct {
        const char *name;
        weir_binary_op op;
    } others[] = {
        {"Add", WEIR_BINARY_ADD},
        {"TruncateMod", WEIR_BINARY_TRUNCATE_MOD},
        {"InvGrad", WEIR_BINARY_RECIPROCAL_GRAD},
    };
    for (int op = 0; op < WEIR_BINARY_COUNT; op++)
        if (strcmp(operations[op].name, name) == 0)
            return op;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].name, name) == 0)
            return (int)others[i].op;
    return -1;
}

bool weir_binary_supports(weir_binary_op op, weir_dtype type)
{
    return weir_binary_loops_find(op, type) != NULL;
}

weir_dtype weir_binary_out_type(weir_binary_op op, weir_dtype type)
{
    return operations[op].to_bool ? WEIR_BOOL : type;
}

bool weir_broadcast_shape(const weir_shape *a, const weir_shape *b, weir_shape *out)
{
    weir_shape shape;
    memset(&shape, 0, sizeof shape);
    shape.rank = a->rank > b->rank ? a->rank : b->rank;
    for (int axis = 0; axis < shape.rank; axis++) {
        int a_axis = axis - (shape.rank - a->rank), b_axis = axis - (shape.rank - b->rank);
        int64_t a_dim = a_axis < 0 ? 1 : a->dims[a_axis], b_dim = b_axis < 0 ? 1 : b->dims[b_axis];
        if (a_dim != b_dim && a_dim != 1 && b_dim != 1)
            return false;
        shape.dims[axis] = a_dim == 1 ? b_dim : a_dim;
    }
    *out = shape;
    return true;
}

/* ---- one row ----------------------------------------------------------------------------------------------------- */

/* count copies of one element. */
static void spread(char *to, const char *from, int64_t size, int64_t count)
{
    switch (size) {
#define SPREAD(bytes, T)                                                                                               \
    case bytes: {                                                                                                      \
        T value;                                                                                                       \
        memcpy(&value, from, sizeof value);                                                                            \
        for (int64_t i = 0; i < count; i++)                                                                            \
            memcpy(to + i * (bytes), &value, sizeof value);                                                            \
        break;                                                                                                         \
    }
        SPREAD(1, uint8_t)
        SPREAD(2, uint16_t)
        SPREAD(4, uint32_t)
        SPREAD(8, uint64_t)
#undef SPREAD
    default:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * size, from, (size_t)size);
    }
}

static weir_fault row_narrow(const weir_binary_plan *plan, int sides, const char *a, const char *b, char *out,
                             int64_t n)
{
    const weir_half_kernels *kernels = weir_half_kernels_best();
    bool half = plan->type == WEIR_HALF;
    void (*widen)(const uint16_t *, float *, int64_t) = half ? kernels->float_of_half : kernels->float_of_bfloat16;
    void (*narrow)(const float *, uint16_t *, int64_t) = half ? kernels->half_of_float : kernels->bfloat16_of_float;
    float wide_a[CHUNK], wide_b[CHUNK];
    weir_fault fault = WEIR_FAULT_NONE;
    if (sides == WEIR_SIDES_LEFT) {
        widen((const uint16_t *)b, wide_b, 1);
        spread((char *)(wide_b + 1), (const char *)wide_b, sizeof(float), (n < CHUNK ? n : CHUNK) - 1);
    } else if (sides == WEIR_SIDES_RIGHT) {
        widen((const uint16_t *)a, wide_a, 1);
        spread((char *)(wide_a + 1), (const char *)wide_a, sizeof(float), (n < CHUNK ? n : CHUNK) - 1);
    }
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t count = n - i < CHUNK ? n - i : CHUNK;
        float result[CHUNK];
        if (sides != WEIR_SIDES_RIGHT)
            widen((const uint16_t *)a + i, wide_a, count);
        if (sides != WEIR_SIDES_LEFT)
            widen((const uint16_t *)b + i, wide_b, count);
        void *to = plan->out_size == plan->size ? (void *)result : out + i * plan->out_size;
        fault |= plan->loops[WEIR_SIDES_BOTH](wide_a, wide_b, to, count);
        if (to == result)
            narrow(result, (uint16_t *)out + i, count);
    }
    return fault;
}

/* The one value is spread over an array, for operations that have a loop for two arrays only. */
static weir_fault row_spread(const weir_binary_plan *plan, int sides, const char *a, const char *b, char *out,
                             int64_t n)
{
    _Alignas(16) char values[CHUNK * 16];
    int64_t size = plan->size;
    weir_fault fault = WEIR_FAULT_NONE;
    spread(values, sides == WEIR_SIDES_LEFT ? b : a, size, n < CHUNK ? n : CHUNK);
    for (int64_t i = 0; i < n; i += CHUNK) {
        int64_t count = n - i < CHUNK ? n - i : CHUNK;
        const char *left = sides == WEIR_SIDES_LEFT ? a + i * size : values;
        const char *right = sides == WEIR_SIDES_LEFT ? values : b + i * size;
        fault |= plan->loops[WEIR_SIDES_BOTH](left, right, out + i * plan->out_size, count);
    }
    return fault;
}

static weir_fault row(const weir_binary_plan *plan, int sides, const char *a, const char *b, char *out, int64_t n)
{
    if (weir_dtype_is_narrow(plan->type))
        return row_narrow(plan, sides, a, b, out, n);
    if (plan->loops[sides] != NULL)
        return plan->loops[sides](a, b, out, n);
    return row_spread(plan, sides, a, b, out, n);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

typedef struct binary_call {
    const weir_binary_plan *plan;
    const char *a, *b;
    char *out;
    int fault; /* atomic */
} binary_call;

static void line_block(void *context, int64_t block, int lane)
{
    (void)lane;
    binary_call *call = context;
    const weir_binary_plan *plan = call->plan;
    int64_t begin = block * plan->block;
    int64_t n = plan->columns - begin < plan->block ? plan->columns - begin : plan->block;
    int64_t a = plan->sides == WEIR_SIDES_RIGHT ? 0 : begin * plan->size;
    int64_t b = plan->sides == WEIR_SIDES_LEFT ? 0 : begin * plan->size;
    weir_fault fault = row(plan, plan->sides, call->a + a, call->b + b, call->out + begin * plan->out_size, n);
    if (fault != WEIR_FAULT_NONE)
        __atomic_store_n(&call->fault, (int)fault, __ATOMIC_RELAXED);
}

/* Where in an input the rows stand: the element of the row at index, by strides. */
static int64_t row_offset(const weir_binary_plan *plan, const int64_t *strides, int64_t index)
{
    int64_t offset = 0;
    for (int axis = plan->rank - 1; axis >= 0; axis--) {
        offset += index % plan->dims[axis] * strides[axis];
        index /= plan->dims[axis];
    }
    return offset;
}

/* rows rows of an input one after another: in place if they lie so, else spread out in array. */
static const char *gather_rows(const weir_binary_plan *plan, const char *from, int64_t row_stride, bool one_value,
                               int64_t rows, char *array)
{
    int64_t size = plan->size, columns = plan->columns;
    if (!one_value && row_stride == columns)
        return from;
    if (one_value && size == 4) {
        uint32_t *to = (uint32_t *)array;
        for (int64_t i = 0; i < rows; i++, to += columns) {
            uint32_t value;
            memcpy(&value, from + i * row_stride * 4, sizeof value);
            for (int64_t column = 0; column < columns; column++)
                to[column] = value;
        }
        return array;
    }
    for (int64_t i = 0; i < rows; i++) {
        const char *source = from + i * row_stride * size;
        if (one_value)
            spread(array + i * columns * size, source, size, columns);
        else
            memcpy(array + i * columns * size, source, (size_t)(columns * size));
    }
    return array;
}

static void rows_block(void *context, int64_t block, int lane)
{
    (void)lane;
    binary_call *call = context;
    const weir_binary_plan *plan = call->plan;
    _Alignas(16) char array_a[CHUNK * 16], array_b[CHUNK * 16];
    int64_t size = plan->size, columns = plan->columns;
    int64_t inner = plan->dims[plan->rank - 1];
    int64_t a_stride = plan->a_strides[plan->rank - 1], b_stride = plan->b_strides[plan->rank - 1];
    int64_t together = columns < SHORT_COLUMNS ? CHUNK / columns : 1;
    int64_t index = block * plan->block;
    int64_t end = plan->rows - index < plan->block ? plan->rows : index + plan->block;
    int fault = WEIR_FAULT_NONE;
    while (index < end) {
        const char *a = call->a + row_offset(plan, plan->a_strides, index) * size;
        const char *b = call->b + row_offset(plan, plan->b_strides, index) * size;
        char *out = call->out + index * columns * plan->out_size;
        int64_t stretch = inner - index % inner; /* rows with constant strides */
        stretch = stretch < end - index ? stretch : end - index;
        index += stretch;
        const char *held = NULL; /* b's rows when they are all the same row: spread once */
        while (stretch > 0) {
            int64_t rows = stretch < together ? stretch : together;
            if (rows == 1) {
                fault |= (int)row(plan, plan->sides, a, b, out, columns);
            } else {
                const char *left = gather_rows(plan, a, a_stride, plan->sides == WEIR_SIDES_RIGHT, rows, array_a);
                if (held == NULL || b_stride != 0)
                    held = gather_rows(plan, b, b_stride, plan->sides == WEIR_SIDES_LEFT, rows, array_b);
                fault |= (int)row(plan, WEIR_SIDES_BOTH, left, held, out, rows * columns);
            }
            a += rows * a_stride * size;
            b += rows * b_stride * size;
            out += rows * columns * plan->out_size;
            stretch -= rows;
        }
    }
    if (fault != WEIR_FAULT_NONE)
        __atomic_store_n(&call->fault, fault, __ATOMIC_RELAXED);
}

/* ---- run functions ----------------------------------------------------------------------------------------------- */

static weir_fault run_nothing(const weir_binary_plan *plan, weir_team *team, const void *a, const void *b, void *out)
{
    (void)plan;
    (void)team;
    (void)a;
    (void)b;
    (void)out;
    return WEIR_FAULT_NONE;
}

/* One block with a loop of its own: hardly more than the loop's call. */
static weir_fault run_short(const weir_binary_plan *plan, weir_team *team, const void *a, const void *b, void *out)
{
    (void)team;
    return plan->loops[plan->sides](a, b, out, plan->columns);
}

static weir_fault run_line(const weir_binary_plan *plan, weir_team *team, const void *a, const void *b, void *out)
{
    binary_call call = {plan, a, b, out, WEIR_FAULT_NONE};
    int64_t blocks = (plan->columns + plan->block - 1) / plan->block;
    if (blocks == 1)
        line_block(&call, 0, 0);
    else
        weir_parallel_for(team, blocks, line_block, &call);
    return (weir_fault)call.fault;
}

static weir_fault run_rows(const weir_binary_plan *plan, weir_team *team, const void *a, const void *b, void *out)
{
    binary_call call = {plan, a, b, out, WEIR_FAULT_NONE};
    int64_t blocks = (plan->rows + plan->block - 1) / plan->block;
    if (blocks == 1)
        rows_block(&call, 0, 0);
    else
        weir_parallel_for(team, blocks, rows_block, &call);
    return (weir_fault)call.fault;
}

/* A scalar with a scalar: counters, losses, learning rates. Same values as the loops. */
#define SCALAR(name, T, R, expression)                                                                                 \
    static weir_fault scalar_##name(const weir_binary_plan *plan, weir_team *team, const void *from_a,                 \
                                    const void *from_b, void *to)                                                      \
    {                                                                                                                  \
        (void)plan;                                                                                                    \
        (void)team;                                                                                                    \
        T a = *(const T *)from_a, b = *(const T *)from_b;                                                              \
        *(R *)to = (R)(expression);                                                                                    \
        return WEIR_FAULT_NONE;                                                                                        \
    }
#define SCALARS(type, T, U)                                                                                            \
    SCALAR(add_##type, T, T, (U)a + (U)b)                                                                              \
    SCALAR(sub_##type, T, T, (U)a - (U)b)                                                                              \
    SCALAR(mul_##type, T, T, (U)a *(U)b)                                                                               \
    SCALAR(less_##type, T, bool, a < b)                                                                                \
    SCALAR(less_equal_##type, T, bool, a <= b)                                                                         \
    SCALAR(greater_##type, T, bool, a > b)                                                                             \
    SCALAR(greater_equal_##type, T, bool, a >= b)
SCALARS(float, float, float)
SCALARS(int32, int32_t, uint32_t)
SCALARS(int64, int64_t, uint64_t)
SCALAR(div_float, float, float, a / b)
SCALAR(maximum_float, float, float, a != a ? a : a > b ? a : b)
SCALAR(minimum_float, float, float, a != a ? a : a < b ? a : b)
SCALAR(and_bool, uint8_t, uint8_t, (a != 0) & (b != 0))
SCALAR(or_bool, uint8_t, uint8_t, (a | b) != 0)

typedef weir_fault run_function(const weir_binary_plan *plan, weir_team *team, const void *a, const void *b, void *out);

static run_function *scalar_run(weir_binary_op op, weir_dtype type)
{
#define SCALAR_COLUMN(name)                                                                                            \
    type == WEIR_FLOAT ? scalar_##name##_float : type == WEIR_INT32 ? scalar_##name##_int32 : scalar_##name##_int64
    if (type == WEIR_BOOL)
        return op == WEIR_BINARY_LOGICAL_AND ? scalar_and_bool : op == WEIR_BINARY_LOGICAL_OR ? scalar_or_bool : NULL;
    if (type != WEIR_FLOAT && type != WEIR_INT32 && type != WEIR_INT64)
        return NULL;
    bool real = type == WEIR_FLOAT;
    switch (op) {
    case WEIR_BINARY_ADD:
        return SCALAR_COLUMN(add);
    case WEIR_BINARY_SUB:
        return SCALAR_COLUMN(sub);
    case WEIR_BINARY_MUL:
        return SCALAR_COLUMN(mul);
    case WEIR_BINARY_LESS:
        return SCALAR_COLUMN(less);
    case WEIR_BINARY_LESS_EQUAL:
        return SCALAR_COLUMN(less_equal);
    case WEIR_BINARY_GREATER:
        return SCALAR_COLUMN(greater);
    case WEIR_BINARY_GREATER_EQUAL:
        return SCALAR_COLUMN(greater_equal);
    case WEIR_BINARY_DIV:
    case WEIR_BINARY_REAL_DIV:
        return real ? scalar_div_float : NULL;
    case WEIR_BINARY_MAXIMUM:
        return real ? scalar_maximum_float : NULL;
    case WEIR_BINARY_MINIMUM:
        return real ? scalar_minimum_float : NULL;
    default:
        return NULL;
    }
}

/* ---- prepare ----------------------------------------------------------------------------------------------------- */

/* Drops axes of size 1 and merges neighbours, innermost first: fills dims and both strides, the innermost axis first
 * (turned by the caller). Returns their number. */
static int merge_axes(const weir_shape *a, const weir_shape *b, const weir_shape *out, int64_t *dims,
                      int64_t *a_strides, int64_t *b_strides)
{
    int count = 0;
    int64_t a_step = 1, b_step = 1;
    for (int axis = out->rank - 1; axis >= 0; axis--) {
        int a_axis = axis - (out->rank - a->rank), b_axis = axis - (out->rank - b->rank);
        int64_t a_dim = a_axis < 0 ? 1 : a->dims[a_axis], b_dim = b_axis < 0 ? 1 : b->dims[b_axis];
        int64_t dim = out->dims[axis];
        if (dim == 1)
            continue;
        int64_t a_stride = a_dim == 1 ? 0 : a_step, b_stride = b_dim == 1 ? 0 : b_step;
        a_step *= a_dim;
        b_step *= b_dim;
        if (count > 0 && a_stride == a_strides[count - 1] * dims[count - 1] &&
            b_stride == b_strides[count - 1] * dims[count - 1]) {
            dims[count - 1] *= dim;
            continue;
        }
        dims[count] = dim;
        a_strides[count] = a_stride;
        b_strides[count] = b_stride;
        count++;
    }
    return count;
}

static void plan_rows(weir_binary_plan *plan, const weir_shape *a, const weir_shape *b, const weir_shape *out)
{
    int64_t dims[WEIR_MAX_RANK], a_strides[WEIR_MAX_RANK], b_strides[WEIR_MAX_RANK];
    int count = merge_axes(a, b, out, dims, a_strides, b_strides);
    plan->rows = plan->columns = 1;
    plan->sides = WEIR_SIDES_BOTH;
    if (count > 0) {
        plan->columns = dims[0];
        plan->sides = b_strides[0] == 0 ? WEIR_SIDES_LEFT : a_strides[0] == 0 ? WEIR_SIDES_RIGHT : WEIR_SIDES_BOTH;
    }
    plan->rank = count > 0 ? count - 1 : 0;
    for (int i = 0; i < plan->rank; i++) {
        int from = plan->rank - i;
        plan->dims[i] = dims[from];
        plan->a_strides[i] = a_strides[from];
        plan->b_strides[i] = b_strides[from];
        plan->rows *= dims[from];
    }
}

bool weir_binary_prepare(weir_binary_op op, weir_dtype type, const weir_shape *a, const weir_shape *b,
                         weir_binary_plan *plan)
{
    weir_shape out;
    weir_binary_loop *const *loops = weir_binary_loops_find(op, type);
    if (loops == NULL || !weir_broadcast_shape(a, b, &out))
        return false;
    memset(plan, 0, sizeof *plan);
    memcpy(plan->loops, loops, sizeof plan->loops);
    plan->type = type;
    plan->size = (int32_t)weir_kernel_size(type);
    plan->out_size = operations[op].to_bool ? 1 : plan->size;
    plan->elements = weir_kernel_elements(&out);
    plan_rows(plan, a, b, &out);
    plan->block = plan->rank == 0 ? BLOCK : BLOCK / (plan->columns > 0 ? plan->columns : 1);
    if (plan->block == 0)
        plan->block = 1;
    run_function *scalar = plan->elements == 1 ? scalar_run(op, type) : NULL;
    bool direct = !weir_dtype_is_narrow(type) && plan->loops[plan->sides] != NULL;
    if (plan->elements == 0)
        plan->run = run_nothing;
    else if (scalar != NULL)
        plan->run = scalar;
    else if (plan->rank == 0)
        plan->run = direct && plan->columns <= BLOCK ? run_short : run_line;
    else
        plan->run = run_rows;
    return true;
}
