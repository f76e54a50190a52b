/*
 * Knows constants, Shape, Size and Rank, and the arithmetic that graphs do on them to make the shapes of flattenings,
 * slices and fills. Everything is a scalar or vector of at most WEIR_MAX_RANK integers, of which some may be unknown.
 */
#include "graph/infer_value.h"

#include <string.h>

#include "tensor/tensor.h"

/* How far back values are followed, and how many nodes are looked at; graphs that need more simply stay unknown here. */
#define DEEPEST 32
#define MOST_NODES 256

typedef struct known {
    bool is_known; /* the number of entries is */
    bool is_scalar;
    int count;
    uint32_t unknown; /* bit i: entry i is not known */
    int64_t values[WEIR_MAX_RANK];
} known;

typedef struct search {
    int depth;
    int nodes;
} search;

static known find(search *search, weir_output output);

static known nothing(void)
{
    return (known){0};
}

static known find_input(search *search, const weir_node *node, int index)
{
    return find(search, weir_node_input(node, index));
}

/* One number; false when it is not known. */
static bool find_number(search *search, const weir_node *node, int index, int64_t *number)
{
    known value = find_input(search, node, index);
    *number = value.values[0];
    return value.is_known && value.count == 1 && value.unknown == 0;
}

static bool is_unknown(const known *value, int index)
{
    return (value->unknown >> index & 1) != 0;
}

static void set_entry(known *value, int index, bool is_certain, int64_t number)
{
    value->values[index] = is_certain ? number : 0;
    if (!is_certain)
        value->unknown |= 1u << index;
}

/* Entry from of x becomes entry to. */
static void copy_entry(known *out, int to, const known *x, int from)
{
    set_entry(out, to, !is_unknown(x, from), x->values[from]);
}

/* ---- Sources ---- */

static known from_tensor(const weir_tensor *tensor)
{
    bool is_integer = tensor->dtype == WEIR_INT32 || tensor->dtype == WEIR_INT64;
    if (!is_integer || tensor->shape.rank > 1 || tensor->elements > WEIR_MAX_RANK)
        return nothing();
    known result = {.is_known = true, .is_scalar = tensor->shape.rank == 0, .count = (int)tensor->elements};
    for (int i = 0; i < result.count; i++)
        result.values[i] = weir_tensor_get_int(tensor, i);
    return result;
}

static known of_const(search *search, weir_output output)
{
    (void)search;
    const weir_attr_value *value = weir_node_find_attr(output.node, "value");
    return value != NULL && value->kind == WEIR_ATTR_TENSOR ? from_tensor(value->tensor) : nothing();
}

static known number(bool is_certain, int64_t value)
{
    known result = {.is_known = true, .is_scalar = true, .count = 1};
    set_entry(&result, 0, is_certain, value);
    return result;
}

/* Shape and ShapeN. */
static known of_shape(search *search, weir_output output)
{
    (void)search;
    weir_shape shape = weir_output_shape(weir_node_input(output.node, output.index));
    if (shape.rank == WEIR_UNKNOWN_RANK)
        return nothing();
    known result = {.is_known = true, .count = shape.rank};
    for (int i = 0; i < shape.rank; i++)
        set_entry(&result, i, shape.dims[i] >= 0, shape.dims[i]);
    return result;
}

static known of_size(search *search, weir_output output)
{
    (void)search;
    int64_t elements = weir_shape_elements(weir_output_shape(weir_node_input(output.node, 0)));
    return number(elements >= 0, elements);
}

static known of_rank(search *search, weir_output output)
{
    (void)search;
    weir_shape shape = weir_output_shape(weir_node_input(output.node, 0));
    return number(shape.rank != WEIR_UNKNOWN_RANK, shape.rank);
}

/* ---- Moving entries ---- */

static known of_identity(search *search, weir_output output)
{
    return find_input(search, output.node, 0);
}

/* Between integer types only: what is cast from others is not known as integers. */
static known of_cast(search *search, weir_output output)
{
    weir_dtype dtype = output.node->output_dtypes[0];
    known x = find_input(search, output.node, 0);
    for (int i = 0; dtype == WEIR_INT32 && i < x.count; i++)
        set_entry(&x, i, !is_unknown(&x, i) && x.values[i] == (int32_t)x.values[i], x.values[i]);
    return dtype == WEIR_INT32 || dtype == WEIR_INT64 ? x : nothing();
}

/* Parts, all scalars or all vectors, one after another. */
static known join(search *search, const weir_node *node, int first, int count, bool of_scalars)
{
    known result = {.is_known = true};
    for (int i = first; i < first + count; i++) {
        known part = find_input(search, node, i);
        if (!part.is_known || part.is_scalar != of_scalars || result.count + part.count > WEIR_MAX_RANK)
            return nothing();
        for (int j = 0; j < part.count; j++)
            copy_entry(&result, result.count++, &part, j);
    }
    return result;
}

static known of_pack(search *search, weir_output output)
{
    return join(search, output.node, 0, output.node->num_inputs, true);
}

static known of_concat_v2(search *search, weir_output output)
{
    return join(search, output.node, 0, output.node->num_inputs - 1, false);
}

static known of_concat(search *search, weir_output output)
{
    return join(search, output.node, 1, output.node->num_inputs - 1, false);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* x[first], x[first + step] ... before last, as Python counts; shrinks: x[first] alone. */
static known stride(const known *x, int64_t first, int64_t last, int64_t step, bool shrinks)
{
    known result = {.is_known = true, .is_scalar = shrinks};
    if (shrinks) {
        if (first < 0 || first >= x->count)
            return nothing();
        copy_entry(&result, result.count++, x, (int)first);
        return result;
    }
    for (int64_t at = first; step > 0 ? at < last : at > last; at += step) {
        if (at < 0 || at >= x->count)
            return nothing();
        copy_entry(&result, result.count++, x, (int)at);
    }
    return result;
}

static known of_strided_slice(search *search, weir_output output)
{
    const weir_node *node = output.node;
    known x = find_input(search, node, 0);
    int64_t begin = 0;
    int64_t end = 0;
    int64_t step = 0;
    bool shrinks = (weir_node_int(node, "shrink_axis_mask", 0) & 1) != 0;
    bool from_start = (weir_node_int(node, "begin_mask", 0) & 1) != 0;
    bool to_end = (weir_node_int(node, "end_mask", 0) & 1) != 0;
    bool has_begin = find_number(search, node, 1, &begin);
    bool has_end = find_number(search, node, 2, &end);
    bool is_simple = x.is_known && !x.is_scalar && (has_begin || from_start) && (has_end || to_end || shrinks) &&
                     find_number(search, node, 3, &step) && step >= -WEIR_MAX_RANK && step <= WEIR_MAX_RANK &&
                     step != 0 && weir_node_int(node, "ellipsis_mask", 0) == 0 &&
                     weir_node_int(node, "new_axis_mask", 0) == 0;
    if (!is_simple)
        return nothing();
    int64_t count = x.count;
    if (shrinks)
        return stride(&x, begin < 0 ? begin + count : begin, 0, 1, true);
    int64_t low = step > 0 ? 0 : -1; /* where counting begins or ends before the first entry, and behind the last */
    int64_t high = step > 0 ? count : count - 1;
    int64_t first = from_start ? (step > 0 ? 0 : count - 1) : clamp(begin < 0 ? begin + count : begin, low, high);
    int64_t last = to_end ? (step > 0 ? count : -1) : clamp(end < 0 ? end + count : end, low, high);
    return stride(&x, first, last, step, false);
}

static known of_slice(search *search, weir_output output)
{
    known x = find_input(search, output.node, 0);
    int64_t begin = 0;
    int64_t size = 0;
    if (!x.is_known || x.is_scalar || !find_number(search, output.node, 1, &begin) ||
        !find_number(search, output.node, 2, &size) || begin < 0 || begin > x.count || size > x.count - begin)
        return nothing();
    return stride(&x, begin, size < 0 ? x.count : begin + size, 1, false);
}

/* Gather, and GatherV2 along axis 0 (the only one a vector has). */
static known of_gather(search *search, weir_output output)
{
    known x = find_input(search, output.node, 0);
    known indices = find_input(search, output.node, 1);
    if (!x.is_known || x.is_scalar || !indices.is_known || indices.unknown != 0)
        return nothing();
    known result = {.is_known = true, .is_scalar = indices.is_scalar, .count = indices.count};
    for (int i = 0; i < indices.count; i++) {
        if (indices.values[i] < 0 || indices.values[i] >= x.count)
            return nothing();
        copy_entry(&result, i, &x, (int)indices.values[i]);
    }
    return result;
}

static known of_expand_dims(search *search, weir_output output)
{
    known x = find_input(search, output.node, 0);
    if (!x.is_known || !x.is_scalar)
        return nothing();
    x.is_scalar = false;
    return x;
}

static known of_squeeze(search *search, weir_output output)
{
    known x = find_input(search, output.node, 0);
    if (!x.is_known || x.is_scalar || x.count != 1)
        return nothing();
    x.is_scalar = true;
    return x;
}

static known of_reshape(search *search, weir_output output)
{
    known x = find_input(search, output.node, 0);
    known shape = find_input(search, output.node, 1);
    bool is_scalar = shape.count == 0 && x.count == 1;
    bool is_vector = shape.count == 1 && shape.unknown == 0 && (shape.values[0] == x.count || shape.values[0] == -1);
    if (!x.is_known || !shape.is_known || shape.is_scalar || (!is_scalar && !is_vector))
        return nothing();
    x.is_scalar = is_scalar;
    return x;
}

static known of_fill(search *search, weir_output output)
{
    int64_t count = 0;
    known value = find_input(search, output.node, 1);
    if (!value.is_known || !value.is_scalar || !find_number(search, output.node, 0, &count) || count < 0 ||
        count > WEIR_MAX_RANK)
        return nothing();
    known result = {.is_known = true, .count = (int)count};
    for (int i = 0; i < result.count; i++)
        copy_entry(&result, i, &value, 0);
    return result;
}

static known of_range(search *search, weir_output output)
{
    int64_t start = 0;
    int64_t limit = 0;
    int64_t delta = 0;
    if (!find_number(search, output.node, 0, &start) || !find_number(search, output.node, 1, &limit) ||
        !find_number(search, output.node, 2, &delta) || delta == 0)
        return nothing();
    known result = {.is_known = true};
    for (int64_t at = start; delta > 0 ? at < limit : at > limit;) {
        if (result.count == WEIR_MAX_RANK)
            return nothing();
        result.values[result.count++] = at;
        if (__builtin_add_overflow(at, delta, &at))
            return nothing();
    }
    return result;
}

/* ---- Arithmetic ---- */

typedef bool operation(int64_t a, int64_t b, int64_t *out); /* false: not known */

static bool add(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static bool subtract(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}

static bool multiply(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static bool floor_divide(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

static bool larger(int64_t a, int64_t b, int64_t *out)
{
    *out = a > b ? a : b;
    return true;
}

static bool smaller(int64_t a, int64_t b, int64_t *out)
{
    *out = a < b ? a : b;
    return true;
}

/* Entry by entry; a scalar or a single entry goes with each. */
static known combine(search *search, const weir_node *node, operation *operation)
{
    known a = find_input(search, node, 0);
    known b = find_input(search, node, 1);
    if (!a.is_known || !b.is_known || (a.count != b.count && a.count != 1 && b.count != 1))
        return nothing();
    known result = {
        .is_known = true, .is_scalar = a.is_scalar && b.is_scalar, .count = a.count == 1 ? b.count : a.count};
    for (int i = 0; i < result.count; i++) {
        int at_a = a.count == 1 ? 0 : i;
        int at_b = b.count == 1 ? 0 : i;
        int64_t value = 0;
        bool is_certain =
            !is_unknown(&a, at_a) && !is_unknown(&b, at_b) && operation(a.values[at_a], b.values[at_b], &value);
        set_entry(&result, i, is_certain, value);
    }
    return result;
}

/* Reduces a vector to a number. */
static known reduce(search *search, const weir_node *node, int64_t start, operation *operation)
{
    known x = find_input(search, node, 0);
    int64_t axis = 0;
    if (!x.is_known || x.is_scalar || !find_number(search, node, 1, &axis))
        return nothing();
    int64_t value = start;
    bool is_certain = x.unknown == 0;
    for (int i = 0; is_certain && i < x.count; i++)
        is_certain = operation(value, x.values[i], &value);
    known result = number(is_certain, value);
    result.is_scalar = !weir_node_bool(node, "keep_dims", false);
    return result;
}

static known of_add(search *search, weir_output output)
{
    return combine(search, output.node, add);
}

static known of_subtract(search *search, weir_output output)
{
    return combine(search, output.node, subtract);
}

static known of_multiply(search *search, weir_output output)
{
    return combine(search, output.node, multiply);
}

static known of_floor_divide(search *search, weir_output output)
{
    return combine(search, output.node, floor_divide);
}

static known of_maximum(search *search, weir_output output)
{
    return combine(search, output.node, larger);
}

static known of_minimum(search *search, weir_output output)
{
    return combine(search, output.node, smaller);
}

static known of_product(search *search, weir_output output)
{
    return reduce(search, output.node, 1, multiply);
}

static known of_sum(search *search, weir_output output)
{
    return reduce(search, output.node, 0, add);
}

/* ---- The search ---- */

static const struct {
    const char *op;
    known (*find)(search *search, weir_output output);
} finders[] = {
    {"Const", of_const},
    {"Shape", of_shape},
    {"ShapeN", of_shape},
    {"Size", of_size},
    {"Rank", of_rank},
    {"Identity", of_identity},
    {"StopGradient", of_identity},
    {"Cast", of_cast},
    {"Pack", of_pack},
    {"ConcatV2", of_concat_v2},
    {"Concat", of_concat},
    {"StridedSlice", of_strided_slice},
    {"Slice", of_slice},
    {"Gather", of_gather},
    {"GatherV2", of_gather},
    {"ExpandDims", of_expand_dims},
    {"Squeeze", of_squeeze},
    {"Reshape", of_reshape},
    {"Fill", of_fill},
    {"Range", of_range},
    {"Add", of_add},
    {"AddV2", of_add},
    {"Sub", of_subtract},
    {"Mul", of_multiply},
    {"FloorDiv", of_floor_divide},
    {"Maximum", of_maximum},
    {"Minimum", of_minimum},
    {"Prod", of_product},
    {"Sum", of_sum},
};

/* Only integer outputs that may be scalars or vectors are worth looking at. */
static bool may_be_known(weir_output output)
{
    weir_dtype dtype = weir_output_dtype(output);
    return (dtype == WEIR_INT32 || dtype == WEIR_INT64) && weir_output_shape(output).rank <= 1;
}

static known find(search *search, weir_output output)
{
    if (!may_be_known(output) || search->depth == DEEPEST || search->nodes == MOST_NODES)
        return nothing();
    search->nodes++;
    for (size_t i = 0; i < sizeof finders / sizeof finders[0]; i++) {
        if (strcmp(finders[i].op, output.node->op->name) != 0)
            continue;
        search->depth++;
        known result = finders[i].find(search, output);
        search->depth--;
        return result;
    }
    return nothing();
}

static weir_tensor *to_tensor(const known *value, weir_dtype dtype)
{
    if (!value->is_known || value->unknown != 0)
        return NULL;
    weir_shape shape = value->is_scalar ? weir_shape_scalar() : (weir_shape){.rank = 1, .dims = {value->count}};
    weir_tensor *tensor = NULL;
    if (!weir_ok(weir_tensor_new(dtype, shape, &tensor)))
        return NULL;
    for (int i = 0; i < value->count; i++) {
        if (dtype == WEIR_INT32)
            weir_tensor_int32s(tensor)[i] = (int32_t)value->values[i];
        else
            weir_tensor_int64s(tensor)[i] = value->values[i];
    }
    return tensor;
}

static bool fits(const known *value, weir_dtype dtype)
{
    for (int i = 0; dtype == WEIR_INT32 && i < value->count; i++) {
        if (value->values[i] != (int32_t)value->values[i])
            return false;
    }
    return true;
}

weir_tensor *weir_static_value(weir_output output)
{
    for (int depth = 0; output.node != NULL && depth < DEEPEST && strcmp(output.node->op->name, "Identity") == 0;
         depth++)
        output = output.node->inputs[0];
    if (output.node == NULL)
        return NULL;
    const weir_attr_value *value =
        strcmp(output.node->op->name, "Const") == 0 ? weir_node_find_attr(output.node, "value") : NULL;
    if (value != NULL && value->kind == WEIR_ATTR_TENSOR)
        return weir_tensor_ref(value->tensor);
    weir_dtype dtype = weir_output_dtype(output);
    known result = find(&(search){0}, output);
    return fits(&result, dtype) ? to_tensor(&result, dtype) : NULL;
}

weir_shape weir_static_shape_value(weir_output output)
{
    known value = find(&(search){0}, output);
    if (!value.is_known || value.is_scalar)
        return weir_shape_unknown();
    weir_shape shape = {.rank = value.count};
    for (int i = 0; i < value.count; i++)
        shape.dims[i] = is_unknown(&value, i) || value.values[i] < 0 ? WEIR_UNKNOWN_DIM : value.values[i];
    return shape;
}
