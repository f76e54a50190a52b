/*
 * Moving elements other than by strides: filling, joining and splitting many arrays at once, gathering by index.
 */
#include <string.h>

#include "kernel/cpu/array.h"
#include "kernel/cpu/array_element.h"

#define BLOCK_BYTES 65536 /* of a block */

/* n elements one after another. */
static void copy_run(const weir_element *element, void *out, const void *in, int64_t n)
{
    if (element->copy != NULL)
        element->copy(element->context, out, 1, in, 1, n);
    else
        memcpy(out, in, (size_t)n * element->size);
}

/* n elements from one. */
static void repeat_run(const weir_element *element, void *out, const void *in, int64_t n)
{
    if (element->copy != NULL)
        element->copy(element->context, out, 1, in, 0, n);
    else
        weir_element_repeat(element->size, in, out, n);
}

/* Shares blocks out; objects are copied by the calling thread alone. */
static void share(const weir_element *element, weir_team *team, int64_t blocks, weir_block_function *function,
                  void *context)
{
    if (blocks == 1)
        function(context, 0, 0);
    else if (blocks > 1)
        weir_parallel_for(element->copy == NULL ? team : NULL, blocks, function, context);
}

/* Things of so many bytes that make a block. */
static int64_t per_block(int64_t bytes)
{
    return bytes > 0 && BLOCK_BYTES / bytes > 0 ? BLOCK_BYTES / bytes : 1;
}

/* ---- fill -------------------------------------------------------------------------------------------------------- */

typedef struct fill_call {
    const weir_element *element;
    const void *value;
    int64_t n, block;
    char *out;
} fill_call;

static void fill_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const fill_call *call = context;
    int64_t begin = block * call->block;
    int64_t n = call->n - begin < call->block ? call->n - begin : call->block;
    repeat_run(call->element, call->out + (size_t)begin * call->element->size, call->value, n);
}

void weir_fill_elements(weir_element element, weir_team *team, const void *value, int64_t n, void *out)
{
    int64_t block = per_block((int64_t)element.size);
    fill_call call = {&element, value, n, block, out};
    share(&element, team, (n + block - 1) / block, fill_block, &call);
}

/* ---- joining and splitting --------------------------------------------------------------------------------------- */

typedef struct join_call {
    const weir_element *element;
    int count;
    const void *const *inputs; /* joining */
    void *const *outputs;      /* splitting */
    const int64_t *lengths;
    int64_t total; /* of the lengths */
    int64_t outer, block;
    char *whole;
} join_call;

static void join_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const join_call *call = context;
    size_t size = call->element->size;
    int64_t end = (block + 1) * call->block < call->outer ? (block + 1) * call->block : call->outer;
    for (int64_t row = block * call->block; row < end; row++) {
        char *at = call->whole + (size_t)(row * call->total) * size;
        for (int i = 0; i < call->count; i++) {
            size_t offset = (size_t)(row * call->lengths[i]) * size;
            if (call->inputs != NULL)
                copy_run(call->element, at, (const char *)call->inputs[i] + offset, call->lengths[i]);
            else
                copy_run(call->element, (char *)call->outputs[i] + offset, at, call->lengths[i]);
            at += (size_t)call->lengths[i] * size;
        }
    }
}

/* One row of big pieces: cut into blocks by bytes. */
static void join_long(const join_call *call, weir_team *team)
{
    char *at = call->whole;
    for (int i = 0; i < call->count; i++) {
        size_t bytes = (size_t)call->lengths[i] * call->element->size;
        weir_copy_plan plan = {.element = *call->element, .rank = 1, .dims = {call->lengths[i]}};
        plan.in_strides[0] = plan.out_strides[0] = 1;
        if (call->element->copy == NULL) { /* as lines of bytes, several to a block */
            int64_t line = bytes % 64 == 0 ? 4096 : 1;
            while (line > 1 && bytes % (size_t)line != 0)
                line /= 2;
            if (line > 1) {
                plan.element.size = (size_t)line;
                plan.dims[0] = (int64_t)(bytes / (size_t)line);
            }
        }
        weir_copy_prepare(&plan);
        if (call->inputs != NULL)
            weir_copy_run(&plan, team, call->inputs[i], at);
        else
            weir_copy_run(&plan, team, at, call->outputs[i]);
        at += bytes;
    }
}

static void join(join_call *call, weir_team *team)
{
    for (int i = 0; i < call->count; i++)
        call->total += call->lengths[i];
    call->block = per_block(call->total * (int64_t)call->element->size);
    if (call->total == 0 || call->outer == 0)
        return;
    if (call->outer == 1)
        join_long(call, team);
    else
        share(call->element, team, (call->outer + call->block - 1) / call->block, join_block, call);
}

void weir_concat_elements(weir_element element, weir_team *team, int count, const void *const *inputs,
                          const int64_t *lengths, int64_t outer, void *out)
{
    join_call call = {
        .element = &element, .count = count, .inputs = inputs, .lengths = lengths, .outer = outer, .whole = out};
    join(&call, team);
}

void weir_split_elements(weir_element element, weir_team *team, int count, const void *in, const int64_t *lengths,
                         int64_t outer, void *const *outputs)
{
    join_call call = {.element = &element,
                      .count = count,
                      .outputs = outputs,
                      .lengths = lengths,
                      .outer = outer,
                      .whole = (char *)in}; /* only read */
    join(&call, team);
}

/* ---- gather ------------------------------------------------------------------------------------------------------ */

static int64_t index_at(weir_dtype type, const void *indices, int64_t i)
{
    switch (type) {
    case WEIR_UINT8:
        return ((const uint8_t *)indices)[i];
    case WEIR_INT8:
        return ((const int8_t *)indices)[i];
    case WEIR_INT16:
        return ((const int16_t *)indices)[i];
    case WEIR_INT32:
        return ((const int32_t *)indices)[i];
    default:
        return ((const int64_t *)indices)[i];
    }
}

typedef struct gather_call {
    const weir_element *element;
    const char *params;
    int64_t outer, size, inner;
    weir_dtype type;
    const void *indices;
    int64_t count, slices, block;
    char *out;
} gather_call;

static void gather_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const gather_call *call = context;
    size_t bytes = (size_t)call->inner * call->element->size;
    int64_t end = (block + 1) * call->block < call->slices ? (block + 1) * call->block : call->slices;
    for (int64_t slice = block * call->block; slice < end; slice++) {
        int64_t row = slice / call->count; /* of [batch, outer] */
        int64_t at = index_at(call->type, call->indices, row / call->outer * call->count + slice % call->count);
        const char *from = call->params + (size_t)(row * call->size + at) * bytes;
        char *to = call->out + (size_t)slice * bytes;
        if (call->element->copy == NULL && call->inner == 1 && bytes == 4)
            *(bytes4 *)to = *(const bytes4 *)from;
        else
            copy_run(call->element, to, from, call->inner);
    }
}

int64_t weir_gather_elements(weir_element element, weir_team *team, const void *params, int64_t batch, int64_t outer,
                             int64_t size, int64_t inner, weir_dtype index_type, const void *indices, int64_t count,
                             void *out)
{
    for (int64_t i = 0; i < batch * count; i++) {
        int64_t index = index_at(index_type, indices, i);
        if (index < 0 || index >= size)
            return i;
    }
    int64_t block = per_block(inner * (int64_t)element.size + 8);
    gather_call call = {&element, params, outer, size, inner, index_type, indices, count, batch * outer * count,
                        block,    out};
    if (inner > 0)
        share(&element, team, (call.slices + block - 1) / block, gather_block, &call);
    return -1;
}

/* ---- one-hot ----------------------------------------------------------------------------------------------------- */

void weir_one_hot_elements(weir_element element, weir_team *team, weir_dtype index_type, const void *indices,
                           int64_t prefix, int64_t depth, int64_t suffix, const void *on, const void *off, void *out)
{
    weir_fill_elements(element, team, off, prefix * depth * suffix, out);
    for (int64_t i = 0; i < prefix * suffix; i++) {
        int64_t index = index_at(index_type, indices, i);
        if (index < 0 || index >= depth)
            continue;
        int64_t at = (i / suffix * depth + index) * suffix + i % suffix;
        copy_run(&element, (char *)out + (size_t)at * element.size, on, 1);
    }
}

/* ---- dynamic stitch ---------------------------------------------------------------------------------------------- */

int64_t weir_stitch_rows(int count, const int32_t *const *indices, const int64_t *counts)
{
    int64_t rows = 0;
    for (int i = 0; i < count; i++)
        for (int64_t k = 0; k < counts[i]; k++)
            rows = indices[i][k] >= rows ? (int64_t)indices[i][k] + 1 : rows;
    return rows;
}

int64_t weir_stitch_elements(weir_element element, int count, const int32_t *const *indices, const int64_t *counts,
                             const void *const *inputs, int64_t row_elements, int64_t rows, void *out)
{
    size_t bytes = (size_t)row_elements * element.size;
    int64_t position = 0;
    for (int i = 0; i < count; i++)
        for (int64_t k = 0; k < counts[i]; k++, position++) {
            if (indices[i][k] < 0 || indices[i][k] >= rows)
                return position;
            copy_run(&element, (char *)out + (size_t)indices[i][k] * bytes, (const char *)inputs[i] + (size_t)k * bytes,
                     row_elements);
        }
    return -1;
}
