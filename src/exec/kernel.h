/*
 * The contract between ops and the executor: how an op says what it computes, and what it is given when it does.
 *
 * A kernel does its work in two steps. *bind* sees the types, the shapes and the shape-giving values of one node; it
 * decides everything that can be decided (the shapes of outputs, the loop to use, scratch memory) and is called once per
 * layout. *run* computes, with nothing but addresses; it is called in every step.
 *
 * Ops that cannot know the shapes of their outputs before they have run (Where), and those on strings, handles and other
 * objects, have *execute* instead: it gets tensors and makes tensors. Ops that wait (dequeue, receive) have *start*: it
 * registers what it waits for and returns; nobody's thread is held.
 */
#ifndef EXEC_KERNEL_H
#define EXEC_KERNEL_H

#include "base/arena.h"
#include "base/team.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

struct weir_run;
struct weir_session_state;
struct weir_variable;

/* What every kernel may use while it works. */
typedef struct weir_context {
    weir_team *team;                    /* of the device; NULL: alone */
    struct weir_run *run;               /* the run it works for; NULL when a value is computed beforehand */
    struct weir_session_state *session; /* containers, state of nodes; NULL likewise */
} weir_context;

/* ---- bind and run ---- */

/* Computes one node. arguments: the inputs, then the outputs, then the scratch memory if bind asked for some; each is the
 * address of elements, or of a weir_variable for an input that is a reference. state is what bind left. The walker's
 * thread; must not block; a failure names values, the executor adds node and op. */
typedef weir_status weir_run_function(const void *state, void *const *arguments, weir_context *context);

/* What is known of an input when a node is bound. */
typedef struct weir_argument {
    weir_dtype dtype;            /* a reference type for a reference input */
    weir_shape shape;            /* fully known; for a reference: of the variable, as far as known */
    const weir_tensor *constant; /* its elements when they are known already, else NULL */
} weir_argument;

/* An output that is the memory of an input (Reshape, Identity). */
#define WEIR_OWN_MEMORY (-1)

typedef struct weir_bind {
    const weir_node *node;
    const weir_argument *inputs;        /* [node->num_inputs] */
    weir_arena *arena;                  /* for state; lives as long as the layout */
    struct weir_session_state *session; /* NULL when a value is computed beforehand */
    int lanes;                          /* of the team that will run it: for scratch memory of each lane */
    /* set by bind: */
    weir_shape *outputs;    /* [num_outputs]: must become fully known */
    weir_run_function *run; /* NULL: nothing to compute (every output is an input's memory, or there is none) */
    const void *state;
    size_t scratch_size;     /* bytes; 0: no scratch argument */
    int *same_memory;        /* [num_outputs]: the input whose memory the output is, or WEIR_OWN_MEMORY (default) */
    uint32_t *may_overwrite; /* [num_outputs]: bit i: the output may be written over input i, element by element */
} weir_bind;

/* State for run: WEIR_TRY(weir_bind_state(bind, &pointer)) takes zeroed memory for *pointer from the layout. */
#define weir_bind_state(bind, pointer_address)                                                                         \
    weir_bind_take((bind), sizeof(**(pointer_address)), (void **)(pointer_address))
WEIR_WARN_UNUSED weir_status weir_bind_take(weir_bind *bind, size_t size, void **out);

/* Memory that belongs to (session, node) and outlives runs and layouts, such as a random generator; zeroed and then
 * initialized by init (may be NULL) at first sight. FAILED_PRECONDITION without a session. */
WEIR_WARN_UNUSED weir_status weir_node_state(struct weir_session_state *session, const weir_node *node, size_t size,
                                             void (*init)(void *state, const weir_node *node), void **out);

/* ---- execute ---- */

typedef struct weir_call {
    const weir_node *node;
    weir_context *context;
    weir_tensor *const *inputs;             /* [num_inputs] borrowed; NULL for references */
    struct weir_variable *const *variables; /* [num_inputs] for reference inputs, else NULL */
    weir_tensor **outputs;                  /* [num_outputs] to be filled with owned tensors; NULL at the start */
} weir_call;

typedef weir_status weir_execute_function(weir_call *call);

/* ---- start ---- */

/* One waiting node of one run. It ends exactly once, by weir_wait_end, from any thread (also from within start). */
typedef struct weir_wait {
    weir_call call;                                                        /* inputs stay valid until the end */
    void (*end)(struct weir_wait *wait, weir_status status, bool is_dead); /* set by the executor */
    /* Set by start before it returns without having ended: called at most once, when the run is cancelled or its time is
     * over, from any thread, possibly while the wait ends; it must make the wait end soon (with CANCELLED). */
    void (*cancel)(struct weir_wait *wait);
    void *private_data;     /* the kernel's */
    struct weir_wait *next; /* the kernel's, for a list of waiters */
    char what[96];          /* set by start: whom it waits for, for messages ("queue 'q' to get an element") */
} weir_wait;

/* A failure returned by start means that it has ended; ok means that it has ended or will. */
typedef weir_status weir_start_function(weir_wait *wait);

static inline void weir_wait_end(weir_wait *wait, weir_status status)
{
    wait->end(wait, status, false);
}

/* ---- Kernels ---- */

/* What a node is to the planner. Everything but WEIR_ROLE_COMPUTE is known to it by this role, never by its op's name. */
typedef enum weir_role {
    WEIR_ROLE_COMPUTE = 0,
    WEIR_ROLE_NOTHING,     /* NoOp: only order */
    WEIR_ROLE_TRIGGER,     /* ControlTrigger: goes on even after dead inputs */
    WEIR_ROLE_CONSTANT,    /* Const: attribute value */
    WEIR_ROLE_PLACEHOLDER, /* must be fed */
    WEIR_ROLE_PASS,        /* output i is input i: Identity, StopGradient, PlaceholderWithDefault ... */
    WEIR_ROLE_VARIABLE,    /* output 0 is a reference to a variable */
    WEIR_ROLE_HANDLE,      /* output 0 is a handle to a variable (VarHandleOp) */
    WEIR_ROLE_READ,        /* ReadVariableOp */
    WEIR_ROLE_SWITCH,
    WEIR_ROLE_MERGE,
    WEIR_ROLE_ENTER,
    WEIR_ROLE_EXIT,
    WEIR_ROLE_NEXT_ITERATION,
    WEIR_ROLE_LOOP_CONDITION,
    WEIR_ROLE_SEND,
    WEIR_ROLE_RECEIVE,
    WEIR_ROLE_ARGUMENT, /* _Arg */
    WEIR_ROLE_RESULT    /* _Retval */
} weir_role;

/* One kernel: an op, the types it is for, and its functions. The first that matches in the family's list is taken. */
typedef struct weir_kernel {
    const char *op; /* NULL ends a list */
    struct {
        const char *attr;        /* NULL ends */
        const weir_dtype *types; /* ends with WEIR_INVALID_DTYPE */
    } types[3];
    weir_role role;
    weir_status (*bind)(weir_bind *bind); /* exactly one of bind, execute, start; none for roles other than COMPUTE */
    weir_execute_function *execute;
    weir_start_function *start;
    uint32_t
        shape_inputs; /* bit i: bind needs the elements of input i (they decide shapes or the loop); bit 31: and of all after it */
    uint32_t writes;      /* bit i: input i is a variable (reference or handle) that run changes */
    uint32_t reads;       /* bit i: input i is a variable that run reads through the reference or handle itself */
    bool on_accelerators; /* also runs where host memory is out of reach, but for: */
    uint32_t host_inputs; /* bit i: input i is in host memory there */
    uint32_t host_outputs;
    bool is_shape_function; /* outputs follow from the shapes of inputs alone (Shape, Size, Rank) */
    bool is_cheap;          /* a few instructions for each element: worth fusing, never worth a team for small sizes */
} weir_kernel;

#define WEIR_INPUT(index) (1u << (index))
#define WEIR_ALL_INPUTS 0xffffffffu

/* The kernel for a node's types; UNIMPLEMENTED names op and types. Any thread. */
WEIR_WARN_UNUSED weir_status weir_kernel_find(const weir_node *node, const weir_kernel **out);

/* ---- One node by itself: constant folding, tests ---- */

/* Computes a node from the values of its inputs, in host memory, without session: results are owned by the caller.
 * FAILED_PRECONDITION for nodes that need one or that wait. */
WEIR_WARN_UNUSED weir_status weir_evaluate(const weir_node *node, weir_tensor *const *inputs, weir_tensor **outputs);

/* The same with a session's state and a team. */
WEIR_WARN_UNUSED weir_status weir_evaluate_in(weir_context *context, const weir_node *node, weir_tensor *const *inputs,
                                              struct weir_variable *const *variables, weir_tensor **outputs);

#endif
