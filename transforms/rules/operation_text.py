"""Source text of operations in emitted NumPy code: factories of `Rule.text` functions.

A text function takes the operands' texts, the attributes and the operands' types.  It returns the
text and its precedence (`ir/precedence.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.nodes import Scalar, Type
from ..ir.precedence import ATOM, POWER, TERNARY, UNARY, Text, wrap

TextRule = Callable[[Sequence[Text], "dict[str, Any]", Sequence[Type]], Text]


def call(function: str) -> TextRule:
    """`np.exp(x)`; attributes other than None become keywords."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        return call_text(function, args, attrs)

    return text


def call_text(function: str, args: Sequence[Text], attrs: dict[str, Any] | None = None) -> Text:
    """The text of a call; attributes other than None become keywords."""
    parts = [wrap(a, TERNARY) for a in args]
    parts += [f"{k}={keyword(k, v)}" for k, v in (attrs or {}).items() if v is not None]
    return f"{function}({', '.join(parts)})", ATOM


def keyword(name: str, value: Any) -> str:
    """The text of a keyword argument's value."""
    if name == "dtype":
        return dtype_text(value)
    if name == "axis" and isinstance(value, tuple) and len(value) == 1:
        return repr(value[0])
    return repr(value)


def dtype_text(dtype: str) -> str:
    return "np.bool_" if dtype == "bool" else f"np.{dtype}"


def infix(operator: str, precedence: int) -> TextRule:
    """`x + y`, left-associative."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        left, right = args
        return f"{wrap(left, precedence)} {operator} {wrap(right, precedence + 1)}", precedence

    return text


def comparison(operator: str, precedence: int) -> TextRule:
    """`x < y`; operands are parenthesised, since `x < y < z` would be a chained comparison."""

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
    """One form if all operands are scalars, another if any is an array."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        return (arrays if any(t.ndim for t in types) else scalars)(args, attrs, types)

    return text


def by_weakness(weak: TextRule, strong: TextRule) -> TextRule:
    """One form if all operands are Python scalars, another if any is a NumPy value."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        python = all(isinstance(t, Scalar) and t.weak for t in types)
        return (weak if python else strong)(args, attrs, types)

    return text


def method(name: str) -> TextRule:
    """`x.sum(axis=0)`: a method of the first operand."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        return call_text(f"{wrap(args[0], ATOM)}.{name}", args[1:], attrs)

    return text


def attribute(name: str) -> TextRule:
    """`z.real`: an attribute of the first operand."""

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        return f"{wrap(args[0], ATOM)}.{name}", ATOM

    return text
