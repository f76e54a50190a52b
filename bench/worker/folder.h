/*
 * A folder of the bench's own for files, in memory (tmpfs) where that can be had.
 */
#ifndef WEIR_BENCH_WORKER_FOLDER_H
#define WEIR_BENCH_WORKER_FOLDER_H

#include <weir/status.h>

#include <stddef.h>

/* Makes the folder and writes its path: in /dev/shm, else in TMPDIR, else in /tmp. */
weir_status bench_make_folder(char *path, size_t size);

/* Removes the folder and the files in it. "" is no folder. */
void bench_remove_folder(const char *path);

#endif
