/*
 * The passes that may be switched off by name, one file each.
 */
#ifndef PLAN_PASSES_H
#define PLAN_PASSES_H

#include "plan/plan.h"

weir_status weir_pass_prune(weir_plan *plan); /* nothing is computed that nobody reads */
weir_status weir_pass_fold(weir_plan *plan);  /* computes what follows from constants alone */
weir_status weir_pass_share(weir_plan *plan); /* one node for equal nodes */
weir_status weir_pass_fuse(weir_plan *plan);  /* bias and activation into the node before them */

#endif
