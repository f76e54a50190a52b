/*
 * The choice of a CPU tier.
 */
#include "kernel/cpu/dispatch.h"

#include <stddef.h>
#include <string.h>

#define DECLARE(tier)                                                                                                  \
    extern const struct weir_matmul_kernels weir_matmul_kernels_##tier;                                                \
    extern const struct weir_convolution_kernels weir_convolution_kernels_##tier;                                      \
    extern const struct weir_pooling_kernels weir_pooling_kernels_##tier;                                              \
    extern const struct weir_batch_norm_kernels weir_batch_norm_kernels_##tier;
WEIR_CPU_TIERS(DECLARE)

#define ENTRY(name_of_tier)                                                                                            \
    {                                                                                                                  \
        .name = #name_of_tier,                                                                                         \
        .tier = WEIR_CPU_TIER_##name_of_tier,                                                                          \
        .matmul = &weir_matmul_kernels_##name_of_tier,                                                                 \
        .convolution = &weir_convolution_kernels_##name_of_tier,                                                       \
        .pooling = &weir_pooling_kernels_##name_of_tier,                                                               \
        .batch_norm = &weir_batch_norm_kernels_##name_of_tier,                                                         \
    },
static const weir_cpu_kernels tables[] = {WEIR_CPU_TIERS(ENTRY)};

#if defined(__x86_64__)
/* The features that -march=x86-64-v3 lets the compiler use. Compilers that cannot ask for all of them ask for those
 * that no processor has without the rest. */
static int can_run_v3(void)
{
#if !defined(__clang__) && __GNUC__ >= 11
    if (!__builtin_cpu_supports("f16c") || !__builtin_cpu_supports("lzcnt") || !__builtin_cpu_supports("movbe"))
        return 0;
#endif
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

static int can_run_v4(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

weir_cpu_tier weir_cpu_tier_best(void)
{
    if (!can_run_v3())
        return WEIR_CPU_TIER_v2;
    return can_run_v4() ? WEIR_CPU_TIER_v4 : WEIR_CPU_TIER_v3;
}
#else
weir_cpu_tier weir_cpu_tier_best(void)
{
    return WEIR_CPU_TIER_base;
}
#endif

const weir_cpu_kernels *weir_cpu_kernels_best(void)
{
    return &tables[weir_cpu_tier_best()];
}

const weir_cpu_kernels *weir_cpu_kernels_named(const char *name)
{
    for (int tier = 0; tier <= (int)weir_cpu_tier_best(); tier++)
        if (strcmp(tables[tier].name, name) == 0)
            return &tables[tier];
    return NULL;
}
