#!/usr/bin/env python3
"""Records what TensorFlow's tf.gradients adds to some graphs.

  record_gradients.py [OUT]

Needs TensorFlow 2.21 (compat.v1). Writes OUT/gradients.bin.gz (default: data/ beside this file). It is, unpacked, a list of
blocks, each with its length in 32 bits, little-endian: for each case its name, its options (words of: gate, colocate,
device=D), the number of nodes before tf.gradients in decimal, the names of ys, xs, the gradients given for ys ("-": none)
and stops, the result for each x ("-": none; "values indices dense_shape" for rows), each list separated by newlines, and
the GraphDef afterwards.
"""
import gzip
import io
import os
import struct
import sys

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3")
import tensorflow.compat.v1 as tf  # noqa: E402

tf.disable_v2_behavior()
tf.disable_resource_variables()

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def image(*shape, name="x"):
    return tf.placeholder(tf.float32, shape, name=name)


def variable(name, *shape):
    return tf.get_variable(name, shape, tf.float32, tf.zeros_initializer())


# Each case builds a graph and returns (ys, xs, options).

@case
def mlp():
    x = image(8, 4)
    labels = tf.placeholder(tf.int32, [8], name="labels")
    w1, b1, w2, b2 = variable("w1", 4, 6), variable("b1", 6), variable("w2", 6, 3), variable("b2", 3)
    hidden = tf.nn.relu(tf.matmul(x, w1) + b1, name="hidden")
    logits = tf.nn.bias_add(tf.matmul(hidden, w2), b2, name="logits")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=labels), name="loss")
    return [loss], [w1, b1, w2, b2], {"gate": True}


@case
def mlp_of_any_batch():
    x = image(None, 4)
    labels = tf.placeholder(tf.float32, [None, 3], name="labels")
    w1, b1, w2 = variable("w1", 4, 6), variable("b1", 6), variable("w2", 6, 3)
    hidden = tf.sigmoid(tf.matmul(x, w1) + b1, name="hidden")
    logits = tf.matmul(hidden, w2, name="logits")
    entropy = tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=labels)
    loss = tf.reduce_mean(entropy) + 0.1 * tf.nn.l2_loss(w1)
    return [loss], [w1, b1, w2], {"gate": True}


@case
def cnn():
    x = image(2, 8, 8, 1)
    labels = tf.placeholder(tf.float32, [2, 3], name="labels")
    kernel, bias, weights = variable("kernel", 3, 3, 1, 4), variable("bias", 4), variable("weights", 64, 3)
    conv = tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME", name="conv")
    active = tf.nn.relu(tf.nn.bias_add(conv, bias))
    pooled = tf.nn.max_pool(active, [1, 2, 2, 1], [1, 2, 2, 1], "VALID", name="pool")
    logits = tf.matmul(tf.reshape(pooled, [-1, 64]), weights, name="logits")
    loss = tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=labels), name="loss")
    return [loss], [kernel, bias, weights], {}


@case
def batch_norm():
    x = image(2, 4, 4, 3)
    scale, offset = variable("scale", 3), variable("offset", 3)
    normal, _, _ = tf.nn.fused_batch_norm(x, scale, offset, name="norm")
    pooled = tf.nn.avg_pool(normal, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    return [tf.reduce_max(pooled, name="y")], [x, scale, offset], {"gate": True}


@case
def sums_by_device():
    x, w = image(2), image(2, name="w")
    with tf.device("/cpu:1"):
        a = tf.multiply(x, w, name="a")
        c = tf.multiply(x, x, name="c")
    with tf.device("/cpu:0"):
        b = tf.multiply(x, w, name="b")
    return [tf.add_n([a, b, c, x], name="y")], [x, w], {"colocate": True, "gate": True}


@case
def sums_without_colocation():
    x, w = image(2), image(2, name="w")
    with tf.device("/cpu:1"):
        a = tf.multiply(x, w, name="a")
    with tf.device("/cpu:0"):
        b = tf.multiply(x, w, name="b")
    return [tf.add(a, b, name="y")], [x, w], {"gate": True, "device": "/cpu:7"}


@case
def sum_of_four():
    x = image(2)
    return [tf.add_n([tf.square(x), tf.exp(x), tf.tanh(x), tf.sigmoid(x)], name="y")], [x], {}


@case
def rows():
    table, index = image(5, 2, name="table"), tf.placeholder(tf.int32, [3], name="index")
    return [tf.gather(table, index, name="y")], [table], {}


@case
def rows_twice():
    table, index = image(5, 2, name="table"), tf.placeholder(tf.int32, [3], name="index")
    return [tf.gather(table, index, name="y"), tf.gather(table, index, name="z")], [table], {}


@case
def rows_and_dense():
    table, index = image(5, 2, name="table"), tf.placeholder(tf.int32, [3], name="index")
    return [tf.gather(table, index, name="y"), tf.square(table, name="q")], [table], {}


@case
def given_and_stopped():
    x, given = image(2), image(2, name="given")
    a = tf.square(x, name="a")
    b = tf.multiply(a, x, name="b")
    return [b, a], [x], {"grad_ys": [given, None], "stops": [a]}


@case
def itself_and_nothing():
    x, other = image(2), image(2, name="other")
    return [x], [x, other], {}


@case
def through_integers():
    x = image(4)
    return [tf.multiply(tf.cast(tf.cast(x, tf.int32), tf.float32), x, name="y")], [x], {}


@case
def x_within():
    x = image(3)
    hidden = tf.square(x, name="hidden")
    return [tf.multiply(hidden, x, name="y")], [hidden, x], {}


@case
def shared_weights():
    x, w = image(2, 3), variable("w", 3, 3)
    state = x
    for i in range(3):
        state = tf.tanh(tf.matmul(state, w), name=f"state{i}")
    return [tf.reduce_sum(state, name="y")], [w], {"gate": True}


@case
def lstm_step():
    x, h, c = image(2, 3), image(2, 4, name="h"), image(2, 4, name="c")
    w = variable("w", 7, 16)
    gates = tf.matmul(tf.concat([x, h], 1), w)
    i, j, f, o = tf.split(gates, 4, axis=1)
    new_c = tf.add(c * tf.sigmoid(f + 1.0), tf.sigmoid(i) * tf.tanh(j), name="new_c")
    new_h = tf.multiply(tf.tanh(new_c), tf.sigmoid(o), name="new_h")
    return [new_h], [w, x, c], {"gate": True}


@case
def moving_around():
    x = image(4, 6)
    parts = tf.unstack(tf.transpose(x, name="t"), name="parts")
    back = tf.stack(parts[:3], axis=1, name="back")
    tiled = tf.tile(tf.expand_dims(back, 0), [2, 1, 1], name="tiled")
    padded = tf.pad(tf.squeeze(tiled[:1], [0]), [[0, 1], [1, 0]], name="padded")
    return [tf.reduce_mean(tf.slice(padded, [0, 1], [2, 2]), name="y")], [x], {}


@case
def unused_output():
    x = image(4, None)
    _, second = tf.split(x, 2, name="parts")
    return [second], [x], {}


@case
def conditional():
    x, w = image(2), image(2, name="w")
    p = tf.placeholder(tf.bool, [], name="p")
    y = tf.cond(p, lambda: x * w, lambda: tf.square(x))
    return [y], [x, w], {}


@case
def exotic_functions():
    x, z = image(3), image(3, name="z")
    y = tf.pow(tf.abs(x), 2.0) / tf.sqrt(z) - tf.maximum(tf.log(z), tf.minimum(x, z)) + tf.rsqrt(z) * tf.nn.softplus(-x)
    return [tf.identity(y, name="y")], [x, z], {}


def names(tensors):
    """Names of tensors; a variable stands for its reference."""
    return "\n".join("-" if t is None else t.name for t in tensors)


def result(gradient):
    if gradient is None:
        return "-"
    if isinstance(gradient, tf.IndexedSlices):
        return f"{gradient.values.name} {gradient.indices.name} {gradient.dense_shape.name}"
    return gradient.name


def record(name, build):
    graph = tf.Graph()
    with graph.as_default():
        ys, xs, options = build()
        before = len(graph.get_operations())
        given = options.get("grad_ys", [None] * len(ys))
        stops = options.get("stops", [])
        with tf.device(options.get("device", "")):
            results = tf.gradients(ys, xs, grad_ys=given, stop_gradients=stops or None,
                                   gate_gradients=options.get("gate", False),
                                   colocate_gradients_with_ops=options.get("colocate", False))
    words = [word for word in ("gate", "colocate") if options.get(word)]
    if "device" in options:
        words.append("device=" + options["device"])
    blocks = [name, " ".join(words), str(before), names(ys), names(xs), names(given), names(stops),
              "\n".join(result(gradient) for gradient in results)]
    return [block.encode() for block in blocks] + [graph.as_graph_def().SerializeToString(deterministic=True)]


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
    packed = b""
    for name, build in CASES.items():
        for block in record(name, build):
            packed += struct.pack("<I", len(block)) + block
    compressed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=compressed, mtime=0) as file:
        file.write(packed)
    with open(os.path.join(out, "gradients.bin.gz"), "wb") as file:
        file.write(compressed.getvalue())
    print(f"{len(CASES)} cases, {len(packed)} bytes, {len(compressed.getvalue())} compressed")


if __name__ == "__main__":
    main()
