/*
 * Damaged checkpoints: TensorFlow's answers to the recorded ones, cuts and flipped bits at every byte, and indexes made
 * by hand as other writers might.
 */
#include "format/checkpoint_test.h"

#include "base/crc32c.h"
#include "format/bytes.h"
#include "format/message.h"
#include "format/snappy.h"

static void recorded_damage(void **state)
{
    static const struct {
        const char *prefix;
        const char *name;
        weir_code code;
        const char *words;
    } cases[] = {
        {"bad_data", "w", WEIR_DATA_LOSS,
         "/bad_data shard 0 (8 bytes): Checksum does not match: stored 683723185 vs. calculated on the restored bytes "
         "1086580089"},
        {"bad_data", "s", WEIR_OK, ""},
        {"bad_string", "w", WEIR_OK, ""},
        {"bad_string", "s", WEIR_DATA_LOSS,
         "/bad_string shard 0 (12 bytes): Checksum does not match: stored 3776728736 vs. calculated on the restored bytes "
         "1012524056"},
        {"bad_string_length", "w", WEIR_OK, ""},
        {"bad_string_length", "s", WEIR_DATA_LOSS,
         "The length checksum does not match: expected 732009476 but actual is 449855540"},
        {"bad_string_crc", "s", WEIR_DATA_LOSS,
         "The length checksum does not match: expected 740398084 but actual is 732009476"},
        {"short_data", "w", WEIR_OUT_OF_RANGE, "Read less bytes than requested"},
        {"short_data", "s", WEIR_OK, ""},
        {"no_data", "w", WEIR_NOT_FOUND, "damaged/no_data.data-00000-of-00001; No such file or directory"},
        {"no_index", "w", WEIR_NOT_FOUND,
         "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "},
        {"bad_index_block", "w", WEIR_DATA_LOSS,
         "damaged/bad_index_block.index). Perhaps the file is corrupt or was produced by a newer version of TensorFlow "
         "with format changes (failed to seek to header entry): block checksum mismatch"},
        {"bad_type", "w", WEIR_DATA_LOSS, "(failed to seek to header entry): bad block type"},
        {"bad_magic", "w", WEIR_DATA_LOSS, "not an sstable (bad magic number)"},
        {"short_index", "w", WEIR_DATA_LOSS, "file is too short to be an sstable"},
        {"empty_index", "w", WEIR_DATA_LOSS, "file is too short to be an sstable"},
        {"trailing_byte", "w", WEIR_DATA_LOSS, "not an sstable (bad magic number)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_tensor *tensor = NULL;
        char *prefix = path_in(CHECKPOINTS "damaged", cases[i].prefix);
        weir_status status = read_one(prefix, cases[i].name, &tensor);
        if (cases[i].code == WEIR_OK)
            ok(status);
        else
            fails_with(status, cases[i].code, cases[i].words);
        weir_tensor_free(tensor);
        free(prefix);
    }
}

/* ---- files made by hand -------------------------------------------------------------------------------------------- */

struct scene {
    char folder[64];
    char *prefix, *index, *data;
};

static void open_scene(struct scene *scene)
{
    make_folder(scene->folder);
    scene->prefix = path_in(scene->folder, "c");
    scene->index = path_in(scene->folder, "c.index");
    scene->data = path_in(scene->folder, "c.data-00000-of-00001");
}

static void close_scene(struct scene *scene)
{
    free(scene->prefix);
    free(scene->index);
    free(scene->data);
    remove_folder(scene->folder);
}

/* Opens, lists and reads everything; true if all went well. */
static bool read_everything(const char *prefix)
{
    weir_checkpoint *checkpoint = NULL;
    const weir_checkpoint_entry *entries = NULL;
    size_t count = 0;
    if (!weir_ok(weir_checkpoint_open(prefix, &checkpoint)))
        return false;
    bool good = weir_ok(weir_checkpoint_list(checkpoint, &entries, &count));
    for (size_t i = 0; good && i < count; i++) {
        weir_tensor *tensor = NULL;
        good = weir_ok(weir_checkpoint_read(checkpoint, entries[i].name, &tensor));
        weir_tensor_free(tensor);
    }
    weir_checkpoint_close(checkpoint);
    return good;
}

static void cuts_at_every_byte(void **state)
{
    struct scene scene;
    bytes index = read_whole(CHECKPOINTS "small.index");
    bytes data = read_whole(CHECKPOINTS "small.data-00000-of-00001");
    open_scene(&scene);
    for (size_t length = 0; length <= index.length; length++) {
        write_whole(scene.index, index.data, length);
        write_whole(scene.data, data.data, data.length);
        assert_int_equal(read_everything(scene.prefix), length == index.length);
    }
    for (size_t length = 0; length <= data.length; length++) {
        write_whole(scene.data, data.data, length);
        assert_int_equal(read_everything(scene.prefix), length == data.length);
    }
    free(index.data);
    free(data.data);
    close_scene(&scene);
}

/* Every bit of index and data is covered by a checksum, but for the footer's padding and the empty metaindex. */
static void flips_of_every_bit(void **state)
{
    struct scene scene;
    bytes index = read_whole(CHECKPOINTS "small.index");
    bytes data = read_whole(CHECKPOINTS "small.data-00000-of-00001");
    int accepted = 0;
    open_scene(&scene);
    write_whole(scene.data, data.data, data.length);
    for (size_t bit = 0; bit < 8 * index.length; bit++) {
        index.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        write_whole(scene.index, index.data, index.length);
        accepted += read_everything(scene.prefix);
        index.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_in_range(accepted, 1, 8 * (13 + 40)); /* metaindex with its trailer, handles and padding of the footer */
    write_whole(scene.index, index.data, index.length);
    for (size_t bit = 0; bit < 8 * data.length; bit++) {
        data.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        write_whole(scene.data, data.data, data.length);
        assert_false(read_everything(scene.prefix));
        data.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(index.data);
    free(data.data);
    close_scene(&scene);
}

/* An entry without shared bytes. */
static void entry(weir_text *block, const char *key, size_t key_length, const char *value_hex)
{
    bytes value = from_hex(value_hex);
    weir_append_varint(block, 0);
    weir_append_varint(block, key_length);
    weir_append_varint(block, value.length);
    weir_text_append_bytes(block, key, key_length);
    weir_text_append_bytes(block, value.data, value.length);
    free(value.data);
}

/* Writes an index of one data block, given its entries; type 1 means the block is compressed already. */
static void write_index(const char *path, const weir_text *contents, int type)
{
    weir_text file = {0};
    weir_text block = {0};
    char tail[2] = {(char)type, 0};
    weir_text_append_bytes(&file, contents->data, contents->length);
    if (type == 0) {
        weir_append_u32(&file, 0);
        weir_append_u32(&file, 1);
    }
    size_t size = file.length;
    weir_text_append_bytes(&file, tail, 1);
    weir_append_u32(&file, weir_crc32c_mask(weir_crc32c(file.data, file.length)));
    /* index block: key "zzz" to the handle */
    size_t start = file.length;
    weir_append_varint(&block, 0);
    weir_append_varint(&block, size);
    weir_append_varint(&file, 0);
    weir_append_varint(&file, 3);
    weir_append_varint(&file, block.length);
    weir_text_append(&file, "zzz");
    weir_text_append_bytes(&file, block.data, block.length);
    weir_append_u32(&file, 0);
    weir_append_u32(&file, 1);
    size_t index_size = file.length - start;
    weir_text_append_bytes(&file, "\0", 1);
    weir_append_u32(&file, weir_crc32c_mask(weir_crc32c(file.data + start, index_size + 1)));
    size_t footer = file.length;
    weir_append_varint(&file, 0); /* no metaindex */
    weir_append_varint(&file, 0);
    weir_append_varint(&file, start);
    weir_append_varint(&file, index_size);
    while (file.length < footer + 40)
        weir_text_append_bytes(&file, "\x55", 1);
    weir_text_append_bytes(&file, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
    write_whole(path, file.data, file.length);
    weir_text_clear(&file);
    weir_text_clear(&block);
}

#define HEADER "08011a020801"

static void entries_made_by_hand(void **state)
{
    /* the data file holds floats 0, 1, 2, 3 */
    static const struct {
        const char *header;
        const char *value; /* of "w" */
        weir_code code;
        const char *words;
    } cases[] = {
        {HEADER, "0801120412020804281035%08x", WEIR_OK, ""},
        {"0801", "0801120412020804281035%08x", WEIR_OK, ""}, /* no version */
        {HEADER, "08011204120208041800200028103a0035%08x", WEIR_DATA_LOSS, "a piece of 0 dimensions of a tensor of 1"},
        {HEADER,
         "0801120412020804180020002810f2060161"
         "35%08x",
         WEIR_OK, ""}, /* explicit zeros, an unknown field */
        {HEADER, "08011204120208042810", WEIR_DATA_LOSS, "Checksum does not match"},
        {HEADER, "0801120412020804280f35%08x", WEIR_DATA_LOSS,
         "Invalid size in bundle entry: key w; stored size 15; expected size 16"},
        {HEADER, "080112041202080428ffffffffffffffffff0135%08x", WEIR_DATA_LOSS, "stored size -1; expected size 16"},
        {HEADER, "080112041202080420ffffffffffffffffff01281035%08x", WEIR_INVALID_ARGUMENT,
         "Seeking to a negative position: -1"},
        {HEADER, "08011204120208042001281035%08x", WEIR_OUT_OF_RANGE, "Read less bytes than requested"},
        {HEADER, "080112041202080420ffffffffffffffff7f281035%08x", WEIR_OUT_OF_RANGE, "Read less bytes than requested"},
        {HEADER, "0801120612040880808001281035%08x", WEIR_DATA_LOSS, "not parseable"},
        {HEADER,
         "08011206120408808040"
         "281035%08x",
         WEIR_DATA_LOSS, "stored size 16; expected size 4194304"},
        {HEADER, "08011204120208041801281035%08x", WEIR_NOT_FOUND, "c.data-00001-of-00001; No such file or directory"},
        {HEADER, "0865120412020804281035%08x", WEIR_DATA_LOSS, "Entry for key w not parseable."},
        {HEADER, "08c801120412020804281035%08x", WEIR_DATA_LOSS, "Entry for key w not parseable."},
        {HEADER, "0814120412020804281035%08x", WEIR_UNIMPLEMENTED, "is a resource"},
        {HEADER, "0801120412020804281035", WEIR_DATA_LOSS, "Entry for key w not parseable."},
        {HEADER, "ff", WEIR_DATA_LOSS, "Entry for key w not parseable."},
        {HEADER, "0807120412020804281035%08x", WEIR_DATA_LOSS, "key w"},          /* four strings in these bytes */
        {HEADER, "080712051203088008281035%08x", WEIR_DATA_LOSS, "Invalid size"}, /* 1024 strings */
        /* 2^40 floats whose bytes are all promised */
        {HEADER,
         "0801120912070880808080802028808080808080013"
         "5%08x",
         WEIR_OUT_OF_RANGE, "Read less bytes than requested"},
        {"08011a040801"
         "1002",
         "0801", WEIR_INVALID_ARGUMENT, "Checkpoint min consumer version 2 above current version 1 for "},
        {"08011a0508011a0101", "0801", WEIR_INVALID_ARGUMENT,
         "Checkpoint disallows consumer version 1.  Please upgrade"},
        {"08011a0b08ffffffffffffffffff01", "0801", WEIR_INVALID_ARGUMENT,
         "Checkpoint producer version -1 below min producer 0"},
        {"ff", "0801", WEIR_DATA_LOSS, "(unable to parse header): Entry for key  not parseable."},
    };
    struct scene scene;
    const float floats[] = {0, 1, 2, 3};
    open_scene(&scene);
    write_whole(scene.data, floats, sizeof floats);
    uint32_t crc = __builtin_bswap32(weir_crc32c_mask(weir_crc32c(floats, sizeof floats)));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_text block = {0};
        weir_tensor *tensor = NULL;
        char value[256];
        const char *percent = strchr(cases[i].value, '%');
        snprintf(value, sizeof value, "%.*s", percent != NULL ? (int)(percent - cases[i].value) : 200, cases[i].value);
        if (percent != NULL)
            snprintf(value + strlen(value), 16, "%08x", crc);
        entry(&block, "", 0, cases[i].header);
        entry(&block, "w", 1, value);
        write_index(scene.index, &block, 0);
        weir_status status = read_one(scene.prefix, "w", &tensor);
        if (cases[i].code == WEIR_OK)
            ok(status);
        else
            fails_with(status, cases[i].code, cases[i].words);
        weir_tensor_free(tensor);
        weir_text_clear(&block);
    }
    close_scene(&scene);
}

static void pieces_made_by_hand(void **state)
{
    static const struct {
        const char *whole; /* entry of "w", [4] */
        const char *words;
        weir_code code;
    } cases[] = {
        /* 0,2 and 1,2: overlap */
        {"08011204120208043a040a0210023a060a0408011002", "pieces 0 and 1 overlap", WEIR_DATA_LOSS},
        {"08011204120208043a040a0210023a060a0408021002", "a piece of w: Key ", WEIR_NOT_FOUND},
        {"08011204120208043a060a0408ffffff7f", "not parseable", WEIR_DATA_LOSS},
        {"08011204120208043a060a0408021003", "Extent in dimension 0 out of bounds", WEIR_INTERNAL},
        {"08011204120208043a0d0a0b08ffffffffffffffffff01", "", WEIR_NOT_FOUND},
        {"08011204120208043a0f0a0d08ffffffffffffffffff011002", "a piece from -1 of length 2", WEIR_DATA_LOSS},
        {"08011204120208043a0f0a0d10ffffffffffffffffff010801", "a piece from 1 of length -1", WEIR_DATA_LOSS},
    };
    struct scene scene;
    open_scene(&scene);
    write_whole(scene.data, "", 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_text block = {0};
        weir_tensor *tensor = NULL;
        entry(&block, "", 0, HEADER);
        entry(&block, "w", 1, cases[i].whole);
        write_index(scene.index, &block, 0);
        fails_with(read_one(scene.prefix, "w", &tensor), cases[i].code, cases[i].words);
        assert_null(tensor);
        weir_text_clear(&block);
    }
    close_scene(&scene);
}

static void the_other_byte_order(void **state)
{
    /* big-endian: float 1.0, complex64 (1, 2), and strings, whose length words are swapped in the checksums */
    static const uint8_t floats[] = {0x3f, 0x80, 0, 0};
    struct scene scene;
    weir_text data = {0};
    weir_text block = {0};
    char value[128];
    weir_tensor *tensor = NULL;
    open_scene(&scene);
    weir_text_append_bytes(&data, floats, 4);
    size_t start = data.length;
    weir_text_append_bytes(&data, "\2", 1);
    uint32_t crc = weir_crc32c("\0\0\0\2", 4);
    weir_append_u32(&data, __builtin_bswap32(weir_crc32c_mask(crc)));
    crc = weir_crc32c_extend(crc, data.data + start + 1, 4);
    weir_text_append_bytes(&data, "hi", 2);
    crc = weir_crc32c_extend(crc, "hi", 2);
    write_whole(scene.data, data.data, data.length);
    entry(&block, "", 0, "080110011a020801");
    snprintf(value, sizeof value,
             "08071200200428"
             "0735%08x",
             __builtin_bswap32(weir_crc32c_mask(crc)));
    entry(&block, "s", 1, value);
    entry(&block, "v", 1, "08151200");
    snprintf(value, sizeof value, "08011200280435%08x", __builtin_bswap32(weir_crc32c_mask(weir_crc32c(floats, 4))));
    entry(&block, "w", 1, value);
    write_index(scene.index, &block, 0);
    ok(read_one(scene.prefix, "w", &tensor));
    assert_true(weir_tensor_floats(tensor)[0] == 1);
    weir_tensor_free(tensor);
    ok(read_one(scene.prefix, "s", &tensor));
    assert_string_equal(weir_tensor_get_string(tensor, 0, NULL), "hi");
    weir_tensor_free(tensor);
    fails_with(read_one(scene.prefix, "v", &tensor), WEIR_UNIMPLEMENTED, "variant tensors of the other byte order");
    weir_text_clear(&data);
    weir_text_clear(&block);
    close_scene(&scene);
}

/* ---- Snappy -------------------------------------------------------------------------------------------------------- */

static void snappy_blocks(void **state)
{
    static const struct {
        const char *block;
        const char *result; /* hexadecimal; NULL: refused */
    } cases[] = {
        {"00", ""},
        {"0308616263", "616263"},
        {"0308616263ff", NULL}, /* a cut copy behind the end */
        {"0408616263", NULL},   /* too short */
        {"0208616263", NULL},   /* too long */
        {"0904616215"
         "02",
         NULL},                                     /* copy with a 1-byte offset of 9 from 2 + 9 bytes: beyond */
        {"0b0461621502", "6162616261626162616261"}, /* 2 literals, 9 more by copying */
        {"0604616"
         "20e0200",
         "616261626162"},                       /* 2-byte offset, length 4 */
        {"060461620f02000000", "616261626162"}, /* 4-byte offset */
        {"060461620e0300", NULL},               /* before the start */
        {"060461620e0000", NULL},               /* offset 0 */
        {"03f00261626"
         "3",
         "616263"}, /* literal with a length byte */
        {"03f4020061626"
         "3",
         "616263"},
        {"03f0", NULL},
        {"ffffffff0f00", NULL}, /* 4 GB from nothing */
        {"ffffffffffffffffff01", NULL},
        {"", NULL},
        {"80", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes block = from_hex(cases[i].block);
        uint8_t *result = NULL;
        size_t length = 0;
        weir_status status = weir_snappy_read(block.data, block.length, &result, &length);
        if (cases[i].result == NULL) {
            fails_with(status, WEIR_DATA_LOSS, "corrupted compressed block contents");
            assert_null(result);
        } else {
            ok(status);
            char *hex = to_hex(result, length);
            assert_string_equal(hex, cases[i].result);
            free(hex);
        }
        weir_release(result);
        free(block.data);
    }
}

/* Refused by its promise, before 4 GB are taken. */
static void snappy_promises(void **state)
{
    uint8_t *result = NULL;
    size_t length = 0;
    fails_with(weir_snappy_read((const uint8_t *)"\xff\xff\xff\xff\x0f\0", 6, &result, &length), WEIR_DATA_LOSS,
               "length beyond what the block can hold");
    assert_null(result);
}

static void an_index_with_a_snappy_block(void **state)
{
    struct scene scene;
    weir_text plain = {0};
    weir_text block = {0};
    weir_tensor *tensor = NULL;
    char value[64];
    open_scene(&scene);
    write_whole(scene.data, "\0\0\x80\x3f", 4);
    entry(&plain, "", 0, HEADER);
    snprintf(value, sizeof value, "08011200280435%08x",
             __builtin_bswap32(weir_crc32c_mask(weir_crc32c("\0\0\x80\x3f", 4))));
    entry(&plain, "w", 1, value);
    weir_append_u32(&plain, 0);
    weir_append_u32(&plain, 1);
    weir_append_varint(&block, plain.length);
    assert_true(plain.length <= 60);
    weir_text_append(&block, "%c", (char)((plain.length - 1) << 2));
    weir_text_append_bytes(&block, plain.data, plain.length);
    write_index(scene.index, &block, 1);
    ok(read_one(scene.prefix, "w", &tensor));
    assert_true(weir_tensor_floats(tensor)[0] == 1);
    weir_tensor_free(tensor);
    weir_text_clear(&plain);
    weir_text_clear(&block);
    close_scene(&scene);
}

/* ---- tables that lie ----------------------------------------------------------------------------------------------- */

static void blocks_made_by_hand(void **state)
{
    static const struct {
        const char *block; /* hexadecimal, with its restarts */
        weir_code code;
        const char *words;
    } cases[] = {
        {"", WEIR_DATA_LOSS, "bad block contents"},
        {"000000", WEIR_DATA_LOSS, "bad block contents"},
        {"00000000ffffffff", WEIR_DATA_LOSS, "bad block contents"},
        {"0000000001000000", WEIR_INTERNAL, "failed to seek to header entry"}, /* no entries */
        {"0100000000000001000000", WEIR_DATA_LOSS, "bad entry in block"},      /* shares a byte of nothing */
        {"0005000000000001000000", WEIR_DATA_LOSS, "bad entry in block"},      /* key too long */
        {"0000050000000001000000", WEIR_DATA_LOSS, "bad entry in block"},      /* value too long */
        {"00ffffffffffffffffff01000000000001000000", WEIR_DATA_LOSS, "bad entry in block"},
        {"8080808080808080808080000000000001000000", WEIR_DATA_LOSS, "bad entry in block"},
    };
    struct scene scene;
    open_scene(&scene);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_text compressed = {0}; /* as type 1, so that write_index adds no restarts */
        weir_tensor *tensor = NULL;
        bytes block = from_hex(cases[i].block);
        weir_append_varint(&compressed, block.length);
        if (block.length > 0)
            weir_text_append(&compressed, "%c", (char)((block.length - 1) << 2));
        weir_text_append_bytes(&compressed, block.data, block.length);
        write_index(scene.index, &compressed, 1);
        fails_with(read_one(scene.prefix, "w", &tensor), cases[i].code, cases[i].words);
        weir_text_clear(&compressed);
        free(block.data);
    }
    close_scene(&scene);
}

/* Each entry shares all of a key of 100 kB: full keys would take gigabytes. */
static void keys_that_grow_without_end(void **state)
{
    struct scene scene;
    weir_text block = {0};
    weir_tensor *tensor = NULL;
    char *key = calloc(100000, 1);
    memset(key, 'k', 100000);
    open_scene(&scene);
    entry(&block, "", 0, HEADER);
    entry(&block, key, 100000, "");
    for (int i = 0; i < 50000; i++) {
        weir_append_varint(&block, 100000);
        weir_text_append_bytes(&block, "\0\0", 2);
    }
    write_index(scene.index, &block, 0);
    fails_with(read_one(scene.prefix, "w", &tensor), WEIR_RESOURCE_EXHAUSTED, "too much memory");
    weir_text_clear(&block);
    free(key);
    close_scene(&scene);
}

/* A block whose trailer would stand behind the end of the file. */
static void handles_at_the_end_of_the_file(void **state)
{
    static const uint8_t magic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
    for (size_t offset = 43; offset < 60; offset++) {
        uint8_t *footer = calloc(48, 1);
        weir_table *table = NULL;
        footer[2] = (uint8_t)offset; /* of the index block, of size 0 */
        memcpy(footer + 40, magic, sizeof magic);
        weir_status status = weir_table_open(footer, 48, &table);
        if (offset == 43)
            fails_with(status, WEIR_DATA_LOSS, "block checksum mismatch");
        else
            fails_with(status, WEIR_OUT_OF_RANGE, "Read less bytes than requested");
        free(footer);
    }
}

static void odd_files_in_the_place_of_files(void **state)
{
    struct scene scene;
    weir_tensor *tensor = NULL;
    bytes index = read_whole(CHECKPOINTS "small.index");
    open_scene(&scene);
    mkdir(scene.index, 0700);
    fails_with(read_one(scene.prefix, "w", &tensor), WEIR_UNKNOWN, "c.index: Is a directory");
    rmdir(scene.index);
    assert_int_equal(mkfifo(scene.index, 0600), 0);
    fails_with(read_one(scene.prefix, "w", &tensor), WEIR_UNKNOWN, "Cannot read "); /* and does not wait */
    unlink(scene.index);
    write_whole(scene.index, index.data, index.length);
    mkdir(scene.data, 0700);
    fails_with(read_one(scene.prefix, "w", &tensor), WEIR_UNKNOWN, "c.data-00000-of-00001: Is a directory");
    free(index.data);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_damage),
        cmocka_unit_test(cuts_at_every_byte),
        cmocka_unit_test(flips_of_every_bit),
        cmocka_unit_test(entries_made_by_hand),
        cmocka_unit_test(pieces_made_by_hand),
        cmocka_unit_test(the_other_byte_order),
        cmocka_unit_test(snappy_blocks),
        cmocka_unit_test(snappy_promises),
        cmocka_unit_test(handles_at_the_end_of_the_file),
        cmocka_unit_test(an_index_with_a_snappy_block),
        cmocka_unit_test(blocks_made_by_hand),
        cmocka_unit_test(keys_that_grow_without_end),
        cmocka_unit_test(odd_files_in_the_place_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
