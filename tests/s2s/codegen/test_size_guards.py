"""Size guards as relations of polynomials: which of them compiled code can check."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from s2s.codegen.size_guards import relation, relations_of
from s2s.transforms.ir import symbolic_dims
from s2s.transforms.ir.symbolic_dims import Atom, Dim, Guard

X0, Y1, N, UNKNOWN = (Dim.of(s) for s in ("x.0", "y.1", "n", "t"))


def compiled(*guards: Guard) -> Any:
    """A specialisation with the parameters x (0), n (1) and y (2)."""
    return SimpleNamespace(
        params=[SimpleNamespace(name=n) for n in ("x", "n", "y")], guards=list(guards)
    )


def told(left: Dim, right: Dim | int = 0, kind: str = "equal") -> Any:
    return relation(Guard(kind, left, Dim.of(right)), compiled())


def test_sizes_and_integers() -> None:
    x0, y1, n = (0, ((1, ((0, 0),)),)), (0, ((1, ((2, 1),)),)), (0, ((1, ((1, None),)),))
    assert told(X0, Y1) == ("==", x0, y1)
    assert told(N, 3, "differ") == ("!=", n, (3, ()))
    assert told(X0, 9, "below") == ("<", x0, (9, ()))
    assert told(X0, 9, "reaches") == (">=", x0, (9, ()))


def test_polynomials_keep_coefficients_and_powers() -> None:
    sign, (const, terms), right = told(X0 * X0 * 2 + N * Y1 * -3 - 5)
    assert (sign, const, right) == ("==", -5, (0, ()))
    assert {(k, tuple(sorted(m, key=str))) for k, m in terms} == {
        (2, ((0, 0), (0, 0))), (-3, ((1, None), (2, 1))),
    }  # fmt: skip


def test_symbols_that_are_no_parameters_cannot_be_checked() -> None:
    for dim in (UNKNOWN, Dim.of("z.0"), X0 * UNKNOWN, X0 + UNKNOWN * N,
                symbolic_dims.max0(UNKNOWN - 3), symbolic_dims.mask_count(X0)):  # fmt: skip
        assert told(dim) is None and told(X0, dim) is None
    guards = [Guard("equal", X0, N), Guard("equal", X0, UNKNOWN), Guard("differ", Y1, Dim.of(1))]
    assert [sign for sign, *_ in relations_of(compiled(*guards))] == ["==", "!="]


@pytest.mark.parametrize("op", ["floordiv", "remainder"])
def test_divisors_are_positive_constants(op: str) -> None:
    """Compiled code divides without asking for 0."""
    divide = getattr(symbolic_dims, op)
    sign, (_, ((_, (factor,)),)), _ = told(divide(X0 + 1, Dim.of(3)))
    assert factor == (op, (1, ((1, ((0, 0),)),)), 3)
    for by in (N, Y1, Dim.of(-2)):
        assert told(Atom.make("quotient", op, X0 + 1, by)) is None
    assert told(Atom.make("quotient", op, X0 + 1, Dim.of(0))) is None


def test_slices_have_step_1() -> None:
    one, two = Dim.of(1), Dim.of(2)
    _, (_, ((_, (factor,)),)), _ = told(Atom.make("slice", "len", X0, N, None, one))
    assert factor == ("len", (0, ((1, ((0, 0),)),)), (0, ((1, ((1, None),)),)), None)
    for step in (two, Dim.of(-1), N):
        assert told(Atom.make("slice", "len", X0, N, None, step)) is None
    assert told(Atom.make("slice", "len", X0, UNKNOWN, None, one)) is None
    assert told(Atom.make("slice", "len", X0, None, UNKNOWN, one)) is None
    assert told(Atom.make("slice", "len", UNKNOWN, N, None, one)) is None


def test_names_with_dots_end_in_an_axis() -> None:
    """A parameter of a nested container may have a dot in its name."""
    names = SimpleNamespace(params=[SimpleNamespace(name="p.w")], guards=[])
    found = relation(Guard("equal", Dim.of("p.w.1"), Dim.of(2)), names)  # type: ignore[arg-type]
    assert found == ("==", (0, ((1, ((0, 1),)),)), (2, ()))
