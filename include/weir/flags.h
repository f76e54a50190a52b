/*
 * Command line flags of a program, described by one table:
 *
 *     static struct { const char *data_dir; int64_t batch_size; double learning_rate; bool verbose; } flags = {
 *         .data_dir = "MNIST_data", .batch_size = 100, .learning_rate = 0.01,
 *     };
 *     static const weir_flag table[] = {
 *         WEIR_FLAG_STRING("data_dir", &flags.data_dir, "folder of the digits"),
 *         WEIR_FLAG_INTEGER_IN("batch_size", &flags.batch_size, 1, 60000, "images per step"),
 *         WEIR_FLAG_FLOAT("learning_rate", &flags.learning_rate, "step length of gradient descent"),
 *         WEIR_FLAG_BOOLEAN("verbose", &flags.verbose, "print every step"),
 *         WEIR_FLAGS_END,
 *     };
 *
 *     bool help_asked = false;
 *     WEIR_TRY(weir_flags_parse(table, &argc, argv, stdout, &help_asked));
 *     if (help_asked)
 *         return WEIR_STATUS_OK;
 *
 * The values in the variables before parsing are the defaults. Forms: --name=value, --name value; for booleans --name,
 * --noname, --name=true|t|1|false|f|0. The last of repeated flags wins; "--" ends the flags; arguments that begin with
 * one dash are positional only when they are "-" or negative numbers.
 */
#ifndef WEIR_FLAGS_H
#define WEIR_FLAGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weir_flag_kind {
    WEIR_FLAG_KIND_END = 0,
    WEIR_FLAG_KIND_HEADING,
    WEIR_FLAG_KIND_STRING,
    WEIR_FLAG_KIND_INTEGER,
    WEIR_FLAG_KIND_FLOAT,
    WEIR_FLAG_KIND_BOOLEAN,
} weir_flag_kind;

/* One line of the table. Borrows everything it points to. */
typedef struct weir_flag {
    const char *name; /* without dashes */
    const char *help; /* one line; of a heading: its text */
    union {
        const char **string; /* set to a part of argv; NULL is a default like any other */
        int64_t *integer;
        double *number;
        bool *boolean;
    } value;
    int64_t least_integer; /* with has_range; both ends included */
    int64_t most_integer;
    double least_number;
    double most_number;
    weir_flag_kind kind;
    bool has_range;
} weir_flag;

#ifndef __cplusplus
/* The address must be of the very type: const char **, int64_t *, double *, bool *. */
#define WEIR_FLAG_STRING(flag_name, address, flag_help)                                                                \
    {.kind = WEIR_FLAG_KIND_STRING, .name = (flag_name), .help = (flag_help), .value.string = (address)}
#define WEIR_FLAG_INTEGER(flag_name, address, flag_help)                                                               \
    {.kind = WEIR_FLAG_KIND_INTEGER, .name = (flag_name), .help = (flag_help), .value.integer = (address)}
#define WEIR_FLAG_FLOAT(flag_name, address, flag_help)                                                                 \
    {.kind = WEIR_FLAG_KIND_FLOAT, .name = (flag_name), .help = (flag_help), .value.number = (address)}
#define WEIR_FLAG_BOOLEAN(flag_name, address, flag_help)                                                               \
    {.kind = WEIR_FLAG_KIND_BOOLEAN, .name = (flag_name), .help = (flag_help), .value.boolean = (address)}

/* The same for a number from least to most. */
#define WEIR_FLAG_INTEGER_IN(flag_name, address, least, most, flag_help)                                               \
    {.kind = WEIR_FLAG_KIND_INTEGER,                                                                                   \
     .name = (flag_name),                                                                                              \
     .help = (flag_help),                                                                                              \
     .value.integer = (address),                                                                                       \
     .has_range = true,                                                                                                \
     .least_integer = (least),                                                                                         \
     .most_integer = (most)}
#define WEIR_FLAG_FLOAT_IN(flag_name, address, least, most, flag_help)                                                 \
    {.kind = WEIR_FLAG_KIND_FLOAT,                                                                                     \
     .name = (flag_name),                                                                                              \
     .help = (flag_help),                                                                                              \
     .value.number = (address),                                                                                        \
     .has_range = true,                                                                                                \
     .least_number = (least),                                                                                          \
     .most_number = (most)}

/* A line of its own in the help, before the flags that follow: what the program does, or a title of a group. */
#define WEIR_FLAG_HEADING(text) {.kind = WEIR_FLAG_KIND_HEADING, .help = (text)}

/* The table's last line. */
#define WEIR_FLAGS_END {.kind = WEIR_FLAG_KIND_END}
#endif

/* Sets the variables of the table from the command line. Afterwards argv holds the program's name and the positional
 * arguments in their order, then NULL, and *argc counts them. String values are parts of argv.
 *
 * --help writes the flags with their defaults to help_to (stdout, say; NULL: nowhere), sets *help_asked, and leaves all
 * else as it was.
 *
 * INVALID_ARGUMENT names the flag: unknown (with the nearest name), without its value, not a number, out of its range;
 * nothing is changed then. Externally locked. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_flags_parse(const weir_flag *table, int *argc, char **argv, FILE *help_to,
                                                       bool *help_asked);

/* Writes what --help shows. program: argv[0], of which the last part is shown. */
WEIR_API WEIR_WARN_UNUSED weir_status weir_flags_help(const weir_flag *table, const char *program, FILE *stream);

#ifdef __cplusplus
}
#endif

#endif
