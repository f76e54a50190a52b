/*
 * Kernels of random numbers. A generator belongs to a node of a session: each run takes the steps that it needs off it
 * in one atomic act, so that runs at the same time draw different numbers, and the same run again the next ones.
 */
#include <string.h>
#include <sys/random.h>

#include <stdatomic.h>

#include "base/memory.h"
#include "kernel/cpu/random.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

static weir_status fail_type(const weir_node *node, weir_dtype dtype)
{
    return weir_fail(WEIR_UNIMPLEMENTED, "%s has no kernel for %s", weir_node_op(node), weir_dtype_name(dtype));
}

/* ---- Generators ---- */

typedef struct generator {
    weir_philox start;
    _Atomic uint64_t steps; /* taken so far */
} generator;

/* Two zeros as seeds mean: no two sessions alike. */
static void init_generator(void *state, const weir_node *node)
{
    generator *made = state;
    int64_t seeds[2] = {weir_node_int(node, "seed", 0), weir_node_int(node, "seed2", 0)};
    if (seeds[0] == 0 && seeds[1] == 0 && getrandom(seeds, sizeof seeds, 0) != (ssize_t)sizeof seeds)
        seeds[0] = (int64_t)(uintptr_t)state; /* no entropy yet: the address has a little */
    made->start = weir_philox_seeded(seeds[0], seeds[1]);
    atomic_init(&made->steps, 0);
}

static weir_status find_generator(weir_bind *bind, generator **out)
{
    void *state = NULL;
    WEIR_TRY(weir_node_state(bind->session, bind->node, sizeof(generator), init_generator, &state));
    *out = state;
    return WEIR_STATUS_OK;
}

/* The generator as it was before the steps of this run. */
static weir_philox take_steps(generator *from, uint64_t steps)
{
    weir_philox base = from->start;
    weir_philox_skip(&base, atomic_fetch_add(&from->steps, steps));
    return base;
}

/* ---- Tensors of random numbers ---- */

typedef struct random_state {
    generator *generator;
    weir_random_function *function;
    weir_dtype dtype;
    int64_t elements;
} random_state;

static weir_status read_shape(const weir_argument *input, weir_shape *out)
{
    const weir_tensor *dims = input->constant;
    if (input->shape.rank != 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "shape must be a vector of {int32,int64}, got shape %s",
                         weir_shape_text(input->shape, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
    if (dims->elements > WEIR_MAX_RANK)
        return weir_fail(WEIR_INVALID_ARGUMENT, "shape has %lld dimensions: at most %d", (long long)dims->elements,
                         WEIR_MAX_RANK);
    *out = (weir_shape){.rank = (int)dims->elements};
    for (int i = 0; i < out->rank; i++) {
        out->dims[i] = weir_tensor_get_int(dims, i);
        if (out->dims[i] < 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)out->dims[i]);
    }
    return WEIR_STATUS_OK;
}

static weir_status bind_random(weir_bind *bind, weir_random_function *function, weir_dtype dtype,
                               weir_run_function *run)
{
    random_state *state;
    size_t size_bytes;
    WEIR_TRY(weir_bind_state(bind, &state));
    WEIR_TRY(read_shape(&bind->inputs[0], &bind->outputs[0]));
    WEIR_TRY(weir_tensor_extent(dtype, &bind->outputs[0], &state->elements, &size_bytes));
    WEIR_TRY(find_generator(bind, &state->generator));
    state->function = function;
    state->dtype = dtype;
    bind->run = run;
    bind->state = state;
    return WEIR_STATUS_OK;
}

static weir_status run_fill(const void *pointer, void *const *arguments, weir_context *context)
{
    const random_state *state = pointer;
    weir_philox base = take_steps(state->generator, weir_random_steps(state->elements));
    state->function(context->team, &base, state->elements, arguments[1]);
    return WEIR_STATUS_OK;
}

static weir_status bind_fill(weir_bind *bind, weir_random_function *(*find)(weir_dtype))
{
    weir_dtype dtype = weir_node_type(bind->node, "dtype");
    weir_random_function *function = find(dtype);
    return function != NULL ? bind_random(bind, function, dtype, run_fill) : fail_type(bind->node, dtype);
}

static weir_status bind_uniform(weir_bind *bind)
{
    return bind_fill(bind, weir_random_uniform_find);
}

static weir_status bind_normal(weir_bind *bind)
{
    return bind_fill(bind, weir_random_normal_find);
}

static weir_status bind_truncated_normal(weir_bind *bind)
{
    return bind_fill(bind, weir_random_truncated_normal_find);
}

static weir_status run_integers(const void *pointer, void *const *arguments, weir_context *context)
{
    const random_state *state = pointer;
    bool is_long = state->dtype == WEIR_INT64;
    int64_t low = is_long ? *(const int64_t *)arguments[1] : *(const int32_t *)arguments[1];
    int64_t high = is_long ? *(const int64_t *)arguments[2] : *(const int32_t *)arguments[2];
    if (state->elements == 0)
        return WEIR_STATUS_OK;
    if (low >= high)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Need minval < maxval, got %lld >= %lld", (long long)low,
                         (long long)high);
    weir_philox base = take_steps(state->generator, weir_random_steps(state->elements));
    if (is_long)
        weir_random_int64(context->team, &base, low, high, state->elements, arguments[3]);
    else
        weir_random_int32(context->team, &base, (int32_t)low, (int32_t)high, state->elements, arguments[3]);
    return WEIR_STATUS_OK;
}

static weir_status bind_integers(weir_bind *bind)
{
    for (int i = 1; i <= 2; i++) {
        if (bind->inputs[i].shape.rank != 0)
            return weir_fail(
                WEIR_INVALID_ARGUMENT, "%s must be 0-D, got shape %s", i == 1 ? "minval" : "maxval",
                weir_shape_text(bind->inputs[i].shape, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
    }
    return bind_random(bind, NULL, weir_node_type(bind->node, "Tout"), run_integers);
}

/* ---- RandomShuffle: rows in another order ---- */

typedef struct shuffle_state {
    generator *generator;
    int64_t rows;
    size_t row_size;
} shuffle_state;

/* The next order of n rows. TensorFlow draws nothing for a tensor of at most one element. */
static void draw_order(generator *from, int64_t rows, int64_t *order)
{
    weir_philox base = take_steps(from, weir_random_shuffle_steps(rows));
    weir_random_permutation(&base, rows, order);
}

/* The order stands in scratch memory, argument 2. */
static weir_status run_shuffle(const void *pointer, void *const *arguments, weir_context *context)
{
    const shuffle_state *state = pointer;
    const char *in = arguments[0];
    char *out = arguments[1];
    const int64_t *order = arguments[2];
    (void)context;
    draw_order(state->generator, state->rows, arguments[2]);
    for (int64_t i = 0; i < state->rows; i++)
        memcpy(out + (size_t)i * state->row_size, in + (size_t)order[i] * state->row_size, state->row_size);
    return WEIR_STATUS_OK;
}

static weir_status bind_shuffle(weir_bind *bind)
{
    const weir_shape *x = &bind->inputs[0].shape;
    int64_t elements = weir_shape_elements(*x);
    bind->outputs[0] = *x;
    if (elements <= 1 || x->dims[0] <= 1) {
        bind->same_memory[0] = 0;
        return WEIR_STATUS_OK;
    }
    shuffle_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    WEIR_TRY(find_generator(bind, &state->generator));
    state->rows = x->dims[0];
    state->row_size = (size_t)(elements / state->rows) * weir_dtype_size(weir_dtype_base(bind->inputs[0].dtype));
    bind->scratch_size = (size_t)state->rows * sizeof(int64_t);
    bind->run = run_shuffle;
    bind->state = state;
    return WEIR_STATUS_OK;
}

static weir_status copy_rows(const weir_tensor *from, const int64_t *order, int64_t rows, weir_tensor *to)
{
    int64_t length = from->elements / rows;
    size_t row_size = (size_t)length * weir_dtype_stride(from->dtype);
    for (int64_t i = 0; i < rows; i++)
        WEIR_TRY(weir_elements_copy(from->dtype, (char *)to->data + (size_t)i * row_size,
                                    (const char *)from->data + (size_t)order[i] * row_size, length));
    return WEIR_STATUS_OK;
}

/* Strings and other objects. */
static weir_status execute_shuffle(weir_call *call)
{
    weir_tensor *x = call->inputs[0];
    int64_t *order;
    void *state = NULL;
    if (x->elements <= 1 || x->shape.dims[0] <= 1) {
        call->outputs[0] = weir_tensor_ref(x);
        return WEIR_STATUS_OK;
    }
    WEIR_TRY(weir_node_state(call->context->session, call->node, sizeof(generator), init_generator, &state));
    WEIR_TRY(weir_tensor_new(x->dtype, x->shape, &call->outputs[0]));
    WEIR_TRY(weir_new(&order, (size_t)x->shape.dims[0]));
    draw_order(state, x->shape.dims[0], order);
    weir_status status = copy_rows(x, order, x->shape.dims[0], call->outputs[0]);
    weir_release(order);
    return status;
}

#define FILL_ROW(node, function)                                                                                       \
    {                                                                                                                  \
        .op = (node), .bind = (function), .shape_inputs = WEIR_INPUT(0), .on_accelerators = true,                      \
        .host_inputs = WEIR_ALL_INPUTS                                                                                 \
    }

const weir_kernel weir_kernel_table_random[] = {
    FILL_ROW("RandomUniform", bind_uniform),
    FILL_ROW("RandomStandardNormal", bind_normal),
    FILL_ROW("TruncatedNormal", bind_truncated_normal),
    FILL_ROW("RandomUniformInt", bind_integers),
    {.op = "RandomShuffle",
     .types = {{"T", WEIR_TYPES(WEIR_STRING, WEIR_RESOURCE, WEIR_VARIANT)}},
     .execute = execute_shuffle},
    {.op = "RandomShuffle", .bind = bind_shuffle},
    {.op = NULL},
};
