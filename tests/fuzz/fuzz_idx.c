/*
 * Bytes as an IDX file of images and of labels, plain or compressed as they come.
 */
#include <string.h>
#include <unistd.h>

#include <weir/idx.h>

#include "fuzz/fuzz.h"

static char path[64];

static void remove_file_at_exit(void)
{
    unlink(path);
}

static void make_file(void)
{
    if (path[0] != '\0')
        return;
    snprintf(path, sizeof path, "%s/weir-fuzz-idx-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    int file = mkstemp(path);
    FUZZ_CHECK(file >= 0);
    close(file);
    atexit(remove_file_at_exit);
}

FUZZ_TARGET(idx)
{
    static const weir_idx_kind kinds[] = {WEIR_IDX_IMAGES, WEIR_IDX_LABELS};
    make_file();
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file != NULL && fwrite(data, 1, size, file) == size);
    fclose(file);
    for (int i = 0; i < 2; i++) {
        weir_tensor *tensor = NULL;
        weir_status status = weir_idx_read(path, kinds[i], &tensor);
        FUZZ_CHECK(weir_ok(status) == (tensor != NULL));
        FUZZ_CHECK(weir_ok(status) || strstr(weir_status_text(status), path) != NULL);
        weir_tensor_free(tensor);
    }
    return 0;
}
