/*
 * Products: which loops for which sizes, the cut into blocks, and what a block does. The register tiles are
 * matmul.tier.c's.
 *
 * The lanes of a vector lie along n, as C's rows do, and elements of A are broadcast from where they are, so that
 * neither operand has to be repacked unless B is transposed or a row stride would make cache lines collide. Routes:
 *
 *     TILES     the general one: column blocks one tile wide, row blocks, chunks of k
 *     WIDE      one or two rows: each row of B is read once
 *     OUTER     one or two long rows, or k below 5: some rows of B at a time are added to C's rows, from left to right
 *     DOT       lanes along k where A and B are both contiguous in k and one of m, n is small
 *     SIDEWAYS  lanes along m where A is contiguous in m and n is below a vector: C's transpose is computed, and turned
 *     GENERIC   plain loops: every type but float, and k = 0
 *
 * The work is cut by sizes alone. Each element of C is summed in an order that depends on sizes alone: k is cut into
 * chunks that a tile adds to C one after the other, or, where C is too small to give enough blocks, into depth blocks
 * whose partial C are added in order at the end.
 */
#include "kernel/cpu/matmul.h"

#include "kernel/cpu/matmul_generic.h"
#include "kernel/cpu/matmul_tile.h"

enum { ROUTE_GENERIC, ROUTE_TILES, ROUTE_WIDE, ROUTE_OUTER, ROUTE_DOT, ROUTE_SIDEWAYS };

#define LINE 64 /* bytes */
#define MOST_BLOCKS 64
#define LONG_ROW 512     /* floats */
#define OUTER_COLUMNS 1024 /* in a block: with C's and 8 rows of B the first cache is full */
#define BLOCK_FLOPS (1 << 20)   /* worth a block of its own */
#define HIGH_BLOCK 96         /* rows that are worth a panel of B packed for them */
#define FIRST_CACHE_SETS 64
#define SECOND_CACHE_SETS 2048
#define A_ROWS 48 /* of A that are copied together */
#define OUTER_BLOCK (1 << 15) /* elements of C */
#define PACKED_BYTES (256 << 10) /* of B that a block packs at a time: it stays in the second cache */
#define LARGE_BYTES (1 << 20) /* A and B together: they do not stay in the second cache */
#define MOST_DEPTH 512
#define MOST_PANELS 8            /* tiles in a block's width */
#define ENOUGH_BLOCKS 16         /* for many threads: not wider blocks if there would be fewer */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t round_up(int64_t a, int64_t b)
{
    return divide_up(a, b) * b;
}

/* ---- prepare ------------------------------------------------------------------------------------------------------ */

/* Fills in dense strides, and says "not transposed" of one-row matrices that are contiguous either way. */
static void normalise(weir_matmul_options *o)
{
    if (o->a_row_stride == 0)
        o->a_row_stride = o->transpose_a ? o->m : o->k;
    if (o->b_row_stride == 0)
        o->b_row_stride = o->transpose_b ? o->k : o->n;
    if (o->c_row_stride == 0)
        o->c_row_stride = o->n;
    if (o->batch == 0)
        o->batch = 1;
    if (o->k == 1 && o->transpose_b && o->b_row_stride == 1) {
        o->transpose_b = false;
        o->b_row_stride = o->n;
    }
    if (o->m == 1 && o->transpose_a && o->a_row_stride == 1) {
        o->transpose_a = false;
        o->a_row_stride = o->k;
    }
}

/* A product with one column is its own transpose with one row: C^T = op(B)^T op(A)^T. */
static void swap_operands(weir_matmul_plan *plan)
{
    const weir_matmul_options o = plan->options;
    weir_matmul_options *s = &plan->options;
    plan->swapped = true;
    s->m = 1;
    s->n = o.m;
    s->transpose_a = !o.transpose_b;
    s->transpose_b = !o.transpose_a;
    s->a_row_stride = o.b_row_stride;
    s->b_row_stride = o.a_row_stride;
    s->a_batch_stride = o.b_batch_stride;
    s->b_batch_stride = o.a_batch_stride;
    s->c_row_stride = o.m;
    normalise(s);
}

static int choose_route(const weir_matmul_options *o, int lanes)
{
    if (o->type != WEIR_FLOAT || o->m == 0 || o->n == 0 || o->k == 0)
        return ROUTE_GENERIC;
    if (!o->transpose_b && (o->k <= 4 || (o->m <= WEIR_WIDE_ROWS && o->n >= LONG_ROW)))
        return ROUTE_OUTER;
    if (!o->transpose_b && o->m <= WEIR_WIDE_ROWS)
        return ROUTE_WIDE;
    if (!o->transpose_a && o->transpose_b && (o->m <= 12 || o->n <= 12))
        return ROUTE_DOT;
    if (!o->transpose_a && o->n <= 12 && o->n < lanes && o->k >= 8 * lanes)
        return ROUTE_DOT;
    if (o->transpose_a && !o->transpose_b && o->n <= 14 && o->n < lanes && o->m >= 2 * lanes)
        return ROUTE_SIDEWAYS;
    return ROUTE_TILES;
}

/* How many blocks the arithmetic is worth. */
static int64_t wanted_blocks(const weir_matmul_options *o)
{
    double flops = 2.0 * (double)o->m * (double)o->n * (double)o->k;
    return flops >= (double)BLOCK_FLOPS * MOST_BLOCKS ? MOST_BLOCKS : most(1, (int64_t)flops / BLOCK_FLOPS);
}

/* Rows are cut into at most wanted blocks, each a multiple of unit rows (the last has what is left). */
static void cut_rows(weir_matmul_plan *plan, int64_t wanted, int64_t unit)
{
    const int64_t m = plan->options.m;
    plan->block_rows = most(1, round_up(divide_up(m, most(1, wanted)), unit));
    plan->row_blocks = divide_up(m, plan->block_rows);
}

/* How many of the sets of lines of a cache an array's rows begin in. */
static int64_t distinct_sets(int64_t sets, int64_t row_stride)
{
    int64_t lines = row_stride / (LINE / 4);
    if (row_stride % (LINE / 4) != 0)
        return sets;
    for (; sets > 1 && lines % 2 == 0; lines /= 2)
        sets /= 2;
    return sets;
}

/* Vectors in a tile's width: the fewest cache lines for each multiplication. A step of k takes a line for each vector of
 * B, and of A a 16th of a line for each row, or one line and that if A is transposed; and each row of A has to arrive
 * before a tile is under way. */
static int64_t choose_vectors(const weir_matmul_options *o, const weir_matmul_kernels *kernels)
{
    const int64_t all = divide_up(o->n, kernels->lanes);
    int64_t best = 1;
    double fewest = 1e9;
    for (int64_t vectors = 1; vectors <= kernels->vectors; vectors++) {
        const double width = (double)all / (double)divide_up(all, vectors);
        const double rows = (double)o->m / (double)divide_up(o->m, kernels->rows[vectors - 1]);
        const double lines =
            (width + rows / 16 + (o->transpose_a ? 1 : 0)) / (rows * width) + 24 / (width * (double)o->k);
        if (lines < fewest) {
            fewest = lines;
            best = vectors;
        }
    }
    return best;
}

static void prepare_tiles(weir_matmul_plan *plan)
{
    const weir_matmul_options *o = &plan->options;
    const weir_matmul_kernels *kernels = plan->kernels->matmul;
    const int64_t lanes = kernels->lanes, vectors = divide_up(o->n, lanes);
    const int64_t panel_vectors = divide_up(vectors, divide_up(vectors, choose_vectors(o, kernels)));
    const int64_t tall = kernels->rows[panel_vectors - 1], panels = divide_up(vectors, panel_vectors);
    plan->tile_columns = panel_vectors * lanes;
    plan->pack_b = o->transpose_b || (o->m > 3 * tall && o->b_row_stride > 256) ||
                   (!kernels->partial_vectors && o->n % lanes != 0);
    plan->pack_a = o->transpose_a ? o->k > 8 * distinct_sets(SECOND_CACHE_SETS, o->a_row_stride)
                                  : distinct_sets(FIRST_CACHE_SETS, o->a_row_stride) <= 2;

    plan->large = o->m * o->k + o->k * o->n > LARGE_BYTES / 4;

    /* Row blocks repeat the packing of B, so they are high then. */
    const int64_t wanted = wanted_blocks(o);
    const int64_t columns_enough = most(4, ENOUGH_BLOCKS / most(1, o->m / HIGH_BLOCK));
    const int64_t block_panels = most(1, least(MOST_PANELS, panels / columns_enough));
    plan->block_columns = block_panels * plan->tile_columns;
    plan->column_blocks = divide_up(o->n, plan->block_columns);
    if (plan->pack_b)
        cut_rows(plan, least(least(wanted, ENOUGH_BLOCKS) / plan->column_blocks, o->m / HIGH_BLOCK), tall);
    else
        cut_rows(plan, divide_up(wanted, plan->column_blocks), tall);
    const int64_t blocks = plan->column_blocks * plan->row_blocks;
    plan->depth_blocks = most(1, least(wanted / blocks, o->k / 1024));
    if (plan->depth_blocks < 4)
        plan->depth_blocks = 1;
    plan->block_depth = divide_up(o->k, plan->depth_blocks);
    plan->depth_blocks = divide_up(o->k, plan->block_depth);
    const int64_t deepest =
        plan->pack_b ? least(MOST_DEPTH, most(1, PACKED_BYTES / 4 / plan->block_columns)) : 2 * MOST_DEPTH;
    plan->chunk = divide_up(plan->block_depth, divide_up(plan->block_depth, deepest));

    if (plan->pack_b)
        plan->lane_bytes += round_up(plan->chunk * plan->block_columns * 4, LINE);
    if (plan->pack_a)
        plan->lane_bytes += (plan->chunk + LINE / 4) * A_ROWS * 4;
    if (plan->depth_blocks > 1)
        plan->shared_bytes = plan->depth_blocks * round_up(o->m * o->n * 4, LINE);
}

void weir_matmul_prepare(const weir_cpu_kernels *kernels, const weir_matmul_options *options, weir_matmul_plan *plan)
{
    *plan = (weir_matmul_plan){.options = *options, .kernels = kernels};
    const weir_matmul_kernels *tier = kernels->matmul;
    weir_matmul_options *o = &plan->options;
    normalise(o);
    if (o->type == WEIR_FLOAT && o->n == 1 && o->c_row_stride == 1 && o->k > 0)
        swap_operands(plan);
    plan->route = choose_route(o, tier->lanes);
    plan->block_rows = most(1, o->m);
    plan->block_columns = most(1, o->n);
    plan->block_depth = plan->chunk = o->k;
    plan->row_blocks = plan->column_blocks = plan->depth_blocks = 1;
    const int64_t wanted = wanted_blocks(o);
    switch (plan->route) {
    case ROUTE_GENERIC:
        cut_rows(plan, wanted * 8, 1);
        break;
    case ROUTE_TILES:
        prepare_tiles(plan);
        break;
    case ROUTE_WIDE:
        plan->block_columns = (int64_t)tier->wide_vectors * tier->lanes;
        plan->column_blocks = divide_up(o->n, plan->block_columns);
        break;
    case ROUTE_OUTER:
        plan->block_columns = least(o->n, OUTER_COLUMNS);
        plan->column_blocks = divide_up(o->n, plan->block_columns);
        cut_rows(plan, o->m * o->n / OUTER_BLOCK, 1);
        plan->chunk = WEIR_OUTER_DEPTH;
        break;
    case ROUTE_DOT:
        cut_rows(plan, wanted, 5);
        if (!o->transpose_b) {
            plan->chunk = round_up(o->k, 16); /* the length of a turned row of B */
            plan->shared_bytes = plan->chunk * o->n * 4;
        } else if (plan->row_blocks < wanted) {
            plan->block_columns = round_up(divide_up(o->n, divide_up(wanted, plan->row_blocks)), 10);
            plan->column_blocks = divide_up(o->n, plan->block_columns);
        }
        break;
    case ROUTE_SIDEWAYS:
        cut_rows(plan, wanted, 2 * tier->lanes);
        plan->lane_bytes = o->n * 2 * tier->lanes * 4;
        break;
    }
    const int64_t blocks = plan->row_blocks * plan->column_blocks * plan->depth_blocks;
    plan->block_products = 1;
    if (blocks == 1 && o->batch > 1 && plan->shared_bytes == 0) {
        double flops = 2.0 * (double)o->m * (double)o->n * (double)o->k + 100;
        plan->block_products = most(1, least((int64_t)(0.25 * BLOCK_FLOPS / flops), o->batch / 8));
    }
    plan->product_blocks = divide_up(o->batch, plan->block_products);
}

size_t weir_matmul_scratch(const weir_matmul_plan *plan, int lanes)
{
    return (size_t)(round_up(plan->shared_bytes, LINE) + lanes * round_up(plan->lane_bytes, LINE));
}

/* ---- run ---------------------------------------------------------------------------------------------------------- */

typedef struct run_context {
    const weir_matmul_plan *plan;
    const char *a, *b; /* of the first product of this round */
    const void *bias;
    char *c;
    float *shared; /* scratch */
    char *lanes;   /* scratch of lane 0 */
} run_context;

/* One block's part of one product. */
typedef struct block_part {
    int64_t row, rows, column, columns, depth_start, depth;
    const float *a, *b, *bias; /* of the product; bias NULL if not wanted */
    float *c;                  /* of the product, or the partial C */
    int64_t c_row;
    bool accumulate, relu;
    float *scratch; /* of this lane */
} block_part;

/* Copies the part of A that some tiles read into lines that do not collide; t reads the copy. */
static void pack_a(const weir_matmul_plan *plan, weir_tile_arguments *t, int64_t rows, float *out)
{
    const weir_matmul_kernels *kernels = plan->kernels->matmul;
    if (plan->options.transpose_a) {
        kernels->copy(t->a, t->a_step, t->depth, rows, out, A_ROWS);
        t->a_step = A_ROWS;
    } else {
        kernels->copy(t->a, t->a_row, rows, t->depth, out, t->depth + LINE / 4);
        t->a_row = t->depth + LINE / 4;
    }
    t->a = out;
}

/* Copies a chunk of the block's columns of B into panels one tile wide, each [depth][tile columns]. */
static void pack_b(const weir_matmul_plan *plan, const block_part *part, int64_t start, int64_t depth, float *out)
{
    const weir_matmul_options *o = &plan->options;
    const weir_matmul_kernels *kernels = plan->kernels->matmul;
    const int64_t width = plan->tile_columns;
    if (!o->transpose_b) {
        kernels->pack(part->b + start * o->b_row_stride + part->column, o->b_row_stride, depth, part->columns, width,
                      out);
        return;
    }
    for (int64_t j = 0; j < part->columns; j += width, out += depth * width)
        kernels->transpose(part->b + (part->column + j) * o->b_row_stride + start, o->b_row_stride,
                           least(width, part->columns - j), depth, out, width);
}

/* A part of A or B that will be packed next: fetched into the second cache row by row, while tiles are computed. */
typedef struct fetch {
    const float *row; /* NULL: nothing */
    int64_t rows, columns, stride;
    int64_t at_once; /* rows after each tile */
} fetch;

static void fetch_some(fetch *f)
{
    for (int64_t i = 0; i < f->at_once && f->rows > 0; i++, f->rows--, f->row += f->stride)
        for (int64_t j = 0; j < f->columns; j += LINE / 4)
            __builtin_prefetch(f->row + j, 0, 2);
}

/* What of B the next chunk needs, in this block or, behind its last chunk, in the next block to the right. */
static fetch fetch_b(const weir_matmul_plan *plan, const block_part *part, int64_t start, int64_t tiles)
{
    const weir_matmul_options *o = &plan->options;
    int64_t next = part->depth_start + start + plan->chunk, column = part->column, columns = part->columns;
    int64_t depth = least(plan->chunk, part->depth - start - plan->chunk);
    if (!plan->large || !plan->pack_b)
        return (fetch){0};
    if (depth <= 0) {
        next = part->depth_start;
        depth = least(plan->chunk, part->depth);
        column += plan->block_columns;
        columns = least(plan->block_columns, o->n - column);
    }
    if (columns <= 0)
        return (fetch){0};
    fetch f = {part->b + next * o->b_row_stride + column, depth, columns, o->b_row_stride, 0};
    if (o->transpose_b)
        f = (fetch){part->b + column * o->b_row_stride + next, columns, depth, o->b_row_stride, 0};
    f.at_once = divide_up(f.rows, tiles);
    return f;
}

/* Some rows of C, one tile high, over all panels of the block. t: a, depth and the epilogue are set. */
static void run_tile_row(const weir_matmul_plan *plan, const block_part *part, weir_tile_arguments t, int64_t from,
                         int64_t row, int64_t rows, fetch *next_a, fetch *next_b)
{
    const weir_matmul_kernels *kernels = plan->kernels->matmul;
    const int64_t width = plan->tile_columns;
    for (int64_t j = 0; j < part->columns; j += width) {
        const int64_t column = part->column + j;
        t.columns = least(width, part->columns - j);
        t.c = part->c + row * part->c_row + column;
        if (plan->pack_b) {
            t.b = part->scratch + j * t.depth;
            t.b_row = width;
        } else {
            t.b = part->b + from * plan->options.b_row_stride + column;
            t.b_row = plan->options.b_row_stride;
        }
        weir_tile_arguments one = t;
        if (one.bias != NULL)
            one.bias += column;
        kernels->tiles[(t.columns + kernels->lanes - 1) / kernels->lanes - 1][rows - 1](&one);
        fetch_some(next_a);
        fetch_some(next_b);
    }
}

static void run_tiles(const weir_matmul_plan *plan, const block_part *part)
{
    const weir_matmul_options *o = &plan->options;
    const weir_matmul_kernels *kernels = plan->kernels->matmul;
    const int64_t tall = kernels->rows[plan->tile_columns / kernels->lanes - 1], tiles = divide_up(part->rows, tall);
    const int64_t panels = divide_up(part->columns, plan->tile_columns);
    float *packed_a = part->scratch + (plan->pack_b ? round_up(plan->chunk * plan->block_columns, LINE / 4) : 0);
    for (int64_t start = 0; start < part->depth; start += plan->chunk) {
        const int64_t depth = least(plan->chunk, part->depth - start), from = part->depth_start + start;
        const bool final = start + depth == part->depth;
        weir_tile_arguments t = {
            .depth = depth,
            .runs = 1,
            .outers = 1,
            .c_row = part->c_row,
            .bias = final ? part->bias : NULL,
            .accumulate = part->accumulate || start > 0,
            .relu = final && part->relu,
        };
        if (plan->pack_b)
            pack_b(plan, part, from, depth, part->scratch);
        fetch next_b = fetch_b(plan, part, start, tiles * panels);
        for (int64_t tile = 0, row = part->row, packed_end = row; tile < tiles; tile++) {
            const int64_t rows = divide_up(part->row + part->rows - row, tiles - tile);
            if (!plan->pack_a || row + rows > packed_end) {
                t.a = o->transpose_a ? part->a + from * o->a_row_stride + row : part->a + row * o->a_row_stride + from;
                t.a_row = o->transpose_a ? 1 : o->a_row_stride;
                t.a_step = o->transpose_a ? o->a_row_stride : 1;
            }
            if (plan->pack_a && row + rows > packed_end) {
                const int64_t some = least(part->row + part->rows - row, o->transpose_a ? A_ROWS : rows);
                pack_a(plan, &t, some, packed_a);
                packed_end = row + some;
            }
            fetch next_a = {0};
            if (plan->large && plan->pack_a && !o->transpose_a && row + rows < part->row + part->rows)
                next_a = (fetch){part->a + (row + rows) * o->a_row_stride + from, rows, depth, o->a_row_stride,
                                 divide_up(rows, panels)};
            run_tile_row(plan, part, t, from, row, rows, &next_a, &next_b);
            t.a += rows * t.a_row;
            row += rows;
        }
    }
}

static void run_wide(const weir_matmul_plan *plan, const block_part *part)
{
    const weir_matmul_options *o = &plan->options;
    const weir_tile_arguments t = {
        .a = part->a,
        .a_row = o->transpose_a ? 1 : o->a_row_stride,
        .a_step = o->transpose_a ? o->a_row_stride : 1,
        .b = part->b + part->column,
        .b_row = o->b_row_stride,
        .depth = part->depth,
        .runs = 1,
        .outers = 1,
        .c = part->c + part->column,
        .c_row = part->c_row,
        .columns = part->columns,
        .bias = part->bias != NULL ? part->bias + part->column : NULL,
        .accumulate = part->accumulate,
        .relu = part->relu,
    };
    plan->kernels->matmul->wide[part->rows - 1](&t);
}

static void run_outer(const weir_matmul_plan *plan, const block_part *part)
{
    const weir_matmul_options *o = &plan->options;
    weir_tile_arguments t = {
        .a_row = o->transpose_a ? 1 : o->a_row_stride,
        .a_step = o->transpose_a ? o->a_row_stride : 1,
        .b_row = o->b_row_stride,
        .c = part->c + part->row * part->c_row + part->column,
        .c_row = part->c_row,
        .columns = part->columns,
        .accumulate = part->accumulate,
    };
    for (int64_t start = 0; start < part->depth; start += plan->chunk) {
        t.depth = least(plan->chunk, part->depth - start);
        t.a = part->a + part->row * t.a_row + start * t.a_step;
        t.b = part->b + start * o->b_row_stride + part->column;
        if (start + t.depth == part->depth) {
            t.bias = part->bias != NULL ? part->bias + part->column : NULL;
            t.relu = part->relu;
        }
        plan->kernels->matmul->outer(&t, part->rows);
        t.accumulate = true;
    }
}

static void run_dot(const weir_matmul_plan *plan, const block_part *part, const float *turned)
{
    const weir_matmul_options *o = &plan->options;
    const int64_t b_row = o->transpose_b ? o->b_row_stride : plan->chunk;
    const weir_dot_arguments t = {
        .a = part->a + part->row * o->a_row_stride,
        .b = (o->transpose_b ? part->b : turned) + part->column * b_row,
        .c = part->c + part->row * part->c_row + part->column,
        .a_row = o->a_row_stride,
        .b_row = b_row,
        .c_row = part->c_row,
        .rows = part->rows,
        .columns = part->columns,
        .depth = part->depth,
        .bias = part->bias != NULL ? part->bias + part->column : NULL,
        .accumulate = part->accumulate,
        .relu = part->relu,
    };
    plan->kernels->matmul->dot(&t);
}

/* C's transpose, two vectors of its columns at a time, into scratch; from there into C. */
static void run_sideways(const weir_matmul_plan *plan, const block_part *part)
{
    const weir_matmul_options *o = &plan->options;
    const weir_matmul_kernels *kernels = plan->kernels->matmul;
    const int64_t width = 2 * kernels->lanes;
    for (int64_t row = part->row; row < part->row + part->rows; row += width) {
        const int64_t count = least(width, part->row + part->rows - row);
        const int64_t vectors = divide_up(count, kernels->lanes);
        const bool whole = kernels->partial_vectors || count % kernels->lanes == 0;
        weir_tile_arguments t = {
            .a_row = 1,
            .a_step = o->b_row_stride,
            .b = part->a + row,
            .b_row = o->a_row_stride,
            .depth = part->depth,
            .runs = 1,
            .outers = 1,
            .c = part->scratch,
            .c_row = width,
            .columns = count,
        };
        const int64_t tall = kernels->rows[vectors - 1];
        for (int64_t j = 0; j < part->columns; j += tall) {
            const int64_t rows = least(tall, part->columns - j);
            t.a = part->b + j;
            t.c = part->scratch + j * width;
            if (whole)
                kernels->tiles[vectors - 1][rows - 1](&t);
            else
                for (int64_t i = 0; i < rows; i += WEIR_WIDE_ROWS) {
                    weir_tile_arguments few = t;
                    few.a = t.a + i;
                    few.c = t.c + i * width;
                    kernels->wide[least(WEIR_WIDE_ROWS, rows - i) - 1](&few);
                }
        }
        for (int64_t i = 0; i < count; i++) {
            float *c = part->c + (row + i) * part->c_row;
            for (int64_t j = 0; j < part->columns; j++) {
                float value = part->scratch[j * width + i];
                if (part->accumulate)
                    value += c[j];
                if (part->bias != NULL)
                    value += part->bias[j];
                c[j] = part->relu && value < 0 ? 0 : value;
            }
        }
    }
}

static void run_block(void *context, int64_t block, int lane)
{
    const run_context *run = context;
    const weir_matmul_plan *plan = run->plan;
    const weir_matmul_options *o = &plan->options;
    const int64_t row_block = block % plan->row_blocks, others = block / plan->row_blocks;
    const int64_t column_block = others % plan->column_blocks, rest = others / plan->column_blocks;
    const int64_t depth_block = rest % plan->depth_blocks, product_block = rest / plan->depth_blocks;
    const bool split = plan->depth_blocks > 1;
    const int64_t size = (int64_t)weir_dtype_size(o->type);
    block_part part = {
        .row = row_block * plan->block_rows,
        .column = column_block * plan->block_columns,
        .depth_start = depth_block * plan->block_depth,
        .c_row = split ? o->n : o->c_row_stride,
        .accumulate = o->accumulate && !split,
        .relu = o->relu && !split && !plan->swapped,
        .bias = o->bias && !split && !plan->swapped ? run->bias : NULL,
        .scratch = (float *)(run->lanes + lane * round_up(plan->lane_bytes, LINE)),
    };
    part.rows = least(plan->block_rows, o->m - part.row);
    part.columns = least(plan->block_columns, o->n - part.column);
    part.depth = least(plan->block_depth, o->k - part.depth_start);
    const int64_t first = product_block * plan->block_products;
    for (int64_t product = first; product < least(first + plan->block_products, o->batch); product++) {
        const char *a = run->a + product * o->a_batch_stride * size, *b = run->b + product * o->b_batch_stride * size;
        char *c = run->c + product * o->c_batch_stride * size;
        if (plan->route == ROUTE_GENERIC) {
            weir_matmul_generic(o, part.row, part.row + part.rows, a, b, run->bias, c);
            continue;
        }
        part.a = (const float *)a;
        part.b = (const float *)b;
        part.c = split ? run->shared + depth_block * round_up(o->m * o->n, LINE / 4) : (float *)c;
        if (plan->route == ROUTE_TILES)
            run_tiles(plan, &part);
        else if (plan->route == ROUTE_WIDE)
            run_wide(plan, &part);
        else if (plan->route == ROUTE_OUTER)
            run_outer(plan, &part);
        else if (plan->route == ROUTE_DOT)
            run_dot(plan, &part, run->shared);
        else
            run_sideways(plan, &part);
    }
}

/* Adds the depth blocks' partial C in order, for a row of C. */
static void add_parts(void *context, int64_t row, int lane)
{
    (void)lane;
    const run_context *run = context;
    const weir_matmul_plan *plan = run->plan;
    const weir_matmul_options *o = &plan->options;
    const int64_t part = round_up(o->m * o->n, LINE / 4);
    const float *bias = run->bias;
    float *c = (float *)run->c + row * o->c_row_stride;
    const bool finish = !plan->swapped;
    for (int64_t j = 0; j < o->n; j++) {
        float sum = o->accumulate ? c[j] : 0;
        for (int64_t d = 0; d < plan->depth_blocks; d++)
            sum += run->shared[d * part + row * o->n + j];
        if (o->bias && finish)
            sum += bias[j];
        c[j] = o->relu && finish && sum < 0 ? 0 : sum;
    }
}

/* Bias and Relu of a product with one column, whose columns became rows. */
static void finish_swapped(const weir_matmul_options *o, const float *bias, float *c)
{
    const float shift = o->bias ? bias[0] : 0;
    for (int64_t product = 0; product < o->batch; product++) {
        float *row = c + product * o->c_batch_stride;
        for (int64_t i = 0; i < o->n; i++) {
            float value = o->bias ? row[i] + shift : row[i];
            row[i] = o->relu && value < 0 ? 0 : value;
        }
    }
}

void weir_matmul_run(const weir_matmul_plan *plan, weir_team *team, const void *a, const void *b, const void *bias,
                     void *c, void *scratch)
{
    const weir_matmul_options *o = &plan->options;
    if (o->m == 0 || o->n == 0)
        return;
    run_context run = {
        .plan = plan,
        .a = plan->swapped ? b : a,
        .b = plan->swapped ? a : b,
        .bias = bias,
        .c = c,
        .shared = scratch,
        .lanes = (char *)scratch + round_up(plan->shared_bytes, LINE),
    };
    const int64_t blocks = plan->row_blocks * plan->column_blocks * plan->depth_blocks;
    if (plan->shared_bytes == 0) {
        weir_parallel_for(team, blocks * plan->product_blocks, run_block, &run);
    } else {
        for (int64_t product = 0; product < o->batch; product++) {
            if (plan->route == ROUTE_DOT)
                plan->kernels->matmul->transpose((const float *)run.b, o->b_row_stride, o->k, o->n, run.shared,
                                                 plan->chunk);
            weir_parallel_for(team, blocks, run_block, &run);
            if (plan->depth_blocks > 1)
                weir_parallel_for(team, o->m, add_parts, &run);
            run.a += o->a_batch_stride * 4;
            run.b += o->b_batch_stride * 4;
            run.c += o->c_batch_stride * 4;
        }
    }
    if (plan->swapped && (o->bias || o->relu))
        finish_swapped(o, bias, c);
}
