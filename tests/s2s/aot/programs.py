"""Functions that the tests compile ahead of time."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import Dense, initializers
from s2s.losses import SparseCategoricalCrossentropy
from s2s.models import Sequential
from s2s.optimizers import Adam

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def mixed(W, b, x, y):
    """Products, branches, a loop and an elementary function."""
    h = np.tanh(x @ W + b)
    s = 0.0
    for i in range(h.shape[0]):
        if y[i] > 0:
            s += h[i, 0] * y[i]
        else:
            s -= np.log(1.0 + h[i, 0] ** 2)
    return s / h.shape[0]


MIXED = "float32[d,h], float32[h], float32[n,d], float64[n]"


def mixed_args(n: int = 50) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    W, b, x = (rng.normal(size=s).astype(np.float32) for s in ((20, 30), (30,), (n, 20)))
    return W, b, x, rng.normal(size=n)


def waves(x):
    """Functions that are vectorised by calls of vector variants."""
    return np.sum(np.sin(x) * np.cos(x))


def blurred(x):
    """Slices whose offset is a loop counter."""
    width = x.shape[0] - 2
    out = np.zeros(width)
    for i in range(3):
        out = out + x[i : i + width] * i
    return np.sum(out * out)


def bits(x, n):
    """Shifts, some of them by amounts out of range."""
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] ** 2 * (n >> j) + x[j] * (n << (j + 60))
    return total


def growing(x):
    """A loop with a data-dependent exit, a list, and arrays that swap roles."""
    values = []
    i = 0
    s = 0.0
    while s < 10.0:
        s = s + np.sin(x[i % len(x)]) ** 2
        i += 1
        values.append(s)
    u = x
    for _ in range(5):
        u = np.tanh(u) + x * u[::-1]
    return s * np.sum(u) + values[-1]


def network() -> tuple[Any, Any, Any]:
    """A training step, a predictor, and their common model."""
    initializers.set_seed(0)
    model = Sequential([Dense(32, activation="tanh"), Dense(10)])
    loss_fn = SparseCategoricalCrossentropy(from_logits=True)
    optimizer = Adam(learning_rate=0.02)

    @s2s.function
    def step(x, y):
        with s2s.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @s2s.function
    def predict(x):
        return np.argmax(model(x), axis=1)

    return step, predict, model


def batch(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    return rng.random((n, 64)).astype(np.float32), rng.integers(0, 10, n)


def run(*command: Any, **options: Any) -> str:
    """The output of a command, which must succeed."""
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, timeout=120, **options
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def compile_c(source: str, folder: Path, *options: str, compiler: str = "cc") -> Path:
    suffix = ".cpp" if compiler.endswith("++") else ".c"
    file, program = folder / f"main{suffix}", folder / "main"
    file.write_text(source)
    run(compiler, "-Wall", "-Werror", "-o", program, file, *options)
    return program
