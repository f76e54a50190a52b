#!/usr/bin/env python3
"""Writes the nodes that TensorFlow makes for small programs; the tests build the same programs and compare line by line.

  graphs.py OUT_DIR        needs tensorflow 2.21 and tf_slim 1.1

A line is: NAME OP (INPUTS) {COLOCATION GROUPS} @DEVICE, control inputs sorted behind a "^".
"""
import os
import sys

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3")
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_ops

ops.Tensor = tf.Tensor  # where tf_slim looks for them
control_flow_ops.cond = tf.cond
import tf_slim as slim

tf.disable_eager_execution()
tf.disable_resource_variables()


def line(node):
    inputs = [name for name in node.input if name[0] != "^"] + sorted(name for name in node.input if name[0] == "^")
    groups = b",".join(node.attr["_class"].list.s).decode() if "_class" in node.attr else ""
    return f"{node.name} {node.op} ({' '.join(inputs)}){' {' + groups + '}' if groups else ''}{' @' + node.device if node.device else ''}"


def variables():
    with tf.device("/cpu:0"):
        with tf.variable_scope("s"):
            v = tf.get_variable("v", [3, 2], initializer=tf.truncated_normal_initializer(0., .01, seed=1))
            u = tf.get_variable("u", [2], initializer=tf.zeros_initializer())
            tf.get_variable("k", [2000], initializer=tf.ones_initializer())
            tf.get_variable("c", [2, 2], initializer=tf.constant_initializer(0.1))
            tf.get_variable("d", [2, 2])
            tf.get_variable("n", [2, 2], initializer=tf.random_normal_initializer(1., 2.))
            tf.get_variable("un", [2, 2], initializer=tf.random_uniform_initializer(-1., 2.))
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean(tf.square(tf.matmul(x, v) + u))
    rate = tf.train.exponential_decay(0.1, step, 100, 0.9, staircase=True)
    tf.train.AdamOptimizer(rate).minimize(loss, global_step=step, var_list=[v, u])
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, var_list=[v])
    tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[v])
    tf.global_variables_initializer()


def conv_net(x, is_training):
    normalizer = {"is_training": is_training, "decay": 0.9, "updates_collections": None}
    with tf.variable_scope("ConvNet", reuse=tf.AUTO_REUSE), slim.arg_scope(
            [slim.conv2d, slim.fully_connected], weights_initializer=tf.truncated_normal_initializer(0., .01),
            weights_regularizer=slim.l2_regularizer(0.0005), normalizer_fn=slim.batch_norm, normalizer_params=normalizer):
        net = tf.reshape(x, [-1, 28, 28, 1])
        net = slim.conv2d(net, 6, [5, 5], scope="conv_1")
        net = slim.max_pool2d(net, 2, scope="pool_1")
        net = slim.conv2d(net, 12, [5, 5], scope="conv_2")
        net = slim.max_pool2d(net, 2, scope="pool_2")
        net = slim.flatten(net, scope="flatten")
        net = slim.fully_connected(net, 100, scope="fc")
        net = slim.dropout(net, 0.5, is_training=is_training)
        return slim.fully_connected(net, 10, activation_fn=None, normalizer_fn=None, scope="prob")


def cnn():
    x = tf.placeholder(tf.float32, [None, 784], name="x")
    y = tf.placeholder(tf.float32, [None, 10], name="y")
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=conv_net(x, True), labels=y))
    right = tf.equal(tf.argmax(conv_net(x, False), 1), tf.argmax(y, 1))
    tf.reduce_mean(tf.cast(right, tf.float32))
    tf.train.AdamOptimizer(0.001).minimize(loss)
    tf.global_variables_initializer()
    tf.train.Saver()


def layers():
    x = tf.placeholder(tf.float32, [None, 6], name="x")
    slim.batch_norm(x, decay=0.9)
    slim.batch_norm(x, decay=0.9, scale=True, center=False)
    h = slim.fully_connected(x, 3)
    h = slim.dropout(h, is_training=False)
    z = tf.placeholder(tf.float32, [None, 4, 4, 1], name="z")
    z = slim.conv2d(z, 2, [3, 3], activation_fn=None)
    z = slim.conv2d(z, 2, 3, padding="VALID", biases_initializer=None)
    z = slim.max_pool2d(z, 2, padding="SAME")
    z = slim.avg_pool2d(z, 1)
    slim.flatten(z)


def averages():
    step = tf.Variable(0, name="step", trainable=False)
    w = tf.Variable(tf.fill([4], 1.), name="w")
    m = tf.multiply(w, w, name="m")
    average = tf.train.ExponentialMovingAverage(0.9, step)
    average.apply([m])
    tf.clip_by_norm(w, 2.0)
    tf.clip_by_global_norm([w, m], 5.0)
    tf.clip_by_value(w, -1., 1.)


def main(folder):
    for program in (variables, cnn, layers, averages):
        with tf.Graph().as_default() as graph:
            program()
            with open(os.path.join(folder, f"graph_{program.__name__}.txt"), "w", encoding="utf-8") as file:
                file.write("".join(line(node) + "\n" for node in graph.as_graph_def().node))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
