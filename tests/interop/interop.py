"""What the tests against TensorFlow share: TAP lines, files for feeds, calls of Weir's programs."""
import os
import subprocess
import sys
import tempfile
import traceback

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="-1")
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

build = os.environ.get("WEIR_BUILD_DIR", "build")
folder = tempfile.TemporaryDirectory()
_number = 0


def path(name):
    return os.path.join(folder.name, name)


def case(test):
    """Runs a test now and prints its line."""
    global _number
    _number += 1
    name = test.__name__
    try:
        test()
        print(f"ok {_number} - {name}", flush=True)
    except Exception:
        print("# " + traceback.format_exc().replace("\n", "\n# "))
        print(f"not ok {_number} - {name}", flush=True)
    return test


def finish():
    print(f"1..{_number}")


def call(program, *arguments):
    """The lines that a program of the build prints; an exception with its errors if it fails."""
    result = subprocess.run([os.path.join(build, program), *arguments], capture_output=True, text=True, timeout=300)
    if result.returncode != 0:
        raise RuntimeError(f"{program} {' '.join(arguments)}: status {result.returncode}: {result.stderr}")
    return result.stdout.splitlines()


def feed_file(name, array):
    """An array [steps, ...] as the flag that feeds one step after another."""
    file = path(name.replace("/", "_").replace(":", "_") + ".bin")
    array.tofile(file)
    dims = ",".join(str(size) for size in array.shape[1:]) or "-"
    return f"--feed={name}@{array.dtype.name}@{dims}@{file}"


def save_graph(name, graph):
    file = path(name)
    with open(file, "wb") as out:
        out.write(graph.as_graph_def().SerializeToString())
    return file


def load_graph(file):
    graph_def = tf.GraphDef()
    with open(file, "rb") as bytes_:
        graph_def.ParseFromString(bytes_.read())
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    return graph


def session(graph):
    config = tf.ConfigProto(allow_soft_placement=True, device_count={"CPU": 2}, intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return tf.Session(graph=graph, config=config)


def tensorflow_losses(graph, init, train, loss, feeds, steps):
    with session(graph) as running:
        running.run(init)
        return [running.run([loss, train], {name: array[step] for name, array in feeds.items()})[0]
                for step in range(steps)]


def weir_losses(file, init, train, loss, feeds, steps):
    lines = call("tests/interop/run_graph", file, f"--init={init}", f"--train={train}", f"--fetch={loss}",
                 f"--steps={steps}", *[feed_file(name, array) for name, array in feeds.items()])
    return [float(line) for line in lines]


def check_equal(ours, theirs, tolerance=1e-5):
    ours, theirs = np.array(ours, np.float64), np.array(theirs, np.float64)
    if not np.allclose(ours, theirs, rtol=tolerance, atol=tolerance):
        raise AssertionError(f"Weir {ours}\nTensorFlow {theirs}")


def check_losses(ours, theirs, exact_steps=20, later=1e-5):
    """Equal to 1e-5 for exact_steps, to later after that. Adam divides gradients by their own size: behind a batch norm,
    weights whose gradient is zero but for rounding take full steps in the direction of the last bit, which no two
    implementations share, and from then on the networks part slowly."""
    check_equal(ours[:exact_steps], theirs[:exact_steps])
    check_equal(ours[exact_steps:], theirs[exact_steps:], later)


def digits(steps, batch, seed=1):
    """Images and one-hot labels that can be learned: [steps, batch, 784], [steps, batch, 10]. Like handwriting, most of an
    image is empty, so that the learning rates of the tutorials suit."""
    random = np.random.RandomState(seed)
    strokes = random.rand(10, 784) < 0.15
    labels = random.randint(0, 10, (steps, batch))
    ink = random.rand(steps, batch, 784) < 0.8
    images = (strokes[labels] & ink) * (0.5 + 0.5 * random.rand(steps, batch, 784))
    return images.astype(np.float32), np.eye(10, dtype=np.float32)[labels]
