/*
 * Patterns of regular expressions in RE2's syntax, matched by the system's POSIX expressions, for whole texts only.
 */
#ifndef OP_MISC_PATTERN_H
#define OP_MISC_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct weir_pattern {
    regex_t regex;
} weir_pattern;

/* INVALID_ARGUMENT for a wrong pattern, UNIMPLEMENTED for what POSIX expressions cannot say. */
WEIR_WARN_UNUSED weir_status weir_pattern_init(weir_pattern *pattern, const char *text, size_t length);

/* True if all of the bytes match. */
bool weir_pattern_matches(const weir_pattern *pattern, const char *bytes, size_t length);

void weir_pattern_clear(weir_pattern *pattern);

#endif
