/*
 * Values of graphs without a session: a node is computed from the values of its inputs, each node once.
 */
#ifndef TESTS_SUPPORT_COMPUTE_H
#define TESTS_SUPPORT_COMPUTE_H

#include "exec/resource.h"

typedef struct computation {
    weir_graph *graph;
    weir_context context;      /* with session and team, if set */
    weir_tensor ***values;     /* [nodes]: outputs, NULL: not computed */
    weir_variable **variables; /* [nodes]: of VariableV2 and VarHandleOp nodes, if set; borrowed */
    int capacity;
} computation;

/* A session with containers of its own. */
typedef struct test_session {
    weir_container devices;
    weir_session_state state;
} test_session;

void test_session_init(test_session *session);
void test_session_clear(test_session *session);

void computation_init(computation *c, weir_graph *graph, test_session *session);
void computation_clear(computation *c);

/* Forgets what was computed, for another run. */
void computation_restart(computation *c);

/* Gives a node (of one output) a value. */
void computation_feed(computation *c, weir_output output, weir_tensor *value);

/* The value of an output, borrowed from the computation; NULL when it is dead. */
WEIR_WARN_UNUSED weir_status computation_get(computation *c, weir_output output, weir_tensor **out);

/* Runs a node (for its effect). */
WEIR_WARN_UNUSED weir_status computation_run(computation *c, weir_node *node);

#endif
