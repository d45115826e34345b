"""Scaled rows are accumulated four at a time, in the same order."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.unroll_and_jam_sums import unroll_and_jam_sums
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import at, routine_text, run_body
from tests.transforms.lower.memory.test_layout import again

F = "float64"
I, K, N, M = (L.Name(name) for name in ("i", "k", "n", "m"))  # noqa: E741
S, T = L.Name("s", F), L.Name("t", F)
SIZE = L.Size("y", 0)


def times(a, b):
    return L.Bin("*", a, b, F)


ADDED = L.Store("x", (I,), times(S, at("y", K, I)), add=True)


def rows(*inside, first=(), start: L.Expr = L.ZERO, stop: L.Expr = SIZE, step=1, inner=M):
    """A loop over rows around a loop over their elements."""
    loop = L.Loop("i", L.ZERO, inner, L.ONE, list(inside))
    return L.Loop("k", start, stop, L.lit(step), [*first, loop])


def jammed(*body, may_alias=lambda a, b: a == b, dtype=F, escaping=()):
    new = copy.deepcopy(list(body))
    taken = Emitter({"x", "y", "s", "t", "n", "m", "k", "i"})
    unroll_and_jam_sums(new, {"x": dtype, "y": F, "z": F}, {*escaping}, may_alias, taken.new_name)
    return new


def test_four_rows_at_once():
    assert (
        routine_text(jammed(rows(ADDED)))
        == """\
    rest = y.shape[0] - y.shape[0] % 4
    for k in range(0, rest, 4):
        for i in range(m):
            x[i] = x[i] + s * y[k, i] + s * y[k + 1, i] + s * y[k + 2, i] + s * y[k + 3, i]
    for k in range(rest, y.shape[0]):
        for i in range(m):
            x[i] += s * y[k, i]"""
    )


def test_numbers_of_each_row():
    put = L.Store("x", (I,), L.Bin("-", at("x", I), times(T, at("y", K, I)), F))
    body = rows(put, first=[L.Let("t", times(S, at("y", K, L.ZERO)))], stop=N, inner=N)
    assert (
        routine_text(jammed(body))
        == """\
    rest = n - n % 4 if n > 0 else 0
    for k in range(0, rest, 4):
        t = s * y[k, 0]
        t_1 = s * y[k + 1, 0]
        t_2 = s * y[k + 2, 0]
        t_3 = s * y[k + 3, 0]
        for i in range(n):
            x[i] = x[i] - t * y[k, i] - t_1 * y[k + 1, i] - t_2 * y[k + 2, i] - t_3 * y[k + 3, i]
    for k in range(rest, n):
        t_4 = s * y[k, 0]
        for i in range(n):
            x[i] = x[i] - t_4 * y[k, i]"""
    )


def test_numbers_inside():
    let = L.Let("t", times(S, at("y", K, I)))
    put = L.Store("x", (I,), T, add=True)
    inside = "x[i] = x[i] + s * y[k, i] + s * y[k + 1, i] + s * y[k + 2, i] + s * y[k + 3, i]"
    assert inside in routine_text(jammed(rows(let, put)))
    twice = L.Store("x", (I,), times(T, T), add=True)
    for body in ([rows(let, twice)], [rows(let, put), L.Store("y", (L.ZERO, L.ZERO), T)]):
        assert routine_text(jammed(*body)) == routine_text(body)


def test_checks_come_first():
    check = L.If(L.compare(">=", K, N), [L.Fail("IndexError", "far out")])
    body = rows(ADDED, first=[check])
    assert routine_text(jammed(body, escaping=("x",))) == routine_text([body])
    new = routine_text(jammed(body))
    assert [line.strip() for line in new.splitlines() if "if" in line] == [
        "if k >= n:", "if k + 1 >= n:", "if k + 2 >= n:", "if k + 3 >= n:", "if k >= n:",
    ]  # fmt: skip


def test_what_is_stored_elsewhere():
    body = rows(ADDED)
    body.body.append(L.Store("z", (K,), times(S, at("y", K, L.ZERO))))
    assert (
        routine_text(jammed(body)).split("range(rest, ")[0].split("[k + 3, i]")[1]
        == """
        z[k] = s * y[k, 0]
        z[k + 1] = s * y[k + 1, 0]
        z[k + 2] = s * y[k + 2, 0]
        z[k + 3] = s * y[k + 3, 0]
    for k in """
    )
    for buffer in "xy":
        body.body[-1] = L.Store(buffer, (K,), S)
        assert routine_text(jammed(body)) == routine_text([body])
    body.body[-1] = L.Store("z", (K,), at("x", K))
    assert routine_text(jammed(body)) == routine_text([body])


def run(body, n):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=3), rng.normal(size=(12, 3))
    return run_body(body, x=x, y=y, s=1.5, n=n, m=3)["x"]


@pytest.mark.parametrize("start", [L.ZERO, L.lit(2), L.lit(-3)])
@pytest.mark.parametrize("step", [1, -1])
def test_whatever_the_range(start, step):
    for stop in (N, L.sub(N, L.lit(3))):
        ends = (start, stop) if step > 0 else (stop, start)
        body = rows(ADDED, start=ends[0], stop=ends[1], step=step)
        new = jammed(body)
        assert len(new) > 1
        for n in range(-3, 10):
            assert list(run(new, n)) == list(run([body], n))


LET = L.Let("t", times(S, at("y", K, L.ZERO)))


@pytest.mark.parametrize(
    "body",
    [
        [rows(L.Store("x", (I,), times(S, at("y", K, I))))],
        [rows(L.Store("x", (I,), times(S, at("x", K)), add=True))],
        [rows(L.Store("x", (L.add(I, K),), at("y", K, I), add=True))],
        [rows(L.Store("x", (L.ZERO,), at("y", K, I), add=True))],
        [rows(L.Store("x", (I,), at("y", L.ZERO, I), add=True))],
        [rows(L.Store("x", (I,), L.Apply("np.exp", (at("y", K, I),), F), add=True))],
        [rows(ADDED, inner=K)],
        [rows(ADDED, L.Store("y", (I, I), S))],
        [rows(ADDED, step=2)],
        [rows(ADDED, stop=L.lit(7))],
        [rows(ADDED, first=[L.Store("y", (K, K), S)])],
        [rows(ADDED, first=[LET]), L.Store("y", (L.ZERO, L.ZERO), T)],
        [rows(ADDED, first=[L.Let("t", L.Bin("+", T, S, F))])],
        [rows(ADDED), L.Store("x", (K,), S)],
        [rows(ADDED, stop=I)],
        [rows(ADDED, inner=I)],
        [L.Rebind("z", "x"), rows(L.Store("z", (I,), times(at("x", K), at("y", K, I)), add=True))],
    ],
    ids=[
        "written, not added", "of the row itself", "another row each time", "one element",
        "the same each time", "takes long", "triangular", "another row, too", "another step", "few",
        "something before", "a number read later", "a number that goes on",
        "which round came last", "as many as the loop inside left", "as many as last time",
        "another name",
    ],
)  # fmt: skip
def test_left_alone(body):
    assert routine_text(jammed(*body)) == routine_text(body)


def test_rounding_and_memory_stay_as_they_are():
    assert routine_text(jammed(rows(ADDED), dtype="float32")) == routine_text([rows(ADDED)])
    assert routine_text(jammed(rows(ADDED), may_alias=lambda a, b: True)) == routine_text(
        [rows(ADDED)]
    )
    body = [L.View("z", "x", (N, M)), rows(L.Store("x", (I,), at("z", K, I), add=True))]
    assert routine_text(jammed(*body)) == routine_text(body)


# ---------------------------------------------------------------- programs


def product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for row in range(a.shape[0]):
        for k in range(a.shape[1]):
            c[row, : row + 1] += a[row, k] * b[k, : row + 1]
    return np.sum(c**2)


@pytest.mark.parametrize("inner", [0, 1, 3, 4, 9])
def test_results_are_the_same_to_the_last_bit(inner):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, inner)), rng.normal(size=(inner, 6))
    with switched_off("unroll_and_jam"):
        now = s2s.value_and_grad(again(product), wrt=("a", "b"), backend="loops")
        value, bars = now(a, b)
    with switched_off("unroll_and_jam_sums", "unroll_and_jam"):
        was = s2s.value_and_grad(again(product), wrt=("a", "b"), backend="loops")
        right, right_bars = was(a, b)
    assert "rest" in now.lowered and "rest" not in was.lowered
    assert value == right
    for bar, right_bar in zip(bars, right_bars):
        np.testing.assert_array_equal(bar, right_bar)
