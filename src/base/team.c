/*
 * The team's threads, and the one loop at a time that they share.
 *
 * A loop opens the gate, works on blocks like everybody else until none is left, closes the gate, and waits only for
 * those threads that came in: one that was asleep and comes late finds the gate closed and touches nothing. The gate is
 * one word, so that coming in (counting oneself while the gate is open) is one compare-and-swap:
 *
 *     bits  0-15  members inside
 *     bit  16     open
 *     bit  17     the team is being freed
 *     bits 18-31  number of the loop, so that a member does not come back into a loop it has left
 *
 * The number wraps around after 16384 loops; a member that slept through exactly as many misses one, which costs nothing
 * but its help. Sleeping is on a futex. Sleeper and waker each write their word before they read the other's (all
 * sequentially consistent), so one of them sees the other.
 */
#include "base/team.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

#define MEMBERS_MASK 0xffffU
#define GATE_OPEN (1U << 16)
#define GATE_STOP (1U << 17)
#define LOOP_STEP (1U << 18)
#define LOOP_MASK (~(LOOP_STEP - 1))

#define LARGEST_TEAM 4096
#define SPIN_NS                                                                                                        \
    30000 /* how long a member looks for the next loop before it sleeps: the gap between two ops of a step */
#define SPIN_ROUNDS 32 /* looks between two readings of the clock */

typedef struct member {
    weir_team *team;
    int lane;
    pthread_t thread;
} member;

/* Words that different threads write stand on different cache lines. */
struct weir_team {
    _Alignas(WEIR_ALIGNMENT) atomic_uint gate;
    atomic_uint sleepers; /* members that sleep on the gate, or are about to */

    _Alignas(WEIR_ALIGNMENT) atomic_int_fast64_t next_block;

    _Alignas(WEIR_ALIGNMENT)
        atomic_uint caller_sleeps; /* 1: the caller sleeps on this word until the last member leaves */
    atomic_bool busy;              /* somebody is in weir_parallel_for with this team */

    /* Written by whoever holds busy while the gate is closed. */
    _Alignas(WEIR_ALIGNMENT) weir_block_function *function;
    void *context;
    int64_t blocks;
    bool has_started;
    int started; /* threads that could be started */

    int size;
    int64_t spin_ns; /* 0 when there are not enough cores for everybody */
    member *members; /* [size - 1], lanes 1 .. size - 1 */
};

static void sleep_while(atomic_uint *word, unsigned value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(atomic_uint *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- a member ---- */

/* True when a member that was last in loop seen has something to do: a new loop, or the end. */
static bool is_called(unsigned gate, unsigned seen)
{
    return (gate & GATE_STOP) != 0 || ((gate & GATE_OPEN) != 0 && (gate & LOOP_MASK) != seen);
}

static bool spin_for_call(weir_team *team, unsigned seen)
{
    if (team->spin_ns == 0)
        return is_called(atomic_load_explicit(&team->gate, memory_order_relaxed), seen);
    int64_t end = now_ns() + team->spin_ns;
    do {
        for (int i = 0; i < SPIN_ROUNDS; i++) {
            if (is_called(atomic_load_explicit(&team->gate, memory_order_relaxed), seen))
                return true;
            pause_briefly();
        }
    } while (now_ns() < end);
    return false;
}

static void wait_for_call(weir_team *team, unsigned seen)
{
    if (spin_for_call(team, seen))
        return;
    atomic_fetch_add(&team->sleepers, 1);
    for (;;) {
        unsigned gate = atomic_load(&team->gate);
        if (is_called(gate, seen))
            break;
        sleep_while(&team->gate, gate);
    }
    atomic_fetch_sub(&team->sleepers, 1);
}

/* Counts the caller in, if a loop is open that it was not in before. */
static bool come_in(weir_team *team, unsigned *seen)
{
    unsigned gate = atomic_load_explicit(&team->gate, memory_order_relaxed);
    while ((gate & GATE_OPEN) != 0 && (gate & LOOP_MASK) != *seen) {
        if (atomic_compare_exchange_weak_explicit(&team->gate, &gate, gate + 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            *seen = gate & LOOP_MASK;
            return true;
        }
        pause_briefly();
    }
    return false;
}

static void leave(weir_team *team)
{
    unsigned gate = atomic_fetch_sub(&team->gate, 1) - 1;
    bool is_last = (gate & (GATE_OPEN | MEMBERS_MASK)) == 0;
    if (is_last && atomic_load(&team->caller_sleeps) != 0 && atomic_exchange(&team->caller_sleeps, 0) != 0)
        wake(&team->caller_sleeps, 1);
}

static void work(weir_team *team, int lane)
{
    weir_block_function *function = team->function;
    void *context = team->context;
    int64_t blocks = team->blocks;
    for (;;) {
        int64_t block = atomic_fetch_add_explicit(&team->next_block, 1, memory_order_relaxed);
        if (block >= blocks)
            return;
        function(context, block, lane);
    }
}

static void *run_member(void *argument)
{
    member *self = argument;
    weir_team *team = self->team;
    unsigned seen = LOOP_MASK; /* the first loop has number 1 */
    for (;;) {
        wait_for_call(team, seen);
        if ((atomic_load_explicit(&team->gate, memory_order_relaxed) & GATE_STOP) != 0)
            return NULL;
        if (come_in(team, &seen)) {
            work(team, self->lane);
            leave(team);
        }
    }
}

/* ---- the caller ---- */

/* Threads that cannot be had are done without. Signals belong to the program's own threads. */
static void start_members(weir_team *team)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < team->size - 1; i++) {
        member *member = &team->members[i];
        member->team = team;
        member->lane = i + 1;
        if (pthread_create(&member->thread, NULL, run_member, member) != 0)
            break;
        pthread_setname_np(member->thread, "weir-team");
        team->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    team->has_started = true;
}

/* Wakes no more members than have a block to hope for, less those that are awake. */
static void wake_sleepers(weir_team *team, int64_t blocks)
{
    int sleepers = (int)atomic_load(&team->sleepers);
    if (sleepers == 0)
        return;
    int64_t wanted = blocks - 1 - (team->started - sleepers);
    if (wanted > 0)
        wake(&team->gate, wanted < sleepers ? (int)wanted : sleepers);
}

static void open_gate(weir_team *team, int64_t blocks, weir_block_function *function, void *context)
{
    team->function = function;
    team->context = context;
    team->blocks = blocks;
    atomic_store_explicit(&team->next_block, 0, memory_order_relaxed);
    unsigned gate = atomic_load_explicit(&team->gate, memory_order_relaxed); /* closed: nobody else writes it */
    atomic_store(&team->gate, ((gate & LOOP_MASK) + LOOP_STEP) | GATE_OPEN);
    wake_sleepers(team, blocks);
}

static bool has_members_inside(weir_team *team)
{
    return (atomic_load(&team->gate) & MEMBERS_MASK) != 0;
}

/* Looks for a while, then sleeps until the last member leaves: blocks may be long, and cores wanted by others. */
static void close_gate(weir_team *team)
{
    unsigned gate = atomic_fetch_and(&team->gate, ~GATE_OPEN);
    if ((gate & MEMBERS_MASK) == 0)
        return;
    int64_t end = team->spin_ns > 0 ? now_ns() + team->spin_ns : 0;
    while (team->spin_ns > 0 && now_ns() < end) {
        for (int i = 0; i < SPIN_ROUNDS; i++) {
            if (!has_members_inside(team))
                return;
            pause_briefly();
        }
    }
    while (has_members_inside(team)) {
        atomic_store(&team->caller_sleeps, 1);
        if (has_members_inside(team))
            sleep_while(&team->caller_sleeps, 1);
    }
    atomic_store(&team->caller_sleeps, 0);
}

static bool take_team(weir_team *team)
{
    return !atomic_load_explicit(&team->busy, memory_order_relaxed) &&
           !atomic_exchange_explicit(&team->busy, true, memory_order_acquire);
}

void weir_parallel_for(weir_team *team, int64_t blocks, weir_block_function *function, void *context)
{
    if (blocks <= 1 || team == NULL || team->size == 1 || !take_team(team)) {
        for (int64_t block = 0; block < blocks; block++)
            function(context, block, 0);
        return;
    }
    if (!team->has_started)
        start_members(team);
    open_gate(team, blocks, function, context);
    work(team, 0);
    close_gate(team);
    atomic_store_explicit(&team->busy, false, memory_order_release);
}

/* ---- the team ---- */

weir_status weir_team_new(int size, weir_team **out)
{
    if (size < 0 || size > LARGEST_TEAM)
        return weir_fail(WEIR_INVALID_ARGUMENT, "A team of %d threads: must be 0 (as many as cores) to %d", size,
                         LARGEST_TEAM);
    int cores = weir_cores();
    size = size > 0 ? size : cores < LARGEST_TEAM ? cores : LARGEST_TEAM;
    weir_team *team = weir_allocate_aligned(sizeof *team);
    if (team == NULL)
        return weir_fail_memory(sizeof *team);
    *team = (weir_team){.size = size, .spin_ns = size <= cores ? SPIN_NS : 0};
    weir_status made = weir_new(&team->members, (size_t)size);
    if (!weir_ok(made)) {
        weir_release(team);
        return made;
    }
    *out = team;
    return WEIR_STATUS_OK;
}

void weir_team_free(weir_team *team)
{
    if (team == NULL)
        return;
    atomic_fetch_or(&team->gate, GATE_STOP);
    wake(&team->gate, INT_MAX);
    for (int i = 0; i < team->started; i++)
        pthread_join(team->members[i].thread, NULL);
    weir_release(team->members);
    weir_release(team);
}

int weir_team_size(const weir_team *team)
{
    return team != NULL ? team->size : 1;
}
