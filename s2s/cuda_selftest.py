"""`python -m s2s.cuda_selftest`: compares results on this machine's GPU with those of the CPU.

For people with a GPU: the target has been compiled, assembled and emulated, but not run on one.
With `--target cuda-emulated` the same comparison runs without a GPU.  The report is for an issue.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._version import __version__
from .api.functions import value_and_grad
from .cuda import devices
from .errors import S2SError


@dataclass
class Outcome:
    """What became of one program; `error` is empty if the results agree."""

    name: str
    error: str
    difference: float = 0.0
    seconds: float = 0.0
    launches: int = 0


# ---------------------------------------------------------------- programs


def elementwise(x: Any) -> Any:
    return np.sum(np.tanh(x) * np.exp(-x * x) + np.sqrt(x * x + 1.0))


def perceptron(w: Any, b: Any, v: Any, x: Any, y: Any) -> Any:
    hidden = np.maximum(x @ w + b, 0.0)
    residual = hidden @ v - y
    return np.mean(residual * residual)


def softmax_cross_entropy(w: Any, x: Any, labels: Any) -> Any:
    scores = x @ w
    total = 0.0
    for i in range(scores.shape[0]):
        row = scores[i] - np.max(scores[i])
        total += np.log(np.sum(np.exp(row))) - row[labels[i]]
    return total / scores.shape[0]


def stencil(u: Any, steps: int) -> Any:
    for _ in range(steps):
        v = u.copy()
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u = v
    return np.sum(u * u)


def gathered(x: Any, index: Any) -> Any:
    return np.sum(x[index] ** 2)


def recurrence(a: Any, x: Any) -> Any:
    h = 0.0
    for i in range(x.shape[0]):
        h = np.tanh(a * h + x[i])
    return h


def programs(dtype: Any, small: bool) -> list[tuple[Callable[..., Any], Any, tuple[Any, ...]]]:
    """Functions, the arguments to differentiate by, and arguments."""
    rng = np.random.default_rng(0)
    scale = 1 if small else 16

    def normal(*shape: int) -> Any:
        return rng.normal(size=shape).astype(dtype)

    n = 20 * scale
    labels = rng.integers(0, 5, n)
    return [
        (elementwise, "x", (normal(50 * scale * scale),)),
        (
            perceptron, ("w", "b", "v"),
            (normal(7, 9), normal(9), normal(9, 3), normal(n, 7), normal(n, 3)),
        ),
        (softmax_cross_entropy, "w", (normal(6, 5), normal(n, 6), labels)),
        (stencil, "u", (normal(n, n + 3), 4)),
        (gathered, "x", (normal(n), rng.integers(0, n, 3 * n))),
        (recurrence, ("a", "x"), (dtype(0.5), normal(n))),
    ]  # fmt: skip


# ---------------------------------------------------------------- the comparison


def compare(function: Callable[..., Any], wrt: Any, args: tuple[Any, ...], target: str) -> Outcome:
    """Run the gradient of a function on a device and on the CPU."""
    device = devices.device(target)
    given = [devices.to_device(a, target) if isinstance(a, np.ndarray) else a for a in args]
    single = np.dtype(np.float32) in [getattr(a, "dtype", None) for a in args]
    try:
        on_device = value_and_grad(function, wrt=wrt, target=target)
        on_device(*given)
        device.counts.reset()
        start = time.perf_counter()
        value, gradients = on_device(*given)
        found = [np.asarray(leaf) for leaf in (value, *_leaves(gradients))]
        seconds, launches = time.perf_counter() - start, device.counts.launches
        expected, others = value_and_grad(function, wrt=wrt, target="cpu")(*args)
    except S2SError as error:
        return Outcome(function.__name__, f"{type(error).__name__}: {error.message}")
    worst = 0.0
    for leaf, other in zip(found, (expected, *_leaves(others))):
        scale = float(np.max(np.abs(other), initial=1.0))
        worst = max(worst, float(np.max(np.abs(leaf - np.asarray(other)), initial=0.0)) / scale)
    limit = 1e-3 if single else 1e-9
    error = "" if worst <= limit else f"the results differ by {worst:.1e} of their size"
    return Outcome(function.__name__, error, worst, seconds, launches)


def _leaves(gradients: Any) -> tuple[Any, ...]:
    return gradients if isinstance(gradients, tuple) else (gradients,)


def run(target: str, small: bool) -> list[Outcome]:
    """All programs in both precisions."""
    found = []
    for dtype in (np.float64, np.float32):
        for function, wrt, args in programs(dtype, small):
            outcome = compare(function, wrt, args, target)
            outcome.name += f", {np.dtype(dtype).name}"
            found.append(outcome)
    return found


def report(target: str, outcomes: list[Outcome]) -> str:
    """The outcomes as text."""
    device = devices.device(target)
    lines = [f"s2s {__version__}, {target}: {device.description}", ""]
    for o in outcomes:
        what = o.error or (
            f"agrees (difference {o.difference:.1e}), {o.launches} launches, "
            f"{1e3 * o.seconds:.2f} ms with the copy of the results"
        )
        lines.append(f"  {o.name:32} {what}")
    failed = sum(bool(o.error) for o in outcomes)
    lines += ["", f"{len(outcomes) - failed} of {len(outcomes)} programs agree with the CPU"]
    return "\n".join(lines)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m s2s.cuda_selftest", description=__doc__)
    parser.add_argument("--target", choices=("cuda", "cuda-emulated"), default="cuda")
    parser.add_argument("--small", action="store_true", help="few elements")
    options = parser.parse_args(words)
    try:
        outcomes = run(options.target, options.small or options.target == "cuda-emulated")
    except S2SError as error:
        print(error, file=sys.stderr)
        return 2
    print(report(options.target, outcomes))
    return int(any(o.error for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
