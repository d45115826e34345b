"""Speedup by several threads on this machine:

    python -m benchmarks.parallel [--seconds 2] [name …]

Each gradient is timed with `parallel=False`, with the default, and with `parallel=True`,
alternately, so that other load affects all alike. Prints the minimum times and the ratios to the
first. Products of matrices run on one thread in all of them.
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
from s2s.runtime import thread_pool  # noqa: E402

from .rows.arc_distance import arc_distance  # noqa: E402
from .rows.gmm import gmm  # noqa: E402
from .rows.gmm import inputs as gmm_inputs  # noqa: E402
from .rows.hdiff import hdiff  # noqa: E402
from .rows.jacobi_2d import jacobi_2d  # noqa: E402
from .rows.log_sum_exp import log_sum_exp  # noqa: E402


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


def layers(w1, w2, x):
    h = np.tanh(x @ w1)
    return np.sum(np.log1p(np.exp(h @ w2)))


def scattered(table, x, k):
    return np.sum(table[k] * x)


def cases() -> list[tuple[str, Any, tuple[int, ...], tuple[Any, ...]]]:
    rng = np.random.default_rng(0)
    field, strength = rng.random((260, 260, 40)), rng.random((256, 256, 40))
    mixture = tuple(gmm_inputs(10_000, 10, 25).values())
    large = tuple(gmm_inputs(10_000, 32, 50).values())
    return [
        ("maps and sums, 1,000,000", elementwise, (0,), (rng.normal(size=1_000_000),)),
        ("the same, 10,000", elementwise, (0,), (rng.normal(size=10_000),)),
        ("the same, 500", elementwise, (0,), (rng.normal(size=500),)),
        ("logistic loss, 20,000 × 50", row_losses, (0, 1),
         (rng.normal(size=(20_000, 50)), rng.normal(size=50))),
        ("log-sum-exp, 10,000,000", log_sum_exp, (0,), (rng.normal(size=10_000_000),)),
        ("arc distance, 1,000,000", arc_distance, (0, 1, 2, 3),
         tuple(rng.random((4, 1_000_000)))),
        ("jacobi, 500 × 500, 10 steps", jacobi, (0,), (rng.random((500, 500)), 10)),
        ("jacobi 2d, 1000 × 1000", jacobi_2d, (0, 1),
         (rng.random((1000, 1000)), rng.random((1000, 1000)), 10)),
        ("hdiff, 260 × 260 × 40", hdiff, (0, 1), (field, strength)),
        ("hdiff, 260 × 260 × 160", hdiff, (0, 1),
         (rng.random((260, 260, 160)), rng.random((256, 256, 160)))),
        ("gmm, n 10,000, d 10, k 25", gmm, (0, 1, 2), mixture),
        ("gmm, n 10,000, d 32, k 50", gmm, (0, 1, 2), large),
        ("layers, 10,000 × 100 × 100", layers, (0, 1),
         (*rng.normal(size=(2, 100, 100)), rng.normal(size=(10_000, 100)))),
        ("scatter, 1,000,000", scattered, (0, 1),
         (rng.normal(size=100_000), rng.normal(size=1_000_000), rng.integers(0, 10**5, 10**6))),
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
    parser.add_argument("names", nargs="*", help="how the names of cases begin")
    options = parser.parse_args()
    print(f"{thread_pool.thread_count()} threads           serial, ms   by itself          True")
    for name, function, wrt, args in cases():
        if options.names and not name.startswith(tuple(options.names)):
            continue
        made = [s2s.value_and_grad(function, wrt=wrt, parallel=p) for p in (False, None, True)]
        runs: list[Callable[[], Any]] = [partial(f, *args) for f in made]
        first, *others = (run() for run in runs)
        for other in others:
            np.testing.assert_allclose(other[0], first[0], rtol=1e-9)
            for a, b in zip(first[1], other[1], strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-9 * np.max(np.abs(a)))
        serial, *shared = least(runs, options.seconds)
        ratios = "".join(f"{t * 1e3:10.3f} {serial / t:5.2f}" for t in shared)
        print(f"{name:28}{serial * 1e3:10.3f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
