/*
 * Saving and restoring through the ops: whole tensors and parts, shards merged into one checkpoint, failures with
 * TensorFlow's texts.
 *
 * Ops: SaveV2 RestoreV2 MergeV2Checkpoints (ShardedFilename has a recorded case)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weir/ops.h>

#include "support/compute.h"
#include "tensor/tensor.h"

#include <cmocka.h>

typedef struct fixture {
    weir_graph *graph;
    weir_scope scope;
    test_session session;
    computation computation;
    char folder[64];
} fixture;

static void open_fixture(fixture *f)
{
    f->graph = weir_graph_new();
    f->scope = weir_root(f->graph);
    test_session_init(&f->session);
    computation_init(&f->computation, f->graph, &f->session);
    strcpy(f->folder, "/tmp/weir_save_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
}

static void close_fixture(fixture *f)
{
    char command[128];
    computation_clear(&f->computation);
    test_session_clear(&f->session);
    weir_graph_free(f->graph);
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    assert_int_equal(system(command), 0);
}

static weir_output text(fixture *f, const char *format, ...)
{
    char value[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    return weir_const(f->scope, WEIR_STRING_OF(value));
}

static weir_output texts(fixture *f, int count, const char *const *values)
{
    weir_tensor *tensor = NULL;
    assert_true(weir_ok(weir_tensor_strings(values, count, &tensor)));
    weir_output output = weir_const_tensor(f->scope, tensor, NULL);
    weir_tensor_free(tensor);
    return output;
}

#define TEXTS(f, ...)                                                                                                  \
    texts((f), (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)), (const char *const[]){__VA_ARGS__})

static weir_status run(fixture *f, weir_node *node)
{
    weir_status status = weir_graph_error(f->graph);
    if (!weir_ok(status))
        print_error("%s\n", weir_status_text(status));
    assert_non_null(node);
    computation_restart(&f->computation);
    return computation_run(&f->computation, node);
}

static void expect_run(fixture *f, weir_node *node)
{
    weir_status status = run(f, node);
    if (!weir_ok(status))
        print_error("%s\n", weir_status_text(status));
    assert_true(weir_ok(status));
}

static weir_node *restore(fixture *f, weir_output prefix, weir_output names, weir_output specs, const weir_dtype *types,
                          int count)
{
    return weir_op(f->scope, "RestoreV2", WEIR_INPUTS(prefix, names, specs),
                   WEIR_ATTRS(WEIR_ATTR_TYPES("dtypes", types, count)));
}

static const weir_dtype float_and_strings[] = {WEIR_FLOAT, WEIR_STRING};

static void test_save_and_restore(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output prefix = text(&f, "%s/model", f.folder);
    weir_output matrix =
        weir_const(f.scope, WEIR_TENSOR_SHAPED(WEIR_FLOAT, WEIR_SHAPE(3, 2), ((float[]){1, 2, 3, 4, 5, 6})));
    weir_output words = TEXTS(&f, "hello", "");
    weir_output names = TEXTS(&f, "m", "w");
    weir_output specs = TEXTS(&f, "", "");
    expect_run(&f, weir_op(f.scope, "SaveV2", WEIR_INPUTS(prefix, names, specs, matrix, words)));
    weir_node *all = restore(&f, prefix, names, specs, float_and_strings, 2);
    expect_run(&f, all);
    weir_tensor *value = NULL;
    assert_true(weir_ok(computation_get(&f.computation, weir_out(all, 0), &value)));
    for (int i = 0; i < 6; i++)
        assert_true(weir_tensor_floats(value)[i] == (float)(i + 1));
    assert_true(weir_ok(computation_get(&f.computation, weir_out(all, 1), &value)));
    assert_string_equal(weir_tensor_get_string(value, 0, NULL), "hello");
    weir_node *part = restore(&f, prefix, TEXTS(&f, "m"), TEXTS(&f, "3 2 1,2:0,1"), float_and_strings, 1);
    char shape[WEIR_SHAPE_TEXT_SIZE];
    assert_string_equal(weir_shape_text(weir_output_shape(weir_out(part, 0)), shape, sizeof shape), "[2,1]");
    expect_run(&f, part);
    assert_true(weir_ok(computation_get(&f.computation, weir_out(part, 0), &value)));
    assert_true(weir_tensor_floats(value)[0] == 3 && weir_tensor_floats(value)[1] == 5);
    close_fixture(&f);
}

/* Parts of one tensor, saved one by one, are one tensor. */
static void test_parts(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output prefix = text(&f, "%s/parts", f.folder);
    weir_output names = TEXTS(&f, "v", "v");
    weir_output specs = TEXTS(&f, "4 0,2", "4 2,2");
    expect_run(&f, weir_op(f.scope, "SaveV2",
                           WEIR_INPUTS(prefix, names, specs, weir_const(f.scope, WEIR_FLOATS(1, 2)),
                                       weir_const(f.scope, WEIR_FLOATS(3, 4)))));
    weir_node *whole = restore(&f, prefix, TEXTS(&f, "v"), TEXTS(&f, ""), float_and_strings, 1);
    expect_run(&f, whole);
    weir_tensor *value = NULL;
    assert_true(weir_ok(computation_get(&f.computation, weir_out(whole, 0), &value)));
    for (int i = 0; i < 4; i++)
        assert_true(weir_tensor_floats(value)[i] == (float)(i + 1));
    close_fixture(&f);
}

/* A sharded save: two shards in a temporary folder, merged, restored. */
static void test_shards(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output base = text(&f, "%s/model_temp/part", f.folder);
    weir_output count = weir_const(f.scope, WEIR_INT32_OF(2));
    weir_output specs = TEXTS(&f, "");
    weir_output prefixes[2];
    for (int shard = 0; shard < 2; shard++) {
        weir_output number = weir_const(f.scope, WEIR_INT32_OF(shard));
        prefixes[shard] = weir_out(weir_op(f.scope, "ShardedFilename", WEIR_INPUTS(base, number, count)), 0);
        weir_output value = weir_const(f.scope, WEIR_FLOATS(shard + 1, shard + 2));
        weir_output names = shard == 0 ? TEXTS(&f, "a") : TEXTS(&f, "b");
        expect_run(&f, weir_op(f.scope, "SaveV2", WEIR_INPUTS(prefixes[shard], names, specs, value)));
    }
    weir_output all = weir_stack(f.scope, WEIR_OUTPUTS(prefixes[0], prefixes[1]), 0);
    weir_output destination = text(&f, "%s/model", f.folder);
    expect_run(&f, weir_op(f.scope, "MergeV2Checkpoints", WEIR_INPUTS(all, destination)));
    weir_dtype types[] = {WEIR_FLOAT, WEIR_FLOAT};
    weir_node *both = restore(&f, destination, TEXTS(&f, "b", "a"), TEXTS(&f, "", ""), types, 2);
    expect_run(&f, both);
    weir_tensor *value = NULL;
    assert_true(weir_ok(computation_get(&f.computation, weir_out(both, 0), &value)));
    assert_true(weir_tensor_floats(value)[0] == 2);
    assert_true(weir_ok(computation_get(&f.computation, weir_out(both, 1), &value)));
    assert_true(weir_tensor_floats(value)[0] == 1);
    char path[128];
    snprintf(path, sizeof path, "%s/model_temp", f.folder);
    assert_int_not_equal(access(path, F_OK), 0); /* the shards' folder is gone */
    close_fixture(&f);
}

static void expect_failure(fixture *f, weir_node *node, weir_code code, const char *words)
{
    weir_status status = run(f, node);
    if (weir_ok(status) || strstr(weir_status_text(status), words) == NULL)
        print_error("'%s' instead of '%s'\n", weir_ok(status) ? "" : weir_status_text(status), words);
    assert_int_equal(status.code, code);
    assert_non_null(strstr(weir_status_text(status), words));
}

static weir_output unknown_texts(fixture *f, weir_tensor **kept, int count, const char *const *values)
{
    weir_output output = weir_placeholder(f->scope, WEIR_STRING, weir_shape_unknown());
    assert_true(weir_ok(weir_tensor_strings(values, count, kept)));
    return output;
}

static void test_failures(void **state)
{
    fixture f;
    open_fixture(&f);
    weir_output prefix = text(&f, "%s/a", f.folder);
    weir_output one = weir_const(f.scope, WEIR_FLOAT_OF(1));
    weir_output names = TEXTS(&f, "x", "y");
    weir_output specs = TEXTS(&f, "", "");
    weir_dtype ints[] = {WEIR_INT32, WEIR_INT32};
    weir_dtype floats[] = {WEIR_FLOAT, WEIR_FLOAT};
    expect_run(
        &f, weir_op(f.scope, "SaveV2", WEIR_INPUTS(prefix, names, specs, one, weir_const(f.scope, WEIR_FLOATS(2, 3)))));
    expect_failure(&f, restore(&f, prefix, TEXTS(&f, "x", "z"), specs, floats, 2), WEIR_NOT_FOUND,
                   "Key z not found in checkpoint");
    expect_failure(&f, restore(&f, prefix, names, specs, ints, 2), WEIR_INVALID_ARGUMENT,
                   "tensor_name = x; expected dtype int32 does not equal original dtype float\n"
                   "tensor_name = y; expected dtype int32 does not equal original dtype float");
    expect_failure(&f, restore(&f, text(&f, "%s/nope", f.folder), names, specs, floats, 2), WEIR_NOT_FOUND,
                   "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for");
    weir_tensor *three = NULL;
    weir_output fed = unknown_texts(&f, &three, 3, (const char *const[]){"x", "y", "z"});
    weir_node *save = weir_op(f.scope, "SaveV2", WEIR_INPUTS(prefix, fed, fed, one));
    weir_node *merge = weir_op(f.scope, "MergeV2Checkpoints", WEIR_INPUTS(fed, prefix));
    weir_node *got = restore(&f, prefix, fed, fed, floats, 2);
    computation_restart(&f.computation);
    computation_feed(&f.computation, fed, three);
    weir_status status = computation_run(&f.computation, save);
    assert_string_equal(weir_status_text(status), "Got 3 tensor names but 1 tensors.");
    status = computation_run(&f.computation, got);
    assert_string_equal(weir_status_text(status), "Got 3 tensor names but 2 expected dtypes.");
    status = computation_run(&f.computation, merge);
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    weir_tensor_free(three);
    assert_null(restore(&f, prefix, names, TEXTS(&f, ""), floats, 2));
    status = weir_graph_take_error(f.graph);
    assert_non_null(strstr(weir_status_text(status), "Dimension 0 in both shapes must be equal, but are 2 and 1."));
    assert_null(restore(&f, prefix, TEXTS(&f, "y"), TEXTS(&f, "2 0,5"), floats, 1));
    status = weir_graph_take_error(f.graph);
    assert_non_null(strstr(weir_status_text(status), "Extent in dimension 0 out of bounds: shape = [2], slice = 0,5"));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_save_and_restore),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests_name("save", tests, NULL, NULL);
}
