/*
 * The inside of a session: devices, resources, plans, and the threads that walk runs nobody waits for.
 */
#ifndef RUN_SESSION_H
#define RUN_SESSION_H

#include "plan/place.h"
#include "run/run.h"

/* A plan in the session's cache. */
typedef struct weir_cached_plan {
    weir_plan *plan;
    weir_output *feeds; /* the signature: feeds, fetches, targets in one array */
    int num_feeds, num_fetches, num_targets;
    weir_output *fetches;
    weir_node **targets;
    bool is_partial;
    int users;            /* runs, steps */
    weir_run_state *idle; /* runs that may be used again */
    int num_idle;
    uint64_t last_used;
    struct weir_cached_plan *next;
} weir_cached_plan;

/* One thread that walks a queue for runs that nobody waits for. */
typedef struct weir_worker {
    weir_session *session;
    int queue;
    pthread_t thread;
    bool is_started;
    weir_run_state *walking;      /* what it looks at now */
    weir_run_state *first, *last; /* posted runs */
} weir_worker;

struct weir_session {
    weir_graph *graph;
    weir_device_set devices;
    weir_container container;  /* its own */
    weir_container *resources; /* where its variables are: its own container, or its task's */
    weir_session_state state;
    weir_placement placement;
    pthread_mutex_t mutex; /* plans, placement, runs */
    pthread_cond_t idle;   /* a run ended */
    weir_cached_plan *plans;
    int num_plans;
    int max_plans, max_layouts;
    uint64_t clock;
    uint32_t disabled_passes;
    bool allow_soft_placement, log_device_placement, stop_at_nan, is_closed;
    FILE *placement_stream;
    int64_t timeout_ms;
    int64_t memory_limit;   /* bytes of host memory a run may use */
    weir_run_state *active; /* list of runs under way */
    int num_active;
    pthread_mutex_t workers_mutex;
    pthread_cond_t workers_wake;
    pthread_cond_t workers_released;
    weir_worker *workers; /* [queues] */
    int num_workers;
    bool workers_stop;
    pthread_cond_t watcher_wake;
    pthread_t watcher; /* sees to deadlines of runs that nobody waits for */
    bool watcher_is_started;
    int64_t watch_ns; /* when it looks again; 0: when it is told to */
    _Atomic bool measures;
    weir_time_sums sums; /* guarded by mutex */
};

/* What a session of a cluster's task is given beyond the options of its own. */
typedef struct weir_session_home {
    const char *job; /* NULL: localhost, task 0 */
    int task;
    weir_container
        *container; /* of the task, which outlives the session: variables are shared by name; NULL: its own */
} weir_session_home;

WEIR_WARN_UNUSED weir_status weir_session_new_in(weir_graph *graph, const weir_session_options *options,
                                                 const weir_session_home *home, weir_session **out);

/* As weir_run_start, with the caller's rendezvous, which must live until the run is freed. */
WEIR_WARN_UNUSED weir_status weir_run_start_at(weir_session *session, const weir_run_arrays *run,
                                               weir_rendezvous *rendezvous,
                                               void (*done)(void *context, weir_pending_run *run), void *context,
                                               weir_pending_run **out);

/* What the options ask of devices, with what the environment says. */
WEIR_WARN_UNUSED weir_status weir_session_device_options(const weir_session_options *options, weir_device_options *out);

WEIR_WARN_UNUSED weir_status weir_workers_init(weir_session *session);

/* Has deadlines looked at when this time has come. */
void weir_workers_watch(weir_session *session, int64_t deadline_ns);
void weir_workers_stop(weir_session *session);  /* ends the threads */
void weir_workers_clear(weir_session *session); /* after that, when no run is left */

/* A cached plan for the signature, with one user more. */
WEIR_WARN_UNUSED weir_status weir_session_plan(weir_session *session, const weir_output *feeds, int num_feeds,
                                               const weir_output *fetches, int num_fetches, weir_node *const *targets,
                                               int num_targets, bool is_partial, weir_cached_plan **out);
void weir_session_release_plan(weir_session *session, weir_cached_plan *cached);

/* A run of the plan, idle or new, registered as active; FAILED_PRECONDITION when the session is closed. */
WEIR_WARN_UNUSED weir_status weir_session_take_run(weir_session *session, weir_cached_plan *cached, bool is_direct,
                                                   weir_run_state **out);

/* Gives it back (idle: kept for the next time) or frees it. The run must be done. */
void weir_session_give_run(weir_run_state *run, bool keep);

/* Registers a run of a step as active for the time of one run. */
WEIR_WARN_UNUSED weir_status weir_session_register(weir_run_state *run);
void weir_session_unregister(weir_run_state *run);

/* A run that perhaps nobody waits for: the session ends it when its deadline has come. */
void weir_session_watch(weir_run_state *run);

/* Ends the runs whose deadline has come; returns the next one, or 0. */
int64_t weir_session_check_deadlines(weir_session *session);

/* Checks feeds against their outputs. */
WEIR_WARN_UNUSED weir_status weir_check_feed(weir_output output, const weir_tensor *value);

/* After the end: fetches into results (owned tensors). */
WEIR_WARN_UNUSED weir_status weir_run_collect(weir_run_state *run, weir_tensor **results);
WEIR_WARN_UNUSED weir_status weir_run_fetch(weir_run_state *run, weir_port fetch, weir_tensor **out);

#endif
