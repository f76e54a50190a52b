/*
 * Arrays [rows, channels] seen as flat arrays whose channels repeat with a period of whole vectors, so that few channels
 * fill the lanes too: with 6 channels, 48 floats are 8 rows and 3 vectors.
 */
#ifndef KERNEL_CPU_PERIODIC_H
#define KERNEL_CPU_PERIODIC_H

#include <stdint.h>

/* From this many channels on a period is one row, whatever the tail. */
#define WEIR_PERIOD_CHANNELS 64

/* Floats of a period: whole rows, and whole vectors of any tier where channels are few. */
static inline int64_t weir_period(int64_t channels)
{
    if (channels >= WEIR_PERIOD_CHANNELS)
        return channels;
    int64_t rows = 16;
    for (int64_t rest = channels; rows > 1 && rest % 2 == 0; rest /= 2)
        rows /= 2;
    return rows * channels;
}

/* table[i] = values[i % channels] for a period. */
static inline void weir_period_fill(const float *values, int64_t channels, float *table)
{
    const int64_t period = weir_period(channels);
    for (int64_t i = 0; i < period; i++)
        table[i] = values[i % channels];
}

#endif
