/*
 * Matrix product: C[m, n] = op(A)[m, k] op(B)[k, n], any transposes and row strides, batches of them, with bias and Relu
 * on the way out.
 *
 * Used in three steps: prepare when an op is bound (looks at sizes, chooses loops, allocates nothing, well under a
 * microsecond), ask for scratch memory, run as often as wanted. float is fast; the other types are right, not fast.
 */
#ifndef KERNEL_CPU_MATMUL_H
#define KERNEL_CPU_MATMUL_H

#include <weir/types.h>

#include "kernel/cpu/dispatch.h"
#include "kernel/kernel.h"

/* What to compute. Zero values are defaults. */
typedef struct weir_matmul_options {
    /* Of A, B, bias and C: float, double, int32, int64, complex64, complex128; half and bfloat16 with sums in float. */
    weir_dtype type;
    int64_t m, n, k;  /* any may be 0; k = 0 gives zeros (plus bias) */
    bool transpose_a; /* A is stored [k, m] instead of [m, k] */
    bool transpose_b; /* B is stored [n, k] instead of [k, n] */
    bool conjugate_a; /* complex types: the conjugate of A; with transpose_a its adjoint */
    bool conjugate_b;
    bool accumulate;      /* C += instead of C = */
    bool bias;            /* a vector bias[n] is added to each row */
    bool relu;            /* negative results become 0, after bias; NaN and -0 stay (real types) */
    int64_t a_row_stride; /* elements from a stored row to the next; 0: dense */
    int64_t b_row_stride;
    int64_t c_row_stride;
    int64_t batch;          /* products; 0 means 1 (do not call run for an empty batch) */
    int64_t a_batch_stride; /* elements from one product's A to the next; 0 repeats the same matrix */
    int64_t b_batch_stride;
    int64_t c_batch_stride;
} weir_matmul_options;

/* A prepared product: plain data, may be copied; holds no pointer but to constant tables. What the fields mean: matmul.c.
 */
typedef struct weir_matmul_plan {
    weir_matmul_options options; /* strides filled in; with swapped: of the transposed product */
    const weir_cpu_kernels *kernels;
    int route;              /* which loops */
    bool swapped;           /* A and B change places, C is a vector */
    bool pack_a, pack_b;    /* copy to scratch what a tile reads */
    bool large;             /* fetch ahead what will be packed */
    int64_t tile_columns;   /* of C, in a tile */
    int64_t block_rows;     /* of C, in a block */
    int64_t block_columns;  /* of C, in a block */
    int64_t block_depth;    /* part of k in a block: all of it unless k is split */
    int64_t chunk;          /* part of block_depth that a tile takes at once */
    int64_t block_products; /* of the batch, in a block */
    int64_t row_blocks, column_blocks, depth_blocks, product_blocks;
    int64_t lane_bytes;   /* scratch of one lane */
    int64_t shared_bytes; /* scratch common to all lanes */
} weir_matmul_plan;

/* True for the types listed at weir_matmul_options. Any thread. */
bool weir_matmul_supports(weir_dtype type);

/* Chooses loops and blocks. Sizes must not be negative, strides at least the stored row's length. Any thread. */
void weir_matmul_prepare(const weir_cpu_kernels *kernels, const weir_matmul_options *options, weir_matmul_plan *plan);

/* Bytes of scratch memory that run needs with a team of up to lanes; may be 0. */
size_t weir_matmul_scratch(const weir_matmul_plan *plan, int lanes);

/* Computes. bias is read only if asked for; scratch: as many bytes as weir_matmul_scratch says, at a multiple of 64, not
 * shared with a run at the same time. C must not overlap anything else. Any thread; never allocates. */
void weir_matmul_run(const weir_matmul_plan *plan, weir_team *team, const void *a, const void *b, const void *bias,
                     void *c, void *scratch);

#endif
