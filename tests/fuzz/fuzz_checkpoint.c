/*
 * Bytes as parts of a checkpoint, chosen by the first one: an index file as it is; the contents of its data block, which
 * get right checksums so that mutations come through to the entries; a compressed block; the stored form of strings.
 * Everything in the checkpoint is listed and read. The data file holds 64 bytes.
 */
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/memory.h"
#include "format/bytes.h"
#include "format/checkpoint_data.h"
#include "format/checkpoint_reader.h"
#include "format/snappy.h"
#include "fuzz/fuzz.h"

static char folder[64];

static void remove_scene(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/c.index", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/c.data-00000-of-00001", folder);
    unlink(path);
    rmdir(folder);
}

static void put_file(const char *name, const void *data, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file != NULL && fwrite(data, 1, size, file) == size);
    fclose(file);
}

static void make_scene(void)
{
    if (folder[0] != '\0')
        return;
    snprintf(folder, sizeof folder, "%s/weir-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    FUZZ_CHECK(mkdtemp(folder) != NULL);
    atexit(remove_scene);
    uint8_t data[64] = {2, 0, 3};
    put_file("c.data-00000-of-00001", data, sizeof data);
}

static void append_block(weir_text *file, const uint8_t *contents, size_t size, uint8_t type, weir_text *handle)
{
    uint8_t number[WEIR_VARINT_MOST];
    size_t start = file->length;
    weir_text_append_bytes(handle, number, weir_put_varint(number, start));
    weir_text_append_bytes(handle, number, weir_put_varint(number, size));
    weir_text_append_bytes(file, contents, size);
    weir_text_append_bytes(file, &type, 1);
    weir_put_u32(number, weir_crc32c_mask(weir_crc32c(file->data + start, size + 1)));
    weir_text_append_bytes(file, number, 4);
}

/* A whole index around the contents of its data block. */
static void wrap(const uint8_t *contents, size_t size, uint8_t type, weir_text *file)
{
    weir_text handle = {0};
    weir_text index = {0};
    weir_text footer = {0};
    append_block(file, contents, size, type, &handle);
    uint8_t head[3] = {0, 1, (uint8_t)handle.length};
    weir_text_append_bytes(&index, head, sizeof head);
    weir_text_append_bytes(&index, "\xff", 1);
    weir_text_append_bytes(&index, handle.data, handle.length);
    weir_text_append_bytes(&index, "\0\0\0\0\1\0\0\0", 8);
    weir_text_append_bytes(&footer, "\0\0", 2);
    append_block(file, (const uint8_t *)index.data, index.length, 0, &footer);
    while (footer.length < 40)
        weir_text_append_bytes(&footer, "\0", 1);
    weir_text_append_bytes(file, footer.data, footer.length);
    weir_text_append_bytes(file, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
    weir_text_clear(&handle);
    weir_text_clear(&index);
    weir_text_clear(&footer);
}

static void read_all(void)
{
    char prefix[128];
    weir_checkpoint *checkpoint = NULL;
    const weir_checkpoint_entry *entries = NULL;
    size_t count = 0;
    snprintf(prefix, sizeof prefix, "%s/c", folder);
    if (!weir_ok(weir_checkpoint_open(prefix, &checkpoint)))
        return;
    if (weir_ok(weir_checkpoint_list(checkpoint, &entries, &count))) {
        for (size_t i = 0; i < count; i++) {
            weir_tensor *tensor = NULL;
            weir_string name = {.data = (char *)(uintptr_t)entries[i].name, .size = entries[i].name_length};
            weir_status status = weir_checkpoint_restore(checkpoint, &name, &(weir_string){0}, &tensor);
            FUZZ_CHECK(weir_ok(status) == (tensor != NULL));
            weir_tensor_free(tensor);
        }
    }
    weir_checkpoint_close(checkpoint);
}

static void decode_objects(const uint8_t *data, size_t size)
{
    weir_tensor *tensor = NULL;
    uint32_t crc = 0;
    if (size < 1 ||
        !weir_ok(weir_tensor_new(data[0] & 1 ? WEIR_STRING : WEIR_VARIANT, WEIR_SHAPE(data[0] / 2), &tensor)))
        return;
    weir_status status = weir_checkpoint_decode(data + 1, size - 1, false, tensor, &crc);
    if (weir_ok(status) && size > 1) {
        weir_text again = {0};
        uint32_t same = 0;
        weir_checkpoint_encode(tensor, &again, &same);
        FUZZ_CHECK(same == crc); /* the lengths may have been longer varints */
        weir_text_clear(&again);
    }
    weir_tensor_free(tensor);
}

static void parse_slice(const uint8_t *data, size_t size)
{
    weir_shape shape = weir_shape_scalar();
    weir_shape sliced = weir_shape_scalar();
    weir_slice slice = {.rank = 0};
    weir_text key = {0};
    if (weir_ok(weir_slice_parse((const char *)data, size, &shape, &slice, &sliced)))
        weir_slice_append_key(&key, "n", 1, &slice);
    weir_text_clear(&key);
}

FUZZ_TARGET(checkpoint)
{
    weir_text file = {0};
    uint8_t *plain = NULL;
    size_t length = 0;
    int mode = size > 0 ? data[0] : -1;
    make_scene();
    switch (mode) {
    case 'b': /* a data block */
    case 's': /* a compressed one */
        wrap(data + 1, size - 1, mode == 's', &file);
        put_file("c.index", file.data, file.length);
        read_all();
        break;
    case 'd':
        decode_objects(data + 1, size - 1);
        break;
    case 'p':
        parse_slice(data + 1, size - 1);
        break;
    case 'y':
        if (weir_ok(weir_snappy_read(data + 1, size - 1, &plain, &length)))
            FUZZ_CHECK(length <= 64 * size + 64);
        weir_release(plain);
        break;
    default:
        put_file("c.index", data, size);
        read_all();
    }
    weir_text_clear(&file);
    return 0;
}
