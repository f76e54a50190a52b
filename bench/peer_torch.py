"""PyTorch as a peer of Weir, in the worker's protocol.

  peer_torch.py [--threads N] [--mode eager|compiled] [--first-step]

compiled puts the network through torch.compile, which needs a C++ compiler and tens of seconds for each bench.
"""
import os

import numpy as np
import peer
import torch
from torch import nn
from torch.nn import functional


def batches(rows, is_random=False):
    images, labels = peer.digits(rows, is_random)
    return [(torch.from_numpy(images[i].copy()), torch.from_numpy(labels[i].copy())) for i in range(peer.BATCHES)]


def adam(parameters, rate):
    parameters = list(parameters)
    try:
        return torch.optim.Adam(parameters, lr=rate, fused=True)  # the fastest one on CPUs
    except (RuntimeError, TypeError, ValueError):
        return torch.optim.Adam(parameters, lr=rate)


def stepper(network, loss_of, optimizer, rows, mode, is_random=False):
    """A function that does one step and returns the loss."""
    turns, turn = batches(rows, is_random), [0]
    forward = torch.compile(network) if mode == "compiled" else network

    def iterate():
        turn[0] = (turn[0] + 1) % peer.BATCHES
        x, y = turns[turn[0]]
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(forward(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return iterate


# ---- networks ----

def softmax(_threads, mode):
    network = nn.Linear(784, 10)
    nn.init.zeros_(network.weight)
    nn.init.zeros_(network.bias)
    return stepper(network, functional.cross_entropy, torch.optim.SGD(network.parameters(), lr=0.5), 100, mode)


def dense(inputs, outputs, stddev, bias=0.0):
    layer = nn.Linear(inputs, outputs)
    nn.init.trunc_normal_(layer.weight, std=stddev, a=-2 * stddev, b=2 * stddev)
    nn.init.constant_(layer.bias, bias)
    return layer


def mlp(rows, is_adam, mode, is_random=False):
    network = nn.Sequential(dense(784, 100, 1 / 28), nn.ReLU(), dense(100, 10, 0.1), nn.Softmax(dim=1))
    optimizer = adam(network.parameters(), 0.01) if is_adam else torch.optim.SGD(network.parameters(), lr=0.001 / rows)

    def loss_of(guess, y):
        return -(y * torch.log(torch.clamp(guess, 1e-10, 1.0))).sum()

    return stepper(network, loss_of, optimizer, rows, mode, is_random)


class CenteredBatchNorm(nn.Module):
    """Shifted but not scaled; decay 0.9."""

    def __init__(self, channels):
        super().__init__()
        self.beta = nn.Parameter(torch.zeros(channels))
        self.register_buffer("ones", torch.ones(channels))
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("variance", torch.ones(channels))

    def forward(self, x):
        return functional.batch_norm(x, self.mean, self.variance, self.ones, self.beta, self.training, 0.1, 0.001)


def convolution(before, after, stddev, has_bias):
    layer = nn.Conv2d(before, after, 5, padding=2, bias=has_bias)
    nn.init.trunc_normal_(layer.weight, std=stddev, a=-2 * stddev, b=2 * stddev)
    if has_bias:
        nn.init.constant_(layer.bias, 0.1)
    return layer


def conv_net():
    hidden = nn.Linear(588, 100, bias=False)
    nn.init.trunc_normal_(hidden.weight, std=0.01, a=-0.02, b=0.02)
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)),
        convolution(1, 6, 0.01, False), CenteredBatchNorm(6), nn.ReLU(), nn.MaxPool2d(2),
        convolution(6, 12, 0.01, False), CenteredBatchNorm(12), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), hidden, CenteredBatchNorm(100), nn.ReLU(), nn.Dropout(0.5), dense(100, 10, 0.01))


def cnn(_threads, mode):
    network = conv_net()
    return stepper(network, functional.cross_entropy, adam(network.parameters(), 0.001), 1024, mode)


def share_right(network, x, y):
    network.eval()
    with torch.inference_mode():
        right = (network(x).argmax(1) == y.argmax(1)).float().mean().item()
    network.train()
    return right


def cnn_tutorial(_threads, mode):
    network = conv_net()
    train = stepper(network, functional.cross_entropy, adam(network.parameters(), 0.001), 1024, mode)
    turns, turn = batches(1024), [0]

    def iterate():
        turn[0] = (turn[0] + 1) % peer.BATCHES
        share_right(network, *turns[turn[0]])
        return train()

    return iterate


def deep(_threads, mode):
    network = nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)), convolution(1, 32, 0.1, True), nn.ReLU(), nn.MaxPool2d(2),
        convolution(32, 64, 0.1, True), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        dense(3136, 1024, 0.1, 0.1), nn.ReLU(), nn.Dropout(0.5), dense(1024, 10, 0.1, 0.1))
    return stepper(network, functional.cross_entropy, adam(network.parameters(), 1e-4), 100, mode)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(28, 128, num_layers=3, batch_first=True)
        for name, values in self.cells.named_parameters():
            if name.startswith("bias_ih"):
                with torch.no_grad():
                    values[128:256] = 1  # the forget gate
        self.out = nn.Linear(128, 10)

    def forward(self, x):
        return self.out(self.cells(x.reshape(-1, 28, 28))[0][:, -1])


def lstm(_threads, mode):
    network = Lstm()
    return stepper(network, functional.cross_entropy, torch.optim.SGD(network.parameters(), lr=0.1), 100, mode)


def five_epochs(_threads, mode):
    mnist = peer.find_mnist()
    if mnist is None:
        raise FileNotFoundError("needs MNIST")
    parts, folder = [torch.from_numpy(np.ascontiguousarray(part)) for part in mnist], peer.Folder()

    def iterate():
        network = conv_net()
        forward = torch.compile(network) if mode == "compiled" else network
        optimizer = adam(network.parameters(), 0.001)
        for epoch in range(5):
            order = torch.randperm(len(parts[0]))
            for first in range(0, 53 * 1024, 1024):
                chosen = order[first:first + 1024]
                x, y = parts[0][chosen], parts[1][chosen]
                optimizer.zero_grad(set_to_none=True)
                loss = functional.cross_entropy(forward(x), y)
                loss.backward()
                optimizer.step()
                loss.item()
                share_right(network, x, y)
            right = sum(share_right(network, parts[2][first:first + 1000], parts[3][first:first + 1000])
                        for first in range(0, 10000, 1000)) / 10
            torch.save(network.state_dict(), os.path.join(folder.path, f"model-{epoch}"))
        return right

    return iterate


# ---- engine: there is no graph to run; a chain is as many calls ----

def chain(length):
    one, value = torch.tensor(1.0), torch.tensor(1.0)

    def iterate():
        total = value
        for _ in range(length):
            total = total + one
        return total.item()

    return iterate


def independent():
    one, value = torch.tensor(1.0), torch.tensor(1.0)

    def iterate():
        for _ in range(1000):
            _ = value + one

    return iterate


# ---- checkpoints ----

def checkpoint(is_large, is_save):
    shapes = [(2500, 1000)] * 10 if is_large else [(784, 100), (100,), (100, 10), (10,)]
    values, folder = {f"v{i}": torch.rand(shape) for i, shape in enumerate(shapes)}, peer.Folder()
    path = os.path.join(folder.path, "model")

    def save(_folder=folder):
        torch.save(values, path)

    def restore(_folder=folder):
        with torch.no_grad():
            for name, value in torch.load(path).items():
                values[name].copy_(value)

    save()
    return save if is_save else restore


BENCHES = {
    "softmax_sgd_b100": softmax,
    **{f"mlp_{name}_b{rows}": lambda _threads, mode, rows=rows, name=name: mlp(rows, name == "adam", mode)
       for name in ("adam", "sgd") for rows in (1, 100, 1024)},
    "cnn_adam_b1024": cnn,
    "cnn_tutorial_b1024": cnn_tutorial,
    "deep_adam_b100": deep,
    "lstm_sgd_b100": lstm,
    "cnn_5epochs": five_epochs,
    "chain1000": lambda _threads, _mode: chain(1000),
    "chain10000": lambda _threads, _mode: chain(10000),
    "independent1000": lambda _threads, _mode: independent(),
    "ckpt_save_318k": lambda _threads, _mode: checkpoint(False, True),
    "ckpt_restore_318k": lambda _threads, _mode: checkpoint(False, False),
    "ckpt_save_100m": lambda _threads, _mode: checkpoint(True, True),
    "ckpt_restore_100m": lambda _threads, _mode: checkpoint(True, False),
}


def main():
    options = peer.arguments(["eager", "compiled"])
    torch.set_num_threads(options.threads)
    torch.set_num_interop_threads(1)
    if options.first_step:
        peer.first_step(mlp(100, True, "eager", is_random=True))
    else:
        peer.serve(BENCHES, options.threads, options.mode)


if __name__ == "__main__":
    main()
