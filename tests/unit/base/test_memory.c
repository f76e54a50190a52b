/*
 * Heap memory: zeroes, alignment, counting, overflow; and lists, which grow in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "unit/base/huge_sizes.h"

static void memory_is_zeroed(void **state)
{
    unsigned char *memory = weir_allocate(100, 7);
    assert_non_null(memory);
    for (int i = 0; i < 700; i++)
        assert_int_equal(memory[i], 0);
    weir_release(memory);
    weir_release(NULL);
}

static void nothing_is_a_valid_pointer(void **state)
{
    void *memory[] = {weir_allocate(0, 8), weir_allocate(8, 0), weir_allocate_aligned(0), weir_reallocate(NULL, 0, 4)};
    for (int i = 0; i < 4; i++) {
        assert_non_null(memory[i]);
        weir_release(memory[i]);
    }
}

static void aligned_memory(void **state)
{
    for (size_t size = 1; size < 300; size += 13) {
        char *memory = weir_allocate_aligned(size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % WEIR_ALIGNMENT, 0);
        memset(memory, 1, size);
        weir_release(memory);
    }
}

static void absurd_sizes_give_null(void **state)
{
    assert_null(weir_allocate(SIZE_MAX / 2, 4));
    assert_null(weir_allocate((size_t)1 << 60, 1));
    assert_null(weir_allocate_aligned(SIZE_MAX));
    assert_null(weir_allocate_aligned((size_t)1 << 60));
    char *memory = weir_allocate(4, 1);
    assert_non_null(memory);
    memory[3] = 'k';
    assert_null(weir_reallocate(memory, SIZE_MAX / 4 + 2, 4)); /* wraps around to 4 */
    assert_null(weir_reallocate(memory, (size_t)1 << 60, 1));
    assert_int_equal(memory[3], 'k');
    weir_release(memory);
}

static void failure_names_the_bytes(void **state)
{
    int64_t *numbers = NULL;
    weir_status status = weir_new(&numbers, (size_t)1 << 57);
    assert_int_equal(status.code, WEIR_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(weir_status_text(status), "1152921504606846976"));
    status = weir_new(&numbers, SIZE_MAX / 2);
    assert_int_equal(status.code, WEIR_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(weir_status_text(status), "18446744073709551615")); /* not the product wrapped around */
    assert_null(numbers);
    assert_true(weir_ok(weir_new(&numbers, 3)));
    assert_int_equal(numbers[2], 0);
    weir_release(numbers);
}

static void copied_text_ends_with_zero(void **state)
{
    char *copy = weir_copy_text("abcdef", 3);
    assert_string_equal(copy, "abc");
    weir_release(copy);
    copy = weir_copy_text(NULL, 0);
    assert_string_equal(copy, "");
    weir_release(copy);
}

static void everything_is_counted(void **state)
{
    weir_counters before = weir_counters_read();
    void *a = weir_allocate(1, 1);
    void *b = weir_allocate_aligned(1);
    a = weir_reallocate(a, 100, 1);
    weir_count_lookup();
    weir_count_text();
    weir_count_text();
    weir_counters after = weir_counters_read();
    weir_release(a);
    weir_release(b);
    assert_int_equal(after.allocations - before.allocations, 3);
    assert_int_equal(after.lookups - before.lookups, 1);
    assert_int_equal(after.texts - before.texts, 2);
}

static void lists_grow(void **state)
{
    WEIR_LIST(int) list = {0};
    uint64_t before = weir_counters_read().allocations;
    for (int i = 0; i < 1000; i++)
        assert_true(weir_ok(weir_list_add(&list, i)));
    assert_true(weir_counters_read().allocations - before < 20);
    assert_int_equal(list.count, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(list.items[i], i);
    weir_list_clear(&list);
    assert_null(list.items);
    assert_int_equal(list.count, 0);
}

static void failed_growth_leaves_the_list(void **state)
{
    WEIR_LIST(int) list = {0};
    assert_true(weir_ok(weir_list_add(&list, 5)));
    void *items = list.items;
    size_t capacity = list.capacity;
    weir_status status = weir_list_grow((void **)&list.items, (size_t)1 << 61, &list.capacity, sizeof(int));
    assert_int_equal(status.code, WEIR_RESOURCE_EXHAUSTED);
    assert_ptr_equal(list.items, items);
    assert_int_equal(list.capacity, capacity);
    assert_int_equal(list.items[0], 5);
    weir_list_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed),
        cmocka_unit_test(nothing_is_a_valid_pointer),
        cmocka_unit_test(aligned_memory),
        cmocka_unit_test(absurd_sizes_give_null),
        cmocka_unit_test(failure_names_the_bytes),
        cmocka_unit_test(copied_text_ends_with_zero),
        cmocka_unit_test(everything_is_counted),
        cmocka_unit_test(lists_grow),
        cmocka_unit_test(failed_growth_leaves_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
