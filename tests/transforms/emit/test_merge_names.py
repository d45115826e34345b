"""Variables of memory form without second names."""

from __future__ import annotations

from typing import Any

from s2s.transforms.emit.merge_names import merge_names
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Block,
    Const,
    For,
    Function,
    Module,
    Op,
    Scalar,
    Store,
    Var,
)
from s2s.transforms.ir.printer import print_ir
from s2s.transforms.ir.symbolic_dims import Dim

F8, I8 = Scalar("float64"), Scalar("int64")
VECTOR = Array("float64", (Dim.of("n"),))
ONE = Const(1.0, F8)


def array(name: str) -> Var:
    return Var(name, VECTOR)


def number(name: str) -> Var:
    return Var(name, F8)


def alias(target: Var, source: Any) -> Assign:
    return Assign(target, Op("alias", (source,)))


def merged(params: list[Var], body: Block, results: list[Any]) -> str:
    function = merge_names(Function("f", params, body, results))
    return print_ir(Module({"f": function}, "f"))


def test_an_array_that_is_written_to() -> None:
    x, x_1 = array("x"), array("x_1")
    text = merged([x], [alias(x_1, x), Store(x_1, ONE, ())], [x_1])
    assert "x_1" not in text


def test_not_if_the_first_name_is_bound_again() -> None:
    a, b = number("a"), number("b")
    body: Block = [alias(b, a), Assign(a, Op("add", (a, ONE)))]
    assert "alias(a)" in merged([a], [*body, Assign(number("c"), Op("add", (a, b)))], [number("c")])


def test_a_variable_that_a_loop_hands_on() -> None:
    s, s_1, i = number("s"), number("s_1"), Var("i", I8)
    inside: Block = [Assign(s_1, Op("add", (ONE, ONE))), Assign(number("u"), Op("sin", (s_1,))),
                     alias(s, s_1)]  # fmt: skip
    loop = For(i, Const(0, I8), Const(3, I8), Const(1, I8), inside)
    text = merged([], [alias(s, ONE), loop], [s])
    assert "s_1" not in text and "s: f8 = add(1.0, 1.0)" in text


def test_not_if_the_other_is_read_in_between() -> None:
    s, s_1, i = number("s"), number("s_1"), Var("i", I8)
    inside: Block = [Assign(s_1, Op("add", (s, ONE))), Assign(number("u"), Op("sin", (s,))),
                     alias(s, s_1)]  # fmt: skip
    loop = For(i, Const(0, I8), Const(3, I8), Const(1, I8), inside)
    assert "s_1" in merged([], [alias(s, ONE), loop], [s])
