/*
 * Bytes as a GraphDef that is imported: refused, or a graph that can be written and imported again and whose outputs can be
 * differentiated without harm.
 */
#include <stdlib.h>

#include <weir/gradients.h>

#include "format/message.h"
#include "format/tensor_proto.h"
#include "fuzz/fuzz.h"
#include "graph/graph.h"
#include "proto/graph.pb-c.h"

#define MOST_CONST_ELEMENTS (1 << 16)

/* A few bytes may rightly stand for many elements; not here. */
static bool is_huge(const Weir__AttrValue *value)
{
    weir_shape shape = weir_shape_unknown();
    if (value->value_case != WEIR__ATTR_VALUE__VALUE_TENSOR)
        return value->value_case == WEIR__ATTR_VALUE__VALUE_LIST && value->list->n_tensor > 0;
    return weir_ok(weir_shape_from_proto(value->tensor->tensor_shape, &shape)) &&
           weir_shape_elements(shape) > MOST_CONST_ELEMENTS;
}

static bool has_huge_constants(const uint8_t *data, size_t size)
{
    weir_arena arena = {0};
    ProtobufCMessage *message = NULL;
    bool found = false;
    if (weir_ok(weir_message_unpack(&weir__graph_def__descriptor, data, size, &arena, &message))) {
        const Weir__GraphDef *graph = (const Weir__GraphDef *)message;
        for (size_t i = 0; i < graph->n_node; i++) {
            for (size_t j = 0; j < graph->node[i]->n_attr; j++)
                found = found || is_huge(graph->node[i]->attr[j]->value);
        }
    }
    weir_arena_clear(&arena);
    return found;
}

static void goes_through_again(const weir_graph *graph)
{
    void *bytes = NULL;
    size_t size = 0;
    weir_graph *again = weir_graph_new();
    FUZZ_CHECK(again != NULL);
    FUZZ_CHECK(weir_ok(weir_graph_export(graph, &bytes, &size)));
    FUZZ_CHECK(weir_ok(weir_graph_import(weir_root(again), bytes, size, NULL)));
    FUZZ_CHECK(weir_graph_num_nodes(again) == weir_graph_num_nodes(graph));
    weir_graph_free(again);
    free(bytes);
}

/* The last output by the first: any error will do. */
static void differentiate(weir_graph *graph)
{
    weir_output first = weir_node_output(weir_graph_node(graph, 0), 0);
    weir_output last = WEIR_NO_OUTPUT;
    for (int i = weir_graph_num_nodes(graph) - 1; i > 0 && last.node == NULL; i--)
        last = weir_node_output(weir_graph_node(graph, i), 0);
    weir_gradient_value gradient;
    weir_gradients(weir_root(graph), &last, 1, &first, 1, NULL, &gradient);
    FUZZ_CHECK(weir_ok(weir_graph_take_error(graph)) || gradient.values.node == NULL);
}

FUZZ_TARGET(import)
{
    if (has_huge_constants(data, size))
        return 0;
    weir_graph *graph = weir_graph_new();
    FUZZ_CHECK(graph != NULL);
    if (weir_ok(weir_graph_import(weir_root(graph), data, size, NULL))) {
        goes_through_again(graph);
        differentiate(graph);
    } else {
        FUZZ_CHECK(weir_graph_num_nodes(graph) == 0);
    }
    weir_graph_free(graph);
    return 0;
}
