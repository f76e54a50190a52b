/*
 * A failure that outlives the thread it happened in: code and an owned text. The first failure stays.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stddef.h>

#include <weir/status.h>

typedef struct weir_error {
    weir_code code; /* WEIR_OK: none yet */
    char *text;     /* owned; NULL when there was no memory for it */
} weir_error;

/* Keeps status unless it is ok or an earlier failure is kept. Externally locked. */
void weir_error_set(weir_error *error, weir_status status);

/* The kept failure as a status of the calling thread; ok when there is none. */
WEIR_WARN_UNUSED weir_status weir_error_status(const weir_error *error);

/* Frees the text; the error may be used again. */
void weir_error_clear(weir_error *error);

/* RESOURCE_EXHAUSTED naming the size that could not be had. */
WEIR_WARN_UNUSED weir_status weir_fail_memory(size_t size_bytes);

#endif
