/*
 * What training programs share: their common flags, a line of progress, and a line about where the time went.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "train/train_state.h"

#define TERMINAL_PERIOD 0.2 /* seconds between two lines that one can still read */
#define PLAIN_PERIOD 5.0

double weir_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

weir_session_options weir_program_session(const weir_program *program)
{
    return (weir_session_options){.size = sizeof(weir_session_options),
                                  .log_device_placement = program->log_device_placement,
                                  .allow_soft_placement = true,
                                  .threads = (int)program->threads};
}

weir_scope weir_program_scope(weir_graph *graph, const weir_program *program)
{
    weir_scope s = weir_root(graph);
    if (program->seed != 0)
        weir_graph_set_seed(graph, program->seed);
    return program->device != NULL ? weir_on_device(s, "%s", program->device) : s;
}

weir_status weir_program_export(const weir_program *program, const weir_graph *graph)
{
    void *bytes = NULL;
    size_t size = 0;
    if (program->graph_def == NULL)
        return WEIR_STATUS_OK;
    WEIR_TRY(weir_graph_error(graph));
    WEIR_TRY(weir_graph_export(graph, &bytes, &size));
    FILE *file = fopen(program->graph_def, "wb");
    bool is_written = file != NULL && fwrite(bytes, 1, size, file) == size;
    if (file != NULL)
        is_written = fclose(file) == 0 && is_written;
    free(bytes);
    return is_written ? WEIR_STATUS_OK
                      : weir_fail(WEIR_UNKNOWN, "'%s' cannot be written: %s", program->graph_def, strerror(errno));
}

/* ---- Progress ---- */

weir_progress weir_progress_start(FILE *stream, int64_t steps, int64_t examples_per_step)
{
    weir_progress progress = {.stream = stream, .steps = steps, .examples_per_step = examples_per_step};
    progress.started = progress.shown = weir_seconds();
    progress.is_terminal = stream != NULL && isatty(fileno(stream)) == 1;
    return progress;
}

static void write_time(char *text, size_t size, double seconds)
{
    long whole = (long)(seconds + 0.5);
    if (whole >= 3600)
        snprintf(text, size, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(text, size, "%ld:%02ld", whole / 60, whole % 60);
}

void weir_progress_step(weir_progress *progress, int64_t step, double loss)
{
    if (progress->stream == NULL)
        return;
    double now = weir_seconds();
    double since = now - progress->shown;
    if (since < (progress->is_terminal ? TERMINAL_PERIOD : PLAIN_PERIOD) && step < progress->steps)
        return;
    double rate = since > 0 ? (double)((step - progress->shown_step) * progress->examples_per_step) / since : 0;
    double mean = (double)step / (now - progress->started > 0 ? now - progress->started : 1);
    char left[32];
    write_time(left, sizeof left, mean > 0 ? (double)(progress->steps - step) / mean : 0);
    fprintf(progress->stream, "%sstep %lld/%lld  loss %.4f  %.0f examples/s  %s left%s",
            progress->is_terminal ? "\r" : "", (long long)step, (long long)progress->steps, loss, rate, left,
            progress->is_terminal ? "\033[K" : "\n");
    fflush(progress->stream);
    progress->is_open = progress->is_terminal;
    progress->shown = now;
    progress->shown_step = step;
}

void weir_progress_clear(weir_progress *progress)
{
    if (!progress->is_open)
        return;
    fputs("\r\033[K", progress->stream);
    fflush(progress->stream);
    progress->is_open = false;
}

weir_status weir_check_loss(weir_output loss, int64_t step, double value)
{
    if (isfinite(value))
        return WEIR_STATUS_OK;
    return weir_fail(WEIR_OUT_OF_RANGE,
                     "step %lld: the loss '%s' is %g. A logarithm of a softmax is infinite where the softmax is 0: "
                     "weir_softmax_loss is finite for all logits. The session option stop_at_nan names the first node",
                     (long long)step, weir_node_name(loss.node), value);
}

/* ---- Time and traces ---- */

void weir_print_time(FILE *stream, weir_time_sums sums, double wall)
{
    double runs = sums.input + sums.compute + sums.transfer + sums.wait; /* more than wall where devices work at once */
    double whole = wall > runs ? wall : runs;
    const double parts[] = {sums.input, sums.compute, sums.transfer, sums.wait, whole - runs};
    static const char *const names[] = {"input", "compute", "transfer", "wait", "the rest"};
    fprintf(stream, "Time: %.2f s", wall);
    for (int i = 0; i < 5; i++)
        fprintf(stream, "%s %s %.2f s (%.0f%%)", i == 0 ? ":" : ",", names[i], parts[i],
                whole > 0 ? 100 * parts[i] / whole : 0);
    fputc('\n', stream);
}

weir_status weir_program_trace(const weir_program *program, weir_session *session, const weir_run_options *run)
{
    if (program->trace == NULL)
        return WEIR_STATUS_OK;
    weir_run_metadata *metadata = NULL;
    weir_run_options with_metadata = *run;
    with_metadata.metadata = &metadata;
    WEIR_TRY((weir_run)(session, &with_metadata));
    weir_status status = weir_run_metadata_write_trace(metadata, program->trace);
    weir_run_metadata_free(metadata);
    return status;
}
