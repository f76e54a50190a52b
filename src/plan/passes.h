/*
 * The passes that may be switched off by name, one file each.
 */
#ifndef PLAN_PASSES_H
#define PLAN_PASSES_H

#include "plan/plan.h"

/* In the order in which they run. */
#define WEIR_PASSES(PASS)                                                                                              \
    PASS(prune) /* nothing is computed that nobody reads */                                                            \
    PASS(fold)  /* computes what follows from constants alone */                                                       \
    PASS(share) /* one node for equal nodes */                                                                         \
    PASS(fuse)  /* bias and activation into the node before them */

#define WEIR_DECLARE_PASS_(name) weir_status weir_pass_##name(weir_plan *plan);
WEIR_PASSES(WEIR_DECLARE_PASS_)
#undef WEIR_DECLARE_PASS_

#endif
