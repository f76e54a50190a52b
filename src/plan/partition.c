/*
 * Edges between devices, and between the memories of one device, become transfers; values that leave the memory of a
 * variable for where somebody keeps them become copies. Each value goes once to each place that wants it.
 */
#include <string.h>

#include "plan/plan.h"

/* Where a value can be wanted: in the memory of device d, or in host memory next to device d. */
typedef struct partition {
    weir_plan *plan;
    int num_places; /* devices * 2 */
    int old_nodes;
    int old_values;
    int *transfers; /* [old values * places]: node that brings it there, -1 */
    int *controls;  /* [old nodes * devices] */
    int *copies;    /* [old values]: COPY node, -1 */
} partition;

static bool is_host(const weir_plan *plan, int device)
{
    return plan->devices->items[device]->is_host;
}

/* True if a value lies in host memory. */
static bool lies_in_host(const weir_plan *plan, weir_port port)
{
    const weir_plan_node *node = &plan->nodes[port.node];
    const weir_plan_value *value = weir_plan_value_of(plan, port);
    if (is_host(plan, node->device) || node->kind == WEIR_KIND_FEED || value->place == WEIR_PLACE_CONSTANT)
        return true;
    if (node->kind == WEIR_KIND_TRANSFER)
        return node->feed == 1; /* made by this pass: to host memory */
    if (node->kind == WEIR_KIND_PASS && node->inputs[port.output].node >= 0)
        return lies_in_host(plan, node->inputs[port.output]);
    if (weir_dtype_is_object(value->dtype))
        return true;
    return node->kernel != NULL && port.output < 32 && (node->kernel->host_outputs >> port.output & 1) != 0;
}

/* True if a node wants an input in host memory. */
static bool wants_host(const weir_plan *plan, const weir_plan_node *node, int input)
{
    if (is_host(plan, node->device))
        return true;
    if (node->kind == WEIR_KIND_SWITCH && input == 1)
        return true;
    if (node->kernel == NULL || node->kind == WEIR_KIND_PASS)
        return false;
    uint32_t bit = input < 32 ? 1u << input : 0;
    if (node->kind == WEIR_KIND_EXECUTE || node->kind == WEIR_KIND_WAIT || node->kind == WEIR_KIND_SEND)
        return true;
    return ((node->kernel->host_inputs | node->kernel->shape_inputs) & bit) != 0;
}

static weir_status add_link(partition *p, weir_kind kind, const weir_plan_node *consumer, int device, bool to_host,
                            weir_port from, int control, int *out)
{
    const weir_plan_node *source = &p->plan->nodes[from.node >= 0 ? from.node : control];
    weir_plan_node made = {.node = source->node,
                           .kind = kind,
                           .device = device,
                           .inputs = &from,
                           .controls = &control,
                           .num_inputs = from.node >= 0,
                           .num_controls = control >= 0,
                           .num_outputs = from.node >= 0,
                           .feed = to_host,
                           .frame = consumer->frame};
    weir_plan_value value = {0};
    if (from.node >= 0)
        value = *weir_plan_value_of(p->plan, from);
    WEIR_TRY(weir_plan_add(p->plan, &made, out));
    if (from.node >= 0) {
        p->plan->values[p->plan->nodes[*out].first_value] =
            (weir_plan_value){.dtype = value.dtype, .root = {*out, 0}, .slot = -1};
    }
    return WEIR_STATUS_OK;
}

/* A value of its own for what may be a variable's memory. */
static weir_status copy_of(partition *p, weir_port *port)
{
    int value = p->plan->nodes[port->node].first_value + port->output;
    if (value >= p->old_values)
        return WEIR_STATUS_OK;
    if (p->copies[value] < 0) {
        weir_plan_node source = p->plan->nodes[port->node];
        WEIR_TRY(add_link(p, WEIR_KIND_COPY, &source, source.device, false, *port, -1, &p->copies[value]));
    }
    *port = (weir_port){p->copies[value], 0};
    return WEIR_STATUS_OK;
}

/* A value leaves an accelerator through the host, by a transfer on that accelerator. */
static weir_status bring_to_host(partition *p, const weir_plan_node *consumer, weir_port *port)
{
    int device = p->plan->nodes[port->node].device;
    int value = p->plan->nodes[port->node].first_value + port->output;
    int *known = value < p->old_values ? &p->transfers[value * p->num_places + device * 2 + 1] : NULL;
    int made = known != NULL ? *known : -1;
    if (made < 0) {
        WEIR_TRY(add_link(p, WEIR_KIND_TRANSFER, consumer, device, true, *port, -1, &made));
        if (known != NULL)
            *known = made;
    }
    *port = (weir_port){made, 0};
    return WEIR_STATUS_OK;
}

/* True for nodes that keep or pass on what they are given. */
static bool keeps_input(const weir_plan_node *node)
{
    return weir_kind_stands_alone(node->kind);
}

static weir_status link_control(partition *p, int index, int control)
{
    weir_plan *plan = p->plan;
    weir_plan_node node = plan->nodes[index];
    int producer = node.controls[control];
    const weir_plan_node *source = &plan->nodes[producer];
    if (source->device == node.device || source->kind == WEIR_KIND_FEED || producer >= p->old_nodes)
        return WEIR_STATUS_OK;
    int *known = &p->controls[producer * plan->devices->count + node.device];
    if (*known < 0)
        WEIR_TRY(add_link(p, WEIR_KIND_TRANSFER, &node, node.device, true, (weir_port){-1, 0}, producer, known));
    plan->nodes[index].controls[control] = *known;
    return WEIR_STATUS_OK;
}

/* Fetches are wanted in host memory. */
/* Nodes that keep what they are given see the variable when they run: the copy waits for what they wait for. */
static weir_status copy_for(partition *p, const weir_plan_node *consumer, weir_port *port)
{
    int copy = -1;
    int *controls = weir_arena_take(&p->plan->arena, (size_t)consumer->num_controls, sizeof *controls);
    if (controls == NULL)
        return weir_fail_memory((size_t)consumer->num_controls * sizeof *controls);
    if (consumer->num_controls > 0)
        memcpy(controls, consumer->controls, (size_t)consumer->num_controls * sizeof *controls);
    WEIR_TRY(add_link(p, WEIR_KIND_COPY, consumer, p->plan->nodes[port->node].device, false, *port, -1, &copy));
    p->plan->nodes[copy].controls = controls;
    p->plan->nodes[copy].num_controls = consumer->num_controls;
    for (int i = 0; i < consumer->num_controls; i++)
        WEIR_TRY(link_control(p, copy, i));
    *port = (weir_port){copy, 0};
    return WEIR_STATUS_OK;
}

static weir_status link_input(partition *p, int index, int input)
{
    weir_plan *plan = p->plan;
    weir_plan_node node = plan->nodes[index];
    weir_port port = node.inputs[input];
    weir_plan_value value = *weir_plan_value_of(plan, port);
    if (weir_plan_is_free_constant(plan, port.node))
        return WEIR_STATUS_OK;
    bool is_reference = weir_plan_takes_variable(plan, &plan->nodes[index], input);
    int from_device = plan->nodes[port.node].device;
    bool crosses = !is_reference && plan->nodes[port.node].kind != WEIR_KIND_FEED && from_device != node.device;
    bool wants = wants_host(plan, &node, input);
    bool changes_memory = !is_reference && lies_in_host(plan, port) != wants &&
                          !(node.kind == WEIR_KIND_PASS && from_device == node.device);
    bool feed_moves = plan->nodes[port.node].kind == WEIR_KIND_FEED && !is_host(plan, node.device);
    if (value.place == WEIR_PLACE_VARIABLE && !is_reference && (crosses || changes_memory))
        WEIR_TRY(copy_of(p, &port));
    else if (value.place == WEIR_PLACE_VARIABLE && !is_reference && keeps_input(&node))
        WEIR_TRY(copy_for(p, &node, &port));
    bool leaves_accelerator = crosses && !lies_in_host(plan, port);
    if (leaves_accelerator)
        WEIR_TRY(bring_to_host(p, &node, &port));
    bool is_there = leaves_accelerator && wants; /* host memory is the same for all */
    if (!is_there && (crosses || changes_memory || feed_moves)) {
        int place = node.device * 2 + wants;
        int source = plan->nodes[node.inputs[input].node].first_value + node.inputs[input].output;
        int *known = source < p->old_values ? &p->transfers[source * p->num_places + place] : NULL;
        int made = known != NULL ? *known : -1;
        if (made < 0) {
            WEIR_TRY(add_link(p, WEIR_KIND_TRANSFER, &node, node.device, wants, port, -1, &made));
            if (known != NULL)
                *known = made;
        }
        port = (weir_port){made, 0};
    }
    plan->nodes[index].inputs[input] = port;
    return WEIR_STATUS_OK;
}

static weir_status link_fetch(partition *p, int index)
{
    weir_plan *plan = p->plan;
    weir_port *port = &plan->fetches[index];
    weir_plan_value value = *weir_plan_value_of(plan, *port);
    if (value.place == WEIR_PLACE_CONSTANT || lies_in_host(plan, *port))
        return WEIR_STATUS_OK;
    if (value.place == WEIR_PLACE_VARIABLE) { /* an accelerator's */
        weir_plan_node source = plan->nodes[port->node];
        int copy = -1;
        WEIR_TRY(add_link(p, WEIR_KIND_COPY, &source, source.device, false, *port, -1, &copy));
        plan->nodes[copy].is_last = true;
        *port = (weir_port){copy, 0};
    }
    weir_plan_node consumer = {.frame = plan->nodes[port->node].frame};
    int made = -1;
    WEIR_TRY(add_link(p, WEIR_KIND_TRANSFER, &consumer, plan->nodes[port->node].device, true, *port, -1, &made));
    *port = (weir_port){made, 0};
    return WEIR_STATUS_OK;
}

static weir_status link_all(partition *p)
{
    size_t values = (size_t)p->old_values;
    p->transfers = weir_allocate(values * (size_t)p->num_places, sizeof *p->transfers);
    p->controls = weir_allocate((size_t)p->old_nodes * (size_t)p->plan->devices->count, sizeof *p->controls);
    p->copies = weir_allocate(values, sizeof *p->copies);
    if (p->transfers == NULL || p->controls == NULL || p->copies == NULL)
        return weir_fail_memory(values * sizeof(int));
    memset(p->transfers, -1, values * (size_t)p->num_places * sizeof(int));
    memset(p->controls, -1, (size_t)p->old_nodes * (size_t)p->plan->devices->count * sizeof(int));
    memset(p->copies, -1, values * sizeof(int));
    for (int n = 0; n < p->old_nodes; n++) {
        for (int i = 0; i < p->plan->nodes[n].num_inputs; i++)
            WEIR_TRY(link_input(p, n, i));
        for (int i = 0; i < p->plan->nodes[n].num_controls; i++)
            WEIR_TRY(link_control(p, n, i));
    }
    for (int i = 0; i < p->plan->num_fetches; i++)
        WEIR_TRY(link_fetch(p, i));
    return WEIR_STATUS_OK;
}

weir_status weir_plan_partition(weir_plan *plan)
{
    partition p = {.plan = plan,
                   .num_places = plan->devices->count * 2,
                   .old_nodes = plan->num_nodes,
                   .old_values = plan->num_values};
    weir_status status = link_all(&p);
    weir_release(p.transfers);
    weir_release(p.controls);
    weir_release(p.copies);
    return status;
}
