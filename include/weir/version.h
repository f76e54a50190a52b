/*
 * Version of the headers, and of the library that a program runs with.
 */
#ifndef WEIR_VERSION_H
#define WEIR_VERSION_H

#include <weir/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0

#define WEIR_VERSION_TEXT_(a, b, c) #a "." #b "." #c
#define WEIR_VERSION_TEXT(a, b, c) WEIR_VERSION_TEXT_(a, b, c)
#define WEIR_VERSION WEIR_VERSION_TEXT(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH)

/* The version of the library itself, such as "0.1.0"; may be newer than WEIR_VERSION. Any thread. */
WEIR_API const char *weir_version(void);

#ifdef __cplusplus
}
#endif

#endif
