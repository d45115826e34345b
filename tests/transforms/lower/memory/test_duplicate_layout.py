"""A buffer that loops traverse along both axes is stored in both axis orders."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.analysis.parameters import Parameters
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.duplicate_layout import duplicate_layout
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import at, routine_text
from tests.transforms.lower.memory.test_layout import again

F = "float64"
i, j, k = L.Name("i"), L.Name("j"), L.Name("k")
N = L.Size("x", 0)
T = L.Alloc("t", F, (N, N))


def nest(*body, over=((i, N), (j, N), (k, N))):
    inner: list[L.Stmt] = list(body)
    for var, stop in reversed(over):
        inner = [L.Loop(var.name, L.ZERO, stop, L.ONE, inner)]
    return inner[0]


def paired(*body, outs=(), escaping=(), may_alias=lambda a, b: a == b):
    new = [*copy.deepcopy(list(body)), L.Return(())]
    sizes: dict[str, tuple[L.Expr, ...]] = {
        name: (L.Size(name, 0), L.Size(name, 1)) for name in ("x", "y")
    }
    arrays = Parameters(dict.fromkeys("xy", F), sizes, frozenset(outs), {*escaping})
    duplicate_layout(new, arrays, may_alias, Emitter({"x", "y", "t", "i", "j", "k"}))
    return routine_text(new)


WRITTEN = nest(L.Store("t", (i, j), at("x", i, j)), over=((i, N), (j, N)))
READ = nest(L.Store("x", (i, j), L.Bin("*", at("t", i, k), at("t", k, j), F), add=True))
ADDED = nest(
    L.Store("t", (k, j), at("x", i, k), add=True), L.Store("t", (i, k), at("x", j, k), add=True)
)


def test_what_is_read_often_is_written_twice():
    assert (
        paired(T, WRITTEN, READ)
        == """\
    t = np.empty((x.shape[0], x.shape[0]), np.float64)
    t_turned = np.empty((x.shape[0], x.shape[0]), np.float64)
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            t_1 = x[i, j]
            t[i, j] = t_1
            t_turned[j, i] = t_1
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            for k in range(x.shape[0]):
                x[i, j] += t[i, k] * t_turned[j, k]"""
    )


def test_what_is_added_to_often_is_a_sum_of_two():
    read = nest(L.Store("x", (i, j), at("t", i, j)), over=((i, N), (j, N)))
    assert (
        paired(T, WRITTEN, ADDED, read)
        == """\
    t = np.empty((x.shape[0], x.shape[0]), np.float64)
    t_turned = np.empty((x.shape[0], x.shape[0]), np.float64)
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            t[i, j] = x[i, j]
            t_turned[j, i] = -0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            for k in range(x.shape[0]):
                t_turned[j, k] += x[i, k]
                t[i, k] += x[j, k]
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            x[i, j] = t[i, j] + t_turned[j, i]"""
    )


def test_a_result_is_put_together_at_the_end():
    to_y = [L.Store("y", s.index, s.expr) for s in (WRITTEN.body[0].body[0],)]
    written = nest(*to_y, over=((i, N), (j, N)))
    added = nest(*(L.Store("y", p.index, p.expr, add=True) for p in ADDED.body[0].body[0].body))
    new = paired(written, added, outs=("y",))
    assert new.startswith("    y_turned = np.empty((y.shape[1], y.shape[0]), np.float64)\n")
    assert new.endswith(
        """\
    for i_1 in range(y.shape[0]):
        for j_1 in range(y.shape[1]):
            y[i_1, j_1] += y_turned[j_1, i_1]"""
    )
    same = routine_text([written, added, L.Return(())])
    assert paired(written, added) == same  # written, but not for a result
    assert paired(written, added, outs=("y",), escaping=("y",)) == same
    assert paired(written, added, outs=("y",), may_alias=lambda a, b: True) == same


def test_a_parameter_that_is_only_read_is_copied():
    body = nest(L.Store("x", (i, j), L.Bin("*", at("y", i, k), at("y", k, j), F), add=True))
    new = paired(body)
    assert "y_turned[j_1, i_1] = y[i_1, j_1]" in new and "y[i, k] * y_turned[j, k]" in new
    written = L.Store("y", (L.ZERO, L.ZERO), L.Lit(0.0, F))
    assert paired(body, written) == routine_text([body, written, L.Return(())])


@pytest.mark.parametrize(
    "body",
    [
        [T, WRITTEN, nest(L.Store("x", (j, i), at("t", i, j)), over=((j, N), (i, N)))],
        [T, nest(L.Store("t", (i, k), at("x", j, k)), over=((i, N), (j, N), (k, N))), READ],
        [T, WRITTEN, READ, ADDED],
        [T, WRITTEN, READ, L.View("u", "t", (L.mul(N, N),))],
        [T, L.Rebind("u", "t"), WRITTEN, READ],
        [T, WRITTEN, T, WRITTEN, READ],
        [L.Alloc("t", F, (L.lit(8), L.lit(8))), WRITTEN, READ],
        [L.Alloc("t", "int64", (N, N)), WRITTEN, ADDED],
    ],
    ids=[
        "read once", "written as often", "read and added to", "of other sizes, too",
        "another name", "made twice", "small", "sums of integers",
    ],
)  # fmt: skip
def test_left_alone(body):
    assert paired(*body) == routine_text([*body, L.Return(())])


# ---------------------------------------------------------------- programs


def factors(A):
    A = A.copy()
    n = A.shape[0]
    for row in range(n):
        for c in range(row):
            A[row, c] -= A[row, :c] @ A[:c, c]
            A[row, c] /= A[c, c]
        for c in range(row, n):
            A[row, c] -= A[row, :row] @ A[:row, c]
    return np.sum(A * A)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_results_are_the_same(dtype, n):
    a = np.random.default_rng(0).normal(size=(n, n)).astype(dtype) + 3.0 * np.eye(n, dtype=dtype)
    now = s2s.value_and_grad(factors, backend="loops")
    value, bar = now(a)
    assert "A_1_turned" in now.lowered and "A_bar_turned" in now.lowered
    with switched_off("duplicate_layout"):
        was = s2s.value_and_grad(again(factors), backend="loops")
        right, right_bar = was(a)
    assert "_turned" not in was.lowered
    assert value == right and bar.dtype == right_bar.dtype
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(bar, right_bar, rtol=tolerance, atol=tolerance)
