/*
 * For tests that ask for more memory than there is: has the sanitizers answer NULL, as malloc does, instead of ending the
 * program. Included once in a program.
 */
#ifndef TESTS_HUGE_SIZES_H
#define TESTS_HUGE_SIZES_H

#include <weir/export.h>

WEIR_API const char *__asan_default_options(void);
WEIR_API const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

#endif
