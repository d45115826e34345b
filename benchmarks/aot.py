"""Times a training step that is compiled ahead of time, and one compiled at its first call:

    python -m benchmarks.aot [--hidden 128] [--batch 32] [--inputs 784]

The library is called through ctypes with precomputed pointers, the compiled step from Python, with
the matrix products of s2s and with those of BLAS.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402

import s2s  # noqa: E402
from s2s.layers import Dense, initializers  # noqa: E402
from s2s.losses import SparseCategoricalCrossentropy  # noqa: E402
from s2s.models import Sequential  # noqa: E402
from s2s.optimizers import SGD, Adam  # noqa: E402


def make_step(hidden: int, optimizer: Any) -> Any:
    initializers.set_seed(0)
    model = Sequential([Dense(hidden, activation="relu"), Dense(10)])
    loss_fn = SparseCategoricalCrossentropy(from_logits=True)

    @s2s.function
    def step(x, y):
        with s2s.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step


def best(call: Callable[[], Any], seconds: float = 2.0) -> float:
    """Microseconds per call: the minimum of many means of ten calls."""
    for _ in range(20):
        call()
    least, stop = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < stop:
        start = time.perf_counter()
        for _ in range(10):
            call()
        least = min(least, (time.perf_counter() - start) / 10)
    return least * 1e6


def direct(module: Any, x: Any, y: Any) -> Callable[[], Any]:
    """A call of the library with precomputed pointers."""
    network = module.Step.load()
    function = module._step
    bytes_ = function.query(len(y))
    workspace, loss = module._aligned(bytes_), np.zeros((), np.float32)
    given: list[Any] = [ctypes.c_int64(len(y))]
    given += [ctypes.c_void_p(a.ctypes.data) for a in (x, y, loss, network.block, workspace)]
    given.append(ctypes.c_size_t(bytes_))
    kept = network, workspace, loss

    def call() -> None:
        status = function.call(*given)
        assert status == 0 and kept

    return call


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--inputs", type=int, default=784)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    x = rng.random((options.batch, options.inputs)).astype(np.float32)
    y = rng.integers(0, 10, options.batch)
    sizes = f"{options.inputs}-{options.hidden}-10, batch {options.batch}"
    for name, make in (("SGD", lambda: SGD(0.01)), ("Adam", lambda: Adam(0.001))):
        times = {}
        with tempfile.TemporaryDirectory() as folder:
            signature = f"float32[n,{options.inputs}], int64[n]"
            step = make_step(options.hidden, make())
            built = s2s.aot.build(step, signature, out=f"{folder}/step")
            times["ahead of time"] = best(direct(built.load(), x, y))
        for products in ("builtin", "blas"):
            os.environ["S2S_GEMM"] = products
            step = make_step(options.hidden, make())
            times[f"compiled, {products}"] = best(lambda step=step: step(x, y))
        first = times["ahead of time"]
        told = ", ".join(f"{k} {t:.1f} µs ({first / t:.2f})" for k, t in times.items())
        print(f"{sizes}, {name}: {told}")


if __name__ == "__main__":
    main()
