/*
 * Binds the ops of matmul.c to the kernels of products, bias and activations.
 */
#include "kernel/cpu/bias.h"
#include "kernel/cpu/elementwise.h"
#include "kernel/cpu/matmul.h"
#include "kernel/cpu/reduce.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

static weir_status fail_type(const weir_node *node, weir_dtype dtype)
{
    return weir_fail(WEIR_UNIMPLEMENTED, "%s has no kernel for %s", weir_node_op(node), weir_dtype_name(dtype));
}

static weir_status fail_sizes(const weir_shape *a, const weir_shape *b)
{
    return weir_fail(WEIR_INVALID_ARGUMENT, "Matrix size-incompatible: In[0]: %s, In[1]: %s",
                     weir_shape_text(*a, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE),
                     weir_shape_text(*b, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
}

/* ---- MatMul ---- */

/* Scratch memory is an argument only where it was asked for. */
typedef struct product_state {
    weir_matmul_plan plan;
    bool has_scratch;
} product_state;

static void prepare_product(weir_bind *bind, const weir_matmul_options *options, product_state *state)
{
    weir_matmul_prepare(weir_cpu_kernels_best(), options, &state->plan);
    bind->scratch_size = weir_matmul_scratch(&state->plan, bind->lanes);
    state->has_scratch = bind->scratch_size > 0;
}

static weir_status run_matmul(const void *pointer, void *const *arguments, weir_context *context)
{
    const product_state *state = pointer;
    weir_matmul_run(&state->plan, context->team, arguments[0], arguments[1], NULL, arguments[2],
                    state->has_scratch ? arguments[3] : NULL);
    return WEIR_STATUS_OK;
}

/* Sizes of the product of two matrices; rows and columns are the last two dimensions. */
static weir_status set_sizes(const weir_bind *bind, bool t_a, bool t_b, weir_matmul_options *options)
{
    const weir_shape *a = &bind->inputs[0].shape;
    const weir_shape *b = &bind->inputs[1].shape;
    if (a->rank < 2 || b->rank < 2)
        return weir_fail(WEIR_INVALID_ARGUMENT, "In[%d] ndims must be >= 2: %d", a->rank < 2 ? 0 : 1,
                         a->rank < 2 ? a->rank : b->rank);
    options->type = weir_dtype_base(bind->inputs[0].dtype);
    options->transpose_a = t_a;
    options->transpose_b = t_b;
    options->m = a->dims[a->rank - (t_a ? 1 : 2)];
    options->k = a->dims[a->rank - (t_a ? 2 : 1)];
    options->n = b->dims[b->rank - (t_b ? 2 : 1)];
    if (b->dims[b->rank - (t_b ? 1 : 2)] != options->k)
        return fail_sizes(a, b);
    return weir_matmul_supports(options->type) ? WEIR_STATUS_OK : fail_type(bind->node, options->type);
}

static weir_status set_matrix_sizes(const weir_bind *bind, weir_matmul_options *options)
{
    for (int side = 0; side < 2; side++) {
        if (bind->inputs[side].shape.rank != 2)
            return weir_fail(
                WEIR_INVALID_ARGUMENT, "In[%d] is not a matrix. Instead it has shape %s", side,
                weir_shape_text(bind->inputs[side].shape, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
    }
    return set_sizes(bind, weir_node_bool(bind->node, "transpose_a", false),
                     weir_node_bool(bind->node, "transpose_b", false), options);
}

static weir_status bind_matmul(weir_bind *bind)
{
    weir_matmul_options options = {0};
    WEIR_TRY(set_matrix_sizes(bind, &options));
    product_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    prepare_product(bind, &options, state);
    bind->outputs[0] = (weir_shape){2, {options.m, options.n}};
    bind->run = run_matmul;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- Products of batches that broadcast ---- */

/* The innermost batch dimensions are the kernel's batch; the others are walked over here. */
typedef struct batch_state {
    product_state product;
    int64_t element_size;
    int rank; /* of the outer dimensions */
    int64_t dims[WEIR_MAX_RANK];
    int64_t steps[3][WEIR_MAX_RANK]; /* of a, b and c, in elements */
} batch_state;

static weir_status run_batch(const void *pointer, void *const *arguments, weir_context *context)
{
    const batch_state *state = pointer;
    int64_t at[WEIR_MAX_RANK] = {0};
    const char *a = arguments[0];
    const char *b = arguments[1];
    char *c = arguments[2];
    void *scratch = state->product.has_scratch ? arguments[3] : NULL;
    for (;;) {
        weir_matmul_run(&state->product.plan, context->team, a, b, NULL, c, scratch);
        int axis = state->rank - 1;
        for (; axis >= 0; axis--) {
            int64_t back = ++at[axis] < state->dims[axis] ? 0 : state->dims[axis];
            a += state->steps[0][axis] * (1 - back) * state->element_size;
            b += state->steps[1][axis] * (1 - back) * state->element_size;
            c += state->steps[2][axis] * (1 - back) * state->element_size;
            if (back == 0)
                break;
            at[axis] = 0;
        }
        if (axis < 0)
            return WEIR_STATUS_OK;
    }
}

static weir_status run_nothing(const void *state, void *const *arguments, weir_context *context)
{
    (void)state, (void)arguments, (void)context;
    return WEIR_STATUS_OK;
}

/* Batch dimensions of one output, merged where both sides step through them alike. */
typedef struct batch_axes {
    int rank;
    int64_t dims[WEIR_MAX_RANK];
    int64_t steps[3][WEIR_MAX_RANK];
} batch_axes;

static int64_t batch_dim(const weir_shape *shape, int from_right)
{
    int axis = shape->rank - 3 - from_right;
    return axis >= 0 ? shape->dims[axis] : 1;
}

/* Adds a dimension outside the ones there are; sizes is what one element of each side's next dimension spans. */
static void add_axis(batch_axes *axes, int64_t dim, const int64_t *steps)
{
    if (dim == 1)
        return;
    int outer = axes->rank - 1; /* dimensions are kept innermost first while they are collected */
    bool merges = outer >= 0;
    for (int side = 0; merges && side < 3; side++)
        merges = steps[side] == axes->steps[side][outer] * axes->dims[outer];
    if (merges) {
        axes->dims[outer] *= dim;
        return;
    }
    axes->dims[axes->rank] = dim;
    for (int side = 0; side < 3; side++)
        axes->steps[side][axes->rank] = steps[side];
    axes->rank++;
}

static weir_status collect_axes(const weir_shape *a, const weir_shape *b, const weir_matmul_options *options,
                                weir_shape *out, batch_axes *axes)
{
    int rank_a = a->rank - 2;
    int rank_b = b->rank - 2;
    int rank = rank_a > rank_b ? rank_a : rank_b;
    int64_t spans[3] = {options->m * options->k, options->k * options->n, options->m * options->n};
    out->rank = rank + 2;
    out->dims[rank] = options->m;
    out->dims[rank + 1] = options->n;
    for (int i = 0; i < rank; i++) {
        int64_t dim_a = batch_dim(a, i);
        int64_t dim_b = batch_dim(b, i);
        if (dim_a != dim_b && dim_a != 1 && dim_b != 1)
            return weir_fail(WEIR_INVALID_ARGUMENT, "In[0] and In[1] must have compatible batch dimensions: %s vs. %s",
                             weir_shape_text(*a, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE),
                             weir_shape_text(*b, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
        int64_t dim = dim_a == 1 ? dim_b : dim_a;
        int64_t steps[3] = {dim_a == 1 ? 0 : spans[0], dim_b == 1 ? 0 : spans[1], spans[2]};
        out->dims[rank - 1 - i] = dim;
        add_axis(axes, dim, steps);
        spans[0] *= dim_a;
        spans[1] *= dim_b;
        spans[2] *= dim;
    }
    return WEIR_STATUS_OK;
}

/* A batch of a times one b is one tall product. */
static bool is_tall_product(const batch_axes *axes, const weir_matmul_options *options)
{
    return axes->rank == 1 && axes->steps[1][0] == 0 && !options->transpose_a &&
           axes->steps[0][0] == options->m * options->k;
}

static weir_status bind_batch_matmul(weir_bind *bind)
{
    bool adj_x = weir_node_bool(bind->node, "adj_x", false);
    bool adj_y = weir_node_bool(bind->node, "adj_y", false);
    weir_matmul_options options = {0};
    batch_axes axes = {0};
    WEIR_TRY(set_sizes(bind, adj_x, adj_y, &options));
    options.conjugate_a = adj_x && weir_dtype_is_complex(options.type);
    options.conjugate_b = adj_y && weir_dtype_is_complex(options.type);
    WEIR_TRY(collect_axes(&bind->inputs[0].shape, &bind->inputs[1].shape, &options, &bind->outputs[0], &axes));
    if (weir_shape_elements(bind->outputs[0]) == 0) {
        bind->run = run_nothing;
        return WEIR_STATUS_OK;
    }
    batch_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    if (is_tall_product(&axes, &options)) {
        options.m *= axes.dims[0];
        axes.rank = 0;
    } else if (axes.rank > 0) {
        options.batch = axes.dims[0];
        options.a_batch_stride = axes.steps[0][0];
        options.b_batch_stride = axes.steps[1][0];
        options.c_batch_stride = axes.steps[2][0];
    }
    prepare_product(bind, &options, &state->product);
    state->element_size = (int64_t)weir_dtype_size(options.type);
    for (int i = axes.rank - 1; i > 0; i--, state->rank++) { /* outermost first */
        state->dims[state->rank] = axes.dims[i];
        for (int side = 0; side < 3; side++)
            state->steps[side][state->rank] = axes.steps[side][i];
    }
    bind->run = run_batch;
    bind->state = state;
    return WEIR_STATUS_OK;
}

/* ---- Bias ---- */

/* x as [outer, channels, inner]. */
typedef struct bias_state {
    weir_dtype dtype;
    int64_t outer, channels, inner;
    const weir_cpu_kernels *kernels;
    bool has_scratch;
    weir_binary_plan add; /* where the bias does not lie along rows */
    weir_reduce_plan sum; /* likewise, of the gradient */
} bias_state;

static weir_status split_channels(const weir_bind *bind, bias_state *state)
{
    const weir_shape *x = &bind->inputs[0].shape;
    bool is_nchw = weir_node_string_is(bind->node, "data_format", "NCHW");
    int axis = is_nchw ? 1 : x->rank - 1;
    if (x->rank < 2)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Input tensor must be at least 2D: %s",
                         weir_shape_text(*x, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
    *state = (bias_state){
        .dtype = weir_dtype_base(bind->inputs[0].dtype), .outer = 1, .channels = x->dims[axis], .inner = 1};
    for (int i = 0; i < x->rank; i++) {
        if (i != axis)
            *(i < axis ? &state->outer : &state->inner) *= x->dims[i];
    }
    state->kernels = weir_cpu_kernels_best();
    return WEIR_STATUS_OK;
}

static weir_status run_bias_rows(const void *pointer, void *const *arguments, weir_context *context)
{
    const bias_state *state = pointer;
    weir_add_bias(state->kernels, state->dtype, state->outer, state->channels, false, context->team, arguments[0],
                  arguments[1], arguments[2]);
    return WEIR_STATUS_OK;
}

static weir_status run_bias(const void *pointer, void *const *arguments, weir_context *context)
{
    const bias_state *state = pointer;
    (void)weir_binary_run(&state->add, context->team, arguments[0], arguments[1],
                          arguments[2]); /* sums have no fault */
    return WEIR_STATUS_OK;
}

static weir_status bind_bias_add(weir_bind *bind)
{
    bias_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    WEIR_TRY(split_channels(bind, state));
    const weir_shape *bias = &bind->inputs[1].shape;
    if (bias->rank != 1 || bias->dims[0] != state->channels)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Must provide as many biases as the last dimension of the input tensor: %s vs. %s",
                         weir_shape_text(*bias, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE),
                         weir_shape_text(bind->inputs[0].shape, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
    bind->outputs[0] = bind->inputs[0].shape;
    bind->may_overwrite[0] = WEIR_INPUT(0);
    bind->state = state;
    if (state->inner == 1 && weir_bias_supports(state->dtype)) {
        bind->run = run_bias_rows;
        return WEIR_STATUS_OK;
    }
    weir_shape x = {3, {state->outer, state->channels, state->inner}};
    weir_shape column = {3, {1, state->channels, 1}};
    if (!weir_binary_prepare(WEIR_BINARY_ADD, state->dtype, &x, &column, &state->add))
        return fail_type(bind->node, state->dtype);
    bind->run = run_bias;
    return WEIR_STATUS_OK;
}

static weir_status run_bias_grad_rows(const void *pointer, void *const *arguments, weir_context *context)
{
    const bias_state *state = pointer;
    weir_bias_gradient(state->kernels, state->dtype, state->outer, state->channels, context->team, arguments[0],
                       arguments[1], state->has_scratch ? arguments[2] : NULL);
    return WEIR_STATUS_OK;
}

static weir_status run_bias_grad(const void *pointer, void *const *arguments, weir_context *context)
{
    const bias_state *state = pointer;
    weir_reduce_run(&state->sum, context->team, arguments[0], state->sum.scratch_bytes > 0 ? arguments[2] : NULL,
                    arguments[1]);
    return WEIR_STATUS_OK;
}

static weir_status bind_bias_add_grad(weir_bind *bind)
{
    bias_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    WEIR_TRY(split_channels(bind, state));
    bind->outputs[0] = (weir_shape){1, {state->channels}};
    bind->state = state;
    if (state->inner == 1 && weir_bias_supports(state->dtype)) {
        bind->scratch_size = weir_bias_gradient_scratch(state->dtype, state->outer, state->channels);
        state->has_scratch = bind->scratch_size > 0;
        bind->run = run_bias_grad_rows;
        return WEIR_STATUS_OK;
    }
    if (!weir_bias_add_grad_prepare(state->dtype, state->outer, state->channels, state->inner, &state->sum))
        return fail_type(bind->node, state->dtype);
    bind->scratch_size = weir_reduce_scratch(&state->sum);
    bind->run = run_bias_grad;
    return WEIR_STATUS_OK;
}

/* ---- Product, bias and activation in one ---- */

typedef struct fused_state {
    product_state product;
    bool has_activation; /* one that the product does not do itself, over its output */
    weir_unary_plan activation;
    int arguments; /* number of inputs: the output is the argument after them */
} fused_state;

static weir_status run_fused(const void *pointer, void *const *arguments, weir_context *context)
{
    const fused_state *state = pointer;
    void *out = arguments[state->arguments];
    weir_matmul_run(&state->product.plan, context->team, arguments[0], arguments[1], arguments[2], out,
                    state->product.has_scratch ? arguments[state->arguments + 1] : NULL);
    if (state->has_activation)
        weir_unary_run(&state->activation, context->team, out, out);
    return WEIR_STATUS_OK;
}

static bool is_text(weir_bytes bytes, const char *text)
{
    return bytes.size == __builtin_strlen(text) && __builtin_memcmp(bytes.data, text, bytes.size) == 0;
}

/* The activation of a name among those that follow a product; -1: none of them. */
static int activation_named(weir_bytes name)
{
    static const struct {
        const char *name;
        weir_unary_op op;
    } activations[] = {{"Relu", WEIR_UNARY_RELU},
                       {"Relu6", WEIR_UNARY_RELU6},
                       {"Elu", WEIR_UNARY_ELU},
                       {"Sigmoid", WEIR_UNARY_SIGMOID},
                       {"Tanh", WEIR_UNARY_TANH}};
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        if (is_text(name, activations[i].name))
            return (int)activations[i].op;
    }
    return -1;
}

static weir_status bind_fused_matmul(weir_bind *bind)
{
    weir_matmul_options options = {0};
    WEIR_TRY(set_matrix_sizes(bind, &options));
    const weir_attr_value *fused = weir_node_find_attr(bind->node, "fused_ops");
    int64_t count = fused != NULL ? fused->list.count : 0;
    int activation = count == 2 ? activation_named(fused->list.s[1]) : -1;
    if (count < 1 || count > 2 || !is_text(fused->list.s[0], "BiasAdd") || (count == 2 && activation < 0) ||
        bind->node->num_inputs < 3)
        return weir_fail(WEIR_UNIMPLEMENTED, "Fusion is not implemented: %lld fused ops, the last of them %.*s",
                         (long long)count, count > 0 ? (int)fused->list.s[count - 1].size : 0,
                         count > 0 ? fused->list.s[count - 1].data : "");
    const weir_shape *bias = &bind->inputs[2].shape;
    if (bias->rank != 1 || bias->dims[0] != options.n)
        return weir_fail(WEIR_INVALID_ARGUMENT, "The bias of %lld columns has shape %s", (long long)options.n,
                         weir_shape_text(*bias, (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE));
    fused_state *state;
    WEIR_TRY(weir_bind_state(bind, &state));
    options.bias = true;
    options.relu = activation == (int)WEIR_UNARY_RELU;
    state->arguments = bind->node->num_inputs;
    state->has_activation = activation >= 0 && !options.relu;
    if (state->has_activation &&
        !weir_unary_prepare((weir_unary_op)activation, options.type, options.m * options.n, &state->activation))
        return fail_type(bind->node, options.type);
    prepare_product(bind, &options, &state->product);
    bind->outputs[0] = (weir_shape){2, {options.m, options.n}};
    bind->run = run_fused;
    bind->state = state;
    return WEIR_STATUS_OK;
}

const weir_kernel weir_kernel_table_matmul[] = {
    {.op = "MatMul", .bind = bind_matmul, .on_accelerators = true},
    {.op = "BatchMatMul", .bind = bind_batch_matmul, .on_accelerators = true},
    {.op = "BatchMatMulV2", .bind = bind_batch_matmul, .on_accelerators = true},
    {.op = "_FusedMatMul", .bind = bind_fused_matmul, .on_accelerators = true},
    {.op = "BiasAdd", .bind = bind_bias_add, .on_accelerators = true, .is_cheap = true},
    {.op = "BiasAddGrad", .bind = bind_bias_add_grad, .on_accelerators = true},
    {.op = NULL},
};
