/*
 * Prepared runs: a run that belongs to its handle. Nothing is looked up; feeds and results stay where they are.
 */
#include <string.h>

#include "run/metadata.h"
#include "run/session.h"

typedef struct step_result {
    weir_port port;
    weir_tensor *tensor; /* of variables and constants: our own copy; else borrowed from the run's slot */
    weir_variable *variable;
    const weir_slot *slot;
} step_result;

struct weir_step {
    weir_session *session;
    weir_cached_plan *cached;
    weir_run_state *run;
    weir_tensor **feeds;   /* [num_feeds] what is fed now */
    weir_tensor **own;     /* [num_feeds] the step's own buffers */
    weir_tensor **wrapped; /* [num_feeds] over the caller's memory; NULL */
    int num_feeds;
    step_result *results;
    int num_results;
    int64_t timeout_ms;
};

static weir_status prepare_feeds(weir_step *step, const weir_prepare_options *options, int count)
{
    step->num_feeds = count;
    WEIR_TRY(weir_new(&step->feeds, (size_t)count));
    WEIR_TRY(weir_new(&step->own, (size_t)count));
    WEIR_TRY(weir_new(&step->wrapped, (size_t)count));
    for (int i = 0; i < count; i++) {
        weir_dtype dtype = weir_dtype_base(weir_output_dtype(options->feeds[i]));
        WEIR_TRY(weir_fail_in(weir_tensor_new(dtype, options->feed_shapes[i], &step->own[i]), "feed '%s'",
                              weir_node_name(options->feeds[i].node)));
        WEIR_TRY(weir_check_feed(options->feeds[i], step->own[i]));
        step->feeds[i] = step->own[i];
    }
    return WEIR_STATUS_OK;
}

static weir_status prepare_results(weir_step *step)
{
    const weir_plan *plan = step->run->plan;
    WEIR_TRY(weir_new(&step->results, (size_t)plan->num_fetches));
    step->num_results = plan->num_fetches;
    for (int i = 0; i < plan->num_fetches; i++) {
        step_result *result = &step->results[i];
        const weir_plan_value *value = weir_plan_value_of(plan, plan->fetches[i]);
        result->port = plan->fetches[i];
        if (value->place == WEIR_PLACE_CONSTANT) {
            WEIR_TRY(weir_tensor_copy(value->constant, &result->tensor));
        } else if (value->place == WEIR_PLACE_VARIABLE) {
            result->variable = value->variable;
        } else {
            const weir_plan_value *root = weir_plan_value_of(plan, value->root);
            if (root->slot < 0)
                return weir_fail(WEIR_INTERNAL, "Fetch %d has no place", i);
            result->slot = &step->run->root_iteration.slots[root->slot];
        }
    }
    return WEIR_STATUS_OK;
}

static int count_outputs(const weir_output *outputs)
{
    int count = 0;
    while (count < WEIR_RUN_MOST && outputs[count].node != NULL)
        count++;
    return count;
}

static weir_status prepare(weir_step *step, const weir_prepare_options *options)
{
    int num_feeds = count_outputs(options->feeds);
    int num_fetches = count_outputs(options->fetches);
    int num_targets = 0;
    while (num_targets < WEIR_RUN_MOST && options->targets[num_targets] != NULL)
        num_targets++;
    WEIR_TRY(weir_session_plan(step->session, options->feeds, num_feeds, options->fetches, num_fetches,
                               options->targets, num_targets, false, &step->cached));
    WEIR_TRY(prepare_feeds(step, options, num_feeds));
    WEIR_TRY(weir_run_create(step->session, step->cached->plan, &step->run));
    step->run->cached = step->cached;
    step->run->is_direct = step->cached->plan->is_simple;
    step->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : step->session->timeout_ms;
    return prepare_results(step);
}

weir_status(weir_prepare)(weir_session *session, const weir_prepare_options *options, weir_step **out)
{
    weir_step *step = NULL;
    WEIR_TRY(weir_new(&step, 1));
    step->session = session;
    weir_status status = prepare(step, options);
    if (weir_ok(status))
        *out = step;
    else
        weir_step_free(step);
    return status;
}

static weir_tensor *feed_at(const weir_step *step, int index)
{
    return index >= 0 && index < step->num_feeds ? step->own[index] : NULL;
}

weir_tensor *weir_step_feed(weir_step *step, int index)
{
    return feed_at(step, index);
}

float *weir_step_feed_float(weir_step *step, int index)
{
    weir_tensor *feed = feed_at(step, index);
    return feed != NULL ? weir_tensor_floats(feed) : NULL;
}

const weir_tensor *weir_step_result(const weir_step *step, int index)
{
    if (index < 0 || index >= step->num_results)
        return NULL;
    const step_result *result = &step->results[index];
    return result->slot != NULL ? result->slot->tensor : result->tensor;
}

const float *weir_step_result_float(const weir_step *step, int index)
{
    const weir_tensor *result = weir_step_result(step, index);
    return result != NULL && result->dtype == WEIR_FLOAT ? result->data : NULL;
}

weir_status weir_step_feed_from(weir_step *step, int index, const void *elements)
{
    weir_tensor *own = feed_at(step, index);
    if (own == NULL)
        return weir_fail(WEIR_INVALID_ARGUMENT, "The step has no feed %d (it has %d)", index, step->num_feeds);
    if (elements == NULL) {
        step->feeds[index] = own;
        return WEIR_STATUS_OK;
    }
    if ((uintptr_t)elements % WEIR_ALIGNMENT != 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Feed %d: memory at %p is not aligned to %d bytes", index, elements,
                         WEIR_ALIGNMENT);
    if (step->wrapped[index] == NULL)
        WEIR_TRY(weir_tensor_wrap(own->dtype, own->shape, (void *)elements, NULL, NULL, &step->wrapped[index]));
    step->wrapped[index]->data = (void *)elements;
    step->feeds[index] = step->wrapped[index];
    return WEIR_STATUS_OK;
}

/* Values of fetched variables, after all writes. */
static weir_status read_variables(weir_step *step)
{
    for (int i = 0; i < step->num_results; i++) {
        step_result *result = &step->results[i];
        weir_variable *variable = result->variable;
        if (variable == NULL)
            continue;
        WEIR_TRY(weir_variable_check(variable));
        pthread_mutex_lock(&variable->mutex);
        bool fits = result->tensor != NULL && weir_shape_equal(result->tensor->shape, variable->shape) &&
                    variable->allocator->is_host && !weir_dtype_is_object(variable->dtype);
        if (fits)
            memcpy(result->tensor->data, variable->buffer->data, result->tensor->size_bytes);
        pthread_mutex_unlock(&variable->mutex);
        if (fits)
            continue;
        weir_tensor_free(result->tensor);
        result->tensor = NULL;
        WEIR_TRY(weir_variable_read(variable, &result->tensor));
    }
    return WEIR_STATUS_OK;
}

static weir_status check_results(const weir_step *step)
{
    for (int i = 0; i < step->num_results; i++) {
        bool has_slot = step->results[i].slot != NULL;
        if (weir_step_result(step, i) == NULL || (has_slot && !weir_run_is_live(step->run, step->results[i].port)))
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Fetch '%s:%d' has no value: it is on the side of a conditional that was not taken",
                             step->run->plan->nodes[step->results[i].port.node].node->name,
                             step->results[i].port.output);
    }
    return WEIR_STATUS_OK;
}

weir_status weir_step_run(weir_step *step)
{
    weir_run_state *run = step->run;
    WEIR_TRY(weir_session_register(run));
    if (atomic_load_explicit(&step->session->measures, memory_order_relaxed))
        (void)!weir_ok(weir_metadata_begin(run));
    run->deadline_ns = step->timeout_ms > 0 ? weir_now_ns() + step->timeout_ms * 1000000 : 0;
    if (!run->is_direct)
        weir_run_drop_results(run);
    weir_run_begin(run, step->feeds);
    (void)weir_run_join(run, 0);
    weir_status status = WEIR_STATUS_OK;
    if (__builtin_expect(run->is_stopped, 0)) {
        pthread_mutex_lock(&run->mutex);
        status = weir_error_status(&run->error);
        pthread_mutex_unlock(&run->mutex);
    }
    if (weir_ok(status))
        status = read_variables(step);
    if (weir_ok(status))
        status = check_results(step);
    if (run->metadata != NULL)
        (void)!weir_ok(weir_metadata_end(run, NULL));
    weir_session_unregister(run);
    if (!run->is_direct)
        weir_session_forget(run); /* workers may still be leaving it */
    weir_run_rest(run);
    return status;
}

void weir_step_free(weir_step *step)
{
    if (step == NULL)
        return;
    if (step->run != NULL) {
        weir_session_forget(step->run);
        weir_run_destroy(step->run);
    }
    if (step->cached != NULL)
        weir_session_release_plan(step->session, step->cached);
    for (int i = 0; i < step->num_feeds; i++) {
        if (step->own != NULL)
            weir_tensor_free(step->own[i]);
        if (step->wrapped != NULL)
            weir_tensor_free(step->wrapped[i]);
    }
    for (int i = 0; step->results != NULL && i < step->num_results; i++)
        weir_tensor_free(step->results[i].tensor);
    weir_release(step->own);
    weir_release(step->wrapped);
    weir_release(step->feeds);
    weir_release(step->results);
    weir_release(step);
}
