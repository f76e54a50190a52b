/*
 * The calls that run: at once, started and waited for, partial, prepared.
 */
#include <string.h>

#include "run/metadata.h"
#include "run/session.h"

/* ---- What all have in common ---- */

static weir_status check_counts(const weir_run_arrays *call)
{
    if (call->num_fetches > 0 && call->results == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%d fetches have no place for their results", call->num_fetches);
    for (int i = 0; i < call->num_feeds; i++)
        WEIR_TRY(weir_check_feed(call->feeds[i].output, call->feeds[i].value));
    return WEIR_STATUS_OK;
}

static weir_status take_run(weir_session *session, const weir_run_arrays *call, bool may_be_direct,
                            weir_run_state **out)
{
    weir_output few[16];
    weir_output *feeds = few;
    if (call->num_feeds > 16)
        WEIR_TRY(weir_new(&feeds, (size_t)call->num_feeds));
    for (int i = 0; i < call->num_feeds; i++)
        feeds[i] = call->feeds[i].output;
    weir_cached_plan *cached = NULL;
    weir_status status = weir_session_plan(session, feeds, call->num_feeds, call->fetches, call->num_fetches,
                                           call->targets, call->num_targets, false, &cached);
    if (feeds != few)
        weir_release(feeds);
    if (weir_ok(status))
        status = check_counts(call);
    if (!weir_ok(status)) {
        if (cached != NULL)
            weir_session_release_plan(session, cached);
        return status;
    }
    status = weir_session_take_run(session, cached, may_be_direct && cached->plan->is_simple, out);
    if (!weir_ok(status))
        weir_session_release_plan(session, cached);
    return status;
}

/* is_alone: perhaps nobody waits for it. */
static void begin(weir_run_state *run, const weir_feed *feeds, int num_feeds, int64_t timeout_ms, bool is_alone)
{
    weir_tensor *few[16];
    weir_tensor **values = num_feeds <= 16 ? few : run->feed_values;
    for (int i = 0; i < num_feeds; i++)
        values[i] = feeds[i].value;
    int64_t timeout = timeout_ms > 0 ? timeout_ms : run->session->timeout_ms;
    run->deadline_ns = timeout > 0 ? weir_now_ns() + timeout * 1000000 : 0;
    if (is_alone && run->deadline_ns > 0)
        weir_session_watch(run);
    weir_run_begin(run, values);
}

static weir_status begin_metadata(weir_run_state *run, weir_run_metadata **wanted)
{
    bool measures = atomic_load_explicit(&run->session->measures, memory_order_relaxed);
    if (wanted == NULL && !measures)
        return WEIR_STATUS_OK;
    return weir_metadata_begin(run);
}

/* Hands the metadata out, or drops it. */
static weir_status end_metadata(weir_run_state *run, weir_run_metadata **wanted)
{
    if (run->metadata == NULL)
        return WEIR_STATUS_OK;
    return weir_metadata_end(run, wanted);
}

static weir_status finish(weir_run_state *run, weir_tensor **results)
{
    if (run->is_direct && !run->is_stopped)
        return weir_run_collect(run, results);
    pthread_mutex_lock(&run->mutex);
    weir_status status = weir_error_status(&run->error);
    pthread_mutex_unlock(&run->mutex);
    return weir_ok(status) ? weir_run_collect(run, results) : status;
}

/* ---- At once ---- */

weir_status weir_run_with_arrays(weir_session *session, const weir_run_arrays *call)
{
    weir_run_state *run = NULL;
    WEIR_TRY(take_run(session, call, true, &run));
    weir_status status = begin_metadata(run, call->metadata);
    if (weir_ok(status)) {
        begin(run, call->feeds, call->num_feeds, call->timeout_ms, false);
        (void)weir_run_join(run, 0);
        status = finish(run, call->results);
        weir_status gathered = end_metadata(run, weir_ok(status) ? call->metadata : NULL);
        status = weir_ok(status) ? gathered : status;
    }
    weir_session_give_run(run, true);
    return status;
}

static int count_feeds(const weir_feed *feeds)
{
    int count = 0;
    while (count < WEIR_RUN_MOST && (feeds[count].output.node != NULL || feeds[count].value != NULL))
        count++;
    return count;
}

static int count_outputs(const weir_output *outputs)
{
    int count = 0;
    while (count < WEIR_RUN_MOST && outputs[count].node != NULL)
        count++;
    return count;
}

static int count_nodes(weir_node *const *nodes)
{
    int count = 0;
    while (count < WEIR_RUN_MOST && nodes[count] != NULL)
        count++;
    return count;
}

weir_status(weir_run)(weir_session *session, const weir_run_options *options)
{
    int num_results = 0;
    while (num_results < WEIR_RUN_MOST && options->results[num_results] != NULL)
        num_results++;
    int num_fetches = count_outputs(options->fetches);
    if (num_fetches != num_results) {
        WEIR_TRY(weir_graph_take_error(session->graph)); /* a null output among the fetches has a reason */
        return weir_fail(WEIR_INVALID_ARGUMENT, "%d fetches but %d results", num_fetches, num_results);
    }
    weir_tensor *results[WEIR_RUN_MOST];
    weir_run_arrays call = {.size = sizeof call,
                            .feeds = options->feeds,
                            .num_feeds = count_feeds(options->feeds),
                            .fetches = options->fetches,
                            .results = results,
                            .num_fetches = num_fetches,
                            .targets = options->targets,
                            .num_targets = count_nodes(options->targets),
                            .timeout_ms = options->timeout_ms,
                            .metadata = options->metadata};
    WEIR_TRY(weir_run_with_arrays(session, &call));
    for (int i = 0; i < num_fetches; i++)
        *options->results[i] = results[i];
    return WEIR_STATUS_OK;
}

/* ---- Started ---- */

weir_status weir_run_start(weir_session *session, const weir_run_arrays *call,
                           void (*done)(void *context, weir_pending_run *run), void *context, weir_pending_run **out)
{
    return weir_run_start_at(session, call, NULL, done, context, out);
}

weir_status weir_run_start_at(weir_session *session, const weir_run_arrays *call, weir_rendezvous *rendezvous,
                              void (*done)(void *context, weir_pending_run *run), void *context, weir_pending_run **out)
{
    weir_run_state *run = NULL;
    WEIR_TRY(take_run(session, call, false, &run));
    run->rendezvous = rendezvous != NULL ? rendezvous : &run->local.base;
    run->done = done;
    run->done_context = context;
    run->results = call->results;
    run->metadata_out = call->metadata;
    weir_status status = begin_metadata(run, call->metadata);
    if (!weir_ok(status)) {
        run->done = NULL;
        weir_session_give_run(run, true);
        return status;
    }
    *out = run; /* before it begins: done may be called at once */
    begin(run, call->feeds, call->num_feeds, call->timeout_ms, true);
    return WEIR_STATUS_OK;
}

weir_status weir_run_wait(weir_pending_run *run, int64_t timeout_ms)
{
    int64_t until = timeout_ms > 0 ? weir_now_ns() + timeout_ms * 1000000 : 0;
    if (!weir_run_join(run, until))
        return weir_fail(WEIR_DEADLINE_EXCEEDED, "The run has not ended within %lld ms", (long long)timeout_ms);
    if (run->is_collected)
        return weir_error_status(&run->error);
    run->is_collected = true;
    weir_status status = finish(run, run->results);
    weir_status gathered = end_metadata(run, weir_ok(status) ? run->metadata_out : NULL);
    status = weir_ok(status) ? gathered : status;
    pthread_mutex_lock(&run->mutex);
    weir_error_set(&run->error, status);
    pthread_mutex_unlock(&run->mutex);
    return status;
}

void weir_run_cancel(weir_pending_run *run)
{
    weir_run_stop(run, weir_fail(WEIR_CANCELLED, "The run was cancelled"));
}

bool weir_run_is_in_callback(const weir_run_state *run)
{
    return run->is_calling && !run->is_notified && pthread_equal(run->notifier, pthread_self());
}

/* The callback of a run that is being freed must have returned; false when it is the one that frees. */
static bool await_callback(weir_run_state *run)
{
    pthread_mutex_lock(&run->mutex);
    bool is_callback = weir_run_is_in_callback(run);
    run->is_abandoned = is_callback;
    while (!is_callback && run->done != NULL && !run->is_notified)
        pthread_cond_wait(&run->changed, &run->mutex);
    pthread_mutex_unlock(&run->mutex);
    return !is_callback;
}

void weir_run_dispose(weir_run_state *run)
{
    if (!run->is_collected)
        (void)!weir_ok(end_metadata(run, NULL));
    weir_session_give_run(run, true);
}

void weir_run_free(weir_pending_run *run)
{
    if (run == NULL)
        return;
    weir_run_cancel(run);
    (void)weir_run_join(run, 0);
    if (await_callback(run))
        weir_run_dispose(run);
}

/* ---- Partial ---- */

struct weir_partial_run {
    weir_session *session;
    weir_run_state *run;
    weir_cached_plan *cached;
    weir_tensor **fed; /* [feeds] references */
    bool *is_fetched;  /* [fetches] */
    bool has_ended;
};

weir_status weir_partial_run_new(weir_session *session, const weir_output *feeds, int num_feeds,
                                 const weir_output *fetches, int num_fetches, weir_node *const *targets,
                                 int num_targets, weir_partial_run **out)
{
    weir_partial_run *partial = NULL;
    WEIR_TRY(weir_new(&partial, 1));
    partial->session = session;
    weir_status status = weir_new(&partial->fed, (size_t)num_feeds);
    if (weir_ok(status))
        status = weir_new(&partial->is_fetched, (size_t)num_fetches);
    if (weir_ok(status))
        status = weir_session_plan(session, feeds, num_feeds, fetches, num_fetches, targets, num_targets, true,
                                   &partial->cached);
    if (weir_ok(status)) {
        status = weir_session_take_run(session, partial->cached, false, &partial->run);
        if (!weir_ok(status))
            weir_session_release_plan(session, partial->cached);
    }
    if (!weir_ok(status)) {
        weir_partial_run_free(partial);
        return status;
    }
    weir_run_begin(partial->run, partial->fed);
    *out = partial;
    return WEIR_STATUS_OK;
}

static int find_output(const weir_output *list, int count, weir_output wanted)
{
    for (int i = 0; i < count; i++) {
        if (list[i].node == wanted.node && list[i].index == wanted.index)
            return i;
    }
    return -1;
}

static weir_status check_partial(const weir_partial_run *partial, const weir_feed *feeds, int num_feeds,
                                 const weir_output *fetches, int num_fetches)
{
    const weir_cached_plan *cached = partial->cached;
    for (int i = 0; i < num_feeds; i++) {
        int feed = find_output(cached->feeds, cached->num_feeds, feeds[i].output);
        if (feed < 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "'%s:%d' is no feed of this partial run",
                             weir_node_name(feeds[i].output.node), feeds[i].output.index);
        if (partial->fed[feed] != NULL)
            return weir_fail(WEIR_INVALID_ARGUMENT, "'%s:%d' has been fed already", feeds[i].output.node->name,
                             feeds[i].output.index);
        WEIR_TRY(weir_check_feed(feeds[i].output, feeds[i].value));
    }
    for (int i = 0; i < num_fetches; i++) {
        int fetch = find_output(cached->fetches, cached->num_fetches, fetches[i]);
        if (fetch < 0)
            return weir_fail(WEIR_INVALID_ARGUMENT, "'%s:%d' is no fetch of this partial run",
                             weir_node_name(fetches[i].node), fetches[i].index);
        if (partial->is_fetched[fetch])
            return weir_fail(WEIR_INVALID_ARGUMENT, "'%s:%d' has been fetched already", fetches[i].node->name,
                             fetches[i].index);
    }
    return WEIR_STATUS_OK;
}

/* The feed without which nothing more happens; for the message. */
static const char *missing_feed(const weir_partial_run *partial)
{
    for (int i = 0; i < partial->cached->num_feeds; i++) {
        if (partial->fed[i] == NULL)
            return partial->cached->feeds[i].node->name;
    }
    return "?";
}

/* Waits until the value of a fetch is there: its segment is done, or nothing more can happen. */
static weir_status await_fetch(weir_partial_run *partial, int fetch, weir_tensor **out)
{
    weir_run_state *run = partial->run;
    weir_port port = run->plan->fetches[fetch];
    pthread_mutex_lock(&run->mutex);
    run->waiters++;
    weir_status status = WEIR_STATUS_OK;
    while (!run->is_done && !run->is_stopped && !weir_partial_is_there(run, port)) {
        if (weir_run_walk_any(run))
            continue;
        if (run->root.outstanding <= 1 && !weir_partial_is_there(run, port)) {
            status = weir_fail(WEIR_INVALID_ARGUMENT, "Fetch '%s:%d' cannot be computed: '%s' has not been fed yet",
                               run->plan->nodes[port.node].node->name, port.output, missing_feed(partial));
            break;
        }
        pthread_cond_wait(&run->changed, &run->mutex);
    }
    run->waiters--;
    if (weir_ok(status))
        status = weir_error_status(&run->error);
    weir_run_unlock(run);
    return weir_ok(status) ? weir_run_fetch(run, port, out) : status;
}

weir_status weir_partial_run_go(weir_partial_run *partial, const weir_feed *feeds, int num_feeds,
                                const weir_output *fetches, weir_tensor **results, int num_fetches)
{
    const weir_cached_plan *cached = partial->cached;
    WEIR_TRY(check_partial(partial, feeds, num_feeds, fetches, num_fetches));
    for (int i = 0; i < num_feeds; i++) {
        int feed = find_output(cached->feeds, cached->num_feeds, feeds[i].output);
        WEIR_TRY(weir_tensor_copy(feeds[i].value, &partial->fed[feed]));
        weir_run_feed(partial->run, feed, partial->fed[feed]);
    }
    weir_tensor **fetched = partial->run->fetched;
    for (int i = 0; i < num_fetches; i++) {
        int fetch = find_output(cached->fetches, cached->num_fetches, fetches[i]);
        weir_status status = await_fetch(partial, fetch, &fetched[i]);
        if (weir_ok(status))
            continue;
        while (i > 0)
            weir_tensor_free(fetched[--i]);
        return status;
    }
    for (int i = 0; i < num_fetches; i++) {
        partial->is_fetched[find_output(cached->fetches, cached->num_fetches, fetches[i])] = true;
        results[i] = fetched[i];
    }
    return WEIR_STATUS_OK;
}

void weir_partial_run_free(weir_partial_run *partial)
{
    if (partial == NULL)
        return;
    if (partial->run != NULL) {
        int num_feeds = partial->cached->num_feeds;
        weir_run_end_partial(partial->run);
        weir_run_cancel(partial->run);
        (void)weir_run_join(partial->run, 0);
        weir_session_give_run(partial->run, false);
        for (int i = 0; i < num_feeds; i++)
            weir_tensor_free(partial->fed[i]);
    }
    weir_release(partial->fed);
    weir_release(partial->is_fetched);
    weir_release(partial);
}
