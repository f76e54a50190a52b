/*
 * Log lines of the library, given to the callback of <weir/log.h> (default: stderr, in TensorFlow's form).
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <weir/log.h>

#define weir_log_warning(...) weir_log_at(WEIR_LOG_WARNING, __FILE__, __LINE__, __VA_ARGS__)
#define weir_log_error(...) weir_log_at(WEIR_LOG_ERROR, __FILE__, __LINE__, __VA_ARGS__)

#endif
