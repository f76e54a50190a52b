/*
 * The thread team: every block exactly once, with any number of lanes, nested, from several callers, and under a cgroup.
 *
 * test: timeout=300
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/team.h"

#define MOST_BLOCKS 1000

typedef struct counts {
    weir_team *team;
    atomic_int seen[MOST_BLOCKS];
    atomic_int bad_lanes;
    atomic_int in_lane[64]; /* blocks running in a lane right now: never two */
    int plain[MOST_BLOCKS]; /* written without atomics: the caller must see it */
} counts;

static weir_team *new_team(int size)
{
    weir_team *team = NULL;
    assert_true(weir_ok(weir_team_new(size, &team)));
    return team;
}

static void count_block(void *context, int64_t block, int lane)
{
    counts *counts = context;
    if (lane < 0 || lane >= weir_team_size(counts->team) || atomic_fetch_add(&counts->in_lane[lane], 1) != 0)
        atomic_fetch_add(&counts->bad_lanes, 1);
    atomic_fetch_add(&counts->seen[block], 1);
    counts->plain[block] = (int)block + 1;
    atomic_fetch_sub(&counts->in_lane[lane], 1);
}

static void check_loop(weir_team *team, int64_t blocks)
{
    counts *counts = calloc(1, sizeof *counts);
    assert_non_null(counts);
    counts->team = team;
    weir_parallel_for(team, blocks, count_block, counts);
    for (int64_t block = 0; block < MOST_BLOCKS; block++) {
        assert_int_equal(counts->seen[block], block < blocks ? 1 : 0);
        assert_int_equal(counts->plain[block], block < blocks ? block + 1 : 0);
    }
    assert_int_equal(counts->bad_lanes, 0);
    free(counts);
}

static void every_block_once(void **state)
{
    static const int sizes[] = {1, 2, 3, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        weir_team *team = new_team(sizes[i]);
        assert_int_equal(weir_team_size(team), sizes[i]);
        for (int64_t blocks = 0; blocks < 40; blocks++)
            check_loop(team, blocks);
        for (int round = 0; round < 100; round++)
            check_loop(team, MOST_BLOCKS);
        weir_team_free(team);
    }
}

static void no_team_works_in_order_alone(void **state)
{
    check_loop(NULL, 17);
    check_loop(NULL, 0);
    check_loop(NULL, -3);
    assert_int_equal(weir_team_size(NULL), 1);
    weir_team_free(NULL);
}

static void note_thread(void *context, int64_t block, int lane)
{
    *(pthread_t *)context = pthread_self();
}

static int count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    int count = 0;
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2; /* . and .. */
}

static void single_block_needs_no_threads(void **state)
{
    int threads = count_threads();
    weir_team *team = new_team(4);
    for (int round = 0; round < 1000; round++) {
        pthread_t thread = {0};
        weir_parallel_for(team, 1, note_thread, &thread);
        assert_true(pthread_equal(thread, pthread_self()));
    }
    assert_int_equal(count_threads(), threads);
    check_loop(team, 2);
    assert_int_equal(count_threads(), threads + 3);
    weir_team_free(team);
}

static void unused_team_can_be_freed(void **state)
{
    weir_team_free(new_team(4));
}

static void impossible_sizes_are_refused(void **state)
{
    weir_team *team = NULL;
    weir_status status = weir_team_new(-2, &team);
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    assert_non_null(strstr(weir_status_text(status), "-2"));
    assert_int_equal(weir_team_new(1 << 20, &team).code, WEIR_INVALID_ARGUMENT);
    assert_null(team);
}

/* More loops than the gate's number can tell apart, so that it wraps around. */
static void add_one(void *context, int64_t block, int lane)
{
    atomic_fetch_add_explicit((atomic_long *)context, 1, memory_order_relaxed);
}

static void many_short_loops(void **state)
{
    enum { ROUNDS = 40000 };
    weir_team *team = new_team(3);
    atomic_long sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        weir_parallel_for(team, 5, add_one, &sum);
    assert_int_equal(sum, 5L * ROUNDS);
    weir_team_free(team);
}

/* Pauses of all lengths around the time that members spin, so that they are caught falling asleep. */
static void loops_with_pauses(void **state)
{
    weir_team *team = new_team(2);
    atomic_long sum = 0;
    for (int round = 0; round < 2000; round++) {
        weir_parallel_for(team, 3, add_one, &sum);
        usleep((useconds_t)(round % 60));
    }
    assert_int_equal(sum, 6000);
    weir_team_free(team);
}

/* ---- several lanes really work at once ---- */

typedef struct meeting {
    atomic_int arrived;
    int wanted;
    atomic_int met;
    atomic_int lanes; /* one bit per lane that came */
} meeting;

static void meet(void *context, int64_t block, int lane)
{
    meeting *meeting = context;
    atomic_fetch_or(&meeting->lanes, 1 << lane);
    atomic_fetch_add(&meeting->arrived, 1);
    for (int wait_ms = 0; wait_ms < 20000 && atomic_load(&meeting->arrived) < meeting->wanted; wait_ms++)
        usleep(1000);
    if (atomic_load(&meeting->arrived) >= meeting->wanted)
        atomic_fetch_add(&meeting->met, 1);
}

static void all_lanes_take_part(void **state)
{
    weir_team *team = new_team(5);
    for (int round = 0; round < 3; round++) {
        meeting meeting = {.wanted = 5};
        weir_parallel_for(team, 5, meet, &meeting);
        assert_int_equal(meeting.met, 5);
        assert_int_equal(meeting.lanes, 31);
        usleep(2000); /* the next round has to wake sleepers */
    }
    weir_team_free(team);
}

/* The caller is done long before the last member and has to sleep for it. */
static void dawdle(void *context, int64_t block, int lane)
{
    if (lane != 0)
        usleep(3000);
    atomic_fetch_add((atomic_long *)context, 1);
}

static void caller_waits_for_slow_members(void **state)
{
    weir_team *team = new_team(4);
    for (int round = 0; round < 50; round++) {
        atomic_long sum = 0;
        weir_parallel_for(team, 100, dawdle, &sum);
        assert_int_equal(sum, 100);
    }
    weir_team_free(team);
}

/* ---- loops inside loops, and other callers ---- */

typedef struct nest {
    weir_team *team;
    atomic_long sum;
    atomic_int other_lanes;
} nest;

static void inner(void *context, int64_t block, int lane)
{
    nest *nest = context;
    if (lane != 0)
        atomic_fetch_add(&nest->other_lanes, 1);
    atomic_fetch_add(&nest->sum, 1);
}

static void outer(void *context, int64_t block, int lane)
{
    nest *nest = context;
    weir_parallel_for(nest->team, 10, inner, nest);
}

static void nested_loops_run_alone(void **state)
{
    nest nest = {.team = new_team(3)};
    for (int round = 0; round < 200; round++)
        weir_parallel_for(nest.team, 10, outer, &nest);
    assert_int_equal(nest.sum, 200 * 100);
    assert_int_equal(nest.other_lanes, 0);
    weir_team_free(nest.team);
}

static void *call_often(void *context)
{
    for (int round = 0; round < 500; round++)
        check_loop(context, 50 + round % 7);
    return NULL;
}

static void concurrent_callers(void **state)
{
    weir_team *team = new_team(3);
    pthread_t callers[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&callers[i], NULL, call_often, team), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(callers[i], NULL), 0);
    weir_team_free(team);
}

/* ---- what the threads are like ---- */

typedef struct traits {
    meeting meeting;
    atomic_int wrong_name;
    atomic_int open_signals;
} traits;

static void look_at_thread(void *context, int64_t block, int lane)
{
    traits *traits = context;
    meet(&traits->meeting, block, lane);
    if (lane == 0)
        return;
    char name[16] = "";
    sigset_t mask;
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (strcmp(name, "weir-team") != 0)
        atomic_fetch_add(&traits->wrong_name, 1);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    if (!sigismember(&mask, SIGINT) || !sigismember(&mask, SIGTERM) || !sigismember(&mask, SIGUSR1))
        atomic_fetch_add(&traits->open_signals, 1);
}

static void threads_are_named_and_take_no_signals(void **state)
{
    weir_team *team = new_team(3);
    traits traits = {.meeting = {.wanted = 3}};
    weir_parallel_for(team, 3, look_at_thread, &traits);
    assert_int_equal(traits.meeting.met, 3);
    assert_int_equal(traits.open_signals, 0);
    assert_int_equal(traits.wrong_name, 0);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert_false(sigismember(&mask, SIGTERM));
    weir_team_free(team);
}

static void loops_allocate_nothing(void **state)
{
    weir_team *team = new_team(3);
    atomic_long sum = 0;
    weir_parallel_for(team, 5, add_one, &sum);
    uint64_t before = weir_counters_read().allocations;
    for (int round = 0; round < 100; round++)
        weir_parallel_for(team, 5, add_one, &sum);
    assert_int_equal(weir_counters_read().allocations, before);
    weir_team_free(team);
}

/* ---- cores ---- */

static void put_file(const char *root, const char *name, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void remove_tree(const char *root)
{
    char command[512];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}

static void check_quota(const char *files[][2], int cores)
{
    char root[] = "/tmp/test_team.XXXXXX";
    assert_non_null(mkdtemp(root));
    for (int i = 0; files[i][0] != NULL; i++)
        put_file(root, files[i][0], files[i][1]);
    int found = weir_cores_quota(root);
    remove_tree(root);
    assert_int_equal(found, cores);
}

static void cgroup_quota_is_honoured(void **state)
{
    const char *none[][2] = {{"/other", ""}, {NULL, NULL}};
    const char *v2[][2] = {{"/proc/self/cgroup", "0::/a/b\n"},
                           {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
                           {"/sys/fs/cgroup/a/cpu.max", "250000 100000\n"},
                           {NULL, NULL}};
    const char *v2_unlimited[][2] = {
        {"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "max 100000\n"}, {NULL, NULL}};
    const char *v1[][2] = {{"/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/seen/by/host\n"},
                           {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"},
                           {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
                           {NULL, NULL}};
    const char *v1_unlimited[][2] = {{"/proc/self/cgroup", "4:cpu:/\n"},
                                     {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
                                     {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
                                     {NULL, NULL}};
    const char *set[][2] = {{"/proc/self/cgroup", "4:cpuset:/\n"},
                            {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n"},
                            {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
                            {NULL, NULL}};
    check_quota(none, 0);
    check_quota(v2, 3);
    check_quota(v2_unlimited, 0);
    check_quota(v1, 1);
    check_quota(v1_unlimited, 0);
    check_quota(set, 0);
}

static void affinity_is_honoured(void **state)
{
    cpu_set_t before;
    cpu_set_t one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_true(weir_cores() >= 1);
    assert_true(weir_cores() <= CPU_COUNT(&before));
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++) {
        if (CPU_ISSET(core, &before))
            CPU_SET(core, &one);
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    int cores = weir_cores();
    weir_team *team = new_team(0);
    int size = weir_team_size(team);
    weir_team_free(team);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(cores, 1);
    assert_int_equal(size, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_once),
        cmocka_unit_test(no_team_works_in_order_alone),
        cmocka_unit_test(single_block_needs_no_threads),
        cmocka_unit_test(unused_team_can_be_freed),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(many_short_loops),
        cmocka_unit_test(loops_with_pauses),
        cmocka_unit_test(all_lanes_take_part),
        cmocka_unit_test(caller_waits_for_slow_members),
        cmocka_unit_test(nested_loops_run_alone),
        cmocka_unit_test(concurrent_callers),
        cmocka_unit_test(threads_are_named_and_take_no_signals),
        cmocka_unit_test(loops_allocate_nothing),
        cmocka_unit_test(cgroup_quota_is_honoured),
        cmocka_unit_test(affinity_is_honoured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
