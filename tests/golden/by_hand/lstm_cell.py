"""An LSTM cell as a class of the user's, over time steps."""

from __future__ import annotations

import dataclasses

import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@dataclasses.dataclass
class Cell:
    kernel: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray

    def step(self, x, h, c):
        n = h.shape[1]
        # gates: input, forget, new, output
        z = x @ self.kernel + h @ self.recurrent + self.bias
        i, f = sigmoid(z[:, :n]), sigmoid(z[:, n : 2 * n])
        g, o = np.tanh(z[:, 2 * n : 3 * n]), sigmoid(z[:, 3 * n :])
        c = f * c + i * g
        return o * np.tanh(c), c


def loss(cell, W, xs, y):
    h = np.zeros((xs.shape[1], W.shape[0]))
    c = np.zeros_like(h)
    for t in range(xs.shape[0]):
        h, c = cell.step(xs[t], h, c)
    d = h @ W - y
    return np.mean(d * d)
