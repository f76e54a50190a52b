/*
 * Saver: variables into checkpoints that TensorFlow reads, and back.
 *
 * A saver is a few nodes of the graph ("save/SaveV2", "save/RestoreV2", ...), as TensorFlow's, so that an exported graph can
 * save and restore itself. The checkpoint named "model.ckpt" of step 7 is "model.ckpt-7"; the text file "checkpoint" beside
 * it lists the newest ones. Saving and restoring: one thread per saver.
 */
#ifndef WEIR_TRAIN_SAVER_H
#define WEIR_TRAIN_SAVER_H

#include <weir/checkpoint.h>
#include <weir/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Belongs to the graph. */
typedef struct weir_saver weir_saver;

typedef struct weir_saver_options {
    size_t size;
    const char *name;             /* of its scope; NULL: "save" */
    const weir_output *variables; /* NULL: all but local ones */
    int num_variables;
    int max_to_keep; /* 0 means 5; older ones are deleted; -1: none is */
} weir_saver_options;

/* INVALID_ARGUMENT (sticky) "No variables to save". */
WEIR_API weir_saver *(weir_saver_new)(weir_scope s, const weir_saver_options *options);

typedef struct weir_save_options {
    size_t size;
    weir_seed global_step;       /* WEIR_STEP(7): appends "-7" */
    char *path;                  /* set to where it was saved, when not NULL ... */
    size_t path_size;            /* ... cut at this size */
    const char *latest_filename; /* NULL: "checkpoint" */
} weir_save_options;
#define WEIR_STEP(number) ((weir_seed){true, (number)})

/* Saves, creates the folder if it is not there, updates the state file, deletes what is too old. A failure leaves earlier
 * checkpoints and the state file as they were. */
WEIR_API WEIR_WARN_UNUSED weir_status(weir_saver_save)(weir_saver *saver, weir_session *session, const char *path,
                                                       const weir_save_options *options);

/* Restores every variable of the saver. NOT_FOUND names all variables that the checkpoint lacks; INVALID_ARGUMENT all whose
 * type or shape differs; then nothing has changed. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_saver_restore(weir_saver *saver, weir_session *session, const char *path);

#ifndef __cplusplus
#define weir_saver_new(...) (weir_saver_new)(WEIR_SAVER_SCOPE_(__VA_ARGS__, ))
#define WEIR_SAVER_SCOPE_(s, ...) WEIR_HERE(s), WEIR_OPTIONS_(weir_saver_options, __VA_ARGS__)
#define weir_saver_save(...) WEIR_SAVER_SAVE_(__VA_ARGS__, )
#define WEIR_SAVER_SAVE_(saver, session, path, ...)                                                                    \
    (weir_saver_save)((saver), (session), (path), WEIR_OPTIONS_(weir_save_options, __VA_ARGS__))
#endif

#ifdef __cplusplus
}
#endif

#endif
