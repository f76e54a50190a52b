/*
 * Text to messages, by recursive descent that the depth of messages bounds.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "format/decimal.h"
#include "format/text_format.h"
#include "format/text_lexer.h"

struct reader {
    weir_text_lexer lexer;
    weir_arena *arena;
    int depth;
};

#define EXPECTED(reader, field, kind)                                                                                  \
    weir_lexer_fail(&(reader)->lexer, "%s: expected " kind ", not %s", (field)->name,                                  \
                    weir_lexer_show(&(reader)->lexer, (char[WEIR_TOKEN_TEXT_SIZE]){0}))

static weir_status fail_memory(const struct reader *reader)
{
    return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Cannot parse %s text: out of memory at line %d", reader->lexer.what,
                     reader->lexer.token_line);
}

/* Goes to the next token when the token is this symbol. */
static weir_status skip(struct reader *reader, char symbol, bool *skipped)
{
    *skipped = weir_lexer_at(&reader->lexer, symbol);
    return *skipped ? weir_lexer_next(&reader->lexer) : WEIR_STATUS_OK;
}

/* The token as a zero-terminated text, if it is short enough for a number or a name. */
static bool token_text(const weir_text_lexer *lexer, char *text, size_t size)
{
    if (lexer->length >= size)
        return false;
    memcpy(text, lexer->token, lexer->length);
    text[lexer->length] = '\0';
    return true;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------- */

/* An integer token: decimal, hexadecimal or octal. */
static bool token_integer(const weir_text_lexer *lexer, uint64_t *value)
{
    char text[64];
    char *end = NULL;
    if (lexer->kind != WEIR_TOKEN_NUMBER || !token_text(lexer, text, sizeof text))
        return false;
    errno = 0;
    *value = strtoull(text, &end, 0);
    return *end == '\0' && errno == 0;
}

static weir_status read_integer(struct reader *reader, const ProtobufCFieldDescriptor *field, bool is_signed,
                                uint64_t largest, uint64_t *out)
{
    bool negative = false;
    uint64_t size = 0;
    WEIR_TRY(skip(reader, '-', &negative));
    if (!token_integer(&reader->lexer, &size))
        return EXPECTED(reader, field, "an integer");
    if ((negative && !is_signed) || size > largest + (negative ? 1 : 0))
        return weir_lexer_fail(&reader->lexer, "%s: %s%.*s is out of range", field->name, negative ? "-" : "",
                               (int)reader->lexer.length, reader->lexer.token);
    *out = negative ? 0 - size : size;
    return weir_lexer_next(&reader->lexer);
}

/* "inf", "infinity" or "nan", in any case. */
static bool token_special(const weir_text_lexer *lexer, double *value)
{
    char name[16];
    if (lexer->kind != WEIR_TOKEN_NAME || !token_text(lexer, name, sizeof name))
        return false;
    bool infinite = strcasecmp(name, "inf") == 0 || strcasecmp(name, "infinity") == 0;
    *value = infinite ? __builtin_inf() : __builtin_nan("");
    return infinite || strcasecmp(name, "nan") == 0;
}

static bool token_floating(const weir_text_lexer *lexer, double *value)
{
    char text[512];
    if (lexer->kind != WEIR_TOKEN_NUMBER || !token_text(lexer, text, sizeof text))
        return false;
    char *last = text + lexer->length - 1;
    if (last > text && (*last == 'f' || *last == 'F'))
        *last = '\0';
    return weir_decimal_read(text, value);
}

static weir_status read_floating(struct reader *reader, const ProtobufCFieldDescriptor *field, double *out)
{
    bool negative = false;
    double value = 0;
    WEIR_TRY(skip(reader, '-', &negative));
    if (!token_special(&reader->lexer, &value) && !token_floating(&reader->lexer, &value))
        return EXPECTED(reader, field, "a number");
    *out = negative ? -value : value;
    return weir_lexer_next(&reader->lexer);
}

static weir_status read_bool(struct reader *reader, const ProtobufCFieldDescriptor *field, protobuf_c_boolean *out)
{
    static const char *const trues[] = {"true", "True", "t"};
    static const char *const falses[] = {"false", "False", "f"};
    uint64_t number = 2;
    if (token_integer(&reader->lexer, &number) && number > 1)
        return EXPECTED(reader, field, "true or false");
    for (int i = 0; i < 3; i++) {
        if (weir_lexer_at_name(&reader->lexer, trues[i]))
            number = 1;
        if (weir_lexer_at_name(&reader->lexer, falses[i]))
            number = 0;
    }
    if (number > 1)
        return EXPECTED(reader, field, "true or false");
    *out = (protobuf_c_boolean)number;
    return weir_lexer_next(&reader->lexer);
}

static weir_status read_enum(struct reader *reader, const ProtobufCFieldDescriptor *field, int *out)
{
    const ProtobufCEnumDescriptor *descriptor = field->descriptor;
    char name[128];
    if (reader->lexer.kind != WEIR_TOKEN_NAME) {
        uint64_t number = 0;
        WEIR_TRY(read_integer(reader, field, true, INT32_MAX, &number));
        *out = (int)(int64_t)number;
        return WEIR_STATUS_OK;
    }
    const ProtobufCEnumValue *value = NULL;
    if (token_text(&reader->lexer, name, sizeof name))
        value = protobuf_c_enum_descriptor_get_value_by_name(descriptor, name);
    if (value == NULL)
        return weir_lexer_fail(&reader->lexer, "%s: %s is no %s", field->name,
                               weir_lexer_show(&reader->lexer, (char[WEIR_TOKEN_TEXT_SIZE]){0}),
                               descriptor->short_name);
    *out = value->value;
    return weir_lexer_next(&reader->lexer);
}

/* ---- strings ------------------------------------------------------------------------------------------------------- */

/* Adjacent literals are one string. */
static weir_status read_literals(struct reader *reader, const ProtobufCFieldDescriptor *field, weir_text *bytes)
{
    if (reader->lexer.kind != WEIR_TOKEN_STRING)
        return EXPECTED(reader, field, "a string in quotes");
    while (reader->lexer.kind == WEIR_TOKEN_STRING) {
        WEIR_TRY(weir_lexer_unescape(&reader->lexer, bytes));
        if (field->type == PROTOBUF_C_TYPE_STRING && memchr(weir_text_get(bytes), 0, bytes->length) != NULL)
            return weir_lexer_fail(&reader->lexer, "%s: zero byte in a string", field->name);
        WEIR_TRY(weir_lexer_next(&reader->lexer));
    }
    return bytes->failed ? fail_memory(reader) : WEIR_STATUS_OK;
}

static weir_status read_string(struct reader *reader, const ProtobufCFieldDescriptor *field, void *place)
{
    weir_text bytes = {0};
    weir_status status = read_literals(reader, field, &bytes);
    if (weir_ok(status) && field->type == PROTOBUF_C_TYPE_STRING) {
        char *text = weir_arena_text(reader->arena, weir_text_get(&bytes), bytes.length);
        if (text == NULL)
            status = fail_memory(reader);
        else
            *(char **)place = text;
    } else if (weir_ok(status)) {
        ProtobufCBinaryData data = weir_message_bytes(reader->arena, weir_text_get(&bytes), bytes.length);
        if (data.data == NULL)
            status = fail_memory(reader);
        else
            *(ProtobufCBinaryData *)place = data;
    }
    weir_text_clear(&bytes);
    return status;
}

/* ---- values -------------------------------------------------------------------------------------------------------- */

static weir_status read_fields(struct reader *reader, ProtobufCMessage *message, char close);

/* { ... } or < ... >. */
static weir_status read_message(struct reader *reader, const ProtobufCFieldDescriptor *field, ProtobufCMessage **out)
{
    bool brace = weir_lexer_at(&reader->lexer, '{');
    if (!brace && !weir_lexer_at(&reader->lexer, '<'))
        return EXPECTED(reader, field, "'{'");
    if (reader->depth + 1 >= WEIR_MESSAGE_DEPTH)
        return weir_lexer_fail(&reader->lexer, "%s: nested deeper than %d messages", field->name, WEIR_MESSAGE_DEPTH);
    WEIR_TRY(weir_lexer_next(&reader->lexer));
    ProtobufCMessage *message = weir_message_new(reader->arena, field->descriptor);
    if (message == NULL)
        return fail_memory(reader);
    reader->depth++;
    WEIR_TRY(read_fields(reader, message, brace ? '}' : '>'));
    reader->depth--;
    *out = message;
    return weir_lexer_next(&reader->lexer);
}

static weir_status read_value(struct reader *reader, const ProtobufCFieldDescriptor *field, void *place)
{
    uint64_t number = 0;
    double floating = 0;
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        WEIR_TRY(read_integer(reader, field, true, INT32_MAX, &number));
        *(int32_t *)place = (int32_t)(int64_t)number;
        return WEIR_STATUS_OK;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        WEIR_TRY(read_integer(reader, field, false, UINT32_MAX, &number));
        *(uint32_t *)place = (uint32_t)number;
        return WEIR_STATUS_OK;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return read_integer(reader, field, true, INT64_MAX, place);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return read_integer(reader, field, false, UINT64_MAX, place);
    case PROTOBUF_C_TYPE_FLOAT:
        WEIR_TRY(read_floating(reader, field, &floating));
        *(float *)place = (float)floating;
        return WEIR_STATUS_OK;
    case PROTOBUF_C_TYPE_DOUBLE:
        return read_floating(reader, field, place);
    case PROTOBUF_C_TYPE_BOOL:
        return read_bool(reader, field, place);
    case PROTOBUF_C_TYPE_ENUM:
        return read_enum(reader, field, place);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
        return read_string(reader, field, place);
    case PROTOBUF_C_TYPE_MESSAGE:
        return read_message(reader, field, place);
    }
    return WEIR_STATUS_OK;
}

/* ---- fields -------------------------------------------------------------------------------------------------------- */

/* The field that the token names, or NULL. */
static const ProtobufCFieldDescriptor *find_field(const weir_text_lexer *lexer,
                                                  const ProtobufCMessageDescriptor *descriptor)
{
    char name[128];
    if (lexer->kind != WEIR_TOKEN_NAME || !token_text(lexer, name, sizeof name))
        return NULL;
    return protobuf_c_message_descriptor_get_field_by_name(descriptor, name);
}

static weir_status fail_field(const weir_text_lexer *lexer, const ProtobufCMessageDescriptor *descriptor)
{
    char name[128] = "";
    const char *names[64] = {NULL};
    char shown[WEIR_TOKEN_TEXT_SIZE];
    weir_lexer_show(lexer, shown);
    if (lexer->kind != WEIR_TOKEN_NAME)
        return weir_lexer_fail(lexer, "expected the name of a field of %s, not %s", descriptor->short_name, shown);
    for (unsigned i = 0; i < descriptor->n_fields && i < 63; i++)
        names[i] = descriptor->fields[i].name;
    const char *nearest = token_text(lexer, name, sizeof name) ? weir_text_nearest(name, names) : NULL;
    if (nearest == NULL)
        return weir_lexer_fail(lexer, "%s has no field %s", descriptor->short_name, shown);
    return weir_lexer_fail(lexer, "%s has no field %s; did you mean '%s'?", descriptor->short_name, shown, nearest);
}

/* Makes the message's place ready for one value: oneof chosen, element appended. */
static weir_status place_of(struct reader *reader, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                            void **place)
{
    *place = weir_field_at(message, field->offset);
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        if (weir_field_in_oneof(field))
            *(uint32_t *)weir_field_at(message, field->quantifier_offset) = field->id;
        return WEIR_STATUS_OK;
    }
    size_t *count = weir_field_at(message, field->quantifier_offset);
    size_t size = weir_field_size(field);
    if (!weir_message_grow(reader->arena, *place, *count, size))
        return fail_memory(reader);
    *place = *(char **)*place + (*count)++ * size;
    return WEIR_STATUS_OK;
}

/* Each value is read aside first: a message under construction never holds a half-made one. */
static weir_status read_into(struct reader *reader, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    union {
        ProtobufCBinaryData bytes;
        uint64_t number;
        void *pointer;
    } value = {{0}};
    WEIR_TRY(read_value(reader, field, &value));
    void *place = NULL;
    WEIR_TRY(place_of(reader, message, field, &place));
    memcpy(place, &value, weir_field_size(field));
    return WEIR_STATUS_OK;
}

static weir_status read_list(struct reader *reader, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        return weir_lexer_fail(&reader->lexer, "%s takes one value, not a list", field->name);
    WEIR_TRY(weir_lexer_next(&reader->lexer));
    bool more = !weir_lexer_at(&reader->lexer, ']');
    while (more) {
        WEIR_TRY(read_into(reader, message, field));
        WEIR_TRY(skip(reader, ',', &more));
    }
    bool closed = false;
    WEIR_TRY(skip(reader, ']', &closed));
    return closed ? WEIR_STATUS_OK : EXPECTED(reader, field, "',' or ']'");
}

/* Fields that stand once only, by place in the descriptor (no message of ours has more than 64), and oneofs. */
static weir_status check_once(const struct reader *reader, const ProtobufCMessage *message,
                              const ProtobufCFieldDescriptor *field, uint64_t *seen)
{
    uint64_t bit = 1ULL << ((field - message->descriptor->fields) % 64);
    bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
    if (!repeated && (*seen & bit) != 0)
        return weir_lexer_fail(&reader->lexer, "%s stands twice in one %s", field->name,
                               message->descriptor->short_name);
    *seen |= bit;
    uint32_t chosen = weir_field_in_oneof(field) ? *(uint32_t *)weir_field_at(message, field->quantifier_offset) : 0;
    const ProtobufCFieldDescriptor *other =
        chosen == 0 ? NULL : protobuf_c_message_descriptor_get_field(message->descriptor, chosen);
    if (other != NULL)
        return weir_lexer_fail(&reader->lexer, "%s and %s exclude each other in one %s", other->name, field->name,
                               message->descriptor->short_name);
    return WEIR_STATUS_OK;
}

static weir_status read_field(struct reader *reader, ProtobufCMessage *message, uint64_t *seen)
{
    const ProtobufCFieldDescriptor *field = find_field(&reader->lexer, message->descriptor);
    bool colon = false;
    bool separator = false;
    if (field == NULL)
        return fail_field(&reader->lexer, message->descriptor);
    WEIR_TRY(check_once(reader, message, field, seen));
    WEIR_TRY(weir_lexer_next(&reader->lexer));
    WEIR_TRY(skip(reader, ':', &colon));
    if (!colon && field->type != PROTOBUF_C_TYPE_MESSAGE)
        return EXPECTED(reader, field, "':'");
    if (weir_lexer_at(&reader->lexer, '['))
        WEIR_TRY(read_list(reader, message, field));
    else
        WEIR_TRY(read_into(reader, message, field));
    WEIR_TRY(skip(reader, ',', &separator));
    return separator ? WEIR_STATUS_OK : skip(reader, ';', &separator);
}

/* An entry of a map may leave out its value. */
static weir_status complete_entry(struct reader *reader, ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    if (descriptor->n_fields != 2 || strcmp(descriptor->fields[0].name, "key") != 0)
        return WEIR_STATUS_OK;
    const ProtobufCFieldDescriptor *value = &descriptor->fields[1];
    ProtobufCMessage **place = weir_field_at(message, value->offset);
    if (value->type != PROTOBUF_C_TYPE_MESSAGE || *place != NULL)
        return WEIR_STATUS_OK;
    *place = weir_message_new(reader->arena, value->descriptor);
    return *place != NULL ? WEIR_STATUS_OK : fail_memory(reader);
}

/* Up to close (0: the end of the text), which stays the current token. */
static weir_status read_fields(struct reader *reader, ProtobufCMessage *message, char close)
{
    uint64_t seen = 0;
    for (;;) {
        bool end = reader->lexer.kind == WEIR_TOKEN_END;
        if (close == 0 ? end : weir_lexer_at(&reader->lexer, close))
            return complete_entry(reader, message);
        if (end)
            return weir_lexer_fail(&reader->lexer, "'%c' is missing at the end of the text", close);
        WEIR_TRY(read_field(reader, message, &seen));
    }
}

weir_status weir_message_from_text(const ProtobufCMessageDescriptor *descriptor, const char *text, size_t length,
                                   weir_arena *arena, ProtobufCMessage **out)
{
    struct reader reader = {.arena = arena};
    WEIR_TRY(weir_lexer_start(&reader.lexer, descriptor->short_name, text, length));
    ProtobufCMessage *message = weir_message_new(arena, descriptor);
    if (message == NULL)
        return fail_memory(&reader);
    WEIR_TRY(read_fields(&reader, message, 0));
    *out = message;
    return WEIR_STATUS_OK;
}
