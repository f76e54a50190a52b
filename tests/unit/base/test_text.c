/*
 * Growing texts, running out of memory in them, and the nearest word.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "unit/base/huge_sizes.h"

static void empty_text_is_a_text(void **state)
{
    weir_text text = {0};
    assert_string_equal(weir_text_get(&text), "");
    char *taken = NULL;
    assert_true(weir_ok(weir_text_take(&text, &taken)));
    assert_string_equal(taken, "");
    weir_release(taken);
    weir_text_clear(&text);
}

static void appended_pieces_follow_each_other(void **state)
{
    weir_text text = {0};
    weir_text_append(&text, "%d-%s", 12, "ab");
    weir_text_append_bytes(&text, "\0z", 2);
    weir_text_append_bytes(&text, NULL, 0);
    weir_text_append(&text, "!");
    assert_int_equal(text.length, 8);
    assert_memory_equal(weir_text_get(&text), "12-ab\0z!", 9);
    char *taken = NULL;
    assert_true(weir_ok(weir_text_take(&text, &taken)));
    assert_memory_equal(taken, "12-ab\0z!", 9);
    assert_null(text.data);
    assert_int_equal(text.length, 0);
    weir_release(taken);
}

static void text_grows(void **state)
{
    weir_text text = {0};
    for (int i = 0; i < 10000; i++)
        weir_text_append(&text, "%04d", i);
    assert_int_equal(text.length, 40000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(strncmp(text.data + 4 * i + 3, &"0123456789"[i % 10], 1), 0);
    weir_text_clear(&text);
    weir_text_append(&text, "again");
    assert_string_equal(weir_text_get(&text), "again");
    weir_text_clear(&text);
}

/* A length that no memory has: the fault sticks, what was there stays readable, and the end reports it. */
static void memory_fault_sticks(void **state)
{
    weir_text text = {0};
    weir_text_append(&text, "before");
    weir_text_append_bytes(&text, "x", SIZE_MAX - 3);
    assert_true(text.failed);
    weir_text_append_bytes(&text, "x", SIZE_MAX / 4);
    weir_text_append(&text, "after");
    assert_string_equal(weir_text_get(&text), "before");
    char *taken = NULL;
    assert_int_equal(weir_text_take(&text, &taken).code, WEIR_RESOURCE_EXHAUSTED);
    assert_null(taken);
    assert_null(text.data);
    weir_text_append(&text, "usable");
    assert_string_equal(weir_text_get(&text), "usable");
    weir_text_clear(&text);
}

static void distances(void **state)
{
    assert_int_equal(weir_text_distance("", ""), 0);
    assert_int_equal(weir_text_distance("", "abc"), 3);
    assert_int_equal(weir_text_distance("abc", ""), 3);
    assert_int_equal(weir_text_distance("abc", "abc"), 0);
    assert_int_equal(weir_text_distance("kitten", "sitting"), 3);
    assert_int_equal(weir_text_distance("learning", "laerning"), 1);
    assert_int_equal(weir_text_distance("Conv2D", "Conv3D"), 1);
    assert_int_equal(weir_text_distance("ab", "ba"), 1);
    char a[101] = "";
    char b[101] = "";
    memset(a, 'a', 100);
    memset(b, 'b', 100);
    assert_int_equal(weir_text_distance(a, b), 63);
    assert_int_equal(weir_text_distance(a, ""), 63);
}

static void nearest_words(void **state)
{
    static const char *const words[] = {"MatMul", "MatrixInverse", "Mul", NULL};
    static const char *const none[] = {NULL};
    assert_string_equal(weir_text_nearest("Matmul", words), "MatMul");
    assert_string_equal(weir_text_nearest("Mull", words), "Mul");
    assert_null(weir_text_nearest("Softmax", words));
    assert_null(weir_text_nearest("Mul", none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_text_is_a_text),
        cmocka_unit_test(appended_pieces_follow_each_other),
        cmocka_unit_test(text_grows),
        cmocka_unit_test(memory_fault_sticks),
        cmocka_unit_test(distances),
        cmocka_unit_test(nearest_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
