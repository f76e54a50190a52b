/*
 * Where _Send and _Recv meet: the same for a device next door and for a machine far away. The executor knows this interface;
 * the cluster brings its own.
 */
#ifndef RUN_RENDEZVOUS_H
#define RUN_RENDEZVOUS_H

#include <pthread.h>

#include "base/map.h"
#include "tensor/tensor.h"

#define WEIR_RENDEZVOUS_KEY_SIZE 640

/* One value that somebody waits for. */
typedef struct weir_receive {
    /* Called exactly once, from any thread, with a borrowed tensor (NULL when dead or failed). */
    void (*done)(struct weir_receive *receive, weir_status status, weir_tensor *tensor, bool is_dead);
    void *context;
    struct weir_receive *next; /* the rendezvous's */
    const char *key;           /* lives until done */
} weir_receive;

typedef struct weir_rendezvous {
    /* Hands a value over (borrowed; NULL when dead). ABORTED "Duplicated send: <key>". */
    weir_status (*send)(struct weir_rendezvous *rendezvous, const char *key, weir_tensor *tensor, bool is_dead);
    /* Asks for a value; a failure means that done is never called. */
    weir_status (*receive)(struct weir_rendezvous *rendezvous, weir_receive *receive);
    /* Ends one wait with CANCELLED if it has not ended; done is then called before or soon after this returns. */
    void (*cancel)(struct weir_rendezvous *rendezvous, weir_receive *receive);
} weir_rendezvous;

/* A rendezvous in this process: values may come before or after they are asked for. */
typedef struct weir_local_rendezvous {
    weir_rendezvous base;
    pthread_mutex_t mutex;
    weir_map items; /* key -> what came or who waits */
} weir_local_rendezvous;

WEIR_WARN_UNUSED weir_status weir_local_rendezvous_init(weir_local_rendezvous *rendezvous);

/* Nobody may wait. */
void weir_local_rendezvous_clear(weir_local_rendezvous *rendezvous);

#endif
