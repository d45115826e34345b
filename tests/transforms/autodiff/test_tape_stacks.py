"""Stacks of pairs of functions: what loops, branches and callees of callees save."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from tests import oracle

X = np.array([0.31, 0.52, 0.23])
V = np.array([1.0, -0.5, 0.25])


def looped(x, k):
    for i in range(k):
        x = x * np.sin(x[i % 2]) + 0.3 * x
    return np.sum(x * x)


def branch(x, y):
    s = np.sum(x)
    if s > 0.1:
        z = np.exp(x * 0.3) * y
        w = z * np.sin(z)
    else:
        w = x * y
    return w * x


def ragged(x):
    t = 0.0
    for i in range(x.shape[0]):
        y = np.sin(x[i:]) * 1.0
        z = np.exp(y)
        t = t + np.sum(z * y * z)
    return t


def shrink(x):
    n = 0
    while np.sum(x * x) > 0.05 and n < 10:
        x = np.sin(x) * 0.6 * x
        n += 1
    return x * n


def inner(x):
    for _ in range(2):
        x = np.sin(x) * x
    return x


def outer(x, n):
    for _ in range(n):
        x = inner(x) + branch(x, x) * 0.1
    return x


def loops(x):
    return looped(x, 3) * looped(x * x, 2) + looped(x, 0)


def branches(x):
    return np.sum(branch(x, x * x)) + np.sum(branch(-x, x))


def slices(x):
    return ragged(x) * 2.0


def until(x):
    return np.sum(shrink(x) * x)


def nested(x):
    return np.sum(outer(x, 3))


def in_a_test(x):
    """The test of the loop calls the callee once more than the body runs."""
    k = 0
    y = x
    while looped(y, 2) > 0.01 and k < 5:
        y = 0.7 * y * np.cos(y)
        k += 1
    return np.sum(y)


def two_types(x):
    """Booleans, integers and floats are saved."""

    def pick(x, k):
        t = 0.0
        for i in range(x.shape[0]):
            j = (i + k) % 3
            if x[j] > 0.25:
                t = t + x[j] ** 2 * x[i]
        return t

    return pick(x, 1) * pick(x * 1.1, 2)


@pytest.mark.parametrize(
    ("f", "mode"),
    [(loops, "keep+inline"), (branches, "keep"), (branches, "keep+inline"), (slices, "keep"),
     (until, "keep+inline"), (nested, "keep"), (in_a_test, "keep+inline"), (two_types, "keep")],
)  # fmt: skip
def test_orders(f: Callable[..., Any], mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Value, gradient, forward mode and second derivatives."""
    want = s2s.grad(f, backend="python")(X)
    tangent = s2s.jvp(f, backend="python")(X, V)[1]
    second = s2s.hvp(f, backend="python")(X, V)
    monkeypatch.setenv("S2S_CALLS", mode)
    (differences,) = oracle.finite_differences(f, (X,), {}, ("x",))
    made = s2s.grad(f, backend="python")(X)
    np.testing.assert_allclose(made, differences, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(made, want, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(s2s.jvp(f, backend="python")(X, V)[1], tangent, rtol=1e-12)
    np.testing.assert_allclose(s2s.hvp(f, backend="python")(X, V), second, rtol=1e-11, atol=1e-14)

    def along(x):
        return np.sum(s2s.grad(f)(x) * V)

    again = s2s.grad(along, backend="python")(X)
    np.testing.assert_allclose(again, second, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("f", [slices, nested, two_types])
def test_compiled(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_CALLS", "keep")
    made = s2s.grad(f, backend="loops")(X)
    (differences,) = oracle.finite_differences(f, (X,), {}, ("x",))
    np.testing.assert_allclose(made, differences, rtol=1e-6, atol=1e-8)


def test_no_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_CALLS", "keep")
    for backend in ("python", "loops"):
        g = s2s.grad(lambda x: np.sum(inner(x)) + ragged(x), backend=backend)
        assert g(np.zeros(0)).shape == (0,)
