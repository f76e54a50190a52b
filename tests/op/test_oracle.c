/*
 * Every recorded case of TensorFlow's values: the node is built in a graph, computed alone, and compared; its gradients
 * are built, computed and compared. One test for each case, named "Op/number".
 *
 *     test_oracle [FILTER]        only cases whose name fits, such as "Conv2D*"
 *
 * test: timeout=300
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/gradients.h>
#include <weir/ops.h>

#include "support/cases.h"
#include "support/compare.h"
#include "support/compute.h"

#include <cmocka.h>

#define WHY 512

/* A case while it is run. */
typedef struct trial {
    const recorded_case *recorded;
    weir_graph *graph;
    weir_scope scope;
    test_session session;
    computation computation;
    weir_output *inputs; /* [recorded->inputs.count] */
    weir_node *node;
    const char *failed; /* NULL: it has not */
    char why[WHY];
} trial;

static bool note(trial *t, const char *what, const char *why)
{
    if (t->failed == NULL) {
        t->failed = what;
        if (why != t->why)
            snprintf(t->why, sizeof t->why, "%s", why);
    }
    return false;
}

/* ---- Building ---- */

static bool is_fed(const weir_tensor *tensor)
{
    return weir_dtype_is_floating(tensor->dtype) || weir_dtype_is_complex(tensor->dtype) ||
           tensor->dtype == WEIR_STRING;
}

/* As when it was recorded: floats, complex numbers and strings are fed, the rest are constants. */
static bool build_inputs(trial *t)
{
    int count = t->recorded->inputs.count;
    t->inputs = calloc((size_t)count + 1, sizeof *t->inputs);
    for (int i = 0; i < count; i++) {
        weir_tensor *value = t->recorded->inputs.items[i];
        if (is_fed(value)) {
            t->inputs[i] = weir_placeholder(t->scope, value->dtype, value->shape);
            if (t->inputs[i].node != NULL)
                computation_feed(&t->computation, t->inputs[i], value);
        } else {
            t->inputs[i] = weir_const_tensor(t->scope, value, NULL);
        }
        if (t->inputs[i].node == NULL)
            return note(t, "building an input", weir_status_text(weir_graph_error(t->graph)));
    }
    return true;
}

static bool build_node(trial *t)
{
    const recorded_case *c = t->recorded;
    t->node = weir_op_build(t->scope, c->op,
                            &(weir_op_options){.size = sizeof(weir_op_options),
                                               .inputs = t->inputs,
                                               .num_inputs = c->inputs.count,
                                               .attrs = c->attrs,
                                               .num_attrs = c->num_attrs});
    return t->node != NULL;
}

/* ---- Values ---- */

/* TensorFlow's vector loops flush some denormal numbers to zero: such elements are not compared where inputs and output
 * stand side by side, unless the case is exact for ordinary numbers. NULL: none. */
static bool *may_be_flushed(const recorded_case *c, const weir_tensor *expected, tolerance tol)
{
    if (tol.exact && strncmp(c->note, "special values", 14) != 0)
        return NULL;
    bool *skip = calloc((size_t)expected->elements + 1, sizeof *skip);
    for (int i = 0; i < c->inputs.count; i++)
        add_denormals(c->inputs.items[i], expected, skip);
    return skip;
}

static bool check(trial *t, const weir_tensor *value, const weir_tensor *expected, tolerance tol, const char *what)
{
    if (value == NULL)
        return note(t, what, "there is none");
    bool *skip = may_be_flushed(t->recorded, expected, tol);
    bool agrees = tensors_agree(value, expected, tol, skip, t->why, sizeof t->why);
    free(skip);
    return agrees || note(t, what, t->why);
}

static bool check_inferred(trial *t, int index, const weir_tensor *value)
{
    char inferred[WEIR_SHAPE_TEXT_SIZE];
    char text[WEIR_SHAPE_TEXT_SIZE];
    weir_shape shape = weir_output_shape(weir_node_output(t->node, index));
    if (weir_shape_compatible(shape, value->shape))
        return true;
    snprintf(t->why, sizeof t->why, "output %d is %s, inferred was %s", index,
             weir_shape_text(value->shape, text, sizeof text), weir_shape_text(shape, inferred, sizeof inferred));
    return note(t, "shape rule", t->why);
}

static bool check_run(trial *t, const tensors *expected)
{
    weir_tensor **values = calloc((size_t)t->node->num_outputs + 1, sizeof *values);
    weir_status status = weir_evaluate_in(&t->computation.context, t->node, t->recorded->inputs.items, NULL, values);
    bool agrees = weir_ok(status) || note(t, "computing", weir_status_text(status));
    for (int i = 0; i < expected->count && agrees; i++)
        agrees = check_inferred(t, i, values[i]) && check(t, values[i], expected->items[i], t->recorded->tol, "value");
    for (int i = 0; i < t->node->num_outputs; i++)
        weir_tensor_free(values[i]);
    free(values);
    return agrees;
}

static bool check_values(trial *t)
{
    for (int i = 0; i < t->recorded->num_runs; i++) {
        if (!check_run(t, &t->recorded->runs[i]))
            return false;
    }
    return true;
}

/* ---- Gradients ---- */

static bool check_gradient(trial *t, int input, weir_gradient_value gradient)
{
    const weir_tensor *expected = t->recorded->dx.items[input];
    char what[64];
    snprintf(what, sizeof what, "gradient of input %d", input);
    if (expected == NULL)
        return gradient.values.node == NULL || note(t, "gradient of an input", "TensorFlow has none there");
    if (gradient.values.node == NULL)
        return note(t, "gradient of an input", "there is none");
    weir_output dense = weir_gradient_dense(t->scope, gradient);
    weir_tensor *value = NULL;
    if (dense.node == NULL)
        return note(t, "making a gradient dense", weir_status_text(weir_graph_error(t->graph)));
    weir_status status = computation_get(&t->computation, dense, &value);
    if (!weir_ok(status))
        return note(t, "computing a gradient", weir_status_text(status));
    if (check(t, value, expected, t->recorded->dx_tol, "gradient"))
        return true;
    char why[WHY];
    snprintf(why, sizeof why, "%s: %.400s", what, t->why);
    memcpy(t->why, why, sizeof why);
    return false;
}

static bool check_gradients(trial *t)
{
    const recorded_case *c = t->recorded;
    if (!c->has_gradient)
        return true;
    weir_output *ys = calloc((size_t)c->dy.count + 1, sizeof *ys);
    weir_output *dys = calloc((size_t)c->dy.count + 1, sizeof *dys);
    weir_output *xs = calloc((size_t)c->inputs.count + 1, sizeof *xs);
    int *which = calloc((size_t)c->inputs.count + 1, sizeof *which);
    weir_gradient_value *gradients = calloc((size_t)c->inputs.count + 1, sizeof *gradients);
    int num_ys = 0;
    int num_xs = 0;
    for (int i = 0; i < c->dy.count; i++) {
        if (c->dy.items[i] == NULL)
            continue;
        ys[num_ys] = weir_node_output(t->node, i);
        dys[num_ys++] = weir_const_tensor(t->scope, c->dy.items[i], NULL);
    }
    for (int i = 0; i < c->inputs.count; i++) {
        if (!weir_dtype_is_floating(c->inputs.items[i]->dtype))
            continue;
        which[num_xs] = i;
        xs[num_xs++] = t->inputs[i];
    }
    weir_gradients(t->scope, ys, num_ys, xs, num_xs,
                   &(weir_gradients_options){.size = sizeof(weir_gradients_options), .grad_ys = dys}, gradients);
    weir_status status = weir_graph_error(t->graph);
    bool agrees = weir_ok(status) || note(t, "building gradients", weir_status_text(status));
    for (int i = 0; i < num_xs && agrees; i++)
        agrees = check_gradient(t, which[i], gradients[i]);
    free(ys);
    free(dys);
    free(xs);
    free(which);
    free(gradients);
    return agrees;
}

/* ---- Failures ---- */

static bool check_failure(trial *t, weir_status status)
{
    const recorded_case *c = t->recorded;
    if (weir_ok(status))
        return note(t, "failure", "it succeeds");
    if ((int)status.code == c->code && strstr(weir_status_text(status), c->message) != NULL)
        return true;
    snprintf(t->why, sizeof t->why, "%s '%.200s' instead of %s '%.200s'", weir_code_name(status.code),
             weir_status_text(status), weir_code_name((weir_code)c->code), c->message);
    return note(t, "failure", t->why);
}

/* What TensorFlow finds out when a node runs may be found when it is built, and the other way round. */
static bool check_fails(trial *t, bool is_built)
{
    if (!is_built)
        return check_failure(t, weir_graph_error(t->graph));
    weir_tensor **values = calloc((size_t)t->node->num_outputs + 1, sizeof *values);
    weir_status status = weir_evaluate_in(&t->computation.context, t->node, t->recorded->inputs.items, NULL, values);
    bool agrees = check_failure(t, status);
    for (int i = 0; i < t->node->num_outputs; i++)
        weir_tensor_free(values[i]);
    free(values);
    return agrees;
}

/* ---- Updates ---- */

/* The variable an input refers to: by reference, or by handle. */
static weir_output build_variable(trial *t, const weir_tensor *initial, bool is_ref)
{
    weir_attr attrs[] = {WEIR_ATTR_SH("shape", initial->shape), WEIR_ATTR_T("dtype", initial->dtype)};
    return weir_out(weir_op(t->scope, is_ref ? "VariableV2" : "VarHandleOp", .attrs = attrs, .num_attrs = 2), 0);
}

static bool build_update(trial *t)
{
    const recorded_case *c = t->recorded;
    const weir_op_def *op = weir_op_find(c->op);
    const tensors *inputs = &c->steps[0].inputs;
    if (op == NULL)
        return note(t, "building", "there is no such op");
    t->inputs = calloc((size_t)(c->states.count + inputs->count) + 1, sizeof *t->inputs);
    for (int i = 0; i < c->states.count; i++)
        t->inputs[i] = build_variable(t, c->states.items[i], op->inputs[0].is_ref);
    for (int i = 0; i < inputs->count; i++) {
        const weir_tensor *value = inputs->items[i];
        t->inputs[c->states.count + i] = weir_placeholder(t->scope, value->dtype, value->shape);
    }
    t->node = weir_op_build(t->scope, c->op,
                            &(weir_op_options){.size = sizeof(weir_op_options),
                                               .inputs = t->inputs,
                                               .num_inputs = c->states.count + inputs->count,
                                               .attrs = c->attrs,
                                               .num_attrs = c->num_attrs});
    return t->node != NULL || note(t, "building", weir_status_text(weir_graph_error(t->graph)));
}

static bool check_variable(trial *t, weir_variable *variable, const weir_tensor *expected)
{
    weir_tensor *value = NULL;
    weir_status status = weir_variable_read(variable, &value);
    bool agrees = weir_ok(status) || note(t, "reading a variable", weir_status_text(status));
    agrees = agrees && check(t, value, expected, t->recorded->step_tol, "variable");
    weir_tensor_free(value);
    return agrees;
}

static bool check_step(trial *t, const recorded_step *step, weir_variable **variables)
{
    const recorded_case *c = t->recorded;
    weir_tensor **inputs = calloc((size_t)t->node->num_inputs + 1, sizeof *inputs);
    weir_tensor *output = NULL;
    memcpy(inputs + c->states.count, step->inputs.items, (size_t)step->inputs.count * sizeof *inputs);
    weir_status status = weir_evaluate_in(&t->computation.context, t->node, inputs, variables, &output);
    bool agrees = weir_ok(status) || note(t, "updating", weir_status_text(status));
    if (agrees && t->node->num_outputs > 0)
        agrees = check(t, output, step->after.items[0], c->step_tol, "value of the reference");
    weir_tensor_free(output);
    for (int i = 0; i < c->states.count && agrees; i++)
        agrees = check_variable(t, variables[i], step->after.items[i]);
    free(inputs);
    return agrees;
}

static bool check_steps(trial *t)
{
    const recorded_case *c = t->recorded;
    if (!build_update(t))
        return false;
    weir_variable **variables = calloc((size_t)t->node->num_inputs + 1, sizeof(weir_variable *));
    bool agrees = true;
    for (int i = 0; i < c->states.count && agrees; i++) {
        const weir_tensor *initial = c->states.items[i];
        weir_status status =
            weir_variable_create("v", initial->dtype, &initial->shape, weir_host_allocator(), &variables[i]);
        if (weir_ok(status))
            status = weir_variable_assign(variables[i], initial->dtype, &initial->shape, initial->data);
        agrees = weir_ok(status) || note(t, "making a variable", weir_status_text(status));
    }
    for (int i = 0; i < c->num_steps && agrees; i++)
        agrees = check_step(t, &c->steps[i], variables);
    for (int i = 0; i < c->states.count; i++)
        weir_resource_unref(variables[i] != NULL ? &variables[i]->base : NULL);
    free(variables);
    return agrees;
}

/* ---- One case ---- */

/* Cases in which TensorFlow's recorded value is a fault of that version, not to be followed. */
static const struct {
    const char *op;
    int number;
} faults[] = {
    {"Round", 4}, /* of integers: 0 for all of them; they are round already */
    {"Round", 5},
};

static bool is_fault(const recorded_case *c)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (strcmp(faults[i].op, c->op) == 0 && faults[i].number == c->number)
            return true;
    }
    return false;
}

static void run_trial(trial *t)
{
    const recorded_case *c = t->recorded;
    if (c->num_steps > 0) {
        check_steps(t);
        return;
    }
    if (!build_inputs(t))
        return;
    bool is_built = build_node(t);
    if (c->fails) {
        check_fails(t, is_built);
        return;
    }
    if (!is_built) {
        note(t, "building", weir_status_text(weir_graph_error(t->graph)));
        return;
    }
    (void)(check_values(t) && check_gradients(t));
}

static void test_case(void **state)
{
    if (is_fault(*state))
        skip();
    trial t = {.recorded = *state, .graph = weir_graph_new()};
    t.scope = weir_root(t.graph);
    test_session_init(&t.session);
    computation_init(&t.computation, t.graph, &t.session);
    run_trial(&t);
    computation_clear(&t.computation);
    test_session_clear(&t.session);
    free(t.inputs);
    weir_graph_free(t.graph);
    if (t.failed != NULL)
        fail_msg("%s/%d%s%s: %s: %s", t.recorded->op, t.recorded->number, t.recorded->note[0] != '\0' ? ", " : "",
                 t.recorded->note, t.failed, t.why);
}

static int add_family(const char *family, struct CMUnitTest **tests, int count)
{
    case_file file = cases_read(family);
    *tests = realloc(*tests, (size_t)(count + file.count) * sizeof **tests);
    for (int i = 0; i < file.count; i++) {
        char *name = NULL;
        if (asprintf(&name, "%s/%d", file.cases[i].op, file.cases[i].number) < 0)
            exit(1);
        (*tests)[count + i] = (struct CMUnitTest){name, test_case, NULL, NULL, &file.cases[i]};
    }
    return count + file.count;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest *tests;
    int count = 0;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    for (const char *const *family = case_families; *family != NULL; family++)
        count = add_family(*family, &tests, count);
    int failed = _cmocka_run_group_tests("recorded cases", tests, (size_t)count, NULL, NULL);
    for (int i = 0; i < count; i++)
        free((char *)tests[i].name);
    free(tests);
    return failed;
}
