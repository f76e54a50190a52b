/*
 * Damaged graphs: a short fuzzing run of imports, the same one every time, with changes to bytes and to messages. Longer
 * ones of the first kind: tests/fuzz/README.md; of the second kind: -DROUNDS=100000.
 *
 * test: timeout=600
 */
#include "graph_test.h"

#include "fuzz/mutate.h"

#define FUZZ_ALL_TARGETS
#include "fuzz/fuzz_import.c"

#ifndef ROUNDS
#define ROUNDS 1000 /* for each file */
#endif

#define GRAPHS WEIR_TEST_SOURCE_DIR "/tests/format/data/graphs/"

static void run_file(const char *name, int rounds)
{
    char path[512];
    snprintf(path, sizeof path, GRAPHS "%s", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *seed = malloc(1 << 17);
    size_t size = fread(seed, 1, 1 << 17, file);
    fclose(file);
    fuzz_mutate(fuzz_import, seed, size, rounds);
    free(seed);
}

static void run_text(const char *text, int rounds)
{
    weir_graph *graph = weir_graph_new();
    weir_import_options options = {.size = sizeof options, .is_text = true};
    void *bytes = NULL;
    size_t size = 0;
    status_ok(weir_graph_import(weir_root(graph), text, strlen(text), &options));
    status_ok(weir_graph_export(graph, &bytes, &size));
    fuzz_mutate(fuzz_import, bytes, size, rounds);
    free(bytes);
    weir_graph_free(graph);
}

static void files(void **state)
{
    run_file("frozen.pb", 3000);
    run_file("function.pb", 1000);
    run_file("mlp.pb", 300);
    run_file("cnn.pb", 300);
    run_file("mlp_stripped.pb", 200);
}

#define T "attr { key: 'T' value { type: DT_FLOAT } } "
#define X "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"

static void small_graphs(void **state)
{
    run_text(X "node { name: 'e' op: 'Enter' input: 'x' " T "attr { key: 'frame_name' value { s: 'f' } } }"
               "node { name: 'm' op: 'Merge' input: 'e' input: 'n' " T "attr { key: 'N' value { i: 2 } } }"
               "node { name: 'n' op: 'NextIteration' input: 'm' " T "}",
             20000);
    run_text(X "node { name: 's' op: 'Shape' input: 'x' " T "}"
               "node { name: 'r' op: 'Reshape' input: 'x' input: 's' " T "}"
               "node { name: 'p' op: 'Pack' input: 'r' input: 'r' " T "attr { key: 'N' value { i: 2 } } }"
               "node { name: 'u' op: 'Unpack' input: 'p' " T "attr { key: 'num' value { i: 2 } } }"
               "node { name: 'a' op: 'AddN' input: 'u' input: 'u:1' " T "attr { key: 'N' value { i: 2 } } }",
             20000);
}

/* ---- Well-formed messages that make no sense ---- */

static char *pick_op(uint64_t *state)
{
    size_t ops = 0;
    for (const weir_op_family *const *family = weir_op_families; *family != NULL; family++) {
        for (const weir_op_def *op = (*family)->ops; op->name != NULL; op++)
            ops++;
    }
    size_t chosen = fuzz_below(state, ops);
    for (const weir_op_family *const *family = weir_op_families; *family != NULL; family++) {
        for (const weir_op_def *op = (*family)->ops; op->name != NULL; op++) {
            if (chosen-- == 0)
                return (char *)op->name;
        }
    }
    return "NoOp";
}

static int64_t pick_number(uint64_t *state)
{
    static const int64_t numbers[] = {0, 1, 2, 3, -1, -2, 4, 7, 100, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return numbers[fuzz_below(state, sizeof numbers / sizeof *numbers)];
}

static weir_dtype pick_type(uint64_t *state)
{
    static const int types[] = {WEIR_FLOAT,  WEIR_DOUBLE, WEIR_INT32, WEIR_INT64,    WEIR_BOOL,
                                WEIR_STRING, WEIR_HALF,   WEIR_UINT8, WEIR_RESOURCE, WEIR_VARIANT,
                                0,           77,          101,        WEIR_COMPLEX64};
    return (weir_dtype)types[fuzz_below(state, sizeof types / sizeof *types)];
}

static void change_shape(uint64_t *state, Weir__TensorShapeProto *shape, weir_arena *arena)
{
    if (fuzz_below(state, 4) == 0)
        shape->unknown_rank = !shape->unknown_rank;
    if (shape->n_dim > 0 && fuzz_below(state, 3) == 0)
        shape->n_dim--;
    if (shape->n_dim > 0)
        shape->dim[fuzz_below(state, shape->n_dim)]->size = pick_number(state);
    Weir__TensorShapeProto__Dim *dim = weir_message_new(arena, &weir__tensor_shape_proto__dim__descriptor);
    Weir__TensorShapeProto__Dim **grown = weir_arena_take(arena, shape->n_dim + 1, sizeof *grown);
    if (fuzz_below(state, 3) != 0 || dim == NULL || grown == NULL)
        return;
    for (size_t i = 0; i < shape->n_dim; i++)
        grown[i] = shape->dim[i];
    dim->size = pick_number(state);
    grown[shape->n_dim++] = dim;
    shape->dim = grown;
}

static void change_value(uint64_t *state, Weir__AttrValue *value, weir_arena *arena)
{
    switch (value->value_case) {
    case WEIR__ATTR_VALUE__VALUE_I:
        value->i = pick_number(state);
        return;
    case WEIR__ATTR_VALUE__VALUE_B:
        value->b = !value->b;
        return;
    case WEIR__ATTR_VALUE__VALUE_TYPE:
        value->type = (Weir__DataType)pick_type(state);
        return;
    case WEIR__ATTR_VALUE__VALUE_SHAPE:
        change_shape(state, value->shape, arena);
        return;
    case WEIR__ATTR_VALUE__VALUE_TENSOR:
        if (value->tensor->tensor_shape != NULL)
            change_shape(state, value->tensor->tensor_shape, arena);
        if (value->tensor->n_int_val > 0)
            value->tensor->int_val[0] = (int32_t)pick_number(state);
        return;
    case WEIR__ATTR_VALUE__VALUE_LIST:
        if (value->list->n_i > 0)
            value->list->i[fuzz_below(state, value->list->n_i)] = pick_number(state);
        if (value->list->n_i > 0 && fuzz_below(state, 4) == 0)
            value->list->n_i--;
        return;
    default:
        value->value_case = WEIR__ATTR_VALUE__VALUE__NOT_SET;
    }
}

static void change_input(uint64_t *state, const Weir__GraphDef *graph, Weir__NodeDef *node, weir_arena *arena)
{
    const char *name = graph->node[fuzz_below(state, graph->n_node)]->name;
    char *input =
        weir_arena_format(arena, "%s%s:%zu", fuzz_below(state, 8) == 0 ? "^" : "", name, fuzz_below(state, 2));
    char **grown = weir_arena_take(arena, node->n_input + 1, sizeof *grown);
    if (input == NULL || grown == NULL)
        return;
    for (size_t i = 0; i < node->n_input; i++)
        grown[i] = node->input[i];
    node->input = grown;
    if (node->n_input > 0 && fuzz_below(state, 8) != 0)
        node->input[fuzz_below(state, node->n_input)] = input;
    else
        node->input[node->n_input++] = input;
}

static void change_node(uint64_t *state, const Weir__GraphDef *graph, weir_arena *arena)
{
    Weir__NodeDef *node = graph->node[fuzz_below(state, graph->n_node)];
    Weir__NodeDef__AttrEntry *entry = node->n_attr > 0 ? node->attr[fuzz_below(state, node->n_attr)] : NULL;
    switch (fuzz_below(state, 8)) {
    case 0:
        node->op = pick_op(state);
        return;
    case 1:
    case 2:
        change_input(state, graph, node, arena);
        return;
    case 3:
        if (node->n_input > 0)
            node->n_input--;
        return;
    case 4:
        if (node->n_attr > 0 && fuzz_below(state, 4) == 0)
            node->n_attr--;
        return;
    default:
        if (entry != NULL)
            change_value(state, entry->value, arena);
    }
}

/* Without the summary that only writes logs where there is no such op. */
static void drop_summaries(Weir__GraphDef *graph)
{
    size_t kept = 0;
    for (size_t i = 0; i < graph->n_node; i++) {
        if (strcmp(graph->node[i]->op, "ScalarSummary") != 0 || weir_op_find("ScalarSummary") != NULL)
            graph->node[kept++] = graph->node[i];
    }
    graph->n_node = kept;
}

static bool run_changed(uint64_t *state, const uint8_t *seed, size_t size)
{
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    void *packed = NULL;
    size_t length = 0;
    bool went_in = false;
    status_ok(weir_message_unpack(&weir__graph_def__descriptor, seed, size, &arena, &message));
    drop_summaries((Weir__GraphDef *)message);
    for (size_t changes = 1 + fuzz_below(state, 4); changes > 0; changes--)
        change_node(state, (const Weir__GraphDef *)message, &arena);
    if (weir_ok(weir_message_pack(message, &packed, &length))) {
        fuzz_import(packed, length);
        weir_graph *graph = weir_graph_new();
        went_in =
            !has_huge_constants(packed, length) && weir_ok(weir_graph_import(weir_root(graph), packed, length, NULL));
        weir_graph_free(graph);
    }
    free(packed);
    weir_arena_clear(&arena);
    return went_in;
}

static void changed_graphs(void **state)
{
    static const char *const names[] = {"frozen.pb", "mlp.pb", "cnn.pb", "mlp_stripped.pb"};
    uint64_t random = 0x9e3779b97f4a7c15ULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        snprintf(path, sizeof path, GRAPHS "%s", names[i]);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        uint8_t *seed = malloc(1 << 17);
        size_t size = fread(seed, 1, 1 << 17, file);
        fclose(file);
        int went_in = 0;
        for (int round = 0; round < ROUNDS; round++)
            went_in += run_changed(&random, seed, size);
        assert_in_range(went_in, ROUNDS / 50, ROUNDS - ROUNDS / 50); /* enough of both kinds */
        free(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),
        cmocka_unit_test(small_graphs),
        cmocka_unit_test(changed_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
