/*
 * Values of attributes against what an op's schema allows, with TensorFlow's texts.
 */
#include <stdio.h>
#include <string.h>

#include "graph/attribute.h"

static const char *plain_kind_name(weir_attr_kind kind)
{
    static const char *const names[] = {"nothing", "string", "int", "float", "bool", "type", "shape", "tensor", "func"};
    unsigned plain = (unsigned)kind % WEIR_ATTR_LIST;
    return plain < sizeof names / sizeof names[0] ? names[plain] : "?";
}

char *weir_attr_kind_text(weir_attr_kind kind, char text[WEIR_ATTR_KIND_SIZE])
{
    bool is_list = (int)kind >= WEIR_ATTR_LIST;
    snprintf(text, WEIR_ATTR_KIND_SIZE, "%s%s%s", is_list ? "list(" : "", plain_kind_name(kind), is_list ? ")" : "");
    return text;
}

/* ---- Values ---- */

static weir_status type_not_allowed(const weir_attr_def *def, weir_dtype type)
{
    weir_text allowed = {0};
    for (const weir_dtype *at = def->allowed_types; *at != WEIR_INVALID_DTYPE; at++)
        weir_text_append(&allowed, "%s%s", at == def->allowed_types ? "" : ", ", weir_dtype_name(*at));
    weir_status status =
        weir_fail(WEIR_INVALID_ARGUMENT, "Value for attr '%s' of %s is not in the list of allowed values: %s",
                  def->name, weir_dtype_name(type), weir_text_get(&allowed));
    weir_text_clear(&allowed);
    return status;
}

static weir_status check_type(const weir_attr_def *def, weir_dtype type)
{
    for (const weir_dtype *at = def->allowed_types; at != NULL && *at != WEIR_INVALID_DTYPE; at++) {
        if (*at == type)
            return WEIR_STATUS_OK;
    }
    if (type == WEIR_INVALID_DTYPE)
        return weir_fail(WEIR_INVALID_ARGUMENT, "AttrValue has invalid DataType for attr '%s'", def->name);
    if (weir_dtype_is_ref(type)) {
        return weir_fail(WEIR_INVALID_ARGUMENT, "AttrValue must not have reference type value of %s for attr '%s'",
                         weir_dtype_name(type), def->name);
    }
    if (weir_dtype_named(weir_dtype_name(type)) != type)
        return weir_fail(WEIR_INVALID_ARGUMENT, "AttrValue has invalid DataType enum: %d for attr '%s'", (int)type,
                         def->name);
    return def->allowed_types == NULL ? WEIR_STATUS_OK : type_not_allowed(def, type);
}

static weir_status check_text(const weir_attr_def *def, weir_bytes value)
{
    if (def->allowed_texts == NULL)
        return WEIR_STATUS_OK;
    for (const char *const *at = def->allowed_texts; *at != NULL; at++) {
        if (strlen(*at) == value.size && memcmp(*at, value.data, value.size) == 0)
            return WEIR_STATUS_OK;
    }
    weir_text allowed = {0};
    for (const char *const *at = def->allowed_texts; *at != NULL; at++)
        weir_text_append(&allowed, "%s\"%s\"", at == def->allowed_texts ? "" : ", ", *at);
    weir_status status = weir_fail(
        WEIR_INVALID_ARGUMENT, "Value for attr '%s' of \"%.*s\" is not in the list of allowed values: %s", def->name,
        (int)(value.size < 256 ? value.size : 256), value.size > 0 ? value.data : "", weir_text_get(&allowed));
    weir_text_clear(&allowed);
    return status;
}

static weir_status check_kind(const weir_attr_def *def, const weir_attr_value *value)
{
    bool is_list = (int)def->kind >= WEIR_ATTR_LIST;
    bool is_empty_list = (int)value->kind >= WEIR_ATTR_LIST && value->list.count == 0;
    if (value->kind == def->kind || (is_list && is_empty_list)) /* an empty list of a message has no kind */
        return WEIR_STATUS_OK;
    char have[WEIR_ATTR_KIND_SIZE];
    char want[WEIR_ATTR_KIND_SIZE];
    weir_attr_kind_text(value->kind, have);
    weir_attr_kind_text(def->kind, want);
    if (value->kind == WEIR_ATTR_NONE)
        return weir_fail(WEIR_INVALID_ARGUMENT, "AttrValue missing value with expected type '%s' for attr '%s'", want,
                         def->name);
    return weir_fail(WEIR_INVALID_ARGUMENT, "AttrValue had value with type '%s' when '%s' expected for attr '%s'", have,
                     want, def->name);
}

static weir_status check_minimum(const weir_attr_def *def, const weir_attr_value *value)
{
    if (!def->has_minimum)
        return WEIR_STATUS_OK;
    if ((int)def->kind >= WEIR_ATTR_LIST) {
        if (value->list.count >= def->minimum)
            return WEIR_STATUS_OK;
        return weir_fail(WEIR_INVALID_ARGUMENT, "Length for attr '%s' of %lld must be at least minimum %lld", def->name,
                         (long long)value->list.count, (long long)def->minimum);
    }
    if (value->i >= def->minimum)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_INVALID_ARGUMENT, "Value for attr '%s' of %lld must be at least minimum %lld", def->name,
                     (long long)value->i, (long long)def->minimum);
}

weir_status weir_attr_check(const weir_attr_def *def, const weir_attr_value *value)
{
    WEIR_TRY(check_kind(def, value));
    WEIR_TRY(check_minimum(def, value));
    int kind = (int)def->kind;
    if (kind == WEIR_ATTR_TYPE)
        return check_type(def, value->type);
    if (kind == WEIR_ATTR_STRING)
        return check_text(def, value->s);
    if (kind == WEIR_ATTR_TENSOR && value->tensor == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "AttrValue missing value with expected type 'tensor' for attr '%s'",
                         def->name);
    for (int64_t i = 0; kind == WEIR_ATTR_LIST + WEIR_ATTR_TYPE && i < value->list.count; i++)
        WEIR_TRY(check_type(def, value->list.type[i]));
    for (int64_t i = 0; kind == WEIR_ATTR_LIST + WEIR_ATTR_STRING && i < value->list.count; i++)
        WEIR_TRY(check_text(def, value->list.s[i]));
    return WEIR_STATUS_OK;
}

/* ---- The schema as text ---- */

static void describe_arg(const weir_arg_def *arg, weir_text *text)
{
    const char *type = arg->type_attr != NULL ? arg->type_attr : weir_dtype_name(arg->type);
    weir_text_append(text, "%s:", arg->name);
    if (arg->number_attr != NULL)
        weir_text_append(text, "%s*", arg->number_attr);
    if (arg->type_list_attr != NULL)
        type = arg->type_list_attr;
    weir_text_append(text, arg->is_ref ? "Ref(%s)" : "%s", type);
}

static void describe_args(const weir_arg_def *args, weir_text *text)
{
    for (const weir_arg_def *arg = args; arg != NULL && arg->name != NULL; arg++) {
        weir_text_append(text, "%s", arg == args ? "" : ", ");
        describe_arg(arg, text);
    }
}

static void describe_default(const weir_attr_value *value, weir_text *text)
{
    switch (value->kind) {
    case WEIR_ATTR_STRING:
        weir_text_append(text, "\"%.*s\"", (int)value->s.size, value->s.data);
        return;
    case WEIR_ATTR_INT:
        weir_text_append(text, "%lld", (long long)value->i);
        return;
    case WEIR_ATTR_FLOAT:
        weir_text_append(text, "%g", (double)value->f);
        return;
    case WEIR_ATTR_BOOL:
        weir_text_append(text, "%s", value->b ? "true" : "false");
        return;
    case WEIR_ATTR_TYPE:
        weir_text_append(text, "%s", weir_dtype_name(value->type));
        return;
    default:
        weir_text_append(text, "%s", (int)value->kind >= WEIR_ATTR_LIST ? "[...]" : "...");
    }
}

static void describe_attr(const weir_attr_def *def, weir_text *text)
{
    char kind[WEIR_ATTR_KIND_SIZE];
    weir_text_append(text, "; attr=%s:%s", def->name, weir_attr_kind_text(def->kind, kind));
    if (def->has_default) {
        weir_text_append(text, ",default=");
        describe_default(&def->value, text);
    }
    if (def->has_minimum)
        weir_text_append(text, ",min=%lld", (long long)def->minimum);
    for (const weir_dtype *at = def->allowed_types; at != NULL && *at != WEIR_INVALID_DTYPE; at++)
        weir_text_append(text, "%s%s", at == def->allowed_types ? ",allowed=[" : ", ", weir_dtype_name(*at));
    for (const char *const *at = def->allowed_texts; at != NULL && *at != NULL; at++)
        weir_text_append(text, "%s\"%s\"", at == def->allowed_texts ? ",allowed=[" : ", ", *at);
    if (def->allowed_types != NULL || def->allowed_texts != NULL)
        weir_text_append(text, "]");
}

void weir_op_describe(const weir_op_def *op, weir_text *text)
{
    weir_text_append(text, "Op<name=%s; signature=", op->name);
    describe_args(op->inputs, text);
    weir_text_append(text, " -> ");
    describe_args(op->outputs, text);
    for (const weir_attr_def *def = op->attrs; def != NULL && def->name != NULL; def++)
        describe_attr(def, text);
    weir_text_append(text, ">");
}
