/*
 * What the tests of checkpoints share: tensors shown as the recorded vectors show them, and rewriting a checkpoint.
 */
#ifndef CHECKPOINT_TEST_H
#define CHECKPOINT_TEST_H

#include "format/format_test.h"

#include "base/memory.h"
#include "base/text.h"
#include "format/checkpoint_reader.h"
#include "format/file.h"

#define CHECKPOINTS DATA "checkpoints/"

static inline weir_string string_of(const char *text)
{
    return (weir_string){.data = (char *)(uintptr_t)text, .size = strlen(text)};
}

static inline weir_tensor *float_vector(int64_t count)
{
    weir_tensor *tensor = NULL;
    ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(count), &tensor));
    for (int64_t i = 0; i < count; i++)
        weir_tensor_floats(tensor)[i] = (float)i;
    return tensor;
}

static inline void add_and_free(weir_checkpoint_writer *writer, const char *name, weir_tensor *tensor)
{
    ok(weir_checkpoint_add(writer, name, tensor));
    weir_tensor_free(tensor);
}

/* Reads one tensor whole through a fresh reader. */
static inline weir_status read_one(const char *prefix, const char *name, weir_tensor **out)
{
    weir_checkpoint *checkpoint = NULL;
    WEIR_TRY(weir_checkpoint_open(prefix, &checkpoint));
    weir_status status = weir_checkpoint_read(checkpoint, name, out);
    weir_checkpoint_close(checkpoint);
    return status;
}

static inline int files_in(const char *folder)
{
    int count = 0;
    DIR *open = opendir(folder);
    assert_non_null(open);
    for (struct dirent *entry; (entry = readdir(open)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

static inline void same_files(const char *a, const char *b)
{
    bytes left = read_whole(a);
    bytes right = read_whole(b);
    if (left.length != right.length || memcmp(left.data, right.data, left.length) != 0)
        fail_msg("%s (%zu bytes) and %s (%zu) differ", a, left.length, b, right.length);
    free(left.data);
    free(right.data);
}

static inline char *path_in(const char *folder, const char *name) /* free() */
{
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    return path;
}

#endif
