/*
 * What the tests of the training library share: recorded runs of TensorFlow, values of variables, and the log.
 *
 * The functions stand in this header because each test is a program of one file.
 */
#ifndef TESTS_TRAIN_TRAIN_TEST_H
#define TESTS_TRAIN_TRAIN_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weir/weir.h>

#define DATA_DIR WEIR_TEST_SOURCE_DIR "/tests/train/data/"

#define UNUSED_FUNCTION __attribute__((unused)) static

/* ---- Statuses ---- */

#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        weir_status assert_ok_status = (call);                                                                         \
        if (!weir_ok(assert_ok_status))                                                                                \
            fail_msg("%s: %s", #call, weir_status_text(assert_ok_status));                                             \
    } while (0)

/* The graph has an error of this code whose text holds part; it is taken. */
UNUSED_FUNCTION void assert_graph_fails(weir_graph *graph, weir_code code, const char *part)
{
    weir_status status = weir_graph_take_error(graph);
    if (status.code != code || strstr(weir_status_text(status), part) == NULL)
        fail_msg("%s '%s' instead of %s '%s'", weir_code_name(status.code), weir_status_text(status),
                 weir_code_name(code), part);
}

UNUSED_FUNCTION void assert_fails(weir_status status, weir_code code, const char *part)
{
    if (status.code != code || strstr(weir_status_text(status), part) == NULL)
        fail_msg("%s '%s' instead of %s '%s'", weir_code_name(status.code), weir_status_text(status),
                 weir_code_name(code), part);
}

/* ---- Numbers ---- */

UNUSED_FUNCTION bool is_near(double value, double expected, double rtol, double atol)
{
    if (isnan(expected) || isnan(value))
        return isnan(expected) && isnan(value);
    if (isinf(expected) || isinf(value))
        return value == expected;
    return fabs(value - expected) <= atol + rtol * fabs(expected);
}

UNUSED_FUNCTION void assert_near(const char *what, const float *values, const double *expected, int64_t count,
                                 double rtol, double atol)
{
    for (int64_t i = 0; i < count; i++) {
        if (!is_near(values[i], expected[i], rtol, atol))
            fail_msg("%s[%lld] is %.9g, not %.9g", what, (long long)i, (double)values[i], expected[i]);
    }
}

/* ---- Recorded cases: data/recorded.txt ---- */

typedef struct recorded_field {
    char *key;
    int64_t count;
    double *values;
} recorded_field;

typedef struct recorded {
    char *family;
    int number;
    char *title;
    recorded_field *fields;
    int num_fields;
} recorded;

typedef struct recorded_file {
    recorded *cases;
    int count;
} recorded_file;

static inline void *grow_items(void *items, int count, size_t size)
{
    void *grown = realloc(items, ((size_t)count + 1) * size);
    assert_non_null(grown);
    return grown;
}

static inline recorded_field read_field(char *line)
{
    recorded_field field = {.key = strdup(strtok(line, " "))};
    field.count = atoll(strtok(NULL, " \n"));
    field.values = calloc((size_t)field.count + 1, sizeof(double));
    for (int64_t i = 0; i < field.count; i++) {
        char *word = strtok(NULL, " \n");
        if (word == NULL) {
            fail_msg("recorded.txt: %s has %lld values, not %lld", field.key, (long long)i, (long long)field.count);
            break;
        }
        field.values[i] = strtod(word, NULL);
    }
    return field;
}

/* Read once, kept until the end. */
UNUSED_FUNCTION const recorded_file *read_recorded(void)
{
    static recorded_file file;
    FILE *stream = file.count == 0 ? fopen(DATA_DIR "recorded.txt", "r") : NULL;
    char *line = NULL;
    size_t size = 0;
    if (file.count > 0)
        return &file;
    assert_non_null(stream);
    while (getline(&line, &size, stream) > 0) {
        if (line[0] == '#')
            continue;
        char family[128];
        int number, at;
        if (sscanf(line, "case %127s %d %n", family, &number, &at) == 2) {
            file.cases = grow_items(file.cases, file.count, sizeof(recorded));
            line[strcspn(line, "\n")] = '\0';
            file.cases[file.count++] =
                (recorded){.family = strdup(family), .number = number, .title = strdup(line + at)};
            continue;
        }
        recorded *last = &file.cases[file.count - 1];
        last->fields = grow_items(last->fields, last->num_fields, sizeof(recorded_field));
        last->fields[last->num_fields++] = read_field(line);
    }
    free(line);
    fclose(stream);
    return &file;
}

UNUSED_FUNCTION const recorded_field *find_field(const recorded *run, const char *format, ...)
{
    char key[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(key, sizeof key, format, arguments);
    va_end(arguments);
    for (int i = 0; i < run->num_fields; i++) {
        if (strcmp(run->fields[i].key, key) == 0)
            return &run->fields[i];
    }
    return NULL;
}

UNUSED_FUNCTION double number_of(const recorded *run, const char *key)
{
    const recorded_field *field = find_field(run, "%s", key);
    if (field == NULL) {
        fail_msg("%s %d has no %s", run->family, run->number, key);
        return 0;
    }
    return field->values[0];
}

/* A tensor of a field, with the shape beside it. */
UNUSED_FUNCTION weir_tensor *tensor_of(const recorded *run, const char *format, ...)
{
    char key[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(key, sizeof key, format, arguments);
    va_end(arguments);
    const recorded_field *field = find_field(run, "%s", key);
    const recorded_field *dims = find_field(run, "%s.shape", key);
    if (field == NULL || dims == NULL)
        fail_msg("%s %d has no %s", run->family, run->number, key);
    weir_shape shape = {(int)dims->count, {0}};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = (int64_t)dims->values[i];
    weir_tensor *tensor = NULL;
    assert_ok(weir_tensor_new(WEIR_FLOAT, shape, &tensor));
    for (int64_t i = 0; i < field->count; i++)
        weir_tensor_floats(tensor)[i] = (float)field->values[i];
    return tensor;
}

/* ---- Sessions ---- */

UNUSED_FUNCTION weir_session *new_session(weir_graph *graph)
{
    weir_session *session = NULL;
    assert_ok(weir_session_new(graph, NULL, &session));
    return session;
}

/* A session in which all variables have their initial values. */
UNUSED_FUNCTION weir_session *start(weir_graph *graph)
{
    weir_node *init = weir_initialize_variables(weir_root(graph));
    weir_session *session = new_session(graph);
    assert_ok(weir_run(session, .targets = {init}));
    return session;
}

UNUSED_FUNCTION weir_tensor *fetch(weir_session *session, weir_output output)
{
    weir_tensor *value = NULL;
    assert_non_null(output.node);
    assert_ok(weir_run(session, .fetches = {output}, .results = {&value}));
    return value;
}

/* The output of a node by name. */
UNUSED_FUNCTION weir_output named(weir_graph *graph, const char *name)
{
    weir_output output = WEIR_NO_OUTPUT;
    assert_ok(weir_graph_find_output(graph, name, &output));
    return output;
}

/* A tensor of floats given one by one. */
UNUSED_FUNCTION weir_tensor *floats(weir_shape shape, const float *values)
{
    weir_tensor *tensor = NULL;
    assert_ok(weir_tensor_from(WEIR_FLOAT, shape, values, &tensor));
    return tensor;
}

/* Compares a variable with a recorded field: elements, or the two sums of a large one. */
UNUSED_FUNCTION void assert_recorded(const recorded *run, const char *key, const weir_tensor *value, double rtol,
                                     double atol)
{
    const recorded_field *field = find_field(run, "%s", key);
    int64_t count = weir_tensor_elements(value);
    double as_double[2] = {0, 0};
    if (field != NULL) {
        assert_int_equal(field->count, count);
        for (int64_t i = 0; i < count; i++) {
            double element =
                weir_tensor_dtype(value) == WEIR_FLOAT   ? (double)((const float *)weir_tensor_data_const(value))[i]
                : weir_tensor_dtype(value) == WEIR_INT64 ? (double)((const int64_t *)weir_tensor_data_const(value))[i]
                                                         : (double)((const int32_t *)weir_tensor_data_const(value))[i];
            if (!is_near(element, field->values[i], rtol, atol))
                fail_msg("%s %d: %s[%lld] is %.9g, not %.9g", run->family, run->number, key, (long long)i, element,
                         field->values[i]);
        }
        return;
    }
    field = find_field(run, "%s.sum", key);
    if (field == NULL) {
        fail_msg("%s %d has no %s", run->family, run->number, key);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        as_double[0] += (double)((const float *)weir_tensor_data_const(value))[i];
        as_double[1] += fabs((double)((const float *)weir_tensor_data_const(value))[i]);
    }
    for (int i = 0; i < 2; i++) {
        if (!is_near(as_double[i], field->values[i], 1e-5, atol * (double)count))
            fail_msg("%s %d: sum %d of %s is %.9g, not %.9g", run->family, run->number, i, key, as_double[i],
                     field->values[i]);
    }
}

/* ---- The log ---- */

static char log_text[16384];

static inline void keep_line(void *context, weir_log_level level, const char *file, int line, const char *text)
{
    (void)context;
    (void)level;
    (void)file;
    (void)line;
    size_t at = strlen(log_text);
    snprintf(log_text + at, sizeof log_text - at, "%s\n", text);
}

/* From now on log lines go to log_text, which is emptied. */
UNUSED_FUNCTION void catch_log(void)
{
    log_text[0] = '\0';
    weir_log_to(keep_line, NULL);
}

/* ---- Digits ---- */

/* The digits, or NULL with a word that the test is skipped. */
UNUSED_FUNCTION weir_mnist *open_digits(void)
{
    weir_mnist *mnist = NULL;
    const char *folder = getenv("WEIR_DATA_DIR");
    weir_status status =
        weir_mnist_open(folder != NULL ? folder : WEIR_TEST_SOURCE_DIR "/../shared/data/mnist", &mnist);
    if (weir_ok(status))
        return mnist;
    print_message("skipped, no digits: %s\n", weir_status_text(status));
    return NULL;
}

#endif
