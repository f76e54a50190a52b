/*
 * Kernels that make numbers and indices: Range, InvertPermutation, Where, ListDiff.
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "kernel/cpu/array.h"
#include "kernel/cpu/elementwise_loops.h"
#include "kernel/cpu/narrow_floats.h"

/* ---- range ------------------------------------------------------------------------------------------------------- */

static int64_t whole_count(int64_t start, int64_t limit, int64_t delta, bool *bad_sign)
{
    *bad_sign = (delta > 0 && start > limit) || (delta < 0 && start < limit);
    if (delta == 0 || *bad_sign)
        return -1;
    uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : (uint64_t)0 - (uint64_t)delta;
    uint64_t count = span / step + (span % step != 0);
    return count > INT64_MAX ? -2 : (int64_t)count;
}

static int64_t real_count(double start, double limit, double delta, bool *bad_sign)
{
    *bad_sign = (delta > 0 && start > limit) || (delta < 0 && start < limit);
    if (delta == 0 || *bad_sign)
        return -1;
    double count = ceil(fabs((limit - start) / delta));
    return count < 0x1p63 ? (int64_t)count : -2; /* NaN too */
}

static double real_at(weir_dtype type, const void *x)
{
    switch (type) {
    case WEIR_FLOAT:
        return *(const float *)x;
    case WEIR_HALF:
        return float_of_half(*(const uint16_t *)x);
    case WEIR_BFLOAT16:
        return float_of_bfloat16(*(const uint16_t *)x);
    default:
        return *(const double *)x;
    }
}

int64_t weir_range_count(weir_dtype type, const void *start, const void *limit, const void *delta, bool *bad_sign)
{
    *bad_sign = false;
    if (type == WEIR_INT32)
        return whole_count(*(const int32_t *)start, *(const int32_t *)limit, *(const int32_t *)delta, bad_sign);
    if (type == WEIR_INT64)
        return whole_count(*(const int64_t *)start, *(const int64_t *)limit, *(const int64_t *)delta, bad_sign);
    return real_count(real_at(type, start), real_at(type, limit), real_at(type, delta), bad_sign);
}

void weir_range_numbers(weir_dtype type, const void *start, const void *delta, int64_t n, void *out)
{
    switch (type) {
#define RANGE(name, T, U)                                                                                              \
    case WEIR_##name: {                                                                                                \
        T value = *(const T *)start, step = *(const T *)delta;                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            ((T *)out)[i] = value;                                                                                     \
            value = (T)((U)value + (U)step);                                                                           \
        }                                                                                                              \
        break;                                                                                                         \
    }
        RANGE(INT32, int32_t, uint32_t)
        RANGE(INT64, int64_t, uint64_t)
        RANGE(FLOAT, float, float)
        RANGE(DOUBLE, double, double)
#undef RANGE
    default: {
        bool half = type == WEIR_HALF;
        uint16_t value = *(const uint16_t *)start;
        float step = half ? float_of_half(*(const uint16_t *)delta) : float_of_bfloat16(*(const uint16_t *)delta);
        for (int64_t i = 0; i < n; i++) {
            ((uint16_t *)out)[i] = value;
            value =
                half ? half_of_float(float_of_half(value) + step) : bfloat16_of_float(float_of_bfloat16(value) + step);
        }
    }
    }
}

/* ---- permutations ------------------------------------------------------------------------------------------------ */

#define INVERT(name, T)                                                                                                \
    static weir_permutation_fault name(const T *x, int64_t n, T *out, int64_t *value)                                  \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            out[i] = -1;                                                                                               \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            *value = x[i];                                                                                             \
            if (x[i] < 0 || x[i] >= n)                                                                                 \
                return WEIR_PERMUTATION_RANGE;                                                                         \
            if (out[x[i]] != -1)                                                                                       \
                return WEIR_PERMUTATION_DUPLICATE;                                                                     \
            out[x[i]] = (T)i;                                                                                          \
        }                                                                                                              \
        return WEIR_PERMUTATION_OK;                                                                                    \
    }
INVERT(invert_int32, int32_t)
INVERT(invert_int64, int64_t)

weir_permutation_fault weir_inverse_permutation(weir_dtype type, const void *x, int64_t n, void *out, int64_t *value)
{
    if (type == WEIR_INT32)
        return invert_int32(x, n, out, value);
    return invert_int64(x, n, out, value);
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

/* type, stored type, whether an element counts. */
#define PLAIN(x) ((x) != 0)
#define NARROW(x) (((x)&0x7fff) != 0)
#define WHERE_TYPES(X)                                                                                                 \
    X(BOOL, uint8_t, PLAIN)                                                                                            \
    X(FLOAT, float, PLAIN)                                                                                             \
    X(DOUBLE, double, PLAIN)                                                                                           \
    X(HALF, uint16_t, NARROW)                                                                                          \
    X(BFLOAT16, uint16_t, NARROW)                                                                                      \
    X(COMPLEX64, float complex, PLAIN)                                                                                 \
    X(COMPLEX128, double complex, PLAIN)                                                                               \
    X(INT8, int8_t, PLAIN)                                                                                             \
    X(INT16, int16_t, PLAIN)                                                                                           \
    X(INT32, int32_t, PLAIN)                                                                                           \
    X(INT64, int64_t, PLAIN)                                                                                           \
    X(UINT8, uint8_t, PLAIN)                                                                                           \
    X(UINT16, uint16_t, PLAIN)                                                                                         \
    X(UINT32, uint32_t, PLAIN)                                                                                         \
    X(UINT64, uint64_t, PLAIN)

int64_t weir_where_count(weir_dtype type, const void *x, int64_t n)
{
    int64_t count = 0;
    switch (type) {
#define COUNT(name, T, counts)                                                                                         \
    case WEIR_##name:                                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            count += counts(((const T *)x)[i]);                                                                        \
        return count;
        WHERE_TYPES(COUNT)
#undef COUNT
    default:
        return -1;
    }
}

/* An index in an array counted along with the elements. */
static void next_index(const weir_shape *shape, int64_t *index)
{
    for (int axis = shape->rank - 1; axis >= 0; axis--) {
        if (++index[axis] < shape->dims[axis])
            return;
        index[axis] = 0;
    }
}

void weir_where_indices(weir_dtype type, const void *x, const weir_shape *shape, int64_t *out)
{
    int64_t index[WEIR_MAX_RANK] = {0};
    int64_t n = weir_kernel_elements(shape);
    switch (type) {
#define FIND(name, T, counts)                                                                                          \
    case WEIR_##name:                                                                                                  \
        for (int64_t i = 0; i < n; i++, next_index(shape, index))                                                      \
            if (counts(((const T *)x)[i])) {                                                                           \
                memcpy(out, index, (size_t)shape->rank * sizeof *out);                                                 \
                out += shape->rank;                                                                                    \
            }                                                                                                          \
        return;
        WHERE_TYPES(FIND)
#undef FIND
    default:
        return;
    }
}

/* ---- list difference --------------------------------------------------------------------------------------------- */

/* A hash table over y: slots of 1 + the place of an element, 0 for none; open addressing, at most half full. */
static int64_t slots_for(int64_t count)
{
    int64_t slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    return slots;
}

size_t weir_list_difference_scratch(int64_t y_count)
{
    return (size_t)slots_for(y_count) * sizeof(int64_t);
}

/* An element's bits, equal for equal elements. *equal: whether it equals itself. */
static uint64_t key_of(weir_dtype type, size_t size, const char *x, bool *equal)
{
    uint64_t key = 0;
    memcpy(&key, x, size);
    *equal = true;
    if (type == WEIR_FLOAT || type == WEIR_HALF || type == WEIR_BFLOAT16 || type == WEIR_DOUBLE) {
        double value = real_at(type, x);
        *equal = value == value;
        if (value == 0)
            key = 0;
    }
    return key;
}

static int64_t slot_of(uint64_t key, int64_t slots)
{
    key *= 0x9e3779b97f4a7c15u;
    return (int64_t)(key >> 32) & (slots - 1);
}

/* The slot that holds the key, or the empty one where it would go. */
static int64_t find_slot(weir_dtype type, size_t size, const char *y, const int64_t *table, int64_t slots, uint64_t key)
{
    int64_t slot = slot_of(key, slots);
    bool equal;
    while (table[slot] != 0 && key_of(type, size, y + (size_t)(table[slot] - 1) * size, &equal) != key)
        slot = (slot + 1) & (slots - 1);
    return slot;
}

int64_t weir_list_difference(weir_dtype type, const void *x, int64_t x_count, const void *y, int64_t y_count,
                             weir_dtype index_type, void *scratch, void *out, void *out_index)
{
    size_t size = weir_kernel_size(type);
    int64_t *table = scratch, slots = slots_for(y_count), kept = 0;
    bool equal;
    if (size == 0 || size > 8)
        return -1;
    memset(table, 0, (size_t)slots * sizeof *table);
    for (int64_t i = 0; i < y_count; i++) {
        uint64_t key = key_of(type, size, (const char *)y + (size_t)i * size, &equal);
        if (equal)
            table[find_slot(type, size, y, table, slots, key)] = i + 1;
    }
    for (int64_t i = 0; i < x_count; i++) {
        const char *element = (const char *)x + (size_t)i * size;
        uint64_t key = key_of(type, size, element, &equal);
        if (equal && table[find_slot(type, size, y, table, slots, key)] != 0)
            continue;
        memcpy((char *)out + (size_t)kept * size, element, size);
        if (index_type == WEIR_INT32)
            ((int32_t *)out_index)[kept] = (int32_t)i;
        else
            ((int64_t *)out_index)[kept] = i;
        kept++;
    }
    return kept;
}
