/*
 * What a run tells about itself: times of nodes, StepStats, Chrome traces, sums.
 */
#ifndef RUN_METADATA_H
#define RUN_METADATA_H

#include "run/run.h"

/* Begins gathering for the run. */
WEIR_WARN_UNUSED weir_status weir_metadata_begin(weir_run_state *run);

/* Ends it: adds to the session's sums, and hands it out unless out is NULL. */
WEIR_WARN_UNUSED weir_status weir_metadata_end(weir_run_state *run, weir_run_metadata **out);

#endif
