/*
 * What the kernel tables of the array and network families share: elements as the array kernels take them, one way to run
 * a bound kernel on strings and other objects, and the values of shape-giving inputs. The tables stand in files of their
 * own (*_kernels.c) beside the schemas, because the headers of kernels and of builders share names.
 */
#ifndef OP_ARRAY_SUPPORT_H
#define OP_ARRAY_SUPPORT_H

#include "exec/kernel.h"
#include "kernel/cpu/array.h"
#include "op/array_kernels.h"

/* ---- Types: lists for kernels' rows ---- */

extern const weir_dtype weir_types_objects[]; /* string, resource, variant: they take execute */
extern const weir_dtype weir_types_host[];    /* int32: lives in host memory, also on accelerators, as in TensorFlow */

/* A shape as text for a message; lives until the end of the block. */
#define WEIR_SHAPE_TEXT(shape) weir_shape_text((shape), (char[WEIR_SHAPE_TEXT_SIZE]){0}, WEIR_SHAPE_TEXT_SIZE)

/* ---- Elements and copies ---- */

/* How objects are copied, and the first failure of it. */
typedef struct weir_objects {
    weir_dtype dtype;
    weir_status status;
} weir_objects;

/* objects must live as long as the element; it is used for types whose elements own something only. */
weir_element weir_element_of(weir_dtype dtype, weir_objects *objects);

/* State of a kernel that is one strided copy from one argument to another. */
typedef struct weir_copy_state {
    weir_objects objects;
    weir_element element; /* for the function that prepares the plan */
    int input, output;    /* arguments */
    weir_copy_plan plan;
} weir_copy_state;

/* Makes such a state from an input to an output and sets run; the caller prepares state->plan. */
WEIR_WARN_UNUSED weir_status weir_copy_bind(weir_bind *bind, int input, int output, weir_copy_state **out);

/* Binds the node to the tensors of the call and runs it: one implementation for plain types and objects. */
WEIR_WARN_UNUSED weir_status weir_execute_bound(weir_call *call, weir_status (*bind)(weir_bind *bind));

/* Defines execute_<bind> from a bind function. */
#define WEIR_EXECUTE_OF(bind)                                                                                          \
    static weir_status execute_##bind(weir_call *call)                                                                 \
    {                                                                                                                  \
        return weir_execute_bound(call, bind);                                                                         \
    }

/* ---- Shapes of outputs ---- */

/* RESOURCE_EXHAUSTED naming shape and type unless the output's size can be had at all. */
WEIR_WARN_UNUSED weir_status weir_check_output(const weir_bind *bind, int output);

/* Adds an axis at the end; INVALID_ARGUMENT beyond WEIR_MAX_RANK. */
WEIR_WARN_UNUSED weir_status weir_shape_push(weir_shape *shape, int64_t dim);

/* Elements of the axes first .. last - 1. */
int64_t weir_shape_span(const weir_shape *shape, int first, int last);

/* ---- Values of inputs ---- */

/* The elements of an integer input that bind knows, at most limit of them; returns how many it has. */
int64_t weir_bind_ints(const weir_bind *bind, int input, int64_t *values, int limit);

/* A shape from an input: a vector (or a scalar, which counts as one) of non-negative numbers. */
WEIR_WARN_UNUSED weir_status weir_bind_shape(const weir_bind *bind, int input, weir_shape *out);

#endif
