"""TensorFlow as a peer of Weir: graphs and sessions of compat.v1, in the worker's protocol.

  peer_tensorflow.py [--threads N] [--mode feed|resident] [--first-step]

feed is what the tutorials do: session.run with a feed_dict. resident is TensorFlow's best: the batches stand in a
variable of the graph, and the run is a callable made once.
"""
import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import peer
import tensorflow as tensorflow2

tf = tensorflow2.compat.v1
tf.disable_eager_execution()
tf.logging.set_verbosity(tf.logging.ERROR)


def make_session(threads, is_optimized=True):
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    if not is_optimized:
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config.graph_options.optimizer_options.opt_level = -1  # L0
    return tf.Session(config=config)


def inputs(rows, mode, is_random=False):
    """(x, y, function that gives the next feed_dict or None)."""
    images, labels = peer.digits(rows, is_random)
    if mode == "feed":
        x = tf.placeholder(tf.float32, [None, peer.PIXELS])
        y = tf.placeholder(tf.float32, [None, peer.CLASSES])
        turn = [0]

        def feed():
            turn[0] = (turn[0] + 1) % peer.BATCHES
            return {x: images[turn[0]], y: labels[turn[0]]}

        return x, y, feed
    # Through placeholders, since a graph must not hold large constants.
    all_images, all_labels = tf.placeholder(tf.float32, images.shape), tf.placeholder(tf.float32, labels.shape)
    held_images = tf.Variable(all_images, trainable=False)
    held_labels = tf.Variable(all_labels, trainable=False)
    turn = tf.assign_add(tf.Variable(0, trainable=False), 1) % peer.BATCHES
    x = tf.reshape(tf.gather(held_images, turn), [rows, peer.PIXELS])
    y = tf.reshape(tf.gather(held_labels, turn), [rows, peer.CLASSES])
    return x, y, {all_images: images, all_labels: labels}


def stepper(threads, loss, train, feed, more=()):
    """A function that does one step and returns the loss. feed: as inputs() gives it."""
    session = make_session(threads)
    session.run(tf.global_variables_initializer(), None if callable(feed) else feed)
    fetches = [loss, train, *more]
    if callable(feed):
        return lambda: session.run(fetches, feed())[0]
    run = session.make_callable(fetches)
    return lambda: run()[0]


def cross_entropy(logits, y):
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))


def variable(name, shape, stddev=0.0, constant=0.0):
    if stddev:
        return tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=stddev))
    return tf.get_variable(name, shape, initializer=tf.constant_initializer(constant))


# ---- networks ----

def softmax(threads, mode):
    x, y, feed = inputs(100, mode)
    logits = tf.matmul(x, variable("w", [784, 10])) + variable("b", [10])
    loss = cross_entropy(logits, y)
    return stepper(threads, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss), feed)


def mlp(rows, is_adam, threads, mode, is_random=False):
    x, y, feed = inputs(rows, mode, is_random)
    hidden = tf.nn.relu(tf.nn.xw_plus_b(x, variable("w1", [784, 100], 1 / 28), variable("b1", [100])))
    guess = tf.nn.softmax(tf.nn.xw_plus_b(hidden, variable("w2", [100, 10], 0.1), variable("b2", [10])))
    loss = -tf.reduce_sum(y * tf.log(tf.clip_by_value(guess, 1e-10, 1.0)))
    optimizer = tf.train.AdamOptimizer(0.01) if is_adam else tf.train.GradientDescentOptimizer(0.001 / rows)
    return stepper(threads, loss, optimizer.minimize(loss), feed)


def batch_norm(x, name, channels, is_training):
    """Centre only, decay 0.9, moving statistics updated in the step: as slim's layers with updates_collections=None."""
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
        beta = variable("beta", [channels])
        mean = tf.get_variable("moving_mean", [channels], initializer=tf.zeros_initializer(), trainable=False)
        variance = tf.get_variable("moving_variance", [channels], initializer=tf.ones_initializer(), trainable=False)
    is_flat = len(x.shape) == 2
    if is_flat:
        x = tf.reshape(x, [-1, 1, 1, channels])
    ones = tf.ones([channels])
    if is_training:
        out, batch_mean, batch_variance = tf.nn.fused_batch_norm(x, ones, beta, epsilon=0.001, is_training=True)
        updates = [tf.assign_sub(mean, (mean - batch_mean) * 0.1),
                   tf.assign_sub(variance, (variance - batch_variance) * 0.1)]
        with tf.control_dependencies(updates):
            out = tf.identity(out)
    else:
        out, _, _ = tf.nn.fused_batch_norm(x, ones, beta, mean, variance, epsilon=0.001, is_training=False)
    return tf.reshape(out, [-1, channels]) if is_flat else out


def conv_net(x, is_training):
    with tf.variable_scope("ConvNet", reuse=tf.AUTO_REUSE):
        net = tf.reshape(x, [-1, 28, 28, 1])
        for i, (before, after) in enumerate(((1, 6), (6, 12)), 1):
            net = tf.nn.conv2d(net, variable(f"w{i}", [5, 5, before, after], 0.01), [1, 1, 1, 1], "SAME")
            net = tf.nn.relu(batch_norm(net, f"bn{i}", after, is_training))
            net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        net = tf.matmul(tf.reshape(net, [-1, 588]), variable("w3", [588, 100], 0.01))
        net = tf.nn.relu(batch_norm(net, "bn3", 100, is_training))
        if is_training:
            net = tf.nn.dropout(net, rate=0.5)
        return tf.nn.xw_plus_b(net, variable("w4", [100, 10], 0.01), variable("b4", [10]))


def share_right(logits, y):
    return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1)), tf.float32))


def cnn(has_accuracy, threads, mode):
    x, y, feed = inputs(1024, mode)
    loss = cross_entropy(conv_net(x, True), y)
    more = [share_right(conv_net(x, False), y)] if has_accuracy else []
    return stepper(threads, loss, tf.train.AdamOptimizer(0.001).minimize(loss), feed, more)


def deep(threads, mode):
    x, y, feed = inputs(100, mode)
    net = tf.reshape(x, [-1, 28, 28, 1])
    for i, (before, after) in enumerate(((1, 32), (32, 64)), 1):
        net = tf.nn.conv2d(net, variable(f"w{i}", [5, 5, before, after], 0.1), [1, 1, 1, 1], "SAME")
        net = tf.nn.relu(tf.nn.bias_add(net, variable(f"b{i}", [after], constant=0.1)))
        net = tf.nn.max_pool(net, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    net = tf.nn.xw_plus_b(tf.reshape(net, [-1, 3136]), variable("w3", [3136, 1024], 0.1),
                          variable("b3", [1024], constant=0.1))
    net = tf.nn.dropout(tf.nn.relu(net), rate=0.5)
    loss = cross_entropy(tf.nn.xw_plus_b(net, variable("w4", [1024, 10], 0.1), variable("b4", [10], constant=0.1)), y)
    return stepper(threads, loss, tf.train.AdamOptimizer(1e-4).minimize(loss), feed)


def lstm(threads, mode):
    """BasicLSTMCell and static_rnn, written out: they are not part of TensorFlow any more."""
    rows, layers, units, steps = 100, 3, 128, 28
    x, y, feed = inputs(rows, mode)
    kernels = [tf.get_variable(f"kernel{i}", [(28 if i == 0 else units) + units, 4 * units]) for i in range(layers)]
    biases = [variable(f"bias{i}", [4 * units]) for i in range(layers)]
    c = h = [tf.zeros([rows, units])] * layers
    for line in tf.unstack(tf.reshape(x, [-1, steps, 28]), axis=1):
        c, h = list(c), list(h)
        for i in range(layers):
            gates = tf.nn.bias_add(tf.matmul(tf.concat([line, h[i]], 1), kernels[i]), biases[i])
            new_input, fresh, forget, output = tf.split(gates, 4, 1)
            c[i] = c[i] * tf.sigmoid(forget + 1.0) + tf.sigmoid(new_input) * tf.tanh(fresh)
            line = h[i] = tf.tanh(c[i]) * tf.sigmoid(output)
    w = tf.get_variable("w", [units, 10])
    loss = cross_entropy(tf.nn.xw_plus_b(line, w, variable("b", [10])), y)
    return stepper(threads, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss), feed)


def five_epochs(threads, _mode):
    mnist = peer.find_mnist()
    if mnist is None:
        raise FileNotFoundError("needs MNIST")
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
    loss = cross_entropy(conv_net(x, True), y)
    accuracy = share_right(conv_net(x, False), y)
    train = tf.train.AdamOptimizer(0.001).minimize(loss)
    saver, init = tf.train.Saver(), tf.global_variables_initializer()
    session, folder, random = make_session(threads), peer.Folder(), np.random.default_rng(1)

    def iterate():
        session.run(init)
        for epoch in range(5):
            order = random.permutation(len(mnist[0]))
            for first in range(0, 53 * 1024, 1024):
                chosen = order[first:first + 1024]
                session.run([train, loss, accuracy], {x: mnist[0][chosen], y: mnist[1][chosen]})
            right = sum(session.run(accuracy, {x: mnist[2][first:first + 1000], y: mnist[3][first:first + 1000]})
                        for first in range(0, 10000, 1000)) / 10
            saver.save(session, os.path.join(folder.path, "model.ckpt"), global_step=epoch)
        return float(right)

    return iterate


# ---- engine ----

def run_noop(threads, mode):
    nothing, session = tf.no_op(), make_session(threads, False)
    return session.make_callable(nothing) if mode == "resident" else lambda: session.run(nothing)


def fed(threads, mode, x, fetch):
    session = make_session(threads, False)
    if mode == "resident":
        run = session.make_callable(fetch, [x])
        value = np.float32(1)
        return lambda: run(value)
    return lambda: session.run(fetch, {x: 1.0})


def run_feed_fetch(threads, mode):
    x = tf.placeholder(tf.float32, [])
    return fed(threads, mode, x, tf.identity(x))


def chain(length, threads, mode):
    x, one = tf.placeholder(tf.float32, []), tf.constant(1.0)
    total = x
    for _ in range(length):
        total = tf.add(total, one)
    return fed(threads, mode, x, total)


def noop_chain(threads, mode):
    last = tf.no_op()
    for _ in range(9999):
        with tf.control_dependencies([last]):
            last = tf.no_op()
    session = make_session(threads, False)
    return session.make_callable(last) if mode == "resident" else lambda: session.run(last)


def independent(threads, mode):
    x, one = tf.placeholder(tf.float32, []), tf.constant(1.0)
    return fed(threads, mode, x, tf.group(*[tf.add(x, one) for _ in range(1000)]))


# ---- checkpoints ----

def checkpoint(is_large, is_save, threads, _mode):
    shapes = [[2500, 1000]] * 10 if is_large else [[784, 100], [100], [100, 10], [10]]
    for i, shape in enumerate(shapes):
        tf.get_variable(f"v{i}", shape, initializer=tf.random_uniform_initializer(-1, 1))
    session, saver, folder = make_session(threads), tf.train.Saver(), peer.Folder()
    session.run(tf.global_variables_initializer())

    def save():
        return saver.save(session, os.path.join(folder.path, "model.ckpt"), write_meta_graph=False)

    def restore(_folder=folder):  # which must outlive this call
        saver.restore(session, path)

    path = save()
    return save if is_save else restore


def in_new_graph(build, *fixed):
    def made(threads, mode):
        tf.reset_default_graph()
        return build(*fixed, threads, mode)

    return made


BENCHES = {
    "softmax_sgd_b100": in_new_graph(softmax),
    **{f"mlp_{name}_b{rows}": in_new_graph(mlp, rows, name == "adam")
       for name in ("adam", "sgd") for rows in (1, 100, 1024)},
    "cnn_adam_b1024": in_new_graph(cnn, False),
    "cnn_tutorial_b1024": in_new_graph(cnn, True),
    "deep_adam_b100": in_new_graph(deep),
    "lstm_sgd_b100": in_new_graph(lstm),
    "cnn_5epochs": in_new_graph(five_epochs),
    "run_noop": in_new_graph(run_noop),
    "run_feed_fetch": in_new_graph(run_feed_fetch),
    "chain1000": in_new_graph(chain, 1000),
    "chain10000": in_new_graph(chain, 10000),
    "noopchain10000": in_new_graph(noop_chain),
    "independent1000": in_new_graph(independent),
    "ckpt_save_318k": in_new_graph(checkpoint, False, True),
    "ckpt_restore_318k": in_new_graph(checkpoint, False, False),
    "ckpt_save_100m": in_new_graph(checkpoint, True, True),
    "ckpt_restore_100m": in_new_graph(checkpoint, True, False),
}


def main():
    options = peer.arguments(["resident", "feed"])
    if options.first_step:
        peer.first_step(mlp(100, True, options.threads, "feed", is_random=True))
    else:
        peer.serve(BENCHES, options.threads, options.mode)


if __name__ == "__main__":
    main()
