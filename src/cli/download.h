/*
 * Getting a file over HTTP: with progress, resuming what is there, size and digest checked.
 */
#ifndef CLI_DOWNLOAD_H
#define CLI_DOWNLOAD_H

#include <stdint.h>

#include <weir/status.h>

typedef struct download {
    const char *name; /* file name, the same at every mirror and on disk */
    int64_t size_bytes;
    const char *md5; /* 32 hexadecimal digits */
} download;

/* True when the file is in the folder, whole and right. */
bool download_is_there(const char *folder, const download *wanted);

/* Gets the file from the first mirror that has it right. What a broken connection left in "<name>.part" is gone on with;
 * the file gets its name only when size and digest are right. Progress goes to stderr. The failure lists what each mirror
 * said. */
WEIR_WARN_UNUSED weir_status download_get(const char *folder, const download *wanted, const char *const *mirrors,
                                          int num_mirrors);

#endif
