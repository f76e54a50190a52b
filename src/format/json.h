/*
 * JSON in small pieces: the commas are put by the writer, which knows what it is inside of.
 *
 *     weir_json json = {.text = &text};
 *     weir_json_open(&json, '{');
 *     weir_json_key(&json, "name"); weir_json_string(&json, "a \"b\"", 5);
 *     weir_json_close(&json, '}');
 */
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* text is borrowed; running out of memory sticks in it. */
typedef struct weir_json {
    weir_text *text;
    bool comma; /* before the next value */
} weir_json;

/* '{' or '['; their ends '}' and ']'. */
void weir_json_open(weir_json *json, char bracket);
void weir_json_close(weir_json *json, char bracket);

/* The name of the next value, inside '{'; a text without zero. */
void weir_json_key(weir_json *json, const char *key);

/* Bytes that are not UTF-8 become U+FFFD. */
void weir_json_string(weir_json *json, const char *bytes, size_t length);
void weir_json_text(weir_json *json, const char *text); /* ends with a zero */
void weir_json_integer(weir_json *json, int64_t value);
void weir_json_bool(weir_json *json, bool value);

/* The shortest digits that give the value back; null for infinities and NaN, which JSON does not have. */
void weir_json_number(weir_json *json, double value);

#endif
