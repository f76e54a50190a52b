"""Graphs that TensorFlow built - a network with one hidden layer, a convolutional one with batch norm, both with Adam - are
imported and train in Weir with equal losses; checkpoints of plain tensors are read both ways."""
from interop import *

STEPS = 20


def build_mlp(use_resource):
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(5)
        x = tf.placeholder(tf.float32, [None, 784], name="x")
        y = tf.placeholder(tf.float32, [None, 10], name="y")
        with tf.variable_scope("net", use_resource=use_resource):
            w1 = tf.get_variable("w1", initializer=tf.truncated_normal([784, 100], stddev=1 / 28, seed=1))
            b1 = tf.get_variable("b1", initializer=tf.zeros([100]))
            w2 = tf.get_variable("w2", initializer=tf.truncated_normal([100, 10], stddev=0.1, seed=2))
            b2 = tf.get_variable("b2", initializer=tf.zeros([10]))
        hidden = tf.nn.relu(tf.nn.xw_plus_b(x, w1, b1))
        guess = tf.nn.softmax(tf.nn.xw_plus_b(hidden, w2, b2))
        loss = tf.identity(-tf.reduce_sum(y * tf.log(tf.clip_by_value(guess, 1e-10, 1.0))), name="loss")
        step = tf.train.get_or_create_global_step()
        tf.train.AdamOptimizer(0.01).minimize(loss, global_step=step, name="train")
        tf.group(tf.global_variables_initializer(), name="start")
        tf.train.Saver(name="saver")
    return graph


def batch_norm(x, name):
    channels = x.shape.as_list()[-1]
    with tf.variable_scope(name):
        beta = tf.get_variable("beta", [channels], initializer=tf.zeros_initializer())
        gamma = tf.get_variable("gamma", [channels], initializer=tf.ones_initializer())
        mean = tf.get_variable("moving_mean", [channels], initializer=tf.zeros_initializer(), trainable=False)
        variance = tf.get_variable("moving_variance", [channels], initializer=tf.ones_initializer(), trainable=False)
        y, batch_mean, batch_variance = tf.nn.fused_batch_norm(x, gamma, beta, epsilon=0.001, is_training=True)
        updates = [tf.assign_sub(mean, (mean - batch_mean) * 0.1), tf.assign_sub(variance, (variance - batch_variance) * 0.1)]
        with tf.control_dependencies(updates):
            return tf.identity(y)


def build_cnn():
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(5)
        x = tf.placeholder(tf.float32, [None, 784], name="x")
        y = tf.placeholder(tf.float32, [None, 10], name="y")
        net = tf.reshape(x, [-1, 28, 28, 1])
        for i, channels in enumerate((6, 12)):
            w = tf.get_variable(f"conv_{i}", initializer=tf.truncated_normal([5, 5, net.shape.as_list()[-1], channels],
                                                                             stddev=0.1, seed=i + 1))
            net = tf.nn.relu(batch_norm(tf.nn.conv2d(net, w, [1, 1, 1, 1], "SAME"), f"norm_{i}"))
            net = tf.nn.max_pool2d(net, [2, 2], [2, 2], "VALID")
        net = tf.reshape(net, [-1, 588])
        w = tf.get_variable("fc", initializer=tf.truncated_normal([588, 100], stddev=0.05, seed=3))
        net = tf.nn.relu(batch_norm(tf.reshape(tf.matmul(net, w), [-1, 1, 1, 100]), "norm_fc"))
        net = tf.nn.dropout(tf.reshape(net, [-1, 100]), rate=0.5, seed=4)
        w = tf.get_variable("prob", initializer=tf.truncated_normal([100, 10], stddev=0.1, seed=5))
        b = tf.get_variable("bias", initializer=tf.zeros([10]))
        logits = tf.nn.xw_plus_b(net, w, b)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss")
        tf.train.AdamOptimizer(0.001).minimize(loss, name="train")
        tf.group(tf.global_variables_initializer(), name="start")
    return graph


def compare(graph, name, batch, **tolerance):
    images, labels = digits(STEPS, batch)
    feeds = {"x:0": images, "y:0": labels}
    theirs = tensorflow_losses(graph, "start", "train", "loss:0", feeds, STEPS)
    file = save_graph(name, graph)
    ours = weir_losses(file, "start", "train", "loss:0", feeds, STEPS)
    check_losses(ours, theirs, **tolerance)


@case
def mlp_with_reference_variables():
    compare(build_mlp(False), "mlp.pb", 100)


@case
def mlp_with_resource_variables():
    compare(build_mlp(True), "mlp_resource.pb", 100)


@case
def cnn_with_batch_norm_and_dropout():
    compare(build_cnn(), "cnn.pb", 64, exact_steps=4, later=5e-4)


@case
def checkpoints_of_tensorflow_are_read_and_written_again_to_the_byte():
    graph = build_mlp(False)
    with graph.as_default(), session(graph) as running:
        running.run("start")
        prefix = tf.train.Saver().save(running, path("theirs"), write_meta_graph=False)
    call("tests/interop/copy_checkpoint", prefix, path("ours"))
    for suffix in (".index", ".data-00000-of-00001"):
        if open(prefix + suffix, "rb").read() != open(path("ours") + suffix, "rb").read():
            raise AssertionError(f"{suffix} differs")


@case
def a_checkpoint_saved_by_weir_is_restored_by_tensorflow():
    graph = build_mlp(False)
    file = save_graph("save.pb", graph)
    images, labels = digits(STEPS + 5, 32)
    first = {"x:0": images[:STEPS], "y:0": labels[:STEPS]}
    call("tests/interop/run_graph", file, "--init=start", "--train=train", "--fetch=loss:0", f"--steps={STEPS}",
         *[feed_file(name, array) for name, array in first.items()], f"--text=saver/Const:0={path('weir.ckpt')}",
         "--last=saver/control_dependency")
    rest = {"x:0": images[STEPS:], "y:0": labels[STEPS:]}
    ours = [float(line) for line in call(
        "tests/interop/run_graph", file, "--before=saver/restore_all", f"--text=saver/Const:0={path('weir.ckpt')}",
        "--train=train", "--fetch=loss:0", "--steps=5", *[feed_file(name, array) for name, array in rest.items()])]
    with session(graph) as running:
        running.run("saver/restore_all", {"saver/Const:0": path("weir.ckpt")})
        if running.run("global_step:0") != STEPS:
            raise AssertionError("the step count is not what was saved")
        theirs = [running.run(["loss:0", "train"], {name: array[i] for name, array in rest.items()})[0] for i in range(5)]
    check_equal(ours, theirs)


@case
def a_checkpoint_saved_by_tensorflow_is_restored_by_weir():
    graph = build_mlp(False)
    file = save_graph("restore.pb", graph)
    images, labels = digits(5, 32)
    feeds = {"x:0": images, "y:0": labels}
    with session(graph) as running:
        running.run("start")
        running.run("saver/control_dependency", {"saver/Const:0": path("tf.ckpt")})
        theirs = [running.run(["loss:0", "train"], {name: array[i] for name, array in feeds.items()})[0] for i in range(5)]
    ours = [float(line) for line in call(
        "tests/interop/run_graph", file, "--before=saver/restore_all", f"--text=saver/Const:0={path('tf.ckpt')}",
        "--train=train", "--fetch=loss:0", "--steps=5", *[feed_file(name, array) for name, array in feeds.items()])]
    check_equal(ours, theirs)


finish()
