/*
 * What the fuzz targets share.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* FUZZ_TARGET(graph) { ... }: libFuzzer's entry point, called with (data, size); in the test that holds all targets,
 * a function of the target's own name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#ifdef FUZZ_ALL_TARGETS
#define FUZZ_TARGET(name) static int fuzz_##name(const uint8_t *data, size_t size)
#else
#define FUZZ_TARGET(name) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#endif

/* What must hold for any input. */
#define FUZZ_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
