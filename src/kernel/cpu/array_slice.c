/*
 * StridedSlice's masks resolved to a first element, a stride and a count along each axis.
 *
 * First the entries are spread over the axes: the ellipsis takes the axes that no other entry takes, new axes take
 * none. Then each axis' bounds are clipped to its size, as NumPy does.
 */
#include <string.h>

#include "kernel/cpu/array.h"

/* What one axis of x takes. */
typedef struct axis_spec {
    int64_t begin, end, stride;
    bool begin_open, end_open; /* the mask's bit: from the very first, to the very last */
    bool shrink;
    int entry; /* of the node's lists; -1: the whole axis */
} axis_spec;

/* Where entries of the result come from: an axis of x, or a new one. */
#define NEW_AXIS (-1)

typedef struct spread {
    axis_spec axes[WEIR_MAX_RANK];
    int used; /* axes of x */
    int result[2 * WEIR_MAX_RANK + 32];
    int results;
} spread;

static bool bit(uint32_t mask, int index)
{
    return index < 32 && (mask >> index & 1) != 0;
}

static void whole_axes(spread *spread, int count)
{
    for (int i = 0; i < count; i++) {
        spread->result[spread->results++] = spread->used;
        spread->axes[spread->used++] = (axis_spec){0, 0, 1, true, true, false, -1};
    }
}

/* Spreads the entries over the axes. */
static weir_slice_fault spread_entries(int rank, const weir_slice_spec *spec, spread *spread, int *at)
{
    int takers = 0;
    bool ellipsis = false;
    for (int i = 0; i < spec->count; i++) {
        if (bit(spec->ellipsis_mask, i) && ellipsis)
            return WEIR_SLICE_TWO_ELLIPSES;
        if (bit(spec->ellipsis_mask, i))
            ellipsis = true;
        else if (!bit(spec->new_axis_mask, i))
            takers++;
    }
    if (takers > rank) {
        *at = rank;
        return WEIR_SLICE_TOO_MANY;
    }
    for (int i = 0; i < spec->count; i++) {
        if (bit(spec->ellipsis_mask, i)) {
            whole_axes(spread, rank - takers);
        } else if (bit(spec->new_axis_mask, i)) {
            spread->result[spread->results++] = NEW_AXIS;
        } else {
            spread->result[spread->results++] = spread->used;
            spread->axes[spread->used++] = (axis_spec){spec->begin[i],
                                                       spec->end[i],
                                                       spec->strides[i],
                                                       bit(spec->begin_mask, i),
                                                       bit(spec->end_mask, i),
                                                       bit(spec->shrink_axis_mask, i),
                                                       i};
        }
    }
    whole_axes(spread, rank - spread->used); /* without an ellipsis the last axes are whole */
    return WEIR_SLICE_OK;
}

/* A bound as an index: from the end if negative, then no further out than low .. high. */
static int64_t clip(int64_t bound, int64_t dim, int64_t low, int64_t high)
{
    if (bound < 0)
        bound += dim;
    return bound < low ? low : bound > high ? high : bound;
}

static weir_slice_fault resolve_axis(const axis_spec *spec, int64_t dim, int axis, weir_strided_slice *out)
{
    if (spec->stride == 0) {
        out->at = spec->entry;
        return WEIR_SLICE_ZERO_STRIDE;
    }
    if (spec->shrink && spec->stride <= 0) {
        out->at = spec->entry;
        return WEIR_SLICE_SHRINK_STRIDE;
    }
    out->strides[axis] = spec->stride;
    if (spec->shrink) { /* one element: neither end nor a mask counts */
        int64_t index = spec->begin < 0 && dim >= 0 ? spec->begin + dim : spec->begin;
        out->counts[axis] = out->strides[axis] = 1;
        out->begin[axis] = index;
        if (dim >= 0 && (index < 0 || index >= dim)) {
            out->at = axis;
            out->value = index;
            return WEIR_SLICE_OUT_OF_BOUNDS;
        }
        return WEIR_SLICE_OK;
    }
    if (dim < 0) {
        out->counts[axis] = -1;
        return WEIR_SLICE_OK;
    }
    bool forward = spec->stride > 0;
    int64_t low = forward ? 0 : -1, high = forward ? dim : dim - 1;
    int64_t begin = spec->begin_open ? (forward ? low : high) : clip(spec->begin, dim, low, high);
    int64_t end = spec->end_open ? (forward ? high : low) : clip(spec->end, dim, low, high);
    int64_t span = forward ? end - begin : begin - end;
    /* Without a branch for the lowest stride, whose negation does not exist: the magnitude is unsigned. */
    uint64_t step = forward ? (uint64_t)spec->stride : (uint64_t)0 - (uint64_t)spec->stride;
    out->begin[axis] = begin;
    out->counts[axis] = span <= 0 ? 0 : (int64_t)(((uint64_t)span - 1) / step) + 1;
    if (out->counts[axis] <= 1)
        out->strides[axis] = 1; /* of no effect; keeps products small */
    return WEIR_SLICE_OK;
}

weir_slice_fault weir_strided_slice_resolve(const weir_shape *x, const weir_slice_spec *spec, weir_strided_slice *out)
{
    spread spread;
    memset(&spread, 0, sizeof spread);
    memset(out, 0, sizeof *out);
    out->rank = x->rank;
    weir_slice_fault fault = spread_entries(x->rank, spec, &spread, &out->at);
    for (int axis = 0; axis < x->rank && fault == WEIR_SLICE_OK; axis++)
        fault = resolve_axis(&spread.axes[axis], x->dims[axis], axis, out);
    if (fault != WEIR_SLICE_OK)
        return fault;
    for (int i = 0; i < spread.results; i++) {
        int axis = spread.result[i];
        if (axis != NEW_AXIS && spread.axes[axis].shrink)
            continue;
        if (out->out.rank == WEIR_MAX_RANK)
            return WEIR_SLICE_RANK;
        out->out.dims[out->out.rank++] = axis == NEW_AXIS ? 1 : out->counts[axis];
    }
    return WEIR_SLICE_OK;
}
