/*
 * Status: how every call of Weir that can fail reports it.
 *
 * A weir_status is a small value. Its text belongs to the calling thread and lives until that thread's next failure;
 * weir_status_keep copies it. Ignoring a status is a compiler warning. All functions here: any thread.
 */
#ifndef WEIR_STATUS_H
#define WEIR_STATUS_H

#include <stdbool.h>

#include <weir/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Name, number (those of TensorFlow and gRPC), and what is still usable after it. */
#define WEIR_STATUS_CODES(X)                                                                                           \
    X(OK, 0, "no error")                                                                                               \
    X(CANCELLED, 1, "the call was cancelled; everything stays usable")                                                 \
    X(UNKNOWN, 2, "a foreign fault without a code")                                                                    \
    X(INVALID_ARGUMENT, 3, "the caller's values are wrong; nothing changed")                                           \
    X(DEADLINE_EXCEEDED, 4, "time ran out; everything stays usable")                                                   \
    X(NOT_FOUND, 5, "a named thing does not exist")                                                                    \
    X(ALREADY_EXISTS, 6, "a named thing exists already")                                                               \
    X(PERMISSION_DENIED, 7, "the system or a peer refused")                                                            \
    X(RESOURCE_EXHAUSTED, 8, "out of memory, disk or another limit; smaller work may succeed")                         \
    X(FAILED_PRECONDITION, 9, "the state does not allow it, such as an uninitialized variable")                        \
    X(ABORTED, 10, "a concurrent change got in the way; may be tried again")                                           \
    X(OUT_OF_RANGE, 11, "past the end of data or of a valid range")                                                    \
    X(UNIMPLEMENTED, 12, "known but not available in this build")                                                      \
    X(INTERNAL, 13, "an invariant of Weir does not hold: a bug")                                                       \
    X(UNAVAILABLE, 14, "a peer is not there; may be tried again")                                                      \
    X(DATA_LOSS, 15, "a file or message is damaged")                                                                   \
    X(UNAUTHENTICATED, 16, "the peer did not prove who it is")

typedef enum weir_code {
#define WEIR_CODE_ENUM(name, number, text) WEIR_##name = number,
    WEIR_STATUS_CODES(WEIR_CODE_ENUM)
#undef WEIR_CODE_ENUM
} weir_code;

typedef struct weir_status {
    weir_code code;
    unsigned serial; /* which failure of the calling thread this is; finds the text */
} weir_status;

#define WEIR_STATUS_OK ((weir_status){WEIR_OK, 0})

/* True if nothing went wrong. */
static inline bool weir_ok(weir_status status)
{
    return status.code == WEIR_OK;
}

/* The text of a failure; never NULL. After a later failure in this thread it is only the code's name. */
WEIR_API const char *weir_status_text(weir_status status);

/* "INVALID_ARGUMENT" and so on; "UNKNOWN" for a number that is no code. */
WEIR_API const char *weir_code_name(weir_code code);

/* An owned copy of the text (free it with free()), or NULL without memory. */
WEIR_API char *weir_status_keep(weir_status status);

/* What main() should return: 0 when ok, 2 for wrong usage (INVALID_ARGUMENT), else 1. */
WEIR_API int weir_exit_status(weir_status status);

/* Makes a failure with a text in printf form; code must not be WEIR_OK. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_fail(weir_code code, const char *format, ...) WEIR_PRINTF(2, 3);

/* Puts "context: " before the text of a failure; an ok status stays as it is. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_fail_in(weir_status status, const char *format, ...) WEIR_PRINTF(2, 3);

/* Forwards a failure to the caller. */
#define WEIR_TRY(...)                                                                                                  \
    do {                                                                                                               \
        weir_status weir_try_status = (__VA_ARGS__);                                                                   \
        if (weir_try_status.code != WEIR_OK)                                                                           \
            return weir_try_status;                                                                                    \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
