/*
 * Attributes: reading them, and copying them into the graph. What an op's schema demands of them stands in resolve.c.
 */
#include <string.h>

#include "graph/attribute.h"

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
    if (tensor == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "A tensor attribute without tensor");
    WEIR_TRY(weir_list_add(&graph->tensors, tensor));
    weir_tensor_ref(tensor);
    return WEIR_STATUS_OK;
}

static weir_status copy_function(weir_graph *graph, const weir_function_attr *function, weir_function_attr *copy)
{
    weir_attr *attrs = weir_arena_take(&graph->arena, (size_t)function->num_attrs, sizeof *attrs);
    char *name = weir_arena_text(&graph->arena, function->name, strlen(function->name));
    if (attrs == NULL || name == NULL)
        return weir_fail_memory((size_t)function->num_attrs * sizeof *attrs);
    for (int i = 0; i < function->num_attrs; i++) {
        attrs[i].name = weir_arena_text(&graph->arena, function->attrs[i].name, strlen(function->attrs[i].name));
        if (attrs[i].name == NULL)
            return weir_fail_memory(sizeof *copy);
        WEIR_TRY(weir_attr_copy(graph, &function->attrs[i].value, &attrs[i].value));
    }
    *copy = (weir_function_attr){name, function->num_attrs, attrs};
    return WEIR_STATUS_OK;
}

size_t weir_attr_list_size(weir_attr_kind kind)
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
    case WEIR_ATTR_FUNCTION:
        return sizeof(weir_function_attr);
    default:
        return 0;
    }
}

/* The parts of element index of a list that a plain copy of the array still shares. */
static weir_status copy_element(weir_graph *graph, const weir_attr_value *value, size_t index, void *items)
{
    switch ((int)value->kind - WEIR_ATTR_LIST) {
    case WEIR_ATTR_STRING:
        return copy_bytes(graph, value->list.s[index], &((weir_bytes *)items)[index]);
    case WEIR_ATTR_TENSOR:
        return keep_tensor(graph, value->list.tensor[index]);
    case WEIR_ATTR_FUNCTION:
        return copy_function(graph, &((const weir_function_attr *)value->list.any)[index],
                             &((weir_function_attr *)items)[index]);
    default:
        return WEIR_STATUS_OK;
    }
}

static weir_status copy_list(weir_graph *graph, const weir_attr_value *value, weir_attr_value *out)
{
    size_t size = weir_attr_list_size(value->kind);
    size_t count = (size_t)value->list.count;
    if (value->list.count < 0 || (count > 0 && (size == 0 || value->list.any == NULL)))
        return weir_fail(WEIR_INVALID_ARGUMENT, "A list attribute of %lld elements without elements",
                         (long long)value->list.count);
    void *items = weir_arena_take(&graph->arena, count, size);
    if (items == NULL)
        return weir_fail_memory(count * size);
    if (count > 0)
        memcpy(items, value->list.any, count * size);
    for (size_t i = 0; i < count; i++)
        WEIR_TRY(copy_element(graph, value, i, items));
    *out = *value;
    out->list.any = items;
    return WEIR_STATUS_OK;
}

weir_status weir_attr_copy(weir_graph *graph, const weir_attr_value *value, weir_attr_value *out)
{
    *out = *value;
    if ((int)value->kind >= WEIR_ATTR_LIST)
        return copy_list(graph, value, out);
    if (value->kind == WEIR_ATTR_STRING)
        return copy_bytes(graph, value->s, &out->s);
    if (value->kind == WEIR_ATTR_TENSOR)
        return keep_tensor(graph, value->tensor);
    if (value->kind != WEIR_ATTR_FUNCTION)
        return WEIR_STATUS_OK;
    weir_function_attr *copy = weir_arena_take(&graph->arena, 1, sizeof *copy);
    if (copy == NULL)
        return weir_fail_memory(sizeof *copy);
    out->function = copy;
    return copy_function(graph, value->function, copy);
}

weir_status weir_node_put_attr(weir_node *node, const weir_attr *attr)
{
    weir_graph *graph = node->graph;
    weir_attr_value value;
    WEIR_TRY(weir_attr_copy(graph, &attr->value, &value));
    weir_attr_value *old = (weir_attr_value *)weir_node_find_attr(node, attr->name);
    if (old != NULL) {
        *old = value;
        return WEIR_STATUS_OK;
    }
    weir_attr *grown = weir_arena_take(&graph->arena, (size_t)node->num_attrs + 1, sizeof *grown);
    char *name = weir_arena_text(&graph->arena, attr->name, strlen(attr->name));
    if (grown == NULL || name == NULL)
        return weir_fail_memory(((size_t)node->num_attrs + 1) * sizeof *grown);
    if (node->num_attrs > 0)
        memcpy(grown, node->attrs, (size_t)node->num_attrs * sizeof *grown);
    grown[node->num_attrs] = (weir_attr){name, value};
    node->attrs = grown;
    node->num_attrs++;
    return WEIR_STATUS_OK;
}

void weir_node_set_attr(weir_node *node, const weir_attr *attr)
{
    if (node == NULL)
        return;
    weir_status status =
        attr->name[0] == '_'
            ? weir_node_put_attr(node, attr)
            : weir_fail(WEIR_INVALID_ARGUMENT,
                        "Attribute '%s' of node '%s' cannot be set: only names that begin with '_' can", attr->name,
                        node->name);
    (void)weir_scope_fail(weir_root(node->graph), status);
}
