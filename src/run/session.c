/*
 * Sessions: making and closing them, their devices, and the cache of plans.
 */
#include "run/session.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_PLANS 64
#define DEFAULT_LAYOUTS 16
#define MOST_IDLE_RUNS 8

/* ---- Options ---- */

static weir_status read_number(const char *name, int *out)
{
    const char *text = getenv(name);
    if (text == NULL || text[0] == '\0')
        return WEIR_STATUS_OK;
    char *end = NULL;
    long number = strtol(text, &end, 10);
    if (*end != '\0' || number < 0 || number > 64)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s is '%s': a number from 0 to 64 is expected", name, text);
    *out = (int)number;
    return WEIR_STATUS_OK;
}

weir_status weir_session_device_options(const weir_session_options *options, weir_device_options *out)
{
    *out = (weir_device_options){.threads = options->threads,
                                 .cpu_devices = options->cpu_devices,
                                 .sim_gpus = options->sim_gpus > 0 ? options->sim_gpus : 0,
                                 .sim_memory_bytes = options->sim_memory_bytes,
                                 .sim_delay_us = options->sim_delay_us,
                                 .memory_fraction = options->per_process_gpu_memory_fraction,
                                 .allow_growth = options->allow_growth,
                                 .visible_device_list = options->visible_device_list};
    if (options->sim_gpus == 0)
        WEIR_TRY(read_number("WEIR_SIM_GPUS", &out->sim_gpus));
    if (!(options->per_process_gpu_memory_fraction >= 0 && options->per_process_gpu_memory_fraction <= 1))
        return weir_fail(WEIR_INVALID_ARGUMENT,
                         "per_process_gpu_memory_fraction is %g: more than 0 and at most 1 is expected",
                         options->per_process_gpu_memory_fraction);
    return WEIR_STATUS_OK;
}

static weir_status check_options(const weir_session_options *options)
{
    if (options->timeout_ms < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "timeout_ms is %lld: 0 or more is expected",
                         (long long)options->timeout_ms);
    if (options->max_plans < 0 || options->max_layouts < 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "max_plans is %d and max_layouts %d: 0 or more is expected",
                         options->max_plans, options->max_layouts);
    return WEIR_STATUS_OK;
}

/* ---- Life ---- */

static void print_mapping(const weir_session *session)
{
    bool has_described = false;
    for (int d = 0; d < session->devices.count; d++)
        has_described = has_described || session->devices.items[d]->description[0] != '\0';
    FILE *stream = session->placement_stream;
    fprintf(stream, has_described ? "Device mapping:\n" : "Device mapping: no known devices.\n");
    for (int d = 0; d < session->devices.count; d++) {
        if (session->devices.items[d]->description[0] != '\0')
            fprintf(stream, "%s -> %s\n", session->devices.items[d]->name, session->devices.items[d]->description);
    }
    fflush(stream);
}

static weir_status open_session(weir_session *session, const weir_session_options *options,
                                const weir_session_home *home)
{
    weir_device_options devices;
    WEIR_TRY(check_options(options));
    WEIR_TRY(weir_session_device_options(options, &devices));
    WEIR_TRY(weir_passes_parse(options->disabled_passes, &session->disabled_passes));
    const char *job = home->job != NULL ? home->job : "localhost";
    WEIR_TRY(weir_devices_open(&devices, job, home->job != NULL ? home->task : 0, &session->devices));
    session->max_plans = options->max_plans > 0 ? options->max_plans : DEFAULT_PLANS;
    session->max_layouts = options->max_layouts > 0 ? options->max_layouts : DEFAULT_LAYOUTS;
    session->allow_soft_placement = options->allow_soft_placement;
    session->log_device_placement = options->log_device_placement;
    session->placement_stream = options->placement_stream != NULL ? options->placement_stream : stdout;
    session->stop_at_nan = options->stop_at_nan;
    session->timeout_ms = options->timeout_ms;
    session->memory_limit = weir_host_memory_limit();
    if (session->log_device_placement)
        print_mapping(session);
    return weir_workers_init(session);
}

weir_status weir_session_new(weir_graph *graph, const weir_session_options *options, weir_session **out)
{
    return weir_session_new_in(graph, options, &(weir_session_home){0}, out);
}

weir_status weir_session_new_in(weir_graph *graph, const weir_session_options *options, const weir_session_home *home,
                                weir_session **out)
{
    static const weir_session_options defaults = {.size = sizeof defaults};
    if (graph == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "weir_session_new needs a graph");
    WEIR_TRY(weir_graph_take_error(graph));
    weir_session *session = NULL;
    WEIR_TRY(weir_new(&session, 1));
    session->graph = graph;
    pthread_mutex_init(&session->mutex, NULL);
    pthread_cond_init(&session->idle, NULL);
    weir_status status = weir_container_init(&session->container);
    session->resources = home->container != NULL ? home->container : &session->container;
    if (weir_ok(status))
        status = weir_session_state_init(&session->state, session->resources);
    if (weir_ok(status))
        status = open_session(session, options != NULL ? options : &defaults, home);
    if (weir_ok(status))
        *out = session;
    else
        weir_session_free(session);
    return status;
}

static void free_plan(weir_cached_plan *cached)
{
    while (cached->idle != NULL) {
        weir_run_state *next = cached->idle->next;
        weir_session_forget(cached->idle);
        weir_run_destroy(cached->idle);
        cached->idle = next;
    }
    weir_plan_free(cached->plan);
    weir_release(cached->feeds);
    weir_release(cached->fetches);
    weir_release(cached->targets);
    weir_release(cached);
}

/* ---- Active runs, with the mutex held ---- */

static void link_active(weir_session *session, weir_run_state *run)
{
    run->previous = NULL;
    run->next = session->active;
    if (session->active != NULL)
        session->active->previous = run;
    session->active = run;
    session->num_active++;
}

static void unlink_active(weir_session *session, weir_run_state *run)
{
    if (run->previous != NULL)
        run->previous->next = run->next;
    else
        session->active = run->next;
    if (run->next != NULL)
        run->next->previous = run->previous;
    run->next = run->previous = NULL;
    run->watch_ns = 0;
    run->is_closing = false;
    run->has_ended = false;
}

/* Buffers that variables of the plan had before their shape changed: with no run under way nobody reads them any more. Those
 * of a task are other sessions' as well, which may be reading. */
static void free_retired(const weir_session *session, const weir_plan *plan)
{
    for (size_t i = 0; session->resources == &session->container && i < plan->resources.count; i++) {
        weir_resource *resource = plan->resources.items[i];
        if (resource->type == &weir_variable_type && ((weir_variable *)resource)->retired.count > 0)
            weir_variable_free_retired((weir_variable *)resource);
    }
}

static void end_active(weir_session *session, const weir_plan *plan)
{
    if (--session->num_active == 0)
        free_retired(session, plan);
    if (session->num_active == 0 || session->is_closed)
        pthread_cond_broadcast(&session->idle);
}

/* A run that nobody needs any more, neither its owner nor the session. Without the mutex. */
static void put_away(weir_run_state *run, bool may_keep)
{
    weir_session *session = run->session;
    weir_cached_plan *cached = run->cached;
    if (!run->is_direct)
        weir_session_forget(run);
    weir_run_reset(run);
    pthread_mutex_lock(&session->mutex);
    bool is_kept = may_keep && cached->num_idle < MOST_IDLE_RUNS;
    if (is_kept) {
        run->next = cached->idle;
        cached->idle = run;
        cached->num_idle++;
    } else {
        pthread_mutex_unlock(&session->mutex);
        weir_run_destroy(run); /* needs the plan, so that this is still used */
        pthread_mutex_lock(&session->mutex);
    }
    cached->users--;
    end_active(session, cached->plan);
    pthread_mutex_unlock(&session->mutex);
}

/* Lets the mutex go while the session looks at a run, which cannot go away meanwhile. */
static void pin(weir_run_state *run)
{
    run->pins++;
    pthread_mutex_unlock(&run->session->mutex);
}

static void unpin(weir_run_state *run)
{
    weir_session *session = run->session;
    pthread_mutex_lock(&session->mutex);
    if (--run->pins > 0)
        return;
    pthread_cond_broadcast(&session->idle);
    if (!run->is_given_back)
        return;
    run->is_given_back = false;
    unlink_active(session, run);
    pthread_mutex_unlock(&session->mutex);
    put_away(run, run->may_be_kept);
    pthread_mutex_lock(&session->mutex);
}

/* ---- Closing ---- */

/* An active run that close has not told yet. */
static weir_run_state *next_to_close(const weir_session *session)
{
    weir_run_state *run = session->active;
    while (run != NULL && run->is_closing)
        run = run->next;
    return run;
}

/* An active run whose end close has not seen. A run that was started stays active until its owner frees it, ended or not. */
static weir_run_state *next_to_end(const weir_session *session)
{
    weir_run_state *run = session->active;
    while (run != NULL && run->has_ended)
        run = run->next;
    return run;
}

/* Nothing of the run goes on: it is done and has said so. A partial run is at rest until its owner ends it. */
static bool is_at_rest(const weir_run_state *run)
{
    if (run->plan->is_partial)
        return run->is_done || run->root.outstanding <= 1;
    return run->is_done && (run->done == NULL || run->is_notified || weir_run_is_in_callback(run));
}

static void await_end(weir_run_state *run)
{
    run->has_ended = true;
    pin(run);
    if (!run->plan->is_partial)
        (void)weir_run_join(run, 0); /* helps: this may be the only thread that would walk it */
    pthread_mutex_lock(&run->mutex);
    run->waiters++;
    while (!is_at_rest(run)) {
        if (!weir_run_walk_any(run))
            pthread_cond_wait(&run->changed, &run->mutex);
    }
    run->waiters--;
    weir_run_unlock(run);
    unpin(run);
}

void weir_session_close(weir_session *session)
{
    pthread_mutex_lock(&session->mutex);
    session->is_closed = true;
    for (weir_run_state *run = next_to_close(session); run != NULL; run = next_to_close(session)) {
        run->is_closing = true;
        pin(run);
        weir_run_stop(run, weir_fail(WEIR_CANCELLED, "Session was closed"));
        unpin(run);
    }
    pthread_mutex_unlock(&session->mutex);
    weir_container_clear(&session->container);
    pthread_mutex_lock(&session->mutex);
    for (weir_run_state *run = next_to_end(session); run != NULL; run = next_to_end(session)) {
        if (run->is_direct)
            pthread_cond_wait(&session->idle, &session->mutex); /* its caller walks it and takes it away */
        else
            await_end(run);
    }
    pthread_mutex_unlock(&session->mutex);
}

void weir_session_free(weir_session *session)
{
    if (session == NULL)
        return;
    weir_session_close(session);
    pthread_mutex_lock(&session->mutex);
    while (session->num_active > 0) /* runs that are freed, but still being put away by other threads */
        pthread_cond_wait(&session->idle, &session->mutex);
    pthread_mutex_unlock(&session->mutex);
    if (session->workers != NULL)
        weir_workers_stop(session);
    while (session->plans != NULL) {
        weir_cached_plan *next = session->plans->next;
        free_plan(session->plans);
        session->plans = next;
    }
    if (session->workers != NULL)
        weir_workers_clear(session);
    weir_placement_clear(&session->placement);
    weir_session_state_clear(&session->state);
    weir_container_destroy(&session->container);
    weir_devices_close(&session->devices);
    pthread_cond_destroy(&session->idle);
    pthread_mutex_destroy(&session->mutex);
    weir_release(session);
}

weir_graph *weir_session_graph(const weir_session *session)
{
    return session->graph;
}

/* ---- Devices ---- */

static void describe_device(const weir_device *device, weir_device_info *out)
{
    *out = (weir_device_info){.memory_limit = device->memory_limit, .incarnation = device->incarnation};
    snprintf(out->name, sizeof out->name, "%s", device->name);
    snprintf(out->type, sizeof out->type, "%s", device->type);
    snprintf(out->description, sizeof out->description, "%s", device->description);
    out->threads = weir_team_size(device->team);
}

int weir_session_devices(const weir_session *session, weir_device_info *devices, int capacity)
{
    for (int d = 0; d < session->devices.count && d < capacity; d++)
        describe_device(session->devices.items[d], &devices[d]);
    return session->devices.count;
}

weir_status weir_list_devices(const weir_session_options *options, weir_device_info *devices, int capacity, int *count)
{
    static const weir_session_options defaults = {.size = sizeof defaults};
    weir_device_options wanted;
    weir_device_set set;
    WEIR_TRY(weir_session_device_options(options != NULL ? options : &defaults, &wanted));
    WEIR_TRY(weir_devices_open(&wanted, "localhost", 0, &set));
    for (int d = 0; d < set.count && d < capacity; d++)
        describe_device(set.items[d], &devices[d]);
    *count = set.count;
    weir_devices_close(&set);
    return WEIR_STATUS_OK;
}

/* ---- Plans ---- */

typedef struct signature {
    const weir_output *feeds, *fetches;
    weir_node *const *targets;
    int num_feeds, num_fetches, num_targets;
    bool is_partial;
} signature;

static bool same_outputs(const weir_output *a, const weir_output *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (a[i].node != b[i].node || a[i].index != b[i].index)
            return false;
    }
    return true;
}

static bool matches(const weir_cached_plan *cached, const signature *wanted)
{
    return cached->num_feeds == wanted->num_feeds && cached->num_fetches == wanted->num_fetches &&
           cached->num_targets == wanted->num_targets && cached->is_partial == wanted->is_partial &&
           same_outputs(cached->feeds, wanted->feeds, wanted->num_feeds) &&
           same_outputs(cached->fetches, wanted->fetches, wanted->num_fetches) &&
           (wanted->num_targets == 0 ||
            memcmp(cached->targets, wanted->targets, (size_t)wanted->num_targets * sizeof *wanted->targets) == 0);
}

static weir_status check_output(const weir_session *session, weir_output output, const char *what, int index)
{
    if (output.node == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s %d is a null output: the call that should have made it failed",
                         what, index);
    if (output.node->graph != session->graph)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s %d ('%s') is of another graph than the session's", what, index,
                         output.node->name);
    if (output.index < 0 || output.index >= output.node->num_outputs)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s %d: node '%s' (op %s) has %d outputs, not output %d", what, index,
                         output.node->name, output.node->op->name, output.node->num_outputs, output.index);
    return WEIR_STATUS_OK;
}

static weir_status check_signature(const weir_session *session, const signature *wanted)
{
    for (int i = 0; i < wanted->num_feeds; i++) {
        WEIR_TRY(check_output(session, wanted->feeds[i], "Feed", i));
        for (int j = 0; j < i; j++) {
            if (same_outputs(&wanted->feeds[i], &wanted->feeds[j], 1))
                return weir_fail(WEIR_INVALID_ARGUMENT, "'%s:%d' is fed more than once", wanted->feeds[i].node->name,
                                 wanted->feeds[i].index);
        }
    }
    for (int i = 0; i < wanted->num_fetches; i++) {
        WEIR_TRY(check_output(session, wanted->fetches[i], "Fetch", i));
        if (weir_dtype_base(weir_output_dtype(wanted->fetches[i])) == WEIR_RESOURCE)
            return weir_fail(WEIR_INVALID_ARGUMENT, "'%s:%d' is a handle: it cannot be fetched",
                             wanted->fetches[i].node->name, wanted->fetches[i].index);
    }
    for (int i = 0; i < wanted->num_targets; i++) {
        if (wanted->targets[i] == NULL)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Target %d is NULL: the call that should have made it failed", i);
        if (wanted->targets[i]->graph != session->graph)
            return weir_fail(WEIR_INVALID_ARGUMENT, "Target %d ('%s') is of another graph than the session's", i,
                             wanted->targets[i]->name);
    }
    return WEIR_STATUS_OK;
}

static weir_status copy_signature(weir_cached_plan *cached, const signature *wanted)
{
    WEIR_TRY(weir_new(&cached->feeds, (size_t)wanted->num_feeds));
    WEIR_TRY(weir_new(&cached->fetches, (size_t)wanted->num_fetches));
    WEIR_TRY(weir_new(&cached->targets, (size_t)wanted->num_targets));
    if (wanted->num_feeds > 0)
        memcpy(cached->feeds, wanted->feeds, (size_t)wanted->num_feeds * sizeof *wanted->feeds);
    if (wanted->num_fetches > 0)
        memcpy(cached->fetches, wanted->fetches, (size_t)wanted->num_fetches * sizeof *wanted->fetches);
    if (wanted->num_targets > 0)
        memcpy(cached->targets, wanted->targets, (size_t)wanted->num_targets * sizeof *wanted->targets);
    cached->num_feeds = wanted->num_feeds;
    cached->num_fetches = wanted->num_fetches;
    cached->num_targets = wanted->num_targets;
    cached->is_partial = wanted->is_partial;
    return WEIR_STATUS_OK;
}

static weir_status place_new_nodes(weir_session *session)
{
    int first = (int)session->placement.device.count;
    WEIR_TRY(weir_place_nodes(&session->placement, session->graph, &session->devices, session->allow_soft_placement));
    if (session->log_device_placement)
        weir_placement_print(&session->placement, session->graph, &session->devices, first, session->placement_stream);
    return WEIR_STATUS_OK;
}

/* Plans beyond the limit that nobody uses; with the mutex held. */
static void drop_old_plans(weir_session *session)
{
    while (session->num_plans > session->max_plans) {
        weir_cached_plan **oldest = NULL;
        for (weir_cached_plan **at = &session->plans; *at != NULL; at = &(*at)->next) {
            if ((*at)->users == 0 && (oldest == NULL || (*at)->last_used < (*oldest)->last_used))
                oldest = at;
        }
        if (oldest == NULL)
            return;
        weir_cached_plan *gone = *oldest;
        *oldest = gone->next;
        session->num_plans--;
        free_plan(gone);
    }
}

static weir_status make_plan(weir_session *session, const signature *wanted, weir_cached_plan **out)
{
    WEIR_TRY(weir_graph_take_error(session->graph));
    WEIR_TRY(check_signature(session, wanted));
    WEIR_TRY(place_new_nodes(session));
    weir_cached_plan *cached = NULL;
    WEIR_TRY(weir_new(&cached, 1));
    weir_plan_request request = {.graph = session->graph,
                                 .devices = &session->devices,
                                 .session = &session->state,
                                 .placement = session->placement.device.items,
                                 .feeds = wanted->feeds,
                                 .num_feeds = wanted->num_feeds,
                                 .fetches = wanted->fetches,
                                 .num_fetches = wanted->num_fetches,
                                 .targets = wanted->targets,
                                 .num_targets = wanted->num_targets,
                                 .is_partial = wanted->is_partial,
                                 .disabled_passes = session->disabled_passes};
    weir_status status = copy_signature(cached, wanted);
    if (weir_ok(status))
        status = weir_plan_new(&request, &cached->plan);
    if (!weir_ok(status)) {
        free_plan(cached);
        return status;
    }
    cached->next = session->plans;
    session->plans = cached;
    session->num_plans++;
    *out = cached;
    return WEIR_STATUS_OK;
}

weir_status weir_session_plan(weir_session *session, const weir_output *feeds, int num_feeds,
                              const weir_output *fetches, int num_fetches, weir_node *const *targets, int num_targets,
                              bool is_partial, weir_cached_plan **out)
{
    signature wanted = {feeds, fetches, targets, num_feeds, num_fetches, num_targets, is_partial};
    weir_status status = WEIR_STATUS_OK;
    pthread_mutex_lock(&session->mutex);
    weir_cached_plan *found = session->plans;
    while (found != NULL && !matches(found, &wanted))
        found = found->next;
    if (session->is_closed)
        status = weir_fail(WEIR_FAILED_PRECONDITION, "Attempted to use a closed Session.");
    else if (found == NULL)
        status = make_plan(session, &wanted, &found);
    if (weir_ok(status)) {
        found->users++;
        found->last_used = ++session->clock;
        drop_old_plans(session);
        *out = found;
    }
    pthread_mutex_unlock(&session->mutex);
    return status;
}

void weir_session_release_plan(weir_session *session, weir_cached_plan *cached)
{
    pthread_mutex_lock(&session->mutex);
    cached->users--;
    drop_old_plans(session);
    pthread_mutex_unlock(&session->mutex);
}

/* ---- Runs ---- */

weir_status weir_session_register(weir_run_state *run)
{
    weir_session *session = run->session;
    weir_status status = WEIR_STATUS_OK;
    pthread_mutex_lock(&session->mutex);
    if (session->is_closed)
        status = weir_fail(WEIR_FAILED_PRECONDITION, "Attempted to use a closed Session.");
    else
        link_active(session, run);
    pthread_mutex_unlock(&session->mutex);
    return status;
}

void weir_session_unregister(weir_run_state *run)
{
    weir_session *session = run->session;
    pthread_mutex_lock(&session->mutex);
    while (run->pins > 0)
        pthread_cond_wait(&session->idle, &session->mutex);
    unlink_active(session, run);
    end_active(session, run->plan);
    pthread_mutex_unlock(&session->mutex);
}

void weir_session_watch(weir_run_state *run)
{
    weir_session *session = run->session;
    pthread_mutex_lock(&session->mutex);
    run->watch_ns = run->deadline_ns;
    pthread_mutex_unlock(&session->mutex);
    weir_workers_watch(session, run->deadline_ns);
}

/* An active run whose deadline has come; else *next is the earliest deadline. */
static weir_run_state *find_late(const weir_session *session, int64_t now, int64_t *next)
{
    *next = 0;
    for (weir_run_state *run = session->active; run != NULL; run = run->next) {
        if (run->watch_ns > 0 && run->watch_ns <= now)
            return run;
        if (run->watch_ns > 0 && (*next == 0 || run->watch_ns < *next))
            *next = run->watch_ns;
    }
    return NULL;
}

int64_t weir_session_check_deadlines(weir_session *session)
{
    int64_t now = weir_now_ns();
    int64_t next = 0;
    pthread_mutex_lock(&session->mutex);
    for (weir_run_state *run = find_late(session, now, &next); run != NULL; run = find_late(session, now, &next)) {
        run->watch_ns = 0;
        pin(run);
        pthread_mutex_lock(&run->mutex);
        weir_run_check_deadline(run);
        weir_run_unlock(run);
        unpin(run);
    }
    pthread_mutex_unlock(&session->mutex);
    return next;
}

weir_status weir_session_take_run(weir_session *session, weir_cached_plan *cached, bool is_direct, weir_run_state **out)
{
    weir_status status = WEIR_STATUS_OK;
    weir_run_state *run = NULL;
    pthread_mutex_lock(&session->mutex);
    if (session->is_closed) {
        status = weir_fail(WEIR_FAILED_PRECONDITION, "Attempted to use a closed Session.");
    } else if (cached->idle != NULL) {
        run = cached->idle;
        cached->idle = run->next;
        cached->num_idle--;
    } else {
        status = weir_run_create(session, cached->plan, &run);
    }
    if (weir_ok(status)) {
        run->cached = cached;
        run->is_direct = is_direct;
        link_active(session, run);
        *out = run;
    }
    pthread_mutex_unlock(&session->mutex);
    return status;
}

void weir_session_give_run(weir_run_state *run, bool keep)
{
    weir_session *session = run->session;
    pthread_mutex_lock(&session->mutex);
    bool is_pinned = run->pins > 0;
    run->is_given_back = is_pinned;
    run->may_be_kept = keep;
    if (!is_pinned)
        unlink_active(session, run);
    pthread_mutex_unlock(&session->mutex);
    if (!is_pinned)
        put_away(run, keep);
}
