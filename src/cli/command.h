/*
 * The `weir` command: one table of its subcommands, each in a file of its own.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <weir/status.h>

typedef struct command {
    const char *name;
    const char *help; /* one line */
    /* argv[0] is the subcommand's name. INVALID_ARGUMENT is wrong usage: exit status 2. */
    weir_status (*run)(int argc, char **argv);
} command;

weir_status command_version(int argc, char **argv);
weir_status command_devices(int argc, char **argv);
weir_status command_doctor(int argc, char **argv);
weir_status command_data(int argc, char **argv);

#endif
