/*
 * Array kernels against element-by-element references: every element size, ranks up to twelve, objects that a callback
 * copies, faulty indices, nothing at all; the same with any team.
 */
#include "kernel_data.h"

#include "kernel/cpu/array.h"
#include "kernel/cpu/narrow_floats.h"
#include "kernel/cpu/segment.h"

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static const size_t widths[] = {1, 2, 4, 8, 16, 24};
#define WIDTHS 6

static weir_element plain(size_t size)
{
    return (weir_element){.size = size};
}

/* Elements that are all different (as far as their size allows). */
static char *numbered(int64_t n, size_t size)
{
    char *x = guarded_new((size_t)n * size);
    for (int64_t i = 0; i < n; i++)
        for (size_t byte = 0; byte < size; byte++)
            x[(size_t)i * size + byte] = (char)(byte < 4 ? i >> (8 * byte) : i + (int64_t)byte);
    return x;
}

static void assert_element(const char *out, int64_t at, const char *in, int64_t from, size_t size)
{
    assert_memory_equal(out + (size_t)at * size, in + (size_t)from * size, size);
}

/* An index over dims, counted on; false after the last. */
static bool next(int rank, const int64_t *dims, int64_t *index)
{
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (++index[axis] < dims[axis])
            return true;
        index[axis] = 0;
    }
    return false;
}

static int64_t flat(weir_shape shape, const int64_t *index)
{
    int64_t at = 0;
    for (int axis = 0; axis < shape.rank; axis++)
        at = at * shape.dims[axis] + index[axis]; // NOLINT: the rank is not known to the analyzer
    return at;
}

/* ---- transpose --------------------------------------------------------------------------------------------------- */

static void check_transpose(size_t size, weir_shape x, const int *permutation)
{
    weir_shape out = {.rank = x.rank};
    for (int axis = 0; axis < x.rank; axis++)
        out.dims[axis] = x.dims[permutation[axis]]; // NOLINT: the rank is not known to the analyzer
    int64_t n = elements_of(x), index[WEIR_MAX_RANK] = {0};
    char *in = numbered(n, size);
    weir_copy_plan plan;
    weir_transpose_prepare(plain(size), &x, permutation, &plan);
    for (int t = 0; t < TEAMS; t++) {
        char *result = guarded_new((size_t)n * size);
        weir_copy_run(&plan, teams[t], in, result);
        for (int64_t i = 0; i < n; i++, next(out.rank, out.dims, index)) {
            int64_t from[WEIR_MAX_RANK] = {0};
            for (int axis = 0; axis < x.rank; axis++)
                from[permutation[axis]] = index[axis];
            assert_element(result, i, in, flat(x, from), size);
        }
        guarded_free(result);
    }
    guarded_free(in);
}

static void test_transpose(void **state)
{
    (void)state;
    for (int w = 0; w < WIDTHS; w++) {
        check_transpose(widths[w], SHAPE(3, 5), (const int[]){1, 0});
        check_transpose(widths[w], SHAPE(16, 16), (const int[]){1, 0});
        check_transpose(widths[w], SHAPE(100, 37), (const int[]){1, 0});
        check_transpose(widths[w], SHAPE(37, 300), (const int[]){1, 0});
        check_transpose(widths[w], SHAPE(1, 300), (const int[]){1, 0});
        check_transpose(widths[w], SHAPE(5, 40, 33), (const int[]){0, 2, 1});
        check_transpose(widths[w], SHAPE(5, 40, 33), (const int[]){2, 1, 0});
        check_transpose(widths[w], SHAPE(5, 40, 33), (const int[]){1, 2, 0});
        check_transpose(widths[w], SHAPE(5, 40, 33), (const int[]){2, 0, 1});
        check_transpose(widths[w], SHAPE(5, 40, 33), (const int[]){1, 0, 2});
        check_transpose(widths[w], SHAPE(5, 40, 33), (const int[]){0, 1, 2});
        check_transpose(widths[w], SHAPE(4, 7, 6, 3), (const int[]){0, 3, 1, 2});
        check_transpose(widths[w], SHAPE(4, 3, 7, 6), (const int[]){0, 2, 3, 1});
        check_transpose(widths[w], SHAPE(4, 7, 6, 3), (const int[]){3, 1, 0, 2});
        check_transpose(widths[w], SHAPE(2, 3, 1, 2, 2, 3, 1, 2, 2, 1, 2, 2),
                        (const int[]){11, 0, 10, 1, 9, 2, 8, 3, 7, 4, 6, 5});
        check_transpose(widths[w], SHAPE(0, 3), (const int[]){1, 0});
        check_transpose(widths[w], SCALAR_SHAPE, NULL);
    }
}

/* ---- slices and pieces ------------------------------------------------------------------------------------------- */

static void check_slice(size_t size, weir_shape x, const int64_t *begin, const int64_t *length)
{
    weir_shape piece = shape_of(x.rank, length);
    int64_t n = elements_of(x), m = elements_of(piece), index[WEIR_MAX_RANK] = {0};
    char *in = numbered(n, size), *out = guarded_new((size_t)m * size), *back = guarded_new((size_t)n * size);
    weir_copy_plan plan, place;
    weir_slice_prepare(plain(size), &x, begin, length, &plan);
    weir_place_prepare(plain(size), &x, begin, length, &place);
    weir_copy_run(&plan, teams[1], in, out);
    char zero[24] = {0};
    weir_fill_elements(plain(size), teams[1], zero, n, back);
    weir_copy_run(&place, teams[1], out, back);
    int64_t placed = 0;
    for (int64_t i = 0; i < m; i++, next(x.rank, length, index)) {
        int64_t from[WEIR_MAX_RANK];
        for (int axis = 0; axis < x.rank; axis++)
            from[axis] = begin[axis] + index[axis];
        assert_element(out, i, in, flat(x, from), size);
        assert_element(back, flat(x, from), in, flat(x, from), size);
    }
    for (int64_t i = 0; i < n; i++)
        placed += memcmp(back + (size_t)i * size, zero, size) != 0;
    assert_true(placed <= m);
    guarded_free(in), guarded_free(out), guarded_free(back);
}

static void test_slice(void **state)
{
    (void)state;
    for (int w = 0; w < WIDTHS; w++) {
        check_slice(widths[w], SHAPE(10), (const int64_t[]){3}, (const int64_t[]){4});
        check_slice(widths[w], SHAPE(10, 20), (const int64_t[]){3, 5}, (const int64_t[]){4, 15});
        check_slice(widths[w], SHAPE(10, 20), (const int64_t[]){3, 0}, (const int64_t[]){4, 20});
        check_slice(widths[w], SHAPE(500, 9, 30), (const int64_t[]){1, 2, 3}, (const int64_t[]){400, 5, 6});
        check_slice(widths[w], SHAPE(4, 5, 6), (const int64_t[]){4, 0, 0}, (const int64_t[]){0, 5, 6});
        check_slice(widths[w], SHAPE(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2), (const int64_t[12]){1},
                    (const int64_t[]){1, 2, 2, 1, 2, 2, 1, 2, 2, 2, 2, 2});
    }
}

static void test_pieces(void **state)
{
    (void)state;
    enum { ROWS = 30, COLUMNS = 11, INNER = 3 };
    weir_shape x = SHAPE(ROWS, COLUMNS, INNER);
    static const int64_t lengths[] = {2, 0, 5, 4};
    for (int w = 0; w < WIDTHS; w++) {
        size_t size = widths[w];
        int64_t offset = 0, elements[4];
        char *in = numbered(ROWS * COLUMNS * INNER, size), *out = guarded_new(ROWS * COLUMNS * INNER * size);
        char *pieces[4], *split[4];
        for (int i = 0; i < 4; i++) {
            elements[i] = lengths[i] * INNER;
            pieces[i] = guarded_new((size_t)(ROWS * elements[i]) * size);
            split[i] = guarded_new((size_t)(ROWS * elements[i]) * size);
            weir_copy_plan take, put;
            weir_piece_prepare(plain(size), &x, 1, offset, lengths[i], &take);
            weir_join_prepare(plain(size), &x, 1, offset, lengths[i], &put);
            weir_copy_run(&take, teams[2], in, pieces[i]);
            weir_copy_run(&put, teams[2], pieces[i], out);
            offset += lengths[i];
        }
        assert_memory_equal(in, out, ROWS * COLUMNS * INNER * size);
        for (int t = 0; t < TEAMS; t++) {
            memset(out, 0, ROWS * COLUMNS * INNER * size);
            weir_split_elements(plain(size), teams[t], 4, in, elements, ROWS, (void *const *)split);
            for (int i = 0; i < 4; i++)
                assert_memory_equal(split[i], pieces[i], (size_t)(ROWS * elements[i]) * size);
            weir_concat_elements(plain(size), teams[t], 4, (const void *const *)pieces, elements, ROWS, out);
            assert_memory_equal(in, out, ROWS * COLUMNS * INNER * size);
        }
        for (int i = 0; i < 4; i++)
            guarded_free(pieces[i]), guarded_free(split[i]);
        guarded_free(in), guarded_free(out);
    }
    /* One long row: cut by bytes, lengths that are multiples of a line and not. */
    enum { LONG = 100001 };
    float *a = random_floats(LONG, 0, 1), *b = random_floats(65536, 0, 1), *both = guarded_new((LONG + 65536) * 4);
    const void *inputs[] = {a, b};
    int64_t long_lengths[] = {LONG, 65536};
    weir_concat_elements(plain(4), teams[2], 2, inputs, long_lengths, 1, both);
    assert_memory_equal(both, a, LONG * 4);
    assert_memory_equal(both + LONG, b, 65536 * 4);
    memset(a, 0, LONG * 4);
    void *outputs[] = {a, b};
    weir_split_elements(plain(4), teams[2], 2, both, long_lengths, 1, outputs);
    assert_memory_equal(both, a, LONG * 4);
    guarded_free(a), guarded_free(b), guarded_free(both);
}

/* ---- strided slices ---------------------------------------------------------------------------------------------- */

static weir_slice_fault resolve(weir_shape x, int count, const int64_t *begin, const int64_t *end,
                                const int64_t *strides, const uint32_t masks[5], weir_strided_slice *out)
{
    weir_slice_spec spec = {count, begin, end, strides, masks[0], masks[1], masks[2], masks[3], masks[4]};
    return weir_strided_slice_resolve(&x, &spec, out);
}

static void check_strided(weir_shape x, int64_t begin, int64_t end, int64_t stride, int first, int step, int count)
{
    weir_strided_slice slice;
    static const uint32_t none[5] = {0};
    assert_int_equal(resolve(x, 1, &begin, &end, &stride, none, &slice), WEIR_SLICE_OK);
    assert_int_equal(slice.out.rank, 1);
    assert_int_equal(slice.out.dims[0], count);
    float in[16], out[16], back[16];
    for (int i = 0; i < 16; i++)
        in[i] = (float)i + 1;
    weir_copy_plan plan;
    weir_strided_slice_prepare(plain(4), &x, &slice, &plan);
    weir_copy_run(&plan, NULL, in, out);
    for (int i = 0; i < count; i++)
        assert_true(out[i] == in[first + i * step]);
    memset(back, 0, sizeof back);
    weir_strided_slice_grad_prepare(plain(4), &x, &slice, &plan);
    weir_copy_run(&plan, NULL, out, back);
    for (int i = 0; i < count; i++)
        assert_true(back[first + i * step] == in[first + i * step]);
}

static void test_strided_slice(void **state)
{
    (void)state;
    weir_shape x = SHAPE(10);
    check_strided(x, 2, 8, 1, 2, 1, 6);
    check_strided(x, 2, 8, 4, 2, 4, 2);
    check_strided(x, -3, 10, 1, 7, 1, 3);
    check_strided(x, -30, 30, 3, 0, 3, 4);
    check_strided(x, 8, 2, -2, 8, -2, 3);
    check_strided(x, 30, -30, -1, 9, -1, 10);
    check_strided(x, 8, 2, 1, 0, 1, 0);
    check_strided(x, 2, 8, -1, 0, 1, 0);
    check_strided(x, 5, 100, INT64_MAX, 5, 1, 1);
    check_strided(x, 5, -100, INT64_MIN, 5, 1, 1);
    check_strided(SHAPE(0), 0, 5, 1, 0, 1, 0);
}

static void test_strided_slice_masks(void **state)
{
    (void)state;
    weir_strided_slice slice;
    weir_shape x = SHAPE(3, 4, 5, 6);
    const int64_t zeros[5] = {0}, ones[5] = {1, 1, 1, 1, 1}, far[5] = {9, 9, 9, 9, 9}, minus[1] = {-1};
    /* x[1, ..., new, 1:]: shrink, ellipsis, new axis, open end. */
    const uint32_t mixed[5] = {0, 8, 2, 4, 1};
    assert_int_equal(resolve(x, 4, ones, ones, ones, mixed, &slice), WEIR_SLICE_OK);
    assert_int_equal(slice.out.rank, 4);
    assert_int_equal(slice.out.dims[0], 4);
    assert_int_equal(slice.out.dims[1], 5);
    assert_int_equal(slice.out.dims[2], 1);
    assert_int_equal(slice.out.dims[3], 5);
    assert_int_equal(slice.begin[0], 1);
    assert_int_equal(slice.counts[0], 1);
    assert_int_equal(slice.begin[3], 1);
    /* x[::-1] with open bounds on both sides. */
    const uint32_t open[5] = {1, 1, 0, 0, 0};
    assert_int_equal(resolve(x, 1, zeros, zeros, minus, open, &slice), WEIR_SLICE_OK);
    assert_int_equal(slice.begin[0], 2);
    assert_int_equal(slice.counts[0], 3);
    assert_int_equal(slice.out.rank, 4);
    const uint32_t none[5] = {0}, shrink[5] = {0, 0, 0, 0, 1}, twice[5] = {0, 0, 3, 0, 0};
    assert_int_equal(resolve(x, 1, zeros, far, zeros, none, &slice), WEIR_SLICE_ZERO_STRIDE);
    assert_int_equal(slice.at, 0);
    assert_int_equal(resolve(x, 5, zeros, far, ones, none, &slice), WEIR_SLICE_TOO_MANY);
    assert_int_equal(slice.at, 4);
    assert_int_equal(resolve(x, 1, far, far, ones, shrink, &slice), WEIR_SLICE_OUT_OF_BOUNDS);
    assert_true(slice.at == 0 && slice.value == 9);
    assert_int_equal(resolve(x, 1, zeros, far, minus, shrink, &slice), WEIR_SLICE_SHRINK_STRIDE);
    assert_int_equal(resolve(x, 2, zeros, far, ones, twice, &slice), WEIR_SLICE_TWO_ELLIPSES);
    assert_int_equal(resolve(x, 1, minus, zeros, ones, shrink, &slice), WEIR_SLICE_OK); /* x[-1] */
    assert_true(slice.begin[0] == 2 && slice.out.rank == 3);
    /* A rank that is too high, and a dimension that is not known. */
    weir_shape high = SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), open_shape = SHAPE(-1, 4);
    const uint32_t new_axis[5] = {0, 0, 0, 1, 0};
    assert_int_equal(resolve(high, 1, zeros, ones, ones, new_axis, &slice), WEIR_SLICE_RANK);
    assert_int_equal(resolve(open_shape, 1, zeros, ones, ones, none, &slice), WEIR_SLICE_OK);
    assert_true(slice.out.rank == 2 && slice.out.dims[0] == -1 && slice.out.dims[1] == 4);
    assert_int_equal(resolve(open_shape, 1, far, ones, ones, shrink, &slice), WEIR_SLICE_OK);
    assert_true(slice.out.rank == 1 && slice.out.dims[0] == 4);
}

/* ---- reverse, broadcast, tile ------------------------------------------------------------------------------------ */

static void test_reverse(void **state)
{
    (void)state;
    weir_shape x = SHAPE(5, 70, 9);
    int64_t n = elements_of(x);
    for (int w = 0; w < WIDTHS; w++)
        for (int mask = 0; mask < 8; mask++) {
            bool reversed[3] = {mask & 1, mask & 2, mask & 4};
            char *in = numbered(n, widths[w]), *out = guarded_new((size_t)n * widths[w]);
            weir_copy_plan plan;
            weir_reverse_prepare(plain(widths[w]), &x, reversed, &plan);
            weir_copy_run(&plan, teams[1], in, out);
            int64_t index[3] = {0};
            for (int64_t i = 0; i < n; i++, next(3, x.dims, index)) {
                int64_t from[3];
                for (int axis = 0; axis < 3; axis++)
                    from[axis] = reversed[axis] ? x.dims[axis] - 1 - index[axis] : index[axis];
                assert_element(out, i, in, flat(x, from), widths[w]);
            }
            guarded_free(in), guarded_free(out);
        }
}

static void check_broadcast(size_t size, weir_shape x, weir_shape out)
{
    int64_t n = elements_of(out);
    char *in = numbered(elements_of(x), size), *result = guarded_new((size_t)n * size);
    weir_copy_plan plan;
    assert_true(weir_broadcast_to_prepare(plain(size), &x, &out, &plan));
    weir_copy_run(&plan, teams[1], in, result);
    for (int64_t i = 0; i < n; i++)
        assert_element(result, i, in, broadcast_index(x, out, i), size);
    guarded_free(in), guarded_free(result);
}

static void check_tile(size_t size, weir_shape x, const int64_t *multiples)
{
    weir_shape out = x;
    for (int axis = 0; axis < x.rank; axis++)
        out.dims[axis] *= multiples[axis]; // NOLINT: the rank is not known to the analyzer
    int64_t n = elements_of(out), index[WEIR_MAX_RANK] = {0};
    char *in = numbered(elements_of(x), size), *result = guarded_new((size_t)n * size);
    weir_copy_plan plan;
    weir_tile_prepare(plain(size), &x, multiples, &plan);
    weir_copy_run(&plan, teams[2], in, result);
    for (int64_t i = 0; i < n; i++, next(out.rank, out.dims, index)) {
        int64_t from[WEIR_MAX_RANK];
        for (int axis = 0; axis < x.rank; axis++)
            from[axis] = index[axis] % x.dims[axis];
        assert_element(result, i, in, flat(x, from), size);
    }
    guarded_free(in), guarded_free(result);
}

static void test_broadcast_and_tile(void **state)
{
    (void)state;
    for (int w = 0; w < WIDTHS; w++) {
        check_broadcast(widths[w], SCALAR_SHAPE, SHAPE(1000));
        check_broadcast(widths[w], SHAPE(3), SHAPE(400, 3));
        check_broadcast(widths[w], SHAPE(4, 1, 3, 1), SHAPE(2, 4, 5, 3, 200));
        check_broadcast(widths[w], SHAPE(1), SHAPE(0, 3));
        check_tile(widths[w], SHAPE(3), (const int64_t[]){100});
        check_tile(widths[w], SHAPE(3, 1, 4), (const int64_t[]){2, 50, 3});
        check_tile(widths[w], SHAPE(3, 4), (const int64_t[]){1, 1});
        check_tile(widths[w], SHAPE(3, 4), (const int64_t[]){0, 2});
        check_tile(widths[w], SHAPE(2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1),
                   (const int64_t[]){1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2});
    }
    weir_shape x = SHAPE(3), out = SHAPE(4);
    weir_copy_plan plan;
    assert_false(weir_broadcast_to_prepare(plain(4), &x, &out, &plan));
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

/* A callback's elements: 24 bytes, counted when copied. */
typedef struct object {
    int64_t value, copies;
    int64_t pad;
} object;

static void copy_objects(void *context, void *out, int64_t out_step, const void *in, int64_t in_step, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        ((object *)out)[i * out_step].value = ((const object *)in)[i * in_step].value;
        (*(int64_t *)context)++;
    }
}

static void store_index(void *context, int64_t out, int64_t in)
{
    ((int64_t *)context)[out] = in;
}

static void test_objects(void **state)
{
    (void)state;
    int64_t copied = 0, walked[60];
    weir_element element = {sizeof(object), copy_objects, &copied};
    object in[60], out[120];
    for (int i = 0; i < 60; i++)
        in[i].value = i;
    weir_shape x = SHAPE(3, 4, 5);
    weir_copy_plan plan;
    weir_transpose_prepare(element, &x, (const int[]){2, 0, 1}, &plan);
    weir_copy_run(&plan, teams[3], in, out);
    assert_int_equal(copied, 60);
    weir_copy_walk(&plan, store_index, walked);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(out[i].value, i % 4 * 5 + i / 4 % 3 * 20 + i / 12);
        assert_int_equal(out[i].value, walked[i]);
    }
    weir_tile_prepare(element, &x, (const int64_t[]){1, 2, 1}, &plan);
    weir_copy_run(&plan, teams[3], in, out);
    assert_int_equal(out[25].value, 5);
    weir_fill_elements(element, teams[3], in + 7, 100, out);
    assert_true(out[0].value == 7 && out[99].value == 7);
    int32_t indices[] = {5, 0};
    assert_int_equal(weir_gather_elements(element, teams[3], in, 1, 1, 6, 10, WEIR_INT32, indices, 2, out), -1);
    assert_true(out[0].value == 50 && out[19].value == 9);
    const void *inputs[] = {in, in + 30};
    int64_t lengths[] = {30, 30};
    weir_concat_elements(element, teams[3], 2, inputs, lengths, 1, out);
    assert_true(out[59].value == 59);
    weir_one_hot_elements(element, NULL, WEIR_INT32, indices, 2, 6, 1, in + 1, in + 2, out);
    assert_true(out[5].value == 1 && out[4].value == 2 && out[6].value == 1);
}

/* ---- gathering --------------------------------------------------------------------------------------------------- */

static void test_gather(void **state)
{
    (void)state;
    enum { BATCH = 3, OUTER = 4, SIZE = 7, COUNT = 50 };
    static const int64_t inners[] = {1, 5, 300};
    for (int w = 0; w < WIDTHS; w++)
        for (int k = 0; k < 3; k++) {
            int64_t inner = inners[k], n = BATCH * OUTER * SIZE * inner, m = BATCH * OUTER * COUNT * inner;
            char *params = numbered(n, widths[w]), *out = guarded_new((size_t)m * widths[w]);
            int64_t indices[BATCH * COUNT];
            for (int i = 0; i < BATCH * COUNT; i++)
                indices[i] = random_whole(0, SIZE - 1);
            for (int t = 0; t < TEAMS; t++) {
                assert_int_equal(weir_gather_elements(plain(widths[w]), teams[t], params, BATCH, OUTER, SIZE, inner,
                                                      WEIR_INT64, indices, COUNT, out),
                                 -1);
                for (int64_t i = 0; i < m; i++) {
                    int64_t row = i / inner / COUNT, at = i / inner % COUNT;
                    int64_t index = indices[row / OUTER * COUNT + at];
                    assert_element(out, i, params, (row * SIZE + index) * inner + i % inner, widths[w]);
                }
            }
            guarded_free(params), guarded_free(out);
        }
    float x[3] = {1, 2, 3}, out[3];
    int32_t bad[3] = {0, 3, -1};
    assert_int_equal(weir_gather_elements(plain(4), NULL, x, 1, 1, 3, 1, WEIR_INT32, bad, 3, out), 1);
    bad[1] = 2;
    assert_int_equal(weir_gather_elements(plain(4), NULL, x, 1, 1, 3, 1, WEIR_INT32, bad, 3, out), 2);
    assert_int_equal(weir_gather_elements(plain(4), NULL, x, 1, 1, 3, 1, WEIR_INT32, bad, 0, out), -1);
    int16_t narrow[2] = {2, 0};
    assert_int_equal(weir_gather_elements(plain(4), NULL, x, 1, 1, 3, 1, WEIR_INT16, narrow, 2, out), -1);
    assert_true(out[0] == 3 && out[1] == 1);
}

static void test_one_hot(void **state)
{
    (void)state;
    enum { PREFIX = 20, DEPTH = 6, SUFFIX = 4 };
    for (int w = 0; w < WIDTHS; w++) {
        size_t size = widths[w];
        int32_t indices[PREFIX * SUFFIX];
        char on[24], off[24], *out = guarded_new(PREFIX * DEPTH * SUFFIX * size);
        memset(on, 1, sizeof on);
        memset(off, 2, sizeof off);
        for (int i = 0; i < PREFIX * SUFFIX; i++)
            indices[i] = (int32_t)random_whole(-2, DEPTH + 1);
        weir_one_hot_elements(plain(size), teams[1], WEIR_INT32, indices, PREFIX, DEPTH, SUFFIX, on, off, out);
        for (int p = 0; p < PREFIX; p++)
            for (int d = 0; d < DEPTH; d++)
                for (int s = 0; s < SUFFIX; s++)
                    assert_memory_equal(out + (size_t)((p * DEPTH + d) * SUFFIX + s) * size,
                                        indices[p * SUFFIX + s] == d ? on : off, size);
        guarded_free(out);
    }
    uint8_t bytes[2] = {1, 255};
    float on = 1, off = 0, out[4];
    weir_one_hot_elements(plain(4), NULL, WEIR_UINT8, bytes, 2, 2, 1, &on, &off, out);
    assert_true(out[0] == 0 && out[1] == 1 && out[2] == 0 && out[3] == 0);
}

static void test_stitch(void **state)
{
    (void)state;
    int32_t first[] = {0, 2}, second[] = {1, 2}, bad[] = {3, -1};
    float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, out[6];
    const int32_t *indices[] = {first, second}, *wrong[] = {first, bad};
    const void *inputs[] = {a, b};
    const int64_t counts[] = {2, 2};
    static const float expected[] = {1, 2, 5, 6, 7, 8};
    assert_int_equal(weir_stitch_rows(2, indices, counts), 3);
    assert_int_equal(weir_stitch_elements(plain(4), 2, indices, counts, inputs, 2, 3, out), -1);
    assert_memory_equal(out, expected, sizeof expected);
    assert_int_equal(weir_stitch_elements(plain(4), 2, wrong, counts, inputs, 2, 3, out), 2);
    assert_int_equal(weir_stitch_rows(0, indices, counts), 0);
}

/* ---- numbers and indices ----------------------------------------------------------------------------------------- */

static void check_range(int32_t start, int32_t limit, int32_t delta, int64_t count)
{
    int32_t out[32];
    bool bad_sign;
    assert_int_equal(weir_range_count(WEIR_INT32, &start, &limit, &delta, &bad_sign), count);
    for (int64_t i = 0; count > 0 && i < count; i++) {
        weir_range_numbers(WEIR_INT32, &start, &delta, count, out);
        assert_int_equal(out[i], start + i * delta);
    }
}

static void test_range(void **state)
{
    (void)state;
    check_range(0, 5, 1, 5);
    check_range(5, 0, -2, 3);
    check_range(3, 3, 1, 0);
    check_range(1, 8, 3, 3);
    check_range(0, 5, 0, -1);
    check_range(0, 5, -1, -1);
    check_range(5, 0, 1, -1);
    float start = 0, limit = 0.9f, delta = 0.3f, out[4];
    bool bad_sign;
    assert_int_equal(weir_range_count(WEIR_FLOAT, &start, &limit, &delta, &bad_sign), 3);
    limit = 1;
    assert_int_equal(weir_range_count(WEIR_FLOAT, &start, &limit, &delta, &bad_sign), 4);
    weir_range_numbers(WEIR_FLOAT, &start, &delta, 4, out);
    assert_true(out[0] == 0 && out[2] == 0.3f + 0.3f && out[3] == 0.3f + 0.3f + 0.3f);
    int64_t lowest = INT64_MIN, highest = INT64_MAX, one = 1, back = -3;
    assert_int_equal(weir_range_count(WEIR_INT64, &lowest, &highest, &one, &bad_sign), -2);
    assert_int_equal(weir_range_count(WEIR_INT64, &lowest, &highest, &back, &bad_sign), -1);
    assert_true(bad_sign);
    uint16_t half_start = half_of_float(1), half_delta = half_of_float(0.5f), halves[3];
    weir_range_numbers(WEIR_HALF, &half_start, &half_delta, 3, halves);
    assert_int_equal(halves[2], half_of_float(2));
}

static void test_permutation(void **state)
{
    (void)state;
    int32_t x[] = {2, 0, 3, 1}, out[4], twice[] = {2, 2, 0}, far[] = {0, 3, 1};
    int64_t value, wide[] = {1, 0}, wide_out[2];
    assert_int_equal(weir_inverse_permutation(WEIR_INT32, x, 4, out, &value), WEIR_PERMUTATION_OK);
    assert_true(out[0] == 1 && out[1] == 3 && out[2] == 0 && out[3] == 2);
    assert_int_equal(weir_inverse_permutation(WEIR_INT32, twice, 3, out, &value), WEIR_PERMUTATION_DUPLICATE);
    assert_int_equal(value, 2);
    assert_int_equal(weir_inverse_permutation(WEIR_INT32, far, 3, out, &value), WEIR_PERMUTATION_RANGE);
    assert_int_equal(value, 3);
    assert_int_equal(weir_inverse_permutation(WEIR_INT64, wide, 2, wide_out, &value), WEIR_PERMUTATION_OK);
    assert_int_equal(wide_out[0], 1);
}

static void test_where(void **state)
{
    (void)state;
    weir_shape shape = SHAPE(3, 2, 4), high = SHAPE(2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1);
    float x[24];
    for (int i = 0; i < 24; i++)
        x[i] = i % 5 == 0 ? NAN : i % 3 == 0 ? -0.0f : i % 2 ? 0 : 2;
    int64_t count = weir_where_count(WEIR_FLOAT, x, 24), *out = guarded_new((size_t)count * 3 * 8), at = 0;
    weir_where_indices(WEIR_FLOAT, x, &shape, out);
    for (int i = 0; i < 24; i++)
        if (x[i] != 0) {
            assert_int_equal(out[3 * at], i / 8);
            assert_int_equal(out[3 * at + 1], i / 4 % 2);
            assert_int_equal(out[3 * at++ + 2], i % 4);
        }
    assert_int_equal(at, count);
    guarded_free(out);
    bool truth[64] = {[63] = true};
    int64_t index[12];
    assert_int_equal(weir_where_count(WEIR_BOOL, truth, 64), 1);
    weir_where_indices(WEIR_BOOL, truth, &high, index);
    for (int axis = 0; axis < 12; axis++)
        assert_int_equal(index[axis], axis % 2 == 0);
    uint16_t halves[3] = {0x8000, 0, 1};
    assert_int_equal(weir_where_count(WEIR_HALF, halves, 3), 1);
    assert_int_equal(weir_where_count(WEIR_STRING, halves, 3), -1);
}

static void test_list_difference(void **state)
{
    (void)state;
    enum { X = 3000, Y = 1000 };
    int64_t *x = guarded_new(X * 8), *y = guarded_new(Y * 8), *out = guarded_new(X * 8), *places = guarded_new(X * 8);
    void *scratch = guarded_new(weir_list_difference_scratch(Y));
    for (int i = 0; i < X; i++)
        x[i] = random_whole(0, 2000) << 40;
    for (int i = 0; i < Y; i++)
        y[i] = random_whole(0, 2000) << 40;
    int64_t kept = weir_list_difference(WEIR_INT64, x, X, y, Y, WEIR_INT64, scratch, out, places), at = 0;
    for (int i = 0; i < X; i++) {
        bool found = false;
        for (int k = 0; k < Y && !found; k++)
            found = y[k] == x[i];
        if (found)
            continue;
        assert_true(out[at] == x[i] && places[at] == i);
        at++;
    }
    assert_int_equal(at, kept);
    guarded_free(x), guarded_free(y), guarded_free(out), guarded_free(places), guarded_free(scratch);
    float a[5] = {-0.0f, NAN, 1, 0, 2}, b[3] = {0, NAN, 2}, rest[5];
    int32_t where[5];
    void *small = guarded_new(weir_list_difference_scratch(3));
    assert_int_equal(weir_list_difference(WEIR_FLOAT, a, 5, b, 3, WEIR_INT32, small, rest, where), 2);
    assert_true(isnan(rest[0]) && rest[1] == 1 && where[0] == 1 && where[1] == 2);
    assert_int_equal(weir_list_difference(WEIR_FLOAT, a, 5, b, 0, WEIR_INT32, small, rest, where), 5);
    guarded_free(small);
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

static void test_segments(void **state)
{
    (void)state;
    enum { ROWS = 200, SEGMENTS = 9 };
    static const int64_t columns_of[] = {1, 7, 1000};
    for (int c = 0; c < 3; c++)
        for (int op = 0; op < WEIR_SEGMENT_COUNT; op++) {
            int64_t columns = columns_of[c];
            float *x = random_floats(ROWS * columns, 0.9, 1.1), *first = guarded_new((size_t)(SEGMENTS * columns) * 4);
            int32_t ids[ROWS];
            for (int row = 0; row < ROWS; row++)
                ids[row] = (int32_t)random_whole(-1, SEGMENTS - 2);
            weir_segment_function *function = weir_segment_find((weir_segment_op)op, WEIR_FLOAT, WEIR_INT32);
            assert_int_equal(function(NULL, x, ids, ROWS, columns, SEGMENTS, first), -1);
            static const double starts[] = {0, 1, -3.4028234663852886e38, 3.4028234663852886e38};
            for (int64_t i = 0; i < SEGMENTS * columns; i++) {
                double value = starts[op];
                for (int row = 0; row < ROWS; row++) {
                    double e = x[row * columns + i % columns];
                    if (ids[row] == i / columns)
                        value = op == 0 ? value + e : op == 1 ? value * e : op == 2 ? fmax(value, e) : fmin(value, e);
                }
                assert_true(fabs(first[i] - value) <= fabs(value) * 1e-5);
            }
            for (int t = 1; t < TEAMS; t++) {
                float *other = guarded_new((size_t)(SEGMENTS * columns) * 4);
                assert_int_equal(function(teams[t], x, ids, ROWS, columns, SEGMENTS, other), -1);
                assert_memory_equal(first, other, (size_t)(SEGMENTS * columns) * 4);
                guarded_free(other);
            }
            ids[5] = SEGMENTS;
            assert_int_equal(function(NULL, x, ids, ROWS, columns, SEGMENTS, first), 5);
            guarded_free(x), guarded_free(first);
        }
    int8_t whole[4] = {100, 100, 100, -5}, sums[2];
    int64_t ids[4] = {0, 0, 0, 1};
    weir_segment_find(WEIR_SEGMENT_SUM, WEIR_INT8, WEIR_INT64)(NULL, whole, ids, 4, 1, 2, sums);
    assert_true(sums[0] == 300 - 256 && sums[1] == -5);
    assert_null(weir_segment_find(WEIR_SEGMENT_MAX, WEIR_COMPLEX64, WEIR_INT32));
    assert_null(weir_segment_find(WEIR_SEGMENT_SUM, WEIR_BOOL, WEIR_INT32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_strided_slice),
        cmocka_unit_test(test_strided_slice_masks),
        cmocka_unit_test(test_reverse),
        cmocka_unit_test(test_broadcast_and_tile),
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_one_hot),
        cmocka_unit_test(test_stitch),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_permutation),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_list_difference),
        cmocka_unit_test(test_segments),
    };
    return cmocka_run_group_tests(tests, teams_start, teams_stop);
}
