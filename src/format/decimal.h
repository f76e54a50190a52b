/*
 * Floating-point numbers as the shortest decimal text that gives the same value back, in Python's form ("3.0", "1e-07",
 * "10000000000.0", "inf", "nan", "-0.0"), whatever the locale; and back.
 */
#ifndef FORMAT_DECIMAL_H
#define FORMAT_DECIMAL_H

#include <stdbool.h>

#include "base/text.h"

void weir_decimal_append_double(weir_text *text, double value);

/* The shortest for a float, but at least six digits are tried, as Python's text form of messages does. */
void weir_decimal_append_float(weir_text *text, float value);

/* Reads the whole of text (decimal, without hexadecimal, "inf" or "nan") in the C locale; false if it is no number. */
bool weir_decimal_read(const char *text, double *value);

#endif
