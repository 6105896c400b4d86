# SPDX-License-Identifier: Apache-2.0
"""The models and the data of the comparisons, written for Python's PyTorch on their own."""
import gzip
import os

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F


class FullyConnected(nn.Module):
    def __init__(self, widths):
        super().__init__()
        sizes = [784, *widths, 10]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class SimpleCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 5, padding=2)
        self.conv2 = nn.Conv2d(32, 64, 5, padding=2)
        self.hidden = nn.Linear(64 * 7 * 7, 1024)
        self.out = nn.Linear(1024, 10)

    def forward(self, x):
        x = x.view(-1, 1, 28, 28)
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.out(F.relu(self.hidden(x.flatten(1))))


def make_model(name):
    if name == "simple_cnn_base":
        return SimpleCnn()
    return FullyConnected([int(width) for width in name.removeprefix("fc_").split("_")])


def read_idx(path, header):
    for candidate, opener in ((path, open), (path + ".gz", gzip.open)):
        if os.path.exists(candidate):
            with opener(candidate, "rb") as file:
                return numpy.frombuffer(file.read(), dtype=numpy.uint8, offset=header)
    raise FileNotFoundError(path)


def load_train(datasets="/usr/share/datasets"):
    """Images in [0, 1] and labels of the first 55,000 examples of Fashion MNIST."""
    folder = os.path.join(datasets, "fashion-mnist")
    images = read_idx(os.path.join(folder, "train-images-idx3-ubyte"), 16).reshape(-1, 784)[:55000]
    labels = read_idx(os.path.join(folder, "train-labels-idx1-ubyte"), 8)[:55000]
    return torch.from_numpy(images.astype(numpy.float32) / 255), torch.from_numpy(labels.astype(numpy.int64))


def make_optimizer(name, parameters, rate, momentum, weight_decay=0.0):
    return torch.optim.SGD(parameters, lr=rate, momentum=0.0 if name == "sgd" else momentum,
                           nesterov=name == "nesterov_momentum", weight_decay=weight_decay, foreach=True)
