/*
 * Chains of elementwise steps in one pass. 512 elements go through all steps before the next ones, so intermediate
 * values never leave the first cache. The loops are those of the separate kernels, so are the bits.
 */
#include <string.h>

#include "kernel/cpu/elementwise.h"
#include "kernel/cpu/elementwise_loops.h"

#define CHUNK WEIR_PROGRAM_BLOCK
#define BLOCK (CHUNK * 16) /* elements that a thread takes */
#define NO_BUFFER 255

/* ---- prepare ----------------------------------------------------------------------------------------------------- */

static bool check_unary(weir_elementwise_program *program, int index)
{
    const weir_program_step *step = &program->steps[index];
    int value = program->inputs + index;
    if (step->op >= WEIR_UNARY_COUNT)
        return false;
    bool boolean = program->boolean[step->a];
    weir_unary_op op = (weir_unary_op)step->op;
    program->loops[index].unary = weir_unary_loop_find(op, boolean ? WEIR_BOOL : WEIR_FLOAT);
    program->scalar[value] = program->scalar[step->a];
    program->boolean[value] =
        boolean || op == WEIR_UNARY_IS_NAN || op == WEIR_UNARY_IS_INF || op == WEIR_UNARY_IS_FINITE;
    return program->loops[index].unary != NULL;
}

static bool check_binary(weir_elementwise_program *program, int index)
{
    const weir_program_step *step = &program->steps[index];
    int value = program->inputs + index;
    if (step->op >= WEIR_BINARY_COUNT || step->b >= value || program->boolean[step->a] != program->boolean[step->b])
        return false;
    weir_dtype type = program->boolean[step->a] ? WEIR_BOOL : WEIR_FLOAT;
    program->loops[index].binary = weir_binary_loops_find((weir_binary_op)step->op, type);
    program->scalar[value] = program->scalar[step->a] && program->scalar[step->b];
    program->boolean[value] = weir_binary_out_type((weir_binary_op)step->op, type) == WEIR_BOOL;
    return program->loops[index].binary != NULL;
}

static bool check_select(weir_elementwise_program *program, int index)
{
    const weir_program_step *step = &program->steps[index];
    int value = program->inputs + index;
    if (step->b >= value || step->condition >= value || !program->boolean[step->condition] ||
        program->boolean[step->a] != program->boolean[step->b])
        return false;
    program->scalar[value] = program->scalar[step->a] && program->scalar[step->b] && program->scalar[step->condition];
    program->boolean[value] = program->boolean[step->a];
    return true;
}

static bool check_step(weir_elementwise_program *program, int index)
{
    const weir_program_step *step = &program->steps[index];
    if (step->a >= program->inputs + index)
        return false;
    switch (step->kind) {
    case WEIR_PROGRAM_UNARY:
        return check_unary(program, index);
    case WEIR_PROGRAM_BINARY:
        return check_binary(program, index);
    case WEIR_PROGRAM_SELECT:
        return check_select(program, index);
    default:
        return false;
    }
}

static bool reads(const weir_program_step *step, int value)
{
    return step->a == value || (step->kind != WEIR_PROGRAM_UNARY && step->b == value) ||
           (step->kind == WEIR_PROGRAM_SELECT && step->condition == value);
}

/* The last step that reads a value; -1: none. */
static int last_use(const weir_elementwise_program *program, int value)
{
    for (int index = program->count - 1; index >= 0; index--)
        if (reads(&program->steps[index], value))
            return index;
    return -1;
}

/* Gives every value that needs one a buffer, and takes it back after the value's last use. */
static void give_buffers(weir_elementwise_program *program)
{
    int busy_until[WEIR_PROGRAM_VALUES]; /* step up to which a buffer is taken */
    int full_read = -1;                  /* the last step that reads an input of n elements */
    program->buffers = 0;
    for (int value = 0; value < program->inputs; value++) {
        int use = last_use(program, value);
        if (program->input_kinds[value] == WEIR_PROGRAM_FULL && use > full_read)
            full_read = use;
        program->buffer[value] = NO_BUFFER;
        if (program->input_kinds[value] == WEIR_PROGRAM_ROW) {
            busy_until[program->buffers] = use;
            program->buffer[value] = (uint8_t)program->buffers++;
        }
    }
    for (int index = 0; index < program->count; index++) {
        int value = program->inputs + index;
        const weir_program_step *step = &program->steps[index];
        program->direct[index] = step->output && !program->scalar[value] && index >= full_read;
        program->buffer[value] = NO_BUFFER;
        if (program->scalar[value] || program->direct[index])
            continue;
        int slot = 0;
        while (slot < program->buffers && busy_until[slot] >= index)
            slot++;
        if (slot == program->buffers)
            program->buffers++;
        program->buffer[value] = (uint8_t)slot;
        /* An output that waits for the end of the block keeps its buffer. */
        busy_until[slot] = step->output ? program->count : last_use(program, value);
    }
}

bool weir_program_prepare(weir_elementwise_program *program)
{
    if (program->inputs < 1 || program->inputs > WEIR_PROGRAM_INPUTS || program->count < 1 ||
        program->count > WEIR_PROGRAM_STEPS)
        return false;
    program->outputs = 0;
    for (int value = 0; value < program->inputs; value++) {
        program->scalar[value] = program->input_kinds[value] == WEIR_PROGRAM_SCALAR;
        program->boolean[value] = program->input_bool[value];
    }
    for (int index = 0; index < program->count; index++) {
        if (!check_step(program, index))
            return false;
        program->outputs += program->steps[index].output;
    }
    give_buffers(program);
    return program->outputs > 0;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

typedef struct program_call {
    const weir_elementwise_program *program;
    int64_t n, columns;
    const void *const *inputs;
    void *const *outputs;
    float scalars[WEIR_PROGRAM_VALUES]; /* or a bool in the first byte */
} program_call;

/* One chunk's values. */
typedef struct program_chunk {
    const program_call *call;
    float (*buffers)[CHUNK];
    float *spare; /* one more buffer, for spread scalars */
    int64_t begin, n;
    char *values[WEIR_PROGRAM_VALUES];
} program_chunk;

static size_t value_size(const weir_elementwise_program *program, int value)
{
    return program->boolean[value] ? sizeof(bool) : sizeof(float);
}

static void fill_value(char *to, const char *from, size_t size, int64_t n)
{
    if (size == 1) {
        memset(to, *from, (size_t)n);
        return;
    }
    float value;
    memcpy(&value, from, sizeof value);
    for (int64_t i = 0; i < n; i++)
        ((float *)to)[i] = value;
}

static void run_binary(const program_chunk *chunk, int index, const char *a, const char *b, char *out)
{
    const weir_elementwise_program *program = chunk->call->program;
    const weir_program_step *step = &program->steps[index];
    weir_binary_loop *const *loops = program->loops[index].binary;
    int sides = WEIR_SIDES_BOTH;
    if (!program->scalar[program->inputs + index])
        sides = program->scalar[step->b]   ? WEIR_SIDES_LEFT
                : program->scalar[step->a] ? WEIR_SIDES_RIGHT
                                           : WEIR_SIDES_BOTH;
    if (sides != WEIR_SIDES_BOTH && loops[sides] == NULL) {
        size_t size = value_size(program, step->a);
        fill_value((char *)chunk->spare, sides == WEIR_SIDES_LEFT ? b : a, size, chunk->n);
        if (sides == WEIR_SIDES_LEFT)
            b = (const char *)chunk->spare;
        else
            a = (const char *)chunk->spare;
        sides = WEIR_SIDES_BOTH;
    }
    (void)loops[sides](a, b, out, chunk->n);
}

static void run_step(const program_chunk *chunk, int index)
{
    const weir_elementwise_program *program = chunk->call->program;
    const weir_program_step *step = &program->steps[index];
    const char *a = chunk->values[step->a];
    char *out = chunk->values[program->inputs + index];
    if (step->kind == WEIR_PROGRAM_UNARY) {
        program->loops[index].unary(a, out, chunk->n);
    } else if (step->kind == WEIR_PROGRAM_BINARY) {
        run_binary(chunk, index, a, chunk->values[step->b], out);
    } else {
        int64_t steps[3] = {!program->scalar[step->condition], !program->scalar[step->a], !program->scalar[step->b]};
        int32_t size = (int32_t)value_size(program, step->a);
        weir_select_row(size, (const bool *)chunk->values[step->condition], a, chunk->values[step->b], out, chunk->n,
                        steps);
    }
}

/* Elements begin .. of the endless repetition of a row. */
static void repeat_row(const char *row, int64_t columns, int64_t begin, size_t size, char *to, int64_t n)
{
    int64_t at = begin % columns;
    while (n > 0) {
        int64_t count = columns - at < n ? columns - at : n;
        memcpy(to, row + (size_t)at * size, (size_t)count * size);
        to += (size_t)count * size;
        n -= count;
        at = 0;
    }
}

/* Finds where the chunk's values are and brings rows in. */
static void place_values(program_chunk *chunk)
{
    const program_call *call = chunk->call;
    const weir_elementwise_program *program = call->program;
    for (int value = 0; value < program->inputs; value++) {
        size_t size = value_size(program, value);
        const char *input = call->inputs[value];
        if (program->input_kinds[value] == WEIR_PROGRAM_FULL) {
            chunk->values[value] = (char *)input + (size_t)chunk->begin * size;
        } else if (program->input_kinds[value] == WEIR_PROGRAM_ROW) {
            chunk->values[value] = (char *)chunk->buffers[program->buffer[value]];
            repeat_row(input, call->columns, chunk->begin, size, chunk->values[value], chunk->n);
        } else {
            chunk->values[value] = (char *)input;
        }
    }
    int output = 0;
    for (int index = 0; index < program->count; index++) {
        int value = program->inputs + index;
        if (program->scalar[value])
            chunk->values[value] = (char *)&call->scalars[value];
        else if (program->direct[index])
            chunk->values[value] = (char *)call->outputs[output] + (size_t)chunk->begin * value_size(program, value);
        else
            chunk->values[value] = (char *)chunk->buffers[program->buffer[value]];
        output += program->steps[index].output;
    }
}

/* Outputs that were kept back, and those that are one value. */
static void store_outputs(const program_chunk *chunk)
{
    const program_call *call = chunk->call;
    const weir_elementwise_program *program = call->program;
    int output = 0;
    for (int index = 0; index < program->count; index++) {
        int value = program->inputs + index;
        size_t size = value_size(program, value);
        if (!program->steps[index].output)
            continue;
        char *to = (char *)call->outputs[output++] + (size_t)chunk->begin * size;
        if (program->scalar[value])
            fill_value(to, chunk->values[value], size, chunk->n);
        else if (!program->direct[index])
            memcpy(to, chunk->values[value], (size_t)chunk->n * size);
    }
}

static void program_block(void *context, int64_t block, int lane)
{
    (void)lane;
    const program_call *call = context;
    const weir_elementwise_program *program = call->program;
    _Alignas(64) float buffers[WEIR_PROGRAM_VALUES + 1][CHUNK];
    program_chunk chunk = {.call = call, .buffers = buffers, .spare = buffers[WEIR_PROGRAM_VALUES]};
    int64_t end = call->n - block * BLOCK < BLOCK ? call->n : (block + 1) * BLOCK;
    for (int64_t begin = block * BLOCK; begin < end; begin += CHUNK) {
        chunk.begin = begin;
        chunk.n = end - begin < CHUNK ? end - begin : CHUNK;
        place_values(&chunk);
        for (int index = 0; index < program->count; index++)
            if (!program->scalar[program->inputs + index])
                run_step(&chunk, index);
        store_outputs(&chunk);
    }
}

/* Steps on scalars alone are computed once. */
static void compute_scalars(program_call *call)
{
    const weir_elementwise_program *program = call->program;
    float spare[1];
    program_chunk chunk = {.call = call, .spare = spare, .n = 1};
    for (int value = 0; value < program->inputs; value++)
        chunk.values[value] = (char *)call->inputs[value];
    for (int index = 0; index < program->count; index++) {
        chunk.values[program->inputs + index] = (char *)&call->scalars[program->inputs + index];
        if (program->scalar[program->inputs + index])
            run_step(&chunk, index);
    }
}

void weir_program_run(const weir_elementwise_program *program, weir_team *team, int64_t n, int64_t columns,
                      const void *const *inputs, void *const *outputs)
{
    program_call call = {.program = program, .n = n, .columns = columns, .inputs = inputs, .outputs = outputs};
    int64_t blocks = (n + BLOCK - 1) / BLOCK;
    if (blocks == 0)
        return;
    compute_scalars(&call);
    if (blocks == 1)
        program_block(&call, 0, 0);
    else
        weir_parallel_for(team, blocks, program_block, &call);
}
