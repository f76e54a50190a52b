#!/usr/bin/env python3
"""Writes the nodes that TensorFlow makes for array and network ops and for their gradients.

usage: make_array_nodes.py OUT (tests/op/data/array_nodes.txt), with tensorflow-cpu 2.21

A case is "== NAME known" or "== NAME unknown" (the first dimension of x and y) and a line for each node that the results
depend on, in the order of their making: "name Op(inputs)". Placeholders are left out. test_array_nodes.c builds the same.
"""
import os
import sys

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def placeholder(name, shape, known=True):
    return tf.placeholder(tf.float32, shape if known else [None] + shape[1:], name=name)


def one(shape, build):
    def both(known):
        x = placeholder("x", shape, known)
        return build(x), [x]
    return both


def two(shape, other, build):
    def both(known):
        x, y = placeholder("x", shape, known), placeholder("y", other, known)
        return build(x, y), [x, y]
    return both


def image_and_filter(shape, build):
    def both(known):
        x, f = placeholder("x", shape, known), placeholder("f", [3, 3, 1, 2])
        return build(x, f), [x, f]
    return both


def norm(training):
    def both(known):
        x, s, o = placeholder("x", [2, 4, 4, 3], known), placeholder("s", [3]), placeholder("o", [3])
        given = {} if training else {"mean": s, "variance": o}
        return tf.nn.fused_batch_norm(x, s, o, is_training=training, **given)[0], [x, s, o]
    return both


def many(known):
    xs = [placeholder("x", [2, 3], known) for _ in range(17)]
    return tf.concat(xs, 0), xs


POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}

CASES = {
    "reshape": one([2, 3], lambda x: tf.reshape(x, [3, -1])),
    "expand_dims": one([2, 3], lambda x: tf.expand_dims(x, 1)),
    "squeeze": one([2, 1, 3], lambda x: tf.squeeze(x, [1])),
    "broadcast_to": one([2, 3], lambda x: tf.broadcast_to(x, [4, 2, 3])),
    "transpose": one([2, 3, 4], lambda x: tf.transpose(x, [1, 0, 2])),
    "transpose_all": one([2, 3, 4], tf.transpose),
    "concat": two([2, 3], [2, 4], lambda x, y: tf.concat([x, y], 1)),
    "concat_one": one([2, 3], lambda x: tf.concat([x], 0)),
    "concat_many": many,
    "split": one([2, 3], lambda x: tf.split(x, 3, 1)),
    "split_v": one([2, 3], lambda x: tf.split(x, [1, 2], 1)),
    "stack": two([2, 3], [2, 3], lambda x, y: tf.stack([x, y], 1)),
    "unstack": one([2, 3], lambda x: tf.unstack(x, axis=1)),
    "tile": one([2, 3], lambda x: tf.tile(x, [2, 1])),
    "pad": one([2, 3], lambda x: tf.pad(x, [[1, 0], [0, 2]])),
    "dynamic_stitch": two([2, 3], [1, 3], lambda x, y: tf.dynamic_stitch([[0, 2], [1]], [x, y])),
    "gather": one([2, 3], lambda x: tf.gather(x, [1, 0, 1])),
    "gather_axis": one([2, 3], lambda x: tf.gather(x, [1, 0, 1], axis=1)),
    "gather_batch": one([2, 3], lambda x: tf.gather(x, [[1, 0], [1, 2]], axis=1, batch_dims=1)),
    "gather_v1": one([2, 3], lambda x: tf.raw_ops.Gather(params=x, indices=[1, 0, 1])),
    "slice": one([2, 3], lambda x: tf.slice(x, [0, 1], [1, 2])),
    "slice_int64": one([2, 3], lambda x: tf.slice(x, np.array([0, 1]), np.array([1, 2]))),
    "strided_slice": one([2, 3], lambda x: x[0:1, 1]),
    "strided_slice_grad": one([1], lambda x: tf.raw_ops.StridedSliceGrad(
        shape=[2, 3], begin=[0, 1], end=[1, 2], strides=[1, 1], dy=x, shrink_axis_mask=2)),
    "conv2d": image_and_filter([2, 5, 5, 1], lambda x, f: tf.nn.conv2d(x, f, 1, "SAME")),
    "conv2d_input": image_and_filter([2, 5, 5, 2], lambda x, f: tf.nn.conv2d_backprop_input(
        [2, 5, 5, 1], f, x, [1, 1, 1, 1], "SAME")),
    "conv2d_filter": two([2, 5, 5, 1], [2, 5, 5, 2], lambda x, y: tf.nn.conv2d_backprop_filter(
        x, [3, 3, 1, 2], y, [1, 1, 1, 1], "SAME")),
    "max_pool": one([2, 4, 4, 1], lambda x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")),
    "avg_pool": one([2, 4, 4, 1], lambda x: tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")),
    "avg_pool_grad": one([2, 2, 2, 1], lambda x: tf.raw_ops.AvgPoolGrad(
        orig_input_shape=[2, 4, 4, 1], grad=x, **POOL)),
    "batch_norm": norm(True),
    "batch_norm_inference": norm(False),
    "identity_n": one([2, 3], lambda x: tf.identity_n([x, x])),
}


def name_of(tensor):
    return tensor.name[:-2] if tensor.name.endswith(":0") else tensor.name


def record(out, name, build, known):
    graph = tf.Graph()
    with graph.as_default():
        ys, xs = build(known)
        results = []
        for gradient in tf.gradients(ys, xs):
            slices = isinstance(gradient, tf.IndexedSlices)
            results += [gradient.values, gradient.indices, gradient.dense_shape] if slices else [gradient]
        used, left = set(), [r.op for r in results + (ys if isinstance(ys, list) else [ys])]
        while left:
            op = left.pop()
            if op.name not in used:
                used.add(op.name)
                left += [i.op for i in op.inputs] + list(op.control_inputs)
    out.write("== %s %s\n" % (name, "known" if known else "unknown"))
    for op in graph.get_operations():
        if op.name in used and op.type != "Placeholder":
            out.write("%s %s(%s)\n" % (op.name, op.type, ",".join(map(name_of, op.inputs))))


def main():
    with open(sys.argv[1], "w", encoding="ascii") as out:
        for name, build in CASES.items():
            for known in (True, False):
                record(out, name, build, known)


main()
