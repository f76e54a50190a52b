/*
 * What programs that train have in common: flags, a progress line, where the time went.
 */
#ifndef WEIR_TRAIN_PROGRAM_H
#define WEIR_TRAIN_PROGRAM_H

#include <weir/flags.h>
#include <weir/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The common flags; put WEIR_PROGRAM_FLAGS(&program) into the table of <weir/flags.h>. */
typedef struct weir_program {
    const char *data_dir; /* NULL: WEIR_DATA_DIR, else the usual places */
    int64_t seed;         /* 0: other random numbers each time */
    const char *device;   /* NULL: where the planner puts it */
    int64_t threads;      /* 0: the cores there are */
    bool log_device_placement;
    const char *trace;     /* a file for a trace of one step */
    const char *graph_def; /* a file for the graph */
} weir_program;

#ifndef __cplusplus
#define WEIR_PROGRAM_FLAGS(program)                                                                                    \
    WEIR_FLAG_HEADING("Flags of all programs:"),                                                                       \
        WEIR_FLAG_STRING("data_dir", &(program)->data_dir, "folder of the data"),                                      \
        WEIR_FLAG_INTEGER("seed", &(program)->seed, "of all random numbers; 0: other ones each time"),                 \
        WEIR_FLAG_STRING("device", &(program)->device, "such as /cpu:0 or /gpu:0"),                                    \
        WEIR_FLAG_INTEGER_IN("threads", &(program)->threads, 0, 1024, "of each CPU device; 0: the cores there are"),   \
        WEIR_FLAG_BOOLEAN("log_device_placement", &(program)->log_device_placement, "print where each node goes"),     \
        WEIR_FLAG_STRING("trace", &(program)->trace, "write a trace of one step into this file"),          \
        WEIR_FLAG_STRING("graph_def", &(program)->graph_def, "write the graph into this file, as a GraphDef")
#endif

/* The session options that these flags ask for. */
WEIR_API weir_session_options weir_program_session(const weir_program *program);

/* The scope of the program's device. */
WEIR_API weir_scope weir_program_scope(weir_graph *graph, const weir_program *program);

/* Writes the graph into the program's file; does nothing without one. Building errors of the graph are returned (and stay
 * in it). */
WEIR_API WEIR_WARN_UNUSED weir_status weir_program_export(const weir_program *program, const weir_graph *graph);

/* ---- Progress: one line that rewrites itself on a terminal, plain lines every few seconds elsewhere ---- */

typedef struct weir_progress {
    FILE *stream; /* NULL: says nothing */
    int64_t steps;
    int64_t examples_per_step;
    double started, shown; /* seconds */
    int64_t shown_step;
    bool is_terminal;
    bool is_open; /* the line has to be cleared before something else is printed */
} weir_progress;

WEIR_API weir_progress weir_progress_start(FILE *stream, int64_t steps, int64_t examples_per_step);
/* After each step: loss, examples per second, time left; shows only as often as one can read. */
WEIR_API void weir_progress_step(weir_progress *progress, int64_t step, double loss);
/* Clears the line, so that the program can print. */
WEIR_API void weir_progress_clear(weir_progress *progress);

/* OUT_OF_RANGE naming the loss and the step when value is infinite or not a number, with what helps. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_check_loss(weir_output loss, int64_t step, double value);

/* Monotonic time in seconds. */
WEIR_API double weir_seconds(void);

/* "time: input 0.1 s (2%), compute ..." for the runs that weir_session_measure counted. */
WEIR_API void weir_print_time(FILE *stream, weir_time_sums sums, double wall);

/* Runs once with metadata and writes its trace into the program's file; does nothing without one. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_program_trace(const weir_program *program, weir_session *session,
                                                         const weir_run_options *run);

#ifdef __cplusplus
}
#endif

#endif
