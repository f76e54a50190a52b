/*
 * TensorFlow's Tensor::SummarizeValue in its first form.
 */
#include "op/control_flow_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A float with 6 digits if they are enough to read it back, else with 9. */
static void append_float(weir_text *text, float value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.6g", (double)value);
    if (strtof(digits, NULL) != value && value == value)
        snprintf(digits, sizeof digits, "%.9g", (double)value);
    weir_text_append(text, "%s", value == value ? digits : "nan");
}

static void append_double(weir_text *text, double value)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.15g", value);
    if (strtod(digits, NULL) != value && value == value)
        snprintf(digits, sizeof digits, "%.17g", value);
    weir_text_append(text, "%s", value == value ? digits : "nan");
}

/* C's escapes, but bytes from 0x80 on as they are. */
static void append_string(weir_text *text, const weir_string *string)
{
    for (size_t i = 0; i < string->size; i++) {
        unsigned char c = (unsigned char)string->data[i];
        if (c == '\n')
            weir_text_append(text, "\\n");
        else if (c == '\r')
            weir_text_append(text, "\\r");
        else if (c == '\t')
            weir_text_append(text, "\\t");
        else if (c == '"' || c == '\'' || c == '\\')
            weir_text_append(text, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            weir_text_append(text, "\\%03o", c);
        else
            weir_text_append(text, "%c", c);
    }
}

static void append_element(weir_text *text, const weir_tensor *tensor, int64_t index)
{
    switch (tensor->dtype) {
    case WEIR_FLOAT:
        append_float(text, ((const float *)tensor->data)[index]);
        break;
    case WEIR_HALF:
    case WEIR_BFLOAT16:
        append_float(text, (float)weir_tensor_get_double(tensor, index));
        break;
    case WEIR_DOUBLE:
        append_double(text, ((const double *)tensor->data)[index]);
        break;
    case WEIR_UINT64:
        weir_text_append(text, "%" PRIu64, ((const uint64_t *)tensor->data)[index]);
        break;
    case WEIR_BOOL:
        weir_text_append(text, "%d", ((const bool *)tensor->data)[index]);
        break;
    case WEIR_STRING:
        append_string(text, &weir_tensor_string_elements(tensor)[index]);
        break;
    default:
        if (weir_dtype_is_integer(tensor->dtype))
            weir_text_append(text, "%" PRId64, weir_tensor_get_int(tensor, index));
        else
            weir_text_append(text, "?");
    }
}

/* One axis, from element *next on; ends after limit elements. */
static void append_axis(weir_text *text, const weir_tensor *tensor, int axis, int64_t limit, int64_t *next)
{
    for (int64_t i = 0; i < tensor->shape.dims[axis]; i++) {
        if (axis < tensor->shape.rank - 1) {
            if (*next >= limit)
                return;
            weir_text_append(text, "[");
            append_axis(text, tensor, axis + 1, limit, next);
            weir_text_append(text, "]");
            continue;
        }
        if (*next >= limit) {
            weir_text_append(text, "%s", axis != 0 ? "..." : "");
            return;
        }
        weir_text_append(text, "%s", i > 0 ? " " : "");
        append_element(text, tensor, (*next)++);
    }
}

void weir_tensor_summarize(const weir_tensor *tensor, int64_t most, weir_text *text)
{
    int64_t limit = most < 0 || most > tensor->elements ? tensor->elements : most;
    int64_t next = 0;
    if (limit > 0 && tensor->shape.rank > 0)
        append_axis(text, tensor, 0, limit, &next);
    else if (limit > 0)
        append_element(text, tensor, 0);
    if (tensor->elements > limit && tensor->dtype != WEIR_BOOL)
        weir_text_append(text, "...");
}
