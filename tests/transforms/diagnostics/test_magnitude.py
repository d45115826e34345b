"""The largest intermediate value: of all values computed, finite, of the primal only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from s2s.transforms.diagnostics.magnitude import largest_intermediate
from s2s.transforms.ir.nodes import Assign, Call, Function, Module, Print, Scalar, Type, Var
from tests.transforms.programs import F8, Program, int_scalar, program, vector

VX: dict[str, Type] = {"x": vector("x")}


def test_the_largest_value_need_not_be_a_result() -> None:
    module = program(VX, lambda p, x: p.sum(x * 1e6 - x * 1e6))
    assert largest_intermediate(module, [np.array([1.0, -7.0])]) == 7e6


def test_values_of_all_iterations_and_callees() -> None:
    def build(p: Program, x: Any) -> Any:
        (s,) = p.loop(10, [x], lambda i, s: [s * 2.0])
        return np.log(s)

    inner = program({"x": F8}, build, "g").main
    x, y = Var("x", F8), Var("y", F8)
    outer = Function("f", [x], [Call([y], "g", (x,))], [y])
    assert largest_intermediate(Module({"f": outer, "g": inner}, "f"), [1.0]) == 1024.0


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_values_that_are_not_finite_do_not_count(bad: float) -> None:
    module = program(VX, lambda p, x: x * 2.0)
    assert largest_intermediate(module, [np.array([1.0, bad])]) == 2.0
    assert largest_intermediate(module, [np.array([bad])]) == 0.0
    assert largest_intermediate(module, [np.empty(0)]) == 0.0


def test_arguments_and_integers_do_not_count() -> None:
    module = program({"x": F8, "n": int_scalar("n")}, lambda p, x, n: [n * 1000, np.sin(x)])
    assert largest_intermediate(module, [1e9, 7]) == abs(np.sin(1e9))


def test_complex_values_count_by_their_magnitude() -> None:
    module = program({"z": Scalar("complex128")}, lambda p, z: z * 1.0)
    assert largest_intermediate(module, [3 + 4j]) == 5.0


@pytest.mark.parametrize("mark", [{"sweep": 1}, {"tangent": True}])
def test_adjoints_and_tangents_do_not_count(mark: Any) -> None:
    module = program({"x": F8}, lambda p, x: [x * 2.0, x * 100.0])
    first, second = module.main.body
    assert isinstance(first, Assign) and isinstance(second, Assign)
    assert second.origin is not None
    second.origin = replace(second.origin, **mark)
    assert largest_intermediate(module, [1.0]) == 2.0


def test_nothing_is_printed_again(capsys: Any) -> None:
    module = program({"x": F8}, lambda p, x: x * 2.0)
    module.main.body.insert(0, Print(("here",)))
    assert largest_intermediate(module, [4.0]) == 8.0
    assert capsys.readouterr().out == ""


def test_a_value_that_does_not_fit_its_type_counts_all_the_same() -> None:
    module = program({"x": Scalar("float32")}, lambda p, x: x * 2.0)
    assert largest_intermediate(module, [np.float64(4.0)]) == 8.0
