/*
 * Words of many steps of the generator at once, by tier. Inside the kernels only.
 */
#ifndef KERNEL_CPU_RANDOM_WORDS_H
#define KERNEL_CPU_RANDOM_WORDS_H

#include <stdint.h>

typedef struct weir_random_kernels {
    /* out [steps, 4] from the step at counter on. */
    void (*fill_words)(const uint32_t counter[4], const uint32_t key[2], int64_t steps, uint32_t *out);
    /* Turns n words into floats in [0, 1), in place. */
    void (*floats_of_words)(float *out, int64_t n);
} weir_random_kernels;

#endif
