/*
 * Command line flags: all forms, all faults, help; and that a fault changes nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <weir/flags.h>

static struct {
    const char *data_dir;
    const char *name;
    int64_t batch_size;
    int64_t steps;
    double learning_rate;
    double decay;
    bool verbose;
    bool nosy;
} flags;

static const weir_flag table[] = {
    WEIR_FLAG_HEADING("Trains a network."),
    WEIR_FLAG_STRING("data_dir", &flags.data_dir, "folder of the digits"),
    WEIR_FLAG_STRING("name", &flags.name, "name of the run"),
    WEIR_FLAG_INTEGER_IN("batch_size", &flags.batch_size, 1, 1000, "images per step"),
    WEIR_FLAG_INTEGER("steps", &flags.steps, "steps to train"),
    WEIR_FLAG_FLOAT("learning_rate", &flags.learning_rate, "step length"),
    WEIR_FLAG_FLOAT_IN("decay", &flags.decay, 0, 1, "decay of the averages"),
    WEIR_FLAG_HEADING("Output:"),
    WEIR_FLAG_BOOLEAN("verbose", &flags.verbose, "print every step"),
    WEIR_FLAG_BOOLEAN("nosy", &flags.nosy, "print even more"),
    WEIR_FLAGS_END,
};

enum { MOST_ARGUMENTS = 16 };

/* The command line of the latest parse, as the parser left it. */
static char *line[MOST_ARGUMENTS + 1];
static int line_count;

static weir_status parse_to(FILE *help_to, bool *help_asked, const char *const *arguments)
{
    memset(&flags, 0, sizeof flags);
    flags.data_dir = "MNIST_data";
    flags.batch_size = 100;
    flags.learning_rate = 0.01;
    flags.decay = 0.5;
    memset(line, 0, sizeof line);
    line[0] = (char *)"/usr/bin/train";
    line_count = 1;
    for (; arguments[line_count - 1] != NULL; line_count++)
        line[line_count] = (char *)arguments[line_count - 1];
    return weir_flags_parse(table, &line_count, line, help_to, help_asked);
}

#define parse(...) parse_to(NULL, &(bool){false}, (const char *const[]){__VA_ARGS__, NULL})

static void check_fault(weir_status status, const char *text)
{
    assert_string_equal(weir_status_text(status), text);
    assert_int_equal(status.code, WEIR_INVALID_ARGUMENT);
    assert_string_equal(flags.data_dir, "MNIST_data");
    assert_null(flags.name);
    assert_int_equal(flags.batch_size, 100);
    assert_int_equal(flags.steps, 0);
    assert_true(flags.learning_rate == 0.01 && flags.decay == 0.5);
    assert_false(flags.verbose || flags.nosy);
}

static void defaults_stay(void **state)
{
    bool help_asked = true;
    const char *nothing[] = {NULL};
    assert_true(weir_ok(parse_to(NULL, &help_asked, nothing)));
    assert_false(help_asked);
    assert_string_equal(flags.data_dir, "MNIST_data");
    assert_null(flags.name);
    assert_int_equal(line_count, 1);
}

static void values_by_equals_sign_or_next_argument(void **state)
{
    assert_true(weir_ok(parse("--data_dir=/tmp/a=b", "--batch_size", "32", "--learning_rate=1e-3", "--steps", "-7",
                              "--decay", ".25", "--name=")));
    assert_string_equal(flags.data_dir, "/tmp/a=b");
    assert_string_equal(flags.name, "");
    assert_int_equal(flags.batch_size, 32);
    assert_int_equal(flags.steps, -7);
    assert_true(flags.learning_rate == 1e-3);
    assert_true(flags.decay == 0.25);
    assert_int_equal(line_count, 1);
    assert_null(line[1]);
}

static void booleans(void **state)
{
    static const struct {
        const char *text;
        bool value;
    } cases[] = {
        {"--verbose", true},      {"--noverbose", false}, {"--verbose=true", true},
        {"--verbose=True", true}, {"--verbose=t", true},  {"--verbose=1", true},
        {"--verbose=0", false},   {"--verbose=f", false}, {"--verbose=FALSE", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(weir_ok(parse("--verbose=1", cases[i].text)));
        assert_int_equal(flags.verbose, cases[i].value);
    }
    assert_true(weir_ok(parse("--nosy", "--verbose", "--nonosy")));
    assert_true(flags.verbose && !flags.nosy);
    assert_true(weir_ok(parse("--nosy")));
    assert_true(flags.nosy);
    check_fault(parse("--verbose=yes"), "--verbose=yes: must be true, t, 1, false, f or 0");
    check_fault(parse("--verbose="), "--verbose=: must be true, t, 1, false, f or 0");
    check_fault(parse("--noverbose=1"), "--noverbose=1: --noverbose takes no value");
    check_fault(parse("--verbose", "false"), "--verbose false: write --verbose=false");
    check_fault(parse("--nosteps"), "--nosteps: unknown flag; did you mean --steps?");
}

static void last_one_wins(void **state)
{
    assert_true(weir_ok(parse("--steps=1", "--steps=2", "--verbose", "--noverbose", "--steps", "3")));
    assert_int_equal(flags.steps, 3);
    assert_false(flags.verbose);
}

static void positional_arguments_keep_their_order(void **state)
{
    assert_true(weir_ok(parse("one", "--steps=1", "-", "--verbose", "-3", "--", "--steps=2", "--help", "last")));
    assert_int_equal(flags.steps, 1);
    static const char *const kept[] = {"/usr/bin/train", "one", "-", "-3", "--steps=2", "--help", "last"};
    assert_int_equal(line_count, 7);
    for (int i = 0; i < 7; i++)
        assert_string_equal(line[i], kept[i]);
    assert_null(line[7]);
}

static void unknown_flags(void **state)
{
    check_fault(parse("--steps=3", "--learning_rte=3"), "--learning_rte: unknown flag; did you mean --learning_rate?");
    check_fault(parse("--batch-size", "3"), "--batch-size: unknown flag; did you mean --batch_size?");
    check_fault(parse("--halp"), "--halp: unknown flag; did you mean --help?");
    check_fault(parse("--flux_capacitor"), "--flux_capacitor: unknown flag; --help lists them all");
    check_fault(parse("-steps=3"), "-steps: unknown flag; did you mean --steps?");
    check_fault(parse("---steps=3"), "---steps: unknown flag; did you mean --steps?");
    check_fault(parse("--step=3"), "--step: unknown flag; did you mean --steps?");
}

static void numbers_are_read_whole(void **state)
{
    check_fault(parse("--steps=3", "--batch_size=1O"), "--batch_size=1O: not an integer");
    check_fault(parse("--batch_size="), "--batch_size=: not an integer");
    check_fault(parse("--batch_size", " 1"), "--batch_size= 1: not an integer");
    check_fault(parse("--batch_size=1.0"), "--batch_size=1.0: not an integer");
    check_fault(parse("--steps=9223372036854775808"), "--steps=9223372036854775808: does not fit into 64 bits");
    check_fault(parse("--learning_rate=0.1x"), "--learning_rate=0.1x: not a number");
    check_fault(parse("--learning_rate=0,1"), "--learning_rate=0,1: not a number");
    check_fault(parse("--learning_rate="), "--learning_rate=: not a number");
    check_fault(parse("--learning_rate=1e999"), "--learning_rate=1e999: too large for a double");
    assert_true(weir_ok(parse("--steps=-9223372036854775808", "--learning_rate=inf")));
    assert_true(flags.steps == INT64_MIN);
    assert_true(isinf(flags.learning_rate));
    assert_true(weir_ok(parse("--steps=010", "--learning_rate=1e-320")));
    assert_int_equal(flags.steps, 10);
    assert_true(flags.learning_rate > 0);
}

static void ranges(void **state)
{
    assert_true(weir_ok(parse("--batch_size=1", "--decay=0")));
    assert_true(weir_ok(parse("--batch_size=1000", "--decay=1")));
    check_fault(parse("--batch_size=0"), "--batch_size=0: must be from 1 to 1000");
    check_fault(parse("--batch_size=1001"), "--batch_size=1001: must be from 1 to 1000");
    check_fault(parse("--decay=1.5"), "--decay=1.5: must be from 0 to 1");
    check_fault(parse("--decay=-0.1"), "--decay=-0.1: must be from 0 to 1");
    check_fault(parse("--decay=nan"), "--decay=nan: must be from 0 to 1");
}

static void missing_values(void **state)
{
    check_fault(parse("--steps"), "--steps: needs a value");
    check_fault(parse("--data_dir", "--verbose"),
                "--data_dir: needs a value, but --verbose follows (write --data_dir=--verbose if that is meant)");
    assert_true(weir_ok(parse("--data_dir=--verbose")));
    assert_string_equal(flags.data_dir, "--verbose");
}

static void decimal_point_in_any_language(void **state)
{
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        skip();
    weir_status status = parse("--learning_rate=0.5");
    setlocale(LC_ALL, "C");
    assert_true(weir_ok(status));
    assert_true(flags.learning_rate == 0.5);
}

static void help_shows_defaults(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    bool help_asked = false;
    weir_status status = parse_to(stream, &help_asked, (const char *const[]){"--steps=7", "file", "--help", NULL});
    fclose(stream);
    assert_true(weir_ok(status));
    assert_true(help_asked);
    assert_int_equal(flags.steps, 0);
    assert_int_equal(line_count, 4);
    assert_string_equal(line[2], "file");
    assert_string_equal(text, "usage: train [flags] [arguments]\n"
                              "\n"
                              "Trains a network.\n"
                              "  --data_dir=TEXT               folder of the digits (default: \"MNIST_data\")\n"
                              "  --name=TEXT                   name of the run\n"
                              "  --batch_size=INTEGER          images per step, from 1 to 1000 (default: 100)\n"
                              "  --steps=INTEGER               steps to train (default: 0)\n"
                              "  --learning_rate=NUMBER        step length (default: 0.01)\n"
                              "  --decay=NUMBER                decay of the averages, from 0 to 1 (default: 0.5)\n"
                              "\n"
                              "Output:\n"
                              "  --[no]verbose                 print every step (default: false)\n"
                              "  --[no]nosy                    print even more (default: false)\n"
                              "  --help                        show this text\n");
    free(text);
}

static void unwritable_help_is_reported(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    if (full == NULL)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    bool help_asked = false;
    weir_status status = parse_to(full, &help_asked, (const char *const[]){"--help", NULL});
    fclose(full);
    assert_false(weir_ok(status));
}

static void faulty_tables_are_refused(void **state)
{
    int64_t number = 0;
    const weir_flag twice[] = {WEIR_FLAG_INTEGER("a", &number, ""), WEIR_FLAG_INTEGER("a", &number, ""),
                               WEIR_FLAGS_END};
    const weir_flag nowhere[] = {WEIR_FLAG_INTEGER("a", NULL, ""), WEIR_FLAGS_END};
    char *arguments[] = {(char *)"program", NULL, NULL};
    int count = 1;
    bool help_asked = false;
    assert_int_equal(weir_flags_parse(twice, &count, arguments, NULL, &help_asked).code, WEIR_INVALID_ARGUMENT);
    assert_int_equal(weir_flags_parse(nowhere, &count, arguments, NULL, &help_asked).code, WEIR_INVALID_ARGUMENT);
    arguments[1] = (char *)"not counted";
    assert_int_equal(weir_flags_parse(table, &count, arguments, NULL, &help_asked).code, WEIR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_stay),
        cmocka_unit_test(values_by_equals_sign_or_next_argument),
        cmocka_unit_test(booleans),
        cmocka_unit_test(last_one_wins),
        cmocka_unit_test(positional_arguments_keep_their_order),
        cmocka_unit_test(unknown_flags),
        cmocka_unit_test(numbers_are_read_whole),
        cmocka_unit_test(ranges),
        cmocka_unit_test(missing_values),
        cmocka_unit_test(decimal_point_in_any_language),
        cmocka_unit_test(help_shows_defaults),
        cmocka_unit_test(unwritable_help_is_reported),
        cmocka_unit_test(faulty_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
