/*
 * The text of a status: one buffer per thread, found by the serial number of the failure.
 */
#include <weir/status.h>
#include <weir/version.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define TEXT_SIZE 8192

static _Thread_local unsigned newest_serial;
static _Thread_local char newest_text[TEXT_SIZE];

const char *weir_version(void)
{
    return WEIR_VERSION;
}

const char *weir_code_name(weir_code code)
{
    switch (code) {
#define WEIR_CODE_NAME(name, number, text)                                                                             \
    case WEIR_##name:                                                                                                  \
        return #name;
        WEIR_STATUS_CODES(WEIR_CODE_NAME)
#undef WEIR_CODE_NAME
    }
    return "UNKNOWN";
}

const char *weir_status_text(weir_status status)
{
    if (status.code != WEIR_OK && status.serial != 0 && status.serial == newest_serial)
        return newest_text;
    return weir_code_name(status.code);
}

char *weir_status_keep(weir_status status)
{
    return strdup(weir_status_text(status));
}

int weir_exit_status(weir_status status)
{
    if (weir_ok(status))
        return 0;
    return status.code == WEIR_INVALID_ARGUMENT ? 2 : 1;
}

static weir_status fail_with_text(weir_code code, const char *text)
{
    memcpy(newest_text, text, strlen(text) + 1);
    newest_serial = newest_serial == ~0U ? 1 : newest_serial + 1;
    return (weir_status){code, newest_serial};
}

weir_status weir_fail(weir_code code, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fail_with_text(code, text);
}

/* Puts more at the end of a text of TEXT_SIZE bytes, as far as it fits. */
static void append(char *text, const char *more)
{
    size_t at = strlen(text);
    size_t length = strnlen(more, TEXT_SIZE - 1 - at);
    memcpy(text + at, more, length);
    text[at + length] = '\0';
}

weir_status weir_fail_in(weir_status status, const char *format, ...)
{
    if (weir_ok(status))
        return status;
    char text[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    append(text, ": ");
    append(text, weir_status_text(status));
    return fail_with_text(status.code, text);
}

weir_status weir_fail_memory(size_t size_bytes)
{
    return weir_fail(WEIR_RESOURCE_EXHAUSTED, "Out of memory: %zu bytes could not be allocated", size_bytes);
}

void weir_error_set(weir_error *error, weir_status status)
{
    if (weir_ok(status) || error->code != WEIR_OK)
        return;
    error->code = status.code;
    error->text = weir_status_keep(status);
}

weir_status weir_error_status(const weir_error *error)
{
    if (error->code == WEIR_OK)
        return WEIR_STATUS_OK;
    return fail_with_text(error->code, error->text != NULL ? error->text : weir_code_name(error->code));
}

void weir_error_clear(weir_error *error)
{
    free(error->text);
    *error = (weir_error){.code = WEIR_OK};
}
