"""Sizes at calls: dims by position, and guards of a callee at its calls."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.call_sizes import (
    in_terms,
    needs_hold,
    positions,
    rely_on_needs,
    resized,
    sizes_at,
    unproven_needs,
)
from s2s.transforms.ir.nodes import Array, Call, Function, Module, Scalar, Var
from s2s.transforms.ir.symbolic_dims import Dim, Facts, Guard

N, M = Dim.of("x.0"), Dim.of("y.0")
INT = Var("n", Scalar("int64", value=Dim.of("n")))
X, Y = Var("x", Array("float64", (N, Dim.of(3)))), Var("y", Array("float64", (M,)))
EQUAL = Guard("equal", Dim.of("#0.0"), Dim.of("#1.0"))
ONE = Guard("one", Dim.of("#1.0"))


def test_dims_by_position_and_back() -> None:
    terms = positions([X, INT, Y])
    assert terms == {
        "x.0": Dim.of("#0.0"),
        "x.1": Dim.of("#0.1"),
        "n": Dim.of("#1"),
        "y.0": Dim.of("#2.0"),
    }
    inner = in_terms(N * 2 + Dim.of("n"), terms)
    assert str(inner) == "2*#0.0 + #1"
    assert inner.substitute(sizes_at([X, INT, Y])) == N * 2 + Dim.of("n")
    assert str(in_terms(Dim.of("z.0"), terms)) == "?"


def test_integers_keep_their_value_where_requested() -> None:
    terms = positions([INT])
    to_terms = lambda dim: in_terms(dim, terms)  # noqa: E731
    assert resized(INT.type, to_terms).value is None
    assert resized(INT.type, to_terms, ints=True).value == Dim.of("#0")
    assert resized(Scalar("int64", value=Dim.of("k")), to_terms, ints=True).value is None


@pytest.mark.parametrize(("sizes", "holds"), [((4, 4), True), ((4, 5), False), ((4, None), False)])
def test_needs_are_decided_by_the_sizes_of_the_caller(
    sizes: tuple[int, int | None], holds: bool
) -> None:
    known = {s: n for s, n in zip(("x.0", "y.0"), sizes) if n is not None}
    assert needs_hold([EQUAL], [X, Y], Facts(known)) is holds


def test_a_need_becomes_a_guard_of_the_caller_once() -> None:
    facts = Facts({"x.0": 4, "y.0": 4})
    for _ in range(2):
        rely_on_needs([EQUAL], [X, Y], facts)
    assert facts.guards == [Guard("equal", N, M)] and facts.known_equal(N, M)
    assert needs_hold([EQUAL], [X, Y], Facts(None, equals=dict(facts.equals))), "provable now"


def test_what_is_provable_is_no_guard() -> None:
    facts = Facts({"x.0": 4})
    rely_on_needs([EQUAL, Guard("differ", Dim.of("#0.1"), Dim.of(4))], [X, X], facts)
    assert facts.guards == []


@pytest.mark.parametrize("guarded", [False, True])
def test_the_verifier_finds_a_call_whose_caller_does_not_guard(guarded: bool) -> None:
    callee = Function("f", [X, Y], [], [], notes={"needs": (EQUAL, ONE), "facts": Facts()})
    main = Function("main", [X, Y], [Call([], "f", (X, Y))], [])
    facts = Facts({"x.0": 1, "y.0": 1})
    if guarded:
        rely_on_needs([EQUAL, ONE], [X, Y], facts)
    found = unproven_needs(Module({"main": main, "f": callee}, "main"), facts)
    assert found == ([] if guarded else ["main calls f: x.0 == y.0", "main calls f: y.0 == 1"])
