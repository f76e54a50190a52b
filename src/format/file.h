/*
 * Files whole: read at once, written under a temporary name and put in place in one step.
 *
 * Errors name file, system text and sizes. Codes: NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED (disk or quota full,
 * too many files), UNKNOWN for the rest.
 */
#ifndef FORMAT_FILE_H
#define FORMAT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* "Cannot <verb> <path>: <system text>" of an errno value. */
WEIR_WARN_UNUSED weir_status weir_fail_file(int error, const char *verb, const char *path);

/* The whole of a regular file of at most limit bytes (more: RESOURCE_EXHAUSTED) with a zero behind it; owned
 * (weir_release). */
WEIR_WARN_UNUSED weir_status weir_file_read(const char *path, size_t limit, char **bytes, size_t *length);

bool weir_file_exists(const char *path);

/* A file being written under a temporary name: "<path>.tempstate<random number>". Externally locked. */
typedef struct weir_new_file {
    char *path;
    char *temporary;
    char *buffer;
    size_t used;   /* bytes in buffer */
    uint64_t size; /* bytes appended so far */
    int file;      /* -1: closed */
    bool in_place; /* published: nothing to take away */
} weir_new_file;

/* Creates the temporary file. On failure nothing is there. */
WEIR_WARN_UNUSED weir_status weir_new_file_open(weir_new_file *file, const char *path);

WEIR_WARN_UNUSED weir_status weir_new_file_append(weir_new_file *file, const void *bytes, size_t length);

/* All bytes are on disk after this; the file still has its temporary name. */
WEIR_WARN_UNUSED weir_status weir_new_file_sync(weir_new_file *file);

/* Gives a synced file its name; what had this name before is gone. The folder is not synced yet. */
WEIR_WARN_UNUSED weir_status weir_new_file_publish(weir_new_file *file);

/* Takes away the temporary file, if there still is one. */
void weir_new_file_clear(weir_new_file *file);

/* Makes renames and removals in the folder that path lies in last. */
WEIR_WARN_UNUSED weir_status weir_sync_folder_of(const char *path);

/* The file holds bytes or, on failure, what it held before. */
WEIR_WARN_UNUSED weir_status weir_file_replace(const char *path, const void *bytes, size_t length);

#endif
