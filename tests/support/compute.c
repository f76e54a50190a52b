/*
 * A small interpreter of graphs, by recursion over inputs and control inputs.
 */
#include "support/compute.h"

#include <stdlib.h>
#include <string.h>

static void must(weir_status status)
{
    if (!weir_ok(status)) {
        fprintf(stderr, "%s\n", weir_status_text(status));
        exit(1);
    }
}

void test_session_init(test_session *session)
{
    must(weir_container_init(&session->devices));
    must(weir_session_state_init(&session->state, &session->devices));
}

void test_session_clear(test_session *session)
{
    weir_session_state_clear(&session->state);
    weir_container_destroy(&session->devices);
}

void computation_init(computation *c, weir_graph *graph, test_session *session)
{
    *c = (computation){.graph = graph, .context = {.session = session != NULL ? &session->state : NULL}};
}

/* Room for all nodes of the graph, which may have grown. */
static void reserve(computation *c)
{
    int count = weir_graph_num_nodes(c->graph);
    if (count <= c->capacity)
        return;
    c->values = realloc(c->values, (size_t)count * sizeof *c->values);
    c->variables = realloc(c->variables, (size_t)count * sizeof(weir_variable *));
    for (int i = c->capacity; i < count; i++) {
        c->values[i] = NULL;
        c->variables[i] = NULL;
    }
    c->capacity = count;
}

void computation_restart(computation *c)
{
    for (int i = 0; i < c->capacity; i++) {
        int outputs = weir_graph_node(c->graph, i)->num_outputs;
        for (int j = 0; c->values[i] != NULL && j < outputs; j++)
            weir_tensor_free(c->values[i][j]);
        free(c->values[i]);
        c->values[i] = NULL;
    }
}

void computation_clear(computation *c)
{
    computation_restart(c);
    for (int i = 0; i < c->capacity; i++)
        weir_resource_unref(c->variables[i] != NULL ? &c->variables[i]->base : NULL);
    free(c->values);
    free(c->variables);
}

void computation_feed(computation *c, weir_output output, weir_tensor *value)
{
    reserve(c);
    c->values[output.node->id] = calloc((size_t)output.node->num_outputs, sizeof(weir_tensor *));
    c->values[output.node->id][output.index] = weir_tensor_ref(value);
}

/* The variable that a reference or handle comes from; NULL for other values. */
static weir_status variable_of(computation *c, weir_output output, weir_variable **out)
{
    *out = NULL;
    weir_node *node = output.node;
    bool is_variable = strcmp(node->op->name, "VariableV2") == 0 || strcmp(node->op->name, "Variable") == 0 ||
                       strcmp(node->op->name, "VarHandleOp") == 0;
    if (is_variable) {
        if (c->variables[node->id] == NULL)
            WEIR_TRY(weir_node_variable(c->context.session, node, weir_host_allocator(), &c->variables[node->id]));
        *out = c->variables[node->id];
        return WEIR_STATUS_OK;
    }
    weir_dtype dtype = node->output_dtypes[output.index];
    if (node->num_inputs > 0 && (weir_dtype_is_ref(dtype) || (dtype == WEIR_RESOURCE && node->num_inputs == 1)))
        return variable_of(c, node->inputs[0], out);
    return WEIR_STATUS_OK;
}

/* A node with a dead input is dead; a Merge is when all are, which it finds out itself. */
static bool is_dead(const weir_node *node, weir_tensor *const *inputs, weir_variable *const *variables)
{
    if (strcmp(node->op->name, "Merge") == 0 || strcmp(node->op->name, "RefMerge") == 0)
        return false;
    for (int i = 0; i < node->num_inputs; i++) {
        if (inputs[i] == NULL && variables[i] == NULL)
            return true;
    }
    return false;
}

static weir_status compute_inputs(computation *c, weir_node *node, weir_tensor **inputs, weir_variable **variables)
{
    for (int i = 0; i < node->num_controls; i++)
        WEIR_TRY(computation_run(c, node->controls[i]));
    for (int i = 0; i < node->num_inputs; i++) {
        weir_output input = node->inputs[i];
        WEIR_TRY(variable_of(c, input, &variables[i]));
        bool is_source = input.node->num_inputs == 0 && variables[i] != NULL;
        if (!is_source)
            WEIR_TRY(computation_get(c, input, &inputs[i]));
        if (variables[i] != NULL)
            inputs[i] = NULL;
    }
    return WEIR_STATUS_OK;
}

weir_status computation_run(computation *c, weir_node *node)
{
    reserve(c);
    if (c->values[node->id] != NULL)
        return WEIR_STATUS_OK;
    weir_tensor **inputs = calloc((size_t)node->num_inputs + 1, sizeof *inputs);
    weir_variable **variables = calloc((size_t)node->num_inputs + 1, sizeof(weir_variable *));
    weir_tensor **outputs = calloc((size_t)node->num_outputs + 1, sizeof *outputs);
    weir_status status = compute_inputs(c, node, inputs, variables);
    if (weir_ok(status) && !is_dead(node, inputs, variables))
        status = weir_evaluate_in(&c->context, node, inputs, variables, outputs);
    if (weir_ok(status))
        c->values[node->id] = outputs;
    else
        free(outputs);
    free(inputs);
    free(variables);
    return status;
}

weir_status computation_get(computation *c, weir_output output, weir_tensor **out)
{
    weir_variable *variable = NULL;
    reserve(c);
    if (output.node->num_inputs == 0)
        WEIR_TRY(variable_of(c, output, &variable));
    if (variable != NULL && output.node->output_dtypes[output.index] != WEIR_RESOURCE) {
        if (c->values[output.node->id] == NULL)
            c->values[output.node->id] = calloc(1, sizeof(weir_tensor *));
        weir_tensor_free(c->values[output.node->id][0]);
        c->values[output.node->id][0] = NULL;
        WEIR_TRY(weir_variable_read(variable, &c->values[output.node->id][0]));
        *out = c->values[output.node->id][0];
        return WEIR_STATUS_OK;
    }
    WEIR_TRY(computation_run(c, output.node));
    *out = c->values[output.node->id][output.index];
    return WEIR_STATUS_OK;
}
