/*
 * Plain loops, one instance per type. Integers wrap around, as two's complement does.
 */
#include "kernel/cpu/matmul_generic.h"

#include "kernel/cpu/narrow_floats.h"

#define STRIP 64 /* columns whose sums are held at once */

typedef struct strides {
    int64_t a_row, a_step, b_step, b_column, c_row;
} strides;

static strides strides_of(const weir_matmul_options *o)
{
    strides s = {o->a_row_stride, 1, o->b_row_stride, 1, o->c_row_stride};
    if (o->transpose_a) {
        s.a_row = 1;
        s.a_step = o->a_row_stride;
    }
    if (o->transpose_b) {
        s.b_step = 1;
        s.b_column = o->b_row_stride;
    }
    return s;
}

#define SAME(x) (x)

/* type: of the elements; sum_type: of the sums; signed_type: in which a sum is compared with 0. */
#define REAL_PRODUCT(name, type, sum_type, signed_type, from, to)                                                      \
    static void product_##name(const weir_matmul_options *o, int64_t first, int64_t last, const type *a,               \
                               const type *b, const type *bias, type *c)                                               \
    {                                                                                                                  \
        const strides s = strides_of(o);                                                                               \
        for (int64_t i = first; i < last; i++) {                                                                       \
            for (int64_t j = 0; j < o->n; j += STRIP) {                                                                \
                const int64_t count = o->n - j < STRIP ? o->n - j : STRIP;                                             \
                type *row = c + i * s.c_row + j;                                                                       \
                sum_type sum[STRIP] = {0};                                                                             \
                for (int64_t p = 0; p < o->k; p++) {                                                                   \
                    const sum_type x = (sum_type)from(a[i * s.a_row + p * s.a_step]);                                  \
                    const type *y = b + p * s.b_step + j * s.b_column;                                                 \
                    for (int64_t l = 0; l < count; l++)                                                                \
                        sum[l] += x * (sum_type)from(y[l * s.b_column]);                                               \
                }                                                                                                      \
                for (int64_t l = 0; l < count; l++) {                                                                  \
                    if (o->accumulate)                                                                                 \
                        sum[l] += (sum_type)from(row[l]);                                                              \
                    if (o->bias)                                                                                       \
                        sum[l] += (sum_type)from(bias[j + l]);                                                         \
                    if (o->relu && (signed_type)sum[l] < 0)                                                            \
                        sum[l] = 0;                                                                                    \
                    row[l] = (type)to(sum[l]);                                                                         \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

REAL_PRODUCT(float, float, float, float, SAME, SAME)
REAL_PRODUCT(double, double, double, double, SAME, SAME)
REAL_PRODUCT(int32, int32_t, uint32_t, int32_t, SAME, SAME)
REAL_PRODUCT(int64, int64_t, uint64_t, int64_t, SAME, SAME)
REAL_PRODUCT(half, uint16_t, float, float, float_of_half, half_of_float)
REAL_PRODUCT(bfloat16, uint16_t, float, float, float_of_bfloat16, bfloat16_of_float)

/* Elements are pairs (real, imaginary) of part. */
#define COMPLEX_PRODUCT(name, part)                                                                                    \
    static void product_##name(const weir_matmul_options *o, int64_t first, int64_t last, const part *a,               \
                               const part *b, const part *bias, part *c)                                               \
    {                                                                                                                  \
        const strides s = strides_of(o);                                                                               \
        for (int64_t i = first; i < last; i++) {                                                                       \
            for (int64_t j = 0; j < o->n; j++) {                                                                       \
                part real = 0, imaginary = 0;                                                                          \
                for (int64_t p = 0; p < o->k; p++) {                                                                   \
                    const part *x = a + 2 * (i * s.a_row + p * s.a_step),                                              \
                               *y = b + 2 * (p * s.b_step + j * s.b_column);                                           \
                    const part xi = o->conjugate_a ? -x[1] : x[1], yi = o->conjugate_b ? -y[1] : y[1];                 \
                    real += x[0] * y[0] - xi * yi;                                                                     \
                    imaginary += x[0] * yi + xi * y[0];                                                                \
                }                                                                                                      \
                part *z = c + 2 * (i * s.c_row + j);                                                                   \
                z[0] = real + (o->accumulate ? z[0] : 0) + (o->bias ? bias[2 * j] : 0);                                \
                z[1] = imaginary + (o->accumulate ? z[1] : 0) + (o->bias ? bias[2 * j + 1] : 0);                       \
            }                                                                                                          \
        }                                                                                                              \
    }

COMPLEX_PRODUCT(complex64, float)
COMPLEX_PRODUCT(complex128, double)

bool weir_matmul_supports(weir_dtype type)
{
    switch ((int)type) {
    case WEIR_FLOAT:
    case WEIR_DOUBLE:
    case WEIR_INT32:
    case WEIR_INT64:
    case WEIR_HALF:
    case WEIR_BFLOAT16:
    case WEIR_COMPLEX64:
    case WEIR_COMPLEX128:
        return true;
    default:
        return false;
    }
}

void weir_matmul_generic(const weir_matmul_options *options, int64_t first_row, int64_t last_row, const void *a,
                         const void *b, const void *bias, void *c)
{
    switch ((int)options->type) {
    case WEIR_FLOAT:
        product_float(options, first_row, last_row, a, b, bias, c);
        break;
    case WEIR_DOUBLE:
        product_double(options, first_row, last_row, a, b, bias, c);
        break;
    case WEIR_INT32:
        product_int32(options, first_row, last_row, a, b, bias, c);
        break;
    case WEIR_INT64:
        product_int64(options, first_row, last_row, a, b, bias, c);
        break;
    case WEIR_HALF:
        product_half(options, first_row, last_row, a, b, bias, c);
        break;
    case WEIR_BFLOAT16:
        product_bfloat16(options, first_row, last_row, a, b, bias, c);
        break;
    case WEIR_COMPLEX64:
        product_complex64(options, first_row, last_row, a, b, bias, c);
        break;
    case WEIR_COMPLEX128:
        product_complex128(options, first_row, last_row, a, b, bias, c);
        break;
    default:
        break;
    }
}
