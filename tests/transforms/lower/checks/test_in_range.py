"""Index checks are removed if and only if the index is proven in range."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.checks.in_range import eliminate_in_range_checks
from s2s.transforms.lower.loop_ir import nodes as L
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import routine_text
from tests.transforms.lower.memory.test_layout import again

F, INT = "float64", "int64"
C, J, N, M, S, T, AT = (*map(L.Name, "cjnm"), L.Name("s", F), L.Name("t"), L.Name("at"))
BIT = L.Bin("<<", L.ONE, J, INT)
HAS = L.compare("!=", L.Bin("&", C, BIT, INT), L.ZERO)
MORE = L.Bin("and", L.compare("<", C, M), HAS, "bool")


def fails(cond):
    return L.If(cond, [L.Fail("IndexError", "out")])


def read(index: L.Expr, size: L.Expr = N):
    """Statements that read an element with wraparound and bounds check."""
    wrapped = L.Select(L.compare("<", T, L.ZERO), L.Bin("+", T, size, INT), T, INT)
    outside = L.logical_or(L.compare("<", AT, L.ZERO), L.compare(">=", AT, size))
    element = L.Bin("+", S, L.Load("x", (AT,), F), F)
    return [L.Let("t", index), L.Let("at", wrapped), fails(outside), L.Let("s", element)]


def loop(*body, start: L.Expr = L.ONE, stop: L.Expr = N, step=1):
    return L.Loop("c", start, stop, L.lit(step), list(body))


def within(*body, params=("x", "s", "n", "m", "j")):
    out = copy.deepcopy(list(body))
    eliminate_in_range_checks(out, params)
    return routine_text(out)


def test_a_number_without_one_of_its_bits():
    assert (
        within(loop(L.If(HAS, read(L.Bin("^", C, BIT, INT)))))
        == """\
    for c in range(1, n):
        if c & np.int64(1) << j != 0:
            t = c ^ np.int64(1) << j
            at = t
            s = s + x[at]"""
    )


@pytest.mark.parametrize(
    "body",
    [
        loop(*read(C)),
        loop(*read(C), start=L.sub(N, L.ONE), stop=L.ZERO, step=-1),
        loop(L.If(HAS, read(L.Bin("-", C, BIT, INT)))),
        loop(L.If(MORE, read(L.Bin("^", C, BIT, INT)))),
        loop(
            L.Let("b", BIT),
            L.If(
                L.compare("!=", L.Bin("&", L.Name("b"), C, INT), L.ZERO),
                read(L.Bin("^", C, L.Name("b"), INT)),
            ),
        ),
        loop(
            L.If(
                L.compare("!=", L.Bin("&", C, L.lit(4), INT), L.ZERO),
                read(L.Bin("^", C, L.lit(4), INT)),
            )
        ),
    ],
    ids=["counted", "backwards", "subtracted", "and more", "a bit with a name", "a constant"],
)  # fmt: skip
def test_known(body):
    assert "raise" not in within(body) and " else " not in within(body)


def shift(by: L.Expr) -> L.Expr:
    far = L.logical_or(L.compare("<", by, L.ZERO), L.compare(">=", by, L.lit(64)))
    return L.Select(far, L.ZERO, L.Bin("<<", L.ONE, by, INT), INT)


def puts(e: L.Expr):
    return L.Store("x", (e,), S)


def test_a_number_without_a_bit_that_may_be_shifted_out():
    has = L.compare("!=", L.Bin("&", C, shift(J), INT), L.ZERO)
    new = within(loop(L.If(has, read(L.Bin("^", C, shift(J), INT)))))
    assert "raise" not in new and "at = t\n" in new and new.count("j >= 64") == 2


@pytest.mark.parametrize("stop", [64, 10, 0])
@pytest.mark.parametrize(
    "by", [C, L.Bin("&", M, L.lit(63), INT), L.Bin("%", M, L.lit(64), INT),
           L.Bin("-", L.lit(63), C, INT), L.Bin("&", C, M, INT), L.Bin("-", L.lit(63), T, INT)],
    ids=["counted", "masked", "rest", "from above", "some bits", "by name"],
)  # fmt: skip
def test_shifts_that_do_not_go_too_far(by, stop):
    body = [L.Let("t", L.Bin("&", M, L.lit(31), INT)), puts(shift(by))]
    up = loop(*body, start=L.ZERO, stop=L.lit(stop))
    down = loop(*body, start=L.lit(stop - 1), stop=L.lit(-1), step=-1)
    assert " else " not in within(up) and " else " not in within(down)


@pytest.mark.parametrize(
    "by, left",
    [(C, "c < 0"), (M, "m < 0 or m >= 64"),
     (L.Bin("&", M, L.lit(64), INT), "m & 64 >= 64"),
     (L.Bin("&", M, L.lit(-2), INT), "m & -2 < 0 or m & -2 >= 64"),
     (L.Bin("%", M, L.lit(65), INT), "m % 65 >= 64"),
     (L.Bin("%", M, N, INT), "m % n < 0 or m % n >= 64"),
     (L.Bin("-", L.lit(8), C, INT), "8 - c < 0 or 8 - c >= 64"),
     (L.Bin("-", L.lit(63), M, INT), "63 - m < 0 or 63 - m >= 64"),
     (L.Bin("-", L.lit(-2), L.Size("x", 0), INT), "-2 - x.shape[0] < 0 or -2 - x.shape[0] >= 64"),
     (L.Bin("-", L.lit(99), L.Size("x", 0), INT), "99 - x.shape[0] < 0 or 99 - x.shape[0] >= 64"),
     (L.Size("x", 0), "x.shape[0] >= 64")],
)  # fmt: skip
def test_shifts_that_may_go_too_far(by, left):
    new = within(loop(puts(shift(by)), start=L.lit(-1), stop=L.lit(10)))
    assert f"0 if {left} else" in new


@pytest.mark.parametrize("stop", [L.lit(65), N])
def test_shifts_counted_too_far(stop):
    assert "0 if c >= 64 else" in within(loop(puts(shift(C)), stop=stop))


NOT = L.compare("==", L.Bin("&", C, BIT, INT), L.ZERO)
TWO = L.Bin("<<", L.lit(3), J, INT)


@pytest.mark.parametrize(
    "body",
    [
        loop(*read(L.Bin("^", C, BIT, INT))),
        loop(L.If(NOT, read(L.Bin("^", C, BIT, INT)))),
        loop(L.If(HAS, [], read(L.Bin("^", C, BIT, INT)))),
        loop(L.If(HAS, [L.Comment("")]), *read(L.Bin("^", C, BIT, INT))),
        loop(L.If(HAS, read(L.Bin("^", C, L.Bin("<<", L.ONE, M, INT), INT)))),
        loop(
            L.If(
                L.compare("!=", L.Bin("&", C, TWO, INT), L.ZERO), read(L.Bin("^", C, TWO, INT))
            )
        ),
        loop(L.If(HAS, read(L.Bin("^", C, BIT, INT))), start=M),
        loop(L.If(HAS, read(L.Bin("^", C, BIT, INT), M))),
        loop(L.If(HAS, read(L.Bin("^", C, BIT, INT))), L.Let("j", L.add(J, L.ONE))),
        loop(L.If(HAS, read(L.Bin("^", C, BIT, INT))), L.Let("n", L.sub(N, L.ONE))),
        loop(*read(C), step=2),
    ],
    ids=["unasked", "where it is not set", "otherwise", "after the branch", "another bit",
         "two bits", "may be negative", "another size", "a bit that changes", "a size that changes",
         "by twos"],
)  # fmt: skip
def test_unknown(body):
    assert "raise" in within(body)


def subsets(x):
    """A sum over chains of subsets, in a table of all subsets."""
    n = x.shape[0]
    table = np.zeros(2**n)
    table[0] = 1.0
    for chosen in range(1, 2**n):
        for j in range(n):
            if chosen & (1 << j):
                table[chosen] += x[j] * table[chosen ^ (1 << j)] + 0.1 * x[j] ** 2
    return table[2**n - 1]


@pytest.mark.parametrize("backend", ["loops", "numba"])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_a_program(n, backend):
    x = np.linspace(0.5, 1.5, n)
    g = s2s.grad(subsets, backend=backend)
    assert g(x).shape == (n,)
    step = 1e-6
    want = [(subsets(x + step * e) - subsets(x - step * e)) / (2 * step) for e in np.eye(n)]
    np.testing.assert_allclose(g(x), want, rtol=1e-6, atol=1e-7)
    if n == 5:
        assert g.lowered.count("IndexError") < 4 and "acc" in g.lowered
        with switched_off(
            "eliminate_in_range_checks", "promote_accumulators", "version_checked_loops"
        ):
            plain = s2s.grad(again(subsets), backend="loops")
            np.testing.assert_allclose(g(x), plain(x), rtol=1e-13)
            assert "acc" not in plain.lowered


@pytest.mark.parametrize("backend", ["loops", "numba"])
def test_what_is_outside_is_told(backend):
    def f(x, n):
        total = 0.0
        for chosen in range(-3, n):
            for j in range(3):
                if chosen & (1 << j):
                    total += x[chosen ^ (1 << j)] * x[0]
        return total

    g = s2s.grad(f, backend=backend)
    x = np.arange(1.0, 9.0)
    want = np.zeros(8)
    for chosen in range(-3, 8):
        for j in range(3):
            if chosen & (1 << j):
                want[chosen ^ (1 << j)] += x[0]
                want[0] += x[chosen ^ (1 << j)]
    np.testing.assert_allclose(g(x, 8), want)
    with pytest.raises(IndexError):
        g(x, 12)
