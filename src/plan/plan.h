/*
 * A plan: the part of a graph that a run needs, cut into segments that each walk straight through one device.
 *
 * The plan's own nodes (a copy of the graph's, with feeds in place of what is fed) go through passes, one file each:
 * build, prune, fold, share, fuse, partition, order, segment. What they leave is read by layout.c, which binds the
 * kernels of a segment for the shapes that enter it, and by the executor in run/.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdint.h>

#include "base/arena.h"
#include "device/device.h"
#include "exec/kernel.h"
#include "exec/resource.h"

/* An output of a plan node. */
typedef struct weir_port {
    int node; /* index in plan->nodes; -1: none */
    int output;
} weir_port;

typedef enum weir_kind {
    WEIR_KIND_CODE,    /* bind and run */
    WEIR_KIND_EXECUTE, /* makes tensors; stands in segments among code */
    WEIR_KIND_NOTHING, /* order only */
    WEIR_KIND_CONSTANT,
    WEIR_KIND_FEED,
    WEIR_KIND_PASS,     /* output 0.. is input 0.. */
    WEIR_KIND_VARIABLE, /* a variable's reference or handle */
    WEIR_KIND_READ,     /* the memory of a variable, by handle */
    WEIR_KIND_COPY,     /* a value of its own from what may be a variable's memory */
    /* From here on each node is a segment of its own. */
    WEIR_KIND_WAIT,
    WEIR_KIND_TRANSFER,
    WEIR_KIND_SEND,
    WEIR_KIND_RECEIVE,
    WEIR_KIND_SWITCH,
    WEIR_KIND_MERGE,
    WEIR_KIND_ENTER,
    WEIR_KIND_EXIT,
    WEIR_KIND_NEXT_ITERATION,
    WEIR_KIND_TRIGGER, /* ControlTrigger: goes on even after dead inputs */
} weir_kind;

static inline bool weir_kind_stands_alone(weir_kind kind)
{
    return kind >= WEIR_KIND_WAIT;
}

/* Where a value is while a run goes on. */
typedef enum weir_place {
    WEIR_PLACE_ARENA,    /* in its segment's scratch memory */
    WEIR_PLACE_SLOT,     /* a tensor of the run: it crosses segments, is fetched, or an executed node takes it */
    WEIR_PLACE_CONSTANT, /* a tensor of the plan */
    WEIR_PLACE_VARIABLE, /* the memory of a variable (or the variable itself, for references and handles) */
} weir_place;

typedef struct weir_plan_value {
    weir_dtype dtype;  /* base type */
    bool is_reference; /* a variable itself: reference or handle */
    weir_port root;    /* the port whose memory this is; itself unless the node is a PASS or a READ */
    weir_place place;
    int slot;                /* index in the frame's slots; -1: none */
    weir_variable *variable; /* for WEIR_PLACE_VARIABLE */
    weir_tensor *constant;   /* for WEIR_PLACE_CONSTANT; owned by the plan */
    int uses;                /* by inputs of other nodes */
} weir_plan_value;

typedef struct weir_plan_node {
    const weir_node *node;     /* the graph's, or one that a pass made (never in the graph) */
    const weir_kernel *kernel; /* NULL for kinds without */
    weir_kind kind;
    int device;
    int first_value; /* in plan->values */
    int num_outputs;
    int num_inputs;
    int num_controls;
    weir_port *inputs;
    int *controls; /* plan nodes */
    int feed;      /* FEED: which one */
    int frame;
    int segment;                    /* -1: constants and variables, which belong to all */
    int position;                   /* in plan->order */
    bool is_writer;                 /* changes a variable, or state that others see */
    bool is_foldable;               /* its value follows from shapes and constants */
    bool is_target;                 /* asked for by name */
    bool is_last;                   /* after all writers: the value of a variable that is fetched */
    const struct weir_fused *fused; /* what a fused node stands for; NULL */
} weir_plan_node;

/* The nodes that one fused node took over: for metadata and messages. */
typedef struct weir_fused {
    int count;
    const weir_node *const *nodes;
} weir_fused;

/* A value that comes into a segment. */
typedef struct weir_entry {
    int value;
    int slot;
    bool by_content; /* its elements decide shapes: they belong to the layout's key */
} weir_entry;

typedef struct weir_segment {
    weir_kind kind; /* CODE, or that of its single node */
    int device;
    int frame;
    int local;        /* number among the segments of its frame */
    int first, count; /* in plan->order */
    int num_waits;    /* segments (and feeds, in partial runs) that must be done before */
    int num_successors;
    struct weir_successor *successors;
    int num_entries;
    weir_entry *entries;
    int num_exits;
    int *exits; /* values with slots that this segment makes */
} weir_segment;

/* An edge between segments. */
typedef struct weir_successor {
    int segment;
    int branch;    /* output of a SWITCH that it hangs on; -1: whatever the segment becomes */
    int input;     /* for a MERGE: which data input this is; -1: none */
    bool is_order; /* only the order of reads and writes: it comes alive whatever the segment becomes */
} weir_successor;

/* A loop frame; frame 0 is the root. */
typedef struct weir_plan_frame {
    const char *name;
    int parent;
    int num_slots;
    int num_enters;
    int parallel_iterations;
    int num_segments;
} weir_plan_frame;

typedef struct weir_plan {
    weir_arena arena;
    const weir_device_set *devices;
    weir_session_state *session;
    weir_plan_node *nodes;
    int num_nodes, node_capacity;
    weir_plan_value *values;
    int num_values, value_capacity;
    int *order; /* node indices, segment after segment, each in the order it is walked */
    int num_ordered;
    weir_segment *segments;
    int num_segments;
    weir_plan_frame *frames;
    int num_frames;
    weir_port *fetches;
    int num_fetches;
    int num_feeds;
    weir_dtype *feed_dtypes;
    const weir_node **feed_nodes;
    int *feed_values;                     /* value of each feed, -1 when nobody needs it */
    bool is_partial;                      /* feeds come one by one */
    bool is_simple;                       /* one segment of code and nothing else */
    WEIR_LIST(weir_tensor *) constants;   /* references held */
    WEIR_LIST(weir_resource *) resources; /* references held: variables */
} weir_plan;

static inline weir_plan_value *weir_plan_value_of(const weir_plan *plan, weir_port port)
{
    return &plan->values[plan->nodes[port.node].first_value + port.output];
}

/* True for constants that are there whatever happens: none that waits for something (and may be dead). */
static inline bool weir_plan_is_free_constant(const weir_plan *plan, int node)
{
    return plan->nodes[node].kind == WEIR_KIND_CONSTANT && plan->nodes[node].num_controls == 0;
}

/* True if a node takes the variable itself (a reference or a handle) as its input, not the variable's value. */
static inline bool weir_plan_takes_variable(const weir_plan *plan, const weir_plan_node *node, int input)
{
    const weir_plan_value *value = weir_plan_value_of(plan, node->inputs[input]);
    if (value->place != WEIR_PLACE_VARIABLE)
        return false;
    bool hands_on = node->kind >= WEIR_KIND_SWITCH && node->kind <= WEIR_KIND_NEXT_ITERATION;
    if (hands_on && node->kind == WEIR_KIND_SWITCH && input > 0)
        return false; /* a condition */
    if (node->kind == WEIR_KIND_PASS || hands_on)
        return node->num_outputs > 0 && plan->values[node->first_value].is_reference;
    if (node->kind == WEIR_KIND_READ)
        return true;
    return input < 32 && node->kernel != NULL && ((node->kernel->writes | node->kernel->reads) >> input & 1) != 0;
}

typedef struct weir_plan_request {
    const weir_graph *graph;
    const weir_device_set *devices;
    weir_session_state *session;
    const int *placement; /* [nodes of the graph]: device of each */
    const weir_output *feeds;
    int num_feeds;
    const weir_output *fetches;
    int num_fetches;
    weir_node *const *targets;
    int num_targets;
    bool is_partial;
    uint32_t disabled_passes; /* bit i: pass i of weir_passes */
} weir_plan_request;

WEIR_WARN_UNUSED weir_status weir_plan_new(const weir_plan_request *request, weir_plan **out);
void weir_plan_free(weir_plan *plan); /* accepts NULL */

/* A pass that may be switched off by name. */
typedef struct weir_pass {
    const char *name;
    weir_status (*run)(weir_plan *plan);
} weir_pass;

extern const weir_pass weir_passes[]; /* ends with name NULL */

/* The bits of a comma-separated list of passes; INVALID_ARGUMENT names an unknown one and the nearest. */
WEIR_WARN_UNUSED weir_status weir_passes_parse(const char *names, uint32_t *bits);

/* ---- For passes ---- */

/* Appends a node with its values; inputs and controls are copied. Returns its index in *out. */
WEIR_WARN_UNUSED weir_status weir_plan_add(weir_plan *plan, const weir_plan_node *node, int *out);

/* Makes a value known. Takes the tensor (also on failure). */
WEIR_WARN_UNUSED weir_status weir_plan_set_constant(weir_plan *plan, weir_port port, weir_tensor *tensor);

/* The passes that are always on, in order. */
WEIR_WARN_UNUSED weir_status weir_plan_build(weir_plan *plan, const weir_plan_request *request);
WEIR_WARN_UNUSED weir_status weir_plan_partition(weir_plan *plan);
WEIR_WARN_UNUSED weir_status weir_plan_order(weir_plan *plan);
WEIR_WARN_UNUSED weir_status weir_plan_segment(weir_plan *plan);

#endif
