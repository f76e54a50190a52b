/*
 * Translation of RE2's syntax to POSIX extended expressions: classes such as \d, groups that do not capture, lazy
 * repetition (all the same where only whole texts match), and a dot that is no newline.
 */
#include "op/misc_pattern.h"

#include <string.h>

#include "base/text.h"

typedef struct translation {
    const char *at;
    const char *end;
    weir_text out;
    int flags;
} translation;

static weir_status fail_unknown(const translation *t, const char *what)
{
    return weir_fail(WEIR_UNIMPLEMENTED, "Regular expressions with %s are not understood (at '%.*s')", what,
                     (int)(t->end - t->at), t->at);
}

/* What stands between the brackets of a class such as \d; NULL for no class. */
static const char *class_of(char letter)
{
    switch (letter) {
    case 'd':
        return "0-9";
    case 'w':
        return "0-9A-Za-z_";
    case 's':
        return "\t\n\f\r ";
    default:
        return NULL;
    }
}

static char control_of(char letter)
{
    const char *found = letter != '\0' ? strchr("n\nt\tr\rf\fv\va\a", letter) : NULL;
    return found != NULL ? found[1] : '\0';
}

/* An escape outside brackets; at stands behind the backslash. */
static weir_status translate_escape(translation *t)
{
    if (t->at == t->end)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Invalid pattern: trailing \\ at end of expression");
    char letter = *t->at;
    char lower = (char)(letter | 0x20);
    if (class_of(letter) != NULL)
        weir_text_append(&t->out, "[%s]", class_of(letter));
    else if (letter < 'a' && class_of(lower) != NULL)
        weir_text_append(&t->out, "[^%s]", class_of(lower));
    else if (letter == 'b' || letter == 'B')
        weir_text_append(&t->out, "\\%c", letter);
    else if (control_of(letter) != '\0')
        weir_text_append(&t->out, "%c", control_of(letter));
    else if ((lower >= 'a' && lower <= 'z') || (letter >= '0' && letter <= '9'))
        return fail_unknown(t, "this escape");
    else
        weir_text_append(&t->out, "\\%c", letter);
    t->at++;
    return WEIR_STATUS_OK;
}

/* One member of a bracket expression; characters that are special there go to the end or are refused. */
static weir_status translate_member(translation *t)
{
    if (*t->at == '[' && t->at + 1 < t->end && t->at[1] == ':') {
        const char *close = memmem(t->at, (size_t)(t->end - t->at), ":]", 2);
        if (close == NULL)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Invalid pattern: missing ]");
        weir_text_append_bytes(&t->out, t->at, (size_t)(close + 2 - t->at));
        t->at = close + 2;
        return WEIR_STATUS_OK;
    }
    if (*t->at != '\\') {
        weir_text_append(&t->out, "%c", *t->at++);
        return WEIR_STATUS_OK;
    }
    if (++t->at == t->end)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Invalid pattern: missing ]");
    char letter = *t->at;
    if (class_of(letter) != NULL)
        weir_text_append(&t->out, "%s", class_of(letter));
    else if (control_of(letter) != '\0')
        weir_text_append(&t->out, "%c", control_of(letter));
    else if (strchr("]^-[", letter) != NULL)
        weir_text_append(&t->out, "[.%c.]", letter);
    else
        weir_text_append(&t->out, "%c", letter);
    t->at++;
    return WEIR_STATUS_OK;
}

static weir_status translate_bracket(translation *t)
{
    weir_text_append(&t->out, "[");
    if (t->at < t->end && *t->at == '^') {
        weir_text_append(&t->out, "^");
        t->at++;
    }
    bool is_first = true;
    while (t->at < t->end && (*t->at != ']' || is_first)) {
        WEIR_TRY(translate_member(t));
        is_first = false;
    }
    if (t->at == t->end)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Invalid pattern: missing ]");
    weir_text_append(&t->out, "]");
    t->at++;
    return WEIR_STATUS_OK;
}

/* Behind "(": what "?" says of the group. */
static weir_status translate_group(translation *t)
{
    if (t->at < t->end && *t->at == '?') {
        if (t->end - t->at >= 2 && t->at[1] == ':')
            t->at += 2;
        else
            return fail_unknown(t, "flags in a group");
    }
    weir_text_append(&t->out, "(");
    return WEIR_STATUS_OK;
}

static weir_status translate(translation *t)
{
    if (t->end - t->at >= 4 && memcmp(t->at, "(?i)", 4) == 0) {
        t->flags |= REG_ICASE;
        t->at += 4;
    }
    while (t->at < t->end) {
        char c = *t->at++;
        if (c == '\\')
            WEIR_TRY(translate_escape(t));
        else if (c == '[')
            WEIR_TRY(translate_bracket(t));
        else if (c == '(')
            WEIR_TRY(translate_group(t));
        else if (c == '.')
            weir_text_append(&t->out, "[^\n]");
        else
            weir_text_append(&t->out, "%c", c);
        if (strchr("*+?}", c) != NULL && t->at < t->end && *t->at == '?')
            t->at++; /* lazy */
    }
    return WEIR_STATUS_OK;
}

weir_status weir_pattern_init(weir_pattern *pattern, const char *text, size_t length)
{
    if (memchr(text, '\0', length) != NULL)
        return weir_fail(WEIR_UNIMPLEMENTED, "Regular expressions with zero bytes are not understood");
    translation t = {.at = text, .end = text + length, .flags = REG_EXTENDED};
    weir_text_append(&t.out, "^(");
    weir_status status = translate(&t);
    weir_text_append(&t.out, ")$");
    if (weir_ok(status)) {
        int code = regcomp(&pattern->regex, weir_text_get(&t.out), t.flags);
        char reason[128];
        if (code != 0) {
            regerror(code, &pattern->regex, reason, sizeof reason);
            status = weir_fail(WEIR_INVALID_ARGUMENT, "Invalid pattern: %.*s, error: %s", (int)length, text, reason);
        }
    }
    weir_text_clear(&t.out);
    return status;
}

bool weir_pattern_matches(const weir_pattern *pattern, const char *bytes, size_t length)
{
    regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)length};
    return regexec(&pattern->regex, bytes, 1, &range, REG_STARTEND) == 0 && range.rm_so == 0 &&
           (size_t)range.rm_eo == length;
}

void weir_pattern_clear(weir_pattern *pattern)
{
    regfree(&pattern->regex);
}
