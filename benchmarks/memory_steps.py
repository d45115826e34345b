"""Memory over a million steps: the linear regression of the first example, one compiled call each.

python benchmarks/memory_steps.py [calls]

Batches have 32 samples, the last ones 4 and 1; the learning rate changes from time to time. Prints
the resident memory during the run, and its growth since the first tenth.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import s2s
from s2s.layers import Dense
from s2s.losses import MeanSquaredError
from s2s.models import Model
from s2s.optimizers import SGD


class LinearModel(Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = Dense(1)

    def call(self, inputs: Any) -> Any:
        return self.dense(inputs)


model, loss_fn, optimizer = LinearModel(), MeanSquaredError(), SGD(0.1)


@s2s.function
def step(x: Any, y: Any) -> Any:
    with s2s.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def resident() -> float:
    """Resident memory in megabytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def run(calls: int, show: bool = True) -> float:
    """Returns the growth of memory in megabytes between the first and the last tenth of the
    calls."""
    x = np.linspace(-1.0, 1.0, 100, dtype=np.float32).reshape(-1, 1)
    y = 2.0 * x - 1.0
    batches = [
        (x[i : i + n], y[i : i + n]) for i, n in ((0, 32), (32, 32), (64, 32), (96, 4), (99, 1))
    ]
    start, early = time.perf_counter(), 0.0
    for k in range(calls):
        step(*batches[k % len(batches)])
        if (k + 1) % (calls // 10) == 0:
            optimizer.learning_rate = 0.1 / (1 + k // (calls // 10))
            early = early or resident()
            if show:
                seconds = time.perf_counter() - start
                print(f"{k + 1:9,d} calls  {resident():8.2f} MB  {seconds:6.1f} s", flush=True)
    return resident() - early


if __name__ == "__main__":
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"growth {run(calls):.2f} MB; {optimizer.iterations:,d} steps")
