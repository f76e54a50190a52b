/*
 * Elementwise kernels: which loop serves an operation and a type; operations with one input.
 */
#include "kernel/cpu/elementwise.h"

#include <string.h>

#include "kernel/cpu/cast_half.h"
#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/elementwise_loops.h"
#include "kernel/cpu/narrow_floats.h"

#define CHUNK 512         /* elements converted at a time */
#define CHEAP_BLOCK 16384 /* elements of a block: a few microseconds of work */
#define COSTLY_BLOCK 4096

#define TIER_TABLE(tier) extern const weir_elementwise_loops weir_elementwise_loops_##tier;
WEIR_CPU_TIERS(TIER_TABLE)
#define TIER_ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_elementwise_loops_##tier,
static const weir_elementwise_loops *const float_loops[] = {WEIR_CPU_TIERS(TIER_ENTRY)};

#define HALF_TABLE(tier) extern const weir_half_kernels weir_half_kernels_##tier;
WEIR_CPU_TIERS(HALF_TABLE)
#define HALF_ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_half_kernels_##tier,
static const weir_half_kernels *const half_kernels[] = {WEIR_CPU_TIERS(HALF_ENTRY)};

const weir_half_kernels *weir_half_kernels_best(void)
{
    return half_kernels[weir_cpu_tier_best()];
}

static const weir_elementwise_loops *loops_of(weir_dtype type)
{
    switch (type) {
    case WEIR_FLOAT:
    case WEIR_HALF:
    case WEIR_BFLOAT16:
        return float_loops[weir_cpu_tier_best()];
    case WEIR_DOUBLE:
        return &weir_elementwise_double_loops;
    case WEIR_COMPLEX64:
        return &weir_elementwise_complex64_loops;
    case WEIR_COMPLEX128:
        return &weir_elementwise_complex128_loops;
    case WEIR_BOOL:
        return &weir_elementwise_bool_loops;
    case WEIR_INT8:
        return &weir_elementwise_int8_loops;
    case WEIR_INT16:
        return &weir_elementwise_int16_loops;
    case WEIR_INT32:
        return &weir_elementwise_int32_loops;
    case WEIR_INT64:
        return &weir_elementwise_int64_loops;
    case WEIR_UINT8:
        return &weir_elementwise_uint8_loops;
    case WEIR_UINT16:
        return &weir_elementwise_uint16_loops;
    case WEIR_UINT32:
        return &weir_elementwise_uint32_loops;
    case WEIR_UINT64:
        return &weir_elementwise_uint64_loops;
    default:
        return NULL;
    }
}

/* Quantized numbers compare as the integers they are stored in. */
static weir_dtype stored_type(weir_dtype type)
{
    switch (type) {
    case WEIR_QINT8:
        return WEIR_INT8;
    case WEIR_QUINT8:
        return WEIR_UINT8;
    case WEIR_QINT16:
        return WEIR_INT16;
    case WEIR_QUINT16:
        return WEIR_UINT16;
    case WEIR_QINT32:
        return WEIR_INT32;
    default:
        return type;
    }
}

static bool is_real(weir_dtype type)
{
    return type == WEIR_FLOAT || weir_dtype_is_narrow(type);
}

weir_unary_loop *weir_unary_loop_find(weir_unary_op op, weir_dtype type)
{
    const weir_elementwise_loops *loops = loops_of(type);
    if (loops == NULL)
        return NULL;
    if (loops->unary[op] == NULL && is_real(type))
        loops = &weir_elementwise_libm_loops;
    return loops->unary[op];
}

weir_binary_loop *const *weir_binary_loops_find(weir_binary_op op, weir_dtype type)
{
    if (op == WEIR_BINARY_EQUAL || op == WEIR_BINARY_NOT_EQUAL)
        type = stored_type(type);
    const weir_elementwise_loops *loops = loops_of(type);
    if (loops == NULL)
        return NULL;
    if (loops->binary[op][WEIR_SIDES_BOTH] == NULL && is_real(type))
        loops = &weir_elementwise_libm_loops;
    return loops->binary[op][WEIR_SIDES_BOTH] == NULL ? NULL : loops->binary[op];
}

/* ---- one input --------------------------------------------------------------------------------------------------- */

int weir_unary_named(const char *name)
{
    static const char *const names[] = {
#define NAME(op, text) text,
        WEIR_UNARY_OPS(NAME)
#undef NAME
    };
    for (int op = 0; op < WEIR_UNARY_COUNT; op++)
        if (strcmp(names[op], name) == 0)
            return op;
    return strcmp(name, "Inv") == 0 ? (int)WEIR_UNARY_RECIPROCAL : -1;
}

static bool is_integer(weir_dtype type)
{
    switch (type) {
    case WEIR_INT8:
    case WEIR_INT16:
    case WEIR_INT32:
    case WEIR_INT64:
    case WEIR_UINT8:
    case WEIR_UINT16:
    case WEIR_UINT32:
    case WEIR_UINT64:
        return true;
    default:
        return false;
    }
}

/* Operations that need no loop: they copy or fill. */
static bool moves_only(weir_unary_op op, weir_dtype type)
{
    if (op == WEIR_UNARY_ROUND)
        return is_integer(type);
    return op == WEIR_UNARY_IDENTITY || op == WEIR_UNARY_ZEROS_LIKE || op == WEIR_UNARY_ONES_LIKE;
}

static bool tests_only(weir_unary_op op)
{
    return op == WEIR_UNARY_IS_NAN || op == WEIR_UNARY_IS_INF || op == WEIR_UNARY_IS_FINITE;
}

/* Writes the type's 1; false for a type that has none. */
static bool write_one(weir_dtype type, unsigned char *one)
{
    memset(one, 0, 16);
    const float single = 1;
    const double real = 1;
    switch (type) {
    case WEIR_FLOAT:
    case WEIR_COMPLEX64:
        memcpy(one, &single, sizeof single);
        return true;
    case WEIR_DOUBLE:
    case WEIR_COMPLEX128:
        memcpy(one, &real, sizeof real);
        return true;
    case WEIR_HALF:
        memcpy(one, &(uint16_t){0x3c00}, 2);
        return true;
    case WEIR_BFLOAT16:
        memcpy(one, &(uint16_t){0x3f80}, 2);
        return true;
    default:
        one[0] = 1; /* little-endian integers and bool */
        return is_integer(type) || type == WEIR_BOOL;
    }
}

bool weir_unary_supports(weir_unary_op op, weir_dtype type)
{
    unsigned char one[16];
    if (op == WEIR_UNARY_ONES_LIKE)
        return write_one(type, one);
    if (moves_only(op, type))
        return weir_kernel_size(type) > 0;
    return weir_unary_loop_find(op, type) != NULL;
}

typedef struct unary_call {
    const weir_unary_plan *plan;
    const char *x;
    char *out;
} unary_call;

static void unary_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const unary_call *call = context;
    const weir_unary_plan *plan = call->plan;
    int64_t begin = block * plan->block;
    int64_t n = plan->elements - begin < plan->block ? plan->elements - begin : plan->block;
    plan->loop(call->x + begin * plan->size, call->out + begin * plan->out_size, n);
}

static void narrow_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const unary_call *call = context;
    const weir_unary_plan *plan = call->plan;
    const weir_half_kernels *kernels = weir_half_kernels_best();
    bool half = plan->type == WEIR_HALF;
    int64_t begin = block * plan->block;
    int64_t end = plan->elements - begin < plan->block ? plan->elements : begin + plan->block;
    float wide[CHUNK];
    for (int64_t i = begin; i < end; i += CHUNK) {
        int64_t n = end - i < CHUNK ? end - i : CHUNK;
        (half ? kernels->float_of_half : kernels->float_of_bfloat16)((const uint16_t *)call->x + i, wide, n);
        if (plan->out_size != plan->size) { /* bool */
            plan->loop(wide, call->out + i * plan->out_size, n);
            continue;
        }
        plan->loop(wide, wide, n);
        (half ? kernels->half_of_float : kernels->bfloat16_of_float)(wide, (uint16_t *)call->out + i, n);
    }
}

static void copy_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const unary_call *call = context;
    const weir_unary_plan *plan = call->plan;
    int64_t begin = block * plan->block;
    int64_t n = plan->elements - begin < plan->block ? plan->elements - begin : plan->block;
    memcpy(call->out + begin * plan->size, call->x + begin * plan->size, (size_t)(n * plan->size));
}

static void fill_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const unary_call *call = context;
    const weir_unary_plan *plan = call->plan;
    int64_t begin = block * plan->block;
    int64_t n = plan->elements - begin < plan->block ? plan->elements - begin : plan->block;
    char *out = call->out + begin * plan->size;
    size_t bytes = (size_t)(n * plan->size);
    if (plan->loop == NULL && plan->one[0] == 0 && memcmp(plan->one, plan->one + 1, 15) == 0) {
        memset(out, 0, bytes);
        return;
    }
    for (size_t done = 0; done < bytes; done += (size_t)plan->size)
        memcpy(out + done, plan->one, (size_t)plan->size);
}

static void run_blocks(const weir_unary_plan *plan, weir_team *team, const void *x, void *out,
                       weir_block_function *function)
{
    unary_call call = {plan, x, out};
    int64_t blocks = (plan->elements + plan->block - 1) / plan->block;
    if (blocks == 1)
        function(&call, 0, 0);
    else
        weir_parallel_for(team, blocks, function, &call);
}

static void unary_run_loop(const weir_unary_plan *plan, weir_team *team, const void *x, void *out)
{
    run_blocks(plan, team, x, out, unary_block);
}

/* One block: hardly more than the loop's own call. */
static void unary_run_short(const weir_unary_plan *plan, weir_team *team, const void *x, void *out)
{
    (void)team;
    plan->loop(x, out, plan->elements);
}

static void unary_run_narrow(const weir_unary_plan *plan, weir_team *team, const void *x, void *out)
{
    run_blocks(plan, team, x, out, narrow_block);
}

static void unary_run_copy(const weir_unary_plan *plan, weir_team *team, const void *x, void *out)
{
    if (x != out)
        run_blocks(plan, team, x, out, copy_block);
}

static void unary_run_fill(const weir_unary_plan *plan, weir_team *team, const void *x, void *out)
{
    run_blocks(plan, team, x, out, fill_block);
}

static void unary_run_nothing(const weir_unary_plan *plan, weir_team *team, const void *x, void *out)
{
    (void)plan;
    (void)team;
    (void)x;
    (void)out;
}

static bool is_cheap(weir_unary_op op, weir_dtype type)
{
    switch (op) {
    case WEIR_UNARY_NEG:
    case WEIR_UNARY_SQUARE:
    case WEIR_UNARY_ABS:
    case WEIR_UNARY_SIGN:
    case WEIR_UNARY_FLOOR:
    case WEIR_UNARY_CEIL:
    case WEIR_UNARY_ROUND:
    case WEIR_UNARY_RINT:
    case WEIR_UNARY_RELU:
    case WEIR_UNARY_RELU6:
        return !weir_dtype_is_narrow(type);
    default:
        return moves_only(op, type);
    }
}

bool weir_unary_prepare(weir_unary_op op, weir_dtype type, int64_t n, weir_unary_plan *plan)
{
    if (!weir_unary_supports(op, type))
        return false;
    memset(plan, 0, sizeof *plan);
    plan->elements = n;
    plan->block = is_cheap(op, type) ? CHEAP_BLOCK : COSTLY_BLOCK;
    plan->type = type;
    plan->size = (int32_t)weir_kernel_size(type);
    plan->out_size = tests_only(op) ? 1 : plan->size;
    if (moves_only(op, type)) {
        bool copies = op == WEIR_UNARY_IDENTITY || op == WEIR_UNARY_ROUND;
        plan->run = copies ? unary_run_copy : unary_run_fill;
        if (op == WEIR_UNARY_ONES_LIKE)
            write_one(type, plan->one);
    } else {
        plan->loop = weir_unary_loop_find(op, type);
        plan->run = weir_dtype_is_narrow(type) ? unary_run_narrow : n <= plan->block ? unary_run_short : unary_run_loop;
    }
    if (n == 0)
        plan->run = unary_run_nothing;
    return true;
}
