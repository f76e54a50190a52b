/*
 * What the tests of graphs share: a graph for each test, and checks of its sticky error.
 */
#ifndef GRAPH_TEST_H
#define GRAPH_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weir/ops.h>

#include "graph/graph.h"

/* A test that runs on a graph of its own, which stands in *state. */
#define GRAPH_TEST(function) cmocka_unit_test_setup_teardown(function, graph_test_setup, graph_test_teardown)

static inline int graph_test_setup(void **state)
{
    *state = weir_graph_new();
    return *state != NULL ? 0 : -1;
}

static inline int graph_test_teardown(void **state)
{
    weir_graph_free(*state);
    return 0;
}

static inline void status_ok(weir_status status)
{
    if (!weir_ok(status))
        fail_msg("%s: %s", weir_code_name(status.code), weir_status_text(status));
}

static inline void status_fails(weir_status status, weir_code code, const char *words)
{
    if (status.code != code || strstr(weir_status_text(status), words) == NULL)
        fail_msg("expected %s with \"%s\", got %s: %s", weir_code_name(code), words, weir_code_name(status.code),
                 weir_status_text(status));
}

/* The graph's sticky error is this one, and is cleared. */
static inline void graph_failed(weir_graph *graph, weir_code code, const char *words)
{
    status_fails(weir_graph_take_error(graph), code, words);
}

static inline void graph_is_ok(weir_graph *graph)
{
    status_ok(weir_graph_error(graph));
}

/* "a:0 b:1 ^c": the inputs of a node. free() */
static inline char *inputs_of(const weir_node *node)
{
    weir_text text = {0};
    for (int i = 0; i < weir_node_num_inputs(node); i++)
        weir_text_append(&text, " %s:%d", weir_node_name(weir_node_input(node, i).node),
                         weir_node_input(node, i).index);
    for (int i = 0; i < weir_node_num_controls(node); i++)
        weir_text_append(&text, " ^%s", weir_node_name(weir_node_control(node, i)));
    char *copy = strdup(text.length > 0 ? weir_text_get(&text) + 1 : "");
    weir_text_clear(&text);
    return copy;
}

static inline void has_inputs(const weir_node *node, const char *expected)
{
    char *inputs = inputs_of(node);
    assert_string_equal(inputs, expected);
    free(inputs);
}

/* "loc:@a,loc:@b": the colocation groups of a node. free() */
static inline char *groups_of(const weir_node *node)
{
    weir_text text = {0};
    weir_attr_value value;
    if (weir_node_attr(node, "_class", &value)) {
        for (int64_t i = 0; i < value.list.count; i++)
            weir_text_append(&text, "%s%.*s", i > 0 ? "," : "", (int)value.list.s[i].size, value.list.s[i].data);
    }
    char *copy = strdup(weir_text_get(&text));
    weir_text_clear(&text);
    return copy;
}

static inline void has_groups(const weir_node *node, const char *expected)
{
    char *groups = groups_of(node);
    assert_string_equal(groups, expected);
    free(groups);
}

static inline void has_shape(weir_output output, const char *expected)
{
    char text[WEIR_SHAPE_TEXT_SIZE];
    assert_string_equal(weir_shape_text(weir_output_shape(output), text, sizeof text), expected);
}

/* A float scalar constant of a name. */
static inline weir_output constant(weir_scope s, const char *name)
{
    return weir_const(s, WEIR_FLOAT_OF(1), .name = name);
}

#endif
