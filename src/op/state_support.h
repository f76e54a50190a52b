/*
 * What ops on variables share: types, locks, checks.
 */
#ifndef OP_STATE_SUPPORT_H
#define OP_STATE_SUPPORT_H

#include "exec/resource.h"

/* Lists of element types in TensorFlow's order. */
#define WEIR_NUMBER_TYPES                                                                                              \
    WEIR_TYPES(WEIR_FLOAT, WEIR_DOUBLE, WEIR_INT32, WEIR_UINT8, WEIR_INT16, WEIR_INT8, WEIR_COMPLEX64, WEIR_INT64,     \
               WEIR_QINT8, WEIR_QUINT8, WEIR_QINT32, WEIR_BFLOAT16, WEIR_QINT16, WEIR_QUINT16, WEIR_UINT16,            \
               WEIR_COMPLEX128, WEIR_HALF, WEIR_UINT32, WEIR_UINT64)
#define WEIR_OBJECT_TYPES WEIR_TYPES(WEIR_STRING, WEIR_RESOURCE, WEIR_VARIANT)
/* What AssignAdd and its like are for on the CPU, and where host memory is out of reach. */
#define WEIR_ADDED_TYPES                                                                                               \
    WEIR_TYPES(WEIR_FLOAT, WEIR_DOUBLE, WEIR_INT32, WEIR_UINT8, WEIR_INT16, WEIR_INT8, WEIR_COMPLEX64, WEIR_INT64,     \
               WEIR_BFLOAT16, WEIR_UINT16, WEIR_COMPLEX128, WEIR_HALF, WEIR_UINT32, WEIR_UINT64)
#define WEIR_DEVICE_TYPES WEIR_TYPES(WEIR_FLOAT, WEIR_DOUBLE, WEIR_HALF, WEIR_BFLOAT16, WEIR_INT64)
#define WEIR_OPTIMIZED_TYPES WEIR_TYPES(WEIR_FLOAT, WEIR_DOUBLE, WEIR_HALF, WEIR_BFLOAT16)

/* "[2,3]" that lives until the end of the enclosing block. */
#define WEIR_SHOWN(shape) weir_shape_text((shape), (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE)

/* The variable of an input: a reference's, or the one a handle holds. Borrowed. */
WEIR_WARN_UNUSED weir_status weir_call_variable(const weir_call *call, int index, weir_variable **out);

/* Locks several variables in an order that all runs keep; one that occurs twice is locked once. count <= 4. */
void weir_lock_variables(weir_variable *const *variables, int count);
void weir_unlock_variables(weir_variable *const *variables, int count);

/* The node that a handle comes from while a graph is built, behind what only passes it on (a VarHandleOp, a queue, an
 * argument ...); NULL when an input is still open. */
const weir_node *weir_infer_handle_node(const weir_infer *infer, int index);

/* The shape of an input that is a variable, by reference or handle, as far as known. A handle's variable must have the
 * type: "Trying to read variable with wrong dtype. Expected float got int32". */
WEIR_WARN_UNUSED weir_status weir_infer_variable(const weir_infer *infer, int index, weir_dtype dtype, weir_shape *out);

/* A value for a variable that need not keep its shape: what bind knows of it. */
typedef struct weir_assignment {
    weir_dtype dtype;
    weir_shape shape;
    bool validate_shape;
} weir_assignment;

/* VAR += VALUE, VAR -= VALUE as bind functions (input 0: a reference or handle, input 1: the value). */
weir_status weir_bind_assign_add(weir_bind *bind);
weir_status weir_bind_assign_sub(weir_bind *bind);

#endif
