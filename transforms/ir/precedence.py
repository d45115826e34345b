"""How tightly Python's expressions bind, so that emitted text has no needless parentheses.

A text is a pair (source, precedence); a larger precedence binds tighter."""

from __future__ import annotations

TERNARY, OR, AND, NOT, COMPARE, BITOR, BITXOR, BITAND, SHIFT, ADD, MUL, UNARY, POWER, ATOM = range(
    14
)

Text = tuple[str, int]


def wrap(text: Text, minimum: int) -> str:
    """The source, in parentheses unless it binds at least as tightly as `minimum`."""
    source, precedence = text
    return source if precedence >= minimum else f"({source})"
