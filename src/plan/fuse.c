/*
 * Pass "fuse": see the table at its end.
 */
#include "plan/passes.h"

weir_status weir_pass_fuse(weir_plan *plan)
{
    (void)plan;
    return WEIR_STATUS_OK;
}
