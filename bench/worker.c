/*
 * The worker measures Weir for a driver that takes turns between it and others.
 *
 *     worker [--threads N]              says {"ready": ["name", ...]}, then answers each line "<bench> <seconds>" with
 *                                       {"bench": "...", "us": <mean of one iteration>, "n": <iterations>} or
 *                                       {"bench": "...", "error": "..."}
 *     worker --first-step [--threads N] one step of an MLP fed with random digits, says {"first_step": <loss>}, then
 *                                       trains on and says {"resident_bytes": ..., "data_bytes": ...}
 *
 * The bench asked for last is kept, so that turns of one bench build it once; it is warmed up before it is timed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/bench.h"

enum { tick_us = 1000 }; // the clock is looked at about so often

static const bench_kind *const lists[] = {bench_networks, bench_epochs, bench_engine, bench_checkpoints};

static const bench_kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const bench_kind *kind = lists[i]; kind->name != NULL; kind++)
            if (strcmp(kind->name, name) == 0)
                return kind;
    return NULL;
}

static void say_ready(void)
{
    const char *comma = "";
    printf("{\"ready\": [");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const bench_kind *kind = lists[i]; kind->name != NULL; kind++, comma = ", ")
            printf("%s\"%s\"", comma, kind->name);
    printf("]}\n");
    fflush(stdout);
}

/* text as the inside of a JSON string. */
static void print_escaped(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != 0; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
}

static void say_error(const char *name, const char *text)
{
    printf("{\"bench\": \"");
    print_escaped(name);
    printf("\", \"error\": \"");
    print_escaped(text);
    printf("\"}\n");
    fflush(stdout);
}

/* ---- Measuring ---- */

/* Iterates for at least so many seconds; *chunk is how many iterations make a tick, and is learned here. */
static weir_status iterate_for(bench *bench, double seconds, int64_t *chunk, int64_t *count, double *taken)
{
    double begin = weir_seconds(), last = begin;
    *count = 0;
    do {
        for (int64_t i = 0; i < *chunk; i++)
            WEIR_TRY(bench->kind->iterate(bench));
        *count += *chunk;
        double now = weir_seconds();
        if ((now - last) * 1e6 < tick_us / 2.0 && *chunk < (INT64_C(1) << 30))
            *chunk *= 2;
        last = now;
        *taken = now - begin;
    } while (*taken < seconds);
    return WEIR_STATUS_OK;
}

static weir_status measure(bench *bench, double seconds, int64_t *chunk, int64_t *count, double *taken)
{
    if (bench->kind->is_once) {
        double begin = weir_seconds();
        WEIR_TRY(bench->kind->iterate(bench));
        *count = 1;
        *taken = weir_seconds() - begin;
        return WEIR_STATUS_OK;
    }
    if (*chunk == 0) {
        // New here: memory is touched, plans settle and the clock rises before anything counts.
        *chunk = 1;
        for (int i = 0; i < bench_batches; i++)
            WEIR_TRY(bench->kind->iterate(bench));
        WEIR_TRY(iterate_for(bench, seconds / 4, chunk, count, taken));
    }
    return iterate_for(bench, seconds, chunk, count, taken);
}

static weir_status answer(bench *bench, const bench_kind *kind, int threads, double seconds, int64_t *chunk)
{
    int64_t count = 0;
    double taken = 0;
    if (bench->kind != kind) {
        bench_clear(bench);
        *chunk = 0;
        WEIR_TRY(bench_build(bench, kind, threads));
    }
    WEIR_TRY(measure(bench, seconds, chunk, &count, &taken));
    printf("{\"bench\": \"%s\", \"us\": %.9g, \"n\": %lld", kind->name, taken * 1e6 / (double)count, (long long)count);
    if (kind->result_name != NULL)
        printf(", \"%s\": %.6g", kind->result_name, (double)bench->result);
    printf("}\n");
    fflush(stdout);
    return WEIR_STATUS_OK;
}

static int serve(int threads)
{
    char line[512], name[256];
    bench bench = {0};
    int64_t chunk = 0;
    say_ready();
    while (fgets(line, sizeof line, stdin) != NULL) {
        double seconds = 0;
        char rest = 0;
        int fields = sscanf(line, "%255s %lf %c", name, &seconds, &rest);
        if (fields <= 0)
            continue;
        const bench_kind *kind = find_kind(name);
        if (kind == NULL || fields != 2 || !(seconds > 0 && seconds < 86400)) {
            say_error(name, kind == NULL ? "no bench of this name" : "a line is '<bench> <seconds>'");
            continue;
        }
        weir_status status = answer(&bench, kind, threads, seconds, &chunk);
        if (!weir_ok(status)) {
            say_error(name, weir_status_text(status));
            bench_clear(&bench);
        }
    }
    bench_clear(&bench);
    return 0;
}

/* ---- The first step, and the memory that training keeps ---- */

static long long resident_bytes(void)
{
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*s %lld", &pages) != 1)
        pages = 0;
    if (file != NULL)
        fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static weir_status first_step(int threads)
{
    static const bench_kind kind = {.name = "first_step"};
    enum { rows = 100, steps = 200 };
    bench bench = {.kind = &kind, .threads = threads, .graph = weir_graph_new()};
    if (bench.graph == NULL)
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "no memory for a graph");
    weir_status status = bench_build_mlp(&bench, true, rows, true);
    if (weir_ok(status))
        status = bench_train(&bench);
    if (weir_ok(status)) {
        printf("{\"first_step\": %.6g}\n", (double)bench.result);
        fflush(stdout);
    }
    for (int i = 0; weir_ok(status) && i < steps; i++)
        status = bench_train(&bench);
    if (weir_ok(status))
        printf("{\"resident_bytes\": %lld, \"data_bytes\": %lld}\n", resident_bytes(),
               (long long)bench_batches * rows * (bench_pixels + bench_classes) * (long long)sizeof(float));
    bench_clear(&bench);
    return status;
}

static int usage(void)
{
    fprintf(stderr, "usage: worker [--threads N] [--first-step]\n");
    return 2;
}

int main(int argc, char **argv)
{
    long threads = 1;
    bool is_first_step = false;
    for (int i = 1; i < argc; i++) {
        char *end = "";
        if (strcmp(argv[i], "--first-step") == 0)
            is_first_step = true;
        else if (strncmp(argv[i], "--threads=", 10) == 0)
            threads = strtol(argv[i] + 10, &end, 10);
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            threads = strtol(argv[++i], &end, 10);
        else
            return usage();
        if (*end != 0 || threads < 1 || threads > 4096)
            return usage();
    }
    if (!is_first_step)
        return serve((int)threads);
    weir_status status = first_step((int)threads);
    if (!weir_ok(status))
        fprintf(stderr, "worker: %s\n", weir_status_text(status));
    return weir_exit_status(status);
}
