/*
 * Shapes, known and partly known.
 */
#include <inttypes.h>
#include <stdio.h>

#include <weir/types.h>

weir_shape weir_shape_of(int rank, const int64_t *dims)
{
    if (rank < 0 || rank > WEIR_MAX_RANK)
        return weir_shape_unknown();
    weir_shape shape = {.rank = rank};
    for (int i = 0; i < rank; i++)
        shape.dims[i] = dims[i];
    return shape;
}

bool weir_shape_known(weir_shape shape)
{
    if (shape.rank < 0 || shape.rank > WEIR_MAX_RANK)
        return false;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0)
            return false;
    }
    return true;
}

/* An axis of 0 does not excuse the others: strides are products of them. */
int64_t weir_shape_elements(weir_shape shape)
{
    if (!weir_shape_known(shape))
        return -1;
    int64_t product = 1;
    bool is_empty = false;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] == 0)
            is_empty = true;
        else if (__builtin_mul_overflow(product, shape.dims[i], &product))
            return -1;
    }
    return is_empty ? 0 : product;
}

bool weir_shape_equal(weir_shape a, weir_shape b)
{
    if (a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++) {
        if (a.dims[i] != b.dims[i])
            return false;
    }
    return true;
}

bool weir_shape_compatible(weir_shape a, weir_shape b)
{
    if (a.rank < 0 || b.rank < 0)
        return true;
    if (a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++) {
        if (a.dims[i] >= 0 && b.dims[i] >= 0 && a.dims[i] != b.dims[i])
            return false;
    }
    return true;
}

char *weir_shape_text(weir_shape shape, char *text, size_t size)
{
    if (shape.rank < 0 || shape.rank > WEIR_MAX_RANK) {
        snprintf(text, size, "<unknown>");
        return text;
    }
    char whole[WEIR_SHAPE_TEXT_SIZE] = "[";
    size_t at = 1; /* 12 axes of at most 20 characters and a comma always fit */
    for (int i = 0; i < shape.rank; i++) {
        const char *comma = i > 0 ? "," : "";
        int length = shape.dims[i] < 0 ? snprintf(whole + at, sizeof whole - at, "%s?", comma)
                                       : snprintf(whole + at, sizeof whole - at, "%s%" PRId64, comma, shape.dims[i]);
        at += (size_t)length;
    }
    snprintf(text, size, "%s]", whole);
    return text;
}
