/*
 * weir: finds the subcommand and runs it. Status 0, 1 for a failure, 2 for wrong usage.
 */
#include <stdio.h>
#include <string.h>

#include <weir/version.h>

#include "command.h"

static const command commands[] = {
    {"version", "the version of the command and of the library", command_version},
    {"devices", "devices, their memory, and why a driver has none", command_devices},
    {"doctor", "libraries, processor tiers and limits of this machine", command_doctor},
    {"data", "get a data set: weir data mnist", command_data},
    {NULL, NULL, NULL},
};

static void print_help(FILE *stream)
{
    fprintf(stream, "weir: training of neural networks across CPUs, GPUs and machines\n\n"
                    "usage: weir COMMAND [FLAGS]\n\n");
    for (const command *at = commands; at->name != NULL; at++)
        fprintf(stream, "  %-10s %s\n", at->name, at->help);
    fprintf(stream, "\n\"weir COMMAND --help\" tells more.\n");
}

/* How many single letters have to change to make b of a; both are short. */
static int distance(const char *a, const char *b)
{
    int row[32];
    int length = (int)strnlen(b, 31);
    for (int j = 0; j <= length; j++)
        row[j] = j;
    for (int i = 1; a[i - 1] != '\0' && i < 32; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= length; j++) {
            int above = row[j];
            int best = diagonal + (a[i - 1] != b[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[length];
}

static int unknown_command(const char *word)
{
    const char *nearest = "";
    int least = 4; /* letters that may differ */
    for (const command *at = commands; at->name != NULL; at++) {
        int letters = distance(word, at->name);
        if (letters < least) {
            least = letters;
            nearest = at->name;
        }
    }
    fprintf(stderr, "weir: there is no command '%s'", word);
    if (nearest[0] != '\0')
        fprintf(stderr, "; did you mean '%s'?", nearest);
    fprintf(stderr, "\n");
    return 2;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0)
        return weir_exit_status(command_version(1, argv + 1));
    for (const command *at = commands; at->name != NULL; at++) {
        if (strcmp(argv[1], at->name) != 0)
            continue;
        char shown[64]; /* as help names the program */
        snprintf(shown, sizeof shown, "weir %s", at->name);
        argv[1] = shown;
        weir_status status = at->run(argc - 1, argv + 1);
        if (!weir_ok(status))
            fprintf(stderr, "weir %s: %s\n", at->name, weir_status_text(status));
        return weir_exit_status(status);
    }
    return unknown_command(argv[1]);
}
