/*
 * The rendezvous of one process: a table of values that came early and of receivers that wait.
 */
#include "run/rendezvous.h"

#include <string.h>

#include "base/memory.h"

typedef struct item {
    weir_receive *receive; /* who waits; NULL: the value is here */
    weir_tensor *tensor;   /* a reference; NULL when dead */
    bool is_dead;
    bool is_done; /* sent and received: a second one is an error */
    char key[];
} item;

static item *find(weir_local_rendezvous *r, const char *key)
{
    return weir_map_get(&r->items, key, strlen(key));
}

static weir_status add(weir_local_rendezvous *r, const char *key, item **out)
{
    size_t length = strlen(key);
    item *made = weir_allocate(1, sizeof *made + length + 1);
    if (made == NULL)
        return weir_fail_memory(sizeof *made + length);
    memcpy(made->key, key, length + 1);
    weir_status status = weir_map_put(&r->items, made->key, length, made);
    if (weir_ok(status))
        *out = made;
    else
        weir_release(made);
    return status;
}

static weir_status send_locked(weir_local_rendezvous *r, const char *key, weir_tensor *tensor, bool is_dead,
                               weir_receive **receiver)
{
    item *at = find(r, key);
    *receiver = NULL;
    if (at != NULL && (at->receive == NULL || at->is_done))
        return weir_fail(WEIR_ABORTED, "Duplicated send: %s", key);
    if (at != NULL) {
        *receiver = at->receive;
        at->receive = NULL;
        at->is_done = true;
        return WEIR_STATUS_OK;
    }
    WEIR_TRY(add(r, key, &at));
    at->tensor = weir_tensor_ref(tensor);
    at->is_dead = is_dead;
    return WEIR_STATUS_OK;
}

static weir_status local_send(weir_rendezvous *base, const char *key, weir_tensor *tensor, bool is_dead)
{
    weir_local_rendezvous *r = (weir_local_rendezvous *)base;
    weir_receive *receiver = NULL;
    pthread_mutex_lock(&r->mutex);
    weir_status status = send_locked(r, key, tensor, is_dead, &receiver);
    pthread_mutex_unlock(&r->mutex);
    if (receiver != NULL)
        receiver->done(receiver, WEIR_STATUS_OK, tensor, is_dead);
    return status;
}

static weir_status receive_locked(weir_local_rendezvous *r, weir_receive *receive, weir_tensor **tensor, bool *is_dead,
                                  bool *is_here)
{
    item *at = find(r, receive->key);
    *is_here = false;
    if (at != NULL && (at->is_done || at->receive != NULL))
        return weir_fail(WEIR_ABORTED, "Duplicated recv: %s", receive->key);
    if (at == NULL) {
        WEIR_TRY(add(r, receive->key, &at));
        at->receive = receive;
        return WEIR_STATUS_OK;
    }
    *tensor = at->tensor;
    *is_dead = at->is_dead;
    *is_here = true;
    at->tensor = NULL;
    at->is_done = true;
    return WEIR_STATUS_OK;
}

static weir_status local_receive(weir_rendezvous *base, weir_receive *receive)
{
    weir_local_rendezvous *r = (weir_local_rendezvous *)base;
    weir_tensor *tensor = NULL;
    bool is_dead = false;
    bool is_here = false;
    pthread_mutex_lock(&r->mutex);
    weir_status status = receive_locked(r, receive, &tensor, &is_dead, &is_here);
    pthread_mutex_unlock(&r->mutex);
    if (is_here)
        receive->done(receive, WEIR_STATUS_OK, tensor, is_dead);
    weir_tensor_free(tensor);
    return status;
}

static void local_cancel(weir_rendezvous *base, weir_receive *receive)
{
    weir_local_rendezvous *r = (weir_local_rendezvous *)base;
    pthread_mutex_lock(&r->mutex);
    item *at = find(r, receive->key);
    bool is_waiting = at != NULL && at->receive == receive;
    if (is_waiting) {
        at->receive = NULL;
        at->is_done = true;
    }
    pthread_mutex_unlock(&r->mutex);
    if (is_waiting)
        receive->done(receive, weir_fail(WEIR_CANCELLED, "The wait for %s was cancelled", receive->key), NULL, false);
}

weir_status weir_local_rendezvous_init(weir_local_rendezvous *rendezvous)
{
    *rendezvous =
        (weir_local_rendezvous){.base = {.send = local_send, .receive = local_receive, .cancel = local_cancel}};
    pthread_mutex_init(&rendezvous->mutex, NULL);
    return WEIR_STATUS_OK;
}

static void free_item(void *context, const char *key, size_t length, void *value)
{
    (void)context;
    (void)key;
    (void)length;
    item *at = value;
    weir_tensor_free(at->tensor);
    weir_release(at);
}

void weir_local_rendezvous_clear(weir_local_rendezvous *rendezvous)
{
    if (rendezvous->base.send == NULL)
        return;
    weir_map_drain(&rendezvous->items, free_item, NULL);
    pthread_mutex_destroy(&rendezvous->mutex);
    rendezvous->base.send = NULL;
}
