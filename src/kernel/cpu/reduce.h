/*
 * Reductions over any axes, positions of extremes along one axis, and running sums and products.
 *
 * Sums of floats are taken in runs of fixed length whose totals are added in double, so they are about as exact as the
 * type allows and have the same bits with any team. Integers wrap as TensorFlow's do. Any thread; x and out must not
 * overlap; nothing fails at run time.
 */
#ifndef KERNEL_CPU_REDUCE_H
#define KERNEL_CPU_REDUCE_H

#include <weir/types.h>

#include "kernel/kernel.h"

/* Name here, node type. Values of nothing: Sum 0, Mean NaN (integers 0), Prod 1, Max -Inf and Min +Inf (integers:
 * the type's lowest and highest), All true, Any false. NaN: any NaN makes Max and Min NaN. L2Loss: half the sum of
 * squares. */
#define WEIR_REDUCE_OPS(X)                                                                                             \
    X(SUM, "Sum")                                                                                                      \
    X(MEAN, "Mean")                                                                                                    \
    X(PROD, "Prod")                                                                                                    \
    X(MAX, "Max")                                                                                                      \
    X(MIN, "Min")                                                                                                      \
    X(ALL, "All")                                                                                                      \
    X(ANY, "Any")                                                                                                      \
    X(L2_LOSS, "L2Loss")                                                                                               \
    X(EUCLIDEAN_NORM, "EuclideanNorm")

typedef enum weir_reduce_op {
#define WEIR_REDUCE_ENUM(name, text) WEIR_REDUCE_##name,
    WEIR_REDUCE_OPS(WEIR_REDUCE_ENUM)
#undef WEIR_REDUCE_ENUM
        WEIR_REDUCE_COUNT
} weir_reduce_op;

struct weir_reducer; /* the loops of one operation and type */

typedef struct weir_reduce_plan weir_reduce_plan;

struct weir_reduce_plan {
    void (*run)(const weir_reduce_plan *plan, weir_team *team, const void *x, void *scratch, void *out);
    const struct weir_reducer *reducer;
    weir_dtype type;
    int32_t size, out_size; /* bytes of an element */
    int64_t outputs;        /* elements of out */
    int64_t count;          /* elements reduced into one */
    bool inner_kept;        /* the innermost axis (after merging) is kept, else reduced */
    int64_t columns;        /* of the innermost axis */
    int32_t kept_rank, reduced_rank;
    int64_t kept_dims[WEIR_MAX_RANK], kept_strides[WEIR_MAX_RANK];       /* the other axes; strides in elements */
    int64_t reduced_dims[WEIR_MAX_RANK], reduced_strides[WEIR_MAX_RANK]; /* the last varies fastest */
    int64_t kept_rows, reduced_rows;
    int64_t tiles;        /* that the kept columns are cut into */
    int64_t group;        /* kept rows and tiles of a block */
    int64_t segments;     /* parts that the elements of one output are cut into */
    int64_t segment;      /* reduced rows (columns, if there is one reduced row of them) of a part */
    size_t scratch_bytes; /* what run wants as scratch */
};

bool weir_reduce_supports(weir_reduce_op op, weir_dtype type);

/* Plans a reduction of x over the axes for which reduced[axis] is true; L2Loss: over all. The output's elements are the
 * kept axes in order. False when the operation has not the type. */
bool weir_reduce_prepare(weir_reduce_op op, weir_dtype type, const weir_shape *x, const bool *reduced,
                         weir_reduce_plan *plan);

/* Bytes of scratch that run wants, whatever the team; often 0. Aligned to 64. */
static inline size_t weir_reduce_scratch(const weir_reduce_plan *plan)
{
    return plan->scratch_bytes;
}

static inline void weir_reduce_run(const weir_reduce_plan *plan, weir_team *team, const void *x, void *scratch,
                                   void *out)
{
    plan->run(plan, team, x, scratch, out);
}

/* Position of the largest (smallest) element along the middle axis of x [outer, size, inner]; out [outer, inner] of
 * out_type int64, int32, int16 or uint16. Ties: the lowest. NaN never wins. NULL: no such type. */
typedef void weir_arg_function(weir_team *team, const void *x, int64_t outer, int64_t size, int64_t inner, void *out);
weir_arg_function *weir_arg_find(bool largest, weir_dtype type, weir_dtype out_type);

/* Running sum or product along the middle axis of x [outer, size, inner], from the end if reverse; exclusive: without
 * the element itself. out [outer, size, inner] may be x. NULL: no such type. */
typedef void weir_cumulate_function(weir_team *team, const void *x, int64_t outer, int64_t size, int64_t inner,
                                    bool exclusive, bool reverse, void *out);
weir_cumulate_function *weir_cumulate_find(bool product, weir_dtype type);

/* BiasAddGrad: a reduction of x viewed as [outer, channels, inner] (NHWC: inner 1) to [channels]. */
bool weir_bias_add_grad_prepare(weir_dtype type, int64_t outer, int64_t channels, int64_t inner,
                                weir_reduce_plan *plan);

#endif
