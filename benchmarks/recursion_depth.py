"""The gradient of a recursion by its depth: `python -m benchmarks.recursion_depth`.

A chain of calls of one function, each with a few operations on a scalar.  The forward part saves
its values on a stack, and the sweep calls the function's reverse once per level, so that the time
of the gradient grows linearly with the depth, as the primal's does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import s2s

DEPTHS = (100, 200, 400, 800)
X = 0.3


def chain(x: Any, n: int) -> Any:
    if n <= 0:
        return x
    return chain(np.sin(x) * 0.9 + 0.1 * x, n - 1)


def derivative(x: float, n: int) -> float:
    """The gradient of `chain`, as a loop."""
    slope = 1.0
    for _ in range(n):
        x, slope = np.sin(x) * 0.9 + 0.1 * x, slope * (0.9 * np.cos(x) + 0.1)
    return slope


def seconds(f: Callable[[], Any], repeat: int) -> float:
    """The shortest time of a call."""
    f()
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depths", type=int, nargs="+", default=DEPTHS)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--backend", default="native")
    options = parser.parse_args()
    primal = s2s.function(chain, backend=options.backend)
    gradient = s2s.grad(chain, backend=options.backend)
    print(f"{'depth':>6} {'primal':>12} {'gradient':>12} {'gradient / depth':>18}")
    for n in options.depths:
        np.testing.assert_allclose(gradient(X, n), derivative(X, n), rtol=1e-9)
        own = seconds(lambda n=n: primal(X, n), options.repeat)
        sweep = seconds(lambda n=n: gradient(X, n), options.repeat)
        print(f"{n:6} {own * 1e6:9.1f} µs {sweep * 1e6:9.1f} µs {sweep / n * 1e9:15.1f} ns")


if __name__ == "__main__":
    main()
