/*
 * Statuses: codes, texts that belong to one thread and one failure, context, and errors that outlive both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <weir/version.h>

#include "base/error.h"

static void ok_is_zero(void **state)
{
    assert_true(weir_ok(WEIR_STATUS_OK));
    assert_true(weir_ok((weir_status){0}));
    assert_string_equal(weir_status_text(WEIR_STATUS_OK), "OK");
}

static void codes_have_the_numbers_of_grpc(void **state)
{
    static const char *const names[] = {
        "OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
        "NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
        "DATA_LOSS", "UNAUTHENTICATED",
    };
    for (int code = 0; code <= 16; code++)
        assert_string_equal(weir_code_name((weir_code)code), names[code]);
    assert_string_equal(weir_code_name((weir_code)17), "UNKNOWN");
    assert_string_equal(weir_code_name((weir_code)-1), "UNKNOWN");
}

static void text_names_what_was_wrong(void **state)
{
    weir_status status = weir_fail(WEIR_NOT_FOUND, "no %s in %d", "node", 7);
    assert_int_equal(status.code, WEIR_NOT_FOUND);
    assert_false(weir_ok(status));
    assert_string_equal(weir_status_text(status), "no node in 7");
}

static void older_failure_keeps_only_its_code(void **state)
{
    weir_status older = weir_fail(WEIR_NOT_FOUND, "first");
    char *kept = weir_status_keep(older);
    weir_status newer = weir_fail(WEIR_ABORTED, "second");
    assert_string_equal(weir_status_text(older), "NOT_FOUND");
    assert_string_equal(weir_status_text(newer), "second");
    assert_string_equal(kept, "first");
    free(kept);
}

static void context_goes_before_the_text(void **state)
{
    weir_status status = weir_fail(WEIR_DATA_LOSS, "bad sum");
    status = weir_fail_in(status, "while restoring %s", "w");
    assert_int_equal(status.code, WEIR_DATA_LOSS);
    assert_string_equal(weir_status_text(status), "while restoring w: bad sum");
    assert_true(weir_ok(weir_fail_in(WEIR_STATUS_OK, "nothing")));
}

/* A failure may be told with the text of the one before, or with its own as an argument. */
static void texts_may_be_made_of_texts(void **state)
{
    weir_status status = weir_fail(WEIR_UNKNOWN, "inner");
    status = weir_fail(WEIR_ABORTED, "outer (%s)", weir_status_text(status));
    assert_string_equal(weir_status_text(status), "outer (inner)");
    status = weir_fail_in(status, "%s", weir_status_text(status));
    assert_string_equal(weir_status_text(status), "outer (inner): outer (inner)");
}

static void huge_texts_are_cut(void **state)
{
    char *huge = malloc(20001);
    assert_non_null(huge);
    memset(huge, 'x', 20000);
    huge[20000] = '\0';
    weir_status status = weir_fail(WEIR_INTERNAL, "%s", huge);
    size_t length = strlen(weir_status_text(status));
    assert_true(length > 1000 && length < 20000);
    status = weir_fail_in(status, "start");
    assert_int_equal(strlen(weir_status_text(status)), length);
    assert_int_equal(strncmp(weir_status_text(status), "start: xxx", 10), 0);
    status = weir_fail_in(status, "%s", huge);
    assert_int_equal(strlen(weir_status_text(status)), length);
    free(huge);
}

static void exit_statuses(void **state)
{
    assert_int_equal(weir_exit_status(WEIR_STATUS_OK), 0);
    assert_int_equal(weir_exit_status(weir_fail(WEIR_INVALID_ARGUMENT, "x")), 2);
    assert_int_equal(weir_exit_status(weir_fail(WEIR_INTERNAL, "x")), 1);
}

static weir_status forward(weir_status status, bool *went_on)
{
    WEIR_TRY(status);
    *went_on = true;
    return WEIR_STATUS_OK;
}

static void try_forwards_failures(void **state)
{
    bool went_on = false;
    assert_int_equal(forward(weir_fail(WEIR_ABORTED, "x"), &went_on).code, WEIR_ABORTED);
    assert_false(went_on);
    assert_true(weir_ok(forward(WEIR_STATUS_OK, &went_on)));
    assert_true(went_on);
}

static void *fail_elsewhere(void *context)
{
    weir_status *status = context;
    *status = weir_fail(WEIR_UNAVAILABLE, "elsewhere");
    return NULL;
}

static void texts_belong_to_their_thread(void **state)
{
    weir_status mine = weir_fail(WEIR_ABORTED, "mine");
    weir_status other = WEIR_STATUS_OK;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &other), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(other.code, WEIR_UNAVAILABLE);
    assert_string_equal(weir_status_text(mine), "mine");
}

static void first_error_is_kept(void **state)
{
    weir_error error = {0};
    assert_true(weir_ok(weir_error_status(&error)));
    weir_error_set(&error, WEIR_STATUS_OK);
    assert_true(weir_ok(weir_error_status(&error)));
    weir_error_set(&error, weir_fail(WEIR_DATA_LOSS, "one"));
    weir_error_set(&error, weir_fail(WEIR_ABORTED, "two"));
    weir_status status = weir_error_status(&error);
    assert_int_equal(status.code, WEIR_DATA_LOSS);
    assert_string_equal(weir_status_text(status), "one");
    weir_error_clear(&error);
    assert_true(weir_ok(weir_error_status(&error)));
    weir_error wordless = {.code = WEIR_ABORTED};
    assert_string_equal(weir_status_text(weir_error_status(&wordless)), "ABORTED");
}

static void memory_failure_names_the_size(void **state)
{
    weir_status status = weir_fail_memory(12345);
    assert_int_equal(status.code, WEIR_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(weir_status_text(status), "12345"));
}

static void version_is_that_of_the_headers(void **state)
{
    assert_string_equal(weir_version(), WEIR_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ok_is_zero),
        cmocka_unit_test(codes_have_the_numbers_of_grpc),
        cmocka_unit_test(text_names_what_was_wrong),
        cmocka_unit_test(older_failure_keeps_only_its_code),
        cmocka_unit_test(context_goes_before_the_text),
        cmocka_unit_test(texts_may_be_made_of_texts),
        cmocka_unit_test(huge_texts_are_cut),
        cmocka_unit_test(exit_statuses),
        cmocka_unit_test(try_forwards_failures),
        cmocka_unit_test(texts_belong_to_their_thread),
        cmocka_unit_test(first_error_is_kept),
        cmocka_unit_test(memory_failure_names_the_size),
        cmocka_unit_test(version_is_that_of_the_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
