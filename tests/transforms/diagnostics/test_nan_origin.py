"""The birth of a NaN or inf: the first operation on finite operands that the result depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.diagnostics.nan_origin import (
    NonFiniteOrigin,
    first,
    kind_of,
    operands_at,
    origin_of_nonfinite,
)
from s2s.transforms.ir.nodes import Call, ListOf, Module, Print, Type
from s2s.transforms.ir.symbolic_dims import Facts
from tests.transforms.programs import F8, Program, program, vector

VX: dict[str, Type] = {"x": vector("x")}
INF, NAN = np.inf, np.nan


def birth(
    build: Callable[..., Any], *args: Any, params: Any = None, result: int = 0
) -> NonFiniteOrigin | None:
    return origin_of_nonfinite(program(params or VX, build), args, result)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (NAN, "NaN"),
        (INF, "inf"),
        (-INF, "-inf"),
        (complex(-INF, 0), "inf"),
        (complex(0, NAN), "NaN"),
    ],
)
def test_kinds(value: Any, kind: str) -> None:
    assert kind_of(value) == kind


def test_the_first_index() -> None:
    assert first(np.array([[False, False], [True, True]])) == (1, 0)
    assert first(np.True_) == ()


def test_finite_results_have_no_birth() -> None:
    assert birth(lambda p, x: np.log(x), np.array([1.0, 2.0])) is None
    # An inf on the way to a finite result is no fault.
    assert birth(lambda p, x: np.exp(-np.exp(x)), np.array([1000.0])) is None


def test_operation_element_operands_and_text() -> None:
    found = birth(lambda p, x: np.sin(np.log(x)) * 2.0, np.array([1.0, -3.0, -4.0]))
    assert found is not None and found.op is not None
    assert (found.kind, found.op.name, found.at) == ("NaN", "log", (1,))
    assert found.origin is not None and found.cause is None and found.root is found
    np.testing.assert_array_equal(found.operands[0].value, [1.0, -3.0, -4.0])
    assert found.operands[0].text == "x"


def test_a_nan_from_an_inf_names_both() -> None:
    """inf - inf: the operation that made the inf is the root."""
    found = birth(lambda p, x: np.exp(x) - np.exp(x), np.array([1000.0]))
    assert found is not None and found.op is not None and found.cause is not None
    assert (found.kind, found.op.name) == ("NaN", "subtract")
    assert found.cause.op is not None and found.cause.op.name == "exp"
    assert found.root is found.cause


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_arguments_are_told_by_their_number(bad: float) -> None:
    params = {"y": F8, **VX}
    found = birth(lambda p, y, x: x * y, 1.0, np.array([0.0, bad]), params=params)
    assert found is not None and found.op is None
    assert (found.kind, found.param, found.at) == (kind_of(bad), 1, (1,))


def test_a_nan_from_an_infinite_argument_is_its_own_root() -> None:
    found = birth(lambda p, x: x - x, np.array([INF]))
    assert found is not None and found.op is not None and found.cause is not None
    assert found.cause.param == 0 and found.root is found


def test_constants_of_the_program() -> None:
    found = birth(lambda p, x: x + INF, np.array([1.0]))
    assert found is not None and found.op is None and found.param is None


def test_only_the_element_itself_counts_in_elementwise_operations() -> None:
    """A NaN elsewhere in an operand is not to blame."""

    def build(p: Program, x: Any) -> Any:
        logs = np.log(x)  # NaN in element 0
        items = (("slice", 1, None, None),)
        return p.emit("index", logs * 1e200 * 1e200, 1, items=items)

    found = birth(build, np.array([-1.0, 3.0]))
    assert found is not None and found.op is not None
    assert (found.kind, found.op.name) == ("inf", "multiply")


def test_the_side_that_where_does_not_choose_is_not_blamed() -> None:
    def build(p: Program, x: Any) -> Any:
        return np.where(x > 0.0, np.log(x), np.sqrt(x))

    found = birth(build, np.array([-1.0]))
    assert found is not None and found.op is not None and found.op.name == "sqrt"
    assert birth(lambda p, x: np.where(x > 0.0, np.log(x), 0.0), np.array([-1.0])) is None


def test_iterations_from_the_outermost_loop() -> None:
    def build(p: Program, x: Any) -> Any:
        def outer(i: Any, s: Any) -> Any:
            return p.loop(3, [s], lambda j, s: [np.log(s)], start=1)

        return p.loop(4, [x], outer)

    found = birth(build, 20.0, params={"x": F8})
    # log log log log 20 is negative; the fifth is NaN: the third one in the second iteration.
    values = [20.0]
    with np.errstate(invalid="ignore"):
        while not np.isnan(values[-1]):
            values.append(np.log(values[-1]))
    outer, inner = divmod(len(values) - 2, 2)
    assert found is not None
    assert [(it.number, it.value) for it in found.loops] == [(outer, outer), (inner, inner + 1)]


def test_iterations_of_a_while_loop_are_counted() -> None:
    def build(p: Program, x: Any) -> Any:
        return p.repeat([x], lambda s: [s < 1e300], lambda s: [s * s * 1e100])[0]

    found = birth(build, 1e10, params={"x": F8})
    assert found is not None and [it.number for it in found.loops] == [1]
    assert found.loops[0].index == ""


def test_the_mirror_of_a_loop_counts_as_the_loop() -> None:
    """The adjoint of the iteration that divides by zero."""

    def build(p: Program, x: Any) -> Any:
        return p.loop(x.shape[0], [0.0], lambda i, s: [s + np.sqrt(p.get(x, i))])[0]

    vjp = reverse(program(VX, build), ("x",), 0, Facts())
    found = origin_of_nonfinite(vjp, [np.array([1.0, 0.0, 4.0]), 1.0], 1)
    assert found is not None and found.kind == "inf"
    assert [it.number for it in found.loops] == [1] and found.loops[0].value == 1


def test_callees_keep_the_iterations_of_the_caller() -> None:
    inner = program({"x": F8}, lambda p, x: np.log(x), "g").main

    def build(p: Program, x: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            target = p.var(F8, "y")
            p.block.append(Call([target], "g", (s.operand,)))
            return [p.sym(target)]

        return p.loop(5, [x], body)[0]

    main = program({"x": F8}, build).main
    found = origin_of_nonfinite(Module({"f": main, "g": inner}, "f"), [2.0], 0)
    assert found is not None and found.op is not None and found.op.name == "log"
    assert [it.number for it in found.loops] == [2]


def test_uninitialised_memory_and_prints_are_no_matter(capsys: Any) -> None:
    def build(p: Program, x: Any) -> Any:
        p.block.append(Print(("here",)))
        return p.emit("empty_like", x, dtype="float64") * 0.0

    assert birth(build, np.array([NAN])) is None and capsys.readouterr().out == ""


def test_the_operands_behind_a_derivative() -> None:
    """Those of the operation at that place and iteration; a singular one before others."""

    def build(p: Program, x: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            value = p.get(x, i)
            p.line()
            return [s + np.sqrt(value)]

        return p.loop(x.shape[0], [0.0], body)[0]

    module = program(VX, build)
    x = np.array([1.0, 0.0, 4.0])
    vjp = reverse(module, ("x",), 0, Facts())
    found = origin_of_nonfinite(vjp, [x, 1.0], 1)
    assert found is not None and found.origin is not None
    seen = operands_at(module, [x], found.origin.span, found.loops)
    assert seen is not None
    op, operands = seen
    assert op.name == "sqrt" and [o.value for o in operands] == [0.0]
    assert operands_at(module, [x], found.origin.span, ()) is None


def test_results_are_judged_one_by_one() -> None:
    def build(p: Program, x: Any) -> Any:
        return [np.exp(x), np.log(x)]

    x = np.array([-1.0])
    assert birth(build, x) is None
    found = birth(build, x, result=1)
    assert found is not None and found.kind == "NaN"


def test_lists_carry_the_faults_of_their_items() -> None:
    def build(p: Program, x: Any) -> Any:
        items = p.emit("list_new", type=ListOf(F8))
        return p.emit("list_get", p.emit("list_append", items, np.log(x)), 0)

    found = birth(build, -1.0, params={"x": F8})
    assert found is not None and found.op is not None and found.op.name == "log"
