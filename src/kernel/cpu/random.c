/*
 * Philox4x32-10 and the fillings of tensors from it, as TensorFlow does them: element groups of one distribution call,
 * each at its own counter, so that the numbers do not depend on who computes which.
 */
#include "kernel/cpu/random.h"

#include <math.h>
#include <string.h>

#include "kernel/cpu/dispatch.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/random_words.h"

#define BLOCK 1024 /* groups of a block */

/* ---- generator --------------------------------------------------------------------------------------------------- */

weir_philox weir_philox_seeded(int64_t seed, int64_t seed2)
{
    weir_philox generator = {{0, 0, (uint32_t)seed2, (uint32_t)((uint64_t)seed2 >> 32)},
                             {(uint32_t)seed, (uint32_t)((uint64_t)seed >> 32)}};
    return generator;
}

void weir_philox_skip(weir_philox *generator, uint64_t steps)
{
    uint64_t low = generator->counter[0] | (uint64_t)generator->counter[1] << 32;
    uint64_t high = generator->counter[2] | (uint64_t)generator->counter[3] << 32;
    high += low + steps < low;
    low += steps;
    generator->counter[0] = (uint32_t)low;
    generator->counter[1] = (uint32_t)(low >> 32);
    generator->counter[2] = (uint32_t)high;
    generator->counter[3] = (uint32_t)(high >> 32);
}

void weir_philox_next(weir_philox *generator, uint32_t words[4])
{
    uint32_t c0 = generator->counter[0], c1 = generator->counter[1];
    uint32_t c2 = generator->counter[2], c3 = generator->counter[3];
    uint32_t k0 = generator->key[0], k1 = generator->key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
    weir_philox_skip(generator, 1);
}

uint32_t weir_philox_word(weir_philox_words *stream)
{
    if (stream->left == 0) {
        weir_philox_next(&stream->generator, stream->words);
        stream->left = 4;
    }
    return stream->words[4 - stream->left--];
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

float weir_philox_float(uint32_t x)
{
    return float_of_bits((x & 0x7fffff) | 0x3f800000) - 1.0f;
}

double weir_philox_double(uint32_t x0, uint32_t x1)
{
    uint64_t bits = (uint64_t)1023 << 52 | (uint64_t)(x0 & 0xfffff) << 32 | x1;
    double number;
    memcpy(&number, &bits, sizeof number);
    return number - 1.0;
}

/* Two normal numbers of two uniform ones (Box and Muller), the sine's first. */
static void normal_floats(uint32_t x0, uint32_t x1, float normal[2])
{
    float u = weir_philox_float(x0);
    if (u < 1.0e-7f)
        u = 1.0e-7f;
    float angle = (float)(2.0 * M_PI * (double)weir_philox_float(x1));
    float radius = sqrtf(-2.0f * logf(u));
    normal[0] = sinf(angle) * radius;
    normal[1] = cosf(angle) * radius;
}

static void normal_doubles(const uint32_t words[4], double normal[2])
{
    double u = weir_philox_double(words[0], words[1]);
    if (u < 1.0e-7)
        u = 1.0e-7;
    double angle = 2.0 * M_PI * weir_philox_double(words[2], words[3]);
    double radius = sqrt(-2.0 * log(u));
    normal[0] = sin(angle) * radius;
    normal[1] = cos(angle) * radius;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* A group of the outcomes of one distribution call, from a generator at the group's counter; up to 4 elements. */
typedef void group_function(weir_philox *generator, void *group);

static void uniform_double(weir_philox *generator, void *group)
{
    uint32_t words[4];
    weir_philox_next(generator, words);
    for (int i = 0; i < 2; i++)
        ((double *)group)[i] = weir_philox_double(words[2 * i], words[2 * i + 1]);
}

static void uniform_half(weir_philox *generator, void *group)
{
    uint32_t words[4];
    weir_philox_next(generator, words);
    for (int i = 0; i < 4; i++)
        ((uint16_t *)group)[i] = half_of_float(float_of_half((uint16_t)((words[i] & 0x3ff) | 0x3c00)) - 1.0f);
}

static void uniform_bfloat16(weir_philox *generator, void *group)
{
    uint32_t words[4];
    weir_philox_next(generator, words);
    for (int i = 0; i < 4; i++)
        ((uint16_t *)group)[i] = bfloat16_of_float(float_of_bfloat16((uint16_t)((words[i] & 0x7f) | 0x3f80)) - 1.0f);
}

static void normal_float(weir_philox *generator, void *group)
{
    uint32_t words[4];
    weir_philox_next(generator, words);
    normal_floats(words[0], words[1], group);
    normal_floats(words[2], words[3], (float *)group + 2);
}

static void normal_double(weir_philox *generator, void *group)
{
    uint32_t words[4];
    weir_philox_next(generator, words);
    normal_doubles(words, group);
}

static void truncated_float(weir_philox *generator, void *group)
{
    int filled = 0;
    for (;;) {
        uint32_t words[4];
        weir_philox_next(generator, words);
        for (int pair = 0; pair < 4; pair += 2) {
            float normal[2];
            normal_floats(words[pair], words[pair + 1], normal);
            for (int i = 0; i < 2; i++)
                if (fabsf(normal[i]) < 2.0f) {
                    ((float *)group)[filled++] = normal[i];
                    if (filled == 4)
                        return;
                }
        }
    }
}

static void truncated_double(weir_philox *generator, void *group)
{
    int filled = 0;
    for (;;) {
        uint32_t words[4];
        double normal[2];
        weir_philox_next(generator, words);
        normal_doubles(words, normal);
        for (int i = 0; i < 2; i++)
            if (fabs(normal[i]) < 2.0) {
                ((double *)group)[filled++] = normal[i];
                if (filled == 2)
                    return;
            }
    }
}

/* half and bfloat16 normals are float's, rounded. */
#define NARROW(name, set)                                                                                              \
    static void name(weir_philox *generator, void *group, group_function *wide)                                        \
    {                                                                                                                  \
        float numbers[4];                                                                                              \
        wide(generator, numbers);                                                                                      \
        for (int i = 0; i < 4; i++)                                                                                    \
            ((uint16_t *)group)[i] = set(numbers[i]);                                                                  \
    }
NARROW(narrow_half, half_of_float)
NARROW(narrow_bfloat16, bfloat16_of_float)

static void normal_half(weir_philox *generator, void *group)
{
    narrow_half(generator, group, normal_float);
}

static void normal_bfloat16(weir_philox *generator, void *group)
{
    narrow_bfloat16(generator, group, normal_float);
}

static void truncated_half(weir_philox *generator, void *group)
{
    narrow_half(generator, group, truncated_float);
}

static void truncated_bfloat16(weir_philox *generator, void *group)
{
    narrow_bfloat16(generator, group, truncated_float);
}

/* ---- filling ----------------------------------------------------------------------------------------------------- */

typedef struct fill_call {
    group_function *function;
    weir_philox base;
    uint64_t steps; /* from group to group */
    int per_group;  /* elements */
    size_t size;    /* bytes of an element */
    int64_t n;
    char *out;
} fill_call;

static void fill_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const fill_call *call = context;
    int64_t groups = (call->n + call->per_group - 1) / call->per_group;
    int64_t end = (block + 1) * BLOCK < groups ? (block + 1) * BLOCK : groups;
    size_t bytes = (size_t)call->per_group * call->size;
    for (int64_t index = block * BLOCK; index < end; index++) {
        weir_philox generator = call->base;
        weir_philox_skip(&generator, (uint64_t)index * call->steps);
        double group[4];
        int64_t left = call->n - index * call->per_group;
        call->function(&generator, group);
        memcpy(call->out + (size_t)index * bytes, group, left < call->per_group ? (size_t)left * call->size : bytes);
    }
}

static void fill(group_function *function, uint64_t steps, int per_group, size_t size, weir_team *team,
                 const weir_philox *base, int64_t n, void *out)
{
    fill_call call = {function, *base, steps, per_group, size, n, out};
    int64_t groups = (n + per_group - 1) / per_group;
    int64_t blocks = (groups + BLOCK - 1) / BLOCK;
    if (blocks == 1)
        fill_block(&call, 0, 0);
    else if (blocks > 1)
        weir_parallel_for(team, blocks, fill_block, &call);
}

/* distribution, type here, type there, elements of a group, bytes of an element, steps from group to group. */
#define FILLS(X)                                                                                                       \
    X(uniform, double, DOUBLE, 2, 8, 1)                                                                                \
    X(uniform, half, HALF, 4, 2, 1)                                                                                    \
    X(uniform, bfloat16, BFLOAT16, 4, 2, 1)                                                                            \
    X(normal, float, FLOAT, 4, 4, 1)                                                                                   \
    X(normal, double, DOUBLE, 2, 8, 1)                                                                                 \
    X(normal, half, HALF, 4, 2, 1)                                                                                     \
    X(normal, bfloat16, BFLOAT16, 4, 2, 1)                                                                             \
    X(truncated, float, FLOAT, 4, 4, 256)                                                                              \
    X(truncated, double, DOUBLE, 2, 8, 128)                                                                            \
    X(truncated, half, HALF, 4, 2, 256)                                                                                \
    X(truncated, bfloat16, BFLOAT16, 4, 2, 256)

#define FILL(kind, type, dtype, per_group, size, steps)                                                                \
    static void fill_##kind##_##type(weir_team *team, const weir_philox *base, int64_t n, void *out)                   \
    {                                                                                                                  \
        fill(kind##_##type, steps, per_group, size, team, base, n, out);                                               \
    }
FILLS(FILL)

/* Uniform floats, the ones that training draws in every step: words by tier, in place. */
#define TIER_TABLE(tier) extern const weir_random_kernels weir_random_kernels_##tier;
WEIR_CPU_TIERS(TIER_TABLE)
#define TIER_ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_random_kernels_##tier,
static const weir_random_kernels *const tier_kernels[] = {WEIR_CPU_TIERS(TIER_ENTRY)};

static void uniform_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const fill_call *call = context;
    const weir_random_kernels *kernels = tier_kernels[weir_cpu_tier_best()];
    int64_t begin = block * BLOCK * 4, n = call->n - begin < BLOCK * 4 ? call->n - begin : BLOCK * 4;
    float *out = (float *)call->out + begin;
    weir_philox generator = call->base;
    weir_philox_skip(&generator, (uint64_t)(block * BLOCK));
    kernels->fill_words(generator.counter, generator.key, n / 4, (uint32_t *)(void *)out);
    if (n % 4 != 0) {
        uint32_t words[4];
        weir_philox_skip(&generator, (uint64_t)(n / 4));
        weir_philox_next(&generator, words);
        memcpy(out + n / 4 * 4, words, (size_t)(n % 4) * sizeof *words);
    }
    kernels->floats_of_words(out, n);
}

static void fill_uniform_float(weir_team *team, const weir_philox *base, int64_t n, void *out)
{
    fill_call call = {.base = *base, .n = n, .out = out};
    int64_t blocks = (n + BLOCK * 4 - 1) / (BLOCK * 4);
    if (blocks == 1)
        uniform_block(&call, 0, 0);
    else if (blocks > 1)
        weir_parallel_for(team, blocks, uniform_block, &call);
}

#define FIND(kind, name)                                                                                               \
    weir_random_function *name(weir_dtype type)                                                                        \
    {                                                                                                                  \
        switch (type) {                                                                                                \
        case WEIR_FLOAT:                                                                                               \
            return fill_##kind##_float;                                                                                \
        case WEIR_DOUBLE:                                                                                              \
            return fill_##kind##_double;                                                                               \
        case WEIR_HALF:                                                                                                \
            return fill_##kind##_half;                                                                                 \
        case WEIR_BFLOAT16:                                                                                            \
            return fill_##kind##_bfloat16;                                                                             \
        default:                                                                                                       \
            return NULL;                                                                                               \
        }                                                                                                              \
    }
FIND(uniform, weir_random_uniform_find)
FIND(normal, weir_random_normal_find)
FIND(truncated, weir_random_truncated_normal_find)

/* ---- integers ---------------------------------------------------------------------------------------------------- */

typedef struct integer_call {
    weir_philox base;
    int64_t low;
    uint64_t range; /* high - low */
    int64_t n;
    void *out;
} integer_call;

static void int32_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const integer_call *call = context;
    weir_philox generator = call->base;
    int64_t end = (block + 1) * BLOCK * 4 < call->n ? (block + 1) * BLOCK * 4 : call->n;
    weir_philox_skip(&generator, (uint64_t)(block * BLOCK));
    for (int64_t i = block * BLOCK * 4; i < end; i += 4) {
        uint32_t words[4];
        weir_philox_next(&generator, words);
        for (int64_t k = i; k < i + 4 && k < end; k++)
            ((int32_t *)call->out)[k] = (int32_t)((uint32_t)call->low + words[k - i] % (uint32_t)call->range);
    }
}

static void int64_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const integer_call *call = context;
    weir_philox generator = call->base;
    int64_t end = (block + 1) * BLOCK * 2 < call->n ? (block + 1) * BLOCK * 2 : call->n;
    weir_philox_skip(&generator, (uint64_t)(block * BLOCK));
    for (int64_t i = block * BLOCK * 2; i < end; i += 2) {
        uint32_t words[4];
        weir_philox_next(&generator, words);
        for (int64_t k = i; k < i + 2 && k < end; k++) {
            uint64_t bits = words[2 * (k - i)] | (uint64_t)words[2 * (k - i) + 1] << 32;
            ((int64_t *)call->out)[k] = (int64_t)((uint64_t)call->low + bits % call->range);
        }
    }
}

static void fill_integers(integer_call *call, weir_team *team, int64_t per_block, weir_block_function *function)
{
    int64_t blocks = (call->n + per_block - 1) / per_block;
    if (blocks == 1)
        function(call, 0, 0);
    else if (blocks > 1)
        weir_parallel_for(team, blocks, function, call);
}

void weir_random_int32(weir_team *team, const weir_philox *base, int32_t low, int32_t high, int64_t n, int32_t *out)
{
    integer_call call = {*base, low, (uint32_t)high - (uint32_t)low, n, out};
    fill_integers(&call, team, BLOCK * 4, int32_block);
}

void weir_random_int64(weir_team *team, const weir_philox *base, int64_t low, int64_t high, int64_t n, int64_t *out)
{
    integer_call call = {*base, low, (uint64_t)high - (uint64_t)low, n, out};
    fill_integers(&call, team, BLOCK * 2, int64_block);
}

/* ---- shuffle ----------------------------------------------------------------------------------------------------- */

uint64_t weir_random_shuffle_steps(int64_t n)
{
    return n <= 1 ? 0 : (uint64_t)(n - 1 + 3) / 4;
}

void weir_random_permutation(const weir_philox *base, int64_t n, int64_t *permutation)
{
    weir_philox_words stream = {.generator = *base};
    for (int64_t i = 0; i < n; i++)
        permutation[i] = i;
    for (int64_t i = 0; i < n - 1; i++) {
        int64_t other = i + (int64_t)(weir_philox_word(&stream) % (uint64_t)(n - i));
        int64_t held = permutation[i];
        permutation[i] = permutation[other];
        permutation[other] = held;
    }
}
