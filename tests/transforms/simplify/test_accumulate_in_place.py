"""Adjoints that an inlined call returns are accumulated where the caller needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.frontend.pytree import describe
from s2s.transforms.ir.nodes import Array, Assign, Function, Op, Var, walk
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.pipeline import Request, examine
from s2s.transforms.simplify.accumulate_in_place import accumulate_in_place
from tests import oracle

VECTOR = Array("float64", (Dim.of("x.0"),))
X = np.array([0.31, 0.52, 0.23, 0.74])


def neighbours(a):
    b = a[1:-1] * 0.5
    return b + a[2:] * a[:-2]


def of_two_parts(x):
    y = np.sin(x)
    return np.sum(neighbours(y)) + np.sum(y[0] * y)


def in_a_loop(x):
    t = 0.0
    for _ in range(3):
        t = t + np.sum(neighbours(x) * t)
        t = t + np.sum(neighbours(x))
    return t


def looped(a):
    t = 0.0
    for i in range(a.shape[0]):
        t = t + a[i] * a[0]
    return t


def with_loops(x):
    return looped(x) * np.sum(neighbours(x)) + looped(x)


def pick(a, c):
    if c > 0.5:
        t = a[0] * a[1]
    else:
        t = a[1] * 2.0
    return t * c


def with_branches(x):
    return pick(x, x[2]) + pick(x, x[3]) * np.sum(x)


def twice(x, y):
    s = x * 1.0
    for _ in range(2):
        s = y * np.cos(s) + np.tanh(s)
    return s


def the_same_argument_twice(x):
    """Two adjoints of one call are added to the same one."""
    u = np.sin(x)
    q = twice(u, u)
    return np.sum((0.5 * u + 0.3 * q) * x)


@pytest.mark.parametrize(
    "f", [of_two_parts, in_a_loop, with_loops, with_branches, the_same_argument_twice]
)
def test_gradients(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    (want,) = oracle.finite_differences(f, (X,), {}, ("x",))
    monkeypatch.setenv("S2S_CALLS", "keep+inline")
    made = s2s.grad(f, backend="python")(X)
    np.testing.assert_allclose(made, want, rtol=1e-6, atol=1e-8)


def zeros_in(f: Callable[..., Any], calls: str) -> int:
    stages = examine(Request(f, {"x": describe(X)}, {"x": X}, "vjp", ("x",), calls=calls)).stages
    body = stages["simplify"].main.body
    return sum(isinstance(s, Assign) and s.op.name == "zeros_like" for s in walk(body))


@pytest.mark.parametrize("f", [of_two_parts, with_loops])
def test_no_more_zeros_than_where_the_callee_is_inlined_at_once(f: Callable[..., Any]) -> None:
    assert zeros_in(f, "keep+inline") <= zeros_in(f, "inline")


def sums(read_again: bool) -> Function:
    h, v, zero, one, out = (Var(n, VECTOR) for n in ("h", "v", "zero", "one", "out"))
    body = [
        Assign(zero, Op("zeros_like", (h,), {"dtype": "float64"})),
        Assign(one, Op("update_add", (zero, v), {"path": ()})),
        Assign(out, Op("update_add", (h, one), {"path": ()})),
    ]
    return Function("f", [h, v], body, [out, *([one] if read_again else [])])


def test_a_sum_from_zero_starts_at_what_it_is_added_to() -> None:
    made = accumulate_in_place(sums(False), {"one"})
    (zero, one) = made.body
    assert isinstance(one, Assign) and one.op.args == (made.params[0], made.params[1])
    assert made.results == [one.target] and zero is not one


def test_a_sum_with_other_reads_stays() -> None:
    made = accumulate_in_place(sums(True), {"one"})
    assert len(made.body) == 3 and made.body[2].op.args[0] == made.params[0]  # type: ignore[union-attr]
