/*
 * Reading and replacing files.
 */
#include "format/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

#define BUFFER_SIZE ((size_t)1 << 18)

static weir_code code_of(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return WEIR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return WEIR_PERMISSION_DENIED;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return WEIR_RESOURCE_EXHAUSTED;
    default:
        return WEIR_UNKNOWN;
    }
}

weir_status weir_fail_file(int error, const char *verb, const char *path)
{
    return weir_fail(code_of(error), "Cannot %s %s: %s", verb, path, strerrordesc_np(error));
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

/* Reads until length bytes are there or the file ends. */
static weir_status read_up_to(int file, const char *path, char *bytes, size_t length, size_t *got)
{
    *got = 0;
    while (*got < length) {
        ssize_t read_now = read(file, bytes + *got, length - *got);
        if (read_now < 0 && errno == EINTR)
            continue;
        if (read_now < 0)
            return weir_fail_file(errno, "read", path);
        if (read_now == 0)
            break;
        *got += (size_t)read_now;
    }
    return WEIR_STATUS_OK;
}

static weir_status read_regular(int file, const char *path, size_t limit, char **bytes, size_t *length)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return weir_fail_file(errno, "read", path);
    if (!S_ISREG(about.st_mode))
        return weir_fail_file(S_ISDIR(about.st_mode) ? EISDIR : EINVAL, "read", path);
    if ((uint64_t)about.st_size > limit)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "%s has %jd bytes, more than the limit of %zu", path,
                         (intmax_t)about.st_size, limit);
    char *whole = weir_allocate((size_t)about.st_size + 1, 1);
    if (whole == NULL)
        return weir_fail_in(weir_fail_memory((size_t)about.st_size), "%s", path);
    weir_status status = read_up_to(file, path, whole, (size_t)about.st_size, length);
    if (!weir_ok(status)) {
        weir_release(whole);
        return status;
    }
    whole[*length] = '\0';
    *bytes = whole;
    return WEIR_STATUS_OK;
}

weir_status weir_file_read(const char *path, size_t limit, char **bytes, size_t *length)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not waiting for the writer of a pipe */
    if (file < 0)
        return weir_fail_file(errno, "read", path);
    weir_status status = read_regular(file, path, limit, bytes, length);
    close(file);
    return status;
}

bool weir_file_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

/* ---- writing ------------------------------------------------------------------------------------------------------- */

static char *temporary_name(const char *path, uint64_t number)
{
    weir_text text = {0};
    char *taken = NULL;
    weir_text_append(&text, "%s.tempstate%" PRIu64, path, number);
    return weir_ok(weir_text_take(&text, &taken)) ? taken : NULL;
}

static uint64_t random_number(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)&number;
    return number;
}

weir_status weir_new_file_open(weir_new_file *file, const char *path)
{
    weir_new_file made = {.file = -1};
    made.path = weir_copy_text(path, strlen(path));
    made.temporary = temporary_name(path, random_number());
    made.buffer = weir_allocate(BUFFER_SIZE, 1);
    if (made.path == NULL || made.temporary == NULL || made.buffer == NULL) {
        weir_new_file_clear(&made);
        return weir_fail_memory(BUFFER_SIZE);
    }
    made.file = open(made.temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made.file < 0) {
        weir_status status = weir_fail_file(errno, "create", made.temporary);
        made.in_place = true; /* not ours to remove */
        weir_new_file_clear(&made);
        return status;
    }
    *file = made;
    return WEIR_STATUS_OK;
}

/* Says how far the file got and what is left on its disk: the usual reason is that nothing is. */
static weir_status fail_write(int error, const weir_new_file *file, uint64_t written, uint64_t wanted)
{
    struct statvfs disk;
    uint64_t available = fstatvfs(file->file, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : 0;
    return weir_fail(code_of(error),
                     "Cannot write %s: %s (%" PRIu64 " of %" PRIu64 " bytes are written, %" PRIu64
                     " bytes are free on that disk)",
                     file->temporary, strerrordesc_np(error), written, wanted, available);
}

static weir_status write_out(weir_new_file *file, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t written = write(file->file, bytes + at, length - at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_write(errno, file, file->size - length + at, file->size);
        at += (size_t)written;
    }
    return WEIR_STATUS_OK;
}

static weir_status flush(weir_new_file *file)
{
    size_t used = file->used;
    file->used = 0;
    return write_out(file, file->buffer, used);
}

weir_status weir_new_file_append(weir_new_file *file, const void *bytes, size_t length)
{
    assert(file->file >= 0 && file->buffer != NULL);
    if (file->used + length > BUFFER_SIZE)
        WEIR_TRY(flush(file));
    file->size += length;
    if (length > BUFFER_SIZE)
        return write_out(file, bytes, length);
    if (length > 0)
        memcpy(file->buffer + file->used, bytes, length);
    file->used += length;
    return WEIR_STATUS_OK;
}

weir_status weir_new_file_sync(weir_new_file *file)
{
    WEIR_TRY(flush(file));
    if (fsync(file->file) != 0)
        return fail_write(errno, file, file->size, file->size);
    int closed = close(file->file);
    file->file = -1;
    return closed == 0 ? WEIR_STATUS_OK : weir_fail_file(errno, "write", file->temporary);
}

weir_status weir_new_file_publish(weir_new_file *file)
{
    if (rename(file->temporary, file->path) != 0)
        return weir_fail_file(errno, "replace", file->path);
    file->in_place = true;
    return WEIR_STATUS_OK;
}

void weir_new_file_clear(weir_new_file *file)
{
    if (file->file >= 0 && file->path != NULL)
        close(file->file);
    if (file->temporary != NULL && !file->in_place)
        unlink(file->temporary);
    weir_release(file->path);
    weir_release(file->temporary);
    weir_release(file->buffer);
    *file = (weir_new_file){.file = -1};
}

weir_status weir_sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? weir_copy_text(".", 1) : weir_copy_text(path, (size_t)(slash - path) + 1);
    if (folder == NULL)
        return weir_fail_memory(strlen(path));
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    weir_status status = WEIR_STATUS_OK;
    if (file < 0 || (fsync(file) != 0 && errno != EINVAL)) /* some file systems cannot sync folders */
        status = weir_fail_file(errno, "sync", folder);
    if (file >= 0)
        close(file);
    weir_release(folder);
    return status;
}

weir_status weir_file_replace(const char *path, const void *bytes, size_t length)
{
    weir_new_file file = {.file = -1};
    WEIR_TRY(weir_new_file_open(&file, path));
    weir_status status = weir_new_file_append(&file, bytes, length);
    if (weir_ok(status))
        status = weir_new_file_sync(&file);
    if (weir_ok(status))
        status = weir_new_file_publish(&file);
    if (weir_ok(status))
        status = weir_sync_folder_of(path);
    weir_new_file_clear(&file);
    return status;
}
