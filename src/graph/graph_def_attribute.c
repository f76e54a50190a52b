/*
 * Attributes to and from their messages.
 */
#include "graph/graph_def_attribute.h"

#include <string.h>

#include "format/message.h"
#include "format/tensor_proto.h"
#include "graph/attribute.h"
#include "tensor/tensor.h"

void weir_attr_memory_clear(weir_attr_memory *memory)
{
    for (size_t i = 0; i < memory->tensors.count; i++)
        weir_tensor_free(memory->tensors.items[i]);
    weir_list_clear(&memory->tensors);
}

/* ---- Reading ---- */

static weir_status read_tensor(const Weir__TensorProto *proto, weir_attr_memory *memory, weir_tensor **out)
{
    weir_tensor *tensor = NULL;
    WEIR_TRY(weir_tensor_from_proto(proto, &tensor));
    weir_status status = weir_list_add(&memory->tensors, tensor);
    if (weir_ok(status))
        *out = tensor;
    else
        weir_tensor_free(tensor);
    return status;
}

static weir_status read_function(const Weir__NameAttrList *proto, weir_attr_memory *memory, weir_function_attr *out)
{
    weir_attr *attrs = weir_arena_take(memory->arena, proto->n_attr, sizeof *attrs);
    if (attrs == NULL)
        return weir_fail_memory(proto->n_attr * sizeof *attrs);
    for (size_t i = 0; i < proto->n_attr; i++) {
        attrs[i].name = proto->attr[i]->key;
        WEIR_TRY(weir_attr_from_proto(proto->attr[i]->value, memory, &attrs[i].value));
    }
    *out = (weir_function_attr){proto->name, (int)proto->n_attr, attrs};
    return WEIR_STATUS_OK;
}

/* The kind of the first field with elements, and how many. */
static weir_attr_kind list_kind(const Weir__AttrValue__ListValue *list, size_t *count)
{
    const struct {
        weir_attr_kind kind;
        size_t count;
    } fields[] = {
        {WEIR_ATTR_STRING, list->n_s},      {WEIR_ATTR_INT, list->n_i},         {WEIR_ATTR_FLOAT, list->n_f},
        {WEIR_ATTR_BOOL, list->n_b},        {WEIR_ATTR_TYPE, list->n_type},     {WEIR_ATTR_SHAPE, list->n_shape},
        {WEIR_ATTR_TENSOR, list->n_tensor}, {WEIR_ATTR_FUNCTION, list->n_func},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].count > 0) {
            *count = fields[i].count;
            return fields[i].kind;
        }
    }
    *count = 0;
    return WEIR_ATTR_NONE;
}

static weir_status read_element(const Weir__AttrValue__ListValue *list, weir_attr_kind kind, size_t i,
                                weir_attr_memory *memory, void *items)
{
    switch (kind) {
    case WEIR_ATTR_STRING:
        ((weir_bytes *)items)[i] = (weir_bytes){(const char *)list->s[i].data, list->s[i].len};
        return WEIR_STATUS_OK;
    case WEIR_ATTR_INT:
        ((int64_t *)items)[i] = list->i[i];
        return WEIR_STATUS_OK;
    case WEIR_ATTR_FLOAT:
        ((float *)items)[i] = list->f[i];
        return WEIR_STATUS_OK;
    case WEIR_ATTR_BOOL:
        ((bool *)items)[i] = list->b[i] != 0;
        return WEIR_STATUS_OK;
    case WEIR_ATTR_TYPE:
        ((weir_dtype *)items)[i] = (weir_dtype)list->type[i];
        return WEIR_STATUS_OK;
    case WEIR_ATTR_SHAPE:
        return weir_shape_from_proto(list->shape[i], &((weir_shape *)items)[i]);
    case WEIR_ATTR_TENSOR:
        return read_tensor(list->tensor[i], memory, &((weir_tensor **)items)[i]);
    default:
        return read_function(list->func[i], memory, &((weir_function_attr *)items)[i]);
    }
}

static weir_status read_list(const Weir__AttrValue__ListValue *list, weir_attr_memory *memory, weir_attr_value *out)
{
    size_t count = 0;
    weir_attr_kind plain = list_kind(list, &count);
    weir_attr_kind kind = (weir_attr_kind)(WEIR_ATTR_LIST + plain);
    size_t size = weir_attr_list_size(kind);
    void *items = weir_arena_take(memory->arena, count, size);
    if (items == NULL)
        return weir_fail_memory(count * size);
    for (size_t i = 0; i < count; i++)
        WEIR_TRY(read_element(list, plain, i, memory, items));
    *out = (weir_attr_value){.kind = kind, .list = {.count = (int64_t)count, .any = items}};
    return WEIR_STATUS_OK;
}

static weir_status read_function_attr(const Weir__NameAttrList *proto, weir_attr_memory *memory, weir_attr_value *out)
{
    weir_function_attr *function = weir_arena_take(memory->arena, 1, sizeof *function);
    if (function == NULL)
        return weir_fail_memory(sizeof *function);
    *out = (weir_attr_value){.kind = WEIR_ATTR_FUNCTION, .function = function};
    return read_function(proto, memory, function);
}

weir_status weir_attr_from_proto(const Weir__AttrValue *proto, weir_attr_memory *memory, weir_attr_value *out)
{
    *out = (weir_attr_value){.kind = WEIR_ATTR_NONE};
    switch (proto->value_case) {
    case WEIR__ATTR_VALUE__VALUE_LIST:
        return read_list(proto->list, memory, out);
    case WEIR__ATTR_VALUE__VALUE_S:
        *out = (weir_attr_value){.kind = WEIR_ATTR_STRING, .s = {(const char *)proto->s.data, proto->s.len}};
        return WEIR_STATUS_OK;
    case WEIR__ATTR_VALUE__VALUE_I:
        *out = (weir_attr_value){.kind = WEIR_ATTR_INT, .i = proto->i};
        return WEIR_STATUS_OK;
    case WEIR__ATTR_VALUE__VALUE_F:
        *out = (weir_attr_value){.kind = WEIR_ATTR_FLOAT, .f = proto->f};
        return WEIR_STATUS_OK;
    case WEIR__ATTR_VALUE__VALUE_B:
        *out = (weir_attr_value){.kind = WEIR_ATTR_BOOL, .b = proto->b != 0};
        return WEIR_STATUS_OK;
    case WEIR__ATTR_VALUE__VALUE_TYPE:
        *out = (weir_attr_value){.kind = WEIR_ATTR_TYPE, .type = (weir_dtype)proto->type};
        return WEIR_STATUS_OK;
    case WEIR__ATTR_VALUE__VALUE_SHAPE:
        out->kind = WEIR_ATTR_SHAPE;
        return weir_shape_from_proto(proto->shape, &out->shape);
    case WEIR__ATTR_VALUE__VALUE_TENSOR:
        out->kind = WEIR_ATTR_TENSOR;
        return read_tensor(proto->tensor, memory, &out->tensor);
    case WEIR__ATTR_VALUE__VALUE_FUNC:
        return read_function_attr(proto->func, memory, out);
    case WEIR__ATTR_VALUE__VALUE_PLACEHOLDER:
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "AttrValue had value with unexpected type 'placeholder' ('%s'), which stands "
                         "for an attribute of a function",
                         proto->placeholder);
    default:
        return WEIR_STATUS_OK;
    }
}

/* ---- Writing ---- */

/* True for several elements with the same bytes. */
static bool is_fill(const weir_tensor *tensor)
{
    if (tensor->elements < 2)
        return false;
    if (tensor->dtype == WEIR_STRING) {
        const weir_string *strings = weir_tensor_string_elements(tensor);
        for (int64_t i = 1; i < tensor->elements; i++) {
            if (strings[i].size != strings[0].size ||
                (strings[0].size > 0 && memcmp(strings[i].data, strings[0].data, strings[0].size) != 0))
                return false;
        }
        return true;
    }
    size_t size = weir_dtype_size(tensor->dtype);
    return size > 0 && memcmp((const char *)tensor->data + size, tensor->data, tensor->size_bytes - size) == 0;
}

static weir_status write_tensor(const weir_tensor *tensor, weir_arena *arena, Weir__TensorProto **out)
{
    if (!is_fill(tensor))
        return weir_tensor_to_proto(tensor, WEIR_PROTO_CONST, arena, out);
    weir_tensor *first = NULL;
    weir_shape scalar = weir_shape_scalar();
    WEIR_TRY(weir_tensor_over(tensor->buffer, tensor->data, tensor->dtype, &scalar, &first));
    Weir__TensorProto *proto = NULL;
    weir_status status = weir_tensor_to_proto(first, WEIR_PROTO_CONST, arena, &proto);
    weir_tensor_free(first); /* the elements stay: they are the tensor's */
    WEIR_TRY(status);
    WEIR_TRY(weir_shape_to_proto(&tensor->shape, arena, &proto->tensor_shape));
    *out = proto;
    return WEIR_STATUS_OK;
}

static weir_status write_function(const weir_function_attr *function, weir_arena *arena, Weir__NameAttrList **out)
{
    Weir__NameAttrList *proto = weir_message_new(arena, &weir__name_attr_list__descriptor);
    if (proto == NULL)
        return weir_fail_memory(sizeof *proto);
    proto->name = (char *)function->name;
    for (int i = 0; i < function->num_attrs; i++) {
        Weir__NameAttrList__AttrEntry *entry = weir_message_new(arena, &weir__name_attr_list__attr_entry__descriptor);
        if (entry == NULL || !weir_message_add(arena, proto->attr, proto->n_attr, entry))
            return weir_fail_memory(sizeof *entry);
        entry->key = (char *)function->attrs[i].name;
        WEIR_TRY(weir_attr_to_proto(&function->attrs[i].value, arena, &entry->value));
    }
    *out = proto;
    return WEIR_STATUS_OK;
}

static ProtobufCBinaryData as_bytes(weir_bytes bytes)
{
    return (ProtobufCBinaryData){.len = bytes.size, .data = (uint8_t *)bytes.data};
}

/* Memory for count elements of a list's field. */
#define TAKE(field)                                                                                                    \
    list->field = weir_arena_take(arena, count, sizeof *list->field);                                                  \
    if (list->field == NULL)                                                                                           \
        return weir_fail_memory(count * sizeof *list->field);                                                          \
    list->n_##field = count

static weir_status write_messages(const weir_attr_value *value, weir_arena *arena, Weir__AttrValue__ListValue *list)
{
    size_t count = (size_t)value->list.count;
    switch ((int)value->kind - WEIR_ATTR_LIST) {
    case WEIR_ATTR_SHAPE:
        TAKE(shape);
        for (size_t i = 0; i < count; i++)
            WEIR_TRY(weir_shape_to_proto(&value->list.shape[i], arena, &list->shape[i]));
        return WEIR_STATUS_OK;
    case WEIR_ATTR_TENSOR:
        TAKE(tensor);
        for (size_t i = 0; i < count; i++)
            WEIR_TRY(write_tensor(value->list.tensor[i], arena, &list->tensor[i]));
        return WEIR_STATUS_OK;
    default:
        TAKE(func);
        for (size_t i = 0; i < count; i++)
            WEIR_TRY(write_function(&((const weir_function_attr *)value->list.any)[i], arena, &list->func[i]));
        return WEIR_STATUS_OK;
    }
}

static weir_status write_list(const weir_attr_value *value, weir_arena *arena, Weir__AttrValue__ListValue *list)
{
    size_t count = (size_t)value->list.count;
    if (count == 0)
        return WEIR_STATUS_OK;
    switch ((int)value->kind - WEIR_ATTR_LIST) {
    case WEIR_ATTR_STRING:
        TAKE(s);
        for (size_t i = 0; i < count; i++)
            list->s[i] = as_bytes(value->list.s[i]);
        return WEIR_STATUS_OK;
    case WEIR_ATTR_INT:
        list->i = (int64_t *)value->list.i;
        list->n_i = count;
        return WEIR_STATUS_OK;
    case WEIR_ATTR_FLOAT:
        list->f = (float *)value->list.f;
        list->n_f = count;
        return WEIR_STATUS_OK;
    case WEIR_ATTR_BOOL:
        TAKE(b);
        for (size_t i = 0; i < count; i++)
            list->b[i] = value->list.b[i];
        return WEIR_STATUS_OK;
    case WEIR_ATTR_TYPE:
        TAKE(type);
        for (size_t i = 0; i < count; i++)
            list->type[i] = (Weir__DataType)value->list.type[i];
        return WEIR_STATUS_OK;
    default:
        return write_messages(value, arena, list);
    }
}

/* A member of the oneof and the case that says so. */
#define SET(member, name)                                                                                              \
    proto->member;                                                                                                     \
    proto->value_case = WEIR__ATTR_VALUE__VALUE_##name

weir_status weir_attr_to_proto(const weir_attr_value *value, weir_arena *arena, Weir__AttrValue **out)
{
    Weir__AttrValue *proto = weir_message_new(arena, &weir__attr_value__descriptor);
    if (proto == NULL)
        return weir_fail_memory(sizeof *proto);
    *out = proto;
    switch ((int)value->kind) {
    case WEIR_ATTR_NONE:
        return WEIR_STATUS_OK;
    case WEIR_ATTR_STRING:
        SET(s = as_bytes(value->s), S);
        return WEIR_STATUS_OK;
    case WEIR_ATTR_INT:
        SET(i = value->i, I);
        return WEIR_STATUS_OK;
    case WEIR_ATTR_FLOAT:
        SET(f = value->f, F);
        return WEIR_STATUS_OK;
    case WEIR_ATTR_BOOL:
        SET(b = value->b, B);
        return WEIR_STATUS_OK;
    case WEIR_ATTR_TYPE:
        SET(type = (Weir__DataType)value->type, TYPE);
        return WEIR_STATUS_OK;
    case WEIR_ATTR_SHAPE:
        proto->value_case = WEIR__ATTR_VALUE__VALUE_SHAPE;
        return weir_shape_to_proto(&value->shape, arena, &proto->shape);
    case WEIR_ATTR_TENSOR:
        proto->value_case = WEIR__ATTR_VALUE__VALUE_TENSOR;
        return write_tensor(value->tensor, arena, &proto->tensor);
    case WEIR_ATTR_FUNCTION:
        proto->value_case = WEIR__ATTR_VALUE__VALUE_FUNC;
        return write_function(value->function, arena, &proto->func);
    default:
        SET(list = weir_message_new(arena, &weir__attr_value__list_value__descriptor), LIST);
        return proto->list != NULL ? write_list(value, arena, proto->list) : weir_fail_memory(sizeof *proto->list);
    }
}
