/*
 * Attributes to and from their messages.
 */
#ifndef GRAPH_GRAPH_DEF_ATTRIBUTE_H
#define GRAPH_GRAPH_DEF_ATTRIBUTE_H

#include "graph/graph.h"
#include "proto/graph.pb-c.h"

/* Where values read from messages live: in the arena (and in the message, which they borrow), tensors as references in the
 * list, which whoever reads frees. */
typedef struct weir_attr_memory {
    weir_arena *arena;
    WEIR_LIST(weir_tensor *) tensors;
} weir_attr_memory;

void weir_attr_memory_clear(weir_attr_memory *memory); /* the arena stays */

/* The value of a message. A list without elements says nothing of its kind: it becomes a list of no kind. INVALID_ARGUMENT
 * for what only functions may hold. */
WEIR_WARN_UNUSED weir_status weir_attr_from_proto(const Weir__AttrValue *proto, weir_attr_memory *memory,
                                                  weir_attr_value *out);

/* The message of a value in the arena; it borrows from the value. A tensor whose elements are all the same is written as one
 * of them, others as TensorFlow's Python does. */
WEIR_WARN_UNUSED weir_status weir_attr_to_proto(const weir_attr_value *value, weir_arena *arena, Weir__AttrValue **out);

#endif
