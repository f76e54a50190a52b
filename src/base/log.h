/*
 * Log lines of the library, given to the callback of <weir/log.h> (default: stderr, in TensorFlow's form).
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <weir/log.h>

#define weir_log_info(...) weir_log_at(WEIR_LOG_INFO, __FILE__, __LINE__, __VA_ARGS__)
#define weir_log_warning(...) weir_log_at(WEIR_LOG_WARNING, __FILE__, __LINE__, __VA_ARGS__)
#define weir_log_error(...) weir_log_at(WEIR_LOG_ERROR, __FILE__, __LINE__, __VA_ARGS__)

void weir_log_at(weir_log_level level, const char *file, int line, const char *format, ...) WEIR_PRINTF(4, 5);

#endif
