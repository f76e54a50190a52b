/*
 * Names and sizes of element types, from the one list in <weir/types.h>, and conversions of the 16-bit floats.
 */
#include <string.h>

#include "tensor/tensor.h"

const char *weir_dtype_name(weir_dtype dtype)
{
    switch ((int)dtype) {
#define DTYPE_NAME(name, number, text, size)                                                                           \
    case WEIR_##name:                                                                                                  \
        return text;                                                                                                   \
    case WEIR_##name + WEIR_REF_OFFSET:                                                                                \
        return text "_ref";
        WEIR_DTYPES(DTYPE_NAME)
#undef DTYPE_NAME
    }
    return "invalid";
}

weir_dtype weir_dtype_named(const char *name)
{
    static const struct {
        const char *name;
        int dtype;
    } names[] = {
#define DTYPE_ENTRY(name, number, text, size) {text, WEIR_##name}, {text "_ref", WEIR_##name + WEIR_REF_OFFSET},
        WEIR_DTYPES(DTYPE_ENTRY)
#undef DTYPE_ENTRY
            {"float16", WEIR_HALF},
        {"float32", WEIR_FLOAT},
        {"float64", WEIR_DOUBLE},
    };
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].name, name) == 0)
            return (weir_dtype)names[i].dtype;
    }
    return WEIR_INVALID_DTYPE;
}

size_t weir_dtype_size(weir_dtype dtype)
{
    switch (weir_dtype_base(dtype)) {
    case WEIR_INVALID_DTYPE:
        return 0;
#define DTYPE_SIZE(name, number, text, size)                                                                           \
    case WEIR_##name:                                                                                                  \
        return size;
        WEIR_DTYPES(DTYPE_SIZE)
#undef DTYPE_SIZE
    }
    return 0;
}

size_t weir_dtype_stride(weir_dtype dtype)
{
    switch ((int)weir_dtype_base(dtype)) {
    case WEIR_STRING:
        return sizeof(weir_string);
    case WEIR_VARIANT:
        return sizeof(weir_variant);
    case WEIR_RESOURCE:
        return sizeof(weir_handle);
    }
    return weir_dtype_size(dtype);
}

bool weir_dtype_is_integer(weir_dtype dtype)
{
    switch ((int)dtype) {
    case WEIR_INT2:
    case WEIR_INT4:
    case WEIR_INT8:
    case WEIR_INT16:
    case WEIR_INT32:
    case WEIR_INT64:
    case WEIR_UINT2:
    case WEIR_UINT4:
    case WEIR_UINT8:
    case WEIR_UINT16:
    case WEIR_UINT32:
    case WEIR_UINT64:
        return true;
    }
    return false;
}

typedef union float_word {
    float value;
    uint32_t bits;
} float_word;

/* Half: 1 sign, 5 exponent bits (bias 15), 10 fraction bits. Float: 1, 8 (bias 127), 23. */
float weir_half_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 0x1f;
    uint32_t fraction = bits & 0x3ff;
    if (exponent == 0) { /* zero or subnormal: fraction * 2^-24, exact in a float */
        float_word word = {.value = (float)fraction * 0x1p-24f};
        word.bits |= sign;
        return word.value;
    }
    uint32_t wide_exponent = exponent == 0x1f ? 0xff : exponent - 15 + 127;
    return ((float_word){.bits = sign | wide_exponent << 23 | fraction << 13}).value;
}

/* value >> shift, rounded to nearest, ties to even. */
static uint32_t shift_rounded(uint32_t value, int shift)
{
    uint32_t half = 1U << (shift - 1);
    uint32_t odd = value >> shift & 1;
    return (value + half - 1 + odd) >> shift;
}

uint16_t weir_half_from_float(float value)
{
    uint32_t bits = ((float_word){.value = value}).bits;
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) /* NaN: keep the upper bits of its fraction, made quiet */
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
    if (magnitude >= 0x47800000) /* 65536 and more, infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude >= 0x38800000) /* 2^-14 and more: a carry out of the fraction rightly goes into the exponent */
        return (uint16_t)(sign | shift_rounded(magnitude - ((127U - 15) << 23), 13));
    int shift = 126 - (int)(magnitude >> 23); /* the fraction in units of 2^-24 */
    if (shift > 24)
        return (uint16_t)sign;
    return (uint16_t)(sign | shift_rounded((magnitude & 0x7fffff) | 0x800000, shift));
}

uint16_t weir_bfloat16_from_float(float value)
{
    uint32_t bits = ((float_word){.value = value}).bits;
    if ((bits & 0x7fffffff) > 0x7f800000) /* NaN must not be rounded up to infinity */
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
