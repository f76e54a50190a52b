"""Graphs that Weir writes load in TensorFlow and mean the same there: TensorFlow's own graphs after a way through Weir, in
bytes and in text, with gradients that Weir added, and graphs that Weir built."""
from google.protobuf import text_format

from interop import *

GRAPHS = os.path.join(os.environ.get("WEIR_SOURCE_DIR", "."), "tests", "format", "data", "graphs")


def read(file):
    graph = tf.GraphDef()
    with open(file, "rb") as data:
        graph.ParseFromString(data.read())
    return graph


def loaded(graph_def):
    """What TensorFlow makes of it: attributes complete, inputs in its form, nodes by name."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    return {node.name: node for node in graph.as_graph_def().node}


def same_tensor(first, second):
    first, second = tf.make_ndarray(first), tf.make_ndarray(second)
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def check_same(ours, theirs):
    """Equal nodes; tensors may be written in different ways."""
    if sorted(ours) != sorted(theirs):
        raise AssertionError(f"nodes {sorted(set(ours) ^ set(theirs))} are in one of the graphs only")
    for name, node in theirs.items():
        other = ours[name]
        for key in node.attr:
            if node.attr[key].HasField("tensor") and same_tensor(node.attr[key].tensor, other.attr[key].tensor):
                other.attr[key].CopyFrom(node.attr[key])
        if other != node:
            raise AssertionError(f"{text_format.MessageToString(other)}\nis not\n{text_format.MessageToString(node)}")


def without_summaries(name):
    """A graph of TensorFlow's without the nodes that only write logs."""
    graph = read(os.path.join(GRAPHS, name))
    for i in reversed([i for i, node in enumerate(graph.node) if "Summary" in node.op]):
        del graph.node[i]
    file = path(name)
    with open(file, "wb") as out:
        out.write(graph.SerializeToString())
    return graph, file


def check_copy(name):
    graph, file = without_summaries(name)
    call("tests/interop/copy_graph", file, path("copy.pb"))
    check_same(loaded(read(path("copy.pb"))), loaded(graph))
    call("tests/interop/copy_graph", file, path("copy.pbtxt"), "--text")
    with open(path("copy.pbtxt"), encoding="utf-8") as text:
        check_same(loaded(text_format.Parse(text.read(), tf.GraphDef())), loaded(graph))


@case
def a_multilayer_perceptron():
    check_copy("mlp.pb")


@case
def a_convolutional_network():
    check_copy("cnn.pb")


@case
def a_frozen_graph():
    check_copy("frozen.pb")


@case
def loops_conditionals_and_queues():
    check_copy("mlp_stripped.pb")


@case
def constants_of_every_type():
    graph = tf.Graph()
    with graph.as_default():
        for dtype in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                      "uint64", "bool", "complex64", "complex128", "bfloat16"):
            numpy_type = tf.as_dtype(dtype).as_numpy_dtype
            for name, value in (("scalar", 1), ("vector", [0, 1, 1]), ("fill", np.ones([2, 3])), ("empty", np.zeros([0, 2]))):
                tf.constant(np.array(value).astype(numpy_type), dtype, name=f"{dtype}_{name}")
        tf.constant([b"a", b"\xff\0b", b""], name="strings")
        tf.constant("text", shape=[2, 2], name="string_fill")
        tf.constant(-0.0, shape=[3], name="negative_zeros")
    file = save_graph("constants.pb", graph)
    call("tests/interop/copy_graph", file, path("copy.pb"))
    check_same(loaded(read(path("copy.pb"))), loaded(graph.as_graph_def()))


@case
def gradients_that_weir_added():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 5], name="x")
        table = tf.placeholder(tf.float32, [7, 5], name="table")
        rows = tf.gather(table, [1, 3, 1])
        joined = tf.concat([tf.tanh(x), rows], 0)
        weights = tf.nn.softmax(tf.matmul(joined, table, transpose_b=True))
        y = tf.reduce_sum(tf.square(weights) * tf.exp(-tf.range(7.0)), name="y")
        theirs = tf.gradients(y, [x, table])
        theirs[1] = tf.convert_to_tensor(theirs[1])
        feed = {x: np.random.RandomState(1).randn(4, 5), table: np.random.RandomState(2).randn(7, 5)}
        with session(graph) as running:
            expected = running.run(theirs, feed)
    forward = tf.Graph()
    with forward.as_default():
        tf.import_graph_def(tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["y"]), name="")
    file = save_graph("forward.pb", forward)
    names = call("tests/interop/copy_graph", file, path("copy.pb"), "--gradients=y,x,table")
    copied = load_graph(path("copy.pb"))
    with session(copied) as running:
        values = running.run(names, {tensor.name: value for tensor, value in feed.items()})
    for ours, value in zip(values, expected):
        check_equal(ours, value)


@case
def a_network_that_weir_built():
    names = call("tests/interop/copy_graph", "--build", path("built.pb"))
    graph = load_graph(path("built.pb"))
    feed = {"x:0": np.random.RandomState(1).randn(6, 4).astype(np.float32), "labels:0": np.arange(6) % 3}
    with graph.as_default():
        theirs = tf.gradients(graph.get_tensor_by_name("loss:0"),
                              [graph.get_tensor_by_name(f"{name}/read:0") for name in ("w1", "b1", "w2")])
    with session(graph) as running:
        running.run("init")
        for ours, expected in zip(running.run(names, feed), running.run(theirs, feed)):
            check_equal(ours, expected)
    assert graph.get_operation_by_name("logits").device == "/device:CPU:0"
    assert graph.get_operation_by_name("w1/read").colocation_groups() == [b"loc:@w1"]


finish()
