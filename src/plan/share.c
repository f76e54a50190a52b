/*
 * Pass "share": of nodes that are equal (op, attributes, inputs, order, device), one computes for all.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/passes.h"

static bool may_share(const weir_plan_node *node)
{
    bool has_kind = node->kind == WEIR_KIND_CODE || node->kind == WEIR_KIND_EXECUTE;
    return has_kind && !node->node->op->is_stateful && !node->is_writer && node->kernel->reads == 0 &&
           node->num_outputs > 0;
}

static uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static bool equal_values(const weir_attr_value *a, const weir_attr_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch ((int)a->kind) {
    case WEIR_ATTR_STRING:
        return a->s.size == b->s.size && memcmp(a->s.data, b->s.data, a->s.size) == 0;
    case WEIR_ATTR_INT:
        return a->i == b->i;
    case WEIR_ATTR_FLOAT:
        return bits_of(a->f) == bits_of(b->f); /* 0 and -0 differ, a NaN is itself */
    case WEIR_ATTR_BOOL:
        return a->b == b->b;
    case WEIR_ATTR_TYPE:
        return a->type == b->type;
    case WEIR_ATTR_SHAPE:
        return weir_shape_equal(a->shape, b->shape);
    case WEIR_ATTR_LIST + WEIR_ATTR_INT:
        return a->list.count == b->list.count &&
               memcmp(a->list.i, b->list.i, (size_t)a->list.count * sizeof *a->list.i) == 0;
    case WEIR_ATTR_LIST + WEIR_ATTR_TYPE:
        return a->list.count == b->list.count &&
               memcmp(a->list.type, b->list.type, (size_t)a->list.count * sizeof *a->list.type) == 0;
    default:
        return false; /* rare: not worth comparing */
    }
}

static bool equal_attrs(const weir_node *a, const weir_node *b)
{
    for (int i = 0, j = 0;; i++, j++) {
        while (i < a->num_attrs && a->attrs[i].name[0] == '_')
            i++;
        while (j < b->num_attrs && b->attrs[j].name[0] == '_')
            j++;
        if (i == a->num_attrs || j == b->num_attrs)
            return i == a->num_attrs && j == b->num_attrs;
        if (strcmp(a->attrs[i].name, b->attrs[j].name) != 0 || !equal_values(&a->attrs[i].value, &b->attrs[j].value))
            return false;
    }
}

static bool equal_nodes(const weir_plan_node *a, const weir_plan_node *b)
{
    return a->node->op == b->node->op && a->device == b->device && a->frame == b->frame &&
           a->num_inputs == b->num_inputs && a->num_controls == b->num_controls &&
           memcmp(a->inputs, b->inputs, (size_t)a->num_inputs * sizeof *a->inputs) == 0 &&
           memcmp(a->controls, b->controls, (size_t)a->num_controls * sizeof *a->controls) == 0 &&
           equal_attrs(a->node, b->node);
}

static unsigned hash_node(const weir_plan_node *node)
{
    uint64_t hash = (uint64_t)(uintptr_t)node->node->op ^ (uint64_t)node->device << 48;
    for (int i = 0; i < node->num_inputs; i++)
        hash = (hash ^ (uint64_t)node->inputs[i].node << 8 ^ (uint64_t)node->inputs[i].output) * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < node->num_controls; i++)
        hash = (hash ^ (uint64_t)node->controls[i]) * 0x9e3779b97f4a7c15u;
    return (unsigned)(hash >> 32);
}

typedef struct sharing {
    weir_plan *plan;
    int *same;     /* [nodes]: the node that computes for it; itself */
    int *heads;    /* [size]: newest node with the hash; -1 */
    int *next;     /* [nodes] */
    unsigned size; /* a power of two */
} sharing;

/* Only reads of a variable's memory make equal inputs unequal: a writer may come between. */
static bool reads_variables(const weir_plan *plan, const weir_plan_node *node)
{
    for (int i = 0; i < node->num_inputs; i++) {
        if (weir_plan_value_of(plan, node->inputs[i])->place == WEIR_PLACE_VARIABLE)
            return true;
    }
    return false;
}

static void share_node(sharing *s, int index)
{
    weir_plan_node *node = &s->plan->nodes[index];
    for (int i = 0; i < node->num_inputs; i++)
        node->inputs[i].node = s->same[node->inputs[i].node];
    for (int i = 0; i < node->num_controls; i++)
        node->controls[i] = s->same[node->controls[i]];
    s->same[index] = index;
    if (!may_share(node) || reads_variables(s->plan, node))
        return;
    unsigned slot = hash_node(node) & (s->size - 1);
    for (int at = s->heads[slot]; at >= 0; at = s->next[at]) {
        if (equal_nodes(&s->plan->nodes[at], node)) {
            s->same[index] = at;
            return;
        }
    }
    s->next[index] = s->heads[slot];
    s->heads[slot] = index;
}

/* Nodes that another one computes for stay as empty nodes, which cost nothing. */
static void retire(sharing *s)
{
    for (int n = 0; n < s->plan->num_nodes; n++) {
        if (s->same[n] == n)
            continue;
        weir_plan_node *node = &s->plan->nodes[n];
        node->kind = WEIR_KIND_NOTHING;
        node->num_inputs = 0;
        node->num_controls = 0;
    }
    for (int i = 0; i < s->plan->num_fetches; i++)
        s->plan->fetches[i].node = s->same[s->plan->fetches[i].node];
}

weir_status weir_pass_share(weir_plan *plan)
{
    size_t count = (size_t)plan->num_nodes;
    sharing s = {.plan = plan, .size = 64};
    while (s.size < count)
        s.size *= 2;
    s.same = weir_allocate(count, sizeof *s.same);
    s.next = weir_allocate(count, sizeof *s.next);
    s.heads = weir_allocate(s.size, sizeof *s.heads);
    weir_status status = WEIR_STATUS_OK;
    if (s.same != NULL && s.next != NULL && s.heads != NULL) {
        memset(s.heads, -1, s.size * sizeof *s.heads);
        for (int n = 0; n < plan->num_nodes; n++)
            s.same[n] = n; /* what back edges find */
        for (int n = 0; n < plan->num_nodes; n++)
            share_node(&s, n);
        retire(&s);
    } else {
        status = weir_fail_memory(count * sizeof *s.same);
    }
    weir_release(s.same);
    weir_release(s.next);
    weir_release(s.heads);
    return status;
}
