/*
 * Variables on one device, what computes with them on another: a device function that merges with inner choices.
 */
#include <stdarg.h>
#include <stdio.h>

#include "train/train_state.h"

#define DEVICE_SIZE 256

typedef struct device_split {
    char variables[DEVICE_SIZE];
    char others[DEVICE_SIZE];
    char merged[DEVICE_SIZE];
} device_split;

static const char *const variable_ops[] = {
    "VariableV2",        "Variable",    "VarHandleOp",        "AutoReloadVariable",
    "TemporaryVariable", "HashTableV2", "MutableHashTableV2", NULL};

static bool makes_variable(const char *op)
{
    for (const char *const *name = variable_ops; *name != NULL; name++) {
        if (strcmp(op, *name) == 0)
            return true;
    }
    return false;
}

/* The part of a device name that begins with one of two words ("/device:", "/"), "" when it has none; its length. */
static const char *find_part(const char *device, const char *prefix, size_t *length)
{
    const char *part = strstr(device, prefix);
    *length = part != NULL ? strcspn(part + 1, "/") + 1 : 0;
    return part != NULL ? part : "";
}

/* Names come in their full form ("/job:ps/device:GPU:0"); parts that device lacks are taken from outer. */
static const char *merge(device_split *split, const char *outer, const char *device)
{
    static const char *const parts[] = {"/job:", "/replica:", "/task:", "/device:"};
    size_t at = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t length;
        const char *part = find_part(device, parts[i], &length);
        if (length == 0)
            part = find_part(outer, parts[i], &length);
        if (length > 0 && at + length < sizeof split->merged) {
            memcpy(split->merged + at, part, length);
            at += length;
        }
    }
    split->merged[at] = '\0';
    return split->merged;
}

static const char *choose(void *context, const char *op, const char *name, const char *device)
{
    (void)name;
    device_split *split = context;
    return merge(split, makes_variable(op) ? split->variables : split->others, device);
}

static bool is_word(const char *text, const char *word)
{
    for (; *word != '\0'; text++, word++) {
        if ((*text | 0x20) != *word)
            return false;
    }
    return true;
}

/* "/cpu:0" and "/gpu:1" in full form; all else is a full name already. */
static void write_full(char *out, const char *device)
{
    const char *last = strrchr(device, '/');
    const char *type = last != NULL && is_word(last + 1, "cpu:")   ? "CPU"
                       : last != NULL && is_word(last + 1, "gpu:") ? "GPU"
                                                                   : NULL;
    if (type == NULL)
        snprintf(out, DEVICE_SIZE, "%s", device);
    else
        snprintf(out, DEVICE_SIZE, "%.*s/device:%s:%s", (int)(last - device), device, type, last + 5);
}

weir_scope weir_on_device_with(weir_scope s, weir_variables_on variables, const char *format, ...)
{
    char device[DEVICE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(device, sizeof device, format, arguments);
    va_end(arguments);
    const char *for_variables = variables.device != NULL ? variables.device : "";
    /* Built once, so that a malformed name is reported here and not at some node. */
    if (weir_on_device(s, "%s", length < DEVICE_SIZE ? device : "too long").record == NULL ||
        weir_on_device(s, "%s", for_variables).record == NULL)
        return (weir_scope){0};
    device_split *split = weir_train_take(s, sizeof *split);
    if (split == NULL)
        return (weir_scope){0};
    write_full(split->variables, for_variables);
    write_full(split->others, device);
    return weir_on_device_from(s, choose, split);
}
