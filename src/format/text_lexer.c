/*
 * Text to tokens. Comments run from # to the end of the line.
 */
#include "format/text_lexer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* ---- errors -------------------------------------------------------------------------------------------------------- */

weir_status weir_lexer_fail(const weir_text_lexer *lexer, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return weir_fail(WEIR_INVALID_ARGUMENT, "Cannot parse %s text: %d:%d: %s", lexer->what, lexer->token_line,
                     lexer->token_column, text);
}

const char *weir_lexer_show(const weir_text_lexer *lexer, char text[WEIR_TOKEN_TEXT_SIZE])
{
    int most = lexer->length > 60 ? 60 : (int)lexer->length;
    if (lexer->kind == WEIR_TOKEN_END)
        snprintf(text, WEIR_TOKEN_TEXT_SIZE, "the end of the text");
    else if (lexer->kind == WEIR_TOKEN_STRING)
        snprintf(text, WEIR_TOKEN_TEXT_SIZE, "%.*s%s", most, lexer->token, lexer->length > 60 ? "..." : "");
    else
        snprintf(text, WEIR_TOKEN_TEXT_SIZE, "'%.*s%s'", most, lexer->token, lexer->length > 60 ? "..." : "");
    return text;
}

/* ---- tokens -------------------------------------------------------------------------------------------------------- */

static void skip_blanks(weir_text_lexer *lexer)
{
    bool comment = false;
    for (; lexer->at < lexer->end; lexer->at++) {
        char c = *lexer->at;
        if (c == '\n') {
            lexer->line++;
            lexer->line_start = lexer->at + 1;
            comment = false;
        } else if (c == '#') {
            comment = true;
        } else if (!comment && c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f') {
            return;
        }
    }
}

/* Digits with a point, an exponent, a suffix; or 0x and hexadecimal digits. */
static const char *number_end(const char *at, const char *end)
{
    bool hex = end - at > 1 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
    while (at < end) {
        bool sign = !hex && (*at == '+' || *at == '-') && (at[-1] == 'e' || at[-1] == 'E');
        if (!is_letter(*at) && !is_digit(*at) && *at != '.' && !sign)
            break;
        at++;
    }
    return at;
}

static weir_status take_string(weir_text_lexer *lexer)
{
    char quote = *lexer->token;
    const char *at = lexer->token + 1;
    while (at < lexer->end && *at != quote && *at != '\n')
        at += *at == '\\' && at + 1 < lexer->end && at[1] != '\n' ? 2 : 1;
    lexer->kind = WEIR_TOKEN_STRING;
    lexer->at = at < lexer->end ? at + 1 : lexer->end;
    lexer->length = (size_t)(lexer->at - lexer->token);
    if (at < lexer->end && *at == quote)
        return WEIR_STATUS_OK;
    lexer->length = (size_t)(at - lexer->token);
    char shown[WEIR_TOKEN_TEXT_SIZE];
    return weir_lexer_fail(lexer, "string without closing quote: %s", weir_lexer_show(lexer, shown));
}

weir_status weir_lexer_next(weir_text_lexer *lexer)
{
    skip_blanks(lexer);
    const char *at = lexer->at;
    lexer->token = at;
    lexer->token_line = lexer->line;
    lexer->token_column = (int)(at - lexer->line_start) + 1;
    lexer->length = 0;
    lexer->kind = WEIR_TOKEN_END;
    if (at >= lexer->end)
        return WEIR_STATUS_OK;
    if (*at == '"' || *at == '\'')
        return take_string(lexer);
    if (is_letter(*at)) {
        lexer->kind = WEIR_TOKEN_NAME;
        while (at < lexer->end && (is_letter(*at) || is_digit(*at)))
            at++;
    } else if (is_digit(*at) || (*at == '.' && lexer->end - at > 1 && is_digit(at[1]))) {
        lexer->kind = WEIR_TOKEN_NUMBER;
        at = number_end(at, lexer->end);
    } else {
        lexer->kind = WEIR_TOKEN_SYMBOL;
        at++;
    }
    lexer->at = at;
    lexer->length = (size_t)(at - lexer->token);
    return WEIR_STATUS_OK;
}

weir_status weir_lexer_start(weir_text_lexer *lexer, const char *what, const char *text, size_t length)
{
    *lexer = (weir_text_lexer){.what = what, .at = text, .end = text + length, .line_start = text, .line = 1};
    return weir_lexer_next(lexer);
}

bool weir_lexer_at_name(const weir_text_lexer *lexer, const char *name)
{
    return lexer->kind == WEIR_TOKEN_NAME && strlen(name) == lexer->length &&
           memcmp(lexer->token, name, lexer->length) == 0;
}

/* ---- escapes ------------------------------------------------------------------------------------------------------- */

static void append_utf8(weir_text *out, uint32_t code)
{
    uint8_t bytes[4];
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        bytes[i] = (uint8_t)(0x80 | (code & 0x3f));
    static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    bytes[0] = (uint8_t)(heads[length] | code);
    weir_text_append_bytes(out, bytes, length);
}

/* Up to most digits of the base from *at; returns how many. */
static int take_digits(const char **at, const char *end, int base, int most, uint32_t *value)
{
    int count = 0;
    *value = 0;
    while (count < most && *at < end && hex_value(**at) >= 0 && hex_value(**at) < base) {
        *value = *value * (uint32_t)base + (uint32_t)hex_value(**at);
        (*at)++;
        count++;
    }
    return count;
}

/* \uXXXX or \UXXXXXXXX, after the letter; two surrogates make one character. */
static bool take_unicode(const char **at, const char *end, int digits, weir_text *out)
{
    uint32_t code = 0;
    uint32_t low = 0;
    if (take_digits(at, end, 16, digits, &code) != digits)
        return false;
    if (code >= 0xd800 && code < 0xdc00 && end - *at > 2 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        *at += 2;
        if (take_digits(at, end, 16, 4, &low) != 4 || low < 0xdc00 || low > 0xdfff)
            return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return false;
    append_utf8(out, code);
    return true;
}

/* The escape after a backslash. */
static bool take_escape(const char **at, const char *end, weir_text *out)
{
    static const char letters[] = "abfnrtv?'\"\\";
    static const char meanings[] = "\a\b\f\n\r\t\v?'\"\\";
    uint32_t value = 0;
    char c = **at;
    const char *letter = c == '\0' ? NULL : strchr(letters, c);
    if (letter != NULL) {
        (*at)++;
        weir_text_append_bytes(out, &meanings[letter - letters], 1);
        return true;
    }
    if (c >= '0' && c <= '7') {
        take_digits(at, end, 8, 3, &value);
    } else {
        (*at)++;
        if (c == 'u' || c == 'U')
            return take_unicode(at, end, c == 'u' ? 4 : 8, out);
        if ((c != 'x' && c != 'X') || take_digits(at, end, 16, 2, &value) == 0)
            return false;
    }
    uint8_t byte = (uint8_t)value;
    weir_text_append_bytes(out, &byte, 1);
    return value <= UINT8_MAX;
}

weir_status weir_lexer_unescape(const weir_text_lexer *lexer, weir_text *out)
{
    const char *at = lexer->token + 1;
    const char *end = lexer->token + lexer->length - 1;
    while (at < end) {
        const char *backslash = memchr(at, '\\', (size_t)(end - at));
        const char *stop = backslash != NULL ? backslash : end;
        weir_text_append_bytes(out, at, (size_t)(stop - at));
        at = stop;
        if (at == end)
            break;
        at++;
        if (at == end || !take_escape(&at, end, out)) {
            char shown[WEIR_TOKEN_TEXT_SIZE];
            return weir_lexer_fail(lexer, "impossible escape %.*s in %s", (int)(at - stop), stop,
                                   weir_lexer_show(lexer, shown));
        }
    }
    return WEIR_STATUS_OK;
}
