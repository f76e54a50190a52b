/*
 * Elements as bytes: words of the usual sizes that may stand for any type. Inside the kernels only.
 */
#ifndef KERNEL_CPU_ARRAY_ELEMENT_H
#define KERNEL_CPU_ARRAY_ELEMENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t bytes1;
typedef uint16_t __attribute__((may_alias)) bytes2;
typedef uint32_t __attribute__((may_alias)) bytes4;
typedef uint64_t __attribute__((may_alias)) bytes8;
typedef struct bytes16 {
    uint64_t low, high;
} __attribute__((may_alias)) bytes16;

#define WEIR_ELEMENT_SIZES(X)                                                                                          \
    X(1, bytes1)                                                                                                       \
    X(2, bytes2)                                                                                                       \
    X(4, bytes4)                                                                                                       \
    X(8, bytes8)                                                                                                       \
    X(16, bytes16)

/* n copies of one element of size bytes. */
static inline void weir_element_repeat(size_t size, const void *in, void *out, int64_t n)
{
    switch (size) {
#define CASE(bytes, T)                                                                                                 \
    case bytes: {                                                                                                      \
        T value = *(const T *)in;                                                                                      \
        for (int64_t i = 0; i < n; i++)                                                                                \
            ((T *)out)[i] = value;                                                                                     \
        break;                                                                                                         \
    }
        WEIR_ELEMENT_SIZES(CASE)
#undef CASE
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy((char *)out + (size_t)i * size, in, size);
    }
}

#endif
