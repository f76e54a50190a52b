/*
 * Variable scopes: names, sharing rules and defaults of the variables made in them, as tf.variable_scope.
 *
 * A scope is a value that is never left, so what TensorFlow counts from opening to closing (names of scopes inside, for
 * default names) is counted here for each opening.
 */
#include "train/train_state.h"

#define RULE_KEY "train/variable_scope"

static weir_scope_child *find_child(const weir_scope_rule *rule, const char *name)
{
    weir_scope_child *child = rule->children;
    while (child != NULL && strcmp(child->name, name) != 0)
        child = child->next;
    return child;
}

static void count_child(weir_scope s, weir_scope_rule *rule, const char *name)
{
    weir_scope_child *child = find_child(rule, name);
    if (child == NULL) {
        child = weir_train_take(s, sizeof *child);
        if (child == NULL)
            return;
        *child = (weir_scope_child){.next = rule->children, .name = name};
        rule->children = child;
    }
    child->count++;
}

/* d, d_1, d_2 ...: the first that was not opened inside the rule. */
static const char *unique_child(weir_scope s, const weir_scope_rule *rule, const char *name)
{
    const char *candidate = weir_train_text(s, "%s", name);
    for (int i = 1; candidate != NULL && find_child(rule, candidate) != NULL; i++)
        candidate = weir_train_text(s, "%s_%d", name, i);
    return candidate;
}

static weir_reuse inner_reuse(weir_reuse outer, weir_reuse given)
{
    return given == WEIR_INHERIT_REUSE ? outer : given;
}

/* What options give, over what the rule has. */
static void apply_options(weir_scope_rule *rule, const weir_variable_scope_options *options)
{
    if (options == NULL)
        return;
    rule->reuse = inner_reuse(rule->reuse, options->reuse);
    if (options->initializer.build != NULL)
        rule->initializer = options->initializer;
    if (options->regularizer.build != NULL)
        rule->regularizer = options->regularizer;
    if (options->dtype != WEIR_INVALID_DTYPE)
        rule->dtype = options->dtype;
}

static weir_scope with_rule(weir_scope s, const weir_scope_rule *rule)
{
    weir_scope_rule *kept = weir_train_take(s, sizeof *kept);
    if (kept == NULL)
        return (weir_scope){0};
    *kept = *rule;
    return weir_scope_with(s, RULE_KEY, kept);
}

weir_scope(weir_variable_scope)(weir_scope s, const char *name, const weir_variable_scope_options *options)
{
    weir_scope_rule *outer = weir_train_rule(s);
    if (outer == NULL)
        return (weir_scope){0};
    const char *default_name = options != NULL ? options->default_name : NULL;
    if (name == NULL && (default_name == NULL || options->reuse == WEIR_REUSE)) {
        const char *text = default_name == NULL ? "If default_name is None then name_or_scope is required"
                                                : "reuse=True cannot be used without a name_or_scope";
        (void)weir_scope_fail(s, weir_fail(WEIR_INVALID_ARGUMENT, "%s", text));
        return (weir_scope){0};
    }
    const char *own = name != NULL ? weir_train_text(s, "%s", name) : unique_child(s, outer, default_name);
    if (own == NULL)
        return (weir_scope){0};
    count_child(s, outer, own);
    weir_scope_rule rule = *outer;
    rule.children = NULL;
    rule.name = outer->name[0] != '\0' ? weir_train_text(s, "%s/%s", outer->name, own) : own;
    if (rule.name == NULL)
        return (weir_scope){0};
    apply_options(&rule, options);
    return with_rule(weir_in_scope(s, "%s", name != NULL ? name : default_name), &rule);
}

weir_scope(weir_variable_scope_of)(weir_scope s, weir_scope other, const weir_variable_scope_options *options)
{
    const weir_scope_rule *theirs = weir_train_rule(other);
    if (weir_train_rule(s) == NULL || theirs == NULL)
        return (weir_scope){0};
    weir_scope_rule rule = *theirs;
    rule.children = NULL;
    apply_options(&rule, options);
    const char *last = strrchr(rule.name, '/');
    last = last != NULL ? last + 1 : rule.name;
    return with_rule(last[0] != '\0' ? weir_in_scope(s, "%s", last) : s, &rule);
}

weir_scope weir_reusing_variables(weir_scope s)
{
    const weir_scope_rule *outer = weir_train_rule(s);
    if (outer == NULL)
        return (weir_scope){0};
    weir_scope_rule rule = *outer;
    rule.reuse = WEIR_REUSE;
    return with_rule(s, &rule);
}

weir_scope weir_train_sharing(weir_scope s)
{
    const weir_scope_rule *outer = weir_train_rule(s);
    if (outer == NULL || outer->reuse != WEIR_INHERIT_REUSE)
        return outer != NULL ? s : (weir_scope){0};
    weir_scope_rule rule = *outer;
    rule.reuse = WEIR_AUTO_REUSE;
    return with_rule(s, &rule);
}

const char *weir_variable_scope_name(weir_scope s)
{
    const weir_scope_rule *rule = weir_train_rule(s);
    return rule != NULL ? rule->name : "";
}

weir_scope weir_train_layer_scope(weir_scope s, const char *scope, const char *default_name)
{
    return scope != NULL ? weir_variable_scope(s, scope) : weir_variable_scope(s, NULL, .default_name = default_name);
}

/* ---- Slots: named by their variable, whatever name scope is open ---- */

weir_output weir_train_make_slot(weir_scope s, weir_output primary, const char *name,
                                 const weir_initializer *initializer)
{
    weir_scope_rule *rule = weir_train_rule(s);
    weir_output ref = weir_variable_ref(primary);
    weir_output model = ref.node != NULL ? ref : primary;
    if (rule == NULL || model.node == NULL)
        return WEIR_NO_OUTPUT;
    const char *wished = weir_train_text(s, "%s/%s", weir_node_name(model.node), name);
    const char *own = wished != NULL ? unique_child(s, rule, wished) : NULL;
    const char *full =
        own != NULL ? weir_train_text(s, "%s%s%s/", rule->name, rule->name[0] != '\0' ? "/" : "", own) : NULL;
    if (full == NULL)
        return WEIR_NO_OUTPUT;
    count_child(s, rule, own);
    (void)weir_in_scope(s, "%s", wished); /* TensorFlow opens it, which takes the name */
    weir_train_new_variable wish = {.name = full,
                                    .dtype = weir_dtype_base(weir_output_dtype(model)),
                                    .shape = weir_output_shape(model),
                                    .initializer = initializer,
                                    .is_placed = ref.node != NULL,
                                    .is_frozen = true};
    weir_scope place = ref.node != NULL ? weir_colocated_with(s, ref.node) : s;
    weir_train_variable *slot = weir_train_make_variable(place, &wish);
    return slot != NULL ? slot->value : WEIR_NO_OUTPUT;
}
