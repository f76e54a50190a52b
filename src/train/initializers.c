/*
 * Initializers: values that say how a variable begins, with the nodes that TensorFlow's initializers make.
 */
#include <math.h>

#include "train/train_state.h"

#define CONST_ELEMENTS 1000 /* from so many on, TensorFlow fills instead of storing */

/* Deviation of a normal distribution of deviation 1 after its cut at two deviations. */
#define CUT_DEVIATION 0.87962566103423978

static weir_output filled(weir_scope s, weir_dtype dtype, weir_shape shape, double value, const char *name)
{
    if (weir_shape_elements(shape) < CONST_ELEMENTS)
        return weir_fill_const(s, dtype, shape, value, name);
    weir_scope inner = weir_in_scope(s, "%s", name);
    weir_output dims = weir_shape_const(inner, shape, "shape_as_tensor");
    weir_output number = weir_train_number(inner, dtype, value, "Const");
    return weir_fill(inner, dims, number, .name = weir_scope_name(inner));
}

static weir_output build_zeros(weir_scope s, weir_dtype dtype, weir_shape shape, const weir_initializer *initializer)
{
    (void)initializer;
    return filled(s, dtype, shape, 0, "zeros");
}

static weir_output build_ones(weir_scope s, weir_dtype dtype, weir_shape shape, const weir_initializer *initializer)
{
    (void)initializer;
    return filled(s, dtype, shape, 1, "ones");
}

static weir_output build_constant(weir_scope s, weir_dtype dtype, weir_shape shape, const weir_initializer *initializer)
{
    return weir_fill_const(s, dtype, shape, initializer->first, "Const");
}

/* The scope and shape of a random value, as tf.random_uniform and its like open them. */
static weir_scope open_random(weir_scope s, const char *name, weir_shape shape, weir_output *dims)
{
    weir_scope inner = weir_in_scope(s, "%s", name);
    *dims = weir_shape_const(inner, shape, "shape");
    return inner;
}

static weir_output draw(weir_scope s, const char *op, weir_output dims, weir_dtype dtype, weir_seed seed)
{
    int64_t seed1, seed2;
    if (dims.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_scope_seeds(s, seed, &seed1, &seed2);
    return weir_out(
        weir_op(s, op, WEIR_INPUTS(dims),
                WEIR_ATTRS(WEIR_ATTR_I("seed", seed1), WEIR_ATTR_I("seed2", seed2), WEIR_ATTR_T("dtype", dtype))),
        0);
}

static weir_output uniform(weir_scope s, weir_dtype dtype, weir_shape shape, double low, double high, weir_seed seed)
{
    weir_output dims;
    weir_scope inner = open_random(s, "random_uniform", shape, &dims);
    if (!weir_train_is_float(dtype)) {
        weir_output drawn = weir_random_uniform(s, dims, .name = weir_scope_name(inner), .dtype = dtype, .seed = seed,
                                                .minimum = low, .maximum = high);
        return drawn;
    }
    weir_output minimum = weir_train_number(inner, dtype, low, "min");
    weir_output maximum = weir_train_number(inner, dtype, high, "max");
    weir_output drawn = draw(inner, "RandomUniform", dims, dtype, seed);
    weir_output range = weir_train_binary(inner, "Sub", maximum, minimum, "sub");
    weir_output scaled = weir_train_binary(inner, "Mul", drawn, range, "mul");
    return weir_train_binary(inner, "AddV2", scaled, minimum, weir_scope_name(inner));
}

typedef struct normal_kind {
    const char *op;
    const char *name;
} normal_kind;

static const normal_kind plain_normal = {"RandomStandardNormal", "random_normal"};
static const normal_kind cut_normal = {"TruncatedNormal", "truncated_normal"};

static weir_output normal(weir_scope s, const normal_kind *kind, weir_dtype dtype, weir_shape shape, double mean,
                          double stddev, weir_seed seed)
{
    weir_output dims;
    weir_scope inner = open_random(s, kind->name, shape, &dims);
    weir_output center = weir_train_number(inner, dtype, mean, "mean");
    weir_output width = weir_train_number(inner, dtype, stddev, "stddev");
    weir_output drawn = draw(inner, kind->op, dims, dtype, seed);
    weir_output scaled = weir_train_binary(inner, "Mul", drawn, width, "mul");
    return weir_train_binary(inner, "AddV2", scaled, center, weir_scope_name(inner));
}

static weir_output build_uniform(weir_scope s, weir_dtype dtype, weir_shape shape, const weir_initializer *initializer)
{
    return uniform(s, dtype, shape, initializer->first, initializer->second, initializer->seed);
}

static weir_output build_normal(weir_scope s, weir_dtype dtype, weir_shape shape, const weir_initializer *initializer)
{
    return normal(s, &plain_normal, dtype, shape, initializer->first, initializer->second, initializer->seed);
}

static weir_output build_truncated(weir_scope s, weir_dtype dtype, weir_shape shape,
                                   const weir_initializer *initializer)
{
    return normal(s, &cut_normal, dtype, shape, initializer->first, initializer->second, initializer->seed);
}

/* Inputs and outputs of a unit, by the shape of its weights. */
static void count_fans(weir_shape shape, double *in, double *out)
{
    *in = *out = 1;
    if (shape.rank == 1)
        *in = *out = (double)shape.dims[0];
    if (shape.rank < 2)
        return;
    double area = 1;
    for (int i = 0; i < shape.rank - 2; i++)
        area *= (double)shape.dims[i];
    *in = area * (double)shape.dims[shape.rank - 2];
    *out = area * (double)shape.dims[shape.rank - 1];
}

static weir_output build_scaled(weir_scope s, weir_dtype dtype, weir_shape shape, const weir_initializer *initializer)
{
    double in, out;
    count_fans(shape, &in, &out);
    double count = initializer->fan == WEIR_FAN_IN ? in : initializer->fan == WEIR_FAN_OUT ? out : (in + out) / 2;
    double variance = initializer->first / (count > 1 ? count : 1);
    switch (initializer->distribution) {
    case WEIR_UNIFORM:
        return uniform(s, dtype, shape, -sqrt(3 * variance), sqrt(3 * variance), initializer->seed);
    case WEIR_UNTRUNCATED_NORMAL:
        return normal(s, &plain_normal, dtype, shape, 0, sqrt(variance), initializer->seed);
    default:
        return normal(s, &cut_normal, dtype, shape, 0, sqrt(variance) / CUT_DEVIATION, initializer->seed);
    }
}

static weir_seed seed_of(const weir_initializer_options *options)
{
    return options != NULL ? options->seed : (weir_seed){0};
}

weir_initializer weir_zeros_initializer(void)
{
    return (weir_initializer){.build = build_zeros};
}

weir_initializer weir_ones_initializer(void)
{
    return (weir_initializer){.build = build_ones};
}

weir_initializer weir_constant_initializer(double value)
{
    return (weir_initializer){.build = build_constant, .first = value};
}

weir_initializer(weir_uniform_initializer)(double minimum, double maximum, const weir_initializer_options *options)
{
    return (weir_initializer){.build = build_uniform, .first = minimum, .second = maximum, .seed = seed_of(options)};
}

weir_initializer(weir_normal_initializer)(double mean, double stddev, const weir_initializer_options *options)
{
    return (weir_initializer){.build = build_normal, .first = mean, .second = stddev, .seed = seed_of(options)};
}

weir_initializer(weir_truncated_normal_initializer)(double mean, double stddev, const weir_initializer_options *options)
{
    return (weir_initializer){.build = build_truncated, .first = mean, .second = stddev, .seed = seed_of(options)};
}

weir_initializer(weir_variance_scaling_initializer)(const weir_scaling_options *options)
{
    weir_scaling_options given = options != NULL ? *options : (weir_scaling_options){0};
    return (weir_initializer){.build = build_scaled,
                              .first = given.scale == 0 ? 1 : given.scale,
                              .seed = given.seed,
                              .fan = (int)given.fan,
                              .distribution = (int)given.distribution};
}

weir_initializer(weir_xavier_initializer)(const weir_initializer_options *options)
{
    return weir_variance_scaling_initializer(.fan = WEIR_FAN_AVG, .distribution = WEIR_UNIFORM,
                                             .seed = seed_of(options));
}

weir_initializer(weir_xavier_normal_initializer)(const weir_initializer_options *options)
{
    return weir_variance_scaling_initializer(.fan = WEIR_FAN_AVG, .seed = seed_of(options));
}
