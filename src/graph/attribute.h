/*
 * Attributes inside the graph: copies that belong to it.
 */
#ifndef GRAPH_ATTRIBUTE_H
#define GRAPH_ATTRIBUTE_H

#include "graph/graph.h"

/* A deep copy in the graph's arena; references to tensors are kept in graph->tensors. */
WEIR_WARN_UNUSED weir_status weir_attr_copy(weir_graph *graph, const weir_attr_value *value, weir_attr_value *out);

/* Bytes that an element of a list of the kind takes; 0 for what is no list, or an empty one of no kind. */
size_t weir_attr_list_size(weir_attr_kind kind);

/* Sets an attribute of any name, for which the caller answers. */
WEIR_WARN_UNUSED weir_status weir_node_put_attr(weir_node *node, const weir_attr *attr);

/* "string", "list(int)"; returns text. */
#define WEIR_ATTR_KIND_SIZE 24
char *weir_attr_kind_text(weir_attr_kind kind, char text[WEIR_ATTR_KIND_SIZE]);

/* INVALID_ARGUMENT unless the value is one the schema allows. */
WEIR_WARN_UNUSED weir_status weir_attr_check(const weir_attr_def *def, const weir_attr_value *value);

/* The schema in TensorFlow's short form: "Op<name=Identity; signature=input:T -> output:T; attr=T:type>". */
void weir_op_describe(const weir_op_def *op, weir_text *text);

#endif
