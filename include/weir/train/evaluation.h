/*
 * Evaluation: always the inference form of a network, with no flag to remember.
 */
#ifndef WEIR_TRAIN_EVALUATION_H
#define WEIR_TRAIN_EVALUATION_H

#include <weir/session.h>
#include <weir/train/layers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* s, where layers are built in their inference form whatever they are told. */
WEIR_API weir_scope weir_for_evaluation(weir_scope s);

/* The inference form of an output: what leads to it is built once more, with dropout left out and batch norm by its moving
 * statistics; nothing it runs changes a variable. Variables, placeholders and what is the same in both forms are
 * shared. For the same output it is built once. In a graph that was not built by these layers (an imported one) a
 * dropout that is on is left in, with a warning in the log that names it. */
WEIR_API weir_output weir_evaluation_of(weir_scope s, weir_output output);

/* Counts rows that a network gets right. Belongs to the graph. */
typedef struct weir_evaluation weir_evaluation;

/* Of the inference form of logits [n, classes]; labels: rows [n, classes] or class numbers [n]. */
WEIR_API weir_evaluation *weir_evaluation_new(weir_scope s, weir_output logits, weir_output labels);

/* Right rows of a batch, and all of them; added to *hits and *rows. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_evaluation_run(weir_session *session, const weir_evaluation *evaluation,
                                                          const weir_feed *feeds, int num_feeds, int64_t *hits,
                                                          int64_t *rows);

#ifdef __cplusplus
}
#endif

#endif
