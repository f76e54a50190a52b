/*
 * The one table of all op families. A new family needs a declaration and a line here.
 */
#include "graph/op_def.h"

const weir_op_family *const weir_op_families[] = {
    NULL,
};
