/*
 * Prints tensors as NumPy did up to release 1.13, so that programs show the same lines as the tutorials of that time:
 * "[ 2.  4.  6.]" for an array, "2.30259" for a scalar. The rules are those of numpy/core/arrayprint.py of 1.13.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "tensor/tensor.h"

#define LINE_WIDTH 75
#define THRESHOLD 1000 /* with more elements than this, long axes are shortened */
#define EDGE_ITEMS 3   /* shown at both ends of a shortened axis */
#define PRECISION 8    /* digits after the point */

/* How the numbers of one tensor are written, found by looking at all that will be shown. */
typedef struct number_format {
    int width;
    int digits;         /* after the point */
    bool has_exponent;  /* 1.00000000e-05 */
    bool always_sign;   /* the imaginary part of a complex number */
    bool wide_exponent; /* three digits of exponent */
} number_format;

typedef struct printer {
    const weir_tensor *tensor;
    bool is_short;   /* long axes are shortened */
    int line_length; /* characters of the current line, blanks at its end included */
    number_format real;
    number_format imaginary;
    weir_text text;
} printer;

/* ---- one number ---- */

static double imaginary_part(const weir_tensor *tensor, int64_t index)
{
    if (tensor->dtype == WEIR_COMPLEX64)
        return (double)((const float *)tensor->data)[2 * index + 1];
    return ((const double *)tensor->data)[2 * index + 1];
}

static bool is_fractional(weir_dtype dtype)
{
    return weir_dtype_is_floating(dtype) || (dtype >= WEIR_FLOAT8_E5M2 && dtype <= WEIR_FLOAT8_E5M2FNUZ) ||
           dtype == WEIR_FLOAT4_E2M1FN;
}

/* Blanks after a number stand for the zeros that it does not need: "1.5 " beside "1.25". */
static void blank_zeros(char *text)
{
    for (size_t at = strlen(text); at > 0 && text[at - 1] == '0'; at--)
        text[at - 1] = ' ';
}

#define NUMBER_SIZE 400 /* the longest double without exponent has 309 digits before the point */

static void format_number(const number_format *format, double value, char *text)
{
    const char *sign = format->always_sign ? "+" : "";
    if (isnan(value) || isinf(value)) {
        char word[8];
        snprintf(word, sizeof word, "%s%s", value < 0 ? "-" : sign, isnan(value) ? "nan" : "inf");
        snprintf(text, NUMBER_SIZE, "%*s", format->width, word);
    } else if (format->has_exponent) {
        snprintf(text, NUMBER_SIZE, format->always_sign ? "%+*.*e" : "%*.*e", format->width, format->digits, value);
        size_t length = strlen(text);
        bool has_two_digits = text[length - 3] == '+' || text[length - 3] == '-';
        if (format->wide_exponent && has_two_digits) { /* one blank in front becomes a zero */
            memmove(text, text + 1, length - 3);
            text[length - 3] = '0';
        }
    } else {
        snprintf(text, NUMBER_SIZE, format->always_sign ? "%#+*.*f" : "%#*.*f", format->width, format->digits, value);
    }
}

/* Digits after the point that a number needs, at most PRECISION. */
static int needed_digits(double value)
{
    char text[NUMBER_SIZE];
    int length = snprintf(text, sizeof text, "%.*f", PRECISION, value);
    int zeros = 0;
    while (zeros < PRECISION && text[length - 1 - zeros] == '0')
        zeros++;
    return PRECISION - zeros;
}

/* ---- what the numbers have in common ---- */

/* Called for each element that will be shown. */
typedef void element_visitor(void *context, const weir_tensor *tensor, int64_t index);

static bool is_cut(const printer *printer, int64_t dim)
{
    return printer->is_short && dim > 2 * EDGE_ITEMS;
}

static int64_t axis_stride(const weir_shape *shape, int axis)
{
    int64_t stride = 1;
    for (int i = axis + 1; i < shape->rank; i++)
        stride *= shape->dims[i];
    return stride;
}

static void visit_shown(const printer *printer, int axis, int64_t first, element_visitor *visit, void *context)
{
    const weir_shape *shape = &printer->tensor->shape;
    if (axis == shape->rank) {
        visit(context, printer->tensor, first);
        return;
    }
    int64_t dim = shape->dims[axis];
    int64_t stride = axis_stride(shape, axis);
    for (int64_t i = 0; i < dim; i++) {
        if (is_cut(printer, dim) && i == EDGE_ITEMS)
            i = dim - EDGE_ITEMS;
        visit_shown(printer, axis + 1, first + i * stride, visit, context);
    }
}

typedef struct survey {
    bool is_imaginary;
    bool has_special; /* NaN or infinity */
    double largest;   /* magnitude of the numbers that are neither special nor zero; 0 without any */
    double smallest;
    int digits;
} survey;

static void survey_element(void *context, const weir_tensor *tensor, int64_t index)
{
    survey *seen = context;
    double value = fabs(seen->is_imaginary ? imaginary_part(tensor, index) : weir_tensor_get_double(tensor, index));
    if (isnan(value) || isinf(value)) {
        seen->has_special = true;
        return;
    }
    if (value == 0)
        return;
    if (seen->smallest == 0 || value < seen->smallest)
        seen->smallest = value;
    if (value > seen->largest)
        seen->largest = value;
    int digits = value < 1e8 ? needed_digits(value) : 0; /* larger ones get an exponent anyway */
    if (digits > seen->digits)
        seen->digits = digits;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static number_format choose_format(const printer *printer, bool is_imaginary)
{
    survey seen = {.is_imaginary = is_imaginary};
    visit_shown(printer, 0, 0, survey_element, &seen);
    number_format format = {.always_sign = is_imaginary};
    double ratio = seen.smallest != 0 ? seen.largest / seen.smallest : 1;
    if (printer->tensor->dtype == WEIR_FLOAT || printer->tensor->dtype == WEIR_COMPLEX64)
        ratio = (double)(float)ratio; /* NumPy divides in the array's own type: 700 / 0.7f is not above 1000 */
    format.has_exponent = seen.largest >= 1e8 || (seen.smallest != 0 && seen.smallest < 0.0001) || ratio > 1000;
    if (format.has_exponent) {
        format.digits = PRECISION;
        format.wide_exponent = seen.smallest < 1e-99 || seen.largest >= 1e100;
        format.width = 8 + PRECISION + (format.wide_exponent ? 1 : 0);
        return format;
    }
    format.digits = seen.digits;
    format.width = snprintf(NULL, 0, "%.0f", floor(seen.largest)) + seen.digits + 2;
    if (seen.has_special)
        format.width = larger(format.width, 4);
    return format;
}

static void append_whole(weir_text *text, const weir_tensor *tensor, int64_t index, int width)
{
    if (tensor->dtype == WEIR_UINT64)
        weir_text_append(text, "%*" PRIu64, width, ((const uint64_t *)tensor->data)[index]);
    else
        weir_text_append(text, "%*" PRId64, width, weir_tensor_get_int(tensor, index));
}

static void survey_whole(void *context, const weir_tensor *tensor, int64_t index)
{
    int *width = context;
    int length = tensor->dtype == WEIR_UINT64 ? snprintf(NULL, 0, "%" PRIu64, ((const uint64_t *)tensor->data)[index])
                                              : snprintf(NULL, 0, "%" PRId64, weir_tensor_get_int(tensor, index));
    *width = larger(*width, length);
}

static void choose_formats(printer *printer)
{
    weir_dtype dtype = printer->tensor->dtype;
    if (weir_dtype_is_complex(dtype) || is_fractional(dtype))
        printer->real = choose_format(printer, false);
    if (weir_dtype_is_complex(dtype))
        printer->imaginary = choose_format(printer, true);
    else if (!is_fractional(dtype) && !weir_dtype_is_object(dtype))
        visit_shown(printer, 0, 0, survey_whole, &printer->real.width);
}

/* ---- one element ---- */

/* As Python writes bytes: b'it\xff', with double quotes when there are single ones inside. */
static void append_quoted(weir_text *text, const weir_string *string)
{
    bool has_single = string->size > 0 && memchr(string->data, '\'', string->size) != NULL;
    bool has_double = string->size > 0 && memchr(string->data, '"', string->size) != NULL;
    char quote = has_single && !has_double ? '"' : '\'';
    weir_text_append(text, "b%c", quote);
    for (size_t i = 0; i < string->size; i++) {
        unsigned char byte = (unsigned char)string->data[i];
        const char *named = byte == '\t' ? "\\t" : byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : NULL;
        if (named != NULL)
            weir_text_append_bytes(text, named, 2);
        else if (byte == '\\' || byte == (unsigned char)quote)
            weir_text_append(text, "\\%c", byte);
        else if (byte < 0x20 || byte >= 0x7f)
            weir_text_append(text, "\\x%02x", byte);
        else
            weir_text_append_bytes(text, &byte, 1);
    }
    weir_text_append_bytes(text, &quote, 1);
}

/* The zeros of the imaginary part give way to its j: "1.+2.5j ". */
static void append_complex(const printer *printer, weir_text *text, int64_t index)
{
    char number[NUMBER_SIZE];
    format_number(&printer->real, weir_tensor_get_double(printer->tensor, index), number);
    weir_text_append(text, "%s", number);
    format_number(&printer->imaginary, imaginary_part(printer->tensor, index), number);
    size_t length = strlen(number);
    size_t end = length;
    while (!printer->imaginary.has_exponent && end > 0 && number[end - 1] == '0')
        end--;
    weir_text_append(text, "%.*sj%*s", (int)end, number, (int)(length - end), "");
}

static void append_element(const printer *printer, weir_text *text, int64_t index)
{
    const weir_tensor *tensor = printer->tensor;
    char number[NUMBER_SIZE];
    if (tensor->dtype == WEIR_STRING) {
        append_quoted(text, &weir_tensor_string_elements(tensor)[index]);
    } else if (weir_dtype_is_object(tensor->dtype)) {
        weir_text_append(text, "<%s>", weir_dtype_name(tensor->dtype));
    } else if (tensor->dtype == WEIR_BOOL) {
        weir_text_append(text, "%s", weir_tensor_get_int(tensor, index) ? " True" : "False");
    } else if (weir_dtype_is_complex(tensor->dtype)) {
        append_complex(printer, text, index);
    } else if (is_fractional(tensor->dtype)) {
        double value = weir_tensor_get_double(tensor, index);
        format_number(&printer->real, value, number);
        if (!printer->real.has_exponent && isfinite(value))
            blank_zeros(number);
        weir_text_append(text, "%s", number);
    } else {
        append_whole(text, tensor, index, printer->real.width);
    }
}

/* ---- scalars ---- */

/* Significant digits of a scalar. */
static int scalar_precision(weir_dtype dtype)
{
    return dtype == WEIR_DOUBLE || dtype == WEIR_COMPLEX128 ? 12 : 6;
}

static const char *scalar_text(double value, int precision, bool with_sign, char *text)
{
    if (isnan(value)) /* a NaN has no sign to show */
        snprintf(text, NUMBER_SIZE, "%snan", with_sign ? "+" : "");
    else
        snprintf(text, NUMBER_SIZE, with_sign ? "%+.*g" : "%.*g", precision, value);
    return text;
}

static void append_scalar_complex(weir_text *text, const weir_tensor *tensor)
{
    char number[NUMBER_SIZE];
    int precision = scalar_precision(tensor->dtype);
    double real = weir_tensor_get_double(tensor, 0);
    double imaginary = imaginary_part(tensor, 0);
    if (real == 0 && !signbit(real)) {
        weir_text_append(text, "%sj", scalar_text(imaginary, precision, false, number));
        return;
    }
    weir_text_append(text, "(%s", scalar_text(real, precision, false, number));
    weir_text_append(text, "%sj)", scalar_text(imaginary, precision, true, number));
}

static void append_scalar(const printer *printer, weir_text *text)
{
    const weir_tensor *tensor = printer->tensor;
    if (weir_dtype_is_complex(tensor->dtype)) {
        append_scalar_complex(text, tensor);
    } else if (tensor->dtype == WEIR_BOOL) {
        weir_text_append(text, "%s", weir_tensor_get_int(tensor, 0) ? "True" : "False");
    } else if (is_fractional(tensor->dtype)) {
        char number[NUMBER_SIZE];
        scalar_text(weir_tensor_get_double(tensor, 0), scalar_precision(tensor->dtype), false, number);
        bool is_digits = number[strspn(number, "-0123456789")] == '\0';
        weir_text_append(text, "%s%s", number, is_digits ? ".0" : "");
    } else {
        append_element(printer, text, 0);
    }
}

/* ---- arrays ---- */

static void trim_blanks(weir_text *text)
{
    while (text->length > 0 && text->data[text->length - 1] == ' ')
        text->data[--text->length] = '\0';
}

static int length_without_blanks(const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return (int)length;
}

/* Adds a word to a row that began with depth brackets or blanks; goes to a new line when it does not fit. */
static void append_word(printer *printer, const weir_text *word, int depth)
{
    weir_text *text = &printer->text;
    const char *bytes = weir_text_get(word);
    int blanks = (int)text->length - length_without_blanks(weir_text_get(text), text->length);
    bool is_first = printer->line_length == depth;
    int taken = printer->line_length - blanks + length_without_blanks(bytes, word->length);
    if (!is_first && taken >= LINE_WIDTH) {
        trim_blanks(text);
        weir_text_append(text, "\n%*s", depth, "");
        printer->line_length = depth;
    }
    weir_text_append_bytes(text, bytes, word->length);
    printer->line_length += (int)word->length;
}

static void append_row(printer *printer, int64_t first, int64_t dim, int depth)
{
    weir_text word = {0};
    printer->line_length = depth;
    for (int64_t i = 0; i < dim; i++) {
        if (is_cut(printer, dim) && i == EDGE_ITEMS) {
            weir_text_append(&word, "..., ");
            append_word(printer, &word, depth);
            word.length = 0;
            i = dim - EDGE_ITEMS;
        }
        append_element(printer, &word, first + i);
        weir_text_append(&word, "%s", i < dim - 1 ? " " : "");
        append_word(printer, &word, depth);
        word.length = 0;
    }
    printer->text.failed = printer->text.failed || word.failed;
    weir_text_clear(&word);
}

/* Between the parts of an axis stand as many line ends as there are axes inside it. */
static void append_axis(printer *printer, int axis, int64_t first)
{
    const weir_shape *shape = &printer->tensor->shape;
    int64_t dim = shape->dims[axis];
    int depth = axis + 1;
    weir_text_append(&printer->text, "[");
    if (depth == shape->rank)
        append_row(printer, first, dim, depth);
    for (int64_t i = 0; depth < shape->rank && i < dim; i++) {
        if (is_cut(printer, dim) && i == EDGE_ITEMS) {
            weir_text_append(&printer->text, "%*s..., \n", depth, "");
            i = dim - EDGE_ITEMS;
        }
        weir_text_append(&printer->text, "%*s", i > 0 ? depth : 0, "");
        append_axis(printer, axis + 1, first + i * axis_stride(shape, axis));
        for (int ends = 0; i < dim - 1 && ends < shape->rank - depth; ends++)
            weir_text_append(&printer->text, "\n");
    }
    weir_text_append(&printer->text, "]");
}

weir_status weir_tensor_print(const weir_tensor *tensor, FILE *stream)
{
    if (!tensor->buffer->allocator->is_host)
        return weir_fail(WEIR_FAILED_PRECONDITION, "A tensor in the memory of %s cannot be printed by the host",
                         tensor->buffer->allocator->name);
    printer printer = {.tensor = tensor, .is_short = tensor->elements > THRESHOLD};
    if (tensor->shape.rank == 0) {
        append_scalar(&printer, &printer.text);
    } else if (tensor->elements == 0) {
        weir_text_append(&printer.text, "[]");
    } else {
        choose_formats(&printer);
        append_axis(&printer, 0, 0);
    }
    weir_text_append(&printer.text, "\n");
    size_t length = printer.text.length;
    char *whole = NULL;
    WEIR_TRY(weir_text_take(&printer.text, &whole));
    bool is_written = fwrite(whole, 1, length, stream) == length;
    weir_release(whole);
    return is_written ? WEIR_STATUS_OK
                      : weir_fail(WEIR_UNKNOWN, "Could not write %zu bytes of a printed tensor", length);
}
