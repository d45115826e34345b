"""Pairs of functions that call themselves or each other: values, orders, and the work they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.frontend.pytree import describe
from s2s.transforms.ir.nodes import calls_in
from s2s.transforms.pipeline import Request, examine
from tests import oracle

X = np.array([0.31, 0.52, 0.23])
V = np.array([1.0, -0.5, 0.25])


def chain(x, n):
    if n <= 0:
        return x
    return chain(np.sin(x) * 0.9 + 0.1 * x, n - 1)


def tree(x, n):
    if n <= 0:
        return x * x
    y = np.tanh(x)
    return tree(y * 0.5, n - 1) * np.sin(x) + tree(x * y, n - 2)


def even(x, n):
    if n <= 0:
        return x
    y = np.sin(x)
    return odd(y * x, n - 1) * y


def odd(x, n):
    if n <= 0:
        return 2.0 * x
    z = np.exp(-x)
    return even(z * x, n - 1) + z


def in_loops(x, n):
    """Recursive calls in a loop, between values that the loop saves."""
    if n <= 0:
        return x * x
    t = x * 0.0
    for i in range(2):
        y = np.sin(x + i)
        t = t + in_loops(y * 0.7, n - 1) * y
        x = x * np.cos(y)
    return t + x * x


def constant(x, w, n):
    """A parameter that is the same in all calls."""
    if n == 0:
        return x
    h = np.tanh(w * x)
    return constant(h, w, n - 1) * x


def helper(x):
    for _ in range(2):
        x = np.sin(x) * x
    return x


def with_helper(x, n):
    """Calls of a function that is not part of the recursion, and has stacks of its own."""
    if n <= 0:
        return np.sum(x)
    y = helper(x)
    return with_helper(y * 0.9, n - 1) + np.sum(helper(y))


def total(x, n):
    return np.sum(chain(x, n)) + np.sum(tree(x, n))


def mutual(x, n):
    return np.sum(even(x, n))


def loop(x, n):
    return np.sum(in_loops(x, n))


def same(x, n):
    return np.sum(constant(x, x * x, n))


def helped(x, n):
    return with_helper(x, n)


def repeated(x, n):
    """Recursions in a loop of the caller, of different depths."""
    t = 0.0
    for i in range(n):
        t = t + np.sum(tree(x * (i + 0.5), i)) * np.sum(constant(x, x, i))
    return t


DEPTHS = (0, 1, 4)


@pytest.mark.parametrize(
    ("f", "mode"),
    [(mutual, "inline"), (loop, "inline"), (same, "inline"), (helped, "keep"),
     (helped, "keep+inline"), (repeated, "keep+inline")],
)  # fmt: skip
def test_gradients(f: Callable[..., Any], mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_CALLS", mode)
    gradient = s2s.grad(f, backend="python")
    for n in DEPTHS:
        (want,) = oracle.finite_differences(f, (X, n), {}, ("x",))
        np.testing.assert_allclose(gradient(X, n), want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", [mutual, helped])
def test_second_derivatives(f: Callable[..., Any]) -> None:
    """Forward over reverse and reverse over reverse agree with differences of gradients."""
    gradient = s2s.grad(f, backend="python")

    def along(x, n):
        return np.sum(s2s.grad(f)(x, n) * V)

    def pushed(x, n):
        return s2s.jvp(lambda x: s2s.grad(f)(x, n))(x, V)[1]

    backward, forward = s2s.grad(along, backend="python"), s2s.function(pushed, backend="python")
    for n in DEPTHS:
        h = 1e-5
        want = (gradient(X + h * V, n) - gradient(X - h * V, n)) / (2 * h)
        np.testing.assert_allclose(backward(X, n), want, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(forward(X, n), want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", [total, helped])
def test_compiled(f: Callable[..., Any]) -> None:
    gradient = s2s.grad(f, backend="loops")
    for n in DEPTHS:
        (want,) = oracle.finite_differences(f, (X, n), {}, ("x",))
        np.testing.assert_allclose(gradient(X, n), want, rtol=1e-6, atol=1e-8)


def module_of(f: Callable[..., Any], **values: Any) -> Any:
    specs = {k: describe(v) for k, v in values.items()}
    return examine(Request(f, specs, values, "vjp", ("x",))).stages["reverse"]


def test_nothing_is_computed_twice() -> None:
    """Each function calls its like once for each call of the program's."""
    module = module_of(lambda x, n: np.sum(tree(x, n)), x=X, n=4)
    calls = {name: [*calls_in(f.body)] for name, f in module.functions.items()}
    assert calls["tree_fwd"] == ["tree_fwd"] * 2
    assert calls["tree_rev"] == ["tree_rev"] * 2
    assert [*calls[module.entry]] == ["tree_fwd", "tree_rev"]


def test_functions_that_call_each_other_share_their_stacks() -> None:
    module = module_of(lambda x, n: np.sum(even(x, n)), x=X, n=4)
    counts = {
        len(f.notes["inout"]) for name, f in module.functions.items() if name.endswith("_fwd")
    }
    assert len(counts) == 1 and counts.pop() > 1


def noisy(x, n):
    if n <= 0:
        return x
    z = np.random.normal()
    return noisy(np.sin(x * z), n - 1) * z


@pytest.mark.parametrize("backend", ["python", "loops"])
def test_a_recursion_draws_once(backend: str) -> None:
    def value(x: float) -> float:
        np.random.seed(3)
        return noisy(x, 4)

    np.random.seed(3)
    gradient = s2s.grad(noisy, backend=backend)(0.7, 4)
    want = (value(0.7 + 1e-6) - value(0.7 - 1e-6)) / 2e-6
    np.testing.assert_allclose(gradient, want, rtol=1e-7)


def test_a_gradient_in_a_loop_of_a_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(x, n):
        for _ in range(2):
            with s2s.GradientTape() as tape:
                tape.watch(x)
                y = np.sum(tree(x, n))
            x = x - 0.1 * tape.gradient(y, x)
        return x

    x = X
    for _ in range(2):
        (g,) = oracle.finite_differences(lambda x: np.sum(tree(x, 3)), (x,), {}, ("x",))
        x = x - 0.1 * g
    for mode in ("inline", "keep", "keep+inline"):
        monkeypatch.setenv("S2S_CALLS", mode)
        np.testing.assert_allclose(s2s.function(step, backend="python")(X, 3), x, rtol=1e-6)
