/*
 * Pass "fuse": a product or a convolution takes over the bias and the activation after it, so that their results are never
 * written to memory and read again. The arithmetic keeps its order: results have the same bits.
 *
 * A node is taken over only if nobody else wants its result: no other consumer, no control edge, no fetch. The fused node is
 * one of the ops _FusedMatMul and _FusedConv2D, which TensorFlow's own graphs may hold, made for the plan alone; it stands in
 * the place of the last node it took over and bears its name.
 */
#include <string.h>

#include "plan/passes.h"

typedef struct fusing {
    weir_plan *plan;
    int *uses; /* [nodes]: edges, control edges and fetches that want the node */
} fusing;

typedef struct target {
    const char *op;    /* what takes over */
    const char *fused; /* what it becomes */
} target;

static const target targets[] = {{"MatMul", "_FusedMatMul"}, {"Conv2D", "_FusedConv2D"}};

static bool is_op(const weir_plan_node *node, const char *op)
{
    return node->kind == WEIR_KIND_CODE && strcmp(node->node->op->name, op) == 0;
}

static const target *find_target(const weir_plan_node *node)
{
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (is_op(node, targets[i].op))
            return &targets[i];
    }
    return NULL;
}

static void count_uses(fusing *f)
{
    for (int n = 0; n < f->plan->num_nodes; n++) {
        const weir_plan_node *node = &f->plan->nodes[n];
        for (int i = 0; i < node->num_inputs; i++)
            f->uses[node->inputs[i].node]++;
        for (int i = 0; i < node->num_controls; i++)
            f->uses[node->controls[i]]++;
    }
    for (int i = 0; i < f->plan->num_fetches; i++)
        f->uses[f->plan->fetches[i].node]++;
}

/* The only consumer's view: the producer of input 0, if it may be taken over. */
static weir_plan_node *sole_producer(const fusing *f, const weir_plan_node *node)
{
    if (node->num_inputs == 0)
        return NULL;
    weir_plan_node *producer = &f->plan->nodes[node->inputs[0].node];
    bool may_go = producer->kind == WEIR_KIND_CODE && f->uses[node->inputs[0].node] == 1 &&
                  producer->device == node->device && producer->frame == node->frame;
    return may_go ? producer : NULL;
}

/* BiasAdd, or an addition that is one: a vector as long as the product's last axis. */
static bool adds_bias(const weir_plan_node *node)
{
    if (is_op(node, "BiasAdd"))
        return weir_node_string_is(node->node, "data_format", "NHWC");
    if (!is_op(node, "AddV2") && !is_op(node, "Add"))
        return false;
    weir_shape sum = node->node->output_shapes[0];
    weir_shape bias = weir_output_shape(node->node->inputs[1]);
    return sum.rank > 1 && bias.rank == 1 && bias.dims[0] > 1 && bias.dims[0] == sum.dims[sum.rank - 1];
}

/* ---- The node that takes over ---- */

static weir_attr list_of_texts(const char *name, const weir_bytes *texts, int count)
{
    return (weir_attr){name, {.kind = WEIR_ATTR_LIST + WEIR_ATTR_STRING, .list = {.count = count, .s = texts}}};
}

/* Attributes of the product, and those that say what it took over. */
static int fused_attrs(const weir_node *product, bool has_relu, weir_attr *attrs)
{
    static const weir_bytes steps[] = {{"BiasAdd", 7}, {"Relu", 4}};
    static const weir_dtype argument_types[] = {WEIR_FLOAT};
    int count = 0;
    for (int i = 0; i < product->num_attrs; i++) {
        if (product->attrs[i].name[0] != '_')
            attrs[count++] = product->attrs[i];
    }
    attrs[count++] = list_of_texts("fused_ops", steps, has_relu ? 2 : 1);
    attrs[count++] = WEIR_ATTR_I("num_args", 1);
    attrs[count++] = WEIR_ATTR_I("num_host_args", 0);
    attrs[count++] = WEIR_ATTR_TYPES("TArgs", argument_types, 1);
    attrs[count++] = WEIR_ATTR_S("filter_format", "HWIO");
    attrs[count++] = WEIR_ATTR_F("epsilon", 0.0001f);
    attrs[count++] = WEIR_ATTR_F("leakyrelu_alpha", 0.2f);
    return count;
}

#define MORE_ATTRS 7

static weir_status make_node(weir_plan *plan, const weir_op_def *op, const weir_plan_node *product,
                             const weir_plan_node *bias, const weir_plan_node *last, weir_node **out)
{
    weir_node *made = weir_arena_take(&plan->arena, 1, sizeof *made);
    weir_output *inputs = weir_arena_take(&plan->arena, 3, sizeof *inputs);
    weir_attr *attrs = weir_arena_take(&plan->arena, (size_t)product->node->num_attrs + MORE_ATTRS, sizeof *attrs);
    if (made == NULL || inputs == NULL || attrs == NULL)
        return weir_fail_memory(sizeof *made);
    *made = *last->node;
    inputs[0] = product->node->inputs[0];
    inputs[1] = product->node->inputs[1];
    inputs[2] = bias->node->inputs[1];
    made->op = op;
    made->inputs = inputs;
    made->num_inputs = 3;
    made->attrs = attrs;
    made->num_attrs = fused_attrs(product->node, last != bias, attrs);
    *out = made;
    return WEIR_STATUS_OK;
}

static weir_status note_fused(weir_plan *plan, const weir_plan_node *const *parts, int count, const weir_fused **out)
{
    weir_fused *fused = weir_arena_take(&plan->arena, 1, sizeof *fused);
    const weir_node **nodes = weir_arena_take(&plan->arena, (size_t)count, sizeof *nodes);
    if (fused == NULL || nodes == NULL)
        return weir_fail_memory(sizeof *fused);
    for (int i = 0; i < count; i++)
        nodes[i] = parts[i]->node;
    *fused = (weir_fused){count, nodes};
    *out = fused;
    return WEIR_STATUS_OK;
}

static int *join_controls(weir_plan *plan, const weir_plan_node *const *parts, int count, int *num_controls)
{
    int total = 0;
    for (int i = 0; i < count; i++)
        total += parts[i]->num_controls;
    int *controls = weir_arena_take(&plan->arena, (size_t)total, sizeof *controls);
    for (int i = 0, at = 0; controls != NULL && i < count; i++) {
        if (parts[i]->num_controls > 0)
            memcpy(controls + at, parts[i]->controls, (size_t)parts[i]->num_controls * sizeof *controls);
        at += parts[i]->num_controls;
    }
    *num_controls = total;
    return controls;
}

static void empty(weir_plan_node *node)
{
    node->kind = WEIR_KIND_NOTHING;
    node->num_inputs = 0;
    node->num_controls = 0;
}

/* product -> bias [-> relu] into one node, in the place of the last. */
static weir_status fuse(fusing *f, const target *t, weir_plan_node *product, weir_plan_node *bias, weir_plan_node *last)
{
    weir_plan *plan = f->plan;
    const weir_op_def *op = weir_op_find(t->fused);
    weir_node *node = NULL;
    const weir_kernel *kernel = NULL;
    if (op == NULL)
        return WEIR_STATUS_OK;
    WEIR_TRY(make_node(plan, op, product, bias, last, &node));
    if (!weir_ok(weir_kernel_find(node, &kernel)))
        return WEIR_STATUS_OK; /* no kernel for these types: they stay as they are */
    const weir_plan_node *parts[] = {product, bias, last};
    int count = last == bias ? 2 : 3;
    const weir_fused *fused = NULL;
    WEIR_TRY(note_fused(plan, parts, count, &fused));
    int num_controls = 0;
    int *controls = join_controls(plan, parts, count, &num_controls);
    weir_port *inputs = weir_arena_take(&plan->arena, 3, sizeof *inputs);
    if (controls == NULL || inputs == NULL)
        return weir_fail_memory(3 * sizeof *inputs);
    inputs[0] = product->inputs[0];
    inputs[1] = product->inputs[1];
    inputs[2] = bias->inputs[1];
    last->node = node;
    last->kernel = kernel;
    last->fused = fused;
    last->inputs = inputs;
    last->num_inputs = 3;
    last->controls = controls;
    last->num_controls = num_controls;
    empty(product);
    if (last != bias)
        empty(bias);
    return WEIR_STATUS_OK;
}

static weir_status try_node(fusing *f, weir_plan_node *last)
{
    weir_plan_node *bias = is_op(last, "Relu") ? sole_producer(f, last) : last;
    if (bias == NULL || !adds_bias(bias))
        return WEIR_STATUS_OK;
    weir_plan_node *product = sole_producer(f, bias);
    const target *t = product != NULL ? find_target(product) : NULL;
    if (t == NULL || weir_node_type(product->node, "T") != WEIR_FLOAT)
        return WEIR_STATUS_OK;
    if (product->node->output_shapes[0].rank != WEIR_UNKNOWN_RANK && product->node->output_shapes[0].rank < 2)
        return WEIR_STATUS_OK;
    return fuse(f, t, product, bias, last);
}

/* Activations first: a bias that an activation after it could take along must not be taken before. */
static weir_status fuse_all(fusing *f)
{
    for (int n = 0; n < f->plan->num_nodes; n++) {
        if (is_op(&f->plan->nodes[n], "Relu"))
            WEIR_TRY(try_node(f, &f->plan->nodes[n]));
    }
    for (int n = 0; n < f->plan->num_nodes; n++)
        WEIR_TRY(try_node(f, &f->plan->nodes[n]));
    return WEIR_STATUS_OK;
}

weir_status weir_pass_fuse(weir_plan *plan)
{
    fusing f = {.plan = plan};
    WEIR_TRY(weir_new(&f.uses, (size_t)plan->num_nodes));
    count_uses(&f);
    weir_status status = fuse_all(&f);
    weir_release(f.uses);
    return status;
}
