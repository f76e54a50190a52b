/*
 * A run: the state of one walk through a plan. It is a state object: started, walked by whoever has time, at rest while it
 * waits. Runs of a plan are kept and used again; a run of fixed shapes without loops allocates nothing.
 *
 * Each queue (one for each host device; accelerators' work is launched from queue 0) has at most one walker at a time, so
 * that the segments of one device share their scratch memory. The mutex guards everything but what a walker computes.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <pthread.h>
#include <weir/session.h>

#include "plan/layout.h"
#include "run/rendezvous.h"

struct weir_run;
struct weir_iteration;

/* The context that kernels get, with what the executor needs beside it. */
typedef struct weir_walker {
    weir_context base; /* first */
    struct weir_iteration *iteration;
} weir_walker;

/* What is known of one segment in one iteration. */
typedef struct weir_segment_run {
    struct weir_segment_run *next; /* in a queue */
    struct weir_iteration *iteration;
    const weir_segment *segment;
    int waiting;      /* edges that have not come */
    int dead_inputs;  /* MERGE */
    int merged_input; /* MERGE: the live input; -1 */
    bool is_dead;
    bool is_activated; /* became ready in this iteration */
    bool is_finished;  /* done, live or dead */
    struct weir_run *run;
    weir_walker walker;        /* the context of its kernels: outlives what is launched on a stream */
    struct weir_waiting *wait; /* WAIT and RECEIVE: kept for the next run */
} weir_segment_run;

/* A value tensor of an iteration. */
typedef struct weir_slot {
    weir_tensor *tensor; /* a reference, or NULL */
    weir_tensor
        *in_host;     /* the same in host memory, where a layout looks at the elements of a value on an accelerator */
    bool is_kept;     /* made by code: its memory is used again in the next run */
    bool is_result;   /* of a step: stays until the step runs again */
    bool is_borrowed; /* a feed: no reference is held */
} weir_slot;

/* One iteration of one frame; the root frame has one. */
typedef struct weir_iteration {
    struct weir_frame_run *frame;
    int64_t number;
    int outstanding;            /* segments ready or under way, and child frames */
    weir_slot *slots;           /* [frame's num_slots] */
    weir_segment_run *segments; /* [frame's num_segments] */
    struct weir_iteration *next;
} weir_iteration;

/* A loop under way. */
typedef struct weir_frame_run {
    int frame;                  /* in the plan */
    uint64_t id;                /* as rendezvous keys have it */
    weir_iteration *parent;     /* NULL for the root */
    weir_iteration *iterations; /* newest first */
    int enters_left;
    int outstanding; /* of all iterations */
    WEIR_LIST(struct {
        weir_segment_run *enter;
        weir_tensor *tensor;
        bool is_dead;
    })
    invariants; /* values for every iteration */
    bool has_ended;
    uint8_t *exit_done; /* [plan segments local to the frame]: an exit has left */
    struct weir_frame_run *next;
} weir_frame_run;

typedef struct weir_queue {
    weir_segment_run *head, *tail;
    bool is_walked;
    struct weir_run *next_posted; /* in the session's list of runs with work on this queue */
    bool is_posted;
} weir_queue;

/* Scratch memory of one device for one run. */
typedef struct weir_scratch {
    char *memory;
    size_t size;     /* usable now */
    size_t reserved; /* address space taken (host) */
} weir_scratch;

/* Device memory that was too small: freed with the run. */
typedef struct weir_outgrown {
    weir_allocator *allocator;
    void *memory;
    size_t size;
} weir_outgrown;

/* Layouts of one segment. */
typedef struct weir_layout_cache {
    weir_layout **items;
    int count;
    weir_layout *newest; /* used last */
} weir_layout_cache;

/* When a node ran. */
typedef struct weir_node_time {
    int node; /* in the plan */
    const weir_node *graph_node;
    const weir_fused *fused;
    int device;
    int thread;
    weir_kind kind;
    int64_t start_ns, end_ns; /* monotonic */
} weir_node_time;

struct weir_run_metadata {
    pthread_mutex_t mutex; /* of nodes and threads */
    int64_t start_unix_us;
    int64_t start_ns, end_ns; /* monotonic */
    WEIR_LIST(weir_node_time) nodes;
    pthread_t threads[64];
    int num_threads;
    char **device_names;
    int num_devices;
    weir_time_sums sums;
};

typedef struct weir_run {
    weir_session *session;
    struct weir_cached_plan *cached; /* the plan's place in the session's cache; counted */
    weir_plan *plan;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    weir_frame_run root;
    weir_iteration root_iteration;
    weir_frame_run *frames;       /* loops under way */
    weir_frame_run *ended_frames; /* of a run that was stopped: kept until it is reset */
    weir_queue *queues;           /* [host devices] */
    int num_queues;
    weir_layout_cache *layouts; /* [segments] */
    weir_tensor **entries;      /* scratch for looking at what enters a segment, per queue */
    weir_scratch *scratch;      /* [devices] */
    WEIR_LIST(weir_outgrown) outgrown;
    weir_batch *batches; /* [devices]: of accelerators */
    weir_rendezvous *rendezvous;
    weir_local_rendezvous local; /* used unless the caller brings one */
    weir_error error;
    _Atomic bool is_stopped; /* failed, cancelled or late: nothing new is begun */
    bool is_done;
    bool is_calling;                /* done is being or has been called */
    bool is_notified;               /* done has been called */
    bool is_abandoned;              /* freed by its own callback: goes when that returns */
    struct weir_waiting *to_cancel; /* waits to be told once the mutex is free */
    int most_entries;               /* of any segment */
    bool is_begun;
    bool is_direct;             /* one segment, walked by the caller itself without scheduling */
    int waiters;                /* threads in weir_run_join */
    int holders;                /* session workers that look at it; guarded by the session's workers' mutex */
    int pins;                   /* others of the session that look at it; guarded by the session's mutex, as are: */
    bool is_closing;            /* weir_session_close has told it */
    bool has_ended;             /* close has seen its end */
    bool is_given_back;         /* put away when the last pin is drawn */
    bool may_be_kept;           /* ... for another time */
    int64_t watch_ns;           /* the session sees to its deadline; 0: whoever waits does */
    struct weir_waiting *waits; /* nodes that wait now */
    int64_t deadline_ns;        /* monotonic; 0: none */
    void (*done)(void *context, weir_pending_run *run);
    void *done_context;
    pthread_t notifier;          /* who calls done */
    weir_tensor **results;       /* where the caller wants them */
    bool is_collected;           /* results have been handed out */
    weir_tensor **feed_values;   /* [feeds] scratch */
    weir_tensor **fetched;       /* [fetches] scratch */
    weir_run_metadata *metadata; /* being gathered; NULL */
    weir_run_metadata **metadata_out;
    _Atomic uint64_t clock; /* for the least recently used layout */
    struct weir_run *next;  /* in the plan's list of idle runs; in the session's list of active ones */
    struct weir_run *previous;
} weir_run_state;

/* A node that waits: the kernel's wait, and what the executor must know of it. */
typedef struct weir_waiting {
    weir_wait wait; /* first: the kernel gives its address back */
    weir_receive receive;
    char key[WEIR_RENDEZVOUS_KEY_SIZE];
    weir_run_state *run;
    weir_segment_run *segment;
    int node;
    int64_t since_ns;
    weir_tensor **tensors; /* inputs, then outputs */
    weir_variable **variables;
    bool is_active;
    bool is_starting; /* start has not returned: it cannot be cancelled yet */
    bool is_cancelled;
    struct weir_waiting *next, *previous; /* in run->waits */
    struct weir_waiting *next_cancelled;
} weir_waiting;

/* ---- executor.c ---- */

WEIR_WARN_UNUSED weir_status weir_run_create(weir_session *session, weir_plan *plan, weir_run_state **out);
void weir_run_destroy(weir_run_state *run);

/* Begins: feeds are borrowed (entries may be NULL in a partial run: they come later). The run must be idle. */
void weir_run_begin(weir_run_state *run, weir_tensor *const *feeds);

/* Partial runs: a feed comes. The tensor is borrowed for the run. */
void weir_run_feed(weir_run_state *run, int feed, weir_tensor *tensor);

/* Forgets what the run held, so that it can begin again; what code made is kept for its memory. */
void weir_run_reset(weir_run_state *run);

/* Makes the run of a step ready to begin again: results and memory stay. */
void weir_run_rest(weir_run_state *run);

/* Before it begins again: forgets the results that are not made in the same memory. */
void weir_run_drop_results(weir_run_state *run);

/* True unless the node that makes the value was on a side that was not taken. After the run, or with the mutex held. */
bool weir_run_is_live(const weir_run_state *run, weir_port port);

/* Partial runs: no more feeds come. */
void weir_run_end_partial(weir_run_state *run);

/* With the mutex held: the value of a fetch has been made. */
bool weir_partial_is_there(const weir_run_state *run, weir_port fetch);

/* With the mutex held: walks some queue that has work; false when none has. */
bool weir_run_walk_any(weir_run_state *run);

/* Lets the mutex go; the one who sees the run done calls its callback. */
void weir_run_unlock(weir_run_state *run);

/* Walks and waits until the run is done or wait_deadline_ns (0: none) has come; false when that came first. */
bool weir_run_join(weir_run_state *run, int64_t wait_deadline_ns);

/* This thread is in the run's done. With the mutex. */
bool weir_run_is_in_callback(const weir_run_state *run);

/* With the mutex held: fails the run if its time is over, naming what it waits for. */
void weir_run_check_deadline(weir_run_state *run);

/* Stops it with a failure. Takes the mutex. */
void weir_run_stop(weir_run_state *run, weir_status status);

/* Frees a pending run whose callback has returned. */
void weir_run_dispose(weir_run_state *run);

/* Walks queue until nothing is ready; called with the mutex held, which it lets go while computing. */
void weir_run_walk(weir_run_state *run, int index);

/* With the mutex held: a segment has been done (live or dead). */
void weir_segment_done(weir_run_state *run, weir_segment_run *segment, bool is_dead);

/* With the mutex held: puts a segment into its queue. */
void weir_segment_ready(weir_run_state *run, weir_segment_run *segment);

/* With the mutex held: an edge arrives at a segment. */
void weir_segment_arrive(weir_run_state *run, weir_segment_run *to, const weir_successor *edge, bool is_dead);

/* With the mutex held: one thing less is outstanding in the iteration. */
void weir_iteration_settle(weir_run_state *run, weir_iteration *iteration);

/* With the mutex held: keeps the first failure and stops the run. */
void weir_run_fail(weir_run_state *run, weir_status status);

int64_t weir_now_ns(void);

/* ---- workers.c: threads of a session that walk queues nobody waits at ---- */

/* With the run's mutex held: somebody should walk its queue. */
void weir_session_post(weir_run_state *run, int queue);

/* Takes the run out of all lists and waits until no worker but the calling one looks at it. Without the run's mutex. */
void weir_session_forget(weir_run_state *run);

/* ---- code.c ---- */

/* Runs a segment of code. Without the mutex. The segment is done when *is_done is set (accelerators: later). */
weir_status weir_run_code(weir_run_state *run, weir_segment_run *segment, bool *is_done);

/* An executed node among the instructions; see plan/layout.h. */
weir_status weir_run_executed(const void *state, void *const *arguments, weir_context *context);

/* What an executed or waiting node takes; arrays for its inputs. Tensors in owned are the caller's to free. */
WEIR_WARN_UNUSED weir_status weir_gather_inputs(weir_run_state *run, weir_iteration *iteration, int node,
                                                weir_tensor **inputs, weir_variable **variables, weir_tensor **owned);

/* Metadata: a node ran from start_ns until now. Any walker. */
WEIR_WARN_UNUSED weir_status weir_run_note_time(weir_run_state *run, int node, int device, int64_t start_ns);

/* The tensor of a value where tensors are wanted (borrowed); NULL when dead. Views of variables are put in *owned. */
WEIR_WARN_UNUSED weir_status weir_value_tensor(weir_run_state *run, weir_iteration *iteration, weir_port port,
                                               weir_tensor **out, weir_tensor **owned);

/* Puts a tensor into a slot, with a reference of its own. */
void weir_slot_set(weir_slot *slot, weir_tensor *tensor);
void weir_slot_clear(weir_slot *slot);

/* ---- wait.c ---- */

/* Starts a waiting or receiving node. Without the mutex. */
void weir_run_wait_start(weir_run_state *run, weir_segment_run *segment);
weir_status weir_run_send(weir_run_state *run, weir_segment_run *segment);
weir_status weir_run_transfer(weir_run_state *run, weir_segment_run *segment, bool *is_done);
void weir_waiting_free(weir_waiting *waiting);

/* "node 'q_Dequeue' for 1203 ms: queue 'q' ..." of all that waits; with the mutex held. */
void weir_run_describe_waits(weir_run_state *run, weir_text *text);

/* ---- loop.c: with the mutex held ---- */

void weir_run_enter(weir_run_state *run, weir_segment_run *segment);
void weir_run_exit(weir_run_state *run, weir_segment_run *segment);
void weir_run_next_iteration(weir_run_state *run, weir_segment_run *segment);
void weir_frame_settle(weir_run_state *run, weir_frame_run *frame);
void weir_run_drop_frames(weir_run_state *run);

#endif
