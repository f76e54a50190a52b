/*
 * Where log lines go. The library itself never prints: it hands each line to a callback; the default one writes to
 * stderr in TensorFlow's form, "2026-01-31 12:00:00.000000: I file.c:12] text", and honours TF_CPP_MIN_LOG_LEVEL
 * (0 all, 1 no INFO, 2 no WARNING, 3 no ERROR). Any thread.
 */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include <weir/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weir_log_level { WEIR_LOG_INFO = 0, WEIR_LOG_WARNING = 1, WEIR_LOG_ERROR = 2 } weir_log_level;

/* One line, without its newline. May be called by several threads at once; must not call back into Weir. */
typedef void weir_log_function(void *context, weir_log_level level, const char *file, int line, const char *text);

/* Sends the lines of this process elsewhere; NULL brings the default back. Call it before other threads use Weir. */
WEIR_API void weir_log_to(weir_log_function *function, void *context);

/* Adds a line, for what is built on Weir: format is printf's, file and line are usually __FILE__ and __LINE__ (of file only
 * what follows the last slash is kept). Text beyond 8191 bytes is cut. */
WEIR_API void weir_log_at(weir_log_level level, const char *file, int line, const char *format, ...) WEIR_PRINTF(4, 5);

#ifdef __cplusplus
}
#endif

#endif
