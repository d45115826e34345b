"""Texts of operations: run as Python, they mean what the operation does, whatever the operands."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

from s2s.transforms.ir import precedence as P
from s2s.transforms.ir.nodes import Array, Scalar
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.rules.operation_text import (
    attribute,
    by_rank,
    by_weakness,
    call,
    call_text,
    comparison,
    infix,
    keyword,
    method,
    power,
    prefix,
)

OPERANDS = [
    ("a", P.ATOM), ("a + b", P.ADD), ("-a", P.UNARY), ("a ** b", P.POWER), ("a * b", P.MUL),
    ("a if b else c", P.TERNARY), ("a < b", P.COMPARE), ("not a", P.NOT), ("a | b", P.BITOR),
]  # fmt: skip
NAMES = {"a": 5, "b": 3, "c": 2, "np": np}
BINARY = [
    (infix("+", P.ADD), operator.add),
    (infix("-", P.ADD), operator.sub),
    (infix("*", P.MUL), operator.mul),
    (infix("%", P.MUL), operator.mod),
    (infix("&", P.BITAND), operator.and_),
    (infix("<<", P.SHIFT), lambda x, y: x << y),
    (comparison("<", P.COMPARE), operator.lt),
    (comparison("==", P.COMPARE), operator.eq),
    (power, operator.pow),
    (call("max"), max),
]


def value(text: tuple[str, int]) -> Any:
    return eval(text[0], dict(NAMES))


@pytest.mark.parametrize(("rule", "meaning"), BINARY)
def test_binary_operators_group_as_their_operands_do(rule: Any, meaning: Any) -> None:
    for left, right in itertools.product(OPERANDS, OPERANDS):
        text = rule([left, right], {}, ())
        try:
            want = meaning(value(left), value(right))
        except (ValueError, ZeroDivisionError) as error:
            with pytest.raises(type(error)):
                value(text)
            continue
        assert value(text) == want, text
        again = infix("-", P.ADD)([("1", P.ATOM), text], {}, ())
        assert value(again) == 1 - want, again


@pytest.mark.parametrize("operand", OPERANDS)
def test_prefix_method_and_attribute(operand: Any) -> None:
    assert value(prefix("-")([operand], {}, ())) == -value(operand)
    assert value(prefix("~")([operand], {}, ())) == ~value(operand)
    assert value(attribute("real")([operand], {}, ())) == value(operand).real
    length = method("bit_length")([operand], {}, ())
    assert value(length) == int(value(operand)).bit_length()


def test_no_parentheses_where_none_are_needed() -> None:
    sum_, product = ("a + b", P.ADD), ("a * b", P.MUL)
    assert infix("-", P.ADD)([sum_, product], {}, ()) == ("a + b - a * b", P.ADD)
    assert infix("-", P.ADD)([product, sum_], {}, ()) == ("a * b - (a + b)", P.ADD)
    assert power([("a", P.ATOM), ("-b", P.UNARY)], {}, ()) == ("a ** -b", P.POWER)
    assert call("f")([sum_], {}, ()) == ("f(a + b)", P.ATOM)


def test_keywords() -> None:
    assert call_text("f", [("a", P.ATOM)], {"axis": (1,), "keepdims": True, "out": None}) == (
        "f(a, axis=1, keepdims=True)", P.ATOM,
    )  # fmt: skip
    assert keyword("axis", (0, 1)) == "(0, 1)" and keyword("axis", None) == "None"
    for dtype in ("bool", "int8", "complex64"):
        assert eval(keyword("dtype", dtype), {"np": np}) == np.dtype(dtype)
    x = np.arange(6.0).reshape(2, 3)
    text, _ = method("sum")([("x", P.ATOM)], {"axis": (1,), "keepdims": True}, ())
    np.testing.assert_array_equal(eval(text, {"x": x}), x.sum(axis=1, keepdims=True))


def test_forms_by_the_types_of_the_operands() -> None:
    weak, strong = Scalar("float64", weak=True), Scalar("float64")
    array = Array("float64", (Dim.of(2),))
    one, other = call("one"), call("other")

    def shown(rule: Any, *types: Any) -> str:
        return rule([("a", P.ATOM)] * len(types), {}, types)[0].split("(")[0]

    ranked, typed = by_rank(one, other), by_weakness(one, other)
    assert [shown(ranked, weak, strong), shown(ranked, weak, array)] == ["one", "other"]
    assert shown(typed, weak, weak) == "one"
    assert shown(typed, weak, strong) == "other" == shown(typed, array)
