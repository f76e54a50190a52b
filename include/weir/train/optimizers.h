/*
 * Optimizers, gradients as lists, clipping, schedules and moving averages, with TensorFlow's update rules, node names and
 * slot names ("w/Adam", "w/Adam_1", "w/Momentum", "beta1_power").
 *
 * Optimizers, gradient sets and averages belong to the graph of their scope: nothing to free. A failed call gives NULL,
 * and all functions take NULL and then do nothing.
 */
#ifndef WEIR_TRAIN_OPTIMIZERS_H
#define WEIR_TRAIN_OPTIMIZERS_H

#include <weir/gradients.h>
#include <weir/train/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_optimizer weir_optimizer;

typedef struct weir_optimizer_options {
    size_t size;
    const char *name;               /* NULL: "GradientDescent", "Momentum", "Adam" */
    double learning_rate;           /* 0: Adam 0.001; the others need one */
    weir_output learning_rate_from; /* a schedule: a float scalar instead of the number */
    double momentum;                /* of Momentum; 0 means 0.9 */
    bool nesterov;
    double beta1, beta2, epsilon; /* of Adam; 0 means 0.9, 0.999, 1e-8 */
} weir_optimizer_options;

WEIR_API weir_optimizer *(weir_gradient_descent)(weir_scope s, const weir_optimizer_options *options);
WEIR_API weir_optimizer *(weir_momentum)(weir_scope s, const weir_optimizer_options *options);
WEIR_API weir_optimizer *(weir_adam)(weir_scope s, const weir_optimizer_options *options);

/* The optimizer of a name ("sgd", "momentum", "adam") with defaults otherwise: for command lines. */
WEIR_API weir_optimizer *weir_optimizer_named(weir_scope s, const char *name, double learning_rate);

/* ---- Gradients of a loss ---- */

/* Gradients and their variables, in the order of the variables. */
typedef struct weir_gradient_set weir_gradient_set;

typedef struct weir_minimize_options {
    size_t size;
    const char *name;             /* of the train op; NULL: the optimizer's */
    weir_output global_step;      /* counted up after the updates; null: none */
    const weir_output *variables; /* NULL: all trainable ones of the graph */
    int num_variables;
    bool colocate; /* gradients are computed where the forward nodes are */
    bool no_gate;  /* TensorFlow's GATE_NONE instead of GATE_OP */
} weir_minimize_options;

/* Gradients of loss, a floating point scalar (or a sum of all elements). */
WEIR_API weir_gradient_set *(weir_compute_gradients)(weir_scope s, weir_optimizer *optimizer, weir_output loss,
                                                     const weir_minimize_options *options);

WEIR_API int weir_gradient_set_count(const weir_gradient_set *set);
WEIR_API weir_output weir_gradient_set_variable(const weir_gradient_set *set, int index); /* its value */
WEIR_API weir_gradient_value weir_gradient_set_value(const weir_gradient_set *set, int index);

/* A set with gradients of your own: count of them, each NULL node where there is none. What set knows of the layers that
 * it trains goes along. */
WEIR_API weir_gradient_set *weir_gradient_set_with(weir_scope s, const weir_gradient_set *set,
                                                   const weir_gradient_value *gradients, int count);

/* One update of all variables that have a gradient: the train op. It contains what the layers under the loss have to
 * update besides (moving statistics of batch norm). */
WEIR_API weir_node *(weir_apply_gradients)(weir_scope s, weir_optimizer *optimizer, const weir_gradient_set *set,
                                           const weir_minimize_options *options);

/* Both. Warns in the log when regularization losses were collected that are no part of loss. */
WEIR_API weir_node *(weir_minimize)(weir_scope s, weir_optimizer *optimizer, weir_output loss,
                                    const weir_minimize_options *options);

/* A slot of the optimizer for a variable: Adam "m", "v"; Momentum "momentum". Null when there is none (yet). */
WEIR_API weir_output weir_optimizer_slot(const weir_optimizer *optimizer, weir_output variable, const char *slot);

/* ---- Clipping ---- */

/* x * clip / max(norm, clip) */
WEIR_API weir_output weir_clip_by_norm(weir_scope s, weir_output x, double clip);
/* sqrt of the sum of squares of all */
WEIR_API weir_output weir_global_norm(weir_scope s, const weir_output *xs, int count);
/* All scaled by the same factor; null ones stay null. Any infinite or NaN element makes all NaN. Returns the norm. */
WEIR_API weir_output weir_clip_by_global_norm(weir_scope s, const weir_output *xs, int count, double clip,
                                              weir_output *clipped);

/* The same for the gradients of a set. */
WEIR_API weir_gradient_set *weir_clip_gradients_by_value(weir_scope s, const weir_gradient_set *set, double low,
                                                         double high);
WEIR_API weir_gradient_set *weir_clip_gradients_by_norm(weir_scope s, const weir_gradient_set *set, double clip);
WEIR_API weir_gradient_set *weir_clip_gradients_by_global_norm(weir_scope s, const weir_gradient_set *set, double clip);

/* ---- Schedules ---- */

typedef struct weir_decay_options {
    size_t size;
    const char *name; /* NULL: "ExponentialDecay" */
    bool staircase;   /* whole numbers of periods only */
} weir_decay_options;

/* rate * decay^(step / period) in float. step: a scalar of any number type. */
WEIR_API weir_output(weir_exponential_decay)(weir_scope s, double rate, weir_output step, double period, double decay,
                                             const weir_decay_options *options);

/* ---- Moving averages ---- */

typedef struct weir_moving_average weir_moving_average;

typedef struct weir_moving_average_options {
    size_t size;
    const char *name;        /* NULL: "ExponentialMovingAverage" */
    weir_output num_updates; /* a step: decay becomes min(decay, (1 + n) / (10 + n)); null: decay alone */
} weir_moving_average_options;

WEIR_API weir_moving_average *(weir_exponential_moving_average)(weir_scope s, double decay,
                                                                const weir_moving_average_options *options);

/* Makes a shadow "<name>/ExponentialMovingAverage" of each variable (beginning with its value) or other output (beginning
 * with 0). Returns the op that updates them all: shadow -= (shadow - value) * (1 - decay). To average after an update,
 * build it in weir_after(s, train). */
WEIR_API weir_node *weir_moving_average_apply(weir_scope s, weir_moving_average *average, const weir_output *values,
                                              int count);

/* The shadow's value; null when there is none. */
WEIR_API weir_output weir_moving_average_of(const weir_moving_average *average, weir_output value);

#ifndef __cplusplus
#define weir_gradient_descent(...) WEIR_CALL_0_((weir_gradient_descent), weir_optimizer_options, __VA_ARGS__, )
#define weir_momentum(...) WEIR_CALL_0_((weir_momentum), weir_optimizer_options, __VA_ARGS__, )
#define weir_adam(...) WEIR_CALL_0_((weir_adam), weir_optimizer_options, __VA_ARGS__, )
#define weir_compute_gradients(...) WEIR_CALL_2_((weir_compute_gradients), weir_minimize_options, __VA_ARGS__, )
#define weir_apply_gradients(...) WEIR_CALL_2_((weir_apply_gradients), weir_minimize_options, __VA_ARGS__, )
#define weir_minimize(...) WEIR_CALL_2_((weir_minimize), weir_minimize_options, __VA_ARGS__, )
#define weir_exponential_decay(...) WEIR_CALL_4_((weir_exponential_decay), weir_decay_options, __VA_ARGS__, )
#define weir_exponential_moving_average(...)                                                                           \
    WEIR_CALL_1_((weir_exponential_moving_average), weir_moving_average_options, __VA_ARGS__, )
#endif

#ifdef __cplusplus
}
#endif

#endif
