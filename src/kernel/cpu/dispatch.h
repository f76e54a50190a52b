/*
 * Which CPU tier's kernels to call. Each *.tier.c file is compiled once per tier and exports a constant table of
 * functions per tier; one constant table here gathers them. The choice is made when an op is bound, from the
 * processor's features, and costs a few nanoseconds.
 *
 * A family that keeps its tables elsewhere makes its own list with the macro:
 *     #define ENTRY(tier) [WEIR_CPU_TIER_##tier] = &weir_reduction_kernels_##tier,
 *     static const weir_reduction_kernels *const tables[] = {WEIR_CPU_TIERS(ENTRY)};
 *     ... tables[weir_cpu_tier_best()]
 */
#ifndef KERNEL_CPU_DISPATCH_H
#define KERNEL_CPU_DISPATCH_H

/* The tiers of this build, lowest first. */
#if defined(__x86_64__)
#define WEIR_CPU_TIERS(X) X(v2) X(v3) X(v4)
#else
#define WEIR_CPU_TIERS(X) X(base)
#endif

typedef enum weir_cpu_tier {
#define WEIR_CPU_TIER_ENUM(tier) WEIR_CPU_TIER_##tier,
    WEIR_CPU_TIERS(WEIR_CPU_TIER_ENUM)
#undef WEIR_CPU_TIER_ENUM
        WEIR_CPU_TIER_COUNT
} weir_cpu_tier;

/* The highest tier that this processor and its operating system can run. Any thread. */
weir_cpu_tier weir_cpu_tier_best(void);

/* The tables of one tier; what is in them is each family's own business. */
typedef struct weir_cpu_kernels {
    const char *name; /* "v2", "v3", "v4" or "base" */
    weir_cpu_tier tier;
    const struct weir_matmul_kernels *matmul;
    const struct weir_convolution_kernels *convolution;
    const struct weir_pooling_kernels *pooling;
    const struct weir_batch_norm_kernels *batch_norm; /* and bias */
} weir_cpu_kernels;

/* The kernels of weir_cpu_tier_best. Any thread. */
const weir_cpu_kernels *weir_cpu_kernels_best(void);

/* The kernels of the tier of that name; NULL if this build has none or this processor cannot run it. Any thread. */
const weir_cpu_kernels *weir_cpu_kernels_named(const char *name);

#endif
