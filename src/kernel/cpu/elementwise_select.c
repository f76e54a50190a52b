/*
 * Selection of two by a third, all three broadcast (SelectV2; a Select node's condition is first made to broadcast).
 */
#include <string.h>

#include "kernel/cpu/array_element.h"
#include "kernel/cpu/elementwise.h"
#include "kernel/cpu/elementwise_loops.h"

#define BLOCK 16384 /* elements of a block */

weir_shape weir_select_rows(const weir_shape *condition, const weir_shape *x)
{
    weir_shape shape = *condition;
    if (condition->rank != 1 || x->rank <= 1)
        return shape;
    shape.rank = x->rank;
    for (int axis = 1; axis < x->rank; axis++)
        shape.dims[axis] = 1;
    return shape;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The element's bytes matter only by number: steps are 0 or 1. Conditions are read as bytes, 0 or 1, which compilers
 * take into vectors where they do not bool. PICK chooses without a branch where T has operators. */
#define PICK_MASKED(T, condition, yes, no) (T)(((yes) & (T)(0 - (T)(condition))) | ((no) & (T)((T)(condition)-1)))
#define PICK_BRANCH(T, condition, yes, no) ((condition) ? (yes) : (no))

#define SELECT(T, PICK)                                                                                                \
    static void select_##T(const uint8_t *condition, const T *a, const T *b, T *out, int64_t n, const int64_t *steps)  \
    {                                                                                                                  \
        if (steps[0] == 0) {                                                                                           \
            const T *from = *condition ? a : b;                                                                        \
            int64_t step = *condition ? steps[1] : steps[2];                                                           \
            for (int64_t i = 0; i < n; i++)                                                                            \
                out[i] = from[i * step];                                                                               \
        } else if (steps[1] == 1 && steps[2] == 1) {                                                                   \
            for (int64_t i = 0; i < n; i++)                                                                            \
                out[i] = PICK(T, condition[i], a[i], b[i]);                                                            \
        } else if (steps[1] == 1) {                                                                                    \
            T other = *b;                                                                                              \
            for (int64_t i = 0; i < n; i++)                                                                            \
                out[i] = PICK(T, condition[i], a[i], other);                                                           \
        } else if (steps[2] == 1) {                                                                                    \
            T other = *a;                                                                                              \
            for (int64_t i = 0; i < n; i++)                                                                            \
                out[i] = PICK(T, condition[i], other, b[i]);                                                           \
        } else {                                                                                                       \
            T yes = *a, no = *b;                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                                            \
                out[i] = PICK(T, condition[i], yes, no);                                                               \
        }                                                                                                              \
    }

SELECT(bytes1, PICK_MASKED)
SELECT(bytes2, PICK_MASKED)
SELECT(bytes4, PICK_MASKED)
SELECT(bytes8, PICK_MASKED)
SELECT(bytes16, PICK_BRANCH)

void weir_select_row(int32_t size, const bool *condition, const char *a, const char *b, char *out, int64_t n,
                     const int64_t *steps)
{
    switch (size) {
#define CASE(bytes, T)                                                                                                 \
    case bytes:                                                                                                        \
        select_##T((const uint8_t *)condition, (const T *)a, (const T *)b, (T *)out, n, steps);                        \
        break;
        WEIR_ELEMENT_SIZES(CASE)
#undef CASE
    default:
        for (int64_t i = 0; i < n; i++) {
            const char *from = condition[i * steps[0]] ? a + i * steps[1] * size : b + i * steps[2] * size;
            memcpy(out + i * size, from, (size_t)size);
        }
    }
}

/* ---- run functions ----------------------------------------------------------------------------------------------- */

typedef struct select_call {
    const weir_select_plan *plan;
    const bool *condition;
    const char *a, *b;
    char *out;
} select_call;

static int64_t row_offset(const weir_select_plan *plan, int input, int64_t index)
{
    int64_t offset = 0;
    for (int axis = plan->rank - 1; axis >= 0; axis--) {
        offset += index % plan->dims[axis] * plan->row_strides[input][axis];
        index /= plan->dims[axis];
    }
    return offset;
}

static void line_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const select_call *call = context;
    const weir_select_plan *plan = call->plan;
    int64_t begin = block * plan->block;
    int64_t n = plan->columns - begin < plan->block ? plan->columns - begin : plan->block;
    weir_select_row(plan->size, call->condition + begin * plan->strides[0],
                    call->a + begin * plan->strides[1] * plan->size, call->b + begin * plan->strides[2] * plan->size,
                    call->out + begin * plan->size, n, plan->strides);
}

static void rows_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const select_call *call = context;
    const weir_select_plan *plan = call->plan;
    int64_t begin = block * plan->block;
    int64_t end = plan->rows - begin < plan->block ? plan->rows : begin + plan->block;
    for (int64_t index = begin; index < end; index++)
        weir_select_row(plan->size, call->condition + row_offset(plan, 0, index),
                        call->a + row_offset(plan, 1, index) * plan->size,
                        call->b + row_offset(plan, 2, index) * plan->size,
                        call->out + index * plan->columns * plan->size, plan->columns, plan->strides);
}

static void run_blocks(const weir_select_plan *plan, weir_team *team, const bool *condition, const void *a,
                       const void *b, void *out)
{
    select_call call = {plan, condition, a, b, out};
    weir_block_function *function = plan->rank == 0 ? line_block : rows_block;
    int64_t all = plan->rank == 0 ? plan->columns : plan->rows;
    int64_t blocks = (all + plan->block - 1) / plan->block;
    if (plan->elements == 0)
        return;
    if (blocks == 1)
        function(&call, 0, 0);
    else
        weir_parallel_for(team, blocks, function, &call);
}

/* ---- prepare ----------------------------------------------------------------------------------------------------- */

/* The three strides of an axis counted from the end, and its size; steps grow by the inputs' sizes. */
static int64_t axis_strides(const weir_shape *const shapes[3], int from_end, int64_t steps[3], int64_t strides[3])
{
    int64_t dim = 1;
    for (int i = 0; i < 3; i++) {
        int axis = shapes[i]->rank - 1 - from_end;
        int64_t own = axis < 0 ? 1 : shapes[i]->dims[axis];
        strides[i] = own == 1 ? 0 : steps[i];
        steps[i] *= own;
        if (own != 1)
            dim = own;
    }
    return dim;
}

bool weir_select_prepare(size_t size, const weir_shape *condition, const weir_shape *a, const weir_shape *b,
                         weir_select_plan *plan)
{
    weir_shape both, out;
    if (!weir_broadcast_shape(a, b, &both) || !weir_broadcast_shape(condition, &both, &out))
        return false;
    const weir_shape *const shapes[3] = {condition, a, b};
    int64_t dims[WEIR_MAX_RANK + 1] = {1}, strides[WEIR_MAX_RANK + 1][3] = {{0}}, steps[3] = {1, 1, 1};
    int count = 0;
    for (int from_end = 0; from_end < out.rank; from_end++) {
        int64_t dim = axis_strides(shapes, from_end, steps, strides[count]);
        if (dim == 1)
            continue;
        bool merges = count > 0;
        for (int i = 0; i < 3 && merges; i++)
            merges = strides[count][i] == strides[count - 1][i] * dims[count - 1];
        if (merges)
            dims[count - 1] *= dim;
        else
            dims[count++] = dim;
    }
    memset(plan, 0, sizeof *plan);
    plan->run = run_blocks;
    plan->size = (int32_t)size;
    plan->elements = weir_kernel_elements(&out);
    plan->columns = dims[0];
    plan->rows = 1;
    plan->rank = count > 0 ? count - 1 : 0;
    for (int i = 0; i < 3; i++)
        plan->strides[i] = count > 0 ? strides[0][i] : 0;
    for (int axis = 0; axis < plan->rank; axis++) {
        plan->dims[axis] = dims[plan->rank - axis];
        plan->rows *= plan->dims[axis];
        for (int i = 0; i < 3; i++)
            plan->row_strides[i][axis] = strides[plan->rank - axis][i];
    }
    plan->block = plan->rank == 0 ? BLOCK : plan->columns == 0 ? 1 : BLOCK / plan->columns + 1;
    return true;
}

void weir_select_walk(const weir_select_plan *plan, const bool *condition, weir_select_take *take, void *context)
{
    if (plan->elements == 0)
        return;
    for (int64_t row = 0; row < plan->rows; row++) {
        int64_t offsets[3];
        for (int i = 0; i < 3; i++)
            offsets[i] = row_offset(plan, i, row);
        for (int64_t i = 0; i < plan->columns; i++) {
            bool from_a = condition[offsets[0] + i * plan->strides[0]];
            int64_t index = from_a ? offsets[1] + i * plan->strides[1] : offsets[2] + i * plan->strides[2];
            take(context, row * plan->columns + i, from_a, index);
        }
    }
}
