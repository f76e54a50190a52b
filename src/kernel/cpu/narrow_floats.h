/*
 * half and bfloat16 to float and back (nearest, ties to even; overflow to infinity; denormals kept), one at a time.
 */
#ifndef KERNEL_CPU_NARROW_FLOATS_H
#define KERNEL_CPU_NARROW_FLOATS_H

#include <stdint.h>
#include <string.h>

static inline float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of_bfloat16(uint16_t narrow)
{
    return float_of_bits((uint32_t)narrow << 16);
}

static inline uint16_t bfloat16_of_float(float value)
{
    uint32_t bits = bits_of_float(value);
    if (value != value)
        return (uint16_t)((bits >> 16) | 0x40);
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static inline float float_of_half(uint16_t narrow)
{
    uint32_t sign = (uint32_t)(narrow & 0x8000) << 16;
    uint32_t rest = (uint32_t)(narrow & 0x7fff) << 13;
    if (rest >= 0x7c00u << 13) /* infinity, NaN */
        return float_of_bits(sign | (rest + (224u << 23)));
    /* The exponent's bias grows by 112; denormals become normal by a subtraction that is exact. */
    if (rest < 0x0400u << 13)
        return float_of_bits(sign | bits_of_float(float_of_bits(rest + (113u << 23)) - float_of_bits(113u << 23)));
    return float_of_bits(sign | (rest + (112u << 23)));
}

static inline uint16_t half_of_float(float value)
{
    uint32_t bits = bits_of_float(value);
    uint32_t sign = (bits >> 16) & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | ((bits >> 13) & 0x1ff));
    if (bits >= 0x477ff000) /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00);
    if (bits < 0x38800000) /* a denormal half, or zero: adding 0.5 leaves the half's digits at the end, rounded */
        return (uint16_t)(sign | (bits_of_float(float_of_bits(bits) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | ((bits + 0xfff + ((bits >> 13) & 1) - (112u << 23)) >> 13));
}

#endif
