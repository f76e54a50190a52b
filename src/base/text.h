/*
 * A growing text. Appending never fails at the call: running out of memory sticks and is asked for once, at the end.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct weir_text {
    char *data;    /* ends with a zero once something was appended; NULL before */
    size_t length; /* bytes without the final zero */
    size_t capacity;
    bool failed; /* memory ran out: data holds what fitted */
} weir_text;

void weir_text_append(weir_text *text, const char *format, ...) WEIR_PRINTF(2, 3);
void weir_text_append_bytes(weir_text *text, const void *bytes, size_t length);
void weir_text_append_list(weir_text *text, const char *format, va_list arguments) WEIR_PRINTF(2, 0);

/* The text so far; "" when empty, never NULL. Valid until the next append. */
const char *weir_text_get(const weir_text *text);

/* Hands the text out (release it with weir_release) and leaves an empty one; RESOURCE_EXHAUSTED if memory ran out. */
WEIR_WARN_UNUSED weir_status weir_text_take(weir_text *text, char **out);

/* Frees; the text may be used again. */
void weir_text_clear(weir_text *text);

/* Edit distance of two words (Damerau: swaps count one), for "did you mean". At most 63 bytes of each are looked at. */
int weir_text_distance(const char *a, const char *b);

/* The candidate nearest to word, or NULL when none is near enough to be meant. candidates ends with NULL. */
const char *weir_text_nearest(const char *word, const char *const *candidates);

#endif
