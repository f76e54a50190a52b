/*
 * Optimizers: slots, hyperparameters, and the train op, in TensorFlow's order of nodes and with its names.
 */
#include "train/optimizer.h"

#include <stdlib.h>

static const weir_minimize_options no_options = {0};

/* ---- Making ---- */

static weir_optimizer *make(weir_scope s, weir_optimizer_kind kind, const char *name,
                            const weir_optimizer_options *options)
{
    weir_optimizer *optimizer = weir_train_take(s, sizeof *optimizer);
    if (optimizer == NULL)
        return NULL;
    optimizer->kind = kind;
    if (options != NULL)
        optimizer->options = *options;
    weir_optimizer_options *given = &optimizer->options;
    optimizer->name = weir_train_text(s, "%s", given->name != NULL ? given->name : name);
    if (given->learning_rate == 0 && given->learning_rate_from.node == NULL) {
        given->learning_rate = 0.001;
        if (kind != WEIR_ADAM) {
            (void)weir_scope_fail(
                s, weir_fail(WEIR_INVALID_ARGUMENT, "%s needs a .learning_rate or .learning_rate_from", name));
            return NULL;
        }
    }
    given->momentum = given->momentum == 0 ? 0.9 : given->momentum;
    given->beta1 = given->beta1 == 0 ? 0.9 : given->beta1;
    given->beta2 = given->beta2 == 0 ? 0.999 : given->beta2;
    given->epsilon = given->epsilon == 0 ? 1e-8 : given->epsilon;
    return optimizer->name != NULL ? optimizer : NULL;
}

weir_optimizer *(weir_gradient_descent)(weir_scope s, const weir_optimizer_options *options)
{
    return make(s, WEIR_SGD, "GradientDescent", options);
}

weir_optimizer *(weir_momentum)(weir_scope s, const weir_optimizer_options *options)
{
    return make(s, WEIR_MOMENTUM, "Momentum", options);
}

weir_optimizer *(weir_adam)(weir_scope s, const weir_optimizer_options *options)
{
    return make(s, WEIR_ADAM, "Adam", options);
}

weir_optimizer *weir_optimizer_named(weir_scope s, const char *name, double learning_rate)
{
    if (strcmp(name, "sgd") == 0)
        return weir_gradient_descent(s, .learning_rate = learning_rate);
    if (strcmp(name, "momentum") == 0)
        return weir_momentum(s, .learning_rate = learning_rate);
    if (strcmp(name, "adam") == 0)
        return weir_adam(s, .learning_rate = learning_rate);
    (void)weir_scope_fail(
        s, weir_fail(WEIR_INVALID_ARGUMENT, "'%s' is no optimizer; there are sgd, momentum, adam", name));
    return NULL;
}

/* ---- Slots ---- */

static weir_output find_slot(const weir_optimizer *optimizer, weir_output ref, const char *name)
{
    for (const weir_slot *slot = optimizer->slots; slot != NULL; slot = slot->next) {
        if (weir_train_same(slot->primary, ref) && strcmp(slot->name, name) == 0)
            return slot->value;
    }
    return WEIR_NO_OUTPUT;
}

weir_output weir_optimizer_slot(const weir_optimizer *optimizer, weir_output variable, const char *slot)
{
    return optimizer != NULL ? find_slot(optimizer, weir_variable_ref(variable), slot) : WEIR_NO_OUTPUT;
}

static void make_slot(weir_scope s, weir_optimizer *optimizer, weir_output variable, const char *name)
{
    weir_output ref = weir_variable_ref(variable);
    if (find_slot(optimizer, ref, name).node != NULL)
        return;
    weir_initializer zeros = weir_zeros_initializer();
    weir_slot *slot = weir_train_take(s, sizeof *slot);
    if (slot == NULL)
        return;
    *slot = (weir_slot){optimizer->slots, ref, name, weir_train_make_slot(s, variable, optimizer->name, &zeros)};
    optimizer->slots = slot;
}

/* Powers of the decay rates, placed with the variable whose name comes first. */
static void make_powers(weir_scope s, weir_optimizer *optimizer, const weir_gradient_set *set)
{
    static const char *const names[] = {"beta1_power", "beta2_power"};
    const double numbers[] = {optimizer->options.beta1, optimizer->options.beta2};
    weir_node *first = NULL;
    for (int i = 0; i < set->count; i++) {
        weir_node *node = set->gradients[i].values.node != NULL ? weir_variable_ref(set->variables[i]).node : NULL;
        if (node != NULL && (first == NULL || strcmp(weir_node_name(node), weir_node_name(first)) < 0))
            first = node;
    }
    for (int i = 0; i < 2 && first != NULL; i++) {
        if (optimizer->powers[i].node != NULL)
            continue;
        weir_train_new_variable wish = {.name = names[i],
                                        .dtype = weir_dtype_base(weir_output_dtype(weir_out(first, 0))),
                                        .shape = WEIR_SCALAR,
                                        .is_number = true,
                                        .number = numbers[i],
                                        .is_placed = true,
                                        .is_frozen = true};
        weir_train_variable *power = weir_train_make_variable(weir_colocated_with(s, first), &wish);
        optimizer->powers[i] = power != NULL ? power->value : WEIR_NO_OUTPUT;
    }
}

static void make_slots(weir_scope s, weir_optimizer *optimizer, const weir_gradient_set *set)
{
    if (optimizer->kind == WEIR_ADAM)
        make_powers(s, optimizer, set);
    for (int i = 0; i < set->count; i++) {
        if (set->gradients[i].values.node == NULL || optimizer->kind == WEIR_SGD)
            continue;
        if (optimizer->kind == WEIR_MOMENTUM) {
            make_slot(s, optimizer, set->variables[i], "momentum");
            continue;
        }
        make_slot(s, optimizer, set->variables[i], "m");
        make_slot(s, optimizer, set->variables[i], "v");
    }
}

/* ---- Updates ---- */

/* Hyperparameters in the order in which the optimizer has them. */
typedef struct rates {
    weir_output rate;
    weir_output momentum;
    weir_output beta1, beta2, epsilon;
} rates;

static rates make_rates(weir_scope s, const weir_optimizer *optimizer)
{
    const weir_optimizer_options *options = &optimizer->options;
    rates made = {.rate = options->learning_rate_from};
    if (made.rate.node == NULL)
        made.rate = weir_train_number(s, WEIR_FLOAT, options->learning_rate, "learning_rate");
    if (optimizer->kind == WEIR_MOMENTUM)
        made.momentum = weir_train_number(s, WEIR_FLOAT, options->momentum, "momentum");
    if (optimizer->kind == WEIR_ADAM) {
        made.beta1 = weir_train_number(s, WEIR_FLOAT, options->beta1, "beta1");
        made.beta2 = weir_train_number(s, WEIR_FLOAT, options->beta2, "beta2");
        made.epsilon = weir_train_number(s, WEIR_FLOAT, options->epsilon, "epsilon");
    }
    return made;
}

static weir_node *apply_momentum(weir_scope s, const weir_optimizer *optimizer, weir_output ref, const rates *given,
                                 weir_output gradient)
{
    weir_dtype dtype = weir_dtype_base(weir_output_dtype(ref));
    weir_output slot = weir_variable_ref(find_slot(optimizer, ref, "momentum"));
    weir_output rate = weir_cast(s, given->rate, dtype);
    weir_output momentum = weir_cast(s, given->momentum, dtype);
    return weir_op(s, "ApplyMomentum", WEIR_INPUTS(ref, slot, rate, gradient, momentum),
                   WEIR_ATTRS(WEIR_ATTR_B("use_nesterov", optimizer->options.nesterov)));
}

static weir_node *apply_adam(weir_scope s, const weir_optimizer *optimizer, weir_output ref, const rates *given,
                             weir_output gradient)
{
    weir_dtype dtype = weir_dtype_base(weir_output_dtype(ref));
    weir_output m = weir_variable_ref(find_slot(optimizer, ref, "m"));
    weir_output v = weir_variable_ref(find_slot(optimizer, ref, "v"));
    return weir_op(s, "ApplyAdam",
                   WEIR_INPUTS(ref, m, v, weir_cast(s, optimizer->powers[0], dtype),
                               weir_cast(s, optimizer->powers[1], dtype), weir_cast(s, given->rate, dtype),
                               weir_cast(s, given->beta1, dtype), weir_cast(s, given->beta2, dtype),
                               weir_cast(s, given->epsilon, dtype), gradient));
}

static weir_node *apply_descent(weir_scope s, weir_output ref, const rates *given, weir_output gradient)
{
    weir_output rate = weir_cast(s, given->rate, weir_dtype_base(weir_output_dtype(ref)));
    return weir_op(s, "ApplyGradientDescent", WEIR_INPUTS(ref, rate, gradient));
}

/* Gradients of rows are made whole: the engine has no updates of rows yet. */
static weir_node *update(weir_scope s, const weir_optimizer *optimizer, weir_output variable, const rates *given,
                         weir_gradient_value gradient)
{
    weir_output ref = weir_variable_ref(variable);
    weir_scope inner = weir_colocated_with(weir_in_scope(s, "update_%s", weir_node_name(ref.node)), ref.node);
    weir_output whole = weir_gradient_dense(inner, gradient);
    switch (optimizer->kind) {
    case WEIR_SGD:
        return apply_descent(inner, ref, given, whole);
    case WEIR_MOMENTUM:
        return apply_momentum(inner, optimizer, ref, given, whole);
    default:
        return apply_adam(inner, optimizer, ref, given, whole);
    }
}

/* The powers advance when all updates have read them. */
static int advance_powers(weir_scope s, const weir_optimizer *optimizer, const rates *given, weir_node **updates,
                          int count)
{
    const weir_output betas[] = {given->beta1, given->beta2};
    weir_scope after = weir_after_nodes(s, updates, count);
    for (int i = 0; i < 2; i++) {
        weir_output ref = weir_variable_ref(optimizer->powers[i]);
        weir_scope beside = weir_colocated_with(after, ref.node);
        weir_output beta = weir_cast(beside, betas[i], weir_dtype_base(weir_output_dtype(ref)));
        weir_output product = weir_multiply(beside, optimizer->powers[i], beta, .name = "mul");
        updates[count + i] = weir_assign(beside, ref, product).node;
    }
    return count + 2;
}

/* The train op with a step: NoOp "update", then the step plus one. */
static weir_node *count_step(weir_scope s, weir_output global_step, weir_node **updates, int count)
{
    weir_node *done = weir_group(s, updates, count, "update");
    weir_output ref = weir_variable_ref(global_step);
    if (ref.node == NULL || done == NULL) {
        if (done != NULL)
            (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "The global step '%s' is no variable",
                                               weir_node_name(global_step.node)));
        return NULL;
    }
    weir_scope after = weir_after(weir_colocated_with(s, ref.node), done);
    weir_output one = weir_train_number(after, weir_output_dtype(ref), 1, "value");
    return weir_assign_add(after, ref, one, .name = weir_scope_name(s)).node;
}

static weir_status no_gradients(const weir_gradient_set *set)
{
    char names[512] = "";
    size_t at = 0;
    for (int i = 0; i < set->count && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s'%s'", i > 0 ? ", " : "",
                               weir_node_name(weir_variable_ref(set->variables[i]).node));
    return weir_fail(WEIR_INVALID_ARGUMENT,
                     "No gradients provided for any variable, check your graph for ops that do not support gradients, "
                     "between variables [%s] and loss %s.",
                     names, set->loss);
}

static weir_node *build_train(weir_scope s, weir_optimizer *optimizer, const weir_gradient_set *set,
                              const weir_minimize_options *options, weir_node **updates)
{
    make_slots(weir_after_nothing(s), optimizer, set);
    weir_scope inner = weir_in_scope(s, "%s", options->name != NULL ? options->name : optimizer->name);
    rates given = make_rates(inner, optimizer);
    int count = 0;
    for (int i = 0; i < set->count; i++) {
        if (set->gradients[i].values.node != NULL)
            updates[count++] = update(inner, optimizer, set->variables[i], &given, set->gradients[i]);
    }
    if (optimizer->kind == WEIR_ADAM)
        count = advance_powers(inner, optimizer, &given, updates, count);
    for (int i = 0; i < set->num_updates; i++)
        updates[count++] = set->updates[i];
    if (options->global_step.node != NULL)
        return count_step(inner, options->global_step, updates, count);
    return weir_group(inner, updates, count, weir_scope_name(inner));
}

weir_node *(weir_apply_gradients)(weir_scope s, weir_optimizer *optimizer, const weir_gradient_set *set,
                                  const weir_minimize_options *options)
{
    options = options != NULL ? options : &no_options;
    if (s.record == NULL || optimizer == NULL || set == NULL)
        return NULL;
    int count = 0;
    for (int i = 0; i < set->count; i++)
        count += set->gradients[i].values.node != NULL;
    if (count == 0) {
        if (weir_ok(weir_graph_error(weir_scope_graph(s))))
            (void)weir_scope_fail(s, no_gradients(set));
        return NULL;
    }
    weir_node **updates = calloc((size_t)set->count + (size_t)set->num_updates + 2, sizeof *updates);
    if (updates == NULL) {
        (void)weir_scope_fail(s, weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: %d updates", set->count));
        return NULL;
    }
    weir_node *train = build_train(s, optimizer, set, options, updates);
    free(updates);
    if (train == NULL)
        return NULL;
    weir_collect_node(weir_scope_graph(s), WEIR_TRAIN_OP, train);
    weir_train_warn_of_updates(s, train);
    return train;
}

weir_node *(weir_minimize)(weir_scope s, weir_optimizer *optimizer, weir_output loss,
                           const weir_minimize_options *options)
{
    return (weir_apply_gradients)(s, optimizer, (weir_compute_gradients)(s, optimizer, loss, options), options);
}
