/*
 * One element of any numeric tensor as a double or as an integer.
 */
#include <math.h>
#include <string.h>

#include "tensor/tensor.h"

/* Floats of at most eight bits: how their bits are shared out, and what the highest patterns mean. */
typedef struct small_float {
    int exponent_bits;
    int fraction_bits;
    int bias;
    enum { ALL_FINITE, IEEE, NAN_ALL_ONES, NAN_NEGATIVE_ZERO } special;
} small_float;

static double decode_small(small_float format, unsigned bits)
{
    unsigned exponent_ones = (1U << format.exponent_bits) - 1;
    unsigned fraction_ones = (1U << format.fraction_bits) - 1;
    unsigned fraction = bits & fraction_ones;
    unsigned exponent = bits >> format.fraction_bits & exponent_ones;
    unsigned negative = bits >> (format.fraction_bits + format.exponent_bits) & 1;
    if (format.special == NAN_NEGATIVE_ZERO && negative && exponent == 0 && fraction == 0)
        return NAN;
    if (format.special == NAN_ALL_ONES && exponent == exponent_ones && fraction == fraction_ones)
        return NAN;
    double magnitude;
    if (format.special == IEEE && exponent == exponent_ones)
        magnitude = fraction == 0 ? INFINITY : NAN;
    else if (exponent == 0)
        magnitude = ldexp(fraction, 1 - format.bias - format.fraction_bits);
    else
        magnitude = ldexp(fraction + fraction_ones + 1, (int)exponent - format.bias - format.fraction_bits);
    return negative ? -magnitude : magnitude;
}

/* A two's complement number in the low bits of a byte. */
static int64_t low_bits(unsigned bits, unsigned width)
{
    unsigned sign = 1U << (width - 1);
    bits &= (1U << width) - 1;
    return (int64_t)(bits ^ sign) - (int64_t)sign;
}

static bool is_whole(weir_dtype dtype)
{
    switch ((int)dtype) {
    case WEIR_BOOL:
    case WEIR_QINT8:
    case WEIR_QUINT8:
    case WEIR_QINT16:
    case WEIR_QUINT16:
    case WEIR_QINT32:
        return true;
    }
    return weir_dtype_is_integer(dtype);
}

static int64_t whole(const weir_tensor *tensor, int64_t index)
{
    const void *data = tensor->data;
    switch ((int)tensor->dtype) {
    case WEIR_BOOL:
        return ((const uint8_t *)data)[index] != 0;
    case WEIR_UINT8:
    case WEIR_QUINT8:
        return ((const uint8_t *)data)[index];
    case WEIR_INT8:
    case WEIR_QINT8:
        return ((const int8_t *)data)[index];
    case WEIR_INT16:
    case WEIR_QINT16:
        return ((const int16_t *)data)[index];
    case WEIR_UINT16:
    case WEIR_QUINT16:
        return ((const uint16_t *)data)[index];
    case WEIR_INT32:
    case WEIR_QINT32:
        return ((const int32_t *)data)[index];
    case WEIR_UINT32:
        return ((const uint32_t *)data)[index];
    case WEIR_INT64:
        return ((const int64_t *)data)[index];
    case WEIR_UINT64: {
        uint64_t value = ((const uint64_t *)data)[index];
        return value > INT64_MAX ? INT64_MAX : (int64_t)value;
    }
    case WEIR_INT4:
        return low_bits(((const uint8_t *)data)[index], 4);
    case WEIR_INT2:
        return low_bits(((const uint8_t *)data)[index], 2);
    case WEIR_UINT4:
        return ((const uint8_t *)data)[index] & 15;
    case WEIR_UINT2:
        return ((const uint8_t *)data)[index] & 3;
    }
    return 0;
}

double weir_tensor_get_double(const weir_tensor *tensor, int64_t index)
{
    const void *data = tensor->data;
    switch ((int)tensor->dtype) {
    case WEIR_FLOAT:
        return (double)((const float *)data)[index];
    case WEIR_DOUBLE:
        return ((const double *)data)[index];
    case WEIR_HALF:
        return (double)weir_half_to_float(((const uint16_t *)data)[index]);
    case WEIR_BFLOAT16:
        return (double)weir_bfloat16_to_float(((const uint16_t *)data)[index]);
    case WEIR_COMPLEX64:
        return (double)((const float *)data)[2 * index];
    case WEIR_COMPLEX128:
        return ((const double *)data)[2 * index];
    case WEIR_UINT64:
        return (double)((const uint64_t *)data)[index];
    case WEIR_FLOAT8_E5M2:
        return decode_small((small_float){5, 2, 15, IEEE}, ((const uint8_t *)data)[index]);
    case WEIR_FLOAT8_E4M3FN:
        return decode_small((small_float){4, 3, 7, NAN_ALL_ONES}, ((const uint8_t *)data)[index]);
    case WEIR_FLOAT8_E4M3FNUZ:
        return decode_small((small_float){4, 3, 8, NAN_NEGATIVE_ZERO}, ((const uint8_t *)data)[index]);
    case WEIR_FLOAT8_E4M3B11FNUZ:
        return decode_small((small_float){4, 3, 11, NAN_NEGATIVE_ZERO}, ((const uint8_t *)data)[index]);
    case WEIR_FLOAT8_E5M2FNUZ:
        return decode_small((small_float){5, 2, 16, NAN_NEGATIVE_ZERO}, ((const uint8_t *)data)[index]);
    case WEIR_FLOAT4_E2M1FN:
        return decode_small((small_float){2, 1, 1, ALL_FINITE}, ((const uint8_t *)data)[index]);
    }
    return (double)whole(tensor, index);
}

int64_t weir_tensor_get_int(const weir_tensor *tensor, int64_t index)
{
    if (is_whole(tensor->dtype))
        return whole(tensor, index);
    double value = weir_tensor_get_double(tensor, index);
    if (isnan(value))
        return 0;
    if (value >= 0x1p63)
        return INT64_MAX;
    return value < -0x1p63 ? INT64_MIN : (int64_t)value;
}
