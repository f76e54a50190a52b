/*
 * Schedules of the learning rate, and exponential moving averages.
 */
#include <math.h>

#include "train/train_state.h"

/* ---- Exponential decay ---- */

/* Whole numbers are integers in TensorFlow's programs, and cast. */
static weir_output period_of(weir_scope s, double period)
{
    if (period != floor(period) || fabs(period) > INT32_MAX)
        return weir_train_number(s, WEIR_FLOAT, period, "Cast/x");
    weir_scope inner = weir_in_scope(s, "Cast");
    weir_output number = weir_const(inner, WEIR_INT32_OF((int32_t)period), .name = "x");
    return weir_cast(inner, number, WEIR_FLOAT, .name = weir_scope_name(inner));
}

weir_output(weir_exponential_decay)(weir_scope s, double rate, weir_output step, double period, double decay,
                                    const weir_decay_options *options)
{
    if (step.node == NULL || s.record == NULL)
        return WEIR_NO_OUTPUT;
    bool is_staircase = options != NULL && options->staircase;
    const char *name = options != NULL && options->name != NULL ? options->name : "ExponentialDecay";
    weir_scope inner = weir_in_scope(s, "%s", name);
    weir_output first = weir_train_number(inner, WEIR_FLOAT, rate, "initial_learning_rate");
    weir_output whole = period_of(inner, period);
    weir_output factor = weir_train_number(weir_in_scope(inner, "Cast_1"), WEIR_FLOAT, decay, "x");
    weir_output at = weir_cast(inner, step, WEIR_FLOAT, .name = "Cast_2");
    weir_output exponent = weir_train_binary(inner, "RealDiv", at, whole, "truediv");
    if (is_staircase)
        exponent = weir_floor(inner, exponent);
    weir_output power = weir_train_binary(inner, "Pow", factor, exponent, "Pow");
    return weir_train_binary(inner, "Mul", first, power, weir_scope_name(inner));
}

/* ---- Moving averages ---- */

typedef struct shadow {
    struct shadow *next;
    weir_output value; /* of the variable, or the other output */
    weir_output average;
} shadow;

struct weir_moving_average {
    const char *name;
    double decay;
    weir_output num_updates;
    shadow *shadows;
};

weir_moving_average *(weir_exponential_moving_average)(weir_scope s, double decay,
                                                       const weir_moving_average_options *options)
{
    weir_moving_average *average = weir_train_take(s, sizeof *average);
    if (average == NULL)
        return NULL;
    average->name =
        weir_train_text(s, "%s", options != NULL && options->name != NULL ? options->name : "ExponentialMovingAverage");
    average->decay = decay;
    average->num_updates = options != NULL ? options->num_updates : WEIR_NO_OUTPUT;
    return average->name != NULL ? average : NULL;
}

static weir_output plain(weir_output output)
{
    weir_output value = weir_variable_value(output);
    return value.node != NULL ? value : output;
}

weir_output weir_moving_average_of(const weir_moving_average *average, weir_output value)
{
    value = plain(value);
    for (const shadow *at = average != NULL ? average->shadows : NULL; at != NULL; at = at->next) {
        if (weir_train_same(at->value, value))
            return at->average;
    }
    return WEIR_NO_OUTPUT;
}

/* The variable's value if it has one already, else what it begins with; context: the variable. */
static weir_output build_present_value(weir_scope s, weir_dtype dtype, weir_shape shape,
                                       const weir_initializer *initializer)
{
    (void)dtype;
    (void)shape;
    const weir_train_variable *variable = initializer->context;
    weir_output is_there = weir_is_variable_initialized(s, variable->ref);
    weir_scope inner = weir_in_scope(s, "cond");
    weir_node *present = weir_op(inner, "RefSwitch", WEIR_INPUTS(variable->ref, is_there), .name = "RefSwitch");
    weir_node *first = weir_op(inner, "Switch", WEIR_INPUTS(variable->initial_value, is_there), .name = "Switch");
    weir_output value = weir_identity(inner, weir_out(present, 1));
    return weir_out(weir_op(inner, "Merge", WEIR_INPUTS(weir_out(first, 0), value), .name = "Merge"), 0);
}

static weir_output make_shadow(weir_scope s, weir_moving_average *average, weir_output value)
{
    const weir_train_variable *variable = weir_train_find_variable(value);
    weir_initializer initializer = weir_zeros_initializer();
    if (variable != NULL && variable->initial_value.node != NULL)
        initializer = (weir_initializer){.build = build_present_value, .context = variable};
    shadow *kept = weir_train_take(s, sizeof *kept);
    if (kept == NULL)
        return WEIR_NO_OUTPUT;
    *kept = (shadow){average->shadows, plain(value), weir_train_make_slot(s, value, average->name, &initializer)};
    average->shadows = kept;
    if (variable != NULL)
        weir_collect_output(weir_scope_graph(s), WEIR_MOVING_AVERAGE_VARIABLES, variable->ref);
    return kept->average;
}

static weir_output number_plus(weir_scope s, double number, weir_output x)
{
    weir_scope inner = weir_in_scope(s, "add");
    weir_output left = weir_train_number(inner, WEIR_FLOAT, number, "x");
    return weir_train_binary(inner, "AddV2", left, x, weir_scope_name(inner));
}

/* min(decay, (1 + n) / (10 + n)) */
static weir_output make_decay(weir_scope s, const weir_moving_average *average)
{
    weir_output decay = weir_train_number(s, WEIR_FLOAT, average->decay, "decay");
    if (average->num_updates.node == NULL)
        return decay;
    weir_output count = weir_cast(s, plain(average->num_updates), WEIR_FLOAT, .name = "num_updates");
    weir_output above = number_plus(s, 1, count);
    weir_output ratio = weir_train_binary(s, "RealDiv", above, number_plus(s, 10, count), "truediv");
    return weir_train_binary(s, "Minimum", decay, ratio, "Minimum");
}

static weir_node *move(weir_scope s, weir_output average, weir_output value, weir_output decay)
{
    weir_output ref = weir_variable_ref(average);
    if (ref.node == NULL)
        return NULL;
    weir_dtype dtype = weir_dtype_base(weir_output_dtype(ref));
    weir_scope inner = weir_in_scope(s, "AssignMovingAvg");
    weir_scope rate_scope = weir_in_scope(inner, "sub");
    weir_output one = weir_train_number(rate_scope, WEIR_FLOAT, 1, "x");
    weir_output rate = weir_train_binary(rate_scope, "Sub", one, decay, weir_scope_name(rate_scope));
    rate = weir_cast(inner, rate, dtype);
    weir_output difference = weir_train_binary(inner, "Sub", average, value, "sub");
    weir_output step = weir_train_binary(inner, "Mul", difference, rate, "mul");
    return weir_assign_sub(weir_colocated_with(inner, ref.node), ref, step, .name = weir_scope_name(inner)).node;
}

weir_node *weir_moving_average_apply(weir_scope s, weir_moving_average *average, const weir_output *values, int count)
{
    if (average == NULL || s.record == NULL)
        return NULL;
    weir_node **moves = weir_train_take(s, (size_t)count * sizeof *moves);
    if (moves == NULL)
        return NULL;
    weir_scope free_scope = weir_after_nothing(s);
    for (int i = 0; i < count; i++) {
        if (values[i].node != NULL && weir_moving_average_of(average, values[i]).node == NULL &&
            make_shadow(free_scope, average, values[i]).node == NULL)
            return NULL;
    }
    weir_scope inner = weir_in_scope(s, "%s", average->name);
    weir_output decay = make_decay(inner, average);
    for (int i = 0; i < count; i++)
        moves[i] = move(inner, weir_moving_average_of(average, values[i]), plain(values[i]), decay);
    return weir_group(inner, moves, count, weir_scope_name(inner));
}
