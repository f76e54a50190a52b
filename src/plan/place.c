/*
 * Union-find over colocation groups; then each group takes the first device, in order of type priority and name, that its
 * members' requests and kernels allow.
 */
#include "plan/place.h"

#include <stdarg.h>

#include <stdio.h>
#include <string.h>

#include "exec/kernel.h"
#include "graph/device_name.h"

typedef struct group_info {
    int parent; /* node; itself: the root of a group */
    weir_device_name request;
    bool needs_host; /* a member has no kernel for accelerators */
    bool is_failed;
    int fixed; /* device that a member has already; -1 */
} group_info;

typedef struct placer {
    const weir_graph *graph;
    const weir_device_set *devices;
    weir_device_name *names; /* [devices] */
    bool allow_soft_placement;
    int first, count;   /* new nodes */
    group_info *groups; /* [count]: those of old nodes are by themselves */
    int *order;         /* devices by priority */
    weir_placement *placement;
    weir_text problems;
    int num_problems;
} placer;

static int find_root(placer *p, int node)
{
    int root = node;
    while (p->groups[root].parent != root)
        root = p->groups[root].parent;
    while (p->groups[node].parent != root) {
        int next = p->groups[node].parent;
        p->groups[node].parent = root;
        node = next;
    }
    return root;
}

static void report(placer *p, const weir_node *node, const char *format, ...) WEIR_PRINTF(3, 4);

static void report(placer *p, const weir_node *node, const char *format, ...)
{
    weir_text_append(&p->problems, "%sCannot assign a device for operation %s: {{node %s}} ",
                     p->num_problems++ > 0 ? "\n" : "", node->name, node->name);
    va_list arguments;
    va_start(arguments, format);
    weir_text_append_list(&p->problems, format, arguments);
    va_end(arguments);
}

/* Joins the requests of two groups; parts that contradict each other are an error, or dropped with soft placement. */
static void join_requests(placer *p, group_info *a, const group_info *b, const weir_node *node)
{
    bool conflict =
        (a->request.type[0] != '\0' && b->request.type[0] != '\0' && strcmp(a->request.type, b->request.type) != 0) ||
        (a->request.id >= 0 && b->request.id >= 0 && a->request.id != b->request.id);
    if (conflict && !p->allow_soft_placement) {
        char text_a[WEIR_DEVICE_NAME_SIZE];
        char text_b[WEIR_DEVICE_NAME_SIZE];
        report(p, node, "Cannot colocate nodes: it is on '%s', those it belongs with are on '%s'",
               weir_device_name_text(&b->request, text_b), weir_device_name_text(&a->request, text_a));
        a->is_failed = true;
        return;
    }
    a->request = weir_device_name_merge(&b->request, &a->request);
}

static void unite(placer *p, int a, int b, const weir_node *node)
{
    int root_a = find_root(p, a);
    int root_b = find_root(p, b);
    if (root_a == root_b)
        return;
    group_info *to = &p->groups[root_a];
    group_info *from = &p->groups[root_b];
    join_requests(p, to, from, node);
    to->needs_host = to->needs_host || from->needs_host;
    to->is_failed = to->is_failed || from->is_failed;
    if (to->fixed < 0)
        to->fixed = from->fixed;
    from->parent = root_a;
}

/* Joins node with other; an old one only lends its device. */
static void colocate(placer *p, const weir_node *node, const weir_node *other)
{
    if (other->id >= p->first) {
        unite(p, other->id - p->first, node->id - p->first, node);
        return;
    }
    group_info *root = &p->groups[find_root(p, node->id - p->first)];
    if (root->fixed < 0)
        root->fixed = p->placement->device.items[other->id];
}

static void join_class(placer *p, const weir_node *node)
{
    const weir_attr_value *groups = weir_node_find_attr(node, "_class");
    if (groups == NULL || (int)groups->kind != WEIR_ATTR_LIST + WEIR_ATTR_STRING)
        return;
    for (int64_t i = 0; i < groups->list.count; i++) {
        weir_bytes group = groups->list.s[i];
        if (group.size < 5 || memcmp(group.data, "loc:@", 5) != 0)
            continue;
        const weir_node *other = weir_map_get(&p->graph->by_name, group.data + 5, group.size - 5);
        if (other != NULL && other != node)
            colocate(p, node, other);
    }
}

/* A reference or a handle stays where its variable is. */
static void join_references(placer *p, const weir_node *node)
{
    for (int i = 0; i < node->num_inputs; i++) {
        weir_output input = node->inputs[i];
        if (input.node == NULL || input.index >= input.node->num_outputs)
            continue;
        weir_dtype dtype = input.node->output_dtypes[input.index];
        if (dtype != WEIR_RESOURCE && !(weir_dtype_is_ref(dtype)))
            continue;
        bool takes_reference = dtype == WEIR_RESOURCE;
        int index = 0;
        for (const weir_arg_def *arg = node->op->inputs; !takes_reference && arg != NULL && arg->name != NULL; arg++) {
            index += weir_node_arg_count(node, arg);
            if (i < index) {
                takes_reference = arg->is_ref;
                break;
            }
        }
        if (takes_reference)
            colocate(p, node, input.node);
    }
}

/* TensorFlow has no GPU kernels for variables of these types. */
static bool is_variable_of_host(const weir_node *node, const weir_kernel *kernel)
{
    if (kernel->role != WEIR_ROLE_VARIABLE && kernel->role != WEIR_ROLE_HANDLE)
        return false;
    weir_dtype dtype = weir_node_type(node, "dtype");
    return dtype == WEIR_INT32 || weir_dtype_is_object(dtype);
}

static weir_status start_node(placer *p, const weir_node *node)
{
    group_info *group = &p->groups[node->id - p->first];
    *group = (group_info){.parent = node->id - p->first, .request = WEIR_DEVICE_ANY, .fixed = -1};
    const weir_kernel *kernel = NULL;
    weir_status found = weir_kernel_find(node, &kernel);
    if (!weir_ok(found)) {
        report(p, node, "has no kernel: %s", weir_status_text(found));
        group->is_failed = true;
        return WEIR_STATUS_OK;
    }
    group->needs_host = !kernel->on_accelerators && kernel->role == WEIR_ROLE_COMPUTE;
    group->needs_host = group->needs_host || is_variable_of_host(node, kernel);
    if (node->device[0] == '\0')
        return WEIR_STATUS_OK;
    return weir_fail_in(weir_device_name_parse(node->device, &group->request), "node '%s'", node->name);
}

static bool fits(const placer *p, const group_info *group, const weir_device_name *request, int device)
{
    if (group->needs_host && !p->devices->items[device]->is_host)
        return false;
    return weir_device_name_matches(request, &p->names[device]);
}

static int choose(const placer *p, const group_info *group, const weir_device_name *request)
{
    for (int i = 0; i < p->devices->count; i++) {
        if (fits(p, group, request, p->order[i]))
            return p->order[i];
    }
    return -1;
}

static bool exists(const placer *p, const weir_device_name *request)
{
    for (int i = 0; i < p->devices->count; i++) {
        if (weir_device_name_matches(request, &p->names[i]))
            return true;
    }
    return false;
}

static void report_device(placer *p, const weir_node *node, const group_info *group)
{
    char text[WEIR_DEVICE_NAME_SIZE];
    weir_device_name_text(&group->request, text);
    if (exists(p, &group->request)) {
        report(
            p, node,
            "Could not satisfy explicit device specification '%s' because no supported kernel for %s devices is available.",
            text, group->request.type);
        return;
    }
    weir_text names = {0};
    for (int i = 0; i < p->devices->count; i++)
        weir_text_append(&names, "%s%s", i > 0 ? ", " : "", p->devices->items[i]->name);
    report(
        p, node,
        "was explicitly assigned to %s but available devices are [ %s ]. Make sure the device specification refers to a "
        "valid device.%s",
        text, weir_text_get(&names),
        strcmp(group->request.type, "GPU") == 0 ? " The requested device appears to be a GPU, but none is available."
                                                : "");
    weir_text_clear(&names);
}

/* Decides for the root of a group; -1 and a report when nothing fits. */
static int decide(placer *p, int root)
{
    group_info *group = &p->groups[root];
    if (group->fixed >= 0)
        return group->fixed;
    int device = choose(p, group, &group->request);
    if (device < 0 && p->allow_soft_placement) {
        weir_device_name relaxed = group->request;
        relaxed.type[0] = '\0';
        relaxed.id = -1;
        device = choose(p, group, &relaxed);
    }
    if (device < 0 && !group->is_failed)
        report_device(p, p->graph->nodes.items[p->first + root], group);
    group->fixed = device;
    group->is_failed = device < 0;
    return device;
}

/* A node without inputs (a constant) goes with its consumers if they all share one device. */
static bool is_generator(const weir_node *node)
{
    return node->num_inputs == 0 && node->num_controls == 0 && node->num_outputs == 1 &&
           !weir_dtype_is_ref(node->output_dtypes[0]);
}

static void follow_consumers(placer *p)
{
    int *wanted = weir_allocate((size_t)p->count, sizeof *wanted); /* -1: none yet, -2: several */
    if (wanted == NULL)
        return; /* a preference only */
    memset(wanted, -1, (size_t)p->count * sizeof *wanted);
    for (int n = 0; n < p->count; n++) {
        const weir_node *node = p->graph->nodes.items[p->first + n];
        int device = p->placement->device.items[p->first + n];
        for (int i = 0; i < node->num_inputs; i++) {
            int producer = node->inputs[i].node != NULL ? node->inputs[i].node->id - p->first : -1;
            if (producer >= 0)
                wanted[producer] = wanted[producer] == -1 || wanted[producer] == device ? device : -2;
        }
    }
    for (int n = 0; n < p->count; n++) {
        group_info *group = &p->groups[find_root(p, n)];
        const weir_node *node = p->graph->nodes.items[p->first + n];
        if (is_generator(node) && wanted[n] >= 0 && group->parent == n && fits(p, group, &group->request, wanted[n]))
            p->placement->device.items[p->first + n] = wanted[n];
    }
    weir_release(wanted);
}

/* GPUs before CPUs, then by name. */
static void sort_devices(placer *p)
{
    for (int i = 0; i < p->devices->count; i++) {
        int at = i;
        bool is_gpu = !p->devices->items[i]->is_host;
        for (; at > 0 && is_gpu && p->devices->items[p->order[at - 1]]->is_host; at--)
            p->order[at] = p->order[at - 1];
        p->order[at] = i;
    }
}

static weir_status place(placer *p)
{
    p->names = weir_allocate((size_t)p->devices->count, sizeof *p->names);
    p->order = weir_allocate((size_t)p->devices->count, sizeof *p->order);
    p->groups = weir_allocate((size_t)p->count, sizeof *p->groups);
    if (p->names == NULL || p->order == NULL || p->groups == NULL)
        return weir_fail_memory((size_t)p->count * sizeof *p->groups);
    for (int i = 0; i < p->devices->count; i++)
        WEIR_TRY(weir_device_name_parse(p->devices->items[i]->name, &p->names[i]));
    sort_devices(p);
    for (int n = 0; n < p->count; n++)
        WEIR_TRY(start_node(p, p->graph->nodes.items[p->first + n]));
    for (int n = 0; n < p->count; n++) {
        join_class(p, p->graph->nodes.items[p->first + n]);
        join_references(p, p->graph->nodes.items[p->first + n]);
    }
    for (int n = 0; n < p->count; n++)
        WEIR_TRY(weir_list_add(&p->placement->device, decide(p, find_root(p, n))));
    if (p->num_problems > 0)
        return weir_fail(WEIR_INVALID_ARGUMENT, "%s", weir_text_get(&p->problems));
    follow_consumers(p);
    return WEIR_STATUS_OK;
}

weir_status weir_place_nodes(weir_placement *placement, const weir_graph *graph, const weir_device_set *devices,
                             bool allow_soft_placement)
{
    int first = (int)placement->device.count;
    int count = (int)graph->nodes.count - first;
    if (count <= 0)
        return WEIR_STATUS_OK;
    placer p = {.graph = graph,
                .devices = devices,
                .allow_soft_placement = allow_soft_placement,
                .first = first,
                .count = count,
                .placement = placement};
    weir_status status = place(&p);
    if (!weir_ok(status))
        placement->device.count = (size_t)first;
    weir_release(p.names);
    weir_release(p.order);
    weir_release(p.groups);
    weir_text_clear(&p.problems);
    return status;
}

void weir_placement_print(const weir_placement *placement, const weir_graph *graph, const weir_device_set *devices,
                          int first, FILE *stream)
{
    for (int generators = 0; generators < 2; generators++) {
        for (size_t n = (size_t)first; n < placement->device.count; n++) {
            const weir_node *node = graph->nodes.items[n];
            if (is_generator(node) == (generators != 0))
                fprintf(stream, "%s: (%s): %s\n", node->name, node->op->name,
                        devices->items[placement->device.items[n]]->name);
        }
    }
    fflush(stream);
}

void weir_placement_clear(weir_placement *placement)
{
    weir_list_clear(&placement->device);
}
