/*
 * The choice of a CPU tier.
 */
#include "kernel/cpu/dispatch.h"

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
