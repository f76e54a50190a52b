/*
 * State that belongs to nodes of a session, such as random generators, and what only the session sees.
 */
#include <stdalign.h>
#include <string.h>

#include "exec/resource.h"

/* State of the nodes of one name: in a session that gets several graphs a name may stand for several ops. */
struct node_state {
    struct node_state *next;
    const char *op; /* name: part of a constant table */
    size_t size;
    alignas(16) char data[];
};

weir_status weir_session_state_init(weir_session_state *state, weir_container *devices)
{
    *state = (weir_session_state){.devices = devices};
    WEIR_TRY(weir_container_init(&state->own));
    if (pthread_mutex_init(&state->mutex, NULL) != 0) {
        weir_container_destroy(&state->own);
        return weir_fail(WEIR_RESOURCE_EXHAUSTED, "The system has no mutex left for a session");
    }
    return WEIR_STATUS_OK;
}

void weir_session_state_clear(weir_session_state *state)
{
    weir_container_destroy(&state->own);
    weir_map_clear(&state->nodes);
    weir_arena_clear(&state->arena);
    pthread_mutex_destroy(&state->mutex);
}

static struct node_state *find_state(struct node_state *list, const weir_node *node, size_t size)
{
    for (; list != NULL; list = list->next) {
        if (list->size == size && (list->op == node->op->name || strcmp(list->op, node->op->name) == 0))
            return list;
    }
    return NULL;
}

/* The mutex is held. */
static weir_status get_state(weir_session_state *session, const weir_node *node, size_t size,
                             void (*init)(void *state, const weir_node *node), struct node_state **out)
{
    size_t length = strlen(node->name);
    struct node_state *first = weir_map_get(&session->nodes, node->name, length);
    *out = find_state(first, node, size);
    if (*out != NULL)
        return WEIR_STATUS_OK;
    struct node_state *made = weir_arena_take(&session->arena, 1, sizeof *made + size);
    if (made == NULL)
        return weir_fail_memory(sizeof *made + size);
    made->op = node->op->name;
    made->size = size;
    if (first != NULL) {
        made->next = first->next;
        first->next = made;
    } else {
        char *name = weir_arena_text(&session->arena, node->name, length);
        if (name == NULL)
            return weir_fail_memory(length + 1);
        WEIR_TRY(weir_map_put(&session->nodes, name, length, made));
    }
    if (init != NULL)
        init(made->data, node);
    *out = made;
    return WEIR_STATUS_OK;
}

weir_status weir_node_state(weir_session_state *session, const weir_node *node, size_t size,
                            void (*init)(void *state, const weir_node *node), void **out)
{
    if (session == NULL)
        return weir_fail(WEIR_FAILED_PRECONDITION, "Op %s keeps state between runs and needs a session",
                         node->op->name);
    struct node_state *state = NULL;
    pthread_mutex_lock(&session->mutex);
    weir_status status = get_state(session, node, size, init, &state);
    pthread_mutex_unlock(&session->mutex);
    if (weir_ok(status))
        *out = state->data;
    return status;
}
