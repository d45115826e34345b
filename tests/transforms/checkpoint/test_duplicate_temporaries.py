"""Cheap temporaries of the user's statements are computed again where the sweep reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.checkpoint.duplicate_temporaries import duplicate_temporaries
from s2s.transforms.ir.nodes import Assign, Function, Module, Origin, Span, Var, operands_of
from tests.transforms.programs import F8, Program, program, run, vector


def in_sweep(p: Program) -> None:
    """What follows belongs to the adjoint sweep."""
    p.line()
    assert p.origin is not None
    p.origin = replace(p.origin, sweep=1)


def respelt(params: dict[str, Any], build: Any, *args: Any) -> tuple[Function, list[str]]:
    """The function, and the operations of its sweep.  It computes what it did."""
    module = program(params, build)
    want = run(module, *args)
    new = duplicate_temporaries(module.main)
    for g, w in zip(run(Module({"f": new}, "f"), *args), want, strict=True):
        np.testing.assert_array_equal(g, w)
    sweep = [s for s in new.body if isinstance(s, Assign) and s.origin and s.origin.sweep]
    before = {s.target.name for s in new.body if isinstance(s, Assign) and s not in sweep}
    read = {x.name for s in sweep for x in operands_of(s) if isinstance(x, Var)}
    assert sorted(new.notes) == sorted(module.main.notes)
    return new, [s.op.name for s in sweep] + sorted(before & read)


def named(p: Program, x: Any, user: str) -> Any:
    stmt = p.block[-1]
    assert isinstance(stmt, Assign)
    stmt.target = replace(stmt.target, user=user)
    return p.sym(stmt.target)


def test_a_condition_is_spelled_out_again():
    def build(p: Program, x: Any, y: Any) -> Any:
        positive = x > y
        out = p.emit("where", positive, x, y)
        in_sweep(p)
        return out, p.emit("where", positive, 1.0, 0.0)

    new, sweep = respelt({"x": F8, "y": F8}, build, 2.0, 1.0)
    assert sweep == ["greater", "where"]
    again = next(s for s in reversed(new.body) if s.op.name == "greater")  # type: ignore[union-attr]
    assert again.origin is not None and again.origin.sweep == 1


def test_each_is_computed_once():
    def build(p: Program, x: Any, y: Any) -> Any:
        t = x * y
        in_sweep(p)
        return t * 2.0, t * 3.0

    assert respelt({"x": F8, "y": F8}, build, 2.0, 3.0)[1] == ["multiply"] * 3


def test_temporaries_of_temporaries():
    def build(p: Program, x: Any, y: Any) -> Any:
        t = x * y
        u = t + 1.0
        in_sweep(p)
        return u * 2.0

    assert respelt({"x": F8, "y": F8}, build, 2.0, 3.0)[1] == ["multiply", "add", "multiply"]


def test_an_element():
    def build(p: Program, x: Any, y: Any) -> Any:
        first = p.get(x, 0)
        in_sweep(p)
        return first * y

    assert respelt({"x": vector("x"), "y": F8}, build, np.arange(3.0), 2.0)[1] == [
        "index",
        "multiply",
    ]


@pytest.mark.parametrize("name", ["exp", "sum"])
def test_what_is_expensive_stays(name):
    def build(p: Program, x: Any, y: Any) -> Any:
        t = np.exp(y) if name == "exp" else p.sum(x)
        in_sweep(p)
        return t * 2.0

    new, sweep = respelt({"x": vector("x"), "y": F8}, build, np.arange(3.0), 2.0)
    assert sweep[0] == "multiply" and len(sweep) == 2  # which reads the temporary


def test_arrays_stay():
    def build(p: Program, x: Any, y: Any) -> Any:
        t = x * y
        in_sweep(p)
        return t * 2.0

    _, sweep = respelt({"x": vector("x"), "y": F8}, build, np.arange(3.0), 2.0)
    assert sweep[0] == "multiply" and len(sweep) == 2


def test_the_users_variables_keep_their_name():
    def build(p: Program, x: Any, y: Any) -> Any:
        t = named(p, x * y, "t")
        in_sweep(p)
        return t * 2.0

    _, sweep = respelt({"x": F8, "y": F8}, build, 2.0, 3.0)
    assert len(sweep) == 2


def test_results_are_not_computed_again():
    def build(p: Program, x: Any, y: Any) -> Any:
        t = x * y
        in_sweep(p)
        return t, t * 2.0

    _, sweep = respelt({"x": F8, "y": F8}, build, 2.0, 3.0)
    assert len(sweep) == 2


def test_a_variable_whose_name_is_given_to_another_value():
    """`a` is x * y no more when the sweep begins."""

    def build(p: Program, x: Any, y: Any) -> Any:
        first = named(p, x * y, "a")
        t = first + 1.0
        p.line()
        named(p, x - y, "a")
        in_sweep(p)
        return t * 2.0

    _, sweep = respelt({"x": F8, "y": F8}, build, 2.0, 3.0)
    assert "add" not in sweep and len(sweep) == 2


def test_an_element_of_an_array_that_is_overwritten():
    def build(p: Program, x: Any, y: Any) -> Any:
        a = x * 2.0
        first = p.get(a, 0)
        b = p.set(a, 5.0, 0)
        in_sweep(p)
        return first * y, b

    _, sweep = respelt({"x": vector("x"), "y": F8}, build, np.arange(1.0, 4.0), 2.0)
    assert "index" not in sweep


def test_nothing_without_a_sweep():
    module = program({"x": F8}, lambda p, x: x * 2.0 + x)
    assert duplicate_temporaries(module.main).body == module.main.body
    span = Span("m.py", 1, 0, 1, 1)
    assert Origin(span, span).sweep == 0


def test_the_users_statement_stays_whole():
    def f(x: float, y: float) -> float:
        if x > y:
            return x * y
        return y * y

    g = s2s.grad(f, wrt=("x", "y"), backend="loops")
    assert g(3.0, 2.0) == (2.0, 3.0) and g(1.0, 2.0) == (0.0, 4.0)
    assert g.source.count("if x > y:") == 2
