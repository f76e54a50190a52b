/*
 * weir version.
 */
#include <stdio.h>

#include <weir/flags.h>
#include <weir/version.h>

#include "command.h"

weir_status command_version(int argc, char **argv)
{
    static const weir_flag table[] = {WEIR_FLAG_HEADING("Prints the version of the weir command and of its library."),
                                      WEIR_FLAGS_END};
    bool help_asked = false;
    WEIR_TRY(weir_flags_parse(table, &argc, argv, stdout, &help_asked));
    if (help_asked)
        return WEIR_STATUS_OK;
    if (argc > 1)
        return weir_fail(WEIR_INVALID_ARGUMENT, "'%s' is one word too many", argv[1]);
    printf("weir %s (library %s)\n", WEIR_VERSION, weir_version());
    return WEIR_STATUS_OK;
}
