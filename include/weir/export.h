/*
 * Compiler words used by the public headers. Only what is marked WEIR_API leaves the shared library.
 */
#ifndef WEIR_EXPORT_H
#define WEIR_EXPORT_H

#if defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#define WEIR_WARN_UNUSED __attribute__((warn_unused_result))
#define WEIR_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define WEIR_CLEANUP(function) __attribute__((cleanup(function)))
#else
#error "Weir needs GCC or Clang"
#endif

#endif
