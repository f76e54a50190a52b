/*
 * Writes graphs for TensorFlow to read: copies a GraphDef through Weir, differentiates one, or builds one.
 *
 *   copy_graph FROM TO [--text] [--gradients=Y,X]     in bytes, or with --text in text form; prints the names of gradients
 *   copy_graph --build TO                             a network with one hidden layer and its gradients
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/gradients.h>
#include <weir/ops.h>

static weir_status read_file(const char *path, char **bytes, size_t *size)
{
    enum { MOST = 1 << 24 };
    FILE *file = fopen(path, "rb");
    *bytes = malloc(MOST);
    if (file == NULL || *bytes == NULL)
        return weir_fail(WEIR_NOT_FOUND, "%s cannot be read", path);
    *size = fread(*bytes, 1, MOST, file);
    fclose(file);
    return WEIR_STATUS_OK;
}

static weir_status write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        return weir_fail(WEIR_UNKNOWN, "%s cannot be written", path);
    return WEIR_STATUS_OK;
}

static weir_status write_graph(const weir_graph *graph, const char *path, bool is_text)
{
    void *bytes = NULL;
    char *text = NULL;
    size_t size = 0;
    if (is_text)
        WEIR_TRY(weir_graph_export_text(graph, &text));
    else
        WEIR_TRY(weir_graph_export(graph, &bytes, &size));
    weir_status status = is_text ? write_file(path, text, strlen(text)) : write_file(path, bytes, size);
    free(bytes);
    free(text);
    return status;
}

static weir_status import(weir_graph *graph, const char *path)
{
    char *bytes = NULL;
    size_t size = 0;
    weir_status status = read_file(path, &bytes, &size);
    if (weir_ok(status))
        status = weir_graph_import(weir_root(graph), bytes, size, NULL);
    free(bytes);
    return status;
}

/* Differentiates the first of the names "y,x,x..." by the others. */
static weir_status differentiate(weir_graph *graph, char *names)
{
    enum { MOST = 16 };
    weir_output outputs[MOST];
    weir_gradient_value gradients[MOST];
    int count = 0;
    for (char *name = strtok(names, ","); name != NULL && count < MOST; name = strtok(NULL, ","))
        WEIR_TRY(weir_graph_find_output(graph, name, &outputs[count++]));
    weir_gradients(weir_root(graph), outputs, 1, outputs + 1, count - 1, NULL, gradients);
    WEIR_TRY(weir_graph_error(graph));
    for (int i = 0; i < count - 1; i++) {
        weir_output dense = weir_gradient_dense(weir_root(graph), gradients[i]);
        printf("%s:%d\n", weir_node_name(dense.node), dense.index);
    }
    return weir_graph_error(graph);
}

static weir_output variable(weir_scope s, const char *name, weir_shape shape, weir_node **init)
{
    weir_scope inner = weir_in_scope(s, "%s", name);
    weir_output start = weir_random_uniform(inner, weir_shape_const(inner, shape, "shape"), .seed = WEIR_SEED(7));
    weir_output ref = weir_variable_v2(s, WEIR_FLOAT, shape, .name = weir_scope_name(inner));
    *init = weir_assign(weir_colocated_with(inner, ref.node), ref, start, .name = "Assign").node;
    return weir_identity(weir_colocated_with(inner, ref.node), ref, .name = "read");
}

static weir_status build(weir_graph *graph)
{
    weir_scope s = weir_root(graph);
    weir_node *inits[3];
    weir_output x = weir_placeholder(s, WEIR_FLOAT, WEIR_SHAPE(-1, 4), .name = "x");
    weir_output labels = weir_placeholder(s, WEIR_INT32, WEIR_SHAPE(-1), .name = "labels");
    weir_output w1 = variable(s, "w1", WEIR_SHAPE(4, 8), &inits[0]);
    weir_output b1 = variable(s, "b1", WEIR_SHAPE(8), &inits[1]);
    weir_output w2 = variable(s, "w2", WEIR_SHAPE(8, 3), &inits[2]);
    weir_output hidden = weir_relu(s, weir_bias_add(s, weir_matmul(s, x, w1), b1), .name = "hidden");
    weir_output logits = weir_matmul(weir_on_device(s, "/cpu:0"), hidden, w2, .name = "logits");
    weir_output loss = weir_reduce_mean(s, weir_sparse_softmax_cross_entropy(s, logits, labels), .name = "loss");
    weir_output xs[] = {w1, b1, w2};
    weir_gradient_value gradients[3];
    weir_gradients_options options = {.size = sizeof options, .gate = true};
    weir_gradients(s, &loss, 1, xs, 3, &options, gradients);
    weir_group(s, inits, 3, "init");
    for (int i = 0; i < 3; i++)
        printf("%s:%d\n", weir_node_name(gradients[i].values.node), gradients[i].values.index);
    return weir_graph_error(graph);
}

static weir_status run(weir_graph *graph, int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--build") == 0) {
        WEIR_TRY(build(graph));
        return write_graph(graph, argv[2], false);
    }
    bool is_text = false;
    char *names = NULL;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--text") == 0)
            is_text = true;
        else if (strncmp(argv[i], "--gradients=", strlen("--gradients=")) == 0)
            names = argv[i] + strlen("--gradients=");
        else
            return weir_fail(WEIR_INVALID_ARGUMENT, "unknown argument %s", argv[i]);
    }
    if (argc < 3)
        return weir_fail(WEIR_INVALID_ARGUMENT, "usage: copy_graph FROM TO [--text] [--gradients=Y,X...]");
    WEIR_TRY(import(graph, argv[1]));
    if (names != NULL)
        WEIR_TRY(differentiate(graph, names));
    return write_graph(graph, argv[2], is_text);
}

int main(int argc, char **argv)
{
    weir_graph *graph = weir_graph_new();
    weir_status status = run(graph, argc, argv);
    if (!weir_ok(status))
        fprintf(stderr, "copy_graph: %s\n", weir_status_text(status));
    weir_graph_free(graph);
    return weir_exit_status(status);
}
