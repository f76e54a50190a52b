/*
 * A segment for given shapes: kernels bound, memory laid out, addresses filled in. Walking it is going through an array.
 *
 * Temporaries lie at offsets in one block of memory that the segments of a run on one device share. What comes in, what
 * goes out and what is a variable may lie elsewhere in each run: the places that hold such an address are listed, and
 * rewritten when it changes.
 */
#ifndef PLAN_LAYOUT_H
#define PLAN_LAYOUT_H

#include "plan/plan.h"

typedef struct weir_instruction {
    weir_run_function *run;
    const void *state;
    void **arguments;
} weir_instruction;

/* What an instruction is, for messages, metadata and the search for NaN. */
typedef struct weir_instruction_info {
    int node; /* in the plan; -1: loads a variable's address */
    int num_arguments;
    int first_output; /* among the arguments */
    int num_outputs;
    const int64_t *elements;  /* [num_outputs] */
    const weir_dtype *dtypes; /* [num_outputs] */
    uint64_t host_arguments;  /* bit i: argument i is in host memory (accelerators) */
} weir_instruction_info;

/* Places that hold the address of one thing. */
typedef struct weir_patch {
    void *address; /* what they hold now */
    int count;
    void ***places;
} weir_patch;

typedef struct weir_layout_entry {
    weir_shape shape;
    weir_tensor *content; /* a copy of what decides shapes; NULL */
    weir_patch patch;
} weir_layout_entry;

typedef struct weir_layout_exit {
    int value;
    int slot;
    weir_dtype dtype;
    weir_shape shape;
    size_t size;
    weir_tensor *constant; /* known already; NULL */
    bool in_host;          /* of an accelerator, but in host memory */
    weir_patch patch;
} weir_layout_exit;

typedef struct weir_layout {
    weir_arena arena;
    const weir_segment *segment;
    weir_layout_entry *entries; /* [segment->num_entries] */
    weir_layout_exit *exits;
    int num_exits;
    weir_instruction *code;
    weir_instruction_info *info;
    int count;
    size_t memory_size;                 /* of the temporaries */
    WEIR_LIST(weir_tensor *) constants; /* worked out while binding; references held */
    WEIR_LIST(weir_buffer *) uploads;   /* constants in device memory */
    struct {
        weir_variable *variable;
        weir_shape shape;
    } * variable_shapes; /* of variables without a fixed shape, on which this layout stands */
    int num_variable_shapes;
    uint64_t last_used;
} weir_layout;

/* How an executed node (its tensors are the run's) appears among the instructions. */
typedef struct weir_executed {
    const weir_plan *plan;
    int node;
    weir_tensor **inputs, **owned, **outputs; /* room for its tensors */
    weir_variable **variables;
} weir_executed;

typedef struct weir_layout_request {
    const weir_plan *plan;
    const weir_segment *segment;
    weir_tensor *const *entries; /* [num_entries]: what comes in now */
    weir_session_state *session;
    weir_run_function *execute; /* runs a weir_executed (its state) */
    /* Gives size bytes for the temporaries, which stay where they are as long as the layout is used. */
    weir_status (*reserve)(void *context, size_t size, char **memory);
    void *reserve_context;
} weir_layout_request;

/* Makes the layout. Failures name the node. */
WEIR_WARN_UNUSED weir_status weir_layout_new(const weir_layout_request *request, weir_layout **out);
void weir_layout_free(weir_layout *layout); /* accepts NULL */

/* True if the layout is for these tensors (and for the shapes that variables have now). */
bool weir_layout_fits(const weir_layout *layout, weir_tensor *const *entries);

/* Writes address to the places unless they hold it. */
static inline void weir_patch_write(weir_patch *patch, void *address)
{
    if (__builtin_expect(patch->address == address, 1))
        return;
    patch->address = address;
    for (int i = 0; i < patch->count; i++)
        *patch->places[i] = address;
}

#endif
