/*
 * Sum of many arrays, in the order of the inputs. A block of the output is summed through all inputs before the next,
 * so that it stays in the first cache.
 */
#include <string.h>

#include "kernel/cpu/cast_half.h"
#include "kernel/cpu/elementwise.h"
#include "kernel/cpu/elementwise_loops.h"

#define BLOCK 8192 /* elements of a block that a thread takes */
#define CHUNK 1024 /* elements summed through all inputs */

typedef struct add_n_call {
    weir_dtype type;
    weir_binary_loop *add;
    int count;
    const void *const *inputs;
    char *out;
    int64_t n;
} add_n_call;

/* The sum goes to a buffer first: out may be any of the inputs. */
static void add_chunk(const add_n_call *call, int64_t begin, int64_t n)
{
    _Alignas(64) char sum[CHUNK * 16];
    size_t size = weir_kernel_size(call->type);
    const char *first = (const char *)call->inputs[0] + (size_t)begin * size;
    if (call->count == 1) {
        memmove(call->out + (size_t)begin * size, first, (size_t)n * size);
        return;
    }
    for (int i = 1; i < call->count; i++) {
        const char *next = (const char *)call->inputs[i] + (size_t)begin * size;
        bool last = i == call->count - 1;
        (void)call->add(i == 1 ? first : sum, next, last ? call->out + (size_t)begin * size : sum, n);
    }
}

static void add_chunk_narrow(const add_n_call *call, int64_t begin, int64_t n)
{
    const weir_half_kernels *kernels = weir_half_kernels_best();
    bool half = call->type == WEIR_HALF;
    float sum[CHUNK], next[CHUNK];
    for (int i = 0; i < call->count; i++) {
        const uint16_t *input = (const uint16_t *)call->inputs[i] + begin;
        (half ? kernels->float_of_half : kernels->float_of_bfloat16)(input, i == 0 ? sum : next, n);
        if (i > 0)
            (void)call->add(sum, next, sum, n);
    }
    (half ? kernels->half_of_float : kernels->bfloat16_of_float)(sum, (uint16_t *)call->out + begin, n);
}

static void add_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const add_n_call *call = context;
    int64_t end = call->n - block * BLOCK < BLOCK ? call->n : (block + 1) * BLOCK;
    for (int64_t begin = block * BLOCK; begin < end; begin += CHUNK) {
        int64_t n = end - begin < CHUNK ? end - begin : CHUNK;
        if (weir_dtype_is_narrow(call->type))
            add_chunk_narrow(call, begin, n);
        else
            add_chunk(call, begin, n);
    }
}

static void add_n(weir_dtype type, weir_team *team, int count, const void *const *inputs, void *out, int64_t n)
{
    if (n == 1 && type == WEIR_FLOAT) { /* losses */
        float sum = *(const float *)inputs[0];
        for (int i = 1; i < count; i++)
            sum += *(const float *)inputs[i];
        *(float *)out = sum;
        return;
    }
    weir_binary_loop *const *loops = weir_binary_loops_find(WEIR_BINARY_ADD, type);
    add_n_call call = {type, loops[WEIR_SIDES_BOTH], count, inputs, out, n};
    int64_t blocks = (n + BLOCK - 1) / BLOCK;
    if (blocks == 1)
        add_block(&call, 0, 0);
    else if (blocks > 1)
        weir_parallel_for(team, blocks, add_block, &call);
}

#define TYPES(X)                                                                                                       \
    X(FLOAT)                                                                                                           \
    X(DOUBLE)                                                                                                          \
    X(HALF)                                                                                                            \
    X(BFLOAT16)                                                                                                        \
    X(COMPLEX64)                                                                                                       \
    X(COMPLEX128)                                                                                                      \
    X(INT8)                                                                                                            \
    X(INT16)                                                                                                           \
    X(INT32)                                                                                                           \
    X(INT64)                                                                                                           \
    X(UINT8)                                                                                                           \
    X(UINT16)                                                                                                          \
    X(UINT32)                                                                                                          \
    X(UINT64)

#define ADD_N(type)                                                                                                    \
    static void add_n_##type(weir_team *team, int count, const void *const *inputs, void *out, int64_t n)              \
    {                                                                                                                  \
        add_n(WEIR_##type, team, count, inputs, out, n);                                                               \
    }
TYPES(ADD_N)

weir_add_n_function *weir_add_n_find(weir_dtype type)
{
    switch (type) {
#define FIND(type)                                                                                                     \
    case WEIR_##type:                                                                                                  \
        return add_n_##type;
        TYPES(FIND)
#undef FIND
    default:
        return NULL;
    }
}
