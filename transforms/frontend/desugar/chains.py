"""Chains of comparisons become comparisons of two operands.

    f(a) < g(b) < h(c)      let p = f(a); q = g(b) in p < q and q < h(c)

Each operand is evaluated once, from the left, and only if the comparisons before it hold.
"""

from __future__ import annotations

from typing import Any

from ...syntax import core as c
from ...syntax.traverse import rewrite


def expand_chains(func: c.Func) -> c.Func:
    """A function in which every comparison has two operands."""
    return rewrite(func, _changed)


def _changed(node: Any) -> Any:
    if not isinstance(node, c.Compare) or len(node.ops) == 1:
        return node
    left = _named(node.left)
    return _let(left, node.left, _from(node, 0, left))


def _from(node: c.Compare, position: int, left: c.Expr) -> c.Expr:
    """The chain from one comparison on; `left` stands for its left operand."""
    op, right = node.ops[position], node.rights[position]
    if position + 1 == len(node.ops):
        return c.Compare(node.at, left, (op,), (right,))
    name = _named(right)
    first = c.Compare(node.at, left, (op,), (name,))
    both = c.Bool(node.at, "and", (first, _from(node, position + 1, name)))
    return _let(name, right, both)


def _named(operand: c.Expr) -> c.Name | c.Const:
    """What stands for an operand that is compared twice; a constant stands for itself."""
    if isinstance(operand, c.Const):
        return operand
    line, column = operand.at[:2]
    return c.Name(operand.at, f"<operand {line}:{column}>")


def _let(name: c.Name | c.Const, value: c.Expr, body: c.Expr) -> c.Expr:
    return body if isinstance(name, c.Const) else c.Let(body.at, name, value, body)
