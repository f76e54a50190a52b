/*
 * Gathering times of nodes in a run, and what is made of them: StepStats, a Chrome trace, sums.
 */
#include "run/metadata.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/json.h"
#include "format/message.h"
#include "proto/step_stats.pb-c.h"
#include "run/session.h"

/* ---- Gathering ---- */

weir_status weir_metadata_begin(weir_run_state *run)
{
    weir_run_metadata *metadata = NULL;
    struct timespec now;
    WEIR_TRY(weir_new(&metadata, 1));
    clock_gettime(CLOCK_REALTIME, &now);
    metadata->start_unix_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    metadata->start_ns = weir_now_ns();
    pthread_mutex_init(&metadata->mutex, NULL);
    run->metadata = metadata;
    return WEIR_STATUS_OK;
}

static int thread_number(weir_run_metadata *metadata)
{
    pthread_t self = pthread_self();
    for (int i = 0; i < metadata->num_threads; i++) {
        if (pthread_equal(metadata->threads[i], self))
            return i;
    }
    if (metadata->num_threads == (int)(sizeof metadata->threads / sizeof metadata->threads[0]))
        return metadata->num_threads - 1;
    metadata->threads[metadata->num_threads] = self;
    return metadata->num_threads++;
}

weir_status weir_run_note_time(weir_run_state *run, int node, int device, int64_t start_ns)
{
    weir_run_metadata *metadata = run->metadata;
    if (metadata == NULL)
        return WEIR_STATUS_OK;
    int64_t end_ns = weir_now_ns();
    const weir_plan_node *at = &run->plan->nodes[node];
    pthread_mutex_lock(&metadata->mutex);
    weir_node_time made = {.node = node,
                           .graph_node = at->node,
                           .fused = at->fused,
                           .device = device,
                           .start_ns = start_ns,
                           .end_ns = end_ns,
                           .thread = thread_number(metadata),
                           .kind = at->kind};
    weir_status status = weir_list_add(&metadata->nodes, made);
    pthread_mutex_unlock(&metadata->mutex);
    return status;
}

/* ---- The end ---- */

static weir_time_sums sum_times(const weir_run_metadata *metadata)
{
    weir_time_sums sums = {.total = (double)(metadata->end_ns - metadata->start_ns) * 1e-9};
    for (size_t i = 0; i < metadata->nodes.count; i++) {
        const weir_node_time *at = &metadata->nodes.items[i];
        double seconds = (double)(at->end_ns - at->start_ns) * 1e-9;
        if (at->kind == WEIR_KIND_TRANSFER)
            sums.transfer += seconds;
        else if (at->kind == WEIR_KIND_WAIT || at->kind == WEIR_KIND_RECEIVE)
            sums.wait += seconds;
        else
            sums.compute += seconds;
    }
    sums.input = sums.total - sums.compute - sums.transfer - sums.wait;
    sums.input = sums.input > 0 ? sums.input : 0;
    return sums;
}

static weir_status copy_device_names(const weir_run_state *run, weir_run_metadata *metadata)
{
    const weir_device_set *devices = run->plan->devices;
    WEIR_TRY(weir_new(&metadata->device_names, (size_t)devices->count));
    metadata->num_devices = devices->count;
    for (int d = 0; d < devices->count; d++) {
        metadata->device_names[d] = weir_copy_text(devices->items[d]->name, strlen(devices->items[d]->name));
        if (metadata->device_names[d] == NULL)
            return weir_fail_memory(strlen(devices->items[d]->name));
    }
    return WEIR_STATUS_OK;
}

weir_status weir_metadata_end(weir_run_state *run, weir_run_metadata **out)
{
    weir_run_metadata *metadata = run->metadata;
    weir_session *session = run->session;
    run->metadata = NULL;
    metadata->end_ns = weir_now_ns();
    metadata->sums = sum_times(metadata);
    pthread_mutex_lock(&session->mutex);
    session->sums.input += metadata->sums.input;
    session->sums.compute += metadata->sums.compute;
    session->sums.transfer += metadata->sums.transfer;
    session->sums.wait += metadata->sums.wait;
    session->sums.total += metadata->sums.total;
    pthread_mutex_unlock(&session->mutex);
    weir_status status = out != NULL ? copy_device_names(run, metadata) : WEIR_STATUS_OK;
    if (out != NULL && weir_ok(status))
        *out = metadata;
    else
        weir_run_metadata_free(metadata);
    return status;
}

void weir_run_metadata_free(weir_run_metadata *metadata)
{
    if (metadata == NULL)
        return;
    for (int d = 0; metadata->device_names != NULL && d < metadata->num_devices; d++)
        weir_release(metadata->device_names[d]);
    weir_release(metadata->device_names);
    weir_list_clear(&metadata->nodes);
    pthread_mutex_destroy(&metadata->mutex);
    weir_release(metadata);
}

weir_time_sums weir_run_metadata_sums(const weir_run_metadata *metadata)
{
    return metadata != NULL ? metadata->sums : (weir_time_sums){0};
}

void weir_session_measure(weir_session *session, bool on)
{
    atomic_store(&session->measures, on);
}

weir_time_sums weir_session_sums(const weir_session *session)
{
    weir_session *locked = (weir_session *)session;
    pthread_mutex_lock(&locked->mutex);
    weir_time_sums sums = session->sums;
    pthread_mutex_unlock(&locked->mutex);
    return sums;
}

/* ---- StepStats ---- */

/* "name = Op(input, input)", what TensorFlow's timeline tool reads. */
static char *make_label(weir_arena *arena, const weir_node *node)
{
    weir_text inputs = {0};
    for (int i = 0; i < node->num_inputs; i++)
        weir_text_append(&inputs, "%s%s", i > 0 ? ", " : "", weir_node_name(node->inputs[i].node));
    char *label = weir_arena_format(arena, "%s = %s(%s)", node->name, node->op->name, weir_text_get(&inputs));
    weir_text_clear(&inputs);
    return label;
}

static Weir__NodeExecStats *make_stats(weir_arena *arena, const weir_run_metadata *metadata, const weir_node_time *at,
                                       const weir_node *node)
{
    Weir__NodeExecStats *stats = weir_message_new(arena, &weir__node_exec_stats__descriptor);
    if (stats == NULL)
        return NULL;
    int64_t micros = (at->end_ns - at->start_ns + 999) / 1000;
    stats->node_name = weir_arena_text(arena, node->name, strlen(node->name));
    stats->timeline_label = make_label(arena, node);
    stats->all_start_micros = metadata->start_unix_us + (at->start_ns - metadata->start_ns) / 1000;
    stats->op_end_rel_micros = micros;
    stats->all_end_rel_micros = micros;
    stats->all_start_nanos = stats->all_start_micros * 1000;
    stats->op_end_rel_nanos = at->end_ns - at->start_ns;
    stats->all_end_rel_nanos = at->end_ns - at->start_ns;
    stats->scheduled_micros = stats->all_start_micros;
    stats->scheduled_nanos = stats->all_start_nanos;
    stats->thread_id = (uint32_t)at->thread;
    return stats->node_name != NULL && stats->timeline_label != NULL ? stats : NULL;
}

static bool add_node(weir_arena *arena, const weir_run_metadata *metadata, const weir_node_time *at,
                     const weir_node *node, Weir__DeviceStepStats *device)
{
    Weir__NodeExecStats *stats = make_stats(arena, metadata, at, node);
    return stats != NULL && weir_message_add(arena, device->node_stats, device->n_node_stats, stats);
}

/* A fused instruction stands for the nodes it took over as well. */
static bool add_nodes(weir_arena *arena, const weir_run_metadata *metadata, const weir_node_time *at,
                      Weir__DeviceStepStats *device)
{
    if (at->fused == NULL)
        return add_node(arena, metadata, at, at->graph_node, device);
    for (int i = 0; i < at->fused->count; i++) {
        if (!add_node(arena, metadata, at, at->fused->nodes[i], device))
            return false;
    }
    return true;
}

static weir_status serialize(weir_arena *arena, const weir_run_metadata *metadata, void **bytes, size_t *size)
{
    Weir__RunMetadata *message = weir_message_new(arena, &weir__run_metadata__descriptor);
    Weir__StepStats *stats = weir_message_new(arena, &weir__step_stats__descriptor);
    if (message == NULL || stats == NULL)
        return weir_fail_memory(sizeof *message);
    message->step_stats = stats;
    for (int d = 0; d < metadata->num_devices; d++) {
        Weir__DeviceStepStats *device = weir_message_new(arena, &weir__device_step_stats__descriptor);
        if (device == NULL || !weir_message_add(arena, stats->dev_stats, stats->n_dev_stats, device))
            return weir_fail_memory(sizeof *device);
        device->device = metadata->device_names[d];
        for (size_t i = 0; i < metadata->nodes.count; i++) {
            if (metadata->nodes.items[i].device == d && !add_nodes(arena, metadata, &metadata->nodes.items[i], device))
                return weir_fail_memory(sizeof(Weir__NodeExecStats));
        }
    }
    return weir_message_pack(&message->base, bytes, size);
}

weir_status weir_run_metadata_serialize(const weir_run_metadata *metadata, void **bytes, size_t *size)
{
    weir_arena arena = {0};
    weir_status status = serialize(&arena, metadata, bytes, size);
    weir_arena_clear(&arena);
    return status;
}

/* ---- Chrome trace ---- */

static void quote(weir_text *text, const char *string)
{
    weir_json json = {.text = text};
    weir_json_string(&json, string, strlen(string));
}

static void write_event(FILE *file, const weir_run_metadata *metadata, const weir_node_time *at, bool is_first)
{
    weir_text text = {0};
    quote(&text, at->graph_node->name);
    weir_text op = {0};
    quote(&op, at->graph_node->op->name);
    fprintf(
        file,
        "%s\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":%s,\"args\":{\"name\":%s,\"op\":%s}}",
        is_first ? "" : ",", at->device, at->thread, (double)(at->start_ns - metadata->start_ns) * 1e-3,
        (double)(at->end_ns - at->start_ns) * 1e-3, weir_text_get(&op), weir_text_get(&text), weir_text_get(&op));
    weir_text_clear(&op);
    weir_text_clear(&text);
}

weir_status weir_run_metadata_write_trace(const weir_run_metadata *metadata, const char *path)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return weir_fail(WEIR_NOT_FOUND, "%s; %m: the trace cannot be written", path);
    fprintf(file, "{\"traceEvents\":[");
    for (int d = 0; d < metadata->num_devices; d++) {
        weir_text name = {0};
        quote(&name, metadata->device_names[d]);
        fprintf(file, "%s\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":%s}}",
                d > 0 ? "," : "", d, weir_text_get(&name));
        weir_text_clear(&name);
    }
    for (size_t i = 0; i < metadata->nodes.count; i++)
        write_event(file, metadata, &metadata->nodes.items[i], metadata->num_devices == 0 && i == 0);
    fprintf(file, "\n]}\n");
    bool has_failed = ferror(file) != 0;
    has_failed = fclose(file) != 0 || has_failed;
    return has_failed ? weir_fail(WEIR_RESOURCE_EXHAUSTED, "%s; %m: the trace could not be written", path)
                      : WEIR_STATUS_OK;
}
