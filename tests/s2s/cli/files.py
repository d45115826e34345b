"""Programs for tests of the command."""

from __future__ import annotations

MODEL = """\
import numpy as np
import s2s


def act(z):
    return np.tanh(z)


@s2s.grad(wrt=("W", "b"), backend="python")
def loss(W, b, x, y):
    # hidden layer
    h = act(x @ W + b)
    s = 0.0
    for i in range(h.shape[0]):
        if y[i] > 0:
            s += h[i, 0] * y[i]
        else:
            s -= np.log(1.0 + h[i, 0] ** 2)
    return s / h.shape[0]


def plain(x, k=2.0):
    return np.sum(np.sin(x) * k)


def wrong(x):
    return np.sum(x * half(x))


@s2s.custom_gradient
def half(x):
    return 0.5 * x, lambda out_bar: out_bar


def make(power):
    def inner(x):
        return np.sum(x**power)

    return inner


class Spring:
    k = 2.0

    @s2s.grad(backend="python")
    def energy(self, x):
        return 0.5 * self.k * np.sum(x * x)

    def force(self, x):
        return -self.k * np.sum(x)


class Named:
    def __init__(self, name):
        self.name = name

    def energy(self, x):
        return np.sum(x)


def make_args():
    return np.ones((3, 2)), np.zeros(2), np.ones((4, 3)), np.array([1.0, -1.0, 2.0, 0.0])


def make_named():
    return {"x": np.ones(3)}
"""

LOSS = "float64[3,2], float64[2], float64[4,3], float64[4]"

SPRING = """\
import numpy as np
import s2s


@s2s.grad(wrt=("x", "k", "cutoff"))
def energy(x: "float64[n]", k: float = 2.0, cutoff: float = 1.5, steps: int = 100):
    v = np.zeros_like(x)
    for t in range(steps):
        force = -k * np.sin(x)
        v = v + 0.01 * force
        x = x + 0.01 * v
    near = np.abs(x) < cutoff
    return 0.5 * np.sum(np.where(near, v * v, 0.0))
"""
