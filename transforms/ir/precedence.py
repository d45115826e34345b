"""Operator precedence of Python expressions, so that emitted text has no redundant parentheses.

A `Text` is a pair (source, precedence); a larger precedence binds tighter."""

from __future__ import annotations

TERNARY, OR, AND, NOT, COMPARE, BITOR, BITXOR, BITAND, SHIFT, ADD, MUL, UNARY, POWER, ATOM = range(
    14
)

Text = tuple[str, int]


def wrap(text: Text, minimum: int) -> str:
    """The source, in parentheses if its precedence is below `minimum`."""
    source, precedence = text
    return source if precedence >= minimum else f"({source})"
