/*
 * First pass: copies what a run needs out of the graph, backwards from fetches and targets. What is fed cuts the graph.
 * Kinds, loop frames and variables are known here already, since nodes come in topological order.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

typedef struct builder {
    weir_plan *plan;
    const weir_plan_request *request;
    int count;      /* nodes of the graph */
    bool *needed;   /* [count] */
    bool *is_fed;   /* [count]: some output is */
    int *index;     /* [count]: plan node, -1 */
    int *feed_node; /* [num_feeds]: plan node */
    const weir_node **stack;
} builder;

static int find_feed(const builder *b, weir_output output)
{
    if (!b->is_fed[output.node->id])
        return -1;
    for (int i = 0; i < b->request->num_feeds; i++) {
        if (b->request->feeds[i].node == output.node && b->request->feeds[i].index == output.index)
            return i;
    }
    return -1;
}

/* The feed that stands for a whole placeholder, so that who waits for the placeholder waits for the feed; -1: none. */
static int fed_in_place_of(const builder *b, weir_node *node)
{
    const weir_kernel *kernel = NULL;
    if (!b->is_fed[node->id] || !weir_ok(weir_kernel_find(node, &kernel)) || kernel->role != WEIR_ROLE_PLACEHOLDER)
        return -1;
    return find_feed(b, (weir_output){node, 0});
}

/* ---- Which nodes ---- */

static void need(builder *b, const weir_node *node, int *top)
{
    if (node != NULL && !b->needed[node->id]) {
        b->needed[node->id] = true;
        b->stack[(*top)++] = node;
    }
}

static void mark(builder *b)
{
    int top = 0;
    for (int i = 0; i < b->request->num_fetches; i++) {
        if (find_feed(b, b->request->fetches[i]) < 0)
            need(b, b->request->fetches[i].node, &top);
    }
    for (int i = 0; i < b->request->num_targets; i++)
        need(b, b->request->targets[i], &top);
    while (top > 0) {
        const weir_node *node = b->stack[--top];
        for (int i = 0; i < node->num_inputs; i++) {
            if (node->inputs[i].node != NULL && find_feed(b, node->inputs[i]) < 0)
                need(b, node->inputs[i].node, &top);
        }
        for (int i = 0; i < node->num_controls; i++) {
            if (fed_in_place_of(b, node->controls[i]) < 0)
                need(b, node->controls[i], &top);
        }
    }
}

/* ---- What they are ---- */

static weir_kind kind_of(const weir_kernel *kernel)
{
    switch (kernel->role) {
    case WEIR_ROLE_NOTHING:
    case WEIR_ROLE_RESULT:
        return WEIR_KIND_NOTHING;
    case WEIR_ROLE_CONSTANT:
        return WEIR_KIND_CONSTANT;
    case WEIR_ROLE_PLACEHOLDER:
    case WEIR_ROLE_ARGUMENT:
        return WEIR_KIND_FEED;
    case WEIR_ROLE_PASS:
    case WEIR_ROLE_LOOP_CONDITION:
        return WEIR_KIND_PASS;
    case WEIR_ROLE_VARIABLE:
    case WEIR_ROLE_HANDLE:
        return WEIR_KIND_VARIABLE;
    case WEIR_ROLE_READ:
        return WEIR_KIND_READ;
    case WEIR_ROLE_SWITCH:
        return WEIR_KIND_SWITCH;
    case WEIR_ROLE_MERGE:
        return WEIR_KIND_MERGE;
    case WEIR_ROLE_ENTER:
        return WEIR_KIND_ENTER;
    case WEIR_ROLE_EXIT:
        return WEIR_KIND_EXIT;
    case WEIR_ROLE_NEXT_ITERATION:
        return WEIR_KIND_NEXT_ITERATION;
    case WEIR_ROLE_SEND:
        return WEIR_KIND_SEND;
    case WEIR_ROLE_RECEIVE:
        return WEIR_KIND_RECEIVE;
    case WEIR_ROLE_TRIGGER:
        return WEIR_KIND_TRIGGER;
    case WEIR_ROLE_COMPUTE:
        break;
    }
    if (kernel->start != NULL)
        return WEIR_KIND_WAIT;
    return kernel->execute != NULL ? WEIR_KIND_EXECUTE : WEIR_KIND_CODE;
}

static weir_status must_be_fed(const weir_node *node)
{
    char shape[WEIR_SHAPE_TEXT_SIZE];
    weir_shape known = weir_node_shape(node, "shape");
    const char *text = known.rank > 0 ? weir_shape_text(known, shape, sizeof shape) : "";
    return weir_fail(WEIR_INVALID_ARGUMENT, "You must feed a value for placeholder tensor '%s' with dtype %s%s%s",
                     node->name, weir_dtype_name(node->output_dtypes[0]), known.rank > 0 ? " and shape " : "", text);
}

/* ---- Frames of loops ---- */

static weir_status find_frame(weir_plan *plan, const weir_plan_node *enter, int *out)
{
    weir_bytes name = weir_node_string(enter->node, "frame_name");
    for (int i = 1; i < plan->num_frames; i++) {
        const weir_plan_frame *frame = &plan->frames[i];
        if (frame->parent == enter->frame && strlen(frame->name) == name.size &&
            memcmp(frame->name, name.data, name.size) == 0) {
            *out = i;
            return WEIR_STATUS_OK;
        }
    }
    weir_plan_frame *grown = weir_arena_take(&plan->arena, (size_t)plan->num_frames + 1, sizeof *grown);
    const char *kept = weir_arena_text(&plan->arena, name.data, name.size);
    if (grown == NULL || kept == NULL)
        return weir_fail_memory(sizeof *grown);
    if (plan->num_frames > 0)
        memcpy(grown, plan->frames, (size_t)plan->num_frames * sizeof *grown);
    grown[plan->num_frames] =
        (weir_plan_frame){.name = kept,
                          .parent = enter->frame,
                          .parallel_iterations = (int)weir_node_int(enter->node, "parallel_iterations", 10)};
    plan->frames = grown;
    *out = plan->num_frames++;
    return WEIR_STATUS_OK;
}

/* The frame that a node's outputs belong to. */
static weir_status output_frame(weir_plan *plan, const weir_plan_node *node, int *out)
{
    *out = node->frame;
    if (node->kind == WEIR_KIND_ENTER)
        return find_frame(plan, node, out);
    if (node->kind == WEIR_KIND_EXIT)
        *out = node->frame > 0 ? plan->frames[node->frame].parent : 0;
    return WEIR_STATUS_OK;
}

static weir_status set_frame(weir_plan *plan, weir_plan_node *node)
{
    int frame = -1;
    for (int i = 0; i < node->num_inputs + node->num_controls; i++) {
        int producer = i < node->num_inputs ? node->inputs[i].node : node->controls[i - node->num_inputs];
        if (producer < 0)
            continue; /* a back edge */
        int from = 0;
        WEIR_TRY(output_frame(plan, &plan->nodes[producer], &from));
        weir_kind kind = plan->nodes[producer].kind;
        bool is_everywhere = kind == WEIR_KIND_CONSTANT || kind == WEIR_KIND_VARIABLE || kind == WEIR_KIND_FEED;
        if (is_everywhere && from == 0)
            continue;
        if (frame >= 0 && frame != from) {
            return weir_fail(WEIR_INVALID_ARGUMENT, "Node '%s' has inputs from different loop frames ('%s' and '%s')",
                             node->node->name, plan->frames[frame].name, plan->frames[from].name);
        }
        frame = from;
    }
    node->frame = frame < 0 ? 0 : frame;
    return WEIR_STATUS_OK;
}

/* ---- Variables ---- */

typedef struct variable_request {
    const char *name;
    weir_dtype dtype;
    weir_shape shape;
    weir_allocator *allocator;
} variable_request;

static weir_status create_variable(void *context, weir_resource **out)
{
    const variable_request *request = context;
    weir_variable *variable = NULL;
    WEIR_TRY(weir_variable_create(request->name, request->dtype, &request->shape, request->allocator, &variable));
    *out = &variable->base;
    return WEIR_STATUS_OK;
}

static weir_status bind_variable(weir_plan *plan, int index)
{
    const weir_plan_node *node = &plan->nodes[index];
    variable_request request = {.name = weir_node_resource_name(node->node),
                                .dtype = weir_node_type(node->node, "dtype"),
                                .shape = weir_node_shape(node->node, "shape"),
                                .allocator = plan->devices->items[node->device]->allocator};
    weir_bytes container = weir_node_string(node->node, "container");
    const char *name = weir_arena_text(&plan->arena, container.data, container.size);
    if (name == NULL)
        return weir_fail_memory(container.size);
    weir_resource *resource = NULL;
    WEIR_TRY(weir_container_get(plan->session->devices, name, &weir_variable_type, request.name, create_variable,
                                &request, &resource));
    weir_status status = weir_list_add(&plan->resources, resource);
    if (!weir_ok(status)) {
        weir_resource_unref(resource);
        return status;
    }
    weir_variable *variable = (weir_variable *)resource;
    if (variable->dtype != request.dtype) {
        return weir_fail(WEIR_INVALID_ARGUMENT, "Trying to access variable %s of type %s as %s", request.name,
                         weir_dtype_name(variable->dtype), weir_dtype_name(request.dtype));
    }
    weir_plan_value *value = &plan->values[node->first_value];
    value->place = WEIR_PLACE_VARIABLE;
    value->is_reference = true;
    value->variable = variable;
    return WEIR_STATUS_OK;
}

/* The variable that a value is, or NULL: through passing nodes and the reference outputs of writers. */
static weir_variable *variable_of(const weir_plan *plan, weir_port port)
{
    const weir_plan_value *value = weir_plan_value_of(plan, port);
    return value->place == WEIR_PLACE_VARIABLE ? value->variable : NULL;
}

/* Nodes of conditionals and loops whose outputs are what comes in: a variable's handle stays one. */
static bool hands_on(const weir_plan_node *node)
{
    return node->kind == WEIR_KIND_SWITCH || node->kind == WEIR_KIND_ENTER || node->kind == WEIR_KIND_EXIT ||
           node->kind == WEIR_KIND_NEXT_ITERATION || node->kind == WEIR_KIND_MERGE;
}

/* A Merge is a variable only if it is the same one whichever side comes. */
static bool all_are(const weir_plan *plan, const weir_plan_node *node, const weir_variable *variable)
{
    for (int i = 1; node->kind == WEIR_KIND_MERGE && i < node->num_inputs; i++) {
        if (node->inputs[i].node >= 0 && variable_of(plan, node->inputs[i]) != variable)
            return false;
    }
    return true;
}

static void follow_variable(weir_plan *plan, const weir_plan_node *node)
{
    bool passes = node->kind == WEIR_KIND_PASS || node->kind == WEIR_KIND_READ;
    for (int i = 0; i < node->num_outputs; i++) {
        weir_plan_value *value = &plan->values[node->first_value + i];
        int from = passes && i < node->num_inputs ? i : 0;
        bool is_handle = hands_on(node) && value->dtype == WEIR_RESOURCE;
        if ((!passes && !value->is_reference && !is_handle) || node->num_inputs == 0 || node->inputs[from].node < 0)
            continue;
        const weir_plan_value *input = weir_plan_value_of(plan, node->inputs[from]);
        if (passes && input->place == WEIR_PLACE_CONSTANT) {
            value->place = WEIR_PLACE_CONSTANT;
            value->constant = input->constant;
        }
        weir_variable *variable = variable_of(plan, node->inputs[from]);
        if (variable == NULL || !all_are(plan, node, variable))
            continue;
        value->place = WEIR_PLACE_VARIABLE;
        value->variable = variable;
        value->is_reference = node->kind != WEIR_KIND_READ &&
                              (value->is_reference || is_handle || (passes && value->dtype == WEIR_RESOURCE));
    }
}

/* ---- Nodes ---- */

static bool is_foldable(const weir_plan *plan, const weir_plan_node *node)
{
    if (node->kind == WEIR_KIND_CONSTANT)
        return true;
    if (node->kind == WEIR_KIND_CODE && node->kernel->is_shape_function)
        return true;
    bool may_fold = node->kind == WEIR_KIND_PASS || (node->kind == WEIR_KIND_CODE && !node->node->op->is_stateful &&
                                                     node->kernel->writes == 0 && node->kernel->reads == 0);
    if (!may_fold || node->num_inputs == 0)
        return false;
    for (int i = 0; i < node->num_inputs; i++) {
        if (node->inputs[i].node < 0 || !plan->nodes[node->inputs[i].node].is_foldable)
            return false;
    }
    return true;
}

static weir_status add_constant(weir_plan *plan, int index)
{
    const weir_node *node = plan->nodes[index].node;
    const weir_attr_value *value = weir_node_find_attr(node, "value");
    if (value == NULL || value->kind != WEIR_ATTR_TENSOR)
        return weir_fail(WEIR_INVALID_ARGUMENT, "Const '%s' has no value", node->name);
    return weir_plan_set_constant(plan, (weir_port){index, 0}, weir_tensor_ref(value->tensor));
}

static int number_of(const builder *b, const weir_node *node)
{
    return node->id < b->count ? b->index[node->id] : -1;
}

static void link_inputs(const builder *b, const weir_node *node, weir_port *inputs, int *controls)
{
    for (int i = 0; i < node->num_inputs; i++) {
        int feed = node->inputs[i].node != NULL ? find_feed(b, node->inputs[i]) : -1;
        if (feed >= 0)
            inputs[i] = (weir_port){b->feed_node[feed], 0};
        else if (node->inputs[i].node == NULL || number_of(b, node->inputs[i].node) < 0)
            inputs[i] = (weir_port){-1, 0};
        else
            inputs[i] = (weir_port){number_of(b, node->inputs[i].node), node->inputs[i].index};
    }
    for (int i = 0; i < node->num_controls; i++) {
        int feed = fed_in_place_of(b, node->controls[i]);
        controls[i] = feed >= 0 ? b->feed_node[feed] : number_of(b, node->controls[i]);
    }
}

/* A value that is fed in the place of a variable is no variable. */
static weir_status check_fed_references(const builder *b, const weir_node *node, const weir_kernel *kernel)
{
    for (int i = 0; i < node->num_inputs && i < 32; i++) {
        bool takes_variable = ((kernel->writes | kernel->reads) >> i & 1) != 0;
        if (takes_variable && node->inputs[i].node != NULL && find_feed(b, node->inputs[i]) >= 0) {
            return weir_fail(
                WEIR_INVALID_ARGUMENT,
                "Input %d of node '%s' (op %s) is a variable: a value fed for '%s:%d' cannot take its place", i,
                node->name, node->op->name, node->inputs[i].node->name, node->inputs[i].index);
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status check_variables(const weir_plan *plan, const weir_plan_node *node)
{
    if (node->kind != WEIR_KIND_READ && node->kind != WEIR_KIND_CODE)
        return WEIR_STATUS_OK;
    uint32_t wanted = node->kind == WEIR_KIND_READ ? 1 : node->kernel->writes | node->kernel->reads;
    for (int i = 0; i < node->num_inputs && i < 32; i++) {
        if ((wanted >> i & 1) != 0 && (node->inputs[i].node < 0 || variable_of(plan, node->inputs[i]) == NULL)) {
            return weir_fail(WEIR_UNIMPLEMENTED,
                             "Input %d of node '%s' (op %s) must be a variable that is known before the run", i,
                             node->node->name, node->node->op->name);
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status add_node(builder *b, const weir_node *node)
{
    weir_plan *plan = b->plan;
    weir_port few_inputs[8];
    int few_controls[8];
    bool is_small = node->num_inputs <= 8 && node->num_controls <= 8;
    weir_port *inputs = is_small ? few_inputs : weir_arena_take(&plan->arena, (size_t)node->num_inputs, sizeof *inputs);
    int *controls =
        is_small ? few_controls : weir_arena_take(&plan->arena, (size_t)node->num_controls, sizeof *controls);
    if (inputs == NULL || controls == NULL)
        return weir_fail_memory((size_t)node->num_inputs * sizeof *inputs);
    link_inputs(b, node, inputs, controls);
    weir_plan_node made = {.node = node,
                           .device = b->request->placement[node->id],
                           .inputs = inputs,
                           .controls = controls,
                           .num_inputs = node->num_inputs,
                           .num_controls = node->num_controls,
                           .num_outputs = node->num_outputs,
                           .feed = -1};
    WEIR_TRY(weir_kernel_find(node, &made.kernel));
    made.kind = kind_of(made.kernel);
    made.is_writer = made.kernel->writes != 0;
    WEIR_TRY(check_fed_references(b, node, made.kernel));
    if (made.kind == WEIR_KIND_FEED)
        return must_be_fed(node);
    WEIR_TRY(set_frame(plan, &made));
    made.is_foldable = is_foldable(plan, &made);
    int index = 0;
    WEIR_TRY(weir_plan_add(plan, &made, &index));
    b->index[node->id] = index;
    if (made.kind == WEIR_KIND_ENTER) {
        int frame = 0;
        WEIR_TRY(find_frame(plan, &plan->nodes[index], &frame));
        plan->frames[frame].num_enters++;
    }
    if (made.kind == WEIR_KIND_CONSTANT)
        return add_constant(plan, index);
    if (made.kind == WEIR_KIND_VARIABLE)
        return bind_variable(plan, index);
    follow_variable(plan, &plan->nodes[index]);
    return check_variables(plan, &plan->nodes[index]);
}

static weir_status add_feeds(builder *b)
{
    weir_plan *plan = b->plan;
    for (int i = 0; i < b->request->num_feeds; i++) {
        weir_output output = b->request->feeds[i];
        weir_plan_node feed = {.node = output.node, .kind = WEIR_KIND_FEED, .num_outputs = 1, .feed = i};
        WEIR_TRY(weir_plan_add(plan, &feed, &b->feed_node[i]));
        weir_dtype dtype = weir_dtype_base(weir_output_dtype(output));
        int value = plan->nodes[b->feed_node[i]].first_value;
        plan->values[value] = (weir_plan_value){.dtype = dtype, .root = {b->feed_node[i], 0}, .slot = -1};
        plan->feed_dtypes[i] = dtype;
        plan->feed_nodes[i] = output.node;
        plan->feed_values[i] = value;
    }
    return WEIR_STATUS_OK;
}

/* Inputs that come from nodes further down, which only Merge may have. */
static weir_status link_back_edges(builder *b)
{
    weir_plan *plan = b->plan;
    for (int n = 0; n < plan->num_nodes; n++) {
        weir_plan_node *node = &plan->nodes[n];
        for (int i = 0; i < node->num_inputs; i++) {
            if (node->inputs[i].node >= 0)
                continue;
            weir_output input = node->node->inputs[i];
            int producer = input.node != NULL ? number_of(b, input.node) : -1;
            if (producer < 0 || node->kind != WEIR_KIND_MERGE)
                return weir_fail(WEIR_INVALID_ARGUMENT, "Input %d of node '%s' comes from a node built after it", i,
                                 node->node->name);
            node->inputs[i] = (weir_port){producer, input.index};
        }
    }
    return WEIR_STATUS_OK;
}

static weir_status set_fetches(builder *b)
{
    weir_plan *plan = b->plan;
    for (int i = 0; i < b->request->num_fetches; i++) {
        weir_output output = b->request->fetches[i];
        int feed = find_feed(b, output);
        plan->fetches[i] =
            feed >= 0 ? (weir_port){b->feed_node[feed], 0} : (weir_port){b->index[output.node->id], output.index};
    }
    for (int i = 0; i < b->request->num_targets; i++)
        plan->nodes[b->index[b->request->targets[i]->id]].is_target = true;
    return WEIR_STATUS_OK;
}

static weir_status take_memory(builder *b)
{
    size_t count = (size_t)b->count + 1;
    size_t feeds = (size_t)b->request->num_feeds;
    weir_plan *plan = b->plan;
    b->needed = weir_allocate(count, sizeof *b->needed);
    b->is_fed = weir_allocate(count, sizeof *b->is_fed);
    b->index = weir_allocate(count, sizeof *b->index);
    b->stack = weir_allocate(count, sizeof *b->stack);
    b->feed_node = weir_allocate(feeds, sizeof *b->feed_node);
    plan->feed_dtypes = weir_arena_take(&plan->arena, feeds, sizeof *plan->feed_dtypes);
    plan->feed_nodes = weir_arena_take(&plan->arena, feeds, sizeof *plan->feed_nodes);
    plan->feed_values = weir_arena_take(&plan->arena, feeds, sizeof *plan->feed_values);
    plan->fetches = weir_arena_take(&plan->arena, (size_t)b->request->num_fetches, sizeof *plan->fetches);
    plan->frames = weir_arena_take(&plan->arena, 1, sizeof *plan->frames);
    plan->num_feeds = b->request->num_feeds;
    plan->num_fetches = b->request->num_fetches;
    bool has_memory = b->needed && b->is_fed && b->index && b->stack && b->feed_node && plan->feed_dtypes &&
                      plan->feed_nodes && plan->feed_values && plan->fetches && plan->frames;
    if (!has_memory)
        return weir_fail_memory(count * sizeof *b->stack);
    plan->frames[0] = (weir_plan_frame){.name = "", .parent = -1, .parallel_iterations = 1};
    plan->num_frames = 1;
    memset(b->index, -1, count * sizeof *b->index);
    return WEIR_STATUS_OK;
}

static weir_status build(builder *b)
{
    WEIR_TRY(take_memory(b));
    for (int i = 0; i < b->request->num_feeds; i++)
        b->is_fed[b->request->feeds[i].node->id] = true;
    mark(b);
    WEIR_TRY(add_feeds(b));
    for (int id = 0; id < b->count; id++) {
        if (b->needed[id])
            WEIR_TRY(add_node(b, b->request->graph->nodes.items[id]));
    }
    WEIR_TRY(link_back_edges(b));
    return set_fetches(b);
}

weir_status weir_plan_build(weir_plan *plan, const weir_plan_request *request)
{
    builder b = {.plan = plan, .request = request, .count = (int)request->graph->nodes.count};
    weir_status status = build(&b);
    weir_release(b.needed);
    weir_release(b.is_fed);
    weir_release(b.index);
    weir_release(b.stack);
    weir_release(b.feed_node);
    return status;
}
