"""The graph of each example, exported with its optimizer and initial values, runs in TensorFlow with equal losses."""
from interop import *

STEPS = 20


def node_of(graph, op_type, name=None):
    found = [op for op in graph.get_operations() if op.type == op_type and (name is None or op.name == name)]
    if not found:
        raise AssertionError(f"no {op_type} {name or ''} in the graph")
    return found


def export(example, *flags):
    file = path(example + ".pb")
    call("examples/" + example, f"--graph_def={file}", "--seed=7", *flags)
    return file


def placeholders(graph):
    """The images' and the labels' placeholder, by their shapes."""
    found = {op.outputs[0].shape.as_list()[-1]: op.outputs[0].name for op in node_of(graph, "Placeholder")}
    return found[784], found[10]


def compare(example, loss, train, init="init", batch=32, flags=(), **tolerance):
    file = export(example, *flags)
    graph = load_graph(file)
    x, y = placeholders(graph)
    images, labels = digits(STEPS, batch)
    feeds = {x: images, y: labels}
    theirs = tensorflow_losses(graph, init, train, loss, feeds, STEPS)
    ours = weir_losses(file, init, train, loss, feeds, STEPS)
    if not theirs[-1] < theirs[0]:
        raise AssertionError(f"TensorFlow does not learn: {theirs}")
    check_losses(ours, theirs, **tolerance)


@case
def device_placement():
    file = export("device_placement")
    graph = load_graph(file)
    fetches = [op.outputs[0] for op in graph.get_operations() if op.type in ("AddV2", "Mul")]
    feeds = {op.outputs[0].name: np.array(value, op.outputs[0].dtype.as_numpy_dtype)
             for op, value in zip(node_of(graph, "Placeholder"), (3, 4))}
    with session(graph) as running:
        for fetch, value in zip(fetches, running.run(fetches, feeds)):
            lines = call("tests/interop/run_graph", file, f"--fetch={fetch.name}",
                         *[feed_file(name, array[None]) for name, array in feeds.items()])
            have = np.array("".join(lines).replace("[", " ").replace("]", " ").split(), np.float64)
            check_equal(have, np.ravel(value))


@case
def mnist_softmax():
    compare("mnist_softmax", "Mean:0", "GradientDescent", flags=["--train_steps=0"])


@case
def mnist_mlp():
    compare("mnist_mlp", "Neg:0", "Adam", flags=["--train_steps=0"])


@case
def mnist_mlp_momentum():
    compare("mnist_mlp", "Neg:0", "Momentum", flags=["--train_steps=0", "--optimizer=momentum", "--learning_rate=0.001"])


@case
def mnist_cnn():
    compare("mnist_cnn", "Mean:0", "Adam", flags=["--max_epoch=0", "--model_dir=" + path("cnn")], exact_steps=7, later=5e-4)


finish()
