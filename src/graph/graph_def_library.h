/*
 * The functions that imported graphs bring along. They are not run yet: they are kept for export.
 */
#ifndef GRAPH_GRAPH_DEF_LIBRARY_H
#define GRAPH_GRAPH_DEF_LIBRARY_H

#include "graph/graph.h"
#include "proto/graph.pb-c.h"

/* The graph's functions and those of a message together, serialized in the graph's arena. A function that both define must be
 * the same. The graph does not change. added may be NULL. arena: for work. */
WEIR_WARN_UNUSED weir_status weir_library_merge(weir_graph *graph, const Weir__FunctionDefLibrary *added,
                                                weir_arena *arena, weir_bytes *out);

/* True when the message defines a function of the name. */
bool weir_library_has(const Weir__FunctionDefLibrary *library, const char *name);

#endif
