/*
 * Bias, its gradient and Relu's gradient: float through the tier's loops over periodic arrays, other types in plain loops.
 */
#include "kernel/cpu/bias.h"

#include "kernel/cpu/batch_norm_tier.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/periodic.h"

#define BLOCK_FLOATS (1 << 14)
#define MOST_BLOCKS 512
#define TABLE 1024 /* a period of few channels fits */

typedef struct bias_context {
    const weir_batch_norm_kernels *kernels;
    weir_dtype type;
    int64_t rows, channels, block_rows;
    bool relu;
    const void *x, *bias;
    void *y;
    int64_t period;
    float table[TABLE]; /* the bias of a period, if channels are few */
} bias_context;

bool weir_bias_supports(weir_dtype type)
{
    switch ((int)type) {
    case WEIR_FLOAT:
    case WEIR_DOUBLE:
    case WEIR_INT32:
    case WEIR_INT64:
    case WEIR_HALF:
    case WEIR_BFLOAT16:
        return true;
    default:
        return false;
    }
}

static int64_t block_rows_of(int64_t rows, int64_t channels)
{
    int64_t block_rows = BLOCK_FLOATS / (channels > 0 ? channels : 1) + 1;
    const int64_t fewest = (rows + MOST_BLOCKS - 1) / MOST_BLOCKS;
    if (block_rows < fewest)
        block_rows = fewest;
    return (block_rows + 15) / 16 * 16;
}

static int64_t rows_in(const bias_context *b, int64_t block)
{
    const int64_t rest = b->rows - block * b->block_rows;
    return rest < b->block_rows ? rest : b->block_rows;
}

#define SAME(x) (x)

#define BIAS(name, type, sum_type, signed_type, from, to)                                                              \
    static void add_##name(const bias_context *b, int64_t first, int64_t last)                                         \
    {                                                                                                                  \
        const type *x = b->x, *bias = b->bias;                                                                         \
        type *y = b->y;                                                                                                \
        for (int64_t r = first; r < last; r++)                                                                         \
            for (int64_t c = 0; c < b->channels; c++) {                                                                \
                sum_type sum = (sum_type)from(x[r * b->channels + c]) + (sum_type)from(bias[c]);                       \
                y[r * b->channels + c] = (type)to(b->relu && (signed_type)sum < 0 ? 0 : sum);                          \
            }                                                                                                          \
    }                                                                                                                  \
                                                                                                                       \
    static void sum_##name(const bias_context *b, int64_t c)                                                           \
    {                                                                                                                  \
        const type *x = b->x;                                                                                          \
        type *y = b->y;                                                                                                \
        sum_type sum = 0;                                                                                              \
        for (int64_t r = 0; r < b->rows; r++)                                                                          \
            sum += (sum_type)from(x[r * b->channels + c]);                                                             \
        y[c] = (type)to(sum);                                                                                          \
    }                                                                                                                  \
                                                                                                                       \
    static void mask_##name(const bias_context *b, int64_t first, int64_t last)                                        \
    {                                                                                                                  \
        const type *dy = b->x, *y = b->bias;                                                                           \
        type *dx = b->y;                                                                                               \
        for (int64_t i = first; i < last; i++)                                                                         \
            dx[i] = (signed_type)from(y[i]) > 0 ? dy[i] : 0;                                                           \
    }

BIAS(double, double, double, double, SAME, SAME)
BIAS(int32, int32_t, uint32_t, int32_t, SAME, SAME)
BIAS(int64, int64_t, uint64_t, int64_t, SAME, SAME)
BIAS(half, uint16_t, float, float, float_of_half, half_of_float)
BIAS(bfloat16, uint16_t, float, float, float_of_bfloat16, bfloat16_of_float)

/* Calls work_<type>(arguments) for every type but float. */
#define BY_TYPE(type, work, ...)                                                                                       \
    switch ((int)(type)) {                                                                                             \
    case WEIR_DOUBLE:                                                                                                  \
        work##_double(__VA_ARGS__);                                                                                    \
        break;                                                                                                         \
    case WEIR_INT32:                                                                                                   \
        work##_int32(__VA_ARGS__);                                                                                     \
        break;                                                                                                         \
    case WEIR_INT64:                                                                                                   \
        work##_int64(__VA_ARGS__);                                                                                     \
        break;                                                                                                         \
    case WEIR_HALF:                                                                                                    \
        work##_half(__VA_ARGS__);                                                                                      \
        break;                                                                                                         \
    case WEIR_BFLOAT16:                                                                                                \
        work##_bfloat16(__VA_ARGS__);                                                                                  \
        break;                                                                                                         \
    default:                                                                                                           \
        break;                                                                                                         \
    }

static void block_add(void *context, int64_t block, int lane)
{
    (void)lane;
    const bias_context *b = context;
    const int64_t first = block * b->block_rows, rows = rows_in(b, block);
    if (b->type == WEIR_FLOAT)
        b->kernels->bias((const float *)b->x + first * b->channels, rows * b->channels, b->period,
                         b->period == b->channels ? b->bias : b->table, b->relu, (float *)b->y + first * b->channels);
    else
        BY_TYPE(b->type, add, b, first, first + rows)
}

void weir_add_bias(const weir_cpu_kernels *kernels, weir_dtype type, int64_t rows, int64_t channels, bool relu,
                   weir_team *team, const void *x, const void *bias, void *y)
{
    bias_context b = {.kernels = kernels->batch_norm, .type = type, .rows = rows, .channels = channels, .relu = relu};
    b.x = x;
    b.bias = bias;
    b.y = y;
    if (channels == 0)
        return;
    b.block_rows = block_rows_of(rows, channels);
    b.period = weir_period(channels);
    if (type == WEIR_FLOAT && b.period != channels)
        weir_period_fill(bias, channels, b.table);
    weir_parallel_for(team, (rows + b.block_rows - 1) / b.block_rows, block_add, &b);
}

size_t weir_bias_gradient_scratch(weir_dtype type, int64_t rows, int64_t channels)
{
    const int64_t block_rows = block_rows_of(rows, channels);
    return type == WEIR_FLOAT ? (size_t)((rows + block_rows - 1) / block_rows * weir_period(channels) * 4) : 0;
}

static void block_sum(void *context, int64_t block, int lane)
{
    (void)lane;
    const bias_context *b = context;
    if (b->type == WEIR_FLOAT)
        b->kernels->sums((const float *)b->x + block * b->block_rows * b->channels, rows_in(b, block) * b->channels,
                         b->period, (float *)b->y + block * b->period);
    else
        BY_TYPE(b->type, sum, b, block)
}

void weir_bias_gradient(const weir_cpu_kernels *kernels, weir_dtype type, int64_t rows, int64_t channels,
                        weir_team *team, const void *dy, void *sums, void *scratch)
{
    bias_context b = {.kernels = kernels->batch_norm, .type = type, .rows = rows, .channels = channels, .x = dy};
    b.block_rows = block_rows_of(rows, channels);
    b.period = weir_period(channels);
    if (type != WEIR_FLOAT) {
        b.y = sums;
        weir_parallel_for(team, channels, block_sum, &b);
        return;
    }
    const int64_t blocks = (rows + b.block_rows - 1) / b.block_rows;
    const float *parts = scratch;
    float *out = sums;
    b.y = scratch;
    weir_parallel_for(team, blocks, block_sum, &b);
    for (int64_t c = 0; c < channels; c++) {
        double sum = 0;
        for (int64_t i = c; i < blocks * b.period; i += channels)
            sum += (double)parts[i];
        out[c] = (float)sum;
    }
}

static void block_mask(void *context, int64_t block, int lane)
{
    (void)lane;
    const bias_context *b = context;
    const int64_t first = block * b->block_rows, count = rows_in(b, block);
    if (b->type == WEIR_FLOAT)
        b->kernels->relu_gradient((const float *)b->x + first, (const float *)b->bias + first, count,
                                  (float *)b->y + first);
    else
        BY_TYPE(b->type, mask, b, first, first + count)
}

void weir_relu_gradient(const weir_cpu_kernels *kernels, weir_dtype type, int64_t count, weir_team *team,
                        const void *dy, const void *y, void *dx)
{
    bias_context b = {.kernels = kernels->batch_norm, .type = type, .rows = count, .block_rows = BLOCK_FLOATS};
    b.x = dy;
    b.bias = y;
    b.y = dx;
    weir_parallel_for(team, (count + BLOCK_FLOATS - 1) / BLOCK_FLOATS, block_mask, &b);
}
