/*
 * What the kernels' tests share: arrays between guard bytes, numbers from a fixed sequence, teams of several sizes,
 * distances between floats.
 */
#ifndef TESTS_UNIT_KERNEL_DATA_H
#define TESTS_UNIT_KERNEL_DATA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/types.h>

#include "base/team.h"

#define DATA_UNUSED __attribute__((unused))

/* ---- memory ------------------------------------------------------------------------------------------------------ */

#define GUARD 64
#define GUARD_BYTE 0xa5

/* size_bytes of memory with guard bytes around, filled with a pattern. */
DATA_UNUSED static void *guarded_new(size_t size_bytes)
{
    unsigned char *memory = malloc(size_bytes + 2 * GUARD + sizeof(size_t));
    assert_non_null(memory);
    memset(memory, GUARD_BYTE, size_bytes + 2 * GUARD + sizeof(size_t));
    memcpy(memory, &size_bytes, sizeof size_bytes);
    return memory + GUARD;
}

/* Fails the test if anything was written around the memory (the size stands in the first bytes). */
DATA_UNUSED static void guarded_free(void *pointer)
{
    unsigned char *memory = (unsigned char *)pointer - GUARD;
    size_t size_bytes;
    memcpy(&size_bytes, memory, sizeof size_bytes);
    for (size_t i = sizeof size_bytes; i < GUARD; i++)
        assert_int_equal(memory[i], GUARD_BYTE);
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(memory[GUARD + size_bytes + i], GUARD_BYTE);
    free(memory);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

DATA_UNUSED static uint64_t random_state = 88172645463325252u;

DATA_UNUSED static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1du;
}

DATA_UNUSED static double random_between(double low, double high)
{
    return low + (high - low) * ((double)(random_bits() >> 11) * 0x1p-53);
}

DATA_UNUSED static int64_t random_whole(int64_t low, int64_t high)
{
    return low + (int64_t)(random_bits() % (uint64_t)(high - low + 1));
}

DATA_UNUSED static float *random_floats(int64_t n, double low, double high)
{
    float *x = guarded_new((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)random_between(low, high);
    return x;
}

/* How many floats lie between the value and the nearest float of the exact one; 0 for two NaNs. */
DATA_UNUSED static double ulps(float value, double exact)
{
    if (isnan(value) && isnan(exact))
        return 0;
    float nearest = (float)exact;
    if (value == nearest)
        return 0;
    if (!isfinite(value) || !isfinite(nearest))
        return INFINITY;
    double unit = (double)nextafterf(fabsf(nearest), INFINITY) - fabs((double)nearest);
    return fabs(value - exact) / unit;
}

/* ---- teams ------------------------------------------------------------------------------------------------------- */

#define TEAMS 4
DATA_UNUSED static weir_team *teams[TEAMS]; /* sizes 1, 2, 3, 64; the first is NULL */

DATA_UNUSED static int teams_start(void **state)
{
    static const int sizes[TEAMS] = {1, 2, 3, 64};
    (void)state;
    for (int i = 1; i < TEAMS; i++)
        if (!weir_ok(weir_team_new(sizes[i], &teams[i])))
            return -1;
    return 0;
}

DATA_UNUSED static int teams_stop(void **state)
{
    (void)state;
    for (int i = 1; i < TEAMS; i++)
        weir_team_free(teams[i]);
    return 0;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

DATA_UNUSED static weir_shape shape_of(int rank, const int64_t *dims)
{
    weir_shape shape = {.rank = rank};
    for (int axis = 0; axis < rank; axis++)
        shape.dims[axis] = dims[axis];
    return shape;
}

#define SHAPE(...) shape_of((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})
#define SCALAR_SHAPE shape_of(0, NULL)

DATA_UNUSED static int64_t elements_of(weir_shape shape)
{
    int64_t elements = 1;
    for (int axis = 0; axis < shape.rank; axis++)
        elements *= shape.dims[axis];
    return elements;
}

/* The element of x that stands at index (in out's elements) when x broadcasts to out. */
DATA_UNUSED static int64_t broadcast_index(weir_shape x, weir_shape out, int64_t index)
{
    int64_t offset = 0, step = 1;
    for (int axis = out.rank - 1; axis >= 0; axis--) {
        int64_t at = index % out.dims[axis];
        index /= out.dims[axis];
        int own = axis - (out.rank - x.rank);
        if (own < 0)
            continue;
        if (x.dims[own] != 1)
            offset += at * step;
        step *= x.dims[own];
    }
    return offset;
}

#endif
