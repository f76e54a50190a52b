/*
 * What the tests of runs share: tensors from literals, values compared, failures shown.
 */
#ifndef RUN_RUN_TEST_H
#define RUN_RUN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <weir/gradients.h>
#include <weir/graph.h>
#include <weir/ops.h>
#include <weir/session.h>

#include <cmocka.h>

/* Fails the test with the status' text. */
#define check_ok(...)                                                                                                  \
    do {                                                                                                               \
        weir_status check_status = (__VA_ARGS__);                                                                      \
        if (!weir_ok(check_status))                                                                                    \
            fail_msg("%s", weir_status_text(check_status));                                                            \
    } while (0)

/* The call fails with this code, and its text contains part. */
#define check_fails(wanted, part, ...)                                                                                 \
    do {                                                                                                               \
        weir_status check_status = (__VA_ARGS__);                                                                      \
        if (check_status.code != (wanted) || strstr(weir_status_text(check_status), (part)) == NULL)                   \
            fail_msg("%s: %s", weir_code_name(check_status.code), weir_status_text(check_status));                     \
    } while (0)

static inline weir_tensor *make_floats(weir_shape shape, const float *values)
{
    weir_tensor *tensor = NULL;
    check_ok(weir_tensor_from(WEIR_FLOAT, shape, values, &tensor));
    return tensor;
}

static inline weir_tensor *make_scalar(weir_dtype dtype, const void *value)
{
    weir_tensor *tensor = NULL;
    check_ok(weir_tensor_from(dtype, WEIR_SCALAR, value, &tensor));
    return tensor;
}

static inline void check_floats(const weir_tensor *tensor, const float *wanted, int count)
{
    assert_int_equal(weir_tensor_dtype(tensor), WEIR_FLOAT);
    assert_int_equal(weir_tensor_elements(tensor), count);
    const float *have = weir_tensor_data_const(tensor);
    for (int i = 0; i < count; i++) {
        if (have[i] != wanted[i])
            fail_msg("element %d is %.9g, not %.9g", i, (double)have[i], (double)wanted[i]);
    }
}

#endif
