"""The batched function: its parameters, results, names and notes, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.batch.vmap import batch
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir.builder import NameSupply
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import (
    Array,
    Custom,
    Draw,
    For,
    Function,
    Module,
    Var,
    is_float,
    walk,
)
from s2s.transforms.ir.scopes import names_of
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from tests.transforms.batches import check_batch
from tests.transforms.cases import CASES, Case
from tests.transforms.programs import F8, Program, int_scalar, program, vector

SIZE = Dim.of("lanes.0")


# This loop ends for its own arguments, not for all of those that the elements get.
ENDLESS = {"while_entangled"}


@pytest.mark.parametrize("case", [c for c in CASES if c.name not in ENDLESS], ids=lambda c: c.name)
def test_each_element_gets_what_it_gets_alone(case: Case) -> None:
    """For the first parameter alone and for all; sizes of 0 and 1 are among the arguments."""
    module = case.module
    floats = [p.name for p in module.main.params if is_float(p.type)]
    for args in case.args:
        check_batch(module, args, floats[:1], Facts())
        check_batch(module, args, floats, Facts())


def test_parameters_results_and_notes() -> None:
    module = program(
        {"x": vector("x"), "y": F8}, lambda p, x, y: [np.sum(x) * y, np.sin(y), x, 2.0]
    )
    main = module.main
    made = batch(main, ["x"], SIZE)
    assert made.name == "f_batch" and [p.name for p in made.params] == ["x", "y"]
    assert made.params[0].type == Array("float64", (SIZE, Dim.of("x.0")))
    assert made.params[1] is main.params[1]
    assert made.notes["batched"] == (0, 2)
    assert [r.type.ndim for r in made.results] == [1, 0, 2, 0]
    assert "x" in made.notes["batched_values"] and "y" not in made.notes["batched_values"]
    assert main.params[0].type == vector("x") and not main.notes


def test_all_results_may_get_the_batch_axis() -> None:
    module = program({"x": F8, "y": F8}, lambda p, x, y: [x, np.sin(y), 2.0])
    made = batch(module.main, ["x"], SIZE, all_results=True)
    assert made.notes["batched"] == (0, 1, 2)
    got = evaluate(made, np.arange(3.0), 0.5)[0]
    for value, want in zip(got, [np.arange(3.0), np.full(3, np.sin(0.5)), np.full(3, 2.0)]):
        np.testing.assert_array_equal(value, want)


def test_nothing_to_map() -> None:
    with pytest.raises(AssertionError, match="nothing is mapped"):
        batch(program({"x": F8}, lambda p, x: x).main, [], SIZE)


def test_new_names_are_unlike_those_of_the_function() -> None:
    module = program({"x": F8}, lambda p, x: p.repeat([x], lambda s: [s < 9], lambda s: [s * 2])[0])
    names = [n for n in names_of(batch(module.main, ["x"], SIZE)) if n]
    assert len(names) == len(set(names))
    supply = NameSupply([*names_of(module.main), "k"])
    made = batch(module.main, ["x"], SIZE, Facts(), supply)
    assert "k" not in set(names_of(made))


@pytest.mark.parametrize("how", ["read", "constant", "given"])
def test_the_batch_size(how: str) -> None:
    module = program({"x": F8, "n": int_scalar("n")}, lambda p, x, n: [x + np.sin(1.0), 2.0])
    x, n = module.main.params
    if how == "read":
        made = batch(module.main, ["x"], SIZE, all_results=True)
    elif how == "constant":
        made = batch(module.main, ["x"], Dim.of(3), all_results=True)
    else:
        names = NameSupply(names_of(module.main))
        made = batch(module.main, ["x"], SIZE, Facts(), names, n, all_results=True)
    asked = [s for s in made.body if getattr(getattr(s, "op", None), "name", "") == "shape"]
    assert bool(asked) == (how == "read")
    got = evaluate(made, np.zeros(3), 3)[0]
    np.testing.assert_array_equal(got[1], np.full(3, 2.0))


def test_an_argument_that_is_not_mapped_is_not_written_by_each_element() -> None:
    module = program({"x": vector("x"), "y": F8}, lambda p, x, y: p.set(x, y, 0))
    main = module.main
    main.effects = [(main.params[0], main.results[0])]
    with pytest.raises(UnsupportedError, match="x is written to by every element") as error:
        batch(main, ["y"], SIZE)
    assert "map over x too" in error.value.advice
    check_batch(module, [np.ones(3), 2.0], ["x", "y"])
    check_batch(module, [np.ones(3), 2.0], ["x"])


def test_an_argument_that_all_elements_overwrite_alike() -> None:
    module = program({"x": vector("x"), "y": F8}, lambda p, x, y: [p.set(x, 2.0, 0), y])
    main = module.main
    main.effects = [(main.params[0], main.results[0])]
    _, effects = evaluate(batch(main, ["y"], SIZE), np.ones(2), np.arange(3.0))
    np.testing.assert_array_equal(effects["x"], [2.0, 1.0])


def test_statements_that_change_are_marked_and_others_kept() -> None:
    """The writer prints the user's text only of what still does the same."""

    def build(p: Program, x: Any, y: Any) -> Any:
        np.cos(y)
        p.line()
        return np.sum(np.sin(x)) + 1.0

    made = batch(program({"x": vector("x"), "y": F8}, build).main, ["x"], SIZE)
    marks = {s.origin.stmt.line: s.origin.batched for s in walk(made.body) if s.origin}
    assert marks == {1: False, 2: True}


def test_a_pullback_is_batched_with_its_value() -> None:
    def pullback(p: Program, c: Any, g: Any) -> Any:
        return g * c

    def build(p: Program, x: Any, y: Any) -> Any:
        target = p.var(F8, "z")
        inner = program({"c": F8, "g": F8}, pullback, "pullback").main
        value = (x * y).operand
        p.block.append(Custom([target], (value,), (x.operand,), (y.operand,), inner))
        return p.sym(target)

    main = program({"x": F8, "y": F8}, build).main
    for mapped, ranks in ((["x"], [0, 1]), (["x", "y"], [1, 1])):
        made = batch(main, mapped, SIZE)
        (custom,) = (s for s in made.body if isinstance(s, Custom))
        assert [p.type.ndim for p in custom.pullback.params] == ranks
        assert custom.targets[0].type.ndim == 1
        assert custom.pullback.name == "pullback_batch"


@pytest.mark.parametrize("own", [False, True])
def test_random_numbers_are_drawn_once_or_by_each_element(own: bool) -> None:
    x, r = Var("x", F8), Var("r", F8)
    p = Program()
    p.names.taken |= {"x", "r"}
    p.block.append(Draw([r], None, "standard_normal", ()))
    y = p.sym(x) + p.sym(r)
    main = Function("f", [x], p.block, [y.operand])
    made = batch(main, ["x"], SIZE, draws=own)
    np.random.seed(3)
    want = np.random.standard_normal(4)
    np.random.seed(3)
    (got,), _ = evaluate(Module({"f": made}, "f"), np.zeros(4))
    np.testing.assert_array_equal(got, want if own else np.full(4, want[0]))
    assert any(isinstance(s, For) for s in made.body) == own


def test_an_undefined_value_of_a_branch() -> None:
    """A variable that one branch leaves unbound."""

    def build(p: Program, x: Any, c: Any) -> Any:
        undefined = p.emit("undef", type=F8)
        return p.branch(c > 0, lambda: [np.sin(x)], lambda: [undefined])[0]

    main = program({"x": F8, "c": int_scalar("c")}, build).main
    (got,), _ = evaluate(batch(main, ["x"], SIZE), np.arange(3.0), 1)
    np.testing.assert_array_equal(got, np.sin(np.arange(3.0)))
