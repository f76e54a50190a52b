/*
 * Values with their commas, and strings with their escapes.
 */
#include "format/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "format/decimal.h"
#include "format/utf8.h"

static void begin_value(weir_json *json)
{
    if (json->comma)
        weir_text_append_bytes(json->text, ",", 1);
    json->comma = true;
}

void weir_json_open(weir_json *json, char bracket)
{
    begin_value(json);
    weir_text_append_bytes(json->text, &bracket, 1);
    json->comma = false;
}

void weir_json_close(weir_json *json, char bracket)
{
    weir_text_append_bytes(json->text, &bracket, 1);
    json->comma = true;
}

static void append_byte(weir_text *text, uint8_t byte)
{
    if (byte == '"' || byte == '\\')
        weir_text_append(text, "\\%c", byte);
    else if (byte == '\n')
        weir_text_append(text, "\\n");
    else if (byte < 0x20)
        weir_text_append(text, "\\u%04x", byte);
    else
        weir_text_append_bytes(text, &byte, 1);
}

static void append_string(weir_text *text, const char *bytes, size_t length)
{
    const uint8_t *at = (const uint8_t *)bytes;
    weir_text_append_bytes(text, "\"", 1);
    for (size_t i = 0; i < length;) {
        size_t character = weir_utf8_length(at + i, length - i);
        if (character == 0)
            weir_text_append(text, "\\ufffd");
        else if (character == 1)
            append_byte(text, at[i]);
        else
            weir_text_append_bytes(text, at + i, character);
        i += character == 0 ? 1 : character;
    }
    weir_text_append_bytes(text, "\"", 1);
}

void weir_json_key(weir_json *json, const char *key)
{
    begin_value(json);
    append_string(json->text, key, strlen(key));
    weir_text_append_bytes(json->text, ":", 1);
    json->comma = false;
}

void weir_json_string(weir_json *json, const char *bytes, size_t length)
{
    begin_value(json);
    append_string(json->text, bytes, length);
}

void weir_json_text(weir_json *json, const char *text)
{
    weir_json_string(json, text, strlen(text));
}

void weir_json_integer(weir_json *json, int64_t value)
{
    begin_value(json);
    weir_text_append(json->text, "%" PRId64, value);
}

void weir_json_bool(weir_json *json, bool value)
{
    begin_value(json);
    weir_text_append(json->text, value ? "true" : "false");
}

void weir_json_number(weir_json *json, double value)
{
    begin_value(json);
    if (isfinite(value))
        weir_decimal_append_double(json->text, value);
    else
        weir_text_append(json->text, "null");
}
