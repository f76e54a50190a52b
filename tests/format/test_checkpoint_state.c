/*
 * The state file of a folder of checkpoints: TensorFlow's answers to recorded texts, and what is written.
 */
#include "format/checkpoint_test.h"

#include "base/log.h"
#include "format/path.h"

static int warnings;

static void count_lines(void *context, weir_log_level level, const char *file, int line, const char *text)
{
    warnings += level >= WEIR_LOG_WARNING;
}

static void put_index(const char *folder, const char *name)
{
    char *prefix = path_in(folder, name);
    weir_text index = {0};
    weir_checkpoint_index_name(&index, prefix);
    write_whole(weir_text_get(&index), "", 0);
    weir_text_clear(&index);
    free(prefix);
}

static void latest_as_tensorflow(void **state)
{
    static const struct {
        const char *text;
        const char *latest; /* NULL: none */
        const char *error;
    } cases[] = {
        {"model_checkpoint_path: \"model.ckpt-500\"\nall_model_checkpoint_paths: \"model.ckpt-300\"\n"
         "all_model_checkpoint_paths: \"model.ckpt-400\"\nall_model_checkpoint_paths: \"model.ckpt-500\"\n",
         "model.ckpt-500", NULL},
        {"# c\nmodel_checkpoint_path: \"model.ckpt-500\"\n", "model.ckpt-500", NULL},
        {"model_checkpoint_path: 'model.ckpt-500'; all_model_checkpoint_paths: \"model.ckpt-500\",", "model.ckpt-500",
         NULL},
        {"model_checkpoint_path: \"model\" \".ckpt-500\"", "model.ckpt-500", NULL},
        {"model_checkpoint_path: \"\\155odel.ckpt\\x2d500\"", "model.ckpt-500", NULL},
        {"model_checkpoint_path: \"model.ckpt-500\"\nall_model_checkpoint_timestamps: 15.5\n"
         "last_preserved_timestamp: 1e9\n",
         "model.ckpt-500", NULL},
        {"all_model_checkpoint_paths: \"model.ckpt-400\"\nmodel_checkpoint_path: \"model.ckpt-400\"\n",
         "model.ckpt-400", NULL},
        {"model_checkpoint_path: \"model.ckpt-100\"\n", NULL, NULL},
        {"model_checkpoint_path: \"model.ckpt-500\" bogus: 3", NULL, NULL},
        {"model_checkpoint_path \"model.ckpt-500\"", NULL, NULL},
        {"", NULL, "Invalid checkpoint state loaded from "},
        {"all_model_checkpoint_paths: \"model.ckpt-500\"\n", NULL, "Invalid checkpoint state loaded from "},
    };
    char folder[64];
    make_folder(folder);
    char *file = path_in(folder, "checkpoint");
    put_index(folder, "model.ckpt-400");
    put_index(folder, "model.ckpt-500");
    weir_log_to(count_lines, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = NULL;
        warnings = 0;
        write_whole(file, cases[i].text, strlen(cases[i].text));
        weir_status status = weir_checkpoint_latest(folder, NULL, &path);
        if (cases[i].error != NULL) {
            fails_with(status, WEIR_INVALID_ARGUMENT, cases[i].error);
            continue;
        }
        ok(status);
        assert_int_equal(warnings, cases[i].latest == NULL);
        char *expected = cases[i].latest == NULL ? NULL : path_in(folder, cases[i].latest);
        if (expected == NULL)
            assert_null(path);
        else
            assert_string_equal(path, expected);
        free(expected);
        free(path);
    }
    unlink(file);
    char *path = NULL;
    ok(weir_checkpoint_latest(folder, NULL, &path));
    assert_null(path);
    weir_log_to(NULL, NULL);
    free(file);
    remove_folder(folder);
}

static void reads_the_recorded_folder(void **state)
{
    char *path = NULL;
    weir_checkpoint_state *found = NULL;
    ok(weir_checkpoint_latest(CHECKPOINTS "train", NULL, &path));
    assert_string_equal(path, CHECKPOINTS "train/model.ckpt-500");
    free(path);
    ok(weir_checkpoint_state_read(CHECKPOINTS "train", NULL, &found));
    assert_int_equal(found->count, 3);
    assert_string_equal(found->all[0], CHECKPOINTS "train/model.ckpt-300");
    assert_string_equal(found->latest, CHECKPOINTS "train/model.ckpt-500");
    assert_null(found->timestamps);
    weir_checkpoint_state_free(found);
    found = NULL;
    fails_with(weir_checkpoint_state_read(CHECKPOINTS, NULL, &found), WEIR_NOT_FOUND, "checkpoint: No such file");
    fails_with(weir_checkpoint_state_read(CHECKPOINTS, "a/b", &found), WEIR_INVALID_ARGUMENT,
               "'a/b' cannot be the name of a state file");
    assert_null(found);
}

static void check_written(const char *folder, const char *expected)
{
    char *file = path_in(folder, "checkpoint");
    bytes text = read_whole(file);
    assert_string_equal((char *)text.data, expected);
    free(text.data);
    free(file);
}

/* Relative paths of a relative folder lose it; absolute ones stay, or become relative on request. */
static void writes_as_tensorflow(void **state)
{
    char folder[64];
    char working[4096];
    make_folder(folder);
    assert_non_null(getcwd(working, sizeof working));
    assert_int_equal(chdir(folder), 0);
    mkdir("train", 0700);
    const char *relative[] = {"train/m-1", "train/m-2", "/elsewhere/m"};
    ok(weir_checkpoint_state_write("train", "train/m-2", relative, 3, NULL));
    check_written("train", "model_checkpoint_path: \"m-2\"\nall_model_checkpoint_paths: \"m-1\"\n"
                           "all_model_checkpoint_paths: \"m-2\"\nall_model_checkpoint_paths: \"/elsewhere/m\"\n"
                           "all_model_checkpoint_paths: \"m-2\"\n");
    ok(weir_checkpoint_state_write("train", "other/m", NULL, 0, NULL));
    check_written("train", "model_checkpoint_path: \"../other/m\"\nall_model_checkpoint_paths: \"../other/m\"\n");
    char *absolute = path_in(folder, "train/m-7");
    const char *all[] = {absolute};
    ok(weir_checkpoint_state_write(folder, absolute, all, 1, NULL));
    weir_text expected = {0};
    weir_text_append(&expected, "model_checkpoint_path: \"%s\"\nall_model_checkpoint_paths: \"%s\"\n", absolute,
                     absolute);
    check_written(folder, weir_text_get(&expected));
    weir_text_clear(&expected);
    const double times[] = {1.5};
    ok(weir_checkpoint_state_write(folder, absolute, all, 1,
                                   &(weir_checkpoint_state_options){
                                       .relative_paths = true, .timestamps = times, .last_preserved_timestamp = 1e9}));
    check_written(folder, "model_checkpoint_path: \"train/m-7\"\nall_model_checkpoint_paths: \"train/m-7\"\n"
                          "all_model_checkpoint_timestamps: 1.5\nlast_preserved_timestamp: 1000000000.0\n");
    weir_checkpoint_state *found = NULL;
    ok(weir_checkpoint_state_read(folder, NULL, &found));
    assert_string_equal(found->latest, absolute);
    assert_true(found->timestamps[0] == 1.5);
    weir_checkpoint_state_free(found);
    assert_int_equal(files_in(folder), 2);
    assert_int_equal(chdir(working), 0);
    free(absolute);
    remove_folder(folder);
}

static void refuses_its_own_name(void **state)
{
    char folder[64];
    make_folder(folder);
    char *path = path_in(folder, "checkpoint");
    fails_with(weir_checkpoint_state_write(folder, path, NULL, 0, NULL), WEIR_INVALID_ARGUMENT,
               "conflicts with path used for checkpoint state.  Please use a different save path.");
    fails_with(weir_checkpoint_state_write("/no/such", "/x/m", NULL, 0, NULL), WEIR_NOT_FOUND, "/no/such/checkpoint");
    assert_int_equal(files_in(folder), 0);
    free(path);
    remove_folder(folder);
}

static void odd_names_come_back(void **state)
{
    static const char name[] = "/tmp/a \"b\" \\ \xc3\xa9 \xff\n";
    char folder[64];
    weir_checkpoint_state *found = NULL;
    make_folder(folder);
    ok(weir_checkpoint_state_write(folder, name, NULL, 0, NULL));
    ok(weir_checkpoint_state_read(folder, NULL, &found));
    assert_string_equal(found->latest, name);
    weir_checkpoint_state_free(found);
    remove_folder(folder);
}

static void paths(void **state)
{
    static const struct {
        const char *path, *folder, *relative;
    } cases[] = {
        {"/a/b", "/a", "b"},        {"/a/b", "/a/c", "../b"}, {"/a", "/a/b/c", "../.."}, {"/a/b", "/a/b", "."},
        {"/a/./b/../c", "/a", "c"}, {"/", "/", "."},          {"/../a", "/", "a"},       {"x/y", "x", "y"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *relative = NULL;
        ok(weir_path_relative(cases[i].path, cases[i].folder, &relative));
        assert_string_equal(relative, cases[i].relative);
        weir_release(relative);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latest_as_tensorflow), cmocka_unit_test(reads_the_recorded_folder),
        cmocka_unit_test(writes_as_tensorflow), cmocka_unit_test(refuses_its_own_name),
        cmocka_unit_test(odd_names_come_back),  cmocka_unit_test(paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
