/*
 * Comparing tensors with recorded ones, element by element.
 */
#ifndef TESTS_SUPPORT_COMPARE_H
#define TESTS_SUPPORT_COMPARE_H

#include "support/cases.h"

/* True if value is what was expected: type, shape and elements, exactly or within the tolerance; any NaN equals any NaN.
 * Otherwise why says what differs first. skip: elements that are not compared (NULL: none). */
bool tensors_agree(const weir_tensor *value, const weir_tensor *expected, tolerance tol, const bool *skip, char *why,
                   size_t size);

/* For each element of a float tensor whether it is denormal; NULL when none is. Free it with free(). */
bool *denormals_of(const weir_tensor *tensor);

#endif
