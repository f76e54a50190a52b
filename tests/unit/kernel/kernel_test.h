/*
 * What the tests of kernels share: random numbers, teams, guarded outputs. Include after cmocka.h.
 */
#ifndef KERNEL_TEST_H
#define KERNEL_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/team.h"

static const char *const tiers[] = {"base", "v2", "v3", "v4"};
#define TIERS ((int)(sizeof tiers / sizeof *tiers))

#define TEAMS 4
static const int team_sizes[TEAMS] = {1, 2, 3, 64};
static weir_team *teams[TEAMS]; /* the first is NULL: alone */

static inline int make_teams(void **unused)
{
    (void)unused;
    for (int i = 1; i < TEAMS; i++)
        if (!weir_ok(weir_team_new(team_sizes[i], &teams[i])))
            return -1;
    return 0;
}

static inline int free_teams(void **unused)
{
    (void)unused;
    for (int i = 0; i < TEAMS; i++)
        weir_team_free(teams[i]);
    return 0;
}

static inline uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 11;
}

static inline int64_t random_below(int64_t n)
{
    return (int64_t)(random_bits() % (uint64_t)n);
}

static inline float random_float(void)
{
    return (float)(int64_t)(random_bits() % 2001 - 1000) / 512.0f;
}

/* Exactly count floats, so that the address sanitizer sees a read beyond. */
static inline float *random_floats(int64_t count)
{
    float *values = malloc((size_t)(count > 0 ? count : 1) * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++)
        values[i] = random_float();
    return values;
}

/* An output between two guards: guarded(count) points behind the first; check_guards frees it too. */
#define GUARD 64
#define GUARD_VALUE -12345.0f

static inline float *guarded(int64_t count)
{
    float *memory = random_floats(count + 2 * GUARD);
    for (int64_t i = 0; i < GUARD; i++)
        memory[i] = memory[GUARD + count + i] = GUARD_VALUE;
    return memory + GUARD;
}

static inline void check_guards(float *values, int64_t count)
{
    for (int64_t i = 0; i < GUARD; i++) {
        assert_true(values[-1 - i] == GUARD_VALUE);
        assert_true(values[count + i] == GUARD_VALUE);
    }
    free(values - GUARD);
}

static inline void *scratch_bytes(size_t size)
{
    void *scratch = weir_allocate_aligned(size);
    assert_non_null(scratch);
    memset(scratch, 0x7f, size); /* large numbers, where a kernel forgets to write */
    return scratch;
}

#endif
