/*
 * What the tests of formats share: data files, hexadecimal, temporary folders, and checks of a failure's text.
 */
#ifndef FORMAT_TEST_H
#define FORMAT_TEST_H

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <weir/status.h>

#include "base/text.h"
#include "tensor/tensor.h"

#define DATA WEIR_TEST_SOURCE_DIR "/tests/format/data/"

typedef struct bytes {
    uint8_t *data; /* with a zero behind it; free() */
    size_t length;
} bytes;

static inline void ok(weir_status status)
{
    if (weir_ok(status))
        return;
    fail_msg("%s: %s", weir_code_name(status.code), weir_status_text(status));
    abort(); /* not reached: cmocka leaves the test */
}

/* The status must have this code, and the text must hold these words. */
static inline void fails_with(weir_status status, weir_code code, const char *words)
{
    if (status.code != code || strstr(weir_status_text(status), words) == NULL)
        fail_msg("expected %s with \"%s\", got %s: %s", weir_code_name(code), words, weir_code_name(status.code),
                 weir_status_text(status));
}

static inline bytes read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s: %s", path, strerror(errno));
    fseek(file, 0, SEEK_END);
    bytes whole = {.length = (size_t)ftell(file)};
    whole.data = calloc(whole.length + 1, 1);
    rewind(file);
    assert_int_equal(fread(whole.data, 1, whole.length, file), whole.length);
    fclose(file);
    return whole;
}

static inline void write_whole(const char *path, const void *data, size_t length)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        fail_msg("%s: %s", path, strerror(errno));
    assert_int_equal(fwrite(data, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static inline bytes from_hex(const char *hex)
{
    bytes result = {.length = strlen(hex) / 2};
    result.data = calloc(result.length + 1, 1);
    for (size_t i = 0; i < result.length; i++) {
        unsigned byte = 0;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        result.data[i] = (uint8_t)byte;
    }
    return result;
}

static inline char *to_hex(const void *data, size_t length) /* free() */
{
    char *hex = calloc(2 * length + 1, 1);
    for (size_t i = 0; i < length; i++)
        snprintf(hex + 2 * i, 3, "%02x", ((const uint8_t *)data)[i]);
    return hex;
}

/* Elements of a tensor, hexadecimal; strings with a comma after each. free() */
static inline char *shown(const weir_tensor *tensor)
{
    if (weir_tensor_dtype(tensor) != WEIR_STRING)
        return to_hex(tensor->data, tensor->size_bytes);
    weir_text text = {0};
    for (int64_t i = 0; i < tensor->elements; i++) {
        size_t length = 0;
        const char *string = weir_tensor_get_string(tensor, i, &length);
        char *hex = to_hex(string, length);
        weir_text_append(&text, "%s,", hex);
        free(hex);
    }
    char *copy = strdup(weir_text_get(&text));
    weir_text_clear(&text);
    return copy;
}

/* A folder of its own for a test; remove_folder takes it away with all that is in it. */
static inline void make_folder(char path[64])
{
    snprintf(path, 64, "/tmp/weir-format-XXXXXX");
    assert_non_null(mkdtemp(path));
}

static inline void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char *inside = NULL;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        assert_true(asprintf(&inside, "%s/%s", path, entry->d_name) > 0);
        if (unlink(inside) != 0)
            remove_folder(inside);
        free(inside);
    }
    if (folder != NULL)
        closedir(folder);
    rmdir(path);
}

#endif
