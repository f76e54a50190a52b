/*
 * A node against its op's schema: its attributes, the number and types of its inputs, the types of its outputs.
 */
#include <string.h>

#include "graph/attribute.h"

/* A node with more outputs is a mistake or an attack: each takes memory before anything is known of it. */
#define MOST_OUTPUTS 65536

/* ---- Attributes ---- */

static const weir_attr *find_given(const weir_attr *given, int num_given, const char *name)
{
    for (int i = 0; i < num_given; i++) {
        if (strcmp(given[i].name, name) == 0)
            return &given[i];
    }
    return NULL;
}

static bool is_single(const weir_arg_def *arg)
{
    return arg->number_attr == NULL && arg->type_list_attr == NULL;
}

/* The number of tensors that an attribute gives an arg; -1 when it has another kind than the schema says. */
static int64_t count_of(const weir_arg_def *arg, const weir_attr_value *value)
{
    if (arg->number_attr != NULL)
        return value->kind == WEIR_ATTR_INT ? value->i : -1;
    return (int)value->kind >= WEIR_ATTR_LIST ? value->list.count : -1;
}

/* How many of the node's inputs belong to an arg that begins at input first: as given, or whatever the single args after
 * it leave over. */
static int64_t count_inputs(const weir_node *node, const weir_arg_def *arg, int64_t first, const weir_attr *given,
                            int num_given)
{
    if (is_single(arg))
        return 1;
    const char *name = arg->number_attr != NULL ? arg->number_attr : arg->type_list_attr;
    const weir_attr *attr = find_given(given, num_given, name);
    const weir_attr_value *value = attr != NULL ? &attr->value : weir_node_find_attr(node, name);
    if (value != NULL)
        return count_of(arg, value);
    int64_t left = node->num_inputs - first;
    for (const weir_arg_def *later = arg + 1; later->name != NULL; later++)
        left -= is_single(later);
    return left;
}

/* The element type of the first of count inputs that is there (a back edge is not yet). */
static weir_dtype first_type(const weir_node *node, int64_t first, int64_t count)
{
    for (int64_t i = first; i < first + count; i++) {
        if (node->inputs[i].node != NULL)
            return weir_dtype_base(weir_output_dtype(node->inputs[i]));
    }
    return WEIR_INVALID_DTYPE;
}

/* The value an attribute must have for the node's inputs; false when the inputs do not say. types: memory for a list. */
static bool infer_attr(const weir_node *node, const weir_attr_def *def, const weir_attr *given, int num_given,
                       weir_dtype *types, weir_attr_value *out)
{
    int64_t first = 0;
    for (const weir_arg_def *arg = node->op->inputs; arg != NULL && arg->name != NULL; arg++) {
        int64_t count = count_inputs(node, arg, first, given, num_given);
        if (count < 0)
            return false;
        if (count > node->num_inputs - first) /* too few, which is found later: types are known all the same */
            count = node->num_inputs - first;
        if (arg->number_attr != NULL && strcmp(arg->number_attr, def->name) == 0) {
            *out = (weir_attr_value){.kind = WEIR_ATTR_INT, .i = count};
            return true;
        }
        if (arg->type_attr != NULL && strcmp(arg->type_attr, def->name) == 0) {
            weir_dtype type = first_type(node, first, count);
            *out = (weir_attr_value){.kind = WEIR_ATTR_TYPE, .type = type};
            if (type != WEIR_INVALID_DTYPE)
                return true;
        }
        if (arg->type_list_attr != NULL && strcmp(arg->type_list_attr, def->name) == 0) {
            for (int64_t i = 0; i < count; i++)
                types[i] = weir_dtype_base(weir_output_dtype(node->inputs[first + i]));
            *out = (weir_attr_value){.kind = WEIR_ATTR_LIST + WEIR_ATTR_TYPE, .list = {.count = count, .type = types}};
            return true;
        }
        first += count;
    }
    return false;
}

/* Puts a copy of an attribute at the end of the node's list, for which there is room. */
static weir_status append_attr(weir_node *node, const char *name, const weir_attr_value *value, weir_attr_kind kind)
{
    weir_attr *attr = &node->attrs[node->num_attrs];
    attr->name = name;
    WEIR_TRY(weir_attr_copy(node->graph, value, &attr->value));
    attr->value.kind = kind;
    node->num_attrs++;
    return WEIR_STATUS_OK;
}

/* Sets one attribute of the schema; is_missing: neither given nor to be had from inputs or default. */
static weir_status set_attr(weir_node *node, const weir_attr_def *def, const weir_attr *given, int num_given,
                            bool *is_missing)
{
    *is_missing = false;
    const weir_attr *attr = find_given(given, num_given, def->name);
    if (attr != NULL) {
        WEIR_TRY(weir_attr_check(def, &attr->value));
        return append_attr(node, def->name, &attr->value, def->kind);
    }
    weir_dtype few[16];
    weir_dtype *types = few;
    if (node->num_inputs > (int)(sizeof few / sizeof few[0])) {
        types = weir_arena_take(&node->graph->arena, (size_t)node->num_inputs, sizeof *types);
        if (types == NULL)
            return weir_fail_memory((size_t)node->num_inputs * sizeof *types);
    }
    weir_attr_value value;
    if (infer_attr(node, def, given, num_given, types, &value)) {
        WEIR_TRY(weir_attr_check(def, &value));
        return append_attr(node, def->name, &value, def->kind);
    }
    *is_missing = !def->has_default;
    if (def->has_default) /* constant: not copied */
        node->attrs[node->num_attrs++] = (weir_attr){def->name, def->value};
    return WEIR_STATUS_OK;
}

static bool op_has_attr(const weir_op_def *op, const char *name)
{
    for (const weir_attr_def *def = op->attrs; def != NULL && def->name != NULL; def++) {
        if (strcmp(def->name, name) == 0)
            return true;
    }
    return false;
}

/* "...from Op<...>; NodeDef: {{node n}}" */
static weir_status fail_with_schema(const weir_node *node, const char *what)
{
    weir_text text = {0};
    weir_op_describe(node->op, &text);
    if (node->name[0] != '\0')
        weir_text_append(&text, "; NodeDef: {{node %s}}", node->name);
    weir_status status = weir_fail(WEIR_INVALID_ARGUMENT, "%s%s", what, weir_text_get(&text));
    weir_text_clear(&text);
    return status;
}

static weir_status set_schema_attrs(weir_node *node, const weir_attr *given, int num_given)
{
    weir_text missing = {0};
    int count = 0;
    weir_status status = WEIR_STATUS_OK;
    for (const weir_attr_def *def = node->op->attrs; weir_ok(status) && def != NULL && def->name != NULL; def++) {
        bool is_missing = false;
        status = set_attr(node, def, given, num_given, &is_missing);
        if (is_missing)
            weir_text_append(&missing, "%s'%s'", count++ == 0 ? "" : ", ", def->name);
    }
    if (weir_ok(status) && count > 0) {
        weir_text what = {0};
        weir_text_append(&what, "NodeDef missing attr%s %s from ", count > 1 ? "s" : "", weir_text_get(&missing));
        status = fail_with_schema(node, weir_text_get(&what));
        weir_text_clear(&what);
    }
    weir_text_clear(&missing);
    return status;
}

static weir_status set_other_attrs(weir_node *node, const weir_attr *given, int num_given, bool keep_unknown)
{
    for (int i = 0; i < num_given; i++) {
        if (op_has_attr(node->op, given[i].name))
            continue;
        if (given[i].name[0] != '_' && !keep_unknown) {
            weir_text what = {0};
            weir_text_append(&what, "NodeDef mentions attr '%s' not in ", given[i].name);
            weir_status status = fail_with_schema(node, weir_text_get(&what));
            weir_text_clear(&what);
            return status;
        }
        char *name = weir_arena_text(&node->graph->arena, given[i].name, strlen(given[i].name));
        if (name == NULL)
            return weir_fail_memory(strlen(given[i].name));
        WEIR_TRY(append_attr(node, name, &given[i].value, given[i].value.kind));
    }
    return WEIR_STATUS_OK;
}

static weir_status set_attrs(weir_node *node, const weir_attr *given, int num_given, bool keep_unknown)
{
    if (num_given < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%d attributes were given", num_given);
    size_t most = (size_t)num_given;
    for (const weir_attr_def *def = node->op->attrs; def != NULL && def->name != NULL; def++)
        most++;
    node->attrs = weir_arena_take(&node->graph->arena, most, sizeof *node->attrs);
    if (node->attrs == NULL)
        return weir_fail_memory(most * sizeof *node->attrs);
    node->num_attrs = 0;
    WEIR_TRY(set_schema_attrs(node, given, num_given));
    return set_other_attrs(node, given, num_given, keep_unknown);
}

/* ---- Types of inputs and outputs ---- */

static int64_t arg_count(const weir_node *node, const weir_arg_def *arg)
{
    if (is_single(arg))
        return 1;
    const weir_attr_value *value =
        weir_node_find_attr(node, arg->number_attr != NULL ? arg->number_attr : arg->type_list_attr);
    int64_t count = value != NULL ? count_of(arg, value) : 0;
    return count > 0 ? count : 0;
}

int weir_node_arg_count(const weir_node *node, const weir_arg_def *arg)
{
    return (int)arg_count(node, arg);
}

/* The type of tensor index of an arg. */
static weir_dtype arg_type(const weir_node *node, const weir_arg_def *arg, int64_t index)
{
    weir_dtype type = arg->type;
    if (arg->type_attr != NULL)
        type = weir_node_type(node, arg->type_attr);
    if (arg->type_list_attr != NULL)
        type = weir_node_find_attr(node, arg->type_list_attr)->list.type[index];
    return arg->is_ref ? (weir_dtype)((int)type + WEIR_REF_OFFSET) : type;
}

static weir_status check_input(const weir_node *node, int index, weir_dtype expected)
{
    weir_output input = node->inputs[index];
    if (input.node == NULL)
        return WEIR_STATUS_OK;
    weir_dtype have = weir_output_dtype(input);
    if (have == expected || weir_dtype_base(have) == expected)
        return WEIR_STATUS_OK;
    bool has_name = node->name[0] != '\0';
    return weir_fail(WEIR_INVALID_ARGUMENT, "Input %d%s%s was passed %s from %s:%d incompatible with expected %s.",
                     index, has_name ? " of node " : "", has_name ? node->name : "", weir_dtype_name(have),
                     input.node->name, input.index, weir_dtype_name(expected));
}

static weir_status wrong_number(const weir_node *node)
{
    enum { SHOWN = 32 };
    weir_text what = {0};
    int64_t shown = 0;
    weir_text_append(&what, "NodeDef expected inputs '");
    for (const weir_arg_def *arg = node->op->inputs; arg != NULL && arg->name != NULL; arg++) {
        int64_t count = arg_count(node, arg);
        for (int64_t i = 0; i < count && shown <= SHOWN; i++, shown++)
            weir_text_append(&what, "%s%s", shown == 0 ? "" : ", ",
                             shown < SHOWN ? weir_dtype_name(arg_type(node, arg, i)) : "...");
    }
    weir_text_append(&what, "' do not match %d inputs specified; ", node->num_inputs);
    weir_status status = fail_with_schema(node, weir_text_get(&what));
    weir_text_clear(&what);
    return status;
}

static weir_status check_inputs(const weir_node *node)
{
    int64_t total = 0;
    for (const weir_arg_def *arg = node->op->inputs; arg != NULL && arg->name != NULL; arg++) {
        int64_t count = arg_count(node, arg);
        if (count > node->num_inputs - total)
            return wrong_number(node);
        total += count;
    }
    if (total != node->num_inputs)
        return wrong_number(node);
    int index = 0;
    for (const weir_arg_def *arg = node->op->inputs; arg != NULL && arg->name != NULL; arg++) {
        int64_t count = arg_count(node, arg);
        for (int64_t i = 0; i < count; i++)
            WEIR_TRY(check_input(node, index++, arg_type(node, arg, i)));
    }
    return WEIR_STATUS_OK;
}

static weir_status count_outputs(const weir_node *node, int64_t *total)
{
    *total = 0;
    for (const weir_arg_def *arg = node->op->outputs; arg != NULL && arg->name != NULL; arg++) {
        int64_t count = arg_count(node, arg);
        if (count > MOST_OUTPUTS - *total) {
            return weir_fail(WEIR_INVALID_ARGUMENT, "Too many outputs: %lld of '%s', where a node may have %d",
                             (long long)count, arg->name, MOST_OUTPUTS);
        }
        *total += count;
    }
    return WEIR_STATUS_OK;
}

static weir_status set_outputs(weir_node *node)
{
    int64_t total = 0;
    WEIR_TRY(count_outputs(node, &total));
    node->output_dtypes = weir_arena_take(&node->graph->arena, (size_t)total, sizeof *node->output_dtypes);
    node->output_shapes = weir_arena_take(&node->graph->arena, (size_t)total, sizeof *node->output_shapes);
    if (node->output_dtypes == NULL || node->output_shapes == NULL)
        return weir_fail_memory((size_t)total * sizeof *node->output_shapes);
    node->num_outputs = 0;
    for (const weir_arg_def *arg = node->op->outputs; arg != NULL && arg->name != NULL; arg++) {
        int64_t count = arg_count(node, arg);
        for (int64_t i = 0; i < count; i++) {
            node->output_dtypes[node->num_outputs] = arg_type(node, arg, i);
            node->output_shapes[node->num_outputs++] = weir_shape_unknown();
        }
    }
    return WEIR_STATUS_OK;
}

weir_status weir_node_resolve(weir_node *node, const weir_attr *given, int num_given, bool keep_unknown)
{
    WEIR_TRY(set_attrs(node, given, num_given, keep_unknown));
    WEIR_TRY(check_inputs(node));
    return set_outputs(node);
}
