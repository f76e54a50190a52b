/*
 * Parsing and printing of device names.
 */
#include "graph/device_name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A letter, then letters, digits and "_", into out, which must be empty: a part given twice is no name. "*": open. */
static bool copy_word(char *out, size_t size, const char *text, size_t length)
{
    if (length == 1 && text[0] == '*')
        return true;
    if (out[0] != '\0' || length == 0 || length >= size || !is_letter(text[0]))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_letter(text[i]) && !is_digit(text[i]) && text[i] != '_')
            return false;
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

/* A decimal number, given once, or "*" (open). */
static bool parse_index(const char *text, size_t length, int *out)
{
    if (length == 1 && text[0] == '*')
        return true;
    if (*out >= 0 || length == 0 || length > 9)
        return false;
    int value = 0;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(text[i]))
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *out = value;
    return true;
}

static bool has_prefix(const char *text, size_t length, const char *prefix, size_t *prefix_length)
{
    *prefix_length = strlen(prefix);
    return length > *prefix_length && memcmp(text, prefix, *prefix_length) == 0;
}

/* The short forms of two types, with or without an index: "cpu:0", "GPU". */
static bool is_short_form(const char *text, size_t length)
{
    return length >= 3 && (length == 3 || text[3] == ':') &&
           (strncasecmp(text, "cpu", 3) == 0 || strncasecmp(text, "gpu", 3) == 0);
}

static bool parse_type_and_index(const char *text, size_t length, weir_device_name *out)
{
    const char *colon = memchr(text, ':', length);
    size_t type_length = colon != NULL ? (size_t)(colon - text) : length;
    if (!copy_word(out->type, sizeof out->type, text, type_length))
        return false;
    for (char *c = out->type; *c != '\0'; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    if (colon == NULL)
        return true;
    return parse_index(colon + 1, length - type_length - 1, &out->id);
}

static bool parse_part(const char *text, size_t length, weir_device_name *out)
{
    size_t skip = 0;
    if (has_prefix(text, length, "job:", &skip))
        return copy_word(out->job, sizeof out->job, text + skip, length - skip);
    if (has_prefix(text, length, "replica:", &skip))
        return parse_index(text + skip, length - skip, &out->replica);
    if (has_prefix(text, length, "task:", &skip))
        return parse_index(text + skip, length - skip, &out->task);
    if (has_prefix(text, length, "device:", &skip))
        return parse_type_and_index(text + skip, length - skip, out);
    if (is_short_form(text, length))
        return parse_type_and_index(text, length, out);
    return false;
}

weir_status weir_device_name_parse(const char *text, weir_device_name *out)
{
    weir_device_name name = WEIR_DEVICE_ANY;
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, "/");
        if (length > 0 && !parse_part(at, length, &name)) {
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Malformed device specification '%s': '%.*s' is none of job:NAME, replica:N, task:N, "
                             "device:TYPE:N, cpu:N, gpu:N",
                             text, (int)length, at);
        }
        at += length;
        at += *at == '/';
    }
    *out = name;
    return WEIR_STATUS_OK;
}

weir_device_name weir_device_name_merge(const weir_device_name *outer, const weir_device_name *inner)
{
    weir_device_name merged = *outer;
    if (inner->job[0] != '\0')
        memcpy(merged.job, inner->job, sizeof merged.job);
    if (inner->replica >= 0)
        merged.replica = inner->replica;
    if (inner->task >= 0)
        merged.task = inner->task;
    if (inner->type[0] != '\0')
        memcpy(merged.type, inner->type, sizeof merged.type);
    if (inner->id >= 0)
        merged.id = inner->id;
    return merged;
}

char *weir_device_name_text(const weir_device_name *name, char text[WEIR_DEVICE_NAME_SIZE])
{
    char *at = text;
    char *end = text + WEIR_DEVICE_NAME_SIZE;
    *at = '\0';
    if (name->job[0] != '\0')
        at += snprintf(at, (size_t)(end - at), "/job:%s", name->job);
    if (name->replica >= 0)
        at += snprintf(at, (size_t)(end - at), "/replica:%d", name->replica);
    if (name->task >= 0)
        at += snprintf(at, (size_t)(end - at), "/task:%d", name->task);
    if (name->type[0] != '\0' || name->id >= 0) {
        const char *type = name->type[0] != '\0' ? name->type : "*";
        if (name->id >= 0)
            snprintf(at, (size_t)(end - at), "/device:%s:%d", type, name->id);
        else
            snprintf(at, (size_t)(end - at), "/device:%s:*", type);
    }
    return text;
}

bool weir_device_name_matches(const weir_device_name *pattern, const weir_device_name *name)
{
    return (pattern->job[0] == '\0' || strcmp(pattern->job, name->job) == 0) &&
           (pattern->replica < 0 || pattern->replica == name->replica) &&
           (pattern->task < 0 || pattern->task == name->task) &&
           (pattern->type[0] == '\0' || strcmp(pattern->type, name->type) == 0) &&
           (pattern->id < 0 || pattern->id == name->id);
}
