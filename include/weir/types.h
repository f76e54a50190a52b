/*
 * Element types and shapes.
 */
#ifndef WEIR_TYPES_H
#define WEIR_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types with TensorFlow's numbers: name here, number, TensorFlow's name, bytes an element takes (0: none of its
 * own: strings, resources, variants). */
#define WEIR_DTYPES(X)                                                                                                 \
    X(FLOAT, 1, "float", 4)                                                                                            \
    X(DOUBLE, 2, "double", 8)                                                                                          \
    X(INT32, 3, "int32", 4)                                                                                            \
    X(UINT8, 4, "uint8", 1)                                                                                            \
    X(INT16, 5, "int16", 2)                                                                                            \
    X(INT8, 6, "int8", 1)                                                                                              \
    X(STRING, 7, "string", 0)                                                                                          \
    X(COMPLEX64, 8, "complex64", 8)                                                                                    \
    X(INT64, 9, "int64", 8)                                                                                            \
    X(BOOL, 10, "bool", 1)                                                                                             \
    X(QINT8, 11, "qint8", 1)                                                                                           \
    X(QUINT8, 12, "quint8", 1)                                                                                         \
    X(QINT32, 13, "qint32", 4)                                                                                         \
    X(BFLOAT16, 14, "bfloat16", 2)                                                                                     \
    X(QINT16, 15, "qint16", 2)                                                                                         \
    X(QUINT16, 16, "quint16", 2)                                                                                       \
    X(UINT16, 17, "uint16", 2)                                                                                         \
    X(COMPLEX128, 18, "complex128", 16)                                                                                \
    X(HALF, 19, "half", 2)                                                                                             \
    X(RESOURCE, 20, "resource", 0)                                                                                     \
    X(VARIANT, 21, "variant", 0)                                                                                       \
    X(UINT32, 22, "uint32", 4)                                                                                         \
    X(UINT64, 23, "uint64", 8)                                                                                         \
    X(FLOAT8_E5M2, 24, "float8_e5m2", 1)                                                                               \
    X(FLOAT8_E4M3FN, 25, "float8_e4m3fn", 1)                                                                           \
    X(FLOAT8_E4M3FNUZ, 26, "float8_e4m3fnuz", 1)                                                                       \
    X(FLOAT8_E4M3B11FNUZ, 27, "float8_e4m3b11fnuz", 1)                                                                 \
    X(FLOAT8_E5M2FNUZ, 28, "float8_e5m2fnuz", 1)                                                                       \
    X(INT4, 29, "int4", 1)                                                                                             \
    X(UINT4, 30, "uint4", 1)                                                                                           \
    X(INT2, 31, "int2", 1)                                                                                             \
    X(UINT2, 32, "uint2", 1)                                                                                           \
    X(FLOAT4_E2M1FN, 33, "float4_e2m1fn", 1)

typedef enum weir_dtype {
    WEIR_INVALID_DTYPE = 0,
#define WEIR_DTYPE_ENUM(name, number, text, size) WEIR_##name = number,
    WEIR_DTYPES(WEIR_DTYPE_ENUM)
#undef WEIR_DTYPE_ENUM
} weir_dtype;

/* A reference type (the output of a VariableV2) is the base type plus this, as in TensorFlow. */
#define WEIR_REF_OFFSET 100

static inline weir_dtype weir_dtype_base(weir_dtype dtype)
{
    return (int)dtype > WEIR_REF_OFFSET ? (weir_dtype)((int)dtype - WEIR_REF_OFFSET) : dtype;
}

static inline bool weir_dtype_is_ref(weir_dtype dtype)
{
    return (int)dtype > WEIR_REF_OFFSET;
}

/* TensorFlow's short name ("float", "int32", "float_ref"); "invalid" for a number that is no type. Any thread. */
WEIR_API const char *weir_dtype_name(weir_dtype dtype);

/* The type of a name as above or as NumPy writes it ("float32", "float16"); WEIR_INVALID_DTYPE if unknown or NULL. Any
 * thread. */
WEIR_API weir_dtype weir_dtype_named(const char *name);

/* Bytes of one element in memory; 0 for string, resource and variant (and for no type). Any thread. */
WEIR_API size_t weir_dtype_size(weir_dtype dtype);

#define WEIR_MAX_RANK 12
#define WEIR_UNKNOWN_RANK (-1)
#define WEIR_UNKNOWN_DIM (-1)

/* A shape, possibly partly known: rank -1 is an unknown rank, dimension -1 an unknown dimension. Row-major order. */
typedef struct weir_shape {
    int rank;
    int64_t dims[WEIR_MAX_RANK];
} weir_shape;

/* rank dimensions from an array; a rank outside 0..WEIR_MAX_RANK gives the unknown shape. */
WEIR_API weir_shape weir_shape_of(int rank, const int64_t *dims);

static inline weir_shape weir_shape_scalar(void)
{
    weir_shape shape = {0, {0}};
    return shape;
}

static inline weir_shape weir_shape_unknown(void)
{
    weir_shape shape = {WEIR_UNKNOWN_RANK, {0}};
    return shape;
}

#ifndef __cplusplus
/* WEIR_SHAPE(-1, 784): at least one dimension; a scalar is WEIR_SCALAR. */
#define WEIR_SHAPE(...)                                                                                                \
    weir_shape_of((int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})
#define WEIR_SCALAR weir_shape_scalar()
#endif

/* True when rank and every dimension are known. */
WEIR_API bool weir_shape_known(weir_shape shape);

/* Elements of a fully known shape; -1 if it is not fully known or the product overflows. */
WEIR_API int64_t weir_shape_elements(weir_shape shape);

/* True when both are the same, unknown parts included. */
WEIR_API bool weir_shape_equal(weir_shape a, weir_shape b);

/* True when some fully known shape is both. */
WEIR_API bool weir_shape_compatible(weir_shape a, weir_shape b);

/* "[2,?]" or "<unknown>" or "[]", into text (at most size bytes with the final zero); returns text. */
WEIR_API char *weir_shape_text(weir_shape shape, char *text, size_t size);
#define WEIR_SHAPE_TEXT_SIZE 288

#ifdef __cplusplus
}
#endif

#endif
