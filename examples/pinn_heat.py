"""A physics-informed network for the heat equation u_t = u_xx / pi^2.

The residual contains derivatives of the network with respect to time and position; training needs
its gradient with respect to the weights. Both are compiled into one function.
"""

from __future__ import annotations

import argparse

import numpy as np
from tqdm import tqdm

import s2s


def u(x, t, w):
    """The network, transformed to satisfy boundary and initial conditions for any weights."""
    h = np.tanh(x * w["x"] + t * w["t"] + w["b"])
    h = np.tanh(h @ w["h"] + w["c"])
    inner = h @ w["o"]
    return np.sin(np.pi * x) + t * x * (1.0 - x) * inner


def residual(x, t, w):
    by_t = s2s.grad(u, wrt=1)(x, t, w)
    by_xx = s2s.grad(s2s.grad(u))(x, t, w)
    return by_t - by_xx / np.pi**2


@s2s.value_and_grad(wrt="w")
def loss(w, xs, ts):
    total = 0.0
    for k in range(len(xs)):
        total += residual(xs[k], ts[k], w) ** 2
    return total / len(xs)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=2000)
    steps = options.parse_args().steps

    rng = np.random.default_rng(0)
    n = 16
    sizes = {"x": n, "t": n, "b": n, "h": (n, n), "c": n, "o": n}
    w = {k: rng.normal(size=s) * 0.5 for k, s in sizes.items()}
    flat, unflatten = s2s.flatten(w)
    m, v = np.zeros_like(flat), np.zeros_like(flat)
    bar = tqdm(range(1, steps + 1), desc="training", mininterval=1.0)
    for step in bar:
        xs, ts = rng.random((2, 64))
        value, gradient = loss(unflatten(flat), xs, ts)
        g = s2s.flatten(gradient)[0]
        m += 0.1 * (g - m)
        v += 0.001 * (g * g - v)
        scale = np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        flat = flat - 0.01 * 0.999**step * scale * m / (np.sqrt(v) + 1e-8)
        bar.set_postfix(loss=f"{value:.1e}")

    w = unflatten(flat)
    print("   t   largest error against exp(-t) sin(pi x)")
    for t in (0.25, 0.5, 0.75, 1.0):
        xs = np.linspace(0, 1, 101)
        found = np.array([u(x, t, w) for x in xs])
        print(f"{t:5.2f}   {np.max(np.abs(found - np.exp(-t) * np.sin(np.pi * xs))):.1e}")


if __name__ == "__main__":
    main()
