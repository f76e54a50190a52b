/*
 * Ops that wait, started by hand: what an executor does for them, for one node at a time.
 */
#ifndef TESTS_SUPPORT_PENDING_H
#define TESTS_SUPPORT_PENDING_H

#include "exec/kernel.h"

#define PENDING_MOST 8

typedef struct pending {
    weir_wait wait; /* first */
    weir_tensor *inputs[PENDING_MOST];
    weir_tensor *outputs[PENDING_MOST];
    int ends; /* how often it has ended: must become 1 */
    weir_code code;
    char text[512];
} pending;

/* Starts a node; inputs are referenced until pending_clear. */
void pending_start(pending *p, weir_context *context, const weir_node *node, weir_tensor *const *inputs);

/* Cancels a node that waits. */
void pending_cancel(pending *p);

/* Gives inputs and outputs back. */
void pending_clear(pending *p);

#endif
