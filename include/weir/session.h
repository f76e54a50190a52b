/*
 * Sessions: running parts of a graph on the devices of this process.
 *
 * A run is given by what is fed, what is fetched and what else is to be done (targets); only the nodes these need are run,
 * each once. The first run with a given set of feeds, fetches and targets makes a plan, which is kept.
 *
 * Threads: any number of threads may run, prepare, cancel and close; the graph may grow between runs (externally locked
 * against runs that meet new nodes). Variables, queues and the state of random ops belong to the session.
 */
#ifndef WEIR_SESSION_H
#define WEIR_SESSION_H

#include <weir/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_session weir_session;

typedef struct weir_session_options {
    size_t size;
    bool log_device_placement; /* print TensorFlow's lines when nodes are placed, see placement_stream */
    FILE *placement_stream;    /* NULL: stdout, as TensorFlow does */
    bool allow_soft_placement; /* a device that is not there, or has no kernel, gives way to one that can do it */
    int threads;               /* of the thread team of each CPU device; 0: the cores that affinity and cgroup allow */
    int cpu_devices;           /* "/cpu:0", "/cpu:1" ...; 0: one */
    int sim_gpus;             /* simulated accelerators "/gpu:0" ...; 0: what WEIR_SIM_GPUS says, else none; -1: none */
    int64_t sim_memory_bytes; /* memory of each; 0: 1 GiB */
    int sim_delay_us;         /* longest random delay before each command of a simulated stream; 0: none */
    double per_process_gpu_memory_fraction; /* 0 < f <= 1 of an accelerator's memory; 0: all of it */
    bool allow_growth; /* of accelerator memory: for devices that would take it all at once; simulated ones never do */
    const char
        *visible_device_list; /* "1,0": accelerators in this order; NULL: as CUDA_VISIBLE_DEVICES says, else all */
    int64_t timeout_ms;       /* for each run that says none itself; 0: no limit */
    const char
        *disabled_passes; /* names of planner passes, separated by commas ("fuse,fold"); weir_pass_names lists them */
    bool stop_at_nan;     /* a run fails at the first node that makes a NaN or infinity, naming it */
    int max_plans;        /* plans kept, the least recently used goes first; 0: 64 */
    int max_layouts;      /* layouts kept for each part of a plan, one per set of shapes; 0: 16 */
} weir_session_options;

/* A session on a graph, which must outlive it. options may be NULL. The graph's own error, if it has one, is returned (and
 * cleared). Returns owned. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_session_new(weir_graph *graph, const weir_session_options *options,
                                                       weir_session **out);

/* Ends all runs (CANCELLED "Session was closed") and waits for them; later runs fail with FAILED_PRECONDITION "Attempted to
 * use a closed Session.". Any thread, also from a run's done, which does not wait for its own run; of two calls at the same
 * time each waits for some of the runs. */
WEIR_API void weir_session_close(weir_session *session);

/* Closes and frees. No call may be under way, steps and runs must be freed before. Accepts NULL. */
WEIR_API void weir_session_free(weir_session *session);

static inline void weir_session_free_at(weir_session **session)
{
    weir_session_free(*session);
}

WEIR_API weir_graph *weir_session_graph(const weir_session *session);

/* Names of the planner's passes, separated by commas, in their order. */
WEIR_API const char *weir_pass_names(void);

/* ---- Devices ---- */

typedef struct weir_device_info {
    char name[192];        /* "/job:localhost/replica:0/task:0/device:CPU:0" */
    char type[32];         /* "CPU", "GPU" */
    int64_t memory_limit;  /* bytes */
    char description[256]; /* physical device; "" for a CPU */
    uint64_t incarnation;  /* random, not zero */
    int threads;           /* of its team; 1 for accelerators */
} weir_device_info;

/* The session's devices; returns how many there are and writes at most capacity of them. */
WEIR_API int weir_session_devices(const weir_session *session, weir_device_info *devices, int capacity);

/* The devices that a session with these options would have, without allocating on them. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_list_devices(const weir_session_options *options, weir_device_info *devices,
                                                        int capacity, int *count);

/* A driver, and how many devices it has here; why says why it has none. */
typedef struct weir_driver_info {
    char name[16]; /* "cpu", "sim" */
    char type[16]; /* "CPU", "GPU" */
    int num_devices;
    char why[256];
} weir_driver_info;

/* The drivers of this build; returns in count how many there are and writes at most capacity of them. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_list_drivers(const weir_session_options *options, weir_driver_info *drivers,
                                                        int capacity, int *count);

/* A library that this build can use. */
typedef struct weir_library_info {
    char name[32];
    bool is_present;
    char note[128]; /* what it is for, its version */
} weir_library_info;

/* Returns how many there are and writes at most capacity of them. Any thread. */
WEIR_API int weir_list_libraries(weir_library_info *libraries, int capacity);

/* ---- Runs ---- */

typedef struct weir_feed {
    weir_output output;
    weir_tensor *value; /* borrowed for the run; host memory */
} weir_feed;

/* What a run can tell about itself; asked for with .metadata. */
typedef struct weir_run_metadata weir_run_metadata;

/* Counts and arrays: the twin of weir_run for other languages and long lists. */
typedef struct weir_run_arrays {
    size_t size;
    const weir_feed *feeds;
    int num_feeds;
    const weir_output *fetches;
    weir_tensor **results; /* [num_fetches]: set to owned tensors on success, untouched on failure */
    int num_fetches;
    weir_node *const *targets;
    int num_targets;
    int64_t timeout_ms;           /* 0: the session's; DEADLINE_EXCEEDED says who waited for what */
    weir_run_metadata **metadata; /* NULL: none is gathered, at no cost; else set to an owned one */
} weir_run_arrays;

WEIR_API WEIR_WARN_UNUSED weir_status weir_run_with_arrays(weir_session *session, const weir_run_arrays *run);

#define WEIR_RUN_MOST 32

/* weir_run(session, .feeds = {{x, images}}, .fetches = {loss}, .results = {&value}, .targets = {train}): at most
 * WEIR_RUN_MOST of each; lists end at their first empty entry. Unequal numbers of fetches and results are an error. */
typedef struct weir_run_options {
    size_t size;
    weir_feed feeds[WEIR_RUN_MOST];
    weir_output fetches[WEIR_RUN_MOST];
    weir_tensor **results[WEIR_RUN_MOST];
    weir_node *targets[WEIR_RUN_MOST];
    int64_t timeout_ms;
    weir_run_metadata **metadata;
} weir_run_options;

WEIR_API WEIR_WARN_UNUSED weir_status(weir_run)(weir_session *session, const weir_run_options *options);

/* ---- Runs that are not waited for at once ---- */

typedef struct weir_run weir_pending_run;

/* Starts a run. Feeds must live until it has ended. done (may be NULL) is called once, from any thread, when it has. The
 * pending run is owned by the caller. A failure of this call means that nothing was started and done is never called. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_run_start(weir_session *session, const weir_run_arrays *run,
                                                     void (*done)(void *context, weir_pending_run *run), void *context,
                                                     weir_pending_run **out);

/* Waits for its end (helping to compute), hands out the results to the array given at the start, and returns its status.
 * timeout_ms: of this wait alone (0: none); DEADLINE_EXCEEDED leaves the run going on. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_run_wait(weir_pending_run *run, int64_t timeout_ms);

/* Asks the run to end with CANCELLED; at any moment, any thread. */
WEIR_API void weir_run_cancel(weir_pending_run *run);

/* Cancels it if it still goes on, waits, and frees. Accepts NULL. */
WEIR_API void weir_run_free(weir_pending_run *run);

/* ---- Partial runs: one run whose feeds and fetches come piece by piece ---- */

typedef struct weir_partial_run weir_partial_run;

/* Names all that will be fed, fetched and done. Returns owned. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_partial_run_new(weir_session *session, const weir_output *feeds,
                                                           int num_feeds, const weir_output *fetches, int num_fetches,
                                                           weir_node *const *targets, int num_targets,
                                                           weir_partial_run **out);

/* Feeds some and fetches some: each feed and each fetch once in the life of the partial run. A fetch that needs a feed
 * which did not come yet is INVALID_ARGUMENT naming it. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_partial_run_go(weir_partial_run *run, const weir_feed *feeds, int num_feeds,
                                                          const weir_output *fetches, weir_tensor **results,
                                                          int num_fetches);

/* Ends it, finished or not. Accepts NULL. */
WEIR_API void weir_partial_run_free(weir_partial_run *run);

/* ---- Prepared runs ---- */

/* A prepared run: nothing is looked up or allocated any more. One handle, one thread at a time. */
typedef struct weir_step weir_step;

/* weir_prepare(session, &step, .targets = {train}, .feeds = {x, y},
 *              .feed_shapes = {WEIR_SHAPE(100, 784), WEIR_SHAPE(100, 10)}, .fetches = {loss}) */
typedef struct weir_prepare_options {
    size_t size;
    weir_output feeds[WEIR_RUN_MOST];
    weir_shape feed_shapes[WEIR_RUN_MOST]; /* fully known; left out (rank 0, no name): a scalar */
    weir_output fetches[WEIR_RUN_MOST];
    weir_node *targets[WEIR_RUN_MOST];
    int64_t timeout_ms; /* of each run; 0: the session's */
} weir_prepare_options;

WEIR_API WEIR_WARN_UNUSED weir_status(weir_prepare)(weir_session *session, const weir_prepare_options *options,
                                                    weir_step **out);

/* The buffer of a feed, to be filled in place before each run; results live until the next run. Index out of range or
 * another element type: NULL. Borrowed. */
WEIR_API weir_tensor *weir_step_feed(weir_step *step, int index);
WEIR_API const weir_tensor *weir_step_result(const weir_step *step, int index);
WEIR_API float *weir_step_feed_float(weir_step *step, int index);
WEIR_API const float *weir_step_result_float(const weir_step *step, int index);

/* Makes the step read a feed from the caller's memory instead of its own buffer: elements of the prepared shape and type,
 * aligned to 64 bytes, valid until they are replaced. NULL: the step's own buffer again. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_step_feed_from(weir_step *step, int index, const void *elements);

WEIR_API WEIR_WARN_UNUSED weir_status weir_step_run(weir_step *step);

/* Accepts NULL. */
WEIR_API void weir_step_free(weir_step *step);

static inline void weir_step_free_at(weir_step **step)
{
    weir_step_free(*step);
}

#ifndef __cplusplus
#define weir_run(session, ...)                                                                                         \
    (weir_run)((session), &(const weir_run_options){.size = sizeof(weir_run_options), __VA_ARGS__})
/* The second argument is the address of the step. */
#define weir_prepare(session, step_address, ...)                                                                       \
    (weir_prepare)((session), &(const weir_prepare_options){.size = sizeof(weir_prepare_options), __VA_ARGS__},        \
                   (step_address))
#endif

/* ---- What a run tells about itself ---- */

WEIR_API void weir_run_metadata_free(weir_run_metadata *metadata); /* accepts NULL */

/* RunMetadata with StepStats in TensorFlow's terms, serialized (release with free()). */
WEIR_API WEIR_WARN_UNUSED weir_status weir_run_metadata_serialize(const weir_run_metadata *metadata, void **bytes,
                                                                  size_t *size);

/* A trace for chrome://tracing or Perfetto, as JSON into a file. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_run_metadata_write_trace(const weir_run_metadata *metadata,
                                                                    const char *path);

/* Where the time of a run went, in seconds. */
typedef struct weir_time_sums {
    double input;    /* copying feeds in and fetches out */
    double compute;  /* in kernels */
    double transfer; /* between devices */
    double wait;     /* for queues, other runs and devices */
    double total;
} weir_time_sums;
WEIR_API weir_time_sums weir_run_metadata_sums(const weir_run_metadata *metadata);

/* Sums over all runs of a session since it was made (input, compute, transfer, wait). Gathered only while switched on. */
WEIR_API void weir_session_measure(weir_session *session, bool on);
WEIR_API weir_time_sums weir_session_sums(const weir_session *session);

#ifdef __cplusplus
}
#endif

#endif
