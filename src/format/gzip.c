/*
 * zlib's inflate over a buffer of the file. Several compressed members one after another are one file, as for gunzip.
 */
#include "format/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/memory.h"
#include "format/file.h"

#define BUFFER_SIZE ((size_t)1 << 17)
#define GZIP_ONLY (15 + 16) /* zlib's words for: the largest window, gzip's header */

struct weir_gzip {
    const char *path;
    int file;
    uint64_t file_size;
    bool compressed;
    bool inside; /* a compressed member has begun and not ended */
    bool inflating;
    z_stream stream;
    uint8_t *buffer;
    size_t filled, used; /* of buffer */
    uint64_t taken;      /* bytes of the file that are behind the buffer's start */
};

/* More of the file into the empty buffer; filled stays 0 at its end. */
static weir_status refill(weir_gzip *gzip)
{
    ssize_t got = 0;
    do {
        got = read(gzip->file, gzip->buffer, BUFFER_SIZE);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return weir_fail_file(errno, "read", gzip->path);
    gzip->taken += gzip->filled;
    gzip->filled = (size_t)got;
    gzip->used = 0;
    return WEIR_STATUS_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------------------- */

static weir_status prepare(weir_gzip *gzip)
{
    struct stat about;
    gzip->file = open(gzip->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (gzip->file < 0 || fstat(gzip->file, &about) != 0)
        return weir_fail_file(errno, "read", gzip->path);
    if (!S_ISREG(about.st_mode))
        return weir_fail_file(S_ISDIR(about.st_mode) ? EISDIR : EINVAL, "read", gzip->path);
    gzip->file_size = (uint64_t)about.st_size;
    WEIR_TRY(weir_new(&gzip->buffer, BUFFER_SIZE));
    WEIR_TRY(refill(gzip));
    gzip->compressed = gzip->filled >= 2 && gzip->buffer[0] == 0x1f && gzip->buffer[1] == 0x8b;
    if (gzip->compressed && inflateInit2(&gzip->stream, GZIP_ONLY) != Z_OK)
        return weir_fail_memory(sizeof gzip->stream);
    gzip->inflating = gzip->compressed;
    gzip->inside = gzip->compressed;
    return WEIR_STATUS_OK;
}

weir_status weir_gzip_open(const char *path, weir_gzip **out)
{
    weir_gzip *gzip = NULL;
    WEIR_TRY(weir_new(&gzip, 1));
    gzip->path = path;
    gzip->file = -1;
    weir_status status = prepare(gzip);
    if (!weir_ok(status)) {
        weir_gzip_close(gzip);
        return status;
    }
    *out = gzip;
    return WEIR_STATUS_OK;
}

void weir_gzip_close(weir_gzip *gzip)
{
    if (gzip == NULL)
        return;
    if (gzip->inflating)
        inflateEnd(&gzip->stream);
    if (gzip->file >= 0)
        close(gzip->file);
    weir_release(gzip->buffer);
    weir_release(gzip);
}

bool weir_gzip_is_compressed(const weir_gzip *gzip)
{
    return gzip->compressed;
}

uint64_t weir_gzip_file_size(const weir_gzip *gzip)
{
    return gzip->file_size;
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

static weir_status read_plain(weir_gzip *gzip, uint8_t *bytes, size_t length, size_t *got)
{
    while (*got < length) {
        if (gzip->used == gzip->filled)
            WEIR_TRY(refill(gzip));
        size_t now = gzip->filled - gzip->used;
        if (now == 0)
            return WEIR_STATUS_OK;
        if (now > length - *got)
            now = length - *got;
        memcpy(bytes + *got, gzip->buffer + gzip->used, now);
        gzip->used += now;
        *got += now;
    }
    return WEIR_STATUS_OK;
}

/* Input is there, or the file has ended; *end: where it may end. */
static weir_status need_input(weir_gzip *gzip, bool *end)
{
    if (gzip->used == gzip->filled)
        WEIR_TRY(refill(gzip));
    *end = gzip->filled == 0 && !gzip->inside;
    if (gzip->filled > 0 || *end)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_DATA_LOSS, "%s is cut short: its %" PRIu64 " bytes end within the compressed data",
                     gzip->path, gzip->taken);
}

/* Inflates from the buffer into at most length bytes. */
static weir_status inflate_some(weir_gzip *gzip, uint8_t *bytes, size_t length, size_t *got)
{
    const size_t most = (size_t)1 << 30; /* zlib counts in unsigned int */
    size_t room = length < most ? length : most;
    size_t left = gzip->filled - gzip->used;
    if (!gzip->inside) { /* another member */
        inflateReset(&gzip->stream);
        gzip->inside = true;
    }
    gzip->stream.next_in = gzip->buffer + gzip->used;
    gzip->stream.avail_in = (uInt)left;
    gzip->stream.next_out = bytes;
    gzip->stream.avail_out = (uInt)room;
    int result = inflate(&gzip->stream, Z_NO_FLUSH);
    gzip->used = gzip->filled - gzip->stream.avail_in;
    *got = room - gzip->stream.avail_out;
    if (result == Z_MEM_ERROR)
        return weir_fail_memory(length);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return weir_fail(WEIR_DATA_LOSS, "%s: the compressed data is damaged before byte %" PRIu64 " (%s)", gzip->path,
                         gzip->taken + gzip->used, gzip->stream.msg != NULL ? gzip->stream.msg : "no reason given");
    gzip->inside = result != Z_STREAM_END;
    return WEIR_STATUS_OK;
}

weir_status weir_gzip_read(weir_gzip *gzip, void *bytes, size_t length, size_t *got)
{
    bool end = false;
    *got = 0;
    if (!gzip->compressed)
        return read_plain(gzip, bytes, length, got);
    while (*got < length) {
        size_t now = 0;
        WEIR_TRY(need_input(gzip, &end));
        if (end)
            return WEIR_STATUS_OK;
        WEIR_TRY(inflate_some(gzip, (uint8_t *)bytes + *got, length - *got, &now));
        *got += now;
    }
    return WEIR_STATUS_OK;
}
