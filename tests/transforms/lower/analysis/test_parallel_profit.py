"""The work of a program as a condition on the sizes of a call."""

from __future__ import annotations

from fractions import Fraction

import pytest

from s2s.transforms.ir.symbolic_dims import Dim, Facts, Guard
from s2s.transforms.lower.analysis.cost_model import trip_count
from s2s.transforms.lower.analysis.parallel_profit import (
    MIN_PARALLEL_WORK,
    WorkEstimator,
    decide_parallel,
)
from s2s.transforms.lower.loop_ir import nodes as L

F = "float64"
x0, x1 = L.Size("x", 0), L.Size("x", 1)
PUT = L.Store("y", (L.Name("i"),), L.Lit(1.0, F))  # one unit of work


def loop(stop: L.Expr, *body: L.Stmt, var: str = "i", start: L.Expr = L.ZERO) -> L.Loop:
    return L.Loop(var, start, stop, L.ONE, list(body))


def amount(
    of: L.Loop, *before: L.Stmt, around: tuple[L.Loop, ...] = (), spent: L.Expr = L.ZERO
) -> dict[str, Fraction] | None:
    facts = Facts({"x.0": 10, "x.1": 20}, ints={"n": 5})
    known = WorkEstimator([*before, *(around or (of,))], {"x": "x", "steps": "n"}, facts)
    found = known.of(of, trip_count(of), around, spent)
    return None if found is None else {"*".join(m): k for m, k in found.items()}


def test_sizes_of_arguments() -> None:
    assert amount(loop(x0, PUT)) == {"x.0": 1}
    assert amount(loop(x0, loop(x1, PUT, PUT, var="j"))) == {"x.0*x.1": 2}
    assert amount(loop(L.Name("steps"), PUT)) == {"n": 1}
    assert amount(loop(L.lit(7), PUT)) == {"": 7}


def test_names_and_buffers() -> None:
    t = L.Let("t", L.mul(x0, L.lit(3)))
    assert amount(loop(L.Name("t"), PUT), t) == {"x.0": 3}
    made = L.Alloc("b", F, (x0, L.sub(x1, L.ONE)))
    assert amount(loop(L.Size("b", 1), PUT), made) == {"x.1": 1}
    at_least = L.Select(L.compare(">", x0, L.ZERO), x0, L.ZERO, "int64")
    assert amount(loop(at_least, PUT)) == {"x.0": 1}


def test_what_is_subtracted_is_left_out() -> None:
    inner = loop(L.sub(x1, L.lit(2)), PUT, var="j")
    assert amount(loop(L.sub(x0, L.ONE), inner, start=L.ONE)) == {"x.0*x.1": 1}


def test_the_middle_of_loops_around() -> None:
    inner = loop(x0, PUT, start=L.Name("c"))
    outer = loop(x0, inner, var="c")
    assert amount(inner, around=(outer,)) == {"x.0": Fraction(1, 2)}


def test_every_other() -> None:
    every = L.Loop("i", L.ZERO, x0, L.lit(2), [PUT])
    assert amount(every) == {"x.0": Fraction(1, 2)}


def test_what_only_running_tells() -> None:
    assert amount(loop(L.Load("k", (L.ZERO,), "int64"), PUT)) is None
    assert amount(loop(L.Name("unknown"), PUT)) is None
    again = [L.Let("t", x0), L.Let("t", x1)]
    assert amount(loop(L.Name("t"), PUT), *again) is None


def test_what_it_costs() -> None:
    assert amount(loop(x0, PUT), spent=L.lit(3)) == {"x.0": 1}
    assert amount(loop(x0, PUT, PUT), spent=x0) == {"x.0": 1}
    assert amount(loop(x0, PUT), spent=L.mul(x0, L.lit(2))) is None


# ---------------------------------------------------------------- judging


def one(symbols: str, times: int | Fraction = 1) -> dict[tuple[str, ...], Fraction]:
    return {tuple(symbols.split()): Fraction(times)}


def test_sizes_decide() -> None:
    bound = Dim.of(MIN_PARALLEL_WORK)
    small, large = Facts({"x.0": 1000}), Facts({"x.0": MIN_PARALLEL_WORK})
    assert decide_parallel([one("x.0")], small) == (False, [Guard("below", Dim.of("x.0"), bound)])
    assert decide_parallel([one("x.0")], large) == (True, [Guard("reaches", Dim.of("x.0"), bound)])
    assert decide_parallel([], large) == (False, [])
    assert decide_parallel([one("", MIN_PARALLEL_WORK)], small) == (True, [])
    assert decide_parallel([one("", MIN_PARALLEL_WORK - 1)], small) == (False, [])
    assert decide_parallel([one("x.0")], Facts(None)) == (False, [])


def test_integers_count() -> None:
    assert decide_parallel([one("n", 2)], Facts({}, ints={"n": MIN_PARALLEL_WORK}))[0]


@pytest.mark.parametrize(
    ("amounts", "left"),
    [
        ([one("x.0", 2), one("x.0", 3)], [3 * MIN_PARALLEL_WORK]),
        ([one("x.0", 3), one("x.0", 2)], [3 * MIN_PARALLEL_WORK]),
        ([one("x.0", 3), one("x.0 x.1", 3)], [3 * MIN_PARALLEL_WORK]),
        ([one("x.0", 4), one("x.0 x.1", 3)], [4 * MIN_PARALLEL_WORK, 3 * MIN_PARALLEL_WORK]),
        ([one("x.0"), one("x.1")], [MIN_PARALLEL_WORK, MIN_PARALLEL_WORK]),
        ([one("x.0", Fraction(3, 2))], [3 * MIN_PARALLEL_WORK]),
    ],
)
def test_only_the_largest_are_asked(amounts: list[dict], left: list[int]) -> None:
    """Shown by what each would be if all sizes were `MIN_PARALLEL_WORK`, or 1 after the first."""
    facts = Facts({"x.0": 1, "x.1": 1})
    _, guards = decide_parallel(amounts, facts)
    ones = {
        "x.0": MIN_PARALLEL_WORK,
        "x.1": MIN_PARALLEL_WORK if len(left) == 2 and left[0] == left[1] else 1,
    }
    assert [g.left.substitute(ones).const for g in guards] == left


def test_sizes_that_are_equal_have_one_name() -> None:
    facts = Facts({"x.0": 4, "y.0": 4})
    facts.relate(Dim.of("x.0"), Dim.of("y.0"))
    _, guards = decide_parallel([one("x.0", 2), one("y.0", 3)], facts)
    assert len(guards) == 1


def test_guards_are_opposites() -> None:
    for size in (0, 1, 9, 10, 11, 1 << 80):
        left, right = Dim.of("x.0") * Dim.of("x.0"), Dim.of(100)
        below, reaches = Guard("below", left, right), Guard("reaches", left, right)
        assert below.holds({"x.0": size}) == (size < 10) != reaches.holds({"x.0": size})
    assert str(below) == "x.0*x.0 < 100"
    assert str(reaches) == "x.0*x.0 >= 100"
