/*
 * Arithmetic of paths, by their text alone, as Python's os.path does it.
 */
#ifndef FORMAT_PATH_H
#define FORMAT_PATH_H

#include "base/error.h"

/* path within folder; path itself when it is absolute. Owned (weir_release). */
WEIR_WARN_UNUSED weir_status weir_path_join(const char *folder, const char *path, char **out);

/* path as seen from folder ("../x"); either may be relative to the working directory. Owned (weir_release). */
WEIR_WARN_UNUSED weir_status weir_path_relative(const char *path, const char *folder, char **out);

#endif
