/*
 * Writing checkpoints: the bytes of TensorFlow's own, pieces, shards and merges, and saves that fail.
 */
#include "format/checkpoint_test.h"

#include <signal.h>
#include <sys/resource.h>

/* ---- TensorFlow's bytes -------------------------------------------------------------------------------------------- */

/* A tensor or piece of a checkpoint: what to save, under which specification. */
struct item {
    weir_string name;
    char *spec;
    int shard;
    int64_t offset, size;
    weir_tensor *tensor;
};

struct items {
    struct item items[400];
    size_t count;
};

static char *spec_of(const weir_bundle_entry *entry, const weir_slice *slice)
{
    weir_text text = {0};
    for (int i = 0; i < entry->shape.rank; i++)
        weir_text_append(&text, "%lld ", (long long)entry->shape.dims[i]);
    weir_slice_append(&text, slice);
    char *copy = strdup(weir_text_get(&text));
    weir_text_clear(&text);
    return copy;
}

static void take_piece(weir_checkpoint *checkpoint, const weir_bundle_entry *entry, size_t piece, struct items *items)
{
    struct item *item = &items->items[items->count++];
    weir_arena arena = {0};
    weir_slice slice = weir_slice_full(entry->shape.rank);
    weir_text key = {0};
    weir_bundle_entry found;
    for (int i = 0; i < slice.rank; i++) {
        const Weir__TensorSliceProto__Extent *extent = entry->slices[piece]->extent[i];
        if (extent->has_length_hack_case != 0) {
            slice.start[i] = extent->start;
            slice.length[i] = extent->length;
        }
    }
    weir_slice_append_key(&key, entry->key, entry->key_length, &slice);
    ok(weir_bundle_find(checkpoint, key.data, key.length, &arena, &found));
    item->spec = spec_of(entry, &slice);
    item->shard = found.shard;
    item->offset = found.offset;
    item->size = found.size;
    item->name = (weir_string){(char *)(uintptr_t)entry->key, entry->key_length};
    ok(weir_bundle_read(checkpoint, &found, &item->tensor));
    weir_text_clear(&key);
    weir_arena_clear(&arena);
}

static void take_entry(weir_checkpoint *checkpoint, const weir_checkpoint_entry *listed, struct items *items)
{
    weir_arena arena = {0};
    weir_bundle_entry entry;
    ok(weir_bundle_find(checkpoint, listed->name, listed->name_length, &arena, &entry));
    for (size_t i = 0; i < entry.pieces; i++)
        take_piece(checkpoint, &entry, i, items);
    if (entry.pieces == 0) {
        struct item *item = &items->items[items->count++];
        item->name = (weir_string){(char *)(uintptr_t)entry.key, entry.key_length};
        item->spec = strdup("");
        item->shard = entry.shard;
        item->offset = entry.offset;
        item->size = entry.size;
        ok(weir_bundle_read(checkpoint, &entry, &item->tensor));
    }
    weir_arena_clear(&arena);
}

static int by_place(const void *a, const void *b)
{
    const struct item *left = a;
    const struct item *right = b;
    if (left->shard != right->shard)
        return left->shard - right->shard;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return (left->size > right->size) - (left->size < right->size); /* empty ones take no place */
}

static void write_shard(const char *prefix, const struct items *items, int shard)
{
    weir_checkpoint_writer *writer = NULL;
    ok(weir_checkpoint_create(prefix, &writer));
    for (size_t i = 0; i < items->count; i++) {
        weir_string spec = string_of(items->items[i].spec);
        if (items->items[i].shard == shard)
            ok(weir_checkpoint_save(writer, &items->items[i].name, &spec, items->items[i].tensor));
    }
    ok(weir_checkpoint_commit(writer));
    weir_checkpoint_writer_free(writer);
}

static void compare(const char *original, const char *copy, int shards)
{
    for (int shard = -1; shard < shards; shard++) {
        weir_text left = {0};
        weir_text right = {0};
        if (shard < 0) {
            weir_checkpoint_index_name(&left, original);
            weir_checkpoint_index_name(&right, copy);
        } else {
            weir_checkpoint_data_name(&left, original, shard, shards);
            weir_checkpoint_data_name(&right, copy, shard, shards);
        }
        same_files(weir_text_get(&left), weir_text_get(&right));
        weir_text_clear(&left);
        weir_text_clear(&right);
    }
}

/* Saves what a checkpoint of TensorFlow holds, in the order of its data files: the same bytes. */
static void check_rewrite(const char *original)
{
    char folder[64];
    struct items *items = calloc(1, sizeof *items);
    weir_checkpoint *checkpoint = NULL;
    const weir_checkpoint_entry *entries = NULL;
    size_t count = 0;
    ok(weir_checkpoint_open(original, &checkpoint));
    ok(weir_checkpoint_list(checkpoint, &entries, &count));
    for (size_t i = 0; i < count; i++)
        take_entry(checkpoint, &entries[i], items);
    qsort(items->items, items->count, sizeof *items->items, by_place);
    make_folder(folder);
    char *copy = path_in(folder, "copy");
    char *parts[2] = {path_in(folder, "copy_temp/part-00000-of-00002"),
                      path_in(folder, "copy_temp/part-00001-of-00002")};
    int shards = checkpoint->shards;
    for (int shard = 0; shard < shards && shard < 2; shard++)
        write_shard(shards == 1 ? copy : parts[shard], items, shard);
    if (shards == 2)
        ok(weir_checkpoint_merge((const char *const *)parts, 2, copy, NULL));
    compare(original, copy, shards);
    assert_int_equal(files_in(folder), 1 + shards); /* nothing temporary is left, nor the folder of the parts */
    for (size_t i = 0; i < items->count; i++) {
        weir_tensor_free(items->items[i].tensor);
        free(items->items[i].spec);
    }
    free(items);
    free(copy);
    free(parts[0]);
    free(parts[1]);
    weir_checkpoint_close(checkpoint);
    remove_folder(folder);
}

static void rewrites_to_the_byte(void **state)
{
    static const char *const names[] = {"dtypes",       "many",  "partitioned", "grid",   "gap",
                                        "object_based", "small", "sharded-5",   "merged", "train/model.ckpt-400"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = path_in(CHECKPOINTS, names[i]);
        check_rewrite(path);
        free(path);
    }
}

/* The worked example of the format's description. */
static void example_to_the_byte(void **state)
{
    static const char expected[] = "0000060801"
                                   "1a02080100"
                                   "0b0b676c6f62616c5f73746570080912002808"
                                   "35bbd79f11000111770801120412020802200828083559"
                                   "3ce5350105112f4164616d0801120412020802201028083529039807"
                                   "000000000100000000d78fc764"
                                   "000000000100000000c0f2a1b0"
                                   "00010278005800000000010000"
                                   "00009fbdf3355d086a0e";
    char folder[64];
    const int64_t step = 7;
    const float w[] = {1, 2};
    const float adam[] = {0, 0};
    weir_tensor *tensor = NULL;
    weir_checkpoint_writer *writer = NULL;
    make_folder(folder);
    char *prefix = path_in(folder, "x");
    char *index = path_in(folder, "x.index");
    ok(weir_checkpoint_create(prefix, &writer));
    ok(weir_tensor_from(WEIR_INT64, WEIR_SCALAR, &step, &tensor));
    add_and_free(writer, "global_step", tensor);
    ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(2), w, &tensor));
    add_and_free(writer, "w", tensor);
    ok(weir_tensor_from(WEIR_FLOAT, WEIR_SHAPE(2), adam, &tensor));
    add_and_free(writer, "w/Adam", tensor);
    ok(weir_checkpoint_commit(writer));
    weir_checkpoint_writer_free(writer);
    bytes file = read_whole(index);
    char *hex = to_hex(file.data, file.length);
    assert_int_equal(file.length, 173);
    assert_memory_equal(hex, expected, strlen(expected));
    free(hex);
    free(file.data);
    free(prefix);
    free(index);
    remove_folder(folder);
}

/* Entries whose block would be size bytes long, restarts included; then one more. Returns how many blocks they take. */
static size_t blocks_for(size_t size)
{
    weir_table_writer writer = {.entries = 0};
    weir_table *table = NULL;
    uint8_t *value = calloc(size, 1);
    /* One entry: lengths of 1 + 1 + 3 bytes, a key of one, the value; one restart and the count of restarts. */
    weir_table_add(&writer, &(weir_table_entry){(const uint8_t *)"a", 1, value, size - 6 - 4 - 4});
    weir_table_add(&writer, &(weir_table_entry){(const uint8_t *)"b", 1, value, 0});
    ok(weir_table_finish(&writer));
    ok(weir_table_open(writer.file.data, writer.file.length, &table));
    size_t blocks = weir_table_blocks(table);
    weir_table_close(table);
    weir_table_writer_clear(&writer);
    free(value);
    return blocks;
}

static void blocks_close_at_their_size(void **state)
{
    assert_int_equal(blocks_for(262144 - 1), 1);
    assert_int_equal(blocks_for(262144), 2);
}

/* ---- there and back ------------------------------------------------------------------------------------------------ */

static void strings_and_variants_come_back(void **state)
{
    char folder[64];
    weir_tensor *strings = NULL;
    weir_tensor *variant = NULL;
    weir_tensor *empty = NULL;
    weir_tensor *read = NULL;
    weir_checkpoint_writer *writer = NULL;
    make_folder(folder);
    char *prefix = path_in(folder, "s");
    ok(weir_tensor_new(WEIR_STRING, WEIR_SHAPE(2, 2), &strings));
    ok(weir_tensor_set_string(strings, 1, "a\0b", 3));
    char *large = calloc(300000, 1);
    memset(large, 'x', 299999);
    ok(weir_tensor_set_string(strings, 2, large, 300000));
    ok(weir_tensor_new(WEIR_VARIANT, WEIR_SHAPE(2), &variant));
    ok(weir_string_set(&weir_tensor_string_elements(variant)[1], "\x0a\x01T", 3));
    ok(weir_tensor_new(WEIR_STRING, WEIR_SHAPE(0), &empty));
    ok(weir_checkpoint_create(prefix, &writer));
    ok(weir_checkpoint_add(writer, "strings", strings));
    ok(weir_checkpoint_add(writer, "variant", variant));
    ok(weir_checkpoint_add(writer, "empty", empty));
    ok(weir_checkpoint_commit(writer));
    weir_checkpoint_writer_free(writer);
    ok(read_one(prefix, "strings", &read));
    char *left = shown(strings);
    char *right = shown(read);
    assert_string_equal(left, right);
    free(left);
    free(right);
    weir_tensor_free(read);
    ok(read_one(prefix, "variant", &read));
    assert_int_equal(weir_tensor_string_elements(read)[1].size, 3);
    assert_int_equal(weir_tensor_string_elements(read)[0].size, 0);
    weir_tensor_free(read);
    ok(read_one(prefix, "empty", &read));
    assert_int_equal(read->elements, 0);
    weir_tensor_free(read);
    weir_tensor_free(strings);
    weir_tensor_free(variant);
    weir_tensor_free(empty);
    free(large);
    free(prefix);
    remove_folder(folder);
}

static void pieces_make_other_pieces(void **state)
{
    char folder[64];
    weir_checkpoint_writer *writer = NULL;
    weir_checkpoint *checkpoint = NULL;
    weir_tensor *whole = NULL;
    make_folder(folder);
    char *prefix = path_in(folder, "p");
    ok(weir_checkpoint_create(prefix, &writer));
    for (int i = 0; i < 4; i++) { /* rows 3i .. 3i+2 of a [12,5] */
        char spec[64];
        weir_tensor *piece = NULL;
        ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(3, 5), &piece));
        for (int j = 0; j < 15; j++)
            weir_tensor_floats(piece)[j] = (float)(15 * i + j);
        snprintf(spec, sizeof spec, "12 5 %d,3:-", 3 * i);
        ok(weir_checkpoint_add_part(writer, "p", spec, piece));
        weir_tensor_free(piece);
    }
    ok(weir_checkpoint_commit(writer));
    weir_checkpoint_writer_free(writer);
    ok(weir_checkpoint_open(prefix, &checkpoint));
    ok(weir_checkpoint_read(checkpoint, "p", &whole));
    for (int i = 0; i < 60; i++)
        assert_true(weir_tensor_floats(whole)[i] == (float)i);
    weir_tensor_free(whole);
    ok(weir_checkpoint_read_part(checkpoint, "p", "12 5 2,5:1,3", &whole));
    for (int i = 0; i < 15; i++) {
        int row = i / 3;
        assert_true(weir_tensor_floats(whole)[i] == (float)(11 + i + 2 * row));
    }
    weir_tensor_free(whole);
    weir_checkpoint_close(checkpoint);
    free(prefix);
    remove_folder(folder);
}

/* ---- refusals ------------------------------------------------------------------------------------------------------ */

static void refuses_wrong_tensors(void **state)
{
    static const struct {
        const char *first_spec, *name, *spec;
        weir_code code;
        const char *words;
    } cases[] = {
        {"", "w", "", WEIR_INVALID_ARGUMENT, "Adding duplicate key: w"},
        {"", "", "", WEIR_INVALID_ARGUMENT, "needs a name"},
        {"", "w", "8 0,4", WEIR_INVALID_ARGUMENT, "Adding duplicate key: w"},
        {"8 0,4", "w", "", WEIR_INVALID_ARGUMENT, "Adding duplicate key: w"},
        {"8 0,4", "w", "8 0,4", WEIR_INVALID_ARGUMENT, "a piece of w twice"},
        {"8 0,4", "w", "9 4,4", WEIR_INVALID_ARGUMENT, "The pieces of w are not of one tensor"},
        {"", "v", "8 0,5", WEIR_INVALID_ARGUMENT,
         "Slice in shape_and_slice specification does not match the shape of the tensor to  save: 8 0,5, tensor: [4]"},
        {"", "v", "8 0,4,4", WEIR_INVALID_ARGUMENT, "Expected a pair of numbers or '-' but got '0,4,4'"},
        {"", "v", "10 4 0,5", WEIR_INTERNAL, "Mismatching ranks: shape = [10,4], slice = 0,5"},
        {"", "v", "10 4 6,5:-", WEIR_INTERNAL, "Extent in dimension 0 out of bounds: shape = [10,4], slice = 6,5:-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char folder[64];
        weir_checkpoint_writer *writer = NULL;
        weir_tensor *tensor = float_vector(4);
        make_folder(folder);
        char *prefix = path_in(folder, "c");
        ok(weir_checkpoint_create(prefix, &writer));
        ok(weir_checkpoint_add_part(writer, "w", cases[i].first_spec, tensor));
        fails_with(weir_checkpoint_add_part(writer, cases[i].name, cases[i].spec, tensor), cases[i].code,
                   cases[i].words);
        fails_with(weir_checkpoint_commit(writer), WEIR_FAILED_PRECONDITION, "is not whole");
        weir_checkpoint_writer_free(writer);
        assert_int_equal(files_in(folder), 0);
        weir_tensor_free(tensor);
        free(prefix);
        remove_folder(folder);
    }
}

static void refuses_wrong_places(void **state)
{
    char folder[64];
    weir_checkpoint_writer *writer = NULL;
    make_folder(folder);
    char *deep = path_in(folder, "a/b/c");
    char *one = path_in(folder, "a/c");
    char *slash = path_in(folder, "");
    fails_with(weir_checkpoint_create(deep, &writer), WEIR_NOT_FOUND, "a/b: No such file or directory");
    fails_with(weir_checkpoint_create(slash, &writer), WEIR_INVALID_ARGUMENT, "it names no file");
    fails_with(weir_checkpoint_create("", &writer), WEIR_INVALID_ARGUMENT, "'' cannot be the prefix");
    ok(weir_checkpoint_create(one, &writer)); /* one folder is made */
    weir_checkpoint_writer_free(writer);
    if (geteuid() != 0) {
        chmod(folder, 0500);
        fails_with(weir_checkpoint_create(deep, &writer), WEIR_PERMISSION_DENIED, "Permission denied");
        chmod(folder, 0700);
    }
    free(deep);
    free(one);
    free(slash);
    remove_folder(folder);
}

/* ---- failed saves -------------------------------------------------------------------------------------------------- */

static void save_w(const char *prefix, int64_t count)
{
    weir_checkpoint_writer *writer = NULL;
    ok(weir_checkpoint_create(prefix, &writer));
    add_and_free(writer, "w", float_vector(count));
    ok(weir_checkpoint_commit(writer));
    weir_checkpoint_writer_free(writer);
}

static void check_w(const char *prefix, int64_t count)
{
    weir_tensor *tensor = NULL;
    ok(read_one(prefix, "w", &tensor));
    assert_int_equal(tensor->elements, count);
    weir_tensor_free(tensor);
}

/* A limit on the size of files stands in for a full disk. */
static void full_disk_leaves_the_old(void **state)
{
    char folder[64];
    weir_checkpoint_writer *writer = NULL;
    weir_tensor *large = float_vector(1 << 20);
    struct rlimit old;
    make_folder(folder);
    char *prefix = path_in(folder, "c");
    save_w(prefix, 3);
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    ok(weir_checkpoint_create(prefix, &writer));
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 1 << 20, .rlim_max = old.rlim_max});
    weir_status status = weir_checkpoint_add(writer, "w", large);
    setrlimit(RLIMIT_FSIZE, &old);
    fails_with(status, WEIR_RESOURCE_EXHAUSTED, "c.data-00000-of-00001.tempstate");
    fails_with(status, WEIR_RESOURCE_EXHAUSTED, "File too large (1048576 of ");
    fails_with(status, WEIR_RESOURCE_EXHAUSTED, "bytes are free on that disk)");
    weir_checkpoint_writer_free(writer);
    check_w(prefix, 3);
    assert_int_equal(files_in(folder), 2);
    weir_tensor_free(large);
    free(prefix);
    remove_folder(folder);
}

static void saves_over_the_old(void **state)
{
    char folder[64];
    make_folder(folder);
    char *prefix = path_in(folder, "c");
    save_w(prefix, 3);
    save_w(prefix, 5);
    check_w(prefix, 5);
    assert_int_equal(files_in(folder), 2);
    free(prefix);
    remove_folder(folder);
}

/* A folder in the place of the data file: the last step fails, and the old index comes back. */
static void failed_commit_leaves_the_old(void **state)
{
    char folder[64];
    weir_checkpoint_writer *writer = NULL;
    make_folder(folder);
    char *prefix = path_in(folder, "c");
    char *data = path_in(folder, "c.data-00000-of-00001");
    char *index = path_in(folder, "c.index");
    save_w(prefix, 3);
    bytes before = read_whole(index);
    unlink(data);
    mkdir(data, 0700);
    ok(weir_checkpoint_create(prefix, &writer));
    add_and_free(writer, "w", float_vector(5));
    fails_with(weir_checkpoint_commit(writer), WEIR_UNKNOWN, "Cannot replace ");
    weir_checkpoint_writer_free(writer);
    bytes after = read_whole(index);
    assert_int_equal(before.length, after.length);
    assert_memory_equal(before.data, after.data, before.length);
    assert_int_equal(files_in(folder), 2);
    free(before.data);
    free(after.data);
    free(prefix);
    free(data);
    free(index);
    remove_folder(folder);
}

static void uncommitted_saves_leave_nothing(void **state)
{
    char folder[64];
    weir_checkpoint_writer *writer = NULL;
    make_folder(folder);
    char *prefix = path_in(folder, "c");
    ok(weir_checkpoint_create(prefix, &writer));
    add_and_free(writer, "w", float_vector(5));
    assert_false(weir_checkpoint_exists(prefix));
    weir_checkpoint_writer_free(writer);
    assert_int_equal(files_in(folder), 0);
    weir_checkpoint_writer_free(NULL);
    free(prefix);
    remove_folder(folder);
}

/* ---- merging, removing --------------------------------------------------------------------------------------------- */

static void merges_that_fail(void **state)
{
    char folder[64];
    make_folder(folder);
    char *a = path_in(folder, "a");
    char *b = path_in(folder, "b");
    char *gone = path_in(folder, "gone");
    char *to = path_in(folder, "to");
    save_w(a, 3);
    save_w(b, 4);
    const char *both[] = {a, b};
    const char *missing[] = {a, gone};
    const char *nothing[] = {gone};
    const weir_checkpoint_merge_options lenient = {.allow_missing_files = true};
    fails_with(weir_checkpoint_merge(both, 2, to, NULL), WEIR_INVALID_ARGUMENT,
               "Duplicate tensor keyed by w encountered, when merging prefix: ");
    fails_with(weir_checkpoint_merge(missing, 2, to, NULL), WEIR_INVALID_ARGUMENT,
               "allow_missing_files was set to false and ");
    fails_with(weir_checkpoint_merge(nothing, 1, to, &lenient), WEIR_INVALID_ARGUMENT, "Nothing to merge");
    check_w(a, 3);
    check_w(b, 4);
    assert_int_equal(files_in(folder), 4);
    ok(weir_checkpoint_merge(missing, 2, to, &lenient));
    check_w(to, 3);
    assert_false(weir_checkpoint_exists(a));
    ok(weir_checkpoint_remove(to));
    assert_int_equal(files_in(folder), 2);
    ok(weir_checkpoint_remove(to)); /* twice does no harm */
    free(a);
    free(b);
    free(gone);
    free(to);
    remove_folder(folder);
}

/* A shard without tensors must not make the result unreadable. */
static void merges_an_empty_shard(void **state)
{
    char folder[64];
    weir_checkpoint_writer *writer = NULL;
    make_folder(folder);
    char *a = path_in(folder, "t/a");
    char *b = path_in(folder, "t/b");
    char *to = path_in(folder, "to");
    const char *both[] = {a, b};
    const weir_checkpoint_merge_options keep = {.keep_folders = true};
    ok(weir_checkpoint_create(a, &writer));
    ok(weir_checkpoint_commit(writer));
    weir_checkpoint_writer_free(writer);
    save_w(b, 4);
    ok(weir_checkpoint_merge(both, 2, to, &keep));
    check_w(to, 4);
    assert_int_equal(files_in(folder), 3); /* index, data, the folder t */
    free(a);
    free(b);
    free(to);
    remove_folder(folder);
}

static void removes_names_special_to_a_glob(void **state)
{
    char folder[64];
    make_folder(folder);
    char *odd = path_in(folder, "c[1]*");
    char *other = path_in(folder, "c1x");
    save_w(odd, 3);
    save_w(other, 4);
    ok(weir_checkpoint_remove(odd));
    check_w(other, 4);
    assert_int_equal(files_in(folder), 2);
    free(odd);
    free(other);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewrites_to_the_byte),
        cmocka_unit_test(example_to_the_byte),
        cmocka_unit_test(blocks_close_at_their_size),
        cmocka_unit_test(strings_and_variants_come_back),
        cmocka_unit_test(pieces_make_other_pieces),
        cmocka_unit_test(refuses_wrong_tensors),
        cmocka_unit_test(refuses_wrong_places),
        cmocka_unit_test(full_disk_leaves_the_old),
        cmocka_unit_test(saves_over_the_old),
        cmocka_unit_test(failed_commit_leaves_the_old),
        cmocka_unit_test(uncommitted_saves_leave_nothing),
        cmocka_unit_test(merges_that_fail),
        cmocka_unit_test(merges_an_empty_shard),
        cmocka_unit_test(removes_names_special_to_a_glob),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
