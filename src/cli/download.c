/*
 * libcurl brings the bytes, libcrypto the digest.
 */
#include "download.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096
#define CONNECT_SECONDS 15L
#define STALLED_SECONDS 20L /* less than a byte a second for so long: the mirror is given up */

static void make_path(char path[PATH_SIZE], const char *folder, const char *name, const char *suffix)
{
    snprintf(path, PATH_SIZE, "%s/%s%s", folder, name, suffix);
}

static int64_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (int64_t)info.st_size : -1;
}

/* The MD5 of a file as text; false when it cannot be read. */
static bool digest_of(const char *path, char text[33])
{
    FILE *file = fopen(path, "rbe");
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    bool is_good = file != NULL && context != NULL && EVP_DigestInit_ex(context, EVP_md5(), NULL) == 1;
    unsigned char bytes[65536];
    for (size_t read = 1; is_good && read > 0;) {
        read = fread(bytes, 1, sizeof bytes, file);
        is_good = EVP_DigestUpdate(context, bytes, read) == 1 && !ferror(file);
    }
    is_good = is_good && EVP_DigestFinal_ex(context, digest, &length) == 1 && length == 16;
    for (unsigned i = 0; is_good && i < length; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", digest[i]);
    EVP_MD_CTX_free(context);
    if (file != NULL)
        fclose(file);
    return is_good;
}

static bool is_right(const char *path, const download *wanted)
{
    char digest[33];
    return size_of(path) == wanted->size_bytes && digest_of(path, digest) && strcmp(digest, wanted->md5) == 0;
}

bool download_is_there(const char *folder, const download *wanted)
{
    char path[PATH_SIZE];
    make_path(path, folder, wanted->name, "");
    return is_right(path, wanted);
}

/* ---- Progress ---- */

typedef struct progress {
    const download *wanted;
    int64_t start; /* bytes that were there before */
    int shown;     /* percent */
    bool is_terminal;
} progress;

static int show_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t upload_total,
                         curl_off_t upload_now)
{
    (void)total;
    (void)upload_total;
    (void)upload_now;
    progress *p = context;
    int percent = (int)((p->start + (int64_t)now) * 100 / p->wanted->size_bytes);
    int step = p->is_terminal ? 1 : 25;
    if (percent / step == p->shown / step && p->shown >= 0)
        return 0;
    p->shown = percent;
    fprintf(stderr, "%s%s: %d %% of %" PRId64 " bytes%s", p->is_terminal ? "\r" : "", p->wanted->name, percent,
            p->wanted->size_bytes, p->is_terminal ? "" : "\n");
    return 0;
}

/* ---- One mirror ---- */

typedef struct sink {
    FILE *file;
    int64_t written, limit;
} sink;

/* Stops a mirror that sends more than the file has. */
static size_t write_bytes(char *bytes, size_t size, size_t count, void *context)
{
    sink *s = context;
    size_t length = size * count;
    if ((int64_t)length > s->limit - s->written)
        return 0;
    s->written += (int64_t)length;
    return fwrite(bytes, 1, length, s->file);
}

static weir_status transfer(CURL *curl, const char *url, const char *part, const download *wanted)
{
    int64_t start = size_of(part);
    start = start < 0 || start >= wanted->size_bytes ? 0 : start;
    FILE *file = fopen(part, start > 0 ? "abe" : "wbe");
    if (file == NULL)
        return weir_fail(WEIR_PERMISSION_DENIED, "%s; %s", part, strerror(errno));
    char error[CURL_ERROR_SIZE] = "";
    progress p = {wanted, start, -1, isatty(STDERR_FILENO) != 0};
    sink s = {file, start, wanted->size_bytes};
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, STALLED_SECONDS);
    curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)start);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &s);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, show_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &p);
    CURLcode code = curl_easy_perform(curl);
    bool is_written = fclose(file) == 0;
    if (p.is_terminal && p.shown >= 0)
        fprintf(stderr, "\n");
    if (code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME)
        unlink(part); /* the mirror cannot go on in the middle: from the start next time */
    if (code != CURLE_OK)
        return weir_fail(WEIR_UNAVAILABLE, "%s", error[0] != '\0' ? error : curl_easy_strerror(code));
    return is_written ? WEIR_STATUS_OK : weir_fail(WEIR_RESOURCE_EXHAUSTED, "%s; %s", part, strerror(errno));
}

/* The bytes are all there: size, digest, and then the name. */
static weir_status accept_part(const char *part, const char *path, const download *wanted)
{
    char digest[33] = "";
    int64_t size = size_of(part);
    if (size != wanted->size_bytes)
        return weir_fail(WEIR_DATA_LOSS, "%" PRId64 " bytes came, %" PRId64 " are right", size, wanted->size_bytes);
    if (!digest_of(part, digest) || strcmp(digest, wanted->md5) != 0) {
        unlink(part);
        return weir_fail(WEIR_DATA_LOSS, "MD5 %s, %s is right", digest, wanted->md5);
    }
    if (rename(part, path) != 0)
        return weir_fail(WEIR_PERMISSION_DENIED, "%s; %s", path, strerror(errno));
    return WEIR_STATUS_OK;
}

static weir_status try_mirror(CURL *curl, const char *mirror, const char *folder, const download *wanted)
{
    char path[PATH_SIZE];
    char part[PATH_SIZE];
    char url[PATH_SIZE];
    size_t length = strlen(mirror);
    make_path(path, folder, wanted->name, "");
    make_path(part, folder, wanted->name, ".part");
    snprintf(url, sizeof url, "%s%s%s", mirror, length > 0 && mirror[length - 1] == '/' ? "" : "/", wanted->name);
    bool resumes = size_of(part) > 0;
    weir_status status = transfer(curl, url, part, wanted);
    if (weir_ok(status))
        status = accept_part(part, path, wanted);
    if (!weir_ok(status) && status.code == WEIR_DATA_LOSS && resumes) { /* what was there before may have been wrong */
        unlink(part);
        status = transfer(curl, url, part, wanted);
        if (weir_ok(status))
            status = accept_part(part, path, wanted);
    }
    return status;
}

weir_status download_get(const char *folder, const download *wanted, const char *const *mirrors, int num_mirrors)
{
    char said[2048] = "";
    size_t used = 0;
    CURL *curl = curl_easy_init();
    if (curl == NULL)
        return weir_fail(WEIR_INTERNAL, "libcurl cannot be used");
    bool has_got = false;
    for (int i = 0; i < num_mirrors && !has_got; i++) {
        weir_status status = try_mirror(curl, mirrors[i], folder, wanted);
        has_got = weir_ok(status);
        if (has_got)
            break;
        int length = snprintf(said + used, sizeof said - used, "\n  %s: %s", mirrors[i], weir_status_text(status));
        used += length > 0 && used + (size_t)length < sizeof said ? (size_t)length : 0;
    }
    curl_easy_cleanup(curl);
    if (has_got)
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_UNAVAILABLE, "%s cannot be had from any of %d mirrors:%s", wanted->name, num_mirrors, said);
}
