/*
 * A team of threads that share the blocks of one loop.
 *
 * Blocks are cut by the caller from shapes alone, never from the number of threads, so results have the same bits with
 * any team. Members spin briefly between the loops of a step and sleep when idle. A caller that finds the team busy
 * (another run is in a loop) computes its blocks alone.
 */
#ifndef BASE_TEAM_H
#define BASE_TEAM_H

#include <stdint.h>

#include "base/error.h"

typedef struct weir_team weir_team;

/* Work on one block. lane: which of the team's threads this is, 0 .. weir_team_size - 1, for scratch memory only. */
typedef void weir_block_function(void *context, int64_t block, int lane);

/* A team of size threads, the caller of weir_parallel_for being one of them. size 0: the cores that affinity and
 * cgroup allow. Threads are started at the first loop that needs them. Returns owned. */
WEIR_WARN_UNUSED weir_status weir_team_new(int size, weir_team **out);

/* Stops and joins the threads. No loop may be running. Accepts NULL. */
void weir_team_free(weir_team *team);

/* Number of lanes; 1 for a NULL team. */
int weir_team_size(const weir_team *team);

/* Calls function for every block 0 .. blocks - 1 exactly once, in any order, on any lane, and returns when all are
 * done. team NULL: alone, in order. A loop inside a loop of the same team runs alone, on lane 0 of its own. What
 * function writes is seen by the caller afterwards. Any thread; never allocates once started. */
void weir_parallel_for(weir_team *team, int64_t blocks, weir_block_function *function, void *context);

/* Cores that affinity and cgroup allow this process, at least 1. */
int weir_cores(void);

/* Cores that the cgroup quota allows, rounded up; 0: no limit. root stands before the paths in /proc and /sys: "", or a
 * test's own folder. */
int weir_cores_quota(const char *root);

#endif
