/*
 * Random numbers: schemas, shape rules and builders. The generators' state and kernels are in random_kernels.c. What a
 * node draws follows from its seeds and from how often it ran in its session.
 */
#include "op/compose.h"
#include "op/kernels.h"
#include "tensor/tensor.h"

/* ---- Builders ---- */

/* The op itself, with the seeds that the graph's and the call's give. */
static weir_output draw(weir_scope s, const char *op, weir_output shape, weir_dtype dtype,
                        const weir_random_options *options, const char *name)
{
    int64_t seed1, seed2;
    weir_scope_seeds(s, options->seed, &seed1, &seed2);
    weir_node *node = weir_op(
        s, op, WEIR_INPUTS(shape),
        WEIR_ATTRS(WEIR_ATTR_I("seed", seed1), WEIR_ATTR_I("seed2", seed2), WEIR_ATTR_T("dtype", dtype)), .name = name);
    return weir_out(node, 0);
}

static weir_output draw_integers(weir_scope s, weir_output shape, weir_output low, weir_output high,
                                 const weir_random_options *options)
{
    int64_t seed1, seed2;
    weir_scope_seeds(s, options->seed, &seed1, &seed2);
    weir_node *node =
        weir_op(s, "RandomUniformInt", WEIR_INPUTS(shape, low, high),
                WEIR_ATTRS(WEIR_ATTR_I("seed", seed1), WEIR_ATTR_I("seed2", seed2)), .name = weir_scope_name(s));
    return weir_out(node, 0);
}

static weir_random_options without_defaults(const weir_random_options *options, const char *name)
{
    weir_random_options given = options != NULL ? *options : (weir_random_options){0};
    if (given.name == NULL)
        given.name = name;
    if (given.dtype == WEIR_INVALID_DTYPE)
        given.dtype = WEIR_FLOAT;
    if (given.stddev == 0)
        given.stddev = 1;
    if (given.minimum == 0 && given.maximum == 0)
        given.maximum = 1;
    return given;
}

/* [0, 1) is the op alone, [0, maximum) a product, all else scaled and moved. Integers have an op of their own. */
weir_output(weir_random_uniform)(weir_scope s, weir_output shape, const weir_random_options *options)
{
    if (shape.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_random_options given = without_defaults(options, "random_uniform");
    weir_scope inner = weir_in_scope(s, "%s", given.name);
    bool is_integer = weir_dtype_is_integer(given.dtype);
    if (!is_integer && given.minimum == 0 && given.maximum == 1)
        return draw(inner, "RandomUniform", shape, given.dtype, &given, NULL);
    weir_output low = weir_build_number(inner, given.dtype, given.minimum, "min");
    weir_output high = weir_build_number(inner, given.dtype, given.maximum, "max");
    if (is_integer)
        return draw_integers(inner, shape, low, high, &given);
    weir_output drawn = draw(inner, "RandomUniform", shape, given.dtype, &given, NULL);
    if (given.minimum == 0)
        return weir_multiply(inner, drawn, high);
    weir_output range = weir_subtract(inner, high, low, .name = "sub");
    weir_output scaled = weir_multiply(inner, drawn, range, .name = "mul");
    return weir_add(inner, scaled, low, .name = weir_scope_name(inner));
}

/* drawn * stddev + mean */
static weir_output normal(weir_scope s, const char *op, weir_output shape, const weir_random_options *options,
                          const char *name)
{
    if (shape.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_random_options given = without_defaults(options, name);
    weir_scope inner = weir_in_scope(s, "%s", given.name);
    weir_output mean = weir_build_number(inner, given.dtype, given.mean, "mean");
    weir_output stddev = weir_build_number(inner, given.dtype, given.stddev, "stddev");
    weir_output drawn = draw(inner, op, shape, given.dtype, &given, NULL);
    weir_output scaled = weir_multiply(inner, drawn, stddev, .name = "mul");
    return weir_add(inner, scaled, mean, .name = weir_scope_name(inner));
}

weir_output(weir_random_normal)(weir_scope s, weir_output shape, const weir_random_options *options)
{
    return normal(s, "RandomStandardNormal", shape, options, "random_normal");
}

weir_output(weir_truncated_normal)(weir_scope s, weir_output shape, const weir_random_options *options)
{
    return normal(s, "TruncatedNormal", shape, options, "truncated_normal");
}

weir_output(weir_random_shuffle)(weir_scope s, weir_output x, const weir_random_options *options)
{
    int64_t seed1, seed2;
    if (x.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_random_options given = without_defaults(options, "RandomShuffle");
    weir_scope_seeds(s, given.seed, &seed1, &seed2);
    weir_node *node = weir_op(s, "RandomShuffle", WEIR_INPUTS(x),
                              WEIR_ATTRS(WEIR_ATTR_I("seed", seed1), WEIR_ATTR_I("seed2", seed2)), .name = given.name);
    return weir_out(node, 0);
}

/* ---- Shape rules ---- */

static weir_status infer_shape_input(weir_infer *infer)
{
    weir_shape vector;
    WEIR_TRY(weir_infer_rank(infer, 0, 1, &vector));
    weir_shape shape = weir_infer_shape_value(infer, 0);
    if (shape.rank == WEIR_UNKNOWN_RANK && vector.dims[0] != WEIR_UNKNOWN_DIM && vector.dims[0] <= WEIR_MAX_RANK) {
        shape.rank = (int)vector.dims[0];
        for (int i = 0; i < shape.rank; i++)
            shape.dims[i] = WEIR_UNKNOWN_DIM;
    }
    infer->outputs[0] = shape;
    return WEIR_STATUS_OK;
}

static weir_status infer_integers(weir_infer *infer)
{
    weir_shape scalar;
    WEIR_TRY(weir_infer_rank(infer, 1, 0, &scalar));
    WEIR_TRY(weir_infer_rank(infer, 2, 0, &scalar));
    return infer_shape_input(infer);
}

/* ---- Schemas ---- */

static const weir_dtype float_types[] = {WEIR_HALF, WEIR_BFLOAT16, WEIR_FLOAT, WEIR_DOUBLE, WEIR_INVALID_DTYPE};
static const weir_dtype index_types[] = {WEIR_INT32, WEIR_INT64, WEIR_INVALID_DTYPE};

#define RANDOM(op)                                                                                                     \
    {                                                                                                                  \
        .name = (op), .inputs = WEIR_ARGS({"shape", .type_attr = "T"}),                                                \
        .outputs = WEIR_ARGS({"output", .type_attr = "dtype"}),                                                        \
        .attrs = WEIR_ATTR_DEFS(WEIR_A_INT("seed", 0), WEIR_A_INT("seed2", 0), WEIR_A_TYPE("dtype", float_types),      \
                                WEIR_A_TYPE("T", index_types)),                                                        \
        .infer = infer_shape_input, .gradient_kind = WEIR_GRADIENT_NONE, .is_stateful = true                           \
    }

static const weir_op_def ops[] = {
    RANDOM("RandomUniform"),
    RANDOM("RandomStandardNormal"),
    RANDOM("TruncatedNormal"),
    {.name = "RandomUniformInt",
     .inputs = WEIR_ARGS({"shape", .type_attr = "T"}, {"minval", .type_attr = "Tout"}, {"maxval", .type_attr = "Tout"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "Tout"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT("seed", 0), WEIR_A_INT("seed2", 0), WEIR_A_TYPE("Tout", index_types),
                             WEIR_A_TYPE("T", index_types)),
     .infer = infer_integers,
     .is_stateful = true},
    {.name = "RandomShuffle",
     .inputs = WEIR_ARGS({"value", .type_attr = "T"}),
     .outputs = WEIR_ARGS({"output", .type_attr = "T"}),
     .attrs = WEIR_ATTR_DEFS(WEIR_A_INT("seed", 0), WEIR_A_INT("seed2", 0), WEIR_A_TYPE("T", NULL)),
     .infer = weir_infer_same,
     .gradient_kind = WEIR_GRADIENT_NONE,
     .is_stateful = true},
    {.name = NULL},
};

const weir_op_family weir_family_random = {.name = "random", .ops = ops, .kernels = weir_kernel_table_random};
