"""Functions that the tests compile ahead of time."""

from __future__ import annotations

import ast
import builtins
import ctypes
import functools
import shutil
import subprocess
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2s
from s2s import aot, kernels
from s2s.codegen.type_inference import Types
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


class Counter:
    """State that a library keeps: a number, an array and a random generator."""

    def __init__(self) -> None:
        self.count = 0
        self.last = np.zeros(3, np.float32)
        self.rng = np.random.default_rng(3)

    def step(self, x):
        self.count += 1
        self.last[...] = x
        noise = self.rng.random()
        if x[0] > 5.0:
            raise ValueError("too large")
        return np.sum(self.last * x) + noise


def relaxed(u, n):
    """Writes its argument, and fails after that for negative numbers."""
    for _ in range(n):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
    if u[0] < 0.0:
        raise ValueError("negative")
    return u.sum()


@functools.cache
def small_library() -> Any:
    """A library of several functions, built once in a process."""
    wanted = {
        "step": (s2s.function(Counter().step), "float64[3]"),
        "relaxed": (s2s.function(relaxed), "float64[n], int64"),
        "mixed": (s2s.value_and_grad(mixed, wrt=("W", "b")), MIXED),
        "growing": (s2s.value_and_grad(growing), "float64[n]"),
    }
    return aot.build(wanted, out=Path(tempfile.mkdtemp()) / "parts")


def c_function(name: str, *kinds: Any, result: Any = ctypes.c_int32) -> Any:
    """A function of the small library, as C sees it."""
    function = ctypes.CDLL(str(small_library().files["so"]))[name]
    function.argtypes, function.restype = kinds, result
    return function


def aligned(size: int, fill: int = 0) -> np.ndarray[Any, Any]:
    """Bytes that begin at a multiple of 64, with 64 more behind them that stay as they are."""
    raw = np.full(size + 128, fill, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size + 64]


def lowered_function(text: str, *kinds: Any) -> tuple[ast.FunctionDef, Types]:
    """A function of lowered source, and its inferred types."""
    (function,) = ast.parse(textwrap.dedent(text)).body
    assert isinstance(function, ast.FunctionDef)
    space: dict[str, Any] = {"np": np, "rt": kernels, "__builtins__": vars(builtins)}
    return function, Types(function, space, kinds)
