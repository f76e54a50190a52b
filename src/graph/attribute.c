/*
 * Attributes: reading them, copying them into the graph, and checking a node against its op's schema.
 */
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"

const weir_attr_value *weir_node_find_attr(const weir_node *node, const char *name)
{
    for (int i = 0; i < node->num_attrs; i++) {
        if (strcmp(node->attrs[i].name, name) == 0)
            return &node->attrs[i].value;
    }
    return NULL;
}

static const weir_attr_value *find_kind(const weir_node *node, const char *name, weir_attr_kind kind)
{
    const weir_attr_value *value = weir_node_find_attr(node, name);
    return value != NULL && value->kind == kind ? value : NULL;
}

int64_t weir_node_int(const weir_node *node, const char *name, int64_t fallback)
{
    const weir_attr_value *value = find_kind(node, name, WEIR_ATTR_INT);
    return value != NULL ? value->i : fallback;
}

bool weir_node_bool(const weir_node *node, const char *name, bool fallback)
{
    const weir_attr_value *value = find_kind(node, name, WEIR_ATTR_BOOL);
    return value != NULL ? value->b : fallback;
}

float weir_node_float(const weir_node *node, const char *name, float fallback)
{
    const weir_attr_value *value = find_kind(node, name, WEIR_ATTR_FLOAT);
    return value != NULL ? value->f : fallback;
}

weir_dtype weir_node_type(const weir_node *node, const char *name)
{
    const weir_attr_value *value = find_kind(node, name, WEIR_ATTR_TYPE);
    return value != NULL ? value->type : WEIR_INVALID_DTYPE;
}

weir_bytes weir_node_string(const weir_node *node, const char *name)
{
    const weir_attr_value *value = find_kind(node, name, WEIR_ATTR_STRING);
    return value != NULL ? value->s : (weir_bytes){"", 0};
}

bool weir_node_string_is(const weir_node *node, const char *name, const char *text)
{
    weir_bytes value = weir_node_string(node, name);
    return value.size == strlen(text) && memcmp(value.data, text, value.size) == 0;
}

weir_shape weir_node_shape(const weir_node *node, const char *name)
{
    const weir_attr_value *value = find_kind(node, name, WEIR_ATTR_SHAPE);
    return value != NULL ? value->shape : weir_shape_unknown();
}

bool weir_node_attr(const weir_node *node, const char *name, weir_attr_value *out)
{
    const weir_attr_value *value = node != NULL ? weir_node_find_attr(node, name) : NULL;
    if (value != NULL)
        *out = *value;
    return value != NULL;
}

int weir_node_num_attrs(const weir_node *node)
{
    return node != NULL ? node->num_attrs : 0;
}

const weir_attr *weir_node_attr_at(const weir_node *node, int index)
{
    return node != NULL && index >= 0 && index < node->num_attrs ? &node->attrs[index] : NULL;
}

/* ---- Copies ---- */

static weir_status copy_value(weir_graph *graph, const weir_attr_value *value, weir_attr_value *out);

static weir_status copy_bytes(weir_graph *graph, weir_bytes bytes, weir_bytes *out)
{
    char *data = weir_arena_text(&graph->arena, bytes.data, bytes.size);
    if (data == NULL)
        return weir_fail_memory(bytes.size);
    *out = (weir_bytes){data, bytes.size};
    return WEIR_STATUS_OK;
}

static weir_status keep_tensor(weir_graph *graph, weir_tensor *tensor)
{
    WEIR_TRY(weir_list_add(&graph->tensors, tensor));
    weir_tensor_ref(tensor);
    return WEIR_STATUS_OK;
}

static weir_status copy_function(weir_graph *graph, const weir_function_attr *function, weir_function_attr **out)
{
    weir_function_attr *copy = weir_arena_take(&graph->arena, 1, sizeof *copy);
    weir_attr *attrs = weir_arena_take(&graph->arena, (size_t)function->num_attrs, sizeof *attrs);
    char *name = weir_arena_text(&graph->arena, function->name, strlen(function->name));
    if (copy == NULL || attrs == NULL || name == NULL)
        return weir_fail_memory(sizeof *copy);
    for (int i = 0; i < function->num_attrs; i++) {
        attrs[i].name = weir_arena_text(&graph->arena, function->attrs[i].name, strlen(function->attrs[i].name));
        if (attrs[i].name == NULL)
            return weir_fail_memory(sizeof *copy);
        WEIR_TRY(copy_value(graph, &function->attrs[i].value, &attrs[i].value));
    }
    *copy = (weir_function_attr){name, function->num_attrs, attrs};
    *out = copy;
    return WEIR_STATUS_OK;
}

static size_t list_element_size(weir_attr_kind kind)
{
    switch ((int)kind - WEIR_ATTR_LIST) {
    case WEIR_ATTR_STRING:
        return sizeof(weir_bytes);
    case WEIR_ATTR_INT:
        return sizeof(int64_t);
    case WEIR_ATTR_FLOAT:
        return sizeof(float);
    case WEIR_ATTR_BOOL:
        return sizeof(bool);
    case WEIR_ATTR_TYPE:
        return sizeof(weir_dtype);
    case WEIR_ATTR_SHAPE:
        return sizeof(weir_shape);
    case WEIR_ATTR_TENSOR:
        return sizeof(weir_tensor *);
    default:
        return 0;
    }
}

static weir_status copy_list(weir_graph *graph, const weir_attr_value *value, weir_attr_value *out)
{
    size_t size = list_element_size(value->kind);
    size_t count = (size_t)value->list.count;
    void *items = weir_arena_take(&graph->arena, count, size);
    if (items == NULL)
        return weir_fail_memory(count * size);
    if (count > 0 && size > 0)
        memcpy(items, value->list.any, count * size);
    for (size_t i = 0; i < count; i++) {
        if ((int)value->kind == WEIR_ATTR_LIST + WEIR_ATTR_STRING)
            WEIR_TRY(copy_bytes(graph, value->list.s[i], &((weir_bytes *)items)[i]));
        if ((int)value->kind == WEIR_ATTR_LIST + WEIR_ATTR_TENSOR)
            WEIR_TRY(keep_tensor(graph, value->list.tensor[i]));
    }
    *out = *value;
    out->list.any = items;
    return WEIR_STATUS_OK;
}

static weir_status copy_value(weir_graph *graph, const weir_attr_value *value, weir_attr_value *out)
{
    *out = *value;
    if ((int)value->kind >= WEIR_ATTR_LIST)
        return copy_list(graph, value, out);
    if (value->kind == WEIR_ATTR_STRING)
        return copy_bytes(graph, value->s, &out->s);
    if (value->kind == WEIR_ATTR_TENSOR)
        return keep_tensor(graph, value->tensor);
    if (value->kind == WEIR_ATTR_FUNCTION)
        return copy_function(graph, value->function, &out->function);
    return WEIR_STATUS_OK;
}

void weir_node_set_attr(weir_node *node, const weir_attr *attr)
{
    if (node == NULL)
        return;
    weir_graph *graph = node->graph;
    weir_attr_value value;
    weir_status status = attr->name[0] == '_' ? copy_value(graph, &attr->value, &value)
                                              : weir_fail(WEIR_INVALID_ARGUMENT,
                                                          "Attribute '%s' of node '%s' cannot be set: only names that "
                                                          "begin with '_' can",
                                                          attr->name, node->name);
    weir_attr_value *old = (weir_attr_value *)weir_node_find_attr(node, attr->name);
    if (weir_ok(status) && old != NULL) {
        *old = value;
        return;
    }
    weir_attr *grown = weir_arena_take(&graph->arena, (size_t)node->num_attrs + 1, sizeof *grown);
    char *name = weir_arena_text(&graph->arena, attr->name, strlen(attr->name));
    if (weir_ok(status) && (grown == NULL || name == NULL))
        status = weir_fail_memory(sizeof *grown);
    if (!weir_ok(status)) {
        (void)weir_scope_fail(weir_root(graph), status);
        return;
    }
    if (node->num_attrs > 0)
        memcpy(grown, node->attrs, (size_t)node->num_attrs * sizeof *grown);
    grown[node->num_attrs] = (weir_attr){name, value};
    node->attrs = grown;
    node->num_attrs++;
}

/* Puts a copy of an attribute at the end of the node's list, for which there is room. */
static weir_status append_attr(weir_node *node, const char *name, const weir_attr_value *value)
{
    weir_attr *attr = &node->attrs[node->num_attrs];
    attr->name = name;
    WEIR_TRY(copy_value(node->graph, value, &attr->value));
    node->num_attrs++;
    return WEIR_STATUS_OK;
}

/* ---- Checking against the schema ---- */

static const char *kind_name(weir_attr_kind kind, char text[24])
{
    static const char *const names[] = {"nothing", "string", "int", "float", "bool", "type", "shape", "tensor", "func"};
    int plain = (int)kind % WEIR_ATTR_LIST;
    const char *name = plain < (int)(sizeof names / sizeof names[0]) ? names[plain] : "?";
    snprintf(text, 24, (int)kind >= WEIR_ATTR_LIST ? "list(%s)" : "%s", name);
    return text;
}

static weir_status check_type(const weir_attr_def *def, weir_dtype type)
{
    if (def->allowed_types == NULL)
        return WEIR_STATUS_OK;
    weir_text allowed = {0};
    for (const weir_dtype *at = def->allowed_types; *at != WEIR_INVALID_DTYPE; at++) {
        if (*at == type) {
            weir_text_clear(&allowed);
            return WEIR_STATUS_OK;
        }
        weir_text_append(&allowed, "%s%s", at == def->allowed_types ? "" : ", ", weir_dtype_name(*at));
    }
    weir_status status = weir_fail(WEIR_INVALID_ARGUMENT, "Value for attr '%s' of %s is not in the list of allowed values: %s",
                                   def->name, weir_dtype_name(type), weir_text_get(&allowed));
    weir_text_clear(&allowed);
    return status;
}

static weir_status check_text(const weir_attr_def *def, weir_bytes value)
{
    if (def->allowed_texts == NULL)
        return WEIR_STATUS_OK;
    weir_text allowed = {0};
    for (const char *const *at = def->allowed_texts; *at != NULL; at++) {
        if (strlen(*at) == value.size && memcmp(*at, value.data, value.size) == 0) {
            weir_text_clear(&allowed);
            return WEIR_STATUS_OK;
        }
        weir_text_append(&allowed, "%s\"%s\"", at == def->allowed_texts ? "" : ", ", *at);
    }
    weir_status status = weir_fail(WEIR_INVALID_ARGUMENT,
                                   "Value for attr '%s' of \"%.*s\" is not in the list of allowed values: %s", def->name,
                                   (int)value.size, value.data, weir_text_get(&allowed));
    weir_text_clear(&allowed);
    return status;
}

static weir_status check_value(const weir_attr_def *def, const weir_attr_value *value)
{
    char have[24];
    char want[24];
    if (value->kind != def->kind) {
        return weir_fail(WEIR_INVALID_ARGUMENT, "AttrValue of '%s' had value with type '%s' when '%s' expected", def->name,
                         kind_name(value->kind, have), kind_name(def->kind, want));
    }
    if (def->has_minimum) {
        int64_t number = def->kind == WEIR_ATTR_INT ? value->i : value->list.count;
        if (number < def->minimum) {
            return weir_fail(WEIR_INVALID_ARGUMENT, "Value for attr '%s' of %lld must be at least minimum %lld", def->name,
                             (long long)number, (long long)def->minimum);
        }
    }
    if (def->kind == WEIR_ATTR_TYPE)
        return check_type(def, value->type);
    if (def->kind == WEIR_ATTR_STRING)
        return check_text(def, value->s);
    if ((int)def->kind == WEIR_ATTR_LIST + WEIR_ATTR_TYPE) {
        for (int64_t i = 0; i < value->list.count; i++)
            WEIR_TRY(check_type(def, value->list.type[i]));
    }
    return WEIR_STATUS_OK;
}

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

/* How many of the node's inputs belong to an arg that begins at input first: as given, or whatever the single args after
 * it leave over. */
static int count_inputs(const weir_node *node, const weir_arg_def *arg, int first, const weir_attr *given, int num_given)
{
    if (is_single(arg))
        return 1;
    const weir_attr *attr = find_given(given, num_given, arg->number_attr != NULL ? arg->number_attr : arg->type_list_attr);
    if (attr != NULL)
        return (int)(arg->number_attr != NULL ? attr->value.i : attr->value.list.count);
    const weir_attr_value *inferred = weir_node_find_attr(node, arg->number_attr != NULL ? arg->number_attr : arg->type_list_attr);
    if (inferred != NULL)
        return (int)(arg->number_attr != NULL ? inferred->i : inferred->list.count);
    int left = node->num_inputs - first;
    for (const weir_arg_def *later = arg + 1; later->name != NULL; later++)
        left -= is_single(later);
    return left;
}

/* The value an attribute must have for the node's inputs; false when the inputs do not say. types: memory for a list. */
static bool infer_attr(const weir_node *node, const weir_attr_def *def, const weir_attr *given, int num_given,
                       weir_dtype *types, weir_attr_value *out)
{
    int first = 0;
    for (const weir_arg_def *arg = node->op->inputs; arg != NULL && arg->name != NULL; arg++) {
        int count = count_inputs(node, arg, first, given, num_given);
        if (count < 0 || first + count > node->num_inputs)
            return false;
        if (arg->number_attr != NULL && strcmp(arg->number_attr, def->name) == 0) {
            *out = (weir_attr_value){.kind = WEIR_ATTR_INT, .i = count};
            return true;
        }
        if (arg->type_attr != NULL && strcmp(arg->type_attr, def->name) == 0 && count > 0 && node->inputs[first].node != NULL) {
            *out = (weir_attr_value){.kind = WEIR_ATTR_TYPE, .type = weir_dtype_base(weir_output_dtype(node->inputs[first]))};
            return true;
        }
        if (arg->type_list_attr != NULL && strcmp(arg->type_list_attr, def->name) == 0) {
            for (int i = 0; i < count; i++)
                types[i] = weir_dtype_base(weir_output_dtype(node->inputs[first + i]));
            *out = (weir_attr_value){.kind = WEIR_ATTR_LIST + WEIR_ATTR_TYPE, .list = {.count = count, .type = types}};
            return true;
        }
        first += count;
    }
    return false;
}

static weir_status set_attr(weir_node *node, const weir_attr_def *def, const weir_attr *given, int num_given)
{
    const weir_attr *attr = find_given(given, num_given, def->name);
    if (attr != NULL) {
        WEIR_TRY(check_value(def, &attr->value));
        return append_attr(node, def->name, &attr->value);
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
        WEIR_TRY(check_value(def, &value));
        return append_attr(node, def->name, &value);
    }
    if (def->has_default)
        return append_attr(node, def->name, &def->value);
    return weir_fail(WEIR_INVALID_ARGUMENT, "NodeDef missing attr '%s' from Op<name=%s>", def->name, node->op->name);
}

static bool op_has_attr(const weir_op_def *op, const char *name)
{
    for (const weir_attr_def *def = op->attrs; def != NULL && def->name != NULL; def++) {
        if (strcmp(def->name, name) == 0)
            return true;
    }
    return false;
}

static weir_status set_attrs(weir_node *node, const weir_attr *given, int num_given, bool keep_unknown)
{
    int most = num_given;
    for (const weir_attr_def *def = node->op->attrs; def != NULL && def->name != NULL; def++)
        most++;
    node->attrs = weir_arena_take(&node->graph->arena, (size_t)most, sizeof *node->attrs);
    if (node->attrs == NULL)
        return weir_fail_memory((size_t)most * sizeof *node->attrs);
    node->num_attrs = 0;
    for (const weir_attr_def *def = node->op->attrs; def != NULL && def->name != NULL; def++)
        WEIR_TRY(set_attr(node, def, given, num_given));
    for (int i = 0; i < num_given; i++) {
        if (op_has_attr(node->op, given[i].name))
            continue;
        if (given[i].name[0] != '_' && !keep_unknown) {
            return weir_fail(WEIR_INVALID_ARGUMENT, "NodeDef mentions attr '%s' not in Op<name=%s>", given[i].name,
                             node->op->name);
        }
        char *name = weir_arena_text(&node->graph->arena, given[i].name, strlen(given[i].name));
        if (name == NULL)
            return weir_fail_memory(strlen(given[i].name));
        WEIR_TRY(append_attr(node, name, &given[i].value));
    }
    return WEIR_STATUS_OK;
}

/* ---- Types of inputs and outputs ---- */

int weir_node_arg_count(const weir_node *node, const weir_arg_def *arg)
{
    if (arg->number_attr != NULL)
        return (int)weir_node_int(node, arg->number_attr, 0);
    if (arg->type_list_attr != NULL) {
        const weir_attr_value *list = weir_node_find_attr(node, arg->type_list_attr);
        return list != NULL ? (int)list->list.count : 0;
    }
    return 1;
}

/* The type of tensor index of an arg. */
static weir_dtype arg_type(const weir_node *node, const weir_arg_def *arg, int index)
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
    return weir_fail(WEIR_INVALID_ARGUMENT, "Input %d was passed %s from %s:%d incompatible with expected %s.", index,
                     weir_dtype_name(have), input.node->name, input.index, weir_dtype_name(expected));
}

static weir_status check_inputs(const weir_node *node)
{
    int index = 0;
    for (const weir_arg_def *arg = node->op->inputs; arg != NULL && arg->name != NULL; arg++) {
        int count = weir_node_arg_count(node, arg);
        for (int i = 0; i < count; i++, index++) {
            if (index >= node->num_inputs)
                return weir_fail(WEIR_INVALID_ARGUMENT, "%d inputs specified; input '%s' is missing", node->num_inputs, arg->name);
            WEIR_TRY(check_input(node, index, arg_type(node, arg, i)));
        }
    }
    if (index != node->num_inputs)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%d inputs specified, %d expected", node->num_inputs, index);
    return WEIR_STATUS_OK;
}

static weir_status set_outputs(weir_node *node)
{
    int64_t total = 0;
    for (const weir_arg_def *arg = node->op->outputs; arg != NULL && arg->name != NULL; arg++)
        total += weir_node_arg_count(node, arg);
    if (total > INT32_MAX / 2)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%lld outputs are too many", (long long)total);
    node->output_dtypes = weir_arena_take(&node->graph->arena, (size_t)total, sizeof *node->output_dtypes);
    node->output_shapes = weir_arena_take(&node->graph->arena, (size_t)total, sizeof *node->output_shapes);
    if (node->output_dtypes == NULL || node->output_shapes == NULL)
        return weir_fail_memory((size_t)total * sizeof *node->output_shapes);
    node->num_outputs = 0;
    for (const weir_arg_def *arg = node->op->outputs; arg != NULL && arg->name != NULL; arg++) {
        int count = weir_node_arg_count(node, arg);
        for (int i = 0; i < count; i++) {
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
