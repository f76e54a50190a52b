/*
 * The JSON writer: commas, escapes, numbers.
 */
#include "format/format_test.h"

#include <math.h>

#include "format/json.h"

static void values_and_commas(void **state)
{
    weir_text text = {0};
    weir_json json = {.text = &text};
    weir_json_open(&json, '{');
    weir_json_key(&json, "events");
    weir_json_open(&json, '[');
    weir_json_open(&json, '{');
    weir_json_close(&json, '}');
    weir_json_integer(&json, INT64_MIN);
    weir_json_number(&json, 0.1);
    weir_json_number(&json, 1e300);
    weir_json_number(&json, NAN);
    weir_json_number(&json, -INFINITY);
    weir_json_bool(&json, true);
    weir_json_open(&json, '[');
    weir_json_bool(&json, false);
    weir_json_close(&json, ']');
    weir_json_close(&json, ']');
    weir_json_key(&json, "a\"b");
    weir_json_text(&json, "");
    weir_json_close(&json, '}');
    assert_string_equal(weir_text_get(&text), "{\"events\":[{},-9223372036854775808,0.1,1e+300,null,null,true,[false]],"
                                              "\"a\\\"b\":\"\"}");
    weir_text_clear(&text);
}

static void strings(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *json;
    } cases[] = {
        {"plain/name:0", 12, "\"plain/name:0\""},
        {"\"\\\n\t\x01\x7f", 6, "\"\\\"\\\\\\n\\u0009\\u0001\x7f\""},
        {"a\0b", 3, "\"a\\u0000b\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff\xc3", 2, "\"\\ufffd\\ufffd\""},
        {"\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""},            /* a surrogate */
        {"\xc0\x80\xf4\x90", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* overlong, past the last */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_text text = {0};
        weir_json json = {.text = &text};
        weir_json_string(&json, cases[i].bytes, cases[i].length);
        assert_string_equal(weir_text_get(&text), cases[i].json);
        weir_text_clear(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_commas),
        cmocka_unit_test(strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
