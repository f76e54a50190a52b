/*
 * Command line flags. The line is gone through twice: once to check everything, once to set the variables, so that a
 * fault anywhere leaves them all as they were.
 */
#include <weir/flags.h>

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text.h"

/* What one argument turned out to be. */
typedef struct argument {
    const weir_flag *flag; /* NULL: --help */
    const char *value;
} argument;

static const weir_flag *find_flag(const weir_flag *table, const char *name, size_t length)
{
    for (const weir_flag *flag = table; flag->kind != WEIR_FLAG_KIND_END; flag++) {
        if (flag->kind != WEIR_FLAG_KIND_HEADING && strncmp(flag->name, name, length) == 0 &&
            flag->name[length] == '\0')
            return flag;
    }
    return NULL;
}

/* ---- failures ---- */

/* The name in the table nearest to a word, or NULL; names lists them all. */
static const char *nearest_name(const weir_flag *table, const char *word, const char **names)
{
    size_t count = 0;
    for (const weir_flag *flag = table; flag->kind != WEIR_FLAG_KIND_END; flag++) {
        if (flag->kind != WEIR_FLAG_KIND_HEADING)
            names[count++] = flag->name;
    }
    names[count++] = "help";
    names[count] = NULL;
    return weir_text_nearest(word, names);
}

static weir_status fail_unknown(const weir_flag *table, const char *given, const char *word)
{
    size_t count = 2;
    for (const weir_flag *flag = table; flag->kind != WEIR_FLAG_KIND_END; flag++)
        count++;
    const char **names = NULL;
    WEIR_TRY(weir_new(&names, count));
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *nearest = nearest_name(table, name, names);
    weir_release(names);
    int length = (int)strcspn(given, "=");
    if (nearest == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%.*s: unknown flag; --help lists them all", length, given);
    return weir_fail(WEIR_INVALID_ARGUMENT, "%.*s: unknown flag; did you mean --%s?", length, given, nearest);
}

static weir_status fail_value(const weir_flag *flag, const char *value, const char *what)
{
    return weir_fail(WEIR_INVALID_ARGUMENT, "--%s=%s: %s", flag->name, value, what);
}

/* ---- values ---- */

static bool begins_with_blank(const char *text)
{
    return strchr(" \t\n\v\f\r", text[0]) != NULL; /* the empty text too */
}

static weir_status read_integer(const weir_flag *flag, const char *value, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (begins_with_blank(value) || *end != '\0')
        return fail_value(flag, value, "not an integer");
    if (errno == ERANGE)
        return fail_value(flag, value, "does not fit into 64 bits");
    if (flag->has_range && (number < flag->least_integer || number > flag->most_integer))
        return weir_fail(WEIR_INVALID_ARGUMENT, "--%s=%s: must be from %" PRId64 " to %" PRId64, flag->name, value,
                         flag->least_integer, flag->most_integer);
    *out = number;
    return WEIR_STATUS_OK;
}

static weir_status read_number(const weir_flag *flag, const char *value, double *out)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a decimal point, whatever the user's language */
    if (plain == (locale_t)0)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "--%s=%s: no memory to read a number", flag->name, value);
    char *end = NULL;
    errno = 0;
    double number = strtod_l(value, &end, plain);
    bool is_huge = errno == ERANGE && (number > 1 || number < -1);
    freelocale(plain);
    if (begins_with_blank(value) || *end != '\0')
        return fail_value(flag, value, "not a number");
    if (is_huge)
        return fail_value(flag, value, "too large for a double");
    if (flag->has_range && !(number >= flag->least_number && number <= flag->most_number))
        return weir_fail(WEIR_INVALID_ARGUMENT, "--%s=%s: must be from %g to %g", flag->name, value, flag->least_number,
                         flag->most_number);
    *out = number;
    return WEIR_STATUS_OK;
}

static weir_status read_boolean(const weir_flag *flag, const char *value, bool *out)
{
    static const char *const words[] = {"false", "f", "0", "true", "t", "1"};
    for (int i = 0; i < 6; i++) {
        if (strcasecmp(value, words[i]) == 0) {
            *out = i >= 3;
            return WEIR_STATUS_OK;
        }
    }
    return fail_value(flag, value, "must be true, t, 1, false, f or 0");
}

/* Checks the value of an argument, and sets the variable when asked to. */
static weir_status take_value(const argument *argument, bool set)
{
    const weir_flag *flag = argument->flag;
    int64_t integer = 0;
    double number = 0;
    bool boolean = false;
    switch (flag->kind) {
    case WEIR_FLAG_KIND_STRING:
        if (set)
            *flag->value.string = argument->value;
        break;
    case WEIR_FLAG_KIND_INTEGER:
        WEIR_TRY(read_integer(flag, argument->value, &integer));
        if (set)
            *flag->value.integer = integer;
        break;
    case WEIR_FLAG_KIND_FLOAT:
        WEIR_TRY(read_number(flag, argument->value, &number));
        if (set)
            *flag->value.number = number;
        break;
    case WEIR_FLAG_KIND_BOOLEAN:
        WEIR_TRY(read_boolean(flag, argument->value, &boolean));
        if (set)
            *flag->value.boolean = boolean;
        break;
    case WEIR_FLAG_KIND_END:
    case WEIR_FLAG_KIND_HEADING:
        break;
    }
    return WEIR_STATUS_OK;
}

/* ---- arguments ---- */

/* "-" and negative numbers are no flags; "-x" is one with a dash too few. */
static bool is_positional(const char *text)
{
    return text[0] != '-' || text[1] == '\0' || strchr("0123456789.", text[1]) != NULL;
}

/* A boolean without "=". It takes no value from the next argument; one that looks meant as such is not swallowed in
 * silence. */
static weir_status value_of_boolean(const weir_flag *flag, const char *next, argument *out)
{
    out->value = "true";
    if (next != NULL && (strcasecmp(next, "true") == 0 || strcasecmp(next, "false") == 0))
        return weir_fail(WEIR_INVALID_ARGUMENT, "--%s %s: write --%s=%s", flag->name, next, flag->name, next);
    return WEIR_STATUS_OK;
}

/* The value of a flag without "=": the next argument. */
static weir_status value_from_next(const weir_flag *flag, char **argv, int *at, argument *out)
{
    const char *next = argv[*at + 1];
    if (next == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "--%s: needs a value", flag->name);
    if (strncmp(next, "--", 2) == 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "--%s: needs a value, but %s follows (write --%s=%s if that is meant)",
                         flag->name, next, flag->name, next);
    out->value = next;
    (*at)++;
    return WEIR_STATUS_OK;
}

/* Reads the flag at *at and moves *at to its last argument. */
static weir_status read_argument(const weir_flag *table, char **argv, int *at, argument *out)
{
    const char *given = argv[*at];
    const char *name = given + strspn(given, "-");
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const weir_flag *flag = find_flag(table, name, length);
    *out = (argument){.flag = flag, .value = value != NULL ? value : ""};
    if (name - given != 2)
        return fail_unknown(table, given, name);
    if (flag == NULL && value == NULL && strcmp(name, "help") == 0)
        return WEIR_STATUS_OK;
    if (flag == NULL && length > 2 && strncmp(name, "no", 2) == 0) {
        flag = find_flag(table, name + 2, length - 2);
        if (flag == NULL || flag->kind != WEIR_FLAG_KIND_BOOLEAN)
            return fail_unknown(table, given, name);
        if (value != NULL)
            return weir_fail(WEIR_INVALID_ARGUMENT, "%s: --no%s takes no value", given, flag->name);
        *out = (argument){.flag = flag, .value = "false"};
        return WEIR_STATUS_OK;
    }
    if (flag == NULL)
        return fail_unknown(table, given, name);
    if (value != NULL)
        return WEIR_STATUS_OK;
    return flag->kind == WEIR_FLAG_KIND_BOOLEAN ? value_of_boolean(flag, argv[*at + 1], out)
                                                : value_from_next(flag, argv, at, out);
}

/* Goes through the line. With set, sets the variables and moves the positional arguments to the front; *count is then
 * how many there are, the program's name included. Stops at --help. */
static weir_status walk(const weir_flag *table, char **argv, bool set, int *count, bool *help_asked)
{
    int kept = argv[0] != NULL ? 1 : 0;
    bool is_ended = false;
    for (int at = kept; argv[at] != NULL; at++) {
        if (is_ended || is_positional(argv[at])) {
            if (set)
                argv[kept] = argv[at];
            kept++;
        } else if (strcmp(argv[at], "--") == 0) {
            is_ended = true;
        } else {
            argument argument;
            WEIR_TRY(read_argument(table, argv, &at, &argument));
            *help_asked = argument.flag == NULL;
            if (*help_asked)
                return WEIR_STATUS_OK;
            WEIR_TRY(take_value(&argument, set));
        }
    }
    if (set)
        argv[kept] = NULL;
    *count = kept;
    return WEIR_STATUS_OK;
}

static weir_status check_table(const weir_flag *table)
{
    for (const weir_flag *flag = table; flag->kind != WEIR_FLAG_KIND_END; flag++) {
        if (flag->kind == WEIR_FLAG_KIND_HEADING)
            continue;
        if (flag->name == NULL || flag->name[0] == '\0' || flag->value.string == NULL)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Entry %zu of the table of flags has no name or no variable",
                             (size_t)(flag - table));
        if (find_flag(table, flag->name, strlen(flag->name)) != flag)
            return weir_fail(WEIR_INVALID_ARGUMENT, "--%s: twice in the table of flags", flag->name);
    }
    return WEIR_STATUS_OK;
}

weir_status weir_flags_parse(const weir_flag *table, int *argc, char **argv, FILE *help_to, bool *help_asked)
{
    WEIR_TRY(check_table(table));
    if (*argc < 0 || argv[*argc] != NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "argv[%d] is not NULL: argv must end where argc says", *argc);
    int count = 0;
    bool help = false;
    WEIR_TRY(walk(table, argv, false, &count, &help));
    if (!help)
        WEIR_TRY(walk(table, argv, true, argc, &help));
    else if (help_to != NULL)
        WEIR_TRY(weir_flags_help(table, argv[0], help_to));
    *help_asked = help;
    return WEIR_STATUS_OK;
}

/* ---- help ---- */

#define HELP_COLUMN 32 /* where the help of a flag begins, and at least two blanks after its name */

static void append_default(weir_text *text, const weir_flag *flag)
{
    if (flag->kind == WEIR_FLAG_KIND_STRING && *flag->value.string != NULL)
        weir_text_append(text, " (default: \"%s\")", *flag->value.string);
    else if (flag->kind == WEIR_FLAG_KIND_INTEGER)
        weir_text_append(text, " (default: %" PRId64 ")", *flag->value.integer);
    else if (flag->kind == WEIR_FLAG_KIND_FLOAT)
        weir_text_append(text, " (default: %.15g)", *flag->value.number);
    else if (flag->kind == WEIR_FLAG_KIND_BOOLEAN)
        weir_text_append(text, " (default: %s)", *flag->value.boolean ? "true" : "false");
}

static void append_range(weir_text *text, const weir_flag *flag)
{
    if (flag->has_range && flag->kind == WEIR_FLAG_KIND_INTEGER)
        weir_text_append(text, ", from %" PRId64 " to %" PRId64, flag->least_integer, flag->most_integer);
    else if (flag->has_range && flag->kind == WEIR_FLAG_KIND_FLOAT)
        weir_text_append(text, ", from %g to %g", flag->least_number, flag->most_number);
}

static void append_flag(weir_text *text, const weir_flag *flag)
{
    static const char *const values[] = {
        [WEIR_FLAG_KIND_STRING] = "=TEXT",
        [WEIR_FLAG_KIND_INTEGER] = "=INTEGER",
        [WEIR_FLAG_KIND_FLOAT] = "=NUMBER",
        [WEIR_FLAG_KIND_BOOLEAN] = "",
    };
    if (flag->kind == WEIR_FLAG_KIND_HEADING) {
        weir_text_append(text, "\n%s\n", flag->help != NULL ? flag->help : "");
        return;
    }
    size_t before = text->length;
    const char *no = flag->kind == WEIR_FLAG_KIND_BOOLEAN ? "[no]" : "";
    weir_text_append(text, "  --%s%s%s", no, flag->name, values[flag->kind]);
    int blanks = HELP_COLUMN - (int)(text->length - before);
    weir_text_append(text, "%*s%s", blanks > 2 ? blanks : 2, "", flag->help != NULL ? flag->help : "");
    append_range(text, flag);
    append_default(text, flag);
    weir_text_append(text, "\n");
}

weir_status weir_flags_help(const weir_flag *table, const char *program, FILE *stream)
{
    const char *slash = program != NULL ? strrchr(program, '/') : NULL;
    weir_text text = {0};
    weir_text_append(&text, "usage: %s [flags] [arguments]\n",
                     slash != NULL     ? slash + 1
                     : program != NULL ? program
                                       : "program");
    if (table->kind != WEIR_FLAG_KIND_HEADING)
        weir_text_append(&text, "\n");
    for (const weir_flag *flag = table; flag->kind != WEIR_FLAG_KIND_END; flag++)
        append_flag(&text, flag);
    weir_text_append(&text, "  --help%*sshow this text\n", HELP_COLUMN - 8, "");
    size_t length = text.length;
    char *whole = NULL;
    WEIR_TRY(weir_text_take(&text, &whole));
    bool is_written = fwrite(whole, 1, length, stream) == length;
    weir_release(whole);
    return is_written ? WEIR_STATUS_OK : weir_fail(WEIR_UNKNOWN, "Could not write the help of the flags");
}
