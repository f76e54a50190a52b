/*
 * Which device each node of a graph runs on, by TensorFlow's rules: requested device, a kernel for it, colocation.
 */
#ifndef PLAN_PLACE_H
#define PLAN_PLACE_H

#include <stdio.h>

#include "device/device.h"
#include "graph/graph.h"

typedef struct weir_placement {
    WEIR_LIST(int) device; /* of each node placed so far, by id: index in the device set */
} weir_placement;

/* Places the nodes that the graph has gained. All nodes that cannot be placed are reported at once, with reasons; then none
 * of the new ones is placed. */
WEIR_WARN_UNUSED weir_status weir_place_nodes(weir_placement *placement, const weir_graph *graph,
                                              const weir_device_set *devices, bool allow_soft_placement);

/* Prints TensorFlow's lines "name: (Op): device" for nodes first and later, those without inputs last. */
void weir_placement_print(const weir_placement *placement, const weir_graph *graph, const weir_device_set *devices,
                          int first, FILE *stream);

void weir_placement_clear(weir_placement *placement);

#endif
