"""What `parallel=True` gains on this machine:

    python -m benchmarks.parallel [--seconds 2]

Each gradient without threads and with them, in turns, so that other work on the machine disturbs
both alike; the least times, and their ratio.  Products of matrices run on one thread in both.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numba  # noqa: E402
import numpy as np  # noqa: E402

import s2s  # noqa: E402
from s2s import threads  # noqa: E402

from .rows.gmm import gmm  # noqa: E402
from .rows.gmm import inputs as gmm_inputs  # noqa: E402
from .rows.hdiff import hdiff  # noqa: E402


def elementwise(x):
    return np.sum(np.tanh(x) * np.exp(-x * x))


def row_losses(x, w):
    total = 0.0
    for i in numba.prange(x.shape[0]):
        score = 0.0
        for j in range(x.shape[1]):
            score += x[i, j] * w[j]
        total += np.log(1.0 + np.exp(-score))
    return total


def jacobi(u, steps):
    for _ in range(steps):
        v = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        u = v
    return np.sum(u * u)


def cases() -> list[tuple[str, Any, tuple[int, ...], tuple[Any, ...]]]:
    rng = np.random.default_rng(0)
    field, strength = rng.random((260, 260, 40)), rng.random((256, 256, 40))
    mixture = tuple(gmm_inputs(10_000, 10, 25).values())
    return [
        ("maps and sums, 1,000,000", elementwise, (0,), (rng.normal(size=1_000_000),)),
        ("the same, 10,000", elementwise, (0,), (rng.normal(size=10_000),)),
        ("the same, 500", elementwise, (0,), (rng.normal(size=500),)),
        ("logistic loss, 20,000 × 50", row_losses, (0, 1),
         (rng.normal(size=(20_000, 50)), rng.normal(size=50))),
        ("jacobi, 500 × 500, 10 steps", jacobi, (0,), (rng.random((500, 500)), 10)),
        ("hdiff, 260 × 260 × 40", hdiff, (0, 1), (field, strength)),
        ("gmm, n 10,000, d 10, k 25", gmm, (0, 1, 2), mixture),
    ]  # fmt: skip


def least(runs: list[Callable[[], Any]], seconds: float) -> list[float]:
    times = [float("inf")] * len(runs)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for i, run in enumerate(runs):
            start = time.perf_counter()
            run()
            times[i] = min(times[i], time.perf_counter() - start)
    return times


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2.0)
    seconds = parser.parse_args().seconds
    print(f"{threads.count()} threads          one, ms   all, ms     gain")
    for name, function, wrt, args in cases():
        alone, shared = (
            s2s.value_and_grad(function, wrt=wrt, parallel=parallel) for parallel in (False, True)
        )
        runs: list[Callable[[], Any]] = [partial(f, *args) for f in (alone, shared)]
        first, second = (run() for run in runs)
        np.testing.assert_allclose(second[0], first[0], rtol=1e-9)
        for a, b in zip(first[1], second[1], strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-9 * np.max(np.abs(a)))
        one, all_ = least(runs, seconds)
        print(f"{name:28}{one * 1e3:10.3f}{all_ * 1e3:10.3f}{one / all_:9.2f}", flush=True)


if __name__ == "__main__":
    main()
