"""Requests for VJPs of called functions: one name per request, and callees without effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.callee_vjps import CalleeVjp, CalleeVjps
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import (
    Block,
    Call,
    Draw,
    Function,
    Module,
    Op,
    Print,
    Raise,
    Var,
    calls_in,
    walk,
)
from s2s.transforms.ir.symbolic_dims import Facts
from tests.oracle import central_differences
from tests.transforms.programs import F8, Program, program, run


def module_of(**bodies: Block) -> Module:
    functions = {name: Function(name, [Var("x", F8)], body, []) for name, body in bodies.items()}
    return Module(functions, next(iter(functions)))


def results(module: Module, *args: Any) -> list[Any]:
    return evaluate(module, *args)[0]


def call(name: str) -> Call:
    return Call([], name, (Var("x", F8),), keep=True)


DRAW = Draw([Var("r", F8)], None, "standard_normal", ())
PRINT = Print(("here",))


def test_one_name_per_request_before_there_is_a_body() -> None:
    vjps = CalleeVjps(module_of(f=[], g=[], g_vjp=[]))
    first = vjps.name("g", (0,), (0,))
    assert first == "g_vjp_1", "the name of another function is avoided"
    assert vjps.name("g", (0,), (0,)) == first
    other = vjps.name("g", (0, 1), (0,))
    assert other != first and vjps.name("g", (0,), (0, 1)) not in (first, other)
    assert [p.name for p in vjps.todo][:2] == [first, other] and len(vjps.todo) == 3
    assert vjps.todo[0] == CalleeVjp(first, "g", (0,), (0,))


def test_parameters_are_no_names_of_functions() -> None:
    """In the emitted code a parameter would hide the function."""
    module = module_of(f=[])
    module.functions["f"].params.append(Var("f_vjp", F8))
    assert CalleeVjps(module).name("f", (0,), (0,)) == "f_vjp_1"


def test_products_of_an_earlier_differentiation_are_reused() -> None:
    module = module_of(f=[], g=[], g_vjp=[], copy=[])
    product = CalleeVjp("g_vjp", "g", (0,), (0,))
    module.functions["g_vjp"].notes["product"] = product
    module.functions["copy"].notes["product"] = product  # notes that a clone has kept
    vjps = CalleeVjps(module)
    assert vjps.name("g", (0,), (0,)) == "g_vjp" and not vjps.todo
    assert [*vjps.known.values()] == [product]


def test_prints_and_errors_are_omitted_at_any_depth() -> None:
    def build(p: Program, x: Any) -> Any:
        p.check(x > 0.0, "ValueError", "negative")

        def body(i: Any, s: Any) -> Any:
            p.block.append(PRINT)
            return [s * x]

        return p.loop(2, [x], body)[0]

    module = program({"x": F8}, build)
    before = module.main.body
    quiet = CalleeVjps(module).without_effects(module.main)
    assert any(isinstance(s, Raise) for s in walk(before))
    assert not any(isinstance(s, (Print, Raise)) for s in walk(quiet.body))
    assert module.main.body is before and any(isinstance(s, Print) for s in walk(before))
    assert run(Module({"f": quiet}, "f"), -2.0) == [-8.0]


def test_callees_that_print_have_one_silent_copy_each() -> None:
    module = module_of(f=[call("g"), call("h"), call("g")], g=[call("k")], h=[], k=[PRINT])
    vjps = CalleeVjps(module)
    assert vjps.printing == {"f", "g", "k"}
    quiet = vjps.without_effects(module.main)
    assert [*calls_in(quiet.body)] == ["g_again", "h", "g_again"]
    assert not any(s.keep for s in walk(quiet.body) if isinstance(s, Call))
    assert [*calls_in(vjps.functions["g_again"].body)] == ["k_again"]
    assert vjps.functions["k_again"].body == [] and vjps.functions["k_again"].name == "k_again"
    assert vjps.copies == {"g": "g_again", "k": "k_again"}
    assert [s for s in walk(module.main.body) if isinstance(s, Call) and s.keep]


def test_a_recursive_function_that_prints_has_a_recursive_copy() -> None:
    module = module_of(f=[call("g")], g=[PRINT, call("g")])
    vjps = CalleeVjps(module)
    vjps.without_effects(module.main)
    assert [*calls_in(vjps.functions["g_again"].body)] == ["g_again"]


@pytest.mark.parametrize(
    "bodies", [{"f": [DRAW]}, {"f": [call("g")], "g": [call("h")], "h": [DRAW]}]
)
def test_draws_are_not_repeated(bodies: Any) -> None:
    module = module_of(**bodies)
    with pytest.raises(UnsupportedError, match="a second time"):
        CalleeVjps(module).without_effects(module.main)


def test_the_vjp_of_a_recursive_function() -> None:
    """power(x, s, k) multiplies s by sin(x) until it is small; against finite differences."""
    p = Program()
    x, s = (Var(p.names.fresh(n), F8, n) for n in "xs")

    def recurse() -> Any:
        target = p.var(F8, "again")
        p.block.append(Call([target], "power", (x, (p.sym(s) * np.sin(p.sym(x))).operand)))
        return [p.sym(target)]

    (y,) = p.branch(p.sym(s) > 0.1, recurse, lambda: [p.sym(s) * p.sym(x)])
    module = Module({"power": Function("power", [x, s], p.block, [y.operand])}, "power")
    vjp = reverse(module, ("x", "s"), 0, Facts())
    args = (0.6, 0.9)
    out, *bars = results(vjp, *args, 1.0)
    assert out == results(module, *args)[0]
    for at, bar in enumerate(bars):
        want = central_differences(lambda *a: results(module, *a)[0], args, at)
        np.testing.assert_allclose(bar, want, rtol=1e-7)


def test_no_operation_is_lost() -> None:
    body: Block = [PRINT]
    module = module_of(f=body)
    made = program({"x": F8}, lambda p, x: np.sin(x)).main
    quiet = CalleeVjps(module).without_effects(made)
    assert [s.op for s in quiet.body] == [Op("sin", (made.params[0],))]  # type: ignore[union-attr]
