/*
 * Life of a bench: built from its kind, started in a session of its own, run step by step, cleared.
 */
#include "bench.h"

#include <string.h>

weir_status bench_build(bench *bench, const bench_kind *kind, int threads)
{
    memset(bench, 0, sizeof *bench);
    bench->kind = kind;
    bench->threads = threads;
    bench->graph = weir_graph_new();
    if (bench->graph == NULL)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "no memory for a graph");
    return kind->build(bench, kind->variant);
}

void bench_clear(bench *bench)
{
    if (bench->kind != NULL && bench->kind->clear != NULL)
        bench->kind->clear(bench);
    weir_step_free(bench->step);
    weir_session_free(bench->session);
    weir_graph_free(bench->graph);
    bench_digits_free(bench->digits);
    memset(bench, 0, sizeof *bench);
}

weir_status bench_start(bench *bench, const char *disabled_passes, weir_node *init)
{
    const weir_session_options options = {
        .size = sizeof options, .threads = bench->threads, .disabled_passes = disabled_passes, .sim_gpus = -1};
    WEIR_TRY(weir_graph_error(bench->graph));
    WEIR_TRY(weir_session_new(bench->graph, &options, &bench->session));
    return init == NULL ? WEIR_STATUS_OK : weir_run(bench->session, .targets = {init});
}

weir_status bench_train(bench *bench)
{
    int64_t turn = bench->iterations++ % bench_batches;
    WEIR_TRY(weir_step_feed_from(bench->step, 0, bench->digits->images[turn]));
    WEIR_TRY(weir_step_feed_from(bench->step, 1, bench->digits->labels[turn]));
    WEIR_TRY(weir_step_run(bench->step));
    bench->result = *weir_step_result_float(bench->step, 0);
    return WEIR_STATUS_OK;
}
