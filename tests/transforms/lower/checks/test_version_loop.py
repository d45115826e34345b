"""A loop is duplicated without its checks, for the case that none can fail."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.checks.version_loop import version_checked_loops
from s2s.transforms.lower.loop_ir import nodes as L
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import routine_text
from tests.transforms.lower.memory.test_layout import again

F, INT = "float64", "int64"
I, K, N, M, S = (*map(L.Name, "iknm"), L.Name("s", F))  # noqa: E741
SIZE = L.Size("x", 0)
CHOSEN = L.compare("<", L.Load("y", (I,), F), S)
SUM = L.Let("s", L.Bin("+", S, L.Load("x", (I,), F), F))


def fails(cond, message="far out"):
    return L.If(cond, [L.Fail("IndexError", message)])


BEYOND = fails(L.compare(">=", I, SIZE))


def loop(*body, stop: L.Expr = N, step=1, parallel=False):
    ends = (L.ZERO, stop) if step == 1 else (L.sub(stop, L.ONE), L.lit(-1))
    return L.Loop("i", *ends, L.lit(step), list(body), parallel)


def twice(*body):
    out = copy.deepcopy(list(body))
    version_checked_loops(out, ["x", "y", "s", "n", "m"])
    return routine_text(out)


def test_in_some_iterations():
    for step, ends in ((1, "n"), (-1, "n - 1, -1, -1")):
        assert (
            twice(loop(L.If(CHOSEN, [BEYOND, SUM]), step=step))
            == f"""\
    if n > x.shape[0]:
        for i in range({ends}):
            if y[i] < s:
                if i >= x.shape[0]:
                    raise IndexError("far out")
                s = s + x[i]
    else:
        for i in range({ends}):
            if y[i] < s:
                s = s + x[i]"""
        )


def test_by_numbers_of_a_iteration_and_several():
    index = L.Let("k", L.add(I, L.lit(2)))
    both = L.logical_or(L.compare("<", M, L.ZERO), L.compare(">=", K, SIZE))
    new = twice(loop(L.If(CHOSEN, [index, fails(both), SUM])))
    assert new.startswith("    if m < 0 or n > x.shape[0] - 2:\n")


@pytest.mark.parametrize(
    "body",
    [
        [loop(L.If(CHOSEN, [SUM]))],
        [loop(L.If(CHOSEN, [fails(L.compare("<=", I, M)), SUM]))],
        [loop(L.If(CHOSEN, [fails(L.compare(">=", L.Load("y", (I,), INT), SIZE)), SUM]))],
        [loop(L.If(CHOSEN, [fails(L.compare(">=", L.Load("y", (L.ZERO,), INT), SIZE)), SUM]))],
        [loop(L.Let("k", L.add(K, L.ONE)), L.If(CHOSEN, [fails(L.compare(">=", K, SIZE))]))],
        [loop(L.If(CHOSEN, [fails(L.compare(">=", K, SIZE)), SUM]))],
        [
            L.If(L.compare(">", N, M), [L.Let("k", M)]),
            loop(L.If(CHOSEN, [fails(L.compare(">=", K, SIZE)), SUM])),
        ],
        [loop(L.If(CHOSEN, [BEYOND, SUM, L.Break()]))],
        [loop(L.If(CHOSEN, [BEYOND, SUM]), parallel=True)],
        [loop(L.If(CHOSEN, [fails(L.compare(">=", L.Bin("%", M, N, INT), SIZE)), SUM]))],
    ],
    ids=["nothing to check", "fails at first", "what is read", "what may be read too soon",
         "a number that changes", "a name without a value", "a name that may have none",
         "ends early", "on threads", "cannot be computed ahead"],
)  # fmt: skip
def test_left_alone(body):
    assert twice(*body) == routine_text(body)


def far(by: L.Expr, low=False) -> L.Expr:
    beyond = L.compare(">=", by, L.lit(64))
    return L.logical_or(L.compare("<", by, L.ZERO), beyond) if low else beyond


def left(by: L.Expr, low=False) -> L.Expr:
    return L.Select(far(by, low), L.ZERO, L.Bin("<<", L.ONE, by, INT), INT)


def right(by: L.Expr, low=False) -> L.Expr:
    return L.Bin(">>", M, L.Select(far(by, low), L.lit(63), by, INT), INT)


def adds(bits: L.Expr):
    return L.Let("m", L.add(M, bits))


def test_shifts():
    has = L.compare("!=", L.Bin("&", N, left(I), INT), L.ZERO)
    assert (
        twice(loop(L.If(has, [L.Store("y", (right(I),), S)])))
        == """\
    if n > 64:
        for i in range(n):
            if n & (0 if i >= 64 else np.int64(1) << i) != 0:
                y[m >> (63 if i >= 64 else i)] = s
    else:
        for i in range(n):
            if n & np.int64(1) << i != 0:
                y[m >> i] = s"""
    )


def test_shifts_and_checks():
    index = L.Let("k", L.add(I, L.lit(2)))
    new = twice(loop(index, L.If(CHOSEN, [BEYOND, adds(left(K, low=True)), SUM])))
    assert new.startswith("    if n > x.shape[0] or n > 62:\n")
    assert new.count("raise") == 1 and new.count(" else ") == 1
    # If no condition is found for one check, all checks stay.
    read = fails(L.compare(">=", L.Load("y", (I,), INT), SIZE))
    new = twice(loop(BEYOND, read, adds(left(I)), adds(left(M))))
    assert new.startswith("    if n > 64:\n")
    assert new.count("raise") == 4 and new.count(" else ") == 3


def test_shifts_that_begin_below():
    shift = adds(left(I, low=True))
    new = twice(L.Loop("i", N, L.lit(9), L.ONE, [shift]))
    assert new.startswith("    if n < 0:\n")
    less = adds(left(L.sub(I, L.ONE), low=True))
    new = twice(L.Loop("i", L.ONE, N, L.ONE, [less]))
    assert new.startswith("    if n - 1 > 64:\n")
    # Either all or none are removed.
    assert twice(L.Loop("i", L.lit(-1), N, L.ONE, [shift])).count("for") == 1
    assert twice(L.Loop("i", L.ONE, L.lit(9), L.ONE, [less])).count(" else ") == 0


@pytest.mark.parametrize(
    "body",
    [
        [loop(adds(left(M)))],
        [loop(adds(left(L.Load("y", (I,), INT))))],
        [loop(adds(left(K)), L.Let("k", L.add(I, L.ONE)))],
        [loop(adds(left(L.sub(N, I), low=True)))],
        [loop(adds(left(I)), parallel=True)],
        [loop(adds(left(I)), L.If(CHOSEN, [L.Break()]))],
        [loop(L.Let("n", L.sub(N, L.ONE)), loop(adds(left(L.add(I, N)))))],
    ],
    ids=["the same in all rounds", "what is read", "a number of the last round", "downwards",
         "on threads", "ends early", "a sum"],
)  # fmt: skip
def test_shifts_left_alone(body):
    assert twice(*body) == routine_text(body)


def test_equal_shifts_of_different_iterations():
    """Two shifts of equal text; only for the second one the range is known."""
    shift = adds(left(K))
    new = twice(loop(shift, L.Let("k", L.add(I, L.ONE)), adds(left(K))))
    assert new.startswith("    if n > 63:\n")
    assert new.split("else:\n")[-1].count(" else ") == 1


def chosen(x, y, row):
    total = 0.0
    for j in range(y.shape[0]):
        if y[j] > 0.0:
            total += x[row, j] * y[j]
    return total


@pytest.mark.parametrize("backend", ["loops", "numba"])
def test_a_program(backend):
    g = s2s.grad(chosen, wrt=("x", "y"), backend=backend)
    x, y = np.arange(12.0).reshape(3, 4), np.array([1.0, -1.0, 2.0, 3.0])
    for row in (0, 2, -1, -3):
        x_bar, y_bar = g(x, y, row)
        want = np.zeros((3, 4))
        want[row] = np.where(y > 0, y, 0)
        np.testing.assert_allclose(x_bar, want)
        np.testing.assert_allclose(y_bar, np.where(y > 0, x[row], 0))
    with switched_off("version_checked_loops"):
        plain = s2s.grad(again(chosen), backend=backend)
        np.testing.assert_array_equal(plain(x, y, 1), g(x, y, 1)[0])
        assert plain.lowered.count("for j") < g.lowered.count("for j")
    for row in (3, -4):
        with pytest.raises(IndexError, match="axis 0"):
            g(x, y, row)
        # The condition must not fail itself.
        assert not g(x, -np.abs(y), row)[0].any()
    with pytest.raises(IndexError, match="axis 1"):
        g(x[:, :3], y, 0)
    assert g(x[:, :3], np.array([1.0, 2.0, 0.5, -1.0]), 0)[0].shape == (3, 3)


def test_what_was_written_before_an_error_is_seen():
    def f(x, y):
        for i in range(y.shape[0]):
            if y[i] > 0.0:
                x[i] = 2.0 * x[i] * y[i]
        return x

    for n in (3, 4):
        for backend in ("loops", "numba"):
            x, y = np.ones(n), np.array([1.0, -1.0, 2.0, 3.0])
            same = x.copy()
            try:
                f(same, y)
            except IndexError:
                with pytest.raises(IndexError):
                    s2s.function(f, backend=backend)(x, y)
            else:
                s2s.function(f, backend=backend)(x, y)
            np.testing.assert_array_equal(x, same)


def bits_of(x, c, low):
    total = 0.0
    for j in range(low, x.shape[0]):
        if c & (1 << j):
            total += x[j] * (c >> j)
        total += x[j] ** 2 * (5 << (j + 1)) * (-c >> (j - 1))
    return total


@pytest.mark.parametrize("backend", ["loops", "numba"])
def test_shifts_in_a_program(backend):
    g = s2s.grad(bits_of, backend=backend)
    for low, c in ((0, 11), (0, -3), (-2, 2**62 + 1), (62, -(2**63) + 7)):
        for n in (0, 3, 63, 64, 65, 67, 130):
            x, bits = np.linspace(0.5, 1.5, n), np.int64(c)
            want = np.zeros(n)
            for j in map(np.int64, range(low, n) if n else ()):
                if bits & (np.int64(1) << j):
                    want[j] += bits >> j
                want[j] += 2 * x[j] * (np.int64(5) << (j + 1)) * (-bits >> (j - 1))
            np.testing.assert_allclose(g(x, c, low if n else 0), want, rtol=1e-13)
    with switched_off("version_checked_loops", "eliminate_in_range_checks"):
        plain = s2s.grad(again(bits_of), backend=backend)
        np.testing.assert_array_equal(plain(x, 11, 0), g(x, 11, 0))
