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

/* Marks the elements whose counterpart in a float tensor of the same shape is denormal. */
void add_denormals(const weir_tensor *tensor, const weir_tensor *beside, bool *marks);

#endif
