/*
 * Every op of the registry, built with inputs of the right types, odd shapes and odd attributes: it is refused, or its
 * outputs have shapes that make sense, and so has what differentiating it adds. Rules of shapes see such nodes when graphs
 * come from files and from the network.
 *
 * test: timeout=600
 */
#include "graph_test.h"

#include <weir/gradients.h>

#include "fuzz/mutate.h"
#include "tensor/tensor.h"

#ifndef ROUNDS
#define ROUNDS 300 /* for each op */
#endif

#define MOST_INPUTS 32

/* ---- Odd things ---- */

/* How odd a node is to be: some ops want shapes and attributes that go together, which chance does not find. */
typedef struct chance {
    uint64_t state;
    bool is_tame;  /* numbers are small, lists have four entries */
    bool is_open;  /* no shape is known */
    bool is_alike; /* all inputs have this shape */
    weir_shape shape;
} chance;

static size_t below(chance *c, size_t limit)
{
    return fuzz_below(&c->state, limit);
}

static int64_t pick_dim(chance *c)
{
    static const int64_t dims[] = {-1, -1, 0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 28, INT32_MAX, INT64_MAX};
    return dims[below(c, sizeof dims / sizeof *dims)];
}

static weir_shape pick_shape(chance *c)
{
    static const int ranks[] = {-1, 0, 1, 1, 2, 2, 3, 4, 4, 4, 5, 11, 12};
    if (c->is_open || c->is_alike)
        return c->is_open ? weir_shape_unknown() : c->shape;
    weir_shape shape = {.rank = ranks[below(c, sizeof ranks / sizeof *ranks)]};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = pick_dim(c);
    return shape;
}

static int64_t pick_number(chance *c)
{
    static const int64_t numbers[] = {0,  0,  1,  1,  1,    2,         2,         3,         4,        -1,
                                      -1, -2, -3, 13, 1000, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return c->is_tame ? 1 : numbers[below(c, sizeof numbers / sizeof *numbers)];
}

static weir_dtype pick_type(chance *c, const weir_dtype *allowed)
{
    static const weir_dtype common[] = {WEIR_FLOAT, WEIR_FLOAT, WEIR_INT32,  WEIR_INT64, WEIR_DOUBLE,
                                        WEIR_BOOL,  WEIR_HALF,  WEIR_STRING, WEIR_UINT8};
    size_t count = 0;
    if (allowed == NULL)
        return common[below(c, sizeof common / sizeof *common)];
    while (allowed[count] != WEIR_INVALID_DTYPE)
        count++;
    return allowed[below(c, count)];
}

/* ---- Attributes ---- */

typedef struct made {
    weir_attr attrs[32];
    int count;
    int64_t numbers[32][8];
    weir_dtype types[32][8];
    weir_shape shapes[32][4];
    weir_bytes texts[32][2];
} made;

static weir_bytes pick_text(chance *c, const char *const *allowed)
{
    static const char *const common[] = {"", "a", "NHWC", "frame", "%d", "->", "ij,jk->ik"};
    size_t count = 0;
    while (allowed != NULL && allowed[count] != NULL)
        count++;
    const char *text = count > 0 ? allowed[below(c, count)] : common[below(c, sizeof common / sizeof *common)];
    return (weir_bytes){text, strlen(text)};
}

static weir_attr_value pick_list(chance *c, const weir_attr_def *def, made *made)
{
    int at = made->count;
    weir_attr_value value = {.kind = def->kind};
    value.list.count =
        c->is_tame ? 4 : (int64_t)below(c, 4) + (def->has_minimum && def->minimum < 5 ? def->minimum : 0);
    switch ((int)def->kind - WEIR_ATTR_LIST) {
    case WEIR_ATTR_INT:
        for (int i = 0; i < 8; i++)
            made->numbers[at][i] = pick_number(c);
        value.list.i = made->numbers[at];
        return value;
    case WEIR_ATTR_TYPE:
        for (int i = 0; i < 8; i++)
            made->types[at][i] = pick_type(c, def->allowed_types);
        value.list.type = made->types[at];
        return value;
    case WEIR_ATTR_SHAPE:
        for (int i = 0; i < 4; i++)
            made->shapes[at][i] = pick_shape(c);
        value.list.shape = made->shapes[at];
        value.list.count %= 5;
        return value;
    case WEIR_ATTR_STRING:
        for (int i = 0; i < 2; i++)
            made->texts[at][i] = pick_text(c, def->allowed_texts);
        value.list.s = made->texts[at];
        value.list.count %= 3;
        return value;
    default:
        value.list.count = 0;
        return value;
    }
}

static weir_attr_value pick_value(chance *c, const weir_attr_def *def, made *made, weir_tensor *tensor)
{
    weir_attr_value value = {.kind = def->kind};
    switch ((int)def->kind) {
    case WEIR_ATTR_STRING:
        value.s = pick_text(c, def->allowed_texts);
        return value;
    case WEIR_ATTR_INT:
        value.i = pick_number(c);
        return value;
    case WEIR_ATTR_FLOAT:
        value.f = (float)pick_number(c);
        return value;
    case WEIR_ATTR_BOOL:
        value.b = below(c, 2) == 0;
        return value;
    case WEIR_ATTR_TYPE:
        value.type = pick_type(c, def->allowed_types);
        return value;
    case WEIR_ATTR_SHAPE:
        value.shape = pick_shape(c);
        return value;
    case WEIR_ATTR_TENSOR:
        value.tensor = tensor;
        return value;
    default:
        return pick_list(c, def, made);
    }
}

/* Defaults are left to the op one time in two. */
static void pick_attrs(chance *c, const weir_op_def *op, made *made, weir_tensor *tensor)
{
    made->count = 0;
    for (const weir_attr_def *def = op->attrs; def != NULL && def->name != NULL && made->count < 32; def++) {
        if (def->has_default && below(c, 2) == 0)
            continue;
        made->attrs[made->count] = (weir_attr){def->name, pick_value(c, def, made, tensor)};
        made->count++;
    }
}

/* Attributes that say how many inputs there are stay small, so that many nodes pass this first check. */
static void tame_counts(const weir_op_def *op, made *made)
{
    for (const weir_arg_def *arg = op->inputs; arg != NULL && arg->name != NULL; arg++) {
        for (int i = 0; arg->number_attr != NULL && i < made->count; i++) {
            weir_attr_value *value = &made->attrs[i].value;
            if (strcmp(made->attrs[i].name, arg->number_attr) == 0 && (value->i < 1 || value->i > 4))
                value->i = 2;
        }
    }
}

/* ---- Inputs ---- */

static const weir_attr_value *find_attr(const weir_op_def *op, const made *made, const char *name)
{
    for (int i = 0; i < made->count; i++) {
        if (strcmp(made->attrs[i].name, name) == 0)
            return &made->attrs[i].value;
    }
    for (const weir_attr_def *def = op->attrs; def != NULL && def->name != NULL; def++) {
        if (strcmp(def->name, name) == 0 && def->has_default)
            return &def->value;
    }
    return NULL;
}

/* A small constant of integers, which shape rules like to read. */
static weir_output constant_of(chance *c, weir_scope s, weir_dtype dtype)
{
    int64_t count = (int64_t)below(c, 5);
    weir_shape shape = below(c, 2) == 0 ? WEIR_SCALAR : weir_shape_of(1, &count);
    weir_tensor *tensor = NULL;
    status_ok(weir_tensor_new(dtype, shape, &tensor));
    for (int64_t i = 0; i < weir_tensor_elements(tensor); i++) {
        if (dtype == WEIR_INT32)
            weir_tensor_int32s(tensor)[i] = (int32_t)pick_number(c);
        else
            weir_tensor_int64s(tensor)[i] = pick_number(c);
    }
    weir_output output = weir_const_tensor(s, tensor, NULL);
    weir_tensor_free(tensor);
    return output;
}

static weir_output pick_input(chance *c, weir_scope s, weir_dtype dtype, bool is_ref)
{
    if (is_ref)
        return weir_out(
            weir_op(s, "VariableV2", WEIR_ATTRS(WEIR_ATTR_SH("shape", pick_shape(c)), WEIR_ATTR_T("dtype", dtype))), 0);
    if ((dtype == WEIR_INT32 || dtype == WEIR_INT64) && below(c, 3) != 0)
        return constant_of(c, s, dtype);
    return weir_out(
        weir_op(s, "Placeholder", WEIR_ATTRS(WEIR_ATTR_SH("shape", pick_shape(c)), WEIR_ATTR_T("dtype", dtype))), 0);
}

static int pick_inputs(chance *c, weir_scope s, const weir_op_def *op, const made *made,
                       weir_output inputs[MOST_INPUTS])
{
    int count = 0;
    for (const weir_arg_def *arg = op->inputs; arg != NULL && arg->name != NULL; arg++) {
        const weir_attr_value *type = arg->type_attr != NULL ? find_attr(op, made, arg->type_attr) : NULL;
        const weir_attr_value *number = arg->number_attr != NULL ? find_attr(op, made, arg->number_attr) : NULL;
        const weir_attr_value *list = arg->type_list_attr != NULL ? find_attr(op, made, arg->type_list_attr) : NULL;
        int64_t many = number != NULL ? number->i : list != NULL ? list->list.count : 1;
        for (int64_t i = 0; i < many && count < MOST_INPUTS; i++) {
            weir_dtype dtype = list != NULL ? list->list.type[i] : type != NULL ? type->type : arg->type;
            inputs[count++] = pick_input(c, s, dtype, arg->is_ref);
        }
    }
    return count;
}

/* ---- One node ---- */

static void shapes_make_sense(const weir_graph *graph)
{
    for (int i = 0; i < weir_graph_num_nodes(graph); i++) {
        weir_node *node = weir_graph_node(graph, i);
        for (int j = 0; j < weir_node_num_outputs(node); j++) {
            weir_shape shape = weir_output_shape(weir_out(node, j));
            assert_in_range(shape.rank + 1, 0, WEIR_MAX_RANK + 1);
            for (int axis = 0; axis < shape.rank; axis++) {
                if (shape.dims[axis] < -1)
                    fail_msg("%s: dimension %lld", node->op->name, (long long)shape.dims[axis]);
            }
        }
    }
}

static void differentiate(weir_graph *graph, weir_node *node, const weir_output *inputs, int count)
{
    weir_gradient_value gradients[MOST_INPUTS];
    weir_output ys[MOST_INPUTS];
    int num_ys = weir_node_num_outputs(node) < MOST_INPUTS ? weir_node_num_outputs(node) : MOST_INPUTS;
    for (int i = 0; i < num_ys; i++)
        ys[i] = weir_out(node, i);
    weir_gradients(weir_root(graph), ys, num_ys, inputs, count, NULL, gradients);
    (void)weir_graph_take_error(graph).code; /* any will do */
}

static bool run_op(uint64_t *state, const weir_op_def *op)
{
    chance now = {.state = *state};
    chance *c = &now;
    weir_shape shape = pick_shape(c);
    now.is_tame = below(c, 3) == 0;
    now.is_open = below(c, 3) == 0;
    now.is_alike = below(c, 3) == 0;
    now.shape = shape;
    weir_graph *graph = weir_graph_new();
    weir_scope s = weir_root(graph);
    weir_output inputs[MOST_INPUTS];
    made made;
    weir_tensor *tensor = NULL;
    status_ok(weir_tensor_new(WEIR_FLOAT, WEIR_SHAPE(2), &tensor));
    pick_attrs(c, op, &made, tensor);
    tame_counts(op, &made);
    int count = pick_inputs(c, s, op, &made, inputs);
    (void)weir_graph_take_error(graph).code; /* a variable's shape may be refused: then the node is not built either */
    weir_node *node =
        weir_op(s, op->name, .inputs = inputs, .num_inputs = count, .attrs = made.attrs, .num_attrs = made.count);
    (void)weir_graph_take_error(graph).code;
    if (node != NULL)
        differentiate(graph, node, inputs, count);
    shapes_make_sense(graph);
    weir_tensor_free(tensor);
    weir_graph_free(graph);
    *state = now.state;
    return node != NULL;
}

static void any_node_is_built_or_refused(void **state)
{
    uint64_t random = 0x9e3779b97f4a7c15ULL;
    int ops = 0;
    int built = 0;
    for (const weir_op_family *const *family = weir_op_families; *family != NULL; family++) {
        for (const weir_op_def *op = (*family)->ops; op->name != NULL; op++) {
            bool was_built = false;
            for (int round = 0; round < ROUNDS; round++)
                was_built = run_op(&random, op) || was_built;
            ops++;
            built += was_built;
        }
    }
    assert_true(ops > 200);
    assert_true(built > ops * 9 / 10); /* else the nodes are too odd to try anything */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_node_is_built_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
