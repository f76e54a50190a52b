/*
 * Arenas: alignment, zeroes, pieces larger than chunks, and sizes that no memory has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "unit/base/huge_sizes.h"

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    enum { PIECES = 500 };
    weir_arena arena = {0};
    unsigned char *pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = weir_arena_take(&arena, i, 3);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        for (size_t j = 0; j < 3 * i; j++)
            assert_int_equal(pieces[i][j], 0);
        memset(pieces[i], (int)(i % 251) + 1, 3 * i);
    }
    for (size_t i = 0; i < PIECES; i++) {
        for (size_t j = 0; j < 3 * i; j++)
            assert_int_equal(pieces[i][j], i % 251 + 1);
    }
    weir_arena_clear(&arena);
}

static void few_chunks_for_many_pieces(void **state)
{
    weir_arena arena = {0};
    assert_int_equal(weir_arena_size(&arena), 0);
    assert_non_null(weir_arena_take(&arena, 1, 1));
    size_t first = weir_arena_size(&arena);
    for (int i = 0; i < 50; i++)
        assert_non_null(weir_arena_take(&arena, 1, 16));
    assert_int_equal(weir_arena_size(&arena), first);
    weir_arena_clear(&arena);
    assert_int_equal(weir_arena_size(&arena), 0);
}

static void large_piece_gets_its_own_chunk(void **state)
{
    weir_arena arena = {0};
    size_t size = (size_t)5 << 20;
    char *large = weir_arena_take(&arena, size, 1);
    assert_non_null(large);
    large[size - 1] = 1;
    assert_true(weir_arena_size(&arena) >= size);
    char *small = weir_arena_take(&arena, 1, 1);
    assert_non_null(small);
    assert_true(weir_arena_size(&arena) < size + ((size_t)2 << 20));
    weir_arena_clear(&arena);
}

static void texts(void **state)
{
    weir_arena arena = {0};
    assert_string_equal(weir_arena_text(&arena, "abcdef", 3), "abc");
    assert_string_equal(weir_arena_text(&arena, NULL, 0), "");
    assert_string_equal(weir_arena_format(&arena, "%s_%d", "w", 3), "w_3");
    weir_arena_clear(&arena);
}

static void absurd_sizes_give_null(void **state)
{
    weir_arena arena = {0};
    assert_null(weir_arena_take(&arena, SIZE_MAX / 2, 4));
    assert_null(weir_arena_take(&arena, SIZE_MAX / 4 + 2, 4)); /* wraps around to 4 */
    assert_null(weir_arena_take(&arena, SIZE_MAX, 1));
    assert_null(weir_arena_take(&arena, SIZE_MAX - 7, 1));
    assert_null(weir_arena_take(&arena, (size_t)1 << 60, 1));
    assert_null(weir_arena_text(&arena, "x", SIZE_MAX - 100));
    assert_non_null(weir_arena_take(&arena, 1, 1));
    weir_arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(few_chunks_for_many_pieces),
        cmocka_unit_test(large_piece_gets_its_own_chunk),
        cmocka_unit_test(texts),
        cmocka_unit_test(absurd_sizes_give_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
