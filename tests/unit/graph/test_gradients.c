/*
 * Gradients node by node as TensorFlow 2.21 makes them: the forward part of recorded graphs is imported, differentiated, and
 * what the results depend on is compared by name, op, inputs, device and attributes. record_gradients.py makes the cases.
 */
#include "graph_test.h"

#include <zlib.h>

#include <weir/gradients.h>

#include "format/message.h"
#include "format/tensor_proto.h"
#include "proto/graph.pb-c.h"
#include "tensor/tensor.h"

#define FILE_NAME WEIR_TEST_SOURCE_DIR "/tests/unit/graph/data/gradients.bin.gz"
#define MOST 16 /* ys or xs */

/* ---- Recorded cases ---- */

typedef struct recorded {
    char *name;
    char *options;
    char *before;
    char *ys, *xs, *given, *stops; /* names, one a line; "-": none */
    char *results;
    char *graph;
    uint32_t graph_size;
    weir_arena arena;
    Weir__GraphDef *after;
    weir_map nodes; /* of after, by name */
} recorded;

static bool read_block(gzFile file, char **block, uint32_t *size)
{
    uint8_t bytes[4];
    if (gzread(file, bytes, 4) != 4)
        return false;
    *size = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    assert_true(*size < 1 << 20);
    *block = calloc(*size + 1, 1);
    assert_int_equal(gzread(file, *block, *size), (int)*size);
    return true;
}

static bool read_case(gzFile file, recorded *read)
{
    uint32_t size = 0;
    char **const texts[] = {&read->options, &read->before, &read->ys,     &read->xs,
                            &read->given,   &read->stops,  &read->results};
    if (!read_block(file, &read->name, &size))
        return false;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(read_block(file, texts[i], &size));
    assert_true(read_block(file, &read->graph, &read->graph_size));
    ProtobufCMessage *message = NULL;
    status_ok(weir_message_unpack(&weir__graph_def__descriptor, read->graph, read->graph_size, &read->arena, &message));
    read->after = (Weir__GraphDef *)message;
    for (size_t i = 0; i < read->after->n_node; i++) {
        Weir__NodeDef *node = read->after->node[i];
        status_ok(weir_map_put(&read->nodes, node->name, strlen(node->name), node));
    }
    return true;
}

static void free_case(recorded *read)
{
    char *const texts[] = {read->name,  read->options, read->before,  read->ys,   read->xs,
                           read->given, read->stops,   read->results, read->graph};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    weir_map_clear(&read->nodes);
    weir_arena_clear(&read->arena);
}

/* The case of a name; free_case. */
static recorded find_case(const char *name)
{
    gzFile file = gzopen(FILE_NAME, "rb");
    assert_non_null(file);
    recorded read = {0};
    while (read_case(file, &read)) {
        if (strcmp(read.name, name) == 0) {
            gzclose(file);
            return read;
        }
        free_case(&read);
        read = (recorded){0};
    }
    fail_msg("no case '%s' in %s", name, FILE_NAME);
    abort(); /* not reached */
}

/* The first nodes of the recorded graph. */
static void import_forward(weir_graph *graph, const recorded *read)
{
    assert_non_null(read->after);
    Weir__GraphDef forward = *read->after;
    void *bytes = NULL;
    size_t size = 0;
    forward.n_node = strtoul(read->before, NULL, 10);
    status_ok(weir_message_pack(&forward.base, &bytes, &size));
    status_ok(weir_graph_import(weir_root(graph), bytes, size, NULL));
    assert_int_equal(weir_graph_num_nodes(graph), forward.n_node);
    free(bytes);
}

/* Outputs of names, one a line; returns how many. */
static int find_outputs(weir_graph *graph, const char *names, weir_output outputs[MOST])
{
    int count = 0;
    char *copy = strdup(names);
    char *rest = NULL;
    for (char *name = strtok_r(copy, "\n", &rest); name != NULL; name = strtok_r(NULL, "\n", &rest)) {
        assert_true(count < MOST);
        outputs[count] = WEIR_NO_OUTPUT;
        if (strcmp(name, "-") != 0)
            status_ok(weir_graph_find_output(graph, name, &outputs[count]));
        count++;
    }
    free(copy);
    return count;
}

static void differentiate(weir_graph *graph, const recorded *read, weir_gradient_value gradients[MOST], int *num_xs)
{
    weir_output ys[MOST];
    weir_output xs[MOST];
    weir_output given[MOST];
    weir_output stops[MOST];
    weir_node *stop_nodes[MOST];
    int num_ys = find_outputs(graph, read->ys, ys);
    *num_xs = find_outputs(graph, read->xs, xs);
    find_outputs(graph, read->given, given);
    int num_stops = find_outputs(graph, read->stops, stops);
    for (int i = 0; i < num_stops; i++)
        stop_nodes[i] = stops[i].node;
    weir_scope s = weir_root(graph);
    const char *device = strstr(read->options, "device=");
    if (device != NULL)
        s = weir_on_device(s, "%s", device + strlen("device="));
    weir_gradients_options options = {.size = sizeof options,
                                      .grad_ys = given,
                                      .stops = stop_nodes,
                                      .num_stops = num_stops,
                                      .gate = strstr(read->options, "gate") != NULL,
                                      .colocate = strstr(read->options, "colocate") != NULL};
    weir_gradients(s, ys, num_ys, xs, *num_xs, &options, gradients);
    graph_is_ok(graph);
}

/* ---- Comparison ---- */

typedef struct comparison {
    const recorded *read;
    const Weir__GraphDef *ours;
    weir_map nodes; /* of ours, by name */
    weir_map seen;  /* names that were compared or wait for it */
    WEIR_LIST(const char *) open;
    weir_arena arena;
    weir_text differences;
} comparison;

#define DIFFERS(...) weir_text_append(&c->differences, "\n        " __VA_ARGS__)

/* Notes a node that an input "a:1" or "^a" names. */
static void visit(comparison *c, const char *input)
{
    int index = 0;
    const char *start = input + (input[0] == '^');
    size_t length = weir_split_output_name(start, &index);
    char *name = weir_arena_text(&c->arena, start, length);
    if (weir_map_get(&c->seen, name, length) != NULL)
        return;
    status_ok(weir_map_put(&c->seen, name, length, name));
    status_ok(weir_list_add(&c->open, name));
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Inputs in order, then control inputs sorted: TensorFlow writes them so. */
static char *inputs_text(comparison *c, const Weir__NodeDef *node)
{
    size_t count = node->n_input;
    size_t data = 0;
    char **inputs = weir_arena_take(&c->arena, count, sizeof *inputs);
    weir_text text = {0};
    if (count > 0)
        memcpy(inputs, node->input, count * sizeof *inputs);
    while (data < count && inputs[data][0] != '^')
        data++;
    qsort(inputs + data, count - data, sizeof *inputs, compare_texts);
    for (size_t i = 0; i < count; i++)
        weir_text_append(&text, " %s", inputs[i]);
    char *copy = weir_arena_text(&c->arena, weir_text_get(&text), text.length);
    weir_text_clear(&text);
    return copy;
}

static void compare_inputs(comparison *c, const Weir__NodeDef *theirs, const Weir__NodeDef *ours)
{
    const char *have = inputs_text(c, ours);
    const char *want = inputs_text(c, theirs);
    if (strcmp(have, want) != 0)
        DIFFERS("%s (%s) has inputs%s, not%s", theirs->name, theirs->op, have, want);
}

static bool is_same_tensor(const Weir__TensorProto *a, const Weir__TensorProto *b)
{
    WEIR_AUTO(weir_tensor) *first = NULL;
    WEIR_AUTO(weir_tensor) *second = NULL;
    status_ok(weir_tensor_from_proto(a, &first));
    status_ok(weir_tensor_from_proto(b, &second));
    return first->dtype == second->dtype && weir_shape_equal(first->shape, second->shape) &&
           memcmp(first->data, second->data, first->size_bytes) == 0;
}

static bool is_same_value(comparison *c, const Weir__AttrValue *a, const Weir__AttrValue *b)
{
    ProtobufCBinaryData first = {0};
    ProtobufCBinaryData second = {0};
    if (a->value_case == WEIR__ATTR_VALUE__VALUE_TENSOR && b->value_case == a->value_case)
        return is_same_tensor(a->tensor, b->tensor);
    status_ok(weir_message_pack_in(&a->base, &c->arena, &first));
    status_ok(weir_message_pack_in(&b->base, &c->arena, &second));
    return first.len == second.len && memcmp(first.data, second.data, first.len) == 0;
}

static const Weir__AttrValue *find_attr(const Weir__NodeDef *node, const char *key)
{
    for (size_t i = 0; i < node->n_attr; i++) {
        if (strcmp(node->attr[i]->key, key) == 0)
            return node->attr[i]->value;
    }
    return NULL;
}

static void compare_attrs(comparison *c, const Weir__NodeDef *theirs, const Weir__NodeDef *ours)
{
    for (size_t i = 0; i < theirs->n_attr; i++) {
        const char *key = theirs->attr[i]->key;
        if (strcmp(key, "_has_manual_control_dependencies") == 0) /* a note of TensorFlow's for itself */
            continue;
        const Weir__AttrValue *value = find_attr(ours, key);
        if (value == NULL || !is_same_value(c, theirs->attr[i]->value, value))
            DIFFERS("%s (%s) has another %s", theirs->name, theirs->op, key);
    }
    if (find_attr(ours, "_class") != NULL && find_attr(theirs, "_class") == NULL)
        DIFFERS("%s (%s) is colocated", theirs->name, theirs->op);
}

static void compare_node(comparison *c, const char *name)
{
    const Weir__NodeDef *theirs = weir_map_get(&c->read->nodes, name, strlen(name));
    const Weir__NodeDef *ours = weir_map_get(&c->nodes, name, strlen(name));
    if (theirs == NULL || ours == NULL) {
        DIFFERS("%s is %s", name, theirs == NULL ? "not TensorFlow's" : "missing");
        return;
    }
    if (strncmp(name, "gradients", strlen("gradients")) != 0)
        return; /* of the forward part */
    if (strcmp(theirs->op, ours->op) != 0)
        DIFFERS("%s is %s, not %s", name, ours->op, theirs->op);
    if (strcmp(theirs->device, ours->device) != 0)
        DIFFERS("%s (%s) is on '%s', not '%s'", name, ours->op, ours->device, theirs->device);
    compare_inputs(c, theirs, ours);
    compare_attrs(c, theirs, ours);
    for (size_t i = 0; i < theirs->n_input; i++)
        visit(c, theirs->input[i]);
}

static void append_name(weir_text *text, weir_output output)
{
    weir_text_append(text, "%s:%d", weir_node_name(output.node), output.index);
}

static void compare_results(comparison *c, const weir_gradient_value *gradients, int count)
{
    weir_text text = {0};
    for (int i = 0; i < count; i++) {
        weir_text_append(&text, "%s", i > 0 ? "\n" : "");
        if (gradients[i].values.node == NULL) {
            weir_text_append(&text, "-");
            continue;
        }
        append_name(&text, gradients[i].values);
        if (gradients[i].indices.node != NULL) {
            weir_text_append(&text, " ");
            append_name(&text, gradients[i].indices);
            weir_text_append(&text, " ");
            append_name(&text, gradients[i].dense_shape);
        }
    }
    if (strcmp(weir_text_get(&text), c->read->results) != 0)
        DIFFERS("results are\n%s\n        not\n%s", weir_text_get(&text), c->read->results);
    weir_text_clear(&text);
    char *copy = weir_arena_text(&c->arena, c->read->results, strlen(c->read->results));
    char *rest = NULL;
    for (char *name = strtok_r(copy, "\n ", &rest); name != NULL; name = strtok_r(NULL, "\n ", &rest)) {
        if (strcmp(name, "-") != 0)
            visit(c, name);
    }
}

static void start_comparison(comparison *c, weir_graph *graph, const recorded *read)
{
    void *bytes = NULL;
    size_t size = 0;
    ProtobufCMessage *message = NULL;
    *c = (comparison){.read = read};
    status_ok(weir_graph_export(graph, &bytes, &size));
    status_ok(weir_message_unpack(&weir__graph_def__descriptor, bytes, size, &c->arena, &message));
    free(bytes);
    c->ours = (const Weir__GraphDef *)message;
    for (size_t i = 0; i < c->ours->n_node; i++) {
        Weir__NodeDef *node = c->ours->node[i];
        status_ok(weir_map_put(&c->nodes, node->name, strlen(node->name), node));
    }
}

static void check_case(const char *name)
{
    recorded read = find_case(name);
    weir_graph *graph = weir_graph_new();
    weir_gradient_value gradients[MOST];
    int num_xs = 0;
    import_forward(graph, &read);
    differentiate(graph, &read, gradients, &num_xs);
    comparison c;
    start_comparison(&c, graph, &read);
    compare_results(&c, gradients, num_xs);
    for (size_t i = 0; i < c.open.count; i++)
        compare_node(&c, c.open.items[i]);
    if (c.differences.length > 0)
        print_error("        %s:%s\n", name, weir_text_get(&c.differences));
    bool differs = c.differences.length > 0;
    weir_text_clear(&c.differences);
    weir_map_clear(&c.nodes);
    weir_map_clear(&c.seen);
    weir_list_clear(&c.open);
    weir_arena_clear(&c.arena);
    weir_graph_free(graph);
    free_case(&read);
    assert_false(differs);
}

#define CASE(name)                                                                                                     \
    static void gradients_of_##name(void **state)                                                                      \
    {                                                                                                                  \
        check_case(#name);                                                                                             \
    }

CASE(mlp)
CASE(mlp_of_any_batch)
CASE(cnn)
CASE(batch_norm)
CASE(sums_by_device)
CASE(sums_without_colocation)
CASE(sum_of_four)
CASE(rows)
CASE(rows_twice)
CASE(rows_and_dense)
CASE(given_and_stopped)
CASE(itself_and_nothing)
CASE(through_integers)
CASE(x_within)
CASE(shared_weights)
CASE(lstm_step)
CASE(moving_around)
CASE(unused_output)
CASE(conditional)
CASE(exotic_functions)

/* ---- What no recording shows ---- */

static weir_output gradient_of(weir_scope s, weir_output y, weir_output x)
{
    weir_gradient_value gradient;
    weir_gradients(s, &y, 1, &x, 1, NULL, &gradient);
    return gradient.values;
}

static weir_output placeholder(weir_scope s, weir_dtype dtype, const char *name)
{
    return weir_placeholder(s, dtype, WEIR_SHAPE(4), .name = name);
}

static void an_op_without_gradient_is_named(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output x = placeholder(s, WEIR_FLOAT, "x");
    weir_output v = weir_variable_v2(s, WEIR_FLOAT, WEIR_SHAPE(4), .name = "v");
    weir_output y =
        weir_out(weir_op(s, "ApplyGradientDescent", WEIR_INPUTS(v, constant(s, "rate"), x), .name = "u"), 0);
    assert_null(gradient_of(s, y, x).node);
    graph_failed(*state, WEIR_NOT_FOUND, "No gradient defined for operation 'u' (op type: ApplyGradientDescent)");
}

static void ops_that_are_not_differentiable_end_gradients(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output x = placeholder(s, WEIR_FLOAT, "x");
    assert_null(gradient_of(s, weir_stop_gradient(s, x), x).node);
    assert_null(gradient_of(s, weir_cast(s, weir_greater(s, x, x), WEIR_FLOAT), x).node);
    graph_is_ok(*state);
}

static void seeds_of_integers_end_at_once(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output k = placeholder(s, WEIR_INT32, "k");
    weir_output seed = gradient_of(s, k, k);
    assert_string_equal(weir_node_name(seed.node), "gradients/grad_ys_0");
    assert_int_equal(weir_output_dtype(seed), WEIR_INT32);
    assert_null(gradient_of(s, weir_square(s, k), k).node);
    graph_is_ok(*state);
}

static void complex_ys_need_seeds(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output x = placeholder(s, WEIR_COMPLEX64, "x");
    assert_null(gradient_of(s, x, x).node);
    graph_failed(*state, WEIR_INVALID_ARGUMENT,
                 "Gradients of complex tensors must set grad_ys ('x:0' has type complex64)");
}

static void seeds_must_have_the_type_of_y(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output x = placeholder(s, WEIR_FLOAT, "x");
    weir_output whole = placeholder(s, WEIR_INT32, "whole");
    weir_gradient_value gradient;
    weir_gradients_options options = {.size = sizeof options, .grad_ys = &whole};
    weir_gradients(s, &x, 1, &x, 1, &options, &gradient);
    assert_null(gradient.values.node);
    graph_failed(*state, WEIR_INVALID_ARGUMENT, "Gradient type int32 given for 'x:0', which has type float");
}

static void outputs_of_other_graphs_are_refused(void **state)
{
    weir_graph *other = weir_graph_new();
    weir_scope s = weir_root(*state);
    weir_output x = placeholder(s, WEIR_FLOAT, "x");
    weir_output foreign = placeholder(weir_root(other), WEIR_FLOAT, "foreign");
    assert_null(gradient_of(s, x, foreign).node);
    graph_failed(*state, WEIR_INVALID_ARGUMENT, "x 0, 'foreign', belongs to another graph");
    assert_null(gradient_of(s, weir_out(x.node, 3), x).node);
    graph_failed(*state, WEIR_INVALID_ARGUMENT, "y 0 is output 3 of node 'x', which has 1 outputs");
    weir_graph_free(other);
}

static void null_outputs_do_nothing(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output x = placeholder(s, WEIR_FLOAT, "x");
    assert_null(gradient_of(s, WEIR_NO_OUTPUT, x).node);
    assert_null(gradient_of(s, x, WEIR_NO_OUTPUT).node);
    assert_int_equal(weir_graph_num_nodes(*state), 1);
    graph_is_ok(*state);
}

/* Static shapes come from the forward part where the backward op cannot know them. */
static void gradients_have_the_shape_of_their_x(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 3), .name = "x");
    weir_output y = weir_reduce_sum(s, weir_square(s, x), .axes = WEIR_AXES(1));
    has_shape(gradient_of(s, y, x), "[?,3]");
    graph_is_ok(*state);
}

static void a_tensor_used_often_takes_linear_time(void **state)
{
    enum { COUNT = 20000 };
    weir_scope s = weir_root(*state);
    weir_output x = placeholder(s, WEIR_FLOAT, "x");
    weir_output *squares = calloc(COUNT, sizeof *squares);
    for (int i = 0; i < COUNT; i++)
        squares[i] = weir_negative(weir_on_device(s, "/cpu:%d", i % 2), x);
    weir_output y = weir_add_n(s, squares, COUNT);
    free(squares);
    weir_output sum = gradient_of(s, y, x);
    assert_int_equal(weir_node_num_inputs(sum.node), COUNT);
    graph_is_ok(*state);
}

static void a_second_call_has_another_scope(void **state)
{
    weir_scope s = weir_root(*state);
    weir_output x = placeholder(s, WEIR_FLOAT, "x");
    weir_output first = gradient_of(s, weir_tanh(s, x, .name = "y"), x);
    assert_string_equal(weir_node_name(first.node), "gradients/y_grad/TanhGrad");
    weir_output second = gradient_of(s, first, x);
    assert_int_equal(strncmp(weir_node_name(second.node), "gradients_1/", 12), 0);
    weir_gradient_value named;
    weir_gradients_options options = {.size = sizeof options, .name = "mine"};
    weir_gradients(s, &x, 1, &x, 1, &options, &named);
    assert_string_equal(weir_node_name(named.values.node), "mine/grad_ys_0");
}

#define CASE_TEST(name) cmocka_unit_test(gradients_of_##name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE_TEST(mlp),
        CASE_TEST(mlp_of_any_batch),
        CASE_TEST(cnn),
        CASE_TEST(batch_norm),
        CASE_TEST(sums_by_device),
        CASE_TEST(sums_without_colocation),
        CASE_TEST(sum_of_four),
        CASE_TEST(rows),
        CASE_TEST(rows_twice),
        CASE_TEST(rows_and_dense),
        CASE_TEST(given_and_stopped),
        CASE_TEST(itself_and_nothing),
        CASE_TEST(through_integers),
        CASE_TEST(x_within),
        CASE_TEST(shared_weights),
        CASE_TEST(lstm_step),
        CASE_TEST(moving_around),
        CASE_TEST(unused_output),
        CASE_TEST(conditional),
        CASE_TEST(exotic_functions),
        GRAPH_TEST(an_op_without_gradient_is_named),
        GRAPH_TEST(ops_that_are_not_differentiable_end_gradients),
        GRAPH_TEST(seeds_of_integers_end_at_once),
        GRAPH_TEST(complex_ys_need_seeds),
        GRAPH_TEST(seeds_must_have_the_type_of_y),
        GRAPH_TEST(outputs_of_other_graphs_are_refused),
        GRAPH_TEST(null_outputs_do_nothing),
        GRAPH_TEST(gradients_have_the_shape_of_their_x),
        GRAPH_TEST(a_tensor_used_often_takes_linear_time),
        GRAPH_TEST(a_second_call_has_another_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
