/*
 * Variables and how they are shared: tf.get_variable and tf.variable_scope with TensorFlow's rules and names.
 *
 * A variable is given by its value (the output of "v/read"), which can be used like any other output. Whatever takes
 * variables takes its reference ("v:0", what collections hold) as well. All functions here: externally locked with
 * everything else that builds the graph.
 */
#ifndef WEIR_TRAIN_VARIABLES_H
#define WEIR_TRAIN_VARIABLES_H

#include <weir/graph.h>
#include <weir/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Initializers: how a variable begins; small values, copy them freely ---- */

typedef struct weir_initializer weir_initializer;

/* Builds the first value of a variable in a scope. The scope's errors are the graph's. */
typedef weir_output weir_initializer_function(weir_scope s, weir_dtype dtype, weir_shape shape,
                                              const weir_initializer *initializer);

struct weir_initializer {
    weir_initializer_function *build; /* NULL: none was given */
    double first, second;             /* what they are depends on build: a constant; mean and deviation; the limits */
    weir_seed seed;
    int fan;
    int distribution;
    const void *context; /* for functions of your own; borrowed until the variable is built */
};

typedef struct weir_initializer_options {
    size_t size;
    weir_seed seed;
} weir_initializer_options;

typedef enum weir_fan { WEIR_FAN_IN = 0, WEIR_FAN_OUT, WEIR_FAN_AVG } weir_fan;
typedef enum weir_distribution { WEIR_TRUNCATED_NORMAL = 0, WEIR_UNIFORM, WEIR_UNTRUNCATED_NORMAL } weir_distribution;

typedef struct weir_scaling_options {
    size_t size;
    weir_seed seed;
    double scale; /* 0 means 1 */
    weir_fan fan;
    weir_distribution distribution;
} weir_scaling_options;

WEIR_API weir_initializer weir_zeros_initializer(void);
WEIR_API weir_initializer weir_ones_initializer(void);
WEIR_API weir_initializer weir_constant_initializer(double value);
WEIR_API weir_initializer(weir_uniform_initializer)(double minimum, double maximum,
                                                    const weir_initializer_options *options);
WEIR_API weir_initializer(weir_normal_initializer)(double mean, double stddev, const weir_initializer_options *options);
/* Drawn again outside two deviations; stddev is that of the distribution before the cut. */
WEIR_API weir_initializer(weir_truncated_normal_initializer)(double mean, double stddev,
                                                             const weir_initializer_options *options);
/* Variance scale / n, where n is the number of inputs, of outputs, or the mean of both; for convolutions times the
 * area of the filter. */
WEIR_API weir_initializer(weir_variance_scaling_initializer)(const weir_scaling_options *options);
/* Xavier (Glorot): uniform within sqrt(6 / (inputs + outputs)), or truncated normal of the same variance. The default
 * of variables of floating point; all others begin with zeros. */
WEIR_API weir_initializer(weir_xavier_initializer)(const weir_initializer_options *options);
WEIR_API weir_initializer(weir_xavier_normal_initializer)(const weir_initializer_options *options);

/* ---- Regularizers ---- */

typedef struct weir_regularizer weir_regularizer;

/* Builds the loss of a variable's value; a null output: none. */
typedef weir_output weir_regularizer_function(weir_scope s, weir_output value, const weir_regularizer *regularizer);

struct weir_regularizer {
    weir_regularizer_function *build; /* NULL: none was given */
    double scale;
    const void *context;
};

/* scale * sum(x^2) / 2 and scale * sum(|x|); a scale of 0 is no regularizer. */
WEIR_API weir_regularizer weir_l2_regularizer(double scale);
WEIR_API weir_regularizer weir_l1_regularizer(double scale);

/* ---- Variable scopes ---- */

typedef enum weir_reuse {
    WEIR_INHERIT_REUSE = 0, /* as the scope around; at the top: every variable is new */
    WEIR_REUSE,             /* variables exist already */
    WEIR_AUTO_REUSE         /* the first to name a variable makes it */
} weir_reuse;

typedef struct weir_variable_scope_options {
    size_t size;
    const char *default_name; /* with a name of NULL: made unique ("Conv", "Conv_1") */
    weir_reuse reuse;
    weir_initializer initializer; /* of variables that give none */
    weir_regularizer regularizer; /* of variables that give none; layers: of their weights */
    weir_dtype dtype;             /* 0: as the scope around, at the top float */
} weir_variable_scope_options;

/* A variable scope inside that of s, and a name scope of the same name (made unique) inside that of s. Opened twice,
 * names of variables are equal and names of nodes differ. */
WEIR_API weir_scope(weir_variable_scope)(weir_scope s, const char *name, const weir_variable_scope_options *options);

/* The variable scope of another scope under the name scope of s: variables keep their full names. */
WEIR_API weir_scope(weir_variable_scope_of)(weir_scope s, weir_scope other, const weir_variable_scope_options *options);

/* s, but variables are those that exist already. */
WEIR_API weir_scope weir_reusing_variables(weir_scope s);

/* Full name of the variable scope: "" at the top, "a/b". Lives as long as the graph. */
WEIR_API const char *weir_variable_scope_name(weir_scope s);

/* ---- Variables ---- */

typedef struct weir_variable_options {
    size_t size;
    weir_dtype dtype;             /* 0: the scope's, else float */
    weir_initializer initializer; /* none: the scope's, else Xavier for floating point and zeros */
    weir_regularizer regularizer; /* none: the scope's */
    bool no_regularizer;          /* not even the scope's */
    bool frozen;                  /* no optimizer changes it, unless it is told to */
    bool is_local;                /* in the collection local_variables: not saved, initialized apart */
    bool is_model;                /* in model_variables, too */
} weir_variable_options;

/* The variable of this name in the variable scope, new or shared by the scope's rule. Nodes "v/Initializer/...", "v",
 * "v/Assign", "v/read". Errors are TensorFlow's: "Variable a/v already exists, disallowed. ..." */
WEIR_API weir_output(weir_get_variable)(weir_scope s, const char *name, weir_shape shape,
                                        const weir_variable_options *options);

typedef struct weir_variable_from_options {
    size_t size;
    const char *name; /* NULL: "Variable"; made unique in the name scope */
    bool frozen;
    bool is_local;
} weir_variable_from_options;

/* tf.Variable: a variable that begins with this value, of known shape, and is not shared by name. */
WEIR_API weir_output(weir_variable_from)(weir_scope s, weir_output initial_value,
                                         const weir_variable_from_options *options);

/* What belongs to a variable, given by its value or its reference; null when that is no variable. Variables of imported
 * graphs are known by the names of these nodes. */
WEIR_API weir_output weir_variable_ref(weir_output variable);
WEIR_API weir_output weir_variable_value(weir_output variable);
WEIR_API weir_output weir_variable_initial_value(weir_output variable);
WEIR_API weir_node *weir_variable_initializer(weir_output variable);

/* Sets all variables of the graph to their initial values: NoOp "init"; local ones: "init_1" or so. */
WEIR_API weir_node *weir_initialize_variables(weir_scope s);
WEIR_API weir_node *weir_initialize_local_variables(weir_scope s);

/* The value of the graph's step counter: int64 "global_step", made when there is none. */
WEIR_API weir_output weir_global_step(weir_scope s);

/* ---- Devices: variables in one place, what computes with them in another ---- */

/* Where variables go, for weir_on_device_with. */
typedef struct weir_variables_on {
    const char *device;
} weir_variables_on;
#ifndef __cplusplus
#define WEIR_VARIABLES_ON(name) ((weir_variables_on){(name)})
#endif

/* weir_on_device_with(s, WEIR_VARIABLES_ON("/cpu:0"), "/gpu:%d", i): nodes go to this device and variables to the other.
 * What inner scopes choose stands, part by part. */
WEIR_API weir_scope weir_on_device_with(weir_scope s, weir_variables_on variables, const char *format, ...)
    WEIR_PRINTF(3, 4);

#ifndef __cplusplus
#define weir_uniform_initializer(...)                                                                                  \
    WEIR_VALUES_2_((weir_uniform_initializer), weir_initializer_options, __VA_ARGS__, )
#define weir_normal_initializer(...)                                                                                   \
    WEIR_VALUES_2_((weir_normal_initializer), weir_initializer_options, __VA_ARGS__, )
#define weir_truncated_normal_initializer(...)                                                                         \
    WEIR_VALUES_2_((weir_truncated_normal_initializer), weir_initializer_options, __VA_ARGS__, )
#define weir_variance_scaling_initializer(...)                                                                         \
    (weir_variance_scaling_initializer)(WEIR_OPTIONS_(weir_scaling_options, __VA_ARGS__))
#define weir_xavier_initializer(...) (weir_xavier_initializer)(WEIR_OPTIONS_(weir_initializer_options, __VA_ARGS__))
#define weir_xavier_normal_initializer(...)                                                                            \
    (weir_xavier_normal_initializer)(WEIR_OPTIONS_(weir_initializer_options, __VA_ARGS__))
#define WEIR_VALUES_2_(call, type, a, b, ...) call((a), (b), WEIR_OPTIONS_(type, __VA_ARGS__))

#define weir_variable_scope(...)                                                                                       \
    WEIR_CALL_1_((weir_variable_scope), weir_variable_scope_options, __VA_ARGS__, )
#define weir_variable_scope_of(...)                                                                                    \
    WEIR_CALL_1_((weir_variable_scope_of), weir_variable_scope_options, __VA_ARGS__, )
#define weir_get_variable(...) WEIR_CALL_2_((weir_get_variable), weir_variable_options, __VA_ARGS__, )
#define weir_variable_from(...) WEIR_CALL_1_((weir_variable_from), weir_variable_from_options, __VA_ARGS__, )
#endif

#ifdef __cplusplus
}
#endif

#endif
