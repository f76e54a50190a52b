"""What the peers of Weir share: the worker's protocol, the digits, and the numbers of the networks.

A peer calls serve() with its benches: {name: function(threads, mode) that builds it and returns a function that does
one iteration}. The protocol is that of bench/worker.c.
"""
import argparse
import gzip
import json
import os
import shutil
import sys
import tempfile
import time

import numpy as np

PIXELS, CLASSES, BATCHES = 784, 10, 8
ONCE = {"cnn_5epochs"}  # one iteration is a measurement


# ---- digits ----

def read_idx(folder, name, header):
    for path, opened in ((f"{name}.gz", gzip.open), (name, open)):
        path = os.path.join(folder, path)
        if os.path.exists(path):
            with opened(path, "rb") as file:
                return np.frombuffer(file.read(), np.uint8, offset=header)
    return None


def find_mnist():
    """(train images [55000, 784], train labels [55000, 10], test images, test labels) as floats, or None."""
    folder = os.environ.get("WEIR_DATA_DIR", "../shared/data/mnist")
    if read_idx(folder, "train-labels-idx1-ubyte", 8) is None:
        return None
    parts = []
    for part, kept_apart in (("train", 5000), ("t10k", 0)):
        images = read_idx(folder, f"{part}-images-idx3-ubyte", 16).reshape(-1, PIXELS)[kept_apart:]
        labels = read_idx(folder, f"{part}-labels-idx1-ubyte", 8)[kept_apart:]
        parts += [images.astype(np.float32) / np.float32(255), np.eye(CLASSES, dtype=np.float32)[labels]]
    return parts


def digits(rows, is_random=False):
    """BATCHES batches of rows digits: two arrays [BATCHES, rows, ...]."""
    random = np.random.default_rng(1)
    mnist = None if is_random else find_mnist()
    if mnist is None:
        images = random.integers(1, 256, (BATCHES, rows, PIXELS)).astype(np.float32) / np.float32(255)
        labels = np.eye(CLASSES, dtype=np.float32)[random.integers(0, CLASSES, (BATCHES, rows))]
        return images, labels
    chosen = random.permutation(len(mnist[0]))[:BATCHES * rows]
    return mnist[0][chosen].reshape(BATCHES, rows, PIXELS), mnist[1][chosen].reshape(BATCHES, rows, CLASSES)


class Folder:
    """A folder in memory (tmpfs) where that can be had; gone with the object."""

    def __init__(self):
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.path = tempfile.mkdtemp(prefix="weir-bench-", dir=place)

    def __del__(self):
        shutil.rmtree(self.path, ignore_errors=True)


# ---- protocol ----

def say(answer):
    print(json.dumps(answer), flush=True)


class Turns:
    """The bench asked for last, warmed up."""

    def __init__(self, benches, threads, mode):
        self.benches, self.threads, self.mode = benches, threads, mode
        self.name, self.iterate, self.chunk = None, None, 0

    def iterate_for(self, seconds):
        begin = last = time.perf_counter()
        count = 0
        while True:
            iterate = self.iterate
            for _ in range(self.chunk):
                iterate()
            count += self.chunk
            now = time.perf_counter()
            if now - last < 0.0005:
                self.chunk *= 2
            last = now
            if now - begin >= seconds:
                return now - begin, count

    def take(self, name, seconds):
        if name != self.name:
            self.name, self.iterate, self.chunk = None, None, 0
            self.iterate = self.benches[name](self.threads, self.mode)
            self.name = name
        result = None
        if name in ONCE:
            begin = time.perf_counter()
            result = self.iterate()
            taken, count = time.perf_counter() - begin, 1
        else:
            if self.chunk == 0:
                self.chunk = 1
                for _ in range(BATCHES):
                    self.iterate()
                self.iterate_for(seconds / 4)
            taken, count = self.iterate_for(seconds)
        answer = {"bench": name, "us": taken * 1e6 / count, "n": count}
        if result is not None:
            answer["accuracy"] = result
        return answer


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def first_step(train):
    """train: one step of the MLP with Adam and batch 100, that returns the loss."""
    say({"first_step": float(train())})
    for _ in range(200):
        train()
    say({"resident_bytes": resident_bytes(), "data_bytes": BATCHES * 100 * (PIXELS + CLASSES) * 4})


def arguments(modes):
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--mode", choices=modes, default=modes[0])
    parser.add_argument("--first-step", action="store_true")
    return parser.parse_args()


def serve(benches, threads, mode):
    say({"ready": list(benches)})
    turns = Turns(benches, threads, mode)
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        try:
            if len(words) != 2:
                raise ValueError("a line is '<bench> <seconds>'")
            if words[0] not in benches:
                raise ValueError("no bench of this name")
            say(turns.take(words[0], float(words[1])))
        except Exception as error:  # the driver wants to hear of it and go on
            turns.name = None
            say({"bench": words[0], "error": f"{type(error).__name__}: {error}"[:1000]})
