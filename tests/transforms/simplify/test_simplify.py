"""`simplify`: programs as text, before and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir.nodes import (
    Array,
    Const,
    Module,
    Print,
    Raise,
    Save,
    Slot,
    Type,
    walk,
)
from s2s.transforms.ir.printer import print_ir
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.simplify import simplify
from tests.transforms.programs import F8, Program, program, vector

X: dict[str, Type] = {"x": F8}
V: dict[str, Type] = {"v": vector("v"), "x": F8}


def free(params: dict[str, Type], build: Callable[..., Any]) -> Module:
    """A program without origins, which may be simplified freely."""
    module = program(params, build)
    for stmt in walk(module.main.body):
        stmt.origin = None
    return module


def body(module: Module) -> str:
    return "".join(print_ir(module.main, types=False).splitlines(keepends=True)[1:])


def expect(params: dict[str, Type], build: Callable[..., Any], after: str) -> None:
    got = dedent(body(simplify(free(params, build), Facts())))
    assert got == dedent(after).lstrip("\n")


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize(
    "build",
    [
        lambda p, x: x * 1.0,
        lambda p, x: 1.0 * x,
        lambda p, x: x + 0.0,
        lambda p, x: 0.0 + x,
        lambda p, x: x - 0.0,
        lambda p, x: x / 1.0,
        lambda p, x: x**1.0,
        lambda p, x: np.negative(-x),
        lambda p, x: p.emit("cast", x, dtype="float64"),
        lambda p, x: p.emit("unbroadcast", x, x),
        lambda p, x: x * (3.0 - 2.0),
    ],
)
def test_identities(build: Any) -> None:
    expect(X, build, "return x\n")


@pytest.mark.parametrize(
    "build",
    [
        lambda p, x: x * 0.0,  # x may be inf
        lambda p, x: x - x,
        lambda p, x: 0.0 - x,
        lambda p, x: x / x,
        lambda p, x: p.emit("cast", x, dtype="float32"),
        lambda p, x: np.float32(0) + p.emit("cast", x, dtype="float32"),
    ],
)
def test_not_identities(build: Any) -> None:
    assert "return x\n" not in body(simplify(free(X, build)))


def test_zero_that_changes_the_dtype_stays() -> None:
    def build(p: Program, x: Any) -> Any:
        return p.emit("cast", x, dtype="float32") + np.float64(0.0)

    expect(X, build, "t = cast(x, dtype='float32')\nt_1 = add(t, 0.0)\nreturn t_1\n")


def test_zero_that_changes_the_shape_stays() -> None:
    expect(V, lambda p, v, x: p.zeros_like(v) + x, """
        t = zeros_like(v, dtype='float64')
        t_1 = add(t, x)
        return t_1
        """)  # fmt: skip


def test_zeros_plus_value() -> None:
    expect(V, lambda p, v, x: p.zeros_like(v) + v, "return v\n")
    expect(V, lambda p, v, x: p.emit("update_add", p.zeros_like(v), v, path=()), "return v\n")


def test_sum_with_negative_is_difference() -> None:
    expect({"x": F8, "y": F8}, lambda p, x, y: x + -y, "t_1 = subtract(x, y)\nreturn t_1\n")


def test_folding_keeps_the_dtype() -> None:
    module = simplify(free(X, lambda p, x: p.emit("add", np.float32(0.5), np.float32(0.25))))
    (result,) = module.main.results
    assert isinstance(result, Const) and result.value == 0.75 and result.type.dtype == "float32"


def test_folding_never_makes_infinities() -> None:
    module = simplify(free(X, lambda p, x: p.emit("divide", np.float64(1), np.float64(0)) * x))
    assert "divide" in body(module)


def test_known_size() -> None:
    fixed: dict[str, Type] = {"v": Array("float64", (Dim.of(3),))}
    expect(fixed, lambda p, v: p.emit("shape", v, axis=0) * 2, "return 6\n")


def test_twice_is_a_product() -> None:
    expect(X, lambda p, x: x + x, "t = multiply(x, 2.0)\nreturn t\n")


def test_broadcast_that_happens_anyway() -> None:
    def build(p: Program, v: Any, x: Any) -> Any:
        return p.emit("broadcast_like", x, v) * v

    expect(V, build, "t_1 = multiply(x, v)\nreturn t_1\n")


# ---------------------------------------------------------------- sharing


def test_common_subexpressions_but_not_zeros() -> None:
    def build(p: Program, v: Any, x: Any) -> Any:
        a, b = np.sin(x) * x, np.sin(x) * x
        return [a + b, p.set(p.zeros_like(v), a, 0), p.set(p.zeros_like(v), b, 1)]

    text = body(simplify(free(V, build)))
    assert text.count("sin(") == 1 and text.count("multiply(x") == 0
    assert text.count("zeros_like(") == 2


def test_nothing_is_shared_out_of_a_branch() -> None:
    def build(p: Program, x: Any) -> Any:
        (y,) = p.branch(x > 0.0, lambda: [np.sin(x)], lambda: [x])
        return y * np.sin(x)

    assert body(simplify(free(X, build))).count("sin(x)") == 2


# ---------------------------------------------------------------- control flow


def test_phi_of_equals_and_empty_branch() -> None:
    expect(X, lambda p, x: p.branch(x > 0.0, lambda: [x], lambda: [x]), "return x\n")


def test_constant_condition() -> None:
    def build(p: Program, x: Any) -> Any:
        return p.branch(p.sym(True), lambda: [np.sin(x)], lambda: [np.cos(x)])

    expect(X, build, "t = sin(x)\nreturn t\n")


def test_carried_values_that_do_not_change() -> None:
    def build(p: Program, x: Any) -> Any:
        a, b, c = p.loop(3, [x, x, x], lambda i, a, b, c: [a, x, c * a * b])
        return [a, b, c]

    text = body(simplify(free(X, build)))
    assert text.count(" | ") == 1 and "return x, x, s2_1" in text


def test_carried_values_that_feed_only_themselves() -> None:
    def build(p: Program, x: Any) -> Any:
        a, b, c = p.loop(3, [x, x, x], lambda i, a, b, c: [b * 2.0, a * 3.0, c * x])
        return c

    text = body(simplify(free(X, build)))
    assert text.count(" | ") == 1 and "3.0" not in text


def test_loop_that_never_runs() -> None:
    expect(X, lambda p, x: p.loop(0, [x], lambda i, s: [s * x]), "return x\n")


def test_unused_loop_goes() -> None:
    def build(p: Program, x: Any) -> Any:
        p.loop(3, [x], lambda i, s: [s * x])
        return x

    expect(X, build, "return x\n")


def test_raise_and_print_stay() -> None:
    module = free(X, lambda p, x: x)
    p = Program()
    cond = p.sym(module.main.params[0]) > 0.0
    p.check(cond, "ValueError", "negative: ", p.sym(module.main.params[0]))
    p.block.append(Print((module.main.params[0],)))
    main = replace(module.main, body=p.block)
    kept = simplify(module.with_main(main)).main
    kinds = {type(s) for s in walk(kept.body)}
    assert {Raise, Print} <= kinds


def test_saves_of_slots_never_restored_go() -> None:
    module = free(X, lambda p, x: x)
    x = module.main.params[0]
    kept, gone = Slot("kept", F8), Slot("gone", F8)
    p = Program()
    p.block += [Save(kept, x), Save(gone, x)]
    y = p.emit("restore", slot=kept)
    main = replace(module.main, body=p.block, results=[y.operand])
    after = simplify(module.with_main(main)).main
    assert [s.slot.name for s in after.body if isinstance(s, Save)] == ["kept"]


# ---------------------------------------------------------------- the user's statements


def test_users_statements_keep_their_text() -> None:
    def build(p: Program, x: Any) -> Any:
        y = x * 1.0 + 0.0
        p.line()
        return y + np.sin(x) + np.sin(x)

    module = program(X, build)
    assert body(simplify(module)) == body(module)


def test_users_statements_are_dropped_whole() -> None:
    def build(p: Program, x: Any) -> Any:
        np.sin(np.cos(x))
        p.line()
        y = np.exp(x)
        np.log(x)  # part of a live statement
        return y

    text = body(simplify(program(X, build)))
    assert "sin" not in text and "cos" not in text and "log" in text


def test_shape_is_asked_of_a_named_value() -> None:
    """Otherwise the user's statement would be split because of a shape query."""

    def build(p: Program, v: Any, x: Any) -> Any:
        y = p.sum(v * x)
        p.line()
        assert p.origin is not None
        p.origin = replace(p.origin, sweep=1)
        inner = p.block[0].target  # type: ignore[union-attr]
        return [y, p.emit("broadcast_like", x, inner)]

    assert "broadcast_like(x, v)" in body(simplify(program(V, build)))


def test_idempotent_and_input_untouched() -> None:
    def build(p: Program, x: Any) -> Any:
        (s,) = p.loop(3, [x], lambda i, s: [s * 1.0 * x])
        return s + 0.0

    module = free(X, build)
    before = body(module)
    once = simplify(module)
    assert body(module) == before
    assert body(simplify(once)) == body(once)
