/*
 * The one table of all op families. A new family needs a line here: X(name) stands for weir_family_name.
 */
#include "graph/op_def.h"

#define FAMILIES(X)                                                                                                    \
    X(accumulator)                                                                                                     \
    X(array_gather)                                                                                                    \
    X(array_join)                                                                                                      \
    X(array_make)                                                                                                      \
    X(array_move)                                                                                                      \
    X(array_shape)                                                                                                     \
    X(array_slice)                                                                                                     \
    X(batch_norm)                                                                                                      \
    X(broadcast)                                                                                                       \
    X(cast)                                                                                                            \
    X(control_flow)                                                                                                    \
    X(convolution)                                                                                                     \
    X(fill)                                                                                                            \
    X(math_binary)                                                                                                     \
    X(math_unary)                                                                                                      \
    X(matmul)                                                                                                          \
    X(misc)                                                                                                            \
    X(optimizer)                                                                                                       \
    X(pooling)                                                                                                         \
    X(queue)                                                                                                           \
    X(random)                                                                                                          \
    X(reduce)                                                                                                          \
    X(resource_variable)                                                                                               \
    X(save)                                                                                                            \
    X(select)                                                                                                          \
    X(send_receive)                                                                                                    \
    X(softmax)                                                                                                         \
    X(state)

#define DECLARE(name) extern const weir_op_family weir_family_##name;
FAMILIES(DECLARE)

#define ENTRY(name) &weir_family_##name,
const weir_op_family *const weir_op_families[] = {FAMILIES(ENTRY) NULL};
