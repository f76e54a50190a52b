/*
 * Threads of a session, one for each queue: they walk runs that nobody waits for, and the queues of further devices. They
 * are started when first needed. One more thread sees to the deadlines of such runs.
 */
#include <signal.h>
#include <stdio.h>

#include "run/session.h"

weir_status weir_workers_init(weir_session *session)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&session->workers_mutex, NULL);
    pthread_cond_init(&session->workers_wake, &attributes);
    pthread_cond_init(&session->watcher_wake, &attributes);
    pthread_cond_init(&session->workers_released, NULL);
    pthread_condattr_destroy(&attributes);
    for (int d = 0; d < session->devices.count; d++)
        session->num_workers += session->devices.items[d]->is_host;
    WEIR_TRY(weir_new(&session->workers, (size_t)session->num_workers));
    for (int q = 0; q < session->num_workers; q++)
        session->workers[q] = (weir_worker){.session = session, .queue = q};
    return WEIR_STATUS_OK;
}

/* The next posted run, held so that it cannot be freed; NULL when the session stops. With the workers' mutex held. */
static weir_run_state *next_run(weir_worker *worker)
{
    weir_session *session = worker->session;
    while (worker->first == NULL && !session->workers_stop)
        pthread_cond_wait(&session->workers_wake, &session->workers_mutex);
    weir_run_state *run = worker->first;
    if (run == NULL)
        return NULL;
    worker->first = run->queues[worker->queue].next_posted;
    if (worker->first == NULL)
        worker->last = NULL;
    run->queues[worker->queue].is_posted = false;
    run->holders++;
    worker->walking = run;
    return run;
}

static void *work(void *context)
{
    weir_worker *worker = context;
    weir_session *session = worker->session;
    pthread_mutex_lock(&session->workers_mutex);
    for (weir_run_state *run = next_run(worker); run != NULL; run = next_run(worker)) {
        pthread_mutex_unlock(&session->workers_mutex);
        pthread_mutex_lock(&run->mutex);
        weir_run_walk(run, worker->queue);
        weir_run_unlock(run);
        pthread_mutex_lock(&session->workers_mutex);
        if (worker->walking == run && --run->holders == 0) /* else it has been put away by its callback */
            pthread_cond_broadcast(&session->workers_released);
        worker->walking = NULL;
    }
    pthread_mutex_unlock(&session->workers_mutex);
    return NULL;
}

static bool start_thread(pthread_t *thread, void *(*function)(void *context), void *context)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(thread, NULL, function, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

/* With the workers' mutex held. */
static bool start_worker(weir_worker *worker)
{
    worker->is_started = worker->is_started || start_thread(&worker->thread, work, worker);
    return worker->is_started;
}

/* ---- Deadlines ---- */

static void *watch(void *context)
{
    weir_session *session = context;
    pthread_mutex_lock(&session->workers_mutex);
    while (!session->workers_stop) {
        int64_t until = session->watch_ns;
        if (until == 0) {
            pthread_cond_wait(&session->watcher_wake, &session->workers_mutex);
            continue;
        }
        if (weir_now_ns() < until) {
            struct timespec time = {until / 1000000000, until % 1000000000};
            (void)pthread_cond_timedwait(&session->watcher_wake, &session->workers_mutex, &time);
            continue;
        }
        session->watch_ns = 0;
        pthread_mutex_unlock(&session->workers_mutex);
        int64_t next = weir_session_check_deadlines(session);
        pthread_mutex_lock(&session->workers_mutex);
        if (next > 0 && (session->watch_ns == 0 || next < session->watch_ns))
            session->watch_ns = next;
    }
    pthread_mutex_unlock(&session->workers_mutex);
    return NULL;
}

void weir_workers_watch(weir_session *session, int64_t deadline_ns)
{
    pthread_mutex_lock(&session->workers_mutex);
    if (session->watch_ns == 0 || deadline_ns < session->watch_ns) {
        session->watch_ns = deadline_ns;
        pthread_cond_signal(&session->watcher_wake);
    }
    session->watcher_is_started = session->watcher_is_started || start_thread(&session->watcher, watch, session);
    pthread_mutex_unlock(&session->workers_mutex);
}

/* ---- Runs to be walked ---- */

void weir_session_post(weir_run_state *run, int queue)
{
    weir_session *session = run->session;
    weir_worker *worker = &session->workers[queue];
    pthread_mutex_lock(&session->workers_mutex);
    if (!run->queues[queue].is_posted && start_worker(worker)) {
        run->queues[queue].is_posted = true;
        run->queues[queue].next_posted = NULL;
        if (worker->last != NULL)
            worker->last->queues[queue].next_posted = run;
        else
            worker->first = run;
        worker->last = run;
        pthread_cond_broadcast(&session->workers_wake);
    }
    pthread_mutex_unlock(&session->workers_mutex);
}

static void unpost(weir_worker *worker, weir_run_state *run)
{
    weir_run_state *previous = NULL;
    for (weir_run_state *at = worker->first; at != NULL; previous = at, at = at->queues[worker->queue].next_posted) {
        if (at != run)
            continue;
        weir_run_state *next = at->queues[worker->queue].next_posted;
        if (previous != NULL)
            previous->queues[worker->queue].next_posted = next;
        else
            worker->first = next;
        if (worker->last == run)
            worker->last = previous;
        break;
    }
    run->queues[worker->queue].is_posted = false;
}

void weir_session_forget(weir_run_state *run)
{
    weir_session *session = run->session;
    pthread_mutex_lock(&session->workers_mutex);
    for (int q = 0; q < session->num_workers; q++) {
        if (run->queues != NULL && run->queues[q].is_posted)
            unpost(&session->workers[q], run);
    }
    for (int q = 0; q < session->num_workers; q++) {
        weir_worker *worker = &session->workers[q];
        if (worker->walking == run && pthread_equal(worker->thread, pthread_self())) {
            worker->walking = NULL; /* called from the run's own callback: it looks no further */
            run->holders--;
        }
    }
    while (run->holders > 0)
        pthread_cond_wait(&session->workers_released, &session->workers_mutex);
    pthread_mutex_unlock(&session->workers_mutex);
}

void weir_workers_stop(weir_session *session)
{
    pthread_mutex_lock(&session->workers_mutex);
    session->workers_stop = true;
    pthread_cond_broadcast(&session->workers_wake);
    pthread_cond_broadcast(&session->watcher_wake);
    pthread_mutex_unlock(&session->workers_mutex);
    if (session->watcher_is_started)
        pthread_join(session->watcher, NULL);
    for (int q = 0; session->workers != NULL && q < session->num_workers; q++) {
        if (session->workers[q].is_started)
            pthread_join(session->workers[q].thread, NULL);
    }
}

void weir_workers_clear(weir_session *session)
{
    weir_release(session->workers);
    pthread_cond_destroy(&session->workers_released);
    pthread_cond_destroy(&session->workers_wake);
    pthread_cond_destroy(&session->watcher_wake);
    pthread_mutex_destroy(&session->workers_mutex);
}
