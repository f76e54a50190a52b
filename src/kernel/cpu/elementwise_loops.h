/*
 * The loops behind elementwise.h, type by type. Inside the kernels only.
 */
#ifndef KERNEL_CPU_ELEMENTWISE_LOOPS_H
#define KERNEL_CPU_ELEMENTWISE_LOOPS_H

#include "kernel/cpu/elementwise.h"

/* The loops of one type; NULL where there is none. A binary operation has at least the loop for BOTH sides; where the
 * others are NULL, one value is spread over a short array first. */
typedef struct weir_elementwise_loops {
    weir_unary_loop *unary[WEIR_UNARY_COUNT];
    weir_binary_loop *binary[WEIR_BINARY_COUNT][3];
} weir_elementwise_loops;

/* float by tier (elementwise.tier.c), what libm does for float (elementwise_libm.c), and the other types. */
extern const weir_elementwise_loops weir_elementwise_libm_loops;
extern const weir_elementwise_loops weir_elementwise_double_loops;
extern const weir_elementwise_loops weir_elementwise_complex64_loops;
extern const weir_elementwise_loops weir_elementwise_complex128_loops;
extern const weir_elementwise_loops weir_elementwise_bool_loops;
extern const weir_elementwise_loops weir_elementwise_int8_loops;
extern const weir_elementwise_loops weir_elementwise_int16_loops;
extern const weir_elementwise_loops weir_elementwise_int32_loops;
extern const weir_elementwise_loops weir_elementwise_int64_loops;
extern const weir_elementwise_loops weir_elementwise_uint8_loops;
extern const weir_elementwise_loops weir_elementwise_uint16_loops;
extern const weir_elementwise_loops weir_elementwise_uint32_loops;
extern const weir_elementwise_loops weir_elementwise_uint64_loops;

/* The loop for one type; half and bfloat16 have none of their own (they go through float). NULL: there is none. */
weir_unary_loop *weir_unary_loop_find(weir_unary_op op, weir_dtype type);

/* The three loops by weir_sides; NULL if there is none, BOTH is always there else. */
weir_binary_loop *const *weir_binary_loops_find(weir_binary_op op, weir_dtype type);

/* n elements: condition ? a : b; steps of condition, a and b: 0 or 1. */
void weir_select_row(int32_t size, const bool *condition, const char *a, const char *b, char *out, int64_t n,
                     const int64_t *steps);

/* Computed as float, rounded once. */
static inline bool weir_dtype_is_narrow(weir_dtype type)
{
    return type == WEIR_HALF || type == WEIR_BFLOAT16;
}

/* Bytes of a type that kernels compute with; 0 for others. */
static inline size_t weir_kernel_size(weir_dtype type)
{
    switch (type) {
#define WEIR_KERNEL_SIZE(name, number, text, size)                                                                     \
    case WEIR_##name:                                                                                                  \
        return size;
        WEIR_DTYPES(WEIR_KERNEL_SIZE)
#undef WEIR_KERNEL_SIZE
    default:
        return 0;
    }
}

/* Elements of a known shape. */
static inline int64_t weir_kernel_elements(const weir_shape *shape)
{
    int64_t elements = 1;
    for (int axis = 0; axis < shape->rank; axis++)
        elements *= shape->dims[axis];
    return elements;
}

#endif
