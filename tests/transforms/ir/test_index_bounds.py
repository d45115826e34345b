"""Bounds of loop indices, compared with the values that the index takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.index_bounds import add_index_bounds, with_index_bounds
from s2s.transforms.ir.nodes import Const, Scalar, Var
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from tests.transforms.programs import F8, Program, int_scalar, program

INT = Scalar("int64")
INDEX, N, K = (Var(name, int_scalar(name)) for name in "ink")


def constant(value: int) -> Const:
    return Const(value, Scalar("int64", value=Dim.of(value)))


@pytest.mark.parametrize("step", [1, 2, 5, -1, -3])
def test_bounds_contain_all_values_of_the_index(step: int) -> None:
    facts = Facts()
    add_index_bounds(facts, INDEX, N, K, constant(step))
    low, high = facts.bounds["i"]
    for n in range(-4, 5):
        for k in range(-4, 5):
            values = {"n": n, "k": k}
            least, most = low.substitute(values).const, high.substitute(values).const
            taken = range(n, k, step)
            assert all(least <= i <= most for i in taken)
            if abs(step) == 1 and len(taken):
                assert (least, most) == (min(taken), max(taken))


@pytest.mark.parametrize(
    ("index", "start", "step"),
    [
        (Var("i", INT), constant(0), constant(1)),  # the index has no symbol
        (Var("i", Scalar("int64", value=Dim.of(3))), constant(0), constant(1)),
        (INDEX, Var("n", INT), constant(1)),  # the start has no symbolic value
        (INDEX, constant(0), K),  # the sign of the step is not known
    ],
)
def test_unknown_bounds_are_not_recorded(index: Var, start: Any, step: Any) -> None:
    facts = Facts()
    add_index_bounds(facts, index, start, N, step)
    assert not facts.bounds


def test_the_first_bounds_of_a_symbol_are_kept() -> None:
    facts = Facts()
    add_index_bounds(facts, INDEX, constant(0), N, constant(1))
    add_index_bounds(facts, INDEX, constant(5), constant(6), constant(1))
    assert facts.bounds == {"i": (Dim.of(0), Dim.of("n") - 1)}


def test_all_loops_of_a_function_and_no_earlier_ones() -> None:
    def outer(p: Program, n: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            return p.loop(i, [s], lambda j, s: [np.sin(s)], start=n, step=-1)

        return p.loop(n, [p.sym(0.5)], body)

    module = program({"n": int_scalar("n")}, outer)
    facts = Facts(bounds={"gone": (Dim.of(0), Dim.of(1))})
    assert with_index_bounds(module.main, facts) is facts
    assert facts.bounds == {
        "i": (Dim.of(0), Dim.of("n") - 1),
        "i_1": (Dim.of("i") + 1, Dim.of("n")),
    }


def test_facts_are_made_where_there_are_none() -> None:
    module = program({"x": F8}, lambda p, x: p.loop(3, [x], lambda i, s: [s * 2.0]))
    assert with_index_bounds(module.main, None).bounds == {"i": (Dim.of(0), Dim.of(2))}
