/*
 * Finding an op in the families' tables.
 */
#include "graph/op_def.h"

#include <string.h>

const weir_op_def *weir_op_find(const char *name)
{
    for (const weir_op_family *const *family = weir_op_families; *family != NULL; family++) {
        for (const weir_op_def *op = (*family)->ops; op->name != NULL; op++) {
            if (strcmp(op->name, name) == 0)
                return op;
        }
    }
    return NULL;
}
