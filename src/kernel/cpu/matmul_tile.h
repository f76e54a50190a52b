/*
 * The register tile that products and convolutions share, and what else a tier offers to matmul.c.
 *
 * A tile holds rows x vectors accumulators and runs over up to three nested loops of k, so that a convolution's kernel
 * rows, or the image rows and images of a filter's gradient, need no trip through memory:
 *
 *     for outer, for run, for p < depth:  c[i, j] += a[outer, run, i, p] * b[outer, run, p, j]
 */
#ifndef KERNEL_CPU_MATMUL_TILE_H
#define KERNEL_CPU_MATMUL_TILE_H

#include <stdbool.h>
#include <stdint.h>

#define WEIR_TILE_ROWS 14
#define WEIR_TILE_VECTORS 4
#define WEIR_WIDE_ROWS 2
#define WEIR_OUTER_DEPTH 8

/* Strides count floats. */
typedef struct weir_tile_arguments {
    const float *a; /* element (i, p) at a[i * a_row + p * a_step] */
    int64_t a_row, a_step;
    const float *b; /* element (p, j) at b[p * b_row + j] */
    int64_t b_row;
    int64_t depth;
    int64_t runs, a_run, b_run; /* how often, and the way from one to the next */
    int64_t outers, a_outer, b_outer;
    float *c; /* element (i, j) at c[i * c_row + j] */
    int64_t c_row;
    int64_t columns;   /* of the tile: more than vectors - 1 vectors hold, at most vectors */
    const float *bias; /* [columns] or NULL */
    bool accumulate;   /* c += */
    bool relu;
} weir_tile_arguments;

typedef void weir_tile_function(const weir_tile_arguments *arguments);

/* c[i, j] = sum over p of a[i, p] * b[j, p], both contiguous in p: i below rows, j below columns. */
typedef struct weir_dot_arguments {
    const float *a; /* [rows, depth] */
    const float *b; /* [columns, depth] */
    float *c;       /* [rows, columns] */
    int64_t a_row, b_row, c_row;
    int64_t rows, columns, depth;
    const float *bias; /* [columns] or NULL */
    bool accumulate, relu;
} weir_dot_arguments;

/* What a tier offers. */
typedef struct weir_matmul_kernels {
    int lanes;                   /* floats in a vector */
    int vectors;                 /* widest tile */
    int rows[WEIR_TILE_VECTORS]; /* tallest tile of 1, 2, ... vectors */
    bool partial_vectors;        /* tiles read no further than columns; else b is readable to the end of a vector */
    weir_tile_function *tiles[WEIR_TILE_VECTORS][WEIR_TILE_ROWS]; /* [vectors - 1][rows - 1] */

    /* Tiles of 1 .. WEIR_WIDE_ROWS rows and up to wide_vectors vectors that read b once, for products with few rows.
     * They end where columns says, reading no further. */
    int wide_vectors;
    weir_tile_function *wide[WEIR_WIDE_ROWS];

    /* Any number of rows and columns, depth 1 .. WEIR_OUTER_DEPTH, no runs. Reads no further than columns. */
    void (*outer)(const weir_tile_arguments *arguments, int64_t rows);

    void (*dot)(const weir_dot_arguments *arguments);

    /* out[i * out_row + j] = in[i * in_row + j] for i below rows, j below columns. */
    void (*copy)(const float *in, int64_t in_row, int64_t rows, int64_t columns, float *out, int64_t out_row);
    /* Columns in panels of width: out[panel][rows][width], the last one as wide but partly unwritten. */
    void (*pack)(const float *in, int64_t in_row, int64_t rows, int64_t columns, int64_t width, float *out);
    /* out[j * out_row + i] = in[i * in_row + j] for i below rows, j below columns. */
    void (*transpose)(const float *in, int64_t in_row, int64_t rows, int64_t columns, float *out, int64_t out_row);
} weir_matmul_kernels;

#endif
