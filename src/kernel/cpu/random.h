/*
 * TensorFlow's random numbers: the counter-based generator Philox4x32-10, and tensors filled from it. The numbers
 * depend on seeds and position only, not on the team. Uniform numbers and integers have TensorFlow's bits; normal ones
 * are within a few units in the last place (logf, sinf, cosf).
 *
 * A kernel instance owns a generator. Each run takes a copy as its base, moves the owned one on by the number of steps
 * named below (the caller does both as one atomic act), and fills from the copy. Any thread.
 */
#ifndef KERNEL_CPU_RANDOM_H
#define KERNEL_CPU_RANDOM_H

#include <weir/types.h>

#include "kernel/kernel.h"

typedef struct weir_philox {
    uint32_t counter[4];
    uint32_t key[2];
} weir_philox;

/* The generator of a node's attributes; the caller has replaced two zeros by non-deterministic numbers. */
weir_philox weir_philox_seeded(int64_t seed, int64_t seed2);

/* Moves on by steps of four words. */
void weir_philox_skip(weir_philox *generator, uint64_t steps);

/* The next four words; moves on by one step. */
void weir_philox_next(weir_philox *generator, uint32_t words[4]);

/* Words taken one at a time from a generator, as queues and shuffles do. Starts as zeros but for the generator. */
typedef struct weir_philox_words {
    weir_philox generator;
    uint32_t words[4];
    int left; /* words not yet taken: the last ones */
} weir_philox_words;

uint32_t weir_philox_word(weir_philox_words *stream);

/* A double in [0, 1) of two words; a float in [0, 1) of one. */
double weir_philox_double(uint32_t x0, uint32_t x1);
float weir_philox_float(uint32_t x);

/* Steps that a run of n elements of the four filling operations reserves. */
static inline uint64_t weir_random_steps(int64_t n)
{
    return (uint64_t)n * 256;
}

/* Fill n elements of float, double, half or bfloat16 from base; NULL: no such type. */
typedef void weir_random_function(weir_team *team, const weir_philox *base, int64_t n, void *out);
weir_random_function *weir_random_uniform_find(weir_dtype type);
weir_random_function *weir_random_normal_find(weir_dtype type);
weir_random_function *weir_random_truncated_normal_find(weir_dtype type);

/* Integers in [low, high); the caller has checked low < high. */
void weir_random_int32(weir_team *team, const weir_philox *base, int32_t low, int32_t high, int64_t n, int32_t *out);
void weir_random_int64(weir_team *team, const weir_philox *base, int64_t low, int64_t high, int64_t n, int64_t *out);

/* Steps that a shuffle of n rows reserves: 0 for at most one row. */
uint64_t weir_random_shuffle_steps(int64_t n);

/* permutation [n]: output row i is input row permutation[i] (RandomShuffle). Rows are then gathered. */
void weir_random_permutation(const weir_philox *base, int64_t n, int64_t *permutation);

#endif
