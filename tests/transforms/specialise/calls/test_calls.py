"""Functions that stay calls: recursion, from specialisation to machine code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.bufferize.bufferize import bufferize
from s2s.transforms.checkpoint.plan_tape import plan_tape
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.frontend.pytree import describe, follow
from s2s.transforms.ir.builder import Builder, NameSupply
from s2s.transforms.ir.clone import clone_block
from s2s.transforms.ir.nodes import (
    Array,
    Call,
    Function,
    Module,
    Print,
    Scalar,
    Var,
    calls_in,
    walk,
)
from s2s.transforms.ir.printer import print_ir
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.simplify import simplify
from s2s.transforms.specialise import Specialised, specialise
from tests.transforms import recursive_programs as programs

DEPTHS = (0, 1, 2, 3)
ALL = [*programs.NUMBERS, *programs.ARRAYS]
NUMBER, VECTOR = 0.4, np.array([0.4, 0.7, -0.3, 0.9])

by_name = pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)


def argument(f: Callable[..., Any]) -> Any:
    return VECTOR.copy() if next(iter(inspect.signature(f).parameters)) == "a" else NUMBER


def differences(f: Callable[[Any], Any], x: Any, h: float = 1e-6) -> Any:
    if np.ndim(x) == 0:
        return (f(x + h) - f(x - h)) / (2 * h)
    steps = np.eye(len(x)) * h
    return np.array([(f(x + e) - f(x - e)) / (2 * h) for e in steps])


def specialised(f: Callable[..., Any], x: Any, n: int) -> tuple[Specialised, list[Any]]:
    values = dict(zip(inspect.signature(f).parameters, (x, n)))
    s = specialise(f, {k: describe(v) for k, v in values.items()}, values)
    roots = {"arg": values, "global": f.__globals__}
    leaves = [follow(roots[p.path[0][0]][p.path[0][1]], p.path[1:]) for p in s.params]
    return s, leaves


# ---------------------------------------------------------------- value form


@by_name
def test_gradient_in_value_form(f: Callable[..., Any]) -> None:
    x = argument(f)
    for n in DEPTHS:
        s, leaves = specialised(f, x, n)
        np.testing.assert_allclose(evaluate(s.module, *leaves)[0][0], f(x, n), rtol=1e-12)
        module = reverse(s.module, (s.params[0].name,), 0, s.facts)
        module = simplify(plan_tape(simplify(module, s.facts), s.facts), s.facts)
        (_, gradient), _ = evaluate(module, *leaves, 1.0)
        expected = differences(lambda x, n=n: f(x, n), x)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    "f",
    [programs.itself, programs.tree, programs.inside_loops, programs.tuple_result,
     programs.closure, programs.array_result, programs.one_array_twice, programs.local_writes],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_second_order(f: Callable[..., Any]) -> None:
    """The derivative of the gradient's sum: products of products."""
    x, n = argument(f), 2
    s, leaves = specialised(f, x, n)
    (name,) = (s.params[0].name,)
    first = reverse(s.module, (name,), 0, s.facts)

    def gradient(x: Any) -> Any:
        (_, g), _ = evaluate(first, x, *leaves[1:], 1.0)
        return g

    weights = np.arange(1.0, 5.0) if np.ndim(x) else 1.0
    module = simplify(reverse(first, (name,), 1, s.facts), s.facts)
    module = simplify(plan_tape(module, s.facts), s.facts)
    results, _ = evaluate(module, *leaves, 1.0, weights)
    expected = differences(lambda x: np.sum(weights * gradient(x)), x)
    np.testing.assert_allclose(results[-1], expected, rtol=1e-4, atol=1e-7)


def test_one_function_per_signature() -> None:
    s, _ = specialised(programs.tree, NUMBER, 3)
    assert list(s.module.functions) == ["tree", "_fib"]
    s, _ = specialised(programs.mutual, NUMBER, 3)
    assert list(s.module.functions) == ["mutual", "_even"]
    s, _ = specialised(programs.itself, NUMBER, 3)
    assert list(s.module.functions) == ["itself", "itself_1"]
    # The axis is part of the signature, because it must be known.
    s, _ = specialised(programs.axis_must_be_known, VECTOR, 3)
    assert list(s.module.functions) == ["axis_must_be_known", "_along", "_along_1"]


def test_known_depth_is_unrolled() -> None:
    def power(x: float, n: int) -> float:
        return 1.0 if n == 0 else x * power(x, n - 1)

    def f(x: float) -> float:
        return power(x, 3)

    s = specialise(f, {"x": describe(2.0)}, {"x": 2.0})
    assert list(s.module.functions) == ["f"]


def test_values_reached_are_passed_on() -> None:
    s, _ = specialised(programs.global_values, NUMBER, 3)
    callee = s.module.functions["_reaches"]
    assert [p.name for p in s.module.main.params][2:] == [p.name for p in callee.params][2:]
    (call,) = [c for c in walk(callee.body) if isinstance(c, Call)]
    assert list(call.args[2:]) == callee.params[2:]
    assert [p.name for p in callee.params][2:] == ["SCALE", "TABLE"]


def test_sizes_are_told_to_the_caller() -> None:
    s, _ = specialised(programs.array_result, VECTOR, 3)
    (call,) = [c for c in walk(s.module.main.body) if isinstance(c, Call)]
    assert call.targets[0].type.shape == (Dim.of("a.0"),)


# ---------------------------------------------------------------- the passes

FLOAT = Scalar("float64")


def module_of(build: Callable[[Builder, Var], list[Any]], callee: Function) -> Module:
    b = Builder(NameSupply({"x"}), Facts())
    x = Var("x", FLOAT, "x")
    results = [b.sym(r).operand for r in build(b, x)]
    return Module({"f": Function("f", [x], b.block, results), callee.name: callee}, "f")


def square(name: str = "square") -> Function:
    b = Builder(NameSupply({"y"}), Facts())
    y = Var("y", FLOAT, "y")
    out = (b.sym(y) * b.sym(y)).operand
    return Function(name, [y], b.block, [out], notes={"callee": True, "facts": Facts()})


def call(b: Builder, name: str, *args: Any, keep: bool = False) -> Var:
    target = b.var(FLOAT, "t")
    b.block.append(Call([target], name, args, keep))
    return target


def test_dead_calls_are_dropped() -> None:
    def build(b: Builder, x: Var) -> list[Any]:
        call(b, "square", x)
        return [call(b, "square", x)]

    module = simplify(module_of(build, square()))
    assert len(module.main.body) == 1
    assert evaluate(module, 3.0)[0] == [9.0]

    def kept(b: Builder, x: Var) -> list[Any]:
        call(b, "square", x, keep=True)
        return [x]

    assert len(simplify(module_of(kept, square())).main.body) == 1

    def dead(b: Builder, x: Var) -> list[Any]:
        call(b, "square", x)
        return [x]

    assert list(simplify(module_of(dead, square())).functions) == ["f"]


def test_products_are_shared_and_serve_again() -> None:
    def build(b: Builder, x: Var) -> list[Any]:
        return [b.sym(call(b, "square", x)) * b.sym(call(b, "square", x))]

    module = module_of(build, square())
    first = reverse(module, ("x",))
    assert set(first.functions) == {"f_vjp", "f", "square", "square_rev"}
    second = reverse(first, ("x",), 1)
    again = simplify(second)
    assert evaluate(again, 2.0, 1.0, 1.0)[0] == [16.0, 32.0, 48.0]
    assert sum(name.startswith("square_rev") for name in again.functions) <= 3


def test_a_product_prints_nothing() -> None:
    callee = square()
    callee.body.insert(0, Print(("here",)))

    def build(b: Builder, x: Var) -> list[Any]:
        return [call(b, "square", call(b, "square", x, keep=True), keep=True)]

    module = simplify(reverse(module_of(build, callee), ("x",)))
    product = module.functions["square_rev"]
    assert not any(isinstance(s, Print) for s in walk(product.body))
    assert any(isinstance(s, Print) for s in walk(module.functions["square"].body))


def test_results_of_a_callee_are_arrays_of_their_own() -> None:
    y = Var("y", Array("float64", (Dim.of("y.0"),)), "y")
    callee = Function("twice", [y], [], [y, y], notes={"callee": True})
    for lowering in (False, True):
        stored = bufferize(Module({"twice": callee}, "twice"), lowering).main
        first, second = stored.results
        buffers = stored.notes["buffers"]
        assert len({buffers[v.name] for v in (first, second, *stored.params)}) == 3


def test_copied_blocks_rename_targets() -> None:
    b = Builder(NameSupply({"x"}), Facts())
    t = call(b, "square", Var("x", FLOAT))
    (copy,) = clone_block(b.block, NameSupply({"x", t.name}), {})
    assert isinstance(copy, Call) and copy.targets != [t]


def test_show() -> None:
    module = module_of(lambda b, x: [call(b, "square", x)], square())
    text = print_ir(module, types=False)
    assert text.index("def square(y):") < text.index("def f(x):")
    assert "    t = square(x)\n" in text


# ---------------------------------------------------------------- end to end


@pytest.mark.parametrize("backend", ["loops", "python"])
@by_name
def test_end_to_end(f: Callable[..., Any], backend: str) -> None:
    compiled = s2s.value_and_grad(f, backend=backend)
    x = argument(f)
    for n in DEPTHS:
        value, gradient = compiled(x, n)
        np.testing.assert_allclose(value, f(x, n), rtol=1e-12)
        expected = differences(lambda x, n=n: f(x, n), x)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(
    "f",
    [programs.each_other_and_themselves, programs.loops_inside, programs.closure,
     programs.tuple_result, programs.one_array_twice, programs.shorter_and_shorter],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_compiled_by_numba(f: Callable[..., Any]) -> None:
    compiled = s2s.value_and_grad(f, backend="numba")
    x = argument(f)
    for n in DEPTHS:
        value, gradient = compiled(x, n)
        np.testing.assert_allclose(value, f(x, n), rtol=1e-12)
        expected = differences(lambda x, n=n: f(x, n), x)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-8)


def test_numba_compiles_one_function_for_arrays_of_any_kind() -> None:
    """What may not be written, and what lies in strides, is passed on as what may and does not."""
    locked = VECTOR.copy()
    locked.flags.writeable = False
    for f in (programs.array_argument, programs.local_writes):
        compiled = s2s.grad(f, backend="numba")
        expected = s2s.grad(f, backend="loops")(VECTOR, 3)
        np.testing.assert_allclose(compiled(locked, 3), expected)
        np.testing.assert_allclose(compiled(np.repeat(VECTOR, 2)[::2], 3), expected)


@pytest.mark.parametrize("backend", ["loops", "python", "numba"])
def test_too_deep(backend: str) -> None:
    """As in Python; machine code would otherwise overrun its stack."""
    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        s2s.grad(programs.itself, backend=backend)(NUMBER, -1)


@pytest.mark.parametrize("backend", ["loops", "python"])
def test_records(backend: str) -> None:
    records = np.array([(1.5, 2.0), (0.5, 1.0)], dtype=[("w", "f8"), ("v", "f8")])
    gradient = s2s.grad(programs.over_records, backend=backend)(NUMBER, records)
    expected = differences(lambda x: programs.over_records(x, records), NUMBER)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


@pytest.mark.parametrize("backend", ["loops", "python"])
def test_dtype_is_kept(backend: str) -> None:
    x = VECTOR.astype(np.float32)
    for f in programs.ARRAYS:
        gradient = s2s.grad(f, backend=backend)(x, 2)
        assert gradient.dtype == np.float32
        expected = s2s.grad(f, backend=backend)(x.astype(np.float64), 2)
        np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("backend", ["loops", "python"])
def test_prints_once(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    s2s.grad(programs.chatty, backend=backend)(0.9, 2)
    assert capsys.readouterr().out == "level 2\nlevel 1\nlevel 0\n"


@pytest.mark.parametrize("backend", ["loops", "python"])
@pytest.mark.parametrize("f", [programs.strict, programs.strict_in_vain])
def test_errors_come_through(f: Callable[..., Any], backend: str) -> None:
    with pytest.raises(ValueError, match="^negative: -2"):
        s2s.grad(f, backend=backend)(0.5, -2)


def test_the_text_calls_the_function() -> None:
    text = s2s.grad(programs.tree, backend="python").source_for(NUMBER, 3)
    calls = text.count("_fib_fwd(x, n - 1, "), text.count("_fib_fwd(x * 0.9, n - 2, ")
    assert calls == (1, 1)
    assert text.index("def _fib_fwd(x, n, ") < text.index("def tree_vjp(x, n, out_bar=1.0):")


@pytest.mark.parametrize("f, message, advice", programs.REFUSED)
def test_refusals(f: Callable[..., Any], message: str, advice: str) -> None:
    with pytest.raises(s2s.UnsupportedError) as info:
        s2s.grad(f, backend="loops")(argument(f), 2)
    assert message in str(info.value) and advice in str(info.value)
    assert info.value.file == programs.__file__ and info.value.line and info.value.source_line


def test_products_are_reachable_by_name() -> None:
    s, _ = specialised(programs.tree, NUMBER, 3)
    module = simplify(reverse(s.module, ("x",), 0, s.facts))
    called = {name for f in module.functions.values() for name in calls_in(f.body)}
    assert called == set(module.functions) - {module.entry}
