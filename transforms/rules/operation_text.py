"""Readable Python for operations: makers of `Rule.text` functions.

Each takes the operands' texts, the attributes and the operands' types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.nodes import Scalar, Type
from ..ir.precedence import ATOM, POWER, TERNARY, UNARY, Text, wrap

TextRule = Callable[[Sequence[Text], "dict[str, Any]", Sequence[Type]], Text]


def call(function: str) -> TextRule:
    """`np.exp(x)`, with attributes that differ from None as keywords."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        return call_text(function, args, attrs)

    return text


def call_text(function: str, args: Sequence[Text], attrs: dict[str, Any] | None = None) -> Text:
    parts = [wrap(a, TERNARY) for a in args]
    parts += [f"{k}={keyword(k, v)}" for k, v in (attrs or {}).items() if v is not None]
    return f"{function}({', '.join(parts)})", ATOM


def keyword(name: str, value: Any) -> str:
    if name == "dtype":
        return dtype_text(value)
    if name == "axis" and isinstance(value, tuple) and len(value) == 1:
        return repr(value[0])
    return repr(value)


def dtype_text(dtype: str) -> str:
    return "np.bool_" if dtype == "bool" else f"np.{dtype}"


def infix(operator: str, precedence: int) -> TextRule:
    """`x + y`, grouping from the left."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        left, right = args
        return f"{wrap(left, precedence)} {operator} {wrap(right, precedence + 1)}", precedence

    return text


def comparison(operator: str, precedence: int) -> TextRule:
    """`x < y`; never a chain, whose meaning is another."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        left, right = (wrap(a, precedence + 1) for a in args)
        return f"{left} {operator} {right}", precedence

    return text


def prefix(operator: str) -> TextRule:
    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        return f"{operator}{wrap(args[0], POWER)}", UNARY

    return text


def power(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    return f"{wrap(args[0], ATOM)} ** {wrap(args[1], UNARY)}", POWER


def by_rank(scalars: TextRule, arrays: TextRule) -> TextRule:
    """One form for scalars, another as soon as an array is among the operands."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        return (arrays if any(t.ndim for t in types) else scalars)(args, attrs, types)

    return text


def by_weakness(weak: TextRule, strong: TextRule) -> TextRule:
    """One form for Python's own numbers, another as soon as NumPy's are among the operands."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        python = all(isinstance(t, Scalar) and t.weak for t in types)
        return (weak if python else strong)(args, attrs, types)

    return text


def method(name: str) -> TextRule:
    """`x.sum(axis=0)`: the first operand's method."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        return call_text(f"{wrap(args[0], ATOM)}.{name}", args[1:], attrs)

    return text


def attribute(name: str) -> TextRule:
    """`z.real`"""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        return f"{wrap(args[0], ATOM)}.{name}", ATOM

    return text
