/*
 * Every fuzz target over its seeds and a short deterministic run of changes to them. Longer runs, with libFuzzer:
 * README.md.
 *
 * test: timeout=600
 */
#include "format/format_test.h"

#include "fuzz/mutate.h"

#define FUZZ_ALL_TARGETS
#include "fuzz/fuzz_checkpoint.c"
#include "fuzz/fuzz_graph.c"
#include "fuzz/fuzz_idx.c"
#include "fuzz/fuzz_text.c"

/* first: a byte put before the file, 0 for none. */
static void run_file(fuzz_target *target, const char *path, uint8_t first, int rounds)
{
    bytes file = read_whole(path);
    uint8_t *seed = malloc(file.length + 1);
    size_t start = first != 0;
    seed[0] = first;
    for (size_t i = 0; i < file.length; i++)
        seed[start + i] = file.data[i];
    fuzz_mutate(target, seed, start + file.length, rounds);
    free(seed);
    free(file.data);
}

static void run_hex(fuzz_target *target, const char *hex, int rounds)
{
    bytes seed = from_hex(hex);
    fuzz_mutate(target, seed.data, seed.length, rounds);
    free(seed.data);
}

static void graphs(void **state)
{
    run_file(fuzz_graph, DATA "graphs/attr_forms.pb", 0, 3000);
    run_file(fuzz_graph, DATA "graphs/function.pb", 0, 3000);
    run_file(fuzz_graph, DATA "graphs/frozen.pb", 0, 2000);
    run_file(fuzz_graph, DATA "graphs/mlp.meta", 0xf9, 50);
    run_hex(fuzz_graph, "fa22072f6a6f623a70733202200138010a070a034750551000", 3000);
    run_hex(fuzz_graph, "fb080112081202080a120208043a080a0210050a0210043a0a0a04080510050a021004", 3000);
    run_hex(fuzz_graph, "fd080712041202080222050201616263", 5000);
    run_hex(fuzz_graph, "fd081312041202080222047856341201", 5000);
    run_hex(fuzz_graph,
            "fd0815120412020802"
            "7a060a015412016d",
            5000);
    run_hex(fuzz_graph, "0a172a1512060a041a02010212060a041a0203041203120178", 5000); /* values that must be merged */
}

static void texts(void **state)
{
    run_file(fuzz_text, DATA "graphs/attr_forms.pbtxt", 0, 2000);
    run_file(fuzz_text, DATA "graphs/attr_forms_loose.pbtxt", 0, 20000);
    run_file(fuzz_text, DATA "checkpoints/train/checkpoint", 0, 5000);
}

static void checkpoints(void **state)
{
    run_file(fuzz_checkpoint, DATA "checkpoints/small.index", 0, 2000);
    run_file(fuzz_checkpoint, DATA "checkpoints/grid.index", 'b', 3000); /* with what follows the block */
    run_hex(fuzz_checkpoint,
            "62"
            "0000060801"
            "1a02080100"
            "0b0b676c6f62616c5f73746570080912002808"
            "35bbd79f11"
            "00011177080112041202080220082808"
            "35593ce535"
            "00000000"
            "01000000",
            5000);
    run_hex(fuzz_checkpoint,
            "73"
            "100c"
            "0000060801"
            "1a02080100"
            "00000001000000",
            3000);
    run_hex(fuzz_checkpoint, "64070200031b428bca616278797a", 5000);
    run_hex(fuzz_checkpoint,
            "7031302034"
            "20302c353a2d",
            5000);
    run_hex(fuzz_checkpoint, "790b0461621502", 5000);
}

static void idx_files(void **state)
{
    run_hex(fuzz_idx, "000008030000000200000002000000020102030405060708", 3000);
    run_hex(fuzz_idx, "00000801000000040102030400", 3000);
    /* the second, compressed */
    run_hex(fuzz_idx, "1f8b08000000000002ff6360e06064606060616462660100c910811d0c000000", 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs),
        cmocka_unit_test(texts),
        cmocka_unit_test(checkpoints),
        cmocka_unit_test(idx_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
