"""Growth of emitted code with the order of the derivative: statements at orders 1, 2 and 3.

    python benchmarks/orders.py

Order 1 is the gradient, order 2 a product with the Hessian, and order 3 the tangent of that:
reverse mode once, forward mode over it.  `reverse` is reverse mode three times over.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

import s2s


def pendulum(theta: Any, omega: Any) -> Any:
    h = 0.1
    for _ in range(20):
        k1, l1 = omega, -math.sin(theta) - 0.1 * omega
        th, om = theta + 0.5 * h * k1, omega + 0.5 * h * l1
        k2, l2 = om, -math.sin(th) - 0.1 * om
        theta = theta + h * k2
        omega = omega + h * l2
    return theta * theta + omega


def logistic(w: Any, x: Any) -> Any:
    return np.sum(np.log1p(np.exp(-(x @ w)))) + 0.1 * np.sum(w * w)


def network(w: Any, x: Any) -> Any:
    h = np.tanh(x @ w)
    z = np.tanh(h @ w)
    return np.sum((z - x) ** 2)


def likelihood(p: Any, obs: Any) -> Any:
    mean, var = p[0], np.exp(p[1])
    total = 0.0
    for y in obs:
        mean, var = p[2] * mean, p[2] * p[2] * var + 0.3
        gain = var / (var + 0.5)
        total = total - 0.5 * np.log(var + 0.5) - 0.5 * (y - mean) ** 2 / (var + 0.5)
        mean, var = mean + gain * (y - mean), (1.0 - gain) * var
    return total


def heat(u: Any, k: Any) -> Any:
    for _ in range(10):
        u = u.copy()
        u[1:-1] = u[1:-1] + k * (u[2:] - 2.0 * u[1:-1] + u[:-2]) * u[1:-1]
    return np.sum(u * u)


RNG = np.random.default_rng(0)
FUNCTIONS = [
    (pendulum, (0.5, 0.1)),
    (logistic, (RNG.normal(size=3), RNG.normal(size=(5, 3)))),
    (network, (RNG.normal(size=(3, 3)), RNG.normal(size=(5, 3)))),
    (likelihood, (RNG.normal(size=3), RNG.normal(size=6))),
    (heat, (RNG.normal(size=8), 0.1)),
]


def statements(text: str) -> int:
    lines = (line.strip() for line in text.splitlines())
    return sum(bool(line) and not line.startswith(("#", "import", "def", ")")) for line in lines)


def directed(f: Any) -> Any:
    """A scalar function for the next reverse mode: the gradient times itself, where the second
    factor is a constant."""

    def squared(x: Any, *args: Any) -> Any:
        g = s2s.grad(f)(x, *args)
        return np.sum(g * s2s.stop_gradient(g))

    return squared


def main() -> None:
    print("| function | primal | order 1 | order 2 | order 3 | reverse 2 | reverse 3 | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for f, args in FUNCTIONS:
        x, *rest = args
        v = np.ones_like(x) if isinstance(x, np.ndarray) else 1.0
        started = time.perf_counter()
        texts = [
            s2s.function(f).source_for(*args),
            s2s.grad(f).source_for(*args),
            s2s.hvp(f).source_for(x, v, *rest),
            s2s.jvp(s2s.hvp(f)).source_for(x, v, v, *rest),
            s2s.grad(directed(f)).source_for(*args),
            s2s.grad(directed(directed(f))).source_for(*args),
        ]
        seconds = time.perf_counter() - started
        counts = " | ".join(str(statements(t)) for t in texts)
        print(f"| {f.__name__} | {counts} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
