/*
 * Formats a line and hands it to the callback. The callback is the one piece of process-wide state in Weir: a log line
 * has no session to belong to when a library is being loaded or a file is read.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void write_to_stderr(void *context, weir_log_level level, const char *file, int line, const char *text)
{
    (void)context;
    const char *least = getenv("TF_CPP_MIN_LOG_LEVEL");
    if (least != NULL && (int)level < atoi(least))
        return;
    struct timespec now;
    struct tm parts;
    char stamp[32] = "";
    clock_gettime(CLOCK_REALTIME, &now);
    if (localtime_r(&now.tv_sec, &parts) != NULL)
        strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &parts);
    fprintf(stderr, "%s.%06ld: %c %s:%d] %s\n", stamp, now.tv_nsec / 1000, "IWE"[level], file, line, text);
}

static weir_log_function *log_function = write_to_stderr;
static void *log_context;

void weir_log_to(weir_log_function *function, void *context)
{
    log_function = function != NULL ? function : write_to_stderr;
    log_context = context;
}

void weir_log_at(weir_log_level level, const char *file, int line, const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *name = strrchr(file, '/');
    log_function(log_context, level, name != NULL ? name + 1 : file, line, text);
}
