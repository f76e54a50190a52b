/*
 * Variables: their nodes, the store in which they are found by name, and what belongs to them.
 */
#include <stdio.h>

#include "train/train_state.h"

/* ---- Finding ---- */

static bool is_variable_node(const weir_node *node)
{
    const char *op = weir_node_op(node);
    return strcmp(op, "VariableV2") == 0 || strcmp(op, "Variable") == 0;
}

static weir_train_variable *find_entered(const weir_train_state *state, weir_output output)
{
    for (int i = 0; i < state->num_variables; i++) {
        weir_train_variable *variable = state->variables[i];
        if (weir_train_same(variable->ref, output) || weir_train_same(variable->value, output))
            return variable;
    }
    return NULL;
}

static weir_train_variable *enter(weir_scope s, const weir_train_variable *variable)
{
    weir_train_state *state = weir_train_state_of(s);
    weir_train_variable *kept = state != NULL ? weir_train_take(s, sizeof *kept) : NULL;
    if (kept == NULL ||
        !weir_train_grow(s, &state->variables, state->num_variables, &state->room_for_variables, sizeof kept))
        return NULL;
    *kept = *variable;
    state->variables[state->num_variables++] = kept;
    return kept;
}

/* "<name>/<part>" if that is a node of this op with the variable as its first input. */
static weir_node *find_part(weir_scope s, weir_node *ref, const char *part, const char *op)
{
    const char *name = weir_train_text(s, "%s/%s", weir_node_name(ref), part);
    weir_node *node = name != NULL ? weir_graph_find(weir_scope_graph(s), name) : NULL;
    bool fits = node != NULL && strcmp(weir_node_op(node), op) == 0 && weir_node_input(node, 0).node == ref;
    return fits ? node : NULL;
}

/* A variable that was not made here: of an imported graph, or by weir_variable_v2. */
static weir_train_variable *enter_foreign(weir_graph *graph, weir_node *ref)
{
    weir_scope s = weir_root(graph);
    weir_node *assign = find_part(s, ref, "Assign", "Assign");
    weir_node *read = find_part(s, ref, "read", "Identity");
    weir_train_variable variable = {.name = weir_node_name(ref),
                                    .ref = {ref, 0},
                                    .value = read != NULL ? weir_out(read, 0) : weir_out(ref, 0),
                                    .initial_value = assign != NULL ? weir_node_input(assign, 1) : WEIR_NO_OUTPUT,
                                    .initializer = assign};
    return enter(s, &variable);
}

weir_train_variable *weir_train_find_variable(weir_output variable)
{
    if (variable.node == NULL || variable.index != 0)
        return NULL;
    weir_graph *graph = weir_node_graph(variable.node);
    weir_train_state *state = weir_train_state_of(weir_root(graph));
    if (state == NULL)
        return NULL;
    weir_train_variable *found = find_entered(state, variable);
    if (found != NULL)
        return found;
    weir_node *ref = variable.node;
    if (strcmp(weir_node_op(ref), "Identity") == 0)
        ref = weir_node_input(ref, 0).node;
    if (ref == NULL || !is_variable_node(ref))
        return NULL;
    found = find_entered(state, weir_out(ref, 0));
    return found != NULL ? found : enter_foreign(graph, ref);
}

weir_train_variable *weir_train_find_shared(const weir_train_state *state, const char *name)
{
    for (int i = 0; i < state->num_variables; i++) {
        if (state->variables[i]->is_shared && strcmp(state->variables[i]->name, name) == 0)
            return state->variables[i];
    }
    return NULL;
}

weir_output weir_variable_ref(weir_output variable)
{
    const weir_train_variable *found = weir_train_find_variable(variable);
    return found != NULL ? found->ref : WEIR_NO_OUTPUT;
}

weir_output weir_variable_value(weir_output variable)
{
    const weir_train_variable *found = weir_train_find_variable(variable);
    return found != NULL ? found->value : WEIR_NO_OUTPUT;
}

weir_output weir_variable_initial_value(weir_output variable)
{
    const weir_train_variable *found = weir_train_find_variable(variable);
    return found != NULL ? found->initial_value : WEIR_NO_OUTPUT;
}

weir_node *weir_variable_initializer(weir_output variable)
{
    const weir_train_variable *found = weir_train_find_variable(variable);
    return found != NULL ? found->initializer : NULL;
}

/* ---- Making ---- */

/* Nodes from number first on are placed with a node of this name, which need not be there yet. */
static void place_with(weir_scope s, int first, const char *name)
{
    weir_graph *graph = weir_scope_graph(s);
    const char *group = weir_train_text(s, "loc:@%s", name);
    if (group == NULL)
        return;
    const weir_bytes groups[] = {{group, strlen(group)}};
    for (int i = first; i < weir_graph_num_nodes(graph); i++)
        weir_node_set_attr(weir_graph_node(graph, i), &WEIR_ATTR_STRINGS("_class", groups, 1));
}

/* The initial value. What an initializer makes stands under "Initializer/" without a device of its own: it will be placed
 * with the variable. */
static weir_output build_initial_value(weir_scope inside, const weir_train_new_variable *wish)
{
    if (wish->initializer == NULL)
        return wish->is_number ? weir_train_number(inside, wish->dtype, wish->number, "initial_value")
                               : wish->initial_value;
    weir_scope place = weir_in_scope(wish->is_placed ? inside : weir_on_any_device(inside), "Initializer");
    return wish->initializer->build(place, wish->dtype, wish->shape, wish->initializer);
}

static void collect(weir_graph *graph, const weir_train_new_variable *wish, weir_output ref)
{
    weir_collect_output(graph, wish->is_local ? WEIR_LOCAL_VARIABLES : WEIR_VARIABLES, ref);
    if (!wish->is_frozen && !wish->is_local)
        weir_collect_output(graph, WEIR_TRAINABLE_VARIABLES, ref);
    if (wish->is_model)
        weir_collect_output(graph, WEIR_MODEL_VARIABLES, ref);
}

weir_train_variable *weir_train_make_variable(weir_scope s, const weir_train_new_variable *wish)
{
    weir_graph *graph = weir_scope_graph(s);
    weir_scope inside = weir_in_scope(weir_after_nothing(s), "%s", wish->name);
    if (inside.record == NULL)
        return NULL;
    const char *name = weir_scope_name(inside);
    int first = weir_graph_num_nodes(graph);
    weir_output initial = build_initial_value(inside, wish);
    weir_output ref =
        initial.node != NULL ? weir_variable_v2(inside, wish->dtype, wish->shape, .name = name) : WEIR_NO_OUTPUT;
    if (ref.node == NULL)
        return NULL;
    if (wish->initializer != NULL && !wish->is_placed)
        place_with(s, first, weir_node_name(ref.node));
    weir_scope beside = weir_colocated_with(inside, ref.node);
    weir_node *assign = weir_assign(beside, ref, initial).node;
    weir_output value = weir_identity(beside, ref, .name = "read");
    if (assign == NULL || value.node == NULL)
        return NULL;
    collect(graph, wish, ref);
    weir_train_variable variable = {.name = weir_node_name(ref.node),
                                    .ref = ref,
                                    .value = value,
                                    .initial_value = initial,
                                    .initializer = assign,
                                    .is_shared = wish->is_shared};
    return enter(s, &variable);
}

/* ---- tf.get_variable ---- */

/* TensorFlow's texts name types and shapes as Python does. */
static const char *python_type(weir_dtype dtype)
{
    switch (weir_dtype_base(dtype)) {
    case WEIR_FLOAT:
        return "float32";
    case WEIR_DOUBLE:
        return "float64";
    case WEIR_HALF:
        return "float16";
    default:
        return weir_dtype_name(weir_dtype_base(dtype));
    }
}

static char *python_shape(weir_shape shape, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < shape.rank && at < size; i++) {
        if (shape.dims[i] == WEIR_UNKNOWN_DIM)
            at += (size_t)snprintf(text + at, size - at, "%s?", i > 0 ? ", " : "");
        else
            at += (size_t)snprintf(text + at, size - at, "%s%lld", i > 0 ? ", " : "", (long long)shape.dims[i]);
    }
    if (at < size)
        snprintf(text + at, size - at, shape.rank == 1 ? ",)" : ")");
    return text;
}

static weir_status check_sharing(const weir_train_variable *found, weir_shape shape, weir_dtype dtype)
{
    char wished[WEIR_SHAPE_TEXT_SIZE], there[WEIR_SHAPE_TEXT_SIZE];
    weir_shape found_shape = weir_output_shape(found->ref);
    weir_dtype found_type = weir_dtype_base(weir_output_dtype(found->ref));
    if (!weir_shape_compatible(found_shape, shape))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Trying to share variable %s, but specified shape %s and found shape %s.", found->name,
                         python_shape(shape, wished, sizeof wished), python_shape(found_shape, there, sizeof there));
    if (found_type != dtype)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Trying to share variable %s, but specified dtype %s and found dtype %s_ref.", found->name,
                         python_type(dtype), python_type(found_type));
    return WEIR_STATUS_OK;
}

/* The existing variable, if the rule lets it be shared; failures say what does not fit. */
static weir_status check_existing(const weir_scope_rule *rule, const weir_train_variable *found, const char *name,
                                  weir_shape shape, weir_dtype dtype)
{
    if (found == NULL && rule->reuse == WEIR_REUSE)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Variable %s does not exist, or was not created with tf.get_variable(). Did you mean to set "
                         "reuse=tf.AUTO_REUSE in VarScope?",
                         name);
    if (found != NULL && rule->reuse == WEIR_INHERIT_REUSE)
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Variable %s already exists, disallowed. Did you mean to set reuse=True or "
                         "reuse=tf.AUTO_REUSE in VarScope?",
                         name);
    if (found != NULL)
        return check_sharing(found, shape, dtype);
    if (!weir_shape_known(shape)) {
        char text[WEIR_SHAPE_TEXT_SIZE];
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "Shape of a new variable (%s) must be fully defined, but instead was %s.", name,
                         python_shape(shape, text, sizeof text));
    }
    return WEIR_STATUS_OK;
}

static weir_initializer default_initializer(weir_dtype dtype)
{
    return weir_train_is_float(dtype) ? weir_xavier_initializer(.seed = {0}) : weir_zeros_initializer();
}

static void regularize(weir_scope s, const weir_train_variable *variable, const weir_regularizer *regularizer)
{
    if (regularizer->build == NULL)
        return;
    weir_scope place = weir_colocated_with(weir_in_scope(s, "%s/Regularizer/", variable->name), variable->ref.node);
    weir_output loss = regularizer->build(place, variable->value, regularizer);
    weir_collect_output(weir_scope_graph(s), WEIR_REGULARIZATION_LOSSES, loss);
}

/* Top level of names, but the scope's device. */
static weir_scope variable_place(weir_scope s)
{
    return weir_after_nothing(weir_in_scope(s, "%s", ""));
}

weir_output(weir_get_variable)(weir_scope s, const char *name, weir_shape shape, const weir_variable_options *options)
{
    weir_train_state *state = weir_train_state_of(s);
    const weir_scope_rule *rule = weir_train_rule(s);
    if (state == NULL || rule == NULL)
        return WEIR_NO_OUTPUT;
    weir_variable_options given = options != NULL ? *options : (weir_variable_options){0};
    weir_dtype dtype = given.dtype != WEIR_INVALID_DTYPE ? given.dtype : rule->dtype;
    if (dtype == WEIR_INVALID_DTYPE)
        dtype = WEIR_FLOAT;
    const char *full = weir_train_text(s, "%s%s%s", rule->name, rule->name[0] != '\0' ? "/" : "", name);
    if (full == NULL)
        return WEIR_NO_OUTPUT;
    weir_train_variable *found = weir_train_find_shared(state, full);
    if (!weir_ok(weir_scope_fail(s, check_existing(rule, found, full, shape, dtype))))
        return WEIR_NO_OUTPUT;
    if (found != NULL)
        return found->value;
    weir_initializer initializer = given.initializer.build != NULL ? given.initializer : rule->initializer;
    if (initializer.build == NULL)
        initializer = default_initializer(dtype);
    weir_train_new_variable wish = {.name = full,
                                    .dtype = dtype,
                                    .shape = shape,
                                    .initializer = &initializer,
                                    .is_shared = true,
                                    .is_frozen = given.frozen,
                                    .is_local = given.is_local,
                                    .is_model = given.is_model};
    weir_train_variable *made = weir_train_make_variable(variable_place(s), &wish);
    if (made == NULL)
        return WEIR_NO_OUTPUT;
    made->name = full; /* that of the store; the node's has a number when an op had it before */
    if (!given.no_regularizer)
        regularize(variable_place(s), made, given.regularizer.build != NULL ? &given.regularizer : &rule->regularizer);
    return made->value;
}

weir_output(weir_variable_from)(weir_scope s, weir_output initial_value, const weir_variable_from_options *options)
{
    weir_variable_from_options given = options != NULL ? *options : (weir_variable_from_options){0};
    if (s.record == NULL || initial_value.node == NULL)
        return WEIR_NO_OUTPUT;
    weir_train_new_variable wish = {.name = given.name != NULL ? given.name : "Variable",
                                    .dtype = weir_dtype_base(weir_output_dtype(initial_value)),
                                    .shape = weir_output_shape(initial_value),
                                    .initial_value = initial_value,
                                    .is_frozen = given.frozen,
                                    .is_local = given.is_local};
    if (!weir_shape_known(wish.shape)) {
        char text[WEIR_SHAPE_TEXT_SIZE];
        (void)weir_scope_fail(
            s, weir_fail(WEIR_INVALID_ARGUMENT, "initial_value must have a shape specified: %s, of '%s'",
                         weir_shape_text(wish.shape, text, sizeof text), weir_node_name(initial_value.node)));
        return WEIR_NO_OUTPUT;
    }
    weir_train_variable *made = weir_train_make_variable(s, &wish);
    return made != NULL ? made->value : WEIR_NO_OUTPUT;
}

/* ---- Initialization ---- */

static weir_node *initialize(weir_scope s, const char *key)
{
    weir_graph *graph = weir_scope_graph(s);
    if (graph == NULL)
        return NULL;
    int count = weir_collection_count(graph, key, NULL);
    weir_item *items = weir_train_take(s, (size_t)count * sizeof *items);
    weir_node **assigns = weir_train_take(s, (size_t)count * sizeof *assigns);
    if (items == NULL || assigns == NULL)
        return NULL;
    count = weir_collection_items(graph, key, NULL, items, count);
    int used = 0;
    for (int i = 0; i < count; i++) {
        weir_node *assign = weir_variable_initializer(items[i].output);
        if (assign != NULL)
            assigns[used++] = assign;
    }
    return weir_group(s, assigns, used, "init");
}

weir_node *weir_initialize_variables(weir_scope s)
{
    return initialize(s, WEIR_VARIABLES);
}

weir_node *weir_initialize_local_variables(weir_scope s)
{
    return initialize(s, WEIR_LOCAL_VARIABLES);
}

/* ---- The step counter ---- */

static weir_output check_step(weir_scope s, weir_output step)
{
    weir_output value = weir_variable_value(step);
    if (value.node == NULL)
        value = step;
    weir_dtype dtype = weir_dtype_base(weir_output_dtype(value));
    if (dtype == WEIR_INT64 || dtype == WEIR_INT32)
        return value;
    (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "Existing \"global_step\" does not have integer type: %s",
                                       weir_dtype_name(dtype)));
    return WEIR_NO_OUTPUT;
}

weir_output weir_global_step(weir_scope s)
{
    weir_graph *graph = weir_scope_graph(s);
    if (graph == NULL)
        return WEIR_NO_OUTPUT;
    weir_item item;
    if (weir_collection_items(graph, WEIR_GLOBAL_STEP, NULL, &item, 1) == 1)
        return check_step(s, item.output);
    weir_node *named = weir_graph_find(graph, "global_step");
    if (named != NULL)
        return check_step(s, weir_out(named, 0));
    weir_output step = weir_get_variable(s, "global_step", WEIR_SCALAR, .dtype = WEIR_INT64, .frozen = true,
                                         .initializer = weir_zeros_initializer(), .no_regularizer = true);
    weir_collect_output(graph, WEIR_GLOBAL_STEP, weir_variable_ref(step));
    return step;
}
