/*
 * Recorded cases of ops, as scripts/oracle_cases.py writes them (the format stands there). A broken file stops the test.
 */
#ifndef TESTS_SUPPORT_CASES_H
#define TESTS_SUPPORT_CASES_H

#include <stdbool.h>

#include <weir/graph.h>
#include <weir/tensor.h>

typedef struct tensors {
    int count;
    weir_tensor **items; /* NULL: none */
} tensors;

typedef struct tolerance {
    bool exact;
    double rtol, atol;
} tolerance;

/* A step of an update: what the op gets besides its variables, and the variables after it. */
typedef struct recorded_step {
    tensors inputs;
    tensors after;
} recorded_step;

typedef struct recorded_case {
    const char *op;
    int number;
    const char *note;
    weir_attr *attrs;
    int num_attrs;
    tensors inputs;

    tensors *runs; /* outputs of the first run, and of further ones of random ops */
    int num_runs;  /* 0: no outputs recorded */
    tolerance tol;

    bool has_gradient;
    tensors dy; /* for each output */
    tensors dx; /* for each input; NULL: none arrives */
    tolerance dx_tol;

    bool fails;
    bool fails_when_built;
    int code;
    const char *message;

    tensors states; /* of the variables, which come first among the op's inputs */
    recorded_step *steps;
    int num_steps;
    tolerance step_tol;
} recorded_case;

typedef struct case_file {
    recorded_case *cases;
    int count;
} case_file;

/* All cases of a family ("unary"). Lives until the end of the process. */
case_file cases_read(const char *family);

/* The names of the families; ends with NULL. */
extern const char *const case_families[];

#endif
