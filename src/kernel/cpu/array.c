/*
 * Strided copies: one engine moves the elements of a box from strides to strides; what the operations differ in is how
 * they fill in the plan.
 *
 * Axes of size 1 are dropped, neighbours that lie evenly in both arrays are merged. Then a row (the innermost axis) is
 * a run of bytes, a repetition of one element, or a strided copy; or, where the innermost axis of one side is the
 * second innermost of the other, the two axes are a matrix that is transposed in squares.
 */
#include "kernel/cpu/array.h"

#include <string.h>

#include "kernel/cpu/array_element.h"

#define BLOCK_BYTES 65536 /* of a block */
#define SQUARE 16         /* side of a transposed square, in elements */

enum {
    KIND_NOTHING,
    KIND_RUN,      /* rows are contiguous on both sides */
    KIND_REPEAT,   /* rows are one element */
    KIND_STRIDED,  /* anything else */
    KIND_TRANSPOSE /* the last two axes: contiguous in out along the last, in in along the one before */
};

/* ---- prepare ----------------------------------------------------------------------------------------------------- */

static void merge_axes(weir_copy_plan *plan)
{
    int count = 0;
    for (int axis = 0; axis < plan->rank; axis++) {
        int64_t dim = plan->dims[axis];
        if (dim == 1)
            continue;
        int last = count - 1;
        if (count > 0 && plan->in_strides[last] == plan->in_strides[axis] * dim &&
            plan->out_strides[last] == plan->out_strides[axis] * dim) {
            plan->dims[last] *= dim;
            plan->in_strides[last] = plan->in_strides[axis];
            plan->out_strides[last] = plan->out_strides[axis];
            continue;
        }
        plan->dims[count] = dim;
        plan->in_strides[count] = plan->in_strides[axis];
        plan->out_strides[count] = plan->out_strides[axis];
        count++;
    }
    if (count == 0) {
        plan->dims[0] = 1;
        plan->in_strides[0] = plan->out_strides[0] = 1;
        count = 1;
    }
    plan->rank = count;
}

static int kind_of(const weir_copy_plan *plan)
{
    int last = plan->rank - 1;
    if (plan->elements == 0)
        return KIND_NOTHING;
    if (plan->in_strides[last] == 1 && plan->out_strides[last] == 1)
        return KIND_RUN;
    if (plan->in_strides[last] == 0 && plan->out_strides[last] == 1)
        return KIND_REPEAT;
    if (last > 0 && plan->element.copy == NULL && plan->out_strides[last] == 1 && plan->in_strides[last - 1] == 1)
        return KIND_TRANSPOSE;
    return KIND_STRIDED;
}

/* Moves the axis that in runs along fastest next to the last one, where the last one of out is contiguous: the order of
 * the outer axes is free. */
static void order_axes(weir_copy_plan *plan)
{
    int last = plan->rank - 1;
    if (last < 2 || plan->in_strides[last] == 1 || plan->out_strides[last] != 1)
        return;
    for (int axis = 0; axis < last - 1; axis++) {
        if (plan->in_strides[axis] != 1)
            continue;
        int64_t dim = plan->dims[axis], out_stride = plan->out_strides[axis];
        for (int i = axis; i < last - 1; i++) {
            plan->dims[i] = plan->dims[i + 1];
            plan->in_strides[i] = plan->in_strides[i + 1];
            plan->out_strides[i] = plan->out_strides[i + 1];
        }
        plan->dims[last - 1] = dim;
        plan->in_strides[last - 1] = 1;
        plan->out_strides[last - 1] = out_stride;
        return;
    }
}

void weir_copy_prepare(weir_copy_plan *plan)
{
    plan->elements = 1;
    for (int axis = 0; axis < plan->rank; axis++)
        plan->elements *= plan->dims[axis];
    if (plan->elements == 0) {
        plan->kind = KIND_NOTHING;
        plan->rows = 0;
        return;
    }
    merge_axes(plan);
    if (plan->element.copy == NULL)
        order_axes(plan);
    plan->kind = kind_of(plan);
    int64_t row = plan->dims[plan->rank - 1];
    if (plan->kind == KIND_TRANSPOSE)
        row *= plan->dims[plan->rank - 2] < SQUARE ? plan->dims[plan->rank - 2] : SQUARE;
    plan->rows = plan->elements / plan->dims[plan->rank - 1];
    if (plan->kind == KIND_TRANSPOSE) /* rows: strips of SQUARE rows of a matrix */
        plan->rows = plan->rows / plan->dims[plan->rank - 2] * ((plan->dims[plan->rank - 2] + SQUARE - 1) / SQUARE);
    plan->block = BLOCK_BYTES / (row * (int64_t)plan->element.size);
    if (plan->block == 0)
        plan->block = 1;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef struct copy_call {
    const weir_copy_plan *plan;
    const char *in;
    char *out;
} copy_call;

/* Offsets of a row, by its number over the first rank axes. */
static void row_offsets(const weir_copy_plan *plan, int rank, int64_t row, int64_t *in, int64_t *out)
{
    *in = plan->in_offset;
    *out = plan->out_offset;
    for (int axis = rank - 1; axis >= 0; axis--) {
        int64_t at = row % plan->dims[axis];
        row /= plan->dims[axis];
        *in += at * plan->in_strides[axis];
        *out += at * plan->out_strides[axis];
    }
}

/* n elements, strides in elements. */
static void copy_strided(size_t size, const char *in, int64_t in_stride, char *out, int64_t out_stride, int64_t n)
{
    switch (size) {
#define CASE(bytes, T)                                                                                                 \
    case bytes:                                                                                                        \
        for (int64_t i = 0; i < n; i++)                                                                                \
            ((T *)out)[i * out_stride] = ((const T *)in)[i * in_stride];                                               \
        break;
        WEIR_ELEMENT_SIZES(CASE)
#undef CASE
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(out + i * out_stride * (int64_t)size, in + i * in_stride * (int64_t)size, size);
    }
}

static void copy_row(const weir_copy_plan *plan, const char *in, char *out)
{
    int last = plan->rank - 1;
    int64_t n = plan->dims[last];
    const weir_element *element = &plan->element;
    if (element->copy != NULL)
        element->copy(element->context, out, plan->out_strides[last], in, plan->in_strides[last], n);
    else if (plan->kind == KIND_RUN)
        memcpy(out, in, (size_t)n * element->size);
    else if (plan->kind == KIND_REPEAT)
        weir_element_repeat(element->size, in, out, n);
    else
        copy_strided(element->size, in, plan->in_strides[last], out, plan->out_strides[last], n);
}

static void rows_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const copy_call *call = context;
    const weir_copy_plan *plan = call->plan;
    int64_t size = (int64_t)plan->element.size, last = plan->rank - 2;
    int64_t row = block * plan->block;
    int64_t end = plan->rows - row < plan->block ? plan->rows : row + plan->block;
    while (row < end) {
        int64_t in, out, stretch = end - row;
        row_offsets(plan, plan->rank - 1, row, &in, &out);
        if (last < 0)
            stretch = 1;
        else if (stretch > plan->dims[last] - row % plan->dims[last])
            stretch = plan->dims[last] - row % plan->dims[last];
        for (int64_t i = 0; i < stretch; i++) {
            int64_t in_at = in + (last < 0 ? 0 : i * plan->in_strides[last]);
            int64_t out_at = out + (last < 0 ? 0 : i * plan->out_strides[last]);
            copy_row(plan, call->in + in_at * size, call->out + out_at * size);
        }
        row += stretch;
    }
}

/* ---- transposed matrices ----------------------------------------------------------------------------------------- */

/* Four elements of four bytes, unaligned, of any type. */
typedef uint32_t four __attribute__((vector_size(16), aligned(4), may_alias));

/* 4 x 4 elements of 4 bytes. */
static inline void transpose_four(const bytes4 *in, int64_t in_stride, bytes4 *out, int64_t out_stride)
{
    four a = *(const four *)in, b = *(const four *)(in + in_stride);
    four c = *(const four *)(in + 2 * in_stride), d = *(const four *)(in + 3 * in_stride);
    four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(four *)out = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    *(four *)(out + out_stride) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    *(four *)(out + 2 * out_stride) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *(four *)(out + 3 * out_stride) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

/* Whole squares go through a small array, so that lines are read and written whole: rows that lie a power of two apart
 * fall on the same few lines of the cache. */
static void transpose_bytes4(const bytes4 *in, int64_t in_stride, bytes4 *out, int64_t out_stride, int64_t rows,
                             int64_t columns)
{
    int64_t column = 0;
    for (; rows == SQUARE && column + SQUARE <= columns; column += SQUARE) {
        bytes4 square[SQUARE * SQUARE];
        for (int c = 0; c < SQUARE; c += 4)
            for (int r = 0; r < SQUARE; r += 4)
                transpose_four(in + (column + c) * in_stride + r, in_stride, square + r * SQUARE + c, SQUARE);
        for (int r = 0; r < SQUARE; r++)
            memcpy(out + r * out_stride + column, square + r * SQUARE, SQUARE * sizeof *square);
    }
    for (; column + 4 <= columns; column += 4) {
        const bytes4 *from = in + column * in_stride;
        int64_t r = 0;
        for (; r + 4 <= rows; r += 4)
            transpose_four(from + r, in_stride, out + r * out_stride + column, out_stride);
        for (; r < rows; r++)
            for (int c = 0; c < 4; c++)
                out[r * out_stride + column + c] = from[c * in_stride + r];
    }
    for (; column < columns; column++)
        for (int64_t r = 0; r < rows; r++)
            out[r * out_stride + column] = in[column * in_stride + r];
}

/* rows x columns of out; in runs along the rows. in[c * in_stride + r] to out[r * out_stride + c]. */
#define TRANSPOSE(T)                                                                                                   \
    static void transpose_##T(const T *in, int64_t in_stride, T *out, int64_t out_stride, int64_t rows,                \
                              int64_t columns)                                                                         \
    {                                                                                                                  \
        for (int64_t column = 0; column < columns; column += SQUARE) {                                                 \
            int64_t wide = columns - column < SQUARE ? columns - column : SQUARE;                                      \
            const T *from = in + column * in_stride;                                                                   \
            T *to = out + column;                                                                                      \
            if (rows == SQUARE && wide == SQUARE) {                                                                    \
                T square[SQUARE][SQUARE];                                                                              \
                for (int c = 0; c < SQUARE; c++)                                                                       \
                    for (int r = 0; r < SQUARE; r++)                                                                   \
                        square[r][c] = from[c * in_stride + r];                                                        \
                for (int r = 0; r < SQUARE; r++)                                                                       \
                    memcpy(to + r * out_stride, square[r], sizeof square[r]);                                          \
                continue;                                                                                              \
            }                                                                                                          \
            for (int64_t r = 0; r < rows; r++)                                                                         \
                for (int64_t c = 0; c < wide; c++)                                                                     \
                    to[r * out_stride + c] = from[c * in_stride + r];                                                  \
        }                                                                                                              \
    }
TRANSPOSE(bytes1)
TRANSPOSE(bytes2)
TRANSPOSE(bytes8)
TRANSPOSE(bytes16)

static void transpose_strip(size_t size, const char *in, int64_t in_stride, char *out, int64_t out_stride, int64_t rows,
                            int64_t columns)
{
    switch (size) {
#define CASE(bytes, T)                                                                                                 \
    case bytes:                                                                                                        \
        transpose_##T((const T *)in, in_stride, (T *)out, out_stride, rows, columns);                                  \
        break;
        WEIR_ELEMENT_SIZES(CASE)
#undef CASE
    default:
        for (int64_t r = 0; r < rows; r++)
            copy_strided(size, in + r * (int64_t)size, in_stride, out + r * out_stride * (int64_t)size, 1, columns);
    }
}

/* The plan's rows are strips of SQUARE rows of the matrices. */
static void transpose_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const copy_call *call = context;
    const weir_copy_plan *plan = call->plan;
    int last = plan->rank - 1;
    int64_t size = (int64_t)plan->element.size, rows = plan->dims[last - 1], columns = plan->dims[last];
    int64_t strips = (rows + SQUARE - 1) / SQUARE;
    int64_t end = plan->rows - block * plan->block < plan->block ? plan->rows : (block + 1) * plan->block;
    for (int64_t index = block * plan->block; index < end; index++) {
        int64_t in, out, first = index % strips * SQUARE;
        row_offsets(plan, plan->rank - 2, index / strips, &in, &out);
        out += first * plan->out_strides[last - 1];
        transpose_strip(plan->element.size, call->in + (in + first) * size, plan->in_strides[last],
                        call->out + out * size, plan->out_strides[last - 1],
                        rows - first < SQUARE ? rows - first : SQUARE, columns);
    }
}

void weir_copy_run(const weir_copy_plan *plan, weir_team *team, const void *in, void *out)
{
    if (plan->kind == KIND_NOTHING)
        return;
    copy_call call = {plan, in, out};
    weir_block_function *function = plan->kind == KIND_TRANSPOSE ? transpose_block : rows_block;
    int64_t blocks = (plan->rows + plan->block - 1) / plan->block;
    if (blocks == 1)
        function(&call, 0, 0);
    else
        weir_parallel_for(plan->element.copy == NULL ? team : NULL, blocks, function, &call);
}

void weir_copy_walk(const weir_copy_plan *plan, weir_copy_visit *visit, void *context)
{
    if (plan->elements == 0)
        return;
    int last = plan->rank - 1;
    for (int64_t row = 0; row < plan->elements / plan->dims[last]; row++) {
        int64_t in, out;
        row_offsets(plan, last, row, &in, &out);
        for (int64_t i = 0; i < plan->dims[last]; i++)
            visit(context, out + i * plan->out_strides[last], in + i * plan->in_strides[last]);
    }
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Strides of an array in row-major order. */
static void dense_strides(const weir_shape *shape, int64_t *strides)
{
    int64_t stride = 1;
    for (int axis = shape->rank - 1; axis >= 0; axis--) {
        strides[axis] = stride;
        stride *= shape->dims[axis];
    }
}

static void begin_plan(weir_element element, int rank, weir_copy_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->element = element;
    plan->rank = rank;
}

/* out is dense in row-major order of the plan's dims. */
static void dense_out(weir_copy_plan *plan)
{
    int64_t stride = 1;
    for (int axis = plan->rank - 1; axis >= 0; axis--) {
        plan->out_strides[axis] = stride;
        stride *= plan->dims[axis];
    }
}

/* Exchanges what is read and what is written. */
static void turn_round(weir_copy_plan *plan)
{
    for (int axis = 0; axis < plan->rank; axis++) {
        int64_t stride = plan->in_strides[axis];
        plan->in_strides[axis] = plan->out_strides[axis];
        plan->out_strides[axis] = stride;
    }
    int64_t offset = plan->in_offset;
    plan->in_offset = plan->out_offset;
    plan->out_offset = offset;
}

void weir_transpose_prepare(weir_element element, const weir_shape *x, const int *permutation, weir_copy_plan *plan)
{
    int64_t strides[WEIR_MAX_RANK];
    dense_strides(x, strides);
    begin_plan(element, x->rank, plan);
    for (int axis = 0; axis < x->rank; axis++) {
        plan->dims[axis] = x->dims[permutation[axis]];
        plan->in_strides[axis] = strides[permutation[axis]];
    }
    dense_out(plan);
    weir_copy_prepare(plan);
}

/* A box of an array, dense on the other side. */
static void box(weir_element element, const weir_shape *shape, const int64_t *begin, const int64_t *size,
                weir_copy_plan *plan)
{
    begin_plan(element, shape->rank, plan);
    dense_strides(shape, plan->in_strides);
    for (int axis = 0; axis < shape->rank; axis++) {
        plan->dims[axis] = size[axis];
        plan->in_offset += begin[axis] * plan->in_strides[axis];
    }
    dense_out(plan);
}

void weir_slice_prepare(weir_element element, const weir_shape *x, const int64_t *begin, const int64_t *size,
                        weir_copy_plan *plan)
{
    box(element, x, begin, size, plan);
    weir_copy_prepare(plan);
}

void weir_place_prepare(weir_element element, const weir_shape *out, const int64_t *begin, const int64_t *size,
                        weir_copy_plan *plan)
{
    box(element, out, begin, size, plan);
    turn_round(plan);
    weir_copy_prepare(plan);
}

static void piece(weir_element element, const weir_shape *shape, int axis, int64_t offset, int64_t length,
                  weir_copy_plan *plan)
{
    int64_t begin[WEIR_MAX_RANK] = {0}, size[WEIR_MAX_RANK];
    memcpy(size, shape->dims, sizeof size);
    begin[axis] = offset;
    size[axis] = length;
    box(element, shape, begin, size, plan);
}

void weir_piece_prepare(weir_element element, const weir_shape *x, int axis, int64_t offset, int64_t length,
                        weir_copy_plan *plan)
{
    piece(element, x, axis, offset, length, plan);
    weir_copy_prepare(plan);
}

void weir_join_prepare(weir_element element, const weir_shape *out, int axis, int64_t offset, int64_t length,
                       weir_copy_plan *plan)
{
    piece(element, out, axis, offset, length, plan);
    turn_round(plan);
    weir_copy_prepare(plan);
}

void weir_reverse_prepare(weir_element element, const weir_shape *x, const bool *reversed, weir_copy_plan *plan)
{
    begin_plan(element, x->rank, plan);
    dense_strides(x, plan->in_strides);
    for (int axis = 0; axis < x->rank; axis++) {
        plan->dims[axis] = x->dims[axis];
        if (reversed[axis] && x->dims[axis] > 0) {
            plan->in_offset += (x->dims[axis] - 1) * plan->in_strides[axis];
            plan->in_strides[axis] = -plan->in_strides[axis];
        }
    }
    dense_out(plan);
    weir_copy_prepare(plan);
}

bool weir_broadcast_to_prepare(weir_element element, const weir_shape *x, const weir_shape *out, weir_copy_plan *plan)
{
    int64_t strides[WEIR_MAX_RANK];
    int missing = out->rank - x->rank;
    if (missing < 0)
        return false;
    dense_strides(x, strides);
    begin_plan(element, out->rank, plan);
    for (int axis = 0; axis < out->rank; axis++) {
        int64_t dim = axis < missing ? 1 : x->dims[axis - missing];
        if (dim != out->dims[axis] && dim != 1)
            return false;
        plan->dims[axis] = out->dims[axis];
        plan->in_strides[axis] = dim == 1 ? 0 : strides[axis - missing];
    }
    dense_out(plan);
    weir_copy_prepare(plan);
    return true;
}

void weir_tile_prepare(weir_element element, const weir_shape *x, const int64_t *multiples, weir_copy_plan *plan)
{
    int64_t strides[WEIR_MAX_RANK];
    dense_strides(x, strides);
    begin_plan(element, 2 * x->rank, plan);
    for (int axis = 0; axis < x->rank; axis++) {
        plan->dims[2 * axis] = multiples[axis];
        plan->dims[2 * axis + 1] = x->dims[axis];
        plan->in_strides[2 * axis + 1] = strides[axis];
    }
    dense_out(plan);
    weir_copy_prepare(plan);
}

void weir_strided_slice_prepare(weir_element element, const weir_shape *x, const weir_strided_slice *slice,
                                weir_copy_plan *plan)
{
    int64_t strides[WEIR_MAX_RANK];
    dense_strides(x, strides);
    begin_plan(element, x->rank, plan);
    for (int axis = 0; axis < x->rank; axis++) {
        plan->dims[axis] = slice->counts[axis];
        plan->in_strides[axis] = slice->strides[axis] * strides[axis];
        plan->in_offset += slice->begin[axis] * strides[axis];
    }
    dense_out(plan);
    weir_copy_prepare(plan);
}

void weir_strided_slice_grad_prepare(weir_element element, const weir_shape *x, const weir_strided_slice *slice,
                                     weir_copy_plan *plan)
{
    int64_t strides[WEIR_MAX_RANK];
    dense_strides(x, strides);
    begin_plan(element, x->rank, plan);
    for (int axis = 0; axis < x->rank; axis++) {
        plan->dims[axis] = slice->counts[axis];
        plan->in_strides[axis] = slice->strides[axis] * strides[axis];
        plan->in_offset += slice->begin[axis] * strides[axis];
    }
    dense_out(plan);
    turn_round(plan);
    weir_copy_prepare(plan);
}
