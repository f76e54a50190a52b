/*
 * Optimizers and gradient sets as their files see them.
 */
#ifndef TRAIN_OPTIMIZER_H
#define TRAIN_OPTIMIZER_H

#include "train/train_state.h"

typedef enum weir_optimizer_kind { WEIR_SGD, WEIR_MOMENTUM, WEIR_ADAM } weir_optimizer_kind;

typedef struct weir_slot {
    struct weir_slot *next;
    weir_output primary; /* reference */
    const char *name;    /* "m" */
    weir_output value;
} weir_slot;

struct weir_optimizer {
    weir_optimizer_kind kind;
    const char *name;
    weir_optimizer_options options; /* defaults filled in */
    weir_slot *slots;
    weir_output powers[2]; /* Adam: beta1_power, beta2_power; null until the first update is built */
};

struct weir_gradient_set {
    int count;
    weir_output *variables; /* values */
    weir_gradient_value *gradients;
    weir_node **updates; /* what the layers under the loss have to update besides */
    int num_updates;
    const char *loss; /* its name, for errors */
};

/* An empty set of count variables with room for updates; NULL without memory. */
weir_gradient_set *weir_gradient_set_new(weir_scope s, int count, int num_updates);

#endif
