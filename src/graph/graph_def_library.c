/*
 * Libraries of functions, put together by name.
 */
#include "graph/graph_def_library.h"

#include <string.h>

#include "format/message.h"

static const Weir__FunctionDef *find_function(const Weir__FunctionDefLibrary *library, const char *name)
{
    for (size_t i = 0; library != NULL && i < library->n_function; i++) {
        const Weir__FunctionDef *function = library->function[i];
        if (function->signature != NULL && strcmp(function->signature->name, name) == 0)
            return function;
    }
    return NULL;
}

bool weir_library_has(const Weir__FunctionDefLibrary *library, const char *name)
{
    return find_function(library, name) != NULL;
}

static weir_status is_same(const Weir__FunctionDef *a, const Weir__FunctionDef *b, weir_arena *arena, bool *out)
{
    ProtobufCBinaryData first = {0};
    ProtobufCBinaryData second = {0};
    WEIR_TRY(weir_message_pack_in(&a->base, arena, &first));
    WEIR_TRY(weir_message_pack_in(&b->base, arena, &second));
    *out = first.len == second.len && (first.len == 0 || memcmp(first.data, second.data, first.len) == 0);
    return WEIR_STATUS_OK;
}

static weir_status add_functions(Weir__FunctionDefLibrary *all, const Weir__FunctionDefLibrary *added,
                                 weir_arena *arena)
{
    for (size_t i = 0; i < added->n_function; i++) {
        Weir__FunctionDef *function = added->function[i];
        const char *name = function->signature != NULL ? function->signature->name : "";
        const Weir__FunctionDef *known = find_function(all, name);
        bool same = false;
        if (known != NULL)
            WEIR_TRY(is_same(known, function, arena, &same));
        if (known != NULL && !same) {
            return weir_fail(WEIR_INVALID_ARGUMENT,
                             "Cannot add function '%s' because a different function with the same name already exists.",
                             name);
        }
        if (known == NULL && !weir_message_add(arena, all->function, all->n_function, function))
            return weir_fail_memory(sizeof function);
    }
    return WEIR_STATUS_OK;
}

/* Gradients of functions, and of ops; those that are known already stay. */
static weir_status add_gradients(Weir__FunctionDefLibrary *all, const Weir__FunctionDefLibrary *added,
                                 weir_arena *arena)
{
    for (size_t i = 0; i < added->n_gradient; i++) {
        bool is_known = false;
        for (size_t j = 0; j < all->n_gradient; j++)
            is_known = is_known || strcmp(all->gradient[j]->function_name, added->gradient[i]->function_name) == 0;
        if (!is_known && !weir_message_add(arena, all->gradient, all->n_gradient, added->gradient[i]))
            return weir_fail_memory(sizeof added->gradient[i]);
    }
    for (size_t i = 0; i < added->n_registered_gradients; i++) {
        bool is_known = false;
        for (size_t j = 0; j < all->n_registered_gradients; j++)
            is_known = is_known || strcmp(all->registered_gradients[j]->registered_op_type,
                                          added->registered_gradients[i]->registered_op_type) == 0;
        if (!is_known && !weir_message_add(arena, all->registered_gradients, all->n_registered_gradients,
                                           added->registered_gradients[i]))
            return weir_fail_memory(sizeof added->registered_gradients[i]);
    }
    return WEIR_STATUS_OK;
}

weir_status weir_library_merge(weir_graph *graph, const Weir__FunctionDefLibrary *added, weir_arena *arena,
                               weir_bytes *out)
{
    *out = graph->library;
    if (added == NULL || added->n_function + added->n_gradient + added->n_registered_gradients == 0)
        return WEIR_STATUS_OK;
    Weir__FunctionDefLibrary *all = weir_message_new(arena, &weir__function_def_library__descriptor);
    if (all == NULL)
        return weir_fail_memory(sizeof *all);
    if (graph->library.size > 0) {
        ProtobufCMessage *known = NULL;
        WEIR_TRY(weir_message_unpack(&weir__function_def_library__descriptor, graph->library.data, graph->library.size,
                                     arena, &known));
        WEIR_TRY(add_functions(all, (const Weir__FunctionDefLibrary *)known, arena));
        WEIR_TRY(add_gradients(all, (const Weir__FunctionDefLibrary *)known, arena));
    }
    WEIR_TRY(add_functions(all, added, arena));
    WEIR_TRY(add_gradients(all, added, arena));
    ProtobufCBinaryData packed = {0};
    WEIR_TRY(weir_message_pack_in(&all->base, &graph->arena, &packed));
    *out = (weir_bytes){(const char *)packed.data, packed.len};
    return WEIR_STATUS_OK;
}
