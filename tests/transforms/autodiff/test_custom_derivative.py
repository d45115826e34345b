"""Custom derivatives: pullbacks are inlined under new names, and erased at the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from s2s.transforms.autodiff.custom_derivative import erase_custom_derivatives, inline
from s2s.transforms.autodiff.forward import forward
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.ir.nodes import (
    Assign,
    Budget,
    Const,
    Custom,
    For,
    Function,
    Module,
    Origin,
    Scalar,
    Span,
    Var,
    walk,
)
from s2s.transforms.ir.symbolic_dims import Facts
from tests.transforms.programs import F8, Program, program, run

WEAK = Scalar("float64", weak=True)


def triple() -> Function:
    """The pullback of a value whose derivative is declared as 3 cos(x), for a captured x."""
    return program({"x": F8, "g": F8}, lambda p, x, g: g * 3.0 * np.cos(x), "pullback").main


def custom(weak: bool = False) -> Module:
    """sin(x) with the derivative 3 cos(x), inside of a branch and a product."""

    def build(p: Program, x: Any) -> Any:
        value = np.sin(x).operand
        target = p.var(WEAK if weak else F8, "y", "y")
        p.block.append(Custom([target], (value,), (x.operand,), (x.operand,), triple(), p.origin))
        (z,) = p.branch(x > 0.0, lambda: [p.sym(target) * 2.0], lambda: [p.sym(target)])
        return [z, p.sym(target)]

    return program({"x": F8}, build)


def test_a_function_is_inlined_for_its_arguments() -> None:
    p = Program()
    span = Span("f.py", 5, 0, 5, 1)
    origin = Origin(span, span, sweep=1)
    function = triple()
    (first,) = inline(p, function, [Const(0.5, F8), Const(2.0, F8)], origin)
    (second,) = inline(p, function, [Const(0.0, F8), Const(1.0, F8)], origin)
    assert first != second and len(p.block) == 6
    made = Function("f", [], p.block, [first, second])
    np.testing.assert_allclose(run(Module({"f": made}, "f")), [6 * np.cos(0.5), 3.0], rtol=1e-15)
    names = [s.target.name for s in p.block if isinstance(s, Assign)]
    assert len(set(names)) == 6 and all(n in p.definitions for n in names)


def test_inlined_statements_belong_to_the_sweep_of_the_call() -> None:
    """Text of the pullback is not the user's statement of that place."""
    span = Span("f.py", 5, 0, 5, 1)
    origin = Origin(span, span, sweep=2, tangent=True)
    p = Program()
    inline(p, triple(), [Const(0.5, F8), Const(2.0, F8)], origin)
    assert {s.origin.sweep for s in p.block if s.origin} == {2}
    assert all(s.origin is not None and s.origin.tangent for s in p.block)
    function = triple()
    for s in function.body:
        assert s.origin is not None
        s.origin = replace(s.origin, sweep=2)
    q = Program()
    inline(q, function, [Const(0.5, F8), Const(2.0, F8)], replace(origin, sweep=1))
    assert {s.origin.sweep for s in q.block if s.origin} == {3}


def test_results_may_be_constants_and_arguments() -> None:
    p = Program()
    x, y = Var("x", F8), Var("y", F8)
    function = Function("g", [x], [], [x, Const(2.0, F8)])
    assert inline(p, function, [y], None) == [y, Const(2.0, F8)] and not p.block


def test_both_modes_use_the_declared_derivative() -> None:
    for x in (0.5, -0.5):
        factor = 2.0 if x > 0 else 1.0
        want = factor * 3.0 * np.cos(x)
        module = custom()
        vjp = reverse(module, ("x",), 0, Facts())
        np.testing.assert_allclose(run(erase_custom_derivatives(vjp), x, 1.0)[2], want, rtol=1e-15)
        jvp = forward(module, ("x",), Facts())
        got = run(erase_custom_derivatives(jvp), x, 1.0)
        assert any(np.isclose(v, want, rtol=1e-15) for v in got), got


def test_settled_values_are_those_computed() -> None:
    module = custom()
    settled = erase_custom_derivatives(module)
    assert not any(isinstance(s, Custom) for s in walk(settled.main.body))
    assert any(isinstance(s, Custom) for s in walk(module.main.body))
    assert run(settled, 0.5) == run(module, 0.5) == [2 * np.sin(0.5), np.sin(0.5)]


def test_a_value_of_another_type_is_converted() -> None:
    """A weak target stays a Python number."""
    settled = erase_custom_derivatives(custom(weak=True))
    conversions = [s for s in settled.main.body if isinstance(s, Assign) and s.op.name == "same"]
    assert [s.target.type for s in conversions] == [WEAK]
    value = run(settled, 0.5)[1]
    assert type(value) is float and value == np.sin(0.5)


def test_values_of_values_are_resolved() -> None:
    """A custom value of a custom value, as a result and as an effect."""
    x, a, b = (Var(n, F8) for n in "xab")
    inner = Custom([a], (x,), (x,), (x,), triple())
    outer = Custom([b], (a,), (a,), (a,), triple())
    function = Function("f", [x], [inner, outer], [b, Const(1.0, F8)], effects=[(x, b)])
    settled = erase_custom_derivatives(Module({"f": function}, "f")).main
    assert (settled.body, settled.results) == ([], [x, Const(1.0, F8)])
    assert settled.effects == [(x, x)]


def test_budgets_are_removed_and_other_functions_left_as_they_are() -> None:
    module = program({"x": F8}, lambda p, x: p.loop(3, [x], lambda i, s: [np.sin(s)]))
    assert erase_custom_derivatives(module).main is module.main
    (loop,) = module.main.body
    assert isinstance(loop, For)
    limited = replace(loop, budget=Budget(Const(2, Scalar("int64"))))
    outer = For(Var("k", Scalar("int64")), loop.start, loop.stop, loop.step, [limited])
    settled = erase_custom_derivatives(Module({"f": replace(module.main, body=[outer])}, "f"))
    assert [s.budget for s in walk(settled.main.body) if isinstance(s, For)] == [None, None]
    assert limited.budget is not None
