"""Twenty functions of all kinds, for tests that call many gradients concurrently.

`calls()` are functions without parameters that return a gradient; each has a compiled form and a
reference that is computed without a compiler (`backend="loops"`).  Four of them are called inside
code that Numba compiles for the user.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import s2s

RNG = np.random.default_rng(7)
VECTOR = RNG.normal(size=48)
MATRIX = RNG.normal(size=(7, 5))
SQUARE = RNG.normal(size=(32, 32)) + 32.0 * np.eye(32)
BATCH = RNG.normal(size=(6, 8, 8))
SYMMETRIC = SQUARE + SQUARE.T


def cube(x):  # type: ignore[no-untyped-def]
    return x * x * x - 2.0 * x


def waves(x):  # type: ignore[no-untyped-def]
    return np.sin(x) * np.exp(-x * x) + np.log(1.0 + x * x)


def newton(x):  # type: ignore[no-untyped-def]
    y = x
    for _ in range(5):
        y = 0.5 * (y + x / y)
    return y


def branches(x):  # type: ignore[no-untyped-def]
    return x * x if x > 1.0 else np.tanh(x) + 3.0 * x


def squares(x):  # type: ignore[no-untyped-def]
    return np.sum(x * x * np.cos(x))


def recurrence(x):  # type: ignore[no-untyped-def]
    y = np.zeros(x.shape[0])
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = 0.5 * y[i - 1] + x[i] * x[i]
    return np.sum(y)


def softmax(x):  # type: ignore[no-untyped-def]
    e = np.exp(x - np.max(x))
    return np.sum(np.log(e / np.sum(e)) * x)


def products(x):  # type: ignore[no-untyped-def]
    return np.sum(np.tanh(x.T @ x) * 0.1)


def batched(x):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(x.shape[0]):
        total += np.sum(np.tanh(x[i] @ x[i].T))
    return total


def sorted_sum(x):  # type: ignore[no-untyped-def]
    return np.sum(np.sort(x) * np.arange(x.shape[0]))


def solve(x):  # type: ignore[no-untyped-def]
    return np.sum(np.linalg.solve(x, np.ones(x.shape[0])))


def inverse(x):  # type: ignore[no-untyped-def]
    return np.sum(np.linalg.inv(x) ** 2)


def singular(x):  # type: ignore[no-untyped-def]
    return np.sum(np.linalg.svd(x, full_matrices=False)[1])


def orthogonal(x):  # type: ignore[no-untyped-def]
    q, r = np.linalg.qr(x)
    return np.sum(q) + np.sum(r * r)


def eigenvalues(x):  # type: ignore[no-untyped-def]
    return np.sum(np.linalg.eigh(x)[0] ** 3) * 1e-3


def logdet(x):  # type: ignore[no-untyped-def]
    return np.linalg.slogdet(x)[1]


def spectrum(x):  # type: ignore[no-untyped-def]
    return np.sum(np.abs(np.fft.fft(x)) ** 2 * np.arange(x.shape[0]))


def filtered(x):  # type: ignore[no-untyped-def]
    return np.sum(np.fft.irfft(np.fft.rfft(x) * 0.5) ** 3)


def inside_scalar(x):  # type: ignore[no-untyped-def]
    return np.sin(x) * x


def inside_array(x):  # type: ignore[no-untyped-def]
    return np.sum(np.exp(np.sin(x)))


PLAIN: list[tuple[Any, Any]] = [
    (cube, 1.5), (waves, 0.3), (newton, 2.0), (branches, 0.7), (squares, VECTOR),
    (recurrence, VECTOR), (softmax, VECTOR), (products, MATRIX), (batched, BATCH),
    (sorted_sum, VECTOR), (solve, SQUARE), (inverse, SQUARE), (singular, MATRIX),
    (orthogonal, MATRIX), (eigenvalues, SYMMETRIC), (logdet, SQUARE), (spectrum, VECTOR),
    (filtered, VECTOR),
]  # fmt: skip
INSIDE: list[tuple[Any, Any]] = [(inside_scalar, 0.4), (inside_array, VECTOR)]


def calls() -> list[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """The name, the compiled call and the reference of each function."""
    made = []
    for f, x in PLAIN:
        made.append((f.__name__, _direct(s2s.grad(f, backend="numba"), x), _reference(f, x)))
    for f, x in INSIDE:
        made.append((f.__name__, _inside(s2s.grad(f), x), _reference(f, x)))
    return made


def _direct(gradient: Any, x: Any) -> Callable[[], Any]:
    return lambda: gradient(x)


def _reference(f: Any, x: Any) -> Callable[[], Any]:
    return lambda: s2s.grad(f, backend="loops")(x)


def _inside(gradient: Any, x: Any) -> Callable[[], Any]:
    """The first thread that calls creates the `@njit` function, so it imports Numba."""
    made: list[Any] = []

    def call() -> Any:
        if not made:
            import numba

            @numba.njit
            def twice(x):  # type: ignore[no-untyped-def]
                return 2.0 * gradient(x)

            made.append(twice)
        return made[0](x) / 2.0

    return call
