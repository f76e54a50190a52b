/*
 * Reductions: axes are merged into an innermost one and the kept and reduced ones around it, then blocks of outputs are
 * reduced in parallel. Where there are few outputs, each one's elements are cut into segments as well, whose
 * accumulators wait in scratch memory and are joined in order.
 */
#include "kernel/cpu/reduce.h"

#include <string.h>

#include "kernel/cpu/elementwise_loops.h"
#include "kernel/cpu/reduce_loops.h"

#define TILE 256         /* kept columns, or kept rows, reduced at a time: their accumulators stand on the stack */
#define BLOCK 16384      /* elements of a block */
#define MOST_SEGMENTS 64 /* of one output */
#define FEW_BLOCKS 8     /* fewer blocks of outputs than this are cut into segments */
#define ACCUMULATOR 16   /* bytes of the largest accumulator */

bool weir_reduce_supports(weir_reduce_op op, weir_dtype type)
{
    return weir_reducer_find(op, type) != NULL;
}

/* ---- walking ----------------------------------------------------------------------------------------------------- */

static int64_t offset_of(int rank, const int64_t *dims, const int64_t *strides, int64_t index)
{
    int64_t offset = 0;
    for (int axis = rank - 1; axis >= 0; axis--) {
        offset += index % dims[axis] * strides[axis];
        index /= dims[axis];
    }
    return offset;
}

/* Rows from index on, up to end, that lie a constant stride apart: their number. *stride: the last axis's. */
static int64_t stretch_of(int rank, const int64_t *dims, const int64_t *strides, int64_t index, int64_t end,
                          int64_t *stride)
{
    if (rank == 0) {
        *stride = 0;
        return 1;
    }
    *stride = strides[rank - 1];
    int64_t stretch = dims[rank - 1] - index % dims[rank - 1];
    return stretch < end - index ? stretch : end - index;
}

typedef struct reduce_call {
    const weir_reduce_plan *plan;
    const char *x;
    char *scratch; /* [segments, outputs] accumulators */
    char *out;
} reduce_call;

/* Where the part of the reduced rows (or, with one row, columns) of a segment begins and ends. */
static void segment_bounds(const weir_reduce_plan *plan, int64_t segment, int64_t *begin, int64_t *end)
{
    int64_t all = plan->inner_kept || plan->reduced_rows > 1 ? plan->reduced_rows : plan->columns;
    *begin = segment * plan->segment;
    *end = *begin + plan->segment < all ? *begin + plan->segment : all;
}

/* The innermost axis is reduced: rows kept rows, stride apart from x on. */
static void reduce_rows(const weir_reduce_plan *plan, const char *x, int64_t stride, int64_t rows, int64_t segment,
                        void *accumulators)
{
    int64_t begin, end;
    segment_bounds(plan, segment, &begin, &end);
    if (plan->reduced_rows == 1) {
        plan->reducer->rows(x + begin * plan->size, stride, rows, end - begin, accumulators);
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        int64_t offset = offset_of(plan->reduced_rank, plan->reduced_dims, plan->reduced_strides, row);
        plan->reducer->rows(x + offset * plan->size, stride, rows, plan->columns, accumulators);
    }
}

/* The innermost axis is kept: n columns from x on. */
static void reduce_columns(const weir_reduce_plan *plan, const char *x, int64_t n, int64_t segment, void *accumulators)
{
    int64_t row, end, stride;
    segment_bounds(plan, segment, &row, &end);
    while (row < end) {
        int64_t offset = offset_of(plan->reduced_rank, plan->reduced_dims, plan->reduced_strides, row);
        int64_t rows = stretch_of(plan->reduced_rank, plan->reduced_dims, plan->reduced_strides, row, end, &stride);
        plan->reducer->columns(x + offset * plan->size, stride, rows, n, accumulators);
        row += rows;
    }
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* What a block's outputs go through once they are in accumulators: to scratch or to out. */
static void put(const reduce_call *call, const void *accumulators, int64_t output, int64_t n, int64_t segment)
{
    const weir_reduce_plan *plan = call->plan;
    size_t size = plan->reducer->size;
    if (plan->segments > 1)
        memcpy(call->scratch + (size_t)(segment * plan->outputs + output) * size, accumulators, (size_t)n * size);
    else
        plan->reducer->finish(accumulators, n, plan->count, call->out + output * plan->out_size);
}

/* Units of work: kept rows (innermost axis reduced), or kept rows times tiles of kept columns. */
static int64_t units_of(const weir_reduce_plan *plan)
{
    return plan->kept_rows * plan->tiles;
}

static void rows_units(const reduce_call *call, int64_t begin, int64_t end, int64_t segment)
{
    const weir_reduce_plan *plan = call->plan;
    _Alignas(64) char accumulators[TILE * ACCUMULATOR];
    while (begin < end) {
        int64_t stride;
        int64_t rows = stretch_of(plan->kept_rank, plan->kept_dims, plan->kept_strides, begin, end, &stride);
        rows = rows < TILE ? rows : TILE;
        int64_t offset = offset_of(plan->kept_rank, plan->kept_dims, plan->kept_strides, begin);
        plan->reducer->start(accumulators, rows);
        reduce_rows(plan, call->x + offset * plan->size, stride, rows, segment, accumulators);
        put(call, accumulators, begin, rows, segment);
        begin += rows;
    }
}

static void columns_units(const reduce_call *call, int64_t begin, int64_t end, int64_t segment)
{
    const weir_reduce_plan *plan = call->plan;
    _Alignas(64) char accumulators[TILE * ACCUMULATOR];
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t kept = unit / plan->tiles, column = unit % plan->tiles * TILE;
        int64_t n = plan->columns - column < TILE ? plan->columns - column : TILE;
        int64_t offset = offset_of(plan->kept_rank, plan->kept_dims, plan->kept_strides, kept) + column;
        plan->reducer->start(accumulators, n);
        reduce_columns(plan, call->x + offset * plan->size, n, segment, accumulators);
        put(call, accumulators, kept * plan->columns + column, n, segment);
    }
}

static void reduce_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const reduce_call *call = context;
    const weir_reduce_plan *plan = call->plan;
    int64_t units = units_of(plan);
    int64_t groups = (units + plan->group - 1) / plan->group;
    int64_t segment = block / groups, begin = block % groups * plan->group;
    int64_t end = begin + plan->group < units ? begin + plan->group : units;
    if (plan->inner_kept)
        columns_units(call, begin, end, segment);
    else
        rows_units(call, begin, end, segment);
}

/* Joins the segments of TILE outputs. */
static void join_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const reduce_call *call = context;
    const weir_reduce_plan *plan = call->plan;
    size_t size = plan->reducer->size;
    int64_t begin = block * TILE;
    int64_t n = plan->outputs - begin < TILE ? plan->outputs - begin : TILE;
    char *first = call->scratch + (size_t)begin * size;
    for (int64_t segment = 1; segment < plan->segments; segment++)
        plan->reducer->join(first + (size_t)(segment * plan->outputs) * size, n, first);
    plan->reducer->finish(first, n, plan->count, call->out + begin * plan->out_size);
}

/* ---- run functions ----------------------------------------------------------------------------------------------- */

static void run_blocks(const weir_reduce_plan *plan, weir_team *team, const void *x, void *scratch, void *out)
{
    reduce_call call = {plan, x, scratch, out};
    int64_t groups = (units_of(plan) + plan->group - 1) / plan->group;
    if (groups * plan->segments == 1) {
        reduce_block(&call, 0, 0);
        return;
    }
    weir_parallel_for(team, groups * plan->segments, reduce_block, &call);
    if (plan->segments > 1)
        weir_parallel_for(team, (plan->outputs + TILE - 1) / TILE, join_block, &call);
}

/* Nothing in, outputs all the same. */
static void run_empty(const weir_reduce_plan *plan, weir_team *team, const void *x, void *scratch, void *out)
{
    (void)team;
    (void)x;
    (void)scratch;
    _Alignas(64) char accumulator[ACCUMULATOR];
    plan->reducer->start(accumulator, 1);
    for (int64_t i = 0; i < plan->outputs; i++)
        plan->reducer->finish(accumulator, 1, 0, (char *)out + i * plan->out_size);
}

/* ---- prepare ----------------------------------------------------------------------------------------------------- */

/* Drops axes of size 1 and merges neighbours of one kind; sorts them into innermost, kept and reduced. */
static void plan_axes(weir_reduce_plan *plan, const weir_shape *x, const bool *reduced)
{
    int64_t dims[WEIR_MAX_RANK + 1] = {1};
    bool kinds[WEIR_MAX_RANK + 1] = {false};
    int count = 0;
    for (int axis = 0; axis < x->rank; axis++) {
        if (x->dims[axis] == 1)
            continue;
        if (count > 0 && kinds[count - 1] == reduced[axis]) {
            dims[count - 1] *= x->dims[axis];
        } else {
            dims[count] = x->dims[axis];
            kinds[count++] = reduced[axis];
        }
    }
    if (count == 0)
        count = 1;
    plan->columns = dims[count - 1];
    plan->inner_kept = !kinds[count - 1];
    plan->kept_rows = plan->reduced_rows = 1;
    int64_t stride = plan->columns;
    int64_t strides[WEIR_MAX_RANK + 1];
    for (int axis = count - 2; axis >= 0; axis--) {
        strides[axis] = stride;
        stride *= dims[axis];
    }
    for (int axis = 0; axis < count - 1; axis++) {
        if (kinds[axis]) {
            plan->reduced_dims[plan->reduced_rank] = dims[axis];
            plan->reduced_strides[plan->reduced_rank++] = strides[axis];
            plan->reduced_rows *= dims[axis];
        } else {
            plan->kept_dims[plan->kept_rank] = dims[axis];
            plan->kept_strides[plan->kept_rank++] = strides[axis];
            plan->kept_rows *= dims[axis];
        }
    }
}

/* Cuts the work into blocks, from sizes alone. */
static void plan_blocks(weir_reduce_plan *plan)
{
    int64_t unit = plan->inner_kept ? (plan->columns < TILE ? plan->columns : TILE) * plan->count : plan->count;
    plan->tiles = plan->inner_kept ? (plan->columns + TILE - 1) / TILE : 1;
    plan->group = BLOCK / unit > 0 ? BLOCK / unit : 1;
    int64_t groups = (units_of(plan) + plan->group - 1) / plan->group;
    int64_t rows = plan->inner_kept || plan->reduced_rows > 1 ? plan->reduced_rows : plan->columns;
    plan->segments = 1;
    plan->segment = rows;
    if (groups >= FEW_BLOCKS || unit < 2 * BLOCK)
        return;
    int64_t wanted = unit / BLOCK < MOST_SEGMENTS ? unit / BLOCK : MOST_SEGMENTS;
    plan->segment = (rows + wanted - 1) / wanted;
    plan->segments = (rows + plan->segment - 1) / plan->segment;
    if (plan->segments > 1)
        plan->scratch_bytes = (size_t)(plan->segments * plan->outputs) * plan->reducer->size;
}

bool weir_reduce_prepare(weir_reduce_op op, weir_dtype type, const weir_shape *x, const bool *reduced,
                         weir_reduce_plan *plan)
{
    static const bool all[WEIR_MAX_RANK] = {true, true, true, true, true, true, true, true, true, true, true, true};
    if (op == WEIR_REDUCE_L2_LOSS)
        reduced = all;
    memset(plan, 0, sizeof *plan);
    plan->reducer = weir_reducer_find(op, type);
    if (plan->reducer == NULL)
        return false;
    plan->type = type;
    plan->size = plan->out_size = (int32_t)weir_kernel_size(type);
    plan->outputs = plan->count = 1;
    for (int axis = 0; axis < x->rank; axis++) {
        if (reduced[axis])
            plan->count *= x->dims[axis];
        else
            plan->outputs *= x->dims[axis];
    }
    plan->run = run_empty;
    if (plan->outputs > 0 && plan->count > 0) {
        plan->run = run_blocks;
        plan_axes(plan, x, reduced);
        plan_blocks(plan);
    }
    return true;
}

bool weir_bias_add_grad_prepare(weir_dtype type, int64_t outer, int64_t channels, int64_t inner, weir_reduce_plan *plan)
{
    weir_shape x = {.rank = 3, .dims = {outer, channels, inner}};
    const bool reduced[] = {true, false, true};
    return weir_reduce_prepare(WEIR_REDUCE_SUM, type, &x, reduced, plan);
}
