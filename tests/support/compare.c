/*
 * Comparison of tensors.
 */
#include "support/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/tensor.h"

/* A complex number counts as two elements. */
static int64_t parts(const weir_tensor *tensor)
{
    return weir_dtype_is_complex(tensor->dtype) ? 2 : 1;
}

static double element(const weir_tensor *tensor, int64_t index)
{
    if (tensor->dtype == WEIR_COMPLEX64)
        return ((const float *)tensor->data)[index];
    if (tensor->dtype == WEIR_COMPLEX128)
        return ((const double *)tensor->data)[index];
    return weir_tensor_get_double(tensor, index);
}

static bool is_float(weir_dtype dtype)
{
    return weir_dtype_is_floating(dtype) || weir_dtype_is_complex(dtype);
}

static bool floats_agree(double value, double expected, tolerance tol)
{
    if (isnan(value) || isnan(expected))
        return isnan(value) && isnan(expected);
    if (tol.exact)
        return value == expected; /* zeros of either sign */
    if (isinf(value) || isinf(expected))
        return value == expected;
    return fabs(value - expected) <= tol.atol + tol.rtol * fabs(expected);
}

static bool elements_agree(const weir_tensor *value, const weir_tensor *expected, int64_t index, tolerance tol,
                           char *why, size_t size)
{
    if (value->dtype == WEIR_STRING) {
        const weir_string *a = &weir_tensor_string_elements(value)[index];
        const weir_string *b = &weir_tensor_string_elements(expected)[index];
        if (a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0))
            return true;
        snprintf(why, size, "element %" PRId64 " is '%s', not '%s'", index, a->size > 0 ? a->data : "",
                 b->size > 0 ? b->data : "");
        return false;
    }
    if (is_float(value->dtype)) {
        if (floats_agree(element(value, index), element(expected, index), tol))
            return true;
        snprintf(why, size, "element %" PRId64 " is %.9g, not %.9g (%s, rtol %g, atol %g)", index,
                 element(value, index), element(expected, index), tol.exact ? "exact" : "near", tol.rtol, tol.atol);
        return false;
    }
    if (weir_tensor_get_int(value, index) == weir_tensor_get_int(expected, index))
        return true;
    snprintf(why, size, "element %" PRId64 " is %" PRId64 ", not %" PRId64, index, weir_tensor_get_int(value, index),
             weir_tensor_get_int(expected, index));
    return false;
}

bool tensors_agree(const weir_tensor *value, const weir_tensor *expected, tolerance tol, const bool *skip, char *why,
                   size_t size)
{
    char a[WEIR_SHAPE_TEXT_SIZE];
    char b[WEIR_SHAPE_TEXT_SIZE];
    if (value->dtype != expected->dtype || !weir_shape_equal(value->shape, expected->shape)) {
        snprintf(why, size, "%s %s instead of %s %s", weir_dtype_name(value->dtype),
                 weir_shape_text(value->shape, a, sizeof a), weir_dtype_name(expected->dtype),
                 weir_shape_text(expected->shape, b, sizeof b));
        return false;
    }
    for (int64_t i = 0; i < expected->elements * parts(expected); i++) {
        if (skip != NULL && skip[i])
            continue;
        if (!elements_agree(value, expected, i, tol, why, size))
            return false;
    }
    return true;
}

void add_denormals(const weir_tensor *tensor, const weir_tensor *beside, bool *marks)
{
    if (tensor->dtype != WEIR_FLOAT || !weir_shape_equal(tensor->shape, beside->shape))
        return;
    for (int64_t i = 0; i < tensor->elements; i++)
        marks[i] = marks[i] || fpclassify(((const float *)tensor->data)[i]) == FP_SUBNORMAL;
}
