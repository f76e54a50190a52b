/*
 * Precision after precision is tried until the digits read back as the value; then the digits are laid out.
 */
#include "format/decimal.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DIGITS 17

/* Digits without trailing zeros, and the exponent of the first one. */
struct decimal {
    char digits[MOST_DIGITS + 1];
    int count;
    int exponent;
};

/* From "d.dddde+xx", where the point may be any character of the locale. */
static struct decimal take_apart(const char *text)
{
    struct decimal decimal = {.exponent = atoi(strchr(text, 'e') + 1)};
    for (const char *c = text; *c != 'e'; c++) {
        if (*c >= '0' && *c <= '9' && decimal.count < MOST_DIGITS)
            decimal.digits[decimal.count++] = *c;
    }
    while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0')
        decimal.count--;
    return decimal;
}

static void append_laid_out(weir_text *text, const struct decimal *decimal)
{
    const char *digits = decimal->digits;
    int exponent = decimal->exponent;
    if (exponent < -4 || exponent >= 16) {
        weir_text_append(text, "%c%s%.*se%c%02d", digits[0], decimal->count > 1 ? "." : "", decimal->count - 1,
                         digits + 1, exponent < 0 ? '-' : '+', abs(exponent));
    } else if (exponent < 0) {
        weir_text_append(text, "0.%.*s%.*s", -exponent - 1, "000", decimal->count, digits);
    } else {
        int whole = exponent + 1 < decimal->count ? exponent + 1 : decimal->count;
        weir_text_append(text, "%.*s%.*s.", whole, digits, exponent + 1 - whole, "0000000000000000");
        weir_text_append(text, "%.*s", decimal->count - whole, digits + whole);
        if (decimal->count == whole)
            weir_text_append_bytes(text, "0", 1);
    }
}

static bool append_special(weir_text *text, double value)
{
    if (isnan(value))
        weir_text_append(text, "nan");
    else if (isinf(value))
        weir_text_append(text, value < 0 ? "-inf" : "inf");
    else if (value == 0)
        weir_text_append(text, signbit(value) ? "-0.0" : "0.0");
    return isnan(value) || isinf(value) || value == 0;
}

void weir_decimal_append_double(weir_text *text, double value)
{
    if (append_special(text, value))
        return;
    char digits[64] = "";
    double size = fabs(value);
    /* Fifteen digits always survive a double of full precision, so none but the smallest needs fewer tried. */
    for (int precision = size < DBL_MIN ? 1 : DBL_DIG; precision <= MOST_DIGITS; precision++) {
        snprintf(digits, sizeof digits, "%.*e", precision - 1, size);
        if (strtod(digits, NULL) == size)
            break;
    }
    struct decimal decimal = take_apart(digits);
    weir_text_append(text, value < 0 ? "-" : "");
    append_laid_out(text, &decimal);
}

void weir_decimal_append_float(weir_text *text, float value)
{
    if (append_special(text, (double)value))
        return;
    char digits[64] = "";
    float size = fabsf(value);
    for (int precision = FLT_DIG; precision <= FLT_DECIMAL_DIG; precision++) {
        snprintf(digits, sizeof digits, "%.*e", precision - 1, (double)size);
        if (strtof(digits, NULL) == size)
            break;
    }
    struct decimal decimal = take_apart(digits);
    weir_text_append(text, value < 0 ? "-" : "");
    append_laid_out(text, &decimal);
}

bool weir_decimal_read(const char *text, double *value)
{
    const char *start = *text == '-' || *text == '+' ? text + 1 : text;
    if (!((*start >= '0' && *start <= '9') || *start == '.') || strpbrk(start, "xX") != NULL)
        return false;
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (locale == (locale_t)0)
        return false;
    char *end = NULL;
    double read = strtod_l(text, &end, locale);
    freelocale(locale);
    if (end == text || *end != '\0')
        return false;
    *value = read;
    return true;
}
