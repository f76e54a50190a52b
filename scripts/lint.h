/*
 * Put before every source that clang-tidy looks at, and only there: its analyzer does not look into functions with
 * variable arguments, and would think that a call may fail with WEIR_OK.
 */
#include <weir/status.h>
#if __has_include("base/error.h")
#include "base/error.h"
#endif

static inline weir_status weir_lint_failure(weir_code code)
{
    if (code == WEIR_OK)
        __builtin_unreachable();
    return (weir_status){code, 1};
}

#define weir_fail(code, ...) ((void)(weir_fail)((code), __VA_ARGS__), weir_lint_failure(code))
#define weir_fail_in(status, ...)                                                                                      \
    __extension__({                                                                                                    \
        weir_status weir_lint_status = (status);                                                                       \
        (void)(weir_fail_in)(weir_lint_status, __VA_ARGS__);                                                           \
        weir_lint_status;                                                                                              \
    })
#define weir_fail_memory(size) ((void)(weir_fail_memory)(size), weir_lint_failure(WEIR_RESOURCE_EXHAUSTED))
