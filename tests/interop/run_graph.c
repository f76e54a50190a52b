/*
 * Runs a GraphDef: the initializer, and then steps that are fed from files, printing what is fetched.
 *
 *   run_graph GRAPH [--init=NODE] [--train=NODE] --fetch=OUTPUT [--steps=N] [--feed=NAME@TYPE@DIMS@FILE ...]
 *             [--before=NODE] [--text=NAME=VALUE ...] [--last=NODE] [--disabled_passes=LIST]
 *
 * A feed's file holds one value for each step, one after another. --text feeds a string scalar to every run; --before and
 * --last are targets that are run once, after the initializer and after the steps (saving, restoring).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/graph.h>
#include <weir/session.h>

#define MOST 8

typedef struct feed {
    char name[128];
    weir_dtype dtype;
    weir_shape shape;
    FILE *file;
    weir_output output;
    weir_tensor *value;
} feed;

static feed feeds[2 * MOST];
static int num_feeds, num_texts;
static const char *init, *train, *fetch, *before, *last, *disabled_passes;
static int steps = 1;

static weir_status parse_feed(const char *text)
{
    char type[32];
    char dims[128];
    char path[1024];
    feed *f = &feeds[num_feeds];
    if (num_feeds == MOST || sscanf(text, "%127[^@]@%31[^@]@%127[^@]@%1023s", f->name, type, dims, path) != 4)
        return weir_fail(WEIR_INVALID_ARGUMENT, "--feed=%s is not NAME@TYPE@DIMS@FILE", text);
    f->dtype = weir_dtype_named(type);
    for (char *word = strtok(dims, ","); word != NULL && strcmp(word, "-") != 0; word = strtok(NULL, ",")) {
        if (f->shape.rank == WEIR_MAX_RANK)
            return weir_fail(WEIR_INVALID_ARGUMENT, "--feed=%s has too many dimensions", text);
        f->shape.dims[f->shape.rank++] = strtoll(word, NULL, 10);
    }
    f->file = fopen(path, "rb");
    if (f->file == NULL)
        return weir_fail(WEIR_NOT_FOUND, "%s cannot be read", path);
    num_feeds++;
    return weir_tensor_new(f->dtype, f->shape, &f->value);
}

static weir_status parse_text(const char *text)
{
    feed *f = &feeds[MOST + num_texts];
    const char *equals = strchr(text, '=');
    if (num_texts == MOST || equals == NULL || equals - text >= (int)sizeof f->name)
        return weir_fail(WEIR_INVALID_ARGUMENT, "--text=%s is not NAME=VALUE", text);
    memcpy(f->name, text, (size_t)(equals - text));
    num_texts++;
    return weir_tensor_string(equals + 1, strlen(equals + 1), &f->value);
}

static weir_status parse(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        value = value != NULL ? value + 1 : "";
        if (strncmp(argv[i], "--init=", 7) == 0)
            init = value;
        else if (strncmp(argv[i], "--train=", 8) == 0)
            train = value;
        else if (strncmp(argv[i], "--fetch=", 8) == 0)
            fetch = value;
        else if (strncmp(argv[i], "--before=", 9) == 0)
            before = value;
        else if (strncmp(argv[i], "--last=", 7) == 0)
            last = value;
        else if (strncmp(argv[i], "--disabled_passes=", 18) == 0)
            disabled_passes = value;
        else if (strncmp(argv[i], "--steps=", 8) == 0)
            steps = atoi(value);
        else if (strncmp(argv[i], "--feed=", 7) == 0)
            WEIR_TRY(parse_feed(value));
        else if (strncmp(argv[i], "--text=", 7) == 0)
            WEIR_TRY(parse_text(value));
        else
            return weir_fail(WEIR_INVALID_ARGUMENT, "unknown flag %s", argv[i]);
    }
    return WEIR_STATUS_OK;
}

static weir_status read_graph(const char *path, weir_graph *graph)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return weir_fail(WEIR_NOT_FOUND, "%s cannot be read", path);
    static char bytes[64 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return weir_graph_import(weir_root(graph), bytes, size, NULL);
}

static weir_status find_node(const weir_graph *graph, const char *name, weir_node **out)
{
    *out = name != NULL ? weir_graph_find(graph, name) : NULL;
    return name == NULL || *out != NULL ? WEIR_STATUS_OK : weir_fail(WEIR_NOT_FOUND, "no node '%s'", name);
}

/* Runs one target with the text feeds. */
static weir_status run_once(weir_session *session, const char *name)
{
    weir_node *target = NULL;
    weir_feed given[MOST];
    WEIR_TRY(find_node(weir_session_graph(session), name, &target));
    if (target == NULL)
        return WEIR_STATUS_OK;
    for (int i = 0; i < num_texts; i++)
        given[i] = (weir_feed){feeds[MOST + i].output, feeds[MOST + i].value};
    return weir_run_with_arrays(session, &(weir_run_arrays){.size = sizeof(weir_run_arrays),
                                                            .feeds = given,
                                                            .num_feeds = num_texts,
                                                            .targets = &target,
                                                            .num_targets = 1});
}

static weir_status run_steps(weir_session *session, weir_graph *graph)
{
    weir_output output = WEIR_NO_OUTPUT;
    weir_node *target = NULL;
    weir_feed given[MOST];
    WEIR_TRY(weir_graph_find_output(graph, fetch, &output));
    WEIR_TRY(find_node(graph, train, &target));
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < num_feeds; i++) {
            size_t size = weir_tensor_size_bytes(feeds[i].value);
            if (fread(weir_tensor_data(feeds[i].value), 1, size, feeds[i].file) != size)
                return weir_fail(WEIR_OUT_OF_RANGE, "feed '%s' ends before step %d", feeds[i].name, step);
            given[i] = (weir_feed){feeds[i].output, feeds[i].value};
        }
        weir_tensor *result = NULL;
        WEIR_TRY(weir_run_with_arrays(session, &(weir_run_arrays){.size = sizeof(weir_run_arrays),
                                                                  .feeds = given,
                                                                  .num_feeds = num_feeds,
                                                                  .fetches = &output,
                                                                  .results = &result,
                                                                  .num_fetches = 1,
                                                                  .targets = &target,
                                                                  .num_targets = target != NULL,
                                                                  .timeout_ms = 120000}));
        if (weir_tensor_dtype(result) == WEIR_FLOAT && weir_tensor_elements(result) == 1)
            printf("%.9g\n", (double)*weir_tensor_floats(result));
        else
            WEIR_TRY(weir_tensor_print(result, stdout));
        weir_tensor_free(result);
    }
    return WEIR_STATUS_OK;
}

static weir_status run(int argc, char **argv)
{
    WEIR_AUTO(weir_graph) *graph = weir_graph_new();
    WEIR_AUTO(weir_session) *session = NULL;
    WEIR_TRY(parse(argc, argv));
    WEIR_TRY(read_graph(argv[1], graph));
    for (int i = 0; i < num_feeds; i++)
        WEIR_TRY(weir_graph_find_output(graph, feeds[i].name, &feeds[i].output));
    for (int i = 0; i < num_texts; i++)
        WEIR_TRY(weir_graph_find_output(graph, feeds[MOST + i].name, &feeds[MOST + i].output));
    WEIR_TRY(weir_session_new(
        graph,
        &(weir_session_options){.allow_soft_placement = true, .cpu_devices = 2, .disabled_passes = disabled_passes},
        &session));
    WEIR_TRY(run_once(session, init));
    WEIR_TRY(run_once(session, before));
    WEIR_TRY(fetch != NULL ? run_steps(session, graph) : WEIR_STATUS_OK);
    return run_once(session, last);
}

int main(int argc, char **argv)
{
    weir_status status = argc > 1 ? run(argc, argv) : weir_fail(WEIR_INVALID_ARGUMENT, "which graph?");
    if (!weir_ok(status))
        fprintf(stderr, "run_graph: %s\n", weir_status_text(status));
    return weir_exit_status(status);
}
