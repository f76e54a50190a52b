/*
 * A folder for files that a bench writes and nobody keeps.
 */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

weir_status bench_make_folder(char *path, size_t size)
{
    const char *const places[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i] == NULL || snprintf(path, size, "%s/weir-bench-XXXXXX", places[i]) >= (int)size)
            continue;
        if (mkdtemp(path) != NULL)
            return WEIR_STATUS_OK;
    }
    *path = 0;
    return weir_fail(WEIR_PERMISSION_DENIED, "no folder can be made in /dev/shm, TMPDIR or /tmp: %s", strerror(errno));
}

void bench_remove_folder(const char *path)
{
    DIR *folder = *path == 0 ? NULL : opendir(path);
    if (folder == NULL)
        return;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        if (entry->d_type == DT_REG)
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    (void)rmdir(path);
}
