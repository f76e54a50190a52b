/*
 * What a run costs, and what a node costs in it. Passes that would fold, share or fuse the nodes are switched off, since
 * the bench is about nodes that are run.
 */
#include "bench.h"

#include <stdlib.h>

static const char passes_off[] = "fold,share,fuse";

/* ---- Runs of next to nothing ---- */

static weir_status build_noop(bench *bench, int variant)
{
    (void)variant;
    weir_node *nothing = weir_no_op(weir_root(bench->graph), "nothing");
    bench->own = nothing;
    WEIR_TRY(bench_start(bench, NULL, NULL));
    return weir_prepare(bench->session, &bench->step, .targets = {nothing});
}

static weir_status iterate_step(bench *bench)
{
    return weir_step_run(bench->step);
}

/* The same without preparing: what weir_run adds. */
static weir_status iterate_noop_run(bench *bench)
{
    return weir_run(bench->session, .targets = {bench->own});
}

static weir_status build_feed_fetch(bench *bench, int variant)
{
    (void)variant;
    weir_scope s = weir_root(bench->graph);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SCALAR, .name = "x");
    weir_output same = weir_identity(s, x);
    WEIR_TRY(bench_start(bench, NULL, NULL));
    return weir_prepare(bench->session, &bench->step, .feeds = {x}, .feed_shapes = {WEIR_SCALAR}, .fetches = {same});
}

static weir_status iterate_scalar(bench *bench)
{
    *weir_step_feed_float(bench->step, 0) = (float)(bench->iterations++ & 1023);
    WEIR_TRY(weir_step_run(bench->step));
    bench->result = *weir_step_result_float(bench->step, 0);
    return WEIR_STATUS_OK;
}

/* The same without preparing: tensors in, a new tensor out. */
typedef struct scalar_run {
    weir_output x, same;
    weir_tensor *value;
} scalar_run;

static weir_status build_feed_fetch_run(bench *bench, int variant)
{
    (void)variant;
    weir_scope s = weir_root(bench->graph);
    scalar_run *own = calloc(1, sizeof *own);
    bench->own = own;
    if (own == NULL)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "no memory");
    own->x = weir_placeholder(s, WEIR_FLOAT, WEIR_SCALAR, .name = "x");
    own->same = weir_identity(s, own->x);
    WEIR_TRY(weir_tensor_new(WEIR_FLOAT, WEIR_SCALAR, &own->value));
    return bench_start(bench, NULL, NULL);
}

static weir_status iterate_feed_fetch_run(bench *bench)
{
    scalar_run *own = bench->own;
    WEIR_AUTO(weir_tensor) *result = NULL;
    *weir_tensor_floats(own->value) = (float)(bench->iterations++ & 1023);
    WEIR_TRY(weir_run(bench->session, .feeds = {{own->x, own->value}}, .fetches = {own->same}, .results = {&result}));
    bench->result = *weir_tensor_floats(result);
    return WEIR_STATUS_OK;
}

static void clear_feed_fetch_run(bench *bench)
{
    scalar_run *own = bench->own;
    if (own == NULL)
        return;
    weir_tensor_free(own->value);
    free(own);
}

/* ---- Many nodes ---- */

static weir_status build_chain(bench *bench, int length)
{
    weir_scope s = weir_root(bench->graph);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SCALAR, .name = "x");
    weir_output one = weir_const(s, WEIR_FLOAT_OF(1));
    weir_output sum = x;
    for (int i = 0; i < length; i++)
        sum = weir_add(s, sum, one);
    WEIR_TRY(bench_start(bench, passes_off, NULL));
    return weir_prepare(bench->session, &bench->step, .feeds = {x}, .feed_shapes = {WEIR_SCALAR}, .fetches = {sum});
}

static weir_status build_noop_chain(bench *bench, int length)
{
    weir_scope s = weir_root(bench->graph);
    weir_node *last = weir_no_op(s, NULL);
    for (int i = 1; i < length; i++)
        last = weir_no_op(weir_after(s, last), NULL);
    WEIR_TRY(bench_start(bench, passes_off, NULL));
    return weir_prepare(bench->session, &bench->step, .targets = {last});
}

static weir_status build_independent(bench *bench, int count)
{
    weir_scope s = weir_root(bench->graph);
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SCALAR, .name = "x");
    weir_output one = weir_const(s, WEIR_FLOAT_OF(1));
    weir_node **adds = calloc((size_t)count, sizeof *adds);
    if (adds == NULL)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "no memory for %d nodes", count);
    for (int i = 0; i < count; i++)
        adds[i] = weir_add(s, x, one).node;
    weir_node *all = weir_group(s, adds, count, "all");
    free(adds);
    WEIR_TRY(bench_start(bench, passes_off, NULL));
    return weir_prepare(bench->session, &bench->step, .feeds = {x}, .feed_shapes = {WEIR_SCALAR}, .targets = {all});
}

static weir_status iterate_fed(bench *bench)
{
    *weir_step_feed_float(bench->step, 0) = (float)(bench->iterations++ & 1023);
    return weir_step_run(bench->step);
}

const bench_kind bench_engine[] = {
    {.name = "run_noop", .build = build_noop, .iterate = iterate_step},
    {.name = "run_feed_fetch", .build = build_feed_fetch, .iterate = iterate_scalar},
    {.name = "unprepared_noop", .build = build_noop, .iterate = iterate_noop_run},
    {.name = "unprepared_feed_fetch",
     .build = build_feed_fetch_run,
     .iterate = iterate_feed_fetch_run,
     .clear = clear_feed_fetch_run},
    {.name = "chain1000", .build = build_chain, .variant = 1000, .iterate = iterate_scalar},
    {.name = "chain10000", .build = build_chain, .variant = 10000, .iterate = iterate_scalar},
    {.name = "noopchain10000", .build = build_noop_chain, .variant = 10000, .iterate = iterate_step},
    {.name = "independent1000", .build = build_independent, .variant = 1000, .iterate = iterate_fed},
    {.name = NULL},
};
