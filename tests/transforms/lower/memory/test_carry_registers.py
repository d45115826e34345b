"""Elements that an iteration accumulates to and the next one reads are carried in scalars."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.carry_registers import carry_in_registers
from tests.transforms.lower.loop_ir_text import run_body

F = "float64"
I, J, N, M = (L.Name(name) for name in "ijnm")  # noqa: E741
T = L.Name("t", F)
DOWN = {"start": L.sub(M, L.lit(2)), "stop": L.lit(-1), "step": L.lit(-1)}


def loop(*body, var="j", start=L.ZERO, stop=M, step=L.ONE, **options):
    return L.Loop(var, start, stop, step, list(body), **options)


def at(i, j, buffer="x"):
    return L.Load(buffer, (i, j), F)


def add(i, j, expr=T, buffer="x"):
    return L.Store(buffer, (i, j), expr, True)


def more(e, by=1):
    return L.add(e, L.lit(by))


def times(e, k):
    return L.Bin("*", e, L.Lit(k, F), F)


def kept(*body, owned=("x", "y"), may_alias=lambda a, b: a == b):
    new = copy.deepcopy(list(body))
    names = iter(f"near_{k}" for k in range(99))
    params = ["x", "y", "i", "n", "m"]
    carry_in_registers(new, params, dict.fromkeys(owned, F), may_alias, lambda hint: next(names))
    return new


def run(body, m):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(4, 9)), rng.normal(size=(4, 9))
    found = run_body(body, x=x, y=y, i=2, n=4, m=m)
    return found["x"], found["y"]


SWEEP = (
    L.Let("t", at(I, more(J))),
    L.Store("x", (I, more(J)), L.Lit(0.0, F)),
    add(I, J, times(T, 0.3)),
)
TABLE = (*SWEEP, add(more(I, -1), J, times(T, 0.5)), add(more(I, -1), more(J), times(T, 0.7)))
UPWARDS = (L.Let("t", at(I, J)), add(I, more(J), times(T, 0.3)), add(I, more(J, 2), times(T, 0.2)))
LETS = (L.Let("k", more(J)), L.Let("t", at(I, L.Name("k"))), add(I, J, times(T, 0.3)))


@pytest.mark.parametrize("m", [0, 1, 2, 3, 7])
@pytest.mark.parametrize(
    "around",
    [loop(*SWEEP, **DOWN), loop(*TABLE, **DOWN), loop(*UPWARDS), loop(*LETS, **DOWN)],
    ids=["sweep", "table", "upwards", "named places"],
)
def test_elements_are_as_without(around, m):
    new = kept(around)
    assert isinstance(new[0], L.If)
    for was, now in zip(run([around], m), run(new, m)):
        np.testing.assert_array_equal(was, now)


def test_an_element_is_read_and_written_once():
    (branch,) = kept(loop(*SWEEP, **DOWN))
    body = next(s for s in branch.then if isinstance(s, L.Loop)).body
    loads = [
        p for s in body for e in L.exprs_of(s) for p in L.walk_expr(e) if isinstance(p, L.Load)
    ]
    assert len(loads) == len([s for s in body if isinstance(s, L.Store)]) == 1


SET = (L.Let("t", at(I, J)), L.Store("x", (I, more(J)), times(T, 0.3)))
UNKNOWN_ROWS = (*SWEEP, add(N, J))
BY_TWO = (L.Let("t", at(I, J)), add(I, more(J, 2)))
CHECKED = (L.If(L.compare(">", J, N), [L.Fail("IndexError", "no")]), *SWEEP)
SOMETIMES = (L.Let("t", at(I, more(J))), L.If(L.compare(">", J, N), [add(I, J)]))
OTHER_NAME = (*SWEEP, L.Store("y", (I, J), T))
ROW_CHANGES = (
    L.Let("k", L.Bin("%", J, N, "int64")),
    L.Let("t", at(L.Name("k"), more(J))),
    add(L.Name("k"), J),
)


@pytest.mark.parametrize(
    ("body", "options", "given"),
    [
        (SET, {}, {}),
        (UNKNOWN_ROWS, DOWN, {}),
        (BY_TWO, {}, {}),
        (CHECKED, DOWN, {}),
        (SOMETIMES, DOWN, {}),
        (OTHER_NAME, DOWN, {"may_alias": lambda a, b: True}),
        (ROW_CHANGES, DOWN, {}),
        (SWEEP, DOWN, {"owned": ()}),
        (SWEEP, {**DOWN, "parallel": True}, {}),
        (SWEEP, {**DOWN, "step": L.lit(-2)}, {}),
        ((*SWEEP, L.Let("m", more(M))), {"start": M, "stop": L.lit(-1), "step": L.lit(-1)}, {}),
    ],
    ids=["set", "rows that may be one", "by two", "may fail", "in some rounds", "shared memory",
         "row changes", "elements that overlap", "threads", "steps of two", "its own bound"],
)  # fmt: skip
def test_left_alone(body, options, given):
    around = loop(*body, **options)
    assert kept(around, **given) == [around]


def warped(a, b):
    """Dynamic time warping: each element depends on three neighbours."""
    n, m = a.shape[0], b.shape[0]
    D = np.full((n + 1, m + 1), 1e30)
    D[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            D[i + 1, j + 1] = (a[i] - b[j]) ** 2 + min(D[i, j], D[i, j + 1], D[i + 1, j])
    return D[n, m]


def swept(a, b):
    """A Gauss-Seidel sweep, in place."""
    u = np.outer(a, b)
    for _ in range(3):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.2 * (u[i - 1, j] + u[i, j - 1] + u[i, j] + u[i, j + 1] + u[i + 1, j])
    return np.sum(u * u)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sizes", [(5, 6), (1, 1), (3, 3), (0, 2), (2, 0)])
@pytest.mark.parametrize("program", [warped, swept])
def test_gradients(program, sizes, dtype):
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=n).astype(dtype) for n in sizes)
    gradient = s2s.grad(program, wrt=("a", "b"))
    plain = s2s.grad(program, wrt=("a", "b"), backend="python")
    if program is swept or min(sizes) > 0:
        for got, want in zip(gradient(a, b), plain(a, b)):
            np.testing.assert_allclose(got, want, rtol=1e-12 if dtype is np.float64 else 2e-5)
    if sizes == (5, 6):
        assert "near" in gradient.lowered
