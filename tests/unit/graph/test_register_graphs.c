/*
 * The graphs that TensorFlow's masters sent to workers: partitions with full devices, internal ops and names, control flow.
 * tests/run/record/register_graphs.py says where they come from.
 */
#include "graph_test.h"

#include <zlib.h>

#define FILE_NAME WEIR_TEST_SOURCE_DIR "/tests/run/data/register_graphs.bin.gz"

typedef struct reader {
    gzFile file;
} reader;

static void read_bytes(reader *reader, void *bytes, uint32_t size)
{
    assert_int_equal(gzread(reader->file, bytes, size), (int)size);
}

static uint32_t read_number(reader *reader)
{
    uint8_t bytes[4];
    read_bytes(reader, bytes, 4);
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static char *read_block(reader *reader, uint32_t *size)
{
    *size = read_number(reader);
    assert_true(*size < 1 << 20);
    char *block = calloc(*size + 1, 1);
    read_bytes(reader, block, *size);
    return block;
}

/* What Weir writes of the graph goes in again. */
static void goes_out_and_in(const char *name, weir_graph *graph)
{
    void *bytes = NULL;
    size_t size = 0;
    status_ok(weir_graph_export(graph, &bytes, &size));
    weir_graph *again = weir_graph_new();
    weir_status status = weir_graph_import(weir_root(again), bytes, size, NULL);
    if (!weir_ok(status))
        fail_msg("%s, exported: %s", name, weir_status_text(status));
    assert_int_equal(weir_graph_num_nodes(again), weir_graph_num_nodes(graph));
    weir_graph_free(again);
    free(bytes);
}

/* Those that TensorFlow refused were refused for their session or devices; as graphs they are well formed, too. */
static void graphs_for_workers_go_in(void **state)
{
    reader reader = {.file = gzopen(FILE_NAME, "rb")};
    assert_non_null(reader.file);
    char magic[4];
    read_bytes(&reader, magic, 4);
    assert_memory_equal(magic, "WRG1", 4);
    uint32_t count = read_number(&reader);
    int accepted = 0;
    int failed = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = 0;
        char *name = read_block(&reader, &size);
        uint32_t answer = read_number(&reader);
        char *bytes = read_block(&reader, &size);
        weir_graph *graph = weir_graph_new();
        weir_status status = weir_graph_import(weir_root(graph), bytes, size, NULL);
        if (answer == 0 && !weir_ok(status)) {
            print_error("%s: %s\n", name, weir_status_text(status));
            failed++;
        }
        if (weir_ok(status))
            goes_out_and_in(name, graph);
        accepted += answer == 0;
        weir_graph_free(graph);
        free(bytes);
        free(name);
    }
    gzclose(reader.file);
    assert_int_equal(failed, 0);
    assert_int_equal(count, 168);
    assert_int_equal(accepted, 161);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_for_workers_go_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
